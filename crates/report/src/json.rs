//! The whole report as one JSON document, for programs.

use results::analysis::{Analysis, Cell, Comparison};
use results::safety::Safety;
use results::types::Run;
use serde_json::{Value, json};

use crate::csv::word;
use crate::words::{self, Language};
use crate::{cached, numbers, safety, sentences};

/// Plan, host and analysis, with `"schema": "raidloom/report/2"`. Base units, unit in the name.
///
/// `headlines` has one for each kind of work and one for all of it, `verdicts` each cell but the
/// baselines', by the metric that its workload is judged by; both are the claims that the report's
/// sentences and tables print. `cached` says which accesses a cache answered, of a plan with rows
/// direct and buffered. `safety` has the grade of each configuration, of a plan with pull
/// tests.  `valid` is false when a comparison was asked for and no headline has
/// an answer to give.
#[must_use]
pub fn json(run: &Run, analysis: &Analysis) -> String {
    // Programs read the same whatever the language.
    words::in_language(Language::English, || document(run, analysis))
}

fn document(run: &Run, analysis: &Analysis) -> String {
    let mut document = json!({
        "schema": "raidloom/report/2",
        "plan": run.plan,
        "host": run.host,
        "notes": run.notes.iter().map(::words::Text::english).collect::<Vec<_>>(),
        "valid": !analysis.asks_for_headlines() || analysis.has_valid_headline(),
        "headlines": headlines(analysis),
        "verdicts": verdicts(analysis),
        "analysis": analysis,
    });
    if !run.notes.is_empty() {
        document["note_parts"] = json!(run.notes);
    }
    if !analysis.cached.is_empty() {
        document["cached"] = json!(analysis.cached);
        document["cached_sentences"] = json!(cached::sentences(analysis));
    }
    if !analysis.safety.is_empty() {
        document["safety"] = analysis.safety.iter().map(grade).collect();
    }
    escape::json(&format!("{document:#}\n")).into_owned()
}

fn grade(safety: &Safety) -> Value {
    let whole = safety.whole.as_ref();
    json!({
        "settings": safety.settings,
        "grade": whole.map(|whole| whole.grade),
        // Drives in memory stand for all that the configuration names.
        "is_simulated": true,
        "pulls": whole.map(|whole| whole.tally.pulls),
        "unseen_at_most_percent": whole.map(|whole| whole.unseen_at_most_percent),
        "acknowledged": whole.map(|whole| whole.tally.promises),
        "acknowledged_lost": whole.map(|whole| whole.tally.promises_broken),
        "broken_at_most_percent": whole.and_then(|whole| whole.broken_at_most_percent),
        "copies_lost_max_seconds": whole.map(|whole| whole.tally.copies_seconds_lost),
        "sentence": whole.map(safety::sentence),
        "rows": safety.rows,
    })
}

fn settings<'a>(
    comparison: &'a Comparison,
    id: &str,
) -> Option<&'a std::collections::BTreeMap<String, String>> {
    let found = comparison.configurations.iter().find(|member| member.id == id);
    found.map(|member| &member.settings)
}

fn headlines(analysis: &Analysis) -> Vec<Value> {
    let results = analysis
        .comparisons
        .iter()
        .flat_map(|comparison| comparison.results().map(move |kind| (comparison, kind)));
    let headline = |(comparison, kind): (&Comparison, &results::analysis::KindResult)| {
        let headline = &kind.headline;
        let claim = headline.claim.as_ref();
        let named = kind.named.as_ref().map(|named| settings(comparison, named));
        json!({
            "comparison": comparison.name,
            "work": numbers::kind(kind.group),
            "answer": headline.verdict.code(),
            "take": headline.take.as_ref().and_then(|take| settings(comparison, take)),
            "baseline": settings(comparison, &comparison.baseline),
            "named": named,
            "ratio": claim.map(|claim| claim.ratio),
            "ratio_interval": claim.and_then(results::claim::Claim::shown_interval),
            "sure": headline.sure,
            "in_model": headline.in_model,
            "tie": headline.tie.as_ref().map(|tie| {
                tie.configurations.iter().map(|id| settings(comparison, id)).collect::<Vec<_>>()
            }),
            "losses": headline.losses,
            "cost": headline.cost,
            "sentence": sentences::answer(analysis, comparison, kind).sentence(),
        })
    };
    results.map(headline).collect()
}

fn verdicts(analysis: &Analysis) -> Vec<Value> {
    let cells = analysis
        .comparisons
        .iter()
        .flat_map(|comparison| comparison.cells.iter().map(move |cell| (comparison, cell)));
    let verdict = |(comparison, cell): (&Comparison, &Cell)| {
        let metric = cell.metrics.first()?;
        let claim = metric.versus_baseline.as_ref()?;
        Some(json!({
            "settings": settings(comparison, &cell.configuration),
            "baseline": settings(comparison, &comparison.baseline),
            "workload": cell.workload,
            "metric": metric.name,
            "ratio": claim.ratio,
            "ratio_interval": claim.shown_interval(),
            "verdict": word(metric),
            "voting": claim.pairs,
            "silent": claim.silent,
        }))
    };
    cells.filter_map(verdict).collect()
}

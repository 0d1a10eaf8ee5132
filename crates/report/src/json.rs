//! The whole report as one JSON document, for programs.

use results::analysis::Analysis;
use results::types::Run;
use serde_json::json;

use crate::csv::word;

/// Plan, host and analysis, with `"schema": "raidloom/report/1"`. Base units, unit in the name.
/// `verdicts` is the short of it: each cell but the baselines', by the metric that its workload's
/// verdict is about.
#[must_use]
pub fn json(run: &Run, analysis: &Analysis) -> String {
    let document = json!({
        "schema": "raidloom/report/1",
        "plan": run.plan,
        "host": run.host,
        "notes": run.notes,
        "verdicts": verdicts(analysis),
        "analysis": analysis,
    });
    escape::json(&format!("{document:#}\n")).into_owned()
}

fn verdicts(analysis: &Analysis) -> Vec<serde_json::Value> {
    let cells = analysis
        .comparisons
        .iter()
        .flat_map(|comparison| comparison.cells.iter().map(move |cell| (comparison, cell)));
    let verdict =
        |(comparison, cell): (&results::analysis::Comparison, &results::analysis::Cell)| {
            let metric = cell.metrics.first()?;
            let versus = metric.versus_baseline?;
            let settings = |id: &str| {
                comparison
                    .configurations
                    .iter()
                    .find(|member| member.id == id)
                    .map(|member| &member.settings)
            };
            Some(json!({
                "settings": settings(&cell.configuration),
                "baseline": settings(&comparison.baseline),
                "workload": cell.workload,
                "metric": metric.name,
                "ratio": versus.ratio,
                "ratio_interval": versus.interval,
                "verdict": word(metric),
            }))
        };
    cells.filter_map(verdict).collect()
}

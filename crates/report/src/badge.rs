//! One figure as a flat badge for a README, and what a run comes to in the few lines that a CI
//! system shows beside its steps.

use std::fmt::Write as _;

use escape::markdown as escaped;
use maud::html;
use results::analysis::Analysis;
use results::types::Run;

use crate::card::taken;
use crate::decision::{decision, joined, joint, of_place, silence};
use crate::measure::{Face, width};
use crate::words::say;
use crate::{numbers, safety, sentences, table};

/// A figure with its name: what was decided on, at one workload.
struct Figure {
    label: String,
    value: String,
    is_sure: bool,
}

/// The figure of the first workload whose name has `word` in it, of what the first comparison that
/// takes something takes, or else that stays with something.
fn figure(run: &Run, analysis: &Analysis, word: &str) -> Option<Figure> {
    let all = || analysis.comparisons.iter();
    let first = all().find(|one| one.takes()).or_else(|| all().find(|one| taken(one).is_some()));
    let (comparison, take) = first.and_then(|one| Some((one, taken(one)?)))?;
    let cells = run.plan.workloads.iter().filter(|workload| workload.name.contains(word));
    let (workload, cell, metric) = cells
        .filter_map(|workload| {
            let cell = comparison.cell(take, &workload.name)?;
            let metric = cell.metrics.iter().find(|metric| metric.name == workload.metric)?;
            Some((workload, cell, metric))
        })
        .next()?;
    let unit = table::unit(comparison, cell, metric);
    let value = numbers::figure(metric.median, metric.interval, unit);
    let range = numbers::figure_interval(metric.median, metric.interval, unit);
    // A figure that counts for nothing is not posted without its mark.
    let mark = if silence(cell).is_some() { "!" } else { "" };
    let with_unit = format!("{value}{mark} {}", unit.name);
    Some(Figure {
        label: [
            of_place(analysis, comparison, &table::full_label(comparison, take)),
            numbers::workload(&workload.name),
        ]
        .join(", "),
        value: match range.as_str() {
            "" => with_unit.trim_end().to_owned(),
            range => format!("{} ({range})", with_unit.trim_end()),
        },
        is_sure: decision(analysis, comparison).is_some_and(|decision| decision.is_sure),
    })
}

/// A badge of one workload's figure, with its unit and interval; none where the run decided on
/// nothing, or no workload has `word` in its name.
#[must_use]
pub fn badge_svg(run: &Run, analysis: &Analysis, word: &str) -> Option<String> {
    const HEIGHT: f64 = 20.0;
    const EDGE: f64 = 6.0;
    let Figure { label, value, is_sure } = figure(run, analysis, word)?;
    let part = |text: &str| (width(text, Face::Small) + 2.0 * EDGE).ceil();
    let (left, right) = (part(&label), part(&value));
    let whole = left + right;
    let name = format!("{label}: {value}");
    // What is not sure does not stand out.
    let ground = if is_sure { "#0b6e4f" } else { "#56616b" };
    let text = |at: f64, text: &str| {
        html! { text x=(at) y="14" text-anchor="middle" fill="#fff" { (text) } }
    };
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(whole) height=(HEIGHT)
            viewBox=(format!("0 0 {whole} {HEIGHT}")) role="img" aria-label=(name) {
            title { (name) }
            rect width=(left) height=(HEIGHT) fill="#1c2126" {}
            rect x=(left) width=(right) height=(HEIGHT) fill=(ground) {}
            g font-family="Verdana,DejaVu Sans,Liberation Sans,sans-serif" font-size="11" {
                (text(left / 2.0, &label))
                (text(left + right / 2.0, &value))
            }
        }
    };
    Some(escape::text(&picture.into_string()).into_owned() + "\n")
}

/// The decision, what is not known, warnings and the scores, as Markdown for a CI system's summary
/// of a step.
#[must_use]
pub fn summary(run: &Run, analysis: &Analysis) -> String {
    let mut text = format!("### {}\n\n", escaped(sentences::title(run)));
    if let Some((parts, _)) = joint(analysis) {
        let sentence = joined(&parts);
        let _ = writeln!(text, "{}\n", escaped(&sentence));
    }
    for comparison in &analysis.comparisons {
        let Some(decision) = decision(analysis, comparison) else { continue };
        let lead = escaped(&decision.lead);
        let lead = if decision.is_sure { format!("**{lead}**") } else { lead };
        let title = escaped(&table::comparison_title(comparison));
        let said = [decision.sentence(&lead), escaped(&decision.rest)];
        let said = sentences::join(said.iter().map(String::as_str));
        let _ = writeln!(text, "{title}: {said}\n");
        if !decision.price.is_empty() {
            let _ = writeln!(text, "{}\n", escaped(&decision.price));
        }
        if !decision.not_known.is_empty() {
            let _ = writeln!(text, "{}\n", escaped(&say!(NOT_KNOWN_TEXT, open = decision.open())));
        }
        let heads = [say!(KIND_OF_WORK), say!(CONFIGURATION), say!(SCORE), String::new()];
        if !decision.kinds.is_empty() {
            let _ = writeln!(text, "| {} |\n|---|---|---|---|", heads.join(" | "));
            for answer in &decision.kinds {
                let cells = [&answer.kind, &answer.pick, &answer.score, &answer.sure];
                let cells = cells.map(|cell| escaped(cell));
                let _ = writeln!(text, "| {} |", cells.join(" | "));
            }
            text.push('\n');
        }
    }
    for sentence in safety::by_grade(analysis) {
        let _ = writeln!(text, "{}\n", escaped(&sentence));
    }
    for warning in sentences::warnings(analysis) {
        let _ = writeln!(text, "* {}", escaped(&warning));
    }
    let scope = sentences::scope(run, analysis).join(" · ");
    let _ = writeln!(text, "\n{}", escaped(&scope));
    text
}

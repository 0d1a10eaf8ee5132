//! Rows as a person reads them: one line a phase, flags beside the figures they are about.

use std::collections::BTreeMap;

use bench::suite::{Measured, Phase, Row};
use results::{Doubt, statistics};
use serde_json::json;

use super::run::{Finished, limits_note};
use crate::failure::Failure;
use crate::output::{Output, figure, seconds, table};

/// Prints what was measured, and ends as the suite ended.
pub(super) fn finish(
    output: &Output,
    finished: Finished,
    text: impl FnOnce(&[Row]) -> String,
) -> Result<(), Failure> {
    let Finished { rows, heading, failure, .. } = finished;
    if rows.is_empty() && failure.is_some() {
        return failure.map_or(Ok(()), Err);
    }
    if output.json {
        let mut document = heading;
        document["rows"] = json!(rows.iter().map(Row::document).collect::<Vec<_>>());
        document["complete"] = json!(failure.is_none());
        output.document(&document)?;
    } else {
        limits_note(output, &heading);
        notes(output, &rows);
        output.result(&text(&rows))?;
    }
    failure.map_or(Ok(()), Err)
}

/// What the rows have to say, each thing once with the phases that say it.
pub(super) fn notes(output: &Output, rows: &[Row]) {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows {
        let texts = match &row.result {
            bench::suite::row::Result::Measured(measured) => {
                measured.done.notes.iter().map(report::doubt_sentence).collect()
            }
            bench::suite::row::Result::Skipped(reason) => vec![format!("not run: {reason}")],
        };
        for text in texts {
            match said.iter_mut().find(|(known, _)| *known == text) {
                Some((_, phases)) if phases.contains(&row.phase.as_str()) => (),
                Some((_, phases)) => phases.push(&row.phase),
                None => said.push((text, vec![&row.phase])),
            }
        }
    }
    let mut names: Vec<&str> = rows.iter().map(|row| row.phase.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for (text, phases) in said {
        let who = match phases.len() {
            1 => phases[0].to_owned(),
            count if count == names.len() => "all rows".to_owned(),
            count if count > 4 => format!("{count} rows, the first {}", phases[0]),
            _ => phases.join(", "),
        };
        output.note(&format!("{who}: {text}"));
    }
}

/// What a format of another tool has no place for, said beside it: the limits, the flags, and the
/// rates when all was durable.
pub(super) fn beside(output: &Output, finished: &Finished, planned: &[Phase]) {
    limits_note(output, &finished.heading);
    for flag in flag_words(&finished.rows).lines().filter(|line| !line.is_empty()) {
        output.note(flag);
    }
    let durable = |(phase, runs): (&str, Vec<&Measured>)| {
        let moves = in_bytes(phase, planned);
        let rate = |run: &&Measured| {
            if moves { run.durable_bytes_per_second() } else { run.durable_operations_per_second() }
        };
        let rates: Vec<f64> = runs.iter().filter_map(rate).collect();
        let unit = if moves { "MB/s" } else { "/s" };
        (!rates.is_empty()).then(|| {
            format!("{phase} {} {unit}", figure(median(&rates) / if moves { 1e6 } else { 1.0 }))
        })
    };
    let durable: Vec<String> = by_phase(&finished.rows).into_iter().filter_map(durable).collect();
    if !durable.is_empty() {
        output.note(&format!("when all was durable: {}", durable.join(", ")));
    }
}

/// All rows of one phase.
pub(super) fn by_phase(rows: &[Row]) -> Vec<(&str, Vec<&Measured>)> {
    let mut order: Vec<&str> = Vec::new();
    let mut phases: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    for row in rows {
        let Some(measured) = row.measured() else { continue };
        if !order.contains(&row.phase.as_str()) {
            order.push(&row.phase);
        }
        phases.entry(&row.phase).or_default().push(measured);
    }
    order.into_iter().map(|phase| (phase, phases.remove(phase).unwrap_or_default())).collect()
}

/// The middle one; of an even number the mean of the two in the middle.
pub(super) fn median(figures: &[f64]) -> f64 {
    statistics::median(figures).map_or(f64::NAN, |median| median.median)
}

/// One line a phase: the median of its repetitions, and the lowest and highest where there are
/// several.
pub(super) fn rows_table(rows: &[Row], planned: &[Phase]) -> String {
    let phases = by_phase(rows);
    if phases.is_empty() {
        return "nothing was measured\n".to_owned();
    }
    let repeated = phases.iter().any(|(_, runs)| runs.len() > 1);
    let mut head =
        vec!["PHASE", "RATE", "", "DURABLE", "MEAN", "P99", "LONGEST", "%CPU", "+KERNEL"];
    if repeated {
        head.extend(["RUNS", "LOWEST", "HIGHEST"]);
    }
    head.push("FLAGS");
    let cells: Vec<Vec<String>> = phases
        .iter()
        .map(|(phase, runs)| line(phase, runs, in_bytes(phase, planned), repeated))
        .collect();
    let right: Vec<usize> = (1..head.len() - 1).filter(|column| *column != 2).collect();
    table(&head, &cells, &right)
}

/// Whether a phase is rated in bytes; in operations otherwise.
fn in_bytes(phase: &str, planned: &[Phase]) -> bool {
    planned
        .iter()
        .find(|planned| planned.name == phase)
        .is_none_or(|planned| planned.metric.ends_with("bytes_per_second"))
}

fn line(phase: &str, runs: &[&Measured], moves: bool, repeated: bool) -> Vec<String> {
    let unit = if moves { 1e6 } else { 1.0 };
    let rate = |run: &Measured| {
        if moves { run.bytes_per_second() / unit } else { run.operations_per_second() }
    };
    let durable = |run: &Measured| {
        if moves {
            run.durable_bytes_per_second().map(|rate| rate / unit)
        } else {
            run.durable_operations_per_second()
        }
    };
    let middle = |of: &dyn Fn(&Measured) -> Option<f64>| {
        let figures: Vec<f64> = runs.iter().filter_map(|run| of(run)).collect();
        (!figures.is_empty()).then(|| median(&figures))
    };
    let text =
        |value: Option<f64>, shape: fn(f64) -> String| value.map_or_else(|| "-".to_owned(), shape);
    let timed = |of: fn(&Measured) -> f64| {
        middle(&move |run| (run.done.latency.count() > 0).then(|| of(run)))
    };
    let percent = |value: f64| format!("{value:.0}");
    let mut cells = vec![
        phase.to_owned(),
        text(middle(&|run| Some(rate(run))), figure),
        if moves { "MB/s" } else { "/s" }.to_owned(),
        text(middle(&durable), figure),
        text(timed(|run| run.done.latency.mean_seconds()), seconds),
        text(timed(|run| run.done.latency.quantile_seconds(0.99)), seconds),
        text(timed(|run| run.done.latency.max_seconds()), seconds),
        text(middle(&Measured::cpu_percent), percent),
        text(middle(&Measured::kernel_cpu_percent), percent),
    ];
    if repeated {
        let rates = || runs.iter().map(|run| rate(run));
        cells.extend([
            runs.len().to_string(),
            figure(rates().fold(f64::INFINITY, f64::min)),
            figure(rates().fold(f64::NEG_INFINITY, f64::max)),
        ]);
    }
    cells.push(flags(runs));
    cells
}

/// The names of all flags of a phase, each once.
pub(super) fn flags(runs: &[&Measured]) -> String {
    let mut names: Vec<&str> =
        runs.iter().flat_map(|run| run.flags.iter().map(Doubt::mark)).collect();
    names.sort_unstable();
    names.dedup();
    names.join(" ")
}

/// The words behind the flags, each flag once with the first figure it was raised about.
pub(super) fn flag_words(rows: &[Row]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut text = String::new();
    for row in rows {
        for flag in row.measured().map_or(&[][..], |measured| &measured.flags) {
            if !seen.contains(&flag.mark()) {
                seen.push(flag.mark());
                text += &format!("{} ({})\n", report::doubt_legend(flag), row.phase);
            }
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

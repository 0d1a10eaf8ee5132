//! `raidloom compare RUN RUN`: the same cells of two runs, and limits that a change must not pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use results::claim::{Answer, Invalid};
use results::compare::{Aspect, CellChange, Changes, ReferenceCell, RunDifference, compare};
use results::types::BetterDirection;
use serde_json::{Value, json};
use words::{Message, Text};

use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::limits::{Limits, Verdict, name};
use crate::output::{Output, figure, seconds, table};

/// `compare`.
#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// The folder of the run that is compared with
    pub first: PathBuf,

    /// The folder of the run that is compared
    pub second: PathBuf,

    /// Exit with 3 when a metric of a cell surely passes this limit: 'throughput < -5%',
    /// 'latency_p99 > 10%' (may be repeated). Of equal runs at most 5 % pass any; where such a
    /// change could not be seen, the exit code is 5
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<String>,

    /// Judge every cell beside this configuration, whose own change is taken out: `baseline`, or a
    /// value that one configuration has, such as `level=null` [default: each by itself]
    #[arg(long, value_name = "REFERENCE")]
    pub beside: Option<String>,

    /// Differences within it are called the same [default: as the first run's plan]
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<f64>,

    /// Compare although these differ between the runs (may be repeated)
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub allow: Vec<AllowedDifference>,
}

/// What may differ between two runs that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllowedDifference {
    /// Settings of the suites
    Settings,
    /// Kernel, processor, file system
    Machine,
    /// Raidloom's own
    Version,
}

impl AllowedDifference {
    /// What is allowed to differ.
    pub(crate) fn aspect(self) -> Aspect {
        match self {
            AllowedDifference::Settings => Aspect::Settings,
            AllowedDifference::Machine => Aspect::Machine,
            AllowedDifference::Version => Aspect::Version,
        }
    }
}

/// Compares two runs.
pub(crate) fn compare_runs(output: &Output, arguments: &CompareArguments) -> Result<(), Failure> {
    let limits = Limits::parse(&arguments.fail_if)?;
    let beside = arguments.beside.as_deref().map(beside);
    let margin = match arguments.margin {
        Some(percent) if (0.0..100.0).contains(&percent) => Some(percent / 100.0),
        Some(percent) => {
            return Err(Failure::usage(catalogue::MARGIN_RANGE).at(format!("--margin {percent}")));
        }
        None => None,
    };
    let read = |path: &Path| lab::read(lab::pack::open(path)?.folder());
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    let margin = margin.unwrap_or(first.plan.margin);
    let changes = compare(&first, &second, margin, beside.as_ref());
    let notes: Vec<Text> = changes.notes.iter().map(report::comparison_note).collect();
    if changes.cells.is_empty() {
        let why = if notes.is_empty() {
            Text::default()
        } else {
            Text::from(": ").and(Text::joined(&notes, "; "))
        };
        let beside = arguments
            .beside
            .as_ref()
            .map_or_else(Text::default, |text| statement!(COMMON_BESIDE, reference = text));
        return Err(Failure::usage(statement!(NO_COMMON_CELL, beside = beside, why = why)));
    }
    refuse_unless_allowed(&changes.differing, &arguments.allow)?;
    let verdict = limits.judge(&changes)?;
    if output.json {
        output.document(&document(arguments, &changes, &notes, &verdict))?;
    } else {
        notes.iter().for_each(|note| output.note(note));
        common(&changes).iter().for_each(|note| output.note(note));
        verdict.note().iter().for_each(|note| output.note(note));
        output.result(&text(&changes))?;
    }
    verdict.passed()?;
    verdict.blind()
}

/// What `--beside` names.
fn beside(text: &str) -> ReferenceCell {
    match text.split_once('=') {
        None if text == "baseline" => ReferenceCell::Baseline,
        None => ReferenceCell::Value { axis: None, value: text.to_owned() },
        Some((axis, value)) => ReferenceCell::Value {
            axis: Some(axis.trim().to_owned()),
            value: value.trim().to_owned(),
        },
    }
}

/// What all figures have in common, or what they are judged beside.
fn common(changes: &Changes) -> Option<String> {
    if let Some(settings) = &changes.beside {
        let values: Vec<&str> = settings.values().map(String::as_str).collect();
        return Some(say!(JUDGED_BESIDE, reference = values.join(" ")));
    }
    let shift = changes.common_shift?;
    let share = |change: f64| format!("{:+.1}", 100.0 * change);
    let figures = match shift.cells == shift.of {
        true => say!(ALL_FIGURES),
        false => say!(SO_MANY_FIGURES, count = shift.cells, of = shift.of),
    };
    Some(say!(
        COMMON_SHIFT,
        figures = figures,
        change = share(shift.change),
        low = share(shift.interval.low),
        high = share(shift.interval.high),
    ))
}

/// What `--json` prints.
fn document(
    arguments: &CompareArguments,
    changes: &Changes,
    notes: &[Text],
    verdict: &Verdict<'_>,
) -> Value {
    let [passed, blind, unseen] = verdict.values();
    json!({
        "schema": "raidloom/compare/2",
        "first": arguments.first,
        "second": arguments.second,
        "summary": changes.summary,
        "common_shift": changes.common_shift,
        "beside": changes.beside,
        "cells": changes.cells,
        "differing": changes.differing,
        "notes": notes.iter().map(Text::english).collect::<Vec<_>>(),
        "limits_passed": passed,
        "limits_blind": blind,
        "limits_unseen": unseen,
    })
}

/// Figures taken under other conditions are compared only when the command says so.
fn refuse_unless_allowed(
    differing: &[RunDifference],
    allowed: &[AllowedDifference],
) -> Result<(), Failure> {
    let refused: Vec<RunDifference> = differing
        .iter()
        .filter(|one| !allowed.iter().any(|allowed| allowed.aspect() == one.aspect))
        .cloned()
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(statement!(OTHER_CONDITIONS, what = different(&refused))))
}

/// What differs, and the flag that passes over it.
pub(crate) fn different(all: &[RunDifference]) -> Text {
    let mut names: Vec<&RunDifference> = Vec::new();
    for one in all {
        if !names.iter().any(|known| known.name == one.name) {
            names.push(one);
        }
    }
    let value = |text: &str| match text {
        "" => Text::from(catalogue::VALUE_NOT_SAID),
        text => Text::from(format!("`{text}`")),
    };
    let shown = names.iter().take(5).map(|one| {
        let (first, second) = (value(&one.first), value(&one.second));
        statement!(VALUES_OF_BOTH, name = &one.name, first = first, second = second)
    });
    let mut shown: Vec<Text> = shown.collect();
    if names.len() > shown.len() {
        shown.push(statement!(SO_MANY_MORE, count = names.len() - shown.len()));
    }
    let words: BTreeMap<Aspect, &str> = names
        .iter()
        .map(|one| match one.aspect {
            Aspect::Settings => (one.aspect, "settings"),
            Aspect::Machine => (one.aspect, "machine"),
            Aspect::Version => (one.aspect, "version"),
        })
        .collect();
    let words: Vec<&str> = words.into_values().collect();
    statement!(DIFFERENT_ALLOW, what = Text::joined(shown, ", "), words = words.join(","))
}

/// What the second run is against the first.
fn word(cell: &CellChange) -> String {
    match (cell.claim.answer, &cell.claim.invalid) {
        (Answer::Ahead, _) => say!(CELL_FASTER),
        (Answer::Behind, _) => say!(CELL_SLOWER),
        (Answer::Same, _) => say!(CELL_SAME),
        (Answer::Open, Some(Invalid::TooFew { reason: Some(reason), .. })) => {
            say!(CELL_NO_ANSWER_FOR, reason = report::silence_name(reason))
        }
        (Answer::Open, Some(Invalid::TooFew { reason: None, .. })) => say!(CELL_TOO_FEW),
        (Answer::Open, None | Some(Invalid::Raced { .. })) => say!(CELL_NO_ANSWER),
    }
}

/// `3 slower, 110 same, 13 no answer`.
fn summary(changes: &Changes) -> String {
    let counts = &changes.summary;
    let counted = [
        (counts.slower, catalogue::CELLS_SLOWER),
        (counts.faster, catalogue::CELLS_FASTER),
        (counts.same, catalogue::CELLS_SAME),
        (counts.no_answer, catalogue::CELLS_WITHOUT_ANSWER),
    ];
    let said: Vec<String> = counted
        .into_iter()
        .filter(|(count, message)| *count > 0 || *message != catalogue::CELLS_FASTER)
        .map(|(count, message)| words::say!(message, count = count))
        .collect();
    said.join(&say!(BETWEEN_NAMES))
}

fn text(changes: &Changes) -> String {
    let shown = |metric: &str, value: f64| match metric {
        metric if metric.ends_with("bytes_per_second") => format!("{} MB/s", figure(value / 1e6)),
        metric if metric.ends_with("_seconds") => seconds(value),
        _ => figure(value),
    };
    let line = |cell: &CellChange| {
        let interval = cell.claim.shown_interval().map_or("-".to_owned(), |interval| {
            let [low, high] = [interval.low, interval.high].map(|ratio| format!("{ratio:.3}"));
            say!(RUN_RANGE, low = low, high = high)
        });
        let is_lower = cell.claim.better == Some(BetterDirection::Lower);
        let better = if is_lower { say!(LESS_IS_BETTER) } else { String::new() };
        let metric = &cell.claim.metric;
        vec![
            name(cell),
            shown(metric, cell.medians[0]),
            shown(metric, cell.medians[1]),
            format!("{:.3}", cell.claim.ratio),
            interval,
            format!("{}{better}", word(cell)),
        ]
    };
    let (judged, others): (Vec<&CellChange>, Vec<&CellChange>) =
        changes.cells.iter().partition(|cell| cell.judged);
    let heads = [
        catalogue::CELL_HEAD,
        catalogue::FIRST_HEAD,
        catalogue::SECOND_HEAD,
        catalogue::RATIO_HEAD,
        catalogue::INTERVAL_HEAD,
        catalogue::SECOND_IS_HEAD,
    ]
    .map(Message::template);
    let cells: Vec<Vec<String>> = judged.into_iter().map(line).collect();
    let mut text = format!("{}\n\n{}", summary(changes), table(&heads, &cells, &[1, 2, 3]));
    // Of the other metrics those that changed; all are in --json.
    let changed: Vec<&&CellChange> = others
        .iter()
        .filter(|cell| matches!(cell.claim.answer, Answer::Ahead | Answer::Behind))
        .collect();
    if !changed.is_empty() {
        let rows: Vec<Vec<String>> = changed
            .into_iter()
            .map(|cell| {
                let mut row = line(cell);
                row[0] = format!("{}, {}", row[0], cell.claim.metric);
                row
            })
            .collect();
        let rows = table(&heads, &rows, &[1, 2, 3]);
        text.push_str(&format!("\n\n{}\n{rows}", say!(OTHER_METRICS)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_refused_by_name_unless_it_is_allowed() {
        let differing = |aspect, name: &str| RunDifference {
            aspect,
            name: name.to_owned(),
            first: "a".to_owned(),
            second: String::new(),
        };
        let all = [differing(Aspect::Settings, "depth"), differing(Aspect::Machine, "kernel")];
        let refused = |allowed: &[AllowedDifference]| {
            refuse_unless_allowed(&all, allowed).unwrap_err().to_string()
        };
        let text = refused(&[]);
        assert!(
            text.contains("depth (`a` and not said), kernel")
                && text.contains("--allow settings,machine"),
            "{text}"
        );
        let text = refused(&[AllowedDifference::Settings]);
        assert!(!text.contains("depth") && text.contains("--allow machine"), "{text}");
        assert!(
            refuse_unless_allowed(&all, &[AllowedDifference::Machine, AllowedDifference::Settings])
                .is_ok()
        );
    }
}

//! `raidloom compare RUN RUN`: the same cells of two runs, and limits that a change must not pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use results::claim::{Answer, Invalid};
use results::compare::{Aspect, CellChange, Changes, ReferenceCell, RunDifference, compare};
use results::types::BetterDirection;
use serde_json::{Value, json};

use crate::catalogue::{self, statement};
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
    if changes.cells.is_empty() {
        let why = if changes.notes.is_empty() {
            String::new()
        } else {
            format!(": {}", changes.notes.join("; "))
        };
        let beside = match &arguments.beside {
            Some(text) => format!(
                " that can be judged beside `{text}`, which has to be one configuration of either run"
            ),
            None => String::new(),
        };
        return Err(Failure::usage(statement!(NO_COMMON_CELL, beside = beside, why = why)));
    }
    refuse_unless_allowed(&changes.differing, &arguments.allow)?;
    let verdict = limits.judge(&changes)?;
    if output.json {
        output.document(&document(arguments, &changes, &verdict))?;
    } else {
        changes.notes.iter().for_each(|note| output.note(note));
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
        return Some(format!(
            "each cell is judged beside {}: what changed there as well is not in the ratios",
            values.join(" ")
        ));
    }
    let shift = changes.common_shift?;
    let share = |change: f64| format!("{:+.1}", 100.0 * change);
    let figures = match shift.cells == shift.of {
        true => "all figures".to_owned(),
        false => format!("{} of {} figures", shift.cells, shift.of),
    };
    Some(format!(
        "{figures} {} % ({} to {} %): the machine, or whatever else all configurations share; \
        --beside baseline judges what changed besides",
        share(shift.change),
        share(shift.interval.low),
        share(shift.interval.high)
    ))
}

/// What `--json` prints.
fn document(arguments: &CompareArguments, changes: &Changes, verdict: &Verdict<'_>) -> Value {
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
        "notes": changes.notes,
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
pub(crate) fn different(all: &[RunDifference]) -> String {
    let mut names: Vec<&RunDifference> = Vec::new();
    for one in all {
        if !names.iter().any(|known| known.name == one.name) {
            names.push(one);
        }
    }
    let shown = names.iter().take(5).map(|one| {
        let value =
            |text: &str| if text.is_empty() { "not said".into() } else { format!("`{text}`") };
        format!("{} ({} and {})", one.name, value(&one.first), value(&one.second))
    });
    let mut shown: Vec<String> = shown.collect();
    if names.len() > shown.len() {
        shown.push(format!("{} more", names.len() - shown.len()));
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
    format!("{}; to compare them all the same: --allow {}", shown.join(", "), words.join(","))
}

/// What the second run is against the first.
fn word(cell: &CellChange) -> String {
    match (cell.claim.answer, &cell.claim.invalid) {
        (Answer::Ahead, _) => "faster".into(),
        (Answer::Behind, _) => "slower".into(),
        (Answer::Same, _) => "same".into(),
        (Answer::Open, Some(Invalid::TooFew { reason: Some(reason), .. })) => {
            format!("no answer ({})", report::silence_name(reason))
        }
        (Answer::Open, Some(Invalid::TooFew { reason: None, .. })) => {
            "no answer (too few trials)".into()
        }
        (Answer::Open, None | Some(Invalid::Raced { .. })) => "no answer".into(),
    }
}

/// `3 slower, 110 same, 13 no answer`.
fn summary(changes: &Changes) -> String {
    let counts = &changes.summary;
    let counted = [
        (counts.slower, "slower"),
        (counts.faster, "faster"),
        (counts.same, "same"),
        (counts.no_answer, "no answer"),
    ];
    let said: Vec<String> = counted
        .into_iter()
        .filter(|(count, word)| *count > 0 || *word != "faster")
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    said.join(", ")
}

fn text(changes: &Changes) -> String {
    let shown = |metric: &str, value: f64| match metric {
        metric if metric.ends_with("bytes_per_second") => format!("{} MB/s", figure(value / 1e6)),
        metric if metric.ends_with("_seconds") => seconds(value),
        _ => figure(value),
    };
    let line = |cell: &CellChange| {
        let interval = cell.claim.shown_interval().map_or("-".to_owned(), |interval| {
            format!("{:.3} to {:.3}", interval.low, interval.high)
        });
        let better = if cell.claim.better == Some(BetterDirection::Lower) {
            " (less is better)"
        } else {
            ""
        };
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
    let heads = ["CELL", "FIRST", "SECOND", "RATIO", "INTERVAL", "SECOND IS"];
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
        text.push_str(&format!(
            "\n\nOther metrics that changed:\n{}",
            table(&heads, &rows, &[1, 2, 3])
        ));
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
        let text = format!("{:?}", refuse_unless_allowed(&all, &[]).unwrap_err());
        assert!(
            text.contains("depth (`a` and not said), kernel")
                && text.contains("--allow settings,machine"),
            "{text}"
        );
        let text = format!(
            "{:?}",
            refuse_unless_allowed(&all, &[AllowedDifference::Settings]).unwrap_err()
        );
        assert!(!text.contains("depth") && text.contains("--allow machine"), "{text}");
        assert!(
            refuse_unless_allowed(&all, &[AllowedDifference::Machine, AllowedDifference::Settings])
                .is_ok()
        );
    }
}

//! `raidloom compare RUN RUN`: the same cells of two runs, and limits that a change must not pass.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use results::claim::{Answer, Invalid};
use results::compare::{Aspect, Blind, CellChange, Changes, Differing, Limit, TRIALS_MIN, compare};
use results::types::Better;
use serde_json::{Value, json};

use crate::failure::Failure;
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

    /// Differences within it are called the same [default: as the first run's plan]
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<f64>,

    /// Compare although these differ between the runs (may be repeated)
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub allow: Vec<Allowed>,
}

/// What may differ between two runs that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Allowed {
    /// Settings of the suites
    Settings,
    /// Kernel, processor, file system
    Machine,
    /// Raidloom's own
    Version,
}

impl Allowed {
    /// What is allowed to differ.
    pub(crate) fn aspect(self) -> Aspect {
        match self {
            Allowed::Settings => Aspect::Settings,
            Allowed::Machine => Aspect::Machine,
            Allowed::Version => Aspect::Version,
        }
    }
}

/// A limit as it was given.
#[derive(Debug, PartialEq)]
struct Said<'a> {
    text: &'a str,
    limit: Limit,
}

impl<'a> Said<'a> {
    fn parse(text: &'a str) -> Result<Said<'a>, Failure> {
        let wrong = || {
            Failure::usage(format!(
                "--fail-if {text}: expected a metric, < or >, and a share, such as 'throughput < \
                -5%'"
            ))
        };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let metric = text[..at].trim();
        let share = text[at + 1..].trim().strip_suffix('%').ok_or_else(wrong)?;
        let change: f64 = share.trim().parse().map_err(|_| wrong())?;
        if metric.is_empty() || !change.is_finite() || change <= -100.0 {
            return Err(wrong());
        }
        let below = text.as_bytes()[at] == b'<';
        Ok(Said { text, limit: Limit { metric: metric.to_owned(), below, change: change / 100.0 } })
    }

    /// That no cell has such a metric, what was probably meant, and what there is.
    fn matches_nothing(&self, metrics: &BTreeSet<&str>) -> Failure {
        // Every beginning of a name that ends with a word can be said.
        let said = metrics.iter().flat_map(|metric| {
            metric.match_indices('_').map(|(at, _)| &metric[..at]).chain([*metric])
        });
        let meant = stack::nearest(&self.limit.metric, said)
            .map_or_else(|| ".".to_owned(), |name| format!("; did you mean `{name}`?"));
        let there_are = metrics.iter().copied().collect::<Vec<_>>().join(", ");
        Failure::usage(format!(
            "--fail-if {}: no cell that is compared has a metric `{}`{meant} There are: {there_are}",
            self.text, self.limit.metric
        ))
    }
}

/// Compares two runs.
pub(crate) fn compare_runs(output: &Output, arguments: &CompareArguments) -> Result<(), Failure> {
    let said: Vec<Said<'_>> =
        arguments.fail_if.iter().map(|text| Said::parse(text)).collect::<Result<_, _>>()?;
    let margin = match arguments.margin {
        Some(percent) if (0.0..100.0).contains(&percent) => Some(percent / 100.0),
        Some(percent) => {
            return Err(Failure::usage(format!("--margin {percent}: per cent from 0 to 100")));
        }
        None => None,
    };
    let read = |path: &Path| lab::read(lab::pack::open(path)?.folder());
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    let changes = compare(&first, &second, margin.unwrap_or(first.plan.margin));
    if changes.cells.is_empty() {
        let why = if changes.notes.is_empty() {
            String::new()
        } else {
            format!(": {}", changes.notes.join("; "))
        };
        return Err(Failure::usage(format!("the two runs have no cell in common{why}")));
    }
    refuse_unless_allowed(&changes.differing, &arguments.allow)?;
    let metrics: BTreeSet<&str> =
        changes.cells.iter().map(|cell| cell.claim.metric.as_str()).collect();
    let matches_none = |said: &&Said<'_>| !metrics.iter().any(|metric| said.limit.is_about(metric));
    if let Some(said) = said.iter().find(matches_none) {
        return Err(said.matches_nothing(&metrics));
    }
    let limits: Vec<Limit> = said.iter().map(|said| said.limit.clone()).collect();
    let judged = changes.judge(&limits);
    let at = |limit: usize, cell: usize| (&said[limit], &changes.cells[cell]);
    let passed: Vec<(&Said<'_>, &CellChange)> =
        judged.passed.iter().map(|(limit, cell)| at(*limit, *cell)).collect();
    let blind: Vec<BlindLimit<'_>> = judged
        .blind
        .iter()
        .map(|(limit, cell, why)| (at(*limit, *cell).0, at(*limit, *cell).1, why))
        .collect();
    if output.json {
        output.document(&document(arguments, &changes, &passed, &blind, judged.unseen))?;
    } else {
        changes.notes.iter().for_each(|note| output.note(note));
        if judged.unseen > 0 {
            output.note(&format!(
                "{} further figures that --fail-if is about cannot tell; others of the same cells can",
                judged.unseen
            ));
        }
        output.result(&text(&changes))?;
    }
    match (passed.first(), blind.first()) {
        (Some((said, cell)), _) => Err(Failure::limit_passed(format!(
            "--fail-if {}: {}, {} x {:.3}{}",
            said.text,
            name(cell),
            cell.claim.metric,
            cell.claim.ratio,
            more(passed.len())
        ))),
        (None, Some((said, cell, why))) => Err(Failure::invalid_results(format!(
            "--fail-if {}: blind: {}, {}: {}{}",
            said.text,
            name(cell),
            cell.claim.metric,
            blind_words(why),
            more(blind.len())
        ))),
        (None, None) => Ok(()),
    }
}

/// A limit, the cell it was held against, and why that cell cannot tell.
type BlindLimit<'a> = (&'a Said<'a>, &'a CellChange, &'a Blind);

/// What `--json` prints.
fn document(
    arguments: &CompareArguments,
    changes: &Changes,
    passed: &[(&Said<'_>, &CellChange)],
    blind: &[BlindLimit<'_>],
    unseen: usize,
) -> Value {
    let passed: Vec<Value> = passed
        .iter()
        .map(|(said, cell)| {
            json!({
                "limit": said.text,
                "settings": cell.settings,
                "workload": cell.workload,
                "metric": cell.claim.metric,
                "ratio": cell.claim.ratio,
                "ratio_interval": cell.claim.interval,
            })
        })
        .collect();
    let blind: Vec<Value> = blind
        .iter()
        .map(|(said, cell, why)| {
            json!({
                "limit": said.text,
                "settings": cell.settings,
                "workload": cell.workload,
                "metric": cell.claim.metric,
                "blind": why,
            })
        })
        .collect();
    json!({
        "schema": "raidloom/compare/2",
        "first": arguments.first,
        "second": arguments.second,
        "summary": changes.summary,
        "cells": changes.cells,
        "differing": changes.differing,
        "notes": changes.notes,
        "limits_passed": passed,
        "limits_blind": blind,
        "limits_unseen": unseen,
    })
}

fn more(count: usize) -> String {
    if count > 1 { format!(" and {} more", count - 1) } else { String::new() }
}

/// Why such a change would not be seen, and what would see it.
fn blind_words(why: &Blind) -> String {
    match why {
        Blind::FewRequests { needed } => format!(
            "this percentile wants {needed} requests in every trial; longer trials have them (time), \
            or a lower percentile wants fewer"
        ),
        Blind::FewTrials { voting, reason } => {
            let reason = reason
                .as_ref()
                .map_or(String::new(), |reason| format!(" ({})", report::silence_name(reason)));
            format!(
                "{voting} trials vote on one side{reason}, and {TRIALS_MIN} are the fewest; more \
                blocks have them"
            )
        }
        Blind::Wide { interval, trials } => format!(
            "the ratio may be {:.2} to {:.2}, which is wider than the limit; about {trials} trials a \
            side would see it",
            interval.low, interval.high
        ),
    }
}

/// Figures taken under other conditions are compared only when the command says so.
fn refuse_unless_allowed(differing: &[Differing], allowed: &[Allowed]) -> Result<(), Failure> {
    let refused: Vec<Differing> = differing
        .iter()
        .filter(|one| !allowed.iter().any(|allowed| allowed.aspect() == one.aspect))
        .cloned()
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the runs were made under different conditions: {}",
        different(&refused)
    )))
}

/// What differs, and the flag that passes over it.
pub(crate) fn different(all: &[Differing]) -> String {
    let mut names: Vec<&Differing> = Vec::new();
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

fn name(cell: &CellChange) -> String {
    let settings: Vec<&str> = cell.settings.values().map(String::as_str).collect();
    format!("{} {}", settings.join(" "), cell.workload).trim().to_owned()
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
        let better =
            if cell.claim.better == Some(Better::Lower) { " (less is better)" } else { "" };
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
    fn limits_are_read_and_what_is_none_is_refused() {
        let said = Said::parse("throughput < -5%").unwrap();
        assert_eq!(
            said.limit,
            Limit { metric: "throughput".to_owned(), below: true, change: -0.05 }
        );
        assert!(!Said::parse("latency_p99>10 %").unwrap().limit.below);
        for wrong in
            ["throughput -5%", "throughput < -5", "< -5%", "throughput < x%", "throughput < -100%"]
        {
            assert!(Said::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_names_whole_words_of_a_metric() {
        let about = |limit: &str, metric: &str| Said::parse(limit).unwrap().limit.is_about(metric);
        assert!(
            about("latency > 10%", "latency_p99_seconds")
                && about("latency_p99>10%", "latency_p99_seconds")
        );
        assert!(about("latency_p99_seconds > 10%", "latency_p99_seconds"));
        assert!(
            !about("lat > 10%", "latency_p99_seconds")
                && !about("throughput < -5%", "durable_throughput_bytes_per_second")
        );
        let metrics = BTreeSet::from(["latency_p99_seconds", "throughput_bytes_per_second"]);
        let text =
            |limit: &str| format!("{:?}", Said::parse(limit).unwrap().matches_nothing(&metrics));
        assert!(
            text("thruput < -5%").contains("did you mean `throughput`?"),
            "{}",
            text("thruput < -5%")
        );
        assert!(text("latency_p98 > 5%").contains("did you mean `latency_p99`?"));
        assert!(text("zebras > 5%").contains(
            "metric `zebras`. There are: latency_p99_seconds, throughput_bytes_per_second"
        ));
    }

    #[test]
    fn what_differs_is_refused_by_name_unless_it_is_allowed() {
        let differing = |aspect, name: &str| Differing {
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
        let text = format!("{:?}", refuse_unless_allowed(&all, &[Allowed::Settings]).unwrap_err());
        assert!(!text.contains("depth") && text.contains("--allow machine"), "{text}");
        assert!(refuse_unless_allowed(&all, &[Allowed::Machine, Allowed::Settings]).is_ok());
    }
}

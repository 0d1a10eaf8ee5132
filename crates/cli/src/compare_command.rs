//! `raidloom compare RUN RUN`: the same cells of two runs, and limits that a change must not pass.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use results::Better;
use results::compare::{CellChange, Changes, by_metrics, compare};
use serde_json::json;

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
    /// 'latency_p99 > 10%' (may be repeated)
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<String>,

    /// Differences within it are called the same [default: as the first run's plan]
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<f64>,
}

/// A limit: the metrics it is about have a name or begin with whole words of it, and change by less
/// or more than a share.
#[derive(Debug, PartialEq)]
struct Limit<'a> {
    text: &'a str,
    metric: &'a str,
    below: bool,
    change: f64,
}

impl<'a> Limit<'a> {
    fn parse(text: &'a str) -> Result<Limit<'a>, Failure> {
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
        Ok(Limit { text, metric, below: text.as_bytes()[at] == b'<', change: change / 100.0 })
    }

    /// Whether it is about this metric: `latency` is about `latency_p99_seconds`, `lat` about
    /// nothing.
    fn is_about(&self, metric: &str) -> bool {
        metric
            .strip_prefix(self.metric)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }

    /// Whether all of the interval of a metric it is about lies beyond the limit; without an
    /// interval, whether its ratio does.
    fn passed(&self, cell: &CellChange) -> bool {
        let (low, high) = cell
            .ratio_interval
            .map_or((cell.ratio, cell.ratio), |interval| (interval.low, interval.high));
        let limit = 1.0 + self.change;
        self.is_about(&cell.metric) && if self.below { high < limit } else { low > limit }
    }

    /// That no cell has such a metric, what was probably meant, and what there is.
    fn matches_nothing(&self, metrics: &BTreeSet<&str>) -> Failure {
        // Every beginning of a name that ends with a word can be said.
        let said = metrics.iter().flat_map(|metric| {
            metric.match_indices('_').map(|(at, _)| &metric[..at]).chain([*metric])
        });
        let meant = stack::nearest(self.metric, said)
            .map_or_else(|| ".".to_owned(), |name| format!("; did you mean `{name}`?"));
        let there_are = metrics.iter().copied().collect::<Vec<_>>().join(", ");
        Failure::usage(format!(
            "--fail-if {}: no cell that is compared has a metric `{}`{meant} There are: {there_are}",
            self.text, self.metric
        ))
    }
}

/// Compares two runs.
pub(crate) fn compare_runs(output: &Output, arguments: &CompareArguments) -> Result<(), Failure> {
    let limits: Vec<Limit<'_>> =
        arguments.fail_if.iter().map(|text| Limit::parse(text)).collect::<Result<_, _>>()?;
    let margin = match arguments.margin {
        Some(percent) if (0.0..100.0).contains(&percent) => Some(percent / 100.0),
        Some(percent) => {
            return Err(Failure::usage(format!("--margin {percent}: per cent from 0 to 100")));
        }
        None => None,
    };
    let (first, second) = (lab::read(&arguments.first)?, lab::read(&arguments.second)?);
    let changes = compare(&first, &second, margin.unwrap_or(first.plan.margin));
    if changes.cells.is_empty() {
        let why = if changes.notes.is_empty() {
            String::new()
        } else {
            format!(": {}", changes.notes.join("; "))
        };
        return Err(Failure::usage(format!("the two runs have no cell in common{why}")));
    }
    let by_metric = if limits.is_empty() {
        Vec::new()
    } else {
        by_metrics(&first, &second, &changes, |_| true)
    };
    let metrics: BTreeSet<&str> = by_metric.iter().map(|cell| cell.metric.as_str()).collect();
    if let Some(limit) =
        limits.iter().find(|limit| !metrics.iter().any(|metric| limit.is_about(metric)))
    {
        return Err(limit.matches_nothing(&metrics));
    }
    let passed: Vec<(&Limit<'_>, &CellChange)> = limits
        .iter()
        .flat_map(|limit| {
            by_metric.iter().filter(|cell| limit.passed(cell)).map(move |cell| (limit, cell))
        })
        .collect();
    if output.json {
        let passed: Vec<_> = passed
            .iter()
            .map(|(limit, cell)| {
                json!({
                    "limit": limit.text,
                    "settings": cell.settings,
                    "workload": cell.workload,
                    "metric": cell.metric,
                    "ratio": cell.ratio,
                    "ratio_interval": cell.ratio_interval,
                })
            })
            .collect();
        output.document(&json!({ "first": arguments.first, "second": arguments.second,
            "cells": changes.cells, "notes": changes.notes, "limits_passed": passed }))?;
    } else {
        changes.notes.iter().for_each(|note| output.note(note));
        output.result(&text(&changes))?;
    }
    match passed.first() {
        None => Ok(()),
        Some((limit, cell)) => {
            let more = if passed.len() > 1 {
                format!(" and {} more", passed.len() - 1)
            } else {
                String::new()
            };
            Err(Failure::limit_passed(format!(
                "--fail-if {}: {}, {} x {:.3}{more}",
                limit.text,
                name(cell),
                cell.metric,
                cell.ratio
            )))
        }
    }
}

fn name(cell: &CellChange) -> String {
    let settings: Vec<&str> = cell.settings.values().map(String::as_str).collect();
    format!("{} {}", settings.join(" "), cell.workload).trim().to_owned()
}

fn text(changes: &Changes) -> String {
    let shown = |metric: &str, value: f64| match metric {
        metric if metric.ends_with("bytes_per_second") => format!("{} MB/s", figure(value / 1e6)),
        metric if metric.ends_with("_seconds") => seconds(value),
        _ => figure(value),
    };
    let line = |cell: &CellChange| {
        let interval = cell.ratio_interval.map_or("-".to_owned(), |interval| {
            format!("{:.3} to {:.3}", interval.low, interval.high)
        });
        let word = cell.verdict.map_or("too few trials", |verdict| verdict.word());
        let better = if cell.better == Better::Lower { " (less is better)" } else { "" };
        vec![
            name(cell),
            shown(&cell.metric, cell.medians[0]),
            shown(&cell.metric, cell.medians[1]),
            format!("{:.3}", cell.ratio),
            interval,
            format!("{word}{better}"),
        ]
    };
    let cells: Vec<Vec<String>> = changes.cells.iter().map(line).collect();
    table(&["CELL", "FIRST", "SECOND", "RATIO", "INTERVAL", "SECOND IS"], &cells, &[1, 2, 3])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::statistics::Interval;

    use super::*;

    #[test]
    fn limits_are_read_and_what_is_none_is_refused() {
        let limit = Limit::parse("throughput < -5%").unwrap();
        assert_eq!(
            limit,
            Limit { text: "throughput < -5%", metric: "throughput", below: true, change: -0.05 }
        );
        assert!(!Limit::parse("latency_p99>10 %").unwrap().below);
        for wrong in
            ["throughput -5%", "throughput < -5", "< -5%", "throughput < x%", "throughput < -100%"]
        {
            assert!(Limit::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_passed_only_when_the_whole_interval_lies_beyond_it() {
        let cell = |low, high| CellChange {
            settings: BTreeMap::new(),
            workload: "random read 4096".to_owned(),
            metric: "throughput_bytes_per_second".to_owned(),
            better: Better::Higher,
            trials: [6, 6],
            medians: [1.0, 1.0],
            ratio: f64::midpoint(low, high),
            ratio_interval: Some(Interval { low, high }),
            p: None,
            verdict: None,
        };
        let limit = Limit::parse("throughput < -5%").unwrap();
        assert!(
            limit.passed(&cell(0.80, 0.94))
                && !limit.passed(&cell(0.80, 0.96))
                && !limit.passed(&cell(1.1, 1.2))
        );
        assert!(!Limit::parse("latency < -5%").unwrap().passed(&cell(0.8, 0.9)), "another metric");
        assert!(Limit::parse("throughput > 5%").unwrap().passed(&cell(1.06, 1.2)));
    }

    #[test]
    fn a_limit_names_whole_words_of_a_metric() {
        let about = |limit: &str, metric: &str| Limit::parse(limit).unwrap().is_about(metric);
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
            |limit: &str| format!("{:?}", Limit::parse(limit).unwrap().matches_nothing(&metrics));
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
}

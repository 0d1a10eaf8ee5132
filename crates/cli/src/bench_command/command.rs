//! `raidloom bench command` and `raidloom bench fio`: programs of the user's, with what they took
//! and what they said.

use bench::suite::{Measured, Row};
use clap::Args;

use super::arguments::TargetArguments;
use super::flags::{Command, Fio, Said, SuiteFlags};
use super::{run, show};
use crate::failure::Failure;
use crate::output::{Output, figure, seconds, table};

/// `bench command`.
#[derive(Args, Debug)]
pub(crate) struct CommandArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub flags: SuiteFlags<Command>,
}

/// `bench fio`.
#[derive(Args, Debug)]
pub(crate) struct FioArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub flags: SuiteFlags<Fio>,
}

/// Runs a command on one target.
pub(crate) fn command(output: &Output, arguments: &CommandArguments) -> Result<(), Failure> {
    programs(output, &Said::new(output, &arguments.flags)?, &arguments.target)
}

/// Runs a job file of fio's on one target.
pub(crate) fn fio(output: &Output, arguments: &FioArguments) -> Result<(), Failure> {
    programs(output, &Said::new(output, &arguments.flags)?, &arguments.target)
}

fn programs(output: &Output, said: &Said, target: &TargetArguments) -> Result<(), Failure> {
    let finished = run::run(output, said, target)?;
    let planned = (said.suite.phases)(&finished.settings);
    let text = |rows: &[Row]| {
        let metric = |phase: &str| {
            planned.iter().find(|one| one.name == phase).map_or("", |one| &*one.metric)
        };
        let line = |(phase, runs): (&str, Vec<&Measured>)| line(metric(phase), phase, &runs);
        let cells: Vec<Vec<String>> = show::by_phase(rows).into_iter().map(line).collect();
        format!("{}{}", table(&HEAD, &cells, &[1, 2, 3, 4, 5, 6, 7, 8, 9]), show::flag_words(rows))
    };
    show::finish(output, finished, text)
}

const HEAD: [&str; 11] = [
    "ROW",
    "FIGURE",
    "DURABLE",
    "LOWEST",
    "HIGHEST",
    "TIME",
    "%CPU",
    "MB READ",
    "MB WRITTEN",
    "RUNS",
    "FLAGS",
];

/// A figure with the unit that its name ends in.
fn shown(metric: &str, value: f64) -> String {
    match metric {
        _ if metric.ends_with("bytes_per_second") => format!("{} MB/s", figure(value / 1e6)),
        _ if metric.ends_with("per_second") => format!("{}/s", figure(value)),
        _ if metric.ends_with("_seconds") => seconds(value),
        _ if metric.ends_with("_bytes") => format!("{} MB", figure(value / 1e6)),
        _ => figure(value),
    }
}

fn line(metric: &str, phase: &str, runs: &[&Measured]) -> Vec<String> {
    let all = |name: &str| -> Vec<f64> {
        runs.iter().filter_map(|run| run.metrics().get(name).copied()).collect()
    };
    let middle = |name: &str, shape: &dyn Fn(f64) -> String| {
        let figures = all(name);
        if figures.is_empty() { "-".to_owned() } else { shape(show::median(&figures)) }
    };
    let figures = all(metric);
    let end = |least: f64, of: fn(f64, f64) -> f64| {
        if figures.len() < 2 {
            return "-".to_owned();
        }
        shown(metric, figures.iter().copied().fold(least, of))
    };
    let mega = |bytes: f64| figure(bytes / 1e6);
    vec![
        phase.to_owned(),
        middle(metric, &|value| shown(metric, value)),
        middle(&format!("durable_{metric}"), &|value| shown(metric, value)),
        end(f64::INFINITY, f64::min),
        end(f64::NEG_INFINITY, f64::max),
        middle("elapsed_seconds", &seconds),
        middle("cpu_ratio", &|ratio| format!("{:.0}", 100.0 * ratio)),
        middle("moved_read_bytes", &mega),
        middle("moved_written_bytes", &mega),
        runs.len().to_string(),
        show::flags(runs),
    ]
}

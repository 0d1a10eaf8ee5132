//! `raidloom bench hdparm`: `-T` and `-t` with intervals.

use bench::suite::hdparm::SUITE;
use bench::suite::{Row, Value};
use clap::Args;
use results::statistics;

use super::arguments::TargetArguments;
use super::{Said, run, show};
use crate::failure::Failure;
use crate::output::{Output, figure, table};

/// `bench hdparm`.
#[derive(Args, Debug)]
pub(crate) struct HdparmArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    /// How often each test is run; from six on the median has an interval
    #[arg(short = 'x', long, default_value_t = 6, value_name = "N")]
    pub runs: u64,

    /// Time of a run of the cached reads
    #[arg(long, default_value = "2s", value_name = "DURATION")]
    pub cached_time: String,

    /// Time of a run of the device reads
    #[arg(long, default_value = "3s", value_name = "DURATION")]
    pub device_time: String,

    /// In a folder: read past the page cache
    #[arg(long)]
    pub direct: bool,

    /// In a folder: size of the file
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    pub size: String,
}

/// Runs hdparm's tests on one target; a device is opened for reading only.
pub(crate) fn hdparm(output: &Output, mut arguments: HdparmArguments) -> Result<(), Failure> {
    let mut said = Said::new(&SUITE);
    said.set("runs", Value::Count(arguments.runs))?;
    said.time("cached_time", &arguments.cached_time)?;
    said.time("device_time", &arguments.device_time)?;
    said.set("direct", Value::Switch(arguments.direct))?;
    said.set("size", Value::Bytes(output.size("--size", &arguments.size)?))?;
    arguments.target.read_only = true;
    let finished = run::run(output, &SUITE, &said.settings, &arguments.target)?;
    show::finish(output, finished, text)
}

fn text(rows: &[Row]) -> String {
    let line = |(phase, runs): (&str, Vec<&bench::suite::Measured>)| {
        let rates: Vec<f64> = runs.iter().map(|run| run.bytes_per_second() / 1e6).collect();
        let median = statistics::median(&rates);
        let interval = median.and_then(|median| median.interval);
        vec![
            phase.to_owned(),
            median.map_or("-".to_owned(), |median| figure(median.median)),
            interval.map_or("-".to_owned(), |interval| {
                format!("{} to {}", figure(interval.low), figure(interval.high))
            }),
            runs.len().to_string(),
            show::flags(&runs),
        ]
    };
    let cells: Vec<Vec<String>> = show::by_phase(rows).into_iter().map(line).collect();
    format!(
        "{}{}",
        table(&["TEST", "MB/s", "INTERVAL", "RUNS", "FLAGS"], &cells, &[1, 2, 3]),
        show::flag_words(rows)
    )
}

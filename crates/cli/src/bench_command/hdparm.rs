//! `raidloom bench hdparm`: `-T` and `-t` with intervals.

use bench::suite::Row;
use clap::Args;
use results::statistics;

use super::arguments::TargetArguments;
use super::flags::{Hdparm, Said, SuiteFlags};
use super::{run, show};
use crate::failure::Failure;
use crate::output::{Output, figure, table};

/// `bench hdparm`.
#[derive(Args, Debug)]
pub(crate) struct HdparmArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub flags: SuiteFlags<Hdparm>,
}

/// Runs hdparm's tests on one target; a device is opened for reading only.
pub(crate) fn hdparm(output: &Output, mut arguments: HdparmArguments) -> Result<(), Failure> {
    let said = Said::new(output, &arguments.flags)?;
    arguments.target.read_only = true;
    let finished = run::run(output, &said, &arguments.target)?;
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

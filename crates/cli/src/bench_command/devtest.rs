//! `raidloom bench devtest`: the raw-device test, shown as its users know it.

use std::path::Path;

use bench::suite::devtest::{self, Row};
use clap::Args;

use super::arguments::TargetArguments;
use super::flags::{Devtest, Said, SuiteFlags};
use super::{run, show};
use crate::failure::Failure;
use crate::output::{Output, figure, seconds, table};

/// `bench devtest`.
#[derive(Args, Debug)]
pub(crate) struct DevtestArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub flags: SuiteFlags<Devtest>,

    /// Only the tests that read; nothing is opened for writing
    #[arg(long, conflicts_with = "create")]
    pub read_only: bool,
}

/// Runs devtest on one target.
pub(crate) fn devtest(output: &Output, mut arguments: DevtestArguments) -> Result<(), Failure> {
    if arguments.read_only && Path::new(&arguments.target.target).is_dir() {
        return Err(Failure::usage(
            "--read-only: in a folder a file is made and written; name a device",
        ));
    }
    let said = Said::new(output, &arguments.flags)?;
    arguments.target.read_only = arguments.read_only;
    let finished = run::run(output, &said, &arguments.target)?;
    show::finish(output, finished, |rows| {
        format!("{}{}", text(&devtest::rows(rows)), show::flag_words(rows))
    })
}

fn text(rows: &[Row]) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mut flags: Vec<&str> = row.flags.iter().map(results::Doubt::mark).collect();
            flags.dedup();
            vec![
                row.test.clone(),
                row.request_bytes.to_string(),
                figure(row.kib_per_second),
                row.durable_kib_per_second.map_or("-".to_owned(), figure),
                figure(row.io_per_second),
                seconds(row.latency_mean_seconds),
                seconds(row.latency_p99_seconds),
                flags.join(" "),
            ]
        })
        .collect();
    table(
        &["TEST", "REQUEST", "KiB/s", "DURABLE", "IO/s", "MEAN LATENCY", "P99 LATENCY", "FLAGS"],
        &cells,
        &[1, 2, 3, 4, 5, 6],
    )
}

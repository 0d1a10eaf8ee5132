//! `raidloom bench devtest`: the raw-device test, shown as its users know it.

use std::path::Path;

use bench::suite::Value;
use bench::suite::devtest::{self, Row, SUITE};
use block::Clock;
use clap::{Args, ValueEnum};

use super::arguments::TargetArguments;
use super::{Said, run, show};
use crate::failure::Failure;
use crate::output::{Output, figure, seconds, table};

/// `bench devtest`.
#[derive(Args, Debug)]
pub(crate) struct DevtestArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    /// Requests outstanding at a time
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub depth: u64,

    /// Time for each test [default: 3s; 1min on the virtual clock]
    #[arg(long, value_name = "DURATION")]
    pub time: Option<String>,

    /// End each test after this many requests, if that comes first
    #[arg(long, value_name = "N")]
    pub max_operations: Option<u64>,

    /// What is checked of the data
    #[arg(long, value_enum, default_value = "words")]
    pub verify: VerifyArgument,

    /// Only the tests that read; nothing is opened for writing
    #[arg(long, conflicts_with = "create")]
    pub read_only: bool,

    /// In a folder: size of the file
    #[arg(long, default_value = "256MiB", value_name = "SIZE")]
    pub size: String,
}

/// What is checked of the data.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum VerifyArgument {
    /// Nothing
    Off,
    /// The words in every 512 bytes that name offset and seed
    Words,
    /// Every byte
    Full,
}

/// Runs devtest on one target.
pub(crate) fn devtest(output: &Output, mut arguments: DevtestArguments) -> Result<(), Failure> {
    if arguments.read_only && Path::new(&arguments.target.target).is_dir() {
        return Err(Failure::usage(
            "--read-only: in a folder a file is made and written; name a device",
        ));
    }
    let said = settings(output, &arguments, Clock::Wall)?;
    let modelled = settings(output, &arguments, Clock::Virtual)?;
    arguments.target.read_only = arguments.read_only;
    let of_clock =
        |clock| Ok(if clock == Clock::Virtual { modelled.settings } else { said.settings });
    let finished = run::run_by_clock(output, &SUITE, &arguments.target, of_clock)?;
    show::finish(output, finished, |rows| {
        format!("{}{}", text(&devtest::rows(rows)), show::flag_words(rows))
    })
}

fn settings(output: &Output, arguments: &DevtestArguments, clock: Clock) -> Result<Said, Failure> {
    let mut said = Said::on(&SUITE, clock);
    said.set("depth", Value::Count(arguments.depth))?;
    if let Some(text) = &arguments.time {
        said.time("time", text)?;
    }
    said.set("max_operations", Value::Limit(arguments.max_operations))?;
    let verify = match arguments.verify {
        VerifyArgument::Off => "off",
        VerifyArgument::Words => "words",
        VerifyArgument::Full => "full",
    };
    said.set("verify", Value::word(verify))?;
    said.set("size", Value::Bytes(output.size("--size", &arguments.size)?))?;
    Ok(said)
}

fn text(rows: &[Row]) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mut flags: Vec<&str> = row.flags.iter().map(bench::audit::Flag::name).collect();
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

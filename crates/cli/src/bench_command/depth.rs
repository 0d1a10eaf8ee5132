//! `raidloom bench depth`: curves of throughput against latency, their knees, and open loops.

use bench::suite::depth::{Curve, SUITE, curves};
use bench::suite::{Row, Value};
use clap::Args;
use serde_json::json;

use super::arguments::TargetArguments;
use super::{Said, run, show};
use crate::failure::Failure;
use crate::output::{Output, figure, seconds, table};

/// `bench depth`.
#[derive(Args, Debug)]
pub(crate) struct DepthArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    /// Where requests go: random, sequential or both
    #[arg(long, default_value = "both", value_name = "ACCESS")]
    pub access: String,

    /// Which way data go: read, write or both
    #[arg(long, default_value = "read", value_name = "WAY")]
    pub way: String,

    /// Smallest request; each further size is 16 times the one before it
    #[arg(long, default_value = "4KiB", value_name = "SIZE")]
    pub block_min: String,

    /// Largest request, up to 16MiB
    #[arg(long, default_value = "1MiB", value_name = "SIZE")]
    pub block_max: String,

    /// Most requests outstanding
    #[arg(long, default_value_t = 256, value_name = "N")]
    pub depth_max: u64,

    /// Time of a point [default: 1s; 10s on the virtual clock]
    #[arg(long, value_name = "DURATION")]
    pub time: Option<String>,

    /// How often each point is measured
    #[arg(short = 'x', long, default_value_t = 1, value_name = "N")]
    pub runs: u64,

    /// After each curve, open loops at 25, 50, 75 and 90 % of its largest rate
    #[arg(long)]
    pub open_loop: bool,

    /// Bytes that are used, whole MiB [default: the whole device; 1GiB in a folder]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,

    /// Nothing is opened for writing, and nothing verified
    #[arg(long)]
    pub read_only: bool,
}

/// Runs depth on one target.
pub(crate) fn depth(output: &Output, mut arguments: DepthArguments) -> Result<(), Failure> {
    let mut said = Said::new(&SUITE);
    said.set("access", Value::from(arguments.access.clone()))?;
    said.set("way", Value::from(arguments.way.clone()))?;
    said.set("block_min", Value::Bytes(output.size("--block-min", &arguments.block_min)?))?;
    said.set("block_max", Value::Bytes(output.size("--block-max", &arguments.block_max)?))?;
    said.set("depth_max", Value::Count(arguments.depth_max))?;
    if let Some(text) = &arguments.time {
        said.time("time", text)?;
    }
    said.set("runs", Value::Count(arguments.runs))?;
    if arguments.open_loop {
        said.set("loop", Value::word("open"))?;
    }
    if let Some(text) = &arguments.size {
        said.set("size", Value::Bytes(output.size("--size", text)?))?;
    }
    if arguments.read_only && arguments.way != "read" {
        return Err(Failure::usage(format!(
            "--read-only and --way {}: one of them",
            arguments.way
        )));
    }
    arguments.target.read_only = arguments.read_only;
    let mut finished = run::run(output, &SUITE, &said.settings, &arguments.target)?;
    if output.json {
        finished.heading["curves"] = json!(curves(&finished.rows));
    }
    show::finish(output, finished, text)
}

fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    for curve in curves(rows) {
        text += &curve_text(&curve);
    }
    text += "knee: the depth with the most throughput for its mean latency (the largest IO/s / \
        mean latency)\n";
    text += &open_text(rows);
    text + &show::flag_words(rows)
}

const BAR_WIDTH: f64 = 30.0;

fn curve_text(curve: &Curve) -> String {
    let most = curve.points.iter().map(|point| point.io_per_second).fold(0.0, f64::max);
    let writes =
        curve.points.iter().any(|point| point.durable_throughput_bytes_per_second.is_some());
    let line = |point: &bench::suite::depth::Point| {
        let bar =
            if most > 0.0 { (BAR_WIDTH * point.io_per_second / most).round() as usize } else { 0 };
        let knee = if curve.knee_depth == Some(point.depth) { " <- knee" } else { "" };
        let mut cells =
            vec![point.depth.to_string(), figure(point.throughput_bytes_per_second / 1e6)];
        if writes {
            cells.push(
                point
                    .durable_throughput_bytes_per_second
                    .map_or("-".to_owned(), |rate| figure(rate / 1e6)),
            );
        }
        cells.extend([
            figure(point.io_per_second),
            seconds(point.latency_mean_seconds),
            seconds(point.latency_p99_seconds),
            format!("{}{knee}", "#".repeat(bar)),
            point.flags.join(" "),
        ]);
        cells
    };
    let cells: Vec<Vec<String>> = curve.points.iter().map(line).collect();
    let head: &[&str] = match writes {
        true => &["DEPTH", "MB/s", "DURABLE", "IO/s", "MEAN", "P99", "", "FLAGS"],
        false => &["DEPTH", "MB/s", "IO/s", "MEAN", "P99", "", "FLAGS"],
    };
    let right: Vec<usize> = (0..head.len() - 2).collect();
    format!("{}\n{}\n", curve.access, table(head, &cells, &right))
}

/// The open loops: latency from the moment each request was meant for.
fn open_text(rows: &[Row]) -> String {
    let open: Vec<Row> = rows.iter().filter(|row| row.phase.contains(" open ")).cloned().collect();
    if open.is_empty() {
        return String::new();
    }
    let line = |(phase, runs): (&str, Vec<&bench::suite::Measured>)| {
        let middle = |of: &dyn Fn(&bench::suite::Measured) -> f64| {
            show::median(&runs.iter().map(|run| of(run)).collect::<Vec<_>>())
        };
        let durable: Vec<f64> =
            runs.iter().filter_map(|run| run.durable_operations_per_second()).collect();
        let service = |run: &bench::suite::Measured| {
            run.done.service.as_ref().map_or(f64::NAN, |service| service.quantile_seconds(0.99))
        };
        vec![
            phase.to_owned(),
            figure(middle(&|run| run.operations_per_second())),
            if durable.is_empty() { "-".to_owned() } else { figure(show::median(&durable)) },
            seconds(middle(&|run| run.done.latency.quantile_seconds(0.5))),
            seconds(middle(&|run| run.done.latency.quantile_seconds(0.99))),
            seconds(middle(&|run| run.done.latency.max_seconds())),
            seconds(middle(&service)),
            show::flags(&runs),
        ]
    };
    let cells: Vec<Vec<String>> = show::by_phase(&open).into_iter().map(line).collect();
    let head = ["ACCESS", "IO/s", "DURABLE", "P50", "P99", "LONGEST", "CLOSED P99", "FLAGS"];
    format!(
        "\nopen loops, latency from the intended start; CLOSED P99 is what a closed loop would \
        have said\n{}",
        table(&head, &cells, &[1, 2, 3, 4, 5, 6])
    )
}

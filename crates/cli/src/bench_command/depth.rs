//! `raidloom bench depth`: curves of throughput against latency, their knees, and open loops.

use bench::suite::depth::{Curve, curves};
use bench::suite::{Row, Value};
use block::Clock;
use clap::Args;
use serde_json::json;

use super::arguments::TargetArguments;
use super::flags::{Depth, Said, SuiteFlags};
use super::{run, show};
use crate::failure::Failure;
use crate::output::{Output, figure, seconds, table};

/// `bench depth`.
#[derive(Args, Debug)]
pub(crate) struct DepthArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub flags: SuiteFlags<Depth>,

    /// An older spelling of `--loop open`
    #[arg(long, hide = true, conflicts_with = "loop")]
    pub open_loop: bool,

    /// Nothing is opened for writing, and nothing verified
    #[arg(long, conflicts_with = "create")]
    pub read_only: bool,
}

/// Runs depth on one target.
pub(crate) fn depth(output: &Output, mut arguments: DepthArguments) -> Result<(), Failure> {
    let mut said = Said::new(output, &arguments.flags)?;
    if arguments.open_loop {
        said.set("loop", Value::word("open"))?;
    }
    let settings = said.on(Clock::Wall)?;
    let way = settings.text("way");
    if arguments.read_only && way != "read" {
        return Err(Failure::usage(format!("--read-only and --way {way}: one of them")));
    }
    arguments.target.read_only = arguments.read_only;
    let mut finished = run::run(output, &said, &arguments.target)?;
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

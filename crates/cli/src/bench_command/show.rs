//! What people who know a suite expect to see of it, made from the trials of a run.
//!
//! ```text
//!   trials of a run ── by row ──> Rows: figures of each metric, doubts ──> table of the suite, JSON
//! ```

use bench::suite::depth::{self, Curve, Point};
use bench::suite::{self, devtest};
use results::doubt::ReplayWindow;
use results::statistics;
use results::{Doubt, Trial};
use serde_json::{Value, json};
use words::Message;

use super::crystal;
use super::rows::{OPERATIONS, RATE, Row, Rows, least, most};
use crate::catalogue::{self, say};
use crate::output::{figure, seconds, table};

impl Rows<'_> {
    /// As the suite's users know it.
    pub(super) fn text(&self) -> String {
        if self.measured().next().is_none() {
            return say!(NOTHING_MEASURED) + "\n";
        }
        let text = match self.suite.name {
            suite::devtest::NAME => self.devtest(),
            suite::hdparm::NAME => self.hdparm(),
            suite::depth::NAME => self.depth(),
            suite::crystal::NAME => crystal::text(self),
            suite::copy::NAME => format!("{}\n{}", self.phases(), self.copies()),
            suite::replay::NAME => self.replayed(),
            suite::command::NAME | suite::fio::NAME => self.programs(),
            _ => self.phases(),
        };
        text + &self.legend()
    }

    /// What the marks mean, each once with the first row that it was raised about.
    fn legend(&self) -> String {
        let mut seen: Vec<&str> = Vec::new();
        let mut text = String::new();
        for row in self.measured() {
            for doubt in row.doubts() {
                if !seen.contains(&doubt.mark()) {
                    seen.push(doubt.mark());
                    text += &format!("{} ({})\n", report::doubt_legend(doubt), row.name);
                }
            }
        }
        if text.is_empty() { text } else { format!("\n{text}") }
    }

    /// One line a phase: the median of its runs, and the lowest and highest where there are
    /// several.
    fn phases(&self) -> String {
        let is_repeated = self.measured().any(|row| row.trials.len() > 1);
        let mut head = vec![
            catalogue::PHASE.template(),
            catalogue::RATE_HEAD.template(),
            "",
            catalogue::DURABLE_HEAD.template(),
            catalogue::MEAN_HEAD.template(),
            "P99",
            catalogue::LONGEST_HEAD.template(),
            "%CPU",
            catalogue::KERNEL_HEAD.template(),
        ];
        if is_repeated {
            let added = [catalogue::RUNS_HEAD, catalogue::LOWEST_HEAD, catalogue::HIGHEST_HEAD];
            head.extend(added.map(Message::template));
        }
        head.push(catalogue::FLAGS_HEAD.template());
        let line = |row: &Row<'_>| {
            let moves = row.workload.metric.ends_with("bytes_per_second");
            let (metric, unit) = if moves { (RATE, 1e6) } else { (OPERATIONS, 1.0) };
            let durable = format!("durable_{metric}");
            let rate = |rate: f64| figure(rate / unit);
            let percent = |ratio: f64| format!("{:.0}", 100.0 * ratio);
            let mut cells = vec![
                row.name.to_owned(),
                row.middle(metric, rate),
                if moves { "MB/s" } else { "/s" }.to_owned(),
                row.middle(&durable, rate),
                row.middle("latency_mean_seconds", seconds),
                row.middle("latency_p99_seconds", seconds),
                row.middle("latency_max_seconds", seconds),
                row.middle("cpu_ratio", percent),
                row.middle("kernel_threads_cpu_ratio", percent),
            ];
            if is_repeated {
                let all = row.all(metric);
                cells.extend([all.len().to_string(), rate(least(&all)), rate(most(&all))]);
            }
            cells.push(row.marks());
            cells
        };
        let cells: Vec<Vec<String>> = self.measured().map(line).collect();
        let right: Vec<usize> = (1..head.len() - 1).filter(|column| *column != 2).collect();
        table(&head, &cells, &right)
    }

    /// How long copying took, for those who have written it down.
    fn copies(&self) -> String {
        let line = |row: &Row<'_>| {
            let (files, elapsed) = (row.median("operations_count"), row.median("elapsed_seconds"));
            let durable =
                elapsed.zip(row.median("flush_seconds")).map(|(time, flush)| time + flush);
            let time = |time: Option<f64>| time.unwrap_or(f64::NAN);
            say!(
                COPY_TOOK,
                name = row.name,
                files = format_args!("{:.0}", time(files)),
                elapsed = format_args!("{:.2}", time(elapsed)),
                durable = format_args!("{:.2}", time(durable.or(elapsed))),
            ) + "\n"
        };
        self.measured().map(line).collect()
    }

    /// The table of 2004, mixed tests in two directions.
    fn devtest(&self) -> String {
        let tests = devtest::tests();
        let mut cells = Vec::new();
        for row in self.measured() {
            let Some(test) = tests.iter().find(|test| test.workload == row.name) else { continue };
            for (name, side) in test.lines() {
                let kib = |rate: f64| figure(rate / 1024.0);
                let rate = format!("{side}{RATE}");
                // The flush belongs to all that was written, and to nothing that was read.
                let durable = row.median(&format!("durable_{RATE}")).filter(|_| side != "read_");
                let share = row.median(&rate).zip(row.median(RATE)).map(|(own, all)| own / all);
                let durable = durable.zip(share).map(|(durable, share)| durable * share);
                cells.push(vec![
                    name,
                    test.request_bytes.to_string(),
                    row.middle(&rate, kib),
                    durable.map_or("-".to_owned(), kib),
                    row.middle(&format!("{side}{OPERATIONS}"), figure),
                    row.middle(&format!("{side}latency_mean_seconds"), seconds),
                    row.middle(&format!("{side}latency_p99_seconds"), seconds),
                    row.marks(),
                ]);
            }
        }
        let head = [
            catalogue::TEST_HEAD.template(),
            catalogue::REQUEST_HEAD.template(),
            "KiB/s",
            catalogue::DURABLE_HEAD.template(),
            "IO/s",
            catalogue::MEAN_LATENCY_HEAD.template(),
            catalogue::P99_LATENCY_HEAD.template(),
            catalogue::FLAGS_HEAD.template(),
        ];
        table(&head, &cells, &[1, 2, 3, 4, 5, 6])
    }

    /// A recording that was replayed: all of it, what it read and what it wrote, and its parts.
    fn replayed(&self) -> String {
        let mut cells = Vec::new();
        for row in self.measured() {
            let sides =
                [(say!(ALL_REQUESTS), ""), (say!(READS), "read_"), (say!(WRITES), "write_")];
            for (name, side) in sides {
                let metric = |metric: &str| format!("{side}{metric}");
                if row.median(&metric(OPERATIONS)).is_none_or(|rate| rate == 0.0) {
                    continue;
                }
                cells.push(vec![
                    name,
                    row.middle(&metric(OPERATIONS), figure),
                    row.middle(&metric(RATE), |rate| figure(rate / 1e6)),
                    row.middle(&metric("latency_mean_seconds"), seconds),
                    row.middle(&metric("latency_p50_seconds"), seconds),
                    row.middle(&metric("latency_p99_seconds"), seconds),
                    row.middle(&metric("latency_max_seconds"), seconds),
                    if side.is_empty() { row.marks() } else { String::new() },
                ]);
            }
        }
        let head = [
            catalogue::REQUESTS_HEAD.template(),
            "IO/s",
            "MB/s",
            catalogue::MEAN_HEAD.template(),
            "P50",
            "P99",
            catalogue::LONGEST_HEAD.template(),
            catalogue::FLAGS_HEAD.template(),
        ];
        table(&head, &cells, &[1, 2, 3, 4, 5, 6]) + &self.windows()
    }

    /// The parts of a recording, of the first time that it was replayed.
    fn windows(&self) -> String {
        let windows = self.measured().flat_map(Row::doubts).find_map(|doubt| match doubt {
            Doubt::ReplayedWindows { windows } => Some(windows),
            _ => None,
        });
        let line = |window: &ReplayWindow| {
            vec![
                seconds(window.seconds[0]),
                seconds(window.seconds[1]),
                window.requests.to_string(),
                seconds(window.p50_seconds),
                seconds(window.p99_seconds),
                seconds(window.max_seconds),
            ]
        };
        let cells: Vec<Vec<String>> = windows.into_iter().flatten().map(line).collect();
        let head = [
            catalogue::FROM_HEAD.template(),
            catalogue::TO_HEAD.template(),
            catalogue::REQUESTS_HEAD.template(),
            "P50",
            "P99",
            catalogue::LONGEST_HEAD.template(),
        ];
        format!("\n{}", table(&head, &cells, &[0, 1, 2, 3, 4, 5]))
    }

    fn hdparm(&self) -> String {
        let line = |row: &Row<'_>| {
            let rates: Vec<f64> = row.all(RATE).iter().map(|rate| rate / 1e6).collect();
            let median = statistics::median(&rates);
            let interval = median.and_then(|median| median.interval);
            vec![
                row.name.to_owned(),
                median.map_or("-".to_owned(), |median| figure(median.median)),
                interval.map_or("-".to_owned(), |interval| {
                    say!(RUN_RANGE, low = figure(interval.low), high = figure(interval.high))
                }),
                rates.len().to_string(),
                row.marks(),
            ]
        };
        let cells: Vec<Vec<String>> = self.measured().map(line).collect();
        let head = [
            catalogue::TEST_HEAD.template(),
            "MB/s",
            catalogue::INTERVAL_HEAD.template(),
            catalogue::RUNS_HEAD.template(),
            catalogue::FLAGS_HEAD.template(),
        ];
        table(&head, &cells, &[1, 2, 3])
    }

    /// Curves of throughput against latency.
    pub(super) fn curves(&self) -> Vec<Curve> {
        let point = |row: &Row<'_>| {
            let (access, depth) = depth::split(row.name)?;
            let mean = |metric: &str| {
                let all = row.all(metric);
                (!all.is_empty()).then(|| statistics::mean(&all))
            };
            let point = Point::of(depth, mean, row.marks_once())?;
            Some((access.to_owned(), point))
        };
        depth::curves(self.measured().filter_map(point))
    }

    fn depth(&self) -> String {
        let curves: String = self.curves().iter().map(curve_text).collect();
        format!("{curves}{}\n{}", say!(KNEE_MEANS), self.open_loops())
    }

    /// The open loops: latency from the moment each request was meant for.
    fn open_loops(&self) -> String {
        let line = |row: &Row<'_>| {
            vec![
                row.name.to_owned(),
                row.middle(OPERATIONS, figure),
                row.middle(&format!("durable_{OPERATIONS}"), figure),
                row.middle("latency_p50_seconds", seconds),
                row.middle("latency_p99_seconds", seconds),
                row.middle("latency_max_seconds", seconds),
                row.middle("service_latency_p99_seconds", seconds),
                row.marks(),
            ]
        };
        let open = self.measured().filter(|row| row.name.contains(" open "));
        let cells: Vec<Vec<String>> = open.map(line).collect();
        if cells.is_empty() {
            return String::new();
        }
        let head = [
            catalogue::ACCESS_HEAD.template(),
            "IO/s",
            catalogue::DURABLE_HEAD.template(),
            "P50",
            "P99",
            catalogue::LONGEST_HEAD.template(),
            catalogue::CLOSED_P99_HEAD.template(),
            catalogue::FLAGS_HEAD.template(),
        ];
        format!("\n{}\n{}", say!(OPEN_LOOPS), table(&head, &cells, &[1, 2, 3, 4, 5, 6]))
    }

    /// Programs of the user's, with what they took and what they said.
    fn programs(&self) -> String {
        let line = |row: &Row<'_>| {
            let metric = &*row.workload.metric;
            let all = row.all(metric);
            let of_several = |figure: f64| match all.len() {
                0 | 1 => "-".to_owned(),
                _ => with_unit(metric, figure),
            };
            let mega = |bytes: f64| figure(bytes / 1e6);
            vec![
                row.name.to_owned(),
                row.middle(metric, |value| with_unit(metric, value)),
                row.middle(&format!("durable_{metric}"), |value| with_unit(metric, value)),
                of_several(least(&all)),
                of_several(most(&all)),
                row.middle("elapsed_seconds", seconds),
                row.middle("cpu_ratio", |ratio| format!("{:.0}", 100.0 * ratio)),
                row.middle("moved_read_bytes", mega),
                row.middle("moved_written_bytes", mega),
                row.trials.len().to_string(),
                row.marks(),
            ]
        };
        let cells: Vec<Vec<String>> = self.measured().map(line).collect();
        let head = [
            catalogue::ROW_HEAD.template(),
            catalogue::FIGURE_HEAD.template(),
            catalogue::DURABLE_HEAD.template(),
            catalogue::LOWEST_HEAD.template(),
            catalogue::HIGHEST_HEAD.template(),
            catalogue::TIME_HEAD.template(),
            "%CPU",
            catalogue::MB_READ_HEAD.template(),
            catalogue::MB_WRITTEN_HEAD.template(),
            catalogue::RUNS_HEAD.template(),
            catalogue::FLAGS_HEAD.template(),
        ];
        table(&head, &cells, &[1, 2, 3, 4, 5, 6, 7, 8, 9])
    }

    /// The same for programs.
    pub(super) fn document(&self) -> Value {
        let plan = &self.run.plan;
        let configuration = &plan.configurations[0];
        let settings: serde_json::Map<String, Value> = self
            .settings
            .iter()
            .map(|(name, value)| (name.to_owned(), json!(value.to_string())))
            .collect();
        let rows: Vec<Value> =
            self.run.trials.iter().filter_map(|trial| self.trial_document(trial)).collect();
        let planned = plan.workloads.len() * plan.blocks as usize;
        let mut document = json!({
            "suite": self.suite.name,
            "target": configuration.stack,
            "clock": configuration.clock,
            "modelled": configuration.modelled,
            "seed": plan.seed,
            "runs": plan.blocks,
            "configuration": configuration.settings,
            "settings": settings,
            "rows": rows,
            "complete": self.run.trials.len() >= planned,
        });
        match self.suite.name {
            suite::crystal::NAME => document["summary"] = crystal::summary(self),
            suite::depth::NAME => document["curves"] = json!(self.curves()),
            _ => (),
        }
        document
    }

    fn trial_document(&self, trial: &Trial) -> Option<Value> {
        let row = self.rows.iter().find(|row| row.workload.name == trial.workload)?;
        let mut document = json!({
            "phase": row.name, "run": trial.block + 1, "metrics": trial.metrics,
            "members": trial.members, "flags": trial.flags,
        });
        if let Some(why) = trial.flags.iter().find_map(Doubt::why_not_measured) {
            document["skipped"] = json!(why.english());
        }
        Some(document)
    }
}

/// A figure with the unit that its name ends in.
fn with_unit(metric: &str, value: f64) -> String {
    match metric {
        _ if metric.ends_with("bytes_per_second") => format!("{} MB/s", figure(value / 1e6)),
        _ if metric.ends_with("per_second") => format!("{}/s", figure(value)),
        _ if metric.ends_with("_seconds") => seconds(value),
        _ if metric.ends_with("_bytes") => format!("{} MB", figure(value / 1e6)),
        _ => figure(value),
    }
}

const BAR_WIDTH: f64 = 30.0;

fn curve_text(curve: &Curve) -> String {
    let highest = curve.points.iter().map(|point| point.io_per_second).fold(0.0, f64::max);
    let writes =
        curve.points.iter().any(|point| point.durable_throughput_bytes_per_second.is_some());
    let line = |point: &Point| {
        let share = if highest > 0.0 { point.io_per_second / highest } else { 0.0 };
        let bar = (BAR_WIDTH * share).round() as usize;
        let knee = match curve.knee_depth == Some(point.depth) {
            true => format!(" {}", say!(KNEE_HERE)),
            false => String::new(),
        };
        let mut cells =
            vec![point.depth.to_string(), figure(point.throughput_bytes_per_second / 1e6)];
        if writes {
            let durable = point.durable_throughput_bytes_per_second;
            cells.push(durable.map_or("-".to_owned(), |rate| figure(rate / 1e6)));
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
    let mut head = vec![catalogue::DEPTH_HEAD.template(), "MB/s"];
    head.extend(writes.then(|| catalogue::DURABLE_HEAD.template()));
    let [mean, flags] = [catalogue::MEAN_HEAD, catalogue::FLAGS_HEAD].map(Message::template);
    head.extend(["IO/s", mean, "P99", "", flags]);
    let right: Vec<usize> = (0..head.len() - 2).collect();
    format!("{}\n{}\n", curve.access, table(&head, &cells, &right))
}

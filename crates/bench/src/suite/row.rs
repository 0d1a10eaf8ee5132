//! A row of results, the same for all suites: what was done, how fast, how even, at what cost, and
//! what is doubtful about it.

use std::collections::BTreeMap;
use std::time::Duration;

use block::Traffic;
use serde::Serialize;

use results::Doubt;
use words::Text;

use crate::audit::Facts;
use crate::latency::Latency;
use crate::load::{Ramp, Sides};

use super::steps::per_second;

words::with_parts!(skipped_parts: Option<Text>, "skipped", "skipped_parts");

/// What a phase did, by its own count.
#[derive(Clone, Debug)]
pub struct WorkDone {
    /// Operations: requests, files, seeks; whatever the phase counts.
    pub operations: u64,
    /// Bytes read by these operations.
    pub read_bytes: u64,
    /// Bytes written by these operations.
    pub written_bytes: u64,
    /// Bytes the rate is about, where that is not all that was read and written: a rewrite counts
    /// the file once.
    pub rated_bytes: Option<u64>,
    /// From the first call that counts until the last one returned.
    pub elapsed: Duration,
    /// What was done before that and is not counted. What it left in caches is flushed with the
    /// rest, so the durable rates are about both.
    pub ramp: Ramp,
    /// How long making it durable took after that; `None` for a phase that writes nothing.
    pub flush: Option<Duration>,
    /// What was moved besides the operations and is no part of what was asked for, such as reading
    /// back to verify.
    pub beside: Traffic,
    /// How long each operation took.
    pub latency: Latency,
    /// What was read and what was written, where a phase does both by turns.
    pub sides: Option<Box<Sides>>,
    /// How long each took from the moment it was submitted, where `latency` counts from the moment
    /// it was meant for.
    pub service: Option<Box<Latency>>,
    /// Where a program of the user's did it: the figures that it gave, name to value. Nothing is
    /// known of its operations then.
    pub told: Option<BTreeMap<String, f64>>,
    /// What its reader should know.
    pub notes: Vec<Doubt>,
}

/// The figures of one phase.
#[derive(Clone, Debug)]
pub struct PhaseFigures {
    /// What was done.
    pub done: WorkDone,
    /// What the devices and the machine did meanwhile.
    pub facts: Facts,
    /// What is doubtful.
    pub flags: Vec<Doubt>,
}

impl WorkDone {
    /// Bytes the rate is about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.rated_bytes.unwrap_or(self.read_bytes + self.written_bytes)
    }

    /// What was asked of the devices, for the audit.
    #[must_use]
    pub fn asked(&self) -> Traffic {
        let before = &self.ramp.moved;
        Traffic {
            read_bytes: self.read_bytes + before.read_bytes,
            written_bytes: self.written_bytes + before.written_bytes,
            ..Traffic::default()
        }
    }

    /// From the very first call until all was durable.
    #[must_use]
    pub fn durable_elapsed(&self) -> Duration {
        self.not_yet_durable().elapsed + self.elapsed + self.flush.unwrap_or_default()
    }

    /// What was done before the time that counts and was not flushed before that.
    fn not_yet_durable(&self) -> Ramp {
        if self.ramp.rounds.is_some() { Ramp::default() } else { self.ramp }
    }
}

impl PhaseFigures {
    /// Bytes per second when the calls had returned.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.done.bytes(), self.done.elapsed)
    }

    /// Bytes per second when all was durable; `None` for a phase that writes nothing.
    #[must_use]
    pub fn durable_bytes_per_second(&self) -> Option<f64> {
        let before = self.done.not_yet_durable().moved;
        let bytes = self.done.bytes() + before.read_bytes + before.written_bytes;
        self.done.flush.map(|_| per_second(bytes, self.done.durable_elapsed()))
    }

    /// Operations per second when the calls had returned.
    #[must_use]
    pub fn operations_per_second(&self) -> f64 {
        per_second(self.done.operations, self.done.elapsed)
    }

    /// Operations per second when all was durable; `None` for a phase that writes nothing.
    #[must_use]
    pub fn durable_operations_per_second(&self) -> Option<f64> {
        let before = self.done.not_yet_durable().moved;
        let operations = self.done.operations + before.reads + before.writes;
        self.done.flush.map(|_| per_second(operations, self.done.durable_elapsed()))
    }

    /// Processor time of this process in per cent of one processor, over the whole time.
    #[must_use]
    pub fn cpu_percent(&self) -> Option<f64> {
        self.percent(self.facts.own_cpu)
    }

    /// Processor time of the kernel's own threads in per cent of one processor.
    #[must_use]
    pub fn kernel_cpu_percent(&self) -> Option<f64> {
        self.percent(self.facts.kernel_cpu)
    }

    fn percent(&self, time: Option<Duration>) -> Option<f64> {
        let elapsed = self.facts.elapsed.as_secs_f64();
        time.filter(|_| elapsed > 0.0).map(|time| 100.0 * time.as_secs_f64() / elapsed)
    }

    /// The figures for a trial and for JSON, name to value.
    ///
    /// `throughput_…` where bytes were moved, `durable_…` where something was written, latencies
    /// where operations were timed; mixed phases have these as `read_…` and `write_…` as well.
    #[must_use]
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let done = &self.done;
        if let Some(told) = &done.told {
            let mut figures = self.figures_of_a_program();
            figures.0.extend(told.clone());
            return figures.0;
        }
        let mut figures = Figures::default();
        let mut put = |name: &str, figure: Option<f64>| figures.put(name, figure);
        let moves = done.bytes() > 0;
        put("operations_count", Some(done.operations as f64));
        put("elapsed_seconds", Some(done.elapsed.as_secs_f64()));
        put("io_per_second", Some(self.operations_per_second()));
        put("durable_io_per_second", self.durable_operations_per_second());
        put("throughput_bytes_per_second", moves.then(|| self.bytes_per_second()));
        put(
            "durable_throughput_bytes_per_second",
            self.durable_bytes_per_second().filter(|_| moves),
        );
        if let Some(rounds) = done.ramp.rounds {
            put("steady_rounds_count", Some(rounds.rounds as f64));
            put("steady_range_ratio", Some(rounds.range));
            put("steady_slope_ratio", Some(rounds.slope));
        }
        if let Some(start) = done.ramp.start {
            put("start_ratio", Some(start.ratio));
            let settled = start.settled_after.map(|time| time.as_secs_f64());
            put("settled_after_seconds", settled);
        }
        put("flush_seconds", done.flush.map(|flush| flush.as_secs_f64()));
        self.put_latencies(&mut figures);
        figures.put_processor(self);
        figures.0
    }

    /// Of a program that tells its own figures: what was seen of it from outside.
    fn figures_of_a_program(&self) -> Figures {
        let done = &self.done;
        let mut figures = Figures::default();
        let mut put = |name: &str, figure: Option<f64>| figures.put(name, figure);
        put("elapsed_seconds", Some(done.elapsed.as_secs_f64()));
        let durable = done.flush.map(|_| done.durable_elapsed().as_secs_f64());
        put("durable_elapsed_seconds", durable);
        put("flush_seconds", done.flush.map(|flush| flush.as_secs_f64()));
        put("cpu_seconds", self.facts.own_cpu.map(|time| time.as_secs_f64()));
        put("moved_read_bytes", self.facts.moved.map(|moved| moved.read_bytes as f64));
        put("moved_written_bytes", self.facts.moved.map(|moved| moved.written_bytes as f64));
        figures.put_processor(self);
        figures
    }

    /// How long operations took, all of them and those of each direction.
    fn put_latencies(&self, figures: &mut Figures) {
        let done = &self.done;
        let mut put = |name: &str, figure: Option<f64>| figures.put(name, figure);
        if done.latency.count() > 0 {
            put("latency_mean_seconds", Some(done.latency.mean_seconds()));
            for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
                let figure = done.latency.quantile_seconds(quantile);
                put(&format!("latency_{name}_seconds"), Some(figure));
            }
            put(
                "latency_p99_9_seconds",
                done.latency.supports(0.999).then(|| done.latency.quantile_seconds(0.999)),
            );
            put("latency_max_seconds", Some(done.latency.max_seconds()));
        }
        if let Some(service) = &done.service {
            put("service_latency_p99_seconds", Some(service.quantile_seconds(0.99)));
        }
        let Some(sides) = &done.sides else { return };
        for (direction, side) in [("read", &sides.read), ("write", &sides.write)] {
            let of = |count: u64| per_second(count, done.elapsed);
            for (name, figure) in [
                ("operations_count", side.operations as f64),
                ("io_per_second", of(side.operations)),
                ("throughput_bytes_per_second", of(side.bytes)),
                ("latency_mean_seconds", side.latency.mean_seconds()),
                ("latency_p50_seconds", side.latency.quantile_seconds(0.5)),
                ("latency_p99_seconds", side.latency.quantile_seconds(0.99)),
                ("latency_max_seconds", side.latency.max_seconds()),
            ] {
                put(&format!("{direction}_{name}"), Some(figure));
            }
        }
    }
}

/// Figures by their names, without those that there are not.
#[derive(Default)]
struct Figures(BTreeMap<String, f64>);

impl Figures {
    fn put(&mut self, name: &str, figure: Option<f64>) {
        self.0.extend(figure.map(|figure| (name.to_owned(), figure)));
    }

    fn put_processor(&mut self, of: &PhaseFigures) {
        self.put("cpu_ratio", of.cpu_percent().map(|percent| percent / 100.0));
        let kernel = of.kernel_cpu_percent().map(|percent| percent / 100.0);
        self.put("kernel_threads_cpu_ratio", kernel);
    }
}

/// What came of a phase.
#[derive(Clone, Debug)]
pub enum Result {
    /// It was measured.
    Measured(Box<PhaseFigures>),
    /// It was not run, for this reason.
    Skipped(Text),
}

/// A phase and what came of it, once.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the phase.
    pub phase: String,
    /// Which repetition it is, from 1.
    pub run: u32,
    /// What came of it.
    pub result: Result,
}

impl Row {
    /// The figures, if it was measured.
    #[must_use]
    pub fn measured(&self) -> Option<&PhaseFigures> {
        match &self.result {
            Result::Measured(measured) => Some(measured),
            Result::Skipped(_) => None,
        }
    }

    /// As it stands in JSON.
    #[must_use]
    pub fn document(&self) -> RowDocument {
        let mut document =
            RowDocument { phase: self.phase.clone(), run: self.run, ..RowDocument::default() };
        match &self.result {
            Result::Skipped(reason) => document.skipped = Some(reason.clone()),
            Result::Measured(measured) => {
                document.metrics = measured.metrics();
                document.asked_read_bytes = measured.facts.asked.read_bytes;
                document.asked_written_bytes = measured.facts.asked.written_bytes;
                document.moved_read_bytes = measured.facts.moved.map(|moved| moved.read_bytes);
                document.moved_written_bytes =
                    measured.facts.moved.map(|moved| moved.written_bytes);
                document.io_pressure_seconds =
                    measured.facts.io_pressure.map(|time| time.as_secs_f64());
                document.flags.clone_from(&measured.flags);
                document.notes.clone_from(&measured.done.notes);
            }
        }
        document
    }
}

/// A row in JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RowDocument {
    /// Name of the phase.
    pub phase: String,
    /// Which repetition, from 1.
    pub run: u32,
    /// Metric name to figure; names end in their base unit.
    pub metrics: BTreeMap<String, f64>,
    /// Bytes that were asked for.
    pub asked_read_bytes: u64,
    /// Bytes that were asked for.
    pub asked_written_bytes: u64,
    /// Bytes that the devices moved.
    pub moved_read_bytes: Option<u64>,
    /// Bytes that the devices moved.
    pub moved_written_bytes: Option<u64>,
    /// Time in which some task of the machine waited for I/O.
    pub io_pressure_seconds: Option<f64>,
    /// What is doubtful.
    pub flags: Vec<Doubt>,
    /// What its reader should know.
    pub notes: Vec<Doubt>,
    /// Why it was not run.
    #[serde(
        flatten,
        serialize_with = "skipped_parts::serialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub skipped: Option<Text>,
}

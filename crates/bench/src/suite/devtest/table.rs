//! The suite's rows as the table of 2004 has them: one line for each test and request size, mixed
//! tests in two directions.

use results::Doubt;
use serde::Serialize;

use super::super::row::{self, Measured};
use super::super::steps::per_second;
use super::{Kind, RequestBytes, Test, tests};

use crate::latency::Latency;

/// A line of the output, named as in the figures of 2004. KiB are 1024 bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the test; mixed tests have one row for each direction.
    pub test: String,
    /// Size of the requests: a number, or the text `512-65536`.
    pub request_bytes: RequestBytes,
    /// Throughput in KiB/s.
    pub kib_per_second: f64,
    /// Throughput in KiB/s when all was durable, the flush at the end included; only of what was
    /// written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable_kib_per_second: Option<f64>,
    /// Requests per second.
    pub io_per_second: f64,
    /// Mean latency in seconds.
    pub latency_mean_seconds: f64,
    /// 99th percentile of the latency in seconds.
    pub latency_p99_seconds: f64,
    /// What the audit of the test says is doubtful.
    pub flags: Vec<Doubt>,
}

/// The lines of all tests that were measured, in order.
#[must_use]
pub fn rows(measured: &[row::Row]) -> Vec<Row> {
    let tests = tests();
    let test = |row: &row::Row| tests.iter().find(|test| test.workload == row.phase);
    measured
        .iter()
        .filter_map(|row| test(row).zip(row.measured()))
        .flat_map(|(test, measured)| lines(test, measured))
        .collect()
}

/// One line, two for a mixed test.
fn lines(test: &Test, measured: &Measured) -> Vec<Row> {
    let done = &measured.done;
    let before = &done.ramp.moved;
    let line = |name: String, writes: bool, operations: u64, bytes: u64, latency: &Latency| Row {
        test: name,
        request_bytes: test.request_bytes,
        kib_per_second: per_second(bytes, done.elapsed) / 1024.0,
        durable_kib_per_second: (writes && done.flush.is_some())
            .then(|| per_second(bytes + before.written_bytes, done.durable_elapsed()) / 1024.0),
        io_per_second: per_second(operations, done.elapsed),
        latency_mean_seconds: latency.mean_seconds(),
        latency_p99_seconds: latency.quantile_seconds(0.99),
        flags: measured.flags.clone(),
    };
    let name = &test.name;
    match (&test.kind, &done.sides) {
        (Kind::Mixed { .. }, Some(sides)) => {
            let (read, write) = (&sides.read, &sides.write);
            vec![
                line(format!("{name} read"), false, read.operations, read.bytes, &read.latency),
                line(format!("{name} write"), true, write.operations, write.bytes, &write.latency),
            ]
        }
        _ => vec![line(name.clone(), test.writes(), done.operations, done.bytes(), &done.latency)],
    }
}

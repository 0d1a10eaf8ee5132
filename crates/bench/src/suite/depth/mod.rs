//! Throughput against latency as more requests are kept outstanding, and where more stop paying.
//!
//! ```text
//! throughput
//!   |                 x----x----x 256         more requests only wait longer
//!   |            x 16
//!   |        x 8  <- knee: throughput / mean latency is largest
//!   |     x 4
//!   |   x 2
//!   |  x 1
//!   +---------------------------- latency
//! ```
//!
//! * A closed loop keeps a fixed number of requests outstanding. Throughput and mean latency are
//!   then tied (Little 1961: `depth = requests per second * mean latency`), so a curve has one free
//!   number in each point.
//! * The knee is the point with the most throughput for its mean latency, the largest
//!   `io_per_second / mean latency` (the "power" of Kleinrock 1979); of equal ones the smallest
//!   depth. It does not depend on the units or on the deepest queue that was tried.
//! * An open loop ([`open`]) does not wait for answers: requests are meant for moments that come by
//!   chance at a set rate, and latency counts from the moment a request was meant for. A closed
//!   loop that stalls issues nothing meanwhile, and its percentiles never hear of the requests that
//!   would have waited (coordinated omission).

mod definition;
pub mod open;

pub use definition::SUITE;

use super::Row;
use results::Doubt;

/// Name of the suite.
pub const NAME: &str = "depth";

/// One point of a curve.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Point {
    /// Requests outstanding.
    pub depth: u32,
    /// Requests per second.
    pub io_per_second: f64,
    /// Bytes per second when the calls had returned.
    pub throughput_bytes_per_second: f64,
    /// Bytes per second when all was durable; `None` where nothing is written.
    pub durable_throughput_bytes_per_second: Option<f64>,
    /// Mean latency in seconds.
    pub latency_mean_seconds: f64,
    /// 99th percentile of the latency in seconds.
    pub latency_p99_seconds: f64,
    /// Names of what is doubtful about it, each once.
    pub flags: Vec<&'static str>,
}

impl Point {
    /// Of the figures that trials of a row have, by their names; `None` where it was not measured.
    pub fn of(
        depth: u32,
        figure: impl Fn(&str) -> Option<f64>,
        flags: Vec<&'static str>,
    ) -> Option<Point> {
        Some(Point {
            depth,
            io_per_second: figure("io_per_second")?,
            throughput_bytes_per_second: figure("throughput_bytes_per_second")?,
            durable_throughput_bytes_per_second: figure("durable_throughput_bytes_per_second"),
            latency_mean_seconds: figure("latency_mean_seconds").unwrap_or(0.0),
            latency_p99_seconds: figure("latency_p99_seconds").unwrap_or(0.0),
            flags,
        })
    }
}

/// The points of one kind of access, in the order of their depths.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Curve {
    /// What is done: `random read 4KiB`.
    pub access: String,
    /// By depth.
    pub points: Vec<Point>,
    /// Where more requests stop paying: the depth of the knee.
    pub knee_depth: Option<u32>,
}

/// Where more requests stop paying: the index of the knee ([`results::shape::knee`]).
#[must_use]
pub fn knee(points: &[Point]) -> Option<usize> {
    let pairs: Vec<(f64, f64)> =
        points.iter().map(|point| (point.io_per_second, point.latency_mean_seconds)).collect();
    results::shape::knee(&pairs)
}

/// The curves that points make, each with its access, in their order. Several runs of a point count
/// with the mean of their rates.
pub fn curves(points: impl Iterator<Item = (String, Point)>) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for (access, point) in points {
        match curves.iter_mut().find(|curve| curve.access == access) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { access, points: vec![point], knee_depth: None }),
        }
    }
    for curve in &mut curves {
        curve.points = averaged(&curve.points);
        curve.knee_depth = knee(&curve.points).map(|index| curve.points[index].depth);
    }
    curves
}

/// One point for each depth.
fn averaged(points: &[Point]) -> Vec<Point> {
    let mut depths: Vec<u32> = points.iter().map(|point| point.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    let average = |depth: u32| {
        let same: Vec<&Point> = points.iter().filter(|point| point.depth == depth).collect();
        let mean = |figure: fn(&Point) -> f64| {
            same.iter().map(|point| figure(point)).sum::<f64>() / same.len() as f64
        };
        let durable: Vec<f64> =
            same.iter().filter_map(|point| point.durable_throughput_bytes_per_second).collect();
        let mut flags: Vec<&str> =
            same.iter().flat_map(|point| point.flags.iter().copied()).collect();
        flags.sort_unstable();
        flags.dedup();
        Point {
            flags,
            durable_throughput_bytes_per_second: (!durable.is_empty())
                .then(|| durable.iter().sum::<f64>() / durable.len() as f64),
            depth,
            io_per_second: mean(|point| point.io_per_second),
            throughput_bytes_per_second: mean(|point| point.throughput_bytes_per_second),
            latency_mean_seconds: mean(|point| point.latency_mean_seconds),
            latency_p99_seconds: mean(|point| point.latency_p99_seconds),
        }
    };
    depths.into_iter().map(average).collect()
}

/// The points that rows of this suite are.
fn points(rows: &[Row]) -> impl Iterator<Item = (String, Point)> {
    rows.iter().filter_map(|row| {
        let (access, depth) = split(&row.phase)?;
        let measured = row.measured()?;
        let metrics = measured.metrics();
        let flags = measured.flags.iter().map(Doubt::mark).collect();
        let point = Point::of(depth, |name| metrics.get(name).copied(), flags)?;
        Some((access.to_owned(), point))
    })
}

/// The access and the depth of a phase of the closed loop: `random read 4KiB Q8`.
#[must_use]
pub fn split(phase: &str) -> Option<(&str, u32)> {
    let (access, depth) = phase.rsplit_once(" Q")?;
    Some((access, depth.parse().ok()?))
}

#[cfg(test)]
mod tests;

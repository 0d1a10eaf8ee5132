//! Our own side: loads that `xtask/probe` runs in a process of its own.

use std::path::Path;
use std::process::Command;

use super::fio::{Limit, RoundFigures, Work};
use super::table::{Aim, Row, Section};
use super::{Bench, child};

impl Bench {
    /// Runs the probe.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn probe(&self, arguments: &[String]) -> Result<RoundFigures, String> {
        counted(self.program("probe").args(arguments))
    }

    /// Reads a file as fio does.
    ///
    /// # Errors
    /// When the probe fails.
    pub(crate) fn probe_file(
        &self,
        work: &Work,
        path: &Path,
        direct: bool,
        limit: Limit,
    ) -> Result<RoundFigures, String> {
        let target =
            format!("file:\"{}\"?direct={}", path.display(), if direct { "yes" } else { "no" });
        let limit = match limit {
            Limit::Seconds(seconds) => format!("--seconds={seconds}"),
            Limit::OneRequest => "--requests=1".to_owned(),
        };
        self.probe(&[
            target,
            work.pattern.to_owned(),
            format!("--bytes={}", work.request_bytes),
            format!("--depth={}", work.depth),
            limit,
        ])
    }
}

/// Runs a program that prints `{"operations": N, "seconds": S}`.
///
/// # Errors
/// When it fails or prints something else.
pub(crate) fn counted(command: &mut Command) -> Result<RoundFigures, String> {
    let finished = child::succeed(command)?;
    let wrong = || {
        format!("{} printed {}", command.get_program().to_string_lossy(), finished.output.trim())
    };
    let json: serde_json::Value = serde_json::from_str(&finished.output).map_err(|_| wrong())?;
    match (json["operations"].as_f64(), json["seconds"].as_f64()) {
        (Some(operations), Some(seconds)) => {
            Ok(RoundFigures { operations, seconds, cpu_seconds: finished.cpu_seconds })
        }
        _ => Err(wrong()),
    }
}

fn ratio_row(bench: &Bench, load: &str, ours: &[String], other: &[String]) -> Result<Row, String> {
    let (a, b) = bench.rounds(|| bench.probe(ours), || bench.probe(other))?;
    Ok(Row {
        load: load.to_owned(),
        measure: "io/s",
        ours: a.iter().map(RoundFigures::rate).collect(),
        other: Some(b.iter().map(RoundFigures::rate).collect()),
        aim: Aim::AtLeast(0.9),
    })
}

const EMPTY_LAYERS: u32 = 8;

/// What striping and an empty layer cost.
///
/// # Errors
/// When the probe fails.
pub(crate) fn layers(bench: &Bench) -> Result<Section, String> {
    let seconds = format!("--seconds={}", bench.effort.seconds);
    let load = |target: &str, depth: u32, more: &[String]| {
        let mut arguments = vec![
            target.to_owned(),
            "random-read".to_owned(),
            "--bytes=4096".to_owned(),
            format!("--depth={depth}"),
            seconds.clone(),
        ];
        arguments.extend_from_slice(more);
        arguments
    };
    let fill = ["--fill".to_owned()];
    let mut rows = Vec::new();
    for depth in [1, 32] {
        eprintln!("   raid0 over ram, depth {depth}");
        let ours = load("raid0(chunk=64KiB, ram:128MiB, ram:128MiB)", depth, &fill);
        let other = load("ram:256MiB", depth, &fill);
        rows.push(ratio_row(
            bench,
            &format!("random read 4 KiB, depth {depth}: raid0 over two `ram:` / one `ram:`"),
            &ours,
            &other,
        )?);
    }
    for depth in [1, 32] {
        eprintln!("   empty layers, depth {depth}");
        let mut costs = Vec::new();
        for round in 0..bench.effort.rounds {
            // One after the other, in turns: bare first in even rounds.
            let order = if round % 2 == 0 { [0, EMPTY_LAYERS] } else { [EMPTY_LAYERS, 0] };
            let mut nanoseconds = [0.0; 2];
            for count in order {
                let done =
                    bench.probe(&load("null:1GiB", depth, &[format!("--layers={count}")]))?;
                nanoseconds[usize::from(count > 0)] = done.seconds * 1e9 / done.operations;
            }
            costs.push((nanoseconds[1] - nanoseconds[0]) / f64::from(EMPTY_LAYERS));
        }
        rows.push(Row {
            load: format!("random read 4 KiB, depth {depth}: one empty layer over `null:`"),
            measure: "ns/request",
            ours: costs,
            other: None,
            aim: Aim::AtMost(25.0),
        });
    }
    let how = format!(
        "4 KiB random reads for {} s a round, on one core, over 256 MiB of filled memory. An empty \
        layer hands every request and every completion on; its \
        cost is the time of a request through {EMPTY_LAYERS} of them less that through none, \
        divided by {EMPTY_LAYERS}.",
        bench.effort.seconds
    );
    Ok(Section { title: "Layers", how, measured: None, sides: ("raidloom", "one `ram:`"), rows })
}

/// How many modelled requests a second of real time gets through.
///
/// # Errors
/// When the probe fails.
pub(crate) fn virtual_clock(bench: &Bench) -> Result<Section, String> {
    let works: &[(&str, &str, u32)] = &[
        ("random read 4 KiB", "random-read", 4096),
        ("sequential read 64 KiB", "sequential-read", 65536),
        ("random write 4 KiB", "random-write", 4096),
        ("sequential write 64 KiB", "sequential-write", 65536),
    ];
    let mut rows = Vec::new();
    for (name, pattern, bytes) in works {
        eprintln!("   {name}");
        let arguments = [
            "raid0(chunk=64KiB, model:maxtor-6y200p0, model:maxtor-6y200p0)".to_owned(),
            (*pattern).to_owned(),
            format!("--bytes={bytes}"),
            "--depth=1".to_owned(),
            format!("--requests={}", bench.effort.requests),
        ];
        let mut rates = Vec::new();
        for _ in 0..bench.effort.rounds {
            let done = bench.probe(&arguments)?;
            rates.push(done.rate() / 1e6);
        }
        rows.push(Row {
            load: (*name).to_owned(),
            measure: "million requests/s",
            ours: rates,
            other: None,
            aim: Aim::AtLeast(if pattern == &"random-write" { 2.5 } else { 2.0 }),
        });
    }
    let how = format!(
        "`raid0` with 64 KiB chunks over two modelled disks `maxtor-6y200p0`, {} requests a round, \
        one outstanding, on one core: requests given to the array \
        for each second of real time. What the array makes of them (a request over a chunk's end \
        becomes two) is not counted.",
        bench.effort.requests
    );
    Ok(Section { title: "Virtual clock", how, measured: None, sides: ("raidloom", ""), rows })
}

/// Targets that many threads use at once, with the rest of their load.
const SHARED: &[(&str, &str, &[&str])] = &[
    (
        "raid0 over 4 `null:`, random read",
        "raid0(chunk=64KiB, null:1GiB, null:1GiB, null:1GiB, null:1GiB)",
        &["random-read", "--depth=32"],
    ),
    (
        "raid5 over 4 `null:`, random write",
        "raid5(chunk=64KiB, null:1GiB, null:1GiB, null:1GiB, null:1GiB)",
        &["random-write", "--depth=32"],
    ),
    (
        "raid6 over 5 `null:`, random write",
        "raid6(chunk=64KiB, null:1GiB, null:1GiB, null:1GiB, null:1GiB, null:1GiB)",
        &["random-write", "--depth=32"],
    ),
    (
        "hits in a cache in memory",
        "cache(ram:256MiB, null:256MiB)",
        &["random-read", "--depth=32", "--fill"],
    ),
];

/// Threads of the projection.
const MANY: f64 = 16.0;

/// What a second thread brings, each with a channel of its own to one device, and what sixteen
/// would.
///
/// # Errors
/// When the probe fails.
pub(crate) fn threads(bench: &Bench) -> Result<Section, String> {
    let mut rows = Vec::new();
    for (load, target, words) in SHARED {
        eprintln!("   {load}");
        let run = |threads: u32| {
            let mut arguments = vec![(*target).to_owned(), "--bytes=4096".to_owned()];
            arguments.extend(words.iter().map(|word| (*word).to_owned()));
            arguments.push(format!("--seconds={}", bench.effort.seconds));
            arguments.push(format!("--threads={threads}"));
            bench.probe(&arguments)
        };
        let (two, one) = bench.rounds(|| run(2), || run(1))?;
        let rates = |done: &[RoundFigures]| done.iter().map(RoundFigures::rate).collect();
        let gains: Vec<f64> =
            two.iter().zip(&one).map(|(two, one)| two.rate() / one.rate()).collect();
        rows.push(Row {
            load: (*load).to_owned(),
            measure: "io/s",
            ours: rates(&two),
            other: Some(rates(&one)),
            aim: Aim::AtLeast(1.8),
        });
        rows.push(Row {
            load: (*load).to_owned(),
            measure: "projected: times one thread with 16",
            ours: gains.into_iter().map(projected).collect(),
            other: None,
            aim: Aim::AtLeast(8.0),
        });
    }
    let how = format!(
        "Requests of 4 KiB for {} s a round, 32 outstanding on each thread. A thread has a reactor \
        and a channel of its own; array, cache, locks and counters are one for all. The projection \
        is Amdahl's law: the share of the time that only one thread at a time can have is what \
        two threads lack of twice as many requests, and stays what it is. It assumes as many \
        processors, memory that keeps up, and that waiting for each other costs no more than the \
        waiting.",
        bench.effort.seconds
    );
    Ok(Section { title: "Threads", how, measured: None, sides: ("two threads", "one"), rows })
}

/// Of what two threads do beside one, what many would.
fn projected(gain: f64) -> f64 {
    let alone = (2.0 / gain - 1.0).max(0.0);
    MANY / (1.0 + alone * (MANY - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projection_follows_amdahl() {
        let near = |gain: f64, expected: f64| (projected(gain) - expected).abs() < 1e-9;
        assert!(near(2.0, 16.0), "nothing is shared");
        assert!(near(1.0, 1.0), "all of it is");
        // A tenth: two threads take 0.55 of the time, sixteen 0.15625.
        assert!(near(1.0 / 0.55, 1.0 / 0.15625));
    }
}

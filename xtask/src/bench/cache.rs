//! Caches: hits beside bare memory, the policies beside one another, and write-back beside
//! write-through.

use super::fio::RoundFigures;
use super::table::{Aim, Row, Section};
use super::{Bench, child, nbd};

/// What is cached at the policies' comparison: a hundredth, and a tenth, of all blocks asked for.
const SIZES: [(u64, &str); 2] = [(1000, "1 %"), (10_000, "10 %")];
/// Random writes over the modelled disk: more than its own cache takes, and less than half of ours.
const WRITES: u64 = 4000;
const DISK: &str = "model:maxtor-6y200p0";

/// What caches give and take.
///
/// # Errors
/// When the probe fails.
pub(crate) fn measure(bench: &Bench) -> Result<Section, String> {
    let mut rows = hits_in_memory(bench)?;
    rows.extend(nbd::cached(bench)?);
    rows.extend(policies(bench)?);
    rows.extend(writes(bench)?);
    let how = format!(
        "Hits: 4 KiB random reads for {} s a round, on one core, of 64 MiB that the cache holds, \
        beside the bare `ram:`. Hits over NBD: as in the NBD section, from \
         caches that hold all of one file of 256 MiB on tmpfs and were filled by one reading: \
         `cache(mode=read-only, ram:256MiB, file:…)` here, nbdkit's `--filter=cache \
         cache-on-read=true` over its `file` plugin there, which keeps the copy on tmpfs too; and \
         the same cache beside the bare `ram:` through the same export. Policies: the cache's own \
         directory over \
         {} accesses to 100 000 blocks by Zipf's law; deterministic, so every round would give the \
         same. Write-back: {WRITES} random writes of 4 KiB, four \
         outstanding, over the modelled `{DISK}` on the virtual clock, the same on every machine; \
         `durable` is to the end of the flush that follows.",
        bench.effort.seconds, bench.effort.requests
    );
    Ok(Section { title: "Caches", how, measured: None, sides: ("raidloom", "beside it"), rows })
}

fn hits_in_memory(bench: &Bench) -> Result<Vec<Row>, String> {
    let seconds = format!("--seconds={}", bench.effort.seconds);
    let mut rows = Vec::new();
    for depth in [1, 32] {
        eprintln!("   hits, depth {depth}");
        let load = |target: &str| {
            [target, "random-read", "--bytes=4096", &format!("--depth={depth}"), &seconds, "--fill"]
                .map(str::to_owned)
        };
        let (ours, other) = (load("cache(ram:64MiB, ram:64MiB)"), load("ram:64MiB"));
        let (a, b) = bench.rounds(|| bench.probe(&ours), || bench.probe(&other))?;
        rows.push(Row {
            load: format!("random read 4 KiB, depth {depth}: all hits in memory / bare `ram:`"),
            measure: "io/s",
            ours: a.iter().map(RoundFigures::rate).collect(),
            other: Some(b.iter().map(RoundFigures::rate).collect()),
            aim: Aim::AtLeast(0.8),
        });
    }
    Ok(rows)
}

/// The default policy beside the best of the others, and beside LRU where there are scans.
fn policies(bench: &Bench) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (size, part) in SIZES {
        for (alpha, scan) in [(0.8, 0.0), (1.0, 0.0), (1.2, 0.0), (1.0, 0.2)] {
            eprintln!("   policies, Zipf {alpha}, {part}");
            let arguments = [
                "hits".to_owned(),
                alpha.to_string(),
                scan.to_string(),
                size.to_string(),
                bench.effort.requests.to_string(),
            ];
            let ratios = json(bench, &arguments)?;
            let ratio = |name: &str| {
                ratios[name].as_f64().ok_or_else(|| format!("the probe says nothing of {name}"))
            };
            let others = ["sieve", "lru", "clock", "2q", "arc", "lfu"]
                .into_iter()
                .map(ratio)
                .collect::<Result<Vec<f64>, String>>()?;
            let (beside, other, aim) = if scan > 0.0 {
                ("LRU", ratio("lru")?, 1.03)
            } else {
                ("the best of the others", others.into_iter().fold(0.0, f64::max), 0.99)
            };
            let scans = if scan > 0.0 { ", a fifth of it scans" } else { "" };
            rows.push(Row {
                load: format!("Zipf {alpha:.1}{scans}, {part} cached: s3-fifo / {beside}"),
                measure: "of accesses hit",
                ours: vec![ratio("s3-fifo")?],
                other: Some(vec![other]),
                aim: Aim::AtLeast(aim),
            });
        }
    }
    Ok(rows)
}

fn writes(bench: &Bench) -> Result<Vec<Row>, String> {
    eprintln!("   write-back");
    let run = |mode: &str| {
        json(
            bench,
            &[
                "written",
                &format!("cache(mode={mode}, ram:64MiB, {DISK})"),
                &WRITES.to_string(),
                "4",
            ]
            .map(str::to_owned),
        )
    };
    let (through, back) = (run("write-through")?, run("write-back")?);
    let rate = |times: &serde_json::Value, what: &str| {
        let seconds =
            times[what].as_f64().ok_or_else(|| format!("the probe says nothing of {what}"))?;
        // Memory takes no modelled time.
        Ok::<f64, String>(WRITES as f64 / seconds.max(1e-3))
    };
    let row = |what: &'static str, load: &str, aim| {
        Ok::<Row, String>(Row {
            load: load.to_owned(),
            measure: "writes/s",
            ours: vec![rate(&back, what)?],
            other: Some(vec![rate(&through, what)?]),
            aim: Aim::AtLeast(aim),
        })
    };
    Ok(vec![
        row(
            "answered",
            "random write 4 KiB, answered: write-back (at least 1 ms is counted) / write-through",
            5.0,
        )?,
        row(
            "durable",
            "random write 4 KiB, durable: in address order by write-back / in order of arrival",
            2.0,
        )?,
    ])
}

fn json(bench: &Bench, arguments: &[String]) -> Result<serde_json::Value, String> {
    let finished = child::succeed(bench.program("probe").args(arguments))?;
    serde_json::from_str(&finished.output)
        .map_err(|_| format!("the probe printed {}", finished.output.trim()))
}

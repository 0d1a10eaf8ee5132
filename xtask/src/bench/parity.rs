//! P and Q against ISA-L, and arrays with parity against what their arithmetic and their members
//! allow.

use std::process::Command;

use super::fio::RoundFigures;
use super::probe::counted;
use super::table::{Aim, Row, Section};
use super::{Bench, child};

const KIB: u64 = 1 << 10;
/// Chunks of data, and of their parity.
const SHAPES: [(u64, u64); 3] = [(4, 2), (8, 2), (10, 2)];
const DEPTH: u32 = 32;

/// How fast P and Q are made, beside ISA-L.
///
/// # Errors
/// When the probe fails or ISA-L is not there.
pub(crate) fn kernels(bench: &Bench) -> Result<Section, String> {
    let isal = bench.target.join("isal");
    let source = bench.root.join("crates/array/tests/isal/isal.c");
    child::succeed(Command::new("cc").arg("-O2").arg(source).arg("-o").arg(&isal).arg("-lisal"))
        .map_err(|error| format!("{error}; it takes cc and libisal-dev"))?;
    let seconds = bench.effort.seconds;
    let mut rows = Vec::new();
    for chunk in [4 * KIB, 64 * KIB, 512 * KIB] {
        for (data, parity) in SHAPES {
            eprintln!("   {data}+{parity}, {} KiB", chunk / KIB);
            let ours = [
                "generate".to_owned(),
                data.to_string(),
                format!("--bytes={chunk}"),
                format!("--seconds={seconds}"),
            ];
            let theirs = [
                "time".to_owned(),
                data.to_string(),
                chunk.to_string(),
                "1".to_owned(),
                seconds.to_string(),
            ];
            let (a, b) = bench
                .rounds(|| bench.probe(&ours), || counted(Command::new(&isal).args(&theirs)))?;
            let gigabytes = |done: &RoundFigures| done.rate() * (data * chunk) as f64 / 1e9;
            rows.push(Row {
                load: format!("P and Q, {data}+{parity} chunks of {} KiB", chunk / KIB),
                measure: "GB/s of data",
                ours: a.iter().map(gigabytes).collect(),
                other: Some(b.iter().map(gigabytes).collect()),
                aim: Aim::AtLeast(1.0),
            });
        }
    }
    let how = format!(
        "The kernel that this processor gets, in the slices in which arrays compute, beside \
        `pq_gen` of Debian's ISA-L: one set of chunks over and over, \
        {seconds} s a round, on one core. The largest sets do not fit the second-level cache; \
        there both wait for memory."
    );
    Ok(Section { title: "Parity kernels", how, measured: None, sides: ("raidloom", "ISA-L"), rows })
}

fn array(level: &str, members: u64, chunk: u64) -> String {
    let list = vec!["ram:64MiB"; usize::try_from(members).unwrap_or(0)].join(", ");
    format!("{level}(chunk={}KiB, {list})", chunk / KIB)
}

/// What arrays with parity get out of their members.
///
/// # Errors
/// When the probe fails.
pub(crate) fn arrays(bench: &Bench) -> Result<Section, String> {
    let seconds = format!("--seconds={}", bench.effort.seconds);
    let mut rows = whole_stripes(bench, &seconds)?;
    rows.extend(random_writes(bench, &seconds)?);
    let how = format!(
        "Over `ram:` members of 64 MiB, written before, on one core, {} s a round. Whole stripes \
        are held against the same kernel followed by plain copies of \
        data and parity to as much memory. A random write of 4 KiB costs two reads and two writes \
        of members at RAID 5, three and three at RAID 6 (md's \
        count as well): it is held against as many requests to one `ram:` as large as the array at \
        the rates that such a device gives alone.",
        bench.effort.seconds
    );
    Ok(Section {
        title: "Arrays with parity",
        how,
        measured: None,
        sides: ("raidloom", "allowed"),
        rows,
    })
}

fn whole_stripes(bench: &Bench, seconds: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (level, data, parity) in [("raid5", 4, 1), ("raid6", 4, 2), ("raid6", 8, 2)] {
        for chunk in [64 * KIB, 512 * KIB] {
            eprintln!("   {level}, whole stripes of {data}+{parity} chunks of {} KiB", chunk / KIB);
            let target = array(level, data + parity, chunk);
            let stripe = data * chunk;
            let ours = [
                &target,
                "sequential-write",
                &format!("--bytes={stripe}"),
                "--depth=1",
                seconds,
                "--fill",
            ]
            .map(str::to_owned);
            let allowed = [
                "stripes",
                &data.to_string(),
                &parity.to_string(),
                &format!("--bytes={chunk}"),
                seconds,
            ]
            .map(str::to_owned);
            let (a, b) = bench.rounds(|| bench.probe(&ours), || bench.probe(&allowed))?;
            let gigabytes = |done: &RoundFigures| done.rate() * stripe as f64 / 1e9;
            rows.push(Row {
                load: format!(
                    "{level}, whole stripes of {data}+{parity} chunks of {} KiB",
                    chunk / KIB
                ),
                measure: "GB/s of data",
                ours: a.iter().map(gigabytes).collect(),
                other: Some(b.iter().map(gigabytes).collect()),
                aim: Aim::AtLeast(0.7),
            });
        }
    }
    Ok(rows)
}

fn random_writes(bench: &Bench, seconds: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (level, members, reads, writes) in [("raid5", 5, 2.0, 2.0), ("raid6", 6, 3.0, 3.0)] {
        eprintln!("   {level}, random writes");
        let load = |target: &str, pattern: &str| {
            [target, pattern, "--bytes=4096", &format!("--depth={DEPTH}"), seconds, "--fill"]
                .map(str::to_owned)
        };
        let (ours, member) = (array(level, members, 64 * KIB), format!("ram:{}MiB", members * 64));
        // A member's own rates, and from them how many writes of the array they would allow.
        let allowed = || {
            let (read, write) = (
                bench.probe(&load(&member, "random-read"))?,
                bench.probe(&load(&member, "random-write"))?,
            );
            Ok(1.0 / (reads / read.rate() + writes / write.rate()))
        };
        let (a, b) = bench.rounds(
            || bench.probe(&load(&ours, "random-write")).map(|done| done.rate()),
            allowed,
        )?;
        rows.push(Row {
            load: format!("{level} over {members} members, random write 4 KiB, depth {DEPTH}"),
            measure: "io/s",
            ours: a,
            other: Some(b),
            aim: Aim::AtLeast(0.9),
        });
    }
    Ok(rows)
}

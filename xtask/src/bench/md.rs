//! md beside raidloom at equal drives, in modelled time: the same Linux, the same fio jobs and the
//! same modelled drives, once under the guest's own md and once as one disk that is our array.
//!
//! ```text
//!   fio ──> /dev/md0 ── md ──> vda vdb vdc vdd ──┐
//!                                                ├──> the same drives, from the same seed
//!   fio ──> /dev/vda ──────> raidloom's array ───┘
//! ```
//!
//! Nothing here depends on this machine: a round is a seed, and gives the same figures anywhere.

use std::num::NonZero;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde_json::Value;

use super::table::{Aim, Row, Section};
use super::{Bench, child};

/// The drive, of which each array has as many as it needs, each on a link of its own.
const DRIVE: &str = "st340015a";
const DRIVE_SIZE: &str = "2GiB";
const CHUNK_KIB: u64 = 64;

struct Array {
    level: &'static str,
    members: usize,
    /// The states in which it is measured.
    states: &'static [&'static str],
}

const WHOLE: &[&str] = &["whole"];
const REBUILDING: &str = "rebuilding";
const REDUNDANT: &[&str] = &["whole", "degraded", REBUILDING];
const ARRAYS: &[Array] = &[
    Array { level: "raid0", members: 4, states: WHOLE },
    Array { level: "raid1", members: 2, states: REDUNDANT },
    Array { level: "raid10", members: 4, states: REDUNDANT },
    Array { level: "raid5", members: 4, states: REDUNDANT },
    Array { level: "raid6", members: 5, states: REDUNDANT },
];

impl Array {
    fn has_parity(&self) -> bool {
        matches!(self.level, "raid5" | "raid6")
    }

    /// How it is loaded, in this order.
    fn loads(&self) -> Vec<&'static Load> {
        LOADS.iter().filter(|load| load.on == On::AnyArray || self.has_parity()).collect()
    }
}

/// Which arrays are loaded so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    AnyArray,
    /// What parity is computed for.
    Parity,
    /// The same, and md's cache of stripes has as many entries as it is usually given where writes
    /// matter; ours has no such setting.
    ParityTuned,
}

struct Load {
    text: &'static str,
    options: &'static str,
    on: On,
}

/// Where md is told how many stripes it caches, that many, and what it has otherwise (Linux,
/// Documentation/admin-guide/md.rst).
const STRIPE_CACHE: &str = "/sys/block/md0/md/stripe_cache_size";
const STRIPES_TUNED: u32 = 4096;
const STRIPES_USUAL: u32 = 256;

const WRITE: &str = "--rw=write --bs=1M --iodepth=4 --ioengine=libaio --number_ios=192";
/// Four stripes of three chunks of 64 KiB with data: RAID 5 over 4 and RAID 6 over 5.
const WHOLE_STRIPES: &str = "--rw=write --bs=768k --iodepth=4 --ioengine=libaio --number_ios=256";
const RANDOM_WRITE: &str = "--rw=randwrite --bs=4k --iodepth=16 --ioengine=libaio \
    --number_ios=1200 --end_fsync=1";

const LOADS: &[Load] = &[
    Load { text: "sequential write 1 MiB, depth 4", options: WRITE, on: On::AnyArray },
    Load {
        text: "sequential read 1 MiB, depth 4",
        options: "--rw=read --bs=1M --iodepth=4 --ioengine=libaio --number_ios=192",
        on: On::AnyArray,
    },
    Load {
        text: "random read 4 KiB, depth 16",
        options: "--rw=randread --bs=4k --iodepth=16 --ioengine=libaio --number_ios=1600",
        on: On::AnyArray,
    },
    Load { text: "random write 4 KiB, depth 16", options: RANDOM_WRITE, on: On::AnyArray },
    Load {
        text: "synchronous write 4 KiB",
        options: "--rw=randwrite --bs=4k --sync=1 --ioengine=psync --number_ios=400",
        on: On::AnyArray,
    },
    Load { text: "whole stripes 768 KiB, depth 4", options: WHOLE_STRIPES, on: On::Parity },
    Load { text: "sequential write 1 MiB, depth 4, md tuned", options: WRITE, on: On::ParityTuned },
    Load {
        text: "whole stripes 768 KiB, depth 4, md tuned",
        options: WHOLE_STRIPES,
        on: On::ParityTuned,
    },
    Load {
        text: "random write 4 KiB, depth 16, md tuned",
        options: RANDOM_WRITE,
        on: On::ParityTuned,
    },
];

/// One case: an array in a state.
type Case = (&'static Array, &'static str);

fn cases() -> impl Iterator<Item = Case> {
    ARRAYS.iter().flat_map(|array| array.states.iter().map(move |state| (array, *state)))
}

/// The shell line that runs all loads of an array, each leaving its JSON on a line of its own, and
/// each with random places of its own: what went before has them in no cache.
fn jobs(array: &Array, by_md: bool, seed: u32) -> String {
    let device = if by_md { "/dev/md0" } else { "/dev/vda" };
    let job = |(number, load): (usize, &Load)| {
        // With `randrepeat`, which is on unless it is said, `randseed` does not reach the places.
        let places = seed as usize * LOADS.len() + number;
        let fio = format!(
            "fio --name=a --filename={device} --direct=1 --size=1g --norandommap --randrepeat=0 \
            --randseed={places} --clocksource=clock_gettime --output-format=json {} \
            | tr -d '\n' && echo",
            load.options
        );
        match by_md && load.on == On::ParityTuned {
            true => format!(
                "echo {STRIPES_TUNED} >{STRIPE_CACHE} && {fio} && echo {STRIPES_USUAL} \
                >{STRIPE_CACHE}"
            ),
            false => fio,
        }
    };
    array.loads().into_iter().enumerate().map(job).collect::<Vec<_>>().join(" && ")
}

/// How long an array rebuilds with nothing else to do.
const ALONE_SECONDS: u32 = 10;

/// What is told to `raidloom guest run` of the disks.
fn disks((array, state): Case, by_md: bool) -> Vec<String> {
    let drives: Vec<String> =
        (0..array.members).map(|number| format!("model:{DRIVE}?link=l{number}")).collect();
    let has_chunks = array.level != "raid1";
    let mut words = vec![format!("--disk-size={DRIVE_SIZE}"), format!("--state={state}")];
    if by_md {
        let chunk = if has_chunks { format!(" chunk={CHUNK_KIB}KiB") } else { String::new() };
        words.push(format!("--md={}{chunk}", array.level));
        words.extend(drives.iter().map(|drive| format!("--stack={drive}")));
    } else {
        let chunk = if has_chunks { format!("chunk={CHUNK_KIB}KiB, ") } else { String::new() };
        // md has superblocks on a RAID 0 too, which nothing changes.
        let metadata = if array.level == "raid0" { "" } else { "metadata=1.2, " };
        words.push(format!("--stack={}({chunk}{metadata}{})", array.level, drives.join(", ")));
    }
    words
}

/// Requests in a second of each load, from what the guest has printed.
fn rates(output: &str, loads: usize) -> Result<Vec<f64>, String> {
    let lines: Vec<&str> = output.lines().filter(|line| line.starts_with('{')).collect();
    if lines.len() != loads {
        return Err(format!("{} of {loads} loads were measured: {output}", lines.len()));
    }
    let rate = |line: &str| {
        let json: Value =
            serde_json::from_str(line).map_err(|error| format!("fio's JSON: {error}"))?;
        let job = &json["jobs"][0];
        let side =
            |name: &str| Some((job[name]["total_ios"].as_f64()?, job[name]["runtime"].as_f64()?));
        let (read, write) = (side("read"), side("write"));
        match (job["error"].as_i64(), read.filter(|(count, _)| *count > 0.0).or(write)) {
            (Some(0), Some((count, milliseconds))) if count > 0.0 && milliseconds > 0.0 => {
                Ok(count * 1000.0 / milliseconds)
            }
            _ => Err(format!("fio did not measure: {line}")),
        }
    };
    lines.into_iter().map(rate).collect()
}

/// The rates of the loads, and of a rebuilding array how fast it rebuilt, in MB/s: during all of
/// them, and alone.
fn measure(bench: &Bench, case: Case, by_md: bool, seed: u32) -> Result<Vec<f64>, String> {
    let work = jobs(case.0, by_md, seed);
    let (output, rebuilt) = run(bench, case, by_md, seed, &work)?;
    let mut rates = rates(&output, case.0.loads().len())
        .map_err(|error| format!("{} {}: {error}", case.0.level, case.1))?;
    if case.1 == REBUILDING {
        rates.push(rebuilt);
        let alone = format!("sleep {ALONE_SECONDS}");
        rates.push(run(bench, case, by_md, seed, &alone)?.1);
    }
    Ok(rates)
}

/// Runs a shell line in a guest: what it printed, and how fast the last drive was written to over
/// the whole time, in MB/s: in a rebuilding array that is the rebuild, but for a little.
fn run(
    bench: &Bench,
    case: Case,
    by_md: bool,
    seed: u32,
    work: &str,
) -> Result<(String, f64), String> {
    let mut guest = Command::new(bench.target.join("debug/raidloom"));
    guest.args(["guest", "run", "--json", "--memory=512MiB", "-z", &seed.to_string()]);
    guest.args(disks(case, by_md)).args(["--", work]);
    let ended = child::succeed(&mut guest)
        .map_err(|error| format!("{error}; it takes `raidloom guest build`, mdadm and fio"))?;
    let document: Value = serde_json::from_str(&ended.output)
        .map_err(|error| format!("what the guest said: {error}"))?;
    let written = document["drives"][case.0.members - 1]["written_bytes"].as_f64();
    let seconds = document["modelled_seconds"].as_f64();
    let (written, seconds) = written.zip(seconds).ok_or("the guest names no drives")?;
    Ok((document["output"].as_str().unwrap_or_default().to_owned(), written / 1e6 / seconds))
}

/// How many seeds: a round of this takes minutes, and none is disturbed by the machine.
fn rounds(bench: &Bench) -> u32 {
    if bench.effort.is_full() { 5 } else { 1 }
}

/// What one side of a case gave in each round.
type Rounds = Vec<Result<Vec<f64>, String>>;

/// Measures both sides of all cases, ours first, with a guest on each processor: modelled figures
/// do not disturb each other.
fn measure_all(bench: &Bench, cases: &[Case]) -> Vec<[Rounds; 2]> {
    let next = AtomicUsize::new(0);
    let rounds = rounds(bench) as usize;
    let found = Mutex::new(vec![[(); 2].map(|()| vec![Ok(Vec::new()); rounds]); cases.len()]);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (case, side, round) =
                (number / (2 * rounds), number % 2, number % (2 * rounds) / 2);
            let Some(&(array, state)) = cases.get(case) else { return };
            if number.is_multiple_of(2 * rounds) {
                eprintln!("   {} {state}", array.level);
            }
            let rates = measure(bench, (array, state), side == 1, round as u32 + 1);
            found.lock().unwrap_or_else(PoisonError::into_inner)[case][side][round] = rates;
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Measures every array in each of its states on both sides, a seed a round.
///
/// # Errors
/// When a guest, mdadm or fio fails.
pub(crate) fn compare(bench: &Bench) -> Result<Section, String> {
    // Modelled figures are those of any build.
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--package", "raidloom"]).current_dir(&bench.root);
    child::succeed(&mut cargo)?;
    let cases: Vec<Case> = cases().collect();
    let measured = measure_all(bench, &cases);
    let mut rows = Vec::new();
    for ((array, state), sides) in cases.into_iter().zip(measured) {
        let [ours, other] = sides.map(|rounds| rounds.into_iter().collect::<Result<Vec<_>, _>>());
        let (ours, other) = (ours?, other?);
        let column = |rounds: &[Vec<f64>], number: usize| {
            rounds.iter().map(|rates| rates[number]).collect::<Vec<f64>>()
        };
        let loads = array.loads();
        rows.extend(loads.iter().enumerate().map(|(number, load)| Row {
            load: format!("{} over {}, {state}: {}", array.level, array.members, load.text),
            measure: "modelled io/s",
            ours: column(&ours, number),
            other: Some(column(&other, number)),
            aim: Aim::NotBelow(1.0),
        }));
        if state == REBUILDING {
            let during = ["during all of these", "without other work"];
            rows.extend(during.into_iter().enumerate().map(|(number, during)| Row {
                load: format!("{} over {}, {state}, {during}", array.level, array.members),
                measure: "MB/s rebuilt",
                ours: column(&ours, loads.len() + number),
                other: Some(column(&other, loads.len() + number)),
                aim: Aim::NotBelow(1.0),
            }));
        }
    }
    let how = format!(
        "Modelled, Linux 6.1 in a guest ([guest.md](guest.md)): figures are the same on every \
        machine (another build of raidloom may differ in the third digit), and a round is a seed. The same kernel, memory (512 MiB), fio jobs (past the page \
        cache, on the first GiB, each at random places of its own) and drives (`model:{DRIVE}`, {DRIVE_SIZE} of it, each on a link of \
        its own, with its write cache, from the same seed) on both sides; once under the \
        guest's md, once as one disk that is our array over them. Chunks of {CHUNK_KIB} KiB, \
        superblocks 1.2 at the same place (RAID 0 of ours has none), no bitmap, the \
        kernel's own scheduler and limits for the length of a request (1280 KiB) and the depth of a \
        queue (256): md has such a queue for each drive, we have one for the array. Degraded: the last member \
        has failed and is gone. Rebuilding: an empty drive is in its place, and both have md's \
        limits of 1000 KiB/s while there is other work and 200 000 without; without other work is \
        the first {ALONE_SECONDS} s. md caches {STRIPES_USUAL} stripes, as it comes, and {STRIPES_TUNED} in the rows that say tuned \
        (`stripe_cache_size`); ours has no such setting. Whole stripes are 768 KiB, four of three \
        chunks with data. A ratio is the geometric mean over the seeds with its interval of 95 % \
        (Student's t over the logarithms). What differs is the array's logic; computing takes no time on either side."
    );
    let rounds = rounds(bench);
    let measured = match rounds {
        1 => "Measured in modelled time with seed 1".to_owned(),
        _ => format!("Measured in modelled time with the seeds 1 to {rounds}"),
    };
    Ok(Section {
        title: "Levels beside the kernel's md",
        how,
        measured: Some(measured),
        sides: ("raidloom", "md"),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_stand_on_the_same_drives() {
        let case = cases().find(|(array, state)| array.level == "raid5" && *state != "whole");
        let case = case.expect("a degraded RAID 5");
        let (ours, md) = (disks(case, false).join(" "), disks(case, true).join(" "));
        let drive = |number: usize| format!("model:st340015a?link=l{number}");
        for number in 0..4 {
            assert!(ours.contains(&drive(number)) && md.contains(&drive(number)), "{ours}; {md}");
        }
        assert!(ours.contains("--state=degraded") && md.contains("--state=degraded"));
        assert!(
            ours.contains("raid5(chunk=64KiB, metadata=1.2, ")
                && md.contains("--md=raid5 chunk=64KiB")
        );
        assert_eq!(cases().count(), 13);
    }

    #[test]
    fn only_mds_cache_of_stripes_is_tuned_and_only_for_the_rows_that_say_so() {
        let array = |level| ARRAYS.iter().find(|array| array.level == level).expect("a level");
        for level in ["raid0", "raid1", "raid10"] {
            assert_eq!(array(level).loads().len(), 5, "{level}");
            assert!(!jobs(array(level), true, 1).contains("stripe_cache"), "{level}");
        }
        for level in ["raid5", "raid6"] {
            let (ours, md) = (jobs(array(level), false, 1), jobs(array(level), true, 1));
            let fio = |work: &str| work.matches("fio --name").count();
            assert_eq!((fio(&ours), fio(&md)), (9, 9), "{level}");
            assert!(!ours.contains("stripe_cache"), "{level}");
            assert_eq!(md.matches("echo 4096 >").count(), 3, "{level}");
            assert_eq!(md.matches("echo 256 >").count(), 3, "{level}");
        }
    }

    #[test]
    fn what_fio_did_is_read_from_its_json() {
        let read = r#"{"jobs": [{"error": 0, "read": {"total_ios": 5, "runtime": 10}, "write": {"total_ios": 0, "runtime": 0}}]}"#;
        let write = r#"{"jobs": [{"error": 0, "read": {"total_ios": 0, "runtime": 0}, "write": {"total_ios": 500, "runtime": 250}}]}"#;
        let failed = r#"{"jobs": [{"error": 5}]}"#;
        let output = |last: &str| [write, read, read, write, last].join("\n");
        assert_eq!(rates(&output(write), 5), Ok(vec![2000.0, 500.0, 500.0, 2000.0, 2000.0]));
        assert!(rates(&output(failed), 5).is_err());
        assert!(rates(write, 5).is_err());
    }
}

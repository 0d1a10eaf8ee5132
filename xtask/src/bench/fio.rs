//! The load generator against fio: the same file, the same requests, one after the other, several
//! times.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::table::{Aim, Row, Section};
use super::{Bench, child};

const FILE_BYTES: u64 = 1 << 30;

/// Where the file lies.
struct FileSite {
    name: &'static str,
    folder: PathBuf,
    direct: bool,
}

/// What is asked of it.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) request_bytes: u32,
    pub(crate) depth: u32,
}

const WORKS: &[Work] = &[
    Work {
        name: "random read 4 KiB, depth 1",
        pattern: "random-read",
        request_bytes: 4096,
        depth: 1,
    },
    Work {
        name: "random read 4 KiB, depth 32",
        pattern: "random-read",
        request_bytes: 4096,
        depth: 32,
    },
    Work {
        name: "sequential read 1 MiB, depth 4",
        pattern: "sequential-read",
        request_bytes: 1 << 20,
        depth: 4,
    },
];

/// What one side did in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundFigures {
    pub(crate) operations: f64,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
}

impl RoundFigures {
    /// Operations per second.
    pub(crate) fn rate(&self) -> f64 {
        self.operations / self.seconds
    }

    /// Processor time for one operation in microseconds, less what the process needs to start and
    /// end.
    fn cpu_us(&self, start_up: f64) -> f64 {
        (self.cpu_seconds - start_up) * 1e6 / self.operations
    }
}

/// A file that is locked while it serves and removed when it has served.
struct Scratch {
    path: PathBuf,
    file: File,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may be gone already, and a scratch file is not worth an error.
        let _ = fs::remove_file(&self.path);
    }
}

impl Scratch {
    /// A file of random bytes, all of it on the medium. Fails when another measurement has it:
    /// neither would be worth anything.
    fn filled(folder: &Path, size_bytes: u64) -> Result<Scratch, String> {
        let path = folder.join("raidloom-bench.img");
        let said = |error: io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(folder).map_err(said)?;
        let mut file =
            File::options().write(true).create(true).truncate(false).open(&path).map_err(said)?;
        file.try_lock().map_err(|_| {
            format!("{}: another measurement is under way; wait for its end", path.display())
        })?;
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            let mut random = fastrand::Rng::with_seed(1);
            let mut block = vec![0; 1 << 20];
            for _ in 0..size_bytes / block.len() as u64 {
                random.fill(&mut block);
                file.write_all(&block)?;
            }
            file.sync_all()
        };
        write(&mut file).map_err(said)?;
        Ok(Scratch { path, file })
    }
}

/// Measures all works in both places.
///
/// # Errors
/// When a file cannot be made, or fio or the probe fails.
pub(crate) fn compare(bench: &Bench) -> Result<Section, String> {
    let places = [
        FileSite { name: "tmpfs", folder: PathBuf::from("/dev/shm"), direct: false },
        FileSite { name: "page cache", folder: bench.target.join("bench"), direct: false },
        FileSite { name: "disk, O_DIRECT", folder: bench.target.join("bench"), direct: true },
    ];
    let mut rows = Vec::new();
    for place in &places {
        let scratch = Scratch::filled(&place.folder, FILE_BYTES)?;
        if place.direct {
            // Pages left over from writing would be looked at before each direct read.
            rustix::fs::fadvise(&scratch.file, 0, None, rustix::fs::Advice::DontNeed)
                .map_err(|error| format!("posix_fadvise: {error}"))?;
        }
        for work in WORKS {
            eprintln!("   {}: {}", place.name, work.name);
            rows.extend(rounds(bench, place, work, &scratch.path)?);
        }
    }
    let how = format!(
        "One file of {} MiB of random bytes, made beforehand, is read by both for {} s a round. \
        fio runs with `ioengine=io_uring`, registered buffers and \
        files (`fixedbufs`, `registerfiles`) and `norandommap`, so that both choose offsets \
        freely; it keeps its latency percentiles as raidloom keeps its \
        histogram; neither verifies. Processor time is that of the whole process with its children \
        and the kernel's workers for it, \
        less that of a run of one request, so that starting up counts for neither. With O_DIRECT \
        the disk's own counter of sectors has to \
        confirm that what was counted was read.\n\n\
        The file on tmpfs flatters raidloom: tmpfs does not claim to answer without waiting, so \
        the kernel hands each of fio's requests to a worker \
        thread. raidloom's file device asks for an answer in place (`O_NONBLOCK`), which fio has \
        no option for. The rows `page cache` are \
        the same file on a disk's file system, read through the page cache that holds all of it: \
        there neither takes the detour, and the generators compare as they are.",
        FILE_BYTES >> 20,
        bench.effort.seconds
    );
    Ok(Section {
        title: "Load generator against fio",
        how,
        measured: None,
        sides: ("raidloom", "fio"),
        rows,
    })
}

fn rounds(bench: &Bench, place: &FileSite, work: &Work, path: &Path) -> Result<Vec<Row>, String> {
    let ours = |limit: Limit| bench.probe_file(work, path, place.direct, limit);
    let theirs = |limit: Limit| run(work, path, place.direct, limit);
    let start_up = (least(&ours)?, least(&theirs)?);
    let limit = Limit::Seconds(bench.effort.seconds);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..bench.effort.rounds {
        if round % 2 == 0 {
            a.push(witnessed(place, work, path, || ours(limit))?);
            b.push(witnessed(place, work, path, || theirs(limit))?);
        } else {
            b.push(witnessed(place, work, path, || theirs(limit))?);
            a.push(witnessed(place, work, path, || ours(limit))?);
        }
    }
    let load = format!("{}: {}", place.name, work.name);
    let each = |done: &[RoundFigures], number: &dyn Fn(&RoundFigures) -> f64| {
        done.iter().map(number).collect::<Vec<f64>>()
    };
    Ok(vec![
        Row {
            load: load.clone(),
            measure: "io/s",
            ours: each(&a, &RoundFigures::rate),
            other: Some(each(&b, &RoundFigures::rate)),
            aim: Aim::AtLeast(1.0),
        },
        Row {
            load,
            measure: "processor µs/io",
            ours: each(&a, &|done| done.cpu_us(start_up.0)),
            other: Some(each(&b, &|done| done.cpu_us(start_up.1))),
            aim: Aim::AtMost(1.0),
        },
    ])
}

/// The smallest processor time of three runs of a single request.
fn least(side: &dyn Fn(Limit) -> Result<RoundFigures, String>) -> Result<f64, String> {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        least = least.min(side(Limit::OneRequest)?.cpu_seconds);
    }
    Ok(least)
}

/// Runs one side and lets the disk confirm that it read what it counted. Others may read too, so it
/// may have read more.
fn witnessed(
    place: &FileSite,
    work: &Work,
    path: &Path,
    side: impl Fn() -> Result<RoundFigures, String>,
) -> Result<RoundFigures, String> {
    if !place.direct {
        return side();
    }
    let before = disk_read_bytes(path)?;
    let done = side()?;
    let read = (disk_read_bytes(path)? - before) as f64;
    let counted = done.operations * f64::from(work.request_bytes);
    if read < 0.99 * counted {
        return Err(format!(
            "{}: {counted} bytes were counted, but the disk read {read}",
            work.name
        ));
    }
    Ok(done)
}

/// Bytes that the disk under `path` has read since the machine started.
fn disk_read_bytes(path: &Path) -> Result<u64, String> {
    let device =
        fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.st_dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let table = fs::read_to_string("/proc/diskstats")
        .map_err(|error| format!("/proc/diskstats: {error}"))?;
    sectors_read(&table, major, minor).map(|sectors| sectors * 512).ok_or_else(|| {
        format!("{}: its disk {major}:{minor} is not in /proc/diskstats", path.display())
    })
}

fn sectors_read(table: &str, major: u32, minor: u32) -> Option<u64> {
    // Columns: major, minor, name, reads, reads merged, sectors read, …
    table.lines().find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let same = columns.first()?.parse() == Ok(major) && columns.get(1)?.parse() == Ok(minor);
        if same { columns.get(5)?.parse().ok() } else { None }
    })
}

/// When a run ends.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    Seconds(u32),
    OneRequest,
}

fn run(work: &Work, path: &Path, direct: bool, limit: Limit) -> Result<RoundFigures, String> {
    let mut fio = Command::new("fio");
    fio.args([
        "--name=bench",
        "--ioengine=io_uring",
        "--fixedbufs=1",
        "--registerfiles=1",
        "--norandommap=1",
        "--invalidate=0",
        "--readonly",
    ]);
    fio.args(["--allow_file_create=0", "--eta=never", "--output-format=json", "--randseed=1"]);
    fio.arg(format!("--filename={}", path.display()));
    fio.arg(format!("--size={FILE_BYTES}"));
    fio.arg(format!("--rw={}", if work.pattern == "random-read" { "randread" } else { "read" }));
    fio.arg(format!("--bs={}", work.request_bytes));
    fio.arg(format!("--iodepth={}", work.depth));
    fio.arg(format!("--direct={}", u8::from(direct)));
    match limit {
        Limit::Seconds(seconds) => {
            fio.args(["--time_based".to_owned(), format!("--runtime={seconds}")])
        }
        Limit::OneRequest => fio.arg("--number_ios=1"),
    };
    let finished = child::succeed(&mut fio)?;
    let (operations, seconds) = read_json(&finished.output)?;
    Ok(RoundFigures { operations, seconds, cpu_seconds: finished.cpu_seconds })
}

/// Operations and seconds from fio's JSON.
pub(super) fn read_json(text: &str) -> Result<(f64, f64), String> {
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("fio's JSON: {error}"))?;
    let job = &json["jobs"][0];
    if job["error"].as_i64() != Some(0) {
        return Err(format!("fio reports error {}", job["error"]));
    }
    let done = |way: &str| Some((job[way]["total_ios"].as_f64()?, job[way]["runtime"].as_f64()?));
    ["read", "write"]
        .iter()
        .filter_map(|way| done(way))
        .find(|(operations, _)| *operations > 0.0)
        .map(|(operations, milliseconds)| (operations, milliseconds / 1000.0))
        .ok_or_else(|| "fio's JSON has no jobs[0] with total_ios and runtime".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fio_did_is_read_from_its_json() {
        let text = r#"{"jobs": [{"error": 0, "read": {"total_ios": 5000, "runtime": 2500}}]}"#;
        assert_eq!(read_json(text), Ok((5000.0, 2.5)));
        assert!(
            read_json(r#"{"jobs": [{"error": 5, "read": {"total_ios": 5000, "runtime": 2500}}]}"#)
                .is_err()
        );
        assert!(read_json(r#"{"jobs": []}"#).is_err());
    }

    #[test]
    fn starting_up_is_not_counted() {
        let done = RoundFigures { operations: 1000.0, seconds: 2.0, cpu_seconds: 0.11 };
        assert!((done.cpu_us(0.1) - 10.0).abs() < 1e-9 && done.rate() == 500.0);
    }

    #[test]
    fn two_measurements_do_not_share_a_file() {
        let folder = std::env::temp_dir().join(format!("raidloom-xtask-{}", std::process::id()));
        let first = Scratch::filled(&folder, 1 << 20).expect("a file");
        assert_eq!(fs::metadata(&first.path).expect("it is there").len(), 1 << 20);
        let error = Scratch::filled(&folder, 1 << 20).err().expect("it is in use");
        assert!(error.ends_with("another measurement is under way; wait for its end"), "{error}");
        assert!(first.path.exists());
        drop(first);
        drop(Scratch::filled(&folder, 1 << 20).expect("it is free again"));
        fs::remove_dir(&folder).expect("nothing is left behind");
    }

    #[test]
    fn the_right_disk_is_found() {
        let table = " 253       0 zram0 0 0 0 0\n 254       0 vda 100 5 2048 7 1 2 3\n 254       1 \
            vda1 1 1 8 7 1 2 3\n";
        assert_eq!(sectors_read(table, 254, 0), Some(2048));
        assert_eq!(sectors_read(table, 254, 1), Some(8));
        assert_eq!(sectors_read(table, 8, 0), None);
    }
}

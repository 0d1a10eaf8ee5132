//! bonnie and crystal against bonnie++ and fio: calls, bytes on the disk, files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::suites::calls::{self, Mark, TRACED, Work, agree};
use crate::suites::disk::{Disk, is_possible, succeed};
use crate::suites::{bench, figure, measured, number, raidloom, rows};

/// What bonnie++ says on its standard error when a phase begins.
const BEGINS: [(&str, &str); 10] = [
    ("Writing intelligently", "block write"),
    ("Rewriting", "rewrite"),
    ("Reading intelligently", "block read"),
    ("start 'em", "seeks"),
    ("Create files in seq", "sequential create"),
    ("Stat files in seq", "sequential stat"),
    ("Delete files in se", "sequential delete"),
    ("Create files in ran", "random create"),
    ("Stat files in rand", "random stat"),
    ("Delete files in ra", "random delete"),
];
/// Size of the file in MiB, small files in multiples of 1024, no phases by characters, no look at
/// the memory, one seed.
const WORK: [&str; 9] = ["-s", "64", "-n", "1", "-f", "-r", "0", "-z", "7"];

/// The large file.
const FILE_BYTES: u64 = 64 << 20;

fn traced(log: &Path) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "24", "--seccomp-bpf", "-e", TRACED, "-o"]).arg(log);
    strace
}

/// bonnie++ with its calls, and the bytes that the disk wrote until it had ended.
fn original(disk: &Disk, log: &Path) -> (BTreeMap<&'static str, Work>, u64) {
    let mut strace = traced(log);
    strace.arg("bonnie++").arg("-d").arg(disk.folder()).args(["-u", "root"]).args(WORK);
    let before = disk.moved().written_bytes;
    succeed(&mut strace);
    let written = disk.moved().written_bytes - before;
    let log = fs::read_to_string(log).expect("a log");
    let phases = calls::phases(&log, |line| {
        if line.starts_with("write(2<") {
            return BEGINS
                .iter()
                .find(|(text, _)| line.contains(&text[..text.len().min(18)]))
                .map_or(Mark::Ignore, |(_, phase)| Mark::Begin(phase));
        }
        // Tickets of the seekers, and the result at the end.
        if line.contains("<pipe:") || line.starts_with("write(1<") {
            Mark::Ignore
        } else {
            Mark::Call
        }
    });
    (phases, written)
}

/// Ours. The audit reads what the disk has moved before and after each phase: that is where phases
/// begin and end in the log.
fn ours(disk: &Disk, log: &Path) -> (BTreeMap<&'static str, Work>, Value) {
    let mut strace = traced(log);
    strace.arg(raidloom().get_program()).args(["bench", "bonnie"]).arg(disk.folder()).args(WORK);
    let output = succeed(strace.args(["--min-time", "1ns", "--json"]));
    let mut readings = 0;
    let log = fs::read_to_string(log).expect("a log");
    let phases = calls::phases(&log, |line| {
        if line.contains("\"/proc/diskstats\"") {
            readings += 1;
            let phase = BEGINS.get(readings / 2).filter(|_| readings % 2 == 1);
            return phase.map_or(Mark::Pause, |(_, phase)| Mark::Begin(phase));
        }
        if ["/proc/", "/sys/", "<pipe:"].iter().any(|own| line.contains(own)) {
            Mark::Ignore
        } else {
            Mark::Call
        }
    });
    (phases, serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// "Our bonnie and Debian's bonnie++ agree on the work done, phase by phase, within 2 %": calls,
/// bytes they moved, files made and deleted. Of the disk only what both wait for is looked at, the
/// large file's bytes in the phases that sync it: what else the kernel has written by the end of a
/// phase is a matter of moments.
#[test]
fn bonnie_does_what_the_original_does_phase_by_phase() {
    if !is_possible("bonnie against bonnie++", &["bonnie++", "strace"]) {
        return;
    }
    let logs = tempfile::tempdir().expect("a folder");
    let disk = Disk::new(256);
    let (theirs, written) = original(&disk, &logs.path().join("theirs"));
    let disk = Disk::new(256);
    let (ours, document) = ours(&disk, &logs.path().join("ours"));
    assert_eq!(
        (theirs.len(), ours.len()),
        (BEGINS.len(), BEGINS.len()),
        "{:?} {:?}",
        theirs.keys(),
        ours.keys()
    );
    for (phase, theirs) in &theirs {
        let ours = &ours[phase];
        let count = |work: &Work, call: &str| work.calls.get(call).copied().unwrap_or(0);
        let mut kinds: Vec<&str> = theirs.calls.keys().chain(ours.calls.keys()).copied().collect();
        if *phase == "seeks" {
            // One ticket of ten rewrites its chunk, by chance: 819 of 8192, give or take 27. All
            // calls together agree.
            let all = |work: &Work| {
                ["read", "write", "seek"].iter().map(|call| count(work, call)).sum::<u64>()
            };
            assert!(agree(all(ours), all(theirs)), "{phase}: {ours:?} {theirs:?}");
            assert_eq!((count(ours, "read"), count(theirs, "read")), (8192, 8192));
            assert!(
                (700..940).contains(&count(ours, "write"))
                    && (700..940).contains(&count(theirs, "write")),
                "{ours:?} {theirs:?}"
            );
            kinds.clear();
        }
        for call in kinds {
            // Folders and the large file are opened, looked at and synced a few times in both.
            let (ours, theirs) = (count(ours, call), count(theirs, call));
            assert!(
                agree(ours, theirs) || ours.max(theirs) <= 6,
                "{phase}: {call}: {ours} calls, and {theirs} of the original"
            );
        }
        assert!(
            agree(ours.bytes, theirs.bytes),
            "{phase}: {} bytes, and {} of the original",
            ours.bytes,
            theirs.bytes
        );
    }
    let synced = ["block write", "rewrite"];
    for (phase, row) in rows(&document).into_iter().filter(|(phase, _)| synced.contains(phase)) {
        let written = number(&row["moved_written_bytes"]);
        assert!(written >= FILE_BYTES, "{phase}: the disk wrote {written}");
    }
    assert!(written >= 2 * FILE_BYTES, "the disk wrote {written} for the original");
    let made: u64 =
        ["sequential create", "random create"].iter().map(|phase| ours[phase].calls["open"]).sum();
    let deleted: u64 = ["sequential delete", "random delete"]
        .iter()
        .map(|phase| ours[phase].calls["unlink"])
        .sum();
    assert!(agree(made, 2048) && deleted == 2048, "{made} made, {deleted} deleted");
}

/// The calls of a whole run by name, from `strace -c`.
fn counted(table: &Path, command: &mut Command) -> BTreeMap<String, u64> {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "--seccomp-bpf", "-e", "trace=read,write", "-o"]).arg(table);
    succeed(strace.arg(command.get_program()).args(command.get_args()));
    let text = fs::read_to_string(table).expect("a table");
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some(((*fields.last()?).to_owned(), fields.get(3)?.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// A call for every byte: 1 MiB of them each way.
#[test]
fn bonnie_writes_and_reads_characters_as_the_original_does() {
    if !is_possible("characters against bonnie++", &["bonnie++", "strace"]) {
        return;
    }
    let (logs, disk) = (tempfile::tempdir().expect("a folder"), Disk::new(64));
    let work = ["-s", "8:8k:100", "-n", "0", "-f1", "-r", "0", "-z", "7"];
    let theirs = counted(
        &logs.path().join("theirs"),
        Command::new("bonnie++")
            .arg("-q")
            .arg("-d")
            .arg(disk.folder())
            .args(["-u", "root"])
            .args(work),
    );
    let mut command = raidloom();
    command.args(["bench", "bonnie"]).arg(disk.folder()).args(work).args(["--min-time", "1ns"]);
    let ours = counted(&logs.path().join("ours"), &mut command);
    for call in ["read", "write"] {
        assert!(
            ours[call] > 1 << 20 && agree(ours[call], theirs[call]),
            "{call}: {} and {} of the original",
            ours[call],
            theirs[call]
        );
    }
}

/// The converters of bonnie++ 2.00a take version 1.98 of the lines and nothing older, not even
/// bonnie++ 1.03's own.
#[test]
fn the_originals_converters_take_the_lines() {
    if !is_possible("bon_csv2html and bon_csv2txt", &["bon_csv2html", "bon_csv2txt"]) {
        return;
    }
    let disk = Disk::new(64);
    let common = [
        "-s",
        "8",
        "-n",
        "1",
        "-r",
        "0",
        "--min-time",
        "1ms",
        "--format",
        "bonnie-csv",
        "-m",
        "host",
    ];
    let lines = |more: &[&str]| {
        let output = bench("bonnie", disk.folder(), &[&common, more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let new = lines(&["-x", "2"]);
    assert_eq!(new.lines().map(|line| line.split(',').count()).collect::<Vec<_>>(), [50, 50]);
    assert_eq!(lines(&["--style", "1.03", "-f"]).trim_end().split(',').count(), 27);
    let file = disk.folder().join("lines.csv");
    fs::write(&file, &new).expect("room");
    for (program, expected) in [("bon_csv2html", "<td"), ("bon_csv2txt", "host")] {
        let input = fs::File::open(&file).expect("it was written");
        let output = Command::new(program).stdin(input).output().expect("it runs");
        let (page, warnings) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && warnings.trim().is_empty(), "{program}: {warnings}");
        assert!(page.contains(expected) && page.matches("host").count() >= 2, "{program}: {page}");
        assert!(!page.contains("++++"), "{program}: a rate is blank: {page}");
    }
}

/// What bonnie++ 2.00 gets wrong, and ours does not.
#[test]
fn the_originals_defects_are_not_ours() {
    if !is_possible("defects of bonnie++", &[]) {
        return;
    }
    let disk = Disk::new(256);
    let quick = ["-s", "16", "-n", "1", "-r", "0", "-f", "--min-time", "20ms"];
    let document = measured("bonnie", disk.folder(), &quick);
    let processors = std::thread::available_parallelism().expect("a number").get() as f64;
    for (phase, row) in rows(&document) {
        // The rate of files, not their number; no rate is blank; nobody uses more than all
        // processors.
        let rate = figure(row, "operations_count") / figure(row, "elapsed_seconds");
        assert!(
            (figure(row, "io_per_second") / rate - 1.0).abs() < 1e-6 && rate > 0.0,
            "{phase}: {row}"
        );
        assert!(figure(row, "cpu_ratio") <= 1.02 * processors, "{phase}: {row}");
    }
    // Copies at the same time do so many times the work.
    let copies = measured(
        "bonnie",
        disk.folder(),
        &["-s", "16", "-n", "1", "-r", "0", "-f", "--min-time", "1ns", "-c", "3"],
    );
    for (phase, row) in rows(&copies) {
        let expected = if phase == "seeks" {
            3 * 8192
        } else if phase.contains(' ') && !phase.starts_with("block") {
            3 * 1024
        } else {
            3 * 2048
        };
        assert_eq!(figure(row, "operations_count"), f64::from(expected), "{phase}");
    }
    // Direct I/O with the phases by characters runs, and every block of every phase reaches the
    // disk.
    let direct = measured(
        "bonnie",
        disk.folder(),
        &["-s", "4", "-n", "0", "-r", "0", "--direct", "--min-time", "1ns"],
    );
    for (phase, row) in rows(&direct)
        .into_iter()
        .filter(|(phase, _)| ["block write", "rewrite", "block read"].contains(phase))
    {
        for way in ["read", "written"] {
            let (asked, moved) = (
                number(&row[format!("asked_{way}_bytes")]),
                number(&row[format!("moved_{way}_bytes")]),
            );
            assert!(moved >= asked, "{phase}: {way}: {moved} of {asked} bytes");
        }
    }
    // Sizes of files together with the large file.
    let sized = measured(
        "bonnie",
        disk.folder(),
        &["-s", "16:16k", "-n", "1:4096:1024", "-r", "0", "-f", "--min-time", "1ns"],
    );
    assert_eq!(rows(&sized).len(), 10);
    // The spread of several runs is shown.
    let text = bench("bonnie", disk.folder(), &[&quick[..], &["-x", "3"]].concat());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("LOWEST") && text.contains("HIGHEST"), "{text}");
    assert!(disk.names().is_empty(), "{:?}", disk.names());
}

/// fio with the arguments of a job, but for a number of operations instead of a time.
fn fio(arguments: &[String], operations: u64, request_bytes: u64) -> Value {
    let timed = |argument: &&String| {
        !argument.starts_with("--time_based") && !argument.starts_with("--runtime")
    };
    let jobs = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--numjobs=")?.parse::<u64>().ok())
        .unwrap_or(1);
    let mut command = Command::new("fio");
    command.args(["--output-format=json"]).args(arguments.iter().filter(timed));
    command.arg(format!("--io_size={}", operations.div_ceil(jobs) * request_bytes));
    serde_json::from_slice(&succeed(&mut command).stdout).expect("fio's JSON")
}

/// "Our crystal rows and the same fio jobs agree on bytes and operations": for as many operations
/// as each row did, fio's job of `--show-fio` counts the same bytes, and the disk moves what each
/// asks for.
#[test]
#[expect(clippy::too_many_lines, reason = "not yet split")]
fn crystal_rows_are_fio_jobs() {
    if !is_possible("crystal against fio", &["fio"]) {
        return;
    }
    let disk = Disk::new(128);
    let said = [
        "--profile",
        "8-nvme",
        "--size",
        "32MiB",
        "--time",
        "100ms",
        "--interval",
        "0s",
        "-x",
        "1",
        "--access",
        "direct",
        "--mix",
    ];
    let jobs = measured("crystal", disk.folder(), &[&said[..], &["--show-fio"]].concat());
    let jobs: BTreeMap<&str, Vec<String>> = jobs
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| {
            (
                job["name"].as_str().expect("a name"),
                serde_json::from_value(job["arguments"].clone()).expect("texts"),
            )
        })
        .collect();
    let document = measured("crystal", disk.folder(), &said);
    succeed(Command::new("fio").arg("--output-format=json").args(&jobs["fill"]));
    assert_eq!(rows(&document).len(), 12);
    for (phase, row) in rows(&document) {
        let arguments = &jobs[phase];
        let size = arguments
            .iter()
            .find_map(|argument| argument.strip_prefix("--bs=")?.parse().ok())
            .expect("a size");
        let operations = figure(row, "operations_count") as u64;
        let asked = ["read", "written"].map(|way| number(&row[format!("asked_{way}_bytes")]));
        let moved = ["read", "written"].map(|way| number(&row[format!("moved_{way}_bytes")]));
        assert_eq!(asked[0] + asked[1], operations * size, "{phase}");
        let before = disk.moved();
        let document = fio(arguments, operations, size);
        let after = disk.moved();
        let job = &document["jobs"][0];
        let theirs = ["read", "write"].map(|way| number(&job[way]["io_bytes"]));
        let requests: u64 =
            ["read", "write"].iter().map(|way| number(&job[*way]["total_ios"])).sum();
        // What does not go into 16 threads evenly.
        let few = if phase.contains("T16") { 16 } else { 0 };
        assert!(
            operations.abs_diff(requests) <= few,
            "{phase}: {operations} operations, and {requests} of fio"
        );
        let fio_moved =
            [after.read_bytes - before.read_bytes, after.written_bytes - before.written_bytes];
        for way in 0..2 {
            if phase.ends_with("mix") {
                continue;
            }
            let few = few * size;
            assert!(
                asked[way].abs_diff(theirs[way]) <= few,
                "{phase}: {} bytes, and {} of fio",
                asked[way],
                theirs[way]
            );
            // Past the page cache each byte is moved, once. What the kernel writes of the file
            // system meanwhile comes on top, of this small one less than a MiB.
            for (moved, asked) in [(moved[way], asked[way]), (fio_moved[way], theirs[way])] {
                assert!(
                    (asked..=asked + (1 << 20)).contains(&moved),
                    "{phase}: the disk moved {moved} of {asked}; fio {theirs:?}: {fio_moved:?}"
                );
            }
        }
        let share = |bytes: &[u64; 2]| bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
        // Which requests of a mix read is chance; five standard deviations of the difference.
        let chance = 5.0 * (2.0 * 0.7 * 0.3 / operations as f64).sqrt();
        assert!(
            (share(&asked) - share(&theirs)).abs() < chance,
            "{phase}: reads are {} and {} of all",
            share(&asked),
            share(&theirs)
        );
    }
    fs::remove_file(disk.folder().join("crystal.dat")).expect("fio made it");
    assert!(disk.names().is_empty(), "{:?}", disk.names());
}

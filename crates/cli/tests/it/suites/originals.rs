//! bonnie and crystal against bonnie++ and fio: calls, bytes on the disk, files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::suites::calls::{self, Mark, TRACED, Work, agree};
use crate::suites::disk::{Disk, is_possible, succeed};
use crate::suites::{asked_bytes, bench, command, figure, measured, number, place, raidloom, rows};

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
/// The same to ours, and no phase twice.
#[rustfmt::skip]
const OUR_WORK: [&str; 12] = ["--size", "64", "-s", "files=1024", "-s", "per_character=false", "-s",
    "check_memory=false", "-s", "min_time=1ns", "-z", "7"];

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
    let place = place();
    let own = command("bonnie", disk.folder(), &[&OUR_WORK[..], &["--json"]].concat(), &place);
    let output = succeed(strace.arg(own.get_program()).args(own.get_args()));
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
        let share = figure(row, "member_write_ratio");
        assert!(share >= 1.0, "{phase}: of {FILE_BYTES} bytes the disk wrote {share}");
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
    let own = ["--size", "8", "-s", "chunk=8KiB", "-s", "seeks=100", "-s", "files=0", "-s"];
    let own = [&own[..], &["per_character_size=1", "-s", "check_memory=false", "-z", "7"]].concat();
    let place = place();
    let mut command =
        command("bonnie", disk.folder(), &[&own[..], &["-s", "min_time=1ns"]].concat(), &place);
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
    let common = ["--size", "8", "-s", "files=1024", "-s", "check_memory=false", "-s"];
    let common = [&common[..], &["min_time=1ms", "-s", "name=host"]].concat();
    let lines = |more: &[&str]| {
        let place = place();
        let all = [&common[..], more].concat();
        succeed(&mut command("bonnie", disk.folder(), &all, &place));
        let mut report = raidloom();
        let run = place.path().join("run");
        let output = succeed(report.arg("report").arg(run).arg("--bonnie-csv"));
        String::from_utf8(output.stdout).expect("text")
    };
    let new = lines(&["-x", "2"]);
    assert_eq!(new.lines().map(|line| line.split(',').count()).collect::<Vec<_>>(), [50, 50]);
    let old = lines(&["-s", "style=1.03", "-s", "per_character=false"]);
    assert_eq!(old.trim_end().split(',').count(), 27);
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
    let fast = ["-s", "per_character=false", "-s", "check_memory=false", "-s", "files=1024"];
    let quick = [&["--size", "16", "-s", "min_time=20ms"], &fast[..]].concat();
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
        &[&["--size", "16", "-s", "min_time=1ns", "-s", "concurrency=3"], &fast[..]].concat(),
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
    let whole = ["--size", "4", "-s", "files=0", "-s", "check_memory=false", "-s", "direct=true"];
    let direct = measured("bonnie", disk.folder(), &[&whole[..], &["-s", "min_time=1ns"]].concat());
    for (phase, row) in rows(&direct)
        .into_iter()
        .filter(|(phase, _)| ["block write", "rewrite", "block read"].contains(phase))
    {
        for (way, ratio) in [("read", "member_read_ratio"), ("write", "member_write_ratio")] {
            let share = row["metrics"][ratio].as_f64();
            let asks = phase.contains(way) || phase == "rewrite";
            assert_eq!(share.is_some(), asks, "{phase}: {way}: {row}");
            assert!(share.is_none_or(|share| share >= 1.0), "{phase}: {way}: {row}");
        }
    }
    // Sizes of files together with the large file.
    let sized = measured(
        "bonnie",
        disk.folder(),
        &[
            &["--size", "16", "-s", "chunk=16KiB", "-s", "file_size_max=4096"][..],
            &["-s", "file_size_min=1024", "-s", "min_time=1ns"],
            &fast[..],
        ]
        .concat(),
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

/// The jobs of fio that `--fio` shows for these settings, by the row that each is.
fn shown_jobs(disk: &Disk, keys: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut explain = raidloom();
    explain.args(["bench", "explain", "crystal", "--json", "--fio"]).arg(disk.folder()).args(keys);
    let jobs: Value = serde_json::from_slice(&succeed(&mut explain).stdout).expect("JSON");
    jobs.as_array()
        .expect("jobs")
        .iter()
        .map(|job| {
            (
                job["name"].as_str().expect("a name").to_owned(),
                serde_json::from_value(job["arguments"].clone()).expect("texts"),
            )
        })
        .collect()
}

/// Past the page cache each byte is moved, once. What the kernel writes of the file system
/// meanwhile comes on top, of this small one less than a MiB.
fn check_moved(phase: &str, moved: u64, asked: u64) {
    assert!(
        (asked..=asked + (1 << 20)).contains(&moved),
        "{phase}: the disk moved {moved} of {asked}"
    );
}

/// "Our crystal rows and the same fio jobs agree on bytes and operations": for as many operations
/// as each row did, fio's job of `--show-fio` counts the same bytes, and the disk moves what each
/// asks for.
#[test]
fn crystal_rows_are_fio_jobs() {
    if !is_possible("crystal against fio", &["fio"]) {
        return;
    }
    let disk = Disk::new(128);
    let keys = ["profile=8-nvme", "size=32MiB", "time=100ms", "interval=0s", "access=direct"];
    let keys: Vec<&str> = keys.into_iter().chain(["mix=70"]).flat_map(|key| ["-s", key]).collect();
    let jobs = shown_jobs(&disk, &keys);
    let document = measured("crystal", disk.folder(), &[&keys[..], &["-x", "1"]].concat());
    succeed(Command::new("fio").arg("--output-format=json").args(&jobs["fill"]));
    assert_eq!(rows(&document).len(), 12);
    for (phase, row) in rows(&document) {
        let arguments = &jobs[phase];
        let size = arguments
            .iter()
            .find_map(|argument| argument.strip_prefix("--bs=")?.parse().ok())
            .expect("a size");
        let operations = figure(row, "operations_count") as u64;
        let asked = match phase {
            _ if phase.ends_with("mix") => ["read_", "write_"].map(|side| asked_bytes(row, side)),
            _ if phase.ends_with("read") => [asked_bytes(row, ""), 0],
            _ => [0, asked_bytes(row, "")],
        };
        let ratios = ["member_read_ratio", "member_write_ratio"];
        let ratios = ratios.map(|ratio| row["metrics"][ratio].as_f64().unwrap_or(0.0));
        let moved = [0, 1].map(|way| (ratios[way] * asked[way] as f64).round() as u64);
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
        if !phase.ends_with("mix") {
            let few = few * size;
            for way in 0..2 {
                assert!(
                    asked[way].abs_diff(theirs[way]) <= few,
                    "{phase}: {} bytes, and {} of fio",
                    asked[way],
                    theirs[way]
                );
                check_moved(phase, moved[way], asked[way]);
                check_moved(phase, fio_moved[way], theirs[way]);
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

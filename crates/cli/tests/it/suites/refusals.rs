//! Targets on which a suite cannot run: one line, the right exit code, and no file left behind. And
//! Ctrl-C.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::suites::disk::{Disk, RawDisk, is_possible};
use crate::suites::{bench, figure, measured, raidloom, rows};

/// The one line that it says.
fn refusal(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("note: ")).collect();
    assert_eq!(lines.len(), 1, "one line: {said}");
    assert!(lines[0].starts_with("raidloom: "), "{said}");
    lines[0].to_owned()
}

#[test]
fn what_cannot_be_used_is_refused_in_one_line_and_nothing_is_left() {
    if !is_possible("refusals", &[]) {
        return;
    }
    let disk = Disk::new(64);
    let folder = disk.folder();
    let cases: [(&str, &[&str], i32, &str); 6] = [
        ("bonnie", &["-s", "100", "-r", "0"], 4, "too small"),
        ("bonnie", &["-s", "8", "-n", "200", "-r", "0"], 4, "files are needed"),
        ("bonnie", &["-s", "8", "-r", "8"], 2, "twice the memory"),
        ("copy", &["--bytes", "10GiB"], 4, "too small"),
        ("crystal", &["--size", "1GiB"], 4, "too small"),
        ("depth", &["--size", "1GiB"], 4, "too small"),
    ];
    for (suite, arguments, code, words) in cases {
        let line = refusal(&bench(suite, folder, arguments), code);
        assert!(line.contains(words), "{suite} {arguments:?}: {line}");
        assert!(disk.names().is_empty(), "{suite}: {:?}", disk.names());
    }
    // A block device without consent, and an image with something on it: here, a file system.
    let line = refusal(&bench("crystal", disk.device(), &["--size", "16MiB"]), 4);
    assert!(line.contains(&disk.device().display().to_string()), "{line}");
    let image = folder.join("image");
    fs::File::create(&image).expect("room").set_len(8 << 20).expect("room");
    crate::suites::disk::succeed(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image));
    let line = refusal(&bench("crystal", &image, &["--size", "4MiB"]), 4);
    assert!(line.contains("ext4") && line.contains("--erase-signature"), "{line}");
    fs::remove_file(&image).expect("it is there");
    disk.make_read_only();
    for suite in ["bonnie", "copy", "crystal", "hdparm", "depth", "devtest"] {
        let more: &[&str] = if suite == "bonnie" { &["-s", "1", "-r", "0"] } else { &[] };
        assert!(refusal(&bench(suite, folder, more), 4).contains("read-only"), "{suite}");
    }
}

#[test]
fn direct_io_in_memory_is_refused() {
    let memory = Path::new("/dev/shm");
    if !is_possible("direct I/O in memory", &[]) {
        return;
    }
    let folder = tempfile::tempdir_in(memory).expect("a folder");
    let cases: [(&str, &[&str]); 5] = [
        ("bonnie", &["-s", "1", "-r", "0", "--direct"]),
        ("copy", &["--bytes", "1MiB", "--direct"]),
        ("crystal", &["--size", "1MiB"]),
        ("depth", &["--size", "1MiB"]),
        ("hdparm", &["--size", "2MiB", "--direct"]),
    ];
    for (suite, arguments) in cases {
        assert!(refusal(&bench(suite, folder.path(), arguments), 4).contains("tmpfs"), "{suite}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "{suite}");
    }
}

/// A limit on the size of files (`ulimit -f`, in KiB in this shell).
#[test]
fn a_limit_on_the_size_of_files_is_said_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "ulimit -f 1024 && exec \"$@\"";
    let mut command = Command::new("bash");
    command
        .args(["-c", script, "bash"])
        .arg(raidloom().get_program())
        .args(["bench", "bonnie"])
        .arg(folder.path());
    let output = command.args(["-s", "16", "-r", "0"]).output().expect("bash runs");
    let line = refusal(&output, 4);
    assert!(line.contains("ulimit -f") && line.contains("1MiB"), "{line}");
    let mut command = Command::new("bash");
    command
        .args(["-c", script, "bash"])
        .arg(raidloom().get_program())
        .args(["bench", "devtest", "--create", "16MiB"]);
    let line =
        refusal(&command.arg(folder.path().join("made.img")).output().expect("bash runs"), 4);
    assert!(line.contains("ulimit -f") && line.contains("made.img"), "{line}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

fn started(suite: &str, disk: &Disk, arguments: &[&str]) -> Child {
    let mut command = raidloom();
    command.args(["bench", suite]).arg(disk.folder()).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs")
}

/// Waits for something that the suite does.
fn until(child: &mut Child, what: &str, mut seen: impl FnMut() -> bool) {
    while !seen() {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it ended before {what}");
        std::thread::yield_now();
    }
}

/// The disk fills up while the suite runs: somebody else takes all that was free.
#[test]
fn a_disk_that_fills_up_is_said_and_the_files_are_removed() {
    if !is_possible("a full disk", &[]) {
        return;
    }
    let disk = Disk::new(64);
    let mut child =
        started("bonnie", &disk, &["-s", "30", "-n", "0", "-r", "0", "--min-time", "1ns"]);
    // The first phase makes a call for each byte of 3 MiB; the next one needs the room.
    until(&mut child, "it had begun", || {
        let work = disk.names().pop().map(|name| disk.folder().join(name));
        work.is_some_and(|work| work.is_dir())
    });
    let greedy = fs::File::create(disk.folder().join("greedy")).expect("room");
    let free = disk.free_bytes().saturating_sub(1 << 20);
    rustix::fs::fallocate(&greedy, rustix::fs::FallocateFlags::empty(), 0, free)
        .expect("that much is free");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.contains("is full") && last.contains("removed"), "{said}");
    assert_eq!(disk.names(), ["greedy"]);
}

/// SIGINT prints what was measured until then, and removes the files.
#[test]
fn an_interrupt_shows_what_was_measured_and_removes_the_files() {
    if !is_possible("an interrupt", &[]) {
        return;
    }
    let disk = Disk::new(128);
    let said = [
        "--profile",
        "real",
        "--size",
        "16MiB",
        "--time",
        "1s",
        "--interval",
        "0s",
        "-x",
        "1",
        "--access",
        "direct",
        "--json",
    ];
    let start = disk.moved();
    let mut child = started("crystal", &disk, &said);
    // Two rows read, then two write: when there is writing after reading, the first two are
    // measured and the last one is far off.
    let mut filled = None;
    until(&mut child, "a row that writes", || {
        let now = disk.moved();
        if filled.is_none() && now.read_bytes > start.read_bytes + (1 << 20) {
            filled = Some(now.written_bytes);
        }
        filled.is_some_and(|filled| now.written_bytes > filled + (4 << 20))
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is there");
    let mut text = String::new();
    child.stdout.take().expect("it was asked for").read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let phases: Vec<&str> = rows(&document).into_iter().map(|(phase, _)| phase).collect();
    assert!(
        phases.starts_with(&["SEQ1M Q1T1 read", "RND4K Q1T1 read"]) && phases.len() < 4,
        "{phases:?}"
    );
    assert_eq!(document["complete"], false);
    assert!(disk.names().is_empty(), "{:?}", disk.names());
}

/// `copy` as its users know it: as many files as were published for 300 MiB, and each byte
/// verified.
#[test]
fn copy_makes_the_published_number_of_files() {
    if !is_possible("copy", &[]) {
        return;
    }
    let disk = Disk::new(512);
    let document =
        measured("copy", disk.folder(), &["--bytes", "314572800", "--drop-caches", "--depth", "3"]);
    let rows = rows(&document);
    assert_eq!(
        rows.iter().map(|(phase, _)| *phase).collect::<Vec<_>>(),
        ["write", "read", "delete"]
    );
    for (phase, row) in &rows {
        assert_eq!(row["metrics"]["operations_count"], 6138.0, "{phase}");
    }
    assert_eq!(
        (&rows[0].1["asked_written_bytes"], &rows[1].1["asked_read_bytes"]),
        (&314_572_800.into(), &314_572_800.into())
    );
    // With the caches emptied, what is read comes from the disk.
    assert!(
        rows[1].1["moved_read_bytes"].as_u64().is_some_and(|moved| moved >= 314_572_800),
        "{}",
        rows[1].1
    );
    assert!(disk.names().is_empty(), "{:?}", disk.names());
}

/// In a folder every suite measures, each row by its name, flags and both rates; and nothing is
/// left.
#[test]
fn every_suite_measures_in_a_folder() {
    if !is_possible("suites in a folder", &[]) {
        return;
    }
    let disk = Disk::new(320);
    let before = fs::metadata(disk.folder()).expect("a folder").nlink();
    let cases: [(&str, &[&str]); 3] = [
        (
            "hdparm",
            &["--size", "8MiB", "--cached-time", "20ms", "--device-time", "20ms", "-x", "2"],
        ),
        (
            "depth",
            &[
                "--size",
                "8MiB",
                "--time",
                "10ms",
                "--depth-max",
                "2",
                "--way",
                "both",
                "--open-loop",
            ],
        ),
        ("copy", &["--bytes", "2MiB", "--fsync", "folder", "--no-access-times", "--direct"]),
    ];
    for (suite, arguments) in cases {
        let document = measured(suite, disk.folder(), arguments);
        assert!(!rows(&document).is_empty() && document["complete"] == true, "{suite}");
        for (phase, row) in rows(&document) {
            assert!(row["flags"].is_array() && row["skipped"].is_null(), "{suite} {phase}: {row}");
            let durable = row["metrics"]["durable_io_per_second"].is_number();
            assert_eq!(
                durable,
                !phase.contains("read"),
                "{suite} {phase}: all but reading changes something: {row}"
            );
        }
        assert!(disk.names().is_empty(), "{suite}: {:?}", disk.names());
    }
    assert_eq!(fs::metadata(disk.folder()).expect("a folder").nlink(), before);
}

/// On every kind of target devtest's table has both rates of what was written, and what the audit
/// says.
#[test]
fn devtest_has_both_rates_and_flags_on_every_kind_of_target() {
    if !is_possible("devtest on every kind of target", &[]) {
        return;
    }
    let disk = Disk::new(64);
    let raw = RawDisk::new(16);
    let (folder, device) = (disk.folder().display().to_string(), raw.path().display().to_string());
    let file = format!("{folder}/file.img");
    let cases: [(&str, &[&str]); 4] = [
        (&folder, &["--size", "16MiB"]),
        (&file, &["--create", "16MiB"]),
        (&device, &["--allow-device", &device]),
        ("raid1(ram:16MiB, ram:16MiB)", &[]),
    ];
    for (target, more) in cases {
        let document =
            measured("devtest", Path::new(target), &[&["--max-operations", "200"], more].concat());
        let rows = rows(&document);
        assert_eq!(rows.len(), 21, "{target}");
        for (test, row) in rows {
            let durable = row["metrics"]["durable_throughput_bytes_per_second"].as_f64();
            let writes = test.contains("write") || test.contains("mixed");
            assert_eq!(durable.is_some(), writes, "{target}: {row}");
            let acknowledged = figure(row, "throughput_bytes_per_second");
            assert!(durable.is_none_or(|durable| durable <= acknowledged), "{target}: {row}");
            let flags = row["flags"].as_array().expect("flags");
            // A mirror writes everything twice, and that is no doubt about it.
            assert!(
                !flags.iter().any(|flag| flag["code"] == "write-amplification"),
                "{target}: {row}"
            );
        }
    }
    assert!(disk.names().is_empty(), "{:?}", disk.names());
}

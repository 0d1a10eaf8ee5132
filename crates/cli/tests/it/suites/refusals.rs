//! Targets on which a suite cannot run: one line, the right exit code, and no file left behind. And
//! Ctrl-C.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::suites::disk::{Disk, RawDisk, is_possible};
use crate::suites::{asked_bytes, bench, command, figure, measured, place, rows};

/// bonnie on a file that a cache could hold.
const UNCHECKED: [&str; 2] = ["-s", "check_memory=false"];

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
        ("bonnie", &["--size", "100", UNCHECKED[0], UNCHECKED[1]], 4, "too small"),
        (
            "bonnie",
            &["--size", "8", "-s", "files=204800", UNCHECKED[0], UNCHECKED[1]],
            4,
            "files are needed",
        ),
        ("bonnie", &["--size", "8", "-s", "ram=8"], 2, "twice the memory"),
        ("copy", &["-s", "bytes=10GiB"], 4, "too small"),
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
        let small = ["--size", "1", UNCHECKED[0], UNCHECKED[1]];
        let more: &[&str] = if suite == "bonnie" { &small } else { &[] };
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
        ("bonnie", &["--size", "1", UNCHECKED[0], UNCHECKED[1], "-s", "direct=true"]),
        ("copy", &["-s", "bytes=1MiB", "-s", "direct=true"]),
        ("crystal", &["--size", "1MiB"]),
        ("depth", &["--size", "1MiB"]),
        ("hdparm", &["--size", "2MiB", "-s", "direct=true"]),
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
    let limited = |suite: &str, target: &Path, more: &[&str]| {
        let place = place();
        let own = command(suite, target, more, &place);
        let script = "ulimit -f 1024 && exec \"$@\"";
        let mut command = Command::new("bash");
        command.args(["-c", script, "bash"]).arg(own.get_program()).args(own.get_args());
        command.output().expect("bash runs")
    };
    let bonnie = ["--size", "16", UNCHECKED[0], UNCHECKED[1]];
    let line = refusal(&limited("bonnie", folder.path(), &bonnie), 4);
    assert!(line.contains("ulimit -f") && line.contains("1MiB"), "{line}");
    let made = folder.path().join("made.img");
    let line = refusal(&limited("devtest", &made, &["--size", "16MiB"]), 4);
    assert!(line.contains("ulimit -f") && line.contains("made.img"), "{line}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

fn started(suite: &str, disk: &Disk, arguments: &[&str], place: &TempDir) -> Child {
    let mut command = command(suite, disk.folder(), arguments, place);
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
    let more = ["--size", "30", "-s", "files=0", UNCHECKED[0], UNCHECKED[1], "-s", "min_time=1ns"];
    let place = place();
    let mut child = started("bonnie", &disk, &more, &place);
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
    let is_it = |line: &&str| line.contains("is full") && line.contains("removed");
    let mut lines = said.lines().skip_while(|line| !is_it(line)).skip(1);
    assert!(lines.next().is_some_and(|line| line.contains("run --resume")), "{said}");
    assert_eq!(disk.names(), ["greedy"]);
}

/// SIGINT prints what was measured until then, and removes the files.
#[test]
fn an_interrupt_shows_what_was_measured_and_removes_the_files() {
    if !is_possible("an interrupt", &[]) {
        return;
    }
    let disk = Disk::new(128);
    let said = ["-s", "profile=real", "--size", "16MiB", "--time", "1s", "-s", "interval=0s"];
    let said = [&said[..], &["-x", "1", "-s", "access=direct", "--json"]].concat();
    let place = place();
    let start = disk.moved();
    let mut child = started("crystal", &disk, &said, &place);
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
    let document = measured(
        "copy",
        disk.folder(),
        &["-s", "bytes=314572800", "-s", "drop_caches=true", "-s", "depth=3"],
    );
    let rows = rows(&document);
    assert_eq!(
        rows.iter().map(|(phase, _)| *phase).collect::<Vec<_>>(),
        ["write", "read", "delete"]
    );
    for (phase, row) in &rows {
        assert_eq!(row["metrics"]["operations_count"], 6138.0, "{phase}");
    }
    assert_eq!([0, 1].map(|row| asked_bytes(rows[row].1, "")), [314_572_800; 2]);
    // With the caches emptied, what is read comes from the disk.
    assert!(figure(rows[1].1, "member_read_ratio") >= 1.0, "{}", rows[1].1);
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
            &["--size", "8MiB", "-s", "cached_time=20ms", "-s", "device_time=20ms", "-x", "2"],
        ),
        (
            "depth",
            &[
                "--size",
                "8MiB",
                "--time",
                "10ms",
                "-s",
                "depth_max=2",
                "-s",
                "way=both",
                "-s",
                "loop=open",
            ],
        ),
        (
            "copy",
            &[
                "-s",
                "bytes=2MiB",
                "-s",
                "fsync=folder",
                "-s",
                "access_times=false",
                "-s",
                "direct=true",
            ],
        ),
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
        (&file, &["--size", "16MiB"]),
        (&device, &["--allow-device", &device]),
        ("raid1(ram:16MiB, ram:16MiB)", &[]),
    ];
    for (target, more) in cases {
        let document =
            measured("devtest", Path::new(target), &[&["-s", "max_operations=200"], more].concat());
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

//! `--memory` and `-s processors`: they hold while a suite runs, stand in its result, and leave
//! nothing behind.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::suites::disk::{Disk, is_possible};
use crate::suites::{asked_bytes, bench, command, figure, place, rows};

/// Whether a cgroup of this name is anywhere.
fn has_cgroup(folder: &Path, name: &str) -> bool {
    let folders = fs::read_dir(folder).into_iter().flatten().flatten();
    folders
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .any(|entry| entry.file_name().to_str() == Some(name) || has_cgroup(&entry.path(), name))
}

/// In a cgroup that is half as large as the file, what was just written has to be read from the
/// disk again.
#[test]
fn a_memory_limit_leaves_no_room_for_the_file_in_the_page_cache() {
    if !is_possible("a limit of memory", &[]) {
        return;
    }
    let disk = Disk::new(128);
    let place = place();
    let more = ["--size", "64", "-s", "files=0", "-s", "per_character=false"];
    let more = [&more[..], &["-s", "min_time=1ms", "--memory", "32MiB", "--json"]].concat();
    let mut command = command("bonnie", disk.folder(), &more, &place);
    let child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    let name = format!("raidloom-{}", child.id());
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("no memory cgroup can be made here") {
        // Not every machine lets a test make one, and no package would help.
        assert_eq!(output.status.code(), Some(2), "{said}");
        testkit::skipped!("a limit of memory: {}", said.trim());
        return;
    }
    assert!(output.status.success(), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["memory_limit_bytes"], 32 << 20);
    let rows = rows(&document);
    let (_, read) = rows.iter().find(|(phase, _)| *phase == "block read").expect("a row");
    let share = figure(read, "member_read_ratio");
    assert!(share > 0.5, "{share} of the bytes came from the disk: {read}");
    assert!(!has_cgroup(Path::new("/sys/fs/cgroup"), &name), "{name} is left behind");
}

/// The processors of a process, as the kernel lists them.
fn allowed(status: &str) -> Option<&str> {
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim)
}

#[test]
fn a_suite_runs_on_the_processors_that_were_named() {
    let own = fs::read_to_string("/proc/self/status").expect("the kernel says");
    let first: String =
        allowed(&own).expect("a list").chars().take_while(char::is_ascii_digit).collect();
    let place = place();
    let more = ["--time", "20ms", "--json", "-s", "processors=1"];
    let mut command = command("devtest", Path::new("ram:4MiB"), &more, &place);
    let child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program runs");
    // A process that has ended keeps its list until somebody asks how it ended, which nobody does
    // before this.
    let held = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()))
            .expect("nobody has waited for it");
        let held = allowed(&status) == Some(&first);
        if held || status.contains("State:\tZ") {
            break held;
        }
    };
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && held, "it never ran on processor {first} alone");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["configuration"]["processors"], "1", "{document}");
    assert_eq!(crate::suites::rows(&document).len(), 21, "{document}");
}

#[test]
fn processors_that_are_not_there_are_said() {
    let output = bench("devtest", Path::new("ram:4MiB"), &["-s", "processors=1000"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(4) && said.contains("1000 processors are wanted"),
        "{said}"
    );
}

/// Memory is compared with what the cgroup that the program is in may have, before it is promised.
#[test]
fn memory_is_not_promised_beyond_the_limit_of_the_cgroup() {
    let target = Path::new("cache(ram:128MiB, ram:1MiB)");
    let output = bench("devtest", target, &["--memory", "64MiB"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    if said.contains("no memory cgroup can be made here") {
        testkit::skipped!("a limit of memory: {}", said.trim());
        return;
    }
    assert!(
        said.contains("130MiB of memory are asked for")
            && said.contains("of the 64MiB that the cgroup")
            && said.lines().count() == 1,
        "{said}"
    );
}

/// "Sparse and unwritten places are read as the disk's": every suite that reads what it did not
/// write says so and has no figure that votes, on a hole and on what is only allocated, in a file
/// and under a loop device; on a file that is written nothing is said.
#[test]
fn holes_are_not_the_disks_in_any_suite_that_only_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sparse, allocated, written) = (
        folder.path().join("sparse.img"),
        folder.path().join("allocated.img"),
        folder.path().join("written.img"),
    );
    let file = |path: &Path| fs::File::create_new(path).expect("a new file");
    file(&sparse).set_len(64 << 20).expect("a length");
    let allocate = rustix::fs::FallocateFlags::empty();
    rustix::fs::fallocate(file(&allocated), allocate, 0, 64 << 20).expect("room");
    fs::write(&written, vec![7; 64 << 20]).expect("room");
    file_system_sync(&written);
    let suites: [&[&str]; 3] = [
        &["depth", "--read-only", "-s", "depth_max=2", "--time", "50ms"],
        &["devtest", "--read-only", "--time", "50ms"],
        &["hdparm", "-x", "1", "-s", "device_time=50ms", "-s", "cached_time=50ms"],
    ];
    for suite in suites {
        for (path, is_hole) in [(&sparse, true), (&allocated, true), (&written, false)] {
            let output = bench(suite[0], path, &[&suite[1..], &["--json"]].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            let document: Value = serde_json::from_slice(&output.stdout).expect(&said);
            for (row, figures) in rows(&document) {
                let flags = figures["flags"].to_string();
                // A row that asks for little is not judged.
                if figures["skipped"].is_null() && asked_bytes(figures, "") >= 256 << 10 {
                    let path = path.display();
                    assert_eq!(
                        flags.contains("never-written"),
                        is_hole,
                        "{suite:?} {path} {row}: {figures}"
                    );
                }
            }
        }
    }
}

fn file_system_sync(path: &Path) {
    fs::File::open(path).and_then(|file| file.sync_all()).expect("it can be synced");
}

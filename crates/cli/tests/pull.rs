//! The pull test as its users run it: real mounts, kills, and states that are made again.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn may_mount() -> bool {
    let reason = match () {
        () if !rustix::process::geteuid().is_root() => "only root may mount",
        () if !Path::new("/dev/fuse").exists() => "there is no /dev/fuse",
        () if !Path::new("/dev/loop-control").exists() => "there are no loop devices",
        () => return true,
    };
    testkit::missing!("{reason}");
    false
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

fn json(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
}

/// The loop devices that stand on what a pull test of this process served.
fn loops_of(pid: u32) -> Vec<PathBuf> {
    let name = format!("pull-{pid}/");
    let blocks = fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
    let stands = |folder: &PathBuf| {
        let backing = fs::read_to_string(folder.join("loop/backing_file"));
        backing.is_ok_and(|backing| backing.contains(&name))
    };
    blocks.filter(stands).collect()
}

#[test]
fn what_fsync_promised_is_there_and_without_barriers_it_is_not() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pull = |more: &[&str]| {
        let plain = ["pull", "ram:32MiB", "--work", "fsync", "--steps", "40", "--recordings", "1"];
        let all = [&plain[..], &["--json"], more].concat();
        json(&command(folder.path(), &all).output().unwrap())
    };
    let sound = pull(&["--pulls", "12", "--hunt", "12", "--log-writes", "log"]);
    for sample in ["figure", "hunt"] {
        let card = &sound["outcome"][sample]["card"];
        assert_eq!(card["pulls"], 12, "{sound}");
        for what in ["promise_broken", "unmountable", "exposed"] {
            assert_eq!(card[what]["count"], 0, "{sound}");
        }
    }
    let log = fs::read(folder.path().join("log")).unwrap();
    assert_eq!(log[..8], 0x006a_7366_7773_6872_u64.to_le_bytes(), "as dm-log-writes has it");

    let unsafe_options = ["--mount-options", "barrier=0", "--keep-failing", "kept"];
    let broken = pull(&[&["--pulls", "12"], &unsafe_options[..]].concat());
    let card = &broken["outcome"]["figure"]["card"];
    assert!(card["promise_broken"]["count"].as_u64() > Some(0), "{broken}");
    assert!(["D", "E"].iter().any(|grade| card["grade"] == *grade), "{broken}");
    let kept = broken["outcome"]["kept"][0].as_str().unwrap();
    let replay = command(folder.path(), &["pull", "--json", "--replay", kept]).output().unwrap();
    let replayed = json(&replay);
    assert_eq!(replayed["is_same_state"], true, "{replayed}");
    assert_eq!(replayed["is_same_judgement"], true, "{replayed}");
}

#[test]
fn nothing_is_left_of_one_that_was_killed() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["pull", "ram:32MiB", "--spread", "60s", "--steps", "60", "--pulls", "1"];
    let mut child = command(folder.path(), &arguments).stderr(Stdio::null()).spawn().unwrap();
    // It is recording once the file system is mounted.
    let mounts = format!("/proc/{}/mountinfo", child.id());
    while !fs::read_to_string(&mounts).unwrap().contains("/mounted ") {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::yield_now();
    }
    assert!(!loops_of(child.id()).is_empty(), "it stands on a loop device");
    let outside = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!outside.contains("/mounted "), "nobody else sees it");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    let pid = child.id();
    child.wait().unwrap();
    // What it had started ends by itself, as soon as it hears of it.
    while !loops_of(pid).is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn another_state_or_none_is_said_in_one_line() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("no.json"), "{}").unwrap();
    for (name, expected) in [("no.json", "no state that pull has kept"), ("none", "No such file")] {
        let output = command(folder.path(), &["pull", "--replay", name]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

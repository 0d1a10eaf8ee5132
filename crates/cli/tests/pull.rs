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

fn has_guest() -> bool {
    match guest::Kernel::find() {
        Ok(_) => true,
        Err(error) => {
            testkit::missing!("{error}");
            false
        }
    }
}

/// "In the guest the same test is repeatable to the nanosecond"; what is unsafe is found there too,
/// and made again.
#[test]
fn in_a_guest_the_same_is_found_every_time() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pull = |more: &[&str]| {
        let plain = ["pull", "--guest", "ram:32MiB", "--work", "fsync", "--steps", "40"];
        let few = ["--recordings", "1", "--pulls", "8", "--memory", "128MiB", "--json"];
        json(&command(folder.path(), &[&plain[..], &few, more].concat()).output().unwrap())
    };
    let sound = pull(&["--hunt", "8"]);
    assert_eq!(sound["place"], "guest");
    for sample in ["figure", "hunt"] {
        let card = &sound["outcome"][sample]["card"];
        assert_eq!((&card["pulls"], &sound["outcome"][sample]["unsteady"]), (&8.into(), &0.into()));
        for what in ["promise_broken", "unmountable", "exposed"] {
            assert_eq!(card[what]["count"], 0, "{sound}");
        }
    }
    assert!(sound["outcome"]["recorded_seconds"].as_f64() > Some(0.0), "drives take time");
    assert_eq!(pull(&["--hunt", "8"]), sound, "to the nanosecond");
    assert_ne!(pull(&["--hunt", "8", "--seed", "2"])["outcome"], sound["outcome"]);

    let broken = pull(&["--mount-options", "barrier=0", "--keep-failing", "kept"]);
    let card = &broken["outcome"]["figure"]["card"];
    assert!(card["promise_broken"]["count"].as_u64() > Some(0), "{broken}");
    let kept = broken["outcome"]["kept"][0].as_str().unwrap();
    let replay = command(folder.path(), &["pull", "--json", "--replay", kept]).output().unwrap();
    let replayed = json(&replay);
    assert_eq!(replayed["is_same_state"], true, "{replayed}");
    assert_eq!(replayed["is_same_judgement"], true, "{replayed}");
}

/// The write hole: a drive dies with the power, and what resync would have made good is gone.
#[test]
fn a_drive_that_dies_with_the_power_tells_ppl_from_resync() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let card = |consistency: &str| {
        let stack = "raid5(metadata=1.2, chunk=64KiB, ram:24MiB, ram:24MiB, ram:24MiB)";
        let plain = ["pull", "--guest", stack, "--consistency", consistency, "--work", "fsync"];
        let few = ["--steps", "30", "--recordings", "1", "--pulls", "12", "--memory", "128MiB"];
        let more = ["--lose-member", "random", "--json"];
        let all = [&plain[..], &few, &more].concat();
        let found = json(&command(folder.path(), &all).output().unwrap());
        found["outcome"]["figure"]["card"].clone()
    };
    // Dirty and degraded, the array starts by force only.
    let resync = card("resync");
    assert!(resync["unmountable"]["count"].as_u64() > Some(0), "{resync}");
    assert!(!["A", "B"].iter().any(|grade| resync["grade"] == *grade), "{resync}");
    let ppl = card("ppl");
    for what in ["unmountable", "promise_broken"] {
        assert_eq!(ppl[what]["count"], 0, "{ppl}");
    }
}

/// md and raidloom's arrays under the same file system, on the same drives.
#[test]
fn the_guests_own_md_is_pulled_too() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let card = |more: &[&str]| {
        let stack = "raid5(metadata=1.2, chunk=64KiB, ram:24MiB, ram:24MiB, ram:24MiB)";
        let plain = ["pull", "--guest", "--array", "md", stack, "--work", "fsync", "--json"];
        let few = ["--steps", "30", "--recordings", "1", "--pulls", "8", "--memory", "128MiB"];
        let all = [&plain[..], &few, more].concat();
        let found = json(&command(folder.path(), &all).output().unwrap());
        assert_eq!(found["outcome"]["figure"]["unsteady"], 0, "{found}");
        found["outcome"]["figure"]["card"].clone()
    };
    let whole = card(&[]);
    for what in ["unmountable", "promise_broken", "exposed"] {
        assert_eq!(whole[what]["count"], 0, "{whole}");
    }
    let lost = card(&["--lose-member", "1"]);
    assert!(lost["unmountable"]["count"].as_u64() > Some(0), "dirty and degraded: {lost}");
    let lying = card(&["--device", "lying"]);
    assert!(lying["promise_broken"]["count"].as_u64() > Some(0), "{lying}");
}

/// Modelled drives in a plan, the hunt beside the figure, and what broke kept for a replay.
#[test]
fn a_plan_in_guests_has_grades_and_keeps_what_broke() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "schema = 1\nname = \"grades\"\n[members.one]\nstacks = [\"model:disk-2008\"]\n\
        [matrix]\nplace = \"guest\"\nlevel = \"single\"\nfile_system = \"ext4\"\n\
        memory = \"128MiB\"\nmount_options = [\"defaults\", \"barrier=0\"]\n\
        [baseline]\nmount_options = \"defaults\"\n[[workload]]\nsuite = \"pull\"\n\
        tests = [\"pull fsync\"]\nsteps = 40\npulls = 8\nhunt = 4\ndrive_size = \"32MiB\"\n\
        keep_failing = \"yes\"\n[trials]\nblocks = 1\n";
    fs::write(folder.path().join("plan.toml"), text).unwrap();
    let (report, run) = report_of(folder.path());
    let [sound, broken] = &report["safety"].as_array().unwrap()[..] else { panic!("{report}") };
    assert!(["A", "B"].iter().any(|grade| sound["grade"] == *grade), "{report}");
    assert!(["D", "E"].iter().any(|grade| broken["grade"] == *grade), "{report}");
    assert_eq!(sound["rows"][0]["hunt"]["tally"]["pulls"], 4, "{report}");
    let summary = fs::read_to_string(run.join("summary.csv")).unwrap();
    for metric in ["pull fsync,pulls_count,1,8,", "pull fsync,hunt_pulls_count,1,4,"] {
        assert!(summary.contains(metric), "{summary}");
    }
    let [trial] = &fs::read_dir(run.join("failing")).unwrap().collect::<Vec<_>>()[..] else {
        panic!("one trial broke something")
    };
    let kept = fs::read_dir(trial.as_ref().unwrap().path()).unwrap().map(|file| file.unwrap());
    let kept = kept.map(|file| file.path()).find(|path| path.extension() == Some("json".as_ref()));
    let kept = kept.unwrap();
    let all = ["pull", "--json", "--replay", kept.to_str().unwrap()];
    let replayed = json(&command(folder.path(), &all).output().unwrap());
    assert_eq!(replayed["is_same_state"], true, "{replayed}");
}

/// The lines of a plan over one drive of memory with ext4.
fn plan(folder: &Path, head: &str, matrix: &str, workloads: &str, blocks: u32) -> PathBuf {
    let text = format!(
        "schema = 1\nname = \"grades\"\n{head}\n[members.memory]\nstacks = [\"ram:32MiB\"]\n[matrix]\n\
        level = \"single\"\nfile_system = \"ext4\"\n{matrix}\n{workloads}\n[trials]\nblocks = {blocks}\n"
    );
    let path = folder.join("plan.toml");
    fs::write(&path, text).unwrap();
    path
}

const FSYNC: &str =
    "[[workload]]\nsuite = \"pull\"\ntests = [\"pull fsync\"]\nsteps = 40\npulls = 10\n";

/// The report of a run of `plan.toml`, and the run's folder.
fn report_of(folder: &Path) -> (Value, PathBuf) {
    let run = folder.join("run");
    let all = ["run", "plan.toml", "--output", run.to_str().unwrap()];
    let output = command(folder, &all).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = ["report", run.to_str().unwrap(), "--json"];
    (json(&command(folder, &report).output().unwrap()), run)
}

/// "a configuration below the grade is not taken, and the report says so"
#[test]
fn a_plan_takes_nothing_that_loses_what_was_acknowledged() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let matrix = "mount_options = [\"defaults\", \"barrier=0\"]\n[baseline]\nmount_options = \
                  \"barrier=0\"";
    let speed =
        "[[workload]]\nsuite = \"command\"\nrun = \"cp /proc/self/maps {dir}/maps; sync\"\n";
    plan(folder.path(), "must = \"grade >= B\"", matrix, &format!("{speed}{FSYNC}"), 3);
    let (report, run) = report_of(folder.path());
    let of = |options: &str| {
        let all = report["safety"].as_array().unwrap();
        all.iter().find(|one| one["settings"]["mount_options"] == options).unwrap().clone()
    };
    let (sound, broken) = (of("defaults"), of("barrier=0"));
    assert!(["A", "B"].iter().any(|grade| sound["grade"] == *grade), "{sound}");
    assert_eq!((&sound["pulls"], &sound["acknowledged_lost"]), (&30.into(), &0.into()), "{sound}");
    assert!(sound["acknowledged"].as_u64() > Some(100), "{sound}");
    assert!(["D", "E"].iter().any(|grade| broken["grade"] == *grade), "{broken}");
    let sentence = report["headlines"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("barrier=0 (grade >= B is asked for: grade"), "{sentence}");
    let text = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(text.contains("## Safety"), "{text}");
}

/// Drives that ignore flushes are another configuration, with a grade of their own.
#[test]
fn lying_drives_have_a_worse_grade_and_what_cannot_be_pulled_says_why() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let matrix = "device = [\"typical\", \"lying\"]\n[baseline]\ndevice = \"typical\"";
    plan(folder.path(), "", matrix, FSYNC, 1);
    let (report, run) = report_of(folder.path());
    let [honest, lying] = &report["safety"].as_array().unwrap()[..] else { panic!("{report}") };
    assert!(["A", "B"].iter().any(|grade| honest["grade"] == *grade), "{honest}");
    assert!(["D", "E"].iter().any(|grade| lying["grade"] == *grade), "{lying}");
    let sentence = lying["sentence"].as_str().unwrap();
    assert!(sentence.contains("on drives that do not do what they say"), "{sentence}");
    assert!(report["headlines"].as_array().unwrap().is_empty(), "{report}");
    assert!(!run.join("members").exists(), "drives are in memory");
    fs::remove_dir_all(run).unwrap();

    plan(folder.path(), "", "make_options = \"-I 100\"", FSYNC, 1);
    let (report, run) = report_of(folder.path());
    assert_eq!(report["safety"][0]["grade"], Value::Null, "{report}");
    let text = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(text.contains("No grade:") && text.contains("mkfs.ext4"), "{text}");
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

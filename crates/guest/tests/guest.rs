//! Issue 13, with a real kernel: what happens inside a guest takes the time that its disks say, and
//! is the same each time.
//!
//! Without the kernel (`raidloom guest build`) these tests are skipped; in CI that is a failure.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use block::{Device, Reactor};
use export::vhost_user::Done;
use export::vhost_user::request::Ask;
use guest::{Boot, Kernel, Outcome};
use testkit::Memory;

const MEBIBYTE: u64 = 1 << 20;

fn kernel() -> Option<Kernel> {
    match Kernel::find() {
        Ok(kernel) => Some(kernel),
        Err(error) => {
            assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "{error}");
            testkit::skipped!("{error}");
            None
        }
    }
}

/// Runs a job that must end well.
fn run(kernel: &Kernel, disks: Vec<Arc<dyn Device>>, job: &str) -> Outcome {
    run_with(kernel, disks, 1, job)
}

fn run_with(kernel: &Kernel, disks: Vec<Arc<dyn Device>>, seed: u64, job: &str) -> Outcome {
    let boot = Boot {
        kernel,
        memory_bytes: 128 * MEBIBYTE,
        seed,
        disks: disks.into_iter().map(Into::into).collect(),
        queue_depth: None,
        job: &format!("set -e\n{job}"),
        parameters: "",
        pinned: true,
    };
    let outcome = boot.run(&|| true).unwrap();
    assert_eq!(outcome.status, 0, "{}\n{}\n{}", outcome.output, outcome.errors, outcome.console);
    outcome
}

fn disk(seed: u64) -> Arc<dyn Device> {
    Arc::new(Memory::new(64 * MEBIBYTE).delayed(seed, Duration::from_millis(10)))
}

fn figure(outcome: &Outcome, word: &str) -> u64 {
    let line = outcome.output.lines().find_map(|line| line.strip_prefix(word));
    line.and_then(|text| text.trim().parse().ok())
        .unwrap_or_else(|| panic!("no {word}: {}", outcome.output))
}

fn took(done: &Done) -> u64 {
    done.done.nanoseconds() - done.taken.nanoseconds()
}

/// "`sleep 1000` in under 2 s": the guest's clock says 1000 s, the wall's far less.
#[test]
fn a_thousand_seconds_of_sleep_pass_on_the_guests_clock() {
    let Some(kernel) = kernel() else { return };
    let job = "a=$(date +%s); sleep 1000; b=$(date +%s); echo slept $((b - a))";
    let outcome = run(&kernel, vec![], job);
    assert_eq!(figure(&outcome, "slept"), 1000);
    assert!(outcome.time.nanoseconds() >= 1_000_000_000_000, "{:?}", outcome.time);
    assert!(outcome.messages < 100_000, "{}", outcome.messages);
}

/// "Everything is killed and removed whatever happens": this process of its own is what is killed.
#[test]
#[ignore = "is started by the test below"]
fn a_guest_that_does_not_end() {
    let Some(kernel) = kernel() else { return };
    run(&kernel, vec![disk(1)], "while :; do dd if=/dev/vda of=/dev/null 2>/dev/null; done");
}

/// The same: `kill -9` included.
#[test]
fn nothing_is_left_of_a_guest_whose_owner_was_killed() {
    if kernel().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_guest_that_does_not_end"])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let made =
        || std::fs::read_dir(folder.path()).unwrap().next().map(|entry| entry.unwrap().path());
    // Inside the guest, that is after its kernel has begun.
    wait_for("the guest", || made().is_some_and(|path| path.join("out/output").exists()));
    let path = made().unwrap();
    let mine = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        processes
            .filter(|it| std::fs::read_link(it.path().join("cwd")).is_ok_and(|cwd| cwd == path))
            .count()
    };
    assert!(mine() > 0);
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_for("the end of its processes", || mine() == 0);
    wait_for("the end of its folder", || made().is_none());
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let wall = Reactor::wall().unwrap();
    while !is_so() {
        assert!(wall.now().nanoseconds() < 60_000_000_000, "no sign of {what}");
        wall.wait(Some(wall.now() + Duration::from_millis(5))).unwrap();
    }
}

/// A guest that breaks down says why, in one line.
#[test]
fn a_guest_that_breaks_down_is_ended_with_its_last_words() {
    let Some(kernel) = kernel() else { return };
    let boot = |parameters, job| Boot {
        kernel: &kernel,
        memory_bytes: 64 * MEBIBYTE,
        seed: 1,
        disks: vec![],
        queue_depth: None,
        job,
        parameters,
        pinned: true,
    };
    let error = boot("init=/nowhere", "").run(&|| true).unwrap_err().to_string();
    assert!(error.contains("/nowhere") && error.lines().count() == 1, "{error}");
    let outcome = boot("", "echo out; echo err >&2; exit 7").run(&|| true).unwrap();
    assert_eq!((outcome.status, &*outcome.output, &*outcome.errors), (7, "out\n", "err\n"));
    let error = boot("", "while :; do :; done").run(&|| false).unwrap_err().to_string();
    assert!(error.contains("given up"), "{error}");
}

/// "a test runs two guests and compares logs, images and output byte by byte, pinned and not".
#[test]
fn the_same_seed_is_the_same_guest_byte_for_byte_and_another_is_not() {
    let Some(kernel) = kernel() else { return };
    let job = "mkfs.ext4 -q /dev/vda; mount /dev/vda $DISK; cd $DISK
        for name in a b c d; do dd if=/dev/urandom of=$name bs=64k count=8 conv=fsync 2>/dev/null; done
        sleep 31; cd /; umount $DISK; cksum /dev/vda; cat /proc/uptime";
    let once = |seed, pinned| {
        let disks: Vec<Arc<dyn Device>> = vec![disk(7)];
        let boot = Boot {
            kernel: &kernel,
            memory_bytes: 128 * MEBIBYTE,
            seed,
            disks: disks.into_iter().map(Into::into).collect(),
            queue_depth: None,
            job,
            parameters: "",
            pinned,
        };
        let outcome = boot.run(&|| true).unwrap();
        assert_eq!(outcome.status, 0, "{}", outcome.errors);
        assert!(outcome.logs[0].len() > 50, "{}", outcome.logs[0].len());
        outcome
    };
    let (first, second, other) = (once(1, true), once(1, false), once(2, true));
    assert_eq!(first.output, second.output);
    assert_eq!(first.console, second.console);
    assert_eq!((first.time, first.messages), (second.time, second.messages));
    let differ = first.logs[0].iter().zip(&second.logs[0]).position(|(one, two)| one != two);
    assert_eq!((differ, first.logs[0].len()), (None, second.logs[0].len()));
    assert_ne!(first.output, other.output);
}

/// "`dd` with fsync takes the sum of the service times that the log shows": one request at a time,
/// and nothing but the disk takes time, to the last permille.
#[test]
fn dd_takes_the_sum_of_the_service_times_in_the_log() {
    let Some(kernel) = kernel() else { return };
    let job = "read -r a rest </proc/uptime; sync
        dd if=/dev/zero of=/dev/vda bs=4k count=500 oflag=direct,sync 2>$OUT/dd";
    let outcome = run(&kernel, vec![disk(3)], job);
    let said = std::fs::read_to_string(outcome.folder().join("dd")).unwrap();
    let seconds: f64 = said
        .split(", ")
        .find_map(|part| part.strip_suffix(" s"))
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("{said}"));
    let log = &outcome.logs[0];
    let first = log.iter().position(|done| matches!(done.ask, Ask::Write { .. })).unwrap();
    let sum: u64 = log[first..].iter().map(took).sum();
    let writes = log.iter().filter(|done| matches!(done.ask, Ask::Write { .. })).count();
    assert_eq!(writes, 500);
    let sum = sum as f64 / 1e9;
    assert!((seconds / sum - 1.0).abs() < 0.005, "{seconds} s, and the log has {sum} s");
}

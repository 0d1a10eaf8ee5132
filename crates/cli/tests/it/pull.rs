//! The pull test as its users run it: real mounts, kills, and states that are made again.
//!
//! `RAIDLOOM_PULL_REAL_STATES=100000` tries so many states with real file systems instead of those
//! that CI has time for, `RAIDLOOM_PULL_SEED` from another seed on.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process; a test that hangs says less than one that fails"
)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use export::RemovalPolicy;
use host::mount::FileSystem;
use lab::pull::{
    Behaviour, LostMember, MountHost, Options, Program, PullEvent, Starter, WorkSource,
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
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

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

pub(crate) fn json(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    // 3 says that promises were broken, and is said with a whole document.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{error}");
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
        let plain = ["pull", "ram:32MiB", "--work", "fsync", "--steps", "40", "-s", "recordings=1"];
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

/// "Containers are made on the drives": what is promised on one is there, what no barrier protects
/// is lost on it as on a plain drive, and its images are opened by whoever reads LUKS.
#[test]
fn a_container_is_pulled_and_its_images_are_opened_by_others() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pull = |target: &str, more: &[&str]| {
        let plain = ["--work", "fsync", "--steps", "40", "-s", "recordings=1", "--pulls", "12"];
        let all = [&["pull", target, "--json"], &plain[..], more].concat();
        json(&command(folder.path(), &all).output().unwrap())
    };
    let drive = "luks(passphrase_file=key, ram:48MiB)";
    let mirror = "raid1(metadata=1.2, luks(passphrase_file=key, ram:48MiB), \
        luks(passphrase_file=key, ram:48MiB))";
    for (target, more) in [(drive, "none"), (mirror, "random")] {
        let sound = pull(target, &["--hunt", "12", "--lose-member", more]);
        for sample in ["figure", "hunt"] {
            let card = &sound["outcome"][sample]["card"];
            assert_eq!(card["pulls"], 12, "{sound}");
            for what in ["promise_broken", "unmountable", "exposed"] {
                assert_eq!(card[what]["count"], 0, "{target}: {sound}");
            }
        }
    }
    assert!(!folder.path().join("key").exists(), "no such file was needed");

    let broken = pull(drive, &["--mount-options", "barrier=0", "--keep-failing", "kept"]);
    let card = &broken["outcome"]["figure"]["card"];
    assert!(card["promise_broken"]["count"].as_u64() > Some(0), "{broken}");
    let kept = broken["outcome"]["kept"][0].as_str().unwrap();
    let again = ["pull", "--json", "--replay", kept, "--images", "images"];
    let replayed = json(&command(folder.path(), &again).output().unwrap());
    assert_eq!(replayed["is_same_state"], true, "{replayed}");
    assert_eq!(replayed["is_same_judgement"], true, "{replayed}");
    let images = "luks(passphrase_file=images/passphrase, file:images/drive0.img)";
    assert_eq!(replayed["images"], images);
    let opens = ["open", "--test-passphrase", "--key-file", "images/passphrase"];
    let mut cryptsetup = Command::new("cryptsetup");
    match cryptsetup.args(opens).arg("images/drive0.img").current_dir(folder.path()).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => testkit::missing!("cryptsetup: {error}"),
    }
}

/// What of containers cannot be pulled says why, in one line.
#[test]
fn a_header_elsewhere_and_md_over_containers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = "raid1(metadata=1.2, luks(passphrase_file=k, ram:48MiB), ram:48MiB)";
    for (arguments, expected) in [
        (&["luks(passphrase_file=k, header=h, ram:48MiB)"][..], "leave `header=` out"),
        (&["--guest", "--array", "md", mirror], "dm-crypt is not used"),
        (&["--guest", "--start-with", "md", mirror], "dm-crypt is not used"),
    ] {
        let all = [&["pull"], arguments].concat();
        let output = command(folder.path(), &all).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

pub(crate) fn has_guest() -> bool {
    match guest::Kernel::find(guest::USUAL_KERNEL) {
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
        let few = ["-s", "recordings=1", "--pulls", "8", "--memory", "128MiB", "--json"];
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
    let in_container = || {
        let target = "luks(passphrase_file=key, raid1(metadata=1.2, ram:48MiB, ram:48MiB))";
        let few = ["--steps", "20", "-s", "recordings=1", "--pulls", "6", "--memory", "128MiB"];
        let all = [&["pull", "--guest", target, "--work", "fsync", "--json"], &few[..]].concat();
        json(&command(folder.path(), &all).output().unwrap())
    };
    let first = in_container();
    assert_eq!(first["outcome"]["figure"]["card"]["promise_broken"]["count"], 0, "{first}");
    assert_eq!(in_container(), first, "keys and salts too");

    // What the drive's model says is made again from the log as well.
    let modelled = ["--device", "model", "--mount-options", "barrier=0", "--keep-failing", "kept"];
    let broken = pull(&modelled);
    let card = &broken["outcome"]["figure"]["card"];
    assert!(card["promise_broken"]["count"].as_u64() > Some(0), "{broken}");
    assert!(card["recovery_seconds"]["median"].as_f64() > Some(0.0), "drives take time: {card}");
    let kept = broken["outcome"]["kept"][0].as_str().unwrap();
    let replay = command(folder.path(), &["pull", "--json", "--replay", kept]).output().unwrap();
    let replayed = json(&replay);
    assert_eq!(replayed["is_same_state"], true, "{replayed}");
    assert_eq!(replayed["is_same_judgement"], true, "{replayed}");
}

/// "Resync and recovery timed": a mirror that was being written to is compared as a whole, which
/// takes as long as it is large, and a new drive in the place of one that was lost is written as a
/// whole, by either's array.
#[test]
fn how_long_an_array_takes_to_be_whole_again_is_told() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let whole = |array: &str, size: &str, more: &[&str]| {
        let drive = format!("model:disk-2008?size={size}");
        let target = format!("raid1(metadata=1.2, {drive}, {drive})");
        let plain = ["pull", "--guest", &target, "--work", "fsync", "--steps", "40", "--json"];
        let few = ["-s", "recordings=1", "--pulls", "2", "--memory", "128MiB", "--array", array];
        let found = command(folder.path(), &[&plain[..], &few, more].concat()).output().unwrap();
        let found = json(&found);
        let timed = &found["outcome"]["figure"]["card"]["whole_again"];
        assert_eq!(timed["states"], 1, "{found}");
        timed["seconds"]["median"].as_f64().unwrap()
    };
    for array in ["raidloom", "md"] {
        let [small, large] = ["24MiB", "72MiB"].map(|size| whole(array, size, &[]));
        let lost = whole(array, "24MiB", &["--lose-member", "1"]);
        // 24 MiB at 200,000 KiB/s, the most of both, and of no such drive.
        assert!(small > 0.12 && lost > 0.12, "{array}: {small} s, {lost} s");
        assert!(large > 1.5 * small, "{array}: {small} s, {large} s for three times as much");
    }
}

/// The write hole: a drive dies with the power, and what resync would have made good is gone. With
/// a PPL nothing is, which is one of the hundreds below.
#[test]
fn a_drive_that_dies_with_the_power_shows_the_write_hole() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let stack = "raid5(metadata=1.2, chunk=64KiB, ram:24MiB, ram:24MiB, ram:24MiB)";
    let plain = ["pull", "--guest", stack, "--consistency", "resync", "--work", "fsync"];
    let few = ["--steps", "30", "-s", "recordings=1", "--pulls", "12", "--memory", "128MiB"];
    let all = [&plain[..], &few, &["--lose-member", "random", "--json"]].concat();
    let found = json(&command(folder.path(), &all).output().unwrap());
    // Dirty and degraded, the array starts by force only.
    let card = &found["outcome"]["figure"]["card"];
    assert!(card["unmountable"]["count"].as_u64() > Some(0), "{card}");
    assert!(!["A", "B"].iter().any(|grade| card["grade"] == *grade), "{card}");
}

/// A drive that fell out and is back with the power is older than the others: where these are
/// there, nothing of it is believed. Where it is all that is left, what was acknowledged meanwhile
/// is gone, and that is found.
#[test]
fn a_drive_that_comes_back_older_is_not_believed() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mirror = "raid1(metadata=1.2, ram:24MiB, ram:24MiB)";
    let parity = "raid5(metadata=1.2, chunk=64KiB, ram:24MiB, ram:24MiB, ram:24MiB)";
    let card = |stack: &str, consistency: &str, lost: &str| {
        let plain = ["pull", stack, "--consistency", consistency, "--lose-member", lost, "--json"];
        let few = ["--work", "fsync", "--steps", "30", "--pulls", "8", "-s", "recordings=1"];
        let found = json(&command(folder.path(), &[&plain[..], &few].concat()).output().unwrap());
        assert_eq!(found["outcome"]["figure"]["unsteady"], 0, "{found}");
        assert_eq!(found["outcome"]["figure"]["card"]["pulls"], 8, "{found}");
        found["outcome"]["figure"]["card"].clone()
    };
    for (stack, consistency) in [(mirror, "resync"), (parity, "ppl")] {
        let sound = card(stack, consistency, "stale:1");
        assert!(sound["promises"].as_u64() > Some(0), "{sound}");
        for what in ["promise_broken", "exposed"] {
            assert_eq!(sound[what]["count"], 0, "{stack}: {sound}");
        }
    }
    let alone = card(mirror, "resync", "stale:1+0");
    assert!(alone["promise_broken"]["count"].as_u64() > Some(0), "{alone}");
    let gone = card(parity, "ppl", "stale:1+0");
    assert!(gone["promise_broken"]["count"].as_u64() > Some(0), "two of three: {gone}");
    for (stack, lost, said) in [
        ("ram:24MiB", "stale:0", "does without a drive and tells an older"),
        (mirror, "stale:2", "the last one is 1"),
        (mirror, "stale", "expected none, random"),
    ] {
        let output = command(folder.path(), &["pull", stack, "--lose-member", lost]).output();
        let output = output.unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{lost}: {error}");
        assert!(error.contains(said), "{lost}: {error}");
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
        let few = ["--steps", "30", "-s", "recordings=1", "--pulls", "8", "--memory", "128MiB"];
        let all = [&plain[..], &few, more].concat();
        let found = json(&command(folder.path(), &all).output().unwrap());
        assert_eq!(found["outcome"]["figure"]["unsteady"], 0, "{found}");
        found["outcome"]["figure"]["card"].clone()
    };
    let lost = card(&["--lose-member", "1"]);
    assert!(lost["unmountable"]["count"].as_u64() > Some(0), "dirty and degraded: {lost}");
    let lying = card(&["--device", "lying"]);
    assert!(lying["promise_broken"]["count"].as_u64() > Some(0), "{lying}");
}

fn setting(name: &str, plain: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(plain, |set| set.parse().unwrap_or_else(|_| panic!("{name}={set} is no number")))
}

/// States with real file systems that CI tries.
const REAL_STATES: u64 = 300;

/// Arrays that both make and both start, with what is said of them.
const BOTHS: [(&str, &[&str]); 4] = [
    ("raid1(metadata=1.2, ram:24MiB, ram:24MiB)", &["--state", "degraded", "--work", "fsync"]),
    (
        "raid5(metadata=1.2, chunk=64KiB, ram:16MiB, ram:16MiB, ram:16MiB)",
        &["--consistency", "bitmap", "--work", "append"],
    ),
    (
        "raid5(metadata=1.2, chunk=64KiB, ram:16MiB, ram:16MiB, ram:16MiB)",
        &["--consistency", "ppl", "--lose-member", "random", "--work", "fsync"],
    ),
    (
        "raid6(metadata=1.2, chunk=64KiB, ram:16MiB, ram:16MiB, ram:16MiB, ram:16MiB)",
        &["--work", "rename"],
    ),
];

/// What there is in raidloom alone.
const OURS: [&str; 2] = [
    "cache(mode=write-back, store.img?size=16MiB, ram:24MiB)",
    "overlay(keep=yes, delta.img?size=64MiB, ram:24MiB)",
];

/// "The same engine runs in CI as the crash test of raidloom's own arrays, caches and overlays with
/// a real file system on top, and of md itself in user-mode Linux on the same logs: the same cases
/// through both, side by side." Arrays that raidloom has made, and those that md has made, are
/// started by both from the same states.
#[test]
fn hundreds_of_states_with_real_file_systems_lose_nothing_that_was_promised() {
    if !has_guest() {
        return;
    }
    let states = setting("RAIDLOOM_PULL_REAL_STATES", REAL_STATES);
    let seed = setting("RAIDLOOM_PULL_SEED", 1).to_string();
    let whose = ["raidloom", "md"];
    let both = BOTHS.iter().flat_map(|(stack, more)| {
        whose.map(|array| {
            // md with a PPL ends a flush without one: drives with a volatile cache lose what fsync
            // has acknowledged (docs/pull.md).
            let is_unsafe = array == "md" && more.contains(&"ppl");
            let drives = if is_unsafe { "write-through" } else { "typical" };
            let own = ["--array", array, "--device", drives];
            (*stack, [&own[..], *more].concat(), &whose[..])
        })
    });
    let ours = OURS.iter().map(|stack| (*stack, vec!["--work", "fsync"], &whose[..1]));
    let cases: Vec<_> = both.chain(ours).collect();
    let runs: usize = cases.iter().map(|(.., starters)| starters.len()).sum();
    let each = states.div_ceil(runs as u64);
    let (pulls, hunt) = ((each - each / 2).to_string(), (each / 2).to_string());
    // Some states for each recording: those of one are alike.
    let recordings = format!("recordings={}", each.div_ceil(100));
    let folder = tempfile::tempdir().unwrap();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((stack, more, starters)) =
                    cases.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let plain = ["pull", "--guest", "--steps", "30", "--json"];
                    let sample = ["--pulls", &pulls, "--hunt", &hunt, "-s", &recordings];
                    let seed = ["--memory", "96MiB", "--seed", &seed];
                    let found = starters.iter().map(|starter| {
                        let own = [*stack, "--start-with", starter];
                        let all = [&plain[..], &sample, &seed, &more[..], &own].concat();
                        json(&command(folder.path(), &all).output().unwrap())
                    });
                    let found: Vec<Value> = found.collect();
                    sound_and_alike(&found);
                }
            });
        }
    });
}

/// Nothing that was promised is lost, whoever starts the array, and both find the same.
fn sound_and_alike(found: &[Value]) {
    for one in found {
        for sample in ["figure", "hunt"] {
            let [card, first] = [one, &found[0]].map(|one| &one["outcome"][sample]["card"]);
            // A superblock of the file system's own that is torn within 4 KiB is no fault of the
            // array's: in the hunt it may take a repair.
            let none: &[&str] = match sample {
                "figure" => &["promise_broken", "exposed", "unmountable", "check_failed"],
                _ => &["promise_broken", "exposed"],
            };
            for what in none {
                assert_eq!(card[what]["count"], 0, "{what}, {sample}: {one}");
            }
            for what in ["pulls", "promises", "promising", "torn_blocks", "unmountable"] {
                assert_eq!(card[what], first[what], "{what}, {sample}: {one}");
            }
        }
    }
}

/// A kernel that is told to stop at an error does, on drives that ignore flushes: the guest is
/// booted again, the state repaired, and the stop is what could not be mounted.
#[test]
fn a_kernel_that_stops_is_booted_again_and_counted() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let plain = ["pull", "--guest", "ram:32MiB", "--work", "fsync", "--steps", "40", "--json"];
    let few = ["-s", "recordings=1", "--pulls", "3", "--memory", "96MiB", "--device", "lying"];
    // Without a journal all that a lying drive loses is an error in the file system.
    let stops = ["-s", "make_options=-O ^has_journal", "--mount-options", "errors=panic"];
    let all = [&plain[..], &few, &stops, &["--keep-failing", "kept"]].concat();
    let found = json(&command(folder.path(), &all).output().unwrap());
    let card = &found["outcome"]["figure"]["card"];
    assert_eq!(card["pulls"].as_u64(), Some(3), "each state is judged: {found}");
    let kept = found["outcome"]["kept"].as_array().unwrap().iter();
    let states: Vec<String> = kept
        .map(|path| fs::read_to_string(folder.path().join(path.as_str().unwrap())).unwrap())
        .collect();
    let stopped = |state: &&String| {
        state.contains("the kernel that mounted it stopped: ") && state.contains("Kernel panic")
    };
    assert!(states.iter().any(|state| stopped(&state)), "{states:?}");
}

/// Kernels of guests that this process has started itself.
fn kernels_of_this_process() -> usize {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let parent = format!("PPid:\t{}", std::process::id());
    let is_ours = |folder: &PathBuf| {
        let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
        status.starts_with("Name:\tlinux\n") && status.lines().any(|line| line == parent)
    };
    processes.filter(is_ours).count()
}

/// What a kernel that hangs in a mount looks like from here: its guest says nothing any more, be it
/// that all in it waits or that something in it turns in circles.
#[test]
fn a_guest_that_hangs_is_given_up_and_the_state_is_lost() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let drive_bytes = 32 << 20;
    let options = Options {
        stack: stack::parse("ram:32MiB").unwrap(),
        drive_bytes: vec![drive_bytes],
        drive_models: vec![None],
        guest_memory_bytes: Some(96 << 20),
        guest_kernel: None,
        md: None,
        starter: Starter::Same,
        state: guest::ArrayCompleteness::Whole,
        unflushed: false,
        new_array: None,
        upkeep: true,
        file_system: FileSystem::named("ext4").unwrap(),
        make_options: None,
        mount_options: None,
        removal: RemovalPolicy::Performance,
        work: WorkSource::BuiltIn(pull::Work::Fsync),
        extent: pull::Extent { steps: 5, spread_milliseconds: 0 },
        pulls: 1,
        hunt: 0,
        recordings: 1,
        behaviour: Behaviour::Typical,
        happening: PullEvent::Power,
        cache_bytes: 1 << 20,
        cache_milliseconds: 1000,
        tear_bytes: 4096,
        lost_member: LostMember::None,
        seed: 1,
        keep_failing: None,
        log_writes: None,
        import: None,
    };
    for hang in ["kill -STOP $$", "while :; do :; done"] {
        // It works as ever on a disk that is empty, and hangs where there is an ext4.
        let path = folder.path().join("worker.sh");
        let script = format!(
            "#!/bin/sh\nmagic=$(dd if=/dev/vda bs=1 skip=1080 count=2 2>/dev/null | od -An -tx1)\n\
            [ \"$magic\" = ' 53 ef' ] && {{ {hang}; }}\nexec \"$@\"\n"
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let state_time = Duration::from_secs(3);
        // What a guest of root's may run is what its work names.
        let arguments = [env!("CARGO_BIN_EXE_raidloom"), "pull-worker"].map(str::to_owned).to_vec();
        let program = Program { path, arguments, state_time };
        let ground = MountHost::new(options.guest_memory_bytes, None).unwrap();
        let stop = Arc::default();
        let outcome = lab::pull::run(&options, &ground, &program, &mut |_| (), &stop).unwrap();
        let figure = serde_json::to_value(&outcome.figure).unwrap();
        let card = &figure["card"];
        assert_eq!(card["pulls"].as_u64(), Some(1), "{hang}: {figure}");
        assert_eq!(card["grade"].as_str(), Some("E"), "{hang}: {figure}");
        assert_eq!(kernels_of_this_process(), 0, "{hang}: a guest was left behind");
    }
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
        memory = \"128MiB\"\nwrite_cache = [\"on\", \"unflushed\"]\n\
        [baseline]\nwrite_cache = \"on\"\n[[workload]]\nsuite = \"pull\"\n\
        tests = [\"pull fsync\"]\nsteps = 40\npulls = 8\nhunt = 4\ndrive_size = \"32MiB\"\n\
        keep_failing = \"yes\"\n[trials]\nblocks = 1\n";
    fs::write(folder.path().join("plan.toml"), text).unwrap();
    let (report, run) = report_of(folder.path(), 0);
    let [sound, broken] = &report["safety"].as_array().unwrap()[..] else { panic!("{report}") };
    assert!(["A", "B"].iter().any(|grade| sound["grade"] == *grade), "{report}");
    assert!(["D", "E"].iter().any(|grade| broken["grade"] == *grade), "{report}");
    assert_eq!(sound["rows"][0]["hunt"]["tally"]["pulls"], 4, "{report}");
    let summary = fs::read_to_string(run.join("summary.csv")).unwrap();
    let recovery = "pull fsync,recovery_max_seconds,1,";
    for metric in ["pull fsync,pulls_count,1,8,", "pull fsync,hunt_pulls_count,1,4,", recovery] {
        assert!(summary.contains(metric), "{summary}");
    }
    let text = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(text.contains(", modelled |"), "of recovery: {text}");
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

/// The report of a run of `plan.toml` that ends with this exit code, and the run's folder.
fn report_of(folder: &Path, code: i32) -> (Value, PathBuf) {
    let run = folder.join("run");
    let all = ["run", "plan.toml", "--output", run.to_str().unwrap()];
    let output = command(folder, &all).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    let report = ["report", run.to_str().unwrap(), "--json"];
    let output = command(folder, &report).output().unwrap();
    assert_eq!(output.status.code(), Some(code));
    (serde_json::from_slice(&output.stdout).unwrap(), run)
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
    let (report, run) = report_of(folder.path(), 0);
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
    let (report, run) = report_of(folder.path(), 0);
    let [honest, lying] = &report["safety"].as_array().unwrap()[..] else { panic!("{report}") };
    assert!(["A", "B"].iter().any(|grade| honest["grade"] == *grade), "{honest}");
    assert!(["D", "E"].iter().any(|grade| lying["grade"] == *grade), "{lying}");
    let sentence = lying["sentence"].as_str().unwrap();
    assert!(sentence.contains("on drives that do not do what they say"), "{sentence}");
    assert!(report["headlines"].as_array().unwrap().is_empty(), "{report}");
    assert!(!run.join("members").exists(), "drives are in memory");
    fs::remove_dir_all(run).unwrap();

    plan(folder.path(), "", "make_options = \"-I 100\"", FSYNC, 1);
    let (report, run) = report_of(folder.path(), 5);
    assert_eq!(report["safety"][0]["grade"], Value::Null, "{report}");
    let text = fs::read_to_string(run.join("report.md")).unwrap();
    assert!(text.contains("No grade:") && text.contains("mkfs.ext4"), "{text}");
}

/// Killed by itself, and together with what it has started, as Ctrl-C twice or `timeout` does: the
/// disk under a file system with data to be written is gone then, and nobody waits for it.
#[test]
fn nothing_is_left_of_one_that_was_killed() {
    if !may_mount() {
        return;
    }
    for with_group in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["pull", "ram:32MiB", "-s", "spread=60s", "--steps", "60", "--pulls", "1"];
        let mut command = command(folder.path(), &arguments);
        let mut child = command.process_group(0).stderr(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        // It is recording once the file system is mounted and holds something.
        let mounted = format!("/proc/{pid}/root/sys/fs/fuse/connections/pull-{pid}/mounted");
        let is_begun = || {
            let names = fs::read_dir(&mounted).into_iter().flatten().flatten();
            let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
            mounts.contains("/mounted ")
                && names.filter(|name| name.file_name() != "lost+found").count() > 0
        };
        while !is_begun() {
            assert!(child.try_wait().unwrap().is_none(), "it ended");
            std::thread::yield_now();
        }
        assert!(!loops_of(pid).is_empty(), "it stands on a loop device");
        let outside = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!outside.contains("/mounted "), "nobody else sees it");
        let process = Pid::from_child(&child);
        match with_group {
            true => kill_process_group(process, Signal::KILL).unwrap(),
            false => kill_process(process, Signal::KILL).unwrap(),
        }
        let killed = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(killed.elapsed() < Duration::from_secs(60), "it waits in the kernel");
            std::thread::yield_now();
        }
        // What it had started ends by itself, as soon as it hears of it.
        while !loops_of(pid).is_empty() {
            assert!(killed.elapsed() < Duration::from_secs(120), "a loop device was left");
            std::thread::yield_now();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// "Bad input: a log that is cut off, of another version, with sectors past the end", and states
/// that do not belong to theirs: one line each, before anything is mounted.
#[test]
fn another_state_or_none_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let recorder = pull::Recorder::in_memory(Some(|| 0));
    let reactor = block::Reactor::virtual_clock();
    let able = pull::AdvertisedTraits { volatile_cache: true, fua: false };
    let drive = recorder.drive(Arc::new(testkit::Memory::new(1 << 20)), able);
    block::Blocking::open(&*drive, &reactor).unwrap().write_slice(4096, &[1; 4096]).unwrap();
    let log = recorder.finish().unwrap().bytes_in_memory().unwrap().to_vec();
    fs::write(at("log"), &log).unwrap();
    fs::write(at("cut-off"), &log[..log.len() - 10]).unwrap();
    let changed = |place: usize, byte: u8| {
        let mut log = log.clone();
        log[place] = byte;
        log
    };
    fs::write(at("newer"), changed(16, 2)).unwrap();
    fs::write(at("damaged"), changed(100, 77)).unwrap();
    let good = serde_json::json!({
        "stack": "file:/raidloom-pull-drive-0", "drive_bytes": [1 << 20], "log": "log",
        "cut_events": 2, "cut_nanoseconds": 0, "policy": "keep-none", "seed": 1,
        "unit_bytes": 4096, "checksum": 0, "run": 1, "work": "fsync", "behaviour": "typical",
        "file_system": "ext4", "judgement": pull::Judgement::default(),
    });
    let with = |name: &str, value: Value| {
        let mut state = good.clone();
        state[name] = value;
        state.to_string()
    };
    for (text, expected) in [
        ("{}".to_owned(), "no state that pull has kept: missing field"),
        ("\u{0}".to_owned(), "no state that pull has kept: expected value"),
        (with("log", "none".into()), "none: opening: No such file"),
        (with("log", "../log".into()), "expected the name of a file beside it"),
        (with("log", "cut-off".into()), "is cut off behind 3 records"),
        (with("log", "newer".into()), "a pull log of version 2; this raidloom knows version 1"),
        (with("log", "damaged".into()), "damaged"),
        (with("drive_bytes", serde_json::json!([4096])), "do not belong together"),
        (with("cut_events", 3.into()), "it is behind 3 events, and log has 2"),
        (with("unit_bytes", 7.into()), "unit_bytes 7: expected a power of two"),
        (with("lost_member", serde_json::json!({"number": 1})), "the last one is 0"),
        (with("policy", "all".into()), "all: no such policy"),
        (with("stack", "raid9(a)".into()), "found `raid9`"),
        (with("file_system", "fat12".into()), "fat12: no such file system"),
        (with("state", "half".into()), "expected one of whole, degraded, rebuilding"),
    ] {
        fs::write(at("kept.json"), text).unwrap();
        let all = ["pull", "--replay", "kept.json"];
        let output = command(folder.path(), &all).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(expected), "{expected}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// The command of docs/first-minutes.md, with fewer pulls: as root, and without.
#[test]
fn the_task_of_the_first_minutes_has_a_grade() {
    let code = crate::first_minutes::task("power cut").replace("--pulls 30", "--pulls 6");
    let as_root = may_mount().then(|| code.clone());
    let in_guest = has_guest().then(|| code.replace("sudo raidloom pull", "raidloom pull --guest"));
    for code in [as_root, in_guest].into_iter().flatten() {
        let folder = tempfile::tempdir().unwrap();
        let output = crate::first_minutes::run(folder.path(), &code);
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{text}{errors}");
        let first = "grade A: nothing acknowledged lost (6 pulls, ";
        assert!(text.starts_with(first) && text.contains("acknowledged work lost"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains("copies") && !text.contains("renames"), "no part of it: {text}");
    }
}

/// What is too small is the target, and not the place where it happens to be mounted.
#[test]
fn a_target_that_is_too_small_for_the_work_is_named() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = command(folder.path(), &["pull", "ram:1MiB", "--fs", "ext4"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("raidloom: ram:1MiB: the target is too small for the work"), "{error}");
    assert!(!error.contains("mounted") && !error.contains("pull-"), "{error}");
}

/// Two drives die with the power: RAID 6 does without them by force, and RAID 5 is lost.
#[test]
fn two_drives_that_die_at_once_are_what_raid_6_is_for() {
    if !has_guest() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let card = |array: &str| {
        let words = ["pull", "--guest", array, "--work", "fsync", "--steps", "12", "--json"];
        let two = ["--lose-member", "random+random", "-s", "recordings=1", "--pulls", "4"];
        let all = [&words[..], &two, &["--memory", "96MiB"]].concat();
        json(&command(folder.path(), &all).output().unwrap())["outcome"]["figure"]["card"].clone()
    };
    let drives = "ram:32MiB, ram:32MiB, ram:32MiB, ram:32MiB";
    let six = card(&format!("raid6(metadata=1.2, {drives})"));
    assert_eq!((&six["pulls"], &six["lost_for_good"]["count"]), (&4.into(), &0.into()), "{six}");
    let five = card(&format!("raid5(metadata=1.2, {drives})"));
    assert_eq!((&five["lost_for_good"]["count"], &five["grade"]), (&4.into(), &"E".into()));
}

/// States of one recording that are judged in guests side by side come out as one after the other,
/// byte by byte.
#[test]
fn one_processor_finds_what_all_of_them_find() {
    if !has_guest() {
        return;
    }
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..1024).find(|&number| allowed.is_set(number)).unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let words = ["pull", "--guest", "ram:32MiB", "--work", "fsync", "--steps", "20", "--json"];
    // One recording whose states are more than one guest judges.
    let few = ["-s", "recordings=1", "--pulls", "60", "--hunt", "3", "--memory", "96MiB"];
    let lying = ["--device", "lying"];
    let all = [&words[..], &few, &lying].concat();
    let side_by_side = json(&command(folder.path(), &all).output().unwrap());
    let mut alone = Command::new("taskset");
    alone.args(["-c", &first, env!("CARGO_BIN_EXE_raidloom")]).args(&all);
    let alone = json(&alone.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap());
    assert_eq!(side_by_side["outcome"]["figure"]["card"]["pulls"], 60, "{side_by_side}");
    assert_eq!(side_by_side, alone);
}

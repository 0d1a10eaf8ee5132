//! A server that is killed under load: programs get errors and nothing hangs; after the next start
//! the file system is sound and every file is there that was said to be durable.

#![expect(clippy::print_stdout, reason = "says with what seed it ran and what it found")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fastrand::Rng;

use super::room::{Room, is_possible, kill, run, succeed};

/// Files that are durable before the server dies.
const DURABLE_FILES: u32 = 40;
/// How long a program may wait for the error of a drive that is gone.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a file of this number holds.
fn content(seed: u64, number: u32) -> Vec<u8> {
    let mut random = Rng::with_seed(seed ^ u64::from(number) << 32);
    let mut bytes = vec![0; random.usize(1..100_000)];
    random.fill(&mut bytes);
    bytes
}

fn durable_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("durable-{number}"))
}

/// Writes files and makes each durable with its name, telling of each, until the drive fails.
fn write_durably(folder: &Path, seed: u64, told: &mpsc::Sender<u32>) {
    for number in 0.. {
        let write = || -> std::io::Result<()> {
            let mut file = File::create(durable_path(folder, number))?;
            file.write_all(&content(seed, number))?;
            file.sync_all()?;
            File::open(folder)?.sync_all()
        };
        if write().is_err() {
            return;
        }
        let _ = told.send(number);
    }
}

/// Keeps the drive busy with what nobody is promised, until it fails.
fn write_carelessly(folder: &Path, seed: u64) {
    let mut random = Rng::with_seed(seed);
    let mut bytes = vec![0; 256 << 10];
    for number in 0_u32.. {
        random.fill(&mut bytes);
        let path = folder.join(format!("careless-{}", number % 16));
        // The page cache takes a lot before anybody notices; syncing the whole now and then brings
        // the error out.
        let written = fs::write(&path, &bytes)
            .and_then(|()| if number % 8 == 0 { File::open(&path)?.sync_all() } else { Ok(()) });
        if written.is_err() {
            return;
        }
    }
}

struct Case {
    level: &'static str,
    members: usize,
    file_system: &'static str,
    member_mib: u64,
    /// What stands in front of the array: a stack text with `STORE` for a file of 64 MiB and
    /// `ARRAY` for the array.
    cache: Option<&'static str>,
    programs: &'static [(&'static str, &'static str)],
    /// Makes it sound again where mounting does not.
    mend: Option<&'static [&'static str]>,
    check: &'static [&'static str],
}

/// Writes with and without syncing, and kills the server in the middle of it. The number of the
/// last file that was durable.
fn write_until_killed(point: &Path, server: u32, seed: u64) -> u32 {
    let (told, durable) = mpsc::channel();
    let (ended_sender, ended) = mpsc::channel();
    for careful in [true, false] {
        let (point, told, ended) = (point.to_owned(), told.clone(), ended_sender.clone());
        thread::spawn(move || {
            if careful {
                write_durably(&point, seed, &told);
            } else {
                write_carelessly(&point, seed);
            }
            let _ = ended.send(());
        });
    }
    drop(told);
    let mut last = None;
    while last.is_none_or(|number| number + 1 < DURABLE_FILES) {
        last =
            Some(durable.recv_timeout(PATIENCE).expect("files are written while the server lives"));
    }
    kill(server);
    for _ in 0..2 {
        ended
            .recv_timeout(PATIENCE)
            .expect("a program that writes gets an error and does not hang");
    }
    // The last ones may have been told between the count and the kill.
    durable.try_iter().last().or(last).expect("at least as many as were waited for")
}

/// Whether all files that were durable hold what they held.
fn check_durable(point: &Path, seed: u64, last: u32, test: &str) {
    for number in 0..=last {
        let found = fs::read(durable_path(point, number));
        let found = found.unwrap_or_else(|error| {
            panic!("{test}, seed {seed}: file {number} of {last} was durable: {error}")
        });
        assert!(
            found == content(seed, number),
            "{test}, seed {seed}: file {number} of {last} does not hold what it held"
        );
    }
}

fn kill_under_load(case: &Case) {
    let test = format!(
        "a server killed under {} on level {}{}",
        case.file_system,
        case.level,
        if case.cache.is_some() { ", cached" } else { "" }
    );
    if !is_possible(&test, case.programs) {
        return;
    }
    let room = Room::new();
    let seed = fastrand::u64(..);
    println!("{test}: seed {seed}");
    let mut stack = room.create("crash", case.level, case.members, case.member_mib);
    if let Some(cache) = case.cache {
        let store = room.path("store");
        File::create(&store).and_then(|file| file.set_len(64 << 20)).expect("a file for the cache");
        stack =
            cache.replace("STORE", &format!("file:{}", store.display())).replace("ARRAY", &stack);
    }
    let running = room.start("crash", &stack);
    let point = room.mount(&running, case.file_system);

    let last = write_until_killed(&point, running.process, seed);
    println!("{test}: {} files were durable", last + 1);

    let again = room.start("crash", &stack);
    if let Some(mend) = case.mend {
        let mended =
            run(mend[0], mend[1..].iter().map(OsStr::new).chain([again.block_device.as_os_str()]));
        // 1 says that it was mended.
        assert!(
            mended.as_ref().err().is_none_or(|error| error.contains("exit status: 1\n")),
            "{mended:?}"
        );
    }
    let point = room.mount(&again, case.file_system);
    check_durable(&point, seed, last, &test);
    room.unmount(&again);
    succeed(
        case.check[0],
        case.check[1..].iter().map(OsStr::new).chain([again.block_device.as_os_str()]),
    );
    room.stop(&again);
    assert_eq!(room.left_behind(), Vec::<String>::new());
}

#[test]
fn ext4_on_an_array_with_parity_outlives_its_server() {
    kill_under_load(&Case {
        level: "5",
        members: 3,
        file_system: "ext4",
        member_mib: 68,
        cache: None,
        programs: &[("mkfs.ext4", "e2fsprogs"), ("losetup", "mount")],
        mend: Some(&["e2fsck", "-fp"]),
        check: &["e2fsck", "-fn"],
    });
}

#[test]
fn xfs_on_a_striped_array_outlives_its_server() {
    kill_under_load(&Case {
        level: "0",
        members: 2,
        file_system: "xfs",
        member_mib: 164,
        cache: None,
        programs: &[("mkfs.xfs", "xfsprogs"), ("losetup", "mount")],
        mend: None,
        check: &["xfs_repair", "-n"],
    });
}

#[test]
fn btrfs_on_a_linear_array_outlives_its_server() {
    kill_under_load(&Case {
        level: "linear",
        members: 2,
        file_system: "btrfs",
        member_mib: 132,
        cache: None,
        programs: &[("mkfs.btrfs", "btrfs-progs"), ("losetup", "mount")],
        mend: None,
        check: &["btrfs", "check", "--readonly"],
    });
}

#[test]
fn ext4_behind_a_write_back_cache_that_is_kept_outlives_its_server() {
    kill_under_load(&Case {
        level: "5",
        members: 3,
        file_system: "ext4",
        member_mib: 68,
        cache: Some("cache(mode=write-back, block=16KiB, STORE, ARRAY)"),
        programs: &[("mkfs.ext4", "e2fsprogs"), ("losetup", "mount")],
        mend: Some(&["e2fsck", "-fp"]),
        check: &["e2fsck", "-fn"],
    });
}

#[test]
fn xfs_behind_a_write_back_cache_in_memory_outlives_its_server() {
    kill_under_load(&Case {
        level: "0",
        members: 2,
        file_system: "xfs",
        member_mib: 164,
        cache: Some("cache(mode=write-back, ram:64MiB, ARRAY)"),
        programs: &[("mkfs.xfs", "xfsprogs"), ("losetup", "mount")],
        mend: None,
        check: &["xfs_repair", "-n"],
    });
}

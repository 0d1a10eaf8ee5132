//! File systems on write-back caches: their server is killed, and what programs had made durable is
//! there after the next start.

#![expect(clippy::print_stdout, reason = "says with what seed it ran and what it found")]

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::room::{Room, Running, is_possible, kernel_knows, kill_and_wait, succeed};
use super::{FILE_SYSTEMS, FileSystem, fio};

/// Room for the larger part of what is written, so that blocks come and go.
const CACHE_MIB: u64 = 12;

struct Drive<'a> {
    room: &'a Room,
    stack: String,
    file_system: &'a FileSystem,
}

impl Drive<'_> {
    fn start(&self) -> (Running, PathBuf) {
        let running = self.room.start("cached", &self.stack);
        let point = self.room.mount(&running, self.file_system.name);
        (running, point)
    }

    fn check(&self, running: &Running) {
        let check = self.file_system.check[1..]
            .iter()
            .map(OsStr::new)
            .chain([running.block_device.as_os_str()]);
        succeed(self.file_system.check[0], check);
    }

    fn cache(&self) -> serde_json::Value {
        self.room.json(["array", "cache", "status", "cached"])[0].clone()
    }
}

fn fsx(folder: &Path, seed: u64) {
    let (path, seed) = (folder.join("fsx"), seed.to_string());
    let arguments = [
        OsStr::new("--operations"),
        OsStr::new("400"),
        OsStr::new("--seed"),
        OsStr::new(&seed),
        path.as_os_str(),
    ];
    println!("fsx: {}", succeed(env!("CARGO_BIN_EXE_fsx"), arguments).trim());
}

/// All of it over a store: the programs' files are verified while the first server lives, and again
/// under the third, after each of the others was killed.
fn use_over(store: &str, file_system_name: &str) {
    let test = format!("{file_system_name} on a write-back cache over {store}");
    let file_system = FILE_SYSTEMS
        .iter()
        .find(|known| known.name == file_system_name)
        .expect("a file system of the table");
    if !is_possible(&test, file_system.programs)
        || !is_possible(&test, &[("losetup", "mount"), ("fio", "fio")])
    {
        return;
    }
    if !kernel_knows(file_system.driver) {
        testkit::missing!("{test}: this kernel has no {}", file_system.driver);
        return;
    }
    let room = Room::new();
    // fio takes no more than 63 bits.
    let seed = fastrand::u64(..) >> 1;
    println!("{test}: seed {seed}");
    let array = room.create("cached", "5", 3, file_system.size_mib / 2 + 4);
    let kept = room.path("store");
    File::create(&kept)
        .and_then(|file| file.set_len((CACHE_MIB + 4) << 20))
        .expect("a file for the cache");
    let store = if store == "memory" {
        format!("ram:{CACHE_MIB}MiB")
    } else {
        format!("file:{}", kept.display())
    };
    let drive = Drive {
        room: &room,
        stack: format!("cache(mode=write-back, {store}, {array})"),
        file_system,
    };

    let (running, point) = drive.start();
    fio(&point, file_system.direct, seed, &[]);
    if store.starts_with("ram:") {
        resized_meanwhile(&drive, || fsx(&point, seed));
    } else {
        fsx(&point, seed);
    }
    let cache = drive.cache();
    assert!(
        cache["write_hits"].as_u64() > Some(0) && cache["written_out_bytes"].as_u64() > Some(0),
        "{test}: {cache}"
    );
    room.unmount(&running);
    kill_and_wait(running.process);

    let (running, point) = drive.start();
    fio(&point, file_system.direct, seed, &["--verify_only=1"]);
    fio(&point, file_system.direct, seed + 1, &["--filename=second"]);
    fsx(&point, seed + 1);
    room.unmount(&running);
    drive.check(&running);
    kill_and_wait(running.process);

    let (running, point) = drive.start();
    fio(&point, file_system.direct, seed, &["--verify_only=1"]);
    fio(&point, file_system.direct, seed + 1, &["--filename=second", "--verify_only=1"]);
    room.unmount(&running);
    drive.check(&running);
    room.must(["array", "cache", "flush", "cached"]);
    assert_eq!(drive.cache()["dirty_bytes"].as_u64(), Some(0), "{test}");
    room.stop(&running);

    // All of it is on the array without the cache.
    let drive = Drive { stack: array, ..drive };
    let (running, point) = drive.start();
    fio(&point, file_system.direct, seed, &["--verify_only=1"]);
    fio(&point, file_system.direct, seed + 1, &["--filename=second", "--verify_only=1"]);
    room.unmount(&running);
    room.stop(&running);
    assert_eq!(room.left_behind(), Vec::<String>::new(), "{test}");
}

/// Gives the cache one size after the other while something uses it.
fn resized_meanwhile(drive: &Drive<'_>, work: impl FnOnce()) {
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let resizer = scope.spawn(|| {
            let mut sizes = [1, 20, 3, 12].iter().cycle();
            let mut resized = 0;
            while !ended.load(Ordering::Acquire) || resized < 4 {
                let size = format!("{}MiB", sizes.next().expect("there is always one more"));
                drive.room.must(["array", "set", "cached", &format!("cache_size={size}")]);
                resized += 1;
            }
            println!("resized {resized} times");
        });
        // Also when it fails: the other thread would go on for ever.
        let ends = Ends(&ended);
        work();
        drop(ends);
        resizer.join().expect("a cache takes any of these sizes");
    });
}

#[test]
fn ext4_on_a_cache_that_is_kept_survives_kills() {
    use_over("a file", "ext4");
}

#[test]
fn xfs_on_a_cache_that_is_kept_survives_kills() {
    use_over("a file", "xfs");
}

#[test]
fn ntfs_on_a_cache_that_is_kept_survives_kills() {
    use_over("a file", "ntfs");
}

#[test]
fn ext4_on_a_cache_in_memory_survives_kills_and_other_sizes() {
    use_over("memory", "ext4");
}

//! A device as a file: what programs write is what the device holds, whatever its offset, length
//! and way there.

#![expect(clippy::print_stdout, reason = "says with what seed it ran and what it found")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use block::{
    ALIGNMENT_BYTES, Blocking, BufMut, Device, DiscardSupport, Error, ErrorKind, Info, Support,
};
use export::RemovalPolicy;
use export::fuse::{FuseFile, FuseOptions};
use reactor::{Random, Reactor};
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;
use testkit::crash::Crashable;
use testkit::{Fault, Memory};

/// A place to mount on.
struct MountFolder {
    folder: tempfile::TempDir,
}

impl MountFolder {
    /// `None` where nothing can be mounted, which is said; in CI that is a failure.
    fn new() -> Option<MountFolder> {
        let missing = if !Path::new("/dev/fuse").exists() {
            Some("no /dev/fuse: modprobe fuse")
        } else if !rustix::process::geteuid().is_root()
            && !Path::new("/usr/bin/fusermount3").exists()
        {
            Some("not root, and no fusermount3: apt-get install fuse3")
        } else {
            None
        };
        if let Some(missing) = missing {
            testkit::missing!("{missing}");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        File::create(folder.path().join("disk")).unwrap();
        Some(MountFolder { folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn mount(&self, device: Arc<dyn Device>, options: &FuseOptions) -> FuseFile {
        FuseFile::mount(device, &self.path(), options).unwrap()
    }

    fn open(&self) -> File {
        self.open_with(OFlags::empty())
    }

    fn open_with(&self, flags: OFlags) -> File {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags.bits() as i32)
            .open(self.path())
            .unwrap()
    }
}

fn workers(count: usize) -> FuseOptions {
    FuseOptions { workers: count, ..FuseOptions::default() }
}

/// All that the device holds, past the mount.
fn content(device: &dyn Device) -> Vec<u8> {
    let mut bytes = vec![0; device.info().size_bytes as usize];
    Blocking::open(device, &Reactor::wall().unwrap()).unwrap().read_slice(0, &mut bytes).unwrap();
    bytes
}

fn able(size_bytes: u64) -> Info {
    Info {
        fua: Support::Native,
        zeroes: Support::Native,
        discard: DiscardSupport::ReadsZero,
        ..Info::plain(size_bytes)
    }
}

#[expect(clippy::disallowed_methods, reason = "it is printed, so that a failure can be replayed")]
fn seed() -> u64 {
    let seed = Random::new().u64(..);
    println!("seed {seed}");
    seed
}

#[test]
fn bytes_written_anywhere_are_found_again() {
    let Some(place) = MountFolder::new() else { return };
    for (block_bytes, page_cache) in [(512, false), (4096, false), (2048, false), (512, true)] {
        let seed = seed();
        let mut random = Random::with_seed(seed);
        let size = 3 << 20;
        let info = Info { block_bytes, optimal_bytes: 4096, ..able(size) };
        let device: Arc<dyn Device> =
            Arc::new(Memory::with(info).delayed(seed, Duration::from_micros(200)));
        let mut served =
            place.mount(Arc::clone(&device), &FuseOptions { page_cache, ..workers(2) });
        let (plain, direct) = (place.open(), place.open_with(OFlags::DIRECT));
        assert_eq!(plain.metadata().unwrap().len(), size);
        let mut expected = vec![0; size as usize];
        let block = u64::from(block_bytes);
        for step in 0..400 {
            let whole = random.bool();
            let longest = if random.u8(..) < 16 { 2 << 20 } else { 9000 };
            let (mut offset, mut length) = (random.u64(..size), random.u64(1..=longest));
            if whole {
                offset -= offset % block;
                length = length.next_multiple_of(block);
            }
            length = length.min(size - offset);
            let range = offset as usize..(offset + length) as usize;
            // A program that mixes direct I/O with the page cache cannot know what it reads.
            let file = if whole && !page_cache { &direct } else { &plain };
            let mut buffer = BufMut::zeroed(length as usize);
            let bytes = buffer.as_mut_slice().unwrap();
            assert!(bytes.as_ptr().addr().is_multiple_of(ALIGNMENT_BYTES));
            match random.u8(..8) {
                0..=3 => {
                    random.fill(bytes);
                    file.write_all_at(bytes, offset).unwrap();
                    expected[range].copy_from_slice(bytes);
                }
                4 if !page_cache => {
                    let mode = if random.bool() {
                        FallocateFlags::PUNCH_HOLE
                    } else {
                        FallocateFlags::ZERO_RANGE
                    };
                    rustix::fs::fallocate(file, mode | FallocateFlags::KEEP_SIZE, offset, length)
                        .unwrap();
                    expected[range].fill(0);
                }
                _ => {
                    file.read_exact_at(bytes, offset).unwrap();
                    assert!(
                        bytes == &expected[range],
                        "seed {seed}: step {step}: {length} bytes at {offset}"
                    );
                }
            }
        }
        plain.sync_all().unwrap();
        assert!(content(&*device) == expected, "seed {seed}");
        drop((plain, direct));
        served.unmount().unwrap();
        assert_eq!(fs::metadata(place.path()).unwrap().len(), 0, "the placeholder is there again");
    }
}

#[test]
fn writers_of_parts_of_one_block_do_not_undo_one_another() {
    let Some(place) = MountFolder::new() else { return };
    let seed = seed();
    let device: Arc<dyn Device> =
        Arc::new(Memory::new(64 << 10).delayed(seed, Duration::from_micros(300)));
    let _served = place.mount(Arc::clone(&device), &workers(2));
    // Four threads write a slice each of every block, a fifth writes whole blocks of its own in
    // between.
    std::thread::scope(|scope| {
        for part in 0..4_u64 {
            let file = place.open();
            scope.spawn(move || {
                for round in 0..25_u8 {
                    for block in (0..128_u64).step_by(16) {
                        file.write_all_at(&[round + 1; 128], block * 512 + part * 128).unwrap();
                    }
                }
            });
        }
        let file = place.open();
        scope.spawn(move || {
            for round in 0..100_u8 {
                file.write_all_at(&[round; 512], 512).unwrap();
            }
        });
    });
    let bytes = content(&*device);
    for block in (0..128).step_by(16) {
        assert_eq!(&bytes[block * 512..][..512], [25; 512], "seed {seed}: block {block}");
    }
    assert_eq!(&bytes[512..1024], [99; 512]);
}

#[test]
fn what_was_synced_survives_a_crash_and_quick_removal_needs_no_sync() {
    let Some(place) = MountFolder::new() else { return };
    let info = Info { volatile_cache: true, ..able(1 << 20) };
    let survives = |flags: OFlags, policy: RemovalPolicy, sync: bool| {
        let seed = seed();
        let device = Arc::new(Memory::with(info.clone()));
        let served = place
            .mount(Arc::clone(&device) as Arc<dyn Device>, &FuseOptions { policy, ..workers(1) });
        let file = place.open_with(flags);
        for block in 0..64 {
            file.write_all_at(&[7; 512], block * 1024).unwrap();
        }
        if sync {
            file.sync_data().unwrap();
        }
        // Closed only after the crash, for closing makes durable too.
        device.crash(seed);
        device.power_on();
        let bytes = content(&*device);
        drop((file, served));
        (0..64).all(|block| bytes[block * 1024..][..512] == [7; 512])
    };
    assert!(survives(OFlags::empty(), RemovalPolicy::Performance, true));
    assert!(survives(OFlags::DSYNC, RemovalPolicy::Performance, false));
    assert!(survives(OFlags::empty(), RemovalPolicy::Quick, false));
    // What nobody has asked to be durable is not: those above would pass too if the device never
    // lost anything.
    assert!(!survives(OFlags::empty(), RemovalPolicy::Performance, false));
}

#[test]
fn under_quick_removal_whatever_has_changed_data_is_durable_when_it_returns() {
    let Some(place) = MountFolder::new() else { return };
    let plain = Info { volatile_cache: true, ..Info::plain(1 << 20) };
    let native = Info { volatile_cache: true, ..able(1 << 20) };
    let survives = |info: &Info, policy: RemovalPolicy| {
        let seed = seed();
        let device = Arc::new(Memory::with(info.clone()));
        let served = place
            .mount(Arc::clone(&device) as Arc<dyn Device>, &FuseOptions { policy, ..workers(1) });
        let file = place.open();
        file.write_all_at(&[7; 64 << 10], 0).unwrap();
        let mut expected = vec![7; 64 << 10];
        // Parts of blocks, zeroes, holes: each its own way through the server.
        for part in 0..16 {
            file.write_all_at(&[8; 100], part * 1024 + 50).unwrap();
            expected[part as usize * 1024 + 50..][..100].fill(8);
        }
        for (mode, start) in
            [(FallocateFlags::ZERO_RANGE, 20_000), (FallocateFlags::PUNCH_HOLE, 40_000)]
        {
            match rustix::fs::fallocate(&file, mode | FallocateFlags::KEEP_SIZE, start, 10_000) {
                Ok(()) => expected[start as usize..][..10_000].fill(0),
                Err(error) => assert_eq!(
                    (mode, error),
                    (FallocateFlags::PUNCH_HOLE, Errno::OPNOTSUPP),
                    "seed {seed}"
                ),
            }
        }
        // Closed only after the crash, for closing makes durable too.
        device.crash(seed);
        device.power_on();
        let bytes = content(&*device);
        drop((file, served));
        bytes[..64 << 10] == expected
    };
    for info in [&plain, &native] {
        assert!(survives(info, RemovalPolicy::Quick));
        assert!(
            !survives(info, RemovalPolicy::Performance),
            "this device loses what nobody has asked to be durable"
        );
    }
}

#[test]
fn errors_of_the_device_reach_the_program() {
    let Some(place) = MountFolder::new() else { return };
    let device = Arc::new(Memory::new(1 << 20));
    let _served = place.mount(Arc::clone(&device) as Arc<dyn Device>, &workers(1));
    let file = place.open();
    let errno = |result: std::io::Result<()>| {
        result.err().and_then(|error| error.raw_os_error()).map(Errno::from_raw_os_error)
    };
    device.fail_next(Fault::Write);
    assert_eq!(errno(file.write_all_at(&[1; 512], 0)), Some(Errno::IO));
    device.fail_next(Fault::Read);
    assert_eq!(errno(file.read_exact_at(&mut [0; 512], 0)), Some(Errno::IO));
    device.fail_next(Fault::Read);
    assert_eq!(
        errno(file.write_all_at(&[1; 5], 3)),
        Some(Errno::IO),
        "the block around it could not be read"
    );
    device.fail_next(Fault::Flush);
    assert_eq!(errno(file.sync_data()), Some(Errno::IO));
    assert_eq!(errno(file.write_all_at(&[1; 512], 0)), None);
}

#[test]
fn the_size_is_fixed() {
    let Some(place) = MountFolder::new() else { return };
    let _served = place.mount(Arc::new(Memory::new(1 << 20)), &workers(1));
    let file = place.open();
    assert_eq!(file.read_at(&mut [0; 100], 1 << 20).unwrap(), 0);
    assert_eq!(file.read_at(&mut [0; 1000], (1 << 20) - 10).unwrap(), 10);
    assert_eq!(
        file.write_at(&[0; 100], 1 << 20).unwrap_err().raw_os_error(),
        Some(Errno::NOSPC.raw_os_error())
    );
    assert!(file.set_len(1 << 19).is_err());
    // As with a drive, opening with O_TRUNC changes nothing.
    let again = OpenOptions::new().write(true).truncate(true).open(place.path()).unwrap();
    assert_eq!(again.metadata().unwrap().len(), 1 << 20);
}

#[test]
fn a_read_only_device_is_not_opened_for_writing() {
    let Some(place) = MountFolder::new() else { return };
    let device = Arc::new(Memory::new(1 << 20));
    let _served = place.mount(device, &FuseOptions { read_only: true, ..workers(1) });
    let error = OpenOptions::new().write(true).open(place.path()).unwrap_err();
    // Root is told by the mount, everybody else by the file's mode.
    assert!(
        matches!(
            error.kind(),
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied
        ),
        "{error}"
    );
    let mut bytes = [1; 512];
    File::open(place.path()).unwrap().read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, [0; 512]);
}

#[test]
fn a_file_in_use_stays_and_one_that_is_dropped_gives_errors() {
    let Some(place) = MountFolder::new() else { return };
    let mut served = place.mount(Arc::new(Memory::new(1 << 20)), &workers(2));
    let mut file = place.open();
    let error: Error = served.unmount().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    file.write_all(&[1; 512]).unwrap();
    drop(served);
    assert!(file.write_all(&[1; 512]).is_err(), "nobody serves it any more");
    assert_eq!(fs::metadata(place.path()).unwrap().len(), 0);
}

#[test]
fn only_a_file_can_be_mounted_on() {
    let Some(place) = MountFolder::new() else { return };
    let mount = |path: &Path| {
        FuseFile::mount(Arc::new(Memory::new(1 << 20)), path, &workers(1))
            .err()
            .map(|error| error.kind())
    };
    assert_eq!(mount(place.folder.path()), Some(ErrorKind::Invalid));
    assert_eq!(mount(&place.folder.path().join("nothing")), Some(ErrorKind::NotFound));
}

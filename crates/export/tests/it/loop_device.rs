//! A loop device over a served file: its block size, its discards and its flushes are those of the
//! device.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{Blocking, CountingDevice, Device, DiscardSupport, ErrorKind, Info, Support};
use export::fuse::{FuseFile, FuseOptions};
use export::image::{Image, ImageKind};
use export::loop_device::{LoopDevice, LoopOptions, detach_from, write_back};
use reactor::Reactor;
use rustix::event::Timespec;
use testkit::Memory;

/// Tests here run one at a time: `losetup` has a look at every loop device, also at those of other
/// tests.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether something becomes true soon: the machine's own programs have a look at devices that
/// change, too.
fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let pause = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    (0..400).any(|_| is_so() || rustix::event::poll(&mut [], Some(&pause)).is_err())
}

/// A device that this process uses says so when it is to go.
#[track_caller]
fn assert_names_its_user(device: &mut LoopDevice) {
    let own = format!("process {} (", std::process::id());
    assert!(soon(|| {
        let error = device.detach().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        error.to_string().contains(&own)
    }));
}

fn take_away(device: &mut LoopDevice) {
    let is_gone = || match device.detach() {
        Err(error) if error.kind() == ErrorKind::Busy => false,
        result => {
            result.unwrap();
            true
        }
    };
    assert!(soon(is_gone), "somebody keeps it open");
}

/// A folder of files for loop devices. No other test makes any as long as it is there.
struct Bench {
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// A bench, or none where this process may make no loop devices.
fn bench() -> Option<Bench> {
    let _alone = alone();
    let missing = if !rustix::process::geteuid().is_root() {
        "not root"
    } else if !Path::new("/dev/loop-control").exists() || !Path::new("/dev/fuse").exists() {
        "no loop devices or no FUSE in this kernel: modprobe loop fuse"
    } else {
        return Some(Bench { folder: tempfile::tempdir().unwrap(), _alone });
    };
    testkit::missing!("{missing}");
    None
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file of this name, of so many MiB, without anything in it.
    fn file(&self, name: &str, mebibytes: u64) -> PathBuf {
        let path = self.path(name);
        File::create(&path).unwrap().set_len(mebibytes << 20).unwrap();
        path
    }
}

fn setting(device: &Path, name: &str) -> String {
    let path = Path::new("/sys/block").join(device.file_name().unwrap()).join(name);
    fs::read_to_string(path).unwrap().trim().to_owned()
}

#[test]
fn blocks_discards_and_flushes_are_the_devices_own() {
    let Some(bench) = bench() else { return };
    for block_bytes in [512, 4096] {
        let info = Info {
            block_bytes,
            optimal_bytes: 4096,
            fua: Support::Native,
            zeroes: Support::Native,
            ..Info::plain(16 << 20)
        };
        let counted = Arc::new(CountingDevice::over(Arc::new(Memory::with(Info {
            discard: DiscardSupport::ReadsZero,
            ..info
        }))));
        let counters = counted.counters();
        let path = bench.file("disk", 0);
        let mut served = FuseFile::mount(
            Arc::clone(&counted) as Arc<dyn Device>,
            &path,
            &FuseOptions::default(),
        )
        .unwrap();
        let mut device = LoopDevice::attach(&path, block_bytes, false).unwrap();
        assert!(device.is_direct());
        assert_eq!(setting(device.path(), "queue/logical_block_size"), block_bytes.to_string());
        assert_eq!(setting(device.path(), "size"), ((16 << 20) / 512).to_string());

        let file = OpenOptions::new().read(true).write(true).open(device.path()).unwrap();
        file.write_all_at(&[5; 1 << 20], 1 << 20).unwrap();
        let flushes = counters.read().flushes;
        file.sync_all().unwrap();
        assert!(counters.read().flushes > flushes, "a sync of the device is a flush below");
        let mut bytes = vec![0; 3 << 20];
        let mut direct = Blocking::open(&*counted, &Reactor::wall().unwrap()).unwrap();
        direct.read_slice(0, &mut bytes).unwrap();
        assert!(
            (0..3 << 20)
                .all(|at| bytes[at] == if (1 << 20..2 << 20).contains(&at) { 5 } else { 0 })
        );

        let status = Command::new("blkdiscard")
            .args(["--offset", "1048576", "--length", "524288"])
            .arg(device.path())
            .status();
        assert!(status.unwrap().success());
        direct.read_slice(0, &mut bytes).unwrap();
        assert!(
            (0..3 << 20).all(|at| bytes[at]
                == if ((1 << 20) + (1 << 19)..2 << 20).contains(&at) { 5 } else { 0 })
        );

        assert_eq!(
            served.unmount().unwrap_err().kind(),
            ErrorKind::Busy,
            "the loop device has the file open"
        );
        drop(file);
        take_away(&mut device);
        assert!(soon(|| served.unmount().is_ok()));
    }
}

#[test]
fn a_name_that_somebody_else_has_been_given_is_left_alone() {
    let Some(bench) = bench() else { return };
    let (ours, theirs) = (bench.file("ours", 1), bench.file("theirs", 1));
    let losetup =
        |arguments: &[&Path]| Command::new("losetup").args(arguments).status().unwrap().success();
    // Somebody takes it away and has the name. Another test may be quicker to get it, so this is
    // tried several times.
    let take_over = || {
        let device = LoopDevice::attach(&ours, 512, false).unwrap();
        assert!(losetup(&[Path::new("--detach"), device.path()]));
        losetup(&[device.path(), &theirs]).then_some(device)
    };
    let mut device = (0..50).find_map(|_| take_over()).expect("the name can be had");
    let name = device.path().to_owned();
    device.detach().unwrap();
    assert_eq!(Path::new(&setting(&name, "loop/backing_file")), theirs);
    drop(device);
    assert_eq!(Path::new(&setting(&name, "loop/backing_file")), theirs);
    assert!(losetup(&[Path::new("--detach"), &name]));
}

#[test]
fn a_device_in_use_stays_and_whoever_uses_it_is_named() {
    let Some(bench) = bench() else { return };
    let path = bench.file("image", 1);
    let mut device = LoopDevice::attach(&path, 512, false).unwrap();
    let user = File::open(device.path()).unwrap();
    assert_names_its_user(&mut device);
    drop(user);
    // It was not even told to go with its last user.
    assert_eq!(Path::new(&setting(device.path(), "loop/backing_file")), path);
    take_away(&mut device);
    device.detach().expect("a second time there is nothing to do");
}

/// A VHD in a folder: of the disk's bytes, or with this footer instead of its own.
fn vhd(folder: &Path, disk: &[u8], footer: Option<Vec<u8>>) -> PathBuf {
    let size_bytes = disk.len() as u64;
    let image = Image { kind: ImageKind::Vhd, size_bytes, direct: false };
    let path = folder.join(image.file_name());
    let footer = footer.unwrap_or_else(|| image.footer());
    fs::write(&path, [disk, &footer].concat()).unwrap();
    path
}

/// What qemu-img says to these arguments, if it is content.
fn qemu_img(arguments: &[&str]) -> Option<String> {
    let said = Command::new("qemu-img").args(arguments).output().unwrap();
    said.status.success().then(|| String::from_utf8(said.stdout).unwrap())
}

/// Others read our VHDs for the disk that is in them, to the byte and of its very size.
#[test]
fn others_read_a_vhd_of_ours() {
    if Command::new("qemu-img").arg("--version").output().is_err() {
        return testkit::missing!("qemu-img is not there: apt-get install qemu-utils");
    }
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("raw").to_str().unwrap().to_owned();
    // Of the second, cylinders, heads and sectors make less.
    for size_bytes in [4096, (10 << 20) + 4096] {
        let disk: Vec<u8> = (0..size_bytes).map(|at| (at / 512 % 251) as u8).collect();
        let image = vhd(folder.path(), &disk, None).to_str().unwrap().to_owned();
        fs::write(&raw, &disk).unwrap();
        let info = qemu_img(&["info", "--output=json", "-f", "vpc", &image]).unwrap();
        assert!(info.contains(&format!("\"virtual-size\": {size_bytes},")), "{info}");
        let compare = ["compare", "-s", "-f", "vpc", "-F", "raw", &image, &raw];
        assert!(qemu_img(&compare).is_some(), "{size_bytes}");
        // Planted: a footer of half the size, and none.
        let half = Image { kind: ImageKind::Vhd, size_bytes: size_bytes / 2, direct: false };
        for footer in [half.footer(), vec![0; 512]] {
            vhd(folder.path(), &disk, Some(footer));
            assert!(qemu_img(&compare).is_none(), "{size_bytes}");
        }
    }
}

/// "A VHD … of which the loop device shows nothing" but the disk.
#[test]
fn a_loop_device_ends_where_the_disk_of_an_image_does() {
    let Some(bench) = bench() else { return };
    let disk = vec![7; 1 << 20];
    let image = vhd(bench.folder.path(), &disk, None);
    let before = fs::read(&image).unwrap();
    let options = LoopOptions { size_bytes: Some(1 << 20), ..LoopOptions::default() };
    let mut device = LoopDevice::attach_with(&image, &options).unwrap();
    assert_eq!(setting(device.path(), "size"), ((1 << 20) / 512).to_string());
    assert!(fs::read(device.path()).unwrap() == disk);
    let file = OpenOptions::new().write(true).open(device.path()).unwrap();
    assert!(file.write_all_at(&[1], 1 << 20).is_err(), "behind its end");
    drop(file);
    take_away(&mut device);
    assert!(fs::read(&image).unwrap() == before, "the footer is as it was");
}

/// "The loop device shows partitions".
#[test]
fn partitions_are_devices_and_whoever_uses_one_is_named() {
    let Some(bench) = bench() else { return };
    let path = bench.file("disk", 4);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    // One partition of Linux: 1 MiB from 1 MiB on.
    let mut entry = [0; 16];
    entry[4] = 0x83;
    entry[8..12].copy_from_slice(&2048_u32.to_le_bytes());
    entry[12..].copy_from_slice(&2048_u32.to_le_bytes());
    file.write_all_at(&entry, 446).unwrap();
    file.write_all_at(&[0x55, 0xaa], 510).unwrap();
    let mut device = LoopDevice::attach(&path, 512, false).unwrap();
    assert_eq!(setting(device.path(), "loop/partscan"), "1");
    // Planted: without it nothing is looked for.
    let mut plain = LoopDevice::attach_with(&path, &LoopOptions::default()).unwrap();
    assert_eq!(setting(plain.path(), "loop/partscan"), "0");
    take_away(&mut plain);
    let name = format!("{}p1", device.path().file_name().unwrap().to_str().unwrap());
    match File::open(Path::new("/dev").join(&name)) {
        Ok(user) => {
            assert_eq!(setting(device.path(), &format!("{name}/size")), "2048");
            assert_names_its_user(&mut device);
            drop(user);
        }
        Err(_) => testkit::skipped!("this kernel reads no partition tables, or has no /dev for it"),
    }
    take_away(&mut device);
}

/// What the kernel is told of one use of a loop device ends with it.
#[test]
fn the_next_use_of_a_loop_device_is_flushed_again() {
    let Some(bench) = bench() else { return };
    let path = bench.file("disk", 1);
    let mut device = LoopDevice::attach(&path, 512, false).unwrap();
    let cache = |device: &LoopDevice| setting(device.path(), "queue/write_cache");
    assert_eq!(cache(&device), "write back");
    device.write_through();
    assert_eq!(cache(&device), "write through");
    write_back(device.path());
    assert_eq!(cache(&device), "write back");
    device.write_through();
    take_away(&mut device);
    let free = Path::new("/sys/block").join(device.path().file_name().unwrap());
    let cache = fs::read_to_string(free.join("queue/write_cache")).unwrap();
    // Another process may have been given it meanwhile.
    assert!(free.join("loop/backing_file").exists() || cache.trim_end() == "write back", "{cache}");
}

#[test]
fn what_a_dead_server_left_is_taken_away_only_from_over_its_own_file() {
    let Some(bench) = bench() else { return };
    let (ours, theirs) = (bench.file("ours", 1), bench.path("theirs"));
    let device = LoopDevice::attach(&ours, 512, false).unwrap();
    detach_from(device.path(), &theirs).unwrap();
    assert_eq!(Path::new(&setting(device.path(), "loop/backing_file")), ours);
    detach_from(device.path(), &ours).unwrap();
    let backing =
        Path::new("/sys/block").join(device.path().file_name().unwrap()).join("loop/backing_file");
    // Somebody else may have been given the name.
    assert!(soon(
        || fs::read_to_string(&backing).map_or(true, |over| Path::new(over.trim_end()) != ours)
    ));
    detach_from(device.path(), &ours).expect("nothing to do any more");
    detach_from(&bench.path("loop-of-no-name"), &ours).expect("no such device");
}

//! Files: on a disk's file system and on tmpfs, direct and buffered, and everything that can go
//! wrong under them.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use block::{
    Blocking, BufMut, ContractCheck, Device, DiscardSupport, ErrorKind, Op, Reactor, Request,
    Support,
};
use common::{
    bytes_of, finish, folder_in_memory, folder_on_disk, frozen, new_file, noise, rope,
    run_against_memory,
};
use device::{Direct, FileDevice, FileOptions, Identity};
use reactor::Random;

const MIB: u64 = 1 << 20;

fn device(path: &Path, size_bytes: u64, options: &FileOptions) -> Arc<FileDevice> {
    Arc::new(FileDevice::new(new_file(path, size_bytes), path, options).unwrap())
}

fn options(direct: Direct) -> FileOptions {
    FileOptions { direct, ..FileOptions::default() }
}

fn folders() -> Vec<tempfile::TempDir> {
    let mut folders = vec![folder_on_disk()];
    match folder_in_memory() {
        Some(folder) => folders.push(folder),
        None => testkit::skipped!("on tmpfs: /dev/shm takes no files here"),
    }
    folders
}

#[test]
fn a_file_holds_what_plain_memory_would() {
    let reactor = Reactor::wall().unwrap();
    for (number, folder) in folders().iter().enumerate() {
        for (seed, direct) in [(10, Direct::Auto), (20, Direct::No)] {
            let path = folder.path().join("a.img");
            let device = device(&path, 3 * MIB, &options(direct));
            let checked = ContractCheck::over(device);
            let expected = run_against_memory(&checked, &reactor, seed + number as u64, 60);
            assert!(std::fs::read(&path).unwrap() == expected, "the file itself holds other bytes");
        }
    }
}

#[test]
fn a_window_touches_nothing_outside_it() {
    let folder = folder_on_disk();
    let path = folder.path().join("window.img");
    let mut file = new_file(&path, 4 * MIB);
    file.write_all(&[0xaa; 4 * MIB as usize]).unwrap();
    let options =
        FileOptions { offset_bytes: MIB, size_bytes: Some(MIB + 8192), ..FileOptions::default() };
    let device = Arc::new(FileDevice::new(file, &path, &options).unwrap());
    assert_eq!(device.info().size_bytes, MIB + 8192);
    let expected =
        run_against_memory(&ContractCheck::over(device), &Reactor::wall().unwrap(), 5, 60);
    let found = std::fs::read(&path).unwrap();
    let (window, end) = (MIB as usize, (2 * MIB + 8192) as usize);
    assert!(found[window..end] == expected);
    assert!(
        found[..window].iter().chain(&found[end..]).all(|&byte| byte == 0xaa),
        "bytes outside the window have changed"
    );
}

#[test]
fn direct_io_is_taken_where_it_is_to_be_had_and_told_of() {
    let folder = folder_on_disk();
    let path = folder.path().join("direct.img");
    let auto = device(&path, MIB, &options(Direct::Auto));
    let text = auto.describe().to_string();
    match auto.direct_refused() {
        None => {
            assert!(auto.direct());
            assert_eq!(text, format!("file:{}", path.display()));
            let demanded =
                FileDevice::new(new_file(&path, MIB), &path, &options(Direct::Yes)).unwrap();
            assert!(demanded.direct());
            assert_eq!(
                demanded.describe().to_string(),
                format!("file:{}?direct=yes", path.display())
            );
        }
        Some(reason) => {
            println!("no direct I/O in {}: {reason}", folder.path().display());
            assert!(!auto.direct());
            assert!(text.ends_with("?direct=no"), "{text}");
        }
    }
    let buffered = device(&path, MIB, &options(Direct::No));
    assert!(!buffered.direct() && buffered.direct_refused().is_none());
    assert!(buffered.info().volatile_cache, "the page cache is a volatile cache");
    assert!(buffered.describe().to_string().ends_with("?direct=no"));
}

#[test]
fn a_window_that_direct_io_cannot_serve_falls_back_or_fails_as_asked() {
    let folder = folder_on_disk();
    let path = folder.path().join("odd.img");
    let odd = FileOptions { offset_bytes: 100, ..FileOptions::default() };
    let fallen_back = device(&path, MIB, &odd);
    assert!(!fallen_back.direct());
    let reason = fallen_back.direct_refused().unwrap();
    assert!(reason.english().starts_with("offset=100 is no multiple of the "), "{reason}");
    assert_eq!(
        fallen_back.describe().to_string(),
        format!("file:{}?offset=100&direct=no", path.display())
    );
    assert_eq!(fallen_back.info().size_bytes, MIB - 512, "whole blocks only");
    run_against_memory(&ContractCheck::over(fallen_back), &Reactor::wall().unwrap(), 6, 20);

    let error =
        FileDevice::new(new_file(&path, MIB), &path, &FileOptions { direct: Direct::Yes, ..odd })
            .err()
            .unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.to_string().contains("direct=yes, but offset=100 is no multiple of the "),
        "{error}"
    );
}

#[test]
fn buffers_of_any_place_in_memory_are_taken() {
    let folder = folder_on_disk();
    let reactor = Reactor::wall().unwrap();
    let device = device(&folder.path().join("a.img"), MIB, &options(Direct::Auto));
    let mut channel = Blocking::open(&*ContractCheck::over(device), &reactor).unwrap();
    let bytes = noise(&mut Random::with_seed(7), 8192);
    let mut odd = BufMut::zeroed(8192 + 3);
    drop(odd.split_to(3));
    odd.copy_from_slice(&bytes);
    channel.write(4096, odd.freeze()).unwrap();
    let mut odd = BufMut::zeroed(8192 + 5);
    drop(odd.split_to(5));
    assert_eq!(bytes_of(&channel.read(4096, odd).unwrap()), bytes);
    assert_eq!(bytes_of(&channel.read(4096, BufMut::zeroed(8192)).unwrap()), bytes);
}

#[test]
fn a_buffer_in_more_pieces_than_the_kernel_takes_goes_out_whole() {
    let reactor = Reactor::wall().unwrap();
    for folder in folders() {
        for direct in [Direct::Auto, Direct::No] {
            let device = device(&folder.path().join("a.img"), 2 * MIB, &options(direct));
            let mut channel = Blocking::open(&*ContractCheck::over(device), &reactor).unwrap();
            let bytes = noise(&mut Random::with_seed(8), MIB as usize);
            channel.write(512, rope(&bytes, 2048, 512).freeze()).unwrap();
            let found = channel.read(512, rope(&vec![1; MIB as usize], 1500, 512)).unwrap();
            assert!(bytes_of(&found) == bytes);
        }
    }
}

#[test]
fn holes_are_punched_where_zeroes_are_written() {
    let folder = folder_on_disk();
    let path = folder.path().join("a.img");
    let device = device(&path, 8 * MIB, &options(Direct::Auto));
    if device.info().zeroes == Support::None {
        testkit::skipped!("no holes in files of {}", folder.path().display());
        return;
    }
    assert_eq!(device.info().discard, DiscardSupport::ReadsZero);
    let mut channel = Blocking::open(&*device, &Reactor::wall().unwrap()).unwrap();
    let blocks =
        || std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&path).unwrap()) * 512;
    channel.write_slice(0, &vec![1; 8 * MIB as usize]).unwrap();
    channel.flush().unwrap();
    let full = blocks();
    channel.run(Op::WriteZeroes { offset: 0, length: 4 * MIB, fua: true }).unwrap();
    channel.run(Op::Discard { offset: 6 * MIB, length: 2 * MIB }).unwrap();
    assert!(blocks() <= full - 5 * MIB, "{} of {full} bytes are still taken", blocks());
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len() as u64, 8 * MIB, "the file keeps its length");
    assert!(bytes[..4 << 20].iter().chain(&bytes[6 << 20..]).all(|&byte| byte == 0));
    assert!(bytes[4 << 20..6 << 20].iter().all(|&byte| byte == 1));
}

#[test]
fn read_only_files_are_read_and_nothing_else() {
    let folder = folder_on_disk();
    let path = folder.path().join("a.img");
    drop(new_file(&path, MIB));
    let device = FileDevice::open_read_only(&path, &FileOptions::default()).unwrap();
    assert!(device.info().read_only && !device.info().volatile_cache);
    let reactor = Reactor::wall().unwrap();
    let mut channel = Blocking::open(&device, &reactor).unwrap();
    channel.read(0, BufMut::zeroed(4096)).unwrap();
    channel.flush().unwrap();
    let error = channel.write(0, frozen(&[1; 512])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    assert_eq!(
        channel.run(Op::Discard { offset: 0, length: 512 }).unwrap_err().kind(),
        ErrorKind::ReadOnly
    );

    let error =
        FileDevice::new(File::open(&path).unwrap(), &path, &FileOptions::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(
        error.to_string().ends_with("the file handed over is not open for reading and writing"),
        "{error}"
    );
}

#[test]
fn a_file_cut_short_under_us_is_an_error_that_says_so() {
    let folder = folder_on_disk();
    let reactor = Reactor::wall().unwrap();
    for direct in [Direct::Auto, Direct::No] {
        for left in [MIB, MIB + 1024, MIB + 100] {
            let path = folder.path().join("a.img");
            let device = device(&path, 2 * MIB, &options(direct));
            let mut channel = ContractCheck::over(device).open(2, &reactor).unwrap();
            OpenOptions::new().write(true).open(&path).unwrap().set_len(left).unwrap();
            let into = rope(&vec![0; MIB as usize], 3, 512);
            channel.submit(Request::new(1, Op::Read { offset: MIB - 8192, into }));
            channel.submit(Request::new(2, Op::Read { offset: 0, into: BufMut::zeroed(4096) }));
            for completion in finish(&mut *channel, &reactor) {
                if completion.tag == 2 {
                    completion.result.unwrap();
                    continue;
                }
                let error = completion.result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Gone, "no bad place: nothing is written back");
                let text = error.to_string();
                assert!(text.contains("it was cut short while in use"), "{text}");
                assert!(text.contains(&format!("now {left} bytes")), "{text}");
                assert_eq!(
                    completion.buffer.read().len() as u64,
                    MIB,
                    "the whole buffer comes back"
                );
            }
        }
    }
}

/// A write behind the end of a file that was cut short leaves a hole that reads as zeroes: none of
/// these zeroes is ever handed out, whatever was written, and by whichever channel.
#[test]
fn a_write_that_makes_a_cut_file_longer_fails_and_so_does_all_that_follows() {
    let folder = folder_on_disk();
    let path = folder.path().join("a.img");
    let reactor = Reactor::wall().unwrap();
    let gone = |result: Result<(), block::Error>, what: &str| {
        let error = result.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Gone, "{what}: {error}");
        let text = error.to_string();
        assert!(text.contains("a.img: it was cut short while in use (now "), "{what}: {text}");
    };
    for direct in [Direct::Auto, Direct::No] {
        // In front of the new end, behind it, and up to where the old one was.
        for offset in [0, MIB, 2 * MIB - 4096] {
            let device = device(&path, 2 * MIB, &options(direct));
            let mut channel = Blocking::open(&*device, &reactor).unwrap();
            let mut other = Blocking::open(&*device, &reactor).unwrap();
            channel.write_slice(0, &vec![7; 2 * MIB as usize]).unwrap();
            channel.flush().unwrap();
            OpenOptions::new().write(true).open(&path).unwrap().set_len(8192).unwrap();
            let what = |done: &str| format!("{done} after a write at {offset}, {direct:?}");
            gone(channel.write(offset, frozen(&[8; 4096])), &what("the same"));
            gone(other.read(MIB / 2, BufMut::zeroed(4096)).map(drop), &what("a read"));
            gone(other.write(MIB / 2, frozen(&[8; 4096])), &what("a write"));
            gone(other.flush(), &what("a flush"));
        }
    }
}

/// A read that ends after a write and before the write's request does: the zeroes are there.
#[test]
fn a_read_beside_a_write_that_makes_a_cut_file_longer_hands_out_no_zeroes() {
    let folder = folder_on_disk();
    let path = folder.path().join("a.img");
    let (here, there) = (Reactor::wall().unwrap(), Reactor::wall().unwrap());
    let device = device(&path, 2 * MIB, &options(Direct::Auto));
    let mut writer = device.open(1, &here).unwrap();
    let mut reader = Blocking::open(&*device, &there).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let write = Op::Write { offset: MIB, from: frozen(&[8; 4096]), fua: false };
    writer.submit(Request::new(1, write));
    // The kernel has carried it out, and its channel has not heard of it.
    here.wait(None).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > MIB);
    let error = reader.read(MIB / 2, BufMut::zeroed(4096)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(finish(&mut *writer, &here).pop().unwrap().result.is_err());
}

/// The image of a virtual machine's disk is shorter than its device from the beginning.
#[test]
fn a_file_that_grows_as_it_is_written_is_not_taken_for_one_that_was_cut() {
    let folder = folder_on_disk();
    let path = folder.path().join("a.img");
    let device = device(&path, 2 * MIB, &FileOptions { grows: true, ..FileOptions::default() });
    OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let mut channel = Blocking::open(&*device, &Reactor::wall().unwrap()).unwrap();
    channel.write(4096, frozen(&[8; 4096])).unwrap();
    channel.flush().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 8192);
}

#[test]
fn bad_windows_and_targets_are_refused_with_the_numbers() {
    let folder = folder_on_disk();
    let path = folder.path().join("a.img");
    let name = path.display();
    let refusal = |size: u64, options: FileOptions| {
        let error = FileDevice::new(new_file(&path, size), &path, &options).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.to_string()
    };
    let plain = FileOptions::default();
    assert_eq!(
        refusal(0, plain.clone()),
        format!("{name}: no whole block of 512 bytes in the 0 bytes after offset 0")
    );
    let text = refusal(MIB, FileOptions { size_bytes: Some(2 * MIB), ..plain.clone() });
    assert_eq!(
        text,
        format!("{name}: size=2097152 asks for more than the 1048576 bytes after offset 0")
    );
    let text = refusal(MIB, FileOptions { size_bytes: Some(1000), ..plain.clone() });
    assert_eq!(text, format!("{name}: size=1000 is not whole blocks of 512 bytes"));
    let text = refusal(MIB, FileOptions { offset_bytes: 2 * MIB, ..plain.clone() });
    assert_eq!(
        text,
        format!("{name}: no whole block of 512 bytes in the 0 bytes after offset 2097152")
    );
    let text = refusal(MIB, FileOptions { block_bytes: Some(1000), ..plain.clone() });
    assert_eq!(
        text,
        format!("{name}: a block of 1000 bytes; it must be a power of two, at least 512")
    );

    let error = FileDevice::open_read_only(folder.path(), &plain).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("{} is a folder; name a file or a block device in it", folder.path().display())
    );
    let error = FileDevice::open_read_only(Path::new("/dev/zero"), &plain).err().unwrap();
    assert_eq!(error.to_string(), "/dev/zero is neither a regular file nor a block device");
    let error = FileDevice::open_read_only(&folder.path().join("none"), &plain).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("none: opening it for reading"), "{error}");
}

#[test]
fn one_file_has_one_identity_under_all_its_names() {
    let folder = folder_on_disk();
    let (path, link, other) =
        (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
    drop((new_file(&path, MIB), new_file(&other, MIB)));
    std::fs::hard_link(&path, &link).unwrap();
    let identity = |path: &PathBuf| {
        FileDevice::open_read_only(path, &FileOptions::default()).unwrap().identity()
    };
    assert_eq!(identity(&path), identity(&link));
    assert_ne!(identity(&path), identity(&other));
    assert!(matches!(identity(&path), Identity::File { .. }));
}

#[test]
fn there_are_no_files_in_virtual_time() {
    let folder = folder_on_disk();
    let device = device(&folder.path().join("a"), MIB, &FileOptions::default());
    let error = device.open(1, &Reactor::virtual_clock()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("files work in real time only"), "{error}");
}

#[test]
fn a_larger_block_is_kept_to() {
    let folder = folder_on_disk();
    let larger = FileOptions { block_bytes: Some(8192), ..FileOptions::default() };
    let device = device(&folder.path().join("a"), MIB + 4096, &larger);
    assert_eq!((device.info().block_bytes, device.info().size_bytes), (8192, MIB));
    run_against_memory(&ContractCheck::over(device), &Reactor::wall().unwrap(), 9, 20);
}

/// Runs a tool; its output, or `None` when it is missing or fails.
fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    let output = std::process::Command::new(name).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A small tmpfs; unmounted when dropped.
struct SmallFileSystem(tempfile::TempDir);

impl SmallFileSystem {
    fn mount(size: &str) -> Option<SmallFileSystem> {
        let folder = folder_on_disk();
        tool(
            "mount",
            &[
                "-t",
                "tmpfs",
                "-o",
                &format!("size={size}"),
                "raidloom-test",
                &folder.path().display().to_string(),
            ],
        )?;
        Some(SmallFileSystem(folder))
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        // Lazily: a ring that was just closed lets go of its files a moment later.
        tool("umount", &["--lazy", &self.0.path().display().to_string()]);
    }
}

#[test]
fn a_full_file_system_is_an_error_and_later_requests_go_on() {
    let Some(small) = SmallFileSystem::mount("1M") else {
        testkit::skipped!("mounting a small tmpfs is not permitted here");
        return;
    };
    let path = small.0.path().join("a.img");
    let reactor = Reactor::wall().unwrap();
    let device = device(&path, 4 * MIB, &FileOptions::default());
    let mut channel = ContractCheck::over(device).open(4, &reactor).unwrap();
    // The first half of it fits, so the kernel stops in the middle of the request.
    let from = frozen(&vec![3; 2 * MIB as usize]);
    channel.submit(Request::new(1, Op::Write { offset: 0, from, fua: false }));
    let completion = finish(&mut *channel, &reactor).pop().unwrap();
    let error = completion.result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert_eq!(
        error.to_string(),
        format!(
            "{}: write of 2097152 bytes at 0: No space left on device (os error 28)",
            path.display()
        )
    );
    assert!(matches!(completion.buffer,
            block::ReturnedBuffer::Written(buffer) if buffer.len() as u64 == 2 * MIB));

    channel.submit(Request::new(1, Op::Discard { offset: 0, length: 4 * MIB }));
    channel.submit(Request::new(2, Op::Flush));
    finish(&mut *channel, &reactor).into_iter().for_each(|completion| completion.result.unwrap());
    channel.submit(Request::new(
        3,
        Op::Write { offset: 3 * MIB, from: frozen(&[4; 4096]), fua: true },
    ));
    finish(&mut *channel, &reactor).into_iter().for_each(|completion| completion.result.unwrap());
}

/// A loop device over a file; detached when dropped.
struct Loop(String);

impl Loop {
    fn over(path: &Path) -> Option<Loop> {
        tool("losetup", &["--find", "--show", &path.display().to_string()]).map(Loop)
    }

    fn open(&self) -> File {
        OpenOptions::new().read(true).write(true).open(&self.0).unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        tool("losetup", &["--detach", &self.0]);
    }
}

#[test]
fn a_block_device_works_as_a_file_does() {
    let folder = folder_on_disk();
    let image = folder.path().join("a.img");
    drop(new_file(&image, 4 * MIB));
    let Some(attached) = Loop::over(&image) else {
        testkit::skipped!(
            "no loop device can be set up here (needs root, /dev/loop-control and losetup \
            of util-linux)"
        );
        return;
    };
    let reactor = Reactor::wall().unwrap();
    for (seed, direct) in [(1, Direct::Auto), (2, Direct::No)] {
        let device = Arc::new(
            FileDevice::new(attached.open(), Path::new(&attached.0), &options(direct)).unwrap(),
        );
        assert!(matches!(device.identity(), Identity::BlockDevice { .. }));
        assert_eq!((device.info().size_bytes, device.info().zeroes), (4 * MIB, Support::Native));
        assert_eq!(device.direct(), direct == Direct::Auto, "{:?}", device.direct_refused());
        run_against_memory(&ContractCheck::over(device), &reactor, seed, 40);
    }
    let smaller = FileOptions { block_bytes: Some(512), ..FileOptions::default() };
    assert!(
        FileDevice::new(attached.open(), Path::new(&attached.0), &smaller).is_ok(),
        "the loop's own block is 512"
    );
}

#[test]
fn a_flush_that_failed_goes_on_failing() {
    // A loop device over a sparse file that has no room to become real: the page cache takes writes
    // that cannot go out.
    let attached = SmallFileSystem::mount("1M").and_then(|small| {
        let image = small.0.path().join("a.img");
        drop(new_file(&image, 4 * MIB));
        Loop::over(&image).map(|attached| (small, attached))
    });
    let Some((_small, attached)) = attached else {
        testkit::skipped!("needs root, /dev/loop-control and losetup of util-linux");
        return;
    };
    let reactor = Reactor::wall().unwrap();
    let path = Path::new(&attached.0);
    let device = FileDevice::new(attached.open(), path, &options(Direct::No)).unwrap();
    let mut channel = Blocking::open(&device, &reactor).unwrap();
    let mut other = Blocking::open(&device, &reactor).unwrap();
    other.flush().unwrap();
    channel.write_slice(0, &vec![5; 3 * MIB as usize]).unwrap();
    let error = channel.flush().unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: flush: ", attached.0)), "{error}");
    for channel in [&mut channel, &mut other] {
        let error = channel.flush().unwrap_err();
        assert!(
            error
                .to_string()
                .contains("an earlier flush failed, so writes may be lost; open it again"),
            "{error}"
        );
        let fua = Op::Write { offset: 0, from: frozen(&[1; 512]), fua: true };
        assert!(channel.run(fua).is_err(), "a durable write promises what a flush promises");
        channel.write(0, frozen(&[1; 512])).unwrap();
    }
    let again = FileDevice::new(attached.open(), path, &options(Direct::No)).unwrap();
    Blocking::open(&again, &reactor).unwrap().flush().unwrap();
}

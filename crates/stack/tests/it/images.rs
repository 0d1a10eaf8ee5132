//! `image(…)` in stack text: the disk in a disk image.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use block::{Blocking, Error, ErrorKind, Reactor};
use stack::{BuildContext, OpenFiles, Stack, parse_and_build};

/// Opens what it is asked for, and notes whether it was as an image.
#[derive(Default)]
struct Files(Mutex<Vec<(String, bool)>>);

impl Files {
    fn note(&self, path: &Path, is_image: bool, read_only: bool) -> Result<File, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.0.lock().unwrap().push((name, is_image));
        let file = OpenOptions::new().read(true).write(!read_only).open(path);
        file.map_err(|error| Error::from_io(path.display().to_string(), error))
    }
}

impl OpenFiles for Files {
    fn open(&self, path: &Path, read_only: bool, create: Option<u64>) -> Result<File, Error> {
        assert!(read_only && create.is_none(), "{}: opened for writing", path.display());
        self.note(path, false, true)
    }

    fn open_disk_image(&self, path: &Path, read_only: bool) -> Result<File, Error> {
        self.note(path, true, read_only)
    }
}

fn build(text: &str, files: &Files) -> Result<Stack, Error> {
    let context = BuildContext { seed: 1, emulate: true, ..BuildContext::new(files) };
    parse_and_build(text, &context)
}

#[test]
fn the_disk_in_an_image_is_a_device_that_is_only_read() {
    if Command::new("qemu-img").arg("--version").output().is_err() {
        testkit::missing!("qemu-img is not installed: see tools/packages.txt");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let bytes: Vec<u8> = (0..1_u32 << 20).map(|at| (at / 512) as u8).collect();
    fs::write(at("base.img"), &bytes).unwrap();
    let made = Command::new("sh")
        .args([
            "-ec",
            "qemu-img convert -f raw -O qcow2 base.img base.qcow2; \
            qemu-img create -q -f qcow2 -b base.qcow2 -F qcow2 top.qcow2; \
            qemu-img convert -f raw -O vdi base.img base.vdi",
        ])
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(made.success());
    let text = |pattern: &str| pattern.replace('@', &format!("{}/", folder.path().display()));
    for (pattern, opened) in [
        ("image(@base.qcow2)", vec![("base.qcow2", true)]),
        ("image(@base.vdi)", vec![("base.vdi", true)]),
        ("image(@top.qcow2, image(@base.qcow2))", vec![("top.qcow2", true), ("base.qcow2", true)]),
        ("image(@top.qcow2, @base.img)", vec![("top.qcow2", true), ("base.img", false)]),
        ("overlay(ram:8MiB, image(@base.qcow2))", vec![("base.qcow2", true)]),
    ] {
        let files = Files::default();
        let stack = build(&text(pattern), &files).expect(pattern);
        let found = files.0.into_inner().unwrap();
        let found: Vec<_> = found.iter().map(|(name, is_image)| (&**name, *is_image)).collect();
        assert_eq!(found, opened, "{pattern}");
        let reactor = Reactor::wall().unwrap();
        let mut found = vec![0; bytes.len()];
        Blocking::open(&*stack.device, &reactor).unwrap().read_slice(0, &mut found).unwrap();
        assert!(found == bytes, "{pattern}");
        assert_eq!(stack.device.info().read_only, !pattern.contains("overlay"), "{pattern}");
        let described = stack.device.describe().to_string();
        if !pattern.contains("overlay") {
            build(&described, &Files::default()).expect("what it says of itself");
        }
    }
    for (pattern, kind, words) in [
        ("image(@top.qcow2)", ErrorKind::Refused, "it lies over `base.qcow2`"),
        ("image(@base.qcow2, @base.img)", ErrorKind::Invalid, "it lies over no other disk"),
        ("image(@base.img)", ErrorKind::Invalid, "it is no qcow2"),
        ("image(@top.qcow2, image(@top.qcow2))", ErrorKind::Invalid, "twice"),
        ("image(snapshot=x, @base.qcow2)", ErrorKind::Invalid, "no snapshot `x`"),
        ("image(snapshot=x, @base.vdi)", ErrorKind::Invalid, "no snapshots"),
    ] {
        let files = Files::default();
        let error = build(&text(pattern), &files).map(drop).expect_err(pattern);
        assert_eq!(error.kind(), kind, "{pattern}: {error}");
        assert!(error.to_string().contains(words), "{pattern}: {error}");
        let opened = files.0.into_inner().unwrap();
        assert!(
            pattern != "image(@top.qcow2)" || opened == [("top.qcow2".to_owned(), true)],
            "{opened:?}"
        );
    }
}

#[test]
fn what_is_written_goes_into_the_image_whose_file_grows_by_that() {
    if Command::new("qemu-img").arg("--version").output().is_err() {
        testkit::missing!("qemu-img is not installed: see tools/packages.txt");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let shell = |line: &str| {
        let ended = Command::new("sh").args(["-ec", line]).current_dir(folder.path()).status();
        assert!(ended.unwrap().success(), "{line}");
    };
    fs::write(at("base.img"), vec![5; 1 << 20]).unwrap();
    shell("qemu-img create -q -f qcow2 -b base.img -F raw top.qcow2 1G");
    let text = |pattern: &str| pattern.replace('@', &format!("{}/", folder.path().display()));
    let before = fs::read(at("top.qcow2")).unwrap();
    let reactor = Reactor::wall().unwrap();
    // Refused after the image's own tables were looked at: nothing has changed.
    for (pattern, words) in [
        ("image(write=yes, @top.qcow2)", "it lies over `base.img`"),
        ("image(write=yes, snapshot=x, @top.qcow2, @base.img)", "exclude one another"),
    ] {
        let error = build(&text(pattern), &Files::default()).map(drop).expect_err(pattern);
        assert!(error.to_string().contains(words), "{error}");
        assert!(fs::read(at("top.qcow2")).unwrap() == before, "{pattern}");
    }
    // Below an overlay it is only read.
    let over = build(
        &text("overlay(ram:2GiB, image(write=yes, @top.qcow2, @base.img))"),
        &Files::default(),
    );
    drop(over.unwrap());
    assert!(fs::read(at("top.qcow2")).unwrap() == before);
    let stack = build(&text("image(write=yes, @top.qcow2, @base.img)"), &Files::default()).unwrap();
    assert!(!stack.device.info().read_only);
    let described = stack.device.describe().to_string();
    assert!(described.contains("write=yes"), "{described}");
    let mut channel = Blocking::open(&*stack.device, &reactor).unwrap();
    channel.write_slice(4096, &[7; 8192]).unwrap();
    channel.write_slice(700 << 20, &[8; 4096]).unwrap();
    channel.flush().unwrap();
    let length = at("top.qcow2").metadata().unwrap().len();
    assert!(length < 1 << 20, "it grows as it is written: {length}");
    drop((channel, stack));
    assert!(fs::read(at("base.img")).unwrap() == vec![5; 1 << 20]);
    shell(
        "qemu-img check -q top.qcow2; qemu-io -r -c 'read -P 5 0 4k' -c 'read -P 7 4k 8k' \
        -c 'read -P 5 12k 64k' -c 'read -P 8 700M 4k' -c 'read -P 0 701M 4k' top.qcow2 | \
        { ! grep -q failed; }",
    );
}

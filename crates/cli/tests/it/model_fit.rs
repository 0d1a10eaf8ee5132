//! `raidloom model fit --device` of a block device: what it may write to.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::suites::disk::{RawDisk, is_possible, succeed};

const MIB: u64 = 1 << 20;

fn fit(folder: &Path, device: &Path, more: &[&str]) -> Output {
    fit_in("5min", folder, device, more)
}

fn fit_in(time: &str, folder: &Path, device: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raidloom"));
    command.args(["model", "fit", "--time", time, "--device"]).arg(device).args(more);
    command.current_dir(folder).output().unwrap()
}

/// "Reads only, unless a scratch range or file is named under the guard's rules."
#[test]
fn a_block_device_is_written_to_by_consent_and_within_the_range() {
    if !is_possible("model fit on a block device", &["mkfs.ext4"]) {
        return;
    }
    let (disk, folder) = (RawDisk::new(1024), tempfile::tempdir().unwrap());
    let (device, folder) = (disk.path(), folder.path());
    let at = device.display().to_string();
    let refused = |more: &[&str], why: &str| {
        let output = fit(folder, device, more);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{more:?}: {said}");
        assert!(said.contains(why) && said.lines().count() == 1, "{more:?}: {said}");
    };
    let range = ["--scratch", "256MiB+512MiB"];
    let agreed = [range[0], range[1], "--allow-device", &at];
    refused(&range, "--allow-device");
    succeed(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(device));
    refused(&agreed, "it carries a signature: ext2/ext3/ext4");
    let point = folder.join("mounted");
    std::fs::create_dir(&point).unwrap();
    succeed(Command::new("mount").arg(device).arg(&point));
    let mounted = Unmounting(&point);
    refused(&agreed, &format!("mounted at {}; unmount it first", point.display()));
    drop(mounted);
    succeed(Command::new("wipefs").args(["-q", "--all"]).arg(device));

    let file = OpenOptions::new().read(true).write(true).open(device).unwrap();
    let planted = vec![0xa5; MIB as usize];
    let [before, within, behind] = [255, 400, 768].map(|place| place * MIB);
    for place in [before, within, behind] {
        file.write_all_at(&planted, place).unwrap();
    }
    file.sync_all().unwrap();
    // A file in memory has no cells that could be seen; its samples are kept all the same.
    let output = fit(folder, device, &agreed);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("by writes over 512MiB from byte 268435456 on"), "{said}");
    let name = device.file_name().unwrap().to_str().unwrap();
    let samples = std::fs::read_to_string(folder.join(format!("{name}.samples.csv"))).unwrap();
    assert!(samples.contains("\nstream_write,31,"), "{said}");
    let mut held = planted.clone();
    for (place, is_kept) in [(before, true), (within, false), (behind, true)] {
        OpenOptions::new()
            .read(true)
            .open(device)
            .unwrap()
            .read_exact_at(&mut held, place)
            .unwrap();
        assert_eq!(held == planted, is_kept, "at byte {place}");
    }
    // What was measured is not measured again over it.
    let again = fit(folder, device, &agreed);
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(again.status.code(), Some(2), "{said}");
    assert!(said.contains("it is there already; move it away"), "{said}");
}

/// A drive that is mounted is written to through a file of its own, which is gone at the end.
#[test]
fn a_mounted_drive_is_written_to_through_a_file() {
    if !is_possible("model fit on a mounted device", &["mkfs.ext4", "filefrag"]) {
        return;
    }
    let (disk, folder) = (RawDisk::new(1200), tempfile::tempdir().unwrap());
    let (device, folder) = (disk.path(), folder.path());
    let point = folder.join("mounted");
    std::fs::create_dir(&point).unwrap();
    // Without copies of the file system's head in the way.
    let features = ["-q", "-F", "-O", "^has_journal,sparse_super2", "-E", "num_backup_sb=0"];
    succeed(Command::new("mkfs.ext4").args(features).arg(device));
    succeed(Command::new("mount").arg(device).arg(&point));
    let mounted = Unmounting(&point);
    let planted: Vec<u8> = (0..4 * MIB).map(|byte| (byte * 7 % 251) as u8).collect();
    std::fs::write(point.join("precious"), &planted).unwrap();

    let elsewhere = fit(folder, device, &["--scratch", "./scratch"]);
    let said = String::from_utf8_lossy(&elsewhere.stderr).into_owned();
    assert_eq!(elsewhere.status.code(), Some(2), "{said}");
    assert!(said.contains("it would not lie on"), "{said}");
    let precious = point.join("precious").display().to_string();
    let refused = fit(folder, device, &["--scratch", &precious]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(4) && said.contains("it is there already"), "{said}");

    let scratch = point.join("scratch").display().to_string();
    // A file takes longer than that, and its making is part of the time.
    let late = fit_in("1us", folder, device, &["--scratch", &scratch]);
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(late.status.code() == Some(1) && said.contains("all of the time that"), "{said}");
    assert!(!Path::new(&scratch).exists());
    let output = fit(folder, device, &["--scratch", &scratch]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("by reads, and by writes over "), "{said}");
    let name = device.file_name().unwrap().to_str().unwrap();
    let samples = std::fs::read_to_string(folder.join(format!("{name}.samples.csv"))).unwrap();
    assert!(samples.contains("\nstream_write,15,"), "{said}");
    let names: Vec<_> =
        std::fs::read_dir(&point).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name != "scratch"), "{names:?}");
    assert!(std::fs::read(point.join("precious")).unwrap() == planted);
    drop(mounted);
    succeed(Command::new("e2fsck").args(["-f", "-n"]).arg(device));
}

/// Unmounts it at the end.
struct Unmounting<'a>(&'a Path);

impl Drop for Unmounting<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

//! Every refusal, and that nothing was written.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::Command;

use super::*;

const SIZE: u64 = 2 << 20;

fn guard() -> Guard {
    Guard::new(Consent::default())
}

/// A file with a planted mark, and its whole content.
fn file_with(folder: &Path, name: &str, offset: u64, bytes: &[u8]) -> (PathBuf, Vec<u8>) {
    let path = folder.join(name);
    let file = File::create(&path).unwrap();
    file.set_len(SIZE).unwrap();
    file.write_all_at(bytes, offset).unwrap();
    (path.clone(), fs::read(path).unwrap())
}

/// Asserts that the guard refuses to write to `path` for a reason, and leaves every byte as it was.
#[track_caller]
fn assert_refused(guard: &Guard, path: &Path, reason: &str) {
    let before =
        fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|_| fs::read(path).unwrap());
    for result in [guard.open(path, Access::Write).map(drop), guard.check(path)] {
        let error = result.expect_err("must be refused");
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        let text = error.to_string();
        assert!(text.contains(reason) && text.contains(&*path.to_string_lossy()), "{text}");
    }
    assert_eq!(
        before,
        fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|_| fs::read(path).unwrap()),
        "{} was changed",
        path.display()
    );
}

#[test]
fn a_file_with_a_signature_is_refused_and_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let (path, before) = file_with(folder.path(), "image", 0, b"XFSB");
    assert_refused(&guard(), &path, "it carries a signature: XFS");
    assert_eq!(fs::read(&path).unwrap(), before);
    let (path, _) = file_with(folder.path(), "member", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]);
    assert_refused(&guard(), &path, "md array member (version 1.2)");
}

#[test]
fn consent_to_erase_a_signature_opens_it_and_writes_nothing_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (path, before) = file_with(folder.path(), "image", 0, b"XFSB");
    let guard = Guard::new(Consent { erase_signature: true, ..Consent::default() });
    let file = guard.open(&path, Access::Write).unwrap();
    drop(file);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn reading_is_never_refused_for_what_is_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file_with(folder.path(), "image", 0, b"XFSB");
    let file = guard().open(&path, Access::Read).unwrap();
    assert!(file.write_at(b"x", 0).is_err(), "the file must not be open for writing");
    let (first, second) = (guard(), guard());
    let _first = first.open(&path, Access::Read).unwrap();
    let second = second.open(&path, Access::Read);
    assert!(second.is_ok(), "many may read");
}

#[test]
fn folders_pipes_and_character_devices_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_refused(&guard(), folder.path(), "it is a folder");
    assert_refused(&guard(), Path::new("/dev/null"), "neither a file nor a block device");
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert_refused(&guard(), &pipe, "neither a file nor a block device");
    assert_eq!(guard().open(folder.path(), Access::Read).unwrap_err().kind(), ErrorKind::Refused);
}

#[test]
fn what_is_not_there_and_what_may_not_be_written_is_said() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        guard().open(&folder.path().join("none"), Access::Write).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let (path, _) = file_with(folder.path(), "locked", 0, b"");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert_refused(&guard(), &path, "it is read-only");
}

#[test]
fn a_file_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file_with(folder.path(), "member", 0, b"");
    let owner = guard();
    let _file = owner.open(&path, Access::Write).unwrap();
    owner.open(&path, Access::Write).expect("the same owner, for the next visit");
    let text = guard().open(&path, Access::Write).unwrap_err().to_string();
    assert!(text.contains("it is in use") && text.contains("named twice"), "{text}");
    assert_eq!(guard().open(&path, Access::Read).unwrap_err().kind(), ErrorKind::Refused);
    drop(owner);
    guard().open(&path, Access::Write).unwrap();
}

/// A ring goes on holding its files for a moment after it was closed; the lock must not.
#[test]
fn a_guard_that_is_gone_leaves_no_lock_even_where_the_file_is_still_open() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file_with(folder.path(), "member", 0, b"");
    let _still_open = guard().open(&path, Access::Write).unwrap();
    guard().open(&path, Access::Write).unwrap();
}

#[test]
fn what_will_pass_is_waited_for_and_what_will_not_is_told_at_once() {
    let attempts = std::cell::Cell::new(0);
    let third_time = || {
        attempts.set(attempts.get() + 1);
        if attempts.get() == 3 { Ok(()) } else { Err("busy") }
    };
    assert_eq!(patiently(5, third_time, |_| true), Ok(()));
    attempts.set(0);
    assert_eq!(patiently(5, third_time, |_| false), Err("busy"));
    assert_eq!(attempts.get(), 1);
}

#[test]
fn a_made_file_is_allocated_noted_while_empty_and_never_made_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let (guard, path) = (guard(), folder.path().join("member"));
    let mut noted_bytes = None;
    let note = |file: &File| {
        noted_bytes = Some(file.metadata().unwrap().len());
        Ok::<(), Error>(())
    };
    guard.make_file(&path, SIZE, note).unwrap();
    assert_eq!(noted_bytes, Some(0));
    let data = fs::metadata(&path).unwrap();
    assert_eq!((data.len(), data.blocks() * 512 >= SIZE, data.mode() & 0o777), (SIZE, true, 0o600));
    let again = guard.make_file(&path, SIZE, |_| Ok::<(), Error>(())).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Refused);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
    assert_eq!(
        guard.make_file(&link, SIZE, |_| Ok::<(), Error>(())).unwrap_err().kind(),
        ErrorKind::Refused
    );
    assert!(!folder.path().join("elsewhere").exists(), "a link was followed");
}

#[test]
fn a_kept_file_is_sparse_stays_and_is_left_as_it_is_when_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("delta");
    let guard = guard();
    let file = stack::OpenFiles::open_kept(&guard, &path, 1 << 30).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 1 << 30);
    assert!(
        std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) < 2048,
        "it takes room"
    );
    file.write_all_at(b"kept", 0).unwrap();
    assert_eq!(guard.remove_made(), Vec::<String>::new());
    let file = stack::OpenFiles::open_kept(&guard, &path, 4096).unwrap();
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!((&bytes, file.metadata().unwrap().len()), (b"kept", 1 << 30));
    let (signed, _) = file_with(folder.path(), "image", 0, b"XFSB");
    assert_eq!(
        stack::OpenFiles::open_kept(&guard, &signed, 0).unwrap_err().kind(),
        ErrorKind::Refused
    );
    // A store that raidloom has kept is gone on with there, and is somebody's elsewhere.
    for mark in ["raidloom cache\0\0", "raidloom overlay"] {
        std::fs::write(&signed, mark).unwrap();
        assert_refused(&guard, &signed, "of raidloom");
        stack::OpenFiles::open_kept(&guard, &signed, 0).unwrap();
        guard.let_go();
    }
}

#[test]
fn what_this_process_made_may_hold_anything() {
    let folder = tempfile::tempdir().unwrap();
    let (guard, path) = (guard(), folder.path().join("member"));
    guard.make_file(&path, SIZE, |_| Ok::<(), Error>(())).unwrap();
    guard.open(&path, Access::Write).unwrap().write_all_at(b"XFSB", 0).unwrap();
    guard.open(&path, Access::Write).unwrap();
    assert_refused(&Guard::new(Consent::default()), &path, "XFS");
}

/// Also where making one has failed half-way: what is left behind fills the disk.
#[test]
fn what_was_made_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let make = |guard: &Guard, name: &str, bytes: u64| {
        guard.make_file(&path(name), bytes, |_| Ok::<(), Error>(()))
    };
    let there = || {
        let mut names: Vec<String> = (fs::read_dir(folder.path()).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    File::create(path("empty")).unwrap();
    let guard = guard();
    make(&guard, "made", SIZE).unwrap();
    make(&guard, "empty", SIZE).unwrap();
    make(&guard, "huge", 1 << 60).unwrap_err();
    guard.make_kept_file(&path("kept"), SIZE).unwrap();
    fs::rename(path("made"), path("moved")).unwrap();
    fs::write(path("made"), b"another one").unwrap();
    assert_eq!(guard.remove_made(), Vec::<String>::new());
    assert_eq!(there(), ["empty", "kept", "made", "moved"]);
    assert_eq!(fs::metadata(path("empty")).unwrap().len(), 0, "it is empty again");
    assert_eq!(guard.undo_made(), Vec::<String>::new());
    assert_eq!(there(), ["empty", "made", "moved"]);
}

#[test]
fn a_full_disk_is_told_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let error = guard()
        .make_file(&folder.path().join("huge"), 1 << 60, |_| Ok::<(), Error>(()))
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NoSpace | ErrorKind::Invalid | ErrorKind::Other),
        "{error:?}"
    );
}

/// A disk in perfect order for erasing, but for the consent.
fn disk() -> Findings {
    let by_id = PathBuf::from("/dev/disk/by-id/ata-DISK_1234");
    Findings {
        named: by_id.clone(),
        kind: Kind::Device(DeviceNumber { major: 8, minor: 16 }),
        serial: Some("1234".into()),
        by_id: Some(by_id),
        ..Findings::default()
    }
}

#[test]
fn a_disk_needs_its_serial_number() {
    let text = guard().judge(&disk(), Access::Write).unwrap_err().to_string();
    assert!(text.contains("--erase 1234"), "{text}");
    let consent = |serial: &str| {
        Guard::new(Consent { erase_serials: vec![serial.into()], ..Consent::default() })
    };
    assert!(consent("1235").judge(&disk(), Access::Write).is_err());
    assert!(consent("123").judge(&disk(), Access::Write).is_err());
    assert!(consent("1234").judge(&disk(), Access::Write).is_ok());
    assert!(consent("").judge(&Findings { serial: None, ..disk() }, Access::Write).is_err());
    assert!(guard().judge(&disk(), Access::Read).is_ok(), "reading needs no consent");
}

/// "serials given to `--erase` that match nothing are ignored": neither they nor paths given to
/// `--allow-device` are.
#[test]
fn consent_that_matches_nothing_is_refused() {
    let text = |consent: Consent, seen: &[(&str, Option<&str>)]| {
        let guard = Guard::new(consent);
        lock_of(&guard.seen).extend(
            seen.iter().map(|(path, serial)| (PathBuf::from(path), serial.map(str::to_owned))),
        );
        guard.refuse_stray_consent().err().map(|error| error.to_string())
    };
    let erase = |serials: &[&str]| Consent {
        erase_serials: serials.iter().map(|serial| (*serial).to_owned()).collect(),
        ..Consent::default()
    };
    let disks = [("/dev/disk/by-id/ata-A", Some("1234")), ("/dev/loop7", None)];
    assert_eq!(text(erase(&["1234"]), &disks), None);
    assert_eq!(text(Consent::default(), &disks), None);
    let stray = text(erase(&["1234", "1243"]), &disks).unwrap();
    assert!(
        stray.contains("--erase 1243") && stray.contains("/dev/disk/by-id/ata-A has 1234"),
        "{stray}"
    );
    assert!(text(erase(&["1234"]), &[]).unwrap().contains("no block device is named"));
    let devices = |path: &str| Consent { devices: vec![path.into()], ..Consent::default() };
    assert_eq!(text(devices("/dev/loop7"), &disks), None);
    assert!(text(devices("/dev/loop8"), &disks).unwrap().contains("--allow-device /dev/loop8"));
}

#[test]
fn every_other_reason_outweighs_the_serial_number() {
    let guard = Guard::new(Consent { erase_serials: vec!["1234".into()], ..Consent::default() });
    let cases = [
        (Findings { named: "/dev/sdb".into(), ..disk() }, "use /dev/disk/by-id/ata-DISK_1234"),
        (
            Findings { named: "/dev/sdb".into(), by_id: None, ..disk() },
            "no name under /dev/disk/by-id",
        ),
        (Findings { mounted_at: vec!["/mnt".into()], ..disk() }, "mounted at /mnt"),
        (Findings { swap: true, ..disk() }, "swap"),
        (Findings { held_by: vec!["md0".into(), "dm-1".into()], ..disk() }, "md0, dm-1"),
        (
            Findings { carries: vec![catalogue::RUNNING_SYSTEM], ..disk() },
            "the running system lies on this disk",
        ),
        (Findings { read_only: true, ..disk() }, "read-only"),
        (Findings { signature: Some("LUKS"), ..disk() }, "LUKS"),
        (Findings { partitions: 2, ..disk() }, "2 partitions"),
    ];
    for (found, reason) in cases {
        let error = guard.judge(&found, Access::Write).expect_err(reason);
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(error.kind(), ErrorKind::Refused);
        // It is a value, said in the language of its reader.
        let said = error.text();
        let japanese = words::in_language(words::Language::Japanese, || error.to_string());
        assert!(!said.codes().is_empty() && japanese != said.english(), "{japanese}");
        assert!(japanese.chars().any(|letter| matches!(letter, '\u{3040}'..='\u{30ff}')));
        assert!(japanese.starts_with(&format!("{}: ", found.named.display())), "{japanese}");
    }
}

#[test]
fn consent_to_a_signature_is_no_consent_to_anything_else() {
    let guard = Guard::new(Consent {
        erase_serials: vec!["1234".into()],
        erase_signature: true,
        ..Consent::default()
    });
    assert!(
        guard
            .judge(&Findings { signature: Some("LUKS"), partitions: 2, ..disk() }, Access::Write)
            .is_ok()
    );
    for found in [
        Findings { mounted_at: vec!["/mnt".into()], ..disk() },
        Findings { swap: true, ..disk() },
        Findings { carries: vec![catalogue::RUN_FOLDER], ..disk() },
    ] {
        assert!(guard.judge(&found, Access::Write).is_err(), "{found:?}");
    }
}

#[test]
fn only_a_device_without_an_identity_may_be_named_by_path() {
    let device = Findings {
        named: "/dev/loop7".into(),
        kind: Kind::Device(DeviceNumber { major: 7, minor: 7 }),
        ..Findings::default()
    };
    let text = guard().judge(&device, Access::Write).unwrap_err().to_string();
    assert!(text.contains("--allow-device /dev/loop7"), "{text}");
    let consent = Guard::new(Consent {
        devices: vec!["/dev/loop7".into(), "/dev/sdb".into()],
        ..Consent::default()
    });
    assert!(consent.judge(&device, Access::Write).is_ok());
    assert!(
        consent
            .judge(&Findings { mounted_at: vec!["/mnt".into()], ..device }, Access::Write)
            .is_err()
    );
    assert!(
        consent.judge(&Findings { named: "/dev/sdb".into(), ..disk() }, Access::Write).is_err()
    );
}

#[test]
fn the_disk_of_the_running_system_is_refused() {
    let mounts = system::mounts();
    let Some(disk) = system::disks_under(&mounts, Path::new("/")).first().copied() else {
        testkit::skipped!("/ lies on no block device here");
        return;
    };
    let name =
        system::sys_folder(disk).unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let path = PathBuf::from(format!("/dev/{name}"));
    if File::open(&path).is_err() {
        testkit::skipped!("{} cannot be read here", path.display());
        return;
    }
    let guard = Guard::new(Consent {
        devices: vec![path.clone()],
        erase_signature: true,
        ..Consent::default()
    });
    assert_eq!(guard.open(&path, Access::Write).unwrap_err().kind(), ErrorKind::Refused);
    let found = guard.look(&path, &path, Access::Write).unwrap();
    assert!(found.carries.contains(&catalogue::RUNNING_SYSTEM), "{found:?}");
}

/// A loop device over a file, detached at the end.
struct Loop {
    device: PathBuf,
    mounted_at: Option<PathBuf>,
}

impl Loop {
    fn attach(file: &Path) -> Option<Loop> {
        Loop::attach_part(file, &[])
    }

    fn attach_part(file: &Path, part: &[&str]) -> Option<Loop> {
        let mut losetup = Command::new("losetup");
        let output = losetup.args(["--find", "--show"]).args(part).arg(file).output().ok()?;
        let device = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        if output.status.success() && !device.is_empty() {
            return Some(Loop { device: device.into(), mounted_at: None });
        }
        testkit::skipped!("no loop device to be had: {}", String::from_utf8_lossy(&output.stderr));
        None
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Some(point) = &self.mounted_at {
            let _ = Command::new("umount").arg(point).status();
        }
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

#[test]
fn a_loop_device_its_file_and_a_mount_of_it_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let Some(mut loop_device) = Loop::attach(&image) else { return };
    let path = loop_device.device.clone();
    assert_refused(&guard(), &path, "--allow-device");
    assert_refused(&guard(), &image, &format!("in use by {}", path.display()));

    let guard = Guard::new(Consent { devices: vec![path.clone()], ..Consent::default() });
    let owner = Guard::new(Consent { devices: vec![path.clone()], ..Consent::default() });
    let file = owner.open(&path, Access::Write).expect("an empty loop device with consent");
    assert!(guard.open(&path, Access::Write).is_err(), "O_EXCL: one owner");
    drop((file, owner));

    if !Command::new("mkfs.ext4").arg("-q").arg(&path).status().is_ok_and(|status| status.success())
    {
        testkit::skipped!("no mkfs.ext4");
        return;
    }
    assert_refused(&guard, &path, "it carries a signature: ext2/ext3/ext4");
    let point = folder.path().join("mounted");
    fs::create_dir(&point).unwrap();
    if !Command::new("mount").arg(&path).arg(&point).status().is_ok_and(|status| status.success()) {
        testkit::skipped!("mounting is not permitted here");
        return;
    }
    loop_device.mounted_at = Some(point.clone());
    let all = Guard::new(Consent {
        devices: vec![path.clone()],
        erase_signature: true,
        ..Consent::default()
    });
    assert_refused(&all, &path, &format!("mounted at {}", point.display()));
}

/// Whoever agrees to all that can be agreed to for one device.
fn consenting(device: &Path) -> Guard {
    Guard::new(Consent {
        devices: vec![device.to_owned()],
        erase_signature: true,
        ..Consent::default()
    })
}

/// A loop device is its file by another name: what uses the file's bytes uses it.
#[test]
fn a_loop_device_is_refused_for_the_users_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();

    // Another raidloom has the file, as a member of an array that runs.
    let owner = guard();
    owner.open(&image, Access::Write).unwrap();
    let Some(mut one) = Loop::attach(&image) else { return };
    let device = one.device.clone();
    let reason = format!("in use by process {}", std::process::id());
    assert_refused(&consenting(&device), &device, &reason);
    drop(owner);
    consenting(&device).check(&device).expect("nothing uses the file any more");

    let Some(other) = Loop::attach(&image) else { return };
    let second = other.device.clone();
    let reason = format!("in use by {}", device.display());
    assert_refused(&consenting(&second), &second, &reason);
    let twice = |paths: [&Path; 2]| stack::Identity::same_twice(paths).is_some();
    assert!(twice([&device, &second]) && twice([&image, &second]));

    let run = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let point = folder.path().join("mounted");
    fs::create_dir(&point).unwrap();
    if !run(Command::new("mkfs.ext4").arg("-q").arg(&device))
        || !run(Command::new("mount").arg(&device).arg(&point))
    {
        return testkit::skipped!("no mkfs.ext4, or mounting is not permitted here");
    }
    one.mounted_at = Some(point.clone());
    assert_refused(&consenting(&second), &second, &format!("mounted at {}", point.display()));
}

#[test]
fn loop_devices_over_parts_of_a_file_that_do_not_overlap_are_two() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let part = |offset: u64, bytes: u64| {
        let (offset, bytes) = (format!("--offset={offset}"), format!("--sizelimit={bytes}"));
        Loop::attach_part(&image, &[&offset, &bytes])
    };
    let Some(first) = part(0, 8 << 20) else { return };
    let Some(second) = part(8 << 20, 8 << 20) else { return };
    for own in [&first.device, &second.device] {
        consenting(own).check(own).expect("the other has other bytes");
    }
    let twice = |paths: [&Path; 2]| stack::Identity::same_twice(paths).is_some();
    assert!(!twice([&first.device, &second.device]));
    let Some(third) = part(4 << 20, 0) else { return };
    for (own, reason) in [(&first, &third), (&second, &third), (&third, &first)] {
        let reason = reason.device.display().to_string();
        assert_refused(&consenting(&own.device), &own.device, &reason);
    }
    assert!(twice([&first.device, &third.device]));
}

#[test]
fn what_is_used_in_place_may_carry_data_and_is_refused_for_everything_else() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file_with(folder.path(), "image", 0, b"XFSB");
    let in_place = || Guard::new(Consent { in_place: true, ..Consent::default() });
    assert_eq!(guard().open(&path, Access::Write).unwrap_err().kind(), ErrorKind::Refused);
    let owner = in_place();
    owner.open(&path, Access::Write).unwrap();
    assert!(
        in_place().open(&path, Access::Write).unwrap_err().to_string().contains("it is in use")
    );
    drop(owner);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert_refused(&in_place(), &path, "it is read-only");
    let disk = |mounted_at: Vec<PathBuf>| Findings {
        named: PathBuf::from("/dev/disk/by-id/ata-X"),
        kind: Kind::Device(DeviceNumber { major: 8, minor: 0 }),
        mounted_at,
        signature: Some("XFS"),
        partitions: 2,
        ..Findings::default()
    };
    in_place().judge(&disk(Vec::new()), Access::Write).unwrap();
    assert!(in_place().judge(&disk(vec!["/mnt".into()]), Access::Write).is_err());
}

/// A file is in use by whatever name it is called: another name in the same folder, a folder that
/// is mounted elsewhere as well.
#[test]
fn a_file_under_a_loop_device_is_refused_by_each_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let link = folder.path().join("link");
    fs::hard_link(&image, &link).unwrap();
    let Some(device) = Loop::attach(&image) else { return };
    let reason = format!("in use by {}", device.device.display());
    for consent in [
        Consent::default(),
        Consent { in_place: true, erase_signature: true, ..Consent::default() },
    ] {
        assert_refused(&Guard::new(consent.clone()), &image, &reason);
        assert_refused(&Guard::new(consent), &link, &reason);
    }
    let renamed = folder.path().join("renamed");
    fs::rename(&image, &renamed).unwrap();
    fs::write(&image, "another file by the old name").unwrap();
    assert_refused(&guard(), &renamed, &reason);
    guard().check(&image).expect("the name alone is nothing");
    let bound = Bound::make(folder.path());
    if let Some(bound) = &bound {
        assert_refused(&guard(), &bound.0.path().join("link"), &reason);
    }
}

/// A folder that is mounted a second time, until this is dropped.
struct Bound(tempfile::TempDir);

impl Bound {
    fn make(folder: &Path) -> Option<Bound> {
        let point = tempfile::tempdir().unwrap();
        if Command::new("mount")
            .arg("--bind")
            .arg(folder)
            .arg(point.path())
            .status()
            .is_ok_and(|status| status.success())
        {
            return Some(Bound(point));
        }
        testkit::skipped!("mounting is not permitted here");
        None
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_loop_device_under_another_is_refused_by_each_of_its_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let Some(below) = Loop::attach(&image) else { return };
    let Some(above) = Loop::attach(&below.device) else { return };
    let node = folder.path().join("node");
    let number = fs::metadata(&below.device).unwrap().rdev();
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        &node,
        rustix::fs::FileType::BlockDevice,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        number,
    );
    made.expect("whoever may make loop devices may make a node");
    for path in [&below.device, &node] {
        let consent = Consent {
            devices: vec![path.clone()],
            in_place: true,
            erase_signature: true,
            ..Consent::default()
        };
        let error =
            Guard::new(consent).check(path).expect_err("the device above stands on it").to_string();
        // A node on a file system that is mounted without devices cannot be opened at all.
        assert!(
            error.contains(&format!("in use by {}", above.device.display()))
                || error.contains("ermission"),
            "{error}"
        );
    }
}

#[test]
fn a_swap_file_is_refused_by_each_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("swap");
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let run = |tool: &str| {
        Command::new(tool).arg(&path).output().is_ok_and(|output| output.status.success())
    };
    if !run("mkswap") || !run("swapon") {
        testkit::skipped!("no swap to be had on {}", path.display());
        return;
    }
    let link = folder.path().join("link");
    fs::hard_link(&path, &link).unwrap();
    let consent = Consent { in_place: true, ..Consent::default() };
    let errors = [&path, &link]
        .map(|path| Guard::new(consent.clone()).check(path).map_err(|error| error.to_string()));
    assert!(run("swapoff"));
    for error in errors {
        assert!(error.as_ref().is_err_and(|text| text.contains("in use as swap")), "{error:?}");
    }
}

/// QEMU locks the images that it runs on so. What is opened and closed in the process that holds
/// such a lock gives it up.
#[test]
fn a_file_that_a_program_has_locked_in_part_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file_with(folder.path(), "image", 0, b"");
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let users = || users::of(&file.metadata().unwrap(), &path, &[]);
    assert_eq!(users(), users::Users::default());
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let process = std::process::id();
    let held_by = vec![statement!(catalogue::LOCKED_BY_PROCESS, process = process)];
    assert_eq!(users(), users::Users { held_by: held_by.clone(), ..users::Users::default() });
    let found = Findings { held_by, ..Findings::default() };
    assert!(
        guard()
            .judge(&found, Access::Write)
            .unwrap_err()
            .to_string()
            .contains("it is in use by process")
    );
}

/// Taken for the bytes of a disk, a dynamic image shows another disk, and one write destroys it.
#[test]
fn a_disk_image_is_not_used_as_the_disk_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let in_place = |raw: bool| {
        Guard::new(Consent { in_place: true, erase_signature: true, raw, ..Consent::default() })
    };
    let images: [(&str, u64, &[u8]); 8] = [
        ("VHD image", 0, b"conectix"),
        ("VHD image of fixed size", SIZE - 512, b"conectix"),
        ("VHD image of fixed size", SIZE - 511, b"conectix"),
        ("VHDX image", 0, b"vhdxfile"),
        ("qcow2 image", 0, b"QFI\xfb\0\0\0\x03"),
        ("VDI image", 64, &[0x7f, 0x10, 0xda, 0xbe]),
        ("VMDK image", 0, b"KDMV"),
        ("DMG image", SIZE - 512, b"koly"),
    ];
    for (name, offset, bytes) in images {
        let (path, before) = file_with(folder.path(), "image", offset, bytes);
        assert_refused(
            &in_place(false),
            &path,
            &format!("it is a {name}, not the bytes of the disk in it"),
        );
        for refused in [in_place(false).open(&path, Access::Read), guard().open_image(&path)] {
            let error = refused.expect_err(name);
            assert!(
                error.kind() == ErrorKind::Refused
                    && error.to_string().contains("--raw takes it as it is"),
                "{error}"
            );
        }
        in_place(true).open(&path, Access::Write).expect(name);
        in_place(true).open(&path, Access::Read).expect(name);
        Guard::new(Consent { raw: true, ..Consent::default() }).open_image(&path).expect(name);
        // What is to be overwritten is no disk any more, and its consent names what is lost.
        assert_refused(&guard(), &path, "it carries a signature");
        guard().open(&path, Access::Read).expect("bytes are bytes");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let (path, _) = file_with(folder.path(), "raw", 0, b"XFSB");
    in_place(false).open(&path, Access::Write).expect("the bytes of a disk");
    guard().open_image(&path).expect("the bytes of a disk");
}

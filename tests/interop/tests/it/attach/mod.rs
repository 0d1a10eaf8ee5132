//! Arrays as ordinary drives: the file systems of others on what raidloom attaches, used by the
//! programs of others.

#![expect(clippy::print_stdout, reason = "says with what seed it ran and what it found")]

mod cached;
mod crash;
mod members;
pub(crate) mod room;
mod ublk;
mod udev;
mod uml;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use room::{Room, is_possible, kernel_knows, run, succeed};

/// What git's own check says of a clone: nothing.
fn check_clone(checkout: &Path) {
    let [folder, check, full, quiet] = ["-C", "fsck", "--full", "--no-progress"].map(OsStr::new);
    succeed("git", [folder, checkout.as_os_str(), check, full, quiet]);
}

/// A file system, and what its own tools say about it.
struct FileSystem {
    name: &'static str,
    /// What the kernel calls its driver.
    driver: &'static str,
    /// The least that an array has to hold, in MiB.
    size_mib: u64,
    /// Looks it over without changing anything; fails when it is not clean.
    check: &'static [&'static str],
    /// Programs it needs, and their packages.
    programs: &'static [(&'static str, &'static str)],
    /// Whether files take direct I/O.
    direct: bool,
}

const E2FSCK: &[&str] = &["e2fsck", "-fn"];
const E2FSPROGS: &[(&str, &str)] = &[("mkfs.ext4", "e2fsprogs")];

const FILE_SYSTEMS: &[FileSystem] = &[
    FileSystem {
        name: "ext4",
        driver: "ext4",
        size_mib: 128,
        check: E2FSCK,
        programs: E2FSPROGS,
        direct: true,
    },
    FileSystem {
        name: "ext3",
        driver: "ext3",
        size_mib: 128,
        check: E2FSCK,
        programs: E2FSPROGS,
        direct: true,
    },
    FileSystem {
        name: "ext2",
        driver: "ext2",
        size_mib: 128,
        check: E2FSCK,
        programs: E2FSPROGS,
        direct: true,
    },
    FileSystem {
        name: "xfs",
        driver: "xfs",
        size_mib: 320,
        check: &["xfs_repair", "-n"],
        programs: &[("mkfs.xfs", "xfsprogs")],
        direct: true,
    },
    FileSystem {
        name: "btrfs",
        driver: "btrfs",
        size_mib: 256,
        check: &["btrfs", "check", "--readonly"],
        programs: &[("mkfs.btrfs", "btrfs-progs")],
        direct: true,
    },
    FileSystem {
        name: "ntfs",
        driver: "fuseblk",
        size_mib: 128,
        check: &["ntfsfix", "--no-action"],
        programs: &[("ntfs-3g", "ntfs-3g")],
        direct: false,
    },
];

const COMMON: &[(&str, &str)] = &[("losetup", "mount"), ("git", "git"), ("fio", "fio")];

/// This repository, as it was committed.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where two folders differ; `None` when they do not.
fn difference(first: &Path, second: &Path) -> Option<String> {
    run(
        "diff",
        [
            OsStr::new("--recursive"),
            OsStr::new("--no-dereference"),
            first.as_os_str(),
            second.as_os_str(),
        ],
    )
    .err()
}

fn fio(folder: &Path, direct: bool, seed: u64, more: &[&str]) {
    let engine: &[&str] = if direct {
        &["--direct=1", "--ioengine=libaio", "--iodepth=16"]
    } else {
        &["--ioengine=psync"]
    };
    let mut arguments: Vec<String> = [
        "--name=verify",
        "--size=8m",
        "--bsrange=4k-64k",
        "--rw=randwrite",
        "--verify=crc32c",
        "--do_verify=1",
    ]
    .iter()
    .chain(&["--verify_fatal=1", "--verify_state_save=0", "--fsync=64", "--output-format=terse"])
    .chain(engine)
    .map(ToString::to_string)
    .collect();
    arguments.extend([format!("--directory={}", folder.display()), format!("--randseed={seed}")]);
    // A file's name counts in the folder that was named before it.
    arguments.extend(more.iter().map(ToString::to_string));
    succeed("fio", arguments);
}

/// What people do with a drive: everything has to be there afterwards, and the file system's own
/// tools find no fault.
fn use_file_system(room: &Room, layout: &str, stack: &str, file_system: &FileSystem, clone: &Path) {
    let name = format!("{layout}-{}", file_system.name);
    println!("{name}: {stack}");
    let running = room.start(&name, stack);
    let point = room.mount(&running, file_system.name);
    // fio takes no more than 63 bits.
    let seed = fastrand::u64(..) >> 1;
    println!("{name}: seed {seed}");

    let (checkout, copy) = (point.join("clone"), point.join("copy"));
    succeed(
        "git",
        [OsStr::new("clone"), OsStr::new("--quiet"), clone.as_os_str(), checkout.as_os_str()],
    );
    succeed("cp", [OsStr::new("-a"), checkout.as_os_str(), copy.as_os_str()]);
    fio(&point, file_system.direct, seed, &[]);
    let (fsx, seed) = (point.join("fsx"), seed.to_string());
    let arguments = [
        OsStr::new("--operations"),
        OsStr::new("500"),
        OsStr::new("--seed"),
        OsStr::new(&seed),
        fsx.as_os_str(),
    ];
    println!("{name}: fsx: {}", succeed(env!("CARGO_BIN_EXE_fsx"), arguments).trim());

    room.unmount(&running);
    let check =
        file_system.check[1..].iter().map(OsStr::new).chain([running.block_device.as_os_str()]);
    succeed(file_system.check[0], check);

    // Nothing of it is cached any more: what is read now has been through the array and back.
    let point = room.mount(&running, file_system.name);
    let (checkout, copy) = (point.join("clone"), point.join("copy"));
    if let Some(difference) = difference(&checkout, &copy) {
        panic!("{name}: {difference}");
    }
    check_clone(&checkout);
    let changed = succeed(
        "git",
        [OsStr::new("-C"), checkout.as_os_str(), OsStr::new("status"), OsStr::new("--porcelain")],
    );
    assert_eq!(changed, "", "{name}: git finds its files changed");
    room.unmount(&running);
    room.stop(&running);
}

/// All file systems over one layout.
fn use_layout(level: &str, members: usize) {
    let layout = format!("level-{level}");
    if !is_possible(&layout, COMMON) {
        return;
    }
    let room = Room::new();
    // Without links into the repository: its objects are to be read from there once and from the
    // array ever after.
    let clone = room.path("repository");
    let from = repository();
    succeed(
        "git",
        [
            OsStr::new("clone"),
            OsStr::new("--quiet"),
            OsStr::new("--bare"),
            OsStr::new("--no-hardlinks"),
            from.as_os_str(),
            clone.as_os_str(),
        ],
    );
    for file_system in FILE_SYSTEMS {
        let test = format!("{layout}, {}", file_system.name);
        if !is_possible(&test, file_system.programs) {
            continue;
        }
        if !kernel_knows(file_system.driver) {
            testkit::missing!("{test}: this kernel has no {}", file_system.driver);
            continue;
        }
        let data_members = if level == "5" { members - 1 } else { members } as u64;
        let name = format!("{layout}-{}", file_system.name);
        let member_mib = file_system.size_mib / data_members + 4;
        let stack = room.create(&name, level, members, member_mib);
        use_file_system(&room, &layout, &stack, file_system, &clone);
        if level == "5" {
            degraded(&room, &name, members, file_system);
        }
        assert_eq!(room.left_behind(), Vec::<String>::new(), "{name}");
        for number in 0..members {
            std::fs::remove_file(room.path(&format!("{name}.{number}"))).expect("a member");
        }
    }
}

/// What an array holds without one of its members: healthy reads never look at parity.
fn degraded(room: &Room, name: &str, members: usize, file_system: &FileSystem) {
    let absent = fastrand::usize(..members);
    println!("{name}: without member {absent}");
    let present: Vec<PathBuf> = (0..members)
        .filter(|number| *number != absent)
        .map(|number| room.path(&format!("{name}.{number}")))
        .collect();
    let running = room.start(name, &room.assembled(&present));
    let point = room.mount(&running, file_system.name);
    if let Some(difference) = difference(&point.join("clone"), &point.join("copy")) {
        panic!("{name} without member {absent}: {difference}");
    }
    let checkout = point.join("clone");
    check_clone(&checkout);
    room.unmount(&running);
    room.stop(&running);
}

#[test]
fn file_systems_on_a_linear_array() {
    use_layout("linear", 2);
}

#[test]
fn file_systems_on_a_striped_array() {
    use_layout("0", 3);
}

#[test]
fn file_systems_on_an_array_with_parity_whole_and_degraded() {
    use_layout("5", 3);
}

//! What the kernel says of mounts, swap and block devices, read from `/proc` and `/sys` and nothing
//! else.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stack::Identity;

/// Major and minor number of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// From the number that `stat` gives.
    pub fn from_raw(number: u64) -> DeviceNumber {
        DeviceNumber { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
    }

    /// As `stat` gives it.
    pub fn raw(self) -> u64 {
        rustix::fs::makedev(self.major, self.minor)
    }

    fn parse(text: &str) -> Option<DeviceNumber> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The number of the block device behind a path, if it is one.
pub fn block_number(path: &Path) -> Option<DeviceNumber> {
    use std::os::unix::fs::FileTypeExt;
    let data = fs::metadata(path).ok()?;
    data.file_type().is_block_device().then(|| DeviceNumber::from_raw(data.rdev()))
}

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The file system's device number.
    pub number: DeviceNumber,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Its type: `ext4`, `fuse.raidloom`.
    pub kind: String,
    /// What is mounted: a device, a file.
    pub source: String,
    /// Options, as in `/proc/self/mountinfo`.
    pub options: String,
}

/// Undoes the kernel's octal escapes of blanks and backslashes in `/proc` tables.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|digits| {
            *first == b'\\' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit))
        });
        let Some(digits) = octal else {
            bytes.push(*first);
            rest = after;
            continue;
        };
        bytes.push(
            digits
                .iter()
                .fold(0_u8, |number, digit| number.wrapping_mul(8).wrapping_add(digit - b'0')),
        );
        rest = &after[3..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the lines of a `mountinfo` (proc(5)):
/// `id parent major:minor root point options … - kind source super-options`.
pub fn parse_mounts(text: &str) -> Vec<Mount> {
    let line = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let mut right = right.split(' ');
        Some(Mount {
            number: DeviceNumber::parse(left.get(2)?)?,
            point: PathBuf::from(unescape(left.get(4)?)),
            options: (*left.get(5)?).to_owned(),
            kind: right.next()?.to_owned(),
            source: unescape(right.next()?),
        })
    };
    text.lines().filter_map(line).collect()
}

/// The file systems this process sees as mounted.
pub fn mounts() -> Vec<Mount> {
    parse_mounts(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// The file system that a path lies on: the deepest mount point above it, and of several on one
/// point the last.
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// Files and devices in use as swap.
pub fn swaps() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_ascii_whitespace().next())
        .map(|path| PathBuf::from(unescape(path)))
        .collect()
}

/// The folder of a block device below `/sys`.
pub fn sys_folder(number: DeviceNumber) -> Option<PathBuf> {
    fs::canonicalize(format!("/sys/dev/block/{number}")).ok()
}

/// The size of a block device in bytes, asked without opening it.
pub fn block_bytes(number: DeviceNumber) -> Option<u64> {
    // Whatever its own sectors are, the kernel counts 512 bytes here.
    let sectors = fs::read_to_string(sys_folder(number)?.join("size")).ok()?;
    sectors.trim().parse::<u64>().ok()?.checked_mul(512)
}

fn number_in(folder: &Path) -> Option<DeviceNumber> {
    DeviceNumber::parse(&fs::read_to_string(folder.join("dev")).ok()?)
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The whole disk that a partition is part of; the device itself when it is no partition.
pub fn whole_disk(number: DeviceNumber) -> DeviceNumber {
    let parent = sys_folder(number)
        .filter(|folder| folder.join("partition").exists())
        .and_then(|folder| number_in(folder.parent()?));
    parent.unwrap_or(number)
}

/// The partitions of a disk.
pub fn partitions(number: DeviceNumber) -> Vec<DeviceNumber> {
    let folders = sys_folder(number).map(|folder| folders_in(&folder)).unwrap_or_default();
    folders
        .iter()
        .filter(|folder| folder.join("partition").exists())
        .filter_map(|folder| number_in(folder))
        .collect()
}

/// Names of the devices that stand on this one (md, dm, bcache).
pub fn holders(number: DeviceNumber) -> Vec<String> {
    let folders =
        sys_folder(number).map(|folder| folders_in(&folder.join("holders"))).unwrap_or_default();
    folders
        .iter()
        .filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()))
        .collect()
}

/// The whole disks that a device stands on, through md, dm and partitions; itself when it stands on
/// nothing.
pub fn disks_below(number: DeviceNumber) -> Vec<DeviceNumber> {
    let below: Vec<DeviceNumber> = sys_folder(number)
        .map(|folder| folders_in(&folder.join("slaves")))
        .unwrap_or_default()
        .iter()
        .filter_map(|folder| number_in(&fs::canonicalize(folder).ok()?))
        .collect();
    if below.is_empty() {
        return vec![whole_disk(number)];
    }
    below.into_iter().flat_map(disks_below).collect()
}

/// The whole disks under the file system of a path. Empty for a file system without a device
/// (tmpfs, overlay, a network).
pub fn disks_under(mounts: &[Mount], path: &Path) -> Vec<DeviceNumber> {
    let Some(mount) = mount_of(mounts, path) else { return Vec::new() };
    // btrfs and friends show a number of their own; their source still names a device.
    let number = sys_folder(mount.number)
        .map(|_| mount.number)
        .or_else(|| block_number(Path::new(&mount.source)));
    number.map(disks_below).unwrap_or_default()
}

/// What a block device stands on by a loop device, which it is or is a partition of: the file or
/// device behind it, and where the block device begins there, in bytes.
#[must_use]
pub fn loop_backing(number: DeviceNumber) -> Option<(PathBuf, u64)> {
    stack::loop_backing(number.raw()).map(|(backing, bytes)| (backing, bytes.start))
}

/// The disks that a path's data lie on in the end, through loop devices as well: one file on
/// another disk's file system is on that disk, whatever its own device is called.
#[must_use]
pub fn disks_in_the_end(mounts: &[Mount], path: &Path) -> Vec<DeviceNumber> {
    let disks = match block_number(path) {
        Some(number) => disks_below(number),
        None => disks_under(mounts, path),
    };
    let through = |disk: DeviceNumber| match loop_backing(disk) {
        Some((backing, _)) if backing != path => {
            let below = disks_in_the_end(mounts, &backing);
            if below.is_empty() { vec![disk] } else { below }
        }
        _ => vec![disk],
    };
    disks.into_iter().flat_map(through).collect()
}

/// All devices that a path's data pass: its own, whole disks of partitions, what md, dm and loop
/// devices stand on.
#[must_use]
pub fn devices_below(mounts: &[Mount], path: &Path) -> Vec<DeviceNumber> {
    let source = |mount: &Mount| {
        sys_folder(mount.number)
            .map(|_| mount.number)
            .or_else(|| block_number(Path::new(&mount.source)))
    };
    let number = block_number(path).or_else(|| mount_of(mounts, path).and_then(source));
    let mut found = Vec::new();
    let mut left: Vec<DeviceNumber> = number.into_iter().collect();
    while let Some(number) = left.pop() {
        if found.contains(&number) {
            continue;
        }
        found.push(number);
        left.push(whole_disk(number));
        let slaves = sys_folder(number).map(|folder| folders_in(&folder.join("slaves")));
        left.extend(
            slaves
                .unwrap_or_default()
                .iter()
                .filter_map(|folder| number_in(&fs::canonicalize(folder).ok()?)),
        );
        if let Some((backing, _)) = loop_backing(number)
            && let Some(below) =
                block_number(&backing).or_else(|| mount_of(mounts, &backing).and_then(source))
        {
            left.push(below);
        }
    }
    found
}

/// A loop device that is in use, and what it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its path: `/dev/loop0`.
    pub device: PathBuf,
    /// Its number.
    pub number: DeviceNumber,
    /// The name of its backing file when it was opened, which may mean another file now, or none.
    pub backing: PathBuf,
    /// Which bytes of the backing file it has.
    pub bytes: Range<u64>,
    /// The backing file as the kernel has it open; `None` for a user that may not ask it.
    pub file: Option<Identity>,
}

impl Loop {
    /// Whether it stands on `file`, whose real path is `real`. A name counts only where nothing
    /// better is known.
    pub fn is_over(&self, file: &Identity, real: &Path) -> bool {
        // A block device has one number and any number of nodes: the node that the kernel has open
        // says nothing of others.
        if let (Identity::BlockDevice(_), named) = (file, Identity::of(&self.backing)) {
            return named == *file;
        }
        match &self.file {
            Some(known) => known == file,
            None => self.backing == real || Identity::of(&self.backing) == *file,
        }
    }
}

/// Every loop device that is in use.
pub fn loops() -> Vec<Loop> {
    let backed = |folder: &PathBuf| {
        let number = number_in(folder)?;
        let (backing, bytes) = stack::loop_backing(number.raw())?;
        let device = Path::new("/dev").join(folder.file_name()?);
        Some(Loop { device, number, backing, bytes, file: None })
    };
    let mut loops: Vec<Loop> =
        folders_in(Path::new("/sys/block")).iter().filter_map(backed).collect();
    if !loops.is_empty() {
        let known = export::loop_device::backing_files();
        for found in &mut loops {
            let file = known.iter().find(|(device, _, _)| *device == found.device);
            found.file = file.map(|(_, device, inode)| Identity::File(*device, *inode));
        }
    }
    loops
}

/// A setting in a device's folder below `/sys`, of the whole disk when the device is a partition.
pub fn queue_setting(number: DeviceNumber, setting: &str) -> Option<String> {
    let folder = sys_folder(whole_disk(number))?;
    Some(fs::read_to_string(folder.join(setting)).ok()?.trim().to_owned())
}

/// A lock on an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The process that holds it.
    pub process: u32,
    /// Whether others may hold it too: who only reads.
    pub is_shared: bool,
}

/// The process that holds a lock on an open file.
pub fn lock_holder(file: &fs::File) -> Option<u32> {
    lock_on(file).map(|lock| lock.process)
}

/// The lock on an open file, as `/proc/locks` tells:
/// `n: FLOCK ADVISORY WRITE pid major:minor:inode …`.
pub fn lock_on(file: &fs::File) -> Option<Lock> {
    let data = file.metadata().ok()?;
    lock_of(data.dev(), data.ino())
}

/// The same of a file that is known by device and inode number.
pub fn lock_of(device: u64, inode: u64) -> Option<Lock> {
    let inode = inode.to_string();
    let device = DeviceNumber::from_raw(device);
    let device = format!("{:02x}:{:02x}", device.major, device.minor);
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (place, number) = fields.get(5)?.rsplit_once(':')?;
        // A lock that is waited for has `->` in front, which moves the fields: it is not the
        // holder's.
        if place != device || number != inode || fields.get(1) == Some(&"->") {
            return None;
        }
        Some(Lock { process: fields[4].parse().ok()?, is_shared: fields[3] == "READ" })
    })
}

/// What else has locked a range of a file, known by device and inode number, as QEMU locks the
/// images that it runs on: the process, where the lock says it. `None` where nothing has; an outer
/// `Some` with nothing in it is a lock that belongs to an open file and not to a process.
pub fn range_lock_holder(device: u64, inode: u64) -> Option<Option<u32>> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    range_lock_in(&locks, DeviceNumber::from_raw(device), inode)
}

fn range_lock_in(locks: &str, device: DeviceNumber, inode: u64) -> Option<Option<u32>> {
    let place = format!("{:02x}:{:02x}:{inode}", device.major, device.minor);
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_range = matches!(*fields.get(1)?, "POSIX" | "OFDLCK");
        (is_range && *fields.get(5)? == place).then(|| fields[4].parse().ok())
    })
}

/// Where a program is, also where only root's path leads.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_is_read_with_its_escapes_and_optional_fields() {
        let text = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                    30 27 8:17 /sub /mnt/with\\040blank rw,nosuid shared:4 master:7 - xfs \
                    /dev/sd\\134x rw,noquota\n\
                    broken line\n";
        let mounts = parse_mounts(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[1].point, Path::new("/mnt/with blank"));
        assert_eq!((mounts[1].kind.as_str(), mounts[1].source.as_str()), ("xfs", "/dev/sd\\x"));
        assert_eq!(mounts[1].number, DeviceNumber { major: 8, minor: 17 });
        assert_eq!(mount_of(&mounts, Path::new("/mnt/with blank/a")).unwrap().kind, "xfs");
        assert_eq!(mount_of(&mounts, Path::new("/mnt/without")).unwrap().kind, "ext4");
    }

    #[test]
    fn locks_of_ranges_are_found_by_device_and_inode() {
        let text = "1: POSIX  ADVISORY  WRITE 9368 fe:00:64 0 EOF\n\
                    2: OFDLCK ADVISORY  READ -1 fe:00:65 100 100\n\
                    3: FLOCK  ADVISORY  WRITE 12 fe:00:66 0 EOF\n\
                    3: -> POSIX  ADVISORY  WRITE 12 fe:00:67 0 EOF\n\
                    broken\n";
        let holder = |inode| range_lock_in(text, DeviceNumber { major: 254, minor: 0 }, inode);
        assert_eq!(
            [64, 65, 66, 67, 6].map(holder),
            [Some(Some(9368)), Some(None), None, None, None]
        );
    }

    #[test]
    fn of_two_mounts_on_one_point_the_later_one_counts() {
        let mounts = parse_mounts(
            "1 0 8:1 / /mnt rw - ext4 /dev/sda1 rw\n2 0 8:2 / /mnt rw - xfs /dev/sda2 rw\n",
        );
        assert_eq!(mount_of(&mounts, Path::new("/mnt/x")).unwrap().kind, "xfs");
    }
}

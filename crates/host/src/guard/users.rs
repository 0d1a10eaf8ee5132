//! What uses a file or device: one answer for mounts, swap, loop devices, devices that stand on
//! others, and programs that have locked it. What is asked about is its identity and never its
//! name: a file has as many names as it has hard links and bind mounts.
//!
//! A loop device has no bytes of its own, so that whoever uses them in its file uses it too:
//!
//! ```text
//!   /dev/loop1 ──> users of /dev/loop1
//!       └─ its file ──> users of the file: mounts, locks, and other loop devices over the same
//!             │                            bytes, with what is mounted from these
//!             └─ and so on, where the file is a loop device itself
//! ```

use std::fs::{self, TryLockError};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stack::Identity;
use words::{Text, statement};

use super::{LOCK_ATTEMPTS, catalogue, patiently};
use crate::facts;
use crate::system::{self, DeviceNumber, Loop, Mount};

/// What uses it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Users {
    /// Where a file system on it, or on a part of it, is mounted.
    pub(super) mounted_at: Vec<PathBuf>,
    pub(super) swap: bool,
    /// Devices that stand on it, and programs that have locked it.
    pub(super) held_by: Vec<Text>,
}

impl Users {
    fn add(&mut self, other: Users) {
        self.mounted_at.extend(other.mounted_at);
        self.swap |= other.swap;
        self.held_by.extend(other.held_by);
    }
}

/// The users of what `data` is about, whose real path is `real`; a disk's partitions belong to it.
pub(super) fn of(data: &fs::Metadata, real: &Path, mounts: &[Mount]) -> Users {
    let all = InUse { mounts, swaps: system::swaps(), loops: system::loops() };
    let whole = Identity::of_data(data);
    let mut users = all.above(&whole, real, |_| true);
    if data.is_file() {
        users.held_by.extend(range_lock(data.dev(), data.ino()));
    }
    users.add(all.below(whole));
    users
}

/// What is in use on this machine.
struct InUse<'a> {
    mounts: &'a [Mount],
    swaps: Vec<PathBuf>,
    loops: Vec<Loop>,
}

impl InUse<'_> {
    /// The users of a file or device, and of the loop devices over it those that `counts` takes.
    fn above(&self, whole: &Identity, real: &Path, counts: impl Fn(&Loop) -> bool) -> Users {
        let own = with_partitions(whole);
        let numbers = || own.iter().filter_map(number_of);
        let holders = numbers().flat_map(system::holders).map(Text::from);
        let is_over = |found: &&Loop| own.iter().any(|own| found.is_over(own, real));
        let loops = self.loops.iter().filter(is_over).filter(|found| counts(found));
        let held_by = holders.chain(loops.map(|found| found.device.display().into())).collect();
        Users { held_by, ..self.mounted(&own) }
    }

    /// What is mounted from it, or in use as swap.
    fn mounted(&self, own: &[Identity]) -> Users {
        let named = |path: &Path| path.is_absolute() && own.contains(&Identity::of(path));
        let is_own = |mount: &&Mount| {
            own.contains(&Identity::BlockDevice(mount.number.raw()))
                || named(Path::new(&mount.source))
        };
        let mounted_at = self.mounts.iter().filter(is_own).map(|mount| mount.point.clone());
        Users {
            mounted_at: mounted_at.collect(),
            swap: self.swaps.iter().any(|swap| named(swap)),
            held_by: Vec::new(),
        }
    }

    /// The users of what a loop device stands on, down to a file or a disk.
    fn below(&self, whole: Identity) -> Users {
        let mut users = Users::default();
        let (mut above, mut part) = (whole, 0..u64::MAX);
        for _ in 0..stack::LOOPS_MAX {
            let Some((number, (backing, bytes))) = number_of(&above)
                .and_then(|number| Some((number, stack::loop_backing(number.raw())?)))
            else {
                break;
            };
            part = stack::part_of(&bytes, &part);
            let own = system::whole_disk(number);
            let file = self.loops.iter().find(|found| found.number == own);
            let file = file.and_then(|found| found.file.clone());
            above = match (Identity::of(&backing), file) {
                // Which node the kernel has open says nothing of others.
                (named @ Identity::BlockDevice(_), _) => named,
                (named, file) => file.unwrap_or(named),
            };
            users.add(self.beside(&above, &backing, (own, &part)));
        }
        users
    }

    /// Who but the loop device `own` uses the bytes `part` of what it stands on.
    fn beside(
        &self,
        file: &Identity,
        backing: &Path,
        (own, part): (DeviceNumber, &Range<u64>),
    ) -> Users {
        let is_other = |found: &Loop| found.number != own && stack::overlap(&found.bytes, part);
        let mut users = self.above(file, backing, is_other);
        for other in self.loops.iter().filter(|found| found.is_over(file, backing)) {
            if is_other(other) {
                let other = Identity::BlockDevice(other.number.raw());
                users.add(self.mounted(&with_partitions(&other)));
            }
        }
        users.held_by.extend(lock_below(file, backing));
        users
    }
}

fn number_of(identity: &Identity) -> Option<DeviceNumber> {
    match identity {
        Identity::BlockDevice(number) => Some(DeviceNumber::from_raw(*number)),
        _ => None,
    }
}

fn with_partitions(whole: &Identity) -> Vec<Identity> {
    let parts = number_of(whole).map(system::partitions).unwrap_or_default();
    let parts = parts.iter().map(|part| Identity::BlockDevice(part.raw()));
    [whole.clone()].into_iter().chain(parts).collect()
}

/// The program that has locked a range of a file.
fn range_lock(device: u64, inode: u64) -> Option<Text> {
    system::range_lock_holder(device, inode).map(|holder| match holder {
        Some(process) => statement!(catalogue::LOCKED_BY_PROCESS, process = process),
        None => catalogue::LOCKED_BY_PROGRAM.into(),
    })
}

/// The program that has locked what a loop device stands on. The guard opens nothing there, so that
/// its own lock would not meet that of another raidloom.
fn lock_below(file: &Identity, backing: &Path) -> Option<Text> {
    let node = |data: fs::Metadata| (data.dev(), data.ino());
    let (device, inode) = match file {
        Identity::File(device, inode) => (*device, *inode),
        _ => fs::metadata(backing).ok().map(node)?,
    };
    let range = range_lock(device, inode);
    if range.is_some() {
        return range;
    }
    // What a process holds that has ended passes, unless another has the same file open.
    let lock = patiently(
        LOCK_ATTEMPTS,
        || system::lock_of(device, inode).map_or(Ok(()), Err),
        |lock| !facts::lives(lock.process),
    );
    match lock.err() {
        // udev locks a drive that it looks at.
        Some(lock) if lock.is_shared && matches!(file, Identity::BlockDevice(_)) => None,
        Some(lock) => Some(statement!(catalogue::LOCKED_BY_PROCESS, process = lock.process)),
        // A lock of another container is told by nothing but itself.
        None => is_locked(file, backing).then(|| catalogue::LOCKED_BY_PROGRAM.into()),
    }
}

fn is_locked(file: &Identity, backing: &Path) -> bool {
    let Ok(opened) = fs::File::open(backing) else { return false };
    opened.metadata().is_ok_and(|data| Identity::of_data(&data) == *file)
        && matches!(opened.try_lock_shared(), Err(TryLockError::WouldBlock))
}

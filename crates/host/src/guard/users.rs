//! What uses a file or device: one answer for mounts, swap, loop devices, devices that stand on
//! others, and programs that have locked it. What is asked about is its identity and never its
//! name: a file has as many names as it has hard links and bind mounts.

use std::fs;
use std::path::{Path, PathBuf};

use stack::Identity;
use words::{Text, statement};

use super::catalogue;
use crate::system::{self, DeviceNumber, Mount};

/// What uses it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Users {
    /// Where a file system on it, or on a part of it, is mounted.
    pub(super) mounted_at: Vec<PathBuf>,
    pub(super) swap: bool,
    /// Devices that stand on it, and programs that have locked it.
    pub(super) held_by: Vec<Text>,
}

/// The users of what `data` is about, whose real path is `real`; a disk's partitions belong to it.
pub(super) fn of(data: &fs::Metadata, real: &Path, mounts: &[Mount]) -> Users {
    let whole = Identity::of_data(data);
    let numbers: Vec<DeviceNumber> = match whole {
        Identity::BlockDevice(number) => {
            let number = DeviceNumber::from_raw(number);
            [number].into_iter().chain(system::partitions(number)).collect()
        }
        _ => Vec::new(),
    };
    let parts = numbers.iter().skip(1).map(|part| Identity::BlockDevice(part.raw()));
    let own: Vec<Identity> = [whole].into_iter().chain(parts).collect();
    let named = |path: &Path| path.is_absolute() && own.contains(&Identity::of(path));

    let is_own =
        |mount: &&Mount| numbers.contains(&mount.number) || named(Path::new(&mount.source));
    let mounted_at = mounts.iter().filter(is_own).map(|mount| mount.point.clone()).collect();
    let swap = system::swaps().iter().any(|swap| named(swap));

    let holders = numbers.iter().flat_map(|number| system::holders(*number)).map(Text::from);
    let loops =
        system::loops().into_iter().filter(|found| own.iter().any(|own| found.is_over(own, real)));
    let loops = loops.map(|found| found.device.display().into());
    let lock =
        system::range_lock_holder(data).filter(|_| data.is_file()).map(|holder| match holder {
            Some(process) => statement!(catalogue::LOCKED_BY_PROCESS, process = process),
            None => catalogue::LOCKED_BY_PROGRAM.into(),
        });
    Users { mounted_at, swap, held_by: holders.chain(loops).chain(lock).collect() }
}

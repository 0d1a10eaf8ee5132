//! A file that `raidloom model fit` makes on the drive that it measures, so that it may write there
//! while the drive is mounted.
//!
//! ```text
//!   make ──> unlink ──> write all over ──> where does it lie? ──> is that so? ──> device
//! ```
//!
//! The file has no name any more once it is there: whichever way this process ends, it goes. What
//! the file system says of where it lies (`filefrag`) is held against what the drive has there.

use std::fs::{self, File};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use block::{Blocking, Device, Reactor, SECTOR_BYTES, Time, size_text};
use device::model::probe;
use device::{Direct, FileDevice, FileOptions, ThroughFile};
use export::tool;
use host::guard::{Access, Guard};
use host::system::{self, DeviceNumber};
use words::Text;

use crate::catalogue::{self, statement};
use crate::failure::Failure;

/// The file is as large as this at first, in bytes, where half of what is free is no less.
const FILE_BYTES: u64 = 1 << 30;
/// It is written in parts of this length.
const PART_BYTES: u64 = 1 << 20;
/// Each page of it says which it is.
const PAGE_BYTES: u64 = 4096;
const MARK: u64 = 0x7261_6964_6c6f_6f6d;

/// The drive with a range that may be written to, and where that is.
pub(crate) struct ScratchDevice {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) range: Range<u64>,
}

/// Makes the file, on the drive at `drive`, which `below` reads, before the `deadline`.
pub(crate) fn make(
    guard: &Guard,
    path: &Path,
    drive: &Path,
    below: Arc<dyn Device>,
    (reactor, deadline): (&Reactor, Time),
) -> Result<ScratchDevice, Failure> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(Failure::refused(catalogue::SCRATCH_FILE_THERE).at(path.display()));
    }
    let begin = begin_of_file_system(path, drive)?;
    let room = room_for(path)?;
    let mut found = lay(guard, path, room.min(FILE_BYTES), (reactor, deadline))?;
    // ext4 puts copies of its head between the first groups of 128 MiB.
    if found.1.bytes < probe::SCRATCH_MIN && room > FILE_BYTES {
        drop(found);
        found = lay(guard, path, room.min(4 * FILE_BYTES), (reactor, deadline))?;
    }
    let (device, run) = found;
    let range = begin + run.on_device..begin + run.on_device + run.bytes;
    if run.bytes < probe::SCRATCH_MIN {
        let (longest, least) = (size_text(run.bytes), size_text(probe::SCRATCH_MIN));
        let said = statement!(SCRATCH_FILE_IN_PIECES, longest = longest, least = least);
        return Err(Failure::failed(said).at(path.display()));
    }
    let is_there = range.end <= below.info().size_bytes
        && [run.in_file, run.in_file + run.bytes - PAGE_BYTES]
            .into_iter()
            .map(|place| holds(&*below, range.start + place - run.in_file, place, reactor))
            .collect::<Result<Vec<bool>, Failure>>()?
            .into_iter()
            .all(|page| page);
    if !is_there {
        let said = statement!(SCRATCH_FILE_ELSEWHERE, place = range.start);
        return Err(Failure::failed(said).at(path.display()));
    }
    let device = Arc::new(ThroughFile::new(below, device, range.clone(), run.in_file));
    Ok(ScratchDevice { device, range })
}

/// Makes a file of so many bytes, writes all of it, and finds out where its longest run lies.
fn lay(
    guard: &Guard,
    path: &Path,
    bytes: u64,
    clock: (&Reactor, Time),
) -> Result<(Arc<dyn Device>, FileRun), Failure> {
    let file = make_nameless(guard, path, bytes)?;
    let kept = file.try_clone().map_err(|error| Failure::from_io(path.display(), &error))?;
    let options = FileOptions { direct: Direct::Yes, ..FileOptions::default() };
    let device: Arc<dyn Device> = Arc::new(FileDevice::new(file, path, &options)?);
    write_over(&*device, path, clock)?;
    Ok((device, longest(extents(&kept, path)?)))
}

/// Where the file system of a path begins on the drive, in bytes.
fn begin_of_file_system(path: &Path, drive: &Path) -> Result<u64, Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))
        .map_err(|error| Failure::from_io(path.display(), &error).as_usage())?;
    let mounts = system::mounts();
    let number = system::mount_of(&mounts, &folder).map(|mount| mount.number);
    let (number, named) =
        (number.filter(|one| system::sys_folder(*one).is_some()), system::block_number(drive));
    let begin = |number: DeviceNumber| match named {
        Some(named) if named == number => Some(0),
        Some(named) if named == system::whole_disk(number) => {
            let start = fs::read_to_string(system::sys_folder(number)?.join("start")).ok()?;
            start.trim().parse::<u64>().ok()?.checked_mul(SECTOR_BYTES)
        }
        _ => None,
    };
    number.and_then(begin).ok_or_else(|| {
        let said = statement!(SCRATCH_FILE_NOT_ON, drive = drive.display());
        Failure::usage(said).at(path.display())
    })
}

/// How large the file may be at most: half of what is free.
fn room_for(path: &Path) -> Result<u64, Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let system = rustix::fs::statvfs(folder.unwrap_or(Path::new(".")))
        .map_err(|error| Failure::from_io(path.display(), &error.into()))?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let bytes = free / 2 / PART_BYTES * PART_BYTES;
    if bytes < probe::SCRATCH_MIN {
        let needed = size_text(2 * probe::SCRATCH_MIN);
        let said = statement!(SCRATCH_FILE_NO_ROOM, needed = needed);
        return Err(Failure::failed(said).at(path.display()));
    }
    Ok(bytes)
}

/// A file that is there as long as it is open.
fn make_nameless(guard: &Guard, path: &Path, bytes: u64) -> Result<File, Failure> {
    let made = guard.make_file::<block::Error>(path, bytes, |_| Ok(()));
    let opened = made.and_then(|()| guard.open(path, Access::Write));
    let left = guard.undo_made();
    let file = opened?;
    match left.into_iter().next() {
        Some(left) => Err(Failure::failed(Text::verbatim(&left))),
        None => Ok(file),
    }
}

/// The page of a file that begins at `place`.
fn page(place: u64) -> impl Iterator<Item = u8> {
    [MARK, place].into_iter().cycle().flat_map(u64::to_le_bytes).take(PAGE_BYTES as usize)
}

/// Writes all of it, so that the file system has nothing to note when it is written again.
fn write_over(
    file: &dyn Device,
    path: &Path,
    (reactor, deadline): (&Reactor, Time),
) -> Result<(), Failure> {
    let mut channel = Blocking::open(file, reactor)?;
    for part in 0..file.info().size_bytes / PART_BYTES {
        if reactor.now() >= deadline {
            return Err(Failure::failed(catalogue::SCRATCH_FILE_LATE).at(path.display()));
        }
        let pages = (0..PART_BYTES / PAGE_BYTES).map(|page| part * PART_BYTES + page * PAGE_BYTES);
        let bytes: Vec<u8> = pages.flat_map(page).collect();
        channel.write_slice(part * PART_BYTES, &bytes)?;
    }
    Ok(channel.flush()?)
}

/// Whether the drive has a page of the file at a place.
fn holds(drive: &dyn Device, at: u64, place: u64, reactor: &Reactor) -> Result<bool, Failure> {
    let mut held = vec![0; PAGE_BYTES as usize];
    Blocking::open(drive, reactor)?.read_slice(at, &mut held)?;
    Ok(held.into_iter().eq(page(place)))
}

/// Bytes of a file that lie in one run on its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FileRun {
    in_file: u64,
    on_device: u64,
    bytes: u64,
}

/// Where a file lies, as its file system says.
fn extents(file: &File, path: &Path) -> Result<Vec<FileRun>, Failure> {
    let program = system::program("filefrag");
    let program = program.ok_or_else(|| Failure::failed(catalogue::NO_FILEFRAG))?;
    let open = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    let output = tool::command(program)
        .args(["-v", &format!("-b{SECTOR_BYTES}")])
        .arg(open)
        .output()
        .map_err(|error| Failure::from_io("filefrag", &error))?;
    let runs = parse(&String::from_utf8_lossy(&output.stdout));
    if !output.status.success() || runs.is_empty() {
        return Err(Failure::failed(catalogue::SCRATCH_FILE_UNKNOWN).at(path.display()));
    }
    Ok(runs)
}

/// Lines as `0:        0..  262143:     278528..    540671: 262144:  last,eof`, in sectors; what
/// follows in both is one run.
fn parse(text: &str) -> Vec<FileRun> {
    let mut runs: Vec<FileRun> = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split(':').map(str::trim).collect();
        let [number, in_file, on_device, length, ..] = cells[..] else { continue };
        if number.parse::<u64>().is_err() {
            continue;
        }
        let first = |range: &str| range.split("..").next()?.trim().parse::<u64>().ok();
        let (Some(in_file), Some(on_device), Ok(length)) =
            (first(in_file), first(on_device), length.parse::<u64>())
        else {
            continue;
        };
        let new = [in_file, on_device, length].map(|sectors| sectors * SECTOR_BYTES);
        let [in_file, on_device, bytes] = new;
        match runs.last_mut() {
            Some(last)
                if last.in_file + last.bytes == in_file
                    && last.on_device + last.bytes == on_device =>
            {
                last.bytes += bytes;
            }
            _ => runs.push(FileRun { in_file, on_device, bytes }),
        }
    }
    runs
}

/// The longest, in whole pages.
fn longest(runs: Vec<FileRun>) -> FileRun {
    let longest = runs.into_iter().max_by_key(|run| run.bytes).unwrap_or_default();
    FileRun { bytes: longest.bytes / PAGE_BYTES * PAGE_BYTES, ..longest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_file_lies_is_read_of_filefrag() {
        let text = "Filesystem type is: ef53\nFile size of /proc/7/fd/9 is 1073741824 (2097152 \
            blocks of 512 bytes)\n ext:     logical_offset:        physical_offset: length:   \
            expected: flags:\n   0:        0..  262143:     278528..    540671: 262144:            \
            \n   1:   262144..  786431:     540672..   1064959: 524288:\n   2:   786432.. 2097151: \
            2000000..   3310719: 1310720:    1064960: last,eof\n/proc/7/fd/9: 2 extents found\n";
        let run = |in_file: u64, on_device: u64, length: u64| FileRun {
            in_file: in_file * 512,
            on_device: on_device * 512,
            bytes: length * 512,
        };
        let found = parse(text);
        assert_eq!(found, [run(0, 278_528, 786_432), run(786_432, 2_000_000, 1_310_720)]);
        assert_eq!(longest(found), run(786_432, 2_000_000, 1_310_720));
        assert_eq!(parse("filefrag: no such file\n"), []);
    }
}

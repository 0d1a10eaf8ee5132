//! Finds out what a file or disk holds, by the marks that file systems, arrays, volume managers,
//! partition tables, disk images and archives leave at fixed places. It only reads.
//!
//! ```text
//!   table.rs   marks of four bytes or more, as data: places from the start and from the end
//!   weak.rs    marks of two or three bytes, with what else has to make sense
//!   here       what has to be looked for: ZFS, logs of XFS, and md, whose places follow the size
//! ```
//!
//! All that libblkid knows is known here. It is not asked itself: it would have to be loaded while
//! the program runs, which a static program cannot, and the same file would be overwritten on one
//! machine and refused on another.

mod own;
mod table;
mod weak;

use std::io;
use std::iter;
use std::ops::Range;
use std::os::unix::fs::FileExt;

pub(super) use own::WithoutArray;
use table::{FROM_END, FROM_START, IMAGES, MD_MAGIC, Mark};

/// How a VHD's footer begins.
const VHD: &[u8] = b"conectix";
/// How the last sector of a DMG begins.
const DMG: &[u8] = b"koly";
/// Where a fixed VHD and a DMG have their footers, before the very end: the first versions of
/// Virtual PC wrote one of 511 bytes.
const FOOTERS: [(&str, &[u8], u64); 3] = [
    ("VHD image of fixed size", VHD, 512),
    ("VHD image of fixed size", VHD, 511),
    ("DMG image", DMG, 512),
];
/// ZFS: 0x00bab10c in either byte order, in each of four labels of 256 KiB; within one, uberblocks
/// from 128 KiB on, each at a multiple of 1 KiB.
const ZFS_MAGIC: [[u8; 8]; 2] =
    [[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c]];
const ZFS_LABEL_BYTES: u64 = 256 << 10;
/// The head of a record in the log of XFS, version 1 or 2, which may begin at any sector of an
/// external log.
const XFS_LOG_MAGIC: [u8; 4] = [0xfe, 0xed, 0xba, 0xbe];
const XFS_LOG_BYTES: usize = 256 << 10;
/// What is read at once: most marks are here.
const START_BYTES: usize = 0x1_1000;

/// What is erased at the start of a device, in bytes: all marks but a few are there.
const ERASED_START_BYTES: u64 = 1 << 20;
/// What is erased at its end: two labels of ZFS, which lie at multiples of their size.
const ERASED_END_BYTES: u64 = 3 * ZFS_LABEL_BYTES;
/// What is erased around a mark that stands elsewhere: the block that it begins in and the next.
const ERASED_BLOCK_BYTES: u64 = 4096;

/// Where on a device of this size [`find`] looks, in bytes: a device that holds zeroes there
/// carries nothing. The ranges are in order and do not overlap.
#[must_use]
pub fn marked_ranges(size_bytes: u64) -> Vec<Range<u64>> {
    let start = ERASED_START_BYTES.min(size_bytes);
    let end = size_bytes.saturating_sub(ERASED_END_BYTES).max(start);
    let sectors_bytes = size_bytes & !0x1ff;
    let from_start = FROM_START.iter().flat_map(|mark| mark.places).copied();
    let from_end = FROM_END.iter().flat_map(|mark| mark.places);
    let from_end = from_end.filter_map(|place| sectors_bytes.checked_sub(*place));
    let block = |place: u64| {
        let block = place & !(ERASED_BLOCK_BYTES - 1);
        block.max(start)..(block + 2 * ERASED_BLOCK_BYTES).min(end)
    };
    let mut between: Vec<Range<u64>> = from_start.chain(from_end).map(block).collect();
    between.retain(|range| range.start < range.end);
    between.sort_unstable_by_key(|range| range.start);
    let mut ranges: Vec<Range<u64>> = iter::once(0..start).collect();
    for range in between.into_iter().chain(iter::once(end..size_bytes)) {
        match ranges.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => ranges.push(range),
        }
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// Reads as much of `length` bytes at `offset` as there is.
pub fn read_up_to(file: &impl FileExt, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Whether a signature is that of a store which raidloom keeps, and goes on with.
pub(super) fn is_kept(name: &str) -> bool {
    matches!(name, table::CACHE | table::OVERLAY | table::TRACE)
}

/// A file, of which the start was read.
struct Probe<'a, F> {
    file: &'a F,
    size_bytes: u64,
    start: Vec<u8>,
}

impl<F: FileExt> Probe<'_, F> {
    /// Whether these bytes stand at a place.
    fn holds(&self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        let within = usize::try_from(offset).ok().filter(|at| at + bytes.len() <= START_BYTES);
        match within {
            Some(at) => Ok(self.start.get(at..at + bytes.len()) == Some(bytes)),
            None => Ok(read_up_to(self.file, offset, bytes.len())? == bytes),
        }
    }

    /// The first mark that stands where a place of it leads to.
    fn first(
        &self,
        marks: &[Mark],
        place: impl Fn(u64) -> Option<u64>,
    ) -> io::Result<Option<&'static str>> {
        for mark in marks {
            for offset in mark.places.iter().filter_map(|at| place(*at)) {
                for bytes in mark.forms {
                    if self.holds(offset, bytes)? {
                        return Ok(Some(mark.name));
                    }
                }
            }
        }
        Ok(None)
    }
}

/// The kind of disk image that a file is, or `None` for what may be the bytes of a disk themselves.
///
/// # Errors
/// What the system says about reading.
pub fn find_image(file: &impl FileExt, size_bytes: u64) -> io::Result<Option<&'static str>> {
    let looked = Probe { file, size_bytes, start: read_up_to(file, 0, 512)? };
    if let Some(name) = looked.first(IMAGES, Some)? {
        return Ok(Some(name));
    }
    for (name, bytes, from_end) in FOOTERS {
        if let Some(offset) = size_bytes.checked_sub(from_end)
            && read_up_to(file, offset, bytes.len())? == bytes
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The name of what the file holds, or `None` when nothing is known of it.
///
/// # Errors
/// What the system says about reading; then nothing is known, and the caller has to refuse.
pub fn find(file: &impl FileExt, size_bytes: u64) -> io::Result<Option<&'static str>> {
    let looked = Probe { file, size_bytes, start: read_up_to(file, 0, START_BYTES)? };
    if let Some(name) = looked.first(FROM_START, Some)? {
        return Ok(Some(name));
    }
    // FAT and NTFS, of which the table has the marks, carry that of a boot sector too.
    let is_it = |(_, check): &&(&str, fn(&[u8]) -> bool)| check(&looked.start);
    if let Some((name, _)) = weak::AT_THE_START.iter().find(is_it) {
        return Ok(Some(name));
    }
    if let Some(name) = at_the_end(&looked)? {
        return Ok(Some(name));
    }
    if let Some(name) = find_image(file, size_bytes)? {
        return Ok(Some(name));
    }
    if is_zfs(file, size_bytes)? {
        return Ok(Some("ZFS"));
    }
    Ok(is_xfs_log(file)?.then_some("log of XFS"))
}

fn at_the_end<F: FileExt>(looked: &Probe<'_, F>) -> io::Result<Option<&'static str>> {
    let size_bytes = looked.size_bytes;
    // md 1.0: 8 KiB before the end, rounded down to 4 KiB. md 0.90: the last 64 KiB that is wholly
    // there, at a multiple of 64 KiB, in the byte order of the machine that made it.
    let version_1_0 = size_bytes.checked_sub(8 << 10).map(|offset| offset & !0xfff);
    if let Some(offset) = version_1_0
        && looked.holds(offset, &MD_MAGIC)?
    {
        return Ok(Some("md array member (version 1.0)"));
    }
    if let Some(offset) = (size_bytes & !0xffff).checked_sub(64 << 10) {
        let reversed = [MD_MAGIC[3], MD_MAGIC[2], MD_MAGIC[1], MD_MAGIC[0]];
        if looked.holds(offset, &MD_MAGIC)? || looked.holds(offset, &reversed)? {
            return Ok(Some("md array member (version 0.90)"));
        }
    }
    let sectors_bytes = size_bytes & !0x1ff;
    if let Some(name) = looked.first(FROM_END, |at| sectors_bytes.checked_sub(at))? {
        return Ok(Some(name));
    }
    if let Some(offset) = sectors_bytes.checked_sub(512) {
        let sector = read_up_to(looked.file, offset, 512)?;
        let is_it = |(_, check): &&(&str, fn(&[u8]) -> bool)| sector.len() == 512 && check(&sector);
        if let Some((name, _)) = weak::IN_THE_LAST_SECTOR.iter().find(is_it) {
            return Ok(Some(name));
        }
    }
    // The second superblock of NILFS2 is in the last 4 KiB that are wholly there.
    if let Some(offset) = sectors_bytes.checked_sub(4096)
        && weak::is_nilfs(&read_up_to(looked.file, offset, 512)?)
    {
        return Ok(Some("NILFS2"));
    }
    Ok(None)
}

fn is_xfs_log(file: &impl FileExt) -> io::Result<bool> {
    let log = read_up_to(file, 0, XFS_LOG_BYTES)?;
    let is_head = |sector: &[u8]| {
        sector.starts_with(&XFS_LOG_MAGIC) && matches!(sector.get(8..12), Some([0, 0, 0, 1 | 2]))
    };
    Ok(log.chunks(512).any(is_head))
}

fn is_zfs(file: &impl FileExt, size_bytes: u64) -> io::Result<bool> {
    let whole = size_bytes & !(ZFS_LABEL_BYTES - 1);
    let labels = [
        Some(0),
        Some(ZFS_LABEL_BYTES),
        whole.checked_sub(2 * ZFS_LABEL_BYTES),
        whole.checked_sub(ZFS_LABEL_BYTES),
    ];
    for label in labels.into_iter().flatten() {
        let uberblocks = read_up_to(file, label + (128 << 10), 128 << 10)?;
        if uberblocks
            .chunks(1024)
            .any(|block| ZFS_MAGIC.iter().any(|magic| block.starts_with(magic)))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;

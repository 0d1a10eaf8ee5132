//! Superblocks and file systems that are not where they belong: a table of partitions that is lost,
//! a partition that was cut out of a disk with what lay before it, room that a controller kept.

use std::io;

use array::md::{Superblock, Version};
use host::guard::find_signature;

use crate::source::Region;
use crate::{MemberSource, SECTOR_BYTES, SUPERBLOCK_BYTES};

/// What a superblock of md begins with.
const MAGIC: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
/// All sectors from the start up to here are looked at, in bytes.
const EVERY_SECTOR_BYTES: u64 = 64 << 20;
/// And all of so many bytes before the end.
const END_BYTES: u64 = 4 << 20;
/// From there on a partition is looked for at each whole MiB, up to this, in bytes.
const EVERY_MIB_BYTES: u64 = 16 << 30;
const READ_BYTES: usize = 1 << 20;

/// Where controllers and other systems have data begin, in bytes, besides where mdadm does: 32 and
/// 63 sectors, 64 and 128 KiB, 1 to 128 MiB.
pub(super) const CONTROLLER_OFFSETS_BYTES: [u64; 10] = [
    16 << 10,
    63 << 9,
    64 << 10,
    128 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
    32 << 20,
    64 << 20,
    128 << 20,
];

/// The parts of a drive that are members by superblocks of version 1 which stand where only a
/// member that begins elsewhere would have them.
pub(super) fn members(source: &MemberSource, region: &Region) -> io::Result<Vec<MemberSource>> {
    let mut found: Vec<MemberSource> = Vec::new();
    let size = region.size_bytes;
    let mut take = |at: u64, bytes: &[u8]| {
        let Some(part) = member_at(source, region, at, bytes) else { return };
        if !found.contains(&part) {
            found.push(part);
        }
    };
    let ranges = [0..EVERY_SECTOR_BYTES.min(size), size.saturating_sub(END_BYTES)..size];
    for range in ranges {
        let mut at = range.start - range.start % SECTOR_BYTES;
        while at < range.end {
            let bytes = region.read_up_to(at, READ_BYTES)?;
            for (number, sector) in bytes.chunks_exact(SECTOR_BYTES as usize).enumerate() {
                if sector.starts_with(&MAGIC) {
                    let at = at + number as u64 * SECTOR_BYTES;
                    take(at, &region.read_up_to(at, SUPERBLOCK_BYTES)?);
                }
            }
            at += READ_BYTES as u64;
        }
    }
    for mib in (EVERY_SECTOR_BYTES >> 20)..(EVERY_MIB_BYTES.min(size) >> 20) {
        // Versions 1.1 and 1.2.
        for at in [mib << 20, (mib << 20) + 4096] {
            let bytes = region.read_up_to(at, SUPERBLOCK_BYTES)?;
            if bytes.starts_with(&MAGIC) {
                take(at, &bytes);
            }
        }
    }
    Ok(found)
}

/// The member whose superblock these bytes are.
fn member_at(
    source: &MemberSource,
    region: &Region,
    at: u64,
    bytes: &[u8],
) -> Option<MemberSource> {
    let superblock = Superblock::decode(bytes).ok()?;
    let start = at.checked_sub(superblock.super_offset_sectors.checked_mul(SECTOR_BYTES)?)?;
    let left = region.size_bytes - start;
    let data_end = superblock.data_offset_sectors.checked_add(superblock.data_size_sectors)?;
    // The superblock of version 1.0 is counted from the member's end.
    let size = match superblock.super_offset_sectors {
        0 | 8 => left,
        sectors => (sectors + 16) * SECTOR_BYTES,
    };
    let is_whole = data_end.checked_mul(SECTOR_BYTES)? <= size && size <= left;
    let sectors = size / SECTOR_BYTES;
    let is_its = Version::ALL
        .into_iter()
        .any(|version| version.offset_sectors(sectors) == Some(superblock.super_offset_sectors));
    (start > 0 && is_whole && is_its)
        .then(|| source.part(start, Some(size).filter(|size| *size < left)))
}

/// Whether a mark is that of a file system or a disc which systems mount.
pub(super) fn is_file_system(mark: &str) -> bool {
    const MOUNTED: [&str; 9] =
        ["ext2/ext3/ext4", "XFS", "btrfs", "f2fs", "NTFS", "exFAT", "FAT", "ISO 9660", "UDF"];
    MOUNTED.contains(&mark)
}

/// The first place where a file system or the like is known to begin, and what it is.
pub(super) fn file_system(region: &Region) -> io::Result<Option<(u64, &'static str)>> {
    let offsets = [0].into_iter().chain(CONTROLLER_OFFSETS_BYTES).chain([8 << 20, 2 << 20]);
    for offset in offsets.filter(|offset| *offset < region.size_bytes) {
        let part = region.from(offset);
        if let Some(name) = find_signature(&part, region.size_bytes - offset)? {
            return Ok(Some((offset, name)));
        }
    }
    Ok(None)
}

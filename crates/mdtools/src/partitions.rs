//! The partitions of a disk whose image is a file, or whose partitions the kernel does not show:
//! GPT (UEFI specification, 5.3) and MBR with its chain of logical partitions.

use std::io;

use crate::SECTOR_BYTES;
use crate::source::Region;

/// A partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u64,
    /// It is said to be a member of an md array.
    pub(crate) is_raid: bool,
}

/// More than any table that is sane has.
const ENTRIES_MAX: u64 = 1024;
const LOGICAL_MAX: usize = 128;
/// A19D880F-05FC-4D3B-A006-743F0F84911E, Linux RAID, as its bytes lie in an entry.
const LINUX_RAID: [u8; 16] = [
    0x0f, 0x88, 0x9d, 0xa1, 0xfc, 0x05, 0x3b, 0x4d, 0xa0, 0x06, 0x74, 0x3f, 0x0f, 0x84, 0x91, 0x1e,
];
/// Types of partitions in an MBR.
const MBR_RAID: u8 = 0xfd;
const MBR_GPT: u8 = 0xee;
const MBR_EXTENDED: [u8; 3] = [0x05, 0x0f, 0x85];

fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The partitions that a table names, in its order; none where there is no table.
///
/// # Errors
/// What kept it from being read.
pub(crate) fn partitions(disk: &Region) -> io::Result<Vec<Partition>> {
    let mut found = Vec::new();
    for block_bytes in [512, 4096] {
        let last = (disk.size_bytes / block_bytes).saturating_sub(1) * block_bytes;
        // The backup is at the end.
        for header in [block_bytes, last] {
            if found.is_empty() {
                found = gpt(disk, header, block_bytes)?;
            }
        }
    }
    if found.is_empty() {
        found = mbr(disk)?;
    }
    found.retain(|partition| {
        let end = partition.offset_bytes.checked_add(partition.size_bytes);
        partition.offset_bytes > 0
            && partition.size_bytes > 0
            && end.is_some_and(|end| end <= disk.size_bytes)
    });
    Ok(found)
}

fn gpt(disk: &Region, header: u64, block_bytes: u64) -> io::Result<Vec<Partition>> {
    let bytes = disk.read_up_to(header, SECTOR_BYTES as usize)?;
    if bytes.len() < SECTOR_BYTES as usize
        || !bytes.starts_with(b"EFI PART")
        || number(&bytes, 24, 8).checked_mul(block_bytes) != Some(header)
    {
        return Ok(Vec::new());
    }
    let (count, entry_bytes) = (number(&bytes, 80, 4).min(ENTRIES_MAX), number(&bytes, 84, 4));
    let Some(start) = number(&bytes, 72, 8)
        .checked_mul(block_bytes)
        .filter(|_| (128..=4096).contains(&entry_bytes))
    else {
        return Ok(Vec::new());
    };
    let entries = disk.read_up_to(start, (count * entry_bytes) as usize)?;
    let used = entries.chunks_exact(entry_bytes as usize).filter(|entry| entry[..16] != [0; 16]);
    let partition = |entry: &[u8]| {
        let (first, last) = (number(entry, 32, 8), number(entry, 40, 8));
        let blocks = last.checked_sub(first)?.checked_add(1)?;
        Some(Partition {
            offset_bytes: first.checked_mul(block_bytes)?,
            size_bytes: blocks.checked_mul(block_bytes)?,
            is_raid: entry[..16] == LINUX_RAID,
        })
    };
    Ok(used.filter_map(partition).collect())
}

/// The four entries of a boot record: type, first sector and sectors. None of what only ends like
/// one, as the boot sectors of FAT and NTFS do.
fn boot_record(disk: &Region, sector: u64) -> io::Result<Vec<(u8, u64, u64)>> {
    let bytes = disk.read_up_to(sector.saturating_mul(SECTOR_BYTES), SECTOR_BYTES as usize)?;
    let is_table = bytes.len() == SECTOR_BYTES as usize
        && bytes[510..] == [0x55, 0xaa]
        && bytes[446..510].chunks(16).all(|entry| matches!(entry[0], 0 | 0x80))
        && !bytes[3..].starts_with(b"NTFS")
        && !bytes[0x36..].starts_with(b"FAT")
        && !bytes[0x52..].starts_with(b"FAT");
    if !is_table {
        return Ok(Vec::new());
    }
    let entries = bytes[446..510].chunks(16).filter(|entry| entry[4] != 0);
    Ok(entries.map(|entry| (entry[4], number(entry, 8, 4), number(entry, 12, 4))).collect())
}

fn mbr(disk: &Region) -> io::Result<Vec<Partition>> {
    let mut found = Vec::new();
    let partition = |kind: u8, first: u64, sectors: u64| Partition {
        offset_bytes: first * SECTOR_BYTES,
        size_bytes: sectors * SECTOR_BYTES,
        is_raid: kind == MBR_RAID,
    };
    for (kind, first, sectors) in boot_record(disk, 0)? {
        if !MBR_EXTENDED.contains(&kind) {
            found.extend((kind != MBR_GPT).then(|| partition(kind, first, sectors)));
            continue;
        }
        // A chain: each link has a logical partition, counted from the link, and the next link,
        // counted from the first.
        let mut link = first;
        for _ in 0..LOGICAL_MAX {
            let mut next = None;
            for (kind, start, sectors) in boot_record(disk, link)? {
                if MBR_EXTENDED.contains(&kind) {
                    next = Some(first + start);
                } else {
                    found.push(partition(kind, link + start, sectors));
                }
            }
            match next {
                Some(further) if further > link => link = further,
                _ => break,
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use host::guard::MemberBytes;

    use super::*;
    use crate::MemberSource;

    const MIB: u64 = 1 << 20;

    /// What is found on a disk of 64 MiB with this at these places.
    fn found(pieces: &[(u64, Vec<u8>)]) -> Vec<Partition> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(64 * MIB).unwrap();
        pieces.iter().for_each(|(at, bytes)| file.as_file().write_all_at(bytes, *at).unwrap());
        let source = MemberSource::from(file.path().to_owned());
        partitions(&source.region(MemberBytes::File(File::open(file.path()).unwrap())).unwrap())
            .unwrap()
    }

    fn record(entries: &[(u8, u32, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        for (place, (kind, first, sectors)) in bytes[446..].chunks_mut(16).zip(entries) {
            place[4] = *kind;
            place[8..12].copy_from_slice(&first.to_le_bytes());
            place[12..].copy_from_slice(&sectors.to_le_bytes());
        }
        bytes[510..].copy_from_slice(&[0x55, 0xaa]);
        bytes
    }

    fn gpt_of(
        block: u64,
        own: u64,
        entries: u64,
        parts: &[([u8; 16], u64, u64)],
    ) -> Vec<(u64, Vec<u8>)> {
        let mut header = vec![0; 512];
        header[..8].copy_from_slice(b"EFI PART");
        header[24..32].copy_from_slice(&own.to_le_bytes());
        header[72..80].copy_from_slice(&entries.to_le_bytes());
        header[80..84].copy_from_slice(&128_u32.to_le_bytes());
        header[84..88].copy_from_slice(&128_u32.to_le_bytes());
        let mut table = vec![0; 128 * 128];
        for (entry, (kind, first, last)) in table.chunks_mut(128).zip(parts) {
            entry[..16].copy_from_slice(kind);
            entry[32..40].copy_from_slice(&first.to_le_bytes());
            entry[40..48].copy_from_slice(&last.to_le_bytes());
        }
        vec![(own * block, header), (entries * block, table)]
    }

    #[test]
    fn both_kinds_of_tables_are_read() {
        let part = |offset, size, is_raid| Partition {
            offset_bytes: offset * MIB,
            size_bytes: size * MIB,
            is_raid,
        };
        for block in [512, 4096] {
            let blocks = MIB / block;
            let entries = [
                ([1; 16], blocks, 4 * blocks - 1),
                ([0; 16], blocks, 2 * blocks),
                (LINUX_RAID, 4 * blocks, 36 * blocks - 1),
                // Past the end of the disk.
                ([1; 16], 60 * blocks, 70 * blocks),
            ];
            let expected = [part(1, 3, false), part(4, 32, true)];
            let mut first = gpt_of(block, 1, 2, &entries);
            first.push((0, record(&[(MBR_GPT, 1, 1 << 17)])));
            assert_eq!(found(&first), expected, "blocks of {block}");
            // Where the first table is lost its backup is there.
            let last = 64 * MIB / block - 1;
            assert_eq!(found(&gpt_of(block, last, last - 40, &entries)), expected, "{block}");
        }
        let sectors = |mib: u32| mib << 11;
        let primary = record(&[
            (MBR_RAID, sectors(1), sectors(2)),
            (0x83, sectors(3), sectors(1)),
            (0x05, sectors(8), sectors(40)),
        ]);
        let link = |at: u32, next: Option<u32>| {
            let mut entries = vec![(MBR_RAID, sectors(1), sectors(4))];
            entries.extend(next.map(|next| (0x05, sectors(next), sectors(8))));
            (u64::from(at) * MIB, record(&entries))
        };
        assert_eq!(
            found(&[(0, primary.clone()), link(8, Some(10)), link(18, None)]),
            [part(1, 2, true), part(3, 1, false), part(9, 4, true), part(19, 4, true)]
        );
        // A chain that goes round.
        assert_eq!(found(&[(0, primary), link(8, Some(0))]).len(), 3);
        assert_eq!(found(&[]), []);
        let mut boot_sector = record(&[(MBR_RAID, 1, 2)]);
        boot_sector[3..7].copy_from_slice(b"NTFS");
        assert_eq!(found(&[(0, boot_sector)]), []);
    }

    #[test]
    fn whatever_a_table_says_partitions_lie_on_the_disk() {
        let seed = 0x7061_7274;
        println!("seed {seed:#x}");
        let mut random = reactor::Random::with_seed(seed);
        let part = ([1; 16], 2048, 4095);
        let whole =
            [vec![(0, record(&[(MBR_GPT, 1, 1), (0x05, 8, 64)]))], gpt_of(512, 1, 2, &[part])];
        for _ in 0..300 {
            let mut pieces = whole.concat();
            for _ in 0..random.usize(1..12) {
                let number = random.usize(0..pieces.len());
                let bytes = &mut pieces[number].1;
                let at = random.usize(0..bytes.len().min(512));
                bytes[at] = [0, 0xff, random.u8(..)][random.usize(0..3)];
            }
            for part in found(&pieces) {
                let end = part.offset_bytes.checked_add(part.size_bytes);
                assert!(end.is_some_and(|end| end <= 64 * MIB) && part.size_bytes > 0, "{part:?}");
            }
        }
    }
}

//! Partition tables (GPT, MBR) and LVM: themselves a few landmarks, and others begin where a
//! partition or volume does.

use super::{Landmark, Sector, Verdict, has, le, openings, there_if};
use crate::catalogue;

/// Tables at the start of an array.
pub(super) fn tables() -> Vec<Landmark> {
    vec![gpt(512), gpt(4096), mbr()]
}

fn gpt(block_bytes: u64) -> Landmark {
    Landmark::new(catalogue::GPT_HEADER, block_bytes, move |sector| {
        if !has(sector, 0, b"EFI PART") || le::<8>(sector, 24) != 1 {
            return Verdict::Nothing;
        }
        let (backup, entries) = (le::<8>(sector, 32), le::<8>(sector, 72));
        let (count, entry_bytes) = (le::<4>(sector, 80).min(128), le::<4>(sector, 84));
        let mut more = Vec::new();
        if let Some(address) = backup.checked_mul(block_bytes) {
            more.push(Landmark::new(catalogue::GPT_BACKUP, address, move |sector| {
                there_if(has(sector, 0, b"EFI PART") && le::<8>(sector, 24) == backup)
            }));
        }
        if let Some(start) = entries.checked_mul(block_bytes).filter(|_| entry_bytes == 128) {
            let sectors = (count * entry_bytes).div_ceil(512);
            let check = move |sector: &Sector| gpt_entries(block_bytes, sector);
            let addresses = (0..sectors).filter_map(|number| start.checked_add(number * 512));
            more.extend(
                addresses.map(|address| {
                    Landmark::new(catalogue::GPT_ENTRIES, address, check).plausible()
                }),
            );
        }
        Verdict::There(more)
    })
}

fn gpt_entries(block_bytes: u64, sector: &Sector) -> Verdict {
    let used = sector.chunks_exact(128).filter(|entry| entry[..16] != [0; 16]);
    let starts: Vec<u64> =
        used.map(|entry| le::<8>(entry, 32)).filter(|start| *start < 1 << 50).collect();
    match starts.is_empty() {
        true => Verdict::Nothing,
        false => Verdict::There(
            starts.into_iter().flat_map(|start| openings(start * block_bytes)).collect(),
        ),
    }
}

fn mbr() -> Landmark {
    Landmark::new(catalogue::MBR_TABLE, 0, |sector| {
        let entries = || sector[446..510].chunks_exact(16);
        let sane =
            has(sector, 510, &[0x55, 0xaa]) && entries().all(|entry| matches!(entry[0], 0 | 0x80));
        let starts: Vec<u64> = entries()
            .filter(|entry| !matches!(entry[4], 0 | 0xee))
            .map(|entry| le::<4>(entry, 8))
            .filter(|start| *start > 0)
            .collect();
        // The boot sectors of FAT and NTFS end alike, and are told by their own marks.
        if !sane
            || starts.is_empty()
            || has(sector, 3, b"NTFS")
            || has(sector, 0x36, b"FAT")
            || has(sector, 0x52, b"FAT")
        {
            return Verdict::Nothing;
        }
        Verdict::There(starts.into_iter().flat_map(|start| openings(start * 512)).collect())
    })
}

/// LVM's label, which may be in any of the first four sectors.
pub(super) fn lvm(base: u64) -> Vec<Landmark> {
    let label = |number: u64| {
        Landmark::new(catalogue::LVM_LABEL, base + number * 512, move |sector| {
            if !has(sector, 0, b"LABELONE")
                || le::<8>(sector, 8) != number
                || !has(sector, 24, b"LVM2 001")
            {
                return Verdict::Nothing;
            }
            // Behind the volume's id and size: areas of data, then, after an empty one, areas of
            // metadata.
            let head = (le::<4>(sector, 20) as usize).min(400) + 40;
            let areas: Vec<u64> =
                sector[head..].chunks_exact(16).map(|area| le::<8>(area, 0)).collect();
            let mut parts = areas.split(|area| *area == 0);
            let data = parts.next().unwrap_or(&[]);
            let metadata = parts.next().unwrap_or(&[]);
            let mut more: Vec<Landmark> =
                (metadata.iter().filter_map(|area| base.checked_add(*area)))
                    .map(|address| {
                        Landmark::new(catalogue::LVM_METADATA, address - address % 512, |sector| {
                            there_if(has(sector, 4, b" LVM2 x[5A%r0N*>"))
                        })
                    })
                    .collect();
            if base == 0 {
                // Where the first volume begins, more often than not.
                more.extend(
                    data.iter()
                        .filter(|area| **area < 1 << 50)
                        .flat_map(|area| openings(area - area % 512)),
                );
            }
            Verdict::There(more)
        })
    };
    (0..4).map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_ends_past_all_addresses_has_the_entries_before() {
        let mut sector = [0; 512];
        let mut put = |at: usize, bytes: &[u8]| sector[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"EFI PART");
        put(24, &1_u64.to_le_bytes());
        put(72, &(u64::MAX / 512).to_le_bytes());
        put(80, &128_u32.to_le_bytes());
        put(84, &128_u32.to_le_bytes());
        let Verdict::There(more) = gpt(512).check(&sector) else { panic!("no table") };
        let entries: Vec<u64> =
            more.iter().filter(|it| it.address > 0).map(|it| it.address).collect();
        assert_eq!(entries, [u64::MAX - 511]);
    }
}

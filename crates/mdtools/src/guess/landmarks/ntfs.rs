//! NTFS: the boot sector says where the table of files is, whose records carry their own numbers;
//! its last sector repeats it.

use super::{Landmark, Sector, Verdict, has, le, spread, there_if};
use crate::catalogue;

const RECORDS_MAX: u64 = 256;
const DATA_ATTRIBUTE: u64 = 0x80;
const END_OF_ATTRIBUTES: u64 = 0xffff_ffff;

#[derive(Clone, Copy)]
struct Volume {
    base: u64,
    cluster_bytes: u64,
    record_bytes: u64,
}

pub(super) fn opening(base: u64) -> Landmark {
    Landmark::new(catalogue::NTFS_BOOT, base, move |sector| {
        let sector_bytes = le::<2>(sector, 11);
        let per_cluster = match sector[13] {
            count @ 0..=128 => u64::from(count),
            negative => 1 << (256 - u32::from(negative)).min(31),
        };
        let cluster_bytes = sector_bytes * per_cluster;
        let record_bytes = match sector[64] {
            count @ 0..=127 => u64::from(count) * cluster_bytes,
            negative => 1 << (256 - u32::from(negative)).min(31),
        };
        if !has(sector, 3, b"NTFS    ")
            || sector_bytes < 512
            || cluster_bytes == 0
            || !(512..=65536).contains(&record_bytes)
        {
            return Verdict::Nothing;
        }
        let volume = Volume { base, cluster_bytes, record_bytes };
        let (sectors, table, mirror) =
            (le::<8>(sector, 40), le::<8>(sector, 48), le::<8>(sector, 56));
        let mut more = Vec::new();
        if let Some(address) =
            sectors.checked_mul(sector_bytes).and_then(|bytes| bytes.checked_add(base))
        {
            more.push(Landmark::new(catalogue::BACKUP_BOOT, address, |sector| {
                there_if(has(sector, 3, b"NTFS    "))
            }));
        }
        // The first sixteen records are the volume's own files, the mirror has four of them.
        more.extend(
            (0..16).filter_map(|number| record(volume, table, number, number, number == 0)),
        );
        more.extend((0..4).filter_map(|number| record(volume, mirror, number, number, false)));
        Verdict::There(more)
    })
}

/// The record `number`, which lies `index` records behind the cluster, and whether it says where
/// the others are.
fn record(
    volume: Volume,
    cluster: u64,
    index: u64,
    number: u64,
    leads_on: bool,
) -> Option<Landmark> {
    let address = cluster
        .checked_mul(volume.cluster_bytes)?
        .checked_add(index * volume.record_bytes + volume.base)?;
    Some(Landmark::new(catalogue::MFT_RECORDS, address, move |sector| {
        if !has(sector, 0, b"FILE") {
            return if sector.iter().all(|byte| *byte == 0) && number > 15 {
                Verdict::Nothing
            } else {
                Verdict::Missing
            };
        }
        // Before version 3.1 a record did not have its number, and the fix-ups began where it is
        // now. Some of the volume's own records are not in use and have none.
        let own = le::<4>(sector, 0x2c);
        if le::<2>(sector, 4) >= 0x30 && own != number & 0xffff_ffff {
            return if own == 0 { Verdict::Nothing } else { Verdict::Missing };
        }
        Verdict::There(if leads_on { rest_of_table(volume, sector) } else { Vec::new() })
    }))
}

/// Record 0 is the table itself: where its runs are.
fn rest_of_table(volume: Volume, sector: &Sector) -> Vec<Landmark> {
    let mut more = Vec::new();
    let mut at = le::<2>(sector, 0x14) as usize;
    while at + 0x40 <= sector.len() && le::<4>(sector, at) != END_OF_ATTRIBUTES {
        let length = le::<4>(sector, at + 4) as usize;
        if le::<4>(sector, at) == DATA_ATTRIBUTE && sector[at + 8] == 1 {
            let (mut cluster, mut first) = (0_i64, 0_u64);
            for (clusters, delta) in runs(&sector[at..], le::<2>(sector, at + 0x20) as usize) {
                cluster = cluster.wrapping_add(delta);
                let count = clusters.saturating_mul(volume.cluster_bytes) / volume.record_bytes;
                let Ok(start) = u64::try_from(cluster) else { break };
                more.extend(
                    spread(count, RECORDS_MAX)
                        .filter_map(|index| record(volume, start, index, first + index, false)),
                );
                first += count;
            }
            break;
        }
        if length < 8 {
            break;
        }
        at += length;
    }
    more
}

/// Lengths in clusters and distances from the run before.
fn runs(attribute: &[u8], mut at: usize) -> Vec<(u64, i64)> {
    let mut runs = Vec::new();
    while let Some(&head) = attribute.get(at).filter(|head| **head != 0) {
        let (length_bytes, delta_bytes) = (usize::from(head & 15), usize::from(head >> 4));
        let Some(fields) = attribute.get(at + 1..at + 1 + length_bytes + delta_bytes) else {
            break;
        };
        if length_bytes > 8 || delta_bytes > 8 {
            break;
        }
        let number = |bytes: &[u8]| {
            bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let unused_bits = 64 - 8 * delta_bytes as u32;
        let delta = number(&fields[length_bytes..]).checked_shl(unused_bits).unwrap_or(0) as i64;
        runs.push((number(&fields[..length_bytes]), delta.checked_shr(unused_bits).unwrap_or(0)));
        at += 1 + length_bytes + delta_bytes;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_signed_and_of_any_width() {
        // Two bytes of length and three of distance; then one and one, backwards.
        let bytes = [0x32, 0x00, 0x01, 0x10, 0x20, 0x03, 0x11, 0x05, 0xf0, 0x00];
        assert_eq!(runs(&bytes, 0), vec![(0x100, 0x03_2010), (5, -16)]);
        assert_eq!(runs(&[0x99, 1, 2, 3], 0), vec![]);
        assert_eq!(runs(&[], 3), vec![]);
    }
}

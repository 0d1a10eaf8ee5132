//! FAT12, FAT16 and FAT32: the copies of the table, and directories, whose first entry names their
//! own first cluster.

use std::rc::Rc;

use super::{Landmark, Sector, Verdict, has, le, there_if};
use crate::catalogue;

const DIRECTORY: u8 = 0x10;
const DEPTH_MAX: u32 = 8;

struct Volume {
    base: u64,
    cluster_bytes: u64,
    /// Where cluster 2 begins, from `base`.
    data: u64,
    clusters: u64,
    wide: bool,
}

pub(super) fn opening(base: u64) -> Landmark {
    Landmark::new(catalogue::FAT_BOOT, base, move |sector| {
        let sector_bytes = le::<2>(sector, 11);
        let marked = has(sector, 0x36, b"FAT12   ")
            || has(sector, 0x36, b"FAT16   ")
            || has(sector, 0x52, b"FAT32   ");
        let (per_cluster, tables) = (u64::from(sector[13]), u64::from(sector[16]));
        if !marked
            || !sector_bytes.is_power_of_two()
            || !(512..=4096).contains(&sector_bytes)
            || per_cluster == 0
            || tables == 0
        {
            return Verdict::Nothing;
        }
        let wide = has(sector, 0x52, b"FAT32   ");
        let either = |short: u64, long: u64| if short == 0 { long } else { short };
        let table_sectors = either(le::<2>(sector, 22), le::<4>(sector, 36));
        let total = either(le::<2>(sector, 19), le::<4>(sector, 32));
        let (reserved, root_entries) = (le::<2>(sector, 14), le::<2>(sector, 17));
        let root = (reserved + tables * table_sectors) * sector_bytes;
        let root_bytes = (root_entries * 32).next_multiple_of(sector_bytes);
        let cluster_bytes = per_cluster * sector_bytes;
        let data = root + root_bytes;
        let clusters = (total * sector_bytes).saturating_sub(data) / cluster_bytes;
        let volume = Rc::new(Volume { base, cluster_bytes, data, clusters, wide });

        let media = sector[21];
        let mut more: Vec<Landmark> = (0..tables)
            .map(|number| {
                let address = base + (reserved + number * table_sectors) * sector_bytes;
                // The first entry repeats the kind of medium; the bits above are ones.
                Landmark::new(catalogue::ALLOCATION_TABLES, address, move |sector| {
                    there_if(sector[0] == media && sector[1] == 0xff)
                })
            })
            .collect();
        if wide {
            let information = base + le::<2>(sector, 48) * sector_bytes;
            more.push(Landmark::new(catalogue::INFORMATION_SECTOR, information, |sector| {
                there_if(has(sector, 0, b"RRaA"))
            }));
            let backup = base + le::<2>(sector, 50) * sector_bytes;
            more.push(Landmark::new(catalogue::BACKUP_BOOT, backup, |sector| {
                there_if(has(sector, 0x52, b"FAT32   "))
            }));
            more.extend(directory(&volume, le::<4>(sector, 44), false, 0));
        } else {
            more.extend(
                (0..root_bytes / 512)
                    .take(32)
                    .map(|number| entries(&volume, base + root + number * 512, 0)),
            );
        }
        Verdict::There(more)
    })
}

/// The sectors of a directory's first cluster.
fn directory(volume: &Rc<Volume>, cluster: u64, has_dot: bool, depth: u32) -> Vec<Landmark> {
    if cluster < 2 || cluster - 2 >= volume.clusters || depth > DEPTH_MAX {
        return Vec::new();
    }
    let address = volume.base + volume.data + (cluster - 2) * volume.cluster_bytes;
    let rest = (u64::from(has_dot)..volume.cluster_bytes / 512)
        .map(|number| entries(volume, address + number * 512, depth));
    let mut more: Vec<Landmark> = rest.collect();
    if has_dot {
        let volume = Rc::clone(volume);
        let first = Landmark::new(catalogue::DIRECTORIES, address, move |sector| {
            if !has(sector, 0, b".          ")
                || sector[11] & DIRECTORY == 0
                || first_cluster(&volume, sector) != cluster
            {
                return Verdict::Missing;
            }
            Verdict::There(children(&volume, sector, depth))
        });
        more.insert(0, first);
    }
    more
}

fn entries(volume: &Rc<Volume>, address: u64, depth: u32) -> Landmark {
    let volume = Rc::clone(volume);
    Landmark::new(catalogue::DIRECTORY_ENTRIES, address, move |sector| {
        match children(&volume, sector, depth) {
            more if more.is_empty() => Verdict::Nothing,
            more => Verdict::There(more),
        }
    })
    .plausible()
}

fn first_cluster(volume: &Volume, entry: &[u8]) -> u64 {
    le::<2>(entry, 26) | if volume.wide { le::<2>(entry, 20) << 16 } else { 0 }
}

/// The directories that a sector of entries names; none when it cannot be one.
fn children(volume: &Rc<Volume>, sector: &Sector, depth: u32) -> Vec<Landmark> {
    let used = sector.chunks_exact(32).take_while(|entry| entry[0] != 0);
    // Two bits of the attributes are always zero.
    if used.clone().any(|entry| entry[11] & 0xc0 != 0) {
        return Vec::new();
    }
    let folders =
        used.filter(|entry| entry[0] != 0xe5 && entry[0] != b'.' && entry[11] & 0x18 == DIRECTORY);
    folders
        .flat_map(|entry| directory(volume, first_cluster(volume, entry), true, depth + 1))
        .collect()
}

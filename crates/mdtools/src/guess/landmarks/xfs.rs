//! XFS ("XFS algorithms and data structures"): every allocation group begins with a copy of the
//! superblock and headers that carry its number; blocks of trees and inodes of version 5 carry
//! their own.

use std::rc::Rc;

use super::{Landmark, Sector, Verdict, be, has, there_if};
use crate::catalogue;

const GROUPS_MAX: u64 = 128;

struct Volume {
    base: u64,
    block_bytes: u64,
    sector_bytes: u64,
    inode_bytes: u64,
    group_blocks: u64,
    group_shift: u64,
    inode_shift: u64,
    blocks: u64,
    groups: u64,
    uuid: [u8; 16],
    is_v5: bool,
}

impl Volume {
    fn read(base: u64, sector: &Sector) -> Option<Volume> {
        let volume = Volume {
            base,
            block_bytes: be::<4>(sector, 4),
            blocks: be::<8>(sector, 8),
            uuid: sector[32..48].try_into().ok()?,
            group_blocks: be::<4>(sector, 84),
            groups: be::<4>(sector, 88),
            is_v5: be::<2>(sector, 100) & 15 == 5,
            sector_bytes: be::<2>(sector, 102),
            inode_bytes: be::<2>(sector, 104),
            inode_shift: sector[123].into(),
            group_shift: sector[124].into(),
        };
        let sane = has(sector, 0, b"XFSB")
            && volume.block_bytes.is_power_of_two()
            && (512..=65536).contains(&volume.block_bytes)
            && matches!(volume.sector_bytes, 512..=32768)
            && matches!(volume.inode_bytes, 256..=2048)
            && volume.group_blocks > 0
            && volume.groups > 0
            && volume.inode_shift < 16
            && volume.group_shift < 32;
        sane.then_some(volume)
    }

    fn group_start(&self, group: u64) -> u64 {
        self.base + group * self.group_blocks * self.block_bytes
    }
}

pub(super) fn opening(base: u64) -> Landmark {
    Landmark::new(catalogue::XFS_SUPERBLOCK, base, move |sector| {
        let Some(volume) = Volume::read(base, sector) else { return Verdict::Nothing };
        let volume = Rc::new(volume);
        let mut more = Vec::new();
        for group in 0..volume.groups.min(GROUPS_MAX) {
            headers(&volume, group, &mut more);
        }
        Verdict::There(more)
    })
}

fn headers(volume: &Rc<Volume>, group: u64, more: &mut Vec<Landmark>) {
    let start = volume.group_start(group);
    if group > 0 {
        let uuid = volume.uuid;
        let check =
            move |sector: &Sector| there_if(has(sector, 0, b"XFSB") && has(sector, 32, &uuid));
        more.push(Landmark::new(catalogue::BACKUP_SUPERBLOCKS, start, check));
    }
    // Free space: the roots of its two trees are at 16 and 20.
    let space = Rc::clone(volume);
    more.push(Landmark::new(
        catalogue::GROUP_HEADERS,
        start + volume.sector_bytes,
        move |sector| {
            if !has(sector, 0, b"XAGF") || be::<4>(sector, 8) != group {
                return Verdict::Missing;
            }
            let roots =
                [(be::<4>(sector, 16), b"AB3B", b"ABTB"), (be::<4>(sector, 20), b"AB3C", b"ABTC")];
            Verdict::There(
                roots
                    .iter()
                    .filter_map(|(block, new, old)| root(&space, group, *block, new, old, false))
                    .collect(),
            )
        },
    ));
    let inodes = Rc::clone(volume);
    more.push(Landmark::new(
        catalogue::GROUP_HEADERS,
        start + 2 * volume.sector_bytes,
        move |sector| {
            if !has(sector, 0, b"XAGI") || be::<4>(sector, 8) != group {
                return Verdict::Missing;
            }
            Verdict::There(
                root(&inodes, group, be::<4>(sector, 20), b"IAB3", b"IABT", true)
                    .into_iter()
                    .collect(),
            )
        },
    ));
}

fn root(
    volume: &Rc<Volume>,
    group: u64,
    block: u64,
    new: &'static [u8; 4],
    old: &'static [u8; 4],
    of_inodes: bool,
) -> Option<Landmark> {
    if block == 0 || block >= volume.group_blocks {
        return None;
    }
    let address = volume.group_start(group) + block * volume.block_bytes;
    let volume = Rc::clone(volume);
    Some(Landmark::new(catalogue::TREE_ROOTS, address, move |sector| {
        let own = (address - volume.base) / 512;
        let is_there = if volume.is_v5 {
            has(sector, 0, new) && be::<8>(sector, 16) == own
        } else {
            has(sector, 0, old)
        };
        if !is_there {
            return Verdict::Missing;
        }
        let is_leaf = be::<2>(sector, 4) == 0;
        let records =
            if of_inodes && is_leaf && volume.is_v5 { be::<2>(sector, 6) as usize } else { 0 };
        let chunks = sector[56..].chunks_exact(16).take(records).map(|record| be::<4>(record, 0));
        Verdict::There(chunks.flat_map(|first| inode_chunk(&volume, group, first)).collect())
    }))
}

/// The 64 inodes of a chunk, one in each block.
fn inode_chunk(volume: &Rc<Volume>, group: u64, first: u64) -> Vec<Landmark> {
    let per_block = (volume.block_bytes / volume.inode_bytes).max(1);
    let numbers = (first..first + 64).step_by(per_block as usize);
    let landmark = |number: u64| {
        let block = number >> volume.inode_shift;
        let within = number & ((1 << volume.inode_shift) - 1);
        if block >= volume.group_blocks || group * volume.group_blocks + block >= volume.blocks {
            return None;
        }
        let address =
            volume.group_start(group) + block * volume.block_bytes + within * volume.inode_bytes;
        let own = group << (volume.group_shift + volume.inode_shift) | number;
        Some(Landmark::new(catalogue::INODES, address - address % 512, move |sector| {
            let inode = &sector[(address % 512) as usize..];
            match inode.get(152..160) {
                Some(_) if has(inode, 0, b"IN") => there_if(be::<8>(inode, 152) == own),
                // A chunk may have holes, which hold whatever was there.
                _ => Verdict::Nothing,
            }
        }))
    };
    numbers.filter_map(landmark).collect()
}

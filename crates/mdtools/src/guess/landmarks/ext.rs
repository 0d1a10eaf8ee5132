//! ext2, ext3 and ext4 (the kernel's documentation, "ext4 data structures and algorithms").
//!
//! ```text
//!   superblock ──> backups in some groups
//!              ──> group descriptors ──> inode tables ──> directories, which name their inode
//! ```
//!
//! With the feature `metadata_csum` descriptors and inodes carry checksums that count their own
//! number: each tells its place.

use std::iter::successors;
use std::rc::Rc;

use super::{Landmark, Sector, Verdict, has, le, spread, there_if};
use crate::catalogue;

const SUPERBLOCK_ADDRESS: u64 = 1024;
const MAGIC: u64 = 0xef53;
const COMPAT_SPARSE_SUPER2: u64 = 0x200;
const INCOMPAT_META_GROUPS: u64 = 0x10;
const INCOMPAT_64BIT: u64 = 0x80;
const INCOMPAT_CHECKSUM_SEED: u64 = 0x2000;
const READ_ONLY_SPARSE_SUPER: u64 = 0x1;
const READ_ONLY_DESCRIPTOR_CHECKSUMS: u64 = 0x10;
const READ_ONLY_METADATA_CHECKSUMS: u64 = 0x400;
const GROUP_WITHOUT_INODES: u64 = 0x1;
const ROOT_INODE: u64 = 2;
const FLAG_EXTENTS: u64 = 0x8_0000;
const FLAG_INLINE_DATA: u64 = 0x1000_0000;
const EXTENT_MAGIC: u64 = 0xf30a;

/// How many sectors of descriptors, of each inode table, and of all inode tables are looked at.
/// What the tables lead to has to find room behind them.
const DESCRIPTOR_SECTORS_MAX: u64 = 64;
const TABLE_SECTORS_MAX: u64 = 1000;
const TABLES_SECTORS_MAX: u64 = 2000;
/// And how many copies of the superblock.
const BACKUPS_MAX: usize = 256;
/// Inodes have numbers of 32 bits, and no file system ends where addresses do: what says so is
/// none.
const INODES_MAX: u64 = 1 << 32;
const SIZE_MAX_BYTES: u64 = 1 << 60;

struct Volume {
    base: u64,
    block_bytes: u64,
    blocks: u64,
    first_block: u64,
    group_blocks: u64,
    group_inodes: u64,
    inode_bytes: u64,
    descriptor_bytes: u64,
    uuid: [u8; 16],
    sparse: bool,
    meta_groups: bool,
    sparse2: bool,
    /// What checksums of metadata begin with; `None` without them.
    seed: Option<u32>,
    /// Whether descriptors say which part of an inode table was never used.
    tells_unused: bool,
}

impl Volume {
    fn read(base: u64, sector: &Sector) -> Option<Volume> {
        let incompat = le::<4>(sector, 0x60);
        let shift = le::<4>(sector, 0x18);
        let revision = le::<4>(sector, 0x4c);
        let read_only = le::<4>(sector, 0x64);
        let has_checksums = read_only & READ_ONLY_METADATA_CHECKSUMS != 0;
        if le::<2>(sector, 0x38) != MAGIC || shift > 6 {
            return None;
        }
        let is_64bit = incompat & INCOMPAT_64BIT != 0;
        // The upper half of the count is at 0x150, and the size of a descriptor at 0xfe.
        let upper = if is_64bit { le::<4>(sector, 0x150) << 32 } else { 0 };
        let volume = Volume {
            base,
            block_bytes: 1024 << shift,
            blocks: le::<4>(sector, 4) | upper,
            first_block: le::<4>(sector, 0x14),
            group_blocks: le::<4>(sector, 0x20),
            group_inodes: le::<4>(sector, 0x28),
            inode_bytes: if revision == 0 { 128 } else { le::<2>(sector, 0x58) },
            descriptor_bytes: if is_64bit { le::<2>(sector, 0xfe) } else { 32 },
            uuid: sector[0x68..0x78].try_into().ok()?,
            // The seed itself is in the superblock's second sector; where it is used, checksums are
            // not looked at.
            seed: (has_checksums && incompat & INCOMPAT_CHECKSUM_SEED == 0)
                .then(|| checksum(!0, &sector[0x68..0x78])),
            tells_unused: has_checksums || read_only & READ_ONLY_DESCRIPTOR_CHECKSUMS != 0,
            sparse: read_only & READ_ONLY_SPARSE_SUPER != 0,
            meta_groups: incompat & INCOMPAT_META_GROUPS != 0,
            sparse2: le::<4>(sector, 0x5c) & COMPAT_SPARSE_SUPER2 != 0,
        };
        let size_bytes = volume.blocks.checked_mul(volume.block_bytes);
        let sane = volume.blocks > 0
            && size_bytes.is_some_and(|bytes| bytes <= SIZE_MAX_BYTES)
            && volume.group_blocks > 0
            && volume.group_inodes > 0
            && volume.first_block <= 1
            && matches!(volume.inode_bytes, 128 | 256 | 512)
            && matches!(volume.descriptor_bytes, 32 | 64 | 128)
            && volume.groups() <= INODES_MAX / volume.group_inodes;
        sane.then_some(volume)
    }

    fn groups(&self) -> u64 {
        (self.blocks - self.first_block.min(self.blocks)).div_ceil(self.group_blocks)
    }

    fn address(&self, block: u64) -> Option<u64> {
        (block < self.blocks).then(|| self.base + block * self.block_bytes)
    }

    /// The groups with a copy of the superblock. They are not looked for among all groups: of these
    /// a damaged superblock has as many as it likes.
    fn backups(&self) -> Vec<u64> {
        let groups = self.groups();
        if self.sparse2 {
            return Vec::new();
        }
        if !self.sparse {
            return (1..groups).take(BACKUPS_MAX).collect();
        }
        let powers = |base: u64| successors(Some(base), move |power| power.checked_mul(base));
        let of_base = |base| powers(base).take_while(|power| *power < groups);
        let mut backups: Vec<u64> = [3, 5, 7].into_iter().flat_map(of_base).collect();
        backups.extend((groups > 1).then_some(1));
        backups.sort_unstable();
        backups
    }
}

/// CRC-32C as ext4 continues it: neither inverted at the start nor at the end.
fn checksum(seed: u32, bytes: &[u8]) -> u32 {
    !crc32c::crc32c_append(!seed, bytes)
}

/// The same of a structure with its number before it.
fn numbered_checksum(seed: u32, number: u64, bytes: &[u8]) -> u32 {
    checksum(checksum(seed, &(number as u32).to_le_bytes()), bytes)
}

pub(super) fn opening(base: u64) -> Landmark {
    Landmark::new(catalogue::EXT_SUPERBLOCK, base + SUPERBLOCK_ADDRESS, move |sector| {
        let Some(volume) = Volume::read(base, sector).filter(|_| le::<2>(sector, 0x5a) == 0) else {
            return Verdict::Nothing;
        };
        let volume = Rc::new(volume);
        let mut more = descriptors(&volume);
        for group in volume.backups() {
            let block = volume.first_block + group * volume.group_blocks;
            let Some(address) = volume.address(block) else { continue };
            let uuid = volume.uuid;
            // Version 0 does not number them.
            more.push(Landmark::new(catalogue::BACKUP_SUPERBLOCKS, address, move |sector| {
                let number = le::<2>(sector, 0x5a);
                there_if(
                    le::<2>(sector, 0x38) == MAGIC
                        && has(sector, 0x68, &uuid)
                        && (number == group & 0xffff || number == 0),
                )
            }));
        }
        Verdict::There(more)
    })
}

fn descriptors(volume: &Rc<Volume>) -> Vec<Landmark> {
    let per_sector = 512 / volume.descriptor_bytes;
    let groups = if volume.meta_groups {
        volume.block_bytes / volume.descriptor_bytes
    } else {
        volume.groups()
    };
    let sectors = groups.min(volume.groups()).div_ceil(per_sector);
    let Some(start) = volume.address(volume.first_block + 1) else { return Vec::new() };
    let landmark = |number: u64| {
        let volume = Rc::clone(volume);
        Landmark::new(catalogue::GROUP_DESCRIPTORS, start + number * 512, move |sector| {
            descriptor_sector(&volume, number * per_sector, sector)
        })
    };
    spread(sectors, DESCRIPTOR_SECTORS_MAX).map(landmark).collect()
}

fn descriptor_sector(volume: &Rc<Volume>, first_group: u64, sector: &Sector) -> Verdict {
    let mut more = Vec::new();
    let size = volume.descriptor_bytes as usize;
    let is_told = volume.seed.is_some();
    for (group, descriptor) in (first_group..volume.groups()).zip(sector.chunks_exact(size)) {
        let block = |at: usize| {
            le::<4>(descriptor, at)
                | if size >= 64 { le::<4>(descriptor, at + 0x20) << 32 } else { 0 }
        };
        if volume.seed.is_some_and(|seed| !is_descriptor(seed, group, descriptor)) {
            return Verdict::Missing;
        }
        let places = [block(0), block(4), block(8)];
        if places.iter().any(|place| *place <= volume.first_block || *place >= volume.blocks)
            || places[0] == places[1]
        {
            return Verdict::Missing;
        }
        let table = volume.address(places[2]).unwrap_or(0);
        let count = |low: usize, high: usize| {
            le::<2>(descriptor, low) | if size >= 64 { le::<2>(descriptor, high) << 16 } else { 0 }
        };
        let unused = match volume.tells_unused {
            true if le::<2>(descriptor, 0x12) & GROUP_WITHOUT_INODES != 0 => volume.group_inodes,
            true => count(0x1c, 0x32),
            // Those in use are mostly the first ones.
            false => count(0x0e, 0x2e),
        };
        let used = volume.group_inodes.saturating_sub(unused);
        let most = (TABLES_SECTORS_MAX / volume.groups().max(1)).clamp(1, TABLE_SECTORS_MAX);
        for number in spread((used * volume.inode_bytes).div_ceil(512), most) {
            let first = group * volume.group_inodes + number * 512 / volume.inode_bytes + 1;
            let volume = Rc::clone(volume);
            let check = move |sector: &Sector| inodes(&volume, first, sector);
            more.push(match is_told {
                true => Landmark::new(catalogue::CHECKED_INODES, table + number * 512, check),
                false => Landmark::new(catalogue::INODES, table + number * 512, check).plausible(),
            });
        }
    }
    Verdict::There(more)
}

/// Whether the checksum of the descriptor of `group` is right: the lower half of the sum over all
/// but its own two bytes.
fn is_descriptor(seed: u32, group: u64, descriptor: &[u8]) -> bool {
    let mut zeroed = descriptor.to_vec();
    zeroed[0x1e..0x20].fill(0);
    u64::from(numbered_checksum(seed, group, &zeroed) & 0xffff) == le::<2>(descriptor, 0x1e)
}

/// Whether the checksum of inode `number` is right: over its number, its generation and all but the
/// checksum itself, whose upper half is there only when the inode goes on that far.
fn is_inode(seed: u32, number: u64, inode: &[u8]) -> bool {
    let is_long = inode.len() > 128 && le::<2>(inode, 0x80) >= 4;
    let mut zeroed = inode.to_vec();
    zeroed[0x7c..0x7e].fill(0);
    if is_long {
        zeroed[0x82..0x84].fill(0);
    }
    let seed = numbered_checksum(seed, number, &inode[0x64..0x68]);
    let (sum, mask) = (checksum(seed, &zeroed), if is_long { !0 } else { 0xffff });
    let upper = if is_long { le::<2>(inode, 0x82) << 16 } else { 0 };
    u64::from(sum & mask) == le::<2>(inode, 0x7c) | upper
}

/// A sector of an inode table, whose first inode has this number.
fn inodes(volume: &Rc<Volume>, first: u64, sector: &Sector) -> Verdict {
    let mut more = Vec::new();
    let mut used = 0;
    for (number, inode) in (first..).zip(sector.chunks_exact(volume.inode_bytes as usize)) {
        let (mode, links) = (le::<2>(inode, 0), le::<2>(inode, 0x1a));
        if links == 0 || mode == 0 {
            continue;
        }
        if !matches!(mode >> 12, 1 | 2 | 4 | 6 | 8 | 0xa | 0xc)
            || volume.seed.is_some_and(|seed| !is_inode(seed, number, inode))
        {
            return Verdict::Missing;
        }
        used += 1;
        let flags = le::<4>(inode, 0x20);
        let block = match flags {
            flags if flags & FLAG_INLINE_DATA != 0 => continue,
            flags if flags & FLAG_EXTENTS != 0 => {
                let (entries, most, depth) =
                    (le::<2>(inode, 0x2a), le::<2>(inode, 0x2c), le::<2>(inode, 0x2e));
                if le::<2>(inode, 0x28) != EXTENT_MAGIC || entries > most || most > 4 || depth > 5 {
                    return Verdict::Missing;
                }
                if entries == 0 || depth > 0 {
                    continue;
                }
                le::<4>(inode, 0x3c) | le::<2>(inode, 0x3a) << 32
            }
            _ => le::<4>(inode, 0x28),
        };
        if mode >> 12 == 4
            && let Some(address) = volume.address(block)
        {
            // A directory's first entry is itself: 12 bytes, one letter, a dot.
            more.push(Landmark::new(catalogue::DIRECTORIES, address, move |sector| {
                there_if(
                    le::<4>(sector, 0) == number
                        && le::<2>(sector, 4) == 12
                        && sector[6] == 1
                        && sector[8] == b'.',
                )
            }));
        }
    }
    match used {
        // Every file system has its root.
        0 if (first..first + 512 / volume.inode_bytes).contains(&ROOT_INODE) => Verdict::Missing,
        0 => Verdict::Nothing,
        _ => Verdict::There(more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The superblock of a file system of so many blocks of 1 KiB, in groups of so many.
    fn superblock(blocks: u64, group_blocks: u32, group_inodes: u32) -> Sector {
        let mut sector = [0; 512];
        let mut put = |at: usize, bytes: &[u8]| sector[at..at + bytes.len()].copy_from_slice(bytes);
        put(0x04, &(blocks as u32).to_le_bytes());
        put(0x14, &1_u32.to_le_bytes());
        put(0x20, &group_blocks.to_le_bytes());
        put(0x28, &group_inodes.to_le_bytes());
        put(0x38, &(MAGIC as u16).to_le_bytes());
        put(0x60, &(INCOMPAT_64BIT as u32).to_le_bytes());
        put(0x64, &(READ_ONLY_SPARSE_SUPER as u32).to_le_bytes());
        put(0xfe, &[64, 0]);
        put(0x150, &((blocks >> 32) as u32).to_le_bytes());
        sector
    }

    #[test]
    fn backups_are_where_powers_are() {
        let volume = Volume::read(0, &superblock(1000 * 8192, 8192, 2048)).expect("a volume");
        assert_eq!(volume.groups(), 1000);
        assert_eq!(volume.backups(), [1, 3, 5, 7, 9, 25, 27, 49, 81, 125, 243, 343, 625, 729]);
        let dense = Volume { sparse: false, ..volume };
        assert_eq!(dense.backups(), (1..=256).collect::<Vec<u64>>());
        assert!(Volume { sparse2: true, ..dense }.backups().is_empty());
        let small = Volume::read(0, &superblock(8192, 8192, 2048)).expect("a volume");
        assert!(small.backups().is_empty());
    }

    #[test]
    fn groups_without_number_are_not_counted_and_lead_past_no_address() {
        for (blocks, group_blocks, group_inodes) in
            [(u64::MAX, 1, 1), (1 << 53, 1, 1), (1 << 32, 1, 8), (1 << 50, u32::MAX, u32::MAX)]
        {
            let sector = superblock(blocks, group_blocks, group_inodes);
            assert!(matches!(opening(0).check(&sector), Verdict::Nothing), "{blocks}");
        }
        let Verdict::There(more) = opening(0).check(&superblock(1 << 32, 1, 1)) else {
            panic!("no volume");
        };
        assert!(more.len() < 1000, "{}", more.len());
    }
}

//! btrfs: copies of the superblock at fixed places, and the roots of its trees, which carry their
//! own logical addresses. The superblock holds the map from logical to physical for the first tree,
//! the chunk tree, which has the rest of the map.

use std::rc::Rc;

use super::{Landmark, Sector, Verdict, has, le, there_if};
use crate::catalogue;

const MAGIC: &[u8] = b"_BHRfS_M";
const SUPERBLOCK_ADDRESS: u64 = 64 << 10;
const COPIES: [u64; 2] = [64 << 20, 256 << 30];
const CHUNK_ITEM: u8 = 228;
/// Where the superblock's own list of chunks begins in its second sector.
const SYSTEM_CHUNKS_AT: usize = 0x32b - 512;
const NODE_HEADER_BYTES: u64 = 101;
const ITEM_BYTES: u64 = 25;

struct Volume {
    base: u64,
    id: [u8; 16],
    root: u64,
    chunk_root: u64,
}

/// A run of logical addresses.
struct Chunk {
    logical: u64,
    length: u64,
    /// Where its copies begin.
    stripes: Vec<u64>,
}

impl Chunk {
    /// Reads the item of a chunk with the key's offset `logical`.
    fn read(logical: u64, item: &[u8]) -> Option<Chunk> {
        let length = le::<8>(item.get(..48)?, 0);
        let count = (le::<2>(item, 44) as usize).min(4);
        let stripes =
            item[48..].chunks_exact(32).take(count).map(|stripe| le::<8>(stripe, 8)).collect();
        Some(Chunk { logical, length, stripes })
    }

    fn places(&self, logical: u64) -> Vec<u64> {
        match logical.checked_sub(self.logical) {
            Some(within) if within < self.length => {
                self.stripes.iter().filter_map(|start| start.checked_add(within)).collect()
            }
            _ => Vec::new(),
        }
    }
}

pub(super) fn opening(base: u64) -> Landmark {
    Landmark::new(catalogue::BTRFS_SUPERBLOCK, base + SUPERBLOCK_ADDRESS, move |sector| {
        if !has(sector, 64, MAGIC) || le::<8>(sector, 48) != SUPERBLOCK_ADDRESS {
            return Verdict::Nothing;
        }
        let mut id = [0; 16];
        id.copy_from_slice(&sector[32..48]);
        let (root, chunk_root, size) =
            (le::<8>(sector, 80), le::<8>(sector, 88), le::<8>(sector, 112));
        let mut more = Vec::new();
        for address in COPIES.into_iter().filter(|address| address + 4096 <= size) {
            more.push(Landmark::new(
                catalogue::BACKUP_SUPERBLOCKS,
                base + address,
                move |sector| {
                    there_if(
                        has(sector, 64, MAGIC)
                            && has(sector, 32, &id)
                            && le::<8>(sector, 48) == address,
                    )
                },
            ));
        }
        let volume = Rc::new(Volume { base, id, root, chunk_root });
        more.push(Landmark::new(
            catalogue::BTRFS_SUPERBLOCK,
            base + SUPERBLOCK_ADDRESS + 512,
            move |sector| {
                let key = &sector[SYSTEM_CHUNKS_AT..];
                if key[8] != CHUNK_ITEM {
                    return Verdict::Missing;
                }
                let chunk = Chunk::read(le::<8>(key, 9), &key[17..]);
                let places = chunk.map(|chunk| chunk.places(volume.chunk_root)).unwrap_or_default();
                Verdict::There(
                    places
                        .into_iter()
                        .map(|place| node(&volume, volume.chunk_root, place, true))
                        .collect(),
                )
            },
        ));
        Verdict::There(more)
    })
}

/// A node of a tree; one of the chunk tree leads on.
fn node(volume: &Rc<Volume>, logical: u64, place: u64, of_chunks: bool) -> Landmark {
    let volume = Rc::clone(volume);
    let address = volume.base.saturating_add(place - place % 512);
    Landmark::new(catalogue::TREE_ROOTS, address, move |sector| {
        if !has(sector, 32, &volume.id) || le::<8>(sector, 48) != logical {
            return Verdict::Missing;
        }
        let is_leaf = sector[100] == 0;
        let items = if of_chunks && is_leaf { le::<4>(sector, 96).min(16) as usize } else { 0 };
        let heads =
            sector[NODE_HEADER_BYTES as usize..].chunks_exact(ITEM_BYTES as usize).take(items);
        let chunks = heads.filter(|head| head[8] == CHUNK_ITEM);
        Verdict::There(
            chunks
                .filter_map(|head| {
                    chunk_item(&volume, le::<8>(head, 9), address, le::<4>(head, 17))
                })
                .collect(),
        )
    })
}

/// The map's entry for the chunk at `logical`, if it lies in one sector. Where the root of all
/// trees is, follows from it.
fn chunk_item(volume: &Rc<Volume>, logical: u64, node: u64, offset: u64) -> Option<Landmark> {
    let start = node + NODE_HEADER_BYTES + offset;
    let within = (start % 512) as usize;
    let volume = Rc::clone(volume);
    (within + 112 <= 512 && logical <= volume.root).then(|| {
        Landmark::new(catalogue::CHUNK_MAP_ENTRIES, start - start % 512, move |sector: &Sector| {
            let places = Chunk::read(logical, &sector[within..within + 112])
                .map(|chunk| chunk.places(volume.root))
                .unwrap_or_default();
            match places.is_empty() {
                true => Verdict::Nothing,
                false => Verdict::There(
                    places.into_iter().map(|place| node_of_root(&volume, place)).collect(),
                ),
            }
        })
    })
}

fn node_of_root(volume: &Rc<Volume>, place: u64) -> Landmark {
    node(volume, volume.root, place, false)
}

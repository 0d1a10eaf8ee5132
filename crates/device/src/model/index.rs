//! Where the extents of a write cache begin, in order.
//!
//! ```text
//!   blocks   [ 3 7 12 19 ][ 25 31 ][ 40 44 58 ]      each in order, and one after the other
//! ```
//!
//! A cache that holds few extents has one block, which is searched and moved about faster than a
//! tree is walked; with many, a block is so short that moving it costs little.

/// Entries of a block before it becomes two.
const BLOCK_ENTRIES: usize = 128;

/// Slots of extents by the first byte of each.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// None is empty but the first of an empty index.
    blocks: Vec<Vec<(u64, u32)>>,
    length: usize,
}

/// A place between two entries: before the one that `at` counts up to in its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexPosition {
    block: usize,
    at: usize,
}

impl Index {
    pub(super) fn new() -> Self {
        Index { blocks: vec![Vec::new()], length: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// All slots, in the order of where they start.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().flatten().map(|&(_, slot)| slot)
    }

    /// The place behind all that start at or before an address.
    #[inline]
    pub(super) fn after(&self, address: u64) -> IndexPosition {
        let block = if self.blocks.len() == 1 {
            0
        } else {
            self.blocks.partition_point(|block| block[0].0 <= address).saturating_sub(1)
        };
        IndexPosition {
            block,
            at: self.blocks[block].partition_point(|&(start, _)| start <= address),
        }
    }

    /// The extent before a place that [`Index::after`] gave: where it starts, and its slot.
    #[inline]
    pub(super) fn before(&self, place: IndexPosition) -> Option<(u64, u32)> {
        self.blocks[place.block].get(place.at.wrapping_sub(1)).copied()
    }

    /// The extent behind a place.
    #[inline]
    pub(super) fn behind(&self, place: IndexPosition) -> Option<(u64, u32)> {
        let block = &self.blocks[place.block];
        block.get(place.at).or_else(|| self.blocks.get(place.block + 1)?.first()).copied()
    }

    /// The slot of the extent that starts at an address.
    #[inline]
    pub(super) fn get(&self, start: u64) -> Option<u32> {
        self.before(self.after(start)).filter(|&(other, _)| other == start).map(|(_, slot)| slot)
    }

    /// Adds an extent at the place behind those that start before it.
    #[inline]
    pub(super) fn insert(&mut self, place: IndexPosition, start: u64, slot: u32) {
        self.length += 1;
        let block = &mut self.blocks[place.block];
        block.insert(place.at, (start, slot));
        if block.len() > BLOCK_ENTRIES {
            let rest = block.split_off(BLOCK_ENTRIES / 2);
            self.blocks.insert(place.block + 1, rest);
        }
    }

    /// Takes out the extent that starts at an address.
    #[inline]
    pub(super) fn remove(&mut self, start: u64) {
        let IndexPosition { block, at } = self.after(start);
        debug_assert_eq!(self.blocks[block][at - 1].0, start, "it is there");
        self.length -= 1;
        self.blocks[block].remove(at - 1);
        if self.blocks[block].is_empty() && self.blocks.len() > 1 {
            self.blocks.remove(block);
        }
    }

    /// An extent starts somewhere else, with none between there and where it started.
    #[inline]
    pub(super) fn set_start(&mut self, from: u64, to: u64) {
        let IndexPosition { block, at } = self.after(from);
        debug_assert_eq!(self.blocks[block][at - 1].0, from, "it is there");
        self.blocks[block][at - 1].0 = to;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::random::Random;
    use super::*;

    #[test]
    fn it_finds_what_a_tree_finds_whatever_is_added_and_taken_out() {
        for (seed, most) in [(1, 3), (2, 200), (3, 2000)] {
            let mut random = Random::new(seed);
            let (mut index, mut tree) = (Index::new(), BTreeMap::new());
            for slot in 0..20_000 {
                let address = random.below(4 * most);
                let place = index.after(address);
                let before =
                    tree.range(..=address).next_back().map(|(&start, &slot)| (start, slot));
                let behind = tree.range(address + 1..).next().map(|(&start, &slot)| (start, slot));
                assert_eq!((index.before(place), index.behind(place)), (before, behind));
                assert_eq!(index.get(address), tree.get(&address).copied());
                match before {
                    Some((start, _)) if start == address => {
                        index.remove(address);
                        tree.remove(&address);
                    }
                    Some((start, slot)) if tree.len() as u64 >= most => {
                        // It starts where the address is: nothing lies between.
                        index.set_start(start, address);
                        tree.remove(&start);
                        tree.insert(address, slot);
                    }
                    _ => {
                        index.insert(place, address, slot);
                        tree.insert(address, slot);
                    }
                }
                assert_eq!(index.len(), tree.len());
            }
            assert!(index.slots().eq(tree.values().copied()), "seed {seed}");
        }
    }
}

//! What a cache knows of its blocks: where they are, what they are worth, and which jobs work on
//! them. All channels share one.
//!
//! ```text
//!   absent --room--> stale --filled--> clean <----------- written out -----------+
//!                      ^                 |                                        |
//!                      +--- invalidated -+---- written (write-back) -------> dirty
//! ```
//!
//! A *stale* slot belongs to its block, but what lies in it is worth nothing: reads go past it. A
//! *claimed* slot is one of which the metadata on the cache's device says, or is about to say, that
//! it holds changes; until they say otherwise no other block may have it, for after a crash they
//! would be believed. Dirty and claimed slots are pinned: the policy does not know of them, so that
//! looking for one to go never wades through those that may not. Slots change only under an
//! exclusive hold on their block, or lose their block when no job holds it.

use std::collections::BTreeSet;
use std::ops::Range;

use block::{Error, size_text};
use words::{Text, statement};

use super::ranges::Ranges;
use super::shape::Shape;
use crate::catalogue;
use crate::policy::{Admission, AdmissionOptions, Bits, Directory, PolicyKind, Slot};

/// What was counted since the cache was opened, in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Blocks that reads asked for and that were there.
    pub read_hits: u64,
    /// Blocks that reads asked for and that were not.
    pub read_misses: u64,
    /// Blocks written that were there.
    pub write_hits: u64,
    /// Blocks written that were not.
    pub write_misses: u64,
    /// Blocks that came in.
    pub insertions: u64,
    /// Blocks that had to go for others.
    pub evictions: u64,
    /// Dirty blocks that were written to the device below.
    pub written_out: u64,
}

pub(super) struct CacheState {
    pub(super) directory: Directory,
    pub(super) admission: Admission,
    pub(super) ranges: Ranges,
    pub(super) counts: CacheCounts,
    dirty: Bits,
    claimed: Bits,
    stale: Bits,
    /// Accessed while pinned.
    touched: Bits,
    dirty_slots: u32,
    claimed_slots: u32,
    /// Claimed and not dirty: free again once the metadata say so.
    idle_claims: u32,
    /// How many slots may be used.
    pub(super) limit: u32,
    /// Slots to one page of metadata, when there are any.
    slots_per_page: Option<u32>,
    /// Pages of metadata that no longer say what holds.
    changed_pages: BTreeSet<u32>,
    /// Dirty blocks that the write-out has before it, the lowest address last.
    sweep: Vec<u32>,
}

/// What is to be written as metadata: pages, and the slots that are free once they are durable.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// Each page with the blocks of its dirty slots, by their place in it.
    pub(super) pages: Vec<(u32, Vec<(u32, u64)>)>,
    pub(super) clearing: Vec<Slot>,
}

impl CacheState {
    pub(super) fn new(
        policy: PolicyKind,
        admission: AdmissionOptions,
        slots: u64,
        blocks: u64,
        slots_per_page: Option<u32>,
    ) -> Result<CacheState, Error> {
        let directory = Directory::new(policy, slots, blocks)?;
        let slots = directory.slots();
        Ok(CacheState {
            directory,
            admission: Admission::new(admission, slots),
            ranges: Ranges::default(),
            counts: CacheCounts::default(),
            dirty: Bits::new(slots),
            claimed: Bits::new(slots),
            stale: Bits::new(slots),
            touched: Bits::new(slots),
            dirty_slots: 0,
            claimed_slots: 0,
            idle_claims: 0,
            limit: slots,
            slots_per_page,
            changed_pages: BTreeSet::new(),
            sweep: Vec::new(),
        })
    }

    /// Lets nothing more into the slots from `limit` on, and names the blocks that are there, in
    /// address order.
    pub(super) fn retire(&mut self, limit: u32) -> Vec<u64> {
        self.limit = limit;
        self.directory.retire(limit);
        let there = self.directory.in_use().filter(|&slot| slot >= limit);
        let mut blocks: Vec<u64> = there.map(|slot| self.directory.block(slot)).collect();
        blocks.sort_unstable();
        blocks
    }

    /// Has so many slots from now on; those that go are empty.
    pub(super) fn resize(&mut self, slots: u32) {
        self.directory.resize(slots);
        self.admission.resize(slots);
        for bits in [&mut self.dirty, &mut self.claimed, &mut self.stale, &mut self.touched] {
            bits.resize(slots);
        }
        self.limit = slots;
    }

    /// The block leaves its slot if that is to go. The caller holds the block exclusively, and
    /// nothing but it has what is dirty.
    pub(super) fn leave_retired(&mut self, block: u64) {
        if self
            .directory
            .find(block)
            .is_some_and(|slot| slot >= self.limit && !self.dirty.get(slot))
        {
            self.invalidate(block);
            self.counts.evictions += 1;
        }
    }

    pub(super) fn dirty_slots(&self) -> u32 {
        self.dirty_slots
    }

    pub(super) fn claimed_slots(&self) -> u32 {
        self.claimed_slots
    }

    pub(super) fn idle_claims(&self) -> u32 {
        self.idle_claims
    }

    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.dirty.get(slot)
    }

    fn is_pinned(&self, slot: Slot) -> bool {
        self.dirty.get(slot) || self.claimed.get(slot)
    }

    /// Where the block's data are; `None` when they are not here.
    pub(super) fn find(&self, block: u64) -> Option<Slot> {
        self.directory.find(block).filter(|&slot| !self.stale.get(slot))
    }

    pub(super) fn has_all(&self, mut blocks: Range<u64>) -> bool {
        blocks.all(|block| self.find(block).is_some())
    }

    /// The slot was accessed.
    pub(super) fn hit(&mut self, slot: Slot) {
        if self.is_pinned(slot) {
            self.touched.set(slot, true);
        } else {
            self.directory.hit(slot);
        }
    }

    /// A read has found what it asked for in so many slots side by side.
    pub(super) fn hit_all(&mut self, first: Slot, count: u64) {
        self.counts.read_hits += count;
        (first..first + count as u32).for_each(|slot| self.hit(slot));
    }

    /// A slot for a block that is to come in, stale until it has; `None` when there is no room.
    pub(super) fn room(&mut self, block: u64) -> Option<Slot> {
        if let Some(slot) = self.directory.find(block) {
            return Some(slot);
        }
        if self.directory.used() >= self.limit {
            let ranges = &self.ranges;
            let (slot, _) = self.directory.evict(block, |block| !ranges.covers(block))?;
            self.stale.set(slot, false);
            self.counts.evictions += 1;
        }
        let slot = self.directory.insert(block)?;
        self.stale.set(slot, true);
        self.counts.insertions += 1;
        Some(slot)
    }

    /// Takes what a map says, by slots: where blocks are, and which are dirty. False when it
    /// contradicts itself.
    pub(super) fn restore(&mut self, entries: &[(Slot, u64, bool)]) -> bool {
        let places: Vec<(Slot, u64)> =
            entries.iter().map(|&(slot, block, _)| (slot, block)).collect();
        let restored = self.directory.restore(&places);
        if restored {
            entries
                .iter()
                .filter(|(.., dirty)| *dirty)
                .for_each(|&(slot, ..)| self.set_dirty(slot));
            // The map has them already.
            self.snapshot();
        }
        restored
    }

    /// The slot holds its block's data.
    pub(super) fn set_valid(&mut self, slot: Slot) {
        self.stale.set(slot, false);
    }

    /// What the slot holds is worth nothing any more, while others may still be reading from it.
    pub(super) fn set_stale(&mut self, slot: Slot) {
        self.stale.set(slot, true);
    }

    /// The slot holds what the device below has not.
    pub(super) fn set_dirty(&mut self, slot: Slot) {
        if self.dirty.get(slot) {
            return;
        }
        if self.claimed.get(slot) {
            self.idle_claims -= 1;
        } else {
            self.directory.pin(slot);
            self.touched.set(slot, false);
        }
        self.dirty.set(slot, true);
        self.dirty_slots += 1;
        self.change_page(slot);
    }

    /// The device below has what the slot holds.
    pub(super) fn set_clean(&mut self, slot: Slot) {
        if !self.dirty.get(slot) {
            return;
        }
        self.dirty.set(slot, false);
        self.dirty_slots -= 1;
        if self.claimed.get(slot) {
            self.idle_claims += 1;
            self.change_page(slot);
        } else {
            self.unpin(slot);
        }
    }

    fn unpin(&mut self, slot: Slot) {
        self.directory.unpin(slot);
        if self.touched.get(slot) {
            self.directory.hit(slot);
        }
    }

    /// The block leaves the cache, whatever it held. The caller holds it exclusively.
    pub(super) fn invalidate(&mut self, block: u64) {
        let Some(slot) = self.directory.find(block) else { return };
        self.set_clean(slot);
        if self.claimed.get(slot) {
            self.stale.set(slot, true);
        } else {
            self.directory.remove(slot);
            self.stale.set(slot, false);
        }
    }

    fn change_page(&mut self, slot: Slot) {
        if let Some(slots_per_page) = self.slots_per_page {
            self.changed_pages.insert(slot / slots_per_page);
        }
    }

    /// What the metadata have to say so that they speak for this moment. Every dirty slot in it is
    /// claimed from now on.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let Some(slots_per_page) = self.slots_per_page else { return Snapshot::default() };
        let mut snapshot = Snapshot::default();
        for page in std::mem::take(&mut self.changed_pages) {
            let first = page * slots_per_page;
            let mut blocks = Vec::new();
            for slot in first..(first + slots_per_page).min(self.directory.slots()) {
                if self.dirty.get(slot) {
                    blocks.push((slot - first, self.directory.block(slot)));
                    if !self.claimed.get(slot) {
                        self.claimed.set(slot, true);
                        self.claimed_slots += 1;
                    }
                } else if self.claimed.get(slot) {
                    snapshot.clearing.push(slot);
                }
            }
            snapshot.pages.push((page, blocks));
        }
        snapshot
    }

    /// The snapshot is durable.
    pub(super) fn settle(&mut self, snapshot: &Snapshot) {
        for &slot in &snapshot.clearing {
            self.claimed.set(slot, false);
            self.claimed_slots -= 1;
            if !self.dirty.get(slot) {
                self.idle_claims -= 1;
                self.unpin(slot);
            }
        }
    }

    /// The snapshot did not become durable: its pages are still to be written.
    pub(super) fn give_up(&mut self, snapshot: &Snapshot) {
        self.changed_pages.extend(snapshot.pages.iter().map(|(page, _)| page));
    }

    /// Runs of blocks that are dirty, or not, from the first of the range on. Where they change
    /// very often the last is not at the range's end.
    pub(super) fn dirty_runs(&self, blocks: Range<u64>) -> Vec<(bool, Range<u64>)> {
        const RUNS_MAX: usize = 1024;
        if self.dirty_slots == 0 {
            return vec![(false, blocks)];
        }
        let mut runs: Vec<(bool, Range<u64>)> = Vec::new();
        // A range of many blocks would be looked up for long, under the lock.
        for block in blocks.take(RUNS_MAX * 16) {
            let is_dirty = self.directory.find(block).is_some_and(|slot| self.dirty.get(slot));
            let is_full = runs.len() == RUNS_MAX;
            match runs.last_mut() {
                Some((last, run)) if *last == is_dirty => run.end = block + 1,
                _ if is_full => break,
                _ => runs.push((is_dirty, block..block + 1)),
            }
        }
        runs
    }

    /// The dirty blocks in words: how much, and the first few places.
    pub(super) fn dirty_text(&self, shape: &Shape) -> Text {
        const NAMED: usize = 8;
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let mut bytes = 0;
        for block in self.dirty_blocks() {
            let (start, end) = (shape.start(block), shape.end(block));
            bytes += end - start;
            match ranges.last_mut() {
                Some((_, last)) if *last == start => *last = end,
                _ => ranges.push((start, end)),
            }
        }
        let named: Vec<String> = ranges
            .iter()
            .take(NAMED)
            .map(|(start, end)| format!("{start}+{}", end - start))
            .collect();
        let more = if ranges.len() > NAMED {
            statement!(catalogue::PLACES_MORE, count = ranges.len() - NAMED)
        } else {
            Text::default()
        };
        let (size, places) = (size_text(bytes), named.join(", "));
        statement!(catalogue::DIRTY_BLOCKS, size = size, places = places, more = more)
    }

    /// All dirty blocks, in address order.
    pub(super) fn dirty_blocks(&self) -> Vec<u64> {
        let mut blocks: Vec<u64> =
            self.dirty.ones().map(|slot| self.directory.block(slot)).collect();
        blocks.sort_unstable();
        blocks
    }

    /// The next dirty block of the write-out's sweep, which goes over the device from the lowest
    /// address to the highest and then begins again; `None` when nothing is dirty.
    pub(super) fn next_dirty(&mut self) -> Option<u64> {
        loop {
            match self.sweep.pop() {
                Some(block) => {
                    let block = u64::from(block);
                    if self.directory.find(block).is_some_and(|slot| self.dirty.get(slot)) {
                        return Some(block);
                    }
                }
                None if self.dirty_slots == 0 => return None,
                None => self
                    .sweep
                    .extend(self.dirty_blocks().into_iter().rev().map(|block| block as u32)),
            }
        }
    }

    /// Every block that is here and worth something, with its slot and whether it is dirty.
    pub(super) fn contents(&self) -> impl Iterator<Item = (Slot, u64, bool)> + '_ {
        self.directory
            .in_use()
            .filter(|&slot| !self.stale.get(slot))
            .map(|slot| (slot, self.directory.block(slot), self.dirty.get(slot)))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let bits = [&self.dirty, &self.claimed, &self.stale, &self.touched];
        let bits: usize = bits.into_iter().map(Bits::memory_bytes).sum();
        self.directory.memory_bytes() + self.admission.memory_bytes() + bits
    }
}

//! Block number to slot: hash chains through the slots.
//!
//! ```text
//!   heads   |  o  |  -  |  o  | …      one for four slots
//!              v           v
//!   next     slot -> slot  slot        a chain is as long as a head has blocks, four in a full cache
//! ```

use super::lists::{NONE, PackedNumbers, some};
use super::{Slot, hash, place};

/// Slots that share a head, in the mean of a full cache.
const SLOTS_PER_HEAD: usize = 4;

pub(super) struct Table {
    keys: Box<[u32]>,
    /// The next in the chain, or, of free slots, the next free one.
    next: PackedNumbers,
    heads: PackedNumbers,
    free: u32,
    used: u32,
    /// Slots from here on are not given away any more.
    limit: u32,
}

impl Table {
    pub(super) fn new(slots: u32) -> Table {
        let count = slots as usize;
        let mut next = PackedNumbers::new(count);
        (1..slots).for_each(|slot| next.set(slot as usize - 1, slot));
        Table {
            keys: vec![0; count].into(),
            next,
            heads: PackedNumbers::new(count.div_ceil(SLOTS_PER_HEAD)),
            free: 0,
            used: 0,
            limit: slots,
        }
    }

    pub(super) fn slots(&self) -> u32 {
        self.keys.len() as u32
    }

    pub(super) fn used(&self) -> u32 {
        self.used
    }

    pub(super) fn key(&self, slot: Slot) -> u32 {
        self.keys[slot as usize]
    }

    fn head(&self, key: u32) -> usize {
        place(hash(key), self.heads.memory_bytes() / 3)
    }

    pub(super) fn find(&self, key: u32) -> Option<Slot> {
        let mut at = self.heads.get(self.head(key));
        while at != NONE {
            if self.keys[at as usize] == key {
                return Some(at);
            }
            at = self.next.get(at as usize);
        }
        None
    }

    /// Gives a free slot to a block that has none.
    pub(super) fn insert(&mut self, key: u32) -> Option<Slot> {
        let slot = self.free;
        if slot == NONE {
            return None;
        }
        self.free = self.next.get(slot as usize);
        let head = self.head(key);
        self.keys[slot as usize] = key;
        self.next.set(slot as usize, self.heads.get(head));
        self.heads.set(head, slot);
        self.used += 1;
        Some(slot)
    }

    /// Puts blocks into an empty table, each where it says, by slots; false when a slot is not
    /// there or a block comes twice.
    pub(super) fn restore(&mut self, entries: impl IntoIterator<Item = (Slot, u32)>) -> bool {
        let mut next_free = 0;
        let mut free = Vec::new();
        for (slot, key) in entries {
            if slot < next_free || slot >= self.slots() || self.find(key).is_some() {
                return false;
            }
            free.extend(next_free..slot);
            next_free = slot + 1;
            let head = self.head(key);
            self.keys[slot as usize] = key;
            self.next.set(slot as usize, self.heads.get(head));
            self.heads.set(head, slot);
            self.used += 1;
        }
        free.extend(next_free..self.slots());
        self.chain_free(free);
        true
    }

    /// Gives away no slot from `limit` on any more.
    pub(super) fn retire(&mut self, limit: u32) {
        let free =
            std::iter::successors(some(self.free), |&slot| some(self.next.get(slot as usize)));
        let free: Vec<Slot> = free.filter(|&slot| slot < limit).collect();
        self.limit = limit;
        self.chain_free(free);
    }

    /// These are free, the first to be given away first.
    fn chain_free(&mut self, free: Vec<Slot>) {
        self.free = NONE;
        for slot in free.into_iter().rev() {
            self.next.set(slot as usize, self.free);
            self.free = slot;
        }
    }

    /// Frees a slot in use; it is the next to be given away, unless it is retired.
    pub(super) fn remove(&mut self, slot: Slot) {
        let head = self.head(self.keys[slot as usize]);
        let after = self.next.get(slot as usize);
        let mut at = self.heads.get(head);
        if at == slot {
            self.heads.set(head, after);
        } else {
            while self.next.get(at as usize) != slot {
                at = self.next.get(at as usize);
            }
            self.next.set(at as usize, after);
        }
        if slot < self.limit {
            self.next.set(slot as usize, self.free);
            self.free = slot;
        }
        self.used -= 1;
    }

    /// The slots in use, chain by chain.
    pub(super) fn in_use(&self) -> impl Iterator<Item = Slot> + '_ {
        let heads = (0..self.heads.memory_bytes() / 3).map(|head| self.heads.get(head));
        heads.flat_map(move |head| {
            std::iter::successors(some(head), move |&slot| some(self.next.get(slot as usize)))
        })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        4 * self.keys.len() + self.next.memory_bytes() + self.heads.memory_bytes()
    }
}

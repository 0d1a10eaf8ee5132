//! SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU", NSDI 2024): one queue
//! without any moves, and a hand that goes from the oldest to the newest and takes out the first
//! that was not accessed since it last came by.

use super::lists::{Bits, Links, List};
use super::{Eviction, Policy, Slot};

pub(super) struct Sieve {
    links: Links,
    list: List,
    visited: Bits,
    /// Where to look next; `None` begins at the oldest.
    hand: Option<Slot>,
}

impl Sieve {
    pub(super) fn new(slots: u32) -> Sieve {
        Sieve { links: Links::new(slots), list: List::EMPTY, visited: Bits::new(slots), hand: None }
    }
}

impl Policy for Sieve {
    fn hit(&mut self, slot: Slot) {
        self.visited.set(slot, true);
    }

    fn insert(&mut self, slot: Slot, _key: u32) {
        self.visited.set(slot, false);
        self.links.push(&mut self.list, slot);
    }

    fn evict(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        for _ in 0..2 * u64::from(self.list.len()) {
            let slot = self.hand.or(self.list.oldest())?;
            self.hand = self.links.newer(slot);
            if !(eviction.may_go)(slot) {
                continue;
            }
            if self.visited.get(slot) {
                self.visited.set(slot, false);
            } else {
                self.remove(slot);
                return Some(slot);
            }
        }
        None
    }

    fn remove(&mut self, slot: Slot) {
        if self.hand == Some(slot) {
            self.hand = self.links.newer(slot);
        }
        self.links.take(&mut self.list, slot);
    }

    fn memory_bytes(&self) -> usize {
        self.links.memory_bytes() + self.visited.memory_bytes()
    }
}

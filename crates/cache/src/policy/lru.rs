//! Least recently used: what was accessed last goes last.

use super::lists::{Links, List};
use super::{Eviction, Policy, Slot};

pub(super) struct Lru {
    links: Links,
    list: List,
}

impl Lru {
    pub(super) fn new(slots: u32) -> Lru {
        Lru { links: Links::new(slots), list: List::EMPTY }
    }
}

impl Policy for Lru {
    fn hit(&mut self, slot: Slot) {
        self.links.renew(&mut self.list, slot);
    }

    fn insert(&mut self, slot: Slot, _key: u32) {
        self.links.push(&mut self.list, slot);
    }

    fn evict(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        let slot = self.links.first(&self.list, eviction.may_go)?;
        self.remove(slot);
        Some(slot)
    }

    fn remove(&mut self, slot: Slot) {
        self.links.take(&mut self.list, slot);
    }

    fn memory_bytes(&self) -> usize {
        self.links.memory_bytes()
    }
}

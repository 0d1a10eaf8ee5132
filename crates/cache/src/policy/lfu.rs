//! Least frequently used: accesses are counted while a block is cached, up to 255; of equals the
//! one goes that has had its count for longest.
//!
//! ```text
//!   lists    1: oldest … newest    2: oldest … newest    …    255
//! ```

use super::lists::{Links, List};
use super::{Eviction, Policy, Slot};

pub(super) struct Lfu {
    links: Links,
    lists: Box<[List; 256]>,
    counts: Box<[u8]>,
}

impl Lfu {
    pub(super) fn new(slots: u32) -> Lfu {
        Lfu {
            links: Links::new(slots),
            lists: Box::new([List::EMPTY; 256]),
            counts: vec![0; slots as usize].into(),
        }
    }
}

impl Policy for Lfu {
    fn hit(&mut self, slot: Slot) {
        self.remove(slot);
        let count = &mut self.counts[slot as usize];
        *count = count.saturating_add(1);
        self.links.push(&mut self.lists[*count as usize], slot);
    }

    fn insert(&mut self, slot: Slot, _key: u32) {
        self.counts[slot as usize] = 1;
        self.links.push(&mut self.lists[1], slot);
    }

    fn evict(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        let slot = self.lists.iter().find_map(|list| self.links.first(list, eviction.may_go))?;
        self.remove(slot);
        Some(slot)
    }

    fn remove(&mut self, slot: Slot) {
        self.links.take(&mut self.lists[self.counts[slot as usize] as usize], slot);
    }

    fn memory_bytes(&self) -> usize {
        self.links.memory_bytes() + size_of_val(&*self.lists) + self.counts.len()
    }
}

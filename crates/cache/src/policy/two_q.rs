//! 2Q, the full version (Johnson, Shasha: "2Q: a low overhead high performance buffer management
//! replacement algorithm", VLDB 1994).
//!
//! ```text
//!   new ------> in (FIFO, a quarter) --> out, and a ghost (as many as half the slots)
//!                                            | asked for while it is a ghost
//!               main (LRU) <-----------------+
//! ```

use super::ghosts::Ghosts;
use super::lists::{Bits, Links, List};
use super::{Eviction, Policy, Slot};

pub(super) struct TwoQ {
    links: Links,
    incoming: List,
    main: List,
    is_main: Bits,
    incoming_target: u32,
    ghosts: Ghosts,
}

impl TwoQ {
    pub(super) fn new(slots: u32) -> TwoQ {
        TwoQ {
            links: Links::new(slots),
            incoming: List::EMPTY,
            main: List::EMPTY,
            is_main: Bits::new(slots),
            incoming_target: (slots / 4).max(1),
            ghosts: Ghosts::new(slots / 2),
        }
    }
}

impl Policy for TwoQ {
    fn hit(&mut self, slot: Slot) {
        // Accesses that follow one another soon are one: in the incoming queue they change nothing.
        if self.is_main.get(slot) {
            self.links.renew(&mut self.main, slot);
        }
    }

    fn insert(&mut self, slot: Slot, key: u32) {
        let known = self.ghosts.remove(key);
        self.is_main.set(slot, known);
        self.links.push(if known { &mut self.main } else { &mut self.incoming }, slot);
    }

    fn evict(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        let Eviction { key, may_go, .. } = eviction;
        let from =
            |list: &List, may_go: &mut dyn FnMut(Slot) -> bool| self.links.first(list, may_go);
        let slot = if self.incoming.len() > self.incoming_target {
            from(&self.incoming, may_go).or_else(|| from(&self.main, may_go))
        } else {
            from(&self.main, may_go).or_else(|| from(&self.incoming, may_go))
        }?;
        if !self.is_main.get(slot) {
            self.ghosts.insert(key(slot));
        }
        self.remove(slot);
        Some(slot)
    }

    fn remove(&mut self, slot: Slot) {
        let list = if self.is_main.get(slot) { &mut self.main } else { &mut self.incoming };
        self.links.take(list, slot);
    }

    fn memory_bytes(&self) -> usize {
        self.links.memory_bytes() + self.is_main.memory_bytes() + self.ghosts.memory_bytes()
    }
}

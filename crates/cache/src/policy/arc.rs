//! ARC (Megiddo, Modha: "ARC: a self-tuning, low overhead replacement cache", FAST 2003).
//!
//! ```text
//!   once      |—— ghosts ——|—— recent ——|        a hit among these ghosts: `target` grows
//!   again     |—— ghosts ——|—— frequent —|       a hit among those: it shrinks
//!                              `target`: how many of the slots are for `recent`
//! ```
//!
//! Two things differ from the paper. The ghosts of either kind are bounded at three eighths of the
//! slots, where the paper's share as many as there are slots; and the target moves when the block
//! comes in, after its victim has gone.

use super::ghosts::Ghosts;
use super::lists::{Bits, Links, List};
use super::{Eviction, Policy, Slot};

pub(super) struct Arc {
    slots: u32,
    links: Links,
    recent: List,
    frequent: List,
    is_frequent: Bits,
    recent_ghosts: Ghosts,
    frequent_ghosts: Ghosts,
    target: u32,
}

impl Arc {
    pub(super) fn new(slots: u32) -> Arc {
        Arc {
            slots,
            links: Links::new(slots),
            recent: List::EMPTY,
            frequent: List::EMPTY,
            is_frequent: Bits::new(slots),
            recent_ghosts: Ghosts::new(slots / 8 * 3),
            frequent_ghosts: Ghosts::new(slots / 8 * 3),
            target: 0,
        }
    }
}

impl Policy for Arc {
    fn hit(&mut self, slot: Slot) {
        self.remove(slot);
        self.is_frequent.set(slot, true);
        self.links.push(&mut self.frequent, slot);
    }

    fn insert(&mut self, slot: Slot, key: u32) {
        let (recent, frequent) =
            (self.recent_ghosts.len().max(1), self.frequent_ghosts.len().max(1));
        let once = self.recent_ghosts.remove(key);
        let again = !once && self.frequent_ghosts.remove(key);
        if once {
            self.target = (self.target + (frequent / recent).max(1)).min(self.slots);
        } else if again {
            self.target = self.target.saturating_sub((recent / frequent).max(1));
        }
        self.is_frequent.set(slot, once || again);
        self.links.push(if once || again { &mut self.frequent } else { &mut self.recent }, slot);
    }

    fn evict(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        let Eviction { incoming, key, may_go } = eviction;
        let count = self.recent.len();
        let recent_first = count > self.target
            || (count == self.target && self.frequent_ghosts.contains(*incoming));
        let (first, second) = if recent_first {
            (&self.recent, &self.frequent)
        } else {
            (&self.frequent, &self.recent)
        };
        let slot = self.links.first(first, may_go).or_else(|| self.links.first(second, may_go))?;
        if self.is_frequent.get(slot) {
            self.frequent_ghosts.insert(key(slot));
        } else {
            self.recent_ghosts.insert(key(slot));
        }
        self.remove(slot);
        Some(slot)
    }

    fn remove(&mut self, slot: Slot) {
        let list = if self.is_frequent.get(slot) { &mut self.frequent } else { &mut self.recent };
        self.links.take(list, slot);
    }

    fn memory_bytes(&self) -> usize {
        let ghosts = self.recent_ghosts.memory_bytes() + self.frequent_ghosts.memory_bytes();
        self.links.memory_bytes() + self.is_frequent.memory_bytes() + ghosts
    }
}

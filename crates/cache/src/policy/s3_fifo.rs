//! S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction", SOSP
//! 2023).
//!
//! ```text
//!   new ------> small (a tenth) --not accessed again--> out, and a ghost
//!                 |  accessed again                        |
//!                 v                                        | asked for while it is a ghost
//!               main  <------------------------------------+
//!                 |  oldest: accessed since -> once more round; if not -> out
//! ```
//!
//! How often a block was accessed is counted up to 3. Most blocks are asked for once; they leave by
//! the short way and never push out what is in the main queue.

use super::ghosts::Ghosts;
use super::lists::{Bits, Links, List};
use super::{Eviction, Policy, Slot};

/// The small queue's part of the slots.
const SMALL_PART: u32 = 10;
/// The most that is counted of one block.
const COUNT_MAX: u8 = 3;

pub(super) struct S3Fifo {
    links: Links,
    small: List,
    main: List,
    /// Whether a slot is in the main queue.
    is_main: Bits,
    /// Two bits a slot.
    counts: [Bits; 2],
    small_target: u32,
    ghosts: Ghosts,
}

impl S3Fifo {
    pub(super) fn new(slots: u32) -> S3Fifo {
        S3Fifo {
            links: Links::new(slots),
            small: List::EMPTY,
            main: List::EMPTY,
            is_main: Bits::new(slots),
            counts: [Bits::new(slots), Bits::new(slots)],
            small_target: (slots / SMALL_PART).max(1),
            ghosts: Ghosts::new(slots / 8 * 5),
        }
    }

    fn count(&self, slot: Slot) -> u8 {
        u8::from(self.counts[0].get(slot)) | u8::from(self.counts[1].get(slot)) << 1
    }

    fn set_count(&mut self, slot: Slot, count: u8) {
        self.counts[0].set(slot, count & 1 != 0);
        self.counts[1].set(slot, count & 2 != 0);
    }

    fn evict_small(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        let mut at = self.small.oldest();
        while let Some(slot) = at {
            at = self.links.newer(slot);
            if self.count(slot) > 1 {
                self.links.take(&mut self.small, slot);
                self.links.push(&mut self.main, slot);
                self.is_main.set(slot, true);
                self.set_count(slot, 0);
            } else if (eviction.may_go)(slot) {
                self.links.take(&mut self.small, slot);
                self.ghosts.insert((eviction.key)(slot));
                return Some(slot);
            }
        }
        None
    }

    fn evict_main(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        let mut at = self.main.oldest();
        while let Some(slot) = at {
            // A block that goes round once more is met again at the end.
            if self.count(slot) > 0 {
                self.set_count(slot, self.count(slot) - 1);
                at = self.links.newer(slot).or(Some(slot));
                self.links.renew(&mut self.main, slot);
            } else if (eviction.may_go)(slot) {
                self.links.take(&mut self.main, slot);
                return Some(slot);
            } else {
                at = self.links.newer(slot);
            }
        }
        None
    }
}

impl Policy for S3Fifo {
    fn hit(&mut self, slot: Slot) {
        let count = self.count(slot);
        if count < COUNT_MAX {
            self.set_count(slot, count + 1);
        }
    }

    fn insert(&mut self, slot: Slot, key: u32) {
        let known = self.ghosts.remove(key);
        self.set_count(slot, 0);
        self.is_main.set(slot, known);
        self.links.push(if known { &mut self.main } else { &mut self.small }, slot);
    }

    fn evict(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        if self.small.len() >= self.small_target
            && let Some(slot) = self.evict_small(eviction)
        {
            return Some(slot);
        }
        self.evict_main(eviction)
            .or_else(|| self.evict_small(eviction))
            .or_else(|| self.evict_main(eviction))
    }

    fn remove(&mut self, slot: Slot) {
        let list = if self.is_main.get(slot) { &mut self.main } else { &mut self.small };
        self.links.take(list, slot);
    }

    fn memory_bytes(&self) -> usize {
        let bits = self.is_main.memory_bytes()
            + self.counts[0].memory_bytes()
            + self.counts[1].memory_bytes();
        self.links.memory_bytes() + bits + self.ghosts.memory_bytes()
    }
}

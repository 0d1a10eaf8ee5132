//! CLOCK: a hand goes round over the slots; what was accessed since it last came by is passed over
//! once.

use super::lists::Bits;
use super::{Eviction, Policy, Slot};

pub(super) struct Clock {
    slots: u32,
    used: Bits,
    accessed: Bits,
    hand: Slot,
}

impl Clock {
    pub(super) fn new(slots: u32) -> Clock {
        Clock { slots, used: Bits::new(slots), accessed: Bits::new(slots), hand: 0 }
    }
}

impl Policy for Clock {
    fn hit(&mut self, slot: Slot) {
        self.accessed.set(slot, true);
    }

    fn insert(&mut self, slot: Slot, _key: u32) {
        self.used.set(slot, true);
        self.accessed.set(slot, false);
    }

    fn evict(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot> {
        // The second round finds no bit set that it did not clear in the first.
        for _ in 0..2 * u64::from(self.slots) {
            let slot = self.hand;
            self.hand = (slot + 1) % self.slots;
            if !self.used.get(slot) || !(eviction.may_go)(slot) {
                continue;
            }
            if self.accessed.get(slot) {
                self.accessed.set(slot, false);
            } else {
                self.remove(slot);
                return Some(slot);
            }
        }
        None
    }

    fn remove(&mut self, slot: Slot) {
        self.used.set(slot, false);
    }

    fn memory_bytes(&self) -> usize {
        self.used.memory_bytes() + self.accessed.memory_bytes()
    }
}

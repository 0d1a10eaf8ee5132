//! What a drive works on, each in a slot that is used again.

use std::ops::{Index, IndexMut};

/// Values in numbered slots.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Slots<T> {
        Slots { entries: Vec::new(), free: Vec::new() }
    }

    /// Puts a value into a free slot.
    pub(super) fn put(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.entries[slot as usize] = value;
            return slot;
        }
        self.entries.push(value);
        (self.entries.len() - 1) as u32
    }

    /// Frees a slot; its value is there until another one is put there.
    pub(super) fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

impl<T> Index<u32> for Slots<T> {
    type Output = T;

    fn index(&self, slot: u32) -> &T {
        &self.entries[slot as usize]
    }
}

impl<T> IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.entries[slot as usize]
    }
}

//! The one table in which what is under way has its place.
//!
//! ```text
//!   reserve ──> key, empty ──put──> key, filled ──take──> key, empty ──put──> … ──remove──> free
//!   insert  ───────────────────────────^
//! ```
//!
//! A key is a small number that goes below as a tag or into the ring as a token, and comes back
//! with the answer. What it stands for may be taken out while it is worked on; the key stays taken
//! until it is removed. The key given back last is the next one given out, so that a seed replays.

use slab::Slab;

/// A table of values by small numbers that are used again.
#[derive(Debug)]
pub struct Slots<T>(Slab<Option<T>>);

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots(Slab::new())
    }
}

impl<T> Slots<T> {
    /// An empty table with memory for `count` values.
    #[must_use]
    pub fn with_capacity(count: usize) -> Slots<T> {
        Slots(Slab::with_capacity(count))
    }

    /// Takes a key with nothing behind it yet.
    #[inline]
    pub fn reserve(&mut self) -> u32 {
        key_of(self.0.insert(None))
    }

    /// Takes a key for `value`.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        key_of(self.0.insert(Some(value)))
    }

    /// The value behind a key; `None` while it is taken out, and for a key that is not in use.
    #[must_use]
    pub fn get(&self, key: u32) -> Option<&T> {
        self.0.get(key as usize)?.as_ref()
    }

    /// As [`Slots::get`], to change it.
    #[must_use]
    pub fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        self.0.get_mut(key as usize)?.as_mut()
    }

    /// Takes the value out; its key stays taken. `None` when there is none.
    #[inline]
    pub fn take(&mut self, key: u32) -> Option<T> {
        self.0.get_mut(key as usize)?.take()
    }

    /// Puts a value behind a key that is taken.
    ///
    /// # Panics
    /// When the key is not in use: what holds one knows that it is.
    #[inline]
    pub fn put(&mut self, key: u32, value: T) {
        self.0[key as usize] = Some(value);
    }

    /// Gives a key back, and the value if it was not taken out. `None` as well for a key that is
    /// not in use.
    #[inline]
    pub fn remove(&mut self, key: u32) -> Option<T> {
        self.0.try_remove(key as usize)?
    }

    /// Keys in use, with or without a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys in use, the lowest first; a copy, so that the table can be changed meanwhile.
    #[must_use]
    pub fn keys(&self) -> Vec<u32> {
        self.0.iter().map(|(key, _)| key_of(key)).collect()
    }

    /// The values that are not taken out, with their keys, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.0.iter().filter_map(|(key, value)| Some((key_of(key), value.as_ref()?)))
    }
}

fn key_of(key: usize) -> u32 {
    u32::try_from(key).expect("fewer than 2^32 requests under way")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stays_taken_while_its_value_is_out() {
        let mut slots = Slots::default();
        let (first, second) = (slots.insert('a'), slots.reserve());
        assert_eq!((slots.get(first), slots.get(second), slots.len()), (Some(&'a'), None, 2));
        assert_eq!((slots.take(first), slots.take(first), slots.len()), (Some('a'), None, 2));
        assert_ne!(slots.insert('c'), first, "it is in use");
        slots.put(first, 'b');
        slots.put(second, 'd');
        assert_eq!(slots.iter().map(|(_, value)| *value).collect::<String>(), "bdc");
        assert_eq!((slots.remove(first), slots.remove(first)), (Some('b'), None));
        assert_eq!(slots.keys(), [second, 2]);
        assert_eq!(slots.insert('e'), first, "given back last, so given out first");
        assert!(!slots.is_empty());
    }

    #[test]
    #[should_panic = "invalid key"]
    fn nothing_is_put_behind_a_key_that_is_free() {
        Slots::default().put(0, 'a');
    }
}

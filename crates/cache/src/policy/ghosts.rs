//! What left a short while ago, as fingerprints: two bytes a block.
//!
//! ```text
//!   set    | newest | … | oldest |      a block's hash names its set and its fingerprint
//! ```
//!
//! A set forgets its oldest for a newcomer. Two blocks of one set that share a fingerprint (8 in 65
//! 535) are taken for one another, which costs a hit now and then and nothing else.

use super::{hash, place};

const WAYS: usize = 8;

pub(super) struct Ghosts {
    /// Zero is no block's.
    sets: Box<[[u16; WAYS]]>,
    count: u32,
}

impl Ghosts {
    /// Room for `blocks`, rounded down to whole sets, and at least one.
    pub(super) fn new(blocks: u32) -> Ghosts {
        Ghosts { sets: vec![[0; WAYS]; (blocks as usize / WAYS).max(1)].into(), count: 0 }
    }

    fn find(&self, key: u32) -> (usize, u16, Option<usize>) {
        let hash = hash(key);
        let set = place(hash, self.sets.len());
        let fingerprint = (hash as u16).max(1);
        (set, fingerprint, self.sets[set].iter().position(|&other| other == fingerprint))
    }

    pub(super) fn contains(&self, key: u32) -> bool {
        self.find(key).2.is_some()
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        self.count
    }

    pub(super) fn insert(&mut self, key: u32) {
        let (set, fingerprint, found) = self.find(key);
        let last = found.unwrap_or(WAYS - 1);
        let set = &mut self.sets[set];
        self.count += u32::from(set[last] == 0);
        set[..=last].rotate_right(1);
        set[0] = fingerprint;
    }

    /// Forgets it, and says whether it was there.
    pub(super) fn remove(&mut self, key: u32) -> bool {
        let (set, _, found) = self.find(key);
        if let Some(at) = found {
            self.sets[set][at] = 0;
            self.sets[set][at..].rotate_left(1);
            self.count -= 1;
        }
        found.is_some()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        2 * WAYS * self.sets.len()
    }
}

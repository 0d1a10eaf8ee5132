//! Which members still count. Shared by all channels of an array.
//!
//! An array without redundancy never changes its health: its members' errors are its own. One with redundancy drops a
//! member that fails a write or a flush, or that is gone; a read that fails for the medium's sake is answered by the
//! other members and leaves the member in, for one bad sector is no bad disk.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use block::ErrorKind;

/// The most members an array can have.
pub(crate) const MEMBERS_MAX: usize = 256;

/// A set of members.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct MemberSet {
    words: [u64; MEMBERS_MAX / 64],
}

impl MemberSet {
    /// The set without a member.
    pub const EMPTY: MemberSet = MemberSet { words: [0; MEMBERS_MAX / 64] };

    /// Adds a member; false when it was in already.
    pub fn insert(&mut self, member: usize) -> bool {
        let new = !self.contains(member);
        self.words[member / 64] |= 1 << (member % 64);
        new
    }

    /// Whether the member is in.
    #[must_use]
    pub fn contains(&self, member: usize) -> bool {
        self.words[member / 64] >> (member % 64) & 1 == 1
    }

    /// How many are in.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..MEMBERS_MAX).filter(|&member| self.contains(member))
    }

    /// Members of either set.
    #[must_use]
    pub fn union(&self, other: &MemberSet) -> MemberSet {
        let mut both = *self;
        both.words.iter_mut().zip(other.words).for_each(|(word, more)| *word |= more);
        both
    }
}

impl fmt::Debug for MemberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The members that have failed, and how often that changed.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failed: Mutex<MemberSet>,
    generation: AtomicU64,
}

impl Health {
    pub(crate) fn with_failed(failed: MemberSet) -> Health {
        Health { failed: Mutex::new(failed), generation: AtomicU64::new(0) }
    }

    pub(crate) fn failed(&self) -> MemberSet {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes with every failure, so that a channel can keep a copy of the set.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn fail(&self, member: usize) {
        if self.failed.lock().unwrap_or_else(PoisonError::into_inner).insert(member) {
            self.generation.fetch_add(1, Ordering::Release);
        }
    }
}

/// What a member's error says about the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request was wrong: any other member would have said the same.
    Request,
    /// These blocks cannot be read there; the member stays.
    Blocks,
    /// The member does not count any more.
    Member,
}

pub(crate) fn judge(kind: ErrorKind, while_reading: bool) -> Verdict {
    match kind {
        ErrorKind::Invalid | ErrorKind::OutOfRange | ErrorKind::Misaligned | ErrorKind::ReadOnly | ErrorKind::Unsupported => {
            Verdict::Request
        }
        ErrorKind::Gone => Verdict::Member,
        _ if while_reading => Verdict::Blocks,
        _ => Verdict::Member,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in() {
        let mut set = MemberSet::EMPTY;
        assert!([0, 63, 64, 255].into_iter().all(|member| set.insert(member)));
        assert!(!set.insert(64));
        assert_eq!((set.count(), set.iter().collect::<Vec<_>>()), (4, vec![0, 63, 64, 255]));
        let mut other = MemberSet::EMPTY;
        other.insert(7);
        assert_eq!(format!("{:?}", set.union(&other)), "{0, 7, 63, 64, 255}");
    }

    #[test]
    fn a_failure_counts_once() {
        let health = Health::default();
        health.fail(3);
        health.fail(3);
        assert_eq!((health.generation(), health.failed().count()), (1, 1));
    }

    #[test]
    fn one_bad_sector_is_no_bad_disk() {
        assert_eq!(judge(ErrorKind::Media, true), Verdict::Blocks);
        assert_eq!(judge(ErrorKind::Media, false), Verdict::Member);
        assert_eq!(judge(ErrorKind::Gone, true), Verdict::Member);
        assert_eq!(judge(ErrorKind::Unsupported, false), Verdict::Request);
    }
}

//! Which members still count. Shared by all channels of an array.
//!
//! An array without redundancy never changes its health: its members' errors are its own. One with redundancy drops a
//! member that fails a write or a flush, or that is gone. A read that fails for the medium's sake is tried once more; then
//! the others answer it, and the member is written what it could not read. One bad sector is no bad disk, but many are.

use std::collections::HashMap;
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

/// How many places of a member may turn out unreadable before it is dropped, as md has it.
const READ_ERRORS_MAX: u32 = 20;

/// The members that have failed, and how often that changed.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failed: Mutex<MemberSet>,
    generation: AtomicU64,
    /// Of each member that had one.
    read_errors: Mutex<HashMap<usize, u32>>,
}

impl Health {
    pub(crate) fn with_failed(failed: MemberSet) -> Health {
        Health { failed: Mutex::new(failed), ..Health::default() }
    }

    pub(crate) fn failed(&self) -> MemberSet {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes with every failure, so that a channel can keep a copy of the set.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Drops a member unless `may_go`, asked about all that would be absent then, forbids it. Whether it is out now.
    pub(crate) fn fail(&self, member: usize, may_go: impl FnOnce(&MemberSet) -> bool) -> bool {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut after = *failed;
        if after.insert(member) {
            if !may_go(&after) {
                return false;
            }
            *failed = after;
            self.generation.fetch_add(1, Ordering::Release);
        }
        true
    }

    /// Counts a place of the member that could not be read. Whether there were too many.
    pub(crate) fn count_read_error(&self, member: usize) -> bool {
        let mut counts = self.read_errors.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(member).or_default();
        *count += 1;
        *count > READ_ERRORS_MAX
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
        assert!(health.fail(3, |_| true));
        assert!(health.fail(3, |_| false), "it is out already");
        assert!(!health.fail(4, |after| after.count() < 2), "somebody has to stay");
        assert_eq!((health.generation(), health.failed().count()), (1, 1));
    }

    #[test]
    fn many_bad_sectors_are_a_bad_disk() {
        let health = Health::default();
        assert!((0..READ_ERRORS_MAX).all(|_| !health.count_read_error(5)));
        assert!(health.count_read_error(5) && !health.count_read_error(6));
    }

    #[test]
    fn one_bad_sector_is_no_bad_disk() {
        assert_eq!(judge(ErrorKind::Media, true), Verdict::Blocks);
        assert_eq!(judge(ErrorKind::Media, false), Verdict::Member);
        assert_eq!(judge(ErrorKind::Gone, true), Verdict::Member);
        assert_eq!(judge(ErrorKind::Unsupported, false), Verdict::Request);
    }
}

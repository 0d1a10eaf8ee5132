//! Sets of members.

use std::fmt;

/// The most members an array can have. Beyond that the powers of g, with which Q counts members,
/// are the same again, and md's code for the copies of RAID 10 has no more bits; it is one limit
/// for all levels.
pub const MEMBERS_MAX: usize = 255;

/// A set of members.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct MemberSet {
    words: [u64; MEMBERS_MAX.div_ceil(64)],
}

impl MemberSet {
    /// The set without a member.
    pub const EMPTY: MemberSet = MemberSet { words: [0; MEMBERS_MAX.div_ceil(64)] };

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in() {
        let mut set = MemberSet::EMPTY;
        assert!([0, 63, 64, 254].into_iter().all(|number| set.insert(number)));
        assert!(!set.insert(64));
        assert_eq!((set.count(), set.iter().collect::<Vec<_>>()), (4, vec![0, 63, 64, 254]));
        let mut other = MemberSet::EMPTY;
        other.insert(7);
        assert_eq!(format!("{:?}", set.union(&other)), "{0, 7, 63, 64, 254}");
    }
}

//! What checks and repairs find: where members do not agree, and which of them are wrong.

use std::collections::BTreeMap;
use std::ops::Range;

use block::SECTOR_BYTES;

use super::Ranges;

/// So many ranges are listed one by one; a range covers what touches.
const LISTED_RANGES: usize = 128;

/// Bytes somewhere, of which only the first ranges are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedRanges {
    bytes: u64,
    first: Ranges,
}

impl ListedRanges {
    /// How many bytes, those that are not listed too.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first ranges, by offset; at most 128.
    #[must_use]
    pub fn first(&self) -> &Ranges {
        &self.first
    }

    /// Takes a range in.
    pub(crate) fn add(&mut self, range: Range<u64>) {
        let before = self.first.bytes();
        self.first.add(range);
        self.bytes += self.first.bytes() - before;
        self.first.keep_first(LISTED_RANGES);
    }

    fn merge(&mut self, other: &ListedRanges) {
        let unlisted = other.bytes - other.first.bytes();
        other.first.iter().for_each(|range| self.add(range));
        self.bytes += unlisted;
    }
}

/// What a check or a repair found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Sectors of 512 bytes that did not agree. md's `mismatch_cnt` counts the same in larger
    /// portions. Where members are known to be wrong each sector of each counts, elsewhere each of
    /// what was compared.
    pub differing_sectors: u64,
    /// Members that are known to be wrong, and where on their devices, in bytes. A repair has put
    /// them right.
    pub wrong: BTreeMap<usize, ListedRanges>,
    /// Where nothing tells which member is wrong, in bytes of [`Level::sync_bytes`](crate::Level).
    pub undecided: ListedRanges,
    /// What of [`Findings::undecided`] a repair made agree all the same, as md does, in bytes.
    pub made_to_agree_bytes: u64,
}

impl Findings {
    /// Whether all agreed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.differing_sectors == 0
    }

    /// One sector on a member is wrong.
    pub(crate) fn note_wrong(&mut self, member: usize, offset: u64) {
        self.differing_sectors += 1;
        self.wrong.entry(member).or_default().add(offset..offset + SECTOR_BYTES);
    }

    /// One sector differs from what it is compared with.
    pub(crate) fn note_undecided(&mut self, offset: u64, is_made_to_agree: bool) {
        self.differing_sectors += 1;
        let before = self.undecided.bytes;
        self.undecided.add(offset..offset + SECTOR_BYTES);
        if is_made_to_agree {
            self.made_to_agree_bytes += self.undecided.bytes - before;
        }
    }

    /// Adds what was found elsewhere.
    pub(crate) fn merge(&mut self, other: &Findings) {
        self.differing_sectors += other.differing_sectors;
        for (&member, ranges) in &other.wrong {
            self.wrong.entry(member).or_default().merge(ranges);
        }
        self.undecided.merge(&other.undecided);
        self.made_to_agree_bytes += other.made_to_agree_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_counted_and_the_first_ranges_listed() {
        let mut all = ListedRanges::default();
        // Every other sector, in an order of its own: 611 has no divisor in common with 1000.
        for number in 0..1000 {
            let start = number * 611 % 1000 * 1024;
            all.add(start..start + 512);
        }
        assert_eq!(all.bytes(), 1000 * 512);
        let first: Vec<u64> = all.first().iter().map(|range| range.start / 1024).collect();
        assert_eq!(first, (0..LISTED_RANGES as u64).collect::<Vec<_>>());
        let mut twice = ListedRanges::default();
        twice.add(0..1024);
        twice.add(512..1024);
        assert_eq!(twice.bytes(), 1024, "what is there already counts once");
    }
}

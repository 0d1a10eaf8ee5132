//! Sets of bytes as disjoint ranges: what is to be recovered, resynced or lost.

use std::ops::Range;

/// Disjoint ranges of bytes in ascending order, none of them empty and no two touching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// No byte.
    #[must_use]
    pub fn none() -> Ranges {
        Ranges::default()
    }

    /// One range; none if it is empty.
    #[must_use]
    pub fn one(range: Range<u64>) -> Ranges {
        let mut ranges = Ranges::none();
        ranges.add(range);
        ranges
    }

    /// Whether there is no byte in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first byte.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.0.first().map(|range| range.start)
    }

    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// The ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().cloned()
    }

    /// Whether they have a byte of `range`.
    #[must_use]
    pub fn meet(&self, range: &Range<u64>) -> bool {
        let at = self.0.partition_point(|held| held.end <= range.start);
        !range.is_empty() && self.0.get(at).is_some_and(|held| held.start < range.end)
    }

    /// Takes a range in.
    pub fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let from = self.0.partition_point(|held| held.end < range.start);
        let to = self.0.partition_point(|held| held.start <= range.end);
        let start = self.0.get(from).map_or(range.start, |held| held.start.min(range.start));
        let end = if to > from { self.0[to - 1].end.max(range.end) } else { range.end };
        self.0.splice(from..to, std::iter::once(start..end));
    }

    /// Forgets all ranges but the first so many.
    pub(crate) fn keep_first(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// Takes a range out.
    pub fn remove(&mut self, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        let from = self.0.partition_point(|held| held.end <= range.start);
        let to = self.0.partition_point(|held| held.start < range.end);
        let left = self.0.get(from).map(|held| held.start..range.start.min(held.end));
        let right = to
            .checked_sub(1)
            .and_then(|last| self.0.get(last))
            .map(|held| range.end.max(held.start)..held.end);
        let rest: Vec<_> = if from < to {
            left.into_iter().chain(right).filter(|part| !part.is_empty()).collect()
        } else {
            Vec::new()
        };
        self.0.splice(from..to.max(from), rest);
    }
}

impl FromIterator<Range<u64>> for Ranges {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Ranges {
        let mut all = Ranges::none();
        ranges.into_iter().for_each(|range| all.add(range));
        all
    }
}

#[cfg(test)]
mod tests {
    use reactor::Random;

    use super::*;

    #[test]
    fn ranges_are_sets_of_bytes() {
        for seed in 0..200 {
            let mut random = Random::with_seed(seed);
            let mut ranges = Ranges::none();
            let mut bytes = [false; 40];
            for _ in 0..30 {
                let from = random.u64(0..40);
                let range = from..random.u64(from..=40);
                let adds = random.bool();
                if adds {
                    ranges.add(range.clone());
                } else {
                    ranges.remove(&range);
                }
                bytes[range.start as usize..range.end as usize].fill(adds);
                let met = ranges.meet(&range);
                assert_eq!(met, adds && !range.is_empty(), "seed {seed}");
                let held: Vec<u64> = ranges.iter().flatten().collect();
                let expected: Vec<u64> = (0..40).filter(|&byte| bytes[byte as usize]).collect();
                assert_eq!(held, expected, "seed {seed}: {ranges:?}");
                assert_eq!(
                    (ranges.bytes(), ranges.first()),
                    (expected.len() as u64, expected.first().copied()),
                    "seed {seed}"
                );
                let apart = ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start);
                assert!(
                    apart && ranges.0.iter().all(|range| !range.is_empty()),
                    "seed {seed}: {ranges:?}"
                );
            }
        }
    }
}

//! What a modelled disk's media may hold of what was written: its data hold the newest of every
//! sector, and here is what came before, as far back as what is durable.
//!
//! ```text
//!   sector 7    durable 0 ── write 3 ── write 9 ── newest (write 12), in the disk's data
//!                     |          |          |
//!                     a power cut leaves one of these, or the newest
//! ```
//!
//! A flush makes durable what was answered before it was asked for; so does FUA for its own write,
//! and whatever the drive's cache does not hold any more is on the media anyway.

use std::collections::BTreeMap;

use block::SECTOR_BYTES;
use reactor::Random;

/// What a power cut does to what is in a drive's write cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Survival {
    /// It is lost, to the last version of each sector that is on the media.
    #[default]
    Nothing,
    /// Each sector by itself is left in any of its versions since the last that is durable, each as
    /// likely as the others.
    Any,
}

/// The content of a sector; `None` is zeroes.
type Sector = Option<Box<[u8]>>;

/// Tracked sectors beyond which those are let go that are on the media.
const SETTLE_ABOVE: usize = 1 << 16;

/// The versions of a sector before the newest, oldest first, each with the write that made it.
struct Versions {
    older: Vec<(u64, Sector)>,
    newest: u64,
}

/// Sectors whose newest content may not be on the media.
pub(super) struct UnflushedSectors {
    sectors: BTreeMap<u64, Versions>,
    next: u64,
    settle_above: usize,
}

impl UnflushedSectors {
    pub(super) fn new() -> UnflushedSectors {
        UnflushedSectors { sectors: BTreeMap::new(), next: 1, settle_above: SETTLE_ABOVE }
    }

    /// Writes from now on have this number or a higher one.
    pub(super) fn mark(&self) -> u64 {
        self.next
    }

    /// A write was answered. `before` is what was at `offset`, both in whole sectors; with
    /// `durable` it is on the media.
    pub(super) fn written(&mut self, offset: u64, before: &[u8], durable: bool) {
        let number = self.next;
        self.next += 1;
        for (sector, content) in
            (offset / SECTOR_BYTES..).zip(before.chunks_exact(SECTOR_BYTES as usize))
        {
            if durable {
                self.sectors.remove(&sector);
                continue;
            }
            let content = content.iter().any(|byte| *byte != 0).then(|| content.into());
            let versions = self
                .sectors
                .entry(sector)
                .or_insert_with(|| Versions { older: Vec::new(), newest: 0 });
            versions.older.push((versions.newest, content));
            versions.newest = number;
        }
    }

    /// Writes before the mark are durable.
    pub(super) fn flushed(&mut self, mark: u64) {
        self.sectors.retain(|_, versions| {
            let durable = versions.older.iter().rposition(|(number, _)| *number < mark);
            versions.older.drain(..durable.unwrap_or(0));
            versions.newest >= mark
        });
    }

    /// Whether the newest content of some of this range may not be on the media.
    pub(super) fn touches(&self, offset: u64, length: u64) -> bool {
        let sectors = offset / SECTOR_BYTES..(offset + length).div_ceil(SECTOR_BYTES);
        self.sectors.range(sectors).next().is_some()
    }

    /// Whether there is so much that it pays to ask what is on the media.
    pub(super) fn is_large(&self) -> bool {
        self.sectors.len() > self.settle_above
    }

    /// Lets go of what is on the media: all that is not in these ranges of bytes.
    pub(super) fn settle(&mut self, cached: &[(u64, u64)]) {
        let sectors = std::mem::take(&mut self.sectors);
        let is_cached = |sector: u64| {
            let at = sector * SECTOR_BYTES;
            let next = cached.partition_point(|(start, _)| *start < at + SECTOR_BYTES);
            next > 0 && cached[next - 1].1 > at
        };
        self.sectors = sectors.into_iter().filter(|(sector, _)| is_cached(*sector)).collect();
        self.settle_above = SETTLE_ABOVE.max(2 * self.sectors.len());
    }

    /// What the power cut leaves that is not the newest, by sector. Nothing is tracked any more.
    pub(super) fn cut(&mut self, survival: Survival, seed: u64) -> Vec<(u64, Sector)> {
        let mut random = Random::with_seed(seed);
        let sectors = std::mem::take(&mut self.sectors);
        let left = |(sector, mut versions): (u64, Versions)| {
            let chosen = match survival {
                Survival::Nothing => 0,
                Survival::Any => random.usize(0..=versions.older.len()),
            };
            (chosen < versions.older.len()).then(|| (sector, versions.older.swap_remove(chosen).1))
        };
        sectors.into_iter().filter_map(left).collect()
    }

    /// Sectors whose newest content may not be on the media.
    pub(super) fn count(&self) -> usize {
        self.sectors.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTOR: usize = SECTOR_BYTES as usize;

    fn content(byte: u8) -> Vec<u8> {
        vec![byte; SECTOR]
    }

    /// What is left of a sector: the byte that it is full of, or `None` for the newest.
    fn left(unflushed: &mut UnflushedSectors, survival: Survival, seed: u64) -> Vec<(u64, u8)> {
        let left = unflushed.cut(survival, seed);
        left.into_iter().map(|(sector, it)| (sector, it.map_or(0, |bytes| bytes[0]))).collect()
    }

    /// Sector 3 held 1, then 2 and 3 were written, the newest is 4.
    fn thrice() -> UnflushedSectors {
        let mut unflushed = UnflushedSectors::new();
        for before in 1..4 {
            unflushed.written(3 * SECTOR_BYTES, &content(before), false);
        }
        unflushed
    }

    #[test]
    fn a_cut_leaves_what_is_durable_or_any_version_since() {
        assert_eq!(left(&mut thrice(), Survival::Nothing, 0), [(3, 1)]);
        let mut seen = [0; 5];
        for seed in 0..200 {
            let found = left(&mut thrice(), Survival::Any, seed);
            seen[found.first().map_or(4, |(_, byte)| usize::from(*byte))] += 1;
        }
        assert!(seen[0] == 0 && seen[1..].iter().all(|count| *count > 20), "{seen:?}");
    }

    #[test]
    fn what_was_flushed_is_never_lost() {
        let mut unflushed = thrice();
        let mark = unflushed.mark();
        unflushed.written(3 * SECTOR_BYTES, &content(4), false);
        // A flush that was asked for before the last write: what that overwrote is the least.
        unflushed.flushed(mark);
        assert_eq!(left(&mut unflushed, Survival::Nothing, 0), [(3, 4)]);
        let mut unflushed = thrice();
        unflushed.flushed(unflushed.mark());
        assert_eq!((unflushed.count(), left(&mut unflushed, Survival::Any, 1)), (0, vec![]));
        let mut unflushed = thrice();
        unflushed.written(3 * SECTOR_BYTES, &content(4), true);
        assert_eq!(left(&mut unflushed, Survival::Nothing, 0), []);
    }

    #[test]
    fn what_the_cache_does_not_hold_any_more_is_on_the_media() {
        let mut unflushed = UnflushedSectors::new();
        unflushed.written(0, &content(7).repeat(8), false);
        unflushed.settle(&[(SECTOR_BYTES, 3 * SECTOR_BYTES), (6 * SECTOR_BYTES + 1, 4000)]);
        assert_eq!(left(&mut unflushed, Survival::Nothing, 0), [(1, 7), (2, 7), (6, 7), (7, 7)]);
    }
}

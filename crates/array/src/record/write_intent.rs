//! The write-intent bitmap of a running array: which bits are set on the members for certain, and
//! which are still needed.
//!
//! ```text
//!   bit   0 ──set, durable──> 1 ──writes come and go──> 1 ──none for two rounds──> flushed ──> 0
//! ```
//!
//! The copy in memory errs on the safe side: a bit counts as set when all members have it durably,
//! and as clear as soon as it is about to be cleared.

use std::collections::BTreeMap;
use std::ops::Range;

use block::SECTOR_BYTES;

use crate::md::Bitmap;

/// Of the bitmap, which is written by pages.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// A region rests for so many rounds before its bit is cleared, as in md: between one and two
/// rounds of time.
const ROUNDS: u8 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Region {
    in_flight: u32,
    /// Rounds since the last write began or ended.
    rounds: u8,
}

/// Which bits to clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clear {
    /// Those without a write for long enough.
    Rested,
    /// Those without a write under way.
    Unused,
    /// All, also those of writes under way: a planted mistake.
    #[cfg(feature = "planted-mistakes")]
    All,
}

/// A bitmap and its users. Ranges are in bytes of what the bitmap covers.
#[derive(Clone, Debug)]
pub(crate) struct WriteIntentBitmap {
    bitmap: Bitmap,
    /// Those that were written to lately.
    regions: BTreeMap<u64, Region>,
}

impl WriteIntentBitmap {
    /// Continues with what was read from a member.
    pub(crate) fn new(bitmap: Bitmap) -> WriteIntentBitmap {
        WriteIntentBitmap { bitmap, regions: BTreeMap::new() }
    }

    pub(crate) fn bitmap(&self) -> &Bitmap {
        &self.bitmap
    }

    /// How often rounds are made, in seconds.
    pub(crate) fn round_seconds(&self) -> u32 {
        self.bitmap.header().daemon_sleep_s.max(1)
    }

    fn regions_of(&self, range: &Range<u64>) -> Range<u64> {
        self.bitmap.regions(range.start / SECTOR_BYTES..range.end.div_ceil(SECTOR_BYTES))
    }

    /// Whether a write to the range may go out.
    pub(crate) fn is_noted(&self, range: &Range<u64>) -> bool {
        self.regions_of(range).all(|region| self.bitmap.region_is_set(region))
    }

    /// Sets the bits of these ranges in a copy of the bitmap; the pages that differ then.
    pub(super) fn set_in(bitmap: &mut Bitmap, ranges: &[Range<u64>]) -> Vec<usize> {
        let mut pages = Vec::new();
        for range in ranges {
            pages.extend(bitmap.set(range.start / SECTOR_BYTES..range.end.div_ceil(SECTOR_BYTES)));
        }
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// Clears the bits of these regions in a copy of the bitmap; the pages that differ then.
    pub(super) fn clear_in(bitmap: &mut Bitmap, regions: &[u64]) -> Vec<usize> {
        let mut pages: Vec<usize> =
            regions.iter().filter_map(|region| bitmap.clear_region(*region)).collect();
        pages.dedup();
        pages
    }

    /// All members have this durably.
    pub(crate) fn is_written(&mut self, bitmap: Bitmap) {
        self.bitmap = bitmap;
    }

    /// A write to the range goes out.
    pub(crate) fn enter(&mut self, range: &Range<u64>) {
        for region in self.regions_of(range) {
            let region = self.regions.entry(region).or_default();
            *region = Region { in_flight: region.in_flight + 1, rounds: 0 };
        }
    }

    /// It has ended.
    pub(crate) fn leave(&mut self, range: &Range<u64>) {
        for region in self.regions_of(range) {
            let region = self.regions.get_mut(&region).expect("a write enters before it leaves");
            *region = Region { in_flight: region.in_flight - 1, rounds: 0 };
        }
    }

    /// One more round has passed. Says whether a bit is set that has had no write for long enough.
    pub(crate) fn pass_round(&mut self) -> bool {
        for (number, _) in self.bitmap.set_regions() {
            let region = self.regions.entry(number).or_default();
            region.rounds = region.rounds.saturating_add(1).min(ROUNDS);
        }
        self.regions.values().any(|region| region.in_flight == 0 && region.rounds == ROUNDS)
    }

    /// The regions whose bits are set and not needed, in order.
    pub(super) fn needless(&self, which: Clear) -> Vec<u64> {
        let is_needless = |number: &u64| {
            let region = self.regions.get(number).copied().unwrap_or_default();
            match which {
                Clear::Rested => region.in_flight == 0 && region.rounds == ROUNDS,
                Clear::Unused => region.in_flight == 0,
                #[cfg(feature = "planted-mistakes")]
                Clear::All => true,
            }
        };
        self.bitmap.set_regions().map(|(number, _)| number).filter(is_needless).collect()
    }

    /// The bits of these regions do not count as set from here on.
    pub(super) fn clear(&mut self, regions: &[u64]) {
        Self::clear_in(&mut self.bitmap, regions);
        for number in regions {
            if self.regions.get(number).is_some_and(|region| region.in_flight == 0) {
                self.regions.remove(number);
            }
        }
    }

    /// Notes the events that page 0 is to carry.
    pub(crate) fn set_events(&mut self, events: u64, events_cleared: u64) {
        self.bitmap.set_events(events, events_cleared);
    }

    /// What the bitmap takes on each member, in sectors.
    pub(crate) fn bitmap_sectors(&self) -> u64 {
        self.bitmap.page_count() as u64 * PAGE_BYTES / SECTOR_BYTES
    }

    /// What may be out of sync, in bytes.
    pub(crate) fn dirty_ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.bitmap.dirty_ranges().map(|range| range.start * SECTOR_BYTES..range.end * SECTOR_BYTES)
    }

    /// Whether any bit is set.
    pub(crate) fn is_dirty(&self) -> bool {
        self.bitmap.dirty_count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGION: u64 = 4096;

    fn write_intent() -> WriteIntentBitmap {
        WriteIntentBitmap::new(
            Bitmap::new([1; 16], 10 * REGION / 512, 4096, Some(REGION as u32), false)
                .expect("a bitmap"),
        )
    }

    fn note(write_intent: &mut WriteIntentBitmap, range: Range<u64>) -> Vec<usize> {
        let mut bitmap = write_intent.bitmap().clone();
        let pages = WriteIntentBitmap::set_in(&mut bitmap, &[range]);
        write_intent.is_written(bitmap);
        pages
    }

    /// The pages that change when needless bits are cleared.
    fn clear(write_intent: &mut WriteIntentBitmap, which: Clear) -> Vec<usize> {
        let needless = write_intent.needless(which);
        let pages = WriteIntentBitmap::clear_in(&mut write_intent.bitmap().clone(), &needless);
        write_intent.clear(&needless);
        pages
    }

    #[test]
    fn a_bit_stays_for_two_rounds_after_the_last_write() {
        let mut write_intent = write_intent();
        let range = REGION..REGION + 512;
        assert!(!write_intent.is_noted(&range));
        assert_eq!(note(&mut write_intent, range.clone()), [0]);
        assert!(write_intent.is_noted(&range) && !write_intent.is_noted(&(0..2 * REGION)));
        write_intent.enter(&range);
        assert!((0..5).all(|_| !write_intent.pass_round()), "a write is under way");
        assert!(clear(&mut write_intent, Clear::Unused).is_empty());
        write_intent.leave(&range);
        assert!(!write_intent.pass_round());
        write_intent.enter(&range);
        write_intent.leave(&range);
        assert!(!write_intent.pass_round(), "written to again");
        assert!(clear(&mut write_intent, Clear::Rested).is_empty());
        assert!(write_intent.pass_round());
        assert_eq!(clear(&mut write_intent, Clear::Rested), [0]);
        assert!(!write_intent.is_noted(&range) && !write_intent.is_dirty());
    }

    #[test]
    fn bits_that_were_there_at_the_start_go_the_same_way() {
        let mut write_intent = write_intent();
        note(&mut write_intent, 0..3 * REGION);
        assert_eq!(
            write_intent.dirty_ranges().collect::<Vec<_>>(),
            [Range { start: 0, end: 3 * REGION }]
        );
        write_intent.enter(&(0..512));
        assert_eq!(clear(&mut write_intent, Clear::Unused), [0]);
        assert_eq!(
            write_intent.dirty_ranges().collect::<Vec<_>>(),
            [Range { start: 0, end: REGION }],
            "one is in use"
        );
    }
}

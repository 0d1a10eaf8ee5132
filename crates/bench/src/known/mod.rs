//! What is known of a device's content: which write was the last at every place.
//!
//! Every write has a number of its own, its generation, which its data carry too. Small devices
//! have a table with one number for each sector; the memory of places that were never written is
//! not touched. Large ones have a list of extents.

use std::collections::BTreeMap;

use block::{Error, ErrorKind};

use crate::load::{Access, Bounds, Content, Direction, Requests};
use crate::pattern::{self, Mark, SECTOR_BYTES};

/// Up to this size a device has a table: 4 bytes for each of its sectors.
const TABLE_DEVICE_BYTES: u64 = 4 << 30;
/// As many extents as fit in some 100 MB.
const EXTENTS_MAX: u64 = 2_000_000;
/// Content that is not known.
const UNKNOWN: u32 = 0;
const SECTOR: u64 = SECTOR_BYTES as u64;

#[derive(Debug)]
enum Map {
    Table(Vec<u32>),
    /// First sector to the sector after the last, and the generation. Extents do not overlap;
    /// unknown ones are left out.
    Extents(BTreeMap<u64, (u64, u32)>),
}

/// Which write was the last at every place of a device.
#[derive(Debug)]
pub(crate) struct WriteLedger {
    map: Map,
    seed: u64,
    last_generation: u32,
    extents_max: u64,
}

impl WriteLedger {
    /// Nothing known of a device of `size_bytes`; what will be written carries `seed`.
    pub(crate) fn new(size_bytes: u64, seed: u64) -> WriteLedger {
        let map = if size_bytes <= TABLE_DEVICE_BYTES {
            Map::Table(vec![UNKNOWN; (size_bytes / SECTOR) as usize])
        } else {
            Map::Extents(BTreeMap::new())
        };
        WriteLedger { map, seed, last_generation: UNKNOWN, extents_max: EXTENTS_MAX }
    }

    /// As of a large device, whatever its size.
    #[cfg(test)]
    pub(crate) fn as_extents(seed: u64) -> WriteLedger {
        WriteLedger { map: Map::Extents(BTreeMap::new()), ..WriteLedger::new(0, seed) }
    }

    /// How many more writes can be told apart and kept track of.
    pub(crate) fn writes_left(&self) -> u64 {
        let generations = u64::from(u32::MAX - self.last_generation);
        match &self.map {
            Map::Table(_) => generations,
            // A write that splits an extent adds two.
            Map::Extents(extents) => {
                generations.min(self.extents_max.saturating_sub(extents.len() as u64) / 2)
            }
        }
    }

    /// The generation of the latest write; the next one's is higher.
    pub(crate) fn last_generation(&self) -> u32 {
        self.last_generation
    }

    /// Forgets everything: something was written that cannot be checked.
    pub(crate) fn clear(&mut self) {
        match &mut self.map {
            // A new one: clearing the old one would touch memory that it never used.
            Map::Table(table) => *table = vec![UNKNOWN; table.len()],
            Map::Extents(extents) => extents.clear(),
        }
    }

    /// Forgets what earlier tests wrote when it leaves too little room for the next one. Their data
    /// still name their place, but which of several writes was the last is not known any more.
    pub(crate) fn make_room(&mut self) {
        if let Map::Extents(extents) = &mut self.map
            && extents.len() as u64 > self.extents_max / 2
        {
            extents.clear();
        }
    }

    fn next_generation(&mut self) -> u32 {
        self.last_generation += 1;
        self.last_generation
    }

    fn record(&mut self, offset: u64, length: u64, generation: u32) {
        let (start, end) = (offset / SECTOR, (offset + length) / SECTOR);
        match &mut self.map {
            Map::Table(table) => table[start as usize..end as usize].fill(generation),
            Map::Extents(extents) => {
                cut(extents, start);
                cut(extents, end);
                while let Some((&first, _)) = extents.range(start..end).next() {
                    extents.remove(&first);
                }
                if generation != UNKNOWN {
                    extents.insert(start, (end, generation));
                }
            }
        }
    }

    /// The parts of a range in ascending order, each with the write that was the last there:
    /// offset, length, generation.
    fn parts(
        &self,
        offset: u64,
        length: u64,
        mut each: impl FnMut(u64, u64, u32) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (start, end) = (offset / SECTOR, (offset + length) / SECTOR);
        match &self.map {
            Map::Table(table) => {
                let mut at = offset;
                for part in
                    table[start as usize..end as usize].chunk_by(|left, right| left == right)
                {
                    let length = part.len() as u64 * SECTOR;
                    each(at, length, part[0])?;
                    at += length;
                }
            }
            Map::Extents(extents) => {
                let before = extents
                    .range(..start)
                    .next_back()
                    .filter(|(_, (before_end, _))| *before_end > start);
                let mut at = start;
                for (&first, &(last, generation)) in
                    before.into_iter().chain(extents.range(start..end))
                {
                    let (first, last) = (first.max(start), last.min(end));
                    if at < first {
                        each(at * SECTOR, (first - at) * SECTOR, UNKNOWN)?;
                    }
                    each(first * SECTOR, (last - first) * SECTOR, generation)?;
                    at = last;
                }
                if at < end {
                    each(at * SECTOR, (end - at) * SECTOR, UNKNOWN)?;
                }
            }
        }
        Ok(())
    }

    /// Every place whose last write came after `generation`, as ascending ranges: offset and end.
    pub(crate) fn written_after(&self, generation: u32) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        let mut push = |start: u64, end: u64| match ranges.last_mut() {
            Some((_, last_end)) if *last_end == start => *last_end = end,
            _ => ranges.push((start, end)),
        };
        match &self.map {
            Map::Table(table) => {
                let mut at = 0;
                for part in
                    table.chunk_by(|left, right| (*left > generation) == (*right > generation))
                {
                    let end = at + part.len() as u64 * SECTOR;
                    if part[0] > generation {
                        push(at, end);
                    }
                    at = end;
                }
            }
            Map::Extents(extents) => {
                for (&start, &(end, last)) in extents {
                    if last > generation {
                        push(start * SECTOR, end * SECTOR);
                    }
                }
            }
        }
        ranges
    }
}

/// Makes sure that no extent reaches across `sector`.
fn cut(extents: &mut BTreeMap<u64, (u64, u32)>, sector: u64) {
    if let Some((&start, &mut (ref mut end, generation))) = extents.range_mut(..sector).next_back()
        && *end > sector
    {
        debug_assert!(start < sector);
        let old_end = std::mem::replace(end, sector);
        extents.insert(sector, (old_end, generation));
    }
}

/// Content that names itself: every write gets a generation of its own, every read is held against
/// the last one.
pub(crate) struct VerifiedContent<'a> {
    known: &'a mut WriteLedger,
    every_byte: bool,
    /// Bytes read that were checked.
    pub(crate) checked_bytes: u64,
    /// Bytes read of which it was not known what they should be.
    pub(crate) unknown_bytes: u64,
}

impl<'a> VerifiedContent<'a> {
    pub(crate) fn new(known: &'a mut WriteLedger, every_byte: bool) -> VerifiedContent<'a> {
        VerifiedContent { known, every_byte, checked_bytes: 0, unknown_bytes: 0 }
    }
}

impl Content for VerifiedContent<'_> {
    const VERIFIES: bool = true;

    fn fill(&mut self, access: &Access, buffer: &mut [u8]) {
        let generation = self.known.next_generation();
        pattern::fill(buffer, access.offset, self.known.seed, u64::from(generation));
        self.known.record(access.offset, u64::from(access.length), generation);
    }

    fn check(&mut self, access: &Access, buffer: &[u8]) -> Result<(), Error> {
        let VerifiedContent { known, every_byte, checked_bytes, unknown_bytes } = self;
        let check = if *every_byte { pattern::check_full } else { pattern::check_words };
        let corrupt = |mismatch: pattern::Mismatch| Error::new(ErrorKind::Corrupt, mismatch.text());
        known.parts(access.offset, u64::from(access.length), |offset, length, generation| {
            let start = (offset - access.offset) as usize;
            let part = &buffer[start..start + length as usize];
            if generation != UNKNOWN {
                *checked_bytes += length;
                return check(part, offset, known.seed, u64::from(generation)).map_err(corrupt);
            }
            for (sector, offset) in part.chunks(SECTOR_BYTES).zip((offset..).step_by(SECTOR_BYTES))
            {
                // Data of an earlier run on another layout may lie anywhere: only a mark that names
                // this very place counts.
                match Mark::of(sector) {
                    Some(mark) if mark.offset == offset => {
                        *checked_bytes += SECTOR;
                        check(sector, offset, mark.seed, mark.generation).map_err(corrupt)?;
                    }
                    _ => *unknown_bytes += SECTOR,
                }
            }
            Ok(())
        })
    }

    fn lost(&mut self, access: &Access) {
        self.known.record(access.offset, u64::from(access.length), UNKNOWN);
    }
}

/// Covers ranges once, in ascending pieces.
pub(crate) struct Cover {
    direction: Direction,
    ranges: std::vec::IntoIter<(u64, u64)>,
    piece_bytes: u32,
    now: (u64, u64),
}

impl Cover {
    /// Pieces of at most `piece_bytes`, a multiple of the block, over `ranges` of offset and end.
    pub(crate) fn new(direction: Direction, ranges: Vec<(u64, u64)>, piece_bytes: u32) -> Cover {
        Cover { direction, ranges: ranges.into_iter(), piece_bytes, now: (0, 0) }
    }
}

impl Requests for Cover {
    fn bounds(&self) -> Bounds {
        let reads = self.direction == Direction::Read;
        Bounds { reads, writes: !reads, longest_bytes: self.piece_bytes }
    }

    fn next(&mut self) -> Option<Access> {
        while self.now.0 == self.now.1 {
            self.now = self.ranges.next()?;
        }
        let (offset, end) = self.now;
        let length = self.piece_bytes.min(u32::try_from(end - offset).unwrap_or(u32::MAX));
        self.now.0 += u64::from(length);
        Some(Access { direction: self.direction, offset, length })
    }
}

/// Sorted, and joined where they touch.
pub(crate) fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match joined.last_mut() {
            Some((_, last_end)) if *last_end >= start => *last_end = end.max(*last_end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests;

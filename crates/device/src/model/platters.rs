//! The platters of one disk: how long the head takes to a place, and how a range comes to the
//! media.

use super::geometry::{Geometry, fraction, nanoseconds};
use super::parameters::Parameters;
use super::random::Random;

/// Smallest unit on the media.
pub(super) const SECTOR_BYTES: u64 = 512;

/// A wait of more than this share of a revolution is the sector just under the head, missed by
/// rounding.
const NEARLY_A_REVOLUTION: f64 = 1.0 - 1e-6;

/// How the head gets to the start of a range that it writes.
#[derive(Clone, Copy)]
pub(super) enum Approach {
    /// It is there.
    Follows,
    /// By a seek.
    Seek,
    /// By a seek that takes so long.
    Takes(f64),
}

/// How the head gets to where it passes over something.
#[derive(Clone, Copy)]
enum HeadMove {
    /// It is there.
    None,
    /// Over a few tracks that it has just passed.
    Back,
    /// By a seek.
    Seek,
}

/// The platters of one drive, which turn at their own speed and from their own angle.
#[derive(Clone, Debug)]
pub(super) struct Platters {
    pub(super) geometry: Geometry,
    pub(super) period: f64,
    pub(super) per_period: f64,
    pub(super) phase: f64,
    /// What the media is written in, in bytes; a power of two.
    pub(super) block_bytes: u64,
    /// What it is read in, where nothing is written; a power of two.
    pub(super) page_bytes: u64,
    /// What is written is read back.
    pub(super) verify: bool,
}

impl Platters {
    /// Platters whose speed and angle come from a seed.
    pub(super) fn new(parameters: &Parameters, seed: u64) -> Platters {
        let disk = &parameters.disk;
        let geometry = Geometry::new(parameters);
        let mut random = Random::new(seed);
        let phase = random.fraction();
        let period = geometry.period()
            * (1.0 + disk.spindle_tolerance.value * (2.0 * random.fraction() - 1.0));
        let block_bytes = disk.physical_block.as_ref().map_or(SECTOR_BYTES, |block| block.value);
        Platters {
            geometry,
            period,
            per_period: 1.0 / period,
            phase,
            block_bytes,
            page_bytes: disk.page.as_ref().map_or(block_bytes, |page| page.value),
            verify: disk.verify_after.is_some(),
        }
    }

    /// Time until a head is over a position: the arm's way, settling, and the wait until it comes
    /// round.
    pub(super) fn positioning(&self, now: u64, head: f64, target: f64, settle: f64) -> f64 {
        let arm = self.geometry.seek(head, target) + settle;
        if !self.geometry.rotates() {
            return arm;
        }
        let angle = (nanoseconds(now) + arm) * self.per_period + self.phase;
        let wait = fraction(target - angle);
        if wait > NEARLY_A_REVOLUTION { arm } else { arm + wait * self.period }
    }

    /// The whole pages that hold start..end, in bytes.
    pub(super) fn pages(&self, start: u64, end: u64) -> (u64, u64) {
        (start & !(self.page_bytes - 1), end.next_multiple_of(self.page_bytes))
    }

    /// The whole blocks that hold start..end, in bytes.
    pub(super) fn blocks(&self, start: u64, end: u64) -> (u64, u64) {
        (start & !(self.block_bytes - 1), end.next_multiple_of(self.block_bytes))
    }

    /// Writes start..end to the media from now on. Blocks that are filled in part are read before,
    /// and what was written is read back where the drive does so:
    ///
    /// ```text
    ///   head --arm--> [read first] [read last] --turn--> [write all] --turn--> [read all]
    /// ```
    ///
    /// The way back over the few tracks just passed fits in the turn and is not counted.
    /// `position` is that of `start` along the spiral.
    pub(super) fn write(
        &self,
        now: u64,
        head: f64,
        (start, end, position): (u64, u64, f64),
        settle: f64,
        approach: Approach,
    ) -> MediaWrite {
        let in_part = |address: u64| address & (self.block_bytes - 1) != 0;
        if in_part(start) || in_part(end) || self.verify {
            return self.write_with_care(now, head, (start, end), settle, approach);
        }
        let way = match approach {
            Approach::Follows => 0.0,
            Approach::Seek => self.positioning(now, head, position, settle),
            Approach::Takes(way) => way,
        };
        let head = self.geometry.revolutions(end);
        let passing = (head - position) * self.period;
        let ends = way + passing;
        MediaWrite { passed: ends, head, begins: ends - passing, ends }
    }

    /// The same where blocks are filled in part, or what was written is read back.
    fn write_with_care(
        &self,
        now: u64,
        head: f64,
        (start, end): (u64, u64),
        settle: f64,
        approach: Approach,
    ) -> MediaWrite {
        let (first, last) = self.blocks(start, end);
        let at = |address: u64| self.geometry.revolutions(address);
        let (mut passed, mut head) = (0.0, head);
        let mut pass = |from: u64, to: u64, settle: f64, way: HeadMove| {
            let (from, to) = (at(from), at(to));
            passed += match way {
                HeadMove::None => 0.0,
                HeadMove::Back => self.positioning(now + passed as u64, from, from, settle),
                HeadMove::Seek => self.positioning(now + passed as u64, head, from, settle),
            };
            passed += (to - from) * self.period;
            head = to;
            passed
        };
        let in_part = |address: u64| !address.is_multiple_of(self.block_bytes);
        if in_part(start) {
            pass(first, first + self.block_bytes, 0.0, HeadMove::Seek);
        }
        if in_part(end) && !(in_part(start) && last - first == self.block_bytes) {
            pass(last - self.block_bytes, last, 0.0, HeadMove::Seek);
        }
        let follows = matches!(approach, Approach::Follows);
        let way = match (in_part(start) || in_part(end), follows) {
            (true, _) => HeadMove::Back,
            (false, true) => HeadMove::None,
            (false, false) => HeadMove::Seek,
        };
        let ends = pass(first, last, settle, way);
        if self.verify {
            pass(first, last, 0.0, HeadMove::Back);
        }
        let begins = ends - (at(last) - at(first)) * self.period;
        MediaWrite { passed, head, begins, ends }
    }
}

/// A range on its way to the media. Times are in nanoseconds from the beginning on.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaWrite {
    /// Until the mechanism is free again.
    pub(super) passed: f64,
    /// Where the head is then.
    pub(super) head: f64,
    /// When the first block passes under the head, and when the last one has.
    pub(super) begins: f64,
    pub(super) ends: f64,
}

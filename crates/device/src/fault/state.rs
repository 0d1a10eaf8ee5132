//! What all channels of a faulty device share: the dice, what cannot be read, and what a crash
//! would lose.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use block::{Blocking, Buf, BufMut, Error, ErrorKind, Info, Op};
use reactor::{Random, Ringer};
use words::{Text, statement};

use super::{BadRange, CrashPolicy, CrashReport, FaultCounts, FaultOptions};
use crate::messages;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    On,
    Vanished,
    Off,
}

impl Power {
    pub(super) fn check(self) -> Result<(), Error> {
        match self {
            Power::On => Ok(()),
            Power::Vanished => Err(Error::new(ErrorKind::Gone, messages::VANISHED)),
            Power::Off => Err(Error::new(ErrorKind::Gone, messages::NO_POWER)),
        }
    }
}

/// What becomes of a request.
pub(super) enum Verdict {
    Go { delay: Option<Duration>, mishap: Option<Mishap> },
    Stuck,
    Fail(Error),
}

/// What goes wrong with a request that is answered as if nothing had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    /// This bit of its bytes changes on the way.
    Flipped {
        /// Counted from the first bit of the first byte.
        bit: u64,
    },
    /// It never arrives.
    Lost,
    /// It arrives at this offset in bytes.
    Misdirected { offset: u64 },
}

pub(super) struct FaultState {
    random: Random,
    pub(super) power: Power,
    block_bytes: u64,
    size_bytes: u64,
    /// Crashes so far; channels opened before the last one are dead.
    pub(super) epoch: u64,
    pub(super) stuck: bool,
    stuck_after: Option<u64>,
    vanish_after: Option<u64>,
    pub(super) failing: BTreeSet<u64>,
    pub(super) bad: BadBlocks,
    pub(super) flush_failed: bool,
    pub(super) counts: FaultCounts,
    pub(super) cache: Cache,
    /// Writes that a delay keeps from a device without a write cache, in the order of arrival.
    pub(super) held: BTreeMap<u64, (u64, Buf)>,
    next_held: u64,
    /// The channel that is writing the cache back. One at a time, so that below no older version
    /// overtakes a newer one.
    pub(super) writing_back: Option<u64>,
    /// What it has under way below.
    pub(super) piece: Option<(u64, Buf)>,
    /// Requests under way below that change data.
    pub(super) changes_below: u64,
    next_channel: u64,
    ringers: BTreeMap<u64, Ringer>,
}

impl FaultState {
    pub(super) fn new(info: &Info, options: &FaultOptions) -> FaultState {
        let mut bad =
            BadBlocks { block_bytes: u64::from(info.block_bytes), ranges: BTreeMap::new() };
        options.bad.iter().for_each(|&range| bad.insert(range));
        FaultState {
            random: Random::with_seed(options.seed),
            power: Power::On,
            block_bytes: u64::from(info.block_bytes),
            size_bytes: info.size_bytes,
            epoch: 0,
            stuck: false,
            stuck_after: options.stuck_after,
            vanish_after: options.vanish_after,
            failing: BTreeSet::new(),
            bad,
            flush_failed: false,
            counts: FaultCounts::default(),
            cache: Cache {
                block_bytes: u64::from(info.block_bytes),
                blocks: BTreeMap::new(),
                last_version: 0,
            },
            held: BTreeMap::new(),
            next_held: 0,
            writing_back: None,
            piece: None,
            changes_below: 0,
            next_channel: 0,
            ringers: BTreeMap::new(),
        }
    }

    /// A number for a new channel, which `ringer` wakes.
    pub(super) fn enter(&mut self, ringer: Option<Ringer>) -> u64 {
        let number = self.next_channel;
        self.next_channel += 1;
        if let Some(ringer) = ringer {
            self.ringers.insert(number, ringer);
        }
        number
    }

    pub(super) fn leave(&mut self, channel: u64) {
        self.ringers.remove(&channel);
    }

    /// Wakes all owners, which may wait for answers that no event will bring.
    pub(super) fn ring(&self) {
        self.ringers.values().for_each(Ringer::ring);
    }

    /// Whether requests of a channel opened in `epoch` are answered properly.
    pub(super) fn check(&self, epoch: u64) -> Result<(), Error> {
        self.power.check()?;
        if epoch == self.epoch {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Gone, messages::LOST_POWER))
    }

    /// Rolls the dice for a request.
    pub(super) fn judge(&mut self, options: &FaultOptions, op: &Op, epoch: u64) -> Verdict {
        let number = self.counts.requests;
        self.counts.requests += 1;
        if self.vanish_after.is_some_and(|after| number >= after) {
            // Once: it may be called back.
            self.vanish_after = None;
            self.power = Power::Vanished;
        }
        if self.stuck_after.is_some_and(|after| number >= after) {
            self.stuck_after = None;
            self.stuck = true;
        }
        if let Err(error) = self.check(epoch) {
            self.counts.gone += 1;
            return Verdict::Fail(error);
        }
        if self.stuck {
            self.counts.stuck += 1;
            return Verdict::Stuck;
        }
        let chosen = self.failing.remove(&number);
        let (count, probability) = match op {
            Op::Read { .. } => (&mut self.counts.read_errors, options.read_error),
            Op::Write { .. } | Op::WriteZeroes { .. } | Op::Discard { .. } => {
                (&mut self.counts.write_errors, options.write_error)
            }
            Op::Flush => (&mut self.counts.flush_errors, options.flush_error),
        };
        let unlucky = probability > 0.0 && self.random.f64() < probability;
        let unreadable = matches!(op, Op::Read { .. })
            && op.range().is_some_and(|(offset, length)| self.bad.touches(offset, length));
        if chosen || unlucky || unreadable {
            *count += 1;
            if matches!(op, Op::Flush) {
                self.flush_failed = true;
            }
            let place = op.range().map_or_else(Text::default, |(offset, length)| {
                statement!(messages::OF_BYTES_AT, length = length, offset = offset)
            });
            let why =
                if unreadable { messages::MEETS_BAD_BLOCK } else { messages::FAILS_AS_PLANNED };
            return Verdict::Fail(Error::new(
                ErrorKind::Media,
                statement!(why, op = op.message(), place = place),
            ));
        }
        if self.flush_failed
            && matches!(
                op,
                Op::Flush | Op::Write { fua: true, .. } | Op::WriteZeroes { fua: true, .. }
            )
        {
            self.counts.flush_errors += 1;
            return Verdict::Fail(Error::new(ErrorKind::Media, messages::FLUSH_FAILED));
        }
        let late = !options.delay.is_zero()
            && (options.delay_probability >= 1.0 || self.random.f64() < options.delay_probability);
        if late {
            self.counts.delayed += 1;
        }
        Verdict::Go { delay: late.then_some(options.delay), mishap: self.mishap(options, op) }
    }

    /// Whether a request goes wrong without a word. A probability of 0 rolls no dice, so that older
    /// seeds mean what they did.
    fn mishap(&mut self, options: &FaultOptions, op: &Op) -> Option<Mishap> {
        let (offset, length) = op.range()?;
        let changes = matches!(op, Op::Write { .. } | Op::WriteZeroes { .. });
        if changes && self.chance(options.write_lost) {
            self.counts.lost_writes += 1;
            return Some(Mishap::Lost);
        }
        if changes
            && self.chance(options.write_misdirected)
            && let Some(offset) = self.elsewhere(offset, length)
        {
            self.counts.misdirected_writes += 1;
            return Some(Mishap::Misdirected { offset });
        }
        let (count, probability) = match op {
            Op::Read { .. } => (&mut self.counts.flipped_reads, options.read_flip),
            Op::Write { .. } => (&mut self.counts.flipped_writes, options.write_flip),
            _ => return None,
        };
        if length == 0 || probability == 0.0 || self.random.f64() >= probability {
            return None;
        }
        *count += 1;
        Some(Mishap::Flipped { bit: self.random.u64(0..length * 8) })
    }

    fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.random.f64() < probability
    }

    /// Another place where a request of this length fits, if there is one.
    fn elsewhere(&mut self, offset: u64, length: u64) -> Option<u64> {
        let places = (self.size_bytes - length) / self.block_bytes;
        if places == 0 {
            return None;
        }
        // One of the others: the places behind its own move down by one.
        let place = self.random.u64(0..places);
        Some((place + u64::from(place >= offset / self.block_bytes)) * self.block_bytes)
    }

    /// Keeps a delayed write in view of a crash.
    pub(super) fn hold(&mut self, offset: u64, from: Buf) -> u64 {
        let number = self.next_held;
        self.next_held += 1;
        self.held.insert(number, (offset, from));
        number
    }

    /// Ends this life of the device; what was not durable is handed out.
    pub(super) fn cut_power(&mut self) -> VolatileBlocks {
        self.power = Power::Off;
        self.epoch += 1;
        self.writing_back = None;
        for (offset, from) in std::mem::take(&mut self.held).into_values() {
            self.cache.record(offset, &from);
        }
        let blocks = std::mem::take(&mut self.cache.blocks);
        self.ring();
        VolatileBlocks { block_bytes: self.cache.block_bytes, blocks, landing: self.piece.clone() }
    }
}

/// Blocks that cannot be read: start and end of ranges that do not touch.
pub(super) struct BadBlocks {
    block_bytes: u64,
    ranges: BTreeMap<u64, u64>,
}

impl BadBlocks {
    pub(super) fn insert(&mut self, range: BadRange) {
        let start = range.offset - range.offset % self.block_bytes;
        let end = (range.offset + range.length).next_multiple_of(self.block_bytes);
        self.remove(start, end - start);
        self.ranges.insert(start, end);
    }

    pub(super) fn touches(&self, offset: u64, length: u64) -> bool {
        self.ranges.range(..offset + length).next_back().is_some_and(|(_, &end)| end > offset)
    }

    /// The blocks were written and can be read again.
    pub(super) fn remove(&mut self, offset: u64, length: u64) {
        let removed = offset..offset + length;
        while let Some((&start, &end)) =
            self.ranges.range(..removed.end).next_back().filter(|(_, end)| **end > removed.start)
        {
            self.ranges.remove(&start);
            if start < removed.start {
                self.ranges.insert(start, removed.start);
            }
            if end > removed.end {
                self.ranges.insert(removed.end, end);
            }
        }
    }
}

/// One block as a write left it.
struct Version {
    number: u64,
    bytes: Buf,
}

/// Writes that are not durable, block by block, oldest first.
pub(super) struct Cache {
    block_bytes: u64,
    blocks: BTreeMap<u64, Vec<Version>>,
    last_version: u64,
}

/// What has to be written below to make something durable.
pub(super) struct WriteBack {
    /// Newest versions, in runs of blocks that lie side by side.
    pub(super) pieces: Vec<(u64, Buf)>,
    /// The blocks, and the version up to which they are durable afterwards.
    range: Range<u64>,
    last_version: u64,
}

impl Cache {
    pub(super) fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    pub(super) fn record(&mut self, offset: u64, from: &Buf) {
        self.last_version += 1;
        let mut rest = from.clone();
        for block in offset / self.block_bytes..(offset + from.len() as u64) / self.block_bytes {
            let bytes = rest.split_to(self.block_bytes as usize);
            self.blocks
                .entry(block)
                .or_default()
                .push(Version { number: self.last_version, bytes });
        }
    }

    fn newest(&self, range: Range<u64>) -> impl Iterator<Item = (u64, &Buf)> {
        self.blocks.range(range).map(|(block, versions)| {
            (*block, &versions.last().expect("a block here has a version").bytes)
        })
    }

    /// The newest bytes of the blocks in a range, each with its distance in bytes from the range's
    /// start.
    pub(super) fn overlay(&self, offset: u64, length: u64) -> Vec<(usize, Buf)> {
        let first = offset / self.block_bytes;
        let range = first..(offset + length) / self.block_bytes;
        self.newest(range)
            .map(|(block, bytes)| (((block - first) * self.block_bytes) as usize, bytes.clone()))
            .collect()
    }

    /// The writes that make a range durable, or everything.
    pub(super) fn write_back(&self, range: Option<(u64, u64)>, longest_bytes: u64) -> WriteBack {
        let range = match range {
            Some((offset, length)) => {
                offset / self.block_bytes..(offset + length) / self.block_bytes
            }
            None => 0..u64::MAX,
        };
        let mut pieces: Vec<(u64, Buf)> = Vec::new();
        for (block, bytes) in self.newest(range.clone()) {
            let offset = block * self.block_bytes;
            match pieces.last_mut() {
                Some((start, run))
                    if *start + run.len() as u64 == offset
                        && (run.len() as u64) < longest_bytes =>
                {
                    run.append(bytes.clone());
                }
                _ => pieces.push((offset, bytes.clone())),
            }
        }
        // Taken from the end.
        pieces.reverse();
        WriteBack { pieces, range, last_version: self.last_version }
    }

    /// What `done` wrote is durable.
    pub(super) fn settle(&mut self, done: &WriteBack) {
        let mut clean = Vec::new();
        for (&block, versions) in self.blocks.range_mut(done.range.clone()) {
            versions.retain(|version| version.number > done.last_version);
            if versions.is_empty() {
                clean.push(block);
            }
        }
        for block in clean {
            self.blocks.remove(&block);
        }
    }
}

/// What a crash found that was not durable.
pub(super) struct VolatileBlocks {
    block_bytes: u64,
    blocks: BTreeMap<u64, Vec<Version>>,
    /// Under way below already: it will land whatever is chosen, so it is chosen.
    landing: Option<(u64, Buf)>,
}

impl VolatileBlocks {
    /// Chooses a version of every block and writes it below.
    pub(super) fn settle(
        self,
        policy: CrashPolicy,
        seed: u64,
        shorn: bool,
        below: &mut Blocking,
    ) -> Result<CrashReport, Error> {
        let mut random = Random::with_seed(seed);
        let mut report =
            CrashReport { volatile_blocks: self.blocks.len() as u64, ..CrashReport::default() };
        for (block, versions) in &self.blocks {
            let newest = versions.len() - 1;
            let offset = block * self.block_bytes;
            if let Some(bytes) = self.landing_at(offset) {
                report.landing_blocks += 1;
                below.write(offset, bytes)?;
                continue;
            }
            let chosen = match policy {
                CrashPolicy::KeepNone => None,
                CrashPolicy::KeepAll => Some(newest),
                CrashPolicy::Random(kept) => {
                    (random.f64() < kept).then(|| random.usize(0..versions.len()))
                }
            };
            let Some(chosen) = chosen else {
                report.lost_blocks += 1;
                continue;
            };
            if chosen == newest {
                report.newest_blocks += 1;
            } else {
                report.older_blocks += 1;
            }
            let mut bytes = versions[chosen].bytes.clone();
            if shorn && random.bool() {
                report.shorn_blocks += 1;
                bytes = tear(&bytes, offset, random.usize(1..self.block_bytes as usize), below)?;
            }
            below.write(offset, bytes)?;
        }
        Ok(report)
    }

    fn landing_at(&self, offset: u64) -> Option<Buf> {
        let (start, bytes) = self.landing.as_ref()?;
        let distance = usize::try_from(offset.checked_sub(*start)?).ok()?;
        if distance >= bytes.len() {
            return None;
        }
        let mut bytes = bytes.clone();
        drop(bytes.split_to(distance));
        Some(bytes.split_to(self.block_bytes as usize))
    }
}

/// The first `at` bytes of a block as they were to become, the rest as they are below.
fn tear(bytes: &Buf, offset: u64, at: usize, below: &mut Blocking) -> Result<Buf, Error> {
    let mut torn = vec![0; bytes.len()];
    bytes.copy_to_slice(&mut torn);
    let mut old = vec![0; bytes.len()];
    below.read_slice(offset, &mut old)?;
    torn[at..].copy_from_slice(&old[at..]);
    let mut buffer = BufMut::zeroed(torn.len());
    buffer.copy_from_slice(&torn);
    Ok(buffer.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_blocks_are_whole_blocks_and_heal_in_part() {
        let mut bad = BadBlocks { block_bytes: 512, ranges: BTreeMap::new() };
        bad.insert(BadRange { offset: 1000, length: 3000 });
        assert_eq!(bad.ranges, BTreeMap::from([(512, 4096)]));
        assert!(
            !bad.touches(0, 512)
                && bad.touches(0, 1024)
                && bad.touches(3584, 512)
                && !bad.touches(4096, 512)
        );
        bad.remove(1024, 512);
        assert_eq!(bad.ranges, BTreeMap::from([(512, 1024), (1536, 4096)]));
        bad.insert(BadRange { offset: 0, length: 2048 });
        assert_eq!(bad.ranges, BTreeMap::from([(0, 2048), (2048, 4096)]));
        bad.remove(512, 3072);
        assert_eq!(bad.ranges, BTreeMap::from([(0, 512), (3584, 4096)]));
        bad.remove(0, 1 << 20);
        assert!(bad.ranges.is_empty());
    }
}

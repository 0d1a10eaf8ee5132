//! The draft of an update: what is written to which member, in which order.
//!
//! ```text
//!   flush ─> logs of new members ─> bad-block logs ─> bitmap's head ─> its bits ─> superblocks
//!   (first, before anything better is promised than the superblocks do now)
//! ```
//!
//! Each phase is durable on all members before the next begins. The bitmap carries the
//! superblocks' events or one more, never less: it is written first.
//!
//! Superblocks go from dirty to clean in two phases: first all get the new events, still dirty,
//! then they are called clean with the same events. So wherever a crash comes between, no member
//! that is dirty has fewer events than one that is clean: one that has is an old copy.

#[cfg(test)]
mod tests;

use super::bad_block_log;
use super::facts::{Facts, RecordedState, events_after, superblock_of};
use super::state::Record;
use super::write_intent::{Clear, WriteIntentBitmap};
use crate::fence;
use crate::md::{Bitmap, Features, Superblock, TimeStamp};

/// Why an update is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Superblocks say that the array is being written to.
    pub(crate) is_active: bool,
    /// Bits to clear, where nothing forbids it.
    pub(crate) clear: Option<Clear>,
    /// The array ends.
    pub(crate) ends: bool,
    /// Superblocks are written although they have nothing new to say.
    pub(crate) keeps_alive: bool,
    /// Members are flushed first in any case.
    pub(crate) flushes: bool,
    /// Superblocks go clean in two phases; in one is a mistake that a test plants.
    pub(crate) cleans_in_two: bool,
}

impl Request {
    /// Says what is so, and that the array is active or not.
    pub(crate) fn of(is_active: bool) -> Request {
        Request {
            is_active,
            clear: None,
            ends: false,
            keeps_alive: false,
            flushes: false,
            cleans_in_two: true,
        }
    }
}

/// What is so when an update is made.
#[derive(Clone, Debug)]
pub(crate) struct DraftInput {
    pub(crate) facts: Facts,
    /// How many places of each member could not be read since it was added, by role.
    pub(crate) read_errors: Vec<u32>,
    /// `None` where no other host reaches a member.
    pub(crate) fence: Option<FenceTerms>,
    /// `None` leaves the time that superblocks have.
    pub(crate) now: Option<TimeStamp>,
}

/// How servers of other hosts are kept away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FenceTerms {
    /// Goes on also with fewer members than it takes to be the only server.
    pub(crate) is_forced: bool,
    /// What this server writes as the microseconds of an update.
    pub(crate) server: u32,
}

/// So few members are left that another server may have the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooFewMembers {
    pub(crate) left: usize,
    pub(crate) of: usize,
}

/// Writes to several devices at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// What members have is made durable.
    Flush(Vec<usize>),
    /// Partial parity logs without entries.
    EmptyLogs(Vec<usize>),
    /// Whole bad-block logs, by device.
    BadBlockLogs(Vec<(usize, Vec<u8>)>),
    /// The same pages of the bitmap, from the first on, to each device.
    BitmapPages { devices: Vec<usize>, first: usize, bytes: Vec<u8> },
    /// Superblocks, by device.
    Superblocks(Vec<(usize, Superblock)>),
}

impl Phase {
    /// The devices that it goes to.
    pub(crate) fn devices(&self) -> Vec<usize> {
        match self {
            Phase::Flush(devices)
            | Phase::EmptyLogs(devices)
            | Phase::BitmapPages { devices, .. } => devices.clone(),
            Phase::BadBlockLogs(logs) => logs.iter().map(|(device, _)| *device).collect(),
            Phase::Superblocks(written) => written.iter().map(|(device, _)| *device).collect(),
        }
    }
}

/// What becomes of the bitmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BitmapChange {
    pub(super) events: u64,
    pub(super) events_cleared: u64,
    /// Regions whose bits do not count as set any more from the moment the update is sent.
    pub(super) cleared: Vec<u64>,
    /// The bitmap with the bits that count as set once the update has ended.
    pub(super) set: Option<Bitmap>,
}

/// What an update writes of superblocks.
#[derive(Clone, Debug, Default)]
pub(super) struct SuperblockChange {
    /// What they say in the end, by device.
    pub(super) last: Vec<(usize, Superblock)>,
    /// The time that each count of events is written with.
    pub(super) times: Vec<(u64, TimeStamp)>,
}

/// What an update writes, and what is so when it has ended.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// None of them is empty.
    pub(crate) phases: Vec<Phase>,
    pub(super) facts: Facts,
    pub(super) is_active: bool,
    pub(super) events: u64,
    pub(super) superblocks: SuperblockChange,
    pub(super) bitmap: Option<BitmapChange>,
    /// Devices that get the whole bitmap and an empty log: they were just added.
    pub(super) outdated: Vec<usize>,
    /// Devices whose bitmap and log fall behind from now on: their members are out.
    pub(super) falling_behind: Vec<usize>,
    /// It gives the array free for other servers.
    pub(crate) releases: bool,
}

impl Draft {
    /// Whether superblocks are written.
    pub(crate) fn has_superblocks(&self) -> bool {
        !self.superblocks.last.is_empty()
    }

    /// The events that superblocks have when the first so many phases are written, if these write
    /// superblocks.
    pub(super) fn events_after(&self, phases: usize) -> Option<u64> {
        let events = |phase: &Phase| match phase {
            Phase::Superblocks(written) => written.first().map(|(_, one)| one.events),
            _ => None,
        };
        self.phases[..phases].iter().rev().find_map(events)
    }
}

/// What an update writes that is made now. Nothing changes by it: see [`Record::begin`].
///
/// # Errors
/// Where servers are kept apart and too few members are left.
pub(crate) fn draft(
    record: &Record,
    input: &DraftInput,
    request: &Request,
) -> Result<Draft, TooFewMembers> {
    let choices = Choices::of(record, input, request)?;
    let Choices { facts, devices, .. } = &choices;
    let mut phases = Vec::new();
    let promises = record.facts.as_ref().is_none_or(|before| facts.promises_more_than(before));
    if promises || choices.clears.is_some() || request.flushes {
        phases.push(Phase::Flush(devices.clone()));
    }
    let is_outdated = |device: &usize| !record.devices[*device].is_fresh;
    let outdated: Vec<usize> = devices.iter().copied().filter(is_outdated).collect();
    if record.empty_log.is_some() {
        phases.push(Phase::EmptyLogs(outdated.clone()));
    }
    phases.push(Phase::BadBlockLogs(choices.bad_block_logs()));
    let bitmap = choices.add_bitmap(&outdated, &mut phases);
    let superblocks = choices.add_superblocks(&mut phases);
    phases.retain(|phase| !phase.devices().is_empty());
    let gone = facts.members.iter().zip(&record.roles);
    let falling_behind = gone
        .filter(|(state, _)| **state == RecordedState::Out)
        .filter_map(|(_, device)| *device)
        .collect();
    Ok(Draft {
        phases,
        is_active: request.is_active,
        events: choices.events,
        superblocks,
        bitmap,
        outdated,
        falling_behind,
        releases: choices.releases,
        facts: choices.facts,
    })
}

/// What is decided before anything is put into phases.
struct Choices<'a> {
    record: &'a Record,
    input: &'a DraftInput,
    request: &'a Request,
    facts: Facts,
    /// Those in service.
    devices: Vec<usize>,
    /// Superblocks say it already but for whether the array is dirty.
    same_facts: bool,
    /// They say clean, and did not before.
    becomes_clean: bool,
    releases: bool,
    clears: Option<Clear>,
    /// Superblocks are written.
    rewrites: bool,
    events: u64,
}

impl<'a> Choices<'a> {
    fn of(
        record: &'a Record,
        input: &'a DraftInput,
        request: &'a Request,
    ) -> Result<Choices<'a>, TooFewMembers> {
        let facts = input.facts.clone();
        let facts = if request.ends { record.facts_at_end(facts) } else { facts };
        let devices = record.in_use(&facts);
        let (left, of) = (devices.len(), record.roles.len());
        if input.fence.is_some_and(|fence| !fence.is_forced) && !fence::may_go_on(of, left) {
            return Err(TooFewMembers { left, of });
        }
        let same_facts = record.facts.as_ref() == Some(&facts);
        let is_clean = !request.is_active && facts.resync_from.is_none();
        let becomes_clean = is_clean && !record.is_said_clean && request.cleans_in_two;
        // Where servers are kept apart, the end frees it. While it is being called clean it is this
        // server's: it is freed by an update of its own.
        let releases = request.ends && input.fence.is_some() && !becomes_clean;
        let clears = request.clear.filter(|_| facts.is_whole());
        // A copy of a member that was made before bits were cleared lacks what they stood for: it
        // has fewer events than the bitmap says then.
        let rewrites = !same_facts
            || record.is_active != request.is_active
            || request.keeps_alive
            || releases
            || clears.is_some() && record.is_active;
        let events = if rewrites { events_after(record.events) } else { record.events };
        Ok(Choices {
            record,
            input,
            request,
            facts,
            devices,
            same_facts,
            becomes_clean,
            releases,
            clears,
            rewrites,
            events,
        })
    }

    /// The bad-block logs that have changed, before any superblock calls their members whole.
    fn bad_block_logs(&self) -> Vec<(usize, Vec<u8>)> {
        let Choices { record, facts, .. } = self;
        let told = |member: usize| record.facts.as_ref().and_then(|before| before.lost.get(member));
        let changed = (0..facts.lost.len())
            .filter(|&member| told(member).is_none_or(|told| *told != facts.lost[member]));
        let logs = changed.filter_map(|member| {
            let device =
                record.roles[member].filter(|_| facts.members[member] != RecordedState::Out)?;
            let superblock = &record.devices[device].superblock;
            // A log that was never written to and has nothing to say is left alone.
            if facts.lost[member].is_empty() && !superblock.features.contains(Features::BAD_BLOCKS)
            {
                return None;
            }
            let bytes = bad_block_log::encode(superblock, &facts.lost[member]);
            Some((device, bytes.filter(|bytes| !bytes.is_empty())?))
        });
        logs.collect()
    }

    /// Adds the phases that write the bitmap.
    fn add_bitmap(&self, outdated: &[usize], phases: &mut Vec<Phase>) -> Option<BitmapChange> {
        let write_intent = self.record.write_intent.as_ref()?;
        let mut bitmap = write_intent.bitmap().clone();
        let before = bitmap.header().events_cleared;
        let events_cleared =
            if self.clears.is_some() { self.events } else { before.min(self.events) };
        bitmap.set_events(self.events, events_cleared);
        let mut cleared = Vec::new();
        let mut pages = if let Some(clear) = self.clears {
            let head = bitmap.encode_page(0);
            cleared = write_intent.needless(clear);
            let pages = WriteIntentBitmap::clear_in(&mut bitmap, &cleared);
            if !pages.is_empty() {
                // The head has to say that bits were cleared before any is.
                phases.push(self.pages(0, head));
            }
            pages
        } else {
            WriteIntentBitmap::set_in(&mut bitmap, &self.record.wanted)
        };
        if !outdated.is_empty() {
            pages = (0..bitmap.page_count()).collect();
        } else if self.rewrites && pages.first() != Some(&0) {
            pages.insert(0, 0);
        }
        for (first, count) in runs(&pages) {
            let bytes = (first..first + count).flat_map(|page| bitmap.encode_page(page));
            phases.push(self.pages(first, bytes.collect()));
        }
        let set = self.clears.is_none().then_some(bitmap);
        Some(BitmapChange { events: self.events, events_cleared, cleared, set })
    }

    fn pages(&self, first: usize, bytes: Vec<u8>) -> Phase {
        Phase::BitmapPages { devices: self.devices.clone(), first, bytes }
    }

    /// Adds the phases that write superblocks, if any are written.
    fn add_superblocks(&self, phases: &mut Vec<Phase>) -> SuperblockChange {
        if !self.rewrites {
            return SuperblockChange::default();
        }
        let Choices { record, facts, devices, .. } = self;
        let updated = self.time();
        let mut times = Vec::new();
        // A member two events behind is taken for stale: so those that are behind go up by one at a
        // time, each step with the time that others may have it with already.
        for step in record.events_least + 1..self.events + u64::from(self.becomes_clean) {
            let time = record.times.get(&step).copied().unwrap_or(updated);
            times.push((step, time));
            phases.push(self.step(step, time));
        }
        times.push((self.events, updated));
        // Spares are not written for an array that only gets dirty and clean.
        let spares = if self.same_facts { Vec::new() } else { record.spares() };
        let superblock = |&device: &usize| {
            let last = &record.devices[device].superblock;
            let new = superblock_of(last, facts, self.request.is_active, self.events, updated);
            (device, Superblock { corrected_reads: self.corrected_reads(device), ..new })
        };
        let last: Vec<_> = devices.iter().chain(&spares).map(superblock).collect();
        phases.push(Phase::Superblocks(last.clone()));
        SuperblockChange { last, times }
    }

    /// The phase that gives all members one more event, and calls none clean that was not.
    fn step(&self, events: u64, time: TimeStamp) -> Phase {
        let Choices { record, facts, devices, .. } = self;
        let is_dirty = self.request.is_active || !record.is_said_clean;
        let resync_from = record.facts.as_ref().and_then(|said| said.resync_from);
        let written = devices.iter().map(|&device| {
            let last = &record.devices[device].superblock;
            let mut superblock = superblock_of(last, facts, is_dirty, events, time);
            if let Some(sector) = resync_from.filter(|_| !record.is_active) {
                superblock.resync_offset_sectors = sector;
            }
            (device, superblock)
        });
        Phase::Superblocks(written.collect())
    }

    /// One time for all members, and never an earlier one, whatever becomes of the clock: members
    /// that were not updated together are told from each other by it. Where servers are kept apart
    /// it names this server, or none.
    fn time(&self) -> TimeStamp {
        let times =
            self.devices.iter().map(|&device| self.record.devices[device].superblock.updated);
        let before = times.max().unwrap_or_default();
        let updated = self.input.now.map_or(before, |now| now.max(before));
        match self.input.fence {
            None => updated,
            // A time that frees them is not to look earlier than what is there.
            Some(_) if self.releases => {
                TimeStamp { seconds: updated.seconds.max(before.seconds + 1), microseconds: 0 }
            }
            Some(fence) => TimeStamp { microseconds: fence.server, ..updated },
        }
    }

    /// The read errors of a member, those before this start included.
    fn corrected_reads(&self, device: usize) -> u32 {
        let role = self.record.role_of(device);
        let now = role.and_then(|role| self.input.read_errors.get(role)).copied();
        self.record.devices[device].corrected_before.saturating_add(now.unwrap_or(0))
    }
}

/// The most pages that go out in one write.
const RUN_PAGES: usize = 16;

/// Pages in ascending order as runs: the first one and how many.
fn runs(pages: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = pages;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let count = rest
            .iter()
            .zip(first..)
            .take(RUN_PAGES)
            .take_while(|(page, expected)| **page == *expected)
            .count();
        rest = &rest[count..];
        Some((first, count))
    })
}

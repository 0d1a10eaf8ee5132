//! One update of the metadata: what is written, in which order.
//!
//! ```text
//!   flush ──> bitmap's head ──> bitmap's bits ──> superblocks           each phase durable on all members before the next
//!   (before anything better is promised than the superblocks do now)
//! ```
//!
//! The bitmap carries the superblocks' events or one more, never less: it is written first.
//!
//! Superblocks go from dirty to clean in two phases: first all get the new events, still dirty,
//! then they are called clean with the same events. So wherever a crash comes between, no member
//! that is dirty has fewer events than one that is clean: one that has is an old copy.

use std::collections::VecDeque;

use block::{BufMut, Error, ErrorKind, Op};
use reactor::since_boot;

use super::facts::{Facts, RecordedState, events_after, superblock_of};
use super::write_intent::{Clear, PAGE_BYTES};
use super::{ArrayView, Fence, State, bad_block_log, planted};
use crate::fence;
use crate::md::{Bitmap, Features, Superblock, TimeStamp};

/// Phases of commands to the devices, and the state when they have ended.
pub(crate) struct MetadataUpdate {
    pub(super) phases: VecDeque<Vec<(usize, Op)>>,
    generation: u64,
    facts: Facts,
    is_active: bool,
    events: u64,
    superblocks: Superblocks,
    /// With the bits that this sets.
    bitmap: Option<Bitmap>,
    /// Devices that get the whole bitmap and an empty log: they were just added.
    outdated: Vec<usize>,
    /// Some of it was not written.
    is_cut: bool,
    releases: bool,
}

impl MetadataUpdate {
    /// Ends it before its next phase, because a device failed: the next update is made without it.
    pub(super) fn cut(&mut self) {
        self.is_cut = self.is_cut || !self.phases.is_empty();
        self.phases.clear();
    }
}

/// How an update ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UpdateOutcome {
    Done,
    /// Some members did not take it; the others did.
    Failed,
    /// How far it got is unknown.
    Abandoned,
}

/// What an update writes of superblocks.
#[derive(Default)]
struct Superblocks {
    /// What they say in the end, by device.
    last: Vec<(usize, Superblock)>,
    /// The time that each count of events is written with.
    times: Vec<(u64, TimeStamp)>,
}

/// What is to be written.
#[derive(Default)]
struct Order {
    is_active: bool,
    clear: Option<Clear>,
    /// The array ends.
    ends: bool,
    /// Superblocks are written although they have nothing new to say.
    keeps_alive: bool,
}

/// What superblocks are to say.
#[derive(Clone, Copy)]
struct Rewrite<'a> {
    facts: &'a Facts,
    /// Those that are written.
    devices: &'a [usize],
    events: u64,
    is_active: bool,
    /// They say clean, and did not before.
    becomes_clean: bool,
    releases: bool,
    /// They say it already but for whether the array is dirty.
    same_facts: bool,
}

impl State {
    /// An update that writes down the present state, and the bits that pieces wait for.
    pub(super) fn compose(
        &mut self,
        array: &dyn ArrayView,
        makes_active: bool,
    ) -> Result<MetadataUpdate, Error> {
        let is_active = makes_active || self.is_active;
        self.order(array, &Order { is_active, ..Order::default() })
    }

    /// An update that calls the array clean. No write is under way, and none is let out until it
    /// has ended.
    pub(super) fn compose_clean(
        &mut self,
        array: &dyn ArrayView,
        clear: Option<Clear>,
        flushes: bool,
        ends: bool,
    ) -> Result<MetadataUpdate, Error> {
        let mut update = self.order(array, &Order { clear, ends, ..Order::default() })?;
        if flushes
            && !matches!(
                update.phases.front().and_then(|phase| phase.first()),
                Some((_, Op::Flush))
            )
        {
            let devices = self.in_use(&update.facts);
            update.phases.push_front(flush(&devices));
        }
        self.is_active = false;
        Ok(update)
    }

    /// An update that clears bits that are not needed.
    pub(super) fn compose_clear(
        &mut self,
        array: &dyn ArrayView,
        clear: Clear,
    ) -> Result<MetadataUpdate, Error> {
        let is_active = self.is_active;
        self.order(array, &Order { is_active, clear: Some(clear), ..Order::default() })
    }

    /// An update that only shows that the array is in use: to other servers, and to a start that
    /// finds a copy of a member that was made before.
    pub(super) fn compose_keep_alive(
        &mut self,
        array: &dyn ArrayView,
    ) -> Result<MetadataUpdate, Error> {
        let is_active = self.is_active;
        self.order(array, &Order { is_active, keeps_alive: true, ..Order::default() })
    }

    fn order(&mut self, array: &dyn ArrayView, order: &Order) -> Result<MetadataUpdate, Error> {
        let snapshot = array.snapshot();
        let missing = snapshot.absent().union(&snapshot.recovering());
        // An array that has lost data takes no more writes: nothing that it says could be relied
        // on.
        array.holds_all(&missing).map_err(|lost| Error::new(ErrorKind::Gone, lost.to_string()))?;
        self.assign_roles(&array.devices());
        let facts = self.facts_of(&snapshot, array);
        let facts = if order.ends { self.facts_at_end(facts) } else { facts };
        let devices = self.in_use(&facts);
        let same_facts = self.facts.as_ref() == Some(&facts);
        if let Some(Fence { is_forced: false, .. }) = &self.fence
            && !fence::may_go_on(self.roles.len(), devices.len())
        {
            let text = format!(
                "only {} of {} members are left, and another server may have the others: nothing is \
                written any more",
                devices.len(),
                self.roles.len()
            );
            self.broken.get_or_insert(text.clone());
            return Err(Error::new(ErrorKind::Gone, text));
        }
        let is_clean = !order.is_active && facts.resync_from.is_none();
        let becomes_clean = is_clean && !self.is_said_clean && !planted!(self, CleansAtOnce);
        // Where servers are kept apart, the end frees it. While it is being called clean it is this
        // server's: it is freed by an update of its own.
        let releases = order.ends && self.fence.is_some() && !becomes_clean;
        if let Some(fence) = &mut self.fence {
            fence.is_releasing = releases;
        }
        let clears = order.clear.filter(|_| !facts.is_degraded() && facts.resync_from.is_none());
        // A copy of a member that was made before bits were cleared lacks what they stood for: it
        // has fewer events than the bitmap says then.
        let rewrites = !same_facts
            || self.is_active != order.is_active
            || order.keeps_alive
            || releases
            || clears.is_some() && self.is_active;
        let events = if rewrites { events_after(self.events) } else { self.events };

        let mut phases = VecDeque::new();
        let mut bitmap = None;
        let mut pages = Vec::new();
        let promises = self.facts.as_ref().is_none_or(|before| facts.promises_more_than(before));
        if promises || clears.is_some() {
            phases.push_back(flush(&devices));
        }
        let outdated: Vec<usize> =
            devices.iter().copied().filter(|&device| !self.devices[device].is_fresh).collect();
        for member in 0..facts.members.len() {
            if let (RecordedState::Out, Some(device)) = (facts.members[member], self.roles[member])
            {
                self.devices[device].is_fresh = false;
            }
        }
        if let Some(empty) = &self.empty_log {
            phases.push_back(self.log_phase(&outdated, empty));
        }
        phases.push_back(self.bad_block_phase(&facts));
        if let Some(write_intent) = &mut self.write_intent {
            let events_cleared = write_intent.bitmap().header().events_cleared.min(events);
            if let Some(clear) = clears {
                // The head has to say that bits were cleared before any is.
                write_intent.set_events(events, events);
                let head = write_intent.bitmap().encode_page(0);
                pages = write_intent.clear(clear);
                if !pages.is_empty() {
                    phases.push_back(self.page_phase(&devices, 0, &head));
                }
            } else {
                write_intent.set_events(events, events_cleared);
                let (new, set) = write_intent.with(&self.wanted);
                pages = set;
                bitmap = Some(new);
            }
        }
        self.wanted.clear();
        match &self.write_intent {
            Some(write_intent) if !outdated.is_empty() => {
                pages = (0..write_intent.bitmap().page_count()).collect();
            }
            Some(_) if rewrites && pages.first() != Some(&0) => pages.insert(0, 0),
            _ => (),
        }
        let bits: Vec<_> = match bitmap
            .as_ref()
            .or(self.write_intent.as_ref().map(super::WriteIntentBitmap::bitmap))
        {
            Some(bitmap) => runs(&pages)
                .map(|(first, count)| {
                    self.page_phase(&devices, first, &encode(bitmap, first, count))
                })
                .collect(),
            None => Vec::new(),
        };

        phases.extend(bits);
        let mut superblocks = Superblocks::default();
        if rewrites {
            let is_active = order.is_active;
            let written = Rewrite {
                facts: &facts,
                devices: &devices,
                events,
                is_active,
                becomes_clean,
                releases,
                same_facts,
            };
            superblocks = self.superblock_phases(array, &written, &mut phases);
        }
        phases.retain(|phase| !phase.is_empty());
        let (generation, is_active) = (snapshot.generation, order.is_active);
        Ok(MetadataUpdate {
            phases,
            generation,
            facts,
            is_active,
            events,
            superblocks,
            bitmap,
            outdated,
            is_cut: false,
            releases,
        })
    }

    /// What is to be said of an array with parity in the end that lacks a member and was being
    /// resynced: that it is clean, for otherwise it could be started by force only, and not at all
    /// by md. What is missing has been made from that parity for as long as the array ran. A member
    /// that is being rebuilt gets everything anew.
    pub(super) fn facts_at_end(&self, mut facts: Facts) -> Facts {
        let has_parity =
            self.devices.first().is_some_and(|device| device.superblock.level.parity_count() > 0);
        if has_parity && facts.is_degraded() && facts.resync_from.take().is_some() {
            for state in &mut facts.members {
                if let RecordedState::Recovering(sector) = state {
                    *sector = 0;
                }
            }
        }
        facts
    }

    /// Adds the phases that write superblocks.
    fn superblock_phases(
        &self,
        array: &dyn ArrayView,
        rewrite: &Rewrite<'_>,
        phases: &mut VecDeque<Vec<(usize, Op)>>,
    ) -> Superblocks {
        let Rewrite { facts, devices, events, becomes_clean, releases, .. } = *rewrite;
        // One time for all, and never an earlier one, whatever becomes of the clock: members
        // that were not updated together are told from each other by it.
        let before = devices
            .iter()
            .map(|&device| self.devices[device].superblock.updated)
            .max()
            .unwrap_or_default();
        let updated = (self.time)().map_or(before, |now| now.max(before));
        let updated = self.stamp(updated, before, releases);
        // A member two events behind is taken for stale: so those that are behind go up by one at a
        // time, each step with the time that others may have it with already.
        let mut times = Vec::new();
        let is_dirty = rewrite.is_active || !self.is_said_clean;
        let resync_from = self.facts.as_ref().and_then(|said| said.resync_from);
        for step in self.events_least + 1..events + u64::from(becomes_clean) {
            let time = self.times.get(&step).copied().unwrap_or(updated);
            times.push((step, time));
            let written = devices.iter().map(|&device| {
                let last = &self.devices[device].superblock;
                let mut superblock = superblock_of(last, facts, is_dirty, step, time);
                if let Some(sector) = resync_from.filter(|_| !self.is_active) {
                    superblock.resync_offset_sectors = sector;
                }
                (device, self.superblock_write(device, &superblock))
            });
            phases.push_back(written.collect());
        }
        times.push((events, updated));
        // Spares are not written for an array that only gets dirty and clean.
        let spares = if rewrite.same_facts { Vec::new() } else { self.spares() };
        let superblock = |&device: &usize| {
            let last = &self.devices[device].superblock;
            let new = superblock_of(last, facts, rewrite.is_active, events, updated);
            (device, Superblock { corrected_reads: self.corrected_reads(array, device), ..new })
        };
        let last: Vec<_> = devices.iter().chain(&spares).map(superblock).collect();
        let written = last
            .iter()
            .map(|(device, superblock)| (*device, self.superblock_write(*device, superblock)));
        phases.push_back(written.collect());
        Superblocks { last, times }
    }

    /// The read errors of a member, those before this start included.
    fn corrected_reads(&self, array: &dyn ArrayView, device: usize) -> u32 {
        let role = self.roles.iter().position(|held| *held == Some(device));
        self.devices[device]
            .corrected_before
            .saturating_add(role.map_or(0, |role| array.corrected_reads(role)))
    }

    fn superblock_write(&self, device: usize, superblock: &Superblock) -> Op {
        let device = &self.devices[device];
        let mut bytes = superblock.encode();
        bytes.resize(bytes.len().next_multiple_of(device.whole.info().block_bytes as usize), 0);
        write(device.byte_at(0), &bytes)
    }

    fn log_phase(&self, devices: &[usize], empty: &[u8]) -> Vec<(usize, Op)> {
        let emptied = devices.iter().filter_map(|&device| {
            let area = self.devices[device].superblock.ppl_area()?;
            // All of it: what is left of an earlier life must not look like this one's next log.
            let mut bytes = vec![0; usize::from(area.size_sectors) * block::SECTOR_BYTES as usize];
            bytes[..empty.len()].copy_from_slice(empty);
            Some((device, write(self.devices[device].byte_at(area.offset_sectors.into()), &bytes)))
        });
        emptied.collect()
    }

    /// The bad-block logs that have changed, before any superblock calls their members whole.
    fn bad_block_phase(&self, facts: &Facts) -> Vec<(usize, Op)> {
        let told = |member: usize| self.facts.as_ref().and_then(|before| before.lost.get(member));
        let changed = (0..facts.lost.len())
            .filter(|&member| told(member).is_none_or(|told| *told != facts.lost[member]));
        let logs = changed.filter_map(|member| {
            let device =
                self.roles[member].filter(|_| facts.members[member] != RecordedState::Out)?;
            let superblock = &self.devices[device].superblock;
            // A log that was never written to and has nothing to say is left alone.
            if facts.lost[member].is_empty() && !superblock.features.contains(Features::BAD_BLOCKS)
            {
                return None;
            }
            let mut bytes = bad_block_log::encode(superblock, &facts.lost[member])
                .filter(|bytes| !bytes.is_empty())?;
            bytes.resize(
                bytes
                    .len()
                    .next_multiple_of(self.devices[device].whole.info().block_bytes as usize),
                0xff,
            );
            Some((
                device,
                write(self.devices[device].byte_at(superblock.bad_block_offset_sectors), &bytes),
            ))
        });
        logs.collect()
    }

    fn page_phase(&self, devices: &[usize], page: usize, bytes: &[u8]) -> Vec<(usize, Op)> {
        let at = |device: usize| {
            let device = &self.devices[device];
            device.byte_at(device.superblock.bitmap_offset_sectors) + page as u64 * PAGE_BYTES
        };
        devices.iter().map(|&device| (device, write(at(device), bytes))).collect()
    }

    /// An update has ended. The generation that is written down now.
    pub(super) fn take_over(
        &mut self,
        update: MetadataUpdate,
        outcome: UpdateOutcome,
    ) -> Option<u64> {
        if outcome == UpdateOutcome::Done
            && let Some(fence) = &mut self.fence
            && !update.superblocks.last.is_empty()
        {
            fence.hold.wrote(since_boot());
            fence.is_released = update.releases;
        }
        for (device, superblock) in update.superblocks.last {
            self.devices[device].superblock = superblock;
        }
        if outcome == UpdateOutcome::Done {
            update.outdated.iter().for_each(|&device| self.devices[device].is_fresh = true);
        }
        let is_clean = !update.is_active && update.facts.resync_from.is_none();
        self.is_said_clean = is_clean && (outcome == UpdateOutcome::Done || self.is_said_clean);
        self.events = update.events;
        self.times.extend(update.superblocks.times);
        self.events_least = match outcome {
            UpdateOutcome::Done | UpdateOutcome::Failed if !update.is_cut => update.events,
            _ => self.events_least.min(update.events),
        };
        self.times = self.times.split_off(&self.events_least);
        if outcome != UpdateOutcome::Done {
            // What the members say now is somewhere between the two. Dirty is always safe, and the
            // next piece that asks has it written.
            self.is_active = true;
            self.facts = None;
            return None;
        }
        if let (Some(write_intent), Some(bitmap)) = (&mut self.write_intent, update.bitmap) {
            write_intent.is_written(bitmap);
        }
        self.is_active = update.is_active;
        self.facts = Some(update.facts);
        Some(update.generation)
    }
}

fn flush(devices: &[usize]) -> Vec<(usize, Op)> {
    devices.iter().map(|&device| (device, Op::Flush)).collect()
}

fn write(offset: u64, bytes: &[u8]) -> Op {
    let mut buffer = BufMut::zeroed(bytes.len());
    buffer.copy_from_slice(bytes);
    Op::Write { offset, from: buffer.freeze(), fua: true }
}

fn encode(bitmap: &Bitmap, first: usize, count: usize) -> Vec<u8> {
    (first..first + count).flat_map(|page| bitmap.encode_page(page)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_pages_go_out_together() {
        assert_eq!(runs(&[]).count(), 0);
        assert_eq!(runs(&[0, 1, 2, 5, 7, 8]).collect::<Vec<_>>(), [(0, 3), (5, 1), (7, 2)]);
        let many: Vec<usize> = (3..40).collect();
        assert_eq!(runs(&many).collect::<Vec<_>>(), [(3, 16), (19, 16), (35, 5)]);
    }
}

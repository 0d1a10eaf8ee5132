//! What a scribe has to write, in which order.
//!
//! ```text
//!   flush ──> bitmap's head ──> bitmap's bits ──> superblocks           each phase durable on all members before the next
//!   (before anything better is promised than the superblocks do now)
//! ```
//!
//! The bitmap carries the superblocks' events or one more, never less: it is written first.

use std::collections::VecDeque;

use block::{BufMut, Error, ErrorKind, Op};

use super::facts::{Facts, Standing, events_after, superblock_of};
use super::intent::{Clear, PAGE_BYTES};
use super::{State, Truth, bad};
use crate::md::{Bitmap, Features, Superblock};

/// Phases of commands to desks, and what is so when they have ended.
pub(crate) struct Job {
    pub(super) phases: VecDeque<Vec<(usize, Op)>>,
    generation: u64,
    facts: Facts,
    is_active: bool,
    events: u64,
    superblocks: Vec<(usize, Superblock)>,
    /// With the bits that this sets.
    bitmap: Option<Bitmap>,
    /// Desks that got all there is.
    newcomers: Vec<usize>,
    /// Some of it was not written.
    is_cut: bool,
}

impl Job {
    /// Ends it before its next phase, because a desk did not take its part: the next job is made without that one.
    pub(super) fn cut(&mut self) {
        self.is_cut = self.is_cut || !self.phases.is_empty();
        self.phases.clear();
    }
}

/// How a job ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Some members did not take it; the others did.
    Failed,
    /// Nobody knows how far it got.
    Abandoned,
}

/// What is to be written.
struct Order {
    is_active: bool,
    clear: Option<Clear>,
}

impl State {
    /// A job that writes down what is true now, and the bits that somebody waits for.
    pub(super) fn compose(&mut self, truth: &dyn Truth, soils: bool) -> Result<Job, Error> {
        let is_active = soils || self.is_active;
        self.order(truth, &Order { is_active, clear: None })
    }

    /// A job that calls the array clean. Nobody writes, and nobody is let out until it has ended.
    pub(super) fn compose_clean(&mut self, truth: &dyn Truth, clear: Option<Clear>, flushes: bool) -> Result<Job, Error> {
        let mut job = self.order(truth, &Order { is_active: false, clear })?;
        if flushes && !matches!(job.phases.front().and_then(|phase| phase.first()), Some((_, Op::Flush))) {
            let desks = self.in_use(&job.facts);
            job.phases.push_front(flush(&desks));
        }
        self.is_active = false;
        Ok(job)
    }

    /// A job that clears bits nobody needs.
    pub(super) fn compose_clear(&mut self, truth: &dyn Truth, clear: Clear) -> Result<Job, Error> {
        let is_active = self.is_active;
        self.order(truth, &Order { is_active, clear: Some(clear) })
    }

    fn order(&mut self, truth: &dyn Truth, order: &Order) -> Result<Job, Error> {
        let snapshot = truth.snapshot();
        let missing = snapshot.absent().union(&snapshot.stale());
        // An array that has lost data takes no more writes: nothing that it says could be relied on.
        truth.holds_all(&missing).map_err(|lost| Error::new(ErrorKind::Gone, lost.to_string()))?;
        self.seat(&truth.devices());
        let facts = self.facts_of(&snapshot, truth);
        let desks = self.in_use(&facts);
        let same_facts = self.facts.as_ref() == Some(&facts);
        let rewrites = !same_facts || self.is_active != order.is_active;
        let events = if rewrites { events_after(self.events) } else { self.events };

        let mut phases = VecDeque::new();
        let mut bitmap = None;
        let mut pages = Vec::new();
        let clears = order.clear.filter(|_| !facts.is_degraded() && facts.resync_from.is_none());
        let promises = self.facts.as_ref().is_none_or(|before| facts.promises_more_than(before));
        if promises || clears.is_some() {
            phases.push_back(flush(&desks));
        }
        let newcomers: Vec<usize> = desks.iter().copied().filter(|&desk| !self.desks[desk].is_fresh).collect();
        for member in 0..facts.members.len() {
            if let (Standing::Out, Some(desk)) = (facts.members[member], self.roles[member]) {
                self.desks[desk].is_fresh = false;
            }
        }
        if let Some(empty) = &self.empty_log {
            phases.push_back(self.log_phase(&newcomers, empty));
        }
        phases.push_back(self.bad_block_phase(&facts));
        if let Some(intent) = &mut self.intent {
            let events_cleared = intent.bitmap().header().events_cleared.min(events);
            if let Some(clear) = clears {
                // The head has to say that bits were cleared before any is.
                intent.set_events(events, events);
                let head = intent.bitmap().encode_page(0);
                pages = intent.clear(clear);
                if !pages.is_empty() {
                    phases.push_back(self.page_phase(&desks, 0, &head));
                }
            } else {
                intent.set_events(events, events_cleared);
                let (new, set) = intent.with(&self.wanted);
                pages = set;
                bitmap = Some(new);
            }
        }
        self.wanted.clear();
        match &self.intent {
            Some(intent) if !newcomers.is_empty() => pages = (0..intent.bitmap().page_count()).collect(),
            Some(_) if rewrites && pages.first() != Some(&0) => pages.insert(0, 0),
            _ => (),
        }
        let bits: Vec<_> = match bitmap.as_ref().or(self.intent.as_ref().map(super::Intent::bitmap)) {
            Some(bitmap) => runs(&pages).map(|(first, count)| self.page_phase(&desks, first, &encode(bitmap, first, count))).collect(),
            None => Vec::new(),
        };

        let mut superblocks = Vec::new();
        let mut catching_up = Vec::new();
        if rewrites {
            // One time for all, and never an earlier one, whatever becomes of the clock: members that were not updated together
            // are told from each other by it.
            let before = desks.iter().map(|&desk| self.desks[desk].superblock.updated).max().unwrap_or_default();
            let updated = (self.time)().map_or(before, |now| now.max(before));
            // Spares sleep through arrays that only get dirty and clean.
            let spares = if same_facts { Vec::new() } else { self.spares() };
            superblocks.extend(desks.iter().chain(&spares).map(|&desk| {
                let last = &self.desks[desk].superblock;
                let new = superblock_of(last, &facts, order.is_active, events, updated);
                (desk, Superblock { corrected_reads: self.corrected_reads(truth, desk), ..new })
            }));
            // Whoever is two events behind is taken for stale: so those that are go up by one at a time.
            for events in self.events_least + 1..events {
                let step = |&desk: &usize| {
                    let last = &self.desks[desk].superblock;
                    (desk, self.superblock_write(desk, &superblock_of(last, &facts, order.is_active || self.is_active, events, updated)))
                };
                catching_up.push(desks.iter().map(step).collect::<Vec<_>>());
            }
        }
        let written = superblocks.iter().map(|(desk, superblock)| (*desk, self.superblock_write(*desk, superblock))).collect::<Vec<_>>();
        phases.extend(bits);
        phases.extend(catching_up);
        phases.push_back(written);
        phases.retain(|phase| !phase.is_empty());
        let (generation, is_active) = (snapshot.generation, order.is_active);
        Ok(Job { phases, generation, facts, is_active, events, superblocks, bitmap, newcomers, is_cut: false })
    }

    /// The read errors of a member, those before this start included.
    fn corrected_reads(&self, truth: &dyn Truth, desk: usize) -> u32 {
        let role = self.roles.iter().position(|held| *held == Some(desk));
        self.desks[desk].corrected_before.saturating_add(role.map_or(0, |role| truth.corrected_reads(role)))
    }

    fn superblock_write(&self, desk: usize, superblock: &Superblock) -> Op {
        let desk = &self.desks[desk];
        let mut bytes = superblock.encode();
        bytes.resize(bytes.len().next_multiple_of(desk.device.info().block_bytes as usize), 0);
        write(desk.place(0), &bytes)
    }

    fn log_phase(&self, desks: &[usize], empty: &[u8]) -> Vec<(usize, Op)> {
        let emptied = desks.iter().filter_map(|&desk| {
            let area = self.desks[desk].superblock.ppl_area()?;
            // All of it: what is left of an earlier life must not look like this one's next log.
            let mut bytes = vec![0; usize::from(area.size_sectors) * block::SECTOR_BYTES as usize];
            bytes[..empty.len()].copy_from_slice(empty);
            Some((desk, write(self.desks[desk].place(area.offset_sectors.into()), &bytes)))
        });
        emptied.collect()
    }

    /// The bad-block logs that have changed, before any superblock calls their members whole.
    fn bad_block_phase(&self, facts: &Facts) -> Vec<(usize, Op)> {
        let told = |member: usize| self.facts.as_ref().and_then(|before| before.lost.get(member));
        let changed = (0..facts.lost.len()).filter(|&member| told(member).is_none_or(|told| *told != facts.lost[member]));
        let logs = changed.filter_map(|member| {
            let desk = self.roles[member].filter(|_| facts.members[member] != Standing::Out)?;
            let superblock = &self.desks[desk].superblock;
            // A log that was never written to and has nothing to say is left alone.
            if facts.lost[member].is_empty() && !superblock.features.contains(Features::BAD_BLOCKS) {
                return None;
            }
            let mut bytes = bad::encode(superblock, &facts.lost[member]).filter(|bytes| !bytes.is_empty())?;
            bytes.resize(bytes.len().next_multiple_of(self.desks[desk].device.info().block_bytes as usize), 0xff);
            Some((desk, write(self.desks[desk].place(superblock.bad_block_offset_sectors), &bytes)))
        });
        logs.collect()
    }

    fn page_phase(&self, desks: &[usize], page: usize, bytes: &[u8]) -> Vec<(usize, Op)> {
        let at = |desk: usize| {
            let desk = &self.desks[desk];
            desk.place(desk.superblock.bitmap_offset_sectors) + page as u64 * PAGE_BYTES
        };
        desks.iter().map(|&desk| (desk, write(at(desk), bytes))).collect()
    }

    /// A job has ended. The generation that is written down now.
    pub(super) fn take_over(&mut self, job: Job, outcome: Outcome) -> Option<u64> {
        for (desk, superblock) in job.superblocks {
            self.desks[desk].superblock = superblock;
        }
        if outcome == Outcome::Done {
            job.newcomers.iter().for_each(|&desk| self.desks[desk].is_fresh = true);
        }
        self.events = job.events;
        self.events_least = match outcome {
            Outcome::Done | Outcome::Failed if !job.is_cut => job.events,
            _ => self.events_least.min(job.events),
        };
        if outcome != Outcome::Done {
            // What the members say now is somewhere between the two. Dirty is always true enough, and the next to ask has
            // it written.
            self.is_active = true;
            self.facts = None;
            return None;
        }
        if let (Some(intent), Some(bitmap)) = (&mut self.intent, job.bitmap) {
            intent.is_written(bitmap);
        }
        self.is_active = job.is_active;
        self.facts = Some(job.facts);
        Some(job.generation)
    }
}

fn flush(desks: &[usize]) -> Vec<(usize, Op)> {
    desks.iter().map(|&desk| (desk, Op::Flush)).collect()
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
        let count = rest.iter().zip(first..).take(RUN_PAGES).take_while(|(page, expected)| **page == *expected).count();
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

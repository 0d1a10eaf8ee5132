//! md's metadata of a running array: what superblocks and bitmap have to say, and when.
//!
//! ```text
//!   a write ──> may it go out? ──────────────────────────────> row is read, computed, written ──> may it be answered?
//!               dirty, bits set, failures written down                                            failures written down
//!                   | no                                                                              | no
//!                   └──> the channel becomes the scribe: job ──> pen ──> members <────────────────────┘
//!                        others wait, and are handed on like rows
//! ```
//!
//! The truth about members is `Health`'s; this writes it down. Four promises are kept:
//!
//! * before the first write after a rest, every member's superblock says durably that the array is dirty;
//! * before a write, the bits of its regions are set durably in every member's bitmap;
//! * before anything is answered that depended on doing without a member, the others' superblocks say so durably: otherwise
//!   a crash would mix it in again with old data;
//! * the array is called clean, bits are cleared and rebuilt members count only after the members were flushed.
//!
//! Whoever needs a record and finds nobody writing one becomes the scribe, with channels of its own onto the members: no
//! channel depends on anybody else being polled, but for one who is writing already. Going clean after a rest is nobody's
//! request; a [`Clerk`] does it, that somebody has to poll.

mod bad;
mod clerk;
mod facts;
mod intent;
mod job;
mod log;
mod pen;
mod running;
mod start;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use block::{Device, Error, ErrorKind};

use crate::health::Snapshot;
use crate::maintain::Ranges;
use crate::md::{Superblock, TimeStamp};
use crate::rows::Waiter;
use crate::{Lost, MemberSet};
pub use clerk::Clerk;
pub(crate) use clerk::Recorded;
use facts::{Facts, Standing};
use intent::Intent;
pub(crate) use job::Job;
use job::Outcome;
pub(crate) use log::{LogWriter, Logged};
pub(crate) use pen::{Ended, Pen};
pub use running::{Running, Status};
pub use start::{StartOptions, examine, start};

/// What a record has to know of its array.
pub(crate) trait Truth {
    /// Changes whenever plans have to be made differently.
    fn generation(&self) -> u64;
    /// Everybody's condition.
    fn snapshot(&self) -> Snapshot;
    /// What of a member's data is lost, in bytes.
    fn lost(&self, member: usize) -> Ranges;
    /// How many places of the member could not be read so far and were made from the others.
    fn corrected_reads(&self, member: usize) -> u32;
    /// Who sits in each place.
    fn devices(&self) -> Vec<Option<Arc<dyn Device>>>;
    /// Whether all data are there without these members.
    fn holds_all(&self, missing: &MemberSet) -> Result<(), Lost>;
    /// Drops a member. False when it has to stay.
    fn fail(&self, member: usize, error: &Error) -> bool;
}

/// A mistake on purpose, for the tests that have to find it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sabotage {
    /// Nothing is wrong.
    #[default]
    None,
    /// Writes go out while superblocks say that the array is clean.
    SkipsDirty,
    /// Bits are cleared while their writes are under way.
    ClearsBitsEarly,
    /// Bits are not set before a write.
    SkipsBits,
    /// What was done without a member is answered before the others know.
    AnswersEarly,
    /// Nothing is logged.
    SkipsLog,
    /// The array is called clean without a flush.
    SkipsFlush,
}

/// A device that carries a superblock of the array.
pub(crate) struct Desk {
    device: Arc<dyn Device>,
    name: String,
    /// What was written last.
    superblock: Superblock,
    /// What it said of read errors when it came.
    corrected_before: u32,
    /// Its bitmap and its log are up to date; those of who was away are not.
    is_fresh: bool,
    /// No more is written to it.
    is_out: bool,
}

impl Desk {
    /// Where a number of sectors from the superblock is, in bytes.
    fn place(&self, offset_sectors: i32) -> u64 {
        (self.superblock.super_offset_sectors as i64 + i64::from(offset_sectors)) as u64 * block::SECTOR_BYTES
    }
}

/// What all channels share of the metadata.
pub(crate) struct Record {
    state: Mutex<State>,
    /// One more than the generation that is written down; 0 when nobody knows what is.
    written: AtomicU64,
    pub(crate) log: Option<LogWriter>,
    /// Bits stand for bytes of the array, not of each member.
    pub(crate) by_array_bytes: bool,
    sabotage: Sabotage,
}

struct State {
    desks: Vec<Desk>,
    /// Whose desk is whose, by role.
    roles: Vec<Option<usize>>,
    /// The members' numbers by role; also of those who are not there.
    numbers: Vec<Option<u32>>,
    /// How often the superblocks have changed.
    events: u64,
    /// The fewest events that a member in use may have on disk.
    events_least: u64,
    /// The superblocks say that the array is being written to.
    is_active: bool,
    /// What they say of the members; `None` when nobody knows.
    facts: Option<Facts>,
    intent: Option<Intent>,
    /// What the log of a newcomer gets.
    empty_log: Option<Vec<u8>>,
    /// Ranges whose bits somebody waits for.
    wanted: Vec<Range<u64>>,
    /// Somebody is the scribe.
    is_writing: bool,
    /// Who waits for a record, and for which piece.
    parked: Vec<(Arc<Waiter>, u32)>,
    clerks: Vec<Weak<Waiter>>,
    /// Writes that were let out and have not ended, and how many there ever were.
    in_flight: u64,
    admitted: u64,
    is_stopped: bool,
    /// Why nothing can be written any more.
    broken: Option<String>,
    time: fn() -> Option<TimeStamp>,
}

/// Whether a piece may go on.
pub(crate) enum Admission {
    /// It may.
    Go,
    /// Not yet; it is handed to its waiter when it is worth asking again.
    Wait,
    /// The same, and the one who asked has to do this job.
    Write(Box<Job>),
    /// Never.
    Refused(Error),
}

impl Record {
    fn new(state: State, log: Option<LogWriter>, by_array_bytes: bool, sabotage: Sabotage, is_said: bool) -> Record {
        Record { state: Mutex::new(state), written: AtomicU64::new(u64::from(is_said)), log, by_array_bytes, sabotage }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_written(&self, generation: Option<u64>) {
        self.written.store(generation.map_or(0, |generation| generation + 1), Ordering::Release);
    }

    /// Whether what was done by a plan of this generation may be answered.
    pub(crate) fn knows(&self, generation: u64) -> bool {
        self.written.load(Ordering::Acquire) > generation || self.sabotage == Sabotage::AnswersEarly
    }

    /// Asks for a write to a range to go out. Who is let out has to [`leave`](Record::leave).
    pub(crate) fn admit(&self, truth: &dyn Truth, range: &Range<u64>, waiter: &Arc<Waiter>, piece: u32) -> Admission {
        let state = &mut *self.state();
        if let Some(error) = state.refusal() {
            return Admission::Refused(error);
        }
        let is_noted = self.sabotage == Sabotage::SkipsBits || state.intent.as_ref().is_none_or(|intent| intent.is_noted(range));
        let is_active = state.is_active || self.sabotage == Sabotage::SkipsDirty;
        if is_active && is_noted && self.knows(truth.generation()) {
            state.in_flight += 1;
            state.admitted += 1;
            if let Some(intent) = &mut state.intent {
                intent.enter(range);
            }
            return Admission::Go;
        }
        state.wanted.push(range.clone());
        state.park(truth, true, waiter, piece)
    }

    /// A write that was let out has ended.
    pub(crate) fn leave(&self, range: &Range<u64>) {
        let state = &mut *self.state();
        state.in_flight -= 1;
        if let Some(intent) = &mut state.intent {
            intent.leave(range);
        }
    }

    /// Asks for what was done without some members to be written down.
    pub(crate) fn confirm(&self, truth: &dyn Truth, generation: u64, waiter: &Arc<Waiter>, piece: u32) -> Admission {
        let state = &mut *self.state();
        if self.knows(generation) {
            return Admission::Go;
        }
        if let Some(error) = state.refusal() {
            return Admission::Refused(error);
        }
        state.park(truth, false, waiter, piece)
    }

    /// Takes a channel that goes away out of those who wait.
    pub(crate) fn forget(&self, waiter: &Arc<Waiter>) {
        self.state().parked.retain(|(parked, _)| !Arc::ptr_eq(parked, waiter));
    }

    /// The scribe has done its job, but for these desks. True when others were woken.
    pub(crate) fn end(&self, truth: &dyn Truth, job: Job, failures: Vec<(usize, Error)>) -> bool {
        let state = &mut *self.state();
        let failed = !failures.is_empty();
        for (desk, error) in failures {
            let error = error.at("writing md's metadata");
            let name = state.desks[desk].name.clone();
            match state.roles.iter().position(|held| *held == Some(desk)) {
                Some(role) if !truth.fail(role, &error) => state.broken = Some(format!("{name}: {error}")),
                _ => state.desks[desk].is_out = true,
            }
        }
        let generation = state.take_over(job, if failed { Outcome::Failed } else { Outcome::Done });
        self.note_written(generation);
        state.is_writing = false;
        state.wake()
    }

    /// The scribe goes away with its job half done: nobody knows what the members say. True when others were woken.
    pub(crate) fn abandon(&self, job: Job) -> bool {
        let state = &mut *self.state();
        let _ = state.take_over(job, Outcome::Abandoned);
        self.note_written(None);
        state.is_writing = false;
        state.wake()
    }

    /// The desk of the member in a place, for its log.
    pub(crate) fn desk_of(&self, member: usize) -> Option<usize> {
        self.state().roles.get(member).copied().flatten()
    }

    /// Where a member's log lies, in bytes.
    pub(crate) fn log_place(&self, desk: usize) -> u64 {
        let desk = &self.state().desks[desk];
        desk.superblock.ppl_area().map_or(0, |area| desk.place(area.offset_sectors.into()))
    }

    fn device(&self, desk: usize) -> Arc<dyn Device> {
        Arc::clone(&self.state().desks[desk].device)
    }

    /// The events up to which bits of the bitmap may have been cleared.
    pub(crate) fn events_cleared(&self) -> Option<u64> {
        self.state().intent.as_ref().map(|intent| intent.bitmap().header().events_cleared)
    }

    /// How often the superblocks have changed.
    pub(crate) fn events(&self) -> u64 {
        self.state().events
    }

    /// What the bitmap says of a member that was away: all that may have been written meanwhile. In bytes, as resyncs count.
    pub(crate) fn dirty_ranges(&self) -> Option<Vec<Range<u64>>> {
        self.state().intent.as_ref().map(|intent| intent.dirty_ranges().collect())
    }
}

impl State {
    fn refusal(&self) -> Option<Error> {
        match &self.broken {
            Some(reason) => Some(Error::new(ErrorKind::Media, reason.clone())),
            None if self.is_stopped => Some(Error::new(ErrorKind::ReadOnly, "the array has been stopped")),
            None => None,
        }
    }

    /// What there is to say now.
    fn facts_now(&mut self, truth: &dyn Truth) -> Facts {
        self.seat(&truth.devices());
        self.facts_of(&truth.snapshot(), truth)
    }

    /// The facts of a snapshot. What is lost is asked for after it was taken: what a rebuild has passed is among that.
    fn facts_of(&self, snapshot: &Snapshot, truth: &dyn Truth) -> Facts {
        let lost = (0..snapshot.members.len()).map(|member| truth.lost(member)).collect();
        let takes = |member: usize, lost: &Ranges| {
            let desk = self.roles.get(member).copied().flatten().map(|desk| &self.desks[desk]);
            desk.is_some_and(|desk| bad::encode(&desk.superblock, lost).is_some())
        };
        Facts::of(snapshot, &self.numbers, lost, takes)
    }

    /// Has somebody wait, with a job to do meanwhile if nobody else is at one.
    fn park(&mut self, truth: &dyn Truth, soils: bool, waiter: &Arc<Waiter>, piece: u32) -> Admission {
        let job = match self.is_writing {
            true => None,
            false => match self.compose(truth, soils) {
                Ok(job) => Some(Box::new(job)),
                Err(error) => {
                    self.wanted.clear();
                    return Admission::Refused(error);
                }
            },
        };
        self.parked.push((Arc::clone(waiter), piece));
        match job {
            Some(job) => {
                self.is_writing = true;
                Admission::Write(job)
            }
            None => Admission::Wait,
        }
    }

    /// Everybody asks again. True when that is somebody on another channel.
    fn wake(&mut self) -> bool {
        let mut others = false;
        for (waiter, piece) in self.parked.drain(..) {
            waiter.hand(piece);
            others = true;
        }
        self.clerks.retain(|clerk| clerk.strong_count() > 0);
        for clerk in self.clerks.iter().filter_map(Weak::upgrade) {
            clerk.hand(0);
            others = true;
        }
        others
    }

    /// Follows who has come and gone. A device that is not known leaves the place to whose desk it was.
    fn seat(&mut self, devices: &[Option<Arc<dyn Device>>]) {
        for (role, device) in devices.iter().enumerate() {
            let Some(device) = device else { continue };
            if let Some(desk) = self.desks.iter().position(|desk| same(&desk.device, device) && !desk.is_out) {
                self.roles[role] = Some(desk);
                self.numbers[role] = Some(self.desks[desk].superblock.member_number);
            }
        }
    }

    /// The desks whose member counts.
    fn in_use(&self, facts: &Facts) -> Vec<usize> {
        let used = facts.members.iter().zip(&self.roles).filter(|(standing, _)| **standing != Standing::Out);
        used.filter_map(|(_, desk)| *desk).filter(|&desk| !self.desks[desk].is_out).collect()
    }

    /// The desks of nobody in a place: spares.
    fn spares(&self) -> Vec<usize> {
        (0..self.desks.len()).filter(|desk| !self.desks[*desk].is_out && !self.roles.contains(&Some(*desk))).collect()
    }
}

fn same(one: &Arc<dyn Device>, other: &Arc<dyn Device>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

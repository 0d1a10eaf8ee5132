//! md's metadata of a running array: what superblocks and bitmap have to say, and when.
//!
//! ```text
//!   a write ──> may it go out? ──────────────────────────────> row is read, computed, written ──> may it be answered?
//!               dirty, bits set, failures written down                                            failures written down
//!                   | no                                                                              | no
//!                   └──> the channel writes an update: MetadataUpdate ──> MetadataChannels ──> members <┘
//!                        other pieces wait until it has ended, and ask again
//! ```
//!
//! `Health` has the members' states; this module writes them down. Four promises are kept:
//!
//! * before the first write after a rest, every member's superblock says durably that the array is
//!   dirty;
//! * before a write, the bits of its regions are set durably in every member's bitmap;
//! * before anything is answered that depended on doing without a member, the others' superblocks
//!   say so durably: otherwise a crash would mix it in again with old data;
//! * the array is called clean, bits are cleared and rebuilt members count only after the members
//!   were flushed.
//!
//! A channel whose piece needs an update writes it itself, with channels of its own onto the
//! members, unless an update is under way: so no channel depends on another one being polled,
//! except on the one that is writing. Updates that no request asks for, such as going clean after a
//! rest, are written by a [`MetadataWriter`], which its owner polls.

mod bad_block_log;
mod channels;
mod claim;
mod facts;
mod log;
mod looks;
mod running;
mod start;
mod update;
mod write_intent;
mod writer;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use block::{Device, Error, ErrorKind};

pub use crate::fence::Freedom;
use crate::health::Snapshot;
use crate::md::{Superblock, TimeStamp};
use crate::rows::Waiter;
use crate::sync::Ranges;
use crate::{Lost, MemberSet};
pub(crate) use channels::{Ended, MetadataChannels};
pub use claim::{is_shared, takeover_time, watch};
use facts::{Facts, RecordedState};
pub(crate) use log::{LogWriter, Logged};
use looks::Fence;
pub use running::{Running, Status};
pub use start::{StartOptions, check, damage, examine, start};
pub(crate) use update::MetadataUpdate;
use update::UpdateOutcome;
use write_intent::WriteIntentBitmap;
pub(crate) use writer::HasMetadata;
pub use writer::MetadataWriter;

/// What the metadata have to know of their array.
pub(crate) trait ArrayView {
    /// Changes whenever plans have to be made differently.
    fn generation(&self) -> u64;
    /// The members' states.
    fn snapshot(&self) -> Snapshot;
    /// What of a member's data is lost, in bytes.
    fn lost(&self, member: usize) -> Ranges;
    /// How many ranges of the member could not be read so far and were made from the others.
    fn corrected_reads(&self, member: usize) -> u32;
    /// The device in each slot.
    fn devices(&self) -> Vec<Option<Arc<dyn Device>>>;
    /// Whether all data are there without these members.
    fn holds_all(&self, missing: &MemberSet) -> Result<(), Lost>;
    /// Makes a member faulty. False when it has to stay.
    fn fail(&self, member: usize, error: &Error) -> bool;
}

/// A mistake in what is written down, planted by a test that has to find it.
#[cfg(feature = "planted-mistakes")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlantedMistake {
    /// Nothing is wrong.
    #[default]
    None,
    /// Writes go out while superblocks say that the array is clean.
    SkipsDirty,
    /// Bits are cleared while their writes are under way.
    ClearsBitsEarly,
    /// Bits are not set before a write.
    SkipsBits,
    /// What was done without a member is answered before the others' superblocks say so.
    AnswersEarly,
    /// Nothing is logged.
    SkipsLog,
    /// The array is called clean without a flush.
    SkipsFlush,
    /// The array is called clean by the same write that gives its members the event.
    CleansAtOnce,
    /// Superblocks stay as they are for as long as the array is written to.
    NeverAges,
}

/// Whether a test has planted this mistake; false wherever such mistakes are not compiled in.
macro_rules! planted {
    ($holder:expr, $mistake:ident) => {{
        #[cfg(feature = "planted-mistakes")]
        let planted = $holder.planted == $crate::metadata::PlantedMistake::$mistake;
        #[cfg(not(feature = "planted-mistakes"))]
        let planted = false;
        planted
    }};
}
use planted;

/// A device that carries a superblock of the array.
pub(crate) struct MetadataDevice {
    whole: Arc<dyn Device>,
    name: String,
    /// What was written last.
    superblock: Superblock,
    /// What it said of read errors when it came.
    corrected_before: u32,
    /// Its bitmap and its log are up to date; those of a device that was just added are not.
    is_fresh: bool,
    /// No more is written to it.
    is_out: bool,
}

impl MetadataDevice {
    /// The byte at a number of sectors from the superblock.
    fn byte_at(&self, offset_sectors: i32) -> u64 {
        (self.superblock.super_offset_sectors as i64 + i64::from(offset_sectors)) as u64
            * block::SECTOR_BYTES
    }
}

/// What all channels share of the metadata.
pub(crate) struct Metadata {
    state: Mutex<State>,
    /// One more than the generation that is written down; 0 when that is unknown.
    written: AtomicU64,
    pub(crate) log: Option<LogWriter>,
    /// Bits stand for bytes of the array, not of each member.
    pub(crate) by_array_bytes: bool,
    #[cfg(feature = "planted-mistakes")]
    planted: PlantedMistake,
}

struct State {
    devices: Vec<MetadataDevice>,
    /// The device of each role.
    roles: Vec<Option<usize>>,
    /// The members' numbers by role; also of absent ones.
    numbers: Vec<Option<u32>>,
    /// How often the superblocks have changed.
    events: u64,
    /// The fewest events that a member in use may have on disk.
    events_least: u64,
    /// The time with which each count of events was written that a member may have on disk.
    times: BTreeMap<u64, TimeStamp>,
    /// The superblocks say that the array is being written to.
    is_active: bool,
    /// All members' superblocks say that it is clean, whatever else they say.
    is_said_clean: bool,
    /// What they say of the members; `None` when that is unknown.
    facts: Option<Facts>,
    write_intent: Option<WriteIntentBitmap>,
    /// What is written to the log of a device that was just added.
    empty_log: Option<Vec<u8>>,
    /// Ranges whose bits a piece waits for.
    wanted: Vec<Range<u64>>,
    /// An update is being written.
    is_writing: bool,
    /// The pieces that wait for an update, with their channels' waiters.
    parked: Vec<(Arc<Waiter>, u32)>,
    writers: Vec<Weak<Waiter>>,
    /// Writes that were let out and have not ended, and how many there ever were.
    in_flight: u64,
    admitted: u64,
    is_stopped: bool,
    /// Why nothing can be written any more.
    broken: Option<String>,
    /// Updates that were begun.
    updates: u64,
    /// What keeps servers of other hosts away, where they reach a member.
    fence: Option<Fence>,
    /// What this server writes as the microseconds of an update once there is a fence.
    server: u32,
    time: fn() -> Option<TimeStamp>,
    #[cfg(feature = "planted-mistakes")]
    planted: PlantedMistake,
}

/// Whether a piece may go on.
pub(crate) enum Admission {
    /// It may.
    Go,
    /// Not yet; its waiter is woken when it is worth asking again.
    Wait,
    /// The same, and the channel that asked has to write this update.
    Write(Box<MetadataUpdate>),
    /// Never.
    Refused(Error),
}

impl Metadata {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_written(&self, generation: Option<u64>) {
        self.written.store(generation.map_or(0, |generation| generation + 1), Ordering::Release);
    }

    /// Whether what was done by a plan of this generation may be answered.
    pub(crate) fn knows(&self, generation: u64) -> bool {
        self.written.load(Ordering::Acquire) > generation || planted!(self, AnswersEarly)
    }

    /// Asks for a write to a range to go out. A write that is let out has to
    /// [`leave`](Metadata::leave).
    pub(crate) fn admit(
        &self,
        array: &dyn ArrayView,
        range: &Range<u64>,
        waiter: &Arc<Waiter>,
        piece: u32,
    ) -> Admission {
        let state = &mut *self.state();
        if let Some(error) = state.refusal() {
            return Admission::Refused(error);
        }
        let is_noted = planted!(self, SkipsBits)
            || state.write_intent.as_ref().is_none_or(|write_intent| write_intent.is_noted(range));
        let is_active = state.is_active || planted!(self, SkipsDirty);
        if is_active && is_noted && self.knows(array.generation()) {
            state.in_flight += 1;
            state.admitted += 1;
            if let Some(write_intent) = &mut state.write_intent {
                write_intent.enter(range);
            }
            return Admission::Go;
        }
        state.wanted.push(range.clone());
        state.park(array, true, waiter, piece)
    }

    /// A write that was let out has ended.
    pub(crate) fn leave(&self, range: &Range<u64>) {
        let state = &mut *self.state();
        state.in_flight -= 1;
        if let Some(write_intent) = &mut state.write_intent {
            write_intent.leave(range);
        }
    }

    /// Asks for what was done without some members to be written down.
    pub(crate) fn confirm(
        &self,
        array: &dyn ArrayView,
        generation: u64,
        waiter: &Arc<Waiter>,
        piece: u32,
    ) -> Admission {
        let state = &mut *self.state();
        if self.knows(generation) {
            return Admission::Go;
        }
        if let Some(error) = state.refusal() {
            return Admission::Refused(error);
        }
        state.park(array, false, waiter, piece)
    }

    /// Takes a channel that is dropped out of the queue.
    pub(crate) fn forget(&self, waiter: &Arc<Waiter>) {
        self.state().parked.retain(|(parked, _)| !Arc::ptr_eq(parked, waiter));
    }

    /// An update has ended, and failed on these devices. True when other channels were woken.
    pub(crate) fn end(
        &self,
        array: &dyn ArrayView,
        update: MetadataUpdate,
        failures: Vec<(usize, Error)>,
    ) -> bool {
        let state = &mut *self.state();
        let failed = !failures.is_empty();
        for (device, error) in failures {
            state.drop_device(array, device, &error.at("writing md's metadata"));
        }
        let generation = state
            .take_over(update, if failed { UpdateOutcome::Failed } else { UpdateOutcome::Done });
        self.note_written(generation);
        state.is_writing = false;
        state.wake()
    }

    /// An update is given up half done: what the members say is unknown. True when other channels
    /// were woken.
    pub(crate) fn abandon(&self, update: MetadataUpdate) -> bool {
        let state = &mut *self.state();
        let _ = state.take_over(update, UpdateOutcome::Abandoned);
        self.note_written(None);
        state.is_writing = false;
        state.wake()
    }

    /// The device in a slot, for its log.
    pub(crate) fn device_of(&self, member: usize) -> Option<usize> {
        self.state().roles.get(member).copied().flatten()
    }

    /// Where a member's log lies, in bytes.
    pub(crate) fn log_offset(&self, device: usize) -> u64 {
        let device = &self.state().devices[device];
        device.superblock.ppl_area().map_or(0, |area| device.byte_at(area.offset_sectors.into()))
    }

    fn device(&self, device: usize) -> Arc<dyn Device> {
        Arc::clone(&self.state().devices[device].whole)
    }

    /// The events up to which bits of the bitmap may have been cleared.
    pub(crate) fn events_cleared(&self) -> Option<u64> {
        self.state()
            .write_intent
            .as_ref()
            .map(|write_intent| write_intent.bitmap().header().events_cleared)
    }

    /// How often the superblocks have changed.
    pub(crate) fn events(&self) -> u64 {
        self.state().events
    }

    /// What the bitmap says of a member that was away: all that may have been written meanwhile. In
    /// bytes, as resyncs count.
    pub(crate) fn dirty_ranges(&self) -> Option<Vec<Range<u64>>> {
        self.state().write_intent.as_ref().map(|write_intent| write_intent.dirty_ranges().collect())
    }
}

impl State {
    fn refusal(&self) -> Option<Error> {
        match &self.broken {
            Some(reason) => Some(Error::new(ErrorKind::Media, reason.clone())),
            None if self.is_stopped => {
                Some(Error::new(ErrorKind::ReadOnly, "the array has been stopped"))
            }
            None => None,
        }
    }

    /// Goes on without a device, where that can be.
    fn drop_device(&mut self, array: &dyn ArrayView, device: usize, error: &Error) {
        match self.roles.iter().position(|held| *held == Some(device)) {
            Some(role) if !array.fail(role, error) => {
                let name = &self.devices[device].name;
                self.broken = Some(format!("{name}: {error}"));
            }
            _ => self.devices[device].is_out = true,
        }
    }

    /// What there is to say now.
    fn facts_now(&mut self, array: &dyn ArrayView) -> Facts {
        self.assign_roles(&array.devices());
        self.facts_of(&array.snapshot(), array)
    }

    /// The facts of a snapshot. What is lost is asked for after it was taken: what a rebuild has
    /// passed is among that.
    fn facts_of(&self, snapshot: &Snapshot, array: &dyn ArrayView) -> Facts {
        let lost = (0..snapshot.members.len()).map(|member| array.lost(member)).collect();
        let takes = |member: usize, lost: &Ranges| {
            let device =
                self.roles.get(member).copied().flatten().map(|device| &self.devices[device]);
            device.is_some_and(|device| bad_block_log::encode(&device.superblock, lost).is_some())
        };
        Facts::of(snapshot, &self.numbers, lost, takes)
    }

    /// Has a piece wait, with an update to write meanwhile if none is under way.
    fn park(
        &mut self,
        array: &dyn ArrayView,
        makes_active: bool,
        waiter: &Arc<Waiter>,
        piece: u32,
    ) -> Admission {
        let update = match self.is_writing {
            true => None,
            false => match self.compose(array, makes_active) {
                Ok(update) => Some(Box::new(update)),
                Err(error) => {
                    self.wanted.clear();
                    return Admission::Refused(error);
                }
            },
        };
        self.parked.push((Arc::clone(waiter), piece));
        match update {
            Some(update) => {
                (self.is_writing, self.updates) = (true, self.updates + 1);
                Admission::Write(update)
            }
            None => Admission::Wait,
        }
    }

    /// Has all waiting pieces ask again. True when there were some.
    fn wake(&mut self) -> bool {
        let mut others = false;
        for (waiter, piece) in self.parked.drain(..) {
            waiter.wake(piece);
            others = true;
        }
        self.writers.retain(|metadata_writer| metadata_writer.strong_count() > 0);
        for metadata_writer in self.writers.iter().filter_map(Weak::upgrade) {
            metadata_writer.wake(0);
            others = true;
        }
        others
    }

    /// Follows members that were added and removed. A slot whose device is not known keeps its
    /// role's last device.
    fn assign_roles(&mut self, devices: &[Option<Arc<dyn Device>>]) {
        for (role, served) in devices.iter().enumerate() {
            let Some(served) = served else { continue };
            if let Some(device) =
                self.devices.iter().position(|device| same(&device.whole, served) && !device.is_out)
            {
                self.roles[role] = Some(device);
                self.numbers[role] = Some(self.devices[device].superblock.member_number);
            }
        }
    }

    /// The devices whose member is in service.
    fn in_use(&self, facts: &Facts) -> Vec<usize> {
        let used = facts
            .members
            .iter()
            .zip(&self.roles)
            .filter(|(state, _)| **state != RecordedState::Out);
        used.filter_map(|(_, device)| *device)
            .filter(|&device| !self.devices[device].is_out)
            .collect()
    }

    /// The devices without a slot: spares.
    fn spares(&self) -> Vec<usize> {
        (0..self.devices.len())
            .filter(|device| !self.devices[*device].is_out && !self.roles.contains(&Some(*device)))
            .collect()
    }
}

fn same(one: &Arc<dyn Device>, other: &Arc<dyn Device>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

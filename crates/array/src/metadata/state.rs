//! What all channels of an array share of its metadata: what is recorded, which update is under
//! way, and which pieces wait for it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use block::{Device, Error, ErrorKind};

use reactor::since_boot;
use words::{Text, statement};

use super::array_state::ArrayState;
use super::log::LogWriter;
#[cfg(feature = "planted-mistakes")]
use super::planted::PlantedMistake;
use super::planted::planted;
use super::update::{MetadataDevice, MetadataUpdate};
use crate::catalogue;
use crate::fence::Fence;
use crate::md::TimeStamp;
use crate::record::{
    Clear, Draft, DraftInput, Facts, FenceTerms, Record, Request, TooFewMembers, UpdateOutcome,
    draft,
};
use crate::rows::Waiter;

/// A device that failed while its metadata were read or written.
pub(crate) struct FailedDevice {
    pub(crate) device: usize,
    pub(crate) error: Error,
    /// The array does not go on without its member.
    pub(crate) is_needed: bool,
}

/// Has the array's state taken where one is needed: most writes need none.
pub(crate) type TakeState<'a> = &'a dyn Fn() -> ArrayState;

/// What all channels share of the metadata.
pub(crate) struct Metadata {
    pub(super) state: Mutex<MetadataState>,
    /// One more than the generation that is written down; 0 when that is unknown.
    pub(super) written: AtomicU64,
    /// How often the state may have changed, writes that are let out or end aside.
    pub(super) changes: AtomicU64,
    pub(crate) log: Option<LogWriter>,
    /// Bits stand for bytes of the array, not of each member.
    pub(crate) by_array_bytes: bool,
    #[cfg(feature = "planted-mistakes")]
    pub(super) planted: PlantedMistake,
}

pub(super) struct MetadataState {
    pub(super) record: Record,
    /// The devices of the record, in the same order.
    pub(super) devices: Vec<MetadataDevice>,
    /// An update is being written.
    pub(super) is_writing: bool,
    /// The pieces that wait for an update, with their channels' waiters.
    pub(super) parked: Vec<(Arc<Waiter>, u32)>,
    pub(super) writers: Vec<Weak<Waiter>>,
    /// Writes that were let out and have not ended, and how many there ever were.
    pub(super) in_flight: u64,
    pub(super) admitted: u64,
    pub(super) is_stopped: bool,
    /// Why nothing can be written any more.
    pub(super) broken: Option<Text>,
    /// Updates that were begun.
    pub(super) updates: u64,
    /// What keeps servers of other hosts away, where they reach a member.
    pub(super) fence: Option<Fence>,
    /// What this server writes as the microseconds of an update once there is a fence.
    pub(super) server: u32,
    pub(super) time: fn() -> Option<TimeStamp>,
    #[cfg(feature = "planted-mistakes")]
    pub(super) planted: PlantedMistake,
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
    pub(super) fn state(&self) -> MutexGuard<'_, MetadataState> {
        let state = self.state_of_request();
        self.changes.fetch_add(1, Ordering::Relaxed);
        state
    }

    /// The state, to look at it or to count a write: the writer has nothing to do on that account.
    fn state_of_request(&self) -> MutexGuard<'_, MetadataState> {
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
        generation: u64,
        array: TakeState<'_>,
        range: &Range<u64>,
        waiter: &Arc<Waiter>,
        piece: u32,
    ) -> Admission {
        let state = &mut *self.state_of_request();
        if let Some(error) = state.refusal() {
            return Admission::Refused(error);
        }
        let is_noted = planted!(self, SkipsBits)
            || state
                .record
                .write_intent
                .as_ref()
                .is_none_or(|write_intent| write_intent.is_noted(range));
        let is_active = state.record.is_active || planted!(self, SkipsDirty);
        if is_active && is_noted && self.knows(generation) {
            state.in_flight += 1;
            state.admitted += 1;
            if let Some(write_intent) = &mut state.record.write_intent {
                write_intent.enter(range);
            }
            return Admission::Go;
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
        state.record.wanted.push(range.clone());
        state.park(array, true, waiter, piece)
    }

    /// A write that was let out has ended.
    pub(crate) fn leave(&self, range: &Range<u64>) {
        let state = &mut *self.state_of_request();
        state.in_flight -= 1;
        if let Some(write_intent) = &mut state.record.write_intent {
            write_intent.leave(range);
        }
    }

    /// Asks for what was done without some members to be written down.
    pub(crate) fn confirm(
        &self,
        generation: u64,
        array: TakeState<'_>,
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
    pub(crate) fn end(&self, update: MetadataUpdate, failed: Vec<FailedDevice>) -> bool {
        let state = &mut *self.state();
        let outcome = update.outcome(!failed.is_empty());
        state.drop_devices(failed);
        self.note_written(state.take_over(update, outcome));
        state.wake()
    }

    /// An update is given up half done: what the members say is unknown. True when other channels
    /// were woken.
    pub(crate) fn abandon(&self, update: MetadataUpdate) -> bool {
        let state = &mut *self.state();
        let outcome = update.abandoned();
        self.note_written(state.take_over(update, outcome));
        state.wake()
    }

    /// Goes on without these devices, where that can be.
    pub(super) fn drop_devices(&self, failed: Vec<FailedDevice>) {
        self.state().drop_devices(failed);
    }

    /// The slot of a device, if it has one or had it last.
    pub(crate) fn role_of(&self, device: usize) -> Option<usize> {
        self.state_of_request().record.role_of(device)
    }

    /// The device in a slot, for its log.
    pub(crate) fn device_of(&self, member: usize) -> Option<usize> {
        self.state_of_request().record.roles.get(member).copied().flatten()
    }

    /// Where a member's log lies, in bytes.
    pub(crate) fn log_offset(&self, device: usize) -> u64 {
        let device = &self.state_of_request().record.devices[device];
        device.superblock.ppl_area().map_or(0, |area| device.byte_at(area.offset_sectors.into()))
    }

    pub(super) fn device(&self, device: usize) -> Arc<dyn Device> {
        Arc::clone(&self.state().devices[device].whole)
    }

    /// The events up to which bits of the bitmap may have been cleared.
    pub(crate) fn events_cleared(&self) -> Option<u64> {
        self.state()
            .record
            .write_intent
            .as_ref()
            .map(|write_intent| write_intent.bitmap().header().events_cleared)
    }

    /// How often the superblocks have changed.
    pub(crate) fn events(&self) -> u64 {
        self.state().record.events
    }

    /// What the bitmap says of a member that was away: all that may have been written meanwhile. In
    /// bytes, as resyncs count.
    pub(crate) fn dirty_ranges(&self) -> Option<Vec<Range<u64>>> {
        self.state()
            .record
            .write_intent
            .as_ref()
            .map(|write_intent| write_intent.dirty_ranges().collect())
    }
}

impl MetadataState {
    fn refusal(&self) -> Option<Error> {
        match &self.broken {
            Some(reason) => Some(Error::new(ErrorKind::Media, reason.clone())),
            None if self.is_stopped => {
                Some(Error::new(ErrorKind::ReadOnly, catalogue::ARRAY_STOPPED))
            }
            None => None,
        }
    }

    /// Goes on without these devices, where that can be.
    fn drop_devices(&mut self, failed: Vec<FailedDevice>) {
        for FailedDevice { device, error, is_needed } in failed {
            if is_needed {
                let name = &self.devices[device].name;
                self.broken = Some(error.text().at(name));
            } else {
                self.record.devices[device].is_out = true;
            }
        }
    }

    /// What there is to say now.
    pub(super) fn facts_now(&mut self, array: &ArrayState) -> Facts {
        self.assign_roles(&array.devices);
        self.record.facts_of(&array.snapshot, array.lost.clone())
    }

    /// An update that writes down the present state, and the bits that pieces wait for.
    pub(super) fn compose(
        &mut self,
        array: &ArrayState,
        makes_active: bool,
    ) -> Result<MetadataUpdate, Error> {
        self.order(array, &Request::of(makes_active || self.record.is_active))
    }

    /// An update that calls the array clean. No write is under way, and none is let out until it
    /// has ended.
    pub(super) fn compose_clean(
        &mut self,
        array: &ArrayState,
        clear: Option<Clear>,
        flushes: bool,
        ends: bool,
    ) -> Result<MetadataUpdate, Error> {
        self.order(array, &Request { clear, flushes, ends, ..Request::of(false) })
    }

    /// An update that clears bits that are not needed.
    pub(super) fn compose_clear(
        &mut self,
        array: &ArrayState,
        clear: Clear,
    ) -> Result<MetadataUpdate, Error> {
        let present = Request::of(self.record.is_active);
        self.order(array, &Request { clear: Some(clear), ..present })
    }

    /// An update that only shows that the array is in use: to other servers, and to a start that
    /// finds a copy of a member that was made before.
    pub(super) fn compose_keep_alive(
        &mut self,
        array: &ArrayState,
    ) -> Result<MetadataUpdate, Error> {
        let present = Request::of(self.record.is_active);
        self.order(array, &Request { keeps_alive: true, ..present })
    }

    /// Drafts an update, and begins it: the one place where either is done.
    fn order(&mut self, array: &ArrayState, request: &Request) -> Result<MetadataUpdate, Error> {
        // An array that has lost data takes no more writes: nothing that it says could be relied
        // on.
        array.holds_all.map_err(|lost| Error::new(ErrorKind::Gone, lost))?;
        let terms =
            |fence: &Fence| FenceTerms { is_forced: fence.is_forced, server: fence.hold.server() };
        let input = DraftInput {
            facts: self.facts_now(array),
            read_errors: array.snapshot.read_errors.clone(),
            fence: self.fence.as_ref().map(terms),
            now: (self.time)(),
        };
        let cleans_in_two = !planted!(self, CleansAtOnce);
        let request = Request { cleans_in_two, ..*request };
        let draft = draft(&self.record, &input, &request).map_err(|few| self.break_off(few))?;
        Ok(self.begin(draft, array.snapshot.generation))
    }

    /// Nothing is written any more by this server.
    fn break_off(&mut self, TooFewMembers { left, of }: TooFewMembers) -> Error {
        let text = statement!(catalogue::ONLY_SO_MANY_LEFT, left = left, of = of);
        self.broken.get_or_insert(text.clone());
        Error::new(ErrorKind::Gone, text)
    }

    /// Begins an update; one at a time.
    fn begin(&mut self, draft: Draft, generation: u64) -> MetadataUpdate {
        self.record.begin(&draft);
        if let Some(fence) = &mut self.fence {
            fence.is_releasing = draft.releases;
        }
        (self.is_writing, self.updates) = (true, self.updates + 1);
        MetadataUpdate::of(draft, generation, &self.record, &self.devices)
    }

    /// An update has ended. The generation that is written down now.
    pub(super) fn take_over(
        &mut self,
        update: MetadataUpdate,
        outcome: UpdateOutcome,
    ) -> Option<u64> {
        let MetadataUpdate { draft, generation, .. } = update;
        if outcome == UpdateOutcome::Done
            && let Some(fence) = &mut self.fence
            && draft.has_superblocks()
        {
            fence.hold.wrote(since_boot());
            fence.is_released = draft.releases;
        }
        self.record.end(draft, outcome);
        self.is_writing = false;
        (outcome == UpdateOutcome::Done).then_some(generation)
    }

    /// Has a piece wait, with an update to write meanwhile if none is under way.
    fn park(
        &mut self,
        array: TakeState<'_>,
        makes_active: bool,
        waiter: &Arc<Waiter>,
        piece: u32,
    ) -> Admission {
        let update = match self.is_writing {
            true => None,
            false => match self.compose(&array(), makes_active) {
                Ok(update) => Some(Box::new(update)),
                Err(error) => {
                    self.record.wanted.clear();
                    return Admission::Refused(error);
                }
            },
        };
        self.parked.push((Arc::clone(waiter), piece));
        update.map_or(Admission::Wait, Admission::Write)
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
    pub(super) fn assign_roles(&mut self, devices: &[Option<Arc<dyn Device>>]) {
        for (role, served) in devices.iter().enumerate() {
            let Some(served) = served else { continue };
            let is_it = |device: &usize| {
                same(&self.devices[*device].whole, served) && !self.record.devices[*device].is_out
            };
            if let Some(device) = (0..self.devices.len()).find(is_it) {
                self.record.assign_role(role, device);
            }
        }
    }
}

fn same(one: &Arc<dyn Device>, other: &Arc<dyn Device>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

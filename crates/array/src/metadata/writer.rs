//! What has to be written down without a request that needs it: that an array is clean after a
//! rest, that bits are not needed any more, how far a rebuild has got, and the end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use block::{Error, ErrorKind};
use reactor::{Reactor, Source, WakeReason, since_boot};
use words::{Text, statement};

use super::channels::{EndedCommand, MetadataChannels};
use super::looks::Looks;
use super::planted::planted;
use super::update::MetadataUpdate;
use crate::catalogue;
use crate::record::{Clear, WriteIntentBitmap};
use crate::rows::Waiter;
use crate::shared::ArrayCore;

/// An array that was not written to for so long is called clean, as in md; found out within twice
/// that.
const REST: Duration = Duration::from_millis(200);
/// Where there is no bitmap that says how often, positions are written down so often.
const ROUND_SECONDS: u32 = 5;

/// While the array is dirty its superblocks go up by [`AGE_EVENTS`] so often, so that a copy of a
/// member that was made before is found out after a crash too.
const AGE: Duration = Duration::from_secs(30);
/// A member that is one event behind may be what a crash left; one that is two behind is stale.
const AGE_EVENTS: u32 = 2;

const REST_TIMER: u64 = 0;
const ROUND_TIMER: u64 = 1;
const FENCE_TIMER: u64 = 2;
const AGE_TIMER: u64 = 3;

/// Keeps the metadata of a running array up to date between writes. Its owner polls it, and waits
/// on its reactor between.
pub struct MetadataWriter {
    shared: Arc<ArrayCore>,
    channels: MetadataChannels,
    looks: Looks,
    ended: Vec<EndedCommand>,
    source: Source,
    waiter: Arc<Waiter>,
    granted: Vec<u32>,
    reactor: Reactor,
    /// Timers that are set.
    rests: bool,
    rounds: bool,
    waits_for_fence: bool,
    ages: bool,
    /// How many writes there had been when the rest began.
    admitted: u64,
    /// A round has passed and its bits have not been looked at.
    round_is_due: bool,
    /// By so many events the superblocks have to go up.
    events_due: u32,
    is_stopping: bool,
    /// What all of it was like when there was nothing to do but to wait for the members' answers,
    /// where that can be told.
    quiet: Option<QuietState>,
}

/// What decides whether anything is due: as long as it is the same and no timer has gone off,
/// nothing is.
#[derive(PartialEq, Eq)]
struct QuietState {
    /// Of [`Metadata`](super::state::Metadata).
    changes: u64,
    /// Of the members' states.
    revision: u64,
}

impl MetadataWriter {
    pub(crate) fn new(shared: Arc<ArrayCore>, reactor: &Reactor) -> Result<MetadataWriter, Error> {
        let waiter = Waiter::on(reactor, catalogue::METADATA_WRITER)?;
        shared.metadata().state().writers.push(Arc::downgrade(&waiter));
        Ok(MetadataWriter {
            shared,
            channels: MetadataChannels::default(),
            ended: Vec::new(),
            source: reactor.source(),
            waiter,
            granted: Vec::new(),
            reactor: reactor.clone(),
            rests: false,
            rounds: false,
            waits_for_fence: false,
            ages: false,
            looks: Looks::default(),
            admitted: u64::MAX,
            round_is_due: false,
            events_due: 0,
            is_stopping: false,
            quiet: None,
        })
    }

    /// Does what is due and never waits. It is to be called after every wait on the writer's
    /// reactor.
    pub fn poll(&mut self) {
        self.waiter.take_granted(&mut self.granted);
        let mut is_quiet = self.granted.is_empty();
        self.granted.clear();
        let mut has_rested = false;
        while let Some(event) = self.source.take() {
            is_quiet = false;
            match event.token {
                REST_TIMER => (self.rests, has_rested) = (false, true),
                ROUND_TIMER => (self.rounds, self.round_is_due) = (false, true),
                AGE_TIMER => {
                    let never = planted!(self.shared.metadata(), NeverAges);
                    (self.ages, self.events_due) = (false, if never { 0 } else { AGE_EVENTS });
                }
                _ => self.waits_for_fence = false,
            }
        }
        // It is asked after every wait, thousands of times between two updates, and hundreds while
        // one is on its way to the members.
        if is_quiet && self.quiet.is_some() && self.quiet == self.quiet_state() {
            let sent = self.channels.sent;
            self.channels.poll(self.shared.metadata(), &self.reactor, &mut self.ended);
            if self.ended.is_empty() && self.channels.sent == sent {
                return self.channels.poll_idle(&mut Vec::new());
            }
        }
        loop {
            let sent = self.channels.sent;
            self.channels.poll(self.shared.metadata(), &self.reactor, &mut self.ended);
            for ended in self.ended.drain(..) {
                if let EndedCommand::Update(update, failures) = ended
                    && self.shared.end_update(*update, failures)
                {
                    self.reactor.nudge();
                }
            }
            if !self.channels.has_update()
                && let Some(update) = self.due(std::mem::take(&mut has_rested))
            {
                self.channels.begin(update, self.shared.metadata(), &self.reactor);
            }
            let has_looked = self.looks.poll(&self.shared);
            let looks = self.looks.begin(&self.shared, &self.reactor, false);
            if has_looked {
                self.reactor.nudge();
            }
            if self.channels.sent == sent && !has_looked && !looks {
                break;
            }
        }
        self.channels.poll_idle(&mut Vec::new());
        self.set_timers();
        // Until an update has ended, nothing else is composed.
        let is_due = !self.channels.has_update() && (self.round_is_due || self.events_due > 0);
        let waits = self.is_stopping || is_due || self.looks.is_busy();
        self.quiet = if waits || !self.may_rest() { None } else { self.quiet_state() };
    }

    /// Whether what is due follows from what [`QuietState`] has: not from the time since the
    /// machine's start, as with a fence, nor from bits of which no timer says when they are due.
    fn may_rest(&self) -> bool {
        let state = self.shared.metadata().state();
        state.fence.is_none() && (self.rounds || state.record.write_intent.is_none())
    }

    /// Nothing where data of a member are lost: what is lost may change without a trace in either.
    fn quiet_state(&self) -> Option<QuietState> {
        let (health, metadata) = (&self.shared.health, self.shared.metadata());
        (!health.any_lost()).then(|| QuietState {
            changes: metadata.changes.load(Ordering::Relaxed),
            revision: health.revision(),
        })
    }

    /// Whether anything of it is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.channels.is_busy() || self.looks.is_busy()
    }

    /// How the claim to an array stands that others reach: `None` while it is under way.
    pub(super) fn claimed(&self) -> Option<Result<(), Text>> {
        if self.is_busy() { None } else { self.shared.metadata().state().claimed() }
    }

    /// What has to be written now, if anything.
    fn due(&mut self, has_rested: bool) -> Option<MetadataUpdate> {
        let metadata = self.shared.metadata();
        let state = &mut *metadata.state();
        if state.is_writing || state.broken.is_some() {
            return None;
        }
        let array = &self.shared.state();
        let flushes = !planted!(metadata, SkipsFlush);
        let is_quiet = state.in_flight == 0 && state.admitted == self.admitted;
        self.admitted = if has_rested { state.admitted } else { self.admitted };
        let mut facts = state.facts_now(array);
        if self.is_stopping {
            facts = state.record.facts_at_end(facts);
        }
        let has_news = state.record.facts.as_ref() != Some(&facts);
        let update = if self.is_stopping {
            let clears = state.record.may_clear_bits(&facts);
            let is_held = state.fence.as_ref().is_some_and(|fence| !fence.is_released);
            let is_due = state.record.is_active || has_news || clears || is_held;
            if state.in_flight > 0 || !is_due || state.is_stopped {
                return None;
            }
            state.compose_clean(array, Some(Clear::Unused), flushes, true)
        } else if state.record.is_active && has_rested && is_quiet {
            state.compose_clean(array, None, flushes, false)
        } else if !metadata.knows(array.snapshot.generation) && state.record.facts.is_some() {
            // No piece waits for it, but the sooner it is written down the less is to be done after
            // a crash.
            state.compose(array, false)
        } else if state.is_keep_alive_due() {
            state.compose_keep_alive(array)
        } else if state.record.is_active && self.events_due > 0 {
            self.events_due -= 1;
            state.compose_keep_alive(array)
        } else if self.round_is_due {
            self.round_is_due = false;
            let early = planted!(metadata, ClearsBitsEarly);
            let rested =
                state.record.write_intent.as_mut().is_some_and(WriteIntentBitmap::pass_round);
            if rested || early && state.record.write_intent.is_some() {
                #[cfg(feature = "planted-mistakes")]
                let which = if early { Clear::All } else { Clear::Rested };
                #[cfg(not(feature = "planted-mistakes"))]
                let which = Clear::Rested;
                state.compose_clear(array, which)
            } else if has_news {
                state.compose(array, false)
            } else {
                return None;
            }
        } else {
            return None;
        };
        // An array that has lost its data is left as it is: not clean.
        let Ok(update) = update else {
            if let Some(fence) = &mut state.fence {
                fence.hold.put_off(since_boot());
            }
            return None;
        };
        Some(update)
    }

    fn set_timers(&mut self) {
        let state = &mut *self.shared.metadata().state();
        let now = self.reactor.now();
        if let Some(wait) = state.fence_wait().filter(|_| !self.waits_for_fence)
            && !(self.looks.is_busy() || state.is_writing)
        {
            self.waits_for_fence = true;
            self.source.at(now + wait, FENCE_TIMER);
        }
        if state.record.is_active && !self.rests && !state.is_stopped {
            self.rests = true;
            self.source.at(now + REST, REST_TIMER);
        }
        if !state.record.is_active {
            self.events_due = 0;
        } else if !self.ages && !state.is_stopped {
            self.ages = true;
            self.source.at(now + AGE, AGE_TIMER);
        }
        let facts = state.facts_now(&self.shared.state());
        let bits = state.record.may_clear_bits(&facts);
        if (bits || state.record.facts.as_ref().is_some_and(|written| *written != facts))
            && !self.rounds
            && !state.is_stopped
        {
            self.rounds = true;
            let seconds = state
                .record
                .write_intent
                .as_ref()
                .map_or(ROUND_SECONDS, WriteIntentBitmap::round_seconds);
            self.source.at(now + Duration::from_secs(seconds.into()), ROUND_TIMER);
        }
    }

    /// Ends the array in order: members are flushed, superblocks say that it is clean. Nothing is
    /// written any more after that.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] while requests are under way; what kept the end from being written down:
    /// then the members say that the array was being written to, and the next start brings them to
    /// agree.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.is_stopping = true;
        loop {
            self.poll();
            {
                let metadata = self.shared.metadata();
                let state = &mut *metadata.state();
                if let Some(reason) = &state.broken {
                    return Err(Error::new(ErrorKind::Media, reason.clone()));
                }
                if state.in_flight > 0 {
                    self.is_stopping = false;
                    return Err(Error::new(ErrorKind::Busy, catalogue::STILL_WRITTEN));
                }
                if !state.is_writing {
                    state.is_stopped = true;
                    if !state.record.is_active {
                        return Ok(());
                    }
                    let why =
                        self.shared.state().holds_all.err().map_or_else(
                            || Text::from(catalogue::SUPERBLOCKS_UNWRITTEN),
                            Text::from,
                        );
                    return Err(Error::new(
                        ErrorKind::Gone,
                        statement!(catalogue::NOT_MARKED_CLEAN, why = why),
                    ));
                }
            }
            match self.reactor.wait(Some(self.reactor.now() + Duration::from_secs(20 * 60))) {
                Ok(WakeReason::Events | WakeReason::Rung) => (),
                Ok(WakeReason::Deadline | WakeReason::Idle) => {
                    return Err(Error::new(ErrorKind::TimedOut, catalogue::MEMBERS_SILENT));
                }
                Err(error) => return Err(Error::from_io(catalogue::WAITING_FOR_MEMBERS, error)),
            }
        }
    }
}

impl Drop for MetadataWriter {
    fn drop(&mut self) {
        let metadata = self.shared.metadata();
        if let Some(update) = self.channels.give_up()
            && metadata.abandon(update)
        {
            self.reactor.nudge();
        }
        metadata.forget(&self.waiter);
    }
}

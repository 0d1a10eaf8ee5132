//! What has to be written down without a request that needs it: that an array is clean after a
//! rest, that bits are not needed any more, how far a rebuild has got, and the end.

use std::sync::Arc;
use std::time::Duration;

use block::{Clock, Error, ErrorKind};
use reactor::{Reactor, Source, Woken};

use super::channels::Ended;
use super::write_intent::{Clear, WriteIntentBitmap};
use super::{ArrayView, Metadata, MetadataChannels, MetadataUpdate, planted};
use crate::rows::Waiter;

/// An array that was not written to for so long is called clean, as in md; found out within twice
/// that.
const REST: Duration = Duration::from_millis(200);
/// Where there is no bitmap that says how often, positions are written down so often.
const ROUND_SECONDS: u32 = 5;

const REST_TIMER: u64 = 0;
const ROUND_TIMER: u64 = 1;

/// An array with metadata.
pub(crate) trait HasMetadata: ArrayView + Send + Sync {
    /// The metadata; a writer is made only where there are some.
    fn metadata(&self) -> &Metadata;
}

/// Keeps the metadata of a running array up to date between writes. Its owner polls it, and waits
/// on its reactor between.
pub struct MetadataWriter {
    array: Arc<dyn HasMetadata>,
    channels: MetadataChannels,
    ended: Vec<Ended>,
    source: Source,
    waiter: Arc<Waiter>,
    granted: Vec<u32>,
    reactor: Reactor,
    /// Timers that are set.
    rests: bool,
    rounds: bool,
    /// How many writes there had been when the rest began.
    admitted: u64,
    /// A round has passed and its bits have not been looked at.
    round_is_due: bool,
    is_stopping: bool,
}

impl MetadataWriter {
    pub(crate) fn new(
        array: Arc<dyn HasMetadata>,
        reactor: &Reactor,
    ) -> Result<MetadataWriter, Error> {
        let ringer = match reactor.clock() {
            Clock::Wall => Some(reactor.ringer().map_err(|error| {
                Error::from_io("a bell for the metadata writer of the array", error)
            })?),
            Clock::Virtual => None,
        };
        let waiter = Waiter::new(ringer);
        array.metadata().state().writers.push(Arc::downgrade(&waiter));
        Ok(MetadataWriter {
            array,
            channels: MetadataChannels::default(),
            ended: Vec::new(),
            source: reactor.source(),
            waiter,
            granted: Vec::new(),
            reactor: reactor.clone(),
            rests: false,
            rounds: false,
            admitted: u64::MAX,
            round_is_due: false,
            is_stopping: false,
        })
    }

    /// Does what is due and never waits. It is to be called after every wait on the writer's
    /// reactor.
    pub fn poll(&mut self) {
        self.waiter.take_granted(&mut self.granted);
        self.granted.clear();
        let mut has_rested = false;
        while let Some(event) = self.source.take() {
            if event.token == REST_TIMER {
                (self.rests, has_rested) = (false, true);
            } else {
                (self.rounds, self.round_is_due) = (false, true);
            }
        }
        loop {
            let sent = self.channels.sent;
            let array = Arc::clone(&self.array);
            self.channels.poll(array.metadata(), &self.reactor, &mut self.ended);
            for ended in self.ended.drain(..) {
                if let Ended::Update(update, failures) = ended
                    && array.metadata().end(&*array, *update, failures)
                {
                    self.reactor.nudge();
                }
            }
            if !self.channels.has_update()
                && let Some(update) = self.due(std::mem::take(&mut has_rested))
            {
                self.channels.begin(update, array.metadata(), &self.reactor);
            }
            if self.channels.sent == sent {
                break;
            }
        }
        self.channels.poll_idle(&mut Vec::new());
        self.set_timers();
    }

    /// What has to be written now, if anything.
    fn due(&mut self, has_rested: bool) -> Option<MetadataUpdate> {
        let metadata = self.array.metadata();
        let state = &mut *metadata.state();
        if state.is_writing || state.broken.is_some() {
            return None;
        }
        let array: &dyn ArrayView = &*self.array;
        let flushes = !planted!(metadata, SkipsFlush);
        let is_quiet = state.in_flight == 0 && state.admitted == self.admitted;
        self.admitted = if has_rested { state.admitted } else { self.admitted };
        let facts = state.facts_now(array);
        let has_news = state.facts.as_ref() != Some(&facts);
        let update = if self.is_stopping {
            let has_bits = state.write_intent.as_ref().is_some_and(WriteIntentBitmap::is_dirty);
            let clears = has_bits && !facts.is_degraded() && facts.resync_from.is_none();
            if state.in_flight > 0 || !(state.is_active || has_news || clears) || state.is_stopped {
                return None;
            }
            state.compose_clean(array, Some(Clear::Unused), flushes)
        } else if state.is_active && has_rested && is_quiet {
            state.compose_clean(array, None, flushes)
        } else if !metadata.knows(array.generation()) && state.facts.is_some() {
            // No piece waits for it, but the sooner it is written down the less is to be done after
            // a crash.
            state.compose(array, false)
        } else if self.round_is_due {
            self.round_is_due = false;
            let early = planted!(metadata, ClearsBitsEarly);
            let rested = state.write_intent.as_mut().is_some_and(WriteIntentBitmap::pass_round);
            if rested || early && state.write_intent.is_some() {
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
        let update = update.ok()?;
        state.is_writing = true;
        Some(update)
    }

    fn set_timers(&mut self) {
        let state = &mut *self.array.metadata().state();
        let now = self.reactor.now();
        if state.is_active && !self.rests && !state.is_stopped {
            self.rests = true;
            self.source.at(now + REST, REST_TIMER);
        }
        let facts = state.facts_now(&*self.array);
        let bits = state.write_intent.as_ref().is_some_and(WriteIntentBitmap::is_dirty)
            && !facts.is_degraded()
            && facts.resync_from.is_none();
        if (bits || state.facts.as_ref().is_some_and(|written| *written != facts))
            && !self.rounds
            && !state.is_stopped
        {
            self.rounds = true;
            let seconds =
                state.write_intent.as_ref().map_or(ROUND_SECONDS, WriteIntentBitmap::round_seconds);
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
                let metadata = self.array.metadata();
                let state = &mut *metadata.state();
                if let Some(reason) = &state.broken {
                    return Err(Error::new(ErrorKind::Media, reason.clone()));
                }
                if state.in_flight > 0 {
                    self.is_stopping = false;
                    return Err(Error::new(
                        ErrorKind::Busy,
                        "the array is still being written to: end what uses it first",
                    ));
                }
                if !state.is_writing {
                    state.is_stopped = true;
                    if !state.is_active {
                        return Ok(());
                    }
                    let snapshot = self.array.snapshot();
                    let lost = self
                        .array
                        .holds_all(&snapshot.absent().union(&snapshot.recovering()))
                        .err();
                    let why = lost.map_or_else(
                        || "the superblocks could not be written".to_owned(),
                        |lost| lost.to_string(),
                    );
                    return Err(Error::new(
                        ErrorKind::Gone,
                        format!("the array is not marked clean: {why}"),
                    ));
                }
            }
            match self.reactor.wait(Some(self.reactor.now() + Duration::from_secs(20 * 60))) {
                Ok(Woken::Events | Woken::Rung) => (),
                Ok(Woken::Deadline | Woken::Idle) => {
                    return Err(Error::new(
                        ErrorKind::TimedOut,
                        "the members do not answer: the array is not marked clean",
                    ));
                }
                Err(error) => return Err(Error::from_io("waiting for the members", error)),
            }
        }
    }
}

impl Drop for MetadataWriter {
    fn drop(&mut self) {
        let metadata = self.array.metadata();
        if let Some(update) = self.channels.give_up()
            && metadata.abandon(update)
        {
            self.reactor.nudge();
        }
        metadata.forget(&self.waiter);
    }
}

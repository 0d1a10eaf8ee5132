//! What has to be written down although nobody asks for it: that an array is clean after a rest, that bits are not needed any
//! more, how far a rebuild has got, and the end.

use std::sync::Arc;
use std::time::Duration;

use block::{Clock, Error, ErrorKind};
use reactor::{Reactor, Source, Woken};

use super::intent::{Clear, Intent};
use super::pen::Ended;
use super::{Job, Pen, Record, Sabotage, Truth};
use crate::rows::Waiter;

/// An array that was not written to for so long is called clean, as in md; found out within twice that.
const REST: Duration = Duration::from_millis(200);
/// Where there is no bitmap that says how often, positions are written down so often.
const ROUND_SECONDS: u32 = 5;

const REST_TIMER: u64 = 0;
const ROUND_TIMER: u64 = 1;

/// A record and the array that it is of.
pub(crate) trait Recorded: Truth + Send + Sync {
    /// The record; a clerk is made only where there is one.
    fn record(&self) -> &Record;
}

/// Keeps the metadata of a running array up to date while nobody asks. Its owner polls it, and waits on its reactor between.
pub struct Clerk {
    array: Arc<dyn Recorded>,
    pen: Pen,
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
    /// A round has passed that nobody has looked at.
    round_is_due: bool,
    is_stopping: bool,
}

impl Clerk {
    pub(crate) fn new(array: Arc<dyn Recorded>, reactor: &Reactor) -> Result<Clerk, Error> {
        let ringer = match reactor.clock() {
            Clock::Wall => Some(reactor.ringer().map_err(|error| Error::from_io("a bell for the upkeep of the array", error))?),
            Clock::Virtual => None,
        };
        let waiter = Waiter::new(ringer);
        array.record().state().clerks.push(Arc::downgrade(&waiter));
        Ok(Clerk {
            array,
            pen: Pen::default(),
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

    /// Does what is due and never waits. It is to be called after every wait on the clerk's reactor.
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
            let sent = self.pen.sent;
            let array = Arc::clone(&self.array);
            self.pen.poll(array.record(), &self.reactor, &mut self.ended);
            for ended in self.ended.drain(..) {
                if let Ended::Job(job, failures) = ended
                    && array.record().end(&*array, *job, failures)
                {
                    self.reactor.nudge();
                }
            }
            if !self.pen.has_job()
                && let Some(job) = self.due(std::mem::take(&mut has_rested))
            {
                self.pen.begin(job, array.record(), &self.reactor);
            }
            if self.pen.sent == sent {
                break;
            }
        }
        self.pen.poll_idle(&mut Vec::new());
        self.set_timers();
    }

    /// What has to be written now, if anything.
    fn due(&mut self, has_rested: bool) -> Option<Job> {
        let record = self.array.record();
        let state = &mut *record.state();
        if state.is_writing || state.broken.is_some() {
            return None;
        }
        let truth: &dyn Truth = &*self.array;
        let flushes = record.sabotage != Sabotage::SkipsFlush;
        let is_quiet = state.in_flight == 0 && state.admitted == self.admitted;
        self.admitted = if has_rested { state.admitted } else { self.admitted };
        let facts = state.facts_now(truth);
        let has_news = state.facts.as_ref() != Some(&facts);
        let job = if self.is_stopping {
            let has_bits = state.intent.as_ref().is_some_and(Intent::is_dirty);
            let clears = has_bits && !facts.is_degraded() && facts.resync_from.is_none();
            if state.in_flight > 0 || !(state.is_active || has_news || clears) || state.is_stopped {
                return None;
            }
            state.compose_clean(truth, Some(Clear::Unused), flushes)
        } else if state.is_active && has_rested && is_quiet {
            state.compose_clean(truth, None, flushes)
        } else if !record.knows(truth.generation()) && state.facts.is_some() {
            // Nobody waits for it, but the sooner it is written down the less is to be done after a crash.
            state.compose(truth, false)
        } else if self.round_is_due {
            self.round_is_due = false;
            let early = record.sabotage == Sabotage::ClearsBitsEarly;
            let rested = state.intent.as_mut().is_some_and(Intent::pass_round);
            if rested || early && state.intent.is_some() {
                state.compose_clear(truth, if early { Clear::Careless } else { Clear::Rested })
            } else if has_news {
                state.compose(truth, false)
            } else {
                return None;
            }
        } else {
            return None;
        };
        // An array that has lost its data is left as it is: not clean.
        let job = job.ok()?;
        state.is_writing = true;
        Some(job)
    }

    fn set_timers(&mut self) {
        let state = &mut *self.array.record().state();
        let now = self.reactor.now();
        if state.is_active && !self.rests && !state.is_stopped {
            self.rests = true;
            self.source.at(now + REST, REST_TIMER);
        }
        let facts = state.facts_now(&*self.array);
        let bits = state.intent.as_ref().is_some_and(Intent::is_dirty) && !facts.is_degraded() && facts.resync_from.is_none();
        if (bits || state.facts.as_ref().is_some_and(|written| *written != facts)) && !self.rounds && !state.is_stopped {
            self.rounds = true;
            let seconds = state.intent.as_ref().map_or(ROUND_SECONDS, Intent::round_seconds);
            self.source.at(now + Duration::from_secs(seconds.into()), ROUND_TIMER);
        }
    }

    /// Ends the array in order: members are flushed, superblocks say that it is clean. Nothing is written any more after that.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] while requests are under way; what kept the end from being written down: then the members say that
    /// the array was being written to, and the next start brings them to agree.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.is_stopping = true;
        loop {
            self.poll();
            {
                let record = self.array.record();
                let state = &mut *record.state();
                if let Some(reason) = &state.broken {
                    return Err(Error::new(ErrorKind::Media, reason.clone()));
                }
                if state.in_flight > 0 {
                    self.is_stopping = false;
                    return Err(Error::new(ErrorKind::Busy, "the array is still being written to: end what uses it first"));
                }
                if !state.is_writing {
                    state.is_stopped = true;
                    if !state.is_active {
                        return Ok(());
                    }
                    let snapshot = self.array.snapshot();
                    let lost = self.array.holds_all(&snapshot.absent().union(&snapshot.stale())).err();
                    let why = lost.map_or_else(|| "nobody wrote it down".to_owned(), |lost| lost.to_string());
                    return Err(Error::new(ErrorKind::Gone, format!("the array is not marked clean: {why}")));
                }
            }
            match self.reactor.wait(Some(self.reactor.now() + Duration::from_secs(20 * 60))) {
                Ok(Woken::Events | Woken::Rung) => (),
                Ok(Woken::Deadline | Woken::Idle) => {
                    return Err(Error::new(ErrorKind::TimedOut, "the members do not answer: the array is not marked clean"));
                }
                Err(error) => return Err(Error::from_io("waiting for the members", error)),
            }
        }
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        let record = self.array.record();
        if let Some(job) = self.pen.give_up()
            && record.abandon(job)
        {
            self.reactor.nudge();
        }
        record.forget(&self.waiter);
    }
}

//! What is due next: the policy.
//!
//! 1. A spare is put into a slot whose member is missing or faulty.
//! 2. Members that lack something are rebuilt, one after another.
//! 3. A member with a replacement is copied to it.
//! 4. A resync is done where redundancy may be untrue.
//! 5. Then what was asked for: checks and repairs.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{Clock, Error, ErrorKind, Reactor};
use reactor::Ringer;
use words::statement;

use super::control::Control;
use super::runner::{Ending, Limits, Outcome, Progress, SyncAction, SyncRunner};
use crate::catalogue;
use crate::member::{MemberState, Snapshot};
use crate::ranges::Ranges;

/// Something worth telling.
#[derive(Debug)]
pub enum Notice {
    /// A spare was put into the slot of a member that was missing or faulty.
    SpareAssigned {
        /// Which slot.
        member: usize,
        /// How messages call the device.
        name: String,
    },
    /// A job has begun.
    Began(SyncAction),
    /// A job has ended.
    Ended(Outcome),
}

/// Does what is due, on one reactor, whose owner polls it. On the wall clock the owner is rung when
/// the members change.
pub struct SyncScheduler {
    control: Control,
    runner: SyncRunner,
    /// Checks and repairs to come.
    asked: VecDeque<SyncAction>,
    /// The generation at which a job failed or was cancelled: it is not begun again before that
    /// changes.
    gave_up: Option<u64>,
    /// The array's generation when the job began.
    began: u64,
    /// The revision of the members' states at which nothing was due.
    idle_at: Option<u64>,
    /// Kept for the array, which rings it as long as it is here.
    _bell: Option<Arc<Ringer>>,
}

impl SyncScheduler {
    /// A scheduler of an array.
    ///
    /// # Errors
    /// As [`block::Device::open`], or the kernel's for a bell.
    pub fn open(control: &Control, reactor: &Reactor) -> Result<SyncScheduler, Error> {
        let runner = control.sync_runner(reactor)?;
        let bell = match reactor.clock() {
            Clock::Wall => Some(Arc::new(
                reactor.ringer().map_err(|error| Error::from_io(catalogue::BELL_OF_SYNC, error))?,
            )),
            Clock::Virtual => None,
        };
        if let Some(bell) = &bell {
            control.shared().health.watch(bell);
        }
        Ok(SyncScheduler {
            control: control.clone(),
            runner,
            asked: VecDeque::new(),
            gave_up: None,
            began: 0,
            idle_at: None,
            _bell: bell,
        })
    }

    /// Asks for a check or a repair, to be done once nothing else is due, or for a resync of all.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for anything else: that is due by itself.
    pub fn ask(&mut self, action: SyncAction) -> Result<(), Error> {
        match action {
            SyncAction::Check(_) | SyncAction::Repair(_) => self.asked.push_back(action),
            SyncAction::Resync => {
                self.control.require_resync(&Ranges::one(0..self.control.sync_bytes()));
            }
            other => {
                return Err(Error::new(
                    ErrorKind::Invalid,
                    statement!(catalogue::BEGUN_WHEN_DUE, other = &other),
                ));
            }
        }
        Ok(())
    }

    /// The job under way.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        self.runner.progress()
    }

    /// Changes the pace.
    pub fn set_limits(&mut self, limits: Limits) {
        self.runner.set_limits(limits);
    }

    /// Issues nothing more for the time being.
    pub fn pause(&mut self) {
        self.runner.pause();
    }

    /// Goes on.
    pub fn resume(&mut self) {
        self.runner.resume();
        (self.gave_up, self.idle_at) = (None, None);
    }

    /// Ends the job under way, and whatever was asked for. It is not begun again by itself until a
    /// member changes.
    pub fn cancel(&mut self) {
        self.asked.clear();
        self.runner.cancel();
    }

    /// Whether nothing is under way and nothing is due.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        if self.is_idle_still() {
            return self.runner.progress().is_none();
        }
        self.runner.progress().is_none() && self.next().is_none() && !self.spare_is_due()
    }

    /// Goes as far as it goes without waiting. Ask again until it has no more to tell; the reactor
    /// wakes the owner then.
    pub fn poll(&mut self) -> Option<Notice> {
        // It is asked after every wait, and what it asks of the members' states takes longer than a
        // request.
        if self.is_idle_still() && self.runner.poll_idle() {
            return None;
        }
        let revision = self.control.revision();
        if let Some(outcome) = self.runner.poll() {
            if !matches!(outcome.ending, Ending::Done) {
                self.gave_up = Some(self.began);
            }
            return Some(Notice::Ended(outcome));
        }
        if self.spare_is_due() {
            let unrecovered = Ranges::one(0..self.control.member_bytes());
            if let Some((member, spare)) = self.control.shared().health.assign_spare(unrecovered) {
                return Some(Notice::SpareAssigned { member, name: spare.name.english() });
            }
        }
        if self.runner.progress().is_some() {
            return None;
        }
        let Some(action) = self.next() else {
            self.idle_at = Some(revision);
            return None;
        };
        if self.asked.front() == Some(&action) {
            self.asked.pop_front();
        }
        match self.runner.start(action.clone()) {
            Ok(()) => {
                self.began = self.generation();
                Some(Notice::Began(action))
            }
            // It was due a moment ago, and a member has changed since.
            Err(_) => None,
        }
    }

    /// Whether nothing was due, and nothing has changed since.
    fn is_idle_still(&self) -> bool {
        self.asked.is_empty() && self.idle_at == Some(self.control.revision())
    }

    fn generation(&self) -> u64 {
        self.control.shared().health.generation()
    }

    fn spare_is_due(&self) -> bool {
        let snapshot = self.control.snapshot();
        !snapshot.spares.is_empty() && snapshot.absent().count() > 0 && self.can_rebuild(&snapshot)
    }

    /// What has lost too much cannot be rebuilt.
    fn can_rebuild(&self, snapshot: &Snapshot) -> bool {
        self.control
            .shared()
            .level
            .holds_all(&snapshot.absent().union(&snapshot.recovering()))
            .is_ok()
    }

    /// What is to be done next.
    fn next(&self) -> Option<SyncAction> {
        let snapshot = self.control.snapshot();
        let is_read_only = self.control.shared().info.read_only;
        if is_read_only || self.gave_up == Some(snapshot.generation) || !self.can_rebuild(&snapshot)
        {
            return self.asked.front().cloned();
        }
        let rebuilding = snapshot
            .members
            .iter()
            .position(|condition| matches!(condition, MemberState::Recovering { .. }));
        let rebuild = rebuilding.map(|member| SyncAction::Rebuild { member });
        let replace = snapshot.replaced.first().map(|&member| SyncAction::Replace { member });
        rebuild
            .or(replace)
            .or_else(|| snapshot.resync.map(|_| SyncAction::Resync))
            .or_else(|| self.asked.front().cloned())
    }
}

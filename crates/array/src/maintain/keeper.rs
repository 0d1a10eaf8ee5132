//! What is due next: the policy.
//!
//! 1. Where a member is missing and there is a spare, it is seated.
//! 2. A member that is owed something is rebuilt, one after another.
//! 3. A member with a successor is copied to it.
//! 4. A resync that is owed is done.
//! 5. Then what was asked for: checks and repairs.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{Clock, Error, ErrorKind, Reactor};
use reactor::Ringer;

use super::{Control, Ending, Limits, Maintenance, Outcome, Progress, Ranges, Work};
use crate::{Condition, Snapshot};

/// Something worth telling.
#[derive(Debug)]
pub enum Notice {
    /// A spare took the place of a member that was missing.
    SpareSeated {
        /// Which place.
        member: usize,
        /// How messages call the device.
        name: String,
    },
    /// A job has begun.
    Began(Work),
    /// A job has ended.
    Ended(Outcome),
}

/// Does what is due, on one reactor, whose owner polls it. On the wall clock the owner is rung when the members change.
pub struct Keeper {
    control: Control,
    maintenance: Maintenance,
    /// Checks and repairs to come.
    asked: VecDeque<Work>,
    /// A job failed or was cancelled when the array was so: it would do so again.
    gave_up: Option<u64>,
    /// The array's generation when the job began.
    began: u64,
    /// Kept for the array, which rings it as long as it is here.
    _bell: Option<Arc<Ringer>>,
}

impl Keeper {
    /// A keeper of an array.
    ///
    /// # Errors
    /// As [`block::Device::open`], or the kernel's for a bell.
    pub fn open(control: &Control, reactor: &Reactor) -> Result<Keeper, Error> {
        let maintenance = control.maintenance(reactor)?;
        let bell = match reactor.clock() {
            Clock::Wall => Some(Arc::new(reactor.ringer().map_err(|error| Error::from_io("a bell for the keeper of the array", error))?)),
            Clock::Virtual => None,
        };
        if let Some(bell) = &bell {
            control.core().health().watch(bell);
        }
        Ok(Keeper { control: control.clone(), maintenance, asked: VecDeque::new(), gave_up: None, began: 0, _bell: bell })
    }

    /// Asks for a check or a repair, to be done once nothing else is due.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for anything else: that is due by itself.
    pub fn ask(&mut self, work: Work) -> Result<(), Error> {
        match work {
            Work::Check(_) | Work::Repair(_) => self.asked.push_back(work),
            other => return Err(Error::new(ErrorKind::Invalid, format!("a {other} is begun when it is due"))),
        }
        Ok(())
    }

    /// The job under way.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        self.maintenance.progress()
    }

    /// Changes the pace.
    pub fn set_limits(&mut self, limits: Limits) {
        self.maintenance.set_limits(limits);
    }

    /// Issues nothing more for the time being.
    pub fn pause(&mut self) {
        self.maintenance.pause();
    }

    /// Goes on.
    pub fn resume(&mut self) {
        self.maintenance.resume();
        self.gave_up = None;
    }

    /// Ends the job under way, and whatever was asked for. It is not begun again by itself until a member changes.
    pub fn cancel(&mut self) {
        self.asked.clear();
        self.maintenance.cancel();
    }

    /// Whether nothing is under way and nothing is due.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.maintenance.progress().is_none() && self.next().is_none() && !self.spare_is_due()
    }

    /// Goes as far as it goes without waiting. Ask again until it has no more to tell; the reactor wakes the owner then.
    pub fn poll(&mut self) -> Option<Notice> {
        if let Some(outcome) = self.maintenance.poll() {
            if !matches!(outcome.ending, Ending::Done) {
                self.gave_up = Some(self.began);
            }
            return Some(Notice::Ended(outcome));
        }
        if self.spare_is_due() {
            let owed = Ranges::one(0..self.control.member_bytes());
            if let Some((member, seat)) = self.control.core().health().seat_spare(owed) {
                return Some(Notice::SpareSeated { member, name: seat.name.clone() });
            }
        }
        if self.maintenance.progress().is_some() {
            return None;
        }
        let work = self.next()?;
        if self.asked.front() == Some(&work) {
            self.asked.pop_front();
        }
        match self.maintenance.start(work.clone()) {
            Ok(()) => {
                self.began = self.generation();
                Some(Notice::Began(work))
            }
            // It was due a moment ago, and somebody changed something.
            Err(_) => None,
        }
    }

    fn generation(&self) -> u64 {
        self.control.core().health().generation()
    }

    fn spare_is_due(&self) -> bool {
        let snapshot = self.control.snapshot();
        !snapshot.spares.is_empty() && snapshot.absent().count() > 0 && self.can_rebuild(&snapshot)
    }

    /// What has lost too much cannot be rebuilt.
    fn can_rebuild(&self, snapshot: &Snapshot) -> bool {
        self.control.core().holds_all(&snapshot.absent().union(&snapshot.stale())).is_ok()
    }

    /// What is to be done next.
    fn next(&self) -> Option<Work> {
        let snapshot = self.control.snapshot();
        let is_read_only = self.control.core().info().read_only;
        if is_read_only || self.gave_up == Some(snapshot.generation) || !self.can_rebuild(&snapshot) {
            return self.asked.front().cloned();
        }
        let rebuilding = snapshot.members.iter().position(|condition| matches!(condition, Condition::Rebuilding { .. }));
        let rebuild = rebuilding.map(|member| Work::Rebuild { member });
        let replace = snapshot.replaced.first().map(|&member| Work::Replace { member });
        rebuild.or(replace).or_else(|| snapshot.resync.map(|_| Work::Resync)).or_else(|| self.asked.front().cloned())
    }
}

//! The jobs of one channel: their table, the blocks that they hold, and what they send to the two
//! devices.
//!
//! What a job does in its steps is with its kind: `read`, `write`, `write_out` (flushes too) and
//! `commit`, each of which knows this file and, of the others, only those whose jobs it starts.
//! None of them goes on with another job: what is to follow is noted in [`Follow`], and the
//! channel, which knows all kinds, sees to it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use block::{BufMut, Clock, Completion, Error, ErrorKind, QueuedChannel, Reactor, Slots, Waiter};

use super::job::{Ends, Job, JobKind, Outcome, RunningJob};
use super::ranges::hold;
use super::shared::CacheCore;
use crate::catalogue;

/// Room for the parts of one request, however small the depth.
const DEPTH_MIN: u32 = 16;

/// What is to be done about a job next, in the order of noting.
pub(super) enum Follow {
    /// It has its blocks and begins.
    Begin { slot: u32 },
    /// A job that was done for it has ended.
    EndChild { parent: u32, error: Option<Error> },
}

/// The jobs of one channel.
pub(super) struct Jobs {
    pub(super) shared: Arc<CacheCore>,
    pub(super) reactor: Reactor,
    number: u32,
    pub(super) store: QueuedChannel,
    pub(super) lower: QueuedChannel,
    pub(super) waiter: Arc<Waiter>,
    /// Commands below carry the index of their job and their number in its step.
    pub(super) table: Slots<Job>,
    pub(super) follow: VecDeque<Follow>,
    /// Requests of the owner among the jobs.
    pub(super) owned: u32,
    pub(super) closing: bool,
    /// What the owner's requests ended with.
    pub(super) ready: Vec<Completion>,
}

impl Jobs {
    /// Without jobs, on channels of its own onto the two devices.
    pub(super) fn open(
        shared: &Arc<CacheCore>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<Jobs, Error> {
        let depth = depth.max(DEPTH_MIN);
        let lower = QueuedChannel::open(&*shared.lower, depth, reactor)?;
        let store = match QueuedChannel::open(&*shared.store, depth, reactor) {
            // A store on the wrong clock is a mistake; one that is gone may be done without.
            Err(error) if error.kind() != ErrorKind::Unsupported => {
                shared.store_failed(&error);
                QueuedChannel::closed(error)
            }
            opened => opened?,
        };
        Ok(Jobs {
            shared: Arc::clone(shared),
            reactor: reactor.clone(),
            number: shared.channels.fetch_add(1, Ordering::Relaxed),
            store,
            lower,
            waiter: Waiter::on(reactor, catalogue::RANGES_OF_CACHE)?,
            table: Slots::default(),
            follow: VecDeque::new(),
            owned: 0,
            closing: false,
            ready: Vec::new(),
        })
    }

    /// A place for a job, which is put into it later.
    pub(super) fn place(&mut self) -> u32 {
        self.table.reserve()
    }

    /// Puts a job into its place: commands of it are under way, or are about to be sent.
    pub(super) fn put<J>(&mut self, slot: u32, running: RunningJob<J>)
    where
        Job: From<RunningJob<J>>,
    {
        self.table.put(slot, running.into());
    }

    /// What holds the blocks of a job.
    pub(super) fn holder(&self, slot: u32) -> (u32, u32) {
        (self.number, slot)
    }

    /// Takes the job's blocks, or queues for them and puts it into its place: then it is granted
    /// them by the waiter. The job, if it has them.
    pub(super) fn take_blocks(
        &mut self,
        slot: u32,
        mut running: RunningJob<JobKind>,
        blocks: &Range<u64>,
        exclusive: bool,
    ) -> Option<RunningJob<JobKind>> {
        running.in_ranges = true;
        let hold = hold(self.holder(slot), blocks, exclusive);
        if self.shared.state().ranges.take(hold, &self.waiter) {
            Some(running)
        } else {
            self.put(slot, running);
            None
        }
    }

    /// Starts a job for another one: it begins when it has its blocks, but not before the job that
    /// is worked on now is in its place.
    pub(super) fn start(
        &mut self,
        slot: u32,
        running: RunningJob<JobKind>,
        blocks: &Range<u64>,
        exclusive: bool,
    ) {
        if let Some(running) = self.take_blocks(slot, running, blocks, exclusive) {
            self.put(slot, running);
            self.follow.push_back(Follow::Begin { slot });
        }
    }

    /// Gives the job's blocks back.
    pub(super) fn release<J>(&mut self, slot: u32, running: &mut RunningJob<J>) {
        if std::mem::take(&mut running.in_ranges) {
            let granted = self.shared.state().ranges.release(self.holder(slot), &self.waiter);
            self.nudge_if(granted);
        }
    }

    /// Has a virtual reactor go round once more where another job was granted its blocks.
    pub(super) fn nudge_if(&self, granted: bool) {
        if granted && self.reactor.clock() == Clock::Virtual {
            self.reactor.nudge();
        }
    }

    /// The job is done: the owner hears of it, or the job that wanted it.
    pub(super) fn finish<J: Ends>(&mut self, slot: u32, mut running: RunningJob<J>) {
        self.release(slot, &mut running);
        self.table.remove(slot);
        let RunningJob { tag, job, error, .. } = running;
        match job.outcome() {
            Outcome::Owner(buffer) => {
                self.owned -= 1;
                self.ready.push(Completion { tag, buffer, result: error.map_or(Ok(()), Err) });
            }
            Outcome::Child { parent } => self.follow.push_back(Follow::EndChild { parent, error }),
        }
    }
}

/// The tag of a command: its job, and its number in the step.
pub(super) fn below_tag(slot: u32, part: usize) -> u64 {
    u64::from(slot) << 32 | part as u64
}

/// An error of the store.
pub(super) fn at_store(error: Error) -> Error {
    error.at(catalogue::CACHE_DEVICE)
}

/// A buffer for blocks on their way between the two devices.
pub(super) fn bounce(length: u64) -> BufMut {
    BufMut::zeroed(length as usize)
}

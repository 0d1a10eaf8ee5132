//! What is done for a cache while it is used: dirty blocks are written out before a request has to
//! wait for that, and a cache in memory changes its size.
//!
//! ```text
//!   % dirty
//!    dirty ------------------ writes that find more dirty write some out themselves
//!     high ------------------ above: the upkeep writes out, at its rate, ...
//!      low ------------------ ... down to here
//!        0 ------------------ idle for so long: it writes all out
//! ```
//!
//! Nothing of this happens by itself: its owner polls it. A cache without upkeep is written out by
//! its flushes, and by writes that find too much dirty.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use block::{
    Blocking, Channel, Completion, DiscardSupport, Error, ErrorKind, Op, Reactor, Request, Time,
    size_text,
};
use reactor::Source;
use words::statement;

use super::channel::CacheChannel;
use super::job::Purpose;
use super::options::CacheMode;
use super::state::CacheState;
use super::status::CacheHandle;
use crate::catalogue;
use crate::policy::{Slot, check_slots};

/// How often it is looked at whether there is anything to write out.
const ROUND: Duration = Duration::from_millis(250);
/// The rate that is shown is that of the last few rounds.
const ROUNDS_SHOWN: usize = 5;
/// The most that is written out before it is looked again, in bytes.
const BATCH_BYTES: u64 = 4 << 20;
/// With a rate, what is written out at a time takes about this long.
const BATCH_TIME: Duration = Duration::from_millis(250);
/// How many runs a batch has at most.
const BATCH_RUNS: usize = 256;

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Nothing.
    None,
    /// A batch is being written out.
    Batch { began: Time, written_before: u64 },
    /// What was written out is made to last, and slots are made free.
    Settle,
    /// The slots from the first number on are being emptied; there were as many as the second says.
    Shrink { slots: Slot, before: Slot },
}

/// The upkeep of a cache, on one reactor, whose owner polls it. It keeps the cache open: it has to
/// go before the cache is closed.
pub struct CacheUpkeep {
    channel: CacheChannel,
    source: Source,
    task: Task,
    /// The size that was asked for, in slots.
    asked: Option<Slot>,
    /// It holds the right to change the size.
    resizing: bool,
    /// The next round, whose timer is set.
    next_round: Option<Time>,
    /// The timer that ends a pause for the sake of the rate.
    pause_until: Option<Time>,
    /// Requests counted when it was looked last, and since when there were no others.
    activity: u64,
    quiet_since: Time,
    /// More than `high` was dirty, and since then never as little as `low`.
    draining: bool,
    /// Something was written out since it was last made to last.
    unsettled: bool,
    /// What had been written out at the last few rounds, in bytes.
    written: VecDeque<(Time, u64)>,
    done: Vec<Completion>,
}

impl CacheUpkeep {
    /// The upkeep of a cache.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`] when the cache was closed, and as [`block::Device::open`].
    pub fn open(cache: &CacheHandle, reactor: &Reactor) -> Result<CacheUpkeep, Error> {
        let shared =
            cache.shared.upgrade().ok_or_else(|| Error::new(ErrorKind::Gone, catalogue::CLOSED))?;
        Ok(CacheUpkeep {
            channel: CacheChannel::open(&shared, 1, reactor)?,
            source: reactor.source(),
            task: Task::None,
            asked: None,
            resizing: false,
            next_round: None,
            pause_until: None,
            activity: 0,
            quiet_since: reactor.now(),
            draining: false,
            unsettled: false,
            written: VecDeque::new(),
            done: Vec::new(),
        })
    }

    /// Begins to give a cache in memory another size, in bytes, rounded down to whole blocks;
    /// [`CacheUpkeep::poll`] says how that ended. What the cache holds stays as long as there is
    /// room; where there is not, it is written out if it is dirty. Requests go on meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a store that is kept, [`ErrorKind::Invalid`] for a size that
    /// it cannot have, [`ErrorKind::Busy`] when it is being given another size already.
    pub fn resize(&mut self, size_bytes: u64) -> Result<(), Error> {
        let shared = self.channel.shared();
        if shared.kept.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, catalogue::SIZE_IS_THE_DEVICES));
        }
        let most = shared.store.info().size_bytes;
        if size_bytes > most {
            let (size, most) = (size_text(size_bytes), size_text(most));
            let text = statement!(catalogue::MORE_THAN_IT_CAN_HAVE, size = size, most = most);
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let slots = check_slots(size_bytes / shared.shape.block_bytes)?;
        if shared.resizing.swap(true, Ordering::AcqRel) {
            return Err(Error::new(ErrorKind::Busy, catalogue::BEING_RESIZED));
        }
        self.resizing = true;
        self.asked = Some(slots);
        Ok(())
    }

    /// Goes as far as it goes without waiting, and says how a change of size ended, if one did. The
    /// reactor wakes its owner when there is more to do.
    pub fn poll(&mut self) -> Option<Result<(), Error>> {
        let now = self.source.reactor().now();
        while self.source.take().is_some() {}
        self.pause_until = self.pause_until.filter(|until| *until > now);
        if self.next_round.is_none_or(|round| round <= now) {
            self.look(now);
        }
        let mut resized = None;
        loop {
            self.channel.poll(&mut self.done);
            if let Some(completion) = self.done.pop() {
                resized = self.end_task(completion.result).or(resized);
            } else if self.task != Task::None {
                break;
            } else if let Some(slots) = self.asked.take() {
                resized = self.begin_resize(slots).or(resized);
            } else if !self.begin_due() {
                break;
            }
        }
        resized
    }

    fn is_write_back(&self) -> bool {
        self.channel.shared().options.mode == CacheMode::WriteBack
    }

    /// A round: the figures that are shown, and when the next one is.
    fn look(&mut self, now: Time) {
        if !self.is_write_back() {
            return;
        }
        let shared = self.channel.shared();
        let written = shared.state().counts.written_out * shared.shape.block_bytes;
        if self.written.len() == ROUNDS_SHOWN {
            self.written.pop_front();
        }
        self.written.push_back((now, written));
        if let Some((first, before)) = self.written.front() {
            let seconds = now.since(*first).as_secs_f64();
            let rate = if seconds > 0.0 { (written - before) as f64 / seconds } else { 0.0 };
            shared.write_out_rate.store(rate as u64, Ordering::Relaxed);
        }
        let next = now + ROUND;
        self.next_round = Some(next);
        self.source.at(next, 0);
    }

    /// How many dirty blocks are to be written out now.
    fn due_blocks(&mut self, state: &CacheState) -> u64 {
        let (options, dirty) =
            (self.channel.shared().options.keeping, u64::from(state.dirty_slots()));
        let part = |percent: u8| u64::from(state.limit) * u64::from(percent) / 100;
        let now = self.source.reactor().now();
        let counts = &state.counts;
        let activity =
            counts.read_hits + counts.read_misses + counts.write_hits + counts.write_misses;
        if activity != self.activity {
            (self.activity, self.quiet_since) = (activity, now);
        }
        let low = part(options.low_percent);
        self.draining = dirty > part(options.high_percent) || (self.draining && dirty > low);
        match options.idle {
            Some(idle) if now.since(self.quiet_since) >= idle => dirty,
            _ if self.draining => dirty - low,
            _ => 0,
        }
    }

    /// Begins what is due, if anything is.
    fn begin_due(&mut self) -> bool {
        let shared = Arc::clone(self.channel.shared());
        let may = || {
            shared.stop_reason().is_none()
                && shared.flush_failure().is_none()
                && !shared.write_out_failed.load(Ordering::Acquire)
        };
        if !self.is_write_back() || self.pause_until.is_some() || !may() {
            return false;
        }
        let mut state = shared.state();
        let due = self.due_blocks(&state);
        if due == 0 {
            drop(state);
            if !std::mem::take(&mut self.unsettled) {
                return false;
            }
            self.settle();
            return true;
        }
        // A write is busy with it.
        if shared.writing_out.swap(true, Ordering::AcqRel) {
            return false;
        }
        let bytes = shared.options.keeping.rate_bytes_per_second.map_or(BATCH_BYTES, |rate| {
            ((rate as f64 * BATCH_TIME.as_secs_f64()) as u64)
                .clamp(shared.shape.block_bytes, BATCH_BYTES)
        });
        let runs =
            shared.swept_runs(&mut state, BATCH_RUNS, due.min(bytes / shared.shape.block_bytes));
        let written_before = state.counts.written_out;
        drop(state);
        self.unsettled = true;
        self.task = Task::Batch { began: self.source.reactor().now(), written_before };
        self.channel.start_writing_out(0, runs, Purpose::Less);
        true
    }

    /// What was written out is made to last, and with a kept store its map says so, which makes
    /// slots free.
    fn settle(&mut self) {
        self.task = Task::Settle;
        if self.channel.shared().commits() {
            self.channel.submit(Request::new(0, Op::Flush));
        } else {
            self.channel.start_writing_out(0, Vec::new(), Purpose::Flush);
        }
    }

    /// What was under way has ended.
    fn end_task(&mut self, result: Result<(), Error>) -> Option<Result<(), Error>> {
        match std::mem::replace(&mut self.task, Task::None) {
            Task::Batch { began, written_before } => {
                let shared = self.channel.shared();
                shared.writing_out.store(false, Ordering::Release);
                if let Some(rate) = shared.options.keeping.rate_bytes_per_second {
                    let bytes = (shared.state().counts.written_out - written_before)
                        * shared.shape.block_bytes;
                    let until = began + Duration::from_secs_f64(bytes as f64 / rate as f64);
                    self.pause_until = Some(until);
                    self.source.at(until, 0);
                }
                if self.channel.should_free_slots() {
                    self.unsettled = false;
                    self.settle();
                }
                None
            }
            Task::Shrink { slots, before } => Some(self.end_shrink(slots, before, result)),
            // What failed is known to the cache, which tells the next flush.
            Task::Settle | Task::None => None,
        }
    }

    fn begin_resize(&mut self, slots: Slot) -> Option<Result<(), Error>> {
        let shared = Arc::clone(self.channel.shared());
        let mut state = shared.state();
        let before = state.directory.slots();
        if slots >= before {
            state.resize(slots);
            self.end_resize();
            return Some(Ok(()));
        }
        let blocks = state.retire(slots);
        drop(state);
        let mut runs: Vec<Range<u64>> = Vec::new();
        for block in blocks {
            match runs.last_mut() {
                Some(run) if run.end == block && block - run.start < shared.shape.run_blocks() => {
                    run.end += 1;
                }
                _ => runs.push(block..block + 1),
            }
        }
        self.task = Task::Shrink { slots, before };
        self.channel.start_writing_out(0, runs, Purpose::Retire);
        None
    }

    fn end_shrink(
        &mut self,
        slots: Slot,
        before: Slot,
        result: Result<(), Error>,
    ) -> Result<(), Error> {
        let shared = Arc::clone(self.channel.shared());
        self.end_resize();
        let mut state = shared.state();
        if let Err(error) = result {
            state.resize(before);
            let text = error.text().at(catalogue::SIZE_STAYS);
            return Err(Error::with_source(error.kind(), "", error).retold(text));
        }
        state.resize(slots);
        drop(state);
        let info = shared.store.info();
        if info.discard == DiscardSupport::None {
            return Ok(());
        }
        // Nothing lies there any more, and what cannot be reached is the owner's again.
        let offset = shared.shape.slot_offset(slots);
        let end = shared.shape.slot_offset(before);
        let mut store = Blocking::beside(&*shared.store)?;
        let longest = u64::from(info.max_request_bytes / info.block_bytes * info.block_bytes);
        (offset..end).step_by(longest as usize).try_for_each(|offset| {
            let length = longest.min(end - offset);
            store.run(Op::Discard { offset, length }).map(drop)
        })
    }

    fn end_resize(&mut self) {
        if std::mem::take(&mut self.resizing) {
            self.channel.shared().resizing.store(false, Ordering::Release);
        }
    }
}

/// Upkeep that ends in the middle leaves the cache as it can be used: with the size that it had.
impl Drop for CacheUpkeep {
    fn drop(&mut self) {
        match self.task {
            Task::Batch { .. } => self.channel.shared().writing_out.store(false, Ordering::Release),
            Task::Shrink { before, .. } => self.channel.shared().state().resize(before),
            Task::Settle | Task::None => (),
        }
        self.end_resize();
    }
}

//! One owner's requests on a cache, and the write-outs that they bring about.
//!
//! ```text
//! read       Waiting > Fetch > Fill             one that the store has in one piece is a hit: a command, and no more
//! write      Waiting > Patch > Data > Children       it has completed for everybody else after Data
//! flush                Children > Sync
//! commit     Waiting > Sync > Pages > SyncPages      a flush of a store that is kept
//! write-out  Waiting > Load > Send                   a child of the two above
//! ```
//!
//! A step ends when all its commands have; steps without a command are left out. A job holds its
//! blocks until its last step has ended, but a write gives them back before it waits for
//! write-outs, which may be of the same blocks.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use block::{BufMut, Channel, Clock, Completion, Error, ErrorKind, Op, Reactor, Request, Returned};
use reactor::Woken;

use super::job::{Content, Hit, Job, Purpose, Read, Running, Step, Write};
use super::ranges::{Waiter, hold};
use super::{Shared, plan};
use crate::queued_channel::QueuedChannel;

/// Room for the parts of one request, however small the depth.
const DEPTH_MIN: u32 = 16;

pub(super) struct CacheChannel {
    pub(super) shared: Arc<Shared>,
    reactor: Reactor,
    number: u32,
    pub(super) store: QueuedChannel,
    pub(super) lower: QueuedChannel,
    waiter: Arc<Waiter>,
    /// Commands below carry the index of their job and their number in its step.
    pub(super) jobs: Vec<Option<Running>>,
    free: Vec<usize>,
    /// Requests of the owner among the jobs.
    pub(super) owned: u32,
    pub(super) closing: bool,
    raw: Vec<Completion>,
    /// Hits that have ended and still hold their blocks.
    hits: Vec<usize>,
    pub(super) ready: Vec<Completion>,
}

pub(super) fn below_tag(slot: usize, part: usize) -> u64 {
    (slot as u64) << 32 | part as u64
}

impl CacheChannel {
    pub(super) fn open(
        shared: &Arc<Shared>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<CacheChannel, Error> {
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
        let ringer = match reactor.clock() {
            Clock::Wall => {
                Some(reactor.ringer().map_err(|error| Error::from_io("cache: a bell", error))?)
            }
            Clock::Virtual => None,
        };
        Ok(CacheChannel {
            shared: Arc::clone(shared),
            reactor: reactor.clone(),
            number: shared.channels.fetch_add(1, Ordering::Relaxed),
            store,
            lower,
            waiter: Waiter::new(ringer),
            jobs: Vec::new(),
            free: Vec::new(),
            owned: 0,
            closing: false,
            raw: Vec::new(),
            hits: Vec::new(),
            ready: Vec::new(),
        })
    }

    pub(super) fn place(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() - 1
        })
    }

    /// Takes the blocks and begins, or queues for them.
    pub(super) fn start(
        &mut self,
        slot: usize,
        mut running: Running,
        blocks: &Range<u64>,
        exclusive: bool,
    ) {
        running.in_ranges = true;
        let hold = hold((self.number, slot), blocks, exclusive);
        if self.shared.state().ranges.take(hold, &self.waiter) {
            self.begin(slot, running);
        } else {
            self.jobs[slot] = Some(running);
        }
    }

    /// The job has its blocks.
    fn begin(&mut self, slot: usize, running: Running) {
        running.name_cause();
        match &running.job {
            Job::Read(_) => self.begin_read(slot, running),
            Job::Write(_) => self.begin_write(slot, running),
            Job::WriteOut(_) => self.begin_write_out(slot, running),
            Job::Commit(_) => self.begin_commit(slot, running),
            Job::Hit(_) | Job::Flush(_) => {
                unreachable!("a hit has its blocks from the start, and a flush takes none")
            }
        }
    }

    /// Gives the job's blocks back.
    pub(super) fn release(&mut self, slot: usize, running: &mut Running) {
        if std::mem::take(&mut running.in_ranges) {
            let granted = self.shared.state().ranges.release((self.number, slot), &self.waiter);
            if granted && self.reactor.clock() == Clock::Virtual {
                self.reactor.nudge();
            }
        }
    }

    /// Commands are under way, or the step has nothing to do.
    pub(super) fn wait_for(&mut self, slot: usize, running: Running) {
        if running.left == 0 {
            self.end_step(slot, running);
        } else {
            self.jobs[slot] = Some(running);
        }
    }

    /// Commands are about to be sent.
    pub(super) fn jobs_put(&mut self, slot: usize, running: Running) {
        self.jobs[slot] = Some(running);
    }

    /// Takes what came from below, and what comes of it. False when nothing was started: then there
    /// is nothing more to take.
    fn advance(&mut self) -> bool {
        let mut raw = std::mem::take(&mut self.raw);
        self.store.poll(&mut raw);
        self.pass_hits_on(&mut raw);
        let from_store = raw.len();
        self.lower.poll(&mut raw);
        let mut any = false;
        for (number, Completion { tag, buffer, result }) in raw.drain(..).enumerate() {
            let slot = (tag >> 32) as usize;
            // What was given up when the channel was closed is no request's any more.
            let Some(mut running) = self.jobs[slot].take() else { continue };
            if matches!(running.job, Job::Hit(_)) && result.is_ok() {
                self.ready.push(Completion { tag: running.tag, buffer, result });
                self.hits.push(slot);
                continue;
            }
            any = true;
            running.left -= 1;
            self.end_command(
                slot,
                &mut running,
                (tag & 0xffff_ffff) as usize,
                number < from_store,
                buffer,
                result,
            );
            self.wait_for(slot, running);
        }
        self.end_hits();
        self.raw = raw;
        for slot in self.waiter.take_granted() {
            any = true;
            if let Some(running) = self.jobs[slot].take() {
                self.begin(slot, running);
            }
        }
        any
    }

    /// What came from the store is mostly hits and nothing else: such go to the owner as they are,
    /// under their own tags.
    fn pass_hits_on(&mut self, raw: &mut Vec<Completion>) {
        let place = |completion: &Completion| (completion.tag >> 32) as usize;
        let is_hit = |completion: &Completion| {
            completion.result.is_ok()
                && matches!(&self.jobs[place(completion)], Some(Running { job: Job::Hit(_), .. }))
        };
        if raw.is_empty() || !raw.iter().all(is_hit) {
            return;
        }
        for completion in raw.iter_mut() {
            let slot = place(completion);
            if let Some(running) = self.jobs[slot].take() {
                completion.tag = running.tag;
            }
            self.hits.push(slot);
        }
        self.ready.append(raw);
        self.end_hits();
    }

    /// Gives back at once what the hits that have ended held.
    fn end_hits(&mut self) {
        if self.hits.is_empty() {
            return;
        }
        self.owned -= self.hits.len() as u32;
        let mut granted = false;
        {
            let mut state = self.shared.state();
            self.hits.iter().for_each(|&slot| {
                granted |= state.ranges.release((self.number, slot), &self.waiter);
            });
        }
        self.free.append(&mut self.hits);
        if granted && self.reactor.clock() == Clock::Virtual {
            self.reactor.nudge();
        }
    }

    fn end_command(
        &mut self,
        slot: usize,
        running: &mut Running,
        part: usize,
        from_store: bool,
        buffer: Returned,
        result: Result<(), Error>,
    ) {
        match &mut running.job {
            Job::Read(_) => self.end_read_command(slot, running, part, from_store, buffer, result),
            Job::Hit(hit) => {
                // The store has failed: what follows is that of a read in parts, of which this is
                // one.
                running.job = Job::Read(Box::new(hit.as_read(&self.shared.shape)));
                self.end_read_command(slot, running, part, from_store, buffer, result);
            }
            Job::Write(write) if running.step == Step::Patch => {
                write.patches.push((part, buffer.read()));
                keep_first(&mut running.error, result);
            }
            Job::Write(write) => {
                let failed = result.is_err();
                let pieces = write.carried.get(part).cloned().unwrap_or(0..0);
                for piece in &mut write.pieces[pieces] {
                    *if from_store { &mut piece.store_failed } else { &mut piece.lower_failed } |=
                        failed;
                }
                keep_first(
                    if from_store { &mut write.store_error } else { &mut write.lower_error },
                    result,
                );
                if !from_store {
                    self.shared.lower_written.store(true, Ordering::Release);
                }
            }
            Job::WriteOut(out) if running.step == Step::Load => {
                out.loaded[part] = Some(buffer.read());
                keep_first(&mut running.error, result);
            }
            Job::WriteOut(out) => {
                if result.is_err() {
                    out.failed.push(part);
                }
                keep_first(&mut running.error, result);
                self.shared.lower_written.store(true, Ordering::Release);
            }
            Job::Flush(_) => keep_first(&mut running.error, result),
            Job::Commit(_) => CacheChannel::end_commit_command(running, from_store, result),
        }
    }

    /// What the step has started is done.
    fn end_step(&mut self, slot: usize, mut running: Running) {
        running.name_cause();
        match (running.step, &running.job) {
            (Step::Fetch, _) => self.end_fetch(slot, running),
            (Step::Fill, _) => self.end_fill(slot, running),
            (Step::Patch, _) => self.end_patch(slot, running),
            (Step::Data, _) => self.end_data(slot, running),
            (Step::Load, _) => self.end_load(slot, running),
            (Step::Send, _) => self.end_send(slot, running),
            (Step::Children, Job::Flush(_)) => self.go_on_with_flush(slot, running),
            (_, Job::Commit(_)) => self.end_commit_step(slot, running),
            (Step::Children, _) if self.should_free_slots() => {
                running.step = Step::Committing;
                running.left = 1;
                self.jobs[slot] = Some(running);
                self.start_commit(0, Some(slot));
            }
            (Step::Children | Step::Committing, _) => {
                // The write has its data in the store; that others could not be written out is
                // not its failure.
                running.error = None;
                self.shared.writing_out.store(false, Ordering::Release);
                self.finish(slot, running);
            }
            (Step::Sync, _) => self.finish(slot, running),
            (Step::Waiting | Step::Pages | Step::SyncPages, _) => {
                unreachable!(
                    "nothing is sent while a job waits for its blocks, and only commits write pages"
                )
            }
        }
    }

    /// The job is done: the owner hears of it, or the job that wanted it.
    pub(super) fn finish(&mut self, slot: usize, mut running: Running) {
        self.release(slot, &mut running);
        self.free.push(slot);
        let Running { tag, job, error, .. } = running;
        let buffer = match job {
            Job::WriteOut(out) => return self.end_child(out.parent, error),
            Job::Commit(commit) => match commit.parent {
                Some(parent) => return self.end_child(parent, error),
                None => Returned::Nothing,
            },
            Job::Read(read) => {
                let mut whole = read.into;
                read.parts
                    .into_iter()
                    .filter_map(|part| part.into)
                    .for_each(|part| whole.append(part));
                Returned::Read(whole)
            }
            Job::Hit(_) => unreachable!("a hit ends with its command"),
            Job::Write(write) => match write.content {
                Content::Data(from) => Returned::Written(from),
                Content::Zeroes | Content::Discard => Returned::Nothing,
            },
            Job::Flush(flush) => {
                if let Some(error) =
                    error.as_ref().filter(|_| flush.purpose == Purpose::OwnersFlush)
                {
                    self.shared.let_flushes_fail(error.repeat());
                }
                Returned::Nothing
            }
        };
        self.owned -= 1;
        self.ready.push(Completion { tag, buffer, result: error.map_or(Ok(()), Err) });
    }

    fn end_child(&mut self, parent: usize, error: Option<Error>) {
        let Some(mut running) = self.jobs[parent].take() else { return };
        running.left -= 1;
        if let Some(error) = error {
            running.error.get_or_insert(error);
        }
        let goes_on = match &running.job {
            Job::Flush(flush) => !flush.starting,
            _ => running.left == 0,
        };
        if goes_on && !self.closing {
            self.end_step(parent, running);
        } else {
            self.jobs[parent] = Some(running);
        }
    }
}

/// Keeps the first error.
pub(super) fn keep_first(error: &mut Option<Error>, result: Result<(), Error>) {
    if let Err(failed) = result {
        error.get_or_insert(failed);
    }
}

impl Channel for CacheChannel {
    fn submit(&mut self, mut request: Request) {
        if let Err(error) = self.shared.info.check(&request.op) {
            self.ready.push(request.complete(Err(error.at("cache"))));
            return;
        }
        if let Some(error) = self.shared.stop_reason() {
            self.ready.push(request.complete(Err(error)));
            return;
        }
        let (tag, op) = (request.tag, &mut request.op);
        let Some((offset, length)) = op.range() else { return self.start_flush(tag) };
        let shape = self.shared.shape;
        let blocks = shape.range(offset, length);
        let distrusted = self.shared.is_distrusted();
        let (is_read, carries_data) =
            (matches!(op, Op::Read { .. }), matches!(op, Op::Read { .. } | Op::Write { .. }));
        let slot = self.place();
        self.owned += 1;
        let (outside, all_here, hit) = {
            let mut state = self.shared.state();
            let outside = carries_data && state.admission.request(offset, length);
            let together = if is_read && !distrusted && length <= shape.store_max_bytes {
                plan::together(&state, blocks.clone())
            } else {
                None
            };
            let hit = together
                .filter(|_| state.ranges.take_free(hold((self.number, slot), &blocks, false)));
            if let Some(first) = hit {
                state.hit_all(first, blocks.end - blocks.start);
            }
            (outside, is_read && hit.is_none() && state.has_all(blocks.clone()), hit)
        };
        if let (Op::Read { offset: place, .. }, Some(first)) = (op, hit) {
            // The owner's request goes on as it is, to another place.
            *place = shape.slot_offset(first) + offset - shape.start(blocks.start);
            request.tag = below_tag(slot, 0);
            let mut running = Running::new(tag, Job::Hit(Hit { offset, length, first }));
            (running.step, running.left, running.in_ranges) = (Step::Fetch, 1, true);
            self.jobs[slot] = Some(running);
            return self.store.send(request);
        }
        let write = |content, fua| {
            let (pieces, patches, carried) = (Vec::new(), Vec::new(), Vec::new());
            Job::Write(Box::new(Write {
                content,
                offset,
                length,
                fua,
                outside,
                pieces,
                patches,
                carried,
                store_error: None,
                lower_error: None,
            }))
        };
        let (job, exclusive) = match request.op {
            Op::Read { into, .. } => {
                let fill = !all_here && !outside && !distrusted;
                let (parts, filling, carried) = (Vec::new(), Vec::new(), Vec::new());
                (
                    Job::Read(Box::new(Read {
                        offset,
                        length,
                        fill,
                        into,
                        parts,
                        filling,
                        carried,
                    })),
                    fill,
                )
            }
            Op::Write { from, fua, .. } => (write(Content::Data(from), fua), true),
            Op::WriteZeroes { fua, .. } => (write(Content::Zeroes, fua), true),
            Op::Discard { .. } => (write(Content::Discard, false), true),
            Op::Flush => unreachable!("a flush has no range"),
        };
        self.start(slot, Running::new(tag, job), &blocks, exclusive);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        // A step that ends without waiting wakes no owner, so what was started here is polled for
        // here.
        while self.advance() {}
        if self.ready.is_empty() {
            self.store.poll_idle();
            self.lower.poll_idle();
        }
        done.append(&mut self.ready);
    }

    fn in_flight(&self) -> u32 {
        self.owned + self.ready.len() as u32
    }
}

/// A write that is under way could land after a newer one of the next channel. So a channel that is
/// dropped begins nothing more, but sees the writes through that it has sent, and gives its blocks
/// back when they have ended.
impl Drop for CacheChannel {
    fn drop(&mut self) {
        self.closing = true;
        let mut writing_out = false;
        for slot in 0..self.jobs.len() {
            let Some(mut running) = self.jobs[slot].take() else { continue };
            match running.step {
                Step::Waiting | Step::Fetch | Step::Patch | Step::Load => {
                    self.release(slot, &mut running);
                }
                Step::Sync => {
                    self.give_up_commit(&mut running);
                    self.release(slot, &mut running);
                }
                Step::Children | Step::Committing => {
                    writing_out |= matches!(running.job, Job::Write(_));
                }
                Step::Fill | Step::Data | Step::Send | Step::Pages | Step::SyncPages => {
                    self.jobs[slot] = Some(running);
                }
            }
        }
        while self.jobs.iter().any(Option::is_some) && !std::thread::panicking() {
            if !self.advance()
                && !matches!(self.reactor.wait_for_more(), Ok(woken) if woken != Woken::Idle)
            {
                break;
            }
        }
        if writing_out {
            self.shared.writing_out.store(false, Ordering::Release);
        }
        let stuck: Vec<usize> =
            (0..self.jobs.len()).filter(|&slot| self.jobs[slot].is_some()).collect();
        if !stuck.is_empty() {
            let text = "cache: a device never answered to a write, and nobody knows what it holds";
            self.shared.let_flushes_fail(Error::new(ErrorKind::TimedOut, text));
        }
        for slot in stuck {
            if let Some(mut running) = self.jobs[slot].take() {
                self.give_up_commit(&mut running);
                self.release(slot, &mut running);
            }
        }
    }
}

/// A buffer for blocks on their way between the two devices.
pub(super) fn bounce(length: u64) -> BufMut {
    BufMut::zeroed(length as usize)
}

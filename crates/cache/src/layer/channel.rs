//! One owner's requests on a cache, and the write-outs that they bring about.
//!
//! The jobs and their steps are drawn in `job`. A step ends when all its commands have; steps
//! without a command are left out. A job holds its blocks until its last step has ended, but a
//! write gives them back before it waits for write-outs, which may be of the same blocks.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use block::{
    BufMut, Channel, Clock, Completion, Error, ErrorKind, Op, Reactor, Request, Slots, Waiter,
};
use reactor::Woken;

use super::job::{
    Asked, AskedRead, AskedWrite, CommitStep, Content, Ended, Ends, Hit, Job, Outcome, ReadStep,
    Running, WriteOutStep, WriteStep,
};
use super::ranges::hold;
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
    pub(super) jobs: Slots<Job>,
    /// Requests of the owner among the jobs.
    pub(super) owned: u32,
    pub(super) closing: bool,
    raw: Vec<Completion>,
    /// Hits that have ended and still hold their blocks.
    hits: Vec<u32>,
    pub(super) ready: Vec<Completion>,
}

pub(super) fn below_tag(slot: u32, part: usize) -> u64 {
    u64::from(slot) << 32 | part as u64
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
        Ok(CacheChannel {
            shared: Arc::clone(shared),
            reactor: reactor.clone(),
            number: shared.channels.fetch_add(1, Ordering::Relaxed),
            store,
            lower,
            waiter: Waiter::on(reactor, "the ranges of the cache")?,
            jobs: Slots::default(),
            owned: 0,
            closing: false,
            raw: Vec::new(),
            hits: Vec::new(),
            ready: Vec::new(),
        })
    }

    pub(super) fn place(&mut self) -> u32 {
        self.jobs.reserve()
    }

    /// Puts a job into its place: commands of it are under way, or are about to be sent.
    pub(super) fn put<J>(&mut self, slot: u32, running: Running<J>)
    where
        Job: From<Running<J>>,
    {
        self.jobs.put(slot, running.into());
    }

    /// Takes the blocks and begins, or queues for them.
    pub(super) fn start(
        &mut self,
        slot: u32,
        mut running: Running<Asked>,
        blocks: &Range<u64>,
        exclusive: bool,
    ) {
        running.in_ranges = true;
        let hold = hold((self.number, slot), blocks, exclusive);
        if self.shared.state().ranges.take(hold, &self.waiter) {
            self.begin(slot, running);
        } else {
            self.put(slot, running);
        }
    }

    /// The job has its blocks.
    fn begin(&mut self, slot: u32, running: Running<Asked>) {
        let (running, asked) = running.split();
        match asked {
            Asked::Read(read) => self.begin_read(slot, running.with(read)),
            Asked::Write(write) => self.begin_write(slot, running.with(write)),
            Asked::WriteOut(out) => self.begin_write_out(slot, running.with(out)),
            Asked::Commit(commit) => self.begin_commit(slot, running.with(commit)),
        }
    }

    /// Gives the job's blocks back.
    pub(super) fn release<J>(&mut self, slot: u32, running: &mut Running<J>) {
        if std::mem::take(&mut running.in_ranges) {
            let granted = self.shared.state().ranges.release((self.number, slot), &self.waiter);
            if granted && self.reactor.clock() == Clock::Virtual {
                self.reactor.nudge();
            }
        }
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
            let slot = (tag >> 32) as u32;
            // What was given up when the channel was closed is no request's any more.
            let Some(job) = self.jobs.take(slot) else { continue };
            let (from_store, part) = (number < from_store, (tag & 0xffff_ffff) as usize);
            let ended = Ended { number: part, from_store, buffer, result };
            any |= self.end_command(slot, job, ended);
        }
        self.end_hits();
        self.raw = raw;
        let mut granted = Vec::new();
        self.waiter.take_granted(&mut granted);
        for slot in granted {
            any = true;
            match self.jobs.take(slot) {
                Some(Job::Waiting(running)) => self.begin(slot, running),
                Some(other) => self.jobs.put(slot, other),
                None => (),
            }
        }
        any
    }

    /// What came from the store is mostly hits and nothing else: such go to the owner as they are,
    /// under their own tags.
    fn pass_hits_on(&mut self, raw: &mut Vec<Completion>) {
        let place = |completion: &Completion| (completion.tag >> 32) as u32;
        let is_hit = |completion: &Completion| {
            completion.result.is_ok()
                && matches!(self.jobs.get(place(completion)), Some(Job::Hit(_)))
        };
        if raw.is_empty() || !raw.iter().all(is_hit) {
            return;
        }
        for completion in raw.iter_mut() {
            let slot = place(completion);
            if let Some(Job::Hit(running)) = self.jobs.take(slot) {
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
        for slot in self.hits.drain(..) {
            self.jobs.remove(slot);
        }
        if granted && self.reactor.clock() == Clock::Virtual {
            self.reactor.nudge();
        }
    }

    /// A command of a job has ended. False when it was a hit: nothing follows from that.
    fn end_command(&mut self, slot: u32, job: Job, ended: Ended) -> bool {
        match job {
            Job::Hit(hit) if ended.result.is_ok() => {
                let Ended { buffer, result, .. } = ended;
                self.ready.push(Completion { tag: hit.tag, buffer, result });
                self.hits.push(slot);
                return false;
            }
            // The store has failed: what follows is that of a read in parts, of which this is one.
            Job::Hit(hit) => {
                let (running, hit) = hit.split();
                let read = hit.as_read(&self.shared.shape);
                self.end_read_command(slot, running.with(read), ended);
            }
            Job::Read(read) => self.end_read_command(slot, read, ended),
            Job::Write(write) => self.end_write_command(slot, write, ended),
            Job::WriteOut(out) => self.end_write_out_command(slot, out, ended),
            Job::Flush(flush) => self.end_flush_command(slot, flush, ended),
            Job::Commit(commit) => self.end_commit_command(slot, commit, ended),
            Job::Waiting(waiting) => {
                debug_assert!(false, "nothing is sent while a job waits for its blocks");
                self.put(slot, waiting);
            }
        }
        true
    }

    /// The job is done: the owner hears of it, or the job that wanted it.
    pub(super) fn finish<J: Ends>(&mut self, slot: u32, mut running: Running<J>) {
        self.release(slot, &mut running);
        self.jobs.remove(slot);
        let Running { tag, job, error, .. } = running;
        match job.outcome() {
            Outcome::Owner(buffer) => {
                self.owned -= 1;
                self.ready.push(Completion { tag, buffer, result: error.map_or(Ok(()), Err) });
            }
            Outcome::Child { parent } => self.end_child(parent, error),
        }
    }

    fn end_child(&mut self, parent: u32, error: Option<Error>) {
        match self.jobs.take(parent) {
            Some(Job::Flush(mut running)) => {
                running.note(error.map_or(Ok(()), Err));
                self.end_child_of_flush(parent, running);
            }
            Some(Job::Write(running)) => self.end_child_of_write(parent, running),
            // When the channel is closed, what others were started for is given up.
            other => {
                debug_assert!(other.is_none(), "only flushes and writes start other jobs");
                if let Some(other) = other {
                    self.jobs.put(parent, other);
                }
            }
        }
    }
}

impl CacheChannel {
    fn start_read(&mut self, tag: u64, offset: u64, into: BufMut) {
        let (shape, length) = (self.shared.shape, into.len() as u64);
        let blocks = shape.range(offset, length);
        let distrusted = self.shared.is_distrusted();
        let slot = self.place();
        self.owned += 1;
        let (outside, all_here, hit) = {
            let mut state = self.shared.state();
            let outside = state.admission.request(offset, length);
            let together = if !distrusted && length <= shape.store_max_bytes {
                plan::together(&state, blocks.clone())
            } else {
                None
            };
            let hit = together
                .filter(|_| state.ranges.take_free(hold((self.number, slot), &blocks, false)));
            if let Some(first) = hit {
                state.hit_all(first, blocks.end - blocks.start);
            }
            (outside, hit.is_none() && state.has_all(blocks.clone()), hit)
        };
        if let Some(first) = hit {
            let mut running = Running::new(tag, Hit { offset, length, first });
            (running.left, running.in_ranges) = (1, true);
            self.put(slot, running);
            // The owner's request goes on as it is, to another place.
            let offset = shape.slot_offset(first) + offset - shape.start(blocks.start);
            return self.store.send(Request::new(below_tag(slot, 0), Op::Read { offset, into }));
        }
        let fill = !all_here && !outside && !distrusted;
        let asked = Asked::Read(AskedRead { offset, length, fill, into });
        self.start(slot, Running::new(tag, asked), &blocks, fill);
    }

    fn start_write(&mut self, tag: u64, content: Content, offset: u64, length: u64, fua: bool) {
        let blocks = self.shared.shape.range(offset, length);
        let slot = self.place();
        self.owned += 1;
        let outside = content.is_data() && self.shared.state().admission.request(offset, length);
        let asked = Asked::Write(AskedWrite { content, offset, length, fua, outside });
        self.start(slot, Running::new(tag, asked), &blocks, true);
    }
}

impl Channel for CacheChannel {
    fn submit(&mut self, request: Request) {
        if let Err(error) = self.shared.info.check(&request.op) {
            self.ready.push(request.complete(Err(error.at("cache"))));
            return;
        }
        if let Some(error) = self.shared.stop_reason() {
            self.ready.push(request.complete(Err(error)));
            return;
        }
        let tag = request.tag;
        let (content, offset, length, fua) = match request.op {
            Op::Flush => return self.start_flush(tag),
            Op::Read { offset, into } => return self.start_read(tag, offset, into),
            Op::Write { offset, from, fua } => {
                let length = from.len() as u64;
                (Content::Data(from), offset, length, fua)
            }
            Op::WriteZeroes { offset, length, fua } => (Content::Zeroes, offset, length, fua),
            Op::Discard { offset, length } => (Content::Discard, offset, length, false),
        };
        self.start_write(tag, content, offset, length, fua);
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
        for slot in self.jobs.keys() {
            match self.jobs.take(slot) {
                Some(Job::Waiting(mut running)) => self.release(slot, &mut running),
                Some(Job::Hit(mut running)) => self.release(slot, &mut running),
                Some(Job::Read(mut running)) => match running.job.step {
                    ReadStep::Fetch => self.release(slot, &mut running),
                    ReadStep::Fill { .. } => self.put(slot, running),
                },
                Some(Job::Write(mut running)) => match running.job.step {
                    WriteStep::Patch { .. } => self.release(slot, &mut running),
                    WriteStep::Data(_) => self.put(slot, running),
                    WriteStep::WritingOut | WriteStep::Committing => writing_out = true,
                },
                Some(Job::WriteOut(mut running)) => match running.job.step {
                    WriteOutStep::Load { .. } => self.release(slot, &mut running),
                    WriteOutStep::Send { .. } => self.put(slot, running),
                },
                Some(Job::Commit(mut running)) => match running.job.step {
                    CommitStep::Sync => {
                        self.give_up_commit(&running.job);
                        self.release(slot, &mut running);
                    }
                    CommitStep::Pages | CommitStep::SyncPages => self.put(slot, running),
                },
                Some(Job::Flush(_)) | None => (),
            }
        }
        while self.jobs.iter().next().is_some() && !std::thread::panicking() {
            if !self.advance()
                && !matches!(self.reactor.wait_for_more(), Ok(woken) if woken != Woken::Idle)
            {
                break;
            }
        }
        if writing_out {
            self.shared.writing_out.store(false, Ordering::Release);
        }
        let stuck: Vec<u32> = self.jobs.iter().map(|(slot, _)| slot).collect();
        if !stuck.is_empty() {
            let text = "cache: a device never answered to a write, and nobody knows what it holds";
            self.shared.let_flushes_fail(Error::new(ErrorKind::TimedOut, text));
        }
        for slot in stuck {
            match self.jobs.take(slot) {
                Some(Job::Read(mut running)) => self.release(slot, &mut running),
                Some(Job::Write(mut running)) => self.release(slot, &mut running),
                Some(Job::WriteOut(mut running)) => self.release(slot, &mut running),
                Some(Job::Commit(mut running)) => {
                    self.give_up_commit(&running.job);
                    self.release(slot, &mut running);
                }
                // These were given up before.
                Some(Job::Waiting(_) | Job::Hit(_) | Job::Flush(_)) | None => (),
            }
        }
    }
}

/// An error of the store.
pub(super) fn at_store(error: Error) -> Error {
    error.at("the cache's device")
}

/// A buffer for blocks on their way between the two devices.
pub(super) fn bounce(length: u64) -> BufMut {
    BufMut::zeroed(length as usize)
}

//! One owner's requests on a cache, and the write-outs that they bring about.
//!
//! The jobs and their steps are drawn in `job`. A step ends when all its commands have; steps
//! without a command are left out. A job holds its blocks until its last step has ended, but a
//! write gives them back before it waits for write-outs, which may be of the same blocks.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use block::{BufMut, Channel, Completion, Error, ErrorKind, Op, Reactor, Request};
use reactor::WakeReason;

use super::job::{
    AskedRead, AskedWrite, CommitStep, Content, Hit, Job, JobCommandEnd, JobKind, Purpose,
    ReadStep, RunningJob, WriteOutStep, WriteStep,
};
use super::jobs::{Follow, Jobs, below_tag};
use super::plan;
use super::ranges::hold;
use super::shared::CacheCore;
use crate::catalogue;

/// A channel of a cache.
pub(super) struct CacheChannel {
    jobs: Jobs,
    raw: Vec<Completion>,
    /// Hits that have ended and still hold their blocks.
    hits: Vec<u32>,
    /// Jobs that were granted their blocks: memory of polls.
    granted: Vec<u32>,
}

impl CacheChannel {
    pub(super) fn open(
        shared: &Arc<CacheCore>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<CacheChannel, Error> {
        let jobs = Jobs::open(shared, depth, reactor)?;
        Ok(CacheChannel { jobs, raw: Vec::new(), hits: Vec::new(), granted: Vec::new() })
    }

    pub(super) fn shared(&self) -> &Arc<CacheCore> {
        &self.jobs.shared
    }

    /// Starts writing these runs out, the first first. That is a request of the owner.
    pub(super) fn start_writing_out(&mut self, tag: u64, runs: Vec<Range<u64>>, purpose: Purpose) {
        self.jobs.start_writing_out(tag, runs, purpose);
        self.follow();
    }

    /// Starts writing out what is dirty now, the lowest addresses first, up to about so many bytes.
    /// That is a request of the owner.
    pub(super) fn start_writing_dirty_out(&mut self, tag: u64, most_bytes: u64, purpose: Purpose) {
        self.jobs.start_writing_dirty_out(tag, most_bytes, purpose);
        self.follow();
    }

    /// Whether so many slots wait for the map to say that they are not dirty any more that it
    /// should be written.
    pub(super) fn should_free_slots(&self) -> bool {
        self.jobs.should_free_slots()
    }

    /// Does all that is to follow.
    fn follow(&mut self) {
        while let Some(follow) = self.jobs.follow.pop_front() {
            match follow {
                Follow::Begin { slot } => self.begin_waiting(slot),
                Follow::EndChild { parent, error } => self.end_child(parent, error),
            }
        }
    }

    /// A job in its place has its blocks.
    fn begin_waiting(&mut self, slot: u32) {
        match self.jobs.table.take(slot) {
            Some(Job::Waiting(running)) => self.begin(slot, running),
            Some(other) => self.jobs.table.put(slot, other),
            None => (),
        }
    }

    /// The job has its blocks.
    fn begin(&mut self, slot: u32, running: RunningJob<JobKind>) {
        let (running, asked) = running.split();
        match asked {
            JobKind::Read(read) => self.jobs.begin_read(slot, running.with(read)),
            JobKind::Write(write) => self.jobs.begin_write(slot, running.with(write)),
            JobKind::WriteOut(out) => self.jobs.begin_write_out(slot, running.with(out)),
            JobKind::Commit(commit) => self.jobs.begin_commit(slot, running.with(commit)),
        }
    }

    /// Takes what came from below, and what comes of it. False when nothing was started: then there
    /// is nothing more to take.
    fn advance(&mut self) -> bool {
        let mut raw = std::mem::take(&mut self.raw);
        self.jobs.store.poll(&mut raw);
        self.pass_hits_on(&mut raw);
        let from_store = raw.len();
        self.jobs.lower.poll(&mut raw);
        let mut any = false;
        for (number, Completion { tag, buffer, result }) in raw.drain(..).enumerate() {
            let slot = (tag >> 32) as u32;
            // What was given up when the channel was closed is no request's any more.
            let Some(job) = self.jobs.table.take(slot) else { continue };
            let (from_store, part) = (number < from_store, (tag & 0xffff_ffff) as usize);
            let ended = JobCommandEnd { number: part, from_store, buffer, result };
            any |= self.end_command(slot, job, ended);
            self.follow();
        }
        self.end_hits();
        self.raw = raw;
        let mut granted = std::mem::take(&mut self.granted);
        self.jobs.waiter.take_granted(&mut granted);
        any |= !granted.is_empty();
        for slot in granted.drain(..) {
            self.begin_waiting(slot);
            self.follow();
        }
        self.granted = granted;
        any
    }

    /// What came from the store is mostly hits and nothing else: such go to the owner as they are,
    /// under their own tags.
    fn pass_hits_on(&mut self, raw: &mut Vec<Completion>) {
        let place = |completion: &Completion| (completion.tag >> 32) as u32;
        let is_hit = |completion: &Completion| {
            completion.result.is_ok()
                && matches!(self.jobs.table.get(place(completion)), Some(Job::Hit(_)))
        };
        if raw.is_empty() || !raw.iter().all(is_hit) {
            return;
        }
        for completion in raw.iter_mut() {
            let slot = place(completion);
            if let Some(Job::Hit(running)) = self.jobs.table.take(slot) {
                completion.tag = running.tag;
            }
            self.hits.push(slot);
        }
        self.jobs.ready.append(raw);
        self.end_hits();
    }

    /// Gives back at once what the hits that have ended held.
    fn end_hits(&mut self) {
        if self.hits.is_empty() {
            return;
        }
        self.jobs.owned -= self.hits.len() as u32;
        let mut granted = false;
        {
            let mut state = self.jobs.shared.state();
            self.hits.iter().for_each(|&slot| {
                granted |= state.ranges.release(self.jobs.holder(slot), &self.jobs.waiter);
            });
        }
        for slot in self.hits.drain(..) {
            self.jobs.table.remove(slot);
        }
        self.jobs.nudge_if(granted);
    }

    /// A command of a job has ended. False when it was a hit: nothing follows from that.
    fn end_command(&mut self, slot: u32, job: Job, ended: JobCommandEnd) -> bool {
        match job {
            Job::Hit(hit) if ended.result.is_ok() => {
                let JobCommandEnd { buffer, result, .. } = ended;
                self.jobs.ready.push(Completion { tag: hit.tag, buffer, result });
                self.hits.push(slot);
                return false;
            }
            // The store has failed: what follows is that of a read in parts, of which this is one.
            Job::Hit(hit) => {
                let (running, hit) = hit.split();
                let read = hit.as_read(&self.jobs.shared.shape);
                self.jobs.end_read_command(slot, running.with(read), ended);
            }
            Job::Read(read) => self.jobs.end_read_command(slot, read, ended),
            Job::Write(write) => self.jobs.end_write_command(slot, write, ended),
            Job::WriteOut(out) => self.jobs.end_write_out_command(slot, out, ended),
            Job::Flush(flush) => self.jobs.end_flush_command(slot, flush, ended),
            Job::Commit(commit) => self.jobs.end_commit_command(slot, commit, ended),
            Job::Waiting(waiting) => {
                debug_assert!(false, "nothing is sent while a job waits for its blocks");
                self.jobs.put(slot, waiting);
            }
        }
        true
    }

    /// A job that was done for another has ended.
    fn end_child(&mut self, parent: u32, error: Option<Error>) {
        match self.jobs.table.take(parent) {
            Some(Job::Flush(mut running)) => {
                running.note(error.map_or(Ok(()), Err));
                self.jobs.end_child_of_flush(parent, running);
            }
            Some(Job::Write(running)) => self.jobs.end_child_of_write(parent, running),
            // When the channel is closed, what others were started for is given up.
            other => {
                debug_assert!(other.is_none(), "only flushes and writes start other jobs");
                if let Some(other) = other {
                    self.jobs.table.put(parent, other);
                }
            }
        }
    }
}

impl CacheChannel {
    fn start_read(&mut self, tag: u64, offset: u64, into: BufMut) {
        let (shape, length) = (self.jobs.shared.shape, into.len() as u64);
        let blocks = shape.range(offset, length);
        let distrusted = self.jobs.shared.is_distrusted();
        let slot = self.jobs.place();
        self.jobs.owned += 1;
        let (outside, all_here, hit) = {
            let mut state = self.jobs.shared.state();
            let outside = state.admission.request(offset, length);
            let together = if !distrusted && length <= shape.store_max_bytes {
                plan::together(&state, blocks.clone())
            } else {
                None
            };
            let hit = together
                .filter(|_| state.ranges.take_free(hold(self.jobs.holder(slot), &blocks, false)));
            if let Some(first) = hit {
                state.hit_all(first, blocks.end - blocks.start);
            }
            (outside, hit.is_none() && state.has_all(blocks.clone()), hit)
        };
        if let Some(first) = hit {
            let mut running = RunningJob::new(tag, Hit { offset, length, first });
            (running.left, running.in_ranges) = (1, true);
            self.jobs.put(slot, running);
            // The owner's request goes on as it is, to another place.
            let offset = shape.slot_offset(first) + offset - shape.start(blocks.start);
            return self
                .jobs
                .store
                .send(Request::new(below_tag(slot, 0), Op::Read { offset, into }));
        }
        let fill = !all_here && !outside && !distrusted;
        let asked = RunningJob::new(tag, JobKind::Read(AskedRead { offset, length, fill, into }));
        if let Some(running) = self.jobs.take_blocks(slot, asked, &blocks, fill) {
            self.begin(slot, running);
        }
    }

    fn start_write(&mut self, tag: u64, content: Content, offset: u64, length: u64, fua: bool) {
        let blocks = self.jobs.shared.shape.range(offset, length);
        let slot = self.jobs.place();
        self.jobs.owned += 1;
        let outside =
            content.is_data() && self.jobs.shared.state().admission.request(offset, length);
        let asked = AskedWrite { content, offset, length, fua, outside };
        let asked = RunningJob::new(tag, JobKind::Write(asked));
        if let Some(running) = self.jobs.take_blocks(slot, asked, &blocks, true) {
            self.begin(slot, running);
        }
    }
}

impl Channel for CacheChannel {
    fn submit(&mut self, request: Request) {
        if let Err(error) = self.jobs.shared.info.check(&request.op) {
            self.jobs.ready.push(request.complete(Err(error.at(catalogue::CACHE))));
            return;
        }
        if let Some(error) = self.jobs.shared.stop_reason() {
            self.jobs.ready.push(request.complete(Err(error)));
            return;
        }
        let tag = request.tag;
        let (content, offset, length, fua) = match request.op {
            Op::Flush => {
                self.jobs.start_flush(tag);
                return self.follow();
            }
            Op::Read { offset, into } => {
                self.start_read(tag, offset, into);
                return self.follow();
            }
            Op::Write { offset, from, fua } => {
                let length = from.len() as u64;
                (Content::Data(from), offset, length, fua)
            }
            Op::WriteZeroes { offset, length, fua } => (Content::Zeroes, offset, length, fua),
            Op::Discard { offset, length } => (Content::Discard, offset, length, false),
        };
        self.start_write(tag, content, offset, length, fua);
        self.follow();
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        // A step that ends without waiting wakes no owner, so what was started here is polled for
        // here.
        while self.advance() {}
        if self.jobs.ready.is_empty() {
            self.jobs.store.poll_idle();
            self.jobs.lower.poll_idle();
        }
        done.append(&mut self.jobs.ready);
    }

    fn in_flight(&self) -> u32 {
        self.jobs.owned + self.jobs.ready.len() as u32
    }
}

/// A write that is under way could land after a newer one of the next channel. So a channel that is
/// dropped begins nothing more, but sees the writes through that it has sent, and gives its blocks
/// back when they have ended.
impl Drop for CacheChannel {
    fn drop(&mut self) {
        self.jobs.closing = true;
        let mut writing_out = false;
        for slot in self.jobs.table.keys() {
            match self.jobs.table.take(slot) {
                Some(Job::Waiting(mut running)) => self.jobs.release(slot, &mut running),
                Some(Job::Hit(mut running)) => self.jobs.release(slot, &mut running),
                Some(Job::Read(mut running)) => match running.job.step {
                    ReadStep::Fetch => self.jobs.release(slot, &mut running),
                    ReadStep::Fill { .. } => self.jobs.put(slot, running),
                },
                Some(Job::Write(mut running)) => match running.job.step {
                    WriteStep::Patch { .. } => self.jobs.release(slot, &mut running),
                    WriteStep::Data(_) => self.jobs.put(slot, running),
                    WriteStep::WritingOut | WriteStep::Committing => writing_out = true,
                },
                Some(Job::WriteOut(mut running)) => match running.job.step {
                    WriteOutStep::Load { .. } => self.jobs.release(slot, &mut running),
                    WriteOutStep::Send { .. } => self.jobs.put(slot, running),
                },
                Some(Job::Commit(mut running)) => match running.job.step {
                    CommitStep::Sync => {
                        self.jobs.give_up_commit(&running.job);
                        self.jobs.release(slot, &mut running);
                    }
                    CommitStep::Pages | CommitStep::SyncPages => self.jobs.put(slot, running),
                },
                Some(Job::Flush(_)) | None => (),
            }
        }
        while self.jobs.table.iter().next().is_some() && !std::thread::panicking() {
            let is_idle = !self.advance();
            let waited = || self.jobs.reactor.wait_for_more();
            if is_idle && !matches!(waited(), Ok(woken) if woken != WakeReason::Idle) {
                break;
            }
        }
        if writing_out {
            self.jobs.shared.writing_out.store(false, Ordering::Release);
        }
        let stuck: Vec<u32> = self.jobs.table.iter().map(|(slot, _)| slot).collect();
        if !stuck.is_empty() {
            let error = Error::new(ErrorKind::TimedOut, catalogue::CACHE_WRITE_UNANSWERED);
            self.jobs.shared.let_flushes_fail(error);
        }
        for slot in stuck {
            match self.jobs.table.take(slot) {
                Some(Job::Read(mut running)) => self.jobs.release(slot, &mut running),
                Some(Job::Write(mut running)) => self.jobs.release(slot, &mut running),
                Some(Job::WriteOut(mut running)) => self.jobs.release(slot, &mut running),
                Some(Job::Commit(mut running)) => {
                    self.jobs.give_up_commit(&running.job);
                    self.jobs.release(slot, &mut running);
                }
                // These were given up before.
                Some(Job::Waiting(_) | Job::Hit(_) | Job::Flush(_)) | None => (),
            }
        }
    }
}

//! Writing out: what goes together, what asks for it, and the steps of each run.
//!
//! ```text
//! a flush over memory     all that is dirty       then a flush of the device below
//! a write, too much dirty a batch of the sweep    before it completes
//! its upkeep              a batch of the sweep    when the cache is idle, or too much is dirty
//! a smaller cache         what is in the slots that go, which leaves them
//! ```
//!
//! The sweep goes over the device from the lowest address to the highest and begins again.

use std::ops::Range;
use std::sync::atomic::Ordering;

use block::{BufMut, Op, Request};

use super::job::{
    AskedWriteOut, Flush, JobCommandEnd, JobKind, Purpose, RunningJob, Write, WriteOut,
    WriteOutStep, WriteStep,
};
use super::jobs::{Jobs, at_store, below_tag, bounce};
use super::options::CacheMode;
use super::plan;
use super::shared::CacheCore;
use super::state::CacheState;

/// How many runs a write that finds too much dirty writes out.
const BATCH_RUNS: usize = 32;
/// How many runs of one flush are under way together.
const FLUSH_RUNS: usize = 16;

impl CacheCore {
    /// What the sweep writes out next: up to so many runs, and no more once they have so many
    /// blocks.
    pub(super) fn swept_runs(
        &self,
        state: &mut CacheState,
        most_runs: usize,
        most_blocks: u64,
    ) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        let (mut asked, mut blocks) = (0, 0);
        while runs.len() < most_runs
            && blocks < most_blocks
            && asked < state.dirty_slots()
            && let Some(block) = state.next_dirty()
        {
            asked += 1;
            if runs.last().is_none_or(|run| !run.contains(&block)) {
                let run = plan::run(&self.shape, state, block);
                blocks += run.end - run.start;
                runs.push(run);
            }
        }
        runs
    }
}

impl Jobs {
    /// Starts writing out a run for a job.
    fn start_write_out(&mut self, parent: u32, blocks: Range<u64>, retires: bool) {
        let slot = self.place();
        let asked = AskedWriteOut { parent, blocks: blocks.clone(), retires };
        self.start(slot, RunningJob::new(0, JobKind::WriteOut(asked)), &blocks, retires);
    }

    pub(super) fn start_flush(&mut self, tag: u64) {
        if let Some(error) = self.shared.flush_failure() {
            self.ready.push(Request::new(tag, Op::Flush).complete(Err(error)));
            return;
        }
        if self.shared.commits() {
            return self.start_commit(tag, None);
        }
        self.start_writing_dirty_out(tag, u64::MAX, Purpose::OwnersFlush);
    }

    /// Starts writing out what is dirty now, the lowest addresses first, up to about so many bytes.
    pub(super) fn start_writing_dirty_out(&mut self, tag: u64, most_bytes: u64, purpose: Purpose) {
        let mut runs: Vec<Range<u64>> = Vec::new();
        if self.shared.options.mode == CacheMode::WriteBack {
            self.shared.write_out_failed.store(false, Ordering::Release);
            let (state, mut blocks_left) =
                (self.shared.state(), most_bytes / self.shared.shape.block_bytes);
            for block in state.dirty_blocks() {
                if runs.last().is_none_or(|run| run.end <= block) && blocks_left > 0 {
                    let run = plan::run(&self.shared.shape, &state, block);
                    blocks_left = blocks_left.saturating_sub(run.end - run.start);
                    runs.push(run);
                }
            }
        }
        self.start_writing_out(tag, runs, purpose);
    }

    /// Starts writing these runs out, the first first.
    pub(super) fn start_writing_out(
        &mut self,
        tag: u64,
        mut runs: Vec<Range<u64>>,
        purpose: Purpose,
    ) {
        runs.reverse();
        let slot = self.place();
        self.owned += 1;
        let running = RunningJob::new(tag, Flush { runs, purpose });
        self.go_on_with_flush(slot, running);
    }

    /// Keeps write-outs under way until none is left to start, and then makes it all durable if
    /// that is what it is for.
    fn go_on_with_flush(&mut self, slot: u32, mut running: RunningJob<Flush>) {
        running.name_cause();
        let purpose = running.job.purpose;
        while running.left < FLUSH_RUNS
            && let Some(blocks) = running.job.runs.pop()
        {
            running.left += 1;
            self.start_write_out(slot, blocks, purpose == Purpose::Retire);
        }
        if running.left > 0 {
            return self.put(slot, running);
        }
        if running.error.is_some() || matches!(purpose, Purpose::Less | Purpose::Retire) {
            return self.end_flush(slot, running);
        }
        running.left = 1;
        self.put(slot, running);
        self.lower.send(Request::new(below_tag(slot, 0), Op::Flush));
    }

    /// A write-out has ended.
    pub(super) fn end_child_of_flush(&mut self, slot: u32, mut running: RunningJob<Flush>) {
        running.left -= 1;
        self.go_on_with_flush(slot, running);
    }

    /// Its one command has ended: the flush of the device below.
    pub(super) fn end_flush_command(
        &mut self,
        slot: u32,
        mut running: RunningJob<Flush>,
        ended: JobCommandEnd,
    ) {
        running.note(ended.result);
        self.end_flush(slot, running);
    }

    fn end_flush(&mut self, slot: u32, running: RunningJob<Flush>) {
        if let Some(error) =
            running.error.as_ref().filter(|_| running.job.purpose == Purpose::OwnersFlush)
        {
            self.shared.let_flushes_fail(error.repeat());
        }
        self.finish(slot, running);
    }

    /// Whether so many slots wait for the map to say that they are not dirty any more that it
    /// should be written.
    pub(super) fn should_free_slots(&self) -> bool {
        let state = self.shared.state();
        self.shared.commits()
            && !self.closing
            && state.idle_claims() > 0
            && state.idle_claims() >= self.shared.dirty_limit(&state) / 4
    }

    /// A write has left so much dirty that it has to write some out, unless another job does
    /// already.
    pub(super) fn write_some_out(&mut self, slot: u32, mut running: RunningJob<Box<Write>>) {
        let mut runs: Vec<Range<u64>> = Vec::new();
        {
            let mut state = self.shared.state();
            let much = state.dirty_slots() + state.idle_claims() >= self.shared.dirty_limit(&state);
            if much
                && !self.closing
                && self.shared.dirty_max(&state) > 0
                && !self.shared.writing_out.swap(true, Ordering::AcqRel)
            {
                runs = self.shared.swept_runs(&mut state, BATCH_RUNS, u64::MAX);
                if runs.is_empty() {
                    self.shared.writing_out.store(false, Ordering::Release);
                }
            }
        }
        if runs.is_empty() {
            return self.finish(slot, running);
        }
        running.job.step = WriteStep::WritingOut;
        running.left = runs.len();
        self.put(slot, running);
        for blocks in runs {
            self.start_write_out(slot, blocks, false);
        }
    }

    pub(super) fn begin_write_out(&mut self, slot: u32, running: RunningJob<AskedWriteOut>) {
        let shape = self.shared.shape;
        let blocks = running.job.blocks.clone();
        let segments = plan::segments(&shape, &self.shared.state(), blocks);
        let mut left = 0;
        for &(first, length) in segments.iter().flat_map(|segment| &segment.pieces) {
            let read = Op::Read { offset: shape.slot_offset(first), into: bounce(length) };
            self.store.send(Request::new(below_tag(slot, left), read));
            left += 1;
        }
        let (running, asked) = running.split();
        let step = WriteOutStep::Load { loaded: (0..left).map(|_| None).collect() };
        let mut running = running.with(Box::new(WriteOut { asked, segments, step }));
        running.left = left;
        self.go_on_with_write_out(slot, running);
    }

    pub(super) fn end_write_out_command(
        &mut self,
        slot: u32,
        mut running: RunningJob<Box<WriteOut>>,
        ended: JobCommandEnd,
    ) {
        running.left -= 1;
        match &mut running.job.step {
            WriteOutStep::Load { loaded } => loaded[ended.number] = Some(ended.buffer.read()),
            WriteOutStep::Send { failed } => {
                if ended.result.is_err() {
                    failed.push(ended.number);
                }
                self.shared.lower_written.store(true, Ordering::Release);
            }
        }
        running.note(ended.result);
        self.go_on_with_write_out(slot, running);
    }

    /// Waits for the commands of the step, or goes on after the last.
    fn go_on_with_write_out(&mut self, slot: u32, mut running: RunningJob<Box<WriteOut>>) {
        if running.left > 0 {
            return self.put(slot, running);
        }
        let sending = WriteOutStep::Send { failed: Vec::new() };
        match std::mem::replace(&mut running.job.step, sending) {
            WriteOutStep::Load { loaded } => self.end_load(slot, running, loaded),
            WriteOutStep::Send { failed } => self.end_send(slot, running, &failed),
        }
    }

    fn end_load(
        &mut self,
        slot: u32,
        mut running: RunningJob<Box<WriteOut>>,
        loaded: Vec<Option<BufMut>>,
    ) {
        if let Some(error) = running.error.take() {
            self.shared.store_failed(&error);
            self.shared.write_out_failed.store(true, Ordering::Release);
            running.error = Some(at_store(error));
            return self.finish(slot, running);
        }
        let mut loaded = loaded.into_iter().flatten();
        for (number, segment) in running.job.segments.iter().enumerate() {
            let mut whole = BufMut::zeroed(0);
            loaded.by_ref().take(segment.pieces.len()).for_each(|piece| whole.append(piece));
            let write = Op::Write { offset: segment.offset, from: whole.freeze(), fua: false };
            self.lower.send(Request::new(below_tag(slot, number), write));
        }
        running.left = running.job.segments.len();
        self.go_on_with_write_out(slot, running);
    }

    fn end_send(&mut self, slot: u32, running: RunningJob<Box<WriteOut>>, failed: &[usize]) {
        if running.error.is_some() {
            self.shared.write_out_failed.store(true, Ordering::Release);
        }
        {
            let out = &*running.job;
            let mut state = self.shared.state();
            for (number, segment) in out.segments.iter().enumerate() {
                if !failed.contains(&number) {
                    segment.dirty.iter().for_each(|&slot| state.set_clean(slot));
                    state.counts.written_out += segment.dirty.len() as u64;
                }
            }
            if out.asked.retires {
                out.asked.blocks.clone().for_each(|block| state.leave_retired(block));
            }
        }
        self.finish(slot, running);
    }
}

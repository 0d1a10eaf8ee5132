//! One owner's requests on an overlay.
//!
//! ```text
//!              Data            Turn            Pages            Sync            Marks
//! read         lower, delta
//! write        delta
//! with FUA     delta, FUA      the index's     FUA                              FUA
//! flush        delta flush     the index's     write            delta flush     FUA
//! ```
//!
//! Marks are written for pages that had no bits before, behind these: a page that has its mark and
//! is zero was lost. A step ends when all its commands have. What is not needed is left out: a
//! flush without new bits is one flush of the delta.

use std::sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard};

use block::{
    BufMut, Channel, Completion, Error, ErrorKind, Op, QueuedChannel, Reactor, Request,
    ReturnedBuffer, Slots, Waiter,
};
use reactor::WakeReason;

use super::OverlayCore;
use super::format::{Row, encode_page};
use super::index::{Index, Snapshot};
use crate::catalogue;

/// Pages that lie side by side are written together, up to so many.
const PAGES_TOGETHER: usize = 64;
/// Room for the pieces of one request, however small the depth.
const DEPTH_MIN: u32 = 16;

enum Kind {
    Read {
        parts: Vec<Option<BufMut>>,
    },
    /// Also zeroes and discards; in blocks.
    Write {
        buffer: ReturnedBuffer,
        first: u64,
        count: u64,
        fua: bool,
    },
    Flush,
}

/// A step whose commands are under way. After its data a request may wait for its turn at the
/// index: then no command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OverlayStep {
    Data,
    Pages { then_sync: bool },
    Sync,
    Marks,
}

struct RunningRequest {
    tag: u64,
    kind: Kind,
    step: OverlayStep,
    /// Commands of this step that have not ended.
    left: usize,
    error: Option<Error>,
    /// Bits to make durable.
    snapshot: Snapshot,
}

pub(super) struct OverlayChannel {
    shared: Arc<OverlayCore>,
    reactor: Reactor,
    lower: QueuedChannel,
    delta: QueuedChannel,
    waiter: Arc<Waiter>,
    /// Commands below carry the index of their slot and their number in it.
    slots: Slots<RunningRequest>,
    /// The slot that writes the index now.
    writing: Option<u32>,
    closing: bool,
    raw: Vec<Completion>,
    ready: Vec<Completion>,
}

fn below_tag(slot: u32, part: usize) -> u64 {
    u64::from(slot) << 32 | part as u64
}

impl OverlayChannel {
    pub(super) fn open(
        shared: &Arc<OverlayCore>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<OverlayChannel, Error> {
        let depth = depth.max(DEPTH_MIN);
        let lower = QueuedChannel::open(&*shared.lower, depth, reactor)?;
        let delta = QueuedChannel::open(&*shared.delta, depth, reactor)?;
        Ok(OverlayChannel {
            shared: Arc::clone(shared),
            reactor: reactor.clone(),
            lower,
            delta,
            waiter: Waiter::on(reactor, catalogue::INDEX_OF_OVERLAY)?,
            slots: Slots::default(),
            writing: None,
            closing: false,
            raw: Vec::new(),
            ready: Vec::new(),
        })
    }

    fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.shared.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.shared.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.shared.shape.block_bytes)
    }

    /// Takes a slot for a request whose first step has `left` commands.
    fn start(&mut self, tag: u64, kind: Kind, left: usize) -> u32 {
        self.slots.insert(RunningRequest {
            tag,
            kind,
            step: OverlayStep::Data,
            left,
            error: None,
            snapshot: Snapshot::default(),
        })
    }

    fn running(&mut self, slot: u32) -> &mut RunningRequest {
        self.slots.get_mut(slot).expect("a slot in use")
    }

    fn start_read(&mut self, tag: u64, offset: u64, into: BufMut) {
        let block = self.block_bytes();
        let (mut first, end) = (offset / block, (offset + into.len() as u64) / block);
        let mut runs = Vec::new();
        {
            let index = self.index();
            while first < end {
                let (present, count) = index.run(first, end - first);
                runs.push((present, first, count));
                first += count;
            }
        }
        let parts = runs.iter().map(|_| None).collect();
        let slot = self.start(tag, Kind::Read { parts }, runs.len());
        let mut rest = into;
        for (part, (present, first, count)) in runs.into_iter().enumerate() {
            let into = rest.split_to((count * block) as usize);
            let tag = below_tag(slot, part);
            if present {
                self.delta.send(Request::new(
                    tag,
                    Op::Read { offset: self.shared.shape.data_offset() + first * block, into },
                ));
            } else {
                self.lower.send(Request::new(tag, Op::Read { offset: first * block, into }));
            }
        }
    }

    /// Writes, zeroes or gives back a range, by the command that `to_delta` makes of its offset on
    /// the delta.
    fn start_write(
        &mut self,
        tag: u64,
        (offset, length): (u64, u64),
        fua: bool,
        to_delta: impl FnOnce(u64) -> Op,
    ) {
        let block = self.block_bytes();
        let (first, count) = (offset / block, length / block);
        let kind = Kind::Write { buffer: ReturnedBuffer::Nothing, first, count, fua };
        let slot = self.start(tag, kind, 1);
        let op = to_delta(self.shared.shape.data_offset() + offset);
        self.delta.send(Request::new(below_tag(slot, 0), op));
    }

    fn start_flush(&mut self, tag: u64) {
        let failure = self
            .shared
            .flush_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(Error::repeat);
        if failure.is_some() || !self.shared.keep {
            self.ready.push(Request::new(tag, Op::Flush).complete(failure.map_or(Ok(()), Err)));
            return;
        }
        let slot = self.start(tag, Kind::Flush, 1);
        let snapshot = self.index().pending();
        self.running(slot).snapshot = snapshot;
        self.delta.send(Request::new(below_tag(slot, 0), Op::Flush));
    }

    /// Takes what came from below, and what comes of it. False when there was nothing.
    fn advance(&mut self) -> bool {
        let mut raw = std::mem::take(&mut self.raw);
        self.lower.poll(&mut raw);
        let from_delta = raw.len();
        self.delta.poll(&mut raw);
        let mut any = !raw.is_empty();
        for (number, Completion { tag, buffer, result }) in raw.drain(..).enumerate() {
            let slot = (tag >> 32) as u32;
            let running = self.running(slot);
            running.left -= 1;
            match (&mut running.kind, buffer) {
                (Kind::Read { parts }, ReturnedBuffer::Read(into)) => {
                    parts[(tag & 0xffff_ffff) as usize] = Some(into);
                }
                (Kind::Write { buffer, .. }, returned) if running.step == OverlayStep::Data => {
                    *buffer = returned;
                }
                _ => (),
            }
            if let Err(error) = result {
                running.error.get_or_insert(if number < from_delta {
                    error
                } else {
                    error.at(catalogue::THE_DELTA)
                });
            }
            if running.left == 0 {
                self.end_step(slot);
            }
        }
        self.raw = raw;
        let mut granted = Vec::new();
        self.waiter.take_granted(&mut granted);
        for slot in granted {
            any = true;
            self.write_pages(slot);
        }
        any
    }

    fn end_step(&mut self, slot: u32) {
        let running = self.running(slot);
        block::trace::on_behalf_of(running.tag);
        let failed = running.error.is_some();
        let step = running.step;
        match step {
            OverlayStep::Data if failed => self.finish(slot),
            OverlayStep::Data => match running.kind {
                Kind::Read { .. } => self.finish(slot),
                Kind::Write { first, count, fua, .. } => {
                    let snapshot = {
                        let mut index = self.index_mut();
                        index.mark(first, count);
                        if fua { index.pending_in(first, count) } else { Snapshot::default() }
                    };
                    self.running(slot).snapshot = snapshot;
                    self.ask_for_turn(slot);
                }
                Kind::Flush => self.ask_for_turn(slot),
            },
            OverlayStep::Pages { then_sync: true } if !failed => {
                running.step = OverlayStep::Sync;
                running.left = 1;
                self.delta.send(Request::new(below_tag(slot, 0), Op::Flush));
            }
            OverlayStep::Pages { .. } | OverlayStep::Sync if !failed && self.write_marks(slot) => {}
            OverlayStep::Pages { .. } | OverlayStep::Sync | OverlayStep::Marks => {
                let running = self.running(slot);
                let snapshot = std::mem::take(&mut running.snapshot);
                if !failed {
                    let mut index = self.index_mut();
                    let marks = index.unmarked_in(&snapshot);
                    index.settle_marks(marks);
                    index.settle(&snapshot);
                }
                self.hand_turn_on();
                self.finish(slot);
            }
        }
    }

    fn ask_for_turn(&mut self, slot: u32) {
        if self.running(slot).snapshot.0.is_empty() {
            self.finish(slot);
        } else if !self.closing && self.shared.turn.take(&self.waiter, slot) {
            self.write_pages(slot);
        }
    }

    fn hand_turn_on(&mut self) {
        self.writing = None;
        if self.shared.turn.release(&self.waiter) {
            self.reactor.nudge();
        }
    }

    /// The turn is this slot's.
    fn write_pages(&mut self, slot: u32) {
        self.writing = Some(slot);
        block::trace::on_behalf_of(self.running(slot).tag);
        // Another request may have written them meanwhile.
        let mut snapshot = std::mem::take(&mut self.running(slot).snapshot);
        let shape = self.shared.shape;
        let block = shape.block_bytes as usize;
        let mut writes: Vec<(u64, Vec<u8>)> = Vec::new();
        {
            let index = self.index();
            index.drop_durable(&mut snapshot);
            let mut next_page = None;
            for (number, bits) in &snapshot.0 {
                let mut page = vec![0; block];
                encode_page(
                    Row::Blocks,
                    self.shared.generation,
                    *number,
                    &index.image(*number, bits),
                    &mut page,
                );
                match writes.last_mut() {
                    Some((_, bytes))
                        if next_page == Some(*number) && bytes.len() < PAGES_TOGETHER * block =>
                    {
                        bytes.append(&mut page);
                    }
                    _ => writes.push((shape.page_offset(*number), page)),
                }
                next_page = Some(number + 1);
            }
        }
        if writes.is_empty() {
            self.hand_turn_on();
            self.finish(slot);
            return;
        }
        let fua = writes.len() == 1;
        let running = self.running(slot);
        running.snapshot = snapshot;
        running.step = OverlayStep::Pages { then_sync: !fua };
        running.left = writes.len();
        for (part, (offset, bytes)) in writes.into_iter().enumerate() {
            let mut buffer = BufMut::zeroed(bytes.len());
            buffer.copy_from_slice(&bytes);
            self.delta.send(Request::new(
                below_tag(slot, part),
                Op::Write { offset, from: buffer.freeze(), fua },
            ));
        }
    }

    /// Marks the pages that are on the delta now and were zero before. False when there are none.
    fn write_marks(&mut self, slot: u32) -> bool {
        let snapshot = std::mem::take(&mut self.running(slot).snapshot);
        let images = {
            let index = self.index();
            index.mark_images(&index.unmarked_in(&snapshot))
        };
        let (shape, generation) = (self.shared.shape, self.shared.generation);
        let running = self.running(slot);
        running.snapshot = snapshot;
        running.step = OverlayStep::Marks;
        running.left = images.0.len();
        for (part, (number, bits)) in images.0.iter().enumerate() {
            let mut page = vec![0; shape.block_bytes as usize];
            encode_page(Row::Marks, generation, *number, bits, &mut page);
            let mut buffer = BufMut::zeroed(page.len());
            buffer.copy_from_slice(&page);
            let op = Op::Write {
                offset: shape.mark_page_offset(*number),
                from: buffer.freeze(),
                fua: true,
            };
            self.delta.send(Request::new(below_tag(slot, part), op));
        }
        !images.0.is_empty()
    }

    fn finish(&mut self, slot: u32) {
        let RunningRequest { tag, kind, error, .. } =
            self.slots.remove(slot).expect("a slot in use");
        let buffer = match kind {
            Kind::Read { parts } => {
                let mut whole = BufMut::zeroed(0);
                parts
                    .into_iter()
                    .for_each(|part| whole.append(part.expect("every part came back")));
                ReturnedBuffer::Read(whole)
            }
            Kind::Write { buffer, .. } => buffer,
            Kind::Flush => {
                if let Some(error) = &error {
                    self.let_flushes_fail(error.repeat());
                }
                ReturnedBuffer::Nothing
            }
        };
        self.ready.push(Completion { tag, buffer, result: error.map_or(Ok(()), Err) });
    }

    fn let_flushes_fail(&self, error: Error) {
        self.shared
            .flush_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }
}

impl Channel for OverlayChannel {
    fn submit(&mut self, request: Request) {
        if let Err(error) = self.shared.info.check(&request.op) {
            self.ready.push(request.complete(Err(error.at(catalogue::OVERLAY))));
            return;
        }
        let Request { tag, op } = request;
        // What is forgotten when the overlay is closed need not be durable before.
        let keep = self.shared.keep;
        match op {
            Op::Read { offset, into } => self.start_read(tag, offset, into),
            Op::Flush => self.start_flush(tag),
            Op::Write { offset, from, fua } => {
                let (range, fua) = ((offset, from.len() as u64), fua && keep);
                self.start_write(tag, range, fua, |offset| Op::Write { offset, from, fua });
            }
            Op::WriteZeroes { offset, length, fua } => {
                let (range, fua) = ((offset, length), fua && keep);
                let zeroes = |offset| Op::WriteZeroes { offset, length, fua };
                self.start_write(tag, range, fua, zeroes);
            }
            Op::Discard { offset, length } => {
                let discard = |offset| Op::Discard { offset, length };
                self.start_write(tag, (offset, length), false, discard);
            }
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        // A step that ends without waiting wakes no owner, so what was started here is polled for
        // here.
        while self.advance() {}
        if self.ready.is_empty() {
            self.lower.poll_idle();
            self.delta.poll_idle();
        }
        done.append(&mut self.ready);
    }

    fn in_flight(&self) -> u32 {
        (self.slots.len() + self.ready.len()) as u32
    }
}

/// A page that is under way could land after a newer one that the next channel writes, and take
/// bits back. So a channel that is dropped begins nothing more, but sees the pages through that it
/// has sent.
impl Drop for OverlayChannel {
    fn drop(&mut self) {
        self.closing = true;
        if self.shared.turn.cancel(&self.waiter) {
            self.hand_turn_on();
        }
        while self.writing.is_some() && !std::thread::panicking() {
            if !self.advance()
                && !matches!(self.reactor.wait_for_more(), Ok(woken) if woken != WakeReason::Idle)
            {
                break;
            }
        }
        if self.writing.is_some() {
            let error = Error::new(ErrorKind::TimedOut, catalogue::DELTA_NEVER_ANSWERED);
            self.let_flushes_fail(error);
            self.hand_turn_on();
        }
    }
}

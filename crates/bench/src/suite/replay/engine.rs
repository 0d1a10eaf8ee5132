//! Makes the requests of a recording on a target, when they are due.
//!
//! ```text
//!   open     at the times of the recording                      due: a list
//!   closed   so long after what each waited for        ┌──────  due: a heap
//!   fast     as soon as there is room                  │        due: now
//!                                                      │
//!      due? ── place on the target, buffer, data ── submit ── poll ── answered: count, check, let go
//! ```
//!
//! A request that is longer than the target takes goes in parts, which count as one: it is answered
//! with its last part.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use block::{
    BufMut, Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Info, Op, Reactor,
    Request, ReturnedBuffer, Support, Time,
};
use reactor::WakeReason;
use trace::{Record, RecordedOp};
use words::statement;

use super::buffers::Store;
use super::fit::Fit;
use super::waits::{Dependencies, Progress};
use crate::catalogue;
use crate::known::{VerifiedContent, WriteLedger};
use crate::latency::Latency;
use crate::load::{Access, Content, Direction, Side, check};

/// When requests go.
#[derive(Clone, Copy)]
pub(super) enum Pace<'a> {
    /// When the recording has them.
    Open,
    /// When what they waited for is answered, and what was thought about it.
    Closed(&'a Dependencies),
    /// As soon as fewer than the depth are outstanding.
    Fast,
}

/// What is replayed, and how.
pub(super) struct Replay<'a> {
    pub(super) records: &'a [Record],
    pub(super) fit: &'a Fit,
    pub(super) pace: Pace<'a>,
    /// Times of the recording are divided by this.
    pub(super) speed: u64,
    /// Most requests outstanding, parts counted one by one.
    pub(super) depth: u32,
    /// What is known of the target, where reads are verified, and whether every byte is compared.
    pub(super) known: Option<(&'a mut WriteLedger, bool)>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct ReplayResult {
    pub(super) read: Side,
    pub(super) write: Side,
    /// Flushes, discards, writes of zeroes.
    pub(super) other: Side,
    /// From the submission of each; what `read`, `write` and `other` have where the pace is not
    /// [`Pace::Open`].
    pub(super) service: Latency,
    /// How long each took, in nanoseconds, by its number in the recording; of those that were
    /// answered.
    pub(super) latencies: Vec<u64>,
    /// From the first submission to the last answer.
    pub(super) elapsed: Duration,
    /// Requests that were submitted late by more than [`LATE`], and the latest of all.
    pub(super) late: u64,
    pub(super) latest: Duration,
    /// Writes that were sent without FUA.
    pub(super) without_fua: u64,
    /// Writes of zeroes that were left out.
    pub(super) without_zeroes: u64,
    /// Discards that were left out.
    pub(super) without_discards: u64,
    pub(super) checked_bytes: u64,
    pub(super) unknown_bytes: u64,
    pub(super) stopped: bool,
}

impl ReplayResult {
    fn answered(&self) -> u64 {
        self.read.operations + self.write.operations + self.other.operations
    }
}

/// A request that is submitted later than this is late: longer than it takes to wake up.
pub(super) const LATE: Duration = Duration::from_millis(1);
/// How often the caller is asked, at least.
const ASK: Duration = Duration::from_millis(100);
/// How long an answer may take when nothing else is waited for.
const PATIENCE: Duration = Duration::from_secs(120);
/// What does not count among the latencies of a part of the recording.
pub(super) const NOT_ANSWERED: u64 = u64::MAX;
/// A part of a request that carries no data is no longer than this, in bytes.
const PART_MAX: u64 = 1 << 31;

/// Whether it changes what is stored.
pub(super) fn changes_data(op: RecordedOp) -> bool {
    !matches!(op, RecordedOp::Read | RecordedOp::Flush)
}

fn after(event: Time, nanoseconds: u64) -> Time {
    Time(event.0.saturating_add(nanoseconds))
}

/// Requests in the order in which they are due.
enum DueRequests<'a> {
    /// The number of the next one.
    Listed {
        next: u32,
    },
    Released {
        progress: Progress<'a>,
        heap: BinaryHeap<Reverse<(Time, u32)>>,
    },
}

/// One request under way, as one or several parts.
struct Active {
    request: u32,
    due: Time,
    submitted: Time,
    parts_left: u32,
}

/// One part of a request under way.
struct Slot {
    active: u32,
    access: Access,
    op: RecordedOp,
    rest: Option<BufMut>,
    /// Whether something else was done to its range meanwhile, so that nobody knows what is there.
    is_disturbed: bool,
}

struct Engine<'a, 'k> {
    records: &'a [Record],
    fit: &'a Fit,
    info: Info,
    speed: u64,
    is_open: bool,
    reactor: &'a Reactor,
    channel: Box<dyn Channel>,
    content: Option<VerifiedContent<'k>>,
    due: DueRequests<'a>,
    begin: Time,
    slots: Vec<Slot>,
    free: Vec<u32>,
    active: Vec<Active>,
    free_active: Vec<u32>,
    /// Slots that are taken, where ranges must be told apart.
    taken: Vec<u32>,
    reads: Store,
    writes: Store,
    found: ReplayResult,
    error: Option<Error>,
}

/// Replays a recording on a device. Now and then `ask` is told how many requests were answered, and
/// says whether the caller wants an end.
///
/// # Errors
/// The first request that failed or brought wrong data, with its number in the recording; that a
/// request is never answered; what the kernel says when waiting fails.
pub(super) fn run(
    device: &dyn Device,
    reactor: &Reactor,
    replay: Replay<'_>,
    ask: &dyn Fn(u64) -> bool,
) -> Result<ReplayResult, Error> {
    let Replay { records, fit, pace, speed, depth, known } = replay;
    let channel = device.open(depth, reactor)?;
    let begin = reactor.now();
    let mut due = match pace {
        Pace::Open | Pace::Fast => DueRequests::Listed { next: 0 },
        Pace::Closed(waits) => {
            DueRequests::Released { progress: Progress::new(waits), heap: BinaryHeap::new() }
        }
    };
    if let DueRequests::Released { progress, heap } = &mut due {
        progress.begin(|request, gap| heap.push(Reverse((after(begin, gap / speed), request))));
    }
    let side = || Side::new(true);
    let engine = Engine {
        records,
        fit,
        info: device.info().clone(),
        speed,
        is_open: matches!(pace, Pace::Open),
        reactor,
        channel,
        content: known.map(|(known, every_byte)| VerifiedContent::new(known, every_byte)),
        due,
        begin,
        slots: Vec::new(),
        free: Vec::new(),
        active: Vec::new(),
        free_active: Vec::new(),
        taken: Vec::new(),
        reads: Store::default(),
        writes: Store::default(),
        found: ReplayResult {
            read: side(),
            write: side(),
            other: side(),
            service: Latency::new(),
            latencies: vec![NOT_ANSWERED; records.len()],
            elapsed: Duration::ZERO,
            late: 0,
            latest: Duration::ZERO,
            without_fua: 0,
            without_zeroes: 0,
            without_discards: 0,
            checked_bytes: 0,
            unknown_bytes: 0,
            stopped: false,
        },
        error: None,
    };
    engine.run(depth, ask)
}

impl Engine<'_, '_> {
    fn run(mut self, depth: u32, ask: &dyn Fn(u64) -> bool) -> Result<ReplayResult, Error> {
        let mut done: Vec<Completion> = Vec::new();
        let mut next_ask = self.begin + ASK;
        loop {
            let mut now = self.reactor.now();
            if now >= next_ask {
                next_ask = now + ASK;
                self.found.stopped |= ask(self.found.answered());
            }
            let is_issuing = self.error.is_none() && !self.found.stopped;
            let mut next = None;
            while is_issuing && self.in_flight() < depth {
                next = self.next_due(now);
                let Some((due, request)) = next.filter(|(due, _)| *due <= now) else { break };
                self.take_due();
                self.submit(request, due, now);
                // Data were made meanwhile.
                now = self.reactor.now();
            }
            self.channel.poll(&mut done);
            if done.is_empty() {
                if self.in_flight() == 0 && (!is_issuing || next.is_none()) {
                    break;
                }
                let moment = next.filter(|_| is_issuing && self.in_flight() < depth);
                self.wait(moment.map(|(due, _)| due.min(next_ask)))?;
                continue;
            }
            let now = self.reactor.now();
            for completion in done.drain(..) {
                self.finish(completion, now);
            }
        }
        if let Some(content) = &self.content {
            self.found.checked_bytes = content.checked_bytes;
            self.found.unknown_bytes = content.unknown_bytes;
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let (found, all) = (&self.found, self.records.len() as u64);
        let done = found.answered() + found.without_zeroes + found.without_discards;
        if !found.stopped && done != all {
            let text = statement!(catalogue::NEVER_LET_GO, count = all - done, all = all);
            return Err(Error::new(ErrorKind::Other, text));
        }
        Ok(self.found)
    }

    fn in_flight(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// The request that goes next, and when.
    fn next_due(&self, now: Time) -> Option<(Time, u32)> {
        match &self.due {
            DueRequests::Listed { next } => {
                let record = self.records.get(*next as usize)?;
                let time = record.time_nanoseconds / self.speed;
                let due = if self.is_open { after(self.begin, time) } else { now };
                Some((due, *next))
            }
            DueRequests::Released { heap, .. } => heap.peek().map(|Reverse(first)| *first),
        }
    }

    fn take_due(&mut self) {
        match &mut self.due {
            DueRequests::Listed { next } => *next += 1,
            DueRequests::Released { heap, .. } => drop(heap.pop()),
        }
    }

    /// Lets requests go that waited for the answer to this one.
    #[inline]
    fn let_go(&mut self, request: u32, now: Time) {
        let DueRequests::Released { progress, heap } = &mut self.due else { return };
        let speed = self.speed;
        progress.answered(request, |other, gap| {
            heap.push(Reverse((after(now, gap / speed), other)));
        });
    }

    /// Sends a request, in as many parts as the target needs; leaves out what it does not know.
    fn submit(&mut self, request: u32, due: Time, now: Time) {
        let record = self.records[request as usize];
        let late = now.since(due);
        self.found.latest = self.found.latest.max(late);
        self.found.late += u64::from(late > LATE);
        if !self.knows(&record) {
            return self.let_go(request, now);
        }
        let active = self.begin_active(request, due, now);
        if record.op == RecordedOp::Flush {
            let access = Access { direction: Direction::Write, offset: 0, length: 0 };
            return self.send(active, &record, access);
        }
        let (mut offset, mut left) = self.fit.place(&record);
        let carries_data = matches!(record.op, RecordedOp::Read | RecordedOp::Write);
        let block = u64::from(self.info.block_bytes);
        let most = match carries_data {
            true => u64::from(self.info.max_request_bytes),
            false => PART_MAX,
        };
        let most = (most - most % block).max(block);
        // All parts are counted before the first can be answered.
        self.active[active as usize].parts_left = left.div_ceil(most) as u32;
        while left > 0 {
            let length = left.min(most);
            let direction = match record.op {
                RecordedOp::Read => Direction::Read,
                _ => Direction::Write,
            };
            self.send(active, &record, Access { direction, offset, length: length as u32 });
            offset += length;
            left -= length;
        }
    }

    /// Whether the target can do what a record asks for; counts what it cannot.
    fn knows(&mut self, record: &Record) -> bool {
        let (info, found) = (&self.info, &mut self.found);
        match record.op {
            RecordedOp::Write if record.fua && info.fua == Support::None => found.without_fua += 1,
            RecordedOp::WriteZeroes if info.zeroes == Support::None => {
                found.without_zeroes += 1;
                return false;
            }
            RecordedOp::Discard if info.discard == DiscardSupport::None => {
                found.without_discards += 1;
                return false;
            }
            _ => (),
        }
        true
    }

    fn begin_active(&mut self, request: u32, due: Time, submitted: Time) -> u32 {
        let active = Active { request, due, submitted, parts_left: 1 };
        match self.free_active.pop() {
            Some(index) => {
                self.active[index as usize] = active;
                index
            }
            None => {
                self.active.push(active);
                self.active.len() as u32 - 1
            }
        }
    }

    /// Sends one part.
    fn send(&mut self, active: u32, record: &Record, access: Access) {
        let is_disturbed = self.disturb(record.op, &access);
        let Access { offset, length, .. } = access;
        let fua = record.fua && self.info.fua != Support::None;
        let (op, rest) = match record.op {
            RecordedOp::Read => {
                let (into, rest) = self.reads.take(length, self.reactor);
                (Op::Read { offset, into }, rest)
            }
            RecordedOp::Write => {
                let (mut from, rest) = self.writes.take(length, self.reactor);
                if let Some(content) = &mut self.content {
                    let bytes = from.as_mut_slice().expect("allocated in one piece");
                    content.fill(&access, bytes);
                }
                (Op::Write { offset, from: from.freeze(), fua }, rest)
            }
            RecordedOp::WriteZeroes => {
                (Op::WriteZeroes { offset, length: length.into(), fua }, None)
            }
            RecordedOp::Discard => (Op::Discard { offset, length: length.into() }, None),
            RecordedOp::Flush => (Op::Flush, None),
        };
        if matches!(record.op, RecordedOp::WriteZeroes | RecordedOp::Discard)
            && let Some(content) = &mut self.content
        {
            content.lost(&access);
        }
        let slot = Slot { active, access, op: record.op, rest, is_disturbed };
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        if self.content.is_some() {
            self.taken.push(index);
        }
        self.channel.submit(Request::new(u64::from(index), op));
    }

    /// Whether something under way touches the same bytes, one of the two to change them. Both are
    /// marked: a recording may have them at once, and nobody knows which of them is first.
    fn disturb(&mut self, op: RecordedOp, access: &Access) -> bool {
        let changes = changes_data(op);
        let mut is_disturbed = false;
        for index in &self.taken {
            let other = &mut self.slots[*index as usize];
            if (changes || changes_data(other.op))
                && other.access.length > 0
                && other.access.overlaps(access)
            {
                other.is_disturbed = true;
                is_disturbed = true;
            }
        }
        is_disturbed && access.length > 0
    }

    fn finish(&mut self, completion: Completion, now: Time) {
        let index = completion.tag as u32;
        self.free.push(index);
        if let Some(place) = self.taken.iter().position(|taken| *taken == index) {
            self.taken.swap_remove(place);
        }
        let slot = &mut self.slots[index as usize];
        let (access, op, active) = (slot.access, slot.op, slot.active);
        let (rest, is_disturbed) = (slot.rest.take(), slot.is_disturbed);
        let mut result = completion.result;
        match completion.buffer {
            ReturnedBuffer::Read(buffer) => {
                match &mut self.content {
                    Some(content) if is_disturbed => {
                        content.unknown_bytes += u64::from(access.length);
                    }
                    Some(content) if result.is_ok() => result = check(content, &access, &buffer),
                    _ => (),
                }
                self.reads.give_back(buffer, rest);
            }
            ReturnedBuffer::Written(buffer) => self.writes.give_back_written(buffer, rest),
            ReturnedBuffer::Nothing => (),
        }
        if changes_data(op)
            && (is_disturbed || result.is_err() || op != RecordedOp::Write)
            && let Some(content) = &mut self.content
        {
            content.lost(&access);
        }
        let request = self.active[active as usize].request;
        if let Err(error) = result {
            self.failed(request, &access, op, error);
        }
        self.end_part(active, now);
    }

    /// Counts a part off, and the request with its last one.
    fn end_part(&mut self, index: u32, now: Time) {
        let active = &mut self.active[index as usize];
        active.parts_left -= 1;
        if active.parts_left > 0 {
            return;
        }
        let (request, due, submitted) = (active.request, active.due, active.submitted);
        self.free_active.push(index);
        self.found.elapsed = now.since(self.begin);
        let record = &self.records[request as usize];
        let service = now.0.saturating_sub(submitted.0);
        let nanoseconds = if self.is_open { now.0.saturating_sub(due.0) } else { service };
        self.found.latencies[request as usize] = nanoseconds;
        if self.is_open {
            self.found.service.record(service);
        }
        let side = match record.op {
            RecordedOp::Read => &mut self.found.read,
            RecordedOp::Write => &mut self.found.write,
            _ => &mut self.found.other,
        };
        let length = match record.op {
            RecordedOp::Read | RecordedOp::Write => self.fit.place(record).1,
            _ => 0,
        };
        side.record(length, nanoseconds);
        self.let_go(request, now);
    }

    #[cold]
    fn failed(&mut self, request: u32, access: &Access, op: RecordedOp, error: Error) {
        let Access { offset, length, .. } = access;
        let what = match op {
            RecordedOp::Read => catalogue::A_READ,
            RecordedOp::Write => catalogue::A_WRITE,
            RecordedOp::WriteZeroes => catalogue::A_WRITE_OF_ZEROES,
            RecordedOp::Discard => catalogue::A_DISCARD,
            RecordedOp::Flush => catalogue::A_FLUSH,
        };
        self.error.get_or_insert_with(|| {
            error.at(statement!(
                catalogue::NUMBERED_REQUEST,
                number = request + 1,
                what = what,
                length = *length,
                offset = *offset
            ))
        });
    }

    /// Waits for an answer, or for a moment.
    fn wait(&mut self, moment: Option<Time>) -> Result<(), Error> {
        let deadline = moment.unwrap_or_else(|| self.reactor.now() + PATIENCE);
        match self.reactor.wait(Some(deadline)) {
            Ok(WakeReason::Deadline | WakeReason::Idle) if moment.is_none() => {
                let text = statement!(catalogue::NO_ANSWER_TO, count = self.channel.in_flight());
                Err(Error::new(ErrorKind::TimedOut, text))
            }
            Ok(WakeReason::Idle) => {
                Err(Error::new(ErrorKind::Invalid, catalogue::CLOCK_STANDS_STILL))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(Error::from_io(catalogue::WAITING_FOR_DEVICE, error)),
        }
    }
}

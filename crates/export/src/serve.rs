//! Orders of an outside protocol, carried out on one channel.
//!
//! ```text
//!   protocol ──Order──> OrderQueue ──Request──> Channel
//!            <─Answer──      <─Completion─
//! ```
//!
//! Clients ask for more than one request may carry, for more at a time than a channel takes, for
//! zeroes that keep their space, and rely on a removal policy. A [`OrderQueue`] turns each order
//! into the requests that it takes, one after the other where one depends on another, and ends it
//! with one answer. A range that is not whole blocks is read around and, for a write, written back
//! while no other write to the device is under way ([`Gate`]). It knows nothing of any protocol.

use std::collections::VecDeque;

use std::sync::Arc;

use block::{
    Buf, BufMut, Channel, Completion, Device, DiscardSupport, Error, Info, Op, Reactor, Request,
    ReturnedBuffer,
};
use reactor::{Clock, Slots};

use crate::catalogue;
use crate::gate::{Gate, GateTicket, WritePath};
use crate::unaligned::UnalignedOrder;
use crate::{RemovalPolicy, unaligned};

/// Zeroes that have to take space are written this many at a time, in bytes.
const ZEROES_BYTES: u64 = 1 << 20;

/// What a client wants. Offsets and lengths are in bytes, within the device and not empty.
#[derive(Debug)]
pub enum Order {
    /// Fill the buffer from `offset`.
    Read {
        /// Where on the device.
        offset: u64,
        /// What to fill.
        into: BufMut,
    },
    /// Write the buffer at `offset`.
    Write {
        /// Where on the device.
        offset: u64,
        /// What to write.
        from: Buf,
        /// Durable when it is answered.
        durable: bool,
    },
    /// Make the range read as zeroes.
    Zero {
        /// Where on the device.
        offset: u64,
        /// How much.
        length: u64,
        /// Durable when it is answered.
        durable: bool,
        /// Write them in full, so that a later write finds its space taken.
        allocate: bool,
    },
    /// Give the range back. On a device that takes no discards it is answered with success and
    /// changes nothing.
    Discard {
        /// Where on the device.
        offset: u64,
        /// How much.
        length: u64,
        /// Durable when it is answered.
        durable: bool,
    },
    /// Make durable what was answered before.
    Flush,
}

/// The end of an order.
#[derive(Debug)]
pub struct Answer {
    /// The number given with the order.
    pub token: u64,
    /// The order's buffer. After a failed read its bytes are unspecified.
    pub buffer: ReturnedBuffer,
    /// How it ended.
    pub result: Result<(), Error>,
}

/// A channel behind which orders of any length wait for their turn.
pub struct OrderQueue {
    channel: Box<dyn Channel>,
    info: Info,
    policy: RemovalPolicy,
    depth: u32,
    jobs: Slots<Job>,
    /// Requests that the channel has no room for yet: job, part, request.
    waiting: VecDeque<(u32, u32, Op)>,
    gate: Arc<Gate>,
    /// Has it told when those that wait there may try again.
    _served: Option<GateTicket>,
    /// Jobs that wait at the gate, with what they are to do.
    parked: VecDeque<(u32, Order)>,
    answered: Vec<Answer>,
    done: Vec<Completion>,
    zeroes: Option<Buf>,
}

struct Job {
    token: u64,
    /// Requests of this job that have not come back.
    open: u32,
    /// Whether what requests carry is the order's own buffer, and not our zeroes.
    carries: bool,
    /// Buffers of a job of several parts, by part.
    parts: Vec<Option<ReturnedBuffer>>,
    next: JobRemainder,
    error: Option<Error>,
    /// How it passed the gate.
    way: Option<WritePath>,
    /// What is left of an order that is not whole blocks, and its buffer.
    steps: Option<Box<UnalignedOrder>>,
}

/// What is left of a job when all its open requests have come back.
enum JobRemainder {
    Nothing,
    Flush,
    Zeroes { offset: u64, length: u64, durable: bool },
}

impl OrderQueue {
    /// Opens `device` on `reactor` for at most `depth` requests at a time. With
    /// [`RemovalPolicy::Quick`] every answer to a write means that it is durable.
    ///
    /// # Errors
    /// Those of [`Device::open`].
    pub fn open(
        device: &dyn Device,
        depth: u32,
        policy: RemovalPolicy,
        gate: &Arc<Gate>,
        reactor: &Reactor,
    ) -> Result<OrderQueue, Error> {
        let channel = device.open(depth, reactor)?;
        let served = match reactor.clock() {
            Clock::Wall => {
                let failed = |error| Error::from_io(catalogue::A_BELL, error);
                Some(gate.serve(reactor.ringer().map_err(failed)?))
            }
            Clock::Virtual => None,
        };
        Ok(OrderQueue {
            channel,
            info: device.info().clone(),
            policy,
            depth,
            jobs: Slots::default(),
            waiting: VecDeque::new(),
            gate: Arc::clone(gate),
            _served: served,
            parked: VecDeque::new(),
            answered: Vec::new(),
            done: Vec::new(),
            zeroes: None,
        })
    }

    /// Takes an order; its answer comes out of [`OrderQueue::poll`] with the same token. Never
    /// blocks and never fails.
    pub fn take(&mut self, token: u64, order: Order) {
        let job = self.job(token);
        let block = u64::from(self.info.block_bytes);
        let way = match &order {
            Order::Read { .. } | Order::Flush => return self.start(job, order),
            Order::Write { offset, from, .. } => {
                unaligned::is_unaligned(*offset, from.len() as u64, block)
            }
            Order::Zero { offset, length, .. } => unaligned::is_unaligned(*offset, *length, block),
            // Of one that is not whole blocks only those are given back that are.
            Order::Discard { .. } => false,
        };
        let way = if way { WritePath::Alone } else { WritePath::Together };
        self.running(job).way = Some(way);
        if self.gate.enter(way, false) {
            self.start(job, order);
        } else {
            self.parked.push_back((job, order));
        }
    }

    fn start(&mut self, job: u32, order: Order) {
        let quick = self.policy == RemovalPolicy::Quick;
        let block = u64::from(self.info.block_bytes);
        let longest = u64::from(self.info.max_request_bytes);
        match order {
            Order::Read { offset, into }
                if unaligned::is_unaligned(offset, into.len() as u64, block) =>
            {
                self.start_unaligned(job, unaligned::read(offset, into, block, longest));
            }
            Order::Write { offset, from, durable }
                if unaligned::is_unaligned(offset, from.len() as u64, block) =>
            {
                self.start_unaligned(
                    job,
                    unaligned::write(offset, from, block, longest, durable || quick),
                );
            }
            Order::Zero { offset, length, durable, allocate }
                if unaligned::is_unaligned(offset, length, block) =>
            {
                self.start_unaligned(
                    job,
                    unaligned::zero(
                        offset,
                        length,
                        block,
                        durable || quick,
                        allocate.then_some(longest),
                    ),
                );
            }
            order => self.start_whole(job, order, quick),
        }
    }

    /// Starts what is whole blocks; `quick` says that every write is durable when it is answered.
    fn start_whole(&mut self, job: u32, order: Order, quick: bool) {
        let block = u64::from(self.info.block_bytes);
        match order {
            Order::Read { offset, into }
                if into.len() as u64 <= u64::from(self.info.max_request_bytes) =>
            {
                self.single(job, JobRemainder::Nothing, Op::Read { offset, into });
            }
            Order::Read { mut offset, mut into } => {
                let mut ops = Vec::new();
                while !into.is_empty() {
                    let length =
                        cut(&self.info, offset, into.len() as u64, self.info.max_request_bytes);
                    let part = into.split_to(length as usize);
                    ops.push(Op::Read { offset, into: part });
                    offset += length;
                }
                self.several(job, ops);
            }
            Order::Write { offset, from, durable }
                if from.len() as u64 <= u64::from(self.info.max_request_bytes) =>
            {
                self.single(
                    job,
                    JobRemainder::Nothing,
                    Op::Write { offset, from, fua: durable || quick },
                );
            }
            Order::Write { mut offset, mut from, durable } => {
                let mut ops = Vec::new();
                while !from.is_empty() {
                    let length =
                        cut(&self.info, offset, from.len() as u64, self.info.max_request_bytes);
                    let part = from.split_to(length as usize);
                    ops.push(Op::Write { offset, from: part, fua: durable || quick });
                    offset += length;
                }
                self.several(job, ops);
            }
            Order::Zero { offset, length, durable, allocate: false } => {
                self.single(
                    job,
                    JobRemainder::Nothing,
                    Op::WriteZeroes { offset, length, fua: durable || quick },
                );
            }
            Order::Zero { offset, length, durable, allocate: true } => {
                self.start_zeroes(job, offset, length, durable || quick);
            }
            Order::Discard { .. } if self.info.discard == DiscardSupport::None => {
                self.end(job, ReturnedBuffer::Nothing, Ok(()));
            }
            Order::Discard { offset, length, durable } => {
                let (offset, end) =
                    (offset.next_multiple_of(block), (offset + length) / block * block);
                if offset >= end {
                    return self.end(job, ReturnedBuffer::Nothing, Ok(()));
                }
                let length = end - offset;
                let next =
                    if durable || quick { JobRemainder::Flush } else { JobRemainder::Nothing };
                self.single(job, next, Op::Discard { offset, length });
            }
            Order::Flush => self.single(job, JobRemainder::Nothing, Op::Flush),
        }
    }

    /// Starts zeroes that are to take up room: written piece by piece.
    fn start_zeroes(&mut self, job: u32, offset: u64, length: u64, durable: bool) {
        if let Err(error) = self.info.check_range(offset, length) {
            return self.end(job, ReturnedBuffer::Nothing, Err(error));
        }
        let running = self.running(job);
        running.next = JobRemainder::Zeroes { offset, length, durable };
        running.carries = false;
        self.go_on(job);
    }

    /// Appends what has been answered, in any order.
    pub fn poll(&mut self, answers: &mut Vec<Answer>) {
        loop {
            self.pass_gate();
            answers.append(&mut self.answered);
            let mut done = std::mem::take(&mut self.done);
            self.channel.poll(&mut done);
            // What is started here may be answered without waking a thread, so it is polled for
            // here.
            let more = !done.is_empty();
            for completion in done.drain(..) {
                self.completed(completion);
            }
            self.done = done;
            while self.channel.in_flight() < self.depth
                && let Some((job, part, op)) = self.waiting.pop_front()
            {
                self.channel.submit(Request::new(tag(job, part), op));
            }
            if !more && self.answered.is_empty() {
                return;
            }
        }
    }

    /// Lets those try again that wait at the gate.
    fn pass_gate(&mut self) {
        for _ in 0..self.parked.len() {
            let Some((job, order)) = self.parked.pop_front() else { return };
            let way = self.running(job).way.expect("only writes come to the gate");
            if self.gate.enter(way, true) {
                self.start(job, order);
            } else {
                self.parked.push_back((job, order));
            }
        }
    }

    /// Answers a job, which is over with that.
    fn end(&mut self, job: u32, buffer: ReturnedBuffer, result: Result<(), Error>) {
        let ended = self.jobs.remove(job).expect("a job under way");
        if let Some(way) = ended.way {
            self.gate.leave(way);
        }
        self.answered.push(Answer { token: ended.token, buffer, result });
    }

    fn start_unaligned(&mut self, job: u32, order: UnalignedOrder) {
        self.running(job).steps = Some(Box::new(order));
        self.step(job);
    }

    /// Starts the next step of an order that is not whole blocks, or answers it.
    fn step(&mut self, job: u32) {
        let running = self.running(job);
        let order = running.steps.as_mut().expect("an order of several steps");
        match order.next_op() {
            Some(op) if running.error.is_none() => self.send(job, 0, op),
            _ => {
                let (buffer, error) = (
                    std::mem::replace(&mut order.buffer, ReturnedBuffer::Nothing),
                    running.error.take(),
                );
                self.end(job, buffer, error.map_or(Ok(()), Err));
            }
        }
    }

    /// Orders that have not been answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.jobs.len() + self.answered.len()
    }

    fn job(&mut self, token: u64) -> u32 {
        self.jobs.insert(Job {
            token,
            open: 0,
            carries: true,
            parts: Vec::new(),
            next: JobRemainder::Nothing,
            error: None,
            way: None,
            steps: None,
        })
    }

    fn single(&mut self, job: u32, next: JobRemainder, op: Op) {
        self.running(job).next = next;
        self.send(job, 0, op);
    }

    fn several(&mut self, job: u32, ops: Vec<Op>) {
        self.running(job).parts = ops.iter().map(|_| None).collect();
        for (op, part) in ops.into_iter().zip(0..) {
            self.send(job, part, op);
        }
    }

    fn running(&mut self, job: u32) -> &mut Job {
        self.jobs.get_mut(job).expect("a job under way")
    }

    fn send(&mut self, job: u32, part: u32, op: Op) {
        self.running(job).open += 1;
        if self.waiting.is_empty() && self.channel.in_flight() < self.depth {
            self.channel.submit(Request::new(tag(job, part), op));
        } else {
            self.waiting.push_back((job, part, op));
        }
    }

    /// Starts what a job has to do next; whether there was anything.
    fn go_on(&mut self, job: u32) -> bool {
        let running = self.running(job);
        let op = match std::mem::replace(&mut running.next, JobRemainder::Nothing) {
            JobRemainder::Nothing => return false,
            JobRemainder::Flush => Op::Flush,
            JobRemainder::Zeroes { offset, length, durable } => {
                let now = cut(
                    &self.info,
                    offset,
                    length,
                    self.info.max_request_bytes.min(ZEROES_BYTES as u32),
                );
                if length > now {
                    self.running(job).next = JobRemainder::Zeroes {
                        offset: offset + now,
                        length: length - now,
                        durable,
                    };
                }
                let zeroes = self
                    .zeroes
                    .get_or_insert_with(|| BufMut::zeroed(ZEROES_BYTES as usize).freeze());
                Op::Write { offset, from: zeroes.clone().split_to(now as usize), fua: durable }
            }
        };
        self.send(job, 0, op);
        true
    }

    fn completed(&mut self, completion: Completion) {
        let (index, part) = ((completion.tag >> 32) as u32, completion.tag as u32);
        let running = self.running(index);
        running.open -= 1;
        if let Err(error) = completion.result
            && running.error.is_none()
        {
            running.error = Some(error);
        }
        if let Some(order) = &mut running.steps {
            if running.error.is_none() {
                order.done(completion.buffer);
            }
            return self.step(index);
        }
        let mut buffer = ReturnedBuffer::Nothing;
        if !running.carries {
            drop(completion.buffer);
        } else if running.parts.is_empty() {
            buffer = completion.buffer;
        } else {
            running.parts[part as usize] = Some(completion.buffer);
        }
        if running.open > 0 {
            return;
        }
        let failed = running.error.is_some();
        if !failed && self.go_on(index) {
            return;
        }
        let running = self.running(index);
        let (parts, error) = (std::mem::take(&mut running.parts), running.error.take());
        if !parts.is_empty() {
            buffer = joined(parts);
        }
        self.end(index, buffer, error.map_or(Ok(()), Err));
    }
}

impl Drop for OrderQueue {
    fn drop(&mut self) {
        // Others, on other threads and other exports, go on.
        for (job, _) in std::mem::take(&mut self.parked) {
            if let Some(way) = self.running(job).way.take() {
                self.gate.give_up(way);
            }
        }
        self.jobs.iter().filter_map(|(_, job)| job.way).for_each(|way| self.gate.leave(way));
    }
}

fn tag(job: u32, part: u32) -> u64 {
    u64::from(job) << 32 | u64::from(part)
}

/// The order's buffer from those of its parts.
fn joined(parts: Vec<Option<ReturnedBuffer>>) -> ReturnedBuffer {
    let mut parts = parts.into_iter().map(|part| part.expect("every part has come back"));
    match parts.next() {
        Some(ReturnedBuffer::Read(mut whole)) => {
            parts.for_each(|part| whole.append(part.read()));
            ReturnedBuffer::Read(whole)
        }
        Some(ReturnedBuffer::Written(mut whole)) => {
            for part in parts {
                let ReturnedBuffer::Written(part) = part else {
                    unreachable!("all parts of a write are writes")
                };
                whole.append(part);
            }
            ReturnedBuffer::Written(whole)
        }
        _ => ReturnedBuffer::Nothing,
    }
}

/// How much of `length` bytes at `offset` goes into one request of at most `limit` bytes: up to the
/// last border of the device's optimal access within reach, so that an array gets whole stripes.
#[must_use]
pub(crate) fn cut(info: &Info, offset: u64, length: u64, limit: u32) -> u64 {
    let (limit, optimal) = (u64::from(limit), u64::from(info.optimal_bytes.max(1)));
    if length <= limit {
        return length;
    }
    let border = (offset + limit) / optimal * optimal;
    if border > offset { border - offset } else { limit }
}

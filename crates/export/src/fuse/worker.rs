//! One thread that serves the mount: it takes requests from the kernel, turns them into requests on
//! the device, and answers in whatever order these complete. Requests, answers and the device's own
//! I/O go through one ring, so that a burst of them costs one system call.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{
    BufMut, Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Info, Op, Request,
    ReturnedBuffer, Support,
};
use reactor::{Event, Outcome, Reactor, RingFile, Ringer, Source};
use rustix::io::Errno;
use words::statement;

use super::frame::Frame;
use super::protocol::{self, Attributes, Call};
use super::steps::{self, Content, FuseStep};
use crate::catalogue;
use crate::gate::{Gate, WritePath};
use crate::policy::RemovalPolicy;

/// Requests that one worker has under way; the others wait in the kernel.
const DEPTH: u32 = 64;
/// Requests that one worker asks the kernel for at a time.
const MAX_LISTENING: u32 = 16;

/// What all workers of a mount share.
pub(super) struct FuseMount {
    pub(super) device: Arc<dyn Device>,
    pub(super) attributes: Attributes,
    pub(super) policy: RemovalPolicy,
    pub(super) page_cache: bool,
    /// The most data of one request.
    pub(super) max_bytes: u32,
    pub(super) fuse: Arc<OwnedFd>,
    pub(super) gate: Arc<Gate>,
    pub(super) stop: AtomicBool,
}

impl FuseMount {
    fn info(&self) -> &Info {
        self.device.info()
    }

    fn block(&self) -> u64 {
        u64::from(self.info().block_bytes)
    }
}

/// Where a request stands. Its slot's index is its tag on the device and its token on the ring.
enum Work {
    Free,
    /// The kernel has been asked for a request.
    Listening,
    /// The device reads whole blocks around what was asked for.
    Read {
        skip: usize,
        length: usize,
    },
    /// The device writes the data as they are.
    Write {
        offset: u64,
        length: u32,
    },
    /// The device does what is left of a list, the first of which is under way.
    Steps {
        left: VecDeque<FuseStep>,
        written: Option<u32>,
    },
    /// The device makes all durable.
    Sync,
    Answering,
}

struct Slot {
    frame: Frame,
    unique: u64,
    work: Work,
    /// How it passed the gate.
    way: Option<WritePath>,
    durable: bool,
}

pub(super) struct Worker {
    shared: Arc<FuseMount>,
    reactor: Reactor,
    channel: Box<dyn Channel>,
    source: Source,
    fuse: RingFile,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Slots whose request waits at the gate.
    parked: VecDeque<usize>,
    listening: u32,
    /// Requests to ask for at a time: as many as came together last time.
    wanted: u32,
    unmounted: bool,
    done: Vec<Completion>,
}

impl Worker {
    /// Opens the device on a reactor of this thread.
    pub(super) fn new(shared: Arc<FuseMount>) -> Result<Worker, Error> {
        let failed = |error| Error::from_io(catalogue::SERVING_MOUNT, error);
        let reactor = Reactor::wall()?;
        let channel = shared.device.open(DEPTH, &reactor)?;
        let fuse = reactor.register(Arc::clone(&shared.fuse)).map_err(failed)?;
        Ok(Worker {
            source: reactor.source(),
            reactor,
            channel,
            fuse,
            shared,
            slots: Vec::new(),
            free: Vec::new(),
            parked: VecDeque::new(),
            listening: 0,
            wanted: 1,
            unmounted: false,
            done: Vec::new(),
        })
    }

    /// The bell that wakes this worker.
    pub(super) fn ringer(&self) -> Result<Ringer, Error> {
        self.reactor.ringer().map_err(|error| Error::from_io(catalogue::SERVING_MOUNT, error))
    }

    /// Serves until the mount is gone or the worker is told to stop.
    pub(super) fn run(mut self) -> Result<(), Error> {
        loop {
            let mut done = std::mem::take(&mut self.done);
            self.channel.poll(&mut done);
            let mut busy = !done.is_empty();
            done.drain(..).for_each(|completion| self.completed(completion));
            self.done = done;
            let mut received = 0;
            while let Some(event) = self.source.take() {
                busy = true;
                received += u32::from(self.event(event)?);
            }
            if received > 0 {
                self.wanted = received.clamp(1, MAX_LISTENING);
            }
            if self.shared.stop.load(Ordering::Acquire) {
                return Ok(());
            }
            if self.unmounted && self.free.len() == self.slots.len() {
                return Ok(());
            }
            self.listen();
            if !busy {
                self.reactor
                    .wait(None)
                    .map_err(|error| Error::from_io(catalogue::SERVING_MOUNT, error))?;
                for _ in 0..self.parked.len() {
                    let Some(index) = self.parked.pop_front() else { break };
                    self.pass_gate(index, true);
                }
            }
        }
    }

    /// Asks the kernel for requests. Every reader is woken when one comes, so it is asked for as
    /// many as seem to be there.
    fn listen(&mut self) {
        while !self.unmounted && self.listening < self.wanted {
            let index = match self.free.pop() {
                Some(index) => index,
                None if self.slots.len() == DEPTH as usize => return,
                None => {
                    let room = self.shared.max_bytes as usize + 2 * self.shared.block() as usize;
                    self.slots.push(Slot {
                        frame: Frame::new(room),
                        unique: 0,
                        work: Work::Free,
                        way: None,
                        durable: false,
                    });
                    self.slots.len() - 1
                }
            };
            let slot = &mut self.slots[index];
            slot.work = Work::Listening;
            self.source.read(&self.fuse, 0, slot.frame.lend_request(), index as u64);
            self.listening += 1;
        }
    }

    /// Takes what the ring says; whether it was a request.
    fn event(&mut self, event: Event) -> Result<bool, Error> {
        let index = event.token as usize;
        match event.outcome {
            Outcome::Read { buffer, result } => {
                self.listening -= 1;
                self.slots[index].frame.give_back(buffer);
                let length = match result {
                    Ok(length) => length as usize,
                    Err(error) => {
                        self.release(index);
                        return match error.raw_os_error().map(Errno::from_raw_os_error) {
                            // Taken back before it was read, or another worker was quicker.
                            Some(Errno::NOENT | Errno::INTR | Errno::AGAIN) => Ok(false),
                            Some(Errno::NODEV) => {
                                self.unmounted = true;
                                Ok(false)
                            }
                            _ => Err(Error::from_io(catalogue::READING_FUSE, error)),
                        };
                    }
                };
                let Some(request) = protocol::parse(self.slots[index].frame.request(length)) else {
                    return Err(Error::new(
                        ErrorKind::Invalid,
                        statement!(catalogue::NO_FUSE_REQUEST, length = length),
                    ));
                };
                self.slots[index].unique = request.unique;
                self.start(index, request.call);
                Ok(true)
            }
            // The process that asked may have gone meanwhile; then there is none to answer.
            Outcome::Written { buffer, .. } => {
                drop(buffer);
                self.release(index);
                Ok(false)
            }
            Outcome::Timer | Outcome::Done { .. } => {
                unreachable!("a worker only reads from the mount and writes to it")
            }
        }
    }

    fn release(&mut self, index: usize) {
        self.slots[index].work = Work::Free;
        self.free.push(index);
    }

    fn start(&mut self, index: usize, call: Call) {
        let attributes = self.shared.attributes;
        let refused = if attributes.writable { None } else { Some(Errno::ROFS) };
        match call {
            Call::GetAttributes => self.answer(index, &attributes.body()),
            // Opening with O_TRUNC does nothing to a drive; any other size it cannot take.
            Call::SetAttributes { size: Some(size) }
                if size != 0 && size != attributes.size_bytes =>
            {
                self.fail(index, Errno::PERM);
            }
            Call::SetAttributes { .. } => self.answer(index, &attributes.body()),
            Call::Open { write: true } if refused.is_some() => self.fail(index, Errno::ROFS),
            Call::Open { .. } => self.answer(index, &protocol::opened(self.shared.page_cache)),
            Call::Read { offset, length } => self.read(index, offset, length),
            Call::Write { .. } | Call::Clear { .. } if refused.is_some() => {
                self.fail(index, Errno::ROFS);
            }
            Call::Write { offset, length, durable } => self.write(index, offset, length, durable),
            Call::Clear { offset, length, discard } => self.clear(index, offset, length, discard),
            Call::Reserve { offset, length } => match offset.checked_add(length) {
                Some(end) if end <= attributes.size_bytes => self.answer(index, &[]),
                _ => self.fail(index, Errno::NOSPC),
            },
            Call::Sync => {
                self.slots[index].work = Work::Sync;
                self.channel.submit(Request::new(index as u64, Op::Flush));
            }
            Call::Statistics => self.answer(index, &attributes.statistics()),
            Call::Close => self.answer(index, &[]),
            Call::Told => self.release(index),
            Call::Unknown(_) => self.fail(index, Errno::NOSYS),
        }
    }

    /// How much of a range lies within the file.
    fn within(&self, offset: u64, length: u64) -> u64 {
        length.min(self.shared.attributes.size_bytes.saturating_sub(offset))
    }

    fn read(&mut self, index: usize, offset: u64, length: u32) {
        let length = self.within(offset, u64::from(length.min(self.shared.max_bytes)));
        if length == 0 {
            return self.answer(index, &[]);
        }
        let (start, whole) = steps::around(offset, length, self.shared.block());
        let slot = &mut self.slots[index];
        slot.work = Work::Read { skip: (offset - start) as usize, length: length as usize };
        let into = slot.frame.lend_data(whole as usize);
        self.channel.submit(Request::new(index as u64, Op::Read { offset: start, into }));
    }

    fn write(&mut self, index: usize, offset: u64, length: u32, durable: bool) {
        let length = self.within(offset, u64::from(length));
        if length == 0 {
            return self.fail(index, Errno::NOSPC);
        }
        let block = self.shared.block();
        let slot = &mut self.slots[index];
        slot.durable = durable || self.shared.policy.writes_durably();
        let way = if steps::is_whole(offset, length, block) {
            slot.work = Work::Write { offset, length: length as u32 };
            WritePath::Together
        } else {
            let (way, left) = steps::write(offset, length, block);
            slot.work = Work::Steps { left, written: Some(length as u32) };
            way
        };
        slot.way = Some(way);
        self.pass_gate(index, false);
    }

    fn clear(&mut self, index: usize, offset: u64, length: u64, discard: bool) {
        let length = self.within(offset, length);
        if length == 0 {
            return self.answer(index, &[]);
        }
        let info = self.shared.info();
        if discard && info.discard == DiscardSupport::None && info.zeroes != Support::Native {
            // Writing zeroes all over would be the opposite of what a discard is for.
            return self.fail(index, Errno::OPNOTSUPP);
        }
        let durable = self.shared.policy.writes_durably();
        let (way, left) = steps::clear(offset, length, self.shared.block(), durable);
        let slot = &mut self.slots[index];
        slot.durable = durable;
        slot.work = Work::Steps { left, written: None };
        slot.way = Some(way);
        self.pass_gate(index, false);
    }

    /// Lets a write start, or has it wait at the gate.
    fn pass_gate(&mut self, index: usize, again: bool) {
        let way = self.slots[index].way.expect("only writes come to the gate");
        if !self.shared.gate.enter(way, again) {
            self.parked.push_back(index);
            return;
        }
        let slot = &mut self.slots[index];
        let Work::Write { offset, length } = slot.work else { return self.next_step(index) };
        let from = slot.frame.share_data(length as usize);
        self.channel
            .submit(Request::new(index as u64, Op::Write { offset, from, fua: slot.durable }));
    }

    /// Starts the first step of those that are left, or answers when there is none.
    fn next_step(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Work::Steps { left, written } = &slot.work else {
            unreachable!("only steps have a next one")
        };
        let op = match left.front() {
            Some(&FuseStep::Clear { offset, length })
                if self.shared.info().discard == DiscardSupport::ReadsZero =>
            {
                Op::Discard { offset, length }
            }
            Some(&FuseStep::Clear { offset, length }) => {
                Op::WriteZeroes { offset, length, fua: slot.durable }
            }
            Some(&FuseStep::Patch { offset, length, .. }) => {
                Op::Read { offset, into: BufMut::zeroed(length) }
            }
            Some(FuseStep::Flush) => Op::Flush,
            None => {
                let body = written.map(protocol::written);
                return self.answer(index, body.as_ref().map_or(&[], |body| &body[..]));
            }
        };
        self.channel.submit(Request::new(index as u64, op));
    }

    fn completed(&mut self, completion: Completion) {
        let index = completion.tag as usize;
        let slot = &mut self.slots[index];
        let error = completion.result.err().map(|error| errno_of(&error));
        match &mut slot.work {
            Work::Read { skip, length } => {
                let (skip, length) = (*skip, *length);
                slot.frame.give_back(completion.buffer.read());
                match error {
                    Some(error) => self.fail(index, error),
                    None => {
                        let head = protocol::answer_head(slot.unique, length, None);
                        let answer = slot.frame.answer_data(head, skip, length);
                        self.send(index, answer);
                    }
                }
            }
            Work::Write { length, .. } => {
                let body = protocol::written(*length);
                drop(completion.buffer);
                match error {
                    Some(error) => self.fail(index, error),
                    None => self.answer(index, &body),
                }
            }
            Work::Sync => match error {
                Some(error) => self.fail(index, error),
                None => self.answer(index, &[]),
            },
            Work::Steps { left, .. } => match (error, left.front(), completion.buffer) {
                (Some(error), ..) => self.fail(index, error),
                (
                    None,
                    Some(&FuseStep::Patch { offset, at, count, with, .. }),
                    ReturnedBuffer::Read(mut buffer),
                ) => {
                    let bytes = buffer.as_mut_slice();
                    match (bytes, with) {
                        (Some(bytes), Content::Zeroes) => bytes[at..at + count].fill(0),
                        (Some(bytes), Content::Data) => {
                            // The data follow the head of the request, which the frame still holds.
                            bytes[at..at + count].copy_from_slice(slot.frame.data(count));
                        }
                        (None, _) => return self.fail(index, Errno::IO),
                    }
                    let op = Op::Write { offset, from: buffer.freeze(), fua: slot.durable };
                    self.channel.submit(Request::new(index as u64, op));
                }
                (None, ..) => {
                    left.pop_front();
                    self.next_step(index);
                }
            },
            Work::Free | Work::Listening | Work::Answering => {
                unreachable!("nothing is under way on the device")
            }
        }
    }

    fn answer(&mut self, index: usize, body: &[u8]) {
        let slot = &mut self.slots[index];
        let head = protocol::answer_head(slot.unique, body.len(), None);
        let answer = slot.frame.answer(head, body);
        self.send(index, answer);
    }

    fn fail(&mut self, index: usize, error: Errno) {
        let slot = &mut self.slots[index];
        let head = protocol::answer_head(slot.unique, 0, Some(error));
        let answer = slot.frame.answer(head, &[]);
        self.send(index, answer);
    }

    fn send(&mut self, index: usize, answer: block::Buf) {
        let slot = &mut self.slots[index];
        slot.work = Work::Answering;
        if let Some(way) = slot.way.take() {
            self.shared.gate.leave(way);
        }
        self.source.write(&self.fuse, 0, answer, false, index as u64);
    }
}

/// What a program is told.
pub(crate) fn errno_of(error: &Error) -> Errno {
    match error.kind() {
        ErrorKind::NoSpace => Errno::NOSPC,
        ErrorKind::ReadOnly => Errno::ROFS,
        ErrorKind::TimedOut => Errno::TIMEDOUT,
        ErrorKind::Gone => Errno::NODEV,
        ErrorKind::Unsupported => Errno::OPNOTSUPP,
        _ => Errno::IO,
    }
}

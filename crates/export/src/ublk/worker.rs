//! One thread that serves a queue of a ublk device: requests come from the driver, go to the device
//! as orders, and their results go back with the word that there is room for the next. Requests,
//! results and the device's own I/O go through one ring.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use block::{Device, Error, ReturnedBuffer};
use reactor::ublk::{UblkAnswer, UblkTable};
use reactor::{Event, Outcome, Reactor, RingFile, Source};
use rustix::io::Errno;

use super::control::{Numbering, RequestVerb};
use super::protocol::{self, Ask};
use crate::catalogue;
use crate::fuse::errno_of;
use crate::fuse::frame::Frame;
use crate::gate::Gate;
use crate::policy::RemovalPolicy;
use crate::serve::{Answer, Order, OrderQueue};

/// What all queues of a device share.
pub(super) struct UblkShared {
    pub(super) device: Arc<dyn Device>,
    pub(super) policy: RemovalPolicy,
    pub(super) gate: Arc<Gate>,
    pub(super) numbering: Numbering,
    /// Requests of a queue.
    pub(super) depth: u16,
    /// The most data of one request.
    pub(super) max_bytes: u32,
}

/// Where a request stands. Its tag is its token everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// The driver has its memory, to bring the next request.
    Fetching,
    /// The device does it; what it is worth in bytes.
    Carried(u32),
    /// The driver brings no more.
    Ended,
}

struct Slot {
    memory: Frame,
    work: Work,
}

pub(super) struct QueueWorker {
    shared: Arc<UblkShared>,
    queue: u16,
    reactor: Reactor,
    orders: OrderQueue,
    source: Source,
    server: RingFile,
    table: UblkTable,
    slots: Vec<Slot>,
    ended: usize,
    /// What the driver said that it should not.
    trouble: Option<Error>,
}

impl QueueWorker {
    /// Opens the device on a reactor of this thread, and tells the driver that there is room for
    /// all requests of the queue.
    pub(super) fn new(
        shared: Arc<UblkShared>,
        server: Arc<OwnedFd>,
        queue: u16,
    ) -> Result<QueueWorker, Error> {
        let failed = |error| Error::from_io(catalogue::SERVING_UBLK, error);
        let reactor = Reactor::wall()?;
        let table = UblkTable::map(&server, queue, shared.depth).map_err(failed)?;
        let orders = OrderQueue::open(
            &*shared.device,
            u32::from(shared.depth),
            shared.policy,
            &shared.gate,
            &reactor,
        )?;
        let server = reactor.register(server).map_err(failed)?;
        let room = shared.max_bytes as usize;
        let slot = |_| Slot { memory: Frame::new(room), work: Work::Ended };
        let mut worker = QueueWorker {
            queue,
            source: reactor.source(),
            reactor,
            orders,
            server,
            table,
            slots: (0..shared.depth).map(slot).collect(),
            ended: 0,
            trouble: None,
            shared,
        };
        (0..worker.shared.depth).for_each(|tag| worker.tell(tag, RequestVerb::Fetch, 0));
        worker.reactor.turn().map_err(failed)?;
        Ok(worker)
    }

    fn tell(&mut self, tag: u16, verb: RequestVerb, result: i32) {
        let slot = &mut self.slots[usize::from(tag)];
        slot.work = Work::Fetching;
        let into = slot.memory.lend_data(self.shared.max_bytes as usize);
        let code = self.shared.numbering.of_request(verb);
        let answer = UblkAnswer { code, queue: self.queue, tag, result };
        self.source.ublk(&self.server, answer, into, u64::from(tag));
    }

    /// Serves until the driver brings no more requests, which is when the device is stopped.
    pub(super) fn run(mut self) -> Result<(), Error> {
        let mut answers = Vec::new();
        loop {
            self.orders.poll(&mut answers);
            let mut busy = !answers.is_empty();
            answers.drain(..).for_each(|answer| self.answered(answer));
            while let Some(event) = self.source.take() {
                busy = true;
                self.event(event);
            }
            if self.ended == self.slots.len() && self.orders.in_flight() == 0 {
                return self.trouble.map_or(Ok(()), Err);
            }
            if !busy {
                self.reactor
                    .wait(None)
                    .map_err(|error| Error::from_io(catalogue::SERVING_UBLK, error))?;
            }
        }
    }

    fn event(&mut self, event: Event) {
        let Outcome::Read { buffer, result } = event.outcome else {
            unreachable!("a worker only fetches requests")
        };
        let tag = event.token as u16;
        let slot = &mut self.slots[usize::from(tag)];
        slot.memory.give_back(buffer);
        if let Err(error) = result {
            slot.work = Work::Ended;
            self.ended += 1;
            let is_end = Errno::from_io_error(&error) == Some(Errno::NODEV);
            if !is_end && self.trouble.is_none() {
                self.trouble = Some(Error::from_io(catalogue::FETCHING_UBLK, error));
            }
            return;
        }
        let size_bytes = self.shared.device.info().size_bytes;
        match protocol::parse(self.table.request(tag), size_bytes, self.shared.max_bytes) {
            Ok(ask) => self.start(tag, ask),
            Err(error) => self.commit(tag, Err(error)),
        }
    }

    fn start(&mut self, tag: u16, ask: Ask) {
        let slot = &mut self.slots[usize::from(tag)];
        let (worth, order) = match ask {
            Ask::Read { offset, length } => {
                let into = slot.memory.lend_data(length as usize);
                (length, Order::Read { offset, into })
            }
            Ask::Write { offset, length, durable } => {
                let from = slot.memory.share_data(length as usize);
                (length, Order::Write { offset, from, durable })
            }
            Ask::Flush => (0, Order::Flush),
            // Durable by the removal policy alone: it says of nothing else that it has to be.
            Ask::Discard { offset, length } => {
                (0, Order::Discard { offset, length, durable: false })
            }
            Ask::Zero { offset, length, durable, allocate } => {
                (0, Order::Zero { offset, length, durable, allocate })
            }
        };
        slot.work = Work::Carried(worth);
        self.orders.take(u64::from(tag), order);
    }

    fn answered(&mut self, answer: Answer) {
        let tag = answer.token as u16;
        let slot = &mut self.slots[usize::from(tag)];
        let Work::Carried(worth) = slot.work else {
            unreachable!("only what the device was given comes back")
        };
        match answer.buffer {
            ReturnedBuffer::Read(buffer) => slot.memory.give_back(buffer),
            written => drop(written),
        }
        let outcome = answer.result.map(|()| worth).map_err(|error| errno_of(&error));
        self.commit(tag, outcome);
    }

    /// Gives a request back, and asks for the next one.
    fn commit(&mut self, tag: u16, outcome: Result<u32, Errno>) {
        self.tell(tag, RequestVerb::CommitAndFetch, protocol::result(outcome));
    }
}

//! What a client has under way: requests from its rings to the device, and answers back.

use std::sync::Arc;

use block::{BufMut, Device, Error, Info, Reactor, ReturnedBuffer, Time};

use super::memory::{GuestMemory, Span};
use super::request::{Ask, NAME_BYTES, ParsedRequest, Status};
use super::session::Session;
use crate::serve::{Answer, Order, OrderQueue};
use crate::{Gate, RemovalPolicy};

/// Requests that a device gets at a time; the others wait here.
const DEPTH: u32 = 128;
/// Data under way of one client, in bytes, beyond which no more requests are taken from its rings.
const HELD_MAX_BYTES: u64 = 64 << 20;

/// A request that has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredRequest {
    /// What was asked for.
    pub ask: Ask,
    /// How much data.
    pub data_bytes: u64,
    /// How it ended.
    pub status: Status,
    /// When it was taken from its ring.
    pub taken: Time,
    /// When the device had done it.
    pub done: Time,
    /// Requests under way when it was taken, with it.
    pub depth: u32,
}

struct Slot {
    ring: usize,
    framed: ParsedRequest,
    memory: Arc<GuestMemory>,
    taken: Time,
    depth: u32,
}

/// A request that the device has done and the client has not been told of.
struct Ready {
    slot: usize,
    status: Status,
    buffer: ReturnedBuffer,
    done: Time,
}

/// One client's requests on one reactor.
pub struct Disk {
    orders: OrderQueue,
    reactor: Reactor,
    info: Info,
    read_only: bool,
    name: [u8; NAME_BYTES],
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    under_way: u32,
    held_bytes: u64,
    /// A ring was left with requests in it, for want of memory.
    starved: bool,
    ready: Vec<Ready>,
    answers: Vec<Answer>,
}

impl Disk {
    /// Opens `device` on `reactor`. It has FUA and zeroes, of its own or emulated
    /// ([`block::EmulatingDevice`]). `name` is what the guest reads as its serial number, 20 bytes
    /// of it.
    ///
    /// # Errors
    /// Those of [`Device::open`].
    pub fn open(
        device: &dyn Device,
        read_only: bool,
        policy: RemovalPolicy,
        gate: &Arc<Gate>,
        name: &str,
        reactor: &Reactor,
    ) -> Result<Disk, Error> {
        let mut bytes = [0; NAME_BYTES];
        name.bytes().zip(&mut bytes).for_each(|(from, to)| *to = from);
        Ok(Disk {
            orders: OrderQueue::open(device, DEPTH, policy, gate, reactor)?,
            reactor: reactor.clone(),
            read_only: read_only || device.info().read_only,
            info: device.info().clone(),
            name: bytes,
            slots: Vec::new(),
            free: Vec::new(),
            under_way: 0,
            held_bytes: 0,
            starved: false,
            ready: Vec::new(),
            answers: Vec::new(),
        })
    }

    /// Starts what is new in a ring.
    ///
    /// # Errors
    /// A ring or memory that makes no sense; the client is to be cut off.
    pub fn look(&mut self, session: &mut Session, ring: usize) -> Result<(), Error> {
        let durable = !session.flushes();
        while let Some((entries, memory)) = session.running(ring)? {
            if self.held_bytes >= HELD_MAX_BYTES {
                self.starved = true;
                return Ok(());
            }
            let Some(chain) = entries.take(memory)? else { return Ok(()) };
            let framed = ParsedRequest::parse(chain, memory)?;
            let memory = Arc::clone(memory);
            session.begun(ring);
            self.start(ring, framed, memory, durable)?;
        }
        Ok(())
    }

    fn start(
        &mut self,
        ring: usize,
        framed: ParsedRequest,
        memory: Arc<GuestMemory>,
        durable: bool,
    ) -> Result<(), Error> {
        let order = self.order(&framed, &memory, durable)?;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.under_way += 1;
        self.held_bytes += framed.data_bytes;
        let (taken, depth) = (self.reactor.now(), self.under_way);
        self.slots[index] = Some(Slot { ring, framed, memory, taken, depth });
        match order {
            Ok(order) => self.orders.take(index as u64, order),
            Err(status) => self.ready.push(Ready {
                slot: index,
                status,
                buffer: ReturnedBuffer::Nothing,
                done: taken,
            }),
        }
        Ok(())
    }

    /// What the device is to do, or the answer where that is known already.
    fn order(
        &self,
        framed: &ParsedRequest,
        memory: &GuestMemory,
        durable: bool,
    ) -> Result<Result<Order, Status>, Error> {
        let fits = |offset: u64, length: u64| {
            length > 0 && offset.checked_add(length).is_some_and(|end| end <= self.info.size_bytes)
        };
        let bytes = framed.data_bytes;
        Ok(match framed.ask {
            Ask::Read { offset } if fits(offset, bytes) => {
                Ok(Order::Read { offset, into: BufMut::zeroed(bytes as usize) })
            }
            Ask::Write { offset } if fits(offset, bytes) && !self.read_only => {
                let mut data = BufMut::zeroed(bytes as usize);
                if let Some(slice) = data.as_mut_slice() {
                    let mut rest = slice;
                    for span in &framed.data {
                        let (now, later) = rest.split_at_mut(span.length as usize);
                        memory.read(span.address, now)?;
                        rest = later;
                    }
                }
                Ok(Order::Write { offset, from: data.freeze(), durable })
            }
            Ask::Discard { offset, length } if fits(offset, length) && !self.read_only => {
                Ok(Order::Discard { offset, length, durable })
            }
            Ask::Zero { offset, length, unmap } if fits(offset, length) && !self.read_only => {
                Ok(Order::Zero { offset, length, durable, allocate: !unmap })
            }
            Ask::Flush => Ok(Order::Flush),
            Ask::Name => Err(Status::Done),
            Ask::Nothing(status) => Err(status),
            _ => Err(Status::Failed),
        })
    }

    /// Takes what the device has done; whether there is anything that the client is to be told.
    pub fn collect(&mut self) -> bool {
        self.orders.poll(&mut self.answers);
        let done = self.reactor.now();
        self.ready.extend(self.answers.drain(..).map(|answer| Ready {
            slot: answer.token as usize,
            status: if answer.result.is_ok() { Status::Done } else { Status::Failed },
            buffer: answer.buffer,
            done,
        }));
        !self.ready.is_empty()
    }

    /// Gives back what was collected, in the order in which it was done, and appends it to `done`.
    /// Appends to `calls` the rings whose client is to be told.
    ///
    /// # Errors
    /// Memory that is not there any more; the client is to be cut off.
    pub fn deliver(
        &mut self,
        session: &mut Session,
        calls: &mut Vec<usize>,
        done: &mut Vec<AnsweredRequest>,
    ) -> Result<(), Error> {
        let mut given = Vec::new();
        for ready in std::mem::take(&mut self.ready) {
            let Some(slot) = self.slots[ready.slot].take() else { continue };
            self.free.push(ready.slot);
            self.under_way -= 1;
            let Slot { ring, framed, memory, taken, depth } = slot;
            self.held_bytes -= framed.data_bytes;
            let mut written = 1;
            if let (Ask::Read { .. }, Status::Done, ReturnedBuffer::Read(buffer)) =
                (framed.ask, ready.status, &ready.buffer)
            {
                // A read buffer that came back in pieces is taken piece by piece.
                written += scatter(&memory, &framed.data, buffer.slices())?;
            }
            if framed.ask == Ask::Name {
                written += scatter(&memory, &framed.data, [&self.name[..]].into_iter())?;
            }
            memory.write(framed.status, &[ready.status as u8])?;
            session.give_back(ring, framed.head, written, &memory)?;
            if !given.contains(&ring) {
                given.push(ring);
            }
            done.push(AnsweredRequest {
                ask: framed.ask,
                data_bytes: framed.data_bytes,
                status: ready.status,
                taken,
                done: ready.done,
                depth,
            });
        }
        for ring in given {
            if session.wants_call(ring)? {
                calls.push(ring);
            }
        }
        if self.starved && self.held_bytes < HELD_MAX_BYTES {
            self.starved = false;
            (0..session.rings()).try_for_each(|ring| self.look(session, ring))?;
        }
        Ok(())
    }

    /// Whether the device has not answered everything that it was given.
    pub(super) fn is_busy(&self) -> bool {
        self.orders.in_flight() > 0
    }

    /// Takes what the device has done, without an answer: the client is gone. Whether there was
    /// anything.
    pub(super) fn forget(&mut self) -> bool {
        let any = self.collect();
        self.ready.clear();
        any
    }
}

/// Writes the pieces one after another into the spans, as far as these reach; how much that was.
fn scatter<'a>(
    memory: &GuestMemory,
    spans: &[Span],
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<u32, Error> {
    let mut spans = spans.iter().copied();
    let mut span = spans.next();
    let mut written = 0;
    for mut piece in pieces {
        while let (Some(at), false) = (&mut span, piece.is_empty()) {
            let now = piece.len().min(usize::try_from(at.length).unwrap_or(usize::MAX));
            memory.write(at.address, &piece[..now])?;
            written += now as u32;
            piece = &piece[now..];
            at.address += now as u64;
            at.length -= now as u64;
            if at.length == 0 {
                span = spans.next();
            }
        }
    }
    Ok(written)
}

//! What a worker keeps of one connection: bytes that came, bytes that go, requests under way.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use block::{Buf, BufMut, Error};
use reactor::{RingFile, Time};

use super::admission::Ticket;
use super::handshake::Handshake;
use super::memory::Pool;
use super::tls::Tunnel;
use super::transmission::{Errno, Session};

/// Bytes taken from a socket at once while its handshake lasts: enough for all that clients say in
/// it as a rule.
const GREETING_BYTES: usize = 2048;
/// Bytes taken from a socket at once. A write's data that do not come with its head go straight to
/// where they are needed.
pub(super) const INPUT_BYTES: usize = 64 << 10;
/// Small replies are gathered in buffers of this size, in bytes.
const NOTES_BYTES: usize = 4096;

/// Small replies that may wait for the client to read them, in bytes.
const NOTES_MAX_BYTES: usize = 64 << 10;
/// Bytes of replies that lie ready behind those being sent, before requests have to wait. More
/// than that is gone from the processor's cache when it is sent at last.
const READY_BYTES: usize = 256 << 10;
/// Requests of one connection that may be unanswered.
const REQUESTS_MAX: usize = 256;

/// One client.
pub(super) struct Connection {
    pub(super) socket: RingFile,
    pub(super) descriptor: Arc<OwnedFd>,
    pub(super) ticket: Ticket,
    pub(super) asked: Activity,
    pub(super) phase: Phase,
    pub(super) tunnel: Option<Tunnel>,
    pub(super) receiving: ReceiveTarget,
    /// What TLS is received into, while it is not lent to the kernel.
    pub(super) cipher: Option<BufMut>,
    pub(super) input: Input,
    pub(super) output: Output,
    pub(super) payload: Option<Payload>,
    /// Data of a refused write that are still to be passed over.
    pub(super) skip_bytes: u64,
    pub(super) requests: Vec<Option<RunningOrder>>,
    pub(super) free_requests: Vec<u32>,
    /// Orders in an order queue that have not been answered.
    pub(super) orders: u32,
    /// Memory that counts against the budget.
    pub(super) held_bytes: u64,
    /// Bytes of reads that were ordered since its order queue was last asked for answers.
    pub(super) unasked_bytes: usize,
    pub(super) ending: Ending,
    /// When the handshake has to be over, or the goodbye.
    pub(super) deadline: Option<Time>,
    /// When the socket last took or gave something.
    pub(super) moved: Time,
    /// Waits for memory that others hold.
    pub(super) pressed: bool,
    /// Has something to send, or may be at its end.
    pub(super) touched: bool,
}

/// Whether it has asked its export anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Something,
    NothingSince(Time),
    /// For so long that it makes way for others.
    NothingForLong,
}

pub(super) enum Phase {
    Handshake(Handshake),
    Transmission(Session),
}

/// How far a connection is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Open,
    /// Takes no more requests; what is under way is still answered.
    Draining,
    /// The socket is shut down; what is under way is only waited for.
    Dead,
}

/// A request that has not been answered.
pub(super) struct RunningOrder {
    pub(super) cookie: u64,
    /// Orders in the order queue.
    pub(super) orders: u32,
    /// More of its data are to come.
    pub(super) receiving: bool,
    pub(super) error: Option<(Errno, String)>,
    /// In front of a read's data.
    pub(super) head: Option<BufMut>,
}

impl RunningOrder {
    pub(super) fn failed(&mut self, error: &Error) {
        if self.error.is_none() {
            self.error = Some((Errno::from(error), error.to_string()));
        }
    }
}

/// The data of a write that are arriving, one piece at a time.
pub(super) struct Payload {
    pub(super) request: u32,
    pub(super) durable: bool,
    /// Where the data go that no piece has been made for yet, and how many there are, in bytes.
    pub(super) offset: u64,
    pub(super) left_bytes: u64,
    pub(super) piece: Option<Piece>,
}

/// A part of a write's data that goes to the device as one.
pub(super) struct Piece {
    pub(super) offset: u64,
    /// What is there.
    pub(super) filled: Option<BufMut>,
    /// What is not; none while it is being received into.
    pub(super) rest: Option<BufMut>,
}

impl Piece {
    /// Takes `count` bytes at the front of `rest` as filled; the whole piece when that was all.
    pub(super) fn fill(&mut self, mut rest: BufMut, count: usize) -> Option<BufMut> {
        let front = rest.split_to(count);
        let filled = match self.filled.take() {
            Some(mut filled) => {
                filled.append(front);
                filled
            }
            None => front,
        };
        if rest.is_empty() {
            return Some(filled);
        }
        self.filled = Some(filled);
        self.rest = Some(rest);
        None
    }
}

/// What the kernel is receiving into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiveTarget {
    Nothing,
    Input,
    Piece,
    Cipher,
}

impl Connection {
    pub(super) fn new(
        socket: RingFile,
        descriptor: Arc<OwnedFd>,
        ticket: Ticket,
        handshake: Handshake,
        now: Time,
        deadline: Time,
    ) -> Connection {
        Connection {
            socket,
            descriptor,
            ticket,
            asked: Activity::Something,
            phase: Phase::Handshake(handshake),
            tunnel: None,
            receiving: ReceiveTarget::Nothing,
            cipher: None,
            input: Input {
                buffer: Some(BufMut::zeroed(GREETING_BYTES)),
                capacity: GREETING_BYTES,
                kept: None,
                start: 0,
                end: 0,
            },
            output: Output::default(),
            payload: None,
            skip_bytes: 0,
            requests: Vec::new(),
            free_requests: Vec::new(),
            orders: 0,
            held_bytes: 0,
            unasked_bytes: 0,
            ending: Ending::Open,
            deadline: Some(deadline),
            moved: now,
            pressed: false,
            touched: false,
        }
    }

    pub(super) fn session(&self) -> Option<Session> {
        match self.phase {
            Phase::Transmission(session) => Some(session),
            Phase::Handshake(_) => None,
        }
    }

    /// Notes that it asks something; what it had done before.
    pub(super) fn has_asked(&mut self) -> Activity {
        std::mem::replace(&mut self.asked, Activity::Something)
    }

    /// Notes a request; its number among those of this connection.
    pub(super) fn begin(&mut self, running: RunningOrder) -> u32 {
        if let Some(index) = self.free_requests.pop() {
            self.requests[index as usize] = Some(running);
            return index;
        }
        self.requests.push(Some(running));
        u32::try_from(self.requests.len() - 1).expect("few requests")
    }

    /// Takes a request off the list, for its answer.
    pub(super) fn end(&mut self, request: u32) -> RunningOrder {
        self.free_requests.push(request);
        self.requests[request as usize].take().expect("a request under way")
    }

    /// Whether it has to wait for its own answers, or for memory, before anything more is taken
    /// from it.
    pub(super) fn is_waiting(&self) -> bool {
        self.pressed
            || self.output.is_full()
            || self.requests.len() - self.free_requests.len() >= REQUESTS_MAX
    }

    /// Notes that a read was ordered; whether so much was that there may be enough to send.
    pub(super) fn ordered(&mut self, bytes: usize) -> bool {
        self.unasked_bytes += bytes;
        let enough = self.unasked_bytes >= READY_BYTES;
        if enough {
            self.unasked_bytes = 0;
        }
        enough
    }

    /// Whether anything of it is still in use by the kernel or a device.
    pub(super) fn is_in_use(&self) -> bool {
        self.receiving != ReceiveTarget::Nothing || self.output.is_sending() || self.orders > 0
    }
}

/// Bytes from the client that have not been understood yet.
pub(super) struct Input {
    /// None while it is lent to the kernel.
    buffer: Option<BufMut>,
    /// Its length, in bytes.
    capacity: usize,
    /// The buffer's front, while the rest is lent.
    kept: Option<BufMut>,
    start: usize,
    end: usize,
}

impl Input {
    /// What is there.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer
            .as_ref()
            .and_then(BufMut::as_slice)
            .map_or(&[], |bytes| &bytes[self.start..self.end])
    }

    /// Whether there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.end - self.start == self.capacity
    }

    /// Makes room for `capacity` bytes. Nothing is done while the buffer is lent to the kernel.
    pub(super) fn grow(&mut self, capacity: usize) {
        if capacity <= self.capacity || self.buffer.is_none() {
            return;
        }
        let mut larger = BufMut::zeroed(capacity);
        let count = self.end - self.start;
        if let Some(target) = larger.as_mut_slice() {
            target[..count].copy_from_slice(self.bytes());
        }
        *self = Input { buffer: Some(larger), capacity, kept: None, start: 0, end: count };
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        assert!(self.start <= self.end, "no more is used than there is");
    }

    /// Room for more, at the end.
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.compact();
        let end = self.end;
        self.buffer
            .as_mut()
            .and_then(BufMut::as_mut_slice)
            .map_or(&mut [], |bytes| &mut bytes[end..])
    }

    pub(super) fn filled(&mut self, count: usize) {
        self.end += count;
    }

    fn compact(&mut self) {
        if self.start > 0
            && let Some(bytes) = self.buffer.as_mut().and_then(BufMut::as_mut_slice)
        {
            bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
    }

    /// Gives its free part away to be received into; none when there is no room.
    pub(super) fn lend(&mut self) -> Option<BufMut> {
        self.compact();
        if self.end == self.capacity {
            return None;
        }
        let mut rest = self.buffer.take()?;
        if self.end > 0 {
            self.kept = Some(rest.split_to(self.end));
        }
        Some(rest)
    }

    /// Takes the lent part back with `count` new bytes at its front.
    pub(super) fn returned(&mut self, part: BufMut, count: usize) {
        let mut whole = part;
        if let Some(mut kept) = self.kept.take() {
            kept.append(whole);
            whole = kept;
        }
        self.buffer = Some(whole);
        self.end += count;
    }
}

/// Replies on their way to the client.
#[derive(Default)]
pub(super) struct Output {
    queue: Option<Buf>,
    queued_bytes: usize,
    parts: Vec<Part>,
    /// Room for small replies.
    notes: Option<BufMut>,
    /// Bytes of small replies that are queued.
    notes_bytes: usize,
    /// The parts of the rope that is being sent; none when nothing is.
    sending: Option<Vec<Part>>,
    /// What has gone out of that rope when the kernel took it by halves.
    gone: Option<Buf>,
}

/// A part of a rope.
struct Part {
    length: usize,
    /// Bytes in front of the data, for a buffer that goes back to the pool.
    pooled_head: Option<usize>,
}

impl Output {
    pub(super) fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_none()
    }

    /// Whether so many replies wait that the client should read some first.
    pub(super) fn is_full(&self) -> bool {
        self.notes_bytes > NOTES_MAX_BYTES || self.queued_bytes >= READY_BYTES
    }

    /// Queues a reply without data, or one of the handshake.
    pub(super) fn push_small(&mut self, mut bytes: &[u8]) {
        self.notes_bytes += bytes.len();
        while !bytes.is_empty() {
            let notes = self.notes.get_or_insert_with(|| BufMut::zeroed(NOTES_BYTES));
            let now = bytes.len().min(notes.len());
            let mut note = notes.split_to(now);
            if notes.is_empty() {
                self.notes = None;
            }
            note.copy_from_slice(&bytes[..now]);
            bytes = &bytes[now..];
            self.push(note.freeze(), None);
        }
    }

    /// Queues a read's head and data, which go back to the pool afterwards.
    pub(super) fn push_data(&mut self, buffer: BufMut, head: usize) {
        self.push(buffer.freeze(), Some(head));
    }

    /// Moves what is queued, which is small, to where it goes out before TLS begins.
    pub(super) fn in_the_clear(&mut self, tunnel: &mut Tunnel) {
        if let Some(queue) = self.queue.take() {
            queue.slices().for_each(|slice| tunnel.send_in_the_clear(slice));
            self.parts.clear();
            self.notes_bytes = 0;
            self.queued_bytes = 0;
        }
    }

    /// Queues what is made for this once.
    pub(super) fn push_bytes(&mut self, bytes: Buf) {
        self.push(bytes, None);
    }

    fn push(&mut self, bytes: Buf, pooled_head: Option<usize>) {
        let length = bytes.len();
        self.queued_bytes += length;
        match &mut self.queue {
            Some(queue) => queue.append(bytes),
            None => self.queue = Some(bytes),
        }
        match self.parts.last_mut() {
            Some(last) if last.pooled_head.is_none() && pooled_head.is_none() => {
                last.length += length;
            }
            _ => self.parts.push(Part { length, pooled_head }),
        }
    }

    /// What is queued, to be sent; none when there is nothing, or another rope is on its way.
    pub(super) fn start(&mut self) -> Option<Buf> {
        if self.sending.is_some() {
            return None;
        }
        let queue = self.queue.take()?;
        self.notes_bytes = 0;
        self.queued_bytes = 0;
        self.sending = Some(std::mem::take(&mut self.parts));
        Some(queue)
    }

    /// Notes that `count` bytes at the front of `rope` have gone out: what is left to send, or how
    /// many bytes of read data the whole rope had.
    pub(super) fn sent(
        &mut self,
        mut rope: Buf,
        count: usize,
        pool: &mut Pool,
    ) -> Result<u64, Buf> {
        if count == rope.len() {
            return Ok(self.end(rope, pool));
        }
        let front = rope.split_to(count);
        match &mut self.gone {
            Some(gone) => gone.append(front),
            None => self.gone = Some(front),
        }
        Err(rope)
    }

    /// Ends a send, however it went, with `rope` being what was under way last; how many bytes of
    /// read data it had.
    pub(super) fn end(&mut self, rope: Buf, pool: &mut Pool) -> u64 {
        let whole = match self.gone.take() {
            Some(mut gone) => {
                gone.append(rope);
                gone
            }
            None => rope,
        };
        let mut data_bytes = 0;
        let mut parts = self.sending.take().expect("a send was started").into_iter().peekable();
        let mut rest = Some(whole);
        while let Some(part) = parts.next() {
            // The last part is the rest itself: an empty rest would be a second handle to its
            // memory.
            let bytes = match (&mut rest, parts.peek()) {
                (Some(rest), Some(_)) => Some(rest.split_to(part.length)),
                _ => rest.take(),
            };
            let (Some(bytes), Some(head)) = (bytes, part.pooled_head) else { continue };
            data_bytes += (part.length - head) as u64;
            if let Ok(buffer) = bytes.try_mut() {
                pool.give_back(head, buffer);
            }
        }
        data_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queues replies, sends them as the kernel might, and looks at what is in the pool afterwards.
    #[test]
    fn every_buffer_comes_back_however_a_rope_goes_out() {
        for replies in 1..4 {
            for halves in [false, true] {
                let (mut output, mut pool) = (Output::default(), Pool::default());
                let mut addresses = Vec::new();
                for number in 0..replies {
                    let buffer = pool.take(28, 4096);
                    addresses.push(buffer.as_slice().expect("one piece").as_ptr().addr());
                    output.push_data(buffer, 28);
                    if number == 1 {
                        output.push_small(b"a reply between");
                    }
                }
                let rope = output.start().expect("replies");
                assert!(output.is_sending() && output.is_empty() && output.start().is_none());
                let length = rope.len();
                let data_bytes = if halves {
                    let rest = output.sent(rope, 100, &mut pool).expect_err("more is to go");
                    output.sent(rest, length - 100, &mut pool)
                } else {
                    output.sent(rope, length, &mut pool)
                };
                assert_eq!(data_bytes.ok(), Some(replies * 4096));
                let mut again: Vec<_> = (0..replies).map(|_| pool.take(28, 4096)).collect();
                let mut found: Vec<usize> = again
                    .drain(..)
                    .map(|buffer| buffer.as_slice().expect("one piece").as_ptr().addr())
                    .collect();
                addresses.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, addresses, "{replies} replies, halves {halves}");
            }
        }
    }

    #[test]
    fn replies_that_lie_ready_hold_requests_back_until_they_are_sent() {
        let (mut output, mut pool) = (Output::default(), Pool::default());
        output.push_data(pool.take(28, READY_BYTES / 2), 28);
        assert!(!output.is_full());
        output.push_data(pool.take(28, READY_BYTES / 2), 28);
        assert!(output.is_full());
        let rope = output.start().expect("replies");
        assert!(!output.is_full(), "the next may be made ready meanwhile");
        let length = rope.len();
        assert_eq!(output.sent(rope, length, &mut pool).ok(), Some(READY_BYTES as u64));
    }
}

//! One owner's connection to an export.
//!
//! ```text
//!   submit ──> queued ── one send at a time ──> server ── head ── data ──> answered
//!                ^                                 │
//!                └── reads, after a connection ── lost ──> gone, if a write may be lost with it
//! ```

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use block::{Buf, BufMut, Channel, Completion, Error, ErrorKind, Op, Reactor, Request, Time};
use nbd_wire::{
    CHUNK_BYTES, CHUNK_MAGIC, Cursor, DATA_CHUNK_BYTES, REQUEST_BYTES, RequestHead,
    SIMPLE_REPLY_BYTES, SIMPLE_REPLY_MAGIC, chunk, command,
};
use reactor::{Event, Outcome, RingFile, Slots, Source};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, sendmsg, shutdown};
use words::{Text, statement};

use super::Shared;
use super::gate::Gate;
use super::greet::NbdConnection;
use super::inbox::Inbox;
use super::work::{PART_MAX_BYTES, Work};
use crate::messages;

/// A send takes so many requests at most: with their data they are one vector for the kernel.
const SEND_REQUESTS_MAX: usize = 64;
/// The longest text of an error that is taken, in bytes.
const ERROR_MAX_BYTES: u32 = 4096 + 6;
/// Offset and length of a hole.
const HOLE_BYTES: usize = 12;
/// Between two attempts to connect again.
const RETRY_TIME: Duration = Duration::from_millis(200);
/// The longest wait before a connection is made again that was lost again and again.
const RETRY_MAX_TIME: Duration = Duration::from_secs(2);
/// A connection that has stood so long without a request was not lost for one of them: servers
/// close idle ones.
const IDLE_TIME: Duration = Duration::from_secs(5);
/// After so many losses in the time for connecting again, without an answer between them, there
/// is no other.
const LOSSES_MAX: u32 = 3;

/// Between two looks whether what is held back may be sent.
const HELD_TIME: Duration = Duration::from_millis(20);
/// So many pieces are sent with one system call at most.
const SEND_PIECES_MAX: usize = 512;
/// From so many bytes on a read is long, and its data go from the kernel to their place; those of
/// short reads come with what else is there, and are copied.
const DIRECT_MIN_BYTES: usize = 16 << 10;

/// Tokens of the operations on a connection; each is under way once at most.
const SEND: u64 = 0;
const RECEIVE: u64 = 1;
const CONNECTED: u64 = 2;
/// A look whether writes that are held back may be sent.
const LOOK: u64 = 4;
/// The end of the time for connecting again; above the lowest byte is which time it is.
const GIVE_UP: u64 = 3;

pub(super) struct NbdChannel {
    shared: Arc<Shared>,
    source: Source,
    /// Requests carry their key as cookie.
    running: Slots<Running>,
    /// Requests that are not sent yet.
    queued: VecDeque<u32>,
    /// What never reached the server, or has been given up.
    answered: Vec<Completion>,
    state: ConnectionState,
    /// How often another connection was needed.
    losses: u64,
    /// Losses since the server has answered anything.
    fruitless: Losses,
    /// When the connection was made.
    connected_at: Time,
    /// A look at what is held back is set.
    is_looking: bool,
    /// Length of the read submitted last.
    last_read_bytes: usize,
}

enum ConnectionState {
    Connected(Connection),
    /// What is under way on the old connection ends; then another is made, or none.
    Closing {
        old: Connection,
        reason: Error,
    },
    Reconnecting(Reconnecting),
    Gone,
}

struct Connection {
    socket: Arc<OwnedFd>,
    file: RingFile,
    is_sending: bool,
    is_receiving: bool,
    receiving: Receiving,
    /// Whether what is being received goes to its place, and not into the inbox.
    is_direct: bool,
    inbox: Inbox,
    /// What is sent next, where others may write to the same medium.
    unsent: Option<UnsentBytes>,
    /// Where another thread sends: what it looks at.
    gate: Option<Arc<Gate>>,
}

/// What has begun to be sent to a medium that others may write to.
struct UnsentBytes {
    bytes: Buf,
    has_writes: bool,
}

/// Connects in a thread of its own; the socket can be read from when it has an answer, or ended.
struct Reconnecting {
    /// Kept for the operation that waits for it.
    _bell: RingFile,
    answer: Receiver<Result<NbdConnection, Error>>,
    /// Dropped to end it.
    _stop: Sender<()>,
}

/// A request under way.
struct Running {
    tag: u64,
    work: Work,
    /// Connections that were lost while it was under way.
    losses: Losses,
    /// In chunks: what the server said so far.
    failed: Option<Error>,
}

/// Connections that were lost, of which none brought what was waited for.
#[derive(Clone, Copy, Default)]
struct Losses {
    count: u32,
    /// When the first was lost.
    since: Option<Time>,
}

impl Losses {
    fn add(&mut self, now: Time) {
        self.count += 1;
        self.since.get_or_insert(now);
    }

    /// Whether another connection would bring no more than those before it did, in the time that
    /// there is for connecting again.
    fn are_enough(&self, now: Time, time: Duration) -> bool {
        self.count >= LOSSES_MAX && self.since.is_some_and(|since| now >= since + time)
    }

    /// What is waited before the next connection.
    fn pause(&self) -> Duration {
        match self.count {
            0 | 1 => Duration::ZERO,
            count => RETRY_TIME.saturating_mul(1 << (count - 2).min(10)).min(RETRY_MAX_TIME),
        }
    }
}

/// What comes next from the server.
enum Receiving {
    Head,
    /// A chunk's head is 4 bytes longer than a simple reply's.
    ChunkHead {
        head: [u8; SIMPLE_REPLY_BYTES],
    },
    /// The offset before the data of a chunk.
    DataOffset {
        key: u32,
        length: u32,
        is_last: bool,
    },
    /// Data: `rest` is what is still to be filled, `front` and `back` are the parts of the buffer
    /// around them. The kernel has `rest` while it fills it.
    Data {
        key: u32,
        rest: Option<BufMut>,
        front: BufMut,
        back: BufMut,
        is_last: bool,
    },
    Hole {
        key: u32,
        is_last: bool,
    },
    ErrorText {
        key: u32,
        length: usize,
        is_last: bool,
    },
}

impl Receiving {
    /// So many bytes are needed to go on; of data, any.
    fn needed_bytes(&self) -> usize {
        match self {
            Receiving::Head => SIMPLE_REPLY_BYTES,
            Receiving::ChunkHead { .. } => CHUNK_BYTES - SIMPLE_REPLY_BYTES,
            Receiving::DataOffset { .. } => DATA_CHUNK_BYTES - CHUNK_BYTES,
            Receiving::Data { .. } => 1,
            Receiving::Hole { .. } => HOLE_BYTES,
            Receiving::ErrorText { length, .. } => *length,
        }
    }
}

impl NbdChannel {
    /// Connects. The reactor's clock has to be the wall's.
    pub(super) fn open(
        shared: Arc<Shared>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<NbdChannel, Error> {
        let connected = shared.connect()?;
        same_export(&shared, &connected)?;
        let connection = Connection::new(&shared, connected, reactor)?;
        let mut channel = NbdChannel {
            shared,
            source: reactor.source(),
            running: Slots::with_capacity(depth.min(1024) as usize),
            queued: VecDeque::new(),
            answered: Vec::new(),
            state: ConnectionState::Connected(connection),
            losses: 0,
            fruitless: Losses::default(),
            connected_at: reactor.now(),
            is_looking: false,
            last_read_bytes: 0,
        };
        channel.receive();
        Ok(channel)
    }

    /// Sends what is queued, unless something is being sent.
    fn send(&mut self) {
        let ConnectionState::Connected(connection) = &mut self.state else { return };
        if connection.is_sending || connection.unsent.is_some() || self.queued.is_empty() {
            return;
        }
        let is_shared = self.shared.lease.is_limited();
        let writes = |key: &u32| self.running.get(*key).is_some_and(|one| one.work.may_be_lost());
        let mut keys: Vec<u32> =
            self.queued.drain(..self.queued.len().min(SEND_REQUESTS_MAX)).collect();
        let mut has_writes = is_shared && keys.iter().any(writes);
        if has_writes && !self.shared.lease.holds() {
            // What is read meanwhile may make the right to write longer.
            let (held, free) = keys.into_iter().partition::<Vec<u32>, _>(writes);
            held.into_iter().rev().for_each(|key| self.queued.push_front(key));
            (keys, has_writes) = (free, false);
            if !std::mem::replace(&mut self.is_looking, true) {
                self.source.at(self.source.reactor().now() + HELD_TIME, LOOK);
            }
            if keys.is_empty() {
                return;
            }
        }
        let mut heads = BufMut::zeroed(keys.len() * REQUEST_BYTES);
        let mut text = Vec::with_capacity(keys.len() * REQUEST_BYTES);
        for key in &keys {
            let running = self.running.get(*key).expect("what is queued is running");
            text.extend(running.work.head(*key, self.shared.always_fua));
        }
        heads.copy_from_slice(&text);
        let mut heads = heads.freeze();
        let mut all: Option<Buf> = None;
        for key in &keys {
            push(&mut all, heads.split_to(REQUEST_BYTES));
            if let Some(Work::Write { from, .. }) = self.running.get(*key).map(|one| &one.work) {
                push(&mut all, from.clone());
            }
        }
        let bytes = all.expect("something is queued");
        if is_shared {
            if has_writes && let Some(gate) = &connection.gate {
                gate.has_writes.store(true, Ordering::Release);
            }
            connection.unsent = Some(UnsentBytes { bytes, has_writes });
            return self.send_shared();
        }
        connection.is_sending = true;
        self.source.send(&connection.file, bytes, SEND);
    }

    /// Sends at once what others may write over: between the look at the lease and the kernel there
    /// is nothing that waits, and what does not fit into the socket stays here.
    fn send_shared(&mut self) {
        let ConnectionState::Connected(connection) = &mut self.state else { return };
        while let Some(unsent) = connection.unsent.as_mut().filter(|_| !connection.is_sending) {
            let pieces: Vec<IoSlice<'_>> =
                unsent.bytes.slices().take(SEND_PIECES_MAX).map(IoSlice::new).collect();
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            if unsent.has_writes && !self.shared.lease.holds() {
                if !std::mem::replace(&mut self.is_looking, true) {
                    self.source.at(self.source.reactor().now() + HELD_TIME, LOOK);
                }
                return;
            }
            match sendmsg(connection.socket.as_fd(), &pieces, &mut Default::default(), flags) {
                Ok(count) if count < unsent.bytes.len() => {
                    let _ = unsent.bytes.split_to(count);
                }
                Ok(_) => connection.unsent = None,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    connection.is_sending = true;
                    self.source.writable(&connection.file, SEND);
                }
                Err(error) => return self.lose(error.into()),
            }
        }
    }

    /// Goes on with what was held back, or had no room in the socket.
    fn go_on(&mut self) {
        self.send_shared();
        self.send();
    }

    /// Starts receiving: data to their place when there are many, else what the server has sent.
    fn receive(&mut self) {
        let ConnectionState::Connected(connection) = &mut self.state else { return };
        connection.is_receiving = true;
        let is_long = |bytes: usize| bytes >= DIRECT_MIN_BYTES;
        let reads_are_long = is_long(self.last_read_bytes);
        if let Receiving::Data { rest, .. } = &mut connection.receiving
            && rest.as_ref().is_some_and(|rest| reads_are_long || is_long(rest.len()))
            && let Some(rest) = rest.take()
        {
            connection.is_direct = true;
            return self.source.receive(&connection.file, rest, true, RECEIVE);
        }
        // Of what follows a head of a long read as little as possible is to be copied.
        let needed = connection.receiving.needed_bytes();
        let most = if reads_are_long { needed.max(DATA_CHUNK_BYTES) } else { usize::MAX };
        connection.is_direct = false;
        let room = connection.inbox.room(most);
        self.source.receive(&connection.file, room, false, RECEIVE);
    }

    fn ended(&mut self, event: Event, done: &mut Vec<Completion>) {
        match (event.token, event.outcome) {
            (SEND, Outcome::Written { buffer, result }) => self.sent(buffer, result),
            (SEND, Outcome::Done { .. }) => {
                match &mut self.state {
                    ConnectionState::Connected(one) | ConnectionState::Closing { old: one, .. } => {
                        one.is_sending = false;
                    }
                    ConnectionState::Reconnecting(_) | ConnectionState::Gone => {}
                }
                self.go_on();
            }
            (LOOK, Outcome::Timer) => {
                self.is_looking = false;
                self.go_on();
            }
            (RECEIVE, Outcome::Read { buffer, result }) => self.received(buffer, result, done),
            (CONNECTED, Outcome::Done { .. }) => self.reconnected(),
            (token, Outcome::Timer) if token == GIVE_UP | self.losses << 8 => self.too_late(done),
            // The connection was made again in time.
            (_, Outcome::Timer) => {}
            (token, outcome) => unreachable!("{outcome:?} ends nothing that {token} started"),
        }
        self.closed(done);
    }

    fn sent(&mut self, mut buffer: Buf, result: io::Result<u32>) {
        match &mut self.state {
            ConnectionState::Connected(connection) => {
                connection.is_sending = false;
                match result {
                    Ok(count) if (count as usize) < buffer.len() && count > 0 => {
                        let _ = buffer.split_to(count as usize);
                        connection.is_sending = true;
                        self.source.send(&connection.file, buffer, SEND);
                    }
                    Ok(0) => self.lose(io::Error::from(io::ErrorKind::WriteZero)),
                    Ok(_) => self.send(),
                    Err(error) => self.lose(error),
                }
            }
            ConnectionState::Closing { old, .. } => old.is_sending = false,
            ConnectionState::Reconnecting(_) | ConnectionState::Gone => {}
        }
    }

    fn received(&mut self, buffer: BufMut, result: io::Result<u32>, done: &mut Vec<Completion>) {
        let (connection, is_lost) = match &mut self.state {
            ConnectionState::Connected(connection) => (connection, false),
            ConnectionState::Closing { old, .. } => (old, true),
            ConnectionState::Reconnecting(_) | ConnectionState::Gone => return,
        };
        connection.is_receiving = false;
        let count = *result.as_ref().unwrap_or(&0) as usize;
        match &mut connection.receiving {
            Receiving::Data { rest, front, .. } if connection.is_direct => {
                let mut buffer = buffer;
                front.append(buffer.split_to(count));
                *rest = Some(buffer);
            }
            _ => connection.inbox.put(buffer, count),
        }
        if is_lost || count == 0 {
            let receiving = std::mem::replace(&mut connection.receiving, Receiving::Head);
            self.put_back(receiving);
            return match result {
                _ if is_lost => {}
                Err(error) => self.lose(error),
                Ok(_) => self.lose(io::Error::from(io::ErrorKind::UnexpectedEof)),
            };
        }
        self.take_in(done);
    }

    /// Goes through what has been received, and receives more.
    fn take_in(&mut self, done: &mut Vec<Completion>) {
        while let ConnectionState::Connected(connection) = &mut self.state {
            if let Receiving::Data { rest: Some(rest), front, .. } = &mut connection.receiving {
                let unread = connection.inbox.unread();
                let count = unread.len().min(rest.len());
                let mut part = rest.split_to(count);
                part.copy_from_slice(&unread[..count]);
                front.append(part);
                connection.inbox.skip(count);
                if !rest.is_empty() {
                    return self.receive();
                }
                if self.data_over(done).is_none() {
                    let text = Text::from(messages::REPLY_WITHOUT_DATA);
                    self.lose(io::Error::new(io::ErrorKind::InvalidData, text));
                }
                continue;
            }
            let needed = connection.receiving.needed_bytes();
            let Some(bytes) = connection.inbox.unread().get(..needed) else {
                return self.receive();
            };
            let mut short = [0; SIMPLE_REPLY_BYTES];
            let long;
            let bytes = match short.get_mut(..needed) {
                Some(short) => {
                    short.copy_from_slice(bytes);
                    &*short
                }
                None => {
                    long = bytes.to_vec();
                    &long
                }
            };
            connection.inbox.skip(needed);
            let receiving = std::mem::replace(&mut connection.receiving, Receiving::Head);
            if self.understood(&receiving, bytes, done).is_none() {
                let text = Text::from(messages::REPLY_NO_SENSE);
                self.lose(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
    }

    /// Takes in a head or a small payload; `None` when it makes no sense.
    fn understood(
        &mut self,
        receiving: &Receiving,
        bytes: &[u8],
        done: &mut Vec<Completion>,
    ) -> Option<()> {
        match *receiving {
            Receiving::Head => {
                let mut cursor = Cursor(bytes);
                match cursor.u32()? {
                    SIMPLE_REPLY_MAGIC => {
                        let (number, cookie) = (cursor.u32()?, cursor.u64()?);
                        self.simple_reply(cookie, number, done)
                    }
                    CHUNK_MAGIC if self.shared.export.structured => {
                        let head = *bytes.first_chunk()?;
                        self.expect(Receiving::ChunkHead { head })
                    }
                    _ => None,
                }
            }
            Receiving::ChunkHead { head } => {
                let mut cursor = Cursor(&head[4..]);
                let (flags, kind, cookie) = (cursor.u16()?, cursor.u16()?, cursor.u64()?);
                let length = Cursor(bytes).u32()?;
                let key = self.key_of(cookie)?;
                self.chunk(key, kind, length, flags & chunk::DONE != 0, done)
            }
            Receiving::DataOffset { key, length, is_last } => {
                let at = self.place(key, Cursor(bytes).u64()?, length.into())?;
                self.expect_data(key, at, length as usize, is_last)
            }
            Receiving::Hole { key, is_last } => {
                let mut cursor = Cursor(bytes);
                let (offset, length) = (cursor.u64()?, cursor.u32()?);
                let at = self.place(key, offset, length.into())?;
                let Some(Work::Read { into: Some(into), filled, .. }) =
                    self.running.get_mut(key).map(|running| &mut running.work)
                else {
                    return None;
                };
                let mut zeroes = into.split_to(at);
                let mut hole = into.split_to(length as usize);
                hole.fill(0);
                zeroes.append(hole);
                zeroes.append(std::mem::replace(into, BufMut::zeroed(0)));
                *into = zeroes;
                *filled += u64::from(length);
                self.chunk_over(key, is_last, done)
            }
            Receiving::ErrorText { key, is_last, .. } => {
                let mut cursor = Cursor(bytes);
                let number = cursor.u32()?;
                let length = cursor.u16()?;
                let text = String::from_utf8_lossy(cursor.bytes(length.into())?).into_owned();
                let error = self.error(number, &text);
                self.running.get_mut(key)?.failed.get_or_insert(error);
                self.chunk_over(key, is_last, done)
            }
            Receiving::Data { .. } => None,
        }
    }

    fn expect(&mut self, receiving: Receiving) -> Option<()> {
        let ConnectionState::Connected(connection) = &mut self.state else { return None };
        connection.receiving = receiving;
        Some(())
    }

    /// The request of a cookie that is under way.
    fn key_of(&self, cookie: u64) -> Option<u32> {
        let key = u32::try_from(cookie).ok()?;
        self.running.get(key).map(|_| key)
    }

    /// Where in a read's buffer `length` bytes at `offset` of the export are.
    fn place(&self, key: u32, offset: u64, length: u64) -> Option<usize> {
        let Work::Read { offset: start, length: whole, filled, .. } = &self.running.get(key)?.work
        else {
            return None;
        };
        let at = offset.checked_sub(*start)?;
        let fits = at.checked_add(length)? <= *whole && filled + length <= *whole && length > 0;
        fits.then_some(at as usize)
    }

    fn simple_reply(&mut self, cookie: u64, number: u32, done: &mut Vec<Completion>) -> Option<()> {
        let key = self.key_of(cookie)?;
        let reads = match self.running.get(key)?.work {
            Work::Read { length, .. } => Some(length as usize),
            _ => None,
        };
        match reads {
            // Reads are answered in chunks where those were agreed on.
            Some(_) if self.shared.export.structured => None,
            Some(length) if number == 0 => self.expect_data(key, 0, length, true),
            _ => {
                if number != 0 {
                    let error = self.error(number, "");
                    self.running.get_mut(key)?.failed = Some(error);
                }
                self.chunk_over(key, true, done)
            }
        }
    }

    fn chunk(
        &mut self,
        key: u32,
        kind: u16,
        length: u32,
        is_last: bool,
        done: &mut Vec<Completion>,
    ) -> Option<()> {
        match kind {
            chunk::NONE if length == 0 && is_last => self.chunk_over(key, true, done),
            chunk::OFFSET_DATA if length > 8 => {
                self.expect(Receiving::DataOffset { key, length: length - 8, is_last })
            }
            chunk::OFFSET_HOLE if length as usize == HOLE_BYTES => {
                self.expect(Receiving::Hole { key, is_last })
            }
            kind if kind & chunk::ERRORS != 0 && (6..=ERROR_MAX_BYTES).contains(&length) => {
                self.expect(Receiving::ErrorText { key, length: length as usize, is_last })
            }
            _ => None,
        }
    }

    /// Receives `length` bytes at `at` of a read's buffer.
    fn expect_data(&mut self, key: u32, at: usize, length: usize, is_last: bool) -> Option<()> {
        let Work::Read { into, .. } = &mut self.running.get_mut(key)?.work else { return None };
        let mut back = into.take()?;
        let front = back.split_to(at);
        let rest = Some(back.split_to(length));
        if let Some(Work::Read { filled, .. }) =
            self.running.get_mut(key).map(|running| &mut running.work)
        {
            *filled += length as u64;
        }
        self.expect(Receiving::Data { key, rest, front, back, is_last })
    }

    /// All of a chunk's data are at their place.
    fn data_over(&mut self, done: &mut Vec<Completion>) -> Option<()> {
        let ConnectionState::Connected(connection) = &mut self.state else { return None };
        let receiving = std::mem::replace(&mut connection.receiving, Receiving::Head);
        let Receiving::Data { key, is_last, .. } = receiving else { return None };
        self.put_back(receiving);
        self.chunk_over(key, is_last, done)
    }

    /// The end of a simple reply or of a chunk; with `is_last` that of the request or its part.
    fn chunk_over(&mut self, key: u32, is_last: bool, done: &mut Vec<Completion>) -> Option<()> {
        if is_last {
            let running = self.running.get_mut(key)?;
            if running.failed.is_none() {
                match &mut running.work {
                    Work::Read { length, filled, .. } if filled != length => return None,
                    Work::Clear { next, end, .. } => {
                        *next += (*end - *next).min(PART_MAX_BYTES);
                        if next != end {
                            self.queued.push_back(key);
                            self.send();
                            return Some(());
                        }
                    }
                    _ => {}
                }
            }
            let running = self.running.take(key)?;
            self.running.remove(key);
            self.fruitless = Losses::default();
            if let ConnectionState::Connected(Connection { gate: Some(gate), .. }) = &self.state
                && running.work.may_be_lost()
                && !self.running.iter().any(|(_, running)| running.work.may_be_lost())
            {
                gate.has_writes.store(false, Ordering::Release);
            }
            done.push(self.finish(running));
        }
        Some(())
    }

    /// What a request that the server has answered comes to.
    fn finish(&self, running: Running) -> Completion {
        let Running { tag, work, failed, .. } = running;
        let shared = &self.shared;
        let result = match (&work, failed) {
            (Work::Flush { .. }, Some(error)) => {
                // Of several failures the first is the one to tell.
                let _ = shared.flush_failed.set(error.repeat());
                Err(error)
            }
            (_, Some(error)) => Err(error),
            (Work::Flush { answered }, None) => match still_durable(shared) {
                Ok(()) => {
                    shared.flushed.fetch_max(*answered, Ordering::AcqRel);
                    Ok(())
                }
                Err(error) => Err(error),
            },
            (Work::Read { .. }, None) => Ok(()),
            (Work::Write { fua, .. } | Work::Clear { fua, .. }, None) => {
                if shared.info.volatile_cache && !fua {
                    shared.answered.fetch_add(1, Ordering::AcqRel);
                }
                Ok(())
            }
        };
        Completion { tag, buffer: work.into_buffer(), result }
    }

    /// An error as the server gives it, in its numbers.
    fn error(&self, number: u32, text: &str) -> Error {
        let (kind, plain) = match number {
            1 => (ErrorKind::Permission, messages::SAYS_NOT_PERMITTED),
            5 => (ErrorKind::Media, messages::SAYS_IO_ERROR),
            22 => (ErrorKind::Invalid, messages::SAYS_INVALID),
            28 => (ErrorKind::NoSpace, messages::SAYS_NO_SPACE),
            95 => (ErrorKind::Unsupported, messages::SAYS_CANNOT),
            108 => (ErrorKind::Gone, messages::SAYS_SHUTS_DOWN),
            _ => (ErrorKind::Other, messages::SAYS_ERROR),
        };
        let said = if text.is_empty() { String::new() } else { format!(" ({text})") };
        Error::new(
            kind,
            statement!(
                messages::SERVER_SAYS,
                address = self.shared.address.to_string(),
                plain = plain,
                said = said
            ),
        )
    }

    /// The connection is lost: it is closed, and what is under way on it ends first.
    fn lose(&mut self, error: io::Error) {
        let text: Text = match error.kind() {
            io::ErrorKind::UnexpectedEof => messages::HAS_HUNG_UP.into(),
            _ => block::io_text(&error),
        };
        let text = statement!(
            messages::CONNECTION_LOST,
            address = self.shared.address.to_string(),
            text = text
        );
        let reason = Error::with_source(ErrorKind::Gone, "", error).retold(text);
        match std::mem::replace(&mut self.state, ConnectionState::Gone) {
            ConnectionState::Connected(old) => {
                let _ = shutdown(old.socket.as_fd(), Shutdown::Both);
                self.count_loss();
                self.state = ConnectionState::Closing { old, reason };
            }
            other => self.state = other,
        }
    }

    /// Whether connecting again would be for ever: each connection is lost before the server has
    /// answered anything, or before it has answered one and the same request.
    fn losses_are_enough(&self) -> bool {
        let (now, time) = (self.source.reactor().now(), self.shared.options.reconnect);
        let is_enough = |losses: Losses| losses.are_enough(now, time);
        is_enough(self.fruitless) || self.running.iter().any(|(_, one)| is_enough(one.losses))
    }

    fn count_loss(&mut self) {
        let now = self.source.reactor().now();
        if now.since(self.connected_at) >= IDLE_TIME {
            self.fruitless = Losses::default();
        }
        self.fruitless.add(now);
        for key in self.running.keys() {
            if let Some(running) = self.running.get_mut(key) {
                running.losses.add(now);
            }
        }
    }

    /// The request or the connection that fared worst.
    fn worst_losses(&self) -> Losses {
        let of_requests = self.running.iter().map(|(_, running)| running.losses);
        of_requests.chain([self.fruitless]).max_by_key(|losses| losses.count).unwrap_or_default()
    }

    /// Puts the parts of a read's buffer together again.
    fn put_back(&mut self, receiving: Receiving) {
        if let Receiving::Data { key, rest, mut front, back, .. } = receiving {
            rest.into_iter().chain([back]).for_each(|part| front.append(part));
            if let Some(Work::Read { into, .. }) =
                self.running.get_mut(key).map(|running| &mut running.work)
            {
                *into = Some(front);
            }
        }
    }

    /// When nothing is under way any more on a lost connection: makes another, or gives up.
    fn closed(&mut self, done: &mut Vec<Completion>) {
        let ConnectionState::Closing { old, reason } = &self.state else { return };
        if old.is_sending || old.is_receiving {
            return;
        }
        let reason = reason.repeat();
        let writes = self.running.iter().any(|(_, running)| running.work.may_be_lost());
        let error = if writes {
            Some(reason.repeat().retold(statement!(messages::WITH_WRITES, reason = &reason)))
        } else if self.shared.has_unflushed() {
            Some(reason.repeat().retold(statement!(messages::AFTER_WRITES, reason = &reason)))
        } else if self.shared.options.reconnect.is_zero() {
            Some(reason)
        } else if self.losses_are_enough() {
            let count = self.worst_losses().count;
            Some(reason.repeat().retold(statement!(
                messages::TIMES_IN_A_ROW,
                reason = &reason,
                count = count
            )))
        } else {
            match self.reconnect() {
                Ok(reconnecting) => {
                    self.state = ConnectionState::Reconnecting(reconnecting);
                    None
                }
                Err(error) => Some(error),
            }
        };
        if let Some(error) = error {
            self.give_up(&error, done);
        }
    }

    fn reconnect(&mut self) -> Result<Reconnecting, Error> {
        let failed = |error| {
            Error::from_io(
                statement!(messages::RECONNECTING, address = self.shared.address.to_string()),
                error,
            )
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let bell = self.source.reactor().register(Arc::new(OwnedFd::from(ours))).map_err(failed)?;
        let (answer_to, answer) = mpsc::channel();
        let (stop, stopped) = mpsc::channel::<()>();
        let (shared, pause) = (Arc::clone(&self.shared), self.worst_losses().pause());
        let connecting = thread::Builder::new().name("nbd-reconnect".to_owned());
        connecting
            .spawn(move || {
                let mut pause = pause;
                // Dropped is ended: nothing is ever sent.
                while let Err(mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                    pause = RETRY_TIME;
                    let connected = shared.connect();
                    let is_over = connected.is_ok();
                    // Without a channel that waits for it, a connection ends here.
                    let is_told = answer_to.send(connected).is_ok();
                    if is_over || !is_told {
                        drop(theirs);
                        return;
                    }
                }
            })
            .map_err(failed)?;
        self.source.readable(&bell, CONNECTED);
        self.losses += 1;
        let end = self.source.reactor().now() + pause + self.shared.options.reconnect;
        self.source.at(end, GIVE_UP | self.losses << 8);
        Ok(Reconnecting { _bell: bell, answer, _stop: stop })
    }

    /// No connection in all the time there was: the last attempt tells why.
    fn too_late(&mut self, done: &mut Vec<Completion>) {
        let ConnectionState::Reconnecting(Reconnecting { answer, .. }) = &self.state else {
            return;
        };
        let last = answer.try_iter().last().and_then(Result::err).unwrap_or_else(|| {
            let text = statement!(
                messages::RECONNECTING_NO_ANSWER,
                address = self.shared.address.to_string()
            );
            Error::new(ErrorKind::Gone, text)
        });
        self.give_up(&last, done);
    }

    /// The thread has connected.
    fn reconnected(&mut self) {
        let ConnectionState::Reconnecting(Reconnecting { answer, .. }) = &self.state else {
            return;
        };
        let connected = match answer.try_iter().last() {
            Some(Ok(connected)) => same_export(&self.shared, &connected)
                .and_then(|()| Connection::new(&self.shared, connected, self.source.reactor())),
            Some(Err(error)) => Err(error),
            None => {
                let text = statement!(
                    messages::RECONNECTING_ENDED,
                    address = self.shared.address.to_string()
                );
                Err(Error::new(ErrorKind::Gone, text))
            }
        };
        match connected {
            Ok(connection) => {
                self.state = ConnectionState::Connected(connection);
                self.connected_at = self.source.reactor().now();
                // What was not answered is asked again, from the beginning.
                self.queued = self.running.keys().into();
                for key in &self.queued {
                    if let Some(running) = self.running.get_mut(*key) {
                        running.failed = None;
                        if let Work::Read { filled, .. } = &mut running.work {
                            *filled = 0;
                        }
                    }
                }
                self.receive();
                self.send();
            }
            Err(error) => {
                let mut given_up = std::mem::take(&mut self.answered);
                self.give_up(&error, &mut given_up);
                self.answered = given_up;
            }
        }
    }

    /// Answers everything: the device is gone.
    fn give_up(&mut self, error: &Error, done: &mut Vec<Completion>) {
        let error = self.shared.end(error);
        self.state = ConnectionState::Gone;
        self.queued.clear();
        for key in self.running.keys() {
            if let Some(Running { tag, work, .. }) = self.running.take(key) {
                self.running.remove(key);
                let result = Err(error.repeat());
                done.push(Completion { tag, buffer: work.into_buffer(), result });
            }
        }
    }
}

impl Channel for NbdChannel {
    fn submit(&mut self, request: Request) {
        let shared = &self.shared;
        let allowed = shared.info.check(&request.op);
        let allowed =
            allowed.map_err(|error| error.at(shared.address.to_string())).and_then(|()| {
                match (shared.gone(), &request.op) {
                    (Some(error), _) => Err(error.repeat()),
                    (None, Op::Flush) => still_durable(shared),
                    (None, _) => Ok(()),
                }
            });
        if let Err(error) = allowed {
            self.answered.push(request.complete(Err(error)));
            return;
        }
        // Where every write is durable by itself, there is nothing to make durable.
        if matches!(request.op, Op::Flush) && !shared.info.volatile_cache {
            self.answered.push(request.complete(Ok(())));
            return;
        }
        let work = match request.op {
            Op::Read { offset, into } => {
                self.last_read_bytes = into.len();
                Work::Read { offset, length: into.len() as u64, into: Some(into), filled: 0 }
            }
            Op::Write { offset, from, fua } => Work::Write { offset, from, fua },
            Op::WriteZeroes { offset, length, fua } => {
                Work::Clear { discard: false, next: offset, end: offset + length, fua }
            }
            Op::Discard { offset, length } => {
                Work::Clear { discard: true, next: offset, end: offset + length, fua: false }
            }
            Op::Flush => Work::Flush { answered: shared.answered.load(Ordering::Acquire) },
        };
        let key = self.running.insert(Running {
            tag: request.tag,
            work,
            losses: Losses::default(),
            failed: None,
        });
        self.queued.push_back(key);
        self.send();
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        while let Some(event) = self.source.take() {
            self.ended(event, done);
        }
        if !matches!(self.state, ConnectionState::Gone) && self.shared.gone().is_some() {
            self.follow(done);
        }
        done.append(&mut self.answered);
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.running.len() + self.answered.len()).unwrap_or(u32::MAX)
    }
}

impl NbdChannel {
    /// Another channel has found the device gone: so it is here.
    fn follow(&mut self, done: &mut Vec<Completion>) {
        if let ConnectionState::Connected(_) = &self.state {
            self.lose(io::Error::from(io::ErrorKind::NotConnected));
        }
        if let ConnectionState::Reconnecting(_) = &self.state
            && let Some(error) = self.shared.gone().map(Error::repeat)
        {
            self.give_up(&error, done);
        }
        self.closed(done);
    }
}

impl Drop for NbdChannel {
    fn drop(&mut self) {
        if let ConnectionState::Connected(connection) = &self.state {
            if !connection.is_sending && connection.unsent.is_none() {
                let bye = RequestHead {
                    flags: 0,
                    command: command::DISCONNECT,
                    cookie: u64::MAX,
                    offset: 0,
                    length: 0,
                };
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                // A server that is not told sees the end of the connection.
                let _ = rustix::net::send(connection.socket.as_fd(), &bye.bytes(), flags);
            }
            // What is being received ends with it.
            let _ = shutdown(connection.socket.as_fd(), Shutdown::Both);
        }
    }
}

impl Connection {
    fn new(
        shared: &Shared,
        connected: NbdConnection,
        reactor: &Reactor,
    ) -> Result<Connection, Error> {
        let socket = Arc::new(connected.socket);
        let file = reactor.register(Arc::clone(&socket)).map_err(|error| {
            let text =
                statement!(messages::OPENING_NBD_ON_REACTOR, address = shared.address.to_string());
            Error::from_io(text, error)
        })?;
        Ok(Connection {
            socket,
            file,
            is_sending: false,
            is_receiving: false,
            receiving: Receiving::Head,
            is_direct: false,
            inbox: Inbox::new(),
            unsent: None,
            gate: connected.gate,
        })
    }
}

/// Another export behind the same name is another device.
fn same_export(shared: &Shared, connected: &NbdConnection) -> Result<(), Error> {
    let (then, now) = (&shared.export, &connected.export);
    if (then.size_bytes, then.flags, then.limits) == (now.size_bytes, now.flags, now.limits)
        && then.structured == now.structured
    {
        return Ok(());
    }
    let text = statement!(
        messages::ANOTHER_EXPORT,
        address = shared.address.to_string(),
        size = now.size_bytes,
        old_size = then.size_bytes,
        flags = format!("{:#x}", now.flags),
        old_flags = format!("{:#x}", then.flags)
    );
    Err(Error::new(ErrorKind::Gone, text))
}

fn still_durable(shared: &Shared) -> Result<(), Error> {
    match shared.flush_failed.get() {
        None => Ok(()),
        Some(first) => {
            let text = statement!(
                messages::NBD_FLUSH_FAILED,
                address = shared.address.to_string(),
                first = first
            );
            Err(first.repeat().retold(text))
        }
    }
}

fn push(all: &mut Option<Buf>, next: Buf) {
    match all {
        Some(all) => all.append(next),
        None => *all = Some(next),
    }
}

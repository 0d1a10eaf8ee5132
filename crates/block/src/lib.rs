//! The pair of traits that every layer speaks, and what passes between them.
//!
//! ```text
//!   Device   shared by all threads: what it is and can do
//!     | open(depth, reactor)
//!   Channel  one owner, one reactor: requests go in, completions come out, in any order
//! ```
//!
//! The contract of the pair is `docs/contract.md`; every sentence there is proved by a test that
//! quotes it. There is no I/O here, no thread and no clock: those belong to the [`reactor`] a
//! channel was opened on.

mod adapter;
mod catalogue;
mod error;
mod extents;
mod lease;
mod node;
mod queued;
pub mod trace;
mod units;
mod wait;

use std::fmt;

use words::{Message, statement};

pub use adapter::{Blocking, ContractCheck, Counters, CountingDevice, EmulatingDevice, Traffic};
pub use error::{Error, ErrorKind, io_text, ring_missing_text, ring_remedy};
pub use extents::{Extent, Extents};
pub use lease::Lease;
pub use node::{Node, letter_of_byte, path_text, text_path};
pub use queued::QueuedChannel;
pub use reactor::{ALIGNMENT_BYTES, Buf, BufMut, Clock, Reactor, RingMissing, Signal, Slots, Time};
pub use trace::TracedChannel;
pub use units::{duration_text, size_text};
pub use wait::{Claim, OthersWoken, WaitQueue, Waiter};

/// The smallest block: offsets and lengths are multiples of a device's block size, which is a
/// multiple of this.
pub const SECTOR_BYTES: u64 = 512;

/// How a device comes by an ability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// It has not got it: the request is answered with [`ErrorKind::Unsupported`].
    None,
    /// [`EmulatingDevice`] makes it from other requests.
    Emulated,
    /// The device does it itself.
    Native,
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Support::None => "none",
            Support::Emulated => "emulated",
            Support::Native => "native",
        })
    }
}

/// What reads find after a discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiscardSupport {
    /// Discards are not taken.
    None,
    /// Discards are taken; what reads find is not known.
    Indeterminate,
    /// Discards are taken and reads find zeroes.
    ReadsZero,
}

impl fmt::Display for DiscardSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DiscardSupport::None => "none",
            DiscardSupport::Indeterminate => "indeterminate",
            DiscardSupport::ReadsZero => "reads zero",
        })
    }
}

/// How an array deals out its data: what makers of file systems align to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stripe {
    /// What lies on one member before the next one has its turn, in bytes.
    pub chunk_bytes: u32,
    /// So many chunks of data lie side by side, parity and copies left out.
    pub width_chunks: u32,
}

impl Stripe {
    /// None where that is no stripe: nothing in it, or a chunk that takes more than 32 bits.
    #[must_use]
    pub fn new(chunk_bytes: u64, width_chunks: u64) -> Option<Stripe> {
        let number = |count: u64| u32::try_from(count).ok().filter(|count| *count > 0);
        Some(Stripe { chunk_bytes: number(chunk_bytes)?, width_chunks: number(width_chunks)? })
    }

    /// A whole stripe, in bytes.
    #[must_use]
    pub fn width_bytes(&self) -> u64 {
        u64::from(self.chunk_bytes) * u64::from(self.width_chunks)
    }
}

/// What a device is and can do; fixed for its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Size in bytes, a multiple of `block_bytes`.
    pub size_bytes: u64,
    /// Logical block: offsets and lengths are multiples of it. A crash never tears one.
    pub block_bytes: u32,
    /// The size of access it serves best, in bytes (a whole stripe of an array); at least
    /// `block_bytes`.
    pub optimal_bytes: u32,
    /// How data are dealt out among members, where they are.
    pub stripe: Option<Stripe>,
    /// The longest read or write one request may carry, in bytes.
    pub max_request_bytes: u32,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether distance between requests costs time.
    pub rotational: bool,
    /// Whether a completed write may still be lost until a flush.
    pub volatile_cache: bool,
    /// Whether written data can be read back; `null:` and modelled disks keep none.
    pub stores_data: bool,
    /// Whether its times are modelled rather than measured.
    pub modelled: bool,
    /// A single write that is durable when it completes.
    pub fua: Support,
    /// Writing zeroes without sending them.
    pub zeroes: Support,
    /// Giving blocks back.
    pub discard: DiscardSupport,
}

impl Info {
    /// A plain device of `size_bytes` with 512-byte blocks: readable, writable, no cache, nothing
    /// special.
    #[must_use]
    pub fn plain(size_bytes: u64) -> Info {
        Info {
            size_bytes,
            block_bytes: 512,
            optimal_bytes: 4096,
            stripe: None,
            max_request_bytes: 64 << 20,
            read_only: false,
            rotational: false,
            volatile_cache: false,
            stores_data: true,
            modelled: false,
            fua: Support::None,
            zeroes: Support::None,
            discard: DiscardSupport::None,
        }
    }

    /// Whether the range is one that a request may name: aligned, not empty and within the device.
    ///
    /// # Errors
    /// [`ErrorKind::Misaligned`] or [`ErrorKind::OutOfRange`] with offset, length and the limit.
    pub fn check_range(&self, offset: u64, length: u64) -> Result<(), Error> {
        let block = u64::from(self.block_bytes);
        // Blocks are powers of two; this is checked for every request at every layer, and a
        // division would show.
        if length == 0 || (offset | length) & (block - 1) != 0 {
            let text = statement!(
                catalogue::REQUEST_NOT_WHOLE_BLOCKS,
                length = length,
                offset = offset,
                block = block
            );
            return Err(Error::new(ErrorKind::Misaligned, text));
        }
        if offset.checked_add(length).is_none_or(|end| end > self.size_bytes) {
            let text = statement!(
                catalogue::REQUEST_PAST_END,
                length = length,
                offset = offset,
                end = self.size_bytes
            );
            return Err(Error::new(ErrorKind::OutOfRange, text));
        }
        Ok(())
    }

    /// Whether a channel has to take this request to the device: the one check that leaves make
    /// before anything moves.
    ///
    /// # Errors
    /// [`ErrorKind::Misaligned`], [`ErrorKind::OutOfRange`], [`ErrorKind::ReadOnly`],
    /// [`ErrorKind::Unsupported`], or [`ErrorKind::Invalid`] for data longer than
    /// `max_request_bytes`.
    pub fn check(&self, op: &Op) -> Result<(), Error> {
        if let Some((offset, length)) = op.range() {
            self.check_range(offset, length)?;
            if op.carries_data() && length > u64::from(self.max_request_bytes) {
                let most = self.max_request_bytes;
                let text = statement!(catalogue::TOO_MUCH_AT_ONCE, length = length, most = most);
                return Err(Error::new(ErrorKind::Invalid, text));
            }
        }
        if self.read_only && op.changes_data() {
            return Err(Error::new(ErrorKind::ReadOnly, catalogue::DEVICE_READ_ONLY));
        }
        let supported = match op {
            Op::Write { fua, .. } => !fua || self.fua != Support::None,
            Op::WriteZeroes { fua, .. } => {
                self.zeroes != Support::None && (!fua || self.fua != Support::None)
            }
            Op::Discard { .. } => self.discard != DiscardSupport::None,
            Op::Read { .. } | Op::Flush => true,
        };
        if supported {
            Ok(())
        } else {
            let text = statement!(catalogue::OP_NOT_KNOWN, op = op.message());
            Err(Error::new(ErrorKind::Unsupported, text))
        }
    }
}

/// What a request asks for. Offsets and lengths are in bytes and whole blocks.
#[derive(Debug)]
pub enum Op {
    /// Fill the buffer from `offset`.
    Read {
        /// Where on the device.
        offset: u64,
        /// What to fill; its length is the request's.
        into: BufMut,
    },
    /// Write the buffer at `offset`.
    Write {
        /// Where on the device.
        offset: u64,
        /// What to write; its length is the request's.
        from: Buf,
        /// Durable when it completes.
        fua: bool,
    },
    /// Make the range read as zeroes.
    WriteZeroes {
        /// Where on the device.
        offset: u64,
        /// How much.
        length: u64,
        /// Durable when it completes.
        fua: bool,
    },
    /// Give the range back; what reads find is `Info::discard`.
    Discard {
        /// Where on the device.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// Make durable every write whose completion had been returned, on any channel, before this was
    /// submitted.
    Flush,
}

impl Op {
    /// Offset and length in bytes; a flush has none.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        match self {
            Op::Read { offset, into } => Some((*offset, into.len() as u64)),
            Op::Write { offset, from, .. } => Some((*offset, from.len() as u64)),
            Op::WriteZeroes { offset, length, .. } | Op::Discard { offset, length } => {
                Some((*offset, *length))
            }
            Op::Flush => None,
        }
    }

    /// Whether it changes what reads find.
    #[must_use]
    pub fn changes_data(&self) -> bool {
        matches!(self, Op::Write { .. } | Op::WriteZeroes { .. } | Op::Discard { .. })
    }

    fn carries_data(&self) -> bool {
        matches!(self, Op::Read { .. } | Op::Write { .. })
    }

    /// The operation's name, for messages.
    #[must_use]
    pub fn message(&self) -> Message {
        match self {
            Op::Read { .. } => catalogue::REQUEST_READ,
            Op::Write { fua: false, .. } => catalogue::REQUEST_WRITE,
            Op::Write { fua: true, .. } => catalogue::REQUEST_WRITE_FUA,
            Op::WriteZeroes { .. } => catalogue::REQUEST_WRITE_ZEROES,
            Op::Discard { .. } => catalogue::REQUEST_DISCARD,
            Op::Flush => catalogue::REQUEST_FLUSH,
        }
    }

    /// The operation's name, for logs and tests.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.message().english
    }

    /// What the completion hands back.
    #[must_use]
    pub fn into_buffer(self) -> ReturnedBuffer {
        match self {
            Op::Read { into, .. } => ReturnedBuffer::Read(into),
            Op::Write { from, .. } => ReturnedBuffer::Written(from),
            Op::WriteZeroes { .. } | Op::Discard { .. } | Op::Flush => ReturnedBuffer::Nothing,
        }
    }
}

/// One request on a channel.
#[derive(Debug)]
pub struct Request {
    /// The owner's own number; it comes back with the completion. No two requests in flight on a
    /// channel share one.
    pub tag: u64,
    /// What is asked for.
    pub op: Op,
}

impl Request {
    /// A request.
    #[must_use]
    pub fn new(tag: u64, op: Op) -> Request {
        Request { tag, op }
    }

    /// Ends the request here.
    #[must_use]
    pub fn complete(self, result: Result<(), Error>) -> Completion {
        Completion { tag: self.tag, buffer: self.op.into_buffer(), result }
    }
}

/// The buffer that a completion hands back.
#[derive(Debug)]
pub enum ReturnedBuffer {
    /// The request carried none.
    Nothing,
    /// A read's buffer, filled when the read succeeded.
    Read(BufMut),
    /// A write's buffer.
    Written(Buf),
}

impl ReturnedBuffer {
    /// The buffer of a read.
    ///
    /// # Panics
    /// When the request was no read: the owner knows what it asked for.
    #[must_use]
    pub fn read(self) -> BufMut {
        match self {
            ReturnedBuffer::Read(buffer) => buffer,
            other => panic!("a read's completion hands its buffer back, not {other:?}"),
        }
    }
}

/// The end of a request. There is one error path: `result`.
#[derive(Debug)]
pub struct Completion {
    /// The request's tag.
    pub tag: u64,
    /// The request's buffer. After a failed read its bytes are unspecified.
    pub buffer: ReturnedBuffer,
    /// How it ended.
    pub result: Result<(), Error>,
}

/// Anything that takes block requests. Shared by all threads.
pub trait Device: Send + Sync {
    /// Sizes and abilities; fixed for the life of the device.
    fn info(&self) -> &Info;

    /// The layout from here down, enough to build it again.
    fn describe(&self) -> Node;

    /// A channel for one owner on one reactor, for at most `depth` requests in flight.
    ///
    /// # Errors
    /// When the reactor's clock does not fit the device, or the device is gone.
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error>;

    /// Appends to `found` what the range holds, from its beginning on: at least one run, whole
    /// blocks, not past its end. It may stop before the end, and does once `found` is full. The
    /// range is one that [`Info::check_range`] allows.
    ///
    /// A hole reads as zeroes; what had completed before the question is data. Where nothing is
    /// known, all is data. It is no request: it reads no data, but a file's own file system may be
    /// asked, so it can take as long as that does.
    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let _ = offset;
        found.push(length, false);
    }

    /// The right to write to a medium that other hosts may reach too; `None` where it is this
    /// machine's own, whose locks keep others away.
    fn lease(&self) -> Option<&Lease> {
        None
    }
}

impl fmt::Debug for dyn Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.describe())
    }
}

/// One owner's queue onto a device, on one reactor.
pub trait Channel {
    /// Takes a request. Never blocks and never fails: a failure arrives as a completion.
    fn submit(&mut self, request: Request);

    /// Appends what has completed to `done`, in any order.
    fn poll(&mut self, done: &mut Vec<Completion>);

    /// Requests submitted whose completion has not been polled.
    fn in_flight(&self) -> u32;

    /// For a channel that has something to do only after a submission and when its source has an
    /// event: what says so. As long as it is off, its owner may leave out polls, but not the one
    /// after a submission. `None`, as here: each poll may bring something.
    fn signal(&self) -> Option<Signal> {
        None
    }
}

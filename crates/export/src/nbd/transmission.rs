//! The transmission phase: what a request means, whether it may be done, and how replies look. No I/O.

use block::{Error, ErrorKind};

use super::handshake::Shape;
use super::wire::{
    ALLOCATION_ID, CHUNK_BYTES, CHUNK_MAGIC, Cursor, DATA_CHUNK_BYTES, REQUEST_BYTES, REQUEST_MAGIC, REQUEST_MAX_BYTES, SIMPLE_REPLY_BYTES,
    SIMPLE_REPLY_MAGIC, chunk, command, command_flags,
};

/// What a handshake ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Which export, by its place in the list.
    pub export: usize,
    /// Whether replies come in chunks.
    pub structured: bool,
    /// Whether the client may ask what is allocated.
    pub allocation: bool,
}

/// An error as it goes over the wire. The numbers are the protocol's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// Writing to what is read-only.
    NotPermitted = 1,
    /// The device failed.
    InputOutput = 5,
    /// The request makes no sense, or asks for what was not offered.
    Invalid = 22,
    /// Writing past the end, or the space under the device is used up.
    NoSpace = 28,
    /// Longer than one request may be.
    Overflow = 75,
    /// Zeroes cannot be had fast.
    NotSupported = 95,
}

impl From<&Error> for Errno {
    fn from(error: &Error) -> Errno {
        match error.kind() {
            ErrorKind::ReadOnly | ErrorKind::Permission => Errno::NotPermitted,
            ErrorKind::Invalid | ErrorKind::OutOfRange | ErrorKind::Misaligned | ErrorKind::Unsupported => Errno::Invalid,
            ErrorKind::NoSpace => Errno::NoSpace,
            _ => Errno::InputOutput,
        }
    }
}

/// What a client asks for, when it may have it. Ranges are whole blocks and within the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `length` bytes from `offset`.
    Read {
        /// Where on the device.
        offset: u64,
        /// How much.
        length: u32,
    },
    /// `length` bytes follow and go to `offset`.
    Write {
        /// Where on the device.
        offset: u64,
        /// How much.
        length: u32,
        /// Durable when it is answered.
        durable: bool,
    },
    /// The range shall read as zeroes.
    Zero {
        /// Where on the device.
        offset: u64,
        /// How much.
        length: u32,
        /// Durable when it is answered.
        durable: bool,
        /// In full, so that a later write finds its space taken.
        allocate: bool,
    },
    /// The range is not needed any more.
    Discard {
        /// Where on the device.
        offset: u64,
        /// How much.
        length: u32,
        /// Durable when it is answered.
        durable: bool,
    },
    /// Everything answered before shall be durable.
    Flush,
    /// What of the range is allocated.
    Status {
        /// How much may be told about, in bytes.
        length: u32,
    },
}

/// What to do about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Do it and answer.
    Do(Command),
    /// Answer with the error, once `payload_bytes` of data have been passed over.
    Refuse {
        /// The error.
        errno: Errno,
        /// What a person is told.
        why: &'static str,
        /// Data that follow the request and are of no use.
        payload_bytes: u32,
    },
    /// The client says goodbye: what is under way is still answered.
    Goodbye,
    /// The client does not keep to the protocol; nothing it sends can be trusted to be where it seems to be.
    Drop(&'static str),
}

/// A request's cookie, with which it is answered, and what to do about it.
#[must_use]
pub fn decide(bytes: &[u8; REQUEST_BYTES], shape: &Shape, session: Session) -> (u64, Decision) {
    let mut cursor = Cursor(bytes);
    let (Some(magic), Some(flags), Some(kind), Some(cookie), Some(offset), Some(length)) =
        (cursor.u32(), cursor.u16(), cursor.u16(), cursor.u64(), cursor.u64(), cursor.u32())
    else {
        unreachable!("{REQUEST_BYTES} bytes hold all of them")
    };
    if magic != REQUEST_MAGIC {
        return (cookie, Decision::Drop("a request does not begin as one"));
    }
    if kind == command::WRITE && length > REQUEST_MAX_BYTES {
        return (cookie, Decision::Drop("a write is longer than 32 MiB"));
    }
    let payload_bytes = if kind == command::WRITE { length } else { 0 };
    let decision = match understand(kind, flags, offset, length, shape, session) {
        Ok(None) => Decision::Goodbye,
        Ok(Some(command)) => Decision::Do(command),
        Err((errno, why)) => Decision::Refuse { errno, why, payload_bytes },
    };
    (cookie, decision)
}

/// The command, or `None` for a goodbye.
fn understand(
    kind: u16,
    flags: u16,
    offset: u64,
    length: u32,
    shape: &Shape,
    session: Session,
) -> Result<Option<Command>, (Errno, &'static str)> {
    use command_flags::{DF, FAST_ZERO, FUA, NO_HOLE, REQ_ONE};
    let allowed = match kind {
        command::READ if session.structured => FUA | DF,
        command::BLOCK_STATUS => FUA | REQ_ONE,
        command::WRITE_ZEROES => FUA | NO_HOLE | FAST_ZERO,
        _ => FUA,
    };
    if flags & !allowed != 0 {
        return Err((Errno::Invalid, "the command does not take these flags"));
    }
    let durable = flags & FUA != 0;
    let changes = matches!(kind, command::WRITE | command::WRITE_ZEROES | command::TRIM);
    if changes && shape.read_only {
        return Err((Errno::NotPermitted, "the export is read-only"));
    }
    if matches!(kind, command::READ | command::BLOCK_STATUS) || changes {
        if length == 0 || (offset | u64::from(length)) & u64::from(shape.block_bytes - 1) != 0 {
            return Err((Errno::Invalid, "offset and length are not whole blocks"));
        }
        if offset.checked_add(u64::from(length)).is_none_or(|end| end > shape.size_bytes) {
            let errno = if changes { Errno::NoSpace } else { Errno::Invalid };
            return Err((errno, "the request reaches past the end"));
        }
    }
    Ok(Some(match kind {
        command::READ if length > REQUEST_MAX_BYTES => return Err((Errno::Overflow, "a read is longer than 32 MiB")),
        command::READ => Command::Read { offset, length },
        command::WRITE => Command::Write { offset, length, durable },
        command::DISCONNECT => return Ok(None),
        command::FLUSH => Command::Flush,
        command::TRIM if !shape.discards => return Err((Errno::Invalid, "the export takes no trims")),
        command::TRIM => Command::Discard { offset, length, durable },
        command::WRITE_ZEROES => {
            let allocate = flags & NO_HOLE != 0;
            if flags & FAST_ZERO != 0 && (allocate || !shape.fast_zeroes) {
                return Err((Errno::NotSupported, "zeroes would have to be written as data"));
            }
            Command::Zero { offset, length, durable, allocate }
        }
        command::BLOCK_STATUS if !session.allocation => return Err((Errno::Invalid, "no metadata context was chosen")),
        command::BLOCK_STATUS => Command::Status { length },
        _ => return Err((Errno::Invalid, "the command is not known")),
    }))
}

/// Bytes in front of a read's data.
#[must_use]
pub(super) fn read_head_bytes(structured: bool) -> usize {
    if structured { DATA_CHUNK_BYTES } else { SIMPLE_REPLY_BYTES }
}

/// Writes what comes in front of a read's `length` bytes of data; `head` is [`read_head_bytes`] long.
pub(super) fn put_read_head(head: &mut [u8], cookie: u64, offset: u64, length: u32) {
    if head.len() == SIMPLE_REPLY_BYTES {
        head.copy_from_slice(&simple_reply(cookie, 0));
        return;
    }
    head[..CHUNK_BYTES].copy_from_slice(&chunk_head(chunk::OFFSET_DATA, cookie, 8 + length));
    head[CHUNK_BYTES..].copy_from_slice(&offset.to_be_bytes());
}

/// The reply to a request that succeeded and has no data.
pub(super) fn put_done(out: &mut Vec<u8>, structured: bool, cookie: u64) {
    if structured {
        out.extend_from_slice(&chunk_head(chunk::NONE, cookie, 0));
    } else {
        out.extend_from_slice(&simple_reply(cookie, 0));
    }
}

/// The reply to a request that failed; `why` is for people and goes out only where replies are structured.
pub(super) fn put_error(out: &mut Vec<u8>, structured: bool, cookie: u64, errno: Errno, why: &str) {
    if !structured {
        out.extend_from_slice(&simple_reply(cookie, errno as u32));
        return;
    }
    let why = &why.as_bytes()[..why.floor_char_boundary(1024)];
    let length = u16::try_from(why.len()).expect("at most 1024");
    out.extend_from_slice(&chunk_head(chunk::ERROR, cookie, 6 + u32::from(length)));
    out.extend_from_slice(&(errno as u32).to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(why);
}

/// The reply to a question about allocation: all of it is data, for a device does not tell.
pub(super) fn put_status(out: &mut Vec<u8>, cookie: u64, length: u32) {
    out.extend_from_slice(&chunk_head(chunk::BLOCK_STATUS, cookie, 12));
    for number in [ALLOCATION_ID, length, 0] {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

fn simple_reply(cookie: u64, error: u32) -> [u8; SIMPLE_REPLY_BYTES] {
    let mut head = [0; SIMPLE_REPLY_BYTES];
    head[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    head[4..8].copy_from_slice(&error.to_be_bytes());
    head[8..].copy_from_slice(&cookie.to_be_bytes());
    head
}

/// The head of the only and last chunk of a reply.
fn chunk_head(kind: u16, cookie: u64, length: u32) -> [u8; CHUNK_BYTES] {
    let mut head = [0; CHUNK_BYTES];
    head[..4].copy_from_slice(&CHUNK_MAGIC.to_be_bytes());
    head[4..6].copy_from_slice(&chunk::DONE.to_be_bytes());
    head[6..8].copy_from_slice(&kind.to_be_bytes());
    head[8..16].copy_from_slice(&cookie.to_be_bytes());
    head[16..].copy_from_slice(&length.to_be_bytes());
    head
}

//! What a request asks of a server, and how.

use block::{Buf, BufMut, ReturnedBuffer};
use nbd_wire::{REQUEST_BYTES, RequestHead, command, command_flags};

/// Zeroes and discards are asked for in parts of so many bytes: the protocol counts in 32 bits.
pub(super) const PART_MAX_BYTES: u64 = 1 << 30;

pub(super) enum Work {
    Read {
        offset: u64,
        length: u64,
        into: Option<BufMut>,
        filled: u64,
    },
    Write {
        offset: u64,
        from: Buf,
        fua: bool,
    },
    /// Part after part; `next` is where the part under way begins.
    Clear {
        discard: bool,
        next: u64,
        end: u64,
        fua: bool,
    },
    /// With how many writes had been answered when it was submitted.
    Flush {
        answered: u64,
    },
}

impl Work {
    /// The request for the server.
    pub(super) fn head(&self, key: u32, always_fua: bool) -> [u8; REQUEST_BYTES] {
        let fua = |fua: bool| if fua || always_fua { command_flags::FUA } else { 0 };
        let (command, flags, offset, length) = match self {
            Work::Read { offset, length, .. } => (command::READ, 0, *offset, *length),
            Work::Write { offset, from, fua: durable } => {
                (command::WRITE, fua(*durable), *offset, from.len() as u64)
            }
            Work::Clear { discard, next, end, fua: durable } => {
                let length = (end - next).min(PART_MAX_BYTES);
                let command = if *discard { command::TRIM } else { command::WRITE_ZEROES };
                (command, fua(*durable), *next, length)
            }
            Work::Flush { .. } => (command::FLUSH, 0, 0, 0),
        };
        let length = u32::try_from(length).expect("parts are short");
        RequestHead { flags, command, cookie: key.into(), offset, length }.bytes()
    }

    /// Whether the medium may have it or not have it, when its answer is lost.
    pub(super) fn may_be_lost(&self) -> bool {
        matches!(self, Work::Write { .. } | Work::Clear { .. })
    }

    pub(super) fn into_buffer(self) -> ReturnedBuffer {
        match self {
            Work::Read { into: Some(into), .. } => ReturnedBuffer::Read(into),
            Work::Read { into: None, .. } => {
                unreachable!("a connection gives its buffer back before a read ends")
            }
            Work::Write { from, .. } => ReturnedBuffer::Written(from),
            Work::Clear { .. } | Work::Flush { .. } => ReturnedBuffer::Nothing,
        }
    }
}

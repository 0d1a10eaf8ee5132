//! The protocol's numbers and the few fixed layouts, as the NBD protocol description has them. All
//! numbers are big-endian.
//!
//! ```text
//! option     "IHAVEOPT" 8 | option 4 | length 4 | data
//! its reply  0x3e889045565a9 8 | option 4 | type 4 | length 4 | data
//! request    0x25609513 4 | flags 2 | command 2 | cookie 8 | offset 8 | length 4 | data of a write
//! simple     0x67446698 4 | error 4 | cookie 8 | data of a read
//! chunk      0x668e33ef 4 | flags 2 | type 2 | cookie 8 | length 4 | data
//! ```

/// "NBDMAGIC"
pub(super) const GREETING_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT"
pub(super) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
pub(super) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(super) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub(super) const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// Length of an option before its data, in bytes.
pub(super) const OPTION_BYTES: usize = 16;
/// Length of a request before its data, in bytes.
pub const REQUEST_BYTES: usize = 28;
/// Length of a simple reply before its data, in bytes.
pub(super) const SIMPLE_REPLY_BYTES: usize = 16;
/// Length of a chunk before its data, in bytes.
pub(super) const CHUNK_BYTES: usize = 20;
/// Length of a chunk of read data before the data itself, in bytes: the chunk's own head and an
/// offset.
pub(super) const DATA_CHUNK_BYTES: usize = CHUNK_BYTES + 8;

/// What the server can, in the greeting.
pub(super) mod server_flags {
    pub(crate) const FIXED_NEWSTYLE: u16 = 1;
    pub(crate) const NO_ZEROES: u16 = 2;
}

/// Options of the handshake.
pub(super) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const STARTTLS: u32 = 5;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
    pub(crate) const LIST_META_CONTEXT: u32 = 9;
    pub(crate) const SET_META_CONTEXT: u32 = 10;
}

/// Types of replies to options.
pub(super) mod reply {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    pub(crate) const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub(crate) const UNSUPPORTED: u32 = ERROR + 1;
    pub(crate) const POLICY: u32 = ERROR + 2;
    pub(crate) const INVALID: u32 = ERROR + 3;
    pub(crate) const TLS_REQUIRED: u32 = ERROR + 5;
    pub(crate) const UNKNOWN: u32 = ERROR + 6;
    pub(crate) const TOO_BIG: u32 = ERROR + 9;
}

/// Pieces of information about an export.
pub(super) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    pub(crate) const DESCRIPTION: u16 = 2;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// What an export can.
pub(super) mod transmission_flags {
    pub(crate) const HAS_FLAGS: u16 = 1;
    pub(crate) const READ_ONLY: u16 = 1 << 1;
    pub(crate) const SEND_FLUSH: u16 = 1 << 2;
    pub(crate) const SEND_FUA: u16 = 1 << 3;
    pub(crate) const ROTATIONAL: u16 = 1 << 4;
    pub(crate) const SEND_TRIM: u16 = 1 << 5;
    pub(crate) const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub(crate) const SEND_DF: u16 = 1 << 7;
    pub(crate) const CAN_MULTI_CONN: u16 = 1 << 8;
    pub(crate) const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Commands of the transmission phase.
pub(super) mod command {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const DISCONNECT: u16 = 2;
    pub(crate) const FLUSH: u16 = 3;
    pub(crate) const TRIM: u16 = 4;
    pub(crate) const WRITE_ZEROES: u16 = 6;
    pub(crate) const BLOCK_STATUS: u16 = 7;
}

/// Flags of commands.
pub(super) mod command_flags {
    pub(crate) const FUA: u16 = 1;
    pub(crate) const NO_HOLE: u16 = 1 << 1;
    pub(crate) const DF: u16 = 1 << 2;
    pub(crate) const REQ_ONE: u16 = 1 << 3;
    pub(crate) const FAST_ZERO: u16 = 1 << 4;
}

/// Kinds of chunks.
pub(super) mod chunk {
    pub(crate) const NONE: u16 = 0;
    pub(crate) const OFFSET_DATA: u16 = 1;
    pub(crate) const BLOCK_STATUS: u16 = 5;
    pub(crate) const ERROR: u16 = (1 << 15) + 1;
    /// The last chunk of its reply.
    pub(crate) const DONE: u16 = 1;
}

/// What `base:allocation` says of a run; data is neither.
pub(super) mod allocation {
    pub(crate) const HOLE: u32 = 1;
    pub(crate) const ZERO: u32 = 1 << 1;
}

/// The one metadata context that is known.
pub(super) const ALLOCATION: &str = "base:allocation";
/// The number that a client gets for it.
pub(super) const ALLOCATION_ID: u32 = 1;

/// Longest request that clients may send when they have not asked for limits, and ours, in bytes.
pub(super) const REQUEST_MAX_BYTES: u32 = 32 << 20;
/// Longest string of the protocol, in bytes.
pub(super) const STRING_MAX_BYTES: usize = 4096;

/// Takes numbers and strings off the front of what a client sent.
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (now, later) = self.0.split_at_checked(length)?;
        self.0 = later;
        Some(now)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (now, later) = self.0.split_first_chunk()?;
        self.0 = later;
        Some(*now)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A length and as many bytes of UTF-8.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        let length = self.u32()? as usize;
        if length > STRING_MAX_BYTES {
            return None;
        }
        std::str::from_utf8(self.bytes(length)?).ok()
    }
}

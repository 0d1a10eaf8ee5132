//! The numbers and the few fixed layouts of the NBD protocol, as its description has them, for the
//! server and for the leaf. All numbers are big-endian.
//!
//! ```text
//! option     "IHAVEOPT" 8 | option 4 | length 4 | data
//! its reply  0x3e889045565a9 8 | option 4 | type 4 | length 4 | data
//! request    0x25609513 4 | flags 2 | command 2 | cookie 8 | offset 8 | length 4 | data of a write
//! simple     0x67446698 4 | error 4 | cookie 8 | data of a read
//! chunk      0x668e33ef 4 | flags 2 | type 2 | cookie 8 | length 4 | data
//! ```

/// "NBDMAGIC"
pub const GREETING_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT"
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Before every reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Before every request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Before every simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Before every chunk of a structured reply.
pub const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// Length of an option before its data, in bytes.
pub const OPTION_BYTES: usize = 16;
/// Length of a request before its data, in bytes.
pub const REQUEST_BYTES: usize = 28;
/// Length of a simple reply before its data, in bytes.
pub const SIMPLE_REPLY_BYTES: usize = 16;
/// Length of a chunk before its data, in bytes.
pub const CHUNK_BYTES: usize = 20;
/// Length of a chunk of read data before the data itself, in bytes: the chunk's own head and an
/// offset.
pub const DATA_CHUNK_BYTES: usize = CHUNK_BYTES + 8;

/// What the server can do, in the greeting.
pub mod server_flags {
    /// The handshake of today, with options that can be refused one by one.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// No padding after an export's size.
    pub const NO_ZEROES: u16 = 2;
}

/// Options of the handshake.
pub mod option {
    /// The old way to choose an export: an error ends the connection.
    pub const EXPORT_NAME: u32 = 1;
    /// The client goes.
    pub const ABORT: u32 = 2;
    /// Which exports there are.
    pub const LIST: u32 = 3;
    /// From here on with TLS.
    pub const STARTTLS: u32 = 5;
    /// About an export.
    pub const INFO: u32 = 6;
    /// About an export, and on to its requests.
    pub const GO: u32 = 7;
    /// Replies in chunks.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Which metadata there is.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Which metadata the client will ask for.
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Types of replies to options.
pub mod reply {
    /// Done.
    pub const ACK: u32 = 1;
    /// An export's name.
    pub const SERVER: u32 = 2;
    /// A piece of information about an export.
    pub const INFO: u32 = 3;
    /// A kind of metadata and its number.
    pub const META_CONTEXT: u32 = 4;
    /// Set in all types that are errors.
    pub const ERROR: u32 = 1 << 31;
    /// The option is not known.
    pub const UNSUPPORTED: u32 = ERROR + 1;
    /// Not permitted.
    pub const POLICY: u32 = ERROR + 2;
    /// The option makes no sense.
    pub const INVALID: u32 = ERROR + 3;
    /// Not without TLS.
    pub const TLS_REQUIRED: u32 = ERROR + 5;
    /// There is no such export.
    pub const UNKNOWN: u32 = ERROR + 6;
    /// The option is too long.
    pub const TOO_BIG: u32 = ERROR + 9;
}

/// Pieces of information about an export.
pub mod info {
    /// Size and abilities.
    pub const EXPORT: u16 = 0;
    /// Its name.
    pub const NAME: u16 = 1;
    /// A text for people.
    pub const DESCRIPTION: u16 = 2;
    /// Smallest, best and largest request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub mod transmission_flags {
    /// Always set.
    pub const HAS_FLAGS: u16 = 1;
    /// Writes are refused.
    pub const READ_ONLY: u16 = 1 << 1;
    /// Flushes are taken.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// Single writes can be durable.
    pub const SEND_FUA: u16 = 1 << 3;
    /// Seeks cost time, as on a rotating disk.
    pub const ROTATIONAL: u16 = 1 << 4;
    /// Discards are taken.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// Zeroes need not be sent.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Reads can be asked for in one chunk.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection is for all of them.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// Zeroes can be asked for only where they are quick.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Commands of the transmission phase.
pub mod command {
    /// Read.
    pub const READ: u16 = 0;
    /// Write.
    pub const WRITE: u16 = 1;
    /// The client goes; no reply.
    pub const DISCONNECT: u16 = 2;
    /// Make durable what was answered.
    pub const FLUSH: u16 = 3;
    /// Discard.
    pub const TRIM: u16 = 4;
    /// Write zeroes.
    pub const WRITE_ZEROES: u16 = 6;
    /// What a range holds.
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of commands.
pub mod command_flags {
    /// Durable when it is answered.
    pub const FUA: u16 = 1;
    /// Zeroes have to take up space.
    pub const NO_HOLE: u16 = 1 << 1;
    /// In one chunk.
    pub const DF: u16 = 1 << 2;
    /// One run is enough.
    pub const REQ_ONE: u16 = 1 << 3;
    /// Only if it is quick.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Kinds of chunks.
pub mod chunk {
    /// Nothing but the end.
    pub const NONE: u16 = 0;
    /// An offset and data.
    pub const OFFSET_DATA: u16 = 1;
    /// An offset and a length that reads as zeroes.
    pub const OFFSET_HOLE: u16 = 2;
    /// What a range holds.
    pub const BLOCK_STATUS: u16 = 5;
    /// An error number and a text.
    pub const ERROR: u16 = ERRORS + 1;
    /// Set in all kinds that are errors.
    pub const ERRORS: u16 = 1 << 15;
    /// The last chunk of its reply.
    pub const DONE: u16 = 1;
}

/// What `base:allocation` says of a run; data is neither.
pub mod allocation {
    /// Nothing is allocated.
    pub const HOLE: u32 = 1;
    /// It reads as zeroes.
    pub const ZERO: u32 = 1 << 1;
}

/// The one metadata context that is known.
pub const ALLOCATION: &str = "base:allocation";
/// The number that a client gets for it.
pub const ALLOCATION_ID: u32 = 1;

/// Longest request that clients may send when they have not asked for limits, and ours, in bytes.
pub const REQUEST_MAX_BYTES: u32 = 32 << 20;
/// Longest string of the protocol, in bytes.
pub const STRING_MAX_BYTES: usize = 4096;

/// A request, as it stands before the data of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// Of [`command_flags`].
    pub flags: u16,
    /// One of [`command`].
    pub command: u16,
    /// What the reply says to name its request.
    pub cookie: u64,
    /// In bytes.
    pub offset: u64,
    /// In bytes.
    pub length: u32,
}

impl RequestHead {
    /// As it goes over the wire.
    #[must_use]
    pub fn bytes(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    /// What the bytes say, and whether they begin as a request does.
    #[must_use]
    pub fn parse(bytes: &[u8; REQUEST_BYTES]) -> (RequestHead, bool) {
        let mut cursor = Cursor(bytes);
        let (Some(magic), Some(flags), Some(command), Some(cookie), Some(offset), Some(length)) =
            (cursor.u32(), cursor.u16(), cursor.u16(), cursor.u64(), cursor.u64(), cursor.u32())
        else {
            unreachable!("{REQUEST_BYTES} bytes hold all of them")
        };
        (RequestHead { flags, command, cookie, offset, length }, magic == REQUEST_MAGIC)
    }
}

/// Takes numbers and strings off the front of what the other side sent; `None` where it ends early.
#[derive(Clone, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next `length` bytes.
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (now, later) = self.0.split_at_checked(length)?;
        self.0 = later;
        Some(now)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (now, later) = self.0.split_first_chunk()?;
        self.0 = later;
        Some(*now)
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A length and as many bytes of UTF-8.
    pub fn string(&mut self) -> Option<&'a str> {
        let length = self.u32()? as usize;
        if length > STRING_MAX_BYTES {
            return None;
        }
        std::str::from_utf8(self.bytes(length)?).ok()
    }
}

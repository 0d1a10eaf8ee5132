//! What the kernel's FUSE driver says and is told, as plain data: bytes in, a [`Call`] out, and
//! answers back into bytes.
//!
//! The formats are those of `<linux/fuse.h>`, major version 7, in the machine's own byte order:
//!
//! ```text
//! request  0 length:4 | 4 opcode:4 | 8 unique:8 | 16 node:8 | 24 uid:4 | 28 gid:4 | 32 pid:4 | 36 extensions:4 | 40 arguments
//! answer   0 length:4 | 4 -errno:4 | 8 unique:8 | 16 body
//!
//! read     40 handle:8 | 48 offset:8 | 56 size:4 | 60 flags:4 | 64 owner:8 | 72 flags of the file:4 | 76 -:4
//! write    as read, then at 80 the data
//! fallocate 40 handle:8 | 48 offset:8 | 56 length:8 | 64 mode:4 | 68 -:4
//! setattr  40 valid:4 | 44 -:4 | 48 handle:8 | 56 size:8 | …
//! init     40 major:4 | 44 minor:4 | 48 readahead:4 | 52 flags:4 | 56 more flags:4 | …
//! ```

use rustix::io::Errno;
use words::{Text, statement};

use crate::catalogue;

/// Length of the head of a request.
pub(super) const REQUEST_HEAD_BYTES: usize = 40;
/// Where the data of a write begin.
pub(super) const WRITE_HEAD_BYTES: usize = 80;
/// Length of the head of an answer.
pub(super) const ANSWER_HEAD_BYTES: usize = 16;

/// The version spoken here: what a newer kernel has on top is not used.
const MAJOR: u32 = 7;
const MINOR: u32 = 38;
/// Requests of more than 128 KiB came with it (Linux 4.20).
const OLDEST_MINOR: u32 = 28;

const ASYNC_READ: u64 = 1 << 0;
const BIG_WRITES: u64 = 1 << 5;
const ASYNC_DIRECT_IO: u64 = 1 << 15;
const MAX_PAGES: u64 = 1 << 22;
const MORE_FLAGS: u64 = 1 << 30;
const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
const WANTED: u64 =
    ASYNC_READ | BIG_WRITES | ASYNC_DIRECT_IO | MAX_PAGES | MORE_FLAGS | DIRECT_IO_ALLOW_MMAP;

/// Requests that the kernel lets be under way in the background, where all asynchronous direct I/O
/// runs.
const BACKGROUND_REQUESTS: u16 = 512;
const CONGESTED_REQUESTS: u16 = 384;

const PAGE_BYTES: u32 = 4096;

/// Bits of an answer to `open`.
const OPEN_DIRECT_IO: u32 = 1 << 0;
const OPEN_KEEP_CACHE: u32 = 1 << 1;
const OPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;

/// FALLOC_FL_* of <linux/falloc.h>.
const KEEP_SIZE: u32 = 0x01;
const PUNCH_HOLE: u32 = 0x02;
const ZERO_RANGE: u32 = 0x10;

const O_ACCMODE: u32 = 0o3;
const O_DSYNC: u32 = 0o10000;
const S_IFREG: u32 = 0o100_000;
/// The file's size never changes, so what the kernel knows of it stays true.
const ATTRIBUTES_VALID_SECONDS: u64 = 3600;

/// What the kernel asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    GetAttributes,
    SetAttributes {
        /// The size that the file shall have, if that is asked for.
        size: Option<u64>,
    },
    Open {
        write: bool,
    },
    Read {
        offset: u64,
        length: u32,
    },
    /// The data follow the head.
    Write {
        offset: u64,
        length: u32,
        durable: bool,
    },
    Sync,
    /// A range that shall read as zeroes; its blocks may be given back when `discard` says so.
    Clear {
        offset: u64,
        length: u64,
        discard: bool,
    },
    /// A range that shall have blocks; it has.
    Reserve {
        offset: u64,
        length: u64,
    },
    Statistics,
    Close,
    /// Said for our information; no answer is expected.
    Told,
    /// Anything that such a file does not need; the kernel is content with being told so.
    Unknown(u32),
}

/// A request's number and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) unique: u64,
    pub(super) call: Call,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Reads a request; `None` when it is shorter than it has to be.
pub(super) fn parse(bytes: &[u8]) -> Option<Request> {
    let (length, opcode, unique) = (word(bytes, 0)?, word(bytes, 4)?, long(bytes, 8)?);
    if length as usize != bytes.len() || bytes.len() < REQUEST_HEAD_BYTES {
        return None;
    }
    let call = match opcode {
        3 => Call::GetAttributes,
        4 => {
            const SIZE: u32 = 1 << 3;
            let size = if word(bytes, 40)? & SIZE != 0 { Some(long(bytes, 56)?) } else { None };
            Call::SetAttributes { size }
        }
        14 => Call::Open { write: word(bytes, 40)? & O_ACCMODE != 0 },
        15 => Call::Read { offset: long(bytes, 48)?, length: word(bytes, 56)? },
        16 => {
            let length = word(bytes, 56)?;
            if bytes.len() != WRITE_HEAD_BYTES + length as usize {
                return None;
            }
            Call::Write {
                offset: long(bytes, 48)?,
                length,
                durable: word(bytes, 72)? & O_DSYNC != 0,
            }
        }
        17 => Call::Statistics,
        18 => Call::Close,
        // flush and fsync.
        25 | 20 => Call::Sync,
        // forget, interrupt, batch-forget.
        2 | 36 | 42 => Call::Told,
        43 => allocate(long(bytes, 48)?, long(bytes, 56)?, word(bytes, 64)?),
        other => Call::Unknown(other),
    };
    Some(Request { unique, call })
}

fn allocate(offset: u64, length: u64, mode: u32) -> Call {
    match mode & !KEEP_SIZE {
        0 => Call::Reserve { offset, length },
        PUNCH_HOLE => Call::Clear { offset, length, discard: true },
        ZERO_RANGE => Call::Clear { offset, length, discard: false },
        _ => Call::Unknown(43),
    }
}

/// The head of an answer whose body has `body_bytes`.
pub(super) fn answer_head(
    unique: u64,
    body_bytes: usize,
    error: Option<Errno>,
) -> [u8; ANSWER_HEAD_BYTES] {
    let mut head = [0; ANSWER_HEAD_BYTES];
    let length =
        u32::try_from(ANSWER_HEAD_BYTES + body_bytes).expect("answers are at most some MiB");
    head[..4].copy_from_slice(&length.to_ne_bytes());
    head[4..8].copy_from_slice(&error.map_or(0, |error| -error.raw_os_error()).to_ne_bytes());
    head[8..].copy_from_slice(&unique.to_ne_bytes());
    head
}

/// What the kernel and we agree on when a mount begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handshake {
    unique: u64,
    minor: u32,
    readahead_bytes: u32,
    flags: u64,
}

impl Handshake {
    /// Reads the first request of a mount.
    ///
    /// # Errors
    /// One line: it is no such request, or the kernel is too old.
    pub(super) fn parse(bytes: &[u8]) -> Result<Handshake, Text> {
        const INIT: u32 = 26;
        let fields = || {
            let flags = u64::from(word(bytes, 52)?);
            let more = if flags & MORE_FLAGS != 0 { u64::from(word(bytes, 56)?) << 32 } else { 0 };
            Some((
                word(bytes, 4)?,
                long(bytes, 8)?,
                word(bytes, 40)?,
                word(bytes, 44)?,
                word(bytes, 48)?,
                flags | more,
            ))
        };
        match fields() {
            Some((INIT, unique, MAJOR, minor, readahead_bytes, flags)) if minor >= OLDEST_MINOR => {
                Ok(Handshake { unique, minor, readahead_bytes, flags })
            }
            Some((INIT, _, major, minor, ..)) => Err(statement!(
                catalogue::FUSE_TOO_OLD,
                major = major,
                minor = minor,
                major_needed = MAJOR,
                oldest_minor = OLDEST_MINOR
            )),
            _ => Err(catalogue::NO_INIT.into()),
        }
    }

    /// The answer, head and body: requests carry at most `max_bytes` of data.
    pub(super) fn answer(&self, max_bytes: u32) -> Vec<u8> {
        let flags = self.flags & WANTED;
        let pages =
            u16::try_from(max_bytes.div_ceil(PAGE_BYTES)).expect("at most 256 MiB in a request");
        let mut body = Vec::with_capacity(64);
        for number in [MAJOR, self.minor.min(MINOR), self.readahead_bytes, flags as u32] {
            body.extend_from_slice(&number.to_ne_bytes());
        }
        body.extend_from_slice(&BACKGROUND_REQUESTS.to_ne_bytes());
        body.extend_from_slice(&CONGESTED_REQUESTS.to_ne_bytes());
        // The longest write, and a time's granularity in nanoseconds.
        for number in [max_bytes, 1] {
            body.extend_from_slice(&number.to_ne_bytes());
        }
        body.extend_from_slice(&pages.to_ne_bytes());
        body.extend_from_slice(&0_u16.to_ne_bytes());
        body.extend_from_slice(&((flags >> 32) as u32).to_ne_bytes());
        body.resize(64, 0);
        [&answer_head(self.unique, body.len(), None)[..], &body].concat()
    }
}

/// What the kernel is told of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) size_bytes: u64,
    pub(super) block_bytes: u32,
    pub(super) writable: bool,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Attributes {
    /// The body of an answer to `getattr` and `setattr`.
    pub(super) fn body(&self) -> [u8; 104] {
        let mut body = [0; 104];
        let mut put = |at: usize, bytes: &[u8]| body[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &ATTRIBUTES_VALID_SECONDS.to_ne_bytes());
        // 16 node:8 | size:8 | blocks of 512:8 | three times:24 | their nanoseconds:12 | mode:4 |
        // links:4 | uid:4 | gid:4 | device:4 | block:4 | -:4
        put(16, &1_u64.to_ne_bytes());
        put(24, &self.size_bytes.to_ne_bytes());
        put(32, &(self.size_bytes / 512).to_ne_bytes());
        let mode = S_IFREG | if self.writable { 0o600 } else { 0o400 };
        for (at, number) in
            [(76, mode), (80, 1), (84, self.uid), (88, self.gid), (96, self.block_bytes)]
        {
            put(at, &number.to_ne_bytes());
        }
        body
    }

    /// The body of an answer to `statfs`.
    pub(super) fn statistics(&self) -> [u8; 80] {
        let mut body = [0; 80];
        body[..8].copy_from_slice(&(self.size_bytes / u64::from(self.block_bytes)).to_ne_bytes());
        for (at, number) in [(40, self.block_bytes), (44, 255), (48, self.block_bytes)] {
            body[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        body
    }
}

/// The body of an answer to `open`: past the kernel's page cache, or through it.
pub(super) fn opened(page_cache: bool) -> [u8; 16] {
    let flags =
        if page_cache { OPEN_KEEP_CACHE } else { OPEN_DIRECT_IO | OPEN_PARALLEL_DIRECT_WRITES };
    let mut body = [0; 16];
    body[8..12].copy_from_slice(&flags.to_ne_bytes());
    body
}

/// The body of an answer to `write`.
pub(super) fn written(length: u32) -> [u8; 8] {
    let mut body = [0; 8];
    body[..4].copy_from_slice(&length.to_ne_bytes());
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request of 32-bit words after the head.
    fn request(opcode: u32, arguments: &[u32], data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; REQUEST_HEAD_BYTES];
        bytes[4..8].copy_from_slice(&opcode.to_ne_bytes());
        bytes[8..16].copy_from_slice(&77_u64.to_ne_bytes());
        arguments.iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
        bytes.extend_from_slice(data);
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }

    fn call(opcode: u32, arguments: &[u32], data: &[u8]) -> Option<Call> {
        let request = parse(&request(opcode, arguments, data))?;
        assert_eq!(request.unique, 77);
        Some(request.call)
    }

    // A 64-bit number is two words, whose order is the machine's.
    fn halves(number: u64) -> [u32; 2] {
        let bytes = number.to_ne_bytes();
        [
            u32::from_ne_bytes(bytes[..4].try_into().unwrap()),
            u32::from_ne_bytes(bytes[4..].try_into().unwrap()),
        ]
    }

    #[test]
    fn reads_and_writes_name_their_ranges() {
        let [low, high] = halves(5 << 33);
        assert_eq!(
            call(15, &[0, 0, low, high, 4096, 0, 0, 0, 0, 0], &[]),
            Some(Call::Read { offset: 5 << 33, length: 4096 })
        );
        let write =
            |flags: u32, data: &[u8]| call(16, &[0, 0, low, high, 3, 0, 0, 0, flags, 0], data);
        assert_eq!(
            write(0, b"abc"),
            Some(Call::Write { offset: 5 << 33, length: 3, durable: false })
        );
        assert_eq!(
            write(O_DSYNC | 1, b"abc"),
            Some(Call::Write { offset: 5 << 33, length: 3, durable: true })
        );
        assert_eq!(write(0, b"ab"), None, "data that are not there are not written");
        assert_eq!(write(0, b"abcd"), None);
    }

    #[test]
    fn fallocate_says_what_shall_become_of_the_range() {
        let allocate = |mode: u32| {
            let ([a, b], [c, d]) = (halves(1024), halves(2048));
            call(43, &[0, 0, a, b, c, d, mode, 0], &[])
        };
        assert_eq!(
            allocate(PUNCH_HOLE | KEEP_SIZE),
            Some(Call::Clear { offset: 1024, length: 2048, discard: true })
        );
        assert_eq!(
            allocate(ZERO_RANGE),
            Some(Call::Clear { offset: 1024, length: 2048, discard: false })
        );
        assert_eq!(allocate(KEEP_SIZE), Some(Call::Reserve { offset: 1024, length: 2048 }));
        assert_eq!(allocate(0x08), Some(Call::Unknown(43)), "a collapsed range would move data");
    }

    #[test]
    fn a_request_that_is_cut_short_anywhere_is_no_request() {
        for opcode in 0..60 {
            let whole = request(opcode, &[0; 16], &[]);
            for length in 0..whole.len() {
                assert_eq!(parse(&whole[..length]), None);
                let mut cut = whole[..length].to_vec();
                if cut.len() >= 4 {
                    cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
                }
                // It may be whole for its kind, but never reads past its end.
                let _ = parse(&cut);
            }
        }
    }

    #[test]
    fn the_handshake_takes_what_both_sides_know() {
        let offer = |minor: u32| {
            request(
                26,
                &[7, minor, 131_072, u32::MAX, u32::MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                &[],
            )
        };
        let answer = Handshake::parse(&offer(45)).unwrap().answer(1 << 20);
        assert_eq!(answer.len(), 80);
        assert_eq!(word(&answer, 0), Some(80));
        assert_eq!((word(&answer, 16), word(&answer, 20)), (Some(7), Some(MINOR)));
        assert_eq!(word(&answer, 28), Some(WANTED as u32));
        assert_eq!((word(&answer, 36), word(&answer, 44)), (Some(1 << 20), Some(256)));
        assert_eq!(word(&answer, 48), Some((WANTED >> 32) as u32));
        assert!(Handshake::parse(&offer(27)).unwrap_err().english().contains("7.27"));
        assert!(Handshake::parse(&request(3, &[], &[])).is_err());
    }

    #[test]
    fn an_answer_carries_the_error_as_the_kernel_wants_it() {
        let head = answer_head(9, 0, Some(Errno::IO));
        assert_eq!(
            (word(&head, 0), word(&head, 4), long(&head, 8)),
            (Some(16), Some((-5_i32) as u32), Some(9))
        );
    }
}

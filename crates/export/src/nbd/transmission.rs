//! The transmission phase: what a request means, whether it may be done, and how replies look. No
//! I/O.

use block::{Error, ErrorKind};

use super::shape::Shape;
use nbd_wire::{
    ALLOCATION_ID, CHUNK_BYTES, CHUNK_MAGIC, DATA_CHUNK_BYTES, REQUEST_BYTES, REQUEST_MAX_BYTES,
    RequestHead, SIMPLE_REPLY_BYTES, SIMPLE_REPLY_MAGIC, allocation, chunk, command, command_flags,
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
            ErrorKind::Invalid
            | ErrorKind::OutOfRange
            | ErrorKind::Misaligned
            | ErrorKind::Unsupported => Errno::Invalid,
            ErrorKind::NoSpace => Errno::NoSpace,
            _ => Errno::InputOutput,
        }
    }
}

/// What a client asks for, when it may have it. Ranges are within the device, and of any offset and
/// length: not all clients ask what a block is.
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
        /// Where on the device.
        offset: u64,
        /// How much may be told about, in bytes.
        length: u32,
        /// The first run alone.
        one: bool,
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
    /// The client does not keep to the protocol; nothing it sends can be trusted to be where it
    /// seems to be.
    Drop(&'static str),
}

/// A request's cookie, with which it is answered, and what to do about it.
#[must_use]
pub fn decide(bytes: &[u8; REQUEST_BYTES], shape: &Shape, session: Session) -> (u64, Decision) {
    let (head, begins_as_one) = RequestHead::parse(bytes);
    let RequestHead { flags, command: kind, cookie, offset, length } = head;
    if !begins_as_one {
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
        if length == 0 {
            return Err((Errno::Invalid, "the request asks for nothing"));
        }
        if offset.checked_add(u64::from(length)).is_none_or(|end| end > shape.size_bytes) {
            // What brings data finds no room for them; a trim brings none and asks for nonsense.
            let errno = match kind {
                command::WRITE | command::WRITE_ZEROES => Errno::NoSpace,
                _ => Errno::Invalid,
            };
            return Err((errno, "the request reaches past the end"));
        }
    }
    Ok(Some(match kind {
        command::READ if length > REQUEST_MAX_BYTES => {
            return Err((Errno::Overflow, "a read is longer than 32 MiB"));
        }
        command::READ => Command::Read { offset, length },
        command::WRITE => Command::Write { offset, length, durable },
        command::DISCONNECT => return Ok(None),
        command::FLUSH => Command::Flush,
        command::TRIM if !shape.discards => {
            return Err((Errno::Invalid, "the export takes no trims"));
        }
        command::TRIM => Command::Discard { offset, length, durable },
        command::WRITE_ZEROES => {
            let allocate = flags & NO_HOLE != 0;
            if flags & FAST_ZERO != 0 && (allocate || !shape.fast_zeroes) {
                return Err((Errno::NotSupported, "zeroes would have to be written as data"));
            }
            Command::Zero { offset, length, durable, allocate }
        }
        command::BLOCK_STATUS if !session.allocation => {
            return Err((Errno::Invalid, "no metadata context was chosen"));
        }
        command::BLOCK_STATUS => Command::Status { offset, length, one: flags & REQ_ONE != 0 },
        _ => return Err((Errno::Invalid, "the command is not known")),
    }))
}

/// Bytes in front of a read's data.
#[must_use]
pub fn read_head_bytes(structured: bool) -> usize {
    if structured { DATA_CHUNK_BYTES } else { SIMPLE_REPLY_BYTES }
}

/// Writes what comes in front of a read's `length` bytes of data; `head` is [`read_head_bytes`]
/// long.
pub fn put_read_head(head: &mut [u8], cookie: u64, offset: u64, length: u32) {
    if head.len() == SIMPLE_REPLY_BYTES {
        head.copy_from_slice(&simple_reply(cookie, 0));
        return;
    }
    head[..CHUNK_BYTES].copy_from_slice(&chunk_head(chunk::OFFSET_DATA, cookie, 8 + length));
    head[CHUNK_BYTES..].copy_from_slice(&offset.to_be_bytes());
}

/// The reply to a request that succeeded and has no data.
pub fn put_done(out: &mut Vec<u8>, structured: bool, cookie: u64) {
    if structured {
        out.extend_from_slice(&chunk_head(chunk::NONE, cookie, 0));
    } else {
        out.extend_from_slice(&simple_reply(cookie, 0));
    }
}

/// The reply to a request that failed; `why` is for people and goes out only where replies are
/// structured.
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

/// The reply to a question about allocation: runs of so many bytes, each a hole or data.
pub(super) fn put_status(
    out: &mut Vec<u8>,
    cookie: u64,
    runs: impl ExactSizeIterator<Item = (u32, bool)>,
) {
    let length = 4 + 8 * u32::try_from(runs.len()).expect("few runs");
    out.extend_from_slice(&chunk_head(chunk::BLOCK_STATUS, cookie, length));
    out.extend_from_slice(&ALLOCATION_ID.to_be_bytes());
    for (length, is_hole) in runs {
        let state = if is_hole { allocation::HOLE | allocation::ZERO } else { 0 };
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&state.to_be_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1 << 30;

    fn shape() -> Shape {
        Shape {
            name: "drive".to_owned(),
            description: String::new(),
            size_bytes: SIZE,
            block_bytes: 512,
            optimal_bytes: 4096,
            read_only: false,
            rotational: false,
            needs_flush: true,
            discards: true,
            fast_zeroes: true,
        }
    }

    const PLAIN: Session = Session { export: 0, structured: false, allocation: false };
    const STRUCTURED: Session = Session { export: 0, structured: true, allocation: true };

    fn request(flags: u16, command: u16, offset: u64, length: u32) -> [u8; REQUEST_BYTES] {
        RequestHead { flags, command, cookie: 77, offset, length }.bytes()
    }

    fn decided(
        shape: &Shape,
        session: Session,
        (flags, kind, offset, length): (u16, u16, u64, u32),
    ) -> Decision {
        let (cookie, decision) = decide(&request(flags, kind, offset, length), shape, session);
        assert_eq!(cookie, 77);
        decision
    }

    fn refusal(decision: Decision) -> Option<(Errno, u32)> {
        match decision {
            Decision::Refuse { errno, payload_bytes, .. } => Some((errno, payload_bytes)),
            _ => None,
        }
    }

    #[test]
    fn requests_mean_what_the_protocol_says() {
        use command::*;
        use command_flags::{DF, FAST_ZERO, FUA, NO_HOLE, REQ_ONE};
        let (offset, length) = (512, 1024);
        let cases = [
            (PLAIN, (0, READ), Command::Read { offset, length }),
            (STRUCTURED, (DF, READ), Command::Read { offset, length }),
            (PLAIN, (0, WRITE), Command::Write { offset, length, durable: false }),
            (PLAIN, (FUA, WRITE), Command::Write { offset, length, durable: true }),
            (PLAIN, (FUA, TRIM), Command::Discard { offset, length, durable: true }),
            (
                PLAIN,
                (0, WRITE_ZEROES),
                Command::Zero { offset, length, durable: false, allocate: false },
            ),
            (
                PLAIN,
                (NO_HOLE | FUA, WRITE_ZEROES),
                Command::Zero { offset, length, durable: true, allocate: true },
            ),
            (
                PLAIN,
                (FAST_ZERO, WRITE_ZEROES),
                Command::Zero { offset, length, durable: false, allocate: false },
            ),
            (PLAIN, (0, FLUSH), Command::Flush),
            (STRUCTURED, (REQ_ONE, BLOCK_STATUS), Command::Status { offset, length, one: true }),
        ];
        for (session, (flags, kind), expected) in cases {
            assert_eq!(
                decided(&shape(), session, (flags, kind, offset, length)),
                Decision::Do(expected)
            );
        }
        assert_eq!(decided(&shape(), PLAIN, (0, DISCONNECT, 0, 0)), Decision::Goodbye);
    }

    #[test]
    fn what_an_export_cannot_do_is_refused_with_the_data_passed_over() {
        use command::*;
        use command_flags::{DF, FAST_ZERO, FUA, NO_HOLE};
        let read_only = Shape { read_only: true, ..shape() };
        let poor = Shape { discards: false, fast_zeroes: false, ..shape() };
        let cases = [
            (&read_only, PLAIN, (0, WRITE, 0, 512), (Errno::NotPermitted, 512)),
            (&read_only, PLAIN, (0, TRIM, 0, 512), (Errno::NotPermitted, 0)),
            (&read_only, PLAIN, (0, WRITE_ZEROES, 0, 512), (Errno::NotPermitted, 0)),
            (&poor, PLAIN, (0, TRIM, 0, 512), (Errno::Invalid, 0)),
            (&poor, PLAIN, (FAST_ZERO, WRITE_ZEROES, 0, 512), (Errno::NotSupported, 0)),
            (
                &shape(),
                PLAIN,
                (FAST_ZERO | NO_HOLE, WRITE_ZEROES, 0, 512),
                (Errno::NotSupported, 0),
            ),
            (&shape(), PLAIN, (DF, READ, 0, 512), (Errno::Invalid, 0)),
            (&shape(), PLAIN, (NO_HOLE, WRITE, 0, 512), (Errno::Invalid, 512)),
            (&shape(), PLAIN, (0x8000, FLUSH, 0, 0), (Errno::Invalid, 0)),
            (&shape(), PLAIN, (0, BLOCK_STATUS, 0, 512), (Errno::Invalid, 0)),
            (&shape(), PLAIN, (0, 5, 0, 512), (Errno::Invalid, 0)),
            (&shape(), PLAIN, (FUA, 99, 0, 0), (Errno::Invalid, 0)),
        ];
        for (shape, session, request, expected) in cases {
            assert_eq!(refusal(decided(shape, session, request)), Some(expected), "{request:?}");
        }
    }

    #[test]
    fn ranges_end_with_the_device() {
        use command::*;
        let longest = REQUEST_MAX_BYTES;
        let wrong = [
            (READ, 0, 0, Errno::Invalid),
            (READ, SIZE - 511, 512, Errno::Invalid),
            (READ, SIZE, 512, Errno::Invalid),
            (READ, SIZE - 512, 1024, Errno::Invalid),
            (READ, u64::MAX - 511, 512, Errno::Invalid),
            (READ, 0, longest + 512, Errno::Overflow),
            (WRITE, SIZE - 512, 1024, Errno::NoSpace),
            (WRITE, u64::MAX - 511, 1024, Errno::NoSpace),
            (TRIM, SIZE, 512, Errno::Invalid),
            (TRIM, SIZE - 512, 1024, Errno::Invalid),
            (WRITE_ZEROES, SIZE, 512, Errno::NoSpace),
            (BLOCK_STATUS, SIZE, 512, Errno::Invalid),
        ];
        for (kind, offset, length, errno) in wrong {
            let payload = if kind == WRITE { length } else { 0 };
            assert_eq!(
                refusal(decided(&shape(), STRUCTURED, (0, kind, offset, length))),
                Some((errno, payload)),
                "{kind} {offset} {length}"
            );
        }
        for (kind, offset, length) in
            [(READ, SIZE - 512, 512), (READ, 0, longest), (WRITE, 0, longest), (TRIM, 0, 1 << 30)]
        {
            assert!(
                matches!(decided(&shape(), STRUCTURED, (0, kind, offset, length)), Decision::Do(_)),
                "{kind} {offset} {length}"
            );
        }
        for (kind, offset, length) in
            [(READ, 1, 1), (WRITE, SIZE - 1, 1), (TRIM, 5, 600), (BLOCK_STATUS, 3, 5)]
        {
            assert!(
                matches!(decided(&shape(), STRUCTURED, (0, kind, offset, length)), Decision::Do(_)),
                "{kind} {offset} {length}"
            );
        }
    }

    #[test]
    fn who_breaks_the_protocol_is_dropped() {
        let mut none = request(0, command::READ, 0, 512);
        none[0] ^= 1;
        assert!(matches!(decide(&none, &shape(), PLAIN), (77, Decision::Drop(_))));
        // So long that its data would not be passed over in any useful time.
        let long = (0, command::WRITE, 0, REQUEST_MAX_BYTES + 512);
        assert!(matches!(decided(&shape(), PLAIN, long), Decision::Drop(_)));
    }

    #[test]
    fn replies_are_laid_out_as_clients_read_them() {
        let mut out = Vec::new();
        put_done(&mut out, false, 0x0102);
        assert_eq!(
            out,
            [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0][..], &0x0102_u64.to_be_bytes()].concat()
        );
        out.clear();
        put_error(&mut out, false, 3, Errno::NoSpace, "said to nobody");
        assert_eq!((out.len(), &out[4..8]), (SIMPLE_REPLY_BYTES, &28_u32.to_be_bytes()[..]));
        out.clear();
        put_error(&mut out, true, 3, Errno::NoSpace, "full");
        assert_eq!(out.len(), CHUNK_BYTES + 6 + 4);
        assert_eq!(out[4..8], [0, 1, 0x80, 1], "the last chunk, an error");
        assert_eq!(out[16..20], 10_u32.to_be_bytes(), "the chunk's length");
        assert_eq!(&out[20..], [&28_u32.to_be_bytes()[..], &4_u16.to_be_bytes(), b"full"].concat());
        out.clear();
        put_error(&mut out, true, 3, Errno::NoSpace, &"ä".repeat(1000));
        assert!(
            std::str::from_utf8(&out[26..]).is_ok_and(|why| why.len() == 1024),
            "cut between letters"
        );
        let mut head = [0; DATA_CHUNK_BYTES];
        put_read_head(&mut head, 3, 4096, 512);
        assert_eq!(head[16..20], 520_u32.to_be_bytes(), "offset and data");
        assert_eq!(head[20..], 4096_u64.to_be_bytes());
        out.clear();
        put_status(&mut out, 3, [(65536, false), (512, true)].into_iter());
        assert_eq!(out[16..], [20_u32, 1, 65536, 0, 512, 3].map(u32::to_be_bytes).concat());
    }
}

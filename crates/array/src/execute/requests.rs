//! Requests of the owner: sent straight on, or cut into pieces and put together again in the end.
//! What becomes of a piece between is not known here.

use block::{Buf, BufMut, Completion, Error, ErrorKind, ReturnedBuffer, Slots};
use words::statement;

use crate::catalogue;
use crate::level::{Faults, Level, TooManyAbsent};
use crate::memory::HostBuffer;
use crate::part::{Action, Part, SyncRange};

/// What a request or a piece is about.
#[derive(Clone, Copy, Default)]
pub(super) enum Operation {
    #[default]
    Flush,
    Part(Part),
    Sync(SyncRange),
}

impl Operation {
    pub(super) fn length(self) -> u64 {
        match self {
            Operation::Flush => 0,
            Operation::Part(part) => part.length,
            Operation::Sync(range) => range.length,
        }
    }

    /// The operation from `start` on, `length` bytes long.
    pub(super) fn slice(self, start: u64, length: u64) -> Operation {
        match self {
            Operation::Flush => Operation::Flush,
            Operation::Part(part) => {
                Operation::Part(Part { offset: part.offset + start, length, ..part })
            }
            Operation::Sync(range) => {
                Operation::Sync(SyncRange { offset: range.offset + start, length, ..range })
            }
        }
    }

    /// What it changes of what the owner reads, if it does.
    pub(super) fn written_part(self) -> Option<Part> {
        match self {
            Operation::Part(part) if part.action != Action::Read => Some(part),
            _ => None,
        }
    }
}

/// A request that went straight to one member.
#[derive(Clone, Copy)]
pub(super) struct DirectRequest {
    pub(super) tag: u64,
    /// Of the array, for planning after all when the member fails.
    pub(super) part: Part,
    pub(super) fua: bool,
}

/// How a request is planned after a member has failed it.
pub(super) struct RetryPlan {
    /// What the member said.
    pub(super) cause: Error,
    /// The member, when it was its medium.
    pub(super) careful: Option<usize>,
}

/// The buffer of a request, as far as its pieces have not got it.
#[derive(Default)]
enum RequestBuffer {
    #[default]
    Nothing,
    /// What no piece has got yet.
    Read(Option<BufMut>),
    Written(Buf),
}

/// A request that plans are to be made for.
pub(super) struct NewRequest {
    pub(super) tag: u64,
    pub(super) operation: Operation,
    pub(super) fua: bool,
    /// Whether it is a write that begins where an earlier one ended.
    pub(super) follows: bool,
    pub(super) buffer: ReturnedBuffer,
    pub(super) retried: Option<RetryPlan>,
}

impl NewRequest {
    /// One without data that no member has had.
    pub(super) fn bare(tag: u64, operation: Operation) -> NewRequest {
        let (fua, follows) = (false, false);
        NewRequest { tag, operation, fua, follows, buffer: ReturnedBuffer::Nothing, retried: None }
    }
}

/// A request that is carried out by plans.
#[derive(Default)]
struct PlannedRequest {
    tag: u64,
    operation: Operation,
    fua: bool,
    /// It goes on where an earlier write ended.
    follows: bool,
    /// It is in the list of those that are to go on.
    is_listed: bool,
    /// How far pieces have been made, in bytes; `None` when there are no more.
    cursor: Option<u64>,
    buffer: RequestBuffer,
    /// The pieces' parts of a read's buffer, in order; its memory is kept.
    parts: Vec<Option<BufMut>>,
    running: u32,
    /// The member whose medium failed already.
    careful: Option<usize>,
    /// What the first member to fail said.
    cause: Option<Error>,
    /// Why it has failed, and in how many more parts.
    failed: Option<(Error, u32)>,
}

/// A piece that is to begin.
pub(super) struct NewPiece {
    pub(super) request: u32,
    /// The owner's tag of it.
    pub(super) tag: u64,
    /// Which of the request's pieces.
    pub(super) number: u32,
    /// Later requests whose pieces were joined to it, and which of their pieces: the next in order.
    pub(super) joined: Vec<(u32, u32)>,
    pub(super) operation: Operation,
    pub(super) fua: bool,
    /// Whether it is of a write that goes on where an earlier one ended.
    pub(super) follows: bool,
    /// Whether others of the same request run at the same time.
    pub(super) has_neighbours: bool,
    /// The member whose medium failed already.
    pub(super) careful: Option<usize>,
    pub(super) buffer: HostBuffer,
}

impl NewPiece {
    /// The two as one: a write, and one that begins where it ends.
    pub(super) fn join(self, next: NewPiece) -> NewPiece {
        let mut joined = self.joined;
        joined.push((next.request, next.number));
        joined.extend(next.joined);
        let operation = match (self.operation, next.operation) {
            (Operation::Part(part), Operation::Part(next)) => {
                Operation::Part(Part { length: part.length + next.length, ..part })
            }
            (operation, _) => operation,
        };
        let buffer = match (self.buffer, next.buffer) {
            (HostBuffer::Write(mut from), HostBuffer::Write(next)) => {
                from.append(next);
                HostBuffer::Write(from)
            }
            (buffer, _) => buffer,
        };
        let has_neighbours = self.has_neighbours || next.has_neighbours;
        NewPiece { joined, operation, buffer, has_neighbours, ..self }
    }
}

/// Why a piece has failed.
pub(super) enum PieceError {
    /// Too many members are missing.
    Lost(TooManyAbsent),
    Other(Error),
}

/// How a request goes on.
pub(super) enum RequestStep {
    /// With one more piece, from this byte of it on.
    Piece(u64),
    /// When a piece has ended.
    Wait,
    /// Not at all: all is done.
    End,
}

/// What the table of requests is asked for.
const UNDER_WAY: &str = "a request under way keeps its entry";

/// The requests of a channel.
#[derive(Default)]
pub(super) struct Requests {
    direct: Slots<DirectRequest>,
    // Boxes, for a request is too large to be moved in and out.
    planned: Slots<Box<PlannedRequest>>,
    /// Requests that have ended, for their memory.
    #[allow(clippy::vec_box, reason = "the boxes move between here and `planned`")]
    spare: Vec<Box<PlannedRequest>>,
    /// Entries of those that are to go on, each once: they are new, or a piece has ended.
    to_go_on: Vec<u32>,
}

impl Requests {
    /// Notes a request that goes straight to a member, and gives it an entry.
    #[inline]
    pub(super) fn add_direct(&mut self, direct: DirectRequest) -> u32 {
        self.direct.insert(direct)
    }

    /// The request of an entry, which is free again.
    #[inline]
    pub(super) fn take_direct(&mut self, entry: u32) -> DirectRequest {
        self.direct.remove(entry).expect("what a member answers was asked")
    }

    /// Notes a request that is carried out by plans, which is to go on.
    pub(super) fn add_planned(&mut self, new: NewRequest) {
        let NewRequest { tag, operation, fua, follows, buffer, retried } = new;
        let (cause, careful) =
            retried.map_or((None, None), |retried| (Some(retried.cause), retried.careful));
        let mut request = self.spare.pop().unwrap_or_default();
        request.tag = tag;
        request.operation = operation;
        request.fua = fua;
        request.follows = follows;
        request.cursor = Some(0);
        request.buffer = match buffer {
            ReturnedBuffer::Nothing => RequestBuffer::Nothing,
            ReturnedBuffer::Read(buffer) => RequestBuffer::Read(Some(buffer)),
            ReturnedBuffer::Written(buffer) => RequestBuffer::Written(buffer),
        };
        request.careful = careful;
        request.cause = cause;
        let entry = self.planned.insert(request);
        self.go_on(entry);
    }

    /// Lists a request that is to go on.
    #[inline]
    pub(super) fn go_on(&mut self, entry: u32) {
        let request = self.of(entry);
        if !std::mem::replace(&mut request.is_listed, true) {
            self.to_go_on.push(entry);
        }
    }

    /// A request that is to go on.
    #[inline]
    pub(super) fn take_listed(&mut self) -> Option<u32> {
        let entry = self.to_go_on.pop()?;
        self.of(entry).is_listed = false;
        Some(entry)
    }

    fn of(&mut self, entry: u32) -> &mut PlannedRequest {
        self.planned.get_mut(entry).expect(UNDER_WAY)
    }

    /// Whether a request has pieces left to begin, of which `at_once` run at a time. `closing`: no
    /// more pieces begin.
    #[inline]
    pub(super) fn next(&self, entry: u32, at_once: u32, closing: bool) -> RequestStep {
        let request = self.planned.get(entry).expect(UNDER_WAY);
        let may_begin = !closing && request.failed.is_none() && request.running < at_once;
        match request.cursor {
            Some(cursor) if may_begin => RequestStep::Piece(cursor),
            _ if request.running > 0 => RequestStep::Wait,
            _ => RequestStep::End,
        }
    }

    /// The piece of a request that begins at `cursor`, where [`Requests::next`] says.
    #[inline]
    pub(super) fn cut(
        &mut self,
        entry: u32,
        cursor: u64,
        level: &dyn Level,
        faults: &Faults,
    ) -> NewPiece {
        self.of(entry).cut(entry, cursor, level, faults)
    }

    /// The completion of a request all of whose pieces have ended. Its entry is free again.
    #[inline]
    pub(super) fn end(&mut self, entry: u32) -> Completion {
        let mut request = self.planned.remove(entry).expect(UNDER_WAY);
        let completion = request.end();
        self.spare.push(request);
        completion
    }

    /// A member has failed one of the request's pieces, which may go on without it.
    pub(super) fn note_cause(&mut self, entry: u32, error: impl FnOnce() -> Error) {
        self.of(entry).cause.get_or_insert_with(error);
    }

    /// A piece has ended: its request is to go on.
    pub(super) fn end_piece(
        &mut self,
        entry: u32,
        number: u32,
        buffer: HostBuffer,
        errors: Box<[PieceError]>,
    ) {
        let request = self.of(entry);
        if let HostBuffer::Read(buffer) = buffer {
            request.parts[number as usize] = Some(buffer);
        }
        for error in errors {
            match &mut request.failed {
                Some((_, more)) => *more += 1,
                None => request.failed = Some((error.of_request(request.cause.as_ref()), 0)),
            }
        }
        request.running -= 1;
        self.go_on(entry);
    }
}

impl PieceError {
    /// Another one that tells the same, for another request.
    pub(super) fn repeat(&self) -> PieceError {
        match self {
            PieceError::Lost(lost) => PieceError::Lost(*lost),
            PieceError::Other(error) => PieceError::Other(error.repeat()),
        }
    }

    fn of_request(self, cause: Option<&Error>) -> Error {
        match (self, cause) {
            (PieceError::Other(error), _) => error,
            (PieceError::Lost(lost), Some(cause)) => {
                Error::new(cause.kind(), cause.text().and("; ").and(lost))
            }
            (PieceError::Lost(lost), None) => Error::new(ErrorKind::Gone, lost),
        }
    }
}

impl PlannedRequest {
    /// Cuts a piece off what is left from `cursor` on.
    fn cut(&mut self, entry: u32, cursor: u64, level: &dyn Level, faults: &Faults) -> NewPiece {
        let whole = self.operation.length();
        let left = self.operation.slice(cursor, whole - cursor);
        let length = match left {
            Operation::Flush => 0,
            Operation::Sync(range) => level.sync_range_bytes(range),
            Operation::Part(part) => level.piece_bytes(part, faults),
        };
        debug_assert!(
            matches!(left, Operation::Flush) || length > 0 && length <= left.length(),
            "a piece is a part of what is left"
        );
        let buffer = match &mut self.buffer {
            RequestBuffer::Nothing => HostBuffer::Nothing,
            RequestBuffer::Read(rest) => match rest.take() {
                Some(mut buffer) if length < left.length() => {
                    let now = buffer.split_to(length as usize);
                    *rest = Some(buffer);
                    HostBuffer::Read(now)
                }
                Some(buffer) => HostBuffer::Read(buffer),
                None => HostBuffer::Nothing,
            },
            RequestBuffer::Written(from) => {
                let mut from = from.clone();
                if length < whole {
                    let _ = from.split_to(cursor as usize);
                    from = from.split_to(length as usize);
                }
                HostBuffer::Write(from)
            }
        };
        self.cursor = Some(cursor + length).filter(|cursor| *cursor < whole);
        let number = self.parts.len() as u32;
        self.parts.push(None);
        self.running += 1;
        NewPiece {
            request: entry,
            tag: self.tag,
            number,
            joined: Vec::new(),
            operation: left.slice(0, length),
            fua: self.fua,
            follows: self.follows,
            has_neighbours: length < whole && level.pieces_at_once() > 1,
            careful: self.careful,
            buffer,
        }
    }

    fn end(&mut self) -> Completion {
        let buffer = match std::mem::take(&mut self.buffer) {
            RequestBuffer::Nothing => ReturnedBuffer::Nothing,
            RequestBuffer::Written(from) => ReturnedBuffer::Written(from),
            RequestBuffer::Read(rest) => {
                let joined = self.parts.drain(..).flatten().chain(rest).reduce(|mut all, part| {
                    all.append(part);
                    all
                });
                ReturnedBuffer::Read(joined.expect("a read has a buffer"))
            }
        };
        self.parts.clear();
        let result = match self.failed.take() {
            None => Ok(()),
            Some((error, 0)) => Err(error),
            Some((error, more)) => {
                let text = match more {
                    1 => statement!(catalogue::ONE_PART_MORE, text = error.text()),
                    _ => statement!(catalogue::MORE_PARTS, text = error.text(), more = more),
                };
                Err(error.retold(text))
            }
        };
        Completion { tag: self.tag, buffer, result }
    }
}

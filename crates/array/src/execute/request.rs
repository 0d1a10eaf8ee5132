//! Requests of the host: cut into pieces, or sent straight on, and put together again in the end.

use std::sync::Arc;

use block::{Buf, BufMut, Completion, Error, Op, Request, Returned};

use super::piece::CAREFUL_BYTES;
use super::{ArrayChannel, Failure, Operation};
use crate::health::{Member, Verdict, judge};
use crate::memory::HostBuffer;
use crate::{Action, Faults, Level, MemberSet, Part, Spot, SyncRange};

/// A request that went straight to one member.
pub(super) struct Direct {
    pub(super) tag: u64,
    /// Of the array, for planning after all when the member fails.
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) action: Action,
    pub(super) fua: bool,
}

/// A request of the host that is carried out by plans.
#[derive(Default)]
pub(super) struct Planned {
    pub(super) tag: u64,
    pub(super) operation: Operation,
    pub(super) fua: bool,
    /// How far pieces have been made.
    pub(super) cursor: u64,
    /// What of a read's buffer no piece has got yet.
    pub(super) rest: Option<BufMut>,
    /// A write's buffer.
    pub(super) from: Option<Buf>,
    /// The pieces' parts of a read's buffer, in order.
    pub(super) parts: Vec<Option<BufMut>>,
    pub(super) running: u32,
    /// Pieces are being made: one that ends meanwhile, without a command, does not end the request.
    pub(super) making: bool,
    /// The member whose medium failed already.
    pub(super) careful: Option<usize>,
    /// What the first member to fail said.
    pub(super) cause: Option<Error>,
    pub(super) error: Option<Error>,
    pub(super) more_errors: u32,
}

impl<L: Level> ArrayChannel<L> {
    /// Sends a request that is one access to one member on its way, changed in place.
    #[inline]
    pub(super) fn submit_direct(
        &mut self,
        mut request: Request,
        part: Part,
        fua: bool,
        spot: Spot,
    ) {
        let direct = Direct {
            tag: request.tag,
            offset: part.offset,
            length: part.length,
            action: part.action,
            fua,
        };
        let entry = match self.free_direct.pop() {
            Some(entry) => {
                self.direct[entry as usize] = direct;
                entry
            }
            None => {
                self.direct.push(direct);
                (self.direct.len() - 1) as u32
            }
        };
        request.tag = u64::from(entry);
        match &mut request.op {
            Op::Read { offset, .. }
            | Op::Write { offset, .. }
            | Op::WriteZeroes { offset, .. }
            | Op::Discard { offset, .. } => {
                *offset = spot.offset + self.members[spot.member].data_offset;
            }
            Op::Flush => unreachable!("a flush is no part"),
        }
        self.send(spot.member, request);
    }

    pub(super) fn submit_planned(
        &mut self,
        tag: u64,
        operation: Operation,
        fua: bool,
        buffer: Returned,
        failed: Option<(Error, Option<usize>)>,
    ) {
        let entry = self.free_requests.pop().unwrap_or_else(|| {
            self.requests.push(Planned::default());
            (self.requests.len() - 1) as u32
        });
        let request = &mut self.requests[entry as usize];
        let (rest, from) = match buffer {
            Returned::Nothing => (None, None),
            Returned::Read(buffer) => (Some(buffer), None),
            Returned::Written(buffer) => (None, Some(buffer)),
        };
        let parts = std::mem::take(&mut request.parts);
        let (cause, careful) = failed.unzip();
        *request = Planned {
            tag,
            operation,
            fua,
            rest,
            from,
            parts,
            careful: careful.flatten(),
            cause,
            ..Planned::default()
        };
        self.start_pieces(entry);
    }

    /// Makes pieces while the request has some left and fewer under way than run at a time; ends it
    /// when all is done.
    pub(super) fn start_pieces(&mut self, entry: u32) {
        if std::mem::replace(&mut self.requests[entry as usize].making, true) {
            return;
        }
        loop {
            let request = &mut self.requests[entry as usize];
            let whole = request.operation.length();
            let all_made = if let Operation::Flush = request.operation {
                request.cursor == 1
            } else {
                request.cursor == whole
            };
            if all_made
                || self.closing
                || request.error.is_some()
                || request.running >= self.shared.level.pieces_at_once()
            {
                break;
            }
            let (operation, buffer) = match request.operation {
                Operation::Flush => {
                    request.cursor = 1;
                    (Operation::Flush, HostBuffer::Nothing)
                }
                Operation::Sync(range) => {
                    let left = SyncRange {
                        offset: range.offset + request.cursor,
                        length: whole - request.cursor,
                        ..range
                    };
                    let length = self.shared.level.sync_range_bytes(left);
                    request.cursor += length;
                    (Operation::Sync(SyncRange { length, ..left }), HostBuffer::Nothing)
                }
                Operation::Part(part) => {
                    let faults = Faults {
                        absent: self.absent,
                        recovering: self.recovering,
                        ..Faults::default()
                    };
                    let left = Part {
                        offset: part.offset + request.cursor,
                        length: whole - request.cursor,
                        ..part
                    };
                    let length = self.shared.level.piece_bytes(left, &faults);
                    debug_assert!(
                        length > 0 && length <= left.length,
                        "a piece is a part of what is left"
                    );
                    let buffer = if let Some(mut rest) = request.rest.take() {
                        if length < left.length {
                            let now = rest.split_to(length as usize);
                            request.rest = Some(rest);
                            HostBuffer::Read(now)
                        } else {
                            HostBuffer::Read(rest)
                        }
                    } else if let Some(from) = &request.from {
                        let mut from = from.clone();
                        if length < whole {
                            let _ = from.split_to(request.cursor as usize);
                            from = from.split_to(length as usize);
                        }
                        HostBuffer::Write(from)
                    } else {
                        HostBuffer::Nothing
                    };
                    request.cursor += length;
                    (Operation::Part(Part { length, ..left }), buffer)
                }
            };
            let number = request.parts.len() as u32;
            request.parts.push(None);
            request.running += 1;
            let (fua, careful) = (request.fua, request.careful);
            let mut piece = self.spare_pieces.pop().unwrap_or_default();
            piece.request = entry;
            piece.number = number;
            piece.operation = operation;
            piece.fua = fua;
            piece.done = 0;
            piece.careful = careful;
            piece.careful_bytes = CAREFUL_BYTES;
            piece.unreadable = MemberSet::EMPTY;
            piece.memory.start(buffer);
            let index = self.free_pieces.pop().unwrap_or_else(|| {
                self.pieces.push(None);
                (self.pieces.len() - 1) as u32
            });
            self.plan(index, &mut piece);
            self.advance(index, piece);
        }
        let request = &mut self.requests[entry as usize];
        request.making = false;
        if request.running == 0 {
            self.end_request(entry);
        }
    }

    fn end_request(&mut self, entry: u32) {
        let request = &mut self.requests[entry as usize];
        let buffer = match (request.operation, request.from.take()) {
            (_, Some(from)) => Returned::Written(from),
            (Operation::Part(Part { action: Action::Read, .. }), None) => {
                let parts = request.parts.drain(..).flatten().chain(request.rest.take());
                let joined = parts.reduce(|mut joined, part| {
                    joined.append(part);
                    joined
                });
                Returned::Read(joined.expect("a read has a buffer"))
            }
            _ => Returned::Nothing,
        };
        request.parts.clear();
        let result = match (request.error.take(), request.more_errors) {
            (None, _) => Ok(()),
            (Some(error), 0) => Err(error),
            (Some(error), 1) => Err(Error::new(
                error.kind(),
                format!("{error} (and 1 more part of the request failed)"),
            )),
            (Some(error), more) => Err(Error::new(
                error.kind(),
                format!("{error} (and {more} more parts of the request failed)"),
            )),
        };
        self.ready.push(Completion { tag: request.tag, buffer, result });
        self.free_requests.push(entry);
    }

    /// A direct request whose member failed, planned without that member.
    fn replan_direct(&mut self, entry: u32, failure: Failure, buffer: Returned) {
        let direct = &self.direct[entry as usize];
        let (tag, fua) = (direct.tag, direct.fua);
        let part = Part { action: direct.action, offset: direct.offset, length: direct.length };
        let verdict = judge(failure.error.kind(), part.action == Action::Read);
        if verdict == Verdict::Member {
            self.shared.drop_member(failure.slot, failure.member.as_ref(), &failure.error);
        }
        let careful = (verdict == Verdict::Blocks).then_some(failure.slot);
        self.submit_planned(
            tag,
            Operation::Part(part),
            fua,
            buffer,
            Some((failure.at_its_member(), careful)),
        );
    }

    #[cold]
    pub(super) fn fail_direct(
        &mut self,
        entry: u32,
        slot: usize,
        member: Option<Arc<Member>>,
        completion: Completion,
    ) {
        let Completion { tag, buffer, result } = completion;
        let Err(error) = result else { unreachable!("it failed") };
        let reading = self.direct[entry as usize].action == Action::Read;
        let failure = Failure { slot, member, error };
        if L::REDUNDANT && judge(failure.error.kind(), reading) != Verdict::Request {
            self.replan_direct(entry, failure, buffer);
        } else {
            self.ready.push(Completion { tag, buffer, result: Err(failure.at_its_member()) });
        }
    }
}

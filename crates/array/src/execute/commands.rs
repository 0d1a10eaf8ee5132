//! The commands of one phase of a plan: put together from its accesses, sent to the members, and
//! waited for.
//!
//! ```text
//!   accesses ──neighbours on a member are one──> drafts ──send──> batch: what is on its way
//! ```

use block::{Buf, BufMut, Op, Request, Returned};

use super::members::{Failure, Members, NO_DRAFT};
use crate::memory::{Memory, NO_FRAGMENT};
use crate::{Access, Level, Place};

/// Set in the tag of a command that belongs to a plan; then come 31 bits of piece and 32 of
/// command.
const PLANNED: u64 = 1 << 63;

/// What a command that goes to a member belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// A request that went straight to the member.
    Direct { entry: u32 },
    /// One command of a piece's batch.
    Planned { piece: u32, command: u32 },
}

impl Tag {
    #[inline]
    pub(super) fn encode(self) -> u64 {
        match self {
            Tag::Direct { entry } => u64::from(entry),
            Tag::Planned { piece, command } => {
                PLANNED | u64::from(piece) << 32 | u64::from(command)
            }
        }
    }

    #[inline]
    pub(super) fn decode(tag: u64) -> Tag {
        if tag & PLANNED == 0 {
            Tag::Direct { entry: tag as u32 }
        } else {
            Tag::Planned { piece: (tag >> 32 & 0x7fff_ffff) as u32, command: tag as u32 }
        }
    }
}

/// A command that is being put together.
pub(super) struct Draft {
    member: usize,
    offset: u64,
    length: u64,
    payload: Payload,
}

/// What a command carries. Of a read also the fragments of the piece's memory that it fills.
enum Payload {
    Read { rope: BufMut, first: u32, last: u32 },
    Write(Buf),
    Zeroes,
    Discard,
    Flush,
}

impl Draft {
    fn new(access: &Access, phase: Phase, memory: &mut Memory) -> Draft {
        let payload = match (access.place, phase) {
            (Place::Host { .. } | Place::Scratch { .. }, Phase::Read) => {
                let (rope, fragment) = memory.lend(access.place, access.length, NO_FRAGMENT);
                Payload::Read { rope, first: fragment, last: fragment }
            }
            (Place::Host { .. } | Place::Scratch { .. }, Phase::Write { .. }) => {
                Payload::Write(memory.share(access.place, access.length))
            }
            (Place::Zeroes, _) => Payload::Zeroes,
            (Place::Discard, _) => Payload::Discard,
            (Place::Flush, _) => Payload::Flush,
        };
        Draft { member: access.member, offset: access.offset, length: access.length, payload }
    }

    /// Whether an access may be part of this command too.
    fn joins(&self, access: &Access, max_request_bytes: u64) -> bool {
        let (alike, most) = match (&self.payload, access.place) {
            (
                Payload::Read { .. } | Payload::Write(_),
                Place::Host { .. } | Place::Scratch { .. },
            ) => (true, max_request_bytes),
            (Payload::Zeroes, Place::Zeroes) | (Payload::Discard, Place::Discard) => {
                (true, u64::MAX)
            }
            _ => (false, 0),
        };
        alike && self.offset + self.length == access.offset && self.length + access.length <= most
    }

    fn extend(&mut self, access: &Access, memory: &mut Memory) {
        match &mut self.payload {
            Payload::Read { rope, last, .. } => {
                let (more, fragment) = memory.lend(access.place, access.length, *last);
                rope.append(more);
                *last = fragment;
            }
            Payload::Write(rope) => rope.append(memory.share(access.place, access.length)),
            Payload::Zeroes | Payload::Discard | Payload::Flush => (),
        }
        self.length += access.length;
    }
}

/// A command on its way, or ended.
pub(super) struct Sent {
    member: usize,
    /// The first fragment that it fills; [`NO_FRAGMENT`] if it reads nothing.
    fragment: u32,
}

/// Which phase of a plan a batch is for.
#[derive(Clone, Copy)]
pub(super) enum Phase {
    Read,
    Write {
        /// Each write is durable when it completes.
        fua: bool,
    },
}

/// The commands of one phase of a piece. Its memory is used again for the next phase, so that a
/// channel in steady state allocates nothing for it.
#[derive(Default)]
pub(super) struct Batch {
    sent: Vec<Sent>,
    outstanding: u32,
    pub(super) failures: Vec<Failure>,
}

impl Batch {
    /// Starts without commands.
    pub(super) fn start(&mut self) {
        self.sent.clear();
        self.failures.clear();
        self.outstanding = 0;
    }

    /// Whether none of its commands has failed.
    pub(super) fn is_well(&self) -> bool {
        self.failures.is_empty()
    }

    /// Whether no member has done its part.
    pub(super) fn has_only_failures(&self) -> bool {
        self.failures.len() == self.sent.len()
    }

    /// The members that it went to.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        self.sent.iter().map(|command| command.member)
    }

    /// A command has ended. True when it was the last.
    #[inline]
    pub(super) fn end(&mut self, command: u32, buffer: Returned, memory: &mut Memory) -> bool {
        match buffer {
            Returned::Read(buffer) => {
                memory.give_back(self.sent[command as usize].fragment, buffer);
            }
            // Let go of before the piece goes on: scratch without another holder is used again.
            written => drop(written),
        }
        self.outstanding -= 1;
        self.outstanding == 0
    }
}

/// Puts commands together and sends them.
#[derive(Default)]
pub(super) struct Sender {
    drafts: Vec<Draft>,
}

impl Sender {
    /// Sends the accesses of one phase of a piece as its batch.
    pub(super) fn send<L: Level>(
        &mut self,
        piece: u32,
        accesses: &[Access],
        phase: Phase,
        memory: &mut Memory,
        members: &mut Members<L>,
        batch: &mut Batch,
    ) {
        batch.start();
        for access in accesses {
            let queue = members.slot_mut(access.member);
            let last = self.drafts.get_mut(queue.last_draft as usize);
            match last.filter(|last| last.joins(access, queue.max_request_bytes)) {
                Some(last) => last.extend(access, memory),
                None => {
                    queue.last_draft = self.drafts.len() as u32;
                    self.drafts.push(Draft::new(access, phase, memory));
                }
            }
        }
        batch.outstanding = self.drafts.len() as u32;
        for draft in self.drafts.drain(..) {
            let queue = members.slot_mut(draft.member);
            queue.last_draft = NO_DRAFT;
            let (offset, length) = (draft.offset + queue.data_offset, draft.length);
            let fua = matches!(phase, Phase::Write { fua: true });
            let (op, fragment) = match draft.payload {
                Payload::Read { rope, first, .. } => (Op::Read { offset, into: rope }, first),
                Payload::Write(from) => (Op::Write { offset, from, fua }, NO_FRAGMENT),
                Payload::Zeroes => (Op::WriteZeroes { offset, length, fua }, NO_FRAGMENT),
                Payload::Discard => (Op::Discard { offset, length }, NO_FRAGMENT),
                Payload::Flush => (Op::Flush, NO_FRAGMENT),
            };
            let tag = Tag::Planned { piece, command: batch.sent.len() as u32 };
            batch.sent.push(Sent { member: draft.member, fragment });
            members.send(draft.member, Request::new(tag.encode(), op));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_back_as_they_were() {
        for tag in [
            Tag::Direct { entry: 0 },
            Tag::Direct { entry: u32::MAX },
            Tag::Planned { piece: 0, command: 0 },
            Tag::Planned { piece: 0x7fff_ffff, command: u32::MAX },
        ] {
            assert_eq!(Tag::decode(tag.encode()), tag);
        }
    }
}

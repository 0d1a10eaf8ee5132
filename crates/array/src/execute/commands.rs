//! The commands of one phase of a plan: put together from its accesses, sent to the members, and
//! waited for.
//!
//! ```text
//!   accesses ──neighbours on a member are one──> drafts ──send──> batch: what is on its way
//! ```

use block::{Buf, BufMut, Op, Request, ReturnedBuffer};

use super::members::{Failure, HeldWrite, Members, NO_DRAFT};
use super::tag::Tag;
use crate::memory::{Memory, NO_FRAGMENT};
use crate::plan::{Access, ByteSite, Content};

/// A command that is being put together.
pub(super) struct Draft {
    member: usize,
    offset: u64,
    length: u64,
    payload: Payload,
}

/// What a command carries. Of a read also the fragments of the piece's memory that it fills.
pub(super) enum Payload {
    Read { rope: BufMut, first: u32, last: u32 },
    Write(Buf),
    Zeroes,
    Discard,
    Flush,
}

/// What an access says of its bytes, as the payload of a command.
pub(super) trait CommandPayload: Copy {
    fn start(self, length: u64, memory: &mut Memory) -> Payload;

    /// Adds it to a command, which is `total` bytes long then, if that may be: whether it was.
    fn join(self, length: u64, into: &mut Payload, total: Total, memory: &mut Memory) -> bool;
}

/// How long a command would be, and how long one that moves data may be, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Total {
    length: u64,
    most: u64,
}

impl CommandPayload for ByteSite {
    fn start(self, length: u64, memory: &mut Memory) -> Payload {
        let (rope, fragment) = memory.lend(self, length, NO_FRAGMENT);
        Payload::Read { rope, first: fragment, last: fragment }
    }

    fn join(self, length: u64, into: &mut Payload, total: Total, memory: &mut Memory) -> bool {
        match into {
            Payload::Read { rope, last, .. } if total.length <= total.most => {
                let (more, fragment) = memory.lend(self, length, *last);
                rope.append(more);
                *last = fragment;
                true
            }
            _ => false,
        }
    }
}

impl CommandPayload for Content {
    fn start(self, length: u64, memory: &mut Memory) -> Payload {
        match self {
            Content::Bytes(place) => Payload::Write(memory.share(place, length)),
            Content::Zeroes => Payload::Zeroes,
            Content::Discard => Payload::Discard,
            Content::Flush => Payload::Flush,
        }
    }

    fn join(self, length: u64, into: &mut Payload, total: Total, memory: &mut Memory) -> bool {
        match (into, self) {
            (Payload::Write(rope), Content::Bytes(place)) if total.length <= total.most => {
                rope.append(memory.share(place, length));
                true
            }
            (Payload::Zeroes, Content::Zeroes) | (Payload::Discard, Content::Discard) => true,
            _ => false,
        }
    }
}

impl Draft {
    fn new<C: CommandPayload>(access: &Access<C>, memory: &mut Memory) -> Draft {
        let payload = access.content.start(access.length, memory);
        Draft { member: access.member, offset: access.offset, length: access.length, payload }
    }

    /// Takes an access that begins where this command ends, if one command may do both: whether it
    /// did.
    fn join<C: CommandPayload>(
        &mut self,
        access: &Access<C>,
        most: u64,
        memory: &mut Memory,
    ) -> bool {
        let length = self.length + access.length;
        let joined = self.offset + self.length == access.offset
            && access.content.join(
                access.length,
                &mut self.payload,
                Total { length, most },
                memory,
            );
        if joined {
            self.length = length;
        }
        joined
    }
}

/// A command on its way, or ended.
pub(super) struct SentCommand {
    member: usize,
    /// The first fragment that it fills; [`NO_FRAGMENT`] if it reads nothing.
    fragment: u32,
}

/// The commands of one phase of a piece. Its memory is used again for the next phase, so that a
/// channel in steady state allocates nothing for it.
#[derive(Default)]
pub(super) struct Batch {
    sent: Vec<SentCommand>,
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
    pub(super) fn end(
        &mut self,
        command: u32,
        buffer: ReturnedBuffer,
        memory: &mut Memory,
    ) -> bool {
        match buffer {
            ReturnedBuffer::Read(buffer) => {
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
    /// Sends the accesses of one phase of a piece as its batch; with `fua` each write is durable
    /// when it completes. Writes of a piece that has neighbours are held back for them.
    pub(super) fn send<C: CommandPayload>(
        &mut self,
        piece: u32,
        accesses: &[Access<C>],
        (fua, has_neighbours): (bool, bool),
        memory: &mut Memory,
        members: &mut Members,
        batch: &mut Batch,
    ) {
        batch.start();
        for access in accesses {
            let queue = members.slot_mut(access.member);
            let last = self.drafts.get_mut(queue.last_draft as usize);
            if !last.is_some_and(|last| last.join(access, queue.max_request_bytes, memory)) {
                queue.last_draft = self.drafts.len() as u32;
                self.drafts.push(Draft::new(access, memory));
            }
        }
        batch.outstanding = self.drafts.len() as u32;
        for draft in self.drafts.drain(..) {
            let queue = members.slot_mut(draft.member);
            queue.last_draft = NO_DRAFT;
            let (offset, length) = (draft.offset + queue.data_offset, draft.length);
            let command = batch.sent.len() as u32;
            let (op, fragment) = match draft.payload {
                Payload::Read { rope, first, .. } => (Op::Read { offset, into: rope }, first),
                Payload::Write(from) if has_neighbours => {
                    batch.sent.push(SentCommand { member: draft.member, fragment: NO_FRAGMENT });
                    members.hold(draft.member, HeldWrite::new((piece, command), offset, from, fua));
                    continue;
                }
                Payload::Write(from) => (Op::Write { offset, from, fua }, NO_FRAGMENT),
                Payload::Zeroes => (Op::WriteZeroes { offset, length, fua }, NO_FRAGMENT),
                Payload::Discard => (Op::Discard { offset, length }, NO_FRAGMENT),
                Payload::Flush => (Op::Flush, NO_FRAGMENT),
            };
            let tag = Tag::Planned { piece, command };
            batch.sent.push(SentCommand { member: draft.member, fragment });
            members.send(draft.member, Request::new(tag.encode(), op));
        }
    }
}

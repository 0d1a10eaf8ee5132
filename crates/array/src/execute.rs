//! Runs plans: the one place of an array that submits to members.
//!
//! ```text
//!   host request ──┬─ one access, nothing to lock or compute ──────────────> direct: straight through
//!                  └─ else: pieces ─> plan ─> lock ─> read ─> compute ─> write ─> next part or end
//!                                      ^                |                  |
//!                                      └── a member failed: plan again ────┘
//! ```
//!
//! In steady state nothing is allocated here: requests, pieces and their plans are kept and used
//! again. Only ropes (a member's command over several places of the host's buffer) allocate.
//!
//! A member that fails a write is dropped, and the piece planned again without it: the others have
//! taken their part by then. A read that fails for the medium's sake goes on with care, in small
//! steps: each is read once more, and if that fails it is made from the other members and written
//! back.

mod close;
mod gate;
mod member_queue;
mod piece;
mod request;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use block::{Channel, Completion, Error, ErrorKind, Op, Request, Returned};
use reactor::Reactor;

use crate::device::Shared;
use crate::health::Member;
use crate::memory::Pool;
use crate::metadata::{Ended, MetadataChannels};
use crate::rows::Waiter;
use crate::sync::SyncChannel;
use crate::{Action, Level, MemberSet, Part, Queues, SyncRange};
use member_queue::MemberQueue;
use piece::Piece;
use request::{Direct, Planned};

/// Set in the tag of a command that belongs to a plan; then come 31 bits of piece and 32 of
/// command.
const PLANNED: u64 = 1 << 63;
/// No command of the phase goes to the member yet.
const NO_COMMAND: u32 = u32::MAX;
/// Instead of a slot: the array itself failed the request.
const NO_MEMBER: usize = usize::MAX;

/// A member's command that failed.
struct Failure {
    slot: usize,
    /// The member that was in the slot.
    member: Option<Arc<Member>>,
    error: Error,
}

/// What a request or a piece is about.
#[derive(Clone, Copy, Default)]
enum Operation {
    #[default]
    Flush,
    Part(Part),
    Sync(SyncRange),
}

impl Operation {
    fn length(self) -> u64 {
        match self {
            Operation::Flush => 0,
            Operation::Part(part) => part.length,
            Operation::Sync(range) => range.length,
        }
    }

    /// The operation from `start` on, `length` bytes long.
    fn slice(self, start: u64, length: u64) -> Operation {
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
}

pub(crate) struct ArrayChannel<L: Level> {
    shared: Arc<Shared<L>>,
    members: Vec<MemberQueue>,
    /// Channels of removed members, until they have answered, and their slots.
    retired: Vec<(usize, MemberQueue)>,
    /// How deep the members' channels are.
    member_depth: u32,
    /// Kept where there are copies to choose among.
    queues: Queues,
    direct: Vec<Direct>,
    free_direct: Vec<u32>,
    requests: Vec<Planned>,
    free_requests: Vec<u32>,
    // A box moves in and out of its slot cheaply while the rest of the channel is in use.
    pieces: Vec<Option<Box<Piece>>>,
    free_pieces: Vec<u32>,
    #[allow(clippy::vec_box, reason = "the boxes move between here and `pieces`")]
    spare_pieces: Vec<Box<Piece>>,
    scratch: Pool,
    ready: Vec<Completion>,
    in_flight: u32,
    /// Commands sent so far, to see whether polling made new ones.
    sent: u64,
    /// Members that are neither read nor written, those that are only written, and both.
    absent: MemberSet,
    recovering: MemberSet,
    missing: MemberSet,
    generation: u64,
    /// Sectors that checks found to differ.
    differing_sectors: u64,
    waiter: Arc<Waiter>,
    granted: Vec<u32>,
    reactor: Reactor,
    /// What metadata are written with, and what of it has ended.
    metadata_channels: MetadataChannels,
    ended: Vec<Ended>,
    /// The channel is being dropped: nothing new is begun.
    closing: bool,
}

impl<L: Level> ArrayChannel<L> {
    /// A channel whose requests may each need `member_depth / depth` commands on a member at the
    /// same time.
    pub(crate) fn open(
        shared: Arc<Shared<L>>,
        member_depth: u32,
        waiter: Arc<Waiter>,
        reactor: &Reactor,
    ) -> Result<Self, Error> {
        let membership = shared.health.membership();
        let open = |(slot, member): (usize, &Option<Arc<Member>>)| match member {
            // The device of a faulty member may be gone.
            Some(_) if membership.absent.contains(slot) => Ok(MemberQueue::unused(member.clone())),
            Some(member) => MemberQueue::open(member, member_depth, reactor).or_else(|error| {
                let may_go = |after: &MemberSet| {
                    error.kind() == ErrorKind::Gone && shared.level.holds_all(after).is_ok()
                };
                let is_out = shared.health.fail(slot, Some(member), Some(&error), may_go);
                if is_out { Ok(MemberQueue::unused(Some(Arc::clone(member)))) } else { Err(error) }
            }),
            None => Ok(MemberQueue::unused(None)),
        };
        let members =
            membership.members.iter().enumerate().map(open).collect::<Result<Vec<_>, Error>>()?;
        Ok(ArrayChannel {
            queues: Queues::idle(members.len()),
            members,
            retired: Vec::new(),
            member_depth,
            direct: Vec::new(),
            free_direct: Vec::new(),
            requests: Vec::new(),
            free_requests: Vec::new(),
            pieces: Vec::new(),
            free_pieces: Vec::new(),
            spare_pieces: Vec::new(),
            scratch: Pool::default(),
            ready: Vec::new(),
            in_flight: 0,
            sent: 0,
            absent: membership.absent,
            recovering: membership.recovering,
            missing: membership.absent.union(&membership.recovering),
            generation: membership.generation,
            differing_sectors: 0,
            waiter,
            granted: Vec::new(),
            reactor: reactor.clone(),
            metadata_channels: MetadataChannels::default(),
            ended: Vec::new(),
            closing: false,
            shared,
        })
    }

    /// Has the copies of a read chosen as they may be: any, or only the first while they need not
    /// agree.
    #[inline]
    fn look_for_agreement(&mut self, part: Part) {
        if L::HAS_COPIES && part.action == Action::Read {
            self.queues.keep_to_first(
                self.shared.health.needs_resync(&(part.offset..part.offset + part.length)),
            );
        }
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.shared.info.block_bytes)
    }
}

impl Failure {
    fn at_its_member(self) -> Error {
        match self.member {
            Some(member) => self.error.at(&member.name),
            None => self.error,
        }
    }
}

impl<L: Level> Channel for ArrayChannel<L> {
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        // A flush does not count as use: sync actions flush too, and the writes before it have been
        // seen.
        if L::REDUNDANT
            && !matches!(request.op, Op::Flush)
            && !self.shared.busy.load(Ordering::Relaxed)
        {
            self.shared.busy.store(true, Ordering::Relaxed);
        }
        if let Err(error) = self.shared.info.check(&request.op) {
            self.ready.push(request.complete(Err(error)));
            return;
        }
        if L::REDUNDANT {
            self.refresh_health();
        }
        let (part, fua) = match &request.op {
            Op::Read { offset, into } => {
                (Part { action: Action::Read, offset: *offset, length: into.len() as u64 }, false)
            }
            Op::Write { offset, from, fua } => {
                (Part { action: Action::Write, offset: *offset, length: from.len() as u64 }, *fua)
            }
            Op::WriteZeroes { offset, length, fua } => {
                (Part { action: Action::Zeroes, offset: *offset, length: *length }, *fua)
            }
            Op::Discard { offset, length } => {
                (Part { action: Action::Discard, offset: *offset, length: *length }, false)
            }
            Op::Flush => {
                return self.submit_planned(
                    request.tag,
                    Operation::Flush,
                    false,
                    Returned::Nothing,
                    None,
                );
            }
        };
        self.look_for_agreement(part);
        match self.shared.level.whole(part, &self.missing, &self.queues) {
            Some(spot) => self.submit_direct(request, part, fua, spot),
            None => self.submit_planned(
                request.tag,
                Operation::Part(part),
                fua,
                request.op.into_buffer(),
                None,
            ),
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let before = done.len();
        // A phase sent out from here may have ended already, with no event to say so: go round
        // until nothing new is sent.
        loop {
            let sent = self.sent + self.metadata_channels.sent;
            for slot in 0..self.members.len() {
                if self.members[slot].in_flight > 0 {
                    self.poll_member(slot, done);
                }
            }
            if self.metadata_channels.is_busy() {
                self.poll_metadata();
            }
            if !self.retired.is_empty() {
                self.poll_retired(done);
            }
            let woken = L::LOCKS_ROWS && self.take_rows();
            if self.sent + self.metadata_channels.sent == sent && !woken {
                break;
            }
        }
        self.in_flight -= self.ready.len() as u32;
        done.append(&mut self.ready);
        if done.len() == before {
            self.poll_idle();
        }
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

impl<L: Level> SyncChannel for ArrayChannel<L> {
    fn submit_sync(&mut self, tag: u64, range: SyncRange) {
        self.in_flight += 1;
        self.refresh_health();
        self.submit_planned(tag, Operation::Sync(range), false, Returned::Nothing, None);
    }

    fn take_differing_sectors(&mut self) -> u64 {
        std::mem::take(&mut self.differing_sectors)
    }
}

//! Runs plans: the one place of an array that submits to members.
//!
//! ```text
//!   request ──┬─ one access, nothing to lock or compute ──────────────> direct: straight through
//!             └─ else: pieces ─> plan ─> lock ─> read ─> compute ─> write ─> next part or end
//!                                 ^                |                  |
//!                                 └── a member failed: plan again ────┘
//!
//!   requests   what the owner asks for: cut into pieces, put together again
//!   life       the states of a piece, and what moves it on
//!   piece      its data
//!   gate       what the metadata writer has to agree to
//!   commands   batches and their tags
//!   members    the members' channels, what they hold back
//!   tag        what a command is for
//!   streams    sequential writes that wait for the rest of a row
//!   (here)     the channel over all
//! ```
//!
//! `requests`, `gate` and `members` do not know each other; `life` uses all three, and only this
//! file uses `life`.
//!
//! In steady state nothing is allocated here: requests, pieces and their plans are kept and used
//! again. Only ropes (a member's command over several places of the request's buffer) allocate.

mod commands;
mod gate;
mod life;
mod members;
mod piece;
mod requests;
mod streams;
mod tag;

use std::sync::Arc;

use block::{Channel, Completion, Error, Op, Request, ReturnedBuffer};
use reactor::{Reactor, WakeReason};

use crate::catalogue;
use crate::health::{Verdict, judge};
use crate::level::LevelTraits;
use crate::member::Member;
use crate::part::{Action, Part, Spot, SyncRange};
use crate::rows::Waiter;
use crate::shared::ArrayCore;
use crate::sync::Findings;
use gate::MetadataGate;
use life::Pieces;
use members::{Failure, Members};
use requests::{DirectRequest, NewRequest, Operation, RequestStep, Requests, RetryPlan};
use tag::Tag;

/// A channel of an array.
pub(crate) struct ArrayChannel {
    shared: Arc<ArrayCore>,
    traits: LevelTraits,
    requests: Requests,
    pieces: Pieces,
    ready: Vec<Completion>,
    in_flight: u32,
    /// Whether its requests are the host's, which sync actions give way to, and whether it counts
    /// among the channels that have some.
    is_hosts: bool,
    counts: bool,
    /// Memory of polls: pieces that were woken, and those whose log was written.
    woken: Vec<u32>,
    logged: Vec<(u32, Result<(), Error>)>,
    reactor: Reactor,
}

impl ArrayChannel {
    /// A channel on `reactor` for `depth` requests at a time.
    pub(crate) fn open(
        shared: &Arc<ArrayCore>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<ArrayChannel, Error> {
        // Each request of ours may need this many commands on one member at the same time, and
        // never more.
        let level = &shared.level;
        let commands = level.pieces_at_once().saturating_mul(level.commands_per_member());
        let waiter = match shared.traits.locks_rows {
            true => Waiter::on(reactor, catalogue::ROW_LOCKS)?,
            false => Waiter::new(None),
        };
        let members = Members::open(shared, depth.saturating_mul(commands), reactor)?;
        let gate = MetadataGate::open(shared, &waiter, reactor);
        Ok(ArrayChannel {
            pieces: Pieces::new(shared, members, gate, waiter, reactor),
            traits: shared.traits,
            shared: Arc::clone(shared),
            requests: Requests::default(),
            ready: Vec::new(),
            in_flight: 0,
            is_hosts: shared.traits.is_redundant,
            counts: false,
            woken: Vec::new(),
            logged: Vec::new(),
            reactor: reactor.clone(),
        })
    }

    /// The same for a sync action: no other gives way to its requests.
    pub(crate) fn for_sync(mut self) -> ArrayChannel {
        self.is_hosts = false;
        self
    }

    /// Sends a request that is one access to one member on its way, changed in place.
    #[inline]
    fn submit_direct(&mut self, mut request: Request, part: Part, fua: bool, spot: Spot) {
        let entry = self.requests.add_direct(DirectRequest { tag: request.tag, part, fua });
        request.tag = Tag::Direct { entry }.encode();
        if let Op::Read { offset, .. }
        | Op::Write { offset, .. }
        | Op::WriteZeroes { offset, .. }
        | Op::Discard { offset, .. } = &mut request.op
        {
            *offset = spot.offset + self.pieces.members.slot(spot.member).data_offset;
        }
        self.pieces.members.send(spot.member, request);
    }

    fn submit_planned(&mut self, new: NewRequest) {
        self.requests.add_planned(new);
        self.go_on();
    }

    /// Of each request that is new or has a piece that ended: begins what pieces may begin, and
    /// ends it when all is done.
    fn go_on(&mut self) {
        while let Some(entry) = self.requests.take_listed() {
            let at_once = self.shared.level.pieces_at_once();
            match self.requests.next(entry, at_once, self.pieces.closing) {
                RequestStep::Piece(cursor) => {
                    self.pieces.start(&mut self.requests, entry, cursor);
                    self.requests.go_on(entry);
                }
                RequestStep::Wait => (),
                RequestStep::End => self.ready.push(self.requests.end(entry)),
            }
        }
    }

    #[inline]
    fn poll_members(&mut self, done: &mut Vec<Completion>) {
        for slot in 0..self.pieces.members.count() {
            if self.pieces.members.slot(slot).in_flight > 0 {
                let at = done.len();
                let member = self.pieces.members.poll(slot, done);
                self.end_commands(slot, member.as_ref(), at, done);
            }
        }
        if self.pieces.members.has_retired() {
            self.poll_retired(done);
        }
    }

    /// Takes what removed members have completed.
    #[cold]
    fn poll_retired(&mut self, done: &mut Vec<Completion>) {
        for (slot, queue) in self.pieces.members.take_retired() {
            let at = done.len();
            let member = self.pieces.members.poll_retired(slot, queue, done);
            self.end_commands(slot, member.as_ref(), at, done);
        }
    }

    /// Takes completions of one member, from `at` on in `done`. Direct requests end in place,
    /// unmoved. If one failed, it was that of `member`.
    fn end_commands(
        &mut self,
        slot: usize,
        member: Option<&Arc<Member>>,
        mut at: usize,
        done: &mut Vec<Completion>,
    ) {
        while at < done.len() {
            match Tag::decode(done[at].tag) {
                Tag::Planned { piece, command } => {
                    let completion = done.swap_remove(at);
                    let (command, by) = ((piece, command), (slot, member));
                    self.pieces.end_command(&mut self.requests, command, by, completion);
                    self.go_on();
                }
                Tag::Joined { entry } => {
                    let Completion { tag, buffer, result } = done.swap_remove(at);
                    // Before the pieces go on: scratch without another holder is used again.
                    drop(buffer);
                    self.end_joined(entry, (slot, member), tag, &result);
                }
                Tag::Direct { entry } => {
                    let direct = self.requests.take_direct(entry);
                    if done[at].result.is_ok() {
                        done[at].tag = direct.tag;
                        self.in_flight -= 1;
                        at += 1;
                    } else {
                        let completion = done.swap_remove(at);
                        self.end_direct(direct, slot, member.cloned(), completion);
                    }
                }
            }
        }
    }

    /// Ends each part of a write that was joined from those of several pieces, with its answer.
    fn end_joined(
        &mut self,
        entry: u32,
        by: (usize, Option<&Arc<Member>>),
        tag: u64,
        result: &Result<(), Error>,
    ) {
        for command in self.pieces.members.take_joined(entry) {
            let result = result.as_ref().map_err(Error::repeat).copied();
            let part = Completion { tag, buffer: ReturnedBuffer::Nothing, result };
            self.pieces.end_command(&mut self.requests, command, by, part);
            self.go_on();
        }
    }

    /// Ends a direct request that its member has failed, or has it planned without that member.
    #[cold]
    fn end_direct(
        &mut self,
        direct: DirectRequest,
        slot: usize,
        member: Option<Arc<Member>>,
        completion: Completion,
    ) {
        let DirectRequest { tag, part, fua } = direct;
        let Completion { buffer, result, .. } = completion;
        let result = result.map_err(|error| {
            let verdict = judge(error.kind(), part.action == Action::Read);
            (verdict, Failure { slot, member, error })
        });
        match result {
            Err((verdict, failure)) if self.traits.is_redundant && verdict != Verdict::Request => {
                if verdict == Verdict::Member {
                    self.shared.drop_member(slot, failure.member.as_ref(), &failure.error);
                }
                let careful = (verdict == Verdict::Blocks).then_some(slot);
                let retried = RetryPlan { cause: failure.at_its_member(), careful };
                self.submit_planned(NewRequest {
                    fua,
                    buffer,
                    retried: Some(retried),
                    ..NewRequest::bare(tag, Operation::Part(part))
                });
            }
            result => {
                if let Err((_, failure)) = &result {
                    self.shared.note_gone(slot, &failure.error);
                }
                let result = result.map_err(|(_, failure)| failure.at_its_member());
                self.ready.push(Completion { tag, buffer, result });
            }
        }
    }

    /// Takes what has been written down or logged.
    fn poll_gate(&mut self) {
        let Some(gate) = self.pieces.gate.as_mut().filter(|gate| gate.is_busy()) else { return };
        let mut logged = std::mem::take(&mut self.logged);
        gate.poll(&mut logged);
        for (piece, result) in logged.drain(..) {
            self.pieces.end_log(&mut self.requests, piece, result);
            self.go_on();
        }
        self.logged = logged;
    }

    /// Goes on with the pieces that were woken. True when there were some.
    fn resume_woken(&mut self) -> bool {
        let mut woken = std::mem::take(&mut self.woken);
        self.pieces.take_woken(&mut woken);
        let some = !woken.is_empty();
        for piece in woken.drain(..) {
            self.pieces.resume(&mut self.requests, piece);
            self.go_on();
        }
        self.woken = woken;
        some
    }

    /// Lets members and metadata channels without a request go on with what is their own.
    fn poll_idle(&mut self) {
        let mut done = Vec::new();
        self.pieces.members.poll_idle(&mut done);
        if let Some(gate) = &mut self.pieces.gate {
            gate.poll_idle(&mut done);
        }
        debug_assert!(done.is_empty(), "a channel answers what it was not asked");
    }
}

impl Channel for ArrayChannel {
    #[inline(always)]
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        if self.is_hosts && !self.counts {
            self.counts = true;
            self.shared.host.begin();
        }
        if let Err(error) = self.shared.info.check(&request.op) {
            self.ready.push(request.complete(Err(error)));
            return;
        }
        if self.traits.is_redundant {
            self.pieces.members.refresh();
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
                return self.submit_planned(NewRequest::bare(request.tag, Operation::Flush));
            }
        };
        let members = &mut self.pieces.members;
        members.look_for_agreement(part);
        match self.shared.level.whole(part, &members.missing, &members.queues) {
            Some(spot) => self.submit_direct(request, part, fua, spot),
            None => {
                let (tag, buffer) = (request.tag, request.op.into_buffer());
                let follows = part.action == Action::Write
                    && !fua
                    && self.shared.level.row_end(part.offset).is_some()
                    && self.pieces.streams.follow(part);
                let bare = NewRequest::bare(tag, Operation::Part(part));
                self.submit_planned(NewRequest { fua, follows, buffer, ..bare });
            }
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let before = done.len();
        // A phase sent out from here may have ended already, with no event to say so: go round
        // until nothing new is sent.
        loop {
            let sent = self.pieces.sent();
            self.pieces.members.send_held();
            self.poll_members(done);
            self.poll_gate();
            let woken = self.traits.locks_rows && self.resume_woken();
            self.pieces.begin_overdue(&mut self.requests);
            self.go_on();
            if self.pieces.sent() == sent && !woken && !self.pieces.members.holds() {
                break;
            }
        }
        self.in_flight -= self.ready.len() as u32;
        if self.counts && self.in_flight == 0 {
            self.counts = false;
            self.shared.host.end();
        }
        done.append(&mut self.ready);
        if done.len() == before {
            self.poll_idle();
        }
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

/// What sync actions ask of a channel; offsets are counted as [`SyncTask`](crate::SyncTask) says.
impl ArrayChannel {
    /// Takes a range; it completes under its tag as a request does.
    pub(crate) fn submit_sync(&mut self, tag: u64, range: SyncRange) {
        self.in_flight += 1;
        self.pieces.members.refresh();
        self.submit_planned(NewRequest::bare(tag, Operation::Sync(range)));
    }

    /// What was found to differ since this was asked last.
    pub(crate) fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.pieces.findings)
    }
}

/// A row of which some members were written and others not must not be left to the next piece that
/// locks it: what is made from it for an absent member would be rubbish, and copies would differ.
/// So a channel that is dropped begins nothing more, but sees the writes through that it has sent.
impl Drop for ArrayChannel {
    fn drop(&mut self) {
        if self.counts {
            self.shared.host.end();
        }
        if !self.traits.locks_rows {
            return;
        }
        self.pieces.closing = true;
        self.pieces.stop_waiting();
        let mut done = Vec::new();
        while self.pieces.is_writing() && !std::thread::panicking() {
            let before = self.pieces.sent();
            self.pieces.members.send_held();
            self.poll_members(&mut done);
            self.poll_gate();
            let is_idle = done.is_empty() && self.pieces.sent() == before;
            if is_idle
                && self.pieces.is_writing()
                && !matches!(self.reactor.wait_for_more(), Ok(woken) if woken != WakeReason::Idle)
            {
                // Nothing more is to come.
                break;
            }
            done.clear();
        }
        self.pieces.give_up();
    }
}

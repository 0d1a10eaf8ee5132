//! Runs plans: the one place of an array that submits to members.
//!
//! ```text
//!   host request ──┬─ one access, nothing to lock or compute ──────────────> direct: straight through
//!                  └─ else: pieces ─> plan ─> lock ─> read ─> compute ─> write ─> next part or end
//!                                      ^                |                  |
//!                                      └── a member failed: plan again ────┘
//! ```
//!
//! In steady state nothing is allocated here: requests, pieces and their plans are kept and used again. Only ropes (a
//! member's command over several places of the host's buffer) allocate.
//!
//! A member that fails a write is dropped, and the piece planned again without it: the others have taken their part by then.
//! A read that fails for the medium's sake goes on with care, in small steps: each is read once more, and if that fails it
//! is made from the other members and written back.

mod gate;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use block::{Buf, BufMut, Channel, Completion, Error, ErrorKind, Op, Request, Returned};
use reactor::{Reactor, Woken};

use crate::device::Shared;
use crate::health::{Seat, Verdict, judge};
use crate::maintain::UpkeepChannel;
use crate::memory::{HostBuffer, Memory, NO_FRAGMENT, Pool};
use crate::record::{Ended, Logged, Pen};
use crate::rows::Waiter;
use crate::{Access, Action, Faults, Level, MemberSet, Part, Place, Plan, Queues, RowLock, Spot, Stretch};
use gate::{LogState, Pass};

/// Set in the tag of a command that belongs to a plan; then come 31 bits of piece and 32 of command.
const PLANNED: u64 = 1 << 63;
/// How much a piece takes at a time after an error of the medium: so much is written back at most for one bad block.
const CAREFUL_BYTES: u64 = 64 << 10;
/// No command of the phase goes to the member yet.
const NO_COMMAND: u32 = u32::MAX;
/// In the place of a member: the array itself says so.
const NO_MEMBER: usize = usize::MAX;

struct MemberQueue {
    /// Whose channel it is; `None` is nobody's.
    seat: Option<Arc<Seat>>,
    channel: Box<dyn Channel>,
    max_request_bytes: u64,
    /// Where the array's data begin on the device, in bytes.
    data_offset: u64,
    in_flight: u32,
    /// The last command of the phase that is being sent out.
    last_command: u32,
}

impl MemberQueue {
    /// The channel of a member that is not there. Plans leave it out.
    fn empty() -> MemberQueue {
        MemberQueue {
            seat: None,
            channel: Box::new(Absent::default()),
            max_request_bytes: u64::from(u32::MAX),
            data_offset: 0,
            in_flight: 0,
            last_command: NO_COMMAND,
        }
    }

    fn open(seat: &Arc<Seat>, depth: u32, reactor: &Reactor) -> Result<MemberQueue, Error> {
        let channel = seat.device.open(depth, reactor).map_err(|error| error.at(&seat.name))?;
        let max_request_bytes = u64::from(seat.device.info().max_request_bytes);
        Ok(MemberQueue { seat: Some(Arc::clone(seat)), channel, max_request_bytes, data_offset: seat.data_offset, ..MemberQueue::empty() })
    }

    fn is_of(&self, seat: Option<&Arc<Seat>>) -> bool {
        self.seat.as_ref().map(Arc::as_ptr) == seat.map(Arc::as_ptr)
    }
}

/// A member's command that failed.
struct Failure {
    member: usize,
    /// Who sat in the member's place.
    seat: Option<Arc<Seat>>,
    error: Error,
}

/// What a request or a piece is about.
#[derive(Clone, Copy, Default)]
enum Job {
    #[default]
    Flush,
    Part(Part),
    Upkeep(Stretch),
}

impl Job {
    fn length(self) -> u64 {
        match self {
            Job::Flush => 0,
            Job::Part(part) => part.length,
            Job::Upkeep(stretch) => stretch.length,
        }
    }

    /// The job from `start` on, `length` bytes long.
    fn slice(self, start: u64, length: u64) -> Job {
        match self {
            Job::Flush => Job::Flush,
            Job::Part(part) => Job::Part(Part { offset: part.offset + start, length, ..part }),
            Job::Upkeep(stretch) => Job::Upkeep(Stretch { offset: stretch.offset + start, length, ..stretch }),
        }
    }
}

/// A request that went straight to one member.
struct Direct {
    tag: u64,
    /// Of the array, for planning after all when the member fails.
    offset: u64,
    length: u64,
    action: Action,
    fua: bool,
}

/// A request of the host that is carried out by plans.
#[derive(Default)]
struct Planned {
    tag: u64,
    job: Job,
    fua: bool,
    /// How far pieces have been made.
    cursor: u64,
    /// What of a read's buffer no piece has got yet.
    rest: Option<BufMut>,
    /// A write's buffer.
    from: Option<Buf>,
    /// The pieces' parts of a read's buffer, in order.
    parts: Vec<Option<BufMut>>,
    running: u32,
    /// Pieces are being made: one that ends meanwhile, without a command, does not end the request.
    making: bool,
    /// The member whose medium failed already.
    careful: Option<usize>,
    /// What the first member to fail said.
    cause: Option<Error>,
    error: Option<Error>,
    more_errors: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Planning,
    WaitingForRow,
    Reading,
    /// What closes the write hole is written first.
    Logging,
    Writing,
    /// Done, and what it was done without is being written down.
    Confirming,
}

/// A part of a request under way.
struct Piece {
    request: u32,
    /// Which of the request's pieces.
    number: u32,
    job: Job,
    fua: bool,
    /// How much of it is done, and how much the plan covers.
    done: u64,
    planned: u64,
    phase: Phase,
    /// The array's health when it was planned.
    generation: u64,
    /// In steps of so many bytes at most, for this member's medium failed; and who failed the present step again.
    careful: Option<usize>,
    careful_bytes: u64,
    unreadable: MemberSet,
    plan: Plan,
    /// Held, or waited for.
    held_row: Option<RowLock>,
    /// What the array's record let it write to.
    admitted: Option<Range<u64>>,
    /// What it logs, and how far it is with that.
    logged: Option<Logged>,
    log: LogState,
    memory: Memory,
    commands: Vec<Command>,
    outstanding: u32,
    failures: Vec<Failure>,
}

struct Command {
    member: usize,
    offset: u64,
    length: u64,
    work: Work,
    first_fragment: u32,
    last_fragment: u32,
}

enum Work {
    Sent,
    Read(BufMut),
    Write(Buf),
    Zeroes,
    Discard,
    Flush,
}

pub(crate) struct ArrayChannel<L: Level> {
    shared: Arc<Shared<L>>,
    members: Vec<MemberQueue>,
    /// Channels of who has left, until they have answered, and their places.
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
    stale: MemberSet,
    missing: MemberSet,
    generation: u64,
    /// Sectors that upkeep found to differ.
    differing_sectors: u64,
    waiter: Arc<Waiter>,
    granted: Vec<u32>,
    reactor: Reactor,
    /// What metadata are written with, and what of it has ended.
    pen: Pen,
    ended: Vec<Ended>,
    /// The channel is being dropped: nothing new is begun.
    closing: bool,
}

impl<L: Level> ArrayChannel<L> {
    /// A channel whose requests may each need `member_depth / depth` commands on a member at the same time.
    pub(crate) fn open(shared: Arc<Shared<L>>, member_depth: u32, waiter: Arc<Waiter>, reactor: &Reactor) -> Result<Self, Error> {
        let roster = shared.health.roster();
        let open = |seat: &Option<Arc<Seat>>| {
            seat.as_ref().map_or_else(|| Ok(MemberQueue::empty()), |seat| MemberQueue::open(seat, member_depth, reactor))
        };
        let members = roster.seats.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
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
            absent: roster.absent,
            stale: roster.stale,
            missing: roster.absent.union(&roster.stale),
            generation: roster.generation,
            differing_sectors: 0,
            waiter,
            granted: Vec::new(),
            reactor: reactor.clone(),
            pen: Pen::default(),
            ended: Vec::new(),
            closing: false,
            shared,
        })
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.shared.info.block_bytes)
    }

    fn refresh_health(&mut self) {
        if self.shared.health.generation() != self.generation {
            self.take_roster();
        }
    }

    /// Learns who counts for what, and opens the channels of who is new.
    #[cold]
    fn take_roster(&mut self) {
        let roster = self.shared.health.roster();
        self.generation = roster.generation;
        (self.absent, self.stale) = (roster.absent, roster.stale);
        self.missing = roster.absent.union(&roster.stale);
        for (member, seat) in roster.seats.into_iter().enumerate() {
            if self.members[member].is_of(seat.as_ref()) {
                continue;
            }
            let queue = match seat.map(|seat| (MemberQueue::open(&seat, self.member_depth, &self.reactor), seat)) {
                None => MemberQueue::empty(),
                Some((Ok(queue), _)) => queue,
                Some((Err(_), seat)) => {
                    // A member that is not there for one channel is not there for any.
                    self.shared.health.fail(member, Some(&seat), |_| true);
                    MemberQueue { seat: Some(seat), ..MemberQueue::empty() }
                }
            };
            let old = std::mem::replace(&mut self.members[member], queue);
            if old.in_flight > 0 {
                self.retired.push((member, old));
            }
            self.queues.restart(member);
        }
        self.refresh_health();
    }

    #[inline]
    fn send(&mut self, member: usize, request: Request) {
        let queue = &mut self.members[member];
        queue.in_flight += 1;
        self.sent += 1;
        if L::REDUNDANT {
            let read = if let Op::Read { offset, into } = &request.op { Some((*offset, into.len() as u64)) } else { None };
            self.queues.begin(member, read);
        }
        queue.channel.submit(request);
    }

    /// Sends a request that is one access to one member on its way, changed in place.
    #[inline]
    fn submit_direct(&mut self, mut request: Request, part: Part, fua: bool, spot: Spot) {
        let entry = Direct { tag: request.tag, offset: part.offset, length: part.length, action: part.action, fua };
        let slot = match self.free_direct.pop() {
            Some(slot) => {
                self.direct[slot as usize] = entry;
                slot
            }
            None => {
                self.direct.push(entry);
                (self.direct.len() - 1) as u32
            }
        };
        request.tag = u64::from(slot);
        match &mut request.op {
            Op::Read { offset, .. } | Op::Write { offset, .. } | Op::WriteZeroes { offset, .. } | Op::Discard { offset, .. } => {
                *offset = spot.offset + self.members[spot.member].data_offset;
            }
            Op::Flush => unreachable!("a flush is no part"),
        }
        self.send(spot.member, request);
    }

    fn submit_planned(&mut self, tag: u64, job: Job, fua: bool, buffer: Returned, failed: Option<(Error, Option<usize>)>) {
        let slot = self.free_requests.pop().unwrap_or_else(|| {
            self.requests.push(Planned::default());
            (self.requests.len() - 1) as u32
        });
        let request = &mut self.requests[slot as usize];
        let (rest, from) = match buffer {
            Returned::Nothing => (None, None),
            Returned::Read(buffer) => (Some(buffer), None),
            Returned::Written(buffer) => (None, Some(buffer)),
        };
        let parts = std::mem::take(&mut request.parts);
        let (cause, careful) = failed.unzip();
        *request = Planned { tag, job, fua, rest, from, parts, careful: careful.flatten(), cause, ..Planned::default() };
        self.start_pieces(slot);
    }

    /// Makes pieces while the request has some left and fewer under way than run at a time; ends it when all is done.
    fn start_pieces(&mut self, slot: u32) {
        if std::mem::replace(&mut self.requests[slot as usize].making, true) {
            return;
        }
        loop {
            let request = &mut self.requests[slot as usize];
            let whole = request.job.length();
            let all_made = if let Job::Flush = request.job { request.cursor == 1 } else { request.cursor == whole };
            if all_made || self.closing || request.error.is_some() || request.running >= self.shared.level.pieces_at_once() {
                break;
            }
            let (job, buffer) = match request.job {
                Job::Flush => {
                    request.cursor = 1;
                    (Job::Flush, HostBuffer::Nothing)
                }
                Job::Upkeep(stretch) => {
                    let left = Stretch { offset: stretch.offset + request.cursor, length: whole - request.cursor, ..stretch };
                    let length = self.shared.level.stretch_bytes(left);
                    request.cursor += length;
                    (Job::Upkeep(Stretch { length, ..left }), HostBuffer::Nothing)
                }
                Job::Part(part) => {
                    let faults = Faults { absent: self.absent, stale: self.stale, ..Faults::default() };
                    let left = Part { offset: part.offset + request.cursor, length: whole - request.cursor, ..part };
                    let length = self.shared.level.piece_bytes(left, &faults);
                    debug_assert!(length > 0 && length <= left.length, "a piece is a part of what is left");
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
                    (Job::Part(Part { length, ..left }), buffer)
                }
            };
            let number = request.parts.len() as u32;
            request.parts.push(None);
            request.running += 1;
            let (fua, careful) = (request.fua, request.careful);
            let mut piece = self.spare_pieces.pop().unwrap_or_default();
            piece.request = slot;
            piece.number = number;
            piece.job = job;
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
        let request = &mut self.requests[slot as usize];
        request.making = false;
        if request.running == 0 {
            self.end_request(slot);
        }
    }

    /// Plans what is left of the piece, or as much of it as one plan takes.
    fn plan(&mut self, index: u32, piece: &mut Piece) {
        self.release_log(index, piece);
        piece.logged = None;
        self.refresh_health();
        let faults = Faults { absent: self.absent, unreadable: piece.unreadable, stale: self.stale };
        piece.plan.clear();
        piece.phase = Phase::Planning;
        piece.generation = self.generation;
        let level = &self.shared.level;
        let mut length = piece.job.length() - piece.done;
        if L::REDUNDANT {
            // To write, a plan may have to read as much, even where the request carries no data itself.
            let most = if piece.careful.is_some() { piece.careful_bytes.max(self.block_bytes()) } else { u64::MAX };
            length = length.min(most).min(u64::from(self.shared.info.max_request_bytes));
        }
        let planned = match piece.job.slice(piece.done, length) {
            Job::Flush => {
                piece.planned = 0;
                level.holds_all(&self.missing).map(|()| piece.plan.flush_all(self.members.len(), &self.absent))
            }
            Job::Upkeep(left) => {
                piece.planned = level.stretch_bytes(left);
                level.plan_upkeep(Stretch { length: piece.planned, ..left }, &faults, &mut piece.plan)
            }
            Job::Part(left) => {
                let faults = self.faults_for(left, faults);
                piece.planned = level.piece_bytes(left, &faults);
                debug_assert!(piece.planned > 0 && piece.planned <= left.length, "a plan covers a part of what is left");
                piece.memory.host_start = piece.done;
                self.queues.want(piece.careful);
                let part = Part { length: piece.planned, ..left };
                let planned = level.plan(part, &faults, &self.queues, &mut piece.plan);
                self.queues.want(None);
                if self.shared.info.read_only {
                    // Nothing is mended there.
                    piece.plan.write.clear();
                }
                self.plan_log(piece, part);
                planned
            }
        };
        if let Err(lost) = planned {
            if piece.unreadable.count() > 0 && piece.planned > self.block_bytes() {
                // Block by block perhaps not too many members are bad at the same place.
                piece.careful_bytes = self.block_bytes();
                piece.unreadable = MemberSet::EMPTY;
                return self.plan(index, piece);
            }
            let error = match &self.requests[piece.request as usize].cause {
                Some(cause) => Error::new(cause.kind(), format!("{cause}; {lost}")),
                None => Error::new(ErrorKind::Gone, lost.to_string()),
            };
            piece.failures.push(Failure { member: NO_MEMBER, seat: None, error });
        }
    }

    /// Takes a piece as far as it goes without waiting for a member or a row.
    fn advance(&mut self, index: u32, mut piece: Box<Piece>) {
        loop {
            match piece.phase {
                Phase::Planning => {
                    if !piece.failures.is_empty() {
                        // Without enough members there is no plan.
                        return self.end_piece(index, piece);
                    }
                    if piece.held_row != piece.plan.lock {
                        self.release_row(&mut piece);
                    }
                    piece.phase = Phase::WaitingForRow;
                    if let Some(row) = piece.plan.lock
                        && piece.held_row.is_none()
                    {
                        piece.held_row = Some(row);
                        if !self.shared.rows.lock(row, &self.waiter, index) {
                            self.pieces[index as usize] = Some(piece);
                            return;
                        }
                    }
                }
                Phase::WaitingForRow | Phase::Logging if self.closing => {
                    piece.memory.rejoin();
                    piece.memory.drop_scratch(&mut self.scratch);
                    return self.end_piece(index, piece);
                }
                Phase::WaitingForRow => {
                    if piece.generation != self.shared.health.generation() {
                        // A member failed while we waited.
                        self.plan(index, &mut piece);
                        continue;
                    }
                    match self.pass_gate(index, &mut piece) {
                        Pass::Go => (),
                        Pass::End => return self.end_piece(index, piece),
                        Pass::Wait => {
                            self.pieces[index as usize] = Some(piece);
                            return;
                        }
                    }
                    if piece.generation != self.shared.health.generation() {
                        // A member came while we asked. What it has missed was counted before our range was noted.
                        continue;
                    }
                    piece.memory.add_scratch(&piece.plan.scratch, &mut self.scratch);
                    piece.phase = Phase::Reading;
                    if self.send_phase(index, &mut piece) {
                        self.pieces[index as usize] = Some(piece);
                        return;
                    }
                }
                Phase::Reading if self.closing => {
                    piece.memory.rejoin();
                    piece.memory.drop_scratch(&mut self.scratch);
                    return self.end_piece(index, piece);
                }
                Phase::Reading if piece.failures.is_empty() => {
                    piece.memory.rejoin();
                    let differing: u64 = piece.plan.compute.iter().map(|step| piece.memory.compute(*step, &piece.plan.sources)).sum();
                    if differing > 0 {
                        self.differing_sectors += differing;
                        piece.plan.write.append(&mut piece.plan.amend);
                    }
                    self.seal_log(&mut piece);
                    piece.memory.freeze_scratch();
                    piece.phase = Phase::Logging;
                }
                Phase::Logging => {
                    if !self.pass_log(index, &mut piece) {
                        self.pieces[index as usize] = Some(piece);
                        return;
                    }
                    piece.phase = Phase::Writing;
                    if self.send_phase(index, &mut piece) {
                        self.pieces[index as usize] = Some(piece);
                        return;
                    }
                }
                Phase::Writing if piece.failures.is_empty() => {
                    piece.memory.drop_scratch(&mut self.scratch);
                    piece.done += piece.planned;
                    piece.unreadable = MemberSet::EMPTY;
                    piece.careful_bytes = (2 * piece.careful_bytes).min(CAREFUL_BYTES);
                    piece.phase = if piece.done == piece.job.length() { Phase::Confirming } else { Phase::Planning };
                    if piece.phase == Phase::Planning {
                        self.plan(index, &mut piece);
                    }
                }
                Phase::Confirming => {
                    if !self.closing
                        && let Pass::Wait = self.pass_confirmation(index, &mut piece)
                    {
                        self.pieces[index as usize] = Some(piece);
                        return;
                    }
                    return self.end_piece(index, piece);
                }
                Phase::Reading | Phase::Writing => {
                    piece.memory.rejoin();
                    piece.memory.drop_scratch(&mut self.scratch);
                    if !self.can_plan_again(&mut piece) {
                        return self.end_piece(index, piece);
                    }
                    self.plan(index, &mut piece);
                }
            }
        }
    }

    /// Books the failures of a phase on the members. All its commands have ended by now, so the members that are left hold
    /// the whole of what was written, and a new plan finds their rows consistent. False when they are the request's end.
    fn can_plan_again(&mut self, piece: &mut Piece) -> bool {
        if !L::REDUNDANT {
            return false;
        }
        let reading = piece.phase == Phase::Reading;
        let all_failed = piece.failures.len() == piece.commands.len();
        let mut must_end = false;
        let mut unreadable = MemberSet::EMPTY;
        for Failure { member, seat, error } in &piece.failures {
            match judge(error.kind(), reading) {
                // Who has left his place meanwhile is nobody's trouble.
                _ if !self.members[*member].is_of(seat.as_ref()) => (),
                // Where others took a write, one that refuses it has not got it.
                Verdict::Request if reading || all_failed => return false,
                Verdict::Blocks => {
                    unreadable.insert(*member);
                }
                Verdict::Request | Verdict::Member => must_end |= !self.drop_member(*member, seat.as_ref(), error.kind()),
            }
        }
        if must_end {
            return false;
        }
        if piece.careful.is_some() {
            for member in unreadable.iter() {
                if self.shared.health.count_read_error(member) {
                    // What it cannot read is better than nothing where nobody else has it.
                    let level = &self.shared.level;
                    let _ = self.shared.health.fail(member, self.members[member].seat.as_ref(), |after| level.holds_all(after).is_ok());
                }
            }
            piece.unreadable = piece.unreadable.union(&unreadable);
        }
        // The first time everything is tried once more.
        piece.careful = piece.careful.or(unreadable.iter().next());
        let request = &mut self.requests[piece.request as usize];
        for failure in piece.failures.drain(..) {
            request.cause.get_or_insert_with(|| failure.at_its_member());
        }
        true
    }

    /// Drops a member that does not do its work. False when it stays, for it has the last copy of something.
    fn drop_member(&self, member: usize, seat: Option<&Arc<Seat>>, kind: ErrorKind) -> bool {
        let level = &self.shared.level;
        self.shared.health.fail(member, seat, |after| !L::KEEPS_LAST_COPY || kind == ErrorKind::Gone || level.holds_all(after).is_ok())
    }

    fn release_row(&mut self, piece: &mut Piece) {
        if let Some(row) = piece.held_row.take() {
            let others = self.shared.rows.release(row, &self.waiter);
            if others.0 {
                // On the virtual clock nobody else would make the reactor go round; on the wall clock it costs nothing.
                self.reactor.nudge();
            }
        }
    }

    /// Sends the accesses of the piece's phase, neighbours on a member as one command. False when there are none.
    fn send_phase(&mut self, index: u32, piece: &mut Piece) -> bool {
        let reading = piece.phase == Phase::Reading;
        let accesses = if reading { &piece.plan.read } else { &piece.plan.write };
        if accesses.is_empty() {
            return false;
        }
        piece.commands.clear();
        for access in accesses {
            let queue = &mut self.members[access.member];
            let last = piece.commands.get_mut(queue.last_command as usize);
            let last = last.filter(|last| last.joins(access, queue.max_request_bytes));
            let (work, fragment) = match access.place {
                Place::Host { .. } | Place::Scratch { .. } if reading => {
                    let after = last.as_ref().map_or(NO_FRAGMENT, |last| last.last_fragment);
                    let (buffer, fragment) = piece.memory.lend(access.place, access.length, after);
                    if let Some(last) = last {
                        if let Work::Read(rope) = &mut last.work {
                            rope.append(buffer);
                        }
                        last.length += access.length;
                        last.last_fragment = fragment;
                        continue;
                    }
                    (Work::Read(buffer), fragment)
                }
                Place::Host { .. } | Place::Scratch { .. } => {
                    let buffer = piece.memory.share(access.place, access.length);
                    if let Some(last) = last
                        && let Work::Write(rope) = &mut last.work
                    {
                        rope.append(buffer);
                        last.length += access.length;
                        continue;
                    }
                    (Work::Write(buffer), NO_FRAGMENT)
                }
                Place::Zeroes | Place::Discard if last.is_some() => {
                    last.expect("just seen").length += access.length;
                    continue;
                }
                Place::Zeroes => (Work::Zeroes, NO_FRAGMENT),
                Place::Discard => (Work::Discard, NO_FRAGMENT),
                Place::Flush => (Work::Flush, NO_FRAGMENT),
            };
            queue.last_command = piece.commands.len() as u32;
            piece.commands.push(Command {
                member: access.member,
                offset: access.offset,
                length: access.length,
                work,
                first_fragment: fragment,
                last_fragment: fragment,
            });
        }
        piece.outstanding = piece.commands.len() as u32;
        // What was logged is durable before somebody else's entries take the place of its own.
        let fua = piece.fua || piece.log == LogState::Written;
        for (number, command) in piece.commands.iter_mut().enumerate() {
            self.members[command.member].last_command = NO_COMMAND;
            let (offset, length, fua) = (command.offset + self.members[command.member].data_offset, command.length, fua);
            let op = match std::mem::replace(&mut command.work, Work::Sent) {
                Work::Read(into) => Op::Read { offset, into },
                Work::Write(from) => Op::Write { offset, from, fua },
                Work::Zeroes => Op::WriteZeroes { offset, length, fua },
                Work::Discard => Op::Discard { offset, length },
                Work::Flush => Op::Flush,
                Work::Sent => unreachable!("sent once"),
            };
            self.send(command.member, Request::new(PLANNED | u64::from(index) << 32 | number as u64, op));
        }
        true
    }

    /// A command of a plan has ended.
    fn end_command(&mut self, member: usize, seat: Option<&Arc<Seat>>, completion: Completion) {
        let index = (completion.tag >> 32 & 0x7fff_ffff) as u32;
        let number = completion.tag as u32 as usize;
        let mut piece = self.pieces[index as usize].take().expect("a command's piece is under way");
        if let Returned::Read(buffer) = completion.buffer {
            piece.memory.give_back(piece.commands[number].first_fragment, buffer);
        }
        if let Err(error) = completion.result {
            piece.failures.push(Failure { member, seat: seat.cloned(), error });
        }
        piece.outstanding -= 1;
        if piece.outstanding == 0 {
            self.advance(index, piece);
        } else {
            self.pieces[index as usize] = Some(piece);
        }
    }

    fn end_piece(&mut self, index: u32, mut piece: Box<Piece>) {
        self.release_log(index, &mut piece);
        self.release_row(&mut piece);
        self.leave_record(&mut piece);
        let slot = piece.request;
        let request = &mut self.requests[slot as usize];
        if let HostBuffer::Read(buffer) = piece.memory.finish() {
            request.parts[piece.number as usize] = Some(buffer);
        }
        for failure in piece.failures.drain(..) {
            match request.error {
                Some(_) => request.more_errors += 1,
                None => request.error = Some(failure.at_its_member()),
            }
        }
        request.running -= 1;
        self.free_pieces.push(index);
        self.spare_pieces.push(piece);
        self.start_pieces(slot);
    }

    fn end_request(&mut self, slot: u32) {
        let request = &mut self.requests[slot as usize];
        let buffer = match (request.job, request.from.take()) {
            (_, Some(from)) => Returned::Written(from),
            (Job::Part(Part { action: Action::Read, .. }), None) => {
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
            (Some(error), 1) => Err(Error::new(error.kind(), format!("{error} (and 1 more part of the request failed)"))),
            (Some(error), more) => Err(Error::new(error.kind(), format!("{error} (and {more} more parts of the request failed)"))),
        };
        self.ready.push(Completion { tag: request.tag, buffer, result });
        self.free_requests.push(slot);
    }

    /// A direct request whose member failed, planned without that member.
    fn replan_direct(&mut self, slot: u32, failure: Failure, buffer: Returned) {
        let entry = &self.direct[slot as usize];
        let (tag, fua) = (entry.tag, entry.fua);
        let part = Part { action: entry.action, offset: entry.offset, length: entry.length };
        let verdict = judge(failure.error.kind(), part.action == Action::Read);
        if verdict == Verdict::Member {
            self.drop_member(failure.member, failure.seat.as_ref(), failure.error.kind());
        }
        let careful = (verdict == Verdict::Blocks).then_some(failure.member);
        self.submit_planned(tag, Job::Part(part), fua, buffer, Some((failure.at_its_member(), careful)));
    }

    /// Takes what one member has completed.
    fn poll_member(&mut self, member: usize, done: &mut Vec<Completion>) {
        let at = done.len();
        let queue = &mut self.members[member];
        queue.channel.poll(done);
        let ended = (done.len() - at) as u32;
        queue.in_flight -= ended;
        if L::REDUNDANT {
            self.queues.end(member, ended);
        }
        let failed = done[at..].iter().any(|completion| completion.result.is_err());
        let seat = if failed { self.members[member].seat.clone() } else { None };
        self.end_commands(member, seat.as_ref(), at, done);
    }

    /// Takes what those have completed who have left their places.
    #[cold]
    fn poll_retired(&mut self, done: &mut Vec<Completion>) {
        for (member, mut queue) in std::mem::take(&mut self.retired) {
            let at = done.len();
            queue.channel.poll(done);
            queue.in_flight -= (done.len() - at) as u32;
            let seat = queue.seat.clone();
            if queue.in_flight > 0 {
                self.retired.push((member, queue));
            }
            self.end_commands(member, seat.as_ref(), at, done);
        }
    }

    /// Takes completions of one member, from `at` on in `done`. Direct requests end in place, unmoved. If one failed, it was
    /// that of `seat`.
    fn end_commands(&mut self, member: usize, seat: Option<&Arc<Seat>>, mut at: usize, done: &mut Vec<Completion>) {
        while at < done.len() {
            let tag = done[at].tag;
            let failed = done[at].result.is_err();
            if tag & PLANNED != 0 {
                let completion = done.swap_remove(at);
                self.end_command(member, seat, completion);
                continue;
            }
            let slot = tag as u32;
            done[at].tag = self.direct[slot as usize].tag;
            if failed {
                let completion = done.swap_remove(at);
                self.fail_direct(slot, member, seat.cloned(), completion);
            } else {
                self.in_flight -= 1;
                at += 1;
            }
            self.free_direct.push(slot);
        }
    }

    #[cold]
    fn fail_direct(&mut self, slot: u32, member: usize, seat: Option<Arc<Seat>>, completion: Completion) {
        let Completion { tag, buffer, result } = completion;
        let Err(error) = result else { unreachable!("it failed") };
        let reading = self.direct[slot as usize].action == Action::Read;
        let failure = Failure { member, seat, error };
        if L::REDUNDANT && judge(failure.error.kind(), reading) != Verdict::Request {
            self.replan_direct(slot, failure, buffer);
        } else {
            self.ready.push(Completion { tag, buffer, result: Err(failure.at_its_member()) });
        }
    }

    /// Goes on with the pieces that were handed their rows. True when there were some.
    fn take_rows(&mut self) -> bool {
        let mut granted = std::mem::take(&mut self.granted);
        self.waiter.take_granted(&mut granted);
        let some = !granted.is_empty();
        for index in granted.drain(..) {
            let piece = self.pieces[index as usize].take().expect("a waiting piece is under way");
            self.advance(index, piece);
        }
        self.granted = granted;
        some
    }
}

impl Failure {
    fn at_its_member(self) -> Error {
        match self.seat {
            Some(seat) => self.error.at(&seat.name),
            None => self.error,
        }
    }
}

impl Command {
    /// Whether an access may be part of this command too.
    fn joins(&self, access: &Access, max_request_bytes: u64) -> bool {
        let (alike, most) = match (&self.work, access.place) {
            (Work::Read(_) | Work::Write(_), Place::Host { .. } | Place::Scratch { .. }) => (true, max_request_bytes),
            (Work::Zeroes, Place::Zeroes) | (Work::Discard, Place::Discard) => (true, u64::MAX),
            _ => (false, 0),
        };
        alike && self.offset + self.length == access.offset && self.length + access.length <= most
    }
}

impl Default for Piece {
    fn default() -> Piece {
        Piece {
            admitted: None,
            logged: None,
            log: LogState::Idle,
            request: 0,
            number: 0,
            job: Job::Flush,
            fua: false,
            done: 0,
            planned: 0,
            phase: Phase::Planning,
            generation: 0,
            careful: None,
            careful_bytes: CAREFUL_BYTES,
            unreadable: MemberSet::EMPTY,
            plan: Plan::default(),
            held_row: None,
            memory: Memory::default(),
            commands: Vec::new(),
            outstanding: 0,
            failures: Vec::new(),
        }
    }
}

impl<L: Level> Channel for ArrayChannel<L> {
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        if L::REDUNDANT && !self.shared.busy.load(Ordering::Relaxed) {
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
            Op::Read { offset, into } => (Part { action: Action::Read, offset: *offset, length: into.len() as u64 }, false),
            Op::Write { offset, from, fua } => (Part { action: Action::Write, offset: *offset, length: from.len() as u64 }, *fua),
            Op::WriteZeroes { offset, length, fua } => (Part { action: Action::Zeroes, offset: *offset, length: *length }, *fua),
            Op::Discard { offset, length } => (Part { action: Action::Discard, offset: *offset, length: *length }, false),
            Op::Flush => return self.submit_planned(request.tag, Job::Flush, false, Returned::Nothing, None),
        };
        match self.shared.level.whole(part, &self.missing, &self.queues) {
            Some(spot) => self.submit_direct(request, part, fua, spot),
            None => self.submit_planned(request.tag, Job::Part(part), fua, request.op.into_buffer(), None),
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        // A phase sent out from here may have ended already, with no event to say so: go round until nothing new is sent.
        loop {
            let sent = self.sent + self.pen.sent;
            for member in 0..self.members.len() {
                if self.members[member].in_flight > 0 {
                    self.poll_member(member, done);
                }
            }
            if self.pen.is_busy() {
                self.poll_pen();
            }
            if !self.retired.is_empty() {
                self.poll_retired(done);
            }
            let woken = L::LOCKS_ROWS && self.take_rows();
            if self.sent + self.pen.sent == sent && !woken {
                break;
            }
        }
        self.in_flight -= self.ready.len() as u32;
        done.append(&mut self.ready);
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

/// The channel of a member that is not there. Plans leave it out, so nothing should come here.
#[derive(Default)]
struct Absent {
    requests: Vec<Request>,
}

impl Channel for Absent {
    fn submit(&mut self, request: Request) {
        self.requests.push(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let gone = || Err(Error::new(ErrorKind::Gone, "the member is not there"));
        done.extend(self.requests.drain(..).map(|request| request.complete(gone())));
    }

    fn in_flight(&self) -> u32 {
        self.requests.len() as u32
    }
}

impl<L: Level> UpkeepChannel for ArrayChannel<L> {
    fn submit_upkeep(&mut self, tag: u64, stretch: Stretch) {
        self.in_flight += 1;
        self.refresh_health();
        self.submit_planned(tag, Job::Upkeep(stretch), false, Returned::Nothing, None);
    }

    fn take_differing_sectors(&mut self) -> u64 {
        std::mem::take(&mut self.differing_sectors)
    }
}

impl<L: Level> ArrayChannel<L> {
    /// Gives up what waits for a row.
    fn stop_waiting(&mut self) {
        let mut others = false;
        for (index, piece) in self.pieces.iter_mut().enumerate() {
            let Some(piece) = piece.as_mut().filter(|piece| piece.phase == Phase::WaitingForRow) else { continue };
            let Some(row) = piece.held_row.take() else { continue };
            let cancelled = self.shared.rows.cancel(row, &self.waiter, index as u32);
            others |= cancelled.unwrap_or_else(|| self.shared.rows.release(row, &self.waiter)).0;
        }
        if others {
            self.reactor.nudge();
        }
    }

    fn is_writing(&self) -> bool {
        let writes = |piece: &Piece| piece.phase == Phase::Writing && piece.held_row.is_some() || piece.log == LogState::Writing;
        self.pen.has_job() || self.pieces.iter().flatten().any(|piece| writes(piece))
    }
}

/// A row of which some members were written and others not must not be left to the next one who locks it: what is made
/// from it for an absent member would be rubbish, and copies would differ. So a channel that is dropped begins nothing
/// more, but sees the writes through that it has sent.
impl<L: Level> Drop for ArrayChannel<L> {
    fn drop(&mut self) {
        if !L::LOCKS_ROWS {
            return;
        }
        self.closing = true;
        self.stop_waiting();
        let mut done = Vec::new();
        while self.is_writing() && !std::thread::panicking() {
            let before = self.sent + self.pen.sent;
            for member in 0..self.members.len() {
                if self.members[member].in_flight > 0 {
                    self.poll_member(member, &mut done);
                }
            }
            self.poll_retired(&mut done);
            self.poll_pen();
            if done.is_empty() && self.sent + self.pen.sent == before && self.is_writing() && self.reactor_stands() {
                break;
            }
            done.clear();
        }
        self.stop_waiting();
        // Who owes us an answer to a write now never gives one. Nobody knows what it holds.
        for piece in self.pieces.iter().flatten().filter(|piece| piece.phase == Phase::Writing && piece.held_row.is_some()) {
            for command in &piece.commands {
                let queue = &self.members[command.member];
                if queue.in_flight > 0 {
                    self.drop_member(command.member, queue.seat.as_ref(), ErrorKind::TimedOut);
                }
            }
        }
        for member in self
            .pieces
            .iter()
            .flatten()
            .filter(|piece| piece.log == LogState::Writing)
            .filter_map(|piece| Some(piece.logged.as_ref()?.member))
        {
            self.drop_member(member, self.members[member].seat.as_ref(), ErrorKind::TimedOut);
        }
        self.abandon_job();
        let mut others = false;
        for index in 0..self.pieces.len() {
            let Some(mut piece) = self.pieces[index].take() else { continue };
            if let Some(row) = piece.held_row.take() {
                others |= self.shared.rows.release(row, &self.waiter).0;
            }
            self.release_log(index as u32, &mut piece);
            self.leave_record(&mut piece);
        }
        if others {
            self.reactor.nudge();
        }
    }
}

impl<L: Level> ArrayChannel<L> {
    /// Waits for the next event. True when there is none to come.
    fn reactor_stands(&self) -> bool {
        !matches!(self.reactor.wait_for_more(), Ok(woken) if woken != Woken::Idle)
    }
}

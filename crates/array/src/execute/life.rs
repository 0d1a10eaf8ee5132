//! The life of a piece: its states, and what moves it from one to the next.
//!
//! ```text
//!   Unplanned ─plan─> AwaitsRow ─> AwaitsAdmission ─> Reading ─compute─> AwaitsLog ─> Logging
//!       ^                               │                │                               │
//!       │     end <─ Confirming <─ Writing <─────────────────────────────────────────────┘
//!       │                             │ │                │
//!       └─────────────────────────────┴─┴────────────────┘
//!             a member failed or came, or the plan covered only a part: plan again
//! ```
//!
//! A state that has nothing to wait for is passed through at once. A waiting piece is moved on by
//! one event: its row, its log or the metadata writer wake it ([`Pieces::resume`]); the last
//! command of a batch ends ([`Pieces::end_command`]); its log is written ([`Pieces::end_log`]).
//!
//! A member that fails a write is dropped, and the piece planned again without it: the others have
//! taken their part by then. A read that fails for the medium's sake goes on with care, in small
//! steps: each is read once more, and if that fails it is made from the other members and written
//! back.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use block::{Completion, Error, ErrorKind, Slots};
use reactor::{Clock, Reactor, since_boot};

use super::commands::Sender;
use super::gate::{MetadataGate, Pass};
use super::members::{Failure, Members};
use super::piece::{Attempt, Piece, PieceState, SmallSteps};
use super::requests::{NewPiece, Operation, PieceError, Requests};
use super::streams::Streams;
use crate::catalogue;
use crate::health::{READ_ERRORS_MAX, Verdict, judge};
use crate::level::{Faults, TooManyAbsent};
use crate::member::{Member, MemberSet};
use crate::memory::{Difference, HostBuffer, Pool};
use crate::part::{Action, Part, SyncRange};
use crate::plan::{ByteSite, Content, Plan, RowLock};
use crate::rows::Waiter;
use crate::shared::ArrayCore;
use crate::sync::Findings;
use words::statement;

/// What a piece does after one step of its life.
enum LifeStep {
    /// It goes on at once, in the state that it has now.
    Go,
    /// It stays in its state until an event moves it on.
    Wait,
    /// It ends, for these reasons if it has failed.
    End(Box<[PieceError]>),
}

impl LifeStep {
    fn end_well() -> LifeStep {
        // A slice of nothing allocates nothing.
        LifeStep::End(Box::default())
    }

    fn end_failed(error: PieceError) -> LifeStep {
        LifeStep::End(Box::new([error]))
    }
}

/// What the table of pieces is asked for.
const UNDER_WAY: &str = "an event is of a piece that is under way";

/// What comes of the failures of a phase.
enum FailureVerdict {
    /// The rest of the members can do it.
    PlanAgain,
    /// The request ends with them.
    Final,
}

/// The pieces of a channel, and what they need to move on.
pub(super) struct Pieces {
    shared: Arc<ArrayCore>,
    pub(super) members: Members,
    /// Where the array keeps metadata.
    pub(super) gate: Option<MetadataGate>,
    // A box moves in and out of its slot cheaply while the rest of the channel is in use.
    table: Slots<Box<Piece>>,
    #[allow(clippy::vec_box, reason = "the boxes move between here and `table`")]
    spare: Vec<Box<Piece>>,
    scratch: Pool,
    sender: Sender,
    pub(super) streams: Streams,
    /// What checks and repairs found.
    pub(super) findings: Findings,
    /// What one plan found, kept for its memory.
    differences: Vec<Difference>,
    waiter: Arc<Waiter>,
    reactor: Reactor,
    /// The channel is being dropped: nothing new is begun.
    pub(super) closing: bool,
}

impl Pieces {
    pub(super) fn new(
        shared: &Arc<ArrayCore>,
        members: Members,
        gate: Option<MetadataGate>,
        waiter: Arc<Waiter>,
        reactor: &Reactor,
    ) -> Pieces {
        Pieces {
            shared: Arc::clone(shared),
            members,
            gate,
            table: Slots::default(),
            spare: Vec::new(),
            scratch: Pool::default(),
            sender: Sender::default(),
            streams: Streams::default(),
            findings: Findings::default(),
            differences: Vec::new(),
            waiter,
            reactor: reactor.clone(),
            closing: false,
        }
    }

    /// Commands sent so far, to see whether polling made new ones.
    #[inline]
    pub(super) fn sent(&self) -> u64 {
        self.members.sent + self.gate.as_ref().map_or(0, MetadataGate::sent)
    }

    /// Begins the piece of a request that starts at `cursor`, unless it waits for what follows it.
    /// When it ends its request is told; it may end at once.
    pub(super) fn start(&mut self, requests: &mut Requests, entry: u32, cursor: u64) {
        let new = requests.cut(entry, cursor, &*self.shared.level, &self.members.faults());
        let new = match (new.follows, new.operation) {
            (true, Operation::Part(part)) => match self.shared.level.row_end(part.offset) {
                Some(row_end) => self.streams.pass(new, part, row_end),
                None => Some(new),
            },
            _ => Some(new),
        };
        if let Some(new) = new {
            self.begin(requests, new);
        }
    }

    /// Begins pieces that have waited long enough for what follows them.
    #[inline]
    pub(super) fn begin_overdue(&mut self, requests: &mut Requests) {
        while let Some(new) = self.streams.take_overdue() {
            self.begin(requests, new);
        }
    }

    fn begin(&mut self, requests: &mut Requests, new: NewPiece) {
        if new.operation.written_part().is_some() {
            self.streams.begin();
        }
        let index = self.table.reserve();
        let piece = Piece::begin(new, self.spare.pop());
        self.advance(requests, index, piece);
    }

    /// The indices of pieces that are to go on: rows, logs and the metadata writer have woken them.
    pub(super) fn take_woken(&self, woken: &mut Vec<u32>) {
        self.waiter.take_granted(woken);
    }

    /// Goes on with a piece that was woken.
    pub(super) fn resume(&mut self, requests: &mut Requests, index: u32) {
        let piece = self.take(index);
        self.advance(requests, index, piece);
    }

    /// One command of a piece has ended, of `member` if it failed.
    pub(super) fn end_command(
        &mut self,
        requests: &mut Requests,
        (index, command): (u32, u32),
        (slot, member): (usize, Option<&Arc<Member>>),
        completion: Completion,
    ) {
        let piece = self.table.get_mut(index).expect(UNDER_WAY);
        if let Err(error) = completion.result {
            piece.batch.failures.push(Failure { slot, member: member.cloned(), error });
        }
        if piece.batch.end(command, completion.buffer, &mut piece.memory) {
            let piece = self.take(index);
            self.advance(requests, index, piece);
        }
    }

    /// The log of a piece is written, or could not be.
    pub(super) fn end_log(
        &mut self,
        requests: &mut Requests,
        index: u32,
        result: Result<(), Error>,
    ) {
        let mut piece = self.take(index);
        debug_assert!(matches!(piece.state, PieceState::Logging), "one log write at a time");
        if let (Err(error), Some(slot)) = (result, piece.holds.log) {
            // As if the parity itself had not been written.
            let member = self.members.slot(slot).member.clone();
            piece.batch.start();
            piece.batch.failures.push(Failure { slot, member, error });
            piece.state = PieceState::Writing;
        }
        self.advance(requests, index, piece);
    }

    fn take(&mut self, index: u32) -> Box<Piece> {
        self.table.take(index).expect(UNDER_WAY)
    }

    /// Takes a piece as far as it goes without waiting.
    fn advance(&mut self, requests: &mut Requests, index: u32, mut piece: Box<Piece>) {
        loop {
            match self.step(requests, index, &mut piece) {
                LifeStep::Go => (),
                LifeStep::Wait => {
                    self.table.put(index, piece);
                    return;
                }
                LifeStep::End(errors) => return self.end(requests, index, piece, errors),
            }
        }
    }

    /// What follows a state that has nothing to wait for any more.
    #[inline]
    fn step(&mut self, requests: &mut Requests, index: u32, piece: &mut Piece) -> LifeStep {
        match piece.state {
            PieceState::AwaitsRow(row) => piece.holds.row = Some(row),
            PieceState::AwaitsLog(member) => piece.holds.log = Some(member),
            _ => (),
        }
        match piece.state {
            PieceState::Writing if piece.batch.is_well() => self.end_writing(piece),
            PieceState::Writing => self.end_failed(requests, piece, Action::Write),
            PieceState::Reading if !piece.batch.is_well() => {
                self.end_failed(requests, piece, Action::Read)
            }
            _ if self.closing => {
                piece.memory.rejoin();
                piece.memory.drop_scratch(&mut self.scratch);
                LifeStep::end_well()
            }
            PieceState::Unplanned => match self.plan(piece) {
                Ok(()) => self.lock_row(index, piece),
                Err(lost) => LifeStep::end_failed(PieceError::Lost(lost)),
            },
            PieceState::AwaitsRow(_) | PieceState::AwaitsAdmission => {
                self.ask_to_write(index, piece)
            }
            PieceState::Reading => {
                self.compute(piece);
                self.lock_log(index, piece)
            }
            PieceState::AwaitsLog(_) => self.write_log(index, piece),
            PieceState::Logging => self.write(index, piece),
            PieceState::Confirming => self.confirm(index, piece),
        }
    }

    /// Plans what is left of the piece, or as much of it as one plan takes.
    fn plan(&mut self, piece: &mut Piece) -> Result<(), TooManyAbsent> {
        let block_bytes = u64::from(self.shared.info.block_bytes);
        loop {
            let planned = self.plan_once(piece);
            match &mut piece.careful {
                Some(careful)
                    if planned.is_err()
                        && careful.unreadable.count() > 0
                        && piece.attempt.covers > block_bytes =>
                {
                    // Block by block perhaps not too many members are bad at the same place.
                    careful.step_bytes = block_bytes;
                    careful.unreadable = MemberSet::EMPTY;
                }
                _ => return planned,
            }
        }
    }

    fn plan_once(&mut self, piece: &mut Piece) -> Result<(), TooManyAbsent> {
        self.members.refresh();
        let attempt = &mut piece.attempt;
        attempt.plan.clear();
        attempt.logged = None;
        attempt.findings = None;
        attempt.generation = self.members.generation;
        let mut faults = self.members.faults();
        let level = &self.shared.level;
        let mut length = piece.operation.length() - piece.done;
        if self.shared.traits.is_redundant {
            let block_bytes = u64::from(self.shared.info.block_bytes);
            let most = piece
                .careful
                .as_ref()
                .map_or(u64::MAX, |careful| careful.step_bytes.max(block_bytes));
            // To write, a plan may have to read as much, even where the request carries no data
            // itself.
            length = length.min(most).min(u64::from(self.shared.info.max_request_bytes));
        }
        faults.unreadable =
            piece.careful.as_ref().map_or(MemberSet::EMPTY, |careful| careful.unreadable);
        match piece.operation.slice(piece.done, length) {
            Operation::Flush => {
                attempt.covers = 0;
                level.holds_all(&self.members.missing)?;
                attempt.plan.flush_all(self.members.count(), &faults.absent);
                Ok(())
            }
            Operation::Sync(left) => {
                attempt.covers = level.sync_range_bytes(left);
                let range = SyncRange { length: attempt.covers, ..left };
                faults.unsynced =
                    self.shared.health.needs_resync(&(range.offset..range.offset + range.length));
                level.plan_sync(range, &faults, &mut attempt.plan)
            }
            Operation::Part(left) => self.plan_part(piece, left, faults),
        }
    }

    fn plan_part(
        &mut self,
        piece: &mut Piece,
        left: Part,
        mut faults: Faults,
    ) -> Result<(), TooManyAbsent> {
        // While parity may be untrue it is not taken for the old one: it is made from all of the
        // row, which is what may be logged.
        if left.action != Action::Read
            && self.members.missing.count() == 0
            && let Some(gate) = &self.gate
            && let Some(member) = gate.doubted_parity(left.offset)
        {
            faults.unreadable.insert(member);
        }
        let attempt = &mut piece.attempt;
        attempt.covers = self.shared.level.piece_bytes(left, &faults);
        debug_assert!(
            attempt.covers > 0 && attempt.covers <= left.length,
            "a plan covers a part of what is left"
        );
        piece.memory.host_start = piece.done;
        let part = Part { length: attempt.covers, ..left };
        self.members.queues.want(piece.careful.as_ref().map(|careful| careful.member));
        self.members.look_for_agreement(part);
        let planned =
            self.shared.level.plan(part, &faults, &self.members.queues, &mut attempt.plan);
        self.members.queues.want(None);
        if self.shared.info.read_only {
            // Nothing is mended there.
            attempt.plan.write.clear();
        }
        if planned.is_ok()
            && let Some(gate) = &self.gate
        {
            attempt.logged = gate.plan_log(part, &mut attempt.plan);
        }
        planned
    }

    /// Takes the row that the plan needs, unless the piece has it already.
    fn lock_row(&mut self, index: u32, piece: &mut Piece) -> LifeStep {
        let wanted = piece.attempt.plan.lock;
        if piece.holds.row != wanted {
            self.release_row(piece);
        }
        match wanted.filter(|_| piece.holds.row.is_none()) {
            Some(row) => {
                piece.state = PieceState::AwaitsRow(row);
                let is_ours = self.shared.rows.lock(row, &self.waiter, index);
                if is_ours { LifeStep::Go } else { LifeStep::Wait }
            }
            None => {
                piece.state = PieceState::AwaitsAdmission;
                LifeStep::Go
            }
        }
    }

    /// Begins what is planned, if the plan still holds now that the row is ours, and the write is
    /// admitted.
    fn ask_to_write(&mut self, index: u32, piece: &mut Piece) -> LifeStep {
        if piece.attempt.generation != self.shared.health.generation() {
            // A member failed while we waited. A log that is kept is needed still: that its member
            // is out may not be written down yet.
            piece.state = PieceState::Unplanned;
            return LifeStep::Go;
        }
        piece.state = PieceState::AwaitsAdmission;
        match self.admit(index, piece) {
            Pass::Go => (),
            Pass::Wait => return LifeStep::Wait,
            Pass::Refused(error) => return LifeStep::end_failed(PieceError::Other(error)),
        }
        if piece.attempt.generation != self.shared.health.generation() {
            // A member came while we asked. What it has missed was counted before our range was
            // noted.
            piece.state = PieceState::Unplanned;
            return LifeStep::Go;
        }
        // The members that failed are written down now. A log that the new plan does not write to
        // is not needed any more.
        if piece.attempt.logged.as_ref().map(|logged| logged.member) != piece.holds.log {
            self.release_log(piece);
        }
        let attempt = &piece.attempt;
        piece.memory.add_scratch(&attempt.plan.scratch, &mut self.scratch);
        piece.state = PieceState::Reading;
        let Piece { tag, attempt, memory, batch, .. } = piece;
        let accesses = &attempt.plan.read;
        if accesses.is_empty() {
            batch.start();
            return LifeStep::Go;
        }
        self.members.work_for(*tag);
        self.sender.send(index, accesses, (false, false), memory, &mut self.members, batch);
        LifeStep::Wait
    }

    /// Asks whether what is planned may be written.
    fn admit(&mut self, index: u32, piece: &mut Piece) -> Pass {
        let Some(gate) = &mut self.gate else { return Pass::Go };
        let Some(part) = piece.planned().written_part() else { return Pass::Go };
        let range = gate.range_of(part, &piece.attempt.plan);
        let is_within =
            |admitted: &Range<u64>| admitted.start <= range.start && range.end <= admitted.end;
        // One that was let out before a member failed waits again until that is written down.
        if gate.knows(piece.attempt.generation)
            && piece.holds.admitted.as_ref().is_some_and(is_within)
        {
            return Pass::Go;
        }
        let pass = gate.admit(&range, index);
        if let Pass::Go = pass
            && let Some(before) = piece.holds.admitted.replace(range)
        {
            gate.leave(&before);
        }
        pass
    }

    fn compute(&mut self, piece: &mut Piece) {
        let (memory, attempt) = (&mut piece.memory, &mut piece.attempt);
        memory.rejoin();
        let plan = &attempt.plan;
        // What modelled members forget is read nowhere. What is compared decides what is written.
        let is_compared = matches!(piece.operation, Operation::Sync(_));
        if is_compared || self.members.keep_content {
            for step in &plan.compute {
                memory.compute(*step, &plan.sources, &mut self.differences);
            }
        }
        if let (Some(gate), Some(logged)) = (&self.gate, &attempt.logged) {
            gate.seal_log(logged, memory);
        }
        memory.freeze_scratch();
        if !self.differences.is_empty() {
            self.take_differences(piece);
        }
    }

    /// Notes where and on which members a check or a repair found what does not agree, and has a
    /// repair write what makes it agree.
    fn take_differences(&mut self, piece: &mut Piece) {
        let Operation::Sync(range) = piece.planned() else { return self.differences.clear() };
        let Attempt { plan, findings, .. } = &mut piece.attempt;
        let findings = findings.get_or_insert_default();
        for Difference { at, wrong } in self.differences.drain(..) {
            let on = wrong.and_then(|place| plan.read.iter().find(|read| read.content == place));
            match on {
                Some(read) => {
                    let member = self.members.slot(read.member).member.as_ref();
                    let data_offset = member.map_or(0, |member| member.data_offset);
                    findings.note_wrong(read.member, data_offset + read.offset + at);
                    let place = Content::Bytes(read.content);
                    plan.mend.iter().for_each(|write| {
                        if write.content == place && !plan.write.contains(write) {
                            plan.write.push(*write);
                        }
                    });
                }
                None => findings.note_undecided(range.offset + at, !plan.amend.is_empty()),
            }
        }
        plan.write.append(&mut plan.amend);
    }

    /// Takes the log of the row's parity member, if there is something to log.
    fn lock_log(&mut self, index: u32, piece: &mut Piece) -> LifeStep {
        let (Some(gate), Some(logged)) = (&self.gate, &piece.attempt.logged) else {
            piece.state = PieceState::Logging;
            return LifeStep::Go;
        };
        let member = logged.member;
        piece.state = PieceState::AwaitsLog(member);
        // What it has kept is of the same member.
        let is_ours = piece.holds.log.is_some() || gate.lock_log(member, index);
        if is_ours { LifeStep::Go } else { LifeStep::Wait }
    }

    /// Writes the piece's entries to the log that it holds.
    fn write_log(&mut self, index: u32, piece: &mut Piece) -> LifeStep {
        if piece.attempt.generation != self.shared.health.generation() {
            // A member failed while it waited. What is in the log may be needed until that is
            // written down: of a row that it did not take all of.
            piece.memory.rejoin();
            piece.memory.drop_scratch(&mut self.scratch);
            piece.state = PieceState::Unplanned;
            return LifeStep::Go;
        }
        if let (Some(gate), Some(logged)) = (&mut self.gate, &piece.attempt.logged) {
            let place = ByteSite::Scratch { buffer: logged.scratch, start: 0 };
            let bytes = piece.memory.share(place, piece.attempt.plan.scratch[logged.scratch]);
            gate.write_log(logged.member, bytes, index);
        }
        piece.state = PieceState::Logging;
        LifeStep::Wait
    }

    fn write(&mut self, index: u32, piece: &mut Piece) -> LifeStep {
        // What was logged is durable before another piece's entries replace its own.
        let fua = piece.fua || piece.holds.log.is_some();
        piece.state = PieceState::Writing;
        let Piece { tag, attempt, memory, batch, has_neighbours, .. } = piece;
        let accesses = &attempt.plan.write;
        if accesses.is_empty() {
            batch.start();
            return LifeStep::Go;
        }
        self.members.work_for(*tag);
        let how = (fua, *has_neighbours);
        self.sender.send(index, accesses, how, memory, &mut self.members, batch);
        LifeStep::Wait
    }

    /// All that was planned is done.
    fn end_writing(&mut self, piece: &mut Piece) -> LifeStep {
        piece.memory.drop_scratch(&mut self.scratch);
        piece.done += piece.attempt.covers;
        if let Some(findings) = piece.attempt.findings.take() {
            self.findings.merge(&findings);
        }
        if let Some(careful) = &mut piece.careful {
            careful.go_on();
        }
        if piece.done < piece.operation.length() {
            self.release_log(piece);
            piece.state = PieceState::Unplanned;
        } else {
            piece.state = PieceState::Confirming;
        }
        LifeStep::Go
    }

    /// Members have failed some of a phase. All its commands have ended by now, so the members that
    /// are left hold the whole of what was written, and a new plan finds their rows consistent.
    #[cold]
    fn end_failed(
        &mut self,
        requests: &mut Requests,
        piece: &mut Piece,
        action: Action,
    ) -> LifeStep {
        piece.memory.rejoin();
        piece.memory.drop_scratch(&mut self.scratch);
        let reading = action == Action::Read;
        let judged = if reading && self.closing {
            FailureVerdict::Final
        } else {
            self.judge_failures(piece, reading)
        };
        let failures = piece.batch.failures.drain(..);
        let errors: Vec<Error> = failures.map(Failure::at_its_member).collect();
        match judged {
            FailureVerdict::Final => {
                LifeStep::End(errors.into_iter().map(PieceError::Other).collect())
            }
            FailureVerdict::PlanAgain => {
                // A request keeps the first cause that it is told.
                if let Some(cause) = errors.first() {
                    piece.requests().for_each(|entry| {
                        requests.note_cause(entry, || cause.repeat());
                    });
                }
                // The entries of a write that a member did not take are still needed.
                if reading {
                    self.release_log(piece);
                }
                piece.state = PieceState::Unplanned;
                LifeStep::Go
            }
        }
    }

    /// Books the failures of a phase on the members.
    fn judge_failures(&mut self, piece: &mut Piece, reading: bool) -> FailureVerdict {
        if !self.shared.traits.is_redundant {
            for Failure { slot, error, .. } in &piece.batch.failures {
                self.shared.note_gone(*slot, error);
            }
            return FailureVerdict::Final;
        }
        let mut must_end = false;
        let mut unreadable = MemberSet::EMPTY;
        for Failure { slot, member, error } in &piece.batch.failures {
            match judge(error.kind(), reading) {
                // A member that was removed meanwhile is not judged.
                _ if !self.members.slot(*slot).is_of(member.as_ref()) => (),
                // Where others took a write, one that refuses it has not got it.
                Verdict::Request if reading || piece.batch.has_only_failures() => {
                    return FailureVerdict::Final;
                }
                Verdict::Blocks => {
                    unreadable.insert(*slot);
                }
                Verdict::Request | Verdict::Member => {
                    must_end |= !self.shared.drop_member(*slot, member.as_ref(), error);
                }
            }
        }
        if must_end {
            return FailureVerdict::Final;
        }
        match &mut piece.careful {
            Some(careful) => {
                for slot in unreadable.iter() {
                    self.note_read_error(&piece.attempt.plan, slot);
                }
                careful.unreadable = careful.unreadable.union(&unreadable);
            }
            // The first time everything is tried once more.
            None => piece.careful = unreadable.iter().next().map(SmallSteps::of),
        }
        FailureVerdict::PlanAgain
    }

    /// Books what a plan could not read of a member, which has failed that for the second time. One
    /// with too many such places is given up, unless no other member has what it has: what it
    /// cannot read is better than nothing then.
    fn note_read_error(&self, plan: &Plan, slot: usize) {
        let queue = self.members.slot(slot);
        let reads = plan.read.iter().filter(|access| access.member == slot);
        let place = reads
            .map(|access| access.offset..access.offset + access.length)
            .reduce(|one, other| one.start.min(other.start)..one.end.max(other.end));
        let Some(place) = place else { return };
        let place = place.start + queue.data_offset..place.end + queue.data_offset;
        // Channels of several reactors count together, and each wall clock begins with its reactor.
        let now = match self.reactor.clock() {
            Clock::Wall => since_boot(),
            Clock::Virtual => Duration::from_nanos(self.reactor.now().nanoseconds()),
        };
        if self.shared.health.note_read_error(slot, place, now) {
            let cause = statement!(catalogue::MANY_UNREADABLE, most = READ_ERRORS_MAX);
            let _ = self.shared.fail_member(slot, queue.member.as_ref(), Some(cause), |after| {
                self.shared.level.holds_all(after).is_ok()
            });
        }
    }

    /// Asks whether a piece that is done may be answered.
    fn confirm(&mut self, index: u32, piece: &mut Piece) -> LifeStep {
        let Some(gate) = &mut self.gate else { return LifeStep::end_well() };
        let writes =
            matches!(piece.operation, Operation::Flush) || piece.operation.written_part().is_some();
        let pass = if writes { gate.confirm(piece.attempt.generation, index) } else { Pass::Go };
        match pass {
            Pass::Go => LifeStep::end_well(),
            Pass::Wait => LifeStep::Wait,
            Pass::Refused(error) => LifeStep::end_failed(PieceError::Other(error)),
        }
    }

    /// Ends a piece and gives back what it holds. Its requests are to go on.
    fn end(
        &mut self,
        requests: &mut Requests,
        index: u32,
        mut piece: Box<Piece>,
        errors: Box<[PieceError]>,
    ) {
        self.give_back(&mut piece);
        if piece.operation.written_part().is_some() {
            self.streams.end();
        }
        for (entry, number) in piece.joined.drain(..) {
            let errors = errors.iter().map(PieceError::repeat).collect();
            requests.end_piece(entry, number, HostBuffer::Nothing, errors);
        }
        requests.end_piece(piece.request, piece.number, piece.finish(), errors);
        self.table.remove(index);
        self.spare.push(piece);
    }

    /// Gives back all that a piece holds.
    fn give_back(&mut self, piece: &mut Piece) {
        self.release_log(piece);
        self.release_row(piece);
        if let (Some(gate), Some(range)) = (&self.gate, piece.holds.admitted.take()) {
            gate.leave(&range);
        }
    }

    fn release_log(&mut self, piece: &mut Piece) {
        if let (Some(gate), Some(member)) = (&self.gate, piece.holds.log.take()) {
            gate.release_log(member);
        }
    }

    fn release_row(&mut self, piece: &mut Piece) {
        if let Some(row) = piece.holds.row.take() {
            self.shared.rows.release(row, &self.waiter).nudge(&self.reactor);
        }
    }

    /// Gives up what waits for a row, or has one and has not begun.
    pub(super) fn stop_waiting(&mut self) {
        for index in self.table.keys() {
            let Some(mut piece) = self.table.take(index) else { continue };
            match piece.state {
                PieceState::AwaitsRow(row) => {
                    self.cancel_row(row, index);
                    piece.state = PieceState::Unplanned;
                }
                PieceState::AwaitsAdmission => self.release_row(&mut piece),
                _ => (),
            }
            self.table.put(index, piece);
        }
    }

    fn cancel_row(&self, row: RowLock, piece: u32) {
        let rows = &self.shared.rows;
        let others = rows.cancel(row, &self.waiter, piece);
        others.unwrap_or_else(|| rows.release(row, &self.waiter)).nudge(&self.reactor);
    }

    /// Whether something is on its way that others would find half done.
    pub(super) fn is_writing(&self) -> bool {
        let writes = |piece: &Piece| match piece.state {
            PieceState::Writing => piece.holds.row.is_some(),
            PieceState::Logging => true,
            _ => false,
        };
        self.gate.as_ref().is_some_and(MetadataGate::has_update)
            || self.table.iter().any(|(_, piece)| writes(piece))
    }

    /// Gives up all pieces, in whatever state. A member whose answer to a write is missing now
    /// never gives one: what it holds is unknown.
    pub(super) fn give_up(&mut self) {
        self.stop_waiting();
        let silent = Error::new(ErrorKind::TimedOut, catalogue::NEVER_ANSWERED);
        for (_, piece) in self.table.iter() {
            match &piece.state {
                PieceState::Writing if piece.holds.row.is_some() => {
                    for slot in piece.batch.members() {
                        let queue = self.members.slot(slot);
                        if queue.in_flight > 0 {
                            self.shared.drop_member(slot, queue.member.as_ref(), &silent);
                        }
                    }
                }
                PieceState::Logging => {
                    if let Some(slot) = piece.holds.log {
                        let member = self.members.slot(slot).member.as_ref();
                        self.shared.drop_member(slot, member, &silent);
                    }
                }
                _ => (),
            }
        }
        if let Some(gate) = &mut self.gate {
            gate.abandon();
        }
        for index in self.table.keys() {
            let Some(mut piece) = self.table.remove(index) else { continue };
            if let (PieceState::AwaitsLog(member), Some(gate)) = (&piece.state, &self.gate) {
                gate.give_up_log(*member, index);
            }
            self.give_back(&mut piece);
        }
    }
}

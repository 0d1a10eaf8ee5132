//! A piece of a request, from its plan to its end.

use std::ops::Range;
use std::sync::Arc;

use block::{Buf, BufMut, Completion, Error, ErrorKind, Op, Request, Returned};

use super::gate::{LogState, Pass};
use super::{ArrayChannel, Failure, NO_COMMAND, NO_MEMBER, Operation, PLANNED};
use crate::health::{Member, READ_ERRORS_MAX, Verdict, judge};
use crate::memory::{HostBuffer, Memory, NO_FRAGMENT};
use crate::metadata::Logged;
use crate::{Access, Faults, Level, MemberSet, Part, Place, Plan, RowLock, SyncRange};

/// How much a piece takes at a time after an error of the medium: so much is written back at most
/// for one bad block.
pub(super) const CAREFUL_BYTES: u64 = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
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
pub(super) struct Piece {
    pub(super) request: u32,
    /// Which of the request's pieces.
    pub(super) number: u32,
    pub(super) operation: Operation,
    pub(super) fua: bool,
    /// How much of it is done, and how much the plan covers.
    pub(super) done: u64,
    pub(super) planned: u64,
    pub(super) phase: Phase,
    /// The array's health when it was planned.
    pub(super) generation: u64,
    /// In steps of so many bytes at most, for this member's medium failed; and the members that
    /// failed the present step again.
    pub(super) careful: Option<usize>,
    pub(super) careful_bytes: u64,
    pub(super) unreadable: MemberSet,
    pub(super) plan: Plan,
    /// Held, or waited for.
    pub(super) held_row: Option<RowLock>,
    /// The range that it was admitted to write to.
    pub(super) admitted: Option<Range<u64>>,
    /// What it logs, and how far it is with that.
    pub(super) logged: Option<Logged>,
    pub(super) log: LogState,
    /// Whose log that is.
    pub(super) log_member: usize,
    pub(super) memory: Memory,
    pub(super) commands: Vec<Command>,
    pub(super) outstanding: u32,
    pub(super) failures: Vec<Failure>,
}

pub(super) struct Command {
    pub(super) member: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) payload: Payload,
    pub(super) first_fragment: u32,
    pub(super) last_fragment: u32,
}

pub(super) enum Payload {
    Sent,
    Read(BufMut),
    Write(Buf),
    Zeroes,
    Discard,
    Flush,
}

impl Command {
    /// Whether an access may be part of this command too.
    fn joins(&self, access: &Access, max_request_bytes: u64) -> bool {
        let (alike, most) = match (&self.payload, access.place) {
            (Payload::Read(_) | Payload::Write(_), Place::Host { .. } | Place::Scratch { .. }) => {
                (true, max_request_bytes)
            }
            (Payload::Zeroes, Place::Zeroes) | (Payload::Discard, Place::Discard) => {
                (true, u64::MAX)
            }
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
            log_member: NO_MEMBER,
            request: 0,
            number: 0,
            operation: Operation::Flush,
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

impl<L: Level> ArrayChannel<L> {
    /// Plans what is left of the piece, or as much of it as one plan takes.
    pub(super) fn plan(&mut self, index: u32, piece: &mut Piece) {
        self.leave_log(index, piece);
        piece.logged = None;
        self.refresh_health();
        let faults = Faults {
            absent: self.absent,
            unreadable: piece.unreadable,
            recovering: self.recovering,
        };
        piece.plan.clear();
        piece.phase = Phase::Planning;
        piece.generation = self.generation;
        let level = &self.shared.level;
        let mut length = piece.operation.length() - piece.done;
        if L::REDUNDANT {
            // To write, a plan may have to read as much, even where the request carries no data
            // itself.
            let most = if piece.careful.is_some() {
                piece.careful_bytes.max(self.block_bytes())
            } else {
                u64::MAX
            };
            length = length.min(most).min(u64::from(self.shared.info.max_request_bytes));
        }
        let planned = match piece.operation.slice(piece.done, length) {
            Operation::Flush => {
                piece.planned = 0;
                level
                    .holds_all(&self.missing)
                    .map(|()| piece.plan.flush_all(self.members.len(), &self.absent))
            }
            Operation::Sync(left) => {
                piece.planned = level.sync_range_bytes(left);
                level.plan_sync(
                    SyncRange { length: piece.planned, ..left },
                    &faults,
                    &mut piece.plan,
                )
            }
            Operation::Part(left) => {
                let faults = self.faults_for(left, faults);
                piece.planned = level.piece_bytes(left, &faults);
                debug_assert!(
                    piece.planned > 0 && piece.planned <= left.length,
                    "a plan covers a part of what is left"
                );
                piece.memory.host_start = piece.done;
                self.queues.want(piece.careful);
                let part = Part { length: piece.planned, ..left };
                self.look_for_agreement(part);
                let level = &self.shared.level;
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
            piece.failures.push(Failure { slot: NO_MEMBER, member: None, error });
        }
    }

    /// Takes a piece as far as it goes without waiting for a member or a row.
    pub(super) fn advance(&mut self, index: u32, mut piece: Box<Piece>) {
        loop {
            match self.take_step(index, &mut piece) {
                Pass::Go => (),
                Pass::Wait => {
                    self.pieces[index as usize] = Some(piece);
                    return;
                }
                Pass::End => return self.end_piece(index, piece),
            }
        }
    }

    /// What follows the piece's phase, all of whose commands have ended.
    fn take_step(&mut self, index: u32, piece: &mut Piece) -> Pass {
        match piece.phase {
            // Without enough members there is no plan.
            Phase::Planning if !piece.failures.is_empty() => Pass::End,
            Phase::Planning => self.lock_row(index, piece),
            Phase::WaitingForRow | Phase::Reading | Phase::Logging if self.closing => {
                piece.memory.rejoin();
                piece.memory.drop_scratch(&mut self.scratch);
                Pass::End
            }
            Phase::WaitingForRow => self.begin(index, piece),
            Phase::Reading if piece.failures.is_empty() => {
                self.compute(piece);
                piece.phase = Phase::Logging;
                Pass::Go
            }
            Phase::Logging => {
                if !self.pass_log(index, piece) {
                    return Pass::Wait;
                }
                piece.phase = Phase::Writing;
                if self.send_phase(index, piece) { Pass::Wait } else { Pass::Go }
            }
            Phase::Writing if piece.failures.is_empty() => {
                piece.memory.drop_scratch(&mut self.scratch);
                piece.done += piece.planned;
                piece.unreadable = MemberSet::EMPTY;
                piece.careful_bytes = (2 * piece.careful_bytes).min(CAREFUL_BYTES);
                piece.phase = Phase::Confirming;
                if piece.done < piece.operation.length() {
                    self.plan(index, piece);
                }
                Pass::Go
            }
            Phase::Confirming if self.closing => Pass::End,
            Phase::Confirming => match self.pass_confirmation(index, piece) {
                Pass::Wait => Pass::Wait,
                Pass::Go | Pass::End => Pass::End,
            },
            Phase::Reading | Phase::Writing => {
                piece.memory.rejoin();
                piece.memory.drop_scratch(&mut self.scratch);
                if !self.can_plan_again(piece) {
                    return Pass::End;
                }
                self.plan(index, piece);
                Pass::Go
            }
        }
    }

    /// Takes the row that the plan needs, unless the piece has it already.
    fn lock_row(&mut self, index: u32, piece: &mut Piece) -> Pass {
        if piece.held_row != piece.plan.lock {
            self.release_row(piece);
        }
        piece.phase = Phase::WaitingForRow;
        if let Some(row) = piece.plan.lock
            && piece.held_row.is_none()
        {
            piece.held_row = Some(row);
            if !self.shared.rows.lock(row, &self.waiter, index) {
                return Pass::Wait;
            }
        }
        Pass::Go
    }

    /// Begins what is planned, if the plan still holds now that the row is ours and the write is
    /// admitted.
    fn begin(&mut self, index: u32, piece: &mut Piece) -> Pass {
        if piece.generation != self.shared.health.generation() {
            // A member failed while we waited.
            self.plan(index, piece);
            return Pass::Go;
        }
        match self.pass_gate(index, piece) {
            Pass::Go => (),
            other => return other,
        }
        if piece.generation != self.shared.health.generation() {
            // A member came while we asked. What it has missed was counted before our range was
            // noted.
            return Pass::Go;
        }
        self.sort_out_log(index, piece);
        piece.memory.add_scratch(&piece.plan.scratch, &mut self.scratch);
        piece.phase = Phase::Reading;
        if self.send_phase(index, piece) { Pass::Wait } else { Pass::Go }
    }

    fn compute(&mut self, piece: &mut Piece) {
        piece.memory.rejoin();
        let differing: u64 = piece
            .plan
            .compute
            .iter()
            .map(|step| piece.memory.compute(*step, &piece.plan.sources))
            .sum();
        if differing > 0 {
            self.differing_sectors += differing;
            piece.plan.write.append(&mut piece.plan.amend);
        }
        self.seal_log(piece);
        piece.memory.freeze_scratch();
    }

    /// Books the failures of a phase on the members. All its commands have ended by now, so the
    /// members that are left hold the whole of what was written, and a new plan finds their rows
    /// consistent. False when they are the request's end.
    fn can_plan_again(&mut self, piece: &mut Piece) -> bool {
        if !L::REDUNDANT {
            return false;
        }
        let reading = piece.phase == Phase::Reading;
        let all_failed = piece.failures.len() == piece.commands.len();
        let mut must_end = false;
        let mut unreadable = MemberSet::EMPTY;
        for Failure { slot, member, error } in &piece.failures {
            match judge(error.kind(), reading) {
                // A member that was removed meanwhile is not judged.
                _ if !self.members[*slot].is_of(member.as_ref()) => (),
                // Where others took a write, one that refuses it has not got it.
                Verdict::Request if reading || all_failed => return false,
                Verdict::Blocks => {
                    unreadable.insert(*slot);
                }
                Verdict::Request | Verdict::Member => {
                    must_end |= !self.shared.drop_member(*slot, member.as_ref(), error);
                }
            }
        }
        if must_end {
            return false;
        }
        if piece.careful.is_some() {
            for slot in unreadable.iter() {
                if self.shared.health.count_read_error(slot) {
                    // What it cannot read is better than nothing where no other member has it.
                    let (shared, member) = (&self.shared, self.members[slot].member.as_ref());
                    let cause =
                        format_args!("more than {READ_ERRORS_MAX} places of it could not be read");
                    let _ = shared.health.fail(slot, member, Some(&cause), |after| {
                        shared.level.holds_all(after).is_ok()
                    });
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

    fn release_row(&mut self, piece: &mut Piece) {
        if let Some(row) = piece.held_row.take() {
            let others = self.shared.rows.release(row, &self.waiter);
            if others.0 {
                // On the virtual clock nothing else would make the reactor go round; on the wall
                // clock it costs nothing.
                self.reactor.nudge();
            }
        }
    }

    /// Sends the accesses of the piece's phase, neighbours on a member as one command. False when
    /// there are none.
    fn send_phase(&mut self, index: u32, piece: &mut Piece) -> bool {
        let reading = piece.phase == Phase::Reading;
        let accesses = if reading { &piece.plan.read } else { &piece.plan.write };
        if accesses.is_empty() {
            return false;
        }
        block::trace::on_behalf_of(self.requests[piece.request as usize].tag);
        piece.commands.clear();
        for access in accesses {
            let queue = &mut self.members[access.member];
            let last = piece.commands.get_mut(queue.last_command as usize);
            let last = last.filter(|last| last.joins(access, queue.max_request_bytes));
            let (payload, fragment) = match access.place {
                Place::Host { .. } | Place::Scratch { .. } if reading => {
                    let after = last.as_ref().map_or(NO_FRAGMENT, |last| last.last_fragment);
                    let (buffer, fragment) = piece.memory.lend(access.place, access.length, after);
                    if let Some(last) = last {
                        if let Payload::Read(rope) = &mut last.payload {
                            rope.append(buffer);
                        }
                        last.length += access.length;
                        last.last_fragment = fragment;
                        continue;
                    }
                    (Payload::Read(buffer), fragment)
                }
                Place::Host { .. } | Place::Scratch { .. } => {
                    let buffer = piece.memory.share(access.place, access.length);
                    if let Some(last) = last
                        && let Payload::Write(rope) = &mut last.payload
                    {
                        rope.append(buffer);
                        last.length += access.length;
                        continue;
                    }
                    (Payload::Write(buffer), NO_FRAGMENT)
                }
                Place::Zeroes | Place::Discard if last.is_some() => {
                    last.expect("just seen").length += access.length;
                    continue;
                }
                Place::Zeroes => (Payload::Zeroes, NO_FRAGMENT),
                Place::Discard => (Payload::Discard, NO_FRAGMENT),
                Place::Flush => (Payload::Flush, NO_FRAGMENT),
            };
            queue.last_command = piece.commands.len() as u32;
            piece.commands.push(Command {
                member: access.member,
                offset: access.offset,
                length: access.length,
                payload,
                first_fragment: fragment,
                last_fragment: fragment,
            });
        }
        piece.outstanding = piece.commands.len() as u32;
        // What was logged is durable before another piece's entries replace its own.
        let fua = piece.fua || piece.log == LogState::Written;
        for (number, command) in piece.commands.iter_mut().enumerate() {
            self.members[command.member].last_command = NO_COMMAND;
            let (offset, length, fua) =
                (command.offset + self.members[command.member].data_offset, command.length, fua);
            let op = match std::mem::replace(&mut command.payload, Payload::Sent) {
                Payload::Read(into) => Op::Read { offset, into },
                Payload::Write(from) => Op::Write { offset, from, fua },
                Payload::Zeroes => Op::WriteZeroes { offset, length, fua },
                Payload::Discard => Op::Discard { offset, length },
                Payload::Flush => Op::Flush,
                Payload::Sent => unreachable!("sent once"),
            };
            self.send(
                command.member,
                Request::new(PLANNED | u64::from(index) << 32 | number as u64, op),
            );
        }
        true
    }

    /// A command of a plan has ended.
    pub(super) fn end_command(
        &mut self,
        slot: usize,
        member: Option<&Arc<Member>>,
        completion: Completion,
    ) {
        let index = (completion.tag >> 32 & 0x7fff_ffff) as u32;
        let number = completion.tag as u32 as usize;
        let mut piece = self.pieces[index as usize].take().expect("a command's piece is under way");
        match completion.buffer {
            Returned::Read(buffer) => {
                piece.memory.give_back(piece.commands[number].first_fragment, buffer);
            }
            // Let go of before the piece goes on: scratch without another holder is used again.
            written => drop(written),
        }
        if let Err(error) = completion.result {
            piece.failures.push(Failure { slot, member: member.cloned(), error });
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
        self.leave_metadata(&mut piece);
        let entry = piece.request;
        let request = &mut self.requests[entry as usize];
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
        self.start_pieces(entry);
    }

    /// Goes on with the pieces that were granted their rows. True when there were some.
    pub(super) fn take_rows(&mut self) -> bool {
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

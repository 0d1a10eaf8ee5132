//! Where an array keeps md's metadata: what has to be written down before a piece may write, before
//! it may be answered, and what it logs in between.

use std::sync::Arc;

use block::{Device, Error};

use super::piece::{Phase, Piece};
use super::{ArrayChannel, Failure, NO_MEMBER, Operation};
use crate::device::Shared;
use crate::level::Action;
use crate::metadata::{Admission, ArrayView, Ended, HasMetadata, Metadata};
use crate::sync::Ranges;
use crate::{Faults, Level, Lost, MemberSet, Part, Place, Snapshot};

/// Where a piece is with its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LogState {
    /// It has not asked for the log, or is done with it.
    #[default]
    Idle,
    /// It waits for another piece to be done with it.
    Waiting,
    /// Its entries are on their way.
    Writing,
    /// They are durable; no other piece may replace them.
    Written,
    /// The same, of a write that a member did not take: they close the write hole until it is
    /// written down that the member is out. The new plan's entries then take their place.
    Kept,
}

/// Whether a piece goes on.
pub(super) enum Pass {
    Go,
    /// It is woken when it is worth trying again.
    Wait,
    /// It has failed.
    End,
}

/// Whether an operation changes what the host reads, and how.
fn written_part(operation: Operation) -> Option<Part> {
    match operation {
        Operation::Part(part) if part.action != Action::Read => Some(part),
        _ => None,
    }
}

impl<L: Level> ArrayChannel<L> {
    /// Faults to plan with. While parity may be untrue it is not taken for the old one: it is made
    /// from all of the row, which is what may be logged.
    pub(super) fn faults_for(&self, part: Part, faults: Faults) -> Faults {
        let mut faults = faults;
        if let Some(log) = self.shared.metadata.as_ref().and_then(|metadata| metadata.log.as_ref())
            && part.action != Action::Read
            && self.missing.count() == 0
            && self.shared.health.snapshot().resync.is_some()
        {
            faults.unreadable.insert(log.parity_member(part.offset));
        }
        faults
    }

    /// What the planned part of the piece logs.
    pub(super) fn plan_log(&self, piece: &mut Piece, part: Part) {
        let log = self.shared.metadata.as_ref().and_then(|metadata| metadata.log.as_ref());
        piece.logged = log.and_then(|log| log.add_to(part, &mut piece.plan));
    }

    /// Asks whether what is planned may be written.
    pub(super) fn pass_gate(&mut self, index: u32, piece: &mut Piece) -> Pass {
        let Some(metadata) = &self.shared.metadata else { return Pass::Go };
        let Some(part) = written_part(piece.operation.slice(piece.done, piece.planned)) else {
            return Pass::Go;
        };
        let range = if metadata.by_array_bytes {
            part.offset..part.offset + part.length
        } else {
            let starts = piece.plan.write.iter().map(|access| access.offset);
            let ends = piece.plan.write.iter().map(|access| access.offset + access.length);
            starts.min().unwrap_or(0)..ends.max().unwrap_or(0)
        };
        if piece
            .admitted
            .as_ref()
            .is_some_and(|admitted| admitted.start <= range.start && range.end <= admitted.end)
        {
            return Pass::Go;
        }
        let admission = metadata.admit(&*self.shared, &range, &self.waiter, index);
        if let Admission::Go = admission
            && let Some(before) = piece.admitted.replace(range)
        {
            metadata.leave(&before);
        }
        self.follow(piece, admission)
    }

    /// Asks whether a piece that is done may be answered: what it did without some members has to
    /// be written down.
    pub(super) fn pass_confirmation(&mut self, index: u32, piece: &mut Piece) -> Pass {
        let Some(metadata) = &self.shared.metadata else { return Pass::Go };
        if metadata.knows(piece.generation)
            || !(matches!(piece.operation, Operation::Flush)
                || written_part(piece.operation).is_some())
        {
            return Pass::Go;
        }
        let admission = metadata.confirm(&*self.shared, piece.generation, &self.waiter, index);
        self.follow(piece, admission)
    }

    fn follow(&mut self, piece: &mut Piece, admission: Admission) -> Pass {
        match admission {
            Admission::Go => Pass::Go,
            Admission::Wait => Pass::Wait,
            Admission::Write(update) => {
                if let Some(metadata) = &self.shared.metadata {
                    self.metadata_channels.begin(*update, metadata, &self.reactor);
                }
                Pass::Wait
            }
            Admission::Refused(error) => {
                piece.failures.push(Failure { slot: NO_MEMBER, member: None, error });
                Pass::End
            }
        }
    }

    /// Completes what the piece logs, once it is computed.
    pub(super) fn seal_log(&self, piece: &mut Piece) {
        if let (Some(log), Some(logged)) = (
            self.shared.metadata.as_ref().and_then(|metadata| metadata.log.as_ref()),
            &piece.logged,
        ) {
            log.seal(logged, &mut piece.memory);
        }
    }

    /// Takes the log of the row's parity member and writes the piece's entries. True when they are
    /// written or there are none.
    pub(super) fn pass_log(&mut self, index: u32, piece: &mut Piece) -> bool {
        let Some(metadata) = &self.shared.metadata else { return true };
        let (Some(log), Some(logged)) = (&metadata.log, &piece.logged) else { return true };
        let is_locked = match piece.log {
            LogState::Idle => {
                piece.log_member = logged.member;
                log.lock(logged.member, &self.waiter, index)
            }
            LogState::Waiting | LogState::Kept => true,
            LogState::Writing => false,
            LogState::Written => return true,
        };
        if !is_locked {
            piece.log = LogState::Waiting;
            return false;
        }
        let device =
            metadata.device_of(logged.member).expect("a member that holds parity has a superblock");
        let bytes = piece.memory.share(
            Place::Scratch { buffer: logged.scratch, start: 0 },
            piece.plan.scratch[logged.scratch],
        );
        let offset = metadata.log_offset(device);
        self.metadata_channels.write_log(device, offset, bytes, index, metadata, &self.reactor);
        piece.log = LogState::Writing;
        false
    }

    /// Before the piece is planned again: gives the log free, unless its entries are needed for a
    /// while.
    pub(super) fn leave_log(&mut self, index: u32, piece: &mut Piece) {
        if piece.phase == Phase::Writing && matches!(piece.log, LogState::Written | LogState::Kept)
        {
            piece.log = LogState::Kept;
        } else {
            self.release_log(index, piece);
        }
    }

    /// The members that failed are written down. A log that the new plan does not write to is not
    /// needed any more.
    pub(super) fn sort_out_log(&mut self, index: u32, piece: &mut Piece) {
        if piece.log == LogState::Kept
            && piece.logged.as_ref().is_none_or(|logged| logged.member != piece.log_member)
        {
            self.release_log(index, piece);
        }
    }

    /// Gives the log free for other pieces.
    pub(super) fn release_log(&mut self, index: u32, piece: &mut Piece) {
        let Some(log) = self.shared.metadata.as_ref().and_then(|metadata| metadata.log.as_ref())
        else {
            return;
        };
        let others = match std::mem::take(&mut piece.log) {
            LogState::Idle => return,
            LogState::Waiting => log.give_up(piece.log_member, &self.waiter, index),
            LogState::Writing | LogState::Written | LogState::Kept => {
                log.release(piece.log_member, &self.waiter)
            }
        };
        if others.0 {
            self.reactor.nudge();
        }
    }

    pub(super) fn leave_metadata(&self, piece: &mut Piece) {
        if let (Some(metadata), Some(range)) = (&self.shared.metadata, piece.admitted.take()) {
            metadata.leave(&range);
        }
    }

    /// Takes what has been written down or logged.
    pub(super) fn poll_metadata(&mut self) {
        let shared = Arc::clone(&self.shared);
        let Some(metadata) = &shared.metadata else { return };
        let mut ended = std::mem::take(&mut self.ended);
        self.metadata_channels.poll(metadata, &self.reactor, &mut ended);
        for ended in ended.drain(..) {
            match ended {
                Ended::Update(update, failures) => {
                    if metadata.end(&*shared, *update, failures) {
                        self.reactor.nudge();
                    }
                }
                Ended::Log(index, result) => self.end_log(index, result),
            }
        }
        self.ended = ended;
    }

    fn end_log(&mut self, index: u32, result: Result<(), Error>) {
        let mut piece = self.pieces[index as usize].take().expect("a piece that logs is under way");
        debug_assert!(
            piece.phase == Phase::Logging && piece.log == LogState::Writing,
            "one log write at a time"
        );
        piece.log = LogState::Written;
        if let Err(error) = result {
            let slot = piece.log_member;
            let member = self.members.get(slot).and_then(|queue| queue.member.clone());
            // As if the parity itself had not been written.
            piece.commands.clear();
            piece.phase = Phase::Writing;
            piece.failures.push(Failure { slot, member, error });
        }
        self.advance(index, piece);
    }

    /// The update under way is given up: what the members say is unknown.
    pub(super) fn abandon_update(&mut self) {
        if let Some(metadata) = &self.shared.metadata {
            if let Some(update) = self.metadata_channels.give_up()
                && metadata.abandon(update)
            {
                self.reactor.nudge();
            }
            metadata.forget(&self.waiter);
        }
    }
}

impl<L: Level> ArrayView for Shared<L> {
    fn generation(&self) -> u64 {
        self.health.generation()
    }

    fn snapshot(&self) -> Snapshot {
        self.health.snapshot()
    }

    fn lost(&self, slot: usize) -> Ranges {
        self.health.lost(slot)
    }

    fn corrected_reads(&self, slot: usize) -> u32 {
        self.health.read_errors(slot)
    }

    fn devices(&self) -> Vec<Option<Arc<dyn Device>>> {
        self.health
            .membership()
            .members
            .iter()
            .map(|member| member.as_ref().map(|member| member.whole_device()))
            .collect()
    }

    fn holds_all(&self, missing: &MemberSet) -> Result<(), Lost> {
        self.level.holds_all(missing)
    }

    fn fail(&self, slot: usize, error: &Error) -> bool {
        self.drop_member(slot, None, error)
    }
}

impl<L: Level> HasMetadata for Shared<L> {
    fn metadata(&self) -> &Metadata {
        self.metadata.as_ref().expect("a metadata writer is made only where there are metadata")
    }
}

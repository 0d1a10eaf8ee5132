//! A part of a request with a plan of its own: its data, and the states of its life with what
//! belongs to each. What moves it on is in `life`.

use std::ops::Range;

use super::commands::Batch;
use super::requests::{NewPiece, Operation};
use crate::member::MemberSet;
use crate::memory::{HostBuffer, Memory};
use crate::metadata::LoggedPiece;
use crate::plan::{Plan, RowLock};
use crate::sync::Findings;

/// How much a piece takes at a time after an error of the medium: so much is written back at most
/// for one bad block.
const CAREFUL_BYTES: u64 = 64 << 10;

/// Where a piece is in its life, and what it waits for there. Small, and changed in place: a piece
/// passes through most of its states at every small request.
#[derive(Clone, Copy, Default)]
pub(super) enum PieceState {
    /// It is to be planned: at first, and when a plan does not hold any more.
    #[default]
    Unplanned,
    /// Queued for the row of its plan, or just granted it.
    AwaitsRow(RowLock),
    /// It asks the metadata writer whether it may write.
    AwaitsAdmission,
    /// The plan's reads are on their way.
    Reading,
    /// Computed, and queued for the partial parity log of a member, or just granted it.
    AwaitsLog(usize),
    /// What closes the write hole is on its way to the log that it holds.
    Logging,
    /// The plan's writes are on their way.
    Writing,
    /// Done; what it did without some members is being written down.
    Confirming,
}

/// What a piece has taken and has to give back in the end, whatever state it ends in.
#[derive(Default)]
pub(super) struct PieceHolds {
    pub(super) row: Option<RowLock>,
    /// The range that it was admitted to write to.
    pub(super) admitted: Option<Range<u64>>,
    /// The member whose partial parity log it has. Entries of a write that a member did not take
    /// are kept until it is written down that the member is out; those of the new plan then take
    /// their place.
    pub(super) log: Option<usize>,
}

/// How a piece goes on after a member's medium has failed: in small steps.
pub(super) struct SmallSteps {
    /// The first member to fail so.
    pub(super) member: usize,
    /// The most that one plan takes.
    pub(super) step_bytes: u64,
    /// The members that failed the present step once more.
    pub(super) unreadable: MemberSet,
}

impl SmallSteps {
    pub(super) fn of(member: usize) -> SmallSteps {
        SmallSteps { member, step_bytes: CAREFUL_BYTES, unreadable: MemberSet::EMPTY }
    }

    /// A step has ended well.
    pub(super) fn go_on(&mut self) {
        self.unreadable = MemberSet::EMPTY;
        self.step_bytes = (2 * self.step_bytes).min(CAREFUL_BYTES);
    }
}

/// The plan that is being carried out.
#[derive(Default)]
pub(super) struct Attempt {
    pub(super) plan: Plan,
    /// How much of the piece it covers, in bytes.
    pub(super) covers: u64,
    /// The array's health when it was made.
    pub(super) generation: u64,
    /// What it logs.
    pub(super) logged: Option<LoggedPiece>,
    /// What a check or a repair found.
    pub(super) findings: Option<Box<Findings>>,
}

/// A part of a request under way.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) request: u32,
    /// The owner's tag of it.
    pub(super) tag: u64,
    /// Which of the request's pieces.
    pub(super) number: u32,
    /// Later requests whose pieces were joined to it, and which of their pieces.
    pub(super) joined: Vec<(u32, u32)>,
    pub(super) operation: Operation,
    pub(super) fua: bool,
    /// Whether others of the same request run at the same time.
    pub(super) has_neighbours: bool,
    /// How much of it is done, in bytes.
    pub(super) done: u64,
    pub(super) careful: Option<SmallSteps>,
    pub(super) attempt: Attempt,
    pub(super) holds: PieceHolds,
    pub(super) memory: Memory,
    pub(super) state: PieceState,
    /// The commands of the phase that is under way, while it reads or writes.
    pub(super) batch: Batch,
}

impl Piece {
    /// A piece that is to begin, in the memory of one that has ended.
    pub(super) fn begin(new: NewPiece, spare: Option<Box<Piece>>) -> Box<Piece> {
        let NewPiece {
            request,
            tag,
            number,
            joined,
            operation,
            fua,
            follows: _,
            has_neighbours,
            careful,
            buffer,
        } = new;
        // Changed in place: moving all of it would take as long as much of its life. What has ended
        // holds nothing.
        let mut piece = spare.unwrap_or_default();
        piece.request = request;
        piece.tag = tag;
        piece.number = number;
        piece.joined = joined;
        piece.operation = operation;
        piece.fua = fua;
        piece.has_neighbours = has_neighbours;
        piece.done = 0;
        piece.careful = careful.map(SmallSteps::of);
        piece.state = PieceState::Unplanned;
        piece.memory.start(buffer);
        piece
    }

    /// The requests that it is a part of.
    pub(super) fn requests(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.request).chain(self.joined.iter().map(|(request, _)| *request))
    }

    /// What of its operation the plan covers.
    pub(super) fn planned(&self) -> Operation {
        self.operation.slice(self.done, self.attempt.covers)
    }

    /// Its buffer, in the end.
    pub(super) fn finish(&mut self) -> HostBuffer {
        self.memory.finish()
    }
}

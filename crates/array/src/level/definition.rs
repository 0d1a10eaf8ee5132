//! What one kind of array has to answer; everything else is the same for all.

use std::fmt;
use std::ops::Range;

use block::Info;
use words::{Text, statement};

use crate::catalogue;
use crate::member::MemberSet;
use crate::part::{Part, Spot, SyncRange};
use crate::plan::Plan;
use crate::queues::Queues;
use crate::ranges::Ranges;

/// The members that a plan has to do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Not there: neither read nor written.
    pub absent: MemberSet,
    /// There, but what the piece wants of them could not be read: it is made from the others', and
    /// what is written goes to them as ever. A plan that reads writes them what they should have
    /// had.
    pub unreadable: MemberSet,
    /// There, and being rebuilt: what is written goes to them, but what they hold may be old.
    pub recovering: MemberSet,
    /// A resync is still to be done here, so that redundancy may be untrue though no member is
    /// damaged: checks and repairs blame none.
    pub unsynced: bool,
}

impl Faults {
    /// Whether nothing can be read from the member.
    #[must_use]
    pub fn hide(&self, member: usize) -> bool {
        self.absent.contains(member)
            || self.unreadable.contains(member)
            || self.recovering.contains(member)
    }

    /// The members without which all data have to be there.
    #[must_use]
    pub fn missing(&self) -> MemberSet {
        self.absent.union(&self.recovering)
    }

    /// Whether a plan that reads writes the member what it should have had.
    #[must_use]
    pub fn mend(&self, member: usize) -> bool {
        self.unreadable.contains(member)
            && !self.absent.contains(member)
            && !self.recovering.contains(member)
    }

    /// What cannot be done without these members.
    #[must_use]
    pub fn lost(&self) -> TooManyAbsent {
        TooManyAbsent { members: self.missing().union(&self.unreadable) }
    }
}

/// Too many members are absent for what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyAbsent {
    /// The members that are missed.
    pub members: MemberSet,
}

/// Whether a plan was made.
pub type PlanResult = Result<(), TooManyAbsent>;

impl From<TooManyAbsent> for Text {
    fn from(absent: TooManyAbsent) -> Text {
        let count = absent.members.count();
        let message = if count == 1 { catalogue::ONE_ABSENT } else { catalogue::SEVERAL_ABSENT };
        statement!(message, members = Text::joined(absent.members.iter(), ", "))
    }
}

impl fmt::Display for TooManyAbsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text::from(*self))
    }
}

/// What holds for all plans of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelTraits {
    /// The array goes on without some of its members. If not, a member's error is the request's
    /// error.
    pub is_redundant: bool,
    /// Plans may lock a row.
    pub locks_rows: bool,
    /// A member stays in spite of a failed write when it has the last copy of something. Where a
    /// failed write may spoil what is made from it for others, it must not.
    pub keeps_last_copy: bool,
    /// A read may have a choice among copies. Where a resync is to be done they need not agree:
    /// there reads take the first that may be read, as
    /// [`SyncTask::Repair`](crate::SyncTask::Repair) does, or a block could change without a
    /// write. [`Level::sync_bytes`] counts the array's own bytes then.
    pub has_copies: bool,
}

/// One kind of array as a table of answers: pure functions over sizes fixed at its making, no I/O.
pub trait Level: Send + Sync + 'static {
    /// What holds for all of its plans. By itself nothing does: it has no redundancy.
    fn traits(&self) -> LevelTraits {
        LevelTraits::default()
    }

    /// Name in stack text, for example `raid0`.
    fn name(&self) -> &'static str;

    /// Options in stack text that make this array again.
    fn options(&self) -> Vec<(String, String)>;

    /// Size of the array in bytes.
    fn size_bytes(&self) -> u64;

    /// Changes what the executor worked out from the members (their weakest answers) where the
    /// level knows better.
    fn refine(&self, info: &mut Info);

    /// How many commands one phase of one plan sends to one member at most.
    fn commands_per_member(&self) -> u32 {
        1
    }

    /// Where the row ends, in bytes of the array, in which a byte lies; `None` where writing part
    /// of a row costs no more than its share of all.
    fn row_end(&self, _offset: u64) -> Option<u64> {
        None
    }

    /// How many pieces of one request run at a time at most.
    fn pieces_at_once(&self) -> u32 {
        1
    }

    /// Whether all data is still there without these members. A flush asks for nothing else.
    ///
    /// # Errors
    /// When too many members are absent. A level without redundancy misses each.
    fn holds_all(&self, absent: &MemberSet) -> Result<(), TooManyAbsent> {
        if absent.count() == 0 { Ok(()) } else { Err(TooManyAbsent { members: *absent }) }
    }

    /// Where the part lies, if it is one command to one member and needs neither lock nor
    /// computation: the fast path. Where there is a choice, `queues` helps with it. Nothing is read
    /// from a member that is `missing`.
    fn whole(&self, part: Part, missing: &MemberSet, queues: &Queues) -> Option<Spot>;

    /// How much of the part, from its start, one plan takes: whole blocks, at least one.
    fn piece_bytes(&self, part: Part, faults: &Faults) -> u64;

    /// Plans a piece into an empty plan.
    ///
    /// # Errors
    /// When too many members are absent.
    fn plan(&self, piece: Part, faults: &Faults, queues: &Queues, plan: &mut Plan) -> PlanResult;

    /// How much of each member's data the array uses, in bytes. 0 without redundancy, where nothing
    /// can be restored.
    fn member_bytes(&self) -> u64 {
        0
    }

    /// How far checks and resyncs go, in bytes. What they count is md's: the bytes of a member, or
    /// at RAID 10, where rows are not the same for all copies, those of the array.
    fn sync_bytes(&self) -> u64 {
        self.member_bytes()
    }

    /// What of a member's data a range of [`Level::sync_bytes`] stands for.
    fn member_ranges(&self, member: usize, range: Range<u64>) -> Ranges {
        let _ = member;
        Ranges::one(range.start.min(self.member_bytes())..range.end.min(self.member_bytes()))
    }

    /// How much of the range, from its start, one plan takes: whole blocks, at least one.
    fn sync_range_bytes(&self, range: SyncRange) -> u64 {
        range.length
    }

    /// Plans a range into an empty plan; it is as long as [`Level::sync_range_bytes`] allows. What
    /// could not be read is mended.
    ///
    /// # Errors
    /// When too many members are missing, or the one that is to be restored is.
    fn plan_sync(&self, range: SyncRange, faults: &Faults, plan: &mut Plan) -> PlanResult {
        let _ = (range, plan);
        Err(faults.lost())
    }
}

/// How much of each member one plan of a sync action takes at most: enough for a disk to stream,
/// little enough to hold several in memory, and the host's writes wait for it.
pub(super) const SYNC_PLAN_BYTES: u64 = 128 << 10;

/// A stripe as the size of access that is served best.
pub(super) fn optimal_bytes(stripe_bytes: u64, block_bytes: u32) -> u32 {
    u32::try_from(stripe_bytes).unwrap_or(u32::MAX - u32::MAX % block_bytes)
}

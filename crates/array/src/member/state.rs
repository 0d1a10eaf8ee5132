//! The states of members.

use words::Text;

use super::set::MemberSet;

/// The state of a slot and its member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// The slot is empty.
    Missing,
    /// The member is out of service; its device has not been removed yet.
    Faulty,
    /// The member is written and not read. Before `recovery_offset` it has everything.
    Recovering {
        /// In bytes of the member's data.
        recovery_offset: u64,
        /// Only some ranges after it are to be recovered: the member was away for a while, and the
        /// bitmap knows which.
        partly: bool,
    },
    /// The member has all of its data.
    InSync,
}

/// The states of all members at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Changes whenever plans have to be made differently: a member fails, is added or is in sync.
    pub generation: u64,
    /// Changes with anything in here.
    pub revision: u64,
    /// Of each slot.
    pub members: Vec<MemberState>,
    /// The name in messages of each slot's member.
    pub names: Vec<String>,
    /// How many places of each member could not be read since it was added, and were made from the
    /// others.
    pub read_errors: Vec<u32>,
    /// How much of each member's data is lost, in bytes: a rebuild could not restore it, or its
    /// bad-block log names it, and it has not been written since. `revision` does not tell of a
    /// write.
    pub lost_bytes: Vec<u64>,
    /// Why each member is faulty; `None` where it is not, or was failed on request.
    pub causes: Vec<Option<Text>>,
    /// The slots whose member is being copied to a replacement.
    pub replaced: Vec<usize>,
    /// The names of these replacements in messages, in the same order.
    pub replacements: Vec<String>,
    /// The first byte whose redundancy may be untrue, in bytes of
    /// [`Level::sync_bytes`](crate::Level::sync_bytes); `None` when all is in sync.
    pub resync: Option<u64>,
    /// The names of the spares in messages.
    pub spares: Vec<String>,
}

impl Snapshot {
    /// The members that are neither read nor written.
    #[must_use]
    pub fn absent(&self) -> MemberSet {
        self.chosen(|state| matches!(state, MemberState::Missing | MemberState::Faulty))
    }

    /// The members that are written but not read.
    #[must_use]
    pub fn recovering(&self) -> MemberSet {
        self.chosen(|state| matches!(state, MemberState::Recovering { .. }))
    }

    /// The slots and names of the faulty members in messages, each with the cause where it was not
    /// failed on request.
    #[must_use]
    pub fn faulty(&self) -> Vec<(usize, String, Option<Text>)> {
        let faulty =
            (0..self.members.len()).filter(|&slot| self.members[slot] == MemberState::Faulty);
        faulty.map(|slot| (slot, self.names[slot].clone(), self.causes[slot].clone())).collect()
    }

    fn chosen(&self, choose: impl Fn(MemberState) -> bool) -> MemberSet {
        let mut set = MemberSet::EMPTY;
        self.members.iter().enumerate().filter(|(_, state)| choose(**state)).for_each(
            |(member, _)| {
                set.insert(member);
            },
        );
        set
    }
}

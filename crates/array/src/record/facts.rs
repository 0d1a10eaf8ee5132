//! What superblocks say of a running array, as a pure function of what is true of it.
//!
//! ```text
//!   last superblock ─┐
//!   Facts            ├─> superblock_of ─> the superblock to write
//!   events, time ────┘
//! ```
//!
//! Everything that does not change while an array runs (its shape, its name, where things lie on
//! the member) is taken over from the superblock that was read.

use std::ops::Range;

use crate::md::{Features, Role, Superblock, TimeStamp};
use crate::member::{MemberState, Snapshot};
use crate::ranges::Ranges;

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;

/// What a superblock says of one slot of the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedState {
    /// Its member holds what it should.
    InSync,
    /// Its member holds that up to here, in sectors of its data.
    Recovering(u64),
    /// The slot has no member in service.
    Out,
}

/// What superblocks have to say of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// By role.
    pub(crate) members: Vec<RecordedState>,
    /// The members' numbers by role, also of absent ones, as far as they are known.
    pub(crate) numbers: Vec<Option<u32>>,
    /// What of their data is lost, in bytes: their bad blocks. By role.
    pub(crate) lost: Vec<Ranges>,
    /// The sector from which on redundancy may be untrue although no write is under way; counted as
    /// resyncs count.
    pub(crate) resync_from: Option<u64>,
}

impl Facts {
    /// `takes` says whether a member's bad-block log has room for what is lost. Where it has not,
    /// the member counts as being rebuilt from there on: it must not be called whole.
    pub(crate) fn of(
        snapshot: &Snapshot,
        numbers: &[Option<u32>],
        lost: Vec<Ranges>,
        takes: impl Fn(usize, &Ranges) -> bool,
    ) -> Facts {
        let state = |state: &MemberState| match *state {
            MemberState::InSync => RecordedState::InSync,
            // A member that lacks some ranges only is rebuilt from the beginning after a crash: one
            // offset does not say which.
            MemberState::Recovering { partly: true, .. } => RecordedState::Recovering(0),
            MemberState::Recovering { recovery_offset, .. } => {
                RecordedState::Recovering(recovery_offset / SECTOR_BYTES)
            }
            MemberState::Missing | MemberState::Faulty => RecordedState::Out,
        };
        let mut members: Vec<RecordedState> = snapshot.members.iter().map(state).collect();
        for ((member, state), lost) in members.iter_mut().enumerate().zip(&lost) {
            let Some(first) =
                lost.first().filter(|_| !takes(member, lost)).map(|byte| byte / SECTOR_BYTES)
            else {
                continue;
            };
            match state {
                RecordedState::InSync => *state = RecordedState::Recovering(first),
                RecordedState::Recovering(sector) => *sector = first.min(*sector),
                RecordedState::Out => (),
            }
        }
        Facts {
            members,
            numbers: numbers.to_vec(),
            lost,
            resync_from: snapshot.resync.map(|byte| byte / SECTOR_BYTES),
        }
    }

    pub(crate) fn is_degraded(&self) -> bool {
        self.members.iter().any(|state| *state != RecordedState::InSync)
    }

    /// Whether all members hold what they should and agree.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_degraded() && self.resync_from.is_none()
    }

    /// Whether more is in sync than `before` said: then the data must be durable before the
    /// superblocks say so.
    pub(crate) fn promises_more_than(&self, before: &Facts) -> bool {
        let position = |state: RecordedState| match state {
            RecordedState::InSync => u64::MAX,
            RecordedState::Recovering(sector) => sector,
            RecordedState::Out => 0,
        };
        let resync = |facts: &Facts| facts.resync_from.unwrap_or(u64::MAX);
        let mut members = self.members.iter().zip(&before.members);
        let is_covered = |now: &Ranges, range: &Range<u64>| {
            now.iter().any(|now| now.start <= range.start && range.end <= now.end)
        };
        let mut lost = self.lost.iter().zip(&before.lost);
        resync(self) > resync(before)
            || members.any(|(now, then)| position(*now) > position(*then))
            || lost.any(|(now, then)| !then.iter().all(|range| is_covered(now, &range)))
    }
}

/// The event count after a change. md's driver takes the event of going dirty back when the array
/// goes clean; here no count stands for two states: a copy of a member that is put back later has
/// fewer events than the others, and is found out by that.
pub(crate) fn events_after(events: u64) -> u64 {
    events + 1
}

/// Where a resync ends, in sectors of a member. An array with partial parity logs that is being
/// written to says so where none is due: what may be untrue is in the logs. Others say 0.
fn compared_sectors(superblock: &Superblock) -> u64 {
    let chunk = u64::from(superblock.chunk_sectors).max(1);
    superblock.size_sectors / chunk * chunk
}

/// The superblock that a member gets.
pub(crate) fn superblock_of(
    last: &Superblock,
    facts: &Facts,
    is_active: bool,
    events: u64,
    updated: TimeStamp,
) -> Superblock {
    let mut new = Superblock { events, updated, ..last.clone() };
    new.resync_offset_sectors = if !is_active {
        facts.resync_from.unwrap_or(Superblock::IN_SYNC)
    } else if last.features.has_ppl() {
        facts.resync_from.unwrap_or_else(|| compared_sectors(last))
    } else {
        0
    };
    let mut own = None;
    // A number that has lost its role becomes faulty; the one that has the role now is entered
    // below.
    for role in &mut new.roles {
        if matches!(role, Role::Active(number) if usize::from(*number) < facts.members.len()) {
            *role = Role::Faulty;
        }
    }
    for ((number, state), role) in facts.numbers.iter().zip(&facts.members).zip(0_u16..) {
        let Some(number) = *number else { continue };
        if new.roles.len() <= number as usize {
            new.roles.resize(number as usize + 1, Role::Spare);
        }
        new.roles[number as usize] =
            if *state == RecordedState::Out { Role::Faulty } else { Role::Active(role) };
        if number == last.member_number {
            own = Some(*state);
            let has_lost = facts.lost.get(usize::from(role)).is_some_and(|lost| !lost.is_empty());
            let is_told = has_lost && last.bad_block_size_sectors > 0;
            new.features = if is_told {
                new.features.with(Features::BAD_BLOCKS)
            } else {
                new.features.without(Features::BAD_BLOCKS)
            };
        }
    }
    match own {
        Some(RecordedState::Recovering(sector)) => {
            new.features = new.features.with(Features::RECOVERY_OFFSET);
            new.recovery_offset_sectors = sector;
        }
        _ => {
            new.features =
                new.features.without(Features::RECOVERY_OFFSET.with(Features::RECOVERY_BITMAP));
            new.recovery_offset_sectors = 0;
        }
    }
    new
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::md::{
        AssembleOptions, Candidate, Consistency, Layout, Level, NewArray, NewMember, Slot, Version,
        assemble,
    };

    const MEMBERS: usize = 3;
    const MEMBER_SECTORS: u64 = 8192;

    pub(in crate::record) fn superblocks() -> Vec<Superblock> {
        let member = |role: u16| NewMember {
            name: format!("m{role}"),
            size_sectors: MEMBER_SECTORS,
            device_uuid: [role as u8; 16],
            role: Role::Active(role),
            write_mostly: false,
        };
        let array = NewArray {
            set_uuid: [7; 16],
            name: "facts".to_owned(),
            created: TimeStamp::default(),
            level: Level::Raid1,
            layout: Layout::Plain,
            chunk_sectors: 0,
            raid_disks: MEMBERS as u32,
            members: (0..MEMBERS as u16).map(member).collect(),
            consistency: Consistency::Resync,
            in_sync: true,
        };
        array.superblocks().expect("an array")
    }

    fn numbers() -> Vec<Option<u32>> {
        (0..MEMBERS as u32).map(Some).collect()
    }

    fn candidate(superblock: &Superblock) -> Candidate {
        let superblock = Superblock::decode(&superblock.encode()).expect("what was encoded");
        let name = format!("m{}", superblock.member_number);
        Candidate {
            name,
            size_sectors: MEMBER_SECTORS,
            version: Version::V1_2,
            superblock,
            bitmap: None,
        }
    }

    /// Every state of three members, dirty or not, with a resync to be done or not: what assembly
    /// makes of the superblocks is what was to be said, and a member that is out is not taken again
    /// with its old superblock.
    #[test]
    fn assembly_reads_what_was_written_down() {
        let states = [
            RecordedState::InSync,
            RecordedState::Recovering(0),
            RecordedState::Recovering(640),
            RecordedState::Out,
        ];
        let last = superblocks();
        let mut seen = 0;
        for state in 0..states.len().pow(MEMBERS as u32) {
            let members: Vec<RecordedState> = (0..MEMBERS)
                .map(|role| states[state / states.len().pow(role as u32) % states.len()])
                .collect();
            if members.iter().all(|state| *state != RecordedState::InSync) {
                continue;
            }
            for (is_active, resync_from) in
                [(false, None), (true, None), (false, Some(256)), (true, Some(256))]
            {
                let facts = Facts {
                    members: members.clone(),
                    numbers: numbers(),
                    lost: Vec::new(),
                    resync_from,
                };
                let events = events_after(last[0].events);
                let candidates: Vec<Candidate> = (last.iter().zip(&members))
                    .map(|(last, state)| match state {
                        RecordedState::Out => candidate(last),
                        _ => candidate(&superblock_of(
                            last,
                            &facts,
                            is_active,
                            events,
                            TimeStamp::default(),
                        )),
                    })
                    .collect();
                assert!(
                    candidates.iter().all(|one| one
                        .superblock
                        .problems(Version::V1_2, MEMBER_SECTORS)
                        .is_empty())
                );
                let assembly = assemble(&candidates, AssembleOptions::default()).expect("an array");
                assert_eq!(assembly.clean, !is_active && resync_from.is_none());
                let expected_offset = if is_active { 0 } else { resync_from.unwrap_or(u64::MAX) };
                assert_eq!(assembly.resync_offset_sectors, expected_offset);
                for (role, (slot, state)) in assembly.slots.iter().zip(&members).enumerate() {
                    let fits = match (slot, state) {
                        (Slot::Present(used), RecordedState::InSync) => used.candidate == role,
                        (
                            Slot::Recovering { used, recovered_sectors },
                            RecordedState::Recovering(sector),
                        ) => used.candidate == role && recovered_sectors == sector,
                        (Slot::Missing | Slot::Stale { .. }, RecordedState::Out) => true,
                        _ => false,
                    };
                    assert!(fits, "{facts:?}, active {is_active}: member {role} is {slot:?}");
                }
                seen += 1;
            }
        }
        assert_eq!(seen, 4 * (64 - 27));
    }

    /// With logs a superblock says while the array is written to from where on a resync is due, in
    /// whole chunks where none is; without, from the beginning.
    #[test]
    fn with_logs_it_is_said_how_far_parity_is_true_but_for_them() {
        let facts = |resync_from| Facts {
            members: vec![RecordedState::InSync; MEMBERS],
            numbers: numbers(),
            lost: Vec::new(),
            resync_from,
        };
        let mut last = Superblock {
            level: Level::Raid5,
            chunk_sectors: 128,
            size_sectors: 5 * 128 + 8,
            ..superblocks().remove(0)
        };
        let said = |last: &Superblock, resync_from| {
            superblock_of(last, &facts(resync_from), true, 5, TimeStamp::default())
                .resync_offset_sectors
        };
        assert_eq!([None, Some(0), Some(256)].map(|due| said(&last, due)), [0; 3]);
        last.features = last.features.with(Features::PPL);
        let logged = [None, Some(0), Some(256)].map(|due| said(&last, due));
        assert_eq!(logged, [5 * 128, 0, 256]);
        let rests = superblock_of(&last, &facts(None), false, 6, TimeStamp::default());
        assert!(rests.is_clean());
    }

    #[test]
    fn a_member_that_is_in_sync_again_says_so() {
        let last = &superblocks()[1];
        let members =
            vec![RecordedState::InSync, RecordedState::Recovering(99), RecordedState::InSync];
        let mut facts = Facts { members, numbers: numbers(), lost: Vec::new(), resync_from: None };
        let rebuilding = superblock_of(last, &facts, false, 5, TimeStamp::default());
        assert_eq!(rebuilding.recovering_from_sectors(), Some(99));
        facts.members[1] = RecordedState::InSync;
        let done = superblock_of(&rebuilding, &facts, false, 6, TimeStamp::default());
        assert_eq!(
            (done.recovering_from_sectors(), done.features, done.role()),
            (None, last.features, Role::Active(1))
        );
    }

    /// Member number 4 was rebuilt in the slot of number 1, which is faulty from then on in every
    /// superblock.
    #[test]
    fn a_slot_belongs_to_one_number() {
        let last = &superblocks()[0];
        let numbers = vec![Some(0), Some(4), Some(2)];
        let facts = Facts {
            members: vec![RecordedState::InSync; MEMBERS],
            numbers,
            lost: Vec::new(),
            resync_from: None,
        };
        let new = superblock_of(last, &facts, false, 5, TimeStamp::default());
        assert_eq!(
            new.roles[..5],
            [Role::Active(0), Role::Faulty, Role::Active(2), Role::Spare, Role::Active(1)]
        );
    }

    #[test]
    fn what_is_promised_is_compared_member_by_member() {
        let facts = |one, resync_from| Facts {
            members: vec![RecordedState::InSync, one],
            numbers: Vec::new(),
            lost: Vec::new(),
            resync_from,
        };
        let rebuilding = facts(RecordedState::Recovering(8), None);
        assert!(facts(RecordedState::InSync, None).promises_more_than(&rebuilding));
        assert!(facts(RecordedState::Recovering(9), None).promises_more_than(&rebuilding));
        assert!(!facts(RecordedState::Out, None).promises_more_than(&rebuilding));
        assert!(
            facts(RecordedState::Recovering(8), None)
                .promises_more_than(&facts(RecordedState::Recovering(8), Some(5)))
        );
        assert!(!rebuilding.promises_more_than(&rebuilding.clone()));
    }
}

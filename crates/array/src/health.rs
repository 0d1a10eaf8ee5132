//! Which members still count. Shared by all channels of an array.
//!
//! Without redundancy a member's error is the request's error, and no state changes. With
//! redundancy a member that fails a write or a flush, or that is gone, becomes faulty. A read that
//! fails with a medium error is tried once more; then its data are made from the other members and
//! written back. A member with too many such places becomes faulty too: places, not tries, and none
//! that its bad-block log names.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use block::ErrorKind;
use reactor::Ringer;
use words::Text;

use crate::member::{Member, MemberSet, MemberState, Snapshot, missing_name, name};
use crate::ranges::Ranges;

/// How many places of a member may have turned out to be unreadable of late before it becomes
/// faulty; md's default.
pub(crate) const READ_ERRORS_MAX: usize = 20;
/// The older half of them is forgotten so often, as md halves its count.
const READ_ERRORS_HALVED: Duration = Duration::from_secs(60 * 60);
/// So many places are remembered of a member that cannot be done without.
const READ_ERRORS_REMEMBERED: usize = 1024;

/// The places of a member that could not be read.
#[derive(Debug, Default)]
struct ReadErrors {
    /// Those of late, in bytes of the device, the latest last.
    recent: VecDeque<Range<u64>>,
    /// When the older half of them was forgotten last.
    halved: Duration,
    /// How many there ever were.
    total: u32,
}

impl ReadErrors {
    /// Notes a place; true when it is one too many. One that is known is not counted again, however
    /// often it is tried.
    fn note(&mut self, place: Range<u64>, now: Duration) -> bool {
        let halvings = now.saturating_sub(self.halved).as_secs() / READ_ERRORS_HALVED.as_secs();
        if halvings > 0 {
            let kept = u32::try_from(halvings)
                .ok()
                .and_then(|halvings| self.recent.len().checked_shr(halvings))
                .unwrap_or(0);
            self.recent.drain(..self.recent.len() - kept);
            self.halved += READ_ERRORS_HALVED * u32::try_from(halvings).unwrap_or(u32::MAX);
        }
        let is_known =
            self.recent.iter().any(|known| known.start < place.end && place.start < known.end);
        if is_known {
            return false;
        }
        if self.recent.len() == READ_ERRORS_REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(place);
        self.total = self.total.saturating_add(1);
        self.recent.len() > READ_ERRORS_MAX
    }
}

/// A slot of the array.
#[derive(Debug, Default)]
struct Slot {
    member: Option<Arc<Member>>,
    /// The member is out of service; its device has not been removed yet.
    is_faulty: bool,
    /// The member is gone, and requests go to it all the same: without redundancy there is nothing
    /// else that they could go to.
    is_gone: bool,
    /// What a member that is being rebuilt lacks; `None` for one in sync.
    recovery: Option<Recovery>,
    read_errors: ReadErrors,
    /// The error for which the member became faulty; `None` where it was failed on request.
    cause: Option<Text>,
    /// Reads and writes go to the old device, and writes also to this new one.
    replacement: Option<Arc<Member>>,
}

/// What a member that is being rebuilt lacks.
#[derive(Debug)]
struct Recovery {
    /// In bytes of the member's data.
    unrecovered: Ranges,
    /// Other ranges were never lacking: the member was away for a while only.
    partly: bool,
    /// The ranges are an upper bound; nothing is rebuilt before the true ones are known.
    is_unsettled: bool,
}

impl Recovery {
    fn of(unrecovered: Ranges) -> Recovery {
        Recovery { unrecovered, partly: false, is_unsettled: false }
    }
}

impl Slot {
    /// A slot whose member has just been added.
    fn of(member: Arc<Member>, recovery: Option<Recovery>) -> Slot {
        Slot { member: Some(member), recovery, ..Slot::default() }
    }

    fn state(&self) -> MemberState {
        match (&self.member, &self.recovery) {
            (None, _) => MemberState::Missing,
            (Some(_), _) if self.is_faulty || self.is_gone => MemberState::Faulty,
            (Some(_), Some(Recovery { unrecovered, partly, .. })) => MemberState::Recovering {
                recovery_offset: unrecovered.first().unwrap_or(u64::MAX),
                partly: *partly,
            },
            (Some(_), None) => MemberState::InSync,
        }
    }

    /// Whether the slot's member, if it has one, is out of service.
    fn is_out(&self) -> bool {
        self.member.is_none() || self.is_faulty
    }

    fn is_recovering(&self) -> bool {
        !self.is_out() && self.recovery.is_some()
    }

    fn is_in_sync(&self) -> bool {
        !self.is_out() && self.recovery.is_none()
    }

    fn lost_bytes(&self) -> u64 {
        let bad_blocks = self.member.as_ref().and_then(|member| member.bad_blocks.as_ref());
        bad_blocks.map_or(0, |bad_blocks| bad_blocks.lost_bytes())
    }

    fn holds(&self, member: &Arc<Member>) -> bool {
        self.member.as_ref().is_some_and(|held| Arc::ptr_eq(held, member))
    }
}

#[derive(Debug)]
struct HealthState {
    slots: Vec<Slot>,
    spares: Vec<Arc<Member>>,
    /// Where redundancy may be untrue.
    resync: Ranges,
}

impl HealthState {
    fn members(&self, choose: impl Fn(&Slot) -> bool) -> MemberSet {
        let mut set = MemberSet::EMPTY;
        self.slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| choose(slot))
            .for_each(|(number, _)| _ = set.insert(number));
        set
    }

    fn absent(&self) -> MemberSet {
        self.members(Slot::is_out)
    }

    fn recovering(&self) -> MemberSet {
        self.members(Slot::is_recovering)
    }
}

/// What a channel keeps a copy of until the generation changes.
pub(crate) struct Membership {
    pub(crate) generation: u64,
    pub(crate) absent: MemberSet,
    pub(crate) recovering: MemberSet,
    pub(crate) members: Vec<Option<Arc<Member>>>,
}

/// The slots with their members, and the spares.
#[derive(Debug)]
pub(crate) struct Health {
    state: Mutex<HealthState>,
    generation: AtomicU64,
    revision: AtomicU64,
    /// Redundancy may be untrue somewhere.
    needs_resync: AtomicBool,
    /// Rung when a member's state changes.
    watchers: Mutex<Vec<Weak<Ringer>>>,
}

impl Health {
    /// Slots with their members and the ranges to recover on them; `None` is an empty slot.
    pub(crate) fn new(slots: Vec<Option<(Arc<Member>, Ranges)>>, resync: Ranges) -> Health {
        let slots = slots.into_iter().map(|slot| {
            let Some((member, unrecovered)) = slot else { return Slot::default() };
            Slot::of(member, (!unrecovered.is_empty()).then(|| Recovery::of(unrecovered)))
        });
        let needs_resync = AtomicBool::new(!resync.is_empty());
        let state = HealthState { slots: slots.collect(), spares: Vec::new(), resync };
        Health {
            state: Mutex::new(state),
            generation: AtomicU64::new(0),
            revision: AtomicU64::new(0),
            needs_resync,
            watchers: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, HealthState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called under the state's lock, after a change of what plans depend on.
    fn changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
        self.noted();
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| watcher.upgrade().map(|bell| bell.ring()).is_some());
    }

    /// Rings this bell, until it is dropped, when a member is added, fails, is removed or is in
    /// sync.
    pub(crate) fn watch(&self, bell: &Arc<Ringer>) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(bell));
    }

    /// Called under the state's lock, after any change.
    fn noted(&self) {
        self.revision.fetch_add(1, Ordering::Release);
    }

    /// Members that are missing or faulty.
    pub(crate) fn absent(&self) -> MemberSet {
        self.state().absent()
    }

    /// Changes with everything that plans depend on, so that a channel can keep a copy of it.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Changes with everything that a snapshot shows.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    pub(crate) fn membership(&self) -> Membership {
        let state = self.state();
        Membership {
            generation: self.generation(),
            absent: state.absent(),
            recovering: state.recovering(),
            members: state.slots.iter().map(|slot| slot.member.clone()).collect(),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.state();
        let name = |(number, slot): (usize, &Slot)| {
            let known = slot.member.as_ref().map(|member| member.name.english());
            known.unwrap_or_else(|| missing_name(number).english())
        };
        Snapshot {
            generation: self.generation(),
            revision: self.revision(),
            members: state.slots.iter().map(Slot::state).collect(),
            names: state.slots.iter().enumerate().map(name).collect(),
            read_errors: state.slots.iter().map(|slot| slot.read_errors.total).collect(),
            lost_bytes: state.slots.iter().map(Slot::lost_bytes).collect(),
            causes: state
                .slots
                .iter()
                .map(|slot| slot.cause.clone().filter(|_| slot.state() == MemberState::Faulty))
                .collect(),
            replaced: (0..state.slots.len())
                .filter(|&number| state.slots[number].replacement.is_some())
                .collect(),
            replacements: state
                .slots
                .iter()
                .filter_map(|slot| Some(slot.replacement.as_ref()?.name.english()))
                .collect(),
            resync: state.resync.first(),
            spares: state.spares.iter().map(|spare| spare.name.english()).collect(),
        }
    }

    /// Makes a member faulty unless `may_go`, asked about all members that would be missing then,
    /// forbids it. True when the member that was meant is out of service now. `member` says which
    /// device failed, if that is known: where another one is in the slot by now, that one stays.
    /// `cause` is the error; `None` on request.
    pub(crate) fn fail(
        &self,
        number: usize,
        member: Option<&Arc<Member>>,
        cause: Option<Text>,
        may_go: impl FnOnce(&MemberSet) -> bool,
    ) -> bool {
        let mut state = self.state();
        let slot = &state.slots[number];
        let is_another = slot.member.is_some() && member.is_some_and(|member| !slot.holds(member));
        if slot.is_out() || is_another {
            return true;
        }
        let mut missing = state.absent().union(&state.recovering());
        // A member that is being rebuilt is missing already.
        if missing.insert(number) && !may_go(&missing) {
            return false;
        }
        let slot = &mut state.slots[number];
        (slot.is_faulty, slot.recovery) = (true, None);
        slot.cause = cause;
        // The replacement lacks what was not copied yet: it can serve as a spare.
        let replacement = slot.replacement.take();
        state.spares.splice(0..0, replacement);
        self.changed();
        true
    }

    /// Notes that a member of an array without redundancy is gone. What requests go to does not
    /// change by it.
    pub(crate) fn note_gone(&self, number: usize, cause: Text) {
        let mut state = self.state();
        let slot = &mut state.slots[number];
        if !slot.is_gone {
            (slot.is_gone, slot.cause) = (true, Some(cause));
            self.noted();
        }
    }

    /// What of the member's data is lost, in bytes.
    pub(crate) fn lost(&self, number: usize) -> Ranges {
        let member = self.state().slots.get(number).and_then(|slot| slot.member.clone());
        let Some((bad_blocks, offset)) =
            member.and_then(|member| Some((member.bad_blocks.clone()?, member.data_offset)))
        else {
            return Ranges::none();
        };
        bad_blocks
            .lost()
            .iter()
            .map(|range| range.start.saturating_sub(offset)..range.end.saturating_sub(offset))
            .collect()
    }

    /// Whether data of any member are lost.
    pub(crate) fn any_lost(&self) -> bool {
        let logs = |slot: &Slot| slot.member.as_ref()?.bad_blocks.as_ref().map(|log| log.any());
        self.state().slots.iter().filter_map(logs).any(|is_lost| is_lost)
    }

    /// Notes a place of the member, in bytes of the device, that could not be read; `now` is on one
    /// clock for all channels. True when there were too many of late. A place that its bad-block
    /// log names was not even tried.
    pub(crate) fn note_read_error(&self, number: usize, place: Range<u64>, now: Duration) -> bool {
        let slot = &mut self.state().slots[number];
        let bad_blocks = slot.member.as_ref().and_then(|member| member.bad_blocks.as_ref());
        if bad_blocks.is_some_and(|bad_blocks| bad_blocks.meet(&place)) {
            return false;
        }
        slot.read_errors.note(place, now)
    }
}

/// Members that are added, removed, rebuilt and replaced.
impl Health {
    /// Puts a member into an empty slot, to be rebuilt once it is [`settle`](Health::settle)d which
    /// ranges it lacks. False when the slot is not empty.
    pub(crate) fn fill_slot(
        &self,
        number: usize,
        member: Arc<Member>,
        unrecovered: Ranges,
    ) -> bool {
        let mut state = self.state();
        let slot = &mut state.slots[number];
        if slot.member.is_some() {
            return false;
        }
        *slot =
            Slot::of(member, Some(Recovery { is_unsettled: true, ..Recovery::of(unrecovered) }));
        self.changed();
        true
    }

    /// A member that was put into a slot lacks the ranges that were said then, or only `less` if it
    /// was away for a while.
    pub(crate) fn settle(&self, number: usize, member: &Arc<Member>, less: Option<Ranges>) {
        self.change_recovery(number, member, |recovery| {
            recovery.is_unsettled = false;
            if let Some(unrecovered) = less {
                (recovery.unrecovered, recovery.partly) = (unrecovered, true);
            }
            // The sync scheduler waits for this.
            self.changed();
        });
    }

    /// Whether it is known which ranges a member lacks.
    pub(crate) fn is_settled(&self, number: usize) -> bool {
        self.state().slots[number].recovery.as_ref().is_none_or(|recovery| !recovery.is_unsettled)
    }

    /// Takes a faulty member out of its slot.
    pub(crate) fn empty_slot(&self, number: usize) -> Option<Arc<Member>> {
        let mut state = self.state();
        let slot = &mut state.slots[number];
        let removed = if slot.is_out() { slot.member.take() } else { None };
        if removed.is_some() {
            self.changed();
        }
        removed
    }

    pub(crate) fn add_spare(&self, member: Arc<Member>) {
        let mut state = self.state();
        state.spares.push(member);
        self.changed();
    }

    /// Puts a spare into the first slot without a working member, if there are both. The slot and
    /// its new member.
    pub(crate) fn assign_spare(&self, unrecovered: Ranges) -> Option<(usize, Arc<Member>)> {
        let mut state = self.state();
        let number = state.slots.iter().position(Slot::is_out)?;
        if state.spares.is_empty() {
            return None;
        }
        let spare = state.spares.remove(0);
        let member = spare.named(name(number, &spare.device));
        state.slots[number] = Slot::of(Arc::clone(&member), Some(Recovery::of(unrecovered)));
        self.changed();
        Some((number, member))
    }

    /// The member in a slot, if it is in service.
    pub(crate) fn member_in(&self, number: usize) -> Option<Arc<Member>> {
        let state = self.state();
        let slot = &state.slots[number];
        slot.member.clone().filter(|_| !slot.is_out())
    }

    /// The ranges that a member lacks, in bytes of its data.
    pub(crate) fn unrecovered(&self, number: usize) -> Ranges {
        self.state().slots[number]
            .recovery
            .as_ref()
            .map_or(Ranges::none(), |recovery| recovery.unrecovered.clone())
    }

    /// Changes what this member lacks, if it is still in its slot and being rebuilt.
    fn change_recovery(
        &self,
        number: usize,
        member: &Arc<Member>,
        change: impl FnOnce(&mut Recovery),
    ) {
        let mut state = self.state();
        let slot = &mut state.slots[number];
        if slot.is_recovering()
            && slot.holds(member)
            && let Some(recovery) = &mut slot.recovery
        {
            change(recovery);
            self.noted();
        }
    }

    /// This range has been recovered, durably.
    pub(crate) fn recovered(&self, number: usize, member: &Arc<Member>, range: &Range<u64>) {
        self.change_recovery(number, member, |recovery| recovery.unrecovered.remove(range));
    }

    /// All of the member has been recovered, durably.
    pub(crate) fn in_sync(&self, number: usize, member: &Arc<Member>) {
        let mut state = self.state();
        let slot = &mut state.slots[number];
        if slot.is_recovering() && slot.holds(member) {
            slot.recovery = None;
            self.changed();
        }
    }

    /// Puts `replacing`, which reads from `member` and writes to `replacement` too, into the slot
    /// of `member`.
    pub(crate) fn begin_replacing(
        &self,
        number: usize,
        member: &Arc<Member>,
        replacing: Arc<Member>,
        replacement: Arc<Member>,
    ) -> bool {
        let mut state = self.state();
        let slot = &mut state.slots[number];
        if !slot.is_in_sync() || !slot.holds(member) || slot.replacement.is_some() {
            return false;
        }
        (slot.member, slot.replacement) = (Some(replacing), Some(replacement));
        self.changed();
        true
    }

    /// The replacement takes over, or the member `instead`, which was there before.
    pub(crate) fn end_replacing(
        &self,
        number: usize,
        replacing: &Arc<Member>,
        instead: Option<Arc<Member>>,
    ) -> bool {
        let mut state = self.state();
        let slot = &mut state.slots[number];
        if !slot.is_in_sync() || !slot.holds(replacing) {
            return false;
        }
        let replacement = slot.replacement.take();
        if instead.is_none() {
            slot.read_errors = ReadErrors::default();
        }
        slot.member = instead.or(replacement);
        self.changed();
        true
    }

    /// Redundancy may be untrue here.
    pub(crate) fn require_resync(&self, ranges: &Ranges) {
        let mut state = self.state();
        ranges.iter().for_each(|range| state.resync.add(range));
        self.needs_resync.store(!state.resync.is_empty(), Ordering::Release);
        self.changed();
    }

    /// Redundancy is untrue nowhere: none is left.
    pub(crate) fn forget_resync(&self) {
        let mut state = self.state();
        state.resync = Ranges::none();
        self.needs_resync.store(false, Ordering::Release);
        self.changed();
    }

    /// Whether redundancy may be untrue somewhere in the range.
    pub(crate) fn needs_resync(&self, range: &Range<u64>) -> bool {
        self.needs_resync.load(Ordering::Acquire) && self.state().resync.meet(range)
    }

    pub(crate) fn resync_ranges(&self) -> Ranges {
        self.state().resync.clone()
    }

    /// Redundancy is true here, durably.
    pub(crate) fn resynced(&self, range: &Range<u64>) {
        let mut state = self.state();
        state.resync.remove(range);
        self.needs_resync.store(!state.resync.is_empty(), Ordering::Release);
        self.noted();
    }
}

/// What a member's error says about the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request was wrong: any other member would have said the same.
    Request,
    /// These blocks cannot be read there; the member stays.
    Blocks,
    /// The member is faulty.
    Member,
}

pub(crate) fn judge(kind: ErrorKind, while_reading: bool) -> Verdict {
    match kind {
        ErrorKind::Invalid
        | ErrorKind::OutOfRange
        | ErrorKind::Misaligned
        | ErrorKind::ReadOnly
        | ErrorKind::Unsupported => Verdict::Request,
        ErrorKind::Gone => Verdict::Member,
        _ if while_reading => Verdict::Blocks,
        _ => Verdict::Member,
    }
}

#[cfg(test)]
mod tests {
    use block::Device;

    use super::*;

    fn member(name: &str) -> Arc<Member> {
        let device: Arc<dyn Device> = Arc::new(testkit::Memory::new(512));
        Arc::new(Member {
            device,
            data_offset: 0,
            name: name.into(),
            bad_blocks: None,
            replacing: None,
        })
    }

    fn slots(count: usize) -> Health {
        Health::new(
            (0..count).map(|_| Some((member("there"), Ranges::none()))).collect(),
            Ranges::none(),
        )
    }

    #[test]
    fn a_failure_counts_once() {
        let health = slots(6);
        assert!(health.fail(3, None, None, |_| true));
        assert!(health.fail(3, None, None, |_| false), "it is out already");
        assert!(!health.fail(4, None, None, |after| after.count() < 2), "one has to stay");
        assert_eq!((health.generation(), health.absent().count()), (1, 1));
    }

    #[test]
    fn a_member_that_is_gone_without_redundancy_shows_and_is_asked_all_the_same() {
        let health = slots(2);
        health.note_gone(1, "no answer".into());
        health.note_gone(1, "later".into());
        let snapshot = health.snapshot();
        assert_eq!(snapshot.members, [MemberState::InSync, MemberState::Faulty]);
        assert_eq!(snapshot.causes[1], Some("no answer".into()));
        assert_eq!((health.generation(), health.absent().count()), (0, 0), "plans are as before");
    }

    #[test]
    fn a_new_member_does_not_fail_for_the_errors_of_the_one_before() {
        let health = slots(2);
        let before = health.member_in(1).expect("a member");
        assert!(health.fail(1, Some(&before), None, |_| true));
        assert!(health.empty_slot(1).is_some() && health.empty_slot(1).is_none());
        let added = member("new");
        assert!(health.fill_slot(1, Arc::clone(&added), Ranges::one(0..8)));
        assert!(!health.fill_slot(1, member("late"), Ranges::none()), "taken");
        assert!(!health.is_settled(1));
        health.settle(1, &member("another"), None);
        assert!(!health.is_settled(1), "another member's");
        health.settle(1, &added, Some(Ranges::one(4..8)));
        assert!(health.is_settled(1));
        assert_eq!(
            health.snapshot().members[1],
            MemberState::Recovering { recovery_offset: 4, partly: true }
        );
        let generation = health.generation();
        assert!(health.fail(1, Some(&before), None, |_| true));
        assert_eq!(health.generation(), generation);
        // A member that is being rebuilt is missing already, so it may always fail.
        assert!(health.fail(1, Some(&added), None, |_| false));
        assert_eq!(health.snapshot().members[1], MemberState::Faulty);
    }

    #[test]
    fn the_ranges_to_recover_shrink_and_then_the_member_is_in_sync() {
        let health = slots(2);
        let _ = health.fail(0, None, None, |_| true);
        let _ = health.empty_slot(0);
        health.add_spare(member("spare"));
        let (number, spare) = health.assign_spare(Ranges::one(0..100)).expect("a slot and a spare");
        assert_eq!((number, health.snapshot().spares.len()), (0, 0));
        let (generation, revision) = (health.generation(), health.revision());
        health.recovered(0, &spare, &(0..40));
        assert_eq!(
            health.snapshot().members[0],
            MemberState::Recovering { recovery_offset: 40, partly: false }
        );
        health.recovered(0, &member("another"), &(40..100));
        assert_eq!(health.unrecovered(0), Ranges::one(40..100), "another member's");
        assert!(
            health.generation() == generation && health.revision() > revision,
            "plans are as before"
        );
        health.in_sync(0, &spare);
        assert_eq!(
            (health.snapshot().members[0], health.generation()),
            (MemberState::InSync, generation + 1)
        );
    }

    #[test]
    fn the_replacement_of_a_member_that_fails_becomes_a_spare() {
        let health = slots(2);
        let (old, replacing, new) =
            (health.member_in(0).expect("a member"), member("old and new"), member("new"));
        assert!(health.begin_replacing(0, &old, Arc::clone(&replacing), Arc::clone(&new)));
        assert!(
            !health.begin_replacing(0, &replacing, member("old and new"), member("newer")),
            "one at a time"
        );
        assert_eq!(
            (health.snapshot().replaced, health.snapshot().replacements),
            (vec![0], vec!["new".to_owned()])
        );
        assert!(health.fail(0, Some(&replacing), None, |_| true));
        assert_eq!(
            (health.snapshot().spares, health.snapshot().replaced.len()),
            (vec!["new".to_owned()], 0)
        );
        assert!(!health.end_replacing(0, &replacing, None));
        let old = health.member_in(1).expect("a member");
        assert!(
            health.begin_replacing(1, &old, Arc::clone(&replacing), Arc::clone(&new))
                && health.end_replacing(1, &replacing, None)
        );
        assert!(Arc::ptr_eq(&health.member_in(1).expect("a member"), &new));
    }

    const PLACES: u64 = READ_ERRORS_MAX as u64;

    fn place(number: u64) -> Range<u64> {
        number * 4096..number * 4096 + 512
    }

    #[test]
    fn many_bad_sectors_are_a_bad_disk() {
        let health = slots(7);
        let note = |slot, number| health.note_read_error(slot, place(number), Duration::ZERO);
        assert!((0..PLACES).all(|number| !note(5, number)));
        assert!(note(5, PLACES) && !note(6, 0));
        assert_eq!(health.snapshot().read_errors[5], READ_ERRORS_MAX as u32 + 1);
    }

    #[test]
    fn a_bad_sector_that_is_tried_often_is_one() {
        let health = slots(1);
        for attempt in 0..100 {
            let tried = [0..65536, 4096..8192, 4096..4608][attempt % 3].clone();
            assert!(!health.note_read_error(0, tried, Duration::ZERO));
        }
        assert_eq!(health.snapshot().read_errors[0], 1);
    }

    #[test]
    fn what_the_log_names_is_not_counted() {
        let device: Arc<dyn Device> = Arc::new(testkit::Memory::new(1 << 20));
        let lost = Ranges::one(0..PLACES * 8192);
        let member = Arc::new(Member::with_bad_blocks("logged".into(), device, 0, &lost));
        let health = Health::new(vec![Some((member, Ranges::none()))], Ranges::none());
        let mut note =
            (0..2 * PLACES).map(|number| health.note_read_error(0, place(number), Duration::ZERO));
        assert!(note.all(|too_many| !too_many));
        assert_eq!(health.snapshot().read_errors[0], 0);
        assert_eq!(health.snapshot().lost_bytes, [PLACES * 8192]);
    }

    /// As md halves its count of corrected errors each hour.
    #[test]
    fn half_of_the_bad_sectors_are_forgotten_each_hour() {
        let mut errors = ReadErrors::default();
        let hour = |hours: u32| READ_ERRORS_HALVED * hours + Duration::from_secs(1);
        assert!((0..PLACES).all(|number| !errors.note(place(number), hour(5))));
        assert!(!errors.note(place(PLACES), hour(6)), "ten are left, and this is one more");
        assert_eq!((errors.recent.len(), errors.total), (11, 21));
        assert!(!errors.note(place(0), hour(6)), "forgotten, so it counts again");
        assert_eq!(errors.recent.len(), 12);
        assert!(!errors.note(place(99), hour(500)));
        assert_eq!(errors.recent.len(), 1, "after a long time none is left but the last");
    }

    #[test]
    fn one_bad_sector_is_no_bad_disk() {
        assert_eq!(judge(ErrorKind::Media, true), Verdict::Blocks);
        assert_eq!(judge(ErrorKind::Media, false), Verdict::Member);
        assert_eq!(judge(ErrorKind::Gone, true), Verdict::Member);
        assert_eq!(judge(ErrorKind::Unsupported, false), Verdict::Request);
    }
}

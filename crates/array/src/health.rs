//! Which members still count. Shared by all channels of an array.
//!
//! An array without redundancy never changes its health: its members' errors are its own. One with redundancy drops a
//! member that fails a write or a flush, or that is gone. A read that fails for the medium's sake is tried once more; then
//! the others answer it, and the member is written what it could not read. One bad sector is no bad disk, but many are.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use block::{Device, ErrorKind};
use reactor::Ringer;

use crate::maintain::{Holes, Ranges, Twin};

/// The most members an array can have. Beyond that the powers of g, with which Q counts members, are the same again, and md's
/// code for the copies of RAID 10 has no more bits; it is one limit for all levels, so that nobody has to remember several.
pub const MEMBERS_MAX: usize = 255;

/// A set of members.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct MemberSet {
    words: [u64; MEMBERS_MAX.div_ceil(64)],
}

impl MemberSet {
    /// The set without a member.
    pub const EMPTY: MemberSet = MemberSet { words: [0; MEMBERS_MAX.div_ceil(64)] };

    /// Adds a member; false when it was in already.
    pub fn insert(&mut self, member: usize) -> bool {
        let new = !self.contains(member);
        self.words[member / 64] |= 1 << (member % 64);
        new
    }

    /// Whether the member is in.
    #[must_use]
    pub fn contains(&self, member: usize) -> bool {
        self.words[member / 64] >> (member % 64) & 1 == 1
    }

    /// How many are in.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..MEMBERS_MAX).filter(|&member| self.contains(member))
    }

    /// Members of either set.
    #[must_use]
    pub fn union(&self, other: &MemberSet) -> MemberSet {
        let mut both = *self;
        both.words.iter_mut().zip(other.words).for_each(|(word, more)| *word |= more);
        both
    }
}

impl fmt::Debug for MemberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// How many places of a member may turn out unreadable before it is dropped, as md has it.
pub(crate) const READ_ERRORS_MAX: u32 = 20;

/// A device in a place of the array. Whoever leaves a place and comes back gets a new seat, so that what the old one still
/// owes cannot be mistaken for the new one's.
pub(crate) struct Seat {
    pub(crate) device: Arc<dyn Device>,
    /// Where on the device the array's data begin, in bytes.
    pub(crate) data_offset: u64,
    /// How messages call it.
    pub(crate) name: String,
    /// Where what cannot be restored is noted, if anything ever was owed to it.
    pub(crate) holes: Option<Arc<Holes>>,
    /// It serves while its contents go to a successor.
    pub(crate) twin: Option<Arc<Twin>>,
}

impl Seat {
    /// A device with places that are lost, in bytes of its data, or to be restored.
    pub(crate) fn with_holes(name: String, device: Arc<dyn Device>, data_offset: u64, lost: &Ranges) -> Seat {
        let lost = lost.iter().map(|range| range.start + data_offset..range.end + data_offset).collect();
        let holes = Holes::over(device, lost);
        Seat { device: Arc::clone(&holes) as Arc<dyn Device>, data_offset, name, holes: Some(holes), twin: None }
    }

    /// The device itself, without what it is looked at through.
    pub(crate) fn whole_device(&self) -> Arc<dyn Device> {
        match (&self.twin, &self.holes) {
            (Some(twin), _) => twin.member().whole_device(),
            (None, Some(holes)) => Arc::clone(holes.below()),
            (None, None) => Arc::clone(&self.device),
        }
    }

    /// The same under another name.
    fn named(&self, name: String) -> Arc<Seat> {
        let Seat { device, data_offset, holes, twin, .. } = self;
        Arc::new(Seat { device: Arc::clone(device), data_offset: *data_offset, name, holes: holes.clone(), twin: twin.clone() })
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// What becomes of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nobody is in its place.
    Empty,
    /// It does not count any more; its device has not been taken out yet.
    Failed,
    /// It gets what is written and is not read. Before `position`, in bytes of the member's data, nothing is owed to it.
    Rebuilding {
        /// In bytes.
        position: u64,
        /// Only some ranges are owed, for it was away for a while only: `position` alone does not say which.
        partly: bool,
    },
    /// It holds what it should.
    InSync,
}

/// The whole truth about the members at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Changes whenever plans have to be made differently: a member fails, comes or is in sync.
    pub generation: u64,
    /// Changes with anything in here.
    pub revision: u64,
    /// Of each place.
    pub members: Vec<Condition>,
    /// How messages call who is in each place.
    pub names: Vec<String>,
    /// How many places of each member could not be read since it came, and were made from the others.
    pub read_errors: Vec<u32>,
    /// Why each member has failed; `None` where it has not, or was asked to.
    pub causes: Vec<Option<String>>,
    /// Whose contents go to a new device while it still serves.
    pub replaced: Vec<usize>,
    /// How messages call these new devices, in the same order.
    pub successors: Vec<String>,
    /// The first byte whose redundancy may be untrue, in bytes of [`Level::sync_bytes`](crate::Level::sync_bytes); `None`
    /// when all is in sync.
    pub resync: Option<u64>,
    /// How messages call the devices that wait for a member to fail.
    pub spares: Vec<String>,
}

impl Snapshot {
    /// The members that are neither read nor written.
    #[must_use]
    pub fn absent(&self) -> MemberSet {
        self.chosen(|condition| matches!(condition, Condition::Empty | Condition::Failed))
    }

    /// The members that are written but not read.
    #[must_use]
    pub fn stale(&self) -> MemberSet {
        self.chosen(|condition| matches!(condition, Condition::Rebuilding { .. }))
    }

    /// How messages call those who have failed, each with the cause where it was not asked for.
    #[must_use]
    pub fn failed(&self) -> Vec<(String, Option<String>)> {
        let failed = (0..self.members.len()).filter(|&member| self.members[member] == Condition::Failed);
        failed.map(|member| (self.names[member].clone(), self.causes[member].clone())).collect()
    }

    fn chosen(&self, choose: impl Fn(Condition) -> bool) -> MemberSet {
        let mut set = MemberSet::EMPTY;
        self.members.iter().enumerate().filter(|(_, condition)| choose(**condition)).for_each(|(member, _)| {
            set.insert(member);
        });
        set
    }
}

/// A place of the array.
#[derive(Debug)]
struct Place {
    seat: Option<Arc<Seat>>,
    condition: Standing,
    /// What the member has not got yet, in bytes of its data.
    owed: Ranges,
    /// Some of it was never owed.
    partly: bool,
    /// It is being found out how much of it is owed in fact: nothing is restored before that.
    is_unsettled: bool,
    /// Places that could not be read.
    read_errors: u32,
    /// Why it has failed, where it was not asked to.
    cause: Option<String>,
    /// Reads and writes go to the old device, and writes also to the new one, which waits here.
    successor: Option<Arc<Seat>>,
}

impl Place {
    /// Of somebody, or nobody, who has just come.
    fn of(seat: Option<Arc<Seat>>, condition: Standing, owed: Ranges) -> Place {
        Place { seat, condition, owed, partly: false, is_unsettled: false, read_errors: 0, cause: None, successor: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Out,
    Stale,
    InSync,
}

#[derive(Debug)]
struct State {
    places: Vec<Place>,
    spares: Vec<Arc<Seat>>,
    /// Where redundancy may be untrue.
    resync: Ranges,
}

impl State {
    fn set_of(&self, standing: Standing) -> MemberSet {
        let mut set = MemberSet::EMPTY;
        for (member, _) in self.places.iter().enumerate().filter(|(_, place)| place.condition == standing) {
            set.insert(member);
        }
        set
    }
}

/// What a channel keeps a copy of until the generation changes.
pub(crate) struct Roster {
    pub(crate) generation: u64,
    pub(crate) absent: MemberSet,
    pub(crate) stale: MemberSet,
    pub(crate) seats: Vec<Option<Arc<Seat>>>,
}

/// Who is in which place, and what he is worth.
#[derive(Debug)]
pub(crate) struct Health {
    state: Mutex<State>,
    generation: AtomicU64,
    revision: AtomicU64,
    /// Redundancy may be untrue somewhere.
    owes_resync: AtomicBool,
    /// Who wants to know when somebody comes or goes.
    watchers: Mutex<Vec<Weak<Ringer>>>,
}

impl Health {
    /// Places with who is there, and what is owed to him; `None` is nobody.
    pub(crate) fn new(places: Vec<Option<(Arc<Seat>, Ranges)>>, resync: Ranges) -> Health {
        let places = places.into_iter().map(|place| {
            let (seat, owed) = place.unzip();
            let owed = owed.unwrap_or_default();
            let condition = match &seat {
                None => Standing::Out,
                Some(_) if owed.is_empty() => Standing::InSync,
                Some(_) => Standing::Stale,
            };
            Place::of(seat, condition, owed)
        });
        let owes_resync = AtomicBool::new(!resync.is_empty());
        let state = State { places: places.collect(), spares: Vec::new(), resync };
        Health {
            state: Mutex::new(state),
            generation: AtomicU64::new(0),
            revision: AtomicU64::new(0),
            owes_resync,
            watchers: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Under the state's lock, after a change of who counts for what.
    fn changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
        self.noted();
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| watcher.upgrade().map(|bell| bell.ring()).is_some());
    }

    /// Rings this bell, as long as somebody has it, when a member comes, goes or is in sync.
    pub(crate) fn watch(&self, bell: &Arc<Ringer>) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(bell));
    }

    /// Under the state's lock, after any change.
    fn noted(&self) {
        self.revision.fetch_add(1, Ordering::Release);
    }

    /// Members that are not there or have failed.
    pub(crate) fn absent(&self) -> MemberSet {
        self.state().set_of(Standing::Out)
    }

    /// Changes with everything that plans depend on, so that a channel can keep a copy of it.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Changes with everything that a snapshot shows.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    pub(crate) fn roster(&self) -> Roster {
        let state = self.state();
        Roster {
            generation: self.generation(),
            absent: state.set_of(Standing::Out),
            stale: state.set_of(Standing::Stale),
            seats: state.places.iter().map(|place| place.seat.clone()).collect(),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.state();
        let condition = |place: &Place| match (place.condition, &place.seat) {
            (Standing::Out, None) => Condition::Empty,
            (Standing::Out, Some(_)) => Condition::Failed,
            (Standing::Stale, _) => {
                let position = place.owed.first().unwrap_or(u64::MAX);
                Condition::Rebuilding { position, partly: place.partly }
            }
            (Standing::InSync, _) => Condition::InSync,
        };
        let name = |(number, place): (usize, &Place)| place.seat.as_ref().map_or_else(|| missing_name(number), |seat| seat.name.clone());
        Snapshot {
            generation: self.generation(),
            revision: self.revision(),
            members: state.places.iter().map(condition).collect(),
            names: state.places.iter().enumerate().map(name).collect(),
            read_errors: state.places.iter().map(|place| place.read_errors).collect(),
            causes: state.places.iter().map(|place| place.cause.clone().filter(|_| condition(place) == Condition::Failed)).collect(),
            replaced: (0..state.places.len()).filter(|&member| state.places[member].successor.is_some()).collect(),
            successors: state.places.iter().filter_map(|place| Some(place.successor.as_ref()?.name.clone())).collect(),
            resync: state.resync.first(),
            spares: state.spares.iter().map(|spare| spare.name.clone()).collect(),
        }
    }

    /// Drops a member unless `may_go`, asked about all that would be missing then, forbids it. Whether who sat there is out
    /// now. `seat` is whose fault it was: if somebody else sits there meanwhile, he stays. `cause` is what he did, unless somebody
    /// asked for it.
    pub(crate) fn fail(
        &self,
        member: usize,
        seat: Option<&Arc<Seat>>,
        cause: Option<&dyn fmt::Display>,
        may_go: impl FnOnce(&MemberSet) -> bool,
    ) -> bool {
        let mut state = self.state();
        let place = &state.places[member];
        let same = match (seat, &place.seat) {
            (Some(seat), Some(sitting)) => Arc::ptr_eq(seat, sitting),
            _ => true,
        };
        if place.condition == Standing::Out || !same {
            return true;
        }
        let mut missing = state.set_of(Standing::Out).union(&state.set_of(Standing::Stale));
        // Who is being rebuilt has nothing that anybody misses.
        if missing.insert(member) && !may_go(&missing) {
            return false;
        }
        let place = &mut state.places[member];
        place.condition = Standing::Out;
        place.cause = cause.map(ToString::to_string);
        place.owed = Ranges::none();
        // What it has got already is of little use without the old one, but it is a device to go on with.
        let successor = place.successor.take();
        state.spares.splice(0..0, successor);
        self.changed();
        true
    }

    /// How many places of the member could not be read since it came.
    pub(crate) fn read_errors(&self, member: usize) -> u32 {
        self.state().places.get(member).map_or(0, |place| place.read_errors)
    }

    /// What of the member's data is lost, in bytes.
    pub(crate) fn lost(&self, member: usize) -> Ranges {
        let seat = self.state().places.get(member).and_then(|place| place.seat.clone());
        let Some((holes, offset)) = seat.and_then(|seat| Some((seat.holes.clone()?, seat.data_offset))) else { return Ranges::none() };
        holes.lost().iter().map(|range| range.start.saturating_sub(offset)..range.end.saturating_sub(offset)).collect()
    }

    /// Counts a place of the member that could not be read. Whether there were too many.
    pub(crate) fn count_read_error(&self, member: usize) -> bool {
        let count = &mut self.state().places[member].read_errors;
        *count += 1;
        *count > READ_ERRORS_MAX
    }
}

/// Who comes and goes.
impl Health {
    /// Seats somebody in a place that is empty, to be given what it owes him once that is [`settle`](Health::settle)d. False
    /// when somebody is there.
    pub(crate) fn take_seat(&self, member: usize, seat: Arc<Seat>, owed: Ranges) -> bool {
        let mut state = self.state();
        let place = &mut state.places[member];
        if place.condition != Standing::Out || place.seat.is_some() {
            return false;
        }
        *place = Place { is_unsettled: true, ..Place::of(Some(seat), Standing::Stale, owed) };
        self.changed();
        true
    }

    /// Who has taken a seat is owed what was said then, or no more than `less` if he was away for a while only.
    pub(crate) fn settle(&self, member: usize, seat: &Arc<Seat>, less: Option<Ranges>) {
        self.with_stale(member, seat, |place| {
            place.is_unsettled = false;
            if let Some(owed) = less {
                (place.owed, place.partly) = (owed, true);
            }
            // Whoever restores members waits for this.
            self.changed();
        });
    }

    /// Whether it is known what is owed to a member.
    pub(crate) fn is_settled(&self, member: usize) -> bool {
        !self.state().places[member].is_unsettled
    }

    /// Takes who has failed out of his place.
    pub(crate) fn leave_seat(&self, member: usize) -> Option<Arc<Seat>> {
        let mut state = self.state();
        let place = &mut state.places[member];
        let left = if place.condition == Standing::Out { place.seat.take() } else { None };
        if left.is_some() {
            self.changed();
        }
        left
    }

    pub(crate) fn add_spare(&self, seat: Arc<Seat>) {
        let mut state = self.state();
        state.spares.push(seat);
        self.changed();
    }

    /// Seats a spare where a member is missing, if there are both. Where, and who.
    pub(crate) fn seat_spare(&self, owed: Ranges) -> Option<(usize, Arc<Seat>)> {
        let mut state = self.state();
        let member = state.places.iter().position(|place| place.condition == Standing::Out)?;
        if state.spares.is_empty() {
            return None;
        }
        let spare = state.spares.remove(0);
        let seat = spare.named(crate::device::name(member, &spare.device));
        state.places[member] = Place::of(Some(Arc::clone(&seat)), Standing::Stale, owed);
        self.changed();
        Some((member, seat))
    }

    /// Who sits in a place, if he is not out.
    pub(crate) fn seat_of(&self, member: usize) -> Option<Arc<Seat>> {
        let state = self.state();
        let place = &state.places[member];
        place.seat.clone().filter(|_| place.condition != Standing::Out)
    }

    /// What is owed to a member that is being rebuilt.
    pub(crate) fn owed(&self, member: usize) -> Ranges {
        self.state().places[member].owed.clone()
    }

    fn with_stale(&self, member: usize, seat: &Arc<Seat>, change: impl FnOnce(&mut Place)) {
        let mut state = self.state();
        let place = &mut state.places[member];
        if place.condition == Standing::Stale && place.seat.as_ref().is_some_and(|sitting| Arc::ptr_eq(sitting, seat)) {
            change(place);
            self.noted();
        }
    }

    /// The member has got this, durably.
    pub(crate) fn restored(&self, member: usize, seat: &Arc<Seat>, range: &Range<u64>) {
        self.with_stale(member, seat, |place| place.owed.remove(range));
    }

    /// The member has got all.
    pub(crate) fn in_sync(&self, member: usize, seat: &Arc<Seat>) {
        self.with_stale(member, seat, |place| {
            (place.condition, place.owed, place.partly) = (Standing::InSync, Ranges::none(), false);
            self.changed();
        });
    }

    /// Puts `twin`, which serves from the member that is there and writes to `successor` too, in the place of `seat`.
    pub(crate) fn begin_replacing(&self, member: usize, seat: &Arc<Seat>, twin: Arc<Seat>, successor: Arc<Seat>) -> bool {
        let mut state = self.state();
        let place = &mut state.places[member];
        let same = place.seat.as_ref().is_some_and(|sitting| Arc::ptr_eq(sitting, seat));
        if place.condition != Standing::InSync || !same || place.successor.is_some() {
            return false;
        }
        (place.seat, place.successor) = (Some(twin), Some(successor));
        self.changed();
        true
    }

    /// The successor takes over from the twin, or with `instead` he who was there before does.
    pub(crate) fn end_replacing(&self, member: usize, twin: &Arc<Seat>, instead: Option<Arc<Seat>>) -> bool {
        let mut state = self.state();
        let place = &mut state.places[member];
        if place.condition != Standing::InSync || !place.seat.as_ref().is_some_and(|sitting| Arc::ptr_eq(sitting, twin)) {
            return false;
        }
        let successor = place.successor.take();
        if instead.is_none() {
            place.read_errors = 0;
        }
        place.seat = instead.or(successor);
        self.changed();
        true
    }

    /// Redundancy may be untrue here.
    pub(crate) fn owe_resync(&self, ranges: &Ranges) {
        let mut state = self.state();
        ranges.iter().for_each(|range| state.resync.add(range));
        self.owes_resync.store(!state.resync.is_empty(), Ordering::Release);
        self.changed();
    }

    /// Whether redundancy may be untrue somewhere in the range.
    pub(crate) fn owes_resync(&self, range: &Range<u64>) -> bool {
        self.owes_resync.load(Ordering::Acquire) && self.state().resync.meet(range)
    }

    pub(crate) fn owed_resync(&self) -> Ranges {
        self.state().resync.clone()
    }

    /// Redundancy is true here, durably.
    pub(crate) fn resynced(&self, range: &Range<u64>) {
        let mut state = self.state();
        state.resync.remove(range);
        self.owes_resync.store(!state.resync.is_empty(), Ordering::Release);
        self.noted();
    }
}

/// How messages call a place with nobody in it.
pub(crate) fn missing_name(member: usize) -> String {
    format!("member {member} (missing)")
}

/// What a member's error says about the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request was wrong: any other member would have said the same.
    Request,
    /// These blocks cannot be read there; the member stays.
    Blocks,
    /// The member does not count any more.
    Member,
}

pub(crate) fn judge(kind: ErrorKind, while_reading: bool) -> Verdict {
    match kind {
        ErrorKind::Invalid | ErrorKind::OutOfRange | ErrorKind::Misaligned | ErrorKind::ReadOnly | ErrorKind::Unsupported => {
            Verdict::Request
        }
        ErrorKind::Gone => Verdict::Member,
        _ if while_reading => Verdict::Blocks,
        _ => Verdict::Member,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in() {
        let mut set = MemberSet::EMPTY;
        assert!([0, 63, 64, 254].into_iter().all(|member| set.insert(member)));
        assert!(!set.insert(64));
        assert_eq!((set.count(), set.iter().collect::<Vec<_>>()), (4, vec![0, 63, 64, 254]));
        let mut other = MemberSet::EMPTY;
        other.insert(7);
        assert_eq!(format!("{:?}", set.union(&other)), "{0, 7, 63, 64, 254}");
    }

    fn seat(name: &str) -> Arc<Seat> {
        let device: Arc<dyn Device> = Arc::new(testkit::Memory::new(512));
        Arc::new(Seat { device, data_offset: 0, name: name.to_owned(), holes: None, twin: None })
    }

    fn places(count: usize) -> Health {
        Health::new((0..count).map(|_| Some((seat("there"), Ranges::none()))).collect(), Ranges::none())
    }

    #[test]
    fn a_failure_counts_once() {
        let health = places(6);
        assert!(health.fail(3, None, None, |_| true));
        assert!(health.fail(3, None, None, |_| false), "it is out already");
        assert!(!health.fail(4, None, None, |after| after.count() < 2), "somebody has to stay");
        assert_eq!((health.generation(), health.absent().count()), (1, 1));
    }

    #[test]
    fn nobody_is_dropped_for_what_another_did_in_his_place() {
        let health = places(2);
        let before = health.seat_of(1).expect("somebody");
        assert!(health.fail(1, Some(&before), None, |_| true));
        assert!(health.leave_seat(1).is_some() && health.leave_seat(1).is_none());
        let newcomer = seat("new");
        assert!(health.take_seat(1, Arc::clone(&newcomer), Ranges::one(0..8)));
        assert!(!health.take_seat(1, seat("late"), Ranges::none()), "taken");
        assert!(!health.is_settled(1));
        health.settle(1, &seat("somebody else"), None);
        assert!(!health.is_settled(1), "not his");
        health.settle(1, &newcomer, Some(Ranges::one(4..8)));
        assert!(health.is_settled(1));
        assert_eq!(health.snapshot().members[1], Condition::Rebuilding { position: 4, partly: true });
        let generation = health.generation();
        assert!(health.fail(1, Some(&before), None, |_| true));
        assert_eq!(health.generation(), generation);
        // Who is being rebuilt may always go: nobody misses it.
        assert!(health.fail(1, Some(&newcomer), None, |_| false));
        assert_eq!(health.snapshot().members[1], Condition::Failed);
    }

    #[test]
    fn what_is_owed_shrinks_and_then_it_is_in_sync() {
        let health = places(2);
        let _ = health.fail(0, None, None, |_| true);
        let _ = health.leave_seat(0);
        health.add_spare(seat("spare"));
        let (member, spare) = health.seat_spare(Ranges::one(0..100)).expect("a place and a spare");
        assert_eq!((member, health.snapshot().spares.len()), (0, 0));
        let (generation, revision) = (health.generation(), health.revision());
        health.restored(0, &spare, &(0..40));
        assert_eq!(health.snapshot().members[0], Condition::Rebuilding { position: 40, partly: false });
        health.restored(0, &seat("somebody else"), &(40..100));
        assert_eq!(health.owed(0), Ranges::one(40..100), "not his");
        assert!(health.generation() == generation && health.revision() > revision, "plans are as before");
        health.in_sync(0, &spare);
        assert_eq!((health.snapshot().members[0], health.generation()), (Condition::InSync, generation + 1));
    }

    #[test]
    fn the_successor_of_a_member_that_fails_becomes_a_spare() {
        let health = places(2);
        let (old, twin, new) = (health.seat_of(0).expect("somebody"), seat("twin"), seat("new"));
        assert!(health.begin_replacing(0, &old, Arc::clone(&twin), Arc::clone(&new)));
        assert!(!health.begin_replacing(0, &twin, seat("twin"), seat("newer")), "one at a time");
        assert_eq!((health.snapshot().replaced, health.snapshot().successors), (vec![0], vec!["new".to_owned()]));
        assert!(health.fail(0, Some(&twin), None, |_| true));
        assert_eq!((health.snapshot().spares, health.snapshot().replaced.len()), (vec!["new".to_owned()], 0));
        assert!(!health.end_replacing(0, &twin, None));
        let old = health.seat_of(1).expect("somebody");
        assert!(health.begin_replacing(1, &old, Arc::clone(&twin), Arc::clone(&new)) && health.end_replacing(1, &twin, None));
        assert!(Arc::ptr_eq(&health.seat_of(1).expect("somebody"), &new));
    }

    #[test]
    fn many_bad_sectors_are_a_bad_disk() {
        let health = places(7);
        assert!((0..READ_ERRORS_MAX).all(|_| !health.count_read_error(5)));
        assert!(health.count_read_error(5) && !health.count_read_error(6));
    }

    #[test]
    fn one_bad_sector_is_no_bad_disk() {
        assert_eq!(judge(ErrorKind::Media, true), Verdict::Blocks);
        assert_eq!(judge(ErrorKind::Media, false), Verdict::Member);
        assert_eq!(judge(ErrorKind::Gone, true), Verdict::Member);
        assert_eq!(judge(ErrorKind::Unsupported, false), Verdict::Request);
    }
}

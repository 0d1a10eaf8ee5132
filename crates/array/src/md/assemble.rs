//! From the superblocks of several members to what they amount to: which member is in which slot,
//! which are stale or missing, and whether the array may start.
//!
//! ```text
//!   candidates ──> usable? ──> the newest ──> the others against it ──> slots,    ──> may it
//!                  alone       events         same array and shape?     spares,       start?
//!                                             same age?                 left out
//! ```
//!
//! The member with the most events knows best. One event less is what a crash between two
//! superblock writes leaves, and is taken; more than that means that the array went on without the
//! member, which then holds old data and is never mixed in.
//!
//! Nor is one that was being written to, with one event less than a member that is clean: that is a
//! copy from before, for raidloom calls an array clean only once all members have had the event.
//! Where too few members are left without such ones it may be a crash of md's driver, which does
//! both at once: then force takes them.
//!
//! md's driver takes an event back when an array that was dirty is clean again. So an old copy of a
//! member that is put back may have as many events as the others, or one more if it was dirty: the
//! time of its last update tells, and it is stale.
//!
//! Where nothing stands in for a member, at linear and level 0, a stale one is used by force.

use std::fmt;

use words::{Message, Text, statement};

use super::usability::is_whole;
use super::{
    BitmapHeader, Features, Layout, Level, Reshape, Role, Superblock, TimeStamp, Version, uuid_text,
};
use crate::catalogue;
use crate::geometry::Raid0Layout;

/// A member as it was found.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What to call it in messages: its path.
    pub name: String,
    /// Its size in sectors of 512 bytes.
    pub size_sectors: u64,
    /// Where the superblock was found.
    pub version: Version,
    /// Its superblock.
    pub superblock: Superblock,
    /// The head of its bitmap, where it has a readable one.
    pub bitmap: Option<BitmapHeader>,
}

/// What the person may decide where superblocks do not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssembleOptions {
    /// The layout of a level 0 array whose superblocks name none.
    pub raid0_layout: Option<Raid0Layout>,
}

/// Where a member's data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedDevice {
    /// Which candidate, counted from 0.
    pub candidate: usize,
    /// Where its data start, in sectors.
    pub data_offset_sectors: u64,
    /// How many sectors of data it may hold.
    pub data_size_sectors: u64,
}

/// One slot of the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A member that holds all of its data.
    Present(UsedDevice),
    /// A member that holds its data up to a sector, counted from the start of its data.
    Recovering {
        /// The member.
        used: UsedDevice,
        /// Up to here it can be read.
        recovered_sectors: u64,
    },
    /// A member is there, and its data are old: it is not used.
    Stale {
        /// Which candidate.
        candidate: usize,
        /// Whether writing the bitmap's dirty regions brings it up to date; otherwise it has to be
        /// rebuilt.
        by_bitmap: bool,
    },
    /// The slot is empty.
    Missing,
}

impl Slot {
    /// The member when it holds all of its data.
    #[must_use]
    pub fn present(&self) -> Option<&UsedDevice> {
        match self {
            Slot::Present(used) => Some(used),
            _ => None,
        }
    }
}

/// A candidate that is not used, and why: one line that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Which candidate.
    pub candidate: usize,
    /// The reason.
    pub reason: Text,
}

/// Whether the array may start. Every reason is one line that names member and field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Startability {
    /// It may.
    Ready,
    /// It may be read and not written.
    ReadOnly(Vec<Text>),
    /// It may be read, and written only with force: the reasons say what may be lost.
    ReadOnlyOrForce(Vec<Text>),
    /// It may with force, and the reasons say what may be lost.
    NeedsForce(Vec<Text>),
    /// It cannot.
    Refused(Vec<Text>),
}

impl From<&Startability> for Text {
    fn from(start: &Startability) -> Text {
        let (verdict, reasons) = match start {
            Startability::Ready => return catalogue::START_READY.into(),
            Startability::ReadOnly(reasons) => (catalogue::START_READ_ONLY, reasons),
            Startability::ReadOnlyOrForce(reasons) => {
                (catalogue::START_READ_ONLY_OR_FORCE, reasons)
            }
            Startability::NeedsForce(reasons) => (catalogue::START_NEEDS_FORCE, reasons),
            Startability::Refused(reasons) => (catalogue::START_REFUSED, reasons),
        };
        Text::joined(reasons, "; ").at(verdict)
    }
}

impl fmt::Display for Startability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text::from(self))
    }
}

/// What a set of members amounts to.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The array.
    pub set_uuid: [u8; 16],
    /// Its name.
    pub name: String,
    /// Its level.
    pub level: Level,
    /// Its layout; for level 0 as the options had it where the superblocks have none.
    pub layout: Layout,
    /// Chunk in sectors.
    pub chunk_sectors: u32,
    /// What the array uses of each member, in sectors; 0 for linear and level 0.
    pub size_sectors: u64,
    /// The array's size in sectors; `None` when members are missing whose size counts.
    pub array_sectors: Option<u64>,
    /// The change of shape that is under way: then layout and chunk are the old ones.
    pub reshape: Option<Reshape>,
    /// The candidate that was updated last, whose superblock counts.
    pub newest: usize,
    /// How often the array's state has changed, by that superblock.
    pub events: u64,
    /// When that superblock was written.
    pub updated: TimeStamp,
    /// The places of the layout by role.
    pub slots: Vec<Slot>,
    /// Further candidates that claim a slot, which one in it has as good a claim to: nothing tells
    /// whose it is. Slot and candidate.
    pub undecided: Vec<(usize, usize)>,
    /// Candidates that wait to take a slot.
    pub spares: Vec<usize>,
    /// Candidates that hold the array's journal.
    pub journals: Vec<usize>,
    /// Candidates that are not used; stale ones too.
    pub left_out: Vec<LeftOut>,
    /// What else is to be known of candidates: one line each, which names the candidate.
    pub notes: Vec<Text>,
    /// Whether the members agree everywhere.
    pub clean: bool,
    /// From which sector on they may differ when not.
    pub resync_offset_sectors: u64,
    /// Whether it may start.
    pub start: Startability,
}

impl Assembly {
    /// The candidates that claim a slot besides the one that is in it.
    pub fn claimants(&self, slot: usize) -> impl Iterator<Item = usize> {
        self.undecided
            .iter()
            .filter(move |(claimed, _)| *claimed == slot)
            .map(|(_, candidate)| *candidate)
    }

    /// Why such an array ([`Assembly::reads_wrong_without_log`]) is not just read.
    pub const WITHOUT_LOG: Message = catalogue::WITHOUT_LOG;

    /// Whether parity has to be made from a partial parity log before what is missing can be made
    /// from it: it was being written, lacks a member, and may be started all the same. An array
    /// that may not write parity reads wrong.
    #[must_use]
    pub fn reads_wrong_without_log(&self) -> bool {
        self.start == Startability::Ready
            && self.level.parity_count() > 0
            && !self.clean
            && self.degraded_count() > 0
    }

    /// How many places have no member that holds all of its data.
    #[must_use]
    pub fn degraded_count(&self) -> usize {
        self.slots.iter().filter(|slot| slot.present().is_none()).count()
    }

    /// md's way to show the places: `U` for up, `_` for not.
    #[must_use]
    pub fn slots_text(&self) -> String {
        let letters: String = self
            .slots
            .iter()
            .enumerate()
            .map(|(place, slot)| match slot.present() {
                _ if self.claimants(place).next().is_some() => '?',
                Some(_) => 'U',
                None => '_',
            })
            .collect();
        format!("[{letters}]")
    }
}

/// The candidates of each array, by their place in `candidates`; arrays in the order in which they
/// first appear.
#[must_use]
pub fn group(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let same = |group: &&mut Vec<usize>| {
            candidates[group[0]].superblock.set_uuid == candidate.superblock.set_uuid
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Decides what the candidates of one array amount to.
///
/// # Errors
/// One line when there is nothing to start from: no candidate is usable, or they belong to several
/// arrays.
pub fn assemble(candidates: &[Candidate], options: AssembleOptions) -> Result<Assembly, Text> {
    if let [first, others @ ..] = candidates
        && let Some(other) =
            others.iter().find(|other| other.superblock.set_uuid != first.superblock.set_uuid)
    {
        let (one, two) =
            (uuid_text(&first.superblock.set_uuid), uuid_text(&other.superblock.set_uuid));
        return Err(statement!(
            catalogue::MEMBERS_OF_TWO_ARRAYS,
            first = &first.name,
            one = one,
            second = &other.name,
            two = two
        ));
    }
    let mut left_out = Vec::new();
    let usable: Vec<usize> = (0..candidates.len())
        .filter(|&index| {
            let candidate = &candidates[index];
            let problems = candidate.superblock.problems(candidate.version, candidate.size_sectors);
            if let Some(problem) = problems.first() {
                left_out.push(LeftOut {
                    candidate: index,
                    reason: Text::from(problem).at(&candidate.name),
                });
            }
            problems.is_empty()
        })
        .collect();
    // The first of the newest, so that the order in which members are named decides nothing but
    // ties. Of two with the same events and time, the one that is clean was written later.
    let age = |index: usize| {
        let Superblock { events, updated, .. } = candidates[index].superblock;
        (events, updated, candidates[index].superblock.is_clean())
    };
    let Some(newest) =
        usable.iter().copied().max_by_key(|&index| (age(index), std::cmp::Reverse(index)))
    else {
        return Err(match left_out.first() {
            Some(first) => statement!(catalogue::NO_USABLE_MEMBER, why = &first.reason),
            None => catalogue::NO_MEMBERS_NAMED.into(),
        });
    };
    let by = |newest: usize, takes_doubtful: bool| {
        let mut sorting = Sorting::new(candidates, newest, left_out.clone());
        sorting.takes_doubtful = takes_doubtful;
        usable.iter().for_each(|&index| sorting.place(index));
        sorting.finish(options)
    };
    // A member that was called clean since is newer than one that was dirty before, though its
    // event was taken back. Where too few are, the dirty ones count as they do after any crash.
    let (events, updated, is_clean) = age(newest);
    let is_cleaned = |&index: &usize| {
        let own = &candidates[index].superblock;
        own.is_clean()
            && own.events.checked_add(1) == Some(events)
            && own.updated > updated
            && matches!(own.role(), Role::Active(_))
    };
    let cleaned = usable
        .iter()
        .copied()
        .filter(is_cleaned)
        .max_by_key(|&index| (age(index), std::cmp::Reverse(index)));
    let starts = |assembly: &Assembly| !matches!(assembly.start, Startability::Refused(_));
    let found = cleaned.filter(|_| !is_clean).map(|cleaned| by(cleaned, false)).filter(starts);
    let found = found.unwrap_or_else(|| by(newest, false));
    if starts(&found) {
        return Ok(found);
    }
    Ok(Some(by(newest, true)).filter(starts).unwrap_or(found))
}

/// The work of [`assemble`] once the newest member is known.
struct Sorting<'a> {
    candidates: &'a [Candidate],
    newest: usize,
    slots: Vec<Slot>,
    spares: Vec<usize>,
    journals: Vec<usize>,
    left_out: Vec<LeftOut>,
    notes: Vec<Text>,
    /// Why the array cannot start.
    conflicts: Vec<Text>,
    undecided: Vec<(usize, usize)>,
    /// Whether members are used that are more likely old copies than what a crash left.
    takes_doubtful: bool,
    /// Of each member that is used so, what is doubtful about it.
    doubts: Vec<Text>,
}

impl<'a> Sorting<'a> {
    fn new(candidates: &'a [Candidate], newest: usize, left_out: Vec<LeftOut>) -> Sorting<'a> {
        // What is usable has no more than there are roles.
        let slots = vec![Slot::Missing; candidates[newest].superblock.disks_most() as usize];
        Sorting {
            candidates,
            newest,
            slots,
            spares: Vec::new(),
            journals: Vec::new(),
            left_out,
            notes: Vec::new(),
            conflicts: Vec::new(),
            undecided: Vec::new(),
            takes_doubtful: false,
            doubts: Vec::new(),
        }
    }

    fn master(&self) -> &'a Superblock {
        &self.candidates[self.newest].superblock
    }

    fn leave_out(&mut self, candidate: usize, reason: impl Into<Text>) {
        let reason = reason.into().at(&self.candidates[candidate].name);
        self.left_out.push(LeftOut { candidate, reason });
    }

    /// Finds a candidate's slot.
    fn place(&mut self, index: usize) {
        let candidate = &self.candidates[index];
        let (own, master) = (&candidate.superblock, self.master());
        let behind = master.events.saturating_sub(own.events);
        match own.role() {
            Role::Spare => return self.spares.push(index),
            Role::Faulty if behind <= 1 => {
                return self.leave_out(index, catalogue::MARKED_FAULTY);
            }
            _ => (),
        }
        if self.is_left_behind(index, behind) {
            return;
        }
        if let Some((field, own, master)) = difference(master, own) {
            let newest_name = &self.candidates[self.newest].name;
            let (said, newest) = (catalogue::FIELDS_DIFFER, newest_name);
            let text = statement!(said, field = field, own = own, newest = newest, other = master);
            self.conflicts.push(text.at(&candidate.name));
            return;
        }
        match own.role() {
            Role::Active(role) if self.is_taken_as(index, role) => self.take_slot(index, role),
            Role::Active(_) => (),
            _ => self.journals.push(index),
        }
    }

    /// Whether a candidate is left out for its events, which are so many fewer than the newest
    /// one's.
    fn is_left_behind(&mut self, index: usize, behind: u64) -> bool {
        let candidate = &self.candidates[index];
        let (own, master) = (&candidate.superblock, self.master());
        let newest_name = &self.candidates[self.newest].name;
        let is_one_behind_clean = behind == 1
            && master.is_clean()
            && !own.is_clean()
            && matches!(own.role(), Role::Active(_));
        if behind <= 1 && !is_one_behind_clean {
            return false;
        }
        let state = if is_one_behind_clean {
            statement!(catalogue::CLEAN_SINCE, newest_name = newest_name)
        } else {
            Text::default()
        };
        let events = statement!(
            catalogue::MEMBER_EVENTS,
            own = own.events,
            newest_name = newest_name,
            newest = master.events,
            state = state
        );
        let is_needed = !master.level.is_redundant() || is_one_behind_clean;
        if !(is_needed && self.takes_doubtful) {
            self.leave_out_stale(index, events);
            return true;
        }
        let text = statement!(catalogue::MEMBER_BEHIND, events = events);
        self.doubts.push(text.at(&candidate.name));
        false
    }

    fn leave_out_stale(&mut self, index: usize, older: Text) {
        let advice = catalogue::BRING_UP_TO_DATE;
        self.leave_out(index, statement!(catalogue::IS_STALE, older = older, advice = advice));
        self.note_stale(index);
    }

    /// Whether a candidate is the member with this role, as it says.
    fn is_taken_as(&mut self, index: usize, role: u16) -> bool {
        let candidate = &self.candidates[index];
        let (own, master) = (&candidate.superblock, self.master());
        let newest_name = &self.candidates[self.newest].name;
        // What the newest member says of this one counts more than what it says of itself.
        let known = master.role_of(own.member_number);
        if known != Role::Active(role) {
            let (number, is) = (own.member_number, own.role());
            let reason = statement!(
                catalogue::CALLS_ITSELF,
                is = is,
                number = number,
                newest_name = newest_name,
                known = known
            );
            self.leave_out(index, reason);
            self.note_stale(index);
            return false;
        }
        if own.features.contains(Features::REPLACEMENT) {
            self.leave_out(index, statement!(catalogue::REPLACEMENT_UNFINISHED, role = role));
            return false;
        }
        if !is_old_copy(master, own) {
            return true;
        }
        let older = statement!(
            catalogue::OLD_COPY,
            seconds = master.updated.seconds.saturating_sub(own.updated.seconds),
            newest_name = newest_name
        );
        if own.level.is_redundant() {
            self.leave_out_stale(index, older);
            return false;
        }
        // Nothing could stand in for it, and its superblock is hardly ever written.
        let text = statement!(catalogue::MAY_BE_OLDER, name = &candidate.name, older = older);
        self.notes.push(text);
        true
    }

    /// Puts a candidate into its slot, unless another is there.
    fn take_slot(&mut self, index: usize, role: u16) {
        let candidate = &self.candidates[index];
        let own = &candidate.superblock;
        let used = UsedDevice {
            candidate: index,
            data_offset_sectors: own.data_offset_sectors,
            data_size_sectors: own.data_size_sectors,
        };
        let slot = &mut self.slots[role as usize];
        match slot {
            Slot::Present(other) | Slot::Recovering { used: other, .. } => {
                let other = &self.candidates[other.candidate];
                let same = match other.superblock.device_uuid == own.device_uuid {
                    true => catalogue::SAME_DEVICE.into(),
                    false => Text::default(),
                };
                let (one, other) = (&other.name, &candidate.name);
                let said = catalogue::BOTH_ACTIVE;
                let text = statement!(said, one = one, other = other, role = role, same = same);
                self.conflicts.push(text);
                self.undecided.push((usize::from(role), index));
            }
            Slot::Missing | Slot::Stale { .. } => {
                *slot = match own.recovering_from_sectors() {
                    Some(recovered_sectors) => Slot::Recovering { used, recovered_sectors },
                    None => Slot::Present(used),
                };
            }
        }
    }

    /// A stale candidate is named in the slot whose member it was, as long as no other is there.
    fn note_stale(&mut self, index: usize) {
        let (own, master) = (&self.candidates[index].superblock, self.master());
        let Role::Active(role) = own.role() else { return };
        let bitmap = self.candidates[self.newest].bitmap.as_ref();
        let by_bitmap = bitmap.is_some_and(|bitmap| {
            bitmap.accept(&master.set_uuid, master.events).is_ok()
                && own.events >= bitmap.events_cleared
                && difference(master, own).is_none()
                && !is_old_copy(master, own)
                && own.recovering_from_sectors().is_none()
        });
        if let Some(slot @ Slot::Missing) = self.slots.get_mut(usize::from(role)) {
            *slot = Slot::Stale { candidate: index, by_bitmap };
        }
    }

    fn finish(self, options: AssembleOptions) -> Assembly {
        let master = self.master();
        let layout = match (master.layout(), options.raid0_layout) {
            (Layout::Raid0(None), Some(layout)) => Layout::Raid0(Some(layout)),
            (layout, _) => layout,
        };
        let data_sizes: Option<Vec<u64>> = self
            .slots
            .iter()
            .map(|slot| slot.present().map(|used| used.data_size_sectors))
            .collect();
        let reshape = master.reshape().and_then(Result::ok);
        let array_sectors = match (&data_sizes, master.level, reshape) {
            (.., Some(reshape)) => Some(reshape.array_sectors),
            (None, Level::Linear | Level::Raid0, _) => None,
            (sizes, ..) => master.array_sectors(sizes.as_deref().unwrap_or(&[])),
        };
        let start = self.may_start(layout, data_sizes.as_deref());
        Assembly {
            set_uuid: master.set_uuid,
            name: master.name(),
            level: master.level,
            layout,
            chunk_sectors: master.chunk_sectors,
            size_sectors: master.size_sectors,
            array_sectors,
            reshape,
            newest: self.newest,
            events: master.events,
            updated: master.updated,
            clean: master.is_clean(),
            resync_offset_sectors: master.resync_offset_sectors,
            slots: self.slots,
            spares: self.spares,
            journals: self.journals,
            left_out: self.left_out,
            notes: self.notes,
            undecided: self.undecided,
            start,
        }
    }

    fn may_start(&self, layout: Layout, data_sizes: Option<&[u64]>) -> Startability {
        let refused = self.refusals(layout, data_sizes);
        if !refused.is_empty() {
            return Startability::Refused(refused);
        }
        let read_only = self.reasons_to_read_only();
        if !read_only.is_empty() {
            return Startability::ReadOnly(read_only);
        }
        let doubts = self.all_doubts();
        if doubts.is_empty() { Startability::Ready } else { Startability::NeedsForce(doubts) }
    }

    /// Why it cannot be started at all.
    fn refusals(&self, layout: Layout, data_sizes: Option<&[u64]>) -> Vec<Text> {
        let master = self.master();
        let name = &self.candidates[self.newest].name;
        let mut refused = self.conflicts.clone();
        if matches!(master.level, Level::Multipath | Level::Faulty | Level::Unknown(_)) {
            refused.push(statement!(catalogue::LEVEL_NOT_SERVED, level = master.level).at(name));
        }
        match master.reshape() {
            None => refused.extend(self.missing_too_many(self.slots.len(), layout)),
            Some(Ok(reshape)) => {
                let shapes = [reshape.old, reshape.new];
                refused.extend(
                    shapes
                        .into_iter()
                        .find_map(|shape| self.missing_too_many(shape.disks, shape.layout)),
                );
            }
            Some(Err(reason)) => {
                refused.push(statement!(catalogue::RESHAPE_BROKEN, why = reason).at(name));
            }
        }
        if layout == Layout::Raid0(None)
            && data_sizes.is_some_and(|sizes| zones_differ(sizes, master.chunk_sectors))
        {
            refused.push(Text::from(catalogue::LAYOUT_NOT_SET).at(name));
        }
        refused
    }

    /// Why it may only be read.
    fn reasons_to_read_only(&self) -> Vec<Text> {
        let master = self.master();
        let name = &self.candidates[self.newest].name;
        let mut read_only = Vec::new();
        if self.candidates[self.newest].version == Version::V0_90 {
            read_only.push(Text::from(catalogue::SUPERBLOCK_0_90).at(name));
        }
        for index in self
            .slots
            .iter()
            .filter_map(used)
            .chain(self.spares.iter().copied())
            .chain(self.journals.iter().copied())
        {
            let candidate = &self.candidates[index];
            let unknown = candidate.superblock.features.unknown();
            if !unknown.is_empty() {
                let bits = unknown.to_string();
                let text = statement!(catalogue::UNKNOWN_FEATURES, bits = bits);
                read_only.push(text.at(&candidate.name));
            }
        }
        if master.features.contains(Features::JOURNAL) || !self.journals.is_empty() {
            let journal = match self.journals.first() {
                Some(&index) => Text::from(&self.candidates[index].name),
                None => catalogue::JOURNAL_MISSING.into(),
            };
            read_only.push(statement!(catalogue::HAS_JOURNAL, journal = journal).at(name));
        }
        if let Some(Ok(reshape)) = master.reshape() {
            let (position, in_place) = (reshape.position_sectors, reshape.is_in_place(master));
            let half = match in_place {
                true => catalogue::RESHAPE_IN_PLACE.into(),
                false => Text::default(),
            };
            let said = catalogue::RESHAPE_UNDER_WAY;
            read_only.push(statement!(said, position = position, half = half).at(name));
        }
        if master.features.contains(Features::CLUSTERED) {
            read_only.push(Text::from(catalogue::SHARED_BY_HOSTS).at(name));
        }
        read_only
    }

    /// What may be lost by starting it.
    fn all_doubts(&self) -> Vec<Text> {
        let master = self.master();
        let name = &self.candidates[self.newest].name;
        let mut doubts = self.doubts.clone();
        let lacking = lacking(&self.slots);
        let closes_write_hole = master.level == Level::Raid5 && master.features.has_ppl();
        if master.level.parity_count() > 0
            && !lacking.is_empty()
            && !master.is_clean()
            && !closes_write_hole
        {
            let text = statement!(
                catalogue::DIRTY_DEGRADED,
                offset = master.resync_offset_sectors,
                missing = lacking.len(),
                count = master.raid_disks,
                roles = self.describe_lacking(&lacking)
            );
            doubts.push(text.at(name));
        }
        doubts
    }

    /// Why the places taken of the first so many are not enough, if so.
    fn missing_too_many(&self, disks: usize, layout: Layout) -> Option<Text> {
        let (master, slots) = (self.master(), &self.slots[..disks]);
        let enough =
            is_whole(master.level, layout, disks, |place| slots[place].present().is_some());
        if enough {
            return None;
        }
        let roles = self.describe_lacking(&lacking(slots));
        Some(statement!(catalogue::TOO_FEW_MEMBERS, level = master.level, roles = roles))
    }

    /// Of each role why it is not there; roles that follow each other, of which no member was seen,
    /// are one.
    fn describe_lacking(&self, lacking: &[usize]) -> Text {
        let is_unseen = |role: usize| matches!(self.slots[role], Slot::Missing);
        let runs = lacking
            .chunk_by(|&one, &next| next == one + 1 && is_unseen(one) && is_unseen(next))
            .map(|run| match run {
                [first, _, .., last] => {
                    statement!(catalogue::ROLES_MISSING, first = *first, last = *last)
                }
                _ => Text::joined(run.iter().map(|&role| self.describe_missing(role)), ", "),
            });
        Text::joined(runs, ", ")
    }

    fn describe_missing(&self, role: usize) -> Text {
        match self.slots[role] {
            Slot::Stale { candidate, .. } => {
                let name = &self.candidates[candidate].name;
                statement!(catalogue::ROLE_STALE, role = role, name = name)
            }
            Slot::Recovering { used, .. } => {
                let name = &self.candidates[used.candidate].name;
                statement!(catalogue::ROLE_NOT_REBUILT, role = role, name = name)
            }
            _ => statement!(catalogue::ROLE_MISSING, role = role),
        }
    }
}

/// The places that have no member that holds all of its data.
fn lacking(slots: &[Slot]) -> Vec<usize> {
    (0..slots.len()).filter(|&role| slots[role].present().is_none()).collect()
}

fn used(slot: &Slot) -> Option<usize> {
    match slot {
        Slot::Present(used) | Slot::Recovering { used, .. } => Some(used.candidate),
        Slot::Stale { .. } | Slot::Missing => None,
    }
}

/// Whether a member is a copy from before the newest was written, although its events do not say
/// so: it has the same events, and members are updated together; or it is dirty with one more, and
/// the newest is clean since. In seconds: what is below may be the mark of one of two servers that
/// both tried to be the only one.
fn is_old_copy(master: &Superblock, own: &Superblock) -> bool {
    let is_level = own.events == master.events || own.events > master.events && master.is_clean();
    is_level && own.updated.seconds < master.updated.seconds
}

/// The first field that two members of one array must have in common and have not: its name and
/// both values.
fn difference(master: &Superblock, own: &Superblock) -> Option<(&'static str, String, String)> {
    let time = |superblock: &Superblock| {
        format!("{}.{:06}", superblock.created.seconds, superblock.created.microseconds)
    };
    let pairs: [(&'static str, String, String); 6] = [
        ("ctime", time(own), time(master)),
        ("level", own.level.to_string(), master.level.to_string()),
        ("layout", own.layout_code.to_string(), master.layout_code.to_string()),
        ("size", own.size_sectors.to_string(), master.size_sectors.to_string()),
        ("chunksize", own.chunk_sectors.to_string(), master.chunk_sectors.to_string()),
        ("raid_disks", own.raid_disks.to_string(), master.raid_disks.to_string()),
    ];
    pairs.into_iter().find(|(_, own, master)| own != master)
}

/// Whether the two layouts of level 0 put any chunk of members with these sizes in different
/// places.
fn zones_differ(data_sizes: &[u64], chunk_sectors: u32) -> bool {
    let Some(sizes) = data_sizes
        .iter()
        .map(|size| size.checked_div(u64::from(chunk_sectors)))
        .collect::<Option<Vec<u64>>>()
    else {
        return false;
    };
    let mut ends = sizes.clone();
    ends.sort_unstable();
    ends.dedup();
    let (mut start, mut chunks_before) = (0, 0_u128);
    ends.into_iter().any(|end| {
        let members = sizes.iter().filter(|&&size| size > start).count() as u128;
        let differs = members > 1 && chunks_before % members != 0;
        chunks_before += u128::from(end - start) * members;
        start = end;
        differs
    })
}

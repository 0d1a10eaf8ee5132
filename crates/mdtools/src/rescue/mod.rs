//! Whatever is there: which arrays it was, what is missing, stale, torn or foreign, and what
//! opening it loses. Nothing is opened for writing.
//!
//! ```text
//!   sources ──> pieces: whole, partitions, superblocks far from where they belong
//!                  │
//!                  └──> find ──> groups ──┬─> as their superblocks have it, by force if need be
//!                          │              ├─> slices: stale members, torn superblocks, copies
//!                          └── without ───┴─> by what members hold (guess), arrays on arrays too (nested)
//! ```

mod displaced;
mod nested;

use array::md::{
    AssembleOptions, Assembly, Candidate, Role, Slot, Superblock, UsedDevice, Version,
};
use array::md::{ChecksumVerdict, Layout, Level, Startability, assemble};
use block::{ErrorKind, Node};
use host::Error;
use host::guard::{Guard, find_signature, refuse_in_use};
use words::{Message, Text, statement};

use super::assemble::{AssemblyOptions, Group, GroupMember};
use super::guess::{Guesses, Images, MEMBERS_MAX, SearchLimits, guess};
use super::source::{Purpose, Region};
use super::{MemberSource, SECTOR_BYTES, find, look, raid_partition, slices};
use nested::{Groups, Place};

use crate::catalogue;

/// How the marks of containers that are encrypted are called.
const LUKS: &str = "LUKS";
const LUKS_SECOND: &str = "LUKS (second header)";

/// What was found at the places that were named.
#[derive(Clone, Debug, Default)]
pub struct RescueReport {
    /// The arrays, outermost ones only.
    pub arrays: Vec<RescuedArray>,
    /// What belongs to none of them.
    pub others: Vec<OtherSource>,
    /// What could not be looked at, and other things to know: one line each.
    pub notes: Vec<Text>,
    /// Whether the search by what members hold was ended before everything was tried.
    pub interrupted: bool,
}

/// An array, and how it can be opened.
#[derive(Clone, Debug)]
pub struct RescuedArray {
    /// Its name; `None` where no superblock tells it.
    pub name: Option<String>,
    /// Level, layout, chunk and the like.
    pub shape: Text,
    /// Its size in bytes, where it can be told.
    pub size_bytes: Option<u64>,
    /// Its places, and what else says that it is of this array.
    pub members: Vec<RescuedMember>,
    /// How it is opened for reading, or why it cannot be: one line for each reason.
    pub way: Result<OpeningWay, Vec<Text>>,
}

/// A place of an array, or something that has none.
#[derive(Clone, Debug)]
pub struct RescuedMember {
    /// The place, counted from 0.
    pub slot: Option<usize>,
    /// What is there.
    pub source: Option<String>,
    /// How it is.
    pub state: MemberFinding,
}

/// How a member was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberFinding {
    /// It holds all data of its place.
    UpToDate,
    /// Nothing that was named is there.
    Missing,
    /// It is older than the rest, by so many events and seconds.
    Stale {
        /// Events that it lacks.
        events: u64,
        /// Seconds between the last updates.
        seconds: u64,
    },
    /// It holds its data up to so many bytes.
    Recovering(u64),
    /// It waits to take a place.
    Spare,
    /// It keeps the array's journal.
    Journal,
    /// It was put in its place by what it holds.
    ByContent,
    /// It is not used: why, in one line that names it.
    LeftOut(Text),
}

/// How an array is opened for reading.
#[derive(Clone, Debug)]
pub struct OpeningWay {
    /// The stack.
    pub stack: Node,
    /// What opening it so may lose; nothing, where all data are there.
    pub losses: Vec<RescueLoss>,
    /// What it holds from its start on, where that is known.
    pub holds: Option<&'static str>,
}

impl OpeningWay {
    /// The stack of what is in it, where it holds a container that is encrypted; the passphrase is
    /// in the file that is called so.
    #[must_use]
    pub fn decrypted(&self, passphrase_file: &str) -> Option<Node> {
        self.holds.filter(|name| [LUKS, LUKS_SECOND].contains(name))?;
        let layer = Node::layer("luks", vec![self.stack.clone()]);
        Some(layer.with("passphrase_file", passphrase_file))
    }
}

/// What is lost by opening an array in a way, or may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RescueLoss {
    /// So many places are made from the others: nothing is lost, and nothing may fail any more.
    Degraded(usize),
    /// What superblocks say against it.
    Forced(Text),
    /// A member is older than the rest: what was written since is lost in part.
    Stale {
        /// The member.
        source: String,
        /// Events that it lacks.
        events: u64,
        /// Seconds between the last updates.
        seconds: u64,
    },
    /// A superblock with a wrong checksum is taken as it stands.
    Torn(String),
    /// Of two members that claim a place the first is used.
    Chosen {
        /// The one that is used.
        used: String,
        /// The other.
        other: String,
    },
    /// Nothing but what members hold tells what it was; the share of what was checked that agrees,
    /// in millionths.
    ByContent(u32),
    /// As many other ways agree as well.
    Undecided(usize),
}

impl RescueLoss {
    /// Whether that is what will be lacking, and not a doubt whether this is the way to open it.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        matches!(self, Self::Degraded(_) | Self::Forced(_) | Self::Stale { .. })
    }
}

/// What belongs to no array.
#[derive(Clone, Debug)]
pub struct OtherSource {
    /// What it is called.
    pub source: String,
    /// What is known of it.
    pub holds: OtherContent,
}

/// What something is that belongs to no array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherContent {
    /// A mark of this kind stands on it.
    Signature(&'static str),
    /// It has no superblock, and a mark of this kind from so many bytes on, as a member may.
    Displaced(u64, &'static str),
    /// Its superblock cannot be read: why.
    Damaged(Text),
    /// Nothing is known of it.
    Nothing,
}

/// Looks at whatever was named. `known` limits what is searched for where superblocks do not tell;
/// `go_on` gets how far that search is, and says whether to go on.
///
/// # Errors
/// None of the sources can be read.
pub fn rescue(
    guard: &Guard,
    sources: &[MemberSource],
    known: &SearchLimits,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<RescueReport, Error> {
    let mut search = Search { guard, known, go_on, report: RescueReport::default() };
    let mut pieces = Vec::new();
    for source in sources {
        match search.pieces(source) {
            Ok(found) => pieces.extend(found),
            Err(error) => search.report.notes.push(error.into()),
        }
    }
    if pieces.is_empty() {
        let reason = search.report.notes.into_iter().next();
        return Err(Error::failed(reason.unwrap_or_else(|| catalogue::NO_SOURCE_FITS.into())));
    }
    let is_alone = pieces.len() == 1;
    let damaged = search.damaged(&pieces);
    let found = find(guard, &pieces);
    // What has a damaged superblock is told among the members.
    let is_damaged = |source: &MemberSource| damaged.iter().any(|(known, _)| known == source);
    let others = found.passed_over.iter().filter(|one| !is_damaged(&one.source));
    search.report.notes.extend(others.map(|one| one.why.clone()));
    let mut loose: Vec<MemberSource> = found.without.clone();
    loose.extend(damaged.iter().map(|(source, _)| source.clone()));
    for group in found.outermost() {
        let mut array = by_superblocks(group);
        if let Some(reason) = search.in_use(group) {
            array.way = Err(vec![reason]);
            search.report.arrays.push(array);
            continue;
        }
        if array.way.is_err()
            && let Some((by_content, used)) = search.with_loose(group, &loose)
        {
            loose.retain(|source| !used.contains(source));
            array.members = by_content.members;
            array.way = by_content.way;
        }
        search.look_into(&mut array);
        match array.way.is_err() && group.stands_on_arrays() {
            true => search.over_found(array, group),
            false => search.report.arrays.push(array),
        }
    }
    search.over_arrays();
    if found.groups.is_empty()
        && loose.len() > 1
        && let Some((mut array, used)) = search.without_superblocks(&loose)
    {
        loose.retain(|source| !used.contains(source));
        search.look_into(&mut array);
        search.report.arrays.push(array);
    }
    for source in loose {
        let text = damaged.iter().find(|(own, _)| *own == source).map(|(_, text)| text.clone());
        search.other(&source, text, is_alone);
    }
    Ok(search.report)
}

struct Search<'a> {
    guard: &'a Guard,
    known: &'a SearchLimits,
    go_on: &'a mut dyn FnMut(usize, usize) -> bool,
    report: RescueReport,
}

impl Search<'_> {
    /// What of a source may be a member: all of it, or parts where superblocks or tables say so.
    fn pieces(&mut self, source: &MemberSource) -> Result<Vec<MemberSource>, Error> {
        let looked = look(self.guard, source)?;
        if looked.iter().any(|examined| !examined.found.is_empty() || !examined.damaged.is_empty())
        {
            return Ok(looked.into_iter().map(|examined| examined.source).collect());
        }
        let region = source.open(self.guard, Purpose::Image)?;
        let displaced = displaced::members(source, &region).map_err(|error| {
            Error::from_io(statement!(catalogue::READING_IT, source = source), &error)
        })?;
        if !displaced.is_empty() {
            let at = displaced.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            self.report.notes.push(statement!(
                catalogue::SUPERBLOCK_DISPLACED,
                source = source,
                at = at
            ));
            return Ok(displaced);
        }
        Ok(vec![raid_partition(self.guard, source)?.unwrap_or_else(|| source.clone())])
    }

    /// Why an array with members on other machines is not to be read: another server has it, and
    /// changes it meanwhile.
    fn in_use(&self, group: &Group) -> Option<Text> {
        let mut groups = vec![group];
        let mut regions = Vec::new();
        while let Some(group) = groups.pop() {
            groups.extend(group.arrays());
            let sources = group.sources.iter().filter_map(|member| match member {
                GroupMember::Source(source) if source.path().is_none() => Some(source),
                _ => None,
            });
            regions.extend(sources.filter_map(|it| it.open(self.guard, Purpose::Look).ok()));
        }
        let watched = refuse_in_use(regions.iter().filter_map(Region::remote));
        watched.err().filter(|error| error.kind() == ErrorKind::Busy).map(Text::from)
    }

    /// Those whose superblock is there and cannot be decoded.
    fn damaged(&self, pieces: &[MemberSource]) -> Vec<(MemberSource, Text)> {
        let all = pieces.iter().filter_map(|source| super::examine(self.guard, source).ok());
        all.filter(|examined| examined.found.is_empty())
            .filter_map(|examined| {
                let (version, problem) = examined.damaged.first()?;
                let text = statement!(
                    catalogue::ITS_SUPERBLOCK_DAMAGED,
                    version = version.to_string(),
                    problem = problem
                );
                Some((examined.source, text))
            })
            .collect()
    }

    /// What an array is together with what has no superblock, by what all of them hold; and which
    /// of the loose ones are in it.
    fn with_loose(
        &mut self,
        group: &Group,
        loose: &[MemberSource],
    ) -> Option<(RescuedArray, Vec<MemberSource>)> {
        let plain = |member: &GroupMember| match member {
            GroupMember::Source(source) => Some(Some(source.clone())),
            GroupMember::Array(_) => None,
        };
        let superblock = &group.candidates[0].superblock;
        // A superblock that is not believed may name any number of members.
        if superblock.reshape().is_some() || superblock.raid_disks as usize > MEMBERS_MAX {
            return None;
        }
        let mut members: Vec<Option<MemberSource>> =
            group.sources.iter().map(plain).collect::<Option<_>>()?;
        members.extend(loose.iter().cloned().map(Some));
        members.resize(members.len().max(superblock.raid_disks as usize), None);
        let limits = limits_of(superblock, self.known);
        self.by_content(&members, &limits)
    }

    /// What members make up that say nothing of themselves: as arrays on arrays, where groups of
    /// them show that, then all of them, then with their data where controllers, partitions and
    /// arrays below arrays have them, then with one more that is missing. Where nothing comes of
    /// it, why not, if that is seen.
    fn without_superblocks(
        &mut self,
        loose: &[MemberSource],
    ) -> Option<(RescuedArray, Vec<MemberSource>)> {
        let groups = self.groups(loose);
        if let Some(groups) = &groups {
            let found = self.over_groups(loose, groups);
            // No array by itself has such groups.
            if found.is_some() || groups.are_all_related() {
                return found.or_else(|| Some(groups.not_told(loose)));
            }
        }
        if loose.len() > MEMBERS_MAX {
            let (count, most) = (loose.len(), MEMBERS_MAX);
            let text = statement!(catalogue::TOO_MANY_TO_ORDER, count = count, most = most);
            self.report.notes.push(text);
        }
        let all: Vec<Option<MemberSource>> = loose.iter().cloned().map(Some).collect();
        let known = self.known.clone();
        if let Some(found) = self.by_content(&all, &known) {
            return Some(found);
        }
        if known.data_offsets_bytes.is_empty() {
            for data_offsets_bytes in
                [self.beginnings(loose), displaced::CONTROLLER_OFFSETS_BYTES.to_vec()]
            {
                let limits = SearchLimits { data_offsets_bytes, ..known.clone() };
                if !limits.data_offsets_bytes.is_empty()
                    && let Some(found) = self.by_content(&all, &limits)
                {
                    return Some(found);
                }
            }
        }
        let with_one_missing = [&all[..], &[None]].concat();
        let found = self.by_content(&with_one_missing, &known);
        let certain = groups.filter(Groups::are_certain);
        found.or_else(|| certain.map(|groups| groups.not_told(loose)))
    }

    fn by_content(
        &mut self,
        members: &[Option<MemberSource>],
        limits: &SearchLimits,
    ) -> Option<(RescuedArray, Vec<MemberSource>)> {
        if members.len() > MEMBERS_MAX {
            return None;
        }
        let images = Images::open(self.guard, members).ok()?;
        let found = guess(&images, limits, self.go_on);
        self.report.interrupted |= found.interrupted;
        let places: Vec<Place> = members.iter().map(Place::of).collect();
        let used = members.iter().flatten().cloned().collect();
        let best = found.guesses.first().filter(|_| found.is_sound())?;
        let mut array = array_of(&found, &places);
        // A few copies that agree, beside something that is missing, are no array yet.
        if best.shape.level == Level::Raid10 && members.iter().any(Option::is_none) {
            self.look_into(&mut array);
            array.way.as_ref().ok()?.holds?;
        }
        Some((array, used))
    }

    fn other(&mut self, source: &MemberSource, damage: Option<Text>, is_alone: bool) {
        let offset = source
            .open(self.guard, Purpose::Image)
            .ok()
            .and_then(|region| displaced::file_system(&region).ok().flatten());
        if let (Some((offset_bytes, holds)), None) = (offset, &damage)
            && is_alone
            && (offset_bytes > 0 || displaced::is_file_system(holds) || holds == LUKS)
        {
            let stack = source.part(offset_bytes, None).read_only_node();
            let mut array = RescuedArray {
                name: None,
                shape: match offset_bytes {
                    0 => catalogue::SHAPE_ONE_DRIVE.into(),
                    _ => {
                        let offset = block::size_text(offset_bytes);
                        statement!(catalogue::ONE_DRIVE_FROM, offset = offset)
                    }
                },
                size_bytes: None,
                members: vec![RescuedMember {
                    slot: Some(0),
                    source: Some(source.to_string()),
                    state: MemberFinding::ByContent,
                }],
                way: Ok(OpeningWay { stack, losses: Vec::new(), holds: Some(holds) }),
            };
            self.look_into(&mut array);
            self.report.arrays.push(array);
            return;
        }
        let holds = match (damage, offset) {
            (Some(text), _) => OtherContent::Damaged(text),
            (None, Some((0, name))) => OtherContent::Signature(name),
            (None, Some((offset_bytes, name))) => OtherContent::Displaced(offset_bytes, name),
            (None, None) => OtherContent::Nothing,
        };
        self.report.others.push(OtherSource { source: source.to_string(), holds });
    }

    /// Opens an array as it would be, and looks at what it holds.
    fn look_into(&self, array: &mut RescuedArray) {
        let Ok(way) = &mut array.way else { return };
        match self.guard.view(&way.stack) {
            Ok(view) => {
                array.size_bytes = Some(view.size_bytes());
                let found = find_signature(&view, view.size_bytes()).ok().flatten();
                way.holds = found.or(way.holds);
            }
            Err(error) => array.way = Err(vec![Text::from(error)]),
        }
    }
}

/// What a superblock tells of an array.
fn limits_of(superblock: &Superblock, known: &SearchLimits) -> SearchLimits {
    let chunk_bytes = u64::from(superblock.chunk_sectors) * SECTOR_BYTES;
    // One that is not believed may have its data beyond all bytes: then nothing is known of them.
    let data_offset_bytes = superblock.data_offset_sectors.checked_mul(SECTOR_BYTES);
    SearchLimits {
        levels: vec![superblock.level],
        chunks_bytes: Some(chunk_bytes).filter(|bytes| *bytes > 0).into_iter().collect(),
        data_offsets_bytes: data_offset_bytes.into_iter().collect(),
        seed: known.seed,
    }
}

/// What a candidate of a guess is.
fn array_of(found: &Guesses, places: &[Place]) -> RescuedArray {
    let best = &found.guesses[0];
    let unlike = best.unlike_copies();
    let mut list: Vec<RescuedMember> = Vec::new();
    for (slot, place) in best.order.iter().enumerate() {
        let is_used = best.foreign != Some(*place) && !unlike.contains(place);
        let names = if is_used { places[*place].names() } else { Vec::new() };
        let member =
            |source: Option<String>, state| RescuedMember { slot: Some(slot), source, state };
        if names.is_empty() {
            list.push(member(None, MemberFinding::Missing));
        }
        list.extend(names.into_iter().map(|name| member(Some(name), MemberFinding::ByContent)));
    }
    let left_out = |places_left: &[usize], why: Message| {
        let names = places_left.iter().flat_map(|place| places[*place].names());
        let member = |name: String| RescuedMember {
            slot: None,
            state: MemberFinding::LeftOut(statement!(why, source = &*name)),
            source: Some(name),
        };
        names.map(member).collect::<Vec<_>>()
    };
    let foreign: Vec<usize> = best.foreign.into_iter().collect();
    list.extend(left_out(&foreign, catalogue::DOES_NOT_BELONG));
    list.extend(left_out(&unlike, catalogue::UNLIKE_COPY));
    let mut losses = vec![RescueLoss::ByContent(best.agreement)];
    if found.equal > 1 {
        losses.push(RescueLoss::Undecided(found.equal - 1));
    }
    let absent = list.iter().filter(|member| member.state == MemberFinding::Missing).count();
    losses.extend((absent > 0).then_some(RescueLoss::Degraded(absent)));
    let stack = best.tree_over(|place, offset_bytes| match unlike.contains(&place) {
        true => Node::Missing,
        false => places[place].part(offset_bytes),
    });
    RescuedArray {
        name: None,
        shape: (&best.shape).into(),
        size_bytes: Some(best.size_bytes),
        members: list,
        way: Ok(OpeningWay { stack, losses, holds: None }),
    }
}

/// What the superblocks of an array come to.
fn by_superblocks(group: &Group) -> RescuedArray {
    let first = &group.candidates[0].superblock;
    let way = as_recorded(group);
    let (assembly, way) = match (&group.assembly, way) {
        (Ok(assembly), Ok(way)) => (Ok(assembly.clone()), Ok(way)),
        (assembly, Err(reasons)) => match in_slices(group) {
            Some((assembly, way)) => (Ok(assembly), Ok(way)),
            None => (assembly.clone(), Err(reasons)),
        },
        (Err(reason), _) => (Err(reason.clone()), Err(vec![reason.clone()])),
    };
    let shape = |superblock: &Superblock, disks: usize| {
        let layout = superblock.layout().to_string();
        let chunk = u64::from(superblock.chunk_sectors) * SECTOR_BYTES;
        let level = superblock.level.to_string();
        let version = group.candidates[0].version.to_string();
        let words = [
            statement!(catalogue::LEVEL_OF, level = level, count = disks),
            if superblock.layout() == Layout::Plain { Text::default() } else { layout.into() },
            if chunk > 0 {
                statement!(catalogue::CHUNKS_OF, size = block::size_text(chunk))
            } else {
                Text::default()
            },
            statement!(catalogue::OF_VERSION, version = version),
        ];
        Text::joined(words.into_iter().filter(|word| !word.is_empty()), ", ")
    };
    let disks = assembly.as_ref().map_or(first.raid_disks as usize, |all| all.slots.len());
    let members = match &assembly {
        Ok(assembly) => members_of(group, assembly),
        Err(reason) => all_left_out(group, reason),
    };
    RescuedArray {
        name: Some(first.name()),
        shape: shape(first, disks),
        size_bytes: assembly.ok().and_then(|all| all.array_sectors).map(|all| all * SECTOR_BYTES),
        members,
        way,
    }
}

/// As a start opens it, by force if need be.
fn as_recorded(group: &Group) -> Result<OpeningWay, Vec<Text>> {
    let opening = |force| AssemblyOptions { read_only: true, overlay: None, force };
    let stack = group.stack(opening(false)).map(|stack| (stack, false));
    let stack = stack.or_else(|_| group.stack(opening(true)).map(|stack| (stack, true)));
    let (stack, forced) = stack.map_err(|error| vec![Text::from(error)])?;
    let mut losses = Vec::new();
    if let Ok(assembly) = &group.assembly {
        let reasons = match &assembly.start {
            Startability::ReadOnlyOrForce(reasons) | Startability::NeedsForce(reasons) => {
                reasons.clone()
            }
            _ if forced && assembly.reads_wrong_without_log() => {
                vec![Assembly::WITHOUT_LOG.into()]
            }
            _ => Vec::new(),
        };
        losses.extend(reasons.iter().map(|reason| RescueLoss::Forced(reason.clone())));
        let absent = assembly.degraded_count();
        losses.extend((absent > 0).then_some(RescueLoss::Degraded(absent)));
    }
    Ok(OpeningWay { stack, losses, holds: None })
}

/// Member by member without superblocks, where these forbid a start: the newest of the stale ones
/// fill what the others do not make up for, and superblocks with a wrong checksum are believed.
fn in_slices(group: &Group) -> Option<(Assembly, OpeningWay)> {
    let sources: Vec<MemberSource> = (group.sources.iter())
        .map(|member| match member {
            GroupMember::Source(source) => Some(source.clone()),
            GroupMember::Array(_) => None,
        })
        .collect::<Option<_>>()?;
    let mut losses = Vec::new();
    let mut candidates = group.candidates.clone();
    for candidate in &mut candidates {
        if mend(candidate) {
            losses.push(RescueLoss::Torn(candidate.name.clone()));
        }
    }
    let mut assembly = assemble(&candidates, AssembleOptions::default()).ok()?;
    if assembly.reshape.is_some() {
        return None;
    }
    choose_among_copies(&mut assembly, &candidates, &mut losses);
    take_stale(&mut assembly, &candidates, &mut losses);
    if !assembly.makes_up_for(&absent(&assembly)) {
        return None;
    }
    let stack = slices(&assembly, &sources)?;
    let count = absent(&assembly).len();
    losses.extend((count > 0).then_some(RescueLoss::Degraded(count)));
    losses.extend(
        (!assembly.clean && count > 0)
            .then(|| RescueLoss::Forced(catalogue::WAS_BEING_WRITTEN.into())),
    );
    Some((assembly, OpeningWay { stack, losses, holds: None }))
}

fn absent(assembly: &Assembly) -> Vec<usize> {
    let slots = assembly.slots.iter().enumerate();
    slots.filter(|(_, slot)| slot.present().is_none()).map(|(place, _)| place).collect()
}

/// Gives a superblock of version 1 whose checksum is wrong the right one. Whether it was wrong.
fn mend(candidate: &mut Candidate) -> bool {
    let is_wrong = candidate.superblock.checksum_verdict() != ChecksumVerdict::Correct;
    if !is_wrong || candidate.version == Version::V0_90 {
        return false;
    }
    let Ok(mended) = Superblock::decode(&candidate.superblock.encode()) else { return false };
    candidate.superblock = mended;
    true
}

/// A place that two members claim is made from the others where these suffice; else the first has
/// it.
fn choose_among_copies(
    assembly: &mut Assembly,
    candidates: &[Candidate],
    losses: &mut Vec<RescueLoss>,
) {
    for (slot, other) in assembly.undecided.clone() {
        let Some(used) = assembly.slots[slot].present().copied() else { continue };
        let mut without = absent(assembly);
        without.push(slot);
        if assembly.makes_up_for(&without) {
            assembly.slots[slot] = Slot::Missing;
        } else {
            losses.push(RescueLoss::Chosen {
                used: candidates[used.candidate].name.clone(),
                other: candidates[other].name.clone(),
            });
        }
    }
}

/// Fills places that are not made up for with what was there last.
fn take_stale(assembly: &mut Assembly, candidates: &[Candidate], losses: &mut Vec<RescueLoss>) {
    let newest = candidates[assembly.newest].superblock.clone();
    let shape = |superblock: &Superblock| {
        (superblock.level, superblock.layout_code, superblock.chunk_sectors, superblock.raid_disks)
    };
    let is_undecided =
        |index: &usize| assembly.undecided.iter().any(|(_, candidate)| candidate == index);
    let mut stale: Vec<usize> = (0..candidates.len())
        .filter(|index| shape(&candidates[*index].superblock) == shape(&newest))
        .filter(|index| !is_undecided(index) && has_its_data(&candidates[*index]))
        .collect();
    stale.sort_by_key(|index| std::cmp::Reverse(candidates[*index].superblock.events));
    for index in stale {
        let own = &candidates[index].superblock;
        let Role::Active(role) = own.role() else { continue };
        let missing = absent(assembly);
        if assembly.makes_up_for(&missing) || !missing.contains(&usize::from(role)) {
            continue;
        }
        assembly.slots[usize::from(role)] = Slot::Present(UsedDevice {
            candidate: index,
            data_offset_sectors: own.data_offset_sectors,
            data_size_sectors: own.data_size_sectors,
        });
        let (events, seconds) = behind(&newest, own);
        losses.push(RescueLoss::Stale { source: candidates[index].name.clone(), events, seconds });
    }
}

/// Whether what a superblock calls its data is on the member: one that was left out may say
/// anything.
fn has_its_data(candidate: &Candidate) -> bool {
    let own = &candidate.superblock;
    let end = own.data_offset_sectors.checked_add(own.data_size_sectors);
    end.is_some_and(|end| end <= candidate.size_sectors)
}

fn behind(newest: &Superblock, own: &Superblock) -> (u64, u64) {
    (
        newest.events.saturating_sub(own.events),
        newest.updated.seconds.saturating_sub(own.updated.seconds),
    )
}

fn members_of(group: &Group, assembly: &Assembly) -> Vec<RescuedMember> {
    let newest = &group.candidates[assembly.newest].superblock;
    let name = |candidate: usize| Some(group.candidates[candidate].name.clone());
    let state_of = |candidate: usize| {
        let own = &group.candidates[candidate].superblock;
        let (events, seconds) = behind(newest, own);
        let is_old = assembly.left_out.iter().any(|left| left.candidate == candidate);
        match is_old || events > 1 {
            true => MemberFinding::Stale { events, seconds },
            false => MemberFinding::UpToDate,
        }
    };
    let mut seen = Vec::new();
    let mut list: Vec<RescuedMember> = Vec::new();
    for (slot, held) in assembly.slots.iter().enumerate() {
        let (source, state) = match held {
            Slot::Present(used) => (Some(used.candidate), state_of(used.candidate)),
            Slot::Recovering { used, recovered_sectors } => {
                let bytes = recovered_sectors * SECTOR_BYTES;
                (Some(used.candidate), MemberFinding::Recovering(bytes))
            }
            Slot::Stale { candidate, .. } => (Some(*candidate), state_of(*candidate)),
            Slot::Missing => (None, MemberFinding::Missing),
        };
        seen.extend(source);
        list.push(RescuedMember { slot: Some(slot), source: source.and_then(name), state });
    }
    for candidate in (0..group.candidates.len()).filter(|candidate| !seen.contains(candidate)) {
        let left_out = assembly.left_out.iter().find(|left| left.candidate == candidate);
        let state = match left_out {
            Some(left) => MemberFinding::LeftOut(left.reason.clone()),
            None if assembly.spares.contains(&candidate) => MemberFinding::Spare,
            None if assembly.journals.contains(&candidate) => MemberFinding::Journal,
            None => {
                let own = &group.candidates[candidate].name;
                MemberFinding::LeftOut(statement!(catalogue::CLAIMED_BY_ANOTHER, own = own))
            }
        };
        list.push(RescuedMember { slot: None, source: name(candidate), state });
    }
    list
}

fn all_left_out(group: &Group, reason: &Text) -> Vec<RescuedMember> {
    let left_out = |candidate: &Candidate| RescuedMember {
        slot: None,
        source: Some(candidate.name.clone()),
        state: MemberFinding::LeftOut(reason.to_owned()),
    };
    group.candidates.iter().map(left_out).collect()
}

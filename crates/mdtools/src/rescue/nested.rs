//! Arrays on arrays whose superblocks are lost, of the inner ones, of the outer one, or of all.
//!
//! ```text
//!   inner ones are found        their stacks are members of what they make up ── over_arrays
//!   only the outer one is       its members are found as copies far from where they belong (displaced)
//!   none                        what holds the same is a mirror ── over_mirrors
//! ```

use std::os::unix::fs::FileExt;

use array::md::Level;
use block::Node;
use host::guard::RemoteDrive;
use words::statement;

use super::displaced::CONTROLLER_OFFSETS_BYTES;
use super::{MemberFinding, RescueLoss, RescuedArray, RescuedMember, Search, array_of};
use super::{by_superblocks, limits_of};
use crate::assemble::{Group, GroupMember};
use crate::guess::{
    Copies, Images, MEMBERS_MAX, Members, SearchLimits, Sums, beginnings, copies, guess,
    guess_stripe, nested_offsets, sums,
};
use crate::{MemberSource, catalogue, node_from};

/// Levels whose first member begins with what the whole begins with, and of which more than that is
/// on the others: an array with a file system is the first of another one only by these.
const DEALT: [Level; 2] = [Level::Raid0, Level::Raid10];
/// With fewer places at which more than one array holds something nothing is told.
const SAMPLES_MIN: usize = 8;
/// How many members each array with P below another one has.
const GROUP_SIZES: [usize; 2] = [3, 4];
/// The same with P and Q.
const GROUP_SIZES_WITH_Q: [usize; 3] = [4, 5, 6];
/// Among more members than this groups of more than four are not looked for: their choices are too
/// many.
const GROUPED_MAX: usize = 16;

/// What stands in a place of an array that is found by what its members hold.
pub(super) enum Place {
    Missing,
    /// Members that hold the same; one as a rule.
    Members(Vec<MemberSource>),
    /// An array.
    Array {
        name: String,
        stack: Node,
    },
}

impl Place {
    pub(super) fn of(member: &Option<MemberSource>) -> Place {
        match member {
            Some(source) => Place::Members(vec![source.clone()]),
            None => Place::Missing,
        }
    }

    /// What of it there is from an offset on.
    pub(super) fn part(&self, offset_bytes: u64) -> Node {
        let leaf = |source: &MemberSource| source.part(offset_bytes, None).node();
        match self {
            Place::Missing => Node::Missing,
            Place::Members(same) => match &same[..] {
                [one] => leaf(one),
                same => {
                    Node::layer("raid1", same.iter().map(leaf).collect()).with("metadata", "none")
                }
            },
            Place::Array { stack, .. } => node_from(stack.clone(), offset_bytes),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Place::Missing => Vec::new(),
            Place::Members(same) => same.iter().map(ToString::to_string).collect(),
            Place::Array { name, .. } => vec![name.clone()],
        }
    }
}

/// Arrays that are read as members.
struct Views(Vec<RemoteDrive>);

impl Members for Views {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn size_bytes(&self, member: usize) -> Option<u64> {
        Some(self.0[member].size_bytes())
    }

    fn read(&self, member: usize, offset: u64, into: &mut [u8]) -> bool {
        self.0[member].read_exact_at(into, offset).is_ok()
    }
}

/// What members have to do with each other in groups, as below another array.
pub(super) enum Groups {
    /// Those of a group hold the same; a group may be one member alone.
    Mirrors(Vec<Copies>),
    /// Each group adds up to zero.
    WithP(Sums),
    /// Each group without one of its members adds up to zero.
    WithQ(Sums),
}

impl Groups {
    /// Whether what is seen tells that there was such an array: a group that lacks a member is
    /// only what is left.
    pub(super) fn are_certain(&self) -> bool {
        matches!(self, Groups::Mirrors(_)) || self.are_all_related()
    }

    /// Whether every member goes with another one.
    pub(super) fn are_all_related(&self) -> bool {
        match self {
            Groups::Mirrors(classes) => classes.iter().all(|class| class.members.len() > 1),
            Groups::WithP(sums) | Groups::WithQ(sums) => !sums.lacks_one,
        }
    }

    /// An array over these that is not found, and why.
    pub(super) fn not_told(&self, sources: &[MemberSource]) -> (RescuedArray, Vec<MemberSource>) {
        let (groups, what, why) = match self {
            Groups::Mirrors(classes) => (
                classes.iter().map(|class| class.members.clone()).collect(),
                catalogue::OVER_MIRRORS,
                catalogue::ONLY_MIRRORS,
            ),
            Groups::WithP(sums) => {
                (sums.groups.clone(), catalogue::OVER_LEVEL_5, catalogue::ONLY_P)
            }
            Groups::WithQ(sums) => {
                (sums.groups.clone(), catalogue::OVER_LEVEL_6, catalogue::ONLY_Q)
            }
        };
        let groups: Vec<Vec<usize>> = groups;
        let texts = groups.iter().map(|group| {
            let names = group.iter().map(|member| sources[*member].to_string());
            names.collect::<Vec<_>>().join(", ")
        });
        let reason = statement!(why, groups = texts.collect::<Vec<_>>().join("; "));
        let member = |(slot, group): (usize, &Vec<usize>)| {
            let of = |member: &usize| RescuedMember {
                slot: Some(slot),
                source: Some(sources[*member].to_string()),
                state: MemberFinding::ByContent,
            };
            group.iter().map(of).collect::<Vec<_>>()
        };
        let array = RescuedArray {
            name: None,
            shape: statement!(what, count = groups.len()),
            size_bytes: None,
            members: groups.iter().enumerate().flat_map(member).collect(),
            way: Err(vec![reason]),
        };
        (array, sources.to_vec())
    }
}

/// Whether an array opens, and holds nothing that is known.
fn is_blank(array: &RescuedArray) -> bool {
    array.way.as_ref().is_ok_and(|way| way.holds.is_none())
}

impl Search<'_> {
    /// Where data begin on these members, by what file systems begin with.
    pub(super) fn beginnings(&self, sources: &[MemberSource]) -> Vec<u64> {
        let Ok(images) = Images::of_all(self.guard, sources) else { return Vec::new() };
        let smallest = (0..images.count()).filter_map(|member| images.size_bytes(member)).min();
        let offsets = nested_offsets(smallest.unwrap_or(0), &CONTROLLER_OFFSETS_BYTES);
        beginnings(&images, &offsets)
    }

    /// The groups that members without superblocks show, where there are several.
    pub(super) fn groups(&self, sources: &[MemberSource]) -> Option<Groups> {
        let images = Images::of_all(self.guard, sources).ok()?;
        let classes = copies(&images, self.known.seed);
        if classes.len() > 1 && classes.len() < sources.len() {
            return Some(Groups::Mirrors(classes));
        }
        let found = |but_one: bool, sizes: &[usize]| {
            let is_tried = |size: &usize| *size <= 4 || sources.len() <= GROUPED_MAX;
            let sizes: Vec<usize> = sizes.iter().copied().filter(is_tried).collect();
            sums(&images, &sizes, but_one, self.known.seed)
        };
        let (with_p, with_q) = (found(false, &GROUP_SIZES), found(true, &GROUP_SIZES_WITH_Q));
        let (with_p, with_q) = (with_p.map(Groups::WithP), with_q.map(Groups::WithQ));
        let is_whole = |groups: &Groups| groups.are_all_related();
        match (with_p, with_q) {
            (Some(with_p), Some(with_q)) if !is_whole(&with_p) && is_whole(&with_q) => Some(with_q),
            (with_p, with_q) => with_p.or(with_q),
        }
    }

    pub(super) fn over_groups(
        &mut self,
        sources: &[MemberSource],
        groups: &Groups,
    ) -> Option<(RescuedArray, Vec<MemberSource>)> {
        match groups {
            Groups::Mirrors(classes) => self.over_mirrors(sources, classes),
            Groups::WithP(sums) => self.over_parity(sources, (Level::Raid5, sums)),
            Groups::WithQ(sums) => self.over_parity(sources, (Level::Raid6, sums)),
        }
    }

    /// Mirrors below an array of another level: of those that hold the same one stands for all.
    fn over_mirrors(
        &mut self,
        sources: &[MemberSource],
        classes: &[Copies],
    ) -> Option<(RescuedArray, Vec<MemberSource>)> {
        if classes.len() > MEMBERS_MAX {
            return None;
        }
        let one = |class: &Copies| sources[class.members[0]].clone();
        let firsts: Vec<MemberSource> = classes.iter().map(one).collect();
        let known = self.known.clone();
        let data_offsets_bytes = match known.data_offsets_bytes.is_empty() {
            true => self.beginnings(&firsts),
            false => known.data_offsets_bytes.clone(),
        };
        let images: Vec<Option<MemberSource>> = firsts.into_iter().map(Some).collect();
        let images = Images::open(self.guard, &images).ok()?;
        let limits = SearchLimits { data_offsets_bytes, ..known };
        let found = guess(&images, &limits, self.go_on);
        if !found.is_sound() {
            return None;
        }
        // Of those that differ somewhere only the first is read: a mixture is no state that there
        // was.
        let read = |class: &Copies| if class.are_exact { class.members.len() } else { 1 };
        let place = |class: &Copies| {
            let read = class.members.iter().take(read(class));
            Place::Members(read.map(|member| sources[*member].clone()).collect())
        };
        let places: Vec<Place> = classes.iter().map(place).collect();
        let mut array = array_of(&found, &places);
        for class in classes {
            let used = sources[class.members[0]].to_string();
            for other in &class.members[read(class)..] {
                let other = sources[*other].to_string();
                let reason = statement!(catalogue::NEARLY_THE_SAME, other = &*other, used = &*used);
                array.members.push(RescuedMember {
                    slot: None,
                    source: Some(other.clone()),
                    state: MemberFinding::LeftOut(reason),
                });
                if let Ok(way) = &mut array.way {
                    way.losses.push(RescueLoss::Chosen { used: used.clone(), other });
                }
            }
        }
        array.shape = statement!(catalogue::SHAPE_OVER_MIRRORS, shape = array.shape);
        Some((array, sources.to_vec()))
    }

    /// Arrays that hold nothing that is known, as members of one whose superblocks are lost.
    pub(super) fn over_arrays(&mut self) {
        let is_open = |array: &RescuedArray| array.way.is_ok();
        let blank = self.report.arrays.iter().filter(|array| is_blank(array)).count();
        // The first of a stripe begins with what the whole begins with.
        for (wanted, levels) in
            [(is_blank as fn(&RescuedArray) -> bool, Vec::new()), (is_open, DEALT.to_vec())]
        {
            let (below, others): (Vec<RescuedArray>, Vec<RescuedArray>) =
                std::mem::take(&mut self.report.arrays).into_iter().partition(wanted);
            let limits = SearchLimits { levels, ..self.known.clone() };
            let found = if blank > 0 { self.over(&below, &limits) } else { None };
            self.report.arrays = others;
            match found {
                Some(array) => return self.report.arrays.push(array),
                None => self.report.arrays.extend(below),
            }
        }
    }

    /// An array that cannot be opened by its superblocks, of which members are arrays: with the
    /// others of these that were found, by what they hold.
    pub(super) fn over_found(&mut self, mut array: RescuedArray, group: &Group) {
        let inner = group.sources.iter().filter_map(|member| match member {
            GroupMember::Array(below) => Some(by_superblocks(below)),
            GroupMember::Source(_) => None,
        });
        let mut inner: Vec<RescuedArray> = inner.collect();
        inner.iter_mut().for_each(|below| self.look_into(below));
        let (others, rest): (Vec<RescuedArray>, Vec<RescuedArray>) =
            std::mem::take(&mut self.report.arrays).into_iter().partition(is_blank);
        let all = [&inner[..], &others[..]].concat();
        let limits = limits_of(&group.candidates[0].superblock, self.known);
        let found = match inner.len() == group.sources.len() {
            true => self.over(&all, &limits),
            false => None,
        };
        self.report.arrays = rest;
        match found {
            Some(by_content) => {
                array.members = by_content.members;
                array.way = by_content.way;
                array.size_bytes = by_content.size_bytes;
            }
            None => self.report.arrays.extend(others),
        }
        self.report.arrays.push(array);
    }

    /// What arrays make up, by what they hold.
    fn over(&mut self, below: &[RescuedArray], limits: &SearchLimits) -> Option<RescuedArray> {
        if !(2..=MEMBERS_MAX).contains(&below.len()) {
            return None;
        }
        let ways: Vec<_> =
            below.iter().map(|array| array.way.as_ref().ok()).collect::<Option<_>>()?;
        let views: Vec<RemoteDrive> =
            ways.iter().map(|way| self.guard.view(&way.stack).ok()).collect::<Option<_>>()?;
        let found = guess(&Views(views), limits, self.go_on);
        let is_told = found.samples >= SAMPLES_MIN && found.is_sound();
        if !is_told || found.guesses[0].foreign.is_some() {
            return None;
        }
        let place = |array: &RescuedArray| {
            let stack = array.way.as_ref().ok()?.stack.clone();
            let name = array.name.clone().unwrap_or_else(|| stack.to_string());
            Some(Place::Array { name, stack })
        };
        let places: Vec<Place> = below.iter().map(place).collect::<Option<_>>()?;
        let mut array = array_of(&found, &places);
        if let Ok(way) = &mut array.way {
            way.losses.extend(ways.iter().flat_map(|below| below.losses.clone()));
        }
        array.shape = statement!(catalogue::SHAPE_OVER_ARRAYS, shape = array.shape);
        self.look_into(&mut array);
        // What is alike and no more are two arrays.
        let holds = array.way.as_ref().is_ok_and(|way| way.holds.is_some());
        holds.then_some(array)
    }

    /// A stripe over arrays of level 5 or 6.
    fn over_parity(
        &mut self,
        sources: &[MemberSource],
        (level, sums): (Level, &Sums),
    ) -> Option<(RescuedArray, Vec<MemberSource>)> {
        let mut members: Vec<Option<MemberSource>> = sources.iter().cloned().map(Some).collect();
        members.extend(sums.lacks_one.then_some(None));
        let images = Images::of(self.guard, &members).ok()?;
        let groups = (level, &sums.groups[..]);
        let found =
            guess_stripe(&images, groups, self.known, &CONTROLLER_OFFSETS_BYTES, self.go_on);
        let places: Vec<Place> = members.iter().map(Place::of).collect();
        found.is_sound().then(|| (array_of(&found, &places), sources.to_vec()))
    }
}

//! Which arrays there are at a number of paths, and which of them are members of others.
//!
//! ```text
//! paths ──> look ──> members ──> group by array ──> md::assemble ──> Group
//!                       ^                                              │ opened, not written
//!                       └── the superblock that the array carries <────┘ to any depth
//! ```

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use array::md::{AssembleOptions, Candidate, Startability, assemble, group};
use array::metadata::{StartOptions, check, examine};
use block::{Device, Node};
use reactor::Reactor;
use stack::{BuildContext, ImageServer, OpenFiles, RbdImage, Stack, twice_text};

use super::MemberSource;
use super::assemble::{AssemblyOptions, Group, GroupMember};
use super::examine::{is_partition_of, look};
use host::guard::Guard;
use words::{Text, statement};

use crate::catalogue;

/// How many arrays are looked into at most: one is looked into again when another member of it was
/// found on top of an array.
const LOOKS_MAX: usize = 4096;

/// What is no member that could be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// What was looked at.
    pub source: MemberSource,
    /// Why it is passed over; it is named in it.
    pub why: Text,
}

/// What was found at a number of paths.
#[derive(Clone, Debug, Default)]
pub struct FoundArrays {
    /// The arrays, in the order in which their first members were named, those that others stand on
    /// before these.
    pub groups: Vec<Group>,
    /// What could not be looked at, or is no member.
    pub passed_over: Vec<PassedOver>,
    /// What has no superblock.
    pub without: Vec<MemberSource>,
}

impl FoundArrays {
    /// The array that this one is a member of.
    #[must_use]
    pub fn above(&self, array: &Group) -> Option<&Group> {
        let is_it = |below: &Group| below.set_uuid() == array.set_uuid();
        self.groups.iter().find(|group| group.arrays().any(is_it))
    }

    /// The arrays that are members of no other.
    pub fn outermost(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| self.above(group).is_none())
    }

    /// The one array that all of it is, or may be: one that lacks members, where what else there is
    /// cannot be opened to see what it is a member of, and there are arrays among the members.
    #[must_use]
    pub fn only(&self) -> Option<&Group> {
        let (open, closed): (Vec<&Group>, Vec<&Group>) =
            self.outermost().partition(|group| group.can_be_read());
        let over_arrays = || closed.iter().filter(|group| group.stands_on_arrays());
        match (&open[..], &closed[..]) {
            ([one], []) | ([], [one]) => Some(one),
            ([one], _) => {
                let may_be = one.stands_on_arrays() || over_arrays().count() == closed.len();
                (may_be && one.lacks_members()).then_some(one)
            }
            ([], _) => {
                let one = over_arrays().next().filter(|one| one.lacks_members());
                one.filter(|_| over_arrays().count() == 1).copied()
            }
            _ => None,
        }
    }

    /// What commands name an array by that runs as it was found: by that of its stack, which is
    /// called like the outermost array.
    #[must_use]
    pub fn called(&self, array: &Group) -> String {
        let mut outermost = array;
        while let Some(above) = self.above(outermost) {
            outermost = above;
        }
        let name = |group: &Group| group.candidates[0].superblock.name();
        match outermost.stands_on_arrays() {
            true => format!("{} --array {}", name(outermost), name(array)),
            false => name(array),
        }
    }
}

/// Looks at files and devices, and the partitions in them, and groups those that carry superblocks
/// by array; each array is opened to see whether it is a member of another. Nothing is opened for
/// writing.
#[must_use]
pub fn find<S: Clone + Into<MemberSource>>(guard: &Guard, sources: &[S]) -> FoundArrays {
    let mut search = Search::over(guard);
    let mut seen = HashMap::new();
    for source in sources {
        let source: MemberSource = source.clone().into();
        // A hard link among the files of a folder is no second member.
        let id = (source.identity(), source.offset_bytes);
        if let Some(earlier) = seen.insert(id, source.place_name()) {
            let why = twice_text(&earlier, &source.place_name());
            search.found.passed_over.push(PassedOver { source, why });
            continue;
        }
        search.look(&source);
    }
    search.leave_out_whole_disks();
    search.look_into_arrays();
    search.end()
}

/// What a member that was found lies on.
#[derive(Clone)]
enum Origin {
    Source(MemberSource),
    /// The array of this UUID.
    Array([u8; 16]),
}

struct Search<'a> {
    guard: &'a Guard,
    /// Without io_uring nothing starts here at all, and that says nothing of the members.
    reactor: Option<Reactor>,
    found: FoundArrays,
    /// All members, and what they lie on.
    members: Vec<(Candidate, Origin)>,
    /// Arrays that were looked into.
    groups: HashMap<[u8; 16], Group>,
}

impl Search<'_> {
    fn over(guard: &Guard) -> Search<'_> {
        let (found, reactor) = (FoundArrays::default(), Reactor::wall().ok());
        Search { guard, reactor, found, members: Vec::new(), groups: HashMap::new() }
    }

    fn look(&mut self, source: &MemberSource) {
        let all = match look(self.guard, source) {
            Ok(all) => all,
            Err(error) => {
                let passed = PassedOver { source: source.clone(), why: error.into() };
                return self.found.passed_over.push(passed);
            }
        };
        for examined in all {
            match examined.candidate() {
                Some(candidate) => self.members.push((candidate, Origin::Source(examined.source))),
                None if examined.damaged.is_empty() => self.found.without.push(examined.source),
                None => {
                    let why = examined.no_superblock_text();
                    self.found.passed_over.push(PassedOver { source: examined.source, why });
                }
            }
        }
    }

    /// A superblock at the end of a disk's last partition may be at the end of the disk too: it is
    /// the partition's.
    fn leave_out_whole_disks(&mut self) {
        let all = self.members.clone();
        self.members.retain(|(disk, origin)| {
            let Origin::Source(source) = origin else { return true };
            let own = all.iter().find_map(|(part, origin)| match origin {
                Origin::Source(own)
                    if part.superblock.device_uuid == disk.superblock.device_uuid
                        && own
                            .path()
                            .zip(source.path())
                            .is_some_and(|(own, disk)| is_partition_of(own, disk)) =>
                {
                    Some(own)
                }
                _ => None,
            });
            if let Some(own) = own {
                let own = own.to_string();
                let why = statement!(catalogue::SUPERBLOCK_OF_PARTITION, own = own);
                let why = why.at(source.to_string());
                self.found.passed_over.push(PassedOver { source: source.clone(), why });
            }
            own.is_none()
        });
    }

    /// Arrays may be members of arrays, to any depth.
    fn look_into_arrays(&mut self) {
        for _ in 0..LOOKS_MAX {
            let next = self.members.iter().map(|(candidate, _)| candidate.superblock.set_uuid);
            let Some(next) = next.into_iter().find(|uuid| !self.groups.contains_key(uuid)) else {
                return;
            };
            let group = self.group(next);
            let carried = self.carried_by(&group);
            self.groups.insert(next, group);
            if let Some(candidate) = carried {
                self.forget(candidate.superblock.set_uuid);
                self.members.push((candidate, Origin::Array(next)));
            }
        }
    }

    /// The array has a member more: what was seen of it was seen without that.
    fn forget(&mut self, array: [u8; 16]) {
        self.groups.remove(&array);
        let is_its = |origin: &Origin| matches!(origin, Origin::Array(below) if *below == array);
        if let Some(place) = self.members.iter().position(|(_, origin)| is_its(origin)) {
            let (candidate, _) = self.members.remove(place);
            self.forget(candidate.superblock.set_uuid);
        }
    }

    /// What an array says of itself as a member of another.
    fn carried_by(&self, group: &Group) -> Option<Candidate> {
        let (reactor, stack) = (self.reactor.as_ref()?, self.opened(group)?);
        let candidate = examine(&*stack.device, &group.plain_text(), reactor).ok()??;
        let superblock = &candidate.superblock;
        // None is a member of itself, by whatever way.
        let mut below = HashSet::new();
        arrays_below(group, &mut below);
        // One that runs here is a block device by itself, which is found as such.
        let is_on_device = |origin: &Origin| match origin {
            Origin::Source(source) => source.path().is_some_and(is_block_device),
            Origin::Array(_) => false,
        };
        let is_it = |(one, origin): &(Candidate, Origin)| {
            one.superblock.device_uuid == superblock.device_uuid && is_on_device(origin)
        };
        (!below.contains(&superblock.set_uuid) && !self.members.iter().any(is_it))
            .then_some(candidate)
    }

    /// An array, opened for reading.
    fn opened(&self, group: &Group) -> Option<Stack> {
        [false, true].into_iter().find_map(|force| {
            let opening = AssemblyOptions { read_only: true, overlay: None, force };
            self.build(&group.stack(opening).ok()?)
        })
    }

    fn build(&self, tree: &Node) -> Option<Stack> {
        let files = PeekFiles(self.guard);
        let context = BuildContext { read_only: true, ..BuildContext::new(&files) };
        stack::build(tree, &context).ok()
    }

    /// The members of one array, and what they amount to.
    fn group(&self, set_uuid: [u8; 16]) -> Group {
        let own = |member: &&(Candidate, Origin)| member.0.superblock.set_uuid == set_uuid;
        let (candidates, sources): (Vec<Candidate>, Vec<GroupMember>) = (self.members.iter())
            .filter(own)
            .map(|(candidate, origin)| {
                let source = match origin {
                    Origin::Source(source) => GroupMember::Source(source.clone()),
                    Origin::Array(below) => {
                        let known = self.groups.get(below).cloned();
                        GroupMember::Array(Box::new(known.unwrap_or_else(|| self.group(*below))))
                    }
                };
                (candidate.clone(), source)
            })
            .unzip();
        let assembly = assemble(&candidates, AssembleOptions::default());
        let mut group = Group { candidates, sources, assembly };
        if let Some(start) = self.start_of(&group)
            && let Ok(assembly) = &mut group.assembly
        {
            assembly.start = start;
        }
        group
    }

    /// Has the array opened as a start opens it, with nothing written: what superblocks alone do
    /// not tell, as that a log of bad blocks is damaged, may forbid a start, and so may what an
    /// array among its members needs. How it may start, where that is not as its superblocks have
    /// it.
    fn start_of(&self, group: &Group) -> Option<Startability> {
        let (reactor, assembly) = (self.reactor.as_ref()?, group.assembly.as_ref().ok()?);
        let stacks = group.sources.iter().map(|source| match source {
            GroupMember::Source(source) => self.build(&source.node()),
            GroupMember::Array(below) => self.opened(below),
        });
        // The start itself says why.
        let stacks: Vec<Stack> = stacks.collect::<Option<_>>()?;
        let devices: Vec<Option<Arc<dyn Device>>> =
            stacks.iter().map(|stack| Some(Arc::clone(&stack.device))).collect();
        let look = |read_only: bool, force: bool| -> Result<(), Text> {
            let opening = AssemblyOptions { read_only, overlay: None, force };
            group.check_members(assembly, opening)?;
            #[allow(
                clippy::needless_update,
                reason = "tests compile it with mistakes to be planted"
            )]
            let options = StartOptions { read_only, force, ..StartOptions::default() };
            check(assembly, &group.candidates, &devices, &options, reactor).map_err(Text::from)
        };
        start_by(&assembly.start, look)
    }

    /// The arrays, those below before those above.
    fn end(mut self) -> FoundArrays {
        let candidates: Vec<Candidate> =
            self.members.iter().map(|(candidate, _)| candidate.clone()).collect();
        let mut groups: Vec<Group> = (group(&candidates).into_iter())
            .map(|own| candidates[own[0]].superblock.set_uuid)
            .map(|uuid| self.groups.remove(&uuid).unwrap_or_else(|| self.group(uuid)))
            .collect();
        groups.sort_by_key(height);
        let closed: Vec<([u8; 16], String)> = (groups.iter())
            .filter(|group| !group.can_be_read())
            .map(|group| (group.set_uuid(), group.candidates[0].superblock.name()))
            .collect();
        let lacking = |group: &&mut Group| group.stands_on_arrays() && group.lacks_members();
        for group in groups.iter_mut().filter(lacking) {
            let own = group.set_uuid();
            if let Ok(assembly) = &mut group.assembly {
                let others = closed.iter().filter(|(uuid, _)| *uuid != own);
                assembly.notes.extend(
                    others.map(|(_, name)| statement!(catalogue::MEMBERSHIP_UNKNOWN, name = name)),
                );
            }
        }
        self.found.groups = groups;
        self.found
    }
}

/// The arrays that an array stands on, and itself.
fn arrays_below(group: &Group, found: &mut HashSet<[u8; 16]>) {
    found.insert(group.set_uuid());
    group.arrays().for_each(|below| arrays_below(below, found));
}

/// How many arrays lie below one another under it.
fn height(group: &Group) -> usize {
    group.arrays().map(|below| height(below) + 1).max().unwrap_or(0)
}

fn is_block_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.file_type().is_block_device())
}

/// How an array may start that may do so by its superblocks as they say: `look` says what else
/// there is against it, for reading only or not, by force or not.
fn start_by(
    said: &Startability,
    look: impl Fn(bool, bool) -> Result<(), Text>,
) -> Option<Startability> {
    let by_other_ways =
        |reasons: Vec<Text>| match (look(true, false).is_ok(), look(false, true).is_ok()) {
            (true, true) => Startability::ReadOnlyOrForce(reasons),
            (true, false) => Startability::ReadOnly(reasons),
            (false, true) => Startability::NeedsForce(reasons),
            (false, false) => Startability::Refused(reasons),
        };
    let refused = |reason: Text| Startability::Refused(vec![reason]);
    match said {
        Startability::Ready => look(false, false).err().map(|reason| by_other_ways(vec![reason])),
        Startability::ReadOnly(_) => look(true, false).err().map(refused),
        Startability::NeedsForce(_) => look(false, true).err().map(refused),
        Startability::ReadOnlyOrForce(reasons) => Some(by_other_ways(reasons.clone())),
        Startability::Refused(_) => None,
    }
}

/// Opens members for a look, also those that are in use.
struct PeekFiles<'a>(&'a Guard);

impl OpenFiles for PeekFiles<'_> {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, block::Error> {
        self.0.peek(path)
    }

    fn serve_image(&self, image: &RbdImage) -> Result<ImageServer, block::Error> {
        self.0.serve_image(image)
    }
}

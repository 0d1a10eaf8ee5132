//! From superblocks to stack text: what members make up, and the text that opens it.
//!
//! ```text
//! paths ──> examine ──> group by array ──> md::assemble ──> Group ──┬──> raid5(metadata=1.2, …)      as md would start it
//!                                                                   ├──> overlay(delta, …)           to try out, members unwritten
//!                                                                   └──> raid5(metadata=none, …)     slices of the members
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use array::md::{
    AssembleOptions, Assembly, Candidate, Layout, Level, Role, Slot, Start, assemble, group,
};
use array::metadata::{StartOptions, check};
use block::Node;
use reactor::Reactor;

use super::examine::{is_partition_of, look};
use super::{MemberSource, SECTOR_BYTES, layer_name};
use host::Error;
use host::guard::Guard;
use stack::{BuildContext, Identity, OpenFiles, twice_text};

/// The members of one array, and what they amount to.
#[derive(Clone, Debug)]
pub struct Group {
    /// The members that were found.
    pub candidates: Vec<Candidate>,
    /// What they lie on, in the same order.
    pub sources: Vec<MemberSource>,
    /// What they amount to, or why nothing can be made of them.
    pub assembly: Result<Assembly, String>,
}

/// What was found at a number of paths.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The arrays, in the order in which their first members were named.
    pub groups: Vec<Group>,
    /// Paths that could not be looked at, and why.
    pub passed_over: Vec<String>,
    /// What has no superblock.
    pub without: Vec<MemberSource>,
}

/// Looks at files and devices, and the partitions in them, and groups those that carry superblocks
/// by array. Nothing is opened for writing.
#[must_use]
pub fn find<S: Clone + Into<MemberSource>>(guard: &Guard, sources: &[S]) -> Found {
    let mut found = Found::default();
    let (mut candidates, mut members) = (Vec::new(), Vec::<MemberSource>::new());
    let mut seen = HashMap::new();
    for source in sources {
        let source: MemberSource = source.clone().into();
        // A hard link among the files of a folder is no second member.
        let id = (Identity::of(&source.path), source.offset_bytes);
        if let Some(earlier) = seen.insert(id, source.path.clone()) {
            found.passed_over.push(twice_text(&earlier, &source.path));
            continue;
        }
        match look(guard, &source) {
            Ok(all) => {
                for examined in all {
                    match examined.candidate() {
                        Some(candidate) => {
                            candidates.push(candidate);
                            members.push(examined.source);
                        }
                        None if examined.damaged.is_empty() => found.without.push(examined.source),
                        None => found.passed_over.push(examined.no_superblock_text()),
                    }
                }
            }
            Err(error) => found.passed_over.push(error.to_string()),
        }
    }
    for own in group(&candidates) {
        let own = without_whole_disks(own, &candidates, &members, &mut found.passed_over);
        let sources: Vec<MemberSource> = own.iter().map(|index| members[*index].clone()).collect();
        let own: Vec<Candidate> = own.iter().map(|index| candidates[*index].clone()).collect();
        let mut assembly = assemble(&own, AssembleOptions::default());
        if let Ok(assembly) = &mut assembly {
            look_closer(guard, &own, &sources, assembly);
        }
        found.groups.push(Group { candidates: own, sources, assembly });
    }
    found
}

/// A superblock at the end of a disk's last partition may be at the end of the disk too: it is the
/// partition's.
fn without_whole_disks(
    mut members: Vec<usize>,
    candidates: &[Candidate],
    sources: &[MemberSource],
    passed_over: &mut Vec<String>,
) -> Vec<usize> {
    let all = members.clone();
    members.retain(|&disk| {
        let part = all.iter().find(|&&part| {
            candidates[part].superblock.device_uuid == candidates[disk].superblock.device_uuid
                && is_partition_of(&sources[part].path, &sources[disk].path)
        });
        if let Some(&part) = part {
            passed_over.push(format!(
                "{}: its superblock is that of its partition {}",
                sources[disk], sources[part]
            ));
        }
        part.is_none()
    });
    members
}

/// Has the array opened as a start opens it, with nothing written: what superblocks alone do not
/// tell, as that a log of bad blocks is damaged, may forbid a start.
fn look_closer(
    guard: &Guard,
    candidates: &[Candidate],
    sources: &[MemberSource],
    assembly: &mut Assembly,
) {
    // Without io_uring nothing starts here at all, and that says nothing of the members.
    let Ok(reactor) = Reactor::wall() else { return };
    let context = BuildContext {
        files: &Peeks(guard),
        seed: 0,
        read_only: true,
        create_bytes: None,
        emulate: false,
    };
    let open = |source: &MemberSource| {
        stack::build(&source.node(), &context).map(|stack| Some(stack.device))
    };
    let devices: Result<Vec<_>, block::Error> = sources.iter().map(open).collect();
    // The start itself says why.
    let Ok(devices) = devices else { return };
    let look = |read_only: bool, force: bool| {
        #[allow(clippy::needless_update, reason = "tests compile it with mistakes to be planted")]
        let options = StartOptions { read_only, force, ..StartOptions::default() };
        check(assembly, candidates, &devices, &options, &reactor).map_err(|error| error.to_string())
    };
    let may = |read_only: bool, force: bool| look(read_only, force).is_ok();
    let start = match &assembly.start {
        Start::Ready => look(false, false).err().map(|reason| {
            let reasons = vec![reason];
            match (may(true, false), may(false, true)) {
                (true, true) => Start::ReadOnlyOrForce(reasons),
                (true, false) => Start::ReadOnly(reasons),
                (false, true) => Start::NeedsForce(reasons),
                (false, false) => Start::Refused(reasons),
            }
        }),
        Start::ReadOnly(_) => look(true, false).err().map(|reason| Start::Refused(vec![reason])),
        Start::NeedsForce(_) => look(false, true).err().map(|reason| Start::Refused(vec![reason])),
        Start::ReadOnlyOrForce(_) | Start::Refused(_) => None,
    };
    if let Some(start) = start {
        assembly.start = start;
    }
}

/// Opens members for a look, also those that are in use.
struct Peeks<'a>(&'a Guard);

impl OpenFiles for Peeks<'_> {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, block::Error> {
        self.0.peek(path)
    }
}

/// How the text of an assembled array is to be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening<'a> {
    /// The members are only read.
    pub read_only: bool,
    /// Writes go to a delta in this folder.
    pub overlay: Option<&'a Path>,
    /// Start also where something may be lost by it.
    pub force: bool,
}

impl Group {
    /// The stack text by which the array is started.
    ///
    /// # Errors
    /// Why it cannot be started like that: one line for each reason.
    pub fn stack(&self, opening: Opening<'_>) -> Result<Node, Error> {
        let assembly = self.assembly.as_ref().map_err(|reason| Error::usage(reason.clone()))?;
        let only_read = opening.read_only || opening.overlay.is_some();
        let reads_wrong = only_read && assembly.reads_wrong_without_log();
        match &assembly.start {
            Start::Ready if reads_wrong && !opening.force => {
                let advice = "--force reads it all the same";
                return Err(Error::refused(format!(
                    "{}: {}; {advice}",
                    assembly.name,
                    Assembly::WITHOUT_LOG
                )));
            }
            Start::Ready => (),
            Start::ReadOnly(_) if only_read => (),
            Start::ReadOnlyOrForce(_) if only_read || opening.force => (),
            Start::NeedsForce(_) if opening.force => (),
            Start::ReadOnly(reasons) => {
                let advice = "it can be read: --read-only, or --overlay DIR to try out writes";
                return Err(Error::refused(format!(
                    "{}: {}; {advice}",
                    assembly.name,
                    reasons.join("; ")
                )));
            }
            Start::ReadOnlyOrForce(reasons) => {
                return Err(Error::refused(format!("{}: {}", assembly.name, reasons.join("; "))));
            }
            Start::NeedsForce(reasons) => {
                let advice = "--force starts it all the same";
                return Err(Error::refused(format!(
                    "{}: {}; {advice}",
                    assembly.name,
                    reasons.join("; ")
                )));
            }
            Start::Refused(reasons) => {
                return Err(Error::refused(format!("{}: {}", assembly.name, reasons.join("; "))));
            }
        }
        let leaf = |candidate: usize| {
            let leaf = self.sources[candidate].node();
            if only_read { leaf.with("read_only", "yes") } else { leaf }
        };
        let node = stack::tree_of(assembly, self.candidates[assembly.newest].version, leaf);
        let node = match (&assembly.start, assembly.layout) {
            (Start::NeedsForce(_), _) => node.with("force", "yes"),
            (Start::ReadOnlyOrForce(_), _) if !only_read => node.with("force", "yes"),
            _ if reads_wrong => node.with("force", "yes"),
            _ => node,
        };
        Ok(match opening.overlay {
            None => node,
            Some(folder) => {
                let name: String = assembly
                    .name
                    .chars()
                    .map(|letter| if letter.is_alphanumeric() { letter } else { '-' })
                    .collect();
                let delta = folder.join(format!("{name}.delta"));
                Node::layer("overlay", vec![Node::file(&delta), node])
            }
        })
    }

    /// The slots that a member holds, as the newest superblock has it, and none of these members
    /// does with data that are up to date. A slot whose member has failed, was removed or never
    /// was is none of them.
    ///
    /// # Errors
    /// Why nothing can be made of the members at all.
    pub fn absent_slots(&self) -> Result<Vec<usize>, String> {
        let assembly = self.assembly.as_ref().map_err(Clone::clone)?;
        let newest = &self.candidates[assembly.newest].superblock;
        let is_held = |slot: usize| {
            newest.roles.iter().any(|role| *role == Role::Active(u16::try_from(slot).unwrap_or(!0)))
        };
        let is_absent = |slot: &Slot| matches!(slot, Slot::Stale { .. } | Slot::Missing);
        let slots = assembly.slots.iter().enumerate();
        Ok(slots
            .filter(|(slot, held)| is_absent(held) && is_held(*slot))
            .map(|(slot, _)| slot)
            .collect())
    }
}

/// The tree of an assembly without its metadata: each member as the part of it that holds data. A
/// place without a member that holds all of its data is `missing`. `None` for a level that raidloom
/// does not serve, and in the middle of a reshape.
#[must_use]
pub fn slices<S: Clone + Into<MemberSource>>(assembly: &Assembly, sources: &[S]) -> Option<Node> {
    if matches!(assembly.level, Level::Multipath | Level::Faulty | Level::Unknown(_))
        || assembly.reshape.is_some()
    {
        return None;
    }
    let chunk = u64::from(assembly.chunk_sectors);
    let member = |slot: &Slot| {
        let Some(place) = slot.present() else { return Node::Missing };
        let used = match assembly.level {
            // Each ends on a whole chunk.
            Level::Linear if chunk > 0 => place.data_size_sectors / chunk * chunk,
            Level::Linear | Level::Raid0 => place.data_size_sectors,
            _ => assembly.size_sectors,
        };
        let source: MemberSource = sources[place.candidate].clone().into();
        Node::file(&source.path)
            .with("offset", source.offset_bytes + place.data_offset_sectors * SECTOR_BYTES)
            .with("size", used * SECTOR_BYTES)
            .with("block", SECTOR_BYTES)
    };
    let node = Node::layer(layer_name(assembly.level), assembly.slots.iter().map(member).collect())
        .with("metadata", "none");
    let node =
        if assembly.level.has_chunks() { node.with("chunk", chunk * SECTOR_BYTES) } else { node };
    Some(match assembly.layout {
        Layout::Plain | Layout::Unknown(_) | Layout::Raid0(None) => node,
        layout => node.with("layout", layout),
    })
}

//! From superblocks to stack text: what members make up, and the text that opens it.
//!
//! ```text
//! paths ──> examine ──> group by array ──> md::assemble ──> Group ──┬──> raid5(metadata=1.2, …)      as md would start it
//!                                                                   ├──> overlay(delta, …)           to try out, members unwritten
//!                                                                   └──> raid5(metadata=none, …)     slices of the members
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use array::md::{
    AssembleOptions, Assembly, Candidate, Layout, Level, Role, Slot, Start, assemble, group,
};
use block::Node;

use super::{SECTOR_BYTES, examine, layer_name};
use host::Error;
use host::guard::Guard;
use stack::{Identity, twice_text};

/// The members of one array, and what they amount to.
#[derive(Clone, Debug)]
pub struct Group {
    /// The members that were found.
    pub candidates: Vec<Candidate>,
    /// Their paths, in the same order.
    pub paths: Vec<PathBuf>,
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
    /// Paths without a superblock.
    pub without: Vec<PathBuf>,
}

/// Looks at the paths and groups those that carry superblocks by array. Nothing is opened for
/// writing.
#[must_use]
pub fn find(guard: &Guard, paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let (mut candidates, mut sources) = (Vec::new(), Vec::new());
    let mut seen = HashMap::new();
    for path in paths {
        // A hard link among the files of a folder is no second member.
        if let Some(earlier) = seen.insert(Identity::of(path), path) {
            found.passed_over.push(twice_text(earlier, path));
            continue;
        }
        match examine(guard, path) {
            Ok(examined) => match examined.candidate() {
                Some(candidate) => {
                    candidates.push(candidate);
                    sources.push(path.clone());
                }
                None if examined.damaged.is_empty() => found.without.push(path.clone()),
                None => found.passed_over.push(examined.no_superblock_text()),
            },
            Err(error) => found.passed_over.push(error.to_string()),
        }
    }
    for members in group(&candidates) {
        let own: Vec<Candidate> = members.iter().map(|index| candidates[*index].clone()).collect();
        let paths = members.iter().map(|index| sources[*index].clone()).collect();
        let assembly = assemble(&own, AssembleOptions::default());
        found.groups.push(Group { candidates: own, paths, assembly });
    }
    found
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
            Start::NeedsForce(_) if opening.force => (),
            Start::ReadOnly(reasons) => {
                let advice = "it can be read: --read-only, or --overlay DIR to try out writes";
                return Err(Error::refused(format!(
                    "{}: {}; {advice}",
                    assembly.name,
                    reasons.join("; ")
                )));
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
            let leaf = Node::leaf("file", self.paths[candidate].display().to_string());
            if only_read { leaf.with("read_only", "yes") } else { leaf }
        };
        let node = stack::tree_of(assembly, self.candidates[assembly.newest].version, leaf);
        let node = match (&assembly.start, assembly.layout) {
            (Start::NeedsForce(_), _) => node.with("force", "yes"),
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
                Node::layer("overlay", vec![Node::leaf("file", delta.display().to_string()), node])
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
pub fn slices(assembly: &Assembly, paths: &[PathBuf]) -> Option<Node> {
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
        Node::leaf("file", paths[place.candidate].display().to_string())
            .with("offset", place.data_offset_sectors * SECTOR_BYTES)
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

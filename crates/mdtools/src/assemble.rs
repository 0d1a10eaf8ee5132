//! From superblocks to stack text: what members make up, and the text that opens it.
//!
//! ```text
//! Group ──┬──> raid5(metadata=1.2, …)      as md would start it
//!         ├──> overlay(delta, …)           to try out, members unwritten
//!         └──> raid5(metadata=none, …)     slices of the members
//! ```

use std::fmt;
use std::path::Path;

use array::md::{Assembly, Candidate, Layout, Level, Role, Slot, Startability};
use block::Node;
use words::{Message, Text};

use super::{ArrayCondition, ArrayStatus, MemberPlace, MemberSource, SECTOR_BYTES, layer_name};
use crate::catalogue;
use host::Error;

/// What a member of an array lies on.
#[derive(Clone, Debug)]
pub enum GroupMember {
    /// A file, a block device, or a part of one.
    Source(MemberSource),
    /// Another array.
    Array(Box<Group>),
}

impl fmt::Display for GroupMember {
    /// A path as it is, and an array as the stack text that names its members.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupMember::Source(source) => source.fmt(f),
            GroupMember::Array(group) => group.plain_text().fmt(f),
        }
    }
}

impl GroupMember {
    /// The stack that opens it as a member of an array that is opened in this way.
    ///
    /// # Errors
    /// As [`Group::stack`].
    fn stack(&self, opening: AssemblyOptions<'_>) -> Result<Node, Error> {
        let read_only = opening.read_only || opening.overlay.is_some();
        match self {
            GroupMember::Source(source) if read_only => Ok(source.read_only_node()),
            GroupMember::Source(source) => Ok(source.node()),
            GroupMember::Array(group) => {
                group.stack(AssemblyOptions { read_only, overlay: None, force: opening.force })
            }
        }
    }
}

/// The members of one array, and what they amount to.
#[derive(Clone, Debug)]
pub struct Group {
    /// The members that were found.
    pub candidates: Vec<Candidate>,
    /// What they lie on, in the same order.
    pub sources: Vec<GroupMember>,
    /// What they amount to, or why nothing can be made of them.
    pub assembly: Result<Assembly, Text>,
}

/// How the text of an assembled array is to be.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssemblyOptions<'a> {
    /// The members are only read.
    pub read_only: bool,
    /// Writes go to a delta in this folder.
    pub overlay: Option<&'a Path>,
    /// Start also where something may be lost by it.
    pub force: bool,
}

impl Group {
    /// The array's UUID.
    #[must_use]
    pub fn set_uuid(&self) -> [u8; 16] {
        self.candidates[0].superblock.set_uuid
    }

    /// The arrays among its members.
    pub fn arrays(&self) -> impl Iterator<Item = &Group> {
        self.sources.iter().filter_map(|source| match source {
            GroupMember::Array(group) => Some(&**group),
            GroupMember::Source(_) => None,
        })
    }

    /// Whether there are arrays among its members.
    #[must_use]
    pub fn stands_on_arrays(&self) -> bool {
        self.arrays().next().is_some()
    }

    /// Whether members were not found, its own or those of an array among them.
    #[must_use]
    pub fn lacks_members(&self) -> bool {
        let lacks = |assembly: &Assembly| assembly.slots.contains(&Slot::Missing);
        self.assembly.as_ref().is_ok_and(lacks) || self.arrays().any(Group::lacks_members)
    }

    /// How it is with all that it stands on: an array over one that goes on without a member goes
    /// on without that too. `None` where nothing can be made of its members.
    #[must_use]
    pub fn state(&self) -> Option<ArrayCondition> {
        let assembly = self.assembly.as_ref().ok()?;
        let own = ArrayStatus::of_superblocks(assembly, &self.candidates).state;
        let is_online = |group: &Group| group.state() == Some(ArrayCondition::Online);
        Some(if self.arrays().all(is_online) { own } else { own.max(ArrayCondition::Degraded) })
    }

    /// Whether there is a way to read it as a whole, by force if need be.
    #[must_use]
    pub fn can_be_read(&self) -> bool {
        [false, true].into_iter().any(|force| {
            self.stack(AssemblyOptions { read_only: true, overlay: None, force }).is_ok()
        })
    }

    /// What it is called where it is a member: the stack text without how it is to be opened, or
    /// its name where nothing can be made of its members.
    pub(crate) fn plain_text(&self) -> String {
        let name = || self.candidates[0].superblock.name();
        self.plain_tree().map_or_else(name, |tree| tree.to_string())
    }

    fn plain_tree(&self) -> Option<Node> {
        let plain = |member: &GroupMember| match member {
            GroupMember::Source(source) => Some(source.node()),
            GroupMember::Array(group) => group.plain_tree(),
        };
        let assembly = self.assembly.as_ref().ok()?;
        self.tree(assembly, |member| plain(member).ok_or(())).ok()
    }

    /// The tree of an assembly, of members as `opened` has them.
    fn tree<E>(
        &self,
        assembly: &Assembly,
        opened: impl Fn(&GroupMember) -> Result<Node, E>,
    ) -> Result<Node, E> {
        // What is not used, as a stale array, need not open.
        let is_left_out = |candidate: usize| {
            assembly.left_out.iter().any(|left_out| left_out.candidate == candidate)
        };
        let nodes: Vec<Node> = (self.sources.iter().enumerate())
            .map(|(candidate, member)| match is_left_out(candidate) {
                true => Ok(Node::Missing),
                false => opened(member),
            })
            .collect::<Result<_, E>>()?;
        let version = self.candidates[assembly.newest].version;
        Ok(stack::tree_of(assembly, version, |candidate| nodes[candidate].clone()))
    }

    /// Whether the arrays among its members can be opened in this way.
    ///
    /// # Errors
    /// Why one cannot be.
    pub(crate) fn check_members(
        &self,
        assembly: &Assembly,
        opening: AssemblyOptions<'_>,
    ) -> Result<(), Error> {
        self.tree(assembly, |member| member.stack(opening)).map(drop)
    }

    /// The stack text by which the array is started.
    ///
    /// # Errors
    /// Why it cannot be started like that: one line for each reason.
    pub fn stack(&self, opening: AssemblyOptions<'_>) -> Result<Node, Error> {
        let assembly = self.assembly.as_ref().map_err(|reason| Error::usage(reason.clone()))?;
        let only_read = opening.read_only || opening.overlay.is_some();
        let reads_wrong = only_read && assembly.reads_wrong_without_log();
        let refuse = |why: Text, advice: Option<Message>| {
            let text = advice.into_iter().fold(why, |text, advice| text.and("; ").and(advice));
            Err(Error::refused(text).at(&assembly.name))
        };
        match &assembly.start {
            Startability::Ready if reads_wrong && !opening.force => {
                let why = Text::from(Assembly::WITHOUT_LOG);
                return refuse(why, Some(catalogue::FORCE_READS));
            }
            Startability::Ready => (),
            Startability::ReadOnly(_) if only_read => (),
            Startability::ReadOnlyOrForce(_) if only_read || opening.force => (),
            Startability::NeedsForce(_) if opening.force => (),
            Startability::ReadOnly(reasons) => {
                return refuse(Text::joined(reasons, "; "), Some(catalogue::CAN_BE_READ));
            }
            Startability::NeedsForce(reasons) => {
                return refuse(Text::joined(reasons, "; "), Some(catalogue::FORCE_STARTS));
            }
            Startability::ReadOnlyOrForce(reasons) | Startability::Refused(reasons) => {
                return refuse(Text::joined(reasons, "; "), None);
            }
        }
        let node = self.tree(assembly, |member| member.stack(opening))?;
        let node = match (&assembly.start, assembly.layout) {
            (Startability::NeedsForce(_), _) => node.with("force", "yes"),
            (Startability::ReadOnlyOrForce(_), _) if !only_read => node.with("force", "yes"),
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
    pub fn absent_slots(&self) -> Result<Vec<usize>, Text> {
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
        let leaf = match &source.place {
            MemberPlace::Path(path) => Node::file(path),
            MemberPlace::Remote(leaf) => leaf.clone(),
        };
        leaf.with("offset", source.offset_bytes + place.data_offset_sectors * SECTOR_BYTES)
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

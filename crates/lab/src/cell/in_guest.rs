//! What a configuration means to a guest: its disks, and the array of its own md.

use block::Node;
use guest::setup::WITH_LOG;
use words::{Text, statement};

use super::axes::Axes;
use super::names::{CHUNK, LAYOUT};
use super::values::{ArrayMaker, Consistency, Machine};
use crate::catalogue;
use crate::stacks;

/// A guest's memory where nothing is said, in bytes.
const MEMORY_BYTES: u64 = 512 << 20;

impl Axes {
    /// Whether a Linux in a guest does the work.
    pub(crate) fn is_in_guest(&self) -> bool {
        self.place == Some(Machine::Guest)
    }

    /// Whether the array is the guest's own md.
    pub(crate) fn is_by_md(&self) -> bool {
        self.array == Some(ArrayMaker::Md)
    }

    /// The guest's memory, in bytes.
    pub(crate) fn guest_memory_bytes(&self) -> u64 {
        self.memory_bytes.unwrap_or(MEMORY_BYTES)
    }

    /// The name of the guest's kernel.
    pub(crate) fn guest_kernel(&self) -> &str {
        self.kernel.as_deref().unwrap_or(guest::USUAL_KERNEL)
    }

    /// Why a stack cannot be the disks of a guest, if it cannot.
    pub(crate) fn refuse_unfit(&self, node: &Node) -> Result<(), Text> {
        let is_fit = |leaf: &&Node| match leaf {
            Node::Leaf { scheme, .. } => matches!(scheme.as_str(), "model" | "ram"),
            _ => true,
        };
        if let Some(leaf) = node.leaves().into_iter().find(|leaf| !is_fit(leaf)) {
            return Err(statement!(catalogue::LEAF_NOT_MODELLED, leaf = leaf));
        }
        if self.is_by_md() && self.cache.value().is_some() {
            return Err(catalogue::CACHE_OVER_MD.into());
        }
        if let Some(level) = self.level.filter(|level| level.name != "raid5")
            && self.is_by_md()
            && self.consistency == Some(Consistency::PartialParityLog)
        {
            return Err(statement!(catalogue::NO_LOG_OF_LEVEL, level = level.name));
        }
        Ok(())
    }

    /// The stack on modelled disks that are no larger than is said of a guest's.
    pub(crate) fn sized(&self, node: &Node) -> Node {
        self.disk_bytes.map_or_else(|| node.clone(), |bytes| no_larger(node.clone(), bytes))
    }

    /// The array of the guest's own md; `None` where it is not its own.
    pub(crate) fn md_text(&self) -> Option<String> {
        let mut text = self.level.filter(|_| self.is_by_md())?.name.to_owned();
        if let Some(bytes) = self.chunk_bytes {
            text += &format!(" {CHUNK}={}", stacks::size_text(bytes));
        }
        if let Some(layout) = &self.layout {
            text += &format!(" {LAYOUT}={layout}");
        }
        match self.consistency {
            Some(Consistency::Bitmap) => text += " bitmap=internal",
            Some(Consistency::PartialParityLog) => text += &format!(" {WITH_LOG}"),
            Some(Consistency::Resync) | None => (),
        }
        Some(text)
    }
}

/// The same stack on modelled disks of which no more than so many bytes are used.
fn no_larger(node: Node, bytes: u64) -> Node {
    match node {
        Node::Layer { name, options, children } => {
            let children = children.into_iter().map(|child| no_larger(child, bytes)).collect();
            Node::Layer { name, options, children }
        }
        leaf @ Node::Leaf { .. } if is_model_of_any_size(&leaf) => {
            leaf.with("size", stacks::size_text(bytes))
        }
        node => node,
    }
}

fn is_model_of_any_size(leaf: &Node) -> bool {
    matches!(leaf, Node::Leaf { scheme, options, .. }
        if scheme == "model" && !options.iter().any(|(name, _)| name == "size"))
}

//! One configuration of a plan, as values.
//!
//! ```text
//!   texts of a plan's axes ──> Axes ──> record (results::Configuration): texts, and what it is
//!                               │         │
//!   stack ──────────────────────┴──> Cell ┘  read back of its record by a run
//!
//!   Cell   record      identity, clock, ground, caches
//!          stack       what its device is made of
//!          serving     arrays made anew, deadlines, upkeep
//!          file_system on that device, or in an image on another
//!          axes        everything else: the guest's machine, settings of suites
//! ```
//!
//! Plans, runs, pull tests and what is started on its own are made of cells: what an axis is called
//! in a plan, and which words it takes, is known in this folder and to the reader of plans.

mod axes;
mod file_system;
mod in_guest;
mod level;
pub(crate) mod names;
mod open;
pub(crate) mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bench::suite::TargetKind;
use block::{Info, Node};
use export::RemovalPolicy;
use host::Error;
use host::processors::Processors;
use results::{Clock, Configuration, MeasuredCache, Plan, WorkTarget};

pub(crate) use axes::{Axes, suite_axis};
pub(crate) use file_system::{CellFileSystem, NestedImage};
pub(crate) use level::{LEVELS, Level};
pub use open::open_cell;
pub(crate) use open::{StackOpening, open};

use crate::stacks::{self, DryRuns, Leaf, without_containers};

/// A configuration of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// What the plan records of it.
    pub(crate) record: Configuration,
    /// What its device is made of; files of the run's own by their placeholders.
    pub(crate) stack: Node,
    /// How a server opens and keeps it.
    pub(crate) serving: StackOpening,
    /// The file system that suites work in; `None` where they load the device.
    pub(crate) file_system: Option<CellFileSystem>,
    /// What it says on every axis.
    pub(crate) axes: Axes,
}

impl Cell {
    /// What a record says.
    ///
    /// # Errors
    /// A record that makes no sense: it was changed, or is of files and not of a stack.
    pub(crate) fn of(record: &Configuration) -> Result<Cell, Error> {
        let axes = Axes::read(&record.settings)?;
        Ok(Cell {
            record: record.clone(),
            stack: stacks::parse(&record.stack)?,
            serving: axes.serving()?,
            file_system: axes.file_system()?,
            axes,
        })
    }

    /// Those of a plan, in its order.
    ///
    /// # Errors
    /// As [`Cell::of`].
    pub(crate) fn all(plan: &Plan) -> Result<Vec<Cell>, Error> {
        plan.configurations.iter().map(Cell::of).collect()
    }

    /// What suites are run on: a folder, that of the file system where it has one, or the device.
    pub(crate) fn target(&self) -> TargetKind {
        let is_folder = self.file_system.is_some() || self.record.ground == WorkTarget::Folder;
        if is_folder { TargetKind::Folder } else { TargetKind::Device }
    }

    /// Where other programs find its device: it is one file or block device as a whole.
    pub(crate) fn device_path(&self) -> Option<PathBuf> {
        let is_whole = |options: &[(String, String)]| {
            options.iter().all(|(name, _)| ["direct", stacks::READ_ONLY].contains(&name.as_str()))
        };
        match &self.stack {
            Node::Leaf { options, .. } if is_whole(options) => self.stack.file_path(),
            _ => None,
        }
    }

    /// Whether nothing of it can be written.
    pub(crate) fn is_read_only(&self) -> bool {
        let is_read = |leaf: Leaf| matches!(leaf, Leaf::Existing { read_only: true, .. });
        stacks::leaves(&self.stack).is_ok_and(|leaves| leaves.into_iter().all(is_read))
    }

    /// What its device would be ([`DryRuns::info`]).
    ///
    /// # Errors
    /// As there.
    pub(crate) fn dry(&self, runs: &DryRuns) -> Result<Info, Error> {
        let new_array = self.serving.new_array.as_ref();
        match self.record.ground {
            // Its containers are made on drives of its own.
            WorkTarget::Pull => runs.info(&without_containers(&self.stack), new_array),
            _ => runs.info(&self.stack, new_array),
        }
    }

    /// Bytes that making its image writes in a visit, if it has one.
    pub(crate) fn image_bytes(&self) -> u64 {
        self.file_system.as_ref().map_or(0, CellFileSystem::image_bytes)
    }

    /// Keeps this thread and what it starts to the processors that it names, if it names some on
    /// this machine.
    ///
    /// # Errors
    /// When there are not so many.
    pub(crate) fn keep_to_processors(&self) -> Result<Option<Processors>, Error> {
        let count = self.axes.processors.filter(|_| self.record.clock == Clock::Wall);
        count.map(Processors::keep_to).transpose()
    }
}

/// The settings of a configuration, for people: each axis and its value with `is` between them, and
/// `then` between the axes. Those of suites come last.
pub(crate) fn shown(settings: &BTreeMap<String, String>, is: &str, then: &str) -> String {
    let of_cells = names::AXES.iter().filter_map(|axis| settings.get_key_value(*axis));
    let of_suites = settings.iter().filter(|(axis, _)| names::is_of_suites(axis));
    let parts: Vec<String> =
        of_cells.chain(of_suites).map(|(axis, value)| format!("{axis}{is}{value}")).collect();
    parts.join(then)
}

/// What a configuration is, beside its settings: the plan decides it once, and a run's records have
/// it ([`Configuration`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    pub(crate) ground: WorkTarget,
    pub(crate) modelled: bool,
    pub(crate) caches: Vec<MeasuredCache>,
    pub(crate) quick_removal: bool,
}

impl Nature {
    /// Of a configuration of a plan that has pull tests alone, or other work; without a stack where
    /// what was measured is none of ours.
    pub(crate) fn of(node: Option<&Node>, axes: &Axes, clock: Clock, pulls_only: bool) -> Nature {
        let ground = match axes.file_system.value() {
            _ if pulls_only => WorkTarget::Pull,
            _ if axes.is_in_guest() => WorkTarget::Guest,
            Some(_) => WorkTarget::FileSystem,
            None if node.and_then(stacks::folder_of).is_some() => WorkTarget::Folder,
            None => WorkTarget::Device,
        };
        let layer = node.is_some_and(stacks::has_cache).then_some(MeasuredCache::Layer);
        let memory = axes.is_in_guest().then_some(MeasuredCache::GuestMemory);
        Nature {
            ground,
            modelled: clock == Clock::Virtual || node.is_some_and(stacks::has_model),
            caches: layer.into_iter().chain(memory).collect(),
            quick_removal: axes.policy == Some(RemovalPolicy::Quick),
        }
    }
}

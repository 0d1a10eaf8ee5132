//! What configurations are opened with: the guard, the programs that serve, boot and cut, and what
//! of them is there already.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use block::Node;
use guest::{Kernel, USUAL_KERNEL};
use host::Error;
use host::guard::Guard;
use host::journal::Journal;
use reactor::Reactor;
use results::Doubt;
use serve::{OpenStack, ServeWith};
use words::{Text, statement};

use super::folder::{self, MEMBERS};
use super::in_guest::Worker;
use super::members::{empty_stores, put_in_place};
use super::mounted_export::{self, MountedExport};
use crate::catalogue;
use crate::cell::{self, Cell};
use crate::pull::Program;
use crate::stacks::{self, map_leaves};

/// The option of a modelled drive that says which set of its parameters it has.
const DRAW: &str = "draw";

/// Opens the stacks of configurations through the guard.
#[derive(Clone, Copy)]
pub(super) struct StackOpener<'a> {
    /// The run's folder.
    pub(super) folder: &'a Path,
    pub(super) guard: &'a Guard,
}

impl StackOpener<'_> {
    /// The folder of the run's own members.
    pub(super) fn own_members(self) -> PathBuf {
        self.folder.join(MEMBERS)
    }

    /// A configuration's stack, its files by their paths. What caches have kept in files of the
    /// run's is gone.
    fn node(self, cell: &Cell) -> Result<Node, Error> {
        let own = self.own_members();
        empty_stores(&cell.stack, &own, self.guard)?;
        map_leaves(cell.stack.clone(), &|node| Ok(put_in_place(node, &own)))
    }

    /// The devices of a configuration.
    /// The reactor is that of a stack on the virtual clock.
    pub(super) fn open(
        self,
        cell: &Cell,
        seed: u64,
        reactor: Option<&Reactor>,
    ) -> Result<OpenStack, Error> {
        self.open_drawn(cell, (seed, None), reactor)
    }

    /// The same, with a set of parameters for its modelled drives beside the seed, where these are
    /// drawn.
    pub(super) fn open_drawn(
        self,
        cell: &Cell,
        (seed, drawn_set): (u64, Option<u32>),
        reactor: Option<&Reactor>,
    ) -> Result<OpenStack, Error> {
        let mut node = self.node(cell)?;
        if let Some(set) = drawn_set {
            let is_fitted = |leaf: &Node| {
                matches!(leaf, Node::Leaf { options, .. }
                    if options.iter().all(|(name, _)| name != DRAW))
            };
            node = map_leaves(node, &|leaf| {
                let is_drawn = stacks::has_model(&leaf) && is_fitted(&leaf);
                Ok(if is_drawn { leaf.with(DRAW, set) } else { leaf })
            })?;
        }
        cell::open(&node, &cell.serving, self.guard, seed, reactor, None)
    }
}

/// What a run opens its configurations with.
pub(super) struct Resources<'a> {
    pub(super) opener: StackOpener<'a>,
    /// What serves stacks to the kernel; without it there are no file systems.
    pub(super) serve_with: Option<&'a ServeWith>,
    /// What measures inside guests; without it there are none.
    pub(super) worker: Option<&'a Worker>,
    /// What makes power cuts; without it none are made.
    pub(super) puller: Option<&'a Program>,
    /// What is undone at the end of the run.
    pub(super) journal: Journal,
    /// The kernels of guests that were found so far, by their names.
    pub(super) kernels: BTreeMap<String, Kernel>,
    /// Where file systems appear, once there was one.
    pub(super) point: Option<PathBuf>,
}

impl<'a> Resources<'a> {
    pub(super) fn new(folder: &'a Path, guard: &'a Guard) -> Resources<'a> {
        Resources {
            opener: StackOpener { folder, guard },
            serve_with: None,
            worker: None,
            puller: None,
            journal: Journal::new(folder),
            kernels: BTreeMap::new(),
            point: None,
        }
    }

    /// Undoes what is left of the run's own, and says in words what that was.
    pub(super) fn undo(&mut self) -> Vec<Text> {
        // A server that has died left something, which stands on what is undone here.
        let mut left = match &self.point {
            Some(_) => mounted_export::end_left_behind(self.serve_with, self.opener.folder),
            None => Vec::new(),
        };
        let journal = std::mem::replace(&mut self.journal, Journal::new(self.opener.folder));
        left.extend(journal.undo());
        left
    }

    /// A configuration's file system, mounted.
    pub(super) fn attach(&mut self, cell: &Cell, seed: u64) -> Result<MountedExport, Error> {
        let Some(serve_with) = self.serve_with else {
            return Err(Error::failed(catalogue::NOTHING_SERVES));
        };
        let StackOpener { folder, guard } = self.opener;
        let node = self.opener.node(cell)?;
        let point = match &self.point {
            Some(point) => point,
            None => self.point.insert(mounted_export::make_point(folder, &mut self.journal)?),
        };
        MountedExport::new((folder, point), guard, serve_with, cell, (&node, seed))
    }

    /// Finds the kernel of a cell's guest, and says once whose figures those of each are.
    pub(super) fn find_kernel(&mut self, cell: &Cell, cells: &[Cell]) -> Result<Kernel, Error> {
        let name = cell.axes.guest_kernel();
        if let Some(kernel) = self.kernels.get(name) {
            return Ok(kernel.clone());
        }
        let kernel = Kernel::find(name)?;
        let which = match name {
            USUAL_KERNEL => Text::default(),
            name => statement!(catalogue::OF_KERNEL, name = name),
        };
        let version = kernel.version();
        let note = statement!(catalogue::GUEST_IS_MODELLED, version = version, which = which);
        folder::add_note(self.opener.folder, &note)?;
        let is_first = self.kernels.is_empty();
        self.kernels.insert(name.to_owned(), kernel.clone());
        if is_first {
            self.note_processors(cells)?;
        }
        Ok(kernel)
    }

    /// Says what processors were stated to cost.
    fn note_processors(&self, cells: &[Cell]) -> Result<(), Error> {
        let stated = cells.iter().filter_map(|cell| cell.axes.processor.value());
        let stated: BTreeSet<String> = stated.map(ToString::to_string).collect();
        for processor in stated {
            let note = statement!(catalogue::PROCESSOR_IS_STATED, processor = processor);
            folder::add_note(self.opener.folder, &note)?;
        }
        Ok(())
    }

    /// What is to be known of every trial of a visit in real time.
    pub(super) fn notes(&self, cell: &Cell, of_stack: &[Text]) -> Vec<Doubt> {
        let own = format!("{}/", self.opener.own_members().display());
        // What names the run's own files is the same wherever the run lies.
        let note = |text: &Text| match text.english() {
            english if english.contains(&own) => {
                Doubt::Note { text: english.replace(&own, "").into() }
            }
            _ => Doubt::Note { text: text.clone() },
        };
        let mut notes: Vec<Doubt> = of_stack.iter().map(note).collect();
        if cell.record.modelled {
            notes.push(Doubt::PacedModel);
        }
        notes
    }
}

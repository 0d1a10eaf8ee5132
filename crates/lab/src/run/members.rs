//! The files and devices that a run stands on: checked, made, and put into the place of their names in stacks.

use std::path::{Path, PathBuf};

use block::Node;
use results::Plan;

use crate::guard::Guard;
use crate::journal::Journal;
use crate::plan::{Leaf, MadeFile, leaves};
use crate::{Error, stacks};

/// Every file and device that a plan's stacks stand on.
#[derive(Debug, Default)]
pub(super) struct Members {
    made: Vec<MadeFile>,
    existing: Vec<PathBuf>,
}

impl Members {
    pub(super) fn of(plan: &Plan) -> Result<Members, Error> {
        let mut members = Members::default();
        for configuration in &plan.configurations {
            for leaf in leaves(&stacks::parse(&configuration.stack)?)? {
                match leaf {
                    Leaf::Made(file) if !members.made.contains(&file) => members.made.push(file),
                    Leaf::Existing { path, .. } if !members.existing.contains(&path) => members.existing.push(path),
                    _ => (),
                }
            }
        }
        Ok(members)
    }

    /// Asks the guard about everything that is there already, before anything is written.
    pub(super) fn check(&self, guard: &Guard) -> Result<(), Error> {
        Ok(self.existing.iter().try_for_each(|path| guard.check(path))?)
    }

    /// The folders and devices whose storage the figures depend on.
    pub(super) fn storage(&self, own: &Path) -> Vec<PathBuf> {
        let folders = self.made.iter().map(|file| file.folder.clone().unwrap_or_else(|| own.to_owned()));
        let mut storage: Vec<PathBuf> = folders.chain(self.existing.iter().cloned()).collect();
        storage.sort();
        storage.dedup();
        storage
    }

    pub(super) fn make(&self, guard: &Guard, own: &Path, journal: &mut Journal) -> Result<(), Error> {
        if self.made.iter().any(|file| file.folder.is_none()) {
            journal.make_folder(own)?;
        }
        for file in &self.made {
            let path = file.path(own);
            guard.make_file(&path, file.size_bytes, |made| journal.note_file(&path, made))?;
        }
        Ok(())
    }
}

/// A leaf whose placeholder is replaced by the folder it stands for.
pub(super) fn put_in_place(node: Node, own: &Path) -> Node {
    match (leaves(&node).as_deref(), node) {
        (Ok([Leaf::Made(file)]), Node::Leaf { scheme, options, .. }) => {
            Node::Leaf { scheme, address: file.path(own).to_string_lossy().into_owned(), options }
        }
        (_, node) => node,
    }
}

//! The files and devices that a run stands on: checked, made, and put into the place of their names
//! in stacks.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use bench::suite::folder::check_limit;
use block::Node;
use reactor::derive_seed;
use results::{OneDisk, Plan, SharedDisk, course};
use words::statement;

use super::fill::fill;
use crate::catalogue;
use crate::cell::{self, Cell, StackOpening};
use crate::order;
use crate::stacks::{Leaf, MadeFile, leaves};
use host::Error;
use host::facts;
use host::guard::{Access, Guard};
use host::journal::Journal;
use host::mount;

/// Every file and device that a plan's stacks stand on.
#[derive(Debug, Default)]
pub(super) struct Members {
    made: Vec<MadeFile>,
    existing: Vec<PathBuf>,
    /// Drives of other machines, by their leaves.
    remote: Vec<Node>,
    /// Files and devices that are only read, folders on file systems in use, and what layers keep
    /// for themselves.
    in_use: Vec<PathBuf>,
}

impl Members {
    pub(super) fn of(cells: &[Cell]) -> Result<Members, Error> {
        let mut members = Members::default();
        for cell in cells {
            for leaf in leaves(&cell.stack)? {
                match leaf {
                    Leaf::Made(file) if !members.made.contains(&file) => members.made.push(file),
                    Leaf::Existing { path, read_only: true, .. }
                    | Leaf::Folder(path)
                    | Leaf::Kept(path) => members.in_use.push(path),
                    Leaf::Existing { path, .. } if !members.existing.contains(&path) => {
                        members.existing.push(path);
                    }
                    Leaf::Remote(leaf) if !members.remote.contains(&leaf) => {
                        members.remote.push(leaf);
                    }
                    _ => (),
                }
            }
        }
        Ok(members)
    }

    /// Asks the guard about everything that is there already, before anything is written.
    pub(super) fn check(&self, guard: &Guard) -> Result<(), Error> {
        guard.check_all(&self.existing)?;
        self.remote.iter().try_for_each(|leaf| Ok(guard.check_remote(leaf)?))
    }

    /// Erases what marks what is there already (file systems, arrays, volumes of LVM), durably: the
    /// run has the consent for it, and whoever finds a mark on one of its drives later finds what
    /// is true of the drive.
    pub(super) fn erase_marks(&self, guard: &Guard) -> Result<(), Error> {
        for path in &self.existing {
            if mount::holds(path)?.is_none() {
                continue;
            }
            let (node, serving) = (Node::file(path), StackOpening::default());
            let opened = cell::open(&node, &serving, guard, 0, None, None)?;
            mdtools::erase_marks(&*opened.device)?;
            opened.end()?;
        }
        Ok(())
    }

    /// The arrays that a run of the plan makes of files and devices that were there before: each
    /// visit makes its own, by its seed.
    pub(super) fn own_arrays(
        &self,
        plan: &Plan,
        cells: &[Cell],
    ) -> Result<HashSet<[u8; 16]>, Error> {
        let mut own = HashSet::new();
        if self.existing.is_empty() && self.remote.is_empty() {
            return Ok(own);
        }
        let [.., last_look] = course::LOOKS;
        for cell in cells {
            let new_array = cell.serving.new_array.as_ref();
            let layer = serve::array_with_metadata(&cell.stack);
            let Some((new_array, layer)) = new_array.zip(layer) else { continue };
            let visits = (0..plan.blocks.max(last_look) + course::RACE_BLOCKS_MIN)
                .map(|block| order::visit_seed(plan, &cell.record, block));
            // The first is that with which it is tried whether the stack can be opened.
            for seed in std::iter::once(0).chain(visits) {
                own.insert(serve::new_array_uuid(new_array, layer, seed)?);
            }
        }
        Ok(own)
    }

    /// The folders and devices whose storage the figures depend on.
    pub(super) fn storage(&self, own: &Path) -> Vec<PathBuf> {
        let folders =
            self.made.iter().map(|file| file.folder.clone().unwrap_or_else(|| own.to_owned()));
        let there = self.existing.iter().chain(&self.in_use).cloned();
        let mut storage: Vec<PathBuf> = folders.chain(there).collect();
        storage.sort();
        storage.dedup();
        storage
    }

    /// Configurations of several members that all lie on one disk.
    pub(super) fn on_one_disk(cells: &[Cell], own: &Path) -> Result<Vec<OneDisk>, Error> {
        let mut found = Vec::new();
        for cell in cells {
            let mut paths = BTreeSet::new();
            let mut elsewhere = false;
            for leaf in leaves(&cell.stack)? {
                match leaf {
                    Leaf::Made(file) => drop(paths.insert(file.path(own))),
                    Leaf::Existing { path, .. } => drop(paths.insert(path)),
                    Leaf::Folder(_) | Leaf::Kept(_) | Leaf::Remote(_) | Leaf::Other => {
                        elsewhere = true;
                    }
                }
            }
            let disks: BTreeSet<Option<String>> =
                paths.iter().map(|path| facts::disk_under(path)).collect();
            if let (false, true, 1, Some(Some(on))) =
                (elsewhere, paths.len() > 1, disks.len(), disks.into_iter().next())
            {
                found.push(OneDisk { configuration: cell.record.id.clone(), on });
            }
        }
        Ok(found)
    }

    /// Disks that several sets of members lie on.
    pub(super) fn shared_disks(cells: &[Cell], own: &Path) -> Result<Vec<SharedDisk>, Error> {
        let mut sets_of: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut known: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        for cell in cells {
            let Some(set) = &cell.axes.members else { continue };
            for leaf in leaves(&cell.stack)? {
                let path = match leaf {
                    Leaf::Made(file) => file.path(own),
                    Leaf::Existing { path, .. } => path,
                    Leaf::Folder(_) | Leaf::Kept(_) | Leaf::Remote(_) | Leaf::Other => continue,
                };
                let disks = known.entry(path).or_insert_with_key(|path| facts::disks_under(path));
                for disk in disks {
                    sets_of.entry(disk.clone()).or_default().insert(set);
                }
            }
        }
        let shared = sets_of.into_iter().filter(|(_, sets)| sets.len() > 1);
        Ok(shared
            .map(|(disk, sets)| SharedDisk {
                sets: sets.into_iter().map(str::to_owned).collect(),
                disk,
            })
            .collect())
    }

    /// Makes the files, and writes them whole unless `stop` is set.
    pub(super) fn make(
        &self,
        guard: &Guard,
        own: &Path,
        journal: &mut Journal,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        if self.made.iter().any(|file| file.folder.is_none()) {
            journal.make_folder(own)?;
        }
        for file in &self.made {
            let path = file.path(own);
            check_limit(file.size_bytes).map_err(|error| error.at(path.display()))?;
            guard.make_file(&path, file.size_bytes, |made| journal.note_file(&path, made))?;
            let seed = derive_seed(0, &path.to_string_lossy(), 0);
            fill(&guard.open(&path, Access::Write)?, &path, file.size_bytes, seed, stop)?;
        }
        Ok(())
    }
}

/// Empties the files that the run has made for caches to keep their copies in: each visit begins
/// with a cold one.
pub(super) fn empty_stores(node: &Node, own: &Path, guard: &Guard) -> Result<(), Error> {
    let Node::Layer { name, children, .. } = node else { return Ok(()) };
    if let ("cache", Some(store)) = (name.as_str(), children.first())
        && let [Leaf::Made(file)] = &leaves(store)?[..]
    {
        let path = file.path(own);
        let opened = guard.open(&path, Access::Write)?;
        let emptied = opened.set_len(0).and_then(|()| opened.set_len(file.size_bytes));
        let place = || statement!(catalogue::EMPTYING, path = path.display());
        emptied.map_err(|error| Error::from_io(place(), &error))?;
    }
    children.iter().try_for_each(|child| empty_stores(child, own, guard))
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

//! What a scenario's folder holds, as a value.

use std::collections::{BTreeMap, BTreeSet};

use reactor::Random;

use super::Operation::*;
use super::{BASE, Operation, Persistence, Step};

/// Blocks of a file that is new.
const NEW_BLOCKS: usize = 3;
/// Blocks by which a file grows.
pub(super) const MORE_BLOCKS: usize = 2;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Folder,
    SymbolicLink,
    /// The file of this number.
    File(u32),
}

/// A file's content and attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileContent {
    /// The version of each block, 0 of one that is zeroes.
    pub(super) blocks: Vec<u32>,
    /// The version that has set it.
    pub(super) attribute: Option<u32>,
}

/// Names, by their paths below the scenario's folder, and files, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) names: BTreeMap<String, Entry>,
    pub(super) files: BTreeMap<u32, FileContent>,
}

/// The folder of a path, the scenario's own as the empty text.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Whether a path is this one or lies below it.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

impl Tree {
    /// What every scenario starts from.
    pub(super) fn base() -> Tree {
        let names = [
            ("a", Entry::File(0)),
            ("b", Entry::File(1)),
            ("d", Entry::Folder),
            ("d/c", Entry::File(2)),
            ("v", Entry::Folder),
        ];
        let file = |blocks| FileContent { blocks: vec![BASE; blocks], attribute: None };
        Tree {
            names: names.map(|(name, entry)| (name.to_owned(), entry)).into(),
            files: [(0, file(4)), (1, file(2)), (2, file(3))].into(),
        }
    }

    /// The file of a name.
    pub(super) fn file(&self, name: &str) -> Option<u32> {
        match self.names.get(name) {
            Some(Entry::File(number)) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn content(&self, name: &str) -> Option<&FileContent> {
        self.files.get(&self.file(name)?)
    }

    /// The number of the file that a version makes.
    pub(super) fn new_file(version: u32) -> u32 {
        16 + version
    }

    pub(super) fn blocks(&self) -> u32 {
        self.files.values().map(|file| file.blocks.len() as u32).sum()
    }

    fn draw_from<'a>(found: &[&'a String], random: &mut Random) -> Option<&'a String> {
        (!found.is_empty()).then(|| found[random.usize(..found.len())])
    }

    /// An operation on something that is there; nothing where there is nothing for it.
    pub(super) fn draw(
        &self,
        (operation, persistence): (Operation, Persistence),
        version: u32,
        random: &mut Random,
    ) -> Option<Step> {
        let with = |fits: &dyn Fn(&str, Entry) -> bool| -> Vec<&String> {
            let all = self.names.iter().filter(|(name, entry)| fits(name, **entry));
            all.map(|(name, _)| name).collect()
        };
        let length = |name: &str| self.content(name).map_or(0, |content| content.blocks.len());
        let is_file = |name: &str, _: Entry| length(name) > 0;
        let is_folder = |_: &str, entry: Entry| entry == Entry::Folder;
        let top = String::new();
        let mut folders = with(&is_folder);
        folders.push(&top);
        let new_in = |folder: &str| joined(folder, &format!("n{version}"));
        let fresh = |random: &mut Random| {
            new_in(Tree::draw_from(&folders, random).map_or("", String::as_str))
        };
        let (name, other) = match operation {
            Create | MakeFolder | SymbolicLink => (fresh(random), top.clone()),
            Overwrite
            | OverwriteDurably
            | OverwriteDirectly
            | OverwriteDirectlyDurably
            | OverwriteMapped
            | Append
            | AppendReserved
            | Grow
            | Allocate
            | SetAttribute
            | Unlink
            | Replace
            | ReplaceUnsynced => (Tree::draw_from(&with(&is_file), random)?.clone(), new_in("")),
            Shrink | Punch => {
                let long = with(&|name, _| length(name) > 1);
                (Tree::draw_from(&long, random)?.clone(), top.clone())
            }
            Link => (Tree::draw_from(&with(&is_file), random)?.clone(), fresh(random)),
            Rename => {
                let name = Tree::draw_from(&with(&is_file), random)?.clone();
                let new = new_in(folder_of(&name));
                (name, new)
            }
            Move => {
                let name = Tree::draw_from(&with(&is_file), random)?.clone();
                folders.retain(|folder| **folder != folder_of(&name));
                let new = new_in(Tree::draw_from(&folders, random)?);
                (name, new)
            }
            RenameOver | Beside => {
                let name = Tree::draw_from(&with(&is_file), random)?.clone();
                let is_other =
                    |one: &str, _: Entry| length(one) > 0 && self.file(one) != self.file(&name);
                let other = Tree::draw_from(&with(&is_other), random)?.clone();
                (name, other)
            }
            RenameFolder => {
                let name = Tree::draw_from(&with(&is_folder), random)?.clone();
                let new = new_in(folder_of(&name));
                (name, new)
            }
            RemoveFolder => {
                let is_empty = |name: &str, entry: Entry| {
                    let is_in = |other: &String| other != name && is_below(other, name);
                    entry == Entry::Folder && !self.names.keys().any(is_in)
                };
                (Tree::draw_from(&with(&is_empty), random)?.clone(), top.clone())
            }
        };
        // A new file lies beside the one that it replaces until it does so.
        let other = match operation {
            Replace | ReplaceUnsynced => new_in(folder_of(&name)),
            _ => other,
        };
        Some(Step { operation, persistence, name, other })
    }

    /// What a step makes of it.
    pub(super) fn apply(&mut self, step: &Step, version: u32) {
        let Step { operation, name, other, .. } = step;
        let new = Tree::new_file(version);
        let own = self.names.get(name).copied();
        if let Some(content) = self.file(name).and_then(|file| self.files.get_mut(&file)) {
            let blocks = &mut content.blocks;
            match operation {
                Overwrite
                | OverwriteDurably
                | OverwriteDirectly
                | OverwriteDirectlyDurably
                | OverwriteMapped
                | Beside => overwritten(blocks.len()).for_each(|at| blocks[at] = version),
                Append | AppendReserved => blocks.extend([version; MORE_BLOCKS]),
                Shrink => blocks.truncate(blocks.len() / 2),
                Grow | Allocate => blocks.extend([0; MORE_BLOCKS]),
                Punch => {
                    let middle = blocks.len() / 2;
                    blocks[middle] = 0;
                }
                SetAttribute => content.attribute = Some(version),
                _ => (),
            }
        }
        match operation {
            Create => {
                let blocks = vec![version; NEW_BLOCKS];
                self.files.insert(new, FileContent { blocks, attribute: None });
                self.names.insert(name.clone(), Entry::File(new));
            }
            MakeFolder => self.names.extend([(name.clone(), Entry::Folder)]),
            SymbolicLink => self.names.extend([(name.clone(), Entry::SymbolicLink)]),
            Link => self.names.extend(own.map(|own| (other.clone(), own))),
            Rename | Move | RenameOver => {
                self.names.remove(name);
                self.names.extend(own.map(|own| (other.clone(), own)));
            }
            RenameFolder => {
                let below: Vec<String> =
                    self.names.keys().filter(|path| is_below(path, name)).cloned().collect();
                for path in below {
                    let entry = self.names.remove(&path);
                    let moved = format!("{other}{}", &path[name.len()..]);
                    self.names.extend(entry.map(|entry| (moved, entry)));
                }
            }
            Unlink | RemoveFolder => self.names.retain(|path, _| path != name),
            Replace | ReplaceUnsynced => {
                let length = self.content(name).map_or(0, |content| content.blocks.len());
                let blocks = vec![version; length];
                self.files.insert(new, FileContent { blocks, attribute: None });
                self.names.insert(name.clone(), Entry::File(new));
            }
            Beside => {
                if let Some(file) = self.file(other) {
                    let content = self.files.entry(file).or_default();
                    content.blocks.extend([version; MORE_BLOCKS]);
                }
            }
            _ => (),
        }
        let named: BTreeSet<u32> = self.names.keys().filter_map(|name| self.file(name)).collect();
        self.files.retain(|file, _| named.contains(file));
    }

    /// The names that a step touches: of a file all that it has.
    pub(super) fn touched(&self, step: &Step) -> BTreeSet<String> {
        let own = [&step.name, &step.other].into_iter().filter(|name| !name.is_empty());
        let own: BTreeSet<String> = own.cloned().collect();
        let files: Vec<u32> = own.iter().filter_map(|name| self.file(name)).collect();
        let is_touched = |name: &&String| self.file(name).is_some_and(|file| files.contains(&file));
        let names: BTreeSet<String> = self.names.keys().filter(is_touched).cloned().collect();
        &own | &names
    }
}

/// The blocks that are written anew of so many.
pub(super) fn overwritten(blocks: usize) -> std::ops::Range<usize> {
    blocks.saturating_sub(2)..blocks
}

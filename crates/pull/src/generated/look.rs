//! Holds what is left of a scenario against what was promised of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::lgetxattr;

use super::Scenario;
use super::carry_out::ATTRIBUTE;
use super::tree::{Entry, FileContent, Tree, is_below};
use crate::content::{BLOCK_BYTES, BlockContent, Class, SECRET, identify};

/// How what is there differs from what was promised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The worst of it.
    pub(crate) class: Option<Class>,
    /// Bytes that are not as they should be.
    pub(crate) bytes: u64,
    /// Something of the past has come to light, in whatever was promised or not.
    pub(crate) is_exposed: bool,
}

impl Difference {
    fn add(&mut self, class: Class, blocks: usize) {
        self.class = self.class.max(Some(class));
        self.bytes += (blocks * BLOCK_BYTES) as u64;
    }
}

impl Scenario {
    /// Compares with the tree behind `version`, the last that was promised, but for what the step
    /// of `newest` touches, the last that was begun.
    pub(crate) fn look(&self, folder: &Path, version: u32, newest: u32) -> Difference {
        let tree = self.tree(version);
        let touched = match self.step(newest) {
            Some(step) if newest > version => tree.touched(step),
            _ => BTreeSet::new(),
        };
        let is_free = |name: &str| touched.iter().any(|free| is_below(name, free));
        let own = folder.join(self.folder());
        let mut found = Difference::default();
        let mut places = BTreeMap::new();
        for (name, entry) in &tree.names {
            if let Entry::File(_) = entry {
                found.is_exposed |= self.is_exposed(&own.join(name));
            }
            if is_free(name) {
                continue;
            }
            self.look_at(&own, (name, *entry), &tree, &mut found);
            if let (Entry::File(file), Ok(data)) = (entry, fs::symlink_metadata(own.join(name)))
                && *places.entry(*file).or_insert(data.ino()) != data.ino()
            {
                // Two names of one file are two files.
                found.add(Class::Foreign, 0);
            }
        }
        let folders = tree.names.iter().filter(|(_, entry)| **entry == Entry::Folder);
        let folders = folders.map(|(name, _)| name.as_str()).chain([""]);
        for folder in folders.filter(|folder| !is_free(folder)) {
            // What cannot be listed was found by its own name.
            for name in names_in(&own.join(folder)).unwrap_or_default() {
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                if !tree.names.contains_key(&path) && !is_free(&path) {
                    found.add(Class::Present, 0);
                }
            }
        }
        found
    }

    /// Whether what a rename without sync was to replace is neither the old file nor the new one.
    pub(crate) fn look_replaced(&self, folder: &Path, version: u32) -> Difference {
        let Some(step) = self.step(version) else { return Difference::default() };
        let own = folder.join(self.folder());
        let trees = [version - 1, version].map(|version| self.tree(version));
        let entry = |tree: &Tree| tree.names.get(&step.name).copied();
        let [old, new] = trees.map(|tree| {
            let mut found = Difference::default();
            if let Some(entry) = entry(&tree) {
                self.look_at(&own, (&step.name, entry), &tree, &mut found);
            }
            found
        });
        let mut found = if old.class.is_none() { old } else { new };
        found.is_exposed = self.is_exposed(&own.join(&step.name));
        found
    }

    fn look_at(
        &self,
        own: &Path,
        (name, entry): (&str, Entry),
        tree: &Tree,
        found: &mut Difference,
    ) {
        let path = own.join(name);
        let blocks = tree.content(name).map_or(0, |content| content.blocks.len());
        let data = match fs::symlink_metadata(&path) {
            Ok(data) => data,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return found.add(Class::Missing, blocks);
            }
            Err(_) => return found.add(Class::Unreadable, blocks),
        };
        match entry {
            Entry::Folder if data.is_dir() => (),
            Entry::SymbolicLink if data.is_symlink() => {
                if fs::read_link(&path).is_ok_and(|target| target != Path::new(".")) {
                    found.add(Class::Garbage, 0);
                }
            }
            Entry::File(file) if data.is_file() => {
                self.look_into(&path, (file, &tree.files[&file]), found);
            }
            _ => found.add(Class::Foreign, blocks),
        }
    }

    fn look_into(&self, path: &Path, (file, content): (u32, &FileContent), found: &mut Difference) {
        let Ok(bytes) = fs::read(path) else {
            return found.add(Class::Unreadable, content.blocks.len());
        };
        let (length, whole) = (bytes.len(), content.blocks.len() * BLOCK_BYTES);
        if length < whole {
            found.add(Class::Short, (whole - length).div_ceil(BLOCK_BYTES));
        }
        if length > whole {
            found.add(Class::Present, (length - whole).div_ceil(BLOCK_BYTES));
        }
        let own = self.name_of(file);
        for ((&version, bytes), place) in
            content.blocks.iter().zip(bytes.chunks(BLOCK_BYTES)).zip(0..)
        {
            let class = match identify(self.run, own, place, bytes) {
                BlockContent::Zero if version == 0 => continue,
                BlockContent::Whole(name)
                    if (name.file, name.block, name.version) == (own, place, version) =>
                {
                    continue;
                }
                BlockContent::Whole(name) if name.file == SECRET => Class::Stale,
                BlockContent::Whole(name) if (name.file, name.block) == (own, place) => Class::Old,
                BlockContent::Whole(_) => Class::Foreign,
                BlockContent::Zero => Class::Zero,
                BlockContent::Torn => Class::Torn,
                BlockContent::Garbage => Class::Garbage,
            };
            found.add(class, 1);
        }
        let mut value = [0; 4];
        let attribute = match lgetxattr(path, ATTRIBUTE, &mut value) {
            Ok(4) => Some(u32::from_le_bytes(value)),
            _ => None,
        };
        if attribute != content.attribute {
            found.add(if attribute.is_none() { Class::Missing } else { Class::Old }, 0);
        }
    }

    fn is_exposed(&self, path: &Path) -> bool {
        let bytes = fs::read(path).unwrap_or_default();
        let is_secret = |bytes: &[u8]| {
            let found = identify(self.run, SECRET, 0, bytes);
            matches!(found, BlockContent::Whole(name) if name.file == SECRET)
        };
        bytes.chunks(BLOCK_BYTES).any(is_secret)
    }
}

fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into()));
    names.collect()
}

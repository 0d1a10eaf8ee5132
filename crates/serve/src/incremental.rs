//! Configured arrays that are started when the last of their members has come.
//!
//! ```text
//!   a device is there ──> configurations with `assemble = true` that name it
//!                              │ whatever else they name
//!                              ├── is not there, or not up to date ──> nothing yet
//!                              ├── is used elsewhere (md has it)   ──> nothing
//!                              └── is there, and free              ──> complete
//! ```
//!
//! Everything is read only here, and what no configuration names is not even looked at.

use std::fs;
use std::path::{Path, PathBuf};

use block::Node;
use host::Error;
use host::guard::{Consent, Guard};
use mdtools::MemberSource;
use stack::Identity;
use words::{Text, statement};

use crate::catalogue;
use crate::runtime::Runtime;
use crate::settings::{Settings, configurations};

/// A configuration that may be started by itself.
#[derive(Debug)]
pub struct ConfiguredArray {
    /// The name of its file, by which `array start` and units know it.
    pub name: String,
    /// What it says.
    pub settings: Settings,
}

/// Whether a configuration can be started now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// All that it names is there and free.
    Complete,
    /// A server serves it already.
    Runs,
    /// It has to wait: one line that says for what.
    Waits(Text),
    /// One of its members must not be opened for writing, as one that md has: one line that says
    /// why.
    Refused(Text),
}

/// The configurations with `assemble = true` that name the device, in the order of their names, and
/// what is wrong with those that cannot be read.
#[must_use]
pub fn configured(device: &Path) -> (Vec<ConfiguredArray>, Vec<Error>) {
    let wanted = Identity::of(device);
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for file in files_of(&configurations()) {
        let Some(name) = file.file_stem().and_then(|stem| stem.to_str()) else { continue };
        match Settings::read(&file) {
            Ok(settings) if settings.assemble => {
                let names = |path: &PathBuf| Identity::of(path) == wanted;
                if settings.tree().is_ok_and(|tree| paths_of(&tree).iter().any(names)) {
                    found.push(ConfiguredArray { name: name.to_owned(), settings });
                }
            }
            Ok(_) => (),
            Err(error) => unreadable.push(error),
        }
    }
    (found, unreadable)
}

/// The configuration files of a folder, in the order of their names; none where there is no folder.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

/// The files and devices that a stack names.
fn paths_of(tree: &Node) -> Vec<PathBuf> {
    tree.leaves().into_iter().filter_map(Node::file_path).collect()
}

impl ConfiguredArray {
    /// The name of the server that it becomes.
    #[must_use]
    pub fn server_name(&self) -> &str {
        self.settings.name.as_deref().unwrap_or(&self.name)
    }

    /// Whether it can be started now.
    ///
    /// # Errors
    /// What is wrong with its stack text.
    pub fn readiness(&self, runtime: &Runtime) -> Result<Readiness, Error> {
        if self.runs(runtime) {
            return Ok(Readiness::Runs);
        }
        let tree = self.settings.tree()?;
        let paths = paths_of(&tree);
        // A file that `create = true` would make is no member that has come.
        let absent: Vec<&PathBuf> = paths.iter().filter(|path| !path.exists()).collect();
        if let Some(first) = absent.first() {
            let others = match absent.len() - 1 {
                0 => Text::default(),
                others => statement!(catalogue::AND_OTHERS, count = others),
            };
            return Ok(Readiness::Waits(statement!(
                catalogue::WAITS_FOR,
                first = first.display(),
                others = others,
                there = paths.len() - absent.len(),
                all = paths.len(),
            )));
        }
        let guard = Guard::new(Consent {
            in_place: true,
            devices: self.settings.allow_device.clone(),
            raw: self.settings.raw,
            ..Consent::default()
        });
        if !self.settings.read_only
            && let Some(refused) = paths.iter().find_map(|path| guard.check(path).err())
        {
            return Ok(Readiness::Refused(refused.text().clone()));
        }
        Ok(match waiting_for(&guard, &tree) {
            Some(reason) => Readiness::Waits(reason),
            None => Readiness::Complete,
        })
    }

    /// Whether a server of its name lives.
    #[must_use]
    pub fn runs(&self, runtime: &Runtime) -> bool {
        runtime.entry(self.server_name()).is_some_and(|entry| entry.process.is_some())
    }
}

/// What the arrays with superblocks in a stack still wait for, though all that the text names is
/// there: a member that the superblocks count on, and that is not among these.
fn waiting_for(guard: &Guard, node: &Node) -> Option<Text> {
    let Node::Layer { options, children, .. } = node else { return None };
    let inner = children.iter().find_map(|child| waiting_for(guard, child));
    let has_metadata = options.iter().any(|(name, value)| name == "metadata" && value != "none");
    if inner.is_some() || !has_metadata {
        return inner;
    }
    // Members that are stacks of their own are looked at when it is started.
    let members: Option<Vec<MemberSource>> = children
        .iter()
        .filter(|child| **child != Node::Missing)
        .map(MemberSource::of_node)
        .collect();
    let found = mdtools::find(guard, &members?);
    if let Some(passed) = found.passed_over.first() {
        return Some(passed.why.clone());
    }
    if let Some(source) = found.without.first() {
        return Some(statement!(catalogue::NO_SUPERBLOCK_OF_IT, source = source.to_string()));
    }
    // What these are members of is looked at where the text has it.
    let of_files = found.groups.iter().filter(|group| !group.stands_on_arrays());
    let [group] = of_files.collect::<Vec<_>>()[..] else {
        return Some(catalogue::OF_DIFFERENT_ARRAYS.into());
    };
    match group.absent_slots() {
        Ok(none) if none.is_empty() => None,
        Ok(slots) => {
            let slots: Vec<String> = slots.iter().map(ToString::to_string).collect();
            let slots = slots.join(catalogue::BETWEEN_SLOTS.template());
            Some(statement!(catalogue::WAITS_FOR_SLOT, slots = slots))
        }
        Err(reason) => Some(reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_configurations_are_read_and_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.toml", "a.toml", "a.toml~", "notes"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = files_of(folder.path());
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["a.toml", "b.toml"]);
        assert!(files_of(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn what_a_configuration_names_is_every_file_in_its_stack() {
        let text = "cache(/dev/disk/by-id/fast, raid1(metadata=1.2, /a, missing, ram:1MiB, \
            linear(/b?offset=1MiB, nbd://host/export)))";
        let paths = paths_of(&stack::parse(text).unwrap());
        assert_eq!(paths, ["/dev/disk/by-id/fast", "/a", "/b"].map(PathBuf::from));
    }
}

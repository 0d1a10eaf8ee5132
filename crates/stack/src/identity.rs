//! What a path leads to, whatever it is called: a file has many names (hard links, bind mounts),
//! and one identity.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use block::{Error, ErrorKind, Node};
use device::NbdAddress;
use words::{Text, statement};

use crate::messages;

/// Whether a leaf is a drive of another machine.
#[must_use]
pub fn is_remote(leaf: &Node) -> bool {
    const REMOTE: [&str; 5] = ["nbd", "nbds", "nbd+unix", "nbds+unix", "rbd"];
    matches!(leaf, Node::Leaf { scheme, .. } if REMOTE.contains(&scheme.as_str()))
}

/// What tells two files or devices apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// Device and inode number.
    File(u64, u64),
    /// Number of the block device, whichever node it was reached through.
    BlockDevice(u64),
    /// Not there yet: where it would be.
    Nothing(PathBuf),
    /// On another machine: what it is called there.
    Remote(String),
}

impl Identity {
    /// What `path` leads to now.
    #[must_use]
    pub fn of(path: &Path) -> Identity {
        if let Ok(data) = path.metadata() {
            return Identity::of_data(&data);
        }
        let parent =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
        Identity::Nothing(parent.join(path.file_name().unwrap_or_default()))
    }

    /// Of a drive of another machine, by the leaf of a stack that names it; by the names alone: one
    /// machine may have several.
    #[must_use]
    pub fn of_remote(leaf: &Node) -> Identity {
        let Node::Leaf { scheme, address, options } = leaf else {
            return Identity::Remote(leaf.to_string());
        };
        let option = |wanted: &str| {
            options.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value.as_str())
        };
        Identity::Remote(match scheme.as_str() {
            "rbd" => format!("rbd:{address}?conf={}", option("conf")),
            "nbd" | "nbds" => NbdAddress::tcp(address)
                .map_or_else(|_| format!("nbd:{address}"), |place| place.to_string()),
            _ => format!("nbd+unix:{address}?socket={}", option("socket")),
        })
    }

    /// Of what is open, or was looked at.
    #[must_use]
    pub fn of_data(data: &Metadata) -> Identity {
        if data.file_type().is_block_device() {
            return Identity::BlockDevice(data.rdev());
        }
        Identity::File(data.dev(), data.ino())
    }

    /// The first two of several paths that lead to the same file or device.
    pub fn same_twice<'a>(
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Option<(&'a Path, &'a Path)> {
        let mut seen = HashMap::new();
        paths
            .into_iter()
            .find_map(|path| seen.insert(Identity::of(path), path).map(|earlier| (earlier, path)))
    }
}

/// How it is said that one file was named as two.
#[must_use]
pub fn twice_text(earlier: &Path, later: &Path) -> Text {
    // As text: paths that differ only in `./` are equal.
    if earlier.as_os_str() == later.as_os_str() {
        return statement!(messages::PATH_NAMED_TWICE, path = later.display());
    }
    let (earlier, later) = (earlier.display(), later.display());
    statement!(messages::SAME_FILE, earlier = earlier, later = later)
}

/// Two members on one file or image would overwrite each other. This is looked at before anything
/// is opened or made.
pub(crate) fn refuse_members_named_twice(node: &Node) -> Result<(), Error> {
    let refused = |text: Text| Err(Error::new(ErrorKind::Invalid, text));
    let mut remote = HashSet::new();
    for leaf in node.leaves() {
        let Node::Leaf { scheme, address, .. } = leaf else { continue };
        let twice = match scheme.as_str() {
            "rbd" => messages::IMAGE_TWICE,
            "nbd" | "nbds" | "nbd+unix" | "nbds+unix" => messages::EXPORT_TWICE,
            _ => continue,
        };
        if !remote.insert(Identity::of_remote(leaf)) {
            return refused(statement!(twice, place = format!("{scheme}:{address}")));
        }
    }
    let files: Vec<PathBuf> = node.leaves().into_iter().filter_map(Node::file_path).collect();
    let files = files.iter().map(PathBuf::as_path);
    let Some((earlier, later)) = Identity::same_twice(files) else { return Ok(()) };
    refused(match earlier.as_os_str() == later.as_os_str() {
        true => statement!(messages::FILE_TWICE, place = later.display()),
        false => twice_text(earlier, later),
    })
}

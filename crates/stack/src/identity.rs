//! What a path leads to, whatever it is called: a file has many names (hard links, bind mounts),
//! and one identity.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use block::{Error, ErrorKind, Node, SECTOR_BYTES};
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

    /// The first two of several paths that lead to the same file or device, one of them or both
    /// through loop devices too.
    pub fn same_twice<'a>(
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Option<(&'a Path, &'a Path)> {
        let mut seen: Vec<(Location, &Path)> = Vec::new();
        paths.into_iter().find_map(|path| {
            let location = Location::of(path);
            let earlier = seen.iter().find(|(earlier, _)| earlier.overlaps(&location));
            let twice = earlier.map(|(_, earlier)| (*earlier, path));
            seen.push((location, path));
            twice
        })
    }
}

/// Where the bytes of a file or device lie in the end. A loop device, or a partition of one, has
/// none of its own: they are a range of its file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    whole: Identity,
    bytes: Range<u64>,
}

impl Location {
    /// All that is behind an identity, which is taken for the end.
    #[must_use]
    pub fn all_of(whole: Identity) -> Location {
        Location { whole, bytes: 0..u64::MAX }
    }

    /// Of what `path` leads to now.
    #[must_use]
    pub fn of(path: &Path) -> Location {
        let mut location = Location::all_of(Identity::of(path));
        for _ in 0..LOOPS_MAX {
            let Identity::BlockDevice(number) = location.whole else { break };
            let Some((backing, bytes)) = loop_backing(number) else { break };
            // The file may have no name any more.
            let whole = Identity::of(&backing);
            if matches!(whole, Identity::Nothing(_)) {
                break;
            }
            location = Location { whole, bytes: part_of(&bytes, &location.bytes) };
        }
        location
    }

    /// Whether a byte of the one is a byte of the other, or both are the same part without any: a
    /// drive that was pulled out has none.
    #[must_use]
    pub fn overlaps(&self, other: &Location) -> bool {
        self == other || self.whole == other.whole && overlap(&self.bytes, &other.bytes)
    }
}

/// How many loop devices on one another are followed down.
pub const LOOPS_MAX: usize = 16;

/// Whether two ranges have a byte in common.
#[must_use]
pub fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start.max(other.start) < one.end.min(other.end)
}

/// The bytes `part` of what is itself the bytes `outer` of something else, counted there.
#[must_use]
pub fn part_of(outer: &Range<u64>, part: &Range<u64>) -> Range<u64> {
    let at = |place: u64| outer.start.saturating_add(place).min(outer.end);
    at(part.start)..at(part.end)
}

/// What the block device of this number stands on where it is a loop device or a partition of one:
/// the path of the file or device, and which of its bytes it has.
#[must_use]
pub fn loop_backing(number: u64) -> Option<(PathBuf, Range<u64>)> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let own = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let whole = if own.join("partition").exists() { own.parent()? } else { &own };
    let text = |path: PathBuf| fs::read_to_string(path).ok();
    let count = |path: PathBuf| text(path)?.trim().parse::<u64>().ok();
    let backing = text(whole.join("loop/backing_file"))?;
    let offset = count(whole.join("loop/offset"))?;
    // A partition says where it begins; a whole disk says nothing.
    let start = count(own.join("start")).unwrap_or(0).saturating_mul(SECTOR_BYTES);
    let size = count(own.join("size"))?.saturating_mul(SECTOR_BYTES);
    let start = offset.saturating_add(start);
    Some((PathBuf::from(backing.trim_end_matches('\n')), start..start.saturating_add(size)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_file_are_the_same_where_they_overlap() {
        let part = |bytes: Range<u64>| Location { whole: Identity::File(1, 2), bytes };
        let all = Location::all_of(Identity::File(1, 2));
        assert!(all.overlaps(&part(4096..8192)) && part(4096..8192).overlaps(&all));
        assert!(part(0..4097).overlaps(&part(4096..8192)));
        assert!(!part(0..4096).overlaps(&part(4096..8192)));
        assert!(!part(4096..4096).overlaps(&all), "it has no byte");
        assert!(part(4096..4096).overlaps(&part(4096..4096)));
        assert!(!part(0..1).overlaps(&Location::all_of(Identity::File(1, 3))));
        // A partition that begins behind 1 MiB of a loop device that begins behind 4 KiB.
        assert_eq!(part_of(&(4096..(8 << 20)), &((1 << 20)..(2 << 20))), 1_052_672..2_101_248);
        assert_eq!(part_of(&(4096..8192), &(0..u64::MAX)), 4096..8192);
    }
}

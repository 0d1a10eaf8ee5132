//! What a member lies on: a file, a block device, or a part of one; a drive of another machine.

use crate::catalogue;
use std::fmt;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use words::{Text, statement};

use block::{Node, size_text};
use host::Error;
use host::guard::{Access, Guard, MemberBytes, RemoteDrive, read_up_to};
use stack::{Identity, Location, is_remote, twice_text};

/// A file or block device, or a run of bytes on one: a partition in the image of a whole disk. Or
/// all of a drive of another machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberSource {
    /// The file, the block device, or the drive of another machine.
    pub place: MemberPlace,
    /// Where it begins there, in bytes.
    pub offset_bytes: u64,
    /// How long it is, in bytes; to the end where that is not said.
    pub size_bytes: Option<u64>,
}

/// Where the bytes of a member are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemberPlace {
    /// In a file or block device.
    Path(PathBuf),
    /// On another machine: the leaf of a stack that names an export of an NBD server or an image of
    /// a Ceph cluster.
    Remote(Node),
}

/// What a member is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A look at what it says of itself, whatever else has it open.
    Look,
    /// Reading what it holds as the blocks of a disk.
    Image,
    /// Writing.
    Write,
}

impl From<PathBuf> for MemberSource {
    fn from(path: PathBuf) -> MemberSource {
        MemberSource { place: MemberPlace::Path(path), offset_bytes: 0, size_bytes: None }
    }
}

/// Whether the text begins as that of such a leaf.
fn names_remote(text: &str) -> bool {
    ["nbd:", "nbds:", "nbd+unix:", "nbds+unix:", "rbd:"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

impl From<&MemberSource> for Text {
    fn from(source: &MemberSource) -> Text {
        source.to_string().into()
    }
}

impl fmt::Display for MemberSource {
    /// A path as it is, and what else there is to say as in stack text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let MemberPlace::Path(path) = &self.place
            && self.is_whole()
            && path.to_str().is_some()
        {
            return write!(f, "{}", path.display());
        }
        write!(f, "{}", self.node())
    }
}

impl MemberSource {
    /// What a word of a command line names: a path, stack text of a file with `offset` and `size`,
    /// or that of a drive of another machine. What is there under that very name is meant by it.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(word: &Path) -> Result<MemberSource, Error> {
        let text = word
            .to_str()
            .filter(|text| text.contains('?') || text.starts_with("file:") || names_remote(text));
        let Some(text) = text.filter(|_| word.symlink_metadata().is_err()) else {
            return Ok(word.to_owned().into());
        };
        MemberSource::of_leaf(&stack::parse(text).map_err(block::Error::from)?)
    }

    /// What a leaf of a stack lies on, which says nothing but where.
    ///
    /// # Errors
    /// What else it says, or that it is no file or block device.
    pub(crate) fn of_leaf(leaf: &Node) -> Result<MemberSource, Error> {
        let Some(source) = MemberSource::of_node(leaf) else {
            return Err(Error::usage(catalogue::NO_MEMBER_KIND).at(leaf));
        };
        let Node::Leaf { options, .. } = leaf else { return Ok(source) };
        if is_remote(leaf) {
            return Ok(source);
        }
        match options.iter().find(|(name, _)| name != "offset" && name != "size") {
            Some((name, _)) => {
                Err(Error::usage(statement!(catalogue::OPTION_NO_MEANING, name = name)).at(leaf))
            }
            None => Ok(source),
        }
    }

    /// What a leaf of a stack lies on; `None` of what is no file, block device or drive of another
    /// machine, or says so in no size.
    #[must_use]
    pub fn of_node(node: &Node) -> Option<MemberSource> {
        if is_remote(node) {
            let place = MemberPlace::Remote(node.clone());
            return Some(MemberSource { place, offset_bytes: 0, size_bytes: None });
        }
        let mut source = MemberSource::from(node.file_path()?);
        let Node::Leaf { options, .. } = node else { return None };
        for (name, value) in options {
            let bytes = || stack::size::parse(value).ok().map(|size| size.bytes);
            match name.as_str() {
                "offset" => source.offset_bytes = bytes()?,
                "size" => source.size_bytes = Some(bytes()?),
                _ => (),
            }
        }
        Some(source)
    }

    /// The file or block device; `None` for a drive of another machine.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            MemberPlace::Path(path) => Some(path),
            MemberPlace::Remote(_) => None,
        }
    }

    /// What tells the file or drive from others.
    #[must_use]
    pub fn identity(&self) -> Identity {
        match &self.place {
            MemberPlace::Path(path) => Identity::of(path),
            MemberPlace::Remote(leaf) => Identity::of_remote(leaf),
        }
    }

    /// What its file or drive is called.
    pub(crate) fn place_name(&self) -> PathBuf {
        match &self.place {
            MemberPlace::Path(path) => path.clone(),
            MemberPlace::Remote(leaf) => leaf.to_string().into(),
        }
    }

    /// Refuses two members on one file or drive.
    ///
    /// # Errors
    /// Which are the same.
    pub(crate) fn refuse_same_twice<'a>(
        sources: impl IntoIterator<Item = &'a MemberSource>,
    ) -> Result<(), Error> {
        let mut seen: Vec<(Location, &MemberSource)> = Vec::new();
        for source in sources {
            let location = match &source.place {
                MemberPlace::Path(path) => Location::of(path),
                MemberPlace::Remote(_) => Location::all_of(source.identity()),
            };
            if let Some((_, earlier)) = seen.iter().find(|(seen, _)| seen.overlaps(&location)) {
                let text = twice_text(&earlier.place_name(), &source.place_name());
                return Err(Error::usage(text));
            }
            seen.push((location, source));
        }
        Ok(())
    }

    /// Whether it is all of the file or device.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.offset_bytes == 0 && self.size_bytes.is_none()
    }

    /// The leaf of a stack that opens it.
    #[must_use]
    pub fn node(&self) -> Node {
        let mut node = match &self.place {
            MemberPlace::Path(path) => Node::file(path),
            MemberPlace::Remote(leaf) => leaf.clone(),
        };
        if self.offset_bytes > 0 {
            node = node.with("offset", size_text(self.offset_bytes));
        }
        match self.size_bytes {
            Some(bytes) => node.with("size", size_text(bytes)),
            None => node,
        }
    }

    /// The same for reading only.
    pub(crate) fn read_only_node(&self) -> Node {
        let node = self.node();
        match &node {
            Node::Leaf { options, .. } if options.iter().any(|(name, _)| name == "read_only") => {
                node
            }
            _ => node.with("read_only", "yes"),
        }
    }

    /// The part of it from `offset_bytes` on that is used.
    #[must_use]
    pub fn part(&self, offset_bytes: u64, size_bytes: Option<u64>) -> MemberSource {
        let left = self.size_bytes.map(|size| size.saturating_sub(offset_bytes));
        MemberSource {
            place: self.place.clone(),
            offset_bytes: self.offset_bytes + offset_bytes,
            size_bytes: size_bytes.or(left),
        }
    }

    /// Opens it through the guard.
    ///
    /// # Errors
    /// As [`Guard`] has them, and where the file ends before the member does.
    pub(crate) fn open(&self, guard: &Guard, purpose: Purpose) -> Result<Region, Error> {
        let bytes = match (&self.place, purpose) {
            (MemberPlace::Path(path), Purpose::Look) => MemberBytes::File(guard.peek(path)?),
            (MemberPlace::Path(path), Purpose::Image) => MemberBytes::File(guard.open_image(path)?),
            (MemberPlace::Path(path), Purpose::Write) => {
                MemberBytes::File(guard.open(path, Access::Write)?)
            }
            (MemberPlace::Remote(leaf), Purpose::Look) => {
                MemberBytes::Remote(guard.open_remote(leaf, Access::Read)?)
            }
            (MemberPlace::Remote(leaf), Purpose::Image) => {
                MemberBytes::Remote(guard.open_remote_image(leaf)?)
            }
            (MemberPlace::Remote(leaf), Purpose::Write) => {
                MemberBytes::Remote(guard.open_remote(leaf, Access::Write)?)
            }
        };
        self.region(bytes)
    }

    /// Its bytes, in what was opened for it.
    ///
    /// # Errors
    /// Where the file ends before it does.
    pub(crate) fn region(&self, bytes: MemberBytes) -> Result<Region, Error> {
        let failed = |error: io::Error| Error::from_io(self.to_string(), &error);
        let there = bytes.size_bytes().map_err(failed)?.checked_sub(self.offset_bytes);
        let size_bytes = match (there, self.size_bytes) {
            (Some(there), Some(size)) if size <= there => size,
            (Some(there), None) => there,
            _ => return Err(Error::usage(catalogue::FILE_ENDS_BEFORE).at(self)),
        };
        Ok(Region { bytes, offset_bytes: self.offset_bytes, size_bytes })
    }
}

/// The bytes of a member in what is open.
#[derive(Debug)]
pub(crate) struct Region {
    bytes: MemberBytes,
    offset_bytes: u64,
    pub(crate) size_bytes: u64,
}

impl Region {
    /// At most so many bytes, fewer at the end.
    pub(crate) fn read_up_to(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let left = self.size_bytes.saturating_sub(offset).min(length as u64);
        read_up_to(&self.bytes, self.offset_bytes.saturating_add(offset), left as usize)
    }

    pub(crate) fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(into, offset)?;
        self.bytes.read_exact_at(into, self.offset_bytes + offset)
    }

    pub(crate) fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check(bytes, offset)?;
        self.bytes.write_all_at(bytes, self.offset_bytes + offset)
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        self.bytes.sync_all()
    }

    /// What of it begins at an offset, as a file to look at.
    pub(crate) fn from(&self, offset_bytes: u64) -> RegionPart<'_> {
        RegionPart { region: self, offset_bytes }
    }

    /// The drive of another machine that it is on.
    pub(crate) fn remote(&self) -> Option<&RemoteDrive> {
        match &self.bytes {
            MemberBytes::Remote(drive) => Some(drive),
            MemberBytes::File(_) => None,
        }
    }

    fn check(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match offset.checked_add(bytes.len() as u64) {
            Some(end) if end <= self.size_bytes => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The rest of a region, which is only read.
pub(crate) struct RegionPart<'a> {
    region: &'a Region,
    offset_bytes: u64,
}

impl FileExt for RegionPart<'_> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.region.read_up_to(self.offset_bytes.saturating_add(offset), into.len())?;
        into[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_path_or_a_part_of_a_file() {
        let parsed = |word: &str| MemberSource::parse(Path::new(word));
        let part = parsed("disk.img?offset=4MiB&size=64MiB").unwrap();
        assert_eq!(
            (part.path(), part.offset_bytes, part.size_bytes),
            (Some(Path::new("disk.img")), 4 << 20, Some(64 << 20))
        );
        assert_eq!(part.to_string(), "file:disk.img?offset=4MiB&size=64MiB");
        assert_eq!(
            part.part(1 << 20, None).node().to_string(),
            "file:disk.img?offset=5MiB&size=63MiB"
        );
        assert_eq!(parsed(&part.to_string()).unwrap(), part);
        assert_eq!(parsed("a.img").unwrap().to_string(), "a.img");
        for word in ["nbd://host/b", "nbd+unix:///b?socket=/run/b", "rbd:pool/image"] {
            let remote = parsed(word).unwrap();
            assert_eq!((remote.to_string().as_str(), remote.path()), (word, None));
            assert_eq!(parsed(&remote.node().to_string()).unwrap(), remote);
        }
        assert_eq!(
            parsed("nbd://host/b?reconnect=0s").unwrap().identity(),
            parsed("nbd://host:10809/b").unwrap().identity()
        );
        assert_ne!(
            parsed("nbd://host/b").unwrap().identity(),
            parsed("nbd://host/c").unwrap().identity()
        );
        for word in ["a.img?offset=x", "a.img?block=4096", "ram:1MiB?offset=0", "a.img?offset"] {
            assert!(parsed(word).is_err(), "{word}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a?offset=1");
        std::fs::write(&path, "").unwrap();
        assert_eq!(MemberSource::parse(&path).unwrap(), MemberSource::from(path));
    }
}

//! What a member lies on: a file, a block device, or a part of one.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use block::{Node, size_text};
use host::Error;
use host::guard::read_up_to;

/// A file or block device, or a run of bytes on one: a partition in the image of a whole disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberSource {
    /// The file or block device.
    pub path: PathBuf,
    /// Where it begins there, in bytes.
    pub offset_bytes: u64,
    /// How long it is, in bytes; to the end where that is not said.
    pub size_bytes: Option<u64>,
}

impl From<PathBuf> for MemberSource {
    fn from(path: PathBuf) -> MemberSource {
        MemberSource { path, offset_bytes: 0, size_bytes: None }
    }
}

impl fmt::Display for MemberSource {
    /// A path as it is, and what else there is to say as in stack text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() && self.path.to_str().is_some() {
            return write!(f, "{}", self.path.display());
        }
        write!(f, "{}", self.node())
    }
}

impl MemberSource {
    /// What a word of a command line names: a path, or stack text of a file with `offset` and
    /// `size`. What is there under that very name is meant by it.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(word: &Path) -> Result<MemberSource, Error> {
        let text = word.to_str().filter(|text| text.contains('?') || text.starts_with("file:"));
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
            return Err(Error::usage(format!("{leaf}: a member is a file or a block device")));
        };
        let Node::Leaf { options, .. } = leaf else { return Ok(source) };
        match options.iter().find(|(name, _)| name != "offset" && name != "size") {
            Some((name, _)) => Err(Error::usage(format!(
                "{leaf}: {name} has no meaning here; offset and size have"
            ))),
            None => Ok(source),
        }
    }

    /// What a leaf of a stack lies on; `None` of what is no file or block device, or says so in no
    /// size.
    #[must_use]
    pub fn of_node(node: &Node) -> Option<MemberSource> {
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

    /// Whether it is all of the file or device.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.offset_bytes == 0 && self.size_bytes.is_none()
    }

    /// The leaf of a stack that opens it.
    #[must_use]
    pub fn node(&self) -> Node {
        let mut node = Node::file(&self.path);
        if self.offset_bytes > 0 {
            node = node.with("offset", size_text(self.offset_bytes));
        }
        match self.size_bytes {
            Some(bytes) => node.with("size", size_text(bytes)),
            None => node,
        }
    }

    /// The part of it from `offset_bytes` on that is used.
    #[must_use]
    pub fn part(&self, offset_bytes: u64, size_bytes: Option<u64>) -> MemberSource {
        let left = self.size_bytes.map(|size| size.saturating_sub(offset_bytes));
        MemberSource {
            path: self.path.clone(),
            offset_bytes: self.offset_bytes + offset_bytes,
            size_bytes: size_bytes.or(left),
        }
    }

    /// Its bytes, in the file that was opened for it.
    ///
    /// # Errors
    /// Where the file ends before it does.
    pub(crate) fn region(&self, file: File) -> Result<Region, Error> {
        let failed = |error: io::Error| Error::from_io(self, &error);
        let there = super::size_of(&file).map_err(failed)?.checked_sub(self.offset_bytes);
        let size_bytes = match (there, self.size_bytes) {
            (Some(there), Some(size)) if size <= there => size,
            (Some(there), None) => there,
            _ => return Err(Error::usage(format!("{self}: the file ends before that"))),
        };
        Ok(Region { file, offset_bytes: self.offset_bytes, size_bytes })
    }
}

/// The bytes of a member in a file that is open.
#[derive(Debug)]
pub(crate) struct Region {
    file: File,
    offset_bytes: u64,
    pub(crate) size_bytes: u64,
}

impl Region {
    /// At most so many bytes, fewer at the end.
    pub(crate) fn read_up_to(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let left = self.size_bytes.saturating_sub(offset).min(length as u64);
        read_up_to(&self.file, self.offset_bytes.saturating_add(offset), left as usize)
    }

    pub(crate) fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(into, offset)?;
        self.file.read_exact_at(into, self.offset_bytes + offset)
    }

    pub(crate) fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check(bytes, offset)?;
        self.file.write_all_at(bytes, self.offset_bytes + offset)
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn check(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match offset.checked_add(bytes.len() as u64) {
            Some(end) if end <= self.size_bytes => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
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
            (part.path.as_path(), part.offset_bytes, part.size_bytes),
            (Path::new("disk.img"), 4 << 20, Some(64 << 20))
        );
        assert_eq!(part.to_string(), "file:disk.img?offset=4MiB&size=64MiB");
        assert_eq!(
            part.part(1 << 20, None).node().to_string(),
            "file:disk.img?offset=5MiB&size=63MiB"
        );
        assert_eq!(parsed(&part.to_string()).unwrap(), part);
        assert_eq!(parsed("a.img").unwrap().to_string(), "a.img");
        for word in ["a.img?offset=x", "a.img?block=4096", "ram:1MiB?offset=0", "a.img?offset"] {
            assert!(parsed(word).is_err(), "{word}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a?offset=1");
        std::fs::write(&path, "").unwrap();
        assert_eq!(MemberSource::parse(&path).unwrap(), MemberSource::from(path));
    }
}

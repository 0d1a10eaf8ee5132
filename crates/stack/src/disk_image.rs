//! The file that a disk image is in.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use block::{Device, Error, ErrorKind, Node, SECTOR_BYTES, size_text};
use image::{FileRoom, ImageUse};
use words::statement;

use crate::facts::OpenedFile;
use crate::messages;
use crate::settings::Settings;

/// An image's file that is open.
pub(crate) struct ImageFile {
    pub(crate) device: Arc<dyn Device>,
    /// What it has behind its last whole sector.
    pub(crate) tail: Vec<u8>,
    /// Of one that is written to, and is a file.
    pub(crate) growth: Option<FileGrowth>,
}

/// The leaf of an image, or of what one lies over: read in sectors, through the page cache, where
/// it does not say otherwise.
pub(crate) fn image_leaf(node: &Node) -> Node {
    let Node::Leaf { scheme, options, .. } = node else { return node.clone() };
    let says = |wanted: &str| options.iter().any(|(name, _)| name == wanted);
    match scheme == "file" && !says("block") && !says("direct") {
        true => node.clone().with("block", SECTOR_BYTES).with("direct", "no"),
        false => node.clone(),
    }
}

/// Whether a leaf is all of a file.
pub(crate) fn is_whole_file(leaf: &Node) -> bool {
    let Node::Leaf { scheme, options, .. } = leaf else { return false };
    scheme == "file" && !options.iter().any(|(name, _)| ["offset", "size"].contains(&name.as_str()))
}

/// What a file has behind its last whole sector.
pub(crate) fn tail_of(opened: &OpenedFile) -> Option<Vec<u8>> {
    let length = opened.size_bytes % SECTOR_BYTES;
    let mut tail = vec![0; length as usize];
    opened.file.read_exact_at(&mut tail, opened.size_bytes - length).ok()?;
    Some(tail)
}

/// What the disk in an image is opened for.
pub(crate) fn image_use(settings: &Settings<'_>, read_only: bool) -> Result<ImageUse, Error> {
    let is_written = settings.is("write", "yes");
    if settings.is("extent", "yes") {
        if is_written || settings.get("snapshot").is_some() {
            return Err(Error::new(ErrorKind::Invalid, messages::EXTENT_IS_READ));
        }
        return Ok(ImageUse::Extent);
    }
    match settings.get("snapshot") {
        Some(_) if is_written => Err(Error::new(ErrorKind::Invalid, messages::SNAPSHOT_IS_READ)),
        Some(name) => Ok(ImageUse::Snapshot(name.to_owned())),
        None if is_written && !read_only => Ok(ImageUse::Write),
        None => Ok(ImageUse::Read),
    }
}

/// The file of an image that is written to: no longer than it has to be, and growing as it is
/// written.
pub(crate) struct FileGrowth {
    path: PathBuf,
    file: Arc<File>,
    /// How long it was.
    size_bytes: u64,
    room: FileRoom,
}

impl FileGrowth {
    /// Has the file opened by `open` while it is as long as it may ever become: its device takes
    /// writes up to there.
    pub(crate) fn of<T>(
        opened: OpenedFile,
        room: FileRoom,
        open: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(FileGrowth, T), Error> {
        let OpenedFile { path, file, size_bytes } = opened;
        let growth = FileGrowth { path, file, size_bytes, room };
        growth.lengthen(room.most_bytes)?;
        let opened = open().and_then(|opened| {
            growth.lengthen(room.now_bytes)?;
            Ok(opened)
        });
        match opened {
            Ok(opened) => Ok((growth, opened)),
            Err(error) => {
                let _ = growth.file.set_len(size_bytes);
                Err(error)
            }
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn lengthen(&self, bytes: u64) -> Result<(), Error> {
        self.file.set_len(bytes).map_err(|error| {
            Error::from_io(statement!(messages::MAKING_FILE_LONG, size = size_text(bytes)), error)
        })
    }

    /// Gives it the length that it had, unless something was written to it.
    pub(crate) fn undo(&self) {
        if self.file.metadata().is_ok_and(|data| data.len() == self.room.now_bytes) {
            let _ = self.file.set_len(self.size_bytes);
        }
    }
}

//! Whose a block of a file system is, as its own tools say it of an image.
//!
//! ```text
//!   ext2, ext3, ext4  dumpe2fs, debugfs
//!   XFS               xfs_db
//!   btrfs             btrfs inspect-internal
//!   NTFS              ntfscluster
//!   FAT               no tool says it: it is read here
//! ```

mod btrfs;
mod ext;
mod fat;
mod ntfs;
mod xfs;

use std::fmt;
use std::path::Path;

use confine::Confinement;
use export::tool;
use serde::Serialize;
use words::{Message, filled, say};

use super::catalogue;

/// What a block is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Owner {
    /// A superblock, the first or a copy.
    Superblock,
    /// Where the groups are described.
    GroupDescriptors,
    /// Which blocks or inodes are taken.
    Bitmap,
    /// Inodes of these numbers.
    Inodes {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
        /// The paths of those that are files or folders.
        paths: Vec<String>,
    },
    /// The journal.
    Journal {
        /// What of it.
        block: JournalBlock,
    },
    /// A file or folder.
    File {
        /// Its inode.
        inode: u64,
        /// Its path, where it has one.
        path: Option<String>,
        /// Where in it, in bytes; nothing of what finds its blocks.
        offset: Option<u64>,
        /// Whether it is a folder.
        is_folder: bool,
    },
    /// A part of the file system itself, by the name that its own tools have for it.
    Part {
        /// Such as `EXTENT_TREE` of btrfs or `agf` of XFS.
        name: String,
        /// The paths of the files and folders that it says something of, as far as it is a tree of
        /// these.
        paths: Vec<String>,
    },
    /// Of the array under the file system, which knows nothing of it.
    Array {
        /// What of it.
        part: ArrayPart,
    },
    /// Nobody's.
    Free,
}

/// What of an array's own a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrayPart {
    /// What says that the drive is a member.
    Superblock,
    /// What says where writes are under way.
    BitmapOrLog,
    /// What a lost member is computed from.
    Parity,
}

/// What a block of the journal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalBlock {
    /// Which blocks follow.
    Descriptor,
    /// The end of a transaction, without which it counts for nothing.
    Commit,
    /// Where the journal begins.
    Superblock,
    /// What is not to be replayed.
    Revoke,
    /// What is to be written elsewhere.
    Content,
}

impl ArrayPart {
    fn message(self) -> Message {
        match self {
            ArrayPart::Superblock => catalogue::ARRAY_SUPERBLOCK,
            ArrayPart::BitmapOrLog => catalogue::ARRAY_BITMAP,
            ArrayPart::Parity => catalogue::ARRAY_PARITY,
        }
    }
}

impl JournalBlock {
    fn message(self) -> Message {
        match self {
            JournalBlock::Descriptor => catalogue::JOURNAL_DESCRIPTOR,
            JournalBlock::Commit => catalogue::JOURNAL_COMMIT,
            JournalBlock::Superblock => catalogue::JOURNAL_SUPERBLOCK,
            JournalBlock::Revoke => catalogue::JOURNAL_REVOKE,
            JournalBlock::Content => catalogue::JOURNAL_CONTENT,
        }
    }
}

impl Owner {
    /// Whether it says which file or folder it is about.
    pub(super) fn is_named(&self) -> bool {
        match self {
            Owner::File { path, .. } => path.is_some(),
            Owner::Inodes { paths, .. } | Owner::Part { paths, .. } => !paths.is_empty(),
            _ => false,
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Superblock => f.write_str(catalogue::OWNER_SUPERBLOCK.template()),
            Owner::GroupDescriptors => f.write_str(catalogue::OWNER_DESCRIPTORS.template()),
            Owner::Bitmap => f.write_str(catalogue::OWNER_BITMAP.template()),
            Owner::Inodes { first, last, paths } => {
                f.write_str(&say!(catalogue::OWNER_INODES, first = first, last = last))?;
                write_paths(f, paths)
            }
            Owner::Part { name, paths } => {
                f.write_str(&say!(catalogue::OWNER_PART, name = name))?;
                write_paths(f, paths)
            }
            Owner::Journal { block } => f.write_str(block.message().template()),
            Owner::File { inode, path, offset, is_folder } => {
                let path = path.clone();
                let path = path.unwrap_or_else(|| say!(catalogue::WITHOUT_NAME, inode = inode));
                let kind = match is_folder {
                    true => catalogue::OWNER_FOLDER,
                    false => catalogue::OWNER_FILE,
                };
                f.write_str(&filled(kind, &[("path", &path)]))?;
                f.write_str(&match offset {
                    Some(offset) => say!(catalogue::AT_OFFSET, offset = offset),
                    None => say!(catalogue::WHERE_ITS_BLOCKS_ARE),
                })
            }
            Owner::Array { part } => f.write_str(part.message().template()),
            Owner::Free => f.write_str(catalogue::OWNER_NOBODY.template()),
        }
    }
}

fn write_paths(f: &mut fmt::Formatter<'_>, paths: &[String]) -> fmt::Result {
    if paths.is_empty() { Ok(()) } else { write!(f, " ({})", paths.join(", ")) }
}

/// An image of a file system that can be asked.
pub(super) trait Image {
    /// Whose the bytes from `offset` on are, of a request whose content is `content`, which is not
    /// empty.
    fn owners(&self, offset: u64, content: &[u8]) -> Vec<Owner>;
}

/// Whether there is a way to ask of a file system.
pub(super) fn can_tell(file_system: &str) -> bool {
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "ntfs", "vfat"].contains(&file_system)
}

/// Looks at an image; nothing where that file system is not on it, or its tool is not there.
pub(super) fn inspect<'a>(file_system: &str, image: &'a Path) -> Option<Box<dyn Image + 'a>> {
    Some(match file_system {
        "ext2" | "ext3" | "ext4" => Box::new(ext::Ext::of(image)?),
        "xfs" => Box::new(xfs::Xfs::of(image)?),
        "btrfs" => Box::new(btrfs::Btrfs::of(image)?),
        "ntfs" => Box::new(ntfs::Ntfs::of(image)?),
        "vfat" => Box::new(fat::Fat::of(image)?),
        _ => return None,
    })
}

/// Each once, and a file that goes on where it begins.
fn joined(owners: impl Iterator<Item = Owner>) -> Vec<Owner> {
    let mut all: Vec<Owner> = Vec::new();
    for owner in owners {
        let goes_on = matches!((all.last(), &owner),
            (Some(Owner::File { inode: before, .. }), Owner::File { inode, .. })
            if before == inode);
        if !goes_on && !all.contains(&owner) {
            all.push(owner);
        }
    }
    all
}

/// What a tool prints about an image, which it only reads.
fn said(words: &[&str], image: &Path) -> Option<String> {
    let (text, is_success) = printed(words, image)?;
    is_success.then_some(text)
}

/// The same, and whether the tool calls it a success.
fn printed(words: &[&str], image: &Path) -> Option<(String, bool)> {
    let mut command = tool::command(words[0]);
    command.args(&words[1..]).arg(image);
    let ran = Confinement::default().output(&mut command).ok()?;
    Some((String::from_utf8_lossy(&ran.stdout).into_owned(), ran.status.success()))
}

/// The number behind a name, of what a tool lists as a name and a number to a line.
fn listed(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix(name)?;
        rest.trim_start_matches([' ', '\t', '=', ':']).trim().parse().ok()
    })
}

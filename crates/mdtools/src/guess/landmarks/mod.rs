//! Landmarks: sectors of an array that say where they are, or whose contents follow from what
//! others say.
//!
//! ```text
//!   openings ── the marks at the start of a file system, partition table or volume ──> what they tell is somewhere:
//!     ext2/3/4  descriptors of groups ──> inode tables ──> directories, which name themselves; backup superblocks
//!     XFS       headers of allocation groups ──> roots of trees ──> inodes, which name themselves
//!     btrfs     copies of the superblock, the trees' roots, which name themselves
//!     NTFS      records of the MFT, which name themselves; the boot sector's backup
//!     FAT       second FAT, directories, which name themselves
//!     GPT, MBR, LVM  the backup; what begins where a partition or volume begins
//! ```
//!
//! A landmark is one sector and a check of it, which may name further landmarks. Only a layout that
//! puts every sector into its place meets them all. Most say themselves where they belong. Some are
//! merely plausible: an inode without a checksum looks the same everywhere; these put no member
//! into a place. The offsets are those of the formats' own documents.

mod btrfs;
mod ext;
mod fat;
mod ntfs;
mod partitions;
mod xfs;

use std::rc::Rc;

use words::Message;

use super::evidence::Proof;
use super::reader::Sector;

/// What a check says of a sector.
pub(super) enum Verdict {
    /// It is what should be here; these follow from it.
    There(Vec<Landmark>),
    /// It is something else.
    Missing,
    /// It tells nothing either way.
    Nothing,
}

/// A sector of the array and what it should be.
#[derive(Clone)]
pub(super) struct Landmark {
    /// What it is called when the result is explained, in the plural.
    pub(super) kind: Message,
    /// Where in the array, in bytes: a multiple of 512.
    pub(super) address: u64,
    /// What its being there proves.
    pub(super) proof: Proof,
    check: Rc<dyn Fn(&Sector) -> Verdict>,
}

impl Landmark {
    fn new(kind: Message, address: u64, check: impl Fn(&Sector) -> Verdict + 'static) -> Landmark {
        Landmark { kind, address, proof: Proof::Place, check: Rc::new(check) }
    }

    /// One whose sector could as well be another of its kind.
    fn plausible(self) -> Landmark {
        Landmark { proof: Proof::Plausible, ..self }
    }

    pub(super) fn check(&self, sector: &Sector) -> Verdict {
        (self.check)(sector)
    }
}

/// What may stand at the start of an array, or of a part of it that begins at `base`. A check of
/// one of these never says
/// [`Verdict::Missing`].
pub(super) fn openings(base: u64) -> Vec<Landmark> {
    [
        ext::opening(base),
        xfs::opening(base),
        btrfs::opening(base),
        ntfs::opening(base),
        fat::opening(base),
    ]
    .into_iter()
    .chain(partitions::lvm(base))
    .chain(if base == 0 { partitions::tables() } else { Vec::new() })
    .collect()
}

/// At most `most` of the numbers below `count`, spread evenly, the first among them.
fn spread(count: u64, most: u64) -> impl Iterator<Item = u64> {
    let step = count.div_ceil(most.max(1)).max(1);
    (0..count).step_by(usize::try_from(step).unwrap_or(usize::MAX))
}

/// A little-endian number of `N` bytes.
fn le<const N: usize>(sector: &[u8], at: usize) -> u64 {
    sector[at..at + N].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A big-endian number of `N` bytes.
fn be<const N: usize>(sector: &[u8], at: usize) -> u64 {
    sector[at..at + N].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn has(sector: &[u8], at: usize, mark: &[u8]) -> bool {
    sector.get(at..at + mark.len()) == Some(mark)
}

/// [`Verdict::There`] without anything more, or [`Verdict::Missing`].
fn there_if(is_there: bool) -> Verdict {
    if is_there { Verdict::There(Vec::new()) } else { Verdict::Missing }
}

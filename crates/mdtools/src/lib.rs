//! md arrays on files and disks: finding and reading members' superblocks, making new ones, and
//! doing without them.
//!
//! ```text
//! paths ──> examine (reads a few KiB of each) ──> Examined ──> array::md::assemble ──> Assembly
//!                                                    ^──── arrays among them, opened ────┘
//! Assembly ──> status (how it is), stack text (what opens it)
//! NewArray ──> create ──> array::md ──> superblocks ──> guard opens members ──> written and synced
//! paths ──> guess (what members hold, without superblocks) ──> Guesses
//! whatever ──> rescue (find, and where that does not do, slices and guess) ──> RescueReport
//! ```
//!
//! Everything about the format is `array::md`; here are only the reads and writes around it.

mod assemble;
mod catalogue;
mod container;
mod create;
mod destroy;
mod draft;
mod examine;
mod find;
pub mod guess;
mod overwrite;
mod partitions;
pub mod rescue;
mod source;
mod status;
mod work;

use array::md::Level;

pub use assemble::{AssemblyOptions, Group, GroupMember, slices};
pub use container::{after_container_header, make_stand_in_container};
pub use create::{
    CHUNK_BYTES, Create, CreateMember, CreatedArray, InnerArray, NewArraySettings, create,
    create_announced, erase_marks, layout, level,
};
pub use destroy::{ErasedMember, destroy};
use examine::bitmap_offset;
pub use examine::{ExaminedPath, FoundSuperblock, examine, look, members_in, raid_partition};
pub use find::{FoundArrays, PassedOver, find};
pub use source::{MemberPlace, MemberSource};
pub use status::{ArrayCondition, ArrayStatus, MemberState, MemberStatus, device_text};
pub use work::{ByteRange, WorkStatus, WrongMember};

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;
/// What a superblock may take up; a bitmap's head is smaller.
const SUPERBLOCK_BYTES: usize = 4096;

/// The layer of the stack that a level is; linear for levels that raidloom does not serve.
fn layer_name(level: Level) -> &'static str {
    match level {
        Level::Raid0 => "raid0",
        Level::Raid1 => "raid1",
        Level::Raid4 => "raid4",
        Level::Raid5 => "raid5",
        Level::Raid6 => "raid6",
        Level::Raid10 => "raid10",
        _ => "linear",
    }
}

/// What of a stack there is from an offset on.
fn node_from(stack: block::Node, offset_bytes: u64) -> block::Node {
    match offset_bytes {
        0 => stack,
        offset_bytes => block::Node::layer("linear", vec![stack])
            .with("metadata", "none")
            .with("offset", block::size_text(offset_bytes)),
    }
}

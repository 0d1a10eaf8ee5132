//! The on-disk format of Linux md, as plain data: decoding, encoding, and what a set of members
//! amounts to.
//!
//! ```text
//!   superblock   which member it is, which array it belongs to, how that is laid out
//!   fields       the values that its fields have
//!   version0     the same of old arrays, version 0.90
//!   layout       what the layout number of a level means
//!   create       the superblocks of a new array
//!   bitmap       which regions may be out of sync after a crash
//!   badblocks    which sectors of a member cannot be read
//!   ppl          parity of the stripes that were being written
//!   reshape      where an array has which of two shapes
//!   assemble     from several members' superblocks: what is there, what is missing, may it start
//!   usability    whether an array can be read and written with the members that it has
//! ```
//!
//! Nothing here does I/O, reads a clock or draws a random number. Every decoder takes any bytes: it
//! never panics and never allocates more than a small multiple of what it was given. The byte
//! tables are in `docs/formats/md.md`.

mod assemble;
mod badblocks;
mod bitmap;
mod create;
mod fields;
mod layout;
mod ppl;
mod reshape;
mod superblock;
mod usability;
mod version0;

use std::fmt;

use words::{Message, Text, statement};

use crate::catalogue;

pub use assemble::{
    AssembleOptions, Assembly, Candidate, LeftOut, Slot, Startability, UsedDevice, assemble, group,
};
pub use badblocks::{BadRange, decode_bad_blocks, encode_bad_blocks};
pub use bitmap::{Bitmap, BitmapHeader};
pub use create::{Consistency, NewArray, NewMember, data_offset_sectors};
pub use fields::{Features, Level, Role, TimeStamp, Version};
pub use layout::Layout;
pub use ppl::{PPL_HEADER_BYTES, PplEntry, PplHeader, find_newest_ppl, ppl_signature};
pub use reshape::{Reshape, Shape};
pub use superblock::{ChecksumVerdict, PplArea, Superblock};
pub use usability::Usability;

/// What is wrong with bytes that should have been one of md's structures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which structure: `superblock`, `bitmap`, `bad-block log`, `PPL header`.
    pub structure: Message,
    /// Which field of it.
    pub field: &'static str,
    /// Where the field starts, in bytes from the start of the structure.
    pub offset: usize,
    /// What stands there.
    pub found: Text,
    /// What could stand there.
    pub expected: Text,
}

impl From<&Problem> for Text {
    fn from(problem: &Problem) -> Text {
        let Problem { structure, field, offset, found, expected } = problem;
        statement!(
            catalogue::PROBLEM,
            structure = *structure,
            field = *field,
            offset = *offset,
            found = found,
            expected = expected,
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text::from(self))
    }
}

impl std::error::Error for Problem {}

impl From<Problem> for block::Error {
    fn from(problem: Problem) -> block::Error {
        block::Error::new(block::ErrorKind::Corrupt, &problem)
    }
}

/// Makes the problems of one structure.
#[derive(Clone, Copy)]
struct Complaint(Message);

impl Complaint {
    fn about(
        self,
        field: &'static str,
        offset: usize,
        found: impl Into<Text>,
        expected: impl Into<Text>,
    ) -> Problem {
        let (found, expected) = (found.into(), expected.into());
        Problem { structure: self.0, field, offset, found, expected }
    }

    /// Complains unless the first word, as it was read, is the magic number.
    fn needs_magic(self, found: u32, magic: u32) -> Result<(), Problem> {
        if found != magic {
            let [found, magic] = [found, magic].map(|word| format!("{word:#010x}"));
            return Err(self.about("magic", 0, found, magic));
        }
        Ok(())
    }

    /// Complains unless there are at least `length` bytes.
    fn needs_length(self, bytes: &[u8], length: usize) -> Result<(), Problem> {
        if bytes.len() < length {
            return Err(self.about(
                "length",
                0,
                statement!(catalogue::SUPERBLOCK_BYTES, bytes = bytes.len()),
                statement!(catalogue::AT_LEAST, least = length),
            ));
        }
        Ok(())
    }
}

/// `N` bytes at an offset that the caller has checked.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, at))
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(bytes_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, at))
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// A UUID as md's tools print it: four groups of eight digits.
#[must_use]
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(35);
    for (index, byte) in uuid.iter().enumerate() {
        if index > 0 && index % 4 == 0 {
            text.push(':');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

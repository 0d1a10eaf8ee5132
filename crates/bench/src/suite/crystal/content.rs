//! What the rows write: data of their own in every 4 KiB, or one byte all over.
//!
//! ```text
//! a block of 4 KiB
//! +---------------------------+------------------------------------------------+
//! | mark: place, seed, number | random bytes of the request that wrote it      |
//! +---------------------------+------------------------------------------------+
//!   32 bytes                    prepared once for each outstanding request
//! ```
//!
//! The original writes one and the same block everywhere, so that a device which finds equal blocks has little to do. Here
//! the mark makes every block unlike every other, at a cost of some nanoseconds each, so that making data does not slow
//! the load down. A read is held against the last write to each of its blocks: lost, misdirected and torn requests are
//! found, damage behind a block's first 32 bytes is not.

use block::{BufMut, Error, ErrorKind};

use crate::load::{Access, Content};
use crate::pattern::{self, Mark};

/// What is marked by itself.
pub(super) const BLOCK_BYTES: usize = 4096;
const MARK_BYTES: usize = 32;
/// Nobody knows what is there.
const UNKNOWN: u32 = 0;

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Data {
    /// Incompressible, and different in every block.
    #[default]
    Random,
    /// Zeroes, as the original's `0x00 Fill`.
    Zero,
    /// Bytes of eight ones, as the original's `0xFF Fill`.
    One,
}

impl Data {
    fn byte(self) -> Option<u8> {
        match self {
            Data::Random => None,
            Data::Zero => Some(0),
            Data::One => Some(0xff),
        }
    }
}

/// What is known of the content of a file or device: the number of the last write to each block.
#[derive(Debug)]
pub struct Filled {
    pub(super) data: Data,
    pub(super) seed: u64,
    /// By block; 0 where it is not known.
    pub(super) numbers: Vec<u32>,
    /// Of the latest write.
    pub(super) last: u32,
    /// Bytes written before the first row.
    pub written_bytes: u64,
    /// Bytes read so far that were checked.
    pub checked_bytes: u64,
    /// Why nothing is verified, if nothing is.
    pub(super) unverified: Option<&'static str>,
}

impl Filled {
    pub(super) fn nothing(size_bytes: u64, data: Data, seed: u64) -> Filled {
        let numbers = vec![UNKNOWN; size_bytes as usize / BLOCK_BYTES];
        Filled { data, seed, numbers, last: UNKNOWN, written_bytes: 0, checked_bytes: 0, unverified: None }
    }

    /// Content that nobody writes first and nobody checks.
    pub(in crate::suite) fn unverified(why: &'static str) -> Filled {
        Filled { unverified: Some(why), ..Filled::nothing(0, Data::Random, 0) }
    }
}

/// One thread's part of the content.
pub(super) struct Stamped<'a> {
    pub(super) data: Data,
    pub(super) seed: u64,
    pub(super) numbers: &'a mut [u32],
    /// The block that `numbers` begins with.
    pub(super) first_block: usize,
    pub(super) last: u32,
    /// Bytes read that were checked.
    pub(super) checked_bytes: u64,
}

impl Stamped<'_> {
    fn blocks(&mut self, access: &Access) -> &mut [u32] {
        let start = access.offset as usize / BLOCK_BYTES - self.first_block;
        &mut self.numbers[start..start + access.length as usize / BLOCK_BYTES]
    }
}

impl Content for Stamped<'_> {
    const VERIFIES: bool = true;

    fn prepare(&mut self, slot: u32, buffer: &mut BufMut) {
        match self.data.byte() {
            Some(byte) => buffer.fill(byte),
            None => {
                let seed = reactor::derive_seed(self.seed, "slot", u64::from(slot) ^ (self.first_block as u64) << 32);
                buffer.slices_mut().for_each(|slice| pattern::fill(slice, 1 << 63, seed, u64::from(self.last)));
            }
        }
    }

    fn fill(&mut self, access: &Access, buffer: &mut [u8]) {
        self.last += 1;
        let number = self.last;
        self.blocks(access).fill(number);
        if self.data == Data::Random {
            for (block, offset) in buffer.chunks_mut(BLOCK_BYTES).zip((access.offset..).step_by(BLOCK_BYTES)) {
                pattern::mark(block, offset, self.seed, u64::from(number));
            }
        }
    }

    fn check(&mut self, access: &Access, buffer: &[u8]) -> Result<(), Error> {
        let (data, seed) = (self.data, self.seed);
        let mut checked_bytes = 0;
        let numbers = self.blocks(access);
        for ((block, number), offset) in buffer.chunks(BLOCK_BYTES).zip(numbers.iter()).zip((access.offset..).step_by(BLOCK_BYTES)) {
            if *number == UNKNOWN {
                continue;
            }
            checked_bytes += BLOCK_BYTES as u64;
            let right = match data.byte() {
                Some(byte) => block[..MARK_BYTES].iter().all(|found| *found == byte),
                None => Mark::of(block) == Some(Mark { offset, seed, generation: u64::from(*number) }),
            };
            if !right {
                return Err(Error::new(ErrorKind::Corrupt, explain(block, offset, data, *number)));
            }
        }
        self.checked_bytes += checked_bytes;
        Ok(())
    }

    fn lost(&mut self, access: &Access) {
        self.blocks(access).fill(UNKNOWN);
    }
}

#[cold]
fn explain(block: &[u8], offset: u64, data: Data, expected: u32) -> String {
    let found = match (data, Mark::of(block)) {
        (Data::Random, Some(mark)) if mark.offset != offset => format!("data that belong at offset {}: misdirected", mark.offset),
        (Data::Random, Some(mark)) => format!("write number {} instead of {expected}: a write was lost", mark.generation),
        (Data::Random, None) => "data that were not written here by this run".to_owned(),
        (Data::Zero | Data::One, _) => "other bytes than the one that was written all over".to_owned(),
    };
    format!("wrong data at offset {offset}: {found}")
}

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
//! The original writes one and the same block everywhere, so that a device which finds equal blocks
//! has little to do. Here the mark makes every block unlike every other, at a cost of some
//! nanoseconds each, so that making data does not slow the load down. The random bytes behind it
//! are the pattern, too, and which of them is kept for every block: so every byte of a block can be
//! compared. That costs some 200 microseconds for a MiB, as much as a fast device needs to read it,
//! so reads inside a row's time are held against the last write by the mark alone unless told
//! otherwise ([`Verify`]); behind the last row all of it is read once more and every byte compared.

use block::{BufMut, Error, ErrorKind};
use results::doubt::UnverifiedReason;
use words::{Text, statement};

use crate::catalogue;
use crate::load::{Access, Content};
use crate::pattern::{self, Mark, SECTOR_BYTES};

/// What is marked by itself.
pub(in crate::suite) const BLOCK_BYTES: usize = 4096;
const MARK_BYTES: usize = 32;
/// What is there is unknown.
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

/// How much is compared of what the rows read inside their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verify {
    /// The first 32 bytes of every 4 KiB.
    #[default]
    Words,
    /// Every byte.
    Full,
}

/// What was written to a block last.
#[derive(Clone, Copy, Debug)]
pub(in crate::suite) struct LastWrite {
    number: u32,
    /// What its random bytes are: a part of the `check` word of its second sector.
    body: u32,
}

const NOTHING: LastWrite = LastWrite { number: UNKNOWN, body: 0 };

/// The part of a sector's `check` word that is kept.
fn body_of(block: &[u8]) -> u32 {
    const CHECK: usize = SECTOR_BYTES + 24;
    u32::from_le_bytes(block[CHECK..CHECK + 4].try_into().expect("four bytes"))
}

/// What is known of the content of a file or device: the last write to each block.
#[derive(Debug)]
pub struct BlockContents {
    pub(in crate::suite) data: Data,
    pub(in crate::suite) seed: u64,
    /// By block; 0 where it is not known.
    pub(in crate::suite) numbers: Vec<LastWrite>,
    /// Of the latest write.
    pub(in crate::suite) last: u32,
    /// Bytes written before the first row.
    pub written_bytes: u64,
    /// Bytes read so far that were checked.
    pub checked_bytes: u64,
    /// Why nothing is verified, if nothing is.
    pub(in crate::suite) unverified: Option<UnverifiedReason>,
}

impl BlockContents {
    pub(in crate::suite) fn nothing(size_bytes: u64, data: Data, seed: u64) -> BlockContents {
        let numbers = vec![NOTHING; size_bytes as usize / BLOCK_BYTES];
        BlockContents {
            data,
            seed,
            numbers,
            last: UNKNOWN,
            written_bytes: 0,
            checked_bytes: 0,
            unverified: None,
        }
    }

    /// Content that is not written first and not checked.
    pub(in crate::suite) fn unverified(because: UnverifiedReason) -> BlockContents {
        BlockContents { unverified: Some(because), ..BlockContents::nothing(0, Data::Random, 0) }
    }

    /// Something was written that cannot be checked.
    pub(in crate::suite) fn forget(&mut self) {
        self.numbers.fill(NOTHING);
    }
}

/// One thread's part of the content.
pub(in crate::suite) struct StampedPart<'a> {
    pub(in crate::suite) data: Data,
    pub(in crate::suite) seed: u64,
    pub(in crate::suite) numbers: &'a mut [LastWrite],
    /// The block that `numbers` begins with.
    pub(in crate::suite) first_block: usize,
    pub(in crate::suite) last: u32,
    pub(in crate::suite) verify: Verify,
    /// Bytes read that were checked.
    pub(in crate::suite) checked_bytes: u64,
}

impl StampedPart<'_> {
    fn blocks(&mut self, access: &Access) -> &mut [LastWrite] {
        let start = access.offset as usize / BLOCK_BYTES - self.first_block;
        &mut self.numbers[start..start + access.length as usize / BLOCK_BYTES]
    }
}

impl Content for StampedPart<'_> {
    const VERIFIES: bool = true;

    fn prepare(&mut self, slot: u32, buffer: &mut BufMut) {
        match self.data.byte() {
            Some(byte) => buffer.fill(byte),
            None => {
                let seed = reactor::derive_seed(
                    self.seed,
                    "slot",
                    u64::from(slot) ^ (self.first_block as u64) << 32,
                );
                buffer
                    .slices_mut()
                    .for_each(|slice| pattern::fill(slice, 1 << 63, seed, u64::from(self.last)));
            }
        }
    }

    fn fill(&mut self, access: &Access, buffer: &mut [u8]) {
        self.last += 1;
        let (data, seed, number) = (self.data, self.seed, self.last);
        for ((written, block), offset) in self
            .blocks(access)
            .iter_mut()
            .zip(buffer.chunks_mut(BLOCK_BYTES))
            .zip((access.offset..).step_by(BLOCK_BYTES))
        {
            *written = LastWrite { number, body: body_of(block) };
            if data == Data::Random {
                pattern::mark(block, offset, seed, u64::from(number));
            }
        }
    }

    fn check(&mut self, access: &Access, buffer: &[u8]) -> Result<(), Error> {
        let (data, seed, verify) = (self.data, self.seed, self.verify);
        let mut checked_bytes = 0;
        let blocks = self.blocks(access);
        for ((block, written), offset) in buffer
            .chunks(BLOCK_BYTES)
            .zip(blocks.iter())
            .zip((access.offset..).step_by(BLOCK_BYTES))
        {
            if written.number == UNKNOWN {
                continue;
            }
            checked_bytes += BLOCK_BYTES as u64;
            let mark = Mark { offset, seed, generation: u64::from(written.number) };
            let right = match (data.byte(), verify) {
                (Some(byte), Verify::Words) => {
                    block[..MARK_BYTES].iter().all(|found| *found == byte)
                }
                (Some(byte), Verify::Full) => block.iter().all(|found| *found == byte),
                (None, Verify::Words) => Mark::of(block) == Some(mark),
                (None, Verify::Full) => {
                    body_of(block) == written.body && pattern::marked_block_is_right(block, mark)
                }
            };
            if !right {
                return Err(Error::new(ErrorKind::Corrupt, explain(block, mark, data)));
            }
        }
        self.checked_bytes += checked_bytes;
        Ok(())
    }

    fn lost(&mut self, access: &Access) {
        self.blocks(access).fill(NOTHING);
    }
}

#[cold]
fn explain(block: &[u8], expected: Mark, data: Data) -> Text {
    let found: Text = match (data, Mark::of(block)) {
        (Data::Random, Some(mark)) if mark == expected => catalogue::WRONG_BEHIND_MARK.into(),
        (Data::Random, Some(mark)) if mark.offset != expected.offset => {
            statement!(catalogue::MISDIRECTED, belongs_at = mark.offset)
        }
        (Data::Random, Some(mark)) if mark.seed != expected.seed => {
            catalogue::OF_ANOTHER_RUN.into()
        }
        (Data::Random, Some(mark)) => {
            let (found, expected) = (mark.generation, expected.generation);
            statement!(catalogue::OTHER_WRITE, found = found, expected = expected)
        }
        (Data::Random, None) => catalogue::UNRECOGNISED_OR_DAMAGED.into(),
        (Data::Zero | Data::One, _) => catalogue::WRONG_BYTE.into(),
    };
    found.at(statement!(catalogue::WRONG_DATA, offset = expected.offset))
}

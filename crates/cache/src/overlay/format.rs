//! The delta's superblock and index pages as bytes; drawn in `docs/formats/overlay.md`.

use block::{Error, ErrorKind, size_text};
use words::{Message, Text, statement};

use crate::catalogue;
use crate::frame::{Frame, corrupt, is_sealed, long, seal_page, word};

const FRAME: Frame = Frame {
    magic: b"raidloom overlay",
    version: 2,
    name: catalogue::A_DELTA,
    foreign: catalogue::OTHER_THAN_DELTA,
    name_at: 72,
};
/// Without marks of the pages that are not zero. It is read, and made 2 when it is written to.
const FRAME_1: Frame = Frame { version: 1, ..FRAME };
/// What stands in front of the bits of a page.
const PAGE_HEADER_BYTES: usize = 24;
/// Data never begin before the first multiple of this.
pub(super) const DATA_ALIGNMENT_BYTES: u64 = 1 << 20;
/// Room for the witness, and for the marks behind it, both at the end of the delta, in bytes.
const WITNESS_ROOM_BYTES: u64 = 64 << 10;
const MARKS_ROOM_BYTES: u64 = 512 << 10;

/// What a delta is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaState {
    /// Nothing: it can be opened.
    InUse,
    /// A commit was begun and has to be finished.
    Committing,
    /// Its index is being cleared.
    Clearing,
}

/// Where things lie in a delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Logical block of the overlay, in bytes.
    pub(super) block_bytes: u32,
    /// Size of the device below, in bytes.
    pub(super) size_bytes: u64,
}

impl Shape {
    pub(super) fn blocks(self) -> u64 {
        self.size_bytes / u64::from(self.block_bytes)
    }

    /// How many blocks one page of the index speaks for.
    pub(super) fn blocks_per_page(self) -> u64 {
        (u64::from(self.block_bytes) - PAGE_HEADER_BYTES as u64) * 8
    }

    pub(super) fn pages(self) -> u64 {
        self.blocks().div_ceil(self.blocks_per_page())
    }

    /// Where a page of the index lies, in bytes.
    pub(super) fn page_offset(self, page: u64) -> u64 {
        (1 + page) * u64::from(self.block_bytes)
    }

    /// Where data begin, in bytes.
    pub(super) fn data_offset(self) -> u64 {
        self.page_offset(self.pages()).next_multiple_of(DATA_ALIGNMENT_BYTES)
    }

    /// Where the witness of the device below lies, in bytes: behind the data.
    pub(super) fn witness_offset(self) -> u64 {
        self.data_offset() + self.size_bytes
    }

    /// How many pages of the index share a mark: one, unless the marks of all had no room.
    pub(super) fn pages_per_mark(self) -> u64 {
        let room = (MARKS_ROOM_BYTES / u64::from(self.block_bytes)).max(1) * self.blocks_per_page();
        self.pages().div_ceil(room).next_power_of_two()
    }

    /// How many pages the marks take; each has room for as many marks as a page of the index has
    /// for blocks.
    pub(super) fn mark_pages(self) -> u64 {
        self.pages().div_ceil(self.pages_per_mark()).div_ceil(self.blocks_per_page())
    }

    /// Where a page of marks lies, in bytes: behind the witness.
    pub(super) fn mark_page_offset(self, page: u64) -> u64 {
        let block = u64::from(self.block_bytes);
        self.witness_offset() + WITNESS_ROOM_BYTES.max(block) + page * block
    }

    /// How large the delta has to be, in bytes. What lies at the end of the device below, a spare
    /// partition table or a superblock, does not lie at the end of the delta, which would pass for
    /// something else.
    pub(super) fn delta_bytes(self) -> u64 {
        self.data_offset() + self.size_bytes + DATA_ALIGNMENT_BYTES
    }
}

/// The superblock of a delta.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    /// What the format was when it was written.
    pub(super) version: u32,
    pub(super) state: DeltaState,
    pub(super) shape: Shape,
    pub(super) fingerprint: u64,
    pub(super) generation: u64,
    /// Stack text of the device below when the delta was made.
    pub(super) name: String,
}

impl Superblock {
    /// Fills a block of the delta.
    pub(super) fn encode(&self, block: &mut [u8]) {
        let state: u32 = match self.state {
            DeltaState::InUse => 1,
            DeltaState::Committing => 2,
            DeltaState::Clearing => 3,
        };
        let longs = [
            self.shape.size_bytes,
            self.fingerprint,
            self.generation,
            self.shape.pages(),
            self.shape.data_offset(),
        ];
        let frame = if self.version == FRAME_1.version { &FRAME_1 } else { &FRAME };
        frame.encode(&[state, self.shape.block_bytes], &longs, &self.name, block);
    }

    /// Reads a block of the delta; `None` when it is all zero.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] for something else than an overlay's delta or another version of it,
    /// [`ErrorKind::Corrupt`] for a damaged one.
    pub(super) fn decode(block: &[u8]) -> Result<Option<Superblock>, Error> {
        let version = word(block, 16);
        let frame = if version == FRAME_1.version { &FRAME_1 } else { &FRAME };
        let Some(name) = frame.decode(block)? else { return Ok(None) };
        let state = match word(block, 20) {
            1 => DeltaState::InUse,
            2 => DeltaState::Committing,
            3 => DeltaState::Clearing,
            other => return Err(corrupt(statement!(catalogue::STATE_UNKNOWN, state = other))),
        };
        let shape = Shape { block_bytes: word(block, 24), size_bytes: long(block, 32) };
        let sane = shape.block_bytes.is_power_of_two()
            && shape.block_bytes >= 512
            && shape.size_bytes.is_multiple_of(shape.block_bytes.into());
        if !sane || (shape.pages(), shape.data_offset()) != (long(block, 56), long(block, 64)) {
            return Err(corrupt(catalogue::SIZES_CONTRADICT));
        }
        Ok(Some(Superblock {
            version,
            state,
            shape,
            fingerprint: long(block, 40),
            generation: long(block, 48),
            name,
        }))
    }

    /// Whether the delta may lie over a device of this shape.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] with the field that differs.
    pub(super) fn check(&self, shape: Shape) -> Result<(), Error> {
        let refused = |what: Text| {
            let text = statement!(catalogue::DELTA_MADE_FOR, name = &self.name, what = what);
            Err(Error::new(ErrorKind::Refused, text))
        };
        if self.shape.size_bytes != shape.size_bytes {
            let (made, now) = (size_text(self.shape.size_bytes), size_text(shape.size_bytes));
            return refused(statement!(catalogue::OF_SIZE, made = made, now = now));
        }
        if self.shape.block_bytes != shape.block_bytes {
            let (made, now) = (self.shape.block_bytes, shape.block_bytes);
            return refused(statement!(catalogue::WITH_BLOCKS, made = made, now = now));
        }
        Ok(())
    }
}

/// What the bits of a page say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Which blocks are in the delta: a page of the index.
    Blocks = 0,
    /// Which pages of the index are not zero.
    Marks = 1,
}

/// Fills a page.
pub(super) fn encode_page(row: Row, generation: u64, number: u64, bits: &[u64], block: &mut [u8]) {
    block[4..8].copy_from_slice(&(row as u32).to_le_bytes());
    block[8..16].copy_from_slice(&generation.to_le_bytes());
    block[16..24].copy_from_slice(&number.to_le_bytes());
    for (place, bits) in block[PAGE_HEADER_BYTES..].chunks_mut(8).zip(bits) {
        place.copy_from_slice(&bits.to_le_bytes());
    }
    seal_page(block);
}

/// The bits of a page; `None` when it is all zero.
///
/// # Errors
/// [`ErrorKind::Corrupt`] with the page's number.
pub(super) fn decode_page(
    row: Row,
    generation: u64,
    number: u64,
    block: &[u8],
) -> Result<Option<Box<[u64]>>, Error> {
    if block.iter().all(|&byte| byte == 0) {
        return Ok(None);
    }
    let what = if !is_sealed(block) {
        catalogue::ITS_CHECKSUM
    } else if word(block, 4) != row as u32 {
        catalogue::ITS_KIND
    } else if long(block, 8) != generation {
        catalogue::ITS_GENERATION
    } else if long(block, 16) != number {
        catalogue::ITS_NUMBER
    } else {
        let bits = block[PAGE_HEADER_BYTES..]
            .chunks(8)
            .map(|bits| u64::from_le_bytes(bits.try_into().expect("eight bytes")));
        return Ok(Some(bits.collect()));
    };
    Err(damaged(row, number, what))
}

/// The error of a page that is not what was written.
pub(super) fn damaged(row: Row, number: u64, what: Message) -> Error {
    let message = match row {
        Row::Blocks => catalogue::INDEX_PAGE_DAMAGED,
        Row::Marks => catalogue::MARKS_PAGE_DAMAGED,
    };
    corrupt(statement!(message, number = number, what = what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> Superblock {
        Superblock {
            version: 2,
            state: DeltaState::Committing,
            shape: Shape { block_bytes: 512, size_bytes: 3 << 30 },
            fingerprint: 0x1234_5678_9abc_def0,
            generation: 7,
            name: "raid0(chunk=64KiB, file:a.img, file:b.img)".to_owned(),
        }
    }

    #[test]
    fn a_superblock_comes_back_from_where_the_table_says_it_lies() {
        let mut block = [0xff; 4096];
        superblock().encode(&mut block);
        assert_eq!(Superblock::decode(&block).expect("valid"), Some(superblock()));
        assert_eq!(&block[..16], b"raidloom overlay");
        assert_eq!((word(&block, 16), word(&block, 20), word(&block, 24)), (2, 2, 512));
        assert_eq!(
            (long(&block, 32), long(&block, 40), long(&block, 48)),
            (3 << 30, 0x1234_5678_9abc_def0, 7)
        );
        // 3 GiB are 6291456 blocks, 3904 to a page.
        assert_eq!((long(&block, 56), long(&block, 64)), (1612, 1 << 20));
        assert_eq!(&block[72..78], b"raid0(");
        assert!(block[512..].iter().all(|&byte| byte == 0));

        let old = Superblock { version: 1, ..superblock() };
        old.encode(&mut block);
        assert_eq!((Superblock::decode(&block).expect("valid"), word(&block, 16)), (Some(old), 1));
    }

    #[test]
    fn every_damaged_byte_of_a_superblock_is_noticed() {
        let mut block = [0; 512];
        superblock().encode(&mut block);
        for at in 0..512 {
            block[at] ^= 0x10;
            assert!(Superblock::decode(&block).is_err(), "byte {at}");
            block[at] ^= 0x10;
        }
        assert_eq!(Superblock::decode(&[0; 512]).expect("nothing there"), None);
    }

    #[test]
    fn a_long_name_is_cut_between_letters() {
        let mut block = [0; 512];
        Superblock { name: "ä".repeat(400), ..superblock() }.encode(&mut block);
        assert_eq!(
            Superblock::decode(&block).expect("valid").expect("there").name,
            "ä".repeat(218)
        );
    }

    #[test]
    fn every_damaged_byte_of_a_page_is_noticed() {
        let bits: Vec<u64> = (0..61).map(|number| 0x0101_0101_0101_0101 * number).collect();
        let mut block = [0; 512];
        encode_page(Row::Blocks, 3, 9, &bits, &mut block);
        assert_eq!(
            decode_page(Row::Blocks, 3, 9, &block).expect("valid").expect("there")[..],
            bits[..]
        );
        assert_eq!(block[24 + 8], 1, "the second word begins behind the first");
        for at in 0..512 {
            block[at] ^= 0x80;
            assert!(decode_page(Row::Blocks, 3, 9, &block).is_err(), "byte {at}");
            block[at] ^= 0x80;
        }
        assert!(
            decode_page(Row::Marks, 3, 9, &block)
                .expect_err("of another kind")
                .to_string()
                .contains("kind")
        );
        assert!(
            decode_page(Row::Blocks, 4, 9, &block)
                .expect_err("of an earlier life")
                .to_string()
                .contains("generation")
        );
        assert!(
            decode_page(Row::Blocks, 3, 8, &block)
                .expect_err("of another place")
                .to_string()
                .contains("number")
        );
    }

    #[test]
    fn the_parts_of_a_delta_do_not_meet() {
        for block_bytes in [512, 4096, 65536] {
            for blocks in [1, 3903, 3904, 3905, 1 << 22, 1 << 36, 1 << 38] {
                let shape = Shape { block_bytes, size_bytes: blocks * u64::from(block_bytes) };
                assert!(shape.pages() * shape.blocks_per_page() >= blocks);
                assert!(shape.page_offset(shape.pages()) <= shape.data_offset());
                assert_eq!(shape.delta_bytes() - shape.data_offset(), shape.size_bytes + (1 << 20));
                let marks_end = shape.mark_page_offset(shape.mark_pages());
                assert!(
                    marks_end + (64 << 10) <= shape.delta_bytes(),
                    "the end of the delta stays free"
                );
                let marks = shape.mark_pages() * shape.blocks_per_page();
                assert!(marks * shape.pages_per_mark() >= shape.pages());
            }
        }
    }
}

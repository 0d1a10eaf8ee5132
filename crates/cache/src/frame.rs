//! What superblocks and pages of stores and deltas have in common as bytes; drawn in
//! `docs/formats`.
//!
//! ```text
//!   superblock   0 magic   16 version   20 …   NAME_AT name, zeroes   508 crc32c of all before   512
//!   page         0 crc32c of all behind   4 …
//! ```

use block::{Error, ErrorKind};
use words::{Message, Text, statement};

use crate::catalogue;

/// The superblock proper; the rest of its block is zero.
const SUPERBLOCK_BYTES: usize = 512;
const CHECKSUM_AT: usize = 508;

pub(crate) fn corrupt(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Corrupt, text)
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// One kind of superblock.
pub(crate) struct Frame {
    pub(crate) magic: &'static [u8; 16],
    pub(crate) version: u32,
    /// What it is called in a message, with its article.
    pub(crate) name: Message,
    /// Said when the magic is another.
    pub(crate) foreign: Message,
    /// Where the stack text of the device below stands. Numbers of 8 bytes stand between 32 and
    /// here.
    pub(crate) name_at: usize,
}

impl Frame {
    /// Fills a block: numbers of 4 bytes from 20 on, of 8 bytes from 32 on, and as much of the name
    /// as there is room for.
    pub(crate) fn encode(&self, words: &[u32], longs: &[u64], name: &str, block: &mut [u8]) {
        block.fill(0);
        block[..16].copy_from_slice(self.magic);
        block[16..20].copy_from_slice(&self.version.to_le_bytes());
        for (place, value) in block[20..32].chunks_mut(4).zip(words) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        for (place, value) in block[32..self.name_at].chunks_mut(8).zip(longs) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        let length = name.floor_char_boundary(CHECKSUM_AT - self.name_at);
        block[self.name_at..self.name_at + length].copy_from_slice(&name.as_bytes()[..length]);
        let checksum = crc32c::crc32c(&block[..CHECKSUM_AT]);
        block[CHECKSUM_AT..SUPERBLOCK_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }

    /// The name in a block whose frame is right; `None` when the block is all zero.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] for something else or another version, [`ErrorKind::Corrupt`] for a
    /// damaged one.
    pub(crate) fn decode(&self, block: &[u8]) -> Result<Option<String>, Error> {
        if block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        if block[..16] != *self.magic {
            return Err(Error::new(ErrorKind::Refused, self.foreign));
        }
        if word(block, CHECKSUM_AT) != crc32c::crc32c(&block[..CHECKSUM_AT]) {
            return Err(corrupt(catalogue::CHECKSUM_WRONG));
        }
        if word(block, 16) != self.version {
            let (found, known) = (word(block, 16), self.version);
            let message = catalogue::OTHER_CACHE_VERSION;
            let text = statement!(message, name = self.name, found = found, known = known);
            return Err(Error::new(ErrorKind::Refused, text));
        }
        Ok(Some(
            String::from_utf8_lossy(&block[self.name_at..CHECKSUM_AT])
                .trim_end_matches('\0')
                .to_owned(),
        ))
    }
}

/// Writes a page's checksum.
pub(crate) fn seal_page(page: &mut [u8]) {
    let checksum = crc32c::crc32c(&page[4..]);
    page[..4].copy_from_slice(&checksum.to_le_bytes());
}

/// Whether a page's checksum is right.
pub(crate) fn is_sealed(page: &[u8]) -> bool {
    word(page, 0) == crc32c::crc32c(&page[4..])
}

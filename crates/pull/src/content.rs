//! Content that says what it is: every sector of a file names run, file, version, block and itself,
//! so that whatever lies there instead is told apart.

use block::SECTOR_BYTES;
use reactor::{Random, derive_seed};
use serde::{Deserialize, Serialize};
use words::Text;

use crate::catalogue;

/// The unit of content in bytes.
pub const BLOCK_BYTES: usize = 4096;

const SECTOR: usize = SECTOR_BYTES as usize;
const MAGIC: u64 = u64::from_le_bytes(*b"rl-pull\n");

/// The file whose content lay on the disk before, was removed, and must not come to light.
pub const SECRET: u32 = u32::MAX;

/// What a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockName {
    /// The file's number.
    pub file: u32,
    /// Its version, from 1 on.
    pub version: u32,
    /// The block's place in the file.
    pub block: u32,
}

/// What lies in the place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockContent {
    /// A whole block.
    Whole(BlockName),
    /// Zeroes.
    Zero,
    /// Sectors of several versions of this block, or of one and zeroes.
    Torn,
    /// Anything else.
    Garbage,
}

/// How content that should not be there is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// There is no such file.
    Missing,
    /// It ends before.
    Short,
    /// An older version.
    Old,
    /// Parts of several versions.
    Torn,
    /// Zeroes.
    Zero,
    /// What lay on the disk before and was removed.
    Stale,
    /// A block of another file, or of another place.
    Foreign,
    /// None of these.
    Garbage,
    /// It should be gone.
    Present,
    /// The system gives an error for it.
    Unreadable,
}

impl Class {
    /// In words.
    #[must_use]
    pub fn text(self) -> Text {
        Text::from(match self {
            Class::Missing => catalogue::IS_MISSING,
            Class::Short => catalogue::IS_SHORT,
            Class::Old => catalogue::IS_OLD,
            Class::Torn => catalogue::IS_TORN,
            Class::Zero => catalogue::IS_ZERO,
            Class::Stale => catalogue::IS_STALE,
            Class::Foreign => catalogue::IS_FOREIGN,
            Class::Garbage => catalogue::IS_GARBAGE,
            Class::Present => catalogue::IS_PRESENT,
            Class::Unreadable => catalogue::IS_UNREADABLE,
        })
    }
}

fn sector(run: u64, name: BlockName, number: u32) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    let BlockName { file, version, block } = name;
    let seed = derive_seed(run, "content", u64::from(file) << 32 | u64::from(version));
    let place = u64::from(block) << 8 | u64::from(number);
    Random::with_seed(derive_seed(seed, "sector", place)).fill(&mut bytes[32..]);
    bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8..16].copy_from_slice(&run.to_le_bytes());
    for (at, number) in [file, version, block, number].into_iter().enumerate() {
        bytes[16 + 4 * at..20 + 4 * at].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// The content of a block.
#[must_use]
pub fn block(run: u64, name: BlockName) -> [u8; BLOCK_BYTES] {
    let mut bytes = [0; BLOCK_BYTES];
    for (number, target) in (0..).zip(bytes.chunks_mut(SECTOR)) {
        target.copy_from_slice(&sector(run, name, number));
    }
    bytes
}

/// What these bytes are, which lie in the place of block `place` of file `file`.
#[must_use]
pub fn identify(run: u64, file: u32, place: u32, bytes: &[u8]) -> BlockContent {
    let names: Vec<Option<BlockName>> =
        (0..).zip(bytes.chunks(SECTOR)).map(|(number, bytes)| name(run, number, bytes)).collect();
    if bytes.iter().all(|&byte| byte == 0) {
        return BlockContent::Zero;
    }
    if let Some(&Some(first)) = names.first()
        && names.iter().all(|name| *name == Some(first))
        && bytes.len() == BLOCK_BYTES
    {
        return BlockContent::Whole(first);
    }
    let is_own = |(name, bytes): (&Option<BlockName>, &[u8])| match name {
        Some(name) => name.file == file && name.block == place,
        None => bytes.iter().all(|&byte| byte == 0),
    };
    if names.iter().zip(bytes.chunks(SECTOR)).all(is_own) {
        return BlockContent::Torn;
    }
    // A part of the secret is as bad as all of it.
    match names.into_iter().flatten().find(|name| name.file == SECRET) {
        Some(secret) => BlockContent::Whole(secret),
        None => BlockContent::Garbage,
    }
}

fn name(run: u64, number: u32, bytes: &[u8]) -> Option<BlockName> {
    if bytes.len() < SECTOR || bytes[..8] != MAGIC.to_le_bytes() {
        return None;
    }
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let name = BlockName { file: word(16), version: word(20), block: word(24) };
    // The secret is known by its head: it may come from any run.
    let is_whole = word(28) == number && *bytes == sector(run, name, number);
    is_whole.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_content_is_told_apart() {
        let named = |file, version, place| BlockName { file, version, block: place };
        let right = block(5, named(3, 2, 7));
        assert_eq!(identify(5, 3, 7, &right), BlockContent::Whole(named(3, 2, 7)));
        assert_eq!(identify(6, 3, 7, &right), BlockContent::Garbage, "of another run");
        assert_eq!(identify(5, 3, 7, &[0; BLOCK_BYTES]), BlockContent::Zero);
        let mut torn = right;
        torn[1024..].copy_from_slice(&block(5, named(3, 1, 7))[1024..]);
        assert_eq!(identify(5, 3, 7, &torn), BlockContent::Torn);
        torn[1024..].fill(0);
        assert_eq!(identify(5, 3, 7, &torn), BlockContent::Torn);
        let mut damaged = right;
        damaged[4000] ^= 1;
        assert_eq!(identify(5, 3, 7, &damaged), BlockContent::Garbage);
        let mut secret = right;
        secret[512..1024].copy_from_slice(&block(5, named(SECRET, 1, 9))[512..1024]);
        assert!(matches!(
            identify(5, 3, 7, &secret),
            BlockContent::Whole(BlockName { file: SECRET, .. }) | BlockContent::Garbage
        ));
        let moved = block(5, named(SECRET, 1, 9));
        assert_eq!(identify(5, 3, 7, &moved), BlockContent::Whole(named(SECRET, 1, 9)));
        assert_eq!(identify(5, 3, 7, &right[..700]), BlockContent::Garbage);
    }
}

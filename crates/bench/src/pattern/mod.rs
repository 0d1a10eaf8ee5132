//! Data that says where it belongs: neither compressible nor dedupable, and every sector names its
//! own offset, seed and generation.
//!
//! ```text
//! a sector of 512 bytes = 64 little-endian words
//!
//! word  0        1        2              3        4 ........................ 63
//!      +--------+--------+--------------+--------+----------------------------+
//!      | offset | seed   | generation   | check  | filler                     |
//!      | ^ mask | ^ mask | ^ mask       |        |                            |
//!      +--------+--------+--------------+--------+----------------------------+
//!       the masks come from `check`      from     from `check` and the word's
//!                                        the three number
//! ```
//!
//! * `check = mix(mix(mix(seed) + generation) + offset)`, with `mix` the finaliser of SplitMix64
//!   (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014; constants of
//!   Stafford's variant 13).
//! * mask `i` and filler word `i` are `mix(check + i * G)`, `G` the odd integer nearest to 2^64
//!   divided by the golden ratio: SplitMix64 counted from `check`.
//!
//! Of any sector found, `check` can be read, the masks taken off and `check` computed again: a
//! sector of ours proves itself without knowledge of what should have been there, and a wrong
//! one tells what it is instead. Masked, the offset and the seed look as random as the rest, so
//! that a compressor finds nothing to hold on to.

use std::fmt;

use words::{Text, statement};

use crate::catalogue;

/// Bytes that name themselves; every block is a multiple of it.
pub const SECTOR_BYTES: usize = 512;
const HEADER_WORDS: usize = 4;
const WORDS: usize = SECTOR_BYTES / 8;
/// A header this close to the right one, of 256 bits, is the right one damaged; two unrelated ones
/// differ in 128 +- 8.
const NEAR_BITS: u32 = 64;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[inline(always)]
pub(crate) fn word_at(check: u64, index: usize) -> u64 {
    mix(check.wrapping_add((index as u64 + 1).wrapping_mul(GOLDEN)))
}

/// What the sectors of one write have in common.
#[derive(Clone, Copy)]
struct Key {
    seed: u64,
    generation: u64,
    base: u64,
}

impl Key {
    fn new(seed: u64, generation: u64) -> Key {
        Key { seed, generation, base: mix(mix(seed).wrapping_add(generation)) }
    }

    #[inline(always)]
    fn check(self, offset: u64) -> u64 {
        mix(self.base.wrapping_add(offset))
    }

    #[inline(always)]
    fn header(self, offset: u64) -> [u64; HEADER_WORDS] {
        let check = self.check(offset);
        [
            offset ^ word_at(check, 0),
            self.seed ^ word_at(check, 1),
            self.generation ^ word_at(check, 2),
            check,
        ]
    }
}

/// What a sector says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Byte offset on the device it was written for.
    pub offset: u64,
    /// Seed of the data.
    pub seed: u64,
    /// Which write it came from; later writes have higher numbers.
    pub generation: u64,
}

impl Mark {
    /// Reads the mark of a sector, or `None` when it carries none of ours.
    ///
    /// # Panics
    /// When `sector` is shorter than the four words of a mark.
    #[must_use]
    pub fn of(sector: &[u8]) -> Option<Mark> {
        let [offset, seed, generation, check] = header_of(sector);
        let mark = Mark {
            offset: offset ^ word_at(check, 0),
            seed: seed ^ word_at(check, 1),
            generation: generation ^ word_at(check, 2),
        };
        (Key::new(mark.seed, mark.generation).check(mark.offset) == check).then_some(mark)
    }
}

#[inline(always)]
fn word_of(sector: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(sector[index * 8..index * 8 + 8].try_into().expect("eight bytes"))
}

#[inline(always)]
fn header_of(sector: &[u8]) -> [u64; HEADER_WORDS] {
    let bytes: &[u8; HEADER_WORDS * 8] =
        sector[..HEADER_WORDS * 8].try_into().expect("a sector is longer than its header");
    std::array::from_fn(|index| word_of(bytes, index))
}

/// Fills `buffer`, which belongs at `offset` of the device, with the pattern.
///
/// # Panics
/// When the length is not whole sectors of 512 bytes.
pub fn fill(buffer: &mut [u8], offset: u64, seed: u64, generation: u64) {
    let (sectors, rest) = buffer.as_chunks_mut::<SECTOR_BYTES>();
    assert!(rest.is_empty(), "the pattern comes in whole sectors of {SECTOR_BYTES} bytes");
    let key = Key::new(seed, generation);
    for (sector, offset) in sectors.iter_mut().zip((offset..).step_by(SECTOR_BYTES)) {
        let header = key.header(offset);
        let check = header[HEADER_WORDS - 1];
        let (words, _) = sector.as_chunks_mut::<8>();
        for (word, value) in words.iter_mut().zip(header) {
            *word = value.to_le_bytes();
        }
        for (index, word) in words.iter_mut().enumerate().skip(HEADER_WORDS) {
            *word = word_at(check, index).to_le_bytes();
        }
    }
}

/// Writes the mark alone, the first four words of a sector, and leaves the rest as it is: enough
/// for [`Mark::of`] to find.
///
/// # Panics
/// When `sector` is shorter than a mark.
pub fn mark(sector: &mut [u8], offset: u64, seed: u64, generation: u64) {
    let (words, _) = sector[..HEADER_WORDS * 8].as_chunks_mut::<8>();
    for (word, value) in words.iter_mut().zip(Key::new(seed, generation).header(offset)) {
        *word = value.to_le_bytes();
    }
}

/// What is wrong with a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing but zeroes: never written, or given back.
    Zeroes,
    /// The right place and seed, but an older write: the newer one was lost.
    Stale {
        /// Generation that was found.
        found: u64,
        /// Generation that should be there.
        expected: u64,
    },
    /// The right place and seed, but a later write than the last one expected.
    Newer {
        /// Generation that was found.
        found: u64,
        /// Generation that should be there.
        expected: u64,
    },
    /// Data that belong to another offset: a write or a read went to the wrong place.
    Misdirected {
        /// Offset the data were written for, in bytes.
        belongs_at: u64,
    },
    /// Data of another run.
    OtherSeed {
        /// Seed that was found.
        found: u64,
    },
    /// The write that should be here arrived only in part; `byte` counts from the start of the
    /// checked bytes.
    Torn {
        /// First byte where the two parts meet.
        byte: usize,
    },
    /// The right data with some bits changed.
    BitRot {
        /// First wrong byte of the sector.
        byte: usize,
        /// How many bits differ in what was looked at.
        bits: u32,
    },
    /// No mark of ours at all.
    Unrecognised,
}

/// Data that are not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Byte offset on the device of the first wrong sector.
    pub offset: u64,
    /// What is there instead.
    pub damage: Damage,
}

impl Damage {
    fn text(self) -> Text {
        match self {
            Damage::Zeroes => catalogue::ZEROES_INSTEAD.into(),
            Damage::Stale { found, expected } => {
                statement!(catalogue::OLDER_WRITE, found = found, expected = expected)
            }
            Damage::Newer { found, expected } => {
                statement!(catalogue::NEWER_WRITE, found = found, expected = expected)
            }
            Damage::Misdirected { belongs_at } => {
                statement!(catalogue::MISDIRECTED, belongs_at = belongs_at)
            }
            Damage::OtherSeed { found } => {
                statement!(catalogue::OF_ANOTHER_SEED, seed = format_args!("{found:#x}"))
            }
            Damage::Torn { byte } => statement!(catalogue::TORN_WRITE, byte = byte),
            Damage::BitRot { byte, bits } => {
                statement!(catalogue::BITS_CHANGED, bits = bits, byte = byte)
            }
            Damage::Unrecognised => catalogue::UNRECOGNISED.into(),
        }
    }
}

impl Mismatch {
    /// It in words.
    #[must_use]
    pub fn text(&self) -> Text {
        self.damage.text().at(statement!(catalogue::WRONG_DATA, offset = self.offset))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text())
    }
}

impl std::error::Error for Mismatch {}

/// Checks the marks, the first four words of every sector: a lost, misdirected or partly written
/// request is found, damage behind a sector's first 32 bytes is not.
///
/// # Errors
/// The first wrong sector and what is there instead.
///
/// # Panics
/// When the length is not whole sectors of 512 bytes.
pub fn check_words(buffer: &[u8], offset: u64, seed: u64, generation: u64) -> Result<(), Mismatch> {
    check(buffer, offset, Key::new(seed, generation), header_is_right)
}

/// Checks every byte.
///
/// # Errors
/// The first wrong sector and what is there instead.
///
/// # Panics
/// When the length is not whole sectors of 512 bytes.
pub fn check_full(buffer: &[u8], offset: u64, seed: u64, generation: u64) -> Result<(), Mismatch> {
    check(buffer, offset, Key::new(seed, generation), all_is_right)
}

/// Checks every byte of data that may end within a sector, as those of a file do.
///
/// # Errors
/// The first wrong sector and what is there instead.
pub fn check_file(buffer: &[u8], offset: u64, seed: u64, generation: u64) -> Result<(), Mismatch> {
    let (whole, rest) = buffer.split_at(buffer.len() - buffer.len() % SECTOR_BYTES);
    check_full(whole, offset, seed, generation)?;
    let at = offset + whole.len() as u64;
    let mut sector = [0; SECTOR_BYTES];
    fill(&mut sector, at, seed, generation);
    if sector[..rest.len()] == *rest {
        return Ok(());
    }
    // What is not there is taken as right, so that only what was found is explained.
    sector[..rest.len()].copy_from_slice(rest);
    check_full(&sector, at, seed, generation)
}

/// Whether every byte of a block is right whose first sector has a mark of its own ([`mark`]):
/// `expected`. What is behind the mark is the data of one [`fill`], whichever.
///
/// # Panics
/// When the block is not at least two whole sectors.
pub(crate) fn marked_block_is_right(block: &[u8], expected: Mark) -> bool {
    let (sectors, rest) = block.as_chunks::<SECTOR_BYTES>();
    assert!(rest.is_empty() && sectors.len() > 1, "a marked block is whole sectors");
    let Some(body) = Mark::of(&sectors[1]) else { return false };
    // The first sector's own mark was written over; the words behind it follow from what its
    // `check` had been.
    let check =
        Key::new(body.seed, body.generation).check(body.offset.wrapping_sub(SECTOR_BYTES as u64));
    let first = (HEADER_WORDS..WORDS)
        .fold(0, |wrong, index| wrong | (word_of(&sectors[0], index) ^ word_at(check, index)));
    let others = check_full(&block[SECTOR_BYTES..], body.offset, body.seed, body.generation);
    first == 0 && Mark::of(block) == Some(expected) && others.is_ok()
}

#[inline(always)]
fn header_is_right(sector: &[u8; SECTOR_BYTES], offset: u64, key: Key) -> bool {
    header_of(sector) == key.header(offset)
}

#[inline(always)]
fn all_is_right(sector: &[u8; SECTOR_BYTES], offset: u64, key: Key) -> bool {
    let check = key.check(offset);
    let (words, _) = sector.as_chunks::<8>();
    // Without an early exit: the loop is as fast as filling, and nearly all sectors are right.
    let wrong = words.iter().enumerate().skip(HEADER_WORDS).fold(0, |wrong, (index, word)| {
        wrong | (u64::from_le_bytes(*word) ^ word_at(check, index))
    });
    wrong == 0 && header_is_right(sector, offset, key)
}

#[inline(always)]
fn check(
    buffer: &[u8],
    offset: u64,
    key: Key,
    is_right: impl Fn(&[u8; SECTOR_BYTES], u64, Key) -> bool,
) -> Result<(), Mismatch> {
    let (sectors, rest) = buffer.as_chunks::<SECTOR_BYTES>();
    assert!(rest.is_empty(), "the pattern comes in whole sectors of {SECTOR_BYTES} bytes");
    for (index, sector) in sectors.iter().enumerate() {
        let sector_offset = offset + (index * SECTOR_BYTES) as u64;
        if !is_right(sector, sector_offset, key) {
            return Err(explain(sectors, offset, index, key));
        }
    }
    Ok(())
}

/// Says what is wrong with sector `index`, the first wrong one of a write that starts at `offset`.
#[cold]
fn explain(sectors: &[[u8; SECTOR_BYTES]], offset: u64, index: usize, key: Key) -> Mismatch {
    let sector_offset = offset + (index * SECTOR_BYTES) as u64;
    let mut damage = explain_sector(&sectors[index], sector_offset, key);
    match &mut damage {
        Damage::Torn { byte } => *byte += index * SECTOR_BYTES,
        // One write left some of its sectors and not the others: it is not lost as a whole.
        Damage::Stale { .. } | Damage::Zeroes | Damage::OtherSeed { .. } => {
            let right =
                |at: usize| header_is_right(&sectors[at], offset + (at * SECTOR_BYTES) as u64, key);
            let border =
                if index > 0 { Some(index) } else { (1..sectors.len()).find(|at| right(*at)) };
            if let Some(border) = border {
                damage = Damage::Torn { byte: border * SECTOR_BYTES };
            }
        }
        _ => (),
    }
    Mismatch { offset: sector_offset, damage }
}

fn explain_sector(sector: &[u8; SECTOR_BYTES], offset: u64, key: Key) -> Damage {
    let check = key.check(offset);
    let expected = key.header(offset);
    let difference: [u64; WORDS] = std::array::from_fn(|index| {
        let right = if index < HEADER_WORDS { expected[index] } else { word_at(check, index) };
        word_of(sector, index) ^ right
    });
    let bits = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
    let first_wrong = difference.iter().position(|word| *word != 0).unwrap_or(0);
    let end_of_wrong = difference.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    let wrong = &difference[first_wrong..end_of_wrong];
    // Unrelated words agree in about half their bits; a torn sector is right on one side of one
    // border and unrelated on the other.
    let unrelated = wrong.len() >= 2 && bits(wrong) >= 16 * wrong.len() as u32;
    if unrelated && first_wrong >= HEADER_WORDS && end_of_wrong == WORDS {
        return Damage::Torn { byte: first_wrong * 8 };
    }
    if unrelated && first_wrong == 0 && (HEADER_WORDS..WORDS - 1).contains(&end_of_wrong) {
        return Damage::Torn { byte: end_of_wrong * 8 };
    }
    if sector.iter().all(|byte| *byte == 0) {
        return Damage::Zeroes;
    }
    match Mark::of(sector) {
        Some(mark) if mark.seed != key.seed => Damage::OtherSeed { found: mark.seed },
        Some(mark) if mark.offset != offset => Damage::Misdirected { belongs_at: mark.offset },
        Some(mark) if mark.generation < key.generation => {
            Damage::Stale { found: mark.generation, expected: key.generation }
        }
        Some(mark) if mark.generation > key.generation => {
            Damage::Newer { found: mark.generation, expected: key.generation }
        }
        Some(_) => rot(&difference, first_wrong),
        None if bits(&difference[..HEADER_WORDS]) <= NEAR_BITS => rot(&difference, first_wrong),
        None => Damage::Unrecognised,
    }
}

fn rot(difference: &[u64; WORDS], first_wrong: usize) -> Damage {
    let byte = first_wrong * 8 + difference[first_wrong].trailing_zeros() as usize / 8;
    Damage::BitRot { byte, bits: difference.iter().map(|word| word.count_ones()).sum() }
}

#[cfg(test)]
mod tests;

//! Requests of many sizes, in shares, streams and places.

use std::fmt;

use block::{SECTOR_BYTES, size_text};
use reactor::Random;
use results::Group;
use words::{Text, statement};

use super::{Access, Bounds, Direction, Requests};
use crate::catalogue;

/// Most sizes or ranges of sizes that a load is made of.
const PARTS_MAX: usize = 8;
/// Longest request.
const LONGEST_BYTES: u64 = 16 << 20;

/// Sizes from the first to the last, in bytes, and how often they are drawn beside the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Part {
    least: u32,
    most: u32,
    weight: u32,
}

/// The sizes of requests: each part is drawn as often as its weight says, and within a part every
/// multiple of 512 bytes equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    parts: [Part; PARTS_MAX],
    count: usize,
}

impl Sizes {
    /// Reads `4KiB`, `512..64KiB` or `4KiB * 3, 64KiB`; sizes are whole sectors of 512 bytes, up to
    /// 16 MiB.
    ///
    /// # Errors
    /// What is wrong, and what is expected.
    pub fn read(text: &str) -> Result<Sizes, Text> {
        let mut sizes = Sizes { parts: [Part::default(); PARTS_MAX], count: 0 };
        for word in text.split(',') {
            let part = sizes.parts.get_mut(sizes.count).ok_or_else(|| {
                statement!(catalogue::TOO_MANY_SIZES, text = text, most = PARTS_MAX)
            })?;
            *part = Part::read(word.trim())?;
            sizes.count += 1;
        }
        Ok(sizes)
    }

    fn parts(&self) -> &[Part] {
        &self.parts[..self.count]
    }

    /// Whether some of them are no whole blocks of a device.
    #[must_use]
    pub fn are_rounded(&self, block_bytes: u32) -> bool {
        let is_whole = |part: &Part| {
            part.least.is_multiple_of(block_bytes)
                && (part.least == part.most || u64::from(block_bytes) <= SECTOR_BYTES)
        };
        !self.parts().iter().all(is_whole)
    }

    /// The smallest and the largest.
    #[must_use]
    pub fn bounds(&self) -> (u32, u32) {
        let parts = self.parts().iter();
        let least = parts.clone().map(|part| part.least).min();
        (least.unwrap_or(0), parts.map(|part| part.most).max().unwrap_or(0))
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let all: u32 = self.parts().iter().map(|part| part.weight).sum();
        let mut at = if self.count > 1 { random.u32(..all) } else { 0 };
        let part = self.parts().iter().find(|part| {
            let is_it = at < part.weight;
            at = at.saturating_sub(part.weight);
            is_it
        });
        let part = part.expect("weights are more than none");
        let sector = SECTOR_BYTES as u32;
        if part.least == part.most {
            return part.least;
        }
        random.u32(part.least / sector..=part.most / sector) * sector
    }
}

impl Part {
    fn read(word: &str) -> Result<Part, Text> {
        let (range, weight) = match word.split_once('*') {
            Some((range, weight)) => (range.trim(), weight.trim()),
            None => (word, "1"),
        };
        let weight = weight
            .parse()
            .ok()
            .filter(|weight| (1..=1000).contains(weight))
            .ok_or_else(|| statement!(catalogue::SIZE_WEIGHT, word = word))?;
        let (least, most) = range.split_once("..").unwrap_or((range, range));
        let (least, most) = (size(least.trim())?, size(most.trim())?);
        if least > most {
            return Err(statement!(catalogue::SMALLER_FIRST, word = word));
        }
        Ok(Part { least, most, weight })
    }
}

/// A size as `4KiB`, `1MiB` or a number of bytes.
fn size(text: &str) -> Result<u32, Text> {
    let expected = || statement!(catalogue::LOAD_SIZE, text = text);
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("B", 1), ("", 1)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1));
    let bytes = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    let bytes = bytes.filter(|bytes| (1..=LONGEST_BYTES).contains(bytes));
    let bytes = bytes.filter(|bytes| bytes.is_multiple_of(SECTOR_BYTES));
    bytes.and_then(|bytes| u32::try_from(bytes).ok()).ok_or_else(expected)
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts().iter().enumerate() {
            let size = |bytes| size_text(u64::from(bytes));
            f.write_str(if index == 0 { "" } else { ", " })?;
            f.write_str(&size(part.least))?;
            if part.most > part.least {
                write!(f, "..{}", size(part.most))?;
            }
            if self.count > 1 {
                write!(f, " * {}", part.weight)?;
            }
        }
        Ok(())
    }
}

/// Where requests go that do not follow another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Places {
    /// Everywhere equally often.
    Uniform,
    /// A part of the requests goes to the beginning.
    Hot {
        /// How many of 100 requests.
        requests: u32,
        /// To how many of 100 bytes.
        bytes: u32,
    },
    /// The piece of rank k is drawn as often as 1 / k to a power; ranks are dealt to pieces as by
    /// chance.
    Zipf {
        /// That power, in hundredths.
        hundredths: u32,
    },
}

impl Places {
    /// Reads `uniform`, `hot 80:20` (80 % of requests to 20 % of the bytes) or `zipf 0.9`.
    ///
    /// # Errors
    /// What is wrong, and what is expected.
    pub fn read(text: &str) -> Result<Places, Text> {
        let expected = || statement!(catalogue::LOAD_PLACES, text = text);
        let mut words = text.split_whitespace();
        let places = match (words.next(), words.next(), words.next()) {
            (Some("uniform"), None, None) => Some(Places::Uniform),
            (Some("hot"), Some(shares), None) => shares.split_once(':').and_then(|(one, other)| {
                let share = |text: &str| text.parse().ok().filter(|share| (1..100).contains(share));
                Some(Places::Hot { requests: share(one)?, bytes: share(other)? })
            }),
            (Some("zipf"), Some(exponent), None) => {
                let exponent = exponent.parse::<f64>().ok().map(|exponent| exponent * 100.0);
                let exponent = exponent.filter(|exponent| (1.0..=200.0).contains(exponent));
                exponent.map(|exponent| Places::Zipf { hundredths: exponent.round() as u32 })
            }
            _ => None,
        };
        places.ok_or_else(expected)
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Places::Uniform => f.write_str("uniform"),
            Places::Hot { requests, bytes } => write!(f, "hot {requests}:{bytes}"),
            Places::Zipf { hundredths } => write!(f, "zipf {}", f64::from(*hundredths) / 100.0),
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mixture {
    /// How long requests are.
    pub sizes: Sizes,
    /// How many of 100 requests read.
    pub read_percent: u32,
    /// How many of 100 requests go on where a stream is.
    pub sequential_percent: u32,
    /// How many streams there are; each begins in a part of its own.
    pub streams: u32,
    /// Where the others go.
    pub places: Places,
    /// Their places are multiples of so many bytes.
    pub align_bytes: u32,
}

impl Mixture {
    /// Requests in the first `size_bytes` of a device with blocks of `block_bytes`.
    ///
    /// # Panics
    /// When the longest request does not fit into the part of a stream.
    #[must_use]
    pub fn requests(&self, size_bytes: u64, block_bytes: u32, seed: u64) -> MixtureRequests {
        let part = size_bytes / u64::from(self.streams);
        let part = part - part % u64::from(block_bytes);
        let longest = self.sizes.bounds().1.next_multiple_of(block_bytes);
        assert!(u64::from(longest) <= part, "a stream has {part} bytes, a request {longest}");
        let align = u64::from(self.align_bytes.next_multiple_of(block_bytes));
        let pieces = size_bytes.div_ceil(PIECE_BYTES);
        MixtureRequests {
            mixture: *self,
            block_bytes,
            size_bytes,
            align,
            part,
            next: (0..u64::from(self.streams)).map(|stream| stream * part).collect(),
            zipf: match self.places {
                Places::Zipf { hundredths } => {
                    Some(Zipf::new(pieces, f64::from(hundredths) / 100.0))
                }
                _ => None,
            },
            random: Random::with_seed(seed),
        }
    }

    /// Whether any of them reads.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.read_percent > 0
    }

    /// Whether any of them writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// The kind of access that it is.
    #[must_use]
    pub fn group(&self) -> Group {
        match (self.sequential_percent, self.reads() && self.writes()) {
            (100, false) => Group::Sequential,
            (0, false) => Group::Random,
            _ => Group::Mixed,
        }
    }
}

/// The requests of a mixture, one after the other.
pub struct MixtureRequests {
    mixture: Mixture,
    block_bytes: u32,
    size_bytes: u64,
    align: u64,
    /// Bytes of a stream's part.
    part: u64,
    /// Where each stream is.
    next: Vec<u64>,
    zipf: Option<Zipf>,
    random: Random,
}

impl MixtureRequests {
    fn is(&mut self, percent: u32) -> bool {
        match percent {
            0 => false,
            100.. => true,
            percent => self.random.u32(..100) < percent,
        }
    }

    fn in_stream(&mut self, length: u32) -> u64 {
        let count = self.next.len();
        let index = if count > 1 { self.random.usize(..count) } else { 0 };
        let start = index as u64 * self.part;
        let next = &mut self.next[index];
        if *next + u64::from(length) > start + self.part {
            *next = start;
        }
        let offset = *next;
        *next += u64::from(length);
        offset
    }

    /// A place at which a request of this length fits.
    fn placed(&mut self, length: u32) -> u64 {
        let places = (self.size_bytes - u64::from(length)) / self.align + 1;
        let place = match (self.mixture.places, &self.zipf) {
            (Places::Hot { requests, bytes }, _) => {
                let hot = (places * u64::from(bytes) / 100).max(1);
                if self.random.u32(..100) < requests || hot == places {
                    self.random.u64(..hot)
                } else {
                    self.random.u64(hot..places)
                }
            }
            (Places::Zipf { .. }, Some(zipf)) => {
                let piece = zipf.draw(&mut self.random) * PIECE_BYTES;
                let inside = self.random.u64(..(PIECE_BYTES / self.align).max(1));
                (piece / self.align + inside).min(places - 1)
            }
            _ => self.random.u64(..places),
        };
        place * self.align
    }
}

impl Requests for MixtureRequests {
    fn bounds(&self) -> Bounds {
        Bounds {
            reads: self.mixture.reads(),
            writes: self.mixture.writes(),
            longest_bytes: self.mixture.sizes.bounds().1.next_multiple_of(self.block_bytes),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Access> {
        let direction = match self.is(self.mixture.read_percent) {
            true => Direction::Read,
            false => Direction::Write,
        };
        let length = self.mixture.sizes.draw(&mut self.random).next_multiple_of(self.block_bytes);
        let offset = match self.is(self.mixture.sequential_percent) {
            true => self.in_stream(length),
            false => self.placed(length),
        };
        Some(Access { direction, offset, length })
    }
}

/// What has a rank of its own under [`Places::Zipf`].
const PIECE_BYTES: u64 = 1 << 20;

/// Ranks by Zipf's law, dealt to pieces by a fixed permutation of their numbers.
///
/// The law is inverted from a table of sums: a device of 10 TB has ten million pieces, 80 MB.
struct Zipf {
    sums: Vec<f64>,
    stride: u64,
}

impl Zipf {
    fn new(pieces: u64, exponent: f64) -> Zipf {
        let mut sum = 0.0;
        let sums = (1..=pieces).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        // Coprime to the number of pieces, near the golden section of it: neighbours in rank lie
        // far apart.
        let golden = (pieces as f64 * 0.618_033_988_75) as u64;
        let stride = (golden.max(1)..).find(|stride| gcd(*stride, pieces) == 1).unwrap_or(1);
        Zipf { sums: sums.collect(), stride }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let all = self.sums.last().copied().unwrap_or(1.0);
        let at = random.f64() * all;
        let rank = self.sums.partition_point(|sum| *sum <= at) as u64;
        let pieces = self.sums.len() as u64;
        (u128::from(rank.min(pieces - 1)) * u128::from(self.stride) % u128::from(pieces)) as u64
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixture() -> Mixture {
        Mixture {
            sizes: Sizes::read("4KiB").unwrap(),
            read_percent: 100,
            sequential_percent: 0,
            streams: 1,
            places: Places::Uniform,
            align_bytes: 4096,
        }
    }

    fn drawn(mixture: &Mixture, size_bytes: u64, count: usize) -> Vec<Access> {
        let mut requests = mixture.requests(size_bytes, 512, 7);
        (0..count).map(|_| requests.next().unwrap()).collect()
    }

    #[test]
    fn sizes_are_read_and_said_again() {
        for (text, said) in [
            ("4096", "4KiB"),
            ("512..64KiB", "512..64KiB"),
            ("4KiB*3,64KiB", "4KiB * 3, 64KiB * 1"),
            ("512 .. 1024 * 2, 16MiB", "512..1KiB * 2, 16MiB * 1"),
        ] {
            assert_eq!(Sizes::read(text).unwrap().to_string(), said);
        }
        for wrong in [
            "",
            "4K",
            "0",
            "100",
            "17MiB",
            "8KiB..4KiB",
            "4KiB * 0",
            "4KiB * 1001",
            "4KiB *",
            "4KiB,",
            "-4KiB",
            "99999999999999999999MiB",
            "1,2,3,4,5,6,7,8,9",
        ] {
            assert!(Sizes::read(wrong).is_err(), "{wrong}");
        }
    }

    /// "Sizes rounded" is said where one is, and nowhere else.
    #[test]
    fn sizes_of_whole_blocks_are_not_rounded() {
        for (text, block_bytes, is) in [
            ("4KiB", 512, false),
            ("512..64KiB", 512, false),
            ("4KiB, 64KiB", 4096, false),
            ("512", 4096, true),
            ("4KiB * 9, 6KiB", 4096, true),
            ("4KiB..64KiB", 4096, true),
        ] {
            let sizes = Sizes::read(text).unwrap();
            assert_eq!(sizes.are_rounded(block_bytes), is, "{text} on blocks of {block_bytes}");
        }
    }

    #[test]
    fn places_are_read_and_said_again() {
        for text in ["uniform", "hot 80:20", "zipf 0.9", "zipf 2"] {
            assert_eq!(Places::read(text).unwrap().to_string(), text);
        }
        for wrong in
            ["", "uniform 1", "hot", "hot 80", "hot 0:20", "hot 80:100", "zipf", "zipf 3", "zipf x"]
        {
            assert!(Places::read(wrong).is_err(), "{wrong}");
        }
    }

    /// Shares within four standard deviations of what was asked for, and everything inside.
    #[test]
    fn shares_are_those_that_were_asked_for() {
        const COUNT: usize = 40_000;
        const SIZE: u64 = 1 << 30;
        let near = |found: usize, share: f64| {
            let expected = share * COUNT as f64;
            let deviation = (expected * (1.0 - share)).sqrt();
            assert!((found as f64 - expected).abs() <= 4.0 * deviation, "{found} for {expected}");
        };
        let mixed = Mixture {
            sizes: Sizes::read("4KiB * 3, 8KiB..64KiB").unwrap(),
            read_percent: 70,
            ..mixture()
        };
        let all = drawn(&mixed, SIZE, COUNT);
        near(all.iter().filter(|access| access.direction == Direction::Read).count(), 0.7);
        near(all.iter().filter(|access| access.length == 4096).count(), 0.75);
        for access in &all {
            assert!(access.offset + u64::from(access.length) <= SIZE);
            assert!(access.offset.is_multiple_of(4096) && access.length.is_multiple_of(512));
        }
        let hot = Mixture { places: Places::read("hot 80:20").unwrap(), ..mixture() };
        let all = drawn(&hot, SIZE, COUNT);
        near(all.iter().filter(|access| access.offset < SIZE / 5).count(), 0.8);
        let half = Mixture { sequential_percent: 50, ..mixture() };
        let all = drawn(&half, 1 << 40, COUNT);
        // In a tebibyte chance goes on where the stream is as good as never.
        near(all.iter().filter(|access| access.offset < 4096 * COUNT as u64).count(), 0.5);
    }

    #[test]
    fn streams_ascend_in_parts_of_their_own_and_begin_again() {
        let streams = Mixture {
            sizes: Sizes::read("64KiB").unwrap(),
            sequential_percent: 100,
            streams: 4,
            ..mixture()
        };
        const PART: u64 = 1 << 20;
        let mut next = [0, PART, 2 * PART, 3 * PART];
        for access in drawn(&streams, 4 * PART, 1000) {
            let stream = (access.offset / PART) as usize;
            assert_eq!(access.offset, next[stream]);
            next[stream] += 65536;
            if next[stream] == (stream as u64 + 1) * PART {
                next[stream] = stream as u64 * PART;
            }
        }
    }

    /// The most frequent pieces have the law's shares, and lie apart.
    #[test]
    fn zipf_is_the_law() {
        const PIECES: u64 = 1000;
        let zipf = Mixture { places: Places::read("zipf 1").unwrap(), ..mixture() };
        let mut counts = vec![0_u32; PIECES as usize];
        const COUNT: usize = 200_000;
        for access in drawn(&zipf, PIECES << 20, COUNT) {
            counts[(access.offset >> 20) as usize] += 1;
        }
        let law: f64 = (1..=PIECES).map(|rank| 1.0 / rank as f64).sum();
        let mut ranked: Vec<(u32, usize)> =
            counts.iter().enumerate().map(|(piece, count)| (*count, piece)).collect();
        ranked.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        for (rank, (count, _)) in ranked.iter().take(5).enumerate() {
            let expected = COUNT as f64 / (rank + 1) as f64 / law;
            let off = (f64::from(*count) - expected).abs() / expected;
            assert!(off < 0.05, "rank {}: {count} for {expected:.0}", rank + 1);
        }
        assert!(ranked[0].1.abs_diff(ranked[1].1) > 100, "neighbours in rank lie apart");
    }
}

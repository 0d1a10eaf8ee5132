//! Which parts of a device were asked for, in bounded memory.
//!
//! ```text
//!   region of 1 MiB   256 bits each: read, written, asked for in this window
//!   too many regions  every second one is forgotten for good, by its hash: the rest stands for all
//! ```

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The unit that is counted, in bytes.
const UNIT_BYTES: u64 = 4096;
const UNITS: u64 = 256;
const REGION_BYTES: u64 = UNITS * UNIT_BYTES;
/// The most regions that are kept: each takes about 120 bytes.
const REGIONS_MAX: usize = 800_000;

type Bits = [u64; 4];

#[derive(Default)]
struct Region {
    read: Bits,
    written: Bits,
    window: Bits,
    /// Of which window `window` is.
    number: u64,
}

/// Numbers of regions are spread by one multiplication.
#[derive(Default)]
struct RegionHasher(u64);

fn spread(number: u64) -> u64 {
    let number = (number ^ (number >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number ^ (number >> 29)
}

impl Hasher for RegionHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = spread(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = spread(number);
    }
}

/// What was asked for so far.
#[derive(Default)]
pub(crate) struct TouchedSpace {
    regions: HashMap<u64, Region, BuildHasherDefault<RegionHasher>>,
    /// Of regions only those count whose hash has so many zeroes at the end.
    skipped_bits: u32,
    window: u64,
    window_units: u64,
}

/// Bits from one unit to another, without the latter.
fn bits(from: u64, to: u64) -> Bits {
    let mut bits = [0; 4];
    for (word, bits) in bits.iter_mut().enumerate() {
        let begin = word as u64 * 64;
        let (from, to) =
            (from.clamp(begin, begin + 64) - begin, to.clamp(begin, begin + 64) - begin);
        if from < to {
            *bits = (u64::MAX >> (64 - (to - from))) << from;
        }
    }
    bits
}

impl TouchedSpace {
    fn counts(&self, region: u64) -> bool {
        // Other bits than those by which the map finds its place.
        spread(!region).trailing_zeros() >= self.skipped_bits
    }

    /// A request, at least one byte long.
    pub(crate) fn touch(&mut self, offset: u64, length: u64, writes: bool) {
        let end = offset + length;
        for number in offset / REGION_BYTES..=(end - 1) / REGION_BYTES {
            if !self.counts(number) {
                continue;
            }
            let begin = number * REGION_BYTES;
            let from = offset.max(begin) - begin;
            let to = end.min(begin.saturating_add(REGION_BYTES)) - begin;
            let new = bits(from / UNIT_BYTES, to.div_ceil(UNIT_BYTES));
            let window = self.window;
            let region = self.regions.entry(number).or_default();
            if region.number != window {
                (region.number, region.window) = (window, [0; 4]);
            }
            let all = if writes { &mut region.written } else { &mut region.read };
            for word in 0..4 {
                all[word] |= new[word];
                let fresh = new[word] & !region.window[word];
                self.window_units += u64::from(fresh.count_ones());
                region.window[word] |= fresh;
            }
            if self.regions.len() > REGIONS_MAX {
                self.skipped_bits += 1;
                let bits = self.skipped_bits;
                self.regions.retain(|number, _| spread(!number).trailing_zeros() >= bits);
                // What was counted of this window holds half of what it did.
                self.window_units /= 2;
            }
        }
    }

    /// Which part of the regions is counted: 1 of so many.
    pub(crate) fn counted_part(&self) -> u64 {
        1 << self.skipped_bits
    }

    /// Different bytes that were read, written, and either.
    pub(crate) fn bytes(&self) -> [u64; 3] {
        let mut units = [0_u64; 3];
        for region in self.regions.values() {
            for word in 0..4 {
                let (read, written) = (region.read[word], region.written[word]);
                for (sum, bits) in units.iter_mut().zip([read, written, read | written]) {
                    *sum += u64::from(bits.count_ones());
                }
            }
        }
        units.map(|units| units * UNIT_BYTES * self.counted_part())
    }

    /// Different bytes of the window, and begins the next.
    pub(crate) fn take_window(&mut self) -> u64 {
        self.window += 1;
        std::mem::take(&mut self.window_units) * UNIT_BYTES * self.counted_part()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_once_and_windows_by_themselves() {
        let mut touched = TouchedSpace::default();
        touched.touch(0, 4096, false);
        touched.touch(2048, 4096, true);
        touched.touch((1 << 20) - 4096, 8192, true);
        assert_eq!(touched.bytes(), [4096, 16384, 16384]);
        assert_eq!(touched.take_window(), 16384);
        touched.touch(0, 512, false);
        assert_eq!((touched.take_window(), touched.take_window()), (4096, 0));
        assert_eq!(touched.bytes(), [4096, 16384, 16384]);
        touched.touch(u64::MAX - 4096, 4096, true);
        assert_eq!(touched.bytes()[1], 16384 + 8192);
    }

    #[test]
    fn more_regions_than_fit_are_estimated() {
        let mut touched = TouchedSpace::default();
        let regions = 3 * REGIONS_MAX as u64;
        for number in 0..regions {
            touched.touch(number * REGION_BYTES, 8192, true);
            assert!(touched.regions.len() <= REGIONS_MAX);
        }
        let [_, written, all] = touched.bytes();
        let error = written as f64 / (regions * 8192) as f64 - 1.0;
        assert!(touched.counted_part() == 4 && written == all && error.abs() < 0.02, "{error}");
    }
}

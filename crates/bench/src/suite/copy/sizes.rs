//! How large the files are: drawn log-uniformly, the same sequence in every run.
//!
//! ```text
//!   size of file i = 1 KiB * 283 ^ u(i)        u(i) = word i of SplitMix64 from a fixed seed, as a number in [0, 1)
//! ```
//!
//! As many files are small as are large on a scale of ratios, from 1 KiB to 283 KiB, 51 kB on
//! average. The bounds and the seed are chosen so that 3,879,731,200 bytes are 75,977 files and
//! 314,572,800 bytes are 6,138, the two amounts that published measurements of many small files
//! used; the last file is cut so that the bytes are exact.

use crate::pattern::word_at;

const MIN_BYTES: f64 = 1024.0;
const MAX_BYTES: f64 = 283.0 * 1024.0;
const SEED: u64 = 587_218;

/// A file's size as drawn, in bytes.
fn drawn(index: usize) -> u64 {
    let unit = (word_at(SEED, index) >> 11) as f64 / (1_u64 << 53) as f64;
    (MIN_BYTES * (unit * (MAX_BYTES / MIN_BYTES).log2()).exp2()) as u64
}

/// Sizes of all files: as many as it takes, or `files` of them with the drawn sizes scaled to fit.
pub(super) fn sizes(bytes: u64, files: u64) -> Vec<u64> {
    if files > 0 {
        return scaled(bytes, usize::try_from(files).expect("files are counted in memory"));
    }
    let mut sizes = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let size = drawn(sizes.len()).min(left);
        sizes.push(size);
        left -= size;
    }
    sizes
}

fn scaled(bytes: u64, files: usize) -> Vec<u64> {
    let drawn: Vec<u64> = (0..files).map(drawn).collect();
    let sum: u128 = drawn.iter().copied().map(u128::from).sum();
    // Each ends where its share of all bytes ends, so that nothing is lost in rounding.
    let mut so_far = 0_u128;
    let mut last_end = 0;
    let share = |size: u64| {
        so_far += u128::from(size);
        let end = u64::try_from(so_far * u128::from(bytes) / sum)
            .expect("no share is larger than the whole");
        let size = end - last_end;
        last_end = end;
        size
    };
    drawn.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "whose default gives 75,977 files for 3,879,731,200 bytes and 6,138 for 314,572,800"
    #[test]
    fn the_published_amounts_are_the_published_numbers_of_files() {
        for (bytes, files) in [(3_879_731_200, 75_977), (314_572_800, 6_138)] {
            let sizes = sizes(bytes, 0);
            assert_eq!(sizes.len(), files);
            assert_eq!(sizes.iter().sum::<u64>(), bytes);
            assert!(sizes[..files - 1].iter().all(|size| (1024..=283 * 1024).contains(size)));
        }
    }

    #[test]
    fn a_number_of_files_shares_the_bytes_exactly() {
        for (bytes, files) in [(1_000_000, 7), (10, 3), (1 << 30, 1000), (5, 1)] {
            let sizes = sizes(bytes, files);
            assert_eq!((sizes.len() as u64, sizes.iter().sum::<u64>()), (files, bytes));
        }
    }
}

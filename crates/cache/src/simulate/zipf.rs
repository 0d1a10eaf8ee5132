//! A workload to try caches with: blocks asked for by Zipf's law, and scans in between.
//!
//! The `n`-th most wanted of `blocks` blocks is asked for with a probability proportional to
//! `1 / n^alpha`; where it lies has nothing to do with that. Scans read blocks behind those, one
//! after the other, and come back to the first only when all of them have been read.

use block::SECTOR_BYTES;
use reactor::{Random, derive_seed};

use super::{Access, AccessKind};

/// What the workload is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZipfOptions {
    /// How uneven: 0 is even, real ones have 0.6 to 1.2.
    pub alpha: f64,
    /// How many different blocks, without those of the scans.
    pub blocks: u64,
    /// How many accesses, with those of the scans.
    pub accesses: u64,
    /// Which part of the accesses are scans: 0 to 1.
    pub scan: f64,
    /// How many blocks a scan reads, one after the other.
    pub scan_blocks: u64,
    /// Length of an access, in bytes.
    pub block_bytes: u64,
    /// Equal seeds give equal workloads.
    pub seed: u64,
}

impl Default for ZipfOptions {
    fn default() -> ZipfOptions {
        ZipfOptions {
            alpha: 1.0,
            blocks: 100_000,
            accesses: 1_000_000,
            scan: 0.0,
            scan_blocks: 10_000,
            block_bytes: 4096,
            seed: 1,
        }
    }
}

/// How many times as many blocks scans read before they begin again.
const SCANNED_PER_BLOCK: u64 = 10;

/// The accesses, all of them reads.
#[must_use]
pub fn zipf(options: &ZipfOptions) -> Vec<Access> {
    let ZipfOptions { alpha, blocks, accesses, scan, scan_blocks, block_bytes, seed } = *options;
    debug_assert!(block_bytes >= SECTOR_BYTES && blocks > 0 && scan_blocks > 0);
    let mut random = Random::with_seed(derive_seed(seed, "zipf", 0));
    let mut places: Vec<u64> = (0..blocks).collect();
    random.shuffle(&mut places);
    let mut sum = 0.0;
    let cumulated: Vec<f64> = (1..=blocks)
        .map(|rank| {
            sum += (rank as f64).powf(-alpha);
            sum
        })
        .collect();
    // So that scans, each of several accesses, come to their part of all.
    let scan_begins =
        if scan >= 1.0 { 1.0 } else { scan / (scan + (1.0 - scan) * scan_blocks as f64) };
    let mut scanned = 0;
    let mut all = Vec::with_capacity(accesses as usize);
    let read = |block: u64| Access {
        kind: AccessKind::Read,
        offset: block * block_bytes,
        length: block_bytes,
    };
    while (all.len() as u64) < accesses {
        if scan > 0.0 && random.f64() < scan_begins {
            for _ in 0..scan_blocks.min(accesses - all.len() as u64) {
                all.push(read(blocks + scanned));
                scanned = (scanned + 1) % (SCANNED_PER_BLOCK * blocks);
            }
        } else {
            let drawn = random.f64() * sum;
            let rank = cumulated.partition_point(|&sum| sum <= drawn).min(places.len() - 1);
            all.push(read(places[rank]));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        let options =
            ZipfOptions { alpha: 0.9, blocks: 1000, accesses: 200_000, ..ZipfOptions::default() };
        let mut counts = vec![0_u64; 1000];
        zipf(&options).iter().for_each(|access| counts[(access.offset / 4096) as usize] += 1);
        counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        let sum: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.9)).sum();
        for rank in [1, 2, 5, 20, 100] {
            let expected = 200_000.0 * f64::from(rank).powf(-0.9) / sum;
            let found = counts[rank as usize - 1] as f64;
            assert!(
                (found - expected).abs() < 5.0 * expected.sqrt(),
                "rank {rank}: {found} instead of {expected}"
            );
        }
    }

    #[test]
    fn scans_have_their_part_and_read_every_block_once() {
        let options = ZipfOptions {
            blocks: 10_000,
            accesses: 100_000,
            scan: 0.3,
            scan_blocks: 500,
            ..ZipfOptions::default()
        };
        let accesses = zipf(&options);
        assert_eq!(accesses.len(), 100_000);
        assert_eq!(accesses, zipf(&options), "the same seed");
        let scanned: Vec<u64> = accesses
            .iter()
            .map(|access| access.offset / 4096)
            .filter(|&block| block >= 10_000)
            .collect();
        assert!((20_000..40_000).contains(&scanned.len()), "{} of 100000", scanned.len());
        assert!(scanned.iter().enumerate().all(|(at, &block)| block == 10_000 + at as u64));
    }
}

//! What a cache would do with a workload: every policy, every size, no I/O and no time.
//!
//! ```text
//!   accesses ---> for each policy and size: Admission, Directory ---> hits and misses
//! ```
//!
//! It uses the very directory and admission of the cache layer, so what it says of hits holds for
//! that too. Reads and writes are alike here: both ask for their blocks, and both bring them in.
//! What is discarded goes.

mod zipf;

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use block::Error;

use crate::policy::{Admission, AdmissionOptions, Directory, PolicyKind};
pub use zipf::{ZipfOptions, zipf};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    Read,
    /// Writes, zeroes too.
    Write,
    /// Gives blocks back.
    Discard,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub kind: AccessKind,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u64,
}

/// What to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Block of the cache, in bytes: a power of two.
    pub block_bytes: u64,
    /// Sizes of the cache, in blocks.
    pub sizes: Vec<u64>,
    /// The policies.
    pub policies: Vec<PolicyKind>,
    /// What comes in.
    pub admission: AdmissionOptions,
}

/// What came of one policy at one size; in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The policy.
    pub policy: PolicyKind,
    /// Size of the cache.
    pub size: u64,
    /// Blocks that reads asked for.
    pub reads: u64,
    /// Of these, those that were there.
    pub read_hits: u64,
    /// Blocks that were written.
    pub writes: u64,
    /// Of these, those that were there.
    pub write_hits: u64,
    /// Blocks that came in.
    pub insertions: u64,
}

impl Outcome {
    /// Hits, of reads and writes, as a part of all: 0 to 1.
    #[must_use]
    pub fn hit_ratio(&self) -> f64 {
        ratio(self.read_hits + self.write_hits, self.reads + self.writes)
    }

    /// Hits of reads as a part of all reads: 0 to 1.
    #[must_use]
    pub fn read_hit_ratio(&self) -> f64 {
        ratio(self.read_hits, self.reads)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How many different blocks the accesses touch: a cache of that size holds them all.
#[must_use]
pub fn footprint(accesses: &[Access], block_bytes: u64) -> u64 {
    // Ranges, not blocks: one request may be longer than memory has room for its blocks.
    let mut ranges: Vec<Range<u64>> = accesses
        .iter()
        .filter(|access| access.kind != AccessKind::Discard)
        .map(|access| range(access, block_bytes))
        .collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let (mut blocks, mut counted_to) = (0, 0);
    for range in ranges {
        blocks += range.end.saturating_sub(range.start.max(counted_to));
        counted_to = counted_to.max(range.end);
    }
    blocks
}

/// The blocks of an access.
fn range(access: &Access, block_bytes: u64) -> Range<u64> {
    let end = access.offset.saturating_add(access.length);
    access.offset / block_bytes..end.div_ceil(block_bytes)
}

/// Runs every policy at every size over the accesses, on all processors; by policies, then by
/// sizes.
///
/// # Errors
/// As [`Directory::new`].
pub fn simulate(accesses: &[Access], options: &Options) -> Result<Vec<Outcome>, Error> {
    let blocks =
        accesses.iter().map(|access| range(access, options.block_bytes).end).max().unwrap_or(0);
    let runs: Vec<(PolicyKind, u64)> = options
        .policies
        .iter()
        .flat_map(|&policy| options.sizes.iter().map(move |&size| (policy, size)))
        .collect();
    // What cannot be tracked is said before anything is run.
    options
        .sizes
        .iter()
        .try_for_each(|&size| Directory::new(PolicyKind::Clock, size, blocks).map(drop))?;
    let results: Mutex<Vec<Option<Result<Outcome, Error>>>> =
        Mutex::new(runs.iter().map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(runs.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(policy, size)) = runs.get(at) else { break };
                    let outcome = run(accesses, policy, size, blocks, options);
                    results.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(outcome);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().map(|outcome| outcome.expect("every run has ended")).collect()
}

fn run(
    accesses: &[Access],
    policy: PolicyKind,
    size: u64,
    blocks: u64,
    options: &Options,
) -> Result<Outcome, Error> {
    let mut directory = Directory::new(policy, size, blocks)?;
    let mut admission = Admission::new(options.admission, directory.slots());
    let mut outcome =
        Outcome { policy, size, reads: 0, read_hits: 0, writes: 0, write_hits: 0, insertions: 0 };
    for access in accesses {
        if access.kind == AccessKind::Discard {
            for block in range(access, options.block_bytes) {
                if let Some(slot) = directory.find(block) {
                    directory.remove(slot);
                }
            }
            continue;
        }
        let outside = admission.request(access.offset, access.length);
        let (asked, hits) = match access.kind {
            AccessKind::Read => (&mut outcome.reads, &mut outcome.read_hits),
            AccessKind::Write | AccessKind::Discard => {
                (&mut outcome.writes, &mut outcome.write_hits)
            }
        };
        for block in range(access, options.block_bytes) {
            *asked += 1;
            if directory.access(block).is_some() {
                *hits += 1;
            } else if !outside && admission.miss(block) {
                if directory.used() == directory.slots() {
                    directory.evict(block, |_| true).expect("every block may go");
                }
                directory.insert(block).expect("there is room now");
                outcome.insertions += 1;
            }
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(offset: u64, length: u64) -> Access {
        Access { kind: AccessKind::Read, offset, length }
    }

    fn options(sizes: &[u64], policies: &[PolicyKind]) -> Options {
        Options {
            block_bytes: 4096,
            sizes: sizes.to_vec(),
            policies: policies.to_vec(),
            admission: AdmissionOptions::default(),
        }
    }

    #[test]
    fn counts_are_what_one_counts_by_hand() {
        // Blocks 0 1 2, then 0 again, then half of 1 and all of 2, then 0 is given back and asked
        // for.
        let accesses = [
            read(0, 3 * 4096),
            Access { kind: AccessKind::Write, offset: 512, length: 512 },
            read(6144, 6144),
            Access { kind: AccessKind::Discard, offset: 0, length: 4096 },
            read(0, 4096),
        ];
        assert_eq!(footprint(&accesses, 4096), 3);
        let outcomes =
            simulate(&accesses, &options(&[3, 1], &PolicyKind::ALL)).expect("a simulation");
        assert_eq!(outcomes.len(), 14);
        for outcome in &outcomes {
            let expected = match outcome.size {
                3 => (6, 2, 1, 1, 4),
                _ => (6, 0, 1, 0, 7),
            };
            let Outcome { reads, read_hits, writes, write_hits, insertions, .. } = *outcome;
            assert_eq!((reads, read_hits, writes, write_hits, insertions), expected, "{outcome:?}");
        }
        assert_eq!((outcomes[0].hit_ratio(), outcomes[0].read_hit_ratio()), (3.0 / 7.0, 2.0 / 6.0));
    }

    #[test]
    fn requests_longer_than_memory_are_counted_by_their_ranges() {
        let accesses = [read(4096, 8 << 40), read(0, 4096), read(1 << 40, 8 << 40), read(512, 512)];
        assert_eq!(footprint(&accesses, 4096), (9 << 40) / 4096);
        assert_eq!(footprint(&[read(u64::MAX - 1, 4096)], 4096), 1, "the end of all addresses");
        let refused = simulate(&accesses, &options(&[1 << 28], &PolicyKind::ALL));
        assert!(refused.is_err(), "more blocks than a cache has");
    }

    #[test]
    fn a_loop_larger_than_the_cache_defeats_lru_and_not_a_cut_off() {
        let accesses: Vec<Access> =
            (0..50).flat_map(|_| (0..100).map(|block| read(block * 4096, 4096))).collect();
        let lru =
            |options: &Options| simulate(&accesses, options).expect("a simulation")[0].hit_ratio();
        assert_eq!(lru(&options(&[99], &[PolicyKind::Lru])), 0.0);
        assert_eq!(lru(&options(&[100], &[PolicyKind::Lru])), 0.98);
        let admission =
            AdmissionOptions { sequential_cutoff_bytes: Some(50 * 4096), promote_after: 1 };
        let half = lru(&Options { admission, ..options(&[99], &[PolicyKind::Lru]) });
        assert_eq!(half, 0.49, "the first half of every round comes in and stays");
    }
}

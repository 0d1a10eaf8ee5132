//! Whether a block that was missed comes into the cache at all.
//!
//! * Long sequential runs stay outside: a backup or a scan would flush the cache, and a disk reads
//!   them fast by itself. The ends of the last few runs are remembered; a request that begins at
//!   one of them continues it.
//! * A block may have to be missed several times first, so that what is asked for once never takes
//!   a slot.

use super::{hash, place};

/// How many runs are told apart.
const RUNS: usize = 32;
/// Counters that stand in one set.
const WAYS: usize = 8;
/// Of a counter, the bits that count.
const COUNT_BITS: u32 = 4;

/// What comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionOptions {
    /// A sequential run longer than this stays outside from then on, in bytes; `None`: everything
    /// comes in.
    pub sequential_cutoff_bytes: Option<u64>,
    /// At which access a block comes in: 1 at the first, at most 15.
    pub promote_after: u8,
}

impl Default for AdmissionOptions {
    fn default() -> AdmissionOptions {
        AdmissionOptions { sequential_cutoff_bytes: None, promote_after: 1 }
    }
}

#[derive(Clone, Copy, Default)]
struct Run {
    end: u64,
    length: u64,
    used: u64,
}

/// Watches the requests and decides.
pub struct Admission {
    options: AdmissionOptions,
    runs: [Run; RUNS],
    requests: u64,
    /// A fingerprint of 12 bits and a count of 4, newest first; two bytes for each eight slots.
    counters: Box<[[u16; WAYS]]>,
}

impl Admission {
    /// For a cache of so many slots.
    #[must_use]
    pub fn new(options: AdmissionOptions, slots: u32) -> Admission {
        let options =
            AdmissionOptions { promote_after: options.promote_after.clamp(1, 15), ..options };
        let sets = if options.promote_after > 1 { (slots as usize / 8 / WAYS).max(1) } else { 0 };
        Admission {
            options,
            runs: [Run::default(); RUNS],
            requests: 0,
            counters: vec![[0; WAYS]; sets].into(),
        }
    }

    /// For another number of slots: what was counted of blocks is forgotten, runs are not.
    pub(crate) fn resize(&mut self, slots: u32) {
        self.counters = Admission::new(self.options, slots).counters;
    }

    /// A request, whatever the cache has of it. Says whether it is so far into a sequential run
    /// that what it misses stays outside.
    pub fn request(&mut self, offset: u64, length: u64) -> bool {
        let Some(cutoff) = self.options.sequential_cutoff_bytes else { return false };
        self.requests += 1;
        let continued = self.runs.iter().position(|run| run.length > 0 && run.end == offset);
        let at = continued.unwrap_or_else(|| {
            let least = self.runs.iter().enumerate().min_by_key(|(_, run)| run.used);
            least.map_or(0, |(at, _)| at)
        });
        let before = if continued.is_some() { self.runs[at].length } else { 0 };
        self.runs[at] = Run { end: offset + length, length: before + length, used: self.requests };
        before + length > cutoff
    }

    /// A block that was missed, and not in a run that is too long. Says whether it comes in.
    pub fn miss(&mut self, block: u64) -> bool {
        if self.options.promote_after == 1 {
            return true;
        }
        let hash = hash(block as u32);
        let set = &mut self.counters[place(hash, self.counters.len())];
        let fingerprint = hash as u16 >> COUNT_BITS;
        let found =
            set.iter().position(|counter| *counter != 0 && counter >> COUNT_BITS == fingerprint);
        let count = 1 + found.map_or(0, |at| set[at] & ((1 << COUNT_BITS) - 1));
        let comes_in = count >= u16::from(self.options.promote_after);
        let last = found.unwrap_or(WAYS - 1);
        if comes_in {
            set[last] = 0;
            set[last..].rotate_left(1);
        } else {
            set[..=last].rotate_right(1);
            set[0] = fingerprint << COUNT_BITS | count;
        }
        comes_in
    }

    /// Memory in use, in bytes: all of it but a fixed few hundred.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        2 * WAYS * self.counters.len()
    }
}

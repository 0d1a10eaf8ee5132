//! Which blocks are cached, where, and which of them goes next.
//!
//! ```text
//!   Directory    block number -> slot, and back        [`Directory`]: what a cache layer and the simulator use
//!      |- Table     hash chains over the slots
//!      |- Policy    the order in which they go          S3-FIFO, SIEVE, LRU, CLOCK, 2Q, ARC, LFU
//!      |    |- Lists     order among slots
//!      |    `- Ghosts    what went a short while ago
//!   Admission    whether a block comes in at all: no long sequential runs, not before the n-th access
//! ```
//!
//! A slot is a dense index: slot `n` of a cache is where its `n`-th block of data lies. Memory is
//! counted to the byte: every policy stays at or below [`POLICY_BYTES_PER_SLOT`] a slot, its share
//! of the index included, so that with four bits of state of the layer's own a cached 4 KiB costs
//! at most 16 bytes. That is why links have 24 bits, block numbers 32, and ghosts are fingerprints;
//! caches of more than 16 million blocks, or over devices of more than 4 thousand million, take
//! larger blocks.

mod admission;
mod arc;
mod clock;
mod directory;
mod ghosts;
mod lfu;
mod lists;
mod lru;
mod s3_fifo;
mod sieve;
mod table;
#[cfg(test)]
mod tests;
mod two_q;

use std::fmt;

pub use admission::{Admission, AdmissionOptions};
pub use directory::Directory;
pub(crate) use directory::check_slots;
pub(crate) use lists::Bits;

/// A place in the cache.
pub type Slot = u32;

/// The most slots that a directory has.
pub const SLOTS_MAX: u32 = (1 << 24) - 1;

/// What a policy may take in memory for each slot, the index included, in bytes.
pub const POLICY_BYTES_PER_SLOT: f64 = 15.5;

/// What a policy can ask when a block has to go.
pub(crate) struct Eviction<'a> {
    /// The block that one goes for.
    incoming: u32,
    /// Which block is in a slot.
    key: &'a dyn Fn(Slot) -> u32,
    /// Whether the block in a slot may go.
    may_go: &'a mut dyn FnMut(Slot) -> bool,
}

/// The order in which blocks leave a cache. It is told what happens and asked which goes; the
/// [`Directory`] knows where blocks are.
pub(crate) trait Policy: Send {
    /// The block in `slot` was accessed.
    fn hit(&mut self, slot: Slot);

    /// The block `key` came into `slot`, which was free.
    fn insert(&mut self, slot: Slot, key: u32);

    /// Takes out the one to go, among those that may; `None` when none may go.
    fn evict(&mut self, eviction: &mut Eviction<'_>) -> Option<Slot>;

    /// The block in `slot` is gone, not by [`Policy::evict`].
    fn remove(&mut self, slot: Slot);

    /// Memory in use, in bytes.
    fn memory_bytes(&self) -> usize;
}

/// The policies there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PolicyKind {
    /// Three FIFO queues: newcomers prove themselves in a small one.
    #[default]
    S3Fifo,
    /// One queue and a hand that sifts out what was not asked for again.
    Sieve,
    /// Least recently used.
    Lru,
    /// A hand that gives a second chance.
    Clock,
    /// New blocks in a FIFO queue; a block that comes back after it left goes to an LRU list.
    TwoQ,
    /// Recency and frequency, balanced by what was let go too early.
    Arc,
    /// Least frequently used.
    Lfu,
}

impl PolicyKind {
    /// All of them, the default first.
    pub const ALL: [PolicyKind; 7] = [
        PolicyKind::S3Fifo,
        PolicyKind::Sieve,
        PolicyKind::Lru,
        PolicyKind::Clock,
        PolicyKind::TwoQ,
        PolicyKind::Arc,
        PolicyKind::Lfu,
    ];

    /// Its name in stack text and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PolicyKind::S3Fifo => "s3-fifo",
            PolicyKind::Sieve => "sieve",
            PolicyKind::Lru => "lru",
            PolicyKind::Clock => "clock",
            PolicyKind::TwoQ => "2q",
            PolicyKind::Arc => "arc",
            PolicyKind::Lfu => "lfu",
        }
    }

    /// The policy of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<PolicyKind> {
        PolicyKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn make(self, slots: u32) -> Box<dyn Policy> {
        match self {
            PolicyKind::S3Fifo => Box::new(s3_fifo::S3Fifo::new(slots)),
            PolicyKind::Sieve => Box::new(sieve::Sieve::new(slots)),
            PolicyKind::Lru => Box::new(lru::Lru::new(slots)),
            PolicyKind::Clock => Box::new(clock::Clock::new(slots)),
            PolicyKind::TwoQ => Box::new(two_q::TwoQ::new(slots)),
            PolicyKind::Arc => Box::new(arc::Arc::new(slots)),
            PolicyKind::Lfu => Box::new(lfu::Lfu::new(slots)),
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Spreads block numbers, which come in runs, over all 64 bits (the finaliser of SplitMix64).
fn hash(key: u32) -> u64 {
    let mut bits = u64::from(key).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// A place below `count` that the hash names; every place is as likely.
fn place(hash: u64, count: usize) -> usize {
    (((hash >> 32) * count as u64) >> 32) as usize
}

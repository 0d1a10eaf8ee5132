//! What the targets share: a watch over memory, arrays to damage, and exports to ask for.
//!
//! ```text
//!   bytes ──> target ──> a decoder or a pure state machine ──> what must hold, asserted
//! ```
//!
//! `cargo xtask fuzz` runs all targets. `seeds/` holds what they start from, and what once broke
//! something.

mod arrays;
mod containers;
mod drives;
mod folder;

use export::nbd::shape::Shape;
use peak_alloc::PeakAlloc;

pub use arrays::{Damaged, damaged, mend_log};
pub use containers::{luks_container, vhdx_image};
pub use drives::{Drives, drives};
pub use folder::Folder;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory that messages and the like may take, whatever the input, in bytes.
const SMALL_BYTES: usize = 16 << 10;

/// Runs `work`, which may take at most `factor` times the input, and a little, of memory.
///
/// # Panics
/// When it takes more.
pub fn within<T>(input: &[u8], factor: usize, work: impl FnOnce() -> T) -> T {
    within_bytes(factor * input.len() + SMALL_BYTES, input.len(), work)
}

/// Runs `work` on an input of so many bytes, which may take at most `allowed` bytes of memory.
///
/// # Panics
/// When it takes more.
pub fn within_bytes<T>(allowed: usize, input_bytes: usize, work: impl FnOnce() -> T) -> T {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = work();
    let taken = MEMORY.peak_usage().saturating_sub(before);
    assert!(
        taken <= allowed,
        "{taken} bytes of memory for {input_bytes} bytes of input; {allowed} are allowed"
    );
    result
}

/// Numbers off the front of an input that is more than one thing.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next byte, 0 when there is none.
    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    /// The next eight bytes as a number, zeroes where there are none.
    pub fn number(&mut self) -> u64 {
        let mut number = [0; 8];
        let bytes = self.bytes(8);
        number[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    }

    /// The next `count` bytes, or as many as there are.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (now, later) = self.0.split_at(count.min(self.0.len()));
        self.0 = later;
        now
    }
}

/// Exports that differ in all that the protocol asks for. The bits of `kind` change the first.
#[must_use]
pub fn exports(kind: u8, size_bytes: u64) -> Vec<Shape> {
    let has = |bit: u8| kind >> bit & 1 == 1;
    let first = Shape {
        name: "drive".to_owned(),
        description: if has(0) { "the first".to_owned() } else { String::new() },
        size_bytes,
        block_bytes: if has(1) { 4096 } else { 512 },
        optimal_bytes: 65536,
        read_only: has(2),
        rotational: has(3),
        needs_flush: has(4),
        discards: has(5),
        fast_zeroes: has(6),
    };
    let second = Shape {
        name: "märchen".to_owned(),
        read_only: !has(2),
        discards: !has(5),
        ..first.clone()
    };
    vec![first, second]
}

//! What the tests that exchange arrays with the Linux kernel have in common: which arrays there
//! are, the machine that runs the kernel, and raidloom's way from a set of members to a device.
//!
//! ```text
//!   Shape ──> Job ──> arrays.sh inside user-mode Linux ──> members' images, what the kernel says
//!   members' images ──> superblocks ──> assembly ──> device
//! ```

pub mod ceph;
pub mod certificates;
pub mod fsx;
mod machine;
mod ours;
mod program;
mod shape;

use block::SECTOR_BYTES;

pub use machine::{Job, Machine, member_path, member_paths, said};
pub use ours::{KeptArray, LIMITS, OpenOutcome, assembled, create, open, tree};
pub use program::raidloom;
pub use shape::{Shape, Sizes, roles_text};

/// Pseudo-random bytes.
#[must_use]
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Where two slices differ first, and how much of them does.
#[must_use]
pub fn difference(found: &[u8], expected: &[u8]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} bytes instead of {}", found.len(), expected.len()));
    }
    if found == expected {
        return None;
    }
    let first = found.iter().zip(expected).position(|(found, expected)| found != expected)?;
    let sectors = found.chunks(SECTOR_BYTES as usize).zip(expected.chunks(SECTOR_BYTES as usize));
    let wrong = sectors.filter(|(found, expected)| found != expected).count();
    Some(format!(
        "first at byte {first} (sector {}); {wrong} sectors differ",
        first as u64 / SECTOR_BYTES
    ))
}

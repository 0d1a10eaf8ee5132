//! The looks of a run: when it may make claims.

/// After how many blocks a run that may go on makes claims.
pub const LOOKS: [u32; 4] = [8, 16, 32, 60];

/// The first look after more than `blocks` blocks; none after the last.
#[must_use]
pub fn look_after(blocks: u32) -> Option<u32> {
    LOOKS.into_iter().find(|look| *look > blocks)
}

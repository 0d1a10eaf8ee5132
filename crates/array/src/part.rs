//! Parts of requests and of sync actions, and where they lie: what levels are asked about.

use crate::geometry::Extent;

/// What a request with a range wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Fill the host's buffer.
    Read,
    /// Write the host's buffer.
    Write,
    /// Make the range read as zeroes.
    Zeroes,
    /// Give the range back.
    Discard,
}

/// A part of a request, in bytes of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What is wanted.
    pub action: Action,
    /// Where in the array.
    pub offset: u64,
    /// How much; never 0.
    pub length: u64,
}

impl Part {
    /// Where all of it lies, if that is one run, which is the first of it.
    #[inline]
    pub(crate) fn spot_in(self, first: Extent) -> Option<Spot> {
        let Extent { member, offset, length } = first;
        (length == self.length).then_some(Spot { member, offset })
    }
}

/// A position on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Which member.
    pub member: usize,
    /// Where on it, in bytes.
    pub offset: u64,
}

/// What is done about redundancy itself rather than for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncTask {
    /// Give a member what it should hold, made from the others, or, while it serves, its own
    /// contents once more. Offsets are in bytes of the member's data.
    Recover {
        /// Which member.
        member: usize,
    },
    /// Read everything, count what does not agree, and find out whose bytes are wrong where the
    /// redundancy tells. Offsets are in bytes of [`Level::sync_bytes`](crate::Level::sync_bytes).
    Check,
    /// As a check, and write what makes it agree: to the member that is known to be wrong, where P
    /// and Q, or a majority of at least three copies, tell. A level that can tell leaves alone what
    /// it cannot tell. With one parity or two copies, and where a resync is to be done, parity is
    /// that of the data and the first copy counts, as in md.
    Repair,
}

/// A run of bytes to do a task on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncRange {
    /// What is done.
    pub task: SyncTask,
    /// Where; what it counts depends on the task.
    pub offset: u64,
    /// How much; never 0.
    pub length: u64,
}

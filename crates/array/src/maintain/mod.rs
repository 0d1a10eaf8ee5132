//! What keeps an array whole while it serves: rebuilds, resyncs and scrubs, spares, members that come and go.
//!
//! ```text
//!   Keeper       what is due next: a spare for a failed member, a rebuild, a resync, a scrub that was asked for
//!     |
//!   Maintenance  one job at a time, a window of stretches in flight, paced; progress and checkpoints
//!     |            Level::plan_upkeep: pure plans
//!   the same executor as the host's requests, on a channel of its own, under the same row locks
//!
//!   Control      from any thread: fail, remove, add, replace; what is so (Snapshot)
//! ```
//!
//! A member that comes gets whatever is written from the moment it has its seat, and is read once it has all the rest too.
//! A row's rebuild holds the row's lock, so it meets no half-written row; and whoever holds a lock asks who is there before
//! it writes, so no write that a newcomer has missed comes after the rebuild of its row.

mod control;
mod holes;
mod job;
mod keeper;
mod ranges;
mod twin;

pub use control::{Arrival, Control};
pub(crate) use holes::Holes;
pub use job::{Ending, Limits, Maintenance, Outcome, Progress, Work};
pub use keeper::{Keeper, Notice};
pub use ranges::Ranges;
pub(crate) use twin::Twin;

use block::Channel;

use crate::Stretch;

/// A channel that also takes upkeep; what it counts is in [`Task`](crate::Task)'s bytes.
pub(crate) trait UpkeepChannel: Channel {
    /// Takes a stretch; it completes under its tag as a request does.
    fn submit_upkeep(&mut self, tag: u64, stretch: Stretch);

    /// How many sectors were found to differ since this was asked last.
    fn take_differing_sectors(&mut self) -> u64;
}

//! What keeps an array redundant while it serves: rebuilds, resyncs and scrubs; spares; members
//! that are added, removed and replaced.
//!
//! ```text
//!   SyncScheduler  what is due next: a spare for a faulty member, a rebuild, a resync, a scrub
//!     |            that was asked for
//!     |
//!   SyncRunner     one action at a time, a window of ranges in flight, paced; progress and
//!     |            checkpoints
//!     |              Level::plan_sync: pure plans
//!   the same executor as the host's requests, on a channel of its own, under the same row locks
//!
//!   Control        from any thread: fail, remove, add, replace; what is so (Snapshot)
//! ```
//!
//! A new member is written from the moment it is in its slot, and read once it has all the rest
//! too. The rebuild of a row holds the row's lock, so it meets no half-written row; and a piece
//! that holds a lock looks at the members once more before it writes, so no write that leaves a new
//! member out comes after the rebuild of its row.

mod control;
mod findings;
mod runner;
mod scheduler;

pub use crate::ranges::Ranges;
pub use control::{Control, NewDevice};
pub use findings::{Findings, ListedRanges};
pub use runner::{Ending, Limits, Outcome, Progress, SyncAction, SyncRunner};
pub use scheduler::{Notice, SyncScheduler};

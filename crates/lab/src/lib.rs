//! Plans, runs and what makes their figures worth something.
//!
//! ```text
//! plan file ──> plan: configurations x workloads x blocks      (nothing is written before this stands)
//!                 │
//!               run: a folder ── guard opens members ── stack builds ── bench measures ── one line a trial
//!                 │                                                                         │
//!               journal: undone on any way out                     results::Run  <──────────┘
//! ```
//!
//! A run that was interrupted, at whatever moment, goes on where it was and ends with the same set
//! of trials.

pub mod audit;
mod catalogue;
mod cell;
pub mod choose;
pub mod configuration_start;
mod estimate;
pub mod import;
mod merge;
pub mod order;
pub mod originals;
pub mod pack;
pub mod plan;
pub mod processor;
pub mod pull;
mod record;
mod run;
mod run_status;
mod scratch_folder;
mod shard;
mod shard_set;
pub mod slurm;
mod stacks;
pub mod watch;

pub use cell::open_cell;
pub use estimate::TimeLeft;
pub use merge::{MergedRun, merge};
pub use run::{
    Extension, NoObserver, Observer, Outcome, Progress, RunEnd, RunOptions, Worker, delete_run,
    end_left_behind, guest_format, own_arrays, read, resume, start, work,
};
pub use shard::Shard;

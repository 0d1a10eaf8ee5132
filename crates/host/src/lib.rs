//! What raidloom reads and changes of the machine that it runs on, and how it puts it back.
//!
//! ```text
//! path ──> guard (looks, judges, opens, locks) ──> an open file
//! made ──> journal (on stable storage first)   ──> undone on any way out, last made first
//! ```
//!
//! Everything that opens a file for writing, mounts, or asks /proc and /sys goes through here, and
//! every crate above speaks of failures with [`Error`].

pub mod block_trace;
mod catalogue;
mod error;
pub mod facts;
mod file_system_options;
pub mod files;
pub mod guard;
pub mod journal;
pub mod limits;
mod make;
pub mod mount;
mod mount_call;
pub mod processors;
pub mod rbd;
pub mod system;

pub use error::{Ending, Error};

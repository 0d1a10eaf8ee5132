//! Rebuilds, resyncs, scrubs, spares and members that come and go, under requests that go on
//! meanwhile.

mod bad_blocks;
pub(crate) mod bench;
mod jobs;
mod threads;
pub(crate) mod turmoil;

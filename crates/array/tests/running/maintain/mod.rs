//! Rebuilds, resyncs, scrubs, spares and members that come and go, under requests that go on meanwhile.

pub(crate) mod bench;
mod holes;
mod jobs;
mod threads;
pub(crate) mod turmoil;

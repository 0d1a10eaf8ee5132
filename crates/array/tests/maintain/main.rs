//! Rebuilds, resyncs, scrubs, spares and members that come and go, under requests that go on meanwhile.

#[path = "../common/mod.rs"]
mod common;

mod bench;
mod holes;
mod jobs;
mod mistakes;
mod threads;
mod turmoil;

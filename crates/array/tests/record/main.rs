//! Arrays that keep md's metadata while they run: what their members say at every moment, crashes, and the mistakes that have
//! to be found.

#[path = "../common/mod.rs"]
mod common;

mod bench;
mod crashes;
mod log;
mod members;
mod rest;
mod threads;

//! Arrays that run: rebuilds and scrubs among requests, md's metadata at every moment, crashes, and
//! the mistakes that have to be found.

#[path = "../common/mod.rs"]
mod common;

mod metadata;
mod must_fail;
mod sync;

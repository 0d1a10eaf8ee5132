//! Arrays that keep md's metadata while they run: what their members say at every moment, and
//! crashes.

pub(crate) mod bench;
mod copies;
pub(crate) mod crashes;
mod force;
mod log;
mod members;
mod rest;
mod threads;

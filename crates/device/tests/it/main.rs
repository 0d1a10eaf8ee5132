//! The tests that use this package from outside, in one program: one to build and link.

mod common;
mod conformance;
mod deadline;
mod fault;
mod file;
mod memory;
mod record;

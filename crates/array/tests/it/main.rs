//! The tests that use this package from outside, in one program: one to build and link.

mod common;
mod computations;
mod conformance;
mod geometry;
mod isal;
mod md;
mod members;
mod plans;
mod redundancy;
mod running;
mod sync;
mod timing;

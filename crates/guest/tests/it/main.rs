//! The tests that use this package from outside, in one program: one to build and link.

mod guest;
mod order;

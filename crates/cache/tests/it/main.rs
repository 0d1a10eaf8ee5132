//! The tests that use this package from outside, in one program: one to build and link.

mod cache;
mod common;
mod kept_cache;
mod must_fail;
mod overlay;
mod upkeep;

//! The tests that use this package from outside, in one program: one to build and link.

mod build;
mod cache_over_parity;
mod cache_speed;
mod conformance;
mod contents;
mod extents;
mod files;
mod idle;
mod images;
mod luks;
mod text;
mod unchanged;

//! The tests that use this package from outside, in one program: one to build and link.

mod charts;
mod choice;
mod claims;
mod fixture;
mod foreign;
mod golden;
mod looks;
mod page;
mod parquet;
mod race;
mod surfaces;
mod trials;

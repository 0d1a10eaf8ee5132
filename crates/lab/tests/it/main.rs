//! The tests that use this package from outside, in one program: one to build and link.

mod cells;
mod choose;
mod drawn;
mod faults_are_found;
mod marks;
mod replay;
mod run;
mod shards;
mod studies;
mod support;

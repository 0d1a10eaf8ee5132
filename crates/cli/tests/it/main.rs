//! The tests that use this package from outside, in one program: one to build and link.

mod apart;
mod choose;
mod examine;
mod export;
mod extending;
mod first_minutes;
mod foreign;
mod guest;
mod help_examples;
mod history;
mod installed;
mod japanese_pages;
mod memory;
mod monitor;
mod one_part;
mod overlay;
mod pull;
mod pull_program;
mod run_folder;
mod serve;
mod slurm;
mod snapshots;
mod studies;
mod suites;
mod ui;
mod write;

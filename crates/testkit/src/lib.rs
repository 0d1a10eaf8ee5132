//! For tests only: what every device must do, checked from outside, and the little devices the
//! checks are tested with.
//!
//! ```text
//!   conformance   any device against docs/contract.md         Err(Violation { rule: "C15", detail, seed })
//!      model      seeded random requests against a ledger of what reads may find
//!      crash      a crash at every moment of a history, over members that can crash
//!   Memory        an array of bytes with delays, a volatile cache and faults on demand
//!   LyingFlush    a device that answers flushes without carrying them out
//!   Empty         a layer that adds nothing: the model of a layer and the measure of its cost
//!   made_up       runs of known truth, to count how often a claim is false
//!   OldSuperblock version 0.90, which nothing of the product writes
//!   python        where packages of Python are
//!   chromium      where the browser is that renders pages
//!   Browser       a page in it: opened, clicked through, looked over, pictured
//!   looks         pictures that were kept, and what the accessibility tree of a page lacks
//!   study         what an old study said and what its repetition says, as a table
//!   golden        text held against a file; RAIDLOOM_BLESS=1 rewrites it
//!   skipped!      what a test could not do here, said where people see it
//!   missing!      the same of what CI has to have: there it fails
//! ```
//!
//! Every check returns a [`Violation`] instead of panicking, so that planted mistakes can be shown
//! to be found (`tests/must_fail.rs`). The seed in it replays the run.

mod browser;
mod chromium;
pub mod conformance;
pub mod crash;
mod empty;
pub mod golden;
mod ledger;
mod looks;
mod lying_flush;
pub mod made_up;
mod memory;
pub mod model;
mod old_superblock;
mod owner;
mod python;
mod skip;
pub mod study;

use std::fmt;

use block::{Channel, Completion, Reactor};

pub use browser::Browser;
pub use chromium::chromium;
pub use empty::Empty;
pub use looks::{Distance, KeptPictures, Picture};
pub use lying_flush::LyingFlush;
pub use memory::{Fault, Memory};
pub use old_superblock::OldSuperblock;
pub use python::{GET_PYTHON_PACKAGES, python_packages};
pub use skip::{say_missing, say_skipped};

/// Waits for everything on a channel.
///
/// # Panics
/// When the reactor cannot wait; the virtual clock can.
pub fn finish(channel: &mut dyn Channel, reactor: &Reactor) -> Vec<Completion> {
    let mut done = Vec::new();
    loop {
        channel.poll(&mut done);
        if channel.in_flight() == 0 {
            return done;
        }
        reactor.wait(None).expect("the virtual clock does not fail");
    }
}

/// A broken sentence of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The sentence's number in `docs/contract.md`, for example `C15`.
    pub rule: &'static str,
    /// What was seen, and where.
    pub detail: String,
    /// The seed that replays it.
    pub seed: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of docs/contract.md is broken: {} (seed {})",
            self.rule, self.detail, self.seed
        )
    }
}

impl std::error::Error for Violation {}

//! Arrays that the Linux kernel wrote and raidloom reads, and the other way round: all of them,
//! degraded in every way that they live through, rebuilt by the other side, and with file systems.
//!
//! Many arrays go through one machine, one after the other. Disks that are used again are full of
//! what was on them before, so that whatever is not written shows. The tests run two at a time,
//! each with a machine of its own.

mod broken;
mod filesystems;
mod matrix;
mod rebuilds;
mod rescue;

use interop::{Job, Machine};

/// The folder of one test; it goes away with it.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// Runs the jobs, which have to work.
fn run(machine: &Machine, jobs: &[Job<'_>]) -> Vec<String> {
    machine.run(jobs).unwrap_or_else(|error| panic!("{error}"))
}

/// What is wrong, gathered so that all of it is seen at once.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn note(&mut self, name: &str, problem: impl std::fmt::Display) {
        self.0.push(format!("{name}: {problem}"));
    }

    fn expect(&mut self, name: &str, what: &str, found: &str, expected: &str) {
        if found != expected {
            self.note(name, format_args!("{what}: {found:?} instead of {expected:?}"));
        }
    }

    fn take(&mut self, name: &str, result: Result<(), String>) {
        if let Err(problem) = result {
            self.note(name, problem);
        }
    }

    fn check(self) {
        assert!(self.0.is_empty(), "{} wrong: {:#?}", self.0.len(), self.0);
    }
}

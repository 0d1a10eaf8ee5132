//! Modelled trials on all processors.
//!
//! What a modelled trial finds depends on nothing but the plan's seed, its cell and its block. So
//! threads work ahead, each with a stack and a clock of its own, and the run takes what they found
//! in its own order: what it records, decides and shows is the same with any number of them.
//!
//! ```text
//!   units, in the order of the run   0 1 2 3 4 5 6 7 8 9 …
//!   taken by the run                 t t t
//!   ended, or under way on a thread        . e . e e
//!   not begun before more are taken                  · ·      at most AHEAD for each thread
//! ```
//!
//! Each holds one stack at a time. Nothing else is measured meanwhile.

#![expect(clippy::disallowed_methods, reason = "the time left is about this machine")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use host::Error;
use reactor::Reactor;
use results::Plan;

use super::resources::StackOpener;
use super::rows::{OpenedTarget, RowSink, SuiteEnd, SuiteRun};
use super::workload_result::WorkloadResult;
use crate::cell::Cell;

/// How many units may be begun before the first of them is taken, for each thread: enough that one
/// that takes long holds up no other thread.
const AHEAD: usize = 16;

/// Rows of a suite that are run together on a fresh stack.
pub(super) struct Unit<'a> {
    pub(super) cell: &'a Cell,
    /// Their workloads.
    pub(super) group: Vec<usize>,
    /// Those of them that have no trial yet.
    pub(super) missing: Vec<usize>,
    /// The seeds of the visit.
    pub(super) seeds: (u64, u64),
    /// The seed of the modelled disks.
    pub(super) disks_seed: u64,
    /// Which set of their parameters they have; what they were fitted with without.
    pub(super) drawn_set: Option<u32>,
}

/// What came of a unit.
pub(super) struct UnitEnd {
    /// Its rows, as they came, and how long each took in real time.
    pub(super) rows: Vec<UnitRow>,
    /// How its suite has ended.
    pub(super) suite: SuiteEnd,
    /// Whether its stack could be closed.
    pub(super) closed: Result<(), Error>,
}

/// A row of a unit.
pub(super) struct UnitRow {
    pub(super) phase: String,
    pub(super) run: u32,
    pub(super) found: WorkloadResult,
    pub(super) took: Duration,
}

/// Units, and how far they are.
pub(super) struct Crew<'a> {
    plan: &'a Plan,
    units: Vec<Unit<'a>>,
    opener: StackOpener<'a>,
    threads: usize,
    /// The user's wish to stop.
    stop: &'a AtomicBool,
    /// Nothing more is wanted.
    halt: AtomicBool,
    state: Mutex<UnitQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct UnitQueue {
    /// Units that were begun.
    begun: usize,
    /// Units that were taken.
    taken: usize,
    /// What has ended and was not taken.
    ended: BTreeMap<usize, thread::Result<Result<UnitEnd, Error>>>,
}

impl<'a> Crew<'a> {
    /// Of units of a plan in the order in which they are taken, for so many threads.
    pub(super) fn new(
        (plan, units): (&'a Plan, Vec<Unit<'a>>),
        opener: StackOpener<'a>,
        threads: usize,
        stop: &'a AtomicBool,
    ) -> Crew<'a> {
        Crew {
            threads: threads.clamp(1, units.len().max(1)),
            plan,
            units,
            opener,
            stop,
            halt: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Begins to work on the units.
    pub(super) fn start<'s>(&'s self, scope: &'s Scope<'s, '_>) -> UnitReceiver<'s> {
        for _ in 0..self.threads {
            scope.spawn(|| self.work());
        }
        UnitReceiver { crew: self }
    }

    fn state(&self) -> MutexGuard<'_, UnitQueue> {
        // No thread panics while it has it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.halt.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Works on one unit after the other.
    fn work(&self) {
        while let Some(index) = self.begin() {
            let ended = catch_unwind(AssertUnwindSafe(|| self.run(&self.units[index])));
            self.state().ended.insert(index, ended);
            self.changed.notify_all();
        }
        // Whoever waits for a unit that is not begun any more learns of it.
        self.changed.notify_all();
    }

    /// The unit that is begun next, once it may.
    fn begin(&self) -> Option<usize> {
        let most = AHEAD * self.threads;
        let state = self.state();
        let is_early = |state: &mut UnitQueue| !self.is_over() && state.begun >= state.taken + most;
        let mut state =
            self.changed.wait_while(state, is_early).unwrap_or_else(PoisonError::into_inner);
        if self.is_over() || state.begun == self.units.len() {
            return None;
        }
        state.begun += 1;
        Some(state.begun - 1)
    }

    fn run(&self, unit: &Unit<'_>) -> Result<UnitEnd, Error> {
        let workloads = (&unit.group[..], &unit.missing[..]);
        let suite_run = SuiteRun::new(self.plan, unit.cell, workloads, unit.seeds)?;
        let reactor = Reactor::virtual_clock();
        let mut collector = Collector { rows: Vec::new(), crew: self, last: Instant::now() };
        let stack =
            self.opener.open_drawn(unit.cell, (unit.disks_seed, unit.drawn_set), Some(&reactor))?;
        let target = OpenedTarget::Device(&stack);
        let suite = suite_run.run(&target, &reactor, self.stop, &mut collector);
        Ok(UnitEnd { rows: collector.rows, suite, closed: stack.end() })
    }
}

/// Keeps the rows of a unit.
struct Collector<'a> {
    rows: Vec<UnitRow>,
    crew: &'a Crew<'a>,
    /// When the last row was there.
    last: Instant,
}

impl RowSink for Collector<'_> {
    fn found(&mut self, phase: &str, run: u32, found: WorkloadResult) {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut self.last, now);
        self.rows.push(UnitRow { phase: phase.to_owned(), run, found, took });
    }

    fn wants_no_more(&self) -> bool {
        self.crew.is_over()
    }
}

/// Takes what units found, in their order. Dropped, it ends the work on the others.
pub(super) struct UnitReceiver<'s> {
    crew: &'s Crew<'s>,
}

impl UnitReceiver<'_> {
    /// Threads that share the time that a unit takes.
    pub(super) fn threads(&self) -> u32 {
        u32::try_from(self.crew.threads).unwrap_or(u32::MAX)
    }

    /// What the next unit found, once it has ended; nothing where the run was asked to stop before
    /// it was begun.
    pub(super) fn take(&mut self) -> Option<Result<UnitEnd, Error>> {
        let crew = self.crew;
        let is_coming = |state: &mut UnitQueue| {
            let is_begun = state.begun > state.taken;
            !state.ended.contains_key(&state.taken) && (is_begun || !crew.is_over())
        };
        let mut state = crew
            .changed
            .wait_while(crew.state(), is_coming)
            .unwrap_or_else(PoisonError::into_inner);
        let next = state.taken;
        let ended = state.ended.remove(&next)?;
        state.taken += 1;
        drop(state);
        crew.changed.notify_all();
        Some(ended.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

impl Drop for UnitReceiver<'_> {
    fn drop(&mut self) {
        self.crew.halt.store(true, Ordering::Relaxed);
        // A thread that has just found that it may not begin waits before this is told.
        drop(self.crew.state());
        self.crew.changed.notify_all();
    }
}

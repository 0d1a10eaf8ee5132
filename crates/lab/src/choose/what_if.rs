//! What would be taken were the recorded work another: the same requests with more writes, or in
//! less time.

use std::sync::atomic::AtomicBool;

use host::Error;
use results::choice::Layout;
use serde::Serialize;

use super::answer::AS_FAST;
use super::question::{FEW_REQUESTS, Question};

/// How the work is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkChange {
    /// Each write is made so many times.
    Writes(u64),
    /// Requests come so many times faster: times between them, and thinking, are divided by it.
    Speed(u64),
}

const CHANGES: [WorkChange; 3] =
    [WorkChange::Writes(3), WorkChange::Writes(10), WorkChange::Speed(3)];

/// A change of the work that changes what is taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedChoice {
    /// How the work is another.
    pub change: WorkChange,
    /// What is taken then.
    pub layout: Layout,
}

impl WorkChange {
    fn setting(self) -> (&'static str, u64) {
        match self {
            WorkChange::Writes(times) => ("writes", times),
            WorkChange::Speed(times) => ("speed", times),
        }
    }
}

impl Question {
    /// What would change what was taken; the least change of each kind. Nothing for other work than
    /// a recording, for drives that are measured, and where a part of the recording does not lead
    /// to the same answer as all of it.
    ///
    /// # Errors
    /// As [`Question::race`].
    pub fn what_if(&self, pick: &Layout, stop: &AtomicBool) -> Result<Vec<ChangedChoice>, Error> {
        let Some(percent) = self.share_of(FEW_REQUESTS).filter(|_| self.drives.are_modelled())
        else {
            return Ok(Vec::new());
        };
        let is_same = |layout: &Layout| {
            let without_chunk = |layout: &Layout| Layout { chunk_bytes: None, ..layout.clone() };
            without_chunk(layout) == without_chunk(pick)
        };
        let unchanged = self.taken(&[("share", percent)], stop)?;
        if !unchanged.as_ref().is_some_and(is_same) {
            return Ok(Vec::new());
        }
        let mut changes: Vec<ChangedChoice> = Vec::new();
        for change in CHANGES {
            let is_known =
                changes.iter().any(|known| known.change.setting().0 == change.setting().0);
            if is_known {
                continue;
            }
            let taken = self.taken(&[("share", percent), change.setting()], stop)?;
            changes.extend(
                taken
                    .filter(|layout| !is_same(layout))
                    .map(|layout| ChangedChoice { change, layout }),
            );
        }
        Ok(changes)
    }

    /// What is taken where the workloads have these settings.
    fn taken(&self, settings: &[(&str, u64)], stop: &AtomicBool) -> Result<Option<Layout>, Error> {
        let runners = self.runners(settings, stop)?;
        let best = runners.iter().map(|runner| runner.score).fold(0.0, f64::max);
        let as_fast = runners.iter().filter(|runner| runner.score * (1.0 + AS_FAST) >= best);
        let taken = as_fast.max_by_key(|runner| self.preference(runner.shape, runner.chunk_bytes));
        Ok(taken.map(|runner| self.facts(runner.shape, runner.chunk_bytes)))
    }
}

//! What the process that is at work on a run says of it, for those that look at its folder.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use host::{facts, files, system};
use results::Plan;
use serde::{Deserialize, Serialize};

use crate::run::{self, PROGRESS, Progress, TRIALS};

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Nothing is at work on it yet: it waits for its turn on a cluster, or was not begun.
    Waiting,
    /// A process is at work on it.
    Running,
    /// Trials are missing, and none is.
    Interrupted,
    /// Every trial is there.
    Finished,
}

/// What a run is at, as its process says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPosition {
    /// The process.
    pub process: u32,
    /// The configuration under way.
    pub configuration: String,
    /// The workload under way.
    pub workload: String,
    /// Since the process began, in seconds.
    pub elapsed_seconds: f64,
    /// Time left, the lower end, in seconds.
    pub left_low_seconds: f64,
    /// Time left, the upper end, in seconds.
    pub left_high_seconds: f64,
    /// Whether that rests on the plan's figures more than on what was seen.
    pub left_is_rough: bool,
}

impl RunPosition {
    /// The same so many seconds later, nothing else being known.
    fn after(mut self, seconds: f64) -> RunPosition {
        self.elapsed_seconds += seconds;
        self.left_low_seconds = (self.left_low_seconds - seconds).max(0.0);
        self.left_high_seconds = (self.left_high_seconds - seconds).max(0.0);
        self
    }

    /// What an observer is told, for others to read.
    #[must_use]
    pub fn of(plan: &Plan, progress: &Progress<'_>) -> RunPosition {
        RunPosition {
            process: std::process::id(),
            configuration: plan.label(&progress.configuration.settings),
            workload: progress.workload.to_owned(),
            elapsed_seconds: progress.elapsed.as_secs_f64(),
            left_low_seconds: progress.left.low.as_secs_f64(),
            left_high_seconds: progress.left.high.as_secs_f64(),
            left_is_rough: progress.left.rough,
        }
    }
}

/// The process that is at work on a run: the one that holds the lock on its record. Where the file
/// system's locks cannot be seen (btrfs, a network), the one that says so.
#[must_use]
pub fn worker(folder: &Path) -> Option<u32> {
    let record = files::open_untrusted(&folder.join(TRIALS)).ok()?;
    system::lock_holder(&record)
        .or_else(|| told(folder).map(|now| now.process))
        .filter(|process| facts::lives(*process))
}

/// Says what a run is at, for those that look at its folder. What cannot be said is left unsaid:
/// the run does not depend on it.
pub fn tell(folder: &Path, now: &RunPosition) {
    if let Ok(text) = serde_json::to_vec(now) {
        let _ = files::write_whole(&folder.join(PROGRESS), &text);
    }
}

/// Takes back what [`tell`] has said: the process has ended.
pub fn tell_no_more(folder: &Path) {
    let _ = fs::remove_file(folder.join(PROGRESS));
}

/// What a process has said, as of now: it says it when a trial begins, and a trial may be long. One
/// that was killed has left it behind.
pub(crate) fn told(folder: &Path) -> Option<RunPosition> {
    let now: RunPosition = serde_json::from_slice(&run::read_file(folder, PROGRESS).ok()?).ok()?;
    let said = fs::metadata(folder.join(PROGRESS)).and_then(|data| data.modified()).ok();
    let said = said.and_then(|said| said.duration_since(UNIX_EPOCH).ok());
    let since = said.map_or(0, |said| facts::unix_seconds().saturating_sub(said.as_secs()));
    Some(now.after(since as f64))
}

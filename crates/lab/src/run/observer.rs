//! What is told of a run as it goes on.

use std::path::Path;
use std::time::Duration;

use results::course::CourseEvent;
use results::{Configuration, Plan, Trial};
use words::Text;

use crate::estimate::TimeLeft;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every trial is there.
    Complete,
    /// It was asked to stop and can be resumed.
    Interrupted,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The block under way, from 1.
    pub block: u32,
    /// The configuration under way.
    pub configuration: &'a Configuration,
    /// Its place in the block, from 1.
    pub visit: usize,
    /// The workload under way.
    pub workload: &'a str,
    /// Blocks of the run, as far as it is known: the most, before a race is over.
    pub blocks: u32,
    /// Trials that are recorded.
    pub finished: usize,
    /// Trials of the run, as far as it is known.
    pub trials: usize,
    /// Time since this process began.
    pub elapsed: Duration,
    /// Time left.
    pub left: TimeLeft,
}

/// What is told of a run as it goes on.
pub trait Observer {
    /// The run begins, or goes on with `finished` of at most `trials` trials there already.
    fn begun(&mut self, folder: &Path, [finished, trials]: [usize; 2], left: TimeLeft) {
        let _ = (folder, finished, trials, left);
    }
    /// A trial begins.
    fn trial_begun(&mut self, plan: &Plan, progress: &Progress<'_>) {
        let _ = (plan, progress);
    }
    /// A trial is recorded.
    fn trial_recorded(&mut self, plan: &Plan, progress: &Progress<'_>, trial: &Trial) {
        let _ = (plan, progress, trial);
    }
    /// Something was decided about the trials that follow.
    fn decided(&mut self, plan: &Plan, step: &CourseEvent) {
        let _ = (plan, step);
    }
    /// Something the user should know.
    fn note(&mut self, text: &Text) {
        let _ = text;
    }
}

/// Watches without a word.
#[derive(Debug)]
pub struct NoObserver;

impl Observer for NoObserver {}

//! What states come to: samples of them, and the whole test.

use std::path::PathBuf;

use pull::{Cut, Judgement, Mark, NoVerdict, ScoreCard, promises, score};
use serde::{Deserialize, Serialize};

use super::recording::Recording;

/// A sample: its states, and what they come to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// What they come to.
    pub card: ScoreCard,
    /// States whose second try came out otherwise; none of what they showed is counted.
    pub unsteady: u64,
    /// States of which the check of a program of the user's own gave no verdict; they are no pulls.
    #[serde(default)]
    pub unjudged: u64,
    /// Why not, each reason once.
    #[serde(default)]
    pub unjudged_why: Vec<NoVerdict>,
}

/// What came out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// The user's figure: cuts uniform in time.
    pub figure: Option<Sample>,
    /// The hunt: hot cuts, hostile policies.
    pub hunt: Option<Sample>,
    /// How long the recordings were, in seconds.
    pub recorded_seconds: f64,
    /// Requests that changed something, and flushes, at all drives.
    pub requests: u64,
    /// Flushes among them.
    pub flushes: u64,
    /// Bytes written to the drives.
    pub written_bytes: u64,
    /// Promises that were made.
    pub promises: u64,
    /// What was kept of states that broke something.
    pub kept: Vec<PathBuf>,
    /// Whether the user ended it early.
    pub interrupted: bool,
}

/// Judgements as they come in, each with the time of its cut.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) states: Vec<(u64, Judgement)>,
    pub(super) unsteady: u64,
    pub(super) unjudged: u64,
    pub(super) unjudged_why: Vec<NoVerdict>,
}

impl Samples {
    /// Puts those of a further recording behind these.
    pub(super) fn append(&mut self, more: Samples) {
        self.states.extend(more.states);
        self.unsteady += more.unsteady;
        self.unjudged += more.unjudged;
        let why = more.unjudged_why.into_iter();
        let why: Vec<_> = why.filter(|why| !self.unjudged_why.contains(why)).collect();
        self.unjudged_why.extend(why);
    }

    pub(super) fn add_unjudged(&mut self, why: NoVerdict) {
        self.unjudged += 1;
        if !self.unjudged_why.contains(&why) {
            self.unjudged_why.push(why);
        }
    }

    pub(super) fn ended(self) -> Option<Sample> {
        let Samples { states, unsteady, unjudged, unjudged_why } = self;
        let card = (!states.is_empty()).then(|| score(&states))?;
        Some(Sample { card, unsteady, unjudged, unjudged_why })
    }
}

impl Outcome {
    /// Adds what was counted of a further recording.
    pub(super) fn append(&mut self, more: Outcome) {
        self.recorded_seconds += more.recorded_seconds;
        self.requests += more.requests;
        self.flushes += more.flushes;
        self.written_bytes += more.written_bytes;
        self.promises += more.promises;
        self.kept.extend(more.kept);
    }

    pub(super) fn add(&mut self, recording: &Recording) {
        let log = &recording.log;
        let time = |event: u32| Cut::behind(log, event).time_nanoseconds;
        self.recorded_seconds +=
            (time(recording.between.1) - time(recording.between.0)) as f64 / 1e9;
        for request in log.requests() {
            self.requests += 1;
            self.flushes += u64::from(request.action == pull::Action::Flush);
            if request.action == pull::Action::Write {
                self.written_bytes += request.length;
            }
        }
        let is_promise = |mark: &Mark| matches!(mark, Mark::Synced { .. } | Mark::Removed { .. });
        self.promises +=
            recording.marks.iter().filter(|(.., mark)| is_promise(mark)).count() as u64;
        self.promises += promises(&recording.statements, u32::MAX).len() as u64;
    }
}

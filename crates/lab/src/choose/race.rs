//! A recording is replayed in parts first: what is far behind with one request of a hundred is not
//! run with all of them.
//!
//! ```text
//!   1 of 100 ──> at least half as fast as the best ──> 10 of 100 ──> at least 80 % ──> all of it
//!                or the best of its scheme, or md's chunk            or the same
//! ```

use std::sync::atomic::AtomicBool;

use host::Error;
use results::analysis::analyse;
use results::choice::{Condition, RemovedLayout};

use super::answer::of_all_work;
use super::candidates::{Candidates, Shape};
use super::question::Question;
use crate::run::{NoObserver, RunOptions, start};

/// How many of 100 requests a round replays, and how fast what goes on must be, of the best.
const ROUNDS: [(u64, f64); 2] = [(1, 0.5), (10, 0.8)];
/// A round of fewer requests tells too little.
const REQUESTS_MIN: u64 = 1000;

/// A layout in a round.
struct Runner {
    shape: Shape,
    chunk_bytes: Option<u64>,
    score: f64,
}

impl Question {
    /// Leaves out what parts of a recording show to be far behind. Of each scheme the best stays,
    /// so that the answer can say how it compares. Of other work, and of drives that are measured,
    /// nothing is left out.
    ///
    /// # Errors
    /// As [`Question::plan`], and what a run of it could not do.
    pub fn race(&mut self, stop: &AtomicBool) -> Result<(), Error> {
        let Some(recording) = &self.work.recording else { return Ok(()) };
        if !self.drives.are_modelled() {
            return Ok(());
        }
        let requests = recording.requests;
        for (percent, least) in ROUNDS {
            if requests * percent / 100 >= REQUESTS_MIN {
                let left_out = self.round(percent, least, stop)?;
                self.raced.extend(left_out);
            }
        }
        Ok(())
    }

    fn round(
        &self,
        percent: u64,
        least: f64,
        stop: &AtomicBool,
    ) -> Result<Vec<RemovedLayout>, Error> {
        let candidates = Candidates { is_whole: true, ..self.candidates()? };
        let (_, resolved) = self.plan_of(&candidates, Some(percent))?;
        let folder =
            tempfile::tempdir().map_err(|error| Error::from_io("a folder for the race", &error))?;
        let output = Some(folder.path().join("race"));
        let options = RunOptions { output, ..RunOptions::default() };
        let run = start(&resolved, &options, stop, &mut NoObserver)?.run;
        let analysis = analyse(&run);
        let Ok((_, overall)) = of_all_work(&analysis) else { return Ok(Vec::new()) };
        let mut runners = Vec::new();
        for shape in &candidates.kept {
            for chunk_bytes in self.chunks(*shape) {
                let found = self.configuration(&run, *shape, chunk_bytes);
                let score = found.and_then(|found| overall.score(&found.id));
                if let Some(score) = score {
                    runners.push(Runner { shape: *shape, chunk_bytes, score: score.ratio });
                }
            }
        }
        let best = runners.iter().map(|runner| runner.score).fold(0.0, f64::max);
        let goes_on = |runner: &Runner| {
            let same = runners.iter().filter(|other| other.shape == runner.shape);
            let best_of_shape = same.map(|other| other.score).fold(0.0, f64::max);
            // With md's chunk it is run with a drive missing as well.
            runner.score >= best_of_shape
                || runner.score >= least * best
                || runner.chunk_bytes == Some(mdtools::CHUNK_BYTES)
        };
        let left_out = runners.iter().filter(|runner| !goes_on(runner));
        let removed = left_out.map(|runner| RemovedLayout {
            layout: self.facts(runner.shape, runner.chunk_bytes),
            by: Condition::Slower { percent },
        });
        Ok(removed.collect())
    }
}

//! A recording is replayed in parts first: what is far behind with one request of a hundred is not
//! run with all of them.
//!
//! ```text
//!   1 of 100 ──> at least half as fast as the best, 48 at most ──> 10 of 100 ──> at least 80 %, 12 at most ──> all of it
//!                and the best of each scheme                                     the same
//! ```
//!
//! Where more than so many are fast enough, those go on that are faster, and of what is about as
//! fast as the best those that would be taken: what offers most space.

use crate::catalogue;
use std::cmp::Reverse;
use std::sync::atomic::AtomicBool;

use host::Error;
use results::analysis::analyse;
use results::choice::{Choice, Condition, RemovedLayout, Scheme};

use super::ChosenLayout;
use super::answer::{AS_FAST, of_all_work};
use super::candidates::Shape;
use super::question::Question;
use super::scratch_run::passing_run;

/// A round of the race.
struct Round {
    /// How many of 100 requests it replays.
    percent: u64,
    /// How fast what goes on must be, of the best.
    least: f64,
    /// How many of the fastest go on, and how many of those that would be taken.
    most: usize,
}

const ROUNDS: [Round; 2] =
    [Round { percent: 1, least: 0.5, most: 48 }, Round { percent: 10, least: 0.8, most: 12 }];
/// A round of fewer requests tells too little.
const REQUESTS_MIN: u64 = 1000;
/// What is as fast with all requests may be so much slower with a part of them.
const ABOUT_AS_FAST: f64 = 2.0 * AS_FAST;

/// A layout in a round.
pub(super) struct Runner {
    pub(super) shape: Shape,
    pub(super) chunk_bytes: Option<u64>,
    pub(super) score: f64,
}

impl Runner {
    /// Whether both are of one scheme, over however many drives.
    fn is_like(&self, other: &Runner) -> bool {
        let kind = |runner: &Runner| {
            let Shape { scheme, copies, spares, .. } = runner.shape;
            // A mirror has as many copies as drives.
            (scheme, if scheme == Scheme::Mirror { 0 } else { copies }, spares)
        };
        kind(self) == kind(other)
    }
}

impl Round {
    /// Which of the runners go on.
    fn survivors<P: Ord>(
        &self,
        runners: &[Runner],
        preference: impl Fn(&Runner) -> P,
    ) -> Vec<bool> {
        let best = runners.iter().map(|runner| runner.score).fold(0.0, f64::max);
        let mut fastest: Vec<usize> = (0..runners.len()).collect();
        fastest.sort_by(|one, other| runners[*other].score.total_cmp(&runners[*one].score));
        let is_near = |place: &&usize| runners[**place].score * (1.0 + ABOUT_AS_FAST) >= best;
        let mut preferred: Vec<usize> = fastest.iter().filter(is_near).copied().collect();
        preferred.sort_by_key(|place| Reverse(preference(&runners[*place])));
        let mut goes_on = vec![false; runners.len()];
        for place in fastest.iter().take(self.most).chain(preferred.iter().take(self.most)) {
            goes_on[*place] = runners[*place].score >= self.least * best;
        }
        // The answer says how each scheme compares.
        for (place, runner) in runners.iter().enumerate() {
            let mut like = runners.iter().filter(|other| runner.is_like(other));
            goes_on[place] |= like.all(|other| other.score <= runner.score);
        }
        goes_on
    }
}

impl Question {
    /// What models alone come to: the answer of a run of which nothing stays. No drive is opened.
    ///
    /// # Errors
    /// A usage error where it is not of models, and as [`Question::race`] and
    /// [`Question::answer`].
    pub fn answer_by_models(mut self, stop: &AtomicBool) -> Result<(Choice, ChosenLayout), Error> {
        if !self.drives.are_modelled() {
            return Err(Error::usage(catalogue::WOULD_BE_MEASURED));
        }
        self.race(stop)?;
        let run = passing_run(&self.plan()?.1, stop)?;
        let (mut choice, layout) = self.answer(&run)?;
        self.add_upkeep_cost(&mut choice, stop)?;
        self.draw(&mut choice, stop)?;
        Ok((choice, layout))
    }

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
        for round in &ROUNDS {
            if requests * round.percent / 100 >= REQUESTS_MIN {
                let left_out = self.run_round(round, stop)?;
                self.raced.extend(left_out);
            }
        }
        Ok(())
    }

    fn run_round(&self, round: &Round, stop: &AtomicBool) -> Result<Vec<RemovedLayout>, Error> {
        let runners = self.runners(&[("share", round.percent)], stop)?;
        let preference = |runner: &Runner| self.preference(runner.shape, runner.chunk_bytes);
        let goes_on = round.survivors(&runners, preference);
        let left_out = runners.iter().zip(goes_on).filter(|(_, goes_on)| !goes_on);
        let removed = left_out.map(|(runner, _)| RemovedLayout {
            layout: self.facts(runner.shape, runner.chunk_bytes),
            by: Condition::Slower { percent: round.percent },
        });
        Ok(removed.collect())
    }

    /// Every candidate's score, with all of its drives, where the workloads have these settings.
    pub(super) fn runners(
        &self,
        settings: &[(&str, u64)],
        stop: &AtomicBool,
    ) -> Result<Vec<Runner>, Error> {
        let candidates = self.candidates()?;
        let (_, resolved) = self.plan_of(&candidates, settings)?;
        let run = passing_run(&resolved, stop)?;
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
        Ok(runners)
    }
}

#[cfg(test)]
mod tests {
    use reactor::Random;

    use super::super::candidates::CHUNKS;
    use super::*;

    const SCHEMES: [Scheme; 5] = [
        Scheme::Stripe,
        Scheme::NearCopies,
        Scheme::FarCopies,
        Scheme::Parity,
        Scheme::DoubleParity,
    ];

    /// Every scheme over so many of the drives, with every chunk.
    fn runners(
        members: std::ops::RangeInclusive<usize>,
        score: &mut impl FnMut() -> f64,
    ) -> Vec<Runner> {
        let mut all = Vec::new();
        for members in members {
            for scheme in SCHEMES {
                for chunk_bytes in CHUNKS.map(Some) {
                    let shape = Shape { scheme, copies: 2, members, spares: 0 };
                    all.push(Runner { shape, chunk_bytes, score: score() });
                }
            }
        }
        all
    }

    /// More drives, more space: as good as the real order where sizes are about the same.
    fn preference(runner: &Runner) -> impl Ord + use<> {
        (runner.shape.members, Reverse(runner.shape.scheme), Reverse(runner.chunk_bytes))
    }

    /// As [`Question::pick`](super::super::Question) has it.
    fn pick(runners: &[Runner]) -> usize {
        let best = runners.iter().map(|runner| runner.score).fold(0.0, f64::max);
        let as_fast = |place: &usize| runners[*place].score * (1.0 + AS_FAST) >= best;
        (0..runners.len()).filter(as_fast).max_by_key(|place| preference(&runners[*place])).unwrap()
    }

    /// Where a part of the requests tells every speed to 1 %, 500 layouts are left of whom few go
    /// on, and what would be picked of all with all requests is among them.
    #[test]
    fn few_of_many_go_on_and_the_pick_is_among_them() {
        for seed in 0..300 {
            let mut random = Random::with_seed(seed);
            let whole = runners(2..=34, &mut || 0.2 + random.f64() * 0.8);
            assert!(whole.len() >= 495);
            let expected = pick(&whole);
            let mut left: Vec<usize> = (0..whole.len()).collect();
            for round in &ROUNDS {
                let part = |place: &usize| {
                    let Runner { shape, chunk_bytes, score } = whole[*place];
                    Runner { shape, chunk_bytes, score: score * (0.99 + random.f64() * 0.02) }
                };
                let part: Vec<Runner> = left.iter().map(part).collect();
                let goes_on = round.survivors(&part, preference);
                left =
                    left.iter().zip(goes_on).filter(|(_, on)| *on).map(|(one, _)| *one).collect();
                assert!(
                    left.len() <= 4 * round.most + 2 * SCHEMES.len(),
                    "seed {seed}: {}",
                    left.len()
                );
            }
            assert!(left.contains(&expected), "seed {seed}");
            let left: Vec<Runner> = left.iter().map(|place| Runner { ..whole[*place] }).collect();
            for scheme in SCHEMES {
                assert!(left.iter().any(|runner| runner.shape.scheme == scheme), "seed {seed}");
            }
        }
    }

    /// Of a few drives of one size all that is fast enough goes on.
    #[test]
    fn of_few_layouts_only_what_is_slow_is_left_behind() {
        for seed in 0..100 {
            let mut random = Random::with_seed(seed);
            let all = runners(4..=4, &mut || random.f64());
            for round in &ROUNDS {
                let best = all.iter().map(|runner| runner.score).fold(0.0, f64::max);
                for (runner, goes_on) in all.iter().zip(round.survivors(&all, preference)) {
                    let own = all.iter().filter(|other| other.shape == runner.shape);
                    let best_of_shape = own.map(|other| other.score).fold(0.0, f64::max);
                    let expected =
                        runner.score >= best_of_shape || runner.score >= round.least * best;
                    if all.len() <= round.most || runner.score < round.least * best {
                        assert_eq!(goes_on, expected, "seed {seed}");
                    }
                }
            }
        }
    }
}

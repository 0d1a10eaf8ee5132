//! How long a run still takes, as a range.
//!
//! ```text
//!   a step    what is done (preparing, one workload, …) in one configuration, and where it runs
//!   known by  its own past durations                                     median
//!             those of the same work in other configurations             what the plan says x what those took
//!             those of other work in the same place                      of what the plan says of them
//!             nothing                                                    what the plan says
//! ```
//!
//! What is left is the sum over the steps left; the range is that sum ± 2·√(Σ 2.2·MAD²), where 2.2
//! = 1.4826² turns a median absolute deviation into a variance as for a normal distribution. Where
//! most rests on the plan's figures, corrected or not, the whole is called rough.

use std::collections::BTreeMap;
use std::time::Duration;

/// What sets the pace of a step: what the plan's figures are off by is another thing in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Pace {
    /// On modelled disks, in this process.
    Modelled,
    /// In a guest.
    Guest,
    /// On this machine, in its own time.
    Measured,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Task {
    /// A file system is made and mounted, and taken away.
    Mounting,
    /// A suite writes its content.
    Preparing,
    /// The workload of this place in the plan.
    Workload(usize),
}

/// A kind of step, whatever the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) pace: Pace,
    pub(crate) task: Task,
}

/// Time left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLeft {
    /// The lower end.
    pub low: Duration,
    /// The upper end.
    pub high: Duration,
    /// Whether it rests on the plan's figures more than on what was seen.
    pub rough: bool,
}

/// Past durations by kind and configuration, and how many steps of each are left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    steps: BTreeMap<(Kind, usize), Steps>,
}

#[derive(Clone, Debug, Default)]
struct Steps {
    left: u64,
    planned_seconds: f64,
    seen_seconds: Vec<f64>,
}

/// How long steps took, and how long the plan had said.
#[derive(Clone, Copy, Debug, Default)]
struct StepTimes {
    steps: f64,
    seen_seconds: f64,
    planned_seconds: f64,
}

impl StepTimes {
    fn add(&mut self, steps: &Steps) {
        let count = steps.seen_seconds.len() as f64;
        self.steps += count;
        self.seen_seconds += steps.seen_seconds.iter().sum::<f64>();
        self.planned_seconds += count * steps.planned_seconds;
    }

    /// How long a step takes by these, for which the plan says so much.
    fn corrected(&self, planned_seconds: f64) -> Option<f64> {
        if self.steps == 0.0 {
            return None;
        }
        Some(match self.planned_seconds > 0.0 && planned_seconds > 0.0 {
            true => planned_seconds * self.seen_seconds / self.planned_seconds,
            false => self.seen_seconds / self.steps,
        })
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

impl Estimate {
    /// Forgets what will have to be done, and not how long things took.
    pub(crate) fn plan_anew(&mut self) {
        self.steps.values_mut().for_each(|steps| steps.left = 0);
    }

    /// Adds one step of a configuration that will have to be done and, by the plan, takes
    /// `planned`.
    pub(crate) fn plan(&mut self, kind: Kind, configuration: usize, planned: Duration) {
        let steps = self.steps.entry((kind, configuration)).or_default();
        steps.left += 1;
        steps.planned_seconds = planned.as_secs_f64();
    }

    /// One step was done and took `took`.
    pub(crate) fn done(&mut self, kind: Kind, configuration: usize, took: Duration) {
        if let Some(steps) = self.steps.get_mut(&(kind, configuration)) {
            steps.left = steps.left.saturating_sub(1);
            steps.seen_seconds.push(took.as_secs_f64());
        }
    }

    /// One step is passed over: it says nothing of how long others take.
    pub(crate) fn passed(&mut self, kind: Kind, configuration: usize) {
        if let Some(steps) = self.steps.get_mut(&(kind, configuration)) {
            steps.left = steps.left.saturating_sub(1);
        }
    }

    /// What is left.
    pub(crate) fn left(&self) -> TimeLeft {
        let mut kinds: BTreeMap<Kind, StepTimes> = BTreeMap::new();
        let mut paces: BTreeMap<Pace, StepTimes> = BTreeMap::new();
        for ((kind, _), steps) in &self.steps {
            kinds.entry(*kind).or_default().add(steps);
            // A few milliseconds of preparing say nothing of a workload.
            if matches!(kind.task, Task::Workload(_)) {
                paces.entry(kind.pace).or_default().add(steps);
            }
        }
        let (mut sum, mut variance, mut unseen) = (0.0, 0.0, 0.0);
        for ((kind, _), steps) in self.steps.iter().filter(|(_, steps)| steps.left > 0) {
            let left = steps.left as f64;
            if !steps.seen_seconds.is_empty() {
                let middle = median(&steps.seen_seconds);
                let deviations: Vec<f64> =
                    steps.seen_seconds.iter().map(|seconds| (seconds - middle).abs()).collect();
                sum += left * middle;
                variance += left * 2.2 * median(&deviations).powi(2);
                continue;
            }
            let planned = steps.planned_seconds;
            if let Some(alike) = kinds[kind].corrected(planned) {
                sum += left * alike;
                // Another configuration may take half or twice as long, each for itself.
                variance += left * (0.5 * alike).powi(2);
                continue;
            }
            let others = paces.get(&kind.pace).filter(|_| matches!(kind.task, Task::Workload(_)));
            let expected = others.and_then(|known| known.corrected(planned)).unwrap_or(planned);
            sum += left * expected;
            unseen += left * expected;
        }
        let rough = unseen > 0.1 * sum;
        // The plan's figures know nothing of slow machines: half to double.
        let spread = 2.0 * f64::sqrt(variance);
        let (low, high) = ((sum - spread - unseen * 0.5).max(0.0), sum + spread + unseen);
        TimeLeft { low: Duration::from_secs_f64(low), high: Duration::from_secs_f64(high), rough }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn kind(workload: usize) -> Kind {
        Kind { pace: Pace::Guest, task: Task::Workload(workload) }
    }

    #[test]
    fn before_anything_ran_it_is_the_plan_and_rough() {
        let mut estimate = Estimate::default();
        (0..10).for_each(|_| estimate.plan(kind(0), 0, SECOND));
        assert_eq!(estimate.left(), TimeLeft { low: SECOND * 5, high: SECOND * 20, rough: true });
    }

    #[test]
    fn equal_steps_leave_no_range() {
        let mut estimate = Estimate::default();
        (0..10).for_each(|_| estimate.plan(kind(0), 0, SECOND));
        (0..4).for_each(|_| estimate.done(kind(0), 0, SECOND * 3));
        assert_eq!(estimate.left(), TimeLeft { low: SECOND * 18, high: SECOND * 18, rough: false });
    }

    #[test]
    fn the_range_is_that_of_the_formula() {
        let mut estimate = Estimate::default();
        (0..13).for_each(|_| estimate.plan(kind(0), 0, SECOND));
        for seconds in [1.0, 2.0, 4.0] {
            estimate.done(kind(0), 0, Duration::from_secs_f64(seconds));
        }
        // Median 2, deviations 1, 0, 2: MAD 1. Ten left: 20 ± 2·√(10·2.2).
        let spread = 2.0 * 22.0_f64.sqrt();
        let left = estimate.left();
        assert!(
            (left.low.as_secs_f64() - (20.0 - spread)).abs() < 1e-6
                && (left.high.as_secs_f64() - (20.0 + spread)).abs() < 1e-6,
            "{left:?}"
        );
        assert!(!left.rough);
    }

    #[test]
    fn kinds_are_estimated_apart_and_nothing_is_left_at_the_end() {
        let mut estimate = Estimate::default();
        (0..2).for_each(|_| estimate.plan(kind(0), 0, SECOND));
        (0..2).for_each(|_| estimate.plan(kind(1), 0, SECOND));
        estimate.done(kind(0), 0, SECOND * 10);
        estimate.done(kind(1), 0, Duration::from_millis(1));
        assert_eq!(estimate.left().high, Duration::from_millis(10_001));
        estimate.done(kind(0), 0, SECOND);
        estimate.done(kind(1), 0, SECOND);
        assert_eq!(
            estimate.left(),
            TimeLeft { low: Duration::ZERO, high: Duration::ZERO, rough: false }
        );
    }

    /// "`watch` said 17 min of 43 s": a plan that is wrong by a factor of 24 is right once the
    /// first of 24 configurations was measured, and each counts with its own time once it is known.
    #[test]
    fn what_the_plan_is_off_by_is_learned_from_the_first_trials() {
        let mut estimate = Estimate::default();
        for configuration in 0..24 {
            (0..16).for_each(|row| estimate.plan(kind(row), configuration, SECOND * 2));
        }
        let took = Duration::from_secs_f64(2.0 / 24.0);
        (0..16).for_each(|row| estimate.done(kind(row), 0, took));
        let left = estimate.left();
        let expected = 23.0 * 16.0 * took.as_secs_f64();
        assert!(left.low.as_secs_f64() > expected / 1.5, "{left:?}");
        assert!(left.high.as_secs_f64() < expected * 1.5 && !left.rough, "{left:?}");

        // One row alone was seen: it corrects what the plan says of the others.
        let mut estimate = Estimate::default();
        (0..16).for_each(|row| estimate.plan(kind(row), 0, SECOND * 2));
        estimate.done(kind(0), 0, took);
        let left = estimate.left();
        assert!(
            left.high.as_secs_f64() < 2.1 * 15.0 * took.as_secs_f64() && left.rough,
            "{left:?}"
        );

        // Preparing that took a hundred times as long as planned is no sign of it either.
        let mut estimate = Estimate::default();
        let preparing = Kind { pace: Pace::Guest, task: Task::Preparing };
        estimate.plan(preparing, 0, Duration::from_millis(2));
        estimate.plan(kind(0), 0, SECOND * 600);
        estimate.done(preparing, 0, Duration::from_millis(200));
        assert_eq!(estimate.left().high, SECOND * 1200);

        // What is passed over takes no time, and is no sign of how long others take.
        let mut estimate = Estimate::default();
        (0..2).for_each(|configuration| estimate.plan(kind(0), configuration, SECOND));
        estimate.passed(kind(0), 0);
        assert_eq!(estimate.left(), TimeLeft { low: SECOND / 2, high: SECOND * 2, rough: true });

        // A slow configuration is not taken for the others, nor they for it.
        let mut estimate = Estimate::default();
        for configuration in 0..2 {
            (0..2).for_each(|_| estimate.plan(kind(0), configuration, SECOND));
            estimate.done(kind(0), configuration, SECOND * [1, 9][configuration]);
        }
        assert_eq!(estimate.left().high, SECOND * 10);
    }
}

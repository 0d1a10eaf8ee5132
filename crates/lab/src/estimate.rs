//! How long a run still takes, as a range.
//!
//! For each kind of step (preparing on one clock, one workload on one clock) the past durations are
//! kept. What is left is the sum of the medians of the steps left; the range is that sum ± 2·√(Σ
//! 2.2·MAD²), where 2.2 = 1.4826² turns a median absolute deviation into a variance as for a normal
//! distribution. Until a kind has run once, the plan's own figure stands in for it and the whole is
//! called rough.

use std::collections::BTreeMap;
use std::time::Duration;

/// A kind of step, for example `random read 512` on the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Kind(pub(crate) usize);

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

/// Past durations by kind, and how many steps of each kind are left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    kinds: BTreeMap<Kind, Steps>,
}

#[derive(Clone, Debug)]
struct Steps {
    left: u64,
    planned_seconds: f64,
    seen_seconds: Vec<f64>,
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
        self.kinds.values_mut().for_each(|steps| steps.left = 0);
    }

    /// Adds one step that will have to be done and, by the plan, takes `planned`.
    pub(crate) fn plan(&mut self, kind: Kind, planned: Duration) {
        let steps = self.kinds.entry(kind);
        let steps = steps.or_insert(Steps {
            left: 0,
            planned_seconds: planned.as_secs_f64(),
            seen_seconds: Vec::new(),
        });
        steps.left += 1;
    }

    /// One step was done and took `took`.
    pub(crate) fn done(&mut self, kind: Kind, took: Duration) {
        if let Some(steps) = self.kinds.get_mut(&kind) {
            steps.left = steps.left.saturating_sub(1);
            steps.seen_seconds.push(took.as_secs_f64());
        }
    }

    /// What is left.
    pub(crate) fn left(&self) -> TimeLeft {
        let (mut sum, mut variance, mut unseen) = (0.0, 0.0, 0.0);
        for steps in self.kinds.values().filter(|steps| steps.left > 0) {
            let left = steps.left as f64;
            if steps.seen_seconds.is_empty() {
                sum += left * steps.planned_seconds;
                unseen += left * steps.planned_seconds;
                continue;
            }
            let middle = median(&steps.seen_seconds);
            let deviations: Vec<f64> =
                steps.seen_seconds.iter().map(|seconds| (seconds - middle).abs()).collect();
            sum += left * middle;
            variance += left * 2.2 * median(&deviations).powi(2);
        }
        let rough = unseen > 0.1 * sum;
        // The plan's figures know nothing of preparing, reading back and slow machines: half to
        // double.
        let spread = 2.0 * f64::sqrt(variance);
        let (low, high) = ((sum - spread - unseen * 0.5).max(0.0), sum + spread + unseen);
        TimeLeft { low: Duration::from_secs_f64(low), high: Duration::from_secs_f64(high), rough }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn before_anything_ran_it_is_the_plan_and_rough() {
        let mut estimate = Estimate::default();
        (0..10).for_each(|_| estimate.plan(Kind(0), SECOND));
        assert_eq!(estimate.left(), TimeLeft { low: SECOND * 5, high: SECOND * 20, rough: true });
    }

    #[test]
    fn equal_steps_leave_no_range() {
        let mut estimate = Estimate::default();
        (0..10).for_each(|_| estimate.plan(Kind(0), SECOND));
        (0..4).for_each(|_| estimate.done(Kind(0), SECOND * 3));
        assert_eq!(estimate.left(), TimeLeft { low: SECOND * 18, high: SECOND * 18, rough: false });
    }

    #[test]
    fn the_range_is_that_of_the_formula() {
        let mut estimate = Estimate::default();
        (0..13).for_each(|_| estimate.plan(Kind(0), SECOND));
        for seconds in [1.0, 2.0, 4.0] {
            estimate.done(Kind(0), Duration::from_secs_f64(seconds));
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
        (0..2).for_each(|_| estimate.plan(Kind(0), SECOND));
        (0..2).for_each(|_| estimate.plan(Kind(1), SECOND));
        estimate.done(Kind(0), SECOND * 10);
        estimate.done(Kind(1), Duration::from_millis(1));
        assert_eq!(estimate.left().high, Duration::from_millis(10_001));
        estimate.done(Kind(0), SECOND);
        estimate.done(Kind(1), SECOND);
        assert_eq!(
            estimate.left(),
            TimeLeft { low: Duration::ZERO, high: Duration::ZERO, rough: false }
        );
    }
}

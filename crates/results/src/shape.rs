//! What charts point out in medians: the knee of a load curve, the front of throughput against
//! latency, the main effects of axes. Descriptions of what was measured; none of them is a claim.

use crate::analysis::{Comparison, Metric};
use crate::statistics;
use crate::types::{BetterDirection, Plan};
use crate::voices::better_in;

/// Where more requests stop paying: the index of the point with the most operations per second for
/// its mean latency, the largest `io_per_second / latency_seconds` (the "power" of Kleinrock 1979);
/// of equal ones the first. `None` without points that took time.
#[must_use]
pub fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let power = |(rate, latency): (f64, f64)| rate / latency;
    let usable = points
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, point)| point.1 > 0.0 && power(*point).is_finite());
    // Of equal ones the first stays.
    usable
        .reduce(|best, next| if power(next.1) > power(best.1) { next } else { best })
        .map(|(index, _)| index)
}

/// Of points of a rate and a latency, those that no other one is at least as good as in both and
/// better than in one (Pareto), in the order of their latencies.
#[must_use]
pub fn front(points: &[(f64, f64)]) -> Vec<usize> {
    let beats = |one: (f64, f64), other: (f64, f64)| {
        one.0 >= other.0 && one.1 <= other.1 && (one.0 > other.0 || one.1 < other.1)
    };
    let mut front: Vec<usize> = (0..points.len())
        .filter(|index| !points.iter().any(|other| beats(*other, points[*index])))
        .collect();
    front.sort_by(|left, right| points[*left].1.total_cmp(&points[*right].1));
    front
}

/// What the values of one axis come to, everything else together.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Name of the axis.
    pub axis: String,
    /// The values that configurations of the comparison have, in the plan's order.
    pub values: Vec<ValueEffect>,
    /// Whether each value stands beside the same values of all other axes. Where it does not, what
    /// is shown for this axis has effects of the others in it.
    pub balanced: bool,
}

/// What one value of an axis comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueEffect {
    /// The value.
    pub value: String,
    /// Number of configurations that have it.
    pub configurations: usize,
    /// Geometric mean of their medians over that of all configurations that have the axis, over all
    /// workloads that all of these have; above 1 is better.
    pub ratio: f64,
}

/// The main effects of the axes by which the configurations of a comparison differ, weighted by
/// workload as scores are. Axes of one value and comparisons without a common workload have none.
#[must_use]
pub fn main_effects(plan: &Plan, comparison: &Comparison) -> Vec<Effect> {
    let own = |configuration: &str, workload: &str| -> Option<&Metric> {
        comparison.cell(configuration, workload)?.metrics.first()
    };
    let effect = |axis: &str, known: &[String]| -> Option<Effect> {
        let members: Vec<_> = comparison
            .configurations
            .iter()
            .filter(|member| member.settings.contains_key(axis))
            .collect();
        // Sum of weighted logarithms of each configuration, over what all of them were measured in
        // by the same metric.
        let mut sums = vec![0.0; members.len()];
        let mut weights = 0.0;
        for workload in &plan.workloads {
            let metrics: Option<Vec<&Metric>> =
                members.iter().map(|member| own(&member.id, &workload.name)).collect();
            let metrics = metrics.filter(|metrics| {
                metrics.iter().all(|metric| metric.name == metrics[0].name && metric.median > 0.0)
            });
            let Some(metrics) = metrics.filter(|_| workload.weight > 0.0) else { continue };
            let better = metrics.first().map(|metric| better_in(workload, &metric.name))?;
            let sign = if better == BetterDirection::Lower { -1.0 } else { 1.0 };
            weights += workload.weight;
            for (sum, metric) in sums.iter_mut().zip(metrics) {
                *sum += sign * workload.weight * metric.median.ln();
            }
        }
        if weights == 0.0 {
            return None;
        }
        let all = statistics::mean(&sums);
        let mut contexts: Vec<Vec<Vec<(&String, &String)>>> = Vec::new();
        let mut values = Vec::new();
        for value in known {
            let having: Vec<usize> = (0..members.len())
                .filter(|index| members[*index].settings.get(axis) == Some(value))
                .collect();
            if having.is_empty() {
                continue;
            }
            let of: Vec<f64> = having.iter().map(|index| sums[*index]).collect();
            values.push(ValueEffect {
                value: value.clone(),
                configurations: having.len(),
                ratio: ((statistics::mean(&of) - all) / weights).exp(),
            });
            let others = |index: &usize| {
                members[*index].settings.iter().filter(|(name, _)| *name != axis).collect()
            };
            let mut context: Vec<Vec<(&String, &String)>> = having.iter().map(others).collect();
            context.sort_unstable();
            contexts.push(context);
        }
        (values.len() > 1).then(|| Effect {
            axis: axis.to_owned(),
            values,
            balanced: contexts.windows(2).all(|pair| pair[0] == pair[1]),
        })
    };
    plan.axes.iter().filter_map(|axis| effect(&axis.name, &axis.values)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_knee_has_the_most_operations_for_their_latency() {
        let curve = [(100.0, 0.010), (190.0, 0.0105), (300.0, 0.013), (310.0, 0.026)];
        assert_eq!(knee(&curve), Some(2));
        assert_eq!(knee(&[(100.0, 0.01), (100.0, 0.01)]), Some(0), "of equal ones the first");
        assert_eq!(knee(&[(100.0, 0.0)]), None);
        assert_eq!(knee(&[]), None);
    }

    /// Of random points, none of the front is beaten, and all that is not in it is.
    #[test]
    fn what_is_beaten_is_not_on_the_front() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            // Few values, so that equal points come up.
            let points: Vec<(f64, f64)> = (0..1 + seed % 12)
                .map(|_| ((random.uniform() * 5.0).floor(), (random.uniform() * 5.0).floor()))
                .collect();
            let front = front(&points);
            let beaten = |index: usize| {
                points.iter().any(|other| {
                    let (one, own) = (*other, points[index]);
                    one != own && one.0 >= own.0 && one.1 <= own.1
                })
            };
            assert!(!front.is_empty(), "seed {seed}");
            for index in 0..points.len() {
                assert_eq!(front.contains(&index), !beaten(index), "seed {seed}, {points:?}");
            }
            assert!(
                front.windows(2).all(|pair| points[pair[0]].1 <= points[pair[1]].1),
                "seed {seed}"
            );
        }
    }
}

//! The statistics behind every number with an interval: pure functions over slices, no I/O, no
//! randomness.
//!
//! What a comparison comes to is decided in [`crate::claim`].
//!
//! Sources: Sen 1968 and Mann 1945 (slope and trend).

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// The confidence of every interval, unless it says otherwise.
pub const CONFIDENCE: f64 = 0.95;

/// Both ends of an interval; a point when they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether it is more than a point.
    #[must_use]
    pub fn has_width(&self) -> bool {
        self.high > self.low
    }

    /// Whether `value` lies inside, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The smallest interval that holds both.
    #[must_use]
    pub fn spanning(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The interval of `exp(x)`: from log differences to ratios.
    #[must_use]
    pub fn exp(&self) -> Self {
        Self { low: self.low.exp(), high: self.high.exp() }
    }

    /// The interval of `1 / x` for positive `x`: from "less is better" to "more is better".
    #[must_use]
    pub fn reciprocal(&self) -> Self {
        Self { low: 1.0 / self.high, high: 1.0 / self.low }
    }
}

/// A median and the interval that order statistics give it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// The median.
    pub median: f64,
    /// `x(l)..x(n+1-l)` with at least 95 %; none below 6 values, where not even smallest to largest
    /// reaches that.
    pub interval: Option<Interval>,
}

/// Median of single-cell figures with the order-statistic interval. `None` without values.
///
/// `l` is the largest number with `2 * P(X <= l-1) <= 5 %`, `X` binomial with `n` fair coins.
#[must_use]
pub fn median(values: &[f64]) -> Option<Median> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    let mut depth = 0;
    // Binomial probabilities in logarithms: 0.5^n itself is 0 from 1075 values up.
    let mut log_probability = -(count as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    while depth < count / 2 {
        below += log_probability.exp();
        if 2.0 * below > 1.0 - CONFIDENCE {
            break;
        }
        depth += 1;
        log_probability += ((count - depth + 1) as f64 / depth as f64).ln();
    }
    let interval =
        (depth > 0).then(|| Interval { low: sorted[depth - 1], high: sorted[count - depth] });
    Some(Median { median: median_of_sorted(&sorted), interval })
}

/// A steady change over the blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Theil-Sen slope, in units of the values per block.
    pub slope: f64,
    /// Two-sided p-value of Mann and Kendall's test of "no trend" (normal approximation, continuity
    /// corrected).
    pub p: f64,
}

/// Trend of values over their index. `None` below 4 values, where the test can say nothing.
#[must_use]
pub fn trend(values: &[f64]) -> Option<Trend> {
    let count = values.len();
    if count < 4 {
        return None;
    }
    let mut slopes = Vec::with_capacity(count * (count - 1) / 2);
    for (index, first) in values.iter().enumerate() {
        slopes.extend(
            values[index + 1..]
                .iter()
                .zip(1u32..)
                .map(|(second, distance)| (second - first) / f64::from(distance)),
        );
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let score =
        slopes.iter().map(|slope| if *slope == 0.0 { 0.0 } else { slope.signum() }).sum::<f64>();
    let count = count as f64;
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    let z = (score.abs() - 1.0).max(0.0) / variance.sqrt();
    Some(Trend { slope: median_of_sorted(&slopes), p: 2.0 * standard_normal().cdf(-z) })
}

/// One step somewhere among values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelStep {
    /// How many values lie before it.
    pub after: usize,
    /// Mean behind it less mean before it.
    pub change: f64,
    /// Two-sided p-value of "their order means nothing", by permutation.
    pub p: f64,
}

/// Fewest values among which a step can be told: of seven, even three high ones behind four low
/// ones come by chance in 6 % of all orders.
pub const STEP_VALUES_MIN: usize = 8;
/// Orders that a step is held against.
const ORDERS: u32 = 999;

/// The largest step among values, each split weighed by how well it is known. `None` below 8 values
/// and where all are equal.
#[must_use]
pub fn step(values: &[f64]) -> Option<LevelStep> {
    if values.len() < STEP_VALUES_MIN || values.iter().all(|value| *value == values[0]) {
        return None;
    }
    let (after, found) = largest_step(values);
    let (mut as_large, mut tried) = (1, 1);
    for order in 0..u64::from(ORDERS) {
        // Not random, so that the same figures say the same: an order by hashes.
        let mut places: Vec<usize> = (0..values.len()).collect();
        places.sort_by_cached_key(|place| {
            xxhash_rust::xxh3::xxh3_64_with_seed(&(*place as u64).to_le_bytes(), order)
        });
        let shuffled: Vec<f64> = places.into_iter().map(|place| values[place]).collect();
        // What is equal but for rounding is as large.
        as_large += u32::from(largest_step(&shuffled).1 >= found * (1.0 - 1e-9));
        tried += 1;
        if as_large > ORDERS / 10 {
            // It will not be a small one any more.
            break;
        }
    }
    let change = mean(&values[after..]) - mean(&values[..after]);
    Some(LevelStep { after, change, p: f64::from(as_large) / f64::from(tried) })
}

/// How many values lie before the split whose means differ most, for the number of values on either
/// side, and by how much in that measure.
fn largest_step(values: &[f64]) -> (usize, f64) {
    let (count, whole) = (values.len() as f64, values.iter().sum::<f64>());
    let (mut before, mut best) = (0.0, (1, 0.0));
    for (place, value) in values[..values.len() - 1].iter().enumerate() {
        before += value;
        let first = (place + 1) as f64;
        let last = count - first;
        let distance = (before / first - (whole - before) / last).abs();
        let weighed = distance * (first * last / count).sqrt();
        if weighed > best.1 {
            best = (place + 1, weighed);
        }
    }
    best
}

/// Autocorrelation of values and those before them (lag 1). `None` below 4 values and where all are
/// equal.
#[must_use]
pub fn autocorrelation(values: &[f64]) -> Option<f64> {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    (values.len() >= 4 && squares > 0.0).then(|| products / squares)
}

/// Indices of values further than 10 scaled median absolute deviations from the median. None when
/// over half the values are equal.
#[must_use]
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(centre) = median(values).map(|median| median.median) else { return Vec::new() };
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let spread = median(&distances).map_or(0.0, |median| 1.4826 * median.median);
    if spread == 0.0 {
        return Vec::new();
    }
    (0..values.len()).filter(|index| distances[*index] / spread > 10.0).collect()
}

/// Arithmetic mean; 0 without values.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Standard deviation with `n - 1`; 0 below 2 values.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> f64 {
    deviation_from(mean(values), values)
}

/// The same, of values whose mean is known.
pub(crate) fn deviation_from(centre: f64, values: &[f64]) -> f64 {
    // Equal values must give exactly 0, which the rounding of their mean would spoil.
    if values.len() < 2 || values.iter().all(|value| *value == values[0]) {
        return 0.0;
    }
    (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
        .sqrt()
}

fn standard_normal() -> Normal {
    Normal::standard()
}

/// Median of ascending values, which must not be empty.
fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1].midpoint(sorted[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64, tolerance: f64) -> bool {
        (left - right).abs() <= tolerance
    }

    #[test]
    fn medians_take_the_documented_order_statistics() {
        let values = |count: u32| (1..=count).rev().map(f64::from).collect::<Vec<_>>();
        for (counts, depth) in [(6..=8, 1.0), (9..=11, 2.0), (12..=14, 3.0)] {
            for count in counts {
                let median = median(&values(count));
                let expected = Interval { low: depth, high: f64::from(count) + 1.0 - depth };
                assert_eq!(
                    median.and_then(|median| median.interval),
                    Some(expected),
                    "{count} values"
                );
                assert_eq!(median.map(|median| median.median), Some(f64::from(count + 1) / 2.0));
            }
        }
        for count in 1..6 {
            assert_eq!(
                median(&values(count)).and_then(|median| median.interval),
                None,
                "{count} values"
            );
        }
        assert_eq!(median(&[]), None);
        let many = median(&values(3000))
            .and_then(|median| median.interval)
            .unwrap_or(Interval { low: 0.0, high: 0.0 });
        assert!((1440.0..1455.0).contains(&many.low), "{many:?}");
    }

    #[test]
    fn trend_is_found_where_there_is_one() {
        let rising =
            trend(&[0.0, 0.01, 0.02, 0.03, 0.04, 0.05]).unwrap_or(Trend { slope: 0.0, p: 1.0 });
        assert!(close(rising.slope, 0.01, 1e-12) && close(rising.p, 0.00853, 0.0005), "{rising:?}");
        let flat = trend(&[0.0; 6]).unwrap_or(Trend { slope: 1.0, p: 0.0 });
        assert_eq!((flat.slope, flat.p), (0.0, 1.0));
        assert_eq!(trend(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn a_step_is_found_where_it_is_and_not_in_noise() {
        let mut random = crate::random::Random::new(7);
        let mut noise =
            |count: usize| -> Vec<f64> { (0..count).map(|_| random.normal() * 0.01).collect() };
        for after in [3, 4, 5] {
            let mut values = noise(8);
            values[after..].iter_mut().for_each(|value| *value += 0.2);
            let found = step(&values).unwrap();
            assert!(found.after == after && found.p < 0.05, "{found:?}");
            assert!((found.change - 0.2).abs() < 0.03);
        }
        let wrong = (0..400).filter(|_| step(&noise(8)).unwrap().p < 0.05).count();
        assert!(wrong <= 34, "{wrong} of 400 by chance");
        assert_eq!(step(&noise(7)), None);
        assert_eq!(step(&[1.0; 9]), None);
    }

    #[test]
    fn autocorrelation_tells_memory_from_turns() {
        let up: Vec<f64> = (0..20).map(f64::from).collect();
        let turns: Vec<f64> = (0..20).map(|at| f64::from(at % 2)).collect();
        assert!(autocorrelation(&up).unwrap() > 0.8);
        assert!(autocorrelation(&turns).unwrap() < -0.9);
        assert_eq!(autocorrelation(&[1.0; 5]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn outliers_need_spread_to_stand_out_from() {
        assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.05, 9.95, 30.0]), [5]);
        assert!(outliers(&[10.0, 10.0, 10.0, 10.0, 11.0]).is_empty());
        assert!(outliers(&[]).is_empty());
    }
}

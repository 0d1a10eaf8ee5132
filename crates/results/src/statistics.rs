//! The statistics behind every number with an interval: pure functions over slices, no I/O, no
//! randomness.
//!
//! A comparison is made on *paired differences of logarithms*,
//! `d[b] = ln x[cell, b] - ln x[baseline, b]`, one for each block `b`: pairing removes what the
//! machine did during the block, and on the log scale +25 % and -20 % are mirror images.
//!
//! ```text
//! blocks   estimate                     interval of 95 %                                p, two-sided
//! 0        none                         none                                            none
//! 1, 2     Hodges-Lehmann               none                                            none
//! 3 to 5   mean                         Student's t            ("few trials")           Student's t
//! 6 up     Hodges-Lehmann               Walsh averages, exact signed rank               exact signed rank
//! ```
//!
//! Sources: Hodges & Lehmann 1963 (estimate), Walsh 1949 and Tukey 1949 (interval), Wilcoxon 1945
//! and Pratt 1959 (signed rank), Holm 1979 (many comparisons), Sen 1968 and Mann 1945 (slope and
//! trend).

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::types::Better;

/// The confidence of every interval, unless it says otherwise.
pub const CONFIDENCE: f64 = 0.95;

/// Fewest pairs that an interval may be made from.
pub const PAIRS_MIN: usize = 3;

/// Fewest pairs for which the exact signed rank reaches 95 %; below it a result is marked "few
/// trials".
pub const PAIRS_EXACT_MIN: usize = 6;

/// Above this many pairs the signed rank's normal approximation is used: the exact table costs the
/// cube of the count, and the two agree to four digits there.
const PAIRS_EXACT_MAX: usize = 100;

/// Both ends of an interval; a point when they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies inside, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
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

/// What paired differences say about their centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Number of pairs.
    pub pairs: usize,
    /// The centre of the differences.
    pub estimate: f64,
    /// Interval of 95 %; none below [`PAIRS_MIN`] pairs.
    pub interval: Option<Interval>,
    /// Two-sided p-value of "no difference"; none below [`PAIRS_MIN`] pairs.
    pub p: Option<f64>,
    /// Standard deviation of the differences; 0 for a single pair.
    pub deviation: f64,
}

/// Estimate, interval and p-value of paired differences, by the rule in this module's table. `None`
/// without differences.
#[must_use]
pub fn paired(differences: &[f64]) -> Option<Paired> {
    let pairs = differences.len();
    if pairs == 0 {
        return None;
    }
    let deviation = standard_deviation(differences);
    if (PAIRS_MIN..PAIRS_EXACT_MIN).contains(&pairs) {
        return Some(Paired {
            pairs,
            estimate: mean(differences),
            interval: t_interval(differences, CONFIDENCE),
            p: t_test(differences),
            deviation,
        });
    }
    let walsh = walsh_averages(differences);
    let interval = signed_rank_depth(pairs, 1.0 - CONFIDENCE)
        .map(|depth| Interval { low: walsh[depth - 1], high: walsh[walsh.len() - depth] });
    let p = (pairs >= PAIRS_EXACT_MIN).then(|| signed_rank_p(differences));
    Some(Paired { pairs, estimate: median_of_sorted(&walsh), interval, p, deviation })
}

/// All `n(n+1)/2` averages of two of the values, each value with itself included, ascending.
#[must_use]
pub fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, first) in values.iter().enumerate() {
        averages.extend(values[index..].iter().map(|second| first.midpoint(*second)));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// The Hodges-Lehmann estimate of the centre: the median of the Walsh averages. `None` without
/// values.
#[must_use]
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median_of_sorted(&walsh_averages(values)))
}

/// How many Walsh averages to count in from either end, `k`, for an interval that misses with at
/// most probability `alpha`: `[W(k), W(M+1-k)]`. `None` when so few pairs cannot reach it (below 6
/// for 5 %).
///
/// `k` is the largest number with `P(T <= k-1) <= alpha/2`, `T` being the signed-rank statistic
/// when there is no difference.
#[must_use]
pub fn signed_rank_depth(pairs: usize, alpha: f64) -> Option<usize> {
    if pairs == 0 {
        return None;
    }
    if pairs > PAIRS_EXACT_MAX {
        let count = pairs as f64;
        let mean = count * (count + 1.0) / 4.0;
        let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
        return Some(
            (mean + standard_normal().inverse_cdf(alpha / 2.0) * deviation).floor().max(1.0)
                as usize,
        );
    }
    let ranks: Vec<usize> = (1..=pairs).collect();
    let mut below = 0.0;
    let depth = signed_rank_distribution(&ranks).into_iter().take_while(|probability| {
        below += *probability;
        below <= alpha / 2.0
    });
    Some(depth.count()).filter(|depth| *depth > 0)
}

/// Two-sided p-value of the Wilcoxon signed-rank test of "the differences are symmetric about 0".
///
/// Equal sizes share the mean of their ranks, and zeros keep their rank but take no side (Pratt).
/// Given the ranks, the signs are `n` fair coins whatever the ties, so the distribution is counted
/// exactly rather than corrected. All zero gives 1.
#[must_use]
pub fn signed_rank_p(differences: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = differences.to_vec();
    sorted.sort_unstable_by(|left, right| left.abs().total_cmp(&right.abs()));
    // Ranks are doubled, so that the mean rank of ties stays a whole number.
    let mut ranks = Vec::with_capacity(sorted.len());
    let mut positive = 0;
    let mut first = 0;
    while first < sorted.len() {
        let size = sorted[first].abs();
        let after = first + sorted[first..].iter().take_while(|value| value.abs() == size).count();
        let rank = first + 1 + after;
        for value in sorted[first..after].iter().filter(|value| **value != 0.0) {
            ranks.push(rank);
            positive += if *value > 0.0 { rank } else { 0 };
        }
        first = after;
    }
    let total: usize = ranks.iter().sum();
    let smaller = positive.min(total - positive);
    if ranks.len() > PAIRS_EXACT_MAX {
        let deviation = ranks.iter().map(|rank| (*rank as f64).powi(2)).sum::<f64>().sqrt() / 2.0;
        let distance = (total as f64 / 2.0 - smaller as f64 - 1.0).max(0.0);
        return (2.0 * standard_normal().cdf(-distance / deviation)).min(1.0);
    }
    let tail: f64 = signed_rank_distribution(&ranks)[..=smaller].iter().sum();
    (2.0 * tail).min(1.0)
}

/// Probability of each sum of a random half of `ranks`: index is the sum. One rank is added at a
/// time.
fn signed_rank_distribution(ranks: &[usize]) -> Vec<f64> {
    let mut probability = vec![0.0; ranks.iter().sum::<usize>() + 1];
    probability[0] = 1.0;
    let mut reached = 0;
    for rank in ranks {
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= *rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = f64::midpoint(probability[sum], with);
        }
    }
    probability
}

/// Student's t interval of the mean, `mean +/- t * s / sqrt(n)`. `None` below 2 values.
#[must_use]
pub fn t_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let reach = t_quantile(values.len(), f64::midpoint(1.0, confidence))? * standard_error(values);
    let centre = mean(values);
    Some(Interval { low: centre - reach, high: centre + reach })
}

/// Two-sided p-value of Student's t test of "the mean is 0". `None` below 2 values.
/// Values without any spread give 1 when they are 0, else 0.
#[must_use]
pub fn t_test(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let (centre, error) = (mean(values), standard_error(values));
    if error == 0.0 {
        return Some(if centre == 0.0 { 1.0 } else { 0.0 });
    }
    let distribution = StudentsT::new(0.0, 1.0, (values.len() - 1) as f64).ok()?;
    Some(2.0 * distribution.cdf(-(centre / error).abs()))
}

/// Quantile of Student's t with `count - 1` degrees of freedom. `None` below 2 values.
#[must_use]
pub fn t_quantile(count: usize, probability: f64) -> Option<f64> {
    let freedom = count.checked_sub(1).filter(|freedom| *freedom > 0)?;
    Some(StudentsT::new(0.0, 1.0, freedom as f64).ok()?.inverse_cdf(probability))
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

/// Holm's step-down adjustment of p-values, in the order given; never above 1.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (place, index) in order.into_iter().enumerate() {
        largest = largest.max(p_values[index] * (p_values.len() - place) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// What a comparison with the baseline comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word")]
pub enum Verdict {
    /// Better by more than the margin.
    #[serde(rename = "faster")]
    Faster,
    /// Worse by more than the margin.
    #[serde(rename = "slower")]
    Slower,
    /// The whole interval lies within the margin.
    #[serde(rename = "same")]
    Same,
    /// Better, but perhaps by less than the margin.
    #[serde(rename = "slightly faster")]
    SlightlyFaster,
    /// Worse, but perhaps by less than the margin.
    #[serde(rename = "slightly slower")]
    SlightlySlower,
    /// The interval is too wide to say.
    #[serde(rename = "undecided")]
    Undecided {
        /// About how many more blocks would decide it.
        more_blocks: u32,
    },
}

impl Verdict {
    /// The bare word, without the number of blocks.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::SlightlyFaster => "slightly faster",
            Self::SlightlySlower => "slightly slower",
            Self::Undecided { .. } => "undecided",
        }
    }
}

/// The verdict word for an interval of the ratio cell / baseline; `margin` is a fraction (0.02 is 2
/// %).
///
/// For a metric of which less is better the ratio is turned over first, so that "faster" is always
/// the better side. `None` without an interval, that is below [`PAIRS_MIN`] pairs.
#[must_use]
pub fn verdict(paired: &Paired, margin: f64, better: Better) -> Option<Verdict> {
    let ratio = paired.interval?.exp();
    let ratio = if better == Better::Lower { ratio.reciprocal() } else { ratio };
    Some(if ratio.low > 1.0 + margin {
        Verdict::Faster
    } else if ratio.high < 1.0 - margin {
        Verdict::Slower
    } else if 1.0 - margin <= ratio.low && ratio.high <= 1.0 + margin {
        Verdict::Same
    } else if ratio.low > 1.0 {
        Verdict::SlightlyFaster
    } else if ratio.high < 1.0 {
        Verdict::SlightlySlower
    } else {
        Verdict::Undecided { more_blocks: more_blocks(paired, margin) }
    })
}

/// About how many blocks more until the interval is as narrow as the margin:
/// `ceil((t s / m)^2) - B`, at least 1.
fn more_blocks(paired: &Paired, margin: f64) -> u32 {
    let quantile =
        t_quantile(paired.pairs, f64::midpoint(1.0, CONFIDENCE)).unwrap_or(f64::INFINITY);
    let needed = (quantile * paired.deviation / margin).powi(2).ceil() - paired.pairs as f64;
    // `as` saturates, so a margin of 0 says "very many" rather than overflowing.
    needed.max(1.0) as u32
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
    // Equal values must give exactly 0, which the rounding of their mean would spoil.
    if values.len() < 2 || values.iter().all(|value| *value == values[0]) {
        return 0.0;
    }
    let centre = mean(values);
    (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
        .sqrt()
}

fn standard_error(values: &[f64]) -> f64 {
    standard_deviation(values) / (values.len() as f64).sqrt()
}

/// Probability that a standard normal value is below `value`.
pub(crate) fn normal_below(value: f64) -> f64 {
    standard_normal().cdf(value)
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
    use crate::random::Random;

    fn close(left: f64, right: f64, tolerance: f64) -> bool {
        (left - right).abs() <= tolerance
    }

    #[test]
    fn depth_of_the_walsh_averages_is_the_published_one() {
        let table =
            [(6, 1), (7, 3), (8, 4), (9, 6), (10, 9), (11, 11), (12, 14), (15, 26), (20, 53)];
        for (pairs, depth) in table {
            assert_eq!(signed_rank_depth(pairs, 0.05), Some(depth), "{pairs} pairs");
        }
        for pairs in 0..6 {
            assert_eq!(signed_rank_depth(pairs, 0.05), None, "{pairs} pairs");
        }
    }

    #[test]
    fn normal_approximation_takes_over_without_a_step() {
        let exact = signed_rank_depth(PAIRS_EXACT_MAX, 0.05).unwrap_or_default() as f64;
        let approximate = signed_rank_depth(PAIRS_EXACT_MAX + 1, 0.05).unwrap_or_default() as f64;
        // One pair more moves the depth by about half the count.
        assert!((30.0..60.0).contains(&(approximate - exact)), "{exact} {approximate}");
        let values = |count: u32| {
            (0..count)
                .map(|index| f64::from(index % 7) - 2.5 + f64::from(index) * 1e-3)
                .collect::<Vec<_>>()
        };
        let (exact, approximate) = (signed_rank_p(&values(98)), signed_rank_p(&values(105)));
        assert!(
            exact < 0.2 && approximate < exact && approximate > exact / 4.0,
            "{exact} {approximate}"
        );
    }

    #[test]
    fn signed_rank_distribution_agrees_with_counting_all_signs() {
        for ranks in [vec![1, 2, 3, 4, 5, 6], vec![2, 5, 5, 5, 9, 9, 12], vec![4], vec![]] {
            let mut counted = vec![0.0; ranks.iter().sum::<usize>() + 1];
            for signs in 0..1usize << ranks.len() {
                let sum: usize = ranks
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| signs >> bit & 1 == 1)
                    .map(|(_, rank)| rank)
                    .sum();
                counted[sum] += 0.5_f64.powi(ranks.len() as i32);
            }
            assert_eq!(signed_rank_distribution(&ranks), counted, "{ranks:?}");
        }
    }

    #[test]
    fn signed_rank_p_of_known_cases() {
        assert_eq!(signed_rank_p(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 2.0 / 64.0);
        assert_eq!(signed_rank_p(&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 4.0 / 64.0);
        // Darwin's fifteen pairs of maize plants: the smaller rank sum is 24, p = 0.041.
        let differences = [
            49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0,
            -48.0,
        ];
        assert!(
            close(signed_rank_p(&differences), 0.0413, 0.0005),
            "{}",
            signed_rank_p(&differences)
        );
        // All equal: every sum is reached by ties alone.
        assert_eq!(signed_rank_p(&[0.7; 6]), 2.0 / 64.0);
        assert_eq!(signed_rank_p(&[0.0; 8]), 1.0);
        assert_eq!(signed_rank_p(&[]), 1.0);
        // Zeros take no side, so they can only weaken the evidence.
        assert_eq!(signed_rank_p(&[0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), 2.0 / 64.0);
    }

    #[test]
    fn t_intervals_have_the_published_quantiles() {
        for (count, quantile) in [(3, 4.303), (4, 3.182), (5, 2.776)] {
            assert!(
                close(t_quantile(count, 0.975).unwrap_or_default(), quantile, 0.0005),
                "{count}"
            );
        }
        let interval =
            t_interval(&[1.0, 2.0, 3.0], 0.95).unwrap_or(Interval { low: 0.0, high: 0.0 });
        assert!(close(interval.low, 2.0 - 4.303 / 3.0_f64.sqrt(), 0.001));
        assert!(close(interval.high, 2.0 + 4.303 / 3.0_f64.sqrt(), 0.001));
        assert_eq!(t_test(&[0.1, 0.1, 0.1]), Some(0.0));
        assert_eq!(t_test(&[0.0, 0.0, 0.0]), Some(1.0));
        assert!(close(t_test(&[1.0, 2.0, 3.0]).unwrap_or_default(), 0.0742, 0.0001));
    }

    #[test]
    fn hodges_lehmann_of_small_sets() {
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[4.0]), Some(4.0));
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 9.0]), Some(3.5));
        assert_eq!(walsh_averages(&[3.0, 1.0]), [1.0, 2.0, 3.0]);
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
    fn holm_steps_down_and_stays_monotone() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (left, right) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!(close(*left, right, 1e-12), "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    fn word(low: f64, high: f64, better: Better) -> Option<&'static str> {
        let interval = Some(Interval { low: f64::ln(low), high: f64::ln(high) });
        let paired = Paired { pairs: 6, estimate: 0.0, interval, p: None, deviation: 0.05 };
        verdict(&paired, 0.02, better).map(|verdict| verdict.word())
    }

    #[test]
    fn verdict_words_follow_the_interval() {
        let cases = [
            (1.03, 1.10, "faster", "slower"),
            (0.90, 0.97, "slower", "faster"),
            (0.985, 1.015, "same", "same"),
            (1.001, 1.05, "slightly faster", "slightly slower"),
            (0.95, 0.999, "slightly slower", "slightly faster"),
            (0.95, 1.05, "undecided", "undecided"),
            (1.001, 1.01, "same", "same"),
            (1.0, 1.0, "same", "same"),
        ];
        for (low, high, higher, lower) in cases {
            assert_eq!(word(low, high, Better::Higher), Some(higher), "{low} to {high}");
            assert_eq!(
                word(low, high, Better::Lower),
                Some(lower),
                "{low} to {high}, less is better"
            );
        }
        assert_eq!(
            paired(&[0.1, 0.2]).and_then(|paired| verdict(&paired, 0.02, Better::Higher)),
            None
        );
    }

    #[test]
    fn undecided_says_how_many_blocks_more() {
        let differences = [0.05, -0.06, 0.04, -0.05, 0.07, -0.03];
        let paired = paired(&differences)
            .filter(|paired| paired.interval.is_some())
            .unwrap_or_else(|| panic!("six pairs have an interval"));
        let expected = (2.5706 * standard_deviation(&differences) / 0.02).powi(2).ceil() as u32 - 6;
        assert_eq!(
            verdict(&paired, 0.02, Better::Higher),
            Some(Verdict::Undecided { more_blocks: expected })
        );
        assert_eq!(more_blocks(&Paired { deviation: 0.0, ..paired }, 0.02), 1);
        assert_eq!(more_blocks(&paired, 0.0), u32::MAX);
    }

    #[test]
    fn values_without_spread_give_points_and_no_nan() {
        for count in 1..=12 {
            for value in [0.0, 0.7, -0.3, 0.1 + 0.2] {
                let paired =
                    paired(&vec![value; count]).unwrap_or_else(|| panic!("{count} values"));
                assert_eq!(paired.deviation, 0.0);
                assert!(close(paired.estimate, value, 1e-15));
                if let Some(interval) = paired.interval {
                    assert!(
                        close(interval.low, value, 1e-15) && close(interval.high, value, 1e-15),
                        "{count} x {value}: {interval:?}"
                    );
                    assert!(
                        paired.p.is_some_and(|p| (0.0..=1.0).contains(&p)),
                        "{count} x {value}"
                    );
                } else {
                    assert!(count < PAIRS_MIN);
                }
            }
        }
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
    fn outliers_need_spread_to_stand_out_from() {
        assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.05, 9.95, 30.0]), [5]);
        assert!(outliers(&[10.0, 10.0, 10.0, 10.0, 11.0]).is_empty());
        assert!(outliers(&[]).is_empty());
    }

    /// Share of `rounds` in which `interval` covers the true difference, with normal noise of 3 %
    /// in each of two paired cells.
    fn coverage(
        seed: u64,
        pairs: usize,
        rounds: u32,
        interval: impl Fn(&[f64]) -> Option<Interval>,
    ) -> f64 {
        let mut random = Random::new(seed);
        let truth = 0.25;
        let mut covered = 0;
        for _ in 0..rounds {
            let differences: Vec<f64> =
                (0..pairs).map(|_| truth + 0.03 * (random.normal() - random.normal())).collect();
            covered +=
                u32::from(interval(&differences).is_some_and(|interval| interval.contains(truth)));
        }
        f64::from(covered) / f64::from(rounds)
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let seed = 20_041_121;
        for pairs in [3, 4, 5, 6, 7, 8, 9, 12, 20] {
            let share = coverage(seed, pairs, 4000, |differences| {
                paired(differences).and_then(|paired| paired.interval)
            });
            assert!((0.93..=0.975).contains(&share), "{pairs} pairs cover {share}, seed {seed}");
        }
    }

    #[test]
    fn a_wrong_interval_is_caught_by_the_coverage_check() {
        let seed = 20_041_122;
        // Planted: one Walsh average further in than allowed at both ends, four times.
        let narrow = coverage(seed, 8, 4000, |differences| {
            let walsh = walsh_averages(differences);
            Some(Interval { low: walsh[7], high: walsh[walsh.len() - 8] })
        });
        assert!(narrow < 0.93, "the planted narrow interval covers {narrow}, seed {seed}");
        // Planted: unpaired thinking, smallest to largest of all.
        let wide = coverage(seed, 8, 4000, |differences| {
            let walsh = walsh_averages(differences);
            Some(Interval { low: walsh[0], high: walsh[walsh.len() - 1] })
        });
        assert!(wide > 0.975, "the planted wide interval covers {wide}, seed {seed}");
    }

    #[test]
    fn a_planted_difference_is_found_and_an_equal_pair_is_not_called_different() {
        let seed = 7;
        let mut random = Random::new(seed);
        let (mut found, mut false_alarms) = (0, 0);
        for _ in 0..2000 {
            // Drift of 1 % a block hits both sides of a pair alike.
            let noise: Vec<f64> =
                (0..6).map(|_| 0.01 * (random.normal() - random.normal())).collect();
            let planted: Vec<f64> = noise.iter().map(|noise| noise + 0.05).collect();
            let excludes_zero = |values: &[f64]| {
                paired(values)
                    .and_then(|paired| paired.interval)
                    .is_some_and(|interval| !interval.contains(0.0))
            };
            false_alarms += u32::from(excludes_zero(&noise));
            found += u32::from(excludes_zero(&planted));
        }
        assert!(found > 1900, "+5 % was found {found} times of 2000, seed {seed}");
        assert!(
            false_alarms < 100,
            "equal cells were called different {false_alarms} times of 2000, seed {seed}"
        );
    }
}

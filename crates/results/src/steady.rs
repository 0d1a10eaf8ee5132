//! Steady state by the rule of SNIA's Solid State Storage Performance Test Specification: rounds of
//! the same load, until the last five neither spread nor drift.

use serde::{Deserialize, Serialize};

/// Rounds that are looked at together.
pub const WINDOW: usize = 5;
/// Rounds after which a load that is not steady yet is given up.
pub const ROUNDS_MAX: usize = 25;
/// The most by which the figures of a window may spread, as a fraction of their mean.
pub const RANGE_MAX: f64 = 0.20;
/// The most by which a line through them may rise or fall from the first to the last, as a fraction
/// of their mean.
pub const SLOPE_MAX: f64 = 0.10;

/// How the last rounds of a load looked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Rounds in all.
    pub rounds: usize,
    /// Largest less smallest figure of the window, as a fraction of their mean.
    pub range: f64,
    /// What a line of least squares through the window comes to from its first to its last round,
    /// as a fraction of the mean; without its sign.
    pub slope: f64,
}

impl Steadiness {
    /// Of all rounds so far, by their figures. `None` below [`WINDOW`] rounds, and where their mean
    /// is not above 0.
    #[must_use]
    pub fn of(rounds: &[f64]) -> Option<Self> {
        let window = &rounds[rounds.len().checked_sub(WINDOW)?..];
        let count = WINDOW as f64;
        let mean = window.iter().sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (place, figure) in window.iter().enumerate() {
            let distance = place as f64 - middle;
            products += distance * (figure - mean);
            squares += distance * distance;
        }
        let ends = window.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
            (low.min(*one), high.max(*one))
        });
        (mean > 0.0).then(|| Self {
            rounds: rounds.len(),
            range: (ends.1 - ends.0) / mean,
            slope: (products / squares * (count - 1.0)).abs() / mean,
        })
    }

    /// Whether the rule is met.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE_MAX && self.slope <= SLOPE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rounds: &[f64]) -> Steadiness {
        Steadiness::of(rounds).unwrap()
    }

    #[test]
    fn four_rounds_say_nothing_and_only_the_last_five_count() {
        assert_eq!(Steadiness::of(&[1.0; 4]), None);
        assert_eq!(Steadiness::of(&[0.0; 5]), None);
        let steady = of(&[900.0, 500.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
        assert_eq!((steady.rounds, steady.range, steady.slope), (7, 0.0, 0.0));
    }

    /// "range: max(y) - min(y) <= 0.20 * mean": 20 % is steady, a little more is not.
    #[test]
    fn the_range_may_be_a_fifth_of_the_mean() {
        // The mean is 100, and the line through them is level.
        let spread = |by: f64| of(&[100.0 + by, 100.0, 100.0 - 2.0 * by, 100.0, 100.0 + by]);
        assert!(spread(6.6).is_steady(), "{:?}", spread(6.6));
        assert!((spread(6.6).range - 0.198).abs() < 1e-9 && spread(6.6).slope < 1e-9);
        assert!(!spread(6.7).is_steady());
    }

    /// "slope: |slope| * (5-1) <= 0.10 * mean", up and down.
    #[test]
    fn the_line_may_rise_or_fall_by_a_tenth_of_the_mean() {
        for sign in [1.0, -1.0] {
            let line = |by: f64| {
                let figures: Vec<f64> =
                    (-2..=2).map(|place| 100.0 + sign * by * f64::from(place)).collect();
                of(&figures)
            };
            assert!(line(2.49).is_steady() && !line(2.51).is_steady());
            assert!((line(2.5).slope - 0.10).abs() < 1e-9);
        }
    }
}

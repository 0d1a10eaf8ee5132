//! What the charts share: scales, coordinates, classes of marks.

use maud::{Markup, html};
use results::analysis::Score;
use results::claim::Answer;

use crate::measure::{self, Face};
use crate::numbers;

/// Position of positive values on a logarithmic axis that always shows 1.
pub(crate) struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// Smallest range of an axis, as a ratio to either side of 1: less would show noise as mountains.
const RANGE_MIN: f64 = 1.05;

impl LogScale {
    /// A scale that holds all `values` and 1, drawn from `from` to `to`.
    pub(crate) fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((1.0 / RANGE_MIN, RANGE_MIN), |(low, high): (f64, f64), value| {
                (low.min(value), high.max(value))
            });
        let spare = (high / low).powf(0.04);
        Self { low: low / spare, high: high * spare, from, to }
    }

    /// Where a value lies; values outside lie at the ends.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share =
            (value.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Lines across a chart whose axis this is, with the factors that they stand for at the left.
    pub(crate) fn factor_lines(&self, ticks: &[f64], [left, right]: [f64; 2]) -> Markup {
        html! {
            @for &tick in ticks {
                line.one[tick == 1.0].grid[tick != 1.0] x1=(px(left)) x2=(px(right))
                    y1=(px(self.place(tick))) y2=(px(self.place(tick))) {}
                text.tick x=(px(left - 5.0)) y=(px(self.place(tick) + 4.0)) text-anchor="end" {
                    (tick) "×" }
            }
        }
    }

    /// Round values at least `distance` apart; 1 is always among them, then rounder ones come
    /// first.
    pub(crate) fn ticks(&self, distance: f64) -> Vec<f64> {
        let rounder_first: [&[f64]; 6] = [
            &[1.0, 2.0, 0.5, 4.0, 0.25, 10.0, 0.1, 100.0, 0.01, 1000.0, 0.001],
            &[8.0, 0.125, 20.0, 50.0, 0.05, 0.02],
            &[1.5, 3.0, 0.75],
            &[1.2, 0.8, 1.25, 5.0, 6.0, 0.6, 0.4, 0.2],
            &[1.1, 0.9, 1.3, 0.7, 1.4, 1.6, 1.75, 2.5, 0.3],
            &[1.05, 0.95, 1.02, 0.98, 1.01, 0.99],
        ];
        let mut ticks: Vec<f64> = Vec::new();
        for value in rounder_first
            .into_iter()
            .flatten()
            .copied()
            .filter(|value| self.low <= *value && *value <= self.high)
        {
            if ticks.iter().all(|tick| (self.place(*tick) - self.place(value)).abs() >= distance) {
                ticks.push(value);
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }
}

/// A coordinate with a tenth of a pixel.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(String::from).unwrap_or(text)
}

/// Paths through many points, in as few characters as tenths of a pixel take: each point relative
/// to the one before.
pub(super) struct Steps {
    path: String,
    /// In tenths of a pixel.
    at: [i64; 2],
}

impl Steps {
    pub(super) fn new() -> Self {
        Self { path: String::new(), at: [0, 0] }
    }

    /// Goes on to a point by `command`: `m` to move, `l` for a line.
    pub(super) fn to(&mut self, command: char, x: f64, y: f64) {
        let next = [x, y].map(|value| (value * 10.0).round() as i64);
        let [x, y] = [next[0] - self.at[0], next[1] - self.at[1]].map(tenths);
        let gap = if y.starts_with('-') { "" } else { " " };
        self.path += &format!("{command}{x}{gap}{y}");
        self.at = next;
    }

    /// A dot at a point.
    pub(super) fn dot(&mut self, x: f64, y: f64) {
        self.to('m', x, y);
        self.path += "h0";
    }

    pub(super) fn path(self) -> String {
        self.path
    }
}

/// As SVG reads it: `1.5`, `-.3`, `4`.
fn tenths(value: i64) -> String {
    let (sign, whole, part) =
        (if value < 0 { "-" } else { "" }, value.abs() / 10, value.abs() % 10);
    match (whole, part) {
        (_, 0) => format!("{sign}{whole}"),
        (0, _) => format!("{sign}.{part}"),
        _ => format!("{sign}{whole}.{part}"),
    }
}

/// Room for the label of a row.
pub(super) const LABEL_MAX: f64 = 270.0;
/// Least share of its own size that a chart is drawn at: below, its text could not be read, and the
/// chart is scrolled instead.
const SCALE_MIN: f64 = 0.8;

/// A chart, and the width at which its text has its own size.
pub(crate) struct Chart {
    /// In pixels.
    pub(crate) width: f64,
    pub(crate) svg: Markup,
}

/// A chart that fills its column, as far as its text stays readable.
pub(super) fn sizes(width: f64) -> String {
    format!("min-width:{}px;max-width:{}px", px(width * SCALE_MIN), px(width * 1.15))
}

/// Class of the mark for an answer: `f` ahead, `s` behind, `n` neither.
pub(super) fn answer_class(answer: Option<Answer>) -> &'static str {
    match answer {
        Some(Answer::Ahead) => "f",
        Some(Answer::Behind) => "s",
        _ => "n",
    }
}

/// Position of positive values on a logarithmic axis from one round value to another.
pub(crate) struct Decades {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Decades {
    /// A scale that holds all `values`, drawn from `from` to `to`, whose ends are 1, 2 or 5 times a
    /// power of ten.
    pub(crate) fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 1.0) };
        let round = |value: f64| {
            let power = 10f64.powf(value.log10().floor());
            [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power)
        };
        let below = round(low).into_iter().rfind(|end| *end <= low * 1.0001);
        let above = round(high).into_iter().find(|end| *end >= high * 0.9999);
        let (low, high) = (below.unwrap_or(low), above.unwrap_or(high));
        let high = if high > low * 1.01 { high } else { low * 2.0 };
        Self { low, high, from, to }
    }

    /// Where a value lies; values outside lie at the ends.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// 1, 2 and 5 times powers of ten, at least `distance` apart; the powers themselves come first.
    pub(crate) fn ticks(&self, distance: f64) -> Vec<f64> {
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let mut ticks: Vec<f64> = Vec::new();
        for factor in [1.0, 5.0, 2.0] {
            let values = powers.clone().map(|power| factor * 10f64.powi(power));
            for value in
                values.filter(|value| self.low * 0.9999 <= *value && *value <= self.high * 1.0001)
            {
                let far = |tick: &f64| (self.place(*tick) - self.place(value)).abs() >= distance;
                if ticks.iter().all(far) {
                    ticks.push(value);
                }
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }
}

/// Position of values on an axis that begins at zero, where bars have to.
pub(super) struct FromZero {
    /// Round values, from zero to beyond the largest.
    pub(super) ticks: Vec<f64>,
    from: f64,
    to: f64,
}

impl FromZero {
    /// A scale for values up to `most`, drawn from `from` to `to`, with about `count` steps.
    pub(super) fn new(most: f64, from: f64, to: f64, count: usize) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let rough = most / count as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
        let step = step.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
        let steps = (most / step - 1e-9).ceil().max(1.0) as usize;
        Self { ticks: (0..=steps).map(|tick| tick as f64 * step).collect(), from, to }
    }

    /// Where a value lies; values outside lie at the ends.
    pub(super) fn place(&self, value: f64) -> f64 {
        let most = self.ticks.last().copied().unwrap_or(1.0);
        self.from + (value / most).clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Room for the widest of the ticks' numbers.
    pub(super) fn room(&self) -> f64 {
        self.ticks
            .iter()
            .map(|tick| measure::width(&numbers::plain(*tick), Face::Small))
            .fold(0.0, f64::max)
    }
}

/// A score at its place on the scale, with the interval that its answer rests on: a diamond for the
/// baseline, a full dot where there is an answer and an open one where there is none.
pub(super) fn ratio_mark(
    score: &Score,
    is_baseline: bool,
    scale: &LogScale,
    middle: f64,
) -> Markup {
    let class = answer_class(score.answer());
    let at = px(scale.place(score.ratio));
    html! {
        g class=(class) {
            @if let Some(interval) = score.interval() {
                line.reach x1=(px(scale.place(interval.low)))
                    x2=(px(scale.place(interval.high))) y1=(px(middle)) y2=(px(middle)) {}
            }
            @if is_baseline {
                rect.dot x=(px(scale.place(1.0) - 3.5)) y=(px(middle - 3.5)) width="7"
                    height="7" transform=(format!("rotate(45 {at} {})", px(middle))) {}
            } @else if class != "n" {
                circle.dot cx=(at) cy=(px(middle)) r="3.8" {}
            } @else {
                circle.dot.open cx=(at) cy=(px(middle)) r="3.4" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_scale_holds_its_values_and_mirrors_inverses() {
        let scale = LogScale::new([0.5, 2.0].into_iter(), 0.0, 100.0);
        assert!((scale.place(1.0) - 50.0).abs() < 1e-9);
        assert!((scale.place(0.5) + scale.place(2.0) - 100.0).abs() < 1e-9);
        assert!(scale.place(0.5) > 0.0 && scale.place(1e9) == 100.0 && scale.place(-1.0) == 0.0);
    }

    #[test]
    fn ticks_keep_their_distance_and_include_one() {
        for high in [1.01_f64, 1.2, 3.0, 40.0, 5000.0] {
            let scale = LogScale::new([high, 1.0 / high.sqrt(), f64::NAN].into_iter(), 0.0, 130.0);
            let ticks = scale.ticks(26.0);
            assert!(ticks.contains(&1.0) && ticks.len() >= 2, "{high}: {ticks:?}");
            assert!(
                ticks.windows(2).all(|pair| scale.place(pair[1]) - scale.place(pair[0]) >= 26.0),
                "{high}: {ticks:?}"
            );
        }
    }

    #[test]
    fn decades_hold_their_values_and_have_ticks() {
        for (low, high) in [(0.013, 0.017), (0.1, 0.1), (3.0, 9000.0), (1.0, 2.0), (0.0, 0.0)] {
            let scale = Decades::new([low, high, f64::NAN].into_iter(), 150.0, 20.0);
            if low > 0.0 {
                assert!(scale.low <= low * 1.001 && high <= scale.high * 1.001, "{low} {high}");
            }
            assert!(scale.place(high) >= 20.0 && scale.place(low) <= 150.0);
            let ticks = scale.ticks(22.0);
            assert!(ticks.len() >= 2, "{low} to {high}: {ticks:?}");
            let apart = |pair: &[f64]| scale.place(pair[0]) - scale.place(pair[1]) >= 22.0;
            assert!(ticks.windows(2).all(apart), "{low} to {high}: {ticks:?}");
        }
    }

    #[test]
    fn steps_come_to_their_points() {
        let mut steps = Steps::new();
        for (x, y) in [(1.04, 20.0), (1.34, 19.66), (0.0, 0.0)] {
            steps.dot(x, y);
        }
        steps.to('l', -0.25, 3.0);
        assert_eq!(steps.path(), "m1 20h0m.3-.3h0m-1.3-19.7h0l-.3 3");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(
            (px(12.04), px(12.06), px(3.0)),
            ("12".to_string(), "12.1".to_string(), "3".to_string())
        );
    }
}

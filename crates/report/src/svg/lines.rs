//! Figures by the values of an axis: lines where these grow, bars where they are names; from zero.

use maud::{Markup, html};

use super::frame::{FromZero, px, sizes};
use crate::charts::{Lines, Mark};
use crate::measure::{self, Face, fitted};
use crate::numbers;

/// Classes that tell series apart; what is beyond them is soft and has its name in the table.
pub(crate) const CLASSES: [&str; 8] = ["c0", "c1", "c2", "c3", "c0 d", "c1 d", "c2 d", "c3 d"];

/// Class of a series by its place.
pub(crate) fn class(place: usize) -> &'static str {
    CLASSES.get(place).copied().unwrap_or("cn")
}

/// Room for one value along the axis before every second, third … is left without a label.
const PLOT: f64 = 236.0;
/// Widest bar.
const BAR_MAX: f64 = 40.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 132.0;
const HEIGHT: f64 = 154.0;

/// The chart; `title` says what it shows.
pub(crate) fn lines(chart: &Lines, title: &str) -> Markup {
    let marks = || chart.series.iter().flat_map(|series| series.marks.iter().flatten());
    let ends = marks().map(|mark| mark.interval.map_or(mark.value, |[_, high]| high));
    let most = ends.chain(chart.baseline.iter().map(|(value, _)| *value)).fold(0.0, f64::max);
    let scale = FromZero::new(most, BOTTOM, TOP, 4);
    let unit = fitted(chart.unit, Face::Small, 60.0);
    let left = 10.0 + scale.room().max(measure::width(&unit, Face::Small));
    let count = chart.values.len() as f64;
    // Bars need their width.
    let bars = chart.series.len() as f64 * count * 7.0;
    let plot = if chart.grows { PLOT } else { PLOT.max(bars) };
    let step = plot / count;
    let x = |place: usize| left + step * (place as f64 + 0.5);
    let label = |value: &String| fitted(value, Face::Small, plot / 2.0);
    let widest = chart
        .values
        .iter()
        .map(|value| measure::width(&label(value), Face::Small))
        .fold(0.0, f64::max);
    let every = ((widest + 6.0) / step).ceil().max(1.0) as usize;
    // Half a label hangs over at the end.
    let width = left + plot + ((widest - step) / 2.0).max(0.0) + 2.0;
    let grid: String = scale
        .ticks
        .iter()
        .map(|tick| format!("M{} {}h{}", px(left), px(scale.place(*tick)), px(plot)))
        .collect();
    html! {
        svg.lines role="img" viewBox=(format!("0 0 {} {HEIGHT}", px(width))) style=(sizes(width)) {
            title { (title) }
            path.grid d=(grid) {}
            @for tick in &scale.ticks {
                text.tick x=(px(left - 5.0)) y=(px(scale.place(*tick) + 4.0)) text-anchor="end" {
                    (numbers::plain(*tick)) }
            }
            text.tick x=(px(left - 5.0)) y="8" text-anchor="end" { (unit) }
            @for (place, value) in chart.values.iter().enumerate() {
                @if place % every == 0 {
                    text.tick x=(px(x(place))) y=(px(BOTTOM + 16.0)) text-anchor="middle" {
                        (label(value)) }
                }
            }
            @if let Some((value, _)) = chart.baseline {
                path.base d=(format!("M{} {}h{}", px(left), px(scale.place(value)), px(plot))) {}
            }
            @for (index, series) in chart.series.iter().enumerate() {
                g class=(class(index)) {
                    @if chart.grows {
                        path.line d=(line(&series.marks, &x, &scale)) {}
                        path.reach d=(reaches(&series.marks, &x, &scale)) {}
                        @for (place, mark) in series.marks.iter().enumerate() {
                            @if let Some(mark) = mark { (dot(mark, x(place), &scale)) }
                        }
                    } @else {
                        @let count = chart.series.len() as f64;
                        @let wide = ((step - 6.0) / count).min(BAR_MAX);
                        @let at = |place: usize| x(place) + wide * (index as f64 + 0.5 - count / 2.0);
                        @for (place, mark) in series.marks.iter().enumerate() {
                            @if let Some(mark) = mark { (bar(mark, at(place), wide, &scale)) }
                        }
                        path.reach d=(reaches(&series.marks, &at, &scale)) {}
                    }
                }
            }
        }
    }
}

/// Joins neighbours that were both measured.
fn line(marks: &[Option<Mark>], x: &dyn Fn(usize) -> f64, scale: &FromZero) -> String {
    let mut path = String::new();
    let mut command = 'M';
    for (place, mark) in marks.iter().enumerate() {
        let Some(mark) = mark else {
            command = 'M';
            continue;
        };
        path += &format!("{command}{} {}", px(x(place)), px(scale.place(mark.value)));
        command = 'L';
    }
    path
}

/// The intervals.
fn reaches(marks: &[Option<Mark>], x: &dyn Fn(usize) -> f64, scale: &FromZero) -> String {
    let reach = |(place, mark): (usize, &Option<Mark>)| {
        let [low, high] = mark.as_ref()?.interval?.map(|end| scale.place(end));
        // Less than the mark itself is not seen.
        (low - high > 6.0).then(|| format!("M{} {}V{}", px(x(place)), px(low), px(high)))
    };
    marks.iter().enumerate().filter_map(reach).collect()
}

fn dot(mark: &Mark, x: f64, scale: &FromZero) -> Markup {
    let y = px(scale.place(mark.value));
    html! {
        @if mark.is_knee { circle.knee cx=(px(x)) cy=(y) r="7" {} }
        circle.dot.open[!mark.is_decided] data-c=(mark.cell) cx=(px(x)) cy=(y) r="3.4" {}
    }
}

fn bar(mark: &Mark, x: f64, wide: f64, scale: &FromZero) -> Markup {
    let top = scale.place(mark.value);
    html! {
        rect.bar.open[!mark.is_decided] data-c=(mark.cell) x=(px(x - wide / 2.0 + 0.5)) y=(px(top))
            width=(px((wide - 1.0).max(1.0))) height=(px((scale.place(0.0) - top).max(0.5))) {}
    }
}

//! Scores along an axis: a line for each comparison, in the band of what is not known of it.

use maud::{Markup, html};

use super::frame::{Chart, LogScale, px, sizes};
use super::lines::class;
use crate::first_screen::{Curve, Curves, Point};
use crate::measure::{self, Face, fitted};

const WIDTH: f64 = 396.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 188.0;
const HEIGHT: f64 = 210.0;
/// Room for a line's name at its end.
const NAME_MAX: f64 = 96.0;
/// Height of a name.
const LINE: f64 = 14.0;

/// The chart.
pub(crate) fn curves(chart: &Curves) -> Chart {
    let points = || chart.curves.iter().flat_map(|curve| curve.points.iter().flatten());
    let ends = points().flat_map(|point| {
        let [low, high] = point.ends.unwrap_or([point.ratio; 2]);
        [low, high]
    });
    let scale = LogScale::new(ends, BOTTOM, TOP);
    let ticks = scale.ticks(22.0);
    let small = |text: &str| measure::width(text, Face::Small);
    let left = 8.0 + ticks.iter().map(|tick| small(&format!("{tick}×"))).fold(0.0, f64::max);
    let name = |curve: &Curve| measure::width(&curve.name, Face::Bold);
    let names = chart.curves.iter().map(name).fold(0.0, f64::max);
    let right = WIDTH - names.min(NAME_MAX) - 12.0;
    let step = (right - left) / chart.values.len() as f64;
    let x = |place: usize| left + step * (place as f64 + 0.5);
    let widest = chart.values.iter().map(|value| small(value)).fold(0.0, f64::max);
    let every = ((widest + 6.0) / step).ceil().max(1.0) as usize;
    // Where not all values have room, what is taken has its own.
    let is_taken = |point: &Option<Point>| point.as_ref().is_some_and(|point| point.is_taken);
    let taken = chart.curves.iter().find_map(|curve| curve.points.iter().position(is_taken));
    let first = taken.unwrap_or(0) % every;
    let svg = html! {
        svg.curves role="img" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) style=(sizes(WIDTH)) {
            title { (chart.title) }
            (scale.factor_lines(&ticks, [left, right]))
            @for (place, value) in chart.values.iter().enumerate() {
                @if place % every == first {
                    text.tick x=(px(x(place))) y=(px(BOTTOM + 17.0)) text-anchor="middle" {
                        (value) }
                }
            }
            @for (place, curve) in chart.curves.iter().enumerate() {
                g class=(class(place)) { (drawn(curve, &scale, &x)) }
            }
            @for (place, (curve, y)) in chart.curves.iter().zip(named_at(chart, &scale)).enumerate()
            {
                g class=(class(place)) {
                    text.name x=(px(right + 4.0)) y=(px(y + 4.0)) {
                        (fitted(&curve.name, Face::Bold, NAME_MAX)) }
                }
            }
        }
    };
    Chart { width: WIDTH, svg }
}

/// A line in its band, with its points.
fn drawn(curve: &Curve, scale: &LogScale, x: &impl Fn(usize) -> f64) -> Markup {
    let known = || curve.points.iter().enumerate();
    let known = || known().filter_map(|(place, point)| Some((place, point.as_ref()?)));
    let path = |points: Vec<(f64, f64)>, closed: bool| {
        let steps = points.iter().enumerate().map(|(place, (x, y))| {
            format!("{}{} {}", if place == 0 { "M" } else { "L" }, px(*x), px(*y))
        });
        steps.collect::<String>() + if closed { "Z" } else { "" }
    };
    let end = |point: &Point, which: usize| point.ends.map_or(point.ratio, |ends| ends[which]);
    let upper = known().map(|(place, point)| (x(place), scale.place(end(point, 1))));
    let lower = known().map(|(place, point)| (x(place), scale.place(end(point, 0))));
    let lower: Vec<(f64, f64)> = lower.collect();
    let band = upper.chain(lower.into_iter().rev()).collect();
    let line = known().map(|(place, point)| (x(place), scale.place(point.ratio))).collect();
    html! {
        path.doubt d=(path(band, true)) {}
        path.line d=(path(line, false)) {}
        @for (place, point) in known() {
            g.mark-of {
                title { @if !curve.name.is_empty() { (curve.name) ", " } (point.text) }
                @if point.is_taken {
                    circle.taken cx=(px(x(place))) cy=(px(scale.place(point.ratio))) r="7" {} }
                circle.dot.open[!point.is_decided] cx=(px(x(place)))
                    cy=(px(scale.place(point.ratio))) r="3.6" {}
            }
        }
    }
}

/// Where the names of the lines stand: at the height of their last points, apart from each other.
fn named_at(chart: &Curves, scale: &LogScale) -> Vec<f64> {
    let last = |curve: &Curve| {
        let point = curve.points.iter().rev().flatten().next();
        point.map_or(BOTTOM, |point| scale.place(point.ratio))
    };
    let mut order: Vec<(usize, f64)> = chart.curves.iter().map(last).enumerate().collect();
    order.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mut below = BOTTOM + LINE;
    for (_, y) in &mut order {
        *y = y.min(below - LINE);
        below = *y;
    }
    order.sort_by_key(|(place, _)| *place);
    order.into_iter().map(|(_, y)| y).collect()
}

//! How long requests took, from the middle one to the slowest.

use maud::html;

use super::frame::{Chart, Decades, Steps, px, sizes};
use super::lines::class;
use crate::charts::{Percentiles, Tails};
use crate::measure::{self, Face};
use crate::numbers;

const PLOT: f64 = 232.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 152.0;
const HEIGHT: f64 = 174.0;

/// A line for each configuration, up is slower; `names` are those of all that are not the baseline,
/// in the order of their colours.
pub(crate) fn tails(chart: &Tails, names: &[&str], title: &str) -> Chart {
    let values = chart.series.iter().flat_map(|series| series.values.iter().flatten().copied());
    let scale = Decades::new(values, BOTTOM, TOP);
    let ticks = scale.ticks(22.0);
    let widest = |face| {
        let widths = ticks.iter().map(|tick| measure::width(&numbers::plain(*tick), face));
        widths.fold(measure::width(chart.unit, face), f64::max)
    };
    let left = (10.0 + widest(Face::Small)).ceil();
    let step = (PLOT / chart.heads.len() as f64).floor();
    let x = |place: usize| left + step * (place as f64 + 0.5);
    let width = left + PLOT + 2.0;
    let grid: String = ticks
        .iter()
        .map(|tick| format!("M{} {}h{PLOT}", px(left), px(scale.place(*tick))))
        .collect();
    let points = |series: &Percentiles| -> Vec<(f64, f64)> {
        let places = series.values.iter().enumerate();
        places.filter_map(|(place, value)| Some((x(place), scale.place((*value)?)))).collect()
    };
    let path = |series: &Percentiles| {
        let mut steps = Steps::new();
        for (place, (x, y)) in points(series).into_iter().enumerate() {
            steps.to(if place == 0 { 'm' } else { 'l' }, x, y);
        }
        steps.path()
    };
    let dots = |series: &Percentiles| {
        let mut steps = Steps::new();
        points(series).into_iter().for_each(|(x, y)| steps.dot(x, y));
        steps.path()
    };
    let spoken = |series: &Percentiles| {
        let figures = chart.heads.iter().zip(&series.texts);
        let figures = figures.filter_map(|(head, text)| {
            text.as_ref().map(|text| format!("{head} {text} {}", chart.unit))
        });
        format!("{}: {}", series.name, figures.collect::<Vec<_>>().join(", "))
    };
    let svg = html! {
        svg.tails role="img" viewBox=(format!("0 0 {} {HEIGHT}", px(width))) style=(sizes(width)) {
            title { (title) }
            path.grid d=(grid) {}
            @for tick in &ticks {
                text.tick x=(px(left - 5.0)) y=(px(scale.place(*tick) + 4.0)) text-anchor="end" {
                    (numbers::plain(*tick)) }
            }
            text.tick x=(px(left - 5.0)) y="8" text-anchor="end" { (chart.unit) }
            @for (place, head) in chart.heads.iter().enumerate() {
                text.tick x=(px(x(place))) y=(px(BOTTOM + 16.0)) text-anchor="middle" { (head) }
            }
            @for series in &chart.series {
                @if series.is_baseline {
                    g.own { path.base d=(path(series)) {} title { (spoken(series)) } }
                } @else {
                    @let place = names.iter().position(|name| *name == series.name);
                    g class=(class(place.unwrap_or(names.len()))) {
                        path.line d=(path(series)) {}
                        path.dots d=(dots(series)) {}
                        title { (spoken(series)) }
                    }
                }
            }
        }
    };
    Chart { width, svg }
}

//! Throughput against the slowest hundredth of the requests.

use maud::html;

use super::frame::{Chart, FromZero, px, sizes};
use crate::charts::{Front, Point};
use crate::measure::{self, Face, fitted};
use crate::numbers;

const PLOT: f64 = 226.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 132.0;
const HEIGHT: f64 = 154.0;

/// Up and left is better: the line joins what nothing beats in both.
pub(crate) fn front(chart: &Front, title: &str) -> Chart {
    let points = &chart.points;
    let most = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let up = FromZero::new(most(&|point| point.rate), BOTTOM, TOP, 4);
    let unit = fitted(chart.unit, Face::Small, 60.0);
    let left = 10.0 + up.room().max(measure::width(&unit, Face::Small));
    let along = FromZero::new(most(&|point| point.tail), left, left + PLOT, 3);
    let last = along
        .ticks
        .last()
        .map_or(0.0, |last| measure::width(&format!("{} ms", numbers::plain(*last)), Face::Small));
    let width = left + PLOT + last / 2.0 + 2.0;
    let grid: String = up
        .ticks
        .iter()
        .map(|tick| format!("M{} {}h{PLOT}", px(left), px(up.place(*tick))))
        .chain(along.ticks.iter().map(|tick| format!("M{} {TOP}V{BOTTOM}", px(along.place(*tick)))))
        .collect();
    let mut joined: Vec<&Point> = points.iter().filter(|point| point.is_front).collect();
    joined.sort_by(|one, other| one.tail.total_cmp(&other.tail));
    let line: String = joined
        .iter()
        .enumerate()
        .map(|(index, point)| {
            let command = if index == 0 { 'M' } else { 'L' };
            format!("{command}{} {}", px(along.place(point.tail)), px(up.place(point.rate)))
        })
        .collect();
    let ticks = along.ticks.len();
    let svg = html! {
        svg.front role="img" viewBox=(format!("0 0 {} {HEIGHT}", px(width))) style=(sizes(width)) {
            title { (title) }
            path.grid d=(grid) {}
            @for tick in &up.ticks {
                text.tick x=(px(left - 5.0)) y=(px(up.place(*tick) + 4.0)) text-anchor="end" {
                    (numbers::plain(*tick)) }
            }
            text.tick x=(px(left - 5.0)) y="8" text-anchor="end" { (unit) }
            @for (index, tick) in along.ticks.iter().enumerate() {
                text.tick x=(px(along.place(*tick))) y=(px(BOTTOM + 16.0)) text-anchor="middle" {
                    (numbers::plain(*tick)) @if index + 1 == ticks { " ms" } }
            }
            g.c0 {
                path.line d=(line) {}
                @for point in points {
                    @if point.is_baseline {
                        rect.mark.open[!point.is_front] data-c=(point.cell)
                            x=(px(along.place(point.tail) - 3.2)) y=(px(up.place(point.rate) - 3.2))
                            width="6.4" height="6.4" {}
                    } @else {
                        circle.mark.open[!point.is_front] data-c=(point.cell)
                            cx=(px(along.place(point.tail))) cy=(px(up.place(point.rate)))
                            r="3.6" {}
                    }
                }
            }
        }
    };
    Chart { width, svg }
}

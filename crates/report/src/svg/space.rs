//! Speed against usable space: a mark for each layout, its colour and its shape saying how many
//! drives may die.

use maud::{Markup, html};

use super::frame::{Chart, FromZero, LogScale, px, sizes};
use super::lines::class;
use crate::measure::{self, Face, fitted};
use crate::numbers;
use crate::space::{SpaceChart, SpacePoint};

const WIDTH: f64 = 396.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 208.0;
const HEIGHT: f64 = 246.0;
/// Room for a name beside its mark.
const NAME_MAX: f64 = 80.0;
/// Height of a name, and how far from its mark it may stand.
const LINE: f64 = 13.0;

/// The chart.
pub(crate) fn space(chart: &SpaceChart, axis: &str) -> Chart {
    let scale = LogScale::new(chart.points.iter().map(|point| point.ratio), BOTTOM, TOP);
    let ticks = scale.ticks(22.0);
    let small = |text: &str| measure::width(text, Face::Small);
    let left = 8.0 + ticks.iter().map(|tick| small(&format!("{tick}×"))).fold(0.0, f64::max);
    let right = WIDTH - 12.0;
    let most = chart.points.iter().map(|point| point.usable_bytes).max().unwrap_or(1);
    // Sizes as drives are sold; the ticks are round in the unit of the largest.
    let unit = 1000_u64.pow(most.max(1).ilog10() / 3);
    let across = FromZero::new(most as f64 / unit as f64, left + 6.0, right, 4);
    let x = |point: &SpacePoint| across.place(point.usable_bytes as f64 / unit as f64);
    let tick_text = |tick: f64| numbers::size((tick * unit as f64) as u64);
    let names = named_at(&chart.points, &scale);
    let svg = html! {
        svg.curves role="img" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) style=(sizes(WIDTH)) {
            title { (chart.title) }
            (scale.factor_lines(&ticks, [left, right]))
            @for (place, tick) in across.ticks.iter().enumerate().skip(1) {
                line.grid x1=(px(across.place(*tick))) x2=(px(across.place(*tick)))
                    y1=(px(TOP)) y2=(px(BOTTOM)) {}
                text.tick x=(px(across.place(*tick))) y=(px(BOTTOM + 16.0))
                    text-anchor=(if place + 1 == across.ticks.len() { "end" } else { "middle" }) {
                    (tick_text(*tick)) }
            }
            text.axis x=(px(right)) y=(px(BOTTOM + 32.0)) text-anchor="end" { (axis) }
            @for (point, name_y) in chart.points.iter().zip(names) {
                g class=(class(point.losses.min(3) as usize)) {
                    g.mark-of data-c=(point.cell) {
                        title { (point.text) }
                        @if point.is_taken {
                            circle.taken cx=(px(x(point))) cy=(px(scale.place(point.ratio)))
                                r="8" {} }
                        (mark(point.losses, x(point), scale.place(point.ratio)))
                    }
                    @if !point.name.is_empty() {
                        text.name x=(px(x(point) - 10.0)) y=(px(name_y + 4.0))
                            text-anchor="end" { (fitted(&point.name, Face::Bold, NAME_MAX)) }
                    }
                }
            }
        }
    };
    Chart { width: WIDTH, svg }
}

/// A mark of so many drives: a triangle where none may die, a dot, a square, a diamond.
pub(crate) fn mark(losses: u32, x: f64, y: f64) -> Markup {
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx), px(y + dy));
    let shape = match losses {
        0 => vec![at(0.0, -4.8), at(4.4, 3.6), at(-4.4, 3.6)],
        1 => return html! { circle.dot cx=(px(x)) cy=(px(y)) r="3.8" {} },
        2 => vec![at(-3.6, -3.6), at(3.6, -3.6), at(3.6, 3.6), at(-3.6, 3.6)],
        _ => vec![at(0.0, -5.0), at(5.0, 0.0), at(0.0, 5.0), at(-5.0, 0.0)],
    };
    html! { path.dot d=(format!("M{}Z", shape.join("L"))) {} }
}

/// Where names stand: at the height of their marks, apart from those that are as far to the right.
fn named_at(points: &[SpacePoint], scale: &LogScale) -> Vec<f64> {
    let mut heights: Vec<f64> = points.iter().map(|point| scale.place(point.ratio)).collect();
    let mut order: Vec<usize> =
        (0..points.len()).filter(|place| !points[*place].name.is_empty()).collect();
    order.sort_by(|one, other| heights[*one].total_cmp(&heights[*other]));
    let mut taken: Vec<(u64, f64)> = Vec::new();
    for place in order {
        let column = points[place].usable_bytes >> 20;
        let near = |known: u64| known.abs_diff(column) * 10 < column.max(1);
        let above = taken.iter().rev().find(|(known, _)| near(*known)).map(|(_, y)| *y);
        if let Some(above) = above {
            heights[place] = heights[place].max(above + LINE);
        }
        taken.push((column, heights[place]));
    }
    heights
}

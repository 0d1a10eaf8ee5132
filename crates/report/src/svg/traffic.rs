//! What the members of each configuration moved, and how much they wrote for each byte of the work.

use maud::{Markup, html};

use super::frame::{FromZero, LABEL_MAX, px, sizes};
use crate::charts::Traffic;
use crate::measure::{self, Face, fitted};
use crate::numbers;

const BAR: f64 = 7.0;
const PLOT: f64 = 200.0;
const TOP: f64 = 6.0;

/// A bar for each member, read and then written; right of them a dot for each workload that wrote.
#[expect(clippy::too_many_lines, reason = "not yet split")]
pub(crate) fn traffic(rows: &[Traffic], title: &str) -> Markup {
    let label = |row: &Traffic| fitted(&row.name, Face::Text, LABEL_MAX);
    let widest = rows.iter().map(|row| measure::width(&label(row), Face::Text)).fold(0.0, f64::max);
    let left = widest + 14.0;
    let unit = numbers::unit("bytes");
    let [one, two] = [0, 1]
        .map(|way| move |member: &[f64; 2]| numbers::scaled(member[way], numbers::unit("bytes")));
    let sums = rows.iter().flat_map(|row| row.members.iter().map(|own| one(own) + two(own)));
    let scale = FromZero::new(sums.fold(0.0, f64::max), left, left + PLOT, 3);
    let ratios = || rows.iter().flat_map(|row| row.amplification.iter().map(|(_, ratio)| *ratio));
    let has_writes = ratios().next().is_some();
    let second = left + PLOT + 44.0;
    let most = ratios().fold(1.0, f64::max);
    let amplified = FromZero::new(most, second, second + PLOT * 0.6, 3);
    let width = if has_writes { second + PLOT * 0.6 + 20.0 } else { left + PLOT + 44.0 };
    let heights: Vec<f64> =
        rows.iter().map(|row| (row.members.len() as f64 * BAR + 8.0).max(20.0)).collect();
    let bottom = TOP + heights.iter().sum::<f64>();
    let height = bottom + 22.0;
    let last = scale.ticks.len();
    // Five digits are no scale to read.
    let is_large = scale.ticks.last().is_some_and(|tick| *tick >= 10_000.0);
    let (part, name) = if is_large { (1000.0, "GB") } else { (1.0, unit.name) };
    let tops: Vec<f64> = heights
        .iter()
        .scan(TOP, |top, height| {
            let own = *top;
            *top += height;
            Some(own)
        })
        .collect();
    html! {
        svg.traffic role="img" viewBox=(format!("0 0 {} {}", px(width), px(height)))
            style=(sizes(width)) {
            title { (title) }
            @for (index, tick) in scale.ticks.iter().enumerate() {
                line.grid x1=(px(scale.place(*tick))) x2=(px(scale.place(*tick))) y1=(px(TOP))
                    y2=(px(bottom)) {}
                text.tick x=(px(scale.place(*tick))) y=(px(bottom + 15.0)) text-anchor="middle" {
                    (numbers::plain(*tick / part)) @if index + 1 == last { " " (name) } }
            }
            @if has_writes {
                @for tick in &amplified.ticks {
                    line.one[*tick == 1.0].grid[*tick != 1.0] x1=(px(amplified.place(*tick)))
                        x2=(px(amplified.place(*tick))) y1=(px(TOP)) y2=(px(bottom)) {}
                    text.tick x=(px(amplified.place(*tick))) y=(px(bottom + 15.0))
                        text-anchor="middle" { (numbers::plain(*tick)) "×" }
                }
            }
            @for ((row, top), height) in rows.iter().zip(&tops).zip(&heights) {
                @let middle = top + height / 2.0;
                @let first = middle - row.members.len() as f64 * BAR / 2.0;
                text x="4" y=(px(middle + 4.0)) { (label(row)) }
                @for (index, member) in row.members.iter().enumerate() {
                    @let y = first + BAR * index as f64;
                    @let (read, written) = (one(member), two(member));
                    g.row {
                        title { (row.name) ", " (index) ": " (numbers::figure(member[0], None, unit))
                            " + " (numbers::figure(member[1], None, unit)) " " (unit.name) }
                        rect.read x=(px(scale.place(0.0))) y=(px(y)) height=(BAR - 1.0)
                            width=(px(scale.place(read) - scale.place(0.0))) {}
                        rect.written x=(px(scale.place(read))) y=(px(y)) height=(BAR - 1.0)
                            width=(px(scale.place(read + written) - scale.place(read))) {}
                    }
                }
                @for (workload, ratio) in &row.amplification {
                    circle.mark.open cx=(px(amplified.place(*ratio))) cy=(px(middle)) r="3.4" {
                        title { (row.name) ", " (workload) ": " (numbers::ratio(*ratio, None)) "×" }
                    }
                }
            }
        }
    }
}

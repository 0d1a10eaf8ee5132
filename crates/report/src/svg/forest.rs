//! The forest plot: scores with their intervals, all on one axis.

use maud::{Markup, html};

use super::frame::{Chart, LABEL_MAX, LogScale, px, ratio_mark, sizes};
use crate::first_screen::{ForestRow, Group};
use crate::measure::{self, Face, fitted};
use crate::numbers;
use crate::table;
use crate::words::{self, say};

const ROW: f64 = 22.0;
const PLOT: f64 = 150.0;
const TOP: f64 = 6.0;

/// Scores against the baseline with their intervals, in groups, on one scale; the band is what
/// counts as the same.
pub(crate) fn forest(groups: &[Group<'_>], margin: f64, title: &str) -> Chart {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let label = |row: &ForestRow<'_>| fitted(&row.name, Face::Bold, LABEL_MAX);
    let labels = rows().map(|row| measure::width(&label(row), Face::Bold));
    let titles = groups.iter().map(|group| measure::width(&heading(group), Face::Bold) - PLOT);
    let left = 23.0 + labels.chain(titles).fold(0.0, f64::max);
    let right = left + PLOT;
    let decimals = decimals(groups);
    let values = words::widest(|| {
        let text = |row: &ForestRow<'_>| figures(row, decimals).join(" ");
        rows().map(|row| measure::width(&text(row), Face::Text)).fold(0.0, f64::max)
    });
    let width = right + values + 18.0;
    let ends = rows().flat_map(|row| {
        let interval = row.score.interval();
        [Some(row.score.ratio), interval.map(|one| one.low), interval.map(|one| one.high)]
    });
    let ends = ends.flatten().chain([1.0 / (1.0 + margin), 1.0 + margin]);
    let scale = LogScale::new(ends, left, right);
    let mut tops = Vec::new();
    let mut bottom = TOP;
    for group in groups {
        let head = if group.title.is_empty() { 0.0 } else { ROW };
        tops.push(bottom);
        bottom += head + ROW * group.rows.len() as f64;
    }
    let height = bottom + 24.0;
    let [low, high] = [1.0 / (1.0 + margin), 1.0 + margin].map(|end| scale.place(end));
    let svg = html! {
        svg.forest role="img" viewBox=(format!("0 0 {} {}", px(width), px(height)))
            style=(sizes(width)) {
            title { (title) }
            rect.band x=(px(low)) y=(px(TOP)) width=(px(high - low)) height=(px(bottom - TOP)) {}
            @for tick in scale.ticks(26.0) {
                line.one[tick == 1.0].grid[tick != 1.0] x1=(px(scale.place(tick)))
                    x2=(px(scale.place(tick))) y1=(px(TOP)) y2=(px(bottom + 4.0)) {}
                text.tick x=(px(scale.place(tick))) y=(px(bottom + 17.0)) text-anchor="middle" {
                    (tick) }
            }
            @for (group, top) in groups.iter().zip(tops) {
                @let head = if group.title.is_empty() { 0.0 } else { ROW };
                @if head > 0.0 { text.head x="4" y=(px(top + ROW / 2.0 + 4.0)) {
                    (heading(group)) } }
                @for (place, row) in group.rows.iter().enumerate() {
                    (drawn(row, &label(row), &scale, top + head + ROW * place as f64,
                        &figures(row, decimals), [right, width]))
                }
            }
        }
    };
    Chart { width, svg }
}

fn heading(group: &Group<'_>) -> String {
    fitted(&group.title, Face::Bold, LABEL_MAX + PLOT)
}

/// How many decimals all ratios of a chart have.
fn decimals(groups: &[Group<'_>]) -> usize {
    let scores = groups.iter().flat_map(|group| &group.rows).filter(|row| !row.is_baseline);
    numbers::column_decimals(scores.map(|row| (row.score.ratio, row.score.interval())))
}

/// The figures beside a row: the ratio and its interval.
fn figures(row: &ForestRow<'_>, decimals: usize) -> [String; 2] {
    match row.is_baseline {
        true => ["1".to_owned(), String::new()],
        false => {
            let [ratio, ends] =
                numbers::ratio_in_column(row.score.ratio, row.score.interval(), decimals);
            [ratio, ends]
        }
    }
}

/// What a row says when it is pointed at, beside its figures.
fn tip(row: &ForestRow<'_>) -> String {
    let best = if row.is_best { say!(IN_BEST_SET) } else { String::new() };
    format!("{}: {}{best}", row.name, table::score_answer(row.score))
}

fn drawn(
    row: &ForestRow<'_>,
    label: &str,
    scale: &LogScale,
    top: f64,
    [ratio, interval]: &[String; 2],
    [right, width]: [f64; 2],
) -> Markup {
    let middle = top + ROW / 2.0;
    html! {
        g.row {
            title { (tip(row)) }
            rect.hit x="0" y=(px(top)) width=(px(width)) height=(px(ROW)) rx="3" {}
            @if row.is_best {
                rect.best x="0" y=(px(top + 4.0)) width="3" height=(px(ROW - 8.0)) {} }
            text.pick[row.is_taken] x="9" y=(px(middle + 4.0)) { (label) }
            (ratio_mark(row.score, row.is_baseline, scale, middle))
            text.value x=(px(right + 12.0)) y=(px(middle + 4.0)) {
                (ratio)
                @if !interval.is_empty() { tspan.soft dx="5" { (interval) } }
            }
        }
    }
}

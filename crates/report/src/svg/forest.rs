//! The forest plot: scores with their intervals.

use maud::{Markup, html};
use results::analysis::{Comparison, KindResult, Score};

use super::frame::{Chart, LABEL_MAX, LogScale, px, ratio_mark, sizes};
use crate::measure::{self, Face, fitted};
use crate::numbers;
use crate::table;
use crate::words::{self, say};

const ROW: f64 = 24.0;

/// Scores of one kind of access with their intervals against the baseline. Each has its own scale,
/// so that intervals can be seen; the band of "same" shows how far it is zoomed in.
pub(crate) fn forest(comparison: &Comparison, kind: &KindResult, margin: f64) -> Chart {
    const PLOT: f64 = 118.0;
    const TOP: f64 = 6.0;
    let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
    let label = |score: &Score| {
        fitted(&table::label(comparison, &score.configuration), Face::Bold, LABEL_MAX)
    };
    let left = 23.0
        + widest(&mut kind.scores.iter().map(|score| measure::width(&label(score), Face::Bold)));
    let right = left + PLOT;
    let values = words::widest(|| {
        widest(&mut kind.scores.iter().map(|score| {
            let [ratio, interval] = forest_values(comparison, score);
            12.0 + measure::width(&ratio, Face::Text) + 5.0 + measure::width(&interval, Face::Text)
        }))
    });
    let width = right + values + 2.0;
    let ends = |score: &Score| {
        let interval = score.interval();
        [
            Some(score.ratio),
            interval.map(|interval| interval.low),
            interval.map(|interval| interval.high),
        ]
    };
    let all =
        kind.scores.iter().flat_map(ends).flatten().chain([1.0 / (1.0 + margin), 1.0 + margin]);
    let scale = LogScale::new(all, left, right);
    let bottom = TOP + ROW * kind.scores.len() as f64;
    let height = bottom + 24.0;
    let title = say!(
        FOREST_TITLE,
        kind = numbers::kind(kind.group),
        baseline = table::label(comparison, &comparison.baseline),
        place = table::comparison_title(comparison),
    );
    let (band_low, band_high) = (scale.place(1.0 / (1.0 + margin)), scale.place(1.0 + margin));
    let svg = html! {
        svg.forest role="img" viewBox=(format!("0 0 {} {}", px(width),
            px(height))) style=(sizes(width)) {
            title { (title) }
            rect.band x=(px(band_low)) y=(px(TOP)) width=(px(band_high - band_low))
                height=(px(bottom - TOP)) {}
            @for tick in scale.ticks(26.0) {
                line.one[tick == 1.0].grid[tick != 1.0] x1=(px(scale.place(tick)))
                    x2=(px(scale.place(tick))) y1=(px(TOP)) y2=(px(bottom + 4.0)) {}
                text.tick x=(px(scale.place(tick))) y=(px(bottom + 17.0)) text-anchor="middle" {
                    (tick) }
            }
            @for (row, score) in kind.scores.iter().enumerate() {
                (forest_row(comparison, kind, score, &scale, TOP + ROW * row as f64,
                    [right, width]))
            }
        }
    };
    Chart { width, svg }
}

/// The figures beside a row: the ratio and its interval.
fn forest_values(comparison: &Comparison, score: &Score) -> [String; 2] {
    let ratio = if score.configuration == comparison.baseline {
        "1".into()
    } else {
        numbers::ratio(score.ratio, score.interval())
    };
    [ratio, numbers::ratio_interval(score.ratio, score.interval())]
}

/// What a row says when it is pointed at.
fn forest_tip(comparison: &Comparison, kind: &KindResult, score: &Score) -> String {
    let verdict = table::score_answer(score);
    let best = if kind.best_set.contains(&score.configuration) {
        say!(IN_BEST_SET)
    } else {
        String::new()
    };
    let score_text = match score.versus_baseline {
        None => String::new(),
        Some(_) => format!("{}, ", numbers::score_whole(score)),
    };
    format!("{}: {score_text}{verdict}{best}", table::label(comparison, &score.configuration))
}

fn forest_row(
    comparison: &Comparison,
    kind: &KindResult,
    score: &Score,
    scale: &LogScale,
    top: f64,
    edges: [f64; 2],
) -> Markup {
    let [right, width] = edges;
    let middle = top + ROW / 2.0;
    let label = table::label(comparison, &score.configuration);
    let baseline = score.configuration == comparison.baseline;
    let best = kind.best_set.contains(&score.configuration);
    let recommended = kind.recommended.as_ref() == Some(&score.configuration);
    let [ratio, interval] = forest_values(comparison, score);
    html! {
        g.row {
            title { (forest_tip(comparison, kind, score)) }
            rect.hit x="0" y=(px(top)) width=(px(width)) height=(px(ROW)) rx="3" {}
            @if best { rect.best x="0" y=(px(top + 4.0)) width="3" height=(px(ROW - 8.0)) {} }
            text.pick[recommended] x="9" y=(px(middle + 4.0)) {
                (fitted(&label, Face::Bold, LABEL_MAX)) }
            (ratio_mark(score, baseline, scale, middle))
            text.value x=(px(right + 12.0)) y=(px(middle + 4.0)) {
                (ratio)
                @if !interval.is_empty() { tspan.soft dx="5" { (interval) } }
            }
        }
    }
}

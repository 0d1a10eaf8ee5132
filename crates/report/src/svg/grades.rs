//! Speed against grade: what each grade costs, or does not cost.

use maud::{Markup, html};
use results::analysis::Comparison;

use super::frame::{LABEL_MAX, LogScale, px, ratio_mark, sizes};
use crate::charts::GradedConfiguration;
use crate::measure::{self, Face, fitted};
use crate::table;
use crate::words::{self, say};

const ROW: f64 = 22.0;
/// Between two grades.
const GAP: f64 = 8.0;
const TOP: f64 = 6.0;
const PLOT: f64 = 180.0;
/// Room for the letter of a grade.
const LETTER: f64 = 20.0;

/// Scores against the baseline, by grade from best to worst, and of each grade the fastest first.
pub(crate) fn grades(comparison: &Comparison, graded: &[GradedConfiguration<'_>]) -> Markup {
    let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
    let label = |one: &GradedConfiguration<'_>| fitted(&one.name, Face::Text, LABEL_MAX);
    let left = LETTER
        + 12.0
        + widest(&mut graded.iter().map(|one| measure::width(&label(one), Face::Text)));
    let right = left + PLOT;
    let figures = words::widest(|| {
        widest(&mut graded.iter().map(|one| measure::width(&one.ratio(), Face::Text)))
    });
    let width = right + 12.0 + figures + 2.0;
    let ends = |one: &GradedConfiguration<'_>| {
        let interval = one.score.interval();
        [Some(one.score.ratio), interval.map(|ends| ends.low), interval.map(|ends| ends.high)]
    };
    let scale = LogScale::new(graded.iter().flat_map(ends).flatten(), left, right);
    let mut rows = Vec::new();
    let mut bottom = TOP;
    for (index, one) in graded.iter().enumerate() {
        let is_first = index == 0 || graded[index - 1].grade != one.grade;
        if is_first && index > 0 {
            bottom += GAP;
        }
        rows.push((one, is_first, bottom));
        bottom += ROW;
    }
    let height = bottom + 24.0;
    html! {
        svg.grades role="img" viewBox=(format!("0 0 {} {}", px(width), px(height)))
            style=(sizes(width)) {
            title { (say!(GRADES_TITLE, place = table::comparison_title(comparison))) }
            @for tick in scale.ticks(26.0) {
                line.one[tick == 1.0].grid[tick != 1.0] x1=(px(scale.place(tick)))
                    x2=(px(scale.place(tick))) y1=(px(TOP)) y2=(px(bottom + 4.0)) {}
                text.tick x=(px(scale.place(tick))) y=(px(bottom + 17.0)) text-anchor="middle" {
                    (tick) }
            }
            @for (one, is_first, top) in rows {
                @if is_first {
                    @if top > TOP {
                        line.grid x1="0" x2=(px(width)) y1=(px(top - GAP / 2.0))
                            y2=(px(top - GAP / 2.0)) {}
                    }
                    text.head x="2" y=(px(top + ROW / 2.0 + 4.0)) { (one.grade) }
                }
                (row(one, &label(one), &scale, top, [right, width]))
            }
        }
    }
}

fn row(
    one: &GradedConfiguration<'_>,
    label: &str,
    scale: &LogScale,
    top: f64,
    [right, width]: [f64; 2],
) -> Markup {
    let middle = top + ROW / 2.0;
    html! {
        g.row {
            title { (one.name) ": " (one.ratio()) "×, " (one.sentence) }
            rect.hit x="0" y=(px(top)) width=(px(width)) height=(px(ROW)) rx="3" {}
            text x=(px(LETTER)) y=(px(middle + 4.0)) { (label) }
            (ratio_mark(one.score, one.is_baseline, scale, middle))
            text.value x=(px(right + 12.0)) y=(px(middle + 4.0)) { (one.ratio()) }
        }
    }
}

//! Main effects: what each value of an axis does, everything else together.

use maud::html;
use results::shape::Effect;

use super::frame::{Chart, LABEL_MAX, LogScale, px, sizes};
use crate::measure::{self, Face, fitted};
use crate::numbers;

const ROW: f64 = 20.0;
const PLOT: f64 = 150.0;
const TOP: f64 = 4.0;

/// The values of one axis on one scale, which `all` of the axes share, so that they can be
/// compared.
pub(crate) fn effects(effect: &Effect, all: &[Effect], title: &str) -> Chart {
    let label = |value: &str| fitted(&numbers::spaced_sizes(value), Face::Text, LABEL_MAX);
    let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
    let left = 12.0
        + widest(
            &mut effect.values.iter().map(|one| measure::width(&label(&one.value), Face::Text)),
        );
    let right = left + PLOT;
    let ratios = all.iter().flat_map(|effect| effect.values.iter().map(|one| one.ratio));
    let scale = LogScale::new(ratios, left, right);
    let bottom = TOP + ROW * effect.values.len() as f64;
    let text = |ratio: f64| format!("{}×", numbers::ratio(ratio, None));
    let width = right
        + 14.0
        + widest(&mut effect.values.iter().map(|one| measure::width(&text(one.ratio), Face::Text)));
    let height = bottom + 22.0;
    let svg = html! {
        svg.effects role="img" viewBox=(format!("0 0 {} {}", px(width), px(height)))
            style=(sizes(width)) {
            title { (title) }
            @for tick in scale.ticks(30.0) {
                line.one[tick == 1.0].grid[tick != 1.0] x1=(px(scale.place(tick)))
                    x2=(px(scale.place(tick))) y1=(px(TOP)) y2=(px(bottom + 3.0)) {}
                text.tick x=(px(scale.place(tick))) y=(px(bottom + 16.0)) text-anchor="middle" {
                    (tick) }
            }
            @for (row, one) in effect.values.iter().enumerate() {
                @let y = TOP + ROW * (row as f64 + 0.5);
                g.row.c0 {
                    title { (numbers::spaced_sizes(&one.value)) ": " (text(one.ratio)) }
                    rect.hit x="0" y=(px(y - ROW / 2.0)) width=(px(width)) height=(px(ROW)) {}
                    text x="4" y=(px(y + 4.0)) { (label(&one.value)) }
                    line.reach x1=(px(scale.place(1.0))) x2=(px(scale.place(one.ratio)))
                        y1=(px(y)) y2=(px(y)) {}
                    circle.dot cx=(px(scale.place(one.ratio))) cy=(px(y)) r="3.6" {}
                    text x=(px(right + 10.0)) y=(px(y + 4.0)) { (text(one.ratio)) }
                }
            }
        }
    };
    Chart { width, svg }
}

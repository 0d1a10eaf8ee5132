//! The charts: a forest plot, a heat map and a strip of trials in run order, as inline SVG.
//!
//! Shapes are written as `rect {}`, not `rect;`: in SVG nothing is void, and an unclosed shape
//! would swallow what follows. Coordinates are CSS pixels at the chart's own size. Colours and
//! fonts come from the page's style sheet through classes, so that one chart serves light, dark and
//! print. Every chart has a title; the page puts the same numbers in a table after it.

use maud::{Markup, html};
use results::analysis::{Comparison, KindResult, Score};
use results::claim::{Answer, Claim};
use results::types::{Group, Run, Workload};

use crate::measure::{self, Face, fitted};
use crate::numbers;
use crate::table::{self, Panel};

/// Position of positive values on a logarithmic axis that always shows 1.
pub(crate) struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// Smallest range of an axis, as a ratio to either side of 1: less would show noise as mountains.
const RANGE_MIN: f64 = 1.05;

impl LogScale {
    /// A scale that holds all `values` and 1, drawn from `from` to `to`.
    pub(crate) fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((1.0 / RANGE_MIN, RANGE_MIN), |(low, high): (f64, f64), value| {
                (low.min(value), high.max(value))
            });
        let spare = (high / low).powf(0.04);
        Self { low: low / spare, high: high * spare, from, to }
    }

    /// Where a value lies; values outside lie at the ends.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share =
            (value.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Round values at least `distance` apart; 1 is always among them, then rounder ones come
    /// first.
    pub(crate) fn ticks(&self, distance: f64) -> Vec<f64> {
        let rounder_first: [&[f64]; 6] = [
            &[1.0, 2.0, 0.5, 4.0, 0.25, 10.0, 0.1, 100.0, 0.01, 1000.0, 0.001],
            &[8.0, 0.125, 20.0, 50.0, 0.05, 0.02],
            &[1.5, 3.0, 0.75],
            &[1.2, 0.8, 1.25, 5.0, 6.0, 0.6, 0.4, 0.2],
            &[1.1, 0.9, 1.3, 0.7, 1.4, 1.6, 1.75, 2.5, 0.3],
            &[1.05, 0.95, 1.02, 0.98, 1.01, 0.99],
        ];
        let mut ticks: Vec<f64> = Vec::new();
        for value in rounder_first
            .into_iter()
            .flatten()
            .copied()
            .filter(|value| self.low <= *value && *value <= self.high)
        {
            if ticks.iter().all(|tick| (self.place(*tick) - self.place(value)).abs() >= distance) {
                ticks.push(value);
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }
}

/// A coordinate with a tenth of a pixel.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(String::from).unwrap_or(text)
}

const ROW: f64 = 24.0;

/// Room for the label of a forest plot's row.
const LABEL_MAX: f64 = 204.0;
/// Room for the name of a heat map's row, and for the head of its column.
const NAME_MAX: f64 = 250.0;
const HEAD_MAX: f64 = 150.0;
/// Least share of its own size that a chart is drawn at: below, its text could not be read, and the
/// chart is scrolled instead.
const SCALE_MIN: f64 = 0.8;

/// Scores of one kind of access with their intervals against the baseline. Each has its own scale,
/// so that intervals can be seen; the band of "same" shows how far it is zoomed in.
pub(crate) fn forest(comparison: &Comparison, kind: &KindResult, margin: f64) -> Markup {
    const PLOT: f64 = 118.0;
    const TOP: f64 = 6.0;
    let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
    let label = |score: &Score| {
        fitted(&table::label(comparison, &score.configuration), Face::Bold, LABEL_MAX)
    };
    let left = 23.0
        + widest(&mut kind.scores.iter().map(|score| measure::width(&label(score), Face::Bold)));
    let right = left + PLOT;
    let values = widest(&mut kind.scores.iter().map(|score| {
        let [ratio, interval] = forest_values(comparison, score);
        12.0 + measure::width(&ratio, Face::Text) + 5.0 + measure::width(&interval, Face::Text)
    }));
    let tips = widest(
        &mut kind
            .scores
            .iter()
            .map(|score| 9.0 + measure::width(&forest_tip(comparison, kind, score), Face::Small)),
    );
    let width = (right + values).max(tips) + 2.0;
    let ends = |score: &Score| {
        let interval = score.interval();
        [
            Some(score.ratio),
            interval.map(|interval| interval.low),
            interval.map(|interval| interval.high),
        ]
    };
    let all = kind.scores.iter().flat_map(ends).flatten().chain([1.0 - margin, 1.0 + margin]);
    let scale = LogScale::new(all, left, right);
    let bottom = TOP + ROW * kind.scores.len() as f64;
    let height = bottom + 44.0;
    let title = format!(
        "Forest plot: score of {} work against {}, {}",
        numbers::kind(kind.group),
        table::label(comparison, &comparison.baseline),
        table::comparison_title(comparison)
    );
    let (band_low, band_high) = (scale.place(1.0 - margin), scale.place(1.0 + margin));
    html! {
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
                    [right, width, bottom + 38.0]))
            }
        }
    }
}

/// A chart that fills its column, as far as its text stays readable.
fn sizes(width: f64) -> String {
    format!("min-width:{}px;max-width:{}px", px(width * SCALE_MIN), px(width * 1.15))
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
    let best = if kind.best_set.contains(&score.configuration) { ", in the best set" } else { "" };
    format!(
        "{}: {verdict}{best}",
        fitted(&table::label(comparison, &score.configuration), Face::Small, LABEL_MAX)
    )
}

fn forest_row(
    comparison: &Comparison,
    kind: &KindResult,
    score: &Score,
    scale: &LogScale,
    top: f64,
    edges: [f64; 3],
) -> Markup {
    let [right, width, tip] = edges;
    let middle = top + ROW / 2.0;
    let label = table::label(comparison, &score.configuration);
    let baseline = score.configuration == comparison.baseline;
    let best = kind.best_set.contains(&score.configuration);
    let recommended = kind.recommended.as_ref() == Some(&score.configuration);
    let [ratio, interval] = forest_values(comparison, score);
    let class = answer_class(score.answer());
    let at = px(scale.place(score.ratio));
    html! {
        g.row {
            rect.hit x="0" y=(px(top)) width=(px(width)) height=(px(ROW)) rx="3" {}
            @if best { rect.best x="0" y=(px(top + 4.0)) width="3" height=(px(ROW - 8.0)) {} }
            text.pick[recommended] x="9" y=(px(middle + 4.0)) {
                (fitted(&label, Face::Bold, LABEL_MAX)) }
            g class=(class) {
                @if let Some(interval) = score.interval() {
                    line.reach x1=(px(scale.place(interval.low)))
                        x2=(px(scale.place(interval.high))) y1=(px(middle)) y2=(px(middle)) {}
                }
                @if baseline {
                    rect.dot x=(px(scale.place(1.0) - 3.5)) y=(px(middle - 3.5)) width="7"
                        height="7" transform=(format!("rotate(45 {at} {})", px(middle))) {}
                } @else if class != "n" {
                    circle.dot cx=(at) cy=(px(middle)) r="3.8" {}
                } @else {
                    circle.dot.open cx=(at) cy=(px(middle)) r="3.4" {}
                }
            }
            text.value x=(px(right + 12.0)) y=(px(middle + 4.0)) {
                (ratio)
                @if !interval.is_empty() { tspan.soft dx="5" { (interval) } }
            }
            text.tip x="9" y=(px(tip)) { (forest_tip(comparison, kind, score)) }
        }
    }
}

/// Class of the mark for an answer: `f` ahead, `s` behind, `n` neither.
fn answer_class(answer: Option<Answer>) -> &'static str {
    match answer {
        Some(Answer::Ahead) => "f",
        Some(Answer::Behind) => "s",
        _ => "n",
    }
}

/// A ratio this far from 1, either way, has the full colour in every heat map, so that maps can be
/// compared.
const HEAT_FULL: f64 = 2.0;

/// Colour class and opacity of a ratio. The opacity grows with the logarithm, a little faster near
/// 1 where differences are small, and stops where the number would no longer be readable on it.
pub(crate) fn tint(ratio: f64) -> (&'static str, f64) {
    let share = (ratio.ln().abs() / HEAT_FULL.ln()).min(1.0);
    (if ratio >= 1.0 { "f" } else { "s" }, 0.55 * share.powf(0.75))
}

/// Ratio of each workload in each configuration of a panel; the tint says how far from 1, the
/// number says the same.
pub(crate) fn heat(run: &Run, comparison: &Comparison, panel: &Panel) -> Markup {
    const CELL_MIN: f64 = 62.0;
    const BASE_MIN: f64 = 92.0;
    const HEIGHT: f64 = 22.0;
    const TOP: f64 = 46.0;
    let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
    let workloads = &run.plan.workloads;
    let heads = widest(
        &mut panel
            .columns
            .iter()
            .map(|(_, head)| measure::width(&fitted(head, Face::Bold, HEAD_MAX), Face::Bold)),
    );
    let texts = widest(&mut panel.columns.iter().flat_map(|(configuration, _)| {
        let text =
            move |workload: &Workload| table::heat_text(comparison, configuration, &workload.name);
        workloads.iter().map(move |workload| measure::width(&text(workload), Face::Text))
    }));
    let cell = CELL_MIN.max(heads + 10.0).max(texts + 8.0);
    let baseline = fitted(&table::label(comparison, &comparison.baseline), Face::Bold, HEAD_MAX);
    let figure = |workload: &Workload| {
        table::figure(comparison, &comparison.baseline, &workload.name).unwrap_or_default()
    };
    let figures =
        widest(&mut workloads.iter().map(|workload| measure::width(&figure(workload), Face::Text)));
    let base = BASE_MIN.max(figures.max(measure::width(&baseline, Face::Bold)) + 16.0);
    let axis = if panel.name.is_empty() {
        panel.axis.clone()
    } else {
        format!("{}, {}", panel.axis, panel.name)
    };
    let name = |workload: &Workload| fitted(&workload.name, Face::Text, NAME_MAX);
    let left = 12.0
        + widest(&mut workloads.iter().map(|workload| measure::width(&name(workload), Face::Text)))
        + base;
    let right = left + cell * panel.columns.len() as f64;
    // A narrow map still has room for what stands above and below it.
    let tips = widest(&mut workloads.iter().map(|workload| {
        6.0 + measure::width(&heat_tip(comparison, panel, &workload.name), Face::Small)
    }));
    let whole = right.max(left + 4.0 + measure::width(&axis, Face::Small)).max(tips);
    let mut y = TOP;
    let mut rows = Vec::new();
    for group in [Group::Sequential, Group::Random, Group::Mixed, Group::Files] {
        let workloads: Vec<_> =
            run.plan.workloads.iter().filter(|workload| workload.group == group).collect();
        for (place, workload) in workloads.iter().enumerate() {
            rows.push((y, (place == 0).then(|| numbers::kind(Some(group))), *workload));
            y += HEIGHT;
        }
        y += if workloads.is_empty() { 0.0 } else { 8.0 };
    }
    let height = y + 22.0;
    let title = format!(
        "Heat map: ratio to {} by workload and {}{}, {}",
        table::label(comparison, &comparison.baseline),
        panel.axis,
        if panel.name.is_empty() { String::new() } else { format!(", {}", panel.name) },
        table::comparison_title(comparison)
    );
    html! {
        svg.heat role="img" viewBox=(format!("0 0 {} {}", px(whole + 1.0),
            px(height))) width=(px(whole + 1.0)) height=(px(height)) {
            title { (title) }
            text.axis x=(px(left + 2.0)) y="14" { (axis) }
            text.head x=(px(left - 10.0)) y="36" text-anchor="end" { (baseline) }
            @for (column, (_, head)) in panel.columns.iter().enumerate() {
                text.head x=(px(left + cell * (column as f64 + 0.5))) y="36" text-anchor="middle" {
                    (fitted(head, Face::Bold, HEAD_MAX)) }
            }
            @for (y, group, workload) in rows {
                g.row {
                    rect.hit x="0" y=(px(y)) width=(px(right)) height=(px(HEIGHT)) rx="2" {}
                    @if group.is_some() {
                        line.grid x1="0" x2=(px(right)) y1=(px(y - 4.0)) y2=(px(y - 4.0)) {} }
                    text x="6" y=(px(y + 15.0)) { (fitted(&workload.name, Face::Text, NAME_MAX)) }
                    @if let Some(figure) = table::figure(comparison, &comparison.baseline,
                        &workload.name) {
                        text.base x=(px(left - 10.0)) y=(px(y + 15.0)) text-anchor="end" { (figure)
                            }
                    }
                    @for (column, (configuration, _)) in panel.columns.iter().enumerate() {
                        (heat_cell(comparison, configuration, &workload.name,
                            left + cell * column as f64, y, [cell, HEIGHT]))
                    }
                    text.tip x="6" y=(px(height - 5.0)) {
                        (heat_tip(comparison, panel, &workload.name)) }
                }
            }
        }
    }
}

fn heat_cell(
    comparison: &Comparison,
    configuration: &str,
    workload: &str,
    x: f64,
    y: f64,
    size: [f64; 2],
) -> Markup {
    let cell = comparison.cell(configuration, workload);
    let versus = cell
        .and_then(|cell| cell.metrics.first())
        .and_then(|metric| metric.versus_baseline.as_ref());
    // What is not decided has no colour.
    let decided = versus.filter(|versus| answer_class(Some(versus.answer)) != "n");
    let (class, tint) = tint(decided.map_or(1.0, Claim::gain));
    let text = table::heat_text(comparison, configuration, workload);
    html! {
        @if tint >= 0.005 {
            rect class=(class) x=(px(x + 0.5)) y=(px(y + 0.5)) width=(px(size[0] - 1.0))
                height=(px(size[1] - 1.0)) fill-opacity=(format!("{tint:.2}")) {}
        }
        text.num x=(px(x + size[0] / 2.0)) y=(px(y + 15.0)) { (text) }
    }
}

/// The best cell of a row with its interval, and the baseline's figure.
fn heat_tip(comparison: &Comparison, panel: &Panel, workload: &str) -> String {
    let versus = |configuration: &str| {
        comparison.cell(configuration, workload)?.metrics.first()?.versus_baseline.as_ref()
    };
    let best = panel
        .columns
        .iter()
        .filter_map(|(configuration, _)| Some((configuration, versus(configuration)?)))
        .max_by(|(_, left), (_, right)| left.gain().total_cmp(&right.gain()));
    let highest = best.map_or_else(String::new, |(configuration, versus)| {
        let ratio = numbers::ratio_whole(versus.gain(), versus.gain_interval());
        format!(
            "highest {ratio}, {}; ",
            fitted(&table::label(comparison, configuration), Face::Small, HEAD_MAX)
        )
    });
    let baseline = table::figure(comparison, &comparison.baseline, workload)
        .unwrap_or_else(|| "no trial".to_string());
    format!(
        "{highest}{} {baseline}",
        fitted(&table::label(comparison, &comparison.baseline), Face::Small, HEAD_MAX)
    )
}

/// Every trial of a comparison in the order it was run, as distance from the median of its cell.
pub(crate) fn strip(run: &Run, comparison: &Comparison) -> Markup {
    const WIDTH: f64 = 760.0;
    const TOP: f64 = 8.0;
    const BOTTOM: f64 = 128.0;
    let medians: std::collections::BTreeMap<_, _> = comparison
        .cells
        .iter()
        .filter_map(|cell| {
            let settings = &comparison
                .configurations
                .iter()
                .find(|member| member.id == cell.configuration)?
                .settings;
            let metric = cell.metrics.first()?;
            Some(((settings, cell.workload.as_str()), metric))
        })
        .collect();
    // Place in the run, block, ratio to the cell's median, doubtful.
    let points: Vec<(usize, u32, f64, bool)> = run
        .trials
        .iter()
        .filter_map(|trial| {
            Some((trial, *medians.get(&(&trial.settings, trial.workload.as_str()))?))
        })
        .enumerate()
        .filter_map(|(place, (trial, metric))| {
            let ratio = trial.metrics.get(&metric.name)? / metric.median;
            (ratio.is_finite() && ratio > 0.0).then_some((
                place,
                trial.block,
                ratio,
                !trial.flags.is_empty(),
            ))
        })
        .collect();
    let scale = LogScale::new(points.iter().map(|(_, _, ratio, _)| *ratio), BOTTOM, TOP);
    let percent = |tick: f64| {
        if tick == 1.0 { "median".to_owned() } else { format!("{:+.0} %", (tick - 1.0) * 100.0) }
    };
    let ticks = scale.ticks(20.0);
    let left = 8.0
        + ticks.iter().map(|tick| measure::width(&percent(*tick), Face::Small)).fold(0.0, f64::max);
    let last = points.last().map_or(1, |(place, ..)| (*place).max(1)) as f64;
    let x = |place: usize| left + 6.0 + (WIDTH - left - 12.0) * place as f64 / last;
    let path = |doubtful: bool| {
        let chosen = points.iter().filter(|(.., flagged)| *flagged == doubtful);
        chosen
            .map(|(place, _, ratio, _)| format!("M{} {}h0", px(x(*place)), px(scale.place(*ratio))))
            .collect::<String>()
    };
    let mut starts: Vec<(usize, u32)> = Vec::new();
    for (place, block, ..) in &points {
        if starts.last().is_none_or(|(_, known)| known != block) {
            starts.push((*place, *block));
        }
    }
    // Numbers of blocks stand where they do not touch; the first says what they are.
    let apart =
        starts.windows(2).map(|pair| x(pair[1].0) - x(pair[0].0)).fold(f64::INFINITY, f64::min);
    let first = if apart >= measure::width("block 1", Face::Small) + 6.0 { "block " } else { "" };
    let numbered = apart >= measure::width(&starts.len().to_string(), Face::Small) + 4.0;
    html! {
        svg.strip role="img" viewBox=(format!("0 0 {WIDTH} 154")) width=(WIDTH) height="154" {
            title { "Trials in run order: distance of each from the median of its cell, "
                (table::comparison_title(comparison)) }
            @for tick in ticks {
                line.one[tick == 1.0].grid[tick != 1.0] x1=(px(left)) x2=(px(WIDTH))
                    y1=(px(scale.place(tick))) y2=(px(scale.place(tick))) {}
                text.tick x=(px(left - 6.0)) y=(px(scale.place(tick) + 4.0)) text-anchor="end" {
                    (percent(tick)) }
            }
            @for (place, block) in &starts {
                line.grid x1=(px(x(*place) - 3.0)) x2=(px(x(*place) - 3.0)) y1=(px(TOP))
                    y2=(px(BOTTOM + 6.0)) {}
                @if numbered { text.tick x=(px(x(*place))) y="148" {
                    @if *place == 0 { (first) } (block + 1) } }
            }
            path.trials d=(path(false)) {}
            path.doubtful d=(path(true)) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_scale_holds_its_values_and_mirrors_inverses() {
        let scale = LogScale::new([0.5, 2.0].into_iter(), 0.0, 100.0);
        assert!((scale.place(1.0) - 50.0).abs() < 1e-9);
        assert!((scale.place(0.5) + scale.place(2.0) - 100.0).abs() < 1e-9);
        assert!(scale.place(0.5) > 0.0 && scale.place(1e9) == 100.0 && scale.place(-1.0) == 0.0);
    }

    #[test]
    fn ticks_keep_their_distance_and_include_one() {
        for high in [1.01_f64, 1.2, 3.0, 40.0, 5000.0] {
            let scale = LogScale::new([high, 1.0 / high.sqrt(), f64::NAN].into_iter(), 0.0, 130.0);
            let ticks = scale.ticks(26.0);
            assert!(ticks.contains(&1.0) && ticks.len() >= 2, "{high}: {ticks:?}");
            assert!(
                ticks.windows(2).all(|pair| scale.place(pair[1]) - scale.place(pair[0]) >= 26.0),
                "{high}: {ticks:?}"
            );
        }
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(
            (px(12.04), px(12.06), px(3.0)),
            ("12".to_string(), "12.1".to_string(), "3".to_string())
        );
    }
}

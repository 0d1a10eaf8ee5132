//! Trials in the order in which they were run.

use std::collections::HashMap;

use maud::{Markup, html};
use results::Settings;
use results::analysis::{Analysis, Metric};
use results::types::{Run, Trial};

use super::frame::{LogScale, Steps, px};
use crate::measure::{self, Face};
use crate::words::{self, say};

/// Most dots of trials: more cannot be told apart.
const DOTS_MAX: usize = 1_000;

/// Trials in their order, and what each block is off by.
pub(crate) struct Strip {
    pub(crate) svg: Markup,
    /// Number of a block and the median distance of its trials, as a fraction.
    pub(crate) blocks: Vec<(u32, f64)>,
}

/// A trial: place in the run, block, ratio to the median of its cell, doubtful.
type Dot = (usize, u32, f64, bool);

/// The measured trials of a run in its order, of a long one every second or third: a model's tell
/// of no machine.
fn dots(run: &Run, analysis: &Analysis) -> Vec<Dot> {
    let mut medians: HashMap<Settings, HashMap<&str, &Metric>> = HashMap::new();
    for comparison in analysis.comparisons.iter().filter(|one| !one.modelled) {
        let mut by_id: HashMap<&str, HashMap<&str, &Metric>> = HashMap::new();
        for cell in &comparison.cells {
            if let Some(metric) = cell.metrics.first() {
                let of_member = by_id.entry(cell.configuration.as_str()).or_default();
                of_member.insert(cell.workload.as_str(), metric);
            }
        }
        for member in &comparison.configurations {
            if let Some(of_member) = by_id.remove(member.id.as_str()) {
                medians.entry(member.settings.clone().into()).or_default().extend(of_member);
            }
        }
    }
    let known = run.trials.iter().filter_map(|trial| {
        Some((trial, *medians.get(&trial.settings)?.get(trial.workload.as_str())?))
    });
    let dot = |(place, (trial, metric)): (usize, (&Trial, &Metric))| {
        let ratio = trial.metrics.get(&metric.name)? / metric.median;
        let is_doubtful = !trial.flags.is_empty();
        (ratio.is_finite() && ratio > 0.0).then_some((place, trial.block, ratio, is_doubtful))
    };
    let all: Vec<Dot> = known.enumerate().filter_map(dot).collect();
    let every = all.len().div_ceil(DOTS_MAX).max(1);
    let last = all.len().saturating_sub(1);
    let kept = |(place, (.., is_doubtful)): &(usize, Dot)| {
        place.is_multiple_of(every) || *place == last || *is_doubtful
    };
    all.into_iter().enumerate().filter(kept).map(|(_, dot)| dot).collect()
}

/// Where each block begins: the place of its first trial, and its number.
fn starts(points: &[Dot]) -> Vec<(usize, u32)> {
    let mut starts: Vec<(usize, u32)> = Vec::new();
    for (place, block, ..) in points {
        if starts.last().is_none_or(|(_, known)| known != block) {
            starts.push((*place, *block));
        }
    }
    starts
}

/// The median ratio of a block's trials.
fn middle(points: &[Dot], block: u32) -> f64 {
    let own = points.iter().filter(|(_, of, ..)| *of == block);
    let mut ratios: Vec<f64> = own.map(|(_, _, ratio, _)| *ratio).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
}

/// Measured trials in the order in which they were run, as distance from the median of each one's
/// cell; none where there are none.
pub(crate) fn strip(run: &Run, analysis: &Analysis) -> Option<Strip> {
    const WIDTH: f64 = 760.0;
    const TOP: f64 = 8.0;
    const BOTTOM: f64 = 128.0;
    let points = dots(run, analysis);
    if points.len() < 2 {
        return None;
    }
    let scale = LogScale::new(points.iter().map(|(_, _, ratio, _)| *ratio), BOTTOM, TOP);
    let percent = |tick: f64| {
        if tick == 1.0 { say!(MEDIAN) } else { format!("{:+.0} %", (tick - 1.0) * 100.0) }
    };
    let ticks = scale.ticks(20.0);
    let left = 8.0
        + words::widest(|| {
            let widths = ticks.iter().map(|tick| measure::width(&percent(*tick), Face::Small));
            widths.fold(0.0, f64::max)
        });
    let last = points.last().map_or(1, |(place, ..)| (*place).max(1)) as f64;
    let x = |place: usize| left + 6.0 + (WIDTH - left - 12.0) * place as f64 / last;
    let path = |doubtful: bool| {
        let mut steps = Steps::new();
        for (place, _, ratio, _) in points.iter().filter(|(.., flagged)| *flagged == doubtful) {
            steps.dot(x(*place), scale.place(*ratio));
        }
        steps.path()
    };
    let starts = starts(&points);
    // The machine's own course: the median distance of each block.
    let ends = starts.iter().skip(1).map(|(place, _)| x(*place)).chain([x(last as usize)]);
    let course: String = starts
        .iter()
        .zip(ends)
        .map(|((place, block), end)| {
            let y = px(scale.place(middle(&points, *block)));
            format!("M{} {y}H{}", px(x(*place) - 3.0), px(end - 3.0))
        })
        .collect();
    // Numbers of blocks stand where they do not touch; the first says what they are.
    let apart =
        starts.windows(2).map(|pair| x(pair[1].0) - x(pair[0].0)).fold(f64::INFINITY, f64::min);
    let first = words::widest(|| measure::width(&format!("{}1", say!(BLOCK_NUMBER)), Face::Small));
    let first = if apart >= first + 6.0 { say!(BLOCK_NUMBER) } else { String::new() };
    let numbered = apart >= measure::width(&starts.len().to_string(), Face::Small) + 4.0;
    let svg = html! {
        svg.strip role="img" viewBox=(format!("0 0 {WIDTH} 154")) width=(WIDTH) height="154" {
            title { (say!(ORDER_TITLE)) }
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
            path.course d=(course) {}
        }
    };
    let changes = starts.iter().map(|(_, block)| (*block, middle(&points, *block) - 1.0));
    Some(Strip { svg, blocks: changes.collect() })
}

//! Trials in the order in which they were run.

use maud::{Markup, html};
use results::analysis::Comparison;
use results::types::Run;

use super::frame::{LogScale, Steps, px};
use crate::measure::{self, Face};
use crate::table;
use crate::words::{self, say};

/// Every trial of a comparison in the order it was run, as distance from the median of its cell.
#[expect(clippy::too_many_lines, reason = "not yet split")]
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
    let mut starts: Vec<(usize, u32)> = Vec::new();
    for (place, block, ..) in &points {
        if starts.last().is_none_or(|(_, known)| known != block) {
            starts.push((*place, *block));
        }
    }
    // The machine's own course: the median distance of each block.
    let ends = starts.iter().skip(1).map(|(place, _)| x(*place)).chain([x(last as usize)]);
    let course: String = starts
        .iter()
        .zip(ends)
        .filter_map(|((place, block), end)| {
            let effect = comparison.block_effects.iter().find(|effect| effect.block == *block)?;
            let y = px(scale.place(1.0 + effect.change));
            Some(format!("M{} {y}H{}", px(x(*place) - 3.0), px(end - 3.0)))
        })
        .collect();
    // Numbers of blocks stand where they do not touch; the first says what they are.
    let apart =
        starts.windows(2).map(|pair| x(pair[1].0) - x(pair[0].0)).fold(f64::INFINITY, f64::min);
    let first = words::widest(|| measure::width(&format!("{}1", say!(BLOCK_NUMBER)), Face::Small));
    let first = if apart >= first + 6.0 { say!(BLOCK_NUMBER) } else { String::new() };
    let numbered = apart >= measure::width(&starts.len().to_string(), Face::Small) + 4.0;
    html! {
        svg.strip role="img" viewBox=(format!("0 0 {WIDTH} 154")) width=(WIDTH) height="154" {
            title { (say!(ORDER_TITLE, place = table::comparison_title(comparison))) }
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
    }
}

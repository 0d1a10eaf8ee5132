//! The heat map: the ratio of every cell.

use maud::{Markup, html};
use results::analysis::Comparison;
use results::claim::Claim;
use results::types::{Group, Run, Workload};

use super::frame::{HEAD_MAX, NAME_MAX, answer_class, px};
use crate::charts;
use crate::measure::{self, Face, fitted};
use crate::numbers;
use crate::table::{self, Panel};

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
    // A narrow map still has room for what stands above it.
    let whole = right.max(left + 4.0 + measure::width(&axis, Face::Small));
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
    let height = y + 2.0;
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
                        (heat_cell(run, comparison, configuration, &workload.name,
                            [left + cell * column as f64, y, cell, HEIGHT]))
                    }
                }
            }
        }
    }
}

fn heat_cell(
    run: &Run,
    comparison: &Comparison,
    configuration: &str,
    workload: &str,
    [x, y, width, height]: [f64; 4],
) -> Markup {
    let cell = comparison.cell(configuration, workload);
    let versus = cell
        .and_then(|cell| cell.metrics.first())
        .and_then(|metric| metric.versus_baseline.as_ref());
    // What is not decided has no colour.
    let decided = versus.filter(|versus| answer_class(Some(versus.answer)) != "n");
    let (class, tint) = tint(decided.map_or(1.0, Claim::gain));
    let text = table::heat_text(comparison, configuration, workload);
    // What is seen through takes the pointer too.
    let tint = if tint >= 0.005 { tint } else { 0.0 };
    html! {
        g data-c=(charts::place(run, configuration, workload)) {
            rect class=(class) x=(px(x + 0.5)) y=(px(y + 0.5)) width=(px(width - 1.0))
                height=(px(height - 1.0)) fill-opacity=(format!("{tint:.2}")) {}
            text.num x=(px(x + width / 2.0)) y=(px(y + 15.0)) { (text) }
        }
    }
}

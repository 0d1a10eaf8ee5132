//! The heat map: the ratio of every cell, as a table, so that its rows keep their names on a narrow
//! screen and read by themselves.

use maud::{Markup, html};
use results::analysis::Comparison;
use results::claim::{Answer, Claim};
use results::types::{Run, Workload};

use crate::charts;
use crate::table::{self, Panel};
use crate::words::say;

/// A ratio this far from 1, either way, has the full colour in every heat map, so that maps can be
/// compared.
const FULL: f64 = 2.0;

/// Colour class and opacity of a ratio. The opacity grows with the logarithm, a little faster near
/// 1 where differences are small, and stops where the number would no longer be readable on it.
fn tint(ratio: f64) -> (&'static str, f64) {
    let share = (ratio.ln().abs() / FULL.ln()).min(1.0);
    (if ratio >= 1.0 { "f" } else { "s" }, 0.46 * share.powf(0.75))
}

fn style(opacity: f64) -> String {
    format!("--tint:{:.0}%", opacity * 100.0)
}

/// The tints, each with its ratio.
pub(crate) fn key() -> Markup {
    html! {
        p.key {
            (say!(HEAT_SLOWER))
            @for ratio in [0.5, 0.67, 0.8, 0.9, 1.0, 1.11, 1.25, 1.5, 2.0] {
                @let (class, opacity) = tint(ratio);
                span class=(class) style=(style(opacity)) { (ratio) }
            }
            (say!(HEAT_FASTER))
        }
    }
}

/// Ratio of each workload in each configuration of a panel; the tint says how far from 1, the
/// number says the same. What is not decided has no colour.
pub(crate) fn heat(run: &Run, comparison: &Comparison, panel: &Panel) -> Markup {
    let shown = table::heat(run, comparison, panel);
    let workloads = &run.plan.workloads;
    let begins = |row: usize| row > 0 && workloads[row].group != workloads[row - 1].group;
    let decided = |configuration: &str, workload: &Workload| {
        let claim = comparison
            .cell(configuration, &workload.name)?
            .metrics
            .first()?
            .versus_baseline
            .as_ref()?;
        matches!(claim.answer, Answer::Ahead | Answer::Behind).then(|| Claim::gain(claim))
    };
    html! {
        table.heat {
            caption { span { (shown.caption) } }
            thead { tr { @for column in &shown.columns {
                th.n[column.number] scope="col" { (column.name) } } } }
            tbody { @for (row, cells) in shown.rows.iter().enumerate() {
                tr.begins[begins(row)] {
                    th scope="row" { (cells[0]) }
                    td.n { (cells[1]) }
                    @for ((configuration, _), text) in panel.columns.iter().zip(&cells[2..]) {
                        @let place = charts::place(run, configuration, &workloads[row].name);
                        @if let Some(gain) = decided(configuration, &workloads[row]) {
                            @let (class, opacity) = tint(gain);
                            td class=(class) style=(style(opacity)) data-c=(place) { (text) }
                        } @else {
                            td data-c=(place) { (text) }
                        }
                    }
                }
            } }
        }
    }
}

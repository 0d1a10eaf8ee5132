//! The map: the ratio of every cell, as a table, so that its rows keep their names on a narrow
//! screen and read by themselves.

use maud::{Markup, html};
use results::analysis::{Analysis, Comparison};
use results::claim::{Answer, Claim};
use results::types::{Run, Workload};

use crate::table::{self, Panel};
use crate::words::{names, say};
use crate::{charts, numbers};

/// A ratio this far from 1, either way, has the full colour in every map, so that maps can be
/// compared.
const FULL: f64 = 2.0;

/// Colour class and opacity of a ratio. The opacity grows with the logarithm, a little faster near
/// 1 where differences are small, and stops where the number would no longer be readable on it.
fn tint(ratio: f64) -> (&'static str, f64) {
    let share = (ratio.ln().abs() / FULL.ln()).min(1.0);
    (if ratio >= 1.0 { "f" } else { "s" }, 0.46 * share.powf(0.75))
}

/// Steps of the tints, as the style sheet has them.
const STEP: f64 = 0.05;

/// Class of an opacity, to the nearest step.
fn step(opacity: f64) -> String {
    format!("t{:.0}", opacity / STEP)
}

/// The tints, each with its ratio.
pub(crate) fn key() -> Markup {
    html! {
        p.key {
            (say!(HEAT_SLOWER))
            @for ratio in [0.5, 0.67, 0.8, 0.9, 1.0, 1.11, 1.25, 1.5, 2.0] {
                @let (class, opacity) = tint(ratio);
                span class={ (class) " " (step(opacity)) } { (ratio) }
            }
            (say!(HEAT_FASTER))
        }
    }
}

/// All panels of a run along one axis, in one table.
pub(crate) struct Map<'a> {
    axis: String,
    /// Heads of the columns.
    values: Vec<String>,
    parts: Vec<(&'a Comparison, Panel)>,
}

/// The maps of a run: one for each axis that comparisons have along their columns.
pub(crate) fn maps<'a>(run: &Run, analysis: &'a Analysis) -> Vec<Map<'a>> {
    let mut maps: Vec<Map<'a>> = Vec::new();
    let panels = |one: &'a Comparison| table::panels(one).into_iter().map(move |part| (one, part));
    for (comparison, panel) in analysis.comparisons.iter().flat_map(panels) {
        if panel.columns.is_empty() {
            continue;
        }
        match maps.iter_mut().find(|map| map.axis == panel.axis) {
            Some(map) => map.parts.push((comparison, panel)),
            None => maps.push(Map {
                axis: panel.axis.clone(),
                values: Vec::new(),
                parts: vec![(comparison, panel)],
            }),
        }
    }
    for map in &mut maps {
        let used = |value: &String| {
            let mut heads = map.parts.iter().flat_map(|(_, panel)| &panel.columns);
            heads.any(|(_, head)| head == value)
        };
        let known = run.plan.axes.iter().find(|axis| axis.name == map.axis);
        let values = known.into_iter().flat_map(|axis| &axis.values);
        let mut values: Vec<String> = values.map(|value| numbers::spaced_sizes(value)).collect();
        // What lacks the axis.
        values.push("–".to_owned());
        values.retain(used);
        map.values = values;
    }
    maps
}

impl Map<'_> {
    /// Ratio of each workload in each configuration; the tint says how far from 1, the number says
    /// the same. What is not decided has no colour.
    pub(crate) fn table(&self, run: &Run) -> Markup {
        let mut baselines = self.parts.iter().map(|(one, _)| table::label(one, &one.baseline));
        let first = baselines.next().unwrap_or_default();
        let baseline = match baselines.all(|other| other == first) {
            true => first,
            false => say!(BASELINE),
        };
        let raced = self.parts.iter().flat_map(|(one, _)| &one.configurations);
        let raced = match raced.clone().any(|member| member.stage.is_some()) {
            true => say!(RACED_ONLY),
            false => String::new(),
        };
        let caption =
            say!(MAP_TABLE, baseline = baseline, axis = names::axis(&self.axis), raced = raced);
        html! {
            table.heat {
                caption { span { (caption) } }
                thead { tr {
                    th scope="col" { (say!(WORKLOAD)) }
                    th.n scope="col" { (baseline) }
                    @for value in &self.values { th.n scope="col" { (value) } }
                } }
                @for (comparison, panel) in &self.parts { (self.part(run, comparison, panel)) }
            }
        }
    }

    /// The rows of one panel, under its name; a single row has it in its own.
    fn part(&self, run: &Run, comparison: &Comparison, panel: &Panel) -> Markup {
        let workloads = &run.plan.workloads;
        let rows = table::heat_rows(run, comparison, panel);
        let places = [table::comparison_title(comparison), panel.name.clone()];
        let place = places.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let place = if self.parts.len() > 1 { place.join(", ") } else { String::new() };
        let is_alone = workloads.len() == 1;
        let begins = |row: usize| row > 0 && workloads[row].group != workloads[row - 1].group;
        html! {
            tbody {
                @if !place.is_empty() && !is_alone {
                    @let columns = self.values.len() + 2;
                    tr.of { th scope="rowgroup" colspan=(columns) { span { (place) } } }
                }
                @for (row, cells) in rows.iter().enumerate() {
                    tr.begins[begins(row)] {
                        th scope="row" {
                            @if is_alone && !place.is_empty() { (place) ": " } (cells[0]) }
                        td.n { (cells[1]) }
                        @for value in &self.values {
                            @match panel.columns.iter().position(|(_, head)| head == value) {
                                Some(at) => (ratio(run, comparison, &panel.columns[at].0,
                                    &workloads[row], &cells[at + 2])),
                                None => td {},
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One ratio of a map.
fn ratio(
    run: &Run,
    comparison: &Comparison,
    configuration: &str,
    workload: &Workload,
    text: &str,
) -> Markup {
    let claim = || {
        let cell = comparison.cell(configuration, &workload.name)?;
        cell.metrics.first()?.versus_baseline.as_ref()
    };
    let decided = claim().filter(|one| matches!(one.answer, Answer::Ahead | Answer::Behind));
    let place = charts::place(run, configuration, &workload.name);
    html! {
        @if let Some(gain) = decided.map(Claim::gain) {
            @let (class, opacity) = tint(gain);
            td class={ (class) " " (step(opacity)) } data-c=(place) { (text) }
        } @else {
            td data-c=(place) { (text) }
        }
    }
}

//! Every trial of a run, as the page's script makes a table of it: one list, small enough that
//! thousands of them leave the page small.

use std::collections::BTreeMap;

use results::analysis::{Analysis, Comparison, Metric};
use results::types::Run;
use serde_json::{Value, json};

use crate::numbers::Unit;
use crate::{csv, doubts, numbers, table};

/// The most trials that a page holds; the first ones, and all are in `trials.jsonl`.
pub(crate) const HELD: usize = 50_000;

const TAIL: &str = "latency_p99_seconds";

/// How many trials the page's table can show.
pub(crate) fn count(run: &Run) -> usize {
    run.trials.len().min(HELD)
}

/// Most trials of which the 99th percentiles are held too.
const TAILS_HELD: usize = 3_000;

/// Whether the table has a column of 99th percentiles.
pub(crate) fn has_tails(run: &Run) -> bool {
    let trials = &run.trials[..count(run)];
    trials.len() <= TAILS_HELD && trials.iter().any(|trial| trial.metrics.contains_key(TAIL))
}

/// What the 99th percentiles are given in.
pub(crate) fn tail_unit(analysis: &Analysis) -> Unit {
    let first = analysis.comparisons.first();
    first.map_or_else(|| numbers::unit(TAIL), |one| numbers::unit_in(one, TAIL))
}

/// Columns of figures, each as long as there are trials, in the order in which these were finished:
/// `cell` is the configuration's index times the number of workloads, plus the workload's; `figure`
/// is in the unit of its workload and the 99th percentile (`tail`) in that of [`tail_unit`], `null`
/// where there is none. `blocks` are the numbers of blocks with how many trials follow each other
/// in it; `flags` go by the trial's index, each the index of a text. `cells` are the medians of
/// each configuration and workload, `units` those of each workload.
pub(crate) fn data(run: &Run, analysis: &Analysis) -> Value {
    let plan = &run.plan;
    let trials = &run.trials[..count(run)];
    let place = plan.places();
    let judged = |configuration: &str, workload: &str| -> Option<(&Metric, Unit)> {
        let mut comparisons = analysis.comparisons.iter();
        let found = |one| Some((one, Comparison::cell(one, configuration, workload)?));
        let (comparison, cell) = comparisons.find_map(found)?;
        let metric = cell.metrics.first()?;
        Some((metric, table::unit(comparison, cell, metric)))
    };
    let scaled = |figure: f64, unit: Unit| csv::significant(numbers::scaled(figure, unit), 4);
    // It is shown with no more.
    let slow = |figure: &f64| csv::significant(numbers::scaled(*figure, tail_unit(analysis)), 3);
    let judged: Vec<Vec<Option<(&Metric, Unit)>>> = plan
        .configurations
        .iter()
        .map(|one| plan.workloads.iter().map(|work| judged(&one.id, &work.name)).collect())
        .collect();
    let median = |cell: &Option<(&Metric, Unit)>| match cell {
        Some((metric, unit)) => json!(scaled(metric.median, *unit)),
        None => Value::Null,
    };
    let cells: Vec<Vec<Value>> =
        judged.iter().map(|row| row.iter().map(median).collect()).collect();
    // Of a workload all cells have the same.
    let unit = |work: usize| judged.iter().find_map(|row| row[work]).map_or("", |(_, it)| it.name);
    let units: Vec<&str> = (0..plan.workloads.len()).map(unit).collect();
    let [mut cell, mut figure, mut tail] = [const { Vec::new() }; 3];
    let mut blocks: Vec<(u32, usize)> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut flags: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, trial) in trials.iter().enumerate() {
        let place = place(trial);
        let judged = place.and_then(|(at, work)| judged[at][work]);
        let own =
            judged.and_then(|(metric, unit)| Some(scaled(*trial.metrics.get(&metric.name)?, unit)));
        cell.push(json!(place.map(|(at, work)| at * plan.workloads.len() + work)));
        figure.push(json!(own));
        tail.push(json!(trial.metrics.get(TAIL).map(slow)));
        match blocks.last_mut() {
            Some((block, count)) if *block == trial.block => *count += 1,
            _ => blocks.push((trial.block, 1)),
        }
        for doubt in &trial.flags {
            let text = doubts::doubt_sentence(&doubt.without_figures());
            let known = texts.iter().position(|known| *known == text).unwrap_or_else(|| {
                texts.push(text);
                texts.len() - 1
            });
            flags.entry(index).or_default().push(known);
        }
    }
    let is_timed = has_tails(run);
    json!({
        "cells": cells, "units": units, "cell": cell, "figure": figure,
        "tail": if is_timed { tail } else { Vec::new() }, "blocks": blocks, "texts": texts,
        "flags": flags,
    })
}

//! Every trial of a run, as the page's script makes a table of it: one list, small enough that
//! thousands of them leave the page small.

use std::collections::BTreeMap;

use results::analysis::{Analysis, Metric};
use results::types::Run;
use serde_json::{Value, json};

use crate::{csv, doubts, numbers};

/// The most trials that a page holds; the first ones, and all are in `trials.jsonl`.
pub(crate) const HELD: usize = 50_000;

const TAIL: &str = "latency_p99_seconds";

/// How many trials the page's table can show.
pub(crate) fn count(run: &Run) -> usize {
    run.trials.len().min(HELD)
}

/// Columns of figures, each as long as there are trials, in the order in which these were finished:
/// `configuration` and `workload` by index, the workload's `figure` in the unit of its cell and the
/// 99th percentile (`tail`) in milliseconds, `null` where there is none. `blocks` are the numbers
/// of blocks with how many trials follow each other in it; `flags` go by the trial's index, each
/// the index of a text. `cells` are the units and medians of each configuration and workload.
pub(crate) fn data(run: &Run, analysis: &Analysis) -> Value {
    let plan = &run.plan;
    let trials = &run.trials[..count(run)];
    let settings: BTreeMap<_, usize> =
        plan.configurations.iter().enumerate().map(|(at, known)| (&known.settings, at)).collect();
    let workloads: BTreeMap<&str, usize> =
        plan.workloads.iter().enumerate().map(|(at, known)| (known.name.as_str(), at)).collect();
    let judged = |configuration: &str, workload: &str| -> Option<&Metric> {
        let mut comparisons = analysis.comparisons.iter();
        comparisons.find_map(|one| one.cell(configuration, workload))?.metrics.first()
    };
    let scaled = |figure: f64, metric: &str| {
        csv::significant(numbers::scaled(figure, numbers::unit(metric)), 5)
    };
    // It is shown with no more.
    let slow = |figure: &f64| csv::significant(numbers::scaled(*figure, numbers::unit(TAIL)), 4);
    let judged: Vec<Vec<Option<&Metric>>> = plan
        .configurations
        .iter()
        .map(|one| plan.workloads.iter().map(|work| judged(&one.id, &work.name)).collect())
        .collect();
    let cells: Vec<Vec<Value>> = judged
        .iter()
        .map(|row| {
            let cell = |metric: &Option<&Metric>| match metric {
                Some(metric) => {
                    let median = scaled(metric.median, &metric.name);
                    json!([numbers::unit(&metric.name).name, median])
                }
                None => Value::Null,
            };
            row.iter().map(cell).collect()
        })
        .collect();
    let [mut configuration, mut workload, mut figure, mut tail] = [const { Vec::new() }; 4];
    let mut blocks: Vec<(u32, usize)> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut flags: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, trial) in trials.iter().enumerate() {
        let at = settings.get(&trial.settings).copied();
        let work = workloads.get(trial.workload.as_str()).copied();
        let metric = at.zip(work).and_then(|(at, work)| judged[at][work]);
        let own =
            metric.and_then(|metric| Some(scaled(*trial.metrics.get(&metric.name)?, &metric.name)));
        configuration.push(json!(at));
        workload.push(json!(work));
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
    let is_timed = tail.iter().any(|value| !value.is_null());
    json!({
        "cells": cells, "configuration": configuration, "workload": workload, "figure": figure,
        "tail": if is_timed { tail } else { Vec::new() }, "blocks": blocks, "texts": texts,
        "flags": flags,
    })
}

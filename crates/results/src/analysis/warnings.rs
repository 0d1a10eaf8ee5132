//! What the reader should know before believing the figures.

use std::collections::BTreeSet;

use crate::claim::{LEVEL, tail_of};
use crate::doubt::{self, Bearing, Doubt};
use crate::statistics;
use crate::voices::Table;

use super::{Autocorrelation, Comparison, Warning};

/// Below this number of blocks intervals are wide, which a warning says.
const BLOCKS_FEW: usize = 6;

/// A drift or a step of the machine is worth a warning from this relative change over the run.
const CHANGE_MIN: f64 = 0.02;

/// Tests of a cell that begin at another rate are worth a warning from this relative change on.
const START_MIN: f64 = 0.05;

/// Fewest trials of a cell that can show that its tests begin otherwise than they go on.
const START_TRIALS_MIN: usize = 4;

/// Fewest trials of a cell among which one can stand out: with fewer, the median deviation itself
/// is mostly chance.
const OUTLIER_TRIALS_MIN: usize = 10;

/// What is to be known of a comparison.
pub(super) fn of_comparison(comparison: &Comparison) -> Vec<Warning> {
    let name = || comparison.name.clone();
    let mut warnings = Vec::new();
    let blocks = comparison
        .cells
        .iter()
        .filter_map(|cell| cell.metrics.first())
        .map(|metric| metric.trials)
        .max()
        .unwrap_or(0);
    if blocks < BLOCKS_FEW && !comparison.is_in_model() {
        warnings.push(Warning::FewBlocks { comparison: name(), blocks });
    }
    warnings.extend(course_of_machine(comparison));
    if let Some(found) = comparison.autocorrelation.filter(Autocorrelation::is_notable) {
        warnings.push(Warning::Autocorrelated { comparison: name(), lag_1: found.lag_1 });
    }
    if let Some(first) = comparison.carried_over.first() {
        warnings.push(Warning::CarriedOver {
            comparison: name(),
            configuration: first.configuration.clone(),
            change: first.change,
        });
    } else if let Some(found) = &comparison.by_order {
        warnings.push(Warning::ByOrder {
            comparison: name(),
            configuration: found.configuration.clone(),
            ratios: found.ratios,
        });
    }
    warnings
}

/// That the machine drifted, or changed at once: of the two what explains its course better.
fn course_of_machine(comparison: &Comparison) -> Option<Warning> {
    let is_notable = |p: f64, change: f64| p < LEVEL && change.abs() > CHANGE_MIN;
    let drift = comparison.drift.filter(|drift| is_notable(drift.p, drift.change));
    let step = comparison.step.filter(|step| is_notable(step.p, step.change));
    let effects: Vec<(u32, f64)> = comparison
        .block_effects
        .iter()
        .map(|effect| (effect.block, effect.change.ln_1p()))
        .collect();
    let left_by = |explained: &dyn Fn(usize, u32) -> f64| {
        let left: Vec<f64> = effects
            .iter()
            .enumerate()
            .map(|(index, (block, change))| change - explained(index, *block))
            .collect();
        statistics::standard_deviation(&left)
    };
    let steps = effects.len().saturating_sub(1).max(1) as f64;
    let is_step = match (drift, step) {
        (Some(drift), Some(step)) => {
            let line = left_by(&|index, _| drift.change.ln_1p() * index as f64 / steps);
            let levels = left_by(&|_, block| {
                if block >= step.block { step.change.ln_1p() } else { 0.0 }
            });
            levels < line
        }
        (drift, _) => drift.is_none(),
    };
    let comparison = comparison.name.clone();
    if is_step {
        step.map(|step| Warning::Stepped { comparison, block: step.block, change: step.change })
    } else {
        drift.map(|drift| Warning::Drifted { comparison, change: drift.change })
    }
}

/// What is to be known of the trials.
pub(super) fn of_trials(table: &Table<'_>, metrics: &[String]) -> Vec<Warning> {
    // One entry a trial: the cell it belongs to, and whether the flag keeps it from voting.
    type Bearer = ((usize, usize), bool);
    let mut flags: Vec<(Doubt, Vec<Bearer>)> = Vec::new();
    let (mut no_ratio, mut standstills, mut outliers) = (0, 0, 0);
    for (place, trials) in &table.trials {
        let metric = &metrics[place.1];
        let mut logarithms = Vec::new();
        for trial in trials.values() {
            let silent = table.silent(*place, trial).is_some();
            for doubt in &trial.flags {
                let silent = silent && !matches!(doubt.bearing(), Bearing::Busy | Bearing::Note);
                let doubt = doubt.without_figures();
                match flags.iter_mut().find(|(known, _)| *known == doubt) {
                    Some((_, bearers)) => bearers.push((*place, silent)),
                    None => flags.push((doubt, vec![(*place, silent)])),
                }
            }
            match trial.metrics.get(metric) {
                Some(figure) if figure.is_finite() && *figure > 0.0 => logarithms.push(figure.ln()),
                // A trial without any figure says itself why.
                None if trial.metrics.is_empty() && !trial.flags.is_empty() => (),
                Some(figure) if *figure == 0.0 && table.counts_standstill(place.1, metric) => {
                    standstills += 1;
                }
                _ => no_ratio += 1,
            }
        }
        if logarithms.len() >= OUTLIER_TRIALS_MIN {
            outliers += statistics::outliers(&logarithms).len();
        }
    }
    flags.sort_by(|one, other| doubt::by_code(&one.0, &other.0));
    let mut warnings: Vec<Warning> = flags
        .into_iter()
        .map(|(doubt, places)| {
            let cells: BTreeSet<_> = places.iter().map(|(place, _)| place).collect();
            Warning::Flagged {
                doubt,
                trials: places.len(),
                cells: cells.len(),
                silent: places.iter().filter(|(_, silent)| *silent).count(),
            }
        })
        .collect();
    if standstills > 0 {
        warnings.push(Warning::NothingMoved { trials: standstills });
    }
    if no_ratio > 0 {
        warnings.push(Warning::NoRatio { trials: no_ratio });
    }
    if outliers > 0 {
        warnings.push(Warning::Outliers { trials: outliers });
    }
    warnings
}

/// That tests begin at another rate than they go on with: the first tenth of their time beside the
/// rest, as each trial has it (`start_ratio`), in a t test for each cell, Bonferroni over all of
/// them.
pub(super) fn of_starts(table: &Table<'_>) -> Option<Warning> {
    let figures = |place: (usize, usize), metric: &str| -> Vec<f64> {
        let trials = table.cell(place.0, place.1);
        trials.filter_map(|(_, trial)| trial.metrics.get(metric).copied()).collect()
    };
    let starts: Vec<((usize, usize), Vec<f64>)> = table
        .trials
        .keys()
        .map(|place| {
            let ratios = figures(*place, "start_ratio").into_iter();
            (*place, ratios.filter(|ratio| *ratio > 0.0).map(f64::ln).collect::<Vec<f64>>())
        })
        .filter(|(_, logarithms)| logarithms.len() >= START_TRIALS_MIN)
        .collect();
    let level = LEVEL / starts.len() as f64;
    let unsettled: Vec<((usize, usize), f64)> = starts
        .iter()
        .filter_map(|(place, logarithms)| {
            let count = logarithms.len() as f64;
            let mean = statistics::mean(logarithms);
            let error = statistics::standard_deviation(logarithms) / count.sqrt();
            let p = 2.0 * tail_of(mean.abs() / error.max(f64::MIN_POSITIVE), count - 1.0);
            (p < level && mean.exp_m1().abs() > START_MIN).then_some((*place, mean))
        })
        .collect();
    let (place, mean) = unsettled.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let settled = figures(*place, "settled_after_seconds");
    let trials = table.cell(place.0, place.1).count();
    Some(Warning::Unsettled {
        configuration: table.id(place.0).to_owned(),
        workload: table.plan().workloads[place.1].name.clone(),
        change: mean.exp_m1(),
        settled_after: statistics::median(&settled)
            .filter(|_| 2 * settled.len() > trials)
            .map(|found| found.median),
        cells: unsettled.len(),
    })
}

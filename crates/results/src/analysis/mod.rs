//! From a run to its answers: claims, scores, headlines. Pure: the same
//! run gives the same analysis.
//!
//! ```text
//! Run ─┬─ Comparison: configurations that share one baseline
//!      │    ├─ Cell, Metric ── Claim against the baseline                  one workload
//!      │    ├─ KindResult ──── Score of each configuration ── Claims       all sequential, random or mixed ones, or all
//!      │    │                  best set, Headline
//!      │    └─ block effects, drift
//!      └─ Warning, Warning, …
//! ```
//!
//! What a comparison comes to is a [claim](crate::claim::Claim). Beyond a single one:
//!
//! * **Voting.** A trial that something else than the medium answered is shown and does not vote
//!   ([`Doubt::bearing`](crate::doubt::Doubt::bearing)), unless a cache is what its cell asks
//!   about. A percentile votes when 100 requests lie beyond it.
//! * **Score.** Per block, the weighted mean of the log ratios of a kind's workloads: the weighted
//!   geometric mean, the only mean of normalised figures whose ranking does not depend on the
//!   baseline (Fleming & Wallace 1986). A block in which one of the kind's workloads is missing or
//!   does not vote, in the configuration or its baseline, is left out; a workload that hardly votes
//!   anywhere is left out of the score, and the headline says so.
//! * **Headlines.** Everything that the scores say holds together over the report: 5 % is shared
//!   out over the headlines, and of each share one half over the comparisons with the baseline, one
//!   half over all pairs of the others, since any of them could have been named.
//! * **Course.** Of a run with looks the blocks up to the last look that is whole vote; of a race
//!   only fresh trials of what it named, of the runners-up and of the baseline ([`crate::course`]).
//! * **Best set.** All that no other is surely ahead of. What is truly best is in it with that
//!   family's 95 %.

mod ballot;
mod comparison;
mod joint;
mod kind;
mod order;
mod rows;
mod values;
mod verdict;
mod warnings;

use std::collections::BTreeMap;

use crate::caches;
use crate::claim::{LEVEL, PAIRS_MIN, Sample};
use crate::course::{self, Course};
use crate::model_error::{all_of, model_error};
use crate::safety::{self, speeds};
use crate::types::{Clock, Configuration, Design, Plan, Run, better_of};
use crate::voices::{Table, judged_metrics};

pub use crate::model_error::MODEL_CASES_MIN;
pub use crate::types::MATTERS;
pub(crate) use ballot::shown_trials;
pub use joint::JointPart;
pub use order::{Autocorrelation, ByOrder, CarryOver};
pub use values::*;
pub use verdict::{Cost, Loss, PickedBy, Span, Tie, Verdict};

use ballot::Ballot;
use comparison::comparison;

/// Analyses a run. Trials that the plan does not know are left out and counted in a warning.
#[must_use]
pub fn analyse(run: &Run) -> Analysis {
    let safety = safety::safety(&run.plan, &run.trials);
    let (all, unknown, repeated) = Table::new(&run.plan, &run.trials);
    let finished = all.trials.values().map(BTreeMap::len).sum();
    drop(all);
    // What was read from files of other tools is all there is.
    let planned = match run.is_imported() {
        true => finished,
        false => Course::new(&run.plan, &run.steps).trials(),
    };
    // Cells of pull tests are no figures to compare.
    let mut run = speeds(run);
    if let Some(step) = course::unasked_look(&run.plan, &run.steps, &run.trials) {
        run.to_mut().steps.push(step);
    }
    if run.plan.terms.grade.is_some() {
        run.to_mut().plan.terms = safety::judged(&run.plan.terms, &safety);
    }
    let run = &*run;
    let plan = &run.plan;
    let course = Course::new(plan, &run.steps);
    let (table, ..) = Table::new(plan, &run.trials);
    let table = table.on(run.host.drawn_machines());
    let members = if plan.workloads.is_empty() { Vec::new() } else { plan.comparison_members() };
    let metrics = judged_metrics(plan, &table);
    let ballot = Ballot::new(plan, &course, run, table);
    let table = &ballot.all;
    let headlines = members.len() * course::kinds(plan).len();
    let mut comparisons: Vec<Comparison> = members
        .iter()
        .map(|members| comparison(plan, &ballot, members, &metrics, headlines, &run.host))
        .collect();

    LatencyRange::tell(&mut comparisons);

    let mut warnings: Vec<Warning> =
        run.notes.iter().map(|text| Warning::Note { text: text.clone() }).collect();
    if finished < planned {
        warnings.push(Warning::Incomplete { finished, planned });
    }
    if unknown > 0 {
        warnings.push(Warning::Unknown { trials: unknown });
    }
    if repeated > 0 {
        warnings.push(Warning::Repeated { trials: repeated });
    }
    warnings.extend(comparisons.iter().flat_map(warnings::of_comparison));
    warnings.extend(warnings::of_starts(table));
    warnings.extend(warnings::of_trials(table, &metrics));
    Analysis {
        question: plan.terms.question.clone(),
        margin: plan.margin,
        matters: plan.matters(),
        confidence: 1.0 - LEVEL,
        blocks_planned: plan.blocks,
        machines: table.machines.map(|_| run.host.machine_count()),
        trials_finished: finished,
        trials_planned: planned,
        goal: plan.terms.goal.as_ref().map(|goal| goal.text.clone()),
        looks: ballot.voting.as_ref().map(|voting| Looks {
            raced_blocks: course.named().map(|(blocks, _)| blocks),
            race: course.is_race(),
            reached: voting.end - voting.start,
            wanted: course.look().unwrap_or(0),
            count: course.looks(),
        }),
        joint: joint::joint(plan, &comparisons),
        comparisons,
        safety,
        cached: caches::cached(plan, table),
        warnings,
        block_seconds: None,
        starts: Vec::new(),
    }
}

/// Whether few blocks are an answer in the model: all figures of the comparison are a model's, in
/// its own time, so that the same trials come out the same whenever they are made.
fn is_in_model(plan: &Plan, members: &[usize]) -> bool {
    let is_repeatable = |one: &Configuration| one.modelled && one.clock == Clock::Virtual;
    (plan.blocks as usize) < PAIRS_MIN
        && plan.terms.design == Design::Full
        && members.iter().all(|member| is_repeatable(&plan.configurations[*member]))
}

/// What differences come to by themselves; none where they are too few.
fn sample_of(plan: &Plan, differences: &[f64], in_model: bool) -> Option<Sample> {
    let sample = match in_model {
        true => Sample::repeatable(differences),
        false => Sample::paired(differences).filter(|_| differences.len() >= PAIRS_MIN),
    };
    // Where parameters are drawn their mean is not what is asked for: the drive has one set, and
    // that may lie as far off as any of the blocks (a prediction interval).
    let further = f64::from(u8::from(plan.schedule.drawn_parameters));
    sample.map(|sample| Sample { scale: sample.scale + further, ..sample })
}

#[cfg(test)]
mod tests;

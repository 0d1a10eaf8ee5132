//! Cells, and the claims of each row of a table: all configurations against one baseline, in one
//! workload and metric.

use std::collections::BTreeSet;

use crate::claim::{
    self, Answer, Claim, ErrorScope, Family, Invalid, LEVEL, PAIRS_MIN, Quantiles, Question,
    Sample, Settle,
};
use crate::doubt;
use crate::shared::{LastPlace, Metrics};
use crate::statistics::{self, Interval};
use crate::types::Plan;
use crate::voices::{Pairs, Table, Voices, better_in, pair};

use super::ballot::Ballot;
use super::order::{VisitOrder, drawn_orders};
use super::{Cell, DoubtCount, Metric, better_of, is_in_model, model_error, sample_of};

pub(super) fn cell(
    plan: &Plan,
    table: &Table<'_>,
    configuration: usize,
    workload: usize,
    judged: &str,
) -> Cell {
    let named = &plan.workloads[workload];
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut last: Option<&Metrics> = None;
    for (_, trial) in table.cell(configuration, workload) {
        if !last.is_some_and(|last| trial.metrics.shares_names(last)) {
            names.extend(trial.metrics.keys());
        }
        last = Some(&trial.metrics);
    }
    // By a goal that the workload does not have it is not judged, and shown by its own metric.
    let own = names.take(judged).or_else(|| names.take(named.metric.as_str()));
    let metrics = own
        .into_iter()
        .chain(names)
        .filter_map(|name| {
            let voices = table.voices(configuration, workload, name);
            // A figure of 0 has no logarithm and so no voice, but is a figure.
            let mut place = LastPlace::default();
            let figures: Vec<(u32, f64)> = table
                .cell(configuration, workload)
                .filter_map(|(block, trial)| {
                    Some((block, trial.metrics.get_near(name, &mut place)?))
                })
                .filter(|(_, figure)| figure.is_finite())
                .collect();
            let silent = voices.values().filter(|voice| voice.silent.is_some()).count();
            let is_voting =
                |block: u32| voices.get(block).is_none_or(|voice| voice.silent.is_none());
            let all: Vec<f64> = figures.iter().map(|(_, figure)| *figure).collect();
            let voting = figures.iter().filter(|(block, _)| is_voting(*block));
            let voting: Vec<f64> = voting.map(|(_, figure)| *figure).collect();
            let median = statistics::median(if voting.is_empty() { &all } else { &voting })?;
            Some(Metric {
                name: name.to_string(),
                trials: voting.len(),
                silent,
                median: median.median,
                interval: median.interval,
                versus_baseline: None,
                estimate: None,
            })
        })
        .collect();
    Cell {
        configuration: plan.configurations[configuration].id.clone(),
        workload: named.name.clone(),
        metrics,
        flags: doubt::counted(
            table.cell(configuration, workload).flat_map(|(_, trial)| &trial.flags),
        )
        .into_iter()
        .map(|(doubt, trials)| DoubtCount { doubt, trials })
        .collect(),
    }
}

/// Makes the claims of all cells against the baseline's, row by row. `cells` are those of
/// `members`, configuration by configuration.
pub(super) fn make_claims(
    plan: &Plan,
    ballot: &Ballot<'_>,
    members: &[usize],
    baseline: usize,
    metrics: &[String],
    order: Option<&VisitOrder>,
    cells: &mut [Cell],
) {
    let workloads = plan.workloads.len();
    let looks = ballot.course.looks() as f64;
    let others = members.iter().filter(|member| **member != baseline && !ballot.is_raced(**member));
    let family =
        Family { over: ErrorScope::Row, comparisons: looks * others.count().max(1) as f64 };
    let in_model = is_in_model(plan, members);
    let mut quantiles = Quantiles::default();
    for (index, workload) in plan.workloads.iter().enumerate() {
        let names: BTreeSet<String> = (0..members.len())
            .flat_map(|place| &cells[place * workloads + index].metrics)
            .map(|metric| metric.name.clone())
            .collect();
        for name in names {
            let pairs = pairs_with_baseline(ballot, members, baseline, index, &name);
            let voting = |(pairs, member): (&Pairs, &usize)| {
                sample_of(plan, &pairs.differences, in_model).filter(|_| !ballot.is_raced(*member))
            };
            let samples: Vec<Option<Sample>> = pairs.iter().zip(members).map(voting).collect();
            let own = name == workload.metric || name == metrics[index];
            let better = if own { Some(better_in(workload, &name)) } else { better_of(&name) };
            for (place, (pairs, estimate)) in
                pairs.iter().zip(claim::estimates(&samples)).enumerate()
            {
                let both = [members[place], baseline];
                let question = Question {
                    better,
                    margin: plan.margin,
                    level: family.level(),
                    same_level: LEVEL / looks,
                    // An answer in the model is none about anything else.
                    model_error: model_error(plan, both, &[index])
                        .filter(|_| !in_model)
                        .map_or(0.0, |known| known.error),
                    by_order: order.and_then(|order| order.shift(index, pairs, both)),
                    by_draw: order.and_then(|_| drawn_orders(pairs)),
                };
                let asked = (&question, ballot.done);
                let claim =
                    claim_of(plan, both, &name, pairs, estimate, family, asked, &mut quantiles);
                let claim = claim.map(|claim| match ballot.is_raced(members[place]) {
                    true => of_race(claim, ballot, &plan.configurations[members[place]].id),
                    false => claim,
                });
                let known = &mut cells[place * workloads + index].metrics;
                if let Some(metric) = known.iter_mut().find(|metric| metric.name == name) {
                    metric.versus_baseline = claim;
                    metric.estimate = estimate;
                }
            }
        }
    }
}

/// What each member says of a metric together with the baseline; of the baseline itself nothing.
fn pairs_with_baseline(
    ballot: &Ballot<'_>,
    members: &[usize],
    baseline: usize,
    workload: usize,
    metric: &str,
) -> Vec<Pairs> {
    let base = ballot.fresh.voices(baseline, workload, metric);
    let raced_base = ballot.raced.voices(baseline, workload, metric);
    let of_member = |member: &usize| {
        let own = match *member == baseline {
            true => Voices::default(),
            false => ballot.shown(*member).voices(*member, workload, metric),
        };
        let base = if ballot.is_raced(*member) { &raced_base } else { &base };
        pair(&own, base, ballot.all.machines)
    };
    members.iter().map(of_member).collect()
}

/// A claim of what only raced: it says how far that came, and is none.
fn of_race(claim: Claim, ballot: &Ballot<'_>, configuration: &str) -> Claim {
    let dropped = ballot.course.dropped(configuration);
    Claim {
        invalid: Some(Invalid::Raced {
            blocks: dropped.unwrap_or(claim.pairs as u32),
            dropped: dropped.is_some(),
        }),
        settle: None,
        ..claim
    }
}

/// The claim that pairs come to. `None` where no block has both sides. `done` is the number of
/// blocks of a run that can go on.
#[expect(clippy::too_many_arguments, reason = "a claim rests on all of it")]
pub(super) fn claim_of(
    plan: &Plan,
    both: [usize; 2],
    metric: &str,
    pairs: &Pairs,
    estimate: Option<claim::Estimate>,
    family: Family,
    (question, done): (&Question, Option<u32>),
    quantiles: &mut Quantiles,
) -> Option<Claim> {
    let decision = estimate.map(|estimate| claim::decide(&estimate, question, quantiles));
    let voting = pairs.differences.len();
    let answer = decision.map_or(Answer::Open, |decision| decision.answer);
    let is_busy = 2 * pairs.busy > voting;
    let open = answer == Answer::Open && question.better.is_some();
    // In the model alone a point is all there is, where no error of the model is known.
    let is_shown = |interval: &Interval| voting >= PAIRS_MIN || interval.has_width();
    // Where machines have a say each, more blocks of them would tell little.
    let blocks = |decision: Option<claim::Decision>| {
        decision.and_then(|decision| decision.blocks).filter(|_| !pairs.by_machine)
    };
    Some(Claim {
        subject: plan.configurations[both[0]].id.clone(),
        against: plan.configurations[both[1]].id.clone(),
        metric: metric.to_owned(),
        better: question.better,
        pairs: voting,
        silent: pairs.silent.len(),
        busy: pairs.busy,
        family,
        ratio: pairs.centre()?.exp(),
        interval: decision.map(|decision| decision.interval).filter(is_shown),
        same_interval: decision.map(|decision| decision.same_interval).filter(is_shown),
        model_error: (question.model_error > 0.0).then_some(question.model_error),
        by_order: question.by_order.map(|shift| {
            let centre = pairs.centre().unwrap_or(0.0);
            Interval { low: centre + shift.low, high: centre + shift.high }.exp()
        }),
        answer,
        invalid: decision.is_none().then(|| Invalid::TooFew {
            voting,
            silent: pairs.silent.len(),
            reason: pairs.reason.clone(),
        }),
        settle: open.then(|| Settle {
            blocks: blocks(decision),
            more: blocks(decision)
                .zip(done)
                .and_then(|(blocks, done)| claim::more_blocks(blocks, done)),
            noise_factor: blocks(decision).map(|blocks| claim::noise_factor(blocks, voting)),
            quieter_machine: is_busy,
            measuring: decision.is_some_and(|decision| decision.model_decides),
        }),
    })
}

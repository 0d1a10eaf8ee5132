//! The configurations that share one baseline.

use std::collections::{BTreeMap, BTreeSet};

use crate::caches::WRITTEN;
use crate::claim::Answer;
use crate::course;
use crate::statistics;
use crate::types::{
    BetterDirection, Clock, Configuration, Group, Host, Plan, SharedDisk, Survival, setting_text,
    settings_text,
};
use crate::voices::{Table, better_in};

use super::ballot::Ballot;
use super::order::VisitOrder;
use super::{
    BlockEffect, Cell, Comparison, Cost, Drift, KindResult, LatencyRange, Loss, MachineStep,
    Member, Stage, is_in_model, kind, order, rows,
};

/// Most axes that a name gives the values of without asking whether they tell anything.
const NAMED_AXES_MAX: usize = 4;

/// What a comparison of these configurations comes to.
pub(super) fn comparison(
    plan: &Plan,
    ballot: &Ballot<'_>,
    members: &[usize],
    metrics: &[String],
    headlines: usize,
    host: &Host,
) -> Comparison {
    let table = &ballot.all;
    let configurations: Vec<&Configuration> =
        members.iter().map(|index| &plan.configurations[*index]).collect();
    let baseline_id =
        configurations.first().map_or("", |configuration| configuration.baseline.as_str());
    let baseline =
        members.iter().copied().find(|index| plan.configurations[*index].id == baseline_id);
    let axes = Axes::of(plan, &configurations, baseline_id);

    // Each trial on the virtual clock has disks of its own: nothing is left for it.
    let apart = configurations.iter().all(|known| known.clock == Clock::Virtual);
    let order = VisitOrder::of(plan, table).filter(|_| !apart);
    let order = order.as_ref();
    let mut cells = Vec::new();
    for member in members {
        for (workload, metric) in metrics.iter().enumerate() {
            cells.push(rows::cell(plan, ballot.shown(*member), *member, workload, metric));
        }
    }
    if let Some(baseline) = baseline {
        rows::make_claims(plan, ballot, members, baseline, metrics, order, &mut cells);
    }
    let mut kinds =
        kinds(plan, ballot, members, (baseline, baseline_id), metrics, headlines, order);
    kinds.iter_mut().for_each(|kind| with_price(plan, &cells, kind, baseline_id));
    let whole = kinds.pop_if(|kind| kind.group.is_none());
    let block_effects = block_effects(plan, table, members, metrics);
    let (drift, step) = course_of_machine(&block_effects);
    let voices = order::logarithms(plan, table, members, metrics);
    Comparison {
        name: comparison_name(plan, &configurations, baseline_id),
        modelled: configurations.iter().any(|known| known.modelled),
        in_guest: configurations.iter().any(|known| known.is_in_guest()),
        shared_disks: shared_disks(&configurations, &host.shared_disks),
        one_disk: host
            .one_disk
            .iter()
            .find(|one| configurations.iter().any(|known| known.id == one.configuration))
            .map(|one| one.on.clone()),
        baseline: baseline_id.to_string(),
        configurations: configurations
            .iter()
            .zip(labels(&axes, &configurations, baseline_id))
            .map(|(configuration, label)| Member {
                id: configuration.id.clone(),
                label,
                settings: configuration.settings.clone(),
                stack: configuration.stack.clone(),
                survives: configuration.survives.clone(),
                stage: stage(plan, ballot, &configuration.id),
            })
            .collect(),
        shared: axes.shared,
        axes: axes.others,
        cells,
        latencies: LatencyRange::default(),
        kinds,
        whole,
        block_effects,
        drift,
        step,
        autocorrelation: (!apart)
            .then(|| order::autocorrelation(table, members, &voices))
            .flatten(),
        pairing_gain: order::pairing_gain(members, baseline, &voices),
        carried_over: if apart {
            Vec::new()
        } else {
            order::carried_over(plan, table, members, &voices)
        },
        by_order: order.and_then(|order| order.of_all(plan, table, members, &voices)),
    }
}

/// Axes by which the configurations of a comparison differ, in the plan's order.
struct Axes {
    /// All of them.
    all: Vec<String>,
    /// Those by which the others than the baseline do; all where these do not.
    others: Vec<String>,
    /// The values that the others share and the baseline has not.
    shared: Vec<String>,
}

impl Axes {
    fn of(plan: &Plan, configurations: &[&Configuration], baseline_id: &str) -> Self {
        let differing = |among: &[&Configuration]| -> Vec<String> {
            let differs = |axis: &str| {
                among.iter().any(|configuration| {
                    configuration.settings.get(axis) != among[0].settings.get(axis)
                })
            };
            let axes = plan.axes.iter().filter(|axis| differs(&axis.name));
            axes.map(|axis| axis.name.clone()).collect()
        };
        let others: Vec<&Configuration> = configurations
            .iter()
            .copied()
            .filter(|configuration| configuration.id != baseline_id)
            .collect();
        let all = differing(configurations);
        let of_others =
            Some(differing(&others)).filter(|axes| !axes.is_empty()).unwrap_or_else(|| all.clone());
        let dropped = all.iter().filter(|axis| !of_others.contains(axis));
        let shared =
            dropped.filter_map(|axis| others.first()?.settings.get(axis).cloned()).collect();
        Self { all, others: of_others, shared }
    }
}

/// What became of a configuration in a race; none where there is none.
fn stage(plan: &Plan, ballot: &Ballot<'_>, id: &str) -> Option<Stage> {
    let confirmed = ballot.confirmed.as_ref()?;
    let is_confirmed = confirmed.iter().any(|index| plan.configurations[*index].id == id);
    Some(match ballot.course.dropped(id) {
        _ if is_confirmed => Stage::Confirmed,
        Some(after_blocks) => Stage::Dropped { after_blocks },
        None => Stage::Raced,
    })
}

/// Of each kind of work, then of all of it.
fn kinds(
    plan: &Plan,
    ballot: &Ballot<'_>,
    members: &[usize],
    (baseline, baseline_id): (Option<usize>, &str),
    metrics: &[String],
    headlines: usize,
    order: Option<&VisitOrder>,
) -> Vec<KindResult> {
    let course = &ballot.course;
    let of_kind = |group: Option<Group>| {
        let pick = course.pick(baseline_id, group);
        let index =
            |id: &str| members.iter().copied().find(|member| plan.configurations[*member].id == id);
        // Before a race is over no configuration is compared with another.
        let raced: Vec<usize> = match pick {
            Some(pick) => {
                pick.all().filter_map(index).collect::<BTreeSet<_>>().into_iter().collect()
            }
            None => baseline.into_iter().collect(),
        };
        let frame = kind::Frame {
            plan,
            table: &ballot.fresh,
            members: if course.is_race() { raced } else { members.to_vec() },
            baseline,
            of: members.len(),
            headlines,
            looks: course.looks(),
            done: ballot.done,
            named: pick.and_then(|pick| index(&pick.named)),
            metrics,
            order,
            in_model: is_in_model(plan, members),
            has_only_figures: members.len() == 1 && !ballot.all.trials.is_empty(),
            is_imported: ballot.is_imported,
        };
        kind::KindFigures::of(frame, group)
    };
    let judged: Vec<kind::KindFigures<'_, '_>> =
        course::kinds(plan).into_iter().map(of_kind).collect();
    let regret = |configuration: usize| {
        let kinds = judged.iter().filter(|one| !one.is_whole() || judged.len() == 1);
        kinds.map(|one| one.regret(configuration)).fold(0.0, f64::max)
    };
    judged.iter().map(|one| one.result(regret)).collect()
}

/// What the headline takes costs, and where it is surely behind the baseline.
fn with_price(plan: &Plan, cells: &[Cell], result: &mut KindResult, baseline: &str) {
    let Some(take) = result.headline.take.clone() else { return };
    let own: Vec<&Cell> = cells
        .iter()
        .filter(|cell| cell.configuration == take && result.workloads.contains(&cell.workload))
        .collect();
    let losses = own.iter().flat_map(|cell| cell.metrics.iter().map(move |metric| (cell, metric)));
    let mut losses: Vec<Loss> = losses
        // What members write is what it costs.
        .filter(|(_, metric)| !metric.name.starts_with("member_"))
        .filter_map(|(cell, metric)| {
            let claim = metric.versus_baseline.as_ref()?;
            (claim.answer == Answer::Behind && take != baseline).then(|| Loss {
                workload: cell.workload.clone(),
                metric: metric.name.clone(),
                ratio: claim.ratio,
                interval: claim.shown_interval(),
                gain: claim.gain(),
            })
        })
        .collect();
    losses.sort_by(|one, other| one.gain.total_cmp(&other.gain));
    result.headline.losses = losses;
    let configuration = plan.configurations.iter().find(|one| one.id == take);
    let written = own.iter().filter_map(|cell| {
        let metric = cell.metrics.iter().find(|metric| metric.name == WRITTEN)?;
        (metric.median > 0.0).then_some(metric.median)
    });
    // A stripe survives nothing, also in runs that do not say so.
    let is_stripe = |one: &&Configuration| {
        one.settings.get("level").is_some_and(|level| level == "raid0" || level == "linear")
    };
    let of_stripe =
        configuration.filter(is_stripe).map(|_| Survival::Members { count: 0, elsewhere: None });
    result.headline.cost = Some(Cost {
        usable: configuration.and_then(|one| one.usable),
        survives: configuration.and_then(|one| one.survives.clone()).or(of_stripe),
        write_amplification: written.reduce(f64::max),
        configuration: take,
    });
}

/// The axis values that all `configurations` share and not the whole plan has, in the plan's order.
fn comparison_name(plan: &Plan, configurations: &[&Configuration], baseline: &str) -> String {
    let outside = || plan.configurations.iter().filter(|known| known.baseline != baseline);
    if outside().next().is_none() {
        return String::new();
    }
    let shared = |axis: &str| {
        let value = configurations.first()?.settings.get(axis)?;
        let has = |known: &Configuration| known.settings.get(axis) == Some(value);
        if !configurations.iter().all(|known| has(known)) || outside().all(has) {
            return None;
        }
        Some(setting_text(axis, value))
    };
    let mut values: Vec<(&str, String)> = plan
        .axes
        .iter()
        .filter_map(|axis| Some((axis.name.as_str(), shared(&axis.name)?)))
        .collect();
    if values.len() > NAMED_AXES_MAX {
        let first = configurations.first().map(|one| &one.settings);
        let axes: Vec<&str> = values.iter().map(|(axis, _)| *axis).collect();
        let telling = telling(outside(), &axes, |axis| first?.get(axis));
        values.retain(|(axis, _)| telling.contains(axis));
    }
    let values: Vec<String> = values.into_iter().map(|(_, value)| value).collect();
    if values.is_empty() { format!("baseline {baseline}") } else { values.join(", ") }
}

/// Axes that tell a configuration from all others together, in the order of their choice: each time
/// the first that does so from more than half as many as any.
fn telling<'a>(
    others: impl Iterator<Item = &'a Configuration>,
    axes: &[&'a str],
    value: impl Fn(&str) -> Option<&'a String>,
) -> Vec<&'a str> {
    let mut alike: Vec<&Configuration> = others.collect();
    let mut telling = Vec::new();
    loop {
        let is_told = |axis: &str, one: &Configuration| one.settings.get(axis) != value(axis);
        let told = |axis: &str| alike.iter().filter(|one| is_told(axis, one)).count();
        let most = axes.iter().map(|axis| told(axis)).max().unwrap_or(0);
        let Some(axis) = axes.iter().copied().find(|axis| 2 * told(axis) > most) else { break };
        alike.retain(|one| !is_told(axis, one));
        telling.push(axis);
    }
    telling
}

/// What configurations are called: by their values on the axes that differ. Where these are many, a
/// baseline by what tells it from the others, and another one by what differs from the baseline.
fn labels(axes: &Axes, configurations: &[&Configuration], baseline: &str) -> Vec<String> {
    let text = |axes: &[&String], one: &Configuration| {
        let text = settings_text(axes, &one.settings);
        if text.is_empty() { one.stack.clone() } else { text }
    };
    let whole = || {
        let own = |one: &&Configuration| {
            let axes = if one.id == baseline { &axes.all } else { &axes.others };
            text(&axes.iter().collect::<Vec<_>>(), one)
        };
        configurations.iter().map(own).collect()
    };
    let of_baseline = configurations.iter().find(|one| one.id == baseline);
    let Some(of_baseline) = of_baseline.filter(|_| axes.all.len() > NAMED_AXES_MAX) else {
        return whole();
    };
    let others = configurations.iter().filter(|one| one.id != baseline).copied();
    let names: Vec<&str> = axes.all.iter().map(String::as_str).collect();
    let telling = telling(others, &names, |axis| of_baseline.settings.get(axis));
    let own = |one: &&Configuration| {
        let differs = |axis: &&String| one.settings.get(*axis) != of_baseline.settings.get(*axis);
        let shown: Vec<&String> = match one.id == baseline {
            true => axes.all.iter().filter(|axis| telling.contains(&axis.as_str())).collect(),
            // What the others share is said with all of them.
            false => axes.others.iter().filter(differs).collect(),
        };
        text(&shown, one)
    };
    let labels: Vec<String> = configurations.iter().map(own).collect();
    let unique: BTreeSet<&String> = labels.iter().collect();
    if unique.len() == labels.len() { labels } else { whole() }
}

/// Per block, the median over the cells of how far each lay from its own median.
fn block_effects(
    plan: &Plan,
    table: &Table<'_>,
    members: &[usize],
    metrics: &[String],
) -> Vec<BlockEffect> {
    let mut distances: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for member in members {
        for (index, workload) in plan.workloads.iter().enumerate() {
            let metric = &metrics[index];
            let sign =
                if better_in(workload, metric) == BetterDirection::Lower { -1.0 } else { 1.0 };
            let voices = table.moving_voices(*member, index, metric);
            let logarithms: Vec<f64> = voices.values().map(|voice| voice.logarithm).collect();
            let Some(centre) = statistics::median(&logarithms) else { continue };
            for (block, voice) in voices {
                distances.entry(block).or_default().push(sign * (voice.logarithm - centre.median));
            }
        }
    }
    let effect = |(block, distances): (u32, Vec<f64>)| {
        Some(BlockEffect { block, change: statistics::median(&distances)?.median.exp_m1() })
    };
    distances.into_iter().filter_map(effect).collect()
}

/// Whether the machine changed steadily over the blocks, and whether at once between two of them.
fn course_of_machine(effects: &[BlockEffect]) -> (Option<Drift>, Option<MachineStep>) {
    let changes: Vec<f64> = effects.iter().map(|effect| effect.change.ln_1p()).collect();
    let drift = statistics::trend(&changes).map(|trend| Drift {
        change: (trend.slope * (changes.len() - 1) as f64).exp_m1(),
        p: trend.p,
    });
    let step = statistics::step(&changes).map(|step| MachineStep {
        block: effects[step.after].block,
        change: step.change.exp_m1(),
        p: step.p,
    });
    (drift, step)
}

/// The disks that a set of members here shares with another set of the run.
fn shared_disks(configurations: &[&Configuration], all: &[SharedDisk]) -> Vec<SharedDisk> {
    let here = |set: &String| {
        configurations.iter().any(|known| known.settings.get("members") == Some(set))
    };
    all.iter().filter(|shared| shared.sets.iter().any(here)).cloned().collect()
}

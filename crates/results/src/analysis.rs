//! From a run to its answers: ratios with intervals, verdicts, scores, best sets. Pure: the same
//! run gives the same analysis.
//!
//! ```text
//! Run ─┬─ Comparison: configurations that share one baseline
//!      │    ├─ Cell, Metric ── against the baseline ── ratio, interval, p, verdict      one workload
//!      │    ├─ KindResult ──── Score of each configuration ── ratio, interval, verdict   all sequential, random or mixed ones
//!      │    │                  leader, best set, recommended, pairs that cannot be told apart
//!      │    └─ block effects, drift
//!      └─ Warning, Warning, …
//! ```
//!
//! Three rules go beyond a single interval:
//!
//! * **Score.** Per block, the weighted mean of the log ratios of a kind's workloads: the weighted
//!   geometric mean, the only mean of normalised figures whose ranking does not depend on the
//!   baseline (Fleming & Wallace 1986). Its interval is then that of any paired comparison. A block
//!   in which one of the kind's workloads is missing, in the configuration or its baseline, is left
//!   out.
//! * **Best set.** Each configuration is compared with the leader, block by block, by a one-sided
//!   paired t test of the log scores at 5 % / (K - 1). It leaves the set only if the leader is
//!   ahead by that test *and* not surely within the margin. The t test stands where the signed rank
//!   could not: with 6 blocks that never goes below 1.6 %, so with 5 configurations it could drop
//!   nobody. The configuration that is truly best is dropped with at most 5 %, whichever one leads.
//! * **Holding jointly.** Among many intervals of 95 % some miss. A score's difference from the
//!   baseline holds jointly when the t interval at 5 % / (K - 1) excludes 1 as well, and two
//!   configurations are told apart only when the one at 5 % / (number of pairs) excludes both 1 and
//!   a difference within the margin.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::statistics::{self, Interval, PAIRS_EXACT_MIN, PAIRS_MIN, Verdict};
use crate::types::{Better, Clock, Configuration, Group, Plan, Run, Trial, Workload};

/// A drift of the machine is worth a warning from this relative change over the run.
const DRIFT_CHANGE_MIN: f64 = 0.02;

/// Fewest trials of a cell among which one can stand out: with fewer, the median deviation itself
/// is mostly chance.
const OUTLIER_TRIALS_MIN: usize = 10;

/// Everything the reports say, as values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Half-width of "same", as a fraction.
    pub margin: f64,
    /// Confidence of the intervals, as a fraction.
    pub confidence: f64,
    /// Blocks the plan asked for.
    pub blocks_planned: u32,
    /// Trials that were finished and belong to the plan.
    pub trials_finished: usize,
    /// Trials the plan asked for.
    pub trials_planned: usize,
    /// One for each baseline, in the plan's order.
    pub comparisons: Vec<Comparison>,
    /// What the reader should know before believing the figures.
    pub warnings: Vec<Warning>,
}

/// The configurations that share one baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The axis values that all of its configurations share and no other comparison has; empty when
    /// there is nothing to tell apart.
    pub name: String,
    /// Whether any of its figures are modelled rather than measured.
    pub modelled: bool,
    /// Identity of the baseline.
    pub baseline: String,
    /// The axis values that all but the baseline share, in the plan's order.
    pub shared: Vec<String>,
    /// Names of the axes that differ among its configurations other than the baseline, in the
    /// plan's order.
    pub axes: Vec<String>,
    /// Its configurations, baseline included, in the plan's order.
    pub configurations: Vec<Member>,
    /// One for each configuration and workload, configuration by configuration.
    pub cells: Vec<Cell>,
    /// One for each kind of access that the plan has workloads of.
    pub kinds: Vec<KindResult>,
    /// Configurations that are in every kind's best set.
    pub good_for_all: Vec<String>,
    /// How far each block lay from the run's median, as a fraction: the machine's own course.
    pub block_effects: Vec<BlockEffect>,
    /// Steady change over the blocks, when there are enough blocks to tell.
    pub drift: Option<Drift>,
}

/// A configuration within its comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Member {
    /// Identity.
    pub id: String,
    /// The values by which it differs: a baseline from all others, another configuration from those
    /// beside it. Unique within it.
    pub label: String,
    /// Axis name to value.
    pub settings: BTreeMap<String, String>,
    /// Stack text.
    pub stack: String,
}

/// One configuration with one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Identity of the configuration.
    pub configuration: String,
    /// Name of the workload.
    pub workload: String,
    /// The workload's own metric first, then the others by name; empty when no trial finished.
    pub metrics: Vec<Metric>,
    /// What is doubtful about its trials.
    pub flags: Vec<Flag>,
}

/// One metric of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Name, ending in its base unit.
    pub name: String,
    /// Number of trials.
    pub trials: usize,
    /// Median over the trials.
    pub median: f64,
    /// Order-statistic interval of the median; none below 6 trials.
    pub interval: Option<Interval>,
    /// Comparison with the baseline's cell; none for the baseline itself and where no block has
    /// both.
    pub versus_baseline: Option<Versus>,
}

/// A cell's metric against the same metric of the baseline's cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Versus {
    /// Blocks that have both.
    pub pairs: usize,
    /// Figure / baseline's figure.
    pub ratio: f64,
    /// Interval of the ratio; none below 3 pairs.
    pub interval: Option<Interval>,
    /// Two-sided p-value, adjusted by Holm over the comparison's cells of this workload and metric;
    /// none below 3 pairs.
    pub p: Option<f64>,
    /// Fewer than 6 pairs: the interval leans on the noise being normal.
    pub few: bool,
    /// Which direction is better; none when that is not known, and then there is no verdict.
    pub better: Option<Better>,
    /// The verdict; none below 3 pairs.
    pub verdict: Option<Verdict>,
}

impl Versus {
    /// The ratio turned so that more is better.
    #[must_use]
    pub fn gain(&self) -> f64 {
        if self.better == Some(Better::Lower) { 1.0 / self.ratio } else { self.ratio }
    }

    /// The interval of [`Versus::gain`].
    #[must_use]
    pub fn gain_interval(&self) -> Option<Interval> {
        if self.better == Some(Better::Lower) {
            self.interval.map(|interval| interval.reciprocal())
        } else {
            self.interval
        }
    }
}

/// A doubt about a cell, and how many of its trials have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flag {
    /// In words, as the trial carries it.
    pub text: String,
    /// Number of the cell's trials.
    pub trials: usize,
}

/// The answer for one kind of access.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindResult {
    /// The kind.
    pub group: Group,
    /// Names of its workloads.
    pub workloads: Vec<String>,
    /// Score of each configuration that has one, the baseline's included, in the plan's order.
    pub scores: Vec<Score>,
    /// Configuration with the highest score; none when nothing can be scored.
    pub leader: Option<String>,
    /// The leader and every configuration that cannot be told apart from it, best score first.
    /// Empty below 3 blocks: then nothing can be told.
    pub best_set: Vec<String>,
    /// The baseline if it is in the best set, since there is then no reason to leave it; else the
    /// leader.
    pub recommended: Option<String>,
    /// Pairs of configurations that cannot be told apart, in the plan's order; empty below 3
    /// blocks.
    pub not_told_apart: Vec<(String, String)>,
}

/// Weighted geometric mean of a configuration's ratios over a kind's workloads; above 1 is better
/// than the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Identity of the configuration.
    pub configuration: String,
    /// Blocks it is made from.
    pub pairs: usize,
    /// The score; exactly 1 for the baseline.
    pub ratio: f64,
    /// Interval of the score; none below 3 blocks and for the baseline.
    pub interval: Option<Interval>,
    /// Fewer than 6 blocks.
    pub few: bool,
    /// The verdict; none below 3 blocks and for the baseline.
    pub verdict: Option<Verdict>,
    /// Whether the difference from the baseline holds when all configurations are looked at
    /// together.
    pub holds_jointly: bool,
}

impl Score {
    /// Surely better (`true`) or surely worse (`false`) than the baseline; `None` when that cannot
    /// be said.
    #[must_use]
    pub fn differs(&self) -> Option<bool> {
        match self.verdict.filter(|_| self.holds_jointly)? {
            Verdict::Faster | Verdict::SlightlyFaster => Some(true),
            Verdict::Slower | Verdict::SlightlySlower => Some(false),
            Verdict::Same | Verdict::Undecided { .. } => None,
        }
    }
}

/// How far one block lay from the run's median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockEffect {
    /// Number of the block.
    pub block: u32,
    /// Relative change, as a fraction; above 0 is better.
    pub change: f64,
}

/// A steady change of the machine over the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// Relative change from the first block to the last, as a fraction.
    pub change: f64,
    /// Two-sided p-value of "no trend" (Mann-Kendall).
    pub p: f64,
}

/// What the reader should know before believing the figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// Something that happened to the run, as the lab wrote it.
    Note {
        /// In words.
        text: String,
    },
    /// Not all trials of the plan are there.
    Incomplete {
        /// Finished trials.
        finished: usize,
        /// Trials of the plan.
        planned: usize,
    },
    /// Trials that belong to no cell of the plan, left out.
    Unknown {
        /// Number of them.
        trials: usize,
    },
    /// Trials of a cell and block that are there twice; the later one counts.
    Repeated {
        /// Number of earlier ones left out.
        trials: usize,
    },
    /// A comparison has fewer than 6 complete blocks.
    FewBlocks {
        /// Name of the comparison.
        comparison: String,
        /// Most blocks any of its cells has.
        blocks: usize,
    },
    /// The machine changed steadily during the run.
    Drifted {
        /// Name of the comparison.
        comparison: String,
        /// Relative change from the first block to the last, as a fraction.
        change: f64,
    },
    /// Trials that carry a flag.
    Flagged {
        /// The flag.
        text: String,
        /// Number of trials.
        trials: usize,
        /// Number of cells they belong to.
        cells: usize,
    },
    /// Figures of zero or less, which have no ratio, left out of the comparisons.
    NoRatio {
        /// Number of trials with such a figure as their workload's own metric.
        trials: usize,
    },
    /// Single trials far off the rest of their cell; they are kept.
    Outliers {
        /// Number of trials.
        trials: usize,
    },
}

impl Comparison {
    /// Label of a configuration; its identity when it is not in the comparison.
    #[must_use]
    pub fn label<'a>(&'a self, configuration: &'a str) -> &'a str {
        self.configurations
            .iter()
            .find(|member| member.id == configuration)
            .map_or(configuration, |member| member.label.as_str())
    }

    /// The cell of a configuration and a workload.
    #[must_use]
    pub fn cell(&self, configuration: &str, workload: &str) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.configuration == configuration && cell.workload == workload)
    }
}

impl KindResult {
    /// The score of a configuration.
    #[must_use]
    pub fn score(&self, configuration: &str) -> Option<&Score> {
        self.scores.iter().find(|score| score.configuration == configuration)
    }
}

/// Which direction of a metric is better, by its name: throughput and operations up, latency down,
/// whatever part of a mixed workload they are of. `None` for a metric that is neither.
#[must_use]
pub fn better_of(metric: &str) -> Option<Better> {
    let metric =
        metric.strip_prefix("read_").or_else(|| metric.strip_prefix("write_")).unwrap_or(metric);
    if metric.starts_with("throughput_") || metric.starts_with("io_") {
        Some(Better::Higher)
    } else {
        metric.starts_with("latency_").then_some(Better::Lower)
    }
}

/// Trials of a run by what they are trials of.
struct Table<'a> {
    /// (configuration, workload) by index in the plan -> block -> trial.
    trials: BTreeMap<(usize, usize), BTreeMap<u32, &'a Trial>>,
}

impl<'a> Table<'a> {
    /// Sorts the trials in; counts those of no cell of the plan and those that a later one
    /// replaces.
    fn new(run: &'a Run) -> (Self, usize, usize) {
        let mut places = BTreeMap::new();
        for (configuration, settings) in run.plan.configurations.iter().enumerate() {
            for (workload, named) in run.plan.workloads.iter().enumerate() {
                places.insert((&settings.settings, named.name.as_str()), (configuration, workload));
            }
        }
        let mut table = Self { trials: BTreeMap::new() };
        let (mut unknown, mut repeated) = (0, 0);
        for trial in &run.trials {
            match places.get(&(&trial.settings, trial.workload.as_str())) {
                Some(place) => {
                    repeated += usize::from(
                        table
                            .trials
                            .entry(*place)
                            .or_default()
                            .insert(trial.block, trial)
                            .is_some(),
                    );
                }
                None => unknown += 1,
            }
        }
        (table, unknown, repeated)
    }

    fn cell(
        &self,
        configuration: usize,
        workload: usize,
    ) -> impl Iterator<Item = (u32, &'a Trial)> + '_ {
        self.trials
            .get(&(configuration, workload))
            .into_iter()
            .flatten()
            .map(|(block, trial)| (*block, *trial))
    }

    /// Block -> natural logarithm of a metric, where it has one.
    fn logarithms(
        &self,
        configuration: usize,
        workload: usize,
        metric: &str,
    ) -> BTreeMap<u32, f64> {
        let figure = |trial: &Trial| {
            trial.metrics.get(metric).copied().filter(|figure| figure.is_finite() && *figure > 0.0)
        };
        self.cell(configuration, workload)
            .filter_map(|(block, trial)| Some((block, figure(trial)?.ln())))
            .collect()
    }
}

/// Analyses a run. Trials that the plan does not know are left out and counted in a warning.
#[must_use]
pub fn analyse(run: &Run) -> Analysis {
    let plan = &run.plan;
    let (table, unknown, repeated) = Table::new(run);
    let comparisons: Vec<Comparison> =
        comparison_members(plan).iter().map(|members| comparison(plan, &table, members)).collect();
    let finished = table.trials.values().map(BTreeMap::len).sum();
    // What was read from files of other tools is all there is.
    let planned = if run.is_imported() {
        finished
    } else {
        plan.configurations.len() * plan.workloads.len() * plan.blocks as usize
    };

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
    for comparison in &comparisons {
        let blocks = comparison
            .cells
            .iter()
            .filter_map(|cell| cell.metrics.first())
            .map(|metric| metric.trials)
            .max()
            .unwrap_or(0);
        if blocks < PAIRS_EXACT_MIN {
            warnings.push(Warning::FewBlocks { comparison: comparison.name.clone(), blocks });
        }
        if let Some(drift) = comparison.drift.filter(|drift| {
            drift.p < 1.0 - statistics::CONFIDENCE && drift.change.abs() > DRIFT_CHANGE_MIN
        }) {
            warnings.push(Warning::Drifted {
                comparison: comparison.name.clone(),
                change: drift.change,
            });
        }
    }
    warnings.extend(trial_warnings(plan, &table));
    Analysis {
        margin: plan.margin,
        confidence: statistics::CONFIDENCE,
        blocks_planned: plan.blocks,
        trials_finished: finished,
        trials_planned: planned,
        comparisons,
        warnings,
    }
}

/// Indices of the configurations that share a baseline, in the plan's order.
fn comparison_members(plan: &Plan) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, configuration) in plan.configurations.iter().enumerate() {
        match groups.iter_mut().find(|(baseline, _)| *baseline == configuration.baseline) {
            Some((_, members)) => members.push(index),
            None => groups.push((&configuration.baseline, vec![index])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

fn trial_warnings(plan: &Plan, table: &Table<'_>) -> Vec<Warning> {
    // One entry a trial: the cell it belongs to.
    let mut flags: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    let (mut no_ratio, mut outliers) = (0, 0);
    for (place, trials) in &table.trials {
        let metric = &plan.workloads[place.1].metric;
        let mut logarithms = Vec::new();
        for trial in trials.values() {
            for text in &trial.flags {
                flags.entry(text).or_default().push(*place);
            }
            match trial.metrics.get(metric) {
                Some(figure) if figure.is_finite() && *figure > 0.0 => logarithms.push(figure.ln()),
                // A trial without any figure says itself why.
                None if trial.metrics.is_empty() && !trial.flags.is_empty() => (),
                _ => no_ratio += 1,
            }
        }
        if logarithms.len() >= OUTLIER_TRIALS_MIN {
            outliers += statistics::outliers(&logarithms).len();
        }
    }
    let mut warnings: Vec<Warning> = flags
        .into_iter()
        .map(|(text, places)| {
            let cells: BTreeSet<_> = places.iter().collect();
            Warning::Flagged { text: text.to_string(), trials: places.len(), cells: cells.len() }
        })
        .collect();
    if no_ratio > 0 {
        warnings.push(Warning::NoRatio { trials: no_ratio });
    }
    if outliers > 0 {
        warnings.push(Warning::Outliers { trials: outliers });
    }
    warnings
}

fn comparison(plan: &Plan, table: &Table<'_>, members: &[usize]) -> Comparison {
    let configurations: Vec<&Configuration> =
        members.iter().map(|index| &plan.configurations[*index]).collect();
    let baseline_id =
        configurations.first().map_or("", |configuration| configuration.baseline.as_str());
    let baseline =
        members.iter().copied().find(|index| plan.configurations[*index].id == baseline_id);
    let differing = |among: &[&Configuration]| -> Vec<String> {
        let differs = |axis: &str| {
            among.iter().any(|configuration| {
                configuration.settings.get(axis) != among[0].settings.get(axis)
            })
        };
        plan.axes.iter().filter(|axis| differs(&axis.name)).map(|axis| axis.name.clone()).collect()
    };
    let others: Vec<&Configuration> = configurations
        .iter()
        .copied()
        .filter(|configuration| configuration.id != baseline_id)
        .collect();
    let all_axes = differing(&configurations);
    let axes = Some(differing(&others))
        .filter(|axes| !axes.is_empty())
        .unwrap_or_else(|| all_axes.clone());
    let dropped = all_axes.iter().filter(|axis| !axes.contains(axis));
    let shared = dropped.filter_map(|axis| others.first()?.settings.get(axis).cloned()).collect();

    let mut cells = Vec::new();
    for member in members {
        for workload in 0..plan.workloads.len() {
            cells.push(cell(plan, table, *member, baseline, workload));
        }
    }
    adjust_p_values(&mut cells);

    let kinds: Vec<KindResult> = [Group::Sequential, Group::Random, Group::Mixed, Group::Files]
        .into_iter()
        .filter(|group| plan.workloads.iter().any(|workload| workload.group == *group))
        .map(|group| kind_result(plan, table, members, baseline, group))
        .collect();
    let good_for_all = configurations
        .iter()
        .filter(|configuration| {
            !kinds.is_empty() && kinds.iter().all(|kind| kind.best_set.contains(&configuration.id))
        })
        .map(|configuration| configuration.id.clone())
        .collect();
    let block_effects = block_effects(plan, table, members);
    let drift = statistics::trend(
        &block_effects.iter().map(|effect| effect.change.ln_1p()).collect::<Vec<_>>(),
    )
    .map(|trend| Drift {
        change: (trend.slope * (block_effects.len() - 1) as f64).exp_m1(),
        p: trend.p,
    });
    Comparison {
        name: comparison_name(plan, &configurations, baseline_id),
        modelled: configurations.iter().any(|configuration| configuration.clock == Clock::Virtual),
        baseline: baseline_id.to_string(),
        configurations: configurations
            .iter()
            .map(|configuration| Member {
                id: configuration.id.clone(),
                label: label(
                    if configuration.id == baseline_id { &all_axes } else { &axes },
                    configuration,
                ),
                settings: configuration.settings.clone(),
                stack: configuration.stack.clone(),
            })
            .collect(),
        shared,
        axes,
        cells,
        kinds,
        good_for_all,
        block_effects,
        drift,
    }
}

/// The axis values that all `configurations` share and no configuration outside has; where only
/// several together tell them from the others, all that they share and not everybody has.
fn comparison_name(plan: &Plan, configurations: &[&Configuration], baseline: &str) -> String {
    let outside =
        || plan.configurations.iter().filter(|configuration| configuration.baseline != baseline);
    if outside().next().is_none() {
        return String::new();
    }
    let own = |axis: &str| {
        let value = configurations.first()?.settings.get(axis)?;
        let shared = configurations
            .iter()
            .all(|configuration| configuration.settings.get(axis) == Some(value));
        let elsewhere =
            outside().any(|configuration| configuration.settings.get(axis) == Some(value));
        (shared && !elsewhere).then_some(value.as_str())
    };
    let values: Vec<&str> = plan.axes.iter().filter_map(|axis| own(&axis.name)).collect();
    if !values.is_empty() {
        return values.join(", ");
    }
    let shared = |axis: &str| {
        let value = configurations.first()?.settings.get(axis)?;
        let all = configurations
            .iter()
            .all(|configuration| configuration.settings.get(axis) == Some(value));
        let everybody =
            outside().all(|configuration| configuration.settings.get(axis) == Some(value));
        (all && !everybody).then_some(value.as_str())
    };
    let values: Vec<&str> = plan.axes.iter().filter_map(|axis| shared(&axis.name)).collect();
    if values.is_empty() { format!("baseline {baseline}") } else { values.join(", ") }
}

fn label(axes: &[String], configuration: &Configuration) -> String {
    let values: Vec<&str> = axes
        .iter()
        .filter_map(|axis| configuration.settings.get(axis))
        .map(String::as_str)
        .collect();
    if values.is_empty() { configuration.stack.clone() } else { values.join(" ") }
}

fn cell(
    plan: &Plan,
    table: &Table<'_>,
    configuration: usize,
    baseline: Option<usize>,
    workload: usize,
) -> Cell {
    let named = &plan.workloads[workload];
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut flags: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, trial) in table.cell(configuration, workload) {
        names.extend(trial.metrics.keys().map(String::as_str));
        for text in &trial.flags {
            *flags.entry(text).or_default() += 1;
        }
    }
    let own = names.take(named.metric.as_str());
    let metrics = own
        .into_iter()
        .chain(names)
        .filter_map(|name| {
            let figure = |trial: &Trial| {
                trial.metrics.get(name).copied().filter(|figure| figure.is_finite())
            };
            let figures: Vec<f64> = table
                .cell(configuration, workload)
                .filter_map(|(_, trial)| figure(trial))
                .collect();
            let median = statistics::median(&figures)?;
            let better = if name == named.metric { Some(named.better) } else { better_of(name) };
            let versus_baseline =
                baseline.filter(|baseline| *baseline != configuration).and_then(|baseline| {
                    versus(plan, table, [configuration, baseline], workload, name, better)
                });
            Some(Metric {
                name: name.to_string(),
                trials: figures.len(),
                median: median.median,
                interval: median.interval,
                versus_baseline,
            })
        })
        .collect();
    Cell {
        configuration: plan.configurations[configuration].id.clone(),
        workload: named.name.clone(),
        metrics,
        flags: flags
            .into_iter()
            .map(|(text, trials)| Flag { text: text.to_string(), trials })
            .collect(),
    }
}

fn versus(
    plan: &Plan,
    table: &Table<'_>,
    pair: [usize; 2],
    workload: usize,
    metric: &str,
    better: Option<Better>,
) -> Option<Versus> {
    let [own, base] = pair.map(|configuration| table.logarithms(configuration, workload, metric));
    let paired = statistics::paired(&differences(&own, &base))?;
    Some(Versus {
        pairs: paired.pairs,
        ratio: paired.estimate.exp(),
        interval: paired.interval.map(|interval| interval.exp()),
        p: paired.p,
        few: paired.pairs < PAIRS_EXACT_MIN,
        better,
        verdict: better.and_then(|better| statistics::verdict(&paired, plan.margin, better)),
    })
}

/// `own - other` for every block that both have.
fn differences(own: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> Vec<f64> {
    own.iter().filter_map(|(block, value)| Some(value - other.get(block)?)).collect()
}

/// Replaces the p-values of each workload and metric by Holm's.
fn adjust_p_values(cells: &mut [Cell]) {
    let mut families: BTreeMap<(String, String), Vec<&mut f64>> = BTreeMap::new();
    for cell in cells {
        for metric in &mut cell.metrics {
            if let Some(p) = metric.versus_baseline.as_mut().and_then(|versus| versus.p.as_mut()) {
                families.entry((cell.workload.clone(), metric.name.clone())).or_default().push(p);
            }
        }
    }
    for family in families.into_values() {
        let adjusted = statistics::holm(&family.iter().map(|p| **p).collect::<Vec<_>>());
        for (p, adjusted) in family.into_iter().zip(adjusted) {
            *p = adjusted;
        }
    }
}

/// Block -> weighted mean of the logarithms of a kind's workloads, turned so that more is better;
/// only blocks that have them all.
fn log_scores(
    table: &Table<'_>,
    configuration: usize,
    workloads: &[(usize, &Workload)],
) -> BTreeMap<u32, f64> {
    let total: f64 = workloads.iter().map(|(_, workload)| workload.weight).sum();
    let mut sums: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for (index, workload) in workloads {
        let sign = if workload.better == Better::Lower { -1.0 } else { 1.0 };
        for (block, logarithm) in table.logarithms(configuration, *index, &workload.metric) {
            let (count, sum) = sums.entry(block).or_default();
            *count += 1;
            *sum += sign * workload.weight / total * logarithm;
        }
    }
    sums.into_iter()
        .filter(|(_, (count, _))| *count == workloads.len())
        .map(|(block, (_, sum))| (block, sum))
        .collect()
}

fn kind_result(
    plan: &Plan,
    table: &Table<'_>,
    members: &[usize],
    baseline: Option<usize>,
    group: Group,
) -> KindResult {
    // A workload of weight 0 is shown but has no say, and need not be complete.
    let of_kind = |workload: &&Workload| workload.group == group;
    let counted: Vec<(usize, &Workload)> = plan
        .workloads
        .iter()
        .enumerate()
        .filter(|(_, workload)| of_kind(workload) && workload.weight > 0.0)
        .collect();
    let id = |configuration: usize| plan.configurations[configuration].id.clone();
    let base = baseline.map(|baseline| log_scores(table, baseline, &counted)).unwrap_or_default();
    let others = members.len().saturating_sub(1).max(1) as f64;

    let mut scores = Vec::new();
    // The same configurations in the same order as in `scores`.
    let mut scored: Vec<(usize, BTreeMap<u32, f64>)> = Vec::new();
    for member in members {
        let own = log_scores(table, *member, &counted);
        let Some(paired) = statistics::paired(&differences(&own, &base)) else { continue };
        let is_baseline = Some(*member) == baseline;
        scores.push(Score {
            configuration: id(*member),
            pairs: paired.pairs,
            ratio: paired.estimate.exp(),
            interval: paired.interval.map(|interval| interval.exp()).filter(|_| !is_baseline),
            few: paired.pairs < PAIRS_EXACT_MIN,
            verdict: statistics::verdict(&paired, plan.margin, Better::Higher)
                .filter(|_| !is_baseline),
            holds_jointly: !is_baseline
                && jointly(&differences(&own, &base), others)
                    .is_some_and(|interval| !interval.contains(0.0)),
        });
        scored.push((*member, own));
    }
    let best = (0..scores.len()).max_by(|left, right| {
        // Of equals the earlier in the plan leads.
        scores[*left].ratio.total_cmp(&scores[*right].ratio).then(right.cmp(left))
    });
    let mut best_set = Vec::new();
    if let Some(best) = best.filter(|best| scores[*best].pairs >= PAIRS_MIN) {
        let mut set: Vec<usize> = (0..scored.len())
            .filter(|other| {
                *other == best
                    || !surely_behind(&scored[best].1, &scored[*other].1, others, plan.margin)
            })
            .collect();
        set.sort_by(|left, right| {
            scores[*right].ratio.total_cmp(&scores[*left].ratio).then(left.cmp(right))
        });
        best_set = set.into_iter().map(|place| scores[place].configuration.clone()).collect();
    }
    let leader = best.map(|best| scores[best].configuration.clone());
    let baseline_id = baseline.map(id);
    let recommended =
        baseline_id.filter(|baseline| best_set.contains(baseline)).or_else(|| leader.clone());

    let pairs = (scored.len() * scored.len().saturating_sub(1) / 2).max(1) as f64;
    let mut not_told_apart = Vec::new();
    for (place, (first, own)) in scored.iter().enumerate() {
        for (second, other) in &scored[place + 1..] {
            let within = plan.margin.ln_1p();
            let apart = |interval: Interval| {
                !interval.contains(0.0) && (interval.low < -within || interval.high > within)
            };
            if jointly(&differences(own, other), pairs).is_some_and(|interval| !apart(interval)) {
                not_told_apart.push((id(*first), id(*second)));
            }
        }
    }
    KindResult {
        group,
        workloads: plan
            .workloads
            .iter()
            .filter(of_kind)
            .map(|workload| workload.name.clone())
            .collect(),
        scores,
        leader,
        best_set,
        recommended,
        not_told_apart,
    }
}

/// t interval of the mean at 5 % / `comparisons`, two-sided; `None` below 3 pairs.
fn jointly(differences: &[f64], comparisons: f64) -> Option<Interval> {
    if differences.len() < PAIRS_MIN {
        return None;
    }
    statistics::t_interval(differences, 1.0 - (1.0 - statistics::CONFIDENCE) / comparisons)
}

/// Whether the leader is ahead by a one-sided test at 5 % / `others`, and not surely within the
/// margin.
fn surely_behind(
    leader: &BTreeMap<u32, f64>,
    other: &BTreeMap<u32, f64>,
    others: f64,
    margin: f64,
) -> bool {
    // The lower end of a two-sided interval at twice the level is the one-sided bound.
    jointly(&differences(leader, other), others / 2.0)
        .is_some_and(|ahead| ahead.low > 0.0 && ahead.high > margin.ln_1p())
}

/// Per block, the median over the cells of how far each lay from its own median.
fn block_effects(plan: &Plan, table: &Table<'_>, members: &[usize]) -> Vec<BlockEffect> {
    let mut distances: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for member in members {
        for (index, workload) in plan.workloads.iter().enumerate() {
            let sign = if workload.better == Better::Lower { -1.0 } else { 1.0 };
            let logarithms = table.logarithms(*member, index, &workload.metric);
            let Some(centre) =
                statistics::median(&logarithms.values().copied().collect::<Vec<_>>())
            else {
                continue;
            };
            for (block, logarithm) in logarithms {
                distances.entry(block).or_default().push(sign * (logarithm - centre.median));
            }
        }
    }
    let effect = |(block, distances): (u32, Vec<f64>)| {
        Some(BlockEffect { block, change: statistics::median(&distances)?.median.exp_m1() })
    };
    distances.into_iter().filter_map(effect).collect()
}

#[cfg(test)]
mod tests;

//! Which trials vote, and what pairs of them say.
//!
//! ```text
//! trial ── its metric, its flags ──> Voice: votes with a logarithm, or is silent for a reason
//! Voices of a cell, Voices of its baseline ── same blocks ──> Pairs: differences, how many busy, how many silent
//! ```

use std::collections::{BTreeMap, btree_map::Entry};

use crate::doubt::{Bearing, Doubt, Silence};
use crate::shared::LastPlace;
use crate::statistics;
use crate::types::{BetterDirection, Judge, Plan, Trial, Workload, better_of};

/// Fewest requests beyond a percentile for it to be more than a few of them.
const REQUESTS_BEYOND_MIN: f64 = 100.0;

/// What stands for a rate of 0, which has no logarithm: far below anything that moves.
const STANDSTILL: f64 = 1e-3;

/// What one trial, or one block of a score, has to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Voice {
    /// Natural logarithm of the figure.
    pub(crate) logarithm: f64,
    /// How much of it was measured while the machine was busy, from 0 to 1.
    pub(crate) busy: f64,
    /// Why it does not vote.
    pub(crate) silent: Option<Box<Silence>>,
    /// Whether nothing moved.
    pub(crate) is_standstill: bool,
}

/// Block -> machine.
pub(crate) type Machines = BTreeMap<u32, u32>;

/// Blocks and their voices, in the order of the blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Voices(Vec<(u32, Voice)>);

impl Voices {
    /// All voices.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Voice> {
        self.iter().map(|(_, voice)| voice)
    }

    /// Blocks and voices.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, (u32, Voice)> {
        self.0.iter()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The voice of a block.
    pub(crate) fn get(&self, block: u32) -> Option<&Voice> {
        let place = self.0.binary_search_by_key(&block, |(known, _)| *known).ok()?;
        Some(&self.0[place].1)
    }
}

/// Of blocks in their order.
impl FromIterator<(u32, Voice)> for Voices {
    fn from_iter<I: IntoIterator<Item = (u32, Voice)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl IntoIterator for Voices {
    type Item = (u32, Voice);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// What two sides say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pairs {
    /// Own minus other, of blocks in which both vote.
    pub(crate) differences: Vec<f64>,
    /// These blocks; none where the differences are those of machines.
    pub(crate) blocks: Vec<u32>,
    /// The same of the other blocks that have both.
    pub(crate) silent: Vec<f64>,
    /// Voting blocks that were measured on a busy machine, on either side.
    pub(crate) busy: usize,
    /// The commonest reason for not voting.
    pub(crate) reason: Option<Silence>,
    /// The differences are those of machines, each the mean of its blocks'.
    pub(crate) by_machine: bool,
}

/// The metric that each workload is judged by: the durable rate wherever some trial of the run has
/// one, unless the plan says otherwise.
pub(crate) fn judged_metrics(plan: &Plan, table: &Table<'_>) -> Vec<String> {
    let judged = |(index, workload): (usize, &Workload)| {
        let durable = format!("durable_{}", workload.metric);
        let mut trials = (0..plan.configurations.len())
            .flat_map(|configuration| table.cell(configuration, index))
            .map(|(_, trial)| trial);
        if let Some(metric) = plan.terms.goal.as_ref().and_then(|goal| goal.metric.as_ref()) {
            return metric.clone();
        }
        let wanted = workload.judge == Judge::Durable
            && trials.any(|trial| trial.metrics.contains_key(&durable));
        if wanted { durable } else { workload.metric.clone() }
    };
    plan.workloads.iter().enumerate().map(judged).collect()
}

/// Pairs the blocks of two sides; of a run on several machines, as [`Host::drawn_machines`] has
/// them, each machine's blocks together have one difference.
///
/// [`Host::drawn_machines`]: crate::types::Host::drawn_machines
pub(crate) fn pair(own: &Voices, other: &Voices, machines: Option<&Machines>) -> Pairs {
    let mut pairs = Pairs::default();
    pairs.renew(own, other, machines);
    pairs
}

impl Pairs {
    /// The same of other sides, in the memory of these.
    pub(crate) fn renew(&mut self, own: &Voices, other: &Voices, machines: Option<&Machines>) {
        self.differences.clear();
        self.blocks.clear();
        self.silent.clear();
        (self.busy, self.by_machine) = (0, machines.is_some());
        // Of machines: differences that vote, and how many of them are busy.
        let mut voting: BTreeMap<u32, (Vec<f64>, usize)> = BTreeMap::new();
        let mut reasons: Vec<(Silence, usize)> = Vec::new();
        let mut others = other.iter().peekable();
        for (block, mine) in own.iter() {
            while others.next_if(|(other, _)| *other < *block).is_some() {}
            let Some((_, theirs)) = others.next_if(|(other, _)| *other == *block) else { continue };
            let difference = mine.logarithm - theirs.logarithm;
            let busy = usize::from(mine.busy.max(theirs.busy) > 0.5);
            match (mine.silent.as_ref().or(theirs.silent.as_ref()), machines) {
                (Some(reason), _) => {
                    count(&mut reasons, reason.without_figures());
                    self.silent.push(difference);
                }
                (None, None) => {
                    self.blocks.push(*block);
                    self.differences.push(difference);
                    self.busy += busy;
                }
                (None, Some(_)) => {
                    let of_machine = voting.entry(unit_of(*block, machines)).or_default();
                    of_machine.0.push(difference);
                    of_machine.1 += busy;
                }
            }
        }
        for (differences, busy) in voting.values() {
            self.differences.push(statistics::mean(differences));
            self.busy += usize::from(2 * busy > differences.len());
        }
        let commonest = reasons.into_iter().max_by_key(|(_, count)| *count);
        self.reason = commonest.map(|(reason, _)| reason);
    }

    /// The mean of what votes; of what does not where nothing does. `None` without any pair.
    pub(crate) fn centre(&self) -> Option<f64> {
        let shown = if self.differences.is_empty() { &self.silent } else { &self.differences };
        (!shown.is_empty()).then(|| statistics::mean(shown))
    }
}

/// Counts a reason among those that were found, in the order in which they were.
fn count(reasons: &mut Vec<(Silence, usize)>, reason: Silence) {
    match reasons.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, count)) => *count += 1,
        None => reasons.push((reason, 1)),
    }
}

/// What is drawn anew with a block: the block, or its machine.
fn unit_of(block: u32, machines: Option<&Machines>) -> u32 {
    machines.and_then(|machines| machines.get(&block)).copied().unwrap_or(block)
}

/// What votes of one cell: of each block, or the mean of each machine's blocks.
pub(crate) fn drawn(blocks: &[(u32, f64)], machines: Option<&Machines>) -> Vec<f64> {
    let mut units: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (block, figure) in blocks {
        units.entry(unit_of(*block, machines)).or_default().push(*figure);
    }
    units.values().map(|figures| statistics::mean(figures)).collect()
}

/// Trials of a run by what they are trials of.
#[derive(Clone)]
pub(crate) struct Table<'a> {
    plan: &'a Plan,
    /// (configuration, workload) by index in the plan -> block -> trial.
    pub(crate) trials: BTreeMap<(usize, usize), BTreeMap<u32, &'a Trial>>,
    /// As [`Host::drawn_machines`](crate::types::Host::drawn_machines).
    pub(crate) machines: Option<&'a Machines>,
}

impl<'a> Table<'a> {
    /// Sorts the trials in; counts those of no cell of the plan and those that a later one
    /// replaces.
    pub(crate) fn new(plan: &'a Plan, trials: &'a [Trial]) -> (Self, usize, usize) {
        let place = plan.places();
        let mut table = Self { plan, trials: BTreeMap::new(), machines: None };
        let (mut unknown, mut repeated) = (0, 0);
        for trial in trials {
            match place(trial) {
                Some(place) => match table.trials.entry(place).or_default().entry(trial.block) {
                    Entry::Occupied(mut known) => {
                        known.insert(trial);
                        repeated += 1;
                    }
                    Entry::Vacant(new) => {
                        new.insert(trial);
                    }
                },
                None => unknown += 1,
            }
        }
        (table, unknown, repeated)
    }

    /// The same, of which each machine has one say.
    pub(crate) fn on(self, machines: Option<&'a Machines>) -> Self {
        Self { machines, ..self }
    }

    /// Only the trials of these configurations and blocks.
    pub(crate) fn of(&self, wanted: impl Fn(usize, u32) -> bool) -> Self {
        let mut table = self.clone();
        for ((configuration, _), trials) in &mut table.trials {
            trials.retain(|block, _| wanted(*configuration, *block));
        }
        table
    }

    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Identity of a configuration.
    pub(crate) fn id(&self, configuration: usize) -> &'a str {
        &self.plan.configurations[configuration].id
    }

    pub(crate) fn cell(
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

    /// Whether a cell asks about a cache: then what a cache answers is the answer.
    fn asks_a_cache(&self, configuration: usize, workload: usize) -> bool {
        !self.plan.configurations[configuration].caches.is_empty()
            || self.plan.workloads[workload].buffered_of.is_some()
    }

    /// Why a trial's figures do not vote, whatever the metric.
    pub(crate) fn silent(
        &self,
        (configuration, workload): (usize, usize),
        trial: &Trial,
    ) -> Option<Silence> {
        let asks_a_cache = self.asks_a_cache(configuration, workload);
        let is_silent = |doubt: &&Doubt| match doubt.bearing() {
            Bearing::NoVote => true,
            Bearing::NotTheMedium => !asks_a_cache,
            Bearing::Busy | Bearing::Note => false,
        };
        trial.flags.iter().find(is_silent).cloned().map(Silence::Doubtful)
    }

    /// Whether a trial in which nothing moved is a loss: by the rate that its workload is judged
    /// by, where anything moved in any trial of that.
    pub(crate) fn counts_standstill(&self, workload: usize, metric: &str) -> bool {
        let named = &self.plan.workloads[workload];
        let own = metric.strip_prefix("durable_").unwrap_or(metric) == named.metric;
        let of_workload = self.trials.iter().filter(|((_, other), _)| *other == workload);
        let mut figures = of_workload
            .flat_map(|(_, trials)| trials.values())
            .filter_map(|trial| trial.metrics.get(metric));
        own && better_in(named, metric) == BetterDirection::Higher
            && figures.any(|figure| *figure > 0.0)
    }

    /// Block -> voice of one metric, where it has a figure above 0, or a rate of 0.
    pub(crate) fn voices(&self, configuration: usize, workload: usize, metric: &str) -> Voices {
        let (mut place, percentile) = (LastPlace::default(), Percentile::of(metric));
        let voice = |(block, trial): (u32, &Trial)| {
            let figure = trial.metrics.get_near(metric, &mut place)?;
            let is_standstill = figure == 0.0 && self.counts_standstill(workload, metric);
            let figure = if is_standstill { STANDSTILL } else { figure };
            let logarithm = (figure.is_finite() && figure > 0.0).then(|| figure.ln())?;
            let is_busy = trial.flags.iter().any(|doubt| doubt.bearing() == Bearing::Busy);
            let silent = self
                .silent((configuration, workload), trial)
                .or_else(|| percentile.as_ref()?.too_few_requests(trial));
            let busy = if is_busy { 1.0 } else { 0.0 };
            let silent = silent.map(Box::new);
            Some((block, Voice { logarithm, busy, silent, is_standstill }))
        };
        self.cell(configuration, workload).filter_map(voice).collect()
    }

    /// The same of trials in which anything moved: what tells of the machine's course.
    pub(crate) fn moving_voices(
        &self,
        configuration: usize,
        workload: usize,
        metric: &str,
    ) -> Voices {
        let mut voices = self.voices(configuration, workload, metric);
        voices.0.retain(|(_, voice)| !voice.is_standstill);
        voices
    }

    /// Block -> weighted mean of the voices of several workloads by their judged metrics, turned so
    /// that more is better; only blocks that have them all. Silent where one of them is.
    pub(crate) fn scores(
        &self,
        configuration: usize,
        workloads: &[(usize, &Workload, &str)],
    ) -> Voices {
        let total: f64 = workloads.iter().map(|(_, workload, _)| workload.weight).sum();
        let mut sums: BTreeMap<u32, (usize, Voice)> = BTreeMap::new();
        for (index, workload, metric) in workloads {
            let sign =
                if better_in(workload, metric) == BetterDirection::Lower { -1.0 } else { 1.0 };
            let share = workload.weight / total;
            for (block, voice) in self.voices(configuration, *index, metric) {
                let (count, sum) = sums.entry(block).or_insert((0, Voice::default()));
                *count += 1;
                sum.logarithm += sign * share * voice.logarithm;
                sum.busy += share * voice.busy;
                if sum.silent.is_none() {
                    sum.silent = voice.silent;
                }
            }
        }
        sums.into_iter()
            .filter(|(_, (count, _))| *count == workloads.len())
            .map(|(block, (_, voice))| (block, voice))
            .collect()
    }
}

/// Which direction of a metric of a workload is better.
pub(crate) fn better_in(workload: &Workload, metric: &str) -> BetterDirection {
    let own =
        metric == workload.metric || metric.strip_prefix("durable_") == Some(&workload.metric);
    let other = || better_of(metric).unwrap_or(workload.better);
    if own { workload.better } else { other() }
}

/// A metric that is a percentile of requests' times.
struct Percentile {
    /// Metric that says how many requests there were.
    requests: String,
    /// How many it takes for [`REQUESTS_BEYOND_MIN`] beyond it.
    needed: f64,
}

impl Percentile {
    /// By the metric's name; `None` where it is none.
    fn of(metric: &str) -> Option<Self> {
        let part =
            ["read_", "write_"].into_iter().find(|part| metric.starts_with(part)).unwrap_or("");
        let name = metric.strip_prefix(part)?.strip_prefix("latency_p")?;
        let percentile: f64 = name.strip_suffix("_seconds")?.replace('_', ".").parse().ok()?;
        let needed = REQUESTS_BEYOND_MIN / (1.0 - percentile / 100.0);
        Some(Self { requests: format!("{part}operations_count"), needed })
    }

    /// Why it is too much to ask of a trial. One that does not say how many requests it made is
    /// believed.
    fn too_few_requests(&self, trial: &Trial) -> Option<Silence> {
        let (requests, needed) = (*trial.metrics.get(&self.requests)?, self.needed);
        (requests < needed * (1.0 - 1e-9)).then_some(Silence::TooFewRequests { needed })
    }
}

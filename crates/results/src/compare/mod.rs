//! Two runs against each other: the same cells, measured apart.
//!
//! ```text
//! run A: cell ── logarithms a1 … am ┐
//!                                   ├── difference of means, one variance for both ── Estimate ── Claim
//! run B: cell ── logarithms b1 … bn ┘                       a limit asks the same estimate ── passed or not
//! ```
//!
//! Nothing pairs the trials of one run with those of another. What changed on the machine between
//! the runs looks like a difference too; nothing can tell them apart, which is why a run
//! interleaves its cells. Trials that do not vote in a report do not vote here.
//!
//! What all figures have in common is named as that. Beside a reference, each cell's figures are
//! held against the reference's of the same blocks first, and what changed for both is gone.
//!
//! The words about the judged metrics hold together over all cells, those about all other metrics
//! too, and so do all that the limits are about: of equal runs at most 5 % pass any limit.

mod cells;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::cells::{BothRuns, label};
pub use self::cells::{CellChange, ReferenceCell, TRIALS_MIN};
use crate::analysis::Analysis;
use crate::claim::{self, Answer, Invalid, LEVEL, PAIRS_MIN, Quantiles};
use crate::doubt::Silence;
use crate::safety::speeds;
use crate::statistics::{self, Interval};
use crate::types::{BetterDirection, Run};

/// What is not the same in the two runs although figures depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Settings of the suites.
    Settings,
    /// The machine: kernel, processor, file system.
    Machine,
    /// The version of raidloom.
    Version,
}

/// One such thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunDifference {
    /// What kind of thing it is.
    pub aspect: Aspect,
    /// Its name.
    pub name: String,
    /// In the first run; empty where it is not said.
    pub first: String,
    /// In the second run.
    pub second: String,
}

/// How many cells came to which answer, by the metrics that they are judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Cells in which the second run is worse.
    pub slower: usize,
    /// Cells in which it is better.
    pub faster: usize,
    /// Cells that differ by less than the margin.
    pub same: usize,
    /// The others.
    pub no_answer: usize,
}

/// What the reader of a comparison should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum ComparisonNote {
    /// Each run has one configuration, and they are not the same.
    OneConfigurationEach {
        /// That of the first run.
        first: String,
        /// That of the second run, which is compared with it.
        second: String,
    },
    /// Figures of a configuration are modelled in one run and measured in the other, and are not
    /// compared.
    ModelledAndMeasured {
        /// The configuration.
        configuration: String,
    },
    /// Cells of the first run have no figures in both.
    CellsMissing {
        /// How many.
        cells: usize,
    },
    /// Cells have too few trials that vote: they have no answer, and cannot fail a limit.
    TooFewTrials {
        /// How many.
        cells: usize,
        /// The fewest trials on each side.
        least: usize,
    },
    /// The runs were measured one after the other: what changed on the machine between them cannot
    /// be told from a difference.
    NotInterleaved,
}

/// What two runs have in common, and how it changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Changes {
    /// Counted by judged metrics.
    pub summary: Summary,
    /// What all figures have in common; none where they have nothing, or are judged beside a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_shift: Option<CommonShift>,
    /// The values of the configuration that all cells are judged beside; none where each stands for
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<BTreeMap<String, String>>,
    /// Cells in both, in the first run's order; of each the judged metric first, then the others by
    /// name.
    pub cells: Vec<CellChange>,
    /// What is not the same although figures depend on it.
    pub differing: Vec<RunDifference>,
    /// What the reader should know.
    pub notes: Vec<ComparisonNote>,
    /// How many looks share the level of a limit, of one run against its own baseline; 0 for two
    /// runs.
    #[serde(skip)]
    pub looks: usize,
}

/// A change that all figures have in common: the machine's, or of something else that all
/// configurations share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CommonShift {
    /// Relative change, as a fraction; above 0 is better.
    pub change: f64,
    /// Its interval of 95 %.
    pub interval: Interval,
    /// Cells that have it.
    pub cells: usize,
    /// Of so many that could tell.
    pub of: usize,
}

/// A bound that a metric's change must not pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Name of the metrics it is about, or whole words that their names begin with.
    pub metric: String,
    /// Whether a change below it passes it, or one above.
    pub below: bool,
    /// The bound, as a share: -0.05 is five per cent less.
    pub change: f64,
}

impl Limit {
    /// Whether it is about this metric: `latency` is about `latency_p99_seconds`, `lat` about
    /// nothing.
    #[must_use]
    pub fn is_about(&self, metric: &str) -> bool {
        metric
            .strip_prefix(&self.metric)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }
}

/// Why a limit cannot be judged by a cell: a change as large as the one that is asked about would
/// not be seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Insensitivity {
    /// Too few trials vote on one side, for another reason than the next.
    FewTrials {
        /// How many vote, on the side with fewer.
        voting: usize,
        /// How many it takes.
        least: usize,
        /// Why others do not.
        reason: Option<Silence>,
    },
    /// Its trials make too few requests for such a percentile.
    FewRequests {
        /// How many each would have to make.
        needed: u64,
    },
    /// The interval of the ratio reaches further to either side than the change that is asked for.
    Wide {
        /// The interval.
        interval: Interval,
        /// About how many trials on each side would be enough.
        trials: usize,
    },
}

/// What limits say of the cells that they are about, as (limit, cell) by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitVerdicts {
    /// Cells that surely pass a limit.
    pub passed: Vec<(usize, usize)>,
    /// Cells of which a limit sees nothing: none of their metrics that it is about can tell.
    pub blind: Vec<(usize, usize, Insensitivity)>,
    /// How many further figures cannot tell, beside one of the same cell that can.
    pub unseen: usize,
}

/// What one figure says of a limit.
enum Sight {
    Passed,
    Holds,
    Blind(Insensitivity),
}

impl Changes {
    /// What the limits say. A cell passes one surely or not: each is a one-sided t test at 5 % /
    /// (number of cells that the limits are about), so that of equal runs at most 5 % pass any. One
    /// that does not pass may be one in which nothing would be seen; that is not to hold.
    #[must_use]
    pub fn judge(&self, limits: &[Limit]) -> LimitVerdicts {
        let asked: Vec<(usize, usize)> = limits
            .iter()
            .enumerate()
            .flat_map(|(index, limit)| {
                let about =
                    move |(_, cell): &(usize, &CellChange)| limit.is_about(&cell.claim.metric);
                self.cells.iter().enumerate().filter(about).map(move |(cell, _)| (index, cell))
            })
            .collect();
        let tested = asked.iter().filter(|(_, cell)| self.cells[*cell].estimate.is_some()).count();
        let level = LEVEL / (tested.max(1) * self.looks.max(1)) as f64;
        let least = if self.looks == 0 { TRIALS_MIN } else { PAIRS_MIN };
        let mut quantiles = Quantiles::default();
        let mut judged = LimitVerdicts::default();
        // By limit, configuration and workload: whether any figure can tell, and those that cannot.
        type Place<'a> = (usize, &'a BTreeMap<String, String>, &'a str);
        let mut cells: BTreeMap<Place<'_>, (bool, Vec<(usize, Insensitivity)>)> = BTreeMap::new();
        for (limit, index) in asked {
            let cell = &self.cells[index];
            let (sees, blind) =
                cells.entry((limit, &cell.settings, cell.workload.as_str())).or_default();
            match cell.sight(&limits[limit], level, least, &mut quantiles) {
                Sight::Passed => {
                    judged.passed.push((limit, index));
                    *sees = true;
                }
                Sight::Holds => *sees = true,
                Sight::Blind(why) => blind.push((index, why)),
            }
        }
        for ((limit, ..), (sees, blind)) in cells {
            let first = if sees { None } else { blind.first().cloned() };
            judged.unseen += blind.len() - usize::from(first.is_some());
            judged.blind.extend(first.map(|(cell, why)| (limit, cell, why)));
        }
        judged
    }
}

impl CellChange {
    fn sight(&self, limit: &Limit, level: f64, least: usize, quantiles: &mut Quantiles) -> Sight {
        let voting = self.trials[0].min(self.trials[1]);
        let Some(estimate) = &self.estimate else {
            return Sight::Blind(match (self.requests_needed, &self.claim.invalid) {
                (Some(needed), _) => Insensitivity::FewRequests { needed },
                (None, Some(Invalid::TooFew { reason, .. })) => {
                    Insensitivity::FewTrials { voting, least, reason: reason.clone() }
                }
                (None, _) => Insensitivity::FewTrials { voting, least, reason: None },
            });
        };
        let error = self.claim.model_error.unwrap_or(0.0);
        let chance = claim::interval(estimate, level, error, quantiles);
        // As far as the order of visits may matter, too.
        let ratio = self.claim.ratio;
        let interval = self.claim.by_order.map_or(chance, |ratios| Interval {
            low: chance.low * ratios.low / ratio,
            high: chance.high * ratios.high / ratio,
        });
        let bound = 1.0 + limit.change;
        let passes = if limit.below { interval.high < bound } else { interval.low > bound };
        let holds = if limit.below { interval.low >= bound } else { interval.high <= bound };
        // With no change at all as the limit there is none that would be too small to be seen.
        let asked = if limit.change == 0.0 { f64::INFINITY } else { bound.ln().abs() };
        let reach = (interval.high / interval.low).ln() / 2.0;
        if passes {
            Sight::Passed
        } else if holds || reach <= asked {
            Sight::Holds
        } else {
            // Errors shrink with the root of the number of trials.
            let trials = (voting as f64 * (reach / asked).powi(2)).ceil() as usize;
            Sight::Blind(Insensitivity::Wide { interval, trials })
        }
    }
}

/// Compares the second run with the first, cell by cell and metric by metric. Cells are the same
/// when settings and workload are; two runs of one configuration each are compared by workload
/// alone. `margin` is the half-width of "same", as a fraction; `beside` what cells are judged
/// beside, if anything.
#[must_use]
pub fn compare(first: &Run, second: &Run, margin: f64, beside: Option<&ReferenceCell>) -> Changes {
    // Grades are no figures to compare.
    let (first, second) = (&*speeds(first), &*speeds(second));
    let mut changes = Changes { differing: differing(first, second), ..Changes::default() };
    let only = |run: &Run| run.plan.configurations.len() == 1;
    let alone = (only(first) && only(second))
        .then(|| (&first.plan.configurations[0], &second.plan.configurations[0]))
        .filter(|(first, second)| first.id != second.id);
    if let Some((before, after)) = alone {
        let (first, second) = (label(before), label(after));
        changes.notes.push(ComparisonNote::OneConfigurationEach { first, second });
    }
    let both = BothRuns::new([first, second], alone.is_some(), beside);
    let (found, missing) = both.metrics(&mut changes.notes);
    let subject = |own: usize| match alone {
        Some((_, after)) => after.id.clone(),
        None => first.plan.configurations[own].id.clone(),
    };
    changes.cells = both.claims(&found, subject, margin);
    if beside.is_some() {
        let one = found.first().and_then(|one| both.reference(0, one.configuration));
        changes.beside = one.map(|one| first.plan.configurations[one].settings.clone());
    } else if alone.is_none() {
        changes.common_shift = common_shift(&changes.cells);
    }
    if missing > 0 {
        changes.notes.push(ComparisonNote::CellsMissing { cells: missing });
    }
    let few = changes.cells.iter().filter(|cell| cell.judged && cell.estimate.is_none()).count();
    if few > 0 {
        changes.notes.push(ComparisonNote::TooFewTrials { cells: few, least: TRIALS_MIN });
    }
    let measured = first
        .plan
        .configurations
        .iter()
        .any(|configuration| configuration.clock == crate::types::Clock::Wall);
    if measured && !changes.cells.is_empty() {
        changes.notes.push(ComparisonNote::NotInterleaved);
    }
    changes.summary = counted(&changes.cells);
    changes
}

fn counted(cells: &[CellChange]) -> Summary {
    let mut summary = Summary::default();
    for cell in cells.iter().filter(|cell| cell.judged) {
        let count = match cell.claim.answer {
            Answer::Ahead => &mut summary.faster,
            Answer::Behind => &mut summary.slower,
            Answer::Same => &mut summary.same,
            Answer::Open => &mut summary.no_answer,
        };
        *count += 1;
    }
    summary
}

/// What a run says of its configurations against their baselines, as changes, for limits to be held
/// against. Its blocks are pairs, so that nothing which changed on the machine between them is in
/// it.
#[must_use]
pub fn against_baseline(analysis: &Analysis) -> Changes {
    let mut cells = Vec::new();
    for comparison in &analysis.comparisons {
        let own = comparison.cells.iter().filter(|cell| cell.configuration != comparison.baseline);
        for cell in own {
            let Some(base) = comparison.cell(&comparison.baseline, &cell.workload) else {
                continue;
            };
            let member = comparison.configurations.iter().find(|one| one.id == cell.configuration);
            for (place, metric) in cell.metrics.iter().enumerate() {
                let of_base = base.metrics.iter().find(|known| known.name == metric.name);
                let (Some(of_base), Some(claim)) = (of_base, &metric.versus_baseline) else {
                    continue;
                };
                let requests_needed = match &claim.invalid {
                    Some(Invalid::TooFew {
                        reason: Some(Silence::TooFewRequests { needed }),
                        ..
                    }) => Some(needed.round() as u64),
                    _ => None,
                };
                cells.push(CellChange {
                    settings: member.map(|member| member.settings.clone()).unwrap_or_default(),
                    workload: cell.workload.clone(),
                    judged: place == 0,
                    trials: [claim.pairs; 2],
                    silent: [of_base.silent, metric.silent],
                    requests_needed,
                    medians: [of_base.median, metric.median],
                    claim: claim.clone(),
                    estimate: metric.estimate,
                });
            }
        }
    }
    Changes {
        summary: counted(&cells),
        cells,
        looks: analysis.looks.map_or(1, |looks| looks.count),
        ..Changes::default()
    }
}

/// Fewest configurations that can have something in common.
const COMMON_CONFIGURATIONS_MIN: usize = 3;

/// A change that all have in common is worth a word from here on.
const COMMON_MIN: f64 = 0.005;

/// Up to this share of the cells may have changed otherwise.
const COMMON_OTHERS_MAX: f64 = 0.25;

/// What all judged figures have in common: their mean change, each by its own error, where it
/// surely is one and where they differ by no more than chance (Cochran's Q). Cells that lie far
/// from the median of all are others' changes.
fn common_shift(cells: &[CellChange]) -> Option<CommonShift> {
    let gain = |cell: &CellChange| {
        let estimate = cell.estimate.filter(|estimate| estimate.error > 0.0)?;
        let sign = match cell.claim.better? {
            BetterDirection::Higher => 1.0,
            BetterDirection::Lower => -1.0,
        };
        Some((sign * estimate.centre, estimate.error))
    };
    let judged = cells.iter().filter(|cell| cell.judged);
    let known: Vec<(&CellChange, (f64, f64))> =
        judged.filter_map(|cell| Some((cell, gain(cell)?))).collect();
    let settings: BTreeSet<_> = known.iter().map(|(cell, _)| &cell.settings).collect();
    if settings.len() < COMMON_CONFIGURATIONS_MIN {
        return None;
    }
    let gains: Vec<f64> = known.iter().map(|(_, (centre, _))| *centre).collect();
    let middle = statistics::median(&gains)?.median;
    // What one cell in all of them passes by chance once in twenty times.
    let far = claim::normal_above(LEVEL / (2.0 * known.len() as f64));
    let alike: Vec<(f64, f64)> = known
        .iter()
        .map(|(_, known)| *known)
        .filter(|(centre, error)| (centre - middle).abs() <= far * error)
        .collect();
    if ((known.len() - alike.len()) as f64) > COMMON_OTHERS_MAX * known.len() as f64 {
        return None;
    }
    let weight = |error: f64| error.powi(2).recip();
    let weights: f64 = alike.iter().map(|(_, error)| weight(*error)).sum();
    let mean = alike.iter().map(|(centre, error)| weight(*error) * centre).sum::<f64>() / weights;
    let spread = alike.iter().map(|(centre, error)| weight(*error) * (centre - mean).powi(2));
    let is_common = claim::chi_squared_tail(spread.sum(), (alike.len() - 1) as f64) > LEVEL;
    let reach = claim::normal_above(LEVEL / 2.0) / weights.sqrt();
    let is_sure = mean.abs() > reach && mean.exp_m1().abs() >= COMMON_MIN;
    (is_common && is_sure).then(|| CommonShift {
        change: mean.exp_m1(),
        interval: Interval { low: (mean - reach).exp_m1(), high: (mean + reach).exp_m1() },
        cells: alike.len(),
        of: known.len(),
    })
}

/// What differs between two runs although figures depend on it: figures of the two are comparable
/// only where there is nothing, or where somebody says that they are all the same.
#[must_use]
pub fn differing(first: &Run, second: &Run) -> Vec<RunDifference> {
    let mut found = Vec::new();
    let mut put = |aspect: Aspect, name: &str, before: Option<&String>, after: Option<&String>| {
        if before != after {
            let text = |value: Option<&String>| value.cloned().unwrap_or_default();
            found.push(RunDifference {
                aspect,
                name: name.to_owned(),
                first: text(before),
                second: text(after),
            });
        }
    };
    let (before, after) = (&first.plan.suite_settings, &second.plan.suite_settings);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        put(Aspect::Settings, name, before.get(name), after.get(name));
    }
    let fact = |run: &'_ Run, name: &str| {
        run.host.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone())
    };
    let facts = first.host.facts.iter().chain(&second.host.facts).filter(|fact| fact.must_match);
    let names: BTreeSet<&str> = facts.map(|fact| fact.name.as_str()).collect();
    for name in names {
        let aspect = if name == "raidloom" { Aspect::Version } else { Aspect::Machine };
        put(aspect, name, fact(first, name).as_ref(), fact(second, name).as_ref());
    }
    found
}

#[cfg(test)]
mod tests;

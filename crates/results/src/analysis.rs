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
//! What a comparison comes to is a [`Claim`]. Beyond a single one:
//!
//! * **Voting.** A trial that something else than the medium answered is shown and does not vote
//!   ([`claim::doubt`]), unless a cache is what its cell asks about. A percentile votes when 100
//!   requests lie beyond it.
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

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::claim::{
    self, Answer, Claim, Doubt, Family, Invalid, LEVEL, Over, PAIRS_MIN, Quantiles, Question,
    Sample, Settle,
};
use crate::course::{self, Course, Pick};
use crate::statistics::{self, Interval};
use crate::types::{
    Better, Clock, Configuration, Group, Judge, OneDisk, Plan, Run, Workload, setting_text,
    settings_text,
};

pub use order::CarryOver;

use crate::voices::{Pairs, Table, Voices, better_in, pair};

/// Below this number of blocks intervals are wide, which a warning says.
const BLOCKS_FEW: usize = 6;

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
    /// What the plan is for, in its words; none where it asks for a headline for each kind of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// How a run stands that may go on, or that races; none for one that makes its claims once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
    /// One for each baseline, in the plan's order.
    pub comparisons: Vec<Comparison>,
    /// What the reader should know before believing the figures.
    pub warnings: Vec<Warning>,
    /// How long one more block would take, roughly, in seconds: for whoever knows the suites to
    /// fill in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_seconds: Option<f64>,
    /// How what is recommended is started: for whoever knows where the run lies to fill in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<Start>,
}

/// How a run with looks stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Looks {
    /// Blocks that its race has taken; none before it is over, and where there is none.
    pub raced_blocks: Option<u32>,
    /// Whether losers stop being measured.
    pub race: bool,
    /// Blocks that vote: those of the last look that is whole.
    pub reached: u32,
    /// Blocks of the look that it goes on to, or has reached.
    pub wanted: u32,
    /// How many looks share the level.
    pub count: usize,
}

/// What became of a configuration in a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    /// It was measured again when the race was over: only its fresh trials vote.
    Confirmed,
    /// It was a clear loser.
    Dropped {
        /// After so many blocks.
        after_blocks: u32,
    },
    /// Neither: it raced to the end, or does so still.
    Raced,
}

/// How a configuration is started on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Start {
    /// Identity of the configuration.
    pub configuration: String,
    /// Its values, for people.
    pub label: String,
    /// A shell command.
    pub command: String,
    /// Shell commands that build the same without raidloom; a line that begins with `#` says what
    /// they cannot.
    pub without_raidloom: Vec<String>,
}

/// The configurations that share one baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The axis values that all of its configurations share and no other comparison has; empty when
    /// there is nothing to tell apart.
    pub name: String,
    /// Whether any of its figures are modelled rather than measured.
    pub modelled: bool,
    /// Whether any of them come from a Linux in a guest, on modelled disks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_guest: bool,
    /// What all members of some of its configurations lie on together (`disk sda`): there, more
    /// members are no more disks. None where no configuration's do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_disk: Option<String>,
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
    /// All of them together; none where there is only one kind.
    pub whole: Option<KindResult>,
    /// How far each block lay from the run's median, as a fraction: the machine's own course.
    pub block_effects: Vec<BlockEffect>,
    /// Steady change over the blocks, when there are enough blocks to tell.
    pub drift: Option<Drift>,
    /// How many times smaller variances are for comparing within blocks.
    pub pairing_gain: Option<f64>,
    /// What configurations leave behind for those that follow, the largest first.
    pub carried_over: Vec<CarryOver>,
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
    /// What became of it in a race; none where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
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
    /// Number of trials that vote.
    pub trials: usize,
    /// Number of trials with a figure that do not.
    pub silent: usize,
    /// Median over the trials that vote; over all where none does.
    pub median: f64,
    /// Order-statistic interval of the median; none below 6 trials.
    pub interval: Option<Interval>,
    /// Comparison with the baseline's cell; none for the baseline itself and where no block has
    /// both.
    pub versus_baseline: Option<Claim>,
}

/// A doubt about a cell, and how many of its trials have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flag {
    /// In words, as the trial carries it.
    pub text: String,
    /// Number of the cell's trials.
    pub trials: usize,
}

/// The answer for one kind of access, or for all work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindResult {
    /// The kind; none for all of them together.
    pub group: Option<Group>,
    /// Names of its workloads.
    pub workloads: Vec<String>,
    /// What a race has named for it, which its headline is about; none without a race.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
    /// Score of each configuration that has one, the baseline's included, in the plan's order.
    pub scores: Vec<Score>,
    /// Configuration with the highest score; none when nothing can be compared.
    pub leader: Option<String>,
    /// Every configuration that no other is surely ahead of, best score first. Empty when nothing
    /// can be compared.
    pub best_set: Vec<String>,
    /// The baseline if it is in the best set, since there is then no reason to leave it; else the
    /// one with the highest score of those surely ahead of it.
    pub recommended: Option<String>,
    /// What it comes to in one sentence.
    pub headline: Headline,
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
    /// Against the baseline; none for the baseline itself.
    pub versus_baseline: Option<Claim>,
    /// Against the recommended one; none for that itself, for the baseline, and where the baseline
    /// is recommended.
    pub versus_take: Option<Claim>,
}

impl Score {
    /// What its claim against the baseline comes to.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        self.versus_baseline.as_ref().map(|claim| claim.answer)
    }

    /// The interval that this answer rests on.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.versus_baseline.as_ref().and_then(Claim::shown_interval)
    }
}

/// What a kind's scores come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    /// Configuration to take; none when there is no valid answer.
    pub take: Option<String>,
    /// It against the baseline; none for the baseline itself.
    pub claim: Option<Claim>,
    /// Whether it may be called sure: ahead of the baseline (the baseline itself: of all others) at
    /// the report's level, on a machine that was mostly quiet, beyond a model's stated error.
    pub sure: bool,
    /// Whether every other one that was compared is surely behind it.
    pub ahead_of_all: bool,
    /// Those that may be as good and surely differ by less than the margin from it.
    pub same: Vec<String>,
    /// Those that may be better, without an answer yet.
    pub open: Vec<String>,
    /// What it does not say, or not surely, and why.
    pub reservations: Vec<Reservation>,
}

/// A workload that a score leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Name of the workload.
    pub workload: String,
    /// Why its trials do not vote.
    pub reason: String,
}

/// What a headline does not say, or not surely.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Reservation {
    /// A workload is left out for all configurations.
    LeftOut(LeftOut),
    /// A configuration has too few voting trials.
    NotCompared {
        /// Its identity.
        configuration: String,
        /// Why its trials do not vote; none when they are not there.
        reason: Option<String>,
    },
    /// A configuration does not meet what the plan asks for.
    RuledOut {
        /// Its identity.
        configuration: String,
        /// What it fails.
        reason: String,
    },
    /// Most blocks were measured while the machine was busy.
    Busy {
        /// Such pairs of trials.
        busy: usize,
        /// Of how many.
        pairs: usize,
    },
    /// The figures are a model's.
    Modelled {
        /// The largest error that it states, as a fraction; none when it states none.
        error: Option<f64>,
    },
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
    /// A comparison has few blocks: fewer than 6.
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
    /// Whatever follows one configuration is faster or slower for it.
    CarriedOver {
        /// Name of the comparison whose figures show it.
        comparison: String,
        /// Identity of the configuration that leaves it behind.
        configuration: String,
        /// Relative change, as a fraction; above 0 is better.
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
        /// How many of them do not vote because of it.
        silent: usize,
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

    /// Results of each kind of work, then of all together where there are several.
    pub fn results(&self) -> impl Iterator<Item = &KindResult> {
        self.kinds.iter().chain(&self.whole)
    }

    /// The cell of a configuration and a workload.
    #[must_use]
    pub fn cell(&self, configuration: &str, workload: &str) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.configuration == configuration && cell.workload == workload)
    }
}

impl Analysis {
    /// Whether any headline is valid. A run that was to compare configurations over at least
    /// [`PAIRS_MIN`] blocks, and of which none is, has no result.
    #[must_use]
    pub fn has_valid_headline(&self) -> bool {
        let mut headlines =
            self.comparisons.iter().flat_map(Comparison::results).map(|kind| &kind.headline);
        headlines.any(|headline| headline.take.is_some())
    }

    /// Whether no headline has a question left that more blocks might answer.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        let more_blocks_help = |claim: &Claim| {
            claim.settle.is_some_and(|settle| settle.blocks.is_some())
                || matches!(claim.invalid, Some(Invalid::TooFew { .. }))
        };
        self.comparisons.iter().flat_map(Comparison::results).all(|kind| {
            let asked = kind.scores.iter().filter(|score| {
                let id = &score.configuration;
                kind.headline.open.contains(id) || kind.headline.take.as_ref() == Some(id)
            });
            let claims = asked.flat_map(|score| match &score.versus_take {
                Some(claim) => [Some(claim), None],
                None => [score.versus_baseline.as_ref(), None],
            });
            !claims.flatten().any(more_blocks_help)
        })
    }

    /// Whether the plan asks for anything that a claim could answer.
    #[must_use]
    pub fn asks_for_headlines(&self) -> bool {
        self.blocks_planned as usize >= PAIRS_MIN
            && self.comparisons.iter().any(|comparison| comparison.configurations.len() > 1)
    }
}

impl KindResult {
    /// The score of a configuration.
    #[must_use]
    pub fn score(&self, configuration: &str) -> Option<&Score> {
        self.scores.iter().find(|score| score.configuration == configuration)
    }
}

/// Which direction of a metric is better, by its name: throughput and operations up, latency,
/// processor time and what the members move for each byte down, whatever part of a mixed workload
/// they are of. `None` for a metric that is none of these.
#[must_use]
pub fn better_of(metric: &str) -> Option<Better> {
    let part =
        ["read_", "write_", "durable_"].into_iter().find_map(|part| metric.strip_prefix(part));
    let metric = part.unwrap_or(metric);
    let begins = |starts: &[&str]| starts.iter().any(|start| metric.starts_with(start));
    if begins(&["throughput_", "io_"]) {
        Some(Better::Higher)
    } else {
        begins(&["latency_", "cpu_seconds_per_", "member_read_ratio", "member_write_ratio"])
            .then_some(Better::Lower)
    }
}

/// Analyses a run. Trials that the plan does not know are left out and counted in a warning.
#[must_use]
pub fn analyse(run: &Run) -> Analysis {
    let plan = &run.plan;
    let course = Course::new(plan, &run.steps);
    let (table, unknown, repeated) = Table::new(plan, &run.trials);
    let members = comparison_members(plan);
    let metrics = judged_metrics(plan, &table);
    let ballot = Ballot::new(plan, &course, run, table);
    let table = &ballot.all;
    let headlines = members.len() * course::kinds(plan).len();
    let comparisons: Vec<Comparison> = members
        .iter()
        .map(|members| comparison(plan, &ballot, members, &metrics, headlines, &run.host.one_disk))
        .collect();
    let finished = table.trials.values().map(BTreeMap::len).sum();
    // What was read from files of other tools is all there is.
    let planned = if run.is_imported() { finished } else { course.trials() };

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
        if blocks < BLOCKS_FEW {
            warnings.push(Warning::FewBlocks { comparison: comparison.name.clone(), blocks });
        }
        if let Some(drift) = comparison
            .drift
            .filter(|drift| drift.p < LEVEL && drift.change.abs() > DRIFT_CHANGE_MIN)
        {
            warnings.push(Warning::Drifted {
                comparison: comparison.name.clone(),
                change: drift.change,
            });
        }
        if let Some(first) = comparison.carried_over.first() {
            warnings.push(Warning::CarriedOver {
                comparison: comparison.name.clone(),
                configuration: first.configuration.clone(),
                change: first.change,
            });
        }
    }
    warnings.extend(trial_warnings(table, &metrics));
    Analysis {
        margin: plan.margin,
        confidence: 1.0 - LEVEL,
        blocks_planned: plan.blocks,
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
        comparisons,
        warnings,
        block_seconds: None,
        starts: Vec::new(),
    }
}

/// Which trials vote.
struct Ballot<'a> {
    course: Course<'a>,
    /// All trials.
    all: Table<'a>,
    /// Those that may vote.
    fresh: Table<'a>,
    /// Those of a race, which claim nothing.
    raced: Table<'a>,
    /// Blocks that vote; none where all do.
    voting: Option<std::ops::Range<u32>>,
    /// Number of blocks that vote, of a run that can go on: not of one that was imported.
    done: Option<u32>,
    /// Indices of the configurations that a race has named, their runners-up and their baselines;
    /// none without a race.
    confirmed: Option<BTreeSet<usize>>,
}

impl<'a> Ballot<'a> {
    fn new(plan: &Plan, course: &Course<'a>, run: &Run, all: Table<'a>) -> Self {
        let voting = course.voting(&run.trials);
        let done = voting.as_ref().map_or(plan.blocks, |blocks| blocks.end - blocks.start);
        let done = (!run.is_imported()).then_some(done);
        let confirmed: Option<BTreeSet<usize>> = course.is_race().then(|| {
            let picked: BTreeSet<&str> = course
                .named()
                .into_iter()
                .flat_map(|(_, picks)| picks)
                .flat_map(Pick::all)
                .collect();
            let all = plan.configurations.iter().enumerate();
            all.filter(|(_, one)| picked.contains(one.id.as_str()))
                .map(|(index, _)| index)
                .collect()
        });
        let first = course.first_fresh();
        let fresh = match &voting {
            None => all.clone(),
            Some(blocks) => all.of(|configuration, block| {
                blocks.contains(&block)
                    && confirmed.as_ref().is_none_or(|some| some.contains(&configuration))
            }),
        };
        let raced = all.of(|_, block| course.is_race() && (block < first || first == 0));
        Self { course: *course, all, fresh, raced, voting, done, confirmed }
    }

    /// Whether what is said of a configuration rests on a race alone.
    fn is_raced(&self, configuration: usize) -> bool {
        self.confirmed.as_ref().is_some_and(|some| {
            !some.contains(&configuration)
                || self.voting.as_ref().is_none_or(std::ops::Range::is_empty)
        })
    }

    /// The trials that the figures of a configuration are shown from.
    fn shown(&self, configuration: usize) -> &Table<'a> {
        if self.is_raced(configuration) { &self.raced } else { &self.fresh }
    }
}

/// The trials that the figures of a run are shown from: of what a race has named, and of its
/// runners-up, fresh ones.
pub(crate) fn shown_trials(run: &Run) -> Table<'_> {
    let course = Course::new(&run.plan, &run.steps);
    let (all, ..) = Table::new(&run.plan, &run.trials);
    let ballot = Ballot::new(&run.plan, &course, run, all);
    let Some(voting) = &ballot.voting else { return ballot.all };
    let first = course.first_fresh();
    ballot.all.of(|configuration, block| {
        if ballot.is_raced(configuration) {
            block < first || first == 0
        } else {
            voting.contains(&block)
        }
    })
}

/// Indices of the configurations that share a baseline, in the plan's order.
pub(crate) fn comparison_members(plan: &Plan) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, configuration) in plan.configurations.iter().enumerate() {
        match groups.iter_mut().find(|(baseline, _)| *baseline == configuration.baseline) {
            Some((_, members)) => members.push(index),
            None => groups.push((&configuration.baseline, vec![index])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

fn trial_warnings(table: &Table<'_>, metrics: &[String]) -> Vec<Warning> {
    // One entry a trial: the cell it belongs to, and whether the flag keeps it from voting.
    type Bearer = ((usize, usize), bool);
    let mut flags: BTreeMap<&str, Vec<Bearer>> = BTreeMap::new();
    let (mut no_ratio, mut outliers) = (0, 0);
    for (place, trials) in &table.trials {
        let metric = &metrics[place.1];
        let mut logarithms = Vec::new();
        for trial in trials.values() {
            let silent = table.silent(*place, trial).is_some();
            for text in &trial.flags {
                let silent =
                    silent && matches!(claim::doubt(text), Doubt::NotTheMedium | Doubt::NotSteady);
                flags.entry(text).or_default().push((*place, silent));
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
            let cells: BTreeSet<_> = places.iter().map(|(place, _)| place).collect();
            Warning::Flagged {
                text: text.to_string(),
                trials: places.len(),
                cells: cells.len(),
                silent: places.iter().filter(|(_, silent)| *silent).count(),
            }
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

fn comparison(
    plan: &Plan,
    ballot: &Ballot<'_>,
    members: &[usize],
    metrics: &[String],
    headlines: usize,
    one_disk: &[OneDisk],
) -> Comparison {
    let (course, table) = (&ballot.course, &ballot.all);
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
        for (workload, metric) in metrics.iter().enumerate() {
            cells.push(cell(plan, ballot.shown(*member), *member, workload, metric));
        }
    }
    if let Some(baseline) = baseline {
        make_claims(plan, ballot, members, baseline, metrics, &mut cells);
    }

    let of_kind = |group: Option<Group>| {
        let pick = course.pick(baseline_id, group);
        let index =
            |id: &str| members.iter().copied().find(|member| plan.configurations[*member].id == id);
        // Before a race is over nobody is held against anybody.
        let raced: Vec<usize> = match pick {
            Some(pick) => {
                pick.all().filter_map(index).collect::<BTreeSet<_>>().into_iter().collect()
            }
            None => baseline.into_iter().collect(),
        };
        let frame = kind::Frame {
            plan,
            table: &ballot.fresh,
            members: if course.is_race() { &raced } else { members },
            baseline,
            headlines,
            looks: course.looks(),
            done: ballot.done,
            named: pick.and_then(|pick| index(&pick.named)),
            metrics,
        };
        kind::result(&frame, group)
    };
    let mut kinds: Vec<KindResult> = course::kinds(plan).into_iter().map(of_kind).collect();
    let whole = kinds.pop_if(|kind| kind.group.is_none());
    let block_effects = block_effects(plan, table, members, metrics);
    let drift = statistics::trend(
        &block_effects.iter().map(|effect| effect.change.ln_1p()).collect::<Vec<_>>(),
    )
    .map(|trend| Drift {
        change: (trend.slope * (block_effects.len() - 1) as f64).exp_m1(),
        p: trend.p,
    });
    Comparison {
        name: comparison_name(plan, &configurations, baseline_id),
        modelled: members.iter().any(|member| is_modelled(plan, *member)),
        in_guest: configurations
            .iter()
            .any(|known| known.settings.get("place").is_some_and(|place| place == "guest")),
        one_disk: one_disk
            .iter()
            .find(|one| configurations.iter().any(|known| known.id == one.configuration))
            .map(|one| one.on.clone()),
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
                stage: ballot.confirmed.as_ref().map(|confirmed| {
                    match course.dropped(&configuration.id) {
                        _ if confirmed
                            .iter()
                            .any(|index| plan.configurations[*index].id == configuration.id) =>
                        {
                            Stage::Confirmed
                        }
                        Some(after_blocks) => Stage::Dropped { after_blocks },
                        None => Stage::Raced,
                    }
                }),
            })
            .collect(),
        shared,
        axes,
        cells,
        kinds,
        whole,
        block_effects,
        drift,
        pairing_gain: order::pairing_gain(plan, table, members, baseline, metrics),
        // Each trial on the virtual clock has disks of its own: nothing is left for it.
        carried_over: if configurations.iter().all(|known| known.clock == Clock::Virtual) {
            Vec::new()
        } else {
            order::carried_over(plan, table, members, metrics)
        },
    }
}

/// The axis values that all `configurations` share and not everybody has, in the plan's order.
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
    let values: Vec<String> = plan.axes.iter().filter_map(|axis| shared(&axis.name)).collect();
    if values.is_empty() { format!("baseline {baseline}") } else { values.join(", ") }
}

fn label(axes: &[String], configuration: &Configuration) -> String {
    let text = settings_text(axes, &configuration.settings);
    if text.is_empty() { configuration.stack.clone() } else { text }
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

/// Whether a configuration's figures are a model's: on the virtual clock, or paced in real time.
pub(crate) fn is_modelled(plan: &Plan, configuration: usize) -> bool {
    let configuration = &plan.configurations[configuration];
    configuration.clock == Clock::Virtual || configuration.stack.contains("model:")
}

impl Comparison {
    /// Whose figures these are, in a word or a few: `measured`, `modelled`.
    #[must_use]
    pub fn figures(&self) -> &'static str {
        match (self.in_guest, self.modelled) {
            (true, _) => "modelled, Linux in a guest",
            (false, true) => "modelled",
            (false, false) => "measured",
        }
    }
}

/// The error that the models of two configurations state. Those of both go the same way where both
/// are the same drives, so the larger one stands for the two; `None` when nothing is modelled, and
/// when a model states none.
fn model_error(plan: &Plan, configurations: [usize; 2]) -> Option<f64> {
    let errors: Vec<Option<f64>> = configurations
        .into_iter()
        .filter(|configuration| is_modelled(plan, *configuration))
        .map(|configuration| plan.configurations[configuration].model_error)
        .collect();
    errors.into_iter().try_fold(None, |largest: Option<f64>, error| {
        error.map(|error| Some(largest.map_or(error, |largest| largest.max(error))))
    })?
}

fn cell(
    plan: &Plan,
    table: &Table<'_>,
    configuration: usize,
    workload: usize,
    judged: &str,
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
    // By a goal that the workload does not have it is not judged, and shown by its own metric.
    let own = names.take(judged).or_else(|| names.take(named.metric.as_str()));
    let metrics = own
        .into_iter()
        .chain(names)
        .filter_map(|name| {
            let voices = table.voices(configuration, workload, name);
            // A figure of 0 has no logarithm and so no voice, but is a figure.
            let all: Vec<f64> = table
                .cell(configuration, workload)
                .filter_map(|(_, trial)| trial.metrics.get(name).copied())
                .filter(|figure| figure.is_finite())
                .collect();
            let silent = voices.values().filter(|voice| voice.silent.is_some()).count();
            let is_voting =
                |block: &u32| voices.get(block).is_none_or(|voice| voice.silent.is_none());
            let voting: Vec<f64> = table
                .cell(configuration, workload)
                .filter(|(block, _)| is_voting(block))
                .filter_map(|(_, trial)| trial.metrics.get(name).copied())
                .filter(|figure| figure.is_finite())
                .collect();
            let median = statistics::median(if voting.is_empty() { &all } else { &voting })?;
            Some(Metric {
                name: name.to_string(),
                trials: voting.len(),
                silent,
                median: median.median,
                interval: median.interval,
                versus_baseline: None,
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

/// Makes the claims of all cells against the baseline's, row by row. `cells` are those of
/// `members`, configuration by configuration.
fn make_claims(
    plan: &Plan,
    ballot: &Ballot<'_>,
    members: &[usize],
    baseline: usize,
    metrics: &[String],
    cells: &mut [Cell],
) {
    let workloads = plan.workloads.len();
    let looks = ballot.course.looks() as f64;
    let others = members.iter().filter(|member| **member != baseline && !ballot.is_raced(**member));
    let family = Family { over: Over::Row, comparisons: looks * others.count().max(1) as f64 };
    let mut quantiles = Quantiles::default();
    for (index, workload) in plan.workloads.iter().enumerate() {
        let names: BTreeSet<String> = (0..members.len())
            .flat_map(|place| &cells[place * workloads + index].metrics)
            .map(|metric| metric.name.clone())
            .collect();
        for name in names {
            let base = ballot.fresh.voices(baseline, index, &name);
            let raced_base = ballot.raced.voices(baseline, index, &name);
            let pairs: Vec<Pairs> = members
                .iter()
                .map(|member| {
                    let own = if *member == baseline {
                        Voices::new()
                    } else {
                        ballot.shown(*member).voices(*member, index, &name)
                    };
                    pair(&own, if ballot.is_raced(*member) { &raced_base } else { &base })
                })
                .collect();
            let samples: Vec<Option<Sample>> = pairs
                .iter()
                .zip(members)
                .map(|(pairs, member)| {
                    Sample::paired(&pairs.differences).filter(|_| {
                        pairs.differences.len() >= PAIRS_MIN && !ballot.is_raced(*member)
                    })
                })
                .collect();
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
                    model_error: model_error(plan, both).unwrap_or(0.0),
                };
                let mut claim = claim_of(
                    plan,
                    both,
                    &name,
                    pairs,
                    estimate,
                    family,
                    (&question, ballot.done),
                    &mut quantiles,
                );
                if ballot.is_raced(members[place]) {
                    let dropped = ballot.course.dropped(&plan.configurations[members[place]].id);
                    claim = claim.map(|claim| Claim {
                        invalid: Some(Invalid::Raced {
                            blocks: dropped.unwrap_or(claim.pairs as u32),
                            dropped: dropped.is_some(),
                        }),
                        settle: None,
                        ..claim
                    });
                }
                let known = &mut cells[place * workloads + index].metrics;
                if let Some(metric) = known.iter_mut().find(|metric| metric.name == name) {
                    metric.versus_baseline = claim;
                }
            }
        }
    }
}

/// The claim that pairs come to. `None` where no block has both sides. `done` is the number of
/// blocks of a run that can go on.
#[expect(clippy::too_many_arguments, reason = "a claim rests on all of it")]
fn claim_of(
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
        interval: decision.map(|decision| decision.interval),
        same_interval: decision.map(|decision| decision.same_interval),
        model_error: model_error(plan, both),
        answer,
        invalid: decision.is_none().then(|| Invalid::TooFew {
            voting,
            silent: pairs.silent.len(),
            reason: pairs.reason.clone(),
        }),
        settle: open.then(|| Settle {
            blocks: decision.and_then(|decision| decision.blocks),
            more: decision
                .and_then(|decision| decision.blocks)
                .zip(done)
                .and_then(|(blocks, done)| claim::more_blocks(blocks, done)),
            quieter_machine: is_busy,
            measuring: decision.is_some_and(|decision| decision.model_decides),
        }),
    })
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
            let sign = if better_in(workload, metric) == Better::Lower { -1.0 } else { 1.0 };
            let voices = table.voices(*member, index, metric);
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

mod kind;
mod order;

#[cfg(test)]
mod tests;

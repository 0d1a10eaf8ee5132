//! What an analysis comes to, as plain values.

use std::collections::BTreeMap;

use serde::Serialize;
use words::Text;

use super::verdict::{Cost, Loss, Tie, Verdict};
use super::{Autocorrelation, ByOrder, CarryOver, JointPart};
use crate::caches::CacheEffect;
use crate::claim::{Answer, Claim, Estimate, Invalid, PAIRS_MIN};
use crate::doubt::{Doubt, Silence};
use crate::safety::Safety;
use crate::statistics::Interval;
use crate::types::{Group, SharedDisk, Survival};

words::with_parts!(text_parts: Text, "text", "text_parts");
words::with_parts!(reason_parts: Text, "reason", "reason_parts");

/// Everything the reports say, as values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// What the plan asks; none where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Half-width of "same", as a fraction.
    pub margin: f64,
    /// A gain that would matter, as a fraction.
    pub matters: f64,
    /// Confidence of the intervals, as a fraction.
    pub confidence: f64,
    /// Blocks the plan asked for.
    pub blocks_planned: u32,
    /// Over how many machines the claims are drawn, where each has one say; none where blocks have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<usize>,
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
    /// What the comparisons say together, where they ask one question of the same configurations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joint: Vec<JointPart>,
    /// One for each baseline, in the plan's order; none where nothing has a speed.
    pub comparisons: Vec<Comparison>,
    /// What pull tests found of each configuration, in the plan's order; nothing without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub safety: Vec<Safety>,
    /// Which accesses are cached, in the plan's order; nothing where no row is there both past the
    /// page cache and through it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cached: Vec<CacheEffect>,
    /// What the reader should know before believing the figures.
    pub warnings: Vec<Warning>,
    /// How long one more block would take, roughly, in seconds: for a caller that knows the suites
    /// to fill in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_seconds: Option<f64>,
    /// How what is recommended is started: for a caller that knows where the run lies to fill in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<StartRecipe>,
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
pub struct StartRecipe {
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
    /// Disks that several of its sets of members lie on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_disks: Vec<SharedDisk>,
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
    /// How long the requests of the whole run took: one unit of time shows all of them.
    #[serde(skip)]
    pub latencies: LatencyRange,
    /// One for each kind of access that the plan has workloads of.
    pub kinds: Vec<KindResult>,
    /// All of them together; none where there is only one kind.
    pub whole: Option<KindResult>,
    /// How far each block lay from the run's median, as a fraction: the machine's own course.
    pub block_effects: Vec<BlockEffect>,
    /// Steady change over the blocks, when there are enough blocks to tell.
    pub drift: Option<Drift>,
    /// One step somewhere between the blocks, when there are enough of them to tell.
    pub step: Option<MachineStep>,
    /// How much of what one trial had of chance the next one has too; none on the virtual clock,
    /// where no trial knows of another.
    pub autocorrelation: Option<Autocorrelation>,
    /// How many times smaller variances are for comparing within blocks.
    pub pairing_gain: Option<f64>,
    /// What configurations leave behind for those that follow, the largest first.
    pub carried_over: Vec<CarryOver>,
    /// That the difference of two configurations is another by which of them came after the
    /// other; none where that is no more than chance, and of more than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_order: Option<ByOrder>,
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
    /// As [`Configuration::survives`](crate::Configuration::survives).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub survives: Option<Survival>,
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
    pub flags: Vec<DoubtCount>,
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
    /// What that claim was made from; none with too few trials.
    #[serde(skip)]
    pub estimate: Option<Estimate>,
}

/// A doubt about a cell, and how many of its trials have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DoubtCount {
    /// What is doubtful, without the figures of single trials.
    #[serde(flatten)]
    pub doubt: Doubt,
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
    /// What the headline takes.
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
    /// What it comes to.
    pub verdict: Verdict,
    /// Configuration to take; none when there is no valid answer.
    pub take: Option<String>,
    /// Those that it was taken from, where it is one of several.
    pub tie: Option<Tie>,
    /// It against the baseline; none for the baseline itself.
    pub claim: Option<Claim>,
    /// Whether it may be called sure: ahead of the baseline (the baseline itself: of all others) at
    /// the report's level, on a machine that was mostly quiet, beyond a model's stated error.
    pub sure: bool,
    /// Whether it is an answer in the model alone: fewer blocks than an interval rests on, of
    /// trials that come out the same whenever they are made.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_model: bool,
    /// Whether every other one that was compared is surely behind it.
    pub ahead_of_all: bool,
    /// Those that may be as good and surely differ by less than the margin from it.
    pub same: Vec<String>,
    /// Those that may be better, without an answer yet.
    pub open: Vec<String>,
    /// Where what is taken is surely behind the baseline, the worst first.
    pub losses: Vec<Loss>,
    /// What it costs; none where nothing is taken.
    pub cost: Option<Cost>,
    /// What it does not say, or not surely, and why.
    pub reservations: Vec<Reservation>,
}

/// A workload that a score leaves out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Name of the workload.
    pub workload: String,
    /// Why its trials do not vote.
    pub reason: Silence,
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
        reason: Option<Silence>,
    },
    /// Of a race: the whole design, of other trials, might not tell it from the baseline.
    WholeDesignOpen,
    /// A configuration does not meet what the plan asks for.
    RuledOut {
        /// Its identity.
        configuration: String,
        /// What it fails.
        #[serde(flatten, serialize_with = "reason_parts::serialize")]
        reason: Text,
    },
    /// What is taken meets a bound of the plan, and not surely.
    MayNotHold {
        /// The bound, in the plan's words.
        bound: String,
        /// The workload in which it is.
        workload: String,
        /// Name of the metric.
        metric: String,
        /// The figure, in the metric's unit.
        figure: f64,
        /// Up to where it may lie; none with too few trials that vote.
        high: Option<f64>,
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
        /// Of how many published cases that it was not fitted on.
        cases: u32,
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

/// A step of the machine between two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MachineStep {
    /// Number of the first block behind it.
    pub block: u32,
    /// Relative change, as a fraction; above 0 is better.
    pub change: f64,
    /// Two-sided p-value of "the order of the blocks means nothing" (permutation).
    pub p: f64,
}

/// What the reader should know before believing the figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// Something that happened to the run, as the lab wrote it.
    Note {
        /// What it was.
        #[serde(flatten, serialize_with = "text_parts::serialize")]
        text: Text,
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
    /// The machine changed at once between two blocks.
    Stepped {
        /// Name of the comparison.
        comparison: String,
        /// Number of the first block behind it, from 0.
        block: u32,
        /// Relative change, as a fraction; above 0 is better.
        change: f64,
    },
    /// What one trial measured, the next is likely to measure too.
    Autocorrelated {
        /// Name of the comparison.
        comparison: String,
        /// Autocorrelation of one trial and the next.
        lag_1: f64,
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
    /// The difference of two configurations is another by which of them came after the other.
    ByOrder {
        /// Name of the comparison.
        comparison: String,
        /// Identity of the configuration that is compared with the baseline.
        configuration: String,
        /// From which to which ratio to the baseline; above 1 is better.
        ratios: Interval,
    },
    /// Tests of a cell begin at another rate than they go on with.
    Unsettled {
        /// Identity of the configuration where it is most.
        configuration: String,
        /// Its workload.
        workload: String,
        /// Rate of the first tenth of the time beside the rest, as a fraction; above 0 is faster.
        change: f64,
        /// From when on the tests of this cell were steady, in seconds: the median of its trials.
        /// `None` where most never were.
        settled_after: Option<f64>,
        /// Number of cells where it is so.
        cells: usize,
    },
    /// Trials that are doubtful.
    Flagged {
        /// What is doubtful, without the figures of single trials.
        doubt: Doubt,
        /// Number of trials.
        trials: usize,
        /// Number of cells they belong to.
        cells: usize,
        /// How many of them do not vote because of it.
        silent: usize,
    },
    /// Trials in which nothing moved: losses, which vote.
    NothingMoved {
        /// Number of them.
        trials: usize,
    },
    /// Figures that are no positive number, which have no ratio, left out of the comparisons.
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

/// The largest of a run's latencies, in seconds; zero where nothing was timed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyRange {
    /// Largest median of the mean latency of a workload on a configuration.
    pub mean_max_seconds: f64,
    /// Largest median of its 99th percentile.
    pub p99_max_seconds: f64,
}

impl LatencyRange {
    /// Tells each comparison how long the requests of all of them took.
    pub(super) fn tell(comparisons: &mut [Comparison]) {
        let known = |known: Self, comparison: &Comparison| known.with(&comparison.cells);
        let range = comparisons.iter().fold(Self::default(), known);
        comparisons.iter_mut().for_each(|comparison| comparison.latencies = range);
    }

    /// That of some cells and of what is known already.
    fn with(self, cells: &[Cell]) -> Self {
        let largest = |name: &str, known: f64| {
            let own = cells.iter().flat_map(|cell| &cell.metrics);
            let own = own.filter(|metric| metric.name == name);
            own.map(|metric| metric.median).fold(known, f64::max)
        };
        Self {
            mean_max_seconds: largest("latency_mean_seconds", self.mean_max_seconds),
            p99_max_seconds: largest("latency_p99_seconds", self.p99_max_seconds),
        }
    }
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

    /// What it says of all work together, or of the only kind there is.
    #[must_use]
    pub fn overall(&self) -> Option<&KindResult> {
        self.whole.as_ref().or(self.kinds.last())
    }

    /// Whether something is to be taken.
    #[must_use]
    pub fn takes(&self) -> bool {
        self.overall().is_some_and(|kind| kind.headline.verdict == Verdict::Take)
    }

    /// The cell of a configuration and a workload.
    #[must_use]
    pub fn cell(&self, configuration: &str, workload: &str) -> Option<&Cell> {
        let is_asked =
            |cell: &&Cell| cell.configuration == configuration && cell.workload == workload;
        // Those of a configuration stand together, in the order of the configurations.
        let place = self.configurations.iter().position(|member| member.id == configuration)?;
        let count = self.cells.len() / self.configurations.len();
        let own = self.cells.get(place * count..(place + 1) * count).unwrap_or_default();
        own.iter().find(is_asked).or_else(|| self.cells.iter().find(is_asked))
    }
}

impl Analysis {
    /// Whether any headline is valid. A run that was to compare configurations over at least
    /// [`PAIRS_MIN`] blocks, and of which none is, has no result.
    #[must_use]
    pub fn has_valid_headline(&self) -> bool {
        let mut headlines =
            self.comparisons.iter().flat_map(Comparison::results).map(|kind| &kind.headline);
        headlines.any(|headline| headline.verdict.is_answer())
    }

    /// Comparisons whose baseline has no trial although others have what a claim needs: nothing
    /// that was measured there can be compared.
    pub fn without_baseline(&self) -> impl Iterator<Item = &Comparison> {
        let trials = |comparison: &Comparison, is_baseline: bool| {
            let cells = comparison.cells.iter();
            let own =
                cells.filter(|cell| (cell.configuration == comparison.baseline) == is_baseline);
            let metrics = own.filter_map(|cell| cell.metrics.first());
            metrics.map(|metric| metric.trials + metric.silent).max().unwrap_or(0)
        };
        self.comparisons
            .iter()
            .filter(move |one| trials(one, true) == 0 && trials(one, false) >= PAIRS_MIN)
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

impl Comparison {
    /// Whether what it comes to is an answer in the model alone.
    #[must_use]
    pub fn is_in_model(&self) -> bool {
        self.overall().is_some_and(|kind| kind.headline.in_model)
    }

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

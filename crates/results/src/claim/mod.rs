//! Every claim that a report or a comparison makes, as a value. Sentences, tables, charts, CSV,
//! JSON and exit codes print claims and decide nothing themselves.
//!
//! ```text
//! figures of one row ── Sample, Sample, …  one for each configuration: centre, variance of logarithms
//!                          │ estimates()   variances shrunk towards the row's common one
//!                       Estimate ── decide(Question) ── Decision: interval, answer, what would settle it
//!                                                            └── Claim: who against whom, on which trials
//! ```
//!
//! Two questions are asked of one estimate:
//!
//! * **Do they differ?** A t interval at the level that the claim's [`Family`] leaves to each of
//!   its comparisons (Bonferroni): all words of difference of a family are right together with 95
//!   %.
//! * **Are they the same?** Two one-sided tests at 5 %, which is an interval of 90 % inside the
//!   margin (Schuirmann 1987). Each such word stands for itself, but for those of headlines, which
//!   share the headline's level.
//!
//! A pair that is both is called the same. The variances of a row are alike, so each is moved
//! towards their median before it is used (Smyth 2004: the moderated t), which gives a row of many
//! configurations the power that few blocks alone do not have.

use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

use crate::doubt::Silence;
use crate::looks::look_after;
use crate::statistics::{self, Interval};
use crate::types::BetterDirection;

/// How often a family of claims may hold a false word, as a fraction.
pub const LEVEL: f64 = 0.05;

/// Fewest blocks that a claim may rest on.
pub const PAIRS_MIN: usize = 3;

/// Degrees of freedom that a row of many configurations gives each of its variances (Smyth's `d0`,
/// fixed instead of fitted).
const PRIOR_FREEDOM_MAX: f64 = 4.0;

/// A variance that the row allows less often than this is not moved towards it. That takes power
/// from one in ten of all alike, and gives what is ten times as noisy its own interval nearly
/// always.
const OWN_VARIANCE_LEVEL: f64 = 0.1;

/// How often the whole design may leave open what a race calls sure, for chance alone.
const NOT_FOUND_AGAIN: f64 = 0.01;

/// So many standard errors must fit into the margin for most open questions to be settled: the
/// point of the t distribution, and room for the estimate and for the deviation's own error.
const SETTLING_ERRORS: f64 = 3.5;

/// By how many blocks a run that has `done` goes on to the look that settles most questions like
/// one for which a new run would need `blocks`. Its looks share the level, for which the way from
/// `blocks` to the next look makes up.
pub(crate) fn more_blocks(blocks: u32, done: u32) -> Option<u32> {
    let look = look_after(blocks.saturating_sub(1).max(done))?;
    Some(look - done)
}

/// How many times smaller the noise would have to be for `voting` blocks to do what `blocks` would.
pub(crate) fn noise_factor(blocks: u32, voting: usize) -> f64 {
    (f64::from(blocks) / voting.max(1) as f64).sqrt()
}

/// What a claim comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Answer {
    /// The subject is better.
    #[serde(rename = "ahead")]
    Ahead,
    /// The subject is worse.
    #[serde(rename = "behind")]
    Behind,
    /// They differ by less than the margin.
    #[serde(rename = "same")]
    Same,
    /// Nothing can be said yet.
    #[serde(rename = "no answer")]
    Open,
}

impl Answer {
    /// The word, as in JSON and CSV.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Behind => "behind",
            Self::Same => "same",
            Self::Open => "no answer",
        }
    }

    /// The same said of the other side.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Ahead => Self::Behind,
            Self::Behind => Self::Ahead,
            other => other,
        }
    }
}

/// What holds together at 5 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorScope {
    /// All configurations against one baseline, in one workload and metric.
    Row,
    /// All headlines of a report.
    Report,
    /// All cells of two runs that are compared, in one metric.
    Comparison,
    /// All cells that a limit is about, over all limits.
    Limits,
}

/// The claims among which one false word is allowed for with 5 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Family {
    /// What holds together.
    pub over: ErrorScope,
    /// How many times smaller than [`LEVEL`] the level of each comparison is.
    pub comparisons: f64,
}

impl Family {
    /// Error level of each of its comparisons, two-sided.
    #[must_use]
    pub fn level(&self) -> f64 {
        LEVEL / self.comparisons.max(1.0)
    }
}

/// What would settle an open question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Settle {
    /// Blocks of a new run that would settle most questions like it; none when no number would.
    pub blocks: Option<u32>,
    /// Blocks by which this run is to go on for that, to a look; none where none of them would do,
    /// and for a run that cannot go on.
    pub more: Option<u32>,
    /// How many times smaller the noise would have to be for the blocks that voted to settle most
    /// questions like it; none where no noise would be small enough.
    pub noise_factor: Option<f64>,
    /// Measuring on a machine that does nothing else.
    pub quieter_machine: bool,
    /// Measuring instead of modelling: the difference is smaller than the model's own error.
    pub measuring: bool,
}

/// Why there is no answer although one was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Invalid {
    /// Fewer than [`PAIRS_MIN`] blocks in which both sides vote.
    TooFew {
        /// Blocks that vote.
        voting: usize,
        /// Blocks in which a trial of either side does not vote.
        silent: usize,
        /// The commonest reason of these.
        reason: Option<Silence>,
    },
    /// Its trials were a race's, and a race claims nothing.
    Raced {
        /// Blocks in which it raced.
        blocks: u32,
        /// Whether it was dropped then; else another one was named.
        dropped: bool,
    },
}

/// One answer of the lab, with all that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Identity of the configuration that it is about.
    pub subject: String,
    /// Identity of the one that it is compared with.
    pub against: String,
    /// Name of the metric; `score` for a weighted mean over workloads.
    pub metric: String,
    /// Which direction is better; none when that is not known, and then there is no answer.
    pub better: Option<BetterDirection>,
    /// Blocks in which both sides vote.
    pub pairs: usize,
    /// Blocks in which both were measured and one of them does not vote.
    pub silent: usize,
    /// Voting blocks of which a trial was measured while the machine was busy.
    pub busy: usize,
    /// What it holds together with.
    pub family: Family,
    /// Subject / against.
    pub ratio: f64,
    /// Interval of the ratio at the family's level, a model's error included; none without an
    /// estimate.
    pub interval: Option<Interval>,
    /// Interval of the ratio that `same` rests on.
    pub same_interval: Option<Interval>,
    /// Error that the model states, as a fraction, for figures of modelled disks.
    pub model_error: Option<f64>,
    /// Of two configurations: the smallest and the largest ratio by which of them came straight
    /// after the other, where that may matter. The intervals reach over both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_order: Option<Interval>,
    /// What it comes to.
    pub answer: Answer,
    /// Why nothing can be said; none when the trials suffice.
    pub invalid: Option<Invalid>,
    /// What would settle it; none when it is settled, and where nothing was asked.
    pub settle: Option<Settle>,
}

impl Claim {
    /// The ratio with "more is better": turned over for a metric of which less is better.
    #[must_use]
    pub fn gain(&self) -> f64 {
        if self.better == Some(BetterDirection::Lower) { 1.0 / self.ratio } else { self.ratio }
    }

    /// The interval that the answer rests on: for `same` that of its own test, else that of the
    /// family.
    #[must_use]
    pub fn shown_interval(&self) -> Option<Interval> {
        if self.answer == Answer::Same { self.same_interval } else { self.interval }
    }

    /// [`Claim::shown_interval`] of [`Claim::gain`].
    #[must_use]
    pub fn gain_interval(&self) -> Option<Interval> {
        let shown = self.shown_interval()?;
        Some(if self.better == Some(BetterDirection::Lower) { shown.reciprocal() } else { shown })
    }

    /// Whether most of its trials were measured while the machine was busy.
    #[must_use]
    pub fn mostly_busy(&self) -> bool {
        2 * self.busy > self.pairs
    }
}

/// Figures of one comparison, as logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Mean difference.
    pub centre: f64,
    /// Variance of one figure or one difference.
    pub variance: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
    /// What the variance is multiplied with to get that of the centre.
    pub scale: f64,
}

impl Sample {
    /// Of paired differences. `None` below 2.
    #[must_use]
    pub fn paired(differences: &[f64]) -> Option<Self> {
        let count = differences.len() as f64;
        (differences.len() >= 2).then(|| {
            let centre = statistics::mean(differences);
            let variance = statistics::deviation_from(centre, differences).powi(2);
            Self { centre, variance, freedom: count - 1.0, scale: 1.0 / count }
        })
    }

    /// Of differences that chance has no part in: the same trials would come out the same. `None`
    /// where there are none.
    #[must_use]
    pub fn repeatable(differences: &[f64]) -> Option<Self> {
        (!differences.is_empty()).then(|| Self {
            centre: statistics::mean(differences),
            variance: 0.0,
            freedom: 1.0,
            scale: 1.0 / differences.len() as f64,
        })
    }

    /// Of two sets that nothing pairs, second minus first, with one variance for both. `None` below
    /// 2 on either side.
    #[must_use]
    pub fn unpaired(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.len() < 2 || second.len() < 2 {
            return None;
        }
        let squares =
            |side: &[f64]| statistics::standard_deviation(side).powi(2) * (side.len() - 1) as f64;
        let (before, after) = (first.len() as f64, second.len() as f64);
        let freedom = before + after - 2.0;
        Some(Self {
            centre: statistics::mean(second) - statistics::mean(first),
            variance: (squares(first) + squares(second)) / freedom,
            freedom,
            scale: 1.0 / before + 1.0 / after,
        })
    }
}

/// A sample after its variance was moved towards its row's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean difference of logarithms.
    pub centre: f64,
    /// Variance of one difference.
    pub variance: f64,
    /// Standard error of the centre.
    pub error: f64,
    /// Degrees of freedom of that.
    pub freedom: f64,
}

/// Degrees of freedom that a row of `count` samples adds to each. A lone sample has nothing to lean
/// on; two or three say little of each other, and less than their number, since they share a
/// baseline.
fn prior_freedom(count: usize) -> f64 {
    match count {
        0..=2 => 0.0,
        3 => 1.0,
        4 => 2.0,
        5..=6 => 3.0,
        _ => PRIOR_FREEDOM_MAX,
    }
}

/// The row's common variance: the median of its samples' own, each over the median that chance
/// alone gives it.
fn pooled<'a>(samples: impl Iterator<Item = &'a Sample>) -> f64 {
    let mut known: Vec<(f64, f64)> = Vec::new();
    let own: Vec<f64> = samples
        .map(|sample| {
            let median = match known.iter().find(|(freedom, _)| *freedom == sample.freedom) {
                Some((_, median)) => *median,
                None => {
                    let median = ChiSquared::new(sample.freedom)
                        .map_or(1.0, |distribution| distribution.inverse_cdf(0.5) / sample.freedom);
                    known.push((sample.freedom, median));
                    median
                }
            };
            sample.variance / median
        })
        .collect();
    statistics::median(&own).map_or(0.0, |median| median.median)
}

/// What the samples of a row say together of their variance, which each of them leans on.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    /// The common variance.
    variance: f64,
    /// Degrees of freedom that it adds to each sample.
    prior: f64,
    /// Degrees of freedom of samples -> from which variance on they are known to stay with their
    /// own, and up to which they are known not to: the test rises with the variance, so that most
    /// samples need none of their own.
    own_from: Vec<(f64, [f64; 2])>,
}

impl Pool {
    /// Of a row of comparisons.
    pub(crate) fn of<'a>(samples: impl Iterator<Item = &'a Sample> + Clone) -> Self {
        let prior = prior_freedom(samples.clone().count());
        Self::with(samples, prior)
    }

    /// The same with so many degrees of freedom from the row.
    fn with<'a>(samples: impl Iterator<Item = &'a Sample>, prior: f64) -> Self {
        let variance = if prior > 0.0 { pooled(samples) } else { 0.0 };
        Self { variance, prior, own_from: Vec::new() }
    }

    /// Whether a sample is noisier than its row by more than the prior of the row says that
    /// variances differ: by the F test of its own variance against the row's (Phipson et al. 2016,
    /// robust moderation).
    fn is_of_its_own(&mut self, sample: &Sample) -> bool {
        if self.prior <= 0.0 || self.variance <= 0.0 {
            return false;
        }
        let known = self.own_from.iter_mut().find(|(freedom, _)| *freedom == sample.freedom);
        let found = known.as_ref().map_or([f64::INFINITY, f64::NEG_INFINITY], |(_, found)| *found);
        let [own, common] = found;
        if sample.variance >= own || sample.variance <= common {
            return sample.variance >= own;
        }
        let ratio = sample.variance / self.variance;
        let is_own = FisherSnedecor::new(sample.freedom, self.prior)
            .is_ok_and(|allowed| allowed.sf(ratio) < OWN_VARIANCE_LEVEL);
        let found = if is_own { [sample.variance, common] } else { [own, sample.variance] };
        match known {
            Some((_, known)) => *known = found,
            None => self.own_from.push((sample.freedom, found)),
        }
        is_own
    }

    /// A sample after its variance was moved towards the row's. One whose own variance the row's
    /// does not allow stays with its own.
    pub(crate) fn estimate(&mut self, sample: &Sample) -> Estimate {
        let prior = if self.is_of_its_own(sample) { 0.0 } else { self.prior };
        let freedom = sample.freedom + prior;
        let variance = (prior * self.variance + sample.freedom * sample.variance) / freedom;
        Estimate {
            centre: sample.centre,
            variance,
            error: (variance * sample.scale).sqrt(),
            freedom,
        }
    }
}

/// Estimates of a row: of all comparisons with one baseline, in one workload and metric. Their
/// variances lean on each other.
#[must_use]
pub fn estimates(row: &[Option<Sample>]) -> Vec<Option<Estimate>> {
    leaning(row, prior_freedom(row.iter().flatten().count()))
}

/// The same with so many degrees of freedom from the row.
pub(crate) fn leaning(row: &[Option<Sample>], prior: f64) -> Vec<Option<Estimate>> {
    let mut pool = Pool::with(row.iter().flatten(), prior);
    row.iter().map(|sample| sample.as_ref().map(|sample| pool.estimate(sample))).collect()
}

/// What is asked of an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Which direction is better; none asks nothing.
    pub better: Option<BetterDirection>,
    /// Half-width of "same", as a fraction.
    pub margin: f64,
    /// Level of "they differ", two-sided.
    pub level: f64,
    /// Level of each of the two tests of "they are the same".
    pub same_level: f64,
    /// Error that a model states of its figures, as a fraction; 0 for measured ones.
    pub model_error: f64,
    /// How much lower and higher the difference of logarithms may be for the order of visits; none
    /// where that does not matter.
    pub by_order: Option<Interval>,
    /// What other orders of the same visits would have shown; none where that is not known.
    pub by_draw: Option<DrawnOrders>,
}

/// Orders that could have been drawn for the visits of two configurations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawnOrders {
    /// Share of them by which the two would differ as much or more, if only the time of a visit
    /// mattered (randomization test, Fisher 1935).
    pub as_far: f64,
    /// The smallest share that so many blocks can show.
    pub least: f64,
}

impl DrawnOrders {
    /// Whether the order may well be all that made the difference, at this level. Of few blocks no
    /// order is rare enough for a small level; what none can beat stands.
    fn may_explain(self, level: f64) -> bool {
        self.as_far > level.max(self.least)
    }
}

/// What an estimate says to a question: intervals of the ratio, and the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Interval of "they differ".
    pub interval: Interval,
    /// Interval of "they are the same".
    pub same_interval: Interval,
    /// The answer.
    pub answer: Answer,
    /// Blocks of a new run that would settle it; none when it is settled or never will be.
    pub blocks: Option<u32>,
    /// Whether chance alone would have let it be settled: only the model's error is in the way.
    pub model_decides: bool,
}

/// Quantiles of t that were asked for already: a row asks for the same ones over and over.
#[derive(Debug, Default)]
pub struct Quantiles(Vec<((u64, u64), f64)>);

impl Quantiles {
    /// The point that Student's t with `freedom` exceeds with probability `tail`.
    pub(crate) fn above(&mut self, freedom: f64, tail: f64) -> f64 {
        let key = (freedom.to_bits(), tail.to_bits());
        if let Some((_, known)) = self.0.iter().find(|(asked, _)| *asked == key) {
            return *known;
        }
        // The lower tail, turned over: 1 - tail would round a small tail away.
        let point = StudentsT::new(0.0, 1.0, freedom)
            .map_or(f64::INFINITY, |distribution| -distribution.inverse_cdf(tail));
        self.0.push((key, point));
        point
    }
}

/// Interval of the ratio that an estimate leaves out on either side with probability `tail`; a
/// model's error, as a fraction, adds to it in quadrature.
pub fn interval(
    estimate: &Estimate,
    tail: f64,
    model_error: f64,
    quantiles: &mut Quantiles,
) -> Interval {
    let chance = quantiles.above(estimate.freedom, tail) * estimate.error;
    let reach = chance.hypot(model_error.ln_1p());
    Interval { low: (estimate.centre - reach).exp(), high: (estimate.centre + reach).exp() }
}

/// A design with trials of its own that asks the same once more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepeatDesign {
    /// Its blocks.
    pub(crate) blocks: u32,
    /// How many comparisons of its rows lean on each other.
    pub(crate) row: usize,
    /// Its level of "they differ", two-sided.
    pub(crate) level: f64,
    /// Error that a model states of the figures, as a fraction; 0 for measured ones.
    pub(crate) model_error: f64,
}

/// Whether another design would call the same two different in all but [`NOT_FOUND_AGAIN`] of
/// cases: whether its interval would exclude 1, wherever its own estimate may lie and however large
/// its own deviation may come out.
///
/// In deviations of one difference, its estimate less half its interval lies around this one's
/// estimate less `reach`, with a deviation `apart`; since the deviation is itself an estimate, the
/// point of that is one of the noncentral t (as Johnson and Welch 1940 approach it).
pub(crate) fn is_found_again(
    estimate: &Estimate,
    again: &RepeatDesign,
    quantiles: &mut Quantiles,
) -> bool {
    let blocks = f64::from(again.blocks.max(1));
    let freedom = (blocks - 1.0 + prior_freedom(again.row)).max(1.0);
    let reach = quantiles.above(freedom, again.level / 2.0) / blocks.sqrt();
    let deviation = estimate.variance.sqrt();
    let scale = (estimate.error / deviation.max(f64::MIN_POSITIVE)).powi(2);
    let apart = (scale + blocks.recip() + reach.powi(2) / (2.0 * freedom)).sqrt();
    let (shift, point) = (reach / apart, normal_above(NOT_FOUND_AGAIN));
    let own = 2.0 * estimate.freedom;
    let spread = (1.0 + (shift.powi(2) - point.powi(2)) / own).max(0.0).sqrt();
    let room = 1.0 - point.powi(2) / own;
    let needed = deviation * apart * (shift + point * spread) / room;
    // Of too few blocks no deviation is known well enough.
    room > 0.0 && estimate.centre.abs() > needed.hypot(again.model_error.ln_1p())
}

/// Answers a question. `None` of a direction gives intervals and no answer.
#[must_use]
pub fn decide(estimate: &Estimate, question: &Question, quantiles: &mut Quantiles) -> Decision {
    let shift = question.by_order.unwrap_or(Interval { low: 0.0, high: 0.0 }).exp();
    let mut both = |model_error: f64| {
        [question.level / 2.0, question.same_level].map(|tail| {
            let chance = interval(estimate, tail, model_error, quantiles);
            Interval { low: chance.low * shift.low, high: chance.high * shift.high }
        })
    };
    let [mut differ, same] = both(question.model_error);
    if question.by_draw.is_some_and(|draw| draw.may_explain(question.level)) {
        differ = Interval { low: differ.low.min(1.0), high: differ.high.max(1.0) };
    }
    let [differ_by_chance, same_by_chance] = both(0.0);
    // As far either way in logarithms, so that a ratio and its reciprocal get the same word.
    let high = 1.0 + question.margin;
    let low = high.recip();
    let answer_of = |differ: Interval, same: Interval| match question.better {
        None => Answer::Open,
        Some(_) if low <= same.low && same.high <= high => Answer::Same,
        Some(better) if differ.low > 1.0 || differ.high < 1.0 => {
            if (differ.low > 1.0) == (better == BetterDirection::Higher) {
                Answer::Ahead
            } else {
                Answer::Behind
            }
        }
        Some(_) => Answer::Open,
    };
    let answer = answer_of(differ, same);
    let open = answer == Answer::Open && question.better.is_some();
    let model_decides = open
        && question.model_error > 0.0
        && answer_of(differ_by_chance, same_by_chance) != Answer::Open;
    let needed = (SETTLING_ERRORS / question.margin).powi(2) * estimate.variance;
    Decision {
        interval: differ,
        same_interval: same,
        answer,
        // `as` saturates: no number of blocks makes a margin of 0.
        blocks: (open && !model_decides && question.margin > 0.0)
            .then(|| needed.ceil().max(PAIRS_MIN as f64) as u32),
        model_decides,
    }
}

/// The point that a normal deviate exceeds with probability `tail`.
pub(crate) fn normal_above(tail: f64) -> f64 {
    -Normal::standard().inverse_cdf(tail)
}

/// The probability that chi squared with `freedom` exceeds `value`.
pub(crate) fn chi_squared_tail(value: f64, freedom: f64) -> f64 {
    ChiSquared::new(freedom).map_or(1.0, |distribution| distribution.sf(value))
}

/// The probability that Student's t with `freedom` exceeds `value`.
pub(crate) fn tail_of(value: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |distribution| distribution.cdf(-value))
}

#[cfg(test)]
mod tests;

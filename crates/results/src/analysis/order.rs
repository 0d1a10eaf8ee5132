//! What the order of visits did: what one configuration leaves behind for the next, and what
//! comparing within blocks is worth.
//!
//! ```text
//! visit = all workloads of one configuration in one block; one of them where they
//!         are interleaved
//!
//!   block 1:  A  C  B        y[c,b]  mean of a visit's logarithms, each less its cell's mean
//!   block 2:  C  B  A        z[c,b]  1 where the visit came after p
//!             └──┘           both less what configuration and block explain; their slope is what p
//!             after C        leaves behind (a t test for each p, Bonferroni over all of them)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::claim::{DrawnOrders, LEVEL, PAIRS_MIN, tail_of};
use crate::statistics::{self, Interval};
use crate::types::{BetterDirection, Plan, Workload};
use crate::voices::{Pairs, Table, better_in, pair};

/// What follows a configuration differs by this much, as a fraction: less is not worth a warning.
const CHANGE_MIN: f64 = 0.01;

/// Among many trials a little autocorrelation is more than chance, and changes nothing.
const AUTOCORRELATION_MIN: f64 = 0.25;

/// That whatever follows one configuration is faster or slower for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CarryOver {
    /// The configuration that leaves it behind.
    pub configuration: String,
    /// Relative change of what follows it, as a fraction; above 0 is better.
    pub change: f64,
    /// Two-sided p-value of "nothing is left behind", before it is held against the number of
    /// configurations.
    pub p: f64,
}

/// How much of what one trial had of chance the next one has too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Autocorrelation {
    /// From -1 to 1.
    pub lag_1: f64,
    /// Number of trials that it is of.
    pub trials: usize,
}

impl Autocorrelation {
    /// Whether it is more than chance, and more than a little.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        let chance = 2.0 / (self.trials as f64).sqrt();
        self.lag_1.abs() > chance.max(AUTOCORRELATION_MIN)
    }
}

/// Block -> logarithm of what a trial has to say, better when it is larger.
type Logarithms = BTreeMap<u32, f64>;

/// Those of every configuration of a comparison, by workload.
pub(super) fn logarithms(
    plan: &Plan,
    table: &Table<'_>,
    members: &[usize],
    metrics: &[String],
) -> Vec<Vec<Logarithms>> {
    let of_cell = |member: usize, index: usize| {
        let better = better_in(&plan.workloads[index], &metrics[index]);
        let sign = if better == BetterDirection::Lower { -1.0 } else { 1.0 };
        let voices = table.moving_voices(member, index, &metrics[index]);
        voices.into_iter().map(|(block, voice)| (block, sign * voice.logarithm)).collect()
    };
    let of_member =
        |member: &usize| (0..plan.workloads.len()).map(|index| of_cell(*member, index)).collect();
    members.iter().map(of_member).collect()
}

/// Figures that are compared with each other, and what each came after.
struct Unit {
    /// By member of the comparison: block -> logarithm, less the cell's mean.
    values: Vec<BTreeMap<u32, f64>>,
    before: Predecessors,
}

/// What a run's configurations came after. Visits follow visits, and one of them is one unit, the
/// mean over its workloads. Where workloads are interleaved, trials follow trials, and each
/// workload is a unit.
fn units(
    plan: &Plan,
    table: &Table<'_>,
    members: &[usize],
    voices: &[Vec<Logarithms>],
) -> Vec<Unit> {
    let interleaved = plan.schedule.interleaved;
    let centred = |own: &Logarithms| -> Logarithms {
        let all: Vec<f64> = own.values().copied().collect();
        let mean = statistics::mean(&all);
        own.iter().map(|(block, value)| (*block, value - mean)).collect()
    };
    let unit = |(index, before)| {
        let values = (0..members.len()).map(|member| {
            if interleaved {
                return centred(&voices[member][index]);
            }
            let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
            for (block, value) in voices[member].iter().flat_map(centred) {
                let (sum, count) = sums.entry(block).or_default();
                *sum += value;
                *count += 1.0;
            }
            sums.into_iter().map(|(block, (sum, count))| (block, sum / count)).collect()
        });
        Unit { values: values.collect(), before }
    };
    predecessors(plan, table).into_iter().enumerate().map(unit).collect()
}

/// Configuration and block -> the configuration before; none at the beginning of the run.
type Predecessors = BTreeMap<(usize, u32), Option<usize>>;

/// Of each unit: of each workload where they are interleaved, else of all.
fn predecessors(plan: &Plan, table: &Table<'_>) -> Vec<Predecessors> {
    // Block -> place in the block's order -> configuration and workload, over all configurations of
    // the plan: the configuration before may belong to another comparison.
    let mut order: BTreeMap<(u32, u32), (usize, usize)> = BTreeMap::new();
    for ((configuration, workload), trials) in &table.trials {
        for (block, trial) in trials {
            order.insert((*block, trial.order), (*configuration, *workload));
        }
    }
    let interleaved = plan.schedule.interleaved;
    let count = if interleaved { plan.workloads.len() } else { 1 };
    let mut before: Vec<Predecessors> = vec![BTreeMap::new(); count];
    let mut last = None;
    for ((block, _), (configuration, workload)) in order {
        let unit = if interleaved { workload } else { 0 };
        // The workloads of one visit follow each other: the first of them says what came before.
        before[unit].entry((configuration, block)).or_insert(last);
        last = Some(configuration);
    }
    before
}

/// What is surely left behind, the largest first.
pub(super) fn carried_over(
    plan: &Plan,
    table: &Table<'_>,
    members: &[usize],
    voices: &[Vec<Logarithms>],
) -> Vec<CarryOver> {
    let units = units(plan, table, members, voices);
    // Of each unit, blocks that all members have: what neither member nor block explains.
    let mut known = Vec::new();
    let mut freedom = 0.0;
    for unit in &units {
        let mut blocks: Vec<u32> = unit.before.keys().map(|(_, block)| *block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.retain(|block| unit.values.iter().all(|values| values.contains_key(block)));
        let (rows, columns) = (members.len(), blocks.len());
        if rows < 2 || columns < PAIRS_MIN {
            continue;
        }
        let values =
            unit.values.iter().map(|values| blocks.iter().map(|block| values[block]).collect());
        freedom += (rows * columns) as f64 - (rows + columns) as f64 + 1.0;
        let rest = without_means(&values.collect::<Vec<Vec<f64>>>());
        known.push((unit, blocks, rest));
    }
    // The slope takes one.
    freedom -= 1.0;
    let candidates: BTreeSet<usize> =
        units.iter().flat_map(|unit| unit.before.values()).flatten().copied().collect();
    let followers: Vec<Followers> =
        known.iter().map(|(unit, blocks, _)| followers(unit, blocks, members)).collect();
    let all: f64 =
        known.iter().flat_map(|(.., y)| y.iter().flatten()).map(|value| value * value).sum();
    let mut found: Vec<CarryOver> = candidates
        .iter()
        .filter_map(|candidate| {
            let (mut spread, mut both) = (0.0, 0.0);
            for ((_, blocks, y), followers) in known.iter().zip(&followers) {
                let Some(after) = followers.get(candidate) else { continue };
                spread += squares_without_means(after, members.len(), blocks.len());
                // The means of z are orthogonal to y, which has none.
                both += after.iter().map(|(row, column)| y[*row][*column]).sum::<f64>();
            }
            // Where the order never varied, nothing can be told from the configurations themselves.
            if spread < 0.25 || freedom < 1.0 {
                return None;
            }
            let slope = both / spread;
            let rest = (all - slope * slope * spread).max(0.0) / freedom;
            let error = (rest / spread).sqrt();
            let p = if error > 0.0 { tail_of(slope.abs() / error, freedom) * 2.0 } else { 1.0 };
            Some(CarryOver {
                configuration: plan.configurations[*candidate].id.clone(),
                change: slope.exp_m1(),
                p,
            })
        })
        .filter(|one| one.p < LEVEL / candidates.len() as f64 && one.change.abs() > CHANGE_MIN)
        .collect();
    found.sort_by(|left, right| right.change.abs().total_cmp(&left.change.abs()));
    found
}

/// Configuration -> what came after it: places of a member and of a block.
type Followers = BTreeMap<usize, Vec<(usize, usize)>>;

fn followers(unit: &Unit, blocks: &[u32], members: &[usize]) -> Followers {
    let mut followers = Followers::new();
    for (row, member) in members.iter().enumerate() {
        for (column, block) in blocks.iter().enumerate() {
            if let Some(Some(before)) = unit.before.get(&(*member, *block)) {
                followers.entry(*before).or_default().push((row, column));
            }
        }
    }
    followers
}

/// The sum of squares of a table that has 1 at these places and 0 elsewhere, once its rows and its
/// columns are without their means.
fn squares_without_means(ones: &[(usize, usize)], rows: usize, columns: usize) -> f64 {
    let (mut of_row, mut of_column) = (BTreeMap::new(), BTreeMap::new());
    for (row, column) in ones {
        *of_row.entry(*row).or_insert(0.0) += 1.0;
        *of_column.entry(*column).or_insert(0.0) += 1.0;
    }
    let squares = |counts: &BTreeMap<usize, f64>| counts.values().map(|one| one * one).sum::<f64>();
    let (count, rows, columns) = (ones.len() as f64, rows as f64, columns as f64);
    count - squares(&of_row) / columns - squares(&of_column) / rows + count * count / rows / columns
}

/// That the difference of two configurations is another by which of them came after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByOrder {
    /// The configuration that is compared with the baseline.
    pub configuration: String,
    /// From which to which ratio to the baseline; above 1 is better.
    pub ratios: Interval,
    /// Two-sided p-value of "the order does not matter", held against the number of kinds of
    /// blocks that it was asked of.
    pub p: f64,
}

/// Which of two configurations came straight after the other in a block. One of them always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Succession {
    /// The compared one after the baseline, and the baseline after it, in the block before.
    Both,
    /// Only the compared one.
    Own,
    /// Only the other one.
    Other,
}

/// What came after what in a run of two configurations.
///
/// ```text
///   AB BA BA AB      a difference that one of them leaves behind for the other alone is there in
///    └B  └─ none     some kinds of blocks and not in others: each kind is held against the rest
/// ```
///
/// Where any kind differs from the rest with p < 15 %, the interval of the difference reaches over
/// all kinds: so seldom is it missed, and a difference that is there in all of them stays one.
pub(super) struct VisitOrder {
    units: Vec<Predecessors>,
    is_interleaved: bool,
}

impl VisitOrder {
    /// None for a plan of more or fewer than two.
    pub(super) fn of(plan: &Plan, table: &Table<'_>) -> Option<Self> {
        (plan.configurations.len() == 2).then(|| Self {
            units: predecessors(plan, table),
            is_interleaved: plan.schedule.interleaved,
        })
    }

    fn after(&self, workload: usize, block: u32, both: [usize; 2]) -> Option<Succession> {
        let before = &self.units[if self.is_interleaved { workload } else { 0 }];
        let [own, other] = both;
        let follows = |one: usize, two: usize| Some(*before.get(&(one, block))? == Some(two));
        Some(match (follows(own, other)?, follows(other, own)?) {
            (true, true) => Succession::Both,
            (true, false) => Succession::Own,
            (false, _) => Succession::Other,
        })
    }

    /// Differences by kind of block, and the smallest p of "this kind is like the rest".
    fn kinds(
        &self,
        workload: usize,
        pairs: impl Iterator<Item = (u32, f64)>,
        both: [usize; 2],
    ) -> Option<Kinds> {
        let known: Vec<(Succession, f64)> = pairs
            .filter_map(|(block, difference)| {
                Some((self.after(workload, block, both)?, difference))
            })
            .collect();
        Kinds::of(&known)
    }

    /// How much lower and higher the difference of logarithms in a workload may be by the order.
    pub(super) fn shift(
        &self,
        workload: usize,
        pairs: &Pairs,
        both: [usize; 2],
    ) -> Option<Interval> {
        let pairs = pairs.blocks.iter().copied().zip(pairs.differences.iter().copied());
        self.kinds(workload, pairs, both)?.shift()
    }

    /// The same of a score. Where workloads are interleaved, each has an order of its own.
    pub(super) fn score_shift(
        &self,
        table: &Table<'_>,
        counted: &[(usize, &Workload, &str)],
        pairs: &Pairs,
        both: [usize; 2],
    ) -> Option<Interval> {
        let (first, ..) = counted.first()?;
        if !self.is_interleaved || counted.len() == 1 {
            return self.shift(*first, pairs, both);
        }
        let total: f64 = counted.iter().map(|(_, workload, _)| workload.weight).sum();
        let mut sum: Option<Interval> = None;
        for one in counted {
            let [own, other] = both.map(|member| table.scores(member, &[*one]));
            let pairs = pair(&own, &other, table.machines);
            let Some(shift) = self.shift(one.0, &pairs, both) else { continue };
            let share = one.1.weight / total;
            let known = sum.unwrap_or(Interval { low: 0.0, high: 0.0 });
            sum = Some(Interval {
                low: known.low + share * shift.low,
                high: known.high + share * shift.high,
            });
        }
        sum
    }

    /// [`drawn_orders`] of a score; none of interleaved workloads, each of which has an order of
    /// its own.
    pub(super) fn score_draw(
        &self,
        counted: &[(usize, &Workload, &str)],
        pairs: &Pairs,
    ) -> Option<DrawnOrders> {
        if self.is_interleaved && counted.len() > 1 {
            return None;
        }
        drawn_orders(pairs)
    }

    /// That the order surely matters, over all workloads.
    pub(super) fn of_all(
        &self,
        plan: &Plan,
        table: &Table<'_>,
        members: &[usize],
        voices: &[Vec<Logarithms>],
    ) -> Option<ByOrder> {
        let base = members
            .iter()
            .position(|one| plan.configurations[*one].id == plan.configurations[*one].baseline)?;
        let own = (0..members.len()).find(|place| *place != base)?;
        let units = units(plan, table, members, voices);
        let means = |place: usize| -> f64 {
            let all = voices[place].iter().flat_map(BTreeMap::values);
            statistics::mean(&all.copied().collect::<Vec<f64>>())
        };
        let centre = means(own) - means(base);
        let both = [members[own], members[base]];
        let count = units.len() as f64;
        let found = units.iter().enumerate().filter_map(|(workload, unit)| {
            let [own, other] = [&unit.values[own], &unit.values[base]];
            let pairs =
                own.iter().filter_map(|(block, own)| Some((*block, own - other.get(block)?)));
            let kinds = self.kinds(workload, pairs, both)?;
            let p = (kinds.p * kinds.asked as f64 * count).min(1.0);
            Some((kinds.low, kinds.high, p))
        });
        let (low, high, p) = found.min_by(|one, other| one.2.total_cmp(&other.2))?;
        let is_notable = p < LEVEL && (high - low).exp_m1() > CHANGE_MIN;
        is_notable.then(|| ByOrder {
            configuration: plan.configurations[both[0]].id.clone(),
            ratios: Interval { low: centre + low, high: centre + high }.exp(),
            p,
        })
    }
}

/// Most blocks of which all orders are gone through; of more, Student's t says the same.
const DRAWN_BLOCKS_MAX: usize = 12;

/// What the other orders of two would have shown: had a block been visited the other way round, its
/// difference would have the other sign, if nothing but the time of a visit mattered. None of fewer
/// than three blocks, of many, and of machines that have a say each.
pub(super) fn drawn_orders(pairs: &Pairs) -> Option<DrawnOrders> {
    let count = pairs.differences.len();
    if pairs.by_machine || !(PAIRS_MIN..=DRAWN_BLOCKS_MAX).contains(&count) {
        return None;
    }
    let (first, rest) = pairs.differences.split_first()?;
    // Each order and its opposite are as far from 0: the first block keeps its sign.
    let orders = 1_u32 << rest.len();
    let sum = |flipped: u32| -> f64 {
        let signed = rest
            .iter()
            .enumerate()
            .map(|(at, difference)| if flipped >> at & 1 == 0 { *difference } else { -difference });
        first + signed.sum::<f64>()
    };
    let own = sum(0).abs() - ROUNDING;
    let as_far = (0..orders).filter(|flipped| sum(*flipped).abs() >= own).count();
    let share = |count: usize| count as f64 / f64::from(orders);
    Some(DrawnOrders { as_far: share(as_far), least: share(1) })
}

/// A kind of block is looked at from this p on.
const ORDER_LEVEL: f64 = 0.15;

/// Below this, logarithms differ by rounding.
const ROUNDING: f64 = 1e-9;

/// Differences by kind of block, less their mean.
struct Kinds {
    /// The smallest mean of a kind.
    low: f64,
    /// The largest.
    high: f64,
    /// The smallest p of one kind against the rest.
    p: f64,
    /// Of how many kinds that was asked: of two kinds once.
    asked: usize,
}

impl Kinds {
    fn of(known: &[(Succession, f64)]) -> Option<Self> {
        let count = known.len();
        if count < PAIRS_MIN {
            return None;
        }
        let all: Vec<f64> = known.iter().map(|(_, difference)| *difference).collect();
        let centre = statistics::mean(&all);
        let mut found = Self { low: 0.0, high: 0.0, p: 1.0, asked: 0 };
        for kind in [Succession::Both, Succession::Own, Succession::Other] {
            let side = |wanted: bool| -> Vec<f64> {
                let of_side = known.iter().filter(|(after, _)| (*after == kind) == wanted);
                of_side.map(|(_, difference)| *difference).collect()
            };
            let (own, rest) = (side(true), side(false));
            if own.is_empty() || rest.is_empty() {
                continue;
            }
            found.asked += 1;
            let mean = statistics::mean(&own) - centre;
            found.low = found.low.min(mean);
            found.high = found.high.max(mean);
            let freedom = (count - 2) as f64;
            let squares = |side: &[f64]| {
                statistics::standard_deviation(side).powi(2) * (side.len() - 1) as f64
            };
            let variance = (squares(&own) + squares(&rest)) / freedom;
            let scale = 1.0 / own.len() as f64 + 1.0 / rest.len() as f64;
            let change = (statistics::mean(&own) - statistics::mean(&rest)).abs();
            if change > ROUNDING {
                let error = (variance * scale).sqrt().max(f64::MIN_POSITIVE);
                found.p = found.p.min(2.0 * tail_of(change / error, freedom));
            }
        }
        // Two kinds are each other's rest.
        found.asked = if found.asked == 2 { 1 } else { found.asked };
        (found.asked > 0).then_some(found)
    }

    fn shift(&self) -> Option<Interval> {
        (self.p < ORDER_LEVEL).then_some(Interval { low: self.low, high: self.high })
    }
}

/// What neither the row nor the column explains.
fn without_means(values: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = values.first().map_or(0, Vec::len);
    let of_row: Vec<f64> = values.iter().map(|row| statistics::mean(row)).collect();
    let of_column: Vec<f64> = (0..columns)
        .map(|column| statistics::mean(&values.iter().map(|row| row[column]).collect::<Vec<f64>>()))
        .collect();
    let all = statistics::mean(&of_row);
    let rest = |row: usize| {
        (0..columns)
            .map(|column| values[row][column] - of_row[row] - of_column[column] + all)
            .collect()
    };
    (0..values.len()).map(rest).collect()
}

/// How many times smaller the variances of differences are within blocks than across them: the
/// median over all cells. `None` below 4 blocks.
pub(super) fn pairing_gain(
    members: &[usize],
    baseline: Option<usize>,
    voices: &[Vec<Logarithms>],
) -> Option<f64> {
    let base = members.iter().position(|member| Some(*member) == baseline)?;
    let variance = |values: &[f64]| statistics::standard_deviation(values).powi(2);
    let mut gains = Vec::new();
    for (_, of) in voices.iter().enumerate().filter(|(place, _)| *place != base) {
        for (own, other) in of.iter().zip(&voices[base]) {
            let pairs: Vec<(f64, f64)> = own
                .iter()
                .filter_map(|(block, value)| Some((*value, *other.get(block)?)))
                .collect();
            let [mine, theirs]: [Vec<f64>; 2] = [
                pairs.iter().map(|pair| pair.0).collect(),
                pairs.iter().map(|pair| pair.1).collect(),
            ];
            let differences: Vec<f64> = pairs.iter().map(|(own, other)| own - other).collect();
            let within = variance(&differences);
            if pairs.len() >= 4 && within > 0.0 {
                gains.push((variance(&mine) + variance(&theirs)) / within);
            }
        }
    }
    statistics::median(&gains).map(|median| median.median)
}

/// Autocorrelation of one trial and the next (lag 1) in the order in which they were measured, each
/// in deviations from its cell's own mean, and how many trials there were. `None` where no cell has
/// two voices that differ.
pub(super) fn autocorrelation(
    table: &Table<'_>,
    members: &[usize],
    voices: &[Vec<Logarithms>],
) -> Option<Autocorrelation> {
    let mut placed: Vec<((u32, u32), f64)> = Vec::new();
    for (member, of) in members.iter().zip(voices) {
        for (index, own) in of.iter().enumerate() {
            let figures: Vec<f64> = own.values().copied().collect();
            let (centre, deviation) =
                (statistics::mean(&figures), statistics::standard_deviation(&figures));
            if deviation == 0.0 {
                continue;
            }
            for (block, trial) in table.cell(*member, index) {
                let Some(value) = own.get(&block) else { continue };
                placed.push(((block, trial.order), (value - centre) / deviation));
            }
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    let residuals: Vec<f64> = placed.into_iter().map(|(_, residual)| residual).collect();
    let lag_1 = statistics::autocorrelation(&residuals)?;
    Some(Autocorrelation { lag_1, trials: residuals.len() })
}

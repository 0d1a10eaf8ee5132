//! Which trials a run makes, and which of them a claim may rest on. Pure: the same trials lead to
//! the same steps, so that a run that was killed goes on as if it had not been.
//!
//! ```text
//! full:  every configuration in every block                                       all trials vote
//!
//! race:  block 1  2  3 │ 4 │ 5 │ … │  then fresh blocks:  1 … 8 │ 9 … 16 │ … 32 │ … 60
//!        all of them   └ clear losers stop ┘  └ one is named    └ looks: only here are claims made
//!        claims nothing                           of the named one, two runners-up, the baseline
//! ```
//!
//! * **Race.** From the third block on, a configuration is dropped when the leader is ahead of it
//!   by more than a point of Student's t that among all its rivals one in five exceeds by chance;
//!   the variance leans on that of the row with 8 degrees of freedom. It is dropped only where it
//!   is a clear loser in every kind of work; never the baseline, never the last of a level. So is
//!   what passes a bound of the plan by as much; what meets all of them leads, and is named. The race
//!   is judged by what it costs and by how good what it names is; it claims nothing.
//! * **Named.** It ends when one is left, after the plan's blocks, or when one more block would
//!   make the whole cost more than measuring everything would have. Then one is named, before the
//!   first fresh trial: what is chosen for its figures is flattered by them. (Ending it as soon as
//!   all that are left lie within the margin saves one trial in a hundred and regrets a tenth of a
//!   point.)
//! * **Looks.** Claims are made after 8, 16, 32 and 60 blocks and at no other time, each at a
//!   fourth of the level (Bonferroni), so that going on until there is an answer makes no false one.

use std::collections::{BTreeMap, BTreeSet};

use crate::bounds::{self, BoundMargin};
use crate::claim::{self, Quantiles, Sample};
use crate::types::{Budget, Design, Group, Plan, Trial, Workload};
use crate::voices::{Table, judged_metrics, pair};

pub use crate::looks::{LOOKS, look_after};
pub use crate::types::{CourseEvent, Pick};

/// Fewest blocks after which a race drops anything.
pub const RACE_BLOCKS_MIN: u32 = 3;

/// How many a race confirms besides the one that it names.
const RUNNERS_UP: usize = 2;

/// Degrees of freedom that the row gives each variance in a race.
const PRIOR_FREEDOM: f64 = 8.0;

/// How many of all rivals a race may lose by chance at one block.
const LOST_BY_CHANCE: f64 = 0.2;

/// The look that trials beyond the plan's blocks are, where no step has said so: whoever goes on
/// looks again, and pays for it with the level. `None` where there are no such trials.
pub(crate) fn unasked_look(
    plan: &Plan,
    steps: &[CourseEvent],
    trials: &[Trial],
) -> Option<CourseEvent> {
    let course = Course::new(plan, steps);
    if course.is_race() || course.look().is_some() {
        return None;
    }
    let blocks = trials.iter().map(|trial| trial.block + 1).max()?;
    let last = LOOKS[LOOKS.len() - 1];
    (blocks > plan.blocks)
        .then(|| CourseEvent::Look { blocks: look_after(blocks - 1).unwrap_or(last) })
}

/// What a plan and the steps of its run say about its trials.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    plan: &'a Plan,
    steps: &'a [CourseEvent],
}

impl<'a> Course<'a> {
    /// Of a run.
    #[must_use]
    pub fn new(plan: &'a Plan, steps: &'a [CourseEvent]) -> Self {
        Self { plan, steps }
    }

    /// Whether losers stop being measured.
    #[must_use]
    pub fn is_race(&self) -> bool {
        self.plan.terms.design == Design::Race
    }

    /// Blocks that the race took and what it has named; none before its end, and without a race.
    #[must_use]
    pub fn named(&self) -> Option<(u32, &'a [Pick])> {
        self.steps.iter().find_map(|step| match step {
            CourseEvent::Named { after_blocks, picks } => Some((*after_blocks, picks.as_slice())),
            _ => None,
        })
    }

    /// What a race has named for a kind of work of the configurations with this baseline.
    #[must_use]
    pub fn pick(&self, baseline: &str, group: Option<Group>) -> Option<&'a Pick> {
        let (_, picks) = self.named()?;
        picks.iter().find(|pick| pick.baseline == baseline && pick.group == group)
    }

    /// Blocks after which a configuration was dropped.
    #[must_use]
    pub fn dropped(&self, configuration: &str) -> Option<u32> {
        self.steps.iter().find_map(|step| match step {
            CourseEvent::Dropped { after_blocks, configurations } => configurations
                .iter()
                .any(|dropped| dropped == configuration)
                .then_some(*after_blocks),
            _ => None,
        })
    }

    /// The look that the run goes on to; none for a run that makes its claims once.
    #[must_use]
    pub fn look(&self) -> Option<u32> {
        let asked = self.steps.iter().filter_map(|step| match step {
            CourseEvent::Look { blocks } => Some(*blocks),
            _ => None,
        });
        asked.max().or(self.is_race().then_some(LOOKS[0]))
    }

    /// How many looks share the level of a claim.
    #[must_use]
    pub fn looks(&self) -> usize {
        if self.look().is_some() { LOOKS.len() } else { 1 }
    }

    /// What the run may cost: as its plan says, or as was said last when it went on.
    #[must_use]
    pub fn budget(&self) -> Budget {
        let said = self.steps.iter().rev().find_map(|step| match step {
            CourseEvent::Budget { milliseconds, written_bytes_per_member } => Some(Budget {
                time_seconds: milliseconds.map(|time| time as f64 / 1e3),
                written_bytes_per_member: *written_bytes_per_member,
            }),
            _ => None,
        });
        said.unwrap_or(self.plan.terms.budget)
    }

    /// Whether the run goes on until its headlines are decided.
    #[must_use]
    pub fn is_until_decided(&self) -> bool {
        self.steps.contains(&CourseEvent::UntilDecided)
    }

    /// Blocks that may vote are counted from here on.
    #[must_use]
    pub fn first_fresh(&self) -> u32 {
        self.named().map_or(0, |(after_blocks, _)| after_blocks)
    }

    /// Number of blocks of the whole run, as far as it is known: not before a race is over.
    #[must_use]
    pub fn blocks(&self) -> Option<u32> {
        if self.is_race() {
            let (raced, _) = self.named()?;
            return Some(raced + self.look().unwrap_or(LOOKS[0]));
        }
        Some(self.plan.blocks.max(self.look().unwrap_or(0)))
    }

    /// Indices of the configurations that a block visits, in the plan's order. None after the last
    /// block.
    #[must_use]
    pub fn visited(&self, block: u32) -> Vec<usize> {
        if self.blocks().is_some_and(|blocks| block >= blocks) {
            return Vec::new();
        }
        let fresh: Option<BTreeSet<&str>> = self
            .named()
            .filter(|(after_blocks, _)| block >= *after_blocks)
            .map(|(_, picks)| picks.iter().flat_map(Pick::all).collect());
        let is_visited = |id: &str| match &fresh {
            Some(fresh) => fresh.contains(id),
            None => self.dropped(id).is_none_or(|after_blocks| block < after_blocks),
        };
        let all = self.plan.configurations.iter().enumerate();
        all.filter(|(_, one)| is_visited(&one.id)).map(|(index, _)| index).collect()
    }

    /// Number of trials that the run is to have, as far as it is known: the most that it may come
    /// to before a race is over.
    #[must_use]
    pub fn trials(&self) -> usize {
        let visits: usize = match self.blocks() {
            Some(blocks) => (0..blocks).map(|block| self.visited(block).len()).sum(),
            None => self.plan.configurations.len() * self.plan.blocks as usize,
        };
        visits * self.plan.workloads.len()
    }

    /// The blocks whose trials vote: of a run with looks those up to the last look that is whole,
    /// of a race fresh ones. `None` for all there are.
    #[must_use]
    pub fn voting(&self, trials: &[Trial]) -> Option<std::ops::Range<u32>> {
        self.look()?;
        let first = self.first_fresh();
        if self.is_race() && self.named().is_none() {
            return Some(0..0);
        }
        let mut found: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
        for trial in trials {
            found.entry(trial.block).or_default().insert(&trial.cell);
        }
        let workloads = self.plan.workloads.len();
        let is_whole = |block: &u32| {
            let visits = self.visited(*block).len();
            visits > 0 && found.get(block).is_some_and(|cells| cells.len() >= visits * workloads)
        };
        let whole = (first..).take_while(is_whole).count() as u32;
        // A run that made its claims once may have been shorter than the first look.
        let own = (!self.is_race()).then_some(self.plan.blocks).filter(|own| *own < LOOKS[0]);
        let reached = LOOKS.into_iter().chain(own).filter(|look| *look <= whole).max();
        Some(first..first + reached.unwrap_or(0))
    }

    /// What is to be decided when the first `blocks` blocks are whole, if anything: to be recorded
    /// before the next trial is made.
    #[must_use]
    pub fn next_step(&self, trials: &[Trial], blocks: u32) -> Option<CourseEvent> {
        if !self.is_race() || self.named().is_some() || blocks < RACE_BLOCKS_MIN {
            return None;
        }
        let kinds = fields(self, trials, blocks);
        let is_dropped_then = |step: &CourseEvent| match step {
            CourseEvent::Dropped { after_blocks, .. } => *after_blocks == blocks,
            _ => false,
        };
        let is_decided = self.steps.iter().any(is_dropped_then);
        if !is_decided {
            let losers = self.losers(&kinds, blocks);
            if !losers.is_empty() {
                let id = |index: usize| self.plan.configurations[index].id.clone();
                let configurations = losers.into_iter().map(id).collect();
                return Some(CourseEvent::Dropped { after_blocks: blocks, configurations });
            }
        }
        let picks: Vec<Pick> = kinds.iter().filter_map(|kind| kind.pick(self.plan)).collect();
        let is_settled = kinds.iter().all(Field::is_settled);
        (is_settled || blocks >= self.plan.blocks || !self.affords_a_block(&picks, blocks))
            .then_some(CourseEvent::Named { after_blocks: blocks, picks })
    }

    /// Whether one more block of the race and the first look of what it names cost no more than
    /// measuring everything in every block.
    fn affords_a_block(&self, picks: &[Pick], blocks: u32) -> bool {
        let confirmed: BTreeSet<&str> = picks.iter().flat_map(Pick::all).collect();
        let raced: usize = (0..=blocks).map(|block| self.visited(block).len()).sum();
        let whole = self.plan.configurations.len() * self.plan.blocks as usize;
        raced + confirmed.len() * LOOKS[0] as usize <= whole
    }

    /// Indices of those that are clear losers in every kind of work that they were measured in.
    fn losers(&self, kinds: &[Field], blocks: u32) -> Vec<usize> {
        let configurations = &self.plan.configurations;
        let mut lost: BTreeMap<usize, bool> = BTreeMap::new();
        for kind in kinds {
            for place in &kind.places {
                let all = lost.entry(place.configuration).or_insert(true);
                *all &= place.is_loser;
            }
        }
        let mut losers: Vec<usize> =
            lost.iter().filter(|(_, all)| **all).map(|(index, _)| *index).collect();
        // The last of a level stays: by each level of each comparison, the best in all work.
        let level = |index: usize| {
            let one = &configurations[index];
            (one.baseline.as_str(), one.settings.get("level").map(String::as_str))
        };
        let live = self.visited(blocks);
        let levels: BTreeSet<_> = live.iter().map(|index| level(*index)).collect();
        for wanted in levels {
            let of_level: Vec<usize> =
                live.iter().copied().filter(|index| level(*index) == wanted).collect();
            if !of_level.iter().all(|index| losers.contains(index)) {
                continue;
            }
            let best = kinds
                .iter()
                .rev()
                .find_map(|kind| {
                    kind.places.iter().find(|place| of_level.contains(&place.configuration))
                })
                .map(|place| place.configuration);
            losers.retain(|index| Some(*index) != best);
        }
        losers.retain(|index| configurations[*index].baseline != configurations[*index].id);
        losers
    }
}

/// One configuration in a race.
#[derive(Clone, Copy, Debug)]
struct RacePosition {
    configuration: usize,
    /// Whether it is clearly behind the leader, or may surely not be taken.
    is_loser: bool,
    /// Whether its figures, as far as they are known, meet what the plan demands.
    may_be_taken: bool,
}

/// How a race stands in one kind of work of one comparison.
#[derive(Debug)]
struct Field {
    baseline: usize,
    group: Option<Group>,
    /// All that were measured, the best first, the baseline among them.
    places: Vec<RacePosition>,
}

impl Field {
    /// Those that may be named, the best first.
    fn candidates(&self) -> impl Iterator<Item = &RacePosition> {
        self.places.iter().filter(|place| !place.is_loser && place.configuration != self.baseline)
    }

    /// Whether one is left, so that there is nothing that one more block would tell.
    fn is_settled(&self) -> bool {
        self.candidates().count() <= 1
    }

    fn pick(&self, plan: &Plan) -> Option<Pick> {
        let id = |index: usize| plan.configurations[index].id.clone();
        // Where all others are clearly behind the baseline, the best of them shows it.
        let others = self.places.iter().filter(|place| place.configuration != self.baseline);
        // What passes a bound by chance may run up, and is not what is named.
        let named = self.candidates().find(|place| place.may_be_taken);
        let named = named.or_else(|| self.candidates().next()).or_else(|| others.clone().next());
        let named = named?.configuration;
        let next = self.candidates().filter(|place| place.configuration != named);
        Some(Pick {
            baseline: id(self.baseline),
            group: self.group,
            named: id(named),
            runners_up: next.take(RUNNERS_UP).map(|place| id(place.configuration)).collect(),
        })
    }
}

/// How the race stands after so many blocks: of each comparison, each kind of work, then all of it.
fn fields(course: &Course<'_>, trials: &[Trial], blocks: u32) -> Vec<Field> {
    let plan = course.plan;
    let (table, ..) = Table::new(plan, trials);
    let table = table.of(|_, block| block < blocks);
    let metrics = judged_metrics(plan, &table);
    let live = course.visited(blocks.saturating_sub(1));
    let still = course.visited(blocks);
    let mut quantiles = Quantiles::default();
    let mut found = Vec::new();
    for members in plan.comparison_members() {
        let baseline = members
            .iter()
            .copied()
            .find(|index| plan.configurations[*index].id == plan.configurations[*index].baseline);
        let Some(baseline) = baseline else { continue };
        // What was dropped already after these very blocks is out of it.
        let racing: Vec<usize> = members
            .into_iter()
            .filter(|index| live.contains(index) && still.contains(index))
            .collect();
        for group in kinds(plan) {
            let counted: Vec<(usize, &Workload, &str)> = plan
                .workloads
                .iter()
                .enumerate()
                .filter(|(_, one)| group.is_none_or(|group| one.group == group) && one.weight > 0.0)
                .map(|(index, one)| (index, one, metrics[index].as_str()))
                .collect();
            let places = places(&table, &racing, baseline, &counted, &mut quantiles);
            if !places.is_empty() {
                found.push(Field { baseline, group, places });
            }
        }
    }
    found
}

/// The kinds of work of a plan that have headlines: each, then all where there are several; with a
/// goal all of it alone.
pub(crate) fn kinds(plan: &Plan) -> Vec<Option<Group>> {
    let has = |group: &Group| plan.workloads.iter().any(|workload| workload.group == *group);
    if plan.terms.goal.is_some() {
        return vec![None];
    }
    let mut kinds: Vec<Option<Group>> = Group::ALL.into_iter().filter(has).map(Some).collect();
    if kinds.len() > 1 {
        kinds.push(None);
    }
    kinds
}

/// How the configurations stand to each other, the best first; only those with enough votes.
fn places(
    table: &Table<'_>,
    racing: &[usize],
    baseline: usize,
    counted: &[(usize, &Workload, &str)],
    quantiles: &mut Quantiles,
) -> Vec<RacePosition> {
    let least = RACE_BLOCKS_MIN as usize;
    let voices: Vec<_> = racing.iter().map(|index| table.scores(*index, counted)).collect();
    let base = table.scores(baseline, counted);
    let mut known: Vec<(usize, f64)> = voices
        .iter()
        .enumerate()
        .filter_map(|(at, own)| {
            let pairs = pair(own, &base, None);
            (pairs.differences.len() >= least).then(|| Some((at, pairs.centre()?))).flatten()
        })
        .collect();
    // Of equals the earlier in the plan leads.
    known.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    // What cannot be taken leads no race, and what surely cannot need not be measured on.
    let tail = LOST_BY_CHANCE / bounds::asked(table, racing).max(1) as f64;
    let met: Vec<(bool, bool)> = racing
        .iter()
        .map(|index| {
            let ruled_out = table.plan().terms.ruled_out.contains_key(table.id(*index));
            let held = bounds::held(table, *index, tail, quantiles);
            let fails = ruled_out || held.iter().any(BoundMargin::surely_fails);
            (fails, !ruled_out && held.iter().all(BoundMargin::holds))
        })
        .collect();
    let leader = known.iter().find(|(at, _)| met[*at].1).or(known.first());
    let Some((leader, _)) = leader.copied() else { return Vec::new() };
    let samples: Vec<Option<Sample>> = known
        .iter()
        .map(|(at, _)| {
            let pairs = pair(&voices[leader], &voices[*at], None);
            Sample::paired(&pairs.differences)
                .filter(|_| *at != leader && pairs.differences.len() >= least)
        })
        .collect();
    let rivals = samples.iter().flatten().count().max(1) as f64;
    known
        .into_iter()
        .zip(claim::leaning(&samples, PRIOR_FREEDOM))
        .map(|((at, _), estimate)| RacePosition {
            configuration: racing[at],
            may_be_taken: met[at].1,
            is_loser: met[at].0
                || estimate.is_some_and(|estimate| {
                    let point = quantiles.above(estimate.freedom + 1.0, LOST_BY_CHANCE / rivals);
                    estimate.centre > point * estimate.error
                }),
        })
        .collect()
}

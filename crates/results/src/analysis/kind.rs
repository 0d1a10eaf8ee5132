//! Scores of one kind of work, and what they come to in one headline.

use std::collections::{BTreeMap, BTreeSet};

use words::{Text, statement};

use crate::catalogue;
use crate::claim::{
    self, Answer, Claim, ErrorScope, Estimate, Family, LEVEL, PAIRS_MIN, Pool, Quantiles, Question,
    RepeatDesign, Sample,
};
use crate::course::LOOKS;
use crate::doubt::Silence;
use crate::statistics::Interval;
use crate::types::{BetterDirection, Configuration, Design, Group, ModelError, Plan, Workload};
use crate::{bounds, course};

use super::order::VisitOrder;
use super::rows::claim_of;
use super::verdict::{self, PickedBy, Tie, Verdict};
use super::{
    Headline, KindResult, LeftOut, MODEL_CASES_MIN, Reservation, Score, all_of, model_error,
    sample_of,
};
use crate::voices::{Pairs, Table, Voices, pair};

/// What a kind is judged within.
pub(super) struct Frame<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) table: &'a Table<'b>,
    /// Indices of the comparison's configurations in the plan's order.
    pub(super) members: Vec<usize>,
    pub(super) baseline: Option<usize>,
    /// How many configurations the comparison has: more than members after a race.
    pub(super) of: usize,
    /// Headlines of the whole report.
    pub(super) headlines: usize,
    /// Looks that share the level.
    pub(super) looks: usize,
    /// Number of blocks that vote, of a run that can go on.
    pub(super) done: Option<u32>,
    /// What a race has named, of whom fresh trials tell: it is taken before others that are no
    /// worse.
    pub(super) named: Option<usize>,
    /// The judged metric of each workload.
    pub(super) metrics: &'a [String],
    /// What came after what, of two configurations.
    pub(super) order: Option<&'a VisitOrder>,
    /// Whether few blocks are an answer, in the model.
    pub(super) in_model: bool,
    /// Whether there is one configuration, with trials.
    pub(super) has_only_figures: bool,
    /// Whether the run was made of files, so that there may be nothing to compare.
    pub(super) is_imported: bool,
}

impl Frame<'_, '_> {
    /// What the whole design would have asked with in place of a race that asks at a level: once,
    /// after the plan's blocks; or with looks, where the race went on to a further one.
    fn whole_design(&self, level: f64) -> RepeatDesign {
        let own = self.plan.blocks;
        let (blocks, level) = match self.done.filter(|done| *done > LOOKS[0]) {
            Some(done) => (own.max(done), level),
            None => (own, level * self.looks.max(1) as f64),
        };
        RepeatDesign { blocks, level, row: 1, model_error: 0.0 }
    }
}

/// What one kind of work says of all pairs, or all of it, before anything is taken.
pub(super) struct KindFigures<'a, 'b> {
    frame: Frame<'a, 'b>,
    group: Option<Group>,
    left_out: Vec<LeftOut>,
    known: KindClaims<'a>,
    terms: Terms,
}

impl<'a, 'b> KindFigures<'a, 'b> {
    /// Of the workloads of one kind, or of all.
    pub(super) fn of(frame: Frame<'a, 'b>, group: Option<Group>) -> Self {
        let of_kind = |workload: &Workload| group.is_none_or(|group| workload.group == group);
        // A workload of weight 0 is shown but has no say, and need not be complete.
        let wanted: Vec<(usize, &Workload, &str)> = frame
            .plan
            .workloads
            .iter()
            .enumerate()
            .filter(|(_, workload)| of_kind(workload) && workload.weight > 0.0)
            .map(|(index, workload)| (index, workload, frame.metrics[index].as_str()))
            .collect();
        let (counted, left_out) = counted(&frame, wanted);
        let known = KindClaims::of(&frame, counted);
        let terms = Terms::of(&frame);
        Self { group, left_out, known, terms, frame }
    }

    /// Whether it is of all kinds of work together.
    pub(super) fn is_whole(&self) -> bool {
        self.group.is_none()
    }

    /// By how much another one is surely ahead of a configuration, at the most, in logarithms.
    pub(super) fn regret(&self, configuration: usize) -> f64 {
        let members = &self.frame.members;
        let Some(own) = members.iter().position(|member| *member == configuration) else {
            return 0.0;
        };
        let others = (0..members.len()).filter(|other| *other != own);
        let lost = others
            .filter(|other| self.known.answer(own, *other) == Answer::Behind)
            .filter_map(|other| self.known.ratio(own, other));
        lost.map(|ratio| -ratio.ln()).fold(0.0, f64::max)
    }

    /// Scores and headline. `regret` is the largest over all kinds of work.
    pub(super) fn result(&self, regret: impl Fn(usize) -> f64) -> KindResult {
        let Self { frame, group, known, terms, .. } = self;
        let Frame { plan, members, .. } = frame;
        let id = |configuration: usize| plan.configurations[configuration].id.clone();
        let of_kind = |workload: &Workload| group.is_none_or(|group| workload.group == group);
        let choice = known.choice(frame, terms, regret);
        let take = choice.take;
        let scores = known.scores(frame, take);
        // What else might be best, and how it stands to what is taken, or to the undefeated.
        let stands = take.or(known.base);
        let headline = headline(frame, &scores, &choice, known, |place| {
            stands
                .filter(|stands| *stands != place && choice.best.contains(&place))
                .map(|stands| known.answer(place, stands))
        });
        let headline = with_terms(frame, headline, self.left_out.clone(), terms, take);
        KindResult {
            group: *group,
            workloads: plan
                .workloads
                .iter()
                .filter(|workload| of_kind(workload))
                .map(|workload| workload.name.clone())
                .collect(),
            named: frame.named.map(id),
            scores,
            leader: choice.leader.map(|place| id(members[place])),
            best_set: choice.best.iter().map(|place| id(members[*place])).collect(),
            recommended: take.map(|take| id(members[take])),
            headline,
        }
    }
}

/// What the scores of a kind say of each other, between places of its members. Pairs grow with the
/// square of the members: of those without the baseline only what all of them are asked for is
/// kept, and a claim is made when it is printed.
struct KindClaims<'a> {
    /// Place of the baseline.
    base: Option<usize>,
    /// The places of all others.
    others: Vec<usize>,
    /// The workloads that count.
    workloads: Vec<usize>,
    /// The same, with the metrics that they are judged by.
    counted: Vec<(usize, &'a Workload, &'a str)>,
    /// One for each member.
    voices: Vec<Voices>,
    /// How many questions share the level besides those of one kind.
    shares: f64,
    /// The same, with both kinds of question where there are two.
    share: f64,
    /// Place -> what is said of it against the baseline.
    against_base: BTreeMap<usize, Claim>,
    /// Of a race, the places of whom the whole design would say the same against the baseline.
    found_again: BTreeSet<usize>,
    /// How many pairs without the baseline share the level: more than are left after a race.
    rivals: usize,
    /// What the scores of these pairs lean on.
    pool: Pool,
    /// What is said of the earlier place against the later, in the order of [`Self::pair_index`].
    between: Vec<Option<PairVerdict>>,
}

/// What is kept of a pair.
#[derive(Clone, Copy)]
struct PairVerdict {
    ratio: f64,
    answer: Answer,
    /// Of a race: whether the whole design would say the same.
    is_found_again: bool,
}

/// What is asked of a pair: its differences' sample, or where they are too few for one, what they
/// come to.
enum PairFigure {
    Sample(Sample),
    Centre(Option<f64>),
}

impl PairFigure {
    fn sample(&self) -> Option<&Sample> {
        match self {
            PairFigure::Sample(sample) => Some(sample),
            PairFigure::Centre(_) => None,
        }
    }
}

/// Who may be taken, and who is; all of them places.
struct Choice {
    /// What it comes to.
    verdict: Verdict,
    /// All that no other one is surely ahead of, best first.
    best: Vec<usize>,
    /// The one with the highest score.
    leader: Option<usize>,
    take: Option<usize>,
    /// Those it was taken from, in the plan's order, and by what; none where there is only one.
    tie: Option<(Vec<usize>, PickedBy)>,
}

impl<'a> KindClaims<'a> {
    /// Makes them all: of each against the baseline, and of all pairs of the others.
    fn of(frame: &Frame<'a, '_>, counted: Vec<(usize, &'a Workload, &'a str)>) -> Self {
        let Frame { table, members, baseline, .. } = frame;
        let base = members.iter().position(|member| Some(*member) == *baseline);
        let others: Vec<usize> = (0..members.len()).filter(|place| Some(*place) != base).collect();
        // A race says no more than all of its comparison, measured whole, would have said.
        let all = frame.of.saturating_sub(usize::from(base.is_some())).max(others.len());
        let rivals = all * all.saturating_sub(1) / 2;
        // Half of the headline's level for each kind of question, the whole where there is one.
        let shares = (frame.headlines.max(1) * frame.looks.max(1)) as f64;
        let mut claims = Self {
            base,
            others,
            voices: members.iter().map(|member| table.scores(*member, &counted)).collect(),
            workloads: counted.iter().map(|(index, ..)| *index).collect(),
            counted,
            shares,
            share: shares * if rivals > 0 { 2.0 } else { 1.0 },
            against_base: BTreeMap::new(),
            found_again: BTreeSet::new(),
            rivals,
            pool: Pool::of([].iter()),
            between: Vec::new(),
        };
        let mut quantiles = Quantiles::default();
        if let Some(base) = base {
            claims.ask_base(frame, base, all, &mut quantiles);
        }
        claims.ask_each_other(frame, &mut quantiles);
        claims
    }

    /// Of each against the baseline, a family of so many comparisons.
    fn ask_base(
        &mut self,
        frame: &Frame<'_, '_>,
        base: usize,
        comparisons: usize,
        quantiles: &mut Quantiles,
    ) {
        let pairs: Vec<Pairs> =
            self.others.iter().map(|other| self.pairs(frame, *other, base)).collect();
        let sample = |pairs: &Pairs| sample_of(frame.plan, &pairs.differences, frame.in_model);
        let samples: Vec<Option<Sample>> = pairs.iter().map(sample).collect();
        let asked: Vec<_> =
            self.others.iter().zip(&pairs).zip(claim::estimates(&samples)).collect();
        let (mut against_base, mut found_again) = (BTreeMap::new(), BTreeSet::new());
        for ((other, pairs), estimate) in asked {
            let (family, question) = self.question(frame, [*other, base], comparisons, pairs);
            if estimate
                .is_some_and(|own| is_found_again(frame, &own, &question, comparisons, quantiles))
            {
                found_again.insert(*other);
            }
            let both = [frame.members[*other], frame.members[base]];
            let asked = (&question, frame.done);
            let claim =
                claim_of(frame.plan, both, "score", pairs, estimate, family, asked, quantiles);
            against_base.extend(claim.map(|claim| (*other, claim)));
        }
        (self.against_base, self.found_again) = (against_base, found_again);
    }

    /// Of all pairs of the others, another family.
    fn ask_each_other(&mut self, frame: &Frame<'_, '_>, quantiles: &mut Quantiles) {
        let mut pairs = Pairs::default();
        let figures: Vec<PairFigure> = self
            .earlier_first()
            .map(|[own, other]| {
                pairs.renew(&self.voices[own], &self.voices[other], frame.table.machines);
                match sample_of(frame.plan, &pairs.differences, frame.in_model) {
                    Some(sample) => PairFigure::Sample(sample),
                    None => PairFigure::Centre(pairs.centre()),
                }
            })
            .collect();
        let mut pool = Pool::of(figures.iter().filter_map(PairFigure::sample));
        let mut between = vec![None; self.voices.len() * self.voices.len().saturating_sub(1) / 2];
        // Of more than two the order of visits says nothing, and needs no pairs.
        let none = Pairs::default();
        for ([own, other], figure) in self.earlier_first().zip(figures) {
            let (centre, sample) = match figure {
                PairFigure::Sample(sample) => (Some(sample.centre), Some(sample)),
                PairFigure::Centre(centre) => (centre, None),
            };
            let pairs = frame.order.map(|_| self.pairs(frame, own, other));
            let pairs = pairs.as_ref().unwrap_or(&none);
            let (_, question) = self.question(frame, [own, other], self.rivals, pairs);
            let estimate = sample.map(|sample| pool.estimate(&sample));
            let verdict = |centre: f64| PairVerdict {
                ratio: centre.exp(),
                answer: estimate.map_or(Answer::Open, |estimate| {
                    claim::decide(&estimate, &question, quantiles).answer
                }),
                is_found_again: estimate.is_some_and(|own| {
                    is_found_again(frame, &own, &question, self.rivals, quantiles)
                }),
            };
            between[self.pair_index(own, other)] = centre.map(verdict);
        }
        (self.pool, self.between) = (pool, between);
    }

    /// All pairs of the others.
    fn earlier_first(&self) -> impl Iterator<Item = [usize; 2]> {
        let with_later = |(at, own): (usize, &usize)| {
            let own = *own;
            self.others[at + 1..].iter().map(move |other| [own, *other])
        };
        self.others.iter().enumerate().flat_map(with_later)
    }

    /// Where a pair stands, the earlier place first.
    fn pair_index(&self, earlier: usize, later: usize) -> usize {
        earlier * (2 * self.voices.len() - earlier - 1) / 2 + later - earlier - 1
    }

    fn pairs(&self, frame: &Frame<'_, '_>, own: usize, other: usize) -> Pairs {
        pair(&self.voices[own], &self.voices[other], frame.table.machines)
    }

    /// What is asked of two places, in a family of so many comparisons.
    fn question(
        &self,
        frame: &Frame<'_, '_>,
        places: [usize; 2],
        comparisons: usize,
        pairs: &Pairs,
    ) -> (Family, Question) {
        let Frame { plan, table, order, .. } = frame;
        let both = places.map(|place| frame.members[place]);
        let family = Family {
            over: ErrorScope::Report,
            comparisons: self.share * comparisons.max(1) as f64,
        };
        let question = Question {
            better: Some(BetterDirection::Higher),
            margin: plan.margin,
            level: family.level(),
            same_level: LEVEL / self.shares,
            model_error: model_error(plan, both, &self.workloads)
                .filter(|_| !frame.in_model)
                .map_or(0.0, |known| known.error),
            by_order: order.and_then(|order| order.score_shift(table, &self.counted, pairs, both)),
            by_draw: order.and_then(|order| order.score_draw(&self.counted, pairs)),
        };
        (family, question)
    }

    /// Whether the whole design would tell these two apart as well.
    fn is_found_again(&self, one: usize, other: usize) -> bool {
        if Some(one) == self.base || Some(other) == self.base {
            return self.found_again.contains(if Some(one) == self.base { &other } else { &one });
        }
        self.verdict_of(one, other).is_some_and(|verdict| verdict.is_found_again)
    }

    /// What is said of a pair of the others, either way round; nothing of one and itself.
    fn verdict_of(&self, one: usize, other: usize) -> Option<&PairVerdict> {
        (one != other)
            .then(|| self.between[self.pair_index(one.min(other), one.max(other))].as_ref())
            .flatten()
    }

    /// Of `own` against `other`, whichever way round it was asked.
    fn answer(&self, own: usize, other: usize) -> Answer {
        let of_base = |place: usize| self.against_base.get(&place).map(|claim| claim.answer);
        let answer = if Some(other) == self.base {
            of_base(own)
        } else if Some(own) == self.base {
            of_base(other).map(Answer::turned)
        } else {
            let verdict = self.verdict_of(own, other).map(|verdict| verdict.answer);
            if own < other { verdict } else { verdict.map(Answer::turned) }
        };
        answer.unwrap_or(Answer::Open)
    }

    /// Of `own` / `other`, whichever way round it was asked.
    fn ratio(&self, own: usize, other: usize) -> Option<f64> {
        let of_base = |place: usize| self.against_base.get(&place).map(|claim| claim.ratio);
        if Some(other) == self.base {
            return of_base(own);
        }
        if Some(own) == self.base {
            return of_base(other).map(|ratio| 1.0 / ratio);
        }
        let ratio = self.verdict_of(own, other)?.ratio;
        Some(if own < other { ratio } else { 1.0 / ratio })
    }

    /// All that is said of `own` against `other`.
    fn claim(&self, frame: &Frame<'_, '_>, own: usize, other: usize) -> Option<Claim> {
        if Some(other) == self.base {
            return self.against_base.get(&own).cloned();
        }
        if own > other || Some(own) == self.base {
            return self.claim(frame, other, own).as_ref().map(turned);
        }
        let pairs = self.pairs(frame, own, other);
        let sample = sample_of(frame.plan, &pairs.differences, frame.in_model);
        let estimate = sample.map(|sample| self.pool.clone().estimate(&sample));
        let (family, question) = self.question(frame, [own, other], self.rivals, &pairs);
        let both = [frame.members[own], frame.members[other]];
        let (asked, mut quantiles) = ((&question, frame.done), Quantiles::default());
        claim_of(frame.plan, both, "score", &pairs, estimate, family, asked, &mut quantiles)
    }

    fn versus_base(&self, place: usize) -> Option<&Claim> {
        self.against_base.get(&place)
    }

    fn is_valid(&self, place: usize) -> bool {
        self.versus_base(place).is_some_and(|claim| claim.invalid.is_none())
    }

    fn is_ahead(&self, place: usize) -> bool {
        self.versus_base(place).is_some_and(|claim| claim.answer == Answer::Ahead)
    }

    /// Who may be taken, and who is.
    fn choice(
        &self,
        frame: &Frame<'_, '_>,
        terms: &Terms,
        regret: impl Fn(usize) -> f64,
    ) -> Choice {
        let members = &frame.members;
        let any_valid = self.others.iter().any(|place| self.is_valid(*place));
        // The baseline stands in the race when any can be compared with it. What does not meet
        // the plan's terms is compared and not taken.
        let racing: Vec<usize> = (0..members.len())
            .filter(|place| self.is_valid(*place) || Some(*place) == self.base && any_valid)
            .filter(|place| !terms.ruled_out.contains_key(place))
            .collect();
        let ratio = |place: usize| self.versus_base(place).map_or(1.0, |claim| claim.ratio);
        let best_first = |places: &mut Vec<usize>| {
            // Of equals the earlier in the plan leads.
            places.sort_by(|left, right| {
                ratio(*right).total_cmp(&ratio(*left)).then(left.cmp(right))
            });
        };
        let mut best: Vec<usize> = racing
            .iter()
            .copied()
            .filter(|place| {
                racing.iter().all(|other| self.answer(*place, *other) != Answer::Behind)
            })
            .collect();
        best_first(&mut best);
        let mut all = racing.clone();
        best_first(&mut all);
        let (verdict, candidates) = self.verdict(frame, &racing, &best, any_valid);
        let (take, tie) = match &candidates[..] {
            [] => (None, None),
            [one] => (Some(*one), None),
            _ => {
                let picked = picked(frame, &candidates, regret);
                (picked.map(|(one, _)| one), picked.map(|(_, by)| (candidates.clone(), by)))
            }
        };
        Choice { verdict, best, leader: all.first().copied(), take, tie }
    }

    /// What it comes to, and who is to be taken: one, or one of several in the plan's order.
    fn verdict(
        &self,
        frame: &Frame<'_, '_>,
        racing: &[usize],
        best: &[usize],
        any_valid: bool,
    ) -> (Verdict, Vec<usize>) {
        if frame.has_only_figures || frame.is_imported && !any_valid {
            return (Verdict::Figures, Vec::new());
        }
        if racing.is_empty() {
            let verdict = if any_valid { Verdict::NoneMeetsTerms } else { Verdict::NotCompared };
            return (verdict, Vec::new());
        }
        let matters = frame.plan.matters();
        if let Some(base) = self.base.filter(|base| best.contains(base)) {
            // Undefeated, which is no answer by itself.
            let claims = racing.iter().filter_map(|place| self.versus_base(*place));
            return match verdict::undecided(claims, matters, frame.done) {
                None => (Verdict::NothingFaster, vec![base]),
                Some(open) => (open, Vec::new()),
            };
        }
        let mut ahead: Vec<usize> =
            best.iter().copied().filter(|place| self.is_ahead(*place)).collect();
        ahead.sort_unstable();
        if !ahead.is_empty() {
            return (Verdict::Take, ahead);
        }
        // The baseline may not be taken: then it is between the others.
        let mut between = best.to_vec();
        between.sort_unstable();
        // Either way round: which of the two is the other's rival means nothing.
        let both = between.iter().flat_map(|one| {
            let others = between.iter().filter(move |other| *other != one);
            others.filter_map(|other| self.claim(frame, *one, *other))
        });
        match verdict::undecided(both, matters, frame.done) {
            None => (Verdict::Take, between),
            Some(open) => (open, Vec::new()),
        }
    }

    /// Of every configuration that is compared, in the plan's order.
    fn scores(&self, frame: &Frame<'_, '_>, take: Option<usize>) -> Vec<Score> {
        let pairs_of_base = self
            .others
            .iter()
            .filter(|place| self.is_valid(**place))
            .filter_map(|place| self.versus_base(*place))
            .map(|claim| claim.pairs);
        let base_pairs = pairs_of_base.max().unwrap_or(0);
        let any_claim = !self.against_base.is_empty() || self.between.iter().any(Option::is_some);
        let mut scores = Vec::new();
        for (place, member) in frame.members.iter().enumerate() {
            let claim = self.versus_base(place).cloned();
            let is_base = Some(place) == self.base;
            let is_compared = claim.is_some() || is_base && any_claim;
            if !is_compared {
                continue;
            }
            let versus_take = take
                .filter(|take| *take != place && !is_base && Some(*take) != self.base)
                .and_then(|take| self.claim(frame, place, take));
            scores.push(Score {
                configuration: frame.plan.configurations[*member].id.clone(),
                pairs: claim.as_ref().map_or(base_pairs, |claim| claim.pairs),
                ratio: claim.as_ref().map_or(1.0, |claim| claim.ratio),
                versus_take,
                versus_baseline: claim,
            });
        }
        scores
    }
}

/// How the members stand to what the plan demands.
struct Terms {
    /// What keeps a place from being taken: what the plan knew, or a bound that its figures pass.
    ruled_out: BTreeMap<usize, Text>,
    /// Bounds that a place holds, and not surely.
    doubtful: BTreeMap<usize, Vec<Reservation>>,
}

impl Terms {
    fn of(frame: &Frame<'_, '_>) -> Self {
        let Frame { plan, table, members, .. } = frame;
        let mut terms = Self { ruled_out: BTreeMap::new(), doubtful: BTreeMap::new() };
        // All that is said of bounds holds together over the report.
        let kinds = course::kinds(plan).len().max(1);
        let comparisons = (frame.headlines / kinds).max(1);
        let asked = bounds::asked(table, members).max(1);
        let tail = LEVEL / (asked * comparisons * frame.looks.max(1)) as f64;
        let mut quantiles = Quantiles::default();
        for (place, member) in members.iter().enumerate() {
            if let Some(reason) = plan.terms.ruled_out.get(&plan.configurations[*member].id) {
                terms.ruled_out.insert(place, reason.clone());
                continue;
            }
            for held in bounds::held(table, *member, tail, &mut quantiles) {
                let workload = &plan.workloads[held.workload].name;
                if !held.holds() {
                    let message = match held.surely_fails() {
                        true => catalogue::DOES_NOT_HOLD,
                        false => catalogue::MAY_NOT_HOLD,
                    };
                    let bound = &held.bound.text;
                    let reason = statement!(message, bound = bound, workload = workload);
                    terms.ruled_out.entry(place).or_insert(reason);
                } else if !held.surely_holds() {
                    let figure = |ratio: f64| ratio * held.bound.below;
                    terms.doubtful.entry(place).or_default().push(Reservation::MayNotHold {
                        bound: held.bound.text.clone(),
                        workload: workload.clone(),
                        metric: held.bound.metric.clone(),
                        figure: figure(held.ratio),
                        high: held.interval.map(|interval| figure(interval.high)),
                    });
                }
            }
        }
        terms
    }
}

/// The headline with what the plan's terms add to it.
fn with_terms(
    frame: &Frame<'_, '_>,
    headline: Headline,
    left_out: Vec<LeftOut>,
    terms: &Terms,
    take: Option<usize>,
) -> Headline {
    let id = |place: usize| frame.plan.configurations[frame.members[place]].id.clone();
    let doubts = take.and_then(|take| terms.doubtful.get(&take)).into_iter().flatten();
    let doubts: Vec<Reservation> = doubts.cloned().collect();
    let ruled_out = terms.ruled_out.iter().map(|(place, reason)| Reservation::RuledOut {
        configuration: id(*place),
        reason: reason.clone(),
    });
    Headline {
        sure: headline.sure && doubts.is_empty(),
        reservations: left_out
            .into_iter()
            .map(Reservation::LeftOut)
            .chain(ruled_out)
            .chain(doubts)
            .chain(headline.reservations)
            .collect(),
        ..headline
    }
}

/// Splits the workloads into those that the score counts and those that hardly vote anywhere: in
/// fewer blocks of the baseline, or of most configurations, than a claim needs.
fn counted<'w>(
    frame: &Frame<'_, '_>,
    wanted: Vec<(usize, &'w Workload, &'w str)>,
) -> (Vec<(usize, &'w Workload, &'w str)>, Vec<LeftOut>) {
    let Frame { plan, table, members, baseline, .. } = frame;
    let fewest = if frame.in_model { 1 } else { PAIRS_MIN };
    let mut left_out = Vec::new();
    let all = wanted.clone();
    let counted: Vec<_> = wanted
        .into_iter()
        .filter(|(index, workload, metric)| {
            let mut reason = None;
            let mut votes = |configuration: usize| {
                let voices = table.voices(configuration, *index, metric);
                let silent = voices.values().find_map(|voice| voice.silent.as_deref().cloned());
                let unmeasured = || {
                    let trials = table.cell(configuration, *index);
                    let mut flags = trials.flat_map(|(_, trial)| &trial.flags);
                    let found = flags.find(|doubt| doubt.why_not_measured().is_some());
                    found.cloned().map(Silence::Doubtful)
                };
                let why = silent.or_else(|| voices.is_empty().then(unmeasured).flatten());
                let voting = voices.values().filter(|voice| voice.silent.is_none()).count();
                if voting < fewest && reason.is_none() {
                    reason = why;
                }
                voting >= fewest
            };
            let voting = members.iter().filter(|member| votes(**member)).count();
            let enough = 2 * voting > members.len() && baseline.is_none_or(&mut votes);
            if plan.terms.goal.as_ref().is_some_and(|goal| goal.metric.is_some())
                && members.iter().all(|member| table.voices(*member, *index, metric).is_empty())
                && members.iter().any(|member| table.cell(*member, *index).next().is_some())
            {
                reason = Some(Silence::NoSuchFigure { metric: (*metric).to_owned() });
            }
            // Without a reason the trials are simply not there yet.
            let Some(reason) = reason.filter(|_| !enough) else { return true };
            left_out.push(LeftOut { workload: workload.name.clone(), reason });
            false
        })
        .collect();
    // Where nothing votes, all of it is shown.
    if counted.is_empty() { (all, left_out) } else { (counted, left_out) }
}

/// Of a race, whether the whole design would tell two apart as well; always without a race.
fn is_found_again(
    frame: &Frame<'_, '_>,
    estimate: &Estimate,
    question: &Question,
    comparisons: usize,
    quantiles: &mut Quantiles,
) -> bool {
    let again = || RepeatDesign {
        row: comparisons,
        model_error: question.model_error,
        ..frame.whole_design(question.level)
    };
    frame.plan.terms.design != Design::Race || claim::is_found_again(estimate, &again(), quantiles)
}

/// A claim the other way round.
fn turned(claim: &Claim) -> Claim {
    Claim {
        subject: claim.against.clone(),
        against: claim.subject.clone(),
        ratio: 1.0 / claim.ratio,
        interval: claim.interval.map(|interval| interval.reciprocal()),
        same_interval: claim.same_interval.map(|interval| interval.reciprocal()),
        by_order: claim.by_order.map(|ratios| ratios.reciprocal()),
        answer: claim.answer.turned(),
        ..claim.clone()
    }
}

/// One of several that were not told apart: what a race has named before these trials, or by the
/// rule.
fn picked(
    frame: &Frame<'_, '_>,
    candidates: &[usize],
    regret: impl Fn(usize) -> f64,
) -> Option<(usize, PickedBy)> {
    let members = &frame.members;
    let place = |configuration: usize| members.iter().position(|one| *one == configuration);
    let named = frame.named.and_then(place).filter(|named| candidates.contains(named));
    if let Some(named) = named {
        return Some((named, PickedBy::Race));
    }
    let tie: Vec<usize> = candidates.iter().map(|place| members[*place]).collect();
    let (one, by) = verdict::pick(&frame.plan.configurations, &tie, regret, frame.plan.margin)?;
    Some((place(one)?, by))
}

/// The tie as it is said.
fn tie_of(frame: &Frame<'_, '_>, scores: &[Score], places: &[usize], picked_by: PickedBy) -> Tie {
    let plan = frame.plan;
    let of = |place: &usize| &plan.configurations[frame.members[*place]];
    let tied: Vec<&Configuration> = places.iter().map(of).collect();
    let intervals = tied
        .iter()
        .filter_map(|one| scores.iter().find(|score| score.configuration == one.id)?.interval());
    let range = intervals.reduce(Interval::spanning);
    let all: Vec<&Configuration> = frame
        .members
        .iter()
        .filter(|member| Some(**member) != frame.baseline)
        .map(|member| &plan.configurations[*member])
        .collect();
    let axes: Vec<String> = plan.axes.iter().map(|axis| axis.name.clone()).collect();
    Tie {
        configurations: tied.iter().map(|one| one.id.clone()).collect(),
        range,
        span: verdict::span(&all, &tied, &axes),
        picked_by,
    }
}

/// That a configuration was not compared, where it was not.
fn not_compared(configuration: String, claim: Option<&Claim>) -> Option<Reservation> {
    match claim {
        None => Some(Reservation::NotCompared { configuration, reason: None }),
        Some(Claim { invalid: Some(claim::Invalid::TooFew { reason, .. }), .. }) => {
            Some(Reservation::NotCompared { configuration, reason: reason.clone() })
        }
        Some(_) => None,
    }
}

/// How far predictions are off that what is taken rests on: beside the baseline, or where that is
/// taken beside all others.
fn error_of(
    frame: &Frame<'_, '_>,
    take: usize,
    others: &[usize],
    workloads: &[usize],
) -> Option<ModelError> {
    let pairs: Vec<[usize; 2]> = if Some(take) == frame.baseline && !others.is_empty() {
        others.iter().map(|other| [*other, take]).collect()
    } else {
        vec![[take, frame.baseline.unwrap_or(take)]]
    };
    all_of(pairs.into_iter().map(|both| model_error(frame.plan, both, workloads)))
}

/// A headline that takes nothing, with how others stand to what might be best.
fn undecided(
    frame: &Frame<'_, '_>,
    choice: &Choice,
    rival: impl Fn(usize) -> Option<Answer>,
) -> Headline {
    let Frame { plan, members, .. } = frame;
    let of_answer = |wanted: Answer| -> Vec<String> {
        (0..members.len())
            .filter(|place| rival(*place) == Some(wanted))
            .map(|place| plan.configurations[members[place]].id.clone())
            .collect()
    };
    Headline {
        verdict: choice.verdict.clone(),
        take: None,
        tie: None,
        losses: Vec::new(),
        cost: None,
        claim: None,
        sure: false,
        in_model: frame.in_model && choice.verdict.is_answer(),
        ahead_of_all: false,
        same: of_answer(Answer::Same),
        open: of_answer(Answer::Open),
        reservations: Vec::new(),
    }
}

/// What the scores come to: what to take, how sure, and what it does not say.
fn headline(
    frame: &Frame<'_, '_>,
    scores: &[Score],
    choice: &Choice,
    known: &KindClaims<'_>,
    rival: impl Fn(usize) -> Option<Answer>,
) -> Headline {
    let Frame { plan, members, baseline, .. } = frame;
    let id = |configuration: usize| plan.configurations[configuration].id.clone();
    let claim = |configuration: usize| {
        let id = &plan.configurations[configuration].id;
        scores.iter().find(|score| score.configuration == *id)?.versus_baseline.as_ref()
    };
    let others: Vec<usize> =
        members.iter().copied().filter(|member| Some(*member) != *baseline).collect();
    let of_other = |other: &usize| not_compared(id(*other), claim(*other));
    let mut reservations: Vec<Reservation> = others.iter().filter_map(of_other).collect();
    let undecided = undecided(frame, choice, rival);
    let Some(take) = choice.take.map(|place| members[place]) else {
        return Headline { reservations, ..undecided };
    };
    // What the sentence rests on: the claim of what is taken, or those of all others.
    let rests_on: Vec<&Claim> = if Some(take) == *baseline {
        scores.iter().filter_map(|score| score.versus_baseline.as_ref()).collect()
    } else {
        claim(take).into_iter().collect()
    };
    let valid: Vec<&&Claim> = rests_on.iter().filter(|claim| claim.invalid.is_none()).collect();
    let (busy, pairs) =
        valid.iter().fold((0, 0), |(busy, pairs), claim| (busy + claim.busy, pairs + claim.pairs));
    let is_busy = 2 * busy > pairs;
    if is_busy {
        reservations.push(Reservation::Busy { busy, pairs });
    }
    let error = error_of(frame, take, &others, &known.workloads);
    let modelled = plan.configurations[take].modelled;
    if modelled {
        let cases = error.map_or(0, |known| known.cases);
        reservations.push(Reservation::Modelled { error: error.map(|known| known.error), cases });
    }
    let is_known = !modelled || error.is_some_and(|known| known.cases >= MODEL_CASES_MIN);
    // What a race says must hold in the whole design, whose trials are others.
    let own = choice.take.unwrap_or_default();
    let again_against = |place: usize| place == own || known.is_found_again(own, place);
    let again_against_all = (0..members.len()).all(again_against);
    let all_behind = !valid.is_empty() && valid.iter().all(|claim| claim.answer == Answer::Behind);
    // Of those that a race has dropped nothing is claimed.
    let ahead_of_all = undecided.same.is_empty()
        && undecided.open.is_empty()
        && members.len() == frame.of
        && again_against_all
        && (Some(take) != *baseline || all_behind);
    let decided = if Some(take) == *baseline {
        ahead_of_all
    } else {
        valid.iter().all(|claim| claim.answer == Answer::Ahead) && !valid.is_empty()
    };
    let is_found_again = known.base.is_none_or(again_against);
    if decided && !is_found_again {
        reservations.push(Reservation::WholeDesignOpen);
    }
    Headline {
        take: Some(id(take)),
        tie: choice.tie.as_ref().map(|(places, by)| tie_of(frame, scores, places, *by)),
        claim: claim(take).cloned(),
        sure: decided && !is_busy && is_known && is_found_again && !frame.in_model,
        in_model: frame.in_model,
        ahead_of_all,
        reservations,
        ..undecided
    }
}

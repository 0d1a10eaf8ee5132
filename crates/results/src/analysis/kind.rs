//! Scores of one kind of work, and what they come to in one headline.

use std::collections::BTreeMap;

use crate::claim::{
    self, Answer, Claim, Family, LEVEL, Over, PAIRS_MIN, Quantiles, Question, Sample,
};
use crate::doubt::Silence;
use crate::types::{Better, Group, Plan, Workload};
use crate::{bounds, course};

use super::rows::claim_of;
use super::{Headline, KindResult, LeftOut, Reservation, Score, model_error};
use crate::voices::{Table, Voices, pair};

/// What a kind is judged within.
pub(super) struct Frame<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) table: &'a Table<'b>,
    /// Indices of the comparison's configurations in the plan's order.
    pub(super) members: &'a [usize],
    pub(super) baseline: Option<usize>,
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
}

/// Scores and headline of the workloads of one kind, or of all.
pub(super) fn result(frame: &Frame<'_, '_>, group: Option<Group>) -> KindResult {
    let Frame { plan, members, .. } = *frame;
    let id = |configuration: usize| plan.configurations[configuration].id.clone();
    let of_kind = |workload: &Workload| group.is_none_or(|group| workload.group == group);
    // A workload of weight 0 is shown but has no say, and need not be complete.
    let wanted: Vec<(usize, &Workload, &str)> = plan
        .workloads
        .iter()
        .enumerate()
        .filter(|(_, workload)| of_kind(workload) && workload.weight > 0.0)
        .map(|(index, workload)| (index, workload, frame.metrics[index].as_str()))
        .collect();
    let (counted, left_out) = counted(frame, wanted);
    let known = Known::of(frame, &counted);
    let terms = Terms::of(frame);
    let (choice, take) = known.choice(frame, &terms);

    let scores = known.scores(frame, take);
    let headline = headline(frame, &scores, take.map(|take| members[take]), |place| {
        // What else might be best, and how it stands to what is taken.
        take.filter(|take| *take != place && choice.best.contains(&place))
            .map(|take| known.answer(place, take))
    });
    let headline = with_terms(frame, headline, left_out, &terms, take);
    KindResult {
        group,
        workloads: plan
            .workloads
            .iter()
            .filter(|workload| of_kind(workload))
            .map(|workload| workload.name.clone())
            .collect(),
        named: frame.named.map(id),
        scores,
        leader: choice.leader.map(|place| id(members[place])),
        best_set: choice.best.into_iter().map(|place| id(members[place])).collect(),
        recommended: take.map(|take| id(members[take])),
        headline,
    }
}

/// The claims of a kind, between places of its members.
struct Known {
    /// Place of the baseline.
    base: Option<usize>,
    /// The places of all others.
    others: Vec<usize>,
    /// Own place, other place -> what is said of the first against the second, each pair one way
    /// round.
    claims: BTreeMap<(usize, usize), Claim>,
}

/// Who may be taken.
struct Choice {
    /// All that no other one is surely ahead of, best first.
    best: Vec<usize>,
    /// The one with the highest score.
    leader: Option<usize>,
}

impl Known {
    /// Makes them all: of each against the baseline, and of all pairs of the others.
    fn of(frame: &Frame<'_, '_>, counted: &[(usize, &Workload, &str)]) -> Self {
        let Frame { plan, table, members, baseline, .. } = *frame;
        let voices: Vec<Voices> =
            members.iter().map(|member| table.scores(*member, counted)).collect();
        let base = members.iter().position(|member| Some(*member) == baseline);
        let others: Vec<usize> = (0..members.len()).filter(|place| Some(*place) != base).collect();
        let rivals = others.len() * others.len().saturating_sub(1) / 2;
        // Half of the headline's level for each kind of question, the whole where there is one.
        let shares = (frame.headlines.max(1) * frame.looks.max(1)) as f64;
        let share = shares * if rivals > 0 { 2.0 } else { 1.0 };
        let question = |configurations: [usize; 2], comparisons: usize| {
            let family =
                Family { over: Over::Report, comparisons: share * comparisons.max(1) as f64 };
            let question = Question {
                better: Some(Better::Higher),
                margin: plan.margin,
                level: family.level(),
                same_level: LEVEL / shares,
                model_error: model_error(plan, configurations).unwrap_or(0.0),
            };
            (family, question)
        };
        let mut quantiles = Quantiles::default();
        let mut claims = |asked: &[(usize, usize)]| -> BTreeMap<(usize, usize), Claim> {
            let pairs: Vec<_> = asked
                .iter()
                .map(|(own, other)| pair(&voices[*own], &voices[*other], table.machines))
                .collect();
            let samples: Vec<Option<Sample>> = pairs
                .iter()
                .map(|pairs| {
                    Sample::paired(&pairs.differences)
                        .filter(|_| pairs.differences.len() >= PAIRS_MIN)
                })
                .collect();
            let estimates = claim::estimates(&samples);
            let mut found = BTreeMap::new();
            for ((asked, pairs), estimate) in asked.iter().zip(&pairs).zip(estimates) {
                let both = [members[asked.0], members[asked.1]];
                let (family, question) = question(both, samples.len());
                let claim = claim_of(
                    plan,
                    both,
                    "score",
                    pairs,
                    estimate,
                    family,
                    (&question, frame.done),
                    &mut quantiles,
                );
                found.extend(claim.map(|claim| (*asked, claim)));
            }
            found
        };
        let against_base: Vec<(usize, usize)> =
            base.map_or_else(Vec::new, |base| others.iter().map(|other| (*other, base)).collect());
        let against_each_other: Vec<(usize, usize)> = others
            .iter()
            .enumerate()
            .flat_map(|(place, first)| {
                others[place + 1..].iter().map(move |second| (*first, *second))
            })
            .collect();
        let mut known = claims(&against_base);
        known.extend(claims(&against_each_other));
        Self { base, others, claims: known }
    }

    /// Of `own` against `other`, whichever way round it was asked.
    fn answer(&self, own: usize, other: usize) -> Answer {
        match self.claims.get(&(own, other)) {
            Some(claim) => claim.answer,
            None => {
                let other_way = self.claims.get(&(other, own));
                other_way.map_or(Answer::Open, |claim| claim.answer.turned())
            }
        }
    }

    fn versus_base(&self, place: usize) -> Option<&Claim> {
        self.base.and_then(|base| self.claims.get(&(place, base)))
    }

    fn is_valid(&self, place: usize) -> bool {
        self.versus_base(place).is_some_and(|claim| claim.invalid.is_none())
    }

    /// Who may be taken, and who is.
    fn choice(&self, frame: &Frame<'_, '_>, terms: &Terms) -> (Choice, Option<usize>) {
        let members = frame.members;
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
        let ahead = |place: &usize| {
            self.versus_base(*place).is_some_and(|claim| claim.answer == Answer::Ahead)
        };
        // The baseline while it may be the best, since there is then no reason to leave it; else
        // the highest score of those surely ahead of it.
        let take = self
            .base
            .filter(|base| best.contains(base))
            .or_else(|| {
                // What was chosen before these trials is not flattered by them.
                let named =
                    frame.named.and_then(|named| members.iter().position(|one| *one == named));
                named.filter(|named| best.contains(named)).filter(ahead)
            })
            .or_else(|| best.iter().copied().find(ahead))
            .or_else(|| best.first().copied());
        let mut all = racing;
        best_first(&mut all);
        (Choice { best, leader: all.first().copied() }, take)
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
        let mut scores = Vec::new();
        for (place, member) in frame.members.iter().enumerate() {
            let claim = self.versus_base(place).cloned();
            let is_base = Some(place) == self.base;
            let is_compared = claim.is_some() || is_base && !self.claims.is_empty();
            if !is_compared {
                continue;
            }
            let versus_take = take.filter(|take| *take != place && !is_base).and_then(|take| {
                let other_way = || self.claims.get(&(take, place)).map(turned);
                self.claims.get(&(place, take)).cloned().or_else(other_way)
            });
            scores.push(Score {
                configuration: frame.plan.configurations[*member].id.clone(),
                pairs: claim.as_ref().map_or(base_pairs, |claim| claim.pairs),
                ratio: claim.as_ref().map_or(1.0, |claim| claim.ratio),
                versus_take: versus_take.filter(|_| take != self.base),
                versus_baseline: claim,
            });
        }
        scores
    }
}

/// How the members stand to what the plan demands.
struct Terms {
    /// What keeps a place from being taken: what the plan knew, or a bound that its figures pass.
    ruled_out: BTreeMap<usize, String>,
    /// Bounds that a place holds, and not surely.
    doubtful: BTreeMap<usize, Vec<Reservation>>,
}

impl Terms {
    fn of(frame: &Frame<'_, '_>) -> Self {
        let Frame { plan, table, members, .. } = *frame;
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
                    let chance = if held.surely_fails() { "" } else { ", which may be chance" };
                    let reason = format!("not {} in {workload}{chance}", held.bound.text);
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
/// fewer than [`PAIRS_MIN`] blocks of the baseline, or of most configurations.
fn counted<'w>(
    frame: &Frame<'_, '_>,
    wanted: Vec<(usize, &'w Workload, &'w str)>,
) -> (Vec<(usize, &'w Workload, &'w str)>, Vec<LeftOut>) {
    let Frame { plan, table, members, baseline, .. } = *frame;
    let mut left_out = Vec::new();
    let all = wanted.clone();
    let counted: Vec<_> = wanted
        .into_iter()
        .filter(|(index, workload, metric)| {
            let mut reason = None;
            let mut votes = |configuration: usize| {
                let voices = table.voices(configuration, *index, metric);
                let silent = voices.values().find_map(|voice| voice.silent.clone());
                let unmeasured = || {
                    let trials = table.cell(configuration, *index);
                    let mut flags = trials.flat_map(|(_, trial)| &trial.flags);
                    let found = flags.find(|doubt| doubt.why_not_measured().is_some());
                    found.cloned().map(Silence::Doubtful)
                };
                let why = silent.or_else(|| voices.is_empty().then(unmeasured).flatten());
                let voting = voices.values().filter(|voice| voice.silent.is_none()).count();
                if voting < PAIRS_MIN && reason.is_none() {
                    reason = why;
                }
                voting >= PAIRS_MIN
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

/// A claim the other way round.
fn turned(claim: &Claim) -> Claim {
    Claim {
        subject: claim.against.clone(),
        against: claim.subject.clone(),
        ratio: 1.0 / claim.ratio,
        interval: claim.interval.map(|interval| interval.reciprocal()),
        same_interval: claim.same_interval.map(|interval| interval.reciprocal()),
        answer: claim.answer.turned(),
        ..claim.clone()
    }
}

/// What the scores come to: what to take, how sure, and what it does not say.
fn headline(
    frame: &Frame<'_, '_>,
    scores: &[Score],
    take: Option<usize>,
    rival: impl Fn(usize) -> Option<Answer>,
) -> Headline {
    let Frame { plan, members, baseline, .. } = *frame;
    let id = |configuration: usize| plan.configurations[configuration].id.clone();
    let score = |configuration: usize| {
        scores.iter().find(|score| score.configuration == plan.configurations[configuration].id)
    };
    let mut reservations = Vec::new();
    let others: Vec<usize> =
        members.iter().copied().filter(|member| Some(*member) != baseline).collect();
    for other in &others {
        match score(*other).and_then(|score| score.versus_baseline.as_ref()) {
            None => reservations
                .push(Reservation::NotCompared { configuration: id(*other), reason: None }),
            Some(Claim { invalid: Some(crate::claim::Invalid::TooFew { reason, .. }), .. }) => {
                reservations.push(Reservation::NotCompared {
                    configuration: id(*other),
                    reason: reason.clone(),
                });
            }
            Some(_) => (),
        }
    }
    let of_answer = |wanted: Answer| -> Vec<String> {
        (0..members.len())
            .filter(|place| rival(*place) == Some(wanted))
            .map(|place| id(members[place]))
            .collect()
    };
    let (same, open) = (of_answer(Answer::Same), of_answer(Answer::Open));
    let Some(take) = take else {
        return Headline {
            take: None,
            claim: None,
            sure: false,
            ahead_of_all: false,
            same,
            open,
            reservations,
        };
    };
    // What the sentence rests on: the claim of what is taken, or those of all others.
    let rests_on: Vec<&Claim> = if Some(take) == baseline {
        scores.iter().filter_map(|score| score.versus_baseline.as_ref()).collect()
    } else {
        score(take).and_then(|score| score.versus_baseline.as_ref()).into_iter().collect()
    };
    let valid: Vec<&&Claim> = rests_on.iter().filter(|claim| claim.invalid.is_none()).collect();
    let (busy, pairs) =
        valid.iter().fold((0, 0), |(busy, pairs), claim| (busy + claim.busy, pairs + claim.pairs));
    let is_busy = 2 * busy > pairs;
    if is_busy {
        reservations.push(Reservation::Busy { busy, pairs });
    }
    let error = model_error(plan, [take, baseline.unwrap_or(take)]);
    let modelled = plan.configurations[take].modelled;
    if modelled {
        reservations.push(Reservation::Modelled { error });
    }
    let all_behind = !valid.is_empty() && valid.iter().all(|claim| claim.answer == Answer::Behind);
    let ahead_of_all = same.is_empty() && open.is_empty() && (Some(take) != baseline || all_behind);
    let decided = if Some(take) == baseline {
        ahead_of_all
    } else {
        valid.iter().all(|claim| claim.answer == Answer::Ahead) && !valid.is_empty()
    };
    Headline {
        take: Some(id(take)),
        claim: score(take).and_then(|score| score.versus_baseline.clone()),
        sure: decided && !is_busy && (!modelled || error.is_some()),
        ahead_of_all,
        same,
        open,
        reservations,
    }
}

//! What several comparisons that ask the same question say together: of the same configurations
//! under other conditions, such as depths, file systems or sizes. The headlines of a report hold
//! together, so that what several of them say may be said in one sentence.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::verdict::{self, Tie, Verdict};
use super::{Comparison, KindResult};
use crate::statistics::Interval;
use crate::types::{Configuration, Plan};

/// Comparisons, one after the other in the plan, that come to the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointPart {
    /// Their places among the comparisons.
    pub comparisons: Vec<usize>,
    /// What they come to.
    pub verdict: Verdict,
    /// What is taken: its identity in the first of them.
    pub take: Option<String>,
    /// Whether it is sure in all of them.
    pub sure: bool,
    /// Those that are tied in all of them, by their identities in the first; none where it is one.
    pub tie: Option<Tie>,
    /// From where to where what is taken, or the tie, lies in all of them, in times of the
    /// baseline; none where nothing is taken.
    pub range: Option<Interval>,
}

/// A configuration by what tells it from others in its comparison.
type OwnSettings<'a> = BTreeMap<&'a str, &'a str>;

fn own<'a>(comparison: &'a Comparison, id: &str) -> Option<OwnSettings<'a>> {
    let member = comparison.configurations.iter().find(|member| member.id == id)?;
    let value = |axis: &'a String| Some((axis.as_str(), member.settings.get(axis)?.as_str()));
    Some(comparison.axes.iter().filter_map(value).collect())
}

fn others(comparison: &Comparison) -> BTreeSet<OwnSettings<'_>> {
    let ids = comparison.configurations.iter().map(|member| &member.id);
    ids.filter(|id| **id != comparison.baseline).filter_map(|id| own(comparison, id)).collect()
}

/// What the comparisons say together; nothing where there is one, or where they ask different
/// questions.
pub(super) fn joint(plan: &Plan, comparisons: &[Comparison]) -> Vec<JointPart> {
    let [first, rest @ ..] = comparisons else { return Vec::new() };
    let asks_the_same = |other: &Comparison| {
        other.axes == first.axes && other.shared == first.shared && others(other) == others(first)
    };
    if rest.is_empty() || first.axes.is_empty() || !rest.iter().all(asks_the_same) {
        return Vec::new();
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in 0..comparisons.len() {
        match groups.last_mut() {
            Some(group) if says_the_same(&comparisons[group[0]], &comparisons[place]) => {
                group.push(place);
            }
            _ => groups.push(vec![place]),
        }
    }
    groups.into_iter().filter_map(|group| part(plan, comparisons, group)).collect()
}

fn says_the_same(one: &Comparison, other: &Comparison) -> bool {
    let (Some(left), Some(right)) = (one.overall(), other.overall()) else { return false };
    let taken = |comparison, kind: &'_ KindResult| {
        kind.headline.take.as_ref().map(|take| own(comparison, take))
    };
    std::mem::discriminant(&left.headline.verdict)
        == std::mem::discriminant(&right.headline.verdict)
        && taken(one, left) == taken(other, right)
        && one.modelled == other.modelled
}

fn part(plan: &Plan, comparisons: &[Comparison], group: Vec<usize>) -> Option<JointPart> {
    let all: Vec<(&Comparison, &KindResult)> = group
        .iter()
        .filter_map(|place| Some((&comparisons[*place], comparisons[*place].overall()?)))
        .collect();
    let (first, kind) = *all.first()?;
    let headline = &kind.headline;
    let is_taken = headline.verdict == Verdict::Take;
    let tied = |(comparison, kind): &(&Comparison, &KindResult)| -> Vec<String> {
        let tie = kind.headline.tie.as_ref().map(|tie| tie.configurations.clone());
        let only = || kind.headline.take.clone().into_iter().collect();
        tie.unwrap_or_else(only).into_iter().filter(|id| *id != comparison.baseline).collect()
    };
    // Of each comparison, those that are tied in all of them.
    let sets: Vec<BTreeSet<OwnSettings<'_>>> =
        all.iter().map(|one| tied(one).iter().filter_map(|id| own(one.0, id)).collect()).collect();
    let is_common = |comparison, id: &String| {
        own(comparison, id).is_some_and(|it| sets.iter().all(|set| set.contains(&it)))
    };
    let intervals = all.iter().flat_map(|one| {
        let common = tied(one).into_iter().filter(|id| is_common(one.0, id));
        common.filter_map(|id| one.1.score(&id)?.interval()).collect::<Vec<_>>()
    });
    let range = intervals.filter(|_| is_taken).reduce(Interval::spanning);
    let common: Vec<String> = tied(&all[0]).into_iter().filter(|id| is_common(first, id)).collect();
    let tie = headline.tie.as_ref().filter(|_| common.len() > 1).map(|tie| {
        let of = |id: &String| plan.configurations.iter().find(|one| one.id == *id);
        let members: Vec<&Configuration> = first
            .configurations
            .iter()
            .filter(|member| member.id != first.baseline)
            .filter_map(|member| of(&member.id))
            .collect();
        let those: Vec<&Configuration> = common.iter().filter_map(of).collect();
        Tie {
            span: verdict::span(&members, &those, &first.axes),
            configurations: common.clone(),
            range,
            picked_by: tie.picked_by,
        }
    });
    // The worst of them.
    let verdict = all
        .iter()
        .map(|(_, kind)| &kind.headline.verdict)
        .max_by(|one, other| one.size().total_cmp(&other.size()))?
        .clone();
    Some(JointPart {
        verdict,
        take: headline.take.clone(),
        sure: is_taken && all.iter().all(|(_, kind)| kind.headline.sure),
        tie,
        range,
        comparisons: group,
    })
}

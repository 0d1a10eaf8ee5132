//! Speed for all of the work against usable space, with how many drives may die: what there is to
//! choose from, at one look.

use std::collections::BTreeSet;

use results::analysis::Analysis;
use results::types::{Configuration, Run};

use crate::survival;
use crate::table::{self, Table, number, words};
use crate::words::say;
use crate::{charts, numbers};

/// Fewer layouts than this are no choice.
const POINTS_MIN: usize = 3;

/// A layout.
pub(crate) struct SpacePoint {
    /// What stands at it; empty where another of its kind is faster.
    pub(crate) name: String,
    /// All that is said of it when it is pointed at.
    pub(crate) text: String,
    /// Its cell ([`charts::place`]) of the first work.
    pub(crate) cell: String,
    /// Times as fast as the baseline.
    pub(crate) ratio: f64,
    pub(crate) usable_bytes: u64,
    /// So many drives may die, whichever they are.
    pub(crate) losses: u32,
    /// Whether it is what the answer takes.
    pub(crate) is_taken: bool,
}

/// The layouts of a comparison that say what they offer and survive.
pub(crate) struct SpaceChart {
    pub(crate) title: String,
    pub(crate) points: Vec<SpacePoint>,
    /// What each number of drives that may die is called, from the fewest.
    pub(crate) losses: Vec<(u32, String)>,
    pub(crate) table: Table,
}

/// Kind of a layout, chunks left out: `raid10 n2`.
fn kind(configuration: &Configuration) -> String {
    let part = |axis: &str| configuration.settings.get(axis).map(String::as_str);
    [part("level"), part("layout")].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Of the only comparison of a run, where layouts differ in what they offer or survive.
pub(crate) fn chart(run: &Run, analysis: &Analysis) -> Option<SpaceChart> {
    let [comparison] = &analysis.comparisons[..] else { return None };
    let overall = comparison.overall()?;
    let workload = run.plan.workloads.first()?;
    let take = overall.headline.take.as_ref();
    let mut points: Vec<(String, SpacePoint)> = Vec::new();
    let mut rows = Vec::new();
    for score in &overall.scores {
        let known = run.plan.configurations.iter().find(|one| one.id == score.configuration)?;
        let (Some(usable), Some(survives)) = (&known.usable, &known.survives) else { continue };
        // Beside the drive that all are compared with, one alone is an array that lost some.
        let is_baseline = known.id == comparison.baseline;
        if known.settings.get("level").is_some_and(|level| level == "single") && !is_baseline {
            continue;
        }
        let label = table::label(comparison, &known.id);
        let (size, survived) = (numbers::size(usable.bytes), survival::drives(Some(survives)));
        let figure = if is_baseline { "1".to_owned() } else { numbers::score_whole(score) };
        let text = [&*label, &figure, &size, &survived].join(", ");
        rows.push(vec![label, figure, size, survived]);
        points.push((
            kind(known),
            SpacePoint {
                name: String::new(),
                text,
                cell: charts::place(run, &known.id, &workload.name),
                ratio: score.ratio,
                usable_bytes: usable.bytes,
                losses: survives.losses(),
                is_taken: take == Some(&known.id),
            },
        ));
    }
    let different: BTreeSet<(u64, u32)> =
        points.iter().map(|(_, point)| (point.usable_bytes >> 20, point.losses)).collect();
    if points.len() < POINTS_MIN || different.len() < 2 {
        return None;
    }
    name_the_fastest(&mut points);
    let points: Vec<SpacePoint> = points.into_iter().map(|(_, point)| point).collect();
    Some(SpaceChart {
        title: say!(SPACE_TITLE, baseline = table::label(comparison, &comparison.baseline)),
        losses: losses(run, &points),
        points,
        table: Table {
            caption: say!(SPACE_CAPTION),
            columns: vec![
                words(say!(CONFIGURATION)),
                number(say!(SCORE)),
                number(say!(USABLE_SPACE)),
                words(say!(SURVIVES)),
            ],
            rows,
        },
    })
}

/// Of layouts that differ in their chunk alone the fastest is named.
fn name_the_fastest(points: &mut [(String, SpacePoint)]) {
    let kinds: BTreeSet<String> = points.iter().map(|(kind, _)| kind.clone()).collect();
    for kind in kinds {
        let own = points.iter_mut().filter(|(known, _)| *known == kind);
        let fastest = own.max_by(|one, other| one.1.ratio.total_cmp(&other.1.ratio));
        if let Some((_, point)) = fastest {
            point.name = kind;
        }
    }
}

fn losses(run: &Run, points: &[SpacePoint]) -> Vec<(u32, String)> {
    let counts: BTreeSet<u32> = points.iter().map(|point| point.losses).collect();
    let called = |count: u32| {
        let mut known = run.plan.configurations.iter().filter_map(|one| one.survives.as_ref());
        survival::drives(known.find(|survives| survives.losses() == count))
    };
    counts.into_iter().map(|count| (count, called(count))).collect()
}

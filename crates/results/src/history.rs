//! One figure of the same cells over many runs, and where it changed.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::Analysis;
use crate::compare::{Aspect, Limit, RunDifference, differing};
use crate::statistics::{self, Interval};
use crate::types::{BetterDirection, Clock, Run, cell_id};

/// Chance of a mark among all series of a history in which nothing changed.
const LEVEL: f64 = 0.05;

/// What a run says of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// What the run is called by whoever asks: its folder.
    pub run: String,
    /// When it began, in RFC 3339.
    pub started: String,
    /// Median, in the metric's base unit.
    pub median: f64,
    /// Interval of the median; none below 6 trials.
    pub interval: Option<Interval>,
}

/// Where a series changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangePoint {
    /// The first run behind the change, by index.
    pub from: usize,
    /// Ratio of the geometric means behind it and before it.
    pub ratio: f64,
    /// p-value of "the order of the runs means nothing".
    pub p: f64,
}

/// One metric of one cell over the runs that have it, the oldest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// [`cell_id`], with the clock: modelled and measured figures are never one series.
    pub cell: String,
    /// The settings for people.
    pub configuration: String,
    /// The workload.
    pub workload: String,
    /// Name of the metric.
    pub metric: String,
    /// Which direction is better, where the workload is judged by this metric.
    pub better: Option<BetterDirection>,
    /// The runs.
    pub points: Vec<Point>,
    /// Where it changed, if that is sure.
    pub change: Option<ChangePoint>,
    /// What is not as in the latest run: figures under other conditions are a series of their own.
    pub differing: Vec<RunDifference>,
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// A metric's name or the beginning of one, as limits have it; none for what each workload is
    /// judged by.
    pub metric: Option<String>,
    /// Words that the configuration and the workload together must all have.
    pub words: Vec<String>,
    /// What may differ between the runs of one series.
    pub allowed: Vec<Aspect>,
}

/// Runs under the same conditions, those of the latest first.
struct Conditions<'a> {
    latest: &'a Run,
    kinds: Vec<(&'a Run, Vec<RunDifference>)>,
    allowed: &'a [Aspect],
}

impl<'a> Conditions<'a> {
    fn differing(&self, one: &Run, other: &Run) -> Vec<RunDifference> {
        let mut found = differing(one, other);
        found.retain(|differing| !self.allowed.contains(&differing.aspect));
        found
    }

    /// The number of the kind that a run is of.
    fn kind_of(&mut self, run: &'a Run) -> usize {
        let known = self.kinds.iter().position(|(one, _)| self.differing(one, run).is_empty());
        known.unwrap_or_else(|| {
            self.kinds.push((run, self.differing(self.latest, run)));
            self.kinds.len() - 1
        })
    }
}

/// The series of runs that were analysed, in the order of the latest run's plan.
///
/// A change point is the split whose means of logarithms differ most, each split weighed by how
/// well it is known: the likelihood-ratio statistic for one shift of a normal mean (Sen and
/// Srivastava 1975), held against 999 permutations ([`statistics::step`]). It is marked where its p
/// is below 5 % divided by the number of series (Bonferroni), so that of histories in which nothing
/// changed at most 5 % have any mark. Runs whose figures [`differing`] says are not comparable are
/// in series of their own. Eight runs are the fewest. Of several changes the largest is
/// marked; and what changed, the figures do not say.
#[must_use]
pub fn history(runs: &[(String, Run, Analysis)], wanted: &HistoryFilter) -> Vec<Series> {
    let mut order: Vec<&(String, Run, Analysis)> = runs.iter().collect();
    order.sort_by(|one, other| one.1.host.started.cmp(&other.1.host.started));
    let mut found: Vec<Series> = Vec::new();
    let mut places: BTreeMap<(String, String, usize), usize> = BTreeMap::new();
    let Some((_, latest, _)) = order.last() else { return found };
    let mut conditions = Conditions { latest, kinds: Vec::new(), allowed: &wanted.allowed };
    // The latest plan says in which order they are shown.
    for (name, run, analysis) in order.iter().rev() {
        let kind = conditions.kind_of(run);
        for (workload, cell, member, clock) in cells(run, analysis) {
            let is_meant = |metric: &&crate::analysis::Metric| match &wanted.metric {
                None => true,
                Some(wanted) => {
                    let limit = Limit { metric: wanted.clone(), below: true, change: 0.0 };
                    limit.is_about(&metric.name)
                }
            };
            let Some(metric) = cell.metrics.iter().find(is_meant) else { continue };
            let configuration = crate::settings_text(member.settings.keys(), &member.settings);
            let text = format!("{configuration} {}", workload.name);
            if !wanted.words.iter().all(|word| text.contains(word.as_str())) {
                continue;
            }
            let id = format!(
                "{}{}",
                cell_id(&member.settings, &workload.name),
                match clock {
                    Clock::Wall => "",
                    Clock::Virtual => "-modelled",
                }
            );
            let place = (id.clone(), metric.name.clone(), kind);
            let place = *places.entry(place).or_insert_with(|| {
                found.push(Series {
                    cell: id,
                    configuration,
                    workload: workload.name.clone(),
                    metric: metric.name.clone(),
                    better: (metric.name == workload.metric).then_some(workload.better),
                    points: Vec::new(),
                    change: None,
                    differing: conditions.kinds[kind].1.clone(),
                });
                found.len() - 1
            });
            found[place].points.push(Point {
                run: name.clone(),
                started: run.host.started.clone(),
                median: metric.median,
                interval: metric.interval,
            });
        }
    }
    let level = LEVEL / found.len().max(1) as f64;
    for series in &mut found {
        series.points.reverse();
        series.change = change(&series.points).filter(|change| change.p < level);
    }
    found
}

/// The cells of a run, in the plan's order.
fn cells<'a>(
    run: &'a Run,
    analysis: &'a Analysis,
) -> impl Iterator<
    Item = (
        &'a crate::types::Workload,
        &'a crate::analysis::Cell,
        &'a crate::types::Configuration,
        Clock,
    ),
> {
    run.plan.configurations.iter().flat_map(move |member| {
        run.plan.workloads.iter().filter_map(move |workload| {
            let mut comparisons = analysis.comparisons.iter();
            let cell = comparisons.find_map(|one| one.cell(&member.id, &workload.name))?;
            Some((workload, cell, member, member.clock))
        })
    })
}

fn change(points: &[Point]) -> Option<ChangePoint> {
    let logarithms: Vec<f64> = points.iter().map(|point| point.median.ln()).collect();
    if logarithms.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let step = statistics::step(&logarithms)?;
    Some(ChangePoint { from: step.after, ratio: step.change.exp(), p: step.p })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(figures: &[f64]) -> Vec<Point> {
        let point = |figure: &f64| Point {
            run: String::new(),
            started: String::new(),
            median: *figure,
            interval: None,
        };
        figures.iter().map(point).collect()
    }

    #[test]
    fn a_change_is_found_where_it_was_planted() {
        let noise = [1.0, 1.01, 0.99, 1.02, 0.98, 1.005, 0.995, 1.0, 1.01, 0.985, 1.0, 1.0];
        let mut figures: Vec<f64> = noise.iter().map(|noise| 1e8 * noise).collect();
        let calm = change(&points(&figures)).unwrap();
        assert!(calm.p > 0.1, "{calm:?}");
        figures[7..].iter_mut().for_each(|figure| *figure *= 0.8);
        let found = change(&points(&figures)).unwrap();
        assert!(found.from == 7 && found.p < 0.01 && (found.ratio - 0.8).abs() < 0.01);
        // Too few, and what has no logarithm.
        assert_eq!(change(&points(&figures[..7])), None);
        figures[0] = 0.0;
        assert_eq!(change(&points(&figures)), None);
    }
}

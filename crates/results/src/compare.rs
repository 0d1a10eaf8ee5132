//! Two runs against each other: the same cells, measured apart.
//!
//! ```text
//! run A: cell ── figures a1 … am ┐
//!                                ├── all m*n differences of logarithms ── median: the ratio ── interval, p, verdict
//! run B: cell ── figures b1 … bn ┘
//! ```
//!
//! Nothing pairs the trials of one run with those of another, so the shift of two samples is
//! estimated: the median of all differences (Hodges & Lehmann 1963) with the interval that the rank
//! sum gives it, exact where the counts are small (Mann & Whitney 1947). What changed on the
//! machine between the runs looks like a difference too; nothing can tell them apart, which is why
//! a run interleaves its cells.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::analysis::better_of;
use crate::statistics::{self, CONFIDENCE, Interval, Paired, Verdict, holm, verdict};
use crate::types::{Better, Clock, Configuration, Run, Trial, Workload};

/// Above so many figures on a side the normal approximation is used.
const EXACT_MAX: usize = 60;

/// What two samples say about the shift between them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// The median of all differences, second minus first.
    pub estimate: f64,
    /// Interval of 95 %; none where so few figures cannot reach that, as with three on each side.
    pub interval: Option<Interval>,
    /// Two-sided p-value of "no shift"; none where there is no interval.
    pub p: Option<f64>,
}

/// The shift from `first` to `second`. `None` when one of them is empty.
#[must_use]
pub fn shift(first: &[f64], second: &[f64]) -> Option<Shift> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let mut differences: Vec<f64> =
        second.iter().flat_map(|after| first.iter().map(move |before| after - before)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let estimate = statistics::median(&differences)?.median;
    let depth = rank_sum_depth(first.len(), second.len(), 1.0 - CONFIDENCE);
    let interval = depth.map(|depth| Interval {
        low: differences[depth - 1],
        high: differences[differences.len() - depth],
    });
    let p = depth.is_some().then(|| rank_sum_p(&differences, first.len(), second.len()));
    Some(Shift { estimate, interval, p })
}

/// How many differences to count in from either end for an interval that misses with at most
/// `alpha`.
fn rank_sum_depth(first: usize, second: usize, alpha: f64) -> Option<usize> {
    let mut below = 0.0;
    let distribution = distribution(first, second);
    let depth = distribution.iter().take_while(|probability| {
        below += **probability;
        below <= alpha / 2.0
    });
    Some(depth.count()).filter(|depth| *depth > 0)
}

/// Two-sided p-value of U, the number of differences above 0; a difference of 0 counts half,
/// rounded towards no shift.
fn rank_sum_p(differences: &[f64], first: usize, second: usize) -> f64 {
    let above = differences.iter().filter(|difference| **difference > 0.0).count();
    let equal = differences.iter().filter(|difference| **difference == 0.0).count();
    let smaller = above.min(differences.len() - above - equal) + equal.div_ceil(2);
    let tail: f64 = distribution(first, second).iter().take(smaller + 1).sum();
    (2.0 * tail).min(1.0)
}

/// Probability of each U from 0 to `first * second` when both samples come from one distribution. U
/// counts the pairs in which the second is larger:
/// `N(u; m, n) = N(u - n; m - 1, n) + N(u; m, n - 1)`.
fn distribution(first: usize, second: usize) -> Vec<f64> {
    if first > EXACT_MAX || second > EXACT_MAX {
        return approximation(first, second);
    }
    let size = first * second + 1;
    // By n: the probabilities of U for the m figures so far of the first sample.
    let mut table = vec![vec![0.0; size]; second + 1];
    table.iter_mut().for_each(|row| row[0] = 1.0);
    for m in 1..=first {
        let mut next = vec![vec![0.0; size]; second + 1];
        next[0][0] = 1.0;
        for n in 1..=second {
            let share = m as f64 / (m + n) as f64;
            for u in 0..=m * n {
                let with = if u >= n { table[n][u - n] } else { 0.0 };
                next[n][u] = share * with + (1.0 - share) * next[n - 1][u];
            }
        }
        table = next;
    }
    table.swap_remove(second)
}

/// The normal approximation, as probabilities of each U.
fn approximation(first: usize, second: usize) -> Vec<f64> {
    let (m, n) = (first as f64, second as f64);
    let (mean, deviation) = (m * n / 2.0, (m * n * (m + n + 1.0) / 12.0).sqrt());
    let below = |u: f64| statistics::normal_below((u + 0.5 - mean) / deviation);
    (0..=first * second).map(|u| below(u as f64) - below(u as f64 - 1.0)).collect()
}

/// One cell in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellChange {
    /// Axis name to value.
    pub settings: BTreeMap<String, String>,
    /// Name of the workload.
    pub workload: String,
    /// The metric that is compared: the workload's own.
    pub metric: String,
    /// Which direction of it is better.
    pub better: Better,
    /// Trials of the first run and of the second.
    pub trials: [usize; 2],
    /// Medians in the first run and in the second.
    pub medians: [f64; 2],
    /// Second / first.
    pub ratio: f64,
    /// Its interval of 95 %.
    pub ratio_interval: Option<Interval>,
    /// p-value of "no difference", adjusted for the number of cells (Holm 1979).
    pub p: Option<f64>,
    /// The second against the first.
    pub verdict: Option<Verdict>,
}

/// What two runs have in common, and how it changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Changes {
    /// Cells in both, in the first run's order.
    pub cells: Vec<CellChange>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// Compares the second run with the first, cell by cell. Cells are the same when settings and
/// workload are; two runs of one configuration each are compared by workload alone. `margin` is the
/// half-width of "same", as a fraction.
#[must_use]
pub fn compare(first: &Run, second: &Run, margin: f64) -> Changes {
    let mut changes = Changes::default();
    let only = |run: &Run| {
        <[Configuration; 1]>::try_from(run.plan.configurations.clone()).ok().map(|[only]| only)
    };
    let alone = only(first).zip(only(second)).filter(|(first, second)| first.id != second.id);
    if let Some((before, after)) = &alone {
        changes.notes.push(format!(
            "each run has one configuration: {} is compared with {}",
            label(after),
            label(before)
        ));
    }
    let mut missing = 0;
    for configuration in &first.plan.configurations {
        let other = match &alone {
            Some((_, after)) => Some(after),
            None => second.plan.configurations.iter().find(|other| other.id == configuration.id),
        };
        for workload in &first.plan.workloads {
            let known = second.plan.workloads.iter().any(|other| other.name == workload.name);
            let Some(other) = other.filter(|_| known) else {
                missing += 1;
                continue;
            };
            if other.clock != configuration.clock {
                changes.notes.push(format!(
                    "{}: modelled figures are not compared with measured ones",
                    label(configuration)
                ));
                break;
            }
            let figures = [(first, configuration), (second, other)]
                .map(|(run, of)| figures(run, of, workload, &workload.metric));
            match cell(
                configuration,
                workload,
                (&workload.metric, workload.better),
                &figures,
                margin,
            ) {
                Some(cell) => changes.cells.push(cell),
                None => missing += 1,
            }
        }
    }
    if missing > 0 {
        changes.notes.push(format!("{missing} cells of the first run have no figures in both"));
    }
    if changes.cells.iter().any(|cell| cell.ratio_interval.is_none()) {
        changes.notes.push(
            "ratios without an interval rest on too few trials: four on each side are the fewest"
                .to_owned(),
        );
    }
    if first.plan.configurations.iter().any(|configuration| configuration.clock == Clock::Wall)
        && !changes.cells.is_empty()
    {
        changes.notes.push(
            "the runs were not interleaved: what changed on the machine between them cannot \
                be told from a difference"
                .to_owned(),
        );
    }
    let p_values: Vec<f64> = changes.cells.iter().filter_map(|cell| cell.p).collect();
    let mut adjusted = holm(&p_values).into_iter();
    for cell in changes.cells.iter_mut().filter(|cell| cell.p.is_some()) {
        cell.p = adjusted.next();
    }
    changes
}

/// Cells that [`compare`] compares, each by every metric that both runs have of it and that is
/// `wanted`: their own metric and all others. Their p-values stand alone, and there are no
/// verdicts.
#[must_use]
pub fn by_metrics(
    first: &Run,
    second: &Run,
    changes: &Changes,
    wanted: impl Fn(&str) -> bool,
) -> Vec<CellChange> {
    let mut found = Vec::new();
    for change in &changes.cells {
        let of = |run: &Run| {
            run.plan
                .configurations
                .iter()
                .find(|configuration| configuration.settings == change.settings)
                .cloned()
        };
        // One configuration each, whatever their settings: these two were compared.
        let alone = || {
            <[Configuration; 1]>::try_from(second.plan.configurations.clone())
                .ok()
                .map(|[only]| only)
        };
        let Some((before, after)) = of(first).zip(of(second).or_else(alone)) else { continue };
        let Some(workload) =
            first.plan.workloads.iter().find(|workload| workload.name == change.workload)
        else {
            continue;
        };
        let names = |run: &Run, configuration: &Configuration| -> BTreeSet<String> {
            trials(run, configuration, workload)
                .flat_map(|trial| trial.metrics.keys().cloned())
                .collect()
        };
        for metric in names(first, &before)
            .intersection(&names(second, &after))
            .filter(|metric| wanted(metric))
        {
            let better = if *metric == workload.metric {
                workload.better
            } else {
                better_of(metric).unwrap_or(Better::Higher)
            };
            let figures = [(first, &before), (second, &after)]
                .map(|(run, of)| figures(run, of, workload, metric));
            let changed = cell(&before, workload, (metric, better), &figures, 0.0);
            found.extend(changed.map(|changed| CellChange { verdict: None, ..changed }));
        }
    }
    found
}

fn label(configuration: &Configuration) -> String {
    configuration.settings.values().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn trials<'a>(
    run: &'a Run,
    configuration: &'a Configuration,
    workload: &'a Workload,
) -> impl Iterator<Item = &'a Trial> {
    run.trials
        .iter()
        .filter(|trial| trial.settings == configuration.settings && trial.workload == workload.name)
}

/// The figures of a cell above 0, by a metric.
fn figures(
    run: &Run,
    configuration: &Configuration,
    workload: &Workload,
    metric: &str,
) -> Vec<f64> {
    let figures =
        trials(run, configuration, workload).filter_map(|trial| trial.metrics.get(metric).copied());
    figures.filter(|figure| figure.is_finite() && *figure > 0.0).collect()
}

fn cell(
    configuration: &Configuration,
    workload: &Workload,
    (metric, better): (&str, Better),
    figures: &[Vec<f64>; 2],
    margin: f64,
) -> Option<CellChange> {
    let logarithms = figures
        .each_ref()
        .map(|figures| figures.iter().map(|figure| figure.ln()).collect::<Vec<f64>>());
    let shift = shift(&logarithms[0], &logarithms[1])?;
    let trials = figures.each_ref().map(Vec::len);
    let deviation =
        logarithms.iter().map(|side| statistics::standard_deviation(side)).fold(0.0, f64::max);
    let paired = Paired {
        pairs: trials[0].min(trials[1]),
        estimate: shift.estimate,
        interval: shift.interval,
        p: shift.p,
        deviation,
    };
    let median =
        |figures: &Vec<f64>| statistics::median(figures).map_or(f64::NAN, |median| median.median);
    Some(CellChange {
        settings: configuration.settings.clone(),
        workload: workload.name.clone(),
        metric: metric.to_owned(),
        better,
        trials,
        medians: figures.each_ref().map(median),
        ratio: shift.estimate.exp(),
        ratio_interval: shift.interval.map(|interval| interval.exp()),
        p: shift.p,
        verdict: verdict(&paired, margin, better),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Axis, Group, Host, Plan, cell_id, configuration_id};

    /// All ways to choose which of m + n figures are the first sample's.
    fn counted(first: usize, second: usize) -> Vec<f64> {
        let mut counts = vec![0.0; first * second + 1];
        let mut ways = 0.0;
        for chosen in 0_u32..1 << (first + second) {
            if chosen.count_ones() as usize != first {
                continue;
            }
            let below = |place: usize| (0..place).filter(|at| chosen >> at & 1 == 1).count();
            let u: usize =
                (0..first + second).filter(|place| chosen >> place & 1 == 0).map(below).sum();
            counts[u] += 1.0;
            ways += 1.0;
        }
        counts.into_iter().map(|count| count / ways).collect()
    }

    #[test]
    fn the_distribution_agrees_with_counting_all_orders() {
        for (first, second) in [(1, 1), (2, 3), (3, 3), (4, 4), (5, 3), (6, 6)] {
            let (found, expected) = (distribution(first, second), counted(first, second));
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "{first}, {second}: {found} {expected}");
            }
        }
    }

    #[test]
    fn the_approximation_takes_over_without_a_step() {
        let (exact, rough) =
            (distribution(EXACT_MAX, EXACT_MAX), approximation(EXACT_MAX, EXACT_MAX));
        let cumulated = |distribution: &[f64]| distribution.iter().take(1500).sum::<f64>();
        assert!(
            (cumulated(&exact) - cumulated(&rough)).abs() < 2e-3,
            "{} {}",
            cumulated(&exact),
            cumulated(&rough)
        );
    }

    #[test]
    fn the_interval_has_the_published_depth() {
        // Tables of the Mann-Whitney test at 5 %, two-sided: the largest U that is significant,
        // plus one.
        for (first, second, depth) in [
            (4, 4, Some(1)),
            (5, 5, Some(3)),
            (6, 6, Some(6)),
            (8, 8, Some(14)),
            (3, 3, None),
            (10, 10, Some(24)),
        ] {
            assert_eq!(rank_sum_depth(first, second, 0.05), depth, "{first}, {second}");
        }
    }

    #[test]
    fn equal_samples_show_no_shift_and_distant_ones_do() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let none = shift(&values, &values).unwrap();
        assert!(
            none.estimate == 0.0
                && none.p == Some(1.0)
                && none.interval.is_some_and(|interval| interval.contains(0.0))
        );
        let moved: Vec<f64> = values.iter().map(|value| value + 10.0).collect();
        let far = shift(&values, &moved).unwrap();
        assert!(
            far.estimate == 10.0 && far.p.is_some_and(|p| (p - 2.0 / 924.0).abs() < 1e-9),
            "{far:?}"
        );
        assert!(far.interval.is_some_and(|interval| interval.low > 5.0));
        assert!(shift(&[], &values).is_none());
        assert_eq!(shift(&[1.0], &[3.0]), Some(Shift { estimate: 2.0, interval: None, p: None }));
    }

    /// Over many seeded rounds the interval covers the true shift about as often as it says.
    #[test]
    fn the_interval_covers_the_truth() {
        let mut random = crate::random::Random::new(7);
        let mut covered = 0;
        for _ in 0..2000 {
            let mut sample =
                |centre: f64| (0..7).map(|_| centre + 0.03 * random.normal()).collect::<Vec<f64>>();
            let (first, second) = (sample(0.0), sample(0.05));
            covered += u32::from(shift(&first, &second).unwrap().interval.unwrap().contains(0.05));
        }
        // Exact intervals are never below 95 %; of 2000 rounds chance moves it by 0.5 % a
        // deviation.
        assert!((1870..=1990).contains(&covered), "{covered} of 2000");
    }

    fn run(source: &str, figures: &[f64], clock: Clock) -> Run {
        let settings = BTreeMap::from([("chunk".to_owned(), source.to_owned())]);
        let id = configuration_id(&settings);
        let name = "random read 4096";
        let trial = |(block, figure): (usize, &f64)| Trial {
            cell: cell_id(&settings, name),
            settings: settings.clone(),
            workload: name.to_owned(),
            block: block as u32,
            order: 0,
            clock,
            metrics: BTreeMap::from([("throughput_bytes_per_second".to_owned(), *figure)]),
            members: Vec::new(),
            flags: Vec::new(),
        };
        let workload = Workload {
            name: name.to_owned(),
            suite: "devtest".to_owned(),
            group: Group::Random,
            metric: "throughput_bytes_per_second".to_owned(),
            better: Better::Higher,
            weight: 1.0,
        };
        let configuration = Configuration {
            id: id.clone(),
            settings: settings.clone(),
            stack: String::new(),
            clock,
            baseline: id,
        };
        Run {
            plan: Plan {
                schema: 1,
                name: "test".to_owned(),
                seed: 1,
                blocks: figures.len() as u32,
                margin: 0.02,
                axes: vec![Axis { name: "chunk".to_owned(), values: vec![source.to_owned()] }],
                configurations: vec![configuration],
                workloads: vec![workload],
                suite_settings: BTreeMap::new(),
            },
            trials: figures.iter().enumerate().map(trial).collect(),
            host: Host { schema: 1, started: String::new(), facts: Vec::new() },
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_same_cells_are_compared_and_the_verdict_is_about_the_second() {
        let before = run("4KiB", &[100.0, 101.0, 99.0, 100.5, 100.2], Clock::Wall);
        let after = run("4KiB", &[120.0, 121.0, 119.0, 120.5, 120.2], Clock::Wall);
        let changes = compare(&before, &after, 0.02);
        let cell = &changes.cells[0];
        assert!(
            (cell.ratio - 1.2).abs() < 0.005
                && cell.trials == [5, 5]
                && cell.medians == [100.2, 120.2]
        );
        assert_eq!(cell.verdict, Some(Verdict::Faster));
        assert!(changes.notes.iter().any(|note| note.contains("not interleaved")));
        let back = compare(&after, &before, 0.02);
        assert_eq!(back.cells[0].verdict, Some(Verdict::Slower));
        let same = compare(&before, &before, 0.02);
        assert_eq!(same.cells[0].verdict, Some(Verdict::Same));
    }

    #[test]
    fn runs_of_one_configuration_each_are_compared_by_workload_and_clocks_are_kept_apart() {
        let (one, other) = (run("4KiB", &[100.0], Clock::Wall), run("8KiB", &[150.0], Clock::Wall));
        let changes = compare(&one, &other, 0.02);
        assert!(changes.notes[0].contains("8KiB is compared with 4KiB"), "{:?}", changes.notes);
        assert!((changes.cells[0].ratio - 1.5).abs() < 1e-12 && changes.cells[0].verdict.is_none());
        let modelled = compare(&one, &run("4KiB", &[100.0], Clock::Virtual), 0.02);
        assert!(modelled.cells.is_empty() && modelled.notes[0].contains("modelled"));
    }
}

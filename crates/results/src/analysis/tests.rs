//! Runs with known differences, and what must be said about them.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::random::Random;
use crate::types::{Axis, Host, cell_id, configuration_id};

const THROUGHPUT: &str = "throughput_bytes_per_second";
const LATENCY: &str = "latency_mean_seconds";

/// One disk or, with a chunk size, a stripe; its own baseline when `baseline` is empty.
fn configuration(members: &str, chunk: Option<&str>, baseline: &str) -> Configuration {
    let mut settings = BTreeMap::from([("members".to_string(), members.to_string())]);
    settings.insert("layout".into(), if chunk.is_some() { "raid0" } else { "single" }.into());
    settings.extend(chunk.map(|chunk| ("chunk".to_string(), chunk.to_string())));
    let id = configuration_id(&settings);
    let baseline = if baseline.is_empty() { id.clone() } else { baseline.to_string() };
    let clock = if members == "files" { Clock::Wall } else { Clock::Virtual };
    Configuration {
        id,
        settings,
        stack: format!("{members}:{}", chunk.unwrap_or("single")),
        clock,
        baseline,
    }
}

fn workload(name: &str, group: Group) -> Workload {
    Workload {
        name: name.into(),
        suite: "devtest".into(),
        group,
        metric: THROUGHPUT.into(),
        better: Better::Higher,
        weight: 1.0,
    }
}

/// Two comparisons of a single disk with three chunk sizes, without trials.
fn empty_run(blocks: u32) -> Run {
    let mut configurations = Vec::new();
    for members in ["files", "maxtor"] {
        let single = configuration(members, None, "");
        let baseline = single.id.clone();
        configurations.push(single);
        configurations.extend(
            ["16KiB", "64KiB", "256KiB"]
                .map(|chunk| configuration(members, Some(chunk), &baseline)),
        );
    }
    let axis = |name: &str, values: &[&str]| Axis {
        name: name.into(),
        values: values.iter().map(ToString::to_string).collect(),
    };
    let axes = vec![
        axis("members", &["files", "maxtor"]),
        axis("layout", &["single", "raid0"]),
        axis("chunk", &["16KiB", "64KiB", "256KiB"]),
    ];
    let workloads = vec![
        workload("sequential read 512", Group::Sequential),
        workload("sequential read 65536", Group::Sequential),
        workload("random read 512", Group::Random),
    ];
    Run {
        plan: Plan {
            schema: 1,
            name: "test".into(),
            seed: 1,
            blocks,
            margin: 0.02,
            axes,
            configurations,
            workloads,
            suite_settings: BTreeMap::new(),
        },
        host: Host { schema: 1, started: "2026-11-21T09:00:00Z".into(), facts: Vec::new() },
        trials: Vec::new(),
        notes: Vec::new(),
    }
}

/// Runs the whole plan; `figure(configuration, workload, block)` gives the throughput, by index in
/// the plan.
fn run(blocks: u32, mut figure: impl FnMut(usize, usize, u32) -> f64) -> Run {
    let mut run = empty_run(blocks);
    for block in 0..blocks {
        let mut order = 0;
        for (c, configuration) in run.plan.configurations.iter().enumerate() {
            for (w, workload) in run.plan.workloads.iter().enumerate() {
                let throughput = figure(c, w, block);
                run.trials.push(Trial {
                    cell: cell_id(&configuration.settings, &workload.name),
                    settings: configuration.settings.clone(),
                    workload: workload.name.clone(),
                    block,
                    order,
                    clock: configuration.clock,
                    metrics: BTreeMap::from([
                        (THROUGHPUT.to_string(), throughput),
                        (LATENCY.to_string(), 4096.0 / throughput),
                    ]),
                    members: Vec::new(),
                    flags: Vec::new(),
                });
                order += 1;
            }
        }
    }
    run
}

/// 64 KiB is 1.5 and 256 KiB 1.49 times the single disk in sequential work, 16 KiB 0.9 times;
/// nothing differs in random work.
fn planted(c: usize, w: usize) -> f64 {
    let ratio = if w == 2 { 1.0 } else { [1.0, 0.9, 1.5, 1.49][c % 4] };
    1e6 * ratio * (w + 1) as f64
}

/// [`planted`] with noise, on a machine that gets 1 % faster with every block.
fn noisy(seed: u64, noise: f64) -> Run {
    let mut random = Random::new(seed);
    run(6, move |c, w, block| {
        planted(c, w) * (1.0 + 0.01 * f64::from(block)) * (noise * random.normal()).exp()
    })
}

fn versus_of(
    comparison: &Comparison,
    configuration: usize,
    workload: &str,
    metric: &str,
) -> Versus {
    let cell = comparison.cell(&comparison.configurations[configuration].id, workload).unwrap();
    cell.metrics.iter().find(|known| known.name == metric).unwrap().versus_baseline.unwrap()
}

#[test]
fn comparisons_are_named_by_what_only_they_share() {
    let analysis = analyse(&empty_run(6));
    let names: Vec<_> = analysis
        .comparisons
        .iter()
        .map(|comparison| (comparison.name.as_str(), comparison.modelled))
        .collect();
    assert_eq!(names, [("files", false), ("maxtor", true)]);
    let labels: Vec<_> =
        analysis.comparisons[1].configurations.iter().map(|member| member.label.as_str()).collect();
    assert_eq!(labels, ["single", "16KiB", "64KiB", "256KiB"]);
    assert_eq!(
        (analysis.comparisons[0].shared.as_slice(), analysis.comparisons[0].axes.as_slice()),
        (&["raid0".into()][..], &["chunk".into()][..])
    );

    // With a single other configuration there is nothing to leave out.
    let mut run = empty_run(6);
    run.plan.configurations.truncate(2);
    let comparison = &analyse(&run).comparisons[0];
    let labels: Vec<_> =
        comparison.configurations.iter().map(|member| member.label.as_str()).collect();
    assert_eq!((comparison.name.as_str(), labels), ("", vec!["single", "raid0 16KiB"]));
}

/// Where each value is found elsewhere too, all that are shared together make the name.
#[test]
fn comparisons_that_share_no_value_alone_are_named_by_all_they_share() {
    let mut run = empty_run(6);
    for (index, configuration) in run.plan.configurations.iter_mut().enumerate() {
        let (system, options) =
            [("ext3", "fast"), ("ext3", "safe"), ("xfs", "fast"), ("xfs", "safe")][index / 2];
        configuration.settings = BTreeMap::from(
            [("system", system), ("options", options), ("members", ["one", "six"][index % 2])]
                .map(|(axis, value)| (axis.into(), value.into())),
        );
        configuration.id = format!("{index}");
        configuration.baseline = format!("{}", index - index % 2);
    }
    run.plan.axes = ["members", "system", "options"]
        .map(|name| Axis { name: name.into(), values: Vec::new() })
        .to_vec();
    let names: Vec<_> =
        analyse(&run).comparisons.into_iter().map(|comparison| comparison.name).collect();
    assert_eq!(names, ["ext3, fast", "ext3, safe", "xfs, fast", "xfs, safe"]);
}

#[test]
fn a_run_without_trials_has_no_figures_and_says_so() {
    let analysis = analyse(&empty_run(6));
    assert!(
        analysis.warnings.contains(&Warning::Incomplete { finished: 0, planned: 2 * 4 * 3 * 6 })
    );
    for comparison in &analysis.comparisons {
        assert!(comparison.cells.iter().all(|cell| cell.metrics.is_empty()));
        assert!(comparison.kinds.iter().all(|kind| kind.leader.is_none()
            && kind.recommended.is_none()
            && kind.best_set.is_empty()));
        assert!(comparison.good_for_all.is_empty());
    }
}

#[test]
fn planted_differences_are_found_and_their_absence_too() {
    let seed = 11;
    let analysis = analyse(&noisy(seed, 0.002));
    for comparison in &analysis.comparisons {
        let id = |index: usize| comparison.configurations[index].id.clone();
        for (index, word) in [(1, "slower"), (2, "faster"), (3, "faster")] {
            let versus = versus_of(comparison, index, "sequential read 512", THROUGHPUT);
            assert_eq!(
                versus.verdict.map(|verdict| verdict.word()),
                Some(word),
                "{index}, seed {seed}"
            );
            let versus = versus_of(comparison, index, "random read 512", THROUGHPUT);
            assert_eq!(versus.verdict, Some(Verdict::Same), "{index}, seed {seed}");
        }
        let sequential = &comparison.kinds[0];
        assert_eq!(sequential.recommended, sequential.leader);
        let set: BTreeSet<_> = sequential.best_set.iter().cloned().collect();
        assert_eq!(
            set,
            BTreeSet::from([id(2), id(3)]),
            "1.5 and 1.49 are the same within 2 %, seed {seed}"
        );
        assert_eq!(sequential.not_told_apart, [(id(2), id(3))]);
        assert_eq!(
            sequential.scores.iter().map(Score::differs).collect::<Vec<_>>(),
            [None, Some(false), Some(true), Some(true)]
        );
        // Nothing differs in random work, so there is no reason to leave the baseline.
        let random = &comparison.kinds[1];
        assert_eq!(
            (random.best_set.len(), random.recommended.clone()),
            (4, Some(id(0))),
            "seed {seed}"
        );
        assert_eq!(random.not_told_apart.len(), 6);
        assert_eq!(comparison.good_for_all, [id(2), id(3)]);
    }
    // The 1 % a block was seen in both, and did no harm.
    assert_eq!(
        analysis
            .warnings
            .iter()
            .filter(|warning| matches!(warning, Warning::Drifted { change, .. } if *change > 0.04))
            .count(),
        2
    );
}

#[test]
fn figures_without_any_spread_give_points() {
    let analysis = analyse(&run(6, |c, w, _| planted(c, w)));
    for comparison in &analysis.comparisons {
        for metric in comparison.cells.iter().flat_map(|cell| &cell.metrics) {
            let interval = metric.interval.unwrap();
            assert_eq!((interval.low, interval.high), (metric.median, metric.median));
            let Some(versus) = metric.versus_baseline else { continue };
            let interval = versus.interval.unwrap();
            assert!(
                interval.high - interval.low < 1e-12 && (interval.low - versus.ratio).abs() < 1e-12,
                "{versus:?}"
            );
            assert!(versus.p.is_some_and(|p| p > 0.0 && p <= 1.0), "{versus:?}");
        }
        for kind in &comparison.kinds {
            assert!(kind.scores.iter().all(|score| score.ratio.is_finite()));
        }
        assert_eq!(
            comparison.kinds[0].best_set,
            [comparison.configurations[2].id.clone(), comparison.configurations[3].id.clone()]
        );
    }
}

#[test]
fn only_blocks_with_both_sides_are_paired() {
    let mut run = noisy(3, 0.001);
    let baseline = run.plan.configurations[0].settings.clone();
    let own = run.plan.configurations[2].settings.clone();
    // The machine was ten times slower in blocks 0 and 1; each is missing on one side.
    for trial in run.trials.iter_mut().filter(|trial| trial.block < 2) {
        trial.metrics.values_mut().for_each(|figure| *figure /= 10.0);
    }
    run.trials.retain(|trial| {
        !(trial.settings == baseline && trial.block == 0
            || trial.settings == own && trial.block == 1)
    });
    let analysis = analyse(&run);
    let comparison = &analysis.comparisons[0];
    let versus = versus_of(comparison, 2, "sequential read 512", THROUGHPUT);
    assert_eq!((versus.pairs, versus.few), (4, true));
    assert!((versus.ratio - 1.5).abs() < 0.01, "{versus:?}");
    assert_eq!(
        comparison.kinds[0].score(&comparison.configurations[2].id).map(|score| score.pairs),
        Some(4)
    );
}

#[test]
fn less_latency_is_faster() {
    let mut run = run(6, |c, w, _| planted(c, w));
    let by_throughput = analyse(&run);
    let latency = versus_of(&by_throughput.comparisons[0], 2, "sequential read 512", LATENCY);
    assert!(
        (latency.ratio - 1.0 / 1.5).abs() < 1e-12 && (latency.gain() - 1.5).abs() < 1e-12,
        "{latency:?}"
    );
    assert_eq!(latency.verdict, Some(Verdict::Faster));

    // As the workloads' own metric it turns the scores over.
    for workload in &mut run.plan.workloads {
        workload.metric = LATENCY.into();
        workload.better = Better::Lower;
    }
    let by_latency = analyse(&run);
    for (left, right) in by_latency.comparisons[0].kinds[0]
        .scores
        .iter()
        .zip(&by_throughput.comparisons[0].kinds[0].scores)
    {
        assert!(
            (left.ratio - right.ratio).abs() < 1e-9 && left.verdict == right.verdict,
            "{left:?} {right:?}"
        );
    }
}

#[test]
fn directions_follow_from_the_names() {
    for (metric, better) in [
        ("throughput_bytes_per_second", Some(Better::Higher)),
        ("read_io_per_second", Some(Better::Higher)),
        ("write_latency_p99_seconds", Some(Better::Lower)),
        ("read_modify_write_count", None),
    ] {
        assert_eq!(better_of(metric), better, "{metric}");
    }
}

#[test]
fn p_values_are_adjusted_within_a_workload_of_a_comparison() {
    let analysis = analyse(&noisy(5, 0.001));
    // Six blocks all on one side give 2/64 each; three compared cells make that 6/64.
    for index in 1..4 {
        assert_eq!(
            versus_of(&analysis.comparisons[0], index, "sequential read 65536", THROUGHPUT).p,
            Some(6.0 / 64.0)
        );
    }
}

#[test]
fn two_blocks_give_no_verdict_and_three_give_one_marked_few() {
    let analysis = analyse(&run(2, |c, w, _| planted(c, w)));
    let versus = versus_of(&analysis.comparisons[0], 2, "sequential read 512", THROUGHPUT);
    assert_eq!((versus.interval, versus.p, versus.verdict), (None, None, None));
    assert!(analysis.comparisons[0].kinds[0].best_set.is_empty());
    assert!(
        analysis.warnings.contains(&Warning::FewBlocks { comparison: "files".into(), blocks: 2 })
    );

    let analysis = analyse(&run(3, |c, w, _| planted(c, w)));
    let versus = versus_of(&analysis.comparisons[0], 2, "sequential read 512", THROUGHPUT);
    assert_eq!((versus.few, versus.verdict), (true, Some(Verdict::Faster)));
}

#[test]
fn doubtful_trials_are_counted_and_kept() {
    let mut run = noisy(9, 0.002);
    let cached = "read from a cache, not from the members";
    for index in [0, 30] {
        run.trials[index].flags.push(cached.into());
    }
    run.trials[1].metrics.insert(THROUGHPUT.into(), 0.0);
    let mut repeated = run.trials[40].clone();
    repeated.metrics.insert(THROUGHPUT.into(), 1e12);
    run.trials.push(repeated);
    let mut stranger = run.trials[2].clone();
    stranger.workload = "not in the plan".into();
    run.trials.push(stranger);
    run.notes.push("a torn last line was dropped".into());
    let analysis = analyse(&run);
    for warning in [
        Warning::Note { text: "a torn last line was dropped".into() },
        Warning::Flagged { text: cached.into(), trials: 2, cells: 2 },
        Warning::NoRatio { trials: 1 },
        Warning::Repeated { trials: 1 },
        Warning::Unknown { trials: 1 },
    ] {
        assert!(analysis.warnings.contains(&warning), "{warning:?} in {:?}", analysis.warnings);
    }
    let cell = analysis.comparisons[0]
        .cell(&run.plan.configurations[0].id, "sequential read 512")
        .unwrap();
    assert_eq!(cell.flags, [Flag { text: cached.into(), trials: 1 }]);
}

#[test]
fn outliers_are_counted_where_there_are_enough_trials_to_tell() {
    let one_off = |blocks| {
        analyse(&run(blocks, |c, w, block| {
            if (c, w, block) == (1, 1, 4) { 1.0 } else { planted(c, w) + f64::from(block) }
        }))
    };
    assert!(one_off(10).warnings.contains(&Warning::Outliers { trials: 1 }));
    assert!(!one_off(9).warnings.iter().any(|warning| matches!(warning, Warning::Outliers { .. })));
}

#[test]
fn the_best_configuration_is_rarely_dropped_from_the_best_set() {
    let (mut dropped, mut sizes, rounds) = (0, 0, 400);
    let seed = 2004;
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        // One is truly best by 1 % under noise of 2 %.
        let analysis = analyse(&run(6, |c, _, _| {
            [1.0, 1.0, 1.01, 1.0][c % 4] * (0.02 * random.normal()).exp()
        }));
        let comparison = &analysis.comparisons[0];
        let set = &comparison.kinds[0].best_set;
        dropped += usize::from(!set.contains(&comparison.configurations[2].id));
        sizes += set.len();
    }
    assert!(dropped <= rounds / 20, "dropped {dropped} of {rounds}, seed {seed}");
    assert!(
        sizes > 3 * rounds,
        "noise alone must not empty the set: {sizes} in {rounds} runs, seed {seed}"
    );
}

#[test]
fn equal_configurations_are_rarely_called_surely_different() {
    let (mut false_alarms, mut found, rounds) = (0, 0, 400);
    let seed = 2005;
    let mut random = Random::new(seed);
    for _ in 0..rounds {
        // Of the first comparison all are equal, of the second all but the baseline are faster by
        // 10 %; noise 2 %.
        let analysis = analyse(&run(
            6,
            |c, _, _| if c > 4 { 1.1 } else { 1.0 } * (0.02 * random.normal()).exp(),
        ));
        let sure = |comparison: usize| {
            analysis.comparisons[comparison].kinds[0]
                .scores
                .iter()
                .filter(|score| score.differs().is_some())
                .count()
        };
        false_alarms += usize::from(sure(0) > 0);
        found += sure(1);
    }
    // 5 % and three deviations of a count of 400.
    assert!(
        false_alarms <= 33,
        "{false_alarms} of {rounds} runs of equal cells had a sure difference, seed {seed}"
    );
    assert!(
        found > rounds * 3 * 8 / 10,
        "+10 % was sure {found} times of {}, seed {seed}",
        rounds * 3
    );
}

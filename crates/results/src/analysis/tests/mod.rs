//! Runs with known differences, and what must be said about them.

mod in_model;
mod machines;
mod terms;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::claim::{Answer, Claim, Invalid};
use crate::doubt::{Doubt, Silence};
use crate::random::Random;
use crate::shared::Metrics;
use crate::types::{
    Axis, BetterDirection, Clock, Configuration, Group, Host, Judge, MeasuredCache, OneDisk, Plan,
    Schedule, SharedDisk, Trial, WorkTarget, Workload, cell_id, configuration_id,
};

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
        ground: WorkTarget::Device,
        modelled: clock == Clock::Virtual,
        caches: Vec::new(),
        quick_removal: false,
        baseline,
        model_errors: None,
        model_error: None,
        model_cases: 0,
        survives: None,
        usable: None,
    }
}

fn workload(name: &str, group: Group) -> Workload {
    Workload {
        name: name.into(),
        suite: "devtest".into(),
        group,
        metric: THROUGHPUT.into(),
        better: BetterDirection::Higher,
        weight: 1.0,
        judge: Judge::default(),
        buffered_of: None,
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
            terms: crate::types::Terms::default(),
            schedule: Schedule::default(),
        },
        host: Host {
            schema: 1,
            started: "2026-11-21T09:00:00Z".into(),
            facts: Vec::new(),
            one_disk: Vec::new(),
            shared_disks: Vec::new(),
            machines: BTreeMap::new(),
        },
        trials: Vec::new(),
        notes: Vec::new(),
        steps: Vec::new(),
    }
}

/// Of three that are told apart the fastest alone is best, wherever in the plan it stands.
#[test]
fn the_fastest_is_taken_in_every_order() {
    for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
        let rank = |configuration: usize| match configuration % 4 {
            0 => 0,
            place => order[place - 1],
        };
        let run = run(8, |configuration, _, block| {
            1e8 * (1.0 + 0.5 * f64::from(rank(configuration)))
                * (1.0 + 0.001 * f64::from(block % 3))
        });
        let analysis = analyse(&run);
        let comparison = &analysis.comparisons[0];
        let fastest = (0..4).find(|place| rank(*place) == 3).unwrap();
        let id = &run.plan.configurations[fastest].id;
        for kind in comparison.kinds.iter().chain(&comparison.whole) {
            assert_eq!(kind.best_set, std::slice::from_ref(id), "{order:?}");
            assert_eq!(kind.headline.take.as_ref(), Some(id), "{order:?}");
            assert!(kind.headline.ahead_of_all, "{order:?}");
        }
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
                    settings: configuration.settings.clone().into(),
                    workload: workload.name.clone(),
                    block,
                    order,
                    clock: configuration.clock,
                    metrics: Metrics::from_iter([
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

fn versus_of(comparison: &Comparison, configuration: usize, workload: &str, metric: &str) -> Claim {
    let cell = comparison.cell(&comparison.configurations[configuration].id, workload).unwrap();
    cell.metrics.iter().find(|known| known.name == metric).unwrap().versus_baseline.clone().unwrap()
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

/// "1, modelled" named nothing: a bare number has the name of its axis, also where only one of
/// several comparisons has it.
#[test]
fn a_bare_number_in_the_name_of_a_comparison_has_its_axis() {
    let mut run = empty_run(6);
    for (index, configuration) in run.plan.configurations.iter_mut().enumerate() {
        let (members, depth) =
            [("maxtor", "1"), ("maxtor", "4"), ("maxtor", "32"), ("files", "4")][index / 2];
        configuration.settings =
            BTreeMap::from([("members", members), ("workload.depth", depth), ("level", "raid0")])
                .into_iter()
                .map(|(axis, value)| (axis.into(), value.into()))
                .collect();
        configuration.id = format!("{index}");
        configuration.baseline = format!("{}", index - index % 2);
    }
    run.plan.axes = ["members", "level", "workload.depth"]
        .map(|name| Axis { name: name.into(), values: Vec::new() })
        .to_vec();
    run.host.one_disk = vec![OneDisk { configuration: "7".into(), on: "disk sda".into() }];
    let comparisons = analyse(&run).comparisons;
    let names: Vec<&str> = comparisons.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["maxtor, depth 1", "maxtor, depth 4", "maxtor, depth 32", "files, depth 4"]);
    let banners: Vec<Option<&str>> =
        comparisons.iter().map(|one| one.one_disk.as_deref()).collect();
    assert_eq!(banners, [None, None, None, Some("disk sda")], "only where members share one");
    // Two sets on one disk are said with each comparison that has one of them.
    let shared =
        |sets: [&str; 2]| SharedDisk { sets: sets.map(str::to_owned).to_vec(), disk: "sda".into() };
    run.host.shared_disks = vec![shared(["files", "more"]), shared(["other", "more"])];
    let counts: Vec<usize> =
        analyse(&run).comparisons.iter().map(|one| one.shared_disks.len()).collect();
    assert_eq!(counts, [0, 0, 0, 1]);
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
            && kind.best_set.is_empty()
            && kind.headline.take.is_none()));
        assert!(!analysis.has_valid_headline());
    }
}

#[test]
fn planted_differences_are_found_and_their_absence_too() {
    let seed = 11;
    let analysis = analyse(&noisy(seed, 0.002));
    for comparison in &analysis.comparisons {
        let id = |index: usize| comparison.configurations[index].id.clone();
        for (index, word) in [(1, Answer::Behind), (2, Answer::Ahead), (3, Answer::Ahead)] {
            let versus = versus_of(comparison, index, "sequential read 512", THROUGHPUT);
            assert_eq!(versus.answer, word, "{index}, seed {seed}");
            let versus = versus_of(comparison, index, "random read 512", THROUGHPUT);
            assert_eq!(versus.answer, Answer::Same, "{index}, seed {seed}");
        }
        let sequential = &comparison.kinds[0];
        assert_eq!(sequential.recommended, sequential.leader);
        let set: BTreeSet<_> = sequential.best_set.iter().cloned().collect();
        assert_eq!(
            set,
            BTreeSet::from([id(2), id(3)]),
            "1.5 and 1.49 are the same within 2 %, seed {seed}"
        );
        let headline = &sequential.headline;
        assert_eq!((headline.take.clone(), headline.open.len()), (sequential.leader.clone(), 0));
        assert_eq!(headline.same.len(), 1, "the other one is as good");
        assert_eq!(headline.sure, !comparison.modelled, "the model states no error");
        assert_eq!(
            sequential.scores.iter().map(Score::answer).collect::<Vec<_>>(),
            [None, Some(Answer::Behind), Some(Answer::Ahead), Some(Answer::Ahead)]
        );
        // Nothing differs in random work, so there is no reason to leave the baseline.
        let random = &comparison.kinds[1];
        assert_eq!(
            (random.best_set.len(), random.recommended.clone()),
            (4, Some(id(0))),
            "seed {seed}"
        );
        assert!(!random.headline.sure);
        let whole = comparison.whole.as_ref().unwrap();
        assert!([id(2), id(3)].contains(whole.recommended.as_ref().unwrap()));
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
            let Some(versus) = &metric.versus_baseline else { continue };
            let interval = versus.interval.unwrap();
            assert!(
                interval.high - interval.low < 1e-12 && (interval.low - versus.ratio).abs() < 1e-12,
                "{versus:?}"
            );
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
    assert_eq!(versus.pairs, 4);
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
    assert_eq!(latency.answer, Answer::Ahead);

    // As the workloads' own metric it turns the scores over.
    for workload in &mut run.plan.workloads {
        workload.metric = LATENCY.into();
        workload.better = BetterDirection::Lower;
    }
    let by_latency = analyse(&run);
    for (left, right) in by_latency.comparisons[0].kinds[0]
        .scores
        .iter()
        .zip(&by_throughput.comparisons[0].kinds[0].scores)
    {
        assert!(
            (left.ratio - right.ratio).abs() < 1e-9 && left.answer() == right.answer(),
            "{left:?} {right:?}"
        );
    }
}

#[test]
fn directions_follow_from_the_names() {
    for (metric, better) in [
        ("throughput_bytes_per_second", Some(BetterDirection::Higher)),
        ("read_io_per_second", Some(BetterDirection::Higher)),
        ("write_latency_p99_seconds", Some(BetterDirection::Lower)),
        ("durable_throughput_bytes_per_second", Some(BetterDirection::Higher)),
        ("cpu_seconds_per_operation", Some(BetterDirection::Lower)),
        ("member_write_ratio", Some(BetterDirection::Lower)),
        ("read_modify_write_count", None),
    ] {
        assert_eq!(better_of(metric), better, "{metric}");
    }
}

#[test]
fn two_blocks_give_no_answer_and_three_give_one_with_a_warning() {
    let analysis = analyse(&run(2, |c, w, _| planted(c, w)));
    let versus = versus_of(&analysis.comparisons[0], 2, "sequential read 512", THROUGHPUT);
    assert_eq!((versus.interval, versus.answer), (None, Answer::Open));
    assert_eq!(versus.invalid, Some(Invalid::TooFew { voting: 2, silent: 0, reason: None }));
    assert!(analysis.comparisons[0].kinds[0].best_set.is_empty());
    assert!(
        analysis.warnings.contains(&Warning::FewBlocks { comparison: "files".into(), blocks: 2 })
    );

    let analysis = analyse(&run(3, |c, w, _| planted(c, w)));
    let versus = versus_of(&analysis.comparisons[0], 2, "sequential read 512", THROUGHPUT);
    assert_eq!(versus.answer, Answer::Ahead);
    assert!(
        analysis.warnings.contains(&Warning::FewBlocks { comparison: "files".into(), blocks: 3 })
    );
}

/// Tests that begin 30 % faster than they go on, in one cell of all; in the others the start is
/// chance. One trial that is far off is not enough.
#[test]
fn tests_that_begin_otherwise_than_they_go_on_are_named() {
    let mut of_nothing = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut run = run(6, |c, w, _| planted(c, w));
        let cell = run.trials[7].cell.clone();
        for trial in &mut run.trials {
            let start = (0.1 * random.normal()).exp();
            trial.metrics.insert("start_ratio", start);
            trial.metrics.insert("settled_after_seconds", 0.0);
        }
        run.trials[20].metrics.insert("start_ratio", 9.0);
        let of = |run: &Run| {
            let warnings = analyse(run).warnings.into_iter();
            warnings.filter(|one| matches!(one, Warning::Unsettled { .. })).collect::<Vec<_>>()
        };
        of_nothing += of(&run).len();
        for trial in run.trials.iter_mut().filter(|trial| trial.cell == cell) {
            let start = 1.3 * (0.02 * random.normal()).exp();
            trial.metrics.insert("start_ratio", start);
            trial.metrics.insert("settled_after_seconds", 1.5);
        }
        let found = of(&run);
        let [Warning::Unsettled { workload, change, settled_after, .. }] = &found[..] else {
            panic!("seed {seed}: {found:?}");
        };
        assert!((0.25..0.35).contains(change), "seed {seed}: {change}");
        let trial = run.trials.iter().find(|trial| trial.cell == cell);
        assert_eq!((Some(workload), *settled_after), (trial.map(|it| &it.workload), Some(1.5)));
    }
    // Of 5 % of 40 runs.
    assert!(of_nothing <= 6, "{of_nothing}");
}

#[test]
fn doubtful_trials_are_counted_and_kept() {
    let mut run = noisy(9, 0.002);
    for index in [0, 30] {
        run.trials[index].flags.push(CACHED);
    }
    run.trials[1].metrics.insert(THROUGHPUT, 0.0);
    let mut repeated = run.trials[40].clone();
    repeated.metrics.insert(THROUGHPUT, 1e12);
    run.trials.push(repeated);
    let mut stranger = run.trials[2].clone();
    stranger.workload = "not in the plan".into();
    run.trials.push(stranger);
    run.notes.push("a torn last line was dropped".into());
    let analysis = analyse(&run);
    for warning in [
        Warning::Note { text: "a torn last line was dropped".into() },
        Warning::Flagged { doubt: CACHED, trials: 2, cells: 2, silent: 2 },
        Warning::NothingMoved { trials: 1 },
        Warning::Repeated { trials: 1 },
        Warning::Unknown { trials: 1 },
    ] {
        assert!(analysis.warnings.contains(&warning), "{warning:?} in {:?}", analysis.warnings);
    }
    let cell = analysis.comparisons[0]
        .cell(&run.plan.configurations[0].id, "sequential read 512")
        .unwrap();
    assert_eq!(cell.flags, [DoubtCount { doubt: CACHED, trials: 1 }]);
}

/// A machine that becomes slower at once is no drift, and one that drifts makes no step.
#[test]
fn a_step_is_told_from_a_drift() {
    let course = |of_block: fn(u32) -> f64| {
        let mut random = Random::new(3);
        let run = run(10, |c, w, block| {
            planted(c, w) * of_block(block) * (0.005 * random.normal()).exp()
        });
        analyse(&run).warnings
    };
    let stepped = course(|block| if block < 6 { 1.0 } else { 0.9 });
    let is_step = |warning: &&Warning| {
        matches!(
            warning,
            Warning::Stepped { block: 6, change, .. } if (change + 0.1).abs() < 0.02
        )
    };
    let is_drift = |warning: &&Warning| matches!(warning, Warning::Drifted { .. });
    assert_eq!(stepped.iter().filter(is_step).count(), 2, "{stepped:?}");
    assert_eq!(stepped.iter().filter(is_drift).count(), 0, "{stepped:?}");
    let drifted = course(|block| 1.0 + 0.01 * f64::from(block));
    assert_eq!(drifted.iter().filter(is_drift).count(), 2, "{drifted:?}");
    let any_step = drifted.iter().any(|warning| matches!(warning, Warning::Stepped { .. }));
    assert!(!any_step, "{drifted:?}");
    let quiet = course(|_| 1.0);
    assert!(!quiet.iter().any(|one| is_drift(&one) || is_step(&one)), "{quiet:?}");
}

/// What one trial has of chance, the next has too: warned about on the wall clock, where trials
/// share a machine, and shown without a warning where there is none.
#[test]
fn noise_with_a_memory_is_warned_about() {
    let said = |memory: f64| {
        let mut random = Random::new(4);
        let mut now = 0.0;
        let run = run(8, |c, w, _| {
            now = memory * now + (1.0 - memory * memory).sqrt() * random.normal();
            planted(c, w) * (0.02 * now).exp()
        });
        let analysis = analyse(&run);
        let warned = analysis
            .warnings
            .iter()
            .filter(|warning| matches!(warning, Warning::Autocorrelated { .. }))
            .count();
        let [files, modelled] = [0, 1].map(|index| analysis.comparisons[index].autocorrelation);
        assert_eq!(modelled, None);
        (files.unwrap().lag_1, warned)
    };
    let (lag_1, warned) = said(0.9);
    assert!(lag_1 > 0.5 && warned == 1, "{lag_1}");
    let (lag_1, warned) = said(0.0);
    assert!(lag_1.abs() < 0.25 && warned == 0, "{lag_1}");
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
                .filter(|score| matches!(score.answer(), Some(Answer::Ahead | Answer::Behind)))
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

const CACHED: Doubt = Doubt::ReadFromCache { share: None };
const BUSY: Doubt = Doubt::OtherWork { share: None };

/// Puts a flag on every trial that `wanted` is about: by index of the configuration and workload.
fn flag(run: &mut Run, doubt: &Doubt, wanted: impl Fn(usize, usize) -> bool) {
    let plan = &run.plan;
    for trial in &mut run.trials {
        let place = |settings| {
            plan.configurations.iter().position(|known| known.settings == settings).unwrap()
        };
        let configuration = place(trial.settings.clone());
        let workload =
            plan.workloads.iter().position(|known| known.name == trial.workload).unwrap();
        if wanted(configuration, workload) {
            trial.flags.push(doubt.clone());
        }
    }
}

/// "All trials of one side flagged 'read from a cache' still give '2.71x, surely ahead'": they are
/// shown and do not vote.
#[test]
fn a_winner_that_a_cache_made_is_shown_and_wins_nothing() {
    let mut cached = run(6, |c, w, block| {
        let factor = if c == 3 { 2.71 } else { 1.0 };
        planted(c, w) * factor * (1.0 + 0.001 * f64::from(block))
    });
    flag(&mut cached, &CACHED, |c, _| c == 3);
    let analysis = analyse(&cached);
    let comparison = &analysis.comparisons[0];
    let ids: Vec<String> = comparison.configurations.iter().map(|one| one.id.clone()).collect();
    let versus = versus_of(comparison, 3, "sequential read 512", THROUGHPUT);
    assert!((versus.ratio - 1.49 * 2.71).abs() < 0.01 && versus.interval.is_none(), "{versus:?}");
    assert_eq!(
        (versus.answer, versus.invalid),
        (
            Answer::Open,
            Some(Invalid::TooFew { voting: 0, silent: 6, reason: Some(Silence::Doubtful(CACHED)) })
        )
    );
    let headline = &comparison.kinds[0].headline;
    assert_eq!((headline.take.as_ref(), headline.sure), (Some(&ids[2]), true));
    assert!(headline.reservations.contains(&Reservation::NotCompared {
        configuration: ids[3].clone(),
        reason: Some(Silence::Doubtful(CACHED))
    }));

    // With all flagged there is nothing to take, and the run has no result.
    flag(&mut cached, &CACHED, |c, _| c != 3);
    let analysis = analyse(&cached);
    assert!(analysis.asks_for_headlines() && !analysis.has_valid_headline());

    // Where a cache is what is asked about, what it answers is the answer.
    for configuration in &mut cached.plan.configurations {
        configuration.caches = vec![MeasuredCache::Layer];
    }
    assert!(analyse(&cached).comparisons[0].kinds[0].headline.sure);
}

/// A workload that a cache answers for every configuration says nothing of the medium; the others
/// still do.
#[test]
fn a_workload_that_hardly_votes_is_left_out_and_named() {
    let mut run = noisy(21, 0.002);
    flag(&mut run, &CACHED, |_, w| w == 1);
    let headline = analyse(&run).comparisons[0].kinds[0].headline.clone();
    assert!(headline.sure);
    assert_eq!(
        headline.reservations,
        [Reservation::LeftOut(LeftOut {
            workload: "sequential read 65536".into(),
            reason: Silence::Doubtful(CACHED)
        })]
    );
}

/// "A headline most of whose trials were busy says so and is not called sure."
#[test]
fn a_busy_machine_votes_and_is_not_called_sure() {
    let mut run = noisy(22, 0.002);
    flag(&mut run, &BUSY, |_, _| true);
    let headline = analyse(&run).comparisons[0].kinds[0].headline.clone();
    let claim = headline.claim.unwrap();
    assert_eq!((claim.answer, claim.busy, headline.sure), (Answer::Ahead, 6, false));
    assert!(headline.reservations.contains(&Reservation::Busy { busy: 6, pairs: 6 }));
}

/// "The judged figure of a write is the durable rate wherever there is one."
#[test]
fn writes_are_judged_by_the_durable_rate_unless_the_plan_says_otherwise() {
    let durable = format!("durable_{THROUGHPUT}");
    let mut run = run(6, |c, w, block| planted(c, w) * (1.0 + 0.001 * f64::from(block)));
    for trial in run.trials.iter_mut().filter(|trial| trial.workload == "random read 512") {
        // Twice as fast to acknowledge, half as fast to keep.
        let own = if trial.settings.contains_key("chunk") { 2.0 } else { 1.0 };
        let rate = trial.metrics[THROUGHPUT];
        trial.metrics.insert(THROUGHPUT, rate * own);
        trial.metrics.insert(durable.clone(), rate / own);
    }
    let random = |run: &Run| {
        let analysis = analyse(run);
        let comparison = &analysis.comparisons[0];
        let cell = comparison.cell(&comparison.configurations[2].id, "random read 512").unwrap();
        (cell.metrics[0].name.clone(), comparison.kinds[1].scores[2].ratio)
    };
    let (metric, ratio) = random(&run);
    assert!(metric == durable && (ratio - 0.5).abs() < 1e-9, "{metric} {ratio}");
    for workload in &mut run.plan.workloads {
        workload.judge = Judge::Acknowledged;
    }
    let (metric, ratio) = random(&run);
    assert!(metric == THROUGHPUT && (ratio - 2.0).abs() < 1e-9, "{metric} {ratio}");
}

/// "p50, p99 and p99.9 where enough requests stand behind them."
#[test]
fn a_percentile_needs_a_hundred_requests_beyond_it() {
    let mut run = run(6, |c, w, _| planted(c, w));
    for (requests, voting) in [(9_000.0, 0), (10_000.0, 6)] {
        for trial in &mut run.trials {
            let latency = trial.metrics[LATENCY];
            trial.metrics.insert("latency_p99_seconds", 2.0 * latency);
            trial.metrics.insert("operations_count", requests);
        }
        let analysis = analyse(&run);
        let versus =
            |metric: &str| versus_of(&analysis.comparisons[0], 2, "sequential read 512", metric);
        assert_eq!((versus("latency_p99_seconds").pairs, versus(LATENCY).pairs), (voting, 6));
    }
}

/// "A modelled claim carries the model's stated error and is called sure only beyond it."
#[test]
fn modelled_claims_are_sure_beyond_the_models_error_only() {
    let mut run = run(6, |c, w, _| planted(c, w));
    let sure = |run: &Run| {
        let headline = analyse(run).comparisons[1].kinds[0].headline.clone();
        (headline.sure, headline.claim.map(|claim| claim.interval.unwrap()))
    };
    assert!(!sure(&run).0, "a model that states no error is not sure of anything");
    for (error, cases, expected) in
        [(0.23, 10, true), (0.6, 10, false), (0.23, 9, false), (0.23, 0, false)]
    {
        for configuration in &mut run.plan.configurations[4..] {
            configuration.model_error = Some(error);
            configuration.model_cases = cases;
        }
        let (found, interval) = sure(&run);
        assert_eq!(found, expected, "1.5 times with {error} of {cases}: {interval:?}");
    }
}

/// Of a drive and an array only the array's error counts, in the workloads that are compared; of
/// several workloads the widest, and the fewest cases.
#[test]
fn a_models_error_is_that_of_the_work_and_of_the_array() {
    use crate::types::{ModelError, ModelErrors};

    let mut run = run(6, |c, w, _| planted(c, w));
    let names: Vec<String> = run.plan.workloads.iter().map(|one| one.name.clone()).collect();
    let errors = |is_one_drive: bool, of: &[(usize, f64, u32)]| {
        let known = of.iter().map(|&(workload, error, cases)| {
            (names[workload].clone(), ModelError { error, cases })
        });
        Some(ModelErrors { is_one_drive, workloads: known.collect() })
    };
    let configurations = &mut run.plan.configurations;
    configurations[4].model_errors = errors(true, &[(0, 0.9, 1), (1, 0.9, 1)]);
    configurations[5].model_errors = errors(false, &[(0, 0.2, 20), (1, 0.3, 12)]);
    configurations[6].model_errors = errors(false, &[(0, 0.1, 30)]);
    let known = |both: [usize; 2], workloads: &[usize]| {
        super::model_error(&run.plan, both, workloads).map(|known| (known.error, known.cases))
    };
    assert!(run.plan.configurations[4].modelled && !run.plan.configurations[0].modelled);
    assert_eq!(known([5, 4], &[0]), Some((0.2, 20)), "the array's, and not the drive's");
    assert_eq!(known([5, 4], &[0, 1]), Some((0.3, 12)));
    assert_eq!(known([4, 4], &[0]), Some((0.9, 1)), "a drive against a drive");
    assert_eq!(known([5, 6], &[0]), Some((0.2, 20)), "of two arrays the wider");
    assert_eq!(known([5, 6], &[1]), None, "nothing is known of one of them");
    assert_eq!(known([0, 1], &[0]), None, "nothing is modelled");
}

/// "A goal and constraints: headline obeys them": one headline for the goal, at the whole level;
/// what must hold keeps the fastest from being taken, and says so.
#[test]
fn the_headline_is_the_goals_and_obeys_what_must_hold() {
    use crate::types::{Bound, PlanGoal};

    let mut run = run(8, |c, w, block| planted(c, w) * (1.0 + 0.002 * f64::from(block % 3)));
    let id = |index: usize| run.plan.configurations[index].id.clone();
    let [single, small, middle, large] = [0, 1, 2, 3].map(id);
    // By latency the middle one is ahead, which is less time.
    let goal = |metric: &str| Some(PlanGoal { text: "a goal".into(), metric: Some(metric.into()) });
    run.plan.terms.goal = goal(LATENCY);
    let analysis = analyse(&run);
    let comparison = &analysis.comparisons[0];
    assert!(comparison.kinds.is_empty(), "one headline");
    let whole = comparison.whole.as_ref().unwrap();
    assert_eq!(whole.recommended.as_ref(), Some(&middle));
    let claim = whole.headline.claim.as_ref().unwrap();
    assert!(claim.ratio > 1.2 && claim.answer == Answer::Ahead, "{claim:?}");
    assert_eq!(claim.family.comparisons, 2.0 * 2.0 * 3.0, "two comparisons, each with a headline");
    let cell = comparison.cell(&middle, "random read 512").unwrap();
    assert_eq!(cell.metrics[0].name, LATENCY, "cells are judged by it too");

    // The plan knows that the middle one may not be taken.
    run.plan.terms.ruled_out.insert(middle.clone(), "survives no member's loss".into());
    let whole = analyse(&run).comparisons[0].whole.clone().unwrap();
    assert_eq!(whole.recommended, Some(large.clone()));
    let said = Reservation::RuledOut {
        configuration: middle.clone(),
        reason: "survives no member's loss".into(),
    };
    assert!(whole.headline.reservations.contains(&said), "{:?}", whole.headline.reservations);
    assert!(whole.score(&middle).is_some(), "it is compared all the same");

    // No disk is as quick as that.
    let never = Bound { text: "mean < 1 us".into(), metric: LATENCY.into(), below: 1e-6 };
    run.plan.terms.bounds.push(never);
    let whole = analyse(&run).comparisons[0].whole.clone().unwrap();
    assert_eq!((whole.recommended, whole.headline.sure), (None, false));
    let failing: Vec<&Reservation> = whole
        .headline
        .reservations
        .iter()
        .filter(|one| matches!(one, Reservation::RuledOut { .. }))
        .collect();
    assert_eq!(failing.len(), 4, "{single} {small} {failing:?}");

    // What no trial has is no goal.
    run.plan.terms.bounds.clear();
    run.plan.terms.goal = goal("latency_p99_seconds");
    let whole = analyse(&run).comparisons[0].whole.clone().unwrap();
    assert_eq!(whole.headline.take, None);
    let Some(Reservation::LeftOut(out)) = whole.headline.reservations.first() else {
        panic!("{:?}", whole.headline.reservations)
    };
    let lacking = Silence::NoSuchFigure { metric: "latency_p99_seconds".into() };
    assert_eq!(out.reason, lacking);
}

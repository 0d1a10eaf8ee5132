use super::*;
use crate::doubt::Doubt;
use crate::random::Random;
use crate::shared::Metrics;
use crate::types::{
    Axis, BetterDirection, Clock, Configuration, Fact, Group, Host, Plan, Schedule, Trial,
    WorkTarget, Workload, cell_id, configuration_id,
};

const THROUGHPUT: &str = "throughput_bytes_per_second";

fn run(source: &str, figures: &[f64], clock: Clock) -> Run {
    let settings = BTreeMap::from([("chunk".to_owned(), source.to_owned())]);
    let id = configuration_id(&settings);
    let name = "random read 4096";
    let trial = |(block, figure): (usize, &f64)| Trial {
        cell: cell_id(&settings, name),
        settings: settings.clone().into(),
        workload: name.to_owned(),
        block: block as u32,
        order: 0,
        clock,
        metrics: Metrics::from_iter([
            (THROUGHPUT.to_owned(), *figure),
            ("latency_mean_seconds".to_owned(), 1.0 / figure),
        ]),
        members: Vec::new(),
        flags: Vec::new(),
    };
    let workload = Workload {
        name: name.to_owned(),
        suite: "devtest".to_owned(),
        group: Group::Random,
        metric: THROUGHPUT.to_owned(),
        better: BetterDirection::Higher,
        weight: 1.0,
        judge: crate::types::Judge::default(),
        buffered_of: None,
    };
    let configuration = Configuration {
        id: id.clone(),
        settings: settings.clone(),
        stack: String::new(),
        clock,
        ground: WorkTarget::Device,
        modelled: clock == Clock::Virtual,
        caches: Vec::new(),
        quick_removal: false,
        baseline: id,
        model_errors: None,
        model_error: None,
        model_cases: 0,
        survives: None,
        usable: None,
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
            terms: crate::types::Terms::default(),
            schedule: Schedule::default(),
        },
        trials: figures.iter().enumerate().map(trial).collect(),
        host: Host {
            schema: 1,
            started: String::new(),
            facts: Vec::new(),
            one_disk: Vec::new(),
            shared_disks: Vec::new(),
            machines: Default::default(),
        },
        notes: Vec::new(),
        steps: Vec::new(),
    }
}

fn limit(metric: &str, below: bool, change: f64) -> Limit {
    Limit { metric: metric.to_owned(), below, change }
}

#[test]
fn the_same_cells_are_compared_and_the_word_is_about_the_second() {
    let before = run("4KiB", &[100.0, 101.0, 99.0, 100.5, 100.2], Clock::Wall);
    let after = run("4KiB", &[120.0, 121.0, 119.0, 120.5, 120.2], Clock::Wall);
    let changes = compare(&before, &after, 0.02, None);
    let cell = &changes.cells[0];
    assert!(
        (cell.claim.ratio - 1.2).abs() < 0.005
            && cell.trials == [5, 5]
            && (cell.medians[1] - 120.2).abs() < 1e-9
    );
    assert_eq!(cell.claim.answer, Answer::Ahead);
    assert_eq!(changes.summary, Summary { faster: 1, ..Summary::default() });
    assert!(changes.notes.contains(&ComparisonNote::NotInterleaved));
    let back = compare(&after, &before, 0.02, None);
    assert_eq!(back.cells[0].claim.answer, Answer::Behind);
    let same = compare(&before, &before, 0.02, None);
    assert_eq!(same.cells[0].claim.answer, Answer::Same);
}

/// "Compares every metric."
#[test]
fn every_metric_is_compared_and_a_loss_of_latency_is_found_by_its_name() {
    let before = run("4KiB", &[100.0, 101.0, 99.0, 100.5, 100.2], Clock::Wall);
    let mut after = before.clone();
    for trial in &mut after.trials {
        *trial.metrics.get_mut("latency_mean_seconds").unwrap() *= 1.5;
    }
    let changes = compare(&before, &after, 0.02, None);
    let names: Vec<_> = changes.cells.iter().map(|cell| cell.claim.metric.as_str()).collect();
    assert_eq!(names, [THROUGHPUT, "latency_mean_seconds"]);
    assert_eq!(changes.cells[1].claim.answer, Answer::Behind);
    assert_eq!(changes.judge(&[limit("latency", false, 0.1)]).passed, [(0, 1)]);
    assert_eq!(changes.judge(&[limit("throughput", true, -0.05)]), LimitVerdicts::default());
}

/// "Fewer than four trials a side cannot fail anything and say so."
#[test]
fn three_trials_a_side_fail_nothing() {
    let before = run("4KiB", &[100.0, 101.0, 99.0], Clock::Wall);
    let after = run("4KiB", &[50.0, 51.0, 49.0], Clock::Wall);
    let changes = compare(&before, &after, 0.02, None);
    assert_eq!(changes.cells[0].claim.answer, Answer::Open);
    let judged = changes.judge(&[limit("throughput", true, -0.05)]);
    let few = Insensitivity::FewTrials { voting: 3, least: TRIALS_MIN, reason: None };
    assert_eq!((judged.passed, judged.blind), (vec![], vec![(0, 0, few)]));
    let few = ComparisonNote::TooFewTrials { cells: 1, least: TRIALS_MIN };
    assert!(changes.notes.contains(&few), "{:?}", changes.notes);
}

/// "A blind gate passes": a percentile that wants more requests than trials make says so, and does
/// not blame their number; enough requests see what was planted.
#[test]
fn a_percentile_of_too_few_requests_is_blind_and_says_how_many_it_wants() {
    const P99: &str = "latency_p99_seconds";
    let of = |requests: f64, factor: f64| {
        let mut run = run("4KiB", &[100.0, 101.0, 99.0, 100.5, 100.2], Clock::Wall);
        for trial in &mut run.trials {
            let latency = trial.metrics["latency_mean_seconds"];
            trial.metrics.insert(P99, factor * latency);
            trial.metrics.insert("operations_count", requests);
        }
        run
    };
    let judged = |requests: f64| {
        let changes = compare(&of(requests, 1.0), &of(requests, 1.25), 0.02, None);
        changes.judge(&[limit("latency_p99", false, 0.1)])
    };
    let few = judged(9_000.0);
    assert_eq!(few.passed, []);
    assert!(
        matches!(few.blind[..], [(0, _, Insensitivity::FewRequests { needed: 10_000 })]),
        "{:?}",
        few.blind
    );
    let enough = judged(10_000.0);
    assert_eq!((enough.passed.len(), enough.blind.len()), (1, 0));
    // A limit on all latencies has the mean to see by.
    let changes = compare(&of(9_000.0, 1.0), &of(9_000.0, 1.25), 0.02, None);
    let all = changes.judge(&[limit("latency", false, 0.1)]);
    assert_eq!((all.passed.len(), all.blind.len(), all.unseen), (0, 0, 1));
}

/// An interval from 0.67 to 2.6 around a limit of 10 % sees nothing: it neither passes nor holds.
#[test]
fn an_interval_wider_than_the_limit_is_blind_and_says_how_many_trials_would_see() {
    let noisy = [100.0, 180.0, 70.0, 140.0, 95.0];
    let (before, after) = (run("4KiB", &noisy, Clock::Wall), run("4KiB", &noisy, Clock::Wall));
    let changes = compare(&before, &after, 0.02, None);
    let judged = changes.judge(&[limit("throughput", true, -0.1)]);
    let [(0, 0, Insensitivity::Wide { interval, trials })] = &judged.blind[..] else {
        panic!("{judged:?}");
    };
    assert!(interval.low < 0.7 && interval.high > 1.4 && *trials > 50, "{interval:?}, {trials}");
    // A limit as wide as the interval is seen to hold; so is one that lies beyond its end.
    assert_eq!(changes.judge(&[limit("throughput", true, -0.6)]), LimitVerdicts::default());
    assert_eq!(changes.judge(&[limit("throughput", false, 4.0)]), LimitVerdicts::default());
}

/// Blocks of one machine have in common what is peculiar to it.
#[test]
fn of_runs_on_several_machines_each_machine_is_one_trial() {
    let figures: Vec<f64> = (0..12).map(|block| 100.0 + f64::from(block % 4)).collect();
    let [mut before, after] = [&figures, &figures].map(|figures| run("4KiB", figures, Clock::Wall));
    before.host.machines = (0..12).map(|block| (block, block % 4)).collect();
    let changes = compare(&before, &after, 0.02, None);
    assert_eq!(changes.cells[0].trials, [4, 12]);
}

/// "A trial that a cache answered where the medium was asked about is shown and does not vote."
#[test]
fn what_a_cache_answered_does_not_vote() {
    let before = run("4KiB", &[100.0, 101.0, 99.0, 100.5, 100.2], Clock::Wall);
    let mut after = run("4KiB", &[270.0, 271.0, 269.0, 270.5, 270.2], Clock::Wall);
    for trial in &mut after.trials {
        trial.flags.push(Doubt::ReadFromCache { share: Some(0.0) });
    }
    let changes = compare(&before, &after, 0.02, None);
    let cell = &changes.cells[0];
    assert_eq!((cell.trials, cell.silent, cell.claim.answer), ([5, 0], [0, 5], Answer::Open));
    assert!((cell.claim.ratio - 2.7).abs() < 0.01, "it is shown all the same");
}

/// "Different settings, machine or version are named."
#[test]
fn what_differs_is_named() {
    let fact = |name: &str, value: &str| Fact {
        name: name.to_owned(),
        value: value.to_owned(),
        must_match: name != "load",
    };
    let mut before = run("4KiB", &[100.0; 5], Clock::Wall);
    let mut after = before.clone();
    before.plan.suite_settings.insert("devtest.depth".into(), "1".into());
    after.plan.suite_settings.insert("devtest.depth".into(), "32".into());
    before.host.facts = vec![fact("raidloom", "0.1"), fact("kernel", "6.1"), fact("load", "0")];
    after.host.facts = vec![fact("raidloom", "0.2"), fact("kernel", "6.1"), fact("load", "9")];
    let found: Vec<_> = compare(&before, &after, 0.02, None)
        .differing
        .into_iter()
        .map(|differing| (differing.aspect, differing.name))
        .collect();
    assert_eq!(
        found,
        [(Aspect::Settings, "devtest.depth".to_owned()), (Aspect::Version, "raidloom".to_owned())]
    );
}

#[test]
fn runs_of_one_configuration_each_are_compared_by_workload_and_clocks_are_kept_apart() {
    let (one, other) = (run("4KiB", &[100.0], Clock::Wall), run("8KiB", &[150.0], Clock::Wall));
    let changes = compare(&one, &other, 0.02, None);
    let [first, second] = ["4KiB", "8KiB"].map(str::to_owned);
    assert_eq!(changes.notes[0], ComparisonNote::OneConfigurationEach { first, second });
    let claim = &changes.cells[0].claim;
    assert!((claim.ratio - 1.5).abs() < 1e-12 && claim.answer == Answer::Open);
    let modelled = compare(&one, &run("4KiB", &[100.0], Clock::Virtual), 0.02, None);
    let is_told =
        |note: &ComparisonNote| matches!(note, ComparisonNote::ModelledAndMeasured { .. });
    assert!(modelled.cells.is_empty() && is_told(&modelled.notes[0]), "{:?}", modelled.notes);
}

/// The interval of one cell misses the truth as seldom as it says, also with unequal counts.
#[test]
fn the_interval_covers_the_truth() {
    let mut random = Random::new(7);
    for (m, n) in [(4, 4), (7, 7), (5, 12)] {
        let mut covered = 0;
        let rounds = 1000;
        for _ in 0..rounds {
            let mut sample = |count: usize, centre: f64| -> Vec<f64> {
                (0..count).map(|_| 100.0 * (centre + 0.03 * random.normal()).exp()).collect()
            };
            let (first, second) = (sample(m, 0.0), sample(n, 0.05));
            let changes = compare(
                &run("4KiB", &first, Clock::Wall),
                &run("4KiB", &second, Clock::Wall),
                0.02,
                None,
            );
            let interval = changes.cells[0].claim.interval.unwrap();
            covered += u32::from(interval.contains(0.05_f64.exp()));
        }
        // 95 % and four deviations.
        assert!((920..=980).contains(&covered), "{m}, {n}: {covered} of {rounds}, seed 7");
    }
}

/// One of three stands for the machine: what it lost is not the others' loss. A name that none has,
/// or several have, is no reference.
#[test]
fn cells_are_judged_beside_the_one_that_is_named() {
    let three = |factors: [f64; 3]| {
        let mut runs = ["1", "2", "3"].iter().zip(factors).map(|(name, factor)| {
            run(
                name,
                &[100.0, 101.0, 99.0, 100.0, 102.0].map(|figure| figure * factor),
                Clock::Wall,
            )
        });
        let mut all = runs.next().unwrap();
        for other in runs {
            all.plan.configurations.extend(other.plan.configurations);
            all.trials.extend(other.trials);
        }
        all
    };
    let (before, after) = (three([1.0; 3]), three([0.9, 0.9, 0.8]));
    let value = |axis: Option<&str>, value: &str| ReferenceCell::Value {
        axis: axis.map(str::to_owned),
        value: value.to_owned(),
    };
    for beside in [value(None, "1"), value(Some("chunk"), "1")] {
        let changes = compare(&before, &after, 0.02, Some(&beside));
        let own = changes.cells.iter().filter(|cell| cell.judged);
        let ratios: Vec<f64> = own.clone().map(|cell| cell.claim.ratio).collect();
        assert!(ratios.len() == 2 && (ratios[0] - 1.0).abs() < 1e-9, "{ratios:?}");
        assert!((ratios[1] - 0.8 / 0.9).abs() < 1e-9, "{ratios:?}");
        let medians: Vec<f64> = own.map(|cell| cell.medians[1]).collect();
        assert!((medians[0] - 90.0).abs() < 1e-9, "figures stay what they are: {medians:?}");
        assert_eq!(changes.beside.as_ref().unwrap()["chunk"], "1");
    }
    for nobody in [value(None, "4"), value(Some("level"), "1")] {
        assert_eq!(compare(&before, &after, 0.02, Some(&nobody)).cells, []);
    }
}

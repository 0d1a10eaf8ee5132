use super::*;
use crate::types::{BetterDirection, Clock, Judge, WorkTarget, configuration_id};

#[test]
fn bounds_are_those_of_the_binomial_distribution() {
    for (count, all, expected) in [
        (0, 300, 0.9936),
        (0, 3000, 0.0998),
        (0, 1, 95.0),
        (1, 20, 21.61),
        (5, 50, 19.9),
        (3, 3, 100.0),
    ] {
        let found = at_most_percent(count, all);
        assert!((found - expected).abs() < 0.06, "{count} of {all}: {found}");
    }
}

fn pulls(pulls: u64, change: impl Fn(&mut Tally)) -> Tally {
    let mut tally = Tally { pulls, promising: pulls, promises: 10 * pulls, ..Tally::default() };
    change(&mut tally);
    tally
}

/// "A: nothing is lost but the last second of copies. B: nothing acknowledged is lost. C: it takes
/// a repair to mount it, or old data come to light. D: acknowledged work is lost. E: all is lost,
/// sometimes."
#[test]
fn grades_follow_what_was_lost() {
    let of = |change: &dyn Fn(&mut Tally)| pulls(100, change).grade();
    assert_eq!(of(&|_| ()), Grade::A);
    assert_eq!(of(&|tally| tally.copies_late = 5), Grade::A);
    assert_eq!(of(&|tally| tally.copies_late = 6), Grade::B);
    assert_eq!(of(&|tally| tally.check_failed = 1), Grade::B);
    assert_eq!(of(&|tally| tally.rename_torn = 1), Grade::B);
    assert_eq!(of(&|tally| tally.exposed = 1), Grade::C);
    assert_eq!(of(&|tally| tally.unmountable = 1), Grade::C);
    assert_eq!(of(&|tally| tally.promise_broken = 1), Grade::D);
    assert_eq!(of(&|tally| (tally.promise_broken, tally.lost_for_good) = (1, 1)), Grade::E);
    for grade in Grade::ALL {
        assert_eq!(grade.to_string().parse(), Ok(grade));
    }
    assert!("F".parse::<Grade>().unwrap_err().contains("A, B, C, D, E"));
}

#[test]
fn what_is_recorded_is_read_back_and_blocks_add_up() {
    let mut tally = Tally::default();
    for ((_, field), number) in COUNTS.into_iter().zip(1..) {
        *field(&mut tally) = number;
    }
    for (place, (_, field)) in LONGEST.into_iter().enumerate() {
        *field(&mut tally) = place as f64 + 0.5;
    }
    let metrics = tally.metrics();
    assert_eq!(metrics.len(), COUNTS.len() + LONGEST.len(), "each has a name of its own");
    assert_eq!(Tally::of(&metrics), Some(tally.clone()));
    let mut sum = tally.clone();
    sum.add(&Tally { copies_seconds_lost: 9.0, ..tally.clone() });
    assert_eq!((sum.pulls, sum.unmountable), (2 * tally.pulls, 2 * tally.unmountable));
    assert_eq!((sum.copies_seconds_lost, sum.recovery_seconds), (9.0, 2.5));
    assert_eq!(Tally::of(&Metrics::from_iter([("io_per_second".to_owned(), 1.0)])), None);
    let hunted = tally.hunt_metrics();
    assert_eq!((Tally::of(&hunted), Tally::of_hunt(&hunted)), (None, Some(tally)));
    assert_eq!(Tally::of_hunt(&metrics), None, "the two are never mixed");
}

fn workload(name: &str, group: Group) -> Workload {
    Workload {
        name: name.to_owned(),
        suite: "any".to_owned(),
        group,
        metric: "throughput_bytes_per_second".to_owned(),
        better: BetterDirection::Higher,
        weight: if group == Group::Safety { 0.0 } else { 1.0 },
        judge: Judge::default(),
        buffered_of: None,
    }
}

fn settings(options: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("mount_options".to_owned(), options.to_owned())])
}

fn configuration(options: &str) -> Configuration {
    Configuration {
        id: configuration_id(&settings(options)),
        settings: settings(options),
        stack: "ram:1GiB".to_owned(),
        clock: Clock::Wall,
        ground: WorkTarget::Device,
        modelled: false,
        caches: Vec::new(),
        quick_removal: false,
        baseline: configuration_id(&settings("barrier")),
        model_errors: None,
        model_error: None,
        model_cases: 0,
        survives: None,
        usable: None,
    }
}

fn plan(blocks: u32) -> Plan {
    Plan {
        schema: 1,
        name: "made up".to_owned(),
        seed: 1,
        blocks,
        margin: 0.02,
        axes: vec![crate::types::Axis {
            name: "mount_options".to_owned(),
            values: vec!["barrier".to_owned(), "nobarrier".to_owned()],
        }],
        configurations: vec![configuration("barrier"), configuration("nobarrier")],
        workloads: vec![
            workload("write", Group::Sequential),
            workload("pull copy", Group::Safety),
            workload("pull fsync", Group::Safety),
        ],
        suite_settings: BTreeMap::new(),
        terms: Terms::default(),
        schedule: crate::types::Schedule::default(),
    }
}

/// `barrier` is the baseline, and `nobarrier` is twice as fast.
fn run(blocks: u32) -> Run {
    let host = crate::types::Host {
        schema: 1,
        started: "2026-01-01T00:00:00Z".to_owned(),
        facts: Vec::new(),
        one_disk: Vec::new(),
        shared_disks: Vec::new(),
        machines: Default::default(),
    };
    let mut run =
        Run { plan: plan(blocks), host, trials: Vec::new(), notes: Vec::new(), steps: Vec::new() };
    for block in 0..blocks {
        for options in ["barrier", "nobarrier"] {
            let fast = options == "nobarrier";
            let noise = 1.0 + 0.001 * f64::from(block % 3);
            let rate = if fast { 2e8 } else { 1e8 } * noise;
            let rate = Metrics::from_iter([("throughput_bytes_per_second", rate)]);
            let copies = pulls(50, |tally| {
                (tally.promising, tally.promises) = (0, 0);
                (tally.copies_late, tally.copies_seconds_lost) = (40, 11.0 + f64::from(block));
            });
            let fsync = pulls(50, |tally| tally.promise_broken = if fast { 2 } else { 0 });
            for (name, metrics) in
                [("write", rate), ("pull copy", copies.metrics()), ("pull fsync", fsync.metrics())]
            {
                let settings = settings(options);
                run.trials.push(Trial {
                    cell: crate::types::cell_id(&settings, name),
                    settings: settings.into(),
                    workload: name.to_owned(),
                    block,
                    order: 0,
                    clock: Clock::Wall,
                    metrics,
                    members: Vec::new(),
                    flags: Vec::new(),
                });
            }
        }
    }
    run
}

fn least(grade: Grade) -> Option<LeastGrade> {
    Some(LeastGrade { text: format!("grade >= {grade}"), grade })
}

#[test]
fn grades_are_beside_speeds_and_in_no_score() {
    let run = run(8);
    let analysis = crate::analyse(&run);
    assert_eq!((analysis.trials_finished, analysis.trials_planned), (48, 48));
    let [barrier, nobarrier] = &analysis.safety[..] else { panic!("{:?}", analysis.safety) };
    assert_eq!((&*barrier.label, &*nobarrier.label), ("barrier", "nobarrier"));
    let whole = |safety: &Safety| safety.whole.clone().unwrap();
    let (sound, broken) = (whole(barrier), whole(nobarrier));
    assert_eq!((sound.grade, broken.grade), (Grade::B, Grade::D));
    assert_eq!((sound.tally.pulls, sound.tally.promising), (800, 400));
    assert_eq!((sound.tally.promises, sound.tally.copies_seconds_lost), (4000, 18.0));
    // Copies promise nothing: they say nothing of promises.
    assert_eq!(sound.broken_at_most_percent, Some(at_most_percent(0, 400)));
    assert_eq!(broken.tally.promise_broken, 16);
    assert_eq!(barrier.rows[0].whole.as_ref().unwrap().broken_at_most_percent, None);
    let comparison = &analysis.comparisons[0];
    assert!(comparison.cells.iter().all(|cell| cell.workload == "write"));
    let kinds: Vec<_> = comparison.results().map(|kind| kind.group).collect();
    assert_eq!(kinds, [Some(Group::Sequential)]);
    assert_eq!(comparison.kinds[0].recommended.as_ref(), Some(&nobarrier.configuration));
    assert!(analysis.warnings.is_empty(), "{:?}", analysis.warnings);
}

#[test]
fn what_is_below_the_grade_is_not_taken_and_what_has_none_neither() {
    let mut run = run(8);
    run.plan.terms.grade = least(Grade::B);
    let taken = |run: &Run| {
        let analysis = crate::analyse(run);
        let kind = &analysis.comparisons[0].kinds[0];
        let reasons: Vec<String> = kind
            .headline
            .reservations
            .iter()
            .filter_map(|one| match one {
                crate::analysis::Reservation::RuledOut { reason, .. } => Some(reason.english()),
                _ => None,
            })
            .collect();
        (kind.recommended.clone(), reasons)
    };
    let [barrier, nobarrier] = [0, 1].map(|place| run.plan.configurations[place].id.clone());
    let (take, reasons) = taken(&run);
    assert_eq!(take, Some(barrier));
    assert_eq!(reasons, ["grade >= B is asked for: grade D in 800 pulls"]);
    run.plan.terms.grade = least(Grade::D);
    assert_eq!(taken(&run), (Some(nobarrier.clone()), Vec::new()));
    run.plan.terms.grade = least(Grade::A);
    let (take, reasons) = taken(&run);
    assert_eq!((take, reasons.len()), (None, 2));
    // No figures, no grade.
    run.plan.terms.grade = least(Grade::B);
    for trial in run.trials.iter_mut().filter(|trial| trial.workload == "pull fsync") {
        trial.metrics.clear();
        trial.flags = vec![Doubt::NotMeasured { reason: "only root may mount".into() }];
    }
    let (take, reasons) = taken(&run);
    assert_eq!(take, None);
    let expected = "grade >= B is asked for, and no grade was measured: only root may mount";
    assert_eq!(reasons, [expected, expected]);
    run.trials.retain(|trial| !trial.workload.starts_with("pull"));
    assert!(taken(&run).1[0].ends_with("there is no trial yet"));
}

#[test]
fn dishonest_drives_are_never_added_to_honest_ones() {
    let mut run = run(2);
    for trial in run.trials.iter_mut().filter(|trial| trial.workload == "pull copy") {
        let lying = pulls(50, |tally| (tally.dishonest, tally.promise_broken) = (1, 50));
        trial.metrics = lying.metrics();
    }
    let found = safety(&run.plan, &run.trials);
    assert_eq!(found[0].rows[0].whole.as_ref().unwrap().grade, Grade::D);
    let whole = found[0].whole.as_ref().unwrap();
    assert_eq!((whole.grade, whole.tally.pulls), (Grade::A, 100));
    run.trials.retain(|trial| trial.workload == "pull copy");
    let found = safety(&run.plan, &run.trials);
    let whole = found[0].whole.as_ref().unwrap();
    assert!(whole.grade == Grade::D && whole.tally.is_dishonest());
}

#[test]
fn a_run_of_pulls_alone_compares_nothing() {
    let mut run = run(2);
    run.plan.workloads.retain(is_pull);
    run.trials.retain(|trial| trial.workload.starts_with("pull"));
    let analysis = crate::analyse(&run);
    assert!(analysis.comparisons.is_empty() && !analysis.asks_for_headlines());
    assert_eq!((analysis.safety.len(), analysis.trials_finished), (2, 8));
    assert!(analysis.warnings.is_empty(), "{:?}", analysis.warnings);
}

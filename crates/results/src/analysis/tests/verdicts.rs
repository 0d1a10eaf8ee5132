//! What headlines come to, of planted runs.

use super::*;
use crate::course::LOOKS;
use crate::types::Survival;

const P99: &str = "latency_p99_seconds";

/// The first comparison alone, with these ratios to the single disk in all work and noise of so
/// much.
fn made(seed: u64, blocks: u32, noise: f64, ratios: [f64; 4]) -> Run {
    let mut random = Random::new(seed);
    let mut run = run(blocks, |c, w, _| {
        1e6 * ratios[c % 4] * (w + 1) as f64 * (noise * random.normal()).exp()
    });
    run.plan.configurations.truncate(4);
    let known: Vec<_> = run.plan.configurations.iter().map(|one| one.settings.clone()).collect();
    run.trials.retain(|trial| known.contains(&trial.settings));
    run
}

fn whole(run: &Run) -> KindResult {
    analyse(run).comparisons[0].overall().unwrap().clone()
}

#[test]
fn an_undefeated_baseline_is_no_answer_where_a_gain_is_possible() {
    // Nothing but noise: neither a gain nor its absence is seen.
    let noisy = made(1, 6, 0.3, [1.0; 4]);
    let analysis = analyse(&noisy);
    assert!(analysis.asks_for_headlines() && !analysis.has_valid_headline());
    let kind = whole(&noisy);
    let Verdict::TooNoisy { factor, .. } = kind.headline.verdict else { panic!("{kind:?}") };
    assert!(factor > 1.0, "{factor}");
    assert_eq!((&kind.headline.take, &kind.recommended), (&None, &None));
    assert!(!kind.headline.open.is_empty(), "more blocks may tell");
    // The factor is that by which less noise gives an answer.
    let quieter = whole(&made(1, 6, 0.3 / (1.5 * factor), [1.0; 4]));
    assert_eq!(quieter.headline.verdict, Verdict::NothingFaster);

    let quiet = made(2, 6, 0.03, [1.0, 1.0, 1.01, 0.98]);
    let kind = whole(&quiet);
    assert_eq!(kind.headline.verdict, Verdict::NothingFaster);
    assert_eq!(kind.headline.take.as_ref(), Some(&quiet.plan.configurations[0].id));
    assert!(analyse(&quiet).has_valid_headline());
    // What matters is the plan's to say.
    let mut strict = quiet.clone();
    strict.plan.terms.matters = Some(0.02);
    assert!(matches!(whole(&strict).headline.verdict, Verdict::TooNoisy { .. }));
}

#[test]
fn a_models_error_may_be_all_that_is_in_the_way() {
    let mut run = made(3, 6, 0.001, [1.0, 1.0, 0.99, 1.005]);
    for configuration in &mut run.plan.configurations {
        configuration.clock = Clock::Virtual;
        configuration.modelled = true;
        configuration.model_error = Some(0.2);
    }
    run.trials.iter_mut().for_each(|trial| trial.clock = Clock::Virtual);
    assert_eq!(whole(&run).headline.verdict, Verdict::WithinModel { error: 0.2 });
    for configuration in &mut run.plan.configurations {
        configuration.model_error = Some(0.02);
    }
    assert_eq!(whole(&run).headline.verdict, Verdict::NothingFaster);
}

/// Which one of a tie leads by chance does not matter.
#[test]
fn a_tie_is_said_as_one_and_taken_from_by_rule() {
    let mut taken = BTreeSet::new();
    for seed in 0..20 {
        let run = made(100 + seed, 6, 0.01, [1.0, 1.5, 1.5, 1.5]);
        let kind = whole(&run);
        assert_eq!(kind.headline.verdict, Verdict::Take);
        let tie = kind.headline.tie.as_ref().unwrap_or_else(|| panic!("seed {seed}: {kind:?}"));
        // One may have been ahead of another by chance.
        if tie.configurations.len() < 3 {
            continue;
        }
        let span = tie.span.as_ref().unwrap();
        assert_eq!((&*span.axis, &*span.from, &*span.to), ("chunk", "16KiB", "256KiB"));
        let range = tie.range.unwrap();
        assert!(range.low > 1.4 && range.high < 1.6, "{range:?}");
        assert_eq!(tie.picked_by, PickedBy::Middle, "seed {seed}");
        taken.insert(kind.headline.take.clone().unwrap());
    }
    assert_eq!(taken.len(), 1, "{taken:?}");
    // What loses in one kind of work is not taken from a tie of all.
    let mut random = Random::new(9);
    let mut run = run(8, |c, w, _| {
        let ratio = match (c % 4, w) {
            (0, _) => 1.0,
            (2, 2) => 0.8,
            (2, _) => 1.5 * (1.5_f64 / 0.8).sqrt(),
            _ => 1.5,
        };
        1e6 * ratio * (0.01 * random.normal()).exp()
    });
    run.plan.workloads.iter_mut().for_each(|one| one.weight = 1.0);
    let headline = whole(&run).headline;
    let id = |index: usize| run.plan.configurations[index].id.clone();
    assert!([id(1), id(3)].contains(headline.take.as_ref().unwrap()), "{headline:?}");
    assert_eq!(headline.tie.unwrap().configurations.len(), 3);
}

/// "The winner's p99 five times as long; one workload of its kind at 0.70 beside another at 1.5."
#[test]
fn what_the_winner_loses_is_said() {
    let mut run = run(6, |c, w, block| {
        let ratio = match (c % 4, w) {
            (2, 0) => 2.5,
            (2, 1) => 0.7,
            _ => 1.0,
        };
        1e6 * ratio * (1.0 + 0.001 * f64::from(block))
    });
    let winner = run.plan.configurations[2].settings.clone();
    for trial in &mut run.trials {
        let long =
            if trial.settings == winner && trial.workload.contains("512") { 5.0 } else { 1.0 };
        trial.metrics.insert(P99, 0.01 * long);
    }
    let comparison = analyse(&run).comparisons[0].clone();
    let headline = &comparison.kinds[0].headline;
    assert_eq!(headline.take.as_ref(), Some(&run.plan.configurations[2].id));
    let said: Vec<(&str, &str)> =
        headline.losses.iter().map(|loss| (&*loss.workload, &*loss.metric)).collect();
    assert_eq!(said[0], ("sequential read 512", P99), "the worst first: {said:?}");
    assert!(said.contains(&("sequential read 65536", THROUGHPUT)), "{said:?}");
    assert!(said.iter().all(|(workload, _)| workload.starts_with("sequential")), "{said:?}");
    let p99 = &headline.losses[0];
    assert!((p99.ratio - 5.0).abs() < 1e-9 && (p99.gain - 0.2).abs() < 1e-9, "{p99:?}");
    // All work has those of all workloads.
    let whole = comparison.whole.unwrap().headline;
    assert!(whole.take.is_none() || whole.losses.len() > headline.losses.len(), "{whole:?}");
    assert!(comparison.kinds[1].headline.losses.is_empty(), "the baseline loses nothing to itself");
}

#[test]
fn one_configuration_is_a_result() {
    let mut run = made(4, 6, 0.01, [1.0; 4]);
    run.plan.configurations.truncate(1);
    let known = run.plan.configurations[0].settings.clone();
    run.trials.retain(|trial| trial.settings == known);
    let analysis = analyse(&run);
    assert!(analysis.has_valid_headline());
    assert!(
        analysis.comparisons[0].results().all(|kind| kind.headline.verdict == Verdict::Figures)
    );
    run.trials.clear();
    assert!(!analyse(&run).has_valid_headline(), "there are none");
}

#[test]
fn what_is_taken_has_its_costs() {
    let mut run = made(5, 6, 0.01, [1.0, 1.2, 1.5, 1.3]);
    for trial in &mut run.trials {
        trial.metrics.insert("member_write_ratio", 2.0);
    }
    let headline = whole(&run).headline;
    let cost = headline.cost.unwrap();
    assert_eq!(Some(&cost.configuration), headline.take.as_ref());
    assert_eq!((cost.write_amplification, cost.survives), (Some(2.0), None));
    // Of an old run nobody said it, and a stripe survives nothing all the same.
    for configuration in &mut run.plan.configurations {
        let own = configuration.settings.clone();
        configuration.settings.insert("level".into(), "raid0".into());
        for trial in run.trials.iter_mut().filter(|trial| trial.settings == own) {
            trial.settings = configuration.settings.clone().into();
        }
    }
    let cost = whole(&run).headline.cost.unwrap();
    assert_eq!(cost.survives, Some(Survival::Members { count: 0, elsewhere: None }));
}

#[test]
fn a_trial_in_which_nothing_moved_is_a_loss() {
    let mut run = made(6, 6, 0.005, [1.0, 1.5, 1.5, 1.5]);
    let id = |run: &Run, index: usize| run.plan.configurations[index].settings.clone();
    let (dead, flaky) = (id(&run, 1), id(&run, 2));
    for trial in &mut run.trials {
        if trial.settings == dead || trial.settings == flaky && trial.block == 3 {
            trial.metrics.insert(THROUGHPUT, 0.0);
        }
    }
    let analysis = analyse(&run);
    let answer =
        |index| versus_of(&analysis.comparisons[0], index, "random read 512", THROUGHPUT).answer;
    assert_eq!([answer(1), answer(2), answer(3)], [Answer::Behind, Answer::Open, Answer::Ahead]);
    let course: Vec<&Warning> = analysis
        .warnings
        .iter()
        .filter(|one| matches!(one, Warning::CarriedOver { .. } | Warning::Stepped { .. }))
        .collect();
    assert!(course.is_empty(), "it says nothing of the machine: {course:?}");
}

#[test]
fn blocks_beyond_the_plans_are_a_look() {
    let mut run = made(7, 16, 0.01, [1.0, 1.5, 1.5, 1.5]);
    let level = |run: &Run| {
        versus_of(&analyse(run).comparisons[0], 1, "random read 512", THROUGHPUT).family.level()
    };
    let once = level(&run);
    run.plan.blocks = 6;
    let analysis = analyse(&run);
    assert_eq!(analysis.looks.map(|looks| (looks.reached, looks.count)), Some((16, LOOKS.len())));
    assert!((once / level(&run) - LOOKS.len() as f64).abs() < 1e-9);
}

#[test]
fn a_baseline_without_trials_is_found() {
    let mut run = made(8, 6, 0.01, [1.0; 4]);
    assert_eq!(analyse(&run).without_baseline().count(), 0);
    let baseline = run.plan.configurations[0].settings.clone();
    run.trials.retain(|trial| trial.settings != baseline);
    assert_eq!(analyse(&run).without_baseline().count(), 1);
}

/// "One joint sentence over families": those that come to the same are one part, with the range of
/// all of their intervals.
#[test]
fn comparisons_of_one_question_say_one_thing_together() {
    let of = |seed: u64, ratios: [[f64; 4]; 2]| {
        let mut random = Random::new(seed);
        let mut run = run(8, |c, w, _| {
            1e6 * ratios[c / 4][c % 4] * (w + 1) as f64 * (0.003 * random.normal()).exp()
        });
        for configuration in &mut run.plan.configurations {
            configuration.clock = Clock::Wall;
            configuration.modelled = false;
        }
        run.trials.iter_mut().for_each(|trial| trial.clock = Clock::Wall);
        analyse(&run)
    };
    // The same in both.
    let analysis = of(1, [[1.0, 1.2, 1.5, 1.5], [1.0, 1.2, 1.6, 1.6]]);
    let [part] = &analysis.joint[..] else { panic!("{:?}", analysis.joint) };
    assert_eq!(
        (&part.comparisons[..], &part.verdict, part.sure),
        (&[0, 1][..], &Verdict::Take, true)
    );
    let range = part.range.unwrap();
    assert!(range.low > 1.4 && range.low < 1.5 && range.high > 1.6, "{range:?}");
    let span = part.tie.as_ref().unwrap().span.as_ref().unwrap();
    assert_eq!((&*span.from, &*span.to), ("64KiB", "256KiB"));
    // Nothing helps in one of them.
    let analysis = of(2, [[1.0, 0.9, 1.0, 1.0], [1.0, 1.2, 1.6, 1.6]]);
    let verdicts: Vec<&Verdict> = analysis.joint.iter().map(|part| &part.verdict).collect();
    assert_eq!(verdicts, [&Verdict::NothingFaster, &Verdict::Take]);
    // One comparison has nobody to say it with.
    assert!(analyse(&made(3, 6, 0.01, [1.0; 4])).joint.is_empty());
}

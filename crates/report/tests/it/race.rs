//! Race, name, confirm, and looks: made-up runs of known truth, whose trials are spent as the lab
//! spends them.
//!
//! `RAIDLOOM_TEST_EVERYTHING=1` takes ten times as many runs, `=100` a hundred times. Rates as
//! measured stand in `docs/statistics.md`.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;

use results::analyse;
use results::analysis::{Analysis, Metric};
use results::claim::Answer;
use results::course::{Course, CourseEvent, LOOKS, Pick, RACE_BLOCKS_MIN, look_after};
use results::types::{Design, Group, Run, Terms, cell_id, configuration_id};
use testkit::made_up::{MadeUp, Noise, THROUGHPUT};

use crate::claims::{per_cent, rounds};

/// A race of 60 configurations over at most 9 blocks.
fn race(deviation: f64, seed: u64) -> MadeUp {
    MadeUp {
        deviation,
        terms: Terms { design: Design::Race, ..Terms::default() },
        ..MadeUp::one_workload(60, 9, Noise::Normal, seed)
    }
}

/// What the truth may be: the ratio of each configuration to the baseline.
#[derive(Clone, Copy, Debug)]
enum Truth {
    /// Some stand out: a spread of 10 %.
    Wide,
    /// Half that spread.
    Narrow,
    /// Twenty lie within 1 %.
    Crowded,
    /// All are equal.
    Equal,
}

impl Truth {
    fn of(self, seed: u64) -> Vec<f64> {
        // Sixty draws that depend on the seed alone: a made-up run's own first trials.
        let draws = MadeUp { deviation: 1.0, ..MadeUp::one_workload(60, 1, Noise::Normal, !seed) };
        let run = draws.run(|_, _| 1.0);
        let of = |index: usize, trial: &results::Trial| {
            let normal = (trial.metrics[THROUGHPUT] / 1e8).ln();
            match self {
                _ if index == 0 => 1.0,
                Truth::Wide => (0.10 * normal).exp(),
                Truth::Narrow => (0.05 * normal).exp(),
                Truth::Crowded if index <= 20 => (0.2 + 0.003 * normal).exp(),
                Truth::Crowded => (0.05 * normal).exp(),
                Truth::Equal => 1.0,
            }
        };
        let mut by_index: Vec<(usize, f64)> = run
            .trials
            .iter()
            .map(|trial| {
                let index = trial.settings["made"].parse().unwrap();
                (index, of(index, trial))
            })
            .collect();
        by_index.sort_by_key(|(index, _)| *index);
        by_index.into_iter().map(|(_, truth)| truth).collect()
    }
}

fn index(run: &Run, id: &str) -> usize {
    run.plan.configurations.iter().position(|one| one.id == id).unwrap()
}

fn pick(run: &Run) -> &Pick {
    let (_, picks) = Course::new(&run.plan, &run.steps).named().unwrap();
    &picks[0]
}

/// Trials of the race alone.
fn raced(run: &Run) -> usize {
    let (blocks, _) = Course::new(&run.plan, &run.steps).named().unwrap();
    run.trials.iter().filter(|trial| trial.block < blocks).count()
}

/// "Clear losers stop being measured (never the baseline, never the last of a level)."
#[test]
fn clear_losers_stop_but_never_the_baseline_nor_the_last_of_a_level() {
    let truth = |configuration: usize, _| match configuration {
        // The baseline is the worst of all; the last three are of a level of their own.
        0 => 0.5,
        configuration if configuration >= 57 => 0.6 + 0.05 * (configuration - 57) as f64,
        configuration if configuration > 50 => 1.0,
        _ => 0.8,
    };
    let mut run = race(0.01, 1).run(truth);
    for one in &mut run.plan.configurations {
        let made: usize = one.settings["made"].parse().unwrap();
        let level = if made >= 57 { "raid6" } else { "raid0" };
        one.settings.insert("level".into(), level.into());
        one.id = configuration_id(&one.settings);
    }
    let baseline = run.plan.configurations[0].id.clone();
    run.plan.configurations.iter_mut().for_each(|one| one.baseline = baseline.clone());
    for trial in &mut run.trials {
        let made: usize = trial.settings["made"].parse().unwrap();
        trial.settings = run.plan.configurations[made].settings.clone().into();
        trial.cell = cell_id(&trial.settings, &trial.workload);
    }
    let course = Course::new(&run.plan, &[]);
    assert_eq!(course.next_step(&run.trials, RACE_BLOCKS_MIN - 1), None, "too early");
    let Some(CourseEvent::Dropped { after_blocks: 3, configurations }) =
        course.next_step(&run.trials, RACE_BLOCKS_MIN)
    else {
        panic!("nothing was dropped")
    };
    let dropped: BTreeSet<usize> = configurations.iter().map(|id| index(&run, id)).collect();
    let expected: BTreeSet<usize> = (1..=50).chain([57, 58]).collect();
    assert_eq!(dropped, expected, "0 is the baseline, 59 the best of its level");
}

/// "Then one is named, and only fresh trials of it, two runners-up and the baseline make the
/// claim."
#[test]
fn one_is_named_before_the_first_fresh_trial_and_only_fresh_trials_vote() {
    let truth = Truth::Crowded.of(7);
    let run = race(0.02, 7).run(|configuration, _| truth[configuration]);
    let course = Course::new(&run.plan, &run.steps);
    let (blocks, picks) = course.named().unwrap();
    assert_eq!(picks.len(), 1, "one kind of work");
    let confirmed: BTreeSet<usize> = picks[0].all().map(|id| index(&run, id)).collect();
    assert_eq!(confirmed.len(), 4);
    for trial in run.trials.iter().filter(|trial| trial.block >= blocks) {
        let made: usize = trial.settings["made"].parse().unwrap();
        assert!(confirmed.contains(&made), "{made} was measured after the race");
    }
    assert_eq!(run.trials.len(), raced(&run) + 4 * LOOKS[0] as usize);
    assert_eq!(run.trials.len(), course.trials());
    assert_eq!(course.voting(&run.trials), Some(blocks..blocks + LOOKS[0]));
    // One trial less, and there is no look.
    assert_eq!(course.voting(&run.trials[1..]), Some(blocks..blocks + LOOKS[0]), "of the race");
    let less = &run.trials[..run.trials.len() - 1];
    assert_eq!(course.voting(less), Some(blocks..blocks));

    let analysis = analyse(&run);
    let kind = &analysis.comparisons[0].kinds[0];
    assert_eq!((kind.scores.len(), kind.named.as_ref()), (4, Some(&picks[0].named)));
    let claim = kind.headline.claim.as_ref().unwrap();
    assert_eq!((claim.pairs, claim.answer), (LOOKS[0] as usize, Answer::Ahead));
    // The race changes nothing about what is claimed.
    let mut other = run.clone();
    for trial in other.trials.iter_mut().filter(|trial| trial.block < blocks) {
        *trial.metrics.get_mut(THROUGHPUT).unwrap() *= 1.0 + 0.1 * f64::from(trial.order % 3);
    }
    assert_eq!(analyse(&other).comparisons[0].kinds, analysis.comparisons[0].kinds);
    // What was dropped shows when, and a ratio without a word.
    let csv = report::csv(&run, &analysis);
    assert!(csv.contains(",dropped after 3 blocks\r\n"), "{csv}");
    let words = csv.lines().filter(|line| {
        line.ends_with(",ahead") || line.ends_with(",behind") || line.ends_with(",same")
    });
    assert!(words.count() <= 2 * 3, "two metrics of three configurations");
}

/// "The run resumes after a kill in any phase": what is decided follows from the trials before it,
/// whatever came later, and whether or not it had been written down.
#[test]
fn the_same_trials_lead_to_the_same_steps() {
    for seed in 0..6 {
        let truth = Truth::Narrow.of(seed);
        let made = MadeUp {
            workloads: vec![(Group::Sequential, 1), (Group::Random, 2)],
            configurations: 30,
            ..race(0.03, seed)
        };
        let run = made.run(|configuration, workload| {
            truth[(configuration + 7 * workload * usize::from(configuration > 0)) % 60]
        });
        let mut steps = Vec::new();
        for block in 0..=run.trials.last().unwrap().block {
            while let Some(step) = Course::new(&run.plan, &steps).next_step(&run.trials, block) {
                steps.push(step);
            }
        }
        assert_eq!(steps, run.steps, "seed {seed}");
        assert!(matches!(steps.last(), Some(CourseEvent::Named { picks, .. }) if picks.len() == 3));
    }
}

/// "Race: regret at most the full design's plus 0.1 points, at most 40 % of the trials where one
/// stands out, never more than 100 %."
#[test]
fn a_race_costs_little_and_regrets_little() {
    let count = rounds(30);
    for (truth_of, most) in
        [(Truth::Wide, 0.40), (Truth::Narrow, 0.55), (Truth::Crowded, 0.60), (Truth::Equal, 1.0)]
    {
        for deviation in [0.02, 0.05] {
            let (mut regret, mut regret_of_full, mut cost, mut dearest) = (0.0, 0.0, 0.0, 0.0_f64);
            let mut squares = 0.0;
            for round in 0..u64::from(count) {
                let seed = 200_000 + round;
                let truth = truth_of.of(seed);
                let best = truth[1..].iter().copied().fold(0.0, f64::max);
                let made = race(deviation, seed);
                let run = made.run(|configuration, _| truth[configuration]);
                let own = best - truth[index(&run, &pick(&run).named)];
                regret += own;
                cost += raced(&run) as f64 / 540.0;
                dearest = dearest.max(run.trials.len() as f64 / 540.0);
                let full = MadeUp { terms: Terms::default(), ..made }
                    .run(|configuration, _| truth[configuration]);
                let mut sums = vec![0.0; 60];
                for trial in &full.trials {
                    let made: usize = trial.settings["made"].parse().unwrap();
                    sums[made] += trial.metrics[THROUGHPUT].ln();
                }
                let named = (1..60).max_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap();
                regret_of_full += best - truth[named];
                squares += (own - (best - truth[named])).powi(2);
            }
            let chance = 3.0 * squares.sqrt() / f64::from(count);
            let [regret, regret_of_full, cost] =
                [regret, regret_of_full, cost].map(|sum| sum / f64::from(count));
            println!(
                "{truth_of:?}, noise {deviation}: regret {:.2} points (full {:.2}), {:.0} % of \
                the trials, with fresh ones at most {:.0} %",
                100.0 * regret,
                100.0 * regret_of_full,
                100.0 * cost,
                100.0 * dearest
            );
            let what = format!("{truth_of:?}, noise {deviation}, seeds from 200000");
            assert!(dearest <= 1.0, "{what}: {dearest}");
            assert!(cost <= most, "{what}: {cost} of the trials");
            assert!(regret <= regret_of_full + 0.001 + chance, "{what}: {regret}");
        }
    }
}

/// "After race and confirmation, 60 configurations, noise 2 and 5 %: shown minus true within 0.25 %
/// on the mean, intervals cover >= 94.5 %."
#[test]
fn what_was_named_shows_what_it_is_worth() {
    let count = rounds(60);
    for truth_of in [Truth::Wide, Truth::Narrow, Truth::Equal] {
        for deviation in [0.02, 0.05] {
            let (mut sum, mut squares, mut covered) = (0.0, 0.0, 0.0);
            for round in 0..u64::from(count) {
                let seed = 210_000 + round;
                let truth = truth_of.of(seed);
                let run = race(deviation, seed).run(|configuration, _| truth[configuration]);
                let analysis = analyse(&run);
                let kind = &analysis.comparisons[0].kinds[0];
                let named = &pick(&run).named;
                let claim = kind.score(named).unwrap().versus_baseline.as_ref().unwrap();
                let true_ratio = truth[index(&run, named)];
                let error = claim.ratio / true_ratio - 1.0;
                sum += error;
                squares += error * error;
                covered += f64::from(u8::from(claim.interval.unwrap().contains(true_ratio)));
            }
            let count = f64::from(count);
            let (mean, covered) = (sum / count, covered / count);
            let chance = 3.0 * squares.sqrt() / count;
            println!(
                "{truth_of:?}, noise {deviation}: shown - true {:+.2} % on the mean, {:.1} % covered",
                100.0 * mean,
                100.0 * covered
            );
            let what = format!("{truth_of:?}, noise {deviation}, seeds from 210000");
            assert!(mean.abs() <= 0.0025 + chance, "{what}: {mean}");
            let slack = 3.0 * (0.055_f64 * 0.945 / count).sqrt();
            assert!(covered >= 0.945 - slack, "{what}: {covered} covered");
        }
    }
}

/// The judged metric of a configuration in the only workload.
fn judged(analysis: &Analysis, configuration: usize) -> &Metric {
    &analysis.comparisons[0].cells[configuration].metrics[0]
}

fn answer(analysis: &Analysis, configuration: usize) -> Answer {
    judged(analysis, configuration).versus_baseline.as_ref().unwrap().answer
}

fn is_word_of_difference(answer: Answer) -> bool {
    matches!(answer, Answer::Ahead | Answer::Behind)
}

/// "Following the program's own advice up to 60 blocks: false words <= 3.5 %; 'N more' settles 75
/// to 90 %": of what was open after 8 blocks.
#[test]
fn going_on_as_advised_settles_most_questions_and_makes_no_false_words() {
    let count = rounds(120);
    let (mut asked, mut advised, mut settled, mut wrong, mut blocks) = (0, 0, 0, 0, 0);
    for round in 0..u64::from(count) {
        let made = MadeUp {
            deviation: 0.015 + 0.01 * (round % 3) as f64 / 2.0,
            ..MadeUp::one_workload(9, LOOKS[0], Noise::Normal, 220_000 + round)
        };
        let mut run = made.run(|_, _| 1.0);
        let mut analysis = analyse(&run);
        let open = (1..9).find(|configuration| answer(&analysis, *configuration) == Answer::Open);
        let Some(open) = open else { continue };
        asked += 1;
        for turn in 0.. {
            let claim = judged(&analysis, open).versus_baseline.as_ref().unwrap();
            let more = claim.settle.and_then(|settle| settle.more);
            let Some(more) = more.filter(|_| claim.answer == Answer::Open) else { break };
            let done = Course::new(&run.plan, &run.steps).blocks().unwrap();
            run.steps.push(CourseEvent::Look { blocks: done + more });
            made.go_on(&mut run, |_, _| 1.0);
            analysis = analyse(&run);
            if turn == 0 {
                advised += 1;
                blocks += done + more;
                settled += u32::from(answer(&analysis, open) != Answer::Open);
            }
        }
        wrong += u32::from(is_word_of_difference(answer(&analysis, open)));
    }
    let share = f64::from(settled) / f64::from(advised);
    let wrong = f64::from(wrong) / f64::from(asked);
    println!(
        "{asked} asked, {advised} advised, {:.0} blocks: {share:.3} settled at once, {wrong:.3} \
        false in the end",
        f64::from(blocks) / f64::from(advised)
    );
    let slack = |rate: f64, count: u32| 3.0 * (rate * (1.0 - rate) / f64::from(count)).sqrt();
    assert!(advised > 20, "{advised} of {count}");
    assert!(share >= 0.75 - slack(0.75, advised), "{share} settled, seeds from 220000");
    assert!(wrong <= 0.035 + slack(0.035, asked), "{wrong} false words, seeds from 220000");
}

/// A run that goes on from the beginning until it is decided stays within 5 % altogether, and finds
/// what is there.
#[test]
fn until_decided_makes_no_false_words_and_finds_what_is_there() {
    let count = rounds(150);
    for (truth, most, least) in [(1.0, 0.05, 0.0), (1.03, 1.0, 0.97)] {
        let (mut words, mut blocks) = (0, 0);
        for round in 0..u64::from(count) {
            let made = MadeUp {
                deviation: 0.02,
                ..MadeUp::one_workload(2, LOOKS[0], Noise::Normal, 230_000 + round)
            };
            let truth = |configuration: usize, _| if configuration == 0 { 1.0 } else { truth };
            let mut run = made.run(truth);
            run.steps = vec![CourseEvent::Look { blocks: LOOKS[0] }, CourseEvent::UntilDecided];
            let analysis = loop {
                let analysis = analyse(&run);
                let done = Course::new(&run.plan, &run.steps).blocks().unwrap();
                let Some(blocks) = look_after(done).filter(|_| !analysis.is_decided()) else {
                    blocks += done;
                    break analysis;
                };
                run.steps.push(CourseEvent::Look { blocks });
                made.go_on(&mut run, truth);
            };
            words += u32::from(is_word_of_difference(answer(&analysis, 1)));
        }
        let [words, blocks] = [words, blocks].map(|sum| f64::from(sum) / f64::from(count));
        println!("{truth}: {words:.3} called different, {blocks:.0} blocks");
        let slack = 3.0 * (0.05 * 0.95 / f64::from(count)).sqrt();
        assert!(words <= most + slack, "{truth}: {words}, seeds from 230000");
        assert!(words >= least - slack, "{truth}: {words}, seeds from 230000");
    }
}

/// What a race says that the whole design of the same configurations takes back: that what is taken
/// is ahead of all others, or surely ahead of the baseline, where that was not told apart.
fn said_too_much(raced: &Analysis, whole: &Analysis) -> Vec<String> {
    let mut found = Vec::new();
    for (race, full) in raced.comparisons.iter().zip(&whole.comparisons) {
        for (race, full) in race.results().zip(full.results()) {
            let Some(take) = &race.headline.take else { continue };
            let not_told = full.best_set.len() > 1 || !full.best_set.contains(take);
            if race.headline.ahead_of_all && not_told {
                found.push(format!("{take} ahead of all others; whole: {:?}", full.best_set));
            }
            let answer = full.score(take).and_then(results::analysis::Score::answer);
            if race.headline.sure && answer.is_some_and(|answer| answer != Answer::Ahead) {
                found.push(format!("{take} sure; whole: {answer:?}"));
            }
        }
    }
    found
}

/// "A race says no more than the full design": of made-up runs. Those of modelled plans are in
/// `crates/lab/tests/it/run.rs`.
#[test]
fn a_race_says_no_more_than_the_full_design() {
    let (count, mut claimed) = (rounds(20), 0);
    let (mut sure, mut whole_sure) = (0, 0);
    let mut found = Vec::new();
    for round in 0..u64::from(count) {
        let truth_of =
            [Truth::Wide, Truth::Narrow, Truth::Crowded, Truth::Equal][round as usize % 4];
        let truth = truth_of.of(240_000 + round);
        let deviation = [0.01, 0.02, 0.05][round as usize % 3];
        let configurations = [4, 12, 30, 60][round as usize / 4 % 4];
        let made = MadeUp { configurations, ..race(deviation, 240_000 + round) };
        let raced = analyse(&made.run(|configuration, _| truth[configuration]));
        let full = MadeUp { terms: Terms::default(), ..made };
        let whole = analyse(&full.run(|configuration, _| truth[configuration]));
        let headline = &raced.comparisons[0].kinds[0].headline;
        claimed += u32::from(headline.sure || headline.ahead_of_all);
        sure += u32::from(headline.sure);
        whole_sure += u32::from(whole.comparisons[0].kinds[0].headline.sure);
        let of_this = said_too_much(&raced, &whole);
        found.extend(of_this.into_iter().map(|what| format!("seed {}: {what}", 240_000 + round)));
    }
    println!(
        "{count} races, {claimed} claim something, {sure} are sure (whole: {whole_sure}), too much \
        in {}: {found:#?}",
        per_cent(found.len(), count)
    );
    // What it costs to be sure of no more is power, not all of it.
    assert!(2 * sure > whole_sure, "{sure} of {whole_sure}");
    // One in a hundred of those that lie near the edge, which few do.
    let is_rare = found.len() <= count as usize / 1000;
    assert!(is_rare && claimed > count / 4, "{claimed} of {count}: {found:#?}");
}

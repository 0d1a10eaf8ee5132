//! What a plan demands of figures, in headlines and in races.

use super::*;
use crate::course::{Course, CourseEvent as Decided};
use crate::types::{Bound, Design};

const P99: &str = "latency_p99_seconds";
const BOUND: f64 = 0.020;

/// A run with a bound on p99, which lies at `p99(configuration)` of it, with noise of 5 %.
fn bounded(blocks: u32, seed: u64, p99: impl Fn(usize) -> f64) -> Run {
    let mut random = Random::new(seed);
    let mut run = run(blocks, |c, w, _| planted(c, w) * (0.002 * random.normal()).exp());
    let bound = Bound { text: "p99 < 20 ms".into(), metric: P99.into(), below: BOUND };
    run.plan.terms.bounds.push(bound);
    // Of the first comparison alone, in random work.
    let ids: Vec<_> = run.plan.configurations.iter().map(|one| one.settings.clone()).collect();
    for trial in run.trials.iter_mut().filter(|trial| trial.workload == "random read 512") {
        let configuration = ids.iter().position(|settings| *settings == trial.settings).unwrap();
        if configuration < 4 {
            let noise = (0.05 * random.normal()).exp();
            trial.metrics.insert(P99, BOUND * p99(configuration) * noise);
        }
    }
    run
}

fn sequential(run: &Run) -> KindResult {
    analyse(run).comparisons[0].kinds[0].clone()
}

/// What surely meets a bound is taken and sure; what may meet it by chance is taken, and not sure;
/// what passes it is not taken, and whether that may be chance is said.
#[test]
fn a_bound_is_held_against_where_a_figure_may_lie() {
    for (seed, at, taken, doubt) in [
        (1, 0.5, true, ""),
        (2, 0.98, true, "may not hold"),
        (3, 1.03, false, ", which may be chance"),
        (4, 2.0, false, "p99 < 20 ms in random read 512"),
    ] {
        let run = bounded(8, seed, |c| if c == 2 { at } else { 0.5 });
        let fastest = run.plan.configurations[2].id.clone();
        let kind = sequential(&run);
        let said = &kind.headline;
        assert_eq!(said.take.as_ref() == Some(&fastest), taken, "{at}: {said:?}");
        assert_eq!(said.sure, doubt.is_empty() || !taken, "{at}: {said:?}");
        let found = said.reservations.iter().find_map(|one| match one {
            Reservation::MayNotHold { figure, high, bound, .. } => {
                assert!(*figure < BOUND && high.unwrap() >= BOUND && bound == "p99 < 20 ms");
                Some("may not hold".to_owned())
            }
            Reservation::RuledOut { configuration, reason } if *configuration == fastest => {
                Some(reason.english())
            }
            _ => None,
        });
        assert!(found.unwrap_or_default().ends_with(doubt), "{at}: {said:?}");
    }
}

/// With two trials nothing is sure, and what votes nowhere is judged by what is shown.
#[test]
fn a_bound_on_few_trials_is_not_surely_met() {
    let mut run = bounded(8, 5, |_| 0.5);
    for trial in &mut run.trials {
        trial.metrics.insert("operations_count", 50.0);
    }
    let said = sequential(&run).headline;
    assert!(said.take.is_some() && !said.sure, "{said:?}");
    assert!(
        said.reservations.iter().any(|one| matches!(
            one,
            Reservation::MayNotHold { high: None, figure, .. } if *figure < BOUND
        )),
        "{said:?}"
    );
}

/// Where every figure lies at the very bound, any that is said to surely meet it is false: in at
/// most 5 % of reports.
#[test]
fn bounds_are_surely_met_by_chance_in_at_most_one_report_of_twenty() {
    let rounds = 400;
    let surely = |seed: u64| {
        let run = bounded(6, 1000 + seed, |_| 1.0);
        let (table, ..) = Table::new(&run.plan, &run.trials);
        let members = [0, 1, 2, 3];
        let asked = crate::bounds::asked(&table, &members);
        assert_eq!(asked, 4);
        let mut quantiles = crate::claim::Quantiles::default();
        members.into_iter().any(|member| {
            let tail = LEVEL / asked as f64;
            let held = crate::bounds::held(&table, member, tail, &mut quantiles);
            held.iter().any(crate::bounds::BoundMargin::surely_holds)
        })
    };
    let wrong = (0..rounds).filter(|seed| surely(*seed)).count();
    let most = 0.05 + 3.0 * (0.05_f64 * 0.95 / rounds as f64).sqrt();
    assert!(wrong as f64 / (rounds as f64) < most, "{wrong} of {rounds}, seeds from 1000");
    assert!(wrong > 0, "the level is used");
}

/// "The race ignores measured bounds" is over: what surely passes one is dropped although it leads,
/// and what passes it by chance is not what is named.
#[test]
fn a_race_names_what_meets_the_bounds() {
    let raced = |at: f64| {
        let mut run = bounded(8, 6, |c| if c == 2 { at } else { 0.5 });
        run.plan.terms.design = Design::Race;
        let mut steps = Vec::new();
        for blocks in 3..=8 {
            while let Some(step) = Course::new(&run.plan, &steps).next_step(&run.trials, blocks) {
                steps.push(step);
            }
        }
        let id = |index: usize| run.plan.configurations[index].id.clone();
        let dropped: Vec<String> = steps
            .iter()
            .filter_map(|step| match step {
                Decided::Dropped { configurations, .. } => Some(configurations.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        let named = steps.iter().find_map(|step| match step {
            Decided::Named { picks, .. } => Some(picks[0].named.clone()),
            _ => None,
        });
        (dropped.contains(&id(2)), named.unwrap(), [id(2), id(3)])
    };
    let (dropped, named, [fastest, _]) = raced(0.5);
    assert!(!dropped && named == fastest, "it meets the bound");
    let (dropped, named, [_, second]) = raced(2.0);
    assert!(dropped && named == second, "it surely does not");
    let (dropped, named, [_, second]) = raced(1.05);
    assert!(!dropped && named == second, "it may");
}

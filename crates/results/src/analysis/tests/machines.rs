//! Runs on several machines, each with something peculiar to it, and what may be said of machines.

use super::*;

/// Blocks dealt out to so many machines in turn, with nothing but noise between configurations: 1 %
/// from block to block, and on each machine 5 % of its own for each of them.
fn peculiar(seed: u64, machines: u32, blocks_each: u32) -> Run {
    let mut random = Random::new(seed);
    let own: Vec<Vec<f64>> =
        (0..machines).map(|_| (0..8 * 3).map(|_| 0.05 * random.normal()).collect()).collect();
    let mut run = run(machines * blocks_each, |c, w, block| {
        let peculiar = own[(block % machines) as usize][c * 3 + w];
        1e6 * (peculiar + 0.01 * random.normal()).exp()
    });
    run.host.machines =
        (0..machines * blocks_each).map(|block| (block, block % machines)).collect();
    run
}

/// How many claims of a run's rows say that a configuration is not its baseline, and of how many.
fn false_words(run: &Run) -> (usize, usize) {
    let analysis = analyse(run);
    let metrics = analysis
        .comparisons
        .iter()
        .flat_map(|one| &one.cells)
        .flat_map(|cell| cell.metrics.iter().filter(|metric| metric.name == THROUGHPUT));
    let answers: Vec<Answer> =
        metrics.filter_map(|metric| Some(metric.versus_baseline.as_ref()?.answer)).collect();
    let words =
        answers.iter().filter(|answer| matches!(answer, Answer::Ahead | Answer::Behind)).count();
    (words, answers.len())
}

/// "For measured plans the host is the outer level."
#[test]
fn what_is_peculiar_to_machines_is_not_claimed_of_all_of_them() {
    let share = |as_blocks: bool| {
        let (mut words, mut all) = (0, 0);
        for seed in 0..40 {
            let mut run = peculiar(seed, 6, 8);
            if as_blocks {
                run.host.machines.clear();
            }
            let (wrong, asked) = false_words(&run);
            words += wrong;
            all += asked;
        }
        words as f64 / all as f64
    };
    let (machines, blocks) = (share(false), share(true));
    println!("{machines:.3} {blocks:.3}");
    // Three deviations above 5 %, of rows that hold together.
    assert!(machines <= 0.06, "{machines}");
    assert!(blocks > 0.2, "planted: blocks of one machine are no witnesses of others, {blocks}");
}

#[test]
fn each_machine_has_one_say() {
    let claim = |run: &Run| {
        let analysis = analyse(run);
        versus_of(&analysis.comparisons[0], 1, &run.plan.workloads[0].name, THROUGHPUT)
    };
    let run = peculiar(1, 5, 3);
    let whole = claim(&run);
    assert_eq!((whole.pairs, whole.settle.and_then(|settle| settle.blocks)), (5, None));
    // Of fewer the claim is about these machines, and each block tells of them.
    assert_eq!(claim(&peculiar(1, 3, 5)).pairs, 15);
    // A machine without anything that votes has none.
    let mut less = run.clone();
    less.trials.retain(|trial| trial.block % 5 != 2);
    assert_eq!(claim(&less).pairs, 4);
}

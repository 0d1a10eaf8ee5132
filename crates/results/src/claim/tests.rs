//! Rows of known truth, and what must be said of them.

use super::*;
use crate::random::Random;

/// Shares of `rounds` rows of `others` comparisons over `blocks` blocks with normal noise of 1 %:
/// with any false word, of the others found when all are ahead by `effect`, and called the same.
fn shares(
    seed: u64,
    [others, blocks]: [usize; 2],
    margin: f64,
    effect: f64,
    rounds: u32,
) -> [f64; 3] {
    let mut random = Random::new(seed);
    let mut quantiles = Quantiles::default();
    let family = Family { over: ErrorScope::Row, comparisons: others as f64 };
    let question = Question {
        better: Some(BetterDirection::Higher),
        margin,
        level: family.level(),
        same_level: LEVEL,
        model_error: 0.0,
        by_order: None,
        by_draw: None,
    };
    let (mut rows, mut words, mut same) = (0, 0, 0);
    for _ in 0..rounds {
        let mut figures =
            |shift: f64| (0..blocks).map(|_| shift + 0.01 * random.normal()).collect::<Vec<f64>>();
        let base = figures(0.0);
        let row: Vec<Option<Sample>> = (0..others)
            .map(|_| {
                let own = figures(effect.ln_1p());
                let differences: Vec<f64> =
                    own.iter().zip(&base).map(|(own, base)| own - base).collect();
                Sample::paired(&differences)
            })
            .collect();
        let answers: Vec<Answer> = estimates(&row)
            .iter()
            .flatten()
            .map(|estimate| decide(estimate, &question, &mut quantiles).answer)
            .collect();
        let count = |wanted: Answer| answers.iter().filter(|answer| **answer == wanted).count();
        let differ = count(Answer::Ahead) + count(Answer::Behind);
        rows += usize::from(differ > 0);
        words += differ;
        same += count(Answer::Same);
    }
    let all = f64::from(rounds) * others as f64;
    [rows as f64 / f64::from(rounds), words as f64 / all, same as f64 / all]
}

/// 5 % and three deviations of a count of `rounds`.
fn slack(rounds: u32) -> f64 {
    0.05 + 3.0 * (0.05 * 0.95 / f64::from(rounds)).sqrt()
}

/// "Words of difference hold together over a table row."
#[test]
fn a_row_of_equal_configurations_has_a_false_word_in_at_most_5_per_cent() {
    let rounds = 1500;
    for others in [1, 2, 3, 4, 5, 8, 20] {
        for blocks in [3, 5, 6, 8, 12] {
            let seed = 1400 + others as u64 * 100 + blocks as u64;
            // Without a margin nothing is the same, so that no false word hides behind it.
            let [any, ..] = shares(seed, [others, blocks], 0.0, 0.0, rounds);
            println!("{others} {blocks} {any:.3}");
            assert!(any <= slack(rounds), "{others} others, {blocks} blocks: {any}, seed {seed}");
        }
    }
}

/// "+3 % at 1 % noise found in >= 89 % at 6 and >= 98 % at 8 blocks; 'same' for equal cells >= 70 %
/// at 6 and >= 88 % at 8, and at most 2.5 % when the truth is +3 %."
#[test]
fn the_control_costs_no_power() {
    for (blocks, found, same) in [(6, 0.89, 0.70), (8, 0.98, 0.88)] {
        let [_, words, wrong] = shares(6, [8, blocks], 0.02, 0.03, 1000);
        let [.., equal] = shares(7, [8, blocks], 0.02, 0.0, 1000);
        println!("{blocks}: {words:.3} found, {wrong:.4} wrongly the same, {equal:.3} the same");
        assert!(words >= found - 0.01, "{blocks} blocks find {words}, seed 6");
        assert!(equal >= same - 0.01, "{blocks} blocks: same in {equal}, seed 7");
        assert!(wrong <= 0.025, "{blocks} blocks: wrongly the same in {wrong}, seed 6");
    }
}

fn estimate(centre: f64, error: f64) -> Estimate {
    Estimate { centre, variance: error * error * 6.0, error, freedom: 9.0 }
}

const QUESTION: Question = Question {
    better: Some(BetterDirection::Higher),
    margin: 0.02,
    level: 0.05,
    same_level: LEVEL,
    model_error: 0.0,
    by_order: None,
    by_draw: None,
};

fn answer(centre: f64, error: f64, question: Question) -> Answer {
    decide(&estimate(centre, error), &question, &mut Quantiles::default()).answer
}

/// What half of all orders would show as well is no difference, however narrow its interval; what
/// no other order would show is one, even of few blocks and at a small level.
#[test]
fn what_the_order_may_explain_has_no_answer() {
    let drawn = |as_far, least, level| Question {
        by_draw: Some(DrawnOrders { as_far, least }),
        level,
        ..QUESTION
    };
    let found = |question| answer(0.05, 0.001, question);
    assert_eq!(found(drawn(0.5, 1.0 / 32.0, 0.05)), Answer::Open);
    assert_eq!(found(drawn(2.0 / 32.0, 1.0 / 32.0, 0.05)), Answer::Open);
    assert_eq!(found(drawn(1.0 / 32.0, 1.0 / 32.0, 0.05)), Answer::Ahead);
    assert_eq!(found(drawn(1.0 / 32.0, 1.0 / 32.0, 0.01)), Answer::Ahead);
    assert_eq!(found(drawn(3.0 / 128.0, 1.0 / 128.0, 0.05)), Answer::Ahead);
    let decision =
        decide(&estimate(0.05, 0.001), &drawn(0.5, 1.0 / 32.0, 0.05), &mut Quantiles::default());
    assert!(decision.interval.low == 1.0 && decision.interval.high > 1.05, "{decision:?}");
}

#[test]
fn answers_follow_the_intervals() {
    for (centre, error, word) in [
        (0.05, 0.01, Answer::Ahead),
        (-0.05, 0.01, Answer::Behind),
        (0.0, 0.005, Answer::Same),
        (0.0, 0.05, Answer::Open),
        // Surely different, and surely by less than the margin.
        (0.01, 0.001, Answer::Same),
        (0.0, 0.0, Answer::Same),
        (0.5, 0.0, Answer::Ahead),
        // A ratio and its reciprocal, on either side of the margin.
        (0.0197, 0.0, Answer::Same),
        (-0.0197, 0.0, Answer::Same),
        (0.02, 0.0, Answer::Ahead),
        (-0.02, 0.0, Answer::Behind),
    ] {
        assert_eq!(answer(centre, error, QUESTION), word, "{centre} ± {error}");
        let lower = Question { better: Some(BetterDirection::Lower), ..QUESTION };
        assert_eq!(answer(centre, error, lower), word.turned(), "{centre} ± {error}, lower");
    }
    let nobody = Question { better: None, ..QUESTION };
    assert_eq!(answer(0.5, 0.01, nobody), Answer::Open);
}

/// "A modelled claim carries the model's stated error in quadrature with the interval, and is
/// called sure only beyond it."
#[test]
fn a_models_error_widens_the_interval_and_nothing_within_it_is_sure() {
    let modelled = Question { model_error: 0.23, ..QUESTION };
    assert_eq!(answer(0.216, 0.0001, QUESTION), Answer::Ahead);
    let decision = decide(&estimate(0.2, 0.0001), &modelled, &mut Quantiles::default());
    assert_eq!(decision.answer, Answer::Open);
    assert!(decision.model_decides && decision.blocks.is_none(), "no block would settle it");
    assert_eq!(answer(0.6, 0.0001, modelled), Answer::Ahead);
    let wide = decision.interval;
    assert!((wide.high / wide.low - 1.23 * 1.23).abs() < 0.01, "{wide:?}");
}

#[test]
fn small_tails_keep_their_quantiles() {
    let mut quantiles = Quantiles::default();
    // Published points of t.
    for (freedom, tail, point) in
        [(5.0, 0.025, 2.5706), (9.0, 0.025, 2.2622), (10.0, 0.0005, 4.5869), (5.0, 1e-6, 24.7716)]
    {
        let found = quantiles.above(freedom, tail);
        assert!((found / point - 1.0).abs() < 1e-3, "{freedom}, {tail}: {found}");
    }
}

/// Of what one design says another one finds again, the other leaves one in a hundred open.
#[test]
fn what_is_found_again_is_found_again() {
    let mut random = Random::new(11);
    let mut quantiles = Quantiles::default();
    let again = RepeatDesign { blocks: 9, row: 1, level: 0.005, model_error: 0.0 };
    let (mut said, mut open, mut own) = (0, 0, 0);
    for _ in 0..20_000 {
        // A difference in deviations of one pair.
        let truth = 6.0 * random.uniform();
        let mut design = |blocks: usize| {
            let differences: Vec<f64> = (0..blocks).map(|_| truth + random.normal()).collect();
            estimates(&[Sample::paired(&differences)])[0].unwrap()
        };
        let [race, whole] = [design(8), design(9)];
        let excludes = |estimate: &Estimate, tail: f64, quantiles: &mut Quantiles| {
            interval(estimate, tail, 0.0, quantiles).low > 1.0
        };
        own += u32::from(excludes(&race, again.level / 8.0, &mut quantiles));
        if is_found_again(&race, &again, &mut quantiles) {
            said += 1;
            open += u32::from(!excludes(&whole, again.level / 2.0, &mut quantiles));
        }
    }
    println!("{said} said, {open} of them open; its own interval says {own}");
    assert!(3 * said > own, "{said} of {own}");
    assert!(f64::from(open) <= 0.012 * f64::from(said), "{open} of {said}");
}

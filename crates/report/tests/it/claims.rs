//! Claims that hold: made-up runs of known truth go through the very code behind `report --json`
//! and `compare --json`, and what is said of them is counted.
//!
//! Each test allows for chance: a rate that must stay below 5 % may be seen three deviations above
//! it. `RAIDLOOM_TEST_EVERYTHING=1` takes ten times as many runs, `=100` a hundred times. Rates as
//! measured stand in `docs/statistics.md`.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use results::Doubt;
use results::claim::Answer;
use results::compare::{Limit, ReferenceCell, against_baseline, compare};
use results::types::{Design, Group, Run, Terms};
use serde_json::Value;
use testkit::made_up::{LATENCY, MadeUp, Noise, THROUGHPUT};

const CACHED: Doubt = Doubt::ReadFromCache { share: None };
const BUSY: Doubt = Doubt::OtherWork { share: None };

/// How many runs a test takes.
pub(crate) fn rounds(few: u32) -> u32 {
    let Some(said) = std::env::var_os("RAIDLOOM_TEST_EVERYTHING") else { return few };
    let times = said.to_str().and_then(|said| said.parse().ok()).filter(|times| *times > 1);
    few * times.unwrap_or(10)
}

/// A rate in per cent with its interval of 95 % (Wilson 1927).
pub(crate) fn per_cent(wrong: usize, count: u32) -> String {
    let (count, z) = (f64::from(count), 1.959_964);
    let rate = wrong as f64 / count;
    let middle = (rate + z * z / (2.0 * count)) / (1.0 + z * z / count);
    let reach = z / (1.0 + z * z / count)
        * (rate * (1.0 - rate) / count + z * z / (4.0 * count * count)).sqrt();
    let [rate, low, high] = [rate, middle - reach, middle + reach].map(|one| 100.0 * one);
    format!("{rate:.2} % ({low:.2} to {high:.2} %) of {count}")
}

/// The most that a rate of at most `rate` shows in `count` draws, but for one time in a thousand.
fn at_most(rate: f64, count: u32) -> f64 {
    rate + 3.0 * (rate * (1.0 - rate) / f64::from(count)).sqrt()
}

/// What `report --json` says of a run, which never contradicts itself.
fn report(run: &Run) -> Value {
    let document = report::json(run, &results::analyse(run));
    let document: Value = serde_json::from_str(&document).unwrap();
    let found = contradictions(&document);
    assert!(found.is_empty(), "seed {}: {found:?}", run.plan.seed);
    document
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_word_of_difference(word: &Value) -> bool {
    matches!(word.as_str(), Some("ahead" | "behind"))
}

/// Whether a warning says that the order of visits matters.
fn is_of_order(warning: &Value) -> bool {
    matches!(warning["kind"].as_str(), Some("carried_over" | "by_order"))
}

/// Whether a claim's answer follows from its own intervals and trials.
fn is_borne(claim: &Value, margin: f64) -> bool {
    if claim.is_null() {
        return true;
    }
    let ends = |name: &str| Some((claim[name]["low"].as_f64()?, claim[name]["high"].as_f64()?));
    let less = claim["better"] == "lower";
    let answer = claim["answer"].as_str().unwrap();
    let holds = match (answer, ends("interval"), ends("same_interval")) {
        ("ahead", Some((low, high)), _) => {
            if less {
                high < 1.0
            } else {
                low > 1.0
            }
        }
        ("behind", Some((low, high)), _) => {
            if less {
                low > 1.0
            } else {
                high < 1.0
            }
        }
        ("same", _, Some((low, high))) => 1.0 / (1.0 + margin) <= low && high <= 1.0 + margin,
        ("no answer", Some((low, high)), _) if !claim["better"].is_null() => {
            low <= 1.0 && 1.0 <= high
        }
        ("no answer", ..) => true,
        _ => false,
    };
    let votes = claim["pairs"].as_u64().unwrap() >= 3 && claim["invalid"].is_null();
    holds && (answer == "no answer" || votes)
}

/// What a kind of work says that its own claims do not bear.
fn contradictions_of_kind(baseline: &Value, kind: &Value, matters: f64) -> Vec<String> {
    let mut found = Vec::new();
    let best: Vec<&Value> = list(&kind["best_set"]).collect();
    let headline = &kind["headline"];
    let (take, claim) = (&headline["take"], &headline["claim"]);
    let mut wrong = |what: &str| found.push(format!("{what}: {headline}"));
    if !take.is_null() && !best.contains(&take) {
        wrong("what is taken is not among the best");
    }
    let is_baseline = take == baseline;
    if headline["sure"] == true {
        if !is_baseline && claim["answer"] != "ahead" {
            wrong("sure without being ahead");
        }
        if 2 * claim["busy"].as_u64().unwrap_or(0) > claim["pairs"].as_u64().unwrap_or(1) {
            wrong("sure on a busy machine");
        }
    }
    // Of one kind of work there is no whole besides.
    let Some(verdict) = headline["verdict"]["is"].as_str() else { return found };
    if take.is_null() == matches!(verdict, "take" | "nothing_faster") {
        wrong("an answer without what is taken, or what is taken without an answer");
    }
    if (verdict == "nothing_faster") != (is_baseline && !take.is_null()) {
        wrong("the baseline is taken where nothing is known, or left where it may stay");
    }
    let may_gain = |claim: &Value| {
        claim["answer"] == "no answer"
            && claim["interval"]["high"].as_f64().is_some_and(|high| high >= 1.0 + matters)
    };
    let mut compared = list(&kind["scores"]).map(|score| &score["versus_baseline"]);
    if verdict == "nothing_faster" && compared.any(may_gain) {
        wrong("nothing is faster, and a gain is not excluded");
    }
    let tied: Vec<&Value> = list(&headline["tie"]["configurations"]).collect();
    if !tied.is_empty() && !tied.contains(&take) {
        wrong("what is taken is not of the tie");
    }
    if headline["ahead_of_all"] == true && best.len() > 1 {
        wrong("ahead of all, and others are among the best");
    }
    for score in list(&kind["scores"]) {
        let is_best = best.contains(&&score["configuration"]);
        let against = [&score["versus_baseline"], &score["versus_take"]];
        if is_best && against.iter().any(|claim| claim["answer"] == "behind") {
            wrong("among the best, and surely behind");
        }
        if against.iter().any(|claim| claim["answer"] == "ahead")
            && is_baseline
            && best.contains(&baseline)
        {
            wrong("the baseline is taken, and something is surely ahead of it");
        }
    }
    found
}

/// Claims that cannot all be true, or that their own intervals and trials do not bear.
fn contradictions(document: &Value) -> Vec<String> {
    let analysis = &document["analysis"];
    let (margin, matters) =
        (analysis["margin"].as_f64().unwrap(), analysis["matters"].as_f64().unwrap());
    let mut found = Vec::new();
    let mut check = |claim: &Value| {
        if !is_borne(claim, margin) {
            found.push(format!("{claim}"));
        }
    };
    for comparison in list(&analysis["comparisons"]) {
        for metric in list(&comparison["cells"]).flat_map(|cell| list(&cell["metrics"])) {
            check(&metric["versus_baseline"]);
        }
        for kind in list(&comparison["kinds"]).chain([&comparison["whole"]]) {
            for score in list(&kind["scores"]) {
                check(&score["versus_baseline"]);
                check(&score["versus_take"]);
            }
        }
    }
    for comparison in list(&analysis["comparisons"]) {
        for kind in list(&comparison["kinds"]).chain([&comparison["whole"]]) {
            found.extend(contradictions_of_kind(&comparison["baseline"], kind, matters));
        }
    }
    found
}

/// "One comparison: false words <= 5.5 % in every kind of noise at 3, 5, 6, 8 and 12 blocks."
#[test]
fn a_comparison_of_equals_is_called_different_in_at_most_5_5_per_cent() {
    let count = rounds(400);
    for (kind, noise) in Noise::FAIR.into_iter().enumerate() {
        for blocks in [3, 5, 6, 8, 12] {
            let first = 1_000_000 * (kind as u64 + 1) + 10_000 * u64::from(blocks);
            let wrong = (0..u64::from(count))
                .filter(|round| {
                    let run = MadeUp::one_workload(2, blocks, noise, first + round).run(|_, _| 1.0);
                    list(&report(&run)["verdicts"])
                        .any(|one| is_word_of_difference(&one["verdict"]))
                })
                .count();
            let rate = wrong as f64 / f64::from(count);
            println!("{noise:?}, {blocks} blocks: {}", per_cent(wrong, count));
            assert!(
                rate <= at_most(0.055, count),
                "{noise:?}, {blocks} blocks: {rate}; seeds from {first}"
            );
        }
    }
}

/// "Carry-over <= 5.5 % or warned about in >= 90 %."
#[test]
fn what_one_configuration_leaves_behind_is_harmless_or_warned_about() {
    let count = rounds(200);
    for configurations in [2, 3, 9] {
        for blocks in [6, 8, 12] {
            let (mut wrong, mut warned) = (0, 0);
            for round in 0..u64::from(count) {
                let made = MadeUp {
                    deviation: 0.01,
                    ..MadeUp::one_workload(
                        configurations,
                        blocks,
                        Noise::CarriedOver,
                        70_000 + round,
                    )
                };
                let document = report(&made.run(|_, _| 1.0));
                let says =
                    list(&document["verdicts"]).any(|one| is_word_of_difference(&one["verdict"]));
                let warns = list(&document["analysis"]["warnings"]).any(is_of_order);
                wrong += u32::from(says);
                warned += u32::from(warns);
            }
            let [wrong, warned] = [wrong, warned].map(|one| f64::from(one) / f64::from(count));
            println!("{configurations}, {blocks} blocks: {wrong:.3} false, {warned:.3} warned");
            assert!(
                wrong <= at_most(0.055, count) || warned >= 0.9 - (at_most(0.1, count) - 0.1),
                "{configurations} configurations, {blocks} blocks: {wrong} false, {warned} warned \
                about; seeds from 70000"
            );
        }
    }
}

/// How often two equal configurations get a word of difference, and how often their order is warned
/// about.
fn words_and_warnings(made: impl Fn(u64) -> MadeUp, count: u32) -> [f64; 2] {
    let (mut wrong, mut warned) = (0, 0);
    for round in 0..u64::from(count) {
        let document = report(&made(round).run(|_, _| 1.0));
        let says = list(&document["verdicts"]).any(|one| is_word_of_difference(&one["verdict"]));
        let warns = list(&document["analysis"]["warnings"]).any(is_of_order);
        wrong += u32::from(says);
        warned += u32::from(warns);
    }
    [wrong, warned].map(|one| f64::from(one) / f64::from(count))
}

/// What comes back at regular times takes neither side, since the order of two is drawn. With
/// strict turns it did.
#[test]
fn what_comes_back_at_regular_times_is_no_difference() {
    let count = rounds(200);
    let waves = [3, 4, 5, 6, 8, 12].map(|visits| Noise::Periodic { visits });
    let hits = [3, 4, 5, 8].map(|visits| Noise::Recurring { visits });
    for noise in waves.into_iter().chain(hits) {
        for blocks in [6, 8, 12] {
            let made = |round| MadeUp {
                deviation: 0.01,
                ..MadeUp::one_workload(2, blocks, noise, 180_000 + round)
            };
            let [wrong, _] = words_and_warnings(made, count);
            println!("{noise:?}, {blocks} blocks: {wrong:.4} false of {count}");
            assert!(
                wrong <= at_most(0.055, count),
                "{noise:?}, {blocks} blocks: {wrong}; seeds from 180000"
            );
        }
    }
    for blocks in [6, 8, 12] {
        let made = |round| MadeUp {
            deviation: 0.01,
            is_alternating: true,
            ..MadeUp::one_workload(2, blocks, Noise::Periodic { visits: 4 }, 180_000 + round)
        };
        let [wrong, _] = words_and_warnings(made, count);
        println!("strict turns, a wave of 4 visits, {blocks} blocks: {wrong:.3} false");
        assert!(wrong > 0.5, "the planted fault is found: {wrong}");
    }
}

/// What the first leaves behind for the other one alone: no word rests on it, in whatever order the
/// two were visited.
#[test]
fn what_is_left_behind_for_one_alone_is_no_difference() {
    let count = rounds(200);
    for (is_alternating, blocks) in
        [false, true].into_iter().flat_map(|strict| [6, 8, 12].map(|blocks| (strict, blocks)))
    {
        let made = |round| MadeUp {
            deviation: 0.01,
            is_alternating,
            ..MadeUp::one_workload(2, blocks, Noise::CarriedOverToLast, 185_000 + round)
        };
        let [wrong, warned] = words_and_warnings(made, count);
        println!("strict {is_alternating}, {blocks} blocks: {wrong:.4} false, {warned:.3} warned");
        assert!(
            wrong <= at_most(0.055, count),
            "strict {is_alternating}, {blocks} blocks: {wrong}, seeds from 185000"
        );
    }
}

/// What is as large whichever came first is found, nearly as often as if nobody had asked.
#[test]
fn asking_for_the_order_costs_little_power() {
    let count = rounds(200);
    for (blocks, least) in [(6, 0.80), (8, 0.89), (12, 0.96)] {
        let found = (0..u64::from(count)).filter(|round| {
            let made = MadeUp {
                deviation: 0.01,
                ..MadeUp::one_workload(2, blocks, Noise::Normal, 190_000 + round)
            };
            let run = made.run(|configuration, _| [1.0, 1.03][configuration]);
            list(&report(&run)["verdicts"]).any(|one| one["verdict"] == "ahead")
        });
        let rate = found.count() as f64 / f64::from(count);
        println!("two, {blocks} blocks: +3 % found in {rate:.3}");
        let slack = 3.0 * (least * (1.0 - least) / f64::from(count)).sqrt();
        assert!(rate >= least - slack, "{blocks} blocks: {rate}, seeds from 190000");
    }
}

/// One of nine equal configurations is ten times as noisy as the others: no false headline comes of
/// it, and its intervals of 90 % cover what they should.
#[test]
fn one_that_is_noisier_than_its_row_keeps_its_own_variance() {
    let count = rounds(200);
    for blocks in [3, 6, 8] {
        let (mut wrong, mut covered) = (0, 0);
        for round in 0..u64::from(count) {
            let made = MadeUp {
                deviation: 0.01,
                last_times: 10.0,
                ..MadeUp::one_workload(9, blocks, Noise::Normal, 195_000 + round)
            };
            let document = report(&made.run(|_, _| 1.0));
            let comparison = &document["analysis"]["comparisons"][0];
            let says =
                list(&comparison["kinds"]).flat_map(|kind| list(&kind["scores"])).any(|one| {
                    is_word_of_difference(&one["versus_baseline"]["answer"])
                        || is_word_of_difference(&one["versus_take"]["answer"])
                });
            wrong += u32::from(says);
            let own = &comparison["cells"][8]["metrics"][0]["versus_baseline"]["same_interval"];
            let [low, high] = ["low", "high"].map(|end| own[end].as_f64().unwrap());
            covered += u32::from(low <= 1.0 && 1.0 <= high);
        }
        let [wrong, covered] = [wrong, covered].map(|one| f64::from(one) / f64::from(count));
        println!("one of nine is noisy, {blocks} blocks: {wrong:.4} false, {covered:.3} covered");
        assert!(wrong <= at_most(0.055, count), "{blocks} blocks: {wrong}, seeds from 195000");
        assert!(
            covered >= 0.87 - (at_most(0.13, count) - 0.13),
            "{blocks} blocks: {covered} covered, seeds from 195000"
        );
    }
}

/// The same where workloads are interleaved: whatever follows the first configuration is slower
/// then, in a row where nobody always follows it.
#[test]
fn what_is_left_behind_between_interleaved_tests_is_harmless_or_warned_about() {
    let count = rounds(100);
    for configurations in [2, 3, 9] {
        let (mut wrong, mut warned, mut warned_of_nothing) = (0, 0, 0);
        for round in 0..u64::from(count) {
            let made = |noise| MadeUp {
                deviation: 0.01,
                interleaved: true,
                workloads: vec![(Group::Random, 3)],
                ..MadeUp::one_workload(configurations, 8, noise, 75_000 + round)
            };
            let warns = |document: &Value| list(&document["analysis"]["warnings"]).any(is_of_order);
            let document = report(&made(Noise::CarriedOver).run(|_, _| 1.0));
            // One row of the table, so that the rate is that of one row.
            let says = list(&document["verdicts"])
                .filter(|one| one["workload"] == "random 0")
                .any(|one| is_word_of_difference(&one["verdict"]));
            wrong += u32::from(says);
            warned += u32::from(warns(&document));
            warned_of_nothing += u32::from(warns(&report(&made(Noise::Normal).run(|_, _| 1.0))));
        }
        let [wrong, warned, warned_of_nothing] =
            [wrong, warned, warned_of_nothing].map(|one| f64::from(one) / f64::from(count));
        println!(
            "{configurations}, interleaved: {wrong:.3} false, {warned:.3} warned, \
            {warned_of_nothing:.3} of nothing"
        );
        assert!(
            wrong <= at_most(0.055, count) || warned >= 0.9 - (at_most(0.1, count) - 0.1),
            "{configurations} configurations: {wrong} false, {warned} warned; seeds from 75000"
        );
        assert!(warned_of_nothing <= at_most(0.05, count), "{configurations}: seeds from 75000");
    }
}

/// Nothing is left behind, so nothing is warned about.
#[test]
fn nobody_is_warned_of_what_is_not_left_behind() {
    let count = rounds(200);
    for configurations in [2, 9] {
        let warned = (0..u64::from(count)).filter(|round| {
            let run = MadeUp::one_workload(configurations, 8, Noise::Normal, 80_000 + round);
            let document = report(&run.run(|_, _| 1.0));
            list(&document["analysis"]["warnings"]).any(is_of_order)
        });
        let rate = warned.count() as f64 / f64::from(count);
        println!("{configurations}: {rate:.3} warned");
        assert!(rate <= at_most(0.05, count), "{configurations}: {rate}, seeds from 80000");
    }
}

const GROUPS: [(Group, usize); 3] = [(Group::Sequential, 2), (Group::Random, 2), (Group::Mixed, 1)];

/// "Any false word <= 5 % a row, any false headline <= 5 % a *report*, for 2, 3, 9 and 60
/// configurations."
#[test]
fn rows_and_headlines_hold_together() {
    for (configurations, blocks, noise, few) in [
        (2, 6, Noise::Normal, 300),
        (3, 6, Noise::Normal, 300),
        (9, 6, Noise::Normal, 200),
        (9, 8, Noise::Contaminated, 100),
        (9, 6, Noise::HeavyTails, 100),
        (9, 3, Noise::Normal, 200),
        (60, 6, Noise::Normal, 24),
    ] {
        let count = rounds(few);
        let (mut rows, mut headlines) = (0, 0);
        let first = 90_000 + 1000 * configurations as u64 + u64::from(blocks);
        for round in 0..u64::from(count) {
            let made = MadeUp {
                workloads: GROUPS.to_vec(),
                ..MadeUp::one_workload(configurations, blocks, noise, first + round)
            };
            let run = made.run(|_, _| 1.0);
            let document = report(&run);
            for workload in &run.plan.workloads {
                let mut row = list(&document["verdicts"])
                    .filter(|one| one["workload"] == workload.name.as_str());
                rows += u32::from(row.any(|one| is_word_of_difference(&one["verdict"])));
            }
            let comparison = &document["analysis"]["comparisons"][0];
            let kinds = list(&comparison["kinds"]).chain([&comparison["whole"]]);
            // All that the scores say is part of the headlines' family.
            let says = kinds.flat_map(|kind| list(&kind["scores"])).any(|score| {
                is_word_of_difference(&score["versus_baseline"]["answer"])
                    || is_word_of_difference(&score["versus_take"]["answer"])
            });
            let sure = list(&document["headlines"]).any(|headline| headline["sure"] == true);
            assert!(says || !sure, "sure without a word, seed {}", first + round);
            headlines += u32::from(says);
        }
        let in_rows = 5 * count;
        let rates = [f64::from(rows) / f64::from(in_rows), f64::from(headlines) / f64::from(count)];
        println!("{configurations}, {blocks} blocks, {noise:?}: {rates:.3?} of rows, of reports");
        assert!(
            rates[0] <= at_most(0.05, in_rows) && rates[1] <= at_most(0.05, count),
            "{configurations} configurations, {blocks} blocks, {noise:?}: {rates:?}, seeds from \
            {first}"
        );
    }
}

/// "+3 % at 1 % noise found in >= 89 % at 6 and >= 98 % at 8 blocks; 'same' for equal cells >= 70 %
/// at 6 and >= 88 % at 8, and at most 2.5 % when the truth is +3 %."
#[test]
fn the_control_costs_no_power() {
    let count = rounds(100);
    for (blocks, least_found, least_same) in [(6, 0.89, 0.70), (8, 0.98, 0.88)] {
        let (mut found, mut wrong, mut same) = (0, 0, 0);
        for round in 0..u64::from(count) {
            let made = MadeUp {
                deviation: 0.01,
                ..MadeUp::one_workload(9, blocks, Noise::Normal, 110_000 + round)
            };
            let words = |truth: f64| {
                let run = made.run(|configuration, _| if configuration == 0 { 1.0 } else { truth });
                let document = report(&run);
                let count = |word: &str| {
                    list(&document["verdicts"]).filter(|one| one["verdict"] == word).count() as u32
                };
                [count("ahead"), count("same")]
            };
            let [ahead, mistaken] = words(1.03);
            found += ahead;
            wrong += mistaken;
            same += words(1.0)[1];
        }
        let [found, wrong, same] =
            [found, wrong, same].map(|sum| f64::from(sum) / f64::from(8 * count));
        println!("{blocks} blocks: {found:.3} found, {wrong:.4} mistaken, {same:.3} the same");
        // The eight words of a row share their baseline: they count as little more than one.
        let slack = |rate: f64| 3.0 * (rate * (1.0 - rate) / f64::from(2 * count)).sqrt();
        assert!(
            found >= least_found - slack(least_found)
                && same >= least_same - slack(least_same)
                && wrong <= 0.025,
            "{blocks} blocks: {found} found, {wrong} mistaken, {same} the same; seeds from 110000"
        );
    }
}

/// "Following the program's own advice up to 60 blocks: false words <= 3.5 %; 'N more' settles 75
/// to 90 %." The advice is a new run, so nothing is looked at twice.
#[test]
fn the_advice_settles_most_questions_and_makes_no_false_words() {
    let count = rounds(150);
    let (mut asked, mut settled, mut wrong, mut blocks) = (0, 0, 0, 0);
    for round in 0..u64::from(count) {
        let made = MadeUp {
            deviation: 0.015 + 0.01 * (round % 3) as f64 / 2.0,
            ..MadeUp::one_workload(9, 6, Noise::Normal, 120_000 + 2 * round)
        };
        let document = report(&made.run(|_, _| 1.0));
        let cells: Vec<&Value> = list(&document["analysis"]["comparisons"][0]["cells"]).collect();
        let claim = |cell: &&Value| cell["metrics"][0]["versus_baseline"].clone();
        let Some(open) = cells.iter().position(|cell| claim(cell)["answer"] == "no answer") else {
            continue;
        };
        let advice = claim(&cells[open])["settle"]["blocks"].as_u64().unwrap();
        let advice = u32::try_from(advice.min(60)).unwrap();
        let again = MadeUp { blocks: advice, seed: made.seed + 1, ..made }.run(|_, _| 1.0);
        let document = report(&again);
        let cells: Vec<&Value> = list(&document["analysis"]["comparisons"][0]["cells"]).collect();
        let answer = claim(&cells[open])["answer"].clone();
        asked += 1;
        blocks += advice;
        settled += u32::from(answer != "no answer");
        wrong += u32::from(is_word_of_difference(&answer));
    }
    let [share, wrong] = [settled, wrong].map(|one| f64::from(one) / f64::from(asked));
    let mean = f64::from(blocks) / f64::from(asked);
    println!("{asked} asked, {mean:.0} blocks: {share:.3} settled, {wrong:.3} false");
    assert!(
        asked > count / 3 && share >= 0.75 - (at_most(0.25, asked) - 0.25) && share <= 0.97,
        "{share} of {asked} settled, seeds from 120000"
    );
    assert!(wrong <= at_most(0.035, asked), "{wrong} false words, seeds from 120000");
}

/// "Equal pairs (9 configurations, 21 workloads, 6 blocks) fail any limit in at most 5 %."
#[test]
fn equal_runs_pass_no_limit() {
    let count = rounds(60);
    let limit =
        |metric: &str, below: bool, change: f64| Limit { metric: metric.to_owned(), below, change };
    // The sharpest limit there is, and the one that 60 to 78 % of equal pairs once failed.
    let limits = [
        vec![limit("throughput", true, 0.0)],
        vec![limit("throughput", true, -0.02), limit("latency", false, 0.02)],
    ];
    let mut failed = [0, 0];
    let mut words = 0;
    for round in 0..u64::from(count) {
        let run = |seed: u64| {
            let made = MadeUp {
                workloads: vec![(Group::Sequential, 12), (Group::Random, 6), (Group::Mixed, 3)],
                ..MadeUp::one_workload(9, 6, Noise::Normal, seed)
            };
            made.run(|_, _| 1.0)
        };
        let changes = compare(&run(130_000 + 2 * round), &run(130_001 + 2 * round), 0.02, None);
        assert_eq!(changes.cells.len(), 9 * 21 * 2);
        for (failed, limits) in failed.iter_mut().zip(&limits) {
            *failed += u32::from(!changes.judge(limits).passed.is_empty());
        }
        words += u32::from(changes.summary.slower + changes.summary.faster > 0);
    }
    let rates = [failed[0], failed[1], words].map(|one| f64::from(one) / f64::from(count));
    println!("{rates:.3?} of equal pairs fail < 0 %, fail < -2 %, hold a word");
    assert!(rates.iter().all(|rate| *rate <= at_most(0.05, count)), "{rates:?}, seeds from 130000");
}

/// A machine that is slower in everything has that said of it, fails every limit, and none beside a
/// reference. Equal runs have nothing in common, and a run's own configurations pass no limit.
#[test]
fn what_all_figures_have_in_common_is_named_and_can_be_taken_out() {
    let count = rounds(60);
    let limits = [Limit { metric: "throughput".to_owned(), below: true, change: -0.02 }];
    let sharpest = [Limit { metric: "throughput".to_owned(), below: true, change: 0.0 }];
    let [mut by_chance, mut named, mut failed, mut beside_failed, mut within, mut missed] = [0; 6];
    for round in 0..u64::from(count) {
        let run = |seed: u64, truth: &dyn Fn(usize) -> f64| {
            let made = MadeUp {
                workloads: GROUPS.to_vec(),
                deviation: 0.01,
                ..MadeUp::one_workload(9, 6, Noise::Normal, seed)
            };
            made.run(|configuration, _| truth(configuration))
        };
        let before = run(140_000 + 4 * round, &|_| 1.0);
        let equal = run(140_001 + 4 * round, &|_| 1.0);
        let slower = run(140_002 + 4 * round, &|_| 0.95);
        let one = run(140_003 + 4 * round, &|index| if index == 4 { 0.85 } else { 0.95 });
        by_chance += u32::from(compare(&before, &equal, 0.02, None).common_shift.is_some());
        let changes = compare(&before, &slower, 0.02, None);
        let shift = changes.common_shift;
        named += u32::from(shift.is_some_and(|shift| (shift.change + 0.05).abs() < 0.01));
        failed += u32::from(!changes.judge(&limits).passed.is_empty());
        let beside = Some(&ReferenceCell::Baseline);
        let changes = compare(&before, &slower, 0.02, beside);
        assert_eq!((changes.cells.len(), changes.common_shift), (8 * 5 * 2, None));
        beside_failed += u32::from(!changes.judge(&sharpest).passed.is_empty());
        // What one of them lost besides is found.
        let passed = compare(&before, &one, 0.02, beside).judge(&limits).passed;
        missed += u32::from(passed.is_empty());
        let own = against_baseline(&results::analyse(&equal));
        within += u32::from(!own.judge(&sharpest).passed.is_empty());
    }
    let rates = [by_chance, named, failed, beside_failed, missed, within]
        .map(|one| f64::from(one) / f64::from(count));
    println!(
        "of {count}: named by chance, named, failed, failed beside, missed beside, failed within: \
        {rates:.3?}"
    );
    let [by_chance, named, failed, beside_failed, missed, within] = rates;
    let most = at_most(0.05, count);
    assert!(by_chance <= most && beside_failed <= most && within <= most, "{rates:?}");
    assert!(named > 0.85 && failed > 0.9 && missed < 0.1, "{rates:?}; seeds from 140000");
}

/// Puts a flag on the trials of some configurations.
fn flag(run: &mut Run, doubt: &Doubt, wanted: impl Fn(&str) -> bool) {
    for trial in run.trials.iter_mut().filter(|trial| wanted(&trial.settings["made"])) {
        trial.flags.push(doubt.clone());
    }
}

/// Nothing but noise: no answer, nothing to build, nothing to post.
fn check_noise(made: &MadeUp) {
    let noise = MadeUp { deviation: 0.2, ..made.clone() }.run(|_, _| 1.0);
    let document = report(&noise);
    assert_eq!(document["valid"], false);
    assert!(list(&document["headlines"]).all(|headline| {
        headline["sure"] == false && headline["take"].is_null() && headline["answer"] == "too_noisy"
    }));
    let analysis = results::analyse(&noise);
    assert_eq!(report::card_text(&noise, &analysis), None);
    assert_eq!(report::badge_svg(&noise, &analysis, ""), None);
    let style = report::Style { color: false, width: 80 };
    let surfaces = [
        report::text(&noise, &analysis, style).to_string(),
        report::brief(&noise, &analysis, style, None).to_string(),
        report::markdown(&noise, &analysis),
        report::summary(&noise, &analysis),
        report::html(&noise, &analysis),
    ];
    for text in surfaces {
        assert!(text.contains("No answer") && !text.contains("Take "), "{text}");
        assert!(text.replace(['\n', ' '], "").contains("toonoisytodecidehere"), "{text}");
    }
}

/// "Planted: all-flagged, pure noise, one cache-made winner, a latency loss, a missing
/// configuration: words as they must be." (Exit codes: `crates/cli/tests/it/help_examples.rs`.)
#[test]
fn what_is_planted_is_found_and_said() {
    let made = MadeUp {
        workloads: GROUPS.to_vec(),
        deviation: 0.01,
        ..MadeUp::one_workload(4, 8, Noise::Normal, 150_000)
    };
    let headline = |run: &Run| list(&report(run)["headlines"]).next().unwrap().clone();
    let take = |headline: &Value| headline["take"]["made"].as_str().unwrap_or("").to_owned();

    // One is better by half: taken, and sure.
    let truth = |configuration: usize, _| if configuration == 2 { 1.5 } else { 1.0 };
    let better = made.run(truth);
    let said = headline(&better);
    assert!(take(&said) == "2" && said["sure"] == true, "{said}");

    // The same, but a cache made it.
    let mut cached = better.clone();
    flag(&mut cached, &CACHED, |made| made == "2");
    let said = headline(&cached);
    assert!(take(&said) == "0" && said["sure"] == false, "nothing else is faster: {said}");
    assert!(
        said["sentence"].as_str().unwrap().contains("Not compared: made 2 (read from a cache)")
    );

    // The machine was never quiet.
    let mut busy = better.clone();
    flag(&mut busy, &BUSY, |_| true);
    let said = headline(&busy);
    assert!(take(&said) == "2" && said["sure"] == false, "{said}");
    assert!(said["sentence"].as_str().unwrap().contains("busy machine"), "{said}");

    // A cache answered everybody: no answer, and the run is not valid.
    let mut all = better.clone();
    flag(&mut all, &CACHED, |_| true);
    let document = report(&all);
    assert_eq!(document["valid"], false);
    assert!(list(&document["headlines"]).all(|headline| headline["take"].is_null()));
    assert!(list(&document["verdicts"]).all(|one| one["verdict"] == "no answer"));

    check_noise(&made);

    // One is missing.
    let mut missing = better.clone();
    missing.trials.retain(|trial| trial.settings["made"] != "2");
    let said = headline(&missing);
    assert!(take(&said) == "0", "{said}");
    assert!(said["sentence"].as_str().unwrap().contains("Not compared: made 2 (too few trials)"));

    // Latency was lost while throughput stayed: the report's own metric does not hide it, and
    // compare finds it by its name.
    let equal = made.run(|_, _| 1.0);
    let mut slow = equal.clone();
    for trial in slow.trials.iter_mut().filter(|trial| trial.settings["made"] == "1") {
        *trial.metrics.get_mut(LATENCY).unwrap() *= 1.3;
    }
    let document = report(&slow);
    let cells: Vec<&Value> = list(&document["analysis"]["comparisons"][0]["cells"]).collect();
    let of_one = cells.iter().filter(|cell| {
        cell["configuration"] == results::configuration_id(&equal.plan.configurations[1].settings)
    });
    for metric in of_one.flat_map(|cell| list(&cell["metrics"])) {
        let expected = if metric["name"] == LATENCY { "behind" } else { "" };
        let answer = metric["versus_baseline"]["answer"].as_str().unwrap();
        assert!(metric["name"] == THROUGHPUT || answer == expected, "{metric}");
    }
    let changes = compare(&equal, &slow, 0.02, None);
    let found = changes
        .cells
        .iter()
        .filter(|cell| cell.claim.metric == LATENCY && cell.claim.answer == Answer::Behind);
    assert_eq!(found.count(), 5, "in each workload of one configuration");
}

/// A run of a shape of its own: how many configurations, workloads and blocks, what chance does,
/// how far apart the truth is, raced, interleaved, doubted or not.
fn of_some_shape(seed: u64) -> Run {
    let of = |salt: u64, count: usize| (seed.wrapping_mul(0x9e37_79b9) >> salt) as usize % count;
    let noises = Noise::FAIR.into_iter().chain([
        Noise::CarriedOver,
        Noise::CarriedOverToLast,
        Noise::Periodic { visits: 4 },
        Noise::Recurring { visits: 3 },
    ]);
    let noises: Vec<Noise> = noises.collect();
    let configurations = [1, 2, 2, 3, 5, 9][of(3, 6)];
    let is_race = configurations > 2 && of(5, 4) == 0;
    let workloads = match of(7, 3) {
        0 => vec![(Group::Random, 1)],
        1 => vec![(Group::Random, 2), (Group::Sequential, 1)],
        _ => GROUPS.to_vec(),
    };
    let made = MadeUp {
        workloads,
        deviation: [0.005, 0.01, 0.03, 0.1][of(9, 4)],
        last_times: [1.0, 1.0, 5.0][of(11, 3)],
        interleaved: of(13, 3) == 0 && !is_race,
        terms: Terms {
            design: if is_race { Design::Race } else { Design::Full },
            ..Terms::default()
        },
        ..MadeUp::one_workload(
            configurations,
            [2, 3, 6, 8, 12][of(15, 5)],
            noises[of(17, 12)],
            seed,
        )
    };
    let spread = [0.0, 0.01, 0.03, 0.2][of(19, 4)];
    let truth = |configuration: usize, workload: usize| {
        let turn = (configuration * (workload + 2) + of(21, 7)) % 5;
        if configuration == 0 { 1.0 } else { 1.0 + spread * (turn as f64 - 1.5) }
    };
    let mut run = made.run(truth);
    match of(23, 5) {
        0 => flag(&mut run, &CACHED, |made| made == "1"),
        1 => flag(&mut run, &BUSY, |_| true),
        _ => {}
    }
    run
}

/// "No contradiction in 20,000 reports", of all shapes, with differences and without.
#[test]
fn no_report_contradicts_itself() {
    let count = rounds(200);
    let mut answers = 0;
    let found: Vec<String> = (0..u64::from(count))
        .flat_map(|round| {
            let run = of_some_shape(170_000 + round);
            let document = report::json(&run, &results::analyse(&run));
            let document: Value = serde_json::from_str(&document).unwrap();
            answers += u32::from(document["valid"] == true);
            let found = contradictions(&document);
            found.into_iter().map(move |what| format!("seed {}: {what}", 170_000 + round))
        })
        .collect();
    println!("{count} reports, {answers} with an answer: {} contradictions", found.len());
    assert!(found.is_empty(), "{found:#?}");
    assert!(answers > count / 4 && answers < count, "{answers} of {count}");
}

/// How often equal configurations of which nothing is left behind have intervals that reach over
/// the kinds of blocks: the rule asks three kinds at 15 % each and is not corrected for that, since
/// it can only take words away.
#[test]
fn asking_for_the_order_takes_words_away_and_adds_none() {
    let count = rounds(200);
    for blocks in [6, 8, 12, 36] {
        let (mut asked, mut wrong) = (0, 0);
        for round in 0..u64::from(count) {
            let made = MadeUp::one_workload(2, blocks, Noise::Normal, 192_000 + round);
            let document = report(&made.run(|_, _| 1.0));
            let cell = &document["analysis"]["comparisons"][0]["cells"][1]["metrics"][0];
            let claim = &cell["versus_baseline"];
            asked += usize::from(!claim["by_order"].is_null());
            wrong += usize::from(is_word_of_difference(&claim["answer"]));
        }
        println!(
            "two equal ones, {blocks} blocks: the order is allowed for in {}, false words in {}",
            per_cent(asked, count),
            per_cent(wrong, count)
        );
        let rate = |wrong: usize| wrong as f64 / f64::from(count);
        assert!(rate(wrong) <= at_most(0.05, count), "{blocks} blocks, seeds from 192000");
        // Three times 15 %, were they apart from each other.
        assert!(rate(asked) <= at_most(0.386, count), "{blocks} blocks, seeds from 192000");
    }
}

/// The check for contradictions finds what is planted.
#[test]
fn a_contradiction_is_found() {
    let run = MadeUp { deviation: 0.01, ..MadeUp::one_workload(3, 8, Noise::Normal, 160_000) }
        .run(|configuration, _| if configuration == 2 { 1.5 } else { 1.0 });
    let document = report(&run);
    let planted = |change: &dyn Fn(&mut Value)| {
        let mut document = document.clone();
        change(&mut document["analysis"]["comparisons"][0]["kinds"][0]);
        contradictions(&document).len()
    };
    assert_eq!(planted(&|_| ()), 0);
    for (what, change) in [
        (
            "an interval that holds 1",
            &(|kind: &mut Value| {
                kind["scores"][2]["versus_baseline"]["interval"]["low"] = 0.9.into();
            }) as &dyn Fn(&mut Value),
        ),
        ("no trials that vote", &|kind| {
            kind["scores"][2]["versus_baseline"]["pairs"] = 2.into();
        }),
        ("sure of what is not ahead", &|kind| {
            kind["headline"]["claim"]["answer"] = "no answer".into();
        }),
        ("taken and not among the best", &|kind| {
            kind["best_set"] = serde_json::json!([]);
        }),
        ("behind and among the best", &|kind| {
            let own = kind["scores"][1]["configuration"].clone();
            kind["best_set"].as_array_mut().unwrap().push(own);
            kind["scores"][1]["versus_baseline"]["answer"] = "behind".into();
            kind["scores"][1]["versus_baseline"]["interval"]["high"] = 0.9.into();
        }),
    ] {
        assert!(planted(change) > 0, "{what}");
    }
}

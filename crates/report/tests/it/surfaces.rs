//! One run, one claim: whatever is printed of it says the same, at every kind of noise that
//! `testkit` can make up, with differences and without.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use report::Style;
use results::analysis::Verdict;
use results::{Run, analyse};
use testkit::made_up::{MadeUp, Noise};
use words::{Language, in_language};

use crate::fixture;

/// Texts without markup, in one line.
fn words(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        plain += before;
        rest = after.split_once('>').map_or("", |(_, rest)| rest);
    }
    plain += rest;
    let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&"), ("\\", "")];
    let plain = escapes.iter().fold(plain, |text, (from, to)| text.replace(from, to));
    // A page keeps some words together, and a terminal breaks lines.
    plain.replace(['\u{a0}', '\u{202f}'], " ").replace(['*', '\n', ' '], "")
}

fn hold(run: &Run, language: Language) {
    let analysis = analyse(run);
    let (said, surfaces) = in_language(language, || {
        let style = Style { color: false, width: 80 };
        let surfaces = [
            ("brief", report::brief(run, &analysis, style, None).to_string()),
            ("text", report::text(run, &analysis, style).to_string()),
            ("page", report::html(run, &analysis)),
            ("Markdown", report::markdown(run, &analysis)),
            ("summary", report::summary(run, &analysis)),
        ];
        (report::answer(&analysis), surfaces)
    });
    // Where each comparison has its own sentence, its name may stand apart from it.
    let is_joint = analysis.joint.iter().any(|part| part.verdict.is_answer());
    let has_several = analysis.comparisons.len() > 1 && !is_joint;
    for sentence in &said {
        let own = sentence.split_once(": ").filter(|_| has_several);
        let claim = words(own.map_or(sentence, |(_, rest)| rest));
        let claim = claim.trim_end_matches(['.', '。']);
        for (name, text) in &surfaces {
            assert!(words(text).contains(claim), "{name} does not say {claim}: {text}");
        }
    }
    // Programs read the same from values.
    let document: serde_json::Value = serde_json::from_str(&report::json(run, &analysis)).unwrap();
    let is_answer = |one: &results::analysis::Comparison| {
        one.overall().is_some_and(|kind| kind.headline.verdict.is_answer())
    };
    let is_valid = !analysis.asks_for_headlines() || analysis.has_valid_headline();
    assert_eq!(document["valid"], is_valid);
    if !analysis.comparisons.iter().any(is_answer) {
        assert_eq!(report::card_svg(run, &analysis), None, "a card without an answer");
        assert_eq!(report::badge_svg(run, &analysis, ""), None, "a badge without an answer");
    }
    let takes = analysis.comparisons.iter().filter_map(|one| one.overall());
    let takes = takes.filter(|kind| kind.headline.verdict == Verdict::Take).count();
    if takes > 0 {
        assert!(report::card_svg(run, &analysis).is_some(), "no card of an answer");
    }
}

#[test]
fn all_surfaces_say_the_same() {
    let mut seen = Vec::new();
    let noises = Noise::FAIR.into_iter().chain([Noise::CarriedOver]);
    for (seed, noise) in noises.enumerate() {
        for (configurations, blocks, gain) in [(2, 8, 0.0), (4, 8, 0.3), (3, 3, 0.05), (1, 4, 0.0)]
        {
            let made = MadeUp::one_workload(configurations, blocks, noise, seed as u64);
            let run = made.run(|configuration, _| 1.0 + gain * configuration as f64);
            println!("{noise:?}, seed {seed}, {configurations} configurations, {blocks} blocks");
            hold(&run, Language::ALL[seed % 2]);
            let analysis = analyse(&run);
            let whole = analysis.comparisons[0].overall().unwrap();
            seen.push(whole.headline.verdict.code());
        }
    }
    for code in ["take", "figures", "too_noisy"] {
        assert!(seen.contains(&code), "no run came to {code}: {seen:?}");
    }
    for run in [fixture::small(), fixture::run(7, &[64], &[65536], 2)] {
        Language::ALL.into_iter().for_each(|language| hold(&run, language));
    }
}

//! Reports use the catalogue.

use std::collections::BTreeMap;

use results::doubt::{AddressFit, ReplayWindow, ReplayedOperation, UnverifiedReason};
use results::types::{Group, Run};
use results::{Doubt, analyse};

use super::catalogue::ALL;
use super::*;

#[path = "../../tests/it/fixture/mod.rs"]
mod fixture;

fn is_japanese(letter: char) -> bool {
    matches!(letter, '、' | '。' | '〜' | '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
}

/// All that a suite or the audit may say of a trial.
fn doubts() -> Vec<Doubt> {
    let because = [
        UnverifiedReason::TurnedOff,
        UnverifiedReason::BySuite,
        UnverifiedReason::NoData,
        UnverifiedReason::Modelled,
        UnverifiedReason::UnknownContent,
        UnverifiedReason::PartlyPrepared,
    ];
    let window = ReplayWindow {
        seconds: [0.5, 1.0],
        requests: 9,
        p50_seconds: 0.001,
        p99_seconds: 0.25,
        max_seconds: 0.5,
    };
    let fits = [AddressFit::Narrowed, AddressFit::Widened, AddressFit::Folded];
    let without =
        [ReplayedOperation::DurableWrite, ReplayedOperation::Zeroes, ReplayedOperation::Discard];
    let mut doubts = vec![
        Doubt::ReadFromCache { share: None },
        Doubt::NeverWritten { share: None },
        Doubt::CompressedOrStillDirty { share: None },
        Doubt::Impossible { factor: None },
        Doubt::WriteAmplification { factor: None },
        Doubt::Stolen { share: None },
        Doubt::NotSteady,
        Doubt::NotModelledTime { program: "fio".into(), remedy: None },
        Doubt::NotModelledTime { program: "fio".into(), remedy: Some("--x".into()) },
        Doubt::Imported,
        Doubt::MachineChanged { changes: vec!["5.1".into()] },
        Doubt::PacedModel,
        Doubt::PartlyUnverified { share: 0.5 },
        Doubt::SizesRounded { block_bytes: 4096 },
        Doubt::EndedEarly { requests: 1 },
        Doubt::RateNotReached { requests: 1 },
        Doubt::ReplayBehind { requests: 3, of: 7, longest_seconds: 0.0314 },
        Doubt::RecordingDamaged { skipped: 1, lost: 2, is_cut_off: false },
        Doubt::RecordingDamaged { skipped: 1, lost: 2, is_cut_off: true },
        Doubt::ReplayedWaits { share: 0.5 },
        Doubt::ReplayedWindows { windows: vec![window] },
        Doubt::WakingCounts,
        Doubt::OneOwner { outstanding: 512, threads: 16 },
        Doubt::RequestsLimited { bytes: 4096 },
        Doubt::CacheNotEmptied { reason: "EACCES".into() },
        Doubt::ClientsEnded {
            clients: 2,
            first: "a".into(),
            first_seconds: 1.0,
            last: "b".into(),
            last_seconds: 2.0,
        },
        Doubt::TransactionsFailed { count: 1 },
    ];
    doubts.extend(because.map(|because| Doubt::Unverified { because }));
    doubts.extend(fits.map(|fit| Doubt::AddressesFitted { fit, span_bytes: None }));
    doubts.extend(without.map(|operation| Doubt::ReplayedWithout { operation, requests: 2 }));
    doubts
}

/// Runs that bring up most of what can be said: whole, begun, interrupted, doubtful.
fn runs() -> Vec<Run> {
    let small = || fixture::run(1, &[64, 256], &[16384], 6);
    let mut begun = small();
    begun.trials.truncate(30);
    let mut few = small();
    few.trials.retain(|trial| trial.block < 2);
    let mut doubtful = small();
    for (trial, doubt) in doubtful.trials.iter_mut().zip(doubts().into_iter().cycle()) {
        trial.flags.extend([Doubt::OtherWork { share: None }, doubt]);
        trial.metrics.insert("member_write_ratio", 1.5);
        trial.metrics.insert("cpu_ratio", 0.1);
    }
    let mut unmeasured = small();
    let first = unmeasured.plan.workloads[0].name.clone();
    for trial in unmeasured.trials.iter_mut().filter(|trial| trial.workload == first) {
        trial.metrics.clear();
        trial.flags = vec![Doubt::NotMeasured { reason: "no such file system".into() }];
    }
    let graded = fixture::with_pulls();
    let mut graded_alone = graded.clone();
    graded_alone.plan.workloads.retain(|one| one.group == Group::Safety);
    graded_alone.trials.retain(|trial| trial.workload.starts_with("pull "));
    for (place, trial) in graded_alone.trials.iter_mut().enumerate() {
        let found = results::safety::Tally::of(&trial.metrics);
        if let Some(tally) = found {
            trial.metrics.extend(tally.hunt_metrics().iter());
        }
        let planted =
            ["lost_for_good_pulls_count", "unmountable_pulls_count", "exposed_pulls_count"];
        trial.metrics.insert(planted[place % 3], (place % 4) as f64);
    }
    vec![small(), begun, few, doubtful, unmeasured, graded, graded_alone]
}

/// What is read in a page: texts and labels, without commands and stacks.
fn read(page: &str) -> String {
    let page = page.split_once("<script id=\"data\"").map_or(page, |(page, _)| page);
    crate::switch::pieces(page).join("\n")
}

/// Fragments of an English message that would give it away: words with a space between them.
fn fragments(template: &str) -> Vec<&str> {
    let parts = template.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    parts.map(str::trim).filter(|part| part.len() >= 8 && part.contains(' ')).collect()
}

#[test]
fn a_report_in_japanese_has_no_english_of_the_catalogue() {
    let mut used: BTreeMap<&str, bool> = BTreeMap::new();
    for run in runs() {
        let analysis = analyse(&run);
        let style = crate::Style { color: false, width: 100 };
        let made = || {
            let page = read(&crate::html(&run, &analysis));
            let text = crate::text(&run, &analysis, style);
            let card = crate::card_text(&run, &analysis).unwrap_or_default();
            format!("{page}\n{text}\n{}\n{card}", crate::markdown(&run, &analysis))
        };
        let [english, japanese] = Language::ALL.map(|language| in_language(language, made));
        for (name, message) in ALL {
            for fragment in fragments(message.english) {
                *used.entry(name).or_default() |= english.contains(fragment);
                assert!(!japanese.contains(fragment), "{name} is in English: {fragment}");
            }
        }
        assert!(!english.chars().any(|letter| is_japanese(letter) && !"日本語".contains(letter)));
    }
    // Planted runs say most of it; else this would hold nothing.
    let count = used.values().filter(|used| **used).count();
    assert!(2 * count > used.len(), "{count} of {} messages come up", used.len());
}

/// What the switch of a page does in the browser comes to the page in the other language.
#[test]
fn the_switch_makes_the_page_of_the_other_language() {
    for run in runs() {
        let analysis = analyse(&run);
        let pages =
            Language::ALL.map(|language| in_language(language, || crate::html(&run, &analysis)));
        for [own, other] in [[&pages[0], &pages[1]], [&pages[1], &pages[0]]] {
            let dictionary = crate::switch::dictionary(own, other);
            assert!(dictionary.len() > 70, "{}", dictionary.len());
            let shown = |page: &str| -> Vec<String> {
                let page = page.split_once("<script id=\"data\"").map_or("", |(page, _)| page);
                crate::switch::pieces(page).into_iter().map(crate::switch::plain).collect()
            };
            for (piece, wanted) in shown(own).into_iter().zip(shown(other)) {
                let found = dictionary.get(&piece).unwrap_or(&piece);
                assert_eq!(*found, wanted, "for {piece}");
            }
        }
    }
}

/// The language is put back, whatever happens in between.
#[test]
fn the_language_is_that_of_the_report_and_no_longer() {
    let panicked = std::panic::catch_unwind(|| {
        in_language(Language::Japanese, || {
            assert_eq!(crate::words::say!(AHEAD), "速い");
            panic!("in between");
        })
    });
    assert!(panicked.is_err());
    assert_eq!(crate::words::say!(AHEAD), "ahead");
    assert_eq!(filled(catalogue::RANGE, &[("low", &"{high}"), ("high", &2)]), "{high} to 2");
}

//! The score card: what states of one configuration come to, with the bound that so many states
//! allow.

use results::safety::{Grade, Tally, at_most_percent};
use serde::{Deserialize, Serialize};
use words::Text;

use crate::oracle::Findings;
use crate::program::NoVerdict;

words::with_parts!(unmountable_parts: Option<Text>, "unmountable", "unmountable_parts");
words::with_parts!(lost_for_good_parts: Option<Text>, "lost_for_good", "lost_for_good_parts");

/// What became of one state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// Why it could not be mounted as it was.
    #[serde(flatten, with = "unmountable_parts")]
    pub unmountable: Option<Text>,
    /// Why it could not be mounted after a repair either.
    #[serde(flatten, with = "lost_for_good_parts")]
    pub lost_for_good: Option<Text>,
    /// Whether a check found errors after the file system's own recovery; nothing without a tool.
    pub check_failed: Option<bool>,
    /// What was found, where it could be mounted.
    pub findings: Option<Findings>,
    /// Why the check of a program of the user's own has given no verdict: then nothing is known of
    /// what was promised, and the state is no pull.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<NoVerdict>,
    /// What it took to have the files again: start, mount, and repair where one was due.
    pub recovery_milliseconds: u64,
    /// From the start of the array until its members agreed again, with nothing else to do and a
    /// new drive in the place of each that was missing; of those states that were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_milliseconds: Option<u64>,
}

/// What a state shows that it should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// A check finds errors.
    CheckFailed,
    /// It could not be mounted as it was.
    Unmountable,
    /// A rename without fsync has left neither file.
    RenameTorn,
    /// Something of the past came to light.
    Exposed,
    /// A promise is broken.
    Broken,
    /// Nothing can be read any more.
    LostForGood,
}

impl Judgement {
    /// The worst of what the state shows; nothing where it is as it should be.
    #[must_use]
    pub fn worst(&self) -> Option<Damage> {
        let found = |is: fn(&Findings) -> bool| self.findings.as_ref().is_some_and(is);
        [
            (self.lost_for_good.is_some(), Damage::LostForGood),
            (found(|found| found.broken_count() > 0), Damage::Broken),
            (found(|found| found.exposed > 0), Damage::Exposed),
            (found(|found| !found.torn_renames.is_empty()), Damage::RenameTorn),
            (self.unmountable.is_some(), Damage::Unmountable),
            (self.check_failed == Some(true), Damage::CheckFailed),
        ]
        .into_iter()
        .find_map(|(is_so, damage)| is_so.then_some(damage))
    }
}

/// Some states out of all, and how many it may be at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// States.
    pub count: u64,
    /// In per cent of all.
    pub percent: f64,
    /// The upper end of the exact one-sided interval of 95 %, in per cent.
    pub at_most_percent: f64,
}

/// Median, 95th percentile and maximum of what each state lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Half of the states are below.
    pub median: f64,
    /// 95 of 100 states are below.
    pub p95: f64,
    /// The worst.
    pub max: f64,
}

/// How long something took, of those states that were timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedStates {
    /// So many.
    pub states: u64,
    /// In seconds.
    pub seconds: Spread,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreCard {
    /// States.
    pub pulls: u64,
    /// The grade.
    pub grade: Grade,
    /// Could not be mounted as they were.
    pub unmountable: Share,
    /// Those of them that could be mounted after a repair, or whose array was started by force.
    pub repaired: Share,
    /// Could not be mounted after a repair either.
    pub lost_for_good: Share,
    /// A check found errors after the file system's own recovery; nothing without a tool.
    pub check_failed: Option<Share>,
    /// States before which something had been promised.
    pub promising: u64,
    /// Promises that were held against what was left, over all states.
    pub promises: u64,
    /// Lost something that was promised.
    pub promise_broken: Share,
    /// Promises broken, over all states.
    pub promises_broken: u64,
    /// Bytes of them.
    pub promised_bytes_lost: u64,
    /// From the oldest promise that was broken to the cut, in seconds; of states that broke one.
    pub promised_seconds_lost: Spread,
    /// From the oldest file that was closed and lost to the cut, in seconds; of all states.
    pub closed_seconds_lost: Spread,
    /// States that lost more than a second of them.
    pub closed_late: u64,
    /// Files that were closed and lost, of all states.
    pub closed_files_lost: Spread,
    /// Bytes of them, of all states.
    pub closed_bytes_lost: Spread,
    /// Renames without fsync that left neither file.
    pub rename_torn: Share,
    /// Something of the past came to light.
    pub exposed: Share,
    /// Files in which it did, over all states.
    pub exposed_files: u64,
    /// Blocks torn while they were being written, which is permitted, over all states.
    pub torn_blocks: u64,
    /// Until the files were there again, in seconds.
    pub recovery_seconds: Spread,
    /// Until the array was whole again with nothing else to do; nothing where none was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_again: Option<TimedStates>,
}

fn share(count: usize, all: usize) -> Share {
    Share {
        count: count as u64,
        percent: 100.0 * count as f64 / all.max(1) as f64,
        at_most_percent: at_most_percent(count as u64, all as u64),
    }
}

fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        // The smallest value with at least this share of all at or below it.
        let rank = (share * values.len() as f64).ceil() as usize;
        values.get(rank.max(1) - 1).copied().unwrap_or(0.0)
    };
    Spread { median: at(0.5), p95: at(0.95), max: at(1.0) }
}

/// Sums up states, each with the time of its cut.
#[must_use]
pub fn score(states: &[(u64, Judgement)]) -> ScoreCard {
    let all = states.len();
    let count = |is: &dyn Fn(&Judgement) -> bool| {
        share(states.iter().filter(|(_, judgement)| is(judgement)).count(), all)
    };
    let found = |is: &dyn Fn(&Findings) -> bool| {
        count(&|judgement| judgement.findings.as_ref().is_some_and(is))
    };
    let findings = || states.iter().filter_map(|(cut, one)| Some((*cut, one.findings.as_ref()?)));
    let since = |cut: u64, oldest: Option<u64>| {
        oldest.map_or(0.0, |oldest| cut.saturating_sub(oldest) as f64 / 1e9)
    };
    let broken = || findings().flat_map(|(_, found)| &found.broken);
    let has_check = states.iter().any(|(_, judgement)| judgement.check_failed.is_some());
    let promised_seconds = findings()
        .filter(|(_, found)| found.broken_count() > 0)
        .map(|(cut, found)| since(cut, found.oldest_broken()));
    let closed_seconds = findings().map(|(cut, found)| {
        since(cut, found.lost.iter().map(|wrong| wrong.since_nanoseconds).min())
    });
    let closed_bytes =
        findings().map(|(_, found)| found.lost.iter().map(|wrong| wrong.bytes).sum::<u64>() as f64);
    let recovery = states.iter().map(|(_, one)| one.recovery_milliseconds as f64 / 1e3);
    let whole = states.iter().filter_map(|(_, one)| one.whole_milliseconds);
    let whole: Vec<f64> = whole.map(|milliseconds| milliseconds as f64 / 1e3).collect();
    let mut card = ScoreCard {
        pulls: all as u64,
        grade: Grade::A,
        unmountable: count(&|one| one.unmountable.is_some()),
        repaired: count(&|one| one.unmountable.is_some() && one.lost_for_good.is_none()),
        lost_for_good: count(&|one| one.lost_for_good.is_some()),
        check_failed: has_check.then(|| count(&|one| one.check_failed == Some(true))),
        promising: found(&|found| found.promises > 0).count,
        promises: findings().map(|(_, found)| u64::from(found.promises)).sum(),
        promise_broken: found(&|found| found.broken_count() > 0),
        promises_broken: findings().map(|(_, found)| found.broken_count()).sum(),
        promised_bytes_lost: broken().map(|wrong| wrong.bytes).sum(),
        promised_seconds_lost: spread(promised_seconds.collect()),
        closed_late: closed_seconds.clone().filter(|seconds| *seconds > 1.0).count() as u64,
        closed_seconds_lost: spread(closed_seconds.collect()),
        closed_files_lost: spread(findings().map(|(_, found)| found.lost.len() as f64).collect()),
        closed_bytes_lost: spread(closed_bytes.collect()),
        rename_torn: found(&|found| !found.torn_renames.is_empty()),
        exposed: found(&|found| found.exposed > 0),
        exposed_files: findings().map(|(_, found)| u64::from(found.exposed)).sum(),
        torn_blocks: findings().map(|(_, found)| u64::from(found.torn_blocks)).sum(),
        recovery_seconds: spread(recovery.collect()),
        whole_again: (!whole.is_empty())
            .then(|| TimedStates { states: whole.len() as u64, seconds: spread(whole) }),
    };
    card.grade = card.tally().grade();
    card
}

impl ScoreCard {
    /// The counts that can be added to those of other cards.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let check = self.check_failed.as_ref();
        Tally {
            pulls: self.pulls,
            unmountable: self.unmountable.count,
            lost_for_good: self.lost_for_good.count,
            checked: if check.is_some() { self.pulls } else { 0 },
            check_failed: check.map_or(0, |check| check.count),
            promising: self.promising,
            promises: self.promises,
            promise_broken: self.promise_broken.count,
            promises_broken: self.promises_broken,
            promised_bytes_lost: self.promised_bytes_lost,
            copies_late: self.closed_late,
            rename_torn: self.rename_torn.count,
            exposed: self.exposed.count,
            promised_seconds_lost: self.promised_seconds_lost.max,
            copies_seconds_lost: self.closed_seconds_lost.max,
            recovery_seconds: self.recovery_seconds.max,
            ..Tally::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Class;
    use crate::oracle::{Rule, WrongFile};
    use crate::program::{Verdict, WrongKey};

    fn state(change: impl Fn(&mut Judgement, &mut Findings)) -> (u64, Judgement) {
        let (mut judgement, mut findings) = (Judgement::default(), Findings::default());
        change(&mut judgement, &mut findings);
        judgement.findings = Some(findings);
        (5_000_000_000, judgement)
    }

    #[test]
    fn grades_follow_what_was_lost() {
        let wrong = |rule| WrongFile {
            file: 1,
            rule,
            class: Class::Zero,
            bytes: 4096,
            since_nanoseconds: 2_000_000_000,
        };
        let of = |change: &dyn Fn(&mut Judgement, &mut Findings)| {
            score(&[state(|_, _| ()), state(change)])
        };
        assert_eq!(of(&|_, _| ()).grade, Grade::A);
        assert_eq!(of(&|_, found| found.lost.push(wrong(Rule::Closed))).grade, Grade::B);
        assert_eq!(of(&|_, found| found.torn_renames.push(wrong(Rule::Atomic))).grade, Grade::B);
        assert_eq!(of(&|one, _| one.check_failed = Some(true)).grade, Grade::B);
        assert_eq!(of(&|_, found| found.exposed = 1).grade, Grade::C);
        assert_eq!(of(&|one, _| one.unmountable = Some("why".into())).grade, Grade::C);
        let kept = of(&|_, found| found.promises = 3);
        assert_eq!((kept.grade, kept.promising, kept.promises), (Grade::A, 1, 3));
        let broken = of(&|_, found| found.broken.push(wrong(Rule::Promised { version: 1 })));
        assert_eq!(broken.grade, Grade::D);
        assert_eq!((broken.promise_broken.count, broken.promises_broken), (1, 1));
        assert_eq!(broken.promised_seconds_lost.max, 3.0);
        let key = |found: &mut Findings| {
            found.keys.push(WrongKey {
                key: Some("7".to_owned()),
                verdict: Verdict::Lost,
                since_nanoseconds: Some(1_000_000_000),
            });
        };
        let broken = of(&|_, found| key(found));
        assert_eq!((broken.grade, broken.promises_broken), (Grade::D, 1), "a check's verdict");
        assert_eq!(broken.promised_seconds_lost.max, 4.0);
        assert_eq!(of(&|one, _| one.lost_for_good = Some("all".into())).grade, Grade::E);
        let repaired = of(&|one, _| one.unmountable = Some("why".into()));
        assert_eq!((repaired.repaired.count, repaired.lost_for_good.count), (1, 0));
        let exposed = of(&|_, found| found.exposed = 3);
        assert_eq!((exposed.exposed.count, exposed.exposed_files), (1, 3));
        assert_eq!(exposed.whole_again, None, "none was timed");
        let timed = of(&|one, _| one.whole_milliseconds = Some(2500)).whole_again.unwrap();
        assert_eq!((timed.states, timed.seconds.median), (1, 2.5));
        let copies = of(&|_, found| found.lost = vec![wrong(Rule::Closed); 2]);
        assert_eq!((copies.closed_bytes_lost.median, copies.closed_bytes_lost.max), (0.0, 8192.0));
    }
}

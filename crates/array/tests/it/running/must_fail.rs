//! Mistakes that the other tests here are there for: each is planted, and found.
//!
//! A row of the table is a mistake and a test that is run with and without it: with it some seed
//! has to fail, and the same seed has to pass without it.

use std::time::Duration;

use array::md::Consistency;
use array::metadata::PlantedMistake;
use array::sync::SyncAction;
use array::{Computation, Content, Level, ParityLayout, Plan, Raid10Layout};

use super::metadata::bench::Shape;
use super::metadata::crashes::{Case, Slip, crashes};
use super::sync::bench::{Bench, Scheme, differing, raid1, raid5, raid6, raid10};
use super::sync::turmoil::survive;
use crate::common::Twisted;

/// Runs a test with a seed, with the mistake if it is told to; what it found.
type Trial = Box<dyn Fn(u64, bool) -> Result<(), String>>;

struct Mistake {
    name: &'static str,
    trial: Trial,
}

/// The first of so many seeds that finds a mistake counts.
const SEEDS: std::ops::Range<u64> = 100..140;

/// A mistake in what a level plans, among members that come and go.
fn plans<L: Level>(
    name: &'static str,
    make: fn() -> (L, Scheme),
    spoil: fn(&mut Twisted<L>),
) -> Mistake {
    let trial = move |seed, is_planted| {
        let (level, scheme) = make();
        let mut level = Twisted::straight(level);
        if is_planted {
            spoil(&mut level);
        }
        survive((level, scheme), seed, 400).map(|_| ())
    };
    Mistake { name, trial: Box::new(trial) }
}

/// A mistake in what is written down, or at the start, found by crashes.
fn after_crashes(name: &'static str, case: Case) -> Mistake {
    let trial = move |seed, is_planted| {
        let sound = Case { planted: PlantedMistake::None, slip: Slip::None, ..case };
        crashes(if is_planted { &case } else { &sound }, seed)
            .map(|_| ())
            .map_err(|violation| violation.to_string())
    };
    Mistake { name, trial: Box::new(trial) }
}

fn reverse_q(plan: &mut Plan) {
    for step in &plan.compute {
        if let Computation::Parity { first, count, q: Some(_), .. } = *step {
            plan.sources[first..first + count].reverse();
        }
    }
}

/// Parity keeps what it was: it is computed, and not written.
fn skip_parity(plan: &mut Plan) {
    let is_data = |access: &array::Access<Content>| {
        matches!(access.content, Content::Bytes(array::ByteSite::Host { .. }))
    };
    plan.write.retain(is_data);
}

fn left(members: usize) -> (array::ParityLevel, Scheme) {
    raid5(members, ParityLayout::LeftSymmetric)
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn mistakes() -> Vec<Mistake> {
    let resync = Consistency::Resync;
    let slow = Duration::from_secs(2);
    let with_metadata = |planted, shape| Case { planted, ..Case::of(shape) };
    // Slow members, so that much happens before the failure is written down.
    let longest = Duration::from_millis(30);
    let dying = |planted, shape, member| Case {
        dying: Some(member),
        slowest: slow,
        longest,
        ..with_metadata(planted, shape)
    };
    let mut mistakes = vec![
        plans(
            "a write that locks no row",
            || left(4),
            |level| level.twist = |plan| plan.lock = None,
        ),
        plans(
            "a rebuild that locks no row: level 5",
            || left(4),
            |level| level.sync_twist = |plan| plan.lock = None,
        ),
        plans(
            "a rebuild that locks no row: level 1",
            || raid1(2),
            |level| level.sync_twist = |plan| plan.lock = None,
        ),
        plans(
            "a rebuild that locks no row: level 10",
            || raid10(4, Raid10Layout::far(2)),
            |level| level.sync_twist = |plan| plan.lock = None,
        ),
        plans(
            "Q in the wrong order",
            || raid6(5, ParityLayout::RightAsymmetric),
            |level| level.twist = reverse_q,
        ),
        plans(
            "Q in the wrong order in a rebuild",
            || raid6(5, ParityLayout::DdfNContinue),
            |level| level.sync_twist = reverse_q,
        ),
        plans("parity that is skipped", || left(4), |level| level.twist = skip_parity),
        plans(
            "parity that is skipped: level 6",
            || raid6(5, ParityLayout::LeftSymmetric),
            |level| level.twist = skip_parity,
        ),
        plans(
            "a rebuild that writes nothing",
            || left(4),
            |level| level.sync_twist = |plan| plan.write.clear(),
        ),
        plans(
            "a member that is read before it is rebuilt: level 5",
            || left(4),
            |level| level.trusts_recovering = true,
        ),
        plans(
            "a member that is read before it is rebuilt: level 1",
            || raid1(2),
            |level| level.trusts_recovering = true,
        ),
        after_crashes(
            "a flush that does nothing",
            Case { slip: Slip::IdleFlush, ..Case::of(Shape::raid5(resync)) },
        ),
        after_crashes(
            "a flush that does nothing: level 1",
            Case { slip: Slip::IdleFlush, ..Case::of(Shape::raid1(resync)) },
        ),
        after_crashes(
            "a stale member that is accepted",
            Case { slip: Slip::TrustsStale, dying: Some(0), ..Case::of(Shape::raid1(resync)) },
        ),
        after_crashes(
            "a stale member that is accepted: level 5",
            Case {
                slip: Slip::TrustsStale,
                dying: Some(1),
                ..Case::of(Shape::raid5(Consistency::Ppl))
            },
        ),
        after_crashes(
            "a dirty mark that is skipped",
            with_metadata(PlantedMistake::SkipsDirty, Shape::raid5(resync)),
        ),
        after_crashes(
            "a dirty mark that is skipped: level 1",
            with_metadata(PlantedMistake::SkipsDirty, Shape::raid1(resync)),
        ),
        after_crashes(
            "a failure that is not recorded",
            dying(PlantedMistake::AnswersEarly, Shape::raid5(Consistency::Ppl), 1),
        ),
        after_crashes(
            "a failure that is not recorded: level 1",
            dying(PlantedMistake::AnswersEarly, Shape::raid1(resync), 0),
        ),
        after_crashes(
            "a log that is not written",
            Case {
                absent: Some(2),
                ..with_metadata(PlantedMistake::SkipsLog, Shape::raid5(Consistency::Ppl))
            },
        ),
        after_crashes(
            "a log that is not written, and all members there: nothing is compared",
            with_metadata(PlantedMistake::SkipsLog, Shape::raid5(Consistency::Ppl)),
        ),
        after_crashes(
            "an array called clean without a flush",
            with_metadata(PlantedMistake::SkipsFlush, Shape::raid5(resync)),
        ),
        after_crashes(
            "an array called clean at once",
            with_metadata(PlantedMistake::CleansAtOnce, Shape::raid5(resync)),
        ),
        after_crashes(
            "an array called clean at once: level 1",
            with_metadata(PlantedMistake::CleansAtOnce, Shape::raid1(resync)),
        ),
    ];
    for make in [Shape::raid6, Shape::raid1, Shape::raid10] {
        let shape = Shape::with_bitmap(make);
        mistakes.push(after_crashes(
            "a bit that is not set",
            with_metadata(PlantedMistake::SkipsBits, shape),
        ));
        let early = Case { slowest: slow, ..with_metadata(PlantedMistake::ClearsBitsEarly, shape) };
        mistakes.push(after_crashes("a bit that is cleared too early", early));
    }
    mistakes
}

#[test]
fn every_mistake_is_found() {
    let mut unfound = Vec::new();
    for Mistake { name, trial } in mistakes() {
        let found = SEEDS.into_iter().find_map(|seed| Some((seed, trial(seed, true).err()?)));
        match found {
            Some((seed, problem)) => {
                println!("{name}: seed {seed}: {}", problem.lines().next().unwrap_or_default());
                assert_eq!(trial(seed, false), Ok(()), "{name}: seed {seed} fails without it too");
            }
            None => unfound.push(name),
        }
    }
    assert!(unfound.is_empty(), "not found with seeds {SEEDS:?}: {unfound:?}");
}

/// A check that compares nothing finds nothing: so the tests of checks say something.
#[test]
fn a_check_that_cannot_fail_is_found() {
    let (level, scheme) = left(4);
    let mut blind = Twisted::straight(level);
    blind.sync_twist =
        |plan| plan.compute.retain(|step| !matches!(step, Computation::Compare { .. }));
    let bench = Bench::new((blind, scheme), 1);
    bench.corrupt(2, 700);
    assert_eq!(differing(&bench.control, SyncAction::Check(None)), Ok(0));
    assert!(bench.scrub().is_err());
}

/// A repair that writes nothing to the member that it blames, and one that takes P for Q: the tests
/// of repairs say something.
#[test]
fn a_repair_that_mends_the_wrong_thing_is_found() {
    let slips: [fn(&mut Plan); 2] = [
        |plan| plan.mend.clear(),
        |plan| {
            for step in &mut plan.compute {
                if let Computation::Locate { p, q, .. } = step {
                    std::mem::swap(p, q);
                }
            }
        },
    ];
    for slip in slips {
        let (level, scheme) = raid6(5, ParityLayout::LeftSymmetric);
        let mut level = Twisted::straight(level);
        level.sync_twist = slip;
        let bench = Bench::new((level, scheme), 1);
        bench.corrupt(2, 700);
        assert!(differing(&bench.control, SyncAction::Repair(None)).expect("done") > 0);
        assert!(bench.scrub().is_err());
    }
}

//! Crashes at any moment of an array with metadata, superblocks and all; and what has to be found if something is left out.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use array::md::{Consistency, Start};
use array::record::{Sabotage, StartOptions};
use block::{Checked, Device, Error, ErrorKind, Info, Reactor};
use reactor::{Random, derive_seed};
use testkit::crash::{self, Crashable, Options, Rig, Step};
use testkit::{Memory, Violation};

use crate::bench::{CHUNK, Kept, Shape, assembly, scrub, started};
use crate::common::Mortal;

/// What happens besides the crash.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: Shape,
    /// Who is not there any more afterwards.
    absent: Option<usize>,
    /// Who dies before, and is back afterwards.
    dying: Option<usize>,
    sabotage: Sabotage,
    /// How long a completion may be on its way, so that the array rests between.
    longest: Duration,
    /// How long a member may take.
    slowest: Duration,
    points: usize,
}

impl Case {
    fn of(shape: Shape) -> Case {
        let (longest, slowest) = (Duration::from_millis(900), Duration::from_micros(30));
        Case { shape, absent: None, dying: None, sabotage: Sabotage::None, longest, slowest, points: 60 }
    }
}

fn no_such(text: String) -> Error {
    Error::new(ErrorKind::Corrupt, text)
}

/// Starts after the crash, with everything that has to hold then. A start that has to be refused is made with all members.
fn start_again(case: &Case, memories: &[Arc<Memory>]) -> Result<Arc<dyn Device>, Error> {
    let mut members: Vec<Option<Arc<dyn Device>>> =
        memories.iter().map(|memory| Some(Checked::over(Arc::clone(memory) as Arc<dyn Device>))).collect();
    let options = StartOptions::default();
    let (whole, _) = assembly(&members);
    if let Some(absent) = case.absent {
        let there = members[absent].take();
        let (degraded, _) = assembly(&members);
        match degraded.start {
            Start::Ready => (),
            // The one place where something may be lost is refused, and only while it may.
            Start::NeedsForce(_)
                if !degraded.clean && case.shape.level.parity_count() > 0 && case.shape.consistency != Consistency::Ppl =>
            {
                members[absent] = there;
            }
            // Another one died before.
            Start::Refused(_) if whole.degraded_count() > 0 => members[absent] = there,
            other => return Err(no_such(format!("without member {absent}: {other}"))),
        }
    }
    let array = started(&members, &options)?;
    scrub(&array).map_err(no_such)?;
    Ok(Arc::new(array))
}

fn rig(case: &Case, seed: u64) -> Rig {
    let mut random = Random::with_seed(seed);
    let delay = |number: usize| derive_seed(seed, "member", number as u64);
    let memories = case.shape.make(|number, info| Memory::with(info).delayed(delay(number), case.slowest));
    let death = random.u64(0..60);
    let starts = Cell::new(0);
    let members = memories.iter().map(|memory| Arc::clone(memory) as Arc<dyn Crashable>).collect();
    let case = *case;
    let start = move || {
        if starts.replace(starts.get() + 1) > 0 {
            return start_again(&case, &memories);
        }
        let mut members: Vec<Option<Arc<dyn Device>>> = Vec::new();
        let mut dying = None;
        for (number, memory) in memories.iter().enumerate() {
            let mortal = Mortal::over(Arc::clone(memory) as Arc<dyn Device>, "mortal");
            if Some(number) == case.dying {
                dying = Some(Arc::clone(&mortal));
            }
            members.push(Some(Checked::over(mortal)));
        }
        let array = started(&members, &StartOptions { sabotage: case.sabotage, ..StartOptions::default() })?;
        if let Some(dying) = dying {
            dying.dies_after(death);
        }
        Ok(Kept::over(array, seed, case.longest))
    };
    Rig { members, start: Box::new(start) }
}

/// With a log, what was being written to several chunks of a row may be lost with a member: so has md. One chunk never is.
fn steps(case: &Case, count: usize, seed: u64) -> Vec<Step> {
    let info: Info = {
        let memories = case.shape.make(|_, info| Memory::with(info));
        let members: Vec<_> = memories.into_iter().map(|memory| Some(memory as Arc<dyn Device>)).collect();
        started(&members, &StartOptions::default()).expect("an array").info().clone()
    };
    let mut steps = crash::history(&info, count, seed);
    if case.shape.consistency == Consistency::Ppl && (case.absent.is_some() || case.dying.is_some()) {
        for step in &mut steps {
            if let Step::Write { offset, length, .. } | Step::WriteZeroes { offset, length, .. } = step {
                *length = (*length).min(CHUNK - *offset % CHUNK);
            }
        }
    }
    steps
}

fn crashes(case: &Case, seed: u64) -> Result<u64, Violation> {
    let options = Options { depth: 3, points: case.points, states: 2 };
    let steps = steps(case, 24, seed);
    crash::enumerate(|| rig(case, seed), Reactor::virtual_clock, &steps, &options, seed).map(|summary| summary.crashes)
}

fn survive(case: &Case, seeds: std::ops::Range<u64>) -> u64 {
    let survived = |seed| crashes(case, seed).unwrap_or_else(|violation| panic!("{case:?}: {violation}"));
    seeds.map(survived).sum()
}

#[test]
fn nothing_durable_is_lost_and_redundancy_is_true_again() {
    let count: u64 = Shape::all().into_iter().map(|shape| survive(&Case::of(shape), 0..6)).sum();
    println!("{count} crashes");
    assert!(count > 3000, "{count}");
}

#[test]
fn nothing_durable_is_lost_with_a_member() {
    let mut count = 0;
    for shape in Shape::all() {
        for absent in 0..shape.members {
            count += survive(&Case { absent: Some(absent), points: 40, ..Case::of(shape) }, 10..13);
        }
    }
    println!("{count} crashes");
    assert!(count > 5000, "{count}");
}

/// Members so slow that bits are cleared and set again while others are under way.
#[test]
fn bits_come_and_go_among_slow_members() {
    let slowest = Duration::from_secs(3);
    let slow = |make| survive(&Case { slowest, longest: Duration::from_secs(4), ..Case::of(Shape::with_bitmap(make)) }, 30..36);
    let count: u64 = [Shape::raid1, Shape::raid6, Shape::raid10].into_iter().map(slow).sum();
    println!("{count} crashes");
    assert!(count > 1000, "{count}");
}

/// A member dies, the array goes on, the power fails, and the member is back with what it had. Parity without a log is not
/// among these: dirty and degraded it does not start unless somebody insists, for what the dead one held may be lost.
#[test]
fn who_died_before_is_not_mixed_in() {
    let mut count = 0;
    let starts = |shape: &Shape| shape.level.parity_count() == 0 || shape.consistency == Consistency::Ppl;
    for shape in Shape::all().into_iter().filter(starts) {
        for dying in 0..shape.members {
            count += survive(&Case { dying: Some(dying), points: 30, ..Case::of(shape) }, 20..28);
        }
    }
    println!("{count} crashes");
    assert!(count > 5000, "{count}");
}

/// Without anything left out there would be nothing to find; with it, some seed finds it.
fn is_found(case: &Case) {
    let seeds = 100..140;
    let found = seeds.clone().find_map(|seed| crashes(case, seed).err());
    let found = found.unwrap_or_else(|| panic!("{:?} was not found with seeds {seeds:?}", case.sabotage));
    println!("{:?}: {found}", case.sabotage);
    assert!(crashes(&Case { sabotage: Sabotage::None, ..*case }, found.seed).is_ok());
}

#[test]
fn a_dirty_mark_that_is_skipped_is_found() {
    is_found(&Case { sabotage: Sabotage::SkipsDirty, ..Case::of(Shape::raid5(Consistency::Resync)) });
    is_found(&Case { sabotage: Sabotage::SkipsDirty, ..Case::of(Shape::raid1(Consistency::Resync)) });
}

#[test]
fn bits_that_are_not_set_or_cleared_too_early_are_found() {
    for make in [Shape::raid6, Shape::raid1, Shape::raid10] {
        is_found(&Case { sabotage: Sabotage::SkipsBits, ..Case::of(Shape::with_bitmap(make)) });
        let slowest = Duration::from_secs(2);
        is_found(&Case { sabotage: Sabotage::ClearsBitsEarly, slowest, ..Case::of(Shape::with_bitmap(make)) });
    }
}

#[test]
fn an_answer_before_a_failure_is_written_down_is_found() {
    is_found(&Case { sabotage: Sabotage::AnswersEarly, dying: Some(1), ..Case::of(Shape::raid5(Consistency::Ppl)) });
    is_found(&Case { sabotage: Sabotage::AnswersEarly, dying: Some(0), ..Case::of(Shape::raid1(Consistency::Resync)) });
}

#[test]
fn a_log_that_is_not_written_is_found() {
    is_found(&Case { sabotage: Sabotage::SkipsLog, absent: Some(2), ..Case::of(Shape::raid5(Consistency::Ppl)) });
}

#[test]
fn a_clean_array_that_was_not_flushed_is_found() {
    is_found(&Case { sabotage: Sabotage::SkipsFlush, ..Case::of(Shape::raid5(Consistency::Resync)) });
}

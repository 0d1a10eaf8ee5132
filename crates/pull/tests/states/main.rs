//! Thousands of crash states of raidloom's own arrays and caches, from recordings, held against
//! what their users were promised; and mistakes that are planted and have to be found.
//!
//! `RAIDLOOM_PULL_STATES=100000` tries so many instead of those that CI has time for,
//! `RAIDLOOM_PULL_SEED` from another seed on.

#![expect(clippy::print_stdout, reason = "says with what seed it ran and what it found")]

mod broken;
mod common;
mod log;
mod promised;
mod replayed;
mod subject;

#[path = "../../../array/tests/it/running/metadata/bench.rs"]
#[allow(dead_code, reason = "it is there for the tests of arrays")]
mod bench;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use array::metadata::PlantedMistake;
use pull::{
    Action, Cut, DriveFault, History, Log, LoggedRequest, Policy, Role, hot_cuts, uniform_cuts,
};
use reactor::{Random, derive_seed};

use bench::Shape;
use broken::{Broken, BrokenState, Culprit, check_smallest};
use promised::Promised;
use subject::{Recording, Subject};

/// How many states CI tries over all subjects.
const STATES: u64 = 10_000;

/// Cuts of one recording.
const CUTS: u32 = 25;

fn setting(name: &str, plain: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(plain, |set| set.parse().unwrap_or_else(|_| panic!("{name}={set} is no number")))
}

/// What is looked at: a subject, a drive that may lie, and a promise that may be read too early.
#[derive(Clone, Copy)]
struct Test {
    subject: Subject,
    fault: DriveFault,
    /// A flush is taken as answered when it is sent.
    marks_early: bool,
    /// One flush of each recording is answered and not carried out.
    drops_flush: bool,
    /// Everything that was written is there.
    keeps_all: bool,
}

impl Test {
    fn of(subject: Subject) -> Test {
        Test {
            subject,
            fault: DriveFault::None,
            marks_early: false,
            drops_flush: false,
            keeps_all: false,
        }
    }

    /// Pulls the plug so often on recordings that follow from the seed. Returns how many of the
    /// states differed from what was durable.
    fn pull(&self, states: u64, seed: u64) -> Result<u64, Box<BrokenState>> {
        let (mut left, mut differing) = (states, 0);
        for round in 0.. {
            let recording = self.subject.record(derive_seed(seed, "recording", round));
            let count = left.min(u64::from(CUTS)) as u32;
            differing += self.pull_recording(&recording, count, seed, round)?;
            left -= u64::from(count);
            if left == 0 {
                break;
            }
        }
        Ok(differing)
    }

    fn pull_recording(
        &self,
        recording: &Recording,
        count: u32,
        seed: u64,
        round: u64,
    ) -> Result<u64, Box<BrokenState>> {
        let log = &recording.log;
        let end = log.events().len() as u32;
        let seed = derive_seed(seed, "cuts", round);
        let mut cuts = hot_cuts(log, (recording.begins, end), count - count / 4, seed);
        cuts.extend(uniform_cuts(log, (recording.begins, end), count / 4, seed));
        cuts.sort_unstable();
        let fault = if self.drops_flush { one_flush(log, seed) } else { self.fault };
        let mut history = History::new(Arc::clone(log), fault, Some(512));
        let promised = Promised::of(log, recording.above, self.marks_early);
        let hunt = Policy::hunt();
        let mut random = Random::with_seed(seed);
        let mut differing = 0;
        for (cut, state) in cuts.into_iter().zip(0..) {
            let policy = match self.keeps_all {
                true => Policy::KeepAll,
                false => hunt[random.usize(..hunt.len())],
            };
            let state = (cut, policy, derive_seed(seed, "state", state));
            let judged = self.state(&mut history, &promised, state).map_err(|broken| {
                Box::new(BrokenState { recording: recording.clone(), fault, state, broken })
            });
            differing += u64::from(judged?);
        }
        Ok(differing)
    }

    /// Makes one state twice, the same both times, and starts from it.
    fn state(
        &self,
        history: &mut History,
        promised: &Promised,
        (cut, policy, seed): (Cut, Policy, u64),
    ) -> Result<bool, Broken> {
        history.advance(cut).expect("cuts are in order");
        let crash = history.crash(cut, policy, seed).expect("the log is in memory");
        let again = history.crash(cut, policy, seed).expect("the log is in memory");
        assert_eq!(crash.checksum(), again.checksum(), "a state follows from log, cut and seed");
        let check = |offset: u64, bytes: &[u8]| promised.check(cut.events, offset, bytes);
        let result = self.subject.start_again(&crash.drives(), seed, &check);
        result.map(|()| crash.differing_bytes() > 0)
    }
}

/// A fault that drops one of the flushes of a recording.
fn one_flush(log: &Log, seed: u64) -> DriveFault {
    let is_flush = |request: &&LoggedRequest| {
        let drive = &log.drives()[usize::from(request.drive)];
        drive.role == Role::Drive && request.action == Action::Flush
    };
    let flushes = log.requests().iter().filter(is_flush).count() as u32;
    DriveFault::DropsFlush(Random::with_seed(derive_seed(seed, "flush", 0)).u32(..flushes))
}

fn subjects() -> Vec<Subject> {
    let mut all: Vec<Subject> = Shape::all().into_iter().map(Subject::of).collect();
    all.push(Subject::cache());
    all
}

#[test]
fn honest_drives_lose_nothing_that_was_promised() {
    let states = setting("RAIDLOOM_PULL_STATES", STATES);
    let seed = setting("RAIDLOOM_PULL_SEED", 1);
    let subjects = subjects();
    let each = states.div_ceil(subjects.len() as u64);
    let (next, differing) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(subject) = subjects.get(number as usize) else { break };
                    let found = Test::of(*subject)
                        .pull(each, seed)
                        .unwrap_or_else(|text| panic!("{subject}, seed {seed}: {text}"));
                    differing.fetch_add(found, Ordering::Relaxed);
                }
            });
        }
    });
    let differing = differing.load(Ordering::Relaxed);
    assert!(differing > states / 4, "{differing} of {states} states were more than nothing");
    println!("{states} states, of which {differing} differed from what was durable; 0 violations");
}

#[test]
fn all_writes_kept_breaks_nothing() {
    for subject in subjects() {
        let test = Test { keeps_all: true, ..Test::of(subject) };
        test.pull(60, 7).unwrap_or_else(|text| panic!("{subject}: {text}"));
    }
}

/// So many pulls must be enough to find a mistake.
const PULLS: u64 = 300;

/// A test with a mistake; the same seeds pass without it. The smallest loss of what it breaks is
/// that of the culprit.
fn is_found(name: &str, test: &Test, culprit: Culprit) {
    let sound = Test::of(test.subject.without_mistake());
    let seed = setting("RAIDLOOM_PULL_SEED", 1);
    match test.pull(PULLS, seed) {
        Ok(_) => panic!("{name}: {PULLS} pulls did not find it, seed {seed}"),
        Err(found) => {
            println!("{name}: found with seed {seed}: {found}");
            match check_smallest(test, &found, culprit) {
                Ok(text) => println!("  {text}"),
                Err(text) => panic!("{name}: named wrongly, seed {seed}: {text}"),
            }
        }
    }
    if let Err(text) = sound.pull(CUTS.into(), seed) {
        panic!("{name}: found where it is not, seed {seed}: {text}");
    }
}

#[test]
fn planted_mistakes_are_found() {
    use Culprit::{CoveredByFlush, DurableByThemselves, NotYetDurable, RowOfArray};
    let plain = Test::of(Subject::of(Shape::raid1(array::md::Consistency::Resync)));
    let ignores_flush = Test { fault: DriveFault::IgnoresFlush, ..plain };
    is_found("a flush that is ignored", &ignores_flush, CoveredByFlush);
    let ignores_fua = Test { fault: DriveFault::IgnoresFua, ..plain };
    is_found("FUA that is ignored", &ignores_fua, DurableByThemselves);
    let parity = Test::of(Subject::of(Shape::raid5(array::md::Consistency::Resync)));
    let drops_flush = Test { drops_flush: true, ..parity };
    is_found("one flush that is dropped", &drops_flush, CoveredByFlush);
    let marks_early = Test { marks_early: true, ..plain };
    is_found("a mark that is set too early", &marks_early, NotYetDurable);
    let planted = |shape, mistake| Test::of(Subject::of(shape).with_mistake(mistake));
    let bitmap = Shape::with_bitmap(Shape::raid5);
    let clears_early = planted(bitmap, PlantedMistake::ClearsBitsEarly);
    is_found("bits cleared early", &clears_early, RowOfArray);
    let skips_bits = planted(bitmap, PlantedMistake::SkipsBits);
    is_found("bits that are not set", &skips_bits, RowOfArray);
    let ppl = Shape::raid5(array::md::Consistency::Ppl);
    let skips_log = planted(ppl, PlantedMistake::SkipsLog);
    is_found("a log that is not written", &skips_log, RowOfArray);
    let resync = Shape::raid5(array::md::Consistency::Resync);
    let skips_dirty = planted(resync, PlantedMistake::SkipsDirty);
    is_found("an array that is not called dirty", &skips_dirty, RowOfArray);
    let cache = Test { fault: DriveFault::IgnoresFlush, ..Test::of(Subject::cache()) };
    is_found("a flush ignored by a cache's store", &cache, CoveredByFlush);
}

//! The smallest part of what was lost that breaks the same: delta debugging (Zeller and
//! Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).

use std::collections::HashMap;
use std::sync::Arc;

use block::Error;
use serde::Serialize;

use crate::crash::Crash;
use crate::cut::Cut;
use crate::history::{DriveFault, History};
use crate::log::{Action, Log, LoggedRequest};
use crate::policy::Policy;

/// What of a state's loss breaks the same as all of it does, by the numbers of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateLoss {
    /// What the state had lost, whole or in part, in the order of arrival.
    pub lost: Vec<u32>,
    /// The smallest part of it.
    pub smallest: MinimalSet,
    /// Where nothing lost breaks it: the first write after the cut with which it would be whole,
    /// where all that came before that write is there.
    pub late: Option<u32>,
}

/// Reduces what a state of a history at its cut has lost, with so many states judged at most.
/// `breaks` says of a state, and of the cut that it belongs to, whether it breaks the same.
///
/// # Errors
/// What reading the log says, and those of `breaks`.
pub fn smallest_loss<E: From<Error>>(
    history: &History,
    (cut, policy, seed): (Cut, Policy, u64),
    states_max: u32,
    breaks: &mut dyn FnMut(&Crash, Cut) -> Result<bool, E>,
) -> Result<StateLoss, E> {
    let lost = history.lost(cut, policy, seed)?;
    let mut fails = |part: &[u32]| -> Result<bool, E> {
        let restored = lost.iter().copied().filter(|write| !part.contains(write)).collect();
        breaks(&history.crash_restoring(cut, policy, seed, &restored)?, cut)
    };
    let smallest = smallest(lost.clone(), states_max, &mut fails)?;
    let late = match smallest.left.is_empty() {
        true => first_late(history.log(), cut, breaks)?,
        false => None,
    };
    Ok(StateLoss { lost, smallest, late })
}

/// The first write after a cut with which what breaks there would be whole.
fn first_late<E: From<Error>>(
    log: &Arc<Log>,
    cut: Cut,
    breaks: &mut dyn FnMut(&Crash, Cut) -> Result<bool, E>,
) -> Result<Option<u32>, E> {
    let writes: Vec<u32> = (0..log.requests().len() as u32)
        .filter(|&number| {
            let request = log.requests()[number as usize];
            request.arrival >= cut.events && request.action != Action::Flush
        })
        .collect();
    let mut is_whole_with = |write: u32| -> Result<bool, E> {
        let mut history = History::new(Arc::clone(log), DriveFault::None, None);
        let later = Cut::behind(log, log.requests()[write as usize].arrival + 1);
        history.advance(later)?;
        Ok(!breaks(&history.crash(later, Policy::KeepAll, 0)?, later)?)
    };
    let (mut first, mut end) = (0, writes.len());
    while first < end {
        let middle = first.midpoint(end);
        match is_whole_with(writes[middle])? {
            true => end = middle,
            false => first = middle + 1,
        }
    }
    Ok(writes.get(first).copied())
}

/// What would have had to make a lost write durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FlushCover {
    /// No flush came: the last one of its drive before it completed arrived then, if there was one.
    Never {
        /// In nanoseconds.
        last_nanoseconds: Option<u64>,
    },
    /// A flush came, and had not been answered when the power failed.
    Unanswered {
        /// When it arrived, in nanoseconds.
        arrived_nanoseconds: u64,
    },
    /// A flush was answered, and the drive has not carried it out.
    Ignored {
        /// When it was answered, in nanoseconds.
        answered_nanoseconds: u64,
    },
    /// The write was to be durable by itself (FUA), was answered, and the drive has not kept it.
    Fua {
        /// When it was answered, in nanoseconds.
        answered_nanoseconds: u64,
    },
    /// The write itself had not been answered: nobody could rely on it.
    UnderWay,
    /// The write came after the cut.
    AfterCut,
}

impl FlushCover {
    /// Of a write that is lost at a cut.
    #[must_use]
    pub fn of(log: &Log, cut: Cut, write: &LoggedRequest) -> FlushCover {
        if write.arrival >= cut.events {
            return FlushCover::AfterCut;
        }
        let before_cut = |event: &u32| *event < cut.events;
        let time = |event: u32| log.events()[event as usize].time_nanoseconds;
        let Some(completed) = write.completion.filter(before_cut) else {
            return FlushCover::UnderWay;
        };
        if write.fua {
            return FlushCover::Fua { answered_nanoseconds: time(completed) };
        }
        let flushes = || {
            log.requests()
                .iter()
                .filter(|one| one.drive == write.drive && one.action == Action::Flush)
                .filter(|one| before_cut(&one.arrival))
        };
        if let Some(answered) = flushes()
            .filter(|flush| flush.arrival > completed)
            .find_map(|flush| flush.completion.filter(before_cut))
        {
            return FlushCover::Ignored { answered_nanoseconds: time(answered) };
        }
        if let Some(flush) = flushes().find(|flush| flush.arrival > completed) {
            return FlushCover::Unanswered { arrived_nanoseconds: time(flush.arrival) };
        }
        let last_nanoseconds = flushes().next_back().map(|flush| time(flush.arrival));
        FlushCover::Never { last_nanoseconds }
    }
}

/// What is left of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinimalSet {
    /// Without any one of them it does not fail, where it is minimal.
    pub left: Vec<u32>,
    /// Whether there were questions enough to say so.
    pub is_minimal: bool,
    /// How many questions were asked.
    pub asked: u32,
}

/// The smallest part of `all`, which fails, that fails too, found with so many questions at most.
/// The same answers lead to the same part.
///
/// # Errors
/// Those of a question.
pub fn smallest<E>(
    all: Vec<u32>,
    questions_max: u32,
    fails: &mut dyn FnMut(&[u32]) -> Result<bool, E>,
) -> Result<MinimalSet, E> {
    let mut known: HashMap<Vec<u32>, bool> = HashMap::from([(all.clone(), true)]);
    let mut ask = |part: &[u32], asked: &mut u32| -> Result<bool, E> {
        if let Some(answer) = known.get(part) {
            return Ok(*answer);
        }
        *asked += 1;
        let answer = fails(part)?;
        known.insert(part.to_vec(), answer);
        Ok(answer)
    };
    let (mut left, mut parts, mut asked) = (all, 2, 0);
    if ask(&[], &mut asked)? {
        return Ok(MinimalSet { left: Vec::new(), is_minimal: true, asked });
    }
    while left.len() > 1 {
        let length = left.len().div_ceil(parts);
        let chunks: Vec<Vec<u32>> = left.chunks(length).map(<[u32]>::to_vec).collect();
        let rest = |number: usize| -> Vec<u32> {
            let others = chunks.iter().enumerate().filter(|(other, _)| *other != number);
            others.flat_map(|(_, chunk)| chunk).copied().collect()
        };
        let tries = chunks.iter().map(|chunk| (chunk.clone(), 2));
        // Of two chunks each is what the other leaves.
        let rests = (0..chunks.len()).filter(|_| chunks.len() > 2);
        let tries = tries.chain(rests.map(|number| (rest(number), (parts - 1).max(2))));
        let mut smaller = None;
        for (part, parts_then) in tries {
            if asked >= questions_max {
                return Ok(MinimalSet { left, is_minimal: false, asked });
            }
            if ask(&part, &mut asked)? {
                smaller = Some((part, parts_then));
                break;
            }
        }
        match smaller {
            Some(found) => (left, parts) = found,
            None if parts >= left.len() => break,
            None => parts = (2 * parts).min(left.len()),
        }
    }
    Ok(MinimalSet { left, is_minimal: true, asked })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{AdvertisedTraits, Recorder};

    fn of(count: u32, fails: impl Fn(&[u32]) -> bool) -> MinimalSet {
        let all = (0..count).collect();
        smallest(all, 1000, &mut |part| Ok::<_, ()>(fails(part))).unwrap()
    }

    #[test]
    fn what_alone_breaks_it_is_found_among_many() {
        for culprits in [&[17][..], &[3, 90], &[0, 50, 99]] {
            let found = of(100, |part| culprits.iter().all(|one| part.contains(one)));
            assert_eq!(found.left, culprits);
            assert!(found.is_minimal && found.asked < 150, "{found:?}");
        }
        assert_eq!(of(1, |part| part == [0]).left, [0]);
    }

    #[test]
    fn what_fails_without_any_loss_needs_none() {
        assert_eq!(of(100, |_| true), MinimalSet { left: vec![], is_minimal: true, asked: 1 });
    }

    #[test]
    fn when_the_questions_are_used_up_it_says_so() {
        let all = (0..64).collect();
        let both = |part: &[u32]| Ok::<_, ()>(part.contains(&0) && part.contains(&63));
        let found = smallest(all, 3, &mut { both }).unwrap();
        assert!(!found.is_minimal && found.asked == 3, "{found:?}");
    }

    /// Two writes and two flushes: what covers each, at every cut.
    #[test]
    fn a_write_is_covered_by_the_flush_that_came_after_it_completed() {
        let recorder = Recorder::in_memory(Some(|| 7));
        let able = AdvertisedTraits { volatile_cache: true, fua: true };
        let drive = recorder.drive(std::sync::Arc::new(testkit::Memory::new(1 << 20)), able);
        let reactor = block::Reactor::virtual_clock();
        let mut channel = block::Blocking::open(&*drive, &reactor).unwrap();
        channel.flush().unwrap();
        channel.write_slice(4096, &[1; 4096]).unwrap();
        channel.flush().unwrap();
        let mut durable = block::BufMut::zeroed(512);
        durable.fill(2);
        channel.run(block::Op::Write { offset: 0, from: durable.freeze(), fua: true }).unwrap();
        drop(channel);
        let log = recorder.finish().unwrap();
        // Events: flush 0 1, write 2 3, flush 4 5, write with FUA 6 7.
        let write = log.requests()[1];
        let at = |events| FlushCover::of(&log, Cut { events, time_nanoseconds: 7 }, &write);
        assert_eq!(at(2), FlushCover::AfterCut);
        assert_eq!(at(3), FlushCover::UnderWay);
        assert_eq!(at(4), FlushCover::Never { last_nanoseconds: Some(7) });
        assert_eq!(at(5), FlushCover::Unanswered { arrived_nanoseconds: 7 });
        assert_eq!(at(6), FlushCover::Ignored { answered_nanoseconds: 7 });
        let (cut, fua) = (Cut { events: 8, time_nanoseconds: 7 }, &log.requests()[3]);
        assert_eq!(FlushCover::of(&log, cut, fua), FlushCover::Fua { answered_nanoseconds: 7 });
    }
}

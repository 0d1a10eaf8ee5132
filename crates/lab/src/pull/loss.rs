//! The smallest loss: which of the writes that a state has lost break by their loss alone what was
//! promised.
//!
//! ```text
//!   lost writes of the state ── delta debugging, each part judged as the state was ──> one to three
//!   each ── when, where, what had to cover it ── whose it is: the file system's tools, on what
//!                                                  nothing is lost of
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use host::Error;
use pull::{
    Action, Crash, Cut, Damage, DriveFault, Findings, History, Judgement, Log, LoggedRequest,
    Policy, smallest,
};
use serde::Serialize;

use super::owner::{Image, Owner, inspect};
use super::state::{StateOrigin, States};

/// The most states that are judged to find it.
const STATES_MAX: u32 = 400;
/// The most bytes of a write that are asked for whose they are.
const OWNED_BYTES_MAX: u64 = 64 << 10;

/// Writes whose loss alone breaks what a state breaks.
#[derive(Clone, Debug, Serialize)]
pub struct SmallestLoss {
    /// How many writes the state had lost, whole or in part.
    pub lost: usize,
    /// How many states were judged to find these.
    pub judged: u32,
    /// Whether none of them can be left out; else there were too many states to judge.
    pub is_minimal: bool,
    /// The writes, in the order of their arrival. None of them says that it is broken also where
    /// nothing is lost: it was promised too early.
    pub writes: Vec<LostWrite>,
    /// Where nothing lost breaks it: the first write after the cut with which it would be whole.
    pub late: Option<LostWrite>,
}

/// A write that is lost.
#[derive(Clone, Debug, Serialize)]
pub struct LostWrite {
    /// Its number in the log.
    pub request: u32,
    /// The member, from 0 on.
    pub member: u16,
    /// Where on it, in sectors of 512 bytes.
    pub sector: u64,
    /// How much, in bytes.
    pub bytes: u64,
    /// When it arrived, in nanoseconds of the recording.
    pub arrived_nanoseconds: u64,
    /// When it completed, if it did before the cut.
    pub completed_nanoseconds: Option<u64>,
    /// What would have had to make it durable.
    pub flush: FlushCover,
    /// Whose it is, where that can be told.
    pub owners: Vec<Owner>,
}

/// The flush that would have covered a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FlushCover {
    /// None came: the last one of its member before it completed arrived then, if there was one.
    Never {
        /// In nanoseconds.
        last_nanoseconds: Option<u64>,
    },
    /// One came, and had not been answered when the power failed.
    Unanswered {
        /// When it arrived, in nanoseconds.
        arrived_nanoseconds: u64,
    },
    /// One was answered, and the drive has not carried it out.
    Ignored {
        /// When it was answered, in nanoseconds.
        answered_nanoseconds: u64,
    },
    /// The write itself had not been answered: nobody could rely on it.
    UnderWay,
    /// The write came after the cut.
    AfterCut,
}

/// Finds the smallest loss of a state that is judged like this.
pub(super) fn smallest_loss(
    states: &mut States<'_>,
    history: &History,
    made: StateOrigin,
    judgement: &Judgement,
) -> Result<Option<SmallestLoss>, Error> {
    if !breaks(judgement) {
        return Ok(None);
    }
    let lost = history.lost(made.cut, made.policy, made.seed)?;
    let mut fails = |part: &[u32]| -> Result<bool, Error> {
        let restored = lost.iter().copied().filter(|write| !part.contains(write)).collect();
        let crash = history.crash_restoring(made.cut, made.policy, made.seed, &restored)?;
        Ok(resembles(judgement, &states.judge_crash(&crash, made)?))
    };
    let found = smallest(lost.clone(), STATES_MAX, &mut fails)?;
    let whole: BTreeSet<u32> = lost.iter().copied().collect();
    let restored = || {
        let crash = history.crash_restoring(made.cut, made.policy, made.seed, &whole)?;
        Ok::<_, Error>(crash)
    };
    let late = match found.left.is_empty() {
        true => first_late(states, made, judgement)?,
        false => None,
    };
    let log = Arc::clone(states.log());
    let images = [states.image_to_ask(&restored()?)?, states.image_to_ask(&at_end(&log)?)?];
    let file_system = states.file_system();
    let known: Vec<Box<dyn Image + '_>> =
        images.iter().flatten().filter_map(|image| inspect(file_system, image.path())).collect();
    let at_end = || at_end(&log);
    let write = |number: u32, crash: &dyn Fn() -> Result<Crash, Error>| {
        let place = match known.is_empty() {
            true => None,
            false => states.on_device(crash, &log.requests()[number as usize])?,
        };
        lost_write(&log, made.cut, number, (&known, place))
    };
    Ok(Some(SmallestLoss {
        late: late.map(|number| write(number, &at_end)).transpose()?,
        lost: lost.len(),
        judged: found.asked,
        is_minimal: found.is_minimal,
        writes: (found.left.iter())
            .map(|&number| write(number, &restored))
            .collect::<Result<_, Error>>()?,
    }))
}

/// Whether a state has lost what it should not have.
fn breaks(judgement: &Judgement) -> bool {
    judgement.unjudged.is_none() && judgement.worst().is_some()
}

/// Whether a state breaks what another one does.
fn resembles(of: &Judgement, other: &Judgement) -> bool {
    let worst = of.worst();
    if other.unjudged.is_some() || other.worst() != worst {
        return false;
    }
    let (Some(one), Some(two)) = (&of.findings, &other.findings) else { return true };
    match worst {
        Some(Damage::Broken) => {
            let files = |found: &Findings| -> BTreeSet<u32> {
                found.broken.iter().map(|wrong| wrong.file).collect()
            };
            one.keys.iter().any(|wrong| two.keys.iter().any(|other| other.key == wrong.key))
                || !files(one).is_disjoint(&files(two))
        }
        _ => true,
    }
}

fn lost_write(
    log: &Log,
    cut: Cut,
    number: u32,
    (known, place): (&[Box<dyn Image + '_>], Option<u64>),
) -> Result<LostWrite, Error> {
    let request = log.requests()[number as usize];
    let time = |event: u32| log.events()[event as usize].time_nanoseconds;
    let completed = request.completion.filter(|&event| event < cut.events);
    let mut owners = Vec::new();
    if let Some(place) = place.filter(|_| request.action == Action::Write) {
        let length = request.length.min(OWNED_BYTES_MAX) as usize;
        let mut content = vec![0; length];
        log.content(&request, request.offset, &mut content)?;
        // What was nobody's when the power failed, or had no name, may have had its inode written
        // later.
        let by = known.iter().map(|image| image.owners(place, &content));
        let is_told = |owners: &Vec<Owner>| !matches!(owners[..], [] | [Owner::Free]);
        let by: Vec<Vec<Owner>> = by.filter(is_told).collect();
        let named = by.iter().find(|owners| owners.iter().any(Owner::is_named));
        owners = named.or(by.first()).cloned().unwrap_or_default();
    }
    Ok(LostWrite {
        request: number,
        member: request.drive,
        sector: request.offset / block::SECTOR_BYTES,
        bytes: request.length,
        arrived_nanoseconds: time(request.arrival),
        completed_nanoseconds: completed.map(time),
        flush: covering(log, cut, &request),
        owners,
    })
}

/// The flush of a write's member that would have covered it.
fn covering(log: &Log, cut: Cut, write: &LoggedRequest) -> FlushCover {
    if write.arrival >= cut.events {
        return FlushCover::AfterCut;
    }
    let before_cut = |event: &u32| *event < cut.events;
    let time = |event: u32| log.events()[event as usize].time_nanoseconds;
    let Some(completed) = write.completion.filter(before_cut) else { return FlushCover::UnderWay };
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
    FlushCover::Never { last_nanoseconds: flushes().next_back().map(|flush| time(flush.arrival)) }
}

/// All that was recorded, on its drives.
fn at_end(log: &Arc<Log>) -> Result<Crash, Error> {
    let mut history = History::new(Arc::clone(log), DriveFault::None, None);
    let end = Cut::behind(log, u32::MAX);
    history.advance(end)?;
    Ok(history.crash(end, Policy::KeepAll, 0)?)
}

/// The first write after the cut with which what was promised before it would be whole, where all
/// that came before that write is there.
fn first_late(
    states: &mut States<'_>,
    made: StateOrigin,
    judgement: &Judgement,
) -> Result<Option<u32>, Error> {
    let log = Arc::clone(states.log());
    let writes: Vec<u32> = (0..log.requests().len() as u32)
        .filter(|&number| {
            let request = log.requests()[number as usize];
            request.arrival >= made.cut.events && request.action != Action::Flush
        })
        .collect();
    let mut is_whole_with = |write: u32| -> Result<bool, Error> {
        let mut history = History::new(Arc::clone(&log), DriveFault::None, None);
        let cut = Cut::behind(&log, log.requests()[write as usize].arrival + 1);
        history.advance(cut)?;
        let crash = history.crash(cut, Policy::KeepAll, 0)?;
        Ok(!resembles(judgement, &states.judge_crash(&crash, made)?))
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

#[cfg(test)]
mod tests {
    use pull::{AdvertisedTraits, Recorder};

    use super::*;

    /// Two writes and two flushes: what covers each, at every cut.
    #[test]
    fn a_write_is_covered_by_the_flush_that_came_after_it_completed() {
        let recorder = Recorder::in_memory(Some(|| 7));
        let able = AdvertisedTraits { volatile_cache: true, fua: false };
        let drive = recorder.drive(super::super::drives::memory(1 << 20).unwrap(), able);
        let reactor = block::Reactor::virtual_clock();
        let mut channel = block::Blocking::open(&*drive, &reactor).unwrap();
        channel.flush().unwrap();
        channel.write_slice(4096, &[1; 4096]).unwrap();
        channel.flush().unwrap();
        drop(channel);
        let log = recorder.finish().unwrap();
        // Events: flush 0 1, write 2 3, flush 4 5.
        let write = log.requests()[1];
        let at = |events| covering(&log, Cut { events, time_nanoseconds: 7 }, &write);
        assert_eq!(at(2), FlushCover::AfterCut);
        assert_eq!(at(3), FlushCover::UnderWay);
        assert_eq!(at(4), FlushCover::Never { last_nanoseconds: Some(7) });
        assert_eq!(at(5), FlushCover::Unanswered { arrived_nanoseconds: 7 });
        assert_eq!(at(6), FlushCover::Ignored { answered_nanoseconds: 7 });
    }
}

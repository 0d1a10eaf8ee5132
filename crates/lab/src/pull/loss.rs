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
    Action, Crash, Cut, Damage, DriveFault, Findings, FlushCover, History, Judgement, Log, Policy,
    StateLoss,
};
use serde::Serialize;

use super::owner::{Image, Owner, inspect};
use super::state::{DevicePlace, StateOrigin, States};

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
    let state = (made.cut, made.policy, made.seed);
    let mut breaks = |crash: &Crash, _: Cut| -> Result<bool, Error> {
        Ok(resembles(judgement, &states.judge_crash(crash, made)?))
    };
    let StateLoss { lost, smallest, late } =
        pull::smallest_loss(history, state, STATES_MAX, &mut breaks)?;
    let whole: BTreeSet<u32> = lost.iter().copied().collect();
    let restored = || {
        let crash = history.crash_restoring(made.cut, made.policy, made.seed, &whole)?;
        Ok::<_, Error>(crash)
    };
    let log = Arc::clone(states.log());
    let images = [states.image_to_ask(&restored()?)?, states.image_to_ask(&at_end(&log)?)?];
    let file_system = states.file_system();
    let known: Vec<Box<dyn Image + '_>> =
        images.iter().flatten().filter_map(|image| inspect(file_system, image.path())).collect();
    let at_end = || at_end(&log);
    let write = |number: u32, crash: &dyn Fn() -> Result<Crash, Error>| {
        let place = states.on_device(crash, &log.requests()[number as usize])?;
        lost_write(&log, made.cut, number, (&known, place))
    };
    Ok(Some(SmallestLoss {
        late: late.map(|number| write(number, &at_end)).transpose()?,
        lost: lost.len(),
        judged: smallest.asked,
        is_minimal: smallest.is_minimal,
        writes: (smallest.left.iter())
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
    (known, place): (&[Box<dyn Image + '_>], DevicePlace),
) -> Result<LostWrite, Error> {
    let request = log.requests()[number as usize];
    let time = |event: u32| log.events()[event as usize].time_nanoseconds;
    let completed = request.completion.filter(|&event| event < cut.events);
    let mut owners = Vec::new();
    if let DevicePlace::Array(part) = place {
        owners.push(Owner::Array { part });
    } else if let (DevicePlace::At(place), Action::Write) = (place, request.action) {
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
        flush: FlushCover::of(log, cut, &request),
        owners,
    })
}

/// All that was recorded, on its drives.
fn at_end(log: &Arc<Log>) -> Result<Crash, Error> {
    let mut history = History::new(Arc::clone(log), DriveFault::None, None);
    let end = Cut::behind(log, u32::MAX);
    history.advance(end)?;
    Ok(history.crash(end, Policy::KeepAll, 0)?)
}

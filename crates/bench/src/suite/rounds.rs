//! A load that writes, repeated in rounds until it is steady by SNIA's rule ([`results::steady`]).
//!
//! ```text
//! round 1   2   3   4 │ 5   6   7   8   9      each round: the load for its time, then a flush
//! └── before: ramp ──┘ └── the window ──┘      neither spreads nor drifts: these are the figures
//! ```

use std::time::Duration;

use block::Error;
use results::Doubt;
use results::steady::{self, Steadiness};

use super::definition::{Kind, Setting, Value};
use super::steps::per_second;
use crate::load::{Ramp, Sample};

/// The setting by which a suite is asked for it.
pub(crate) const STEADY: Setting = Setting::new(
    "steady",
    Kind::Word(&["off", "snia"]),
    Value::word("off"),
    "Repeats what writes in rounds of its time, each flushed, until five in a row spread by at \
    most 20 % of their mean and rise or fall by at most 10 %, the rule of SNIA's test \
    specification; at most 25 rounds. The figures are those of the five. What is not steady then \
    is flagged, and its figures do not vote.",
);

/// Whether a value of [`STEADY`] asks for it.
pub(crate) fn is_asked(text: &str) -> bool {
    text == "snia"
}

/// Runs rounds until the last five are steady. The figures are those of these five, the time of
/// their flushes is returned beside them, and what came before counts as ramp. `round` is given its
/// number, from 0, and how many operations are left; it returns what it did and how long its flush
/// took. A round that was stopped ends it, without a flush.
///
/// # Errors
/// That of a round.
pub(crate) fn until_steady(
    operations_max: u64,
    notes: &mut Vec<Doubt>,
    mut round: impl FnMut(u64, u64) -> Result<(Sample, Duration), Error>,
) -> Result<(Sample, Option<Duration>), Error> {
    let mut rounds: Vec<(Sample, Duration)> = Vec::new();
    let mut rates = Vec::new();
    let mut done = 0;
    let found = loop {
        let (sample, flush) = round(rounds.len() as u64, operations_max - done)?;
        if sample.stopped {
            return Ok((sample, None));
        }
        done += sample.operations() + sample.ramp.moved.reads + sample.ramp.moved.writes;
        rates.push(per_second(sample.bytes(), sample.elapsed + flush));
        rounds.push((sample, flush));
        let found = Steadiness::of(&rates);
        if found.is_some_and(|found| found.is_steady()) {
            break found;
        }
        if rounds.len() == steady::ROUNDS_MAX || done >= operations_max {
            notes.push(Doubt::NotSteady);
            break found;
        }
    };
    let window = rounds.split_off(rounds.len().saturating_sub(steady::WINDOW));
    let mut before = Ramp { rounds: found, ..Ramp::default() };
    for (sample, flush) in &rounds {
        before.moved.reads += sample.read.operations + sample.ramp.moved.reads;
        before.moved.read_bytes += sample.read.bytes + sample.ramp.moved.read_bytes;
        before.moved.writes += sample.write.operations + sample.ramp.moved.writes;
        before.moved.written_bytes += sample.write.bytes + sample.ramp.moved.written_bytes;
        before.elapsed += sample.ramp.elapsed + sample.elapsed + *flush;
    }
    let flush = window.iter().map(|(_, flush)| *flush).sum();
    let merged = window.into_iter().map(|(sample, _)| sample).reduce(Sample::merged);
    let mut sample = merged.expect("there was a round");
    // The first round may be part of the window, and its ramp still is not.
    before.moved.reads += sample.ramp.moved.reads;
    before.moved.read_bytes += sample.ramp.moved.read_bytes;
    before.moved.writes += sample.ramp.moved.writes;
    before.moved.written_bytes += sample.ramp.moved.written_bytes;
    before.elapsed += sample.ramp.elapsed;
    sample.ramp = before;
    Ok((sample, Some(flush)))
}

//! What a state has broken, and the smallest part of its loss that breaks the same.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use block::Error;
use pull::{Cut, DriveFault, FlushCover, History, LoggedRequest, Policy, smallest_loss};

use super::Test;
use super::promised::Promised;
use super::subject::{Recording, Subject};

/// The most states that are judged to find the smallest loss.
const STATES_MAX: u32 = 400;

/// Where something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokenPart {
    /// A block of the device, in the order of what was read.
    Block(u64),
    /// Members that should be the same are not.
    Scrub,
    /// It cannot be read.
    Reading,
    /// It does not start.
    Start,
}

impl BrokenPart {
    pub(crate) fn told(self, text: String) -> Broken {
        Broken { part: self, text }
    }
}

/// What is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) part: BrokenPart,
    text: String,
}

/// A state that broke something, with all that makes it again.
pub(crate) struct BrokenState {
    pub(crate) recording: Recording,
    pub(crate) fault: DriveFault,
    pub(crate) state: (Cut, Policy, u64),
    pub(crate) broken: Broken,
}

impl fmt::Display for BrokenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cut, policy, _) = self.state;
        write!(f, "behind {} events, {policy}: {}", cut.events, self.broken.text)
    }
}

/// What the smallest loss has to be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Culprit {
    /// Writes that a flush covers which was answered.
    CoveredByFlush,
    /// Writes that were to be durable by themselves.
    DurableByThemselves,
    /// Writes that nothing had made durable yet.
    NotYetDurable,
    /// Writes to the row of the array that the broken block lies in, to nothing else.
    RowOfArray,
}

/// The writes whose loss alone breaks what a state has broken, or the one that came too late,
/// with what would have had to make them durable.
fn smallest(test: &Test, found: &BrokenState) -> Vec<(LoggedRequest, FlushCover)> {
    let (log, (cut, policy, seed)) = (&found.recording.log, found.state);
    let promised = Promised::of(log, found.recording.above, test.marks_early);
    let mut history = History::new(Arc::clone(log), found.fault, Some(512));
    history.advance(cut).expect("in memory");
    let loss = smallest_loss(&history, (cut, policy, seed), STATES_MAX, &mut |crash, cut| {
        let check = |offset: u64, bytes: &[u8]| promised.check(cut.events, offset, bytes);
        let result = test.subject.start_again(&crash.drives(), seed, &check);
        Ok::<_, Error>(result.is_err_and(|broken| broken.part == found.broken.part))
    });
    let loss = loss.expect("in memory");
    assert!(loss.smallest.is_minimal, "{} states were not enough", loss.smallest.asked);
    let named = |&number: &u32| {
        let request = log.requests()[number as usize];
        (request, FlushCover::of(log, cut, &request))
    };
    loss.smallest.left.iter().chain(&loss.late).map(named).collect()
}

/// Whether a write is another one, or came later over a part of it.
fn is_over(write: &LoggedRequest, other: &LoggedRequest) -> bool {
    let touches =
        write.offset < other.offset + other.length && other.offset < write.offset + write.length;
    write.drive == other.drive && touches && write.arrival >= other.arrival
}

/// Whether the smallest loss of a broken state is of what it has to be; and what it is.
pub(crate) fn check_smallest(
    test: &Test,
    found: &BrokenState,
    culprit: Culprit,
) -> Result<String, String> {
    let writes = smallest(test, found);
    // What came later over the same place would hide that one is gone.
    let of = |is: fn(&FlushCover) -> bool| {
        let culprits = || writes.iter().filter(|(_, cover)| is(cover)).map(|(write, _)| write);
        let hides = |write: &LoggedRequest| culprits().any(|culprit| is_over(write, culprit));
        culprits().next().is_some() && writes.iter().all(|(write, _)| hides(write))
    };
    let is_ignored = |cover: &FlushCover| matches!(cover, FlushCover::Ignored { .. });
    let is_fua = |cover: &FlushCover| matches!(cover, FlushCover::Fua { .. });
    let is_right = match culprit {
        Culprit::CoveredByFlush => of(is_ignored),
        Culprit::DurableByThemselves => of(is_fua),
        Culprit::NotYetDurable => {
            writes.iter().all(|(_, cover)| !is_ignored(cover) && !is_fua(cover))
        }
        Culprit::RowOfArray => {
            let rows: BTreeSet<Option<u64>> =
                writes.iter().map(|(write, _)| Subject::row_on_member(write.offset)).collect();
            let row = rows.first().copied().flatten();
            let expected = match found.broken.part {
                BrokenPart::Block(block) => test.subject.row_of_block(block),
                _ => row,
            };
            rows.len() == 1 && row.is_some() && row == expected
        }
    };
    let named: Vec<String> = writes
        .iter()
        .map(|(write, cover)| {
            let LoggedRequest { drive, offset, length, .. } = write;
            format!("drive {drive}, sector {}, {length} bytes: {cover:?}", offset / 512)
        })
        .collect();
    let text = format!("{} alone break it: {}", writes.len(), named.join("; "));
    if is_right && !writes.is_empty() { Ok(text) } else { Err(text) }
}

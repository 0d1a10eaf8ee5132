//! What several drives cost one another on what they hang on together: a bus, a channel, a hub. By
//! reads alone, of one block of each that is in its buffer, so that no media is in the way.
//!
//! ```text
//!   small, one at a time     each drive by itself, then all     is the link held for the whole command?
//!   large, several at a time each drive by itself, then all     what the link moves
//! ```

use std::time::Duration;

use block::{BufMut, Channel, Completion, Device, Error, Op, Reactor, Request, ReturnedBuffer};

use super::super::messages;
use super::super::parameters::Hold;
use super::measure::{MIB, MeasureError, PATIENCE};

/// Size of the reads, and how many each drive is asked for at a time.
const SMALL: (u64, u32) = (4096, 1);
const LARGE: (u64, u32) = (128 << 10, 4);
/// How long each is measured.
const TIME: Duration = Duration::from_millis(500);
/// Together they move less than this of what they move alone: they share something.
const SHARED_BELOW: f64 = 0.9;
/// Together they do less than so often what one does: one at a time.
const ONE_AT_A_TIME_BELOW: f64 = 1.5;

/// What drives move by themselves and together.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkShare {
    /// Large reads, in bytes a second: each drive by itself.
    pub alone: Vec<f64>,
    /// All of them at a time.
    pub together: f64,
    /// Small reads a second: each drive by itself.
    pub small_alone: Vec<f64>,
    /// All of them at a time.
    pub small_together: f64,
}

impl LinkShare {
    /// Whether what they hang on is in their way.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        let share = |together: f64, alone: &[f64]| together / alone.iter().sum::<f64>();
        share(self.together, &self.alone) < SHARED_BELOW
            || share(self.small_together, &self.small_alone) < SHARED_BELOW
    }

    /// How long a drive keeps it: of small reads hardly more are made by all than by one where each
    /// command has it to its end.
    #[must_use]
    pub fn hold(&self) -> Hold {
        let one = self.small_alone.iter().sum::<f64>() / self.small_alone.len().max(1) as f64;
        if self.small_together < ONE_AT_A_TIME_BELOW * one { Hold::Command } else { Hold::Burst }
    }
}

/// A drive, and the block that is read of it.
struct LinkedDrive {
    channel: Box<dyn Channel>,
    offset: u64,
}

impl LinkedDrive {
    fn ask(&mut self, tag: u64, into: BufMut) {
        self.channel.submit(Request::new(tag, Op::Read { offset: self.offset, into }));
    }
}

/// Measures drives by themselves and all at a time; nothing is written.
///
/// # Errors
/// What a drive failed with, and that one hangs.
pub fn measure_links(
    devices: &[&dyn Device],
    reactor: &Reactor,
) -> Result<LinkShare, MeasureError> {
    let open = |device: &&dyn Device| -> Result<LinkedDrive, MeasureError> {
        let size_bytes = device.info().size_bytes;
        if size_bytes < 2 * MIB {
            return Err(MeasureError::Small);
        }
        Ok(LinkedDrive {
            channel: device.open(LARGE.1, reactor)?,
            offset: size_bytes / 3 / MIB * MIB,
        })
    };
    let mut drives = devices.iter().map(open).collect::<Result<Vec<_>, MeasureError>>()?;
    let mut alone = |how| -> Result<Vec<f64>, MeasureError> {
        drives.iter_mut().map(|drive| rate(std::slice::from_mut(drive), how, reactor)).collect()
    };
    let (small_alone, large_alone) = (alone(SMALL)?, alone(LARGE)?);
    let small_together = rate(&mut drives, SMALL, reactor)?;
    let together = rate(&mut drives, LARGE, reactor)?;
    let bytes = LARGE.0 as f64;
    Ok(LinkShare {
        alone: large_alone.into_iter().map(|rate| rate * bytes).collect(),
        together: together * bytes,
        small_alone,
        small_together,
    })
}

/// Reads a second of all of these drives together.
fn rate(
    drives: &mut [LinkedDrive],
    (bytes, depth): (u64, u32),
    reactor: &Reactor,
) -> Result<f64, MeasureError> {
    // The first ones bring the block into the buffer.
    for drive in drives.iter_mut() {
        drive.ask(0, reactor.allocate(bytes as usize));
        run(std::slice::from_mut(drive), reactor, None)?;
    }
    for drive in drives.iter_mut() {
        for tag in 0..depth {
            drive.ask(u64::from(tag), reactor.allocate(bytes as usize));
        }
    }
    let begin = reactor.now();
    let end = begin + TIME;
    let (mut answers, mut last) = (0, begin);
    while last < end {
        answers += run(drives, reactor, Some(bytes))?;
        last = reactor.now();
    }
    let rate = answers as f64 / last.since(begin).as_secs_f64();
    while drives.iter().any(|drive| drive.channel.in_flight() > 0) {
        run(drives, reactor, None)?;
    }
    Ok(rate)
}

/// Takes answers of all drives, one at least where any is to come, and asks again for each where
/// that is said; how many there were.
fn run(
    drives: &mut [LinkedDrive],
    reactor: &Reactor,
    again: Option<u64>,
) -> Result<u64, MeasureError> {
    let mut done: Vec<Completion> = Vec::new();
    let late = reactor.now() + PATIENCE;
    let mut answers = 0;
    loop {
        for drive in drives.iter_mut() {
            drive.channel.poll(&mut done);
            for completion in done.drain(..) {
                completion.result?;
                answers += 1;
                let Some(bytes) = again else { continue };
                let into = match completion.buffer {
                    ReturnedBuffer::Read(into) => into,
                    _ => reactor.allocate(bytes as usize),
                };
                drive.ask(completion.tag, into);
            }
        }
        let waits = drives.iter().any(|drive| drive.channel.in_flight() > 0);
        if answers > 0 || !waits {
            return Ok(answers);
        }
        if reactor.now() >= late {
            return Err(MeasureError::Hangs { offset: drives[0].offset });
        }
        reactor
            .wait(Some(late))
            .map_err(|error| Error::from_io(messages::WAITING_FOR_ANSWER, error))?;
    }
}

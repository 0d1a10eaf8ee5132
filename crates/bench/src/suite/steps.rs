//! The steps that suites over a device share: covering ranges of it once, and flushing it.

use std::time::Duration;

use block::{Blocking, Device, Error, Info, Reactor};
use words::Message;

use crate::known::Cover;
use crate::load::{self, Content, Direction, Hooks, Load, Sample};

/// Request size of [`cover`], in bytes, where the device takes as much.
pub(super) const PIECE_BYTES: u32 = 1 << 20;
/// Requests outstanding in [`cover`].
const DEPTH: u32 = 4;

/// Writes `ranges` (offset and end, whole units) once with `content`, or reads and compares them,
/// outside of all times. `unit` is what every request is whole of: at least the device's block.
///
/// When the caller stops it, the rest stays as it was, and the sample says so.
///
/// # Errors
/// The first request that failed, or data that are not what was written.
pub(super) fn cover<C: Content>(
    (device, reactor): (&dyn Device, &Reactor),
    (direction, ranges, unit): (Direction, Vec<(u64, u64)>, u32),
    content: &mut C,
    hooks: &mut Hooks<'_>,
) -> Result<Sample, Error> {
    let mut requests = Cover::new(direction, ranges, piece_bytes(device.info(), unit));
    let load = Load { depth: DEPTH, ..Load::default() };
    load::run(device, reactor, &load, &mut requests, content, hooks)
}

fn piece_bytes(info: &Info, unit: u32) -> u32 {
    let piece = PIECE_BYTES.min(info.max_request_bytes);
    (piece - piece % unit).max(unit)
}

/// Flushes on a channel of its own, and says how long that took. `when` names the step in an error.
///
/// # Errors
/// That of opening the channel or of the flush.
pub(super) fn flush(
    device: &dyn Device,
    reactor: &Reactor,
    when: Message,
) -> Result<Duration, Error> {
    // Not open while requests are made: nothing would poll it.
    let mut control = Blocking::open(device, reactor)?;
    let start = reactor.now();
    control.flush().map_err(|error| error.at(when))?;
    Ok(reactor.now().since(start))
}

/// A rate; 0 when no time passed.
pub(super) fn per_second(amount: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { amount as f64 / time.as_secs_f64() }
}

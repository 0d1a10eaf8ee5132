//! Crashes at every moment of a history, and whether what is left afterwards is permitted.
//!
//! ```text
//! run   : submit . submit . wait . poll . submit ...      the dots are the moments
//! point n: the same run up to the n-th dot -> all members crash -> power on -> start again
//!          -> read all, compare
//! ```
//!
//! Members should complete through timers (`Memory::delayed`), so that every write of theirs is a
//! moment of its own.

use std::sync::Arc;

use block::{Blocking, BufMut, Device, DiscardSupport, Error, Info, Op, Reactor, Support};
use reactor::{Random, derive_seed};

use crate::Violation;
use crate::model::{Driver, windows};
use crate::owner::Patience;

/// A device whose power can fail.
pub trait Crashable {
    /// Loses whatever `seed` says of what may be lost, and answers nothing any more.
    fn crash(&self, seed: u64);
    /// Lets it be opened again. Channels from before stay dead.
    fn power_on(&self);
}

/// A device under test over members that can crash.
pub struct Rig {
    /// Everything that loses its power together.
    pub members: Vec<Arc<dyn Crashable>>,
    /// Puts the device together from its members: in the beginning, and again after the crash.
    pub start: Box<dyn Fn() -> Result<Arc<dyn Device>, Error>>,
}

/// One thing to do. Offsets and lengths are in bytes and lie in the first 96 blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashOperation {
    /// Write data of its own.
    Write {
        /// Where.
        offset: u64,
        /// How much.
        length: u64,
        /// Durable when it completes.
        fua: bool,
    },
    /// Write zeroes.
    WriteZeroes {
        /// Where.
        offset: u64,
        /// How much.
        length: u64,
        /// Durable when it completes.
        fua: bool,
    },
    /// Give back.
    Discard {
        /// Where.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// Flush.
    Flush,
    /// Wait until nothing is in flight.
    Settle,
}

/// A random history for a device of at most 96 blocks that is like `info`.
#[must_use]
pub fn history(info: &Info, steps: usize, seed: u64) -> Vec<CrashOperation> {
    let mut random = Random::with_seed(seed);
    let block = u64::from(info.block_bytes);
    let places = windows(info, &mut random);
    let step = |random: &mut Random| {
        let (start, window) = places[random.usize(..places.len())];
        let length = random.u64(1..=6.min(window / block)) * block;
        let offset = start + random.u64(0..=(window - length) / block) * block;
        let fua = info.fua != Support::None && random.u8(..4) == 0;
        match random.u8(..12) {
            0..2 => CrashOperation::Flush,
            2 => CrashOperation::Settle,
            3 if info.zeroes != Support::None => {
                CrashOperation::WriteZeroes { offset, length, fua }
            }
            4 if info.discard != DiscardSupport::None => CrashOperation::Discard { offset, length },
            _ => CrashOperation::Write { offset, length, fua },
        }
    };
    (0..steps).map(|_| step(&mut random)).collect()
}

/// How thoroughly to look.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Requests in flight on each of two channels.
    pub depth: u32,
    /// At most this many moments, drawn at random when there are more.
    pub points: usize,
    /// Crashes with different losses at each of them.
    pub states: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { depth: 4, points: usize::MAX, states: 4 }
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Moments of the history.
    pub moments: u64,
    /// Crashes tried.
    pub crashes: u64,
}

/// Runs `steps` once without a crash and then once for each crash, always from a rig that `make`
/// makes anew.
///
/// # Errors
/// `C27` when a block is torn, `C28` when something durable is lost or the device does not start
/// again, and whatever else is broken on the way.
pub fn enumerate(
    make: impl Fn() -> Rig,
    reactor: impl Fn() -> Reactor,
    steps: &[CrashOperation],
    options: &Options,
    seed: u64,
) -> Result<Summary, Violation> {
    let moments = run(&make(), &reactor(), steps, options.depth, None, seed)?.1;
    let mut points: Vec<u64> = (0..=moments).collect();
    if points.len() > options.points {
        Random::with_seed(derive_seed(seed, "points", 0)).shuffle(&mut points);
        points.truncate(options.points);
    }
    let mut crashes = 0;
    for point in points {
        for state in 0..u64::from(options.states) {
            crash_at(&make(), &reactor, steps, options.depth, point, state, seed)?;
            crashes += 1;
        }
    }
    Ok(Summary { moments, crashes })
}

/// Requests go out on either of two channels at random.
const CHANNELS: u32 = 2;

fn crash_at(
    rig: &Rig,
    reactor: &impl Fn() -> Reactor,
    steps: &[CrashOperation],
    depth: u32,
    point: u64,
    state: u64,
    seed: u64,
) -> Result<(), Violation> {
    let violation = |rule, detail: String| Violation {
        rule,
        detail: format!("crash {state} at moment {point}: {detail}"),
        seed,
    };
    let before = reactor();
    let (driver, _) = run(rig, &before, steps, depth, Some(point), seed)?;
    let losses = derive_seed(derive_seed(seed, "point", point), "state", state);
    for (member, number) in rig.members.iter().zip(0..) {
        member.crash(derive_seed(losses, "member", number));
    }
    let Driver { ledger, device, owners, .. } = driver;
    drop((owners, device, before));
    rig.members.iter().for_each(|member| member.power_on());
    let device = (rig.start)()
        .map_err(|error| violation("C28", format!("the device does not start again: {error}")))?;
    let reactor = reactor();
    let mut channel =
        Blocking::open(&*device, &reactor).map_err(|error| violation("C28", error.to_string()))?;
    let mut bytes = vec![0; device.info().size_bytes as usize];
    channel.read_slice(0, &mut bytes).map_err(|error| violation("C28", error.to_string()))?;
    ledger.check_after_crash(0, &bytes).map_err(|(rule, detail)| violation(rule, detail))
}

/// Runs the steps up to the moment `stop`, or to the end; returns the count of moments.
fn run(
    rig: &Rig,
    reactor: &Reactor,
    steps: &[CrashOperation],
    depth: u32,
    stop: Option<u64>,
    seed: u64,
) -> Result<(Driver, u64), Violation> {
    let device = (rig.start)().map_err(|error| Violation {
        rule: "C14",
        detail: format!("the device does not start: {error}"),
        seed,
    })?;
    assert!(
        device.info().size_bytes / u64::from(device.info().block_bytes) <= 96,
        "a small device: all of it is read after each crash"
    );
    let mut driver = Driver::new(device, reactor.clone(), depth, CHANNELS, seed)?;
    let mut moments = 0;
    let mut next = steps.iter().peekable();
    while stop.is_none_or(|stop| moments < stop) {
        let settling = matches!(next.peek(), Some(CrashOperation::Settle));
        if settling && driver.in_flight() == 0 {
            next.next();
            continue;
        }
        let channel = driver.random.usize(..CHANNELS as usize);
        let room = driver.owners[channel].in_flight() < depth && !settling;
        if room
            && driver.random.u8(..3) != 0
            && let Some(step) = next.next()
        {
            driver.submit(channel, operation(step))?;
        } else if driver.poll(channel)? == 0 && driver.poll(1 - channel)? == 0 {
            if driver.in_flight() > 0 {
                let what = format!("{} requests in flight", driver.in_flight());
                Patience::new(reactor, seed).wait(&what)?;
            } else if next.peek().is_none() {
                break;
            } else {
                continue;
            }
        }
        moments += 1;
    }
    Ok((driver, moments))
}

fn operation(step: &CrashOperation) -> Op {
    match *step {
        CrashOperation::Write { offset, length, fua } => {
            Op::Write { offset, from: BufMut::zeroed(length as usize).freeze(), fua }
        }
        CrashOperation::WriteZeroes { offset, length, fua } => {
            Op::WriteZeroes { offset, length, fua }
        }
        CrashOperation::Discard { offset, length } => Op::Discard { offset, length },
        CrashOperation::Flush => Op::Flush,
        CrashOperation::Settle => unreachable!("handled by the caller"),
    }
}

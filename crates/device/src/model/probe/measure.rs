//! The probes.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use block::{BufMut, Channel, Completion, Device, Error, ErrorKind, Op, Reactor, Support, Time};

use words::{Text, statement};

use super::super::messages;
use super::super::random::Random;
use super::flash;
use super::solve::{self, QUEUE_MAX, Rotation};
use super::{Probe, SMALL_BYTES, Sample, Samples};

const SECTOR: u64 = 512;
pub(super) const MIB: u64 = 1 << 20;
/// A read that takes longer is given up: the device hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Steps of the halving, after as many angles.
const ANGLES: u64 = 16;
const HALVINGS: u32 = 9;
/// A device that is smaller has no places far enough apart.
const SIZE_MIN: u64 = 256 << 20;

/// Why a device could not be measured.
#[derive(Debug)]
pub enum MeasureError {
    /// It failed a read, or the clock did.
    Failed(Error),
    /// It gave no answer to a request at this place.
    Hangs {
        /// In bytes.
        offset: u64,
    },
    /// It is smaller than 256 MiB, the least for a fit.
    Small,
}

impl From<&MeasureError> for Text {
    fn from(error: &MeasureError) -> Text {
        match error {
            MeasureError::Failed(error) => error.text(),
            MeasureError::Hangs { offset } => {
                let seconds = PATIENCE.as_secs();
                statement!(messages::MEASURED_DRIVE_HANGS, offset = *offset, seconds = seconds)
            }
            MeasureError::Small => {
                statement!(messages::TOO_SMALL_FOR_FIT, least = SIZE_MIN / MIB)
            }
        }
    }
}

impl fmt::Display for MeasureError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", Text::from(self))
    }
}

impl std::error::Error for MeasureError {}

impl From<Error> for MeasureError {
    fn from(error: Error) -> MeasureError {
        MeasureError::Failed(error)
    }
}

/// Measures a device for no longer than `limit` and what is under way then: later probes are left
/// out. It is only read, but for the `scratch` range of bytes, where there is one: what lies in it
/// is written over.
///
/// # Errors
/// What the device failed with, or where it hangs.
pub fn measure(
    device: &dyn Device,
    reactor: &Reactor,
    limit: Duration,
    scratch: Option<Range<u64>>,
) -> Result<Samples, MeasureError> {
    let size_bytes = device.info().size_bytes;
    if size_bytes < SIZE_MIN {
        return Err(MeasureError::Small);
    }
    let mut prober = Prober {
        channel: device.open(QUEUE_MAX, reactor)?,
        reactor,
        end: reactor.now() + limit,
        block: device.info().block_bytes.into(),
        samples: Samples { size_bytes, all: Vec::new() },
        random: Random::new(1),
        done: Vec::new(),
        scratch,
        is_durable: device.info().fua == Support::Native,
    };
    prober.cached()?;
    prober.rates()?;
    prober.turn()?;
    if let Some(turning) = solve::turning(&prober.samples) {
        prober.seeks(&turning)?;
        prober.holds(&turning)?;
        prober.ahead()?;
        prober.queue(&turning)?;
    } else {
        prober.commands()?;
        prober.streams()?;
        prober.anywhere()?;
        prober.strides()?;
    }
    prober.check()?;
    match solve::turning(&prober.samples) {
        Some(turning) => prober.writes(&turning)?,
        None => prober.flash_writes()?,
    }
    Ok(prober.samples)
}

/// What a drive is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Read,
    Write,
    /// On the media when it is answered.
    DurableWrite,
    Flush,
}

pub(super) struct Prober<'a> {
    channel: Box<dyn Channel>,
    reactor: &'a Reactor,
    /// When no further probe begins.
    end: Time,
    pub(super) block: u64,
    pub(super) samples: Samples,
    random: Random,
    done: Vec<Completion>,
    /// Where may be written.
    pub(super) scratch: Option<Range<u64>>,
    /// Whether it takes writes that are durable when they are answered.
    pub(super) is_durable: bool,
}

impl Prober<'_> {
    pub(super) fn is_over(&self) -> bool {
        self.reactor.now() >= self.end
    }

    /// Somewhere among the first bytes, in whole blocks.
    pub(super) fn place(&mut self, below: u64) -> u64 {
        self.place_of(below, self.block)
    }

    /// Somewhere among the first bytes, in whole units.
    pub(super) fn place_of(&mut self, below: u64, unit: u64) -> u64 {
        self.random.below(below / unit) * unit
    }

    /// A place at a share of the device.
    fn at(&self, share: f64) -> u64 {
        let last = self.samples.size_bytes - 16 * MIB;
        (last as f64 * share) as u64 / self.block * self.block
    }

    /// Lets time pass.
    pub(super) fn rest(&self, pause: u64) -> Result<(), MeasureError> {
        let end = self.reactor.now() + Duration::from_nanos(pause);
        while self.reactor.now() < end {
            self.reactor
                .wait(Some(end))
                .map_err(|error| Error::from_io(messages::WAITING_FOR_READ, error))?;
        }
        Ok(())
    }

    /// Reads at these places at once; how long each took.
    fn read_all(
        &mut self,
        of: (Probe, u32),
        offsets: &[u64],
        bytes: u64,
        pause: u64,
    ) -> Result<(), MeasureError> {
        self.ask_all(of, (offsets, bytes), pause, Request::Read)
    }

    /// Asks for one thing; how long it took, in nanoseconds.
    pub(super) fn ask(
        &mut self,
        of: (Probe, u32),
        (offset, bytes): (u64, u64),
        pause: u64,
        request: Request,
    ) -> Result<f64, MeasureError> {
        self.ask_all(of, (&[offset], bytes), pause, request)?;
        Ok(self.samples.all.last().map_or(0.0, Sample::took))
    }

    /// The operation of a request. What is written lies in the scratch range, or is refused.
    fn operation(&self, request: Request, offset: u64, bytes: u64) -> Result<Op, MeasureError> {
        let buffer = || -> BufMut { self.reactor.allocate(bytes as usize) };
        Ok(match request {
            Request::Read => Op::Read { offset, into: buffer() },
            Request::Flush => Op::Flush,
            Request::Write | Request::DurableWrite => {
                self.refuse_outside(offset, bytes)?;
                let fua = request == Request::DurableWrite;
                Op::Write { offset, from: buffer().freeze(), fua }
            }
        })
    }

    /// Refuses what does not lie in the scratch range.
    fn refuse_outside(&self, offset: u64, bytes: u64) -> Result<(), MeasureError> {
        let is_in = self.scratch.as_ref().is_some_and(|range| {
            offset >= range.start && offset.checked_add(bytes).is_some_and(|end| end <= range.end)
        });
        if is_in {
            return Ok(());
        }
        let text = statement!(messages::OUTSIDE_SCRATCH, bytes = bytes, offset = offset);
        Err(Error::new(ErrorKind::Refused, text).into())
    }

    /// Asks for the same at these places at once.
    pub(super) fn ask_all(
        &mut self,
        (probe, series): (Probe, u32),
        (offsets, bytes): (&[u64], u64),
        pause: u64,
        request: Request,
    ) -> Result<(), MeasureError> {
        self.rest(pause)?;
        let first = self.samples.all.len();
        for (tag, &offset) in offsets.iter().enumerate() {
            let begun = self.reactor.now().nanoseconds();
            let sample = Sample { probe, series, offset, bytes, pause, begun, ended: 0 };
            let operation = self.operation(request, offset, bytes)?;
            self.samples.all.push(sample);
            self.channel.submit(block::Request::new(tag as u64, operation));
        }
        let late = self.reactor.now() + PATIENCE;
        let mut left = offsets.len();
        while left > 0 {
            self.channel.poll(&mut self.done);
            let now = self.reactor.now();
            for completion in self.done.drain(..) {
                completion.result?;
                self.samples.all[first + completion.tag as usize].ended = now.nanoseconds();
                left -= 1;
            }
            if left > 0 && now >= late {
                return Err(MeasureError::Hangs { offset: offsets[0] });
            }
            if left > 0 {
                self.reactor
                    .wait(Some(late))
                    .map_err(|error| Error::from_io(messages::WAITING_FOR_ANSWER, error))?;
            }
        }
        Ok(())
    }

    /// Reads once; how long it took, in nanoseconds.
    fn read(
        &mut self,
        probe: Probe,
        series: u32,
        offset: u64,
        bytes: u64,
        pause: u64,
    ) -> Result<f64, MeasureError> {
        self.read_all((probe, series), &[offset], bytes, pause)?;
        Ok(self.samples.all.last().map_or(0.0, Sample::took))
    }

    fn approach(&mut self, offset: u64, pause: u64) -> Result<(), MeasureError> {
        self.read(Probe::Approach, 0, offset, self.block, pause).map(|_| ())
    }

    fn cached(&mut self) -> Result<(), MeasureError> {
        let at = self.at(0.3);
        let mut bytes = self.block;
        let mut series = 0;
        while bytes <= MIB && !self.is_over() {
            self.approach(at + 8 * MIB, 0)?;
            self.read(Probe::Approach, series, at, bytes, 0)?;
            // Read-ahead ends meanwhile.
            self.rest(100_000_000)?;
            for _ in 0..24 {
                self.read(Probe::Cached, series, at, bytes, 0)?;
            }
            bytes *= 2;
            series += 1;
        }
        Ok(())
    }

    fn rates(&mut self) -> Result<(), MeasureError> {
        for series in 0..32 {
            if self.is_over() {
                break;
            }
            let at = self.at(f64::from(series) / 31.0);
            for index in 0..8 {
                self.read(Probe::Rate, series, at + index * MIB, MIB, 0)?;
            }
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), MeasureError> {
        let at = self.at(0.01);
        let far = self.at(0.2);
        for _ in 0..250 {
            if self.is_over() {
                break;
            }
            let other = far + self.place(64 * MIB);
            self.approach(other, 0)?;
            self.read(Probe::Turn, 0, at, self.block, 0)?;
        }
        Ok(())
    }

    /// The least time of a sector near `to` after one at `from` and a pause, over all angles: read,
    /// or for the probe `settle` written durably.
    pub(super) fn least(
        &mut self,
        (probe, series): (Probe, u32),
        (from, to): (u64, u64),
        track: u64,
        pause: u64,
    ) -> Result<f64, MeasureError> {
        let elsewhere = self.at(0.97);
        let took = |prober: &mut Self, along: u64| -> Result<f64, MeasureError> {
            if matches!(probe, Probe::Settle | Probe::SettleRead) {
                // A write leaves the buffer of what was read as it is: throws it out, so that the
                // head is where the next read takes it.
                prober.approach(elsewhere, 0)?;
            }
            prober.approach(from, 0)?;
            let offset = (to + along) / prober.block * prober.block;
            let request =
                if probe == Probe::Settle { Request::DurableWrite } else { Request::Read };
            prober.ask((probe, series), (offset, prober.block), pause, request)
        };
        let mut best = (0, f64::INFINITY);
        for angle in 0..ANGLES {
            let time = took(self, track * angle / ANGLES)?;
            if time < best.1 {
                best = (angle, time);
            }
        }
        // The fall lies between this angle and the one before it.
        let mut high = track * (best.0 + ANGLES) / ANGLES;
        let mut low = high - track / ANGLES;
        let mut least = best.1;
        for _ in 0..HALVINGS {
            let middle = low.midpoint(high);
            let time = took(self, middle)?;
            if time <= least {
                (high, least) = (middle, time);
            } else {
                low = middle;
            }
        }
        Ok(least)
    }

    fn seeks(&mut self, turning: &Rotation) -> Result<(), MeasureError> {
        let from = self.at(0.0);
        let pause = (turning.period * 2.5) as u64;
        for series in 0..24 {
            if self.is_over() {
                break;
            }
            let share = 0.001 * 990.0_f64.powf(f64::from(series) / 23.0);
            let to = self.at(share);
            let track = turning.track_bytes(to as f64);
            self.least((Probe::Seek, series), (from, to), track, pause)?;
        }
        Ok(())
    }

    fn holds(&mut self, turning: &Rotation) -> Result<(), MeasureError> {
        let (from, to) = (self.at(0.0), self.at(0.1));
        let track = turning.track_bytes(to as f64);
        let mut pauses: Vec<u64> =
            (0..24).map(|step| (turning.period * 2.0 * f64::from(step) / 23.0) as u64).collect();
        let mut series = 0;
        let mut found = Vec::new();
        // The end of what holds nothing is halved after that.
        for round in 0..12 {
            for pause in std::mem::take(&mut pauses) {
                if self.is_over() {
                    return Ok(());
                }
                let least = self.least((Probe::Hold, series), (from, to), track, pause)?;
                found.push((pause, least));
                series += 1;
            }
            let Some((free, held)) = solve::hold_begins(&found, turning.period) else { break };
            if round < 11 && held - free > 2_000 {
                pauses.push(free.midpoint(held));
            } else {
                break;
            }
        }
        Ok(())
    }

    fn ahead(&mut self) -> Result<(), MeasureError> {
        let Some(hit) = solve::hit_within(&self.samples) else { return Ok(()) };
        let (mut low, mut high) = (0, 64 * MIB);
        let mut series = 0;
        while high - low > self.block && !self.is_over() {
            let middle = (low + (high - low) / 2) / self.block * self.block;
            if middle == low {
                break;
            }
            let from = self.at(0.05 + 0.02 * f64::from(series));
            self.approach(self.at(0.9), 0)?;
            self.approach(from, 0)?;
            let offset = from + middle;
            let took = self.read(Probe::Ahead, series, offset, self.block, 2_000_000_000)?;
            if took < hit {
                low = middle;
            } else {
                high = middle;
            }
            series += 1;
        }
        Ok(())
    }

    fn queue(&mut self, turning: &Rotation) -> Result<(), MeasureError> {
        for far_count in 1..QUEUE_MAX - 1 {
            if self.is_over() {
                break;
            }
            // The nearest comes last; at one of the angles it is the next to come round.
            for angle in 0..8 {
                let opener = self.at(0.02);
                self.approach(self.at(0.95), 0)?;
                let track = turning.track_bytes(opener as f64);
                let near = opener + track * 20 + track * angle / 8;
                let mut offsets = vec![opener];
                for _ in 0..far_count {
                    let share = 0.6 + 0.35 * self.random.fraction();
                    offsets.push(self.at(share) + self.place(MIB));
                }
                offsets.push(near / self.block * self.block);
                self.read_all((Probe::Queue, far_count), &offsets, self.block, 0)?;
            }
            if solve::sees(&self.samples, far_count) == Some(false) {
                break;
            }
        }
        Ok(())
    }

    /// A block that is in a register, as nothing else is read meanwhile.
    fn commands(&mut self) -> Result<(), MeasureError> {
        let at = self.at(0.4) / flash::PAGE_BYTES * flash::PAGE_BYTES;
        self.read(Probe::Approach, 0, at, SMALL_BYTES, 0)?;
        for _ in 0..2000 {
            if self.is_over() {
                return Ok(());
            }
            self.read(Probe::Command, 0, at, SMALL_BYTES, 0)?;
        }
        let many = [at; flash::AT_ONCE];
        for _ in 0..200 {
            if self.is_over() {
                break;
            }
            self.read_all((Probe::Command, 1), &many, self.block, 0)?;
        }
        Ok(())
    }

    fn streams(&mut self) -> Result<(), MeasureError> {
        for series in 0..8 {
            if self.is_over() {
                break;
            }
            let at = self.at(f64::from(series) / 8.0);
            let offsets: Vec<u64> = (0..16).map(|index| at + index * MIB).collect();
            self.read_all((Probe::Stream, series), &offsets, MIB, 0)?;
        }
        Ok(())
    }

    fn anywhere(&mut self) -> Result<(), MeasureError> {
        let places = self.samples.size_bytes / SMALL_BYTES;
        for _ in 0..2000 {
            if self.is_over() {
                break;
            }
            let offset = self.random.below(places) * SMALL_BYTES;
            self.read(Probe::Random, 0, offset, SMALL_BYTES, 0)?;
        }
        Ok(())
    }

    fn strides(&mut self) -> Result<(), MeasureError> {
        let Some(together) = flash::together_within(&self.samples) else { return Ok(()) };
        let pages = self.samples.size_bytes / flash::PAGE_BYTES;
        for stride in 1..=flash::STRIDES {
            for _ in 0..flash::PAIRS {
                if self.is_over() {
                    return Ok(());
                }
                let first = self.random.below(pages - u64::from(stride));
                let pair = [first, first + u64::from(stride)].map(|page| page * flash::PAGE_BYTES);
                self.read_all((Probe::Stride, stride), &pair, SMALL_BYTES, 0)?;
                if flash::gaps(&self.samples, stride).last().is_some_and(|gap| *gap < together) {
                    break;
                }
            }
            if flash::waits(&self.samples, stride, together) {
                break;
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), MeasureError> {
        let size = self.samples.size_bytes - MIB;
        for _ in 0..1600 {
            if self.is_over() {
                break;
            }
            let bytes = (SECTOR << self.random.below(8)).max(self.block);
            let offset = self.place(size);
            self.read(Probe::Check, 0, offset, bytes, 0)?;
        }
        Ok(())
    }
}

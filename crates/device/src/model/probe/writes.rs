//! What writes tell of a drive that turns. They go to a scratch range that was named, and to
//! nothing else of the device.
//!
//! ```text
//!   probe          what is written                                   what it tells
//!   write          a block that the cache takes, 512 B to 1 MiB      overhead of a write, rate of the interface
//!   entries        small blocks apart from each other, on and on     how many extents the cache holds
//!   fill           larger ones                                       how many bytes
//!   settle         a durable sector at a distance, all angles        settling: beside settle_read, a read there
//!   idle           one block, a pause, a flush                       when the cache is written out by itself
//!   durable        durable blocks anywhere in the range              nothing: they are predicted (cache off)
//! ```
//!
//! Of what does not turn:
//!
//! ```text
//!   buffered       4 KiB anywhere in the range: alone, many at once  time of a write, its share in the controller
//!   stream_write   many large writes at once, one behind the other   rate
//!   idle           4 KiB, a flush                                    whether the buffer outlives a power cut
//!   check_write    4 to 64 KiB anywhere in the range                 nothing: they are predicted
//! ```

use std::ops::Range;

use super::super::parameters::DestageRule;
use super::flash::AT_ONCE;
use super::measure::{MIB, MeasureError, Prober, Request};
use super::solve::{MILLISECOND, Rotation};
use super::written::{WAITS, held, taken_within, written_out};
use super::{Probe, SMALL_BYTES};

/// The least scratch range, in bytes: places far enough apart for everything.
pub const SCRATCH_MIN: u64 = 256 << 20;
/// Most writes until the cache is full: a larger one is not found.
const BURST_MAX: u64 = 8192;
/// Pauses before the flush of the probe `idle`, in milliseconds: from the first to the last, each
/// about 1.5 times as long.
const PAUSES: [f64; 2] = [20.0, 3000.0];
/// How often each is tried.
const TRIES: u32 = 5;
const DURABLE: u32 = 400;
/// Writes into which the cache is divided at most to find its size.
const FINE: f64 = 100.0;
/// Writes one at a time where nothing turns: a buffer of a few MiB has room for them.
const BUFFERED: u32 = 1000;
/// Those that are many at once, and flushes.
const BURSTS: u32 = 100;
/// Bytes that are written one behind the other, at most.
const STREAM_MAX: u64 = 1 << 30;

impl Prober<'_> {
    /// All of the probes that write, within the range.
    pub(super) fn writes(&mut self, turning: &Rotation) -> Result<(), MeasureError> {
        let Some(range) = self.scratch.clone() else { return Ok(()) };
        self.cached_writes(&range)?;
        if let Some(within) = taken_within(&self.samples) {
            self.burst((Probe::Entries, 0), &range, self.block, within)?;
            self.burst((Probe::Fill, 0), &range, MIB, within)?;
            // Once more with writes as small as the cache's extents allow.
            let rule = DestageRule::WhenIdle;
            let entries = held(&self.samples, (Probe::Entries, 0), rule).unwrap_or(FINE);
            if let Some(count) = held(&self.samples, (Probe::Fill, 0), rule) {
                let bytes = (count * MIB as f64 / (0.75 * entries).min(FINE)) as u64;
                let bytes = (bytes / 4096 * 4096).clamp(self.block.max(4096), MIB);
                self.burst((Probe::Fill, 1), &range, bytes, within)?;
            }
        }
        if self.is_durable {
            self.settles(&range, turning)?;
        }
        self.idle(&range)?;
        for _ in 0..DURABLE {
            if self.is_over() || !self.is_durable {
                break;
            }
            let offset = range.start + self.place(range.end - range.start - self.block);
            self.ask((Probe::Durable, 0), (offset, self.block), 0, Request::DurableWrite)?;
        }
        self.clean(&range, 0)
    }

    /// All of the probes that write to what does not turn, within the range.
    pub(super) fn flash_writes(&mut self) -> Result<(), MeasureError> {
        let Some(range) = self.scratch.clone() else { return Ok(()) };
        let small = |prober: &mut Self, bytes: u64| {
            range.start + prober.place_of(range.end - range.start - bytes, SMALL_BYTES)
        };
        self.clean(&range, 0)?;
        for _ in 0..BUFFERED {
            let at = (small(self, SMALL_BYTES), SMALL_BYTES);
            if self.is_over() {
                return self.clean(&range, 0);
            }
            self.ask((Probe::Buffered, 0), at, 0, Request::Write)?;
        }
        for _ in 0..BURSTS {
            if self.is_over() {
                break;
            }
            self.clean(&range, 0)?;
            let many: Vec<u64> = (0..AT_ONCE).map(|_| small(self, SMALL_BYTES)).collect();
            self.ask_all((Probe::Buffered, 1), (&many, SMALL_BYTES), 0, Request::Write)?;
        }
        for _ in 0..BURSTS {
            if self.is_over() {
                break;
            }
            let at = (small(self, SMALL_BYTES), SMALL_BYTES);
            self.ask((Probe::Write, u32::MAX), at, 0, Request::Write)?;
            self.ask((Probe::Idle, 0), at, 0, Request::Flush)?;
        }
        for series in 0..DURABLE {
            if self.is_over() {
                break;
            }
            let bytes = SMALL_BYTES << (series % 5);
            let at = (small(self, bytes), bytes);
            self.ask((Probe::CheckWrite, 0), at, 0, Request::Write)?;
        }
        self.clean(&range, 0)?;
        let length = (range.end - range.start).min(STREAM_MAX);
        for series in 0..(length / (16 * MIB)) as u32 {
            if self.is_over() {
                break;
            }
            let first = range.start + u64::from(series) * 16 * MIB;
            let offsets: Vec<u64> = (0..16).map(|index| first + index * MIB).collect();
            self.ask_all((Probe::StreamWrite, series), (&offsets, MIB), 0, Request::Write)?;
        }
        self.clean(&range, 0)
    }

    /// Everything is on the media after it, and the drive was left alone for a while.
    fn clean(&mut self, range: &Range<u64>, pause: u64) -> Result<(), MeasureError> {
        self.ask((Probe::Flush, 0), (range.start, self.block), 0, Request::Flush)?;
        self.rest(pause)
    }

    fn cached_writes(&mut self, range: &Range<u64>) -> Result<(), MeasureError> {
        let (mut bytes, mut series) = (self.block, 0);
        while bytes <= MIB && !self.is_over() {
            for _ in 0..16 {
                self.clean(range, 50_000_000)?;
                self.ask((Probe::Write, series), (range.start, bytes), 0, Request::Write)?;
            }
            bytes *= 2;
            series += 1;
        }
        Ok(())
    }

    /// Writes blocks that do not touch each other until the cache is full, and some more.
    fn burst(
        &mut self,
        of: (Probe, u32),
        range: &Range<u64>,
        bytes: u64,
        within: (f64, f64),
    ) -> Result<(), MeasureError> {
        self.clean(range, 1_000_000_000)?;
        let places = ((range.end - range.start) / (2 * bytes)).max(1);
        let mut waits = 0;
        // A step that has no divisor in common with their number meets all of them.
        let step = (places * 5 / 8..).find(|step| is_coprime(*step, places)).unwrap_or(1);
        for number in 0..places.min(BURST_MAX) {
            if self.is_over() {
                break;
            }
            let offset = range.start + number * step % places * 2 * bytes;
            let took = self.ask(of, (offset, bytes), 0, Request::Write)?;
            waits += usize::from(took > within.0 + within.1 * bytes as f64);
            if waits == WAITS {
                break;
            }
        }
        self.clean(range, 0)
    }

    fn settles(&mut self, range: &Range<u64>, turning: &Rotation) -> Result<(), MeasureError> {
        let (from, to) = (range.start, range.end - 16 * MIB);
        let track = turning.track_bytes(to as f64);
        let pause = (turning.period * 2.5) as u64;
        for series in 0..4 {
            if self.is_over() {
                break;
            }
            self.least((Probe::SettleRead, series), (from, to), track, pause)?;
            self.least((Probe::Settle, series), (from, to), track, pause)?;
        }
        Ok(())
    }

    /// How long a flush takes so long after a write: nothing once the drive has written it out.
    fn idle(&mut self, range: &Range<u64>) -> Result<(), MeasureError> {
        let tried = |prober: &mut Self, milliseconds: f64| -> Result<(), MeasureError> {
            let pause = (milliseconds * MILLISECOND) as u64;
            let series = milliseconds as u32;
            for _ in 0..TRIES {
                if prober.is_over() {
                    break;
                }
                prober.clean(range, 100_000_000)?;
                let offset = range.start + prober.place(range.end - range.start - prober.block);
                let at = (offset, prober.block);
                prober.ask((Probe::Write, u32::MAX), at, 0, Request::Write)?;
                prober.ask((Probe::Idle, series), at, pause, Request::Flush)?;
            }
            Ok(())
        };
        let mut pause = PAUSES[0];
        while pause < PAUSES[1] {
            tried(self, pause)?;
            pause *= 1.5;
        }
        for _ in 0..7 {
            let Some((dirty, clean)) = written_out(&self.samples) else { break };
            if clean - dirty < 2.0 || dirty == 0.0 {
                break;
            }
            tried(self, f64::midpoint(dirty, clean))?;
        }
        Ok(())
    }
}

fn is_coprime(mut one: u64, mut other: u64) -> bool {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one == 1
}

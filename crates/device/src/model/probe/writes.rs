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

use std::ops::Range;

use block::{Error, ErrorKind};

use super::super::fit::{measured, rounded};
use super::super::parameters::{DestageRule, DiskParameters};
use super::measure::{MIB, MeasureError, Prober, Request};
use super::solve::{self, MILLISECOND, MissingReason, NotFound, Rotation, median};
use super::{Probe, Sample, Samples};

/// The least scratch range, in bytes: places far enough apart for everything.
pub const SCRATCH_MIN: u64 = 256 << 20;
/// Most writes until the cache is full: a larger one is not found.
const BURST_MAX: u64 = 8192;
/// Writes of a full cache that have to wait, of which the mean is taken.
const WAITS: usize = 48;
/// Pauses before the flush of the probe `idle`, in milliseconds: from the first to the last, each
/// about 1.5 times as long.
const PAUSES: [f64; 2] = [20.0, 3000.0];
/// How often each is tried.
const TRIES: u32 = 5;
const DURABLE: u32 = 400;
/// Writes into which the cache is divided at most to find its size.
const FINE: f64 = 100.0;
/// Fewer tell its size to less than a twentieth.
const COARSE: f64 = 20.0;

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

    /// Refuses what does not lie in the scratch range.
    pub(super) fn refuse_outside(&self, offset: u64, bytes: u64) -> Result<(), MeasureError> {
        let is_in = self.scratch.as_ref().is_some_and(|range| {
            offset >= range.start && offset.checked_add(bytes).is_some_and(|end| end <= range.end)
        });
        if is_in {
            return Ok(());
        }
        let text =
            format!("a write of {bytes} bytes at byte {offset} lies outside the scratch range");
        Err(Error::new(ErrorKind::Refused, text).into())
    }
}

fn is_coprime(mut one: u64, mut other: u64) -> bool {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one == 1
}

/// What a write costs that the cache takes: overhead and time of a byte, in nanoseconds.
fn interface(samples: &Samples) -> Option<(f64, f64)> {
    solve::interface_of(samples, |sample| sample.probe == Probe::Write && sample.series != u32::MAX)
}

/// A write that takes no longer was taken by the cache at once: so many nanoseconds, and so many
/// for each byte.
fn taken_within(samples: &Samples) -> Option<(f64, f64)> {
    let (overhead, per_byte) = interface(samples)?;
    Some((1.2 * overhead + 50e3, 1.1 * per_byte))
}

/// How many writes of a burst the cache holds. While it filled, the drive may have written some out
/// already, each in as long as one takes to get room once the cache is full.
fn held(samples: &Samples, (probe, series): (Probe, u32), rule: DestageRule) -> Option<f64> {
    let (least, per_byte) = taken_within(samples)?;
    let all: Vec<&Sample> = samples.of(probe).filter(|one| one.series == series).collect();
    let waits = |sample: &&&Sample| sample.took() > least + per_byte * sample.bytes as f64;
    let first = all.iter().position(|sample| waits(&sample))?;
    let waiting: Vec<f64> = all.iter().filter(waits).map(|sample| sample.took()).collect();
    if waiting.len() < WAITS || first == 0 {
        return None;
    }
    // From one that had to wait to the next one an extent went out, and one came in.
    let steady = &all[first..];
    let one_out = (steady[steady.len() - 1].ended - steady[0].ended) as f64
        / (steady.len() - 1).max(1) as f64;
    let filled = (all[first].ended - all[0].begun) as f64;
    let out = match rule {
        DestageRule::AtOnce => (filled / one_out).round(),
        // The first had to wait for room: that is one.
        DestageRule::WhenIdle | DestageRule::AtWatermark => 1.0,
    };
    Some(first as f64 + 1.0 - out)
}

/// The longest pause after which a flush still had something to do, and the shortest from which on
/// none had, in milliseconds; 0 where none had ever.
fn written_out(samples: &Samples) -> Option<(f64, f64)> {
    let all: Vec<&Sample> = samples.of(Probe::Idle).collect();
    let quick = all.iter().map(|sample| sample.took()).fold(f64::INFINITY, f64::min);
    let is_busy = |sample: &&&Sample| sample.took() > 2.0 * quick + 100e3;
    let of = |pauses: Vec<f64>, of: fn(f64, f64) -> f64| pauses.into_iter().reduce(of);
    let pause = |sample: &&Sample| sample.pause as f64 / MILLISECOND;
    let dirty = of(all.iter().filter(is_busy).map(pause).collect(), f64::max).unwrap_or(0.0);
    let later = all.iter().map(pause).filter(|pause| *pause > dirty).collect();
    Some((dirty, of(later, f64::min)?))
}

/// Puts what writes tell in the place of what was assumed.
pub(super) fn found(
    samples: &Samples,
    (overhead, per_byte): (f64, f64),
    disk: &mut DiskParameters,
    not_found: &mut Vec<NotFound>,
) {
    let Some((write_overhead, write_per_byte)) = interface(samples) else { return };
    let mut known = vec!["write_overhead", "link_rate_write"];
    let us = rounded(write_overhead / 1e3, 3);
    let note = "a block that the cache takes, its size down to nothing".to_owned();
    disk.write_overhead = measured(us, "us", note);
    let rate = rounded(1e9 / write_per_byte, -3);
    let note = "a block that the cache takes, of several sizes".to_owned();
    disk.link_rate_write = measured(rate, "bytes/s", note);
    let least = |probe: Probe, overhead: f64, per_byte: f64| {
        let arm = |sample: &Sample| sample.took() - overhead - sample.bytes as f64 * per_byte;
        let series = solve::by_series(samples, probe);
        let least =
            |all: &Vec<&Sample>| all.iter().map(|one| arm(one)).fold(f64::INFINITY, f64::min);
        median(series.values().map(least).collect())
    };
    let read = least(Probe::SettleRead, overhead, per_byte);
    let write = least(Probe::Settle, write_overhead, write_per_byte);
    if let Some((read, write)) = read.zip(write) {
        let note = "least time of a durable write at a distance, less that of a read there";
        let settle = rounded(((write - read) / MILLISECOND).max(0.0), 4);
        disk.settle = measured(settle, "ms", note.to_owned());
        known.push("settle");
    }
    let turn = disk.revolution.value;
    if let Some((dirty, clean)) = written_out(samples) {
        known.push("destage_rule");
        let note = "a flush after a pause, one block in the cache".to_owned();
        // What goes out at once is there after a seek and two turns at most.
        let is_at_once = dirty < 3.0 * turn + disk.seek_base.value + disk.seek_root.value;
        let rule = if is_at_once { DestageRule::AtOnce } else { DestageRule::WhenIdle };
        disk.destage_rule = measured(rule, "rule", note.clone());
        let out = median(samples.of(Probe::Durable).map(Sample::took).collect()).unwrap_or(0.0);
        let after = (f64::midpoint(dirty, clean) - out / MILLISECOND).max(0.0);
        disk.destage_idle_after = (!is_at_once).then(|| measured(rounded(after, 3), "ms", note));
    }
    let rule = disk.destage_rule.value;
    let entries = held(samples, (Probe::Entries, 0), rule);
    if let Some(entries) = entries.filter(|entries| *entries >= 1.0) {
        let note = "small writes apart from each other until one had to wait".to_owned();
        disk.cache_entries = Some(measured(entries as u64, "extents", note));
        disk.write_window.value = disk.write_window.value.min(entries as u64);
        known.push("cache_entries");
    }
    let fill = samples.of(Probe::Fill).last();
    let filled = fill.and_then(|one| Some((held(samples, (Probe::Fill, one.series), rule)?, one)));
    // Where extents are what it has too few of, bytes are not seen, or only coarsely.
    let is_seen =
        |count: f64| count >= COARSE && entries.is_none_or(|entries| count < 0.9 * entries);
    if let Some((count, one)) = filled.filter(|(count, _)| is_seen(*count)) {
        let bytes = (count * one.bytes as f64) as u64 / 512 * 512;
        if bytes > disk.read_ahead_length.value {
            let note = "large writes apart from each other until one had to wait".to_owned();
            disk.cache_size = measured(bytes, "bytes", note);
            known.push("cache_size");
        }
    }
    not_found.retain(|one| !known.contains(&one.parameter));
    for one in not_found.iter_mut().filter(|one| one.why == MissingReason::Writes) {
        one.why = match one.parameter {
            "write_window" => MissingReason::Order,
            "cache_size" => MissingReason::Extents,
            _ => MissingReason::Time,
        };
    }
}

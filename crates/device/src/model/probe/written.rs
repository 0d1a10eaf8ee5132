//! Parameters from what was written ([`super::writes`]).

use super::super::fit::{measured, rounded};
use super::super::parameters::{DestageRule, DiskParameters};
use super::solve::{self, MILLISECOND, MissingReason, NotFound, median};
use super::{Probe, Sample, Samples};

/// Writes of a full cache that have to wait, of which the mean is taken.
pub(super) const WAITS: usize = 48;
/// Fewer tell its size to less than a twentieth.
const COARSE: f64 = 20.0;

/// What a write costs that the cache takes: overhead and time of a byte, in nanoseconds.
fn interface(samples: &Samples) -> Option<(f64, f64)> {
    solve::interface_of(samples, |sample| sample.probe == Probe::Write && sample.series != u32::MAX)
}

/// A write that takes no longer was taken by the cache at once: so many nanoseconds, and so many
/// for each byte.
pub(super) fn taken_within(samples: &Samples) -> Option<(f64, f64)> {
    let (overhead, per_byte) = interface(samples)?;
    Some((1.2 * overhead + 50e3, 1.1 * per_byte))
}

/// How many writes of a burst the cache holds. While it filled, the drive may have written some out
/// already, each in as long as one takes to get room once the cache is full.
pub(super) fn held(
    samples: &Samples,
    (probe, series): (Probe, u32),
    rule: DestageRule,
) -> Option<f64> {
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
pub(super) fn written_out(samples: &Samples) -> Option<(f64, f64)> {
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

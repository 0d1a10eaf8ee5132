//! Parameters from samples, and whether they explain what no stage used.

use std::collections::BTreeMap;

use super::super::fit::{measured, rounded};
use super::super::geometry::Geometry;
use super::super::machine::Machine;
use super::super::parameters::{
    DestageRule, DiskParameters, Hold, LinkParameters, Origin, Parameters, Quantity,
};
use super::super::random::Random;
use super::super::request::Operation;
use super::{Probe, SMALL_BYTES, Sample, Samples};

pub(super) const MILLISECOND: f64 = 1e6;
/// Most requests at a time: no deeper queue is found.
pub(super) const QUEUE_MAX: u32 = 64;
/// Revolutions that are looked for: 15,000 to 4,200 a minute, in nanoseconds.
const PERIODS: [f64; 2] = [3.9e6, 14.6e6];
/// How far apart the law of the rates and the rates may be.
const LAW_ERROR: f64 = 0.01;
/// Beyond these the check is not explained: of the mean, and of the distribution.
const MEAN_ERROR: f64 = 0.03;
const DISTRIBUTION_ERROR: f64 = 0.05;
/// Beyond this the seek curve does not go through its points.
const SEEK_ERROR: f64 = 0.03;
/// Beyond this large reads in order are not explained.
const RUNS_ERROR: f64 = 0.03;
/// Beyond this the writes that nothing was fitted to are not explained.
const WRITES_ERROR: f64 = 0.05;
/// How often the check is replayed, each time with all reads moved along their tracks: angles of
/// single addresses are known of no drive.
const REPLAYS: u64 = 8;
const MOVED_BYTES: u64 = 4 << 20;

/// A parameter that was not measured, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// As in the model's file.
    pub parameter: &'static str,
    /// Why.
    pub why: MissingReason,
}

/// Why a parameter was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// Only writes show it, and nothing was written.
    Writes,
    /// It takes several drives.
    OneDrive,
    /// The time was over.
    Time,
    /// It is shorter than what a command takes anyway.
    TooShort,
    /// None were found up to the most that are looked for.
    TooMany,
    /// Only the order of many writes would show it.
    Order,
    /// There was no room for more extents before there was none for more bytes.
    Extents,
    /// The link takes longer.
    Link,
    /// Only writing the drive over, and over again, would show it.
    Volume,
}

/// How far the random reads that no stage used are from what the model does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Reads that were compared.
    pub reads: usize,
    /// The model's mean time by the measured one, less 1.
    pub mean_error: f64,
    /// Root mean square distance of the quantiles over the mean.
    pub distribution_error: f64,
    /// Root mean square distance of the seek curve from the least times, as a share of these; 0 of
    /// what does not turn.
    pub seek_error: f64,
    /// Of what does not turn, the model's time of large reads in order by the measured one, less 1.
    pub runs_error: f64,
    /// The model's mean time of durable writes (of what does not turn, of buffered ones) by the
    /// measured one, less 1; 0 where nothing was written.
    pub writes_error: f64,
}

impl Check {
    /// Whether something happens in the drive that the model does not have.
    #[must_use]
    pub fn is_unexplained(&self) -> bool {
        self.mean_error.abs() > MEAN_ERROR
            || self.distribution_error > DISTRIBUTION_ERROR
            || self.seek_error > SEEK_ERROR
            || self.runs_error.abs() > RUNS_ERROR
            || self.writes_error.abs() > WRITES_ERROR
    }
}

/// What samples say.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The model.
    pub parameters: Parameters,
    /// What of it is assumed, and why.
    pub not_found: Vec<NotFound>,
    /// Whether it explains reads that it was not made from; nothing where the time was over.
    pub check: Option<Check>,
    /// The model's file where it is a data sheet's: of what does not turn.
    pub(super) sheet: Option<String>,
}

impl Solution {
    /// The text of the model's file.
    #[must_use]
    pub fn file(&self) -> String {
        let heading = "# Written by `raidloom model fit` from a device's own answers.\n";
        match &self.sheet {
            Some(text) => format!("{heading}{text}"),
            None => self.parameters.to_toml_under(heading),
        }
    }
}

/// Why samples make no model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FitFailure {
    /// Nothing turns; of a model's failure, cells are not seen either, as of a file in the host's
    /// cache.
    NotTurning {
        /// Of a read, in microseconds.
        overhead_us: f64,
        /// In bytes a second.
        link_rate: f64,
    },
    /// The time was over before these.
    Lacking(Probe),
}

/// What is known of the platters while the other probes run.
#[derive(Clone, Debug)]
pub(super) struct Rotation {
    /// In nanoseconds.
    pub(super) period: f64,
    rates: Rates,
}

impl Rotation {
    /// Bytes of a track at an address.
    pub(super) fn track_bytes(&self, address: f64) -> u64 {
        (self.rates.at(address) * self.period / 1e9) as u64
    }
}

/// The law of the rates along the disk: their squares lie on a line.
#[derive(Clone, Debug)]
struct Rates {
    start_squared: f64,
    slope: f64,
    /// Rates by place, in bytes a second.
    places: Vec<(f64, f64)>,
}

impl Rates {
    fn at(&self, address: f64) -> f64 {
        (self.start_squared + self.slope * address).max(1.0).sqrt()
    }

    /// The largest distance from the law, as a share.
    fn law_error(&self) -> f64 {
        let error = |(place, rate): &(f64, f64)| (self.at(*place) / rate - 1.0).abs();
        self.places.iter().map(error).fold(0.0, f64::max)
    }
}

pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A line through points by least squares: at nothing, and slope.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let (x, y) = (x / count, y / count);
    let over = points.iter().map(|one| (one.0 - x) * (one.1 - y)).sum::<f64>();
    let under = points.iter().map(|one| (one.0 - x).powi(2)).sum::<f64>();
    (under > 0.0).then(|| (y - over / under * x, over / under))
}

pub(super) fn by_series(samples: &Samples, probe: Probe) -> BTreeMap<u32, Vec<&Sample>> {
    in_series(samples, |sample| sample.probe == probe)
}

fn in_series(samples: &Samples, is_of: impl Fn(&Sample) -> bool) -> BTreeMap<u32, Vec<&Sample>> {
    let mut series: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    let all = samples.all.iter().filter(|sample| is_of(sample));
    all.for_each(|sample| series.entry(sample.series).or_default().push(sample));
    series
}

/// What a read costs whose data are in the buffer: overhead and time of a byte, in nanoseconds.
/// Each size counts by its median, and the slope is the median over pairs of sizes (Theil and Sen).
fn interface(samples: &Samples) -> Option<(f64, f64)> {
    interface_of(samples, |sample| sample.probe == Probe::Cached)
}

/// The same of these samples.
pub(super) fn interface_of(
    samples: &Samples,
    is_of: impl Fn(&Sample) -> bool,
) -> Option<(f64, f64)> {
    let sizes: Vec<(f64, f64)> = in_series(samples, is_of)
        .values()
        .filter_map(|series| {
            let time = median(series.iter().map(|sample| sample.took()).collect())?;
            Some((series[0].bytes as f64, time))
        })
        .collect();
    let pairs = sizes.iter().enumerate().flat_map(|(index, one)| {
        sizes[index + 1..].iter().map(move |other| (other.1 - one.1) / (other.0 - one.0))
    });
    let slope = median(pairs.collect())?;
    let overhead = median(sizes.iter().map(|(bytes, time)| time - slope * bytes).collect())?;
    (slope > 0.0 && overhead > 0.0).then_some((overhead, slope))
}

/// A read that takes no longer came from the buffer.
pub(super) fn hit_within(samples: &Samples) -> Option<f64> {
    let (overhead, per_byte) = interface(samples)?;
    Some(1.2 * overhead + 4096.0 * per_byte + 50e3)
}

fn rates(samples: &Samples) -> Option<Rates> {
    let places: Vec<(f64, f64)> = by_series(samples, Probe::Rate)
        .values()
        .filter(|series| series.len() >= 4)
        .map(|series| {
            let (first, last) = (series[0], series[series.len() - 1]);
            let bytes = series[1..].iter().map(|sample| sample.bytes).sum::<u64>() as f64;
            let middle = (first.offset + first.bytes) as f64 + bytes / 2.0;
            (middle, bytes / (last.ended - first.ended) as f64 * 1e9)
        })
        .collect();
    let squares: Vec<(f64, f64)> = places.iter().map(|one| (one.0, one.1 * one.1)).collect();
    let (start_squared, slope) = line(&squares)?;
    Some(Rates { start_squared, slope, places })
}

/// How far the times point to one angle of a turn of this length, 0 to 1.
fn coherence(times: &[f64], period: f64) -> f64 {
    let (mut cosine, mut sine) = (0.0, 0.0);
    for time in times {
        let angle = (time / period).fract() * std::f64::consts::TAU;
        cosine += angle.cos();
        sine += angle.sin();
    }
    f64::hypot(cosine, sine) / times.len() as f64
}

/// The revolution in nanoseconds, if anything turns: one sector passes the head at one angle.
fn period(samples: &Samples) -> Option<f64> {
    let turns: Vec<f64> = samples.of(Probe::Turn).map(|sample| sample.ended as f64).collect();
    let (&first, &last) = (turns.first()?, turns.last()?);
    if turns.len() < 50 {
        return None;
    }
    let times: Vec<f64> = turns.iter().map(|time| time - first).collect();
    let step = 0.2 / (last - first);
    let (low, high) = (1.0 / PERIODS[1], 1.0 / PERIODS[0]);
    let steps = ((high - low) / step) as u64;
    let found: Vec<(f64, f64)> = (0..steps)
        .map(|index| 1.0 / (low + step * index as f64))
        .map(|period| (period, coherence(&times, period)))
        .collect();
    let most = found.iter().map(|one| one.1).fold(0.0, f64::max);
    if most < 0.8 {
        return None;
    }
    // A half of the revolution points to one angle too: the longest is it.
    let (mut best, _) = *found.iter().find(|one| one.1 > 0.95 * most)?;
    // From the nearest of the steps to the top of the hill, which the counts of turns then give.
    for width in [0.5, 0.25, 0.1, 0.05] {
        let near = [-1.0, 0.0, 1.0].map(|side| 1.0 / (1.0 / best + side * width * step));
        best = near
            .into_iter()
            .max_by(|one, other| coherence(&times, *one).total_cmp(&coherence(&times, *other)))?;
    }
    let counted: Vec<(f64, f64)> =
        times.iter().map(|time| ((time / best).round(), *time)).collect();
    line(&counted).map(|(_, slope)| slope)
}

/// What is known once the first probes have run, if anything turns.
pub(super) fn turning(samples: &Samples) -> Option<Rotation> {
    Some(Rotation { period: period(samples)?, rates: rates(samples)? })
}

/// The longest pause that nothing was held after, and the shortest that something was, where the
/// hold begins between them.
pub(super) fn hold_begins(found: &[(u64, f64)], period: f64) -> Option<(u64, u64)> {
    let least = found.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
    let is_held = |one: &&(u64, f64)| one.1 > least + 0.03 * period;
    let held = found.iter().filter(is_held).map(|one| one.0).min()?;
    let free = found.iter().filter(|one| !is_held(one) && one.0 < held).map(|one| one.0).max()?;
    Some((free, held))
}

/// Whether the drive saw the last of so many requests when it chose; nothing where none were sent.
pub(super) fn sees(samples: &Samples, far_count: u32) -> Option<bool> {
    let all: Vec<&Sample> =
        samples.of(Probe::Queue).filter(|sample| sample.series == far_count).collect();
    let bursts = all.chunks_exact(far_count as usize + 2);
    (bursts.len() > 0).then(|| {
        bursts.into_iter().any(|burst| {
            let near = burst[burst.len() - 1].ended;
            burst[1..burst.len() - 1].iter().all(|far| far.ended > near)
        })
    })
}

fn queue_depth(samples: &Samples) -> Option<u64> {
    let seen = (1..QUEUE_MAX).map_while(|count| sees(samples, count));
    let depth = seen.take_while(|is_seen| *is_seen).count() as u64;
    sees(samples, 1)?;
    Some(if depth == 0 { 1 } else { depth + 2 })
}

fn assumed<T>(value: T, unit: &str, note: &str) -> Quantity<T> {
    Quantity {
        value,
        unit: unit.to_owned(),
        origin: Origin::Assumed,
        interval: None,
        note: note.to_owned(),
    }
}

/// A seek curve in nanoseconds.
struct SeekCurve {
    base: f64,
    /// What a full stroke adds.
    root: f64,
    /// From this share of the stroke on it is a straight line.
    linear_from: Option<f64>,
    /// Root mean square of the relative distances from the points.
    error: f64,
}

/// Where the sum of the squares is smaller, no bend is looked for.
const BEND_SQUARES: f64 = 6e-5;

/// The seek curve through times of the arm alone by the share of the stroke.
fn seek_curve(points: &[(f64, f64)]) -> Option<SeekCurve> {
    let shape = |share: f64, from: f64| match share > from {
        true => from.sqrt() + (share - from) / (2.0 * from.sqrt()),
        false => share.sqrt(),
    };
    let fit = |from: f64| {
        let shaped: Vec<(f64, f64)> =
            points.iter().map(|(share, time)| (shape(*share, from), *time)).collect();
        let (base, root) = line(&shaped)?;
        let off = |(x, time): &(f64, f64)| ((base + root * x) / time - 1.0).powi(2);
        Some((shaped.iter().map(off).sum::<f64>(), base, root))
    };
    let (squares, base, root) = fit(1.0)?;
    let froms = (5..95).map(|percent| f64::from(percent) / 100.0);
    let bent = froms.filter_map(|from| fit(from).map(|found| (found, from)));
    let best = bent.min_by(|one, other| one.0.0.total_cmp(&other.0.0));
    // A bend has to explain most of what is left without one.
    let best = best.filter(|(found, _)| found.0 < 0.25 * squares && squares > BEND_SQUARES);
    let curve = |squares: f64, base, root, linear_from| {
        let error = (squares / points.len() as f64).sqrt();
        SeekCurve { base, root, linear_from, error }
    };
    Some(match best {
        Some(((squares, base, root), from)) => curve(squares, base, root, Some(from)),
        None => curve(squares, base, root, None),
    })
}

/// Puts what writes tell in the place of what was assumed, given what a read costs.
pub(super) type TakeWrites = fn(&Samples, (f64, f64), &mut DiskParameters, &mut Vec<NotFound>);

/// A model of what was measured of a drive that turns.
///
/// # Errors
/// Samples of something that does not turn, or that lack what every model needs.
pub(super) fn turning_drive(
    samples: &Samples,
    (name, title): (&str, &str),
    take_writes: TakeWrites,
) -> Result<Solution, FitFailure> {
    let (overhead, per_byte) = interface(samples).ok_or(FitFailure::Lacking(Probe::Cached))?;
    let rates = rates(samples).ok_or(FitFailure::Lacking(Probe::Rate))?;
    if samples.of(Probe::Turn).count() < 50 {
        return Err(FitFailure::Lacking(Probe::Turn));
    }
    let Some(period) = period(samples) else {
        let (overhead_us, link_rate) = (overhead / 1e3, 1e9 / per_byte);
        return Err(FitFailure::NotTurning { overhead_us, link_rate });
    };
    let mut not_found: Vec<NotFound> = [
        ("write_overhead", MissingReason::Writes),
        ("link_rate_write", MissingReason::Writes),
        ("cache_size", MissingReason::Writes),
        ("write_window", MissingReason::Writes),
        ("settle", MissingReason::Writes),
        ("destage_rule", MissingReason::Writes),
        ("spindle_tolerance", MissingReason::OneDrive),
    ]
    .map(|(parameter, why)| NotFound { parameter, why })
    .into();
    let mut disk = disk(samples, (overhead, per_byte), &rates, period);
    let link = LinkParameters {
        name: name.to_owned(),
        hold: Hold::Burst,
        bandwidth: assumed(1e9 / per_byte, "bytes/s", "that of the drive's interface"),
        command_time: assumed(0.0, "us", "it is in the overhead"),
        switch_penalty: assumed(0.0, "ms", "one drive shows none"),
        write_switch_penalty: None,
    };
    let seek_error = stages(samples, (overhead, per_byte), &mut disk, &link, &mut not_found)?;
    take_writes(samples, (overhead, per_byte), &mut disk, &mut not_found);
    let (name, title) = (name.to_owned(), title.to_owned());
    let parameters = Parameters { name, title, sheet: None, disk, flash: None, link };
    let check = check(samples, &parameters, seek_error);
    Ok(Solution { parameters, not_found, check, sheet: None })
}

/// What the first probes say; the rest as it is assumed where nothing is found.
fn disk(
    samples: &Samples,
    (overhead, per_byte): (f64, f64),
    rates: &Rates,
    period: f64,
) -> DiskParameters {
    let size = samples.size_bytes as f64;
    let note = |text: &str| text.to_owned();
    let link_rate = rounded(1e9 / per_byte, -3);
    let overhead_us = rounded(overhead / 1e3, 3);
    let unwritten = "nothing was written: a usual value";
    let rate = |address: f64| {
        let text = "by the law of equal density through 32 places";
        measured(rounded(rates.at(address), -3), "bytes/s", note(text))
    };
    let eighth = (rates.places.len() / 7).max(1);
    let knots = || {
        let mut knots: Vec<[f64; 2]> = rates
            .places
            .iter()
            .step_by(eighth)
            .take(8)
            .map(|(place, rate)| [place / size, rounded(*rate, -3)])
            .collect();
        if let [first, .., last] = &mut knots[..] {
            (first[0], last[0]) = (0.0, 1.0);
        }
        measured(knots, "bytes/s", note("the rates do not follow the law"))
    };
    DiskParameters {
        capacity: measured(samples.size_bytes, "bytes", note("the device's size")),
        revolution: measured(
            rounded(period / MILLISECOND, 6),
            "ms",
            note("one sector, read again and again"),
        ),
        spindle_tolerance: assumed(0.0005, "share", "the usual accuracy of such motors"),
        rate_at_start: rate(0.0),
        rate_at_end: rate(size),
        seek_base: assumed(1.0, "ms", "to be found"),
        seek_root: assumed(10.0, "ms", "to be found"),
        read_overhead: measured(
            overhead_us,
            "us",
            note("a cached block, its size down to nothing"),
        ),
        write_overhead: assumed(overhead_us, "us", "as that of a read: nothing was written"),
        link_rate_read: measured(link_rate, "bytes/s", note("a cached block of several sizes")),
        link_rate_write: assumed(link_rate, "bytes/s", "as that of a read: nothing was written"),
        cache_size: assumed(16 << 20, "bytes", unwritten),
        write_window: assumed(4, "extents", unwritten),
        settle: assumed(0.8, "ms", unwritten),
        destage_rule: assumed(DestageRule::AtOnce, "rule", unwritten),
        read_ahead_length: assumed(1 << 20, "bytes", "the time was over"),
        read_ahead_hold: assumed(0.0, "ms", "no pause shows one"),
        read_ahead_start: None,
        queue_depth: assumed(1, "requests", "the time was over"),
        rate_knots: (rates.law_error() > LAW_ERROR && rates.places.len() >= 8).then(knots),
        seek_linear_from: None,
        destage_watermark: None,
        destage_idle_after: None,
        physical_block: None,
        page: None,
        command_limit: None,
        cache_entries: None,
        verify_after: None,
    }
}

/// What the later probes say; how far the seek curve is from its points.
fn stages(
    samples: &Samples,
    (overhead, per_byte): (f64, f64),
    disk: &mut DiskParameters,
    link: &LinkParameters,
    not_found: &mut Vec<NotFound>,
) -> Result<f64, FitFailure> {
    let (name, title) = (String::new(), String::new());
    let link = link.clone();
    let parameters = Parameters { name, title, sheet: None, flash: None, disk: disk.clone(), link };
    let geometry = Geometry::new(&parameters);
    let least = |series: &Vec<&Sample>| -> Option<(u64, f64)> {
        let least = series.iter().min_by(|one, other| one.took().total_cmp(&other.took()))?;
        let sector = least.bytes as f64 * (1e9 / geometry.rate(least.offset) + per_byte);
        Some((least.offset, least.took() - overhead - sector))
    };
    let points: Vec<(f64, f64)> = by_series(samples, Probe::Seek)
        .values()
        .filter_map(least)
        .map(|(to, time)| (geometry.revolutions(to) / geometry.total_revolutions(), time))
        .collect();
    if points.len() < 6 {
        return Err(FitFailure::Lacking(Probe::Seek));
    }
    let curve = seek_curve(&points).ok_or(FitFailure::Lacking(Probe::Seek))?;
    let note = || format!("least times of {} distances over all angles", points.len());
    // What is unexplained may have less than nothing; a disk has not.
    let milliseconds = |time: f64| rounded(time.max(1.0) / MILLISECOND, 4);
    disk.seek_base = measured(milliseconds(curve.base), "ms", note());
    disk.seek_root = measured(milliseconds(curve.root), "ms", note());
    disk.seek_linear_from = curve.linear_from.map(|from| measured(from, "share", note()));
    let block = samples.of(Probe::Hold).map(|sample| sample.bytes).min().unwrap_or(0) as f64;
    read_ahead(samples, overhead + block * per_byte, disk, not_found);
    match queue_depth(samples) {
        Some(depth) => {
            let note = "how many were seen when the nearest came last".to_owned();
            disk.queue_depth = measured(depth, "requests", note);
        }
        None => not_found.push(NotFound { parameter: "queue_depth", why: MissingReason::Time }),
    }
    Ok(curve.error)
}

/// How far read-ahead reads, when it begins to hold the arm, and for how long. `arrival` is what a
/// command takes from the end of the last one's data to the arm.
fn read_ahead(
    samples: &Samples,
    arrival: f64,
    disk: &mut DiskParameters,
    not_found: &mut Vec<NotFound>,
) {
    let Some(hit) = hit_within(samples) else { return };
    let (mut hits, mut misses) = (0, u64::MAX);
    let mut from = None;
    for sample in &samples.all {
        match sample.probe {
            Probe::Approach => from = Some(sample.offset + sample.bytes),
            Probe::Ahead => {
                let ahead = (sample.offset + sample.bytes).saturating_sub(from.unwrap_or(0));
                match sample.took() < hit {
                    true => hits = hits.max(ahead),
                    false => misses = misses.min(ahead),
                }
            }
            _ => (),
        }
    }
    if misses == u64::MAX {
        not_found.push(NotFound { parameter: "read_ahead_length", why: MissingReason::Time });
    } else {
        let note = "how far behind a read its data are in the buffer".to_owned();
        disk.read_ahead_length = measured(hits, "bytes", note);
        disk.cache_size.value = disk.cache_size.value.max(2 * hits);
    }
    let found: Vec<(u64, f64)> = by_series(samples, Probe::Hold)
        .values()
        .map(|series| {
            let least = series.iter().map(|sample| sample.took()).fold(f64::INFINITY, f64::min);
            (series[0].pause, least)
        })
        .collect();
    if found.is_empty() {
        not_found.push(NotFound { parameter: "read_ahead_hold", why: MissingReason::Time });
        return;
    }
    let period = disk.revolution.value * MILLISECOND;
    let free = found.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
    let held: Vec<f64> = found
        .iter()
        .filter(|one| one.1 > free + 0.03 * period)
        .map(|(pause, least)| *pause as f64 + least - free + arrival)
        .collect();
    let Some(until) = median(held) else { return };
    let start = match hold_begins(&found, period) {
        Some((free, held)) => free.midpoint(held) as f64 + arrival,
        None => {
            not_found
                .push(NotFound { parameter: "read_ahead_start", why: MissingReason::TooShort });
            0.0
        }
    };
    let note = || "least times after pauses of up to two revolutions".to_owned();
    disk.read_ahead_start = Some(measured(rounded(start / MILLISECOND, 4), "ms", note()));
    disk.read_ahead_hold = measured(rounded((until - start) / MILLISECOND, 4), "ms", note());
}

/// Holds the model against the reads that no stage used.
pub(super) fn check(samples: &Samples, parameters: &Parameters, seek_error: f64) -> Option<Check> {
    let mut drive: Vec<f64> = samples.of(Probe::Check).map(Sample::took).collect();
    if drive.len() < 100 {
        return None;
    }
    let mut model = Vec::new();
    for seed in 1..=REPLAYS {
        let mut machine = Machine::new(parameters);
        machine.add_disk(parameters, seed);
        let mut random = Random::new(seed);
        let mut now = 0;
        for sample in samples.of(Probe::Check) {
            let last = samples.size_bytes.min(parameters.disk.capacity.value) - sample.bytes;
            let moved = random.below(MOVED_BYTES / 512) * 512;
            let offset = (sample.offset + moved).min(last);
            let operation = Operation::Read { offset, length: sample.bytes };
            let end = answer_of(&mut machine, now, operation)?;
            model.push((end - now) as f64);
            now = end;
        }
    }
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let measured_mean = mean(&drive);
    drive.sort_by(f64::total_cmp);
    model.sort_by(f64::total_cmp);
    let squares = drive.iter().enumerate().map(|(index, time)| {
        let place = index * REPLAYS as usize + REPLAYS as usize / 2;
        (time - model[place]).powi(2)
    });
    let distance = (squares.sum::<f64>() / drive.len() as f64).sqrt();
    Some(Check {
        reads: drive.len(),
        mean_error: mean(&model) / measured_mean - 1.0,
        distribution_error: distance / measured_mean,
        seek_error,
        runs_error: if parameters.rotates() { 0.0 } else { runs_error(samples, parameters)? },
        writes_error: writes_error(samples, parameters).unwrap_or(0.0),
    })
}

/// The model's time of the writes that nothing was fitted to by the measured one, less 1: durable
/// ones of what turns, buffered ones of what does not.
fn writes_error(samples: &Samples, parameters: &Parameters) -> Option<f64> {
    let mut sums = [0.0; 2];
    for seed in 1..=REPLAYS {
        let mut machine = Machine::new(parameters);
        machine.add_disk(parameters, seed);
        let (mut random, mut now) = (Random::new(seed), 0);
        let durable = samples.of(Probe::Durable).map(|sample| (sample, true));
        let buffered = samples.of(Probe::CheckWrite).map(|sample| (sample, false));
        for (sample, fua) in durable.chain(buffered) {
            let last = samples.size_bytes.min(parameters.disk.capacity.value) - sample.bytes;
            // What does not turn is written in blocks of its map.
            let unit = if parameters.rotates() { 512 } else { SMALL_BYTES };
            let moved = random.below(MOVED_BYTES / unit) * unit;
            let offset = (sample.offset + moved).min(last / unit * unit);
            let operation = Operation::Write { offset, length: sample.bytes, fua };
            let end = answer_of(&mut machine, now, operation)?;
            sums[0] += (end - now) as f64;
            sums[1] += sample.took();
            now = end;
        }
    }
    (sums[1] > 0.0).then(|| sums[0] / sums[1] - 1.0)
}

/// The model's time of the runs of the probe `rate` by the measured one, less 1.
fn runs_error(samples: &Samples, parameters: &Parameters) -> Option<f64> {
    let mut machine = Machine::new(parameters);
    machine.add_disk(parameters, 1);
    let (mut now, mut sums) = (0, [0.0; 2]);
    for sample in samples.of(Probe::Rate) {
        let last = parameters.disk.capacity.value - sample.bytes;
        let offset = sample.offset.min(last);
        let end = answer_of(&mut machine, now, Operation::Read { offset, length: sample.bytes })?;
        sums[0] += (end - now) as f64;
        sums[1] += sample.took();
        now = end;
    }
    Some(sums[0] / sums[1] - 1.0)
}

/// When an operation is answered that has the drive for itself.
fn answer_of(machine: &mut Machine, now: u64, operation: Operation) -> Option<u64> {
    machine.submit(now, 0, 0, 0, operation);
    let mut answered = None;
    while answered.is_none() {
        let next = machine.next()?;
        machine.advance(next, &mut |answer| answered = Some(answer.time));
    }
    answered
}

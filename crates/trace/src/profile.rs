//! What can be said of a recording: one pass over its records, in memory that does not grow with
//! them.
//!
//! ```text
//!   Record ──> Profiler ──┬ counts by operation, sizes, latencies
//!                         ├ runs: the ends of the last requests
//!                         ├ touched: a bit for each 4 KiB, in regions of 1 MiB
//!                         ├ under way: completions to come
//!                         └ windows of time, wider as the trace grows longer ──> Profile
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

use crate::touched::TouchedSpace;
use crate::{Contents, Record, RecordedOp};

/// All operations, in the order of [`Profile::operations`].
pub const OPERATIONS: [RecordedOp; 5] = [
    RecordedOp::Read,
    RecordedOp::Write,
    RecordedOp::WriteZeroes,
    RecordedOp::Discard,
    RecordedOp::Flush,
];

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// Widths of windows; the narrowest that makes at most [`WINDOWS_MAX`] of them.
const WIDTHS: [u64; 13] = [
    MILLISECOND,
    10 * MILLISECOND,
    100 * MILLISECOND,
    SECOND,
    10 * SECOND,
    MINUTE,
    10 * MINUTE,
    HOUR,
    24 * HOUR,
    24 * 10 * HOUR,
    24 * 100 * HOUR,
    24 * 1000 * HOUR,
    24 * 10_000 * HOUR,
];
const WINDOWS_MAX: usize = 20_000;
/// Sequential streams that are followed at once.
const STREAMS: usize = 32;
/// Requests before one that it could be merged with, and how long before.
const NEIGHBOURS: usize = 16;
const MERGE_NANOSECONDS: u64 = MILLISECOND;
/// Different lengths that are counted by themselves.
const LENGTHS_MAX: usize = 1024;
/// The most requests that are counted as under way.
const UNDER_WAY_MAX: usize = 1 << 18;
/// Buckets of latencies for each doubling.
const LATENCY_STEPS: u32 = 16;

/// Of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationProfile {
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many are durable when they complete.
    pub fua: u64,
    /// Lengths in bytes and how many have it, the most frequent first; at most eight.
    pub lengths: Vec<(u64, u64)>,
    /// The shortest and the longest, in bytes.
    pub length_ends: [u64; 2],
    /// How many go on where one of the last requests of the kind ended.
    pub sequential: u64,
    /// How many begin or end at a request of the kind of the last millisecond.
    pub mergeable: u64,
    /// How many have a latency.
    pub completed: u64,
    /// How long they took; none where it is not known.
    pub latency: Option<LatencyProfile>,
}

/// Latencies, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyProfile {
    /// The mean.
    pub mean: f64,
    /// Half are below.
    pub p50: u64,
    /// 99 % are below.
    pub p99: u64,
    /// 99.9 % are below.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

/// One window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Reads, and their bytes.
    pub reads: u64,
    /// In bytes.
    pub read_bytes: u64,
    /// Writes, also of zeroes, and their bytes.
    pub writes: u64,
    /// In bytes.
    pub write_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// All requests.
    pub requests: u64,
    /// The most that were under way.
    pub depth_max: u64,
    /// Requests under way, added up over all submissions.
    pub depth_sum: u64,
    /// Latencies, added up, in nanoseconds.
    pub latency_sum: u64,
    /// How many of these.
    pub completed: u64,
}

impl Window {
    fn add(&mut self, other: &Window) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.write_bytes += other.write_bytes;
        self.flushes += other.flushes;
        self.requests += other.requests;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.depth_sum += other.depth_sum;
        self.latency_sum = self.latency_sum.saturating_add(other.latency_sum);
        self.completed += other.completed;
    }

    /// Several as one.
    #[must_use]
    pub fn sum(windows: &[Window]) -> Window {
        let mut all = Window::default();
        windows.iter().for_each(|window| all.add(window));
        all
    }

    /// Bytes read and written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.write_bytes
    }
}

/// A part of the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// From its beginning, in nanoseconds.
    pub from_nanoseconds: u64,
    /// In nanoseconds.
    pub length_nanoseconds: u64,
    /// What was in it.
    pub total: Window,
}

/// How uneven requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burstiness {
    /// The width over which is counted, in nanoseconds.
    pub width_nanoseconds: u64,
    /// The most in one, against the mean.
    pub peak_to_mean: f64,
    /// Variance against mean: 1 where requests come independently of each other.
    pub dispersion: f64,
    /// The share without any request.
    pub idle: f64,
}

/// How much of the device was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Different bytes that were read, in whole 4 KiB.
    pub read_bytes: u64,
    /// Different bytes that were written.
    pub written_bytes: u64,
    /// Either.
    pub bytes: u64,
    /// One of so many regions was counted; above 1 the figures are estimates.
    pub counted_part: u64,
    /// The first and the last byte that were asked for.
    pub ends: [u64; 2],
}

/// What was asked for within a minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkingSet {
    /// Different bytes in a minute, on average over minutes with requests.
    pub mean_bytes: f64,
    /// The most in a minute.
    pub max_bytes: u64,
}

/// Everything that is said of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What the source tells.
    pub contents: Contents,
    /// How many requests.
    pub requests: u64,
    /// From the beginning to the last submission or completion, in nanoseconds.
    pub length_nanoseconds: u64,
    /// By operation, in the order of [`OPERATIONS`].
    pub operations: [OperationProfile; 5],
    /// How much of the device.
    pub footprint: Footprint,
    /// How much of it in a minute; none for less than two minutes.
    pub working_set: Option<WorkingSet>,
    /// The most requests under way at once; none where completions are not known.
    pub depth_max: Option<u64>,
    /// The mean over time.
    pub depth_mean: Option<f64>,
    /// By windows of a width that fits the length; none without times.
    pub burstiness: Option<Burstiness>,
    /// The hour, minute or second with the most bytes.
    pub busiest: Option<Part>,
    /// Width of the windows, in nanoseconds.
    pub window_nanoseconds: u64,
    /// All windows, from the beginning.
    pub windows: Vec<Window>,
    /// How many streams there are, at most 65,536.
    pub streams: usize,
}

/// Latencies by size: sixteen buckets for each doubling, exact to 6 %.
struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    sum: f64,
    max: u64,
}

impl Latencies {
    fn new() -> Latencies {
        Latencies { buckets: vec![0; 64 * LATENCY_STEPS as usize], count: 0, sum: 0.0, max: 0 }
    }

    fn bucket(latency: u64) -> usize {
        if latency < LATENCY_STEPS.into() {
            return latency as usize;
        }
        let power = latency.ilog2();
        let below = power - LATENCY_STEPS.ilog2();
        let step = (latency >> below) as usize & (LATENCY_STEPS as usize - 1);
        (below as usize + 1) * LATENCY_STEPS as usize + step
    }

    /// The largest latency of a bucket.
    fn end(bucket: usize) -> u64 {
        let steps = LATENCY_STEPS as usize;
        if bucket < steps {
            return bucket as u64;
        }
        let below = bucket / steps - 1;
        let end = (u128::from(LATENCY_STEPS) + (bucket % steps) as u128 + 1) << below;
        u64::try_from(end - 1).unwrap_or(u64::MAX)
    }

    fn add(&mut self, latency: u64) {
        self.buckets[Latencies::bucket(latency)] += 1;
        self.count += 1;
        self.sum += latency as f64;
        self.max = self.max.max(latency);
    }

    fn quantile(&self, share: f64) -> u64 {
        let rank = (share * self.count as f64).ceil() as u64;
        let mut below = 0;
        let reached = self.buckets.iter().position(|count| {
            below += count;
            below >= rank
        });
        reached.map_or(self.max, Latencies::end).min(self.max)
    }

    fn profile(&self) -> Option<LatencyProfile> {
        (self.count > 0).then(|| LatencyProfile {
            mean: self.sum / self.count as f64,
            p50: self.quantile(0.5),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            max: self.max,
        })
    }
}

/// What is kept of one operation while records come.
struct Operation {
    profile: OperationProfile,
    lengths: BTreeMap<u64, u64>,
    latencies: Latencies,
    /// Where the last requests ended, the oldest first to go.
    ends: [u64; STREAMS],
    next_end: usize,
    /// The last requests: when, where from and to.
    neighbours: [(u64, u64, u64); NEIGHBOURS],
    next_neighbour: usize,
}

impl Operation {
    fn new() -> Operation {
        Operation {
            profile: OperationProfile::default(),
            lengths: BTreeMap::new(),
            latencies: Latencies::new(),
            ends: [u64::MAX; STREAMS],
            next_end: 0,
            neighbours: [(0, u64::MAX, u64::MAX); NEIGHBOURS],
            next_neighbour: 0,
        }
    }

    fn take(&mut self, record: &Record) {
        let profile = &mut self.profile;
        profile.requests += 1;
        profile.bytes = profile.bytes.saturating_add(record.length);
        profile.fua += u64::from(record.fua);
        if let Some(latency) = record.latency_nanoseconds {
            profile.completed += 1;
            self.latencies.add(latency);
        }
        if record.op == RecordedOp::Flush {
            return;
        }
        if self.lengths.len() < LENGTHS_MAX {
            *self.lengths.entry(record.length).or_default() += 1;
        } else if let Some(count) = self.lengths.get_mut(&record.length) {
            *count += 1;
        }
        let [shortest, longest] = profile.length_ends;
        let is_first = profile.requests == 1;
        profile.length_ends = [
            if is_first { record.length } else { shortest.min(record.length) },
            longest.max(record.length),
        ];
        let end = record.offset + record.length;
        match self.ends.iter_mut().find(|known| **known == record.offset) {
            Some(known) => {
                profile.sequential += 1;
                *known = end;
            }
            None => {
                self.ends[self.next_end] = end;
                self.next_end = (self.next_end + 1) % STREAMS;
            }
        }
        let time = record.time_nanoseconds;
        profile.mergeable += u64::from(self.neighbours.iter().any(|&(when, from, to)| {
            (to == record.offset || from == end) && time - when <= MERGE_NANOSECONDS
        }));
        self.neighbours[self.next_neighbour] = (time, record.offset, end);
        self.next_neighbour = (self.next_neighbour + 1) % NEIGHBOURS;
    }

    fn finish(mut self) -> OperationProfile {
        let mut lengths: Vec<(u64, u64)> = self.lengths.into_iter().collect();
        lengths.sort_by_key(|&(length, count)| (Reverse(count), length));
        lengths.truncate(8);
        self.profile.lengths = lengths;
        self.profile.latency = self.latencies.profile();
        self.profile
    }
}

/// Takes records and says what they are like.
pub struct Profiler {
    requests: u64,
    last_nanoseconds: u64,
    operations: [Operation; 5],
    touched: TouchedSpace,
    ends: [u64; 2],
    /// When what is under way completes.
    under_way: BinaryHeap<Reverse<u64>>,
    depth_max: u64,
    latency_sum: f64,
    width: usize,
    windows: Vec<Window>,
    streams: HashSet<u32>,
    minute: u64,
    minutes: u64,
    minute_sum: f64,
    minute_max: u64,
}

fn place(op: RecordedOp) -> usize {
    match op {
        RecordedOp::Read => 0,
        RecordedOp::Write => 1,
        RecordedOp::WriteZeroes => 2,
        RecordedOp::Discard => 3,
        RecordedOp::Flush => 4,
    }
}

impl Default for Profiler {
    fn default() -> Profiler {
        Profiler::new()
    }
}

impl Profiler {
    /// Of no records yet.
    #[must_use]
    pub fn new() -> Profiler {
        Profiler {
            requests: 0,
            last_nanoseconds: 0,
            operations: std::array::from_fn(|_| Operation::new()),
            touched: TouchedSpace::default(),
            ends: [u64::MAX, 0],
            under_way: BinaryHeap::new(),
            depth_max: 0,
            latency_sum: 0.0,
            width: 0,
            windows: Vec::new(),
            streams: HashSet::new(),
            minute: 0,
            minutes: 0,
            minute_sum: 0.0,
            minute_max: 0,
        }
    }

    /// Takes the next record; they come in order of time.
    pub fn take(&mut self, record: &Record) {
        let time = record.time_nanoseconds;
        self.requests += 1;
        self.operations[place(record.op)].take(record);
        if record.stream != 0 && self.streams.len() < 1 << 16 {
            self.streams.insert(record.stream);
        }
        if time / MINUTE != self.minute {
            self.end_minute();
            self.minute = time / MINUTE;
        }
        if record.length > 0 && record.op != RecordedOp::Discard {
            let end = record.offset + record.length;
            self.ends = [self.ends[0].min(record.offset), self.ends[1].max(end)];
            let writes = record.op != RecordedOp::Read;
            self.touched.touch(record.offset, record.length, writes);
        }
        let depth = self.depth(record);
        let window = self.window(time);
        window.requests += 1;
        match record.op {
            RecordedOp::Read => {
                window.reads += 1;
                window.read_bytes = window.read_bytes.saturating_add(record.length);
            }
            RecordedOp::Write | RecordedOp::WriteZeroes => {
                window.writes += 1;
                window.write_bytes = window.write_bytes.saturating_add(record.length);
            }
            RecordedOp::Flush => window.flushes += 1,
            RecordedOp::Discard => (),
        }
        window.depth_max = window.depth_max.max(depth);
        window.depth_sum += depth;
        if let Some(latency) = record.latency_nanoseconds {
            window.latency_sum = window.latency_sum.saturating_add(latency);
            window.completed += 1;
            self.latency_sum += latency as f64;
        }
        self.depth_max = self.depth_max.max(depth);
        let end = time.saturating_add(record.latency_nanoseconds.unwrap_or(0));
        self.last_nanoseconds = self.last_nanoseconds.max(end);
    }

    /// How many requests are under way with this one.
    fn depth(&mut self, record: &Record) -> u64 {
        let Some(latency) = record.latency_nanoseconds else { return 0 };
        while self.under_way.peek().is_some_and(|end| end.0 <= record.time_nanoseconds) {
            self.under_way.pop();
        }
        if self.under_way.len() < UNDER_WAY_MAX {
            self.under_way.push(Reverse(record.time_nanoseconds.saturating_add(latency)));
        }
        self.under_way.len() as u64
    }

    /// The window of a time; windows grow wider until there are few enough.
    fn window(&mut self, time: u64) -> &mut Window {
        while time / WIDTHS[self.width] >= WINDOWS_MAX as u64 && self.width + 1 < WIDTHS.len() {
            let wider = (WIDTHS[self.width + 1] / WIDTHS[self.width]) as usize;
            self.windows = self.windows.chunks(wider).map(Window::sum).collect();
            self.width += 1;
        }
        let at = ((time / WIDTHS[self.width]) as usize).min(WINDOWS_MAX);
        if at >= self.windows.len() {
            self.windows.resize(at + 1, Window::default());
        }
        &mut self.windows[at]
    }

    fn end_minute(&mut self) {
        let bytes = self.touched.take_window();
        if bytes > 0 {
            self.minutes += 1;
            self.minute_sum += bytes as f64;
            self.minute_max = self.minute_max.max(bytes);
        }
    }

    /// What there is to say of records from a source that tells this.
    #[must_use]
    pub fn finish(mut self, contents: Contents) -> Profile {
        self.end_minute();
        let [read_bytes, written_bytes, bytes] = self.touched.bytes();
        let length = self.last_nanoseconds;
        let knows_times = contents.times && length > 0;
        let is_complete = self.operations.iter().any(|operation| operation.profile.completed > 0);
        let touches = self.ends[1] > 0;
        Profile {
            contents,
            requests: self.requests,
            length_nanoseconds: length,
            footprint: Footprint {
                read_bytes,
                written_bytes,
                bytes,
                counted_part: self.touched.counted_part(),
                ends: if touches { self.ends } else { [0, 0] },
            },
            working_set: (contents.times && length >= 2 * MINUTE).then(|| WorkingSet {
                mean_bytes: self.minute_sum / self.minutes.max(1) as f64,
                max_bytes: self.minute_max,
            }),
            depth_max: is_complete.then_some(self.depth_max),
            depth_mean: (is_complete && knows_times).then(|| self.latency_sum / length as f64),
            burstiness: knows_times.then(|| burstiness(&self.windows, WIDTHS[self.width], length)),
            busiest: knows_times
                .then(|| busiest(&self.windows, WIDTHS[self.width], length))
                .flatten(),
            window_nanoseconds: WIDTHS[self.width],
            operations: self.operations.map(Operation::finish),
            windows: self.windows,
            streams: self.streams.len(),
        }
    }
}

/// Over seconds, or over the windows if the recording is shorter or longer than seconds tell.
fn burstiness(windows: &[Window], width: u64, length: u64) -> Burstiness {
    let joined =
        if length >= 10 * SECOND && width < SECOND { (SECOND / width) as usize } else { 1 };
    let width = width * joined as u64;
    let counts: Vec<u64> = windows
        .chunks(joined)
        .map(|windows| windows.iter().map(|window| window.requests).sum())
        .collect();
    // The time behind the last submission counts too.
    let all = (length.div_ceil(width) as usize).max(counts.len()) as f64;
    let mean = counts.iter().sum::<u64>() as f64 / all;
    let squares: f64 = counts.iter().map(|count| (*count as f64).powi(2)).sum();
    let busy = counts.iter().filter(|count| **count > 0).count() as f64;
    Burstiness {
        width_nanoseconds: width,
        peak_to_mean: counts.iter().max().copied().unwrap_or(0) as f64 / mean,
        dispersion: (squares / all - mean * mean) / mean,
        idle: 1.0 - busy / all,
    }
}

/// The hour with the most bytes, or the minute or the second of a shorter recording; the window
/// where that is longer.
fn busiest(windows: &[Window], width: u64, length: u64) -> Option<Part> {
    let wished = [HOUR, MINUTE, SECOND].into_iter().find(|wished| length >= 2 * wished)?;
    let count = (wished / width).max(1) as usize;
    let count = count.min(windows.len());
    let sum = |from: usize| -> u64 { windows[from..from + count].iter().map(Window::bytes).sum() };
    let (mut bytes, mut best) = (sum(0), (0, sum(0)));
    for from in 1..=windows.len() - count {
        bytes = bytes - windows[from - 1].bytes() + windows[from + count - 1].bytes();
        if bytes > best.1 {
            best = (from, bytes);
        }
    }
    Some(Part {
        from_nanoseconds: best.0 as u64 * width,
        length_nanoseconds: count as u64 * width,
        total: Window::sum(&windows[best.0..best.0 + count]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENTS: Contents =
        Contents { times: true, completions: true, streams: true, flushes: true, discards: true };

    fn record(time: u64, op: RecordedOp, offset: u64, length: u64) -> Record {
        Record {
            time_nanoseconds: time,
            latency_nanoseconds: Some(2 * MILLISECOND),
            op,
            fua: false,
            offset,
            length,
            stream: 1,
        }
    }

    fn profile(records: impl IntoIterator<Item = Record>) -> Profile {
        let mut profiler = Profiler::new();
        records.into_iter().for_each(|record| profiler.take(&record));
        profiler.finish(CONTENTS)
    }

    #[test]
    fn runs_and_neighbours_are_told_from_jumps() {
        // Two sequential readers in turn, 5 ms apart, and writes side by side at once.
        let reads = (0..100).map(|number: u64| {
            let reader = number % 2;
            record(
                number * 5 * MILLISECOND,
                RecordedOp::Read,
                reader * (1 << 30) + number / 2 * 8192,
                8192,
            )
        });
        let time = 600 * MILLISECOND;
        let writes =
            (0..10).map(|number| record(time, RecordedOp::Write, (9 - number) * 4096, 4096));
        let flush = record(time, RecordedOp::Flush, 0, 0);
        let found = profile(reads.chain(writes).chain([flush]));
        let [read, write, _, _, flushes] = &found.operations;
        assert_eq!((read.requests, read.sequential, read.mergeable), (100, 98, 0));
        assert_eq!((write.requests, write.sequential, write.mergeable), (10, 0, 9));
        assert_eq!((write.lengths.clone(), write.bytes), (vec![(4096, 10)], 40960));
        assert_eq!(flushes.requests, 1);
        let footprint = found.footprint;
        assert_eq!((footprint.read_bytes, footprint.written_bytes), (100 * 8192, 40960));
        assert_eq!(footprint.bytes, 100 * 8192);
        assert_eq!(footprint.ends, [0, (1 << 30) + 50 * 8192]);
        assert_eq!((found.depth_max, found.streams), (Some(11), 1));
        assert_eq!(found.length_nanoseconds, 602 * MILLISECOND);
        assert!(found.depth_mean.is_some_and(|mean| (mean - 222.0 / 602.0).abs() < 1e-9));
    }

    #[test]
    fn the_busiest_hour_of_a_day_is_found() {
        // One request a minute, and in an hour that begins at half past nine one a second.
        let minutes = (0..24 * 60).map(|minute: u64| (minute * MINUTE, 4096));
        let busy = 9 * HOUR + 30 * MINUTE;
        let seconds = (0..3600).map(|second: u64| (busy + second * SECOND, 65536));
        let mut all: Vec<(u64, u64)> = minutes.chain(seconds).collect();
        all.sort_unstable();
        let found = profile(all.into_iter().map(|(time, length)| {
            record(time, RecordedOp::Write, (time % (1 << 40)) & !4095, length)
        }));
        let busiest = found.busiest.expect("a day has hours");
        assert_eq!((busiest.from_nanoseconds, busiest.length_nanoseconds), (busy, HOUR));
        assert_eq!(busiest.total.requests, 3660);
        let burst = found.burstiness.expect("there are times");
        assert!(
            burst.peak_to_mean > 10.0 && burst.dispersion > 1.0 && burst.idle < 0.9,
            "{burst:?}"
        );
        assert!(found.windows.len() <= WINDOWS_MAX + 1);
        assert!(found.working_set.is_some_and(|set| set.max_bytes >= 60 * 65536));
    }

    #[test]
    fn latencies_come_back_within_a_sixteenth() {
        let mut latencies = Latencies::new();
        for latency in 1..=100_000 {
            latencies.add(latency);
        }
        for (share, exact) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.001, 100.0)] {
            let found = latencies.quantile(share) as f64;
            assert!(found >= exact && found <= exact * 17.0 / 16.0, "{share}: {found}");
        }
        assert_eq!(latencies.quantile(1.0), 100_000);
        let ends = [0, 1, 15, 16, 17, 1000, 1 << 40, u64::MAX];
        for latency in ends {
            let bucket = Latencies::bucket(latency);
            assert!(Latencies::end(bucket) >= latency && bucket < latencies.buckets.len());
            assert!(bucket == 0 || Latencies::end(bucket - 1) < latency);
        }
    }

    #[test]
    fn times_without_end_make_no_more_windows() {
        let found = profile([0, HOUR, u64::MAX].map(|time| record(time, RecordedOp::Read, 0, 512)));
        assert!(found.windows.len() <= WINDOWS_MAX + 1 && found.requests == 3);
    }
}

//! The model against recordings of real drives with the time that each request took.
//!
//! `cargo xtask validate DIR` names a folder (`RAIDLOOM_RECORDED`) with NAME-first.csv and further
//! NAME-*.csv for each drive, one request outstanding. Its README.md has a table of the drives;
//! those of `models/data/recorded-drives.md` are known. The first half of a recording, at most
//! 5,000 requests, is fitted; the rest is scored.
//!
//! ```text
//!   hits and cached writes  -->  overheads, rates of the interface   medians over pairs of sizes
//!   all                     -->  seek curve, settling, read-ahead    one parameter after the other,
//!                                                                    while strata come nearer
//!   score: of each stratum (direction, third of the distance, size) how far the model's distribution
//!   of times lies from the drive's, as a share of the mean
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::super::parameters::Hold;
use super::super::random::Random;
use super::super::{Geometry, Machine, Operation, Parameters};
use super::quantity;

/// Drives whose recordings are known, as a table of the same form.
const KNOWN_DRIVES: &str = include_str!("../../../../../models/data/recorded-drives.md");

const SECTOR_BYTES: u64 = 512;
/// Requests of a recording that are fitted, where it has twice as many.
const FITTED: usize = 5_000;
/// A recording with fewer says nothing.
const REQUESTS_MIN: usize = 500;
/// A stratum with fewer requests has no distribution.
const STRATUM_MIN: usize = 20;
/// Places at which distributions are compared.
const QUANTILES: usize = 200;
/// Where the model's times are all but one, a drive's lie beside them: by no more than this share
/// they count as covered.
const BESIDE: f64 = 0.05;

/// Direction (whether it writes), third of the distance, whether it is large.
type Stratum = (bool, usize, bool);
/// The drive's times and the model's, in order.
type Times = [Vec<f64>; 2];

/// What is known of a drive beside its recording.
#[derive(Clone, Debug)]
struct Facts {
    title: String,
    revolution_ms: f64,
    tracks: f64,
    sectors: u64,
    segment_sectors: u64,
    segments: u64,
}

/// A recorded request.
#[derive(Clone, Copy, Debug)]
struct RecordedRequest {
    write: bool,
    sector: u64,
    sectors: u64,
    response_us: f64,
    gap_us: f64,
}

/// The drives of a README's table, by name.
fn read_facts(text: &str) -> Result<BTreeMap<String, Facts>, String> {
    let mut drives = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, title, rpm, cylinders, surfaces, sectors, cache] = cells[..] else { continue };
        let Ok(rpm) = rpm.parse::<f64>() else { continue };
        let number = |text: &str| {
            text.parse::<u64>().map_err(|_| format!("README.md: {name}: `{text}` is no number"))
        };
        let (segments, segment) = cache
            .split_once('x')
            .ok_or_else(|| format!("README.md: {name}: `{cache}` is not segments x sectors"))?;
        let facts = Facts {
            title: title.to_owned(),
            revolution_ms: 60e3 / rpm,
            tracks: (number(cylinders)? * number(surfaces)?) as f64,
            sectors: number(sectors)?,
            segment_sectors: number(segment.trim())?,
            segments: number(segments.trim())?,
        };
        drives.insert(name.to_owned(), facts);
    }
    Ok(drives)
}

/// The requests of a recording's file; `name` is for messages.
fn read_requests(name: &str, text: &str) -> Result<Vec<RecordedRequest>, String> {
    let mut requests = Vec::new();
    for (index, line) in text.lines().enumerate().skip(1) {
        let wrong = |what: &str| format!("{name}:{}: {what}: `{line}`", index + 1);
        let fields: Vec<&str> = line.split(',').collect();
        let [operation, sector, sectors, response, gap] = fields[..] else {
            return Err(wrong("expected op,lbn_512,blocks,response_us,gap_after_us"));
        };
        let write = match operation {
            "R" => false,
            "W" => true,
            _ => return Err(wrong("op is neither R nor W")),
        };
        let time = |text: &str| match text.parse::<f64>() {
            Ok(time) if time.is_finite() && time >= 0.0 => Ok(time),
            _ => Err(wrong("a time is no number of microseconds")),
        };
        let whole = |text: &str| text.parse::<u64>().map_err(|_| wrong("no number of sectors"));
        let request = RecordedRequest {
            write,
            sector: whole(sector)?,
            sectors: whole(sectors)?,
            response_us: time(response)?,
            gap_us: time(gap)?,
        };
        if request.sectors == 0 || request.response_us == 0.0 {
            return Err(wrong("a request without data or time"));
        }
        requests.push(request);
    }
    Ok(requests)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Slope and value at no size of times over sizes, by the medians over pairs (Theil and Sen).
fn line_through(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let mut random = Random::new(1);
    let mut slopes = Vec::new();
    for _ in 0..40_000 {
        let mut one = || points[random.below(points.len() as u64) as usize];
        let (first, second) = (one(), one());
        if first.0 != second.0 {
            slopes.push((second.1 - first.1) / (second.0 - first.0));
        }
    }
    if slopes.len() < 100 {
        return None;
    }
    let slope = median(&mut slopes);
    let mut left: Vec<f64> = points.iter().map(|(size, time)| time - slope * size).collect();
    Some((slope, median(&mut left)))
}

/// A drive with what fits its recording, and whether its writes wait for the media.
#[derive(Clone, Debug)]
struct FittedDrive {
    parameters: Parameters,
    writes_through: bool,
}

/// What is changed to fit, each between two bounds.
struct Knob {
    name: &'static str,
    get: fn(&Parameters) -> f64,
    set: fn(&mut Parameters, f64),
    bounds: [f64; 2],
}

/// One that is a parameter of the disk as it is.
macro_rules! knob {
    ($name:ident, $bounds:expr) => {
        Knob {
            name: stringify!($name),
            get: |model| model.disk.$name.value,
            set: |model, value| model.disk.$name.value = value,
            bounds: $bounds,
        }
    };
}

const KNOBS: [Knob; 10] = [
    Knob {
        name: "rate",
        get: |model| model.disk.rate_at_start.value,
        set: |model, value| {
            model.disk.rate_at_end.value *= value / model.disk.rate_at_start.value;
            model.disk.rate_at_start.value = value;
        },
        bounds: [5e5, 1e8],
    },
    knob!(seek_root, [1.0, 40.0]),
    knob!(seek_base, [0.1, 8.0]),
    Knob {
        name: "seek_linear_from",
        get: |model| model.disk.seek_linear_from.as_ref().map_or(1.0, |from| from.value),
        set: |model, value| model.disk.seek_linear_from = Some(quantity(value, "share")),
        bounds: [0.02, 1.0],
    },
    knob!(settle, [0.02, 4.0]),
    knob!(write_overhead, [50.0, 4000.0]),
    knob!(read_overhead, [50.0, 4000.0]),
    Knob {
        name: "read_ahead_length",
        get: |model| model.disk.read_ahead_length.value as f64,
        set: |model, value| {
            model.disk.read_ahead_length.value =
                (value / SECTOR_BYTES as f64) as u64 * SECTOR_BYTES;
        },
        bounds: [4096.0, 1e6],
    },
    knob!(link_rate_read, [1e6, 1e8]),
    knob!(link_rate_write, [1e6, 1e8]),
];

/// What the facts and the closed forms say.
fn begin(facts: &Facts, requests: &[RecordedRequest]) -> FittedDrive {
    let turn_us = facts.revolution_ms * 1e3;
    let mut model = super::parameters();
    let disk = &mut model.disk;
    // A data sheet may count fewer sectors than were used.
    let used = requests.iter().map(|one| one.sector + one.sectors).max().unwrap_or(0);
    disk.capacity = quantity(facts.sectors.max(used) * SECTOR_BYTES, "bytes");
    disk.revolution = quantity(facts.revolution_ms, "ms");
    disk.spindle_tolerance = quantity(0.0, "share");
    // Zones of a drive of that time; the mean is what its tracks hold.
    let track = facts.sectors as f64 * SECTOR_BYTES as f64 / facts.tracks;
    let mean = track / facts.revolution_ms * 1e3;
    disk.rate_at_start = quantity(mean * 1.2, "bytes/s");
    disk.rate_at_end = quantity(mean * 0.8, "bytes/s");
    let buffer = facts.segments * facts.segment_sectors * SECTOR_BYTES;
    disk.cache_size = quantity(buffer.max(64 << 10), "bytes");
    disk.read_ahead_length = quantity(facts.segment_sectors * SECTOR_BYTES, "bytes");
    disk.seek_base = quantity(1.0, "ms");
    disk.seek_root = quantity(10.0, "ms");
    disk.settle = quantity(0.5, "ms");
    let times = |write: bool| -> Vec<f64> {
        requests.iter().filter(|one| one.write == write).map(|one| one.response_us).collect()
    };
    let writes_through = median(&mut times(true)) > 0.35 * turn_us;
    // What never waited for the media: interface and overhead alone.
    let quick = |write: bool| -> Option<(f64, f64)> {
        let is_quick =
            |one: &&RecordedRequest| one.write == write && one.response_us < 0.25 * turn_us;
        let points: Vec<(f64, f64)> = requests
            .iter()
            .filter(is_quick)
            .map(|one| ((one.sectors * SECTOR_BYTES) as f64, one.response_us))
            .collect();
        if points.len() < 50 { None } else { line_through(&points) }
    };
    let read = quick(false).unwrap_or((0.2, 500.0));
    let write = if writes_through { read } else { quick(true).unwrap_or(read) };
    let rate = |slope: f64| 1e6 / slope.max(0.01);
    disk.link_rate_read = quantity(rate(read.0), "bytes/s");
    disk.link_rate_write = quantity(rate(write.0), "bytes/s");
    disk.read_overhead = quantity(read.1.max(50.0), "us");
    disk.write_overhead = quantity(write.1.max(50.0), "us");
    model.link.hold = Hold::Burst;
    model.link.bandwidth = quantity(1e9, "bytes/s");
    model.link.command_time = quantity(0.0, "us");
    FittedDrive { parameters: model, writes_through }
}

/// The times that the model takes for the requests, each after the one before and its gap.
fn replay(fitted: &FittedDrive, requests: &[RecordedRequest]) -> Vec<f64> {
    let mut machine = Machine::new(&fitted.parameters);
    machine.add_disk(&fitted.parameters, 1);
    let capacity = machine.capacity(0);
    let mut now = 0;
    let mut times = Vec::with_capacity(requests.len());
    for request in requests {
        let length = request.sectors * SECTOR_BYTES;
        let offset = (request.sector * SECTOR_BYTES).min(capacity.saturating_sub(length));
        let operation = match request.write {
            true => Operation::Write { offset, length, fua: fitted.writes_through },
            false => Operation::Read { offset, length },
        };
        machine.submit(now, 0, 0, 0, operation);
        let mut answered = None;
        while answered.is_none() {
            let next = machine.next().expect("a request in flight has a next event");
            machine.advance(next, &mut |answer| answered = Some(answer.time));
        }
        let end = answered.unwrap_or(now);
        times.push((end - now) as f64 / 1e3);
        now = end + (request.gap_us * 1e3) as u64;
    }
    times
}

/// Which stratum each request belongs to; bounds come from what is fitted.
struct Strata {
    distances: [u64; 2],
    size: u64,
}

impl Strata {
    fn distance(before: Option<&RecordedRequest>, request: &RecordedRequest) -> u64 {
        before.map_or(0, |before| request.sector.abs_diff(before.sector + before.sectors))
    }

    fn new(requests: &[RecordedRequest]) -> Strata {
        let mut distances: Vec<u64> =
            requests.windows(2).map(|pair| Strata::distance(Some(&pair[0]), &pair[1])).collect();
        distances.sort_unstable();
        let at = |share: f64| distances[(distances.len() as f64 * share) as usize];
        let mut sizes: Vec<u64> = requests.iter().map(|one| one.sectors).collect();
        sizes.sort_unstable();
        Strata { distances: [at(1.0 / 3.0), at(2.0 / 3.0)], size: sizes[sizes.len() / 2] }
    }

    /// Drive's and model's times of each stratum, of the requests from `first` on.
    fn split(
        &self,
        requests: &[RecordedRequest],
        times: &[f64],
        first: usize,
    ) -> BTreeMap<Stratum, Times> {
        let mut strata: BTreeMap<_, Times> = BTreeMap::new();
        for (index, request) in requests.iter().enumerate().skip(first) {
            let before = index.checked_sub(1).map(|before| &requests[before]);
            let distance = Strata::distance(before, request);
            let third = self.distances.iter().filter(|bound| distance > **bound).count();
            let key = (request.write, third, request.sectors > self.size);
            let [drive, model] = strata.entry(key).or_default();
            drive.push(request.response_us);
            model.push(times[index]);
        }
        for both in strata.values_mut() {
            both.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        }
        strata.retain(|_, both| both[0].len() >= STRATUM_MIN);
        strata
    }
}

/// The quantile of sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() as f64 * share) as usize).min(sorted.len() - 1)]
}

/// How far one distribution lies from the other: the root of the mean squared difference of their
/// quantiles, as a share of the first one's mean.
fn demerit([drive, model]: &Times) -> f64 {
    let mean = drive.iter().sum::<f64>() / drive.len() as f64;
    let squares = (0..QUANTILES).map(|index| {
        let share = (index as f64 + 0.5) / QUANTILES as f64;
        (quantile(drive, share) - quantile(model, share)).powi(2)
    });
    (squares.sum::<f64>() / QUANTILES as f64).sqrt() / mean
}

/// How far the model is off on requests that it is fitted to. A stratum that it cannot explain
/// counts for little more than one that it explains badly, so that it does not draw the parameters
/// away from all others; the mean time counts beyond a tenth of what it may be off by.
fn misfit(fitted: &FittedDrive, requests: &[RecordedRequest], strata: &Strata) -> f64 {
    let times = replay(fitted, requests);
    let all = strata.split(requests, &times, 0);
    let bounded = |error: f64| error / (error + 0.2);
    let misfits = all.values().map(demerit).map(bounded).sum::<f64>() / all.len() as f64;
    let recorded = requests.iter().map(|one| one.response_us).sum::<f64>();
    let mean_error = times.iter().sum::<f64>() / recorded - 1.0;
    misfits + (mean_error.abs() - 0.003).max(0.0)
}

/// Changes one parameter after the other, in steps that shrink, while that lessens the misfit.
fn descend(
    start: FittedDrive,
    requests: &[RecordedRequest],
    strata: &Strata,
) -> (FittedDrive, f64) {
    let mut least = misfit(&start, requests, strata);
    let mut best = start;
    for factor in [1.5, 1.2, 1.1, 1.5, 1.2, 1.08, 1.04, 1.2, 1.08, 1.04, 1.02] {
        for knob in &KNOBS {
            for factor in [factor, 1.0 / factor] {
                loop {
                    let mut other = best.clone();
                    let value = (knob.get)(&best.parameters) * factor;
                    (knob.set)(&mut other.parameters, value.clamp(knob.bounds[0], knob.bounds[1]));
                    let found = misfit(&other, requests, strata);
                    if found >= least - 1e-6 {
                        break;
                    }
                    (best, least) = (other, found);
                }
            }
        }
    }
    (best, least)
}

/// The drive that fits the requests best, of descents from several seek curves.
fn fit(facts: &Facts, requests: &[RecordedRequest]) -> FittedDrive {
    let strata = Strata::new(requests);
    let from = |(base_ms, root_ms): (f64, f64)| {
        let mut start = begin(facts, requests);
        start.parameters.disk.seek_base.value = base_ms;
        start.parameters.disk.seek_root.value = root_ms;
        descend(start, requests, &strata)
    };
    let starts = [(1.0, 6.0), (1.0, 10.0), (2.5, 10.0), (2.5, 16.0)];
    let fits = starts.into_iter().map(from);
    fits.min_by(|one, other| one.1.total_cmp(&other.1)).expect("there are starts").0
}

/// How well a model does on requests that it was not fitted to.
struct Score {
    median: f64,
    mean: f64,
    ninety: f64,
    coverage: f64,
    strata: BTreeMap<Stratum, f64>,
    times: Times,
}

fn score(fitted: &FittedDrive, requests: &[RecordedRequest], first: usize) -> Score {
    let times = replay(fitted, requests);
    let split = Strata::new(&requests[..first]).split(requests, &times, first);
    let strata: BTreeMap<_, f64> = split.iter().map(|(key, both)| (*key, demerit(both))).collect();
    let mut errors: Vec<f64> = strata.values().copied().collect();
    errors.sort_by(f64::total_cmp);
    let drive: Vec<f64> = requests[first..].iter().map(|one| one.response_us).collect();
    let model = times[first..].to_vec();
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let (mut inside, mut all) = (0, 0);
    for [drive, model] in split.values() {
        let bounds =
            quantile(model, 0.05) * (1.0 - BESIDE)..=quantile(model, 0.95) * (1.0 + BESIDE);
        inside += drive.iter().filter(|time| bounds.contains(time)).count();
        all += drive.len();
    }
    Score {
        median: median(&mut errors.clone()),
        mean: sum(&model) / sum(&drive) - 1.0,
        ninety: quantile(&errors, 0.9),
        coverage: inside as f64 / all.max(1) as f64,
        strata,
        times: [drive, model].map(|mut times| {
            times.sort_by(f64::total_cmp);
            times
        }),
    }
}

/// The drives of a folder, each with its facts and all that was recorded of it.
fn read_folder(folder: &Path) -> Result<Vec<(String, Facts, Vec<RecordedRequest>)>, String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut facts = read_facts(KNOWN_DRIVES)?;
    if let Ok(text) = fs::read_to_string(folder.join("README.md")) {
        facts.extend(read_facts(&text)?);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let name = entry.map_err(|error| failed(folder, error))?.file_name();
        let name = name.to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".csv") {
            let (drive, part) = stem.rsplit_once('-').unwrap_or((stem, "first"));
            // The first part comes before all others.
            files.push((drive.to_owned(), part != "first", name));
        }
    }
    files.sort();
    let mut drives: Vec<(String, Facts, Vec<RecordedRequest>)> = Vec::new();
    for (drive, _, name) in files {
        let path = folder.join(&name);
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
        let requests = read_requests(&name, &text)?;
        match drives.last_mut().filter(|(known, ..)| *known == drive) {
            Some((.., all)) => all.extend(requests),
            None => {
                let known = facts.get(&drive).cloned().ok_or_else(|| {
                    format!("{name}: README.md has no line for the drive `{drive}`")
                })?;
                drives.push((drive, known, requests));
            }
        }
    }
    match drives.iter().find(|(.., all)| all.len() < REQUESTS_MIN) {
        Some((drive, _, all)) => {
            Err(format!("{drive}: {} requests were recorded; it takes {REQUESTS_MIN}", all.len()))
        }
        None if drives.is_empty() => Err(format!("{}: no recordings (*.csv)", folder.display())),
        None => Ok(drives),
    }
}

/// The table of scores.
fn score_table(scores: &[(String, Facts, FittedDrive, Score)]) -> String {
    let mut text = String::from(
        "| drive | writes | median over strata | 90th percentile | mean time | coverage | worst \
        stratum |\n| --- | --- | ---: | ---: | ---: | ---: | --- |\n",
    );
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    for (_, facts, fitted, score) in scores {
        let writes = if fitted.writes_through { "to the media" } else { "cached" };
        let worst = score.strata.iter().max_by(|one, other| one.1.total_cmp(other.1));
        let ((write, third, large), error) = worst.expect("a recording has strata");
        let _ = writeln!(
            text,
            "| {} | {writes} | {} | {} | {:+.1} % | {:.0} % | {} {}, {}: {} |",
            facts.title,
            percent(score.median),
            percent(score.ninety),
            score.mean * 100.0,
            score.coverage * 100.0,
            if *large { "large" } else { "small" },
            if *write { "writes" } else { "reads" },
            ["nearest third", "middle third", "farthest third"][*third],
            percent(*error),
        );
    }
    let count =
        |is_met: &dyn Fn(&Score) -> bool| scores.iter().filter(|(.., score)| is_met(score)).count();
    let _ = writeln!(
        text,
        "\nOf {} drives {} have a median of at most 12 %, and {} a mean time within 3 %.",
        scores.len(),
        count(&|score| score.median <= 0.12),
        count(&|score| score.mean.abs() <= 0.03),
    );
    text
}

/// The distributions of the drives with the least and the largest median.
fn distribution_table(scores: &[(String, Facts, FittedDrive, Score)]) -> String {
    let mut by_median: Vec<&(String, Facts, FittedDrive, Score)> = scores.iter().collect();
    by_median.sort_by(|one, other| one.3.median.total_cmp(&other.3.median));
    let shares = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95];
    let mut text = String::from(
        "\nTime of a request in ms, by the share of requests that took less:\n\n| | 5 % | 10 % | \
        25 % | 50 % | 75 % | 90 % | 95 % |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: \
        |\n",
    );
    let ends = [by_median.first(), by_median.last()];
    for (_, facts, _, score) in ends.into_iter().flatten() {
        for (whose, times) in ["recorded", "modelled"].into_iter().zip(&score.times) {
            let figures: Vec<String> = shares
                .iter()
                .map(|share| format!("{:.2}", quantile(times, *share) / 1e3))
                .collect();
            let _ = writeln!(text, "| {}, {whose} | {} |", facts.title, figures.join(" | "));
        }
    }
    text
}

/// `cargo xtask validate DIR`; with `RAIDLOOM_BLESS=1` the table goes into docs/models.md.
#[test]
fn recordings_of_real_drives() {
    let Some(folder) = std::env::var_os("RAIDLOOM_RECORDED") else {
        testkit::skipped!("RAIDLOOM_RECORDED names no folder of recordings (xtask validate DIR)");
        return;
    };
    let drives = read_folder(Path::new(&folder)).unwrap_or_else(|error| panic!("{error}"));
    let mut scores = Vec::new();
    for (name, facts, requests) in drives {
        let first = FITTED.min(requests.len() / 2);
        let fitted = fit(&facts, &requests[..first]);
        let score = score(&fitted, &requests, first);
        let rest = requests.len() - first;
        println!("{name}: {first} requests fitted, {rest} scored");
        for knob in &KNOBS {
            println!("  {} {:.4}", knob.name, (knob.get)(&fitted.parameters));
        }
        for ((write, third, large), error) in &score.strata {
            println!("  write {write}, third {third}, large {large}: {:.1} %", error * 100.0);
        }
        scores.push((name, facts, fitted, score));
    }
    let table = score_table(&scores) + &distribution_table(&scores);
    println!("{table}");
    if std::env::var_os("RAIDLOOM_BLESS").is_some() {
        testkit::golden::check_blocks(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md"),
            &[("recorded", &table)],
        );
    }
}

/// A recording of a modelled drive: a third follows what came before, a third lies near it.
fn recording_of(fitted: &FittedDrive, count: usize) -> Vec<RecordedRequest> {
    let mut random = Random::new(7);
    let capacity = fitted.parameters.disk.capacity.value / SECTOR_BYTES;
    let mut requests: Vec<RecordedRequest> = Vec::new();
    let mut end = capacity / 2;
    for _ in 0..count {
        let sectors = 4 * (1 + random.below(4));
        let last = capacity - sectors;
        let sector = match random.below(3) {
            0 => end.min(last),
            1 => (end + random.below(4000)).saturating_sub(2000).min(last),
            _ => random.below(last),
        };
        end = sector + sectors;
        let gap_us = 5e3 + 3e4 * random.fraction();
        let write = random.below(3) == 0;
        requests.push(RecordedRequest { write, sector, sectors, response_us: 1.0, gap_us });
    }
    let times = replay(fitted, &requests);
    requests.iter_mut().zip(times).for_each(|(request, time)| request.response_us = time);
    requests
}

/// What the model itself did is found again, with the seek curve that it was done with.
#[test]
fn a_recording_of_a_modelled_drive_is_explained() {
    let facts = &read_facts(KNOWN_DRIVES).expect("a table")["ibm18es"];
    let mut hidden = begin(facts, &[]);
    let disk = &mut hidden.parameters.disk;
    (disk.seek_base.value, disk.seek_root.value) = (1.7, 11.0);
    (disk.read_overhead.value, disk.write_overhead.value) = (310.0, 420.0);
    (disk.link_rate_read.value, disk.link_rate_write.value) = (8e6, 6e6);
    let requests = recording_of(&hidden, 4_000);
    let fitted = fit(facts, &requests[..2_000]);
    let score = score(&fitted, &requests, 2_000);
    assert!(score.median < 0.04, "{}", score.median);
    assert!(score.mean.abs() < 0.02 && score.coverage > 0.8, "{} {}", score.mean, score.coverage);
    let way = |model: &Parameters, share: f64| {
        model.disk.read_overhead.value * 1e3 + Geometry::new(model).seek_over(share)
    };
    for share in [0.1, 0.3, 0.6] {
        let off = way(&fitted.parameters, share) / way(&hidden.parameters, share) - 1.0;
        assert!(off.abs() < 0.05, "overhead and a seek over {share} are off by {off}");
    }
}

#[test]
fn a_damaged_recording_is_refused_with_its_line() {
    for (text, says) in [
        ("op,lbn_512,blocks,response_us,gap_after_us\nR,1,2,3", "a.csv:2: expected op,lbn_512"),
        ("\nR,1,2,3,4\nX,1,2,3,4", "a.csv:3: op is neither R nor W: `X,1,2,3,4`"),
        ("\nR,1,2,nan,4", "a.csv:2: a time is no number of microseconds: `R,1,2,nan,4`"),
        ("\nR,1,0,3,4", "a.csv:2: a request without data or time: `R,1,0,3,4`"),
    ] {
        let error = read_requests("a.csv", text).expect_err("it is damaged");
        assert!(error.starts_with(says), "{error}");
    }
}

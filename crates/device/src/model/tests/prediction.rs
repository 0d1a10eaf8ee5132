//! What the model says of two disks striped, which no fit has seen: the table of `docs/models.md`,
//! all 21 rows of `devtest`, with one disk beside them.

use std::fmt::Write as _;

use super::super::random::Random;
use super::super::{Machine, Operation, Parameters, fit};

const CHUNKS_KIB: [u64; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
/// Long enough for two caches to fill even where the host is only a little faster than the media.
const WARM_UP_NANOSECONDS: u64 = 8_000_000_000;
/// Two spindles of nearly the same speed keep their phase for minutes: what reads is the mean over
/// pairs of disks.
const PAIRS: u64 = 6;
/// A mixed test's sizes: k sectors, k uniform from 1 to this.
const MIXED_SECTORS: u64 = 128;

/// Disks on one link, striped; one request at a time.
struct Striped {
    machine: Machine,
    disks: u64,
    chunk: u64,
    size: u64,
    now: u64,
}

impl Striped {
    fn new(parameters: &Parameters, Layout { disks, chunk }: Layout, seed: u64) -> Self {
        let mut machine = Machine::new(parameters);
        for disk in 0..disks {
            machine.add_disk(parameters, seed + disk);
        }
        let size = machine.capacity(0) / chunk * chunk * disks;
        Striped { machine, disks, chunk, size, now: 0 }
    }

    /// Splits a request, one command for each member, and waits for the last.
    fn request(&mut self, write: bool, offset: u64, length: u64) {
        let mut parts = [(0, 0); 2];
        let mut at = offset;
        while at < offset + length {
            let (index, inside) = (at / self.chunk, at % self.chunk);
            let piece = (self.chunk - inside).min(offset + length - at);
            let part = &mut parts[(index % self.disks) as usize];
            if part.1 == 0 {
                part.0 = index / self.disks * self.chunk + inside;
            }
            part.1 += piece;
            at += piece;
        }
        let mut waiting = 0;
        for (disk, &(offset, length)) in
            parts.iter().enumerate().filter(|(_, (_, length))| *length > 0)
        {
            let operation = if write {
                Operation::Write { offset, length, fua: false }
            } else {
                Operation::Read { offset, length }
            };
            self.machine.submit(self.now, disk, 0, 0, operation);
            waiting += 1;
        }
        while waiting > 0 {
            let next = self.machine.next().expect("a request in flight has a next event");
            self.machine.advance(next, &mut |answer| {
                waiting -= 1;
                self.now = answer.time;
            });
        }
    }

    /// KiB/s of a sequential test, after a warm-up.
    fn sequential(mut self, write: bool, at_end: bool, request: u64) -> f64 {
        let mut offset = if at_end { (self.size - (1 << 30)) / request * request } else { 0 };
        let (mut counted, mut began) = (0, 0);
        while self.now < WARM_UP_NANOSECONDS + 4_000_000_000 && offset + request <= self.size {
            self.request(write, offset, request);
            offset += request;
            if self.now < WARM_UP_NANOSECONDS {
                began = self.now;
            } else {
                counted += request;
            }
        }
        counted as f64 / 1024.0 / ((self.now - began) as f64 / 1e9)
    }

    /// KiB/s of a random test, after the caches have filled.
    fn random(mut self, write: bool, request: u64, counted: u64, cache: u64) -> f64 {
        let mut random = Random::new(7);
        let places = (self.size - request) / 512 + 1;
        let warm_up = if write { 3 * cache / request } else { 100 };
        for _ in 0..warm_up {
            self.request(write, random.below(places) * 512, request);
        }
        let began = self.now;
        for _ in 0..counted {
            self.request(write, random.below(places) * 512, request);
        }
        (counted * request) as f64 / 1024.0 / ((self.now - began) as f64 / 1e9)
    }

    /// A request of a mixed test; what it reads and writes, in bytes.
    fn mixed_request(&mut self, read_share: f64, random: &mut Random) -> [u64; 2] {
        let write = random.fraction() >= read_share;
        let length = 1 + random.below(MIXED_SECTORS);
        let offset = random.below(self.size / 512 - length + 1);
        self.request(write, offset * 512, length * 512);
        if write { [0, length * 512] } else { [length * 512, 0] }
    }

    /// KiB/s read and written of a mixed test, after the caches have filled.
    fn mixed(mut self, read_share: f64, counted: u64, cache: u64) -> [f64; 2] {
        let mut random = Random::new(7);
        for _ in 0..8 * cache / (512 * MIXED_SECTORS) * self.disks {
            self.mixed_request(read_share, &mut random);
        }
        // The same requests are counted whatever the layout.
        let mut random = Random::new(8);
        let (mut moved, began) = ([0; 2], self.now);
        for _ in 0..counted {
            let [read, written] = self.mixed_request(read_share, &mut random);
            moved = [moved[0] + read, moved[1] + written];
        }
        let seconds = (self.now - began) as f64 / 1e9;
        moved.map(|bytes| bytes as f64 / 1024.0 / seconds)
    }
}

/// What is measured: disks, and the chunk in which they are striped.
#[derive(Clone, Copy)]
struct Layout {
    disks: u64,
    chunk: u64,
}

/// One disk, whose chunks follow each other.
const ALONE: Layout = Layout { disks: 1, chunk: 64 << 10 };

fn pair(chunk: u64) -> Layout {
    Layout { disks: 2, chunk }
}

/// The mean time of what runs on pairs of disks, as a rate.
fn over_pairs(layout: Layout, rate: impl Fn(u64) -> f64) -> f64 {
    let seconds = |pair| 1.0 / rate(100 + layout.disks * pair);
    PAIRS as f64 / (0..PAIRS).map(seconds).sum::<f64>()
}

fn figure(
    parameters: &Parameters,
    layout: Layout,
    pattern: &str,
    write: bool,
    request: u64,
) -> f64 {
    let cache = parameters.disk.cache_size.value;
    let striped = |seed| Striped::new(parameters, layout, seed);
    match pattern {
        "at start" => striped(100).sequential(write, false, request),
        "at end" => striped(100).sequential(write, true, request),
        _ if write => striped(100).random(true, request, 6000, cache),
        _ => over_pairs(layout, |seed| striped(seed).random(false, request, 2500, 0)),
    }
}

/// KiB/s read and written of a mixed test.
fn mixed(parameters: &Parameters, layout: Layout, read_percent: u64) -> [f64; 2] {
    let cache = parameters.disk.cache_size.value;
    let of = |seed| {
        Striped::new(parameters, layout, seed).mixed(read_percent as f64 / 100.0, 2500, cache)
    };
    let all: Vec<[f64; 2]> = (0..PAIRS).map(|pair| of(100 + layout.disks * pair)).collect();
    [0, 1].map(|side| all.iter().map(|rates| rates[side]).sum::<f64>() / PAIRS as f64)
}

fn table(parameters: &Parameters) -> String {
    let layouts: Vec<Layout> =
        std::iter::once(ALONE).chain(CHUNKS_KIB.map(|chunk| pair(chunk << 10))).collect();
    let mut text = String::from("| test, KiB/s | request | one disk |");
    for chunk in CHUNKS_KIB {
        let _ = write!(text, " {chunk} KiB |");
    }
    text += "\n| --- | ---: |";
    text += &" ---: |".repeat(layouts.len());
    text.push('\n');
    let mut row = |name: &str, request: &str, rates: &[f64]| {
        let _ = write!(text, "| {name} | {request} |");
        for rate in rates {
            let _ = write!(text, " {rate:.1} |");
        }
        text.push('\n');
    };
    for (pattern, name) in [
        ("at start", "sequential {} at start"),
        ("at end", "sequential {} at end"),
        ("random", "random {}"),
    ] {
        for write in [false, true] {
            for request in [512, 16384, 65536] {
                let name = name.replace("{}", if write { "write" } else { "read" });
                let rates: Vec<f64> = layouts
                    .iter()
                    .map(|&layout| figure(parameters, layout, pattern, write, request))
                    .collect();
                row(&name, &request.to_string(), &rates);
            }
        }
    }
    for read_percent in [50, 90, 10] {
        let rates: Vec<[f64; 2]> =
            layouts.iter().map(|&layout| mixed(parameters, layout, read_percent)).collect();
        for (side, direction) in ["read", "write"].into_iter().enumerate() {
            let name = format!("mixed {read_percent}:{} {direction}", 100 - read_percent);
            let rates: Vec<f64> = rates.iter().map(|both| both[side]).collect();
            row(&name, "512-65536", &rates);
        }
    }
    text
}

fn fit_table(parameters: &Parameters) -> String {
    let mut text = String::from(
        "| test | request | published KiB/s | model KiB/s | error | |\n| --- | ---: | ---: | ---: \
        | ---: | --- |\n",
    );
    for row in fit::errors_built_in(parameters).expect("built in") {
        let used = if row.check { "check" } else { "fitted" };
        let (test, request, error) = (&row.test, &row.request_bytes, row.relative_error * 100.0);
        let _ = writeln!(
            text,
            "| {test} | {request} | {:.1} | {:.1} | {error:+.1} % | {used} |",
            row.published, row.model
        );
    }
    text
}

/// `RAIDLOOM_BLESS=1` writes the tables instead of comparing them.
#[test]
fn the_tables_in_the_documentation_are_what_the_model_says() {
    let parameters = Parameters::load("maxtor-6y200p0").expect("a built-in model");
    testkit::golden::check_blocks(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md"),
        &[("fit", &fit_table(&parameters)), ("prediction", &table(&parameters))],
    );
}

/// Small chunks make both members turn to every request: the slower of two waits for the platter is
/// 2/3 of a revolution on the mean, not 1/2. Large chunks leave most requests to one.
#[test]
fn small_chunks_make_random_reads_wait_for_the_slower_platter() {
    let mut parameters = super::parameters();
    // Spindles that drift apart fast, so that the run sees every phase between them.
    parameters.disk.spindle_tolerance.value = 0.02;
    let period_ms = parameters.disk.revolution.value;
    let time_ms = |chunk| 64.0 * 1e3 / figure(&parameters, pair(chunk), "random", false, 64 << 10);
    let (small, large) = (time_ms(4 << 10), time_ms(8 << 20));
    let both_ms = 32.0 * 1024.0 * 2e3
        / (parameters.disk.rate_at_start.value + parameters.disk.rate_at_end.value);
    let expected = large + period_ms / 6.0 - both_ms;
    assert!(
        (small / expected - 1.0).abs() < 0.01,
        "{small} ms at small chunks, expected {expected} ms"
    );
}

#[test]
fn random_sectors_gain_nothing_when_read_and_nearly_double_when_written() {
    let parameters = super::parameters();
    let alone = |write| super::single(&parameters, write, 512) / 1024.0;
    let striped = |write| figure(&parameters, pair(64 << 10), "random", write, 512);
    assert!((striped(false) / alone(false) - 1.0).abs() < 0.02);
    assert!(
        (1.9..2.05).contains(&(striped(true) / alone(true))),
        "{} times as fast",
        striped(true) / alone(true)
    );
}

#[test]
fn sequential_reads_of_two_disks_are_bound_by_overhead_and_bus() {
    let parameters = super::parameters();
    let (disk, link) = (&parameters.disk, &parameters.link);
    let request = 64 << 10;
    let rate = figure(&parameters, pair(4 << 10), "at start", false, request) * 1024.0;
    let seconds = disk.read_overhead.value / 1e6
        + 2.0 * link.command_time.value / 1e6
        + request as f64 / link.bandwidth.value;
    assert!((rate * seconds / request as f64 - 1.0).abs() < 0.005, "{rate} bytes/s");
}

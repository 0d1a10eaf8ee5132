//! The access patterns of the suite `devtest` on one modelled disk, one request outstanding.
//!
//! The fit and `raidloom model show` need a row's figure without the rest of a stack. A figure is
//! that of the steady state: what comes before the cache has filled is not counted.

use super::machine::Machine;
use super::parameters::Parameters;
use super::random::Random;
use super::request::Operation;

/// Where and how a single-direction test accesses the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One request after the other from the first byte on.
    SequentialAtStart,
    /// One request after the other in the last part of the disk.
    SequentialAtEnd,
    /// Uniform over the whole disk.
    Random,
}

/// A test of one direction and one request size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// Where the requests go.
    pub pattern: Pattern,
    /// Writes, or else reads.
    pub write: bool,
    /// Size of every request.
    pub request_bytes: u64,
}

/// What a disk did in a period of modelled time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Requests a second.
    pub io_per_second: f64,
    /// Data a second.
    pub bytes_per_second: f64,
}

const SECTOR_BYTES: u64 = 512;
/// Where the tests at the end of the disk begin, counted from its end.
const REGION_BYTES: u64 = 1 << 30;
const WARM_UP_NANOSECONDS: u64 = 2_000_000_000;
const SEQUENTIAL_NANOSECONDS: u64 = 8_000_000_000;
const RANDOM_REQUESTS: u64 = 40_000;
/// A mixed test's sizes: k sectors, k uniform from 1 to this.
const MIXED_SECTORS: u64 = 128;

/// One client with one request at a time.
struct Driver {
    machine: Machine,
    now: u64,
}

impl Driver {
    fn new(parameters: &Parameters, seed: u64) -> Self {
        let mut machine = Machine::new(parameters);
        machine.add_disk(parameters, seed);
        Driver { machine, now: 0 }
    }

    /// Hands a request in and lets time pass until it is answered.
    fn request(&mut self, operation: Operation) {
        self.machine.submit(self.now, 0, 0, 0, operation);
        let mut answered = None;
        while answered.is_none() {
            let next = self.machine.next().expect("a request in flight has a next event");
            self.machine.advance(next, &mut |answer| answered = Some(answer.time));
        }
        self.now = answered.unwrap_or(self.now);
    }
}

fn operation(write: bool, offset: u64, length: u64) -> Operation {
    if write {
        Operation::Write { offset, length, fua: false }
    } else {
        Operation::Read { offset, length }
    }
}

/// What the disk does in one test.
#[must_use]
pub fn replay(parameters: &Parameters, test: Test, seed: u64) -> Rate {
    if test.pattern == Pattern::Random {
        return random(parameters, test, RANDOM_REQUESTS, seed);
    }
    let mut driver = Driver::new(parameters, seed);
    let capacity = driver.machine.capacity(0);
    let region = REGION_BYTES.min(capacity / 2) / SECTOR_BYTES * SECTOR_BYTES;
    let (first, end) = if test.pattern == Pattern::SequentialAtStart {
        (0, capacity)
    } else {
        (capacity - region, capacity)
    };
    let mut offset = first;
    let (mut requests, mut began) = (0, 0);
    while offset + test.request_bytes <= end
        && driver.now < WARM_UP_NANOSECONDS + SEQUENTIAL_NANOSECONDS
    {
        driver.request(operation(test.write, offset, test.request_bytes));
        offset += test.request_bytes;
        if driver.now < WARM_UP_NANOSECONDS {
            began = driver.now;
        } else {
            requests += 1;
        }
    }
    rate(requests, requests * test.request_bytes, driver.now - began)
}

/// A random test with a number of counted requests; writes first fill the cache twice over.
#[must_use]
pub fn random(parameters: &Parameters, test: Test, counted_requests: u64, seed: u64) -> Rate {
    let mut driver = Driver::new(parameters, seed);
    let mut random = Random::new(seed ^ 0x7261_6E64);
    let places = (driver.machine.capacity(0) - test.request_bytes) / SECTOR_BYTES + 1;
    let warm_up =
        if test.write { 2 * parameters.disk.cache_size.value / test.request_bytes } else { 100 };
    for _ in 0..warm_up {
        driver.request(operation(
            test.write,
            random.below(places) * SECTOR_BYTES,
            test.request_bytes,
        ));
    }
    let began = driver.now;
    for _ in 0..counted_requests {
        driver.request(operation(
            test.write,
            random.below(places) * SECTOR_BYTES,
            test.request_bytes,
        ));
    }
    rate(counted_requests, counted_requests * test.request_bytes, driver.now - began)
}

/// The mixed test: each request a read with this probability, of a random size, anywhere. What the
/// reads did and what the writes did.
#[must_use]
pub fn mixed(parameters: &Parameters, read_share: f64, seed: u64) -> (Rate, Rate) {
    let mut driver = Driver::new(parameters, seed);
    let mut random = Random::new(seed ^ 0x6D69_7865);
    let sectors = driver.machine.capacity(0) / SECTOR_BYTES;
    let (mut requests, mut bytes) = ([0u64; 2], [0u64; 2]);
    // The cache must have filled, if it ever does, before anything counts.
    let warm_up = 8 * parameters.disk.cache_size.value / (SECTOR_BYTES * MIXED_SECTORS);
    let mut began = 0;
    for count in 0..warm_up + RANDOM_REQUESTS {
        if count == warm_up {
            began = driver.now;
        }
        let write = random.fraction() >= read_share;
        let length = 1 + random.below(MIXED_SECTORS);
        let offset = random.below(sectors - length + 1);
        driver.request(operation(write, offset * SECTOR_BYTES, length * SECTOR_BYTES));
        if count >= warm_up {
            requests[usize::from(write)] += 1;
            bytes[usize::from(write)] += length * SECTOR_BYTES;
        }
    }
    let passed = driver.now - began;
    (rate(requests[0], bytes[0], passed), rate(requests[1], bytes[1], passed))
}

/// Random requests of one size within the first `span` bytes, each a write with this probability.
#[must_use]
pub fn span(
    parameters: &Parameters,
    span: u64,
    request_bytes: u64,
    write_share: f64,
    seed: u64,
) -> Rate {
    let mut driver = Driver::new(parameters, seed);
    let mut random = Random::new(seed ^ 0x7370_616E);
    let places = span / request_bytes;
    let warm_up = 2 * parameters.disk.cache_size.value / request_bytes;
    let mut began = 0;
    for count in 0..warm_up + RANDOM_REQUESTS {
        if count == warm_up {
            began = driver.now;
        }
        let write = random.fraction() < write_share;
        driver.request(operation(write, random.below(places) * request_bytes, request_bytes));
    }
    rate(RANDOM_REQUESTS, RANDOM_REQUESTS * request_bytes, driver.now - began)
}

fn rate(requests: u64, bytes: u64, nanoseconds: u64) -> Rate {
    let seconds = nanoseconds.max(1) as f64 / 1e9;
    Rate { io_per_second: requests as f64 / seconds, bytes_per_second: bytes as f64 / seconds }
}

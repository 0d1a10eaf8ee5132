//! The raw-device test of 2004: sequential at the start and at the end, random, and mixed.
//!
//! ```text
//! device   |=======>                                                              =======>|
//!           at start                                                                at end      512, 16384, 65536 bytes
//!          |    <=>   <=>       <=>  <=>             <=>     <=>            <=>            |
//!           random: uniform over the whole device                                              512, 16384, 65536 bytes
//!           mixed 50:50, 90:10, 10:90 (reads : writes by number)                        k x 512 bytes, k from 1 to 128
//! ```
//!
//! * One request is outstanding unless told otherwise.
//! * Sequential tests run in a region at one end of the device, ascending, and begin again when it
//!   is used up. The region is at most half the device, so that the two never meet; the one at the
//!   end ends with the device.
//! * Random places are multiples of the device's block, not of the request: as in 2004 every place
//!   is possible.
//! * Every test starts from a flushed, idle device. The rate is that of acknowledged writes;
//!   `durable_` metrics count the flush that follows as well, and the ramp, whose writes it makes
//!   durable too.
//! * A test that writes at random begins with empty write caches, and a short one may measure
//!   little else. In 2004 each test ran long enough for that not to matter; [`Settings::ramp`] cuts
//!   off its beginning. Sequential writes are no faster into a cache than through it, and reads do
//!   not fill it, so other tests have no ramp.
//!
//! ## What is verified
//!
//! [`prepare`] fills what the tests will read with data that name their place ([`crate::pattern`]).
//! Every read is held against the last write to each of its sectors at once, by the sectors' marks
//! or by every byte ([`Verify`]); every place that a test wrote is read back after it, and
//! everything when the tests are over ([`read_back`]), outside their time, and then every byte is
//! compared. A device that keeps no data (`null:`, modelled disks) is only measured.

mod definition;

use std::time::Duration;

use block::{Clock, Device, Error, Info, Reactor, SECTOR_BYTES};
use reactor::derive_seed;
use results::doubt::UnverifiedReason;
use results::{BetterDirection, Doubt, Group};
use serde::{Serialize, Serializer};
use words::{Text, statement};

use crate::catalogue::A_FLUSH;
use crate::known::{VerifiedContent, WriteLedger, joined};
use crate::load::{
    self, Access, Content, Direction, Hooks, Load, Mixed, Mixture, Requests, Sample, Sequential,
    Syncs, Uniform, UnverifiedContent,
};
use crate::suite::catalogue;

use super::{rounds, steps};

pub use definition::SUITE;
pub(super) use definition::measure_all;

/// Name of the suite.
pub const NAME: &str = "devtest";
/// Largest size of the mixed tests, in sectors of 512 bytes.
const MIXED_SECTORS_MAX: u32 = 128;

/// Which end of the device a sequential test works at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceEnd {
    /// From offset 0 on.
    Start,
    /// Up to the last byte.
    End,
}

/// What a test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Adjacent ascending requests.
    Sequential {
        /// Which way.
        direction: Direction,
        /// At which end.
        place: DeviceEnd,
        /// Size of a request in bytes.
        request_bytes: u32,
    },
    /// Uniformly placed requests.
    Random {
        /// Which way.
        direction: Direction,
        /// Size of a request in bytes.
        request_bytes: u32,
    },
    /// Uniformly placed requests of random sizes, reads and writes.
    Mixed {
        /// How many of 100 requests are reads.
        read_percent: u32,
    },
    /// What the suite `load` was told.
    Load(Mixture),
}

/// Size of a test's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBytes {
    /// All of one size.
    Fixed(u32),
    /// From the first to the second.
    Range(u32, u32),
}

impl Serialize for RequestBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RequestBytes::Fixed(bytes) => serializer.serialize_u32(*bytes),
            RequestBytes::Range(..) => serializer.collect_str(self),
        }
    }
}

impl std::fmt::Display for RequestBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RequestBytes::Fixed(bytes) => write!(f, "{bytes}"),
            RequestBytes::Range(from, to) => write!(f, "{from}-{to}"),
        }
    }
}

/// One test of the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Name without the request size, for example `sequential read at start`.
    pub name: String,
    /// Name within a plan, unique in the suite: `sequential read at start 512`, `mixed 50:50`.
    pub workload: String,
    /// Size of its requests.
    pub request_bytes: RequestBytes,
    /// Kind of access.
    pub group: Group,
    /// The metric that verdicts are about.
    pub metric: &'static str,
    /// Which direction of that metric is better.
    pub better: BetterDirection,
    /// What it does.
    pub kind: Kind,
}

impl Test {
    pub(super) fn new(kind: Kind) -> Test {
        let name = match kind {
            Kind::Sequential { direction, place: DeviceEnd::Start, .. } => {
                format!("sequential {} at start", direction.name())
            }
            Kind::Sequential { direction, place: DeviceEnd::End, .. } => {
                format!("sequential {} at end", direction.name())
            }
            Kind::Random { direction, .. } => format!("random {}", direction.name()),
            Kind::Mixed { read_percent } => format!("mixed {read_percent}:{}", 100 - read_percent),
            Kind::Load(_) => "load".to_owned(),
        };
        let (group, request_bytes) = match kind {
            Kind::Sequential { request_bytes, .. } => {
                (Group::Sequential, RequestBytes::Fixed(request_bytes))
            }
            Kind::Random { request_bytes, .. } => {
                (Group::Random, RequestBytes::Fixed(request_bytes))
            }
            Kind::Mixed { .. } => {
                let sector = SECTOR_BYTES as u32;
                (Group::Mixed, RequestBytes::Range(sector, MIXED_SECTORS_MAX * sector))
            }
            Kind::Load(mixture) => {
                let (least, most) = mixture.sizes.bounds();
                (mixture.group(), RequestBytes::Range(least, most))
            }
        };
        let workload = match request_bytes {
            RequestBytes::Fixed(bytes) => format!("{name} {bytes}"),
            RequestBytes::Range(..) => name.clone(),
        };
        Test {
            name,
            workload,
            request_bytes,
            group,
            metric: "throughput_bytes_per_second",
            better: BetterDirection::Higher,
            kind,
        }
    }

    /// Its lines in the table of 2004: their names, and how the figures of each begin. A mixed test
    /// has one for each direction.
    #[must_use]
    pub fn lines(&self) -> Vec<(String, &'static str)> {
        let sides: &[_] = match self.kind {
            Kind::Mixed { .. } => &[(" read", "read_"), (" write", "write_")],
            _ => &[("", "")],
        };
        sides.iter().map(|(way, side)| (format!("{}{way}", self.name), *side)).collect()
    }

    /// Whether it writes all over the device, so that a write cache has to fill before the rate is
    /// steady.
    #[must_use]
    pub fn writes_at_random(&self) -> bool {
        self.writes() && !matches!(self.kind, Kind::Sequential { .. })
    }

    /// Whether it changes what is on the device.
    #[must_use]
    pub fn writes(&self) -> bool {
        match self.kind {
            Kind::Sequential { direction, .. } | Kind::Random { direction, .. } => {
                direction == Direction::Write
            }
            Kind::Mixed { read_percent } => read_percent < 100,
            Kind::Load(mixture) => mixture.writes(),
        }
    }

    /// Whether it reads and writes.
    #[must_use]
    pub fn has_both_sides(&self) -> bool {
        match self.kind {
            Kind::Sequential { .. } | Kind::Random { .. } => false,
            Kind::Mixed { .. } => true,
            Kind::Load(mixture) => mixture.writes() && mixture.reads(),
        }
    }

    /// Why it cannot run on a device, if it cannot.
    pub(super) fn impossible(&self, info: &Info, settings: &Settings) -> Option<Text> {
        if self.writes() && settings.read_only {
            return Some(catalogue::WRITES_NOT_ASKED.into());
        }
        if self.writes() && info.read_only {
            return Some(catalogue::WRITES_TO_READ_ONLY.into());
        }
        let longest = match self.request_bytes {
            RequestBytes::Fixed(bytes) if !bytes.is_multiple_of(info.block_bytes) => {
                return Some(statement!(catalogue::BLOCK_IS_LARGER, bytes = info.block_bytes));
            }
            RequestBytes::Fixed(bytes) => bytes,
            RequestBytes::Range(_, to) => to.next_multiple_of(info.block_bytes),
        };
        if longest > info.max_request_bytes {
            let most = info.max_request_bytes;
            return Some(statement!(catalogue::REQUESTS_ARE_SHORTER, bytes = most));
        }
        if u64::from(longest) > info.size_bytes / 2 {
            return Some(statement!(catalogue::DEVICE_HAS_ONLY, bytes = info.size_bytes));
        }
        None
    }
}

/// The tests in the order of 2004.
#[must_use]
pub fn tests() -> Vec<Test> {
    const SIZES_BYTES: [u32; 3] = [512, 16384, 65536];
    let mut tests = Vec::new();
    for direction in [Direction::Read, Direction::Write] {
        for place in [DeviceEnd::Start, DeviceEnd::End] {
            tests.extend(SIZES_BYTES.map(|request_bytes| {
                Test::new(Kind::Sequential { direction, place, request_bytes })
            }));
        }
        tests.extend(
            SIZES_BYTES.map(|request_bytes| Test::new(Kind::Random { direction, request_bytes })),
        );
    }
    tests.extend([50, 90, 10].map(|read_percent| Test::new(Kind::Mixed { read_percent })));
    tests
}

/// How much is compared of what a test reads inside its time. What is read back outside of it is
/// compared byte by byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Nothing, and nothing is read back; writes carry data made once.
    Off,
    /// The mark in every 512 bytes, 32 of them: finds lost, misdirected and torn requests.
    #[default]
    Words,
    /// Every byte.
    Full,
}

/// How the suite is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests outstanding; 1 in 2004.
    pub depth: u32,
    /// How long a test issues requests, on the reactor's clock.
    pub time_per_test: Duration,
    /// How many requests a test issues at most.
    pub max_operations_per_test: Option<u64>,
    /// Time at the start of each test that writes at random which is not counted.
    pub ramp: Duration,
    /// Whether tests that write are repeated in rounds until they are steady by SNIA's rule
    /// ([`results::steady`]).
    pub steady: bool,
    /// What is checked.
    pub verify: Verify,
    /// Only the tests that read, and nothing that writes is ever sent; the content is not known
    /// beforehand.
    pub read_only: bool,
    /// Where random requests go.
    pub seed: u64,
    /// Which of several rounds of a test this is: each goes to other places.
    pub round: u64,
    /// What the data say of themselves. With the seed of an earlier run on the same device a write
    /// lost in preparing could be hidden by that run's equal data, so real runs should draw one.
    pub data_seed: u64,
    /// The longest region of a sequential test in bytes.
    pub region_bytes: u64,
    /// Devices up to this size are filled before the reads; of larger ones the regions and the
    /// first random places are.
    pub prepare_bytes: u64,
    /// How many random places of each test are prepared on a larger device.
    pub prepare_places: u64,
    /// How many bytes of the device are prepared, and used by a load; none is all of them.
    pub used_bytes: Option<u64>,
    /// Which writes of a load are durable at once.
    pub syncs: Syncs,
    /// How long each of a load's outstanding requests waits before it goes on.
    pub think: Duration,
    /// What is written where nothing is compared.
    pub content: UnverifiedContent,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            depth: 1,
            time_per_test: Duration::from_secs(3),
            max_operations_per_test: None,
            ramp: Duration::ZERO,
            steady: false,
            verify: Verify::Words,
            read_only: false,
            seed: 1,
            round: 0,
            data_seed: 1,
            region_bytes: 512 << 20,
            prepare_bytes: 1 << 30,
            prepare_places: 1024,
            used_bytes: None,
            syncs: Syncs::default(),
            think: Duration::ZERO,
            content: UnverifiedContent::default(),
        }
    }
}

impl Verify {
    /// The one that the setting `verify` of a suite says.
    pub(super) fn of(word: &str) -> Verify {
        match word {
            "off" => Verify::Off,
            "full" => Verify::Full,
            _ => Verify::Words,
        }
    }
}

impl Settings {
    fn region_bytes(&self, info: &Info) -> u64 {
        let region = self
            .region_bytes
            .min(info.size_bytes / 2)
            .max(u64::from(steps::PIECE_BYTES).min(info.size_bytes / 2));
        region - region % u64::from(info.block_bytes)
    }

    fn random_seed(&self, test: &Test) -> u64 {
        derive_seed(self.seed, &test.workload, self.round)
    }

    fn sequential(
        &self,
        info: &Info,
        direction: Direction,
        place: DeviceEnd,
        request_bytes: u32,
    ) -> Sequential {
        let region = self.region_bytes(info);
        let whole = region - region % u64::from(request_bytes);
        let start = match place {
            DeviceEnd::Start => 0,
            DeviceEnd::End => info.size_bytes - whole,
        };
        Sequential::new(direction, start, whole, request_bytes)
    }

    fn uniform(
        &self,
        info: &Info,
        test: &Test,
        direction: Direction,
        request_bytes: u32,
    ) -> Uniform {
        Uniform::new(
            direction,
            info.size_bytes,
            info.block_bytes,
            request_bytes,
            self.random_seed(test),
        )
    }

    fn used_bytes(&self, info: &Info) -> u64 {
        let used = self.used_bytes.unwrap_or(u64::MAX).min(info.size_bytes);
        used - used % u64::from(info.block_bytes)
    }

    fn mixture(&self, info: &Info, test: &Test, mixture: &Mixture) -> impl Requests + use<> {
        mixture.requests(self.used_bytes(info), info.block_bytes, self.random_seed(test))
    }

    fn mixed(&self, info: &Info, test: &Test, read_percent: u32) -> Mixed {
        let share = f64::from(read_percent) / 100.0;
        Mixed::new(
            share,
            MIXED_SECTORS_MAX,
            info.size_bytes,
            info.block_bytes,
            self.random_seed(test),
        )
    }
}

/// What is known of a device's content before a test, and after it.
#[derive(Debug)]
pub struct PreparedContent {
    known: WriteLedger,
    size_bytes: u64,
    /// Bytes that were written for the tests to read.
    pub written_bytes: u64,
}

/// Fills what these tests will read, and flushes.
///
/// Nothing is written with `read_only`, to a read-only device, or to one that keeps no data. When
/// the caller stops it, the rest stays unknown, which is no error.
///
/// # Errors
/// The first write that failed, or the flush.
pub fn prepare(
    device: &dyn Device,
    reactor: &Reactor,
    tests: &[Test],
    settings: &Settings,
    hooks: &mut Hooks<'_>,
) -> Result<PreparedContent, Error> {
    let info = device.info();
    // A device without content needs no memory of it.
    let size_bytes = if info.stores_data { info.size_bytes } else { 0 };
    let mut prepared = PreparedContent {
        known: WriteLedger::new(size_bytes, settings.data_seed),
        size_bytes: info.size_bytes,
        written_bytes: 0,
    };
    if settings.read_only || info.read_only || !info.stores_data {
        return Ok(prepared);
    }
    let used_bytes = settings.used_bytes(info);
    let ranges = if used_bytes <= settings.prepare_bytes {
        vec![(0, used_bytes)]
    } else {
        read_places(info, tests, settings)
    };
    let what = (Direction::Write, ranges, info.block_bytes);
    let written = match settings.content {
        UnverifiedContent::Random => {
            let mut content = VerifiedContent::new(&mut prepared.known, false);
            steps::cover((device, reactor), what, &mut content, hooks)
        }
        // They name no place.
        mut zeros => steps::cover((device, reactor), what, &mut zeros, hooks),
    };
    let flushed = written.and_then(|sample| steps::flush(device, reactor, A_FLUSH).map(|_| sample));
    prepared.written_bytes =
        flushed.map_err(|error| error.at(catalogue::PREPARING_DEVICE))?.write.bytes;
    Ok(prepared)
}

/// Where the tests read: both regions, and the first places of every random test.
fn read_places(info: &Info, tests: &[Test], settings: &Settings) -> Vec<(u64, u64)> {
    fn first(mut requests: impl Requests, count: u64) -> impl Iterator<Item = (u64, u64)> {
        (0..count)
            .map_while(move |_| requests.next())
            .filter(|access| access.direction == Direction::Read)
            .map(|Access { offset, length, .. }| (offset, offset + u64::from(length)))
    }
    let region = settings.region_bytes(info);
    let mut ranges = Vec::new();
    for test in tests.iter().filter(|test| test.impossible(info, settings).is_none()) {
        match test.kind {
            Kind::Sequential { direction: Direction::Read, place: DeviceEnd::Start, .. } => {
                ranges.push((0, region));
            }
            Kind::Sequential { direction: Direction::Read, place: DeviceEnd::End, .. } => {
                ranges.push((info.size_bytes - region, info.size_bytes));
            }
            Kind::Load(mixture) => ranges
                .extend(first(settings.mixture(info, test, &mixture), settings.prepare_places)),
            Kind::Random { direction: Direction::Read, request_bytes } => {
                ranges.extend(first(
                    settings.uniform(info, test, Direction::Read, request_bytes),
                    settings.prepare_places,
                ));
            }
            Kind::Mixed { read_percent } => {
                ranges.extend(first(
                    settings.mixed(info, test, read_percent),
                    settings.prepare_places,
                ));
            }
            _ => (),
        }
    }
    joined(ranges)
}

/// What came of a test.
#[derive(Debug)]
pub enum Outcome {
    /// It was measured.
    Measured(Box<TestFigures>),
    /// It was not run, for this reason.
    Skipped(Text),
    /// The caller stopped it: there is no figure.
    Stopped,
}

/// The figures of one test.
#[derive(Debug)]
pub struct TestFigures {
    /// Counts and latencies.
    pub sample: Sample,
    /// How long the flush after a test that writes took.
    pub flush: Option<Duration>,
    /// Bytes read during the test that were checked.
    pub checked_bytes: u64,
    /// Bytes read back after the test and checked.
    pub read_back_bytes: u64,
    /// What its reader should know.
    pub notes: Vec<Doubt>,
}

/// A test and what came of it.
#[derive(Debug)]
pub struct TestResult {
    /// The test.
    pub test: Test,
    /// What came of it.
    pub outcome: Outcome,
}

/// Runs one test.
///
/// # Errors
/// The first request that failed, or data that are not what was written
/// ([`ErrorKind::Corrupt`](block::ErrorKind::Corrupt)), with the test's name, the request and the
/// offset.
///
/// # Panics
/// When `prepared` comes from a device of another size.
pub fn run_test(
    device: &dyn Device,
    reactor: &Reactor,
    test: &Test,
    settings: &Settings,
    prepared: &mut PreparedContent,
    hooks: &mut Hooks<'_>,
) -> Result<TestResult, Error> {
    let info = device.info();
    assert_eq!(prepared.size_bytes, info.size_bytes, "the device was prepared");
    let outcome = match test.impossible(info, settings) {
        Some(reason) => Outcome::Skipped(reason),
        None => {
            let mut running = Running { device, reactor, info, test, settings, notes: Vec::new() };
            running.measure(prepared, hooks).map_err(|error| error.at(&test.workload))?
        }
    };
    Ok(TestResult { test: test.clone(), outcome })
}

/// Reads everything of which it is known what it should be, and compares every byte. Returns how
/// many were compared.
///
/// When the caller stops it, the rest stays unread, which is no error.
///
/// # Errors
/// The first read that failed, or data that are not what was written.
pub fn read_back(
    device: &dyn Device,
    reactor: &Reactor,
    settings: &Settings,
    prepared: &mut PreparedContent,
    hooks: &mut Hooks<'_>,
) -> Result<u64, Error> {
    let info = device.info();
    if settings.verify == Verify::Off || !info.stores_data {
        return Ok(0);
    }
    let what = (Direction::Read, prepared.known.written_after(0), info.block_bytes);
    let mut content = VerifiedContent::new(&mut prepared.known, true);
    steps::cover((device, reactor), what, &mut content, hooks)
        .map_err(|error| error.at(catalogue::READING_TESTS_BACK))?;
    Ok(content.checked_bytes)
}

struct Running<'a> {
    device: &'a dyn Device,
    reactor: &'a Reactor,
    info: &'a Info,
    test: &'a Test,
    settings: &'a Settings,
    notes: Vec<Doubt>,
}

impl Running<'_> {
    fn measure(
        &mut self,
        prepared: &mut PreparedContent,
        hooks: &mut Hooks<'_>,
    ) -> Result<Outcome, Error> {
        let writes = self.test.writes();
        let verify = self.verify();
        if !self.settings.read_only {
            steps::flush(self.device, self.reactor, catalogue::FLUSH_BEFORE_TEST)?;
        }
        let before = prepared.known.last_generation();
        let mut checked_bytes = 0;
        let (sample, mut flush) = if verify == Verify::Off {
            if writes {
                prepared.known.clear();
            }
            let mut content = self.settings.content;
            self.rounds(u64::MAX, &mut content, hooks)?
        } else {
            prepared.known.make_room();
            let writes_left = prepared.known.writes_left();
            let mut content = VerifiedContent::new(&mut prepared.known, verify == Verify::Full);
            let (sample, flush) =
                self.rounds(if writes { writes_left } else { u64::MAX }, &mut content, hooks)?;
            checked_bytes = content.checked_bytes;
            self.note_unchecked(content.checked_bytes, content.unknown_bytes);
            let before = &sample.ramp.moved;
            if writes && sample.operations() + before.reads + before.writes >= writes_left {
                self.notes.push(Doubt::EndedEarly { requests: writes_left });
            }
            (sample, flush)
        };
        if sample.stopped {
            return Ok(Outcome::Stopped);
        }
        let mut read_back_bytes = 0;
        if writes {
            if flush.is_none() {
                flush = Some(self.flushed()?);
            }
            if verify != Verify::Off {
                let ranges = prepared.known.written_after(before);
                let what = (Direction::Read, ranges, self.info.block_bytes);
                let mut content = VerifiedContent::new(&mut prepared.known, true);
                let mut quiet = Hooks { stop: hooks.stop, progress: None };
                let read_back =
                    steps::cover((self.device, self.reactor), what, &mut content, &mut quiet);
                if read_back.map_err(|error| error.at(catalogue::READING_WRITES_BACK))?.stopped {
                    return Ok(Outcome::Stopped);
                }
                read_back_bytes = content.checked_bytes;
            }
        }
        let notes = std::mem::take(&mut self.notes);
        Ok(Outcome::Measured(Box::new(TestFigures {
            sample,
            flush,
            checked_bytes,
            read_back_bytes,
            notes,
        })))
    }

    fn verify(&mut self) -> Verify {
        let are_rounded = match self.test.kind {
            Kind::Sequential { .. } | Kind::Random { .. } => false,
            Kind::Mixed { .. } => u64::from(self.info.block_bytes) > SECTOR_BYTES,
            Kind::Load(mixture) => mixture.sizes.are_rounded(self.info.block_bytes),
        };
        if are_rounded {
            self.notes.push(Doubt::SizesRounded { block_bytes: self.info.block_bytes });
        }
        if self.settings.verify == Verify::Off {
            if self.reactor.clock() == Clock::Wall {
                self.notes.push(Doubt::Unverified { because: UnverifiedReason::TurnedOff });
            }
            return Verify::Off;
        }
        if self.info.stores_data {
            return self.settings.verify;
        }
        let because = match self.info.modelled {
            true => UnverifiedReason::Modelled,
            false => UnverifiedReason::NoData,
        };
        self.notes.push(Doubt::Unverified { because });
        Verify::Off
    }

    fn note_unchecked(&mut self, checked_bytes: u64, unknown_bytes: u64) {
        if unknown_bytes > 0 {
            let share = unknown_bytes as f64 / (checked_bytes + unknown_bytes) as f64;
            self.notes.push(Doubt::PartlyUnverified { share });
        }
    }

    /// Flushes, and says how long that took.
    fn flushed(&self) -> Result<Duration, Error> {
        steps::flush(self.device, self.reactor, catalogue::FLUSH_AFTER_TEST)
    }

    /// The load once; where it writes and is to be steady, in rounds until it is, with the time of
    /// their flushes.
    fn rounds<C: Content>(
        &mut self,
        operations_max: u64,
        content: &mut C,
        hooks: &mut Hooks<'_>,
    ) -> Result<(Sample, Option<Duration>), Error> {
        if !(self.settings.steady && self.test.writes()) {
            return Ok((self.load(self.settings, operations_max, content, hooks)?, None));
        }
        let mut notes = std::mem::take(&mut self.notes);
        let found = rounds::until_steady(operations_max, &mut notes, |round, left| {
            let settings = Settings {
                round,
                ramp: if round == 0 { self.settings.ramp } else { Duration::ZERO },
                ..self.settings.clone()
            };
            let sample = self.load(&settings, left, content, hooks)?;
            let flush = if sample.stopped { Duration::ZERO } else { self.flushed()? };
            Ok((sample, flush))
        });
        self.notes = notes;
        found
    }

    fn load<C: Content>(
        &self,
        settings: &Settings,
        operations_max: u64,
        content: &mut C,
        hooks: &mut Hooks<'_>,
    ) -> Result<Sample, Error> {
        let Running { device, reactor, info, test, .. } = self;
        let load = Load {
            depth: settings.depth,
            ramp: if test.writes_at_random() { settings.ramp } else { Duration::ZERO },
            time: Some(settings.time_per_test),
            operations: Some(
                settings.max_operations_per_test.unwrap_or(u64::MAX).min(operations_max),
            ),
            syncs: settings.syncs,
            think: settings.think,
            ..Load::default()
        };
        match test.kind {
            Kind::Sequential { direction, place, request_bytes } => load::run(
                *device,
                reactor,
                &load,
                &mut settings.sequential(info, direction, place, request_bytes),
                content,
                hooks,
            ),
            Kind::Random { direction, request_bytes } => load::run(
                *device,
                reactor,
                &load,
                &mut settings.uniform(info, test, direction, request_bytes),
                content,
                hooks,
            ),
            Kind::Mixed { read_percent } => load::run(
                *device,
                reactor,
                &load,
                &mut settings.mixed(info, test, read_percent),
                content,
                hooks,
            ),
            Kind::Load(mixture) => load::run(
                *device,
                reactor,
                &load,
                &mut settings.mixture(info, test, &mixture),
                content,
                hooks,
            ),
        }
    }
}

impl TestResult {
    /// The figures, if it was measured.
    #[must_use]
    pub fn measured(&self) -> Option<&TestFigures> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Skipped(_) | Outcome::Stopped => None,
        }
    }
}

#[cfg(test)]
mod tests;

//! The load generator: keeps a fixed number of requests outstanding on one channel, and counts and
//! times them.
//!
//! ```text
//!      +--> prepare (next access, buffer, data) --> submit --+
//!      |                                                     |
//!   refill the free slots                                  poll: nothing? wait
//!      |                                                     |
//!      +-- count, time, check what was read <-- completions -+
//! ```
//!
//! * One thread, one channel, one reactor; [`run`] is one such loop. A load from several threads is
//!   several of them, each on a reactor of its own, on the same shared device.
//! * The clock is read once for each batch of completions and once for each batch of submissions. A
//!   latency ends when the owner finds the completion and begins when the request is handed over,
//!   after its data were made.
//! * While requests are issued, an answer is waited for without a limit, as the kernel has limits
//!   of its own; a signal lets the caller decide. Once no more are issued, two minutes without an
//!   answer end the run.
//! * Nothing is allocated for a request: every slot owns its buffers, and they come back with the
//!   completion.
//! * Everything that was issued is counted, and the elapsed time ends with the last completion:
//!   exact counts, and the tail during which fewer requests are outstanding belongs to the time.
//! * Making and checking data is the generator's own work and part of the elapsed time, though of
//!   no latency; `cpu_seconds` shows it. [`UnverifiedContent`] does neither.

mod mixture;

use std::collections::VecDeque;
use std::time::Duration;

use block::{
    Buf, BufMut, Channel, Clock, Completion, Device, Error, ErrorKind, Op, Reactor, Request,
    ReturnedBuffer, SECTOR_BYTES, Time, Traffic,
};
use reactor::{Random, WakeReason};

use results::steady::{self, Steadiness};
use words::{Message, Text, statement};

use crate::catalogue;
use crate::latency::Latency;
use crate::pattern;

pub use mixture::{Mixture, Places, Sizes};

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

impl Direction {
    /// `read` or `write`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }

    /// The same as people read it.
    fn message(self) -> Message {
        match self {
            Direction::Read => catalogue::A_READ,
            Direction::Write => catalogue::A_WRITE,
        }
    }
}

/// One request to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which way.
    pub direction: Direction,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u32,
}

impl Access {
    /// It in words: `read of 4096 bytes at offset 0`.
    pub(crate) fn text(&self) -> Text {
        let Access { direction, offset, length } = *self;
        let what = direction.message();
        statement!(catalogue::REQUEST_AT, what = what, length = length, offset = offset)
    }

    pub(crate) fn overlaps(&self, other: &Access) -> bool {
        self.offset < other.offset + u64::from(other.length)
            && other.offset < self.offset + u64::from(self.length)
    }
}

/// What a source of requests may ask for at most; buffers are made for it once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Whether it reads at all.
    pub reads: bool,
    /// Whether it writes at all.
    pub writes: bool,
    /// Its longest request in bytes.
    pub longest_bytes: u32,
}

/// Where requests come from, one after the other.
pub trait Requests {
    /// What to expect of [`Requests::next`].
    fn bounds(&self) -> Bounds;

    /// The next request, or `None` when there is none left.
    fn next(&mut self) -> Option<Access>;
}

/// Adjacent ascending requests of one size over a range, from its start again when it is used up.
#[derive(Clone, Debug)]
pub struct Sequential {
    direction: Direction,
    start: u64,
    end: u64,
    length: u32,
    next: u64,
}

impl Sequential {
    /// Requests of `length` bytes from `start` on, in a range of `range_bytes`; what is left over
    /// at its end is not used.
    ///
    /// # Panics
    /// When not even one request fits.
    #[must_use]
    pub fn new(direction: Direction, start: u64, range_bytes: u64, length: u32) -> Sequential {
        let whole = range_bytes - range_bytes % u64::from(length);
        assert!(whole > 0, "a range of {range_bytes} bytes holds no request of {length}");
        Sequential { direction, start, end: start + whole, length, next: start }
    }
}

impl Requests for Sequential {
    fn bounds(&self) -> Bounds {
        bounds_of(self.direction, self.length)
    }

    #[inline]
    fn next(&mut self) -> Option<Access> {
        if self.next == self.end {
            self.next = self.start;
        }
        let offset = self.next;
        self.next += u64::from(self.length);
        Some(Access { direction: self.direction, offset, length: self.length })
    }
}

fn bounds_of(direction: Direction, longest_bytes: u32) -> Bounds {
    Bounds {
        reads: direction == Direction::Read,
        writes: direction == Direction::Write,
        longest_bytes,
    }
}

/// Requests of one size, uniformly placed at every multiple of the block at which one fits: not
/// aligned to their own size.
#[derive(Clone, Debug)]
pub struct Uniform {
    direction: Direction,
    length: u32,
    block: u64,
    places: u64,
    random: Random,
}

impl Uniform {
    /// Requests of `length` bytes over a device of `size_bytes` with blocks of `block_bytes`.
    ///
    /// # Panics
    /// When not even one request fits.
    #[must_use]
    pub fn new(
        direction: Direction,
        size_bytes: u64,
        block_bytes: u32,
        length: u32,
        seed: u64,
    ) -> Uniform {
        let block = u64::from(block_bytes);
        let room = size_bytes.checked_sub(u64::from(length));
        let room = room.unwrap_or_else(|| {
            panic!("a device of {size_bytes} bytes holds no request of {length}")
        });
        Uniform {
            direction,
            length,
            block,
            places: room / block + 1,
            random: Random::with_seed(seed),
        }
    }
}

impl Requests for Uniform {
    fn bounds(&self) -> Bounds {
        bounds_of(self.direction, self.length)
    }

    #[inline]
    fn next(&mut self) -> Option<Access> {
        Some(Access {
            direction: self.direction,
            offset: self.random.u64(..self.places) * self.block,
            length: self.length,
        })
    }
}

/// Reads and writes of random sizes k x 512 bytes, k uniform from 1, uniformly placed at multiples
/// of the block. Where the block is larger than 512 bytes, sizes are rounded up to whole blocks.
#[derive(Clone, Debug)]
pub struct Mixed {
    read_share: f64,
    sectors_max: u32,
    size_bytes: u64,
    block_bytes: u32,
    random: Random,
}

impl Mixed {
    /// A share `read_share` (0 to 1) of the requests reads; sizes reach up to `sectors_max` times
    /// 512 bytes.
    ///
    /// # Panics
    /// When the largest request does not fit, or there is no size to choose from.
    #[must_use]
    pub fn new(
        read_share: f64,
        sectors_max: u32,
        size_bytes: u64,
        block_bytes: u32,
        seed: u64,
    ) -> Mixed {
        let mixed = Mixed {
            read_share,
            sectors_max,
            size_bytes,
            block_bytes,
            random: Random::with_seed(seed),
        };
        assert!(sectors_max > 0, "sizes are at least one sector");
        assert!(
            u64::from(mixed.length(sectors_max)) <= size_bytes,
            "a device of {size_bytes} bytes holds no such request"
        );
        mixed
    }

    fn length(&self, sectors: u32) -> u32 {
        (sectors * SECTOR_BYTES as u32).next_multiple_of(self.block_bytes)
    }
}

impl Requests for Mixed {
    fn bounds(&self) -> Bounds {
        Bounds {
            reads: self.read_share > 0.0,
            writes: self.read_share < 1.0,
            longest_bytes: self.length(self.sectors_max),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Access> {
        let direction =
            if self.random.f64() < self.read_share { Direction::Read } else { Direction::Write };
        let sectors = self.random.u32(1..=self.sectors_max);
        let length = self.length(sectors);
        let block = u64::from(self.block_bytes);
        let places = (self.size_bytes - u64::from(length)) / block + 1;
        Some(Access { direction, offset: self.random.u64(..places) * block, length })
    }
}

/// What is written, and what is thought of what was read.
pub trait Content {
    /// Whether every write's data are made for it, and every read is shown. Then no request is
    /// issued while another one is in flight that overlaps it and one of the two writes: what is
    /// there would be unknown.
    const VERIFIES: bool;

    /// Prepares the buffer that a slot writes from, before anything is timed and again when a layer
    /// below kept the old one.
    fn prepare(&mut self, _slot: u32, _buffer: &mut BufMut) {}

    /// Makes the data of a write that is about to be submitted.
    fn fill(&mut self, access: &Access, buffer: &mut [u8]);

    /// Looks at what a read brought.
    ///
    /// # Errors
    /// What is wrong with it, of kind [`ErrorKind::Corrupt`].
    fn check(&mut self, access: &Access, buffer: &[u8]) -> Result<(), Error>;

    /// A write failed: it is unknown what is there now.
    fn lost(&mut self, access: &Access);
}

/// Writes carry data prepared once; reads are not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnverifiedContent {
    /// Random, and different for every slot.
    #[default]
    Random,
    /// Zeros, of which memory below keeps no copy.
    Zeros,
}

impl Content for UnverifiedContent {
    const VERIFIES: bool = false;

    fn prepare(&mut self, slot: u32, buffer: &mut BufMut) {
        match self {
            UnverifiedContent::Random => prepare(buffer, u64::from(slot)),
            UnverifiedContent::Zeros => buffer.slices_mut().for_each(|slice| slice.fill(0)),
        }
    }

    fn fill(&mut self, _: &Access, _: &mut [u8]) {}

    fn check(&mut self, _: &Access, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn lost(&mut self, _: &Access) {}
}

/// How long and how hard to load a device.
#[derive(Clone, Debug)]
pub struct Load {
    /// Requests outstanding.
    pub depth: u32,
    /// Time at the start that is not counted: until caches are as full as they stay.
    pub ramp: Duration,
    /// No request is issued after this time, not counting the ramp; the time measured is never
    /// shorter.
    pub time: Option<Duration>,
    /// The time ends only after whole batches of so many requests, counted from the first one.
    pub batch: u64,
    /// No request is issued after so many, the ramp's included.
    pub operations: Option<u64>,
    /// No request is issued after so many bytes, the ramp's included.
    pub bytes: Option<u64>,
    /// Whether to count errors and go on; otherwise the first one ends the run.
    pub go_on_after_errors: bool,
    /// What is durable while it runs.
    pub syncs: Syncs,
    /// How long whoever got an answer waits before the next request.
    pub think: Duration,
}

/// Which writes of a load are durable when they count as done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Syncs {
    /// So often the one who wrote flushes before it goes on, and its write ends with the flush.
    pub flush_every: Option<u64>,
    /// How many of 100 writes are sent with FUA, evenly among the others.
    pub fua_percent: u32,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            depth: 1,
            ramp: Duration::ZERO,
            time: None,
            batch: 1,
            operations: None,
            bytes: None,
            go_on_after_errors: false,
            syncs: Syncs::default(),
            think: Duration::ZERO,
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Requests completed, the ramp's included.
    pub operations: u64,
    /// Time since the first one, on the reactor's clock.
    pub elapsed: Duration,
}

/// What a run asks of its caller now and then: every 64 batches of completions, and whenever a
/// signal comes.
#[derive(Default)]
pub struct Hooks<'a> {
    /// True ends the run; requests in flight are waited for.
    pub stop: Option<&'a dyn Fn() -> bool>,
    /// Told how far it is.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
}

impl Hooks<'_> {
    /// Whether the caller wants an end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop())
    }
}

/// Requests of one direction that were completed.
#[derive(Clone, Debug)]
pub struct Side {
    /// How many.
    pub operations: u64,
    /// How many bytes.
    pub bytes: u64,
    /// How long they took.
    pub latency: Latency,
}

impl Side {
    /// Both together.
    pub(crate) fn merged(&self, other: &Side) -> Side {
        Side {
            operations: self.operations + other.operations,
            bytes: self.bytes + other.bytes,
            latency: self.latency.merged(&other.latency),
        }
    }

    pub(crate) fn new(used: bool) -> Side {
        Side {
            operations: 0,
            bytes: 0,
            latency: if used { Latency::new() } else { Latency::unused() },
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, length: impl Into<u64>, nanoseconds: u64) {
        self.operations += 1;
        self.bytes += length.into();
        self.latency.record(nanoseconds);
    }

    fn clear(&mut self) {
        self.operations = 0;
        self.bytes = 0;
        self.latency.clear();
    }
}

/// Both directions of a load that reads and writes.
#[derive(Clone, Debug)]
pub struct Sides {
    /// Reads that succeeded.
    pub read: Side,
    /// Writes that succeeded.
    pub write: Side,
}

/// How a load began: what was completed before the time that counts, and how that time began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ramp {
    /// Bytes read and written, and the requests for them.
    pub moved: Traffic,
    /// How long it took.
    pub elapsed: Duration,
    /// How the rounds looked, where a load was repeated until it was steady. Each was flushed, so
    /// that what came before those that count is no part of the durable rates.
    pub rounds: Option<Steadiness>,
    /// How the time that counts began, where it was set beforehand and long enough to tell.
    pub start: Option<WarmUp>,
}

/// How the time that counts began, beside the rest of it: what a cache takes at first, or an arm
/// that is still busy with what came before, is not what the load comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp {
    /// Rate of the first tenth of the time, divided by that of the rest.
    pub ratio: f64,
    /// From when on twentieths of the time are steady, five by five, by the rule of
    /// [`results::steady`]; `None` where they never are.
    pub settled_after: Option<Duration>,
}

/// Parts of the time that counts.
const SLICES: usize = 20;
/// How many of them are its start.
const START_SLICES: usize = SLICES / 10;

/// What was completed in each part of the time that counts, which begins with the first completion:
/// before that, a queue is filling.
struct Course {
    end: Time,
    /// How long a part is, once the first completion has come.
    slice: Option<Duration>,
    /// When the present part ends.
    slice_end: Time,
    at: usize,
    bytes: [u64; SLICES],
}

impl Course {
    /// Of a time that ends at `end`.
    fn until(end: Time) -> Course {
        Course { end, slice: None, slice_end: end, at: 0, bytes: [0; SLICES] }
    }

    #[inline]
    fn add(&mut self, now: Time, bytes: u64) {
        let Some(slice) = self.slice else {
            let slice = self.end.since(now.min(self.end)) / SLICES as u32;
            (self.slice, self.slice_end) = (Some(slice), now + slice);
            return;
        };
        while now >= self.slice_end && self.at < SLICES && !slice.is_zero() {
            self.at += 1;
            self.slice_end = self.slice_end + slice;
        }
        if let Some(sum) = self.bytes.get_mut(self.at) {
            *sum += bytes;
        }
    }

    /// `None` where the time did not pass to its end, or a part of it had no completion.
    fn start(&self) -> Option<WarmUp> {
        let slice = self.slice?;
        if self.at < SLICES || self.bytes.contains(&0) {
            return None;
        }
        let (first, rest) = self.bytes.split_at(START_SLICES);
        let rate = |slices: &[u64]| slices.iter().sum::<u64>() as f64 / slices.len() as f64;
        let rates = self.bytes.map(|bytes| bytes as f64);
        let settled = rates
            .windows(steady::WINDOW)
            .position(|window| Steadiness::of(window).is_some_and(|found| found.is_steady()));
        Some(WarmUp {
            ratio: rate(first) / rate(rest),
            settled_after: settled.map(|slices| slice * slices as u32),
        })
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Sample {
    /// Reads that succeeded.
    pub read: Side,
    /// Writes that succeeded.
    pub write: Side,
    /// From the first submission (the end of the ramp) to the last completion.
    pub elapsed: Duration,
    /// What went before.
    pub ramp: Ramp,
    /// Processor time of this thread during `elapsed`, in the kernel's calls included, its worker
    /// threads not. `None` on the virtual clock, where it would be the model's.
    pub cpu_seconds: Option<f64>,
    /// Requests that failed, only with `go_on_after_errors`.
    pub errors: u64,
    /// The first failure, only with `go_on_after_errors`.
    pub first_error: Option<Error>,
    /// Whether the caller ended it early.
    pub stopped: bool,
}

impl Sample {
    /// Both together, as if one had run straight after the other without its ramp.
    #[must_use]
    pub fn merged(self, later: Sample) -> Sample {
        Sample {
            read: self.read.merged(&later.read),
            write: self.write.merged(&later.write),
            elapsed: self.elapsed + later.elapsed,
            ramp: self.ramp,
            cpu_seconds: self.cpu_seconds.zip(later.cpu_seconds).map(|(one, other)| one + other),
            errors: self.errors + later.errors,
            first_error: self.first_error.or(later.first_error),
            stopped: self.stopped || later.stopped,
        }
    }

    /// Both directions by themselves.
    #[must_use]
    pub fn sides(&self) -> Sides {
        Sides { read: self.read.clone(), write: self.write.clone() }
    }

    /// Requests that succeeded.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.read.operations + self.write.operations
    }

    /// Bytes that they moved.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read.bytes + self.write.bytes
    }

    /// Latencies of reads and writes together.
    #[must_use]
    pub fn latency(&self) -> Latency {
        self.read.latency.merged(&self.write.latency)
    }
}

/// Batches of completions between two looks at the caller's wishes, and, for a device that always
/// has something ready, between two turns of the reactor.
const TICK_BATCHES: u32 = 64;
/// After so many requests a clock that has hardly moved never will: a device without delay, or
/// without any time of its own, on the virtual clock. A load of fewer gets them.
const STANDSTILL_OPERATIONS: u64 = 1 << 18;
/// The least that a request takes on a clock that moves: no memory answers as fast.
const STANDSTILL_TIME: Duration = Duration::from_nanos(10);
/// How long an answer may take once no more requests are issued.
const PATIENCE: Duration = Duration::from_secs(120);

/// Loads `device` with `requests` until a limit of `load` is reached, `requests` end, or the caller
/// stops it.
///
/// # Errors
/// When the device does not open; the first request that failed or brought wrong data, with its
/// direction, length and offset (unless told to go on); [`ErrorKind::TimedOut`] when a request is
/// never answered; [`ErrorKind::Invalid`] when the virtual clock stands still, so that no time
/// would ever pass; what the kernel says when waiting fails.
///
/// # Panics
/// When `requests` asks for more than its bounds say, or `load.depth` or `load.batch` is 0.
pub fn run<R: Requests, C: Content>(
    device: &dyn Device,
    reactor: &Reactor,
    load: &Load,
    requests: &mut R,
    content: &mut C,
    hooks: &mut Hooks<'_>,
) -> Result<Sample, Error> {
    assert!(load.depth > 0, "a load keeps at least one request outstanding");
    assert!(load.batch > 0, "a batch is at least one request");
    let channel = device.open(load.depth, reactor)?;
    let bounds = requests.bounds();
    let slots: Vec<Slot> =
        (0..load.depth).map(|index| Slot::new(reactor, bounds, index, content)).collect();
    let generator = Generator {
        channel,
        reactor,
        load,
        requests,
        content,
        hooks,
        free: (0..slots.len() as u32).rev().collect(),
        thinking: VecDeque::new(),
        slots,
        held: None,
        writes_issued: 0,
        writes_answered: 0,
        keeps_apart: C::VERIFIES && load.depth > 1 && bounds.writes,
        operations_left: load.operations.unwrap_or(u64::MAX),
        bytes_left: load.bytes.unwrap_or(u64::MAX),
        issuing: true,
        issued: 0,
        time_is_up: false,
        give_up: None,
        read: Side::new(bounds.reads),
        write: Side::new(bounds.writes),
        ramp: Ramp::default(),
        errors: 0,
        first_error: None,
        stopped: false,
    };
    generator.run()
}

/// One of the outstanding requests and the buffers that serve them one after the other.
struct Slot {
    access: Access,
    submitted: Time,
    reading: Option<BufMut>,
    writing: Option<Buf>,
}

impl Slot {
    fn new<C: Content>(reactor: &Reactor, bounds: Bounds, index: u32, content: &mut C) -> Slot {
        let length = bounds.longest_bytes as usize;
        let writing = bounds.writes.then(|| {
            let mut buffer = reactor.allocate(length);
            content.prepare(index, &mut buffer);
            buffer.freeze()
        });
        let access = Access { direction: Direction::Read, offset: 0, length: 0 };
        Slot {
            access,
            submitted: Time::ZERO,
            reading: bounds.reads.then(|| reactor.allocate(length)),
            writing,
        }
    }

    /// The buffer of the next read. What is longer than needed stays in the slot meanwhile.
    #[inline]
    fn take_read(&mut self, length: usize) -> BufMut {
        let mut whole = self.reading.take().expect("the source said that it reads");
        if whole.len() == length {
            return whole;
        }
        let front = whole.split_to(length);
        self.reading = Some(whole);
        front
    }

    #[inline]
    fn give_back_read(&mut self, mut buffer: BufMut) {
        if let Some(rest) = self.reading.take() {
            buffer.append(rest);
        }
        self.reading = Some(buffer);
    }

    #[inline]
    fn take_write<C: Content>(
        &mut self,
        index: u32,
        access: &Access,
        reactor: &Reactor,
        content: &mut C,
    ) -> Buf {
        let length = access.length as usize;
        let mut whole = self.writing.take().expect("the source said that it writes");
        if C::VERIFIES {
            // A layer below may still hold on to the last write's bytes, a cache for example: they
            // are its own then.
            let mut owned = whole.try_mut().unwrap_or_else(|held| {
                let mut buffer = reactor.allocate(held.len());
                content.prepare(index, &mut buffer);
                buffer
            });
            content
                .fill(access, &mut owned.as_mut_slice().expect("allocated in one piece")[..length]);
            whole = owned.freeze();
        }
        if whole.len() == length {
            return whole;
        }
        let front = whole.split_to(length);
        self.writing = Some(whole);
        front
    }

    #[inline]
    fn give_back_write(&mut self, mut buffer: Buf) {
        if let Some(rest) = self.writing.take() {
            buffer.append(rest);
        }
        self.writing = Some(buffer);
    }
}

/// Fills a buffer whose data are not checked: random, and different for every slot.
pub(crate) fn prepare(buffer: &mut BufMut, slot: u64) {
    // They belong nowhere, so that no later check takes them for data that name their place.
    const NOWHERE: u64 = 1 << 63;
    for slice in buffer.slices_mut() {
        pattern::fill(slice, NOWHERE, slot, 0);
    }
}

struct Generator<'a, 'h, R, C> {
    channel: Box<dyn Channel>,
    reactor: &'a Reactor,
    load: &'a Load,
    requests: &'a mut R,
    content: &'a mut C,
    hooks: &'a mut Hooks<'h>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots that had their answer, and when each goes on.
    thinking: VecDeque<(Time, u32)>,
    /// Came from the source, but overlaps a request in flight.
    held: Option<Access>,
    writes_issued: u64,
    writes_answered: u64,
    /// Whether requests that overlap have to wait for one another.
    keeps_apart: bool,
    operations_left: u64,
    bytes_left: u64,
    issuing: bool,
    issued: u64,
    /// Set by the look at the clock that also ends the elapsed time: a look of its own could come
    /// later than the last completion, and end a run that was still too short.
    time_is_up: bool,
    /// When to stop waiting for answers; set when issuing ends.
    give_up: Option<Time>,
    read: Side,
    write: Side,
    ramp: Ramp,
    errors: u64,
    first_error: Option<Error>,
    stopped: bool,
}

impl<R: Requests, C: Content> Generator<'_, '_, R, C> {
    fn run(mut self) -> Result<Sample, Error> {
        let mut cpu_start = thread_cpu(self.reactor);
        let begin = self.reactor.now();
        let mut measured_from = begin;
        let mut ramping = self.load.ramp > Duration::ZERO;
        let ramp_end = begin + self.load.ramp;
        let end = self.load.time.map_or(Time(u64::MAX), |time| ramp_end + time);
        let mut course = self.load.time.map(|_| Course::until(end));
        let mut now = begin;
        let mut done: Vec<Completion> = Vec::with_capacity(self.load.depth as usize);
        let mut tick = 0;
        let mut batches_since_wait = 0;
        self.refill();
        while self.free.len() < self.slots.len() {
            self.channel.poll(&mut done);
            if done.is_empty() {
                self.wait()?;
                batches_since_wait = 0;
                self.go_on_after_thinking(end);
                continue;
            }
            now = self.reactor.now();
            let before = self.read.bytes + self.write.bytes;
            for completion in done.drain(..) {
                self.finish(completion, now);
            }
            self.time_is_up |= now >= end;
            if let Some(course) = course.as_mut().filter(|_| !ramping) {
                course.add(now, self.read.bytes + self.write.bytes - before);
            }
            if ramping && now >= ramp_end {
                ramping = false;
                measured_from = now;
                cpu_start = thread_cpu(self.reactor);
                self.end_ramp(now.since(begin));
            }
            tick += 1;
            if tick == TICK_BATCHES {
                tick = 0;
                self.ask_caller(now.since(begin))?;
            }
            self.refill();
            batches_since_wait += 1;
            if batches_since_wait == TICK_BATCHES {
                batches_since_wait = 0;
                self.reactor
                    .turn()
                    .map_err(|error| Error::from_io(catalogue::DRIVING_REACTOR, error))?;
            }
        }
        let cpu_seconds = thread_cpu(self.reactor).zip(cpu_start).map(|(end, start)| end - start);
        if !self.load.go_on_after_errors
            && let Some(error) = self.first_error
        {
            return Err(error);
        }
        if ramping {
            // It ended before there was anything to count.
            self.end_ramp(now.since(begin));
            measured_from = now;
        }
        Ok(Sample {
            read: self.read,
            write: self.write,
            elapsed: now.since(measured_from),
            ramp: Ramp { start: course.and_then(|course| course.start()), ..self.ramp },
            cpu_seconds,
            errors: self.errors,
            first_error: self.first_error,
            stopped: self.stopped,
        })
    }

    /// Counts anew from here on.
    fn end_ramp(&mut self, elapsed: Duration) {
        let (read, write) = (&mut self.read, &mut self.write);
        let moved = Traffic {
            reads: read.operations,
            read_bytes: read.bytes,
            writes: write.operations,
            written_bytes: write.bytes,
            ..Traffic::default()
        };
        self.ramp = Ramp { moved, elapsed, ..Ramp::default() };
        read.clear();
        write.clear();
    }

    /// Puts a request into every free slot.
    #[inline]
    fn refill(&mut self) {
        self.end_thinking();
        if !self.issuing {
            return;
        }
        while let Some(index) = self.free.pop() {
            let Some(access) = self.next_access() else {
                self.free.push(index);
                break;
            };
            let fua = access.direction == Direction::Write && self.next_is_durable();
            let slot = &mut self.slots[index as usize];
            slot.access = access;
            let length = access.length as usize;
            let op = match access.direction {
                Direction::Read => Op::Read { offset: access.offset, into: slot.take_read(length) },
                Direction::Write => {
                    let from = slot.take_write(index, &access, self.reactor, self.content);
                    Op::Write { offset: access.offset, from, fua }
                }
            };
            // At once: the device has something to do while the data of the next are made.
            slot.submitted = self.reactor.now();
            self.channel.submit(Request::new(u64::from(index), op));
        }
    }

    /// After a wait that may have ended because somebody has thought long enough.
    fn go_on_after_thinking(&mut self, end: Time) {
        if !self.thinking.is_empty() {
            self.time_is_up |= self.reactor.now() >= end;
            self.refill();
        }
    }

    /// Frees the slots whose time has come, and all of them once nothing more is issued.
    #[inline]
    fn end_thinking(&mut self) {
        if self.thinking.is_empty() {
            return;
        }
        let now = self.reactor.now();
        while let Some((until, index)) = self.thinking.front().copied()
            && (until <= now || !self.issuing)
        {
            self.thinking.pop_front();
            self.free.push(index);
        }
    }

    /// Whether the write that is issued next is sent with FUA.
    #[inline]
    fn next_is_durable(&mut self) -> bool {
        let share = u64::from(self.load.syncs.fua_percent);
        self.writes_issued += 1;
        self.writes_issued * share / 100 > (self.writes_issued - 1) * share / 100
    }

    /// Whether the write that was answered is followed by a flush.
    #[inline]
    fn flush_is_due(&mut self) -> bool {
        self.writes_answered += 1;
        let every = self.load.syncs.flush_every;
        every.is_some_and(|every| self.writes_answered.is_multiple_of(every))
    }

    #[inline]
    fn next_access(&mut self) -> Option<Access> {
        if self.time_is_up && self.issued.is_multiple_of(self.load.batch) {
            self.stop_issuing();
            return None;
        }
        let access = match self.held.take() {
            Some(access) => access,
            None => {
                if self.operations_left == 0 || self.bytes_left == 0 {
                    self.stop_issuing();
                    return None;
                }
                let Some(access) = self.requests.next() else {
                    self.stop_issuing();
                    return None;
                };
                self.operations_left -= 1;
                self.bytes_left = self.bytes_left.saturating_sub(u64::from(access.length));
                access
            }
        };
        if self.keeps_apart && self.conflicts(&access) {
            self.held = Some(access);
            return None;
        }
        self.issued += 1;
        Some(access)
    }

    /// Whether a request in flight overlaps this one and one of the two writes. A free slot's
    /// length is zero.
    fn conflicts(&self, access: &Access) -> bool {
        self.slots.iter().any(|slot| {
            let writes =
                slot.access.direction == Direction::Write || access.direction == Direction::Write;
            writes && slot.access.length > 0 && slot.access.overlaps(access)
        })
    }

    #[inline]
    fn finish(&mut self, completion: Completion, now: Time) {
        let index = completion.tag as u32;
        let succeeded = completion.result.is_ok();
        let flushes = succeeded
            && matches!(completion.buffer, ReturnedBuffer::Written(_))
            && self.flush_is_due();
        let slot = &mut self.slots[index as usize];
        let access = slot.access;
        let nanoseconds = now.0.saturating_sub(slot.submitted.0);
        let mut result = completion.result;
        if !flushes {
            slot.access.length = 0;
            match self.load.think {
                Duration::ZERO => self.free.push(index),
                think => self.thinking.push_back((now + think, index)),
            }
        }
        match completion.buffer {
            ReturnedBuffer::Read(buffer) => {
                if succeeded {
                    self.read.record(access.length, nanoseconds);
                    if C::VERIFIES {
                        result = check(self.content, &access, &buffer);
                    }
                }
                slot.give_back_read(buffer);
            }
            ReturnedBuffer::Written(buffer) => {
                slot.give_back_write(buffer);
                if flushes {
                    self.channel.submit(Request::new(u64::from(index), Op::Flush));
                } else if succeeded {
                    self.write.record(access.length, nanoseconds);
                } else {
                    self.content.lost(&access);
                }
            }
            // The flush behind a write, which ends with it.
            ReturnedBuffer::Nothing => {
                if succeeded {
                    self.write.record(access.length, nanoseconds);
                }
            }
        }
        if let Err(error) = result {
            self.failed(&access, error);
        }
    }

    #[cold]
    fn failed(&mut self, access: &Access, error: Error) {
        self.errors += 1;
        if self.first_error.is_none() {
            self.first_error = Some(error.at(access.text()));
        }
        if !self.load.go_on_after_errors {
            self.stop_issuing();
        }
    }

    fn stop_issuing(&mut self) {
        if self.issuing {
            self.issuing = false;
            self.give_up = Some(self.reactor.now() + PATIENCE);
        }
    }

    #[cold]
    fn ask_caller(&mut self, elapsed: Duration) -> Result<(), Error> {
        let before = &self.ramp.moved;
        let operations =
            before.reads + before.writes + self.read.operations + self.write.operations;
        if let Some(progress) = &mut self.hooks.progress {
            progress(Progress { operations, elapsed });
        }
        if self.hooks.stopped() {
            self.stopped = true;
            self.stop_issuing();
        }
        if operations >= STANDSTILL_OPERATIONS
            && elapsed.as_nanos() < u128::from(operations) * STANDSTILL_TIME.as_nanos()
            && self.operations_left > STANDSTILL_OPERATIONS
        {
            let text = statement!(
                catalogue::TIME_HARDLY_PASSES,
                operations = operations,
                elapsed = format_args!("{elapsed:?}")
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Error> {
        let goes_on = self.thinking.front().map(|(until, _)| *until);
        let deadline = self.give_up.into_iter().chain(goes_on).min();
        match self.reactor.wait(deadline) {
            Ok(WakeReason::Events) => Ok(()),
            Ok(WakeReason::Deadline)
                if goes_on.is_some_and(|until| until <= self.reactor.now()) =>
            {
                Ok(())
            }
            Ok(WakeReason::Rung) => {
                if self.hooks.stopped() {
                    self.stopped = true;
                    self.stop_issuing();
                }
                Ok(())
            }
            Ok(WakeReason::Deadline | WakeReason::Idle) => {
                if let Some(error) = self.first_error.take() {
                    return Err(error);
                }
                let open =
                    self.slots.iter().find(|slot| slot.access.length > 0).map(|slot| slot.access);
                let open = open.expect("somebody is waited for");
                let count = self.channel.in_flight();
                let text =
                    statement!(catalogue::NO_ANSWER_ONE_OF, count = count, request = open.text());
                Err(Error::new(ErrorKind::TimedOut, text))
            }
            Err(error) => Err(Error::from_io(catalogue::WAITING_FOR_DEVICE, error)),
        }
    }
}

/// Shows content what a read brought.
///
/// # Errors
/// What is wrong with it.
#[inline]
pub(crate) fn check<C: Content>(
    content: &mut C,
    access: &Access,
    buffer: &BufMut,
) -> Result<(), Error> {
    match buffer.as_slice() {
        Some(bytes) => content.check(access, bytes),
        None => {
            // A layer that took the buffer apart did not put it together again as it was.
            let mut bytes = vec![0; buffer.len()];
            buffer.copy_to_slice(&mut bytes);
            content.check(access, &bytes)
        }
    }
}

fn thread_cpu(reactor: &Reactor) -> Option<f64> {
    if reactor.clock() == Clock::Virtual {
        return None;
    }
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(test)]
mod tests;

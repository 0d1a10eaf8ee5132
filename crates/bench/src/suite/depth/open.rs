//! An open loop: requests at moments that do not depend on the answers.
//!
//! ```text
//! meant for      |  |      | |  |          |   chance, at a set rate on average (exponential gaps)
//! submitted      |  |        ||  |         |   late when all places in the queue are taken
//! answered            |  |      |  | |       |
//!                ^---------^ latency: from the moment it was meant for
//! ```
//!
//! The requests that a stalled device keeps from being submitted wait in a line, and their wait
//! counts. When the rate is more than the device can do, the line grows: what is left of it after
//! the time is worked off for as long again, and what is then still there is counted as left over.

use std::time::Duration;

use block::{
    Buf, BufMut, Channel, Clock, Completion, Device, Error, ErrorKind, Op, Reactor, Request,
    ReturnedBuffer, Time, Traffic,
};
use reactor::Random;
use results::Doubt;
use results::doubt::UnverifiedReason;
use words::statement;

use crate::catalogue;
use crate::latency::Latency;
use crate::load::{Access, Direction, Requests};
use crate::pattern;
use crate::suite::{Session, WorkDone, steps};

/// Most requests that an open loop submits at a time.
pub(in crate::suite) const OPEN_DEPTH: u32 = 1024;

/// How to load.
#[derive(Clone, Copy, Debug)]
pub struct OpenLoad {
    /// Requests per second on average.
    pub rate: f64,
    /// How long requests are meant for.
    pub time: Duration,
    /// Most requests submitted at a time; the others wait in line.
    pub depth: u32,
    /// Where the gaps come from.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug)]
pub struct OpenSample {
    /// Requests answered.
    pub operations: u64,
    /// Bytes they read.
    pub read_bytes: u64,
    /// Bytes they wrote.
    pub written_bytes: u64,
    /// From the first moment to the last answer.
    pub elapsed: Duration,
    /// From the moment each was meant for to its answer.
    pub latency: Latency,
    /// From its submission to its answer: what a closed loop would have seen.
    pub service: Latency,
    /// Requests that were still in line at the end.
    pub left_over: u64,
    /// Whether the caller ended it early.
    pub stopped: bool,
}

/// One request under way, and the buffer that serves it.
struct Slot {
    access: Access,
    meant: Time,
    submitted: Time,
    reading: Option<BufMut>,
    writing: Option<Buf>,
}

/// How often the caller is asked, at least.
const ASK: Duration = Duration::from_millis(100);

/// Loads `device` with requests of one size. Data are random, and not verified.
///
/// # Errors
/// The first request that failed, with its direction, length and offset; what the kernel says when
/// waiting fails.
///
/// # Panics
/// When the rate is not positive or the depth is 0.
pub fn run(
    device: &dyn Device,
    reactor: &Reactor,
    load: &OpenLoad,
    requests: &mut impl Requests,
    stopped: &dyn Fn() -> bool,
) -> Result<OpenSample, Error> {
    assert!(load.rate > 0.0 && load.depth > 0, "an open loop has a rate and a queue");
    let bounds = requests.bounds();
    let slot = |index: u32| Slot {
        access: Access { direction: Direction::Read, offset: 0, length: 0 },
        meant: Time::ZERO,
        submitted: Time::ZERO,
        reading: bounds.reads.then(|| reactor.allocate(bounds.longest_bytes as usize)),
        writing: bounds.writes.then(|| {
            let mut buffer = reactor.allocate(bounds.longest_bytes as usize);
            buffer
                .slices_mut()
                .for_each(|slice| pattern::fill(slice, 1 << 63, load.seed, u64::from(index)));
            buffer.freeze()
        }),
    };
    let channel = device.open(load.depth, reactor)?;
    let slots = (0..load.depth).map(slot).collect();
    // Not before all is ready: the first requests would be late through no fault of the target.
    let begin = reactor.now();
    let mut open = Open {
        channel,
        reactor,
        slots,
        free: (0..load.depth).rev().collect(),
        gaps: Gaps { random: Random::with_seed(load.seed), rate: load.rate, seconds: 0.0, begin },
        next: begin,
        end: begin + load.time,
        sample: OpenSample {
            operations: 0,
            read_bytes: 0,
            written_bytes: 0,
            elapsed: Duration::ZERO,
            latency: Latency::new(),
            service: Latency::new(),
            left_over: 0,
            stopped: false,
        },
        error: None,
    };
    open.next = open.gaps.next();
    open.run(requests, begin, begin + load.time * 2, stopped)
}

/// The moments, one after the other: a Poisson process.
struct Gaps {
    random: Random,
    rate: f64,
    seconds: f64,
    begin: Time,
}

impl Gaps {
    fn next(&mut self) -> Time {
        // In (0, 1], so that the logarithm is finite.
        let uniform = 1.0 - self.random.f64();
        self.seconds -= uniform.ln() / self.rate;
        self.begin + Duration::from_secs_f64(self.seconds.min(1e9))
    }
}

struct Open<'a> {
    channel: Box<dyn Channel>,
    reactor: &'a Reactor,
    slots: Vec<Slot>,
    free: Vec<u32>,
    gaps: Gaps,
    /// When the next request is meant for.
    next: Time,
    /// No request is meant for a later moment.
    end: Time,
    sample: OpenSample,
    error: Option<Error>,
}

impl Open<'_> {
    fn run(
        mut self,
        requests: &mut impl Requests,
        begin: Time,
        give_up: Time,
        stopped: &dyn Fn() -> bool,
    ) -> Result<OpenSample, Error> {
        let mut done: Vec<Completion> = Vec::new();
        let mut ask = begin + ASK;
        let mut issuing = true;
        loop {
            let now = self.reactor.now();
            if now >= ask {
                ask = now + ASK;
                self.sample.stopped |= stopped();
            }
            issuing &= self.error.is_none()
                && !self.sample.stopped
                && now < give_up
                && self.next < self.end;
            if issuing {
                issuing = self.submit_due(now, requests);
            }
            self.channel.poll(&mut done);
            if done.is_empty() {
                let in_flight = self.free.len() < self.slots.len();
                if !issuing && !in_flight {
                    break;
                }
                let waits_for_moment = issuing && !self.free.is_empty();
                let deadline = if waits_for_moment {
                    Some(self.next.min(ask))
                } else {
                    Some(self.reactor.now() + PATIENCE)
                };
                self.wait(deadline, waits_for_moment)?;
                continue;
            }
            let now = self.reactor.now();
            self.sample.elapsed = now.since(begin);
            for completion in done.drain(..) {
                self.finish(completion, now);
            }
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        while self.next < self.end {
            self.sample.left_over += 1;
            self.next = self.gaps.next();
        }
        Ok(self.sample)
    }

    /// Submits every request whose moment has come, as far as there is room. False when there are
    /// no requests any more.
    fn submit_due(&mut self, now: Time, requests: &mut impl Requests) -> bool {
        while self.next <= now && self.next < self.end {
            let Some(index) = self.free.pop() else { break };
            let Some(access) = requests.next() else {
                self.free.push(index);
                return false;
            };
            let slot = &mut self.slots[index as usize];
            (slot.access, slot.meant, slot.submitted) = (access, self.next, now);
            self.next = self.gaps.next();
            let op = match access.direction {
                Direction::Read => Op::Read {
                    offset: access.offset,
                    into: slot.reading.take().expect("the source said that it reads"),
                },
                Direction::Write => {
                    let from = slot.writing.take().expect("the source said that it writes");
                    Op::Write { offset: access.offset, from, fua: false }
                }
            };
            self.channel.submit(Request::new(u64::from(index), op));
        }
        true
    }

    fn finish(&mut self, completion: Completion, now: Time) {
        let slot = &mut self.slots[completion.tag as usize];
        self.free.push(completion.tag as u32);
        match completion.buffer {
            ReturnedBuffer::Read(buffer) => slot.reading = Some(buffer),
            ReturnedBuffer::Written(buffer) => slot.writing = Some(buffer),
            ReturnedBuffer::Nothing => unreachable!("reads and writes bring their buffer back"),
        }
        let Access { direction, length, .. } = slot.access;
        if let Err(error) = completion.result {
            self.error.get_or_insert(error.at(slot.access.text()));
            return;
        }
        self.sample.operations += 1;
        match direction {
            Direction::Read => self.sample.read_bytes += u64::from(length),
            Direction::Write => self.sample.written_bytes += u64::from(length),
        }
        self.sample.latency.record(now.0.saturating_sub(slot.meant.0));
        self.sample.service.record(now.0.saturating_sub(slot.submitted.0));
    }

    fn wait(&mut self, deadline: Option<Time>, waits_for_moment: bool) -> Result<(), Error> {
        use reactor::WakeReason;
        match self.reactor.wait(deadline) {
            Ok(WakeReason::Deadline | WakeReason::Idle) if !waits_for_moment => {
                let text = statement!(catalogue::NO_ANSWER_TO, count = self.channel.in_flight());
                Err(Error::new(ErrorKind::TimedOut, text))
            }
            Ok(WakeReason::Idle) => {
                Err(Error::new(ErrorKind::Invalid, catalogue::CLOCK_STANDS_STILL))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(Error::from_io(catalogue::WAITING_FOR_DEVICE, error)),
        }
    }
}

/// Runs an open loop as a row of a suite, with a flush behind it where it writes; none when it was
/// stopped.
///
/// # Errors
/// As [`run`].
pub(in crate::suite) fn measured(
    device: &dyn Device,
    load: &OpenLoad,
    requests: &mut impl Requests,
    session: &Session<'_>,
) -> Result<Option<WorkDone>, Error> {
    let sample = run(device, session.reactor, load, requests, &|| session.stopped())?;
    if sample.stopped {
        return Ok(None);
    }
    let mut flush = None;
    if requests.bounds().writes {
        flush = Some(steps::flush(device, session.reactor, catalogue::A_FLUSH)?);
    }
    let mut notes = vec![Doubt::Unverified { because: UnverifiedReason::BySuite }];
    if sample.left_over > 0 {
        notes.push(Doubt::RateNotReached { requests: sample.left_over });
    }
    if session.reactor.clock() == Clock::Wall {
        notes.push(Doubt::WakingCounts);
    }
    Ok(Some(WorkDone {
        operations: sample.operations,
        read_bytes: sample.read_bytes,
        written_bytes: sample.written_bytes,
        rated_bytes: None,
        elapsed: sample.elapsed,
        flush,
        beside: Traffic::default(),
        latency: sample.latency,
        ramp: crate::load::Ramp::default(),
        sides: None,
        service: Some(Box::new(sample.service)),
        told: None,
        notes,
    }))
}

/// How long an answer may take when nothing else is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

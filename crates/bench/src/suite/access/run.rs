//! Runs the rows: warm-up, then N runs, over every view of the target in turn.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use block::{Clock, Device, Error, ErrorKind, Reactor, Traffic};
use reactor::{Random, derive_seed};
use results::Doubt;
use results::doubt::UnverifiedReason;
use words::{Text, statement};

use super::content::{BLOCK_BYTES, BlockContents, StampedPart};
use super::{AccessKind, Options, Order, Row, Verify};
use crate::catalogue::A_FLUSH;
use crate::load::{
    self, Access, Bounds, Content, Direction, Hooks, Load, Requests, Sample, UnverifiedContent,
};
use crate::suite::{AfterPhase, Phase, Session, WorkDone, catalogue, rounds, steps};

/// A way to the target.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Through the page cache, or past it.
    pub buffered: bool,
    /// The device that goes this way.
    pub device: &'a dyn Device,
}

/// Writes all of the used part with data of its own in every block, and flushes. Nothing is written
/// to a device that keeps no data. When the caller stops it, the rest stays unknown, which is no
/// error.
///
/// # Errors
/// The first write that failed, or the flush.
pub fn prepare(
    device: &dyn Device,
    reactor: &Reactor,
    options: &Options,
    hooks: &mut Hooks<'_>,
) -> Result<BlockContents, Error> {
    if !device.info().stores_data {
        return Ok(BlockContents::unverified(UnverifiedReason::NoData));
    }
    let mut filled = BlockContents::nothing(options.size_bytes, options.data, options.data_seed);
    let mut content = whole(&mut filled);
    let what = (Direction::Write, vec![(0, options.size_bytes)], BLOCK_BYTES as u32);
    let written = steps::cover((device, reactor), what, &mut content, hooks);
    let last = content.last;
    let written =
        written.and_then(|sample| steps::flush(device, reactor, A_FLUSH).map(|_| sample.bytes()));
    filled.written_bytes = written.map_err(|error| error.at(catalogue::WRITING_TEST_DATA))?;
    filled.last = last;
    Ok(filled)
}

fn whole(filled: &mut BlockContents) -> StampedPart<'_> {
    StampedPart {
        data: filled.data,
        seed: filled.seed,
        numbers: &mut filled.numbers,
        first_block: 0,
        last: filled.last,
        verify: Verify::Full,
        checked_bytes: 0,
    }
}

/// Reads all of the used part once more and compares every byte of what is known of it, outside
/// of all times. When the caller stops it, the rest stays unread, which is no error.
///
/// # Errors
/// The first read that failed, or data that are not what was written.
pub fn read_back(
    device: &dyn Device,
    reactor: &Reactor,
    options: &Options,
    filled: &mut BlockContents,
    hooks: &mut Hooks<'_>,
) -> Result<(), Error> {
    if filled.unverified.is_some() {
        return Ok(());
    }
    let mut content = whole(filled);
    let what = (Direction::Read, vec![(0, options.size_bytes)], BLOCK_BYTES as u32);
    let read = steps::cover((device, reactor), what, &mut content, hooks);
    let checked_bytes = content.checked_bytes;
    filled.checked_bytes += checked_bytes;
    read.map(drop).map_err(|error| error.at(catalogue::READING_ALL_BACK))
}

/// Runs one row on every view in turn: the warm-up on each, then run after run, each of which is a
/// row of the session.
///
/// # Errors
/// The first request that failed, or data that are not what was written, with the row, the view,
/// the request and the offset.
pub fn run(
    views: &[(View<'_>, Phase)],
    row: &Row,
    options: &Options,
    filled: &mut BlockContents,
    session: &mut Session<'_>,
) -> Result<AfterPhase, Error> {
    let able: Vec<&(View<'_>, Phase)> = views
        .iter()
        .filter(|(view, phase)| {
            let reason = impossible(view.device, row, options);
            reason.is_none_or(|reason| {
                session.skip(phase, 1, reason);
                false
            })
        })
        .collect();
    if able.is_empty() {
        return Ok(AfterPhase::Go);
    }
    rest(options.interval, session)?;
    // Run 0 is the warm-up.
    for number in u32::from(!options.warms_up)..=options.runs {
        for (view, phase) in &able {
            let one = RowRun { device: view.device, row, options, number };
            let next = if number == 0 {
                let done = one.run(filled, session).map_err(|error| error.at(&phase.name))?;
                if done.is_some() { AfterPhase::Go } else { AfterPhase::Stop }
            } else {
                session.measure(phase, number, |session| one.run(filled, session))?
            };
            if next == AfterPhase::Stop {
                return Ok(AfterPhase::Stop);
            }
        }
    }
    Ok(AfterPhase::Go)
}

/// Why a row cannot run on a device, if it cannot.
fn impossible(device: &dyn Device, row: &Row, options: &Options) -> Option<Text> {
    let info = device.info();
    if row.way.writes() && info.read_only {
        return Some(catalogue::WRITES_TO_READ_ONLY_TARGET.into());
    }
    if !row.request_bytes.is_multiple_of(info.block_bytes) {
        return Some(statement!(catalogue::NOT_BLOCKS_OF_TARGET, bytes = info.block_bytes));
    }
    if row.request_bytes > info.max_request_bytes {
        let most = info.max_request_bytes;
        return Some(statement!(catalogue::TARGET_TAKES_SHORTER, bytes = most));
    }
    let part = options.size_bytes / u64::from(row.threads);
    if part < u64::from(row.request_bytes) {
        return Some(statement!(
            catalogue::NO_ROOM_FOR_THREADS,
            threads = row.threads,
            bytes = options.size_bytes
        ));
    }
    None
}

/// Lets the target rest.
fn rest(time: Duration, session: &Session<'_>) -> Result<(), Error> {
    let end = session.reactor.now() + time;
    while session.reactor.now() < end && !session.stopped() {
        session
            .reactor
            .wait(Some(end))
            .map_err(|error| Error::from_io(catalogue::RESTING, error))?;
    }
    Ok(())
}

/// One run of one row on one view.
struct RowRun<'a> {
    device: &'a dyn Device,
    row: &'a Row,
    options: &'a Options,
    number: u32,
}

/// A thread's part of the target: its range, and how many of its requests are outstanding.
struct Part {
    start: u64,
    size_bytes: u64,
    depth: u32,
    seed: u64,
}

impl RowRun<'_> {
    /// `None` when the caller stopped it.
    fn run(
        &self,
        filled: &mut BlockContents,
        session: &mut Session<'_>,
    ) -> Result<Option<WorkDone>, Error> {
        let reactor = session.reactor;
        if !self.device.info().read_only {
            // What an earlier run left to be written is not this one's.
            steps::flush(self.device, reactor, catalogue::FLUSH_BEFORE_RUN)?;
        }
        let unverified = filled.unverified.map(|because| Doubt::Unverified { because });
        let mut notes: Vec<Doubt> = unverified.into_iter().collect();
        let writes = self.row.way.writes();
        let is_warm_up = self.number == 0;
        let (sample, flush) = if self.options.steady && writes && !is_warm_up {
            rounds::until_steady(u64::MAX, &mut notes, |round, _| {
                let sample = self.once(round, filled, session)?;
                let flush = if sample.stopped { Duration::ZERO } else { self.flushed(reactor)? };
                Ok((sample, flush))
            })?
        } else {
            (self.once(0, filled, session)?, None)
        };
        if sample.stopped {
            return Ok(None);
        }
        let flush = match flush {
            None if writes => {
                session.returned();
                Some(self.flushed(reactor)?)
            }
            known => known,
        };
        if self.row.threads > 1 && !self.has_threads(filled, reactor) {
            notes.push(Doubt::OneOwner {
                outstanding: self.row.queues * self.row.threads,
                threads: self.row.threads,
            });
        }
        Ok(Some(WorkDone {
            operations: sample.operations(),
            read_bytes: sample.read.bytes,
            written_bytes: sample.write.bytes,
            rated_bytes: None,
            elapsed: sample.elapsed,
            flush,
            beside: Traffic::default(),
            latency: sample.latency(),
            ramp: sample.ramp,
            sides: self.row.way.direction().is_none().then(|| Box::new(sample.sides())),
            service: None,
            told: None,
            notes,
        }))
    }

    /// The load for its time; each round goes to places of its own.
    fn once(
        &self,
        round: u64,
        filled: &mut BlockContents,
        session: &Session<'_>,
    ) -> Result<Sample, Error> {
        let stop = || session.stopped();
        let mut hooks = Hooks { stop: Some(&stop), progress: None };
        if filled.unverified.is_some() {
            let part = self.parts(1, round).remove(0);
            return self.load(session.reactor, &part, &mut UnverifiedContent::Random, &mut hooks);
        }
        let (last, loaded) = self.load_verified(round, filled, session.reactor, &mut hooks);
        filled.last = last;
        loaded
    }

    /// Flushes, and says how long that took.
    fn flushed(&self, reactor: &Reactor) -> Result<Duration, Error> {
        steps::flush(self.device, reactor, catalogue::FLUSH_AFTER_RUN)
    }

    fn has_threads(&self, filled: &BlockContents, reactor: &Reactor) -> bool {
        filled.unverified.is_none() && reactor.clock() == Clock::Wall
    }

    fn parts(&self, count: u32, round: u64) -> Vec<Part> {
        let depth = self.row.queues * self.row.threads / count;
        let length = u64::from(self.row.request_bytes);
        let size_bytes = self.options.size_bytes / u64::from(count) / length * length;
        let seed = |thread| {
            derive_seed(
                derive_seed(
                    self.options.seed,
                    &self.row.name(),
                    u64::from(self.number) + (round << 32),
                ),
                "thread",
                thread,
            )
        };
        (0..u64::from(count))
            .map(|thread| Part {
                start: thread * size_bytes,
                size_bytes,
                depth,
                seed: seed(thread),
            })
            .collect()
    }

    /// The latest write's number, and what was measured.
    fn load_verified(
        &self,
        round: u64,
        filled: &mut BlockContents,
        reactor: &Reactor,
        hooks: &mut Hooks<'_>,
    ) -> (u32, Result<Sample, Error>) {
        let parts =
            self.parts(if self.has_threads(filled, reactor) { self.row.threads } else { 1 }, round);
        let blocks = parts[0].size_bytes as usize / BLOCK_BYTES;
        let (data, seed, last) = (filled.data, filled.seed, filled.last);
        let verify = self.options.verify;
        let stamped = filled.numbers.chunks_mut(blocks).zip(&parts).map(|(numbers, part)| {
            (
                part,
                StampedPart {
                    data,
                    seed,
                    numbers,
                    first_block: part.start as usize / BLOCK_BYTES,
                    last,
                    verify,
                    checked_bytes: 0,
                },
            )
        });
        let mut stamped: Vec<_> = stamped.collect();
        let result = match &mut stamped[..] {
            [(part, content)] => self.load(reactor, part, content, hooks),
            several => self.threads(several, reactor, hooks),
        };
        let last = stamped.iter().map(|(_, content)| content.last).max().unwrap_or(last);
        let checked_bytes: u64 = stamped.iter().map(|(_, content)| content.checked_bytes).sum();
        filled.checked_bytes += checked_bytes;
        (last, result)
    }

    /// Several threads at once, each on a reactor of its own; the first of them is this one and
    /// listens to the caller.
    fn threads(
        &self,
        parts: &mut [(&Part, StampedPart<'_>)],
        reactor: &Reactor,
        hooks: &mut Hooks<'_>,
    ) -> Result<Sample, Error> {
        let halt = AtomicBool::new(false);
        let (device, row, options) = (self.device, self.row, self.options);
        let Some(((own, own_content), others)) = parts.split_first_mut() else {
            unreachable!("there is at least one thread")
        };
        let samples: Vec<Result<Sample, Error>> = thread::scope(|scope| {
            let spawned: Vec<_> = others
                .iter_mut()
                .map(|(part, content)| {
                    let halt = &halt;
                    scope.spawn(move || {
                        let reactor = Reactor::wall()?;
                        let stop = || halt.load(Ordering::Relaxed);
                        let mut hooks = Hooks { stop: Some(&stop), progress: None };
                        load_part(device, &reactor, row, options, part, content, &mut hooks)
                    })
                })
                .collect();
            let stop = || {
                let stopped = hooks.stop.is_some_and(|stop| stop());
                halt.fetch_or(stopped, Ordering::Relaxed) || stopped
            };
            let mut own_hooks = Hooks { stop: Some(&stop), progress: None };
            let first = load_part(device, reactor, row, options, own, own_content, &mut own_hooks);
            if first.is_err() {
                halt.store(true, Ordering::Relaxed);
            }
            let joined = spawned.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(Error::new(ErrorKind::Other, catalogue::LOAD_PANICKED)))
            });
            std::iter::once(first).chain(joined).collect()
        });
        let mut samples = samples.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
        let first = samples.next().expect("there is at least one thread");
        Ok(samples.fold(first, together))
    }

    fn load<C: Content>(
        &self,
        reactor: &Reactor,
        part: &Part,
        content: &mut C,
        hooks: &mut Hooks<'_>,
    ) -> Result<Sample, Error> {
        load_part(self.device, reactor, self.row, self.options, part, content, hooks)
    }
}

fn load_part<C: Content>(
    device: &dyn Device,
    reactor: &Reactor,
    row: &Row,
    options: &Options,
    part: &Part,
    content: &mut C,
    hooks: &mut Hooks<'_>,
) -> Result<Sample, Error> {
    let places = part.size_bytes / u64::from(row.request_bytes);
    let batch = match row.looks_every {
        None => 1,
        Some(0) => places,
        Some(requests) => requests,
    };
    let load = Load { depth: part.depth, time: Some(options.time), batch, ..Load::default() };
    let mut requests =
        Places { row, start: part.start, places, next: 0, random: Random::with_seed(part.seed) };
    load::run(device, reactor, &load, &mut requests, content, hooks)
}

/// Both as if they had been one: they ran side by side.
fn together(mut one: Sample, other: Sample) -> Sample {
    for (one, other) in [(&mut one.read, other.read), (&mut one.write, other.write)] {
        one.operations += other.operations;
        one.bytes += other.bytes;
        one.latency = one.latency.merged(&other.latency);
    }
    one.elapsed = one.elapsed.max(other.elapsed);
    // That of one of two says nothing of both.
    one.ramp.start = None;
    one.cpu_seconds = one.cpu_seconds.zip(other.cpu_seconds).map(|(one, other)| one + other);
    one.errors += other.errors;
    one.first_error = one.first_error.or(other.first_error);
    one.stopped |= other.stopped;
    one
}

/// The requests of a row.
struct Places<'a> {
    row: &'a Row,
    start: u64,
    places: u64,
    next: u64,
    random: Random,
}

impl Requests for Places<'_> {
    fn bounds(&self) -> Bounds {
        let way = self.row.way;
        Bounds {
            reads: way != AccessKind::Write,
            writes: way.writes(),
            longest_bytes: self.row.request_bytes,
        }
    }

    fn next(&mut self) -> Option<Access> {
        let place = match self.row.order {
            Order::Random => self.random.u64(..self.places),
            Order::Sequential => {
                let place = self.next;
                self.next = (place + 1) % self.places;
                place
            }
        };
        let direction = match self.row.way {
            AccessKind::Read => Direction::Read,
            AccessKind::Write => Direction::Write,
            AccessKind::Mix { read_percent } if self.random.u32(..100) < read_percent => {
                Direction::Read
            }
            AccessKind::Mix { .. } => Direction::Write,
        };
        let length = self.row.request_bytes;
        Some(Access { direction, offset: self.start + place * u64::from(length), length })
    }
}

//! One phase: the copies that run at the same time, the passes that make it long enough, and the
//! sum of it all.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use block::{Error, Reactor, Time, Traffic};
use reactor::derive_seed;
use results::Doubt;
use words::Message;

use super::changes::Changes;
use super::options::Options;
use crate::latency::Latency;
use crate::suite::phase::Phase;
use crate::suite::row::WorkDone;
use crate::suite::session::{AfterPhase, Session, Ticker};

/// Passes of one phase at most: what takes no time must not make it endless.
const PASSES_MAX: u64 = 100_000;

/// How often a phase is gone through.
#[derive(Clone, Copy, Debug)]
pub(super) enum Passes {
    /// At least so often, and until it has taken as long as it should.
    LongEnough(u64),
    /// So often.
    Exactly(u64),
}

/// What a copy did in a pass.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) operations: u64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    /// Bytes the rate is about, when these are not all that moved.
    pub(super) rated_bytes: Option<u64>,
    /// From the beginning until the last call had returned.
    pub(super) elapsed: Duration,
    /// What making it durable took then.
    pub(super) flush: Option<Duration>,
    pub(super) latency: Latency,
    pub(super) note: Option<Message>,
}

impl Tally {
    pub(super) fn new() -> Tally {
        Tally {
            operations: 0,
            read_bytes: 0,
            written_bytes: 0,
            rated_bytes: None,
            elapsed: Duration::ZERO,
            flush: None,
            latency: Latency::new(),
            note: None,
        }
    }

    /// Everything but the times.
    fn add(&mut self, other: &Tally) {
        self.operations += other.operations;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.rated_bytes = self
            .rated_bytes
            .map_or(other.rated_bytes, |sum| Some(sum + other.rated_bytes.unwrap_or(0)));
        self.latency = self.latency.merged(&other.latency);
        self.note = self.note.or(other.note);
    }

    /// Two that ran at the same time: it took as long as the longer one.
    pub(super) fn beside(mut self, other: &Tally) -> Tally {
        self.add(other);
        let durable = |tally: &Tally| tally.flush.map(|flush| tally.elapsed + flush);
        let end = durable(&self).max(durable(other));
        self.elapsed = self.elapsed.max(other.elapsed);
        self.flush = end.map(|end| end.saturating_sub(self.elapsed));
        self
    }

    /// One after the other.
    fn then(mut self, other: &Tally) -> Tally {
        self.add(other);
        self.elapsed += other.elapsed;
        self.flush = self.flush.map(|flush| flush + other.flush.unwrap_or_default());
        self
    }

    fn total(&self) -> Duration {
        self.elapsed + self.flush.unwrap_or_default()
    }

    fn done(self) -> WorkDone {
        WorkDone {
            operations: self.operations,
            read_bytes: self.read_bytes,
            written_bytes: self.written_bytes,
            rated_bytes: self.rated_bytes,
            elapsed: self.elapsed,
            flush: self.flush,
            beside: Traffic::default(),
            latency: self.latency,
            ramp: crate::load::Ramp::default(),
            sides: None,
            service: None,
            told: None,
            notes: self.note.map(|note| Doubt::Note { text: note.into() }).into_iter().collect(),
        }
    }
}

/// One run of the suite.
pub(super) struct Job<'a> {
    options: &'a Options,
    folder: PathBuf,
    seed: u64,
    data_seed: u64,
    /// Of the large file of each copy.
    changes: Vec<Changes>,
}

impl<'a> Job<'a> {
    /// Makes the folders of the copies.
    pub(super) fn new(
        options: &'a Options,
        folder: &Path,
        session: &Session<'_>,
        run: u32,
    ) -> Result<Job<'a>, Error> {
        // Every run has places and names of its own; with one seed for all, the second would find
        // the first one's order.
        let of_run = |seed| derive_seed(seed, "bonnie", u64::from(run));
        let changes = (0..options.copies)
            .map(|_| Changes::new(options.size_bytes, options.chunk_bytes))
            .collect();
        let job = Job {
            options,
            folder: folder.to_owned(),
            seed: of_run(session.seed),
            data_seed: of_run(session.data_seed),
            changes,
        };
        for path in job.folders() {
            fs::create_dir(&path)
                .map_err(|error| Error::from_io(path.display().to_string(), error))?;
        }
        Ok(job)
    }

    fn copy_folder(&self, copy: u64) -> PathBuf {
        self.folder.join(format!("copy{copy}"))
    }

    /// Removes everything, so that the next run begins as this one did.
    pub(super) fn clear(&self) -> Result<(), Error> {
        for path in self.folders() {
            fs::remove_dir_all(&path)
                .map_err(|error| Error::from_io(path.display().to_string(), error))?;
        }
        Ok(())
    }

    /// The folders of the copies.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        (0..self.options.copies).map(|copy| self.copy_folder(copy))
    }

    /// Measures a phase, and says how many passes it took.
    pub(super) fn phase(
        &self,
        session: &mut Session<'_>,
        phase: &Phase,
        run: u32,
        passes: Passes,
        work: impl Fn(&Worker<'_>, u64) -> Result<Option<Tally>, Error> + Sync,
    ) -> Result<(AfterPhase, u64), Error> {
        let mut gone_through = 0;
        let next = session.measure(phase, run, |session| {
            let mut sum: Option<Tally> = None;
            loop {
                let Some(tally) = self.copies(session, |worker| work(worker, gone_through))? else {
                    return Ok(None);
                };
                gone_through += 1;
                let so_far = match sum.take() {
                    Some(sum) => sum.then(&tally),
                    None => tally,
                };
                let enough = match passes {
                    Passes::Exactly(count) => gone_through >= count,
                    Passes::LongEnough(least) => {
                        gone_through >= least
                            && (so_far.total() >= self.options.min_time
                                || gone_through >= PASSES_MAX.max(least))
                    }
                };
                if enough {
                    return Ok(Some(so_far.done()));
                }
                sum = Some(so_far);
            }
        })?;
        Ok((next, gone_through))
    }

    /// All copies at the same time. A single one runs on this thread.
    fn copies(
        &self,
        session: &Session<'_>,
        work: impl Fn(&Worker<'_>) -> Result<Option<Tally>, Error> + Sync,
    ) -> Result<Option<Tally>, Error> {
        let give_up = AtomicBool::new(false);
        let shared = PhaseControl { stop: session.stop, give_up: &give_up, ticker: session.ticker };
        if self.options.copies == 1 {
            return self.worker(0, session.reactor, &shared, &work);
        }
        let (shared, work) = (&shared, &work);
        let jobs = (0..self.options.copies)
            .map(|copy| move |reactor: &Reactor| self.worker(copy, reactor, shared, work));
        let tallies: Option<Vec<Tally>> = at_once(jobs.collect(), &give_up)?.into_iter().collect();
        Ok(tallies.and_then(|tallies| tallies.into_iter().reduce(|sum, tally| sum.beside(&tally))))
    }

    fn worker(
        &self,
        copy: u64,
        reactor: &Reactor,
        shared: &PhaseControl<'_>,
        work: &impl Fn(&Worker<'_>) -> Result<Option<Tally>, Error>,
    ) -> Result<Option<Tally>, Error> {
        let own = |seed| derive_seed(seed, "copy", copy);
        let changes = &self.changes[usize::try_from(copy).expect("copies have small numbers")];
        work(&Worker {
            reactor,
            options: self.options,
            folder: self.copy_folder(copy),
            seed: own(self.seed),
            data_seed: own(self.data_seed),
            changes,
            shared: *shared,
        })
    }
}

/// What the threads of a phase have in common.
#[derive(Clone, Copy)]
pub(super) struct PhaseControl<'a> {
    stop: &'a AtomicBool,
    /// Set when one of them failed: the others need not go on.
    give_up: &'a AtomicBool,
    ticker: &'a Ticker,
}

/// One copy in a phase.
pub(super) struct Worker<'a> {
    pub(super) reactor: &'a Reactor,
    pub(super) options: &'a Options,
    /// Its own folder.
    pub(super) folder: PathBuf,
    /// Where it seeks and how its files are called.
    pub(super) seed: u64,
    /// What its data say of themselves.
    pub(super) data_seed: u64,
    /// What became of its large file.
    pub(super) changes: &'a Changes,
    pub(super) shared: PhaseControl<'a>,
}

impl Worker<'_> {
    pub(super) fn now(&self) -> Time {
        self.reactor.now()
    }

    /// Whether to end early.
    pub(super) fn stopped(&self) -> bool {
        self.shared.stopped()
    }

    pub(super) fn plan_bytes(&self, bytes: u64) {
        self.shared.ticker.plan_bytes(bytes * self.options.copies);
    }

    pub(super) fn plan_operations(&self, operations: u64) {
        self.shared.ticker.plan_operations(operations * self.options.copies);
    }

    pub(super) fn tick(&self, amount: u64) {
        self.shared.tick(amount);
    }
}

impl PhaseControl<'_> {
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.give_up.load(Ordering::Relaxed)
    }

    pub(super) fn tick(&self, amount: u64) {
        self.ticker.add(amount);
    }
}

/// Runs all of them on threads of their own that begin together, each with a clock of its own.
///
/// # Errors
/// The first error, when all have ended.
pub(super) fn at_once<T: Send, J>(jobs: Vec<J>, give_up: &AtomicBool) -> Result<Vec<T>, Error>
where
    J: FnOnce(&Reactor) -> Result<T, Error> + Send,
{
    let start = Barrier::new(jobs.len());
    let start = &start;
    thread::scope(|scope| {
        let spawn = |job: J| {
            scope.spawn(move || {
                let reactor = Reactor::wall().map_err(Error::from);
                start.wait();
                let result = reactor.and_then(|reactor| job(&reactor));
                if result.is_err() {
                    give_up.store(true, Ordering::Relaxed);
                }
                result
            })
        };
        let threads: Vec<_> = jobs.into_iter().map(spawn).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(elapsed_ms: u64, flush_ms: u64) -> Tally {
        Tally {
            operations: 10,
            written_bytes: 100,
            elapsed: Duration::from_millis(elapsed_ms),
            flush: Some(Duration::from_millis(flush_ms)),
            ..Tally::new()
        }
    }

    #[test]
    fn copies_beside_each_other_take_as_long_as_the_longest() {
        let both = tally(100, 50).beside(&tally(120, 10));
        assert_eq!((both.operations, both.written_bytes), (20, 200));
        assert_eq!(
            (both.elapsed, both.flush),
            (Duration::from_millis(120), Some(Duration::from_millis(30)))
        );
    }

    #[test]
    fn passes_take_as_long_as_their_sum() {
        let both = tally(100, 50).then(&tally(120, 10));
        assert_eq!(
            (both.elapsed, both.flush, both.operations),
            (Duration::from_millis(220), Some(Duration::from_millis(60)), 20)
        );
    }
}

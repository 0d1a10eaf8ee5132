//! One execution of a suite: the clock, the audit before and after each phase, the caller's wish to
//! stop, progress, and the rows so far.
//!
//! ```text
//!   for each phase:   observer.begun ── meter.read ── work ── meter.read ── judge ──> row ── observer.finished
//!                                                      │
//!                                                  ticker: stop? how far?      (shared by all threads of the phase)
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use block::{Device, Error, ErrorKind, Reactor};
use tracing::{debug, info};
use words::{Text, statement};

use super::catalogue;
use super::folder::{Needs, WorkFolder};
use super::phase::Phase;
use super::row::{PhaseFigures, Result as RowResult, Row, WorkDone};
use crate::audit::{self, Facts, FastestTransfer, Reading};

/// Tells what the machine and the devices under the target have done so far.
pub trait Meter {
    /// What they have done until now.
    fn read(&mut self) -> Reading;

    /// How many bytes a device writes for one that is asked for when all is as planned.
    fn copies(&self) -> f64 {
        1.0
    }
}

/// Opens a file of a folder target as a device: this crate knows no leaves.
pub trait OpenFile {
    /// A device over the whole of the file, past the page cache (`direct`) or through it, for
    /// reading and writing.
    ///
    /// # Errors
    /// What the system says, and that direct I/O is refused there.
    fn open(&self, path: &Path, direct: bool) -> Result<Box<dyn Device>, Error>;
}

/// Opens none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl OpenFile for NoFiles {
    fn open(&self, path: &Path, _: bool) -> Result<Box<dyn Device>, Error> {
        let error = Error::new(ErrorKind::Unsupported, catalogue::NO_FILES_AS_DEVICES);
        Err(error.at(path.display()))
    }
}

/// Knows nothing: nothing is judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAudit;

impl Meter for NoAudit {
    fn read(&mut self) -> Reading {
        Reading::default()
    }
}

/// What is told of a session as it goes on.
pub trait Observer {
    /// A phase begins. `ticker` tells how far it is, also to other threads.
    fn begun(&mut self, phase: &Phase, run: u32) {
        let _ = (phase, run);
    }

    /// The calls of the phase have returned; its flush is still to come.
    fn returned(&mut self) {}

    /// A row is there.
    fn finished(&mut self, row: &Row) {
        let _ = row;
    }

    /// Whether no further row is wanted.
    fn wants_no_more(&self) -> bool {
        false
    }
}

/// Watches without a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Observer for NoProgress {}

/// How far a phase is, and whether it should go on. Shared by its threads and by what shows
/// progress.
#[derive(Debug, Default)]
pub struct Ticker {
    done: AtomicU64,
    total: AtomicU64,
    in_bytes: AtomicBool,
}

impl Ticker {
    /// Nothing done, nothing planned.
    #[must_use]
    pub fn new() -> Ticker {
        Ticker::default()
    }

    /// A phase begins that will move so many bytes.
    pub fn plan_bytes(&self, total: u64) {
        self.plan(total, true);
    }

    /// A phase begins that will do so many operations.
    pub fn plan_operations(&self, total: u64) {
        self.plan(total, false);
    }

    fn plan(&self, total: u64, in_bytes: bool) {
        self.done.store(0, Ordering::Relaxed);
        self.in_bytes.store(in_bytes, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// So much more is done.
    pub fn add(&self, amount: u64) {
        self.done.fetch_add(amount, Ordering::Relaxed);
    }

    /// What is done and what was planned, and whether that is in bytes; 0 planned means that it is
    /// not known.
    #[must_use]
    pub fn far(&self) -> (u64, u64, bool) {
        (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
            self.in_bytes.load(Ordering::Relaxed),
        )
    }
}

/// What came of one phase, for the suite that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterPhase {
    /// It is measured; go on.
    Go,
    /// The caller wants an end: clean up and return.
    Stop,
}

/// One execution of a suite.
pub struct Session<'a> {
    /// The clock.
    pub reactor: &'a Reactor,
    /// Where random requests go.
    pub seed: u64,
    /// What data say of themselves; one that no earlier run on the same target used.
    pub data_seed: u64,
    /// Set when the caller wants an end.
    pub stop: &'a AtomicBool,
    /// How far the phase is.
    pub ticker: &'a Ticker,
    /// Opens the files of a folder target as devices.
    pub files: &'a dyn OpenFile,
    /// Where other programs find the target, if it is a device that they can open.
    pub device_path: Option<PathBuf>,
    /// Whether the clock is modelled, as in a guest: the processor's own counter shows another
    /// time.
    pub modelled_clock: bool,
    /// The names of the phases that are wanted; the others are passed over without a row. For
    /// suites whose rows stand alone ([`super::Rows::Alone`]); `None` is all of them.
    pub only: Option<Vec<String>>,
    meter: &'a mut dyn Meter,
    observer: &'a mut dyn Observer,
    fastest: FastestTransfer,
    /// What had been done when the calls of the phase had returned.
    returned: Option<Reading>,
    rows: Vec<Row>,
}

impl<'a> Session<'a> {
    /// A session without rows, with both seeds at 1.
    pub fn new(
        reactor: &'a Reactor,
        stop: &'a AtomicBool,
        ticker: &'a Ticker,
        meter: &'a mut dyn Meter,
        observer: &'a mut dyn Observer,
    ) -> Session<'a> {
        Session {
            reactor,
            seed: 1,
            data_seed: 1,
            stop,
            ticker,
            files: &NoFiles,
            device_path: None,
            modelled_clock: false,
            only: None,
            meter,
            observer,
            fastest: FastestTransfer::default(),
            returned: None,
            rows: Vec::new(),
        }
    }

    /// Whether the caller wants an end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.observer.wants_no_more()
    }

    /// The rows so far.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows, when it is over.
    #[must_use]
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// A file of so many bytes in a fresh folder below this one, as a device past the page cache.
    /// It is removed with the folder that is returned beside it.
    ///
    /// # Errors
    /// When the size is no whole number of MiB, or there is no room; what the file could not do.
    pub(super) fn device_in(
        &self,
        folder: &Path,
        suite: &str,
        size_bytes: u64,
    ) -> Result<(WorkFolder, Box<dyn Device>), Error> {
        if size_bytes == 0 || !size_bytes.is_multiple_of(1 << 20) {
            let text = statement!(catalogue::WHOLE_MEBIBYTES, least = "1MiB");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let needs =
            Needs { bytes: size_bytes, longest_file_bytes: size_bytes, files: 2, direct: true };
        let folder = WorkFolder::new(folder, suite, &needs)?;
        let path = folder.file(&format!("{suite}.dat"), size_bytes)?;
        let device = self.files.open(&path, true)?;
        Ok((folder, device))
    }

    /// Measures a phase. `work` does it and returns what it did, or `None` when it was stopped.
    ///
    /// # Errors
    /// That of `work`, with the phase's name.
    pub fn measure(
        &mut self,
        phase: &Phase,
        run: u32,
        work: impl FnOnce(&mut Self) -> Result<Option<WorkDone>, Error>,
    ) -> Result<AfterPhase, Error> {
        if !self.stopped() && !self.wants(phase) {
            return Ok(AfterPhase::Go);
        }
        let work = |session: &mut Self| Ok(work(session)?.map(|done| vec![done]));
        self.measure_together(std::slice::from_ref(phase), run, work)
    }

    /// Measures phases that are figures of the same work: what each did, in their order. What was
    /// moved meanwhile stands with the first.
    ///
    /// # Errors
    /// That of `work`, with the first phase's name.
    pub fn measure_together(
        &mut self,
        phases: &[Phase],
        run: u32,
        work: impl FnOnce(&mut Self) -> Result<Option<Vec<WorkDone>>, Error>,
    ) -> Result<AfterPhase, Error> {
        let Some(first) = phases.first() else { return Ok(AfterPhase::Go) };
        if self.stopped() {
            return Ok(AfterPhase::Stop);
        }
        self.ticker.plan_operations(0);
        info!(phase = first.name, run, "begins");
        self.observer.begun(first, run);
        let before = self.meter.read();
        self.returned = None;
        let start = self.reactor.now();
        let done = work(self).map_err(|error| error.at(&first.name))?;
        let elapsed = self.reactor.now().since(start);
        let after = self.meter.read();
        let Some(done) = done else { return Ok(AfterPhase::Stop) };
        let returned = self.returned.take().and_then(|returned| returned.moved);
        let acknowledged = returned.zip(before.moved).map(|(then, before)| then.since(&before));
        for (index, (phase, done)) in phases.iter().zip(done).enumerate() {
            let mut facts = Facts {
                copies: self.meter.copies(),
                acknowledged,
                ..Facts::between(&before, &after, done.asked(), elapsed)
            };
            facts.fastest_bytes_per_second = self.fastest.at_least(&facts);
            if index > 0 {
                facts.moved = None;
                facts.acknowledged = None;
            }
            if let Some(moved) = &mut facts.moved {
                moved.read_bytes = moved.read_bytes.saturating_sub(done.beside.read_bytes);
                moved.written_bytes = moved.written_bytes.saturating_sub(done.beside.written_bytes);
            }
            let flags = audit::judge(&facts);
            debug!(phase = phase.name, run, ?elapsed, ?flags, "ended");
            self.push(Row {
                phase: phase.name.clone(),
                run,
                result: RowResult::Measured(Box::new(PhaseFigures { done, facts, flags })),
            });
        }
        Ok(AfterPhase::Go)
    }

    /// Says that the calls of the phase that is measured have returned, and its flush is still to
    /// come: what the devices have moved by now is what no cache has kept back. Of several times
    /// the last one counts.
    pub fn returned(&mut self) {
        self.returned = Some(self.meter.read());
        self.observer.returned();
    }

    /// Says that a phase is not run, and why.
    pub fn skip(&mut self, phase: &Phase, run: u32, reason: impl Into<Text>) {
        if !self.wants(phase) {
            return;
        }
        let reason = reason.into();
        info!(phase = phase.name, run, reason = reason.english(), "left out");
        self.push(Row { phase: phase.name.clone(), run, result: RowResult::Skipped(reason) });
    }

    fn wants(&self, phase: &Phase) -> bool {
        self.only.as_ref().is_none_or(|names| names.contains(&phase.name))
    }

    fn push(&mut self, row: Row) {
        self.observer.finished(&row);
        self.rows.push(row);
    }
}

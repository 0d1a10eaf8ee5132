//! Suites in a visit: every row becomes a trial as soon as it is measured.
//!
//! A suite whose rows need what earlier ones left is run from its beginning, and only what is
//! missing is recorded; of one whose rows stand alone only the missing ones are run. A row that the
//! suite itself runs several times becomes one trial, with the median of each figure. Where a plan
//! has one configuration, with which nothing takes turns, its blocks are such runs: one visit
//! prepares the target once and makes all of them ([`Visits::blocks_in`]).

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use array::metadata::RunningArray;
use bench::audit::Reading;
use bench::suite::row::Result as RowResult;
use bench::suite::{
    Meter, Observer as SuiteObserver, OpenFile, Phase, Row, Rows, Session, Settings, Suite, Target,
    Ticker, Value, runs_programs,
};
use block::{Channel, Device, Error, ErrorKind, Extents, Info, Node, Reactor, Traffic};
use results::{Clock, Doubt, MemberTraffic, Plan};
use stack::{BuildContext, OpenFiles, Stack};
use words::{Text, statement};

use super::audit_ratios;
use super::limit;
use super::mounted_export::MountedExport;
use super::observer::Observer;
use super::visits::{Visit, Visits};
use super::workload_result::{VisitFailure, WorkloadResult};
use crate::audit::TargetMeter;
use crate::catalogue;
use crate::cell::Cell;
use crate::plan::suite;

/// What a suite is run on, and what its members say of themselves.
pub(super) enum OpenedTarget<'a> {
    /// The device of a stack.
    Device(&'a Stack),
    /// The folder of a mounted file system.
    Folder(&'a MountedExport),
    /// A folder on a file system in use.
    Existing(&'a Path),
}

impl OpenedTarget<'_> {
    /// What a suite is given.
    fn target(&self) -> Target<'_> {
        match self {
            OpenedTarget::Device(stack) => Target::Device(&*stack.device),
            OpenedTarget::Folder(attached) => Target::Folder(attached.folder()),
            OpenedTarget::Existing(folder) => Target::Folder(folder),
        }
    }

    /// What each member moved until now.
    fn members(&self) -> Vec<MemberTraffic> {
        match self {
            OpenedTarget::Device(stack) => stack
                .members
                .iter()
                .map(|member| member.counters.read())
                .map(|moved| MemberTraffic {
                    read_bytes: moved.read_bytes,
                    written_bytes: moved.written_bytes,
                })
                .collect(),
            OpenedTarget::Folder(attached) => {
                attached.moved().map(|(members, _)| members).unwrap_or_default()
            }
            // The file system has no members of ours.
            OpenedTarget::Existing(_) => Vec::new(),
        }
    }

    /// A member of an array that has failed since it was opened, and why.
    fn lost(&self) -> Option<Text> {
        let (name, cause) = match self {
            OpenedTarget::Device(stack) => {
                let of_array = |array: &RunningArray| {
                    let members = array.control().snapshot();
                    members.names.into_iter().zip(members.causes).find(|(_, cause)| cause.is_some())
                };
                stack.arrays.running().iter().find_map(of_array)?
            }
            OpenedTarget::Folder(attached) => attached.lost()?,
            OpenedTarget::Existing(_) => return None,
        };
        Some(statement!(catalogue::FAILED_WHILE_MEASURED, cause = cause?).at(name))
    }
}

/// Reads the machine here and the members where they are served.
struct CellMeter<'a> {
    machine: TargetMeter,
    opened: &'a OpenedTarget<'a>,
    node: &'a Node,
}

impl<'a> CellMeter<'a> {
    fn new(cell: &'a Cell, opened: &'a OpenedTarget<'a>, is_by_programs: bool) -> CellMeter<'a> {
        let node = &cell.stack;
        // Programs do not go through our counters.
        let path = cell.device_path().filter(|_| is_by_programs);
        let machine = match (opened, path) {
            (OpenedTarget::Device(_), Some(path)) => TargetMeter::path(&path),
            (OpenedTarget::Device(stack), None) => TargetMeter::stack(node, stack),
            (OpenedTarget::Folder(_), _) => TargetMeter::machine_only(),
            (OpenedTarget::Existing(folder), _) => TargetMeter::folder(folder),
        };
        let machine = match cell.record.clock {
            Clock::Virtual => machine.without_machine(),
            Clock::Wall => machine,
        };
        CellMeter { machine, opened, node }
    }
}

impl Meter for CellMeter<'_> {
    fn read(&mut self) -> Reading {
        let reading = self.machine.read();
        let OpenedTarget::Folder(attached) = self.opened else { return reading };
        // A server that has died is found out by whatever is written next; here nothing is known
        // then.
        let Ok((members, cpu)) = attached.moved() else {
            return Reading { moved: None, ..reading };
        };
        let moved = audit_ratios::without_stores(self.node, &members, |one| *one).iter().fold(
            Traffic::default(),
            |sum, one| Traffic {
                read_bytes: sum.read_bytes + one.read_bytes,
                written_bytes: sum.written_bytes + one.written_bytes,
                ..sum
            },
        );
        Reading { moved: Some(moved), own_cpu: reading.own_cpu.map(|own| own + cpu), ..reading }
    }

    fn copies(&self) -> f64 {
        audit_ratios::copies(self.node)
    }
}

/// Opens the files that a suite has made in its own folder, as devices.
pub(super) struct Files;

impl Files {
    /// A file or block device as it is, past the page cache.
    pub(super) fn device(path: &Path) -> Result<Box<dyn Device>, Error> {
        Files.open_as(path, true, true)
    }

    fn open_as(&self, path: &Path, direct: bool, emulate: bool) -> Result<Box<dyn Device>, Error> {
        let node = Node::file(path).with("direct", if direct { "yes" } else { "no" });
        let context = BuildContext { emulate, ..BuildContext::new(self) };
        Ok(Box::new(SharedDevice(stack::build(&node, &context)?.device)))
    }
}

impl OpenFile for Files {
    fn open(&self, path: &Path, direct: bool) -> Result<Box<dyn Device>, Error> {
        self.open_as(path, direct, false)
    }
}

impl OpenFiles for Files {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, Error> {
        File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|error| Error::from_io(path.display().to_string(), error))
    }
}

/// A shared device as one that is owned.
struct SharedDevice(Arc<dyn Device>);

impl Device for SharedDevice {
    fn info(&self) -> &Info {
        self.0.info()
    }

    fn describe(&self) -> Node {
        self.0.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        self.0.open(depth, reactor)
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        self.0.extents(offset, length, found);
    }
}

/// A suite that is run for a visit, with what the plan says of it.
pub(super) struct SuiteRun<'a> {
    cell: &'a Cell,
    suite: &'static Suite,
    settings: Settings,
    /// The rows that are wanted, of a suite whose rows stand alone; all of them without it.
    only: Option<Vec<String>>,
    /// Where requests go, and what data say of themselves.
    seeds: (u64, u64),
    limit: Duration,
}

/// How a suite has ended.
pub(super) struct SuiteEnd {
    result: Result<(), Error>,
    /// It had not ended when its time was over.
    is_over: bool,
    limit: Duration,
}

impl<'a> SuiteRun<'a> {
    /// Of workloads that share a suite, and those of them that have no trial yet in a visit with
    /// these seeds.
    ///
    /// # Errors
    /// A suite or settings that are not known.
    pub(super) fn new(
        plan: &Plan,
        cell: &'a Cell,
        (group, missing): (&[usize], &[usize]),
        seeds: (u64, u64),
    ) -> Result<SuiteRun<'a>, host::Error> {
        let workload = &plan.workloads[group[0]];
        let suite = suite::suite_of(workload)?;
        let settings = suite::settings(plan, workload, &cell.record)?;
        // Where later rows need what earlier ones left, all of them are run.
        let only = (suite.rows == Rows::Alone).then(|| {
            let row = |workload: &usize| suite::row(&plan.workloads[*workload]).to_owned();
            missing.iter().map(row).collect()
        });
        let limit = limit::limit_of(plan, group, cell);
        Ok(SuiteRun { cell, suite, settings, only, seeds, limit })
    }

    /// The same, where the suite's own runs are so many blocks.
    fn for_blocks(mut self, blocks: u32) -> Result<SuiteRun<'a>, Error> {
        if blocks > 1 {
            let runs = Value::Count(u64::from(blocks));
            let wrong = |text| Error::new(ErrorKind::Invalid, text);
            self.settings.set(self.suite, suite::RUNS, runs).map_err(wrong)?;
            self.limit *= blocks;
        }
        Ok(self)
    }

    /// Runs it on what is open, and hands over its rows as they come.
    pub(super) fn run(
        &self,
        opened: &OpenedTarget<'_>,
        reactor: &Reactor,
        stop: &AtomicBool,
        sink: &mut dyn RowSink,
    ) -> SuiteEnd {
        let mut meter = CellMeter::new(self.cell, opened, runs_programs(self.suite));
        let ticker = Ticker::new();
        let modelled = self.cell.record.clock == Clock::Virtual;
        let mut reader = RowReader { opened, modelled, before: Vec::new(), sink };
        let (result, is_over) = limit::within(self.limit, stop, |halt| {
            let mut session = Session::new(reactor, halt, &ticker, &mut meter, &mut reader);
            session.files = &Files;
            session.device_path = self.cell.device_path();
            session.only.clone_from(&self.only);
            (session.seed, session.data_seed) = self.seeds;
            (self.suite.run)(opened.target(), &self.settings, &mut session)
        });
        SuiteEnd { result, is_over, limit: self.limit }
    }
}

/// What becomes of the rows of a suite.
pub(super) trait RowSink {
    /// A row begins.
    fn begun(&mut self, phase: &str, run: u32) {
        let _ = (phase, run);
    }

    /// What came of a row.
    fn found(&mut self, phase: &str, run: u32, found: WorkloadResult);

    /// Whether no further row is wanted.
    fn wants_no_more(&self) -> bool;
}

/// Makes of each row of a suite what a trial says.
struct RowReader<'a> {
    opened: &'a OpenedTarget<'a>,
    modelled: bool,
    before: Vec<MemberTraffic>,
    sink: &'a mut dyn RowSink,
}

impl SuiteObserver for RowReader<'_> {
    fn begun(&mut self, phase: &Phase, run: u32) {
        self.before = self.opened.members();
        self.sink.begun(&phase.name, run);
    }

    fn wants_no_more(&self) -> bool {
        self.sink.wants_no_more()
    }

    fn finished(&mut self, row: &Row) {
        let mut found = found_of(row, self.modelled);
        if matches!(row.result, RowResult::Measured(_)) {
            found.members = self.opened.members();
            // Further rows of the same work have none of it.
            let before = std::mem::replace(&mut self.before, found.members.clone());
            for (after, before) in found.members.iter_mut().zip(&before) {
                after.read_bytes -= before.read_bytes.min(after.read_bytes);
                after.written_bytes -= before.written_bytes.min(after.written_bytes);
            }
        }
        if !self.modelled {
            found.lost = self.opened.lost();
        }
        self.sink.found(&row.phase, row.run, found);
    }
}

/// Runs one suite in a visit.
pub(super) fn run(
    visits: &mut Visits<'_>,
    visit: &Visit<'_>,
    group: &[usize],
    opened: &OpenedTarget<'_>,
    notes: &[Doubt],
    reactor: &Reactor,
    observer: &mut dyn Observer,
) -> Result<(), VisitFailure> {
    let missing = visits.missing(visit, group);
    if missing.is_empty() {
        return Ok(());
    }
    let (plan, seeds) = (visits.plan(), visits.seeds(visit));
    let suite_run = SuiteRun::new(plan, visit.cell, (group, &missing), seeds)?;
    let blocks = visits.blocks_in(visit, suite_run.suite, &suite_run.settings);
    let suite_run = suite_run.for_blocks(blocks)?;
    let stop = visits.stop();
    visits.preparing();
    let mut recorder = Recorder { blocks, notes, ..Recorder::new(visits, visit, group, observer) };
    let end = suite_run.run(opened, reactor, stop, &mut recorder);
    recorder.conclude(end)
}

/// Whether an error says that this cannot be done here, and not that something broke.
fn cannot(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Refused | ErrorKind::Unsupported | ErrorKind::Invalid | ErrorKind::Misaligned
    )
}

/// Records rows as they come.
pub(super) struct Recorder<'a, 'b, 'c> {
    visits: &'a mut Visits<'b>,
    visit: &'a Visit<'c>,
    /// How many blocks the suite's own runs are.
    blocks: u32,
    group: &'a [usize],
    notes: &'a [Doubt],
    observer: &'a mut dyn Observer,
    /// Rows that come several times, by workload.
    rows: BTreeMap<usize, Vec<WorkloadResult>>,
    /// Whether the first row has begun.
    prepared: bool,
    /// Why nothing more is recorded.
    broken: Option<VisitFailure>,
}

impl<'a, 'b, 'c> Recorder<'a, 'b, 'c> {
    /// Of the workloads of a visit that share a suite.
    pub(super) fn new(
        visits: &'a mut Visits<'b>,
        visit: &'a Visit<'c>,
        group: &'a [usize],
        observer: &'a mut dyn Observer,
    ) -> Recorder<'a, 'b, 'c> {
        Recorder {
            visits,
            visit,
            blocks: 1,
            group,
            notes: &[],
            observer,
            rows: BTreeMap::new(),
            prepared: false,
            broken: None,
        }
    }

    /// The visit that a run of a suite's own stands for.
    fn visit_of(&self, run: u32) -> Visit<'c> {
        let later = if self.blocks > 1 { run.saturating_sub(1) } else { 0 };
        self.visit.later(later)
    }

    fn workload(&self, visit: &Visit<'_>, phase: &str) -> Option<usize> {
        let missing = self.visits.missing(visit, self.group);
        missing
            .into_iter()
            .find(|workload| suite::row(&self.visits.plan().workloads[*workload]) == phase)
    }

    /// Records a row that took so much of the run's time.
    pub(super) fn found_in(
        &mut self,
        took: Duration,
        phase: &str,
        run: u32,
        found: WorkloadResult,
    ) {
        self.visits.has_taken(took);
        self.found(phase, run, found);
    }

    /// What is left to be recorded when the suite has ended.
    pub(super) fn conclude(self, end: SuiteEnd) -> Result<(), VisitFailure> {
        let Recorder { visits, visit, group, observer, rows, broken, .. } = self;
        if let Some(broken) = broken {
            return Err(broken);
        }
        // Rows that a suite runs several times are whole only now.
        for (workload, found) in rows {
            visits.trial_found(visit, workload, median(&found), observer)?;
        }
        let is_stopped = visits.stop().load(Ordering::Relaxed);
        match end.result {
            // Whatever it made of that.
            _ if end.is_over => visits.skip(visit, group, &limit::over(end.limit), observer),
            Err(error) if error.kind() == ErrorKind::NoSpace => {
                let name = &visits.plan().workloads[group[0]].suite;
                let full = statement!(catalogue::TARGET_IS_FULL, suite = name);
                let text = error.text().and(": ").and(full);
                Err(host::Error::invalid_results(text).because(error).into())
            }
            // Nothing else waits for its turn.
            Err(error) if cannot(&error) && visits.has_nothing_else() => Err(error.into()),
            Err(error) if cannot(&error) => visits.skip(visit, group, &Text::from(error), observer),
            Err(error) => Err(error.into()),
            Ok(()) if is_stopped => Err(VisitFailure::Stopped),
            Ok(()) if visits.is_spent() => Ok(()),
            Ok(()) => visits.skip(visit, group, &catalogue::ROW_NOT_GIVEN.into(), observer),
        }
    }
}

impl RowSink for Recorder<'_, '_, '_> {
    fn begun(&mut self, phase: &str, run: u32) {
        if !std::mem::replace(&mut self.prepared, true) {
            self.visits.prepared(self.visit);
        }
        let visit = self.visit_of(run);
        if let Some(workload) = self.workload(&visit, phase) {
            self.visits.tell(&visit, workload, self.observer);
        }
    }

    fn wants_no_more(&self) -> bool {
        // The suite itself learns of the wish to stop only after a while.
        let is_stopped = self.visits.stop().load(Ordering::Relaxed);
        self.broken.is_some() || is_stopped || self.visits.is_spent()
    }

    fn found(&mut self, phase: &str, run: u32, mut found: WorkloadResult) {
        let visit = self.visit_of(run);
        let Some(workload) = self.workload(&visit, phase).filter(|_| self.broken.is_none()) else {
            return;
        };
        if let Some(lost) = found.lost {
            self.broken = Some(host::Error::failed(lost).into());
            return;
        }
        found.flags.splice(..0, self.notes.iter().cloned());
        if self.visits.runs_of(&visit, workload) > 1 {
            self.rows.entry(workload).or_default().push(found);
        } else {
            self.broken = self.visits.trial_found(&visit, workload, found, self.observer).err();
        }
    }
}

/// What a row says, but for what the members moved. That nothing was verified is what being
/// modelled means, and needs no words there.
pub(super) fn found_of(row: &Row, modelled: bool) -> WorkloadResult {
    let mut found = WorkloadResult::default();
    match &row.result {
        RowResult::Measured(measured) => {
            found.metrics = measured.metrics().into();
            found.metrics.extend(audit_ratios::ratios(&measured.facts));
            let is_said = |doubt: &&Doubt| !modelled || !matches!(doubt, Doubt::Unverified { .. });
            found.flags.extend(measured.done.notes.iter().filter(is_said).cloned());
            found.flags.extend(measured.flags.iter().cloned());
        }
        RowResult::Skipped(reason) => {
            found.flags.push(Doubt::NotMeasured { reason: reason.clone() });
        }
    }
    found
}

/// Several runs of one row as one: the median of each figure, all bytes, every flag once.
pub(super) fn median(all: &[WorkloadResult]) -> WorkloadResult {
    let mut whole = WorkloadResult::default();
    let names: Vec<&str> = all.iter().flat_map(|found| found.metrics.keys()).collect();
    for name in names {
        let figures: Vec<f64> =
            all.iter().filter_map(|found| found.metrics.get(name).copied()).collect();
        if let Some(median) = results::statistics::median(&figures) {
            whole.metrics.insert(name, median.median);
        }
    }
    for found in all {
        whole
            .members
            .resize(found.members.len().max(whole.members.len()), MemberTraffic::default());
        for (sum, one) in whole.members.iter_mut().zip(&found.members) {
            sum.read_bytes += one.read_bytes;
            sum.written_bytes += one.written_bytes;
        }
        for doubt in &found.flags {
            let is_same = |known: &Doubt| known.without_figures() == doubt.without_figures();
            if !whole.flags.iter().any(is_same) {
                whole.flags.push(doubt.clone());
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_of_a_row_are_one_trial() {
        let found = |rate: f64, doubt: Doubt| WorkloadResult {
            metrics: results::Metrics::from_iter([(
                "throughput_bytes_per_second".to_owned(),
                rate,
            )]),
            members: vec![MemberTraffic { read_bytes: 10, written_bytes: 1 }],
            flags: vec![doubt],
            lost: None,
        };
        let cached = |share| Doubt::ReadFromCache { share: Some(share) };
        let all = [found(1.0, cached(0.1)), found(5.0, Doubt::NotSteady), found(2.0, cached(0.2))];
        let whole = median(&all);
        assert_eq!(whole.metrics["throughput_bytes_per_second"], 2.0);
        assert_eq!(whole.members, [MemberTraffic { read_bytes: 30, written_bytes: 3 }]);
        assert_eq!(whole.flags, [cached(0.1), Doubt::NotSteady]);
    }
}

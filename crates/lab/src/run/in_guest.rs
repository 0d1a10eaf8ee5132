//! A visit in a guest: for each suite a Linux is booted whose disks are the configuration's, on the
//! virtual clock.
//!
//! ```text
//!   run ── task, as JSON ──> raidloom in the guest ── suite ──> /dev/vda, /dev/md0, or its folder
//!    │  <── a line a row ──      │                                   │
//!    └── what the disks were asked for between a row's begin and end ┘
//! ```
//!
//! Nothing depends on when a guest runs or beside what: several are booted at a time, one on each
//! processor, and their rows are recorded in the plan's order.

#![expect(
    clippy::disallowed_methods,
    reason = "inside a guest the date is compared with the time of its disks outside"
)]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bench::audit::{self, Facts};
use bench::suite::row::Result as RowResult;
use bench::suite::{
    Observer as SuiteObserver, OpenFile, Phase, Row, Rows, Session, Target, Ticker,
};
use block::{Device, Node, Reactor, Time, Traffic};
use export::image::Image;
use export::vhost_user::AnsweredRequest;
use export::vhost_user::request::Ask;
use guest::counter::CounterReader;
use guest::{Boot, Drive, Format, Kernel, Processor, Setup, TimeBounds};
use host::Error;
use host::guard::{Consent, Guard};
use results::{Configuration, Doubt, MemberTraffic, Metrics, Plan};
use serde::{Deserialize, Serialize};
use serve::OpenStack;
use stack::Models;
use words::{Text, statement};

use super::audit_ratios;
use super::rows::{Files, found_of};
use super::workload_result::WorkloadResult;
use crate::audit::TargetMeter;
use crate::catalogue;
use crate::cell::values::WriteCache;
use crate::cell::{self, Axes, Cell, CellFileSystem, StackOpening};
use crate::plan::suite;
use crate::processor;
use host::mount::{FileSystem, check_mount_options};

/// What came of a boot: rows with what was found of each.
pub(super) type GuestRows = Result<Vec<(String, WorkloadResult)>, Error>;

/// The program that measures inside a guest, and how it is told to: it hands its standard input
/// to [`work`].
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its path on the host, whose tree the guest sees.
    pub program: PathBuf,
    /// Its arguments but for the last, which is what it works on.
    pub arguments: Vec<String>,
}

/// What the process in the guest is told.
#[derive(Serialize, Deserialize)]
struct Task {
    /// The plan with the one configuration and with the workloads of one suite.
    plan: Plan,
    /// The rows that are wanted; all where later ones need what earlier ones left.
    only: Option<Vec<String>>,
    seed: u64,
    data_seed: u64,
}

/// What that process says of a row.
#[derive(Debug, Serialize, Deserialize)]
struct RowMessage {
    phase: String,
    /// The date when it began and ended, in nanoseconds since 1970.
    begin: u64,
    end: u64,
    /// The date when its calls had returned and its flush was to come, if it has one.
    returned: Option<u64>,
    metrics: Metrics,
    flags: Vec<Doubt>,
    /// Bytes read and written that were asked for, and those that the suite moved beside.
    asked: [u64; 2],
    beside: [u64; 2],
    elapsed_nanoseconds: u64,
}

/// One boot: everything that it depends on.
pub(super) struct Job {
    kernel: Kernel,
    disks: Vec<Node>,
    serving: StackOpening,
    script: String,
    memory_bytes: u64,
    queue_depth: Option<u32>,
    write_cache: bool,
    /// Bytes that the disks write for one that is asked for, by the layout.
    copies: f64,
    seed: u64,
    /// What is to be said of every row.
    flags: Vec<Doubt>,
}

impl Job {
    /// The boot in which a configuration runs the workloads of one suite.
    ///
    /// # Errors
    /// Settings that contradict each other.
    pub(super) fn new(
        (plan, group): (&Plan, &[usize]),
        cell: &Cell,
        worker: &Worker,
        kernel: Kernel,
        (seed, data_seed): (u64, u64),
    ) -> Result<Job, Error> {
        let axes = &cell.axes;
        let node = axes.sized(&cell.stack);
        let copies = if axes.is_by_md() { audit_ratios::copies(&node) } else { 1.0 };
        // Arrays of the guest's own are made of disks that are used whole.
        let (disks, md, serving) = match (node, axes.md_text()) {
            (Node::Layer { children, .. }, Some(md)) => {
                (children, Some(md), StackOpening::default())
            }
            (node, _) => (vec![node], None, cell.serving.clone()),
        };
        let file_system = cell.file_system.as_ref();
        let setup = Setup {
            disks: disks.len(),
            md,
            state: axes.state.unwrap_or_default(),
            is_there: false,
            scheduler: axes.scheduler.map(|scheduler| scheduler.to_string()),
            read_ahead_bytes: axes.read_ahead_bytes,
            request_max_bytes: axes.request_max_bytes,
            unflushed: axes.write_cache == Some(WriteCache::Unflushed),
            format: file_system.map(format_of).transpose()?,
            image: file_system.map(image_of).transpose()?.flatten(),
        };
        let task = task(plan, group, &cell.record, (seed, data_seed))?;
        let target = if setup.format.is_some() { "$DISK" } else { setup.device() };
        let mut words = vec![escape::shell(guest::setup::program(&worker.program)?)];
        words.extend(worker.arguments.iter().map(|word| escape::shell(word)));
        // No line of the task is its end: it is one line.
        let work = format!("{} \"{target}\" <<'END OF TASK'\n{task}\nEND OF TASK", words.join(" "));
        let script = setup.job(&work)?;
        Ok(Job {
            kernel,
            disks,
            serving,
            script,
            memory_bytes: axes.guest_memory_bytes(),
            queue_depth: axes.queue_depth,
            write_cache: axes.write_cache != Some(WriteCache::Off),
            copies,
            seed,
            flags: clock_flags(plan, group, &cell.record)?,
        })
    }

    /// Boots, and gives what was found of each row, in the order in which they were done.
    ///
    /// # Errors
    /// A disk that cannot be built, a guest that fails, work that ends with an error.
    fn run(&self, processor: Processor, stop: &AtomicBool) -> GuestRows {
        let guard = Guard::new(Consent::default());
        // Arrays are made before the guest's time begins.
        let reactor = Reactor::virtual_clock();
        // The same drives, whether they are disks of the guest's or members of one.
        let models = Models::default();
        let open = |node: &Node| {
            let (serving, reactor) = (&self.serving, Some(&reactor));
            cell::open(node, serving, &guard, self.seed, reactor, Some(&models))
        };
        let opened: Vec<OpenStack> = self.disks.iter().map(open).collect::<Result<_, Error>>()?;
        // Making superblocks has kept some of them turning longer than others.
        models.align();
        let drive = |opened: &OpenStack| Drive {
            device: Arc::clone(&opened.device) as Arc<dyn Device>,
            write_cache: self.write_cache,
        };
        let boot = Boot {
            kernel: &self.kernel,
            memory_bytes: self.memory_bytes,
            seed: self.seed,
            disks: opened.iter().map(drive).collect(),
            queue_depth: self.queue_depth,
            job: &self.script,
            parameters: "",
            processor,
            bounds: TimeBounds::USUAL,
            cut: None,
            before: None,
        };
        let outcome = boot.run(&|| !stop.load(Ordering::Relaxed))?;
        if outcome.status != Some(0) {
            let silent = catalogue::SUITE_SAID_NOTHING;
            let last = outcome.errors.lines().next_back().map(Text::from);
            let last = last.unwrap_or_else(|| silent.into());
            return Err(Error::failed(statement!(
                catalogue::SUITE_WORK_ENDED,
                status = outcome.status.unwrap_or_default(),
                last = last
            )));
        }
        let line = |line: &str| -> Result<(String, WorkloadResult), Error> {
            let said: RowMessage = serde_json::from_str(line).map_err(|error| {
                let why = Text::verbatim(&error).and(": ").and(line);
                Error::failed(why).at(catalogue::SUITE_IN_GUEST_SAID)
            })?;
            Ok(self.found(said, &outcome.logs))
        };
        outcome.output.lines().map(line).collect()
    }

    /// A row with what the disks were asked for meanwhile.
    fn found(&self, said: RowMessage, logs: &[Vec<AnsweredRequest>]) -> (String, WorkloadResult) {
        let (begin, end) = (guest::modelled(said.begin), guest::modelled(said.end));
        let moved_until = |end| -> Vec<MemberTraffic> {
            logs.iter().map(|log| moved_between(log, begin, end)).collect()
        };
        let members = moved_until(end);
        let returned = said.returned.map(|date| moved_until(guest::modelled(date)));
        let mut found = WorkloadResult {
            metrics: said.metrics,
            members,
            flags: said.flags,
            ..WorkloadResult::default()
        };
        found.flags.extend(self.flags.iter().cloned());
        if said.elapsed_nanoseconds > 0 {
            let sum = |of: fn(&MemberTraffic) -> u64| found.members.iter().map(of).sum::<u64>();
            let [read, written] = [sum(|one| one.read_bytes), sum(|one| one.written_bytes)];
            let traffic = |[read_bytes, written_bytes]: [u64; 2]| Traffic {
                read_bytes,
                written_bytes,
                ..Traffic::default()
            };
            let beside = said.beside;
            let moved = [read.saturating_sub(beside[0]), written.saturating_sub(beside[1])];
            let facts = Facts {
                asked: traffic(said.asked),
                moved: Some(traffic(moved)),
                acknowledged: returned.map(|members| {
                    let written = members.iter().map(|one| one.written_bytes).sum::<u64>();
                    traffic([0, written.saturating_sub(beside[1])])
                }),
                elapsed: Duration::from_nanos(said.elapsed_nanoseconds),
                copies: self.copies,
                ..Facts::default()
            };
            found.metrics.extend(audit_ratios::ratios(&facts));
            found.flags.extend(audit::judge(&facts));
        }
        (said.phase, found)
    }
}

/// Whether a guest was ended because it had passed one of its bounds in real time.
pub(super) fn has_passed_bound(error: &Error) -> bool {
    let behind = std::error::Error::source(error);
    let behind = behind.and_then(|source| source.downcast_ref::<block::Error>());
    behind.is_some_and(|error| error.kind() == block::ErrorKind::TimedOut)
}

/// Runs jobs at the same time, each on a processor of its own.
pub(super) fn run_all(jobs: &[Job], stop: &AtomicBool) -> Vec<GuestRows> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .iter()
            .enumerate()
            .map(|(number, job)| scope.spawn(move || job.run(Processor::Number(number), stop)))
            .collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect()
    })
}

/// What is to be said of figures that come from a command's own output: a line for each program
/// that may have taken its time from the processor's counter. How long a command took is the
/// guest's time.
fn clock_flags(
    plan: &Plan,
    group: &[usize],
    configuration: &Configuration,
) -> Result<Vec<Doubt>, Error> {
    let Some(workload) = group.first().and_then(|place| plan.workloads.get(*place)) else {
        return Ok(Vec::new());
    };
    if workload.suite != bench::suite::command::NAME {
        return Ok(Vec::new());
    }
    let settings = suite::settings(plan, workload, configuration)?;
    if settings.text("figures").is_empty() {
        return Ok(Vec::new());
    }
    let readers = guest::counter::readers(settings.text("run")).into_iter();
    Ok(readers
        .map(|CounterReader { program, remedy }| Doubt::NotModelledTime {
            program,
            remedy: remedy.map(str::to_owned),
        })
        .collect())
}

/// The file system of a configuration as a guest makes and mounts it.
fn format_of(file_system: &CellFileSystem) -> Result<Format, Error> {
    let (kind, own) = (&file_system.kind, file_system.own_make_options());
    guest_format(kind, own, file_system.options_to_mount())
}

/// The image that carries it, and what that is in; nothing where it is on the disk itself.
fn image_of(file_system: &CellFileSystem) -> Result<Option<(Image, Format)>, Error> {
    let Some(nested) = &file_system.nested else { return Ok(None) };
    let options = nested.options_to_mount(file_system.policy);
    let outer = guest_format(&nested.outer, Some(nested.own_make_options()), options)?;
    Ok(Some((nested.image, outer)))
}

/// A file system as a guest makes and mounts it.
///
/// # Errors
/// Options that are not passed on.
pub fn guest_format(
    kind: &FileSystem,
    make_options: Option<&str>,
    mount_options: Option<String>,
) -> Result<Format, Error> {
    check_mount_options(Some(kind), mount_options.as_deref())?;
    let fixed = kind.make_command().iter().map(|word| (*word).to_owned());
    let own = kind.make_words(make_options.unwrap_or_default())?;
    let make = fixed.chain(own).collect();
    Ok(Format { make, kind: kind.kind().to_owned(), mount_options })
}

fn task(
    plan: &Plan,
    group: &[usize],
    configuration: &Configuration,
    (seed, data_seed): (u64, u64),
) -> Result<String, Error> {
    let workloads: Vec<_> = group.iter().map(|index| plan.workloads[*index].clone()).collect();
    let alone = match workloads.first() {
        Some(first) => suite::suite_of(first)?.rows == Rows::Alone,
        None => false,
    };
    let only = alone.then(|| workloads.iter().map(|one| suite::row(one).to_owned()).collect());
    let configurations = vec![configuration.clone()];
    let plan = Plan { configurations, workloads, ..plan.clone() };
    serde_json::to_string(&Task { plan, only, seed, data_seed })
        .map_err(|error| Error::failed(Text::verbatim(&error)).at(catalogue::TASK_OF_GUEST))
}

/// What a disk has done from one moment to another.
fn moved_between(log: &[AnsweredRequest], begin: Time, end: Time) -> MemberTraffic {
    let mut moved = MemberTraffic::default();
    for done in log.iter().filter(|done| done.done > begin && done.done <= end) {
        match done.ask {
            Ask::Read { .. } => moved.read_bytes += done.data_bytes,
            Ask::Write { .. } => moved.written_bytes += done.data_bytes,
            _ => (),
        }
    }
    moved
}

/// The part of a run that is inside a guest: reads a task, runs its suite on a folder or device,
/// and writes a line for each row.
///
/// # Errors
/// A task that is none, a target that cannot be used, and those of the suite.
pub fn work(
    task: impl Read,
    target: &Path,
    lines: &mut dyn Write,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let Task { plan, only, seed, data_seed } = serde_json::from_reader(task)
        .map_err(|error| Error::usage(Text::verbatim(&error)).at(catalogue::TASK_OF_GUEST))?;
    let (Some(workload), Some(configuration)) =
        (plan.workloads.first(), plan.configurations.first())
    else {
        return Err(Error::usage(catalogue::TASK_WITHOUT_WORK));
    };
    let its = suite::suite_of(workload)?;
    let settings = suite::settings(&plan, workload, configuration)?;
    let reactor = Reactor::wall()?;
    let ticker = Ticker::new();
    // The disks are looked at from outside, and a guest's processor takes no time.
    let mut meter = TargetMeter::machine_only().without_machine();
    let mut teller = Teller { lines, begin: 0, returned: None, failed: None };
    let processor = Axes::read(&configuration.settings)?.processor.value().copied();
    let device = if target.is_dir() { None } else { Some(Files::device(target)?) };
    let device = device.map(|device| processor::under(device, processor));
    let files = FilesOnProcessor(processor);
    let path = device.is_some().then(|| target.to_owned());
    let target = match &device {
        Some(device) => Target::Device(&**device),
        None => Target::Folder(target),
    };
    let mut session = Session::new(&reactor, stop, &ticker, &mut meter, &mut teller);
    session.files = &files;
    session.device_path = path;
    session.modelled_clock = true;
    session.only = only;
    (session.seed, session.data_seed) = (seed, data_seed);
    (its.run)(target, &settings, &mut session)?;
    drop(session);
    match teller.failed {
        Some(error) => Err(Error::from_io(catalogue::STANDARD_OUTPUT, &error)),
        None => Ok(()),
    }
}

/// Opens the files of a suite in a guest, whose processor costs what is stated.
struct FilesOnProcessor(Option<bench::processor::Processor>);

impl OpenFile for FilesOnProcessor {
    fn open(&self, path: &Path, direct: bool) -> Result<Box<dyn Device>, block::Error> {
        Ok(processor::under(Files.open(path, direct)?, self.0))
    }
}

/// Writes a line for each row.
struct Teller<'a> {
    lines: &'a mut dyn Write,
    begin: u64,
    returned: Option<u64>,
    failed: Option<std::io::Error>,
}

/// Nanoseconds since 1970.
fn date() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl SuiteObserver for Teller<'_> {
    fn begun(&mut self, _: &Phase, _: u32) {
        (self.begin, self.returned) = (date(), None);
    }

    fn returned(&mut self) {
        self.returned = Some(date());
    }

    fn finished(&mut self, row: &Row) {
        let found = found_of(row, false);
        let (asked, beside, elapsed) = match &row.result {
            RowResult::Measured(measured) => {
                (measured.facts.asked, measured.done.beside, measured.facts.elapsed)
            }
            RowResult::Skipped(_) => (Traffic::default(), Traffic::default(), Duration::ZERO),
        };
        let said_end = date();
        let bytes = |traffic: Traffic| [traffic.read_bytes, traffic.written_bytes];
        let said = RowMessage {
            phase: row.phase.clone(),
            begin: self.begin,
            end: said_end,
            returned: self.returned.take(),
            metrics: found.metrics,
            flags: found.flags,
            asked: bytes(asked),
            beside: bytes(beside),
            elapsed_nanoseconds: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        };
        let line = serde_json::to_string(&said).map_err(std::io::Error::from);
        let written = line.and_then(|line| writeln!(self.lines, "{line}"));
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
        // Further rows of the same work have none of what the disks did.
        self.begin = said_end;
    }
}

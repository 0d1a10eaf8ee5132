//! The trials of a run, one after the other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bench::load::Hooks;
use bench::suite::devtest::{self, Prepared, Settings, Verify};
use block::{Node, Traffic};
use reactor::{Reactor, derive_seed};
use results::{Clock, Configuration, MemberTraffic, Plan, Trial, Workload, cell_id};
use stack::{BuildContext, Stack};

use super::folder::MEMBERS;
use super::{Ended, Observer, Progress};
use crate::estimate::{Estimate, Kind};
use crate::guard::Guard;
use crate::host::{self, ProcessorTime};
use crate::journal::Journal;
use crate::plan::{Leaf, MadeFile, leaves, map_leaves, suite};
use crate::record::Record;
use crate::{Error, order, stacks};

/// Every file and device that a plan's stacks stand on.
#[derive(Debug, Default)]
pub(super) struct Members {
    made: Vec<MadeFile>,
    existing: Vec<PathBuf>,
}

impl Members {
    pub(super) fn of(plan: &Plan) -> Result<Members, Error> {
        let mut members = Members::default();
        for configuration in &plan.configurations {
            for leaf in leaves(&stacks::parse(&configuration.stack)?)? {
                match leaf {
                    Leaf::Made(file) if !members.made.contains(&file) => members.made.push(file),
                    Leaf::Existing { path, .. } if !members.existing.contains(&path) => members.existing.push(path),
                    _ => (),
                }
            }
        }
        Ok(members)
    }

    /// Asks the guard about everything that is there already, before anything is written.
    pub(super) fn check(&self, guard: &Guard) -> Result<(), Error> {
        Ok(self.existing.iter().try_for_each(|path| guard.check(path))?)
    }

    /// The folders and devices whose storage the figures depend on.
    pub(super) fn storage(&self, own: &Path) -> Vec<PathBuf> {
        let folders = self.made.iter().map(|file| file.folder.clone().unwrap_or_else(|| own.to_owned()));
        let mut storage: Vec<PathBuf> = folders.chain(self.existing.iter().cloned()).collect();
        storage.sort();
        storage.dedup();
        storage
    }

    fn make(&self, guard: &Guard, own: &Path, journal: &mut Journal) -> Result<(), Error> {
        if self.made.iter().any(|file| file.folder.is_none()) {
            journal.make_folder(own)?;
        }
        for file in &self.made {
            let path = file.path(own);
            guard.make_file(&path, file.size_bytes, |made| journal.note_file(&path, made))?;
        }
        Ok(())
    }
}

/// Why a visit did not come to its end.
enum Broken {
    Stopped,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Broken {
    fn from(error: E) -> Broken {
        Broken::Failed(error.into())
    }
}

pub(super) struct Execution<'a> {
    plan: &'a Plan,
    folder: &'a Path,
    guard: &'a Guard,
    record: Record,
    stop: &'a AtomicBool,
    /// Cell and block of every trial that is recorded.
    done: HashSet<(String, u32)>,
    /// Flags for every trial from now on.
    flags: Vec<String>,
    /// When the run was started first. It goes into the seed of the data on real devices, so that what an earlier run of the
    /// same plan has left there cannot pass for this one's.
    started: String,
    groups: Vec<Vec<usize>>,
    estimate: Estimate,
    begun: Instant,
}

/// One visit of a configuration in a block.
#[derive(Clone, Copy)]
struct Visit<'a> {
    block: u32,
    /// Its place in the block, from 0.
    position: usize,
    configuration: &'a Configuration,
}

impl<'a> Execution<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        folder: &'a Path,
        guard: &'a Guard,
        record: Record,
        trials: Vec<Trial>,
        started: String,
        stop: &'a AtomicBool,
    ) -> Execution<'a> {
        let done = trials.into_iter().map(|trial| (trial.cell, trial.block)).collect();
        let groups = suite::groups(plan);
        let (flags, estimate) = (Vec::new(), Estimate::default());
        Execution { plan, folder, guard, record, stop, done, flags, started, groups, estimate, begun: Instant::now() }
    }

    /// Marks every trial from now on.
    pub(super) fn flag_all(&mut self, flag: String) {
        self.flags.push(flag);
    }

    /// Trials that are recorded.
    pub(super) fn finished(&self) -> usize {
        self.done.len()
    }

    /// Runs what is missing. Whatever happens, the run's own files are removed; resuming makes them again.
    pub(super) fn run(&mut self, members: &Members, observer: &mut dyn Observer) -> Result<Ended, Error> {
        self.plan_estimate()?;
        observer.begun(self.folder, self.plan, self.finished(), self.estimate.left());
        let mut journal = Journal::new(self.folder);
        let ended = self.run_blocks(members, &mut journal, observer).and_then(|ended| self.record.settle().map(|()| ended));
        for note in journal.undo() {
            super::folder::add_note(self.folder, &note)?;
            observer.note(&note);
        }
        ended
    }

    fn run_blocks(&mut self, members: &Members, journal: &mut Journal, observer: &mut dyn Observer) -> Result<Ended, Error> {
        let mut ready = false;
        for block in 0..self.plan.blocks {
            for (position, index) in order::visits(self.plan, block).into_iter().enumerate() {
                let visit = Visit { block, position, configuration: &self.plan.configurations[index] };
                if self.missing(&visit, &(0..self.plan.workloads.len()).collect::<Vec<_>>()).is_empty() {
                    continue;
                }
                if !ready {
                    members.make(self.guard, &self.own_members(), journal)?;
                    self.rehearse()?;
                    ready = true;
                }
                let result = match visit.configuration.clock {
                    Clock::Virtual => self.visit_modelled(&visit, observer),
                    Clock::Wall => self.visit_measured(&visit, observer),
                };
                match result {
                    Ok(()) => (),
                    Err(Broken::Stopped) => return Ok(Ended::Interrupted),
                    Err(Broken::Failed(error)) => return Err(error.at(&visit.configuration.stack)),
                }
            }
        }
        Ok(Ended::Complete)
    }

    fn own_members(&self) -> PathBuf {
        self.folder.join(MEMBERS)
    }

    /// Opens every configuration once before the first trial: what cannot be opened is found out now and not in an hour.
    fn rehearse(&self) -> Result<(), Error> {
        for configuration in &self.plan.configurations {
            self.build(configuration, 0).map_err(|error| Error::from(error).at(&configuration.stack))?;
        }
        Ok(())
    }

    fn cell(&self, configuration: &Configuration, workload: usize) -> String {
        cell_id(&configuration.settings, &self.plan.workloads[workload].name)
    }

    /// Those of the workloads that have no trial yet in this visit.
    fn missing(&self, visit: &Visit<'_>, workloads: &[usize]) -> Vec<usize> {
        let is_missing = |workload: &&usize| !self.done.contains(&(self.cell(visit.configuration, **workload), visit.block));
        workloads.iter().filter(is_missing).copied().collect()
    }

    /// Every step that is left, with the time that the plan gives it.
    fn plan_estimate(&mut self) -> Result<(), Error> {
        let mut estimate = Estimate::default();
        for block in 0..self.plan.blocks {
            for configuration in &self.plan.configurations {
                let visit = Visit { block, position: 0, configuration };
                let size_bytes = stacks::dry(&stacks::parse(&configuration.stack)?)?.size_bytes;
                for group in &self.groups {
                    let missing = self.missing(&visit, group);
                    if !missing.is_empty() {
                        let preparing = suite::planned_preparing(self.plan, configuration.clock, size_bytes);
                        estimate.plan(self.kind(configuration.clock, None), preparing / self.groups.len() as u32);
                    }
                    for workload in missing {
                        let planned = suite::planned_time(self.plan, &self.plan.workloads[workload], configuration.clock);
                        estimate.plan(self.kind(configuration.clock, Some(workload)), planned);
                    }
                }
            }
        }
        self.estimate = estimate;
        Ok(())
    }

    /// A kind of step: preparing, or a workload, on a clock.
    fn kind(&self, clock: Clock, workload: Option<usize>) -> Kind {
        let step = workload.map_or(0, |workload| workload + 1);
        Kind(2 * step + usize::from(clock == Clock::Wall))
    }

    /// The devices of a configuration, opened through the guard.
    fn build(&self, configuration: &Configuration, seed: u64) -> Result<Stack, block::Error> {
        let own = self.own_members();
        let node = stack::parse(&configuration.stack)?;
        let node = map_leaves(node, &|node| Ok(put_in_place(node, &own)))
            .map_err(|error| block::Error::new(block::ErrorKind::Invalid, error.to_string()))?;
        let context = BuildContext { files: self.guard, seed, read_only: false, create_bytes: None, emulate: true };
        stack::build(&node, &context)
    }

    fn settings(&self, visit: &Visit<'_>, workload: &Workload) -> Result<Settings, Error> {
        let mut settings = suite::settings(self.plan, workload, visit.configuration.clock)?;
        settings.seed = order::visit_seed(self.plan, visit.configuration, visit.block);
        settings.data_seed = derive_seed(settings.seed, &self.started, 0);
        Ok(settings)
    }

    /// Modelled disks: every trial on a fresh stack and a fresh clock.
    fn visit_modelled(&mut self, visit: &Visit<'_>, observer: &mut dyn Observer) -> Result<(), Broken> {
        for workload in self.missing(visit, &(0..self.plan.workloads.len()).collect::<Vec<_>>()) {
            let mut settings = self.settings(visit, &self.plan.workloads[workload])?;
            // There is nothing to verify: a modelled disk keeps no data, and its label says that it is modelled.
            settings.verify = Verify::Off;
            let reactor = Reactor::virtual_clock();
            let seed = order::trial_seed(self.plan, visit.configuration, &self.plan.workloads[workload].name, visit.block);
            let stack = self.build(visit.configuration, seed)?;
            let mut prepared = devtest::prepare(&*stack.device, &reactor, &settings, &mut Hooks::default())?;
            self.trial(
                visit,
                workload,
                &Bench { stack: &stack, reactor: &reactor, settings: &settings, flags: &[] },
                &mut prepared,
                observer,
            )?;
        }
        Ok(())
    }

    /// Real time: the stack is opened once for the visit, and each suite prepares its content once.
    fn visit_measured(&mut self, visit: &Visit<'_>, observer: &mut dyn Observer) -> Result<(), Broken> {
        let reactor = Reactor::wall().map_err(|error| {
            Error::failed(format!(
                "io_uring cannot be used here: {error}; `raidloom check` tells more (kernel.io_uring_disabled, a container's filter)"
            ))
        })?;
        let stack = self.build(visit.configuration, order::visit_seed(self.plan, visit.configuration, visit.block))?;
        let own = format!("{}/", self.own_members().display());
        let notes: Vec<String> = stack.notes.iter().map(|note| note.replace(&own, "")).collect();
        for group in self.groups.clone() {
            let missing = self.missing(visit, &group);
            let Some(first) = missing.first() else { continue };
            let settings = self.settings(visit, &self.plan.workloads[*first])?;
            let begun = Instant::now();
            let stop = || self.stop.load(Ordering::Relaxed);
            let mut hooks = Hooks { stop: Some(&stop), progress: None };
            let mut prepared = devtest::prepare(&*stack.device, &reactor, &settings, &mut hooks)?;
            self.estimate.done(self.kind(visit.configuration.clock, None), begun.elapsed());
            for workload in missing {
                let settings = self.settings(visit, &self.plan.workloads[workload])?;
                let flags = measured_flags(&notes, &settings);
                let bench = Bench { stack: &stack, reactor: &reactor, settings: &settings, flags: &flags };
                self.trial(visit, workload, &bench, &mut prepared, observer)?;
            }
        }
        Ok(())
    }

    /// One trial: measured, and on stable storage before the next begins.
    fn trial(
        &mut self,
        visit: &Visit<'_>,
        workload: usize,
        bench: &Bench<'_>,
        prepared: &mut Prepared,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Broken::Stopped);
        }
        let (plan, planned) = (self.plan, &self.plan.workloads[workload]);
        observer.trial_begun(plan, &self.progress(visit, &planned.name));
        let test = suite::test(planned)?;
        let traffic_before = traffic(bench.stack);
        let (machine_before, own_before, begun) = (ProcessorTime::now(), host::own_ticks(), Instant::now());
        let stop = || self.stop.load(Ordering::Relaxed);
        let mut hooks = Hooks { stop: Some(&stop), progress: None };
        let result = devtest::run_test(&*bench.stack.device, bench.reactor, &test, bench.settings, prepared, &mut hooks)?;

        let mut flags = self.flags.clone();
        flags.extend_from_slice(bench.flags);
        match &result.outcome {
            devtest::Outcome::Measured(measured) => flags.extend(measured.notes.iter().cloned()),
            devtest::Outcome::Skipped(reason) => flags.push(format!("not measured: {reason}")),
            devtest::Outcome::Stopped => return Err(Broken::Stopped),
        }
        let clock = visit.configuration.clock;
        if clock == Clock::Wall {
            flags.extend(host::not_quiet(machine_before, ProcessorTime::now(), host::own_ticks().saturating_sub(own_before)));
        }
        let moved = traffic(bench.stack).into_iter().zip(&traffic_before).map(|(after, before)| after.since(before));
        let trial = Trial {
            cell: self.cell(visit.configuration, workload),
            settings: visit.configuration.settings.clone(),
            workload: planned.name.clone(),
            block: visit.block,
            order: u32::try_from(visit.position * plan.workloads.len() + workload).expect("a block is not that long"),
            clock,
            metrics: result.metrics(),
            members: moved.map(|moved| MemberTraffic { read_bytes: moved.read_bytes, written_bytes: moved.written_bytes }).collect(),
            flags,
        };
        self.record.append(&trial)?;
        if clock == Clock::Wall {
            // The next measurement must not share the disk with this.
            self.record.settle()?;
        }
        self.done.insert((trial.cell.clone(), trial.block));
        self.estimate.done(self.kind(clock, Some(workload)), begun.elapsed());
        observer.trial_recorded(plan, &self.progress(visit, &planned.name), &trial);
        Ok(())
    }

    fn progress<'b>(&self, visit: &Visit<'b>, workload: &'b str) -> Progress<'b> {
        Progress {
            block: visit.block + 1,
            configuration: visit.configuration,
            visit: visit.position + 1,
            workload,
            finished: self.finished(),
            elapsed: self.begun.elapsed(),
            left: self.estimate.left(),
        }
    }
}

/// What is doubtful about every trial on a stack.
fn measured_flags(notes: &[String], settings: &Settings) -> Vec<String> {
    let verification = (settings.verify == Verify::Off).then(|| "verification was off".to_owned());
    notes.iter().cloned().chain(verification).collect()
}

/// What a trial runs on.
struct Bench<'a> {
    stack: &'a Stack,
    reactor: &'a Reactor,
    settings: &'a Settings,
    flags: &'a [String],
}

fn traffic(stack: &Stack) -> Vec<Traffic> {
    stack.members.iter().map(|member| member.counters.read()).collect()
}

/// A leaf whose placeholder is replaced by the folder it stands for.
fn put_in_place(node: Node, own: &Path) -> Node {
    match (leaves(&node).as_deref(), node) {
        (Ok([Leaf::Made(file)]), Node::Leaf { scheme, options, .. }) => {
            Node::Leaf { scheme, address: file.path(own).to_string_lossy().into_owned(), options }
        }
        (_, node) => node,
    }
}

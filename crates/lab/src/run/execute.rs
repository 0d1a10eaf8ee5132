//! The trials of a run, one after the other.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bench::suite::Rows;
use block::Node;
use guest::Kernel;
use reactor::{Reactor, derive_seed};
use results::course::{self, Course, Step};
use results::safety;
use results::{
    Clock, Configuration, Doubt, Ground, Host, MemberTraffic, Plan, Run, Trial, cell_id,
};
use serve::{Opened, ServeWith};

use super::attached::{self, Attached};
use super::folder::MEMBERS;
use super::in_guest::{self, GuestRows, Job, Worker};
use super::limit;
use super::members::{Members, empty_stores, put_in_place};
use super::rows::{self, Ground as RowGround};
use super::written::{add_written, prepared_for};
use super::{Ended, Observer, Progress, pulled};
use crate::cell::{self, Cell};
use crate::estimate::{Estimate, Kind, Pace, Task};
use crate::order;
use crate::order::Turn;
use crate::plan::suite;
use crate::pull::{self, Program, run_apart};
use crate::record::Record;
use crate::shard::{self, Shard};
use crate::stacks::map_leaves;
use host::Error;
use host::guard::Guard;
use host::journal::Journal;

/// Why a visit did not come to its end.
#[derive(Debug)]
pub(super) enum Broken {
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
    /// The plan's configurations, in its order.
    cells: &'a [Cell],
    folder: &'a Path,
    guard: &'a Guard,
    record: Record,
    stop: &'a AtomicBool,
    /// Cell and block of every trial that is recorded.
    done: HashSet<(String, u32)>,
    /// What was decided so far.
    steps: Vec<Step>,
    /// All trials that are recorded, where something is decided by them.
    trials: Vec<Trial>,
    /// Bytes written to each member so far, by its text; preparing is added by the plan's figures.
    written: BTreeMap<String, u64>,
    /// Whether the budget was spent when the last trial was recorded.
    is_spent: bool,
    /// Flags for every trial from now on.
    flags: Vec<Doubt>,
    /// When the run was started first. It goes into the seed of the data on real devices, so that
    /// what an earlier run of the same plan has left there cannot pass for this one's.
    started: String,
    groups: Vec<Vec<usize>>,
    estimate: Estimate,
    begun: Instant,
    /// When the trial under way began.
    trial_begun: Instant,
    /// How long one of the guests took that were booted last, side by side.
    boot_took: Duration,
    /// What serves stacks to the kernel; without it there are no file systems.
    serve_with: Option<&'a ServeWith>,
    /// What measures inside guests; without it there are none.
    worker: Option<&'a Worker>,
    /// What makes power cuts; without it none are made.
    puller: Option<&'a Program>,
    /// The part of the run that is measured here; all of it without one.
    shard: Option<Shard>,
    /// The kernel of guests, once it was looked for.
    kernel: Option<Kernel>,
    /// What guests found that were booted together with earlier ones, by block, position and first
    /// workload.
    ahead: BTreeMap<(u32, usize, usize), GuestBooted>,
    /// Where file systems appear, once there was one.
    point: Option<PathBuf>,
    /// Configurations that this machine cannot have, by identity, with the reason.
    unfit: BTreeMap<String, String>,
}

/// What came of a workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) metrics: BTreeMap<String, f64>,
    pub(super) members: Vec<MemberTraffic>,
    pub(super) flags: Vec<Doubt>,
}

/// A guest that was booted.
enum GuestBooted {
    Ended(GuestRows),
    /// It had not ended after so much real time.
    Over(Duration),
}

/// One visit of a configuration in a block.
#[derive(Clone, Copy)]
pub(super) struct Visit<'a> {
    block: u32,
    /// Its place among those of the block, from 0.
    position: usize,
    turn: &'a Turn,
    pub(super) cell: &'a Cell,
}

impl Visit<'_> {
    /// The place of one of its workloads in the block's order, counted in trials.
    fn place_of(&self, workload: usize) -> usize {
        let earlier = self.turn.workloads.iter().take_while(|one| **one != workload).count();
        self.turn.place + earlier
    }
}

impl<'a> Execution<'a> {
    pub(super) fn new(
        (plan, cells): (&'a Plan, &'a [Cell]),
        folder: &'a Path,
        guard: &'a Guard,
        record: Record,
        (trials, steps): (Vec<Trial>, Vec<Step>),
        started: String,
        stop: &'a AtomicBool,
    ) -> Execution<'a> {
        let done = trials.iter().map(|trial| (trial.cell.clone(), trial.block)).collect();
        let course = Course::new(plan, &steps);
        let decides = course.is_race() || course.is_until_decided();
        let mut written = BTreeMap::new();
        if !course.budget().is_default() {
            let mut visits = HashSet::new();
            for trial in &trials {
                let found = cells.iter().find(|one| one.record.settings == trial.settings);
                let Some(cell) = found else { continue };
                let first = visits.insert((&cell.record.id, trial.block));
                let row = plan.workloads.iter().position(|one| one.name == trial.workload);
                let prepared = prepared_for(plan, row.unwrap_or(0), first);
                add_written(&mut written, plan, cell, &trial.members, &prepared);
            }
        }
        let trials = if decides { trials } else { Vec::new() };
        let groups = suite::groups(plan);
        let (flags, estimate) = (Vec::new(), Estimate::default());
        let begun = Instant::now();
        Execution {
            plan,
            cells,
            folder,
            guard,
            record,
            stop,
            done,
            steps,
            trials,
            written,
            is_spent: false,
            flags,
            started,
            groups,
            estimate,
            begun,
            trial_begun: begun,
            boot_took: Duration::ZERO,
            serve_with: None,
            worker: None,
            puller: None,
            shard: None,
            kernel: None,
            ahead: BTreeMap::new(),
            point: None,
            unfit: BTreeMap::new(),
        }
    }

    /// The same with a program that serves stacks to the kernel.
    pub(super) fn serving_with(mut self, serve_with: Option<&'a ServeWith>) -> Execution<'a> {
        self.serve_with = serve_with;
        self
    }

    /// The same with a program that measures inside guests.
    pub(super) fn working_with(mut self, worker: Option<&'a Worker>) -> Execution<'a> {
        self.worker = worker;
        self
    }

    /// The same with a program that makes power cuts.
    pub(super) fn pulling_with(mut self, puller: Option<&'a Program>) -> Execution<'a> {
        self.puller = puller;
        self
    }

    /// The same for a part of the run.
    pub(super) fn of_shard(mut self, shard: Option<Shard>) -> Execution<'a> {
        self.shard = shard;
        self
    }

    /// Marks every trial from now on.
    pub(super) fn flag_all(&mut self, flag: Doubt) {
        self.flags.push(flag);
    }

    /// Trials that are recorded.
    pub(super) fn finished(&self) -> usize {
        self.done.len()
    }

    /// Runs what is missing. Whatever happens, the run's own files are removed; resuming makes them
    /// again.
    pub(super) fn run(
        &mut self,
        members: &Members,
        observer: &mut dyn Observer,
    ) -> Result<Ended, Error> {
        self.plan_estimate()?;
        let trials = [self.finished(), self.trials_of_run()];
        observer.begun(self.folder, trials, self.estimate.left());
        let mut journal = Journal::new(self.folder);
        let ended = self
            .run_blocks(members, &mut journal, observer)
            .and_then(|ended| self.record.settle().map(|()| ended));
        // A server that has died left something, which stands on what is undone here.
        let left = match &self.point {
            Some(_) => attached::end_left_behind(self.serve_with, self.folder),
            None => Vec::new(),
        };
        for note in left.into_iter().chain(journal.undo()) {
            super::folder::add_note(self.folder, &note)?;
            observer.note(&note);
        }
        ended
    }

    fn run_blocks(
        &mut self,
        members: &Members,
        journal: &mut Journal,
        observer: &mut dyn Observer,
    ) -> Result<Ended, Error> {
        let mut ready = false;
        for block in 0.. {
            while let Some(step) = self.next_step(block) {
                // What it rests on comes first.
                self.record.settle()?;
                self.steps.push(step);
                super::folder::write_steps(self.folder, &self.steps)?;
                self.plan_estimate()?;
                observer.decided(self.plan, &self.steps[self.steps.len() - 1]);
            }
            let visited = self.course().visited(block);
            if visited.is_empty() {
                break;
            }
            let turns = order::turns(self.plan, block, &visited);
            for (position, turn) in turns.iter().enumerate() {
                let cell = &self.cells[turn.configuration];
                let visit = Visit { block, position, turn, cell };
                if self.missing(&visit, &turn.workloads).is_empty() {
                    continue;
                }
                if let Some(spent) = self.spent() {
                    let note = format!(
                        "stopped at its budget: {spent}; --resume goes on with another --budget"
                    );
                    self.write_spent()?;
                    super::folder::add_note(self.folder, &note)?;
                    observer.note(&note);
                    return Ok(Ended::Complete);
                }
                if !ready {
                    // A pull test has drives of its own.
                    if self.plan.configurations.iter().any(|one| one.ground != Ground::Pull) {
                        members.make(self.guard, &self.own_members(), journal, self.stop)?;
                    }
                    self.rehearse(journal, observer)?;
                }
                ready = true;
                let result = self.visit(&visit, &turns, journal, observer);
                if self.course().budget().time_seconds.is_some() {
                    self.write_spent()?;
                }
                match result {
                    Ok(()) => (),
                    Err(Broken::Stopped) => return Ok(Ended::Interrupted),
                    Err(Broken::Failed(error)) => return Err(error.at(&visit.cell.record.stack)),
                }
            }
        }
        Ok(Ended::Complete)
    }

    /// A configuration's turn in a block.
    fn visit(
        &mut self,
        visit: &Visit<'_>,
        turns: &[Turn],
        journal: &mut Journal,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        let _kept = match visit.cell.keep_to_processors() {
            Ok(kept) => kept,
            // This machine has not so many.
            Err(reason) => {
                return self.skip(visit, &visit.turn.workloads, &reason.to_string(), observer);
            }
        };
        match (visit.cell.record.ground, visit.cell.record.clock) {
            (Ground::Guest, _) => self.visit_guest(visit, turns, observer),
            (Ground::Device, Clock::Virtual) => self.visit_modelled(visit, observer),
            (Ground::Device, Clock::Wall) => self.visit_measured(visit, observer),
            (Ground::FileSystem, _) => self.visit_attached(visit, journal, observer),
            (Ground::Pull, _) => self.visit_pulled(visit, observer),
        }
    }

    /// How many trials there will be, as far as it is known.
    fn trials_of_run(&self) -> usize {
        shard::trials(self.shard, &self.course(), self.plan)
    }

    fn course(&self) -> Course<'_> {
        Course::new(self.plan, &self.steps)
    }

    /// What is to be decided before this block.
    fn next_step(&mut self, block: u32) -> Option<Step> {
        // What grades rule out cannot lead.
        let mut judged = self.plan.clone();
        judged.terms = safety::judged(&judged.terms, &safety::safety(self.plan, &self.trials));
        if let Some(step) = Course::new(&judged, &self.steps).next_step(&self.trials, block) {
            return Some(step);
        }
        let course = Course::new(self.plan, &self.steps);
        if !course.is_until_decided() || course.blocks() != Some(block) {
            return None;
        }
        let next = course::look_after(block - course.first_fresh())?;
        let run = Run {
            plan: self.plan.clone(),
            host: Host {
                schema: 1,
                started: self.started.clone(),
                facts: Vec::new(),
                one_disk: Vec::new(),
                shared_disks: Vec::new(),
                machines: BTreeMap::new(),
            },
            trials: std::mem::take(&mut self.trials),
            notes: Vec::new(),
            steps: self.steps.clone(),
        };
        let is_decided = results::analyse(&run).is_decided();
        self.trials = run.trials;
        (!is_decided).then_some(Step::Look { blocks: next })
    }

    /// Time that was spent on the run before this process.
    fn spent_before(&self) -> Duration {
        self.steps
            .iter()
            .find_map(|step| match step {
                Step::Spent { milliseconds } => Some(Duration::from_millis(*milliseconds)),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// Writes down how much time was spent, for a run that is gone on with.
    fn write_spent(&mut self) -> Result<(), Error> {
        let milliseconds = (self.spent_before() + self.begun.elapsed()).as_millis();
        let spent = Step::Spent { milliseconds: u64::try_from(milliseconds).unwrap_or(u64::MAX) };
        // In memory it stays as it was: `begun` is counted from there.
        let others = self.steps.iter().filter(|step| !matches!(step, Step::Spent { .. }));
        let steps: Vec<Step> = others.cloned().chain([spent]).collect();
        super::folder::write_steps(self.folder, &steps)
    }

    /// What of the budget is spent, if anything is.
    fn spent(&self) -> Option<String> {
        let budget = self.course().budget();
        let spent = self.spent_before() + self.begun.elapsed();
        if let Some(seconds) = budget.time_seconds.filter(|limit| spent.as_secs_f64() >= *limit) {
            return Some(format!("{seconds:.0} s of time are spent"));
        }
        let limit = budget.written_bytes_per_member?;
        let (member, bytes) = self.written.iter().max_by_key(|(_, bytes)| **bytes)?;
        let shown = stack::size::text;
        (*bytes >= limit)
            .then(|| format!("{} of {} were written to {member}", shown(*bytes), shown(limit)))
    }

    fn own_members(&self) -> PathBuf {
        self.folder.join(MEMBERS)
    }

    /// Looks at every configuration once before the first trial: what cannot be opened is found out
    /// now and not in an hour. A file system that cannot be had here is no error: its trials say
    /// so.
    ///
    /// # Errors
    /// What cannot be opened, and when no configuration at all can be measured here.
    fn rehearse(
        &mut self,
        journal: &mut Journal,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let cells = self.cells;
        let mut left_out: Vec<(&Configuration, String)> = Vec::new();
        for cell in cells {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            tracing::debug!(stack = cell.record.stack, "can it be measured");
            if let Some(reason) = self.why_not(cell, journal)? {
                left_out.push((&cell.record, reason.to_string()));
            }
        }
        if left_out.len() == cells.len() {
            let mut reasons: Vec<String> = Vec::new();
            for (_, reason) in left_out {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            let reasons = reasons.join("; ");
            return Err(Error::failed(format!(
                "nothing of this plan can be measured here: {reasons}"
            )));
        }
        for (configuration, reason) in left_out {
            self.leave_out(configuration, reason, observer)?;
        }
        Ok(())
    }

    /// Opens a configuration and takes it away again: why this machine cannot measure it, if it
    /// cannot.
    fn why_not(&mut self, cell: &Cell, journal: &mut Journal) -> Result<Option<Error>, Error> {
        let configuration = &cell.record;
        match configuration.ground {
            Ground::Guest => return Ok(self.find_kernel().err()),
            Ground::Pull if configuration.is_in_guest() => {
                return Ok(Kernel::find().err().map(Error::from));
            }
            Ground::Pull => return Ok(pull::may_mount_or_why().err()),
            Ground::Device | Ground::FileSystem => (),
        }
        let at = |error: Error| error.at(&configuration.stack);
        let reactor = (configuration.clock == Clock::Virtual).then(Reactor::virtual_clock);
        let opened = self.build(cell, 0, reactor.as_ref());
        opened.and_then(Opened::end).map_err(at)?;
        if configuration.ground == Ground::Device {
            return Ok(None);
        }
        match self.attach(cell, 0, journal) {
            Ok(attached) => attached.take_away().map(|()| None).map_err(at),
            // The stack can be opened, so this is about the machine: no right to mount, no loop
            // devices, no program that makes the file system, not in its kernel.
            Err(reason) if pull::may_mount() => Ok(Some(reason)),
            Err(reason) => Ok(Some(Error::failed(format!(
                "a file system is mounted, which only root may do: run it as root, or where the \
                plan has modelled disks in a guest (place = \"guest\") ({reason})"
            )))),
        }
    }

    /// Says that a configuration is not measured on this machine: its trials say so.
    fn leave_out(
        &mut self,
        configuration: &Configuration,
        reason: String,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let label = self.plan.label(&configuration.settings);
        let note = format!("not measured here: {label}: {reason}");
        super::folder::add_note(self.folder, &note)?;
        observer.note(&note);
        self.unfit.insert(configuration.id.clone(), reason);
        Ok(())
    }

    /// Finds the kernel of guests, and says once whose figures they are.
    fn find_kernel(&mut self) -> Result<(), Error> {
        if self.kernel.is_none() {
            let kernel = Kernel::find()?;
            let note = format!(
                "what is measured in a guest is modelled: Linux {} on modelled disks, in their time",
                kernel.version()
            );
            super::folder::add_note(self.folder, &note)?;
            let stated = self.cells.iter().filter_map(|cell| cell.axes.processor.value());
            let stated: BTreeSet<String> = stated.map(ToString::to_string).collect();
            for processor in stated {
                let note = format!(
                    "modelled processor: a request and its bytes are stated to cost {processor} in \
                    the guest, and all else that it computes nothing: the rate of what a cache \
                    answers is this assumption"
                );
                super::folder::add_note(self.folder, &note)?;
            }
            self.kernel = Some(kernel);
        }
        Ok(())
    }

    /// A configuration's file system, mounted.
    fn attach(&mut self, cell: &Cell, seed: u64, journal: &mut Journal) -> Result<Attached, Error> {
        let Some(serve_with) = self.serve_with else {
            return Err(Error::failed("nothing was named that serves a stack to the kernel"));
        };
        let node = self.node(cell)?;
        let point = match &self.point {
            Some(point) => point,
            None => self.point.insert(attached::make_point(self.folder, journal)?),
        };
        Attached::new((self.folder, point), self.guard, serve_with, cell, (&node, seed))
    }

    /// Whether no further trial is to be made, because the budget is spent.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    pub(super) fn plan(&self) -> &'a Plan {
        self.plan
    }

    pub(super) fn stop(&self) -> &'a AtomicBool {
        self.stop
    }

    fn identity(&self, configuration: &Configuration, workload: usize) -> String {
        cell_id(&configuration.settings, &self.plan.workloads[workload].name)
    }

    /// Those of the workloads that have no trial yet in this visit.
    pub(super) fn missing(&self, visit: &Visit<'_>, workloads: &[usize]) -> Vec<usize> {
        let is_ours = |shard: Shard| shard.has(self.plan, visit.turn.configuration, visit.block);
        if !self.shard.is_none_or(is_ours) {
            return Vec::new();
        }
        let is_missing = |workload: &&usize| {
            !self.done.contains(&(self.identity(&visit.cell.record, **workload), visit.block))
        };
        workloads.iter().filter(is_missing).copied().collect()
    }

    /// The workloads of a visit that share one `[[workload]]` table, in order.
    fn parts(&self, visit: &Visit<'_>) -> Vec<Vec<usize>> {
        let of_visit = |group: &Vec<usize>| -> Vec<usize> {
            group.iter().filter(|one| visit.turn.workloads.contains(one)).copied().collect()
        };
        self.groups.iter().map(of_visit).filter(|part| !part.is_empty()).collect()
    }

    /// Lets the members rest before a visit, for as long as the plan says.
    fn rest(&self, reactor: &Reactor) -> Result<(), Error> {
        let end = reactor.now() + Duration::from_secs_f64(self.plan.schedule.rest_seconds);
        while reactor.now() < end && !self.stop.load(Ordering::Relaxed) {
            reactor.wait(Some(end)).map_err(|error| Error::from_io("resting", &error))?;
        }
        Ok(())
    }

    /// Every step that is left, with the time that the plan gives it: the most that it may come to,
    /// before a race is over.
    fn plan_estimate(&mut self) -> Result<(), Error> {
        let mut estimate = std::mem::take(&mut self.estimate);
        estimate.plan_anew();
        let size = |known: &Cell| Ok(known.dry()?.size_bytes);
        let sizes: Vec<u64> = self.cells.iter().map(size).collect::<Result<_, Error>>()?;
        for block in 0..self.course().blocks().unwrap_or(self.plan.blocks) {
            let visited = self.course().visited(block);
            for (position, turn) in order::turns(self.plan, block, &visited).iter().enumerate() {
                let cell = &self.cells[turn.configuration];
                let visit = Visit { block, position, turn, cell };
                let size_bytes = sizes[turn.configuration];
                let mut is_mounted = false;
                for group in self.parts(&visit) {
                    let missing = self.missing(&visit, &group);
                    let step = |task| (kind(&cell.record, task), turn.configuration);
                    if !missing.is_empty() && cell.record.clock == Clock::Wall {
                        let bytes = suite::prepared_bytes(self.plan, &group, cell, size_bytes);
                        let preparing = suite::planned_preparing(bytes)
                            + Duration::from_secs_f64(self.plan.schedule.rest_seconds);
                        let (kind, index) = step(Task::Preparing);
                        estimate.plan(kind, index, preparing);
                    }
                    let mounting = crate::plan::planned_mounting(cell);
                    if !missing.is_empty() && !mounting.is_zero() && !self.is_pull(&group) {
                        let (kind, index) = step(Task::Mounting);
                        // Once for all of the visit.
                        if !std::mem::replace(&mut is_mounted, true) {
                            estimate.plan(kind, index, mounting);
                        }
                    }
                    for workload in missing {
                        let planned =
                            suite::planned_time(self.plan, &self.plan.workloads[workload], cell);
                        let (kind, index) = step(Task::Workload(workload));
                        estimate.plan(kind, index, planned);
                    }
                }
            }
        }
        self.estimate = estimate;
        Ok(())
    }

    /// A step of a visit was done.
    fn step_done(&mut self, visit: &Visit<'_>, task: Task, took: Duration) {
        self.estimate.done(kind(&visit.cell.record, task), visit.turn.configuration, took);
    }

    /// A configuration's stack, its files by their paths. What caches have kept in files of the
    /// run's is gone.
    fn node(&self, cell: &Cell) -> Result<Node, Error> {
        let own = self.own_members();
        empty_stores(&cell.stack, &own, self.guard)?;
        map_leaves(cell.stack.clone(), &|node| Ok(put_in_place(node, &own)))
    }

    /// The devices of a configuration, opened through the guard.
    /// The reactor is that of a stack on the virtual clock.
    fn build(&self, cell: &Cell, seed: u64, reactor: Option<&Reactor>) -> Result<Opened, Error> {
        let node = self.node(cell)?;
        cell::open(&node, &cell.serving, self.guard, seed, reactor, None)
    }

    /// Where requests go in a visit, and what its data say of themselves.
    pub(super) fn seeds(&self, visit: &Visit<'_>) -> (u64, u64) {
        let places = order::places_seed(self.plan, visit.block);
        let seed = order::visit_seed(self.plan, &visit.cell.record, visit.block);
        (places, derive_seed(seed, &self.started, 0))
    }

    /// Modelled disks: every suite that is run whole, or every row that stands alone, on a fresh
    /// stack and a fresh clock.
    fn visit_modelled(
        &mut self,
        visit: &Visit<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        for group in self.parts(visit) {
            let first = &self.plan.workloads[group[0]];
            let parts: Vec<Vec<usize>> = match suite::suite_of(first)?.rows {
                Rows::InOrder => vec![group],
                Rows::Alone => {
                    self.missing(visit, &group).into_iter().map(|row| vec![row]).collect()
                }
            };
            for part in parts {
                if self.is_spent {
                    return Ok(());
                }
                let workload = &self.plan.workloads[part[0]].name;
                let seed = order::trial_seed(self.plan, &visit.cell.record, workload, visit.block);
                let reactor = Reactor::virtual_clock();
                let stack = self.build(visit.cell, seed, Some(&reactor))?;
                let ground = RowGround::Device(&stack);
                rows::run(self, visit, &part, &ground, &[], &reactor, observer)?;
                stack.end()?;
            }
        }
        Ok(())
    }

    /// A guest is booted for each suite of the visit. Those of later visits of the block are booted
    /// beside it, as many as there are processors.
    fn visit_guest(
        &mut self,
        visit: &Visit<'_>,
        turns: &[Turn],
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        if let Some(reason) = self.unfit.get(&visit.cell.record.id).cloned() {
            return self.skip(visit, &visit.turn.workloads, &reason, observer);
        }
        for group in self.parts(visit) {
            let missing = self.missing(visit, &group);
            let Some(&first) = missing.first() else { continue };
            if self.is_spent {
                return Ok(());
            }
            if self.is_pull(&group) {
                self.pull(visit, &group, observer)?;
                continue;
            }
            self.tell(visit, first, observer);
            let key = (visit.block, visit.position, group[0]);
            if !self.ahead.contains_key(&key) {
                self.boot(visit.block, &turns[visit.position..], visit.position)?;
            }
            let rows = match self.ahead.remove(&key) {
                Some(GuestBooted::Ended(rows)) => rows,
                Some(GuestBooted::Over(limit)) => {
                    self.skip(visit, &group, &limit::over(limit), observer)?;
                    continue;
                }
                None => Ok(Vec::new()),
            };
            if self.stop.load(Ordering::Relaxed) {
                return Err(Broken::Stopped);
            }
            let mut found: BTreeMap<usize, Vec<Found>> = BTreeMap::new();
            for (phase, row) in rows? {
                let named =
                    |workload: &&usize| suite::row(&self.plan.workloads[**workload]) == phase;
                if let Some(workload) = missing.iter().find(named) {
                    found.entry(*workload).or_default().push(row);
                }
            }
            // All rows of a guest are there at once: each took its part of what booting it did.
            let part = self.boot_took / u32::try_from(found.len().max(1)).unwrap_or(u32::MAX);
            for (workload, rows) in found {
                self.trial_begun = Instant::now().checked_sub(part).unwrap_or(self.trial_begun);
                self.trial_found(visit, workload, rows::median(&rows), observer)?;
            }
            self.skip(visit, &group, "the suite gave no such row", observer)?;
        }
        Ok(())
    }

    /// Boots the next guests of a block, one for each processor.
    fn boot(&mut self, block: u32, turns: &[Turn], first: usize) -> Result<(), Error> {
        self.find_kernel()?;
        let (Some(kernel), Some(worker)) = (&self.kernel, self.worker) else {
            return Err(Error::failed("nothing was named that measures inside a guest"));
        };
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        let (mut keys, mut jobs, mut limit) = (Vec::new(), Vec::new(), Duration::ZERO);
        'all: for (turn, position) in turns.iter().zip(first..) {
            let cell = &self.cells[turn.configuration];
            let visit = Visit { block, position, turn, cell };
            if cell.record.ground != Ground::Guest {
                continue;
            }
            for group in self.parts(&visit) {
                let key = (block, position, group[0]);
                let is_there = self.ahead.contains_key(&key) || self.is_pull(&group);
                if is_there || self.missing(&visit, &group).is_empty() {
                    continue;
                }
                if jobs.len() == most {
                    break 'all;
                }
                tracing::info!(block, stack = cell.record.stack, "guest boots");
                let seeds = (
                    order::places_seed(self.plan, block),
                    order::visit_seed(self.plan, &cell.record, block),
                );
                limit = limit.max(limit::limit_of(self.plan, &group, cell));
                jobs.push(Job::new((self.plan, &group), cell, worker, seeds)?);
                keys.push(key);
            }
        }
        let begun = Instant::now();
        let (rows, is_over) =
            limit::within(limit, self.stop, |halt| in_guest::run_all(&jobs, kernel, halt));
        let rows = rows.into_iter().map(|rows| match rows {
            Err(_) if is_over => GuestBooted::Over(limit),
            rows => GuestBooted::Ended(rows),
        });
        self.ahead.extend(keys.into_iter().zip(rows));
        let guests = u32::try_from(jobs.len().max(1)).unwrap_or(u32::MAX);
        self.boot_took = begun.elapsed() / guests;
        Ok(())
    }

    /// Real time: the stack is opened once for the visit, and each suite prepares its content once.
    fn visit_measured(
        &mut self,
        visit: &Visit<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        let reactor = Reactor::wall()?;
        self.rest(&reactor)?;
        let stack = self.build(
            visit.cell,
            order::visit_seed(self.plan, &visit.cell.record, visit.block),
            None,
        )?;
        let notes = self.notes(visit, &stack.notes);
        for group in self.parts(visit) {
            if self.is_spent {
                break;
            }
            let ground = RowGround::Device(&stack);
            rows::run(self, visit, &group, &ground, &notes, &reactor, observer)?;
        }
        // Its ring may hold the members' files.
        drop(reactor);
        Ok(stack.end()?)
    }

    /// A file system: every suite in its folder, and then what is left of it when the power fails.
    fn visit_attached(
        &mut self,
        visit: &Visit<'_>,
        journal: &mut Journal,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        let is_measured = |group: &Vec<usize>| !self.is_pull(group);
        let (measured, pulled): (Vec<_>, Vec<_>) =
            self.parts(visit).into_iter().partition(is_measured);
        let is_missing = |group: &Vec<usize>| !self.missing(visit, group).is_empty();
        if measured.iter().any(is_missing) {
            self.visit_mounted(visit, &measured, journal, observer)?;
        }
        // When nothing stands on the members any more.
        for group in pulled {
            self.pull(visit, &group, observer)?;
        }
        Ok(())
    }

    /// Power cuts alone: nothing is served or booted here for it.
    fn visit_pulled(
        &mut self,
        visit: &Visit<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        if let Some(reason) = self.unfit.get(&visit.cell.record.id).cloned() {
            return self.skip(visit, &visit.turn.workloads, &reason, observer);
        }
        for group in self.parts(visit) {
            self.pull(visit, &group, observer)?;
        }
        Ok(())
    }

    /// Rows of the pull suite, each in a process of its own.
    fn pull(
        &mut self,
        visit: &Visit<'_>,
        group: &[usize],
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        for workload in self.missing(visit, group) {
            if self.is_spent {
                return Ok(());
            }
            self.tell(visit, workload, observer);
            let plan = self.plan;
            let row = &plan.workloads[workload];
            let pulled = pulled::options(plan, row, visit.cell, visit.block, self.folder).and_then(
                |options| {
                    let Some(program) = self.puller else {
                        return Err(Error::failed("nothing was named that makes power cuts"));
                    };
                    let mut tell = |text: &str| tracing::debug!("{text}");
                    let limit = limit::limit_of(plan, &[workload], visit.cell);
                    let (outcome, is_over) = limit::within(limit, self.stop, |halt| {
                        run_apart(&options, program, &mut tell, halt)
                    });
                    if is_over {
                        return Err(Error::failed(limit::over(limit)));
                    }
                    Ok(outcome?.map(|outcome| pulled::found(&options, &outcome)))
                },
            );
            match pulled {
                Ok(Some(found)) => self.trial_found(visit, workload, found, observer)?,
                Ok(None) => return Err(Broken::Stopped),
                // No right to mount, no program that makes the file system, drives too small.
                Err(error) => self.skip(visit, &[workload], &error.to_string(), observer)?,
            }
        }
        Ok(())
    }

    /// Whether the workloads of a table are pull tests.
    fn is_pull(&self, group: &[usize]) -> bool {
        group.iter().all(|workload| safety::is_pull(&self.plan.workloads[*workload]))
    }

    /// A file system: made and mounted for the visit, and these suites in its folder.
    fn visit_mounted(
        &mut self,
        visit: &Visit<'_>,
        groups: &[Vec<usize>],
        journal: &mut Journal,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        if let Some(reason) = self.unfit.get(&visit.cell.record.id).cloned() {
            let index = visit.turn.configuration;
            self.estimate.passed(kind(&visit.cell.record, Task::Mounting), index);
            for _ in groups {
                self.estimate.passed(kind(&visit.cell.record, Task::Preparing), index);
            }
            let workloads: Vec<usize> = groups.concat();
            return self.skip(visit, &workloads, &reason, observer);
        }
        let seed = order::visit_seed(self.plan, &visit.cell.record, visit.block);
        let begun = Instant::now();
        let attached = self.attach(visit.cell, seed, journal)?;
        let attaching = begun.elapsed();
        let reactor = Reactor::wall()?;
        self.rest(&reactor)?;
        let notes = self.notes(visit, &attached.notes());
        for group in groups {
            if self.is_spent {
                break;
            }
            rows::run(
                self,
                visit,
                group,
                &RowGround::Folder(&attached),
                &notes,
                &reactor,
                observer,
            )?;
        }
        // Its ring may hold files of the suites.
        drop(reactor);
        let ending = Instant::now();
        attached.take_away()?;
        self.step_done(visit, Task::Mounting, attaching + ending.elapsed());
        Ok(())
    }

    /// What is to be known of every trial of a visit in real time.
    fn notes(&self, visit: &Visit<'_>, of_stack: &[String]) -> Vec<Doubt> {
        let own = format!("{}/", self.own_members().display());
        let note = |text: &String| Doubt::Note { text: text.replace(&own, "") };
        let mut notes: Vec<Doubt> = of_stack.iter().map(note).collect();
        if visit.cell.record.modelled {
            notes.push(Doubt::PacedModel);
        }
        notes
    }

    /// Says that a suite begins to prepare its target.
    pub(super) fn preparing(&mut self) {
        self.trial_begun = Instant::now();
    }

    /// Records how long that took: the first row begins.
    pub(super) fn prepared(&mut self, visit: &Visit<'_>) {
        let clock = visit.cell.record.clock;
        if clock == Clock::Wall {
            self.step_done(visit, Task::Preparing, self.trial_begun.elapsed());
        }
    }

    /// Says that a trial begins.
    pub(super) fn tell(&mut self, visit: &Visit<'_>, workload: usize, observer: &mut dyn Observer) {
        let workload_name = &self.plan.workloads[workload].name;
        tracing::info!(workload = workload_name, stack = visit.cell.record.stack, "trial");
        observer.trial_begun(self.plan, &self.progress(visit, workload_name));
        self.trial_begun = Instant::now();
    }

    /// How often a suite runs the row of a workload itself.
    pub(super) fn runs_of(&self, visit: &Visit<'_>, workload: usize) -> u64 {
        let workload = &self.plan.workloads[workload];
        let settings = suite::settings(self.plan, workload, &visit.cell.record);
        let suite = suite::suite_of(workload);
        suite.and_then(|suite| Ok(suite::runs(&settings?, suite))).unwrap_or(1)
    }

    /// Records that workloads of a visit cannot be measured, unless they are recorded already.
    pub(super) fn skip(
        &mut self,
        visit: &Visit<'_>,
        group: &[usize],
        reason: &str,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        for workload in self.missing(visit, group) {
            let flags = vec![Doubt::NotMeasured { reason: reason.to_owned() }];
            let found = Found { flags, ..Found::default() };
            self.trial_found(visit, workload, found, observer)?;
        }
        Ok(())
    }

    /// Records a trial.
    pub(super) fn trial_found(
        &mut self,
        visit: &Visit<'_>,
        workload: usize,
        found: Found,
        observer: &mut dyn Observer,
    ) -> Result<(), Broken> {
        let (plan, planned) = (self.plan, &self.plan.workloads[workload]);
        let clock = visit.cell.record.clock;
        if !self.course().budget().is_default() {
            let visited: Vec<usize> = (0..plan.workloads.len()).collect();
            let first = self.missing(visit, &visited).len() == visited.len();
            let prepared = prepared_for(plan, workload, first);
            add_written(&mut self.written, plan, visit.cell, &found.members, &prepared);
        }
        let trial = Trial {
            cell: self.identity(&visit.cell.record, workload),
            settings: visit.cell.record.settings.clone(),
            workload: planned.name.clone(),
            block: visit.block,
            order: u32::try_from(visit.place_of(workload)).expect("a block is not that long"),
            clock,
            metrics: found.metrics,
            members: found.members,
            flags: self.flags.iter().cloned().chain(found.flags).collect(),
        };
        self.record.append(&trial)?;
        if clock == Clock::Wall {
            // The next measurement must not share the disk with this.
            self.record.settle()?;
        }
        self.done.insert((trial.cell.clone(), trial.block));
        self.is_spent = self.spent().is_some();
        let course = self.course();
        if course.is_race() || course.is_until_decided() {
            self.trials.push(trial.clone());
        }
        let task = Task::Workload(workload);
        if trial.metrics.is_empty() {
            self.estimate.passed(kind(&visit.cell.record, task), visit.turn.configuration);
        } else {
            self.step_done(visit, task, self.trial_begun.elapsed());
        }
        observer.trial_recorded(plan, &self.progress(visit, &planned.name), &trial);
        Ok(())
    }

    fn progress<'b>(&self, visit: &Visit<'b>, workload: &'b str) -> Progress<'b> {
        Progress {
            block: visit.block + 1,
            configuration: &visit.cell.record,
            visit: visit.position + 1,
            workload,
            blocks: self.course().blocks().unwrap_or(self.plan.blocks),
            finished: self.finished(),
            trials: self.trials_of_run(),
            elapsed: self.begun.elapsed(),
            left: self.estimate.left(),
        }
    }
}

/// A kind of step of a configuration.
fn kind(configuration: &Configuration, task: Task) -> Kind {
    let pace = match configuration.clock {
        _ if configuration.is_in_guest() => Pace::Guest,
        Clock::Virtual => Pace::Modelled,
        Clock::Wall => Pace::Measured,
    };
    Kind { pace, task }
}

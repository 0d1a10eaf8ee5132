//! The visits of a run: in which order they are made, what may still be spent, and what is
//! recorded.

#![expect(
    clippy::disallowed_methods,
    reason = "the time left, and whether the host was busy, are about this machine"
)]

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bench::suite::{Kind as SuiteKind, Settings, Suite};
use host::Error;
use reactor::{Reactor, derive_seed};
use results::course::{self, Course, CourseEvent};
use results::safety;
use results::{Clock, Configuration, Doubt, Host, Plan, Run, Trial, cell_id};
use words::{Text, statement};

use super::folder;
use super::observer::{Observer, Progress};
use super::workload_result::{VisitFailure, WorkloadResult};
use super::write_tally::{add_written, prepared_for};
use crate::catalogue;
use crate::cell::Cell;
use crate::estimate::{Estimate, Kind, Pace, Task};
use crate::order::{self, Turn};
use crate::plan::suite;
use crate::record::Record;
use crate::shard::{self, Shard};
use crate::stacks::DryRuns;

/// Order, budget and record of a run.
pub(super) struct Visits<'a> {
    plan: &'a Plan,
    /// The plan's configurations, in its order.
    cells: &'a [Cell],
    folder: &'a Path,
    record: Record,
    stop: &'a AtomicBool,
    /// Cell and block of every trial that is recorded.
    done: HashSet<(String, u32)>,
    /// What was decided so far.
    steps: Vec<CourseEvent>,
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
    /// The part of the run that is measured here; all of it without one.
    shard: Option<Shard>,
}

/// One visit of a configuration in a block.
#[derive(Clone, Copy)]
pub(super) struct Visit<'a> {
    pub(super) block: u32,
    /// Its place among those of the block, from 0.
    pub(super) position: usize,
    /// All turns of the block.
    turns: &'a [Turn],
    pub(super) cell: &'a Cell,
}

impl<'a> Visit<'a> {
    /// What is done in it.
    pub(super) fn turn(&self) -> &'a Turn {
        &self.turns[self.position]
    }

    /// The same so many blocks later, where nothing takes turns with it.
    pub(super) fn later(&self, blocks: u32) -> Visit<'a> {
        Visit { block: self.block + blocks, ..*self }
    }

    /// The place of one of its workloads in the block's order, counted in trials.
    fn place_of(&self, workload: usize) -> usize {
        let turn = self.turn();
        let earlier = turn.workloads.iter().take_while(|one| **one != workload).count();
        turn.place + earlier
    }
}

impl<'a> Visits<'a> {
    /// Of a run with these trials and decisions.
    pub(super) fn new(
        (plan, cells): (&'a Plan, &'a [Cell]),
        folder: &'a Path,
        record: Record,
        (trials, steps): (Vec<Trial>, Vec<CourseEvent>),
        started: String,
        stop: &'a AtomicBool,
    ) -> Visits<'a> {
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
        Visits {
            plan,
            cells,
            folder,
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
            shard: None,
        }
    }

    pub(super) fn cells(&self) -> &'a [Cell] {
        self.cells
    }

    /// The turns of a block, once everything is decided that is to be before it; none after the
    /// last.
    pub(super) fn turns(
        &mut self,
        block: u32,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Turn>, Error> {
        while let Some(step) = self.next_step(block) {
            // What it rests on comes first.
            self.record.settle()?;
            self.steps.push(step);
            folder::write_steps(self.folder, &self.steps)?;
            self.plan_estimate()?;
            observer.decided(self.plan, &self.steps[self.steps.len() - 1]);
        }
        Ok(order::turns(self.plan, block, &self.course().visited(block)))
    }

    /// The turns of this block and of those after it, as far as they are known before it is run:
    /// all of them, where nothing is decided on the way.
    pub(super) fn known_turns(
        &mut self,
        block: u32,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Vec<Turn>>, Error> {
        let mut known = Vec::new();
        for block in block.. {
            let turns = self.turns(block, observer)?;
            if turns.is_empty() {
                break;
            }
            known.push(turns);
            let course = self.course();
            if course.is_race() || course.is_until_decided() {
                break;
            }
        }
        Ok(known)
    }

    /// The visit at a place among the turns of a block.
    pub(super) fn at<'b>(&self, block: u32, turns: &'b [Turn], position: usize) -> Visit<'b>
    where
        'a: 'b,
    {
        let cell = &self.cells[turns[position].configuration];
        Visit { block, position, turns, cell }
    }

    /// The visits of a block from this one on.
    pub(super) fn onward<'b>(&self, visit: &Visit<'b>) -> impl Iterator<Item = Visit<'b>>
    where
        'a: 'b,
    {
        let Visit { block, position, turns, .. } = *visit;
        (position..turns.len()).map(move |position| self.at(block, turns, position))
    }

    /// Tells that the run begins, or goes on.
    pub(super) fn begin(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.plan_estimate()?;
        let trials = [self.finished(), self.trials_of_run()];
        observer.begun(self.folder, trials, self.estimate.left());
        Ok(())
    }

    /// Waits until all that is recorded is on its medium.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        self.record.settle()
    }

    /// Says that no further trial is made, if the budget is spent.
    pub(super) fn stops_at_budget(&mut self, observer: &mut dyn Observer) -> Result<bool, Error> {
        let Some(spent) = self.spent() else { return Ok(false) };
        let note = statement!(catalogue::STOPPED_AT_BUDGET, spent = spent);
        self.write_spent()?;
        self.note(&note, observer)?;
        Ok(true)
    }

    /// Writes down how much time was spent, where the budget has a limit of it.
    pub(super) fn note_time(&mut self) -> Result<(), Error> {
        match self.course().budget().time_seconds {
            Some(_) => self.write_spent(),
            None => Ok(()),
        }
    }

    /// Writes something into the run's folder that its reader should know, and tells it.
    pub(super) fn note(&self, note: &Text, observer: &mut dyn Observer) -> Result<(), Error> {
        folder::add_note(self.folder, note)?;
        observer.note(note);
        Ok(())
    }

    /// What was planned for a visit in a file system is not done: nothing is mounted and prepared
    /// for these suites.
    pub(super) fn pass_mounting(&mut self, visit: &Visit<'_>, groups: &[Vec<usize>]) {
        let index = visit.turn().configuration;
        self.estimate.passed(kind(&visit.cell.record, Task::Mounting), index);
        for _ in groups {
            self.estimate.passed(kind(&visit.cell.record, Task::Preparing), index);
        }
    }

    /// Records how long it took to make a file system and to take it away.
    pub(super) fn mounted(&mut self, visit: &Visit<'_>, took: Duration) {
        self.step_done(visit, Task::Mounting, took);
    }

    /// The trial under way has taken so much time already.
    pub(super) fn has_taken(&mut self, took: Duration) {
        self.trial_begun = Instant::now().checked_sub(took).unwrap_or(self.trial_begun);
    }

    /// The same for a part of the run.
    pub(super) fn of_shard(mut self, shard: Option<Shard>) -> Visits<'a> {
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

    /// How many trials there will be, as far as it is known.
    fn trials_of_run(&self) -> usize {
        shard::trials(self.shard, &self.course(), self.plan)
    }

    fn course(&self) -> Course<'_> {
        Course::new(self.plan, &self.steps)
    }

    /// What is to be decided before this block.
    fn next_step(&mut self, block: u32) -> Option<CourseEvent> {
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
        (!is_decided).then_some(CourseEvent::Look { blocks: next })
    }

    /// Time that was spent on the run before this process.
    fn spent_before(&self) -> Duration {
        self.steps
            .iter()
            .find_map(|step| match step {
                CourseEvent::Spent { milliseconds } => Some(Duration::from_millis(*milliseconds)),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// Writes down how much time was spent, for a run that is gone on with.
    fn write_spent(&mut self) -> Result<(), Error> {
        let milliseconds = (self.spent_before() + self.begun.elapsed()).as_millis();
        let spent =
            CourseEvent::Spent { milliseconds: u64::try_from(milliseconds).unwrap_or(u64::MAX) };
        // In memory it stays as it was: `begun` is counted from there.
        let others = self.steps.iter().filter(|step| !matches!(step, CourseEvent::Spent { .. }));
        let steps: Vec<CourseEvent> = others.cloned().chain([spent]).collect();
        folder::write_steps(self.folder, &steps)
    }

    /// What of the budget is spent, if anything is.
    fn spent(&self) -> Option<Text> {
        let budget = self.course().budget();
        let spent = self.spent_before() + self.begun.elapsed();
        if let Some(seconds) = budget.time_seconds.filter(|limit| spent.as_secs_f64() >= *limit) {
            return Some(statement!(catalogue::TIME_SPENT, seconds = format!("{seconds:.0}")));
        }
        let limit = budget.written_bytes_per_member?;
        let (member, bytes) = self.written.iter().max_by_key(|(_, bytes)| **bytes)?;
        (*bytes >= limit).then(|| {
            let [bytes, limit] = [*bytes, limit].map(stack::size::text);
            statement!(catalogue::BYTES_SPENT, bytes = bytes, limit = limit, member = member)
        })
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
        let is_ours = |shard: Shard| shard.has(self.plan, visit.turn().configuration, visit.block);
        if !self.shard.is_none_or(is_ours) {
            return Vec::new();
        }
        let is_missing = |workload: &&usize| {
            !self.done.contains(&(self.identity(&visit.cell.record, **workload), visit.block))
        };
        workloads.iter().filter(is_missing).copied().collect()
    }

    /// The workloads of a visit that share one `[[workload]]` table, in order.
    pub(super) fn parts(&self, visit: &Visit<'_>) -> Vec<Vec<usize>> {
        let of_visit = |group: &Vec<usize>| -> Vec<usize> {
            group.iter().filter(|one| visit.turn().workloads.contains(one)).copied().collect()
        };
        self.groups.iter().map(of_visit).filter(|part| !part.is_empty()).collect()
    }

    /// Lets the members rest before a visit, for as long as the plan says.
    pub(super) fn rest(&self, reactor: &Reactor) -> Result<(), Error> {
        let end = reactor.now() + Duration::from_secs_f64(self.plan.schedule.rest_seconds);
        while reactor.now() < end && !self.stop.load(Ordering::Relaxed) {
            reactor
                .wait(Some(end))
                .map_err(|error| Error::from_io(catalogue::RESTING_BETWEEN, &error))?;
        }
        Ok(())
    }

    /// Every step that is left, with the time that the plan gives it: the most that it may come to,
    /// before a race is over.
    fn plan_estimate(&mut self) -> Result<(), Error> {
        let mut estimate = std::mem::take(&mut self.estimate);
        estimate.plan_anew();
        let runs = DryRuns::default();
        let size = |known: &Cell| Ok(known.dry(&runs)?.size_bytes);
        let sizes: Vec<u64> = self.cells.iter().map(size).collect::<Result<_, Error>>()?;
        for block in 0..self.course().blocks().unwrap_or(self.plan.blocks) {
            let visited = self.course().visited(block);
            let turns = order::turns(self.plan, block, &visited);
            for (position, turn) in turns.iter().enumerate() {
                let visit = self.at(block, &turns, position);
                let cell = visit.cell;
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
        self.estimate.done(kind(&visit.cell.record, task), visit.turn().configuration, took);
    }

    /// Where requests go in a visit, and what its data say of themselves.
    pub(super) fn seeds(&self, visit: &Visit<'_>) -> (u64, u64) {
        let places = order::places_seed(self.plan, visit.block);
        let seed = order::visit_seed(self.plan, &visit.cell.record, visit.block);
        (places, derive_seed(seed, &self.started, 0))
    }

    /// Whether the workloads of a table are pull tests.
    pub(super) fn is_pull(&self, group: &[usize]) -> bool {
        group.iter().all(|workload| safety::is_pull(&self.plan.workloads[*workload]))
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

    /// How many blocks a visit makes by the suite's own runs: all that are left, where nothing
    /// takes turns with its configuration and the suite counts runs.
    pub(super) fn blocks_in(&self, visit: &Visit<'_>, suite: &Suite, settings: &Settings) -> u32 {
        let is_alone = self.plan.configurations.len() == 1 && self.shard.is_none();
        let is_measured = visit.cell.record.clock == Clock::Wall && !self.plan.schedule.interleaved;
        let runs = suite.setting(suite::RUNS).map(|setting| setting.kind);
        let Some(SuiteKind::Count(_, most)) = runs.filter(|_| is_alone && is_measured) else {
            return 1;
        };
        if suite::runs(settings, suite) != 1 {
            return 1;
        }
        let left = self.course().blocks().unwrap_or(self.plan.blocks).saturating_sub(visit.block);
        left.clamp(1, u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// Whether nothing was recorded, and what is left is of one configuration alone: what it cannot
    /// do ends the run.
    pub(super) fn has_nothing_else(&self) -> bool {
        self.done.is_empty() && self.plan.configurations.len() == 1
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
        reason: &Text,
        observer: &mut dyn Observer,
    ) -> Result<(), VisitFailure> {
        for workload in self.missing(visit, group) {
            let flags = vec![Doubt::NotMeasured { reason: reason.clone() }];
            let found = WorkloadResult { flags, ..WorkloadResult::default() };
            self.trial_found(visit, workload, found, observer)?;
        }
        Ok(())
    }

    /// Records a trial.
    pub(super) fn trial_found(
        &mut self,
        visit: &Visit<'_>,
        workload: usize,
        found: WorkloadResult,
        observer: &mut dyn Observer,
    ) -> Result<(), VisitFailure> {
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
            settings: visit.cell.record.settings.clone().into(),
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
            self.estimate.passed(kind(&visit.cell.record, task), visit.turn().configuration);
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

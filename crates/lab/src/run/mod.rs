//! Runs: a plan executed into a folder.
//!
//! ```text
//! folder/  plan.toml            what was said
//!          plan.resolved.json   what was meant; a folder without it holds no run
//!          plan.sums.json       how to tell that one of the two was edited since
//!          host.json            where
//!          trials.jsonl         what was measured; locked while the run goes on
//!          course.json          what was decided on the way: who was dropped, who was named, looks
//!          shard.json           which part of a run it is; only of a run on several machines
//!          notes.txt            what happened to the run
//!          progress.json        what is being measured and the time left, only while it goes on
//!          cleanup.jsonl        only while there is something to clean up
//!          members/             the run's own member files, only while it goes on
//!          attached/            where file systems of cells are mounted, only while it goes on
//! ```
//!
//! A trial on modelled disks has a fresh stack on a fresh virtual clock and depends on nothing but
//! the plan's seed, its cell and its block. On the wall clock, a visit of a configuration opens the
//! stack once, and each suite prepares its content once before its tests; trials that a resumed run
//! finds recorded are not repeated.

pub(crate) mod audit_ratios;
mod execute;
mod fill;
mod folder;
pub(crate) mod in_guest;
mod limit;
mod lookahead;
mod members;
mod methods;
pub(crate) mod mounted_export;
mod observer;
mod old_plans;
mod pull_rows;
mod resources;
mod rows;
mod visits;
mod workload_result;
mod write_tally;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

use results::course::{self, Course, CourseEvent};
use results::{Clock, Doubt, Fact, Host, Plan, Run, SharedDisk, Trial};

use crate::catalogue;
use crate::cell::Cell;
use crate::plan::{ResolvedPlan, terms};
use crate::pull::Program;
use crate::record::{self, Record};
use crate::shard::{self, Part, Shard};
use execute::Execution;
use folder::MEMBERS;
pub(crate) use folder::{
    COURSE, HOST, NOTES, PLAN, PLAN_TEXT, PROGRESS, RUNS, SHARD, SUMS, TRIALS,
    by_default as folder_by_default, damaged, json, make as make_folder, most_bytes, read_file,
    read_part, read_text,
};
use host::guard::{Consent, Guard};
use host::limits::MemoryLimit;
use host::{Error, facts, journal};
use members::Members;
use resources::Resources;
use serve::ServeWith;
use visits::Visits;
use words::{Text, statement};

pub use folder::delete_run;
pub use in_guest::{Worker, guest_format, work};
pub use observer::{NoObserver, Observer, Progress, RunEnd};

/// What a run needs besides its plan.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The run's folder, which must be empty or not there; `raidloom-runs/TIME-NAME` without it.
    /// Not for resuming.
    pub output: Option<PathBuf>,
    /// What the user has agreed to overwrite.
    pub consent: Consent,
    /// Arrays of an earlier run on the same drives ([`own_arrays`]): what it has left there when a
    /// drive died asks for no consent of its own.
    pub own_arrays: HashSet<[u8; 16]>,
    /// Resume although the machine has changed.
    pub allow_change: bool,
    /// What is measured beyond what the plan asks for.
    pub more: Option<Extension>,
    /// The part of the run that is measured here. Not for resuming: the folder says it.
    pub shard: Option<Shard>,
    /// What the run may cost from now on, as `time=2h` or `written_per_member=200GiB`: of a run
    /// that goes on.
    pub budget: Vec<String>,
    /// The memory that the run may have, in a cgroup of its own; all of this process's without it.
    /// Not for resuming.
    pub memory_bytes: Option<u64>,
    /// The program that serves a stack to the kernel. Without it no configuration has a file
    /// system: the trials of those that should have one say so.
    pub serve_with: Option<ServeWith>,
    /// The program that measures inside guests. Without it no configuration is measured in one.
    pub worker: Option<Worker>,
    /// The program that makes power cuts ([`crate::pull::serve_test`]). Without it no
    /// configuration has a grade: the trials that should say it say so.
    pub puller: Option<Program>,
    /// A file that is put into its folder before its first trial: its name and content. Not for
    /// resuming: it is there.
    pub beside: Option<(&'static str, Vec<u8>)>,
    /// Threads that modelled trials run on, as many as there are processors without it. They find
    /// the same with any number.
    pub threads: Option<NonZero<usize>>,
}

impl RunOptions {
    fn threads(&self) -> usize {
        let all = || thread::available_parallelism().ok();
        self.threads.or_else(all).map_or(1, NonZero::get)
    }

    /// What configurations are opened with.
    fn resources<'a>(&'a self, folder: &'a Path, guard: &'a Guard) -> Resources<'a> {
        Resources {
            serve_with: self.serve_with.as_ref(),
            worker: self.worker.as_ref(),
            puller: self.puller.as_ref(),
            ..Resources::new(folder, guard)
        }
    }
}

/// A run that ended without an error.
#[derive(Debug)]
pub struct Outcome {
    /// Its folder.
    pub folder: PathBuf,
    /// How it ended.
    pub ended: RunEnd,
    /// Which part of a run it is, if it is not all of it.
    pub shard: Option<Shard>,
    /// What was measured, as it is in the folder.
    pub run: Run,
}

/// What this machine is, for a run in `folder`.
fn host(
    options: &RunOptions,
    members: &Members,
    cells: &[Cell],
    folder: &Path,
) -> Result<Host, Error> {
    let own = folder.join(MEMBERS);
    let mut host = facts::facts(&members.storage(&own));
    host.facts.extend(options.memory_bytes.map(|bytes| Fact {
        name: "memory limit".to_owned(),
        value: crate::stacks::size_text(bytes),
        must_match: true,
    }));
    host.one_disk = Members::on_one_disk(cells, &own)?;
    host.shared_disks = Members::shared_disks(cells, &own)?;
    Ok(host)
}

fn tell_shared(host: &Host, observer: &mut dyn Observer) {
    for SharedDisk { sets, disk } in &host.shared_disks {
        let sets = sets.join(catalogue::BETWEEN_SETS.template());
        observer.note(&statement!(catalogue::SETS_ON_ONE_DISK, sets = sets, disk = disk));
    }
}

/// Starts a run. `stop` ends it at the next chance in a state that can be resumed.
///
/// # Errors
/// A usage error or a refusal before anything is written; otherwise what failed. When no trial was
/// recorded, the folder is gone again; when there were, the message says how to go on.
pub fn start(
    resolved: &ResolvedPlan,
    options: &RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let plan = &resolved.plan;
    if let Some(shard) = options.shard {
        if options.more.is_some() {
            return Err(Error::usage(catalogue::SHARD_NOT_EXTENDED).at(format!("--shard {shard}")));
        }
        shard.check(plan)?;
    }
    let _limit = options.memory_bytes.map(MemoryLimit::enter).transpose()?;
    let cells = Cell::all(plan)?;
    let members = Members::of(&cells)?;
    let folder = options.output.clone().unwrap_or_else(|| folder::by_default(&plan.name));
    let folder = host::files::absolute(&folder)?;
    let guard =
        Guard::new(options.consent.clone()).protecting(&folder).owning(options.own_arrays.clone());
    members.check(&guard)?;
    guard.refuse_stray_consent()?;
    crate::plan::room(plan, &folder)?;
    let was_there = folder.exists();
    folder::make(&folder)?;
    let mut recorded = 0;
    let result = (|| {
        let record = Record::create(&folder.join(TRIALS))?;
        for note in folder::undo_siblings(&folder, options.serve_with.as_ref()) {
            observer.note(&note);
        }
        let host = host(options, &members, &cells, &folder)?;
        tell_shared(&host, observer);
        folder::write_whole(&folder, HOST, &folder::json(&host))?;
        let steps = match options.more {
            Some(Extension::UntilDecided) => until_decided(plan, &[])?,
            _ => Vec::new(),
        };
        if !steps.is_empty() {
            folder::write_steps(&folder, &steps)?;
        }
        if let Some(shard) = options.shard {
            folder::write_whole(&folder, SHARD, &folder::json(&Part::here(shard)))?;
        }
        if let Some((name, bytes)) = &options.beside {
            folder::write_whole(&folder, name, bytes)?;
        }
        folder::write_plan(&folder, resolved.text.as_bytes(), plan)?;
        if plan.schedule.drawn_parameters {
            note_in(&folder, &catalogue::DRAWN_PARAMETERS.into(), observer)?;
        }
        let found = (Vec::new(), steps);
        let visits = Visits::new((plan, &cells), &folder, record, found, host.started, stop)
            .of_shard(options.shard);
        let mut execution =
            Execution::new(visits, options.resources(&folder, &guard), options.threads());
        let ended = execution.run(&members, observer);
        recorded = execution.finished();
        ended
    })();
    if result.is_err() && recorded == 0 {
        if let Some((name, _)) = &options.beside {
            _ = fs::remove_file(folder.join(name));
        }
        folder::forget(&folder, was_there);
        return result.map(|_| unreachable!("it is an error"));
    }
    outcome(&folder, result)
}

/// The identities of the arrays that a run of this plan makes of files and devices that were there
/// before. Superblocks with one of them are what the run has left, if it was killed.
///
/// # Errors
/// A plan that makes no sense here.
pub fn own_arrays(plan: &Plan) -> Result<HashSet<[u8; 16]>, Error> {
    let cells = Cell::all(plan)?;
    Members::of(&cells)?.own_arrays(plan, &cells)
}

/// Ends what a run that was killed has left at work, and undoes what it has left behind; says in
/// words what was done.
///
/// # Errors
/// A refusal while the run goes on.
pub fn end_left_behind(folder: &Path, serve_with: &ServeWith) -> Result<Vec<Text>, Error> {
    let folder = host::files::absolute(folder)?;
    // Whoever works on it holds this.
    let _record = Record::open(&folder.join(TRIALS))?;
    let ended = mounted_export::end_left_behind(Some(serve_with), &folder);
    Ok(ended.into_iter().chain(journal::undo_left_behind(&folder)).collect())
}

/// Steps of a run that is to go on until its headlines are decided, after those that it has taken:
/// it begins with the first look that is no shorter than what its plan asks for.
fn until_decided(plan: &Plan, steps: &[CourseEvent]) -> Result<Vec<CourseEvent>, Error> {
    let course = Course::new(plan, steps);
    let mut steps = steps.to_vec();
    if course.is_until_decided() {
        return Ok(steps);
    }
    if !course.is_race() && course.look().is_none() {
        let blocks = course::look_after(plan.blocks - 1).ok_or_else(|| too_long(plan.blocks))?;
        steps.push(CourseEvent::Look { blocks });
    }
    steps.push(CourseEvent::UntilDecided);
    Ok(steps)
}

fn too_long(blocks: u32) -> Error {
    let [.., last] = course::LOOKS;
    Error::usage(statement!(catalogue::LAST_LOOK, last = last, blocks = blocks))
}

/// What is measured beyond what a plan asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// So many blocks or a few more, to the next look: of a finished run.
    Blocks(u32),
    /// From look to look until the headlines are decided.
    UntilDecided,
}

/// Goes on with a run: same seed, same order, the trials that are missing, and as many more as the
/// options say.
///
/// # Errors
/// A usage error when the folder holds no run or the machine has changed; a refusal when another
/// process works on it; otherwise what failed, with the command that goes on.
pub fn resume(
    folder: &Path,
    options: &RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let folder = host::files::absolute(folder)?;
    let plan = folder::read_plan(&folder)?;
    let edited = edited_text(&folder)?;
    let part = folder::read_part(&folder)?;
    refuse_other_machine(&folder, &plan, part.as_ref())?;
    // The lock comes before anything is undone: another process may be at work.
    let (record, lines) = Record::open(&folder.join(TRIALS))?;
    let taken = folder::read_steps(&folder)?;
    let mut steps = further(&plan, &taken, &lines.trials, options.more, &folder)?;
    if !options.budget.is_empty() {
        raise_budget(&plan, &mut steps, &options.budget)?;
    }
    let ended = mounted_export::end_left_behind(options.serve_with.as_ref(), &folder);
    let notes = lines.note.into_iter().chain(edited).chain(ended);
    let notes = notes.chain(journal::undo_left_behind(&folder));
    for note in notes {
        note_in(&folder, &note, observer)?;
    }
    let cells = Cell::all(&plan)?;
    let members = Members::of(&cells)?;
    // What a killed run has left on its members, it had the consent for.
    let guard = Guard::new(options.consent.clone())
        .protecting(&folder)
        .owning(members.own_arrays(&plan, &cells)?);
    members.check(&guard)?;
    guard.refuse_stray_consent()?;
    crate::plan::room(&plan, &folder)?;
    let before = folder::read_host(&folder)?;
    let now = facts::facts(&members.storage(&folder.join(MEMBERS)));
    let changes = facts::changes(&before, &now);
    if !changes.is_empty() && !options.allow_change {
        return Err(facts::changed_error(&changes));
    }
    if steps != taken {
        folder::write_steps(&folder, &steps)?;
    }
    let found = (lines.trials, steps);
    let shard = part.map(|part| part.shard);
    refuse_more_of_shard(&folder, shard, options)?;
    let mut visits =
        Visits::new((&plan, &cells), &folder, record, found, before.started, stop).of_shard(shard);
    if !changes.is_empty() {
        let text = statement!(catalogue::MACHINE_HAD_CHANGED, changes = changes.join("; "));
        note_in(&folder, &text, observer)?;
        visits.flag_all(Doubt::MachineChanged { changes });
    }
    let mut execution =
        Execution::new(visits, options.resources(&folder, &guard), options.threads());
    let ended = execution.run(&members, observer);
    drop(execution);
    outcome(&folder, ended)
}

/// What to note where the plan's text is not what the run began with.
///
/// # Errors
/// A usage error where the plan that it goes on with is not.
fn edited_text(folder: &Path) -> Result<Option<Text>, Error> {
    let (said_edited, meant_edited) = folder::edited(folder)?;
    if meant_edited {
        return Err(Error::usage(catalogue::PLAN_EDITED).at(folder.join(PLAN).display()));
    }
    Ok(said_edited.then(|| statement!(catalogue::PLAN_TEXT_EDITED, text = PLAN_TEXT, plan = PLAN)))
}

/// Keeps a note in the run's folder, and shows it.
fn note_in(folder: &Path, note: &Text, observer: &mut dyn Observer) -> Result<(), Error> {
    folder::add_note(folder, note)?;
    observer.note(note);
    Ok(())
}

/// Refuses to measure more of a shard than its part of the run.
fn refuse_more_of_shard(
    folder: &Path,
    shard: Option<Shard>,
    options: &RunOptions,
) -> Result<(), Error> {
    match shard.filter(|_| options.more.is_some() || !options.budget.is_empty()) {
        Some(shard) => {
            Err(Error::usage(statement!(catalogue::PART_NOT_EXTENDED, shard = shard.to_string()))
                .at(folder.display()))
        }
        None => Ok(()),
    }
}

/// Gives a run another budget from now on.
fn raise_budget(plan: &Plan, steps: &mut Vec<CourseEvent>, said: &[String]) -> Result<(), Error> {
    let budget = terms::raised(Course::new(plan, steps).budget(), said)?;
    steps.retain(|step| !matches!(step, CourseEvent::Budget { .. }));
    steps.push(CourseEvent::Budget {
        milliseconds: budget.time_seconds.map(|seconds| (seconds * 1e3).ceil() as u64),
        written_bytes_per_member: budget.written_bytes_per_member,
    });
    Ok(())
}

/// Refuses to go on with a part of a run that another machine has measured so far.
fn refuse_other_machine(folder: &Path, plan: &Plan, part: Option<&Part>) -> Result<(), Error> {
    if let Some(Part { shard, machine }) = part
        && *machine != Part::here(*shard).machine
        && shard::is_measured(plan)
    {
        return Err(Error::usage(statement!(
            catalogue::SHARD_OF_OTHER_MACHINE,
            shard = shard.to_string()
        ))
        .at(folder.display()));
    }
    Ok(())
}

/// The steps of a run, and those with which it goes on.
fn further(
    plan: &Plan,
    taken: &[CourseEvent],
    trials: &[Trial],
    more: Option<Extension>,
    folder: &Path,
) -> Result<Vec<CourseEvent>, Error> {
    let course = Course::new(plan, taken);
    let Some(more) = more else { return Ok(taken.to_vec()) };
    let blocks = course.blocks().filter(|_| trials.len() >= course.trials());
    let Some(blocks) = blocks else {
        let shown = folder.display();
        return Err(Error::usage(statement!(catalogue::RUN_UNFINISHED, folder = &shown)).at(&shown));
    };
    match more {
        Extension::UntilDecided => until_decided(plan, taken),
        Extension::Blocks(more) => {
            // Of a race only the fresh blocks are counted.
            let there = blocks - course.first_fresh();
            let wanted = there.saturating_add(more.saturating_sub(1));
            let blocks = course::look_after(wanted).ok_or_else(|| too_long(there))?;
            Ok([taken, &[CourseEvent::Look { blocks }]].concat())
        }
    }
}

fn outcome(folder: &Path, ended: Result<RunEnd, Error>) -> Result<Outcome, Error> {
    let ended = ended.map_err(|error| {
        let kept = read(folder).map_or(0, |run| run.trials.len());
        let folder = folder.display();
        error.then(statement!(catalogue::TRIALS_KEPT, count = kept, folder = folder))
    })?;
    let shard = folder::read_part(folder)?.map(|part| part.shard);
    Ok(Outcome { folder: folder.to_owned(), ended, shard, run: read(folder)? })
}

/// Writes a run that was not executed here, with the text of its plan, into a folder that is empty
/// or not there; returns the folder.
pub(crate) fn write(folder: &Path, plan_text: &[u8], run: &Run) -> Result<PathBuf, Error> {
    let folder = host::files::absolute(folder)?;
    folder::make(&folder)?;
    let line = |trial: &Trial| {
        format!("{}\n", serde_json::to_string(trial).expect("a trial is plain data"))
    };
    let trials: String = run.trials.iter().map(line).collect();
    folder::write_whole(&folder, HOST, &folder::json(&run.host))?;
    folder::write_whole(&folder, TRIALS, trials.as_bytes())?;
    if !run.steps.is_empty() {
        folder::write_steps(&folder, &run.steps)?;
    }
    for note in &run.notes {
        folder::add_note(&folder, &note.into())?;
    }
    folder::write_plan(&folder, plan_text, &run.plan)?;
    Ok(folder)
}

/// Reads a run back from its folder, also while it goes on. Changes nothing.
///
/// # Errors
/// When the folder holds no run, or a file in it was damaged.
pub fn read(folder: &Path) -> Result<Run, Error> {
    let plan = folder::read_plan(folder)?;
    let host = folder::read_host(folder)?;
    let path = folder.join(TRIALS);
    let lines = match folder::open_file(folder, TRIALS) {
        Ok(file) => record::read_lines(&path, file)?,
        // The run was killed before it came so far.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            record::read_lines(&path, std::io::empty())?
        }
        Err(error) => return Err(Error::from_io(path.display(), &error)),
    };
    refuse_other_clocks(&plan, &path, &lines.trials)?;
    let bytes = folder::read_file(folder, NOTES).unwrap_or_default();
    let mut notes: Vec<Text> =
        String::from_utf8_lossy(&bytes).lines().map(folder::note_of).collect();
    notes.extend(lines.note);
    notes.extend(folder::read_part(folder)?.map(|part| part.shard.note()));
    if folder::edited(folder)?.1 {
        notes.push(statement!(catalogue::PLAN_WAS_EDITED, file = PLAN));
    }
    let steps = folder::read_steps(folder)?;
    Ok(Run { plan, host, trials: lines.trials, notes, steps })
}

/// Modelled time and real time are never compared: a trial of the other clock is of another run.
fn refuse_other_clocks(plan: &Plan, path: &Path, trials: &[Trial]) -> Result<(), Error> {
    let clocks: HashMap<&BTreeMap<String, String>, Clock> =
        plan.configurations.iter().map(|one| (&one.settings, one.clock)).collect();
    for (index, trial) in trials.iter().enumerate() {
        let Some(clock) = clocks.get(&*trial.settings).filter(|clock| **clock != trial.clock)
        else {
            continue;
        };
        let name = |clock: Clock| match clock {
            Clock::Virtual => catalogue::VIRTUAL_CLOCK,
            Clock::Wall => catalogue::WALL_CLOCK,
        };
        return Err(Error::failed(statement!(
            catalogue::OTHER_CLOCK,
            path = path.display(),
            line = index + 1,
            own = name(trial.clock),
            label = plan.label(&trial.settings),
            planned = name(*clock)
        )));
    }
    Ok(())
}

//! `raidloom run`: executes a plan and writes its report.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lab::plan::{OneLine, Resolved};
use lab::slurm::{self, Job};
use lab::{Ended, More, Observer, Outcome, Progress, RunOptions, Shard, TimeLeft, watch};
use results::analysis::{Analysis, analyse};
use results::compare::against_baseline;
use results::course::Step;
use results::{Plan, Run, Trial};
use serde_json::json;

use crate::arguments::{Consent, LineArguments, MergeArguments, RunArguments, Scheduler, Until};
use crate::failure::Failure;
use crate::limits::Limits;
use crate::output::{Output, figure};
use crate::progress::{Line, duration};
use crate::{array_command, guest_command, plan, pull_command, report_command, signals};

/// Executes or resumes a run.
#[expect(clippy::too_many_lines, reason = "not yet split")]
pub(crate) fn run(output: &Output, arguments: RunArguments) -> Result<(), Failure> {
    if let Some(Scheduler::Slurm) = arguments.cluster.on {
        return on_slurm(output, &arguments);
    }
    let limits = Limits::parse(&arguments.fail_if)?;
    let options = RunOptions {
        allow_change: arguments.allow_change,
        more: match (arguments.more, arguments.until) {
            (Some(blocks), _) => Some(More::Blocks(blocks)),
            (None, Some(Until::Decided)) => Some(More::UntilDecided),
            (None, None) => None,
        },
        shard: arguments.shard,
        budget: arguments.budget,
        ..options(arguments.output, arguments.consent)?
    };
    let is_plan = arguments.plan.as_ref().is_some_and(|path| !path.is_dir());
    if options.allow_change && is_plan {
        return Err(Failure::usage("--allow-change is for a run that goes on: name its folder"));
    }
    let mut set = arguments.set;
    if is_plan || arguments.line.command.is_some() {
        // Of a plan these are keys like others.
        set.extend(options.budget.iter().map(|limit| format!("budget.{limit}")));
    }
    // One that comes through a pipe is waited for, and the first Ctrl-C ends that.
    let named = match (&arguments.plan, &arguments.resume) {
        (Some(path), None) if is_plan && options.more.is_none() => {
            Some(lab::plan::load(path, &set)?)
        }
        _ => None,
    };
    let stop = signals::stop_flag()?;
    let mut watch = Watch::new(output);
    let outcome = match (&arguments.plan, &arguments.resume) {
        (_, Some(folder)) => lab::resume(folder, &options, &stop, &mut watch),
        (Some(path), None) if options.more.is_some() && path.is_dir() => {
            if !set.is_empty() || options.output.is_some() {
                return Err(Failure::usage(
                    "a run goes on in its own folder with the plan that it began with: leave out \
                    --set and --output",
                ));
            }
            lab::resume(path, &options, &stop, &mut watch)
        }
        (Some(path), None) if arguments.more.is_some() => {
            return Err(Failure::usage(format!(
                "{}: --more goes on with a finished run, and this is no folder of one",
                path.display()
            )));
        }
        (Some(path), None) => named
            .map_or_else(|| lab::plan::load(path, &set), Ok)
            .and_then(|resolved| start(&resolved, &options, &stop, &mut watch)),
        (None, None) if arguments.line.command.is_some() => {
            let text = line(&arguments.line).text()?;
            let resolved = lab::plan::resolve("--command", &text, &set)?;
            if arguments.line.print_plan {
                return output.result(text.trim_end());
            }
            start(&resolved, &options, &stop, &mut watch)
        }
        (None, None) => return Err(Failure::usage("name a plan file, or a run with --resume")),
    };
    watch.line.clear();
    let outcome = outcome?;
    if let Some(shard) = outcome.shard.filter(|_| outcome.ended == Ended::Complete) {
        return part(output, shard, &outcome);
    }
    let page = Report::of(outcome.folder, outcome.run)?;
    if outcome.ended == Ended::Interrupted {
        return Err(Failure::interrupted(format!(
            "interrupted after {} trials; nothing measured is lost. To go on:\n  raidloom run \
            --resume {}",
            page.run.trials.len(),
            page.folder.display()
        )));
    }
    page.tell(output, &limits)
}

/// What a run is started with here.
fn options(folder: Option<PathBuf>, consent: Consent) -> Result<RunOptions, Failure> {
    Ok(RunOptions {
        output: folder,
        consent: consent.into(),
        serve_with: Some(array_command::serve_with()?),
        worker: Some(guest_command::worker()?),
        puller: Some(pull_command::puller()?),
        ..RunOptions::default()
    })
}

/// Runs a plan of one configuration. What it cannot do is said before anything else.
pub(crate) fn one_cell(
    output: &Output,
    resolved: &Resolved,
    folder: Option<PathBuf>,
    consent: Consent,
    memory_bytes: Option<u64>,
) -> Result<Outcome, Failure> {
    let stop = signals::stop_flag()?;
    let mut watch = Watch::new(output);
    watch.waits = true;
    let options = RunOptions { memory_bytes, ..options(folder, consent)? };
    let outcome = lab::start(resolved, &options, &stop, &mut watch);
    watch.line.clear();
    outcome
}

/// Submits a run to Slurm, or what is left of one.
fn on_slurm(output: &Output, arguments: &RunArguments) -> Result<(), Failure> {
    let cluster = &arguments.cluster;
    if let Some(folder) = &arguments.resume {
        let (job, numbers) = slurm::resubmit(folder)?;
        return submitted(output, folder, &job, numbers.len());
    }
    let mut set = arguments.set.clone();
    set.extend(arguments.budget.iter().map(|limit| format!("budget.{limit}")));
    let (origin, text) = match &arguments.plan {
        Some(path) => lab::plan::read(path)?,
        None => ("--command".to_owned(), line(&arguments.line).text()?),
    };
    let resolved = lab::plan::resolve(&origin, &text, &set)?;
    let outline = lab::plan::outline(&resolved.plan)?;
    output.progress(&format!("{}: {}", resolved.plan.name, plan::sentence(&outline)));
    let program = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("finding this program: {error}")))?;
    let (folder, job) = slurm::submit(&slurm::Wanted {
        text: &text,
        settings: &set,
        resolved: &resolved,
        program: &program,
        flags: &arguments.consent.flags(),
        output: arguments.output.as_deref(),
        partition: cluster.partition.as_deref(),
        nodes: cluster.nodes,
        shards: cluster.shards,
    })?;
    submitted(output, &folder, &job, job.shards as usize)
}

/// Says what was submitted, and what to do with it.
fn submitted(output: &Output, folder: &Path, job: &Job, tasks: usize) -> Result<(), Failure> {
    let number = job.jobs.last().map_or("", String::as_str);
    if output.json {
        return output.document(&json!({
            "run": folder, "job": number, "shards": job.shards, "submitted": tasks,
            "trials": job.trials
        }));
    }
    let shown = folder.display();
    let what = if tasks == job.shards as usize {
        format!("{tasks} shards")
    } else {
        format!("{tasks} of {} shards", job.shards)
    };
    output.result(&format!(
        "job {number}: {what} of a run of {} trials\n  to follow it: raidloom watch {shown}\n  to \
        stop it: scancel {number}\n  at its end: raidloom merge {shown} -o DIR",
        job.trials
    ))
}

/// Says that a part is there. What its trials say alone is not what the run will say.
fn part(output: &Output, shard: Shard, outcome: &Outcome) -> Result<(), Failure> {
    let (folder, trials) = (outcome.folder.display(), outcome.run.trials.len());
    if output.json {
        let shard = shard.to_string();
        return output.document(&json!({
            "run": outcome.folder, "shard": shard, "trials": trials
        }));
    }
    output.result(&format!(
        "shard {shard}: {trials} trials in {folder}; when all are there: raidloom merge {folder} … -o \
        DIR"
    ))
}

/// Joins shards to a run, and says what it says.
pub(crate) fn merge(output: &Output, arguments: &MergeArguments) -> Result<(), Failure> {
    let merged = lab::merge(&arguments.shards, &arguments.output)?;
    let machines = if merged.machines == 1 { "machine" } else { "machines" };
    output.progress(&format!(
        "{}: {} trials of {} shards, measured on {} {machines}",
        merged.folder.display(),
        merged.run.trials.len(),
        merged.shards,
        merged.machines
    ));
    Report::of(merged.folder, merged.run)?.tell(output, &Limits::default())
}

/// A run whose report is written.
pub(crate) struct Report {
    pub(crate) folder: PathBuf,
    pub(crate) run: Run,
    pub(crate) analysis: Analysis,
    pub(crate) page: PathBuf,
}

impl Report {
    pub(crate) fn of(folder: PathBuf, run: Run) -> Result<Report, Failure> {
        let analysis = lab::alone::with_starts(&folder, &run, analyse(&run));
        let page = report_command::write_files(&folder, &run, &analysis)?;
        Ok(Report { folder, run, analysis, page })
    }

    fn tell(&self, output: &Output, limits: &Limits<'_>) -> Result<(), Failure> {
        let Report { folder, run, analysis, page } = self;
        let changes = against_baseline(analysis);
        // A limit about nothing is said when the report is there.
        let verdict = limits.judge(&changes);
        if output.json {
            let mut document = json!({
                "run": folder,
                "report": page,
                "trials": run.trials.len(),
                "flagged": run.trials.iter().filter(|trial| !trial.flags.is_empty()).count(),
            });
            if let (false, Ok(verdict)) = (limits.is_empty(), &verdict) {
                let [passed, blind, unseen] = verdict.values();
                document["limits_passed"] = passed;
                document["limits_blind"] = blind;
                document["limits_unseen"] = unseen;
            }
            output.document(&document)?;
        } else {
            report_command::terminal(output, run, analysis, false)?;
            output.result(&format!("report: {}", page.display()))?;
        }
        if limits.is_empty() || changes.cells.is_empty() {
            report_command::has_result(run, analysis)?;
        }
        if limits.is_empty() {
            return Ok(());
        }
        let verdict = verdict?;
        verdict.note().iter().for_each(|note| output.note(note));
        verdict.passed()?;
        // What limits ask is what was asked: a run without a headline may answer it.
        verdict.blind()
    }
}

/// Says what a plan comes to, and runs it.
fn start(
    resolved: &Resolved,
    options: &RunOptions,
    stop: &AtomicBool,
    watch: &mut Watch<'_>,
) -> Result<Outcome, host::Error> {
    let outline = lab::plan::outline(&resolved.plan)?;
    watch.output.progress(&format!("{}: {}", resolved.plan.name, plan::sentence(&outline)));
    lab::start(resolved, options, stop, watch)
}

/// The plan that was said on the command line.
fn line(said: &LineArguments) -> OneLine {
    OneLine {
        run: said.command.clone().unwrap_or_default(),
        prepare: said.prepare.clone(),
        cleanup: said.cleanup.clone(),
        figures: said.figures.clone(),
        levels: said.level.clone(),
        chunks: said.chunk.clone(),
        file_systems: said.fs.clone(),
        members: said.members,
        member_size: said.member_size.clone(),
        folder: said.member_dir.as_ref().map(|folder| folder.display().to_string()),
    }
}

/// Shows how far the run is: one line drawn over on a terminal, one line a visit elsewhere. Those
/// that look at its folder (`raidloom ui`) are told as well.
struct Watch<'a> {
    output: &'a Output,
    line: Line,
    folder: Option<PathBuf>,
    told: Option<Instant>,
    /// Whether nothing is said of the run before its first trial begins.
    waits: bool,
    /// What is to be said then.
    begins: Option<String>,
}

impl<'a> Watch<'a> {
    fn new(output: &'a Output) -> Watch<'a> {
        let line = Line::new(output);
        Watch { output, line, folder: None, told: None, waits: false, begins: None }
    }
}

/// How often they are told at most: each time is a small file, written before a trial begins.
const TOLD_EVERY: Duration = Duration::from_secs(2);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.folder.iter().for_each(|folder| watch::tell_no_more(folder));
    }
}

fn left(left: TimeLeft) -> String {
    let (low, high) = (duration(left.low), duration(left.high));
    let range = if low == high { low } else { format!("{low} to {high}") };
    if left.rough { format!("{range} (rough)") } else { range }
}

fn label(plan: &Plan, progress: &Progress<'_>) -> String {
    plan.label(&progress.configuration.settings)
}

impl Observer for Watch<'_> {
    fn begun(&mut self, folder: &Path, [finished, trials]: [usize; 2], time_left: TimeLeft) {
        self.folder = Some(folder.to_owned());
        let done = if finished > 0 {
            format!(", {finished} of {trials} trials there already")
        } else {
            String::new()
        };
        let text = format!("run: {}{done}; time left: {}", folder.display(), left(time_left));
        match self.waits {
            true => self.begins = Some(text),
            false => self.output.progress(&text),
        }
    }

    fn trial_begun(&mut self, plan: &Plan, progress: &Progress<'_>) {
        self.begins.take().iter().for_each(|text| self.output.progress(text));
        if let Some(folder) = &self.folder
            && self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY)
        {
            watch::tell(folder, &watch::Now::of(plan, progress));
            self.told = Some(Instant::now());
        }
        // What is longest stands last: a narrow terminal shows the beginning.
        let text = format!(
            "{} %  trial {}/{}  left {}  block {}/{}  {}  {}",
            100 * progress.finished / progress.trials.max(1),
            progress.finished + 1,
            progress.trials,
            left(progress.left),
            progress.block,
            progress.blocks,
            label(plan, progress),
            progress.workload,
        );
        if self.output.animates() {
            self.line.show(&text);
        }
    }

    fn trial_recorded(&mut self, plan: &Plan, progress: &Progress<'_>, trial: &Trial) {
        if self.output.animates() {
            return;
        }
        // One plain line for each visit's last trial: a log, not a flood.
        let Some(last) = plan.workloads.last() else { return };
        if last.name == progress.workload {
            let rate = trial
                .metrics
                .get("throughput_bytes_per_second")
                .map_or(String::new(), |rate| format!(" {} MB/s", figure(rate / 1e6)));
            self.output.progress(&format!(
                "block {}/{}  {:<24} trial {} of {}  {}{rate}  elapsed {}  left {}",
                progress.block,
                progress.blocks,
                label(plan, progress),
                progress.finished,
                progress.trials,
                progress.workload,
                duration(progress.elapsed.max(Duration::from_secs(1))),
                left(progress.left)
            ));
        }
    }

    fn decided(&mut self, plan: &Plan, step: &Step) {
        self.line.clear();
        let label = |id: &String| {
            let found = plan.configurations.iter().find(|one| one.id == *id);
            found.map_or_else(|| id.clone(), |one| plan.label(&one.settings))
        };
        self.output.progress(&match step {
            Step::Dropped { after_blocks, configurations } => format!(
                "race: {} clear losers dropped after {after_blocks} blocks",
                configurations.len()
            ),
            Step::Named { after_blocks, picks } => {
                let mut named: Vec<String> = picks.iter().map(|pick| label(&pick.named)).collect();
                named.dedup();
                format!("race: over after {after_blocks} blocks; named: {}", named.join(", "))
            }
            Step::Look { blocks } => format!("not decided yet: on to {blocks} blocks"),
            Step::UntilDecided => "on until it is decided".to_owned(),
            Step::Budget { .. } | Step::Spent { .. } => return,
        });
    }

    fn note(&mut self, text: &str) {
        self.line.clear();
        self.output.note(text);
    }
}

//! `raidloom run`: executes a plan and writes its report.

mod arguments;
mod cluster;
mod progress;
mod report;

pub(crate) use arguments::RunArguments;
pub(crate) use report::Report;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab::plan::ResolvedPlan;
use lab::{Extension, Outcome, RunEnd, RunOptions};

use crate::catalogue::{self, say};
use crate::consent::Consent;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::output::Output;
use crate::{array_command, guest_command, plan, pull_command, signals};
use arguments::{Scheduler, StopRule};
use progress::RunProgress;

/// Executes or resumes a run.
pub(crate) fn run(output: &Output, arguments: RunArguments) -> Result<(), Failure> {
    let has_subject =
        arguments.plan.is_some() || arguments.resume.is_some() || arguments.line.command.is_some();
    if !has_subject && !arguments.print_plan {
        return Err(Failure::usage(catalogue::NAME_A_PLAN));
    }
    if let Some(Scheduler::Slurm) = arguments.cluster.on {
        return cluster::submit(output, &arguments);
    }
    if arguments.print_plan {
        return print_plan(output, &arguments);
    }
    let limits = Limits::parse(&arguments.fail_if)?;
    // A plan that comes through a pipe is waited for, and the first Ctrl-C ends that.
    let subject = subject(&arguments)?;
    let options = RunOptions {
        allow_change: arguments.allow_change,
        more: match (arguments.more, arguments.until) {
            (Some(blocks), _) => Some(Extension::Blocks(blocks)),
            (None, Some(StopRule::Decided)) => Some(Extension::UntilDecided),
            (None, None) => None,
        },
        shard: arguments.shard,
        budget: arguments.budget,
        ..options(arguments.output, arguments.consent.clone())?
    };
    let stop = signals::stop_flag()?;
    let mut progress = RunProgress::new(output);
    let outcome = match &subject {
        Subject::Plan(resolved) => start(resolved, &options, &stop, &mut progress),
        Subject::Folder(folder) => lab::resume(folder, &options, &stop, &mut progress),
    };
    progress.line.clear();
    finish(output, outcome?, &limits, &arguments.consent)
}

/// What is run.
enum Subject {
    /// A plan, from its beginning.
    Plan(Box<ResolvedPlan>),
    /// The folder of a run that goes on.
    Folder(PathBuf),
}

/// What was named to be run.
fn subject(arguments: &RunArguments) -> Result<Subject, Failure> {
    let goes_on = arguments.more.is_some() || arguments.until.is_some();
    let plan = |resolved| Ok(Subject::Plan(Box::new(resolved)));
    match (&arguments.plan, &arguments.resume) {
        (_, Some(folder)) => Ok(Subject::Folder(folder.clone())),
        (Some(folder), None) if goes_on && folder.is_dir() => {
            if !arguments.set.is_empty() || arguments.output.is_some() {
                return Err(Failure::usage(catalogue::OWN_PLAN));
            }
            Ok(Subject::Folder(folder.clone()))
        }
        (Some(path), None) => {
            refuse_to_go_on(arguments, path)?;
            plan(lab::plan::load(path, &arguments.settings())?)
        }
        (None, None) => plan(of_line(arguments)?.1),
    }
}

/// Refuses what is only for runs that go on, where a plan was named.
fn refuse_to_go_on(arguments: &RunArguments, plan: &Path) -> Result<(), Failure> {
    if arguments.allow_change && !plan.is_dir() {
        return Err(Failure::usage(catalogue::CHANGE_FOR_RESUMED));
    }
    if arguments.more.is_some() {
        return Err(Failure::usage(catalogue::MORE_FOR_FINISHED).at(plan.display()));
    }
    Ok(())
}

/// The plan of one line, as text and as what it comes to.
fn of_line(arguments: &RunArguments) -> Result<(String, ResolvedPlan), Failure> {
    let text = arguments.line.plan().text()?;
    let resolved = lab::plan::resolve("--command", &text, &arguments.settings())?;
    Ok((text, resolved))
}

/// Prints a plan to be changed: that of one line, which has to be right, one that is named, or one
/// to start from.
fn print_plan(output: &Output, arguments: &RunArguments) -> Result<(), Failure> {
    let text = match &arguments.plan {
        Some(plan) => lab::plan::read(plan)?.1,
        None if arguments.line.command.is_some() => of_line(arguments)?.0,
        None => lab::plan::starter().to_owned(),
    };
    output.result(text.trim_end())
}

/// Says what a run has come to, and how to go on with one that was interrupted.
fn finish(
    output: &Output,
    outcome: Outcome,
    limits: &Limits<'_>,
    consent: &Consent,
) -> Result<(), Failure> {
    if let Some(shard) = outcome.shard.filter(|_| outcome.ended == RunEnd::Complete) {
        return report::part(output, shard, &outcome);
    }
    let page = Report::of(outcome.folder, outcome.run)?;
    if outcome.ended == RunEnd::Interrupted {
        return Err(Failure::interrupted(format!(
            "{}\n  raidloom run --resume {}{}",
            say!(RUN_INTERRUPTED, trials = page.run.trials.len()),
            page.folder.display(),
            consent.flags_to_go_on()
        )));
    }
    page.tell(output, limits)
}

/// What a run is started with here.
pub(crate) fn options(folder: Option<PathBuf>, consent: Consent) -> Result<RunOptions, Failure> {
    Ok(RunOptions {
        output: folder,
        consent: consent.into(),
        serve_with: Some(array_command::serve_with()?),
        worker: Some(guest_command::worker()?),
        puller: Some(pull_command::puller()?),
        ..RunOptions::default()
    })
}

/// Runs a plan of which all was said already, or goes on with the run of it that was begun in a
/// folder. What it cannot do is said before anything else.
pub(crate) fn one_plan(
    output: &Output,
    resolved: &ResolvedPlan,
    options: &RunOptions,
    begun: Option<&Path>,
) -> Result<Outcome, Failure> {
    let stop = signals::stop_flag()?;
    let mut progress = RunProgress::new(output);
    progress.waits = true;
    let outcome = match begun {
        Some(folder) => lab::resume(folder, options, &stop, &mut progress),
        None => lab::start(resolved, options, &stop, &mut progress),
    };
    progress.line.clear();
    outcome
}

/// Says what a plan comes to, and runs it.
fn start(
    resolved: &ResolvedPlan,
    options: &RunOptions,
    stop: &AtomicBool,
    progress: &mut RunProgress<'_>,
) -> Result<Outcome, host::Error> {
    let outline = lab::plan::outline(&resolved.plan)?;
    progress.output.progress(&format!("{}: {}", resolved.plan.name, plan::sentence(&outline)));
    lab::start(resolved, options, stop, progress)
}

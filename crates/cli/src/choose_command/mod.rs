//! `raidloom choose`: drives, work and how many drives may die; the layout to take.

mod kernel;
mod make;
mod questions;
mod recorded;
mod silence;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueEnum};
use host::guard::{self, Answer};
use host::mount::FileSystem;
use lab::choose::{self, Drives, Member, Question, Work};
use lab::plan::{Outline, ResolvedPlan};
use lab::{Outcome, RunEnd, RunOptions};
use results::Run;
use results::choice::Choice;
use results::course::Course;
use serde_json::json;

use crate::catalogue::{self, say, statement};
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::Output;
use crate::run;
use crate::signals;
use silence::DriveNames;

/// `choose`.
#[derive(Args, Debug)]
pub(crate) struct ChooseArguments {
    /// The drives: `4 x NAME` of `model show`, drives and files that are there, or a folder in
    /// which files are made to try it
    #[arg(value_name = "DRIVE", conflicts_with = "from")]
    pub drives: Vec<String>,

    /// What they are for: files, vm, database, media, backup, a profile of your own (a .toml
    /// file), or a recording
    #[arg(long, value_name = "WORK", conflicts_with = "from")]
    pub work: Option<String>,

    /// A command of your own as the work, as sh reads it: it is run on every layout with a file
    /// system, mounted; {dir} is its fresh folder. Of modelled drives that is in a guest
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["from", "work"])]
    pub work_command: Option<String>,

    /// How many drives may die at once: 0, 1 or 2
    #[arg(long, value_name = "N", value_parser = crate::bounds::within::<u32>(0..=2),
        conflicts_with = "from")]
    pub survive: Option<u32>,

    /// The least that it must offer, such as 10TB
    #[arg(long, value_name = "SIZE", conflicts_with = "from")]
    pub capacity: Option<String>,

    /// What the drives may cost, with the price of one behind their name, as in 8 x NAME@180: as
    /// many are taken as it buys
    #[arg(long, value_name = "PRICE", conflicts_with_all = ["from", "measure"])]
    pub budget: Option<String>,

    /// What 99 of 100 requests must stay below, such as 20ms
    #[arg(long, value_name = "TIME", conflicts_with = "from")]
    pub p99: Option<String>,

    /// The file system that is to be on it; with --measure as root, and with --measure=guests, it
    /// is part of what is run
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    pub file_system: Option<String>,

    /// Run it on the drives themselves, which erases them, and not on models of them. guests: on
    /// models, by a Linux in guests, in a file on a file system
    #[arg(long, value_name = "WHERE", value_enum, num_args = 0..=1, require_equals = true,
        default_missing_value = "drives", hide_possible_values = true, conflicts_with = "from")]
    pub measure: Option<MeasurePlace>,

    /// Print the plan that this comes to, and run nothing
    #[arg(long, conflicts_with_all = ["from", "output"])]
    pub print_plan: bool,

    /// Answer again from a run of this verb
    #[arg(long, value_name = "RUN")]
    pub from: Option<PathBuf>,

    /// The run's folder [default: raidloom-runs/TIME-NAME]
    #[arg(short, long, value_name = "DIR", conflicts_with = "from")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub make: make::MakeArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

/// Where the work is done, if not on models of the array alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MeasurePlace {
    /// On the drives themselves.
    Drives,
    /// On models of them, by a guest's kernel.
    Guests,
}

impl ChooseArguments {
    fn measures_drives(&self) -> bool {
        self.measure == Some(MeasurePlace::Drives)
    }
}

/// What its help shows.
pub(crate) const EXAMPLES: &str = "\
Examples:
  raidloom choose
      asks what there is, what it is for and how many drives may die
  raidloom choose 4 x wd-red-plus-8tb --work files --survive 1
      four drives that you may buy, modelled: no disk and no root are needed
  raidloom choose /dev/disk/by-id/ata-A /dev/disk/by-id/ata-B --work vm --survive 1
      drives that are there, by the models nearest to them; nothing is written
  raidloom choose 4 x . --work database --survive 2
      files that are made here and removed, measured
  raidloom choose 6 x samsung-870-evo-1tb --work vm --survive 1 --capacity 3TB --print-plan > mine.toml
  raidloom choose 8 x wd-red-plus-8tb@180 --work files --survive 1 --budget 900
      as many of them as that buys, at the price that they have where you are
  raidloom choose 4 x wd-red-plus-8tb --work files --survive 1 --file-system xfs --measure=guests
      in a file on XFS on every layout, in guests: minutes, and `raidloom guest build` once
  raidloom choose 4 x wd-red-plus-8tb --work evening.rec --survive 1 --p99 30ms
      your own work: a recording of it, replayed on every layout
  raidloom choose --from raidloom-runs/2026-11-26T091500Z-choose-files --json | jq .choice.pick
  raidloom choose --from raidloom-runs/2026-11-26T091500Z-choose-files --do --mount /srv/tank
      makes it, after one question: array, file system, and what starts it with the machine

Of layouts that are as fast within 3 % the one with the most space is taken. All that is compared,
with every figure, is in the run's report.";

/// Answers.
pub(crate) fn choose(output: &Output, arguments: &ChooseArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.from {
        let question = choose::kept(folder)?;
        let run = lab::read(folder)?;
        let left = trials_left(&run);
        if left > 0 {
            check_begun(&question, folder, &run, left)?;
            output.note(&say!(CHOICE_UNFINISHED, path = folder.display(), count = left));
        }
        let consent = &arguments.consent;
        return tell(output, &question, folder.clone(), run, (arguments, consent));
    }
    let mut question = question(output, arguments)?;
    if !arguments.print_plan {
        if let Some(why) = no_kernel(&question) {
            return tell_without_run(output, &question, (arguments, why));
        }
        race(output, &mut question)?;
    }
    let (text, resolved) = question.plan()?;
    if arguments.print_plan {
        return output.result(text.trim_end());
    }
    let outline = lab::plan::outline(&resolved.plan)?;
    output.progress(&format!("{}: {}", resolved.plan.name, crate::plan::sentence(&outline)));
    let names = DriveNames::of(&question.drives);
    if arguments.measures_drives() {
        silence::refuse(&question.drives)?;
    }
    let consent = consent(output, arguments, &question, &outline)?;
    if signals::stop_flag()?.load(Ordering::Relaxed) {
        return Err(Failure::interrupted(catalogue::NOTHING_WRITTEN));
    }
    let (question, outcome) = match arguments.measures_drives() {
        true => run_on_drives(output, arguments, (question, resolved), (&consent, &names))?,
        false => {
            let options = run_options(&question, None, &consent, arguments.output.as_ref())?;
            let outcome = run_of(output, (&question, &resolved), &options)?;
            (question, outcome)
        }
    };
    if outcome.ended == RunEnd::Interrupted {
        let folder = escape::shell(&outcome.folder.to_string_lossy());
        let flags = names.without(&consent, &question.lost).flags_to_go_on();
        return Err(Failure::interrupted(format!(
            "{}\n  raidloom run --resume {folder}{flags} && raidloom choose --from {folder}",
            say!(RUN_INTERRUPTED, trials = outcome.run.trials.len()),
        )));
    }
    let Outcome { folder, run, .. } = outcome;
    let consent = names.without(&arguments.consent, &question.lost);
    tell(output, &question, folder, run, (arguments, &consent))
}

/// Whether the first trials of a run lead to an answer already.
fn check_begun(question: &Question, folder: &Path, run: &Run, left: usize) -> Result<(), Failure> {
    let done = run.trials.len();
    question.answer(run).map(|_| ()).map_err(|_| {
        let path = escape::shell(&folder.to_string_lossy());
        Failure::usage(statement!(CHOICE_TOO_EARLY, path = path, done = done, all = done + left))
            .at(folder.display())
    })
}

/// Why the work cannot be done in guests, where that is what it takes.
fn no_kernel(question: &Question) -> Option<Failure> {
    match question.is_in_guests() {
        true => guest::Kernel::find(guest::USUAL_KERNEL).err().map(Failure::from),
        false => None,
    }
}

/// Prints what is known without a kernel for guests. There is no run, so that nothing is made by
/// it.
fn tell_without_run(
    output: &Output,
    question: &Question,
    (arguments, why): (&ChooseArguments, Failure),
) -> Result<(), Failure> {
    let choice = question.answer_without_run()?;
    if arguments.make.make.is_some() {
        return Err(why);
    }
    output.note(why.text());
    match output.json {
        true => output.document(&json!({ "run": null, "report": null, "choice": choice })),
        false => print(output, &choice, &[]).map(|_| ()),
    }
}

/// Runs its plan on the drives themselves. Where some die meanwhile, the plan of the others is run,
/// as often as that happens: what is asked then, and what came of it.
fn run_on_drives(
    output: &Output,
    arguments: &ChooseArguments,
    (mut question, mut resolved): (Question, ResolvedPlan),
    (consent, names): (&Consent, &DriveNames),
) -> Result<(Question, Outcome), Failure> {
    let (mut folder, mut own_arrays) = (arguments.output.clone(), HashSet::new());
    loop {
        let left = names.without(consent, &question.lost);
        let options = run_options(&question, Some(&own_arrays), &left, folder.as_ref())?;
        let drives = &question.drives;
        // Drives that have died say nothing of themselves any more.
        own_arrays.extend(lab::own_arrays(&resolved.plan)?);
        let run = || run_of(output, (&question, &resolved), &options);
        let error = match silence::watched(drives, &|text| output.note(text), run) {
            Ok(outcome) => return Ok((question, outcome)),
            Err(error) => error,
        };
        let lost = silence::lost(drives);
        if lost.is_empty() {
            return Err(error);
        }
        let rest = question.without(&lost).and_then(|rest| Ok((rest.plan()?.1, rest)));
        let (plan, rest) = rest.map_err(|why| silence::of_no_use(error, drives, &lost, &why))?;
        output.note(&silence::rest_text(&question, &rest, &lost));
        folder = folder.map(|folder| {
            let mut name = folder.into_os_string();
            name.push("-rest");
            name.into()
        });
        (question, resolved) = (rest, plan);
    }
}

/// What the plan of a question is run with. Some arrays may be those of a run before.
fn run_options(
    question: &Question,
    own_arrays: Option<&HashSet<[u8; 16]>>,
    consent: &Consent,
    folder: Option<&PathBuf>,
) -> Result<RunOptions, Failure> {
    Ok(RunOptions {
        beside: Some(choose::file(question)),
        own_arrays: own_arrays.cloned().unwrap_or_default(),
        ..run::options(folder.cloned(), consent.clone())?
    })
}

/// Runs the plan of a question, or goes on with it: the same question in the same folder is the run
/// that was interrupted there.
fn run_of(
    output: &Output,
    (question, resolved): (&Question, &ResolvedPlan),
    options: &RunOptions,
) -> Result<Outcome, Failure> {
    let begun = options.output.as_deref().filter(|folder| {
        let is_begun = || lab::read(folder).is_ok_and(|run| trials_left(&run) > 0);
        choose::kept(folder).is_ok_and(|kept| kept == *question) && is_begun()
    });
    run::one_plan(output, resolved, options, begun)
}

/// How many trials a run of any length still takes.
fn trials_left(run: &Run) -> usize {
    Course::new(&run.plan, &run.steps).trials().saturating_sub(run.trials.len())
}

/// What the drives may be erased for: what was said, or what is said to a question at a terminal.
/// What is made is consented to for itself, where nothing is measured.
fn consent(
    output: &Output,
    arguments: &ChooseArguments,
    question: &Question,
    outline: &Outline,
) -> Result<Consent, Failure> {
    let consent = arguments.consent.clone();
    if !arguments.measures_drives() || question.drives.are_made() {
        return Ok(Consent::default());
    }
    if output.json || consent.is_given() {
        return Ok(consent);
    }
    let time = crate::progress::duration(Duration::from_secs_f64(outline.estimated_seconds));
    let what = say!(ASK_TAKES, time = time);
    let members = question.drives.all.iter().map(|drive| &drive.member);
    Ok(make::ask_to_erase(output, &what, members)?.into())
}

/// Replays parts of a recording, and leaves out what is far behind.
fn race(output: &Output, question: &mut Question) -> Result<(), Failure> {
    if question.work.recording.is_none() {
        return Ok(());
    }
    output.progress(&say!(PARTS_FIRST, work = question.work.title));
    let stop = signals::stop_flag()?;
    let raced = question.race(&stop);
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::interrupted(catalogue::NOTHING_WRITTEN));
    }
    raced?;
    Ok(())
}

/// Prints the answer, writes the report of its run, and makes what was chosen where that is asked.
fn tell(
    output: &Output,
    question: &Question,
    folder: PathBuf,
    run: Run,
    (arguments, consent): (&ChooseArguments, &Consent),
) -> Result<(), Failure> {
    let answer = question.answer(&run);
    let report = run::Report::of(folder, run)?;
    let (mut choice, layout) = answer.inspect_err(|_| {
        output.note(&say!(RUN_REPORT, path = report.page.display()));
    })?;
    let stop = signals::stop_flag()?;
    question.add_upkeep_cost(&mut choice, &stop)?;
    question.draw(&mut choice, &stop)?;
    if layout.members.iter().all(|member| matches!(member, Member::Path(_))) {
        choice.command = make::command(&report.folder, &layout);
    }
    let is_made = arguments.make.make.is_some();
    let recorded = recorded::RecordingHints::of(question, &choice)?;
    match output.json {
        true if is_made => (),
        true => {
            let mut document = json!({
                "run": report.folder, "report": report.page, "choice": choice
            });
            if question.work.recording.is_some() {
                document["recorded"] = json!(recorded);
            }
            return output.document(&document);
        }
        false => {
            let is_shortened = print(output, &choice, &recorded.rows())?;
            let page = report.page.display().to_string();
            output.result(&::report::choice_page(&page, is_shortened))?;
        }
    }
    match is_made {
        true => make::make(
            output,
            &layout,
            choice.pick.usable_bytes,
            &arguments.make,
            (consent, &report.folder, &report.run),
        ),
        false => Ok(()),
    }
}

/// Prints an answer with what is said beside the layout; whether something was left out for room.
fn print(output: &Output, choice: &Choice, beside: &[(String, String)]) -> Result<bool, Failure> {
    let style = ::report::Style { color: output.color(), width: output.width().min(80) };
    let answer = ::report::choice_text(choice, beside, style);
    output.painted(answer.text)?;
    Ok(answer.is_shortened)
}

/// What is asked: by options, and at a terminal by questions for what they leave open.
fn question(output: &Output, arguments: &ChooseArguments) -> Result<Question, Failure> {
    let has_work = arguments.work.is_some() || arguments.work_command.is_some();
    let is_open = arguments.drives.is_empty() || !has_work || arguments.survive.is_none();
    if is_open && !questions::Questions::can_be_asked() {
        return Err(missing(arguments));
    }
    let mut asked = questions::Questions::new(output)?;
    let drives = match arguments.drives.is_empty() {
        true => asked.drives(arguments.measures_drives())?,
        false => Drives::read(&arguments.drives, arguments.measures_drives())?,
    };
    let drives = match &arguments.budget {
        Some(text) => {
            drives.within(choose::price_of(text).map_err(|error| error.at("--budget"))?)?
        }
        None => drives,
    };
    if arguments.measures_drives() && drives.are_modelled() {
        return Err(Failure::usage(catalogue::MEASURE_NEEDS_DRIVES));
    }
    let work = match (&arguments.work, &arguments.work_command) {
        (Some(name), _) => Work::read(name)?,
        (None, Some(command)) => Work::of_command(command)?,
        (None, None) => asked.work()?,
    };
    let survive = match arguments.survive {
        Some(survive) => survive,
        None => asked.survive(drives.all.len())?,
    };
    drop(asked);
    let (file_system, file_system_is_run) = file_system(output, arguments, (&drives, &work))?;
    let capacity_bytes =
        arguments.capacity.as_ref().map(|text| output.size("--capacity", text)).transpose()?;
    Ok(Question {
        drives,
        work,
        survive,
        capacity_bytes,
        p99: arguments.p99.clone(),
        file_system,
        file_system_is_run,
        raced: Vec::new(),
        lost: Vec::new(),
    })
}

/// The file system that is to be on it, and whether it is part of what is run. A command works in a
/// folder, and takes one that is.
fn file_system(
    output: &Output,
    arguments: &ChooseArguments,
    (drives, work): (&Drives, &Work),
) -> Result<(Option<String>, bool), Failure> {
    let is_command = work.is_command();
    let in_guests = arguments.measure == Some(MeasurePlace::Guests);
    let usual = || (is_command || in_guests).then(|| FILE_SYSTEM.to_owned());
    let Some(name) = arguments.file_system.clone().or_else(usual) else {
        return Ok((None, false));
    };
    let kind = FileSystem::named(&name)?;
    if in_guests {
        if !drives.are_modelled() || work.recording.is_some() {
            return Err(Failure::usage(catalogue::GUESTS_TAKE));
        }
        // Without a kernel a command's answer has no speeds.
        if !is_command {
            lab::choose::check_file_system_in_guests(kind)?;
        }
    }
    if drives.are_modelled() {
        // A program works on models where a Linux has them.
        return Ok((Some(name), is_command || in_guests));
    }
    if !arguments.measures_drives() || drives.are_made() {
        return match is_command {
            true => Err(Failure::usage(catalogue::COMMAND_NEEDS_DRIVES)),
            false => Ok((Some(name), false)),
        };
    }
    match lab::choose::check_file_system(kind) {
        Ok(()) => Ok((Some(name), true)),
        Err(why) if is_command => Err(why),
        Err(why) => {
            output.note(&statement!(ARRAY_ALONE_MEASURED, why = why.text()));
            Ok((Some(name), false))
        }
    }
}

/// What is worked in where nothing is said.
const FILE_SYSTEM: &str = "ext4";

/// Says in a line what is to be said where nobody can be asked.
fn missing(arguments: &ChooseArguments) -> Failure {
    let drives = match arguments.drives.is_empty() {
        true => "4 x wd-red-plus-8tb".to_owned(),
        false => arguments.drives.join(" "),
    };
    let work = arguments.work.as_deref().unwrap_or("files");
    let survive = arguments.survive.unwrap_or(1);
    let command = format!("raidloom choose {drives} --work {work} --survive {survive}");
    Failure::usage(statement!(NOBODY_TO_ASK, command = command))
}

/// The drives of this machine that may be chosen with, and why not the others, a line each.
pub(crate) fn own_drives() -> (Vec<guard::Drive>, Vec<String>) {
    let (able, others): (Vec<_>, Vec<_>) =
        guard::drives().into_iter().partition(|drive| drive.answer == Answer::WithConsent);
    let why = others.iter().map(|drive| format!("{}: {}", drive.path.display(), drive.reason));
    let why = why.collect();
    (able, why)
}

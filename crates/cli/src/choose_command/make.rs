//! `choose --do`: the layout that was chosen, made.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lab::choose::{ChosenLayout, ErasedDrive, MadeArray, MakeRequest, MakingStep, Member};
use results::Run;
use serde_json::json;
use serve::{Boot, unit_name};

use super::kernel;
use super::questions::Questions;
use crate::array_command;
use crate::catalogue::{self, say};
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::{Output, about};
use crate::signals;

/// What the array is called where nothing is said.
const NAME: &str = "tank";

/// Whose array it is to be.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MakeWith {
    /// raidloom's, served by its own program
    Raidloom,
    /// The kernel's: its commands are printed, and run where it is consented to what they erase
    Mdadm,
}

/// How the layout is made.
#[derive(Args, Debug)]
pub(crate) struct MakeArguments {
    /// Make it on these drives, which erases them: the array, its file system, and what starts it
    /// with the machine; =mdadm prints the commands that make the same with the kernel's md, or
    /// runs them where consent is given
    #[arg(long = "do", value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true,
        default_missing_value = "raidloom", conflicts_with = "print_plan")]
    pub make: Option<MakeWith>,

    /// With --do: the array's name [default: tank]
    #[arg(long, requires = "make", conflicts_with = "print_plan")]
    pub name: Option<String>,

    /// With --do: where its file system is mounted, now and whenever the machine has started
    #[arg(long, value_name = "FOLDER", requires = "make", conflicts_with = "print_plan")]
    pub mount: Option<PathBuf>,
}

/// Makes it, after a question where nothing was consented to.
pub(super) fn make(
    output: &Output,
    layout: &ChosenLayout,
    usable_bytes: u64,
    arguments: &MakeArguments,
    (consent, folder, run): (&Consent, &Path, &Run),
) -> Result<(), Failure> {
    let name = arguments.name.clone().unwrap_or_else(|| NAME.to_owned());
    let mount = arguments.mount.as_deref().map(array_command::absolute).transpose()?;
    if let (Some(MakeWith::Mdadm), Some(file)) = (arguments.make, layout.file_member()) {
        return Err(Failure::usage(catalogue::MD_TAKES_DEVICES).at(file.display()));
    }
    let by_md = (arguments.make == Some(MakeWith::Mdadm))
        .then(|| kernel::md_commands(layout, usable_bytes, &name, mount.as_deref()));
    if let Some(commands) = by_md.as_ref().filter(|_| !consent.is_given()) {
        return match output.json {
            true => output.document(&json!({ "commands": kernel::texts(commands) })),
            false => output.result(&kernel::texts(commands).join("\n")),
        };
    }
    let serve_with = array_command::serve_with()?;
    // A run that was killed may still have its drives open.
    for note in lab::end_left_behind(folder, &serve_with)? {
        output.note(&note);
    }
    let mut making = MakeRequest {
        layout,
        name,
        mount,
        consent: consent.clone().into(),
        own_arrays: lab::own_arrays(&run.plan)?,
        boot: Boot::here(&serve_with.program),
        serve_with: &serve_with,
    };
    if let Some(commands) = by_md {
        return kernel::run(output, &making, &commands, &*signals::stop_flag()?);
    }
    making.check()?;
    if making.consent == host::guard::Consent::default() && !output.json {
        making.consent = ask(output, &making)?;
    }
    let stop = signals::stop_flag()?;
    let made = making.make(&stop, &mut |step| match output.json {
        true => output.progress(&json!({ "step": step }).to_string()),
        false => output.progress(step_text(step)),
    })?;
    tell(output, &making.name, &made)
}

/// The command that makes the layout of a run's answer.
pub(super) fn command(folder: &Path, layout: &ChosenLayout) -> String {
    let run = escape::shell(&folder.to_string_lossy());
    let mount = layout.file_system.map_or("", |_| " --mount FOLDER");
    format!("raidloom choose --from {run} --do{mount}")
}

fn step_text(step: MakingStep) -> &'static str {
    let message = match step {
        MakingStep::Array => catalogue::MAKING_ARRAY,
        MakingStep::Configuration => catalogue::MAKING_CONFIGURATION,
        MakingStep::Initramfs => catalogue::MAKING_INITRAMFS,
        MakingStep::Start => catalogue::MAKING_START,
    };
    message.template()
}

fn tell(output: &Output, name: &str, made: &MadeArray) -> Result<(), Failure> {
    if output.json {
        return output.document(&json!({
            "name": name,
            "configuration": made.configuration,
            "starts_at_boot": made.starts_at_boot,
            "md_configuration": made.md_configuration,
            "initramfs_renewed": made.initramfs_renewed,
            "status": made.status,
        }));
    }
    let start = match made.starts_at_boot {
        true => say!(MADE_STARTS, unit = unit_name(name)),
        false => say!(MADE_NOT_STARTED, name = escape::shell(name)),
    };
    let text = array_command::server_text(&made.status).into_text();
    let path = made.configuration.display();
    let mut text = format!("{text}{}\n{start}", say!(MADE_CONFIGURATION, path = path));
    if let Some(file) = &made.md_configuration {
        text += &format!("\n{}", say!(MADE_MD_LINE, path = file.display()));
        if !made.initramfs_renewed {
            text += &say!(MADE_OLD_INITRAMFS);
        }
    }
    output.result(&text)
}

/// Asks once, with what is on each drive; what was said yes to is the consent for it.
fn ask(output: &Output, making: &MakeRequest<'_>) -> Result<host::guard::Consent, Failure> {
    let layout = making.layout;
    let members = layout.members.iter().chain(&layout.spares);
    ask_to_erase(output, &say!(ASK_MAKES, what = array_text(making)), members)
}

/// Asks once whether these drives may be erased, with what is on each, where somebody is there to
/// be asked; otherwise there is no consent, and the guard says which it takes.
pub(super) fn ask_to_erase<'a>(
    output: &Output,
    what: &str,
    members: impl Iterator<Item = &'a Member>,
) -> Result<host::guard::Consent, Failure> {
    if !Questions::can_be_asked() {
        return Ok(host::guard::Consent::default());
    }
    // Before drives are looked at and anybody can answer: a Ctrl-C that comes first would only tell
    // a run to stop, and the answer would be waited for.
    let questions = Questions::new(output)?;
    let erased = ErasedDrive::of(members)?;
    let mut text = say!(ASK_ERASES, what = what);
    for drive in &erased {
        let _ = write!(text, "\n  {}", line(drive));
    }
    escape::err(&text);
    escape::err(&say!(ASK_YES));
    if questions.line()? != "yes" {
        return Err(Failure::interrupted(catalogue::NOTHING_CHANGED));
    }
    Ok(ErasedDrive::consent(&erased))
}

fn array_text(making: &MakeRequest<'_>) -> String {
    let layout = making.layout;
    let kind = layout.file_system.map(|kind| say!(MADE_WITH, name = kind.name));
    let folder = making.mount.as_ref().map(|folder| say!(MADE_AT, folder = folder.display()));
    say!(
        MADE_ARRAY,
        name = making.name,
        level = layout.level_name(),
        count = layout.members.len(),
        file_system = kind.unwrap_or_default(),
        folder = folder.unwrap_or_default(),
    )
}

/// A drive, and what is on it.
fn line(erased: &ErasedDrive) -> String {
    let path = erased.path.display();
    let holds = erased.holds.as_ref().map(|what| say!(DRIVE_HOLDS, what = what));
    let holds = holds.unwrap_or_default();
    match &erased.drive {
        Some(drive) => format!(
            "{path} ({}{}{}){holds}",
            about(drive.size_bytes),
            drive.model.as_ref().map_or_else(String::new, |model| format!(", {model}")),
            drive
                .serial
                .as_ref()
                .map_or_else(String::new, |serial| { say!(DRIVE_SERIAL, serial = serial) }),
        ),
        None => format!("{path}{holds}"),
    }
}

//! `array assemble`: members that are found, grouped by array, and the stack text
//! that opens each.

use std::path::PathBuf;

use array::md::{Assembly, Startability, Version};
use clap::Args;
use escape::add;
use host::guard::{Consent, Guard};
use mdtools::{ArrayStatus, AssemblyOptions, FoundArrays, Group};
use serde_json::{Value, json};
use words::Text;

use super::members_named;
use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::output::Output;

/// `array assemble`.
#[derive(Args, Debug)]
pub(crate) struct AssembleArguments {
    /// Image files or block devices, or folders of them; with --scan and without one all block
    /// devices
    #[arg(required_unless_present = "scan")]
    pub paths: Vec<PathBuf>,

    /// Take what is found: several arrays, and files that are no members
    #[arg(long)]
    pub scan: bool,

    /// The members are opened for reading only
    #[arg(long)]
    pub read_only: bool,

    /// The members are opened for reading only; what is written goes to a file in this folder
    #[arg(long, value_name = "DIR")]
    pub overlay: Option<PathBuf>,

    /// Also where something may be lost by it: a dirty array with a member missing
    #[arg(short, long)]
    pub force: bool,
}

pub(super) fn assemble(output: &Output, arguments: &AssembleArguments) -> Result<(), Failure> {
    let members = match arguments.scan {
        true => mdtools::members_in(&arguments.paths)?,
        false => members_named(&arguments.paths)?,
    };
    let found = mdtools::find(&Guard::new(Consent::default()), &members);
    if let Some(folder) = arguments.overlay.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(
            Failure::usage(catalogue::OVERLAY_FOLDER).at(format!("--overlay {}", folder.display()))
        );
    }
    let opening = AssemblyOptions {
        read_only: arguments.read_only,
        overlay: arguments.overlay.as_deref(),
        force: arguments.force,
    };
    if arguments.scan {
        let found = checked(output, found)?;
        show(output, &found, opening)?;
        hint(output, &found, opening);
        return openable(&found, opening);
    }
    // The paths were named as members of one array: what does not belong is an error, not a
    // finding.
    if let Some(passed) = found.passed_over.first() {
        return Err(Failure::usage(passed.why.clone()));
    }
    if let Some(path) = found.without.first() {
        return Err(Failure::usage(statement!(
            NO_MD_SUPERBLOCK,
            version = Version::ALL_TEXT,
            hint = catalogue::RESCUE_FINDS_OUT
        ))
        .at(path));
    }
    let Some(only) = found.only() else {
        let of = |group: &Group| {
            format!("{} (set_uuid {})", group.sources[0], array::md::uuid_text(&group.set_uuid()))
        };
        let both = Text::joined(found.outermost().take(2).map(of), &say!(BETWEEN_TWO));
        return Err(Failure::usage(statement!(DIFFERENT_ARRAYS, arrays = both)));
    };
    show(output, &found, opening)?;
    only.stack(opening).map_err(|error| match &only.assembly {
        Ok(Assembly { start: Startability::Refused(_), .. }) => error.then(catalogue::RESCUE_LOOKS),
        _ => error,
    })?;
    Ok(())
}

/// The first reason why one of the arrays cannot be opened. One that is a member of another is
/// opened with it.
fn openable(found: &FoundArrays, opening: AssemblyOptions<'_>) -> Result<(), Failure> {
    found.outermost().try_for_each(|group| group.stack(opening).map(drop))
}

/// Where an array cannot be opened and something without a superblock lies beside it, that may be
/// what is missing.
fn hint(output: &Output, found: &FoundArrays, opening: AssemblyOptions<'_>) {
    if let (Err(_), [first, rest @ ..]) = (openable(found, opening), &found.without[..]) {
        let more = match rest.len() {
            0 => String::new(),
            more => say!(AND_MORE_OF_THEM, count = more),
        };
        let hint = catalogue::RESCUE_FINDS_OUT.template();
        output.note(&say!(MEMBERS_WITHOUT_SUPERBLOCK, first = first, more = more, hint = hint));
    }
}

/// What is found at the paths; folders stand for what they hold, and no path for all block devices.
pub(super) fn found(output: &Output, paths: &[std::path::PathBuf]) -> Result<FoundArrays, Failure> {
    checked(output, mdtools::find(&Guard::new(Consent::default()), &mdtools::members_in(paths)?))
}

/// What was found, unless it is nothing.
fn checked(output: &Output, found: FoundArrays) -> Result<FoundArrays, Failure> {
    if let ([], Some(passed)) = (&found.groups[..], found.passed_over.first()) {
        return Err(Failure::failed(passed.why.clone()));
    }
    let reasons = found.passed_over.iter().map(|passed| &passed.why);
    reasons.for_each(|reason| output.note(&statement!(PASSED_OVER, reason = reason)));
    if found.groups.is_empty() {
        return Err(Failure::failed(statement!(NO_MD_MEMBER, hint = catalogue::RESCUE_FINDS_OUT)));
    }
    Ok(found)
}

fn show(output: &Output, found: &FoundArrays, opening: AssemblyOptions<'_>) -> Result<(), Failure> {
    let groups = found.groups.iter();
    if output.json {
        let document = |group| document(found, group, opening);
        return output.document(&groups.map(document).collect::<Vec<_>>());
    }
    let text = |group| text(found, group, opening);
    output.result(groups.map(text).collect::<Vec<_>>().join("\n").trim_end())
}

fn name_of(group: &Group) -> String {
    group.candidates[0].superblock.name()
}

/// How an array is, and what opens it; of one that is a member of another what opens that is in the
/// other's text.
fn text(found: &FoundArrays, group: &Group, opening: AssemblyOptions<'_>) -> String {
    let assembly = match &group.assembly {
        Ok(assembly) => assembly,
        Err(reason) => return format!("{}\n", escape::line(&reason.to_string())),
    };
    let status = ArrayStatus::of_superblocks(assembly, &group.candidates);
    let mut text = status.text_of(&found.called(group));
    match (found.above(group).map(name_of), group.stack(opening)) {
        (Some(above), Ok(_)) => add!(text, "{}", say!(STACK_IN_THAT_OF, name = above)),
        (None, Ok(stack)) => add!(text, "{}", say!(STATUS_STACK, stack = stack)),
        (_, Err(error)) => add!(text, "{}", say!(STACK_NONE, why = error)),
    }
    text.into_text()
}

fn document(found: &FoundArrays, group: &Group, opening: AssemblyOptions<'_>) -> Value {
    let assembly = match &group.assembly {
        Ok(assembly) => assembly,
        Err(reason) => return json!({ "error": reason }),
    };
    let (verdict, reasons): (&str, &[Text]) = match &assembly.start {
        Startability::Ready => ("ready", &[]),
        Startability::ReadOnly(reasons) => ("read-only", reasons),
        Startability::ReadOnlyOrForce(reasons) => ("read-only-or-force", reasons),
        Startability::NeedsForce(reasons) => ("needs-force", reasons),
        Startability::Refused(reasons) => ("refused", reasons),
    };
    let mut document = json!(ArrayStatus::of_superblocks(assembly, &group.candidates));
    let reasons: Vec<String> = reasons.iter().map(Text::english).collect();
    document["start"] = json!({ "verdict": verdict, "reasons": reasons });
    document["stack"] = group.stack(opening).map_or(Value::Null, |stack| json!(stack.to_string()));
    document["member_of"] = json!(found.above(group).map(name_of));
    document
}

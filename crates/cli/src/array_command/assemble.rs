//! `array assemble` and `array scan`: members that are found, grouped by array, and the stack text
//! that opens each.

use array::md::{Start, Version};
use escape::add;
use host::guard::{Consent, Guard};
use mdtools::{ArrayStatus, FoundArrays, Group, Opening};
use serde_json::{Value, json};

use super::arguments::AssembleArguments;
use crate::failure::Failure;
use crate::output::Output;

/// What a refusal that ends a rescue goes on with.
pub(super) const GUESS: &str =
    "`raidloom array guess` finds out what an array was whose superblocks are lost";

pub(super) fn scan(output: &Output, paths: &[std::path::PathBuf]) -> Result<(), Failure> {
    let found = found(output, paths)?;
    show(output, &found, Opening::default())?;
    hint(output, &found, Opening::default());
    Ok(())
}

pub(super) fn assemble(output: &Output, arguments: &AssembleArguments) -> Result<(), Failure> {
    let found =
        mdtools::find(&Guard::new(Consent::default()), &mdtools::members_in(&arguments.paths)?);
    if let Some(folder) = arguments.overlay.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::usage(format!("--overlay {}: it is no folder", folder.display())));
    }
    let opening = Opening {
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
    if let Some(reason) = found.passed_over.first() {
        return Err(Failure::usage(reason.clone()));
    }
    if let Some(path) = found.without.first() {
        return Err(Failure::usage(format!(
            "{path}: no md superblock of version {} on it; {GUESS}",
            Version::ALL_TEXT
        )));
    }
    if let [first, second, ..] = &found.groups[..] {
        let of = |group: &Group| {
            format!(
                "{} (set_uuid {})",
                group.sources[0],
                array::md::uuid_text(&group.candidates[0].superblock.set_uuid)
            )
        };
        return Err(Failure::usage(format!(
            "{} and {} are of different arrays; --scan shows both",
            of(first),
            of(second)
        )));
    }
    show(output, &found, opening)?;
    openable(&found, opening)
}

/// The first reason why one of the arrays cannot be opened.
fn openable(found: &FoundArrays, opening: Opening<'_>) -> Result<(), Failure> {
    found.groups.iter().try_for_each(|group| group.stack(opening).map(drop))
}

/// Where an array cannot be opened and something without a superblock lies beside it, that may be
/// what is missing.
fn hint(output: &Output, found: &FoundArrays, opening: Opening<'_>) {
    if let (Err(_), [first, rest @ ..]) = (openable(found, opening), &found.without[..]) {
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        output.note(&format!("{first}{more}: no superblock on it; {GUESS}"));
    }
}

/// What is found at the paths; folders stand for what they hold, and no path for all block devices.
pub(super) fn found(output: &Output, paths: &[std::path::PathBuf]) -> Result<FoundArrays, Failure> {
    checked(output, mdtools::find(&Guard::new(Consent::default()), &mdtools::members_in(paths)?))
}

/// What was found, unless it is nothing.
fn checked(output: &Output, found: FoundArrays) -> Result<FoundArrays, Failure> {
    if let ([], Some(reason)) = (&found.groups[..], found.passed_over.first()) {
        return Err(Failure::failed(reason.clone()));
    }
    found.passed_over.iter().for_each(|reason| output.note(&format!("passed over: {reason}")));
    if found.groups.is_empty() {
        return Err(Failure::failed(format!("no member of an md array was found; {GUESS}")));
    }
    Ok(found)
}

fn show(output: &Output, found: &FoundArrays, opening: Opening<'_>) -> Result<(), Failure> {
    if output.json {
        return output.document(
            &found.groups.iter().map(|group| document(group, opening)).collect::<Vec<_>>(),
        );
    }
    output.result(
        found
            .groups
            .iter()
            .map(|group| text(group, opening))
            .collect::<Vec<_>>()
            .join("\n")
            .trim_end(),
    )
}

fn text(group: &Group, opening: Opening<'_>) -> String {
    let assembly = match &group.assembly {
        Ok(assembly) => assembly,
        Err(reason) => return format!("{}\n", escape::line(reason)),
    };
    let mut text = ArrayStatus::of_superblocks(assembly, &group.candidates).text();
    match group.stack(opening) {
        Ok(stack) => add!(text, " stack: {stack}"),
        Err(error) => add!(text, " stack: none: {error}"),
    }
    text.into_text()
}

fn document(group: &Group, opening: Opening<'_>) -> Value {
    let assembly = match &group.assembly {
        Ok(assembly) => assembly,
        Err(reason) => return json!({ "error": reason }),
    };
    let (verdict, reasons): (&str, &[String]) = match &assembly.start {
        Start::Ready => ("ready", &[]),
        Start::ReadOnly(reasons) => ("read-only", reasons),
        Start::ReadOnlyOrForce(reasons) => ("read-only-or-force", reasons),
        Start::NeedsForce(reasons) => ("needs-force", reasons),
        Start::Refused(reasons) => ("refused", reasons),
    };
    let mut document = json!(ArrayStatus::of_superblocks(assembly, &group.candidates));
    document["start"] = json!({ "verdict": verdict, "reasons": reasons });
    document["stack"] = group.stack(opening).map_or(Value::Null, |stack| json!(stack.to_string()));
    document
}

//! `array destroy`: members become members no more.

use std::path::PathBuf;

use clap::Args;
use host::guard::Guard;
use mdtools::MemberSource;
use serde_json::json;
use serve::Boot;
use words::Text;

use crate::array_command;
use crate::catalogue::say;
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::Output;

/// `array destroy`.
#[derive(Args, Debug)]
pub(crate) struct DestroyArguments {
    /// The members, all of one array
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

pub(super) fn destroy(output: &Output, arguments: &DestroyArguments) -> Result<(), Failure> {
    let guard = Guard::new(arguments.consent.clone().into());
    let members: Vec<MemberSource> =
        arguments.paths.iter().map(|path| MemberSource::parse(path)).collect::<Result<_, _>>()?;
    let erased = mdtools::destroy(&guard, &members)?;
    let forgotten = forget(output, &erased);
    if output.json {
        return output.document(
            &erased
                .iter()
                .map(|erased| {
                    let was: Vec<String> = erased.was.iter().map(Text::english).collect();
                    json!({ "path": erased.source.to_string(), "was": was })
                })
                .collect::<Vec<_>>(),
        );
    }
    let line = |erased: &mdtools::ErasedMember| {
        say!(SUPERBLOCK_ERASED, member = erased.source, was = Text::joined(&erased.was, ", "))
    };
    let mut lines: Vec<String> = erased.iter().map(line).collect();
    match forgotten {
        Ok([own, unmade]) => {
            lines.extend(own.iter().map(|file| say!(MD_LINE_FORGOTTEN, path = file.display())));
            lines.extend(unmade.iter().map(|file| say!(MD_LINES_OF_NONE, path = file.display())));
        }
        Err(error) => output.note(&error.to_string()),
    }
    output.result(&lines.join("\n"))
}

/// Takes lines away by which md leaves arrays alone: that of this one, and those of arrays whose
/// making was killed. The files that they stood in. What is erased is erased, whatever becomes of
/// that.
fn forget(output: &Output, erased: &[mdtools::ErasedMember]) -> Result<[Vec<PathBuf>; 2], Failure> {
    let boot = Boot::here(&array_command::serve_with()?.program);
    let own = forget_own(output, &boot, erased)?;
    Ok([own, lab::choose::forget_unmade(&boot, &boot.unconfigured_exceptions())?])
}

/// The line of the array goes once no member of it is left on this machine.
fn forget_own(
    output: &Output,
    boot: &Boot,
    erased: &[mdtools::ErasedMember],
) -> Result<Vec<PathBuf>, Failure> {
    let Some(first) = erased.first() else { return Ok(Vec::new()) };
    if !boot.is_excepted_from_md(&first.set_uuid) {
        return Ok(Vec::new());
    }
    // The others may have been erased before.
    let left = match erased.len() >= first.members as usize {
        true => 0,
        false => members_left(&first.set_uuid)?,
    };
    if left == 0 {
        return boot.forget_md_exception(&first.set_uuid);
    }
    output.note(&say!(MD_LINE_STAYS, left = left, members = first.members));
    Ok(Vec::new())
}

/// How many block devices of this machine are members of an array.
fn members_left(set_uuid: &[u8; 16]) -> Result<usize, Failure> {
    let all = mdtools::members_in(&[])?;
    let found = mdtools::find(&Guard::new(host::guard::Consent::default()), &all);
    let of_array = found.groups.iter().find(|group| group.set_uuid() == *set_uuid);
    Ok(of_array.map_or(0, |group| group.sources.len()))
}

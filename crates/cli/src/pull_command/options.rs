//! The words of the command line as the options of a test, and what does not go together.

use std::path::Path;

use block::Node;
use export::RemovalPolicy;
use guest::ArrayCompleteness;
use host::limits::promise_memory;
use host::mount::FileSystem;
use lab::pull::{
    Guests, ImportSource, Options, OwnProgram, PullEvent, Starter, WorkSource, has_container,
    inside_containers, may_mount,
};
use mdtools::NewArraySettings;
use pull::Extent;
use words::{Text, statement};

use super::arguments::{ArrayName, DeviceName, EventName, PullArguments, StarterName, WorkName};
use super::drives::drives_of;
use super::time;
use crate::catalogue;
use crate::failure::Failure;
use crate::output::Output;

/// `$STEPS` of a program of the user's own where nothing is said.
const OWN_STEPS: u32 = 200;
/// The guest's memory where nothing is said.
const MEMORY: &str = "512MiB";

pub(super) fn options(output: &Output, arguments: &PullArguments) -> Result<Options, Failure> {
    let text = arguments.target.as_deref().unwrap_or_default();
    let node = stack::parse(text).map_err(block::Error::from)?;
    let create = arguments.create.as_deref().map(|it| output.size("--create", it)).transpose()?;
    let in_guest = arguments.guest || (!may_mount() && Guests::are_there());
    let found = drives_of(&node, arguments, create, in_guest)?;
    let is_copy = arguments.work == WorkName::Copy && arguments.work_command.is_none();
    let spread = arguments.keys.spread.as_deref().unwrap_or(if is_copy { "40s" } else { "0s" });
    let tear = output.size("-s tear=", &arguments.keys.tear)?;
    let tear_bytes = u32::try_from(tear).ok().filter(|tear| tear.is_power_of_two() && *tear >= 512);
    refuse_unfit(arguments, &node, in_guest)?;
    Ok(Options {
        stack: found.stack,
        drive_bytes: found.drive_bytes,
        drive_models: found.drive_models,
        md: match arguments.array {
            ArrayName::Raidloom => None,
            ArrayName::Md => Some(md_text(&node, &arguments.consistency, "--array md")?),
        },
        starter: match arguments.start_with {
            StarterName::Same => Starter::Same,
            StarterName::Raidloom => Starter::Raidloom,
            StarterName::Md => Starter::Md,
        },
        state: arguments.state,
        unflushed: arguments.keys.is_unflushed(),
        guest_memory_bytes: in_guest.then(|| guest_memory(output, arguments)).transpose()?,
        guest_kernel: arguments.keys.kernel.clone(),
        new_array: Some(NewArraySettings {
            name: "pull".to_owned(),
            consistency: arguments.consistency.clone(),
            bitmap_chunk_bytes: None,
        }),
        upkeep: true,
        file_system: FileSystem::named(&arguments.fs)?,
        make_options: arguments.keys.make_options.clone(),
        mount_options: arguments.mount_options.clone(),
        removal: arguments
            .keys
            .policy
            .parse::<RemovalPolicy>()
            .map_err(|wrong| Failure::usage(Text::from("-s policy=").and(wrong)))?,
        work: work_source(arguments)?,
        extent: Extent {
            steps: arguments.steps.unwrap_or(if is_copy { 240 } else { 200 }),
            spread_milliseconds: time("-s spread=", spread)?.as_millis() as u64,
        },
        pulls: arguments.pulls,
        hunt: arguments.hunt,
        recordings: recordings(arguments),
        behaviour: arguments.device.behaviour(),
        happening: match arguments.event {
            EventName::Power => PullEvent::Power,
            EventName::Yank => PullEvent::Yank,
            EventName::Cable => PullEvent::Cable,
            EventName::Kill => PullEvent::Kill,
        },
        cache_bytes: output.size("-s drive_cache=", &arguments.keys.drive_cache)?,
        cache_milliseconds: time("-s cache_age=", &arguments.keys.cache_age)?.as_millis() as u64,
        tear_bytes: tear_bytes.ok_or_else(|| {
            Failure::usage(catalogue::TEAR_EXPECTED).at(format!("-s tear={}", arguments.keys.tear))
        })?,
        lost_member: arguments.lose_member,
        seed: arguments.seed,
        keep_failing: arguments.keep_failing.clone(),
        log_writes: arguments.log_writes.clone(),
        import: import_source(arguments, &node)?,
    })
}

/// No more recordings than there are states to make of them.
fn recordings(arguments: &PullArguments) -> u32 {
    match arguments.import {
        Some(_) => 1,
        None => arguments.keys.recordings.clamp(1, arguments.pulls.max(arguments.hunt)),
    }
}

/// The log in the place of a recording, and what the drive held before it.
fn import_source(
    arguments: &PullArguments,
    target: &Node,
) -> Result<Option<ImportSource>, Failure> {
    let Some(log) = arguments.import.clone() else { return Ok(None) };
    let Node::Leaf { scheme, address, .. } = target else {
        return Err(Failure::usage(catalogue::LOG_OF_ONE_DEVICE));
    };
    if arguments.array == ArrayName::Md || arguments.device == DeviceName::Model {
        return Err(Failure::usage(catalogue::IMPORT_RECORDS_NOTHING));
    }
    let base = (scheme == "file").then(|| address.into());
    Ok(Some(ImportSource { log, base }))
}

/// What works: a built-in work, or a program of the user's own.
fn work_source(arguments: &PullArguments) -> Result<WorkSource, Failure> {
    let (work_command, check) = match (&arguments.work_command, &arguments.check) {
        (Some(work_command), Some(check)) => (work_command, check),
        (None, Some(check)) if arguments.import.is_some() => {
            return Ok(WorkSource::Program(OwnProgram::only_check(check.clone())));
        }
        (None, Some(_)) => {
            return Err(Failure::usage(catalogue::CHECK_OF_WHAT));
        }
        (_, None) => return Ok(WorkSource::BuiltIn(arguments.work.work())),
    };
    for (flag, text) in [
        ("--work-command", Some(work_command)),
        ("--check", Some(check)),
        ("--setup", arguments.setup.as_ref()),
    ] {
        let Some(text) = text else { continue };
        let Some(word) = text.split_whitespace().next() else {
            return Err(Failure::usage(catalogue::NAME_PROGRAM).at(flag));
        };
        // It begins in another folder.
        if !word.starts_with('/') && word.contains('/') && Path::new(word).exists() {
            let whole = std::path::absolute(word).unwrap_or_else(|_| word.into());
            return Err(Failure::usage(statement!(
                catalogue::NAME_BY_WHOLE_PATH,
                flag = flag,
                word = word,
                path = whole.display()
            )));
        }
    }
    Ok(WorkSource::Program(OwnProgram {
        setup: arguments.setup.clone(),
        work_command: work_command.clone(),
        check: check.clone(),
        steps: arguments.steps.unwrap_or(OWN_STEPS),
        at_top: false,
    }))
}

fn guest_memory(output: &Output, arguments: &PullArguments) -> Result<u64, Failure> {
    let memory_bytes = output.size("--memory", arguments.memory.as_deref().unwrap_or(MEMORY))?;
    promise_memory("--memory", memory_bytes)?;
    Ok(memory_bytes)
}

/// Whether a stack has an array whose members carry superblocks.
fn has_superblocks(node: &Node) -> bool {
    let Node::Layer { options, children, .. } = node else { return false };
    options.iter().any(|(name, value)| name == "metadata" && value != "none")
        || children.iter().any(has_superblocks)
}

/// What only guests have, and what does not go together.
fn refuse_unfit(arguments: &PullArguments, node: &Node, in_guest: bool) -> Result<(), Failure> {
    if !["resync", "bitmap", "ppl"].contains(&arguments.consistency.as_str()) {
        return Err(Failure::usage(catalogue::CONSISTENCY_EXPECTED)
            .at(format!("--consistency {}", arguments.consistency)));
    }
    if arguments.pulls == 0 && arguments.hunt == 0 {
        return Err(Failure::usage(catalogue::NOTHING_TO_PULL));
    }
    let refused = |text: Text| Err(Failure::usage(text));
    if arguments.consistency != "resync"
        && arguments.array == ArrayName::Raidloom
        && !has_superblocks(node)
    {
        return refused(statement!(
            catalogue::CONSISTENCY_NO_SUPERBLOCKS,
            value = &arguments.consistency
        ));
    }
    let (keeps_superblocks, is_redundant) = array_traits(arguments, node);
    let is_stale = arguments.lose_member.stale().is_some();
    if is_stale && !(keeps_superblocks && is_redundant) {
        return refused(catalogue::LOSE_STALE.into());
    }
    if !in_guest {
        let md = catalogue::MD_OF_A_GUEST;
        return match arguments {
            _ if arguments.memory.is_some() => refused(catalogue::MEMORY_OF_GUEST.into()),
            _ if arguments.keys.kernel.is_some() => refused(catalogue::KERNEL_OF_GUEST.into()),
            _ if arguments.array == ArrayName::Md => {
                refused(statement!(catalogue::ARRAY_MD_GUEST, md = md))
            }
            _ if arguments.start_with == StarterName::Md => {
                refused(statement!(catalogue::START_MD_GUEST, md = md))
            }
            _ if arguments.state != ArrayCompleteness::Whole => {
                refused(catalogue::STATE_GUEST.into())
            }
            _ if arguments.keys.is_unflushed() => refused(catalogue::UNFLUSHED_GUEST.into()),
            _ if arguments.device == DeviceName::Model => refused(catalogue::MODEL_GUEST.into()),
            _ => Ok(()),
        };
    }
    if arguments.start_with == StarterName::Md {
        // Whatever it is that stands on the drives, md has to know it.
        md_text(node, &arguments.consistency, "--start-with md")?;
    }
    match arguments {
        _ if arguments.state != ArrayCompleteness::Whole && !is_redundant => {
            refused(catalogue::STATE_NO_REDUNDANCY.into())
        }
        _ if arguments.start_with == StarterName::Md && !keeps_superblocks => {
            refused(catalogue::START_MD_SUPERBLOCKS.into())
        }
        _ if arguments.state != ArrayCompleteness::Whole && !keeps_superblocks => {
            refused(catalogue::STATE_NO_SUPERBLOCKS.into())
        }
        _ => Ok(()),
    }
}

/// Whether the target is an array that knows its members by superblocks, in a container or not, and
/// whether it can do without one.
fn array_traits(arguments: &PullArguments, node: &Node) -> (bool, bool) {
    let node = inside_containers(node);
    let keeps_superblocks = arguments.array == ArrayName::Md
        || matches!(node, Node::Layer { options, .. }
            if options.iter().any(|(name, value)| name == "metadata" && value == "1.2"));
    let is_redundant = matches!(node, Node::Layer { name, .. }
        if stack::table::layer(name).is_ok_and(|row| row.redundant));
    (keeps_superblocks, is_redundant)
}

/// The array of a stack as the guest's md makes it: `raid5 chunk=64KiB`.
pub(super) fn md_text(stack: &Node, consistency: &str, flag: &str) -> Result<String, Failure> {
    let failed = |text: Text| Err(Failure::usage(text.at(flag)));
    let Node::Layer { name, options, children } = stack else {
        return failed(catalogue::TARGET_IS_DRIVE.into());
    };
    if has_container(stack) {
        return failed(catalogue::MD_UNDER_LUKS.into());
    }
    if !children.iter().all(|child| matches!(child, Node::Leaf { .. })) {
        return failed(catalogue::TARGET_ONE_ARRAY.into());
    }
    let mut text = name.clone();
    for (option, value) in options {
        match option.as_str() {
            "chunk" | "layout" => text += &format!(" {option}={value}"),
            "metadata" => (),
            _ => return failed(statement!(catalogue::OPTION_IS_OURS, option = option)),
        }
    }
    match consistency {
        "resync" => (),
        "bitmap" => text += " bitmap=internal",
        _ if name == "raid5" => text += &format!(" {}", guest::setup::WITH_LOG),
        _ => return failed(statement!(catalogue::PPL_OF_RAID5, name = name)),
    }
    Ok(text)
}

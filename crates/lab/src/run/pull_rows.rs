//! Rows of the pull suite: the power cuts of a configuration, in a process of their own.

use std::collections::BTreeMap;
use std::path::Path;

use bench::suite::{Settings, pull as rows};
use block::Node;
use export::RemovalPolicy;
use host::Error;
use pull::{Extent, WORKS};
use results::safety::Tally;
use results::{Plan, Workload};

use super::workload_result::WorkloadResult;
use crate::cell::Cell;
use crate::cell::values::WriteCache;
use crate::plan::suite;
use crate::pull::catalogue;
use crate::pull::{
    Behaviour, DriveLeaf, Leaves, Options, Outcome, OwnProgram, PullEvent, Starter, WorkSource,
    leaves,
};
use crate::{order, stacks};
use words::statement;

/// What drives are multiples of.
const DRIVE_UNIT: u64 = 4096;

/// In the run's folder: states that broke something, a folder for each trial.
const FAILING: &str = "failing";

/// The test that a workload of the pull suite is for a configuration in a block of the run in
/// `folder`.
///
/// # Errors
/// What cannot be pulled.
pub(super) fn options(
    plan: &Plan,
    workload: &Workload,
    cell: &Cell,
    block: u32,
    folder: &Path,
) -> Result<Options, Error> {
    let (configuration, axes) = (&cell.record, &cell.axes);
    let settings = suite::settings(plan, workload, configuration)?;
    let row = suite::row(workload);
    let Some(file_system) = &cell.file_system else {
        return Err(Error::usage(catalogue::PULL_NEEDS_FILE_SYSTEM));
    };
    let name = row.strip_prefix(rows::ROW).unwrap_or(row);
    let built_in = WORKS.into_iter().find(|(known, _)| *known == name);
    let work = match built_in {
        Some((_, work)) => WorkSource::BuiltIn(work),
        None if name == rows::OWN => WorkSource::Program(own_program(&settings)?),
        None => return Err(Error::usage(statement!(catalogue::NO_PULL_WORK, name = name))),
    };
    let is_in_guest = configuration.is_in_guest();
    let behaviour = behaviour(&settings)?;
    if behaviour == Behaviour::Model && !is_in_guest {
        return Err(Error::usage(catalogue::MODEL_IN_GUEST));
    }
    let drives = drives(cell, &settings)?;
    let count = |name: &str| u32::try_from(settings.count(name)).unwrap_or(u32::MAX);
    let size = |name: &str| stacks::parse_size(settings.text(name)).map_err(Error::usage);
    let pulls = count("pulls");
    Ok(Options {
        stack: drives.stack,
        drive_bytes: drives.drive_bytes,
        drive_models: drives.drive_models,
        md: axes.md_text(),
        starter: Starter::Same,
        state: axes.state.unwrap_or_default(),
        unflushed: axes.write_cache == Some(WriteCache::Unflushed),
        guest_memory_bytes: is_in_guest.then(|| axes.guest_memory_bytes()),
        guest_kernel: axes.kernel.clone(),
        new_array: cell.serving.new_array.clone(),
        upkeep: cell.serving.upkeep,
        file_system: file_system.kind,
        make_options: file_system.own_make_options().map(str::to_owned),
        mount_options: file_system.options_to_mount(),
        // A disk whose cache Linux may not use writes each block durably.
        removal: match axes.write_cache {
            Some(WriteCache::Off) => RemovalPolicy::Quick,
            _ => file_system.policy,
        },
        work,
        extent: extent(&settings, row),
        pulls,
        hunt: count("hunt"),
        recordings: count("recordings").min(pulls),
        behaviour,
        happening: happening(&settings)?,
        cache_bytes: settings.bytes("drive_cache"),
        cache_milliseconds: u64::try_from(settings.time("cache_age").as_millis())
            .unwrap_or(u64::MAX),
        tear_bytes: u32::try_from(size("tear")?).unwrap_or(u32::MAX),
        lost_member: settings.text("lose_member").parse().map_err(Error::usage)?,
        seed: order::trial_seed(plan, configuration, &workload.name, block),
        keep_failing: match settings.text("keep_failing") {
            "yes" => {
                let name = format!("{}-{}-{block}", configuration.id, name);
                Some(folder.join(FAILING).join(name))
            }
            _ => None,
        },
        log_writes: None,
        import: None,
    })
}

/// The drives that stand for the members, no larger than the settings say.
fn drives(cell: &Cell, settings: &Settings) -> Result<Leaves, Error> {
    let most = settings.bytes("drive_size").min(cell.axes.disk_bytes.unwrap_or(u64::MAX));
    let mut drive = |scheme: &str, leaf: &Node| {
        let bytes = stacks::dry(leaf, None)?.size_bytes.min(most);
        let bytes = bytes - bytes % DRIVE_UNIT;
        match scheme {
            "model" => DriveLeaf::modelled(&resized(leaf, bytes)),
            _ => DriveLeaf::of_size(bytes, cell.record.is_in_guest()),
        }
    };
    leaves(&cell.stack, &mut drive)
}

/// The program of the row that is one's own.
fn own_program(settings: &Settings) -> Result<OwnProgram, Error> {
    let text = |name: &str| settings.text(name).to_owned();
    if text("check").trim().is_empty() {
        return Err(Error::usage(catalogue::COMMAND_NEEDS_CHECK));
    }
    Ok(OwnProgram {
        setup: Some(text("setup")).filter(|setup| !setup.trim().is_empty()),
        work_command: text("work_command"),
        check: text("check"),
        steps: u32::try_from(settings.count("steps")).unwrap_or(u32::MAX),
        at_top: false,
    })
}

/// How much of its work a row does.
fn extent(settings: &Settings, row: &str) -> Extent {
    let (steps, spread) = rows::extent(settings, row);
    Extent {
        steps: u32::try_from(steps).unwrap_or(u32::MAX),
        spread_milliseconds: u64::try_from(spread.as_millis()).unwrap_or(u64::MAX),
    }
}

/// The same leaf with another size.
fn resized(leaf: &Node, bytes: u64) -> Node {
    let mut leaf = leaf.clone();
    if let Node::Leaf { options, .. } = &mut leaf {
        options.retain(|(name, _)| name != "size");
    }
    leaf.with("size", stacks::size_text(bytes))
}

fn behaviour(settings: &Settings) -> Result<Behaviour, Error> {
    settings.text("device").parse().map_err(Error::usage)
}

fn happening(settings: &Settings) -> Result<PullEvent, Error> {
    settings.text("event").parse().map_err(Error::usage)
}

/// What is recorded of a test.
pub(super) fn found(options: &Options, outcome: &Outcome) -> WorkloadResult {
    let mut found = WorkloadResult::default();
    let Some(sample) = &outcome.figure else { return found };
    let dishonest = if options.behaviour.is_honest() { 0 } else { u64::from(options.recordings) };
    let card = &sample.card;
    let tally = Tally { unsteady: sample.unsteady, dishonest, ..card.tally() };
    found.metrics = tally.metrics();
    if let Some(hunt) = &outcome.hunt {
        let tally = Tally { unsteady: hunt.unsteady, dishonest, ..hunt.card.tally() };
        found.metrics.extend(tally.hunt_metrics().iter());
    }
    // Of this trial alone: these cannot be added up.
    let more: BTreeMap<String, f64> = [
        ("copies_lost_median_seconds", card.closed_seconds_lost.median),
        ("copies_lost_p95_seconds", card.closed_seconds_lost.p95),
        ("promised_lost_median_seconds", card.promised_seconds_lost.median),
        ("recovery_median_seconds", card.recovery_seconds.median),
        ("recorded_seconds", outcome.recorded_seconds),
        ("recorded_flushes_count", outcome.flushes as f64),
        ("recorded_written_bytes", outcome.written_bytes as f64),
        ("recorded_promises_count", outcome.promises as f64),
        ("unjudged_count", sample.unjudged as f64),
    ]
    .map(|(name, figure)| (name.to_owned(), figure))
    .into();
    found.metrics.extend(more);
    let whole = card.whole_again.map(|timed| timed.seconds.median);
    found.metrics.extend(whole.map(|seconds| ("whole_again_median_seconds".to_owned(), seconds)));
    found
}

//! Rows of the pull suite: the power cuts of a configuration, in a process of their own.

use std::collections::BTreeMap;

use bench::suite::{Settings, pull as rows};
use block::Node;
use host::Error;
use pull::{Extent, WORKS};
use results::safety::Tally;
use results::{Configuration, Plan, Workload};

use super::attached::Wanted;
use super::execute::Found;
use crate::cell::CellSettings;
use crate::plan::suite;
use crate::pull::{Behaviour, Happening, Options, Outcome, leaves};
use crate::{order, stacks};

/// What drives are multiples of.
const DRIVE_UNIT: u64 = 4096;

/// The test that a workload of the pull suite is for a configuration in a block.
///
/// # Errors
/// What cannot be pulled.
pub(super) fn options(
    plan: &Plan,
    workload: &Workload,
    configuration: &Configuration,
    block: u32,
) -> Result<Options, Error> {
    let settings = suite::settings(plan, workload, configuration)?;
    let row = suite::row(workload);
    let Some(wanted) = Wanted::of(configuration)? else {
        return Err(Error::usage("a pull test needs a file system"));
    };
    let name = row.strip_prefix(rows::ROW).unwrap_or(row);
    let Some((_, work)) = WORKS.into_iter().find(|(known, _)| *known == name) else {
        return Err(Error::usage(format!("no work is called `{name}`")));
    };
    let most = settings.bytes("drive_size");
    let mut size = |_: &str, leaf: &Node| {
        let bytes = stacks::dry(leaf, None)?.size_bytes.min(most);
        Ok(bytes - bytes % DRIVE_UNIT)
    };
    let drives = leaves(&stacks::parse(&configuration.stack)?, &mut size)?;
    let cell = CellSettings::of(&configuration.settings)?;
    let (steps, spread) = rows::extent(&settings, row);
    let count = |name: &str| u32::try_from(settings.count(name)).unwrap_or(u32::MAX);
    let size = |name: &str| stacks::parse_size(settings.text(name)).map_err(Error::usage);
    let pulls = count("pulls");
    Ok(Options {
        stack: drives.stack,
        drive_bytes: drives.drive_bytes,
        new_array: cell.new_array,
        upkeep: cell.upkeep,
        file_system: wanted.file_system,
        make_options: wanted.own_make_options(),
        mount_options: serve::mount_options(wanted.policy, false, wanted.mount_options),
        removal: wanted.policy,
        work,
        extent: Extent {
            steps: u32::try_from(steps).unwrap_or(u32::MAX),
            spread_milliseconds: u64::try_from(spread.as_millis()).unwrap_or(u64::MAX),
        },
        pulls,
        hunt: 0,
        recordings: count("recordings").min(pulls),
        behaviour: behaviour(&settings)?,
        happening: happening(&settings)?,
        cache_bytes: settings.bytes("drive_cache"),
        cache_milliseconds: u64::try_from(settings.time("cache_age").as_millis())
            .unwrap_or(u64::MAX),
        tear_bytes: u32::try_from(size("tear")?).unwrap_or(u32::MAX),
        seed: order::trial_seed(plan, configuration, &workload.name, block),
        keep_failing: None,
        log_writes: None,
    })
}

fn behaviour(settings: &Settings) -> Result<Behaviour, Error> {
    settings.text("device").parse().map_err(Error::usage)
}

fn happening(settings: &Settings) -> Result<Happening, Error> {
    settings.text("event").parse().map_err(Error::usage)
}

/// What is recorded of a test.
pub(super) fn found(options: &Options, outcome: &Outcome) -> Found {
    let mut found = Found::default();
    let Some(sample) = &outcome.figure else { return found };
    let dishonest = if options.behaviour.is_honest() { 0 } else { u64::from(options.recordings) };
    let card = &sample.card;
    let tally = Tally { unsteady: sample.unsteady, dishonest, ..card.tally() };
    found.metrics = tally.metrics();
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
    ]
    .map(|(name, figure)| (name.to_owned(), figure))
    .into();
    found.metrics.extend(more);
    found
}

//! `array incremental`: what udev asks for when a block device has come. Configured arrays that are
//! complete now are started; nothing else is touched.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use serde_json::json;
use serve::{ConfiguredArray, Launch, Readiness, Runtime};
use words::Text;

use super::server_status;
use super::start::serve_with;
use crate::catalogue::{self, statement};
use crate::failure::Failure;
use crate::output::Output;

/// `array incremental`.
#[derive(Args, Debug)]
pub(crate) struct IncrementalArguments {
    /// The device that has come, or an image file
    pub device: PathBuf,

    /// Start them as units of systemd, raidloom@NAME, which stop them too
    #[arg(long)]
    pub unit: bool,
}

/// What became of one configuration.
struct Outcome {
    name: String,
    /// One word, for programs.
    became: &'static str,
    text: Text,
}

/// Starts what the device completes, and says of every other configuration that names it why it is
/// not started. A configuration that is wrong keeps no other from being started.
pub(super) fn incremental(
    output: &Output,
    arguments: &IncrementalArguments,
) -> Result<(), Failure> {
    let device = &arguments.device;
    if !device.exists() {
        return Err(Failure::usage(catalogue::DEVICE_NOT_THERE).at(device.display()));
    }
    let (found, unreadable) = serve::configured(device);
    let runtime = Runtime::find()?;
    let mut outcomes = Vec::new();
    let mut failures = unreadable;
    for configured in &found {
        match act(output, &runtime, configured, arguments.unit) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => failures.push(error),
        }
    }
    if output.json {
        let document = |outcome: &Outcome| {
            let Outcome { name, became, text } = outcome;
            json!({ "name": name, "became": became, "text": text.english() })
        };
        output.document(&outcomes.iter().map(document).collect::<Vec<_>>())?;
    } else {
        outcomes.iter().try_for_each(|outcome| output.result(&outcome.text.to_string()))?;
    }
    if found.is_empty() {
        let folder = serve::configurations();
        output.note(
            &statement!(NO_CONFIGURATION_NAMES_IT, folder = folder.display()).at(device.display()),
        );
    }
    let last = failures.pop();
    failures.iter().for_each(|error| output.error(error));
    last.map_or(Ok(()), Err)
}

fn act(
    output: &Output,
    runtime: &Runtime,
    configured: &ConfiguredArray,
    by_unit: bool,
) -> Result<Outcome, Failure> {
    let name = configured.server_name();
    let outcome =
        |became, text: Text| Outcome { name: name.to_owned(), became, text: text.at(name) };
    let runs = || outcome("runs", catalogue::ARRAY_RUNS_ALREADY.into());
    let not_started = |reason: Text| statement!(INCREMENTAL_NOT_STARTED, reason = reason);
    Ok(match configured.readiness(runtime)? {
        Readiness::Runs => runs(),
        Readiness::Waits(reason) => outcome("waits", not_started(reason)),
        Readiness::Refused(reason) => outcome("refused", not_started(reason)),
        Readiness::Complete if by_unit => {
            let unit = format!("raidloom@{}.service", configured.name);
            start_unit(&unit)?;
            outcome("started", statement!(COMPLETE_AS_UNIT, unit = unit))
        }
        Readiness::Complete => {
            let launch = Launch { settings: configured.settings.clone(), fresh: None };
            match serve_with()?.launch(&launch, &[]) {
                Ok(started) => {
                    started.status.notes.iter().for_each(|note| output.note(note));
                    Outcome {
                        name: name.to_owned(),
                        became: "started",
                        text: server_status::summary(&started.status).into(),
                    }
                }
                // Two devices that came at once complete it both.
                Err(_) if configured.runs(runtime) => runs(),
                Err(error) => return Err(error),
            }
        }
    })
}

/// The server is the unit's, which also stops it; nobody waits for it here. That the unit has
/// failed too often before its last drive came must not keep it from starting now.
fn start_unit(unit: &str) -> Result<(), Failure> {
    let systemctl = |arguments: &[&str]| {
        let output = Command::new("systemctl").args(arguments).arg(unit).output();
        output.map_err(|error| Failure::from_io(catalogue::NO_SYSTEMCTL, &error))
    };
    // A unit that never ran cannot be reset, and need not be.
    systemctl(&["reset-failed"])?;
    let output = systemctl(&["--no-block", "start"])?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().map(Text::from);
    let said = said.unwrap_or_else(|| catalogue::FAILED_WITHOUT_A_WORD.into());
    Err(Failure::failed(said).at(format!("systemctl start {unit}")))
}

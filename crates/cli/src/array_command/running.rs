//! `array stop`, `mount`, `umount`, and `status` of all that run: what is said to servers that run.

use std::path::PathBuf;

use clap::Args;
use mdtools::ArrayCondition;
use serde_json::{Value, json};
use serve::{Client, Command, Runtime, Settings, Status};
use words::{Message, Text};

use super::server_status;
use super::start::absolute;
use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::{Output, about, table};

/// `array mount`.
#[derive(Args, Debug)]
pub(crate) struct MountArguments {
    /// The name of a running array
    pub name: String,

    /// Where to mount it
    pub folder: PathBuf,

    /// Which file system; made first where there is nothing yet. Without it, whichever is there
    #[arg(long, value_name = "KIND")]
    pub fs: Option<String>,

    /// As `mount -o` takes them
    #[arg(short, long, value_name = "OPTIONS")]
    pub options: Option<String>,
}

/// Ends servers in the order in which they are named.
pub(super) fn stop(output: &Output, names: &[String]) -> Result<(), Failure> {
    let runtime = Runtime::find()?;
    let mut problems = Vec::new();
    for name in names {
        let has_died = || runtime.entry(name).is_some_and(|entry| entry.process.is_none());
        let ended = if has_died() { None } else { Some(serve::stop(&runtime, name)) };
        match ended {
            Some(Ok(left)) => {
                if !output.json {
                    output.result(&say!(STOPPED, array = name))?;
                }
                problems.extend(left);
            }
            // It may be killed while it is told to stop.
            Some(Err(error)) if !has_died() => return Err(error),
            _ => {
                let notes = std::mem::take(&mut runtime.claim(name)?.notes);
                notes.iter().for_each(|note| output.note(note));
                output.progress(&say!(CLEANED_UP, name = name));
            }
        }
    }
    if output.json {
        let english: Vec<String> = problems.iter().map(Text::english).collect();
        output.document(&json!({ "stopped": names, "problems": english }))?;
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::failed(Text::joined(problems, "\n"))) }
}

/// Heads of the columns of the list.
const LIST_HEAD: [Message; 6] = [
    catalogue::LIST_NAME,
    catalogue::LIST_STATE,
    catalogue::LIST_SIZE,
    catalogue::LIST_PROCESS,
    catalogue::LIST_AT,
    catalogue::LIST_MOUNTED,
];

/// Lists the servers that run, and undoes what dead ones have left behind. The worst state of them;
/// `None` where one does not answer.
pub(super) fn list(output: &Output) -> Result<Option<ArrayCondition>, Failure> {
    let runtime = Runtime::find()?;
    runtime.clean_up().iter().for_each(|note| output.note(note));
    let (mut statuses, mut failed) = (Vec::new(), Vec::new());
    for (_, status) in serve::statuses(&runtime) {
        match status {
            Ok(status) => statuses.push(status),
            Err(error) => failed.push(error),
        }
    }
    failed.iter().for_each(|error| output.note(&error.to_string()));
    let worst = || statuses.iter().map(Status::state).max().unwrap_or(ArrayCondition::Online);
    let worst = failed.is_empty().then(worst);
    if output.json {
        return output.document(&statuses).map(|()| worst);
    }
    if statuses.is_empty() {
        // One that starts, or does not answer, has its line already.
        if failed.is_empty() {
            output.note(&say!(NOTHING_RUNS));
        }
        return Ok(worst);
    }
    let row = |status: &Status| {
        let mounts: Vec<String> =
            status.mounts.iter().map(|point| point.display().to_string()).collect();
        vec![
            status.name.clone(),
            server_status::state(status),
            about(status.size_bytes),
            status.process.to_string(),
            server_status::address(status),
            mounts.join(", "),
        ]
    };
    output.result(&table(
        &LIST_HEAD.map(Message::template),
        &statuses.iter().map(row).collect::<Vec<_>>(),
        &[2, 3],
    ))?;
    Ok(worst)
}

/// Mounts what a server serves.
pub(super) fn mount(output: &Output, arguments: &MountArguments) -> Result<(), Failure> {
    let command = Command::Mount {
        point: absolute(&arguments.folder)?,
        file_system: arguments.fs.clone(),
        options: arguments.options.clone(),
    };
    let done = Client::connect(&Runtime::find()?, &arguments.name)?.ask(command)?;
    if output.json {
        return output.document(&done);
    }
    let text = |key: &str| done[key].as_str().unwrap_or_default();
    let message = match done["made"] == Value::Bool(true) {
        true => catalogue::MADE_AND_MOUNTED,
        false => catalogue::MOUNTED_AT,
    };
    let (file_system, point) = (text("file_system"), text("point"));
    let name = &arguments.name;
    output.result(&words::say!(message, name = name, file_system = file_system, point = point))?;
    // What is mounted by hand is in no configuration.
    let file = serve::configurations().join(format!("{name}.toml"));
    if Settings::read(&file).is_ok_and(|settings| settings.mount.is_none()) {
        output.note(&say!(MOUNTED_THIS_TIME, path = file.display()));
    }
    Ok(())
}

/// Unmounts it.
pub(super) fn umount(output: &Output, name: &str) -> Result<(), Failure> {
    let done = Client::connect(&Runtime::find()?, name)?.ask(Command::Unmount)?;
    if output.json {
        return output.document(&done);
    }
    output.result(&say!(UNMOUNTED, name = name))
}

//! `array status`: what the servers of arrays that run say, and the superblocks of those that do
//! not.

use std::path::{Path, PathBuf};

use block::Node;
use clap::Args;
use escape::Lines;
use mdtools::{ArrayCondition, ArrayStatus};
use serde::Serialize;
use serve::{Client, Runtime, Status};

use super::assemble::found;
use super::{running, server_status};
use crate::catalogue;
use crate::failure::Failure;
use crate::output::Output;

/// `array status`.
#[derive(Args, Debug)]
pub(crate) struct StatusArguments {
    /// The name of a running array, a stack text, or members (also folders of them) [default: a
    /// line for each array that runs, and where it appears]
    #[arg(value_name = "NAME|STACK|PATH")]
    pub targets: Vec<String>,

    /// End with mdadm's exit code: 0 normal, 1 a member has failed, 2 unusable, 4 cannot tell
    #[arg(short, long)]
    pub test: bool,
}

/// The exit code of `mdadm --detail --test` when the state cannot be told.
const CANNOT_TELL: u8 = 4;

/// What is shown of one thing that was named.
struct StatusEntry {
    status: AnyStatus,
    /// How it is with all that it stands on. An array that is a member of another that is shown
    /// counts there.
    state: ArrayCondition,
    /// What commands name it by.
    called: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnyStatus {
    Server(Box<Status>),
    Superblocks(Box<ArrayStatus>),
}

impl StatusEntry {
    fn server(status: Status) -> StatusEntry {
        let (state, called) = (status.state(), status.name.clone());
        StatusEntry { status: AnyStatus::Server(Box::new(status)), state, called }
    }

    fn text(&self) -> Lines {
        match &self.status {
            AnyStatus::Server(status) => server_status::text(status),
            AnyStatus::Superblocks(status) => status.text_of(&self.called),
        }
    }
}

/// Shows the status of what is named by the name of a server, by members' paths or by a stack text.
pub(super) fn status(output: &Output, arguments: &StatusArguments) -> Result<(), Failure> {
    let judged = |worst: Option<ArrayCondition>| match worst {
        _ if !arguments.test => Ok(()),
        None => Err(Failure::silent(CANNOT_TELL)),
        Some(ArrayCondition::Online) => Ok(()),
        Some(worst) => Err(Failure::silent(worst.test_code())),
    };
    if arguments.targets.is_empty() {
        return judged(running::list(output)?);
    }
    let all = all(output, &arguments.targets)
        .map_err(|failure| if arguments.test { failure.with_code(CANNOT_TELL) } else { failure })?;
    if output.json {
        output.document(&all.iter().map(|shown| &shown.status).collect::<Vec<_>>())?;
    } else {
        output.result(
            all.iter()
                .map(|shown| shown.text().into_text())
                .collect::<Vec<_>>()
                .join("\n")
                .trim_end(),
        )?;
    }
    judged(Some(all.iter().map(|shown| shown.state).max().unwrap_or(ArrayCondition::Online)))
}

fn all(output: &Output, targets: &[String]) -> Result<Vec<StatusEntry>, Failure> {
    // Without a folder for servers none runs.
    let runtime = Runtime::find().ok();
    let (mut shown, mut paths) = (Vec::new(), Vec::new());
    for target in targets {
        if let Some(runtime) = runtime.as_ref().filter(|runtime| runtime.entry(target).is_some()) {
            shown.push(StatusEntry::server(Client::connect(runtime, target)?.status()?));
        } else if Path::new(target).exists() {
            paths.push(PathBuf::from(target));
        } else {
            paths.extend(named(target)?);
        }
    }
    if paths.is_empty() && !shown.is_empty() {
        return Ok(shown);
    }
    let found = found(output, &paths)?;
    let status = |group: &mdtools::Group| match &group.assembly {
        Ok(assembly) => {
            let is_outermost = found.above(group).is_none();
            let state = group.state().filter(|_| is_outermost).unwrap_or(ArrayCondition::Online);
            let status = ArrayStatus::of_superblocks(assembly, &group.candidates);
            let (status, called) = (AnyStatus::Superblocks(Box::new(status)), found.called(group));
            Ok(StatusEntry { status, state, called })
        }
        Err(reason) => Err(Failure::failed(reason.clone())),
    };
    shown.extend(found.groups.iter().map(status).collect::<Result<Vec<_>, _>>()?);
    Ok(shown)
}

/// The files that a stack text names, or a part of a file.
fn named(target: &str) -> Result<Vec<PathBuf>, Failure> {
    match stack::parse(target).map_err(block::Error::from)? {
        node @ Node::Layer { .. } => Ok(members(&node)),
        Node::Leaf { options, .. } if !options.is_empty() => Ok(vec![PathBuf::from(target)]),
        _ => Err(Failure::usage(catalogue::NO_ARRAY_RUNS).at(target)),
    }
}

/// The files of a stack.
fn members(node: &Node) -> Vec<PathBuf> {
    node.leaves().into_iter().filter_map(Node::file_path).collect()
}

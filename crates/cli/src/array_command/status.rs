//! `array status`: what the servers of arrays that run say, and the superblocks of those that do
//! not.

use std::path::{Path, PathBuf};

use block::Node;
use escape::Lines;
use mdtools::{ArrayStatus, State};
use serde::Serialize;
use serve::{Client, Runtime, Status};

use super::arguments::StatusArguments;
use super::assemble::found;
use super::server_status;
use crate::failure::Failure;
use crate::output::Output;

/// The exit code of `mdadm --detail --test` when the state cannot be told.
const CANNOT_TELL: u8 = 4;

/// What is known of one thing that was named.
#[derive(Serialize)]
#[serde(untagged)]
enum Known {
    Served(Box<Status>),
    Found(Box<ArrayStatus>),
}

impl Known {
    fn text(&self) -> Lines {
        match self {
            Known::Served(status) => server_status::text(status),
            Known::Found(status) => status.text(),
        }
    }

    fn state(&self) -> State {
        match self {
            Known::Served(status) => status.state(),
            Known::Found(status) => status.state,
        }
    }
}

/// Shows the status of what is named by the name of a server, by members' paths or by a stack text.
pub(super) fn status(output: &Output, arguments: &StatusArguments) -> Result<(), Failure> {
    let all = all(output, &arguments.targets)
        .map_err(|failure| if arguments.test { failure.with_code(CANNOT_TELL) } else { failure })?;
    if output.json {
        output.document(&all)?;
    } else {
        output.result(
            all.iter()
                .map(|known| known.text().into_text())
                .collect::<Vec<_>>()
                .join("\n")
                .trim_end(),
        )?;
    }
    let worst = all.iter().map(Known::state).max().unwrap_or(State::Online);
    if arguments.test && worst != State::Online {
        return Err(Failure::silent(worst.test_code()));
    }
    Ok(())
}

fn all(output: &Output, targets: &[String]) -> Result<Vec<Known>, Failure> {
    // Without a folder for servers none runs.
    let runtime = Runtime::find().ok();
    let (mut known, mut paths) = (Vec::new(), Vec::new());
    for target in targets {
        if let Some(runtime) = runtime.as_ref().filter(|runtime| runtime.entry(target).is_some()) {
            known.push(Known::Served(Box::new(Client::connect(runtime, target)?.status()?)));
        } else if target.contains('(') {
            paths.extend(members(&stack::parse(target).map_err(block::Error::from)?));
        } else if Path::new(target).exists() || target.contains('?') {
            paths.push(PathBuf::from(target));
        } else {
            return Err(Failure::usage(format!(
                "{target}: no array of that name runs, and there is no such file"
            )));
        }
    }
    if paths.is_empty() && !known.is_empty() {
        return Ok(known);
    }
    let found = found(output, &paths)?;
    let status = |group: &mdtools::Group| match &group.assembly {
        Ok(assembly) => {
            Ok(Known::Found(Box::new(ArrayStatus::of_superblocks(assembly, &group.candidates))))
        }
        Err(reason) => Err(Failure::failed(reason.clone())),
    };
    known.extend(found.groups.iter().map(status).collect::<Result<Vec<_>, _>>()?);
    Ok(known)
}

/// The files of a stack.
fn members(node: &Node) -> Vec<PathBuf> {
    node.leaves().into_iter().filter_map(Node::file_path).collect()
}

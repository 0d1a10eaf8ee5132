//! `array status`: what the servers of arrays that run say, and the superblocks of those that do not.

use std::path::{Path, PathBuf};

use block::Node;
use lab::arrays::{ArrayStatus, State};
use serde_json::{Value, json};
use server::{Client, Runtime};

use super::arguments::StatusArguments;
use super::assemble::found;
use super::server_status;
use crate::failure::Failure;
use crate::output::Output;

/// The exit code of `mdadm --detail --test` when the state cannot be told.
const CANNOT_TELL: u8 = 4;

/// What is known of one thing that was named.
struct Known {
    document: Value,
    text: String,
    state: State,
}

/// Shows the status of what is named by the name of a server, by members' paths or by a stack text.
pub(super) fn status(output: &Output, arguments: &StatusArguments) -> Result<(), Failure> {
    let all = all(output, &arguments.targets).map_err(|failure| if arguments.test { failure.with_code(CANNOT_TELL) } else { failure })?;
    if output.json {
        output.document(&all.iter().map(|known| &known.document).collect::<Vec<_>>())?;
    } else {
        output.result(all.iter().map(|known| known.text.as_str()).collect::<Vec<_>>().join("\n").trim_end())?;
    }
    let worst = all.iter().map(|known| known.state).max().unwrap_or(State::Online);
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
            let status = Client::connect(runtime, target)?.status()?;
            known.push(Known { document: json!(status), text: server_status::text(&status), state: server_status::worst(&status) });
        } else if target.contains('(') {
            paths.extend(members(&stack::parse(target).map_err(block::Error::from)?));
        } else if Path::new(target).exists() {
            paths.push(PathBuf::from(target));
        } else {
            return Err(Failure::usage(format!("{target}: no array of that name runs, and there is no such file")));
        }
    }
    if paths.is_empty() && !known.is_empty() {
        return Ok(known);
    }
    let found = found(output, &paths)?;
    let status = |group: &lab::arrays::Group| match &group.assembly {
        Ok(assembly) => {
            let status = ArrayStatus::of_superblocks(assembly, &group.candidates);
            Ok(Known { document: json!(status), text: status.text(), state: status.state })
        }
        Err(reason) => Err(Failure::failed(reason.clone())),
    };
    known.extend(found.groups.iter().map(status).collect::<Result<Vec<_>, _>>()?);
    Ok(known)
}

/// The files of a stack.
fn members(node: &Node) -> Vec<PathBuf> {
    let file = |leaf: &&Node| match leaf {
        Node::Leaf { scheme, address, .. } if scheme == "file" => Some(PathBuf::from(address)),
        _ => None,
    };
    node.leaves().iter().filter_map(file).collect()
}

//! `array status` of arrays that do not run: what their superblocks say.

use std::path::{Path, PathBuf};

use block::Node;
use lab::arrays::{ArrayStatus, State};

use super::arguments::StatusArguments;
use super::assemble::found;
use crate::failure::Failure;
use crate::output::Output;

/// The exit code of `mdadm --detail --test` when the state cannot be told.
const CANNOT_TELL: u8 = 4;

/// Shows the status of what is named by members' paths or a stack text.
pub(super) fn status(output: &Output, arguments: &StatusArguments) -> Result<(), Failure> {
    let all = all(output, &arguments.targets).map_err(|failure| if arguments.test { failure.with_code(CANNOT_TELL) } else { failure })?;
    print(output, &all)?;
    let worst = all.iter().map(|status| status.state).max().unwrap_or(State::Online);
    if arguments.test && worst != State::Online {
        return Err(Failure::silent(worst.test_code()));
    }
    Ok(())
}

fn all(output: &Output, targets: &[String]) -> Result<Vec<ArrayStatus>, Failure> {
    let mut paths = Vec::new();
    for target in targets {
        if target.contains('(') {
            paths.extend(members(&stack::parse(target).map_err(block::Error::from)?));
        } else if Path::new(target).exists() {
            paths.push(PathBuf::from(target));
        } else {
            return Err(Failure::usage(format!("{target}: no array of that name runs, and there is no such file")));
        }
    }
    let found = found(output, &paths)?;
    let status = |group: &lab::arrays::Group| match &group.assembly {
        Ok(assembly) => Ok(ArrayStatus::of_superblocks(assembly, &group.candidates)),
        Err(reason) => Err(Failure::failed(reason.clone())),
    };
    found.groups.iter().map(status).collect()
}

/// The files of a stack.
fn members(node: &Node) -> Vec<PathBuf> {
    let file = |leaf: &&Node| match leaf {
        Node::Leaf { scheme, address, .. } if scheme == "file" => Some(PathBuf::from(address)),
        _ => None,
    };
    node.leaves().iter().filter_map(file).collect()
}

/// Prints what is known of some arrays.
pub(super) fn print(output: &Output, all: &[ArrayStatus]) -> Result<(), Failure> {
    if output.json {
        return output.document(&all);
    }
    output.result(all.iter().map(ArrayStatus::text).collect::<Vec<_>>().join("\n").trim_end())
}

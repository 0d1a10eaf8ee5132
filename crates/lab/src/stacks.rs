//! What the lab does with stack text beyond building it: trying a stack out without touching what
//! it stands on.

use std::fs::File;
use std::path::Path;

use block::{Info, Node};

use crate::plan::{Leaf, leaves, map_leaves};
use host::Error;

pub(crate) use stack::size::text as size_text;

/// Reads a size in bytes; the error is one line for people.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    stack::size::parse(text).map(|size| size.bytes).map_err(|error| error.to_string())
}

/// Reads a stack text.
pub(crate) fn parse(text: &str) -> Result<Node, Error> {
    stack::parse(text).map_err(|error| {
        let hint = error.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
        let found = if error.found.is_empty() {
            "the text ends".to_owned()
        } else {
            format!("found `{}`", error.found)
        };
        Error::usage(format!(
            "stack text `{text}`, byte {}: {found}, expected {}{hint}",
            error.position, error.expected
        ))
    })
}

/// Whether every leaf is a modelled disk, so that it runs on the virtual clock.
pub(crate) fn is_modelled(node: &Node) -> bool {
    node.leaves().iter().all(|leaf| matches!(leaf, Node::Leaf { scheme, .. } if scheme == "model"))
}

/// Whether any leaf is a modelled disk.
pub(crate) fn has_model(node: &Node) -> bool {
    node.leaves().iter().any(|leaf| matches!(leaf, Node::Leaf { scheme, .. } if scheme == "model"))
}

/// What the stack's device would be, found by building it with a `null:` of the same size in the
/// place of every file and device, so that nothing is opened.
///
/// # Errors
/// What is wrong with the layout, or a file or device that is not there.
pub(crate) fn dry(node: &Node) -> Result<Info, Error> {
    // Only files that are missing or too small to be read fail here.
    leaves(node)?;
    let stand_in = map_leaves(node.clone(), &|node| {
        let size_bytes = match &leaves(&node)?[..] {
            [Leaf::Made(file)] => file.size_bytes,
            [Leaf::Existing { size_bytes, .. }] => *size_bytes - *size_bytes % block::SECTOR_BYTES,
            _ => return Ok(node),
        };
        Ok(Node::leaf("null", size_text(size_bytes)))
    })?;
    let context = stack::BuildContext {
        files: &NoFiles,
        seed: 0,
        read_only: false,
        create_bytes: None,
        emulate: true,
    };
    let stack =
        stack::build(&stand_in, &context).map_err(|error| Error::usage(error.to_string()))?;
    Ok(stack.device.info().clone())
}

/// Opens nothing: a stack that is tried out has no files left in it.
struct NoFiles;

impl stack::OpenFiles for NoFiles {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, block::Error> {
        Err(block::Error::new(
            block::ErrorKind::Refused,
            format!("{}: a stack that is only tried out opens nothing", path.display()),
        ))
    }
}

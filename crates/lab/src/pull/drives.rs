//! Drives in memory in the place of what a stack names.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use block::{Device, Error as BlockError, ErrorKind, Node};
use host::Error;

/// How the addresses of our drives begin in a stack.
const ADDRESS: &str = "/raidloom-pull-drive-";

/// A stack over drives of our own.
pub struct Leaves {
    /// The stack.
    pub stack: Node,
    /// The size of each drive, in bytes.
    pub drive_bytes: Vec<u64>,
}

/// Puts a drive of our own in the place of every leaf but the memory of caches, which is lost with
/// the host. `size` tells how large a file is to be, or why it may not stand for one.
///
/// # Errors
/// A leaf that cannot be a drive.
pub fn leaves(
    stack: &Node,
    size: &mut dyn FnMut(&str, &Node) -> Result<u64, Error>,
) -> Result<Leaves, Error> {
    let mut drive_bytes = Vec::new();
    let stack = replace(stack, false, &mut |scheme, leaf| {
        drive_bytes.push(size(scheme, leaf)?);
        Ok(Node::leaf("file", format!("{ADDRESS}{}", drive_bytes.len() - 1)))
    })?;
    if drive_bytes.is_empty() {
        return Err(Error::usage("there is no drive in this stack that could lose its power"));
    }
    Ok(Leaves { stack, drive_bytes })
}

fn replace(
    node: &Node,
    is_store: bool,
    drive: &mut dyn FnMut(&str, &Node) -> Result<Node, Error>,
) -> Result<Node, Error> {
    match node {
        Node::Missing => Ok(Node::Missing),
        Node::Leaf { scheme, .. } if scheme == "ram" && is_store => Ok(node.clone()),
        Node::Leaf { scheme, .. } => drive(scheme, node),
        Node::Layer { name, options, children } => {
            if name == "record" {
                return Err(Error::usage(
                    "record(): pull records every drive itself; leave the layer out, and name a \
                    file with --log-writes",
                ));
            }
            let child = |(number, child): (usize, &Node)| {
                replace(child, name == "cache" && number == 0, drive)
            };
            let children = children.iter().enumerate().map(child).collect::<Result<_, Error>>()?;
            Ok(Node::Layer { name: name.clone(), options: options.clone(), children })
        }
    }
}

/// A drive in memory, all zeroes.
pub(super) fn memory(bytes: u64) -> Result<Arc<dyn Device>, Error> {
    let context = stack::BuildContext {
        files: &stack::NoFiles,
        seed: 0,
        read_only: false,
        create_bytes: None,
        emulate: false,
    };
    let node = Node::leaf("ram", bytes.to_string());
    let built = stack::build(&node, &context).map_err(|error| Error::usage(error.to_string()))?;
    Ok(built.device)
}

/// The drives, by the numbers in their addresses.
pub(super) struct Drives(pub(super) Vec<Arc<dyn Device>>);

impl stack::OpenFiles for Drives {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, BlockError> {
        let text = format!("{}: a pull test opens nothing that a stack names", path.display());
        Err(BlockError::new(ErrorKind::Refused, text))
    }

    fn stand_in(&self, path: &Path) -> Option<Arc<dyn Device>> {
        let number = path.to_str()?.strip_prefix(ADDRESS)?.parse::<usize>().ok()?;
        self.0.get(number).map(Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drives(text: &str) -> Result<(String, Vec<u64>), String> {
        let stack = stack::parse(text).unwrap();
        let mut size = |scheme: &str, leaf: &Node| match (scheme, leaf) {
            ("ram", Node::Leaf { address, .. }) => Ok(address.parse().unwrap()),
            _ => Ok(7),
        };
        leaves(&stack, &mut size)
            .map(|leaves| (leaves.stack.to_string(), leaves.drive_bytes))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn drives_take_the_place_of_leaves_but_not_of_memory_that_caches() {
        let (text, sizes) = drives("cache(ram:512, raid1(a.img, ram:1024, missing))").unwrap();
        assert!(text.contains("cache(ram:512, raid1("), "{text}");
        assert!(text.contains("drive-0") && text.contains("drive-1"), "{text}");
        assert_eq!(sizes, [7, 1024]);
        assert!(drives("cache(ram:512, cache(a.img, ram:5))").is_ok());
        assert!(drives("record(file:t, ram:512)").unwrap_err().contains("leave the layer out"));
    }
}

//! The drives of the target: how large those are that stand for them.

use std::path::Path;

use block::Node;
use host::limits::promise_memory;
use lab::pull::{DriveLeaf, Leaves, leaves};

use super::arguments::PullArguments;
use crate::catalogue;
use crate::failure::Failure;

/// Modelled drives are no larger: all that is written to them is kept in memory.
const MODELLED_MAX_BYTES: u64 = 4 << 30;

/// The drives under a stack, of files' sizes and models.
pub(super) fn drives_of(
    node: &Node,
    arguments: &PullArguments,
    create: Option<u64>,
    in_guest: bool,
) -> Result<Leaves, Failure> {
    let mut taken = DriveFlags::default();
    let mut drive = |scheme: &str, leaf: &Node| match scheme {
        "model" => modelled(in_guest, create, leaf, &mut taken),
        _ => {
            let bytes = drive_bytes(arguments, create, (scheme, leaf), &mut taken)?;
            DriveLeaf::of_size(bytes, in_guest)
        }
    };
    let found = leaves(node, &mut drive)?;
    taken.refuse_stray(arguments)?;
    promise_memory(catalogue::RAM_DRIVES, taken.ram_bytes)?;
    let lost = arguments.lose_member;
    lost.check(found.drive_bytes.len())
        .map_err(|why| Failure::usage(why).at(format!("--lose-member {lost}")))?;
    Ok(found)
}

/// Which of the flags about drives had a drive to be about.
#[derive(Default)]
struct DriveFlags {
    create: bool,
    scratch: bool,
    /// Drives that are memory by their own words. Those that stand for others hold only what is
    /// written to them.
    ram_bytes: u64,
}

impl DriveFlags {
    fn refuse_stray(&self, arguments: &PullArguments) -> Result<(), Failure> {
        if arguments.create.is_some() && !self.create {
            return Err(Failure::usage(catalogue::SIZES_KNOWN));
        }
        if arguments.scratch && !self.scratch {
            return Err(Failure::usage(catalogue::NOTHING_HOLDS_DATA));
        }
        Ok(())
    }
}

/// A drive that takes modelled time.
fn modelled(
    in_guest: bool,
    create: Option<u64>,
    leaf: &Node,
    taken: &mut DriveFlags,
) -> Result<DriveLeaf, Failure> {
    if !in_guest {
        return Err(Failure::usage(catalogue::MODEL_NEEDS_GUEST).at(leaf));
    }
    let lacks_size = matches!(leaf, Node::Leaf { options, .. }
        if !options.iter().any(|(name, _)| name == "size"));
    taken.create |= lacks_size;
    let leaf = match create.filter(|_| lacks_size) {
        Some(bytes) => leaf.clone().with("size", block::size_text(bytes)),
        None => leaf.clone(),
    };
    let drive = DriveLeaf::modelled(&leaf)?;
    if drive.bytes > MODELLED_MAX_BYTES {
        return Err(Failure::usage(catalogue::MODEL_SIZE_NEEDED).at(&leaf));
    }
    Ok(drive)
}

/// How large the drive is that stands for a leaf. Nothing is opened for writing, ever; that a file
/// which holds something is meant has to be said all the same.
fn drive_bytes(
    arguments: &PullArguments,
    create: Option<u64>,
    (scheme, leaf): (&str, &Node),
    taken: &mut DriveFlags,
) -> Result<u64, Failure> {
    let Node::Leaf { address, options, .. } = leaf else { unreachable!("a leaf") };
    let said = |text: &str| {
        stack::size::parse(text)
            .map(|size| size.bytes)
            .map_err(|error| Failure::usage(error).at(leaf.to_string()))
    };
    match scheme {
        "ram" => {
            let bytes = said(address)?;
            taken.ram_bytes = taken.ram_bytes.saturating_add(bytes);
            Ok(bytes)
        }
        "file" => {
            let path = Path::new(address);
            let size = options.iter().find(|(name, _)| name == "size");
            let named = size.map(|(_, text)| said(text)).transpose()?;
            if path.is_dir() {
                return Err(Failure::usage(catalogue::FOLDER_NO_DRIVE).at(address));
            }
            let is_device = path.metadata().is_ok_and(|data| !data.is_file());
            let own = own_bytes(path)?.filter(|bytes| *bytes > 0);
            if own.is_some() && !arguments.scratch && arguments.import.is_none() {
                return Err(Failure::refused(catalogue::HOLDS_DATA).at(address));
            }
            taken.scratch |= own.is_some();
            let takes_create = named.is_none() && (own.is_none() || is_device);
            taken.create |= takes_create;
            // A drive is whole blocks.
            let whole = own.map(|bytes| bytes / 4096 * 4096);
            named.or(create.filter(|_| takes_create)).or(whole).ok_or_else(|| {
                let why = match path.symlink_metadata() {
                    Ok(_) => catalogue::HOW_LARGE,
                    Err(_) => catalogue::NO_FILE_NAME_SIZE,
                };
                Failure::usage(why).at(address)
            })
        }
        _ => Err(Failure::usage(catalogue::DRIVES_KEEP_DATA).at(leaf)),
    }
}

/// The size of a file or block device, asked without opening it; `None` where there is none.
fn own_bytes(path: &Path) -> Result<Option<u64>, Failure> {
    let Ok(data) = std::fs::metadata(path) else { return Ok(None) };
    if data.is_file() {
        return Ok(Some(data.len()));
    }
    host::system::block_number(path)
        .and_then(host::system::block_bytes)
        .map(Some)
        .ok_or_else(|| Failure::usage(catalogue::NO_FILE_OR_DEVICE).at(path.display()))
}

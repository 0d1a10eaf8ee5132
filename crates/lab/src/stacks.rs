//! What the lab does with stacks beyond building them: what their leaves stand for, and trying one
//! out without touching what it stands on.
//!
//! `{members}` in an address stands for a folder inside the run's own, and `{members:DIR}` for the
//! folder DIR: files there are made at the start of the run and removed at its end. Every other
//! file or device exists already. `folder:DIR` is no stack but a folder in which suites work.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fs::{self, File};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use array::md::{Superblock, TimeStamp};
use block::{Error as BlockError, Info, Node, SECTOR_BYTES};
use mdtools::{NewArraySettings, after_container_header};
use stack::size::UnitError;
use stack::{ModelledStack, OpenFiles};

use crate::catalogue;
use host::Error;
use host::guard::{Consent, Guard};
use host::limits::{OF_STACKS, Room};

pub(crate) use stack::size::text as size_text;

/// Reads a size in bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, UnitError> {
    stack::size::parse(text).map(|size| size.bytes)
}

/// The scheme of a folder that is there already, in which suites work.
pub(crate) const FOLDER: &str = "folder";

/// A folder in which suites work.
pub(crate) fn folder(path: &Path) -> Node {
    Node::leaf(FOLDER, block::path_text(path))
}

/// The folder that a target is, if it is one.
pub(crate) fn folder_of(node: &Node) -> Option<PathBuf> {
    match node {
        Node::Leaf { scheme, address, .. } if scheme == FOLDER => Some(block::text_path(address)),
        _ => None,
    }
}

/// Reads a stack text, or a folder.
pub(crate) fn parse(text: &str) -> Result<Node, Error> {
    if let Some((FOLDER, path)) = text.split_once(':') {
        // Its path is written as a file's is.
        let file = parse(&format!("file:{path}"))?.file_path();
        let no_path = || Error::usage(catalogue::FOLDER_IS_PATH).at(text);
        return file.map(|path| folder(&path)).ok_or_else(no_path);
    }
    stack::parse(text).map_err(|error| Error::usage(error.line()))
}

/// Whether every leaf is a modelled disk, or memory beside such with a modelled time, so that it
/// runs on the virtual clock.
pub(crate) fn is_modelled(node: &Node) -> bool {
    has_model(node) && has_modelled_time(node)
}

/// Whether all that takes requests has a modelled time. A trace takes none: it is written past the
/// clock.
fn has_modelled_time(node: &Node) -> bool {
    match node {
        Node::Layer { name, children, .. } if name == RECORD && children.len() == 2 => {
            has_modelled_time(&children[1])
        }
        Node::Layer { children, .. } => children.iter().all(has_modelled_time),
        Node::Leaf { .. } => has_model(node) || is_modelled_memory(node),
        Node::Missing => true,
    }
}

/// Whether a leaf is memory of which is said what a request takes.
pub(crate) fn is_modelled_memory(leaf: &Node) -> bool {
    matches!(leaf, Node::Leaf { scheme, options, .. }
        if scheme == "ram" && options.iter().any(|(name, _)| name == "latency"))
}

/// Whether any leaf is a modelled disk.
pub(crate) fn has_model(node: &Node) -> bool {
    node.leaves().iter().any(|leaf| matches!(leaf, Node::Leaf { scheme, .. } if scheme == "model"))
}

/// Whether a cache is a layer of it.
pub(crate) fn has_cache(node: &Node) -> bool {
    match node {
        Node::Layer { name, children, .. } => name == "cache" || children.iter().any(has_cache),
        Node::Leaf { .. } | Node::Missing => false,
    }
}

/// What the stack's device would be, looked at by itself and now ([`DryRuns::info`]).
///
/// # Errors
/// As there.
pub(crate) fn dry(node: &Node, new_array: Option<&NewArraySettings>) -> Result<Info, Error> {
    DryRuns::default().info(node, new_array)
}

/// Stacks that are tried out in one check of a plan: each is built once, however many
/// configurations stand on it, and the memory that there is is looked up once. Another check, and a
/// run that begins, looks anew with one of its own.
#[derive(Debug, Default)]
pub(crate) struct DryRuns {
    known: RefCell<HashMap<(Node, Option<NewArraySettings>), Info>>,
    /// How much of each member's start md needs itself, in bytes.
    metadata_bytes: RefCell<HashMap<(Node, NewArraySettings), u64>>,
    /// With a file system on top or without: what its drives' models are held against.
    modelled: RefCell<HashMap<(Node, bool), Option<ModelledStack>>>,
    room: OnceCell<Option<Room>>,
}

#[cfg(test)]
thread_local! {
    /// How many stacks this thread has tried out.
    pub(crate) static TRIED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl DryRuns {
    /// What the stack's device would be, found by building it with a `null:` of the same size in
    /// the place of every file and device, so that nothing is opened. An array that is going to be
    /// made stands on what its superblocks leave of the members.
    ///
    /// # Errors
    /// What is wrong with the layout, or a file or device that is not there.
    pub(crate) fn info(
        &self,
        node: &Node,
        new_array: Option<&NewArraySettings>,
    ) -> Result<Info, Error> {
        let key = (node.clone(), new_array.cloned());
        once(&self.known, key, || self.look(node, new_array))
    }

    /// What a stack is, as predictions for modelled drives are held against published ones.
    pub(crate) fn modelled(&self, node: &Node, has_file_system: bool) -> Option<ModelledStack> {
        let key = (node.clone(), has_file_system);
        let look = || Ok::<_, Infallible>(ModelledStack::of(node, has_file_system));
        let Ok(found) = once(&self.modelled, key, look);
        found
    }

    fn look(&self, node: &Node, new_array: Option<&NewArraySettings>) -> Result<Info, Error> {
        // Only files that are missing or too small to be read fail here.
        leaves(node)?;
        let node = without_kept(node);
        let is_known_inside = serve::array_with_metadata(&node).is_some() || has_header(&node);
        if new_array.is_none() && is_known_inside {
            // What its superblocks or headers say is known to nobody else.
            return opened_info(&node);
        }
        let whole = match new_array {
            Some(settings) => self.without_metadata(&node, settings)?,
            None => node,
        };
        let stand_in = map_leaves(whole, &|node| {
            let size_bytes = match &leaves(&node)?[..] {
                [Leaf::Made(file)] => file.size_bytes,
                [Leaf::Existing { size_bytes, .. }] => *size_bytes - *size_bytes % SECTOR_BYTES,
                [Leaf::Folder(path)] => free_bytes(path)?,
                _ if is_image(&node) => image_bytes(&node)?,
                _ => return Ok(node),
            };
            Ok(Node::leaf("null", size_text(size_bytes)))
        })?;
        let files = DryFiles { room: &self.room };
        let context = stack::BuildContext { emulate: true, ..stack::BuildContext::new(&files) };
        #[cfg(test)]
        TRIED.set(TRIED.get() + 1);
        let stack = stack::build(&stand_in, &context)?;
        Ok(stack.device.info().clone())
    }

    /// How much of each member's start md needs itself, in bytes.
    ///
    /// # Errors
    /// What makes no array.
    pub(crate) fn metadata_bytes(
        &self,
        node: &Node,
        settings: &NewArraySettings,
    ) -> Result<u64, Error> {
        let Some(array) = serve::array_with_metadata(node) else { return Ok(0) };
        once(&self.metadata_bytes, (array.clone(), settings.clone()), || {
            let first = self.superblocks(array, settings)?.into_iter().next();
            Ok(first.map_or(0, |superblock| superblock.data_offset_sectors * SECTOR_BYTES))
        })
    }

    /// The superblocks that the array in a stack is going to have.
    fn superblocks(
        &self,
        array: &Node,
        settings: &NewArraySettings,
    ) -> Result<Vec<Superblock>, Error> {
        let Node::Layer { children, .. } = array else { return Ok(Vec::new()) };
        let sizes = children
            .iter()
            .map(|child| self.info(child, None).map(|info| info.size_bytes))
            .collect::<Result<Vec<u64>, Error>>()?;
        Ok(settings.array(array, &sizes, 0, TimeStamp::default())?.superblocks()?)
    }

    /// The same stack with its array over what superblocks leave of the members.
    fn without_metadata(&self, node: &Node, settings: &NewArraySettings) -> Result<Node, Error> {
        let Node::Layer { name, options, children } = node else { return Ok(node.clone()) };
        if serve::array_with_metadata(node) != Some(node) {
            let children = children
                .iter()
                .map(|child| self.without_metadata(child, settings))
                .collect::<Result<_, _>>()?;
            return Ok(Node::Layer { name: name.clone(), options: options.clone(), children });
        }
        let data = |superblock: Superblock| {
            // Levels without redundancy use all that each member has.
            let sectors = match superblock.size_sectors {
                0 => superblock.data_size_sectors,
                same => same,
            };
            Node::leaf("null", size_text(sectors * SECTOR_BYTES))
        };
        let children = self.superblocks(node, settings)?.into_iter().map(data).collect();
        let options = options.iter().filter(|(name, _)| name != "metadata").cloned().collect();
        Ok(Node::Layer { name: name.clone(), options, children })
    }
}

/// What is known of a key, or else found now and known from then on. What fails is not kept.
fn once<K: Eq + Hash, V: Clone, E>(
    known: &RefCell<HashMap<K, V>>,
    key: K,
    look: impl FnOnce() -> Result<V, E>,
) -> Result<V, E> {
    if let Some(value) = known.borrow().get(&key) {
        return Ok(value.clone());
    }
    // It may look at others of the same kind itself.
    let value = look()?;
    known.borrow_mut().insert(key, value.clone());
    Ok(value)
}

/// Whether a layer is as its own header says.
fn has_header(node: &Node) -> bool {
    let Node::Layer { name, children, .. } = node else { return false };
    ["image", LUKS].contains(&name.as_str()) || children.iter().any(has_header)
}

/// Whether there is a container in a stack whose header lies in a file of its own. Nothing is ever
/// written to that, so that no power cut can change it.
pub(crate) fn has_header_elsewhere(node: &Node) -> bool {
    let Node::Layer { name, options, children } = node else { return false };
    (name == LUKS && options.iter().any(|(name, _)| name == "header"))
        || children.iter().any(has_header_elsewhere)
}

/// Whether there is a container in a stack.
#[must_use]
pub fn has_container(node: &Node) -> bool {
    matches!(node, Node::Layer { name, children, .. }
        if name == LUKS || children.iter().any(has_container))
}

/// What stands in containers alone: the stack without those around it.
#[must_use]
pub fn inside_containers(node: &Node) -> &Node {
    match node {
        Node::Layer { name, children, .. } if name == LUKS => {
            children.first().map_or(node, inside_containers)
        }
        _ => node,
    }
}

/// The stack as it is known before its containers are made: what they leave of what is below them.
pub(crate) fn without_containers(node: &Node) -> Node {
    let Node::Layer { name, options, children } = node else { return node.clone() };
    let mut children: Vec<Node> = children.iter().map(without_containers).collect();
    match children.pop() {
        Some(below) if name == LUKS => after_container_header(below),
        last => {
            children.extend(last);
            Node::Layer { name: name.clone(), options: options.clone(), children }
        }
    }
}

/// Opens nothing, and promises no memory that is not there.
struct DryFiles<'a> {
    /// What there is, once it was asked for.
    room: &'a OnceCell<Option<Room>>,
}

impl OpenFiles for DryFiles<'_> {
    fn open(&self, path: &Path, read_only: bool, create: Option<u64>) -> Result<File, BlockError> {
        stack::NoFiles.open(path, read_only, create)
    }

    fn promise_memory(&self, bytes: u64) -> Result<(), BlockError> {
        // Most stacks stand on files and devices.
        if bytes == 0 {
            return Ok(());
        }
        let room = self.room.get_or_init(Room::now).as_ref();
        room.map_or(Ok(()), |room| room.refuse_beyond(OF_STACKS, bytes))
    }
}

/// What is free in a folder, in bytes.
fn free_bytes(folder: &Path) -> Result<u64, Error> {
    if !folder.is_dir() {
        return Err(Error::usage(catalogue::NO_FOLDER_OF_NAME).at(folder.display()));
    }
    let system = rustix::fs::statvfs(folder)
        .map_err(|error| Error::from_io(folder.display(), &error.into()))?;
    let bytes = system.f_bavail.saturating_mul(system.f_frsize);
    // A device has a sector at least.
    Ok((bytes - bytes % SECTOR_BYTES).max(SECTOR_BYTES))
}

fn is_image(leaf: &Node) -> bool {
    matches!(leaf, Node::Leaf { scheme, .. } if scheme == "rbd")
}

/// How large an image of a Ceph cluster is.
fn image_bytes(leaf: &Node) -> Result<u64, Error> {
    opened_info(leaf).map(|info| info.size_bytes)
}

/// What a device is that has to be opened for that, for reading. Each is opened once: that may take
/// a server, or be in the way of the run.
fn opened_info(node: &Node) -> Result<Info, Error> {
    static KNOWN: Mutex<BTreeMap<String, Info>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = node.to_string();
    if let Some(info) = known.get(&text) {
        return Ok(info.clone());
    }
    let guard = Guard::new(Consent::default());
    let context = stack::BuildContext { read_only: true, ..stack::BuildContext::new(&guard) };
    let stack = stack::build(node, &context)?;
    let info = stack.device.info().clone();
    known.insert(text, info.clone());
    Ok(info)
}

/// How an address begins of a file that the run makes.
pub(crate) const PLACEHOLDER: &str = "{members";

/// What a leaf of a stack stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// A file that the run makes.
    Made(MadeFile),
    /// A file or device that is there already, and whether it is only read.
    Existing { path: PathBuf, size_bytes: u64, read_only: bool },
    /// A folder that is there already.
    Folder(PathBuf),
    /// A file that a layer keeps for itself, and makes where it is not there.
    Kept(PathBuf),
    /// A drive of another machine, which is written to.
    Remote(Node),
    /// Memory, a modelled disk, what is only read of other machines.
    Other,
}

/// A file that the run makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MadeFile {
    /// The address as it stands in the stack, placeholder and all.
    pub(crate) address: String,
    /// The folder it is made in; `None` for the run's own.
    pub(crate) folder: Option<PathBuf>,
    /// Its name there.
    pub(crate) name: String,
    pub(crate) size_bytes: u64,
}

impl MadeFile {
    /// Reads an address with a placeholder.
    fn parse(address: &str, size_bytes: u64) -> Option<MadeFile> {
        let (folder, name) = address.strip_prefix(PLACEHOLDER)?.rsplit_once("}/")?;
        let folder = folder.strip_prefix(':').map(PathBuf::from);
        Some(MadeFile { address: address.to_owned(), folder, name: name.to_owned(), size_bytes })
    }

    /// Where it lies when the run's own folder of members is `own`.
    pub(crate) fn path(&self, own: &Path) -> PathBuf {
        self.folder.as_deref().unwrap_or(own).join(&self.name)
    }
}

/// The address of a file of this name in the run's own folder.
pub(crate) fn own_file(name: &str) -> String {
    format!("{PLACEHOLDER}}}/{name}")
}

/// Whether the first child of a layer is what the layer keeps for itself: an overlay's delta, a
/// trace. It is made where it is not there, and stays.
pub(crate) fn keeps_its_first(layer: &str) -> bool {
    [OVERLAY, RECORD].contains(&layer)
}

/// The layer of a container that is encrypted.
pub(crate) const LUKS: &str = "luks";

/// The layer that writes down what it is asked for.
const RECORD: &str = "record";

/// The layer that only reads what it lies over.
const OVERLAY: &str = "overlay";

/// The same stack without what layers keep for themselves.
pub(crate) fn without_kept(node: &Node) -> Node {
    match node {
        Node::Layer { name, children, .. } if keeps_its_first(name) && children.len() == 2 => {
            without_kept(&children[1])
        }
        Node::Layer { name, options, children } => Node::Layer {
            name: name.clone(),
            options: options.clone(),
            children: children.iter().map(without_kept).collect(),
        },
        other => other.clone(),
    }
}

/// What all leaves of a stack stand for, in order.
///
/// # Errors
/// When a file or device that should be there is not.
pub(crate) fn leaves(node: &Node) -> Result<Vec<Leaf>, Error> {
    let Node::Layer { name, options, children } = node else {
        return Ok(if *node == Node::Missing { Vec::new() } else { vec![leaf(node)?] });
    };
    let is_written = options.iter().any(|(name, value)| name == "write" && value == "yes");
    let mut all = Vec::new();
    for (index, child) in children.iter().enumerate() {
        match child.file_path() {
            Some(path) if index == 0 && keeps_its_first(name) => all.push(Leaf::Kept(path)),
            // An image that is written to is the first of two; what it lies over is only read.
            _ if index == 0 && is_written => all.extend(leaves(child)?),
            _ => all.extend(leaves(child)?.into_iter().map(|leaf| leaf.under(name))),
        }
    }
    Ok(all)
}

impl Leaf {
    /// The same below a layer.
    fn under(self, layer: &str) -> Leaf {
        match self {
            Leaf::Existing { path, size_bytes, .. } if [OVERLAY, "image"].contains(&layer) => {
                Leaf::Existing { path, size_bytes, read_only: true }
            }
            Leaf::Remote(_) if [OVERLAY, "image"].contains(&layer) => Leaf::Other,
            other => other,
        }
    }
}

fn leaf(node: &Node) -> Result<Leaf, Error> {
    let Node::Leaf { scheme, address, options } = node else { unreachable!("a leaf") };
    if let Some(folder) = folder_of(node) {
        return Ok(Leaf::Folder(folder));
    }
    let is_read_only = options.iter().any(|(name, value)| name == READ_ONLY && value == "yes");
    if stack::is_remote(node) && !is_read_only {
        return Ok(Leaf::Remote(node.clone()));
    }
    if scheme != "file" {
        return Ok(Leaf::Other);
    }
    let size = options.iter().find(|(name, _)| name == "size");
    let size_bytes = size
        .map(|(_, text)| parse_size(text).map_err(|error| Error::usage(error).at(node.to_string())))
        .transpose()?;
    if let Some(made) = MadeFile::parse(address, size_bytes.unwrap_or(0)) {
        return Ok(Leaf::Made(made));
    }
    let path = PathBuf::from(address);
    let size_bytes = match size_bytes {
        Some(size_bytes) if path.exists() => size_bytes,
        _ => existing_bytes(&path)?,
    };
    Ok(Leaf::Existing { path, size_bytes, read_only: is_read_only })
}

/// The option of a file that is opened for reading alone.
pub(crate) const READ_ONLY: &str = "read_only";

/// The size of a file or block device, without opening it for writing.
fn existing_bytes(path: &Path) -> Result<u64, Error> {
    use std::io::Seek;
    let failed = |error: std::io::Error| Error::from_io(path.display(), &error).as_usage();
    let data = fs::metadata(path).map_err(failed)?;
    if data.is_file() {
        return Ok(data.len());
    }
    if host::system::block_number(path).is_none() {
        return Err(Error::usage(catalogue::NO_DEVICE_OR_FILE).at(path.display()));
    }
    fs::File::open(path)
        .and_then(|mut device| device.seek(std::io::SeekFrom::End(0)))
        .map_err(failed)
}

/// The same tree with each leaf replaced.
pub(crate) fn map_leaves(
    node: Node,
    map: &impl Fn(Node) -> Result<Node, Error>,
) -> Result<Node, Error> {
    match node {
        Node::Layer { name, options, children } => {
            let children = children
                .into_iter()
                .map(|child| map_leaves(child, map))
                .collect::<Result<_, _>>()?;
            Ok(Node::Layer { name, options, children })
        }
        leaf => map(leaf),
    }
}

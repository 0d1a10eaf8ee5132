//! `file:PATH`: a regular file or a block device, through the io_uring of the reactor a channel is
//! opened on.
//!
//! ```text
//! file or block device  |........|=====================|......|
//!                            offset_bytes    size_bytes         the window that is the device
//! ```
//!
//! Direct I/O is used where the target takes it: then a measurement sees the drive and no page
//! cache, and memory is not filled twice. Where it is refused the device is buffered, says
//! `direct=no` in its description, and can tell why.
//!
//! A file given for writing is opened by the caller: one module of raidloom decides what may be
//! written to, and it is not this one.

mod channel;
mod target;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use block::{
    Channel, Device, DiscardSupport, Error, ErrorKind, Extents, Info, Node, Reactor, Support,
    TracedChannel, size_text,
};
use rustix::fs::OFlags;
use words::{Text, statement};

pub use target::Identity;

use crate::messages;
use crate::ram::check_block;
use channel::FileChannel;
use target::{Alignment, Target};

/// The longest read or write one request may carry.
const MAX_REQUEST_BYTES: u32 = 16 << 20;

/// Whether the page cache is passed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direct {
    /// Where the target takes it.
    #[default]
    Auto,
    /// Or the device is refused.
    Yes,
    /// Through the page cache.
    No,
}

/// How a file becomes a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Refuse writes.
    pub read_only: bool,
    /// Whether the page cache is passed by.
    pub direct: Direct,
    /// Where the device starts in the file, in bytes.
    pub offset_bytes: u64,
    /// The device's size in bytes; without it, all whole blocks up to the file's end.
    pub size_bytes: Option<u64>,
    /// The device's block in bytes; without it, the smallest that the target takes.
    pub block_bytes: Option<u32>,
    /// The file ends before the device does, and becomes longer as it is written.
    pub grows: bool,
}

/// A regular file or a block device.
pub struct FileDevice {
    shared: Arc<Shared>,
    node: Node,
    identity: Identity,
    direct_refused: Option<Text>,
}

/// What all channels share.
struct Shared {
    descriptor: Arc<OwnedFd>,
    path: PathBuf,
    info: Info,
    offset_bytes: u64,
    /// What direct I/O asks for; `None` when the page cache is in between.
    alignment: Option<Alignment>,
    is_block_device: bool,
    /// Where the device ends in a file that can be cut short under it, and that a write would make
    /// longer again.
    whole_bytes: Option<u64>,
    /// How long the file was when it was first seen shorter than that.
    cut_short: OnceLock<u64>,
    /// Writes that are under way or have ended, and after which the file was not looked at yet.
    unseen_writes: AtomicU64,
    /// The first failure to make data durable. The kernel tells of lost pages once, so later
    /// flushes would succeed and lie.
    flush_failed: OnceLock<Error>,
}

impl FileDevice {
    /// A device over an open file; `path` is what messages and descriptions call it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is neither file nor block device, for a window that does not
    /// fit and for a block the target does not take; [`ErrorKind::Unsupported`] when direct I/O is
    /// demanded and refused; [`ErrorKind::Permission`] when the file is not open for what `options`
    /// ask; or what the system says.
    pub fn new(file: File, path: &Path, options: &FileOptions) -> Result<FileDevice, Error> {
        let name = path.display();
        check_access(&file, path, options)?;
        let target = Target::of(&file, path)?;
        if let Some(block_bytes) = options.block_bytes {
            check_block(block_bytes).map_err(|error| error.at(&name))?;
            if !block_bytes.is_multiple_of(target.logical_bytes) {
                let text = statement!(
                    messages::NO_MULTIPLE_OF_OWN,
                    name = name,
                    block_bytes = block_bytes,
                    own = target.logical_bytes
                );
                return Err(Error::new(ErrorKind::Invalid, text));
            }
        }
        target::answer_in_place(&file);
        let (alignment, direct_refused) = choose_direct(&file, path, &target, options)?;
        let needed = alignment
            .map_or(target.logical_bytes, |alignment| alignment.offset.max(target.logical_bytes));
        let block_bytes = options.block_bytes.unwrap_or(needed.max(512));
        let size_bytes = window(path, target.size_bytes, block_bytes, options)?;
        let punches = !options.read_only
            && !target.is_block_device()
            && target::punches_holes(&file, target.size_bytes);
        let zeroes = !options.read_only && (punches || target.is_block_device());
        let reads_zero = !options.read_only && (punches || target.clears);
        let info = Info {
            size_bytes,
            block_bytes,
            optimal_bytes: target
                .optimal_bytes
                .clamp(block_bytes, 1 << 30)
                .next_multiple_of(block_bytes),
            stripe: target.stripe,
            max_request_bytes: MAX_REQUEST_BYTES.max(block_bytes),
            read_only: options.read_only,
            rotational: target.rotational,
            // The page cache is one as well.
            volatile_cache: !options.read_only && (target.drive_cache || alignment.is_none()),
            stores_data: true,
            modelled: false,
            fua: Support::Native,
            zeroes: if zeroes { Support::Native } else { Support::None },
            discard: if reads_zero { DiscardSupport::ReadsZero } else { DiscardSupport::None },
        };
        let node = describe(path, options, direct_refused.is_some());
        let can_be_cut = !options.read_only && !options.grows && !target.is_block_device();
        let shared = Shared {
            descriptor: Arc::new(OwnedFd::from(file)),
            path: path.to_owned(),
            info,
            offset_bytes: options.offset_bytes,
            alignment,
            is_block_device: target.is_block_device(),
            whole_bytes: can_be_cut.then_some(options.offset_bytes + size_bytes),
            cut_short: OnceLock::new(),
            unseen_writes: AtomicU64::new(0),
            flush_failed: OnceLock::new(),
        };
        Ok(FileDevice { shared: Arc::new(shared), node, identity: target.identity, direct_refused })
    }

    /// A device over a path that is opened here, for reading only, whatever `options` say.
    ///
    /// # Errors
    /// As [`FileDevice::new`], and what the system says about opening `path`.
    pub fn open_read_only(path: &Path, options: &FileOptions) -> Result<FileDevice, Error> {
        let file = File::open(path).map_err(|error| {
            Error::from_io(statement!(messages::OPENING_FOR_READING, path = path.display()), error)
        })?;
        FileDevice::new(file, path, &FileOptions { read_only: true, ..options.clone() })
    }

    /// Whether the page cache is passed by.
    #[must_use]
    pub fn direct(&self) -> bool {
        self.shared.alignment.is_some()
    }

    /// Why direct I/O is not used although it was not forbidden.
    #[must_use]
    pub fn direct_refused(&self) -> Option<&Text> {
        self.direct_refused.as_ref()
    }

    /// What stands behind the path, to find out whether two devices are the same.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }
}

impl Device for FileDevice {
    fn info(&self) -> &Info {
        &self.shared.info
    }

    fn describe(&self) -> Node {
        self.node.clone()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let file = reactor.register(Arc::clone(&self.shared.descriptor)).map_err(|error| {
            Error::from_io(
                statement!(messages::OPENING_ON_REACTOR, path = self.shared.path.display()),
                error,
            )
        })?;
        let channel = FileChannel::new(Arc::clone(&self.shared), file, reactor.source(), depth);
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }

    /// What the file system knows: blocks that were given a place and never written are holes to it
    /// as well.
    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let Shared { descriptor, info, offset_bytes, is_block_device, .. } = &*self.shared;
        let (block, end) = (u64::from(info.block_bytes), offset + length);
        let mut offset = offset;
        while offset < end && !found.is_full() {
            let known = if *is_block_device {
                None
            } else {
                target::run_at(descriptor, offset_bytes + offset)
            };
            let (is_hole, next) = match known {
                // Where a hole ends within a block, that block is data; and one that begins in a
                // block begins with the next.
                Some((true, next)) => {
                    match next.map_or(end, |next| (next - offset_bytes) / block * block).min(end) {
                        next if next > offset => (true, next),
                        _ => (false, offset + block),
                    }
                }
                Some((false, next)) => (
                    false,
                    next.map_or(end, |next| (next - offset_bytes).next_multiple_of(block)).min(end),
                ),
                None => (false, end),
            };
            found.push(next - offset, is_hole);
            offset = next;
        }
    }
}

fn check_access(file: &File, path: &Path, options: &FileOptions) -> Result<(), Error> {
    let flags = rustix::fs::fcntl_getfl(file)
        .map_err(|error| Error::from_io(format!("{}", path.display()), error.into()))?;
    let access = flags & OFlags::ACCMODE;
    let enough = access == OFlags::RDWR || (options.read_only && access == OFlags::RDONLY);
    if enough {
        return Ok(());
    }
    let wanted =
        if options.read_only { messages::FOR_READING } else { messages::FOR_READING_AND_WRITING };
    Err(Error::new(
        ErrorKind::Permission,
        statement!(messages::NOT_OPEN_FOR, path = path.display(), wanted = wanted),
    ))
}

/// Switches to direct I/O as far as `options` and the target let it; otherwise the reason why not,
/// unless it was not wanted.
fn choose_direct(
    file: &File,
    path: &Path,
    target: &Target,
    options: &FileOptions,
) -> Result<(Option<Alignment>, Option<Text>), Error> {
    if options.direct == Direct::No {
        target::leave_direct(file);
        return Ok((None, None));
    }
    let chosen = target.try_direct(file).and_then(|alignment| {
        let mismatch = if !options.offset_bytes.is_multiple_of(u64::from(alignment.offset)) {
            format!("offset={}", options.offset_bytes)
        } else if let Some(block_bytes) =
            options.block_bytes.filter(|block| !block.is_multiple_of(alignment.offset))
        {
            format!("block={block_bytes}")
        } else {
            return Ok(alignment);
        };
        target::leave_direct(file);
        Err(statement!(
            messages::NO_MULTIPLE_FOR_DIRECT,
            mismatch = mismatch,
            needed = alignment.offset
        ))
    });
    match chosen {
        Ok(alignment) => Ok((Some(alignment), None)),
        Err(reason) if options.direct == Direct::Auto => Ok((None, Some(reason))),
        Err(reason) => {
            let text =
                statement!(messages::DIRECT_IMPOSSIBLE, path = path.display(), reason = reason);
            Err(Error::new(ErrorKind::Unsupported, text))
        }
    }
}

/// The device's size: the whole blocks of the window, which has to lie within the file.
fn window(
    path: &Path,
    file_bytes: u64,
    block_bytes: u32,
    options: &FileOptions,
) -> Result<u64, Error> {
    let name = path.display();
    let block = u64::from(block_bytes);
    let invalid = |text: Text| Err(Error::new(ErrorKind::Invalid, text.at(&name)));
    let available = file_bytes.saturating_sub(options.offset_bytes);
    let Some(size_bytes) = options.size_bytes else {
        let whole = available - available % block;
        if whole == 0 {
            return invalid(statement!(
                messages::NO_BLOCK_IN_WINDOW,
                block = block,
                available = available,
                offset = options.offset_bytes
            ));
        }
        return Ok(whole);
    };
    if size_bytes == 0 || !size_bytes.is_multiple_of(block) {
        return invalid(statement!(
            messages::SIZE_NO_BLOCKS,
            size_bytes = size_bytes,
            block = block
        ));
    }
    if size_bytes > available {
        return invalid(statement!(
            messages::SIZE_PAST_END,
            size_bytes = size_bytes,
            available = available,
            offset = options.offset_bytes
        ));
    }
    Ok(size_bytes)
}

fn describe(path: &Path, options: &FileOptions, direct_refused: bool) -> Node {
    let mut node = Node::file(path);
    if options.offset_bytes != 0 {
        node = node.with("offset", size_text(options.offset_bytes));
    }
    if let Some(size_bytes) = options.size_bytes {
        node = node.with("size", size_text(size_bytes));
    }
    if let Some(block_bytes) = options.block_bytes {
        node = node.with("block", block_bytes);
    }
    match options.direct {
        Direct::Yes => node = node.with("direct", "yes"),
        Direct::No => node = node.with("direct", "no"),
        Direct::Auto if direct_refused => node = node.with("direct", "no"),
        Direct::Auto => (),
    }
    if options.read_only { node.with("read_only", "yes") } else { node }
}

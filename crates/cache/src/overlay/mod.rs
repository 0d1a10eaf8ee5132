//! `overlay(DELTA, DEVICE)`: copy on write. The device below is never written; what changes goes to
//! the delta.
//!
//! ```text
//!   read                          write, zeroes, discard
//!    |  block by block             |
//!    |- in the delta? -> delta     +-> delta, then its bit in the index
//!    `- no            -> below
//!                                  flush: delta, index, delta
//! ```
//!
//! The format is drawn in `docs/formats/overlay.md`. A block of the overlay is the larger of the
//! two logical blocks, so a write never has to copy up what it does not cover. Deltas are written
//! back or thrown away while not in use ([`commit`], [`discard`]).

mod channel;
mod delta;
mod format;
mod index;
mod turn;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use block::{
    Channel, Device, DiscardSupport, EmulatingDevice, Error, ErrorKind, Extents, Info, Node,
    Reactor, Support, TracedChannel, size_text,
};

use channel::OverlayChannel;
pub use delta::{Changes, commit, discard, examine, seal_delta};
pub use format::DeltaState;
use format::Shape;
use index::Index;
use turn::Turn;
use words::{Text, statement};

use crate::catalogue;
use crate::unchanged::Facts;

/// How an overlay keeps what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlayOptions {
    /// Whether the delta is kept: with a superblock and an index in it, so that the overlay can be
    /// opened again. Without, all that was written is forgotten when the overlay is closed.
    pub keep: bool,
}

impl Default for OverlayOptions {
    fn default() -> OverlayOptions {
        OverlayOptions { keep: true }
    }
}

/// A device with a delta in front of it.
pub struct Overlay {
    shared: Arc<OverlayCore>,
}

struct OverlayCore {
    lower: Arc<dyn Device>,
    delta: Arc<dyn Device>,
    info: Info,
    shape: Shape,
    generation: u64,
    keep: bool,
    note: Option<Text>,
    index: RwLock<Index>,
    turn: Turn,
    /// Why no flush succeeds any more.
    flush_failure: Mutex<Option<Error>>,
}

impl Overlay {
    /// Puts `delta` in front of `lower`. A delta whose first MiB is zero is new and gets a
    /// superblock; a clearing that was interrupted is finished. `facts` are those of the files and
    /// disks that `lower` stands on.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the delta is too small or the sizes do not fit,
    /// [`ErrorKind::Refused`] when it holds something else, was made over another device or one
    /// that was written to since, or a commit was interrupted, [`ErrorKind::Corrupt`] when it is
    /// damaged, and whatever its device says.
    pub fn open(
        delta: Arc<dyn Device>,
        lower: Arc<dyn Device>,
        facts: &Facts,
        options: OverlayOptions,
    ) -> Result<Overlay, Error> {
        let shape = shape(delta.info(), lower.info())?;
        let needed = shape.delta_bytes();
        if delta.info().size_bytes < needed {
            let text = statement!(
                catalogue::DELTA_TOO_SMALL,
                size = size_text(delta.info().size_bytes),
                below = size_text(shape.size_bytes),
                needed = size_text(needed),
            );
            return Err(Error::new(ErrorKind::Invalid, text).at(catalogue::OVERLAY));
        }
        let delta = EmulatingDevice::over(delta);
        let delta::LoadedDelta { generation, index, note } =
            delta::load(&*delta, &*lower, shape, facts, options.keep)
                .map_err(|error| error.at(catalogue::OVERLAY))?;
        let info = info(delta.info(), lower.info(), shape, options.keep);
        let shared = OverlayCore {
            lower,
            delta,
            info,
            shape,
            generation,
            keep: options.keep,
            note,
            index: RwLock::new(index),
            turn: Turn::default(),
            flush_failure: Mutex::default(),
        };
        Ok(Overlay { shared: Arc::new(shared) })
    }

    /// How large a delta with logical blocks of `delta_block_bytes` has to be over `lower`, in
    /// bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the lower device's size is not whole blocks of the delta.
    pub fn delta_bytes(delta_block_bytes: u32, lower: &Info) -> Result<u64, Error> {
        shape(&Info { block_bytes: delta_block_bytes, ..Info::plain(0) }, lower)
            .map(Shape::delta_bytes)
    }

    /// What the user should know of how the delta was opened.
    #[must_use]
    pub fn note(&self) -> Option<&Text> {
        self.shared.note.as_ref()
    }

    /// How much of the device lies in the delta, in bytes.
    #[must_use]
    pub fn changed_bytes(&self) -> u64 {
        let index = self.shared.index.read().unwrap_or_else(PoisonError::into_inner);
        index.present_blocks() * u64::from(self.shared.shape.block_bytes)
    }
}

/// Where things lie for these two devices.
fn shape(delta: &Info, lower: &Info) -> Result<Shape, Error> {
    let block_bytes = delta.block_bytes.max(lower.block_bytes);
    if !lower.size_bytes.is_multiple_of(block_bytes.into()) {
        let (message, bytes) = (catalogue::NOT_WHOLE_BLOCKS, lower.size_bytes);
        let text = statement!(message, bytes = bytes, block = block_bytes);
        return Err(Error::new(ErrorKind::Invalid, text).at(catalogue::OVERLAY));
    }
    if delta.block_bytes < lower.block_bytes {
        // A crash may tear the larger block.
        let (delta, below) = (delta.block_bytes, lower.block_bytes);
        let text = statement!(catalogue::DELTA_BLOCKS_SMALLER, delta = delta, below = below);
        return Err(Error::new(ErrorKind::Invalid, text).at(catalogue::OVERLAY));
    }
    Ok(Shape { block_bytes, size_bytes: lower.size_bytes })
}

fn info(delta: &Info, lower: &Info, shape: Shape, keep: bool) -> Info {
    Info {
        size_bytes: shape.size_bytes,
        block_bytes: shape.block_bytes,
        optimal_bytes: lower.optimal_bytes.next_multiple_of(shape.block_bytes),
        // What is written goes to the delta.
        stripe: delta.stripe,
        max_request_bytes: delta.max_request_bytes.min(lower.max_request_bytes) / shape.block_bytes
            * shape.block_bytes,
        read_only: delta.read_only,
        rotational: delta.rotational || lower.rotational,
        // Until a flush the index knows nothing of what was written.
        volatile_cache: keep,
        stores_data: delta.stores_data && lower.stores_data,
        modelled: delta.modelled || lower.modelled,
        fua: if keep { delta.fua } else { Support::Native },
        zeroes: delta.zeroes,
        discard: match delta.discard {
            DiscardSupport::ReadsZero => DiscardSupport::ReadsZero,
            DiscardSupport::None | DiscardSupport::Indeterminate => DiscardSupport::None,
        },
    }
}

impl Device for Overlay {
    fn info(&self) -> &Info {
        &self.shared.info
    }

    fn describe(&self) -> Node {
        let node = Node::layer(
            "overlay",
            vec![self.shared.delta.describe(), self.shared.lower.describe()],
        );
        if self.shared.keep { node } else { node.with("keep", "no") }
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = OverlayChannel::open(&self.shared, depth, reactor)?;
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let OverlayCore { lower, delta, shape, index, .. } = &*self.shared;
        let (before, block) = (found.length(), u64::from(shape.block_bytes));
        while found.length() - before < length && !found.is_full() {
            let done = found.length() - before;
            let (offset, left) = (offset + done, length - done);
            // What is not in the delta now was not there when the question came; the other way
            // round would miss a write.
            let (is_changed, blocks) = index
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .run(offset / block, left / block);
            let (device, offset) =
                if is_changed { (delta, shape.data_offset() + offset) } else { (lower, offset) };
            let until = found.length() + blocks * block;
            device.extents(offset, blocks * block, found);
            if found.length() < until {
                return;
            }
        }
    }
}

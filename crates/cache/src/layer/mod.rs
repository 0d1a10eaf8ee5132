//! `cache(mode=…, STORE, DEVICE)`: what is asked for again comes from the store, which is faster
//! than the device.
//!
//! ```text
//!               read                 write                                        flush
//! write-through store, or device,    device and store                             device
//!               which fills the store
//! write-around  the same             device; what the store had of it is dropped  device
//! read-only     the same             refused                                      device
//! write-back    the same             store; the device gets it later              memory: all dirty blocks to the device
//!                                                                                 a device: its metadata say which are dirty
//! ```
//!
//! A store that is *kept* has a superblock and metadata (`docs/formats/cache.md`): it is warm when
//! it is opened again, and what was flushed to it outlives a crash. One that is not kept, memory
//! above all, is empty at first, and what is dirty in it is written to the device when the cache is
//! closed.
//!
//! Requests hold their blocks ([`ranges`]) while they work on them, look up what to do ([`plan`],
//! [`state`]), and do it. Nothing happens behind the owners' backs: dirty blocks are written out by
//! the writes that find too many of them, by flushes, when the cache is closed, and by its
//! [`upkeep`] if there is one.
//!
//! ```text
//!   upkeep, status        ask a channel of their own
//!     channel             one owner's requests: begins jobs, and takes what came from below to them
//!       write             each kind of job in its steps, and what it starts others for
//!         write_out
//!           commit  read
//!             jobs        the table of jobs: their blocks, what they send, what is to follow
//!               shared    what all channels see;  keep, close, salvage: the life of a store
//!                 job, plan, state, shape, ranges, format, options
//! ```
//!
//! Each file knows only files below it, and `tidy` holds that.

mod channel;
mod close;
mod commit;
mod format;
mod job;
mod jobs;
mod keep;
mod options;
mod plan;
mod ranges;
mod read;
mod salvage;
mod shape;
mod shared;
mod state;
mod status;
mod upkeep;
mod write;
mod write_out;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use block::{
    Channel, Device, DiscardSupport, Error, ErrorKind, Extents, Info, Node, Reactor, Support,
    TracedChannel, size_text,
};
use words::{Text, statement};

use crate::catalogue;
use crate::unchanged::Facts;
use channel::CacheChannel;
use keep::KeptStore;
pub use keep::{StoreContents, StoreSeal, examine_store};
pub use options::{CacheMode, CacheOptions, KeepingOptions};
pub use salvage::{SalvagedStore, salvage};
use shape::Shape;
use shared::CacheCore;
pub use state::CacheCounts;
use state::CacheState;
pub use status::{CacheCondition, CacheHandle, CacheStatus};
pub use upkeep::CacheUpkeep;

/// A device with a cache in front of it.
pub struct Cache {
    shared: Arc<CacheCore>,
}

impl Cache {
    /// The smallest block of a cache, in bytes.
    pub const BLOCK_BYTES_MIN: u32 = 4 << 10;
    /// The largest, in bytes.
    pub const BLOCK_BYTES_MAX: u32 = 256 << 10;

    /// Puts memory in front of `lower`: what lies in `store` is of no interest, neither now nor
    /// when the cache is closed. The first `size_bytes` of it are used; a [`CacheUpkeep`] can give
    /// the cache another size, up to that of the store.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the sizes or the options do not fit, [`ErrorKind::ReadOnly`]
    /// when the store cannot be written.
    pub fn in_memory(
        store: Arc<dyn Device>,
        size_bytes: u64,
        lower: Arc<dyn Device>,
        options: CacheOptions,
    ) -> Result<Cache, Error> {
        let make = || {
            check(store.info(), lower.info(), &options)?;
            let shape = Shape::new(options.block_bytes.into(), 0, store.info(), lower.info());
            let slots = size_bytes.min(store.info().size_bytes) / shape.block_bytes;
            let state =
                CacheState::new(options.policy, options.admission, slots, shape.blocks(), None)?;
            Ok(Cache::of(store, lower, options, shape, state, None))
        };
        make().map_err(|error: Error| error.at(catalogue::CACHE))
    }

    /// Puts a store that is kept in front of `lower`: it is warm when it was closed, and after a
    /// crash it has what was flushed to it. A store whose first MiB is zero is new. `facts` are
    /// those of the files and disks that `lower` stands on, from before anything was written to
    /// them: unless they prove that nothing has written since the cache was closed and sealed
    /// ([`Cache::seal`]), nothing clean is believed.
    ///
    /// # Errors
    /// As [`Cache::in_memory`]; [`ErrorKind::Refused`] when the store holds something else, belongs
    /// to another device, has dirty blocks of a device that was written to since, or has dirty
    /// blocks and the mode is not write-back; [`ErrorKind::Corrupt`] when it is damaged; and
    /// whatever the devices say.
    pub fn open(
        store: Arc<dyn Device>,
        lower: Arc<dyn Device>,
        facts: &Facts,
        options: CacheOptions,
    ) -> Result<Cache, Error> {
        let make = || {
            check(store.info(), lower.info(), &options)?;
            let (block, below) = (store.info().block_bytes, lower.info().block_bytes);
            if options.mode == CacheMode::WriteBack && block != below {
                // A crash may tear the larger block.
                let message = catalogue::BLOCKS_OF_WRITE_BACK;
                let text = statement!(message, store = block, below = below);
                return Err(Error::new(ErrorKind::Invalid, text));
            }
            let mut kept = keep::examine(&*store, &*lower, facts, &options)?;
            let layout = kept.superblock.layout;
            let shape = Shape::new(
                options.block_bytes.into(),
                layout.data_offset(),
                store.info(),
                lower.info(),
            );
            let per_page = layout.slots_per_page();
            let mut state = CacheState::new(
                options.policy,
                options.admission,
                layout.slots,
                shape.blocks(),
                Some(per_page),
            )?;
            kept.load(&*store, &*lower, options.mode, &mut state, &shape)?;
            Ok(Cache::of(store, lower, options, shape, state, Some(kept)))
        };
        make().map_err(|error: Error| error.at(catalogue::CACHE))
    }

    fn of(
        store: Arc<dyn Device>,
        lower: Arc<dyn Device>,
        options: CacheOptions,
        shape: Shape,
        state: CacheState,
        kept: Option<KeptStore>,
    ) -> Cache {
        let mut info = info(store.info(), lower.info(), options.mode);
        if kept.is_some() && options.mode == CacheMode::WriteBack {
            // A write is durable when the map says so, and that takes a flush.
            info.fua = Support::None;
        }
        let shared = CacheCore {
            store,
            lower,
            options,
            info,
            shape,
            kept,
            commits: Mutex::default(),
            state: Mutex::new(state),
            channels: AtomicU32::new(0),
            distrusted: AtomicBool::new(false),
            stopped: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            flush_failure: Mutex::default(),
            writing_out: AtomicBool::new(false),
            write_out_failed: AtomicBool::new(false),
            lower_written: AtomicBool::new(true),
            resizing: AtomicBool::new(false),
            write_out_rate: AtomicU64::new(0),
        };
        Cache { shared: Arc::new(shared) }
    }

    /// What takes down, once the cache is closed and all below it has ended, what the device below
    /// is like; `None` for a cache in memory.
    #[must_use]
    pub fn seal(&self) -> Option<StoreSeal> {
        self.shared.kept.as_ref().map(|kept| StoreSeal::new(&self.shared.store, kept))
    }

    /// What the user should know of how a kept store was opened: why it begins empty, for one.
    #[must_use]
    pub fn note(&self) -> Option<&Text> {
        self.shared.kept.as_ref()?.note.as_ref()
    }

    /// What looks after the cache while others use it.
    #[must_use]
    pub fn handle(&self) -> CacheHandle {
        CacheHandle::new(&self.shared)
    }
}

/// Refuses what cannot work.
fn check(store: &Info, lower: &Info, options: &CacheOptions) -> Result<(), Error> {
    let invalid = |text: Text| Err(Error::new(ErrorKind::Invalid, text));
    let block = options.block_bytes;
    if !block.is_power_of_two()
        || !(Cache::BLOCK_BYTES_MIN..=Cache::BLOCK_BYTES_MAX).contains(&block)
    {
        let size = size_text(block.into());
        return invalid(statement!(catalogue::BLOCK_OUT_OF_RANGE, size = size));
    }
    let longest = lower.max_request_bytes.min(store.max_request_bytes);
    if block < lower.block_bytes || longest < block {
        let [size, least, most] =
            [block, lower.block_bytes, longest].map(|bytes| size_text(bytes.into()));
        let message = catalogue::BLOCK_UNLIKE_DEVICES;
        return invalid(statement!(message, size = size, least = least, most = most));
    }
    if store.block_bytes > lower.block_bytes {
        let (store, below) = (store.block_bytes, lower.block_bytes);
        return invalid(statement!(catalogue::STORE_BLOCKS_LARGER, store = store, below = below));
    }
    if !(1..=90).contains(&options.dirty_percent) {
        let percent = options.dirty_percent;
        return invalid(statement!(catalogue::DIRTY_OUT_OF_RANGE, percent = percent));
    }
    let KeepingOptions { high_percent: high, low_percent: low, .. } = options.keeping;
    if low > high || high > options.dirty_percent {
        let (message, most) = (catalogue::LIMITS_UNORDERED, options.dirty_percent);
        return invalid(statement!(message, low = low, high = high, most = most));
    }
    if store.read_only {
        return Err(Error::new(ErrorKind::ReadOnly, catalogue::STORE_READ_ONLY));
    }
    if lower.read_only && options.mode == CacheMode::WriteBack {
        return Err(Error::new(ErrorKind::ReadOnly, catalogue::WRITE_BACK_READ_ONLY));
    }
    Ok(())
}

fn info(store: &Info, lower: &Info, mode: CacheMode) -> Info {
    Info {
        read_only: lower.read_only || mode == CacheMode::ReadOnly,
        volatile_cache: lower.volatile_cache || mode == CacheMode::WriteBack,
        stores_data: store.stores_data && lower.stores_data,
        modelled: store.modelled || lower.modelled,
        discard: match lower.discard {
            DiscardSupport::ReadsZero => DiscardSupport::ReadsZero,
            DiscardSupport::None | DiscardSupport::Indeterminate => DiscardSupport::None,
        },
        ..lower.clone()
    }
}

impl Device for Cache {
    fn info(&self) -> &Info {
        &self.shared.info
    }

    fn describe(&self) -> Node {
        self.shared.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = CacheChannel::open(&self.shared, depth, reactor)?;
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let CacheCore { shape, lower, .. } = &*self.shared;
        let (mut offset, end) = (offset, offset + length);
        // What is dirty is looked up before the device below is asked: a block that gets clean
        // meanwhile is data to both, and the other way round it would be to neither.
        let runs = self.shared.state().dirty_runs(shape.range(offset, length));
        for (is_dirty, blocks) in runs {
            let until = shape.end(blocks.end - 1).min(end);
            let before = found.length();
            if is_dirty {
                found.push(until - offset, false);
            } else {
                lower.extents(offset, until - offset, found);
            }
            offset += found.length() - before;
            if offset < until || found.is_full() {
                return;
            }
        }
    }
}

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
//! [`state`]), and do it ([`channel`]). Nothing happens behind the owners' backs: dirty blocks are
//! written out by the writes that find too many of them, by flushes, when the cache is closed, and
//! by its [`upkeep`] if there is one.

mod channel;
mod close;
mod commit;
mod format;
mod job;
mod keep;
mod plan;
mod ranges;
mod read;
mod salvage;
mod shape;
mod state;
mod status;
mod upkeep;
mod write;
mod write_out;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use block::{
    Channel, Device, DiscardSupport, Error, ErrorKind, Extents, Info, Node, Reactor, Support,
    Traced, duration_text, size_text,
};

use crate::policy::{AdmissionOptions, PolicyKind};
use crate::unchanged::Facts;
use channel::CacheChannel;
use keep::Kept;
pub use keep::{StoreContents, StoreSeal, examine_store};
pub use salvage::{Salvaged, salvage};
use shape::Shape;
pub use state::CacheCounts;
use state::State;
pub use status::{CacheHandle, CacheStatus};
pub use upkeep::CacheUpkeep;

/// What happens to writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheMode {
    /// A completed write is on the device, and in the store if there is room.
    #[default]
    WriteThrough,
    /// A completed write is on the device, and the store forgets what it had of it.
    WriteAround,
    /// A completed write is in the store; the device gets it later, at the latest when that is the
    /// only way to make it durable.
    WriteBack,
    /// Writes are refused.
    ReadOnly,
}

impl CacheMode {
    /// All of them, the default first.
    pub const ALL: [CacheMode; 4] = [
        CacheMode::WriteThrough,
        CacheMode::WriteAround,
        CacheMode::WriteBack,
        CacheMode::ReadOnly,
    ];

    /// Its name in stack text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CacheMode::WriteThrough => "write-through",
            CacheMode::WriteAround => "write-around",
            CacheMode::WriteBack => "write-back",
            CacheMode::ReadOnly => "read-only",
        }
    }

    /// The mode of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CacheMode> {
        CacheMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl fmt::Display for CacheMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a cache works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// What happens to writes.
    pub mode: CacheMode,
    /// What is cached as a whole, in bytes: a power of two from [`Cache::BLOCK_BYTES_MIN`] to
    /// [`Cache::BLOCK_BYTES_MAX`].
    pub block_bytes: u32,
    /// Which block goes for another.
    pub policy: PolicyKind,
    /// What comes in.
    pub admission: AdmissionOptions,
    /// Write-back: from how many dirty blocks on writes have to write some out, in percent of the
    /// store.
    pub dirty_percent: u8,
    /// Write-back: when a [`CacheUpkeep`] writes out.
    pub keeping: KeepingOptions,
}

/// When a [`CacheUpkeep`] writes dirty blocks out, before writes have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepingOptions {
    /// After so long without a read or a write, everything; `None`: never for that reason.
    pub idle: Option<Duration>,
    /// From more than so many dirty blocks on, in percent of the store …
    pub high_percent: u8,
    /// … down to so many.
    pub low_percent: u8,
    /// No faster than so many bytes per second.
    pub rate_bytes_per_second: Option<u64>,
}

impl KeepingOptions {
    /// What suits a cache whose writes write out from `dirty_percent` on: four fifths of it are
    /// `high`, and half of it `low`.
    #[must_use]
    pub const fn below(dirty_percent: u8) -> KeepingOptions {
        KeepingOptions {
            idle: Some(Duration::from_secs(1)),
            high_percent: dirty_percent - dirty_percent / 5,
            low_percent: dirty_percent / 2,
            rate_bytes_per_second: None,
        }
    }
}

impl Default for CacheOptions {
    fn default() -> CacheOptions {
        CacheOptions {
            mode: CacheMode::WriteThrough,
            block_bytes: 4096,
            policy: PolicyKind::default(),
            admission: AdmissionOptions::default(),
            dirty_percent: 50,
            keeping: KeepingOptions::below(50),
        }
    }
}

/// A device with a cache in front of it.
pub struct Cache {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Device>,
    lower: Arc<dyn Device>,
    options: CacheOptions,
    info: Info,
    shape: Shape,
    /// A store that outlives the cache.
    kept: Option<Kept>,
    /// Flushes of a kept store by number: the last that was begun, and the last that succeeded.
    commits: Mutex<Commits>,
    state: Mutex<State>,
    channels: AtomicU32,
    /// The store has failed while nothing was in it that the device below has not: it is left
    /// alone.
    distrusted: AtomicBool,
    /// Why nothing is answered any more, or no flush succeeds.
    stopped: Mutex<Option<Error>>,
    is_stopped: AtomicBool,
    flush_failure: Mutex<Option<Error>>,
    /// A write or the upkeep is busy writing out.
    writing_out: AtomicBool,
    /// A write-out failed: nothing more is kept back, and nothing is tried again before a flush
    /// asks for it.
    write_out_failed: AtomicBool,
    /// Something was written to the device below since it was last flushed.
    lower_written: AtomicBool,
    /// It is being given another size.
    resizing: AtomicBool,
    /// How much was written out of late, in bytes per second.
    write_out_rate: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct Commits {
    begun: u64,
    succeeded: u64,
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
            let state = State::new(options.policy, options.admission, slots, shape.blocks(), None)?;
            Ok(Cache::of(store, lower, options, shape, state, None))
        };
        make().map_err(|error: Error| error.at("cache"))
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
                let text = format!(
                    "mode=write-back: the cache's device has blocks of {block} bytes, the device \
                    below of {below}; give the cache's the same \
                     (file:PATH?block={below})"
                );
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
            let mut state = State::new(
                options.policy,
                options.admission,
                layout.slots,
                shape.blocks(),
                Some(per_page),
            )?;
            kept.load(&*store, &*lower, options.mode, &mut state, &shape)?;
            Ok(Cache::of(store, lower, options, shape, state, Some(kept)))
        };
        make().map_err(|error: Error| error.at("cache"))
    }

    fn of(
        store: Arc<dyn Device>,
        lower: Arc<dyn Device>,
        options: CacheOptions,
        shape: Shape,
        state: State,
        kept: Option<Kept>,
    ) -> Cache {
        let mut info = info(store.info(), lower.info(), options.mode);
        if kept.is_some() && options.mode == CacheMode::WriteBack {
            // A write is durable when the map says so, and that takes a flush.
            info.fua = Support::None;
        }
        let shared = Shared {
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
    pub fn note(&self) -> Option<&str> {
        self.shared.kept.as_ref()?.note.as_deref()
    }

    /// What looks after the cache while others use it.
    #[must_use]
    pub fn handle(&self) -> CacheHandle {
        CacheHandle::new(&self.shared)
    }
}

/// Refuses what cannot work.
fn check(store: &Info, lower: &Info, options: &CacheOptions) -> Result<(), Error> {
    let invalid = |text: String| Err(Error::new(ErrorKind::Invalid, text));
    let block = options.block_bytes;
    if !block.is_power_of_two()
        || !(Cache::BLOCK_BYTES_MIN..=Cache::BLOCK_BYTES_MAX).contains(&block)
    {
        return invalid(format!(
            "a block of {}; it is a power of two from 4KiB to 256KiB",
            size_text(block.into())
        ));
    }
    let longest = lower.max_request_bytes.min(store.max_request_bytes);
    if block < lower.block_bytes || longest < block {
        return invalid(format!(
            "a block of {}; the devices take from {} to {}",
            size_text(block.into()),
            size_text(lower.block_bytes.into()),
            size_text(longest.into())
        ));
    }
    if store.block_bytes > lower.block_bytes {
        return invalid(format!(
            "the cache's device has blocks of {} bytes, the device below of {}; give the device \
            below larger ones or the cache's smaller \
             (block=)",
            store.block_bytes, lower.block_bytes
        ));
    }
    if !(1..=90).contains(&options.dirty_percent) {
        return invalid(format!(
            "{} % of the cache dirty; it is a number from 1 to 90",
            options.dirty_percent
        ));
    }
    let KeepingOptions { high_percent: high, low_percent: low, .. } = options.keeping;
    if low > high || high > options.dirty_percent {
        return invalid(format!(
            "dirty_low={low}, dirty_high={high}, dirty={}: each is at most the next: write-out \
            ends at the first, begins at the second, and is \
             the writers' own affair from the third on",
            options.dirty_percent
        ));
    }
    if store.read_only {
        return Err(Error::new(ErrorKind::ReadOnly, "the cache's device cannot be written"));
    }
    if lower.read_only && options.mode == CacheMode::WriteBack {
        return Err(Error::new(
            ErrorKind::ReadOnly,
            "mode=write-back over a device that cannot be written; use mode=read-only",
        ));
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
        Ok(Box::new(Traced::new(channel, &self.describe())))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let Shared { shape, lower, .. } = &*self.shared;
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

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self) -> Node {
        let (options, plain) = (self.options, CacheOptions::default());
        let mut store = self.store.describe();
        if let (Node::Leaf { scheme, address, .. }, None) = (&mut store, &self.kept)
            && scheme == "ram"
        {
            // There is room for more, which is not used.
            *address = size_text(u64::from(self.state().limit) * self.shape.block_bytes);
        }
        let mut node =
            Node::layer("cache", vec![store, self.lower.describe()]).with("mode", options.mode);
        if options.block_bytes != plain.block_bytes {
            node = node.with("block", size_text(options.block_bytes.into()));
        }
        if options.policy != plain.policy {
            node = node.with("policy", options.policy);
        }
        node = node.with(
            "sequential_cutoff",
            size_text(options.admission.sequential_cutoff_bytes.unwrap_or(0)),
        );
        if options.admission.promote_after != plain.admission.promote_after {
            node = node.with("promote_after", options.admission.promote_after);
        }
        if options.dirty_percent != plain.dirty_percent {
            node = node.with("dirty", options.dirty_percent);
        }
        let (keeping, plain) = (options.keeping, KeepingOptions::below(options.dirty_percent));
        if keeping.high_percent != plain.high_percent {
            node = node.with("dirty_high", keeping.high_percent);
        }
        if keeping.low_percent != plain.low_percent {
            node = node.with("dirty_low", keeping.low_percent);
        }
        if keeping.idle != plain.idle {
            node = node.with("writeback_idle", duration_text(keeping.idle.unwrap_or_default()));
        }
        if let Some(rate) = keeping.rate_bytes_per_second {
            node = node.with("writeback_rate", size_text(rate));
        }
        node
    }

    /// Clean blocks are not to be used, and none is to come in.
    fn is_distrusted(&self) -> bool {
        self.distrusted.load(Ordering::Acquire)
    }

    /// From how many dirty slots on writes write some out.
    fn dirty_limit(&self, state: &State) -> u32 {
        (u64::from(state.limit) * u64::from(self.options.dirty_percent) / 100).max(1) as u32
    }

    /// So many dirty slots are the most: half of what is left above the mark.
    fn dirty_max(&self, state: &State) -> u32 {
        if self.write_out_failed.load(Ordering::Acquire) {
            return 0;
        }
        let high = self.dirty_limit(state);
        high + (state.limit - high.min(state.limit)) / 2
    }

    /// Whether a flush enters what is dirty into the store's map, instead of writing it out.
    fn commits(&self) -> bool {
        self.kept.is_some() && self.options.mode == CacheMode::WriteBack
    }

    /// Why nothing works any more.
    fn stop_reason(&self) -> Option<Error> {
        if !self.is_stopped.load(Ordering::Acquire) {
            return None;
        }
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Error::repeat)
    }

    /// Answers everything with this error from now on. False when something else was the first.
    fn stop(&self, error: Error) -> bool {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let first = stopped.is_none();
        stopped.get_or_insert(error);
        self.is_stopped.store(true, Ordering::Release);
        first
    }

    fn flush_failure(&self) -> Option<Error> {
        self.flush_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(Error::repeat)
    }

    fn let_flushes_fail(&self, error: Error) {
        self.flush_failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// The store has failed. As long as the device below has everything, it is left alone from now
    /// on; otherwise, when it is more than a bad place, nothing can go on, and what would be lost
    /// is named.
    fn store_failed(&self, error: &Error) {
        let state = self.state();
        if state.dirty_slots() == 0 && state.claimed_slots() == 0 {
            self.distrusted.store(true, Ordering::Release);
        } else if error.kind() != ErrorKind::Media {
            let text = format!(
                "the cache's device has failed, and the device below lacks {}: {error}",
                dirty_text(&self.shape, &state)
            );
            drop(state);
            self.stop(error.repeat().retold(text));
        }
    }
}

/// The dirty blocks in words: how much, and the first few places.
fn dirty_text(shape: &Shape, state: &State) -> String {
    const NAMED: usize = 8;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut bytes = 0;
    for block in state.dirty_blocks() {
        let (start, end) = (shape.start(block), shape.end(block));
        bytes += end - start;
        match ranges.last_mut() {
            Some((_, last)) if *last == start => *last = end,
            _ => ranges.push((start, end)),
        }
    }
    let named: Vec<String> =
        ranges.iter().take(NAMED).map(|(start, end)| format!("{start}+{}", end - start)).collect();
    let more = if ranges.len() > NAMED {
        format!(" and {} places more", ranges.len() - NAMED)
    } else {
        String::new()
    };
    format!("{} that were written to it, at bytes {}{more}", size_text(bytes), named.join(", "))
}

//! What the channels of a cache share: the two devices, what the store holds, and what has failed.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{Device, Error, ErrorKind, Info, Node, duration_text, size_text};
use words::statement;

use super::keep::KeptStore;
use super::options::{CacheMode, CacheOptions, KeepingOptions};
use super::shape::Shape;
use super::state::CacheState;
use crate::catalogue;

/// A cache, as its channels, its upkeep and its status see it.
pub(super) struct CacheCore {
    pub(super) store: Arc<dyn Device>,
    pub(super) lower: Arc<dyn Device>,
    pub(super) options: CacheOptions,
    pub(super) info: Info,
    pub(super) shape: Shape,
    /// A store that outlives the cache.
    pub(super) kept: Option<KeptStore>,
    /// Flushes of a kept store by number: the last that was begun, and the last that succeeded.
    pub(super) commits: Mutex<Commits>,
    pub(super) state: Mutex<CacheState>,
    pub(super) channels: AtomicU32,
    /// The store has failed while nothing was in it that the device below has not: it is left
    /// alone.
    pub(super) distrusted: AtomicBool,
    /// Why nothing is answered any more, or no flush succeeds.
    pub(super) stopped: Mutex<Option<Error>>,
    pub(super) is_stopped: AtomicBool,
    pub(super) flush_failure: Mutex<Option<Error>>,
    /// A write or the upkeep is busy writing out.
    pub(super) writing_out: AtomicBool,
    /// A write-out failed: nothing more is kept back, and nothing is tried again before a flush
    /// asks for it.
    pub(super) write_out_failed: AtomicBool,
    /// Something was written to the device below since it was last flushed.
    pub(super) lower_written: AtomicBool,
    /// It is being given another size.
    pub(super) resizing: AtomicBool,
    /// How much was written out of late, in bytes per second.
    pub(super) write_out_rate: AtomicU64,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Commits {
    pub(super) begun: u64,
    pub(super) succeeded: u64,
}

impl CacheCore {
    pub(super) fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn describe(&self) -> Node {
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
    pub(super) fn is_distrusted(&self) -> bool {
        self.distrusted.load(Ordering::Acquire)
    }

    /// From how many dirty slots on writes write some out.
    pub(super) fn dirty_limit(&self, state: &CacheState) -> u32 {
        (u64::from(state.limit) * u64::from(self.options.dirty_percent) / 100).max(1) as u32
    }

    /// So many dirty slots are the most: half of what is left above the mark.
    pub(super) fn dirty_max(&self, state: &CacheState) -> u32 {
        if self.write_out_failed.load(Ordering::Acquire) {
            return 0;
        }
        let high = self.dirty_limit(state);
        high + (state.limit - high.min(state.limit)) / 2
    }

    /// Whether a flush enters what is dirty into the store's map, instead of writing it out.
    pub(super) fn commits(&self) -> bool {
        self.kept.is_some() && self.options.mode == CacheMode::WriteBack
    }

    /// Why nothing works any more.
    pub(super) fn stop_reason(&self) -> Option<Error> {
        if !self.is_stopped.load(Ordering::Acquire) {
            return None;
        }
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Error::repeat)
    }

    /// Answers everything with this error from now on. False when something else was the first.
    pub(super) fn stop(&self, error: Error) -> bool {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let first = stopped.is_none();
        stopped.get_or_insert(error);
        self.is_stopped.store(true, Ordering::Release);
        first
    }

    pub(super) fn flush_failure(&self) -> Option<Error> {
        self.flush_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(Error::repeat)
    }

    pub(super) fn let_flushes_fail(&self, error: Error) {
        self.flush_failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// The store has failed. As long as the device below has everything, it is left alone from now
    /// on; otherwise, when it is more than a bad place, nothing can go on, and what would be lost
    /// is named.
    pub(super) fn store_failed(&self, error: &Error) {
        let state = self.state();
        if state.dirty_slots() == 0 && state.claimed_slots() == 0 {
            self.distrusted.store(true, Ordering::Release);
        } else if error.kind() != ErrorKind::Media {
            let lacks = state.dirty_text(&self.shape);
            let text = error.text().at(statement!(catalogue::FAILED_WITH_DIRTY, dirty = lacks));
            drop(state);
            self.stop(error.repeat().retold(text));
        }
    }
}

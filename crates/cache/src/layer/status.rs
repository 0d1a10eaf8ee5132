//! What somebody who looks after a cache sees of it and can tell it.

use std::fmt;
use std::sync::{Arc, Weak};

use super::{CacheCounts, CacheMode, Shared};
use crate::policy::PolicyKind;

/// A cache at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheStatus {
    /// Its stack text.
    pub name: String,
    /// What happens to writes.
    pub mode: CacheMode,
    /// Which block goes for another.
    pub policy: PolicyKind,
    /// What is cached as a whole, in bytes.
    pub block_bytes: u64,
    /// How much it holds at most, in bytes.
    pub size_bytes: u64,
    /// How much it holds, in bytes.
    pub used_bytes: u64,
    /// How much of that the device below has not, in bytes.
    pub dirty_bytes: u64,
    /// What was counted since it was opened.
    pub counts: CacheCounts,
    /// Memory that it takes besides the data, in bytes.
    pub metadata_bytes: u64,
    /// What is wrong with it.
    pub failure: Option<String>,
}

/// A cache, for those who look after it. It does not keep the cache open.
#[derive(Clone)]
pub struct CacheHandle {
    shared: Weak<Shared>,
}

impl fmt::Debug for CacheHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheHandle").field(&self.status().map(|status| status.name)).finish()
    }
}

impl CacheHandle {
    pub(super) fn new(shared: &Arc<Shared>) -> CacheHandle {
        CacheHandle { shared: Arc::downgrade(shared) }
    }

    /// How it is now; `None` when it was closed.
    #[must_use]
    pub fn status(&self) -> Option<CacheStatus> {
        let shared = self.shared.upgrade()?;
        let stopped = shared.stop_reason().or_else(|| shared.flush_failure()).map(|error| error.to_string());
        let distrusted = || shared.is_distrusted().then(|| "its device has failed and is not used any more".to_owned());
        let state = shared.state();
        let bytes = |slots: u32| u64::from(slots) * shared.shape.block_bytes;
        Some(CacheStatus {
            name: shared.describe().to_string(),
            mode: shared.options.mode,
            policy: shared.options.policy,
            block_bytes: shared.shape.block_bytes,
            size_bytes: bytes(state.limit),
            used_bytes: bytes(state.directory.used()),
            dirty_bytes: bytes(state.dirty_slots()),
            counts: state.counts,
            metadata_bytes: state.memory_bytes() as u64,
            failure: stopped.or_else(distrusted),
        })
    }
}

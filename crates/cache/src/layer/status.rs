//! What upkeep and status see of a cache and can tell it.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use block::{Channel, Error, ErrorKind, Op, Reactor, Request};
use words::Text;

use super::channel::CacheChannel;
use super::job::Purpose;
use super::options::CacheMode;
use super::shared::CacheCore;
use super::state::CacheCounts;
use crate::catalogue;
use crate::policy::PolicyKind;

/// What a cache still does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheCondition {
    /// All of it.
    Working,
    /// It stands aside: its store has failed, and the device below has everything.
    Bypassed,
    /// Reads are answered, and no write is durable any more.
    Unflushable,
    /// Nothing: its store has failed, and the device below has not everything.
    Stopped,
}

/// A cache at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheStatus {
    /// Its stack text.
    pub name: String,
    /// What happens to writes.
    pub mode: CacheMode,
    /// Which block goes for another.
    pub policy: PolicyKind,
    /// Whether its store outlives it; otherwise it is in memory.
    pub is_kept: bool,
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
    /// How much was written out of late, in bytes per second; 0 for a cache without upkeep.
    pub write_out_bytes_per_second: u64,
    /// Memory that it takes besides the data, in bytes.
    pub metadata_bytes: u64,
    /// What it still does.
    pub condition: CacheCondition,
    /// What is wrong with it.
    pub failure: Option<Text>,
}

/// A cache, for its upkeep and its status. It does not keep the cache open.
#[derive(Clone)]
pub struct CacheHandle {
    pub(super) shared: Weak<CacheCore>,
}

impl fmt::Debug for CacheHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheHandle").field(&self.status().map(|status| status.name)).finish()
    }
}

impl CacheHandle {
    pub(super) fn new(shared: &Arc<CacheCore>) -> CacheHandle {
        CacheHandle { shared: Arc::downgrade(shared) }
    }

    /// Write-back: writes everything out that is dirty now, while others go on, and returns how
    /// much that was, in bytes. A kept store's map says so too when this returns.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`] when the cache was closed, and whatever the devices say.
    pub fn flush(&self) -> Result<u64, Error> {
        self.write_out(u64::MAX)
    }

    /// The same up to about so many bytes, the lowest addresses first: for what writes out while
    /// nothing else is to be done.
    ///
    /// # Errors
    /// As [`CacheHandle::flush`].
    pub fn write_out(&self, most_bytes: u64) -> Result<u64, Error> {
        let gone = || Error::new(ErrorKind::Gone, catalogue::CLOSED);
        let shared = self.shared.upgrade().ok_or_else(gone)?;
        let written = || shared.state().counts.written_out * shared.shape.block_bytes;
        let before = written();
        let reactor = Reactor::wall()?;
        let mut channel = CacheChannel::open(&shared, 1, &reactor)?;
        channel.start_writing_dirty_out(0, most_bytes, Purpose::Flush);
        wait_for(&mut channel, &reactor)?;
        if shared.commits() {
            channel.submit(Request::new(0, Op::Flush));
            wait_for(&mut channel, &reactor)?;
        }
        Ok(written() - before)
    }

    /// Closes the cache as its end would, for a process that ends without dropping it: memory is
    /// written out, and a kept store is warm the next time. No request may be under way; later ones
    /// are refused. Of several, those above go first.
    ///
    /// # Errors
    /// Whatever the devices say. A kept store is then as after a crash.
    pub fn close(&self) -> Result<(), Error> {
        self.shared.upgrade().map_or(Ok(()), |shared| shared.close())
    }

    /// How it is now; `None` when it was closed.
    #[must_use]
    pub fn status(&self) -> Option<CacheStatus> {
        let shared = self.shared.upgrade()?;
        let (condition, failure) = match (shared.stop_reason(), shared.flush_failure()) {
            (Some(error), _) => (CacheCondition::Stopped, Some(error.text())),
            (None, Some(error)) => (CacheCondition::Unflushable, Some(error.text())),
            (None, None) if shared.is_distrusted() => {
                (CacheCondition::Bypassed, Some(catalogue::DEVICE_UNUSED.into()))
            }
            (None, None) => (CacheCondition::Working, None),
        };
        // It looks at the state too.
        let name = shared.describe().to_string();
        let state = shared.state();
        let bytes = |slots: u32| u64::from(slots) * shared.shape.block_bytes;
        Some(CacheStatus {
            name,
            mode: shared.options.mode,
            policy: shared.options.policy,
            is_kept: shared.kept.is_some(),
            block_bytes: shared.shape.block_bytes,
            size_bytes: bytes(state.limit),
            used_bytes: bytes(state.directory.used()),
            dirty_bytes: bytes(state.dirty_slots()),
            counts: state.counts,
            write_out_bytes_per_second: shared.write_out_rate.load(Ordering::Relaxed),
            metadata_bytes: state.memory_bytes() as u64,
            condition,
            failure,
        })
    }
}

/// Waits for the one request of a channel.
fn wait_for(channel: &mut CacheChannel, reactor: &Reactor) -> Result<(), Error> {
    let mut done = Vec::new();
    loop {
        channel.poll(&mut done);
        if let Some(completion) = done.pop() {
            return completion.result;
        }
        let failed = |error| Error::from_io(catalogue::WAITING_FOR_WRITE_OUT, error);
        reactor.wait(None).map_err(failed)?;
    }
}

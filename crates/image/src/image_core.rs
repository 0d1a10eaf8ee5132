//! What the device of an image and its channels have in common.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use block::{BufMut, Claim, Device, Error, Info, WaitQueue};

use crate::map::ImageMap;
use crate::packed::Packing;
use crate::tables::Tables;

pub(crate) struct Core {
    pub(crate) file: Arc<dyn Device>,
    /// What the file has behind the device's end.
    pub(crate) tail: Vec<u8>,
    /// What lies where the image has nothing.
    pub(crate) backing: Option<Arc<dyn Device>>,
    pub(crate) state: RwLock<ImageState>,
    pub(crate) packing: Packing,
    pub(crate) info: Info,
    /// The longest read or write that the devices below take, in bytes.
    pub(crate) piece_bytes_max: u64,
    /// What one cluster is long, in bytes.
    pub(crate) cluster_bytes: u64,
    pub(crate) claims: Mutex<WaitQueue<ClusterClaim>>,
    /// Why no flush succeeds any more.
    pub(crate) flush_failure: Mutex<Option<Error>>,
}

/// Where everything lies now.
pub(crate) struct ImageState {
    pub(crate) map: ImageMap,
    /// Of an image that is written to.
    pub(crate) tables: Option<Tables>,
}

/// What one request has for itself: clusters that come to lie elsewhere, or the turn to write
/// tables.
pub(crate) struct ClusterClaim {
    /// Whose it is: a channel by the address of its waiter, and a request of it.
    pub(crate) owner: (usize, u32),
    pub(crate) what: Claimed,
}

/// What is claimed.
pub(crate) enum Claimed {
    /// From the first cluster of the disk to before the last.
    Clusters(u64, u64),
    Tables,
}

impl Claim for ClusterClaim {
    fn meets(&self, other: &ClusterClaim) -> bool {
        match (&self.what, &other.what) {
            (Claimed::Clusters(first, end), Claimed::Clusters(start, last)) => {
                first < last && start < end
            }
            (Claimed::Tables, Claimed::Tables) => true,
            _ => false,
        }
    }
}

impl Core {
    pub(crate) fn state(&self) -> RwLockReadGuard<'_, ImageState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, ImageState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn claims(&self) -> MutexGuard<'_, WaitQueue<ClusterClaim>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn flush_failure(&self) -> MutexGuard<'_, Option<Error>> {
        self.flush_failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills a piece that begins in the file at or behind the device's end: what the file has
    /// there, and zeroes.
    pub(crate) fn fill_behind(&self, at: u64, piece: &mut BufMut) {
        if piece.is_empty() {
            return;
        }
        let from = at.saturating_sub(self.file.info().size_bytes);
        let there = self.tail.get(from as usize..).unwrap_or_default();
        let mut bytes = vec![0; piece.len()];
        let length = there.len().min(bytes.len());
        bytes[..length].copy_from_slice(&there[..length]);
        piece.copy_from_slice(&bytes);
    }

    /// How much of this part of a hole the backing device has, in bytes.
    pub(crate) fn backed(&self, offset: u64, length: u64) -> u64 {
        let end = self.backing.as_ref().map_or(0, |backing| backing.info().size_bytes);
        end.saturating_sub(offset).min(length)
    }
}

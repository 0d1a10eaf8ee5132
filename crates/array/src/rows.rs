//! The row locks of an array, shared by all its channels.
//!
//! Nobody blocks: who does not get a row at once is queued, first come first served, and is handed the row when its turn
//! comes. A channel on another reactor is rung.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reactor::Ringer;

const SHARDS: u64 = 64;

/// Where a channel finds the rows it was handed.
pub(crate) struct Waiter {
    granted: Mutex<Vec<u32>>,
    any: AtomicBool,
    /// `None` on the virtual clock, where all channels of an array share one reactor.
    ringer: Option<Ringer>,
}

impl Waiter {
    pub(crate) fn new(ringer: Option<Ringer>) -> Arc<Waiter> {
        Arc::new(Waiter { granted: Mutex::default(), any: AtomicBool::new(false), ringer })
    }

    fn grant(&self, piece: u32) {
        locked(&self.granted).push(piece);
        self.any.store(true, Ordering::Release);
    }

    /// Moves the pieces that were handed their rows to `pieces`.
    pub(crate) fn take_granted(&self, pieces: &mut Vec<u32>) {
        if self.any.swap(false, Ordering::Acquire) {
            pieces.append(&mut locked(&self.granted));
        }
    }
}

struct Ticket {
    waiter: Arc<Waiter>,
    piece: u32,
}

/// Rows in use, each with those who wait for it.
pub(crate) struct Rows {
    shards: Vec<Mutex<HashMap<u64, VecDeque<Ticket>>>>,
}

/// Somebody on another channel was handed a row: a virtual reactor has to go round once more.
#[must_use]
pub(crate) struct OthersWoken(pub(crate) bool);

impl Default for Rows {
    fn default() -> Rows {
        Rows { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Rows {
    fn shard(&self, row: u64) -> MutexGuard<'_, HashMap<u64, VecDeque<Ticket>>> {
        locked(&self.shards[(row % SHARDS) as usize])
    }

    /// Takes the row, or queues for it and answers false; then `piece` appears at the waiter in time.
    pub(crate) fn lock(&self, row: u64, waiter: &Arc<Waiter>, piece: u32) -> bool {
        let mut shard = self.shard(row);
        if let Some(queue) = shard.get_mut(&row) {
            queue.push_back(Ticket { waiter: Arc::clone(waiter), piece });
            return false;
        }
        shard.insert(row, VecDeque::new());
        true
    }

    /// Hands the row on to the next in the queue, or frees it.
    pub(crate) fn release(&self, row: u64, by: &Arc<Waiter>) -> OthersWoken {
        let mut shard = self.shard(row);
        let queue = shard.get_mut(&row).expect("a row is released by its holder");
        let Some(next) = queue.pop_front() else {
            shard.remove(&row);
            return OthersWoken(false);
        };
        drop(shard);
        next.waiter.grant(next.piece);
        let other = !Arc::ptr_eq(&next.waiter, by);
        if other && let Some(ringer) = &next.waiter.ringer {
            ringer.ring();
        }
        OthersWoken(other)
    }

    /// Takes a channel that goes away out of the row's queue; false when it had been handed the row already.
    pub(crate) fn cancel(&self, row: u64, waiter: &Arc<Waiter>, piece: u32) -> bool {
        let mut shard = self.shard(row);
        let Some(queue) = shard.get_mut(&row) else { return false };
        let before = queue.len();
        queue.retain(|ticket| !(Arc::ptr_eq(&ticket.waiter, waiter) && ticket.piece == piece));
        queue.len() < before
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(waiter: &Waiter) -> Vec<u32> {
        let mut pieces = Vec::new();
        waiter.take_granted(&mut pieces);
        pieces
    }

    #[test]
    fn rows_are_handed_on_in_the_order_of_asking() {
        let rows = Rows::default();
        let (here, there) = (Waiter::new(None), Waiter::new(None));
        assert!(rows.lock(5, &here, 0));
        assert!(rows.lock(5 + SHARDS, &there, 9), "another row of the same shard");
        assert!(!rows.lock(5, &there, 1));
        assert!(!rows.lock(5, &here, 2));
        assert!(rows.release(5, &here).0);
        assert_eq!((granted(&there), granted(&here)), (vec![1], vec![]));
        assert!(rows.release(5, &there).0);
        assert_eq!(granted(&here), [2]);
        assert!(!rows.release(5, &here).0);
        assert!(rows.lock(5, &here, 3), "free again");
    }

    #[test]
    fn a_channel_that_goes_away_is_passed_over() {
        let rows = Rows::default();
        let (here, there) = (Waiter::new(None), Waiter::new(None));
        assert!(rows.lock(1, &here, 0));
        assert!(!rows.lock(1, &there, 1));
        assert!(rows.cancel(1, &there, 1));
        assert!(!rows.release(1, &here).0);
        assert!(!rows.cancel(1, &there, 1), "nothing to take back");
    }
}

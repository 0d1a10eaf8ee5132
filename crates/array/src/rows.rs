//! The row locks of an array, shared by all its channels.
//!
//! A lock is a range of a row, so that small writes to one stripe meet only where their parity
//! does. Nothing blocks: a piece that does not get a range at once is queued, first come first
//! served, and is granted it when its turn comes. A channel on another reactor is rung.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reactor::Ringer;

use crate::RowLock;

const SHARDS: u64 = 64;

/// Where a channel finds the pieces that were granted their rows.
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

    /// Has a piece go on, and wakes the owner of its channel.
    pub(crate) fn wake(&self, piece: u32) {
        self.grant(piece);
        if let Some(ringer) = &self.ringer {
            ringer.ring();
        }
    }

    /// Moves the pieces that were granted their rows to `pieces`.
    pub(crate) fn take_granted(&self, pieces: &mut Vec<u32>) {
        if self.any.swap(false, Ordering::Acquire) {
            pieces.append(&mut locked(&self.granted));
        }
    }
}

struct Ticket {
    lock: RowLock,
    waiter: Arc<Waiter>,
    piece: u32,
}

/// Some of the rows: few are in use at a time, so lists are all it takes.
#[derive(Default)]
struct Shard {
    held: Vec<RowLock>,
    /// In the order of asking; each meets one that is held, or one that asked before it.
    waiting: VecDeque<Ticket>,
}

/// Rows in use, and the pieces that wait for them.
pub(crate) struct Rows {
    shards: Vec<Mutex<Shard>>,
}

/// A piece of another channel was granted a row: a virtual reactor has to go round once more.
#[must_use]
pub(crate) struct OthersWoken(pub(crate) bool);

impl Default for Rows {
    fn default() -> Rows {
        Rows { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Shard {
    /// Whether another piece has to be done first.
    fn is_taken(&self, lock: RowLock, ahead: usize) -> bool {
        self.held
            .iter()
            .chain(self.waiting.iter().take(ahead).map(|ticket| &ticket.lock))
            .any(|other| other.meets(lock))
    }

    /// Grants what has become free.
    fn grant_free(&mut self, by: &Arc<Waiter>) -> OthersWoken {
        let mut others = false;
        let mut at = 0;
        while at < self.waiting.len() {
            if self.is_taken(self.waiting[at].lock, at) {
                at += 1;
                continue;
            }
            let next = self.waiting.remove(at).expect("within the queue");
            self.held.push(next.lock);
            next.waiter.grant(next.piece);
            if !Arc::ptr_eq(&next.waiter, by) {
                others = true;
                if let Some(ringer) = &next.waiter.ringer {
                    ringer.ring();
                }
            }
        }
        OthersWoken(others)
    }
}

impl Rows {
    fn shard(&self, row: u64) -> MutexGuard<'_, Shard> {
        locked(&self.shards[(row % SHARDS) as usize])
    }

    /// Takes the range, or queues for it and answers false; then `piece` appears at the waiter in
    /// time.
    pub(crate) fn lock(&self, lock: RowLock, waiter: &Arc<Waiter>, piece: u32) -> bool {
        let mut shard = self.shard(lock.row);
        if shard.is_taken(lock, usize::MAX) {
            shard.waiting.push_back(Ticket { lock, waiter: Arc::clone(waiter), piece });
            return false;
        }
        shard.held.push(lock);
        true
    }

    /// Frees the range and hands it on.
    pub(crate) fn release(&self, lock: RowLock, by: &Arc<Waiter>) -> OthersWoken {
        let mut shard = self.shard(lock.row);
        let at = shard
            .held
            .iter()
            .position(|held| *held == lock)
            .expect("a row is released by its holder");
        shard.held.swap_remove(at);
        shard.grant_free(by)
    }

    /// Takes a channel that goes away out of the queue; `None` when it had been granted the range
    /// already.
    pub(crate) fn cancel(
        &self,
        lock: RowLock,
        waiter: &Arc<Waiter>,
        piece: u32,
    ) -> Option<OthersWoken> {
        let mut shard = self.shard(lock.row);
        let at = shard
            .waiting
            .iter()
            .position(|ticket| Arc::ptr_eq(&ticket.waiter, waiter) && ticket.piece == piece)?;
        shard.waiting.remove(at);
        Some(shard.grant_free(waiter))
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

    fn lock(row: u64, from: u64, to: u64) -> RowLock {
        RowLock { row, from, to }
    }

    #[test]
    fn rows_are_handed_on_in_the_order_of_asking() {
        let rows = Rows::default();
        let (here, there) = (Waiter::new(None), Waiter::new(None));
        let whole = lock(5, 0, 9);
        assert!(rows.lock(whole, &here, 0));
        assert!(rows.lock(lock(5 + SHARDS, 0, 9), &there, 9), "another row of the same shard");
        assert!(!rows.lock(whole, &there, 1));
        assert!(!rows.lock(whole, &here, 2));
        assert!(rows.release(whole, &here).0);
        assert_eq!((granted(&there), granted(&here)), (vec![1], vec![]));
        assert!(rows.release(whole, &there).0);
        assert_eq!(granted(&here), [2]);
        assert!(!rows.release(whole, &here).0);
        assert!(rows.lock(whole, &here, 3), "free again");
    }

    #[test]
    fn ranges_of_a_row_meet_only_where_they_overlap() {
        let rows = Rows::default();
        let waiter = Waiter::new(None);
        assert!(rows.lock(lock(0, 0, 4), &waiter, 0));
        assert!(rows.lock(lock(0, 4, 8), &waiter, 1));
        assert!(!rows.lock(lock(0, 2, 6), &waiter, 2));
        assert!(
            !rows.lock(lock(0, 5, 7), &waiter, 3),
            "nobody overtakes one who waits for the same"
        );
        assert!(rows.lock(lock(0, 8, 9), &waiter, 4));
        assert!(!rows.release(lock(0, 4, 8), &waiter).0);
        assert_eq!(granted(&waiter), [], "2 still meets 0, and 3 meets 2");
        assert!(!rows.release(lock(0, 0, 4), &waiter).0);
        assert_eq!(granted(&waiter), [2]);
        assert!(!rows.release(lock(0, 2, 6), &waiter).0);
        assert_eq!(granted(&waiter), [3]);
    }

    #[test]
    fn a_channel_that_goes_away_is_passed_over() {
        let rows = Rows::default();
        let (here, there) = (Waiter::new(None), Waiter::new(None));
        assert!(rows.lock(lock(1, 0, 4), &here, 0));
        assert!(!rows.lock(lock(1, 0, 8), &there, 1));
        assert!(!rows.lock(lock(1, 4, 8), &here, 2));
        assert!(
            rows.cancel(lock(1, 0, 8), &there, 1).expect("it waited").0,
            "who waited for it goes on"
        );
        assert_eq!(granted(&here), [2]);
        assert!(!rows.release(lock(1, 0, 4), &here).0);
        assert!(rows.cancel(lock(1, 0, 8), &there, 1).is_none(), "nothing to take back");
    }
}

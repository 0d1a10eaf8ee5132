//! The row locks of an array, shared by all its channels.
//!
//! A lock is a range of a row, so that small writes to one stripe meet only where their parity
//! does. Nothing blocks: a piece that does not get a range at once is queued, first come first
//! served, and is granted it when its turn comes. A channel on another reactor is rung.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{Claim, WaitQueue};
pub(crate) use block::{OthersWoken, Waiter};

use crate::RowLock;

/// Rows are spread over so many queues, so that threads seldom meet at one mutex.
const SHARDS: u64 = 64;

impl Claim for RowLock {
    fn meets(&self, other: &RowLock) -> bool {
        RowLock::meets(*self, *other)
    }
}

/// Rows in use, and the pieces that wait for them.
pub(crate) struct Rows {
    shards: Vec<Mutex<WaitQueue<RowLock>>>,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Rows {
    fn shard(&self, row: u64) -> MutexGuard<'_, WaitQueue<RowLock>> {
        self.shards[(row % SHARDS) as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the range, or queues for it and answers false; then `piece` appears at the waiter in
    /// time.
    pub(crate) fn lock(&self, lock: RowLock, waiter: &Arc<Waiter>, piece: u32) -> bool {
        self.shard(lock.row).take(lock, waiter, piece)
    }

    /// Frees the range and hands it on.
    pub(crate) fn release(&self, lock: RowLock, by: &Arc<Waiter>) -> OthersWoken {
        self.shard(lock.row)
            .release(|held| *held == lock, by)
            .expect("a row is released by its holder")
    }

    /// Takes a channel that goes away out of the queue; `None` when it had been granted the range
    /// already.
    pub(crate) fn cancel(
        &self,
        lock: RowLock,
        waiter: &Arc<Waiter>,
        piece: u32,
    ) -> Option<OthersWoken> {
        self.shard(lock.row).cancel(waiter, piece)
    }
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
        assert!(granted(&waiter).is_empty(), "2 still meets 0, and 3 meets 2");
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

//! The turn to write the index: one request at a time, in the order of asking, over all channels.
//!
//! Nothing blocks. A request that does not get the turn at once is queued and given it later; a
//! channel on another reactor is rung.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{Claim, OthersWoken, WaitQueue, Waiter};

/// What the request does that has the turn.
struct WritesIndex;

impl Claim for WritesIndex {
    fn meets(&self, _: &WritesIndex) -> bool {
        true
    }
}

/// The turn and the requests that wait for it.
#[derive(Default)]
pub(super) struct Turn(Mutex<WaitQueue<WritesIndex>>);

impl Turn {
    /// Takes the turn, or queues for it and answers false; then `slot` appears at the waiter.
    pub(super) fn take(&self, waiter: &Arc<Waiter>, slot: u32) -> bool {
        self.queue().take(WritesIndex, waiter, slot)
    }

    /// Hands the turn on. True when another channel has it now: a virtual reactor has to go round
    /// once more.
    pub(super) fn release(&self, by: &Arc<Waiter>) -> bool {
        self.queue().release(|_| true, by).is_some_and(|OthersWoken(others)| others)
    }

    /// Takes a channel that goes away out of the queue. True when it had been handed the turn,
    /// which it then must release.
    pub(super) fn cancel(&self, waiter: &Arc<Waiter>) -> bool {
        let mut queue = self.queue();
        let OthersWoken(others) = queue.forget(waiter);
        debug_assert!(!others, "what waits keeps no other from going on");
        !waiter.granted().is_empty()
    }

    fn queue(&self) -> MutexGuard<'_, WaitQueue<WritesIndex>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_goes_round_in_the_order_of_asking() {
        let turn = Turn::default();
        let (here, there) = (Waiter::new(None), Waiter::new(None));
        assert!(turn.take(&here, 1));
        assert!(!turn.take(&there, 2));
        assert!(!turn.take(&here, 3));
        assert!(!turn.take(&there, 4));
        assert!(turn.release(&here));
        assert_eq!((there.granted(), here.granted()), (vec![2], vec![]));
        assert!(!turn.cancel(&there), "2 has taken up its turn, and 4 has not got one");
        assert!(turn.release(&there));
        assert!(turn.cancel(&here), "3 was handed it and must give it on");
        assert!(!turn.release(&here));
        assert!(turn.take(&there, 5), "free again");
    }
}

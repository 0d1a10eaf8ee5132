//! The turn to write the index: one request at a time, in the order of asking, over all channels.
//!
//! Nothing blocks. A request that does not get the turn at once is queued and given it later; a
//! channel on another reactor is rung.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reactor::Ringer;

/// Where a channel finds the turn it was handed, by the slot that asked for it.
pub(super) struct Waiter {
    granted: Mutex<Option<usize>>,
    /// `None` on the virtual clock, where all channels share one reactor.
    ringer: Option<Ringer>,
}

impl Waiter {
    pub(super) fn new(ringer: Option<Ringer>) -> Arc<Waiter> {
        Arc::new(Waiter { granted: Mutex::default(), ringer })
    }

    /// The slot that was handed the turn, once.
    pub(super) fn take_granted(&self) -> Option<usize> {
        locked(&self.granted).take()
    }
}

#[derive(Default)]
struct Queue {
    taken: bool,
    waiting: VecDeque<(Arc<Waiter>, usize)>,
}

/// The turn and the requests that wait for it.
#[derive(Default)]
pub(super) struct Turn(Mutex<Queue>);

impl Turn {
    /// Takes the turn, or queues for it and answers false.
    pub(super) fn take(&self, waiter: &Arc<Waiter>, slot: usize) -> bool {
        let mut queue = locked(&self.0);
        if queue.taken {
            queue.waiting.push_back((Arc::clone(waiter), slot));
        }
        !std::mem::replace(&mut queue.taken, true)
    }

    /// Hands the turn on. True when another request has it now: a virtual reactor has to go round
    /// once more.
    pub(super) fn release(&self) -> bool {
        let mut queue = locked(&self.0);
        let Some((waiter, slot)) = queue.waiting.pop_front() else {
            queue.taken = false;
            return false;
        };
        *locked(&waiter.granted) = Some(slot);
        if let Some(ringer) = &waiter.ringer {
            ringer.ring();
        }
        true
    }

    /// Takes a channel that goes away out of the queue. True when it had been handed the turn,
    /// which it then must release.
    pub(super) fn cancel(&self, waiter: &Arc<Waiter>) -> bool {
        let mut queue = locked(&self.0);
        queue.waiting.retain(|(other, _)| !Arc::ptr_eq(other, waiter));
        waiter.take_granted().is_some()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(turn.release());
        assert_eq!((there.take_granted(), here.take_granted()), (Some(2), None));
        assert!(!turn.cancel(&there), "2 has taken up its turn, and 4 has not got one");
        assert!(turn.release());
        assert!(turn.cancel(&here), "3 was handed it and must give it on");
        assert!(!turn.release());
        assert!(turn.take(&there, 5), "free again");
    }
}

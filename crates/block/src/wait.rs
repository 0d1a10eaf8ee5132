//! The one queue for what may not happen at the same time, shared by all channels of a device.
//!
//! ```text
//!   held      [====shared====]      [=exclusive=]
//!               [==shared==]
//!   waiting         [=exclusive=]  [shared]     each waits for what it meets, held or asked before
//! ```
//!
//! Nothing blocks, and no claim is overtaken by one that it meets: a request that does not get its
//! claim at once is queued, and finds the grant with its [`Waiter`] later; a channel on another
//! reactor is rung. A request takes all that it needs in one claim, so that no two can wait for one
//! another.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reactor::{Clock, Reactor, Ringer};
use words::{Text, statement};

use crate::Error;
use crate::catalogue;

/// Where a channel finds which of its requests may go on, by the number that it gave them.
#[derive(Debug)]
pub struct Waiter {
    granted: Mutex<Vec<u32>>,
    any: AtomicBool,
    /// `None` on the virtual clock, where all channels share one reactor.
    ringer: Option<Ringer>,
}

impl Waiter {
    /// For one channel, which is rung by `ringer` on a clock that others do not share.
    #[must_use]
    pub fn new(ringer: Option<Ringer>) -> Arc<Waiter> {
        Arc::new(Waiter { granted: Mutex::default(), any: AtomicBool::new(false), ringer })
    }

    /// For one channel on `reactor`; `what` it waits for is named in errors.
    ///
    /// # Errors
    /// The kernel's, for a bell.
    pub fn on(reactor: &Reactor, what: impl Into<Text>) -> Result<Arc<Waiter>, Error> {
        let ringer = match reactor.clock() {
            Clock::Wall => Some(reactor.ringer().map_err(|error| {
                Error::from_io(statement!(catalogue::A_BELL_FOR, what = what), error)
            })?),
            Clock::Virtual => None,
        };
        Ok(Waiter::new(ringer))
    }

    /// Has a request go on, and wakes the owner of its channel.
    pub fn wake(&self, request: u32) {
        self.grant(request);
        if let Some(ringer) = &self.ringer {
            ringer.ring();
        }
    }

    /// The requests that were granted their claim, in the order of the grants.
    #[must_use]
    pub fn granted(&self) -> Vec<u32> {
        let mut requests = Vec::new();
        self.take_granted(&mut requests);
        requests
    }

    /// Moves the requests that were granted their claim to `requests`, in the order of the grants.
    pub fn take_granted(&self, requests: &mut Vec<u32>) {
        if self.any.load(Ordering::Acquire) && self.any.swap(false, Ordering::AcqRel) {
            requests.append(&mut locked(&self.granted));
        }
    }

    fn grant(&self, request: u32) {
        locked(&self.granted).push(request);
        self.any.store(true, Ordering::Release);
    }
}

/// What is held or waited for: a range, a turn.
pub trait Claim {
    /// Whether the two may not be held at the same time.
    fn meets(&self, other: &Self) -> bool;

    /// Whether it meets none that says the same of itself: where all do, nothing is compared.
    fn is_shared(&self) -> bool {
        false
    }
}

struct Ticket<C> {
    claim: C,
    waiter: Arc<Waiter>,
    request: u32,
}

/// A claim of another channel was granted: a virtual reactor has to go round once more.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OthersWoken(pub bool);

impl OthersWoken {
    /// Sends a virtual reactor round once more where that is needed: nothing else would. On the
    /// wall clock it costs nothing.
    pub fn nudge(self, reactor: &Reactor) {
        if self.0 {
            reactor.nudge();
        }
    }
}

/// What is held, and the requests that wait for it. Few are in use at a time, so lists are all it
/// takes.
pub struct WaitQueue<C> {
    held: Vec<C>,
    /// How many of them are not shared.
    alone: usize,
    /// In the order of asking; each meets one that is held, or one that asked before it.
    waiting: VecDeque<Ticket<C>>,
}

impl<C> Default for WaitQueue<C> {
    fn default() -> WaitQueue<C> {
        WaitQueue { held: Vec::new(), alone: 0, waiting: VecDeque::new() }
    }
}

impl<C: Claim> WaitQueue<C> {
    /// Takes what is claimed, or queues for it and answers false; then `request` appears at the
    /// waiter in time.
    pub fn take(&mut self, claim: C, waiter: &Arc<Waiter>, request: u32) -> bool {
        let free = self.is_free(&claim, usize::MAX);
        if free {
            self.hold(claim);
        } else {
            self.waiting.push_back(Ticket { claim, waiter: Arc::clone(waiter), request });
        }
        free
    }

    /// Takes what is claimed if nothing has to be waited for.
    pub fn take_free(&mut self, claim: C) -> bool {
        let free = self.is_free(&claim, usize::MAX);
        if free {
            self.hold(claim);
        }
        free
    }

    /// Frees the claim that `which` names and hands it on. `None` when it is not held.
    pub fn release(
        &mut self,
        which: impl FnMut(&C) -> bool,
        by: &Arc<Waiter>,
    ) -> Option<OthersWoken> {
        let at = self.held.iter().position(which)?;
        self.alone -= usize::from(!self.held.swap_remove(at).is_shared());
        Some(self.grant_free(by))
    }

    /// Takes a request out of the queue; `None` when it does not wait, or not any more.
    pub fn cancel(&mut self, waiter: &Arc<Waiter>, request: u32) -> Option<OthersWoken> {
        let waits =
            |ticket: &Ticket<C>| Arc::ptr_eq(&ticket.waiter, waiter) && ticket.request == request;
        let at = self.waiting.iter().position(waits)?;
        self.waiting.remove(at);
        Some(self.grant_free(waiter))
    }

    /// Takes all requests of a channel that goes away out of the queue.
    pub fn forget(&mut self, waiter: &Arc<Waiter>) -> OthersWoken {
        self.waiting.retain(|ticket| !Arc::ptr_eq(&ticket.waiter, waiter));
        self.grant_free(waiter)
    }

    /// How many requests wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What is held, in no order.
    pub fn held(&self) -> impl Iterator<Item = &C> {
        self.held.iter()
    }

    /// Whether neither what is held nor one of the first `ahead` that wait has to be done first.
    fn is_free(&self, claim: &C, ahead: usize) -> bool {
        let compares = !claim.is_shared() || self.alone > 0;
        let meets_held = compares && self.held.iter().any(|other| other.meets(claim));
        let mut waiting = self.waiting.iter().take(ahead);
        !meets_held && !waiting.any(|ticket| ticket.claim.meets(claim))
    }

    fn hold(&mut self, claim: C) {
        self.alone += usize::from(!claim.is_shared());
        self.held.push(claim);
    }

    fn grant_free(&mut self, by: &Arc<Waiter>) -> OthersWoken {
        let (mut others, mut at) = (false, 0);
        while at < self.waiting.len() {
            if !self.is_free(&self.waiting[at].claim, at) {
                at += 1;
                continue;
            }
            let next = self.waiting.remove(at).expect("within the queue");
            self.hold(next.claim);
            // The channel that makes way looks by itself.
            if Arc::ptr_eq(&next.waiter, by) {
                next.waiter.grant(next.request);
            } else {
                others = true;
                next.waiter.wake(next.request);
            }
        }
        OthersWoken(others)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use reactor::Random;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Range {
        owner: u32,
        first: u64,
        end: u64,
        exclusive: bool,
    }

    impl Claim for Range {
        fn meets(&self, other: &Range) -> bool {
            (self.exclusive || other.exclusive) && self.first < other.end && other.first < self.end
        }

        fn is_shared(&self) -> bool {
            !self.exclusive
        }
    }

    fn range(owner: u32, blocks: std::ops::Range<u64>, exclusive: bool) -> Range {
        Range { owner, first: blocks.start, end: blocks.end, exclusive }
    }

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let (mut queue, here, there) = (WaitQueue::default(), Waiter::new(None), Waiter::new(None));
        assert!(queue.take(range(0, 0..4, false), &here, 0));
        assert!(queue.take(range(1, 3..8, false), &here, 1));
        assert!(!queue.take(range(2, 2..5, true), &there, 2));
        assert!(!queue.take_free(range(3, 4..6, false)), "the writer came first");
        assert!(!queue.take(range(3, 4..6, false), &here, 3));
        assert!(queue.take_free(range(4, 6..7, false)));
        let owner = |owner| move |range: &Range| range.owner == owner;
        assert_eq!(queue.release(owner(0), &here), Some(OthersWoken(false)));
        assert_eq!(there.granted(), []);
        assert_eq!(queue.release(owner(1), &here), Some(OthersWoken(true)));
        assert_eq!((there.granted(), here.granted()), (vec![2], vec![]));
        assert_eq!(queue.release(owner(2), &here), Some(OthersWoken(false)));
        assert_eq!(here.granted(), [3]);
        assert_eq!(queue.release(owner(2), &here), None, "it is not held");
    }

    #[test]
    fn what_gives_up_its_place_lets_others_go_on() {
        let (mut queue, waiter) = (WaitQueue::default(), Waiter::new(None));
        assert!(queue.take(range(0, 0..4, false), &waiter, 0));
        assert!(!queue.take(range(1, 0..4, true), &waiter, 1));
        assert!(!queue.take(range(2, 0..4, false), &waiter, 2));
        assert_eq!(queue.cancel(&waiter, 1), Some(OthersWoken(false)));
        assert_eq!(waiter.granted(), [2]);
        assert_eq!(queue.cancel(&waiter, 2), None, "it waits no more");
    }

    #[test]
    fn none_meets_another_and_none_is_forgotten() {
        for seed in 0..50 {
            let mut random = Random::with_seed(seed);
            let (mut queue, waiter) = (WaitQueue::default(), Waiter::new(None));
            let (mut begun, mut ended, mut waiting) = (0, 0, 0);
            while ended < 200 {
                if begun < 200 && random.bool() {
                    let first = random.u64(..20);
                    let blocks = first..first + random.u64(1..5);
                    let claim = range(begun, blocks, random.u8(..3) == 0);
                    waiting += usize::from(!queue.take(claim, &waiter, begun));
                    begun += 1;
                } else if begun > ended {
                    let held: Vec<u32> = queue.held().map(|range| range.owner).collect();
                    assert!(!held.is_empty(), "seed {seed}: all wait for one another");
                    let owner = held[random.usize(..held.len())];
                    let released = queue.release(|range| range.owner == owner, &waiter);
                    assert_eq!(released, Some(OthersWoken(false)), "seed {seed}");
                    waiting -= waiter.granted().len();
                    ended += 1;
                }
                let held: Vec<Range> = queue.held().copied().collect();
                assert_eq!(held.len() + waiting, (begun - ended) as usize, "seed {seed}");
                for (number, one) in held.iter().enumerate() {
                    assert!(!held[..number].iter().any(|other| other.meets(one)), "seed {seed}");
                }
            }
        }
    }
}

//! The blocks that jobs work on: many may read a range, or one may change it; over all channels, in
//! the order of asking.
//!
//! ```text
//!   held      [====shared====]      [=exclusive=]
//!               [==shared==]
//!   waiting         [=exclusive=]  [shared]        each waits for what overlaps it, held or asked for before
//! ```
//!
//! A request takes all of its range at once or queues for it, so that no two can wait for one
//! another. Nothing blocks: a job that queued finds its turn with its [`Waiter`] later, and a
//! channel on another reactor is rung.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reactor::Ringer;

/// Where a channel finds which of its requests may go on.
pub(super) struct Waiter {
    granted: Mutex<Vec<usize>>,
    any: AtomicBool,
    /// `None` on the virtual clock, where all channels share one reactor.
    ringer: Option<Ringer>,
}

impl Waiter {
    pub(super) fn new(ringer: Option<Ringer>) -> Arc<Waiter> {
        Arc::new(Waiter { granted: Mutex::default(), any: AtomicBool::new(false), ringer })
    }

    /// The requests that were granted their range since it was last asked.
    pub(super) fn take_granted(&self) -> Vec<usize> {
        if !self.any.load(Ordering::Acquire) || !self.any.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *self.granted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The request may go on. `by` is the channel that made way: it looks by itself, and need not
    /// be rung.
    fn grant(self: &Arc<Waiter>, slot: usize, by: &Arc<Waiter>) {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        self.any.store(true, Ordering::Release);
        if let Some(ringer) = self.ringer.as_ref().filter(|_| !Arc::ptr_eq(self, by)) {
            ringer.ring();
        }
    }
}

/// A job's hold on a range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    /// Channel and request: each has one range at most.
    pub(super) owner: (u32, usize),
    pub(super) first: u64,
    pub(super) end: u64,
    /// No other job is to read or change these blocks.
    pub(super) exclusive: bool,
}

impl Hold {
    fn conflicts(&self, other: &Hold) -> bool {
        (self.exclusive || other.exclusive) && self.first < other.end && other.first < self.end
    }
}

/// All ranges that are held or waited for.
#[derive(Default)]
pub(super) struct Ranges {
    held: Vec<Hold>,
    /// How many of them are exclusive.
    exclusive: u32,
    waiting: VecDeque<(Hold, Arc<Waiter>)>,
}

impl Ranges {
    /// Takes the range, or queues for it and answers false.
    pub(super) fn take(&mut self, hold: Hold, waiter: &Arc<Waiter>) -> bool {
        let free = self.take_free(hold);
        if !free {
            self.waiting.push_back((hold, Arc::clone(waiter)));
        }
        free
    }

    /// Takes the range if it is free.
    pub(super) fn take_free(&mut self, hold: Hold) -> bool {
        let free = !self.conflicts_held(&hold)
            && !self.waiting.iter().any(|(other, _)| other.conflicts(&hold));
        if free {
            self.push(hold);
        }
        free
    }

    /// Most share with others that share.
    fn conflicts_held(&self, hold: &Hold) -> bool {
        (hold.exclusive || self.exclusive > 0)
            && self.held.iter().any(|other| other.conflicts(hold))
    }

    fn push(&mut self, hold: Hold) {
        self.exclusive += u32::from(hold.exclusive);
        self.held.push(hold);
    }

    /// Gives the owner's range back, or its place in the queue. True when another may go on
    /// now: a virtual reactor has to go round once more.
    pub(super) fn release(&mut self, owner: (u32, usize), by: &Arc<Waiter>) -> bool {
        match self.held.iter().position(|hold| hold.owner == owner) {
            Some(place) => self.exclusive -= u32::from(self.held.swap_remove(place).exclusive),
            None => self.waiting.retain(|(hold, _)| hold.owner != owner),
        }
        if self.waiting.is_empty() {
            return false;
        }
        let mut any = false;
        let mut still: VecDeque<(Hold, Arc<Waiter>)> = VecDeque::with_capacity(self.waiting.len());
        for (hold, waiter) in std::mem::take(&mut self.waiting) {
            if self.conflicts_held(&hold) || still.iter().any(|(other, _)| other.conflicts(&hold)) {
                still.push_back((hold, waiter));
            } else {
                self.push(hold);
                waiter.grant(hold.owner.1, by);
                any = true;
            }
        }
        self.waiting = still;
        any
    }

    /// Whether the owner has its range.
    #[cfg(test)]
    fn has(&self, owner: (u32, usize)) -> bool {
        self.held.iter().any(|hold| hold.owner == owner)
    }

    /// Whether any job works on the block.
    pub(super) fn covers(&self, block: u64) -> bool {
        self.held.iter().any(|hold| hold.first <= block && block < hold.end)
    }
}

/// The range of one request.
pub(super) fn hold(owner: (u32, usize), blocks: &Range<u64>, exclusive: bool) -> Hold {
    Hold { owner, first: blocks.start, end: blocks.end, exclusive }
}

#[cfg(test)]
mod tests {
    use reactor::Random;

    use super::*;

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let (mut ranges, waiter) = (Ranges::default(), Waiter::new(None));
        assert!(ranges.take(hold((0, 0), &(0..4), false), &waiter));
        assert!(ranges.take(hold((0, 1), &(3..8), false), &waiter));
        assert!(!ranges.take(hold((0, 2), &(2..5), true), &waiter));
        assert!(!ranges.take(hold((0, 3), &(4..6), false), &waiter), "it came after the writer");
        assert!(ranges.take(hold((0, 4), &(6..7), false), &waiter));
        assert!(!ranges.release((0, 0), &waiter));
        assert!(waiter.take_granted().is_empty());
        assert!(ranges.release((0, 1), &waiter));
        assert_eq!(waiter.take_granted(), [2]);
        assert!(ranges.covers(4) && !ranges.covers(7));
        assert!(ranges.release((0, 2), &waiter));
        assert_eq!(waiter.take_granted(), [3]);
    }

    #[test]
    fn who_gives_up_its_place_lets_others_go_on() {
        let (mut ranges, waiter) = (Ranges::default(), Waiter::new(None));
        assert!(ranges.take(hold((0, 0), &(0..4), false), &waiter));
        assert!(!ranges.take(hold((0, 1), &(0..4), true), &waiter));
        assert!(!ranges.take(hold((0, 2), &(0..4), false), &waiter));
        assert!(ranges.release((0, 1), &waiter));
        assert_eq!(waiter.take_granted(), [2]);
    }

    #[test]
    fn nobody_meets_a_writer_and_nobody_is_forgotten() {
        for seed in 0..50 {
            let mut random = Random::with_seed(seed);
            let (mut ranges, waiter) = (Ranges::default(), Waiter::new(None));
            let mut all: Vec<Option<Hold>> = Vec::new();
            let mut begun = 0;
            while begun < 200 || all.iter().any(Option::is_some) {
                if begun < 200 && random.bool() {
                    let first = random.u64(..20);
                    let one =
                        hold((0, begun), &(first..first + random.u64(1..5)), random.u8(..3) == 0);
                    ranges.take(one, &waiter);
                    all.push(Some(one));
                    begun += 1;
                } else {
                    let held: Vec<usize> = (0..all.len())
                        .filter(|&slot| all[slot].is_some() && ranges.has((0, slot)))
                        .collect();
                    assert!(
                        !held.is_empty() || all.iter().all(Option::is_none),
                        "seed {seed}: all wait for one another"
                    );
                    if let Some(&slot) = held.get(random.usize(..held.len().max(1))) {
                        ranges.release((0, slot), &waiter);
                        all[slot] = None;
                    }
                }
                for (number, one) in ranges.held.iter().enumerate() {
                    assert!(
                        !ranges.held[..number].iter().any(|other| other.conflicts(one)),
                        "seed {seed}"
                    );
                }
            }
        }
    }
}

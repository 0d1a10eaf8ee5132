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

use std::ops::Range;
use std::sync::Arc;

use block::{Claim, WaitQueue, Waiter};

/// A job's hold on a range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    /// Channel and job: each has one range at most.
    pub(super) owner: (u32, u32),
    pub(super) first: u64,
    pub(super) end: u64,
    /// No other job is to read or change these blocks.
    pub(super) exclusive: bool,
}

impl Claim for Hold {
    fn meets(&self, other: &Hold) -> bool {
        (self.exclusive || other.exclusive) && self.first < other.end && other.first < self.end
    }

    fn is_shared(&self) -> bool {
        !self.exclusive
    }
}

/// All ranges that are held or waited for.
#[derive(Default)]
pub(super) struct Ranges(WaitQueue<Hold>);

impl Ranges {
    /// Takes the range, or queues for it and answers false.
    pub(super) fn take(&mut self, hold: Hold, waiter: &Arc<Waiter>) -> bool {
        self.0.take(hold, waiter, hold.owner.1)
    }

    /// Takes the range if nothing has to be waited for.
    pub(super) fn take_free(&mut self, hold: Hold) -> bool {
        self.0.take_free(hold)
    }

    /// Gives the owner's range back, or its place in the queue. True when another job may go on
    /// now: a virtual reactor has to go round once more.
    pub(super) fn release(&mut self, owner: (u32, u32), by: &Arc<Waiter>) -> bool {
        let mut waited = self.0.waiting();
        if self.0.release(|hold| hold.owner == owner, by).is_none() {
            waited -= usize::from(self.0.cancel(by, owner.1).is_some());
        }
        self.0.waiting() < waited
    }

    /// Whether any job works on the block.
    pub(super) fn covers(&self, block: u64) -> bool {
        self.0.held().any(|hold| hold.first <= block && block < hold.end)
    }
}

/// The range of one job.
pub(super) fn hold(owner: (u32, u32), blocks: &Range<u64>, exclusive: bool) -> Hold {
    Hold { owner, first: blocks.start, end: blocks.end, exclusive }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(waiter.granted(), []);
        assert!(ranges.release((0, 1), &waiter));
        assert_eq!(waiter.granted(), [2]);
        assert!(ranges.covers(4) && !ranges.covers(7));
        assert!(ranges.release((0, 2), &waiter));
        assert_eq!(waiter.granted(), [3]);
    }

    #[test]
    fn who_gives_up_its_place_lets_others_go_on() {
        let (mut ranges, waiter) = (Ranges::default(), Waiter::new(None));
        assert!(ranges.take(hold((0, 0), &(0..4), false), &waiter));
        assert!(!ranges.take(hold((0, 1), &(0..4), true), &waiter));
        assert!(!ranges.take(hold((0, 2), &(0..4), false), &waiter));
        assert!(ranges.release((0, 1), &waiter));
        assert_eq!(waiter.granted(), [2]);
    }
}

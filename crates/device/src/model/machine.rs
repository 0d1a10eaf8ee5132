//! Disks on one link, simulated together: what one disk's data costs the link delays the others, so
//! they share one clock.
//!
//! ```text
//!   submit(now, disk, ...) --> [ disk 0 ] --+
//!                              [ disk 1 ] --+-- [ link ]        next() = the earliest of all timers
//!   advance(now) <-- answers   [ disk 2 ] --+
//! ```
//!
//! A machine moves only when it is called: everything up to `now` happens in order of time, disks
//! before the link and lower numbers first where times are equal, so that the same calls give the
//! same answers. It does no I/O and keeps no data.
//!
//! Each disk has a time of its own, which may lie behind: what no request waits for is done when
//! the disk is next touched. In the tests a machine that does every event at its time answers
//! alike.

use std::collections::VecDeque;

use super::disk::NEVER;
use super::drive::Drive;
use super::link::Link;
use super::notes::MediaNote;
use super::parameters::Parameters;
use super::request::{Answer, Operation};

/// In place of a disk's number.
const LINK: usize = usize::MAX;

/// Disks on one link.
#[derive(Clone, Debug)]
pub struct Machine {
    disks: Vec<Drive>,
    /// When each disk next does something that others can see.
    times: Vec<u64>,
    /// The earliest of these, and on which disk.
    first: (u64, usize),
    link: Link,
    now: u64,
    answers: VecDeque<Answer>,
    /// Every timer is an event, so that nothing is ever left to be caught up with.
    #[cfg(test)]
    is_eager: bool,
}

impl Machine {
    /// A machine without disks, with the link that these parameters describe.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        Machine {
            disks: Vec::new(),
            times: Vec::new(),
            first: (NEVER, LINK),
            link: Link::new(parameters),
            now: 0,
            answers: VecDeque::new(),
            #[cfg(test)]
            is_eager: false,
        }
    }

    /// The same, which does every event at its time.
    #[cfg(test)]
    pub(super) fn eager(parameters: &Parameters) -> Self {
        Machine { is_eager: true, ..Self::new(parameters) }
    }

    /// Adds a disk, whose spindle's speed and phase come from the seed; its number.
    pub fn add_disk(&mut self, parameters: &Parameters, seed: u64) -> usize {
        let index = self.disks.len();
        self.disks.push(Drive::new(index, parameters, seed));
        self.times.push(NEVER);
        self.link.add_disk();
        index
    }

    /// Size of a disk in bytes.
    #[must_use]
    pub fn capacity(&self, disk: usize) -> u64 {
        self.disks[disk].capacity()
    }

    /// Bytes that a disk holds in its write cache, reserved room included.
    #[must_use]
    pub fn dirty_bytes(&mut self, disk: usize) -> u64 {
        self.disk_now(disk).dirty_bytes()
    }

    /// What a disk holds in its write cache that is not on the media yet, as starts and ends in
    /// bytes, in order.
    #[must_use]
    pub fn dirty_ranges(&mut self, disk: usize) -> Vec<(u64, u64)> {
        self.disk_now(disk).dirty_ranges()
    }

    /// Notes from now on how data come to a disk's media.
    pub fn note_media(&mut self, disk: usize) {
        self.disk_now(disk).notes().begin();
    }

    /// What was noted of a disk since the last time, in the machine's time. A write that has begun
    /// may have been given up since.
    pub fn take_notes(&mut self, disk: usize) -> Vec<MediaNote> {
        self.disk_now(disk).notes().take()
    }

    /// A disk as it is now.
    fn disk_now(&mut self, disk: usize) -> &mut Drive {
        let disk = &mut self.disks[disk];
        disk.catch_up(self.now, &mut self.link, &mut self.answers);
        disk
    }

    /// The unit in which data come to a disk's media, in bytes.
    #[must_use]
    pub fn media_block_bytes(&self, disk: usize) -> u64 {
        self.disks[disk].block_bytes()
    }

    /// How long the link has been used so far if every transfer had had it alone, in nanoseconds.
    #[must_use]
    pub fn link_used_nanoseconds(&self) -> f64 {
        self.link.used_nanoseconds
    }

    /// Asks something of a disk at a time, which is taken to be no earlier than that of the last
    /// call.
    ///
    /// # Panics
    /// When the request is empty or reaches beyond the end of the disk: the caller has checked
    /// that.
    pub fn submit(&mut self, now: u64, disk: usize, client: u32, tag: u64, operation: Operation) {
        if let Operation::Read { offset, length } | Operation::Write { offset, length, .. } =
            operation
        {
            let end = offset.checked_add(length).expect("a request ends below 2^64");
            assert!(
                length > 0 && end <= self.disks[disk].capacity(),
                "a request lies within its disk"
            );
        }
        self.run(now);
        let asked = &mut self.disks[disk];
        asked.catch_up(self.now, &mut self.link, &mut self.answers);
        asked.submit(self.now, client, tag, operation, &mut self.link);
        self.times[disk] = self.next_of(disk);
        self.first = self.find_first();
    }

    /// Lets everything up to `now` happen and hands over what is done, in order of time.
    pub fn advance(&mut self, now: u64, done: &mut impl FnMut(Answer)) {
        self.run(now);
        while let Some(answer) = self.answers.pop_front() {
            done(answer);
        }
    }

    /// When something next happens that can be seen: the time to call [`Machine::advance`]. `None`
    /// when nothing will, though disks may still write out what they hold.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        if !self.answers.is_empty() {
            return Some(self.now);
        }
        (self.first.0 != NEVER).then_some(self.first.0)
    }

    /// The machine's time: that of the latest call or answer.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A time before which none of the requests now under way on this disk can be done, whatever
    /// else is submitted until then; `None` when there are none. Waiting until then skips the
    /// events in between, which `advance` catches up with.
    #[must_use]
    pub fn next_answer(&self, disk: usize) -> Option<u64> {
        let bound = |disk: &Drive| disk.next_answer(&self.link);
        let next = if self.disks[disk].is_held_up() {
            self.disks.iter().map(bound).min().unwrap_or(NEVER)
        } else {
            bound(&self.disks[disk])
        };
        // Nothing at all happens before the next event.
        (next != NEVER).then(|| next.max(self.next().unwrap_or(0)))
    }

    /// When a disk next does something that is an event.
    fn next_of(&self, disk: usize) -> u64 {
        #[cfg(test)]
        if self.is_eager {
            return self.disks[disk].next_timer();
        }
        self.disks[disk].next()
    }

    fn find_first(&self) -> (u64, usize) {
        let (mut next, mut who) = (self.link.next(), LINK);
        for (disk, &time) in self.times.iter().enumerate() {
            if time < next || (time == next && who == LINK && time != NEVER) {
                (next, who) = (time, disk);
            }
        }
        (next, who)
    }

    fn run(&mut self, now: u64) {
        while self.first.0 <= now && self.first.0 != NEVER {
            let (next, mut who) = self.first;
            self.now = self.now.max(next);
            if who == LINK {
                who = self.link.finish(next);
                let disk = &mut self.disks[who];
                disk.catch_up(next, &mut self.link, &mut self.answers);
                disk.transfer_done(next, &mut self.link, &mut self.answers);
            } else {
                let disk = &mut self.disks[who];
                // What is due at this very time takes its turn in the step.
                if let Some(before) = next.checked_sub(1) {
                    disk.catch_up(before, &mut self.link, &mut self.answers);
                }
                disk.step(next, &mut self.link, &mut self.answers);
            }
            self.times[who] = self.next_of(who);
            while let Some(owner) = self.link.take_granted() {
                self.disks[owner].accept(self.now, &mut self.link);
                self.times[owner] = self.next_of(owner);
            }
            self.first = self.find_first();
        }
        self.now = self.now.max(now);
    }
}

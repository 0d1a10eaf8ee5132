//! The machine as it was before its disks were left alone: every timer of every disk in order of
//! time.

use std::collections::VecDeque;

use super::disk::{Disk, NEVER};
use super::{Answer, Link, MediaNote, Operation, Parameters};

/// In place of a disk's number.
const LINK: usize = usize::MAX;

/// Disks on one link.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    disks: Vec<Disk>,
    /// When each disk next does something.
    times: Vec<u64>,
    /// When anything at all next happens, and on which disk.
    first: (u64, usize),
    link: Link,
    now: u64,
    answers: VecDeque<Answer>,
}

impl Machine {
    /// A machine without disks, with the link that these parameters describe.
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Machine {
            disks: Vec::new(),
            times: Vec::new(),
            first: (NEVER, LINK),
            link: Link::new(parameters),
            now: 0,
            answers: VecDeque::new(),
        }
    }

    /// Adds a disk, whose spindle's speed and phase come from the seed; its number.
    pub(crate) fn add_disk(&mut self, parameters: &Parameters, seed: u64) -> usize {
        let index = self.disks.len();
        self.disks.push(Disk::new(index, parameters, seed));
        self.times.push(NEVER);
        self.link.add_disk();
        index
    }

    /// Bytes that a disk holds in its write cache, reserved room included.
    pub(crate) fn dirty_bytes(&self, disk: usize) -> u64 {
        self.disks[disk].dirty_bytes()
    }

    /// What a disk holds in its write cache that is not on the media yet, as starts and ends in
    /// bytes, in order.
    pub(crate) fn dirty_ranges(&self, disk: usize) -> Vec<(u64, u64)> {
        self.disks[disk].dirty_ranges()
    }

    /// Notes from now on how data come to a disk's media.
    pub(crate) fn note_media(&mut self, disk: usize) {
        self.disks[disk].notes.begin();
    }

    /// What was noted of a disk since the last time, in the machine's time. A write that has begun
    /// may have been given up since.
    pub(crate) fn take_notes(&mut self, disk: usize) -> Vec<MediaNote> {
        self.disks[disk].notes.take()
    }

    /// How long the link has been used so far if every transfer had had it alone, in nanoseconds.
    pub(crate) fn link_used_nanoseconds(&self) -> f64 {
        self.link.used_nanoseconds
    }

    /// Asks something of a disk at a time, which is taken to be no earlier than that of the last
    /// call.
    pub(crate) fn submit(
        &mut self,
        now: u64,
        disk: usize,
        client: u32,
        tag: u64,
        operation: Operation,
    ) {
        self.run(now);
        self.disks[disk].submit(self.now, client, tag, operation, &mut self.link);
        self.times[disk] = self.disks[disk].next();
        self.first = self.find_first();
    }

    /// Lets everything up to `now` happen and hands over what is done, in order of time.
    pub(crate) fn advance(&mut self, now: u64, done: &mut impl FnMut(Answer)) {
        self.run(now);
        while let Some(answer) = self.answers.pop_front() {
            done(answer);
        }
    }

    /// When something next happens: the time to call [`Machine::advance`]. `None` when nothing
    /// will.
    pub(crate) fn next(&self) -> Option<u64> {
        if !self.answers.is_empty() {
            return Some(self.now);
        }
        (self.first.0 != NEVER).then_some(self.first.0)
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
                self.disks[who].transfer_done(next, &mut self.link, &mut self.answers);
            } else {
                self.disks[who].step(next, &mut self.link, &mut self.answers);
            }
            self.times[who] = self.disks[who].next();
            while let Some(owner) = self.link.take_granted() {
                self.disks[owner].accept(self.now, &mut self.link);
                self.times[owner] = self.disks[owner].next();
            }
            self.first = self.find_first();
        }
        self.now = self.now.max(now);
    }
}

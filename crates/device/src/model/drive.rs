//! A drive of a [`Machine`](super::Machine): a disk that turns (or one that is modelled alike), or
//! an SSD.

use std::collections::VecDeque;

use super::disk::Disk;
use super::link::Link;
use super::notes::Notes;
use super::parameters::Parameters;
use super::request::{Answer, Operation};
use super::ssd::Ssd;

/// A drive and everything that is under way in it.
#[derive(Clone, Debug)]
pub(super) enum Drive {
    Disk(Box<Disk>),
    Ssd(Box<Ssd>),
}

/// The same call of either kind.
macro_rules! either {
    ($self:expr, $drive:ident => $call:expr) => {
        match $self {
            Drive::Disk($drive) => $call,
            Drive::Ssd($drive) => $call,
        }
    };
}

impl Drive {
    pub(super) fn new(index: usize, parameters: &Parameters, seed: u64) -> Self {
        match &parameters.flash {
            Some(flash) => Drive::Ssd(Box::new(Ssd::new(index, parameters, flash, seed))),
            None => Drive::Disk(Box::new(Disk::new(index, parameters, seed))),
        }
    }

    /// The unit in which data come to the media, in bytes.
    pub(super) fn block_bytes(&self) -> u64 {
        either!(self, drive => drive.block_bytes())
    }

    pub(super) fn capacity(&self) -> u64 {
        either!(self, drive => drive.capacity())
    }

    /// Bytes in the write cache.
    pub(super) fn dirty_bytes(&self) -> u64 {
        either!(self, drive => drive.dirty_bytes())
    }

    /// What a power cut would lose, as starts and ends in bytes, in order.
    pub(super) fn dirty_ranges(&self) -> Vec<(u64, u64)> {
        either!(self, drive => drive.dirty_ranges())
    }

    pub(super) fn notes(&mut self) -> &mut Notes {
        either!(self, drive => &mut drive.notes)
    }

    /// When something next happens in this drive that may use the link or end a command.
    pub(super) fn next(&self) -> u64 {
        either!(self, drive => drive.next())
    }

    /// When anything at all next happens in it.
    #[cfg(test)]
    pub(super) fn next_timer(&self) -> u64 {
        match self {
            Drive::Disk(disk) => disk.next_timer(),
            Drive::Ssd(ssd) => ssd.next(),
        }
    }

    /// Does what was due until `now` and not waited for.
    pub(super) fn catch_up(&mut self, now: u64, link: &mut Link, answers: &mut VecDeque<Answer>) {
        match self {
            Drive::Disk(disk) => disk.catch_up(now, link, answers),
            Drive::Ssd(ssd) => ssd.catch_up(now),
        }
    }

    /// A time before which no command that is in this drive now can end.
    pub(super) fn next_answer(&self, link: &Link) -> u64 {
        either!(self, drive => drive.next_answer(link))
    }

    /// Whether commands wait for a link that another drive holds.
    pub(super) fn is_held_up(&self) -> bool {
        match self {
            Drive::Disk(disk) => disk.is_held_up(),
            Drive::Ssd(_) => false,
        }
    }

    /// Does what is due now; one thing at a time.
    pub(super) fn step(&mut self, now: u64, link: &mut Link, answers: &mut VecDeque<Answer>) {
        either!(self, drive => drive.step(now, link, answers));
    }

    pub(super) fn submit(
        &mut self,
        now: u64,
        client: u32,
        tag: u64,
        operation: Operation,
        link: &mut Link,
    ) {
        match self {
            Drive::Disk(disk) => disk.submit(now, client, tag, operation, link),
            Drive::Ssd(ssd) => ssd.submit(now, client, tag, operation),
        }
    }

    /// Takes the next command from the host, if one can be taken.
    pub(super) fn accept(&mut self, now: u64, link: &mut Link) {
        match self {
            Drive::Disk(disk) => disk.accept(now, link),
            Drive::Ssd(_) => (),
        }
    }

    /// A transfer over the link has ended.
    pub(super) fn transfer_done(
        &mut self,
        now: u64,
        link: &mut Link,
        answers: &mut VecDeque<Answer>,
    ) {
        either!(self, drive => drive.transfer_done(now, link, answers));
    }
}

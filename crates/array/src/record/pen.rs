//! What a channel writes metadata with: channels of its own onto the whole members, opened when they are first needed.

use block::{Channel, Completion, Error, Op, Request};
use reactor::{Buf, Reactor};

use super::{Job, Record};

/// The tag of a job's command; those of logs are one more than their piece.
const JOB: u64 = 0;
/// A command of a job and one of the log, which is one writer's at a time.
const DEPTH: u32 = 2;

/// Channels onto desks, and the job under way.
#[derive(Default)]
pub(crate) struct Pen {
    channels: Vec<Option<Box<dyn Channel>>>,
    in_flight: Vec<u32>,
    /// Not taken by a desk: its channel could not be opened.
    refused: Vec<(usize, u64, Error)>,
    job: Option<Job>,
    outstanding: u32,
    failures: Vec<(usize, Error)>,
    done: Vec<Completion>,
    /// Counts what was sent, to see whether polling sent more.
    pub(crate) sent: u64,
}

/// What has ended.
pub(crate) enum Ended {
    /// A log write for a piece.
    Log(u32, Result<(), Error>),
    /// The job, with the desks that did not take theirs.
    Job(Box<Job>, Vec<(usize, Error)>),
}

impl Pen {
    /// Whether there is anything to poll for.
    pub(crate) fn is_busy(&self) -> bool {
        self.job.is_some() || !self.refused.is_empty() || self.in_flight.iter().any(|&count| count > 0)
    }

    pub(crate) fn has_job(&self) -> bool {
        self.job.is_some()
    }

    /// Starts a job; one at a time.
    pub(crate) fn begin(&mut self, job: Job, record: &Record, reactor: &Reactor) {
        debug_assert!(self.job.is_none(), "a scribe does one job at a time");
        self.job = Some(job);
        self.next_phase(record, reactor);
        self.sent += 1;
    }

    /// Writes to a member's log for a piece.
    pub(crate) fn write_log(&mut self, desk: usize, offset: u64, from: Buf, piece: u32, record: &Record, reactor: &Reactor) {
        let op = Op::Write { offset, from, fua: true };
        self.send(desk, u64::from(piece) + 1, op, record, reactor);
    }

    fn next_phase(&mut self, record: &Record, reactor: &Reactor) {
        if self.outstanding == 0
            && !self.failures.is_empty()
            && let Some(job) = &mut self.job
        {
            // What comes next counts on who has failed: that its data are flushed, that its bits are set.
            job.cut();
        }
        while self.outstanding == 0
            && let Some(phase) = self.job.as_mut().and_then(|job| job.phases.pop_front())
        {
            for (desk, op) in phase {
                self.outstanding += 1;
                self.send(desk, JOB, op, record, reactor);
            }
        }
    }

    fn send(&mut self, desk: usize, tag: u64, op: Op, record: &Record, reactor: &Reactor) {
        self.sent += 1;
        if self.channels.len() <= desk {
            self.channels.resize_with(desk + 1, || None);
            self.in_flight.resize(desk + 1, 0);
        }
        let channel = &mut self.channels[desk];
        if channel.is_none() {
            match record.device(desk).open(DEPTH, reactor) {
                Ok(opened) => *channel = Some(opened),
                Err(error) => return self.refused.push((desk, tag, error)),
            }
        }
        let channel = channel.as_mut().expect("opened above");
        channel.submit(Request::new(tag, op));
        self.in_flight[desk] += 1;
    }

    /// Takes what has completed, and goes on with the job.
    pub(crate) fn poll(&mut self, record: &Record, reactor: &Reactor, ended: &mut Vec<Ended>) {
        for (desk, tag, error) in std::mem::take(&mut self.refused) {
            self.take(desk, tag, Err(error), ended);
        }
        for desk in 0..self.channels.len() {
            let Some(channel) = self.channels[desk].as_mut().filter(|_| self.in_flight[desk] > 0) else { continue };
            let mut done = std::mem::take(&mut self.done);
            channel.poll(&mut done);
            self.in_flight[desk] -= done.len() as u32;
            for completion in done.drain(..) {
                self.take(desk, completion.tag, completion.result, ended);
            }
            self.done = done;
        }
        if self.job.is_some() && self.outstanding == 0 {
            self.next_phase(record, reactor);
            if self.outstanding == 0
                && let Some(job) = self.job.take()
            {
                ended.push(Ended::Job(Box::new(job), std::mem::take(&mut self.failures)));
            }
        }
    }

    /// Lets channels go on that have no request of ours: what lies there for them would wake the owner again and again.
    pub(crate) fn poll_idle(&mut self, done: &mut Vec<Completion>) {
        for (channel, _) in self.channels.iter_mut().zip(&self.in_flight).filter(|(_, in_flight)| **in_flight == 0) {
            channel.iter_mut().for_each(|channel| channel.poll(done));
        }
    }

    fn take(&mut self, desk: usize, tag: u64, result: Result<(), Error>, ended: &mut Vec<Ended>) {
        if tag == JOB {
            self.outstanding -= 1;
            self.failures.extend(result.err().map(|error| (desk, error)));
        } else {
            ended.push(Ended::Log((tag - 1) as u32, result));
        }
    }

    /// The job, if it is given up in the middle.
    pub(crate) fn give_up(&mut self) -> Option<Job> {
        self.job.take()
    }
}

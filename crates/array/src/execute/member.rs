//! The members' channels: who sits where, what goes out to them, and what comes back.

use std::sync::Arc;

use block::{Channel, Completion, Error, ErrorKind, Op, Request};
use reactor::Reactor;

use super::{ArrayChannel, NO_COMMAND, PLANNED};
use crate::Level;
use crate::health::Seat;

pub(super) struct MemberQueue {
    /// Whose channel it is; `None` is nobody's.
    pub(super) seat: Option<Arc<Seat>>,
    pub(super) channel: Box<dyn Channel>,
    pub(super) max_request_bytes: u64,
    /// Where the array's data begin on the device, in bytes.
    pub(super) data_offset: u64,
    pub(super) in_flight: u32,
    /// The last command of the phase that is being sent out.
    pub(super) last_command: u32,
}

impl MemberQueue {
    /// The channel of a member that is not there, or has failed. Plans leave it out.
    pub(super) fn unused(seat: Option<Arc<Seat>>) -> MemberQueue {
        MemberQueue {
            seat,
            channel: Box::new(Absent::default()),
            max_request_bytes: u64::from(u32::MAX),
            data_offset: 0,
            in_flight: 0,
            last_command: NO_COMMAND,
        }
    }

    pub(super) fn open(seat: &Arc<Seat>, depth: u32, reactor: &Reactor) -> Result<MemberQueue, Error> {
        let channel = seat.device.open(depth, reactor).map_err(|error| error.at(&seat.name))?;
        let max_request_bytes = u64::from(seat.device.info().max_request_bytes);
        Ok(MemberQueue {
            seat: Some(Arc::clone(seat)),
            channel,
            max_request_bytes,
            data_offset: seat.data_offset,
            ..MemberQueue::unused(None)
        })
    }

    pub(super) fn is_of(&self, seat: Option<&Arc<Seat>>) -> bool {
        self.seat.as_ref().map(Arc::as_ptr) == seat.map(Arc::as_ptr)
    }
}

impl<L: Level> ArrayChannel<L> {
    pub(super) fn refresh_health(&mut self) {
        if self.shared.health.generation() != self.generation {
            self.take_roster();
        }
    }

    /// Learns who counts for what, and opens the channels of who is new.
    #[cold]
    fn take_roster(&mut self) {
        let roster = self.shared.health.roster();
        self.generation = roster.generation;
        (self.absent, self.stale) = (roster.absent, roster.stale);
        self.missing = roster.absent.union(&roster.stale);
        for (member, seat) in roster.seats.into_iter().enumerate() {
            if self.members[member].is_of(seat.as_ref()) {
                continue;
            }
            let queue = match seat.map(|seat| (MemberQueue::open(&seat, self.member_depth, &self.reactor), seat)) {
                None => MemberQueue::unused(None),
                Some((Ok(queue), _)) => queue,
                Some((Err(error), seat)) => {
                    // A member that is not there for one channel is not there for any.
                    self.shared.health.fail(member, Some(&seat), Some(&error), |_| true);
                    MemberQueue::unused(Some(seat))
                }
            };
            let old = std::mem::replace(&mut self.members[member], queue);
            if old.in_flight > 0 {
                self.retired.push((member, old));
            }
            self.queues.restart(member);
        }
        self.refresh_health();
    }

    #[inline]
    pub(super) fn send(&mut self, member: usize, request: Request) {
        let queue = &mut self.members[member];
        queue.in_flight += 1;
        self.sent += 1;
        if L::REDUNDANT {
            let read = if let Op::Read { offset, into } = &request.op { Some((*offset, into.len() as u64)) } else { None };
            self.queues.begin(member, read);
        }
        queue.channel.submit(request);
    }

    /// Takes what one member has completed.
    pub(super) fn poll_member(&mut self, member: usize, done: &mut Vec<Completion>) {
        let at = done.len();
        let queue = &mut self.members[member];
        queue.channel.poll(done);
        let ended = (done.len() - at) as u32;
        queue.in_flight -= ended;
        if L::REDUNDANT {
            self.queues.end(member, ended);
        }
        let failed = done[at..].iter().any(|completion| completion.result.is_err());
        let seat = if failed { self.members[member].seat.clone() } else { None };
        self.end_commands(member, seat.as_ref(), at, done);
    }

    /// Lets those go on who have no request of ours but may have something of their own: a timer, a block on its way into a
    /// cache. Done before the owner sleeps, and not while there is anything else to do.
    pub(super) fn poll_idle(&mut self) {
        let mut done = Vec::new();
        for queue in self.members.iter_mut().filter(|queue| queue.in_flight == 0) {
            queue.channel.poll(&mut done);
        }
        self.pen.poll_idle(&mut done);
        debug_assert!(done.is_empty(), "a channel answers what it was not asked");
    }

    /// Takes what those have completed who have left their places.
    #[cold]
    pub(super) fn poll_retired(&mut self, done: &mut Vec<Completion>) {
        for (member, mut queue) in std::mem::take(&mut self.retired) {
            let at = done.len();
            queue.channel.poll(done);
            queue.in_flight -= (done.len() - at) as u32;
            let seat = queue.seat.clone();
            if queue.in_flight > 0 {
                self.retired.push((member, queue));
            }
            self.end_commands(member, seat.as_ref(), at, done);
        }
    }

    /// Takes completions of one member, from `at` on in `done`. Direct requests end in place, unmoved. If one failed, it was
    /// that of `seat`.
    fn end_commands(&mut self, member: usize, seat: Option<&Arc<Seat>>, mut at: usize, done: &mut Vec<Completion>) {
        while at < done.len() {
            let tag = done[at].tag;
            let failed = done[at].result.is_err();
            if tag & PLANNED != 0 {
                let completion = done.swap_remove(at);
                self.end_command(member, seat, completion);
                continue;
            }
            let slot = tag as u32;
            done[at].tag = self.direct[slot as usize].tag;
            if failed {
                let completion = done.swap_remove(at);
                self.fail_direct(slot, member, seat.cloned(), completion);
            } else {
                self.in_flight -= 1;
                at += 1;
            }
            self.free_direct.push(slot);
        }
    }
}

/// The channel of a member that is not there. Plans leave it out, so nothing should come here.
#[derive(Default)]
struct Absent {
    requests: Vec<Request>,
}

impl Channel for Absent {
    fn submit(&mut self, request: Request) {
        self.requests.push(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let gone = || Err(Error::new(ErrorKind::Gone, "the member is not there"));
        done.extend(self.requests.drain(..).map(|request| request.complete(gone())));
    }

    fn in_flight(&self) -> u32 {
        self.requests.len() as u32
    }
}

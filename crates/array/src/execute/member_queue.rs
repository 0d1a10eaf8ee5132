//! The members' channels: what goes out to them, and what comes back.

use std::sync::Arc;

use block::{Channel, Completion, Error, ErrorKind, Op, Request};
use reactor::Reactor;

use super::{ArrayChannel, NO_COMMAND, PLANNED};
use crate::Level;
use crate::health::Member;

pub(super) struct MemberQueue {
    /// The member whose channel it is; `None` for an empty slot.
    pub(super) member: Option<Arc<Member>>,
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
    pub(super) fn unused(member: Option<Arc<Member>>) -> MemberQueue {
        MemberQueue {
            member,
            channel: Box::new(Absent::default()),
            max_request_bytes: u64::from(u32::MAX),
            data_offset: 0,
            in_flight: 0,
            last_command: NO_COMMAND,
        }
    }

    pub(super) fn open(
        member: &Arc<Member>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<MemberQueue, Error> {
        let channel = member.device.open(depth, reactor).map_err(|error| error.at(&member.name))?;
        let max_request_bytes = u64::from(member.device.info().max_request_bytes);
        Ok(MemberQueue {
            member: Some(Arc::clone(member)),
            channel,
            max_request_bytes,
            data_offset: member.data_offset,
            ..MemberQueue::unused(None)
        })
    }

    pub(super) fn is_of(&self, member: Option<&Arc<Member>>) -> bool {
        self.member.as_ref().map(Arc::as_ptr) == member.map(Arc::as_ptr)
    }
}

impl<L: Level> ArrayChannel<L> {
    pub(super) fn refresh_health(&mut self) {
        if self.shared.health.generation() != self.generation {
            self.take_membership();
        }
    }

    /// Takes over the members' present states, and opens the channels of new members.
    #[cold]
    fn take_membership(&mut self) {
        let membership = self.shared.health.membership();
        self.generation = membership.generation;
        (self.absent, self.recovering) = (membership.absent, membership.recovering);
        self.missing = membership.absent.union(&membership.recovering);
        for (slot, member) in membership.members.into_iter().enumerate() {
            if self.members[slot].is_of(member.as_ref()) {
                continue;
            }
            let queue = match member.map(|member| {
                (MemberQueue::open(&member, self.member_depth, &self.reactor), member)
            }) {
                None => MemberQueue::unused(None),
                Some((Ok(queue), _)) => queue,
                Some((Err(error), member)) => {
                    // A member that is not there for one channel is not there for any.
                    self.shared.health.fail(slot, Some(&member), Some(&error), |_| true);
                    MemberQueue::unused(Some(member))
                }
            };
            let old = std::mem::replace(&mut self.members[slot], queue);
            if old.in_flight > 0 {
                self.retired.push((slot, old));
            }
            self.queues.restart(slot);
        }
        self.refresh_health();
    }

    #[inline]
    pub(super) fn send(&mut self, slot: usize, request: Request) {
        let queue = &mut self.members[slot];
        queue.in_flight += 1;
        self.sent += 1;
        if L::REDUNDANT {
            let read = if let Op::Read { offset, into } = &request.op {
                Some((*offset, into.len() as u64))
            } else {
                None
            };
            self.queues.begin(slot, read);
        }
        queue.channel.submit(request);
    }

    /// Takes what one member has completed.
    pub(super) fn poll_member(&mut self, slot: usize, done: &mut Vec<Completion>) {
        let at = done.len();
        let queue = &mut self.members[slot];
        queue.channel.poll(done);
        let ended = (done.len() - at) as u32;
        queue.in_flight -= ended;
        if L::REDUNDANT {
            self.queues.end(slot, ended);
        }
        let failed = done[at..].iter().any(|completion| completion.result.is_err());
        let member = if failed { self.members[slot].member.clone() } else { None };
        self.end_commands(slot, member.as_ref(), at, done);
    }

    /// Polls members without a request of this channel, which may have work of their own: a timer,
    /// a block on its way into a cache. Done before the owner sleeps, and not while there is
    /// anything else to do.
    pub(super) fn poll_idle(&mut self) {
        let mut done = Vec::new();
        for queue in self.members.iter_mut().filter(|queue| queue.in_flight == 0) {
            queue.channel.poll(&mut done);
        }
        self.metadata_channels.poll_idle(&mut done);
        debug_assert!(done.is_empty(), "a channel answers what it was not asked");
    }

    /// Takes what removed members have completed.
    #[cold]
    pub(super) fn poll_retired(&mut self, done: &mut Vec<Completion>) {
        for (slot, mut queue) in std::mem::take(&mut self.retired) {
            let at = done.len();
            queue.channel.poll(done);
            queue.in_flight -= (done.len() - at) as u32;
            let member = queue.member.clone();
            if queue.in_flight > 0 {
                self.retired.push((slot, queue));
            }
            self.end_commands(slot, member.as_ref(), at, done);
        }
    }

    /// Takes completions of one member, from `at` on in `done`. Direct requests end in place,
    /// unmoved. If one failed, it was that of `member`.
    fn end_commands(
        &mut self,
        slot: usize,
        member: Option<&Arc<Member>>,
        mut at: usize,
        done: &mut Vec<Completion>,
    ) {
        while at < done.len() {
            let tag = done[at].tag;
            let failed = done[at].result.is_err();
            if tag & PLANNED != 0 {
                let completion = done.swap_remove(at);
                self.end_command(slot, member, completion);
                continue;
            }
            let entry = tag as u32;
            done[at].tag = self.direct[entry as usize].tag;
            if failed {
                let completion = done.swap_remove(at);
                self.fail_direct(entry, slot, member.cloned(), completion);
            } else {
                self.in_flight -= 1;
                at += 1;
            }
            self.free_direct.push(entry);
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

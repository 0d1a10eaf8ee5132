//! The members' channels as one channel of the array sees them: what goes out to them, and which of
//! them there are.

use std::sync::Arc;

use block::{Buf, Channel, Completion, Error, ErrorKind, Op, Request, Slots};
use reactor::Reactor;

use super::tag::Tag;
use crate::catalogue;
use crate::level::{Faults, LevelTraits};
use crate::member::{Member, MemberSet};
use crate::part::{Action, Part};
use crate::queues::Queues;
use crate::shared::ArrayCore;
use crate::signalled::SignalledChannel;

/// No command of the batch goes to the member yet.
pub(super) const NO_DRAFT: u32 = u32::MAX;

/// A member's command that failed.
pub(super) struct Failure {
    pub(super) slot: usize,
    /// The member that was in the slot.
    pub(super) member: Option<Arc<Member>>,
    pub(super) error: Error,
}

impl Failure {
    pub(super) fn at_its_member(self) -> Error {
        match self.member {
            Some(member) => self.error.at(&member.name),
            None => self.error,
        }
    }
}

/// A write to a member that waits for what goes behind it on the same member: the writes of one row
/// after another are neighbours there, and a disk takes one long write faster than many. Linux's
/// block layer joins them so for md (`blk_plug`).
pub(super) struct HeldWrite {
    /// Piece and command of each part, in their order on the member.
    parts: Vec<(u32, u32)>,
    offset: u64,
    from: Buf,
    fua: bool,
    /// The owner's tag of the request that the first is for.
    owner: u64,
}

impl HeldWrite {
    /// A write of one piece.
    pub(super) fn new(part: (u32, u32), offset: u64, from: Buf, fua: bool) -> HeldWrite {
        HeldWrite { parts: vec![part], offset, from, fua, owner: 0 }
    }

    /// Takes a write that begins where this one ends, if a command of at most `most` bytes may do
    /// both; else it is given back.
    fn join(&mut self, next: HeldWrite, most: u64) -> Option<HeldWrite> {
        let end = self.offset + self.from.len() as u64;
        let length = (self.from.len() + next.from.len()) as u64;
        if end != next.offset || self.fua != next.fua || length > most {
            return Some(next);
        }
        self.from.append(next.from);
        self.parts.extend(next.parts);
        None
    }
}

/// The channel of one member.
pub(super) struct MemberQueue {
    /// The member whose channel it is; `None` for an empty slot.
    pub(super) member: Option<Arc<Member>>,
    channel: SignalledChannel,
    pub(super) max_request_bytes: u64,
    /// Where the array's data begin on the device, in bytes.
    pub(super) data_offset: u64,
    pub(super) in_flight: u32,
    /// The member's last command of the batch that is being put together.
    pub(super) last_draft: u32,
    /// The member's write that waits for its neighbour.
    held: Option<HeldWrite>,
}

impl MemberQueue {
    /// The channel of a member that is not there, or has failed. Plans leave it out.
    fn unused(member: Option<Arc<Member>>) -> MemberQueue {
        MemberQueue {
            member,
            channel: SignalledChannel::over(Box::new(AbsentMember::default())),
            max_request_bytes: u64::from(u32::MAX),
            data_offset: 0,
            in_flight: 0,
            last_draft: NO_DRAFT,
            held: None,
        }
    }

    fn open(member: &Arc<Member>, depth: u32, reactor: &Reactor) -> Result<MemberQueue, Error> {
        let channel = member.device.open(depth, reactor).map_err(|error| error.at(&member.name))?;
        let max_request_bytes = u64::from(member.device.info().max_request_bytes);
        Ok(MemberQueue {
            member: Some(Arc::clone(member)),
            channel: SignalledChannel::over(channel),
            max_request_bytes,
            data_offset: member.data_offset,
            ..MemberQueue::unused(None)
        })
    }

    pub(super) fn is_of(&self, member: Option<&Arc<Member>>) -> bool {
        self.member.as_ref().map(Arc::as_ptr) == member.map(Arc::as_ptr)
    }
}

/// Whether what is computed for members is of use: some member keeps it, or computing is part of
/// what is measured. Modelled disks mostly take time alone.
fn keep_content(slots: &[MemberQueue]) -> bool {
    let infos = slots.iter().filter_map(|slot| Some(slot.member.as_ref()?.device.info()));
    let mut infos = infos.peekable();
    infos.peek().is_none() || infos.any(|info| info.stores_data || !info.modelled)
}

/// The members' channels, and the members' states as this channel last saw them.
pub(super) struct Members {
    shared: Arc<ArrayCore>,
    traits: LevelTraits,
    reactor: Reactor,
    /// How deep the members' channels are.
    depth: u32,
    slots: Vec<MemberQueue>,
    /// Channels of removed members, until they have answered, and their slots.
    retired: Vec<(usize, MemberQueue)>,
    /// What is under way, for levels that choose among copies.
    pub(super) queues: Queues,
    /// Members that are neither read nor written, those that are only written, and both.
    absent: MemberSet,
    recovering: MemberSet,
    pub(super) missing: MemberSet,
    /// Which of the states of the array's health these are.
    pub(super) generation: u64,
    /// Commands sent so far, to see whether polling made new ones.
    pub(super) sent: u64,
    /// Whether a write waits for its neighbour.
    holds: bool,
    /// Whether any member keeps what is written to it, or its time is this machine's.
    pub(super) keep_content: bool,
    /// Commands that were joined from several, until they have ended: piece and command of each.
    joined: Slots<Vec<(u32, u32)>>,
    /// The owner's tag of the request that commands go out for.
    owner: u64,
}

impl Members {
    /// Channels of `depth` commands onto all members that are there.
    pub(super) fn open(
        shared: &Arc<ArrayCore>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<Members, Error> {
        let membership = shared.health.membership();
        let open = |(slot, member): (usize, &Option<Arc<Member>>)| match member {
            // The device of a faulty member may be gone.
            Some(_) if membership.absent.contains(slot) => Ok(MemberQueue::unused(member.clone())),
            Some(member) => MemberQueue::open(member, depth, reactor).or_else(|error| {
                let may_go = |after: &MemberSet| {
                    error.kind() == ErrorKind::Gone && shared.level.holds_all(after).is_ok()
                };
                let is_out = shared.fail_member(slot, Some(member), Some(error.text()), may_go);
                if is_out { Ok(MemberQueue::unused(Some(Arc::clone(member)))) } else { Err(error) }
            }),
            None => Ok(MemberQueue::unused(None)),
        };
        let slots =
            membership.members.iter().enumerate().map(open).collect::<Result<Vec<_>, Error>>()?;
        let keep_content = keep_content(&slots);
        Ok(Members {
            shared: Arc::clone(shared),
            traits: shared.traits,
            reactor: reactor.clone(),
            depth,
            queues: Queues::idle(slots.len()),
            slots,
            retired: Vec::new(),
            absent: membership.absent,
            recovering: membership.recovering,
            missing: membership.absent.union(&membership.recovering),
            generation: membership.generation,
            sent: 0,
            holds: false,
            keep_content,
            joined: Slots::default(),
            owner: 0,
        })
    }

    /// How many slots the array has.
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slot(&self, slot: usize) -> &MemberQueue {
        &self.slots[slot]
    }

    pub(super) fn slot_mut(&mut self, slot: usize) -> &mut MemberQueue {
        &mut self.slots[slot]
    }

    /// What plans have to do without, whatever they are for.
    pub(super) fn faults(&self) -> Faults {
        Faults { absent: self.absent, recovering: self.recovering, ..Faults::default() }
    }

    /// Takes over the members' present states, if they have changed.
    #[inline]
    pub(super) fn refresh(&mut self) {
        while self.shared.health.generation() != self.generation {
            self.take_membership();
        }
    }

    /// Takes over the members' present states, and opens the channels of new members.
    #[cold]
    fn take_membership(&mut self) {
        // What is held back is for the members of now.
        self.send_held();
        let membership = self.shared.health.membership();
        self.generation = membership.generation;
        (self.absent, self.recovering) = (membership.absent, membership.recovering);
        self.missing = membership.absent.union(&membership.recovering);
        for (slot, member) in membership.members.into_iter().enumerate() {
            if self.slots[slot].is_of(member.as_ref()) {
                continue;
            }
            let opened = member
                .map(|member| (MemberQueue::open(&member, self.depth, &self.reactor), member));
            let queue = match opened {
                None => MemberQueue::unused(None),
                Some((Ok(queue), _)) => queue,
                Some((Err(error), member)) => {
                    // A member that is not there for one channel is not there for any.
                    self.shared.fail_member(slot, Some(&member), Some(error.text()), |_| true);
                    MemberQueue::unused(Some(member))
                }
            };
            let old = std::mem::replace(&mut self.slots[slot], queue);
            if old.in_flight > 0 {
                self.retired.push((slot, old));
            }
            self.queues.restart(slot);
        }
        self.keep_content = keep_content(&self.slots);
    }

    /// Has the copies of a read chosen as they may be: any, or only the first while they need not
    /// agree.
    #[inline]
    pub(super) fn look_for_agreement(&mut self, part: Part) {
        if self.traits.has_copies && part.action == Action::Read {
            self.queues.keep_to_first(
                self.shared.health.needs_resync(&(part.offset..part.offset + part.length)),
            );
        }
    }

    // On the way of every request: a call of its own costs as much as what it does.
    #[inline(always)]
    pub(super) fn send(&mut self, slot: usize, request: Request) {
        let queue = &mut self.slots[slot];
        queue.in_flight += 1;
        self.sent += 1;
        if self.traits.is_redundant {
            let read = if let Op::Read { offset, into } = &request.op {
                Some((*offset - queue.data_offset, into.len() as u64))
            } else {
                None
            };
            self.queues.begin(slot, read);
        }
        queue.channel.submit(request);
    }

    /// Says for which request of the owner commands go out from here on.
    #[inline]
    pub(super) fn work_for(&mut self, tag: u64) {
        self.owner = tag;
        block::trace::on_behalf_of(tag);
    }

    /// Keeps a write back until its neighbour comes or [`Members::send_held`] is called.
    pub(super) fn hold(&mut self, slot: usize, write: HeldWrite) {
        let write = HeldWrite { owner: self.owner, ..write };
        let queue = &mut self.slots[slot];
        let apart = match &mut queue.held {
            Some(held) => held.join(write, queue.max_request_bytes),
            None => Some(write),
        };
        if let Some(write) = apart {
            self.holds = true;
            if let Some(before) = self.slots[slot].held.replace(write) {
                self.send_joined(slot, before);
            }
        }
    }

    /// Whether a write waits for its neighbour.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    /// Sends what was held back: at every poll, which an owner does before it waits.
    #[inline]
    pub(super) fn send_held(&mut self) {
        if std::mem::take(&mut self.holds) {
            for slot in 0..self.slots.len() {
                if let Some(held) = self.slots[slot].held.take() {
                    self.send_joined(slot, held);
                }
            }
        }
    }

    fn send_joined(&mut self, slot: usize, held: HeldWrite) {
        let HeldWrite { parts, offset, from, fua, owner } = held;
        let tag = match parts[..] {
            [(piece, command)] => Tag::Planned { piece, command },
            _ => Tag::Joined { entry: self.joined.insert(parts) },
        };
        block::trace::on_behalf_of(owner);
        self.send(slot, Request::new(tag.encode(), Op::Write { offset, from, fua }));
    }

    /// The parts of a joined command that has ended: piece and command of each.
    pub(super) fn take_joined(&mut self, entry: u32) -> Vec<(u32, u32)> {
        self.joined.remove(entry).expect("what was joined ends once")
    }

    /// Takes what one member has completed. If one of these failed, the member, which they are of.
    #[inline]
    pub(super) fn poll(&mut self, slot: usize, done: &mut Vec<Completion>) -> Option<Arc<Member>> {
        let at = done.len();
        let queue = &mut self.slots[slot];
        queue.channel.poll(done);
        let ended = (done.len() - at) as u32;
        queue.in_flight -= ended;
        if self.traits.is_redundant {
            self.queues.end(slot, ended);
        }
        let failed = done[at..].iter().any(|completion| completion.result.is_err());
        if failed { queue.member.clone() } else { None }
    }

    /// Whether removed members have not answered all yet.
    pub(super) fn has_retired(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Takes the removed members out, to be polled.
    pub(super) fn take_retired(&mut self) -> Vec<(usize, MemberQueue)> {
        std::mem::take(&mut self.retired)
    }

    /// Takes what a removed member has completed, and keeps it if there is more to come.
    pub(super) fn poll_retired(
        &mut self,
        slot: usize,
        mut queue: MemberQueue,
        done: &mut Vec<Completion>,
    ) -> Option<Arc<Member>> {
        let at = done.len();
        queue.channel.poll(done);
        queue.in_flight -= (done.len() - at) as u32;
        let member = queue.member.clone();
        if queue.in_flight > 0 {
            self.retired.push((slot, queue));
        }
        member
    }

    /// Polls members without a request of this channel, which may have work of their own: a timer,
    /// a block on its way into a cache. Done before the owner sleeps, and not while there is
    /// anything else to do.
    pub(super) fn poll_idle(&mut self, done: &mut Vec<Completion>) {
        for queue in self.slots.iter_mut().filter(|queue| queue.in_flight == 0) {
            queue.channel.poll(done);
        }
    }
}

/// The channel of a member that is not there. Plans leave it out, so nothing should come here.
#[derive(Default)]
struct AbsentMember {
    requests: Vec<Request>,
}

impl Channel for AbsentMember {
    fn submit(&mut self, request: Request) {
        self.requests.push(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let gone = || Err(Error::new(ErrorKind::Gone, catalogue::MEMBER_NOT_THERE));
        done.extend(self.requests.drain(..).map(|request| request.complete(gone())));
    }

    fn in_flight(&self) -> u32 {
        self.requests.len() as u32
    }
}

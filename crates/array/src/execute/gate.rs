//! The gate to the metadata writer: what has to be written down before a piece may write, before it
//! may be answered, and what it logs in between.

use std::ops::Range;
use std::sync::Arc;

use block::{Buf, Completion, Device, Error};
use reactor::Reactor;

use crate::device::Shared;
use crate::health::Snapshot;
use crate::memory::Memory;
use crate::metadata::{
    Admission, ArrayView, Ended, HasMetadata, LogWriter, Logged, Metadata, MetadataChannels,
};
use crate::rows::Waiter;
use crate::sync::Ranges;
use crate::{Level, Lost, MemberSet, Part, Plan};

/// Whether a piece goes on.
pub(super) enum Pass {
    Go,
    /// It is woken when it is worth asking again.
    Wait,
    /// Never.
    Refused(Error),
}

/// What a piece asks of the metadata. An array that keeps none has no gate.
pub(super) trait MetadataGate {
    /// The range by which the metadata know a planned write.
    fn range_of(&self, part: Part, plan: &Plan) -> Range<u64>;

    /// Asks whether a range may be written to. A range that was let out has to
    /// [`leave`](MetadataGate::leave).
    fn admit(&mut self, range: &Range<u64>, piece: u32) -> Pass;

    /// A write that was let out has ended.
    fn leave(&self, range: &Range<u64>);

    /// Asks whether what was done by a plan of this generation may be answered: what it did without
    /// some members has to be written down.
    fn confirm(&mut self, generation: u64, piece: u32) -> Pass;

    /// The member whose parity, where the byte lies, is not to be taken for true, as nothing can be
    /// logged that is made from it.
    fn doubted_parity(&self, offset: u64) -> Option<usize>;

    /// What the planned write logs, if it logs anything; adds to the plan what makes it.
    fn plan_log(&self, part: Part, plan: &mut Plan) -> Option<Logged>;

    /// Completes what is logged, once it is computed.
    fn seal_log(&self, logged: &Logged, memory: &mut Memory);

    /// Takes a member's log, or queues for it and answers false: then the piece is woken when it
    /// has it.
    fn lock_log(&self, member: usize, piece: u32) -> bool;

    /// Writes to a member's log, which the piece holds; [`poll`](MetadataGate::poll) says how that
    /// ended.
    fn write_log(&mut self, member: usize, bytes: Buf, piece: u32);

    /// Gives a member's log free for other pieces.
    fn release_log(&self, member: usize);

    /// Stops waiting for a member's log, or gives it free if it has been granted.
    fn give_up_log(&self, member: usize, piece: u32);

    /// Takes what has been written down; the pieces whose log was written, and how that ended.
    fn poll(&mut self, logged: &mut Vec<(u32, Result<(), Error>)>);

    /// Lets what is idle below go on with what is its own.
    fn poll_idle(&mut self, done: &mut Vec<Completion>);

    /// Whether there is anything to poll for.
    fn is_busy(&self) -> bool;

    /// Whether it is writing an update, which others wait for.
    fn has_update(&self) -> bool;

    /// Commands sent so far, to see whether polling made new ones.
    fn sent(&self) -> u64;

    /// The update under way is given up: what the members say is unknown. No piece of this channel
    /// waits any more.
    fn abandon(&mut self);
}

/// The gate of an array that keeps md's metadata. Updates that a piece needs are written from here.
pub(super) struct WriterGate<L: Level> {
    shared: Arc<Shared<L>>,
    channels: MetadataChannels,
    ended: Vec<Ended>,
    waiter: Arc<Waiter>,
    reactor: Reactor,
}

/// The gate of an array, if it keeps metadata.
pub(super) fn open<L: Level>(
    shared: &Arc<Shared<L>>,
    waiter: &Arc<Waiter>,
    reactor: &Reactor,
) -> Option<Box<dyn MetadataGate>> {
    shared.metadata.as_ref()?;
    Some(Box::new(WriterGate {
        shared: Arc::clone(shared),
        channels: MetadataChannels::default(),
        ended: Vec::new(),
        waiter: Arc::clone(waiter),
        reactor: reactor.clone(),
    }))
}

impl<L: Level> WriterGate<L> {
    fn log(&self) -> Option<&LogWriter> {
        self.shared.metadata().log.as_ref()
    }

    fn follow(&mut self, admission: Admission) -> Pass {
        match admission {
            Admission::Go => Pass::Go,
            Admission::Wait => Pass::Wait,
            Admission::Write(update) => {
                self.channels.begin(*update, self.shared.metadata(), &self.reactor);
                Pass::Wait
            }
            Admission::Refused(error) => Pass::Refused(error),
        }
    }
}

impl<L: Level> MetadataGate for WriterGate<L> {
    fn range_of(&self, part: Part, plan: &Plan) -> Range<u64> {
        if self.shared.metadata().by_array_bytes {
            return part.offset..part.offset + part.length;
        }
        let starts = plan.write.iter().map(|access| access.offset);
        let ends = plan.write.iter().map(|access| access.offset + access.length);
        starts.min().unwrap_or(0)..ends.max().unwrap_or(0)
    }

    fn admit(&mut self, range: &Range<u64>, piece: u32) -> Pass {
        let admission = self.shared.metadata().admit(&*self.shared, range, &self.waiter, piece);
        self.follow(admission)
    }

    fn leave(&self, range: &Range<u64>) {
        self.shared.metadata().leave(range);
    }

    fn confirm(&mut self, generation: u64, piece: u32) -> Pass {
        let metadata = self.shared.metadata();
        if metadata.knows(generation) {
            return Pass::Go;
        }
        let admission = metadata.confirm(&*self.shared, generation, &self.waiter, piece);
        self.follow(admission)
    }

    fn doubted_parity(&self, offset: u64) -> Option<usize> {
        let log = self.log()?;
        self.shared.health.snapshot().resync.is_some().then(|| log.parity_member(offset))
    }

    fn plan_log(&self, part: Part, plan: &mut Plan) -> Option<Logged> {
        self.log().and_then(|log| log.add_to(part, plan))
    }

    fn seal_log(&self, logged: &Logged, memory: &mut Memory) {
        if let Some(log) = self.log() {
            log.seal(logged, memory);
        }
    }

    fn lock_log(&self, member: usize, piece: u32) -> bool {
        self.log().is_none_or(|log| log.lock(member, &self.waiter, piece))
    }

    fn write_log(&mut self, member: usize, bytes: Buf, piece: u32) {
        let metadata = self.shared.metadata();
        let device =
            metadata.device_of(member).expect("a member that holds parity has a superblock");
        let offset = metadata.log_offset(device);
        self.channels.write_log(device, offset, bytes, piece, metadata, &self.reactor);
    }

    fn release_log(&self, member: usize) {
        if let Some(log) = self.log() {
            log.release(member, &self.waiter).nudge(&self.reactor);
        }
    }

    fn give_up_log(&self, member: usize, piece: u32) {
        if let Some(log) = self.log() {
            log.give_up(member, &self.waiter, piece).nudge(&self.reactor);
        }
    }

    fn poll(&mut self, logged: &mut Vec<(u32, Result<(), Error>)>) {
        let metadata = self.shared.metadata();
        self.channels.poll(metadata, &self.reactor, &mut self.ended);
        for ended in self.ended.drain(..) {
            match ended {
                Ended::Update(update, failures) => {
                    if metadata.end(&*self.shared, *update, failures) {
                        self.reactor.nudge();
                    }
                }
                Ended::Log(piece, result) => logged.push((piece, result)),
            }
        }
    }

    fn poll_idle(&mut self, done: &mut Vec<Completion>) {
        self.channels.poll_idle(done);
    }

    fn is_busy(&self) -> bool {
        self.channels.is_busy()
    }

    fn has_update(&self) -> bool {
        self.channels.has_update()
    }

    fn sent(&self) -> u64 {
        self.channels.sent
    }

    fn abandon(&mut self) {
        let metadata = self.shared.metadata();
        if let Some(update) = self.channels.give_up()
            && metadata.abandon(update)
        {
            self.reactor.nudge();
        }
        metadata.forget(&self.waiter);
    }
}

impl<L: Level> ArrayView for Shared<L> {
    fn generation(&self) -> u64 {
        self.health.generation()
    }

    fn snapshot(&self) -> Snapshot {
        self.health.snapshot()
    }

    fn lost(&self, slot: usize) -> Ranges {
        self.health.lost(slot)
    }

    fn corrected_reads(&self, slot: usize) -> u32 {
        self.health.read_errors(slot)
    }

    fn devices(&self) -> Vec<Option<Arc<dyn Device>>> {
        self.health
            .membership()
            .members
            .iter()
            .map(|member| member.as_ref().map(|member| member.whole_device()))
            .collect()
    }

    fn holds_all(&self, missing: &MemberSet) -> Result<(), Lost> {
        self.level.holds_all(missing)
    }

    fn fail(&self, slot: usize, error: &Error) -> bool {
        self.drop_member(slot, None, error)
    }
}

impl<L: Level> HasMetadata for Shared<L> {
    fn metadata(&self) -> &Metadata {
        self.metadata.as_ref().expect("a gate or a writer is made only where there are metadata")
    }
}

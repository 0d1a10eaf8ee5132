//! The gate to the metadata writer: what has to be written down before a piece may write, before it
//! may be answered, and what it logs in between.

use std::ops::Range;
use std::sync::Arc;

use block::{Buf, Completion, Error};
use reactor::Reactor;

use crate::memory::Memory;
use crate::metadata::{Admission, EndedCommand, LogWriter, LoggedPiece, MetadataChannels};
use crate::part::Part;
use crate::plan::Plan;
use crate::rows::Waiter;
use crate::shared::ArrayCore;

/// Whether a piece goes on.
pub(super) enum Pass {
    Go,
    /// It is woken when it is worth asking again.
    Wait,
    /// Never.
    Refused(Error),
}

/// What a piece asks of md's metadata, where the array keeps them. Updates that a piece needs are
/// written from here.
pub(super) struct MetadataGate {
    shared: Arc<ArrayCore>,
    channels: MetadataChannels,
    ended: Vec<EndedCommand>,
    waiter: Arc<Waiter>,
    reactor: Reactor,
}

impl MetadataGate {
    /// The gate of an array, if it keeps metadata.
    pub(super) fn open(
        shared: &Arc<ArrayCore>,
        waiter: &Arc<Waiter>,
        reactor: &Reactor,
    ) -> Option<MetadataGate> {
        shared.metadata.as_ref()?;
        Some(MetadataGate {
            shared: Arc::clone(shared),
            channels: MetadataChannels::default(),
            ended: Vec::new(),
            waiter: Arc::clone(waiter),
            reactor: reactor.clone(),
        })
    }

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

    /// The range by which the metadata know a planned write.
    pub(super) fn range_of(&self, part: Part, plan: &Plan) -> Range<u64> {
        if self.shared.metadata().by_array_bytes {
            return part.offset..part.offset + part.length;
        }
        let starts = plan.write.iter().map(|access| access.offset);
        let ends = plan.write.iter().map(|access| access.offset + access.length);
        starts.min().unwrap_or(0)..ends.max().unwrap_or(0)
    }

    /// Asks whether a range may be written to. A range that was let out has to
    /// [`leave`](MetadataGate::leave).
    pub(super) fn admit(&mut self, range: &Range<u64>, piece: u32) -> Pass {
        let shared = &self.shared;
        let generation = shared.health.generation();
        let state = || shared.state();
        let admission = shared.metadata().admit(generation, &state, range, &self.waiter, piece);
        self.follow(admission)
    }

    /// Whether it is written down which members were there in this generation.
    pub(super) fn knows(&self, generation: u64) -> bool {
        self.shared.metadata().knows(generation)
    }

    /// A write that was let out has ended.
    pub(super) fn leave(&self, range: &Range<u64>) {
        self.shared.metadata().leave(range);
    }

    /// Asks whether what was done by a plan of this generation may be answered: what it did without
    /// some members has to be written down.
    pub(super) fn confirm(&mut self, generation: u64, piece: u32) -> Pass {
        let metadata = self.shared.metadata();
        if metadata.knows(generation) {
            return Pass::Go;
        }
        let state = || self.shared.state();
        let admission = metadata.confirm(generation, &state, &self.waiter, piece);
        self.follow(admission)
    }

    /// The member whose parity, where the byte lies, is not to be taken for true, as nothing can be
    /// logged that is made from it.
    pub(super) fn doubted_parity(&self, offset: u64) -> Option<usize> {
        let log = self.log()?;
        self.shared.health.snapshot().resync.is_some().then(|| log.parity_member(offset))
    }

    /// What the planned write logs, if it logs anything; adds to the plan what makes it.
    pub(super) fn plan_log(&self, part: Part, plan: &mut Plan) -> Option<LoggedPiece> {
        self.log().and_then(|log| log.add_to(part, plan))
    }

    /// Completes what is logged, once it is computed.
    pub(super) fn seal_log(&self, logged: &LoggedPiece, memory: &mut Memory) {
        if let Some(log) = self.log() {
            log.seal(logged, memory);
        }
    }

    /// Takes a member's log, or queues for it and answers false: then the piece is woken when it
    /// has it.
    pub(super) fn lock_log(&self, member: usize, piece: u32) -> bool {
        self.log().is_none_or(|log| log.lock(member, &self.waiter, piece))
    }

    /// Writes to a member's log, which the piece holds; [`poll`](MetadataGate::poll) says how that
    /// ended.
    pub(super) fn write_log(&mut self, member: usize, bytes: Buf, piece: u32) {
        let metadata = self.shared.metadata();
        let device =
            metadata.device_of(member).expect("a member that holds parity has a superblock");
        let offset = metadata.log_offset(device);
        self.channels.write_log(device, offset, bytes, piece, metadata, &self.reactor);
    }

    /// Gives a member's log free for other pieces.
    pub(super) fn release_log(&self, member: usize) {
        if let Some(log) = self.log() {
            log.release(member, &self.waiter).nudge(&self.reactor);
        }
    }

    /// Stops waiting for a member's log, or gives it free if it has been granted.
    pub(super) fn give_up_log(&self, member: usize, piece: u32) {
        if let Some(log) = self.log() {
            log.give_up(member, &self.waiter, piece).nudge(&self.reactor);
        }
    }

    /// Takes what has been written down; the pieces whose log was written, and how that ended.
    pub(super) fn poll(&mut self, logged: &mut Vec<(u32, Result<(), Error>)>) {
        let metadata = self.shared.metadata();
        self.channels.poll(metadata, &self.reactor, &mut self.ended);
        for ended in self.ended.drain(..) {
            match ended {
                EndedCommand::Update(update, failures) => {
                    if self.shared.end_update(*update, failures) {
                        self.reactor.nudge();
                    }
                }
                EndedCommand::Log(piece, result) => logged.push((piece, result)),
            }
        }
    }

    /// Lets what is idle below go on with what is its own.
    pub(super) fn poll_idle(&mut self, done: &mut Vec<Completion>) {
        self.channels.poll_idle(done);
    }

    /// Whether there is anything to poll for.
    pub(super) fn is_busy(&self) -> bool {
        self.channels.is_busy()
    }

    /// Whether it is writing an update, which others wait for.
    pub(super) fn has_update(&self) -> bool {
        self.channels.has_update()
    }

    /// Commands sent so far, to see whether polling made new ones.
    pub(super) fn sent(&self) -> u64 {
        self.channels.sent
    }

    /// The update under way is given up: what the members say is unknown. No piece of this channel
    /// waits any more.
    pub(super) fn abandon(&mut self) {
        let metadata = self.shared.metadata();
        if let Some(update) = self.channels.give_up()
            && metadata.abandon(update)
        {
            self.reactor.nudge();
        }
        metadata.forget(&self.waiter);
    }
}

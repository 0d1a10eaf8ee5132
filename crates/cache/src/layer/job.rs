//! What a channel is in the middle of: its jobs, their steps, and what belongs to each step.
//!
//! ```text
//! read       Waiting > Fetch > Fill              one that the store has in one piece is a hit: a command, and no more
//! write      Waiting > Patch > Data > WritingOut > Committing     it has completed for all others after Data
//! flush                write-outs, then a flush below
//! commit     Waiting > Sync > Pages > SyncPages  a flush of a store that is kept
//! write-out  Waiting > Load > Send               a child of a write or a flush
//! ```

use std::ops::Range;

use block::{Buf, BufMut, Error, ReturnedBuffer};

use super::plan::{self, Piece, ReadPart, Segment};
use super::shape::Shape;
use super::state::Snapshot;
use crate::policy::Slot;

/// A job under way: what all jobs have, and what this one does.
#[derive(Debug)]
pub(super) struct RunningJob<J> {
    /// The owner's tag; a job for another job has none.
    pub(super) tag: u64,
    /// Commands of this step, or jobs started for it, that have not ended.
    pub(super) left: usize,
    pub(super) error: Option<Error>,
    /// Whether it has taken a range, or waits for one.
    pub(super) in_ranges: bool,
    pub(super) job: J,
}

impl<J> RunningJob<J> {
    pub(super) fn new(tag: u64, job: J) -> RunningJob<J> {
        RunningJob { tag, left: 0, error: None, in_ranges: false, job }
    }

    /// Commands from here on are sent on behalf of the owner's request that this job serves.
    pub(super) fn name_cause(&self) {
        block::trace::on_behalf_of(self.tag);
    }

    /// What all jobs have, and what it does.
    pub(super) fn split(self) -> (RunningJob<()>, J) {
        let RunningJob { tag, left, error, in_ranges, job } = self;
        (RunningJob { tag, left, error, in_ranges, job: () }, job)
    }

    /// Keeps the first error.
    pub(super) fn note(&mut self, result: Result<(), Error>) {
        if let Err(failed) = result {
            self.error.get_or_insert(failed);
        }
    }
}

impl RunningJob<()> {
    /// The job does this from now on.
    pub(super) fn with<J>(self, job: J) -> RunningJob<J> {
        let RunningJob { tag, left, error, in_ranges, job: () } = self;
        RunningJob { tag, left, error, in_ranges, job }
    }
}

/// A job in a channel's table.
#[derive(Debug)]
pub(super) enum Job {
    /// Other jobs hold its blocks.
    Waiting(RunningJob<JobKind>),
    Hit(RunningJob<Hit>),
    Read(RunningJob<Box<Read>>),
    Write(RunningJob<Box<Write>>),
    Flush(RunningJob<Flush>),
    WriteOut(RunningJob<Box<WriteOut>>),
    Commit(RunningJob<Box<Commit>>),
}

/// What a job is to do once it has its blocks.
#[derive(Debug)]
pub(super) enum JobKind {
    Read(AskedRead),
    Write(AskedWrite),
    WriteOut(AskedWriteOut),
    Commit(AskedCommit),
}

macro_rules! jobs {
    ($($name:ident: $job:ty),*) => {
        $(impl From<RunningJob<$job>> for Job {
            fn from(running: RunningJob<$job>) -> Job {
                Job::$name(running)
            }
        })*
    };
}

jobs!(
    Waiting: JobKind, Hit: Hit, Read: Box<Read>, Write: Box<Write>, Flush: Flush,
    WriteOut: Box<WriteOut>, Commit: Box<Commit>
);

/// What a job leaves when it ends.
pub(super) enum Outcome {
    /// The buffer of the owner's request.
    Owner(ReturnedBuffer),
    /// The job that it was done for.
    Child { parent: u32 },
}

/// A job that can end.
pub(super) trait Ends {
    fn outcome(self) -> Outcome;
}

/// A command of a job has ended.
pub(super) struct JobCommandEnd {
    /// Which of the step's commands.
    pub(super) number: usize,
    pub(super) from_store: bool,
    pub(super) buffer: ReturnedBuffer,
    pub(super) result: Result<(), Error>,
}

#[derive(Debug)]
pub(super) struct AskedRead {
    pub(super) offset: u64,
    pub(super) length: u64,
    /// The blocks are held exclusively, so that what is missing can come in.
    pub(super) fill: bool,
    pub(super) into: BufMut,
}

#[derive(Debug)]
pub(super) struct Read {
    pub(super) fill: bool,
    pub(super) parts: Vec<ReadPart>,
    /// The blocks of each part that is read in.
    pub(super) filling: Vec<Option<Buf>>,
    pub(super) step: ReadStep,
}

#[derive(Debug)]
pub(super) enum ReadStep {
    /// From the store and from the device below.
    Fetch,
    /// What was missing goes to the store. The part that each command is for.
    Fill { carried: Vec<usize> },
}

impl Ends for Box<Read> {
    fn outcome(self) -> Outcome {
        let parts = self.parts.into_iter().filter_map(|part| part.into);
        let whole = parts.reduce(|mut whole, part| {
            whole.append(part);
            whole
        });
        Outcome::Owner(ReturnedBuffer::Read(whole.unwrap_or_else(|| BufMut::zeroed(0))))
    }
}

/// A read that the store answers alone, from slots side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) first: Slot,
}

impl Hit {
    /// The same as a read of one part, whose command is under way.
    pub(super) fn as_read(self, shape: &Shape) -> Box<Read> {
        let within = self.offset % shape.block_bytes;
        let from = plan::ReadOrigin::Store { first: self.first, within };
        let part =
            ReadPart { offset: self.offset, length: self.length, from, fill: None, into: None };
        Box::new(Read {
            fill: false,
            parts: vec![part],
            filling: vec![None],
            step: ReadStep::Fetch,
        })
    }
}

/// What a write writes.
#[derive(Debug)]
pub(super) enum Content {
    Data(Buf),
    Zeroes,
    Discard,
}

impl Content {
    pub(super) fn is_data(&self) -> bool {
        matches!(self, Content::Data(_))
    }
}

#[derive(Debug)]
pub(super) struct AskedWrite {
    pub(super) content: Content,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) fua: bool,
    pub(super) outside: bool,
}

#[derive(Debug)]
pub(super) struct Write {
    pub(super) asked: AskedWrite,
    pub(super) pieces: Vec<Piece>,
    pub(super) step: WriteStep,
}

#[derive(Debug)]
pub(super) enum WriteStep {
    /// The rest of blocks that it covers in part comes from the device below: whole blocks, to be
    /// made of that and of what is written, by piece.
    Patch { patches: Vec<(usize, BufMut)> },
    /// To the store and to the device below.
    Data(WriteProgress),
    /// Write-outs that were started for it are under way.
    WritingOut,
    /// It waits for the commit that makes slots of written-out blocks free.
    Committing,
}

/// The parts of a write that are in flight.
#[derive(Debug, Default)]
pub(super) struct WriteProgress {
    /// Pieces that a command carries, in the order of sending.
    pub(super) carried: Vec<Range<usize>>,
    pub(super) store_error: Option<Error>,
    pub(super) lower_error: Option<Error>,
}

impl Ends for Box<Write> {
    fn outcome(self) -> Outcome {
        Outcome::Owner(match self.asked.content {
            Content::Data(from) => ReturnedBuffer::Written(from),
            Content::Zeroes | Content::Discard => ReturnedBuffer::Nothing,
        })
    }
}

#[derive(Debug)]
pub(super) struct AskedWriteOut {
    /// The job that wants it.
    pub(super) parent: u32,
    pub(super) blocks: Range<u64>,
    /// Blocks in slots that are to go leave the cache; the blocks are held exclusively.
    pub(super) retires: bool,
}

#[derive(Debug)]
pub(super) struct WriteOut {
    pub(super) asked: AskedWriteOut,
    pub(super) segments: Vec<Segment>,
    pub(super) step: WriteOutStep,
}

#[derive(Debug)]
pub(super) enum WriteOutStep {
    /// From the store: what was loaded, segment after segment, piece after piece.
    Load { loaded: Vec<Option<BufMut>> },
    /// To the device below: segments that could not be written.
    Send { failed: Vec<usize> },
}

impl Ends for Box<WriteOut> {
    fn outcome(self) -> Outcome {
        Outcome::Child { parent: self.asked.parent }
    }
}

/// Writes runs of blocks out; then, with one command, what is written out is made durable.
#[derive(Debug)]
pub(super) struct Flush {
    /// The runs that are still to be written out, the lowest address last.
    pub(super) runs: Vec<Range<u64>>,
    pub(super) purpose: Purpose,
}

/// What blocks are written out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The owner's flush, with that of the device below; once one has failed, all later ones fail.
    OwnersFlush,
    /// The same for upkeep.
    Flush,
    /// To have fewer dirty blocks; nothing is flushed.
    Less,
    /// To free slots: their blocks leave the cache.
    Retire,
}

impl Ends for Flush {
    fn outcome(self) -> Outcome {
        Outcome::Owner(ReturnedBuffer::Nothing)
    }
}

#[derive(Debug)]
pub(super) struct AskedCommit {
    /// The job that wants it; `None` when the owner does.
    pub(super) parent: Option<u32>,
    /// The last commit that had begun when this one was requested; any later one will do.
    pub(super) begun: u64,
}

/// Makes what the store holds durable, its map included.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) asked: AskedCommit,
    /// Its own number.
    pub(super) number: u64,
    pub(super) snapshot: Snapshot,
    /// What failed was the store.
    pub(super) store_failed: bool,
    pub(super) step: CommitStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitStep {
    /// A flush of the store and of the device below.
    Sync,
    /// The map.
    Pages,
    /// A flush of the store.
    SyncPages,
}

impl Ends for AskedCommit {
    fn outcome(self) -> Outcome {
        match self.parent {
            Some(parent) => Outcome::Child { parent },
            None => Outcome::Owner(ReturnedBuffer::Nothing),
        }
    }
}

impl Ends for Box<Commit> {
    fn outcome(self) -> Outcome {
        self.asked.outcome()
    }
}

/// A part of a buffer.
pub(super) fn slice(buffer: &Buf, at: u64, length: u64) -> Buf {
    let mut rest = buffer.clone();
    if at > 0 {
        drop(rest.split_to(at as usize));
    }
    rest.split_to(length as usize)
}

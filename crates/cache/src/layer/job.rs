//! What a channel is in the middle of.

use std::ops::Range;

use block::{Buf, BufMut, Error};

use super::plan::{From, Piece, ReadPart, Segment};
use super::shape::Shape;
use super::state::Snapshot;
use crate::policy::Slot;

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Others hold its blocks.
    Waiting,
    /// Read: from the store and from the device below.
    Fetch,
    /// Read: what was missing goes to the store.
    Fill,
    /// Write: the rest of blocks that it covers in part comes from the device below.
    Patch,
    /// Write: to the store and to the device below.
    Data,
    /// Write-out: from the store.
    Load,
    /// Write-out: to the device below.
    Send,
    /// Write-outs that were started for it are under way.
    Children,
    /// Flush: of the device below. Commit: of both.
    Sync,
    /// Commit: the map.
    Pages,
    /// Commit: a flush of the store.
    SyncPages,
    /// A write waits for the commit that makes slots of written-out blocks free.
    Committing,
}

/// What a write writes.
#[derive(Debug)]
pub(super) enum Content {
    Data(Buf),
    Zeroes,
    Discard,
}

#[derive(Debug)]
pub(super) struct Write {
    pub(super) content: Content,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) fua: bool,
    pub(super) outside: bool,
    pub(super) pieces: Vec<Piece>,
    /// Whole blocks that are made of what lies below and of what is written, by piece.
    pub(super) patches: Vec<(usize, BufMut)>,
    /// Pieces that a command carries, in the order of sending.
    pub(super) carried: Vec<Range<usize>>,
    pub(super) store_error: Option<Error>,
    pub(super) lower_error: Option<Error>,
}

#[derive(Debug)]
pub(super) struct Read {
    pub(super) offset: u64,
    pub(super) length: u64,
    /// The blocks are held exclusively, so that what is missing can come in.
    pub(super) fill: bool,
    /// The owner's buffer until it is cut up.
    pub(super) into: BufMut,
    pub(super) parts: Vec<ReadPart>,
    /// Of each part that comes in, the blocks.
    pub(super) filling: Vec<Option<Buf>>,
    /// The part that a command is for.
    pub(super) carried: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct WriteOut {
    /// The job that wants it.
    pub(super) parent: usize,
    pub(super) blocks: Range<u64>,
    pub(super) segments: Vec<Segment>,
    /// What was loaded, segment after segment, piece after piece.
    pub(super) loaded: Vec<Option<BufMut>>,
    /// Segments that could not be written.
    pub(super) failed: Vec<usize>,
    /// Blocks in slots that are to go leave the cache; the blocks are held exclusively.
    pub(super) retires: bool,
}

#[derive(Debug)]
pub(super) enum Job {
    Hit(Hit),
    Read(Box<Read>),
    Write(Box<Write>),
    Flush(Flush),
    WriteOut(Box<WriteOut>),
    Commit(Box<Commit>),
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
    pub(super) fn as_read(&self, shape: &Shape) -> Read {
        let within = self.offset % shape.block_bytes;
        let from = From::Store { first: self.first, within };
        let part =
            ReadPart { offset: self.offset, length: self.length, from, fill: None, into: None };
        let (offset, length, into) = (self.offset, self.length, BufMut::zeroed(0));
        Read {
            offset,
            length,
            fill: false,
            into,
            parts: vec![part],
            filling: vec![None],
            carried: Vec::new(),
        }
    }
}

/// Writes runs of blocks out.
#[derive(Debug)]
pub(super) struct Flush {
    /// The runs that are still to be written out, the lowest address last.
    pub(super) runs: Vec<Range<u64>>,
    pub(super) purpose: Purpose,
    /// Its write-outs are being started: those that end meanwhile are only counted.
    pub(super) starting: bool,
}

/// What blocks are written out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The owner's flush, the device below's included: once it has failed, all later ones do.
    OwnersFlush,
    /// The same for upkeep.
    Flush,
    /// That there is less dirty: nothing is flushed.
    Less,
    /// That slots can go: their blocks leave them.
    Retire,
}

/// Makes what the store holds durable, its map included.
#[derive(Debug)]
pub(super) struct Commit {
    /// The job that wants it; `None` when the owner does.
    pub(super) parent: Option<usize>,
    /// The last commit that had begun when this one was asked for: a later one does as well.
    pub(super) begun: u64,
    /// Its own number.
    pub(super) number: u64,
    pub(super) snapshot: Snapshot,
    /// What failed was the store.
    pub(super) store_failed: bool,
}

/// A job and how far it is.
#[derive(Debug)]
pub(super) struct Running {
    /// The owner's tag; a write-out has none.
    pub(super) tag: u64,
    pub(super) job: Job,
    pub(super) step: Step,
    /// Commands of this step, or jobs started for it, that have not ended.
    pub(super) left: usize,
    pub(super) error: Option<Error>,
    /// Whether it has taken a range, or waits for one.
    pub(super) in_ranges: bool,
}

impl Running {
    pub(super) fn new(tag: u64, job: Job) -> Running {
        Running { tag, job, step: Step::Waiting, left: 0, error: None, in_ranges: false }
    }

    /// What is sent from here on is for this job's request, where it has one.
    pub(super) fn name_cause(&self) {
        if !matches!(self.job, Job::WriteOut(_) | Job::Commit(_)) {
            block::trace::on_behalf_of(self.tag);
        }
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

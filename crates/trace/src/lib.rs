//! Requests that were recorded, one by one: what they are, how they are kept in files, and how
//! files of other programs are read.
//!
//! ```text
//!   record(…) layer ──> Pairing ──> Writer ──> run.trace ──┐
//!   CSV and other programs' formats ───────────────────────┴──> Reader ──> Record, Record, …
//! ```
//!
//! Records come in order of submission. `docs/formats/trace.md` draws the format and describes the
//! others.

mod blkparse;
pub mod blktrace;
mod catalogue;
mod csv;
mod follow;
mod format;
mod input;
mod iolog;
mod log_writes;
mod pairing;
mod problem;
mod profile;
mod published;
mod reader;
mod source;
mod touched;
mod transform;
mod unpack;

pub use csv::CsvWriter;
pub use follow::{Event, EventKind, Follower};
pub use format::{Header, Writer};
pub use iolog::IologWriter;
pub use log_writes::{LogEntry, TakeEntry, log_entry, log_super, read_log};
pub use pairing::{Pairing, Ticket};
pub use problem::{Problem, ProblemKind, ProblemSite, Problems};
pub use profile::{
    Burstiness, Footprint, LatencyProfile, OPERATIONS, OperationProfile, Part, Profile, Profiler,
    Window, WorkingSet,
};
pub use reader::{Format, ReadOptions, Reader, open, open_with};
pub use source::Contents;
pub use transform::{Anonymous, Fold, in_blocks};

/// What a recorded request asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordedOp {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A write of zeroes.
    WriteZeroes,
    /// A discard.
    Discard,
    /// A flush.
    Flush,
}

impl RecordedOp {
    /// What a request asks for, and whether it is to be durable when it completes.
    #[must_use]
    pub fn of(op: &block::Op) -> (RecordedOp, bool) {
        use block::Op;
        match op {
            Op::Read { .. } => (RecordedOp::Read, false),
            Op::Write { fua, .. } => (RecordedOp::Write, *fua),
            Op::WriteZeroes { fua, .. } => (RecordedOp::WriteZeroes, *fua),
            Op::Discard { .. } => (RecordedOp::Discard, false),
            Op::Flush => (RecordedOp::Flush, false),
        }
    }
}

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was submitted, in nanoseconds since the recording began.
    pub time_nanoseconds: u64,
    /// From submission to completion, in nanoseconds; none where the source does not say, or it
    /// never completed.
    pub latency_nanoseconds: Option<u64>,
    /// What it asked for.
    pub op: RecordedOp,
    /// Whether it was to be durable when it completes.
    pub fua: bool,
    /// Where, in bytes; 0 for a flush.
    pub offset: u64,
    /// How much, in bytes; 0 for a flush.
    pub length: u64,
    /// Who asked, where it is known: a number for each process, thread or channel; 0 is not known.
    pub stream: u32,
}

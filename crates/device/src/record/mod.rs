//! `record(file:TRACE, DEVICE)`: writes down every request, for the simulator and for a reader that
//! wants to know what a program asks of its disk.
//!
//! ```text
//!   requests --> time, operation, offset, length --> TRACE (appended, 64 KiB at a time)
//!      |
//!      +-------> below, as they are
//! ```
//!
//! The trace is written past the reactor: it must not take part in what it records, and has to work
//! on either clock. Its format, and the CSV that is read besides, are in `docs/formats/trace.md`.

mod csv;
mod format;

use std::fs::File;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{
    Channel, Completion, Device, Error, ErrorKind, Extents, Info, Lease, Node, Op, Reactor,
    Request, Traced,
};

use csv::CsvReader;
use format::{Decoder, Encoder};

/// Bytes that are kept back before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// What a recorded request asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was submitted, in nanoseconds since the trace began.
    pub time_nanoseconds: u64,
    /// What it asked for.
    pub op: RecordedOp,
    /// Whether it was to be durable when it completes.
    pub fua: bool,
    /// Where, in bytes; 0 for a flush.
    pub offset: u64,
    /// How much, in bytes; 0 for a flush.
    pub length: u64,
}

/// A device that writes down what passes.
pub struct RecordDevice {
    shared: Arc<Shared>,
}

struct Shared {
    below: Arc<dyn Device>,
    path: PathBuf,
    trace: Mutex<Trace>,
}

impl Shared {
    fn trace(&self) -> MutexGuard<'_, Trace> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Trace {
    file: File,
    encoder: Encoder,
    last_time: u64,
    /// Once a write has failed nothing more is written: a trace with a gap would be worse than one
    /// that ends.
    failure: Option<Error>,
}

impl RecordDevice {
    /// Puts a recorder on top of `below`. The trace is written to `file`, open for writing and
    /// empty; `path` is what it is called.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when the file holds something, and what the system says.
    pub fn new(below: Arc<dyn Device>, file: File, path: &Path) -> Result<RecordDevice, Error> {
        let fail = |error| Error::from_io(format!("record: {}", path.display()), error);
        if file.metadata().map_err(fail)?.len() > 0 {
            let text =
                format!("record: {} holds something already; name a new file", path.display());
            return Err(Error::new(ErrorKind::Refused, text));
        }
        let encoder = Encoder::new(below.info().block_bytes, below.info().size_bytes);
        let trace = Mutex::new(Trace { file, encoder, last_time: 0, failure: None });
        Ok(RecordDevice { shared: Arc::new(Shared { below, path: path.to_owned(), trace }) })
    }

    /// Why the trace ends before the requests do, if it does: requests are never failed on its
    /// account.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.shared.trace().failure.as_ref().map(Error::repeat)
    }
}

impl Trace {
    fn write(&mut self) {
        if self.failure.is_none()
            && let Err(error) = self.file.write_all(&self.encoder.bytes)
        {
            self.failure = Some(Error::from_io("writing the trace", error));
        }
        self.encoder.bytes.clear();
    }

    fn record(&mut self, record: Record) {
        self.last_time = record.time_nanoseconds;
        self.encoder.record(&record);
        if self.encoder.bytes.len() >= BUFFER_BYTES {
            self.write();
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.encoder.end();
        self.write();
    }
}

impl Device for RecordDevice {
    fn info(&self) -> &Info {
        self.shared.below.info()
    }

    fn describe(&self) -> Node {
        let trace = Node::file(&self.shared.path);
        Node::layer("record", vec![trace, self.shared.below.describe()])
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.shared.below.open(depth, reactor)?;
        let opened_at = (reactor.now().nanoseconds(), self.shared.trace().last_time);
        let channel = RecordChannel {
            below,
            shared: Arc::clone(&self.shared),
            reactor: reactor.clone(),
            opened_at,
        };
        Ok(Box::new(Traced::new(channel, &self.describe())))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        self.shared.below.extents(offset, length, found);
    }

    fn lease(&self) -> Option<&Lease> {
        self.shared.below.lease()
    }
}

struct RecordChannel {
    below: Box<dyn Channel>,
    shared: Arc<Shared>,
    reactor: Reactor,
    /// The same moment on the reactor's clock and in the trace.
    opened_at: (u64, u64),
}

impl Channel for RecordChannel {
    fn submit(&mut self, request: Request) {
        let (op, fua) = match &request.op {
            Op::Read { .. } => (RecordedOp::Read, false),
            Op::Write { fua, .. } => (RecordedOp::Write, *fua),
            Op::WriteZeroes { fua, .. } => (RecordedOp::WriteZeroes, *fua),
            Op::Discard { .. } => (RecordedOp::Discard, false),
            Op::Flush => (RecordedOp::Flush, false),
        };
        // What the device refuses moves nothing and belongs in no trace.
        if self.shared.below.info().check(&request.op).is_ok() {
            let (offset, length) = request.op.range().unwrap_or_default();
            let time = self.opened_at.1 + (self.reactor.now().nanoseconds() - self.opened_at.0);
            let mut trace = self.shared.trace();
            let time_nanoseconds = time.max(trace.last_time);
            trace.record(Record { time_nanoseconds, op, fua, offset, length });
        }
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.below.poll(done);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

/// The records of a trace or a CSV file, whichever it is.
pub struct TraceReader<R> {
    source: Source<R>,
    ended: bool,
}

enum Source<R> {
    Trace(Decoder<R>),
    Csv(CsvReader<R>),
}

impl<R: BufRead> TraceReader<R> {
    /// Looks at the beginning.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] for another version, and what the system says.
    pub fn new(mut input: R) -> Result<TraceReader<R>, Error> {
        let beginning =
            input.fill_buf().map_err(|error| Error::from_io("reading the trace", error))?;
        let source = if beginning.starts_with(format::MAGIC) {
            Source::Trace(Decoder::new(input)?)
        } else {
            Source::Csv(CsvReader::new(input))
        };
        Ok(TraceReader { source, ended: false })
    }

    /// Once all records were read: whether the trace has its end, or was cut off.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match &self.source {
            Source::Trace(decoder) => decoder.is_complete(),
            Source::Csv(_) => true,
        }
    }
}

impl<R: BufRead> Iterator for TraceReader<R> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Result<Record, Error>> {
        if self.ended {
            return None;
        }
        let next = match &mut self.source {
            Source::Trace(decoder) => decoder.next_record(),
            Source::Csv(reader) => reader.next_record(),
        };
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

//! `record(file:TRACE, DEVICE)`: writes down every request, for the simulator and for a reader that
//! wants to know what a program asks of its disk.
//!
//! ```text
//!   requests --> time, operation, offset, length --> TRACE (appended, 64 KiB at a time)
//!      |                                     ^
//!      +-------> below, as they are          +-- latency, when they have completed
//! ```
//!
//! The trace is written past the reactor: it must not take part in what it records, and has to work
//! on either clock. Each channel is a stream of its own.
//!
//! A run opens its stack anew for every trial. What this process has recorded goes on then, behind
//! what is there; what another one has written is never touched.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{
    Channel, Completion, Device, Error, ErrorKind, Extents, Info, Lease, Node, Reactor, Request,
    TracedChannel,
};
use words::statement;

use trace::{Contents, Header, Pairing, Record, RecordedOp, Ticket, Writer};

use crate::messages;

/// What a stack sees of its requests: all of it.
const CONTENTS: Contents =
    Contents { times: true, completions: true, streams: true, flushes: true, discards: true };

/// A device that writes down what passes.
pub struct RecordDevice {
    shared: Arc<Shared>,
}

struct Shared {
    below: Arc<dyn Device>,
    path: PathBuf,
    trace: Arc<Mutex<Trace>>,
}

impl Shared {
    fn trace(&self) -> MutexGuard<'_, Trace> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A trace that this process has begun, with its file's place in the system.
struct BegunTrace {
    file: (u64, u64),
    header: Header,
    trace: Arc<Mutex<Trace>>,
}

/// So many traces can go on; their files stay open.
const BEGUN_MAX: usize = 16;

/// The latest last.
static BEGUN: Mutex<VecDeque<BegunTrace>> = Mutex::new(VecDeque::new());

/// A new trace in an empty file, or the one that this process has begun there; nothing where the
/// file holds something else.
fn trace_in(file: File, found: &Metadata, header: &Header) -> Option<Arc<Mutex<Trace>>> {
    let place = (found.dev(), found.ino());
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if found.len() > 0 {
        let is_same = |known: &&BegunTrace| known.file == place && known.header == *header;
        return begun.iter().find(is_same).map(|known| Arc::clone(&known.trace));
    }
    let trace = Arc::new(Mutex::new(Trace {
        writer: Writer::new(file, header),
        pairing: Pairing::default(),
        last_time: 0,
        channels: 0,
        open_channels: 0,
        failure: None,
    }));
    // A file that is empty again begins anew.
    begun.retain(|known| known.file != place);
    if begun.len() == BEGUN_MAX {
        begun.pop_front();
    }
    begun.push_back(BegunTrace { file: place, header: *header, trace: Arc::clone(&trace) });
    Some(trace)
}

struct Trace {
    writer: Writer<File>,
    pairing: Pairing,
    last_time: u64,
    /// How many channels were opened, and are open.
    channels: u32,
    open_channels: u32,
    /// Once a write has failed nothing more is written: a trace with a gap would be worse than one
    /// that ends.
    failure: Option<Error>,
}

impl RecordDevice {
    /// Puts a recorder on top of `below`. The trace is written to `file`, open for writing and
    /// empty, or goes on there where this process has begun it on a device of the same size; `path`
    /// is what it is called.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when the file holds something else, and what the system says.
    pub fn new(below: Arc<dyn Device>, file: File, path: &Path) -> Result<RecordDevice, Error> {
        let fail = |error| Error::from_io(format!("record: {}", path.display()), error);
        let found = file.metadata().map_err(fail)?;
        let header = Header {
            block_bytes: below.info().block_bytes,
            size_bytes: below.info().size_bytes,
            contents: CONTENTS,
            anonymous: false,
        };
        let Some(trace) = trace_in(file, &found, &header) else {
            let text = statement!(messages::RECORDING_THERE, path = path.display());
            return Err(Error::new(ErrorKind::Refused, text));
        };
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
    fn write(&mut self, record: &Record) {
        if self.failure.is_none() {
            self.failure = self.writer.write(record).err();
        }
    }

    fn submit(&mut self, record: Record) -> Ticket {
        self.last_time = record.time_nanoseconds;
        self.pairing.submit(record)
    }

    fn end(&mut self, ticket: Ticket, latency_nanoseconds: Option<u64>) {
        self.pairing.end(ticket, latency_nanoseconds);
    }

    /// A channel is opened. Before the first nothing is written: a stack is also built to be looked
    /// at, and the one that is used has to find the file empty.
    fn open_channel(&mut self) {
        self.channels += 1;
        self.open_channels += 1;
        if self.failure.is_none() {
            self.failure = self.writer.go_on().err();
        }
    }

    /// A channel is closed. With the last one the trace has its end: a process may end before its
    /// devices do.
    fn close_channel(&mut self) {
        self.write_ended();
        self.open_channels -= 1;
        if self.open_channels > 0 {
            return;
        }
        while let Some(record) = self.pairing.next_left() {
            self.write(&record);
        }
        if self.failure.is_none() {
            self.failure = self.writer.finish(0).err();
        }
    }

    fn write_ended(&mut self) {
        while let Some(record) = self.pairing.next_ended() {
            self.write(&record);
        }
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
        let mut trace = self.shared.trace();
        trace.open_channel();
        let channel = RecordChannel {
            below,
            shared: Arc::clone(&self.shared),
            reactor: reactor.clone(),
            opened_at: (reactor.now().nanoseconds(), trace.last_time),
            stream: trace.channels,
            under_way: HashMap::new(),
        };
        drop(trace);
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
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
    stream: u32,
    /// What was written down and has not completed, by tag, and when it was submitted.
    under_way: HashMap<u64, (Ticket, u64)>,
}

impl Channel for RecordChannel {
    fn submit(&mut self, request: Request) {
        let (op, fua) = RecordedOp::of(&request.op);
        // What the device refuses moves nothing and belongs in no trace.
        if self.shared.below.info().check(&request.op).is_ok() {
            let (offset, length) = request.op.range().unwrap_or_default();
            let now = self.reactor.now().nanoseconds();
            let time = self.opened_at.1 + (now - self.opened_at.0);
            let mut trace = self.shared.trace();
            let time_nanoseconds = time.max(trace.last_time);
            let ticket = trace.submit(Record {
                time_nanoseconds,
                latency_nanoseconds: None,
                op,
                fua,
                offset,
                length,
                stream: self.stream,
            });
            self.under_way.insert(request.tag, (ticket, now));
        }
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let first = done.len();
        self.below.poll(done);
        if done.len() == first {
            return;
        }
        let now = self.reactor.now().nanoseconds();
        let mut trace = self.shared.trace();
        for completion in &done[first..] {
            if let Some((ticket, submitted)) = self.under_way.remove(&completion.tag) {
                trace.end(ticket, Some(now - submitted));
            }
        }
        trace.write_ended();
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

impl Drop for RecordChannel {
    fn drop(&mut self) {
        let mut trace = self.shared.trace();
        for (ticket, _) in self.under_way.values() {
            trace.end(*ticket, None);
        }
        trace.close_channel();
    }
}

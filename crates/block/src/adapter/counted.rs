//! Counts what passes, exactly: what a member moved, for the audit of every trial.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reactor::Reactor;

use crate::{Channel, Completion, Device, Error, Extents, Info, Lease, Node, Op, Request};

/// What has passed a [`Counted`] device since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Read requests.
    pub reads: u64,
    /// Bytes of all read requests.
    pub read_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes of all write requests.
    pub written_bytes: u64,
    /// Flushes, and nothing else.
    pub flushes: u64,
}

impl Traffic {
    /// What has passed since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Traffic) -> Traffic {
        Traffic {
            reads: self.reads - earlier.reads,
            read_bytes: self.read_bytes - earlier.read_bytes,
            writes: self.writes - earlier.writes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            flushes: self.flushes - earlier.flushes,
        }
    }
}

/// The counters of a [`Counted`] device; they go on counting while they are read.
#[derive(Debug, Default)]
pub struct Counters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    flushes: AtomicU64,
}

impl Counters {
    /// The counts now. Requests are counted as they are submitted.
    #[must_use]
    pub fn read(&self) -> Traffic {
        Traffic {
            reads: self.reads.load(Ordering::Relaxed),
            read_bytes: self.read_bytes.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            written_bytes: self.written_bytes.load(Ordering::Relaxed),
            flushes: self.flushes.load(Ordering::Relaxed),
        }
    }

    fn count(&self, op: &Op) {
        let (count, bytes, length) = match op {
            Op::Read { into, .. } => (&self.reads, &self.read_bytes, into.len()),
            Op::Write { from, .. } => (&self.writes, &self.written_bytes, from.len()),
            Op::Flush => {
                self.flushes.fetch_add(1, Ordering::Relaxed);
                return;
            }
            // They move no data over the link.
            Op::WriteZeroes { .. } | Op::Discard { .. } => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
        bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// A device that counts what passes.
pub struct Counted {
    below: Arc<dyn Device>,
    counters: Arc<Counters>,
}

impl Counted {
    /// Puts counters on top of `below`.
    #[must_use]
    pub fn over(below: Arc<dyn Device>) -> Counted {
        Counted { below, counters: Arc::default() }
    }

    /// The counters, to be read at any time.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

impl Device for Counted {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.below.open(depth, reactor)?;
        Ok(Box::new(CountedChannel { below, counters: self.counters() }))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        self.below.extents(offset, length, found);
    }

    fn lease(&self) -> Option<&Lease> {
        self.below.lease()
    }
}

struct CountedChannel {
    below: Box<dyn Channel>,
    counters: Arc<Counters>,
}

impl Channel for CountedChannel {
    fn submit(&mut self, request: Request) {
        self.counters.count(&request.op);
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.below.poll(done);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

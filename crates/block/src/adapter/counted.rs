//! Counts what passes, exactly: what a member moved, for the audit of every trial. And remembers
//! that a device has said it is gone.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use reactor::{Reactor, Signal};
use words::Text;

use crate::{
    Channel, Completion, Device, Error, ErrorKind, Extents, Info, Lease, Node, Op, Request,
};

/// What has passed a [`CountingDevice`] device since it was made.
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

/// Into how many regions of the same length a device is cut, to tell where it was read.
const REGIONS: usize = 64;

/// What has passed one channel. The channel alone writes to it, so that no processor waits for
/// another; what is asked for is the sum over all channels.
#[derive(Debug)]
#[repr(align(128))]
struct ChannelCounts {
    /// Bytes of the reads that begin in each region.
    read_at: [AtomicU64; REGIONS],
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    flushes: AtomicU64,
}

/// Adds to a counter that has one writer.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

impl ChannelCounts {
    const fn new() -> ChannelCounts {
        ChannelCounts {
            read_at: [const { AtomicU64::new(0) }; REGIONS],
            reads: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
        }
    }

    fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        let totals =
            [&self.reads, &self.read_bytes, &self.writes, &self.written_bytes, &self.flushes];
        self.read_at.iter().chain(totals)
    }

    fn take_in(&self, other: &ChannelCounts) {
        self.all().zip(other.all()).for_each(|(own, more)| add(own, more.load(Ordering::Relaxed)));
    }

    fn count(&self, op: &Op, region_bytes: u64) {
        let (count, bytes, length) = match op {
            Op::Read { offset, into, .. } => {
                // One beyond the end is refused below.
                let region = (offset / region_bytes).min(REGIONS as u64 - 1);
                add(&self.read_at[region as usize], into.len() as u64);
                (&self.reads, &self.read_bytes, into.len())
            }
            Op::Write { from, .. } => (&self.writes, &self.written_bytes, from.len()),
            Op::Flush => return add(&self.flushes, 1),
            // They move no data over the link.
            Op::WriteZeroes { .. } | Op::Discard { .. } => return,
        };
        add(count, 1);
        add(bytes, length as u64);
    }
}

/// The counts of the channels that are closed, together, and of each that is open.
#[derive(Debug)]
struct AllCounts {
    closed: ChannelCounts,
    open: Vec<Arc<ChannelCounts>>,
}

/// The counters of a [`CountingDevice`] device; they go on counting while they are read.
#[derive(Debug)]
pub struct Counters {
    size_bytes: u64,
    region_bytes: u64,
    counts: Mutex<AllCounts>,
    gone: OnceLock<Text>,
}

impl Counters {
    fn of(size_bytes: u64) -> Counters {
        Counters {
            size_bytes,
            region_bytes: size_bytes.div_ceil(REGIONS as u64).max(1),
            counts: Mutex::new(AllCounts { closed: ChannelCounts::new(), open: Vec::new() }),
            gone: OnceLock::new(),
        }
    }

    /// Why the device is gone, once it has answered a request so.
    #[must_use]
    pub fn gone(&self) -> Option<&Text> {
        self.gone.get()
    }

    /// Notes that the device is gone, or part of it; of several reasons the first counts.
    pub fn note_gone(&self, why: impl FnOnce() -> Text) {
        self.gone.get_or_init(why);
    }

    fn counts(&self) -> MutexGuard<'_, AllCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sum over all channels.
    fn sum(&self) -> ChannelCounts {
        let (sum, counts) = (ChannelCounts::new(), self.counts());
        sum.take_in(&counts.closed);
        counts.open.iter().for_each(|channel| sum.take_in(channel));
        sum
    }

    /// Where was read: ranges of the device, one behind the other, each with the bytes of the reads
    /// that began in it.
    pub fn read_at(&self) -> impl Iterator<Item = (Range<u64>, u64)> + '_ {
        let (length, size) = (self.region_bytes, self.size_bytes);
        let range =
            move |number: u64| (number * length).min(size)..((number + 1) * length).min(size);
        (0..).map(range).zip(self.sum().read_at.map(AtomicU64::into_inner))
    }

    /// The counts now. Requests are counted as they are submitted.
    #[must_use]
    pub fn read(&self) -> Traffic {
        let sum = self.sum();
        Traffic {
            reads: sum.reads.into_inner(),
            read_bytes: sum.read_bytes.into_inner(),
            writes: sum.writes.into_inner(),
            written_bytes: sum.written_bytes.into_inner(),
            flushes: sum.flushes.into_inner(),
        }
    }

    /// Counts of its own for a channel.
    fn open_channel(&self) -> Arc<ChannelCounts> {
        let own = Arc::new(ChannelCounts::new());
        self.counts().open.push(Arc::clone(&own));
        own
    }

    fn close_channel(&self, own: &Arc<ChannelCounts>) {
        let mut counts = self.counts();
        if let Some(place) = counts.open.iter().position(|open| Arc::ptr_eq(open, own)) {
            counts.open.swap_remove(place);
            counts.closed.take_in(own);
        }
    }
}

/// A device that counts what passes.
pub struct CountingDevice {
    below: Arc<dyn Device>,
    counters: Arc<Counters>,
}

impl CountingDevice {
    /// Puts counters on top of `below`.
    #[must_use]
    pub fn over(below: Arc<dyn Device>) -> CountingDevice {
        let counters = Arc::new(Counters::of(below.info().size_bytes));
        CountingDevice { below, counters }
    }

    /// The counters, to be read at any time.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

impl Device for CountingDevice {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.below.open(depth, reactor)?;
        let counters = self.counters();
        let own = counters.open_channel();
        Ok(Box::new(CountedChannel { below, own, counters }))
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
    own: Arc<ChannelCounts>,
    counters: Arc<Counters>,
}

impl Drop for CountedChannel {
    fn drop(&mut self) {
        self.counters.close_channel(&self.own);
    }
}

impl Channel for CountedChannel {
    fn submit(&mut self, request: Request) {
        self.own.count(&request.op, self.counters.region_bytes);
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let before = done.len();
        self.below.poll(done);
        for error in done[before..].iter().filter_map(|completion| completion.result.as_ref().err())
        {
            if error.kind() == ErrorKind::Gone {
                self.counters.note_gone(|| error.text());
            }
        }
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }

    fn signal(&self) -> Option<Signal> {
        self.below.signal()
    }
}

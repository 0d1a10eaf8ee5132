//! A bound on how long a device may take to answer: a layer that turns silence into an error.
//!
//! ```text
//!   request ──> noted with the tick it came in ──> below
//!   completion <── in time <────────────────────── below
//!   error `Gone`  <── a timer found it too old; from then on nothing is asked of what is below
//! ```
//!
//! A disk that neither answers nor fails would hold up what waits for it for ever; so an array
//! drops it as it drops one that fails. A device that was silent once is not asked again through
//! this layer, on any channel: what it still does with the requests it kept is unknown, and so is
//! what it holds.
//!
//! The buffer of a read that is given up stays with the device below, which may still write into
//! it; its owner gets another of the same length.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use block::{
    Buf, BufMut, Channel, Clock, Completion, Device, Error, ErrorKind, Extents, Info, Lease, Node,
    Op, Reactor, Request, ReturnedBuffer, duration_text,
};
use reactor::{Slots, Source};
use words::{Text, statement};

use crate::messages;

/// The clock is not read for each request: there are at least so many ticks in the time that one
/// may take, and a request is too old after more of them. So it is given up between one and one and
/// a quarter times that time.
const TICKS_LEAST: u32 = 4;
/// The longest tick on the wall clock. On the virtual one nothing is told before a request is too
/// old, and a tick moves the clock.
const TICK_MOST: Duration = Duration::from_secs(1);
/// A request that waits for longer is late, which is told before it is too old.
const LATE: Duration = Duration::from_secs(2);

/// A device that answers in time or not at all.
pub struct DeadlineDevice {
    below: Arc<dyn Device>,
    shared: Arc<Shared>,
}

struct Shared {
    /// The device, as messages call it.
    name: String,
    /// How long an answer may take.
    time: Duration,
    /// It took longer.
    is_silent: AtomicBool,
    /// How many channels have a request that is late.
    late_channels: AtomicU32,
}

impl DeadlineDevice {
    /// Puts a bound on how long `below` may take for an answer.
    #[must_use]
    pub fn new(below: Arc<dyn Device>, time: Duration) -> DeadlineDevice {
        let shared = Shared {
            name: below.describe().to_string(),
            time,
            is_silent: AtomicBool::new(false),
            late_channels: AtomicU32::new(0),
        };
        DeadlineDevice { below, shared: Arc::new(shared) }
    }

    /// What tells whether the device has been silent for too long, at any time.
    #[must_use]
    pub fn watch(&self) -> DeadlineWatch {
        DeadlineWatch { shared: Arc::clone(&self.shared) }
    }
}

/// Tells whether a device has been silent for too long.
#[derive(Clone)]
pub struct DeadlineWatch {
    shared: Arc<Shared>,
}

impl DeadlineWatch {
    /// What there is to say of the device, once it has been silent for too long.
    #[must_use]
    pub fn failure(&self) -> Option<Text> {
        self.shared.is_silent.load(Ordering::Acquire).then(|| self.shared.error().text())
    }

    /// Whether a request waits for longer than a device in order takes, though not yet for too
    /// long.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.shared.late_channels.load(Ordering::Acquire) > 0
    }

    /// What messages call the device.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// What there is to say while a request is late.
    #[must_use]
    pub fn late_text(&self) -> Text {
        let (late, time) = (duration_text(LATE), duration_text(self.shared.time));
        statement!(messages::LATE, name = &self.shared.name, late = late, time = time)
    }
}

impl std::fmt::Debug for DeadlineWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.shared.name, duration_text(self.shared.time))
    }
}

impl Shared {
    fn error(&self) -> Error {
        let time = duration_text(self.time);
        Error::new(ErrorKind::Gone, statement!(messages::TOO_LATE, name = &self.name, time = time))
    }
}

impl Device for DeadlineDevice {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let tick = self.shared.time / TICKS_LEAST;
        let tick = if reactor.clock() == Clock::Wall { tick.min(TICK_MOST) } else { tick };
        Ok(Box::new(DeadlineChannel {
            below: self.below.open(depth, reactor)?,
            shared: Arc::clone(&self.shared),
            source: reactor.source(),
            open: Slots::default(),
            answered: Vec::new(),
            done: Vec::new(),
            tick_time: tick,
            tick: 0,
            is_ticking: false,
            is_late: false,
        }))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        if self.shared.is_silent.load(Ordering::Acquire) {
            found.push(length, false);
        } else {
            self.below.extents(offset, length, found);
        }
    }

    fn lease(&self) -> Option<&Lease> {
        self.below.lease()
    }
}

/// A request that is below. Its key is its tag there.
struct Open {
    tag: u64,
    buffer: LentBuffer,
    tick: u32,
}

/// What is given back for a buffer that does not come back.
enum LentBuffer {
    Nothing,
    Read(usize),
    Written(Buf),
}

impl LentBuffer {
    fn of(op: &Op) -> LentBuffer {
        match op {
            Op::Read { into, .. } => LentBuffer::Read(into.len()),
            Op::Write { from, .. } => LentBuffer::Written(from.clone()),
            Op::WriteZeroes { .. } | Op::Discard { .. } | Op::Flush => LentBuffer::Nothing,
        }
    }

    fn instead(self) -> ReturnedBuffer {
        match self {
            LentBuffer::Nothing => ReturnedBuffer::Nothing,
            LentBuffer::Read(length) => ReturnedBuffer::Read(BufMut::zeroed(length)),
            LentBuffer::Written(buffer) => ReturnedBuffer::Written(buffer),
        }
    }
}

struct DeadlineChannel {
    below: Box<dyn Channel>,
    shared: Arc<Shared>,
    source: Source,
    open: Slots<Open>,
    /// Answered by this layer.
    answered: Vec<Completion>,
    done: Vec<Completion>,
    /// How long a tick takes, and how many there were.
    tick_time: Duration,
    tick: u32,
    is_ticking: bool,
    /// One of its requests is late, and the device knows.
    is_late: bool,
}

impl Drop for DeadlineChannel {
    fn drop(&mut self) {
        self.set_late(false);
    }
}

impl DeadlineChannel {
    fn set_late(&mut self, is_late: bool) {
        match (std::mem::replace(&mut self.is_late, is_late), is_late) {
            (false, true) => _ = self.shared.late_channels.fetch_add(1, Ordering::AcqRel),
            (true, false) => _ = self.shared.late_channels.fetch_sub(1, Ordering::AcqRel),
            _ => (),
        }
    }

    /// Whether a request has seen more ticks than there are in a time.
    fn has_older(&self, time: Duration) -> bool {
        let ticks = time.as_nanos().div_ceil(self.tick_time.as_nanos().max(1));
        let most = u32::try_from(ticks).unwrap_or(u32::MAX / 2);
        self.open.iter().any(|(_, open)| self.tick.wrapping_sub(open.tick) > most)
    }

    fn is_silent(&self) -> bool {
        self.shared.is_silent.load(Ordering::Acquire)
    }

    fn start_ticking(&mut self) {
        if !self.is_ticking {
            self.is_ticking = true;
            self.source.at(self.source.reactor().now() + self.tick_time, 0);
        }
    }

    /// Looks at the clock's ticks, and whether a request has seen too many of them.
    fn pass_time(&mut self) {
        while self.source.take().is_some() {
            self.is_ticking = false;
            self.tick = self.tick.wrapping_add(1);
            if self.has_older(self.shared.time) {
                self.shared.is_silent.store(true, Ordering::Release);
            }
            self.set_late(self.has_older(LATE));
            if !self.open.is_empty() {
                self.start_ticking();
            }
        }
    }

    /// Answers everything that is below.
    fn give_up(&mut self) {
        for key in self.open.keys() {
            if let Some(open) = self.open.remove(key) {
                self.answered.push(Completion {
                    tag: open.tag,
                    buffer: open.buffer.instead(),
                    result: Err(self.shared.error()),
                });
            }
        }
    }
}

impl Channel for DeadlineChannel {
    fn submit(&mut self, request: Request) {
        let Request { tag, op } = request;
        if self.is_silent() {
            let buffer = match op {
                Op::Read { into, .. } => ReturnedBuffer::Read(into),
                Op::Write { from, .. } => ReturnedBuffer::Written(from),
                Op::WriteZeroes { .. } | Op::Discard { .. } | Op::Flush => ReturnedBuffer::Nothing,
            };
            self.answered.push(Completion { tag, buffer, result: Err(self.shared.error()) });
            return;
        }
        let key = self.open.insert(Open { tag, buffer: LentBuffer::of(&op), tick: self.tick });
        self.start_ticking();
        self.below.submit(Request::new(key.into(), op));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        // Also what is not waited for any more is taken: an event that stays would wake the owner
        // again and again.
        self.below.poll(&mut self.done);
        for completion in self.done.drain(..) {
            let Some(open) = self.open.remove(completion.tag as u32) else { continue };
            let tag = open.tag;
            // A write's buffer has one owner again before it goes up.
            drop(open);
            done.push(Completion { tag, ..completion });
        }
        self.pass_time();
        if self.is_silent() {
            self.give_up();
        }
        if self.is_late {
            self.set_late(self.has_older(LATE));
        }
        done.append(&mut self.answered);
    }

    fn in_flight(&self) -> u32 {
        (self.open.len() + self.answered.len()) as u32
    }
}

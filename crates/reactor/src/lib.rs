//! Time, waiting and kernel I/O for everything that raidloom does.
//!
//! ```text
//!            owner: submit, poll, wait
//!              |
//!           Reactor ---- timers (one queue)        now()  at()  wait()
//!            /    \
//!        wall      virtual
//!      io_uring    the clock jumps to the next timer
//! ```
//!
//! A [`Reactor`] belongs to one thread and clones of it are the same reactor. The owner that waits
//! for something makes a [`Source`]: timers and kernel I/O are started through it and their
//! [`Event`]s are taken from it. The owner of the outermost channel is the one that calls
//! [`Reactor::wait`]; what was started need not move before `wait` or [`Reactor::turn`] is called.
//!
//! On the virtual clock there is no kernel I/O and no waiting: `wait` moves the clock to the next
//! timer.

#![allow(clippy::disallowed_methods, reason = "it has the clock for all others")]

mod bell;
mod buffer;
mod mapping;
mod missing;
pub mod plain_file;
mod ring;
mod slots;
pub mod ublk;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::ops::{Add, Sub};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use bell::Bell;
pub use buffer::{ALIGNMENT_BYTES, Buf, BufMut};
pub use mapping::write_mapped;
pub use missing::RingMissing;
use ring::Operation;
pub use ring::RingFile;
pub use slots::Slots;

/// A moment, in nanoseconds since its reactor was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The moment the reactor was made.
    pub const ZERO: Time = Time(0);

    /// Nanoseconds since the reactor was made.
    #[must_use]
    pub fn nanoseconds(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`, or zero when it lies ahead.
    #[must_use]
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

/// Which clock a reactor runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Real time and kernel I/O.
    Wall,
    /// Modelled time: it moves only when the owner waits.
    Virtual,
}

/// Something that a source was waiting for.
#[derive(Debug)]
pub struct Event {
    /// The token given when it was started.
    pub token: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a timer or an operation.
#[derive(Debug)]
pub enum Outcome {
    /// The time has come.
    Timer,
    /// A read ended; `result` is the count of bytes, fewer than asked for at the end of a file and
    /// for buffers of more than 1024 pieces, of which the kernel takes the first 1024.
    Read {
        /// The buffer that was lent.
        buffer: BufMut,
        /// Bytes read, from the start of the buffer.
        result: io::Result<u32>,
    },
    /// A write ended; `result` is the count of bytes, fewer than asked for on a full disk and for
    /// buffers of more than 1024 pieces, of which the kernel takes the first 1024.
    Written {
        /// The buffer that was lent.
        buffer: Buf,
        /// Bytes written, from the start of the buffer.
        result: io::Result<u32>,
    },
    /// An operation without data ended.
    Done {
        /// Whether it succeeded.
        result: io::Result<()>,
    },
}

/// Why [`Reactor::wait`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// A source has an event: poll the channels.
    Events,
    /// The deadline passed.
    Deadline,
    /// A [`Ringer`] rang, a nudge came, or a signal came.
    Rung,
    /// Virtual clock only: nothing is under way and no deadline was given, so nothing would ever
    /// happen.
    Idle,
}

/// What is to be done about a timer whose time has come ([`Reactor::source_asked_first`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerAction {
    /// There is something for the owner: an event.
    Now,
    /// Nothing before this time, for which the timer is set again.
    At(Time),
    /// Nothing, and the timer is done with.
    Never,
}

#[derive(Default)]
pub(crate) struct Mailbox {
    events: RefCell<VecDeque<Event>>,
    /// The source is gone: what it had started ends unseen.
    closed: Cell<bool>,
    /// What is asked when a timer's time has come, before the owner is woken.
    due: Option<Box<dyn Fn(Time) -> TimerAction>>,
}

struct Timer {
    time: Time,
    // Timers of one moment go off in the order in which they were set, so that a seed replays.
    order: u64,
    token: u64,
    mailbox: Rc<Mailbox>,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Timer) -> bool {
        (self.time, self.order) == (other.time, other.order)
    }
}
impl Eq for Timer {}
impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timer {
    fn cmp(&self, other: &Timer) -> std::cmp::Ordering {
        (self.time, self.order).cmp(&(other.time, other.order))
    }
}

enum Kind {
    Wall(Box<Wall>),
    Virtual { now: Cell<Time> },
}

struct Wall {
    start: Instant,
    /// How far the owner is ahead of the clock, in nanoseconds: work that it has said it did and
    /// has not slept for, or, where this is negative, slept longer than it worked.
    ahead: Cell<i64>,
    ring: RefCell<ring::Ring>,
    bell: RefCell<Option<ListeningBell>>,
    rung: Cell<bool>,
}

/// A bell, and its file in the ring.
struct ListeningBell {
    file: RingFile,
    bell: Bell,
}

struct Inner {
    kind: Kind,
    timers: RefCell<BinaryHeap<Reverse<Timer>>>,
    timers_set: Cell<u64>,
    /// Events that lie in mailboxes.
    pending: Cell<usize>,
    /// Events that came since a wait last returned to an owner.
    fresh: Cell<usize>,
    /// The owners are to poll.
    nudged: Cell<bool>,
    /// Events that were ever taken from mailboxes, or went with them.
    taken: Cell<u64>,
    /// What `taken` was when the owner of all was last told of events.
    told: Cell<Option<u64>>,
    /// How often a wait has come back, to whomever.
    rounds: Cell<u64>,
}

impl Inner {
    /// The place of a timer that is set now among those of its moment.
    fn next_order(&self) -> u64 {
        self.timers_set.replace(self.timers_set.get() + 1)
    }

    /// So many events do not lie in a mailbox any more.
    fn forget(&self, count: usize) {
        self.pending.set(self.pending.get() - count);
        self.taken.set(self.taken.get() + count as u64);
    }
}

/// How long a wait lasts at most over events that are not taken, so that a mistake costs little and
/// nothing stands for ever.
const PATIENCE_WITH_OWNERS: Duration = Duration::from_secs(1);

/// Time, waiting and kernel I/O for one thread. Clones are the same reactor.
#[derive(Clone)]
pub struct Reactor(Rc<Inner>);

impl Reactor {
    /// A reactor on real time with an io_uring of its own.
    ///
    /// # Errors
    /// Where io_uring is missing or forbidden (`kernel.io_uring_disabled`, a container's filter),
    /// or there is no room for another.
    pub fn wall() -> Result<Reactor, RingMissing> {
        let ring = ring::Ring::new().map_err(|error| RingMissing::new(&error))?;
        let ring = RefCell::new(ring);
        let wall = Wall {
            start: Instant::now(),
            ahead: Cell::new(0),
            ring,
            bell: RefCell::new(None),
            rung: Cell::new(false),
        };
        Ok(Reactor::of(Kind::Wall(Box::new(wall))))
    }

    /// A reactor on a clock of its own, which starts at zero and moves only in [`Reactor::wait`].
    #[must_use]
    pub fn virtual_clock() -> Reactor {
        Reactor::of(Kind::Virtual { now: Cell::new(Time::ZERO) })
    }

    fn of(kind: Kind) -> Reactor {
        Reactor(Rc::new(Inner {
            kind,
            timers: RefCell::default(),
            timers_set: Cell::new(0),
            pending: Cell::new(0),
            fresh: Cell::new(0),
            nudged: Cell::new(false),
            taken: Cell::new(0),
            told: Cell::new(None),
            rounds: Cell::new(0),
        }))
    }

    /// Which clock this reactor runs on.
    #[must_use]
    pub fn clock(&self) -> Clock {
        match self.0.kind {
            Kind::Wall(_) => Clock::Wall,
            Kind::Virtual { .. } => Clock::Virtual,
        }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        match &self.0.kind {
            Kind::Wall(wall) => wall.now(),
            Kind::Virtual { now } => now.get(),
        }
    }

    /// Says that the owner has worked for so long, on a machine whose clock stands still while it
    /// computes. `now` knows it at once; the kernel learns of it when it has come to a millisecond,
    /// which is then slept off, so that the timer's own fineness and cost do not matter: a sleep
    /// that lasts longer than asked for is taken off what is said next. On the virtual clock,
    /// whose owners do no work of their own, nothing happens.
    pub fn spend(&self, work: Duration) {
        if let Kind::Wall(wall) = &self.0.kind {
            wall.spend(work);
        }
    }

    /// A new mailbox on this reactor.
    #[must_use]
    pub fn source(&self) -> Source {
        Source { reactor: self.clone(), mailbox: Rc::default() }
    }

    /// A new mailbox whose timers end in events only where `due` says so at their time: for an
    /// owner that waits for something that may come later than it can tell beforehand, and would be
    /// woken, with all that lie above it, to set the next timer. `due` sets no timer itself and
    /// waits for nothing.
    #[must_use]
    pub fn source_asked_first(&self, due: impl Fn(Time) -> TimerAction + 'static) -> Source {
        let mailbox = Mailbox { due: Some(Box::new(due)), ..Mailbox::default() };
        Source { reactor: self.clone(), mailbox: Rc::new(mailbox) }
    }

    /// Makes a file known to this reactor.
    ///
    /// # Errors
    /// `Unsupported` on the virtual clock, where no kernel I/O exists.
    pub fn register(&self, descriptor: Arc<OwnedFd>) -> io::Result<RingFile> {
        match &self.0.kind {
            Kind::Wall(wall) => Ok(wall.ring.borrow_mut().register_file(descriptor)),
            Kind::Virtual { .. } => Err(no_kernel()),
        }
    }

    /// A zeroed buffer at a 4 KiB boundary, registered with the ring where there is one and it has
    /// room, which saves the kernel looking its pages up for each operation.
    #[must_use]
    pub fn allocate(&self, length: usize) -> BufMut {
        match &self.0.kind {
            Kind::Wall(wall) => wall.ring.borrow_mut().allocate(length),
            Kind::Virtual { .. } => BufMut::zeroed(length),
        }
    }

    /// A bell with which other threads wake this reactor.
    ///
    /// # Errors
    /// `Unsupported` on the virtual clock; what the kernel says otherwise.
    pub fn ringer(&self) -> io::Result<Ringer> {
        let Kind::Wall(wall) = &self.0.kind else { return Err(no_kernel()) };
        let mut bell = wall.bell.borrow_mut();
        if bell.is_none() {
            let made = Bell::new()?;
            let mut ring = wall.ring.borrow_mut();
            let file = ring.register_file(Arc::clone(made.descriptor()));
            listen(&mut ring, &file)?;
            *bell = Some(ListeningBell { file, bell: made });
        }
        Ok(Ringer { bell: bell.as_ref().expect("made above").bell.clone() })
    }

    /// Hands over what was started, takes what is ready, and never sleeps.
    ///
    /// An owner that always finds something in `poll` calls this now and then, so that slower
    /// devices get their share.
    ///
    /// # Errors
    /// What the kernel says when the ring itself fails; operations report their own failures as
    /// events.
    pub fn turn(&self) -> io::Result<()> {
        if let Kind::Wall(wall) = &self.0.kind {
            wall.hand_over()?;
            self.reap(wall)?;
        }
        self.fire_due_timers();
        Ok(())
    }

    /// Sleeps (or moves the virtual clock) until something is ready for one of the sources, a bell
    /// rings, or `deadline`. Returns at once while events lie in mailboxes: for an owner of all
    /// that is under way on this reactor, which polls all its channels before it waits, idle ones
    /// too.
    ///
    /// An owner that was told of events and comes back without having taken one would be told of
    /// them for ever, and use a whole processor. That is a mistake of ours and a panic where
    /// assertions are on; where they are off, what was left lying ends no wait before a second has
    /// passed.
    ///
    /// # Errors
    /// What the kernel says when the ring itself fails; operations report their own failures as
    /// events.
    pub fn wait(&self, deadline: Option<Time>) -> io::Result<WakeReason> {
        if self.0.told.take() == Some(self.0.taken.get()) && self.0.pending.get() > 0 {
            let left = self.0.pending.get();
            debug_assert!(
                false,
                "{left} events that nobody takes: whoever waits polls all that it has opened \
                first, idle channels too"
            );
            let until = self.now() + PATIENCE_WITH_OWNERS;
            return match self
                .wait_for_new(Some(deadline.map_or(until, |deadline| deadline.min(until))))?
            {
                WakeReason::Deadline if deadline.is_none_or(|deadline| self.now() < deadline) => {
                    Ok(WakeReason::Events)
                }
                woken => Ok(woken),
            };
        }
        let woken = self.wait_for_any(deadline);
        self.0.fresh.set(0);
        if matches!(woken, Ok(WakeReason::Events)) {
            self.0.told.set(Some(self.0.taken.get()));
        }
        woken
    }

    /// When the next timer goes off, which on the virtual clock is the next moment at which
    /// anything happens by itself; `None` while none is set.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.next_timer()
    }

    /// How often a wait has come back on this reactor: what is idle comes back rarely.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.0.rounds.get()
    }

    /// As [`Reactor::wait`], for one of several owners, which has polled what is its own: an event
    /// that lay in a mailbox when a wait last returned belongs to another, stays there, and does
    /// not end this wait. Each event ends at most one.
    ///
    /// # Errors
    /// As [`Reactor::wait`].
    pub fn wait_for_new(&self, deadline: Option<Time>) -> io::Result<WakeReason> {
        let old = self.0.pending.get().saturating_sub(self.0.fresh.get());
        self.0.pending.set(self.0.pending.get() - old);
        let woken = self.wait_for_any(deadline);
        self.0.fresh.set(0);
        self.0.pending.set(self.0.pending.get() + old);
        woken
    }

    /// Waits for something new, for one that does not let its caller go before: events that lie in
    /// mailboxes already stay there and do not end this wait, and what ends it is still new to the
    /// owners.
    ///
    /// # Errors
    /// As [`Reactor::wait`].
    pub fn wait_for_more(&self) -> io::Result<WakeReason> {
        let (pending, nudged) = (self.0.pending.replace(0), self.0.nudged.replace(false));
        let woken = self.wait_for_any(None);
        self.0.pending.set(pending + self.0.pending.get());
        // A bell that rang meanwhile was for the owners.
        self.0.nudged.set(nudged || matches!(woken, Ok(WakeReason::Rung)));
        woken
    }

    fn wait_for_any(&self, deadline: Option<Time>) -> io::Result<WakeReason> {
        self.0.rounds.set(self.0.rounds.get() + 1);
        if self.0.nudged.take() {
            return Ok(WakeReason::Rung);
        }
        match &self.0.kind {
            Kind::Wall(wall) => self.wait_for_kernel(wall, deadline),
            Kind::Virtual { now } => Ok(self.jump(now, deadline)),
        }
    }

    /// Makes the next wait return at once, so that the owners poll: what one channel does may let
    /// another go on.
    pub fn nudge(&self) {
        self.0.nudged.set(true);
    }

    fn wait_for_kernel(&self, wall: &Wall, deadline: Option<Time>) -> io::Result<WakeReason> {
        let mut looked = false;
        loop {
            self.reap(wall)?;
            self.fire_due_timers();
            if self.0.pending.get() > 0 {
                wall.hand_over()?;
                return Ok(WakeReason::Events);
            }
            if wall.rung.take() {
                wall.hand_over()?;
                return Ok(WakeReason::Rung);
            }
            let until = [deadline, self.next_timer()].into_iter().flatten().min();
            // The clock is read only where there is something to hold it against.
            let timeout = match until {
                None => None,
                Some(until) => {
                    let now = self.now();
                    if deadline.is_some_and(|deadline| deadline <= now) {
                        // What the kernel can finish at once is still in time.
                        if looked || !wall.hand_over()? {
                            return Ok(WakeReason::Deadline);
                        }
                        looked = true;
                        continue;
                    }
                    Some(until - now)
                }
            };
            let slept = wall.ring.borrow_mut().enter(1, timeout)?;
            if !slept && until.is_none_or(|until| self.now() < until) {
                // A signal: the owner may want to know, and nothing is lost by asking it to come
                // again.
                return Ok(WakeReason::Rung);
            }
        }
    }

    fn jump(&self, now: &Cell<Time>, deadline: Option<Time>) -> WakeReason {
        loop {
            if self.0.pending.get() > 0 {
                return WakeReason::Events;
            }
            match (self.next_timer(), deadline) {
                (None, None) => return WakeReason::Idle,
                (Some(time), deadline)
                    if deadline.is_none_or(|deadline| time <= deadline.max(now.get())) =>
                {
                    now.set(now.get().max(time));
                    self.fire_due_timers();
                }
                (_, deadline) => {
                    now.set(now.get().max(deadline.expect("one of the two is given")));
                    return WakeReason::Deadline;
                }
            }
        }
    }

    /// When the next timer goes off that is still waited for.
    fn next_timer(&self) -> Option<Time> {
        let mut timers = self.0.timers.borrow_mut();
        while timers.peek().is_some_and(|Reverse(timer)| timer.mailbox.closed.get()) {
            timers.pop();
        }
        timers.peek().map(|Reverse(timer)| timer.time)
    }

    fn fire_due_timers(&self) {
        let mut timers = self.0.timers.borrow_mut();
        if timers.is_empty() {
            return;
        }
        let now = self.now();
        while let Some(mut first) = timers.peek_mut().filter(|first| first.0.time <= now) {
            let mailbox = &first.0.mailbox;
            let due = match &mailbox.due {
                Some(due) if !mailbox.closed.get() => due(now),
                _ => TimerAction::Now,
            };
            match due {
                TimerAction::At(time) if time > now => {
                    (first.0.time, first.0.order) = (time, self.0.next_order());
                }
                TimerAction::Never => drop(PeekMut::pop(first)),
                TimerAction::Now | TimerAction::At(_) => {
                    let Reverse(timer) = PeekMut::pop(first);
                    let event = Event { token: timer.token, outcome: Outcome::Timer };
                    self.deliver(&timer.mailbox, event);
                }
            }
        }
    }

    fn deliver(&self, mailbox: &Rc<Mailbox>, event: Event) {
        if mailbox.closed.get() {
            return;
        }
        mailbox.events.borrow_mut().push_back(event);
        self.0.pending.set(self.0.pending.get() + 1);
        self.0.fresh.set(self.0.fresh.get() + 1);
    }

    fn reap(&self, wall: &Wall) -> io::Result<()> {
        let mut bell_rang = false;
        wall.ring.borrow_mut().reap(|mailbox, event| match mailbox {
            Some(mailbox) => self.deliver(&mailbox, event),
            None => bell_rang = true,
        });
        if bell_rang {
            wall.rung.set(true);
            if let Some(bell) = &*wall.bell.borrow() {
                listen(&mut wall.ring.borrow_mut(), &bell.file)?;
            }
        }
        Ok(())
    }

    fn start(&self, file: &RingFile, operation: Operation, mailbox: &Rc<Mailbox>, token: u64) {
        let Kind::Wall(wall) = &self.0.kind else {
            unreachable!("a RingFile exists only on the wall clock")
        };
        if let Err(event) =
            wall.ring.borrow_mut().push(file, operation, Some(Rc::clone(mailbox)), token)
        {
            self.deliver(mailbox, event);
        }
    }
}

/// Work that is slept off at once.
const WORK_AT_ONCE: Duration = Duration::from_millis(1);

impl Wall {
    fn now(&self) -> Time {
        let elapsed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time(elapsed.saturating_add_signed(self.ahead.get()))
    }

    fn spend(&self, work: Duration) {
        let nanoseconds = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let ahead = self.ahead.get().saturating_add(nanoseconds(work));
        self.ahead.set(ahead);
        if ahead < nanoseconds(WORK_AT_ONCE) {
            return;
        }
        let before = self.start.elapsed();
        std::thread::sleep(Duration::from_nanos(ahead.unsigned_abs()));
        self.ahead.set(ahead - nanoseconds(self.start.elapsed() - before));
    }

    /// Gives the kernel what is queued and lets it bring out what it keeps back; says whether there
    /// was either.
    fn hand_over(&self) -> io::Result<bool> {
        let mut ring = self.ring.borrow_mut();
        let needed = ring.has_queued() || ring.has_hidden();
        if needed {
            ring.enter(0, None)?;
        }
        Ok(needed)
    }
}

/// Keeps one read of the bell's eventfd under way; it ends when the bell is rung.
fn listen(ring: &mut ring::Ring, bell: &RingFile) -> io::Result<()> {
    match ring.push(bell, Operation::Bell { into: BufMut::zeroed(8) }, None, 0) {
        Err(Event { outcome: Outcome::Read { result: Err(error), .. }, .. }) => Err(error),
        _ => Ok(()),
    }
}

fn no_kernel() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "there is no kernel I/O on the virtual clock")
}

/// Whether a [`Source`] has events that were not taken.
pub struct Signal(Rc<Mailbox>);

impl Signal {
    /// Whether there is one.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        !self.0.events.borrow().is_empty()
    }
}

/// One owner's timers and operations, and the mailbox in which they end.
pub struct Source {
    reactor: Reactor,
    mailbox: Rc<Mailbox>,
}

impl Source {
    /// The reactor this source belongs to.
    #[must_use]
    pub fn reactor(&self) -> &Reactor {
        &self.reactor
    }

    /// Sets a timer: an event with `token` at `time`, or at once when that has passed.
    pub fn at(&self, time: Time, token: u64) {
        let inner = &self.reactor.0;
        let order = inner.next_order();
        inner.timers.borrow_mut().push(Reverse(Timer {
            time,
            order,
            token,
            mailbox: Rc::clone(&self.mailbox),
        }));
    }

    /// What says whether there are events, where the owner need not be asked otherwise.
    #[must_use]
    pub fn signal(&self) -> Signal {
        Signal(Rc::clone(&self.mailbox))
    }

    /// The oldest event that has not been taken.
    #[must_use]
    pub fn take(&self) -> Option<Event> {
        let event = self.mailbox.events.borrow_mut().pop_front()?;
        self.reactor.0.forget(1);
        Some(event)
    }

    /// Starts reading `into.len()` bytes at `offset`.
    pub fn read(&self, file: &RingFile, offset: u64, into: BufMut, token: u64) {
        self.reactor.start(file, Operation::Read { offset, into }, &self.mailbox, token);
    }

    /// Starts writing `from` at `offset`; with `durable` it is on stable storage when it ends.
    pub fn write(&self, file: &RingFile, offset: u64, from: Buf, durable: bool, token: u64) {
        self.reactor.start(file, Operation::Write { offset, from, durable }, &self.mailbox, token);
    }

    /// Starts receiving from a connected socket. The event is a [`Outcome::Read`]: of as many bytes
    /// as are there, at most `into.len()`; with `all`, of that many unless the stream ends first.
    /// None at all means that the peer sends no more.
    pub fn receive(&self, socket: &RingFile, into: BufMut, all: bool, token: u64) {
        self.reactor.start(socket, Operation::Receive { into, all }, &self.mailbox, token);
    }

    /// Starts sending `from` to a connected socket. The event is a [`Outcome::Written`]; a peer
    /// that is gone is an error there and never a signal. One send at a time: the kernel may carry
    /// out several in any order.
    pub fn send(&self, socket: &RingFile, from: Buf, token: u64) {
        self.reactor.start(socket, Operation::Send { from }, &self.mailbox, token);
    }

    /// Starts waiting until something can be read from a socket, a pipe or an eventfd, or its other
    /// end is gone: an [`Outcome::Done`], once. Nothing is read.
    pub fn readable(&self, file: &RingFile, token: u64) {
        self.reactor.start(file, Operation::Readable, &self.mailbox, token);
    }

    /// The same until something can be written, or nothing ever will be.
    pub fn writable(&self, file: &RingFile, token: u64) {
        self.reactor.start(file, Operation::Writable, &self.mailbox, token);
    }

    /// Starts making the file's data durable (fdatasync).
    pub fn sync_data(&self, file: &RingFile, token: u64) {
        self.reactor.start(file, Operation::SyncData, &self.mailbox, token);
    }

    /// Tells the driver of a ublk device that there is room in `into` for the next request of the
    /// answer's tag, with the result of the last one where the command says so, whose data are in
    /// `into` then. The event is a [`Outcome::Read`] when a request has come; its description is in
    /// [`UblkTable`](ublk::UblkTable).
    ///
    /// # Panics
    /// For a buffer of several pieces.
    pub fn ublk(&self, device: &RingFile, answer: ublk::UblkAnswer, into: BufMut, token: u64) {
        self.reactor.start(device, Operation::Ublk { answer, into }, &self.mailbox, token);
    }

    /// Starts a fallocate with the kernel's `mode` bits.
    pub fn allocate(&self, file: &RingFile, offset: u64, length: u64, mode: i32, token: u64) {
        self.reactor.start(
            file,
            Operation::Allocate { offset, length, mode },
            &self.mailbox,
            token,
        );
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.mailbox.closed.set(true);
        self.reactor.0.forget(self.mailbox.events.borrow().len());
    }
}

/// Wakes a reactor from any thread.
#[derive(Clone, Debug)]
pub struct Ringer {
    bell: Bell,
}

impl Ringer {
    /// Makes the reactor's current or next [`Reactor::wait`] return [`WakeReason::Rung`]; rings
    /// before that are one.
    pub fn ring(&self) {
        self.bell.ring();
    }
}

/// Time since this machine started, for what has to hold for all threads and goes on while the
/// machine sleeps, as a reactor's own time does not.
#[must_use]
pub fn since_boot() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Random numbers from a seed: the only kind below the command line.
pub use fastrand::Rng as Random;

/// A seed for one purpose, derived from another seed: equal inputs give equal seeds, and different
/// labels or numbers unrelated ones.
#[must_use]
pub fn derive_seed(seed: u64, label: &str, number: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(
        label.as_bytes(),
        seed ^ xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes()),
    )
}

//! Who runs when: the kernel, or the devices.
//!
//! ```text
//!   the kernel runs         kicks: requests are taken at the time it has come to
//!   WAIT, REQUEST t         devices go on until t; what they have done is given back
//!   FREE_UNTIL d, RUN t     d is when the devices will have something next
//! ```
//!
//! Three rules keep time in order:
//!
//! 1. The kernel says what time it is (`UPDATE`) before it kicks, and the devices' clock is moved
//!    there. No timer of theirs lies before: it was promised not to run past the first.
//! 2. A request that makes the devices' next event earlier than what was promised takes the
//!    promise back (`FREE_UNTIL`), and the kernel has answered that before its kick is answered.
//! 3. The kernel runs again at t (`RUN`) when everything that the devices have done until t, t
//!    included, lies in its rings, and it has answered that it was told.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use block::{Device, EmulatingDevice, Error, ErrorKind, Reactor, Time};
use export::vhost_user::{
    self, AnsweredRequest, FollowUp, Offer, Session, message::ring_call, read_message, send_all,
};
use export::{Gate, RemovalPolicy};
use reactor::Source;
use rustix::event::{PollFd, PollFlags, Timespec};
use words::{Text, statement};

use crate::catalogue;
use crate::message::{MESSAGE_BYTES, Message, Op};

/// No time at all.
const NEVER: u64 = 0x7fff_ffff_ffff_fff0;
/// When the guest's clock begins: 2006-01-01, in nanoseconds since 1970.
pub(crate) const DATE: u64 = 1_136_073_600 * 1_000_000_000;
/// Pieces of memory of a request: with them and rings of 256 entries requests grow to 1 MiB and
/// more.
const SEGMENTS: u32 = 254;

/// How often a wait for the kernel is broken to ask whether it is to go on, in real time. Nothing
/// that is modelled depends on it.
pub(crate) const ASK: Duration = Duration::from_millis(500);

/// A disk of the guest, and the kernel's connection to it.
pub struct Disk {
    line: Line,
    session: Session,
    disk: vhost_user::Disk,
    log: Vec<AnsweredRequest>,
}

/// What a disk of a guest is.
#[derive(Clone)]
pub struct Drive {
    /// The device.
    pub device: Arc<dyn Device>,
    /// The guest may leave writes in the device's cache, and flushes. Otherwise each write is
    /// durable when it is answered.
    pub write_cache: bool,
}

impl From<Arc<dyn Device>> for Drive {
    fn from(device: Arc<dyn Device>) -> Drive {
        Drive { device, write_cache: true }
    }
}

/// Where the kernel speaks to a disk.
pub enum Line {
    /// It will call here.
    Expected(UnixListener),
    /// It has called.
    Open(OwnedFd),
    /// It has hung up.
    Closed,
}

impl Line {
    fn watched(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Line::Expected(listener) => Some(listener.as_fd()),
            Line::Open(socket) => Some(socket.as_fd()),
            Line::Closed => None,
        }
    }
}

impl From<UnixListener> for Line {
    fn from(listener: UnixListener) -> Line {
        Line::Expected(listener)
    }
}

impl From<OwnedFd> for Line {
    fn from(socket: OwnedFd) -> Line {
        Line::Open(socket)
    }
}

impl Disk {
    /// A disk that is `drive`, for the kernel that calls on `line`.
    ///
    /// # Errors
    /// Those of [`Device::open`].
    pub fn new(
        drive: &Drive,
        name: &str,
        line: impl Into<Line>,
        reactor: &Reactor,
    ) -> Result<Disk, Error> {
        let device = Arc::clone(&drive.device);
        let device = if device.info().read_only { device } else { EmulatingDevice::over(device) };
        let info = device.info().clone();
        let cache = info.volatile_cache && drive.write_cache;
        let offer = Offer::new(&info, info.read_only, cache, 1, SEGMENTS, true);
        let gate = Arc::new(Gate::default());
        let policy = RemovalPolicy::Performance;
        let disk = vhost_user::Disk::open(&*device, false, policy, &gate, name, reactor)?;
        Ok(Disk { line: line.into(), session: Session::new(offer), disk, log: Vec::new() })
    }

    /// What it has been asked for so far, in the order in which it was done.
    #[must_use]
    pub fn log(&self) -> &[AnsweredRequest] {
        &self.log
    }

    /// The same, to keep.
    #[must_use]
    pub fn into_log(self) -> Vec<AnsweredRequest> {
        self.log
    }
}

/// When the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// At this time on the guest's clock. What the disks do at that very moment is done; the kernel
    /// does not hear of it.
    At(Time),
    /// When the disks have done so many requests, before the kernel hears of the last.
    Request(u64),
}

/// How a guest has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestEnding {
    /// When, on its clock.
    pub time: Time,
    /// Whether that was because the power failed.
    pub cut: bool,
    /// Messages about time that it has sent.
    pub messages: u64,
}

/// What is to be seen of a guest whenever it is asked whether it is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestSign {
    /// It has said something since the last time, or waits for its disks.
    Alive,
    /// It has had its turn for another half second of real time, and has said nothing.
    Silent,
}

/// Whoever is asked whether a guest is to go on.
pub type GoOn<'a> = dyn Fn(GuestSign) -> bool + 'a;

fn always(_: GuestSign) -> bool {
    true
}

/// A mistake in one of the three rules, planted by a test that has to find it.
#[cfg(feature = "planted-mistakes")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlantedMistake {
    /// Nothing is wrong.
    #[default]
    None,
    /// Rule 1: the devices' clock stays where it is when the kernel says what time it is.
    StaysBehind,
    /// Rule 2: a promise is kept although a request has made the next event an earlier one.
    KeepsPromise,
    /// Rule 2: the promise that goes out with the leave to run is of before the devices were looked
    /// at for it.
    PromisesUnseen,
    /// Rule 3: the kernel runs before it has heard of what was done at that moment.
    RunsFirst,
}

/// Whether a test has planted this mistake; false wherever such mistakes are not compiled in.
macro_rules! planted {
    ($holder:expr, $mistake:ident) => {{
        #[cfg(feature = "planted-mistakes")]
        let planted = $holder.planted == PlantedMistake::$mistake;
        #[cfg(not(feature = "planted-mistakes"))]
        let planted = false;
        planted
    }};
}

/// Keeps the time for one kernel and its disks.
pub struct Scheduler<'a> {
    reactor: Reactor,
    kernel: OwnedFd,
    /// The guest's disks.
    pub disks: Vec<Disk>,
    /// When the kernel wants to run.
    asked: Option<u64>,
    waiting: bool,
    /// Before when it need not ask.
    promised: Option<u64>,
    sequence: u32,
    messages: u64,
    ended: bool,
    cut: Option<Cut>,
    /// The power has failed.
    dark: bool,
    /// Has a timer at the time of the cut, so that the kernel never runs past it.
    alarm_source: Option<Source>,
    go_on: &'a GoOn<'a>,
    #[cfg(feature = "planted-mistakes")]
    planted: PlantedMistake,
}

fn wrong(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

impl<'a> Scheduler<'a> {
    /// For the kernel at the other end of `kernel`, on the virtual reactor of its disks.
    #[must_use]
    pub fn new(kernel: OwnedFd, disks: Vec<Disk>, reactor: &Reactor) -> Scheduler<'a> {
        Scheduler {
            reactor: reactor.clone(),
            kernel,
            disks,
            asked: None,
            waiting: false,
            promised: None,
            sequence: 0,
            messages: 0,
            ended: false,
            cut: None,
            dark: false,
            alarm_source: None,
            go_on: &always,
            #[cfg(feature = "planted-mistakes")]
            planted: PlantedMistake::None,
        }
    }

    /// Plants a mistake; before it runs.
    #[cfg(feature = "planted-mistakes")]
    pub fn plant(&mut self, mistake: PlantedMistake) {
        self.planted = mistake;
    }

    /// Lets the power fail; before it runs.
    pub fn cut(&mut self, cut: Cut) {
        self.cut = Some(cut);
        if let Cut::At(time) = cut {
            let alarm = self.reactor.source();
            alarm.at(time, 0);
            self.alarm_source = Some(alarm);
        }
    }

    /// Whom to ask whether it is to go on: after each message, and about twice a second of real
    /// time wherever the kernel is waited for; before it runs.
    pub fn asking(&mut self, go_on: &'a GoOn<'a>) {
        self.go_on = go_on;
    }

    fn ask(&self, sign: GuestSign) -> Result<(), Error> {
        match (self.go_on)(sign) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Other, catalogue::GIVEN_UP)),
        }
    }

    /// Waits until one of these can be read.
    fn wait_for(&self, watched: &mut [PollFd<'_>]) -> Result<(), Error> {
        let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(ASK.subsec_nanos()) };
        loop {
            match rustix::event::poll(watched, Some(&pause)) {
                Ok(0) => self.ask(GuestSign::Silent)?,
                Err(rustix::io::Errno::INTR) => (),
                Ok(_) => return Ok(()),
                Err(error) => return Err(failed(catalogue::WAITING_FOR_GUEST, error.into())),
            }
        }
    }

    /// Whether the power fails now. Then nothing more is done.
    fn goes_dark(&mut self) -> bool {
        self.dark |= match self.cut {
            Some(Cut::At(time)) => self.reactor.now() >= time,
            Some(Cut::Request(count)) => {
                let done: usize = self.disks.iter().map(|disk| disk.log.len()).sum();
                done as u64 >= count
            }
            None => false,
        };
        self.ended |= self.dark;
        self.dark
    }

    /// Serves until the kernel has hung up.
    ///
    /// # Errors
    /// What the kernel says that makes no sense, or a device or a socket that fails;
    /// [`ErrorKind::Other`] where whoever was asked ([`Scheduler::asking`]) has said no.
    pub fn run(&mut self) -> Result<GuestEnding, Error> {
        while !self.ended {
            self.ask(GuestSign::Alive)?;
            let mut watched = vec![PollFd::new(&self.kernel, PollFlags::IN)];
            watched.extend(
                self.disks
                    .iter()
                    .filter_map(|disk| disk.line.watched())
                    .map(|line| PollFd::from_borrowed_fd(line, PollFlags::IN)),
            );
            self.wait_for(&mut watched)?;
            let ready: Vec<bool> = watched.iter().map(|it| !it.revents().is_empty()).collect();
            let mut disks = ready[1..].iter();
            for index in 0..self.disks.len() {
                let is_watched = self.disks[index].line.watched().is_some();
                if is_watched && disks.next() == Some(&true) {
                    self.disk_message(index)?;
                }
            }
            if ready[0] {
                self.time_message()?;
            }
            self.schedule()?;
        }
        Ok(GuestEnding { time: self.reactor.now(), cut: self.dark, messages: self.messages })
    }

    /// When something happens next by itself.
    fn next_event(&mut self) -> u64 {
        let ready = self.disks.iter_mut().any(|disk| disk.disk.collect());
        if ready {
            return self.reactor.now().nanoseconds();
        }
        self.reactor.next_event().map_or(NEVER, Time::nanoseconds)
    }

    fn disk_message(&mut self, index: usize) -> Result<(), Error> {
        let disk = &mut self.disks[index];
        let socket = match &disk.line {
            Line::Expected(listener) => {
                let (socket, _) =
                    listener.accept().map_err(|error| failed(catalogue::HEARING, error))?;
                disk.line = Line::Open(socket.into());
                return Ok(());
            }
            Line::Open(socket) => socket,
            Line::Closed => return Ok(()),
        };
        let Some(message) = read_message(socket)? else {
            disk.line = Line::Closed;
            return Ok(());
        };
        let reaction = disk.session.take(message)?;
        let mut reply = reaction.reply;
        match reaction.then {
            FollowUp::Nothing => (),
            FollowUp::Look(ring) => {
                disk.disk.look(&mut disk.session, ring)?;
                self.promise()?;
            }
            FollowUp::Stop(ring) if disk.session.is_idle(ring) => {
                reply = Some(disk.session.stopped(ring));
            }
            FollowUp::Stop(ring) => {
                return Err(wrong(statement!(catalogue::RING_STOPS, ring = ring, index = index)));
            }
        }
        match (reply, &self.disks[index].line) {
            (Some(reply), Line::Open(socket)) => {
                send_all(socket, &reply).map_err(|error| failed(catalogue::ANSWERING, error))
            }
            _ => Ok(()),
        }
    }

    /// Rule 2: takes a promise back that cannot be kept any more.
    fn promise(&mut self) -> Result<(), Error> {
        let next = self.next_event();
        if self.promised.is_some_and(|promised| next < promised) && !planted!(self, KeepsPromise) {
            self.promised = Some(next);
            self.tell(Op::FreeUntil, next)?;
        }
        Ok(())
    }

    fn tell(&mut self, op: Op, time: u64) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        self.send(Message { op, sequence: self.sequence, time })?;
        // A kernel that hangs while it is told something does not answer either.
        while !self.ended {
            self.wait_for(&mut [PollFd::new(&self.kernel, PollFlags::IN)])?;
            if self.time_message()? == Some(Op::Ack) {
                break;
            }
        }
        Ok(())
    }

    fn send(&mut self, message: Message) -> Result<(), Error> {
        match send_all(&self.kernel, &message.bytes()) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                ) =>
            {
                self.ended = true;
                Ok(())
            }
            other => other.map_err(|error| failed(catalogue::TELLING_TIME, error)),
        }
    }

    /// Takes one message about time; what it was, or `None` where the kernel has hung up.
    fn time_message(&mut self) -> Result<Option<Op>, Error> {
        let Some(bytes) = receive::<MESSAGE_BYTES>(self.kernel.as_fd())? else {
            self.ended = true;
            return Ok(None);
        };
        let message = Message::parse(bytes)?;
        if message.op == Op::Ack {
            return Ok(Some(Op::Ack));
        }
        self.messages += 1;
        let mut answer = Message { op: Op::Ack, time: 0, ..message };
        match message.op {
            Op::Start => (),
            Op::Request => self.asked = Some(message.time),
            Op::Wait => self.waiting = true,
            Op::Get => answer.time = self.reactor.now().nanoseconds(),
            Op::Update => self.advance(message.time)?,
            Op::Date => answer.time = DATE + self.reactor.now().nanoseconds(),
            Op::Ack | Op::Run | Op::FreeUntil => {
                return Err(wrong(statement!(
                    catalogue::OURS_TO_SAY,
                    op = format!("{:?}", message.op)
                )));
            }
        }
        self.send(answer)?;
        Ok(Some(message.op))
    }

    /// Rule 1: the devices' clock follows the kernel's.
    fn advance(&mut self, time: u64) -> Result<(), Error> {
        if planted!(self, StaysBehind) {
            return Ok(());
        }
        let now = self.reactor.now().nanoseconds();
        if time < now {
            return Err(wrong(statement!(catalogue::CLOCK_GOES_BACK, now = now, time = time)));
        }
        if let Some(next) = self.reactor.next_event().map(Time::nanoseconds)
            && next < time
        {
            return Err(wrong(statement!(catalogue::RAN_PAST_EVENT, time = time, next = next)));
        }
        while self.reactor.now().nanoseconds() < time {
            self.step(time)?;
        }
        Ok(())
    }

    /// Lets the devices go on, at most until `time`.
    fn step(&mut self, time: u64) -> Result<(), Error> {
        self.reactor
            .wait(Some(Time(time)))
            .map_err(|error| failed(catalogue::DEVICES_CLOCK, error))?;
        for disk in &mut self.disks {
            disk.disk.collect();
        }
        Ok(())
    }

    /// While the kernel waits: lets the devices go on, and then the kernel.
    fn schedule(&mut self) -> Result<(), Error> {
        while self.waiting && !self.ended {
            // Disks that always have something to do could go on for ever.
            self.ask(GuestSign::Alive)?;
            if self.goes_dark() {
                return Ok(());
            }
            let next = self.next_event();
            let runs_first = planted!(self, RunsFirst) && self.asked == Some(next);
            if !runs_first && self.deliver()? {
                continue;
            }
            match self.asked {
                Some(asked) if next > asked || runs_first => {
                    self.advance(asked.max(self.reactor.now().nanoseconds()))?;
                    // A device that is looked at then may have found something to do of itself,
                    // as a drive that writes its cache out while it is idle.
                    let next =
                        if planted!(self, PromisesUnseen) { next } else { self.next_event() };
                    if next <= asked && !runs_first {
                        continue;
                    }
                    (self.asked, self.waiting) = (None, false);
                    self.promised = Some(next);
                    self.tell(Op::FreeUntil, next)?;
                    self.tell(Op::Run, asked)?;
                }
                _ if next == NEVER => {
                    return Err(wrong(catalogue::WAITS_FOR_EVER));
                }
                _ => self.step(next)?,
            }
        }
        Ok(())
    }

    /// Rule 3: gives back what the devices have done, and waits until the kernel has heard of it;
    /// whether there was anything.
    fn deliver(&mut self) -> Result<bool, Error> {
        let mut any = false;
        for index in 0..self.disks.len() {
            let disk = &mut self.disks[index];
            if !disk.disk.collect() {
                continue;
            }
            any = true;
            let mut calls = Vec::new();
            disk.disk.deliver(&mut disk.session, &mut calls, &mut disk.log)?;
            if self.goes_dark() {
                return Ok(true);
            }
            for ring in calls {
                self.call(index, ring)?;
            }
        }
        Ok(any)
    }

    /// Tells the kernel that requests of a ring are done. While it answers it may say something
    /// about time.
    fn call(&mut self, index: usize, ring: usize) -> Result<(), Error> {
        let Some(channel) = self.disks[index].session.channel() else {
            return Err(wrong(catalogue::NO_CHANNEL));
        };
        let channel = channel.try_clone().map_err(|error| failed(catalogue::A_CHANNEL, error))?;
        send_all(&channel, &ring_call(ring as u32))
            .map_err(|error| failed(catalogue::TELLING_OF_DISK, error))?;
        while !self.ended {
            let mut watched =
                [PollFd::new(&self.kernel, PollFlags::IN), PollFd::new(&channel, PollFlags::IN)];
            self.wait_for(&mut watched)?;
            let (about_time, answered) =
                (!watched[0].revents().is_empty(), !watched[1].revents().is_empty());
            if about_time {
                self.time_message()?;
            } else if answered {
                if read_message(&channel)?.is_none() {
                    self.ended = true;
                }
                return Ok(());
            }
        }
        Ok(())
    }
}

fn receive<const N: usize>(socket: BorrowedFd<'_>) -> Result<Option<[u8; N]>, Error> {
    let mut bytes = [0; N];
    let mut done = 0;
    while done < N {
        match rustix::io::read(socket, &mut bytes[done..]) {
            Ok(0) if done == 0 => return Ok(None),
            Ok(0) => return Err(wrong(catalogue::TIME_MESSAGE_STOPS)),
            Ok(count) => done += count,
            Err(rustix::io::Errno::INTR) => (),
            Err(rustix::io::Errno::CONNRESET) if done == 0 => return Ok(None),
            Err(error) => return Err(failed(catalogue::HEARING, error.into())),
        }
    }
    Ok(Some(bytes))
}

fn failed(what: impl Into<Text>, error: io::Error) -> Error {
    Error::from_io(what, error)
}

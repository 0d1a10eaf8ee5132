//! The rules of order, with a kernel of the test's own: it says what user-mode Linux says, at
//! random times, and knows what it must never see.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use block::{Channel, Completion, Device, Error, Info, Node, Reactor, Request, Time};
use guest::{
    Cut, Disk, GoOn, GuestEnding, GuestSign, MESSAGE_BYTES, Message, Op, PlantedMistake, Scheduler,
};
use reactor::{Random, Source};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::MemfdFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use testkit::Memory;

const MEMORY_BYTES: u64 = 1 << 20;
const ENTRIES: u16 = 16;
const DISK_BYTES: u64 = 1 << 20;

/// The kernel's side of one disk.
struct Drive {
    socket: UnixStream,
    channel: UnixStream,
    memory: OwnedFd,
    available: u16,
    used: u16,
    /// Descriptors that are not in use, in threes.
    free: Vec<u16>,
}

impl Drive {
    fn send(&mut self, request: u32, payload: &[u8], files: &[BorrowedFd<'_>]) {
        let mut bytes = [request, 9, payload.len() as u32].map(u32::to_ne_bytes).concat();
        bytes.extend(payload);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(files.is_empty() || control.push(SendAncillaryMessage::ScmRights(files)));
        let parts = [IoSlice::new(&bytes)];
        rustix::net::sendmsg(&self.socket, &parts, &mut control, SendFlags::NOSIGNAL).unwrap();
    }

    fn tell(&mut self, request: u32, words: &[u64], files: &[BorrowedFd<'_>]) {
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.send(request, &payload, files);
        let mut answer = [0; 20];
        self.socket.read_exact(&mut answer).unwrap();
        assert_eq!(answer[12..], [0; 8], "request {request}");
    }

    fn connect(socket: UnixStream) -> Drive {
        let memory = rustix::fs::memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&memory, MEMORY_BYTES).unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let shared = memory.try_clone().unwrap();
        let mut drive = Drive {
            socket,
            channel: ours,
            memory,
            available: 0,
            used: 0,
            free: (0..5).map(|place| 3 * place).collect(),
        };
        drive.tell(2, &[1 << 32 | 1 << 30], &[]);
        drive.tell(16, &[1 << 3 | 1 << 5 | 1 << 9 | 1 << 14], &[]);
        drive.tell(21, &[], &[theirs.as_fd()]);
        drive.tell(5, &[1, 0, MEMORY_BYTES, 0, 0], &[shared.as_fd()]);
        drive.tell(8, &[u64::from(ENTRIES) << 32], &[]);
        drive.tell(9, &[0, 0, 0x2000, 0x1000, 0], &[]);
        drive.tell(18, &[1 << 32], &[]);
        drive
    }

    fn put(&self, address: u64, bytes: &[u8]) {
        rustix::io::pwrite(&self.memory, bytes, address).unwrap();
    }

    /// Puts a read or write into the ring, if there is room.
    fn offer(&mut self, write: bool, sector: u64) -> bool {
        let Some(first) = self.free.pop() else { return false };
        let header = 0x3000 + 32 * u64::from(first);
        self.put(header, &[u32::from(write).to_le_bytes(), [0; 4]].concat());
        self.put(header + 8, &sector.to_le_bytes());
        let data = 0x8000 + 512 * u64::from(first);
        for (index, (address, length, flags)) in
            [(header, 16_u32, 1_u16), (data, 512, if write { 1 } else { 3 }), (header + 16, 1, 2)]
                .into_iter()
                .enumerate()
        {
            let place = first + index as u16;
            let mut bytes = address.to_le_bytes().to_vec();
            bytes.extend(length.to_le_bytes());
            bytes.extend(flags.to_le_bytes());
            bytes.extend((place + 1).to_le_bytes());
            self.put(16 * u64::from(place), &bytes);
        }
        self.put(0x1004 + 2 * u64::from(self.available % ENTRIES), &first.to_le_bytes());
        self.available = self.available.wrapping_add(1);
        self.put(0x1002, &self.available.to_le_bytes());
        true
    }

    /// How many requests have come back since the last look.
    fn take_back(&mut self) -> usize {
        let mut index = [0; 2];
        rustix::io::pread(&self.memory, &mut index[..], 0x2002).unwrap();
        let mut count = 0;
        while self.used != u16::from_le_bytes(index) {
            let mut entry = [0; 2];
            let place = 0x2004 + 8 * u64::from(self.used % ENTRIES);
            rustix::io::pread(&self.memory, &mut entry[..], place).unwrap();
            self.free.push(u16::from_le_bytes(entry));
            self.used = self.used.wrapping_add(1);
            count += 1;
        }
        count
    }
}

/// As user-mode Linux keeps its time.
struct Kernel {
    time: UnixStream,
    drives: Vec<Drive>,
    now: u64,
    /// Until when it may run without asking.
    free_until: u64,
    sequence: u32,
    /// When requests came back.
    seen: Completions,
}

impl Kernel {
    fn write(&mut self, op: Op, sequence: u32, time: u64) {
        // The scheduler may have given the kernel up, which the test then sees by its error.
        let _ = self.time.write_all(&Message { op, sequence, time }.bytes());
    }

    fn read(&mut self) -> Option<Message> {
        let mut bytes = [0; MESSAGE_BYTES];
        self.time.read_exact(&mut bytes).ok()?;
        Some(Message::parse(bytes).unwrap())
    }

    /// Answers what is not an answer; whether it may run.
    fn hear(&mut self, message: Message) -> bool {
        match message.op {
            Op::FreeUntil => {
                assert!(message.time >= self.now, "a promise for the past");
                self.free_until = message.time;
            }
            Op::Run => {
                assert!(message.time >= self.now, "time goes back");
                self.now = message.time;
            }
            other => panic!("{other:?}"),
        }
        self.write(Op::Ack, message.sequence, 0);
        message.op == Op::Run
    }

    fn tell(&mut self, op: Op, time: u64) -> Option<u64> {
        self.sequence += 1;
        self.write(op, self.sequence, time);
        loop {
            let message = self.read()?;
            if message.op == Op::Ack {
                assert_eq!(message.sequence, self.sequence);
                return Some(message.time);
            }
            self.hear(message);
        }
    }

    /// Works for some time, as far as it may.
    fn work(&mut self, nanoseconds: u64) {
        self.now = (self.now + nanoseconds).min(self.free_until);
        self.tell(Op::Update, self.now);
    }

    /// Kicks a disk, and serves what comes before the answer.
    fn kick(&mut self, drive: usize) {
        self.tell(Op::Update, self.now);
        self.drives[drive].send(35, &[0; 8], &[]);
        loop {
            let socket = self.drives[drive].socket.try_clone().unwrap();
            let (about_time, answered) = ready(&self.time, &socket);
            if about_time {
                let Some(message) = self.read() else { return };
                self.hear(message);
            } else if answered {
                let mut answer = [0; 20];
                self.drives[drive].socket.read_exact(&mut answer).unwrap();
                return;
            }
        }
    }

    /// Sleeps until `time` or until something comes back; whether there is anybody still.
    fn sleep(&mut self, time: Option<u64>) -> bool {
        if let Some(time) = time {
            self.tell(Op::Request, time);
        }
        self.tell(Op::Wait, 0);
        let mut woken = false;
        loop {
            let mut watched = vec![PollFd::new(&self.time, PollFlags::IN)];
            watched.extend(self.drives.iter().map(|it| PollFd::new(&it.channel, PollFlags::IN)));
            rustix::event::poll(&mut watched, None).unwrap();
            let ready: Vec<bool> = watched.iter().map(|it| !it.revents().is_empty()).collect();
            if ready[0] {
                let Some(message) = self.read() else { return false };
                if self.hear(message) {
                    return true;
                }
                continue;
            }
            let index = ready[1..].iter().position(|ready| *ready).unwrap();
            let mut call = [0; 20];
            if self.drives[index].channel.read_exact(&mut call).is_err() {
                return false;
            }
            let now = self.tell(Op::Get, 0).unwrap_or_default();
            let count = self.drives[index].take_back();
            assert!(count > 0, "a call for nothing");
            self.seen.extend((0..count).map(|_| (index, now)));
            if !woken {
                // What came back is looked at now.
                woken = true;
                self.tell(Op::Request, now);
            }
            let answer = [4_u32, 5, 8, 0, 0].map(u32::to_ne_bytes).concat();
            self.drives[index].channel.write_all(&answer).unwrap();
        }
    }
}

fn ready(one: &UnixStream, other: &UnixStream) -> (bool, bool) {
    let mut watched = [PollFd::new(one, PollFlags::IN), PollFd::new(other, PollFlags::IN)];
    rustix::event::poll(&mut watched, None).unwrap();
    (!watched[0].revents().is_empty(), !watched[1].revents().is_empty())
}

/// When each request of a disk was taken, and when it was done.
type Log = Vec<(u64, u64)>;
/// Which disk gave a request back, and when.
type Completions = Vec<(usize, u64)>;

/// Runs `kernel` over `devices`; what the scheduler says, what each disk has done and when, and
/// what the kernel has seen.
fn run(
    devices: Vec<Arc<dyn Device>>,
    kernel: impl FnOnce(&mut Kernel) + Send + 'static,
) -> (Result<GuestEnding, Error>, Vec<Log>, Completions) {
    run_until(None, devices, kernel)
}

fn run_until(
    cut: Option<Cut>,
    devices: Vec<Arc<dyn Device>>,
    kernel: impl FnOnce(&mut Kernel) + Send + 'static,
) -> (Result<GuestEnding, Error>, Vec<Log>, Completions) {
    let (ended, logs, seen) = run_with(PlantedMistake::None, cut, devices, kernel);
    (ended, logs, seen.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// As [`run_until`], with a mistake in the scheduler. What the kernel has seen is an error where it
/// saw what it must not.
fn run_with(
    mistake: PlantedMistake,
    cut: Option<Cut>,
    devices: Vec<Arc<dyn Device>>,
    kernel: impl FnOnce(&mut Kernel) + Send + 'static,
) -> (Result<GuestEnding, Error>, Vec<Log>, thread::Result<Completions>) {
    let prepare = |scheduler: &mut Scheduler<'_>| {
        scheduler.plant(mistake);
        if let Some(cut) = cut {
            scheduler.cut(cut);
        }
    };
    run_prepared(prepare, devices, kernel)
}

/// As [`run`], for as long as is wished.
fn run_asking(
    go_on: &GoOn<'_>,
    devices: Vec<Arc<dyn Device>>,
    kernel: impl FnOnce(&mut Kernel) + Send + 'static,
) -> (Result<GuestEnding, Error>, Vec<Log>, thread::Result<Completions>) {
    run_prepared(|scheduler| scheduler.asking(go_on), devices, kernel)
}

fn run_prepared<'a>(
    prepare: impl FnOnce(&mut Scheduler<'a>),
    devices: Vec<Arc<dyn Device>>,
    kernel: impl FnOnce(&mut Kernel) + Send + 'static,
) -> (Result<GuestEnding, Error>, Vec<Log>, thread::Result<Completions>) {
    let reactor = Reactor::virtual_clock();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut sockets = Vec::new();
    let mut disks = Vec::new();
    for device in devices {
        let (ours, theirs) = UnixStream::pair().unwrap();
        disks.push(Disk::new(&device.into(), "vda", OwnedFd::from(ours), &reactor).unwrap());
        sockets.push(theirs);
    }
    let thread = thread::spawn(move || {
        let drives = sockets.into_iter().map(Drive::connect).collect();
        let mut guest =
            Kernel { time: theirs, drives, now: 0, free_until: 0, sequence: 0, seen: Vec::new() };
        guest.tell(Op::Start, 0);
        kernel(&mut guest);
        guest.seen
    });
    let mut scheduler = Scheduler::new(ours.into(), disks, &reactor);
    prepare(&mut scheduler);
    let ended = scheduler.run();
    let log = |disk: &Disk| {
        disk.log().iter().map(|it| (it.taken.nanoseconds(), it.done.nanoseconds())).collect()
    };
    let logs = scheduler.disks.iter().map(log).collect();
    drop(scheduler);
    (ended, logs, thread.join())
}

fn slow(seed: u64) -> Arc<dyn Device> {
    Arc::new(Memory::new(DISK_BYTES).delayed(seed, Duration::from_millis(10)))
}

/// "Message order under fuzzed timers and thousands of random requests: time never goes
/// back, no completion is early".
#[test]
fn time_never_goes_back_and_no_completion_is_early_or_late() {
    for seed in 0..4 {
        let guest = move |kernel: &mut Kernel| {
            let mut random = Random::with_seed(seed);
            for _ in 0..400 {
                let work = random.u64(0..3_000_000);
                kernel.work(work);
                let drive = random.usize(0..2);
                for _ in 0..random.u32(0..4) {
                    let (write, sector) = (random.bool(), random.u64(0..DISK_BYTES / 512));
                    kernel.drives[drive].offer(write, sector);
                }
                kernel.kick(drive);
                let work = random.u64(0..3_000_000);
                kernel.work(work);
                let until = kernel.now + random.u64(0..8_000_000);
                assert!(kernel.sleep(Some(until)), "seed {seed}");
                assert!(kernel.now <= until, "seed {seed}: overslept");
            }
            while kernel.drives.iter().any(|drive| drive.free.len() < 5) {
                assert!(kernel.sleep(None), "seed {seed}");
            }
        };
        let devices: Vec<Arc<dyn Device>> = vec![slow(seed), Arc::new(Memory::new(DISK_BYTES))];
        let (ended, logs, seen) = run(devices, guest);
        ended.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for (disk, log) in logs.iter().enumerate() {
            let heard: Vec<u64> =
                seen.iter().filter(|(index, _)| *index == disk).map(|(_, time)| *time).collect();
            // To the nanosecond, unless the guest was busy then.
            let early = log.iter().zip(&heard).find(|((_, done), heard)| *heard < done);
            assert_eq!(early, None, "seed {seed} disk {disk}");
            assert!(log.iter().all(|(taken, done)| taken <= done), "seed {seed} disk {disk}");
            assert!(log.len() > 200 && log.len() == heard.len(), "seed {seed} disk {disk}");
        }
        assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1), "seed {seed}: {seen:?}");
    }
}

/// Rule 3, at its border: what the devices have done at the very moment at which the guest wants to
/// run is told before it runs.
#[test]
fn what_is_done_when_the_guest_wants_to_run_is_told_first() {
    let (ended, _, seen) = run(vec![at_once()], wants_to_run_at_that_moment);
    ended.unwrap();
    assert_eq!(seen.len(), 1);
}

fn at_once() -> Arc<dyn Device> {
    Arc::new(Memory::new(DISK_BYTES))
}

fn wants_to_run_at_that_moment(kernel: &mut Kernel) {
    kernel.sleep(Some(5000));
    kernel.drives[0].offer(true, 0);
    kernel.kick(0);
    assert_eq!(kernel.free_until, 5000, "rule 2: it has something for the guest already");
    assert!(kernel.sleep(Some(5000)));
    assert_eq!(kernel.seen, [(0, 5000)]);
}

/// Rule 2: when the answer to a kick is there, the guest knows until when it may run.
#[test]
fn a_promise_is_taken_back_before_the_kick_is_answered() {
    let (ended, logs, _) = run(vec![slow(9)], runs_as_far_as_it_may);
    ended.unwrap();
    assert_eq!(logs[0].len(), 5);
}

fn runs_as_far_as_it_may(kernel: &mut Kernel) {
    kernel.sleep(Some(5000));
    assert!(kernel.free_until > 1 << 60, "nothing is under way");
    for sector in 0..5 {
        kernel.drives[0].offer(true, sector);
    }
    kernel.kick(0);
    let promised = kernel.free_until;
    kernel.work(u64::MAX >> 2);
    assert_eq!(kernel.now, promised);
    while kernel.drives[0].free.len() < 5 {
        assert!(kernel.sleep(None));
    }
    assert_eq!(kernel.seen[0], (0, promised), "the first completion");
}

/// A device that finds something to do when it is looked at from some time on, as a drive that
/// writes its cache out while it is idle: a timer, so much later.
struct Restless {
    below: Memory,
    from: Time,
    later: Duration,
}

struct RestlessChannel {
    below: Box<dyn Channel>,
    source: Source,
    from: Time,
    later: Duration,
    has_found: bool,
}

impl Device for Restless {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(RestlessChannel {
            below: self.below.open(depth, reactor)?,
            source: reactor.source(),
            from: self.from,
            later: self.later,
            has_found: false,
        }))
    }
}

impl Channel for RestlessChannel {
    fn submit(&mut self, request: Request) {
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        while self.source.take().is_some() {}
        let now = self.source.reactor().now();
        if !self.has_found && now >= self.from {
            self.has_found = true;
            self.source.at(now + self.later, 0);
        }
        self.below.poll(done);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

/// Rule 2, where the event is one that the device finds when it is looked at because the guest
/// wants to run: the promise that goes out with the leave to run is made after that look.
#[test]
fn what_a_device_finds_to_do_when_it_is_looked_at_is_in_the_promise() {
    for later in [0, 1, 700] {
        let (ended, _, _) = run(vec![restless(later)], sleeps_and_runs_on);
        ended.unwrap_or_else(|error| panic!("{later} ns: {error}"));
    }
}

fn restless(later: u64) -> Arc<dyn Device> {
    let below = Memory::new(DISK_BYTES);
    Arc::new(Restless { below, from: Time(5000), later: Duration::from_nanos(later) })
}

fn sleeps_and_runs_on(kernel: &mut Kernel) {
    assert!(kernel.sleep(Some(5000)));
    assert_eq!(kernel.now, 5000);
    // As far as it may.
    kernel.work(u64::MAX >> 2);
    for until in [20_000, 30_000] {
        let until = until.max(kernel.now);
        assert!(kernel.sleep(Some(until)));
        assert_eq!(kernel.now, until);
    }
}

/// "`--cut-at 12.345678901s` (and at a chosen request)": to the nanosecond, whether the guest
/// works, sleeps or waits, and nothing is heard of what was done at that moment.
#[test]
fn the_power_fails_at_the_nanosecond_or_at_the_request() {
    let busy = |kernel: &mut Kernel| {
        let mut sector = 0;
        loop {
            kernel.drives[0].offer(true, sector % 64);
            kernel.kick(0);
            sector += 1;
            if !kernel.sleep(None) {
                return;
            }
        }
    };
    let (ended, logs, seen) = run_until(Some(Cut::At(Time(123_456_789))), vec![slow(3)], busy);
    let ended = ended.unwrap();
    assert_eq!((ended.time, ended.cut), (Time(123_456_789), true));
    assert!(logs[0].iter().all(|(_, done)| *done <= 123_456_789));
    assert!(logs[0].len().abs_diff(seen.len()) <= 1 && seen.len() > 5, "{}", seen.len());
    let (ended, logs, seen) = run_until(Some(Cut::Request(20)), vec![slow(3)], busy);
    assert!(ended.unwrap().cut);
    assert_eq!((logs[0].len(), seen.len()), (20, 19));
    let asleep = |kernel: &mut Kernel| _ = kernel.sleep(Some(9_000_000_000));
    let (ended, _, _) = run_until(Some(Cut::At(Time(7))), vec![slow(3)], asleep);
    assert_eq!(ended.unwrap().time, Time(7));
    let early = |kernel: &mut Kernel| _ = kernel.sleep(Some(5));
    let (ended, _, _) = run_until(Some(Cut::At(Time(7))), vec![slow(3)], early);
    assert!(!ended.unwrap().cut);
}

#[test]
fn a_thousand_seconds_of_sleep_are_a_few_messages_and_end_to_the_nanosecond() {
    let (ended, _, _) = run(vec![slow(1)], |kernel| {
        assert!(kernel.sleep(Some(1_000_000_000_000)));
        assert_eq!(kernel.now, 1_000_000_000_000);
    });
    let ended = ended.unwrap();
    assert_eq!(ended.time.nanoseconds(), 1_000_000_000_000);
    assert!(ended.messages < 10, "{ended:?}");
}

/// "dd with fsync takes the sum of the service times that the log shows", one request at a time.
#[test]
fn one_request_after_another_takes_the_sum_of_what_each_takes() {
    let (ended, logs, _) = run(vec![slow(5)], |kernel| {
        for sector in 0..500 {
            kernel.drives[0].offer(true, sector);
            kernel.kick(0);
            assert!(kernel.sleep(None));
        }
    });
    let sum: u64 = logs[0].iter().map(|(taken, done)| done - taken).sum();
    assert_eq!((logs[0].len(), sum), (500, ended.unwrap().time.nanoseconds()));
    assert!(sum > 1_000_000_000, "{sum}");
}

/// "planted mistakes in the three rules are caught": the tests above find each.
#[test]
fn a_mistake_in_a_rule_is_found() {
    type Case = (PlantedMistake, fn() -> Arc<dyn Device>, fn(&mut Kernel));
    let cases: [Case; 4] = [
        (PlantedMistake::StaysBehind, at_once, wants_to_run_at_that_moment),
        (PlantedMistake::KeepsPromise, || slow(9), runs_as_far_as_it_may),
        (PlantedMistake::PromisesUnseen, || restless(700), sleeps_and_runs_on),
        (PlantedMistake::RunsFirst, at_once, wants_to_run_at_that_moment),
    ];
    for (mistake, device, kernel) in cases {
        let is_found = |mistake| {
            let (ended, _, seen) = run_with(mistake, None, vec![device()], kernel);
            ended.is_err() || seen.is_err()
        };
        assert!(is_found(mistake), "{mistake:?}");
        assert!(!is_found(PlantedMistake::None), "without {mistake:?}");
    }
}

/// A kernel that hangs where it has to answer: whoever waits for that is asked meanwhile whether it
/// is to go on, wherever the kernel has stopped.
#[test]
fn a_kernel_that_does_not_answer_is_waited_for_as_long_as_is_wished() {
    type Kernels = fn(&mut Kernel);
    let hang = |kernel: &mut Kernel| {
        // Until the other side has given up.
        while kernel.time.read(&mut [0; MESSAGE_BYTES]).is_ok_and(|count| count > 0) {}
    };
    let cases: [(&str, Kernels); 3] = [
        ("while it runs", |_| ()),
        ("when it is told that it may run", |kernel| {
            kernel.write(Op::Request, 2, 5000);
            kernel.read();
            kernel.write(Op::Wait, 3, 0);
        }),
        ("when it is told of a disk", |kernel| {
            kernel.drives[0].offer(true, 0);
            kernel.kick(0);
            kernel.write(Op::Wait, 2, 0);
        }),
    ];
    for (place, kernel) in cases {
        let silences = std::cell::Cell::new(0);
        let go_on = |sign| {
            silences.set(silences.get() + u32::from(sign == GuestSign::Silent));
            silences.get() < 1
        };
        let hangs = move |guest: &mut Kernel| {
            kernel(guest);
            hang(guest);
        };
        let (ended, _, _) = run_asking(&go_on, vec![slow(3)], hangs);
        let error = ended.expect_err(place).to_string();
        assert!(error.contains("given up"), "{place}: {error}");
        assert_eq!(silences.get(), 1, "{place}");
    }
}

/// The same rules, broken by the other side.
#[test]
fn a_kernel_that_breaks_a_rule_is_ended_with_one_line() {
    type Kernels = fn(&mut Kernel);
    let cases: [(&str, Kernels); 4] = [
        ("goes back", |kernel| {
            kernel.sleep(Some(5000));
            kernel.tell(Op::Update, 4000);
        }),
        ("past the devices' next event", |kernel| {
            kernel.drives[0].offer(true, 0);
            kernel.kick(0);
            kernel.tell(Op::Update, 60_000_000_000);
        }),
        ("waits for something that never comes", |kernel| {
            kernel.sleep(None);
        }),
        ("which is ours to say", |kernel| {
            kernel.tell(Op::Run, 7);
        }),
    ];
    for (expected, kernel) in cases {
        let (ended, _, _) = run(vec![slow(3)], kernel);
        let error = ended.expect_err(expected).to_string();
        assert!(error.contains(expected) && error.lines().count() == 1, "{expected}: {error}");
    }
}

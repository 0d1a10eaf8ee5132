//! Planted mistakes, each of which some check has to find: a check that finds nothing proves
//! nothing.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use block::{
    Buf, BufMut, Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Extents, Info,
    Node, Op, Reactor, Request, ReturnedBuffer, Signal, Support,
};
use reactor::Source;
use testkit::crash::{self, Crashable, Options, Rig};
use testkit::model::{self, Load};
use testkit::{Fault, Memory, Violation, conformance, golden};

const SIZE: u64 = 48 * 512;

/// What the device below the owner does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// Nothing: the wrapper itself is innocent.
    None,
    /// Says that a write is done, and drops one in seven.
    DropsWrites,
    /// Says that a flush is done, and does nothing.
    IgnoresFlush,
    /// Treats a write with FUA as one without.
    IgnoresFua,
    /// Completes one request twice.
    CompletesTwice,
    /// Never completes one request.
    ForgetsOne,
    /// Hands back another buffer with the right bytes.
    SwapsReadBuffer,
    /// The same for writes.
    SwapsWriteBuffer,
    /// Hands back another tag.
    ChangesTag,
    /// Writes one block further on.
    OffByOne,
    /// Remembers what it has read, and forgets to forget it at a write.
    StaleReads,
    /// Says that discarded blocks read as zeroes, and leaves them.
    IgnoresDiscard,
    /// Calls everything a hole.
    CallsDataHoles,
    /// Tells of more than it was asked about.
    TellsTooMuch,
    /// Writes zeroes one block too far.
    ZeroesTooFar,
    /// Counts requests wrongly.
    Miscounts,
    /// Has a signal that is never on.
    SilentSignal,
    /// Takes requests that reach past the end.
    ClampsRange,
    /// Refuses with the wrong kind of error.
    WrongKind,
    /// Refuses a misaligned write after it has done a part of it.
    RefusesLate,
    /// Fails the last block of the device.
    ForgetsLastBlock,
    /// Puts pieces of a buffer in the order of their addresses.
    SortsPieces,
    /// Takes fewer requests than it was opened for.
    ShallowDepth,
    /// Takes no flush on a read-only device.
    RefusesFlush,
    /// Spares a flush when this channel has not written since the last one, whatever the others
    /// did.
    SparesFlush,
}

struct Mistaken {
    below: Arc<dyn Device>,
    info: Info,
    mistake: Mistake,
    remembered: Arc<Mutex<HashMap<u64, Vec<u8>>>>,
}

fn mistaken(below: Arc<dyn Device>, mistake: Mistake) -> Arc<dyn Device> {
    let info = below.info().clone();
    Arc::new(Mistaken { below, info, mistake, remembered: Arc::default() })
}

impl Device for Mistaken {
    fn info(&self) -> &Info {
        &self.info
    }
    fn describe(&self) -> Node {
        Node::layer("mistaken", vec![self.below.describe()])
    }
    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        match self.mistake {
            Mistake::CallsDataHoles => found.push(length, true),
            Mistake::TellsTooMuch => found.push(length + u64::from(self.info.block_bytes), false),
            _ => self.below.extents(offset, length, found),
        }
    }
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(MistakenChannel {
            below: self.below.open(depth, reactor)?,
            silent: reactor.source(),
            info: self.info.clone(),
            mistake: self.mistake,
            depth,
            count: 0,
            wrote: false,
            lent: HashMap::new(),
            ended: Vec::new(),
            remembered: Arc::clone(&self.remembered),
        }))
    }
}

struct MistakenChannel {
    below: Box<dyn Channel>,
    /// Without an event, ever.
    silent: Source,
    info: Info,
    mistake: Mistake,
    depth: u32,
    count: u64,
    /// Since the last flush.
    wrote: bool,
    /// Reads in flight: where they read.
    lent: HashMap<u64, u64>,
    /// Ended here, without the device below.
    ended: Vec<Completion>,
    remembered: Arc<Mutex<HashMap<u64, Vec<u8>>>>,
}

fn copied(from: &Buf) -> Buf {
    let mut bytes = vec![0; from.len()];
    from.copy_to_slice(&mut bytes);
    let mut copy = BufMut::zeroed(bytes.len());
    copy.copy_from_slice(&bytes);
    copy.freeze()
}

impl MistakenChannel {
    /// Writes the pieces in the order in which they lie in memory.
    fn sort_pieces(&mut self, mut request: Request) {
        let Op::Write { offset, from, fua } = &mut request.op else { unreachable!("it writes") };
        let mut pieces: Vec<&[u8]> = from.slices().collect();
        pieces.sort_unstable_by_key(|piece| piece.as_ptr().addr());
        let mut sorted = BufMut::zeroed(from.len());
        sorted.copy_from_slice(&pieces.concat());
        let write = Op::Write { offset: *offset, from: sorted.freeze(), fua: *fua };
        self.below.submit(Request::new(request.tag, write));
        let mut done = Vec::new();
        self.below.poll(&mut done);
        self.end(request, done.remove(0).result);
    }

    fn end(&mut self, request: Request, result: Result<(), Error>) {
        self.ended.push(request.complete(result));
    }
}

impl Channel for MistakenChannel {
    fn submit(&mut self, mut request: Request) {
        use Mistake as M;
        self.count += 1;
        let (nth, block, size) =
            (self.count, u64::from(self.info.block_bytes), self.info.size_bytes);
        let allowed = self.info.check(&request.op).is_ok();
        if let Op::Read { offset, .. } = &request.op {
            self.lent.insert(request.tag, *offset);
        }
        match (self.mistake, &mut request.op) {
            (M::DropsWrites, Op::Write { .. }) if allowed && nth.is_multiple_of(7) => {
                return self.end(request, Ok(()));
            }
            (M::IgnoresFlush, Op::Flush) => return self.end(request, Ok(())),
            (M::IgnoresFua, Op::Write { fua, .. } | Op::WriteZeroes { fua, .. }) => *fua = false,
            (M::ForgetsOne, _) if nth == 5 => return drop(request),
            (M::OffByOne, Op::Write { offset, from, .. })
                if allowed && *offset + block + from.len() as u64 <= size =>
            {
                *offset += block;
            }
            (M::IgnoresDiscard, Op::Discard { .. }) if allowed => return self.end(request, Ok(())),
            (M::ZeroesTooFar, Op::WriteZeroes { offset, length, .. })
                if allowed && *offset + *length < size =>
            {
                *length += block;
            }
            (M::ClampsRange, Op::Read { .. }) if !allowed => return self.end(request, Ok(())),
            (M::WrongKind, _) if !allowed => {
                return self.end(request, Err(Error::new(ErrorKind::Other, "no")));
            }
            (M::RefusesLate, Op::Write { offset, from, .. })
                if *offset < size && *offset + from.len() as u64 > size =>
            {
                let last = Op::Write {
                    offset: size - block,
                    from: from.clone().split_to(block as usize),
                    fua: false,
                };
                self.below.submit(Request::new(u64::MAX / 2, last));
                let mut done = Vec::new();
                self.below.poll(&mut done);
                return self.end(request, Err(Error::new(ErrorKind::OutOfRange, "past the end")));
            }
            (M::ForgetsLastBlock, Op::Write { offset, from, .. })
                if allowed && *offset + from.len() as u64 == size =>
            {
                return self.end(request, Ok(()));
            }
            (M::SortsPieces, Op::Write { from, .. }) if allowed && from.slices().count() > 1 => {
                return self.sort_pieces(request);
            }
            (M::ShallowDepth, _) if self.depth > 4 && self.below.in_flight() >= self.depth / 2 => {
                return self.end(request, Err(Error::new(ErrorKind::Busy, "the queue is full")));
            }
            (M::RefusesFlush, Op::Flush) => {
                return self.end(request, Err(Error::new(ErrorKind::ReadOnly, "read-only")));
            }
            (M::SparesFlush, Op::Flush) if !std::mem::take(&mut self.wrote) => {
                return self.end(request, Ok(()));
            }
            _ => (),
        }
        self.wrote |= request.op.changes_data();
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let mut new = std::mem::take(&mut self.ended);
        self.below.poll(&mut new);
        for mut completion in new {
            self.count += 1;
            match (self.mistake, &mut completion.buffer) {
                (Mistake::CompletesTwice, _) if self.count.is_multiple_of(5) => {
                    done.push(Completion {
                        tag: completion.tag,
                        buffer: ReturnedBuffer::Nothing,
                        result: Ok(()),
                    });
                }
                (Mistake::SwapsReadBuffer, ReturnedBuffer::Read(buffer)) => {
                    let mut bytes = vec![0; buffer.len()];
                    buffer.copy_to_slice(&mut bytes);
                    let mut other = BufMut::zeroed(bytes.len());
                    other.copy_from_slice(&bytes);
                    completion.buffer = ReturnedBuffer::Read(other);
                }
                (Mistake::SwapsWriteBuffer, ReturnedBuffer::Written(buffer)) => {
                    completion.buffer = ReturnedBuffer::Written(copied(buffer));
                }
                (Mistake::ChangesTag, _) => completion.tag ^= 1 << 40,
                (Mistake::StaleReads, ReturnedBuffer::Read(buffer))
                    if completion.result.is_ok() =>
                {
                    let mut remembered = self.remembered.lock().unwrap();
                    let known = remembered.entry(self.lent[&completion.tag]).or_insert_with(|| {
                        let mut bytes = vec![0; buffer.len()];
                        buffer.copy_to_slice(&mut bytes);
                        bytes
                    });
                    if known.len() == buffer.len() {
                        buffer.copy_from_slice(known);
                    }
                }
                _ => (),
            }
            done.push(completion);
        }
    }

    fn in_flight(&self) -> u32 {
        let count = self.below.in_flight() + self.ended.len() as u32;
        if self.mistake == Mistake::Miscounts && count > 2 {
            count - 1
        } else {
            count + u32::from(self.forgot())
        }
    }
    fn signal(&self) -> Option<Signal> {
        (self.mistake == Mistake::SilentSignal).then(|| self.silent.signal())
    }
}

impl MistakenChannel {
    /// The forgotten request stays in flight for ever.
    fn forgot(&self) -> bool {
        self.mistake == Mistake::ForgetsOne && self.count >= 5
    }
}

fn memory() -> Memory {
    Memory::new(SIZE)
}

/// What the conformance suite has to say, the device completing at the next poll or after a delay.
fn conformance_of(below: impl Fn() -> Memory, mistake: Mistake) -> Violation {
    let result =
        conformance::run(|| mistaken(Arc::new(below()), mistake), Reactor::virtual_clock, 1);
    result.expect_err("the conformance suite has not noticed")
}

fn crashes(
    info: &Info,
    layer: impl Fn(Arc<dyn Device>) -> Arc<dyn Device> + Copy + 'static,
    tears: bool,
) -> Result<(), Violation> {
    let make = || {
        let memory = Memory::with(info.clone()).delayed(3, Duration::from_micros(500));
        let memory = Arc::new(if tears { memory.tearing() } else { memory });
        let members = vec![Arc::clone(&memory) as Arc<dyn Crashable>];
        Rig { members, start: Box::new(move || Ok(layer(Arc::clone(&memory) as Arc<dyn Device>))) }
    };
    let steps = crash::history(info, 40, 2);
    crash::enumerate(make, Reactor::virtual_clock, &steps, &Options::default(), 2).map(drop)
}

fn cached() -> Info {
    Info { volatile_cache: true, ..memory().info().clone() }
}

#[test]
fn without_a_mistake_nothing_is_found() {
    crashes(&cached(), |below| mistaken(below, Mistake::None), false).unwrap();
    conformance::run(|| mistaken(Arc::new(memory()), Mistake::None), Reactor::virtual_clock, 1)
        .unwrap();
}

#[test]
fn the_conformance_suite_finds_each_mistake_and_names_the_sentence() {
    for (mistake, rules) in [
        (Mistake::DropsWrites, &["C15"][..]),
        (Mistake::CompletesTwice, &["C1", "C2"]),
        (Mistake::ForgetsOne, &["C12"]),
        (Mistake::SwapsReadBuffer, &["C2"]),
        (Mistake::SwapsWriteBuffer, &["C2"]),
        (Mistake::ChangesTag, &["C1"]),
        (Mistake::OffByOne, &["C15"]),
        (Mistake::StaleReads, &["C15"]),
        (Mistake::IgnoresDiscard, &["C25"]),
        (Mistake::ZeroesTooFar, &["C24"]),
        (Mistake::CallsDataHoles, &["C31"]),
        (Mistake::TellsTooMuch, &["C31"]),
        (Mistake::Miscounts, &["C9"]),
        (Mistake::ClampsRange, &["C6"]),
        (Mistake::WrongKind, &["C6"]),
        (Mistake::RefusesLate, &["C6"]),
        (Mistake::ForgetsLastBlock, &["C15"]),
        (Mistake::SortsPieces, &["C15"]),
        (Mistake::ShallowDepth, &["C8"]),
        (Mistake::RefusesFlush, &["C22"]),
    ] {
        let found = conformance_of(memory, mistake);
        assert!(rules.contains(&found.rule), "{mistake:?} was found as {found}");
        assert_eq!(found.seed, 1, "the seed that replays it");
    }
    // Memory that takes no time answers at the poll after a submission.
    let slow = || memory().delayed(9, Duration::from_micros(300));
    assert_eq!(conformance_of(slow, Mistake::SilentSignal).rule, "C33");
}

#[test]
fn random_requests_find_what_changes_data_wrongly() {
    for mistake in [
        Mistake::DropsWrites,
        Mistake::OffByOne,
        Mistake::StaleReads,
        Mistake::IgnoresDiscard,
        Mistake::ZeroesTooFar,
    ] {
        let slow = memory().delayed(9, Duration::from_micros(300));
        let found = model::drive(
            &mistaken(Arc::new(slow), mistake),
            &Reactor::virtual_clock(),
            &Load::default(),
            4,
        );
        let found = found.expect_err("random requests have not noticed");
        assert_eq!(found.rule, "C15", "{mistake:?} was found as {found}");
        assert!(found.to_string().ends_with("(seed 4)"), "{found}");
    }
}

#[test]
fn a_crash_finds_what_only_promises_to_be_durable() {
    for mistake in [Mistake::IgnoresFlush, Mistake::IgnoresFua, Mistake::SparesFlush] {
        let found = crashes(&cached(), move |below| mistaken(below, mistake), false)
            .expect_err("no crash has noticed");
        assert_eq!(found.rule, "C28", "{mistake:?} was found as {found}");
    }
}

#[test]
fn a_crash_finds_a_torn_block() {
    crashes(&cached(), |below| below, false).unwrap();
    assert_eq!(
        crashes(&cached(), |below| below, true).expect_err("no crash has noticed").rule,
        "C27"
    );
}

#[test]
fn a_crash_finds_a_cache_that_is_not_declared() {
    // The device says that it has no volatile cache, and has one.
    let honest = cached();
    let make = || {
        let memory = Arc::new(Memory::with(honest.clone()).delayed(3, Duration::from_micros(500)));
        let members = vec![Arc::clone(&memory) as Arc<dyn Crashable>];
        let start = move || {
            let info = Info { volatile_cache: false, ..memory.info().clone() };
            let below = Arc::clone(&memory) as Arc<dyn Device>;
            Ok(Arc::new(Mistaken {
                below,
                info,
                mistake: Mistake::None,
                remembered: Arc::default(),
            }) as Arc<dyn Device>)
        };
        Rig { members, start: Box::new(start) }
    };
    let steps = crash::history(&honest, 30, 8);
    let found = crash::enumerate(make, Reactor::virtual_clock, &steps, &Options::default(), 8)
        .expect_err("no crash has noticed");
    assert_eq!(found.rule, "C28");
}

#[test]
fn abilities_that_are_only_claimed_are_found() {
    struct Claims(Memory, Info);
    impl Device for Claims {
        fn info(&self) -> &Info {
            &self.1
        }
        fn describe(&self) -> Node {
            self.0.describe()
        }
        fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
            self.0.open(depth, reactor)
        }
    }
    let plain = Info::plain(SIZE);
    let claims = [
        Info { fua: Support::Native, ..plain.clone() },
        Info { zeroes: Support::Emulated, ..plain.clone() },
        Info { discard: DiscardSupport::ReadsZero, ..plain.clone() },
        Info { read_only: true, ..plain.clone() },
        Info { size_bytes: SIZE + 512, ..plain.clone() },
        Info { max_request_bytes: 1000, ..plain.clone() },
    ];
    for claim in claims {
        let make =
            || Arc::new(Claims(Memory::with(plain.clone()), claim.clone())) as Arc<dyn Device>;
        let found =
            conformance::run(make, Reactor::virtual_clock, 1).expect_err("the claim was believed");
        assert_eq!(found.rule, "C6", "{claim:?}: {found}");
    }
    // Discard that claims zeroes over a device that leaves something else.
    let indeterminate = Info { discard: DiscardSupport::Indeterminate, ..plain.clone() };
    let make = || {
        let claim = Info { discard: DiscardSupport::ReadsZero, ..indeterminate.clone() };
        Arc::new(Claims(Memory::with(indeterminate.clone()), claim)) as Arc<dyn Device>
    };
    assert_eq!(conformance::run(make, Reactor::virtual_clock, 1).unwrap_err().rule, "C25");
}

#[test]
fn a_flush_that_forgets_its_failure_is_found() {
    let reactor = Reactor::virtual_clock();
    let forgetful = memory();
    let fail = || forgetful.fail_next(Fault::Write);
    assert_eq!(conformance::sticky_flush(&forgetful, &reactor, fail, 1).unwrap_err().rule, "C21");
}

#[test]
fn a_golden_file_that_differs_is_found_with_its_line() {
    assert_eq!(golden::first_difference("a\nb\n", "a\nb\n"), None);
    let difference = golden::first_difference("a\nb\n", "a\nc\n").unwrap();
    assert!(
        difference.contains("line 2")
            && difference.contains("\"b\"")
            && difference.contains("\"c\""),
        "{difference}"
    );
    assert!(golden::first_difference("a\n", "a").unwrap().contains("line 2"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing.txt");
    assert!(
        std::panic::catch_unwind(|| golden::check(&path, "text")).is_err(),
        "a missing file is not an empty one"
    );
}

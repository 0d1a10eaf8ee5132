//! The adapters, over a device that writes down what it is asked and answers as it is told.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use block::{
    Blocking, Buf, BufMut, Channel, Completion, ContractCheck, CountingDevice, Device,
    DiscardSupport, EmulatingDevice, Error, ErrorKind, Info, Node, Op, Reactor, Request,
    ReturnedBuffer, Support, Traffic,
};

/// What the scripted device does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Succeed,
    Fail,
    /// Stays in flight.
    Never,
    Twice,
    OtherTag,
    OtherBuffer,
    NoBuffer,
    /// Is done without being counted in flight.
    Uncounted,
}

#[derive(Default)]
struct Script {
    asked: Vec<String>,
    /// Answers to come; afterwards everything succeeds.
    answers: VecDeque<Answer>,
}

struct Scripted {
    info: Info,
    script: Arc<Mutex<Script>>,
}

fn scripted(info: Info, answers: &[Answer]) -> (Arc<dyn Device>, Arc<Mutex<Script>>) {
    let script = Arc::new(Mutex::new(Script {
        asked: Vec::new(),
        answers: answers.iter().copied().collect(),
    }));
    (Arc::new(Scripted { info, script: Arc::clone(&script) }), script)
}

fn asked(script: &Mutex<Script>) -> Vec<String> {
    std::mem::take(&mut script.lock().unwrap().asked)
}

impl Device for Scripted {
    fn info(&self) -> &Info {
        &self.info
    }
    fn describe(&self) -> Node {
        Node::leaf("scripted", "")
    }
    fn open(&self, _depth: u32, _reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(ScriptedChannel {
            script: Arc::clone(&self.script),
            done: Vec::new(),
            kept: Vec::new(),
        }))
    }
}

struct ScriptedChannel {
    script: Arc<Mutex<Script>>,
    done: Vec<(bool, Completion)>,
    kept: Vec<Request>,
}

impl Channel for ScriptedChannel {
    fn submit(&mut self, request: Request) {
        let mut script = self.script.lock().unwrap();
        script.asked.push(match request.op.range() {
            Some((offset, length)) => format!("{} {length} at {offset}", request.op.name()),
            None => request.op.name().to_owned(),
        });
        let answer = script.answers.pop_front().unwrap_or(Answer::Succeed);
        let counted = answer != Answer::Uncounted;
        let mut completion = match answer {
            Answer::Never => return self.kept.push(request),
            Answer::Fail => request.complete(Err(Error::new(ErrorKind::Media, "told to fail"))),
            _ => request.complete(Ok(())),
        };
        match answer {
            Answer::Twice => {
                let again = Completion {
                    tag: completion.tag,
                    buffer: ReturnedBuffer::Nothing,
                    result: Ok(()),
                };
                self.done.push((false, again));
            }
            Answer::OtherTag => completion.tag += 1000,
            Answer::OtherBuffer => completion.buffer = ReturnedBuffer::Read(BufMut::zeroed(512)),
            Answer::NoBuffer => completion.buffer = ReturnedBuffer::Nothing,
            _ => (),
        }
        self.done.push((counted, completion));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.extend(self.done.drain(..).map(|(_, completion)| completion));
    }

    fn in_flight(&self) -> u32 {
        (self.kept.len() + self.done.iter().filter(|(counted, _)| *counted).count()) as u32
    }
}

fn buffer(length: usize) -> Buf {
    BufMut::zeroed(length).freeze()
}

fn write(offset: u64, length: usize, fua: bool) -> Op {
    Op::Write { offset, from: buffer(length), fua }
}

fn poll(channel: &mut dyn Channel) -> Vec<Completion> {
    let mut done = Vec::new();
    channel.poll(&mut done);
    done
}

fn volatile(size_bytes: u64) -> Info {
    Info { volatile_cache: true, ..Info::plain(size_bytes) }
}

#[test]
fn emulated_fua_is_a_write_and_then_a_flush() {
    let (below, script) = scripted(volatile(1 << 20), &[]);
    let device = EmulatingDevice::over(below);
    assert_eq!((device.info().fua, device.info().zeroes), (Support::Emulated, Support::Emulated));
    let mut channel = device.open(4, &Reactor::virtual_clock()).unwrap();
    let from = buffer(1024);
    let address = from.as_slice().unwrap().as_ptr();
    channel.submit(Request::new(u64::MAX, Op::Write { offset: 512, from, fua: true }));
    assert_eq!((channel.in_flight(), asked(&script)), (1, vec!["write 1024 at 512".to_owned()]));
    let done = poll(&mut *channel);
    assert_eq!(asked(&script), ["flush"]);
    let [Completion { tag: u64::MAX, buffer: ReturnedBuffer::Written(back), result: Ok(()) }] =
        &done[..]
    else {
        panic!("{done:?}")
    };
    assert_eq!((back.as_slice().unwrap().as_ptr(), channel.in_flight()), (address, 0));
    // Without FUA there is no flush.
    channel.submit(Request::new(1, write(0, 512, false)));
    assert_eq!((poll(&mut *channel).len(), asked(&script)), (1, vec!["write 512 at 0".to_owned()]));
}

#[test]
fn emulated_zeroes_are_written_in_pieces_and_flushed_last() {
    let (below, script) = scripted(volatile(1 << 20), &[]);
    let mut channel = EmulatingDevice::over(below).open(1, &Reactor::virtual_clock()).unwrap();
    channel.submit(Request::new(1, Op::WriteZeroes { offset: 512, length: 600 << 10, fua: true }));
    assert!(matches!(
        &poll(&mut *channel)[..],
        [Completion { tag: 1, buffer: ReturnedBuffer::Nothing, result: Ok(()) }]
    ));
    assert_eq!(
        asked(&script),
        ["write 262144 at 512", "write 262144 at 262656", "write 90112 at 524800", "flush"]
    );
}

#[test]
fn emulated_zeroes_keep_to_the_limits_below() {
    let small = Info { block_bytes: 1024, max_request_bytes: 2560, ..volatile(1 << 20) };
    let (below, script) = scripted(small, &[]);
    let mut channel = EmulatingDevice::over(below).open(1, &Reactor::virtual_clock()).unwrap();
    channel.submit(Request::new(1, Op::WriteZeroes { offset: 0, length: 5120, fua: false }));
    assert_eq!(poll(&mut *channel).len(), 1);
    assert_eq!(asked(&script), ["write 2048 at 0", "write 2048 at 2048", "write 1024 at 4096"]);
    // A range that is wrong is refused before any of it is written.
    for (offset, length, kind) in [
        (1 << 20, 1024, ErrorKind::OutOfRange),
        ((1 << 20) - 1024, 4096, ErrorKind::OutOfRange),
        (0, 512, ErrorKind::Misaligned),
    ] {
        channel.submit(Request::new(2, Op::WriteZeroes { offset, length, fua: false }));
        assert_eq!(channel.in_flight(), 1);
        let done = poll(&mut *channel);
        assert_eq!(done[0].result.as_ref().unwrap_err().kind(), kind);
        assert_eq!((asked(&script).len(), channel.in_flight()), (0, 0));
    }
}

/// What a device promises of discards is kept by one that promises less, and one that promises as
/// much is asked itself.
#[test]
fn emulated_discards_are_zeroes_where_they_are_read_and_nothing_else() {
    let wishes = [DiscardSupport::None, DiscardSupport::Indeterminate, DiscardSupport::ReadsZero];
    for own in wishes {
        for wanted in wishes {
            let (below, script) = scripted(Info { discard: own, ..volatile(1 << 20) }, &[]);
            let device = EmulatingDevice::discarding(below, wanted);
            let best = if own as u8 > wanted as u8 { own } else { wanted };
            assert_eq!(device.info().discard, best);
            let mut channel = device.open(1, &Reactor::virtual_clock()).unwrap();
            let mut discard = |offset| {
                channel.submit(Request::new(5, Op::Discard { offset, length: 1024 }));
                let mut done = poll(&mut *channel);
                let Some(Completion { tag: 5, result, .. }) = done.pop() else { panic!("{own}") };
                assert_eq!((done.len(), channel.in_flight()), (0, 0));
                (result.is_ok(), asked(&script))
            };
            let (is_ok, sent) = discard(512);
            let expected = match (own == best, best) {
                (true, _) => "discard",
                (false, DiscardSupport::ReadsZero) => "write 1024 at 512",
                (false, _) => "",
            };
            assert!(is_ok, "{own}, {wanted}");
            match expected {
                "" => assert!(sent.is_empty(), "{own}, {wanted}: {sent:?}"),
                start => assert!(sent.len() == 1 && sent[0].starts_with(start), "{sent:?}"),
            }
            if own != best {
                assert!(!discard(1 << 20).0, "past the end");
            }
        }
    }
}

#[test]
fn an_error_in_the_middle_ends_an_emulated_request_with_its_buffer() {
    for (answers, expected) in [
        (&[Answer::Fail][..], &["write 512 at 0"][..]),
        (&[Answer::Succeed, Answer::Fail], &["write 512 at 0", "flush"]),
    ] {
        let (below, script) = scripted(volatile(1 << 20), answers);
        let mut channel = EmulatingDevice::over(below).open(1, &Reactor::virtual_clock()).unwrap();
        channel.submit(Request::new(3, write(0, 512, true)));
        let done = poll(&mut *channel);
        let [Completion { tag: 3, buffer: ReturnedBuffer::Written(back), result: Err(error) }] =
            &done[..]
        else {
            panic!("{done:?}")
        };
        assert_eq!((back.len(), error.kind()), (512, ErrorKind::Media));
        assert_eq!(
            (asked(&script), channel.in_flight()),
            (expected.iter().map(ToString::to_string).collect(), 0)
        );
    }
    let (below, script) = scripted(volatile(1 << 20), &[Answer::Succeed, Answer::Fail]);
    let mut channel = EmulatingDevice::over(below).open(1, &Reactor::virtual_clock()).unwrap();
    channel.submit(Request::new(4, Op::WriteZeroes { offset: 0, length: 1 << 20, fua: true }));
    assert_eq!(poll(&mut *channel)[0].result.as_ref().unwrap_err().kind(), ErrorKind::Media);
    assert_eq!(asked(&script).len(), 2, "neither the rest nor the flush");
}

#[test]
fn what_a_device_does_itself_is_passed_on() {
    let native = Info { fua: Support::Native, zeroes: Support::Native, ..volatile(1 << 20) };
    let (below, _) = scripted(native.clone(), &[]);
    assert!(Arc::ptr_eq(&below, &EmulatingDevice::over(Arc::clone(&below))), "nothing to add");
    let (below, script) = scripted(Info { fua: Support::None, ..native.clone() }, &[]);
    let mut channel = EmulatingDevice::over(below).open(1, &Reactor::virtual_clock()).unwrap();
    channel.submit(Request::new(1, Op::WriteZeroes { offset: 0, length: 1 << 20, fua: true }));
    poll(&mut *channel);
    assert_eq!(asked(&script), ["write zeroes 1048576 at 0", "flush"]);
    let (below, script) =
        scripted(Info { zeroes: Support::None, discard: DiscardSupport::ReadsZero, ..native }, &[]);
    let mut channel = EmulatingDevice::over(below).open(1, &Reactor::virtual_clock()).unwrap();
    channel.submit(Request::new(2, write(0, 512, true)));
    channel.submit(Request::new(3, Op::Discard { offset: 0, length: 512 }));
    poll(&mut *channel);
    assert_eq!(asked(&script), ["write with FUA 512 at 0", "discard 512 at 0"]);
}

#[test]
fn counted_counts_requests_and_bytes_exactly() {
    let (below, _) = scripted(
        Info { zeroes: Support::Native, discard: DiscardSupport::ReadsZero, ..volatile(1 << 20) },
        &[Answer::Fail],
    );
    let counted = CountingDevice::over(below);
    let counters = counted.counters();
    let mut channel = counted.open(16, &Reactor::virtual_clock()).unwrap();
    assert_eq!(counters.read(), Traffic::default());
    let read = |length| Op::Read { offset: 0, into: BufMut::zeroed(length) };
    let zeroes = Op::WriteZeroes { offset: 0, length: 4096, fua: false };
    let discard = Op::Discard { offset: 0, length: 4096 };
    let operations = [
        read(512),
        read(1536),
        write(0, 4096, false),
        zeroes,
        discard,
        Op::Flush,
        Op::Flush,
        write(0, 512, false),
    ];
    for (op, tag) in operations.into_iter().zip(0..) {
        channel.submit(Request::new(tag, op));
    }
    let expected =
        Traffic { reads: 2, read_bytes: 2048, writes: 2, written_bytes: 4608, flushes: 2 };
    assert_eq!(counters.read(), expected, "counted when submitted, whatever comes of it");
    assert_eq!((channel.in_flight(), poll(&mut *channel).len(), counters.read()), (8, 8, expected));
    // Channels of one device count together.
    let mut second = counted.open(1, &Reactor::virtual_clock()).unwrap();
    second.submit(Request::new(0, read(1024)));
    assert_eq!(
        counters.read().since(&expected),
        Traffic { reads: 1, read_bytes: 1024, ..Traffic::default() }
    );
    // What has passed a channel stays counted when it is gone.
    let before = counters.read();
    drop((second, channel));
    assert_eq!(counters.read(), before);
    assert_eq!(counters.read_at().map(|(_, bytes)| bytes).sum::<u64>(), before.read_bytes);
    counted.open(1, &Reactor::virtual_clock()).unwrap().submit(Request::new(0, Op::Flush));
    assert_eq!(counters.read().since(&before), Traffic { flushes: 1, ..Traffic::default() });
    assert_eq!(counted.describe().to_string(), "scripted:");
}

#[test]
fn blocking_cuts_long_slices_and_brings_errors() {
    let (device, script) =
        scripted(Info { max_request_bytes: 2560, block_bytes: 1024, ..volatile(1 << 20) }, &[]);
    let mut channel = Blocking::open(&*device, &Reactor::virtual_clock()).unwrap();
    channel.write_slice(1024, &[1; 5120]).unwrap();
    channel.read_slice(0, &mut [0; 3072]).unwrap();
    channel.flush().unwrap();
    let expected = [
        "write 2048 at 1024",
        "write 2048 at 3072",
        "write 1024 at 5120",
        "read 2048 at 0",
        "read 1024 at 2048",
        "flush",
    ];
    assert_eq!(asked(&script), expected);
    script.lock().unwrap().answers.extend([Answer::Succeed, Answer::Fail]);
    assert_eq!(channel.write_slice(0, &[1; 8192]).unwrap_err().kind(), ErrorKind::Media);
    assert_eq!(asked(&script).len(), 2, "nothing is sent after the failure");
    assert_eq!(channel.read(0, BufMut::zeroed(1024)).unwrap().len(), 1024);
}

#[test]
fn blocking_does_not_wait_for_ever() {
    let (device, _) = scripted(volatile(1 << 20), &[Answer::Never]);
    let reactor = Reactor::virtual_clock();
    let mut channel = Blocking::open(&*device, &reactor).unwrap();
    let error = channel.flush().unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::TimedOut, "no answer to a flush for 20 minutes")
    );
    // The late answer to that flush must not be taken for one to the next request.
    let error = channel.read(0, BufMut::zeroed(512)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("an earlier request"), "{error}");
}

/// Answers every request after a while.
struct Slow {
    info: Info,
}

impl Device for Slow {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        Node::leaf("slow", "")
    }

    fn open(&self, _depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(SlowChannel { source: reactor.source(), requests: VecDeque::new() }))
    }
}

struct SlowChannel {
    source: reactor::Source,
    requests: VecDeque<Request>,
}

impl Channel for SlowChannel {
    fn submit(&mut self, request: Request) {
        self.source.at(self.source.reactor().now() + Duration::from_millis(5), request.tag);
        self.requests.push_back(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        while self.source.take().is_some() {
            done.extend(self.requests.pop_front().map(|request| request.complete(Ok(()))));
        }
    }

    fn in_flight(&self) -> u32 {
        self.requests.len() as u32
    }
}

#[test]
fn blocking_waits_while_other_channels_have_answers() {
    let device = Slow { info: Info::plain(1 << 20) };
    let reactor = Reactor::virtual_clock();
    let mut other = device.open(2, &reactor).unwrap();
    other.submit(Request::new(7, Op::Flush));
    let mut channel = Blocking::open(&device, &reactor).unwrap();
    for turn in 1..4 {
        // From the second on, the other's answer lies there before this one waits.
        channel.flush().unwrap();
        assert_eq!(reactor.now().nanoseconds(), turn * 5_000_000);
    }
    let mut done = Vec::new();
    other.poll(&mut done);
    assert_eq!(done.iter().map(|completion| completion.tag).collect::<Vec<_>>(), [7]);
}

/// Whether `Checked` over a device with this script panics while `owner` uses it; the panic's text
/// is in the result.
fn checked(answers: &[Answer], owner: impl FnOnce(&mut dyn Channel)) -> Result<(), String> {
    let (below, _) = scripted(Info { max_request_bytes: 8192, ..Info::plain(1 << 20) }, answers);
    let device = ContractCheck::over(below);
    let mut channel = device.open(2, &Reactor::virtual_clock()).unwrap();
    catch_unwind(AssertUnwindSafe(|| owner(&mut *channel))).map_err(|panic| {
        match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(panic) => panic
                .downcast::<&str>()
                .map_or_else(|_| "(no text)".to_owned(), |text| (*text).to_owned()),
        }
    })
}

fn submit(op: Op) -> impl FnOnce(&mut dyn Channel) {
    move |channel| {
        channel.submit(Request::new(1, op));
        poll(channel);
    }
}

#[test]
fn checked_lets_everything_pass_that_keeps_to_the_rules() {
    checked(&[Answer::Succeed, Answer::Fail, Answer::Never], |channel| {
        for tag in 0..2 {
            channel.submit(Request::new(tag, write(0, 512, false)));
        }
        assert_eq!(poll(channel).len(), 2);
        channel.submit(Request::new(0, Op::Flush));
        channel.submit(Request::new(1, Op::Read { offset: 0, into: BufMut::zeroed(8192) }));
        assert_eq!((poll(channel).len(), channel.in_flight()), (1, 1));
    })
    .unwrap();
}

#[test]
fn checked_catches_each_mistake_from_above() {
    let read = |offset, length| Op::Read { offset, into: BufMut::zeroed(length) };
    for (op, expected) in [
        (read(1, 512), "not whole blocks"),
        (read(0, 100), "not whole blocks"),
        (read(0, 0), "not whole blocks"),
        (read(1 << 20, 512), "past the end"),
        (read(0, 16384), "at most 8192"),
        (write(0, 512, true), "does not know write with FUA"),
        (Op::Discard { offset: 0, length: 512 }, "does not know discard"),
    ] {
        let text = checked(&[], submit(op)).unwrap_err();
        assert!(text.contains("came from above") && text.contains(expected), "{text}");
    }
    let flushes = |tags: &'static [u64]| {
        move |channel: &mut dyn Channel| {
            tags.iter().for_each(|&tag| channel.submit(Request::new(tag, Op::Flush)));
        }
    };
    assert!(checked(&[], flushes(&[1, 2, 3])).unwrap_err().contains("more than 2 requests"));
    assert!(checked(&[], flushes(&[1, 1])).unwrap_err().contains("tag 1 is in flight"));
    checked(&[], flushes(&[1, 2])).unwrap();
}

#[test]
fn checked_catches_each_mistake_from_below() {
    let read = || Op::Read { offset: 0, into: BufMut::zeroed(512) };
    for (answer, op) in [
        (Answer::Twice, read()),
        (Answer::Twice, Op::Flush),
        (Answer::OtherTag, read()),
        (Answer::OtherBuffer, read()),
        (Answer::OtherBuffer, write(0, 512, false)),
        (Answer::NoBuffer, read()),
        (Answer::NoBuffer, write(0, 512, false)),
    ] {
        let text = checked(&[answer], submit(op)).unwrap_err();
        assert!(
            text.contains("came back twice, unasked, or with another buffer"),
            "{answer:?}: {text}"
        );
    }
    assert!(
        checked(&[Answer::Uncounted], submit(Op::Flush)).unwrap_err().contains("count in flight")
    );
}

#[test]
fn checked_looks_at_the_sizes_of_a_device_and_at_the_depth() {
    let plain = Info::plain(1 << 20);
    for wrong in [
        Info { block_bytes: 256, ..plain.clone() },
        Info {
            block_bytes: 1536,
            size_bytes: 1536 * 8,
            optimal_bytes: 1536,
            max_request_bytes: 1536,
            ..plain.clone()
        },
        Info { size_bytes: 1000, ..plain.clone() },
        Info { max_request_bytes: 1000, ..plain.clone() },
        Info { optimal_bytes: 0, ..plain.clone() },
    ] {
        let (device, _) = scripted(wrong.clone(), &[]);
        assert!(
            catch_unwind(AssertUnwindSafe(|| ContractCheck::over(device))).is_err(),
            "{wrong:?}"
        );
    }
    let (device, _) = scripted(plain, &[]);
    let device = ContractCheck::over(device);
    assert!(
        catch_unwind(AssertUnwindSafe(|| device.open(0, &Reactor::virtual_clock()).is_ok()))
            .is_err()
    );
}

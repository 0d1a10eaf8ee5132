//! One test for each sentence of `docs/contract.md`, shown at the device that the rest of the tests
//! is built on. Other devices are held against the same sentences by `testkit::conformance` and
//! `testkit::crash` in their own crates.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use block::{
    Buf, BufMut, Channel, Completion, ContractCheck, Device, DiscardSupport, EmulatingDevice,
    ErrorKind, Info, Op, Reactor, Request, ReturnedBuffer, Support, Time,
};
use reactor::WakeReason;
use testkit::crash::Crashable;
use testkit::{Fault, Memory, conformance};

const BLOCK: u64 = 512;
const BLOCKS: u64 = 64;

fn able() -> Info {
    Info { volatile_cache: true, ..Memory::new(BLOCKS * BLOCK).info().clone() }
}

/// A device whose requests overtake one another.
fn slow(info: Info) -> Memory {
    Memory::with(info).delayed(17, Duration::from_millis(1))
}

fn filled(blocks: u64, byte: u8) -> Buf {
    let mut buffer = BufMut::zeroed((blocks * BLOCK) as usize);
    buffer.fill(byte);
    buffer.freeze()
}

fn write(block: u64, byte: u8) -> Op {
    Op::Write { offset: block * BLOCK, from: filled(1, byte), fua: false }
}

fn read(block: u64) -> Op {
    Op::Read { offset: block * BLOCK, into: BufMut::zeroed(BLOCK as usize) }
}

fn settle(reactor: &Reactor, channel: &mut dyn Channel) -> Vec<Completion> {
    let mut done = Vec::new();
    loop {
        channel.poll(&mut done);
        if channel.in_flight() == 0 {
            return done;
        }
        assert_ne!(reactor.wait(None).unwrap(), WakeReason::Idle, "a request is never answered");
    }
}

fn run(reactor: &Reactor, channel: &mut dyn Channel, op: Op) -> Completion {
    channel.submit(Request::new(1 << 50, op));
    settle(reactor, channel).pop().unwrap()
}

/// The byte that a block is full of.
fn byte_of(completion: Completion) -> u8 {
    completion.result.unwrap();
    let buffer = completion.buffer.read();
    let bytes = buffer.as_slice().unwrap();
    assert!(bytes.iter().all(|&byte| byte == bytes[0]), "a block is torn");
    bytes[0]
}

fn look(reactor: &Reactor, channel: &mut dyn Channel, block: u64) -> u8 {
    byte_of(run(reactor, channel, read(block)))
}

/// Everything that a block may hold after a crash that follows `before`, over many seeds.
fn after_crash(info: &Info, block: u64, before: impl Fn(&Reactor, &dyn Device)) -> BTreeSet<u8> {
    let one = |seed| {
        let memory = slow(info.clone());
        before(&Reactor::virtual_clock(), &memory);
        memory.crash(seed);
        memory.power_on();
        let reactor = Reactor::virtual_clock();
        look(&reactor, &mut *memory.open(1, &reactor).unwrap(), block)
    };
    (0..60).map(one).collect()
}

/// C1: Every request is answered by exactly one completion, which carries the request's tag.
/// C10: Completions come in any order.
#[test]
fn one_completion_each_in_any_order() {
    let reactor = Reactor::virtual_clock();
    let mut channel = slow(able()).open(64, &reactor).unwrap();
    for tag in 0..64 {
        channel.submit(Request::new(tag, if tag % 2 == 0 { read(tag) } else { write(tag, 1) }));
    }
    let tags: Vec<u64> =
        settle(&reactor, &mut *channel).iter().map(|completion| completion.tag).collect();
    assert_eq!(tags.iter().copied().collect::<HashSet<_>>(), (0..64).collect());
    assert_eq!(tags.len(), 64);
    assert!(!tags.is_sorted(), "this device answers out of order, and every check accepts that");
}

/// C2: A completion hands back the very buffer that the request carried, whether the request
/// succeeded or failed. C3: After a failed read the bytes in its buffer are unspecified. C5:
/// `submit` never blocks and never fails: a failure arrives as a completion.
#[test]
fn the_buffer_comes_back_and_a_failure_is_a_completion() {
    let reactor = Reactor::virtual_clock();
    let memory = slow(able());
    let mut channel = memory.open(2, &reactor).unwrap();
    for fails in [false, true] {
        let (into, from) = (BufMut::zeroed(512), filled(1, 7));
        let addresses = [into.as_slice().unwrap().as_ptr(), from.as_slice().unwrap().as_ptr()];
        if fails {
            memory.fail_next(Fault::Read);
            memory.fail_next(Fault::Write);
        }
        let before = reactor.now();
        channel.submit(Request::new(0, Op::Read { offset: 0, into }));
        channel.submit(Request::new(1, Op::Write { offset: BLOCK, from, fua: false }));
        assert_eq!((reactor.now(), channel.in_flight()), (before, 2), "nothing was waited for");
        for completion in settle(&reactor, &mut *channel) {
            assert_eq!(completion.result.is_err(), fails);
            let address = match &completion.buffer {
                ReturnedBuffer::Read(buffer) => buffer.as_slice().unwrap().as_ptr(),
                ReturnedBuffer::Written(buffer) => buffer.as_slice().unwrap().as_ptr(),
                ReturnedBuffer::Nothing => panic!("both carried a buffer"),
            };
            assert_eq!(address, addresses[completion.tag as usize]);
            if let (ReturnedBuffer::Read(buffer), true) = (&completion.buffer, fails) {
                assert_ne!(
                    buffer.as_slice().unwrap(),
                    [0; 512],
                    "here they are rubbish: nobody may look at them"
                );
            }
        }
    }
}

/// C4: A failed write leaves each block of its range old or new, and touches no other block.
#[test]
fn a_failed_write_is_old_or_new_block_by_block() {
    let reactor = Reactor::virtual_clock();
    let memory = slow(able());
    let mut channel = memory.open(1, &reactor).unwrap();
    run(&reactor, &mut *channel, Op::Write { offset: 0, from: filled(BLOCKS, 1), fua: false })
        .result
        .unwrap();
    memory.fail_next(Fault::Write);
    let failed = run(
        &reactor,
        &mut *channel,
        Op::Write { offset: 8 * BLOCK, from: filled(48, 2), fua: false },
    );
    assert_eq!(failed.result.unwrap_err().kind(), ErrorKind::Media);
    let found: Vec<u8> = (0..BLOCKS).map(|block| look(&reactor, &mut *channel, block)).collect();
    let (inside, outside) = (&found[8..56], [&found[..8], &found[56..]].concat());
    assert_eq!(inside.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([1, 2]));
    assert_eq!(outside, [1; 16]);
}

/// C6: A request that `Info::check` refuses is answered with that kind of error and changes
/// nothing.
#[test]
fn refused_requests() {
    let reactor = Reactor::virtual_clock();
    let plain = Info { max_request_bytes: 4096, ..Info::plain(BLOCKS * BLOCK) };
    for (info, op, kind) in [
        (
            plain.clone(),
            Op::Write { offset: 1, from: filled(1, 9), fua: false },
            ErrorKind::Misaligned,
        ),
        (
            plain.clone(),
            Op::Write { offset: 63 * BLOCK, from: filled(2, 9), fua: false },
            ErrorKind::OutOfRange,
        ),
        (
            plain.clone(),
            Op::Write { offset: 0, from: filled(9, 9), fua: false },
            ErrorKind::Invalid,
        ),
        (
            plain.clone(),
            Op::Write { offset: 0, from: filled(1, 9), fua: true },
            ErrorKind::Unsupported,
        ),
        (plain.clone(), Op::Discard { offset: 0, length: BLOCK }, ErrorKind::Unsupported),
        (Info { read_only: true, ..plain.clone() }, write(0, 9), ErrorKind::ReadOnly),
    ] {
        let mut channel = slow(info).open(1, &reactor).unwrap();
        assert_eq!(run(&reactor, &mut *channel, op).result.unwrap_err().kind(), kind);
        assert_eq!((look(&reactor, &mut *channel, 0), look(&reactor, &mut *channel, 63)), (0, 0));
    }
}

/// C7: Tags belong to the owner: any number will do, as long as no two requests in flight on a
/// channel share one. C8: A channel takes as many requests in flight as it was opened for, and its
/// owner never submits more.
#[test]
fn tags_and_depth_are_the_owners() {
    let reactor = Reactor::virtual_clock();
    let device = ContractCheck::over(Arc::new(slow(able())));
    let tags = [0, u64::MAX, 1 << 63, 5];
    let mut channel = device.open(4, &reactor).unwrap();
    for _ in 0..3 {
        tags.iter().for_each(|&tag| channel.submit(Request::new(tag, read(0))));
        let seen: HashSet<u64> =
            settle(&reactor, &mut *channel).iter().map(|completion| completion.tag).collect();
        assert_eq!(seen, HashSet::from(tags), "and each is free again afterwards");
    }
    let submit_both = |second: u64, depth: u32| {
        let mut channel = device.open(depth, &reactor).unwrap();
        channel.submit(Request::new(1, read(0)));
        catch_unwind(AssertUnwindSafe(|| channel.submit(Request::new(second, read(0))))).is_err()
    };
    assert!(submit_both(1, 2), "the same tag twice");
    assert!(submit_both(2, 1), "one more than the depth");
    assert!(!submit_both(2, 2));
}

/// C9: `in_flight` counts the requests that were submitted and whose completion `poll` has not
/// returned.
#[test]
fn in_flight_counts_until_poll() {
    let reactor = Reactor::virtual_clock();
    let mut channel = slow(able()).open(8, &reactor).unwrap();
    for tag in 0..8 {
        assert_eq!(u64::from(channel.in_flight()), tag);
        channel.submit(Request::new(tag, read(tag)));
    }
    let mut done = Vec::new();
    while done.len() < 8 {
        let before = channel.in_flight();
        reactor.wait(None).unwrap();
        assert_eq!(channel.in_flight(), before, "what has happened counts only once it is taken");
        channel.poll(&mut done);
        assert_eq!(channel.in_flight() as usize, 8 - done.len());
    }
}

/// C33: As long as the signal of a channel that has one is off, and nothing was submitted since the
/// last poll, a poll does nothing and may be left out.
#[test]
fn polls_may_be_left_out_while_the_signal_is_off() {
    let reactor = Reactor::virtual_clock();
    let mut channel = slow(able()).open(8, &reactor).unwrap();
    let signal = channel.signal().unwrap();
    (0..8).for_each(|tag| channel.submit(Request::new(tag, read(tag))));
    let mut done = Vec::new();
    channel.poll(&mut done);
    let mut left_out = 0;
    while done.len() < 8 {
        if signal.is_on() {
            let before = done.len();
            channel.poll(&mut done);
            assert!(done.len() > before && !signal.is_on());
        } else {
            left_out += 1;
            assert_eq!(reactor.wait(None).unwrap(), WakeReason::Events);
        }
    }
    assert!(left_out > 0);
    assert!(Memory::with(able()).open(1, &reactor).unwrap().signal().is_none());
}

/// C11: `poll` never waits, and a virtual clock moves only in `Reactor::wait`. C12: An owner polls
/// before it waits: a completion that needs neither the kernel nor time wakes no owner, but
/// whatever is in flight after a `poll` that returned nothing does.
#[test]
fn polling_and_waiting() {
    let reactor = Reactor::virtual_clock();
    let mut done = Vec::new();
    let mut slow = slow(able()).open(1, &reactor).unwrap();
    slow.submit(Request::new(1, read(0)));
    (0..100).for_each(|_| slow.poll(&mut done));
    reactor.turn().unwrap();
    slow.poll(&mut done);
    assert_eq!((done.len(), reactor.now()), (0, Time::ZERO));
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Events);
    slow.poll(&mut done);
    assert_eq!((done.len(), reactor.now() > Time::ZERO), (1, true));
    // At the next poll, without time: no owner is woken for it, and none has to be.
    let mut quick = Memory::with(able()).open(1, &reactor).unwrap();
    quick.submit(Request::new(2, read(0)));
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Idle);
    quick.poll(&mut done);
    assert_eq!(done.len(), 2);
    // A layer that starts something new from its own poll sees it through: here a write, then the
    // flush behind it.
    let emulated = EmulatingDevice::over(Arc::new(Memory::with(Info::plain(BLOCKS * BLOCK))));
    let mut layered = emulated.open(1, &reactor).unwrap();
    layered.submit(Request::new(3, Op::Write { offset: 0, from: filled(1, 1), fua: true }));
    layered.poll(&mut done);
    assert_eq!(done.len(), 3);
}

/// C13: Dropping a channel gives its requests up: none is answered, each may take effect, block by
/// block, as long as the reactor lives, and no buffer is freed while the device still uses it.
#[test]
fn a_dropped_channel() {
    let reactor = Reactor::virtual_clock();
    let memory = slow(able());
    let mut channel = memory.open(8, &reactor).unwrap();
    let shared = filled(BLOCKS, 3);
    channel.submit(Request::new(0, Op::Write { offset: 0, from: shared.clone(), fua: false }));
    channel.submit(Request::new(1, read(0)));
    drop(channel);
    assert_eq!(
        reactor.wait(None).unwrap(),
        WakeReason::Idle,
        "nobody is woken for what was given up"
    );
    let mut next = memory.open(1, &reactor).unwrap();
    let found: BTreeSet<u8> = (0..BLOCKS).map(|block| look(&reactor, &mut *next, block)).collect();
    assert_eq!(found, BTreeSet::from([0, 3]), "old or new, block by block");
    assert!(shared.try_mut().is_ok(), "the device has let go of the buffer");
}

/// C14: A device may be opened any number of times and from any thread; a channel stays on the
/// reactor it was opened on. C15: A completed write is visible to every read that is submitted
/// after the completion was returned, on any channel of the device.
#[test]
fn visible_on_every_channel_and_thread() {
    let memory = Arc::new(slow(able()));
    let reactor = Reactor::virtual_clock();
    let mut channels: Vec<_> = (0..10).map(|_| memory.open(1, &reactor).unwrap()).collect();
    for byte in 1..=10 {
        run(&reactor, &mut *channels[usize::from(byte) - 1], write(5, byte)).result.unwrap();
        channels.iter_mut().for_each(|channel| assert_eq!(look(&reactor, &mut **channel, 5), byte));
        let memory = Arc::clone(&memory);
        let elsewhere = std::thread::spawn(move || {
            let reactor = Reactor::virtual_clock();
            look(&reactor, &mut *memory.open(1, &reactor).unwrap(), 5)
        });
        assert_eq!(elsewhere.join().unwrap(), byte);
    }
}

/// C16: Nothing else is ordered: of requests in flight together each may take effect before or
/// after the others, block by block.
#[test]
fn requests_in_flight_together_take_effect_in_any_order() {
    let mut seen = BTreeSet::new();
    for seed in 0..40 {
        let reactor = Reactor::virtual_clock();
        let memory = Memory::with(able()).delayed(seed, Duration::from_millis(1));
        let mut channel = memory.open(3, &reactor).unwrap();
        channel.submit(Request::new(1, write(0, 1)));
        channel.submit(Request::new(2, write(0, 2)));
        channel.submit(Request::new(3, read(0)));
        let done = settle(&reactor, &mut *channel);
        let during = byte_of(done.into_iter().find(|completion| completion.tag == 3).unwrap());
        seen.insert((during, look(&reactor, &mut *channel, 0)));
    }
    // Whatever the read found, either write may be the last; every check accepts all of these.
    assert_eq!(seen, (0..3).flat_map(|during| [(during, 1), (during, 2)]).collect());
}

/// C31: What `extents` calls a hole reads as zeroes, and nothing that had been written before it
/// was asked is in one.
#[test]
fn holes_read_as_zeroes() {
    let memory = Memory::new(64 * 512);
    let reactor = Reactor::virtual_clock();
    let mut channel = memory.open(1, &reactor).unwrap();
    let holes = || {
        let mut found = block::Extents::new();
        memory.extents(512, 63 * 512, &mut found);
        found.runs().iter().map(|run| (run.length / 512, run.is_hole)).collect::<Vec<_>>()
    };
    assert_eq!(holes(), [(63, true)]);
    assert!(run(&reactor, &mut *channel, write(2, 7)).result.is_ok());
    assert_eq!(holes(), [(1, true), (1, false), (61, true)]);
    assert!(run(&reactor, &mut *channel, Op::Discard { offset: 1024, length: 512 }).result.is_ok());
    assert_eq!(holes(), [(63, true)]);
    conformance::run(|| Arc::new(Memory::new(64 * 512)), Reactor::virtual_clock, 30).unwrap();
}

/// C17: `Flush` makes durable every write whose completion had been returned, on any channel of the
/// device, before the flush was submitted. C18: A flush promises nothing about a write that is
/// still in flight when it is submitted. C28: Nothing durable is ever lost: after a crash no block
/// is older than the last durable write to it.
#[test]
fn what_a_flush_covers() {
    let found = after_crash(&able(), 0, |reactor, device| {
        let (mut writer, mut flusher) =
            (device.open(1, reactor).unwrap(), device.open(1, reactor).unwrap());
        run(reactor, &mut *writer, write(0, 1)).result.unwrap();
        run(reactor, &mut *flusher, Op::Flush).result.unwrap();
    });
    assert_eq!(found, BTreeSet::from([1]), "written on one channel, flushed on another");
    let found = after_crash(&able(), 0, |reactor, device| {
        let mut channel = device.open(2, reactor).unwrap();
        channel.submit(Request::new(1, write(0, 1)));
        channel.submit(Request::new(2, Op::Flush));
        assert!(settle(reactor, &mut *channel).iter().all(|completion| completion.result.is_ok()));
    });
    assert_eq!(found, BTreeSet::from([0, 1]), "in flight together with its flush");
    let found = after_crash(&able(), 0, |reactor, device| {
        let mut channel = device.open(1, reactor).unwrap();
        run(reactor, &mut *channel, write(0, 1)).result.unwrap();
        run(reactor, &mut *channel, Op::Flush).result.unwrap();
        run(reactor, &mut *channel, write(0, 2)).result.unwrap();
    });
    assert_eq!(found, BTreeSet::from([1, 2]), "never older than what was flushed");
}

/// C19: A write with `fua` is durable when it completes, and makes no other write durable.
#[test]
fn fua_covers_itself_and_nothing_else() {
    let before = |reactor: &Reactor, device: &dyn Device| {
        let mut channel = device.open(1, reactor).unwrap();
        run(reactor, &mut *channel, write(0, 1)).result.unwrap();
        run(reactor, &mut *channel, Op::Write { offset: BLOCK, from: filled(1, 2), fua: true })
            .result
            .unwrap();
        run(
            reactor,
            &mut *channel,
            Op::WriteZeroes { offset: 2 * BLOCK, length: BLOCK, fua: true },
        )
        .result
        .unwrap();
    };
    assert_eq!(after_crash(&able(), 0, before), BTreeSet::from([0, 1]));
    assert_eq!(after_crash(&able(), 1, before), BTreeSet::from([2]));
}

/// C20: On a device without a volatile cache every completed write is durable.
#[test]
fn without_a_volatile_cache() {
    let found = after_crash(&Info { volatile_cache: false, ..able() }, 0, |reactor, device| {
        run(reactor, &mut *device.open(1, reactor).unwrap(), write(0, 1)).result.unwrap();
    });
    assert_eq!(found, BTreeSet::from([1]));
}

/// C21: A failed flush is sticky: every later flush of the device fails too, until the device
/// itself is made anew.
#[test]
fn a_failed_flush_is_sticky() {
    let memory = slow(able());
    let reactor = Reactor::virtual_clock();
    conformance::sticky_flush(&memory, &reactor, || memory.fail_next(Fault::Flush), 1).unwrap();
    let anew = memory.reopened();
    run(&reactor, &mut *anew.open(1, &reactor).unwrap(), Op::Flush).result.unwrap();
}

/// C22: Every device takes a flush, also a read-only one.
#[test]
fn a_flush_on_every_device() {
    let reactor = Reactor::virtual_clock();
    for (read_only, volatile_cache) in [(false, false), (false, true), (true, false), (true, true)]
    {
        let memory = slow(Info { read_only, volatile_cache, ..Info::plain(BLOCKS * BLOCK) });
        run(&reactor, &mut *memory.open(1, &reactor).unwrap(), Op::Flush).result.unwrap();
    }
}

/// C23: FUA and write-zeroes are each `None`, `Emulated` or `Native`; `None` answers `Unsupported`,
/// and only the adapter `EmulatingDevice` emulates.
#[test]
fn abilities_come_from_the_device_or_from_one_adapter() {
    let reactor = Reactor::virtual_clock();
    for native_fua in [false, true] {
        for native_zeroes in [false, true] {
            let support = |native| if native { Support::Native } else { Support::None };
            let info = Info { fua: support(native_fua), zeroes: support(native_zeroes), ..able() };
            let bare: Arc<dyn Device> = Arc::new(slow(info));
            let device = EmulatingDevice::over(Arc::clone(&bare));
            let expected = |native| if native { Support::Native } else { Support::Emulated };
            assert_eq!(
                (device.info().fua, device.info().zeroes),
                (expected(native_fua), expected(native_zeroes))
            );
            let fua = || Op::Write { offset: 0, from: filled(1, 1), fua: true };
            let zeroes = || Op::WriteZeroes { offset: 0, length: BLOCK, fua: false };
            for (op, native) in [(fua as fn() -> Op, native_fua), (zeroes, native_zeroes)] {
                let answer = run(&reactor, &mut *bare.open(1, &reactor).unwrap(), op()).result;
                assert_eq!(
                    answer.err().map(|error| error.kind()),
                    (!native).then_some(ErrorKind::Unsupported)
                );
                run(&reactor, &mut *device.open(1, &reactor).unwrap(), op()).result.unwrap();
            }
        }
    }
}

/// C24: After a write of zeroes its range reads as zeroes, and no other block has changed. C25:
/// Discard has three answers: `None` refuses it, after `Indeterminate` a block reads as anything
/// until it is written again, after `ReadsZero` it reads as zeroes.
#[test]
fn zeroes_and_discards() {
    let reactor = Reactor::virtual_clock();
    for discard in [DiscardSupport::None, DiscardSupport::Indeterminate, DiscardSupport::ReadsZero]
    {
        let mut channel = slow(Info { discard, ..able() }).open(1, &reactor).unwrap();
        run(&reactor, &mut *channel, Op::Write { offset: 0, from: filled(8, 5), fua: false })
            .result
            .unwrap();
        run(
            &reactor,
            &mut *channel,
            Op::WriteZeroes { offset: BLOCK, length: 2 * BLOCK, fua: false },
        )
        .result
        .unwrap();
        let answer =
            run(&reactor, &mut *channel, Op::Discard { offset: 5 * BLOCK, length: 2 * BLOCK })
                .result;
        let found: Vec<u8> = (0..8).map(|block| look(&reactor, &mut *channel, block)).collect();
        assert_eq!([&found[..5], &found[7..]].concat(), [5, 0, 0, 5, 5, 5]);
        match discard {
            DiscardSupport::None => assert_eq!(
                (answer.unwrap_err().kind(), &found[5..7]),
                (ErrorKind::Unsupported, &[5, 5][..])
            ),
            DiscardSupport::Indeterminate => {
                assert!(answer.is_ok() && found[5] != 5 && found[5] != 0, "here it is rubbish");
            }
            DiscardSupport::ReadsZero => {
                assert_eq!((answer.unwrap(), &found[5..7]), ((), &[0, 0][..]));
            }
        }
        run(&reactor, &mut *channel, write(5, 8)).result.unwrap();
        assert_eq!(look(&reactor, &mut *channel, 5), 8);
    }
}

/// C26: A crash may lose any subset of the blocks of writes that are not durable, in whatever order
/// they completed. C27: A block is never torn: after a crash it holds one whole version of those
/// that were written to it.
#[test]
fn a_crash_loses_any_subset() {
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let memory = slow(able());
        let reactor = Reactor::virtual_clock();
        let mut channel = memory.open(1, &reactor).unwrap();
        run(&reactor, &mut *channel, Op::Write { offset: 0, from: filled(2, 1), fua: false })
            .result
            .unwrap();
        run(&reactor, &mut *channel, write(2, 2)).result.unwrap();
        channel.submit(Request::new(9, write(2, 3)));
        memory.crash(seed);
        memory.power_on();
        let reactor = Reactor::virtual_clock();
        let mut channel = memory.open(1, &reactor).unwrap();
        // look() refuses a block that is not all of one byte.
        seen.insert([0, 1, 2].map(|block| look(&reactor, &mut *channel, block)));
    }
    let all: BTreeSet<[u8; 3]> =
        (0..12).map(|case| [case % 2, case / 2 % 2, [0, 2, 3][usize::from(case / 4)]]).collect();
    assert_eq!(seen, all, "every combination, and no other");
}

//! The layer that breaks things: every fault by itself, and what a crash may and may not leave
//! behind.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use block::{
    Blocking, BufMut, Channel, Completion, ContractCheck, Device, ErrorKind, Op, Reactor, Request,
    ReturnedBuffer, Support,
};
use common::{bytes_of, finish, folder_on_disk, frozen, new_file, run_against_memory};
use device::{
    BadRange, CrashPolicy, CrashReport, FaultControl, FaultDevice, FaultOptions, FileDevice,
    FileOptions, RamDevice,
};
use reactor::{Random, Time, WakeReason};

const BLOCK: u64 = 512;

fn ram(size_bytes: u64) -> Arc<dyn Device> {
    ContractCheck::over(Arc::new(RamDevice::new(size_bytes, 512).unwrap()))
}

/// A faulty device between checks on both sides.
fn faulty(below: &Arc<dyn Device>, options: FaultOptions) -> (Arc<dyn Device>, FaultControl) {
    let device = FaultDevice::new(Arc::clone(below), options).unwrap();
    let control = device.control();
    (ContractCheck::over(Arc::new(device)), control)
}

fn volatile() -> FaultOptions {
    FaultOptions { volatile: true, ..FaultOptions::default() }
}

fn read(offset: u64, length: usize) -> Op {
    Op::Read { offset, into: BufMut::zeroed(length) }
}

fn write(offset: u64, bytes: &[u8]) -> Op {
    Op::Write { offset, from: frozen(bytes), fua: false }
}

fn write_durable(offset: u64, bytes: &[u8]) -> Op {
    Op::Write { offset, from: frozen(bytes), fua: true }
}

fn content(device: &Arc<dyn Device>, reactor: &Reactor) -> Vec<u8> {
    let mut bytes = vec![0; device.info().size_bytes as usize];
    Blocking::open(&**device, reactor).unwrap().read_slice(0, &mut bytes).unwrap();
    bytes
}

fn kinds(completions: &[Completion]) -> Vec<Option<ErrorKind>> {
    completions
        .iter()
        .map(|completion| completion.result.as_ref().err().map(block::Error::kind))
        .collect()
}

fn run(channel: &mut dyn Channel, reactor: &Reactor, op: Op) -> Result<(), ErrorKind> {
    channel.submit(Request::new(77, op));
    finish(channel, reactor).pop().unwrap().result.map_err(|error| error.kind())
}

#[test]
fn with_nothing_switched_on_nothing_changes() {
    let below = ram(1 << 20);
    let (device, control) = faulty(&below, FaultOptions::default());
    assert_eq!(device.info(), below.info());
    assert_eq!(device.describe().to_string(), "fault(ram:1MiB)");
    run_against_memory(&device, &Reactor::virtual_clock(), 1, 100);
    let counts = control.counts();
    assert!(counts.requests > 100);
    assert_eq!(counts, device::FaultCounts { requests: counts.requests, ..Default::default() });
}

#[test]
fn a_write_cache_is_seen_through_and_reaches_below_at_the_flush() {
    let reactor = Reactor::virtual_clock();
    let below = ram(1 << 20);
    let (device, control) = faulty(&below, volatile());
    assert!(
        device.info().volatile_cache
            && device.info().fua == Support::Native
            && device.info().zeroes == Support::None
    );
    let mut expected = run_against_memory(&device, &reactor, 2, 150);
    expected[..512].fill(0x5a);
    Blocking::open(&*device, &reactor).unwrap().write(0, frozen(&[0x5a; 512])).unwrap();
    assert!(
        control.volatile_blocks() > 0 && content(&below, &reactor) != expected,
        "nothing went below unasked"
    );
    Blocking::open(&*device, &reactor).unwrap().flush().unwrap();
    assert_eq!(control.volatile_blocks(), 0);
    assert!(content(&below, &reactor) == expected);
}

#[test]
fn a_write_cache_works_over_a_file_in_real_time() {
    let folder = folder_on_disk();
    let path = folder.path().join("a.img");
    let file = new_file(&path, 1 << 20);
    let below = ContractCheck::over(Arc::new(
        FileDevice::new(file, &path, &FileOptions::default()).unwrap(),
    ));
    let delayed =
        FaultOptions { delay: Duration::from_micros(50), delay_probability: 0.2, ..volatile() };
    let (device, control) = faulty(&below, delayed);
    let reactor = Reactor::wall().unwrap();
    let expected = run_against_memory(&device, &reactor, 3, 60);
    control.crash(CrashPolicy::KeepAll, 0).unwrap();
    control.power_on().unwrap();
    assert!(std::fs::read(&path).unwrap() == expected);
}

#[test]
fn the_dice_follow_their_seed() {
    let failures = |seed| {
        let options =
            FaultOptions { seed, read_error: 0.1, write_error: 0.3, ..FaultOptions::default() };
        let (device, control) = faulty(&ram(1 << 20), options);
        let reactor = Reactor::virtual_clock();
        let mut channel = device.open(1, &reactor).unwrap();
        let failed: Vec<bool> = (0..1000)
            .map(|number| {
                run(
                    &mut *channel,
                    &reactor,
                    if number % 2 == 0 { read(0, 512) } else { write(512, &[1; 512]) },
                )
                .is_err()
            })
            .collect();
        let counts = control.counts();
        assert_eq!(
            failed.iter().filter(|failed| **failed).count() as u64,
            counts.read_errors + counts.write_errors
        );
        // 500 draws each: five standard deviations on both sides.
        assert!(
            (17..=83).contains(&counts.read_errors) && (99..=201).contains(&counts.write_errors),
            "seed {seed}: {counts:?}"
        );
        failed
    };
    assert_eq!(failures(1), failures(1));
    assert_ne!(failures(1), failures(2));
}

/// What a mishap does is exactly one thing, no error tells of it, and the owner gets its own bytes
/// back: with and without a write cache and a delay.
#[test]
fn a_mishap_changes_what_is_stored_or_read_and_answers_as_if_nothing_had_happened() {
    let late = FaultOptions { delay: Duration::from_millis(1), ..FaultOptions::default() };
    for kind in
        [FaultOptions::default(), volatile(), late.clone(), FaultOptions { volatile: true, ..late }]
    {
        let after = |options: FaultOptions| {
            let below = ram(64 << 10);
            let reactor = Reactor::virtual_clock();
            let (device, control) = faulty(&below, FaultOptions { seed: 5, ..options });
            let mut channel = device.open(1, &reactor).unwrap();
            channel.submit(Request::new(77, write(4096, &[0x55; 2048])));
            let written = finish(&mut *channel, &reactor).pop().unwrap();
            assert!(written.result.is_ok());
            let ReturnedBuffer::Written(own) = written.buffer else {
                panic!("a write's buffer comes back")
            };
            assert_eq!(own.as_slice().unwrap(), [0x55; 2048], "the owner's bytes are its own");
            channel.submit(Request::new(78, read(4096, 2048)));
            let ReturnedBuffer::Read(seen) = finish(&mut *channel, &reactor).pop().unwrap().buffer
            else {
                panic!("a read's buffer comes back")
            };
            let seen = bytes_of(&seen);
            assert_eq!(run(&mut *channel, &reactor, Op::Flush), Ok(()));
            (content(&below, &reactor), seen, control.counts())
        };
        let right: Vec<u8> =
            (0..64 << 10).map(|at| if (4096..6144).contains(&at) { 0x55 } else { 0 }).collect();
        let differing_bits = |one: &[u8], other: &[u8]| {
            one.iter().zip(other).map(|(one, other)| (one ^ other).count_ones()).sum::<u32>()
        };

        let (stored, seen, counts) = after(FaultOptions { read_flip: 1.0, ..kind.clone() });
        assert_eq!(
            (
                differing_bits(&stored, &right),
                differing_bits(&seen, &[0x55; 2048]),
                counts.flipped_reads
            ),
            (0, 1, 1)
        );
        let (stored, seen, counts) = after(FaultOptions { write_flip: 1.0, ..kind.clone() });
        assert_eq!(
            (
                differing_bits(&stored, &right),
                differing_bits(&seen, &[0x55; 2048]),
                counts.flipped_writes
            ),
            (1, 1, 1)
        );
        let (stored, seen, counts) = after(FaultOptions { write_lost: 1.0, ..kind.clone() });
        assert!(
            stored.iter().all(|byte| *byte == 0) && seen == [0; 2048] && counts.lost_writes == 1,
            "{counts:?}"
        );
        let (stored, seen, counts) = after(FaultOptions { write_misdirected: 1.0, ..kind.clone() });
        let place = stored.iter().position(|byte| *byte == 0x55).unwrap();
        assert!(
            place != 4096
                && place.is_multiple_of(512)
                && stored[place..place + 2048] == [0x55; 2048],
            "it is at {place}"
        );
        assert_eq!(
            (stored.iter().filter(|byte| **byte != 0).count(), counts.misdirected_writes),
            (2048, 1)
        );
        assert_ne!(seen, [0x55; 2048]);
    }
}

#[test]
fn mishaps_follow_their_seed_and_are_as_frequent_as_they_should_be() {
    let after = |seed| {
        let below = ram(1 << 20);
        let options = FaultOptions {
            seed,
            read_flip: 0.1,
            write_flip: 0.1,
            write_lost: 0.1,
            write_misdirected: 0.1,
            ..FaultOptions::default()
        };
        let (device, control) = faulty(&below, options);
        let reactor = Reactor::virtual_clock();
        let mut channel = device.open(1, &reactor).unwrap();
        for number in 0..1000 {
            assert_eq!(run(&mut *channel, &reactor, read(0, 512)), Ok(()));
            assert_eq!(run(&mut *channel, &reactor, write(number * 512, &[1; 512])), Ok(()));
        }
        let counts = control.counts();
        // 1000 draws each, a little fewer for those that come second and third: five standard
        // deviations on both sides.
        let all = [
            counts.flipped_reads,
            counts.flipped_writes,
            counts.lost_writes,
            counts.misdirected_writes,
        ];
        assert!(all.iter().all(|count| (35..=150).contains(count)), "seed {seed}: {counts:?}");
        (content(&below, &reactor), counts)
    };
    assert_eq!(after(1), after(1));
    assert_ne!(after(1), after(2));
}

#[test]
fn a_write_that_fails_writes_nothing() {
    let reactor = Reactor::virtual_clock();
    for options in [FaultOptions::default(), volatile()] {
        let below = ram(1 << 20);
        let (device, _) = faulty(&below, FaultOptions { write_error: 1.0, ..options });
        let mut channel = device.open(1, &reactor).unwrap();
        assert_eq!(run(&mut *channel, &reactor, write(0, &[1; 512])), Err(ErrorKind::Media));
        assert_eq!(run(&mut *channel, &reactor, Op::Flush), Ok(()));
        assert!(content(&device, &reactor).iter().all(|&byte| byte == 0));
    }
}

#[test]
fn a_bad_block_is_bad_until_it_is_written() {
    let reactor = Reactor::virtual_clock();
    for options in [FaultOptions::default(), volatile()] {
        let (device, control) = faulty(
            &ram(1 << 20),
            FaultOptions { bad: vec![BadRange { offset: 1000, length: 100 }], ..options },
        );
        let mut channel = device.open(1, &reactor).unwrap();
        for _ in 0..3 {
            assert_eq!(run(&mut *channel, &reactor, read(0, 4096)), Err(ErrorKind::Media));
        }
        assert_eq!(run(&mut *channel, &reactor, read(0, 512)), Ok(()));
        assert_eq!(run(&mut *channel, &reactor, read(2 * 512, 512)), Err(ErrorKind::Media));
        assert_eq!(run(&mut *channel, &reactor, write(512, &[1; 512])), Ok(()));
        assert_eq!(run(&mut *channel, &reactor, read(512, 512)), Ok(()));
        assert_eq!(
            run(&mut *channel, &reactor, read(0, 4096)),
            Err(ErrorKind::Media),
            "the other block is bad still"
        );
        assert_eq!(run(&mut *channel, &reactor, write(1024, &[1; 512])), Ok(()));
        assert_eq!(run(&mut *channel, &reactor, read(0, 4096)), Ok(()));
        control.make_bad(BadRange { offset: 0, length: 1 });
        assert_eq!(run(&mut *channel, &reactor, read(0, 512)), Err(ErrorKind::Media));
        assert_eq!(control.counts().read_errors, 6);
    }
}

#[test]
fn a_delay_takes_its_time_exactly_and_others_pass() {
    let reactor = Reactor::virtual_clock();
    for options in [FaultOptions::default(), volatile()] {
        let options = FaultOptions {
            delay: Duration::from_millis(10),
            delay_probability: 0.5,
            seed: 4,
            ..options
        };
        let (device, control) = faulty(&ram(1 << 20), options);
        let mut channel = device.open(64, &reactor).unwrap();
        let start = reactor.now();
        for tag in 0..64 {
            channel.submit(Request::new(
                tag,
                if tag % 2 == 0 { read(0, 512) } else { write(tag * 512, &[1; 512]) },
            ));
        }
        let mut done = Vec::new();
        channel.poll(&mut done);
        let delayed = control.counts().delayed;
        assert!(delayed > 0 && delayed < 64);
        assert_eq!(done.len() as u64, 64 - delayed);
        assert_eq!(finish(&mut *channel, &reactor).len() as u64, delayed);
        assert_eq!(reactor.now() - start, Duration::from_millis(10));
    }
}

#[test]
fn what_is_stuck_stays_in_flight_until_the_device_goes_or_comes_back() {
    let reactor = Reactor::virtual_clock();
    for comes_back in [true, false] {
        let (device, control) =
            faulty(&ram(1 << 20), FaultOptions { stuck_after: Some(2), ..FaultOptions::default() });
        let mut channel = device.open(8, &reactor).unwrap();
        for tag in 0..5 {
            channel.submit(Request::new(tag, read(0, 4096)));
        }
        let mut done = Vec::new();
        channel.poll(&mut done);
        assert_eq!((done.len(), channel.in_flight()), (2, 3));
        assert_eq!(reactor.wait(None).unwrap(), WakeReason::Idle);
        channel.poll(&mut done);
        assert_eq!((done.len(), channel.in_flight()), (2, 3));
        if comes_back {
            control.come_back();
        } else {
            control.vanish();
        }
        let ended = finish(&mut *channel, &reactor);
        assert_eq!(kinds(&ended), [Some(ErrorKind::Gone); 3]);
        assert!(ended.into_iter().all(|completion| completion.buffer.read().len() == 4096));
        let later = run(&mut *channel, &reactor, read(0, 512));
        assert_eq!(later, if comes_back { Ok(()) } else { Err(ErrorKind::Gone) });
        assert_eq!(control.counts().stuck, 3);
    }
}

#[test]
fn a_vanished_device_answers_gone_and_comes_back_with_everything() {
    let reactor = Reactor::virtual_clock();
    for options in [FaultOptions::default(), volatile()] {
        let (device, control) =
            faulty(&ram(1 << 20), FaultOptions { vanish_after: Some(1), ..options });
        let mut channel = device.open(2, &reactor).unwrap();
        assert_eq!(run(&mut *channel, &reactor, write(0, &[9; 512])), Ok(()));
        assert_eq!(run(&mut *channel, &reactor, read(0, 512)), Err(ErrorKind::Gone));
        assert_eq!(run(&mut *channel, &reactor, Op::Flush), Err(ErrorKind::Gone));
        assert_eq!(device.open(1, &reactor).err().unwrap().kind(), ErrorKind::Gone);
        assert_eq!(control.counts().gone, 2);
        control.come_back();
        channel.submit(Request::new(1, read(0, 512)));
        assert_eq!(
            bytes_of(&finish(&mut *channel, &reactor).pop().unwrap().buffer.read()),
            [9; 512]
        );
        assert_eq!(run(&mut *channel, &reactor, Op::Flush), Ok(()));
    }
}

#[test]
fn what_is_in_flight_when_it_vanishes_is_gone_with_its_buffers() {
    let reactor = Reactor::virtual_clock();
    let options = FaultOptions { delay: Duration::from_millis(1), ..FaultOptions::default() };
    let (device, control) = faulty(&ram(1 << 20), options);
    let mut channel = device.open(4, &reactor).unwrap();
    channel.submit(Request::new(1, read(0, 4096)));
    channel.submit(Request::new(2, write(0, &[1; 512])));
    channel.submit(Request::new(3, Op::Flush));
    control.vanish();
    let ended = finish(&mut *channel, &reactor);
    assert_eq!(kinds(&ended), [Some(ErrorKind::Gone); 3]);
    assert_eq!(reactor.now(), Time::ZERO, "nobody waits for a device that is gone");
    control.come_back();
    assert_eq!(run(&mut *channel, &reactor, read(0, 512)), Ok(()), "old timers do no harm");
}

#[test]
fn pulling_the_plug_wakes_an_owner_on_another_thread() {
    let (device, control) =
        faulty(&ram(1 << 20), FaultOptions { stuck_after: Some(0), ..FaultOptions::default() });
    let (told, tell) = std::sync::mpsc::channel();
    let owner = std::thread::spawn(move || {
        let reactor = Reactor::wall().unwrap();
        let mut channel = device.open(1, &reactor).unwrap();
        channel.submit(Request::new(1, read(0, 512)));
        told.send(()).unwrap();
        kinds(&finish(&mut *channel, &reactor))
    });
    tell.recv().unwrap();
    control.vanish();
    assert_eq!(owner.join().unwrap(), [Some(ErrorKind::Gone)]);
}

#[test]
fn a_flush_that_failed_goes_on_failing_until_power_on() {
    let reactor = Reactor::virtual_clock();
    for options in [FaultOptions::default(), volatile()] {
        let (device, control) = faulty(&ram(1 << 20), options);
        let mut channel = device.open(1, &reactor).unwrap();
        let mut other = device.open(1, &reactor).unwrap();
        run(&mut *channel, &reactor, write(0, &[1; 512])).unwrap();
        control.fail_request(1);
        assert_eq!(run(&mut *channel, &reactor, Op::Flush), Err(ErrorKind::Media));
        assert_eq!(run(&mut *channel, &reactor, Op::Flush), Err(ErrorKind::Media));
        assert_eq!(run(&mut *other, &reactor, Op::Flush), Err(ErrorKind::Media));
        assert_eq!(run(&mut *other, &reactor, write_durable(0, &[1; 512])), Err(ErrorKind::Media));
        assert_eq!(run(&mut *other, &reactor, read(0, 512)), Ok(()));
        assert_eq!(control.counts().flush_errors, 4);
        control.crash(CrashPolicy::KeepNone, 0).unwrap();
        control.power_on().unwrap();
        let mut reopened = device.open(1, &reactor).unwrap();
        assert_eq!(run(&mut *reopened, &reactor, Op::Flush), Ok(()));
    }
}

#[test]
fn a_flush_fails_when_the_device_below_fails_it() {
    let reactor = Reactor::virtual_clock();
    for broken in [
        FaultOptions { write_error: 1.0, ..FaultOptions::default() },
        FaultOptions { flush_error: 1.0, ..FaultOptions::default() },
    ] {
        let (below, _) = faulty(&ram(1 << 20), broken);
        let (device, control) = faulty(&below, volatile());
        let mut channel = device.open(1, &reactor).unwrap();
        assert_eq!(run(&mut *channel, &reactor, write(0, &[1; 512])), Ok(()), "the cache takes it");
        assert_eq!(run(&mut *channel, &reactor, Op::Flush), Err(ErrorKind::Media));
        assert_eq!(run(&mut *channel, &reactor, Op::Flush), Err(ErrorKind::Media));
        assert_eq!(control.volatile_blocks(), 1, "nothing became durable");
    }
}

#[test]
fn after_a_crash_old_channels_are_dead_and_new_ones_need_power() {
    let reactor = Reactor::virtual_clock();
    let (device, control) = faulty(&ram(1 << 20), volatile());
    let mut channel = device.open(2, &reactor).unwrap();
    run(&mut *channel, &reactor, write(0, &[1; 512])).unwrap();
    control.crash(CrashPolicy::KeepAll, 0).unwrap();
    assert_eq!(run(&mut *channel, &reactor, Op::Flush), Err(ErrorKind::Gone));
    assert_eq!(device.open(1, &reactor).err().unwrap().kind(), ErrorKind::Gone);
    control.come_back();
    assert_eq!(
        device.open(1, &reactor).err().unwrap().kind(),
        ErrorKind::Gone,
        "power is not a cable"
    );
    control.power_on().unwrap();
    assert_eq!(
        run(&mut *channel, &reactor, Op::Flush),
        Err(ErrorKind::Gone),
        "its owner has to learn of the crash"
    );
    let mut channel = device.open(2, &reactor).unwrap();
    assert_eq!(run(&mut *channel, &reactor, Op::Flush), Ok(()));
}

/// One crash after random writes, flushes and FUA writes; what the device held for each block since
/// it was last durable.
struct Crashed {
    /// For each block the legal contents: the last durable one, then every later version. A content
    /// is its first byte repeated, so that a torn block shows.
    legal: Vec<BTreeSet<u8>>,
    found: Vec<Vec<u8>>,
    report: CrashReport,
}

impl Crashed {
    /// The first block that holds what it must not.
    fn violation(&self) -> Option<String> {
        self.found.iter().zip(&self.legal).enumerate().find_map(|(block, (found, legal))| {
            let torn = found.iter().any(|byte| byte != &found[0]);
            (torn || !legal.contains(&found[0])).then(|| {
                format!("block {block} holds {:?}, torn {torn}, legal are {legal:?}", found[0])
            })
        })
    }
}

fn crash_once(options: FaultOptions, policy: CrashPolicy, seed: u64) -> Crashed {
    const BLOCKS: u64 = 24;
    let reactor = Reactor::virtual_clock();
    let below = ram(BLOCKS * BLOCK);
    let (device, control) = faulty(&below, options);
    let mut random = Random::with_seed(seed);
    let mut channels = [device.open(4, &reactor).unwrap(), device.open(4, &reactor).unwrap()];
    let mut legal = vec![BTreeSet::from([0]); BLOCKS as usize];
    let mut newest = vec![0; BLOCKS as usize];
    for number in 1..=60_u8 {
        let channel = &mut *channels[random.usize(0..2)];
        let length = random.u64(1..=4);
        let first = random.u64(0..=BLOCKS - length);
        let blocks = first as usize..(first + length) as usize;
        let bytes = vec![number; (length * BLOCK) as usize];
        match random.u32(0..10) {
            0 => {
                run(channel, &reactor, Op::Flush).unwrap();
                legal
                    .iter_mut()
                    .zip(&newest)
                    .for_each(|(legal, newest)| *legal = BTreeSet::from([*newest]));
            }
            1 => {
                run(channel, &reactor, write_durable(first * BLOCK, &bytes)).unwrap();
                legal[blocks.clone()].fill(BTreeSet::from([number]));
                newest[blocks].fill(number);
            }
            _ => {
                run(channel, &reactor, write(first * BLOCK, &bytes)).unwrap();
                legal[blocks.clone()].iter_mut().for_each(|legal| {
                    legal.insert(number);
                });
                newest[blocks].fill(number);
            }
        }
    }
    // One more is under way.
    let last = vec![99; 3 * BLOCK as usize];
    channels[0].submit(Request::new(1, write(BLOCK, &last)));
    legal[1..4].iter_mut().for_each(|legal| {
        legal.insert(99);
    });
    let report = control.crash(policy, seed).unwrap();
    let found = content(&below, &reactor);
    finish(&mut *channels[0], &reactor);
    control.power_on().unwrap();
    assert!(
        content(&device, &reactor) == found && content(&device, &reactor) == found,
        "seed {seed}: what is found is fixed"
    );
    Crashed { legal, found: found.chunks(BLOCK as usize).map(<[u8]>::to_vec).collect(), report }
}

const POLICIES: [CrashPolicy; 4] = [
    CrashPolicy::KeepNone,
    CrashPolicy::KeepAll,
    CrashPolicy::Random(0.5),
    CrashPolicy::Random(0.9),
];

// "What a crash may lose: any subset of the sectors of writes not yet made durable; a sector
// (logical block) is never torn; nothing durable is ever lost."
#[test]
fn a_crash_leaves_each_block_one_of_its_versions_since_it_was_durable() {
    let mut sum = CrashReport::default();
    for seed in 0..150 {
        for policy in POLICIES {
            let late = FaultOptions {
                delay: Duration::from_micros(5),
                delay_probability: 0.3,
                seed,
                ..volatile()
            };
            for options in [volatile(), late] {
                let crashed = crash_once(options, policy, seed);
                assert_eq!(crashed.violation(), None, "seed {seed}, {policy:?}");
                let report = crashed.report;
                assert_eq!(
                    report.volatile_blocks,
                    report.newest_blocks + report.older_blocks + report.lost_blocks
                );
                if policy == CrashPolicy::KeepNone {
                    assert_eq!(report.lost_blocks, report.volatile_blocks);
                }
                sum.newest_blocks += report.newest_blocks;
                sum.older_blocks += report.older_blocks;
                sum.lost_blocks += report.lost_blocks;
                assert_eq!(report.shorn_blocks, 0);
            }
        }
    }
    assert!(
        sum.newest_blocks > 0 && sum.older_blocks > 0 && sum.lost_blocks > 0,
        "all three kinds occur: {sum:?}"
    );
}

#[test]
fn the_two_dishonest_drives_are_caught() {
    let caught = |options: &FaultOptions| {
        (0..50)
            .filter(|&seed| {
                crash_once(options.clone(), CrashPolicy::Random(0.5), seed).violation().is_some()
            })
            .count()
    };
    assert!(
        caught(&FaultOptions { lying_flush: true, ..volatile() }) > 25,
        "a flush that does nothing loses what was durable"
    );
    assert!(
        caught(&FaultOptions { shorn: true, ..volatile() }) > 25,
        "a torn block is no version of it"
    );
}

#[test]
fn a_crash_without_a_write_cache_touches_only_what_was_in_flight() {
    let reactor = Reactor::virtual_clock();
    let mut outcomes = BTreeSet::new();
    for seed in 0..40 {
        let below = ram(8 * BLOCK);
        let options = FaultOptions { delay: Duration::from_millis(1), ..FaultOptions::default() };
        let (device, control) = faulty(&below, options);
        let mut channel = device.open(2, &reactor).unwrap();
        run(&mut *channel, &reactor, write(0, &[1; 8 * BLOCK as usize])).unwrap();
        channel.submit(Request::new(1, write(2 * BLOCK, &[2; 2 * BLOCK as usize])));
        control.crash(CrashPolicy::Random(0.5), seed).unwrap();
        let found = content(&below, &reactor);
        assert_eq!(kinds(&finish(&mut *channel, &reactor)), [Some(ErrorKind::Gone)]);
        assert!(content(&below, &reactor) == found, "seed {seed}: nothing lands after the crash");
        let firsts: Vec<u8> = found.chunks(BLOCK as usize).map(|block| block[0]).collect();
        assert!(
            found.chunks(BLOCK as usize).all(|block| block.iter().all(|byte| byte == &block[0])),
            "seed {seed}: torn inside a block"
        );
        assert!(
            firsts[..2].iter().chain(&firsts[4..]).all(|&byte| byte == 1),
            "seed {seed}: {firsts:?}"
        );
        outcomes.insert((firsts[2], firsts[3]));
    }
    assert_eq!(
        outcomes,
        BTreeSet::from([(1, 1), (1, 2), (2, 1), (2, 2)]),
        "blocks land or not, each by itself"
    );
}

#[test]
fn a_crash_in_the_middle_of_a_flush_is_settled_once_and_for_all() {
    let reactor = Reactor::virtual_clock();
    for seed in 0..30 {
        let floor = ram(2048 * BLOCK);
        let (slow, _) = faulty(
            &floor,
            FaultOptions { delay: Duration::from_millis(1), ..FaultOptions::default() },
        );
        let (device, control) = faulty(&slow, volatile());
        let mut channel = device.open(4, &reactor).unwrap();
        // Two runs of blocks apart, so that the flush has several pieces.
        channel.submit(Request::new(1, write(0, &[1; 8 * BLOCK as usize])));
        channel.submit(Request::new(2, write(1024 * BLOCK, &[1; 8 * BLOCK as usize])));
        finish(&mut *channel, &reactor);
        channel.submit(Request::new(3, Op::Flush));
        let mut done = Vec::new();
        if seed % 2 == 1 {
            // The first piece is through.
            reactor.wait(None).unwrap();
            channel.poll(&mut done);
        }
        channel.submit(Request::new(4, write(0, &[2; BLOCK as usize])));
        let report = control.crash(CrashPolicy::Random(0.5), seed).unwrap();
        assert_eq!((report.volatile_blocks, report.landing_blocks), (16, 8), "seed {seed}");
        assert_eq!(
            control.power_on().unwrap_err().kind(),
            ErrorKind::Busy,
            "a write of before could land later"
        );
        let ended = finish(&mut *channel, &reactor);
        assert!(
            ended.iter().any(|completion| completion.tag == 3 && completion.result.is_err()),
            "the flush never succeeded"
        );
        let first = content(&floor, &reactor);
        control.power_on().unwrap();
        assert!(content(&device, &reactor) == first, "seed {seed}: what is found is fixed");
        for (block, bytes) in first.chunks(BLOCK as usize).enumerate() {
            let legal: &[u8] = if block == 0 { &[0, 1, 2] } else { &[0, 1] };
            assert!(
                legal.contains(&bytes[0]) && bytes.iter().all(|byte| byte == &bytes[0]),
                "seed {seed}, block {block}"
            );
        }
    }
}

#[test]
fn durable_writes_and_flushes_of_several_threads_all_hold() {
    let below = ram(64 * BLOCK);
    let (device, control) = faulty(&below, volatile());
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let device = Arc::clone(&device);
            scope.spawn(move || {
                let reactor = Reactor::virtual_clock();
                let mut channel = device.open(4, &reactor).unwrap();
                for round in 1..=100_u8 {
                    for block in (thread..64).step_by(4) {
                        let bytes = [round; BLOCK as usize];
                        let op = if round % 2 == 0 {
                            write(block * BLOCK, &bytes)
                        } else {
                            write_durable(block * BLOCK, &bytes)
                        };
                        run(&mut *channel, &reactor, op).unwrap();
                    }
                    run(&mut *channel, &reactor, Op::Flush).unwrap();
                }
            });
        }
    });
    control.crash(CrashPolicy::KeepNone, 0).unwrap();
    assert!(content(&below, &Reactor::virtual_clock()).iter().all(|&byte| byte == 100));
}

#[test]
fn a_channel_that_goes_in_the_middle_of_a_flush_leaves_no_false_promise() {
    let reactor = Reactor::virtual_clock();
    let (slow, _) = faulty(
        &ram(64 * BLOCK),
        FaultOptions { delay: Duration::from_millis(1), ..FaultOptions::default() },
    );
    let (device, _) = faulty(&slow, volatile());
    let mut channel = device.open(1, &reactor).unwrap();
    run(&mut *channel, &reactor, write(0, &[1; 512])).unwrap();
    channel.submit(Request::new(1, Op::Flush));
    drop(channel);
    let mut other = device.open(1, &reactor).unwrap();
    assert_eq!(run(&mut *other, &reactor, Op::Flush), Err(ErrorKind::Media));
}

#[test]
fn any_one_request_can_be_made_to_fail() {
    let reactor = Reactor::virtual_clock();
    for failing in 0..6 {
        let (device, control) = faulty(&ram(1 << 20), FaultOptions::default());
        control.fail_request(failing);
        let mut channel = device.open(1, &reactor).unwrap();
        let failed: Vec<u64> =
            (0..6).filter(|_| run(&mut *channel, &reactor, read(0, 512)).is_err()).collect();
        assert_eq!(failed, [failing]);
    }
}

#[test]
fn the_description_names_what_is_switched_on() {
    let options = FaultOptions {
        seed: 7,
        read_error: 0.01,
        write_error: 0.25,
        flush_error: 1.0,
        read_flip: 0.125,
        write_flip: 0.5,
        write_lost: 0.75,
        write_misdirected: 1.0,
        bad: vec![BadRange { offset: 4096, length: 1 << 20 }, BadRange { offset: 0, length: 100 }],
        delay: Duration::from_micros(1500),
        delay_probability: 0.5,
        stuck_after: Some(9),
        vanish_after: Some(0),
        volatile: true,
        lying_flush: true,
        shorn: true,
    };
    let (device, _) = faulty(&ram(2 << 20), options);
    let expected = "fault(seed=7, read_error=0.01, write_error=0.25, flush_error=1, \
        read_flip=0.125, write_flip=0.5, \
                    write_lost=0.75, write_misdirected=1, bad=4KiB+1MiB;0+100, delay=1500us, \
                    delay_probability=0.5, stuck_after=9, vanish_after=0, volatile=yes, lie=flush, \
                    shorn=yes, ram:2MiB)";
    assert_eq!(device.describe().to_string(), expected);
}

#[test]
fn options_out_of_range_are_refused() {
    let refusal = |options| FaultDevice::new(ram(1 << 20), options).err().unwrap().to_string();
    let text = refusal(FaultOptions { read_error: 1.5, ..FaultOptions::default() });
    assert_eq!(text, "fault: read_error=1.5 is no probability; give a number from 0 to 1");
    let text = refusal(FaultOptions { delay_probability: f64::NAN, ..FaultOptions::default() });
    assert_eq!(text, "fault: delay_probability=NaN is no probability; give a number from 0 to 1");
    let text = refusal(FaultOptions {
        bad: vec![BadRange { offset: 1 << 20, length: 1 }],
        ..FaultOptions::default()
    });
    assert_eq!(text, "fault: bad=1048576+1 is no range within the 1048576 bytes of the device");
}

#[test]
fn reads_of_a_rope_find_what_the_cache_holds() {
    let reactor = Reactor::virtual_clock();
    let (device, _) = faulty(&ram(64 * BLOCK), volatile());
    let mut channel = device.open(1, &reactor).unwrap();
    run(&mut *channel, &reactor, write(3 * BLOCK, &[3; 2 * BLOCK as usize])).unwrap();
    channel.submit(Request::new(
        1,
        Op::Read { offset: BLOCK, into: common::rope(&[1; 6 * 512], 5, 512) },
    ));
    let ReturnedBuffer::Read(buffer) = finish(&mut *channel, &reactor).pop().unwrap().buffer else {
        panic!("no buffer")
    };
    assert_eq!(bytes_of(&buffer), [vec![0; 1024], vec![3; 1024], vec![0; 1024]].concat());
}

//! On the wall clock: the host on one thread, the scheduler on another, and a third that pulls
//! members out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use array::sync::{Ending, NewDevice, Notice, SyncAction, SyncScheduler};
use array::{ArrayDevice, MemberState, ParityLayout};
use block::{Blocking, Device, Op, Reactor, Request, ReturnedBuffer};
use reactor::{Random, WakeReason};
use testkit::Memory;

use super::bench::LIVELY;
use crate::common::bytes;

const MEMBER: u64 = 1 << 20;
const CHUNK: u64 = 4096;

/// A block that says when it was written and where.
fn stamp(offset: u64, version: u64) -> [u8; 512] {
    let mut block = [0; 512];
    for (at, word) in block.chunks_mut(8).enumerate() {
        word.copy_from_slice(&(offset ^ version.rotate_left(32) ^ at as u64).to_le_bytes());
    }
    block
}

/// Writes and reads back until it is told to stop; every block it reads is the one it wrote last.
fn host(array: &dyn Device, seed: u64, stop: &AtomicBool) -> Vec<u64> {
    let reactor = Reactor::wall().expect("an io_uring");
    let mut channel = array.open(8, &reactor).expect("a channel");
    let mut random = Random::with_seed(seed);
    let blocks = array.info().size_bytes / 512;
    let mut versions = vec![0; blocks as usize];
    let mut done = Vec::new();
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        // Requests of one round do not meet.
        let share = blocks / 8;
        let mut expected = [None; 8];
        for tag in 0..8 {
            let block = tag * share + random.u64(0..share);
            if random.bool() {
                versions[block as usize] = round;
                let mut from = block::BufMut::zeroed(512);
                from.copy_from_slice(&stamp(block, round));
                channel.submit(Request::new(
                    tag,
                    Op::Write { offset: block * 512, from: from.freeze(), fua: false },
                ));
            } else {
                expected[tag as usize] = Some((block, versions[block as usize]));
                channel.submit(Request::new(
                    tag,
                    Op::Read { offset: block * 512, into: block::BufMut::zeroed(512) },
                ));
            }
        }
        let deadline = reactor.now() + Duration::from_secs(60);
        loop {
            channel.poll(&mut done);
            if channel.in_flight() == 0 {
                break;
            }
            assert_ne!(
                reactor.wait(Some(deadline)).expect("the ring works"),
                WakeReason::Deadline,
                "a request is not answered"
            );
        }
        for completion in done.drain(..) {
            completion.result.expect("there is redundancy enough");
            if let (Some((block, version)), ReturnedBuffer::Read(buffer)) =
                (expected[completion.tag as usize], completion.buffer)
            {
                assert!(
                    buffer.as_slice().expect("one piece") == stamp(block, version),
                    "seed {seed}: block {block} of round {round}"
                );
            }
        }
    }
    versions
}

fn memory() -> Arc<dyn Device> {
    Arc::new(Memory::new(MEMBER))
}

#[test]
fn members_are_rebuilt_on_one_thread_while_another_writes() {
    let memories: Vec<Arc<Memory>> = (0..5).map(|_| Arc::new(Memory::new(MEMBER))).collect();
    let members =
        memories.iter().map(|memory| Some(Arc::clone(memory) as Arc<dyn Device>)).collect();
    let array = ArrayDevice::raid6(members, CHUNK, ParityLayout::LeftSymmetric).expect("an array");
    let mut channel = Blocking::open(&array, &Reactor::virtual_clock()).expect("a channel");
    for block in 0..array.info().size_bytes / 512 {
        channel.write_slice(block * 512, &stamp(block, 0)).expect("written");
    }
    drop(channel);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| host(&array, 5, &stop));
        let keeping = scope.spawn(|| {
            // However this ends, the writer does too.
            let _end = Ends(&stop);
            let reactor = Reactor::wall().expect("an io_uring");
            let control = array.control();
            let mut scheduler = SyncScheduler::open(&control, &reactor).expect("a scheduler");
            scheduler.set_limits(array::sync::Limits { range_bytes: 64 << 10, ..LIVELY });
            let (mut rebuilt, mut replaced, mut checked) = (0, 0, 0);
            let mut random = Random::with_seed(6);
            for round in 0..12 {
                let member = random.usize(0..5);
                match round % 3 {
                    0 => {
                        control.replace(member, NewDevice::whole(memory())).expect("it is in sync");
                    }
                    1 => scheduler.ask(SyncAction::Check(None)).expect("a check"),
                    _ => {
                        control.add(NewDevice::whole(memory())).expect("it fits");
                        control.fail(member).expect("it may go");
                    }
                }
                let deadline = reactor.now() + Duration::from_secs(60);
                while !scheduler.is_idle() {
                    if let Some(notice) = scheduler.poll() {
                        let Notice::Ended(outcome) = notice else { continue };
                        assert!(matches!(outcome.ending, Ending::Done), "{outcome:?}");
                        assert_eq!(outcome.progress.findings.differing_sectors, 0, "{outcome:?}");
                        match outcome.progress.action {
                            SyncAction::Rebuild { .. } => rebuilt += 1,
                            SyncAction::Replace { .. } => replaced += 1,
                            _ => checked += 1,
                        }
                    } else if !scheduler.is_idle() {
                        assert_ne!(
                            reactor.wait(Some(deadline)).expect("the ring works"),
                            WakeReason::Deadline,
                            "{:?}",
                            scheduler.progress()
                        );
                    }
                }
            }
            assert_eq!((rebuilt, replaced, checked), (4, 4, 4));
            assert_eq!(control.snapshot().members, [MemberState::InSync; 5]);
        });
        keeping.join().expect("the scheduler does its work");
        let versions = writer.join().expect("the writer finds what it wrote");
        let data = bytes(&array);
        for (block, version) in (0..).zip(&versions) {
            assert!(data[block as usize * 512..][..512] == stamp(block, *version), "block {block}");
        }
    });
    // Parity too: without any two members it reads the same.
    let data = bytes(&array);
    for pair in [[0, 1], [2, 4], [1, 3]] {
        pair.iter().for_each(|&member| array.control().fail(member).expect("it may go"));
        assert!(bytes(&array) == data, "without {pair:?}");
        pair.iter().for_each(|_| array.control().add(NewDevice::whole(memory())).expect("it fits"));
        super::bench::keep(&array.control(), &[]).expect("rebuilt");
    }
}

/// Stops the others when it goes.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A scheduler that sleeps is rung when a member fails on another thread.
#[test]
fn a_scheduler_that_sleeps_is_woken_by_a_failure() {
    let array = ArrayDevice::raid1(vec![Some(memory()), Some(memory())]).expect("an array");
    let control = array.control();
    control.add(NewDevice::whole(memory())).expect("it fits");
    let reactor = Reactor::wall().expect("an io_uring");
    let mut scheduler = SyncScheduler::open(&control, &reactor).expect("a scheduler");
    assert!(scheduler.poll().is_none());
    let other = control.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || other.fail(1).expect("it may go"));
        let deadline = reactor.now() + Duration::from_secs(60);
        while control.snapshot().absent().count() == 0 {
            assert_ne!(
                reactor.wait(Some(deadline)).expect("the ring works"),
                WakeReason::Deadline,
                "nobody rang"
            );
        }
    });
    assert!(matches!(scheduler.poll(), Some(Notice::SpareAssigned { member: 1, .. })));
}

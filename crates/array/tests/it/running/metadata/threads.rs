//! Two threads write and rest, each on a reactor of its own, while a third calls the array clean
//! whenever they do.

#![expect(clippy::print_stdout, reason = "says with what seed it ran and what it found")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use array::metadata::StartOptions;
use block::{ContractCheck, Device, Reactor, Request};
use reactor::{Random, WakeReason};
use testkit::Memory;

use super::bench::{Shape, assembly, checked, scrub, started};
use crate::common::write;

/// Writes in bursts, and rests between them.
fn write_and_rest(device: &dyn Device, seed: u64) {
    let reactor = Reactor::wall().expect("an io_uring");
    let mut channel = device.open(8, &reactor).expect("a channel");
    let mut random = Random::with_seed(seed);
    let mut ended = Vec::new();
    for round in 0..6_u64 {
        for burst in 0..20_u64 {
            for tag in 0..8 {
                let offset = random.u64(0..32) * 512;
                channel.submit(Request::new(
                    tag,
                    write(offset, random.u64(1..=8) * 512, (round + burst) as u8),
                ));
            }
            let patience = reactor.now() + Duration::from_secs(60);
            while channel.in_flight() > 0 {
                channel.poll(&mut ended);
                if channel.in_flight() > 0 {
                    let woken = reactor.wait(Some(patience)).expect("the ring works");
                    assert_ne!(
                        woken,
                        WakeReason::Deadline,
                        "thread {seed}: nobody wrote the record"
                    );
                }
            }
            assert!(ended.drain(..).all(|completion| completion.result.is_ok()));
        }
        // Long enough for the array to be called clean, or nearly.
        let rest = reactor.now() + Duration::from_millis(random.u64(150..600));
        while reactor.wait(Some(rest)).expect("the ring works") != WakeReason::Deadline {}
    }
}

fn hammer(shape: &Shape) {
    let members = shape.make(|_, info| Memory::with(info));
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let device = ContractCheck::over(Arc::new(array.clone()) as Arc<dyn Device>);
    let done = AtomicBool::new(false);
    let cleaned = std::thread::scope(|scope| {
        let metadata_writer = scope.spawn(|| {
            let reactor = Reactor::wall().expect("an io_uring");
            let mut metadata_writer =
                array.metadata_writer(&reactor).expect("a bell").expect("a metadata writer");
            let (mut was_active, mut cleaned) = (false, 0);
            while !done.load(Ordering::Acquire) {
                metadata_writer.poll();
                let is_active = array.status().is_active;
                cleaned += u32::from(was_active && !is_active);
                was_active = is_active;
                reactor
                    .wait(Some(reactor.now() + Duration::from_millis(20)))
                    .expect("the ring works");
            }
            cleaned
        });
        let writers: Vec<_> = (0..2)
            .map(|seed| {
                let device = &device;
                scope.spawn(move || write_and_rest(&**device, seed))
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        done.store(true, Ordering::Release);
        metadata_writer.join().expect("the metadata writer")
    });
    println!("{:?}: clean {cleaned} times", shape.level);
    assert!(cleaned > 0, "{shape:?}: it was never called clean");
    array.stop(&Reactor::wall().expect("an io_uring")).expect("stopped");
    let (whole, _) = assembly(&checked(&members));
    assert!(whole.clean && whole.degraded_count() == 0 && whole.left_out.is_empty(), "{whole:?}");
    let again = started(&checked(&members), &StartOptions::default()).expect("an array");
    assert_eq!(scrub(&again), Ok(()), "{shape:?}");
}

#[test]
fn requests_and_a_metadata_writer_on_threads_of_their_own() {
    hammer(&Shape::with_bitmap(Shape::raid1));
    hammer(&Shape::with_bitmap(Shape::raid6));
    hammer(&Shape::raid5(array::md::Consistency::Ppl));
}

//! What caches are for, on the virtual clock: the same times on every machine.

use std::sync::Arc;
use std::time::Duration;

use block::{BufMut, Device, Op, Reactor, Request};
use reactor::Random;
use stack::{BuildContext, NoFiles, parse_and_build};

/// How long it takes until `count` random writes of 4 KiB are answered, so many at a time, and then
/// until a flush is.
fn write_randomly(text: &str, count: u64, depth: u32, seed: u64) -> (Duration, Duration) {
    let context = BuildContext { seed, emulate: true, ..BuildContext::new(&NoFiles) };
    let device: Arc<dyn Device> = parse_and_build(text, &context).expect(text).device;
    let reactor = Reactor::virtual_clock();
    let mut channel = device.open(depth, &reactor).expect("a channel");
    let mut random = Random::with_seed(seed);
    let blocks = device.info().size_bytes / 4096;
    let mut done = Vec::new();
    let mut run = |ops: &mut dyn Iterator<Item = Op>| {
        let start = reactor.now();
        let mut tag = 0;
        let mut ops = ops.peekable();
        while ops.peek().is_some() || channel.in_flight() > 0 {
            while channel.in_flight() < depth
                && let Some(op) = ops.next()
            {
                tag += 1;
                channel.submit(Request::new(tag, op));
            }
            channel.poll(&mut done);
            if done.is_empty() {
                reactor.wait(None).expect("a virtual clock");
            }
            done.drain(..).for_each(|completion| completion.result.expect("a write"));
        }
        reactor.now() - start
    };
    let data = BufMut::zeroed(4096).freeze();
    let writes = run(&mut (0..count).map(|_| Op::Write {
        offset: random.u64(..blocks) * 4096,
        from: data.clone(),
        fua: false,
    }));
    (writes, run(&mut std::iter::once(Op::Flush)))
}

const DISK: &str = "model:maxtor-6y200p0";

#[test]
fn write_back_answers_random_writes_many_times_faster_than_the_disk_and_writes_them_out_faster_too()
{
    for seed in 0..3 {
        // More than the disk's own cache takes, and less than half of ours.
        let (count, depth) = (4000, 4);
        let (through, through_flush) = write_randomly(
            &format!("cache(mode=write-through, ram:64MiB, {DISK})"),
            count,
            depth,
            seed,
        );
        let (back, back_flush) = write_randomly(
            &format!("cache(mode=write-back, ram:64MiB, {DISK})"),
            count,
            depth,
            seed,
        );
        println!(
            "seed {seed}: through {through:?} + {through_flush:?}, back {back:?} + {back_flush:?}"
        );
        assert!(through >= 5 * back, "answered: {through:?} through, {back:?} back (seed {seed})");
        let (arrival, address) = (through + through_flush, back + back_flush);
        assert!(
            arrival >= 2 * address,
            "on the disk: {arrival:?} in order of arrival, {address:?} in address order (seed \
            {seed})"
        );
    }
}

#[test]
fn beyond_the_cache_writes_go_at_the_pace_of_the_write_out() {
    for seed in 0..3 {
        let (count, depth) = (6000, 4);
        let (through, through_flush) = write_randomly(
            &format!("cache(mode=write-through, ram:8MiB, {DISK})"),
            count,
            depth,
            seed,
        );
        let (back, back_flush) = write_randomly(
            &format!("cache(mode=write-back, ram:8MiB, {DISK})"),
            count,
            depth,
            seed,
        );
        println!(
            "seed {seed}: through {through:?} + {through_flush:?}, back {back:?} + {back_flush:?}"
        );
        assert!(
            back + back_flush < through + through_flush,
            "{back:?} + {back_flush:?} (seed {seed})"
        );
    }
}

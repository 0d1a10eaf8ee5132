use std::cell::Cell;
use std::sync::Arc;

use super::*;
use crate::known::{VerifiedContent, WriteLedger};
use crate::memory::{Fault, Memory};

const MEBIBYTE: u64 = 1 << 20;

fn count(operations: u64) -> Load {
    Load { operations: Some(operations), ..Load::default() }
}

fn unverified(
    device: &Arc<dyn Device>,
    load: &Load,
    requests: &mut impl Requests,
) -> Result<Sample, Error> {
    run(
        &**device,
        &Reactor::virtual_clock(),
        load,
        requests,
        &mut UnverifiedContent::Random,
        &mut Hooks::default(),
    )
}

fn reads(length: u32) -> Sequential {
    Sequential::new(Direction::Read, 0, MEBIBYTE, length)
}

#[test]
fn counts_exactly_and_wraps_at_the_end_of_the_range() {
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    let mut requests = Sequential::new(Direction::Write, 4096, 3 * 512 + 100, 512);
    let sample = unverified(&device, &count(7), &mut requests).unwrap();
    assert_eq!((sample.write.operations, sample.write.bytes), (7, 7 * 512));
    assert_eq!((sample.read.operations, sample.read.bytes), (0, 0));
    assert_eq!((sample.errors, sample.stopped, sample.cpu_seconds), (0, false, None));
    // One after the other, each of 10 us.
    assert_eq!(sample.elapsed, Duration::from_micros(70));
    let offsets: Vec<u64> = memory.log().iter().map(|(_, offset, _)| *offset).collect();
    assert_eq!(offsets, [4096, 4608, 5120, 4096, 4608, 5120, 4096]);
}

#[test]
fn ends_by_bytes_by_time_and_by_the_source() {
    let (device, _) = Memory::new(MEBIBYTE).shared();
    let bytes = Load { bytes: Some(10_000), ..Load::default() };
    assert_eq!(unverified(&device, &bytes, &mut reads(4096)).unwrap().bytes(), 3 * 4096);
    let time = Load { time: Some(Duration::from_millis(1)), ..Load::default() };
    let sample = unverified(&device, &time, &mut reads(4096)).unwrap();
    assert_eq!((sample.operations(), sample.elapsed), (100, Duration::from_millis(1)));
    let mut short = crate::known::Cover::new(Direction::Read, vec![(0, 8192)], 4096);
    assert_eq!(unverified(&device, &Load::default(), &mut short).unwrap().operations(), 2);
    let mut none = crate::known::Cover::new(Direction::Read, Vec::new(), 4096);
    let sample = unverified(&device, &Load::default(), &mut none).unwrap();
    assert_eq!((sample.operations(), sample.elapsed), (0, Duration::ZERO));
    assert_eq!(unverified(&device, &count(0), &mut reads(512)).unwrap().operations(), 0);
}

#[test]
fn keeps_exactly_depth_requests_outstanding() {
    for depth in [1_u32, 2, 32] {
        let (device, memory) = Memory::new(MEBIBYTE).shared();
        let sample = unverified(&device, &Load { depth, ..count(1000) }, &mut reads(512)).unwrap();
        assert_eq!(memory.most_in_flight(), depth as usize);
        assert_eq!(sample.operations(), 1000);
        // All requests of a round end together.
        assert_eq!(sample.elapsed, Duration::from_micros(10) * 1000_u32.div_ceil(depth));
    }
}

#[test]
fn a_request_that_takes_long_does_not_hold_up_the_others() {
    let slow_first =
        |number| if number == 0 { Duration::from_millis(10) } else { Duration::from_micros(10) };
    let (device, _) = Memory::new(MEBIBYTE).delayed(slow_first).shared();
    let sample = unverified(&device, &Load { depth: 2, ..count(501) }, &mut reads(512)).unwrap();
    assert_eq!(sample.elapsed, Duration::from_millis(10));
    assert_eq!(sample.read.latency.max_seconds(), 0.01);
    let median = sample.read.latency.quantile_seconds(0.5);
    assert!((1e-5..1.001e-5).contains(&median), "{median}");
}

#[test]
fn uniform_places_are_blocks_inside_the_device_and_reach_both_ends() {
    for (length, block, size) in
        [(512, 512, 8 * 512), (16384, 512, 16384 + 3 * 512), (65536, 4096, 65536 + 2 * 4096)]
    {
        let mut requests = Uniform::new(Direction::Read, size, block, length, 3);
        let mut seen = vec![0_u32; ((size - u64::from(length)) / u64::from(block) + 1) as usize];
        for _ in 0..1000 {
            let access = requests.next().unwrap();
            assert_eq!((access.offset % u64::from(block), access.length), (0, length));
            seen[(access.offset / u64::from(block)) as usize] += 1;
        }
        let fair = 1000 / seen.len() as u32;
        assert!(seen.iter().all(|count| *count > fair / 2 && *count < fair * 2), "{seen:?}");
    }
}

#[test]
fn mixed_sizes_and_directions_are_as_asked() {
    let mut requests = Mixed::new(0.9, 128, 200 << 30, 512, 3);
    let mut sizes = [0_u32; 129];
    let (mut read_count, total) = (0, 128_000);
    for _ in 0..total {
        let access = requests.next().unwrap();
        assert!(
            access.offset.is_multiple_of(512)
                && access.offset + u64::from(access.length) <= 200 << 30
        );
        sizes[(access.length / 512) as usize] += 1;
        read_count += u32::from(access.direction == Direction::Read);
    }
    assert_eq!(sizes[0], 0);
    assert!(sizes[1..].iter().all(|count| (800..1200).contains(count)), "{sizes:?}");
    // Six standard deviations of a share of 0.9 of 128 000 are 644.
    assert!(read_count.abs_diff(total * 9 / 10) < 644, "{read_count} reads");
}

#[test]
fn mixed_sizes_are_rounded_up_to_the_block() {
    let mut requests = Mixed::new(0.5, 128, MEBIBYTE, 4096, 3);
    assert_eq!(requests.bounds(), Bounds { reads: true, writes: true, longest_bytes: 65536 });
    for _ in 0..1000 {
        let access = requests.next().unwrap();
        assert_eq!((access.length % 4096, access.offset % 4096), (0, 0));
        assert!(access.offset + u64::from(access.length) <= MEBIBYTE);
    }
}

#[test]
fn a_seed_replays_and_another_one_differs() {
    let log = |seed| {
        let (device, memory) = Memory::new(MEBIBYTE).shared();
        let mut requests = Mixed::new(0.5, 128, MEBIBYTE, 512, seed);
        let sample = unverified(&device, &Load { depth: 4, ..count(300) }, &mut requests).unwrap();
        assert_eq!(sample.operations(), 300);
        memory.log()
    };
    assert_eq!(log(1), log(1));
    assert_ne!(log(1), log(2));
}

#[test]
fn latencies_are_those_of_the_device() {
    // 98 of 100 requests take 100 us, two take 5 ms: the 98th percentile is the short time, the
    // 99th the long one.
    let delay =
        |number: usize| Duration::from_micros(if number.is_multiple_of(50) { 5000 } else { 100 });
    let (device, _) = Memory::new(MEBIBYTE).delayed(delay).shared();
    let sample = unverified(&device, &count(10_000), &mut reads(512)).unwrap();
    let latency = &sample.read.latency;
    assert_eq!(latency.count(), 10_000);
    assert!(
        (latency.mean_seconds() - 198e-6).abs() < 1e-12,
        "the mean is exact, not {}",
        latency.mean_seconds()
    );
    assert_eq!(latency.max_seconds(), 5e-3);
    for (quantile, seconds) in [(0.5, 1e-4), (0.98, 1e-4), (0.981, 5e-3), (0.99, 5e-3), (1.0, 5e-3)]
    {
        let found = latency.quantile_seconds(quantile);
        assert!(
            found >= seconds && found <= seconds * 1.001,
            "quantile {quantile}: {found} instead of {seconds}"
        );
    }
    assert!(latency.supports(0.99) && !latency.supports(0.999));
    assert!((sample.elapsed.as_secs_f64() - 1.98).abs() < 1e-9);
}

#[test]
fn reads_and_writes_are_timed_apart_and_merge() {
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    let sample =
        unverified(&device, &count(200), &mut Mixed::new(0.25, 8, MEBIBYTE, 512, 3)).unwrap();
    let log = memory.log();
    for (side, name) in [(&sample.read, "read"), (&sample.write, "write")] {
        let lengths: Vec<u64> =
            log.iter().filter(|(op, ..)| *op == name).map(|(_, _, length)| *length).collect();
        assert_eq!((side.operations, side.bytes), (lengths.len() as u64, lengths.iter().sum()));
        assert_eq!(side.latency.count(), side.operations);
    }
    assert_eq!(sample.latency().count(), 200);
    assert!((sample.latency().mean_seconds() - 1e-5).abs() < 1e-12);
}

/// "The time ends only after whole batches of so many requests", and "the time measured is never
/// shorter".
#[test]
fn the_time_ends_after_whole_batches() {
    for (depth, batch, requests) in
        [(1, 1, 100), (1, 7, 105), (1, 160, 160), (4, 7, 406), (4, 1, 400), (32, 20, 3200)]
    {
        let (device, _) = Memory::new(MEBIBYTE).shared();
        let load = Load { depth, batch, time: Some(Duration::from_millis(1)), ..Load::default() };
        let sample = unverified(&device, &load, &mut reads(512)).unwrap();
        assert_eq!(sample.operations(), requests, "depth {depth}, batches of {batch}");
        assert_eq!(
            sample.elapsed,
            Duration::from_micros(10) * (requests as u32).div_ceil(depth),
            "depth {depth}, batches of {batch}"
        );
    }
}

/// "The time measured is never shorter", even when the clock passes the end between a completion
/// and the next request.
#[test]
fn a_slow_source_does_not_end_it_too_early() {
    struct Slow<'a>(Sequential, &'a Reactor);
    impl Requests for Slow<'_> {
        fn bounds(&self) -> Bounds {
            self.0.bounds()
        }
        fn next(&mut self) -> Option<Access> {
            self.1.wait(Some(self.1.now() + Duration::from_micros(3))).unwrap();
            self.0.next()
        }
    }
    let reactor = Reactor::virtual_clock();
    let (device, _) = Memory::new(MEBIBYTE).shared();
    for batch in [1, 20] {
        let load = Load { batch, time: Some(Duration::from_micros(1001)), ..Load::default() };
        let mut requests = Slow(reads(512), &reactor);
        let sample = run(
            &*device,
            &reactor,
            &load,
            &mut requests,
            &mut UnverifiedContent::Random,
            &mut Hooks::default(),
        )
        .unwrap();
        // The 77th ends at 77 * 13 us = 1001 us.
        assert_eq!(sample.operations(), 77_u64.next_multiple_of(batch));
        assert_eq!(sample.elapsed, Duration::from_micros(13 * sample.operations()));
    }
}

#[test]
fn the_ramp_is_not_counted() {
    let load = Load {
        ramp: Duration::from_millis(1),
        time: Some(Duration::from_millis(2)),
        ..Load::default()
    };
    let slow_at_first = |number| Duration::from_micros(if number < 10 { 100 } else { 10 });
    let (device, memory) = Memory::new(MEBIBYTE).delayed(slow_at_first).shared();
    let sample = unverified(&device, &load, &mut reads(512)).unwrap();
    assert_eq!((sample.operations(), sample.elapsed), (200, Duration::from_millis(2)));
    assert_eq!(sample.read.latency.max_seconds(), 1e-5);
    assert_eq!(memory.log().len(), 210);
    // Nothing is left when it ends within the ramp.
    let sample =
        unverified(&device, &Load { operations: Some(5), ..load }, &mut reads(512)).unwrap();
    assert_eq!((sample.operations(), sample.elapsed), (0, Duration::ZERO));
}

/// A cache that takes the first requests at another rate shows, and from when on it does not.
#[test]
fn how_the_time_that_counts_began_is_told() {
    let load = Load { time: Some(Duration::from_millis(10)), ..Load::default() };
    let of = |delay: fn(usize) -> Duration, load: &Load| {
        let (device, _) = Memory::new(MEBIBYTE).delayed(delay).shared();
        unverified(&device, load, &mut reads(512)).unwrap().ramp.start
    };
    let always = |_| Duration::from_micros(10);
    let slow_at_first = |number| Duration::from_micros(if number < 10 { 100 } else { 10 });
    let even = of(always, &load).unwrap();
    assert!((0.97..1.03).contains(&even.ratio), "{even:?}");
    assert_eq!(even.settled_after, Some(Duration::ZERO));
    let slow = of(slow_at_first, &load).unwrap();
    assert!((0.15..0.22).contains(&slow.ratio), "{slow:?}");
    // The first completion is at 100 us, and the slow ones end at 1 ms, in the second twentieth.
    assert_eq!(slow.settled_after, Some(Duration::from_micros(990)));
    let ramp = Duration::from_millis(2);
    let cut = of(slow_at_first, &Load { ramp, ..load.clone() }).unwrap();
    assert!((0.97..1.03).contains(&cut.ratio), "{cut:?}");
    assert_eq!(
        of(always, &Load { operations: Some(50), ..load }),
        None,
        "it ended before its time"
    );
}

#[test]
fn the_first_error_ends_the_run_with_its_place() {
    for depth in [1, 8] {
        let (device, memory) = Memory::new(MEBIBYTE).shared();
        memory.plant(20, Fault::Failed);
        let error =
            unverified(&device, &Load { depth, ..count(1000) }, &mut reads(512)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Media);
        assert_eq!(error.to_string(), "read of 512 bytes at offset 10240: a bad block");
        // Those in flight are waited for, and none is issued after.
        assert!(memory.log().len() <= 20 + depth as usize, "{} requests", memory.log().len());
    }
}

#[test]
fn errors_are_counted_when_told_to_go_on() {
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    memory.plant(3, Fault::Failed);
    memory.plant(20, Fault::Failed);
    let load = Load { go_on_after_errors: true, ..count(100) };
    let sample = unverified(&device, &load, &mut reads(512)).unwrap();
    assert_eq!((sample.errors, sample.operations(), sample.read.latency.count()), (2, 98, 98));
    assert_eq!(
        sample.first_error.unwrap().to_string(),
        "read of 512 bytes at offset 1536: a bad block"
    );
}

#[test]
fn a_request_that_is_never_answered_is_named() {
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    memory.plant(20, Fault::Swallowed);
    let error = unverified(&device, &count(1000), &mut reads(512)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(
        error.to_string(),
        "no answer to 1 requests, one a read of 512 bytes at offset 10240"
    );
}

#[test]
fn a_clock_that_hardly_moves_is_an_error_and_not_forever() {
    // A nanosecond each: a minute would be sixty thousand million requests.
    let delays: [fn(usize) -> Duration; 2] = [|_| Duration::ZERO, |_| Duration::from_nanos(1)];
    for delay in delays {
        let (device, _) = Memory::new(MEBIBYTE).delayed(delay).shared();
        let load = Load { time: Some(Duration::from_secs(60)), ..Load::default() };
        let error = unverified(&device, &load, &mut reads(512)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(
            error
                .to_string()
                .ends_with("so that the time set would hardly ever pass: limit their number"),
            "{error}"
        );
        let limited = Load { operations: Some(5000), ..load };
        assert_eq!(unverified(&device, &limited, &mut reads(512)).unwrap().operations(), 5000);
    }
}

#[test]
fn the_caller_can_stop_it_and_is_told_how_far_it_is() {
    let (device, _) = Memory::new(MEBIBYTE).shared();
    let told = Cell::new(0);
    let stop = || told.get() >= 640;
    let mut progress = |progress: Progress| {
        assert_eq!(
            progress.elapsed,
            Duration::from_micros(10) * u32::try_from(progress.operations).unwrap()
        );
        told.set(progress.operations);
    };
    let mut hooks = Hooks { stop: Some(&stop), progress: Some(&mut progress) };
    let load = count(1_000_000);
    let sample = run(
        &*device,
        &Reactor::virtual_clock(),
        &load,
        &mut reads(512),
        &mut UnverifiedContent::Random,
        &mut hooks,
    )
    .unwrap();
    assert!(sample.stopped);
    assert_eq!((sample.operations(), told.get()), (640, 640));
}

#[test]
fn unverified_writes_carry_random_data() {
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    unverified(
        &device,
        &Load { depth: 2, ..count(16) },
        &mut Sequential::new(Direction::Write, 0, MEBIBYTE, 65536),
    )
    .unwrap();
    memory.change(|bytes| {
        let packed = miniz_oxide::deflate::compress_to_vec(&bytes[..131_072], 6);
        assert!(packed.len() > 128_000, "two slots' data pack to {} bytes", packed.len());
    });
}

#[test]
fn verified_requests_in_flight_never_overlap_where_one_writes() {
    // The device is so small that nearly every request wants a place that another one uses.
    let size = 64 << 10;
    let (device, memory) = Memory::new(size).shared();
    let mut known = WriteLedger::new(size, 1);
    let load = Load { depth: 8, ..count(2000) };
    let mut mixed = Mixed::new(0.5, 64, size, 512, 3);
    let reactor = Reactor::virtual_clock();
    let mut content = VerifiedContent::new(&mut known, true);
    let sample =
        run(&*device, &reactor, &load, &mut mixed, &mut content, &mut Hooks::default()).unwrap();
    assert_eq!((sample.operations(), memory.log().len()), (2000, 2000));
    assert_eq!(content.checked_bytes + content.unknown_bytes, sample.read.bytes);
    assert!(content.checked_bytes > sample.read.bytes * 9 / 10);
}

#[test]
fn a_write_that_failed_leaves_its_place_unknown() {
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    let mut known = WriteLedger::new(MEBIBYTE, 1);
    let mut content = VerifiedContent::new(&mut known, true);
    memory.plant(1, Fault::Failed);
    let load = Load { go_on_after_errors: true, ..count(3) };
    let reactor = Reactor::virtual_clock();
    let mut writes = Sequential::new(Direction::Write, 0, MEBIBYTE, 4096);
    let sample =
        run(&*device, &reactor, &load, &mut writes, &mut content, &mut Hooks::default()).unwrap();
    assert_eq!((sample.errors, sample.write.operations), (1, 2));
    let sample =
        run(&*device, &reactor, &count(3), &mut reads(4096), &mut content, &mut Hooks::default())
            .unwrap();
    assert_eq!((sample.errors, content.checked_bytes, content.unknown_bytes), (0, 8192, 4096));
}

#[test]
fn bytes_that_a_layer_below_still_holds_are_not_written_again() {
    let (device, memory) = Memory::new(MEBIBYTE).keeping().shared();
    let mut known = WriteLedger::new(MEBIBYTE, 1);
    let mut content = VerifiedContent::new(&mut known, true);
    let reactor = Reactor::virtual_clock();
    let mut writes = Sequential::new(Direction::Write, 0, MEBIBYTE, 4096);
    run(&*device, &reactor, &count(20), &mut writes, &mut content, &mut Hooks::default()).unwrap();
    let kept = memory.kept();
    assert_eq!(kept.len(), 20);
    for (index, (offset, buffer)) in kept.iter().enumerate() {
        assert_eq!(
            pattern::check_full(buffer.as_slice().unwrap(), *offset, 1, index as u64 + 1),
            Ok(())
        );
    }
}

#[test]
fn works_on_real_time_and_counts_processor_time() {
    let (device, _) = Memory::new(MEBIBYTE).delayed(|_| Duration::ZERO).shared();
    let reactor = Reactor::wall().unwrap();
    let mut known = WriteLedger::new(MEBIBYTE, 1);
    let mut content = VerifiedContent::new(&mut known, true);
    let load = Load { depth: 4, ..count(2000) };
    let mut requests = Mixed::new(0.5, 128, MEBIBYTE, 512, 3);
    let sample =
        run(&*device, &reactor, &load, &mut requests, &mut content, &mut Hooks::default()).unwrap();
    assert_eq!(sample.operations(), 2000);
    assert!(sample.elapsed > Duration::ZERO);
    assert!(sample.cpu_seconds.unwrap() > 0.0 && sample.latency().max_seconds() > 0.0);
}

/// A write that a flush follows ends with it, and no other write waits for it.
#[test]
fn every_third_write_is_flushed_by_the_one_who_wrote_it() {
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    let syncs = Syncs { flush_every: Some(3), ..Syncs::default() };
    let load = Load { syncs, ..count(7) };
    let mut writes = Sequential::new(Direction::Write, 0, MEBIBYTE, 4096);
    let sample = unverified(&device, &load, &mut writes).unwrap();
    let names: Vec<&str> = memory.log().iter().map(|(name, _, _)| *name).collect();
    let write_and = ["write", "write", "write", "flush"];
    assert_eq!(names, [&write_and[..], &write_and, &["write"]].concat());
    assert_eq!((sample.write.operations, sample.elapsed), (7, Duration::from_micros(90)));
    assert_eq!(sample.write.latency.max_seconds(), 20e-6, "the write and its flush");
    // Reads are none of its business.
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    unverified(&device, &load, &mut reads(4096)).unwrap();
    assert!(memory.log().iter().all(|(name, _, _)| *name == "read"));
}

#[test]
fn a_flush_that_fails_ends_the_load_with_the_place_of_its_write() {
    let (device, memory) = Memory::new(MEBIBYTE).shared();
    memory.plant(1, Fault::Failed);
    let syncs = Syncs { flush_every: Some(1), ..Syncs::default() };
    let mut writes = Sequential::new(Direction::Write, 8192, MEBIBYTE, 4096);
    let error = unverified(&device, &Load { syncs, ..count(7) }, &mut writes).unwrap_err();
    assert!(error.to_string().contains("write of 4096 bytes at offset 8192"), "{error}");
}

#[test]
fn whoever_thinks_goes_on_later_and_the_end_does_not_wait_for_it() {
    let (device, _) = Memory::new(MEBIBYTE).shared();
    for depth in [1, 4] {
        let think = Duration::from_micros(90);
        let load = Load { depth, think, time: Some(Duration::from_millis(10)), ..Load::default() };
        let sample = unverified(&device, &load, &mut reads(4096)).unwrap();
        // Each of them 10 us of request and 90 us of thought.
        let expected = u64::from(depth) * 100;
        assert!(
            sample.operations().abs_diff(expected) <= u64::from(depth),
            "depth {depth}: {}",
            sample.operations()
        );
        assert!(sample.elapsed <= Duration::from_micros(10_110), "{:?}", sample.elapsed);
    }
    // The last request of a count is not followed by a thought.
    let load = Load { think: Duration::from_secs(1), ..count(1) };
    let sample = unverified(&device, &load, &mut reads(4096)).unwrap();
    assert_eq!(sample.elapsed, Duration::from_micros(10));
}

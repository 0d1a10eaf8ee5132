//! A cache in memory keeps the contract in every mode, with every policy, whatever fails.

use crate::common;

use std::sync::Arc;

use block::{ContractCheck, Device, ErrorKind, Info, Op, Reactor, Request};
use cache::{AdmissionOptions, Cache, CacheMode, CacheOptions, KeepingOptions, PolicyKind};
use testkit::crash::{self, Options, Rig};

use testkit::{Fault, Memory, conformance};

use common::{able, blocking, drive_while_failing, slow};

const MODES: [CacheMode; 3] =
    [CacheMode::WriteThrough, CacheMode::WriteAround, CacheMode::WriteBack];

/// One that can read and write and nothing else, and that has a last block which is not whole.
fn plain(size_bytes: u64) -> Info {
    Info { max_request_bytes: 32 << 10, ..Info::plain(size_bytes) }
}

fn store(blocks: u64) -> Arc<dyn Device> {
    Arc::new(Memory::new(blocks * 4096))
}

fn cache(store: Arc<dyn Device>, lower: Arc<dyn Device>, options: CacheOptions) -> Arc<Cache> {
    let size_bytes = store.info().size_bytes;
    Arc::new(
        Cache::in_memory(
            ContractCheck::over(store),
            size_bytes,
            ContractCheck::over(lower),
            options,
        )
        .expect("a cache"),
    )
}

fn options(mode: CacheMode, policy: PolicyKind) -> CacheOptions {
    CacheOptions { mode, policy, ..CacheOptions::default() }
}

#[test]
fn every_mode_with_every_policy_keeps_the_contract() {
    for (seed, mode) in (1..).zip(MODES) {
        for policy in PolicyKind::ALL {
            let make = || -> Arc<dyn Device> {
                cache(store(5), slow(able(97 * 512), seed), options(mode, policy))
            };
            conformance::run(make, Reactor::virtual_clock, seed)
                .unwrap_or_else(|violation| panic!("{mode}, {policy}: {violation}"));
        }
    }
}

#[test]
fn so_it_does_over_devices_that_can_do_little_and_from_slow_stores() {
    for (seed, mode) in (1..).zip(MODES) {
        for promote_after in [1, 2] {
            let admission =
                AdmissionOptions { sequential_cutoff_bytes: Some(6 << 10), promote_after };
            let make = || -> Arc<dyn Device> {
                let store = slow(Info { max_request_bytes: 8 << 10, ..Info::plain(7 << 12) }, seed);
                cache(
                    store,
                    slow(plain(501 * 512), seed + 7),
                    CacheOptions { admission, ..options(mode, PolicyKind::S3Fifo) },
                )
            };
            conformance::run(make, Reactor::virtual_clock, seed)
                .unwrap_or_else(|violation| panic!("{mode}: {violation}"));
        }
    }
}

#[test]
fn so_it_does_on_threads() {
    for (seed, mode) in (1..).zip(MODES) {
        let make = || -> Arc<dyn Device> {
            cache(
                store(6),
                Arc::new(Memory::with(able(300 * 512))),
                options(mode, PolicyKind::Clock),
            )
        };
        conformance::run(make, || Reactor::wall().expect("io_uring"), seed)
            .unwrap_or_else(|violation| panic!("{mode}: {violation}"));
    }
}

#[test]
fn a_read_only_cache_refuses_writes_and_speeds_reads() {
    let lower = slow(able(64 * 512), 1);
    blocking(&*lower).write_slice(0, &[7; 512]).expect("a write");
    let make = || -> Arc<dyn Device> {
        cache(
            store(4),
            Arc::clone(&lower) as Arc<dyn Device>,
            options(CacheMode::ReadOnly, PolicyKind::Lru),
        )
    };
    conformance::run(make, Reactor::virtual_clock, 1)
        .unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn errors_of_the_device_below_are_told_and_leave_old_or_new() {
    for seed in 0..40 {
        let mode = MODES[seed as usize % 3];
        let lower = slow(able(97 * 512), seed);
        let device: Arc<dyn Device> = cache(
            store(6),
            Arc::clone(&lower) as Arc<dyn Device>,
            options(mode, PolicyKind::Sieve),
        );
        drive_while_failing(&device, &lower, [Fault::Read, Fault::Write], (4, 100), seed);
    }
}

#[test]
fn a_store_that_fails_does_no_harm() {
    for seed in 0..60 {
        let mode = MODES[seed as usize % 3];
        let store = slow(Info::plain(6 << 12), seed);
        let device: Arc<dyn Device> = cache(
            Arc::clone(&store) as Arc<dyn Device>,
            slow(able(97 * 512), seed),
            options(mode, PolicyKind::S3Fifo),
        );
        drive_while_failing(&device, &store, [Fault::Write, Fault::Read], (4, 100), seed);
    }
}

/// What a cached block costs besides its data. A write of two blocks: the store loses one, and the
/// other is one dirty block too many, so that it is written out before the write completes.
#[test]
fn a_write_that_is_lost_in_part_is_told_though_the_rest_is_written_out() {
    let info = Info { max_request_bytes: 4096, ..Info::plain(8 << 12) };
    let store = Arc::new(Memory::with(info));
    let lower = Arc::new(Memory::with(able(64 << 12)));
    let cache = cache(
        Arc::clone(&store) as Arc<dyn Device>,
        Arc::clone(&lower) as Arc<dyn Device>,
        CacheOptions {
            dirty_percent: 10,
            keeping: KeepingOptions::below(10),
            ..options(CacheMode::WriteBack, PolicyKind::Lru)
        },
    );
    store.fail_next(Fault::Write);
    let error = blocking(&*cache).write_slice(0, &[7; 8192]).expect_err("half of it is lost");
    assert_eq!(error.kind(), ErrorKind::Media, "{error}");
    assert_eq!(cache.handle().status().expect("it is open").counts.written_out, 1);
}

#[test]
fn metadata_take_at_most_sixteen_bytes_a_block() {
    let slots = 64 << 10;
    for policy in PolicyKind::ALL {
        let device = cache(
            store(slots),
            Arc::new(Memory::with(Info::plain(1 << 20))),
            options(CacheMode::WriteBack, policy),
        );
        let bytes = device.handle().status().expect("it is open").metadata_bytes;
        assert!(bytes <= 16 * slots, "{policy}: {bytes} bytes for {slots} blocks");
    }
}

/// A write-back cache in memory that is closed has written out what was dirty.
#[test]
fn nothing_is_lost_when_memory_is_closed() {
    let lower = Arc::new(Memory::with(able(20 * 4096)));
    let device = cache(
        store(30),
        Arc::clone(&lower) as Arc<dyn Device>,
        options(CacheMode::WriteBack, PolicyKind::Lfu),
    );
    let mut channel = blocking(&*device);
    for block in [3, 4, 5, 17] {
        channel.write_slice(block * 4096, &[block as u8; 4096]).expect("a write");
    }
    let mut found = [0; 4096];
    blocking(&*lower).read_slice(3 * 4096, &mut found).expect("a read");
    assert_eq!(found, [0; 4096], "it is only in memory");
    drop((channel, device));
    for block in [3, 4, 5, 17] {
        blocking(&*lower).read_slice(block * 4096, &mut found).expect("a read");
        assert_eq!(found, [block as u8; 4096]);
    }
}

/// What another flush has written out meanwhile ends at once, and however much that is, it takes no
/// more of the stack.
#[test]
fn two_flushes_of_much_that_is_dirty_both_end() {
    let blocks = 16 << 10;
    let device = cache(
        store(blocks),
        Arc::new(Memory::with(able(blocks * 4096))),
        options(CacheMode::WriteBack, PolicyKind::Lru),
    );
    let reactor = Reactor::virtual_clock();
    let mut channel = device.open(2, &reactor).expect("a channel");
    (0..blocks / 2).for_each(|number| {
        blocking(&*device).write_slice(number * 2 * 4096, &[1; 4096]).expect("a write");
    });
    (1..=2).for_each(|tag| channel.submit(Request::new(tag, Op::Flush)));
    let mut done = Vec::new();
    while done.len() < 2 {
        channel.poll(&mut done);
        reactor.wait(Some(reactor.now())).expect("a virtual clock");
    }
    assert!(done.iter().all(|completion| completion.result.is_ok()));
    assert_eq!(device.handle().status().expect("it is open").dirty_bytes, 0);
}

/// Whole stripes are written out together: a run is filled up with clean blocks where all of them
/// are there.
#[test]
fn dirty_blocks_of_a_stripe_go_out_with_the_clean_ones_between_them() {
    let lower = Arc::new(Memory::with(Info { optimal_bytes: 8 * 4096, ..able(64 * 4096) }));
    let counted = Arc::new(block::CountingDevice::over(Arc::clone(&lower) as Arc<dyn Device>));
    let counters = counted.counters();
    let device = cache(store(64), counted, options(CacheMode::WriteBack, PolicyKind::Lru));
    let mut channel = blocking(&*device);
    channel.read_slice(0, &mut [0; 16 * 4096]).expect("a read brings two stripes in");
    for block in [1, 3, 6, 12, 40] {
        channel.write_slice(block * 4096, &[7; 4096]).expect("a write");
    }
    channel.flush().expect("a flush");
    let moved = counters.read();
    // Two whole stripes, each with one write, and a block whose neighbours are not there.
    assert_eq!((moved.writes, moved.written_bytes), (3, (8 + 8 + 1) * 4096));
}

/// "A long sequential run goes past the store."
#[test]
fn a_scan_does_not_flush_the_cache() {
    let admission = AdmissionOptions { sequential_cutoff_bytes: Some(8 * 4096), promote_after: 1 };
    let options = CacheOptions { admission, ..options(CacheMode::WriteThrough, PolicyKind::Lru) };
    let device = cache(store(16), Arc::new(Memory::with(able(256 * 4096))), options);
    let mut channel = blocking(&*device);
    let hits = || device.handle().status().expect("it is open").counts.read_hits;
    for _ in 0..2 {
        (0..8).for_each(|block| {
            channel.read_slice(block * 2 * 4096, &mut [0; 4096]).expect("a read");
        });
    }
    assert_eq!(hits(), 8);
    (100..200).for_each(|block| channel.read_slice(block * 4096, &mut [0; 4096]).expect("a read"));
    (0..8).for_each(|block| channel.read_slice(block * 2 * 4096, &mut [0; 4096]).expect("a read"));
    assert_eq!(
        hits(),
        16,
        "the first eight blocks of the scan came in beside them, and nothing after"
    );
}

#[test]
fn a_failed_flush_sticks() {
    for mode in MODES {
        let lower = Arc::new(Memory::with(able(64 * 512)));
        let device =
            cache(store(4), Arc::clone(&lower) as Arc<dyn Device>, options(mode, PolicyKind::Lru));
        assert_eq!(
            conformance::sticky_flush(
                &*device,
                &Reactor::virtual_clock(),
                || lower.fail_next(Fault::Flush),
                5
            ),
            Ok(())
        );
    }
    let lower = Arc::new(Memory::with(able(64 * 512)));
    let device = cache(
        store(4),
        Arc::clone(&lower) as Arc<dyn Device>,
        options(CacheMode::WriteBack, PolicyKind::Lru),
    );
    let mut channel = blocking(&*device);
    channel.write_slice(0, &[7; 4096]).expect("a write");
    lower.fail_next(Fault::Write);
    assert_eq!(channel.flush().expect_err("it cannot be written out").kind(), ErrorKind::Media);
    assert_eq!(channel.flush().expect_err("still").kind(), ErrorKind::Media);
}

/// "Nothing durable is ever lost" and "A block is never torn".
#[test]
fn crashes_everywhere_lose_nothing_durable() {
    let mut crashes = 0;
    for seed in 0..12 {
        let options = options(MODES[seed as usize % 3], PolicyKind::ALL[seed as usize % 7]);
        let rig = || {
            let lower = slow(able(96 * 512), seed);
            let below = Arc::clone(&lower) as Arc<dyn Device>;
            let start = Box::new(move || {
                Ok(Arc::new(Cache::in_memory(store(5), 5 << 12, Arc::clone(&below), options)?)
                    as Arc<dyn Device>)
            });
            Rig { members: vec![lower], start }
        };
        let steps = crash::history(&able(96 * 512), 50, seed);
        let found = crash::enumerate(
            rig,
            Reactor::virtual_clock,
            &steps,
            &Options { points: 120, ..Options::default() },
            seed,
        );
        crashes += found.unwrap_or_else(|violation| panic!("{options:?}: {violation}")).crashes;
    }
    assert!(crashes > 3000, "{crashes} crashes");
}

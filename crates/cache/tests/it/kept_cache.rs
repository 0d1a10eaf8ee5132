//! A cache whose store is kept: warm when it was closed, honest after a crash, and what it refuses.

use crate::common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use block::{
    Channel, Completion, ContractCheck, Device, EmulatingDevice, Error, ErrorKind, Info, Node, Op,
    Reactor, Request, Support,
};
use cache::{
    Cache, CacheMode, CacheOptions, Facts, KeepingOptions, LeafFacts, PolicyKind, StoreContents,
    StoreSeal, examine_store, salvage,
};
use reactor::{Random, derive_seed};
use testkit::crash::{self, Crashable, Options, Rig, Summary};

use testkit::{Fault, Memory, Violation, conformance};

use common::{able, blocking, drive_while_failing, slow};

const MODES: [CacheMode; 3] =
    [CacheMode::WriteBack, CacheMode::WriteThrough, CacheMode::WriteAround];
const BACK: CacheOptions = CacheOptions {
    mode: CacheMode::WriteBack,
    block_bytes: 4096,
    policy: PolicyKind::S3Fifo,
    admission: PLAIN,
    dirty_percent: 50,
    keeping: KeepingOptions::below(50),
};
const PLAIN: cache::AdmissionOptions =
    cache::AdmissionOptions { sequential_cutoff_bytes: None, promote_after: 1 };

/// A store with room for so many blocks, which loses what was not flushed.
fn store_info(slots: u64) -> Info {
    Info { volatile_cache: true, ..Info::plain((3 << 20) + slots * 4096) }
}

fn open(
    store: &Arc<Memory>,
    lower: &Arc<Memory>,
    options: CacheOptions,
) -> Result<Arc<dyn Device>, Error> {
    let (store, lower) =
        (Arc::clone(store) as Arc<dyn Device>, Arc::clone(lower) as Arc<dyn Device>);
    Ok(EmulatingDevice::over(Arc::new(Cache::open(
        ContractCheck::over(store),
        ContractCheck::over(lower),
        &proven(1),
        options,
    )?)))
}

/// The same without anything above it or below it that checks.
fn alone(store: &Arc<Memory>, lower: &Arc<Memory>, options: CacheOptions) -> Result<Cache, Error> {
    let (store, lower) =
        (Arc::clone(store) as Arc<dyn Device>, Arc::clone(lower) as Arc<dyn Device>);
    Cache::open(store, lower, &proven(1), options)
}

/// A device that is known to be itself, in a state of this number.
fn proven(state: u64) -> Facts {
    Facts { leaves: vec![LeafFacts { identity: 1, epoch: 0, state }], believe_sample: false }
}

fn contents(device: &dyn Device) -> Vec<u8> {
    let mut bytes = vec![0; device.info().size_bytes as usize];
    blocking(device).read_slice(0, &mut bytes).expect("it can be read");
    bytes
}

fn filled(size_bytes: u64, seed: u64) -> Arc<Memory> {
    let memory = Arc::new(Memory::with(able(size_bytes)));
    let mut bytes = vec![0; size_bytes as usize];
    Random::with_seed(seed).fill(&mut bytes);
    blocking(&*memory).write_slice(0, &bytes).expect("a write");
    blocking(&*memory).flush().expect("a flush");
    memory
}

#[test]
fn every_mode_keeps_the_contract() {
    for (seed, mode) in (1..).zip(MODES) {
        for policy in [PolicyKind::S3Fifo, PolicyKind::Lru, PolicyKind::Arc] {
            let options = CacheOptions { mode, policy, ..BACK };
            let make = || {
                open(&slow(store_info(6), seed), &slow(able(97 * 512), seed + 5), options)
                    .expect("a cache")
            };
            conformance::run(make, Reactor::virtual_clock, seed)
                .unwrap_or_else(|violation| panic!("{mode}, {policy}: {violation}"));
        }
        let options = CacheOptions { mode, ..BACK };
        let make = || {
            open(
                &Arc::new(Memory::with(store_info(6))),
                &Arc::new(Memory::with(able(300 * 512))),
                options,
            )
            .expect("a cache")
        };
        let wall = || Reactor::wall().expect("io_uring");
        conformance::run(make, wall, seed)
            .unwrap_or_else(|violation| panic!("{mode}, threads: {violation}"));
    }
}

#[test]
fn it_is_opened_again_warm_with_all_that_was_written() {
    for seed in 0..6 {
        let mode = MODES[seed as usize % 3];
        let options = CacheOptions { mode, ..BACK };
        let (store, lower) = (Arc::new(Memory::with(store_info(20))), filled(60 * 4096, seed));
        let mut expected = contents(&*lower);
        let mut random = Random::with_seed(seed);
        for _ in 0..5 {
            let cache = alone(&store, &lower, options).expect("a cache");
            let seal = cache.seal().expect("it is kept");
            let before = cache.handle().status().expect("it is open");
            assert_eq!(contents(&cache), expected, "seed {seed}");
            let hits = cache.handle().status().expect("it is open").counts.read_hits;
            assert!(hits >= before.used_bytes / 4096, "seed {seed}: {hits} hits of {before:?}");
            let mut channel = blocking(&cache);
            for _ in 0..20 {
                let length = random.usize(1..20) * 512;
                let offset = random.usize(0..=(expected.len() - length) / 512) * 512;
                random.fill(&mut expected[offset..offset + length]);
                channel
                    .write_slice(offset as u64, &expected[offset..offset + length])
                    .expect("a write");
            }
            assert!(channel.flush().is_ok() && cache.note().is_none(), "{:?}", cache.note());
            drop((channel, cache));
            seal.seal(&proven(1).leaves).expect("it is taken down");
        }
        if mode != CacheMode::WriteBack {
            assert_eq!(contents(&*lower), expected, "seed {seed}: {mode}");
        }
        let cache = open(&store, &lower, options).expect("a cache");
        assert_eq!(contents(&*cache), expected, "seed {seed}: {mode}");
    }
}

#[test]
fn what_a_crash_leaves_clean_is_not_believed() {
    let (store, lower) = (Arc::new(Memory::with(store_info(8))), filled(8 * 4096, 1));
    let options = CacheOptions { mode: CacheMode::WriteThrough, ..BACK };
    // Closed once, so that the map has clean entries.
    contents(&*open(&store, &lower, options).expect("a cache"));
    let cache = open(&store, &lower, options).expect("a cache");
    blocking(&*cache).write_slice(4096, &[9; 4096]).expect("a write");
    blocking(&*cache).flush().expect("a flush");
    store.crash(1);
    lower.crash(2);
    drop(cache);
    store.power_on();
    lower.power_on();
    blocking(&*lower).write_slice(0, &[5; 4096]).expect("somebody writes below");
    let device = alone(&store, &lower, options).expect("a cache");
    assert_eq!(device.handle().status().expect("it is open").used_bytes, 0, "cold");
    assert_eq!(contents(&device), contents(&*lower));
}

fn crash_rig(seed: u64, options: CacheOptions) -> Rig {
    let (store, lower) =
        (slow(store_info(4 + seed % 5), seed), slow(able(96 * 512), derive_seed(seed, "lower", 0)));
    let members: Vec<Arc<dyn Crashable>> = vec![Arc::clone(&store) as _, Arc::clone(&lower) as _];
    Rig { members, start: Box::new(move || open(&store, &lower, options)) }
}

fn crash_everywhere(seed: u64, options: CacheOptions, points: usize) -> Result<Summary, Violation> {
    let info = Info { fua: Support::Emulated, ..able(96 * 512) };
    let steps = crash::history(&info, 60, seed);
    crash::enumerate(
        || crash_rig(seed, options),
        Reactor::virtual_clock,
        &steps,
        &Options { points, ..Options::default() },
        seed,
    )
}

/// "Nothing durable is ever lost" and "A block is never torn": at least ten thousand crashes, most
/// of them of dirty caches.
#[test]
fn crashes_everywhere_lose_nothing_durable() {
    let mut crashes = 0;
    for seed in 0..20 {
        let mode =
            if seed % 5 == 4 { MODES[1 + seed as usize / 5 % 2] } else { CacheMode::WriteBack };
        let dirty_percent = 20 + 20 * (seed % 3) as u8;
        let options = CacheOptions {
            mode,
            policy: PolicyKind::ALL[seed as usize % 7],
            dirty_percent,
            keeping: KeepingOptions::below(dirty_percent),
            ..BACK
        };
        let found = crash_everywhere(seed, options, 140);
        crashes += found.unwrap_or_else(|violation| panic!("{options:?}: {violation}")).crashes;
    }
    assert!(crashes >= 10_000, "{crashes} crashes");
}

#[test]
fn errors_of_the_store_are_told_and_leave_old_or_new() {
    for seed in 0..40 {
        let mode = MODES[seed as usize % 3];
        let store = slow(store_info(6), seed);
        let device = open(&store, &slow(able(97 * 512), seed), CacheOptions { mode, ..BACK })
            .expect("a cache");
        drive_while_failing(&device, &store, [Fault::Write, Fault::Read], (4, 100), seed);
    }
}

#[test]
fn a_failed_flush_of_either_device_sticks() {
    for which in 0..2 {
        let (store, lower) =
            (Arc::new(Memory::with(store_info(6))), Arc::new(Memory::with(able(64 * 512))));
        let device = open(&store, &lower, BACK).expect("a cache");
        let fail = || {
            if which == 0 { store.fail_next(Fault::Flush) } else { lower.fail_next(Fault::Flush) }
        };
        assert_eq!(conformance::sticky_flush(&*device, &Reactor::virtual_clock(), fail, 5), Ok(()));
    }
}

#[test]
fn a_store_that_is_gone_stops_write_back_and_names_what_is_lost() {
    let (store, lower) = (Arc::new(Memory::with(store_info(6))), filled(16 * 4096, 3));
    let device = open(&store, &lower, BACK).expect("a cache");
    let mut channel = blocking(&*device);
    channel.write_slice(8192, &[1; 8192]).expect("a write");
    store.crash(1);
    assert!(channel.write_slice(0, &[2; 4096]).is_err());
    let error = channel.read_slice(40960, &mut [0; 4096]).expect_err("stopped");
    assert!(
        error.to_string().contains("lacks 8KiB that were written to it, at bytes 8192+8192"),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Gone);
}

#[test]
fn a_store_that_is_gone_with_nothing_dirty_is_done_without() {
    let (store, lower) = (Arc::new(Memory::with(store_info(6))), filled(16 * 4096, 3));
    let cache = alone(&store, &lower, CacheOptions { mode: CacheMode::WriteThrough, ..BACK })
        .expect("a cache");
    contents(&cache);
    store.crash(1);
    assert_eq!(contents(&cache), contents(&*lower));
    blocking(&cache).write_slice(0, &[2; 4096]).expect("a write");
    assert_eq!(contents(&cache), contents(&*lower));
    assert!(
        cache
            .handle()
            .status()
            .expect("it is open")
            .failure
            .expect("told")
            .english()
            .contains("not used any more")
    );
}

#[test]
fn it_is_written_out_while_it_is_open_and_then_opens_in_any_mode() {
    let (store, lower) = (Arc::new(Memory::with(store_info(12))), filled(16 * 4096, 3));
    let cache = alone(&store, &lower, BACK).expect("a cache");
    let handle = cache.handle();
    let mut channel = blocking(&cache);
    for block in [9, 2, 3, 14] {
        channel.write_slice(block * 4096, &[block as u8; 4096]).expect("a write");
    }
    assert_eq!(handle.status().expect("it is open").dirty_bytes, 4 * 4096);
    let seen = || examine_store(&*store).expect("readable").expect("a cache's");
    assert_eq!((seen().in_use, seen().dirty_bytes), (true, 0), "nothing was flushed yet");
    channel.flush().expect("a flush");
    assert_eq!((seen().used_bytes, seen().dirty_bytes), (4 * 4096, 4 * 4096));
    assert_eq!(handle.write_out(4096).expect("a part"), 2 * 4096, "2 and 3 go together");
    assert_eq!(handle.status().expect("it is open").dirty_bytes, 2 * 4096);
    assert_eq!(handle.flush().expect("the rest"), 2 * 4096);
    assert_eq!(
        (handle.status().expect("it is open").dirty_bytes, handle.flush().expect("nothing")),
        (0, 0)
    );
    assert_eq!(contents(&*lower), contents(&cache));
    drop((channel, cache));
    assert_eq!(
        (handle.status(), handle.flush().expect_err("closed").kind()),
        (None, ErrorKind::Gone)
    );
    let StoreContents { in_use, name, device_bytes, block_bytes, size_bytes, dirty_bytes, .. } =
        seen();
    assert_eq!(
        (in_use, name, device_bytes, block_bytes),
        (false, lower.describe().to_string(), 16 * 4096, 4096)
    );
    assert_eq!((size_bytes, dirty_bytes), (12 * 4096, 0));
    open(&store, &lower, CacheOptions { mode: CacheMode::WriteThrough, ..BACK })
        .expect("nothing is dirty");
}

#[test]
fn it_can_be_closed_while_it_is_still_held() {
    let (store, lower) = (Arc::new(Memory::with(store_info(12))), filled(16 * 4096, 3));
    let cache = alone(&store, &lower, BACK).expect("a cache");
    let mut channel = blocking(&cache);
    channel.write_slice(4096, &[9; 4096]).expect("a write");
    cache.handle().close().expect("it is closed");
    cache.handle().close().expect("it was closed");
    let seen = examine_store(&*store).expect("readable").expect("a cache's");
    assert_eq!((seen.in_use, seen.dirty_bytes), (false, 4096));
    assert_eq!(channel.write_slice(0, &[1; 4096]).expect_err("closed").kind(), ErrorKind::Gone);
    drop((channel, cache));
    let mut found = [0; 4096];
    blocking(&*open(&store, &lower, BACK).expect("a cache"))
        .read_slice(4096, &mut found)
        .expect("a read");
    assert_eq!(found, [9; 4096]);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (store, lower) = (Arc::new(Memory::with(store_info(6))), filled(16 * 4096, 1));
    let open = |store: &Arc<Memory>, lower: &Arc<Memory>, options| {
        known(store, lower, &Facts::none(), options).map(|(cache, _)| cache)
    };
    let refused = |lower: &Arc<Memory>, options| {
        let error = open(&store, lower, options).map(drop).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        error.to_string()
    };
    drop(open(&store, &lower, BACK).expect("a cache"));
    assert!(refused(&filled(16 * 4096, 2), BACK).contains("another device"));
    assert!(refused(&filled(17 * 4096, 1), BACK).contains("this device has"));
    assert!(refused(&lower, CacheOptions { block_bytes: 8192, ..BACK }).contains("block=4KiB"));
    let mut channel = blocking(&*lower);
    let mut old = [0; 512];
    channel.read_slice(512, &mut old).expect("a read");
    channel.write_slice(512, &[1; 512]).expect("a write");
    assert!(
        refused(&lower, BACK).contains("somebody has written"),
        "the cache is older than its device"
    );
    channel.write_slice(512, &old).expect("a write");
    blocking(&open(&store, &lower, BACK).expect("a cache"))
        .write_slice(4096, &[3; 512])
        .expect("a write");
    let text = refused(&lower, CacheOptions { mode: CacheMode::WriteThrough, ..BACK });
    assert!(text.contains("at bytes 4096+4096") && text.contains("mode=write-back"), "{text}");

    let foreign = Arc::new(Memory::with(store_info(6)));
    blocking(&*foreign).write_slice(64 << 10, &[7; 512]).expect("a write");
    assert_eq!(
        open(&foreign, &lower, BACK).map(drop).expect_err("not ours").kind(),
        ErrorKind::Refused
    );
    let small = Arc::new(Memory::with(Info::plain(3 << 20)));
    assert_eq!(
        open(&small, &lower, BACK).map(drop).expect_err("no room").kind(),
        ErrorKind::Invalid
    );
    let coarse = Arc::new(Memory::with(Info { block_bytes: 4096, ..able(64 << 12) }));
    let error =
        open(&Arc::new(Memory::with(store_info(6))), &coarse, BACK).map(drop).expect_err("torn");
    assert!(error.to_string().contains("?block=4096"), "{error}");
}

/// A store of 20 blocks over a device of 8 MiB, used once, closed and sealed.
fn used_once(options: CacheOptions, dirty: bool) -> (Arc<Memory>, Arc<Memory>) {
    let (store, lower) = (Arc::new(Memory::with(store_info(20))), filled(8 << 20, 3));
    let (cache, seal) = known(&store, &lower, &proven(1), options).expect("a cache");
    let mut channel = blocking(&cache);
    channel.read_slice(BETWEEN, &mut [0; 4096]).expect("a read");
    if dirty {
        channel.write_slice(BETWEEN + 8192, &[7; 4096]).expect("a write");
    }
    drop((channel, cache));
    seal.seal(&proven(1).leaves).expect("it is taken down");
    (store, lower)
}

/// Where no sample is taken.
const BETWEEN: u64 = (3 << 20) + (40 << 10);

fn known(
    store: &Arc<Memory>,
    lower: &Arc<Memory>,
    facts: &Facts,
    options: CacheOptions,
) -> Result<(Cache, StoreSeal), Error> {
    let cache = Cache::open(
        Arc::clone(store) as Arc<dyn Device>,
        Arc::clone(lower) as Arc<dyn Device>,
        facts,
        options,
    )?;
    let seal = cache.seal().expect("it is kept");
    Ok((cache, seal))
}

/// "A kept cache store that is older than its device is believed", wherever between the places of
/// the sample it was written.
#[test]
fn a_store_that_is_older_than_its_device_is_not_believed() {
    let options = CacheOptions { mode: CacheMode::WriteThrough, ..BACK };
    let vouched = |state| Facts { believe_sample: true, ..proven(state) };
    let nobody_knows = Facts {
        leaves: vec![LeafFacts { identity: 1, epoch: 5, state: 1 }],
        believe_sample: false,
    };
    for (facts, believed) in [
        (proven(1), true),
        (proven(2), false),
        (Facts::none(), false),
        (nobody_knows.clone(), false),
        (vouched(2), true),
    ] {
        let (store, lower) = used_once(options, false);
        blocking(&*lower)
            .write_slice(BETWEEN, &[9; 512])
            .expect("somebody writes without the cache");
        let (cache, _) = known(&store, &lower, &facts, options).expect("a cache");
        let mut found = [0; 512];
        blocking(&cache).read_slice(BETWEEN, &mut found).expect("a read");
        assert_eq!(found != [9; 512], believed, "{facts:?}");
        assert_eq!(cache.note().is_some(), !believed, "{facts:?}: {:?}", cache.note());
    }
    for (facts, opens) in
        [(proven(1), true), (proven(2), false), (nobody_knows, true), (vouched(2), true)]
    {
        let (store, lower) = used_once(BACK, true);
        match known(&store, &lower, &facts, BACK) {
            Ok((cache, _)) => {
                assert!(opens, "{facts:?}");
                let mut found = [0; 4096];
                blocking(&cache).read_slice(BETWEEN + 8192, &mut found).expect("a read");
                assert_eq!(found, [7; 4096], "{facts:?}");
            }
            Err(error) => {
                assert!(!opens && error.kind() == ErrorKind::Refused, "{facts:?}: {error}");
                let text = error.to_string();
                assert!(
                    text.contains("was written to")
                        && text.contains("4KiB")
                        && text.contains("salvage"),
                    "{text}"
                );
            }
        }
    }
}

/// "A sample that covers where file systems and partitions keep their superblocks": it says no even
/// where nothing else is known.
#[test]
fn the_sample_covers_where_file_systems_and_partitions_keep_their_superblocks() {
    const SIZE: u64 = 80 << 20;
    // A GPT whose one partition begins at 5 MiB.
    let mut table = vec![0; 2048];
    table[510..512].copy_from_slice(&[0x55, 0xaa]);
    table[512..520].copy_from_slice(b"EFI PART");
    table[512 + 72..512 + 80].copy_from_slice(&2_u64.to_le_bytes());
    table[512 + 80..512 + 88].copy_from_slice(&[128, 0, 0, 0, 128, 0, 0, 0]);
    table[1024..1040].fill(1);
    table[1024 + 32..1024 + 40].copy_from_slice(&(5_u64 << 11).to_le_bytes());
    let options = CacheOptions { mode: CacheMode::WriteThrough, ..BACK };
    let mib = 1 << 20;
    for at in [
        1024,
        64 << 10,
        100 << 10,
        mib + 1024,
        mib + (64 << 10),
        5 * mib + 1024,
        5 * mib + (64 << 10),
        64 * mib,
        SIZE - (100 << 10),
    ] {
        let (store, lower) =
            (Arc::new(Memory::with(store_info(6))), Arc::new(Memory::with(able(SIZE))));
        blocking(&*lower).write_slice(0, &table).expect("a write");
        drop(known(&store, &lower, &Facts::none(), options).expect("a cache"));
        assert!(known(&store, &lower, &Facts::none(), options).is_ok(), "nothing has changed");
        blocking(&*lower).write_slice(at / 512 * 512, &[9; 512]).expect("a write");
        let error =
            known(&store, &lower, &Facts::none(), options).map(drop).expect_err("other data");
        assert!(
            error.to_string().contains("another device, or somebody has written"),
            "byte {at}: {error}"
        );
    }
}

#[test]
fn a_cache_that_was_not_sealed_knows_nothing_the_next_time() {
    let options = CacheOptions { mode: CacheMode::WriteThrough, ..BACK };
    let (store, lower) = (Arc::new(Memory::with(store_info(20))), filled(8 << 20, 3));
    let (cache, seal) = known(&store, &lower, &proven(1), options).expect("a cache");
    contents(&cache);
    // It is still open: whatever it writes from now on would not be noticed.
    seal.seal(&proven(1).leaves).expect("nothing is done");
    drop(cache);
    assert_eq!(
        known(&store, &lower, &proven(1), options)
            .expect("a cache")
            .0
            .handle()
            .status()
            .expect("open")
            .used_bytes,
        0
    );
}

/// "512 zeroed bytes lose durable dirty blocks silently": a superblock or a page that is zeroed, or
/// all that lies before the data.
#[test]
fn no_zeroed_bytes_of_a_store_pass_for_a_store_with_less_in_it() {
    const MAP: u64 = 1 << 20;
    // Three pages of the map, the last without entries.
    let (store, lower) = (Arc::new(Memory::with(store_info(140))), filled(200 * 4096, 3));
    let use_it = || {
        let cache = open(&store, &lower, BACK).expect("a cache");
        blocking(&*cache).write_slice(0, &vec![7; 70 * 4096]).expect("a write");
        blocking(&*cache).flush().expect("a flush");
        cache
    };
    for crashes in [false, true] {
        let cache = use_it();
        if crashes {
            std::mem::forget(cache);
        } else {
            drop(cache);
        }
        let whole = contents(&*store);
        let zeroed = |offset: u64, length: usize| {
            let mut channel = blocking(&*store);
            channel.write_slice(offset, &vec![0; length]).expect("a write");
            let opened = open(&store, &lower, BACK).map(drop);
            channel.write_slice(0, &whole).expect("a write");
            opened.map_err(|error| (error.kind(), error.to_string()))
        };
        for (offset, length, kind, says) in [
            (0, 512, ErrorKind::Refused, "lost its beginning"),
            (0, 1 << 20, ErrorKind::Refused, "lost its beginning"),
            (0, 2 << 20, ErrorKind::Refused, "lost its beginning"),
            (MAP, 512, ErrorKind::Corrupt, "page 0 of the map is damaged: it is all zero"),
            (MAP + 512, 512, ErrorKind::Corrupt, "page 1 of the map"),
            (MAP + 1024, 512, ErrorKind::Corrupt, "page 2 of the map"),
        ] {
            let (found, text) = zeroed(offset, length).expect_err("not silently");
            assert!(
                found == kind && text.contains(says),
                "{offset}+{length}, crash: {crashes}: {text}"
            );
        }
        // The witness alone may go: then nothing is known, and what is dirty stays.
        zeroed(512 << 10, 512).expect("nothing is lost by it");
    }
}

/// "The superblock counts and sums them at close": a page that is whole, but of an earlier time.
#[test]
fn a_map_that_is_not_the_one_the_cache_was_closed_with_is_refused() {
    let (store, lower) = (Arc::new(Memory::with(store_info(20))), filled(60 * 4096, 3));
    drop(open(&store, &lower, BACK).expect("a cache"));
    let mut page = [0; 512];
    blocking(&*store).read_slice(1 << 20, &mut page).expect("a read");
    blocking(&*open(&store, &lower, BACK).expect("a cache"))
        .write_slice(0, &[7; 4096])
        .expect("a write");
    blocking(&*store).write_slice(1 << 20, &page).expect("a write");
    let error = open(&store, &lower, BACK).map(drop).expect_err("an old page");
    assert!(
        error.kind() == ErrorKind::Corrupt
            && error.to_string().contains("0 clean and 1 dirty blocks"),
        "{error}"
    );
}

#[test]
fn a_store_of_version_1_is_read_and_one_of_a_later_version_is_refused_in_one_line() {
    let (store, lower) = (Arc::new(Memory::with(store_info(140))), filled(200 * 4096, 3));
    blocking(&*open(&store, &lower, BACK).expect("a cache"))
        .write_slice(0, &[7; 4096])
        .expect("a write");
    let mut channel = blocking(&*store);
    let mut block = [0; 512];
    channel.read_slice(0, &mut block).expect("a read");
    let mut with = |version: u32, name_at: usize| {
        let mut old = block;
        old[16..20].copy_from_slice(&version.to_le_bytes());
        old[80..508].fill(0);
        old[name_at..name_at + 4].copy_from_slice(b"ram:");
        let checksum = crc32c::crc32c(&old[..508]);
        old[508..].copy_from_slice(&checksum.to_le_bytes());
        channel.write_slice(0, &old).expect("a write");
    };
    with(3, 80);
    let error = open(&store, &lower, BACK).map(drop).expect_err("of a later version");
    assert!(error.to_string().contains("version 3; this raidloom knows version 2"), "{error}");
    with(1, 80);
    // What version 1 left of pages without entries.
    blocking(&*store).write_slice((1 << 20) + 1024, &[0; 512]).expect("a write");
    assert_eq!(examine_store(&*store).expect("readable").expect("a cache's").dirty_bytes, 4096);
    let mut found = [0; 4096];
    blocking(&*open(&store, &lower, BACK).expect("a cache"))
        .read_slice(0, &mut found)
        .expect("a read");
    assert_eq!(found, [7; 4096]);
    assert_eq!(
        examine_store(&*store).expect("readable").expect("a cache's").dirty_bytes,
        4096,
        "it is of version 2 now"
    );
}

/// A store on a host that is full: what was never written to takes nothing.
struct FullStore {
    below: Arc<Memory>,
    is_full: AtomicBool,
    taken: Mutex<HashSet<u64>>,
}
struct FullChannel(Box<dyn Channel>, Arc<FullStore>, Vec<Completion>);
struct FullDevice(Arc<FullStore>);

impl Device for FullDevice {
    fn info(&self) -> &Info {
        self.0.below.info()
    }
    fn describe(&self) -> Node {
        self.0.below.describe()
    }
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(FullChannel(
            self.0.below.open(depth, reactor)?,
            Arc::clone(&self.0),
            Vec::new(),
        )))
    }
}

impl Channel for FullChannel {
    fn submit(&mut self, request: Request) {
        if let Op::Write { offset, from, .. } = &request.op {
            let mut taken = self.1.taken.lock().expect("not poisoned");
            let blocks = offset / 512..(offset + from.len() as u64) / 512;
            if self.1.is_full.load(Ordering::Relaxed)
                && blocks.clone().any(|block| !taken.contains(&block))
            {
                self.2.push(
                    request
                        .complete(Err(Error::new(ErrorKind::NoSpace, "no space left on the host"))),
                );
                return;
            }
            taken.extend(blocks);
        }
        self.0.submit(request);
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.0.poll(done);
        done.append(&mut self.2);
    }
    fn in_flight(&self) -> u32 {
        self.0.in_flight() + self.2.len() as u32
    }
}

/// "A full host file system under a write-back store makes every read fail": no room means no new
/// block, and nothing else.
#[test]
fn a_store_whose_host_is_full_takes_nothing_new_and_loses_nothing() {
    for mode in MODES {
        let full = Arc::new(FullStore {
            below: Arc::new(Memory::with(store_info(20))),
            is_full: false.into(),
            taken: Mutex::default(),
        });
        let lower = filled(60 * 4096, 3);
        let mut expected = contents(&*lower);
        let store: Arc<dyn Device> = Arc::new(FullDevice(Arc::clone(&full)));
        let cache = Cache::open(
            store,
            Arc::clone(&lower) as Arc<dyn Device>,
            &proven(1),
            CacheOptions { mode, ..BACK },
        )
        .expect("a cache");
        let mut channel = blocking(&cache);
        let mut write = |channel: &mut block::Blocking, offset: usize, byte: u8, length: usize| {
            expected[offset..offset + length].fill(byte);
            channel.write_slice(offset as u64, &vec![byte; length]).expect("a write");
            expected.clone()
        };
        write(&mut channel, 0, 1, 3 * 4096);
        channel.read_slice(10 * 4096, &mut [0; 4096]).expect("a read that comes in");
        channel.flush().expect("a flush");
        full.is_full.store(true, Ordering::Relaxed);
        // A block that is there and dirty, one that would be new, a part of one, and some of both
        // kinds at once.
        write(&mut channel, 4096, 2, 4096);
        write(&mut channel, 20 * 4096, 3, 4096);
        write(&mut channel, 25 * 4096 + 512, 4, 512);
        let expected = write(&mut channel, 4096, 5, 6 * 4096);
        assert_eq!(contents(&cache), expected, "{mode}: reads of clean, dirty and missing blocks");
        channel.flush().expect("a flush");
        let status = cache.handle().status().expect("it is open");
        assert_eq!(
            (status.failure, status.dirty_bytes > 0),
            (None, mode == CacheMode::WriteBack),
            "{mode}"
        );
        drop((channel, cache));
        full.below.crash(1);
        full.below.power_on();
        lower.crash(2);
        lower.power_on();
        let options = CacheOptions { mode, ..BACK };
        let again = alone(&full.below, &lower, options);
        assert_eq!(contents(&again.expect("a cache")), expected, "{mode}");
    }
}

/// "No way to the dirty blocks once the fingerprint differs", nor after damage: what can be read
/// goes out, the rest is named.
#[test]
fn what_is_dirty_can_be_salvaged_from_a_store_that_is_refused() {
    let (store, lower) = used_once(BACK, true);
    blocking(&*lower).write_slice(0, &[9; 512]).expect("somebody writes without the cache");
    assert!(known(&store, &lower, &proven(2), BACK).is_err());
    let before = contents(&*store);
    let seen = salvage(&*store, Some((&*lower, &proven(2))), None).expect("it can be read");
    assert_eq!((&seen.ranges[..], &seen.lost[..]), (&[(BETWEEN + 8192, 4096)][..], &[][..]));
    assert!(seen.device.expect("it was looked at").english().contains("was written to"));
    let mut expected = contents(&*lower);
    assert_ne!(expected[BETWEEN as usize + 8192], 7, "nothing was written");
    expected[BETWEEN as usize + 8192..][..4096].fill(7);
    let target = Arc::clone(&lower) as Arc<dyn Device>;
    assert_eq!(salvage(&*store, None, Some(&target)).expect("a salvage").bytes(), 4096);
    assert!(
        contents(&*lower) == expected && contents(&*store) == before,
        "the device has it, and the store is as it was"
    );

    // A page that is gone is named.
    blocking(&*store).write_slice(1 << 20, &[0; 512]).expect("a write");
    let seen = salvage(&*store, None, None).expect("the rest");
    assert!(
        seen.ranges.is_empty() && seen.lost[0].english().contains("page 0 of the map"),
        "{seen:?}"
    );
    let small = Arc::new(Memory::new(1 << 20)) as Arc<dyn Device>;
    assert_eq!(
        salvage(&*store, None, Some(&small)).expect_err("too small").kind(),
        ErrorKind::Invalid
    );
}

#[test]
fn damage_in_the_map_is_named() {
    let (store, lower) = (Arc::new(Memory::with(store_info(6))), filled(16 * 4096, 1));
    contents(&*open(&store, &lower, BACK).expect("a cache"));
    let mut page = [0; 512];
    blocking(&*store).read_slice(1 << 20, &mut page).expect("a read");
    page[20] ^= 1;
    blocking(&*store).write_slice(1 << 20, &page).expect("a write");
    let error = open(&store, &lower, BACK).map(drop).expect_err("a damaged map");
    assert!(
        error.kind() == ErrorKind::Corrupt && error.to_string().contains("page 0 of the map"),
        "{error}"
    );
}

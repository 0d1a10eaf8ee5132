//! What upkeep does for a cache: writing out when the cache is idle or too much is dirty,
//! and changes of size.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use block::{
    Blocking, ContractCheck, Device, EmulatingDevice, ErrorKind, Info, Reactor, Support, Time,
};
use cache::{
    Cache, CacheHandle, CacheMode, CacheOptions, CacheStatus, CacheUpkeep, Facts, KeepingOptions,
    PolicyKind,
};
use testkit::crash::{self, Crashable, Options, Rig};
use testkit::model::{self, Load};
use testkit::{Fault, Memory, conformance};

use common::{KeptByThread, Restless, able, blocking, drive_while_failing, slow};

const BLOCK: u64 = 4096;
const MODES: [CacheMode; 3] =
    [CacheMode::WriteBack, CacheMode::WriteThrough, CacheMode::WriteAround];

fn cache(slots: u64, room: u64, lower: Arc<dyn Device>, options: CacheOptions) -> Cache {
    let store = ContractCheck::over(Arc::new(Memory::with(able(room * BLOCK))));
    Cache::in_memory(store, slots * BLOCK, ContractCheck::over(lower), options).expect("a cache")
}

fn write_back(keeping: KeepingOptions) -> CacheOptions {
    CacheOptions {
        mode: CacheMode::WriteBack,
        policy: PolicyKind::Lru,
        keeping,
        ..CacheOptions::default()
    }
}

/// Never for idleness, and not before half of the cache is dirty.
const CALM: KeepingOptions =
    KeepingOptions { idle: None, high_percent: 50, low_percent: 50, rate_bytes_per_second: None };

fn status(handle: &CacheHandle) -> CacheStatus {
    handle.status().expect("it is open")
}

fn dirty(handle: &CacheHandle) -> u64 {
    status(handle).dirty_bytes / BLOCK
}

/// A cache on a virtual clock, its upkeep, and a channel onto it.
struct Room {
    reactor: Reactor,
    upkeep: CacheUpkeep,
    handle: CacheHandle,
    channel: Blocking,
}

impl Room {
    fn new(cache: &Cache) -> Room {
        let reactor = Reactor::virtual_clock();
        let handle = cache.handle();
        let upkeep = CacheUpkeep::open(&handle, &reactor).expect("upkeep");
        let channel = Blocking::open(cache, &reactor).expect("a channel");
        Room { reactor, upkeep, handle, channel }
    }

    /// Keeps the cache until then.
    fn keep_until(&mut self, milliseconds: u64) {
        let end = Time(milliseconds * 1_000_000);
        while self.reactor.now() < end {
            assert!(self.upkeep.poll().is_none());
            self.reactor.wait(Some(end)).expect("the clock goes on");
        }
        assert!(self.upkeep.poll().is_none());
    }

    fn write(&mut self, blocks: impl IntoIterator<Item = u64>) {
        blocks.into_iter().for_each(|block| {
            self.channel.write_slice(block * BLOCK, &[block as u8 | 1; 4096]).expect("a write");
        });
    }

    fn resize(&mut self, slots: u64) -> Result<(), block::Error> {
        self.upkeep.resize(slots * BLOCK)?;
        loop {
            if let Some(result) = self.upkeep.poll() {
                return result;
            }
            self.reactor.wait(None).expect("the clock goes on");
        }
    }

    fn expect(&mut self, blocks: impl IntoIterator<Item = u64>) {
        for block in blocks {
            let mut found = [0; 4096];
            self.channel.read_slice(block * BLOCK, &mut found).expect("a read");
            assert_eq!(found, [block as u8 | 1; 4096], "block {block}");
        }
    }
}

/// "After so long without a read or a write, everything."
#[test]
fn what_is_dirty_is_written_out_when_nobody_asks_for_anything() {
    let lower = Arc::new(Memory::with(able(200 * BLOCK)));
    let keeping = KeepingOptions { idle: Some(Duration::from_secs(1)), ..CALM };
    let cache = cache(100, 100, Arc::clone(&lower) as Arc<dyn Device>, write_back(keeping));
    let mut room = Room::new(&cache);
    room.write(0..20);
    room.keep_until(900);
    assert_eq!(dirty(&room.handle), 20, "not yet");
    room.expect([3]);
    room.keep_until(1800);
    assert_eq!(dirty(&room.handle), 20, "somebody has asked for something meanwhile");
    room.keep_until(2600);
    assert_eq!(dirty(&room.handle), 0);
    assert_eq!(status(&room.handle).counts.written_out, 20);
    assert!(status(&room.handle).write_out_bytes_per_second > 0);
    let mut found = [0; 4096];
    blocking(&*lower).read_slice(7 * BLOCK, &mut found).expect("a read");
    assert_eq!(found, [7; 4096]);
    room.keep_until(9000);
    assert_eq!(status(&room.handle).write_out_bytes_per_second, 0, "nothing was, of late");
}

/// "From more than so many dirty blocks on … down to so many."
#[test]
fn too_much_is_written_out_down_to_the_lower_mark() {
    let keeping = KeepingOptions { high_percent: 40, low_percent: 25, ..CALM };
    let cache = cache(100, 100, Arc::new(Memory::with(able(400 * BLOCK))), write_back(keeping));
    let mut room = Room::new(&cache);
    // No two of them side by side: runs of one block.
    room.write((0..40).map(|number| 2 * number));
    room.keep_until(2000);
    assert_eq!(dirty(&room.handle), 40);
    room.write([101]);
    room.keep_until(4000);
    assert_eq!(dirty(&room.handle), 25);
    room.expect((0..40).map(|number| 2 * number));
}

#[test]
fn write_out_keeps_to_its_rate() {
    let rate = 256 << 10;
    let keeping = KeepingOptions {
        idle: Some(Duration::from_secs(1)),
        rate_bytes_per_second: Some(rate),
        ..CALM
    };
    let cache = cache(2048, 2048, Arc::new(Memory::with(able(8192 * BLOCK))), write_back(keeping));
    let mut room = Room::new(&cache);
    room.write((0..512).map(|number| 3 * number));
    // 2 MiB at 256 KiB a second, after a second of idleness.
    for (milliseconds, least, most) in [(3000, 368, 400), (5000, 240, 272), (8500, 16, 48)] {
        room.keep_until(milliseconds);
        let left = dirty(&room.handle);
        assert!((least..=most).contains(&left), "{left} dirty blocks after {milliseconds} ms");
        let shown = status(&room.handle).write_out_bytes_per_second;
        assert!((rate / 2..=2 * rate).contains(&shown), "{shown} bytes per second are shown");
    }
    room.keep_until(10_000);
    assert_eq!(dirty(&room.handle), 0);
}

#[test]
fn what_cannot_be_written_out_stays_until_a_flush_asks_for_it() {
    let lower = Arc::new(Memory::with(able(200 * BLOCK)));
    let keeping = KeepingOptions { idle: Some(Duration::from_secs(1)), ..CALM };
    let cache = cache(100, 100, Arc::clone(&lower) as Arc<dyn Device>, write_back(keeping));
    let mut room = Room::new(&cache);
    room.write([5]);
    lower.fail_next(Fault::Write);
    room.keep_until(5000);
    assert_eq!(dirty(&room.handle), 1);
    room.expect([5]);
    room.channel.flush().expect("the device works again");
    assert_eq!(dirty(&room.handle), 0);
}

#[test]
fn a_cache_that_grows_keeps_what_it_has() {
    let cache = cache(8, 64, Arc::new(Memory::with(able(64 * BLOCK))), write_back(CALM));
    let mut room = Room::new(&cache);
    room.write(0..3);
    room.channel.read_slice(10 * BLOCK, &mut [0; 5 * 4096]).expect("five more");
    let before = status(&room.handle);
    assert_eq!(
        (before.size_bytes, before.used_bytes, before.dirty_bytes),
        (8 * BLOCK, 8 * BLOCK, 3 * BLOCK)
    );
    room.resize(40).expect("a larger cache");
    let after = status(&room.handle);
    assert_eq!(
        (after.size_bytes, after.used_bytes, after.dirty_bytes),
        (40 * BLOCK, 8 * BLOCK, 3 * BLOCK)
    );
    assert!(after.metadata_bytes > before.metadata_bytes);
    room.channel.read_slice(10 * BLOCK, &mut [0; 5 * 4096]).expect("a read");
    room.expect(0..3);
    assert_eq!(status(&room.handle).counts.read_hits, before.counts.read_hits + 8);
    room.channel.read_slice(20 * BLOCK, &mut [0; 30 * 4096]).expect("a read");
    assert_eq!(status(&room.handle).used_bytes, 38 * BLOCK);
}

#[test]
fn a_cache_that_shrinks_writes_out_what_has_to_go() {
    let lower = Arc::new(Memory::with(able(100 * BLOCK)));
    let cache = cache(60, 60, Arc::clone(&lower) as Arc<dyn Device>, write_back(CALM));
    let mut room = Room::new(&cache);
    room.channel.read_slice(60 * BLOCK, &mut [0; 20 * 4096]).expect("clean ones");
    room.write(0..25);
    let before = status(&room.handle);
    assert_eq!((before.used_bytes, before.dirty_bytes), (45 * BLOCK, 25 * BLOCK));
    room.resize(30).expect("a smaller cache");
    let after = status(&room.handle);
    assert_eq!((after.size_bytes, after.used_bytes), (30 * BLOCK, 30 * BLOCK));
    assert_eq!(after.dirty_bytes, 10 * BLOCK, "those that were in what stays");
    assert_eq!(after.counts.written_out, 15);
    assert!(after.metadata_bytes < before.metadata_bytes);
    room.expect(0..25);
    assert!(cache.describe().to_string().contains("write-back"));
    room.write(30..50);
    room.resize(1).expect("a very small cache");
    assert_eq!(status(&room.handle).size_bytes, BLOCK);
    room.expect((0..25).chain(30..50));
    room.resize(60).expect("a large one again");
    room.expect((0..25).chain(30..50));
    assert!(status(&room.handle).used_bytes > 40 * BLOCK);
}

#[test]
fn a_size_that_cannot_be_is_refused_and_one_that_fails_changes_nothing() {
    let lower = Arc::new(Memory::with(able(100 * BLOCK)));
    let cache =
        cache(20, 50, Arc::clone(&lower) as Arc<dyn Device>, write_back(KeepingOptions::below(50)));
    let mut room = Room::new(&cache);
    for slots in [0, 51] {
        assert_eq!(
            room.resize(slots).expect_err("no size for it").kind(),
            ErrorKind::Invalid,
            "{slots} slots"
        );
    }
    room.write(0..9);
    lower.fail_next(Fault::Write);
    let error = room.resize(2).expect_err("it cannot be written out");
    assert!(
        error.kind() == ErrorKind::Media && error.to_string().contains("size stays as it was"),
        "{error}"
    );
    assert_eq!(status(&room.handle).size_bytes, 20 * BLOCK);
    room.expect(0..9);
    room.resize(2).expect("the device works again");
    room.expect(0..9);

    let store = Arc::new(Memory::with(Info::plain(4 << 20)));
    let kept = Cache::open(
        store,
        Arc::new(Memory::with(able(100 * BLOCK))),
        &Facts::none(),
        CacheOptions::default(),
    )
    .expect("a cache");
    let error = Room::new(&kept).resize(10).expect_err("it is kept");
    assert!(
        error.kind() == ErrorKind::Unsupported && error.to_string().contains("file:PATH?size=SIZE"),
        "{error}"
    );
}

/// The reference model, with write-outs and other sizes at every turn, over devices that fail now
/// and then.
#[test]
fn a_restless_cache_keeps_the_contract() {
    let keeping = KeepingOptions {
        idle: None,
        high_percent: 10,
        low_percent: 0,
        rate_bytes_per_second: None,
    };
    for (seed, mode) in (1..).zip(MODES) {
        for policy in PolicyKind::ALL {
            let options = CacheOptions { mode, policy, keeping, ..CacheOptions::default() };
            let make =
                || Restless::over(cache(5, 12, slow(able(97 * 512), seed), options), 12, seed);
            conformance::run(make, Reactor::virtual_clock, seed)
                .unwrap_or_else(|violation| panic!("{mode}, {policy}: {violation}"));
        }
        let options = CacheOptions { mode, keeping, ..CacheOptions::default() };
        let make = || {
            KeptByThread::over(
                cache(5, 12, Arc::new(Memory::with(able(300 * 512))), options),
                12,
                seed,
            )
        };
        let wall = || Reactor::wall().expect("io_uring");
        conformance::run(make, wall, seed)
            .unwrap_or_else(|violation| panic!("{mode}, threads: {violation}"));
    }
    for seed in 0..30 {
        let mode = MODES[seed as usize % 3];
        let lower = slow(able(97 * 512), seed);
        let options = CacheOptions {
            mode,
            policy: PolicyKind::ALL[seed as usize % 7],
            keeping,
            ..CacheOptions::default()
        };
        let device =
            Restless::over(cache(6, 12, Arc::clone(&lower) as Arc<dyn Device>, options), 12, seed);
        drive_while_failing(&device, &lower, [Fault::Write, Fault::Read], (3, 200), seed);
    }
}

/// "Nothing durable is ever lost", whatever size the cache is given.
#[test]
fn crashes_of_a_restless_cache_lose_nothing_durable() {
    let keeping = KeepingOptions {
        idle: None,
        high_percent: 20,
        low_percent: 10,
        rate_bytes_per_second: None,
    };
    let mut crashes = 0;
    for seed in 0..6 {
        let rig = || {
            let lower = slow(able(96 * 512), seed);
            let below = Arc::clone(&lower) as Arc<dyn Device>;
            let start = Box::new(move || {
                Ok(Restless::over(cache(5, 12, Arc::clone(&below), write_back(keeping)), 12, seed))
            });
            Rig { members: vec![lower], start }
        };
        let steps = crash::history(&able(96 * 512), 50, seed);
        let found = crash::enumerate(
            rig,
            Reactor::virtual_clock,
            &steps,
            &Options { points: 60, ..Options::default() },
            seed,
        );
        crashes += found.unwrap_or_else(|violation| panic!("seed {seed}: {violation}")).crashes;
    }
    assert!(crashes > 700, "{crashes} crashes");
}

/// The same for a store that is kept: its upkeep writes out and has the map say so, at every turn.
#[test]
fn a_store_that_is_kept_loses_nothing_to_its_upkeep() {
    let keeping = KeepingOptions {
        idle: None,
        high_percent: 20,
        low_percent: 0,
        rate_bytes_per_second: None,
    };
    let open = move |store: &Arc<Memory>, lower: &Arc<Memory>| {
        Cache::open(
            Arc::clone(store) as _,
            Arc::clone(lower) as _,
            &Facts::none(),
            write_back(keeping),
        )
    };
    let store =
        |seed| slow(Info { volatile_cache: true, ..Info::plain((3 << 20) + 6 * BLOCK) }, seed);
    let mut crashes = 0;
    for seed in 0..6 {
        let cache = open(&store(seed), &slow(able(96 * 512), seed + 100)).expect("a cache");
        let handle = cache.handle();
        let device = EmulatingDevice::over(Restless::over(cache, 6, seed));
        let load = Load { requests: 300, depth: 4, channels: 2, longest_blocks: 20 };
        model::drive(&device, &Reactor::virtual_clock(), &load, seed)
            .unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        assert!(status(&handle).counts.written_out > 0, "seed {seed}");

        let rig = || {
            let (store, lower) = (store(seed), slow(able(96 * 512), seed + 100));
            let members: Vec<Arc<dyn Crashable>> =
                vec![Arc::clone(&store) as _, Arc::clone(&lower) as _];
            Rig {
                members,
                start: Box::new(move || {
                    Ok(EmulatingDevice::over(Restless::over(open(&store, &lower)?, 6, seed)))
                }),
            }
        };
        let steps = crash::history(&Info { fua: Support::Emulated, ..able(96 * 512) }, 50, seed);
        let found = crash::enumerate(
            rig,
            Reactor::virtual_clock,
            &steps,
            &Options { points: 40, ..Options::default() },
            seed,
        );
        crashes += found.unwrap_or_else(|violation| panic!("seed {seed}: {violation}")).crashes;
    }
    assert!(crashes > 500, "{crashes} crashes");
}

//! Planted mistakes, each of which some check has to find: a check that finds nothing proves
//! nothing.
//!
//! Each is made by a device that stands where the cache would have made it: a write that goes past
//! the cache, a write-out that never arrives, a flush or a page of the map that is left out.

use crate::common;

use std::sync::Arc;

use block::{
    Channel, Completion, Device, EmulatingDevice, Error, Info, Node, Op, Reactor, Request,
};
use cache::{Cache, CacheMode, CacheOptions, Facts, KeepingOptions};
use testkit::crash::{self, Crashable, Options, Rig};
use testkit::model::{self, Load};
use testkit::{Memory, Violation};

use common::{able, slow};

const BLOCKS: u64 = 96;

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// Nothing: the rig itself is innocent.
    None,
    /// Writes go around a cache that keeps what it had.
    StaleAfterWriteAround,
    /// What is written out to make room never reaches the device.
    LosesWhatIsWrittenOut,
    /// The map becomes durable without the data that it speaks for: the store is not flushed before
    /// it.
    MapBeforeData,
    /// Flushes leave the map out.
    FlushWithoutMap,
    /// A slot is taken back in the map before the device below has what was in it for good.
    FreesBeforeFlush,
}

/// Passes requests on to one of two devices, or to none.
struct Switch {
    usual: Arc<dyn Device>,
    other: Arc<dyn Device>,
    route: fn(&Op) -> Route,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    Usual,
    Other,
    /// Answered as if it were done.
    Nobody,
}

struct SwitchChannel {
    usual: Box<dyn Channel>,
    other: Box<dyn Channel>,
    route: fn(&Op) -> Route,
    ended: Vec<Completion>,
}

impl Device for Switch {
    fn info(&self) -> &Info {
        self.usual.info()
    }
    fn describe(&self) -> Node {
        self.usual.describe()
    }
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let (usual, other) = (self.usual.open(depth, reactor)?, self.other.open(depth, reactor)?);
        Ok(Box::new(SwitchChannel { usual, other, route: self.route, ended: Vec::new() }))
    }
}

impl Channel for SwitchChannel {
    fn submit(&mut self, request: Request) {
        match (self.route)(&request.op) {
            Route::Usual => self.usual.submit(request),
            Route::Other => self.other.submit(request),
            Route::Nobody => self.ended.push(request.complete(Ok(()))),
        }
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.usual.poll(done);
        self.other.poll(done);
        done.append(&mut self.ended);
    }
    fn in_flight(&self) -> u32 {
        self.usual.in_flight() + self.other.in_flight() + self.ended.len() as u32
    }
}

fn switch(
    usual: Arc<dyn Device>,
    other: &Arc<dyn Device>,
    route: fn(&Op) -> Route,
) -> Arc<dyn Device> {
    Arc::new(Switch { usual, other: Arc::clone(other), route })
}

fn is_map(op: &Op) -> bool {
    matches!(op, Op::Write { offset, .. } if (1 << 20..2 << 20).contains(offset))
}

/// Puts the cache together with its mistake.
fn start(
    mistake: Mistake,
    store: &Arc<Memory>,
    lower: &Arc<Memory>,
) -> Result<Arc<dyn Device>, Error> {
    let (mut store, below) =
        (Arc::clone(store) as Arc<dyn Device>, Arc::clone(lower) as Arc<dyn Device>);
    let mut lower = Arc::clone(&below);
    let options = CacheOptions {
        mode: CacheMode::WriteBack,
        dirty_percent: 30,
        keeping: KeepingOptions::below(30),
        ..CacheOptions::default()
    };
    let nobody_flushes =
        |op: &Op| if matches!(op, Op::Flush) { Route::Nobody } else { Route::Usual };
    let no_map = |op: &Op| if is_map(op) { Route::Nobody } else { Route::Usual };
    let no_writes =
        |op: &Op| if matches!(op, Op::Write { .. }) { Route::Nobody } else { Route::Usual };
    match mistake {
        Mistake::None => (),
        Mistake::StaleAfterWriteAround => {
            let cache = Cache::open(
                store,
                lower,
                &Facts::none(),
                CacheOptions { mode: CacheMode::WriteThrough, ..options },
            )?;
            let around = |op: &Op| if op.changes_data() { Route::Other } else { Route::Usual };
            return Ok(EmulatingDevice::over(switch(Arc::new(cache), &below, around)));
        }
        Mistake::LosesWhatIsWrittenOut => lower = switch(lower, &below, no_writes),
        Mistake::MapBeforeData => store = switch(Arc::clone(&store), &store, nobody_flushes),
        Mistake::FlushWithoutMap => store = switch(Arc::clone(&store), &store, no_map),
        Mistake::FreesBeforeFlush => lower = switch(lower, &below, nobody_flushes),
    }
    Ok(EmulatingDevice::over(Arc::new(Cache::open(store, lower, &Facts::none(), options)?)))
}

fn devices(seed: u64) -> (Arc<Memory>, Arc<Memory>) {
    let store = Info { volatile_cache: true, ..Info::plain((3 << 20) + 5 * 4096) };
    (slow(store, seed), slow(able(BLOCKS * 512), seed + 100))
}

/// The reference model, and then crashes.
fn check(mistake: Mistake, seed: u64) -> Result<(), Violation> {
    let (store, lower) = devices(seed);
    let device = start(mistake, &store, &lower).expect("a cache");
    let load = Load { requests: 300, depth: 4, channels: 2, longest_blocks: 16 };
    model::drive(&device, &Reactor::virtual_clock(), &load, seed)?;
    let rig = || {
        let (store, lower) = devices(seed);
        let members: Vec<Arc<dyn Crashable>> =
            vec![Arc::clone(&store) as _, Arc::clone(&lower) as _];
        Rig { members, start: Box::new(move || start(mistake, &store, &lower)) }
    };
    let steps = crash::history(&able(BLOCKS * 512), 60, seed);
    crash::enumerate(
        rig,
        Reactor::virtual_clock,
        &steps,
        &Options { points: 60, ..Options::default() },
        seed,
    )
    .map(drop)
}

#[test]
fn the_rig_itself_is_innocent() {
    for seed in 0..3 {
        assert_eq!(check(Mistake::None, seed), Ok(()));
    }
}

#[test]
fn every_planted_mistake_is_found() {
    for (mistake, rule) in [
        (Mistake::StaleAfterWriteAround, "C15"),
        (Mistake::LosesWhatIsWrittenOut, "C15"),
        (Mistake::MapBeforeData, "C28"),
        (Mistake::FlushWithoutMap, "C28"),
        (Mistake::FreesBeforeFlush, "C28"),
    ] {
        let found: Vec<Violation> = (0..8).filter_map(|seed| check(mistake, seed).err()).collect();
        assert!(!found.is_empty(), "{mistake:?} was not found");
        assert!(
            found.iter().any(|violation| violation.rule == rule),
            "{mistake:?} was found by {found:?} instead of {rule}"
        );
    }
}

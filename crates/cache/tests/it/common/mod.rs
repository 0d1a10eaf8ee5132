//! What the tests of caches share: devices that can do what a cache has to cope with, and a cache
//! that is kept.
#![allow(dead_code, reason = "every test file uses its own part")]

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use block::{
    Blocking, Channel, Completion, Device, DiscardSupport, Error, Info, Node, Reactor, Request,
    Support,
};
use cache::{Cache, CacheHandle, CacheUpkeep};
use reactor::{Random, derive_seed};
use testkit::model::{self, Load};
use testkit::{Fault, Memory};

/// A device below that can do everything, and loses what was not flushed.
pub(crate) fn able(size_bytes: u64) -> Info {
    Info {
        fua: Support::Native,
        zeroes: Support::Native,
        discard: DiscardSupport::ReadsZero,
        volatile_cache: true,
        ..Info::plain(size_bytes)
    }
}

/// A device that takes up to 50 µs for everything.
pub(crate) fn slow(info: Info, seed: u64) -> Arc<Memory> {
    Arc::new(Memory::with(info).delayed(seed, Duration::from_micros(50)))
}

pub(crate) fn blocking(device: &dyn Device) -> Blocking {
    Blocking::open(device, &Reactor::virtual_clock()).expect("it opens")
}

/// Drives random load at a cache for some rounds. At each, one request of the device `failing`
/// below fails, by turns of these two kinds: errors are told, and what was written is old or new.
pub(crate) fn drive_while_failing(
    device: &Arc<dyn Device>,
    failing: &Memory,
    faults: [Fault; 2],
    (rounds, requests): (u64, u32),
    seed: u64,
) {
    for (round, fault) in (0..rounds).zip(faults.into_iter().cycle()) {
        failing.fail_next(fault);
        let load = Load { requests, depth: 4, channels: 2, longest_blocks: 20 };
        let seed_of_round = derive_seed(seed, "load", round);
        model::drive(device, &Reactor::virtual_clock(), &load, seed_of_round)
            .unwrap_or_else(|violation| panic!("{}, seed {seed}: {violation}", device.describe()));
    }
}

thread_local! {
    /// The upkeep of all caches of this thread: what waits for one channel polls no other, but
    /// upkeep has to be polled.
    static UPKEEPS: RefCell<Vec<Weak<RefCell<CacheUpkeep>>>> = const { RefCell::new(Vec::new()) };
}

/// A cache on the virtual clock with upkeep at each of its channels, which gives it another size
/// now and then.
pub(crate) struct Restless {
    cache: Cache,
    slots: u64,
    random: Arc<Mutex<Random>>,
}

impl Restless {
    /// A cache of memory; it will have 1 to `slots` blocks of 4 KiB.
    pub(crate) fn over(cache: Cache, slots: u64, seed: u64) -> Arc<dyn Device> {
        Arc::new(Restless { cache, slots, random: Arc::new(Mutex::new(Random::with_seed(seed))) })
    }
}

struct RestlessChannel {
    below: Box<dyn Channel>,
    upkeep: Rc<RefCell<CacheUpkeep>>,
    handle: CacheHandle,
    slots: u64,
    random: Arc<Mutex<Random>>,
}

impl Device for Restless {
    fn info(&self) -> &Info {
        self.cache.info()
    }
    fn describe(&self) -> Node {
        self.cache.describe()
    }
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let (below, handle) = (self.cache.open(depth, reactor)?, self.cache.handle());
        let upkeep = Rc::new(RefCell::new(CacheUpkeep::open(&handle, reactor)?));
        UPKEEPS.with_borrow_mut(|all| {
            all.retain(|upkeep| upkeep.strong_count() > 0);
            all.push(Rc::downgrade(&upkeep));
        });
        Ok(Box::new(RestlessChannel {
            below,
            upkeep,
            handle,
            slots: self.slots,
            random: Arc::clone(&self.random),
        }))
    }
}

impl Channel for RestlessChannel {
    fn submit(&mut self, request: Request) {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if random.u8(..8) == 0 {
            // Refused while another channel's upkeep is at it.
            let _ = self.upkeep.borrow_mut().resize(random.u64(1..=self.slots) * 4096);
        }
        drop(random);
        self.below.submit(request);
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        let all: Vec<_> = UPKEEPS.with_borrow(|all| all.iter().filter_map(Weak::upgrade).collect());
        // One that cannot write out says so, and the cache is as large as before.
        all.iter().for_each(|upkeep| _ = upkeep.borrow_mut().poll());
        if let Some(status) = self.handle.status() {
            assert!(
                status.used_bytes <= self.slots * 4096 && status.dirty_bytes <= status.used_bytes,
                "{status:?}"
            );
        }
        self.below.poll(done);
    }
    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

/// A cache that a thread of its own keeps, and gives another size all the time.
pub(crate) struct KeptByThread {
    cache: Cache,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl KeptByThread {
    /// A cache of memory; it will have 1 to `slots` blocks of 4 KiB.
    pub(crate) fn over(cache: Cache, slots: u64, seed: u64) -> Arc<dyn Device> {
        let (handle, ending) = (cache.handle(), Arc::new(AtomicBool::new(false)));
        let is_ending = Arc::clone(&ending);
        let thread = std::thread::spawn(move || {
            let reactor = Reactor::wall().expect("io_uring");
            let mut upkeep = CacheUpkeep::open(&handle, &reactor).expect("upkeep");
            let mut random = Random::with_seed(seed);
            while !is_ending.load(Ordering::Acquire) {
                let _ = upkeep.poll();
                let _ = upkeep.resize(random.u64(1..=slots) * 4096);
                reactor
                    .wait(Some(reactor.now() + Duration::from_micros(50)))
                    .expect("time goes on");
            }
        });
        Arc::new(KeptByThread { cache, ending, thread: Some(thread) })
    }
}

impl Device for KeptByThread {
    fn info(&self) -> &Info {
        self.cache.info()
    }
    fn describe(&self) -> Node {
        self.cache.describe()
    }
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        self.cache.open(depth, reactor)
    }
}

impl Drop for KeptByThread {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(matches!(ended, Some(Ok(()))), "the upkeep's thread has panicked");
        }
    }
}

//! What has nothing to do does nothing: every set-up goes to sleep after its work and is not woken
//! for what is not taken.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use array::sync::SyncScheduler;
use block::{BufMut, Channel, Error, ErrorKind, Op, Reactor, Request};
use cache::CacheUpkeep;
use reactor::WakeReason;
use stack::{BuildContext, OpenFiles, Stack, parse_and_build};

/// Memory and models only, with a bound on how long members may take for an answer.
struct Bounded(Option<Duration>);

impl OpenFiles for Bounded {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, Error> {
        Err(Error::new(ErrorKind::Refused, format!("{}: no files here", path.display())))
    }

    fn member_time(&self) -> Option<Duration> {
        self.0
    }
}

/// Every level, and every layer below and above one; slow leaves, so that there is something to
/// wait for.
const SETUPS: [&str; 16] = [
    "linear(SLOW, SLOW)",
    "raid0(chunk=4KiB, SLOW, SLOW)",
    "raid1(SLOW, SLOW)",
    "raid1(SLOW, missing, SLOW)",
    "raid10(chunk=4KiB, SLOW, SLOW, SLOW, SLOW)",
    "raid4(chunk=4KiB, SLOW, SLOW, SLOW)",
    "raid5(chunk=4KiB, SLOW, SLOW, SLOW)",
    "raid6(chunk=4KiB, SLOW, SLOW, missing, SLOW)",
    "raid0(chunk=4KiB, raid1(SLOW, SLOW), raid5(chunk=4KiB, SLOW, SLOW, SLOW))",
    "cache(mode=write-through, ram:128KiB, raid5(chunk=4KiB, SLOW, SLOW, SLOW))",
    "cache(mode=write-back, ram:128KiB, raid10(chunk=4KiB, SLOW, SLOW, SLOW, SLOW))",
    "cache(mode=write-back, raid1(fault(delay=3ms, ram:8MiB), ram:8MiB), raid1(SLOW, SLOW))",
    "raid1(cache(mode=write-through, ram:64KiB, SLOW), cache(mode=write-back, ram:64KiB, SLOW))",
    "overlay(ram:4MiB, raid6(chunk=4KiB, SLOW, SLOW, SLOW, SLOW))",
    "raid1(overlay(ram:4MiB, SLOW), overlay(keep=no, ram:4MiB, SLOW))",
    "raid1(model:maxtor-6y200p0, model:maxtor-6y200p0)",
];
const SLOW: &str = "fault(volatile=yes, delay=3ms, ram:256KiB)";

fn build(text: &str, time: Option<Duration>) -> Stack {
    let files = Bounded(time);
    let context = BuildContext { seed: 3, emulate: true, ..BuildContext::new(&files) };
    parse_and_build(&text.replace("SLOW", SLOW), &context).expect(text)
}

/// All that a server opens on a stack, on one reactor.
struct Owner {
    channels: Vec<Box<dyn Channel>>,
    caches: Vec<CacheUpkeep>,
    arrays: Vec<SyncScheduler>,
    reactor: Reactor,
}

impl Owner {
    fn of(stack: &Stack) -> Owner {
        let reactor = Reactor::virtual_clock();
        let channels = (0..2).map(|_| stack.device.open(8, &reactor).expect("a channel")).collect();
        let caches = stack
            .caches
            .iter()
            .map(|cache| CacheUpkeep::open(cache, &reactor).expect("upkeep"))
            .collect();
        let arrays = stack
            .arrays
            .running()
            .iter()
            .map(|array| SyncScheduler::open(array.control(), &reactor).expect("upkeep"))
            .collect();
        Owner { channels, caches, arrays, reactor }
    }

    fn poll(&mut self, done: &mut Vec<block::Completion>) {
        self.caches.iter_mut().for_each(|upkeep| drop(upkeep.poll()));
        for upkeep in &mut self.arrays {
            while upkeep.poll().is_some() {}
        }
        self.channels.iter_mut().for_each(|channel| channel.poll(done));
    }

    /// Requests of all kinds, one channel after the other.
    fn work(&mut self, text: &str) {
        let mut data = BufMut::zeroed(16 << 10);
        data.fill(7);
        let data = data.freeze();
        for number in 0..self.channels.len() {
            for round in 0..4 {
                let offset = round * (16 << 10);
                let ops = [
                    Op::Write { offset, from: data.clone(), fua: round % 2 == 1 },
                    Op::Read { offset, into: BufMut::zeroed(8 << 10) },
                    Op::Read { offset: 192 << 10, into: BufMut::zeroed(4 << 10) },
                    Op::Flush,
                ];
                for op in ops {
                    self.channels[number].submit(Request::new(round, op));
                    let mut done = Vec::new();
                    loop {
                        self.poll(&mut done);
                        if let Some(completion) = done.pop() {
                            completion.result.expect(text);
                            break;
                        }
                        assert_ne!(
                            self.reactor.wait(None).expect("no kernel"),
                            WakeReason::Idle,
                            "{text}: never answered"
                        );
                    }
                }
            }
        }
    }

    /// Waits for so long, and says how often that came back.
    fn rest(&mut self, time: Duration, text: &str) -> u64 {
        let (until, before) = (self.reactor.now() + time, self.reactor.rounds());
        let mut done = Vec::new();
        loop {
            self.poll(&mut done);
            assert!(done.is_empty(), "{text}: nothing was asked for");
            if !matches!(
                self.reactor.wait(Some(until)).expect("no kernel"),
                WakeReason::Events | WakeReason::Rung
            ) {
                return self.reactor.rounds() - before;
            }
            assert!(
                self.reactor.rounds() - before < 1_000_000,
                "{text}: it is woken again and again"
            );
        }
    }
}

/// C32: An owner polls its idle channels too before it waits: a channel without requests may have
/// timers or work of its own, and what lies there for it would wake the owner again and again.
///
/// So every set-up is idle when it is idle: first what was begun comes to its end, and then an hour
/// is as good as no time.
#[test]
fn every_set_up_is_idle_when_it_is_idle() {
    for text in SETUPS {
        for time in [Some(Duration::from_secs(30)), None] {
            let stack = build(text, time);
            let mut owner = Owner::of(&stack);
            for round in 0..2 {
                owner.work(text);
                // The last timers of a bound on answers go off: one for each channel below.
                let settling = owner.rest(Duration::from_secs(60), text);
                // A write-back cache looks four times a second whether there is something to write
                // out.
                let looks = 4 * 3600 * owner.caches.len() as u64;
                let idle = owner.rest(Duration::from_secs(3600), text);
                assert!(
                    settling <= 1000,
                    "{text}, {time:?}, {round}: {settling} rounds in the first minute"
                );
                assert!(
                    idle <= looks + 2,
                    "{text}, {time:?}, {round}: {idle} rounds in an idle hour"
                );
            }
        }
    }
}

//! The testkit's own devices, and the adapters of `block`, pass every check: the checks ask nothing
//! that is not promised.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use block::{
    ContractCheck, CountingDevice, Device, DiscardSupport, EmulatingDevice, Info, Reactor, Support,
};
use testkit::crash::{self, Crashable, Options, Rig};
use testkit::model::{self, Load};
use testkit::{Empty, Fault, Memory, conformance};

const SIZE: u64 = 1 << 20;

fn slow(info: Info) -> Memory {
    Memory::with(info).delayed(3, Duration::from_micros(500))
}

fn able(size_bytes: u64) -> Info {
    Memory::new(size_bytes).info().clone()
}

fn conforms(make: impl Fn() -> Arc<dyn Device>) {
    for seed in [1, 2] {
        conformance::run(&make, Reactor::virtual_clock, seed).unwrap();
    }
}

#[test]
fn memory_at_the_next_poll_and_after_random_delays() {
    conforms(|| Arc::new(Memory::new(SIZE)));
    conforms(|| Arc::new(slow(able(SIZE))));
    conforms(|| Arc::new(slow(Info { volatile_cache: true, ..able(SIZE) })));
}

#[test]
fn every_block_size_and_tiny_devices() {
    for block_bytes in [512, 1024, 4096, 65536] {
        let limits = Info {
            block_bytes,
            optimal_bytes: block_bytes,
            max_request_bytes: 4 * block_bytes,
            ..able(40 * u64::from(block_bytes))
        };
        conforms(|| Arc::new(slow(limits.clone())));
    }
    for blocks in [1, 2, 5] {
        conforms(|| Arc::new(Memory::new(512 * blocks)));
    }
}

#[test]
fn devices_that_can_less() {
    conforms(|| Arc::new(slow(Info::plain(SIZE))));
    conforms(|| Arc::new(slow(Info { read_only: true, ..able(SIZE) })));
    for discard in [DiscardSupport::None, DiscardSupport::Indeterminate, DiscardSupport::ReadsZero]
    {
        conforms(|| Arc::new(slow(Info { discard, fua: Support::None, ..able(SIZE) })));
    }
}

#[test]
fn adapters_and_an_empty_layer_over_slow_memory() {
    conforms(|| Arc::new(Empty(Arc::new(slow(able(SIZE))))));
    conforms(|| Arc::new(CountingDevice::over(Arc::new(slow(able(SIZE))))));
    for volatile_cache in [false, true] {
        conforms(|| {
            EmulatingDevice::over(Arc::new(slow(Info { volatile_cache, ..Info::plain(SIZE) })))
        });
        conforms(|| {
            EmulatingDevice::over(Arc::new(Memory::with(Info {
                volatile_cache,
                ..Info::plain(SIZE)
            })))
        });
    }
}

#[test]
fn checked_has_nothing_to_say_about_random_requests() {
    let device = ContractCheck::over(EmulatingDevice::over(ContractCheck::over(Arc::new(slow(
        Info::plain(SIZE),
    )))));
    for seed in 0..4 {
        model::drive(&device, &Reactor::virtual_clock(), &Load::default(), seed).unwrap();
    }
}

#[test]
fn memory_on_the_wall_clock_from_several_threads() {
    let wall = || Reactor::wall().expect("this machine has io_uring");
    conformance::run(
        || Arc::new(Memory::with(able(SIZE)).delayed(5, Duration::from_micros(20))),
        wall,
        3,
    )
    .unwrap();
}

#[test]
fn failed_requests_are_no_violation() {
    let memory = Arc::new(slow(able(SIZE)));
    for _ in 0..20 {
        memory.fail_next(Fault::Read);
        memory.fail_next(Fault::Write);
    }
    let device: Arc<dyn Device> = memory;
    model::drive(&device, &Reactor::virtual_clock(), &Load::default(), 7).unwrap();
}

#[test]
fn the_same_seed_does_the_same() {
    let run = || {
        let reactor = Reactor::virtual_clock();
        let device: Arc<dyn Device> = Arc::new(slow(able(SIZE)));
        model::drive(&device, &reactor, &Load::default(), 11).unwrap();
        reactor.now()
    };
    assert_eq!(run(), run());
    assert_ne!(run().nanoseconds(), 0);
}

/// A rig over one memory with a volatile cache and whatever is put on top of it.
fn rig(info: &Info, layer: fn(Arc<dyn Device>) -> Arc<dyn Device>) -> Rig {
    let memory = Arc::new(slow(info.clone()));
    Rig {
        members: vec![Arc::clone(&memory) as Arc<dyn Crashable>],
        start: Box::new(move || Ok(layer(Arc::clone(&memory) as Arc<dyn Device>))),
    }
}

#[test]
fn a_volatile_cache_that_keeps_its_promises_survives_a_crash_at_every_moment() {
    let info = Info { volatile_cache: true, ..able(48 * 512) };
    for seed in 0..3 {
        let steps = crash::history(&info, 40, seed);
        let summary = crash::enumerate(
            || rig(&info, |device| device),
            Reactor::virtual_clock,
            &steps,
            &Options::default(),
            seed,
        )
        .unwrap();
        assert!(summary.moments > 80 && summary.crashes > 320, "{summary:?}");
    }
}

#[test]
fn emulated_fua_and_zeroes_survive_a_crash_at_every_moment() {
    let able = Info {
        volatile_cache: true,
        fua: Support::Emulated,
        zeroes: Support::Emulated,
        ..Info::plain(48 * 1024)
    };
    let plain =
        Info { block_bytes: 1024, fua: Support::None, zeroes: Support::None, ..able.clone() };
    let steps = crash::history(&Info { block_bytes: 1024, ..able }, 40, 5);
    crash::enumerate(
        || rig(&plain, EmulatingDevice::over),
        Reactor::virtual_clock,
        &steps,
        &Options::default(),
        5,
    )
    .unwrap();
}

#[test]
fn without_a_cache_every_completed_write_survives() {
    let info = able(48 * 512);
    let steps = crash::history(&info, 40, 6);
    crash::enumerate(
        || rig(&info, |device| device),
        Reactor::virtual_clock,
        &steps,
        &Options::default(),
        6,
    )
    .unwrap();
}

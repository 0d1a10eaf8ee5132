//! The contract, held against every device here by the suite that all devices of raidloom pass.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use block::{ContractCheck, Device, EmulatingDevice, Reactor};
use common::{folder_in_memory, folder_on_disk, new_file};
use device::{
    CrashPolicy, Direct, FaultControl, FaultDevice, FaultOptions, FileDevice, FileOptions,
    NullDevice, RamDevice, ServiceTime,
};
use testkit::crash::{self, Crashable, Options, Rig};
use testkit::{Violation, conformance};

fn ram(block_bytes: u32) -> Arc<dyn Device> {
    Arc::new(RamDevice::new(4 << 20, block_bytes).unwrap())
}

fn volatile() -> FaultOptions {
    FaultOptions { volatile: true, ..FaultOptions::default() }
}

fn conforms(make: impl Fn() -> Arc<dyn Device>, reactor: impl Fn() -> Reactor + Sync, seed: u64) {
    conformance::run(&make, &reactor, seed)
        .unwrap_or_else(|violation| panic!("{}: {violation}", make().describe()));
}

#[test]
fn ram_and_null_conform() {
    for (seed, block_bytes) in [(1, 512), (2, 4096)] {
        conforms(|| ram(block_bytes), Reactor::virtual_clock, seed);
        conforms(|| ram(block_bytes), || Reactor::wall().unwrap(), seed);
        let time =
            ServiceTime { per_request: Duration::from_micros(1), bytes_per_second: Some(1 << 32) };
        let timed = || -> Arc<dyn Device> {
            Arc::new(RamDevice::modelled(4 << 20, block_bytes, time).unwrap())
        };
        conforms(timed, Reactor::virtual_clock, seed);
        conforms(timed, || Reactor::wall().unwrap(), seed);
        conforms(
            || Arc::new(NullDevice::new(4 << 20, block_bytes).unwrap()),
            Reactor::virtual_clock,
            seed,
        );
    }
}

#[test]
fn files_conform() {
    let folders = [Some(folder_on_disk()), folder_in_memory()];
    for (folder, seed) in folders.iter().flatten().zip(3..) {
        for direct in [Direct::Auto, Direct::No] {
            let path = folder.path().join("a.img");
            let make = || -> Arc<dyn Device> {
                let file = new_file(&path, 4 << 20);
                let options = FileOptions { direct, ..FileOptions::default() };
                EmulatingDevice::over(Arc::new(FileDevice::new(file, &path, &options).unwrap()))
            };
            conforms(make, || Reactor::wall().unwrap(), seed);
        }
    }
}

#[test]
fn the_fault_layer_conforms_as_long_as_nothing_fails() {
    let late = Duration::from_micros(30);
    let cases = [
        FaultOptions::default(),
        FaultOptions { delay: late, delay_probability: 0.5, ..FaultOptions::default() },
        volatile(),
        FaultOptions { delay: late, delay_probability: 0.5, ..volatile() },
    ];
    for (options, seed) in cases.into_iter().zip(5..) {
        let make = || -> Arc<dyn Device> {
            Arc::new(FaultDevice::new(ContractCheck::over(ram(512)), options.clone()).unwrap())
        };
        conforms(make, Reactor::virtual_clock, seed);
        conforms(make, || Reactor::wall().unwrap(), seed);
        conforms(|| EmulatingDevice::over(make()), Reactor::virtual_clock, seed);
    }
}

#[test]
fn a_write_cache_over_a_slow_device_conforms() {
    let make = || -> Arc<dyn Device> {
        let slow = FaultOptions {
            delay: Duration::from_micros(30),
            delay_probability: 0.7,
            ..FaultOptions::default()
        };
        let slow = Arc::new(FaultDevice::new(ram(512), slow).unwrap());
        Arc::new(FaultDevice::new(ContractCheck::over(slow), volatile()).unwrap())
    };
    conforms(make, Reactor::virtual_clock, 9);
}

#[test]
fn a_failed_flush_is_sticky() {
    for options in [FaultOptions::default(), volatile()] {
        let fault = FaultDevice::new(ram(512), options).unwrap();
        let control = fault.control();
        let next = || control.fail_request(control.counts().requests);
        conformance::sticky_flush(&fault, &Reactor::virtual_clock(), next, 10).unwrap();
    }
}

struct Plug {
    control: FaultControl,
    kept: f64,
}

impl Crashable for Plug {
    fn crash(&self, seed: u64) {
        self.control.crash(CrashPolicy::Random(self.kept), seed).unwrap();
    }

    fn power_on(&self) {
        self.control.power_on().unwrap();
    }
}

/// Crashes a faulty device over memory at every moment of a random history.
fn crash_everywhere(
    options: &FaultOptions,
    kept: f64,
    seed: u64,
) -> Result<crash::Summary, Violation> {
    let make = || {
        let below: Arc<dyn Device> = Arc::new(RamDevice::new(64 * 512, 512).unwrap());
        let device = Arc::new(
            FaultDevice::new(ContractCheck::over(below), FaultOptions { seed, ..options.clone() })
                .unwrap(),
        );
        let plug = Plug { control: device.control(), kept };
        let start =
            Box::new(move || Ok(ContractCheck::over(Arc::clone(&device) as Arc<dyn Device>)));
        Rig { members: vec![Arc::new(plug)], start }
    };
    let device = (make().start)().unwrap();
    let steps = crash::history(device.info(), 60, seed);
    crash::enumerate(
        make,
        Reactor::virtual_clock,
        &steps,
        &Options { points: 60, ..Options::default() },
        seed,
    )
}

#[test]
fn a_crash_at_any_moment_loses_nothing_durable_and_tears_nothing() {
    let late = FaultOptions {
        delay: Duration::from_micros(30),
        delay_probability: 0.7,
        ..FaultOptions::default()
    };
    for options in [volatile(), late.clone(), FaultOptions { volatile: true, ..late }] {
        for (kept, seed) in [(0.5, 11), (0.1, 12), (0.9, 13), (0.0, 14), (1.0, 15)] {
            let summary = crash_everywhere(&options, kept, seed)
                .unwrap_or_else(|violation| panic!("{options:?}: {violation}"));
            assert!(summary.crashes > 100, "{summary:?}");
        }
    }
}

#[test]
fn the_dishonest_drives_break_the_rules_that_they_are_made_to_break() {
    let rule = |options| crash_everywhere(&options, 0.5, 16).unwrap_err().rule;
    assert_eq!(rule(FaultOptions { lying_flush: true, ..volatile() }), "C28");
    assert_eq!(rule(FaultOptions { shorn: true, ..volatile() }), "C27");
}

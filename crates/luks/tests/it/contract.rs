//! A container keeps the contract of devices, and loses no more in a crash than what is below it.

use std::sync::Arc;

use block::{Device, DiscardSupport, Info, Reactor, Support};
use luks::{LuksDevice, LuksOptions};
use testkit::crash::{self, Crashable, Options, Rig};
use testkit::{Memory, conformance};

use crate::containers::{header, holding, passphrase};

fn opened(below: Arc<dyn Device>, sector_bytes: u32, discard: bool) -> Arc<dyn Device> {
    let options = LuksOptions { discard, ..LuksOptions::default() };
    let header = holding(&header(sector_bytes, 0));
    let luks = LuksDevice::open(below, Some(&header), &passphrase(), options, &|_| Ok(()));
    Arc::new(luks.expect("a container"))
}

fn below(block_bytes: u32) -> Info {
    Info {
        block_bytes,
        optimal_bytes: 4096,
        fua: Support::Native,
        zeroes: Support::Native,
        discard: DiscardSupport::ReadsZero,
        ..Info::plain(1 << 20)
    }
}

#[test]
fn a_container_keeps_the_contract() {
    for (sector_bytes, block_bytes) in [(512, 512), (512, 4096), (4096, 4096)] {
        for discard in [false, true] {
            let make = || opened(Arc::new(Memory::with(below(block_bytes))), sector_bytes, discard);
            conformance::run(make, Reactor::virtual_clock, 5).expect("the contract");
        }
    }
}

#[test]
fn a_container_that_answers_late_and_in_any_order_keeps_the_contract() {
    let make = || {
        let memory = Memory::with(below(512));
        opened(Arc::new(memory.delayed(9, std::time::Duration::from_millis(5))), 512, false)
    };
    conformance::run(make, Reactor::virtual_clock, 6).expect("the contract");
}

/// The states after a crash at moments of random histories.
fn crashes(memory: impl Fn() -> Memory, seed: u64) -> Result<crash::Summary, testkit::Violation> {
    let info = Info { size_bytes: 96 * 512, volatile_cache: true, ..below(512) };
    let rig = || {
        let memory = Arc::new(memory());
        let members: Vec<Arc<dyn Crashable>> = vec![Arc::clone(&memory) as _];
        let start = Box::new(move || Ok(opened(Arc::new(memory.reopened()), 512, false)));
        Rig { members, start }
    };
    let shown = Info { zeroes: Support::None, discard: DiscardSupport::None, ..info };
    let steps = crash::history(&shown, 30, seed);
    let options = Options { depth: 4, points: 40, states: 3 };
    crash::enumerate(rig, Reactor::virtual_clock, &steps, &options, seed)
}

fn volatile() -> Memory {
    Memory::with(Info { size_bytes: 96 * 512, volatile_cache: true, ..below(512) })
}

#[test]
fn a_crash_loses_no_more_than_below() {
    for seed in 0..4 {
        let summary = crashes(volatile, seed).expect("C26 to C28");
        assert!(summary.crashes > 50, "seed {seed}: {summary:?}");
    }
}

#[test]
fn blocks_that_are_torn_below_are_seen() {
    let found = (0..4).find_map(|seed| crashes(|| volatile().tearing(), seed).err());
    assert!(found.is_some(), "a crash that tears blocks is not noticed");
}

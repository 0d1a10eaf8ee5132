//! Every array against docs/contract.md, with `Checked` below it and members that overtake one another.

mod common;

use std::sync::Arc;
use std::time::Duration;

use array::{ArrayDevice, Level, Raid0Layout};
use block::{Checked, Device, DiscardSupport, Info, Reactor, Support};
use common::{Mirror, Mortal, Parity};
use testkit::model::{self, Load};
use testkit::{Fault, Memory, conformance};

/// A member in memory, with a write cache, whose answers take random times.
fn member(size_bytes: u64, seed: u64) -> Arc<dyn Device> {
    let info = Info {
        volatile_cache: true,
        fua: Support::Native,
        zeroes: Support::Native,
        discard: DiscardSupport::ReadsZero,
        ..Info::plain(size_bytes)
    };
    Checked::over(Arc::new(Memory::with(info).delayed(seed, Duration::from_micros(50))))
}

fn members(sizes: &[u64], seed: u64) -> Vec<Arc<dyn Device>> {
    sizes.iter().zip(seed..).map(|(&size, seed)| member(size, seed)).collect()
}

fn check(name: &str, make: impl Fn(u64) -> Arc<dyn Device>) {
    for seed in 0..4 {
        if let Err(violation) = conformance::run(|| make(seed), Reactor::virtual_clock, seed) {
            panic!("{name}: {violation}");
        }
    }
}

/// Not the whole suite: what a dropped channel leaves half written is for a resync to mend, and there is none here.
fn check_redundant(name: &str, make: impl Fn(u64) -> Arc<dyn Device>) {
    for seed in 0..4 {
        for load in [Load::default(), Load { requests: 300, depth: 1, channels: 3, longest_blocks: 24 }] {
            if let Err(violation) = model::drive(&Checked::over(make(seed)), &Reactor::virtual_clock(), &load, seed) {
                panic!("{name}: {violation}");
            }
        }
    }
}

fn raid0(members: Vec<Arc<dyn Device>>, chunk_bytes: u64, layout: Raid0Layout) -> Arc<dyn Device> {
    Arc::new(ArrayDevice::raid0(members, chunk_bytes, layout).expect("an array"))
}

fn linear(members: Vec<Arc<dyn Device>>) -> Arc<dyn Device> {
    Arc::new(ArrayDevice::linear(members).expect("an array"))
}

#[test]
fn linear_keeps_the_contract() {
    check("linear", |seed| linear(members(&[5 << 9, 1 << 9, 40 << 9, 7 << 9], seed)));
}

#[test]
fn raid0_keeps_the_contract() {
    check("raid0, equal members", |seed| raid0(members(&[64 << 9; 3], seed), 1 << 9, Raid0Layout::Original));
    check("raid0, original", |seed| raid0(members(&[9 << 9, 21 << 9, 30 << 9], seed), 3 << 9, Raid0Layout::Original));
    check("raid0, alternate", |seed| raid0(members(&[9 << 9, 21 << 9, 30 << 9, 31 << 9], seed), 2 << 9, Raid0Layout::Alternate));
}

#[test]
fn arrays_of_arrays_keep_the_contract() {
    check("raid0 over raid0 and linear", |seed| {
        let one = Checked::over(raid0(members(&[20 << 9, 30 << 9], seed), 2 << 9, Raid0Layout::Original));
        let other = Checked::over(linear(members(&[11 << 9, 39 << 9], seed + 9)));
        raid0(vec![one, other], 5 << 9, Raid0Layout::Original)
    });
}

/// Not the whole suite: an array whose members have smaller blocks than its own may be left with half a block.
#[test]
fn members_with_larger_blocks_set_the_block() {
    for seed in 0..4 {
        let large = Arc::new(Memory::with(Info { block_bytes: 4096, ..Memory::new(1 << 17).info().clone() }));
        let array = Checked::over(raid0(vec![member(1 << 17, seed), large], 8192, Raid0Layout::Original));
        assert_eq!(array.info().block_bytes, 4096);
        if let Err(violation) = model::drive(&array, &Reactor::virtual_clock(), &Load::default(), seed) {
            panic!("{violation}");
        }
    }
}

fn assembled<L: Level>(level: L, members: Vec<Arc<dyn Device>>) -> Arc<dyn Device> {
    Arc::new(ArrayDevice::assemble(level, members.into_iter().map(Some).collect()).expect("an array"))
}

#[test]
fn levels_with_redundancy_keep_the_contract() {
    check_redundant("mirror", |seed| assembled(Mirror { members: 3, size_bytes: 64 << 9, locks: true }, members(&[64 << 9; 3], seed)));
    check_redundant("parity", |seed| {
        assembled(Parity { members: 4, chunk_bytes: 2 << 9, rows: 16, locks: true }, members(&[32 << 9; 4], seed))
    });
}

#[test]
fn members_of_a_mirror_without_locks_grow_apart() {
    let make = |seed| assembled(Mirror { members: 2, size_bytes: 64 << 9, locks: false }, members(&[64 << 9; 2], seed));
    let found = (0..8).filter_map(|seed| model::drive(&make(seed), &Reactor::virtual_clock(), &Load::default(), seed).err());
    assert!(found.into_iter().any(|violation| violation.rule == "C15"), "a mistake that the suite does not see");
}

#[test]
fn so_they_do_while_a_member_dies_under_them() {
    for commands in [0, 1, 2, 3, 7, 20, 90, 300] {
        check_redundant(&format!("mirror, one gone after {commands}"), |seed| {
            let mortal = Mortal::over(member(64 << 9, seed), "mortal");
            mortal.dies_after(commands);
            assembled(Mirror { members: 2, size_bytes: 64 << 9, locks: true }, vec![mortal, member(64 << 9, seed + 9)])
        });
        for place in 0..4 {
            check_redundant(&format!("parity, member {place} gone after {commands}"), |seed| {
                let mut members = members(&[32 << 9; 4], seed);
                let mortal = Mortal::over(Arc::clone(&members[place]), "mortal");
                mortal.dies_after(commands);
                members[place] = mortal;
                assembled(Parity { members: 4, chunk_bytes: 2 << 9, rows: 16, locks: true }, members)
            });
        }
    }
}

#[test]
fn and_with_a_member_missing_from_the_start() {
    for place in 0..4 {
        check_redundant(&format!("parity without member {place}"), |seed| {
            let mut members: Vec<_> = members(&[32 << 9; 4], seed).into_iter().map(Some).collect();
            members[place] = None;
            let level = Parity { members: 4, chunk_bytes: 2 << 9, rows: 16, locks: true };
            Arc::new(ArrayDevice::assemble(level, members).expect("an array"))
        });
    }
}

#[test]
fn a_failed_flush_of_one_member_sticks_to_the_array() {
    let failing = Arc::new(Memory::with(Info { volatile_cache: true, ..Info::plain(64 << 9) }));
    let array = raid0(vec![member(64 << 9, 1), Arc::clone(&failing) as Arc<dyn Device>], 4096, Raid0Layout::Original);
    let result = conformance::sticky_flush(&*array, &Reactor::virtual_clock(), || failing.fail_next(Fault::Flush), 5);
    assert_eq!(result, Ok(()));
}

//! Every array against docs/contract.md, with `Checked` below it and members that overtake one
//! another.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use array::geometry::Raid10;
use array::{
    ArrayDevice, Level, MirrorLevel, ParityLayout, ParityLevel, Raid0Layout, Raid10Layout,
};
use block::{ContractCheck, Device, DiscardSupport, Info, Reactor, Support};
use common::{Mortal, without_locks};
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
    ContractCheck::over(Arc::new(Memory::with(info).delayed(seed, Duration::from_micros(50))))
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

fn raid0(members: Vec<Arc<dyn Device>>, chunk_bytes: u64, layout: Raid0Layout) -> Arc<dyn Device> {
    Arc::new(ArrayDevice::raid0(members, chunk_bytes, layout).expect("an array"))
}

fn linear(members: Vec<Arc<dyn Device>>) -> Arc<dyn Device> {
    Arc::new(ArrayDevice::linear(members).expect("an array"))
}

#[test]
fn linear_keeps_the_contract() {
    check("linear", |seed| linear(members(&[5 << 9, 1 << 9, 40 << 9, 7 << 9], seed)));
    check("linear, from an offset on", |seed| {
        let members = members(&[25 << 9, 40 << 9], seed);
        Arc::new(ArrayDevice::linear_from(members, 18 << 9).expect("an array"))
    });
    for offset_bytes in [100, 25 << 9, 26 << 9] {
        let refused = ArrayDevice::linear_from(members(&[25 << 9, 40 << 9], 1), offset_bytes);
        assert!(refused.is_err_and(|error| error.to_string().contains("whole blocks")));
    }
}

#[test]
fn raid0_keeps_the_contract() {
    check("raid0, equal members", |seed| {
        raid0(members(&[64 << 9; 3], seed), 1 << 9, Raid0Layout::Original)
    });
    check("raid0, original", |seed| {
        raid0(members(&[9 << 9, 21 << 9, 30 << 9], seed), 3 << 9, Raid0Layout::Original)
    });
    check("raid0, alternate", |seed| {
        raid0(members(&[9 << 9, 21 << 9, 30 << 9, 31 << 9], seed), 2 << 9, Raid0Layout::Alternate)
    });
}

#[test]
fn arrays_of_arrays_keep_the_contract() {
    check("raid0 over raid0 and linear", |seed| {
        let one = ContractCheck::over(raid0(
            members(&[20 << 9, 30 << 9], seed),
            2 << 9,
            Raid0Layout::Original,
        ));
        let other = ContractCheck::over(linear(members(&[11 << 9, 39 << 9], seed + 9)));
        raid0(vec![one, other], 5 << 9, Raid0Layout::Original)
    });
}

/// Not the whole suite: an array whose members have smaller blocks than its own may be left with
/// half a block.
#[test]
fn members_with_larger_blocks_set_the_block() {
    for seed in 0..4 {
        let large = Arc::new(Memory::with(Info {
            block_bytes: 4096,
            ..Memory::new(1 << 17).info().clone()
        }));
        let array = ContractCheck::over(raid0(
            vec![member(1 << 17, seed), large],
            8192,
            Raid0Layout::Original,
        ));
        assert_eq!(array.info().block_bytes, 4096);
        if let Err(violation) =
            model::drive(&array, &Reactor::virtual_clock(), &Load::default(), seed)
        {
            panic!("{violation}");
        }
    }
}

/// `None` where `absent` says so.
fn without(members: Vec<Arc<dyn Device>>, absent: &[usize]) -> Vec<Option<Arc<dyn Device>>> {
    members
        .into_iter()
        .enumerate()
        .map(|(number, member)| (!absent.contains(&number)).then_some(member))
        .collect()
}

/// All that may be absent: no member, each member alone, and, where `pairs` may, every pair.
fn absences(members: usize, pairs: bool) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    all.extend((0..members).map(|member| vec![member]));
    if pairs {
        all.extend(
            (0..members).flat_map(|one| (one + 1..members).map(move |other| vec![one, other])),
        );
    }
    all
}

const CHUNK: u64 = 2 << 9;

#[test]
fn mirrors_keep_the_contract() {
    for absent in absences(3, true) {
        check(&format!("raid1 without {absent:?}"), |seed| {
            Arc::new(
                ArrayDevice::raid1(without(members(&[64 << 9; 3], seed), &absent))
                    .expect("an array"),
            )
        });
    }
    for (count, name) in
        [(2, "n2"), (3, "n2"), (4, "n3"), (3, "f2"), (4, "f3"), (3, "o2"), (5, "n2f2"), (4, "n2o2")]
    {
        let layout = Raid10Layout::from_name(name).expect("a layout");
        for absent in absences(count, layout.copies() > 2) {
            check(&format!("raid10 {name} of {count} without {absent:?}"), |seed| {
                let members = without(members(&vec![25 << 9; count], seed), &absent);
                Arc::new(ArrayDevice::raid10(members, CHUNK, layout).expect("an array"))
            });
        }
    }
}

#[test]
fn parity_keeps_the_contract() {
    for absent in absences(4, false) {
        check(&format!("raid4 without {absent:?}"), |seed| {
            Arc::new(
                ArrayDevice::raid4(without(members(&[32 << 9; 4], seed), &absent), CHUNK)
                    .expect("an array"),
            )
        });
        for &layout in ParityLayout::RAID5 {
            check(&format!("raid5 {} without {absent:?}", layout.name()), |seed| {
                Arc::new(
                    ArrayDevice::raid5(
                        without(members(&[32 << 9; 4], seed), &absent),
                        CHUNK,
                        layout,
                    )
                    .expect("an array"),
                )
            });
        }
    }
}

#[test]
fn two_kinds_of_parity_keep_the_contract() {
    for &layout in ParityLayout::RAID6 {
        for absent in absences(5, true) {
            check(&format!("raid6 {} without {absent:?}", layout.name()), |seed| {
                Arc::new(
                    ArrayDevice::raid6(
                        without(members(&[32 << 9; 5], seed), &absent),
                        CHUNK,
                        layout,
                    )
                    .expect("an array"),
                )
            });
        }
    }
}

fn assembled<L: Level>(level: L, members: Vec<Arc<dyn Device>>) -> Arc<dyn Device> {
    Arc::new(
        ArrayDevice::assemble(level, members.into_iter().map(Some).collect()).expect("an array"),
    )
}

#[test]
fn members_of_a_mirror_without_locks_grow_apart() {
    let make = |seed| {
        assembled(without_locks(MirrorLevel::raid1(2, 64 << 9)), members(&[64 << 9; 2], seed))
    };
    let found = (0..8).filter_map(|seed| {
        model::drive(&make(seed), &Reactor::virtual_clock(), &Load::default(), seed).err()
    });
    assert!(
        found.into_iter().any(|violation| violation.rule == "C15"),
        "a mistake that the suite does not see"
    );
}

#[test]
fn so_they_do_while_a_member_dies_under_them() {
    for commands in [0, 1, 2, 3, 7, 20, 90, 300] {
        let with_mortal = |place: usize, count: usize, seed| {
            let mut members = members(&vec![32 << 9; count], seed);
            let mortal = Mortal::over(Arc::clone(&members[place]), "mortal");
            mortal.dies_after(commands);
            members[place] = mortal;
            members
        };
        for place in 0..3 {
            check(&format!("raid1, member {place} gone after {commands}"), |seed| {
                assembled(MirrorLevel::raid1(3, 32 << 9), with_mortal(place, 3, seed))
            });
            check(&format!("raid10, member {place} gone after {commands}"), |seed| {
                let geometry = Raid10::new(3, 32 << 9, CHUNK, Raid10Layout::near(2));
                assembled(MirrorLevel::raid10(geometry), with_mortal(place, 3, seed))
            });
        }
        for place in 0..4 {
            check(&format!("raid5, member {place} gone after {commands}"), |seed| {
                assembled(
                    ParityLevel::raid5(4, 32 << 9, CHUNK, ParityLayout::LeftSymmetric),
                    with_mortal(place, 4, seed),
                )
            });
            check(
                &format!(
                    "raid6, member {place} gone after {commands}, the next one from the start"
                ),
                |seed| {
                    let members = without(with_mortal(place, 4, seed), &[(place + 1) % 4]);
                    Arc::new(
                        ArrayDevice::raid6(members, CHUNK, ParityLayout::LeftAsymmetric)
                            .expect("an array"),
                    )
                },
            );
        }
    }
}

#[test]
fn a_failed_flush_of_one_member_sticks_to_the_array() {
    let failing = Arc::new(Memory::with(Info { volatile_cache: true, ..Info::plain(64 << 9) }));
    let array = raid0(
        vec![member(64 << 9, 1), Arc::clone(&failing) as Arc<dyn Device>],
        4096,
        Raid0Layout::Original,
    );
    let result = conformance::sticky_flush(
        &*array,
        &Reactor::virtual_clock(),
        || failing.fail_next(Fault::Flush),
        5,
    );
    assert_eq!(result, Ok(()));
}

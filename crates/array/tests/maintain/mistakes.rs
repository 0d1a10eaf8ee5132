//! Mistakes in upkeep that the other tests here are there for, planted and found.

use array::{Level, ParityLayout, Raid10Layout, Step};

use crate::bench::{Bench, Scheme, differing, raid1, raid5, raid6, raid10};
use crate::common::Twisted;
use crate::turmoil::survive;
use array::maintain::Work;

const SEEDS: u64 = 12;

/// Which seeds find a mistake.
fn found<L: Level>(make: impl Fn() -> (L, Scheme), spoil: impl Fn(&mut Twisted<L>)) -> usize {
    let twisted = || {
        let (level, scheme) = make();
        let mut level = Twisted::straight(level);
        spoil(&mut level);
        (level, scheme)
    };
    (0..SEEDS).filter(|&seed| survive(twisted(), seed, 400).is_err()).count()
}

#[test]
fn without_a_mistake_none_is_found() {
    assert_eq!(found(|| raid5(4, ParityLayout::LeftSymmetric), |_| ()), 0);
    assert_eq!(found(|| raid6(5, ParityLayout::RightAsymmetric), |_| ()), 0);
    assert_eq!(found(|| raid1(3), |_| ()), 0);
    assert_eq!(found(|| raid10(4, Raid10Layout::far(2)), |_| ()), 0);
}

#[test]
fn a_rebuild_that_locks_nothing_is_found() {
    let unlocked = |plan: &mut array::Plan| plan.lock = None;
    assert!(found(|| raid5(4, ParityLayout::LeftSymmetric), |level| level.upkeep_twist = unlocked) > 6);
    assert!(found(|| raid6(5, ParityLayout::LeftSymmetric), |level| level.upkeep_twist = unlocked) > 6);
    assert!(found(|| raid1(2), |level| level.upkeep_twist = unlocked) > 6);
    assert!(found(|| raid10(4, Raid10Layout::far(2)), |level| level.upkeep_twist = unlocked) > 6);
}

#[test]
fn reading_a_member_that_is_not_rebuilt_yet_is_found() {
    assert!(found(|| raid5(4, ParityLayout::LeftSymmetric), |level| level.trusts_stale = true) > 6);
    assert!(found(|| raid6(5, ParityLayout::LeftSymmetric), |level| level.trusts_stale = true) > 6);
    assert!(found(|| raid1(2), |level| level.trusts_stale = true) > 6);
}

#[test]
fn a_wrong_order_of_q_in_a_rebuild_is_found() {
    let reverse = |plan: &mut array::Plan| {
        for step in &plan.compute {
            if let Step::Parity { first, count, q: Some(_), .. } = *step {
                plan.sources[first..first + count].reverse();
            }
        }
    };
    for layout in [ParityLayout::LeftSymmetric, ParityLayout::LeftAsymmetric, ParityLayout::DdfNContinue, ParityLayout::RightSymmetric6] {
        assert!(found(|| raid6(5, layout), |level| level.upkeep_twist = reverse) > 6, "{}", layout.name());
    }
}

#[test]
fn a_rebuild_that_writes_nothing_is_found() {
    let idle = |plan: &mut array::Plan| plan.write.clear();
    assert!(found(|| raid5(4, ParityLayout::LeftSymmetric), |level| level.upkeep_twist = idle) > 6);
    assert!(found(|| raid10(5, Raid10Layout::near(2)), |level| level.upkeep_twist = idle) > 6);
}

/// A check that compares nothing finds nothing: so the tests of checks say something.
#[test]
fn a_check_that_cannot_fail_is_found() {
    let (level, scheme) = raid5(4, ParityLayout::LeftSymmetric);
    let mut blind = Twisted::straight(level);
    blind.upkeep_twist = |plan| plan.compute.retain(|step| !matches!(step, Step::Compare { .. }));
    let bench = Bench::new((blind, scheme), 1);
    bench.corrupt(2, 700);
    assert_eq!(differing(&bench.control, Work::Check(None)), Ok(0));
    assert!(bench.scrub().is_err());
}

//! What a rebuild cannot read: made up for where there is more redundancy, otherwise counted, named
//! and never read as data.

use array::sync::{Ending, Outcome, Ranges, SyncAction};
use array::{MemberState, ParityLayout, ParityLevel};
use block::{Blocking, Device, ErrorKind, Reactor};
use reactor::Random;

use super::bench::{Bench, Scheme, differing, keep, raid5, raid6};
use crate::common::bytes;

/// A member fails, another has bad places, and a spare is rebuilt.
fn rebuild_over_bad_places(
    made: (ParityLevel, Scheme),
    seed: u64,
    places: &[u64],
) -> (Bench, Vec<u8>, Outcome) {
    let bench = Bench::new(made, seed);
    let data = bytes(&*bench.array);
    bench.control.fail(0).expect("it may go");
    let bad = bench.parts.seated(&bench.control)[2].clone().expect("somebody");
    places.iter().for_each(|&place| bad.mortal.goes_bad(place));
    bench.control.add(bench.parts.new_device()).expect("it fits");
    let outcome = keep(&bench.control, &[]).expect("it ended").pop().expect("a rebuild");
    assert!(matches!(outcome.ending, Ending::Done), "{outcome:?}");
    assert_eq!(bench.control.snapshot().members[0], MemberState::InSync);
    (bench, data, outcome)
}

#[test]
fn the_second_parity_makes_up_for_bad_places() {
    let (bench, data, outcome) = rebuild_over_bad_places(
        raid6(5, ParityLayout::LeftSymmetric),
        3,
        &[0, 5 * 512, 6 * 512, 20 * 512],
    );
    assert!(outcome.progress.lost.is_empty());
    // A bad place in a parity that was not needed is found by the next check.
    assert_eq!(differing(&bench.control, SyncAction::Check(None)), Ok(0));
    let mended = bench.parts.seated(&bench.control)[2].clone().expect("somebody");
    assert_eq!(mended.mortal.bad_count(), 0, "and they are mended");
    assert!(bytes(&*bench.array) == data);
    assert_eq!(bench.scrub(), Ok(()));
}

#[test]
fn what_is_lost_is_named_and_does_not_read_as_data() {
    let places = [0, 5 * 512, 6 * 512, 20 * 512];
    let (bench, data, outcome) =
        rebuild_over_bad_places(raid5(4, ParityLayout::LeftSymmetric), 3, &places);
    let lost: Ranges = places.iter().map(|&place| place..place + 512).collect();
    assert_eq!(
        (&outcome.progress.lost, bench.control.lost(0), bench.control.lost(1)),
        (&lost, lost.clone(), Ranges::none())
    );
    assert_eq!(outcome.progress.done_bytes, outcome.progress.total_bytes);
    let Scheme::Parity(geometry) = bench.scheme else { panic!("it has parity") };
    let size = bench.array.info().size_bytes;
    let mut channel = Blocking::open(&*bench.array, &Reactor::virtual_clock()).expect("a channel");
    let mut failed = 0;
    let mut block = [0; 512];
    for offset in (0..size).step_by(512) {
        let (row, within) = geometry.locate(offset);
        let (index, from) = geometry.locate_in_row(within);
        let member = geometry.row(row).member(index);
        let is_lost =
            [0, 2].contains(&member) && places.contains(&(row * geometry.chunk_bytes() + from));
        match channel.read_slice(offset, &mut block) {
            Ok(()) => assert!(!is_lost && block == data[offset as usize..][..512], "{offset}"),
            Err(error) => {
                assert!(is_lost, "{offset}: {error}");
                assert_eq!(error.kind(), ErrorKind::Media);
                failed += 1;
            }
        }
    }
    assert!(failed >= 4, "{failed}");
    // What is written whole can be read again.
    channel.write_slice(0, &data).expect("written");
    drop(channel);
    assert_eq!(bench.control.lost(0), Ranges::none());
    assert!(bytes(&*bench.array) == data);
    assert_eq!(bench.scrub(), Ok(()));
}

/// However many bad places its last source has: it is not dropped for them, for then everything
/// would be gone.
#[test]
fn the_last_source_is_kept_whatever_it_cannot_read() {
    let mut random = Random::with_seed(11);
    let mut places: Vec<u64> = (0..24).map(|place| place * 512).collect();
    random.shuffle(&mut places);
    let (bench, _, outcome) =
        rebuild_over_bad_places(raid5(3, ParityLayout::LeftSymmetric), 11, &places[..23]);
    assert_eq!(outcome.progress.lost.bytes(), 23 * 512);
    assert_eq!(bench.control.snapshot().absent().count(), 0);
}

#[test]
fn a_member_with_bad_places_is_replaced_without_them() {
    let bench = Bench::new(raid5(4, ParityLayout::RightAsymmetric), 5);
    let data = bytes(&*bench.array);
    let old = bench.parts.seated(&bench.control)[1].clone().expect("somebody");
    (0..24).for_each(|place| old.mortal.goes_bad(place * 512));
    bench.control.replace(1, bench.parts.new_device()).expect("it is in sync");
    keep(&bench.control, &[]).expect("it ended");
    assert!(bytes(&*bench.array) == data);
    assert_eq!(bench.scrub(), Ok(()));
}

/// One bad place of a member that was needed for a rebuild: it is tried again and again by the
/// rebuild and by all reads of it, and stays one. Nor is it held against the new member,
/// whose log names it, and that member's copy.
#[test]
fn one_bad_place_throws_nobody_out() {
    let (bench, _, outcome) =
        rebuild_over_bad_places(raid5(3, ParityLayout::LeftSymmetric), 7, &[3 * 512]);
    assert_eq!(outcome.progress.lost, Ranges::one(3 * 512..4 * 512));
    let counted = |expected: [u32; 3]| {
        let snapshot = bench.control.snapshot();
        assert_eq!(snapshot.read_errors, expected);
        assert_eq!(snapshot.absent().count(), 0, "{snapshot:?}");
    };
    counted([0, 0, 1]);
    assert_eq!(bench.control.snapshot().lost_bytes, [512, 0, 0]);
    let read_all = || {
        let mut channel =
            Blocking::open(&*bench.array, &Reactor::virtual_clock()).expect("a channel");
        let mut block = [0; 512];
        let size = bench.array.info().size_bytes;
        (0..size).step_by(512).filter(|&at| channel.read_slice(at, &mut block).is_err()).count()
    };
    for _ in 0..50 {
        assert_eq!(read_all(), 2, "a block of each of the two members");
    }
    counted([0, 0, 1]);
    // The place goes along into the log of a drive that takes the bad one's place: that is sound
    // too.
    bench.control.replace(2, bench.parts.new_device()).expect("it is in sync");
    keep(&bench.control, &[]).expect("it ended");
    assert_eq!(bench.control.snapshot().lost_bytes, [512, 0, 512]);
    for _ in 0..50 {
        assert_eq!(read_all(), 2);
    }
    counted([0, 0, 0]);
}

//! Where something may be lost, and what is known to be lost: starts that have to be forced, and
//! bad blocks that outlast a restart.

use std::sync::Arc;

use array::MemberState;
use array::md::{Consistency, Features, Startability, decode_bad_blocks};
use array::metadata::{RunningArray, StartOptions};
use array::sync::{Ending, Ranges, SyncAction};
use block::{Blocking, Device, ErrorKind, Info, Reactor};
use testkit::Memory;

use super::bench::{CHUNK, Shape, assembly, checked, scrub, settle, started, superblock};
use crate::common::{Mortal, bytes};

/// Where the members' data begin, in bytes.
const DATA: u64 = 64 * 512;

fn members(shape: &Shape) -> Vec<Arc<Memory>> {
    shape.make(|_, info| Memory::with(info))
}

fn write_all(array: &RunningArray, seed: u64) -> Vec<u8> {
    let content: Vec<u8> =
        (0..array.info().size_bytes).map(|at| (at / 512 * 7 + seed) as u8).collect();
    let mut channel = Blocking::open(array, &Reactor::virtual_clock()).expect("a channel");
    channel.write_slice(0, &content).and_then(|()| channel.flush()).expect("written");
    content
}

/// Levels 4, 5 and 6 without a log, dirty and with a member missing: refused, with the way on;
/// forced, it serves what was not being written, and is an array like any other afterwards.
#[test]
fn dirty_and_degraded_starts_only_by_force() {
    let mut refused = 0;
    for shape in Shape::all() {
        for absent in 0..shape.members {
            let members = members(&shape);
            let reactor = Reactor::virtual_clock();
            let array = started(&checked(&members), &StartOptions::default()).expect("an array");
            let content = write_all(&array, 3);
            // As after a crash that lost nothing.
            drop(array);
            let mut devices = checked(&members);
            devices[absent] = None;
            let before: Vec<Vec<u8>> = members.iter().map(|member| bytes(&**member)).collect();
            let outcome = started(&devices, &StartOptions::default());
            let needs_force =
                shape.level.parity_count() > 0 && shape.consistency != Consistency::Ppl;
            assert_eq!(outcome.is_err(), needs_force, "{shape:?} without {absent}");
            let array = match outcome {
                Ok(array) => array,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Refused);
                    assert!(error.to_string().contains("--force"), "{error}");
                    assert!(
                        members
                            .iter()
                            .zip(&before)
                            .all(|(member, before)| bytes(&**member) == *before),
                        "nothing was written"
                    );
                    refused += 1;
                    started(&devices, &StartOptions { force: true, ..StartOptions::default() })
                        .expect("by force")
                }
            };
            assert!(bytes(&array) == content, "{shape:?} without {absent}");
            let content = write_all(&array, 5);
            // The copies that are left may differ: that is resynced before the array is clean.
            settle(&array, None);
            array.stop(&reactor).expect("stopped");
            let (found, _) = assembly(&devices);
            assert_eq!(
                (found.clean, found.degraded_count(), &found.start),
                (true, 1, &Startability::Ready),
                "{shape:?} without {absent}"
            );
            let again = started(&devices, &StartOptions::default()).expect("an array");
            assert!(bytes(&again) == content, "{shape:?} without {absent}");
        }
    }
    assert_eq!(refused, 2 * (3 + 4 + 4));
}

/// A member was being rebuilt when the power failed. What it had got already was being written too,
/// so that parity may be untrue there also when it has everything: the resync comes after the
/// rebuild.
#[test]
fn parity_is_true_after_a_forced_start_and_a_rebuild() {
    for shape in Shape::all()
        .into_iter()
        .filter(|shape| shape.level.parity_count() > 0 && shape.consistency == Consistency::Resync)
    {
        let members = members(&shape);
        let reactor = Reactor::virtual_clock();
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        write_all(&array, 3);
        drop(array);
        // Dirty; member 0 has its first row, whose parity is not that of its data. Parity of row 0
        // is on the last or the one before.
        for (number, member) in members.iter().enumerate() {
            let mut forged = superblock(&**member);
            assert!(!forged.is_clean(), "{shape:?}");
            if number == 0 {
                forged.features = forged.features.with(Features::RECOVERY_OFFSET);
                forged.recovery_offset_sectors = CHUNK / 512;
            }
            let mut channel = Blocking::open(&**member, &reactor).expect("a channel");
            channel.write_slice(4096, &forged.encode()).expect("written");
            if number + 2 >= shape.members {
                channel.write_slice(DATA + 512, &[number as u8; 512]).expect("written");
            }
        }
        let array =
            started(&checked(&members), &StartOptions { force: true, ..StartOptions::default() })
                .expect("by force");
        assert!(
            matches!(array.status().members.members[0], MemberState::Recovering { .. }),
            "{shape:?}"
        );
        assert_eq!(scrub(&array), Ok(()), "{shape:?}");
    }
}

fn bad_ranges(member: &dyn Device) -> Ranges {
    let superblock = superblock(member);
    if !superblock.features.contains(Features::BAD_BLOCKS) {
        return Ranges::none();
    }
    let at = (superblock.super_offset_sectors as i64
        + i64::from(superblock.bad_block_offset_sectors)) as usize
        * 512;
    let log = &bytes(member)[at..at + usize::from(superblock.bad_block_size_sectors) * 512];
    let ranges = decode_bad_blocks(log, superblock.bad_block_shift).expect("a log").into_iter();
    ranges.map(|range| range.sector * 512..(range.sector + range.sectors) * 512).collect()
}

/// What a rebuild could not restore is in the new member's bad-block log before it is called in
/// sync, does not read as data after a restart, and is forgotten when it has been made good.
#[test]
fn what_a_rebuild_lost_is_kept_in_the_bad_block_log() {
    let shape = Shape::raid5(Consistency::Resync);
    let mut members = members(&shape);
    let reactor = Reactor::virtual_clock();
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let content = write_all(&array, 1);
    array.stop(&reactor).expect("stopped");
    // Member 0 is gone for good; member 2 cannot read the second sector of row 0 and the last of
    // row 1.
    let bad = Mortal::over(Arc::clone(&members[2]) as Arc<dyn Device>, "bad");
    let places = [512, 2 * CHUNK - 512];
    places.iter().for_each(|place| bad.goes_bad(DATA + place));
    let info =
        Info { volatile_cache: true, ..Memory::new(shape.member_size_bytes()).info().clone() };
    let new = Arc::new(Memory::with(info));
    let mut devices = checked(&members);
    devices[0] = None;
    devices[2] = Some(Arc::clone(&bad) as Arc<dyn Device>);
    let array = started(&devices, &StartOptions::default()).expect("an array");
    array
        .add_to_slot(0, &(Arc::clone(&new) as Arc<dyn Device>), [7; 16], &reactor)
        .expect("admitted");
    settle(&array, None);
    assert_eq!(array.status().members.members[0], MemberState::InSync);
    let lost: Ranges = places.iter().map(|&place| place..place + 512).collect();
    assert_eq!(array.control().lost(0), lost);
    array.stop(&reactor).expect("stopped");
    assert_eq!(bad_ranges(&*new), lost, "named in the log");

    // Row 0 has its first chunk on member 0. The place reads as what it is, not as data.
    members[0] = Arc::clone(&new);
    let mut devices = checked(&members);
    devices[2] = Some(Arc::clone(&bad) as Arc<dyn Device>);
    let array = started(&devices, &StartOptions::default()).expect("an array");
    let mut sector = [0; 512];
    let mut channel = Blocking::open(&array, &reactor).expect("a channel");
    let error = channel.read_slice(512, &mut sector).expect_err("nobody has it");
    assert_eq!(error.kind(), ErrorKind::Media);
    channel.read_slice(1024, &mut sector).expect("its neighbour is there");
    assert!(sector == content[1024..1536]);
    drop(channel);
    array.stop(&reactor).expect("stopped");
    assert_eq!(bad_ranges(&*new), lost, "still named");

    // With member 2 readable again all is there, and what is read is written back.
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    assert!(bytes(&array) == content);
    settle(&array, Some(SyncAction::Check(None)));
    assert!(array.control().lost(0).is_empty());
    array.stop(&reactor).expect("stopped");
    assert!(bad_ranges(&*new).is_empty());
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    assert_eq!(scrub(&array), Ok(()));
    assert!(bytes(&array) == content);
}

/// A read error that was made good from the others is counted in the member's superblock, as in md.
#[test]
fn corrected_reads_are_counted() {
    for shape in [Shape::raid1(Consistency::Resync), Shape::raid5(Consistency::Resync)] {
        let members = members(&shape);
        let reactor = Reactor::virtual_clock();
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        let content = write_all(&array, 1);
        array.stop(&reactor).expect("stopped");
        for round in 1..=2 {
            let bad = Mortal::over(Arc::clone(&members[0]) as Arc<dyn Device>, "bad");
            bad.goes_bad(DATA + 512);
            let mut devices = checked(&members);
            devices[0] = Some(Arc::clone(&bad) as Arc<dyn Device>);
            let array = started(&devices, &StartOptions::default()).expect("an array");
            settle(&array, Some(SyncAction::Check(None)));
            assert!(bytes(&array) == content && bad.bad_count() == 0, "{shape:?}: mended");
            write_all(&array, 1);
            array.stop(&reactor).expect("stopped");
            let counts: Vec<u32> =
                members.iter().map(|member| superblock(&**member).corrected_reads).collect();
            assert_eq!((counts[0], counts[1..].iter().sum::<u32>()), (round, 0), "{shape:?}");
        }
    }
}

/// The first resync of a large array takes hours. A member that fails meanwhile, and an orderly
/// stop: what is left is called clean, as far as it is there, and starts without force.
#[test]
fn a_member_that_fails_during_a_resync_leaves_an_array_that_starts() {
    for shape in Shape::all().into_iter().filter(|shape| shape.level.parity_count() > 0) {
        for failing in 0..shape.members {
            let context = format!("{shape:?} without {failing}");
            let members = members(&shape);
            let reactor = Reactor::virtual_clock();
            let array = started(&checked(&members), &StartOptions::default()).expect("an array");
            array.control().require_resync(&Ranges::one(0..array.control().sync_bytes()));
            let content = write_all(&array, 3);
            let resync = || array.control().snapshot().resync;
            assert_eq!(resync(), Some(0), "{context}");
            array.control().fail(failing).expect("redundant");
            // Two kinds of parity can still be held against each other.
            let parity_left = shape.level.parity_count() - 1;
            assert_eq!(resync().is_some(), parity_left > 0, "{context}");
            array.stop(&reactor).expect("stopped");
            let mut devices = checked(&members);
            devices[failing] = None;
            let (found, _) = assembly(&devices);
            assert_eq!(
                (found.clean, found.degraded_count(), &found.start),
                (true, 1, &Startability::Ready),
                "{context}"
            );
            let again = started(&devices, &StartOptions::default()).expect("an array");
            assert!(bytes(&again) == content, "{context}");
        }
    }
}

/// A resync that has nothing left to compare ends.
#[test]
fn a_resync_ends_with_the_last_parity() {
    let shape = Shape::raid5(Consistency::Resync);
    let members = members(&shape);
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    array.control().require_resync(&Ranges::one(0..array.control().sync_bytes()));
    let reactor = Reactor::virtual_clock();
    let mut runner = array.control().sync_runner(&reactor).expect("a runner");
    runner.start(SyncAction::Resync).expect("it is due");
    runner.pause();
    assert!(runner.poll().is_none());
    array.control().fail(1).expect("redundant");
    let outcome = runner.poll().expect("it has ended");
    assert!(matches!(outcome.ending, Ending::Cancelled), "{outcome:?}");
}

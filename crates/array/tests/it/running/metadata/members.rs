//! Members that leave and come back, and what the others say of them.

use std::sync::Arc;
use std::time::Duration;

use array::MemberState;
use array::md::{Consistency, Role, Slot, Startability, Superblock, Version};
use array::metadata::{RunningArray, StartOptions};
use array::sync::SyncAction;
use block::{Blocking, Device, ErrorKind, Info, Op, Reactor};
use testkit::Memory;

use super::bench::{
    CHUNK, Shape, assembly, bitmap, checked, run, scrub, settle, started, superblock,
};
use crate::common::{Mortal, bytes, read, write};

fn members(shape: &Shape) -> Vec<Arc<Memory>> {
    shape.make(|number, info| Memory::with(info).delayed(number as u64, Duration::from_micros(20)))
}

/// Members of which one can die.
fn mortals(members: &[Arc<Memory>], dying: usize) -> (Vec<Option<Arc<dyn Device>>>, Arc<Mortal>) {
    let mut devices = checked(members);
    let mortal = Mortal::over(Arc::clone(&members[dying]) as Arc<dyn Device>, "mortal");
    devices[dying] = Some(Arc::clone(&mortal) as Arc<dyn Device>);
    (devices, mortal)
}

fn fill(array: &RunningArray, reactor: &Reactor, byte: u8) -> Vec<u8> {
    let content: Vec<u8> = (0..array.info().size_bytes).map(|at| (at / 512) as u8 ^ byte).collect();
    Blocking::open(array, reactor).expect("a channel").write_slice(0, &content).expect("written");
    content
}

fn content(array: &RunningArray, reactor: &Reactor) -> Vec<u8> {
    let mut found = vec![0; array.info().size_bytes as usize];
    Blocking::open(array, reactor).expect("a channel").read_slice(0, &mut found).expect("read");
    found
}

/// Every level, each member: it dies, its death is on the others before the write is answered, and
/// what is written after a rest is there without it although it is back.
#[test]
fn a_member_that_dies_is_left_out_for_good() {
    for shape in Shape::all() {
        for dying in 0..shape.members {
            let members = members(&shape);
            let (devices, mortal) = mortals(&members, dying);
            let array = started(&devices, &StartOptions::default()).expect("an array");
            let reactor = Reactor::virtual_clock();
            fill(&array, &reactor, 0x11);
            mortal.dies_after(0);
            let expected = fill(&array, &reactor, 0x22);
            let status = array.status().members;
            assert_eq!(status.members[dying], MemberState::Faulty);
            let cause = status.causes[dying].clone().unwrap_or_default();
            assert!(cause.english().contains("the device is gone"), "{shape:?}: {cause}");
            assert_eq!(status.faulty(), [(dying, status.names[dying].clone(), Some(cause))]);
            let recovering = superblock(&*members[dying]);
            for (number, member) in
                members.iter().enumerate().filter(|(number, _)| *number != dying)
            {
                let told = superblock(&**member);
                assert_eq!(
                    told.role_of(dying as u32),
                    Role::Faulty,
                    "{shape:?}: member {number} of {dying}"
                );
                assert!(told.events > recovering.events);
                assert_eq!(told.resync_offset_sectors, shape.dirty_from_sector(), "{shape:?}");
            }
            let (back, _) = assembly(&checked(&members));
            let refuses = shape.level.parity_count() > 0 && shape.consistency != Consistency::Ppl;
            assert_eq!(
                matches!(back.start, Startability::NeedsForce(_)),
                refuses,
                "{shape:?}: dirty and degraded: {}",
                back.start
            );
            array.stop(&reactor).expect("stopped");
            let (back, _) = assembly(&checked(&members));
            assert_eq!(
                (back.clean, back.degraded_count(), &back.start),
                (true, 1, &Startability::Ready),
                "{shape:?}"
            );
            assert!(matches!(back.slots[dying], Slot::Missing | Slot::Stale { .. }));
            let again = started(&checked(&members), &StartOptions::default()).expect("an array");
            assert!(content(&again, &reactor) == expected, "{shape:?} without {dying}");
        }
    }
}

/// What a crash has left of a mirror that lacks a member is copied once: with one member there is
/// nothing to compare. With two of three there is, and it is compared then.
#[test]
fn a_dirty_mirror_with_one_member_left_is_rebuilt_and_not_compared() {
    for shape in [Shape::raid1(Consistency::Resync), Shape::with_bitmap(Shape::raid1)] {
        for left in [1, 2] {
            let members = members(&shape);
            let reactor = Reactor::virtual_clock();
            let array = started(&checked(&members), &StartOptions::default()).expect("an array");
            fill(&array, &reactor, 0x55);
            // It is not stopped.
            drop(array);
            let mut devices = checked(&members);
            devices[left..].fill(None);
            let array = started(&devices, &StartOptions::default()).expect("an array");
            let new: Arc<dyn Device> = Arc::new(Memory::new(shape.member_size_bytes()));
            array.add_to_slot(left, &new, [9; 16], &reactor).expect("admitted");
            let actions: Vec<SyncAction> =
                settle(&array, None).into_iter().map(|outcome| outcome.progress.action).collect();
            let rebuilt = SyncAction::Rebuild { member: left };
            let expected = match left {
                1 => vec![rebuilt],
                _ => vec![rebuilt, SyncAction::Resync],
            };
            assert_eq!(actions, expected, "{shape:?}");
            assert_eq!(scrub(&array), Ok(()), "{shape:?}");
        }
    }
}

/// Comes back by the bitmap: it gets what it missed and nothing else, and then counts again.
#[test]
fn a_member_that_was_away_gets_what_it_missed() {
    for make in [Shape::raid1, Shape::raid10, Shape::raid4, Shape::raid5, Shape::raid6] {
        let shape = Shape::with_bitmap(make);
        let members = members(&shape);
        let reactor = Reactor::virtual_clock();
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        fill(&array, &reactor, 0x33);
        array.stop(&reactor).expect("stopped");
        drop(array);
        let mut devices = checked(&members);
        let away = devices[1].take().expect("a member");
        let array = started(&devices, &StartOptions::default()).expect("an array");
        let mut channel = array.open(1, &reactor).expect("a channel");
        run(&mut *channel, &reactor, write(0, 1024, 0x44)).expect("written");
        drop(channel);
        let unrecovered = array.add_to_slot(1, &away, [9; 16], &reactor).expect("admitted");
        assert_eq!(superblock(&*members[1]).role(), Role::Spare, "{shape:?}");
        assert_eq!(
            unrecovered.bytes(),
            CHUNK,
            "{shape:?}: one region of the bitmap: {unrecovered:?}"
        );
        let outcomes = settle(&array, None);
        assert_eq!(outcomes.len(), 1, "{shape:?}: {outcomes:?}");
        assert_eq!(array.status().members.members[1], MemberState::InSync);
        assert_eq!(scrub(&array), Ok(()), "{shape:?}");
        let expected = content(&array, &reactor);
        array.stop(&reactor).expect("stopped");
        let (whole, _) = assembly(&checked(&members));
        assert_eq!(
            (whole.clean, whole.degraded_count(), whole.left_out.len()),
            (true, 0, 0),
            "{shape:?}: {whole:?}"
        );
        assert!(members.iter().all(|member| bitmap(&**member).dirty_count() == 0), "{shape:?}");
        // It is as good as the others.
        let mut devices = checked(&members);
        devices[0] = None;
        let without = started(&devices, &StartOptions::default()).expect("an array");
        assert!(content(&without, &reactor) == expected, "{shape:?}");
    }
}

/// The bitmap says nothing about what was written while all were there, nor about another place,
/// nor about bad blocks.
#[test]
fn a_member_from_long_ago_gets_everything() {
    for make in [Shape::raid1, Shape::raid10, Shape::raid5] {
        let shape = Shape::with_bitmap(make);
        let reactor = Reactor::virtual_clock();
        let members = members(&shape);
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        fill(&array, &reactor, 0x10);
        array.stop(&reactor).expect("stopped");
        let long_ago = bytes(&*members[1]);
        // It is away, comes back and gets everything; then the bits are cleared.
        let mut devices = checked(&members);
        let away = devices[1].take().expect("a member");
        let array = started(&devices, &StartOptions::default()).expect("an array");
        fill(&array, &reactor, 0x20);
        array.add_to_slot(1, &away, [9; 16], &reactor).expect("admitted");
        settle(&array, None);
        array.stop(&reactor).expect("stopped");
        let lately = bytes(&*members[1]);
        // A device of its own that says it is another place's member.
        let mut neighbour = bytes(&*members[0]);
        let elsewhere = Superblock { device_uuid: [0x5e; 16], ..superblock(&*members[0]) }.encode();
        neighbour[4096..4096 + elsewhere.len()].copy_from_slice(&elsewhere);
        let all = shape.member_bytes;
        for (image, unrecovered_bytes) in [(lately, 0), (long_ago, all), (neighbour, all)] {
            let mut devices = checked(&members);
            let away = devices[1].take().expect("a member");
            Blocking::open(&*members[1], &reactor)
                .and_then(|mut channel| channel.write_slice(0, &image))
                .expect("written");
            let array = started(&devices, &StartOptions::default()).expect("an array");
            let expected = content(&array, &reactor);
            let unrecovered = array.add_to_slot(1, &away, [9; 16], &reactor).expect("admitted");
            assert_eq!(unrecovered.bytes(), unrecovered_bytes, "{shape:?}");
            settle(&array, None);
            assert_eq!(scrub(&array), Ok(()), "{shape:?}");
            assert!(content(&array, &reactor) == expected, "{shape:?}");
            array.stop(&reactor).expect("stopped");
        }
    }
}

/// A device that was never a member is rebuilt, with its position written down on the way.
#[test]
fn a_new_device_takes_the_place_of_a_dead_one() {
    for shape in Shape::all() {
        let members = members(&shape);
        let (devices, mortal) = mortals(&members, 2);
        let array = started(&devices, &StartOptions::default()).expect("an array");
        let reactor = Reactor::virtual_clock();
        fill(&array, &reactor, 0x55);
        mortal.dies_after(0);
        let expected = fill(&array, &reactor, 0x66);
        let info =
            Info { volatile_cache: true, ..Memory::new(shape.member_size_bytes()).info().clone() };
        let new = Arc::new(Memory::with(info));
        // Full of what was on it before.
        Blocking::open(&*new, &reactor)
            .expect("a channel")
            .write_slice(0, &vec![0xcc; shape.member_size_bytes() as usize])
            .expect("written");
        let new_device = array
            .make_spare(&(Arc::clone(&new) as Arc<dyn Device>), [0x77; 16], &reactor)
            .expect("enlisted");
        array.control().add(new_device).expect("a spare");
        let outcomes = settle(&array, None);
        assert!(!outcomes.is_empty(), "{shape:?}");
        assert_eq!(scrub(&array), Ok(()), "{shape:?}");
        array.stop(&reactor).expect("stopped");
        let mut now = checked(&members);
        now[2] = Some(Arc::clone(&new) as Arc<dyn Device>);
        let told = superblock(&*new);
        assert_eq!(
            (told.role(), told.device_uuid, told.member_number),
            (Role::Active(2), [0x77; 16], shape.members as u32)
        );
        assert_eq!(told.resync_offset_sectors, Superblock::IN_SYNC);
        now.push(Some(Arc::clone(&members[2]) as Arc<dyn Device>));
        let (whole, _) = assembly(&now);
        assert_eq!(
            (whole.clean, whole.degraded_count(), whole.left_out.len()),
            (true, 0, 1),
            "{shape:?}: the dead one is left out: {whole:?}"
        );
        let again = started(&now, &StartOptions::default()).expect("an array");
        assert!(content(&again, &reactor) == expected, "{shape:?}");
    }
}

#[test]
fn a_device_that_does_not_fit_is_refused() {
    let shape = Shape::raid5(Consistency::Resync);
    let members = members(&shape);
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let reactor = Reactor::virtual_clock();
    let small: Arc<dyn Device> = Arc::new(Memory::new(shape.member_size_bytes() - 4096));
    let error = array.make_spare(&small, [1; 16], &reactor).err().expect("too small");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("a member of this array needs"), "{error}");
    let before = crate::common::bytes(&*small);
    assert!(before.iter().all(|&byte| byte == 0), "and nothing was written to it");
}

/// With too many members gone nothing is answered any more, and the array is not called clean.
#[test]
fn an_array_that_lost_its_data_takes_no_writes() {
    let shape = Shape::raid10(Consistency::Resync);
    let members = members(&shape);
    let first = Mortal::over(Arc::clone(&members[0]) as Arc<dyn Device>, "first");
    let second = Mortal::over(Arc::clone(&members[1]) as Arc<dyn Device>, "second");
    let mut devices = checked(&members);
    devices[0] = Some(Arc::clone(&first) as Arc<dyn Device>);
    devices[1] = Some(Arc::clone(&second) as Arc<dyn Device>);
    let array = started(&devices, &StartOptions::default()).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(1, &reactor).expect("a channel");
    run(&mut *channel, &reactor, write(0, 512, 1)).expect("written");
    first.dies_after(0);
    second.dies_after(0);
    let _ = run(&mut *channel, &reactor, read(0, 512));
    // Chunk 1 has its copies on members 2 and 0: one of them is alive.
    let error =
        run(&mut *channel, &reactor, write(CHUNK, 512, 2)).expect_err("nobody could rely on it");
    assert_eq!(error.kind(), ErrorKind::Gone);
    assert!(run(&mut *channel, &reactor, Op::Flush).is_err());
    drop(channel);
    assert_eq!(array.stop(&reactor).expect_err("it is not clean").kind(), ErrorKind::Gone);
    assert_eq!(superblock(&*members[2]).resync_offset_sectors, 0);
}

/// Where md's driver wrote the superblocks before, an old copy of a member may come back to a
/// running array with as many events as the others had at its start: the bitmap does not know what
/// it lacks.
#[test]
fn an_old_copy_that_comes_back_gets_everything() {
    let shape = Shape::with_bitmap(Shape::raid1);
    let reactor = Reactor::virtual_clock();
    let members = members(&shape);
    let at = |member: &Memory, seconds: u64| {
        let mut own = superblock(member);
        own.updated.seconds = seconds;
        let mut bytes = own.encode();
        bytes.resize(4096, 0);
        Blocking::open(member, &reactor)
            .and_then(|mut channel| channel.write_slice(4096, &bytes))
            .expect("written");
    };
    at(&members[0], 100);
    at(&members[2], 100);
    at(&members[1], 40);
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let unrecovered = array
        .add_to_slot(1, &checked(&members)[1].take().expect("a member"), [9; 16], &reactor)
        .expect("admitted");
    assert_eq!(unrecovered.bytes(), shape.member_bytes);
    // One that left when the others were as it is lacks nothing yet.
    array.control().fail(2).and_then(|()| array.remove(2)).expect("redundant");
    let unrecovered = array
        .add_to_slot(2, &checked(&members)[2].take().expect("a member"), [9; 16], &reactor)
        .expect("admitted");
    assert_eq!(unrecovered.bytes(), 0);
}

/// Events alone do not tell: a member that was written to without the others has writes that no
/// bitmap of theirs knows of.
#[test]
fn a_member_that_went_on_alone_gets_everything() {
    let shape = Shape::with_bitmap(Shape::raid1);
    let reactor = Reactor::virtual_clock();
    let members = members(&shape);
    let without = |absent: &[usize]| {
        let mut devices = checked(&members);
        absent.iter().for_each(|&member| devices[member] = None);
        started(&devices, &StartOptions::default()).expect("an array")
    };
    let array = without(&[1]);
    fill(&array, &reactor, 0x10);
    array.stop(&reactor).expect("stopped");
    let array = without(&[0, 2]);
    fill(&array, &reactor, 0x20);
    array.stop(&reactor).expect("stopped");
    // Now the others have had more events.
    let mut array = without(&[1]);
    while superblock(&*members[0]).events <= superblock(&*members[1]).events {
        fill(&array, &reactor, 0x30);
        array.stop(&reactor).expect("stopped");
        array = without(&[1]);
    }
    let expected = content(&array, &reactor);
    let unrecovered = array
        .add_to_slot(1, &checked(&members)[1].take().expect("a member"), [9; 16], &reactor)
        .expect("admitted");
    assert_eq!(unrecovered.bytes(), shape.member_bytes);
    settle(&array, None);
    assert_eq!(scrub(&array), Ok(()));
    assert!(content(&array, &reactor) == expected);
}

/// A removed member is not written any more: its replacement is rebuilt, and not a byte of the old
/// one changes.
#[test]
fn a_member_that_was_removed_is_left_alone() {
    for shape in Shape::all() {
        let reactor = Reactor::virtual_clock();
        let members = members(&shape);
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        fill(&array, &reactor, 0x10);
        array.control().fail(1).expect("redundant");
        array.remove(1).expect("removed");
        let before = bytes(&*members[1]);
        let new: Arc<dyn Device> = Arc::new(Memory::with(members[1].info().clone()));
        array
            .control()
            .add(array.make_spare(&new, [7; 16], &reactor).expect("enlisted"))
            .expect("a spare");
        settle(&array, None);
        fill(&array, &reactor, 0x20);
        array.stop(&reactor).expect("stopped");
        assert_eq!(array.status().members.members[1], MemberState::InSync);
        assert!(bytes(&*members[1]) == before, "{shape:?}");
    }
}

/// A number that another member was given meanwhile is not taken back.
#[test]
fn members_that_come_back_take_no_other_members_number() {
    let shape = Shape::with_bitmap(Shape::raid1);
    let reactor = Reactor::virtual_clock();
    let members = members(&shape);
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let new = |uuid: u8| {
        let device: Arc<dyn Device> = Arc::new(Memory::with(members[1].info().clone()));
        array
            .control()
            .add(array.make_spare(&device, [uuid; 16], &reactor).expect("enlisted"))
            .expect("a spare");
        device
    };
    let leaves = |member: usize| {
        array.control().fail(member).and_then(|()| array.remove(member)).expect("removed");
    };
    leaves(1);
    let first = new(0x71);
    settle(&array, None);
    leaves(1);
    let second = new(0x72);
    settle(&array, None);
    let third = new(0x73);
    let number = |device: &Arc<dyn Device>| superblock(&**device).member_number;
    assert_eq!((number(&first), number(&second), number(&third)), (3, 4, 3));
    array
        .control()
        .add(array.make_spare(&first, [0x74; 16], &reactor).expect("enlisted"))
        .expect("a spare");
    assert_eq!((number(&first), superblock(&*first).device_uuid), (5, [0x71; 16]));
    leaves(0);
    settle(&array, None);
    array.stop(&reactor).expect("stopped");
    let now: Vec<Option<Arc<dyn Device>>> =
        vec![Some(third), Some(second), checked(&members)[2].take(), Some(first)];
    let (whole, _) = assembly(&now);
    assert_eq!(
        (whole.clean, whole.degraded_count(), whole.spares.len(), whole.left_out.len()),
        (true, 0, 1, 0),
        "{whole:?}"
    );
}

#[test]
fn a_copy_of_a_member_in_service_is_refused() {
    let shape = Shape::with_bitmap(Shape::raid1);
    let reactor = Reactor::virtual_clock();
    let members = members(&shape);
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let copy: Arc<dyn Device> = Arc::new(Memory::with(members[1].info().clone()));
    Blocking::open(&*copy, &reactor)
        .and_then(|mut channel| channel.write_slice(0, &bytes(&*members[1])))
        .expect("written");
    let error = array.make_spare(&copy, [9; 16], &reactor).err().expect("there is one already");
    assert!(
        error.kind() == ErrorKind::Invalid
            && error.to_string().contains("it is member 1, which is in service, or a copy of it"),
        "{error}"
    );
    assert!(bytes(&*copy) == bytes(&*members[1]), "and nothing was written to it");
}

/// Version 1.0, with the superblock behind the data, as boot mirrors have it: the same members as
/// `raid1` has, in that form.
fn with_superblocks_at_the_end(members: &[Arc<Memory>]) {
    for member in members {
        let mut own = superblock(&**member);
        let sectors = member.info().size_bytes / 512;
        own.super_offset_sectors = Version::V1_0.offset_sectors(sectors).expect("it is large");
        own.data_offset_sectors = 0;
        own.bad_block_offset_sectors = -8;
        own.data_size_sectors = own.super_offset_sectors - 8;
        let mut bytes = own.encode();
        bytes.resize(4096, 0);
        let mut channel = Blocking::open(&**member, &Reactor::virtual_clock()).expect("a channel");
        channel.write_slice(4096, &[0; 4096]).expect("written");
        channel.write_slice(own.super_offset_sectors * 512, &bytes).expect("written");
        channel.write_slice((own.super_offset_sectors - 8) * 512, &[0xff; 4096]).expect("written");
    }
}

#[test]
fn version_1_0_takes_members_and_takes_them_back() {
    let shape = Shape::raid1(Consistency::Resync);
    let reactor = Reactor::virtual_clock();
    let members = members(&shape);
    with_superblocks_at_the_end(&members);
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    fill(&array, &reactor, 0x31);
    // One leaves and comes back, one is replaced by another size of drive.
    array.control().fail(1).and_then(|()| array.remove(1)).expect("redundant");
    fill(&array, &reactor, 0x32);
    let back = checked(&members)[1].take().expect("a member");
    array.add_to_slot(1, &back, [9; 16], &reactor).expect("admitted");
    settle(&array, None);
    let larger: Arc<dyn Device> = Arc::new(Memory::with(Info {
        size_bytes: members[0].info().size_bytes + 12345 * 512,
        ..members[0].info().clone()
    }));
    let new_device = array.make_spare(&larger, [0x77; 16], &reactor).expect("enlisted");
    array.control().replace(2, new_device).expect("in sync");
    settle(&array, None);
    let expected = fill(&array, &reactor, 0x33);
    array.stop(&reactor).expect("stopped");
    let own = superblock(&*larger);
    assert_eq!(own.role(), Role::Active(2));
    assert_eq!(own.data_size_sectors, own.super_offset_sectors - 8);
    let mut now = checked(&members);
    now[2] = Some(larger);
    let (whole, _) = assembly(&now);
    assert_eq!(
        (whole.clean, whole.degraded_count(), whole.left_out.len()),
        (true, 0, 0),
        "{whole:?}"
    );
    for alone in 0..3 {
        let one: Vec<_> = (0..3).map(|slot| now[slot].clone().filter(|_| slot == alone)).collect();
        let array = started(&one, &StartOptions::default()).expect("an array");
        assert!(content(&array, &reactor) == expected, "member {alone}");
    }
    let small: Arc<dyn Device> = Arc::new(Memory::new(shape.member_bytes + 8192));
    let again = started(&now, &StartOptions::default()).expect("an array");
    let error = again.make_spare(&small, [1; 16], &reactor).err().expect("too small");
    assert!(error.to_string().contains("a member of this array needs"), "{error}");
}

/// Write-mostly and failfast are said of a drive, and hold for it when it is back; a new drive has
/// neither.
#[test]
fn a_member_that_comes_back_keeps_its_flags() {
    let shape = Shape::raid1(Consistency::Resync);
    let reactor = Reactor::virtual_clock();
    let members = members(&shape);
    let flags = Superblock::WRITE_MOSTLY | Superblock::FAIL_FAST;
    let mut bytes = Superblock { device_flags: flags, ..superblock(&*members[1]) }.encode();
    bytes.resize(4096, 0);
    Blocking::open(&*members[1], &reactor)
        .and_then(|mut channel| channel.write_slice(4096, &bytes))
        .expect("written");
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    array.control().fail(1).and_then(|()| array.remove(1)).expect("redundant");
    fill(&array, &reactor, 0x31);
    let back = checked(&members)[1].take().expect("a member");
    array.add_to_slot(1, &back, [9; 16], &reactor).expect("admitted");
    settle(&array, None);
    let new: Arc<dyn Device> = Arc::new(Memory::with(members[1].info().clone()));
    array.make_spare(&new, [8; 16], &reactor).expect("enlisted");
    array.stop(&reactor).expect("stopped");
    assert_eq!(superblock(&*members[1]).device_flags, flags);
    assert_eq!(superblock(&*new).device_flags, 0);
}

/// One read that fails may be one that failed: superblocks are read again before a member is given
/// up.
#[test]
fn a_superblock_that_cannot_be_read_once_is_read_again() {
    let shape = Shape::raid1(Consistency::Resync);
    let members = members(&shape);
    let (devices, mortal) = mortals(&members, 1);
    let device = devices[1].as_ref().expect("a member");
    for fails in 0..8 {
        mortal.fails_once_after(fails);
        let found = array::metadata::examine(&**device, "m1", &Reactor::virtual_clock());
        assert!(found.expect("read again").is_some());
    }
    mortal.goes_bad(4096);
    let found = array::metadata::examine(&**device, "m1", &Reactor::virtual_clock());
    assert_eq!(found.expect_err("it is bad").kind(), ErrorKind::Media);
}

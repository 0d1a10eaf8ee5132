//! Dirty and clean: what the members say before, while and after the array is written to.

use std::sync::Arc;
use std::time::Duration;

use array::md::{Consistency, Features, Role, Superblock};
use array::metadata::StartOptions;
use block::{Blocking, CountingDevice, Device, ErrorKind, Reactor};
use reactor::WakeReason;
use testkit::Memory;

use super::bench::{CHUNK, Shape, assembly, bitmap, checked, run, scrub, started, superblock};
use crate::common::{bytes, read, write};

fn members(shape: &Shape) -> Vec<Arc<Memory>> {
    shape.make(|_, info| Memory::with(info))
}

fn states(members: &[Arc<Memory>]) -> Vec<(u64, u64)> {
    members
        .iter()
        .map(|member| superblock(&**member))
        .map(|superblock| (superblock.events, superblock.resync_offset_sectors))
        .collect()
}

/// Behind the superblock a member's data begin further on, where a stream is known by its place in
/// the data: it stays on its member.
#[test]
fn a_stream_of_reads_stays_on_a_member_with_a_superblock() {
    let shape = Shape::raid1(Consistency::Resync);
    let members: Vec<CountingDevice> =
        members(&shape).into_iter().map(|member| CountingDevice::over(member)).collect();
    let counters: Vec<_> = members.iter().map(CountingDevice::counters).collect();
    let members: Vec<Option<Arc<dyn Device>>> =
        members.into_iter().map(|member| Some(Arc::new(member) as Arc<dyn Device>)).collect();
    let array = started(&members, &StartOptions::default()).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(4, &reactor).expect("a channel");
    let reads = || counters.iter().map(|counters| counters.read().reads).collect::<Vec<_>>();
    let before = reads();
    let count = shape.member_bytes / 512;
    (0..count).for_each(|sector| {
        run(&mut *channel, &reactor, read(sector * 512, 512)).expect("read");
    });
    let mut of_stream: Vec<u64> =
        reads().iter().zip(before).map(|(after, before)| after - before).collect();
    of_stream.sort_unstable();
    assert_eq!(of_stream, [0, 0, count]);
}

/// The superblock says dirty before a write is answered, clean after a rest, and no count of events
/// stands for two states.
#[test]
fn a_write_makes_dirty_and_a_rest_makes_clean() {
    for shape in Shape::all() {
        let members = members(&shape);
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        let reactor = Reactor::virtual_clock();
        let mut metadata_writer =
            array.metadata_writer(&reactor).expect("a bell").expect("a metadata writer");
        let mut channel = array.open(4, &reactor).expect("a channel");
        run(&mut *channel, &reactor, read(0, 512)).expect("read");
        metadata_writer.poll();
        assert_eq!(
            states(&members),
            vec![(7, Superblock::IN_SYNC); shape.members],
            "{shape:?}: a read changes nothing"
        );
        for round in 0..3 {
            let began = reactor.now();
            run(&mut *channel, &reactor, write(512, 1024, 3)).expect("written");
            assert_eq!(
                states(&members),
                vec![(8 + 2 * round, shape.dirty_from_sector()); shape.members],
                "{shape:?}: dirty"
            );
            assert!(array.status().is_active);
            while array.status().is_active {
                metadata_writer.poll();
                assert_ne!(
                    reactor.wait(None).expect("no kernel"),
                    WakeReason::Idle,
                    "{shape:?}: the metadata writer sees to it"
                );
            }
            assert_eq!(
                states(&members),
                vec![(9 + 2 * round, Superblock::IN_SYNC); shape.members],
                "{shape:?}: clean"
            );
            let rest = reactor.now() - began;
            assert!(
                rest >= Duration::from_millis(200) && rest <= Duration::from_millis(410),
                "{rest:?}"
            );
        }
        drop((channel, metadata_writer));
        array.stop(&reactor).expect("stopped");
        let (assembly, ..) = assembly(&checked(&members));
        assert!(
            assembly.clean && assembly.degraded_count() == 0 && assembly.left_out.is_empty(),
            "{shape:?}: {assembly:?}"
        );
        assert_eq!(scrub(&array), Ok(()), "{shape:?}");
    }
}

#[test]
fn bits_are_set_before_a_write_and_cleared_two_rounds_later() {
    for make in [Shape::raid1, Shape::raid5, Shape::raid6, Shape::raid10] {
        let shape = Shape::with_bitmap(make);
        let members = members(&shape);
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        let reactor = Reactor::virtual_clock();
        let mut metadata_writer =
            array.metadata_writer(&reactor).expect("a bell").expect("a metadata writer");
        let mut channel = array.open(4, &reactor).expect("a channel");
        run(&mut *channel, &reactor, write(CHUNK, 512, 3)).expect("written");
        let began = reactor.now();
        for member in &members {
            let bitmap = bitmap(&**member);
            assert_eq!(bitmap.dirty_count(), 1, "{shape:?}");
            assert_eq!(bitmap.header().events, superblock(&**member).events);
        }
        while array.status().dirty_regions != Some(0) {
            metadata_writer.poll();
            assert_ne!(
                reactor.wait(None).expect("no kernel"),
                WakeReason::Idle,
                "{shape:?}: the metadata writer sees to it"
            );
        }
        metadata_writer.poll();
        let took = reactor.now() - began;
        assert!(took >= Duration::from_secs(5) && took <= Duration::from_secs(11), "{took:?}");
        while reactor.wait(None).expect("no kernel") != WakeReason::Idle {
            metadata_writer.poll();
        }
        for member in &members {
            let (bitmap, superblock) = (bitmap(&**member), superblock(&**member));
            assert_eq!(bitmap.dirty_count(), 0, "{shape:?}");
            assert!(
                bitmap.header().accept(&superblock.set_uuid, superblock.events).is_ok(),
                "{shape:?}"
            );
        }
    }
}

/// Bits stay while a member is away: it is brought up to date by them.
#[test]
fn bits_stay_while_the_array_is_degraded() {
    let shape = Shape::with_bitmap(Shape::raid1);
    let members = members(&shape);
    let mut devices = checked(&members);
    devices[1] = None;
    let array = started(&devices, &StartOptions::default()).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(4, &reactor).expect("a channel");
    run(&mut *channel, &reactor, write(2 * CHUNK, 512, 3)).expect("written");
    drop(channel);
    array.stop(&reactor).expect("stopped");
    assert_eq!(
        bitmap(&*members[0]).dirty_ranges().collect::<Vec<_>>(),
        [core::ops::Range { start: 16, end: 24 }]
    );
    let (assembly, ..) = assembly(&checked(&members));
    assert!(assembly.clean);
    assert_eq!(assembly.degraded_count(), 1, "the one that was away is not mixed in");
    assert!(
        matches!(assembly.slots[1], array::md::Slot::Stale { by_bitmap: true, .. }),
        "{:?}",
        assembly.slots[1]
    );
    let told = superblock(&*members[0]);
    assert_eq!(told.role_of(1), Role::Faulty);
    assert!(told.features.contains(Features::BITMAP));
}

#[test]
fn a_start_for_reading_writes_nothing() {
    for shape in Shape::all() {
        let members = members(&shape);
        let before: Vec<_> = members.iter().map(|member| bytes(&**member)).collect();
        let array = started(
            &checked(&members),
            &StartOptions { read_only: true, ..StartOptions::default() },
        )
        .expect("an array");
        assert!(array.info().read_only);
        let reactor = Reactor::virtual_clock();
        assert!(array.metadata_writer(&reactor).expect("a bell").is_none());
        let mut channel = array.open(4, &reactor).expect("a channel");
        run(&mut *channel, &reactor, read(0, 4096)).expect("read");
        let refused = run(&mut *channel, &reactor, write(0, 512, 1)).expect_err("read-only");
        assert_eq!(refused.kind(), ErrorKind::ReadOnly);
        run(&mut *channel, &reactor, block::Op::Flush).expect("flushed");
        drop(channel);
        array.stop(&reactor).expect("stopped");
        assert!(
            members.iter().zip(&before).all(|(member, before)| bytes(&**member) == *before),
            "{shape:?}"
        );
    }
}

/// Nor does one that may write, until the first write.
#[test]
fn a_start_without_a_write_changes_nothing() {
    for shape in Shape::all() {
        let members = members(&shape);
        let before: Vec<_> = members.iter().map(|member| bytes(&**member)).collect();
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        let reactor = Reactor::virtual_clock();
        array.stop(&reactor).expect("stopped");
        assert!(
            members.iter().zip(&before).all(|(member, before)| bytes(&**member) == *before),
            "{shape:?}"
        );
        let mut channel = array.open(1, &reactor).expect("a channel");
        let error = run(&mut *channel, &reactor, write(0, 512, 1)).expect_err("it has ended");
        assert!(error.to_string().contains("has been stopped"), "{error}");
    }
}

#[test]
fn an_array_in_use_is_not_stopped() {
    let shape = Shape::raid1(Consistency::Resync);
    let members =
        shape.make(|seed, info| Memory::with(info).delayed(seed as u64, Duration::from_micros(50)));
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(4, &reactor).expect("a channel");
    run(&mut *channel, &reactor, write(0, 512, 1)).expect("written");
    channel.submit(block::Request::new(9, write(0, 512, 2)));
    assert_eq!(array.stop(&reactor).expect_err("it is in use").kind(), ErrorKind::Busy);
    assert!(crate::common::finish(&mut *channel, &reactor).remove(0).result.is_ok(), "and goes on");
    drop(channel);
    array.stop(&reactor).expect("stopped");
    assert!(assembly(&checked(&members)).0.clean);
}

/// Where the log of bad blocks names a place, it is read from the others, and what is written there
/// counts again.
#[test]
fn bad_blocks_are_read_from_elsewhere() {
    let shape = Shape::raid5(Consistency::Resync);
    let members = members(&shape);
    let reactor = Reactor::virtual_clock();
    let content: Vec<u8> = {
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        let content: Vec<u8> =
            (0..array.info().size_bytes).map(|at| (at / 512 * 7) as u8).collect();
        Blocking::open(&array, &reactor)
            .expect("a channel")
            .write_slice(0, &content)
            .expect("written");
        array.stop(&reactor).expect("stopped");
        content
    };
    // Row 0 has its first chunk on member 0; sectors 2 and 3 of it are bad, and hold something
    // else.
    let mut channel = Blocking::open(&*members[0], &reactor).expect("a channel");
    channel.write_slice((64 + 2) * 512, &[0xbb; 1024]).expect("written");
    let mut log = vec![0xff; 4096];
    log[..8].copy_from_slice(&(2_u64 << 10 | 2).to_le_bytes());
    channel.write_slice(48 * 512, &log).expect("written");
    channel.flush().expect("flushed");
    drop(channel);
    forge(&members[0], |marked| marked.features = marked.features.with(Features::BAD_BLOCKS));
    for read_only in [true, false] {
        let array =
            started(&checked(&members), &StartOptions { read_only, ..StartOptions::default() })
                .expect("an array");
        let mut found = vec![0; content.len()];
        Blocking::open(&array, &reactor)
            .expect("a channel")
            .read_slice(0, &mut found)
            .expect("read");
        assert!(found == content, "read only: {read_only}");
    }
}

/// A channel may be dropped in the middle of an update: others write it anew, and no piece waits
/// for ever.
#[test]
fn a_channel_dropped_while_it_writes_an_update_leaves_no_piece_waiting() {
    for shape in Shape::all() {
        for polls in 0..12 {
            let members = shape.make(|seed, info| {
                Memory::with(info).delayed(seed as u64, Duration::from_micros(50))
            });
            let array = started(&checked(&members), &StartOptions::default()).expect("an array");
            let reactor = Reactor::virtual_clock();
            let mut first = array.open(4, &reactor).expect("a channel");
            let mut other = array.open(4, &reactor).expect("a channel");
            first.submit(block::Request::new(0, write(0, 512, 1)));
            other.submit(block::Request::new(0, write(1024, 512, 2)));
            let mut done = Vec::new();
            for _ in 0..polls {
                first.poll(&mut done);
                reactor.wait(None).expect("no kernel");
            }
            other.poll(&mut done);
            drop(first);
            while other.in_flight() > 0 {
                assert_ne!(
                    reactor.wait(None).expect("no kernel"),
                    WakeReason::Idle,
                    "{shape:?} after {polls}: nobody wrote it down"
                );
                other.poll(&mut done);
            }
            assert!(
                done.iter().all(|completion| completion.result.is_ok()),
                "{shape:?} after {polls}: {done:?}"
            );
            drop(other);
            array.stop(&reactor).expect("stopped");
            assert!(assembly(&checked(&members)).0.clean, "{shape:?} after {polls}");
            let again = started(&checked(&members), &StartOptions::default()).expect("an array");
            assert_eq!(scrub(&again), Ok(()), "{shape:?} after {polls}");
        }
    }
}

/// Changes what a member's superblock says.
fn forge(member: &Memory, change: impl FnOnce(&mut Superblock)) {
    let mut forged = superblock(member);
    change(&mut forged);
    let mut channel = Blocking::open(member, &Reactor::virtual_clock()).expect("a channel");
    channel.write_slice(4096, &forged.encode()).expect("written");
}

/// The newest member says for all where the bitmap is. Another member's own offset was never
/// checked, and may be in the data.
#[test]
fn a_bitmap_is_written_where_it_is_and_nowhere_else() {
    let shape = Shape::with_bitmap(Shape::raid1);
    let reactor = Reactor::virtual_clock();
    let astray = members(&shape);
    let into_data = (superblock(&*astray[1]).data_offset_sectors - 8) as i32;
    forge(&astray[1], |forged| {
        forged.features = forged.features.without(Features::BITMAP);
        forged.bitmap_offset_sectors = into_data;
    });
    let array = started(&checked(&astray), &StartOptions::default()).expect("an array");
    let content = vec![0x5c; array.info().size_bytes as usize];
    Blocking::open(&array, &reactor).expect("a channel").write_slice(0, &content).expect("written");
    array.stop(&reactor).expect("stopped");
    assert!(
        bytes(&*astray[1])[512 * superblock(&*astray[1]).data_offset_sectors as usize..] == content
    );
    assert_eq!(bitmap(&*astray[1]).dirty_count(), 0);

    // The bitmap's head would fit before the data of this one, the page that it stands on does not.
    let members = members(&shape);
    forge(&members[1], |forged| {
        (forged.bad_block_size_sectors, forged.data_offset_sectors) = (0, 20);
    });
    let before: Vec<_> = members.iter().map(|member| bytes(&**member)).collect();
    let error = started(&checked(&members), &StartOptions::default())
        .err()
        .expect("no place for the bitmap")
        .to_string();
    assert!(error.contains("bitmap_offset (byte 96) is 8 sectors from the superblock"), "{error}");
    assert!(members.iter().zip(&before).all(|(member, before)| bytes(&**member) == *before));
    started(&checked(&members), &StartOptions { read_only: true, ..StartOptions::default() })
        .expect("reading harms nobody");
}

//! Old copies of a member, put in its place: a backup that is restored, a snapshot that is rolled
//! back, a file that was copied while the array was written to.

use std::sync::Arc;
use std::time::Duration;

use array::MemberState;
use array::md::{Assembly, Consistency, Slot, Startability};
use array::metadata::{MetadataWriter, PlantedMistake, RunningArray, StartOptions};
use block::{Blocking, Channel, Device, Reactor};
use testkit::Memory;

use super::bench::{
    CHUNK, Shape, assembly, bitmap, checked, run, scrub, settle, started, superblock,
};
use crate::common::{bytes, write};

/// The superblocks of an array that is written to go up so often, in seconds.
const AGE: u64 = 30;

fn members(shape: &Shape) -> Vec<Arc<Memory>> {
    shape.make(|_, info| Memory::with(info))
}

/// An array that runs, with a writer of metadata beside it.
struct Served {
    array: RunningArray,
    channel: Box<dyn Channel>,
    writer: MetadataWriter,
    reactor: Reactor,
}

impl Served {
    fn start(members: &[Option<Arc<dyn Device>>], planted: PlantedMistake) -> Served {
        let options = StartOptions { planted, ..StartOptions::default() };
        let array = started(members, &options).expect("an array");
        let reactor = Reactor::virtual_clock();
        let writer = array.metadata_writer(&reactor).expect("a bell").expect("a metadata writer");
        let channel = array.open(1, &reactor).expect("a channel");
        Served { array, channel, writer, reactor }
    }

    fn write(&mut self, offset: u64, length: u64, byte: u8) {
        run(&mut *self.channel, &self.reactor, write(offset, length, byte)).expect("written");
    }

    /// Writes to the first block for so long without a rest in which it could be called clean.
    fn is_never_idle(&mut self, seconds: u64) {
        let end = self.reactor.now() + Duration::from_secs(seconds);
        while self.reactor.now() < end {
            self.write(0, 512, 0x11);
            let next = self.reactor.now() + Duration::from_millis(50);
            while self.reactor.now() < next {
                self.writer.poll();
                self.reactor.wait(Some(next)).expect("no kernel");
            }
        }
    }

    /// Writes everything anew, in parts.
    fn fill(&mut self, byte: u8) -> Vec<u8> {
        let size = self.array.info().size_bytes;
        for offset in (0..size).step_by(512) {
            self.write(offset, 512, byte ^ (offset / 512) as u8);
        }
        run(&mut *self.channel, &self.reactor, block::Op::Flush).expect("flushed");
        (0..size).map(|at| byte ^ (at / 512) as u8).collect()
    }

    /// Waits until it is called clean.
    fn rests(&mut self) {
        while self.array.status().is_active {
            self.writer.poll();
            self.reactor.wait(None).expect("no kernel");
        }
        self.writer.poll();
    }

    fn stop(self) {
        let Served { array, channel, writer, reactor } = self;
        drop((channel, writer));
        array.stop(&reactor).expect("stopped");
    }
}

/// The members with another image in the place of one.
fn with_image(
    members: &[Arc<Memory>],
    member: usize,
    image: &[u8],
) -> Vec<Option<Arc<dyn Device>>> {
    let mut devices = checked(members);
    let copy = Arc::new(Memory::with(members[member].info().clone()));
    Blocking::open(&*copy, &Reactor::virtual_clock())
        .and_then(|mut channel| channel.write_slice(0, image))
        .expect("written");
    devices[member] = Some(copy);
    devices
}

fn is_stale(assembly: &Assembly, member: usize) -> bool {
    matches!(assembly.slots[member], Slot::Stale { .. })
        && assembly.slots.iter().filter(|slot| slot.present().is_none()).count() == 1
}

/// Starts without the copy, by force where the array was dirty and has parity, and reads what was
/// written last.
fn reads_as(devices: &[Option<Arc<dyn Device>>], expected: &[u8], context: &str) {
    let (found, _) = assembly(devices);
    assert!(
        matches!(found.start, Startability::Ready | Startability::NeedsForce(_)),
        "{context}: {:?}",
        found.start
    );
    let array = started(devices, &StartOptions { force: true, ..StartOptions::default() })
        .expect("an array");
    assert!(bytes(&array) == expected, "{context}");
    assert_eq!(scrub(&array), Ok(()), "{context}");
}

/// Of every level, each member: copied while the array is written to, and put back after it was
/// stopped in order.
#[test]
fn a_copy_from_a_busy_array_is_stale_after_a_stop() {
    for shape in Shape::all() {
        for member in 0..shape.members {
            let context = format!("{shape:?}, member {member}");
            let members = members(&shape);
            let mut served = Served::start(&checked(&members), PlantedMistake::None);
            served.is_never_idle(1);
            let copy = bytes(&*members[member]);
            let expected = served.fill(0x40);
            served.stop();
            let devices = with_image(&members, member, &copy);
            assert!(is_stale(&assembly(&devices).0, member), "{context}");
            reads_as(&devices, &expected, &context);
        }
    }
}

/// The same where the array was killed: once the superblocks have aged the copy is found out. That
/// they have is what tells: without it the copy is taken for what a crash left.
#[test]
fn a_copy_from_a_busy_array_is_stale_after_a_kill() {
    for shape in Shape::all() {
        for planted in [PlantedMistake::None, PlantedMistake::NeverAges] {
            let member = shape.members - 1;
            let context = format!("{shape:?}, {planted:?}");
            let members = members(&shape);
            let mut served = Served::start(&checked(&members), planted);
            served.is_never_idle(1);
            let copy = bytes(&*members[member]);
            served.is_never_idle(AGE + 1);
            let expected = served.fill(0x40);
            drop(served);
            let devices = with_image(&members, member, &copy);
            let is_found = is_stale(&assembly(&devices).0, member);
            // Where bits are cleared the superblocks go up too.
            assert_eq!(is_found, planted == PlantedMistake::None, "{context}");
            if is_found {
                reads_as(&devices, &expected, &context);
            }
        }
    }
}

/// An image from when the array was clean: a snapshot that is rolled back, a backup that is
/// restored. The array has been in use since, however that ended.
#[test]
fn an_image_from_a_clean_array_is_stale_once_it_was_written_to() {
    for shape in Shape::all() {
        for (is_killed, seconds) in [(false, 0), (false, 1), (true, AGE + 1)] {
            let context = format!("{shape:?}, killed {is_killed} after {seconds} s");
            let members = members(&shape);
            let mut served = Served::start(&checked(&members), PlantedMistake::None);
            served.fill(0x20);
            served.rests();
            let image = bytes(&*members[0]);
            served.is_never_idle(seconds);
            let expected = served.fill(0x40);
            if is_killed {
                drop(served);
            } else {
                served.stop();
            }
            let devices = with_image(&members, 0, &image);
            assert!(is_stale(&assembly(&devices).0, 0), "{context}");
            reads_as(&devices, &expected, &context);
        }
    }
}

/// The events go up two by two, so that no crash leaves a member that looks stale, and about every
/// half minute, so that it costs nothing that could be noticed.
#[test]
fn superblocks_age_every_half_minute() {
    for shape in Shape::all() {
        let members = members(&shape);
        let mut served = Served::start(&checked(&members), PlantedMistake::None);
        served.is_never_idle(1);
        let before = superblock(&*members[0]).events;
        served.is_never_idle(10 * AGE);
        let events: Vec<u64> =
            members.iter().map(|member| superblock(&**member).events - before).collect();
        assert!(events.iter().all(|&events| events == 20), "{shape:?}: {events:?}");
        if matches!(shape.consistency, Consistency::Bitmap { .. }) {
            let own = superblock(&*members[0]);
            let bitmap = bitmap(&*members[0]);
            assert!(bitmap.header().accept(&own.set_uuid, own.events).is_ok(), "{shape:?}");
        }
        served.rests();
        let clean = superblock(&*members[0]).events;
        served.rests();
        assert_eq!(superblock(&*members[0]).events, clean, "{shape:?}: not while it rests");
    }
}

/// A copy is not brought up to date by a bitmap whose bits were cleared since it was made, though
/// the array has been dirty all the time.
#[test]
fn the_bitmap_does_not_vouch_for_a_copy() {
    for make in [Shape::raid1, Shape::raid5, Shape::raid10] {
        let shape = Shape::with_bitmap(make);
        let members = members(&shape);
        let mut served = Served::start(&checked(&members), PlantedMistake::None);
        served.is_never_idle(1);
        let copy = bytes(&*members[1]);
        // Written after the copy was made, and forgotten while the first block is written on.
        let end = served.array.info().size_bytes;
        served.write(end - CHUNK, CHUNK, 0x77);
        while served.array.status().dirty_regions != Some(1) {
            served.is_never_idle(1);
        }
        assert!(superblock(&*members[1]).events <= superblock(&*members[0]).events);
        served.array.control().fail(1).and_then(|()| served.array.remove(1)).expect("redundant");
        let copied = with_image(&members, 1, &copy)[1].take().expect("a copy");
        served.array.add_to_slot(1, &copied, [9; 16], &Reactor::virtual_clock()).expect("admitted");
        let expected = bytes(&served.array);
        settle(&served.array, None);
        assert_eq!(served.array.status().members.members[1], MemberState::InSync);
        assert_eq!(scrub(&served.array), Ok(()), "{shape:?}");
        assert!(bytes(&served.array) == expected, "{shape:?}");
    }
}

//! The partial parity log: what is in it, and that parity is made again from it whatever of a write
//! arrived.

use std::sync::Arc;

use array::ParityLayout;
use array::geometry::Parity;
use array::md::{Consistency, PplHeader, Startability, find_newest_ppl};
use array::metadata::StartOptions;
use array::sync::Ranges;
use block::{Blocking, Device, Reactor};
use reactor::Random;
use testkit::Memory;

use super::bench::{CHUNK, Shape, assembly, checked, run, scrub, started, superblock};
use crate::common::{bytes, write};

/// Where the log lies on a member, in bytes, and how long it is.
const LOG_AT: usize = 16 * 512;
const LOG_BYTES: usize = 32 * 512;
const DATA_AT: u64 = 64 * 512;

fn shape() -> Shape {
    Shape::raid5(Consistency::Ppl)
}

fn members() -> Vec<Arc<Memory>> {
    shape().make(|_, info| Memory::with(info))
}

fn newest(member: &Memory) -> PplHeader {
    let all = bytes(member);
    find_newest_ppl(&all[LOG_AT..LOG_AT + LOG_BYTES], &superblock(member).set_uuid)
        .expect("a log")
        .1
}

/// Row 0 of left-symmetric over four members has data on 0, 1 and 2 and parity on 3.
#[test]
fn a_partial_write_is_logged_where_its_parity_is() {
    let members = members();
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let reactor = Reactor::virtual_clock();
    let mut channel = array.open(1, &reactor).expect("a channel");
    // From the middle of chunk 0 into the first quarter of chunk 1.
    run(&mut *channel, &reactor, write(CHUNK / 2, CHUNK / 2 + CHUNK / 4, 0x5a)).expect("written");
    assert!(members[..3].iter().all(|member| newest(member).entries.is_empty()));
    let entries = newest(&members[3]).entries;
    // What is written of the two chunks does not overlap within them, so it was cut into two.
    let told: Vec<_> = entries
        .iter()
        .map(|entry| (entry.data_sector, entry.data_bytes, entry.parity_bytes, entry.parity_role))
        .collect();
    assert_eq!(told, [(8, 1024, 1024, 3)], "the last write of the two: {entries:?}");
    run(&mut *channel, &reactor, write(0, 3 * CHUNK, 0x11)).expect("written");
    let entries = newest(&members[3]).entries;
    assert_eq!(
        (entries.len(), entries[0].parity_bytes, entries[0].data_bytes),
        (1, 0, 3 * CHUNK as u32),
        "a whole row needs no parity"
    );
    drop(channel);
    array.stop(&reactor).expect("stopped");
}

/// Takes back some blocks of a row that was written, as a crash does.
fn tear(
    members: &[Arc<Memory>],
    before: &[Vec<u8>],
    was_absent: Option<usize>,
    row: u64,
    random: &mut Random,
) {
    let reactor = Reactor::virtual_clock();
    // Of the data of that row, parity and all, each block is old or new; logs and superblocks
    // are new.
    for (_, (member, before)) in
        members.iter().zip(before).enumerate().filter(|(number, _)| Some(*number) != was_absent)
    {
        let mut channel = Blocking::open(&**member, &reactor).expect("a channel");
        for sector in 0..CHUNK / 512 {
            let at = DATA_AT + row * CHUNK + sector * 512;
            if random.bool() {
                channel.write_slice(at, &before[at as usize..at as usize + 512]).expect("written");
            }
        }
    }
}

/// A write that a crash has cut into.
struct Interrupted<'a> {
    round: i32,
    members: &'a [Arc<Memory>],
    /// What the array held before.
    content: &'a [u8],
    offset: u64,
    length: u64,
}

impl Interrupted<'_> {
    /// Starts the array without one of its members. Whether reading it by force finds something
    /// else than what was there, and in how many blocks of the write there is rubbish.
    fn start_without(&self, absent: usize, geometry: &Parity) -> (bool, usize) {
        let Interrupted { round, members, content, offset, length } = self;
        let reactor = Reactor::virtual_clock();
        let copies: Vec<Arc<Memory>> = members.iter().map(|member| copy(member)).collect();
        let mut devices = checked(&copies);
        devices[absent] = None;
        let (found, _) = assembly(&devices);
        assert!(
            !found.clean && found.start == Startability::Ready,
            "round {round}: {}",
            found.start
        );
        // A start for reading only does not make parity true, and without that it would read
        // rubbish.
        let reading = StartOptions { read_only: true, ..StartOptions::default() };
        let refused = started(&devices, &reading).err().expect("refused").to_string();
        assert!(
            refused.contains("only with --force: ") && refused.contains("partial parity log"),
            "{refused}"
        );
        let forced =
            bytes(&started(&devices, &StartOptions { force: true, ..reading }).expect("by force"));
        let written = *offset as usize..(offset + length) as usize;
        let mut others = (0..content.len()).step_by(512).filter(|at| !written.contains(at));
        let is_misread = others.any(|at| forced[at..at + 512] != content[at..at + 512]);
        let array = started(&devices, &StartOptions::default()).expect("an array");
        let mut now = vec![0; content.len()];
        Blocking::open(&array, &reactor).expect("a channel").read_slice(0, &mut now).expect("read");
        for at in (0..content.len()).step_by(512).filter(|at| !written.contains(at)) {
            assert!(
                now[at..at + 512] == content[at..at + 512],
                "round {round}, {length} at {offset} without {absent}: byte {at}"
            );
        }
        let mut rubbish = 0;
        let is_one_chunk = offset / CHUNK == (offset + length - 1) / CHUNK;
        for at in written.step_by(512) {
            let member =
                geometry.row(offset / (3 * CHUNK)).member((at as u64 / CHUNK % 3) as usize);
            let is_whole =
                now[at..at + 512] == content[at..at + 512] || now[at..at + 512] == [0xee; 512];
            let may_be_rubbish = member == absent && !is_one_chunk;
            assert!(
                is_whole || may_be_rubbish,
                "round {round}, {length} at {offset} without {absent}: byte {at} of {member}"
            );
            rubbish += usize::from(!is_whole);
        }
        (is_misread, rubbish)
    }
}

/// The state that a crash leaves: some of a write's blocks arrived, parity or not, the superblocks
/// say dirty. A member is missing, since before the write or only now. Everything else that it held
/// is there, and what was being written to the others is old or new. What was being written to the
/// missing one itself is so, too, if the write went to it alone; of a write to several chunks of a
/// row it may be rubbish, as with md's log, which is no journal.
///
/// C30: Of a RAID 5 with a partial parity log that lacks a member after a crash, those blocks on
/// that member to whose row other blocks were being written together with them may hold anything:
/// there C27 and C28 do not hold, as they do not in md, and they hold for all other blocks.
#[test]
fn what_was_not_being_written_survives_a_crash_while_degraded() {
    let mut random = Random::with_seed(4);
    let geometry = Parity::with_p(4, shape().member_bytes, CHUNK, ParityLayout::LeftSymmetric);
    let (mut rubbish, mut misread) = ([0, 0], 0);
    for round in 0..240 {
        let members = members();
        let reactor = Reactor::virtual_clock();
        let mut content = vec![0; 0];
        {
            let array = started(&checked(&members), &StartOptions::default()).expect("an array");
            content.resize(array.info().size_bytes as usize, 0);
            random.fill(&mut content);
            Blocking::open(&array, &reactor)
                .expect("a channel")
                .write_slice(0, &content)
                .expect("written");
        }
        let before: Vec<Vec<u8>> = members.iter().map(|member| bytes(&**member)).collect();
        // A part of one chunk of a row is being written, or so much of two that it is one piece.
        let row = random.u64(0..4);
        let from = random.u64(0..4) * 512;
        let length = if random.bool() {
            random.u64(1..=(CHUNK - from) / 512)
        } else {
            random.u64(CHUNK / 512..=CHUNK * 3 / 2 / 512)
        } * 512;
        let offset = row * 3 * CHUNK + from;
        let was_absent = (round % 2 == 1).then(|| random.usize(..4));
        {
            let mut devices = checked(&members);
            was_absent.into_iter().for_each(|absent| devices[absent] = None);
            let array = started(&devices, &StartOptions::default()).expect("an array");
            let mut channel = array.open(1, &reactor).expect("a channel");
            run(&mut *channel, &reactor, write(offset, length, 0xee)).expect("written");
        }
        tear(&members, &before, was_absent, row, &mut random);
        let interrupted =
            Interrupted { round, members: &members, content: &content, offset, length };
        for absent in (0..4).filter(|absent| was_absent.is_none_or(|was| was == *absent)) {
            let (is_misread, blocks) = interrupted.start_without(absent, &geometry);
            misread += usize::from(is_misread);
            rubbish[usize::from(was_absent.is_some())] += blocks;
        }
        if was_absent.is_some() {
            continue;
        }
        // With all of them parity is true again, and nothing is left to be resynced.
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        assert_eq!(array.status().members.resync, None, "round {round}");
        drop(array);
        let rows: Vec<Vec<u8>> =
            members.iter().map(|member| bytes(&**member)[DATA_AT as usize..].to_vec()).collect();
        assert!(
            (0..rows[0].len()).all(|at| rows.iter().fold(0, |sum, member| sum ^ member[at]) == 0),
            "round {round}"
        );
    }
    assert!(misread > 20, "for reading only, by force: {misread}");
    assert!(rubbish.iter().all(|count| *count > 0), "the exception is one: {rubbish:?} blocks");
}

/// The logs say all that a resync would find: where one of them cannot be read, and where a resync
/// was due before the crash, they do not.
#[test]
fn a_resync_is_needless_only_where_the_logs_are_whole_and_none_was_due() {
    let reactor = Reactor::virtual_clock();
    let due_after = |was_due: Option<u64>, damage: &dyn Fn(&[Arc<Memory>])| {
        let members = members();
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        if let Some(byte) = was_due {
            let ranges = Ranges::one(byte..shape().member_bytes);
            array.control().require_resync(&ranges);
        }
        let mut channel = array.open(1, &reactor).expect("a channel");
        run(&mut *channel, &reactor, write(0, CHUNK / 2, 0x5a)).expect("written");
        drop((channel, array));
        damage(&members);
        let array = started(&checked(&members), &StartOptions::default()).expect("an array");
        let due = array.status().members.resync;
        assert_eq!(scrub(&array), Ok(()));
        due
    };
    let spoil = |number: usize, at: usize| {
        move |members: &[Arc<Memory>]| {
            let wrong = vec![0x77; 512];
            let channel = Blocking::open(&*members[number], &Reactor::virtual_clock());
            let written = channel.and_then(|mut it| it.write_slice((LOG_AT + at) as u64, &wrong));
            written.expect("written");
        }
    };
    assert_eq!(due_after(None, &|_| ()), None);
    assert_eq!(due_after(None, &spoil(3, 512)), Some(0), "the header of the log with the entry");
    assert_eq!(due_after(None, &spoil(3, 4096)), Some(0), "the partial parity");
    assert_eq!(due_after(None, &spoil(1, 512)), Some(0), "a log without an entry");
    assert_eq!(due_after(Some(0), &|_| ()), Some(0));
    assert_eq!(due_after(Some(2 * CHUNK), &|_| ()), Some(2 * CHUNK));
    assert_eq!(due_after(Some(2 * CHUNK), &spoil(3, 512)), Some(0));
}

fn copy(member: &Memory) -> Arc<Memory> {
    let copy = Memory::with(block::Device::info(member).clone());
    Blocking::open(&copy, &Reactor::virtual_clock())
        .and_then(|mut channel| channel.write_slice(0, &bytes(member)))
        .expect("written");
    Arc::new(copy)
}

#[test]
fn logs_are_not_read_for_reading_only() {
    let members = members();
    let reactor = Reactor::virtual_clock();
    let array = started(&checked(&members), &StartOptions::default()).expect("an array");
    let mut channel = array.open(1, &reactor).expect("a channel");
    run(&mut *channel, &reactor, write(512, 512, 9)).expect("written");
    drop((channel, array));
    let before: Vec<_> = members.iter().map(|member| bytes(&**member)).collect();
    let array =
        started(&checked(&members), &StartOptions { read_only: true, ..StartOptions::default() })
            .expect("an array");
    drop(array);
    assert!(members.iter().zip(&before).all(|(member, before)| bytes(&**member) == *before));
}

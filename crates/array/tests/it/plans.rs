//! Plans of every redundant level by themselves: run on plain bytes, for every layout, every set of
//! absent and unreadable members and every range of three rows, each has to leave what a plain
//! array of bytes would, with parity and copies true.

use crate::common;

use std::collections::HashMap;
use std::fmt::Debug;

use array::geometry::Raid10;
use array::{
    Access, Action, ByteSite, Content, Faults, Level, MemberSet, MirrorLevel, ParityLayout,
    ParityLevel, Part, Plan, Queues, Raid10Layout,
};
use common::{mirror_image, parity_image};

use crate::computations::PlanBuffers;

/// Small enough to enumerate, large enough for ranges within a chunk.
const CHUNK: u64 = 3;

fn set(members: &[usize]) -> MemberSet {
    let mut set = MemberSet::EMPTY;
    members.iter().for_each(|&member| {
        set.insert(member);
    });
    set
}

/// Every set of at most `most` of the members.
fn subsets(members: usize, most: u32) -> Vec<Vec<usize>> {
    let all = (0..1_u32 << members).filter(|bits| bits.count_ones() <= most);
    all.map(|bits| (0..members).filter(|member| bits >> member & 1 == 1).collect()).collect()
}

/// The buffers of a plan and the bytes of the members.
struct Machine<'a> {
    members: &'a mut [Vec<u8>],
    host: &'a mut Vec<u8>,
    host_may_change: bool,
    scratch: Vec<Vec<u8>>,
    faults: Faults,
    /// Bytes read from members.
    read_bytes: u64,
}

impl PlanBuffers for Machine<'_> {
    fn get(&self, place: ByteSite, length: u64) -> Vec<u8> {
        match place {
            ByteSite::Host { start } => {
                self.host[start as usize..(start + length) as usize].to_vec()
            }
            ByteSite::Scratch { buffer: slot, start } => {
                self.scratch[slot][start as usize..(start + length) as usize].to_vec()
            }
        }
    }

    fn put(&mut self, place: ByteSite, bytes: &[u8]) {
        let (buffer, start) = match place {
            ByteSite::Host { start } => {
                assert!(self.host_may_change, "a write's buffer is never a target");
                (&mut *self.host, start)
            }
            ByteSite::Scratch { buffer: slot, start } => (&mut self.scratch[slot], start),
        };
        buffer[start as usize..start as usize + bytes.len()].copy_from_slice(bytes);
    }
}

impl Machine<'_> {
    fn written(&self, content: Content, length: u64) -> Vec<u8> {
        match content {
            Content::Bytes(place) => self.get(place, length),
            Content::Zeroes | Content::Discard => vec![0; length as usize],
            Content::Flush => panic!("a flush has no bytes"),
        }
    }

    fn run(&mut self, plan: &Plan, action: Action) {
        for access in &plan.read {
            assert!(!self.faults.hide(access.member), "{access:?} reads what cannot be read");
            let start = access.offset as usize;
            let bytes = self.members[access.member][start..start + access.length as usize].to_vec();
            self.put(access.content, &bytes);
            self.read_bytes += access.length;
        }
        plan.compute.iter().for_each(|step| self.compute(*step, &plan.sources));
        for access in &plan.write {
            assert!(!self.faults.absent.contains(access.member), "{access:?} writes to nobody");
            assert!(plan.lock.is_some(), "a plan that writes locks");
            let repairs = action == Action::Read;
            assert!(
                !repairs || self.faults.unreadable.contains(access.member),
                "a read writes only to mend"
            );
            assert!(
                !repairs || matches!(access.content, Content::Bytes(ByteSite::Scratch { .. })),
                "a read's own buffer cannot be written from"
            );
            let bytes = self.written(access.content, access.length);
            let start = access.offset as usize;
            self.members[access.member][start..start + access.length as usize]
                .copy_from_slice(&bytes);
        }
        check_order(&plan.read);
        check_disjoint(&plan.read);
        check_disjoint(&plan.write);
    }
}

/// No byte of a member twice.
fn check_disjoint<C: Debug>(accesses: &[Access<C>]) {
    for (number, access) in accesses.iter().enumerate() {
        let meets = |other: &Access<C>| {
            other.member == access.member
                && other.offset < access.offset + access.length
                && access.offset < other.offset + other.length
        };
        assert!(!accesses[..number].iter().any(meets), "{access:?} meets another");
    }
}

/// Reads into one buffer are in the order of their places.
fn check_order(accesses: &[Access<ByteSite>]) {
    let mut ends: HashMap<Option<usize>, u64> = HashMap::new();
    for access in accesses {
        let (buffer, start) = match access.content {
            ByteSite::Host { start } => (None, start),
            ByteSite::Scratch { buffer: slot, start } => (Some(slot), start),
        };
        let end = ends.entry(buffer).or_default();
        assert!(start >= *end, "{access:?} is out of order");
        *end = start + access.length;
    }
}

/// How many commands the accesses to a member make.
fn command_count<C>(accesses: &[Access<C>], member: usize) -> u32 {
    let mut count = 0;
    let mut end = None;
    for access in accesses.iter().filter(|access| access.member == member) {
        count += u32::from(end != Some(access.offset));
        end = Some(access.offset + access.length);
    }
    count
}

/// What the members of an array hold when it holds `data`.
trait Image: Level {
    fn image(&self, data: &[u8]) -> Vec<Vec<u8>>;
    fn members(&self) -> usize;
}

impl Image for ParityLevel {
    fn members(&self) -> usize {
        self.geometry().member_count()
    }

    fn image(&self, data: &[u8]) -> Vec<Vec<u8>> {
        parity_image(self.geometry(), data)
    }
}

/// A mirror with its geometry, which the level keeps to itself.
struct Mirror(MirrorLevel, Raid10);

/// Numbers that are not alike.
fn filled(length: usize, salt: u64) -> Vec<u8> {
    let mut random = reactor::Random::with_seed(salt);
    (0..length).map(|_| random.u8(..)).collect()
}

/// All parts of a request one after another, as the executor makes them. What it read from members.
fn carry_out(
    level: &dyn Level,
    part: Part,
    faults: &Faults,
    members: &mut [Vec<u8>],
    host: &mut [u8],
) -> u64 {
    let queues = Queues::idle(members.len());
    let mut done = 0;
    let mut read_bytes = 0;
    while done < part.length {
        let left = Part { offset: part.offset + done, length: part.length - done, ..part };
        let length = level.piece_bytes(left, faults);
        assert!(length > 0 && length <= left.length, "a piece is a part of what is left");
        let mut plan = Plan::default();
        level.plan(Part { length, ..left }, faults, &queues, &mut plan).expect("enough members");
        for member in 0..members.len() {
            let commands =
                command_count(&plan.read, member).max(command_count(&plan.write, member));
            assert!(
                commands <= level.commands_per_member(),
                "{part:?} {faults:?}: {commands} commands to member {member}"
            );
        }
        let mut own =
            host.get(done as usize..(done + length) as usize).unwrap_or_default().to_vec();
        // Scratch is not empty at first.
        let scratch = plan.scratch.iter().map(|&length| vec![0xa5; length as usize]).collect();
        let host_may_change = part.action == Action::Read;
        let mut machine = Machine {
            members,
            host: &mut own,
            host_may_change,
            scratch,
            faults: *faults,
            read_bytes: 0,
        };
        machine.run(&plan, part.action);
        read_bytes += machine.read_bytes;
        if host_may_change {
            host[done as usize..(done + length) as usize].copy_from_slice(&own);
        }
        done += length;
    }
    read_bytes
}

/// Whether members hold what they should after something was written: absent ones what they had,
/// and what could not be read either that or what was written.
fn check_members(members: &[Vec<u8>], expected: &[Vec<u8>], faults: &Faults, what: &str) {
    for (member, bytes) in members.iter().enumerate() {
        if faults.absent.contains(member) {
            assert!(bytes.iter().all(|&byte| byte == 0xee), "{what} wrote to an absent member");
        } else if !faults.hide(member) {
            assert!(*bytes == expected[member], "{what}, member {member}");
        } else {
            // What was not written there stays unreadable.
            let same = bytes
                .iter()
                .zip(&expected[member])
                .all(|(byte, expected)| byte == expected || *byte == 0xee);
            assert!(same, "{what}, member {member}");
        }
    }
}

/// Every action on every range of the array; `image` is what the members should hold.
fn try_every_range(
    name: &str,
    level: &dyn Level,
    size: u64,
    image: &dyn Fn(&[u8]) -> Vec<Vec<u8>>,
    faults: &Faults,
) {
    let data = filled(size as usize, 1);
    let good = image(&data);
    let spoiled = |members: &[Vec<u8>]| {
        let mut members = members.to_vec();
        for member in (0..members.len()).filter(|&member| faults.hide(member)) {
            members[member].fill(0xee);
        }
        members
    };
    for offset in 0..size {
        for length in 1..=size - offset {
            let range = offset as usize..(offset + length) as usize;
            let what = format!("{name} {length} at {offset}, {faults:?}");
            let mut host = vec![0x77; length as usize];
            let mut members = spoiled(&good);
            carry_out(
                level,
                Part { action: Action::Read, offset, length },
                faults,
                &mut members,
                &mut host,
            );
            assert!(host == data[range.clone()], "{what}: read");
            // A member that could not be read has been written what was read from it, and nothing
            // else was touched.
            for (member, bytes) in members.iter().enumerate() {
                let spoiled = if faults.hide(member) { 0xee } else { 0 };
                let same = bytes
                    .iter()
                    .zip(&good[member])
                    .all(|(byte, good)| byte == good || (faults.hide(member) && *byte == spoiled));
                assert!(same, "{what}: the read spoiled member {member}");
            }
            for action in [Action::Write, Action::Zeroes, Action::Discard] {
                let mut members = spoiled(&good);
                let mut host = if action == Action::Write {
                    filled(length as usize, offset * 99 + length)
                } else {
                    vec![0; length as usize]
                };
                let mut expected = data.clone();
                expected[range.clone()].copy_from_slice(&host);
                carry_out(level, Part { action, offset, length }, faults, &mut members, &mut host);
                let expected_members = image(&expected);
                let what = format!("{what}: {action:?}");
                check_members(&members, &expected_members, faults, &what);
                // Without the members that were there nothing is lost: the others, read back, are
                // what was written.
                let mut back = vec![0; size as usize];
                carry_out(
                    level,
                    Part { action: Action::Read, offset: 0, length: size },
                    faults,
                    &mut members,
                    &mut back,
                );
                assert!(back == expected, "{what} read back");
            }
        }
    }
}

fn every_fault(members: usize, tolerated: u32) -> Vec<Faults> {
    let mut all = Vec::new();
    for absent in subsets(members, tolerated) {
        for unreadable in subsets(members, tolerated - absent.len() as u32) {
            if unreadable.iter().all(|member| !absent.contains(member)) {
                all.push(Faults {
                    absent: set(&absent),
                    unreadable: set(&unreadable),
                    ..Faults::default()
                });
                if !unreadable.is_empty() {
                    all.push(Faults {
                        absent: set(&absent),
                        recovering: set(&unreadable),
                        ..Faults::default()
                    });
                }
            }
        }
    }
    all
}

fn try_parity(level: &ParityLevel, tolerated: u32) {
    let name = format!("{} {:?} of {}", level.name(), level.geometry().layout(), level.members());
    for faults in every_fault(level.members(), tolerated) {
        try_every_range(&name, level, level.size_bytes(), &|data| level.image(data), &faults);
    }
}

#[test]
fn raid4_and_raid5() {
    for members in 2..=5 {
        try_parity(&ParityLevel::raid4(members, 3 * CHUNK, CHUNK), 1);
        for &layout in ParityLayout::RAID5 {
            try_parity(&ParityLevel::raid5(members, 3 * CHUNK, CHUNK, layout), 1);
        }
    }
}

#[test]
fn raid6() {
    for &layout in ParityLayout::RAID6 {
        try_parity(&ParityLevel::raid6(4, 3 * CHUNK, CHUNK, layout), 2);
    }
    for layout in [
        ParityLayout::LeftSymmetric,
        ParityLayout::LeftAsymmetric,
        ParityLayout::DdfNContinue,
        ParityLayout::RightSymmetric6,
    ] {
        try_parity(&ParityLevel::raid6(5, 2 * CHUNK, CHUNK, layout), 2);
    }
}

#[test]
fn raid1_and_raid10() {
    let mut mirrors: Vec<(String, Mirror, u64)> = Vec::new();
    for members in 2..=4 {
        let geometry = Raid10::new(members, 12, 12, Raid10Layout::near(members as u32));
        mirrors.push((
            format!("raid1 of {members}"),
            Mirror(MirrorLevel::raid1(members, 12), geometry),
            12,
        ));
    }
    for (members, name) in [
        (2, "n2"),
        (3, "n2"),
        (4, "n2"),
        (4, "n3"),
        (2, "f2"),
        (3, "f2"),
        (4, "f3"),
        (2, "o2"),
        (3, "o2"),
        (4, "o3"),
        (5, "n2f2"),
        (4, "n2o2"),
    ] {
        let member_bytes = 6 * CHUNK;
        let geometry = Raid10::new(
            members,
            member_bytes,
            CHUNK,
            Raid10Layout::from_name(name).expect("a layout"),
        );
        mirrors.push((
            format!("raid10 {name} of {members}"),
            Mirror(MirrorLevel::raid10(geometry), geometry),
            member_bytes,
        ));
    }
    for (name, mirror, member_bytes) in mirrors {
        let copies = mirror.1.layout().copies() as u32;
        for faults in every_fault(mirror.1.member_count(), copies - 1) {
            try_every_range(
                &name,
                &mirror.0,
                mirror.0.size_bytes(),
                &|data| mirror_image(&mirror.1, data, member_bytes),
                &faults,
            );
        }
    }
}

/// What is read, in bytes, for a write to a healthy array.
fn bytes_read(level: &ParityLevel, offset: u64, length: u64) -> u64 {
    let mut members = level.image(&vec![0; level.size_bytes() as usize]);
    let mut host = vec![1; length as usize];
    carry_out(
        level,
        Part { action: Action::Write, offset, length },
        &Faults::default(),
        &mut members,
        &mut host,
    )
}

#[test]
fn writes_read_as_little_as_they_can() {
    let raid5 = |members| ParityLevel::raid5(members, 40, 10, ParityLayout::LeftSymmetric);
    // A full row needs nothing.
    assert_eq!(
        [3, 4, 8].map(|members| bytes_read(&raid5(members), 0, (members as u64 - 1) * 10)),
        [0; 3]
    );
    // Old data and parity, or the other chunks: 1 of 3 members, 2 = 2 of 4, 2 of 8.
    assert_eq!([3, 4, 8].map(|members| bytes_read(&raid5(members), 2, 5)), [5, 10, 10]);
    // All but two of seven chunks: the two.
    assert_eq!(bytes_read(&raid5(8), 0, 50), 20);
    // The end of one chunk and the beginning of the next have their own places in parity.
    assert_eq!(bytes_read(&raid5(8), 8, 4), 2 * (2 + 2));
    let raid6 = ParityLevel::raid6(8, 40, 10, ParityLayout::LeftSymmetric);
    assert_eq!(
        (bytes_read(&raid6, 0, 4), bytes_read(&raid6, 0, 60), bytes_read(&raid6, 0, 40)),
        (12, 0, 20)
    );
}

#[test]
fn plain_reads_lock_nothing_and_reads_that_make_up_for_a_member_do() {
    let level = ParityLevel::raid5(4, 40, 10, ParityLayout::LeftSymmetric);
    let lock = |faults: &Faults, offset| {
        let mut plan = Plan::default();
        let part = Part { action: Action::Read, offset, length: 5 };
        Level::plan(&level, part, faults, &Queues::idle(4), &mut plan).expect("enough members");
        plan.lock
    };
    let without_0 = Faults { absent: set(&[0]), ..Faults::default() };
    assert_eq!((lock(&Faults::default(), 0), lock(&without_0, 10)), (None, None));
    let held = lock(&without_0, 2).expect("a lock");
    assert_eq!((held.row, held.from, held.to), (0, 2, 7));
}

#[test]
fn too_many_absent_members_are_named() {
    let level = ParityLevel::raid6(5, 40, 10, ParityLayout::LeftSymmetric);
    let part = |action, length| Part { action, offset: 0, length };
    let plan = |action, faults: &Faults| {
        Level::plan(&level, part(action, 10), faults, &Queues::idle(5), &mut Plan::default())
    };
    let faults = Faults { absent: set(&[1, 2]), unreadable: set(&[4]), ..Faults::default() };
    let error = plan(Action::Read, &faults).expect_err("three of five").to_string();
    assert_eq!(error, "members 1, 2, 4 are not there, and the rest does not make up for it");
    // One that cannot be read can still be written, if nothing has to be read.
    let full = Faults { absent: set(&[0]), unreadable: set(&[1, 2]), ..Faults::default() };
    assert!(
        Level::plan(&level, part(Action::Write, 30), &full, &Queues::idle(5), &mut Plan::default())
            .is_ok()
    );
    assert!(
        Level::holds_all(&level, &set(&[0, 1])).is_ok()
            && Level::holds_all(&level, &set(&[0, 1, 2])).is_err()
    );
    let near = MirrorLevel::raid10(Raid10::new(4, 40, 10, Raid10Layout::near(2)));
    assert!(
        Level::holds_all(&near, &set(&[0, 2])).is_ok()
            && Level::holds_all(&near, &set(&[2, 3])).is_err()
    );
    let far = MirrorLevel::raid10(Raid10::new(4, 40, 10, Raid10Layout::far(2)));
    assert!(
        Level::holds_all(&far, &set(&[0, 2])).is_ok()
            && Level::holds_all(&far, &set(&[3, 0])).is_err()
    );
}

#[test]
fn a_read_of_many_chunks_is_one_command_for_each_copy_it_needs() {
    let level = MirrorLevel::raid10(Raid10::new(4, 400, 10, Raid10Layout::near(2)));
    let part = Part { action: Action::Read, offset: 160, length: 160 };
    for (other, home) in [(0, 1), (1, 0)] {
        // The stream of reads has come to one member of each pair; only the first chunk goes on
        // there, and what comes next of it is not under way yet.
        let mut queues = Queues::idle(4);
        for member in [home, home + 2] {
            queues.begin(member, Some((0, 80)));
            queues.end(member, 1);
        }
        let mut plan = Plan::default();
        Level::plan(&level, part, &Faults::default(), &queues, &mut plan).expect("all are there");
        let of = |pair: [usize; 2]| {
            let mut read: Vec<usize> = plan.read.iter().map(|access| access.member).collect();
            read.retain(|member| pair.contains(member));
            read
        };
        assert_eq!(of([0, 1]), [home; 8], "not {other} as well");
        assert_eq!(of([2, 3]), [home + 2; 8]);
    }
}

//! Plans of sync actions by themselves, run on plain bytes: for every layout, every set of absent,
//! recovering and unreadable members that the level bears, each restore gives a member what it
//! should hold and touches no other, each check counts what differs and changes nothing, and each
//! repair makes it agree.

use crate::common;

use std::collections::HashMap;
use std::ops::Range;

use array::geometry::{Parity, Raid10};
use array::parity::{multiply, power};
use array::{
    Access, ByteSite, Computation, Content, Faults, Level, MemberSet, MirrorLevel, ParityLayout,
    ParityLevel, Plan, Raid10Layout, SyncRange, SyncTask,
};
use common::{mirror_image, parity_image};
use reactor::Random;

use crate::computations::PlanBuffers;

/// Two sectors: what is compared is counted in sectors.
const CHUNK: u64 = 1024;
const ROWS: u64 = 4;
const RUBBISH: u8 = 0xee;

fn set(members: &[usize]) -> MemberSet {
    let mut set = MemberSet::EMPTY;
    members.iter().for_each(|&member| {
        set.insert(member);
    });
    set
}

/// Every split of at most `most` members into absent, stale and unreadable ones.
fn every_fault(members: usize, most: usize) -> Vec<Faults> {
    let kinds = 4_usize.pow(members as u32);
    let kind = |number: usize, member: usize| number / 4_usize.pow(member as u32) % 4;
    let of_kind = |number: usize, wanted: usize| {
        (0..members).filter(|&member| kind(number, member) == wanted).collect::<Vec<_>>()
    };
    let all = (0..kinds)
        .filter(|&number| (0..members).filter(|&member| kind(number, member) > 0).count() <= most);
    all.map(|number| Faults {
        absent: set(&of_kind(number, 1)),
        recovering: set(&of_kind(number, 2)),
        unreadable: set(&of_kind(number, 3)),
        unsynced: false,
    })
    .collect()
}

/// What the members hold and what of them counts.
struct Array<'a, L> {
    level: &'a L,
    faults: Faults,
    good: &'a [Vec<u8>],
    used: &'a dyn Fn(usize, usize) -> bool,
    /// Whether the redundancy tells which member is wrong.
    tells: bool,
}

/// The bytes of a plan's buffers.
struct Scratch(Vec<Vec<u8>>);

impl PlanBuffers for Scratch {
    fn get(&self, place: ByteSite, length: u64) -> Vec<u8> {
        match place {
            ByteSite::Scratch { buffer: slot, start } => {
                self.0[slot][start as usize..(start + length) as usize].to_vec()
            }
            ByteSite::Host { .. } => panic!("a sync action has no buffer of the host"),
        }
    }

    fn put(&mut self, place: ByteSite, bytes: &[u8]) {
        let ByteSite::Scratch { buffer: slot, start } = place else {
            panic!("{place:?} is no target")
        };
        self.0[slot][start as usize..start as usize + bytes.len()].copy_from_slice(bytes);
    }
}

impl Scratch {
    fn sector(&self, place: ByteSite, at: u64) -> Vec<u8> {
        let ByteSite::Scratch { buffer, start } = place else { panic!("{place:?} is no scratch") };
        self.get(ByteSite::Scratch { buffer, start: start + at }, 512)
    }

    fn put_sector(&mut self, place: ByteSite, at: u64, bytes: &[u8]) {
        let ByteSite::Scratch { buffer, start } = place else { panic!("{place:?} is no scratch") };
        self.put(ByteSite::Scratch { buffer, start: start + at }, bytes);
    }

    /// Tries each block of the row: the one that alone explains what P and Q say is wrong.
    fn locate(&mut self, step: Computation, sources: &[Option<ByteSite>]) -> Vec<Option<ByteSite>> {
        let Computation::Locate { first, count, p, q, expected_p, expected_q, length } = step
        else {
            panic!("{step:?}")
        };
        let mut found = Vec::new();
        for at in (0..length).step_by(512) {
            let off = |one: ByteSite, other: ByteSite| -> Vec<u8> {
                let (one, other) = (self.sector(one, at), self.sector(other, at));
                one.iter().zip(other).map(|(one, other)| one ^ other).collect()
            };
            let (off_p, off_q) = (off(p, expected_p), off(q, expected_q));
            let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
            let explains = |term: usize| {
                let by_term = |(p, q): (&u8, &u8)| multiply(power(term), *p) == *q;
                off_p.iter().zip(&off_q).all(by_term)
            };
            let data = (0..count).find(|&term| sources[first + term].is_some() && explains(term));
            let (wrong, right) = match (is_zero(&off_p), is_zero(&off_q)) {
                (true, true) => continue,
                (false, true) => (Some(p), self.sector(expected_p, at)),
                (true, false) => (Some(q), self.sector(expected_q, at)),
                (false, false) => {
                    let place = data.and_then(|term| sources[first + term]);
                    let held = place.map_or(vec![0; 512], |place| self.sector(place, at));
                    (place, held.iter().zip(&off_p).map(|(byte, off)| byte ^ off).collect())
                }
            };
            found.push(wrong);
            if let Some(place) = wrong {
                self.put_sector(place, at, &right);
            }
        }
        found
    }

    /// Counts how often each version of a sector is there.
    fn vote(&mut self, copies: &[Option<ByteSite>], length: u64) -> Vec<Option<ByteSite>> {
        let copies: Vec<ByteSite> = copies.iter().map(|copy| copy.expect("a copy")).collect();
        let mut found = Vec::new();
        for at in (0..length).step_by(512) {
            let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
            copies.iter().for_each(|&copy| *counts.entry(self.sector(copy, at)).or_default() += 1);
            let right = counts.iter().find(|(_, count)| **count > copies.len() / 2);
            match right {
                _ if counts.len() == 1 => (),
                None => found.push(None),
                Some((right, _)) => {
                    for &copy in copies.iter() {
                        if self.sector(copy, at) != *right {
                            found.push(Some(copy));
                            self.put_sector(copy, at, right);
                        }
                    }
                }
            }
        }
        found
    }

    /// The sectors that the step found to differ, with the buffer that is wrong if that is known.
    fn step(&mut self, step: Computation, sources: &[Option<ByteSite>]) -> Vec<Option<ByteSite>> {
        match step {
            Computation::Compare { one, other, length } => {
                let (one, other) = (self.get(one, length), self.get(other, length));
                let pairs = one.chunks(512).zip(other.chunks(512));
                return pairs.filter(|(one, other)| one != other).map(|_| None).collect();
            }
            Computation::Locate { .. } => return self.locate(step, sources),
            Computation::Vote { first, count, length } => {
                return self.vote(&sources[first..first + count], length);
            }
            _ => self.compute(step, sources),
        }
        Vec::new()
    }
}

impl<L: Level> Array<'_, L> {
    /// Members as they should be, but for those that are not there or hold rubbish.
    fn spoiled(&self) -> Vec<Vec<u8>> {
        let mut members = self.good.to_vec();
        (0..members.len())
            .filter(|&member| self.faults.hide(member))
            .for_each(|member| members[member].fill(RUBBISH));
        members
    }

    /// All of a task, in portions of `portion` bytes. How many sectors it found to differ, or
    /// `None` where too much is missing.
    fn run(&self, task: SyncTask, portion: u64, members: &mut [Vec<u8>]) -> Option<usize> {
        let total = if let SyncTask::Recover { .. } = task {
            self.level.member_bytes()
        } else {
            self.level.sync_bytes()
        };
        let (mut offset, mut differing) = (0, 0);
        while offset < total {
            let left = SyncRange { task, offset, length: portion.min(total - offset) };
            let length = self.level.sync_range_bytes(left);
            assert!(
                length > 0 && length <= left.length && length.is_multiple_of(512),
                "{left:?}: {length}"
            );
            let mut plan = Plan::default();
            self.level.plan_sync(SyncRange { length, ..left }, &self.faults, &mut plan).ok()?;
            differing += self.run_plan(&plan, members);
            offset += length;
        }
        Some(differing)
    }

    fn run_plan(&self, plan: &Plan, members: &mut [Vec<u8>]) -> usize {
        fn range<C>(access: &Access<C>) -> Range<usize> {
            access.offset as usize..(access.offset + access.length) as usize
        }
        let mut scratch =
            Scratch(plan.scratch.iter().map(|&length| vec![0xa5; length as usize]).collect());
        for access in &plan.read {
            assert!(!self.faults.hide(access.member), "{access:?} reads what cannot be read");
            scratch.put(access.content, &members[access.member][range(access)]);
        }
        let mut differing = Vec::new();
        for step in &plan.compute {
            differing.extend(scratch.step(*step, &plan.sources));
        }
        let amend = if differing.is_empty() { &[] } else { &plan.amend[..] };
        let is_wrong = |write: &&Access<Content>| {
            differing.iter().flatten().any(|&place| write.content == Content::Bytes(place))
        };
        for access in plan.write.iter().chain(amend).chain(plan.mend.iter().filter(is_wrong)) {
            assert!(!self.faults.absent.contains(access.member), "{access:?} writes to nobody");
            assert!(plan.lock.is_some(), "a plan that writes locks");
            let Content::Bytes(place) = access.content else {
                panic!("{access:?} brings no bytes")
            };
            members[access.member][range(access)]
                .copy_from_slice(&scratch.get(place, access.length));
        }
        differing.len()
    }

    /// Whether a member holds what it should where it matters.
    fn is_good(&self, member: usize, bytes: &[u8]) -> bool {
        bytes
            .iter()
            .zip(&self.good[member])
            .enumerate()
            .all(|(at, (byte, good))| byte == good || !(self.used)(member, at))
    }

    fn try_all(&self, name: &str) {
        let what = format!("{name}, {:?}", self.faults);
        for target in 0..self.good.len() {
            let mut members = self.spoiled();
            let done = self.run(
                SyncTask::Recover { member: target },
                [512, 1536, 1 << 20][target % 3],
                &mut members,
            );
            assert_eq!(
                done.is_none(),
                self.faults.absent.contains(target),
                "{what}: restoring {target}"
            );
            for (member, bytes) in members.iter().enumerate() {
                if member == target && done.is_some() || !self.faults.hide(member) {
                    assert!(
                        self.is_good(member, bytes),
                        "{what}: restoring {target} left {member} wrong"
                    );
                } else if !self.faults.mend(member) {
                    assert!(
                        bytes.iter().all(|&byte| byte == RUBBISH),
                        "{what}: restoring {target} wrote to {member}"
                    );
                }
            }
        }
        for task in [SyncTask::Check, SyncTask::Repair] {
            let mut members = self.spoiled();
            assert_eq!(
                self.run(task, 1 << 20, &mut members),
                Some(0),
                "{what}: {task:?} of what is right"
            );
            for (member, bytes) in members.iter().enumerate() {
                let wanted = !self.faults.hide(member) || self.faults.mend(member);
                assert!(
                    !wanted || self.is_good(member, bytes),
                    "{what}: {task:?} left {member} wrong"
                );
                assert!(
                    wanted || bytes.iter().all(|&byte| byte == RUBBISH),
                    "{what}: {task:?} wrote to {member}"
                );
            }
        }
    }

    /// One byte of another member wrong while some are missing: a level that could tell with them
    /// leaves all as it is, and what is not synced is made to agree.
    fn try_corruption_degraded(&self, name: &str) {
        let what = format!("{name}, {:?}", self.faults);
        for member in (0..self.good.len()).filter(|&member| !self.faults.hide(member)) {
            let at = (7 * member..self.good[member].len())
                .find(|&at| (self.used)(member, at))
                .expect("a byte that counts");
            let mut members = self.spoiled();
            members[member][at] ^= 0x11;
            let before = members.clone();
            let found = self.run(SyncTask::Check, 1 << 20, &mut members).expect("enough is there");
            assert!(members == before, "{what}: a check writes nothing");
            let repaired = self.run(SyncTask::Repair, 1 << 20, &mut members);
            assert_eq!(repaired, Some(found), "{what}");
            assert!(
                !self.tells || members == before || members == self.spoiled(),
                "{what}: {member} at {at} was guessed at"
            );
            let unsynced = Array { faults: Faults { unsynced: true, ..self.faults }, ..*self };
            unsynced.run(SyncTask::Repair, 1 << 20, &mut members).expect("enough is there");
            let left = self.run(SyncTask::Check, 1 << 20, &mut members);
            assert_eq!(left, Some(0), "{what}: {member} at {at} was made to agree");
        }
    }

    /// Each used byte of each member wrong by itself, in steps: a check counts it, a repair makes
    /// all agree.
    fn try_corruption(&self, name: &str) {
        for member in 0..self.good.len() {
            for at in
                (0..self.good[member].len()).step_by(257).filter(|&at| (self.used)(member, at))
            {
                let mut members = self.good.to_vec();
                members[member][at] ^= 1 << (at % 8);
                let before = members.clone();
                let found =
                    self.run(SyncTask::Check, 1 << 20, &mut members).expect("nobody is missing");
                assert!(
                    found > 0 && members == before,
                    "{name}: member {member} at {at}: {found} sectors"
                );
                assert_eq!(
                    self.run(SyncTask::Repair, 1 << 20, &mut members),
                    Some(found),
                    "{name}"
                );
                assert_eq!(
                    self.run(SyncTask::Check, 1 << 20, &mut members),
                    Some(0),
                    "{name}: member {member} at {at} was not repaired"
                );
                let changed =
                    (0..members.len()).filter(|&member| members[member] != before[member]).count();
                assert!(changed >= 1, "{name}");
                assert!(
                    !self.tells || members == self.good,
                    "{name}: member {member} at {at}: the right one was mended"
                );
            }
        }
    }
}

fn filled(length: u64) -> Vec<u8> {
    let mut random = Random::with_seed(length);
    (0..length).map(|_| random.u8(..)).collect()
}

fn try_parity(level: &ParityLevel) {
    let geometry: Parity = *level.geometry();
    let name =
        format!("{} {} of {}", level.name(), geometry.layout().name(), geometry.member_count());
    let good = parity_image(&geometry, &filled(level.size_bytes()));
    let tells = geometry.parity_count() == 2;
    for faults in every_fault(geometry.member_count(), geometry.parity_count()) {
        let array = Array { level, faults, good: &good, used: &|_, _| true, tells };
        array.try_all(&name);
        if faults.unreadable.count() == 0 && faults.missing().count() > 0 {
            array.try_corruption_degraded(&name);
        }
    }
    Array { level, faults: Faults::default(), good: &good, used: &|_, _| true, tells }
        .try_corruption(&name);
}

fn try_mirror(name: &str, level: &MirrorLevel, geometry: Raid10, member_bytes: u64) {
    let good = mirror_image(&geometry, &filled(level.size_bytes()), member_bytes);
    let used = |member: usize, at: usize| geometry.at(member, at as u64).is_some();
    let tells = geometry.layout().copies() > 2;
    for faults in every_fault(geometry.member_count(), geometry.layout().copies() as usize - 1) {
        Array { level, faults, good: &good, used: &used, tells }.try_all(name);
    }
    Array { level, faults: Faults::default(), good: &good, used: &used, tells }
        .try_corruption(name);
}

#[test]
fn raid4_and_raid5() {
    for members in 2..=5 {
        try_parity(&ParityLevel::raid4(members, ROWS * CHUNK, CHUNK));
        ParityLayout::RAID5.iter().for_each(|&layout| {
            try_parity(&ParityLevel::raid5(members, ROWS * CHUNK, CHUNK, layout));
        });
    }
}

#[test]
fn raid6() {
    for members in 4..=5 {
        ParityLayout::RAID6.iter().for_each(|&layout| {
            try_parity(&ParityLevel::raid6(members, ROWS * CHUNK, CHUNK, layout));
        });
    }
}

#[test]
fn raid1_and_raid10() {
    for members in 2..=4 {
        let bytes = ROWS * CHUNK;
        let geometry = Raid10::new(members, bytes, bytes, Raid10Layout::near(members as u32));
        try_mirror(
            &format!("raid1 of {members}"),
            &MirrorLevel::raid1(members, bytes),
            geometry,
            bytes,
        );
    }
    for (members, name) in [
        (2, "n2"),
        (3, "n2"),
        (5, "n2"),
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
        let layout = Raid10Layout::from_name(name).expect("a layout");
        // Six rows and a rest that nothing lies on.
        let member_bytes = 6 * CHUNK + 512;
        let geometry = Raid10::new(members, member_bytes, CHUNK, layout);
        try_mirror(
            &format!("raid10 {name} of {members}"),
            &MirrorLevel::raid10(geometry),
            geometry,
            member_bytes,
        );
    }
}

/// What is missing beyond the level's means is an error, not a guess.
#[test]
fn too_much_is_not_restored() {
    let level = ParityLevel::raid6(5, ROWS * CHUNK, CHUNK, ParityLayout::LeftSymmetric);
    let faults = Faults {
        absent: set(&[1]),
        recovering: set(&[2]),
        unreadable: set(&[4]),
        ..Faults::default()
    };
    let range = |task| SyncRange { task, offset: 0, length: 512 };
    for task in [SyncTask::Recover { member: 2 }, SyncTask::Check, SyncTask::Repair] {
        let lost = level
            .plan_sync(range(task), &faults, &mut Plan::default())
            .expect_err("three are missing");
        assert_eq!(lost.members, set(&[1, 2, 4]));
    }
    let mirror = MirrorLevel::raid1(2, 4096);
    let faults = Faults { absent: set(&[0]), recovering: set(&[1]), ..Faults::default() };
    assert!(
        mirror
            .plan_sync(range(SyncTask::Recover { member: 1 }), &faults, &mut Plan::default())
            .is_err()
    );
}

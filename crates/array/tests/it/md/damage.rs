//! Damaged and foreign bytes: nothing panics, every flipped bit is noticed, every conflict names
//! member and field.

use array::md::{
    AssembleOptions, BadRange, Bitmap, Candidate, ChecksumVerdict, Features, Level, PplEntry,
    PplHeader, Role, Slot, Startability, Superblock, Version, assemble, decode_bad_blocks,
    encode_bad_blocks, find_newest_ppl, group, ppl_signature,
};

use words::Text;

use crate::md::golden::{candidates, read};

/// A sequence of numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ number >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Everything that reads bytes, and what is done with what was read.
fn read_everything(bytes: &[u8], sectors: u64, others: &[Candidate]) {
    if let Ok(superblock) = Superblock::decode(bytes) {
        let _ = (
            superblock.checksum_verdict(),
            superblock.name(),
            superblock.layout(),
            superblock.ppl_area(),
            superblock.array_sectors(&[1, sectors]),
        );
        for version in Version::ALL {
            let _ = superblock.problems(version, sectors);
        }
        assert!(superblock.encode().len() <= bytes.len().max(512).next_multiple_of(512));
        // With its checksum put right it gets further.
        let superblock =
            Superblock::decode(&superblock.encode()).expect("what was encoded is decoded");
        let mut all = others.to_vec();
        all[0].superblock = superblock;
        let _ = assemble(&all, AssembleOptions::default())
            .map(|assembly| (assembly.start.to_string(), assembly.slots_text()));
    }
    if let Ok(mut bitmap) = Bitmap::decode(bytes) {
        let _ = (
            bitmap.dirty_ranges().count(),
            bitmap.is_set(sectors..sectors + 9),
            bitmap.set(sectors..u64::MAX),
            bitmap.clear(1..sectors),
        );
        assert!(bitmap.encode().len() <= bytes.len().next_multiple_of(4096));
    }
    let uuid = others[0].superblock.set_uuid;
    let _ = (PplHeader::decode(bytes, &uuid), find_newest_ppl(bytes, &uuid));
    let _ = decode_bad_blocks(bytes, (sectors % 70) as u8);
}

#[test]
fn no_bytes_make_anything_panic() {
    let arrays = [
        "raid5-bitmap",
        "raid5-ppl-cut",
        "raid10-offset",
        "raid0-unequal",
        "raid5-reshape",
        "raid1-bad-blocks",
    ]
    .map(read);
    let others = arrays.each_ref().map(|members| candidates(members));
    for seed in 0..100_000_u64 {
        let run = || {
            let mut numbers = Numbers(seed);
            let which = numbers.below(arrays.len());
            // Where superblock, bitmap or PPL, and bad-block log lie.
            let start = 4096 * (1 + numbers.below(3) as u64);
            let mut bytes = arrays[which][0].at(start, 4096).to_vec();
            if numbers.below(8) == 0 {
                bytes.iter_mut().for_each(|byte| *byte = numbers.next() as u8);
            }
            for _ in 0..numbers.below(6) {
                let end = if numbers.below(2) == 0 { 256 } else { bytes.len() };
                let at = numbers.below(end);
                bytes[at] = match numbers.below(3) {
                    0 => numbers.next() as u8,
                    1 => 0xff,
                    _ => bytes[at] ^ 1 << numbers.below(8),
                };
            }
            if numbers.below(4) == 0 {
                bytes.truncate(numbers.below(4097));
            }
            let sectors = numbers.next() >> numbers.below(60);
            read_everything(&bytes, sectors.min(u64::MAX - 9), &others[which]);
        };
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            panic!("seed {seed}");
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for name in ["raid5-bitmap", "linear", "raid5-reshape", "raid1-version-1.0"] {
        let member = &read(name)[0];
        let (superblock, version) = (member.superblock(), member.version());
        // Roles and header; the zeroes that fill the last sector belong to no role.
        let mut bytes = superblock.encode();
        let covered = 256 + 2 * superblock.roles.len();
        bytes.resize(4096, 0);
        for bit in 0..covered * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(found) = Superblock::decode(&bytes) {
                let verdict = found.checksum_verdict();
                assert_ne!(
                    verdict,
                    ChecksumVerdict::Correct,
                    "{name}: bit {} of byte {}",
                    bit % 8,
                    bit / 8
                );
                assert!(!found.problems(version, member.size_bytes / 512).is_empty());
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(Superblock::decode(&bytes), Ok(superblock), "the flips were undone");
    }
}

#[test]
fn a_wrong_checksum_can_be_examined() {
    let mut bytes = read("raid6")[2].superblock().encode();
    bytes[200] ^= 1;
    let superblock = Superblock::decode(&bytes).expect("the fields are readable");
    assert!(matches!(superblock.checksum_verdict(), ChecksumVerdict::Wrong { .. }));
    assert_eq!((superblock.level, superblock.role()), (Level::Raid6, Role::Active(2)));
}

#[test]
fn what_no_superblock_can_have_is_named() {
    let good = read("raid1")[0].superblock().encode();
    let field = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        let problem = Superblock::decode(&bytes).expect_err("it is damaged");
        (problem.field, problem.offset)
    };
    assert_eq!(field(0, &[0]), ("magic", 0));
    assert_eq!(field(4, &[2]), ("major_version", 4));
    assert_eq!(field(12, &[1]), ("pad0", 12));
    assert_eq!(field(230, &[1]), ("pad3", 230));
    assert_eq!(field(220, &1921_u32.to_le_bytes()), ("max_dev", 220));
    assert_eq!(field(220, &300_u32.to_le_bytes()), ("length", 0));
    assert_eq!(Superblock::decode(&good[..255]).expect_err("too short").field, "length");
    let text = Superblock::decode(&[0; 512]).expect_err("no superblock").to_string();
    assert_eq!(text, "md superblock: magic (byte 0) is 0x00000000, expected 0xa92b4efc");
}

/// The problems of a member after a change, its checksum being right.
fn problems_of(name: &str, change: impl FnOnce(&mut Candidate)) -> Vec<&'static str> {
    let mut candidate = candidates(&read(name)).remove(0);
    change(&mut candidate);
    seal(&mut candidate);
    let problems = candidate.superblock.problems(candidate.version, candidate.size_sectors);
    problems.iter().map(|problem| problem.field).collect()
}

fn seal(candidate: &mut Candidate) {
    candidate.superblock =
        Superblock::decode(&candidate.superblock.encode()).expect("it was a superblock");
}

#[test]
fn what_does_not_fit_the_member_is_named() {
    assert_eq!(problems_of("raid5", |_| ()), [""; 0]);
    assert_eq!(problems_of("raid5", |member| member.size_sectors -= 1), ["data_size"]);
    assert_eq!(
        problems_of("raid5", |member| member.size_sectors = 23),
        ["length of the member", "data_size", "bblog_offset"]
    );
    assert_eq!(problems_of("raid5", |member| member.version = Version::V1_1), ["super_offset"]);
    assert_eq!(
        problems_of("raid5", |member| member.superblock.member_number = 128),
        ["dev_number"]
    );
    assert_eq!(
        problems_of("raid5", |member| member.superblock.roles[0] = Role::Active(3)),
        ["dev_roles"]
    );
    assert_eq!(
        problems_of("raid5", |member| member.superblock.roles[0] = Role::Unknown(0xff01)),
        ["dev_roles"]
    );
    assert_eq!(problems_of("raid5", |member| member.superblock.events = u64::MAX - 5), ["events"]);
    assert_eq!(problems_of("raid5", |member| member.superblock.chunk_sectors = 24), ["chunksize"]);
    assert_eq!(problems_of("raid5", |member| member.superblock.chunk_sectors = 0), ["chunksize"]);
    assert_eq!(problems_of("raid5", |member| member.superblock.layout_code = 8), ["layout"]);
    assert_eq!(
        problems_of("raid10-near", |member| member.superblock.layout_code = 0x104),
        ["layout"]
    );
    assert_eq!(
        problems_of("raid10-near", |member| member.superblock.layout_code = 0x20102),
        ["layout"]
    );
    assert_eq!(problems_of("raid5", |member| member.superblock.size_sectors += 1), ["size"]);
    assert_eq!(problems_of("raid5", |member| member.superblock.size_sectors = 0), ["size"]);
    assert_eq!(problems_of("raid1", |member| member.superblock.size_sectors = 0), ["size"]);
    assert_eq!(problems_of("raid10-far", |member| member.superblock.size_sectors = 255), ["size"]);
    assert_eq!(problems_of("raid10-far", |member| member.superblock.size_sectors = 256), [""; 0]);
    assert_eq!(
        problems_of("raid5", |member| member.superblock.raid_disks = 0),
        ["raid_disks", "raid_disks", "dev_roles"]
    );
    assert_eq!(
        problems_of("raid5", |member| member.superblock.data_offset_sectors = u64::MAX),
        ["data_size"]
    );
    assert_eq!(
        problems_of("raid5-bitmap", |member| member.superblock.bitmap_offset_sectors = -9),
        ["bitmap_offset"]
    );
    assert_eq!(
        problems_of("raid5-bitmap", |member| member.superblock.bitmap_offset_sectors = 0),
        ["bitmap_offset"]
    );
    assert_eq!(
        problems_of("raid5-bitmap", |member| member.superblock.bitmap_offset_sectors = 5000),
        ["bitmap_offset"]
    );
    assert_eq!(
        problems_of("raid5", |member| member.superblock.bad_block_offset_sectors = 5000),
        ["bblog_offset"]
    );
}

/// `mdadm --grow --add` makes linear arrays of version 1.0 whose new member's log of bad blocks
/// lies in its data. Without redundancy that log is never written to.
#[test]
fn a_log_that_nobody_writes_to_may_lie_in_the_data() {
    let log_in_data = |member: &mut Candidate| {
        let own = &mut member.superblock;
        let end = own.data_offset_sectors + own.data_size_sectors;
        own.bad_block_size_sectors = 8;
        own.bad_block_offset_sectors = (end - 8 - own.super_offset_sectors) as i32;
    };
    for name in ["linear", "raid0-equal"] {
        assert_eq!(problems_of(name, log_in_data), [""; 0], "{name}");
        let written = problems_of(name, |member| {
            log_in_data(member);
            member.superblock.features = member.superblock.features.with(Features::BAD_BLOCKS);
        });
        assert_eq!(written, ["bblog_offset"], "{name}");
    }
    assert_eq!(problems_of("raid5", log_in_data), ["bblog_offset"]);
}

/// What becomes of an array after a change to its members, whose checksums are put right.
fn start_of(
    name: &str,
    change: impl FnOnce(&mut Vec<Candidate>),
) -> (Startability, Vec<String>, String) {
    let mut members = candidates(&read(name));
    change(&mut members);
    members.iter_mut().for_each(seal);
    let assembly =
        assemble(&members, AssembleOptions::default()).expect("there are usable members");
    let left_out = assembly.left_out.iter().map(|left| left.reason.english()).collect();
    (assembly.start.clone(), left_out, assembly.slots_text())
}

fn refusal(name: &str, change: impl FnOnce(&mut Vec<Candidate>)) -> String {
    match start_of(name, change).0 {
        Startability::Refused(reasons) => Text::joined(reasons, "; ").to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn geometry_that_differs_is_refused_with_member_and_field() {
    assert_eq!(
        refusal("raid5", |members| members[1].superblock.created.seconds += 1).split(": ").next(),
        Some("m1"),
        "the member that differs from the newest"
    );
    let text = refusal("raid5", |members| members[1].superblock.created.seconds += 1);
    assert!(text.contains("m1: ctime is ") && text.contains(", that of m0 "), "{text}");
    // The array is refused although the others alone would do: it cannot be told which of them is
    // right.
    type Change = fn(&mut Superblock);
    let cases: [(&str, Change); 4] = [
        ("layout", |superblock| superblock.layout_code = 0),
        ("size", |superblock| superblock.size_sectors -= 128),
        ("chunksize", |superblock| superblock.chunk_sectors /= 2),
        ("raid_disks", |superblock| superblock.raid_disks = 4),
    ];
    for (field, change) in cases {
        let text = refusal("raid5", |members| change(&mut members[2].superblock));
        assert!(text.starts_with(&format!("m2: {field} is ")), "{text}");
    }
    let text = refusal("raid5-four", |members| members[3].superblock.level = Level::Raid6);
    assert!(text.starts_with("m3: level is raid6, that of m0 raid5"), "{text}");
}

#[test]
fn two_members_with_one_role_are_refused() {
    let text = refusal("raid5", |members| {
        let mut copy = members[1].clone();
        copy.name = "copy".to_owned();
        members.push(copy);
    });
    assert_eq!(
        text,
        "m1 and copy both are active member 1 (dev_roles), and the same device_uuid: one is a copy"
    );
}

#[test]
fn members_of_two_arrays_are_not_mixed() {
    let mut members = candidates(&read("raid5"));
    members.extend(candidates(&read("raid1")));
    members.swap(1, 3);
    assert_eq!(group(&members), [vec![0, 2, 3], vec![1, 4]]);
    let text = assemble(&members, AssembleOptions::default()).expect_err("two arrays");
    assert!(
        text.english().contains("m0 is of array ") && text.codes() == ["members_of_two_arrays"],
        "{text}"
    );
    assert!(assemble(&[], AssembleOptions::default()).is_err());
}

#[test]
fn one_event_less_is_taken_and_two_are_stale() {
    let (start, left_out, places) = start_of("raid5", |members| members[2].superblock.events -= 1);
    assert_eq!((start, left_out, places.as_str()), (Startability::Ready, vec![], "[UUU]"));
    let (start, left_out, places) = start_of("raid5", |members| members[2].superblock.events -= 2);
    assert_eq!((start, places.as_str()), (Startability::Ready, "[UU_]"));
    assert!(left_out[0].starts_with("m2: is stale: its events are "), "{left_out:?}");
}

/// In an array without redundancy no other can stand in: it opens by force.
#[test]
fn a_stale_member_without_redundancy_is_used_by_force() {
    for name in ["raid0-unequal", "linear"] {
        let (start, left_out, places) = start_of(name, |members| {
            members.iter_mut().skip(1).for_each(|member| member.superblock.events += 883);
        });
        let Startability::NeedsForce(reasons) = start else { panic!("{name}: {start:?}") };
        assert!(
            reasons.len() == 1
                && reasons[0].to_string().starts_with("m0: its events are ")
                && reasons[0]
                    .to_string()
                    .contains("what it holds may be older than the rest: look at it with"),
            "{reasons:?}"
        );
        assert!(left_out.is_empty() && !places.contains('_'), "{left_out:?} {places}");
    }
}

/// raidloom calls an array clean only once every member has had the event, dirty: one that is dirty
/// with one event less is a copy from before.
#[test]
fn a_dirty_member_one_event_behind_a_clean_one_is_an_old_copy() {
    let dirty = |member: &mut Candidate, behind: u64| {
        member.superblock.events -= behind;
        member.superblock.resync_offset_sectors = 0;
    };
    for name in ["raid1", "raid5", "raid10-near", "raid5-bitmap"] {
        let (start, left_out, places) = start_of(name, |members| dirty(&mut members[1], 1));
        assert_eq!((start, places.matches('_').count()), (Startability::Ready, 1), "{name}");
        assert!(
            left_out[0].starts_with("m1: is stale: its events are ")
                && left_out[0].contains("and the array has been called clean since (m0)"),
            "{left_out:?}"
        );
        // With as many events it is what a crash left while the array was being called clean: the
        // members agree.
        let mut members = candidates(&read(name));
        dirty(&mut members[0], 0);
        members.iter_mut().for_each(seal);
        let assembly =
            assemble(&members, AssembleOptions::default()).expect("there are usable members");
        assert!(
            assembly.clean && assembly.degraded_count() == 0 && assembly.left_out.is_empty(),
            "{name}: {assembly:?}"
        );
    }
    // Too many are not believed without a word; md's driver may have left them in a crash.
    let (start, left_out, places) =
        start_of("raid5", |members| members[1..].iter_mut().for_each(|one| dirty(one, 1)));
    let Startability::NeedsForce(reasons) = start else { panic!("{start:?}") };
    assert_eq!((reasons.len(), left_out, places.as_str()), (2, vec![], "[UUU]"), "{reasons:?}");
}

/// Of members that are dirty with the same events, one that was not updated with the others is a
/// copy from before they were clean: md's driver takes events back.
#[test]
fn a_dirty_member_from_another_time_is_an_old_copy() {
    let (start, left_out, places) = start_of("raid1", |members| {
        for member in members.iter_mut() {
            member.superblock.resync_offset_sectors = 0;
        }
        members[0].superblock.updated.seconds -= 7200;
    });
    assert_eq!((start, places.as_str()), (Startability::Ready, "[_U]"));
    assert!(left_out[0].contains("7200 s before m1 (utime)"), "{left_out:?}");
}

/// md's driver takes the event of going dirty back when an array goes clean: an old copy of a
/// member then has as many events as the others, or one more if it was dirty. The time of its last
/// update tells.
#[test]
fn an_old_copy_with_as_many_events_is_stale() {
    let earlier =
        |member: &mut Candidate, seconds: u64| member.superblock.updated.seconds -= seconds;
    let recovering = "is stale: it was last updated 60 s before m0 (utime), though its events do \
        not say so: it is an old copy";
    for (name, places) in
        [("raid1", "[U_]"), ("raid5", "[U_U]"), ("raid10-near", "[U_U]"), ("raid5-bitmap", "[U_U]")]
    {
        for dirty in [false, true] {
            let (start, left_out, found) = start_of(name, |members| {
                earlier(&mut members[1], 60);
                if dirty {
                    members[1].superblock.events += 1;
                    members[1].superblock.resync_offset_sectors = 0;
                }
            });
            assert_eq!(
                (start, found.as_str()),
                (Startability::Ready, places),
                "{name}, dirty {dirty}"
            );
            assert!(
                left_out[0].starts_with("m1: ") && left_out[0].contains(recovering),
                "{left_out:?}"
            );
        }
    }
    // Too many of them are not believed either.
    let text =
        refusal("raid5", |members| members[1..].iter_mut().for_each(|member| earlier(member, 60)));
    assert_eq!(text, "too few members for raid5: member 1 is stale (m1), member 2 is stale (m2)");
    // A bitmap says nothing of writes whose bits were cleared at the same count of events.
    let mut members = candidates(&read("raid5-bitmap"));
    earlier(&mut members[1], 60);
    members.iter_mut().for_each(seal);
    let assembly =
        assemble(&members, AssembleOptions::default()).expect("there are usable members");
    assert!(
        matches!(assembly.slots[1], Slot::Stale { by_bitmap: false, .. }),
        "{:?}",
        assembly.slots[1]
    );
}

/// What looks alike and is a crash while superblocks were written, or no redundancy to go by.
#[test]
fn members_of_a_crash_are_no_old_copies() {
    // Going clean reached one of three: the others are dirty and older. All is resynced, none is
    // left out.
    let (start, left_out, places) = start_of("raid5", |members| {
        for member in &mut members[1..] {
            member.superblock.events += 1;
            member.superblock.resync_offset_sectors = 0;
            member.superblock.updated.seconds -= 1;
        }
    });
    assert_eq!((start, left_out, places.as_str()), (Startability::Ready, vec![], "[UUU]"));
    // Going dirty did not reach one.
    let (start, left_out, places) = start_of("raid5", |members| {
        for member in &mut members[1..] {
            member.superblock.events += 1;
            member.superblock.resync_offset_sectors = 0;
            member.superblock.updated.seconds += 3600;
        }
    });
    assert_eq!((start, left_out, places.as_str()), (Startability::Ready, vec![], "[UUU]"));
    // Without redundancy it can only be said.
    let mut members = candidates(&read("raid0-unequal"));
    members[0].superblock.updated.seconds -= 60;
    members.iter_mut().for_each(seal);
    let assembly =
        assemble(&members, AssembleOptions::default()).expect("there are usable members");
    assert_eq!((&assembly.start, assembly.slots_text().as_str()), (&Startability::Ready, "[UUU]"));
    assert!(
        assembly.notes[0].english().contains("m0: it was last updated 60 s before m1 (utime)"),
        "{:?}",
        assembly.notes
    );
}

#[test]
fn the_bitmap_brings_back_a_member_that_is_not_too_old() {
    let by_bitmap = |events_cleared_behind: u64| {
        let mut members = candidates(&read("raid5-bitmap"));
        members[1].superblock.events -= 5;
        let own = members[1].superblock.events;
        for member in &mut members {
            let bitmap = member.bitmap.as_mut().expect("the array has a bitmap");
            bitmap.events_cleared = own + 1 - events_cleared_behind;
            bitmap.events = member.superblock.events;
        }
        members.iter_mut().for_each(seal);
        let assembly =
            assemble(&members, AssembleOptions::default()).expect("there are usable members");
        matches!(assembly.slots[1], Slot::Stale { by_bitmap: true, .. })
    };
    assert!(by_bitmap(1), "bits were cleared up to its own last event");
    assert!(!by_bitmap(0), "a bit was cleared after it had left");
}

#[test]
fn the_newest_member_knows_who_failed() {
    // Only one superblock reached its disk before the crash: it has one event more and calls member
    // 1 faulty.
    let (start, left_out, places) = start_of("raid5", |members| {
        members[0].superblock.events += 1;
        let number = members[1].superblock.member_number;
        members[0].superblock.roles[number as usize] = Role::Faulty;
    });
    assert_eq!((start, places.as_str()), (Startability::Ready, "[U_U]"));
    assert!(left_out[0].contains("m0 has it as faulty (dev_roles)"), "{left_out:?}");
}

#[test]
fn too_few_members_are_named() {
    let text = refusal("raid5", |members| drop(members.drain(..2)));
    assert_eq!(text, "too few members for raid5: member 0 is missing, member 1 is missing");
    assert!(refusal("linear", |members| drop(members.remove(2))).contains("member 2 is missing"));
    assert_eq!(start_of("raid6", |members| drop(members.drain(1..3))).0, Startability::Ready);
    let text = refusal("raid6", |members| drop(members.drain(..3)));
    assert_eq!(text, "too few members for raid6: members 0 to 2 are missing");
    assert_eq!(start_of("raid1", |members| drop(members.remove(0))).0, Startability::Ready);
}

#[test]
fn level_10_needs_one_copy_of_each_chunk() {
    // Two near copies on three members: any one may go, no two. On four members with two offset
    // copies neighbours hold copies.
    for gone in 0..3 {
        assert_eq!(
            start_of("raid10-near", |members| drop(members.remove(gone))).0,
            Startability::Ready
        );
        assert_eq!(
            start_of("raid10-far", |members| drop(members.remove(gone))).0,
            Startability::Ready
        );
        refusal("raid10-near", |members| *members = vec![members[gone].clone()]);
    }
    for (one, two, enough) in
        [(0, 1, false), (0, 2, true), (0, 3, false), (1, 2, false), (1, 3, true), (2, 3, false)]
    {
        let start = start_of("raid10-offset", |members| {
            members.remove(two);
            members.remove(one);
        });
        assert_eq!(start.0 == Startability::Ready, enough, "without {one} and {two}");
    }
}

#[test]
fn a_member_that_shrank_is_left_out() {
    let (start, left_out, places) = start_of("raid5", |members| members[1].size_sectors -= 8);
    assert_eq!((start, places.as_str()), (Startability::Ready, "[U_U]"));
    assert!(left_out[0].starts_with("m1: md superblock: data_size (byte 136) is "), "{left_out:?}");
}

#[test]
fn what_is_not_known_is_not_written() {
    let read_only = |name, change: fn(&mut Vec<Candidate>)| match start_of(name, change).0 {
        Startability::ReadOnly(reasons) => Text::joined(reasons, "; ").to_string(),
        other => panic!("{other:?}"),
    };
    let text = read_only("raid5", |members| members[2].superblock.features = Features(0x4000));
    assert_eq!(text, "m2: feature_map has bits that are not known here, 0x4000");
    assert!(read_only("raid5-journal", |_| ()).contains("m3: its last writes may be there only"));
    assert!(
        read_only("raid5-journal", |members| drop(members.remove(3))).contains("which is missing")
    );
    let text = read_only("raid5-reshape", |_| ());
    assert!(
        text.contains("a reshape is under way (feature_map, reshape_position ")
            && !text.contains("backup"),
        "{text}"
    );
    // One member may be missing, in the shape that has fewer too.
    read_only("raid5-reshape", |members| drop(members.remove(3)));
    assert!(
        refusal("raid5-reshape", |members| drop(members.drain(2..)))
            .contains("too few members for raid5: member 2 is missing")
    );
    let change = |change: fn(&mut Superblock)| {
        refusal("raid5-reshape", |members| {
            members.iter_mut().for_each(|member| change(&mut member.superblock));
        })
    };
    assert!(
        change(|superblock| superblock.new_level = Level::Raid6)
            .contains("make raid6 (new_level) of raid5")
    );
    assert!(
        change(|superblock| superblock.new_layout_code = 99)
            .contains("a layout of 0x63 (new_layout)")
    );
    assert!(
        change(|superblock| superblock.new_chunk_sectors = 24)
            .contains("a chunk of 24 sectors (new_chunk)")
    );
    assert!(
        change(|superblock| superblock.delta_disks = 3)
            .contains("a shape of 1 members (delta_disks 3)")
    );
    assert!(
        refusal("raid1", |members| members
            .iter_mut()
            .for_each(|member| member.superblock.level = Level::Faulty))
        .contains("level is faulty")
    );
}

#[test]
fn zones_without_a_layout_are_refused_where_it_matters() {
    let forget = |members: &mut Vec<Candidate>| {
        members.iter_mut().for_each(|member| {
            member.superblock.features = member.superblock.features.without(Features::RAID0_LAYOUT);
        });
    };
    let text = refusal("raid0-unequal", forget);
    assert!(text.contains("say original or alternate"), "{text}");
    let mut members = candidates(&read("raid0-unequal"));
    forget(&mut members);
    members.iter_mut().for_each(seal);
    let options = AssembleOptions { raid0_layout: Some(array::Raid0Layout::Alternate) };
    assert_eq!(assemble(&members, options).map(|assembly| assembly.start), Ok(Startability::Ready));
}

#[test]
fn bitmap_ranges_and_pages_follow_a_plain_table() {
    for seed in 0..200 {
        let mut numbers = Numbers(seed);
        let sectors = 1 + numbers.next() % 600_000;
        let mut bitmap =
            Bitmap::new([1; 16], sectors, 1 << 20, Some(4096), false).expect("there is room");
        let count = bitmap.header().region_count() as usize;
        let mut table = vec![false; count];
        for _ in 0..20 {
            let start = numbers.next() % (sectors + 100);
            let range = start..start + numbers.next() % 5000;
            let before = bitmap.encode();
            let pages = if numbers.below(2) == 0 {
                (0..count)
                    .filter(|&region| {
                        region as u64 * 8 < range.end.min(sectors)
                            && region as u64 * 8 + 8 > range.start
                            && !range.is_empty()
                    })
                    .for_each(|region| table[region] = true);
                bitmap.set(range)
            } else {
                (0..count)
                    .filter(|&region| {
                        region as u64 * 8 >= range.start
                            && (region as u64 * 8 + 8).min(sectors) <= range.end
                    })
                    .for_each(|region| table[region] = false);
                bitmap.clear(range)
            };
            let after = bitmap.encode();
            let changed: Vec<usize> = (0..bitmap.page_count())
                .filter(|page| before[page * 4096..][..4096] != after[page * 4096..][..4096])
                .collect();
            assert_eq!(pages, changed, "seed {seed}");
            for page in 0..bitmap.page_count() {
                assert_eq!(bitmap.encode_page(page), after[page * 4096..][..4096], "seed {seed}");
            }
            let found: Vec<bool> =
                (0..count as u64).map(|region| bitmap.is_set(region * 8..region * 8 + 1)).collect();
            assert_eq!(found, table, "seed {seed}");
            assert_eq!(Bitmap::decode(&after).as_ref(), Ok(&bitmap), "seed {seed}");
            let dirty: u64 = bitmap.dirty_ranges().map(|range| range.end - range.start).sum();
            let expected: u64 = (0..count as u64)
                .filter(|&region| table[region as usize])
                .map(|region| (region * 8 + 8).min(sectors) - region * 8)
                .sum();
            assert_eq!(dirty, expected, "seed {seed}");
        }
    }
}

#[test]
fn a_bitmap_fits_its_room_and_its_events() {
    // 32 TiB in one page: the default of 64 MiB a bit would take 17 pages.
    let bitmap = Bitmap::new([1; 16], 1 << 36, 4096, None, true).expect("regions can be larger");
    assert_eq!(bitmap.page_count(), 1);
    assert_eq!(bitmap.dirty_count(), bitmap.header().region_count());
    assert_eq!(
        Bitmap::new([1; 16], 1 << 36, 4096, Some(4096), true).expect_err("no room").field,
        "chunksize"
    );
    assert_eq!(
        Bitmap::new([1; 16], 1 << 20, 4096, Some(3 << 20), true)
            .expect_err("no power of two")
            .field,
        "chunksize"
    );
    let mut bitmap = Bitmap::new([1; 16], 1 << 20, 4096, None, false).expect("there is room");
    bitmap.set_events(10, 10);
    let accepted: Vec<u64> =
        (8..12).filter(|&events| bitmap.header().accept(&[1; 16], events).is_ok()).collect();
    assert_eq!(accepted, [9, 10]);
    assert_eq!(bitmap.header().accept(&[2; 16], 10).expect_err("another array").field, "uuid");
}

#[test]
fn bad_blocks_come_back() {
    for shift in [0, 3] {
        let ranges = [
            BadRange { sector: 8 << shift, sectors: 1 << shift },
            BadRange { sector: 1 << 40, sectors: 700 << shift },
        ];
        let bytes = encode_bad_blocks(&ranges, shift, 512).expect("there is room");
        let found = decode_bad_blocks(&bytes, shift).expect("it was encoded");
        // A long run is written as several.
        let split = [
            ranges[0],
            BadRange { sector: 1 << 40, sectors: 512 << shift },
            BadRange { sector: (1 << 40) + (512 << shift), sectors: 188 << shift },
        ];
        assert_eq!(found, split);
    }
    let many = vec![BadRange { sector: 1, sectors: 1 }; 65];
    assert_eq!(encode_bad_blocks(&many, 0, 512).expect_err("no room").field, "entries");
    assert_eq!(
        encode_bad_blocks(&[BadRange { sector: 1, sectors: 8 }], 3, 512)
            .expect_err("half a unit")
            .field,
        "sector"
    );
    assert_eq!(decode_bad_blocks(&[0; 8], 0).expect_err("an empty run").field, "length");
}

#[test]
fn the_newest_of_several_parity_logs_is_found() {
    let uuid = [9; 16];
    let header = |generation, parity_bytes| PplHeader {
        signature: ppl_signature(&uuid),
        generation,
        entries: vec![PplEntry {
            data_sector: 8,
            parity_bytes,
            data_bytes: 4096,
            parity_role: 1,
            checksum: 5,
        }],
    };
    let mut area = vec![0; 64 << 10];
    // Two logs of this round, and one that was left over from the round before.
    area[..4096].copy_from_slice(&header(5, 8192).encode());
    area[12288..16384].copy_from_slice(&header(6, 4096).encode());
    area[20480..24576].copy_from_slice(&header(4, 4096).encode());
    assert_eq!(find_newest_ppl(&area, &uuid), Ok((12288, header(6, 4096))));
    area[12288 + 600] ^= 1;
    assert_eq!(find_newest_ppl(&area, &uuid), Ok((0, header(5, 8192))));
    area[530] ^= 1;
    assert_eq!(find_newest_ppl(&area, &uuid).expect_err("damaged").field, "checksum");
}

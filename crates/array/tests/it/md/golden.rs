//! What the kernel's md and mdadm wrote: decoded, compared with what mdadm says of it, encoded to
//! the same bytes, and assembled.

use std::collections::BTreeMap;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use array::md::{
    AssembleOptions, BadRange, Bitmap, BitmapHeader, Candidate, ChecksumVerdict, Features, Level,
    PPL_HEADER_BYTES, PplEntry, PplHeader, Role, Slot, Startability, Superblock, Version, assemble,
    decode_bad_blocks, encode_bad_blocks, find_newest_ppl, ppl_signature, uuid_text,
};

use crate::md::examine;

/// A member as a golden file has it.
pub(crate) struct Member {
    pub(crate) size_bytes: u64,
    /// What `mdadm --examine` said of it.
    pub(crate) report: String,
    /// Where `bytes` start on the member.
    start: u64,
    bytes: Vec<u8>,
}

impl Member {
    /// Bytes at an offset on the member.
    pub(crate) fn at(&self, offset: u64, length: usize) -> &[u8] {
        let start = (offset - self.start) as usize;
        &self.bytes[start..start + length]
    }

    /// Where its superblock is, found as `assemble --scan` would.
    pub(crate) fn version(&self) -> Version {
        let found = Version::ALL.into_iter().find(|version| {
            let offset =
                version.offset_sectors(self.size_bytes / 512).expect("members are large enough")
                    * 512;
            let kept =
                offset >= self.start && offset + 4096 <= self.start + self.bytes.len() as u64;
            kept && self
                .decoded(*version, offset)
                .is_some_and(|superblock| superblock.super_offset_sectors * 512 == offset)
        });
        found.expect("the member has a superblock")
    }

    pub(crate) fn superblock(&self) -> Superblock {
        let version = self.version();
        let offset =
            version.offset_sectors(self.size_bytes / 512).expect("members are large enough") * 512;
        self.decoded(version, offset).expect("the superblock was found")
    }

    fn decoded(&self, version: Version, offset: u64) -> Option<Superblock> {
        Superblock::decode_as(version, self.at(offset, 4096), self.size_bytes / 512).ok()
    }

    /// Bytes at an offset in sectors from the superblock.
    fn beside(&self, superblock: &Superblock, sectors: i64, length: usize) -> &[u8] {
        self.at(superblock.super_offset_sectors.wrapping_add_signed(sectors) * 512, length)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/md")
}

/// Reads a golden file: `member SIZE`, lines of mdadm's report after `|`, and bytes as
/// `od -A x -t x1` prints them.
pub(crate) fn read(name: &str) -> Vec<Member> {
    let path = folder().join(format!("{name}.txt"));
    parse(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn parse(text: &str) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    let mut repeats = false;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(size) = line.strip_prefix("member ") {
            let size_bytes = size.parse().expect("a size");
            members.push(Member { size_bytes, report: String::new(), start: 0, bytes: Vec::new() });
            continue;
        }
        let member = members.last_mut().expect("a member comes first");
        if let Some(report) = line.strip_prefix('|') {
            member.report += report;
            member.report.push('\n');
        } else if line == "*" {
            repeats = true;
        } else {
            let mut words = line.split(' ');
            let address = words
                .next()
                .and_then(|word| u64::from_str_radix(word, 16).ok())
                .expect("an address");
            if member.bytes.is_empty() {
                member.start = address;
            }
            if repeats {
                let last: Vec<u8> = member.bytes[member.bytes.len() - 16..].to_vec();
                while member.start + (member.bytes.len() as u64) < address {
                    member.bytes.extend_from_slice(&last);
                }
                repeats = false;
            }
            member.bytes.extend(words.map(|word| u8::from_str_radix(word, 16).expect("a byte")));
        }
    }
    members
}

/// Every golden array by name.
fn all() -> BTreeMap<String, Vec<Member>> {
    let entries = fs::read_dir(folder()).expect("the golden files are there");
    let names = entries.map(|entry| {
        entry.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned()
    });
    // Those of version 0.90 are another format, with a test of their own.
    names
        .filter(|name| name != "places" && !name.starts_with("version-0.90"))
        .map(|name| (name.clone(), read(&name)))
        .collect()
}

pub(crate) fn candidates(members: &[Member]) -> Vec<Candidate> {
    let candidate = |(index, member): (usize, &Member)| {
        let superblock = member.superblock();
        let bitmap = superblock.features.contains(Features::BITMAP).then(|| {
            let bytes = member.beside(&superblock, superblock.bitmap_offset_sectors.into(), 256);
            BitmapHeader::decode_for(member.version(), bytes).expect("the kernel's bitmap is valid")
        });
        Candidate {
            name: format!("m{index}"),
            size_sectors: member.size_bytes / 512,
            version: member.version(),
            superblock,
            bitmap,
        }
    };
    members.iter().enumerate().map(candidate).collect()
}

#[test]
fn every_field_is_what_mdadm_says_and_every_byte_comes_back() {
    let arrays = all();
    assert!(arrays.len() >= 30, "{} golden arrays", arrays.len());
    for (name, members) in &arrays {
        for (index, member) in members.iter().enumerate() {
            let (superblock, version) = (member.superblock(), member.version());
            assert_eq!(superblock.checksum_verdict(), ChecksumVerdict::Correct, "{name} {index}");
            let differences = examine::differences(&member.report, &superblock, version);
            assert!(differences.is_empty(), "{name}, member {index}:\n{}", differences.join("\n"));
            let encoded = superblock.encode();
            assert_eq!(encoded, member.beside(&superblock, 0, encoded.len()), "{name} {index}");
            assert_eq!(superblock.problems(version, member.size_bytes / 512), [], "{name} {index}");
        }
    }
}

const OLD: [&str; 4] =
    ["version-0.90-raid1", "version-0.90-raid5", "version-0.90-raid10", "version-0.90-linear"];

/// Every field that version 0.90 has is what mdadm says of it.
#[test]
fn old_superblocks_are_what_mdadm_says() {
    for name in OLD {
        for (index, member) in read(name).iter().enumerate() {
            let (superblock, report) = (member.superblock(), &member.report);
            assert_eq!(member.version(), Version::V0_90, "{name} {index}");
            assert_eq!(superblock.checksum_verdict(), ChecksumVerdict::Correct, "{name} {index}");
            assert_eq!(
                superblock.problems(Version::V0_90, member.size_bytes / 512),
                [],
                "{name} {index}"
            );
            let says = |key: &str, expected: &str| {
                let found = examine::value(report, key).unwrap_or_default();
                assert!(
                    found == expected || found.starts_with(&format!("{expected} ")),
                    "{name} {index}: {key} is {found:?}, not {expected:?}"
                );
            };
            says("UUID", &uuid_text(&superblock.set_uuid));
            says("Creation Time", &examine::date(superblock.created.seconds));
            says("Update Time", &examine::date(superblock.updated.seconds));
            says("Raid Level", &superblock.level.to_string());
            says("Raid Devices", &superblock.raid_disks.to_string());
            says("Preferred Minor", superblock.name().strip_prefix("md").expect("its number"));
            says("State", if superblock.is_clean() { "clean" } else { "active" });
            says("Events", &superblock.events.to_string());
            says("Checksum", &format!("{:x} - correct", superblock.checksum));
            if superblock.level.is_redundant() {
                says("Used Dev Size", &(superblock.size_sectors / 2).to_string());
            }
            // Of level 10 mdadm does not count in whole chunks, as the kernel does.
            if matches!(superblock.level, Level::Raid1 | Level::Raid5) {
                says(
                    "Array Size",
                    &(superblock.array_sectors(&[]).expect("a size") / 2).to_string(),
                );
            }
            if superblock.level.has_chunks() {
                says("Chunk Size", &format!("{}K", superblock.chunk_sectors / 2));
            }
            // The row of this member: number, major, minor, place, state.
            let row = report
                .lines()
                .find_map(|line| line.trim().strip_prefix("this"))
                .expect("a row of its own");
            let words: Vec<&str> = row.split_whitespace().collect();
            let role = if words[4..].contains(&"active") {
                Role::Active(words[3].parse().expect("a place"))
            } else {
                Role::Spare
            };
            assert_eq!(
                (words[0], superblock.role()),
                (&*superblock.member_number.to_string(), role),
                "{name} {index}: {row}"
            );
        }
    }
    let amounts: Vec<String> =
        OLD.into_iter().map(|name| summary(&candidates(&read(name)))).collect();
    let expected = [
        "raid1 - [UU] clean: read-only",
        "raid5 left-symmetric [UUU] dirty: read-only",
        "raid10 n2 [UUU] clean: read-only",
        "linear - [UU] clean: read-only",
    ];
    assert_eq!(amounts, expected);
}

/// One that was made on a machine of the other byte order has each word turned round, and its
/// two-word numbers with them.
#[test]
fn old_superblocks_of_the_other_byte_order_are_read() {
    for member in read("version-0.90-raid5") {
        let own = member.superblock();
        let mut bytes = member.at(own.super_offset_sectors * 512, 4096).to_vec();
        for word in [39, 41] {
            let (low, high) = bytes[4 * word..4 * word + 8].split_at_mut(4);
            low.swap_with_slice(high);
        }
        bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
        let turned = Superblock::decode_as(Version::V0_90, &bytes, member.size_bytes / 512)
            .expect("a superblock");
        assert_eq!(turned, own);
    }
}

/// Nothing of it can change unseen, as far as its checksum tells, and nothing panics.
#[test]
fn a_bit_of_an_old_superblock_does_not_change_unseen() {
    let read_raid1 = read("version-0.90-raid1");
    let member = &read_raid1[0];
    let own = member.superblock();
    let bytes = member.at(own.super_offset_sectors * 512, 4096).to_vec();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let Ok(found) = Superblock::decode_as(Version::V0_90, &damaged, member.size_bytes / 512)
        else {
            continue;
        };
        assert_ne!(found.checksum_verdict(), ChecksumVerdict::Correct, "bit {bit}");
        // With its checksum put right it gets further.
        let superblock = Superblock { old_checksum: Some(found.checksum), ..found };
        let mut all = candidates(&read_raid1);
        all[0].superblock = superblock;
        let _ = assemble(&all, AssembleOptions::default())
            .map(|assembly| (assembly.start.to_string(), assembly.slots_text()));
    }
    assert!(Superblock::decode_as(Version::V0_90, &bytes[..4000], 1 << 20).is_err());
    assert!(Superblock::decode_as(Version::V0_90, &bytes, 127).is_err());
}

#[test]
fn bitmaps_come_back_to_the_byte() {
    let mut count = 0;
    for (name, members) in &all() {
        for (index, member) in members.iter().enumerate() {
            let superblock = member.superblock();
            if !superblock.features.contains(Features::BITMAP) || superblock.features.has_ppl() {
                continue;
            }
            count += 1;
            let bytes = member.beside(&superblock, superblock.bitmap_offset_sectors.into(), 4096);
            let bitmap = Bitmap::decode(bytes).expect("the kernel's bitmap is valid");
            assert_eq!(
                bitmap.header().accept(&superblock.set_uuid, superblock.events),
                Ok(()),
                "{name} {index}"
            );
            assert_eq!(bitmap.encode(), bytes, "{name} {index}");
            assert_eq!(bitmap.encode_page(0), bytes, "{name} {index}");
        }
    }
    assert!(count >= 14, "{count} members with a bitmap");
}

#[test]
fn a_bitmap_tells_what_was_being_written() {
    let members = read("raid5-bitmap-dirty");
    for member in &members {
        let superblock = member.superblock();
        let bitmap = Bitmap::decode(member.beside(&superblock, 8, 4096))
            .expect("the kernel's bitmap is valid");
        assert_eq!(bitmap.header().chunk_bytes, 16 << 10);
        assert_eq!(bitmap.header().sync_size_sectors, superblock.size_sectors);
        assert!(!superblock.is_clean());
        // The first resync was over, but its bits had not been cleared when the power went:
        // everything may differ.
        assert_eq!(bitmap.dirty_count(), bitmap.header().region_count());
        assert!(bitmap.dirty_ranges().eq(iter::once(0..superblock.size_sectors)));
    }
    // The bits of this one were cleared in time.
    let members = read("raid1-bitmap");
    let bitmap = Bitmap::decode(members[0].at(8192, 4096)).expect("the kernel's bitmap is valid");
    assert_eq!((bitmap.header().region_count(), bitmap.dirty_count()), (240, 0));
}

#[test]
fn the_bad_block_log_comes_back_to_the_byte() {
    let members = read("raid1-bad-blocks");
    let superblock = members[0].superblock();
    assert!(superblock.features.contains(Features::BAD_BLOCKS));
    let bytes = members[0].beside(&superblock, superblock.bad_block_offset_sectors.into(), 4096);
    let ranges =
        decode_bad_blocks(bytes, superblock.bad_block_shift).expect("the kernel's log is valid");
    assert_eq!(
        ranges,
        [BadRange { sector: 100, sectors: 8 }, BadRange { sector: 3000, sectors: 1 }]
    );
    assert_eq!(
        encode_bad_blocks(&ranges, superblock.bad_block_shift, 4096).expect("it was decoded"),
        bytes
    );
}

#[test]
fn the_parity_log_names_the_stripe_that_was_being_written() {
    let members = read("raid5-ppl-cut");
    let mut entries = Vec::new();
    for member in &members {
        let superblock = member.superblock();
        let area = superblock.ppl_area().expect("the array has a PPL");
        let bytes = member.beside(&superblock, area.offset_sectors.into(), PPL_HEADER_BYTES);
        let header =
            PplHeader::decode(bytes, &superblock.set_uuid).expect("the kernel's header is valid");
        assert_eq!(header.signature, ppl_signature(&superblock.set_uuid));
        assert_eq!(header.encode(), bytes);
        let rest = member.beside(&superblock, area.offset_sectors.into(), 8192);
        assert_eq!(find_newest_ppl(rest, &superblock.set_uuid), Ok((0, header.clone())));
        let expected = PplHeader::decode(bytes, &[7; 16]).expect_err("the header of another array");
        assert_eq!(expected.field, "signature");
        for entry in header.entries {
            let parity = member.beside(
                &superblock,
                i64::from(area.offset_sectors) + 8,
                entry.parity_bytes as usize,
            );
            assert_eq!(crc32c::crc32c(parity), entry.checksum);
            assert_eq!(
                superblock.role(),
                Role::Active(entry.parity_role as u16),
                "the log is on the member with the parity"
            );
            entries.push(entry);
        }
    }
    // The recipe wrote 4 KiB at 320 KiB of the array.
    let [PplEntry { data_sector: 640, parity_bytes: 4096, data_bytes: 4096, parity_role: 0, .. }] =
        entries[..]
    else {
        panic!("{entries:?}");
    };
}

/// What an array amounts to, on one line.
fn summary(candidates: &[Candidate]) -> String {
    let assembly =
        assemble(candidates, AssembleOptions::default()).expect("there are usable members");
    let clean = if assembly.clean { "clean" } else { "dirty" };
    let mut text =
        format!("{} {} {} {clean}", assembly.level, assembly.layout, assembly.slots_text());
    for (role, slot) in assembly.slots.iter().enumerate() {
        match slot {
            Slot::Recovering { recovered_sectors, .. } => {
                // How far the kernel got when it was stopped is chance.
                assert!(
                    (1..assembly.size_sectors).contains(recovered_sectors),
                    "{recovered_sectors}"
                );
                text += &format!(", {role} rebuilding");
            }
            Slot::Stale { candidate, by_bitmap } => {
                text += &format!(
                    ", {role} stale ({candidate}{})",
                    if *by_bitmap { ", by bitmap" } else { "" }
                );
            }
            Slot::Present(_) | Slot::Missing => (),
        }
    }
    if !assembly.spares.is_empty() {
        text += &format!(", spares {:?}", assembly.spares);
    }
    let start = match assembly.start {
        Startability::Ready => "ready",
        Startability::ReadOnly(_) => "read-only",
        Startability::ReadOnlyOrForce(_) => "read-only, or force",
        Startability::NeedsForce(_) => "needs force",
        Startability::Refused(_) => "refused",
    };
    format!("{text}: {start}")
}

#[test]
fn arrays_amount_to_what_was_done_to_them() {
    let expected = [
        ("linear", "linear - [UUU] clean: ready"),
        ("raid0-equal", "raid0 unknown [UU] clean: ready"),
        ("raid0-unequal", "raid0 original [UUU] clean: ready"),
        ("raid1", "raid1 - [UU] clean: ready"),
        ("raid1-bad-blocks", "raid1 - [UU] clean: ready"),
        ("raid1-bitmap", "raid1 - [UU] clean: ready"),
        ("raid1-missing", "raid1 - [U_U] clean: ready"),
        ("raid1-spare", "raid1 - [UU] clean, spares [2]: ready"),
        ("raid1-version-1.0", "raid1 - [UU] clean: ready"),
        ("raid1-version-1.1", "raid1 - [UU] clean: ready"),
        ("raid1-write-mostly", "raid1 - [UU] clean: ready"),
        ("raid10-far", "raid10 f2 [UUU] clean: ready"),
        ("raid10-near", "raid10 n2 [UUU] clean: ready"),
        ("raid10-offset", "raid10 o2 [UUUU] clean: ready"),
        ("raid4", "raid4 - [UUU] clean: ready"),
        ("raid5", "raid5 left-symmetric [UUU] clean: ready"),
        ("raid5-bitmap", "raid5 left-symmetric [UUU] clean: ready"),
        ("raid5-bitmap-dirty", "raid5 left-symmetric [UUU] dirty: ready"),
        ("raid5-dirty", "raid5 left-symmetric [UUU] dirty: ready"),
        ("raid5-dirty-failed", "raid5 left-symmetric [U_U] dirty, 1 stale (1): needs force"),
        ("raid5-failed", "raid5 left-symmetric [U_U] clean, 1 stale (1): ready"),
        ("raid5-four", "raid5 right-asymmetric [UUUU] clean: ready"),
        ("raid5-journal", "raid5 left-symmetric [UUU] clean: read-only"),
        ("raid5-ppl", "raid5 left-symmetric [UUU] clean: ready"),
        ("raid5-ppl-cut", "raid5 left-symmetric [UUU] dirty: ready"),
        ("raid5-rebuilding", "raid5 left-symmetric [U_U] clean, 1 rebuilding: ready"),
        ("raid5-reshape", "raid5 left-symmetric [UUUU] clean: read-only"),
        ("raid6", "raid6 left-symmetric [UUUU] clean: ready"),
        ("raid6-asymmetric", "raid6 left-asymmetric [UUUUU] clean: ready"),
        ("raid6-ddf", "raid6 ddf-N-continue [UUUU] clean: ready"),
    ];
    let found: Vec<(String, String)> =
        all().into_iter().map(|(name, members)| (name, summary(&candidates(&members)))).collect();
    let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
    assert_eq!(found, expected);
}

#[test]
fn members_of_a_cut_parity_log_survive_a_missing_one() {
    let mut dirty = candidates(&read("raid5-dirty"));
    let mut logged = candidates(&read("raid5-ppl-cut"));
    for gone in [&mut dirty, &mut logged] {
        gone.remove(1);
    }
    assert_eq!(summary(&dirty), "raid5 left-symmetric [U_U] dirty: needs force");
    assert_eq!(summary(&logged), "raid5 left-symmetric [U_U] dirty: ready");
}

#[test]
fn a_faulty_reading_of_a_golden_file_is_noticed() {
    // The checks above can fail: one byte of a superblock, one line of a report.
    let members = read("raid5");
    let mut superblock = members[0].superblock();
    superblock.chunk_sectors *= 2;
    let differences = examine::differences(&members[0].report, &superblock, Version::V1_2);
    assert!(differences.iter().any(|line| line.starts_with("Chunk Size")), "{differences:?}");
    assert!(differences.iter().any(|line| line.starts_with("Checksum")), "{differences:?}");
}

//! `mdadm --examine` as a witness: every line that it prints, held against our superblock.

use array::Raid0Layout;
use array::md::{ChecksumVerdict, Features, Layout, Level, Role, Superblock, Version, uuid_text};

/// The lines `key : value` of a report.
fn lines(report: &str) -> impl Iterator<Item = (&str, &str)> {
    report
        .lines()
        .filter_map(|line| line.split_once(" : "))
        .map(|(key, value)| (key.trim(), value.trim()))
}

/// A key's value in a report.
pub(crate) fn value<'a>(report: &'a str, key: &str) -> Option<&'a str> {
    lines(report).find(|(found, _)| *found == key).map(|(_, value)| value)
}

/// Every line of `report` that says something else than the superblock, and every line that was to
/// be there and is not.
pub(crate) fn differences(report: &str, superblock: &Superblock, version: Version) -> Vec<String> {
    let expected = expectation(superblock, version);
    let mut differences = Vec::new();
    for (key, found) in lines(report) {
        // What mdadm works out itself, for people.
        if key == "Unused Space" {
            continue;
        }
        match expected.iter().find(|(known, _)| *known == key) {
            None => {
                differences.push(format!("{key}: mdadm prints {found:?}, nothing was expected"));
            }
            Some((_, expected)) if !matches(key, found, expected) => {
                differences.push(format!("{key}: mdadm prints {found:?}, expected {expected:?}"));
            }
            Some(_) => (),
        }
    }
    for (key, expected) in &expected {
        if value(report, key).is_none() {
            differences.push(format!("{key}: mdadm prints nothing, expected {expected:?}"));
        }
    }
    differences
}

/// mdadm adds the same number in other units, the kind of host, or more words.
fn matches(key: &str, found: &str, expected: &str) -> bool {
    match key {
        "Name" | "Avail Dev Size" | "Used Dev Size" | "Array Size" | "Array State"
        | "Reshape pos'n" => found
            .strip_prefix(expected)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
        _ => found == expected,
    }
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn expectation(superblock: &Superblock, version: Version) -> Vec<(&'static str, String)> {
    let level = superblock.level;
    let mut lines = occasional(superblock);
    lines.extend([
        ("Magic", "a92b4efc".to_owned()),
        ("Version", version.to_string()),
        ("Feature Map", format!("{:#x}", superblock.features.0)),
        ("Array UUID", uuid_text(&superblock.set_uuid)),
        ("Name", superblock.name()),
        ("Creation Time", date(superblock.created.seconds)),
        ("Raid Level", level.to_string()),
        ("Raid Devices", superblock.raid_disks.to_string()),
        ("Avail Dev Size", format!("{} sectors", superblock.data_size_sectors)),
        ("Super Offset", format!("{} sectors", superblock.super_offset_sectors)),
        ("State", if superblock.is_clean() { "clean" } else { "active" }.to_owned()),
        ("Device UUID", uuid_text(&superblock.device_uuid)),
        ("Update Time", date(superblock.updated.seconds)),
        ("Events", superblock.events.to_string()),
        ("Array State", array_state(superblock)),
    ]);
    let mut line = |key, value| lines.push((key, value));
    let array_sectors = match superblock.layout() {
        Layout::Raid10(layout) => {
            // mdadm does not count in whole chunks here, as the kernel does: at most it prints a
            // little more.
            let printed =
                superblock.size_sectors * u64::from(superblock.raid_disks) / layout.copies();
            let real = superblock.array_sectors(&[]).expect("a known layout");
            assert!(
                real <= printed
                    && printed - real
                        < u64::from(superblock.chunk_sectors) * u64::from(superblock.raid_disks)
            );
            Some(printed)
        }
        _ => {
            superblock.array_sectors(&[]).filter(|_| !matches!(level, Level::Linear | Level::Raid0))
        }
    };
    if let Some(sectors) = array_sectors {
        line("Array Size", format!("{} KiB", sectors / 2));
    }
    if superblock.size_sectors != superblock.data_size_sectors && level != Level::Raid0 {
        line("Used Dev Size", format!("{} sectors", superblock.size_sectors));
    }
    if superblock.data_offset_sectors > 0 {
        line("Data Offset", format!("{} sectors", superblock.data_offset_sectors));
    }
    line(
        "Checksum",
        match superblock.checksum_verdict() {
            ChecksumVerdict::Correct => format!("{:x} - correct", superblock.checksum),
            ChecksumVerdict::Wrong { found, expected } => {
                format!("{found:x} - expected {expected:x}")
            }
        },
    );
    match superblock.layout() {
        Layout::Raid0(Some(Raid0Layout::Original)) => line("Layout", "original".to_owned()),
        Layout::Raid0(Some(Raid0Layout::Alternate)) => line("Layout", "alternate".to_owned()),
        Layout::Parity(layout) => line("Layout", layout.name().to_owned()),
        Layout::Raid10(layout) => {
            let mut parts = Vec::new();
            if layout.near > 1 || layout.far == 1 {
                parts.push(format!("near={}", layout.near));
            }
            if layout.far > 1 {
                parts.push(format!(
                    "{}={}",
                    if layout.offset { "offset" } else { "far" },
                    layout.far
                ));
            }
            line("Layout", parts.join(", "));
        }
        _ => (),
    }
    if level.has_chunks() {
        line("Chunk Size", format!("{}K", superblock.chunk_sectors / 2));
    } else if level == Level::Linear {
        line("Rounding", format!("{}K", superblock.chunk_sectors / 2));
    }
    line(
        "Device Role",
        match superblock.role() {
            Role::Active(role) => format!("Active device {role}"),
            Role::Journal => "Journal".to_owned(),
            _ => "spare".to_owned(),
        },
    );
    lines
}

/// The lines that only some superblocks have.
fn occasional(superblock: &Superblock) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut line = |key, value| lines.push((key, value));
    if superblock.features.contains(Features::RECOVERY_OFFSET) {
        line("Recovery Offset", format!("{} sectors", superblock.recovery_offset_sectors));
    }
    if superblock.features.contains(Features::RESHAPE_ACTIVE) {
        line("Reshape pos'n", (superblock.reshape_position_sectors / 2).to_string());
        let disks = i64::from(superblock.raid_disks);
        line(
            "Delta Devices",
            format!(
                "{} ({}->{disks})",
                superblock.delta_disks,
                disks - i64::from(superblock.delta_disks)
            ),
        );
    }
    if superblock.features.contains(Features::NEW_OFFSET) {
        line(
            "New Offset",
            format!(
                "{} sectors",
                superblock
                    .data_offset_sectors
                    .wrapping_add_signed(superblock.new_offset_sectors.into())
            ),
        );
    }
    if let Some(area) = superblock.ppl_area() {
        line(
            "PPL",
            format!(
                "{} sectors at offset {} sectors from superblock",
                area.size_sectors, area.offset_sectors
            ),
        );
    } else if superblock.features.contains(Features::BITMAP) {
        line(
            "Internal Bitmap",
            format!("{} sectors from superblock", superblock.bitmap_offset_sectors),
        );
    }
    if superblock.bad_block_size_sectors > 0 {
        let entries = superblock.bad_block_size_sectors * 64;
        let present = if superblock.features.contains(Features::BAD_BLOCKS) {
            " - bad blocks present."
        } else {
            ""
        };
        line(
            "Bad Block Log",
            format!(
                "{entries} entries available at offset {} sectors{present}",
                superblock.bad_block_offset_sectors
            ),
        );
    }
    let flags: Vec<&str> =
        [(Superblock::WRITE_MOSTLY, "write-mostly"), (Superblock::FAIL_FAST, "failfast")]
            .into_iter()
            .filter_map(|(bit, name)| (superblock.device_flags & bit != 0).then_some(name))
            .collect();
    if !flags.is_empty() {
        line("Flags", flags.join(" "));
    }
    lines
}

/// `A` for each place that has its member, `.` for each that has none.
fn array_state(superblock: &Superblock) -> String {
    let has_member = |role: u32| {
        superblock
            .roles
            .iter()
            .any(|found| u32::from(found.raw()) == role && matches!(found, Role::Active(_)))
    };
    (0..superblock.raid_disks).map(|role| if has_member(role) { 'A' } else { '.' }).collect()
}

/// As `date` prints it, in UTC.
pub(crate) fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86400, seconds % 86400);
    // Years from March on, in eras of 400, so that the leap day is a year's last.
    let era_day = (days + 719_468) % 146_097;
    let era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    let month_index = (5 * year_day + 2) / 153;
    let day = year_day - (153 * month_index + 2) / 5 + 1;
    let month = (month_index + 2) % 12;
    let year = (days + 719_468) / 146_097 * 400 + era_year + u64::from(month < 2);
    let month =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
            [month as usize];
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
    format!(
        "{weekday} {month} {day:>2} {:02}:{:02}:{:02} {year}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[test]
fn dates_are_those_of_the_calendar() {
    assert_eq!(date(0), "Thu Jan  1 00:00:00 1970");
    assert_eq!(date(951_782_400), "Tue Feb 29 00:00:00 2000");
    assert_eq!(date(1_735_689_599), "Tue Dec 31 23:59:59 2024");
}

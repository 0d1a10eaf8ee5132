//! What is done for the redundancy of an array that runs, and what came of it, as plain data and as
//! text.

use array::sync::{ListedRanges, Progress, SyncAction};
use block::size_text;
use serde::{Deserialize, Serialize};
use words::{Message, Text, statement};

use crate::catalogue::{self, say};

/// Kinds of work, and what people call them.
const KINDS: [(&str, Message); 5] = [
    ("rebuild", catalogue::KIND_REBUILD),
    ("replace", catalogue::KIND_REPLACE),
    ("resync", catalogue::KIND_RESYNC),
    ("check", catalogue::KIND_CHECK),
    ("repair", catalogue::KIND_REPAIR),
];
/// Places that a sentence names; there may be more.
const NAMED_PLACES: usize = 3;

/// Work under way, or ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkStatus {
    /// `rebuild`, `replace`, `resync`, `check` or `repair`.
    pub kind: String,
    /// The member that it is for.
    pub member: Option<usize>,
    /// How much is done, in bytes.
    pub done_bytes: u64,
    /// All of it.
    pub total_bytes: u64,
    /// Of late.
    pub bytes_per_second: u64,
    /// What the rest takes at this rate.
    pub remaining_seconds: Option<u64>,
    /// Sectors of 512 bytes that did not agree.
    pub differing_sectors: u64,
    /// Members that are known to be wrong, by what the others hold; a repair has mended them.
    #[serde(default)]
    pub wrong: Vec<WrongMember>,
    /// Where nothing tells which member is wrong, in bytes.
    #[serde(default)]
    pub undecided_bytes: u64,
    /// The first ranges of that: of each member's data, at RAID 10 of the array's.
    #[serde(default)]
    pub undecided: Vec<ByteRange>,
    /// What of it a repair made agree, though nothing tells which member was wrong.
    #[serde(default)]
    pub made_to_agree_bytes: u64,
    /// Bytes that could not be made up for.
    pub lost_bytes: u64,
    /// It has been told to wait.
    pub is_paused: bool,
    /// When it has ended, in seconds since 1970; none while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_unix_seconds: Option<u64>,
}

/// A member that does not hold what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongMember {
    /// Its slot.
    pub member: usize,
    /// How much of it is wrong.
    pub bytes: u64,
    /// Where on its device: the first ranges.
    pub ranges: Vec<ByteRange>,
}

/// A run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// Where it begins.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
}

fn listed(ranges: &ListedRanges) -> Vec<ByteRange> {
    let range = |range: std::ops::Range<u64>| ByteRange {
        offset_bytes: range.start,
        length_bytes: range.end - range.start,
    };
    ranges.first().iter().map(range).collect()
}

impl From<&Progress> for WorkStatus {
    fn from(progress: &Progress) -> WorkStatus {
        let (kind, member) = match progress.action {
            SyncAction::Rebuild { member } => ("rebuild", Some(member)),
            SyncAction::Replace { member } => ("replace", Some(member)),
            SyncAction::Resync => ("resync", None),
            SyncAction::Check(_) => ("check", None),
            SyncAction::Repair(_) => ("repair", None),
        };
        let findings = &progress.findings;
        let wrong = findings.wrong.iter().map(|(&member, ranges)| WrongMember {
            member,
            bytes: ranges.bytes(),
            ranges: listed(ranges),
        });
        WorkStatus {
            kind: kind.to_owned(),
            member,
            done_bytes: progress.done_bytes,
            total_bytes: progress.total_bytes,
            bytes_per_second: progress.bytes_per_second,
            remaining_seconds: progress.remaining.map(|time| time.as_secs()),
            differing_sectors: findings.differing_sectors,
            wrong: wrong.collect(),
            undecided_bytes: findings.undecided.bytes(),
            undecided: listed(&findings.undecided),
            made_to_agree_bytes: findings.made_to_agree_bytes,
            lost_bytes: progress.lost.bytes(),
            is_paused: progress.paused,
            ended_unix_seconds: None,
        }
    }
}

impl WorkStatus {
    /// What it is called, for people.
    #[must_use]
    pub fn kind_text(&self) -> Text {
        let known = KINDS.iter().find(|(kind, _)| *kind == self.kind);
        known.map_or_else(|| Text::from(&self.kind), |(_, message)| (*message).into())
    }

    /// The same, in the language of what is being made.
    #[must_use]
    pub fn kind_name(&self) -> String {
        self.kind_text().to_string()
    }

    /// How far it is, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let percent = 100.0 * self.done_bytes as f64 / self.total_bytes.max(1) as f64;
        let percent = format!("{percent:.1}");
        let mut text = match self.member {
            Some(member) => say!(MEMBER_DONE, member = member, percent = percent),
            None => say!(PERCENT_DONE, percent = percent),
        };
        if self.is_paused {
            text += &say!(WORK_PAUSED);
        } else {
            text += &say!(WORK_PACE, rate = self.bytes_per_second / 1_000_000);
            if let Some(seconds) = self.remaining_seconds {
                let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
                let time = format!("{hours}:{minutes:02}:{:02}", seconds % 60);
                text += &say!(WORK_LEFT, time = time);
            }
        }
        for found in self.found() {
            text += ", ";
            text += &found.to_string();
        }
        text
    }

    /// What came of it, for people.
    #[must_use]
    pub fn ended_text(&self) -> String {
        let mut parts = vec![statement!(catalogue::SIZE_DONE, size = size_text(self.done_bytes))];
        if self.differing_sectors == 0 {
            parts.push(statement!(catalogue::FOUND_DIFFERING, count = 0_u64));
        }
        parts.extend(self.found());
        Text::joined(parts, ", ").to_string()
    }

    /// What it has found so far, for people, in parts of a sentence.
    #[must_use]
    pub fn found(&self) -> Vec<Text> {
        let mut parts = Vec::new();
        if self.differing_sectors > 0 {
            let count = self.differing_sectors;
            parts.push(statement!(catalogue::FOUND_DIFFERING, count = count));
        }
        let said = match self.kind == "repair" {
            true => catalogue::MEMBER_MENDED,
            false => catalogue::MEMBER_WRONG,
        };
        for WrongMember { member, bytes, ranges } in &self.wrong {
            parts.push(statement!(said, member = *member, places = places(ranges, *bytes)));
        }
        if self.undecided_bytes > 0 {
            let places = places(&self.undecided, self.undecided_bytes);
            let what = match (self.kind.as_str(), self.made_to_agree_bytes) {
                ("repair", 0) => catalogue::AND_LEFT_AS_IT_IS.into(),
                ("repair", _) => catalogue::AND_MADE_TO_AGREE.into(),
                _ => Text::default(),
            };
            let said = catalogue::NOBODY_KNOWS_WHO;
            parts.push(statement!(said, places = places, what = what));
        }
        if self.lost_bytes > 0 {
            parts.push(statement!(catalogue::BYTES_NOT_RESTORED, count = self.lost_bytes));
        }
        parts
    }
}

/// The first few ranges, and how much there is in all where that is more.
fn places(ranges: &[ByteRange], bytes: u64) -> Text {
    let place = |range: &ByteRange| {
        format!("{} ({})", size_text(range.offset_bytes), size_text(range.length_bytes))
    };
    let named = &ranges[..ranges.len().min(NAMED_PLACES)];
    let text = Text::joined(named.iter().map(place), ", ");
    match named.iter().map(|range| range.length_bytes).sum::<u64>() < bytes {
        true => text.and(statement!(catalogue::MORE_PLACES, size = size_text(bytes))),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_wrong_and_where_is_said() {
        let range = |offset_bytes, length_bytes| ByteRange { offset_bytes, length_bytes };
        let check = WorkStatus {
            kind: "check".to_owned(),
            done_bytes: 64 << 20,
            total_bytes: 64 << 20,
            differing_sectors: 10,
            wrong: vec![WrongMember {
                member: 2,
                bytes: 9 * 512,
                ranges: vec![range(1 << 20, 4096), range(3 << 20, 512)],
            }],
            undecided_bytes: 512,
            undecided: vec![range(1536, 512)],
            ..WorkStatus::default()
        };
        assert_eq!(
            check.ended_text(),
            "64MiB done, 10 sectors did not agree, member 2 is wrong at 1MiB (4KiB), 3MiB (512), \
             nothing tells which member is wrong at 1536 (512)"
        );
        let repair = WorkStatus { kind: "repair".to_owned(), ..check.clone() };
        assert_eq!(
            repair.found()[1..].iter().map(Text::to_string).collect::<Vec<_>>(),
            [
                "member 2 was mended at 1MiB (4KiB), 3MiB (512)",
                "nothing tells which member is wrong at 1536 (512) and it was left as it is"
            ]
        );
        let many = WorkStatus {
            wrong: vec![WrongMember {
                member: 0,
                bytes: 1 << 20,
                ranges: (0..9).map(|at| range(at << 20, 512)).collect(),
            }],
            ..check
        };
        assert_eq!(
            many.found()[1].to_string(),
            "member 0 is wrong at 0 (512), 1MiB (512), 2MiB (512) and more places (1MiB in all)"
        );
        let sound = WorkStatus { kind: "check".to_owned(), ..WorkStatus::default() };
        assert_eq!(sound.ended_text(), "0 done, 0 sectors did not agree");
    }
}

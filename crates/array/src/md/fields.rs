//! The values that a superblock's fields have, in either version: where it lies, what the array is
//! and what a member is for.

use std::fmt;

use words::{Message, Text, statement};

use crate::catalogue;

/// Below this a member has no room for a superblock, in sectors.
pub(super) const MIN_MEMBER_SECTORS: u64 = 24;

/// Where on the member the superblock lies: the minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// In the last 64 KiB that begin at a multiple of 64 KiB, in a format of its own. It is read
    /// only.
    V0_90,
    /// Between 8 and 12 KiB before the end.
    V1_0,
    /// At the start.
    V1_1,
    /// 4 KiB from the start: mdadm's default, and what raidloom writes.
    V1_2,
}

impl Version {
    /// Every version, in the order in which they are looked for.
    pub const ALL: [Version; 4] = [Version::V1_2, Version::V1_1, Version::V1_0, Version::V0_90];
    /// The same in words, for messages when none was found.
    pub const ALL_TEXT: Message = catalogue::VERSIONS_KNOWN;

    /// Where the superblock of a member of this size lies, in sectors of 512 bytes; `None` when the
    /// member is too small for one.
    #[must_use]
    pub fn offset_sectors(self, member_sectors: u64) -> Option<u64> {
        match self {
            Version::V0_90 => (member_sectors & !127).checked_sub(128),
            _ if member_sectors < MIN_MEMBER_SECTORS => None,
            Version::V1_0 => Some((member_sectors - 16) & !7),
            Version::V1_1 => Some(0),
            Version::V1_2 => Some(8),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::V0_90 => "0.90",
            Version::V1_0 => "1.0",
            Version::V1_1 => "1.1",
            Version::V1_2 => "1.2",
        })
    }
}

/// A set of feature bits. Bits without a name here are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(pub u32);

impl Features {
    /// There is a write-intent bitmap at `bitmap_offset_sectors`.
    pub const BITMAP: Features = Features(1);
    /// `recovery_offset` counts: the member holds data up to there only.
    pub const RECOVERY_OFFSET: Features = Features(2);
    /// The array is changing its shape; the `new_*` fields count.
    pub const RESHAPE_ACTIVE: Features = Features(4);
    /// The bad-block log has entries.
    pub const BAD_BLOCKS: Features = Features(8);
    /// The member is to take over another member's role.
    pub const REPLACEMENT: Features = Features(0x10);
    /// The reshape goes from the end to the start.
    pub const RESHAPE_BACKWARDS: Features = Features(0x20);
    /// The reshape moves the data; `new_offset` counts.
    pub const NEW_OFFSET: Features = Features(0x40);
    /// The recovery goes by the bitmap.
    pub const RECOVERY_BITMAP: Features = Features(0x80);
    /// Several hosts share the array.
    pub const CLUSTERED: Features = Features(0x100);
    /// A member holds a journal of writes.
    pub const JOURNAL: Features = Features(0x200);
    /// Each member has a partial parity log.
    pub const PPL: Features = Features(0x400);
    /// The same, and the area is used in turn for several logs.
    pub const MULTIPLE_PPLS: Features = Features(0x800);
    /// The layout of a level 0 array counts.
    pub const RAID0_LAYOUT: Features = Features(0x1000);

    const KNOWN: u32 = 0x1fff;

    /// Whether any bit of `other` is set.
    #[must_use]
    pub fn contains(self, other: Features) -> bool {
        self.0 & other.0 != 0
    }

    /// These and the bits of `other`.
    #[must_use]
    pub fn with(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// These as far as they are among the bits of `other`.
    #[must_use]
    pub fn only(self, other: Features) -> Features {
        Features(self.0 & other.0)
    }

    /// These but for the bits of `other`.
    #[must_use]
    pub fn without(self, other: Features) -> Features {
        Features(self.0 & !other.0)
    }

    /// The bits that md 6.1 has no meaning for.
    #[must_use]
    pub fn unknown(self) -> Features {
        Features(self.0 & !Features::KNOWN)
    }

    /// Whether no bit is set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether there is a partial parity log, of one kind or the other.
    #[must_use]
    pub fn has_ppl(self) -> bool {
        self.contains(Features::PPL.with(Features::MULTIPLE_PPLS))
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The kind of array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// One member after the other.
    Linear,
    /// Stripes without redundancy.
    Raid0,
    /// Mirrors.
    Raid1,
    /// Stripes with parity on the last member.
    Raid4,
    /// Stripes with parity in turn.
    Raid5,
    /// Stripes with two parities in turn.
    Raid6,
    /// Stripes of mirrors.
    Raid10,
    /// Several ways to one device.
    Multipath,
    /// A device that fails on purpose.
    Faulty,
    /// A number that md has no level for.
    Unknown(i32),
}

impl Level {
    /// The level with md's number `raw`.
    #[must_use]
    pub fn from_raw(raw: i32) -> Level {
        match raw {
            -1 => Level::Linear,
            0 => Level::Raid0,
            1 => Level::Raid1,
            4 => Level::Raid4,
            5 => Level::Raid5,
            6 => Level::Raid6,
            10 => Level::Raid10,
            -4 => Level::Multipath,
            -5 => Level::Faulty,
            _ => Level::Unknown(raw),
        }
    }

    /// md's number.
    #[must_use]
    pub fn raw(self) -> i32 {
        match self {
            Level::Linear => -1,
            Level::Raid0 => 0,
            Level::Raid1 => 1,
            Level::Raid4 => 4,
            Level::Raid5 => 5,
            Level::Raid6 => 6,
            Level::Raid10 => 10,
            Level::Multipath => -4,
            Level::Faulty => -5,
            Level::Unknown(raw) => raw,
        }
    }

    /// Whether a member may be missing.
    #[must_use]
    pub fn is_redundant(self) -> bool {
        matches!(self, Level::Raid1 | Level::Raid4 | Level::Raid5 | Level::Raid6 | Level::Raid10)
    }

    /// How many members of each stripe hold parity: 0, 1 or 2.
    #[must_use]
    pub fn parity_count(self) -> u32 {
        match self {
            Level::Raid4 | Level::Raid5 => 1,
            Level::Raid6 => 2,
            _ => 0,
        }
    }

    /// Whether data lie in chunks.
    #[must_use]
    pub fn has_chunks(self) -> bool {
        matches!(self, Level::Raid0 | Level::Raid4 | Level::Raid5 | Level::Raid6 | Level::Raid10)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Linear => f.write_str("linear"),
            Level::Multipath => f.write_str("multipath"),
            Level::Faulty => f.write_str("faulty"),
            Level::Unknown(raw) => write!(f, "unknown level {raw}"),
            known => write!(f, "raid{}", known.raw()),
        }
    }
}

impl From<Level> for Text {
    fn from(level: Level) -> Text {
        match level {
            Level::Unknown(raw) => statement!(catalogue::LEVEL_UNKNOWN, raw = raw),
            known => known.to_string().into(),
        }
    }
}

/// What a member is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It holds data, in this slot of the layout.
    Active(u16),
    /// It holds the journal.
    Journal,
    /// It failed.
    Faulty,
    /// It waits, or there is no such member.
    Spare,
    /// A number that md has no role for.
    Unknown(u16),
}

impl Role {
    const LAST_ACTIVE: u16 = 0xff00;

    /// The role with md's number `raw`.
    #[must_use]
    pub fn from_raw(raw: u16) -> Role {
        match raw {
            0..=Role::LAST_ACTIVE => Role::Active(raw),
            0xfffd => Role::Journal,
            0xfffe => Role::Faulty,
            0xffff => Role::Spare,
            _ => Role::Unknown(raw),
        }
    }

    /// md's number.
    #[must_use]
    pub fn raw(self) -> u16 {
        match self {
            Role::Active(raw) | Role::Unknown(raw) => raw,
            Role::Journal => 0xfffd,
            Role::Faulty => 0xfffe,
            Role::Spare => 0xffff,
        }
    }
}

impl From<Role> for Text {
    fn from(role: Role) -> Text {
        match role {
            Role::Active(number) => statement!(catalogue::MEMBER_IS, number = number),
            Role::Journal => catalogue::IS_JOURNAL.into(),
            Role::Faulty => catalogue::IS_FAULTY.into(),
            Role::Spare => catalogue::IS_SPARE.into(),
            Role::Unknown(raw) => statement!(catalogue::IS_UNKNOWN, raw = format!("{raw:#x}")),
        }
    }
}

impl fmt::Display for Role {
    /// In English, as programs read it; people read its [`Text`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Text::from(*self).english())
    }
}

/// A time as md writes it: 40 bits of seconds since 1970, 24 bits of microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeStamp {
    /// Seconds since 1970, below 2^40.
    pub seconds: u64,
    /// Microseconds, below 2^24; mdadm writes 0.
    pub microseconds: u32,
}

impl TimeStamp {
    /// The time of md's number `raw`.
    pub(super) fn from_raw(raw: u64) -> TimeStamp {
        TimeStamp { seconds: raw & ((1 << 40) - 1), microseconds: (raw >> 40) as u32 }
    }

    /// md's number.
    pub(super) fn raw(self) -> u64 {
        self.seconds & ((1 << 40) - 1) | u64::from(self.microseconds) << 40
    }
}

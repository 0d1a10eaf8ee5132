//! What the layout number in a superblock means: each level has its own code.

use std::fmt;

use super::fields::{Features, Level};
use crate::geometry::{ParityLayout, Raid0Layout, Raid10Layout};

/// A level's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The level has only one.
    Plain,
    /// Level 0: which member a later zone starts with; `None` where the superblock does not say.
    Raid0(Option<Raid0Layout>),
    /// Levels 5 and 6.
    Parity(ParityLayout),
    /// Level 10.
    Raid10(Raid10Layout),
    /// A number that the level has no layout for.
    Unknown(u32),
}

impl Layout {
    /// What `code` means for `level`. Level 0 says it only with [`Features::RAID0_LAYOUT`]: arrays
    /// without that bit carry numbers that nothing obeyed.
    #[must_use]
    pub fn of(level: Level, code: u32, features: Features) -> Layout {
        match level {
            Level::Raid0 if !features.contains(Features::RAID0_LAYOUT) => Layout::Raid0(None),
            Level::Raid0 => match code {
                0 => Layout::Raid0(None),
                1 => Layout::Raid0(Some(Raid0Layout::Original)),
                2 => Layout::Raid0(Some(Raid0Layout::Alternate)),
                _ => Layout::Unknown(code),
            },
            Level::Raid5 | Level::Raid6 => match ParityLayout::from_code(code) {
                Some(layout) if level == Level::Raid6 || ParityLayout::RAID5.contains(&layout) => {
                    Layout::Parity(layout)
                }
                _ => Layout::Unknown(code),
            },
            Level::Raid10 => {
                Raid10Layout::from_code(code).map_or(Layout::Unknown(code), Layout::Raid10)
            }
            _ => Layout::Plain,
        }
    }

    /// The number that a superblock carries.
    #[must_use]
    pub fn code(self) -> u32 {
        match self {
            Layout::Plain | Layout::Raid0(None) => 0,
            Layout::Raid0(Some(Raid0Layout::Original)) => 1,
            Layout::Raid0(Some(Raid0Layout::Alternate)) => 2,
            Layout::Parity(layout) => layout.code(),
            Layout::Raid10(layout) => layout.code(),
            Layout::Unknown(code) => code,
        }
    }

    /// Whether a layout of this kind belongs to `level`.
    #[must_use]
    pub fn fits(self, level: Level) -> bool {
        let features = if matches!(self, Layout::Raid0(Some(_))) {
            Features::RAID0_LAYOUT
        } else {
            Features::default()
        };
        Layout::of(level, self.code(), features) == self && !matches!(self, Layout::Unknown(_))
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Layout::Plain => f.write_str("-"),
            Layout::Raid0(None) => f.write_str("unknown"),
            Layout::Raid0(Some(layout)) => f.write_str(layout.name()),
            Layout::Parity(layout) => f.write_str(layout.name()),
            Layout::Raid10(layout) => layout.fmt(f),
            Layout::Unknown(code) => write!(f, "unknown ({code:#x})"),
        }
    }
}

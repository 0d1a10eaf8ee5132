//! An array that is changing its shape: where it has the old one and where the new one.
//!
//! ```text
//!   forwards    0 ────── new shape ──────> position ────── old shape ────── end
//!   backwards   0 ────── old shape ─────── position <───── new shape ────── end
//! ```
//!
//! md's driver writes the position down before it writes over anything that stands beyond it in the
//! old shape. So what a superblock says is true, whatever happened after it was written.

use words::{Text, statement};

use super::fields::{Features, Level};
use super::layout::Layout;
use super::superblock::Superblock;
use crate::catalogue;

/// How data lie on members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many members it has.
    pub disks: usize,
    /// Its layout.
    pub layout: Layout,
    /// Chunk in sectors.
    pub chunk_sectors: u32,
}

impl Shape {
    /// What of it no array can have.
    fn problem(&self) -> Option<Text> {
        if !self.chunk_sectors.is_power_of_two() || self.chunk_sectors < 8 {
            let sectors = self.chunk_sectors;
            return Some(statement!(catalogue::RESHAPE_CHUNK, sectors = sectors));
        }
        match self.layout {
            Layout::Unknown(code) => {
                Some(statement!(catalogue::RESHAPE_LAYOUT, code = format!("{code:#x}")))
            }
            Layout::Raid10(layout) => {
                let problem = layout.problem(self.disks)?;
                let layout = layout.to_string();
                let message = catalogue::RESHAPE_LAYOUT_EXPECTED;
                Some(statement!(message, layout = layout, expected = problem))
            }
            _ => None,
        }
    }

    /// The size of an array of this shape, in sectors, that uses so many of each member; `None`
    /// where there is no such number.
    fn array_sectors(&self, used: u64, level: Level) -> Option<u64> {
        match self.layout {
            Layout::Raid10(layout) => {
                let chunk = u64::from(self.chunk_sectors);
                let chunks = (used / chunk / u64::from(layout.far))
                    .checked_mul(self.disks as u64)?
                    / u64::from(layout.near);
                chunks.checked_mul(chunk)
            }
            _ => used.checked_mul(self.disks as u64 - u64::from(level.parity_count())),
        }
    }
}

/// A reshape that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reshape {
    /// How far it has got, in sectors of the array.
    pub position_sectors: u64,
    /// It goes from the end to the start.
    pub is_backwards: bool,
    /// What was.
    pub old: Shape,
    /// What is to be.
    pub new: Shape,
    /// How many sectors of the array there are in both.
    pub array_sectors: u64,
}

impl Reshape {
    /// How many members there are, those that come and those that go included.
    #[must_use]
    pub fn disks(&self) -> usize {
        self.old.disks.max(self.new.disks)
    }

    /// Whether data are moved within the places that they have: then what lies next to the position
    /// may be half moved, and only a backup that mdadm made has it whole.
    #[must_use]
    pub fn is_in_place(&self, superblock: &Superblock) -> bool {
        self.old.disks == self.new.disks && !superblock.features.contains(Features::NEW_OFFSET)
    }
}

impl Superblock {
    /// The reshape that is under way; `None` when there is none.
    ///
    /// # Errors
    /// One line: which field says what no array can be opened in the middle of.
    pub fn reshape(&self) -> Option<Result<Reshape, Text>> {
        self.features.contains(Features::RESHAPE_ACTIVE).then(|| self.reshape_under_way())
    }

    fn reshape_under_way(&self) -> Result<Reshape, Text> {
        let level = self.level;
        if self.new_level != level {
            let (new, level) = (self.new_level.to_string(), level.to_string());
            return Err(statement!(catalogue::RESHAPE_OF_LEVEL, new = new, level = level));
        }
        let least: i64 = match level {
            Level::Raid4 | Level::Raid5 => 2,
            Level::Raid6 => 4,
            Level::Raid10 => 1,
            _ => return Err(statement!(catalogue::NO_RESHAPE_OF_LEVEL, level = level.to_string())),
        };
        let shape = |disks: i64, layout_code: u32, chunk_sectors: u32| {
            let layout = Layout::of(level, layout_code, self.features);
            let shape = Shape { disks: usize::try_from(disks).unwrap_or(0), layout, chunk_sectors };
            if disks < least {
                let (message, delta) = (catalogue::RESHAPE_MEMBERS, self.delta_disks);
                return Err(statement!(message, members = disks, delta = delta));
            }
            shape.problem().map_or(Ok(shape), |problem| {
                Err(statement!(catalogue::RESHAPE_HAS, what = problem))
            })
        };
        let new_disks = i64::from(self.raid_disks);
        let old =
            shape(new_disks - i64::from(self.delta_disks), self.layout_code, self.chunk_sectors)?;
        let new = shape(new_disks, self.new_layout_code, self.new_chunk_sectors)?;
        if level == Level::Raid10
            && (old.layout, old.chunk_sectors) != (new.layout, new.chunk_sectors)
        {
            let level = level.to_string();
            return Err(statement!(catalogue::RESHAPE_NOT_FOLLOWED, level = level));
        }
        let largest = u64::from(old.chunk_sectors.max(new.chunk_sectors));
        let used = self.size_sectors / largest * largest;
        let sectors = |shape: &Shape| shape.array_sectors(used, level);
        let sizes = sectors(&old).zip(sectors(&new));
        let array_sectors = sizes.map(|(old, new)| old.min(new)).filter(|&sectors| sectors > 0);
        Ok(Reshape {
            position_sectors: self.reshape_position_sectors,
            // The feature is for those that keep their number of members; fewer always go
            // backwards, more never do.
            is_backwards: self.delta_disks < 0
                || self.delta_disks == 0 && self.features.contains(Features::RESHAPE_BACKWARDS),
            old,
            new,
            array_sectors: array_sectors
                .ok_or_else(|| statement!(catalogue::SIZE_IS, sectors = self.size_sectors))?,
        })
    }

    /// Where data of the new shape start on this member, in sectors; `None` before its start.
    #[must_use]
    pub fn new_data_offset_sectors(&self) -> Option<u64> {
        let moved =
            if self.features.contains(Features::NEW_OFFSET) { self.new_offset_sectors } else { 0 };
        self.data_offset_sectors.checked_add_signed(moved.into())
    }
}

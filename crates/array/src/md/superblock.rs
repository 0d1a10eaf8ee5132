//! The superblock, version 1: which member it is and how its array is laid out.
//!
//! ```text
//!   byte 0      64             128            192           256
//!   +-----------+--------------+--------------+-------------+------------------------+
//!   | magic,    | the array:   | this member: | what        | roles: one u16 for     |
//!   | uuid,name | level, sizes | place, uuid  | changes     | each member number     |
//!   +-----------+--------------+--------------+-------------+------------------------+
//! ```
//!
//! Decoding keeps every byte that the checksum covers, so encoding gives back what was read. A
//! wrong checksum does not hinder decoding: [`Superblock::checksum_verdict`] tells, and the fields
//! of a damaged member can still be shown.

use words::{Text, statement};

use super::fields::{Features, Level, MIN_MEMBER_SECTORS, Role, TimeStamp, Version};
use super::layout::Layout;
use super::{Complaint, Problem, bytes_at, i32_at, put, u16_at, u32_at, u64_at};
use crate::catalogue;
use crate::geometry::Raid0;

const COMPLAINT: Complaint = Complaint(catalogue::OF_SUPERBLOCK);
const MAGIC: u32 = 0xa92b_4efc;
const HEADER_BYTES: usize = 256;
/// What a superblock may take up, header and roles.
const MAX_BYTES: usize = 4096;
/// How many roles fit.
const MAX_ROLES: usize = (MAX_BYTES - HEADER_BYTES) / 2;
/// No array changes its state so often. What says so is damaged, and would soon count past the last
/// number.
const EVENTS_MAX: u64 = 1 << 62;

/// Where a member's partial parity log lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PplArea {
    /// Sectors from the superblock; may be negative.
    pub offset_sectors: i16,
    /// How many sectors.
    pub size_sectors: u16,
}

/// What comes of comparing the stored checksum with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumVerdict {
    /// They agree.
    Correct,
    /// They do not: something changed since it was written.
    Wrong {
        /// What the superblock says.
        found: u32,
        /// What its bytes give.
        expected: u32,
    },
}

/// A version 1 superblock, every field. Sectors have 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Feature bits.
    pub features: Features,
    /// The array; the same on all members.
    pub set_uuid: [u8; 16],
    /// The array's name, mostly `host:name`, padded with zeroes. See [`Superblock::name`].
    pub set_name: [u8; 32],
    /// When the array was made.
    pub created: TimeStamp,
    /// The kind of array.
    pub level: Level,
    /// The layout's number. See [`Superblock::layout`].
    pub layout_code: u32,
    /// What the array uses of each member, in sectors; 0 for linear and level 0.
    pub size_sectors: u64,
    /// Chunk in sectors; 0 where the level has none.
    pub chunk_sectors: u32,
    /// How many members the layout has.
    pub raid_disks: u32,
    /// Where the bitmap lies, in sectors from the superblock; with a PPL the same bytes are a
    /// [`PplArea`].
    pub bitmap_offset_sectors: i32,
    /// The level after the reshape.
    pub new_level: Level,
    /// How far the reshape got, in sectors of the array.
    pub reshape_position_sectors: u64,
    /// How many members the reshape adds.
    pub delta_disks: i32,
    /// The layout's number after the reshape.
    pub new_layout_code: u32,
    /// The chunk after the reshape, in sectors.
    pub new_chunk_sectors: u32,
    /// How far the reshape moves the data, in sectors.
    pub new_offset_sectors: i32,
    /// Where data start on this member, in sectors.
    pub data_offset_sectors: u64,
    /// How many sectors of this member may hold data.
    pub data_size_sectors: u64,
    /// Where this superblock was written, in sectors from the member's start.
    pub super_offset_sectors: u64,
    /// With [`Features::RECOVERY_OFFSET`] how far the member holds data, in sectors; on a journal
    /// where its tail is.
    pub recovery_offset_sectors: u64,
    /// This member's number: the index of its role in `roles`, which is not the role.
    pub member_number: u32,
    /// How many read errors were repaired.
    pub corrected_reads: u32,
    /// This member.
    pub device_uuid: [u8; 16],
    /// Bit 0: read from it only when nothing else is left; bit 1: fail it at the first error.
    pub device_flags: u8,
    /// One unit of the bad-block log is `512 << this` bytes.
    pub bad_block_shift: u8,
    /// Size of the bad-block log in sectors; 0: there is none.
    pub bad_block_size_sectors: u16,
    /// Where the bad-block log lies, in sectors from the superblock.
    pub bad_block_offset_sectors: i32,
    /// When the superblock was written.
    pub updated: TimeStamp,
    /// How often the array's state changed; the member with the highest knows best.
    pub events: u64,
    /// From which sector on the members may differ; all ones: they do not.
    pub resync_offset_sectors: u64,
    /// The checksum as it was read. Encoding computes a fresh one.
    pub checksum: u32,
    /// The array's logical block in bytes (Linux 6.19 and later); 0 before.
    pub logical_block_bytes: u32,
    /// The role of each member by its number; its length is the superblock's `max_dev`.
    pub roles: Vec<Role>,
    /// Of version 0.90, what its own bytes give as the checksum: they are not kept. `None` for
    /// version 1.
    pub old_checksum: Option<u32>,
}

/// Takes a problem: the field, where it stands in bytes, what was found and what was expected.
type Complain<'a> = &'a mut dyn FnMut(&'static str, usize, Text, Text);

/// What stands first in every superblock of version 1.
fn check_head(bytes: &[u8]) -> Result<(), Problem> {
    COMPLAINT.needs_magic(u32_at(bytes, 0), MAGIC)?;
    let major = u32_at(bytes, 4);
    if major != 1 {
        return Err(COMPLAINT.about("major_version", 4, major, 1));
    }
    if u32_at(bytes, 12) != 0 {
        return Err(COMPLAINT.about("pad0", 12, format_args!("{:#x}", u32_at(bytes, 12)), 0));
    }
    if let Some(index) = bytes[228..HEADER_BYTES].iter().position(|&byte| byte != 0) {
        return Err(COMPLAINT.about(
            "pad3",
            228 + index,
            format_args!("{:#x}", bytes[228 + index]),
            0,
        ));
    }
    Ok(())
}

impl Superblock {
    /// All of `resync_offset_sectors` when the members agree.
    pub const IN_SYNC: u64 = u64::MAX;
    /// The bit of `device_flags` for a member that is read only when nothing else is left.
    pub const WRITE_MOSTLY: u8 = 1;
    /// The bit of `device_flags` for a member that fails at the first error.
    pub const FAIL_FAST: u8 = 2;

    /// What is wrong with a superblock of version 1 that is there and cannot be decoded; `None`
    /// where there is none.
    #[must_use]
    pub fn damage(bytes: &[u8]) -> Option<Problem> {
        let is_there = bytes.len() >= 8 && u32_at(bytes, 0) == MAGIC && u32_at(bytes, 4) == 1;
        Superblock::decode(bytes).err().filter(|_| is_there)
    }

    /// Reads a superblock of version 1. What follows it is ignored.
    ///
    /// # Errors
    /// The first field that no version 1 superblock can have. Not the checksum: see
    /// [`Superblock::checksum_verdict`].
    pub fn decode(bytes: &[u8]) -> Result<Superblock, Problem> {
        COMPLAINT.needs_length(bytes, HEADER_BYTES)?;
        check_head(bytes)?;
        let role_count = u32_at(bytes, 220);
        if role_count as usize > MAX_ROLES {
            return Err(COMPLAINT.about(
                "max_dev",
                220,
                role_count,
                statement!(catalogue::AT_MOST, most = MAX_ROLES),
            ));
        }
        COMPLAINT.needs_length(bytes, HEADER_BYTES + 2 * role_count as usize)?;
        let roles = bytes[HEADER_BYTES..]
            .chunks_exact(2)
            .take(role_count as usize)
            .map(|raw| Role::from_raw(u16_at(raw, 0)))
            .collect();
        Ok(Superblock {
            features: Features(u32_at(bytes, 8)),
            set_uuid: bytes_at(bytes, 16),
            set_name: bytes_at(bytes, 32),
            created: TimeStamp::from_raw(u64_at(bytes, 64)),
            level: Level::from_raw(i32_at(bytes, 72)),
            layout_code: u32_at(bytes, 76),
            size_sectors: u64_at(bytes, 80),
            chunk_sectors: u32_at(bytes, 88),
            raid_disks: u32_at(bytes, 92),
            bitmap_offset_sectors: i32_at(bytes, 96),
            new_level: Level::from_raw(i32_at(bytes, 100)),
            reshape_position_sectors: u64_at(bytes, 104),
            delta_disks: i32_at(bytes, 112),
            new_layout_code: u32_at(bytes, 116),
            new_chunk_sectors: u32_at(bytes, 120),
            new_offset_sectors: i32_at(bytes, 124),
            data_offset_sectors: u64_at(bytes, 128),
            data_size_sectors: u64_at(bytes, 136),
            super_offset_sectors: u64_at(bytes, 144),
            recovery_offset_sectors: u64_at(bytes, 152),
            member_number: u32_at(bytes, 160),
            corrected_reads: u32_at(bytes, 164),
            device_uuid: bytes_at(bytes, 168),
            device_flags: bytes[184],
            bad_block_shift: bytes[185],
            bad_block_size_sectors: u16_at(bytes, 186),
            bad_block_offset_sectors: i32_at(bytes, 188),
            updated: TimeStamp::from_raw(u64_at(bytes, 192)),
            events: u64_at(bytes, 200),
            resync_offset_sectors: u64_at(bytes, 208),
            checksum: u32_at(bytes, 216),
            logical_block_bytes: u32_at(bytes, 224),
            roles,
            old_checksum: None,
        })
    }

    /// The bytes to write, with a fresh checksum and filled up with zeroes to whole sectors.
    ///
    /// # Panics
    /// With more than 1920 roles, or for one of version 0.90, which must not be written over with
    /// this.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.old_checksum.is_none(), "superblocks of version 0.90 are read only");
        let mut bytes = self.encode_without_checksum();
        let checksum = checksum_of(&bytes);
        put(&mut bytes, 216, &checksum.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn encode_without_checksum(&self) -> Vec<u8> {
        assert!(
            self.roles.len() <= MAX_ROLES,
            "a superblock holds at most {MAX_ROLES} roles, not {}",
            self.roles.len()
        );
        let mut bytes = vec![0; HEADER_BYTES + 2 * self.roles.len()];
        let out = &mut bytes[..];
        put(out, 0, &MAGIC.to_le_bytes());
        put(out, 4, &1_u32.to_le_bytes());
        put(out, 8, &self.features.0.to_le_bytes());
        put(out, 16, &self.set_uuid);
        put(out, 32, &self.set_name);
        put(out, 64, &self.created.raw().to_le_bytes());
        put(out, 72, &self.level.raw().to_le_bytes());
        put(out, 76, &self.layout_code.to_le_bytes());
        put(out, 80, &self.size_sectors.to_le_bytes());
        put(out, 88, &self.chunk_sectors.to_le_bytes());
        put(out, 92, &self.raid_disks.to_le_bytes());
        put(out, 96, &self.bitmap_offset_sectors.to_le_bytes());
        put(out, 100, &self.new_level.raw().to_le_bytes());
        put(out, 104, &self.reshape_position_sectors.to_le_bytes());
        put(out, 112, &self.delta_disks.to_le_bytes());
        put(out, 116, &self.new_layout_code.to_le_bytes());
        put(out, 120, &self.new_chunk_sectors.to_le_bytes());
        put(out, 124, &self.new_offset_sectors.to_le_bytes());
        put(out, 128, &self.data_offset_sectors.to_le_bytes());
        put(out, 136, &self.data_size_sectors.to_le_bytes());
        put(out, 144, &self.super_offset_sectors.to_le_bytes());
        put(out, 152, &self.recovery_offset_sectors.to_le_bytes());
        put(out, 160, &self.member_number.to_le_bytes());
        put(out, 164, &self.corrected_reads.to_le_bytes());
        put(out, 168, &self.device_uuid);
        put(out, 184, &[self.device_flags, self.bad_block_shift]);
        put(out, 186, &self.bad_block_size_sectors.to_le_bytes());
        put(out, 188, &self.bad_block_offset_sectors.to_le_bytes());
        put(out, 192, &self.updated.raw().to_le_bytes());
        put(out, 200, &self.events.to_le_bytes());
        put(out, 208, &self.resync_offset_sectors.to_le_bytes());
        put(out, 220, &(self.roles.len() as u32).to_le_bytes());
        put(out, 224, &self.logical_block_bytes.to_le_bytes());
        for (index, role) in self.roles.iter().enumerate() {
            put(out, HEADER_BYTES + 2 * index, &role.raw().to_le_bytes());
        }
        bytes
    }

    /// How many members the array has, those of both shapes where a reshape is under way.
    #[must_use]
    pub fn disks_most(&self) -> u64 {
        let new = i64::from(self.raid_disks);
        let old = if self.features.contains(Features::RESHAPE_ACTIVE) {
            new - i64::from(self.delta_disks)
        } else {
            new
        };
        new.max(old).unsigned_abs()
    }

    /// Whether the checksum that was read fits the fields.
    #[must_use]
    pub fn checksum_verdict(&self) -> ChecksumVerdict {
        let expected =
            self.old_checksum.unwrap_or_else(|| checksum_of(&self.encode_without_checksum()));
        if self.checksum == expected {
            ChecksumVerdict::Correct
        } else {
            ChecksumVerdict::Wrong { found: self.checksum, expected }
        }
    }

    /// Everything that keeps the superblock from being used on the member it was read from; empty
    /// when nothing does.
    ///
    /// `member_sectors` is the member's size, `version` where the superblock was found.
    #[must_use]
    pub fn problems(&self, version: Version, member_sectors: u64) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut complain = |field, offset, found: Text, expected: Text| {
            problems.push(COMPLAINT.about(field, offset, found, expected));
        };
        self.check_origin(version, member_sectors, &mut complain);
        self.check_members(&mut complain);
        self.check_shape(&mut complain);
        self.check_sizes(member_sectors, &mut complain);
        // At least the bitmap's own superblock.
        self.check_areas(member_sectors, 1, &mut complain);
        problems
    }

    /// Whether it is whole, and lies where it says.
    fn check_origin(&self, version: Version, member_sectors: u64, complain: Complain<'_>) {
        if let ChecksumVerdict::Wrong { found, expected } = self.checksum_verdict() {
            let [found, expected] = [found, expected].map(|sum| Text::from(format!("{sum:#010x}")));
            complain("sb_csum", 216, found, expected);
        }
        match version.offset_sectors(member_sectors) {
            None => complain(
                "length of the member",
                0,
                statement!(catalogue::SO_MANY_SECTORS, sectors = member_sectors),
                statement!(catalogue::AT_LEAST, least = MIN_MEMBER_SECTORS),
            ),
            // A superblock in another place than it says is a copy: of a partition's seen from the
            // whole disk, most often.
            Some(offset) if offset != self.super_offset_sectors => {
                complain(
                    "super_offset",
                    144,
                    self.super_offset_sectors.into(),
                    statement!(catalogue::WHERE_IT_WAS_READ, sector = offset),
                );
            }
            Some(_) => (),
        }
    }

    /// The numbers of members, of events and of roles.
    fn check_members(&self, complain: Complain<'_>) {
        let disks = self.raid_disks;
        if disks == 0 || disks as usize > MAX_ROLES {
            let expected = statement!(catalogue::FROM_TO, from = 1, to = MAX_ROLES);
            complain("raid_disks", 92, disks.into(), expected);
        }
        let fewest = match self.level {
            Level::Raid4 | Level::Raid5 | Level::Raid10 => 2,
            Level::Raid6 => 4,
            _ => 1,
        };
        if self.disks_most() > MAX_ROLES as u64 {
            complain(
                "delta_disks",
                112,
                self.delta_disks.into(),
                statement!(catalogue::AT_MOST_MEMBERS, most = MAX_ROLES),
            );
        }
        if disks < fewest && !self.features.contains(Features::RESHAPE_ACTIVE) {
            complain(
                "raid_disks",
                92,
                disks.into(),
                statement!(catalogue::AT_LEAST_FOR, least = fewest, level = self.level),
            );
        }
        if self.events > EVENTS_MAX {
            let expected = statement!(catalogue::AT_MOST, most = EVENTS_MAX);
            complain("events", 200, self.events.into(), expected);
        }
        if self.member_number as usize >= self.roles.len() {
            complain(
                "dev_number",
                160,
                self.member_number.into(),
                statement!(catalogue::BELOW_FIELD, field = "max_dev", end = self.roles.len()),
            );
        }
        match self.role() {
            Role::Active(number) if u64::from(number) >= self.disks_most() => {
                complain(
                    "dev_roles",
                    256,
                    statement!(catalogue::ROLE_NUMBER, number = number),
                    statement!(
                        catalogue::BELOW_FIELD,
                        field = "raid_disks",
                        end = self.disks_most()
                    ),
                );
            }
            Role::Unknown(raw) => {
                let found = statement!(catalogue::ROLE_NUMBER, number = format!("{raw:#x}"));
                complain("dev_roles", 256, found, catalogue::KNOWN_ROLE.into());
            }
            _ => (),
        }
    }

    /// Chunk and layout.
    fn check_shape(&self, complain: Complain<'_>) {
        if self.level.has_chunks() {
            let chunk = self.chunk_sectors;
            // Level 0 takes any whole number of pages, the others calculate with shifts.
            let fits = if self.level == Level::Raid0 {
                chunk.is_multiple_of(8)
            } else {
                chunk.is_power_of_two() && chunk >= 8
            };
            if chunk == 0 || !fits {
                let expected = if self.level == Level::Raid0 {
                    catalogue::MULTIPLE_OF_8
                } else {
                    catalogue::POWER_OF_8
                };
                complain("chunksize", 88, chunk.into(), expected.into());
            }
        }
        if let Layout::Unknown(raw) = self.layout() {
            let expected = statement!(catalogue::LAYOUT_OF, level = self.level);
            complain("layout", 76, format!("{raw:#x}").into(), expected);
        }
        if let Layout::Raid10(layout) = self.layout()
            && let Some(problem) = layout.problem(self.raid_disks as usize)
        {
            complain("layout", 76, layout.to_string().into(), problem);
        }
    }

    /// What it says of the member's data fits on the member.
    fn check_sizes(&self, member_sectors: u64, complain: Complain<'_>) {
        if self
            .data_offset_sectors
            .checked_add(self.data_size_sectors)
            .is_none_or(|end| end > member_sectors)
        {
            let found = statement!(
                catalogue::SECTORS_FROM,
                sectors = self.data_size_sectors,
                from = self.data_offset_sectors
            );
            complain(
                "data_size",
                136,
                found,
                statement!(catalogue::NO_MORE_THAN_MEMBER, sectors = member_sectors),
            );
        }
        if self.size_sectors > self.data_size_sectors && matches!(self.role(), Role::Active(_)) {
            complain(
                "size",
                80,
                self.size_sectors.into(),
                statement!(catalogue::AT_MOST_DATA_SIZE, most = self.data_size_sectors),
            );
        }
        // Linear and level 0 count what each member has instead.
        if !matches!(self.level, Level::Linear | Level::Raid0) {
            let parts =
                if let Layout::Raid10(layout) = self.layout() { u64::from(layout.far) } else { 1 };
            let least = if self.level.has_chunks() {
                parts * u64::from(self.chunk_sectors).max(1)
            } else {
                1
            };
            if self.size_sectors < least {
                let expected = statement!(catalogue::AT_LEAST, least = least);
                complain("size", 80, self.size_sectors.into(), expected);
            }
        }
    }

    /// What is wrong with the places of bad-block log, partial parity log and bitmap, if that takes
    /// so many sectors: they lie on data, on the superblock, or outside the member.
    pub(crate) fn area_problem(&self, member_sectors: u64, bitmap_sectors: u64) -> Option<Problem> {
        let mut problems = Vec::new();
        self.check_areas(member_sectors, bitmap_sectors, &mut |field, offset, found, expected| {
            problems.push(COMPLAINT.about(field, offset, found, expected));
        });
        problems.into_iter().next()
    }

    fn check_areas(&self, member_sectors: u64, bitmap_sectors: u64, complain: Complain<'_>) {
        // Where nothing can stand in for a bad block the log is never written to. So md has linear
        // grow by a member whose log lies in its data.
        let has_log = self.bad_block_size_sectors > 0
            && (self.level.is_redundant() || self.features.contains(Features::BAD_BLOCKS));
        if has_log {
            let length = u64::from(self.bad_block_size_sectors);
            self.check_area(
                member_sectors,
                "bblog_offset",
                188,
                self.bad_block_offset_sectors,
                length,
                complain,
            );
        }
        if let Some(area) = self.ppl_area() {
            let length = u64::from(area.size_sectors);
            self.check_area(
                member_sectors,
                "ppl.offset",
                96,
                i32::from(area.offset_sectors),
                length,
                complain,
            );
        } else if self.features.contains(Features::BITMAP) {
            self.check_area(
                member_sectors,
                "bitmap_offset",
                96,
                self.bitmap_offset_sectors,
                bitmap_sectors,
                complain,
            );
        }
    }

    /// Complains about an area beside the superblock that would lie outside the member, on the
    /// superblock, or on data.
    fn check_area(
        &self,
        member_sectors: u64,
        field: &'static str,
        at: usize,
        offset: i32,
        length: u64,
        complain: Complain<'_>,
    ) {
        let start = self.super_offset_sectors.checked_add_signed(i64::from(offset));
        let end =
            start.and_then(|start| start.checked_add(length)).filter(|&end| end <= member_sectors);
        let (Some(start), Some(end)) = (start, end) else {
            complain(
                field,
                at,
                statement!(catalogue::FROM_SUPERBLOCK, sectors = offset),
                catalogue::WITHIN_MEMBER.into(),
            );
            return;
        };
        let super_end =
            self.super_offset_sectors.saturating_add(self.roles.len().div_ceil(256) as u64 + 1);
        if start < super_end && self.super_offset_sectors < end {
            complain(
                field,
                at,
                statement!(catalogue::FROM_SUPERBLOCK, sectors = offset),
                catalogue::OUTSIDE_SUPERBLOCK.into(),
            );
        }
        // The array may use less than the member has to give, and version 1.0 keeps its areas in
        // what is left.
        let used = if self.size_sectors == 0 { self.data_size_sectors } else { self.size_sectors };
        if start < self.data_offset_sectors.saturating_add(used) && self.data_offset_sectors < end {
            complain(
                field,
                at,
                statement!(catalogue::FROM_SUPERBLOCK, sectors = offset),
                catalogue::OUTSIDE_DATA.into(),
            );
        }
    }

    /// The array's name as text, without padding.
    #[must_use]
    pub fn name(&self) -> String {
        let end = self.set_name.iter().position(|&byte| byte == 0).unwrap_or(self.set_name.len());
        String::from_utf8_lossy(&self.set_name[..end]).into_owned()
    }

    /// What the layout's number means.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout::of(self.level, self.layout_code, self.features)
    }

    /// This member's own role; a spare where the number is outside the table.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role_of(self.member_number)
    }

    /// The role of the member with this number, as this member knows it.
    #[must_use]
    pub fn role_of(&self, member_number: u32) -> Role {
        self.roles.get(member_number as usize).copied().unwrap_or(Role::Spare)
    }

    /// Whether the members agree everywhere.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.resync_offset_sectors == Superblock::IN_SYNC
    }

    /// How far this member holds data, where it does not hold all.
    #[must_use]
    pub fn recovering_from_sectors(&self) -> Option<u64> {
        let recovers = self.features.contains(Features::RECOVERY_OFFSET)
            && matches!(self.role(), Role::Active(_));
        recovers.then_some(self.recovery_offset_sectors).filter(|&offset| offset != u64::MAX)
    }

    /// Where the partial parity log lies, if there is one.
    #[must_use]
    pub fn ppl_area(&self) -> Option<PplArea> {
        let raw = self.bitmap_offset_sectors.to_le_bytes();
        self.features.has_ppl().then(|| PplArea {
            offset_sectors: i16::from_le_bytes([raw[0], raw[1]]),
            size_sectors: u16::from_le_bytes([raw[2], raw[3]]),
        })
    }

    /// Puts the place of a partial parity log where the bitmap's would be.
    pub fn set_ppl_area(&mut self, area: PplArea) {
        let [a, b] = area.offset_sectors.to_le_bytes();
        let [c, d] = area.size_sectors.to_le_bytes();
        self.bitmap_offset_sectors = i32::from_le_bytes([a, b, c, d]);
    }

    /// The size of the array in sectors; `data_sizes` are the members' in the order of their roles,
    /// used for linear and level 0.
    ///
    /// `None` when the numbers make no array. The formulas are md's: linear and level 0 add up what
    /// each member has, in whole chunks (level 0 a little less where a chunk is no power of two,
    /// see [`Raid0`]); level 1 has what one member has; 4, 5 and 6 take off the parity; 10 divides
    /// by the number of copies.
    #[must_use]
    pub fn array_sectors(&self, data_sizes: &[u64]) -> Option<u64> {
        let chunk = u64::from(self.chunk_sectors);
        let disks = u64::from(self.raid_disks);
        let in_chunks =
            |sectors: u64| sectors.checked_div(chunk).map_or(sectors, |chunks| chunks * chunk);
        match self.level {
            Level::Linear => {
                data_sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(in_chunks(size)))
            }
            Level::Raid0 => {
                let counted = |size| Raid0::counted(in_chunks(size), chunk.max(1));
                data_sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(counted(size)))
            }
            Level::Raid1 => Some(self.size_sectors),
            Level::Raid4 | Level::Raid5 | Level::Raid6 => {
                let data_disks = disks.checked_sub(u64::from(self.level.parity_count()))?;
                in_chunks(self.size_sectors).checked_mul(data_disks)
            }
            Level::Raid10 => match self.layout() {
                Layout::Raid10(layout) if chunk > 0 => {
                    let chunks = (self.size_sectors / chunk / u64::from(layout.far))
                        .checked_mul(disks)?
                        / u64::from(layout.near);
                    chunks.checked_mul(chunk)
                }
                _ => None,
            },
            Level::Multipath | Level::Faulty | Level::Unknown(_) => None,
        }
    }
}

/// The sum of all 32-bit words, the carries added once, cut to 32 bits; a last half word counts as
/// it is. It does not see words that changed places, nor all ones that turned into zeroes.
fn checksum_of(bytes: &[u8]) -> u32 {
    let mut words = bytes.chunks_exact(4);
    let mut sum: u64 = words.by_ref().map(|word| u64::from(u32_at(word, 0))).sum();
    if let [low, high] = *words.remainder() {
        sum += u64::from(u16::from_le_bytes([low, high]));
    }
    ((sum & 0xffff_ffff) as u32).wrapping_add((sum >> 32) as u32)
}

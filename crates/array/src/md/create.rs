//! The superblocks of a new array, placed as mdadm places them.
//!
//! ```text
//!   sector 0    8          16                    data_offset
//!   +-----------+----------+-----------+---------+-------------------------+
//!   |           | super-   | bitmap or | bad-    | …      | data           |
//!   |           | block    | PPL       | blocks  |        |                |
//!   +-----------+----------+-----------+---------+-------------------------+
//! ```
//!
//! The room before the data lets a later reshape move them, and is what mdadm of version 3.3 and
//! later leaves.

use block::{Error, ErrorKind};
use words::{Text, statement};

use super::{
    AssembleOptions, Bitmap, Candidate, Features, Layout, Level, PplArea, Role, Startability,
    Superblock, TimeStamp, Version, assemble,
};
use crate::Raid0Layout;
use crate::catalogue;

/// Where version 1.2 puts the superblock, in sectors.
const SUPER_OFFSET_SECTORS: u64 = 8;
/// Where the bitmap or the PPL goes, in sectors from the superblock.
const AREA_OFFSET_SECTORS: u64 = 8;
/// What a PPL takes up, in sectors.
const PPL_SECTORS: u64 = 2048;
const BAD_BLOCK_SECTORS: u64 = 8;
/// Data start on a whole MiB, in sectors.
const DATA_ALIGNMENT_SECTORS: u64 = 2048;
/// Level 1 has no chunks; what it uses of a member is still rounded, in sectors.
const MIRROR_ROUNDING_SECTORS: u64 = 128;
const GIB_SECTORS: u64 = 1 << 21;

/// A member of a new array.
#[derive(Clone, Debug)]
pub struct NewMember {
    /// What to call it in messages: its path.
    pub name: String,
    /// Its size in sectors.
    pub size_sectors: u64,
    /// Its own UUID.
    pub device_uuid: [u8; 16],
    /// [`Role::Active`] or [`Role::Spare`].
    pub role: Role,
    /// Read from it only when nothing else is left.
    pub write_mostly: bool,
}

/// How the members are brought to agree after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// By going over all of them.
    Resync,
    /// By going over the regions that the bitmap names.
    Bitmap {
        /// What a bit covers; `None`: 64 MiB or what it takes to fit.
        chunk_bytes: Option<u32>,
    },
    /// By the partial parity log: level 5 only.
    Ppl,
}

/// What a new array is to be.
#[derive(Clone, Debug)]
pub struct NewArray {
    /// The array's UUID.
    pub set_uuid: [u8; 16],
    /// Its name, at most 32 bytes; mdadm writes `host:name`.
    pub name: String,
    /// One time for all superblocks: members with different ones do not belong together.
    pub created: TimeStamp,
    /// Linear, 0, 1, 4, 5, 6 or 10.
    pub level: Level,
    /// The level's layout.
    pub layout: Layout,
    /// Chunk in sectors; 0 for linear and level 1.
    pub chunk_sectors: u32,
    /// How many places the layout has, those of missing members too.
    pub raid_disks: u32,
    /// The members that are present.
    pub members: Vec<NewMember>,
    /// What happens after a crash.
    pub consistency: Consistency,
    /// The members agree already: all were zeroed, or what they hold does not matter.
    pub in_sync: bool,
}

/// What mdadm sets aside for a bitmap on a member, or for one over an array, of this size; in
/// sectors.
fn bitmap_room_sectors(size_sectors: u64) -> u64 {
    match size_sectors {
        0..128 => 0,
        size if size - 128 >= 200 * GIB_SECTORS => 256,
        size if size - 8 > 8 * GIB_SECTORS => 128,
        _ => 8,
    }
}

/// Where data start on members of this size, in sectors: mdadm's rule for version 1.2 since mdadm
/// 3.3.
///
/// Superblock and bitmap (or PPL), then room for a reshape: 128 MiB, halved until it is at most a
/// 1024th of the member, but not below four chunks (of `chunk_sectors`, 0 for none); the sum
/// rounded up to a MiB.
#[must_use]
pub fn data_offset_sectors(member_sectors: u64, chunk_sectors: u32, has_ppl: bool) -> u64 {
    let area = if has_ppl { PPL_SECTORS } else { bitmap_room_sectors(member_sectors) };
    let four_chunks = 4 * (u64::from(chunk_sectors) / 2);
    let mut headroom: u64 = 1 << 18;
    // Four chunks are counted in KiB and the room in sectors: so mdadm does, and so the two agree.
    while headroom << 10 > member_sectors && headroom > 1 && headroom / 2 >= four_chunks {
        headroom /= 2;
    }
    (24 + area + headroom).next_multiple_of(DATA_ALIGNMENT_SECTORS)
}

impl NewArray {
    /// The superblocks, one for each member in their order.
    ///
    /// # Errors
    /// One line that names the member or the setting that makes no array.
    pub fn superblocks(&self) -> Result<Vec<Superblock>, Error> {
        self.check()?;
        let has_ppl = self.consistency == Consistency::Ppl;
        let smallest = self.members.iter().map(|member| member.size_sectors).min().unwrap_or(0);
        let data_offset = data_offset_sectors(smallest, self.chunk_sectors, has_ppl);
        if let Some(member) = self.members.iter().find(|member| member.size_sectors <= data_offset)
        {
            return Err(invalid(statement!(
                catalogue::MEMBER_SECTORS,
                name = &member.name,
                sectors = member.size_sectors,
                data_offset = data_offset
            )));
        }
        let rounding = if self.level == Level::Raid1 {
            MIRROR_ROUNDING_SECTORS
        } else {
            u64::from(self.chunk_sectors)
        };
        let size = match self.level {
            Level::Linear | Level::Raid0 => 0,
            _ => (smallest - data_offset) / rounding.max(1) * rounding.max(1),
        };

        let mut common = self.common(data_offset, size);
        let bitmap = match self.consistency {
            Consistency::Bitmap { .. } => Some(self.bitmap_for(&common)?),
            _ => None,
        };
        let area = match (&bitmap, self.consistency) {
            (Some(bitmap), _) => bitmap.page_count() as u64 * 8,
            (None, Consistency::Ppl) => PPL_SECTORS,
            (None, _) => bitmap_room_sectors(size),
        };
        common.bad_block_offset_sectors = (AREA_OFFSET_SECTORS + area) as i32;
        common.bad_block_size_sectors = BAD_BLOCK_SECTORS as u16;

        let numbers = self.numbers();
        for (member, &number) in self.members.iter().zip(&numbers) {
            common.roles[number as usize] = member.role;
        }
        let superblocks: Vec<Superblock> = (self.members.iter().zip(numbers))
            .map(|(member, member_number)| Superblock {
                member_number,
                device_uuid: member.device_uuid,
                device_flags: if member.write_mostly { Superblock::WRITE_MOSTLY } else { 0 },
                data_size_sectors: member.size_sectors - data_offset,
                ..common.clone()
            })
            .collect();
        self.prove(&superblocks)?;
        Ok(superblocks)
    }

    /// The bitmap to be written with the superblocks, if there is to be one.
    ///
    /// # Errors
    /// When its chunk does not fit.
    pub fn bitmap(&self, superblocks: &[Superblock]) -> Result<Option<Bitmap>, Error> {
        match (self.consistency, superblocks.first()) {
            (Consistency::Bitmap { .. }, Some(superblock)) => {
                Ok(Some(self.bitmap_for(superblock)?))
            }
            _ => Ok(None),
        }
    }

    fn bitmap_for(&self, superblock: &Superblock) -> Result<Bitmap, Error> {
        let Consistency::Bitmap { chunk_bytes } = self.consistency else {
            return Err(invalid(catalogue::NO_BITMAP_WANTED));
        };
        // Level 10 marks regions of the array, for a chunk and its copies are in different places.
        let covers = match self.level {
            Level::Raid10 => superblock.array_sectors(&[]).unwrap_or(0),
            _ => superblock.size_sectors,
        };
        let before_data = superblock.data_offset_sectors
            - SUPER_OFFSET_SECTORS
            - AREA_OFFSET_SECTORS
            - BAD_BLOCK_SECTORS;
        Ok(Bitmap::new(
            self.set_uuid,
            covers,
            before_data / 8 * 4096,
            chunk_bytes,
            !superblock.is_clean(),
        )?)
    }

    fn check(&self) -> Result<(), Error> {
        let level = self.level;
        if self.name.len() > 32 || self.name.contains('\0') {
            return Err(invalid(statement!(catalogue::ARRAY_NAME_TOO_LONG, name = &self.name)));
        }
        if self.name.is_empty() || self.name.contains(char::is_control) {
            return Err(invalid(statement!(
                catalogue::NAME_UNFIT,
                name = format!("{:?}", self.name)
            )));
        }
        if !matches!(level, Level::Linear | Level::Raid0) && !level.is_redundant() {
            return Err(invalid(statement!(catalogue::LEVEL_NOT_MADE, level = level)));
        }
        if !self.layout.fits(level) {
            return Err(invalid(statement!(
                catalogue::LEVEL_LAYOUT,
                level = level,
                layout = self.layout.to_string()
            )));
        }
        if !level.has_chunks() && self.chunk_sectors != 0 && level != Level::Linear {
            return Err(invalid(statement!(catalogue::LEVEL_NO_CHUNKS, level = level)));
        }
        if self.consistency == Consistency::Ppl && level != Level::Raid5 {
            return Err(invalid(statement!(catalogue::LEVEL_NO_LOG, level = level)));
        }
        if self.consistency != Consistency::Resync && !level.is_redundant() {
            return Err(invalid(statement!(catalogue::LEVEL_NO_BITMAP, level = level)));
        }
        let mut taken = vec![false; self.raid_disks.min(1920) as usize];
        for member in &self.members {
            match member.role {
                Role::Active(role) => match taken.get_mut(usize::from(role)) {
                    Some(taken) if !*taken => *taken = true,
                    Some(_) => {
                        return Err(invalid(statement!(
                            catalogue::ROLE_TAKEN,
                            name = &member.name,
                            role = role
                        )));
                    }
                    None => {
                        return Err(invalid(statement!(
                            catalogue::ROLE_PAST_END,
                            name = &member.name,
                            role = role,
                            places = self.raid_disks
                        )));
                    }
                },
                Role::Spare if level.is_redundant() => (),
                role => {
                    return Err(invalid(statement!(
                        catalogue::ROLE_UNFIT,
                        name = &member.name,
                        level = level,
                        role = role
                    )));
                }
            }
        }
        Ok(())
    }

    /// The members' numbers: those of active ones are their roles, spares come after all places.
    fn numbers(&self) -> Vec<u32> {
        let mut next_spare = self.raid_disks;
        let number = |member: &NewMember| match member.role {
            Role::Active(role) => u32::from(role),
            _ => {
                next_spare += 1;
                next_spare - 1
            }
        };
        self.members.iter().map(number).collect()
    }

    fn common(&self, data_offset_sectors: u64, size_sectors: u64) -> Superblock {
        let spares = self.members.iter().filter(|member| member.role == Role::Spare).count();
        let active = self.members.len() - spares;
        // What mdadm does: whole sectors, so at least 128 roles.
        let role_count =
            ((256 + 2 * (self.raid_disks as usize + spares)).next_multiple_of(512) - 256) / 2;
        let mut set_name = [0; 32];
        set_name[..self.name.len()].copy_from_slice(self.name.as_bytes());
        // Parity cannot be brought in sync while a member is missing; each stripe becomes right
        // when it is written as a whole or when the missing member is rebuilt from the others.
        let in_sync = self.in_sync
            || !self.level.is_redundant()
            || self.level.parity_count() > 0 && active < self.raid_disks as usize;
        let mut superblock = Superblock {
            features: Features::default(),
            set_uuid: self.set_uuid,
            set_name,
            created: self.created,
            level: self.level,
            layout_code: self.layout.code(),
            size_sectors,
            chunk_sectors: self.chunk_sectors,
            raid_disks: self.raid_disks,
            bitmap_offset_sectors: 0,
            new_level: Level::Raid0,
            reshape_position_sectors: 0,
            delta_disks: 0,
            new_layout_code: 0,
            new_chunk_sectors: 0,
            new_offset_sectors: 0,
            data_offset_sectors,
            data_size_sectors: 0,
            super_offset_sectors: SUPER_OFFSET_SECTORS,
            recovery_offset_sectors: 0,
            member_number: 0,
            corrected_reads: 0,
            device_uuid: [0; 16],
            device_flags: 0,
            bad_block_shift: 0,
            bad_block_size_sectors: 0,
            bad_block_offset_sectors: 0,
            updated: self.created,
            events: 0,
            resync_offset_sectors: if in_sync { Superblock::IN_SYNC } else { 0 },
            checksum: 0,
            logical_block_bytes: 0,
            old_checksum: None,
            roles: vec![Role::Spare; role_count.min(1920)],
        };
        self.set_features(&mut superblock);
        superblock
    }

    /// What `feature_map` says of all members, and the area that a feature needs.
    fn set_features(&self, superblock: &mut Superblock) {
        match self.consistency {
            Consistency::Resync => (),
            Consistency::Bitmap { .. } => {
                superblock.features = Features::BITMAP;
                superblock.bitmap_offset_sectors = AREA_OFFSET_SECTORS as i32;
            }
            Consistency::Ppl => {
                superblock.features = Features::PPL;
                superblock.set_ppl_area(PplArea {
                    offset_sectors: AREA_OFFSET_SECTORS as i16,
                    size_sectors: PPL_SECTORS as u16,
                });
            }
        }
        if matches!(
            self.layout,
            Layout::Raid0(Some(Raid0Layout::Original | Raid0Layout::Alternate))
        ) {
            superblock.features = superblock.features.with(Features::RAID0_LAYOUT);
        }
    }

    /// What cannot be assembled must not be created: the same rules decide.
    fn prove(&self, superblocks: &[Superblock]) -> Result<(), Error> {
        let data_sizes: Vec<u64> =
            superblocks.iter().map(|superblock| superblock.data_size_sectors).collect();
        if superblocks.first().is_some_and(|first| first.array_sectors(&data_sizes) == Some(0)) {
            let smallest = self
                .members
                .iter()
                .min_by_key(|member| member.size_sectors)
                .map_or("", |member| &member.name);
            return Err(invalid(statement!(catalogue::NOT_ONE_CHUNK, smallest = smallest)));
        }
        let candidates: Vec<Candidate> = (self.members.iter().zip(superblocks))
            .map(|(member, superblock)| {
                // As it will be read back, with its checksum.
                let superblock =
                    Superblock::decode(&superblock.encode()).unwrap_or_else(|_| superblock.clone());
                let (name, size_sectors) = (member.name.clone(), member.size_sectors);
                Candidate { name, size_sectors, version: Version::V1_2, superblock, bitmap: None }
            })
            .collect();
        let assembly = assemble(&candidates, AssembleOptions::default()).map_err(invalid)?;
        if let Some(left_out) = assembly.left_out.first() {
            return Err(invalid(left_out.reason.clone()));
        }
        if let Startability::Refused(reasons) = &assembly.start {
            return Err(invalid(Text::joined(reasons, "; ")));
        }
        Ok(())
    }
}

fn invalid(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

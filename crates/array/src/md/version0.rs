//! The superblock of version 0.90, which old arrays carry: 1024 words of 32 bits near the end of a
//! member.
//!
//! ```text
//!   byte 0      128        256           512                           3968          4096
//!   +-----------+----------+-------------+-----------------------------+-------------+
//!   | the array | state    | layout,     | a descriptor of 32 words    | the same of |
//!   | as made   | events   | chunk       | for each of 27 members      | this member |
//!   +-----------+----------+-------------+-----------------------------+-------------+
//! ```
//!
//! It stands in the byte order of the machine that made it. It is read into the fields of version
//! 1, and never written: it has no place for what raidloom writes down of a member that is being
//! rebuilt.

use words::statement;

use super::fields::{Features, Level, Role, TimeStamp, Version};
use super::superblock::Superblock;
use super::{Complaint, Problem, bytes_at};
use crate::catalogue;

const COMPLAINT: Complaint = Complaint(catalogue::OF_SUPERBLOCK_0_90);
const MAGIC: u32 = 0xa92b_4efc;
const BYTES: usize = 4096;
/// How many members have a descriptor.
const DESCRIPTORS: usize = 27;
const DESCRIPTOR_WORDS: usize = 32;
const FIRST_DESCRIPTOR: usize = 128;
const THIS_DESCRIPTOR: usize = 992;
/// A bitmap follows the superblock at once.
const BITMAP_OFFSET_SECTORS: i32 = 8;

/// The bits of `state`.
const CLEAN: u32 = 1;
const BITMAP: u32 = 1 << 8;
/// The bits of a descriptor's state.
const FAULTY: u32 = 1;
const ACTIVE: u32 = 1 << 1;
const IN_SYNC: u32 = 1 << 2;
const WRITE_MOSTLY: u32 = 1 << 9;

/// The words of a superblock, in the order of the machine that made it.
struct Words<'a> {
    bytes: &'a [u8],
    is_big_endian: bool,
}

impl Words<'_> {
    fn at(&self, word: usize) -> u32 {
        let raw = bytes_at(self.bytes, 4 * word);
        if self.is_big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) }
    }

    fn long_at(&self, word: usize) -> u64 {
        let (first, second) = (u64::from(self.at(word)), u64::from(self.at(word + 1)));
        if self.is_big_endian { first << 32 | second } else { second << 32 | first }
    }

    /// The sum of all words but the checksum itself, the carries added once.
    fn sum(&self) -> u32 {
        let sum: u64 =
            (0..BYTES / 4).filter(|&word| word != 38).map(|word| u64::from(self.at(word))).sum();
        (sum as u32).wrapping_add((sum >> 32) as u32)
    }

    fn role(&self, descriptor: usize) -> Role {
        let (place, state) = (self.at(descriptor + 3), self.at(descriptor + 4));
        match u16::try_from(place) {
            _ if state & FAULTY != 0 => Role::Faulty,
            Ok(place) if state & (ACTIVE | IN_SYNC) == ACTIVE | IN_SYNC => Role::from_raw(place),
            _ => Role::Spare,
        }
    }
}

/// Sums are compared as 16 bits: kernels have not always agreed on the upper half.
fn folded(sum: u32) -> u32 {
    let once = (sum & 0xffff) + (sum >> 16);
    (once & 0xffff) + (once >> 16)
}

impl Superblock {
    /// Reads what stands where the superblock of a version is to be, on a member of this size.
    ///
    /// # Errors
    /// As [`Superblock::decode`].
    pub fn decode_as(
        version: Version,
        bytes: &[u8],
        member_sectors: u64,
    ) -> Result<Superblock, Problem> {
        match version {
            Version::V0_90 => decode(bytes, member_sectors),
            Version::V1_0 | Version::V1_1 | Version::V1_2 => Superblock::decode(bytes),
        }
    }
}

/// Reads a superblock of version 0.90 into the fields of version 1. `member_sectors` is the size of
/// the member, which says where its data end.
fn decode(bytes: &[u8], member_sectors: u64) -> Result<Superblock, Problem> {
    COMPLAINT.needs_length(bytes, BYTES)?;
    let mut words = Words { bytes: &bytes[..BYTES], is_big_endian: false };
    let magic = words.at(0);
    words.is_big_endian = magic == MAGIC.swap_bytes();
    if words.at(0) != MAGIC {
        COMPLAINT.needs_magic(magic, MAGIC)?;
    }
    let (major, minor) = (words.at(1), words.at(2));
    if major != 0 || !matches!(minor, 90 | 91) {
        return Err(COMPLAINT.about(
            "version",
            4,
            format_args!("{major}.{minor}"),
            catalogue::VERSION_0,
        ));
    }
    let super_offset = Version::V0_90.offset_sectors(member_sectors);
    let data_sectors = super_offset.ok_or_else(|| {
        COMPLAINT.about(
            "member",
            0,
            statement!(catalogue::SO_MANY_SECTORS, sectors = member_sectors),
            statement!(catalogue::AT_LEAST, least = 128),
        )
    })?;

    Ok(words.superblock(data_sectors, minor == 91))
}

impl Words<'_> {
    fn set_uuid(&self) -> [u8; 16] {
        let mut set_uuid = [0; 16];
        for (group, word) in set_uuid.chunks_exact_mut(4).zip([5, 13, 14, 15]) {
            group.copy_from_slice(&self.at(word).to_be_bytes());
        }
        set_uuid
    }

    /// It has no name; the number of its device under md is what people know it by.
    fn set_name(&self) -> [u8; 32] {
        let mut set_name = [0; 32];
        let name = format!("md{}", self.at(11));
        set_name[..name.len()].copy_from_slice(name.as_bytes());
        set_name
    }

    /// By the members' numbers.
    fn roles(&self) -> Vec<Role> {
        let role = |number: usize| {
            let descriptor = FIRST_DESCRIPTOR + number * DESCRIPTOR_WORDS;
            // A number that no member has is a descriptor of zeroes, which would be a place.
            let is_its = self.at(descriptor) as usize == number;
            if is_its { self.role(descriptor) } else { Role::Spare }
        };
        (0..DESCRIPTORS).map(role).collect()
    }

    /// The events, and those that were noted with the position of a resync.
    fn events(&self) -> (u64, u64) {
        let (high, low) = if self.is_big_endian { (39, 40) } else { (40, 39) };
        let joined =
            |high: usize, low: usize| u64::from(self.at(high)) << 32 | u64::from(self.at(low));
        (joined(high, low), joined(high + 2, low + 2))
    }

    /// As version 1 has it, on a member whose data end where the superblock begins.
    fn superblock(&self, data_sectors: u64, reshapes: bool) -> Superblock {
        let level = Level::from_raw(self.at(7) as i32);
        let own_number = self.at(THIS_DESCRIPTOR);
        let mut device_uuid = self.set_uuid();
        device_uuid[12..].copy_from_slice(&own_number.to_be_bytes());
        let (events, checked_events) = self.events();
        let state = self.at(33);
        let resync_offset_sectors = match state & CLEAN != 0 {
            true => Superblock::IN_SYNC,
            // Where a resync had got to counts only if nothing has happened since it was written.
            false if events == checked_events => self.at(43).into(),
            false => 0,
        };
        let mut features = Features::default();
        if state & BITMAP != 0 {
            features = features.with(Features::BITMAP);
        }
        if reshapes {
            features = features.with(Features::RESHAPE_ACTIVE);
        }
        let in_reshape = |word: usize| if reshapes { self.at(word) } else { 0 };
        let has_size = !matches!(level, Level::Linear | Level::Raid0);
        let has_chunk = level != Level::Raid1;
        let (checksum, sum) = (self.at(38), self.sum());
        let is_write_mostly = self.at(THIS_DESCRIPTOR + 4) & WRITE_MOSTLY != 0;
        Superblock {
            features,
            set_uuid: self.set_uuid(),
            set_name: self.set_name(),
            created: TimeStamp { seconds: self.at(6).into(), microseconds: 0 },
            level,
            layout_code: self.at(64),
            size_sectors: if has_size { 2 * u64::from(self.at(8)) } else { 0 },
            chunk_sectors: if has_chunk { self.at(65) / 512 } else { 0 },
            raid_disks: self.at(10),
            bitmap_offset_sectors: if state & BITMAP != 0 { BITMAP_OFFSET_SECTORS } else { 0 },
            new_level: Level::from_raw(in_reshape(46) as i32),
            reshape_position_sectors: if reshapes { self.long_at(44) } else { 0 },
            delta_disks: in_reshape(47) as i32,
            new_layout_code: in_reshape(48),
            new_chunk_sectors: in_reshape(49) / 512,
            new_offset_sectors: 0,
            data_offset_sectors: 0,
            data_size_sectors: data_sectors,
            super_offset_sectors: data_sectors,
            recovery_offset_sectors: 0,
            member_number: own_number,
            corrected_reads: 0,
            device_uuid,
            device_flags: if is_write_mostly { Superblock::WRITE_MOSTLY } else { 0 },
            bad_block_shift: 0,
            bad_block_size_sectors: 0,
            bad_block_offset_sectors: 0,
            updated: TimeStamp { seconds: self.at(32).into(), microseconds: 0 },
            events,
            resync_offset_sectors,
            checksum,
            logical_block_bytes: 0,
            roles: self.roles(),
            old_checksum: Some(if folded(sum) == folded(checksum) { checksum } else { sum }),
        }
    }
}

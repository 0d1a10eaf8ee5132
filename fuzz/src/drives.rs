//! Small drives as they are found when an array is lost: members with superblocks of every version
//! or without, whole, in a partition or behind something else, to be damaged byte by byte.
//!
//! ```text
//!   drive     table?  | 64 sectors on: the member, whole drives have it from the start | backup?
//!   1.1, 1.2  superblock, bitmap | data from 64 KiB on
//!   1.0       data                                    | superblock, bitmap
//!   0.90      data                  | superblock, bitmap (64 KiB)
//!   lost      zeroes             | data from 64 KiB on
//! ```

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use array::md::{
    AssembleOptions, ChecksumVerdict, Consistency, Layout, Level, NewArray, NewMember, Role,
    Superblock, TimeStamp, Version, assemble,
};
use array::metadata::{StartOptions, examine, start};
use array::{ParityLayout, Raid0Layout, Raid10Layout};
use block::{Blocking, Device, Reactor};
use testkit::{Memory, OldSuperblock};

use crate::Input;

const SECTOR_BYTES: usize = 512;
const SUPERBLOCK_BYTES: usize = 4096;
/// Where data begin on members that have them behind the superblock.
const DATA_AT: usize = 128 * SECTOR_BYTES;
/// What each member of an array that holds no other has for data.
const DATA_BYTES: usize = 128 * SECTOR_BYTES;
const CHUNK_SECTORS: u32 = 8;
/// Where the member begins on a drive that it does not take all of.
const PART_AT: usize = 64 * SECTOR_BYTES;
/// What follows it there: room for a second table.
const TAIL_BYTES: usize = 64 * SECTOR_BYTES;
/// Up to here an array holds zeroes; file systems begin there. The rest is noise.
const NOISE_AT: usize = 32 << 10;
/// So many shapes are tried where the input does not say, and so many for each step that it says:
/// all of them take seconds.
const SHAPES_MOST: usize = 100;
const SHAPES_EACH: usize = 8;
/// More than four drives cannot be told apart by what a change says.
const DRIVES_MAX: usize = 4;

/// The versions that members may have; `None`: there is no superblock any more.
const VERSIONS: [Option<Version>; 5] =
    [Some(Version::V1_2), Some(Version::V1_1), Some(Version::V1_0), Some(Version::V0_90), None];

/// An array that the drives are of.
#[derive(Clone, Copy)]
struct Kind {
    level: Level,
    layout: Layout,
    places: usize,
    has_bitmap: bool,
    /// How many members each place stands for: mirrors, where that is more than one.
    below: usize,
}

/// The kinds of arrays.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let parity = Layout::Parity(ParityLayout::LeftSymmetric);
    let copies = |name| Layout::Raid10(Raid10Layout::from_name(name).expect("a layout"));
    let striped = Layout::Raid0(Some(Raid0Layout::Original));
    let kind = |level, layout, places, below| {
        let has_bitmap = level == Level::Raid1;
        Kind { level, layout, places, has_bitmap, below }
    };
    vec![
        kind(Level::Raid5, parity, 3, 1),
        kind(Level::Raid6, parity, 4, 1),
        kind(Level::Raid1, Layout::Plain, 2, 1),
        kind(Level::Raid10, copies("n2"), 4, 1),
        kind(Level::Raid10, copies("f2"), 3, 1),
        kind(Level::Raid0, striped, 2, 1),
        kind(Level::Linear, Layout::Plain, 2, 1),
        kind(Level::Raid0, striped, 2, 2),
        kind(Level::Raid5, parity, 4, 1),
    ]
});

/// Members by kind, version and all that the array holds: to make them takes longer than to look
/// at them.
type Made = HashMap<(usize, usize), Vec<Vec<u8>>>;
static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);

/// Drives after some damage, and how they are to be looked at.
pub struct Drives {
    /// All bytes of each.
    pub bytes: Vec<Vec<u8>>,
    /// What the array holds, where nothing was done to the drives and their superblocks tell all.
    pub content: Option<Vec<u8>>,
    /// After so many shapes nobody waits any longer.
    pub patience: usize,
    /// Disk images of other formats are taken for drives as well.
    pub raw: bool,
    /// Of the first drive only this is named: offset and length, in bytes.
    pub part: Option<(u64, Option<u64>)>,
}

/// What the drives are before changes.
struct Start {
    kind: usize,
    version: usize,
    /// Two bits for each drive.
    places: u8,
}

/// Where a member is on its drive, as two bits say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Whole,
    Mbr,
    Gpt,
    /// Where nothing says that anything begins.
    Displaced,
}

/// What a change begins with: drive, place, and how many bytes follow.
struct Change<'a> {
    drive: usize,
    place: u8,
    offset: usize,
    bytes: &'a [u8],
}

impl<'a> Change<'a> {
    /// The next one of the input.
    fn next(input: &mut Input<'a>) -> Option<Change<'a>> {
        if input.0.is_empty() {
            return None;
        }
        let head = input.byte();
        let offset = usize::from(u16::from_le_bytes([input.byte(), input.byte()]));
        let (drive, place) = (usize::from(head & 3), head >> 4 & 7);
        let length = match place {
            COPY | CUT => 0,
            _ => [1, 4, 8, 64][usize::from(head >> 2 & 3)],
        };
        Some(Change { drive, place, offset, bytes: input.bytes(length) })
    }
}

/// Where a change may be: places that say something, which changes anywhere seldom meet.
const SUPERBLOCK: u8 = 0;
const BEHIND_SUPERBLOCK: u8 = 1;
const DATA: u8 = 2;
const DRIVE_START: u8 = 3;
const DRIVE_END: u8 = 4;
const CONTENT: u8 = 5;
/// The superblock of the drive that the offset names.
const COPY: u8 = 6;
/// The drive ends so much earlier.
const CUT: u8 = 7;

/// The drives that the first bytes describe, with the rest of the input as changes: drive, width
/// and kind of place, place, and new bytes each.
///
/// ```text
///   kind, version, places of the members (two bits a drive), flags
///   flags: 0f a drive each that is left away, 10 sums are made right again, 20 patience (a byte),
///          40 raw, 80 only a part of the first drive is named (offset, length)
/// ```
#[must_use]
pub fn drives(input: &[u8]) -> Drives {
    let mut input = Input(input);
    let kind = usize::from(input.byte()) % KINDS.len();
    let version = usize::from(input.byte()) % VERSIONS.len();
    let start = Start { kind, version, places: input.byte() };
    let flags = input.byte();
    let patience = match flags & 0x20 {
        0 => SHAPES_MOST,
        _ => 1 + SHAPES_EACH * usize::from(input.byte()),
    };
    let part = (flags & 0x80 != 0).then(|| {
        let (offset, size) = (input.number(), input.number());
        (offset, Some(size).filter(|size| *size != 0))
    });
    let changes: Vec<Change<'_>> = std::iter::from_fn(|| Change::next(&mut input)).collect();
    let members = members(&start, &changes);
    let mut bytes: Vec<Vec<u8>> =
        members.iter().enumerate().map(|(drive, member)| start.on_drive(drive, member)).collect();
    for change in &changes {
        start.change(&mut bytes, change);
    }
    if flags & 0x10 != 0 {
        (0..bytes.len()).for_each(|drive| start.mend(drive, &mut bytes[drive]));
    }
    let mut index = 0;
    bytes.retain(|_| {
        index += 1;
        flags >> (index - 1) & 1 == 0
    });
    let is_whole = changes.is_empty() && flags & 0xaf == 0 && start.tells_all();
    let content = is_whole.then(|| content(start.kind, &changes));
    Drives { bytes, content, patience, raw: flags & 0x40 != 0, part }
}

/// What the array holds: zeroes, noise, and what changes put there.
fn content(kind: usize, changes: &[Change<'_>]) -> Vec<u8> {
    let Kind { level, layout, places, .. } = KINDS[kind];
    let length = match (level, layout) {
        (Level::Raid1, _) => DATA_BYTES,
        (_, Layout::Raid10(layout)) => places * DATA_BYTES / layout.copies() as usize,
        _ => (places - level.parity_count() as usize) * DATA_BYTES,
    };
    let mut bytes = vec![0; length];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for word in bytes[NOISE_AT..].chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes());
    }
    for change in changes.iter().filter(|change| change.place == CONTENT) {
        put(&mut bytes, change.offset * 2, change.bytes);
    }
    bytes
}

/// As much of it as there is room for.
fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    let end = (at + what.len()).min(bytes.len());
    if at < end {
        bytes[at..end].copy_from_slice(&what[..end - at]);
    }
}

/// The members of the array, which were healthy until now.
fn members(start: &Start, changes: &[Change<'_>]) -> Vec<Vec<u8>> {
    let make = || {
        let (kind, version) = (KINDS[start.kind], VERSIONS[start.version]);
        let outer = array_members(kind, version, 0x5a, &content(start.kind, changes));
        match kind.below {
            1 => outer,
            below => {
                let mirror = Kind {
                    level: Level::Raid1,
                    layout: Layout::Plain,
                    places: below,
                    has_bitmap: false,
                    below: 1,
                };
                let inner = outer.iter().zip(1..);
                inner.flat_map(|(member, id)| array_members(mirror, version, id, member)).collect()
            }
        }
    };
    if changes.iter().any(|change| change.place == CONTENT) {
        return make();
    }
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry((start.kind, start.version)).or_insert_with(make).clone()
}

/// The members of one array that holds this.
fn array_members(kind: Kind, version: Option<Version>, id: u8, content: &[u8]) -> Vec<Vec<u8>> {
    let data_bytes = match kind.level {
        Level::Raid1 => content.len(),
        _ => DATA_BYTES,
    };
    let reactor = Reactor::virtual_clock();
    let devices = written(kind, id, data_bytes, content, &reactor);
    let count = kind.places as u32;
    let member = |(number, device): (u32, &Arc<Memory>)| {
        let mut bytes = vec![0; DATA_AT + data_bytes];
        let mut channel = Blocking::open(&**device, &reactor).expect("memory opens");
        channel.read_slice(0, &mut bytes).expect("memory can be read");
        let (head, data) = bytes.split_at(DATA_AT);
        let head = &head[8 * SECTOR_BYTES..];
        let superblock = Superblock::decode(head).expect("a superblock");
        let bitmap = &head[SUPERBLOCK_BYTES..][..if kind.has_bitmap { 4096 } else { 0 }];
        as_version(version, &superblock, (number, count), bitmap, data)
    };
    (0..count).zip(&devices).map(member).collect()
}

/// Members of version 1.2 in memory, to which the array has written its content.
fn written(
    kind: Kind,
    id: u8,
    data_bytes: usize,
    content: &[u8],
    reactor: &Reactor,
) -> Vec<Arc<Memory>> {
    let array = new_array(kind, id);
    let mut superblocks = array.superblocks().expect("an array");
    let data_sectors = (data_bytes / SECTOR_BYTES) as u64;
    for superblock in &mut superblocks {
        superblock.data_offset_sectors = (DATA_AT / SECTOR_BYTES) as u64;
        superblock.data_size_sectors = data_sectors;
        superblock.size_sectors = superblock.size_sectors.min(data_sectors);
        (superblock.bad_block_offset_sectors, superblock.bad_block_size_sectors) = (0, 0);
    }
    let bitmap = array.bitmap(&superblocks).expect("a bitmap").map(|bitmap| bitmap.encode());
    let device = |superblock: &Superblock| {
        let memory = Memory::new((DATA_AT + data_bytes) as u64);
        let mut channel = Blocking::open(&memory, reactor).expect("memory opens");
        let mut head = superblock.encode();
        head.resize(SUPERBLOCK_BYTES, 0);
        head.extend(bitmap.iter().flatten());
        head.resize(head.len().next_multiple_of(SECTOR_BYTES), 0);
        channel.write_slice(8 * SECTOR_BYTES as u64, &head).expect("memory takes writes");
        Arc::new(memory)
    };
    let devices: Vec<Arc<Memory>> = superblocks.iter().map(device).collect();
    let candidate = |device: &Arc<Memory>| {
        examine(&**device, "member", reactor).expect("memory can be read").expect("a member")
    };
    let candidates: Vec<_> = devices.iter().map(candidate).collect();
    let assembly = assemble(&candidates, AssembleOptions::default()).expect("an array");
    let own: Vec<_> = devices.iter().map(|it| Some(Arc::clone(it) as Arc<dyn Device>)).collect();
    let running =
        start(&assembly, &own, &StartOptions::default(), reactor).expect("an array that starts");
    let mut channel = Blocking::open(&running, reactor).expect("a channel");
    let length = content.len().min(running.info().size_bytes as usize);
    channel.write_slice(0, &content[..length]).expect("written");
    channel.flush().expect("flushed");
    drop(channel);
    running.stop(reactor).expect("stopped");
    devices
}

fn new_array(kind: Kind, id: u8) -> NewArray {
    let member = |index: usize| NewMember {
        name: format!("m{index}"),
        size_sectors: 16 << 10,
        device_uuid: [id ^ 0x10 << index; 16],
        role: Role::Active(index as u16),
        write_mostly: false,
    };
    NewArray {
        set_uuid: [id; 16],
        name: format!("fuzzed{id}"),
        created: TimeStamp { seconds: 1_000_000_000, microseconds: 0 },
        level: kind.level,
        layout: kind.layout,
        chunk_sectors: if kind.level.has_chunks() { CHUNK_SECTORS } else { 0 },
        raid_disks: kind.places as u32,
        members: (0..kind.places).map(member).collect(),
        consistency: match kind.has_bitmap {
            true => Consistency::Bitmap { chunk_bytes: Some(4096) },
            false => Consistency::Resync,
        },
        in_sync: true,
    }
}

/// A member as a version has it.
fn as_version(
    version: Option<Version>,
    superblock: &Superblock,
    (number, count): (u32, u32),
    bitmap: &[u8],
    data: &[u8],
) -> Vec<u8> {
    let member_bytes = DATA_AT + data.len();
    let at = superblock_at(version, member_bytes);
    let mut bytes = vec![0; member_bytes];
    let is_behind = matches!(version, Some(Version::V1_0 | Version::V0_90));
    put(&mut bytes, if is_behind { 0 } else { DATA_AT }, data);
    let own = match version {
        None => return bytes,
        Some(Version::V0_90) => {
            let has_size = superblock.size_sectors > 0;
            let array = OldSuperblock {
                id: u32::from_le_bytes([superblock.set_uuid[0]; 4]),
                level: superblock.level.raw(),
                layout: superblock.layout_code,
                chunk_bytes: superblock.chunk_sectors * SECTOR_BYTES as u32,
                size_kib: if has_size { data.len() as u32 >> 10 } else { 0 },
                count,
                events: superblock.events as u32,
                has_bitmap: !bitmap.is_empty(),
            };
            array.encode(number)
        }
        Some(_) => {
            let data_offset_sectors = if is_behind { 0 } else { superblock.data_offset_sectors };
            let super_offset_sectors = (at / SECTOR_BYTES) as u64;
            let own =
                Superblock { data_offset_sectors, super_offset_sectors, ..superblock.clone() };
            own.encode()
        }
    };
    put(&mut bytes, at, &own);
    put(&mut bytes, at + SUPERBLOCK_BYTES, bitmap);
    bytes
}

/// Where the superblock is on a member; where it was, if it is lost.
fn superblock_at(version: Option<Version>, member_bytes: usize) -> usize {
    let version = version.unwrap_or(Version::V1_2);
    let sectors = version.offset_sectors((member_bytes / SECTOR_BYTES) as u64);
    sectors.expect("members are long enough") as usize * SECTOR_BYTES
}

impl Start {
    fn place(&self, drive: usize) -> Place {
        match self.places >> (2 * drive) & 3 {
            0 => Place::Whole,
            1 => Place::Mbr,
            2 => Place::Gpt,
            _ => Place::Displaced,
        }
    }

    /// Whether superblocks tell all there is to know, wherever they are: those of version 0.90 do
    /// not say where they stand, and those of arrays on arrays are found twice.
    fn tells_all(&self) -> bool {
        let version = VERSIONS[self.version];
        let is_old = version == Some(Version::V0_90);
        let is_nested = KINDS[self.kind].below > 1;
        let is_displaced = |drive| self.place(drive) == Place::Displaced;
        version.is_some() && !((is_old || is_nested) && (0..DRIVES_MAX).any(is_displaced))
    }

    /// Where the member begins on a drive.
    fn member_at(&self, drive: usize) -> usize {
        if self.place(drive) == Place::Whole { 0 } else { PART_AT }
    }

    /// A drive with this member.
    fn on_drive(&self, drive: usize, member: &[u8]) -> Vec<u8> {
        let place = self.place(drive);
        if place == Place::Whole {
            return member.to_vec();
        }
        let mut bytes = vec![0; PART_AT];
        bytes.extend(member);
        bytes.resize(bytes.len() + TAIL_BYTES, 0);
        let (first, sectors) = (PART_AT / SECTOR_BYTES, member.len() / SECTOR_BYTES);
        match place {
            Place::Mbr => put(&mut bytes, 0, &boot_record(0xfd, first, sectors)),
            Place::Gpt => {
                let last = bytes.len() / SECTOR_BYTES - 1;
                put(&mut bytes, 0, &boot_record(0xee, 1, last));
                for (header, entries) in [(1, 2), (last, last - 1)] {
                    put(&mut bytes, header * SECTOR_BYTES, &gpt_header(header, entries));
                    put(&mut bytes, entries * SECTOR_BYTES, &gpt_entry(first, sectors));
                }
            }
            Place::Whole | Place::Displaced => (),
        }
        bytes
    }

    /// Where the superblock of a drive's member is; past the end of what was cut short.
    fn superblock_at(&self, drive: usize, drive_bytes: usize) -> usize {
        let start = self.member_at(drive);
        let tail = if start == 0 { 0 } else { TAIL_BYTES };
        let member_bytes = drive_bytes.saturating_sub(start + tail).max(DATA_AT + DATA_BYTES);
        start + superblock_at(VERSIONS[self.version], member_bytes)
    }

    fn change(&self, drives: &mut [Vec<u8>], change: &Change<'_>) {
        let drive = change.drive % drives.len();
        let length = drives[drive].len();
        let superblock_at = self.superblock_at(drive, length);
        let at = match change.place {
            SUPERBLOCK => superblock_at + change.offset % SUPERBLOCK_BYTES,
            BEHIND_SUPERBLOCK => {
                superblock_at + SUPERBLOCK_BYTES + change.offset % SUPERBLOCK_BYTES
            }
            DATA => self.member_at(drive) + change.offset * 8,
            DRIVE_START => change.offset % PART_AT,
            DRIVE_END => length.saturating_sub(1 + change.offset % TAIL_BYTES),
            COPY => {
                let other = change.offset % drives.len();
                let from = self.superblock_at(other, drives[other].len());
                let end = (from + SUPERBLOCK_BYTES).min(drives[other].len());
                let own = drives[other].get(from..end).unwrap_or_default().to_vec();
                return put(&mut drives[drive], superblock_at, &own);
            }
            CUT => return drives[drive].truncate(length.saturating_sub(change.offset)),
            // It is on the members since they were made.
            _ => return,
        };
        put(&mut drives[drive], at, change.bytes);
    }

    /// Makes the checksum of a drive's superblock fit what stands there.
    fn mend(&self, drive: usize, bytes: &mut [u8]) {
        let at = self.superblock_at(drive, bytes.len());
        let Some(own) = bytes.get_mut(at..at + SUPERBLOCK_BYTES) else { return };
        if VERSIONS[self.version] == Some(Version::V0_90) {
            return OldSuperblock::mend(own);
        }
        if let Ok(superblock) = Superblock::decode(own)
            && superblock.checksum_verdict() != ChecksumVerdict::Correct
        {
            put(own, 0, &superblock.encode());
        }
    }
}

/// A table with one partition.
fn boot_record(kind: u8, first: usize, sectors: usize) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR_BYTES];
    bytes[450] = kind;
    put(&mut bytes, 454, &(first as u32).to_le_bytes());
    put(&mut bytes, 458, &(sectors as u32).to_le_bytes());
    put(&mut bytes, 510, &[0x55, 0xaa]);
    bytes
}

fn gpt_header(own: usize, entries: usize) -> Vec<u8> {
    let mut bytes = b"EFI PART".to_vec();
    bytes.resize(SECTOR_BYTES, 0);
    put(&mut bytes, 24, &(own as u64).to_le_bytes());
    put(&mut bytes, 72, &(entries as u64).to_le_bytes());
    put(&mut bytes, 80, &4_u32.to_le_bytes());
    put(&mut bytes, 84, &128_u32.to_le_bytes());
    bytes
}

/// A partition that is said to be a member.
fn gpt_entry(first: usize, sectors: usize) -> Vec<u8> {
    let mut bytes = vec![0; 128];
    put(
        &mut bytes,
        0,
        &[
            0x0f, 0x88, 0x9d, 0xa1, 0xfc, 0x05, 0x3b, 0x4d, 0xa0, 0x06, 0x74, 0x3f, 0x0f, 0x84,
            0x91, 0x1e,
        ],
    );
    put(&mut bytes, 32, &(first as u64).to_le_bytes());
    put(&mut bytes, 40, &((first + sectors - 1) as u64).to_le_bytes());
    bytes
}

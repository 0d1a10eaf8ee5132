//! Small arrays in memory, every kind that reads other things of its members, to be damaged byte by
//! byte.
//!
//! ```text
//!   sector  8           16             48                        80                 128        160
//!           superblock  bitmap or PPL  (PPL goes on)             bad-block log      data       end
//! ```
//!
//! mdadm would leave more room; the structures may lie anywhere, and so members are small enough to
//! be made anew each time.

use std::sync::{Arc, LazyLock};

use array::md::{
    Consistency, Layout, Level, NewArray, NewMember, PPL_HEADER_BYTES, PplArea, PplEntry,
    PplHeader, Role, Superblock, TimeStamp, ppl_signature,
};
use array::{ParityLayout, Raid0Layout, Raid10Layout};
use testkit::Memory;

use crate::Input;

const SECTOR_BYTES: usize = 512;
const SUPERBLOCK_AT: usize = 8 * SECTOR_BYTES;
const LOG_AT: usize = 16 * SECTOR_BYTES;
const BAD_BLOCKS_AT: usize = 80 * SECTOR_BYTES;
const DATA_AT: usize = 128 * SECTOR_BYTES;
const MEMBER_BYTES: usize = 160 * SECTOR_BYTES;
const DATA_SECTORS: u64 = 32;
const CHUNK_SECTORS: u32 = 8;

/// Members after some damage, and what is to be done with them.
pub struct Damaged {
    /// All bytes of each member.
    pub members: Vec<Vec<u8>>,
    /// Start for reading only.
    pub read_only: bool,
    /// Start also where something may be lost.
    pub force: bool,
}

impl Damaged {
    /// The members as devices.
    #[must_use]
    pub fn devices(&self) -> Vec<Arc<Memory>> {
        let device = |bytes: &Vec<u8>| {
            let memory = Memory::new(bytes.len() as u64);
            let reactor = reactor::Reactor::virtual_clock();
            let mut channel = block::Blocking::open(&memory, &reactor).expect("memory opens");
            channel
                .write_slice(0, &bytes[..DATA_AT.min(bytes.len())])
                .expect("memory takes writes");
            Arc::new(memory)
        };
        self.members.iter().map(device).collect()
    }
}

/// Level, layout, members with spares, consistency.
type Kind = (Level, Layout, usize, usize, Consistency);

/// The kinds of arrays.
fn kinds() -> Vec<Kind> {
    let copies = |name| Layout::Raid10(Raid10Layout::from_name(name).expect("a layout"));
    let (resync, bitmap) = (Consistency::Resync, Consistency::Bitmap { chunk_bytes: Some(4096) });
    vec![
        (Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), 3, 0, Consistency::Ppl),
        (Level::Raid5, Layout::Parity(ParityLayout::RightAsymmetric), 3, 0, bitmap),
        (Level::Raid6, Layout::Parity(ParityLayout::LeftSymmetric), 4, 0, resync),
        (Level::Raid4, Layout::Plain, 3, 0, resync),
        (Level::Raid1, Layout::Plain, 2, 1, bitmap),
        (Level::Raid10, copies("n2"), 3, 0, bitmap),
        (Level::Raid10, copies("f2"), 2, 0, resync),
        (Level::Raid0, Layout::Raid0(Some(Raid0Layout::Original)), 2, 0, resync),
        (Level::Linear, Layout::Plain, 2, 0, resync),
    ]
}

static WHOLE: LazyLock<Vec<Vec<Vec<u8>>>> = LazyLock::new(|| kinds().iter().map(whole).collect());

/// The members of a healthy array.
fn whole((level, layout, places, spares, consistency): &Kind) -> Vec<Vec<u8>> {
    let role =
        |index: usize| if index < *places { Role::Active(index as u16) } else { Role::Spare };
    let member = |index: usize| NewMember {
        name: format!("m{index}"),
        size_sectors: 16 << 10,
        device_uuid: [index as u8; 16],
        role: role(index),
        write_mostly: false,
    };
    let array = NewArray {
        set_uuid: [0x5a; 16],
        name: "fuzzed".to_owned(),
        created: TimeStamp { seconds: 1_000_000_000, microseconds: 0 },
        level: *level,
        layout: *layout,
        chunk_sectors: if level.has_chunks() { CHUNK_SECTORS } else { 0 },
        raid_disks: *places as u32,
        members: (0..places + spares).map(member).collect(),
        consistency: *consistency,
        in_sync: true,
    };
    let mut superblocks = array.superblocks().expect("an array");
    for superblock in &mut superblocks {
        superblock.data_offset_sectors = (DATA_AT / SECTOR_BYTES) as u64;
        superblock.data_size_sectors = DATA_SECTORS;
        superblock.size_sectors = superblock.size_sectors.min(DATA_SECTORS);
        superblock.bad_block_offset_sectors =
            ((BAD_BLOCKS_AT - SUPERBLOCK_AT) / SECTOR_BYTES) as i32;
        superblock.bad_block_size_sectors = 8;
        if *consistency == Consistency::Ppl {
            superblock.set_ppl_area(PplArea { offset_sectors: 8, size_sectors: 32 });
        }
    }
    let bitmap = array.bitmap(&superblocks).expect("a bitmap");
    superblocks
        .iter()
        .map(|superblock| {
            bytes_of(superblock, bitmap.as_ref().map(|bitmap| bitmap.encode()).as_deref())
        })
        .collect()
}

fn bytes_of(superblock: &Superblock, bitmap: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = vec![0; MEMBER_BYTES];
    let mut put =
        |at: usize, content: &[u8]| bytes[at..at + content.len()].copy_from_slice(content);
    put(SUPERBLOCK_AT, &superblock.encode());
    put(BAD_BLOCKS_AT, &[0xff; 8 * SECTOR_BYTES]);
    if let Some(bitmap) = bitmap {
        put(LOG_AT, bitmap);
    } else if superblock.features.has_ppl() {
        let entry = PplEntry {
            data_sector: 0,
            parity_bytes: 0,
            data_bytes: 8192,
            parity_role: 2,
            checksum: 0,
        };
        put(
            LOG_AT,
            &PplHeader {
                signature: ppl_signature(&superblock.set_uuid),
                generation: 1,
                entries: vec![entry],
            }
            .encode(),
        );
    }
    bytes
}

/// The array that the first byte names, without the members that the second drops, and with the
/// rest of the input as changes: member and width, place, and new bytes each. Checksums are made
/// right again where the third says so, or nothing but checksums would ever be tested.
#[must_use]
pub fn damaged(input: &[u8]) -> Damaged {
    let mut input = Input(input);
    let mut members = WHOLE[usize::from(input.byte()) % WHOLE.len()].clone();
    let (dropped, flags) = (input.byte(), input.byte());
    while !input.0.is_empty() {
        let head = usize::from(input.byte());
        let place = usize::from(u16::from_le_bytes([input.byte(), input.byte()])) % DATA_AT;
        let content = input.bytes(1 << (head >> 2 & 3));
        let index = (head & 3) % members.len();
        let end = (place + content.len()).min(DATA_AT);
        members[index][place..end].copy_from_slice(&content[..end - place]);
    }
    if flags & 1 == 1 {
        members.iter_mut().for_each(|member| mend(member));
    }
    let mut index = 0;
    members.retain(|_| {
        index += 1;
        dropped >> (index - 1) & 1 == 0
    });
    Damaged { members, read_only: flags & 2 == 2, force: flags & 4 == 4 }
}

/// Makes the checksums of superblock and log fit what stands there.
fn mend(member: &mut [u8]) {
    if let Ok(superblock) = Superblock::decode(&member[SUPERBLOCK_AT..LOG_AT]) {
        let bytes = superblock.encode();
        let room = bytes.len().min(LOG_AT - SUPERBLOCK_AT);
        member[SUPERBLOCK_AT..][..room].copy_from_slice(&bytes[..room]);
        if superblock.features.has_ppl() {
            mend_log(&mut member[LOG_AT..][..PPL_HEADER_BYTES]);
        }
    }
}

/// Makes the checksum of a PPL's header fit.
pub fn mend_log(header: &mut [u8]) {
    header[532..536].fill(0);
    let checksum = crc32c::crc32c(header);
    header[532..536].copy_from_slice(&checksum.to_le_bytes());
}

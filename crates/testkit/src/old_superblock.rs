//! Superblocks of version 0.90, which old arrays carry and nothing of the product writes.

/// Words of 32 bits in a superblock, the checksum's, and where descriptors of members begin.
const WORDS: usize = 1024;
const CHECKSUM: usize = 38;
const FIRST_DESCRIPTOR: usize = 128;
const DESCRIPTOR_WORDS: usize = 32;
const THIS_DESCRIPTOR: usize = 992;
/// Of a member that is active and in sync.
const IN_USE: u32 = 0b110;

/// What a superblock of version 0.90 says of a clean array with all its members, as md's driver
/// writes it on a machine whose words begin with the lowest byte: docs/formats/md.md.
#[derive(Clone, Copy, Debug)]
pub struct OldSuperblock {
    /// Each of the four words of the array's id.
    pub id: u32,
    /// As md numbers it: a negative one is a line.
    pub level: i32,
    /// The order of parity, or of copies.
    pub layout: u32,
    /// In bytes.
    pub chunk_bytes: u32,
    /// What each member gives, in KiB; nothing where levels use what there is.
    pub size_kib: u32,
    /// How many members there are.
    pub count: u32,
    /// How often the array's state has changed.
    pub events: u32,
    /// A bitmap follows.
    pub has_bitmap: bool,
}

impl OldSuperblock {
    /// The superblock of the member with a number below the count: 4096 bytes.
    #[must_use]
    pub fn encode(&self, number: u32) -> Vec<u8> {
        let mut words = [0_u32; WORDS];
        for (word, value) in [
            (0, 0xa92b_4efc),
            (2, 90),
            (5, self.id),
            (6, 1_000_000_000),
            (7, self.level.cast_unsigned()),
            (8, self.size_kib),
            (9, self.count),
            (10, self.count),
            (13, self.id),
            (14, self.id),
            (15, self.id),
            (32, 1_000_000_001),
            (33, if self.has_bitmap { 0x101 } else { 1 }),
            (34, self.count),
            (35, self.count),
            (39, self.events),
            (64, self.layout),
            (65, self.chunk_bytes),
        ] {
            words[word] = value;
        }
        for place in 0..self.count {
            let at = FIRST_DESCRIPTOR + DESCRIPTOR_WORDS * place as usize;
            (words[at], words[at + 3], words[at + 4]) = (place, place, IN_USE);
        }
        let own = FIRST_DESCRIPTOR + DESCRIPTOR_WORDS * number as usize;
        words.copy_within(own..own + DESCRIPTOR_WORDS, THIS_DESCRIPTOR);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        OldSuperblock::mend(&mut bytes);
        bytes
    }

    /// Makes the checksum fit what the 4096 bytes say: the sum of all other words, its carries
    /// added once.
    pub fn mend(bytes: &mut [u8]) {
        let at = 4 * CHECKSUM;
        bytes[at..at + 4].fill(0);
        let words = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let sum: u64 = words.map(u64::from).sum();
        let folded = (sum as u32).wrapping_add((sum >> 32) as u32);
        bytes[at..at + 4].copy_from_slice(&folded.to_le_bytes());
    }
}

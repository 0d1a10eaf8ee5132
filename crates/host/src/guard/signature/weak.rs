//! Formats whose mark is two or three bytes, which random data carry now and then: more of the
//! structure has to make sense. Each check alone takes random data for its format less often than
//! once in 2^27.

/// The name of a format, and whether the start of a file is one.
type Check = (&'static str, fn(&[u8]) -> bool);

/// All of them, by the start of a file. FAT and NTFS carry the mark of a boot sector too.
pub(super) const AT_THE_START: &[Check] = &[
    ("ext2/ext3/ext4", is_ext),
    ("HFS", is_hfs),
    ("Minix", is_minix),
    ("NILFS2", |start| is_nilfs(start.get(0x400..).unwrap_or_default())),
    ("gzip file", is_gzip),
    ("partition table (Apple)", is_apple),
    ("partition table (Sun)", is_sun),
    ("partition table (Atari)", is_atari),
    ("FAT", is_fat),
    ("partition table (MBR)", is_mbr),
];

/// All of them, by the last whole sector of 512 bytes.
pub(super) const IN_THE_LAST_SECTOR: &[Check] =
    &[("firmware RAID member (VIA)", is_via), ("firmware RAID member (JMicron)", is_jmicron)];

fn little(bytes: &[u8], offset: usize, length: usize) -> Option<u64> {
    let field = bytes.get(offset..offset + length)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn big(bytes: &[u8], offset: usize, length: usize) -> Option<u64> {
    let field = bytes.get(offset..offset + length)?;
    Some(field.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The superblock at 1024. An external journal has one too, without inodes.
fn is_ext(start: &[u8]) -> bool {
    const JOURNAL_DEVICE: u64 = 8;
    let field = |offset: usize, length| little(start, 0x400 + offset, length).unwrap_or(0);
    let is_journal = field(0x60, 4) & JOURNAL_DEVICE != 0 && field(0x4c, 4) <= 1;
    field(0x38, 2) == 0xef53
        && field(0x18, 4) <= 6
        && field(0x4, 4) > 0
        && (field(0, 4) > 0 || is_journal)
}

/// The master directory block: allocation blocks of whole sectors, a name of at most 27 bytes.
fn is_hfs(start: &[u8]) -> bool {
    let block = big(start, 0x400 + 20, 4).unwrap_or(0);
    start.get(0x400..0x402) == Some(b"BD")
        && (512..1 << 24).contains(&block)
        && block.is_multiple_of(512)
        && start.get(0x400 + 36).is_some_and(|length| *length <= 27)
}

/// Versions 1 and 2, whose inodes and zones the bitmaps have room for.
fn is_minix(start: &[u8]) -> bool {
    const MAGICS: [u64; 4] = [0x137f, 0x138f, 0x2468, 0x2478];
    const BITS: u64 = 8 * 1024;
    [little, big].into_iter().any(|read| {
        let field = |offset: usize, length| read(start, 0x400 + offset, length).unwrap_or(0);
        let (inodes, zones) = (field(0, 2), field(2, 2));
        let (inode_blocks, zone_blocks) = (field(4, 2), field(6, 2));
        MAGICS.contains(&field(16, 2))
            && inodes > 0
            && (1..=8).contains(&inode_blocks)
            && inode_blocks * BITS >= inodes
            && zone_blocks * BITS >= zones
            && zone_blocks > 0
            && field(8, 2) >= 2 + inode_blocks + zone_blocks
            && field(10, 2) <= 4
    })
}

/// A superblock of NILFS2: its revision is 2, and it says how long it is.
pub(super) fn is_nilfs(block: &[u8]) -> bool {
    let field = |offset, length| little(block, offset, length).unwrap_or(0);
    field(0, 4) == 2 && field(6, 2) == 0x3434 && field(8, 2) <= 1024 && field(20, 4) <= 6
}

/// The only method there is, no reserved flag, and a system that is known.
fn is_gzip(start: &[u8]) -> bool {
    let at = |offset: usize| start.get(offset).copied().unwrap_or(0xfe);
    start.starts_with(&[0x1f, 0x8b, 8])
        && at(3) & 0xe0 == 0
        && matches!(at(8), 0 | 2 | 4)
        && matches!(at(9), 0..=13 | 255)
}

/// The driver descriptor in front of Apple's partition map, of a block size that drives have.
fn is_apple(start: &[u8]) -> bool {
    start.starts_with(b"ER") && matches!(big(start, 2, 2), Some(512 | 1024 | 2048 | 4096))
}

/// Sun's label: the words of its sector together come to nothing.
fn is_sun(start: &[u8]) -> bool {
    let Some(sector) = start.get(..512) else { return false };
    let sum = sector
        .chunks_exact(2)
        .fold(0, |sum, word| sum ^ u16::from_be_bytes(word.try_into().expect("two bytes")));
    sector[508..510] == [0xda, 0xbe] && sum == 0
}

/// Four entries, those in use of a kind that is known and of some length, and the length of the
/// disk before them.
fn is_atari(start: &[u8]) -> bool {
    const KINDS: [&[u8]; 8] = [b"GEM", b"BGM", b"XGM", b"LNX", b"SWP", b"RAW", b"MIX", b"UNX"];
    let Some(entries) = start.get(0x1c6..0x1f6) else { return false };
    let is_used = |entry: &[u8]| entry[0] & 1 != 0;
    let is_sane = |entry: &[u8]| {
        !is_used(entry)
            || entry[0] & 0x7e == 0 && KINDS.contains(&&entry[1..4]) && entry[8..] != [0; 4]
    };
    let mut all = entries.chunks_exact(12);
    all.clone().all(is_sane) && all.any(is_used)
}

/// A boot sector with the parameters of a FAT file system: a jump, sizes that are powers of two,
/// one or two tables, a kind of medium that there is.
fn is_fat(start: &[u8]) -> bool {
    let field = |offset, length| little(start, offset, length).unwrap_or(0);
    let clusters = field(13, 1);
    matches!((field(0, 1), field(2, 1)), (0xeb, 0x90) | (0xe9, _))
        && field(510, 2) == 0xaa55
        && matches!(field(11, 2), 512 | 1024 | 2048 | 4096)
        && clusters.is_power_of_two()
        && field(14, 2) > 0
        && matches!(field(16, 1), 1 | 2)
        && matches!(field(21, 1), 0xf0 | 0xf8..)
}

/// A boot sector's partition table: four entries that are active or not, and nothing else, one of
/// them in use, or a disk that was given a number and no partition yet.
fn is_mbr(start: &[u8]) -> bool {
    let Some(entries) = start.get(446..510) else { return false };
    let mut all = entries.chunks_exact(16);
    let is_sane = all.clone().all(|entry| matches!(entry[0], 0 | 0x80));
    let is_empty = entries.iter().all(|byte| *byte == 0);
    start.get(510..512) == Some(&[0x55, 0xaa])
        && is_sane
        && (all.any(|entry| entry[4] != 0) || is_empty && little(start, 440, 4) != Some(0))
}

/// VIA's: a version that there is, and its bytes come to their sum, or there is nothing else.
fn is_via(sector: &[u8]) -> bool {
    let sum = sector[..50].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    sector.starts_with(&[0x55, 0xaa])
        && sector[2] <= 2
        && (sum == sector[50] || is_empty(&sector[3..]))
}

/// JMicron's: the words of its structure come to nothing, or to one, or there is nothing else.
fn is_jmicron(sector: &[u8]) -> bool {
    let words = sector[..128].chunks_exact(2);
    let sum = words.fold(0_u16, |sum, word| {
        sum.wrapping_add(u16::from_le_bytes(word.try_into().expect("two bytes")))
    });
    sector.starts_with(b"JM") && (sum <= 1 || is_empty(&sector[2..]))
}

/// A mark alone in its sector: libblkid takes these for theirs, whatever their sums are.
fn is_empty(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far from the start they look, and more.
    const START_BYTES: usize = 0x1000;

    fn start(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; START_BYTES];
        for (offset, part) in parts {
            bytes[*offset..offset + part.len()].copy_from_slice(part);
        }
        bytes
    }

    fn found(bytes: &[u8]) -> Option<&'static str> {
        AT_THE_START.iter().find(|(_, is_it)| is_it(bytes)).map(|(name, _)| *name)
    }

    /// Of each format one that is sound, and the same with one field that makes no sense.
    #[test]
    fn each_is_found_and_not_without_a_field_that_makes_sense() {
        let sun = {
            let mut sector = start(&[(0, b"label"), (508, &[0xda, 0xbe])]);
            let sum = sector[..512]
                .chunks_exact(2)
                .fold([0, 0], |sum, word| [sum[0] ^ word[0], sum[1] ^ word[1]]);
            sector[510..512].copy_from_slice(&sum);
            sector
        };
        let ext = start(&[(0x400, &[1]), (0x404, &[1]), (0x418, &[2]), (0x438, &[0x53, 0xef])]);
        let journal = start(&[(0x404, &[1]), (0x438, &[0x53, 0xef]), (0x44c, &[1]), (0x460, &[8])]);
        let hfs = start(&[(0x400, b"BD"), (0x414, &[0, 0, 0x10, 0]), (0x424, &[4])]);
        let minix =
            start(&[(0x400, &[0, 2, 0, 8, 1, 0, 1, 0, 19, 0, 0, 0]), (0x410, &[0x68, 0x24])]);
        let minix_big =
            start(&[(0x400, &[2, 0, 8, 0, 0, 1, 0, 1, 0, 19, 0, 0]), (0x410, &[0x13, 0x7f])]);
        let nilfs = start(&[(0x400, &[2]), (0x406, &[0x34, 0x34, 0x18, 1]), (0x414, &[2])]);
        let gzip = start(&[(0, &[0x1f, 0x8b, 8, 8, 1, 2, 3, 4, 0, 3])]);
        let apple = start(&[(0, b"ER\x02\0")]);
        let atari = start(&[(0x1c6, b"\x01GEM\0\0\0\x02\0\0\x10\0")]);
        let fat = start(&[
            (0, &[0xeb, 0x3c, 0x90]),
            (11, &[0, 2, 4, 1, 0, 2]),
            (21, &[0xf8]),
            (510, &[0x55, 0xaa]),
        ]);
        let mbr = start(&[(446, &[0x80]), (450, &[0x83]), (510, &[0x55, 0xaa])]);
        let empty = start(&[(440, &[1, 2, 3, 4]), (510, &[0x55, 0xaa])]);
        for (name, sound, at, wrong) in [
            ("ext2/ext3/ext4", ext, 0x418, 7),
            ("ext2/ext3/ext4", journal, 0x460, 0),
            ("HFS", hfs, 0x424, 28),
            ("Minix", minix, 0x40a, 5),
            ("Minix", minix_big, 0x405, 9),
            ("NILFS2", nilfs, 0x400, 3),
            ("gzip file", gzip, 9, 14),
            ("partition table (Apple)", apple, 2, 3),
            ("partition table (Sun)", sun, 0, b'x'),
            ("partition table (Atari)", atari, 0x1c7, b'x'),
            ("FAT", fat, 13, 3),
            ("partition table (MBR)", mbr, 446, 1),
            ("partition table (MBR)", empty, 450, 0),
        ] {
            assert_eq!(found(&sound), Some(name));
            let mut unsound = sound.clone();
            unsound[at] = wrong;
            if wrong != sound[at] {
                assert_eq!(found(&unsound), None, "{name} without what is at {at}");
            }
        }
        assert_eq!(found(&start(&[(510, &[0x55, 0xaa])])), None);
        assert_eq!(found(&start(&[(0x438, &[0x53, 0xef])])), None);
    }

    #[test]
    fn members_of_firmware_are_told_by_their_sums() {
        let mut via = vec![0; 512];
        via[..4].copy_from_slice(&[0x55, 0xaa, 1, 7]);
        via[50] = 0xff_u8.wrapping_add(8);
        let mut jmicron = vec![0; 512];
        jmicron[..2].copy_from_slice(b"JM");
        jmicron[2..4].copy_from_slice(&0x0001_u16.to_le_bytes());
        let sum = u16::from_le_bytes(*b"JM").wrapping_add(1);
        jmicron[4..6].copy_from_slice(&sum.wrapping_neg().to_le_bytes());
        assert!(is_via(&via) && is_jmicron(&jmicron));
        (via[3], jmicron[6]) = (8, 9);
        assert!(!is_via(&via) && !is_jmicron(&jmicron));
        let alone = |mark: &[u8]| [mark, &[0; 510]].concat();
        assert!(is_via(&alone(&[0x55, 0xaa])) && is_jmicron(&alone(b"JM")));
    }
}

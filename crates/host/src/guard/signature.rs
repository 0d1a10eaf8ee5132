//! Finds out what a file or disk holds, by the marks that file systems, arrays, volume managers,
//! partition tables and disk images leave at fixed places. It only reads. The offsets are those of
//! the formats' own documents.
//!
//! A mark is a few bytes; where they are so few that random data carry them now and then, more of
//! the structure is checked.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes at one place that tell a format.
struct Mark {
    name: &'static str,
    offset: u64,
    bytes: &'static [u8],
}

const fn mark(name: &'static str, offset: u64, bytes: &'static [u8]) -> Mark {
    Mark { name, offset, bytes }
}

/// Marks at fixed places from the start.
const MARKS: &[Mark] = &[
    mark("XFS", 0, b"XFSB"),
    mark("btrfs", 0x1_0040, b"_BHRfS_M"),
    mark(
        "bcachefs or bcache",
        0x1018,
        &[
            0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba,
            0x6d, 0x81,
        ],
    ),
    mark("f2fs", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    mark("JFS", 0x8000, b"JFS1"),
    mark("ReiserFS", 0x1_0034, b"ReIsEr"),
    mark("ReiserFS", 0x2034, b"ReIsEr"),
    mark("APFS", 32, b"NXSB"),
    mark("EROFS", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0]),
    mark("squashfs", 0, b"hsqs"),
    mark("NTFS", 3, b"NTFS    "),
    mark("exFAT", 3, b"EXFAT   "),
    mark("FAT", 0x36, b"FAT12   "),
    mark("FAT", 0x36, b"FAT16   "),
    mark("FAT", 0x36, b"FAT     "),
    mark("FAT", 0x52, b"FAT32   "),
    mark("ISO 9660", 0x8001, b"CD001"),
    mark("UDF", 0x8001, b"BEA01"),
    mark("LUKS", 0, b"LUKS\xba\xbe"),
    mark("LUKS (second header)", 0x4000, b"SKUL\xba\xbe"),
    mark("LVM physical volume", 0x000, b"LABELONE"),
    mark("LVM physical volume", 0x200, b"LABELONE"),
    mark("LVM physical volume", 0x400, b"LABELONE"),
    mark("LVM physical volume", 0x600, b"LABELONE"),
    mark("md array member (version 1.1)", 0, &MD_MAGIC),
    mark("md array member (version 1.2)", 4096, &MD_MAGIC),
    mark("Ceph BlueStore", 0, b"bluestore block device"),
    mark("GPT partition table", 512, b"EFI PART"),
    mark("GPT partition table", 4096, b"EFI PART"),
];

/// Marks of disk images: files whose bytes are not those of the disk that they stand for, or not
/// only.
const IMAGES: &[Mark] = &[
    mark("qcow2 image", 0, b"QFI\xfb"),
    mark("QED image", 0, b"QED\0"),
    mark("VMDK image", 0, b"KDMV"),
    mark("VMDK image", 0, b"COWD"),
    mark("VMDK description", 0, b"# Disk DescriptorFile"),
    mark("VHDX image", 0, b"vhdxfile"),
    // A dynamic or differencing VHD begins with a copy of its footer.
    mark("VHD image", 0, VHD),
    mark("VDI image", 0x40, &[0x7f, 0x10, 0xda, 0xbe]),
    mark("Parallels image", 0, b"WithoutFreeSpace"),
    mark("Parallels image", 0, b"WithouFreSpacExt"),
    mark("sparse image of macOS", 0, b"sprs"),
];
/// How a VHD's footer begins.
const VHD: &[u8] = b"conectix";
/// How the last sector of a DMG begins.
const DMG: &[u8] = b"koly";

/// 0xa92b4efc, little-endian.
const MD_MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
/// Swap's mark ends the first page, whatever the page size of the machine that made it.
const SWAP_PAGES_BYTES: [u64; 4] = [4096, 8192, 16384, 65536];
/// ZFS: 0x00bab10c in either byte order, in each of four labels of 256 KiB; within one, uberblocks
/// from 128 KiB on, each at a multiple of 1 KiB.
const ZFS_MAGIC: [[u8; 8]; 2] =
    [[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c]];
const ZFS_LABEL_BYTES: u64 = 256 << 10;

/// Where the superblock of version 1.2 is, how much it takes up, and where in it its array's
/// identity is, in bytes.
const MD_1_2_AT: u64 = 4096;
const MD_1_2_BYTES: u64 = 4096;
const MD_UUID_AT: usize = 16;

/// A file or device as it would be without a superblock of one of these arrays.
pub(super) struct WithoutArray<'a> {
    file: &'a File,
    is_member: bool,
}

impl WithoutArray<'_> {
    /// # Errors
    /// What the system says about reading.
    pub(super) fn of<'a>(
        file: &'a File,
        arrays: &HashSet<[u8; 16]>,
    ) -> io::Result<WithoutArray<'a>> {
        let start = read_up_to(file, MD_1_2_AT, MD_UUID_AT + 16)?;
        let uuid = start.get(MD_UUID_AT..).and_then(|uuid| uuid.first_chunk());
        let is_member =
            start.starts_with(&MD_MAGIC) && uuid.is_some_and(|uuid| arrays.contains(uuid));
        Ok(WithoutArray { file, is_member })
    }
}

impl FileExt for WithoutArray<'_> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.file.read_at(bytes, offset)?;
        for (at, byte) in (offset..).zip(&mut bytes[..count]) {
            if self.is_member && (MD_1_2_AT..MD_1_2_AT + MD_1_2_BYTES).contains(&at) {
                *byte = 0;
            }
        }
        Ok(count)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Reads as much of `length` bytes at `offset` as there is.
pub fn read_up_to(file: &impl FileExt, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn number(bytes: &[u8], offset: usize, length: usize) -> Option<u64> {
    let field = bytes.get(offset..offset + length)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The ext superblock at 1024: its mark is two bytes, so the fields around it have to make sense
/// too.
fn is_ext(start: &[u8]) -> bool {
    let block_shift = number(start, 0x418, 4);
    let (blocks, inodes) = (number(start, 0x404, 4), number(start, 0x400, 4));
    number(start, 0x438, 2) == Some(0xef53)
        && block_shift.is_some_and(|shift| shift <= 6)
        && blocks > Some(0)
        && inodes > Some(0)
}

/// A boot sector's partition table: four entries that are active or not, and nothing else, one of
/// them in use.
fn is_mbr(start: &[u8]) -> bool {
    let Some(entries) = start.get(446..510) else { return false };
    let sane = entries.chunks_exact(16).all(|entry| matches!(entry[0], 0 | 0x80));
    start.get(510..512) == Some(&[0x55, 0xaa])
        && sane
        && entries.chunks_exact(16).any(|entry| entry[4] != 0)
}

/// The kind of disk image that a file is, or `None` for what may be the bytes of a disk themselves.
///
/// # Errors
/// What the system says about reading.
pub fn find_image(file: &impl FileExt, size_bytes: u64) -> io::Result<Option<&'static str>> {
    let start = read_up_to(file, 0, 512)?;
    let begins = |mark: &&Mark| {
        start.get(mark.offset as usize..).is_some_and(|rest| rest.starts_with(mark.bytes))
    };
    if let Some(mark) = IMAGES.iter().find(begins) {
        return Ok(Some(mark.name));
    }
    // A fixed VHD has its footer at the end and nowhere else; the first versions of Virtual PC
    // wrote one of 511 bytes.
    for (name, bytes, from_end) in [
        ("VHD image of fixed size", VHD, 512),
        ("VHD image of fixed size", VHD, 511),
        ("DMG image", DMG, 512),
    ] {
        if let Some(offset) = size_bytes.checked_sub(from_end)
            && read_up_to(file, offset, bytes.len())? == bytes
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The name of what the file holds, or `None` when nothing is known of it.
///
/// # Errors
/// What the system says about reading; then nothing is known, and the caller has to refuse.
pub fn find(file: &impl FileExt, size_bytes: u64) -> io::Result<Option<&'static str>> {
    let start = read_up_to(file, 0, 0x1_1000)?;
    let at = |offset: u64, bytes: &[u8]| {
        let offset = usize::try_from(offset).expect("within the start");
        start.get(offset..offset + bytes.len()) == Some(bytes)
    };
    if let Some(mark) = MARKS.iter().find(|mark| at(mark.offset, mark.bytes)) {
        return Ok(Some(mark.name));
    }
    if is_ext(&start) {
        return Ok(Some("ext2/ext3/ext4"));
    }
    if SWAP_PAGES_BYTES
        .iter()
        .any(|page| at(page - 10, b"SWAPSPACE2") || at(page - 10, b"SWAP-SPACE"))
    {
        return Ok(Some("swap space"));
    }
    if let Some(name) = at_the_end(file, size_bytes)? {
        return Ok(Some(name));
    }
    if let Some(name) = find_image(file, size_bytes)? {
        return Ok(Some(name));
    }
    if is_zfs(file, size_bytes)? {
        return Ok(Some("ZFS"));
    }
    // Last, because FAT and NTFS carry its mark too.
    Ok(is_mbr(&start).then_some("partition table (MBR)"))
}

fn at_the_end(file: &impl FileExt, size_bytes: u64) -> io::Result<Option<&'static str>> {
    let begins = |offset: u64, bytes: &[u8]| {
        Ok::<_, io::Error>(read_up_to(file, offset, bytes.len())? == bytes)
    };
    // md 1.0: 8 KiB before the end, rounded down to 4 KiB. md 0.90: the last 64 KiB that is wholly
    // there, at a multiple of 64 KiB, in the byte order of the machine that made it.
    let version_1_0 = size_bytes.checked_sub(8 << 10).map(|offset| offset & !0xfff);
    let version_0_90 = (size_bytes & !0xffff).checked_sub(64 << 10);
    if let Some(offset) = version_1_0
        && begins(offset, &MD_MAGIC)?
    {
        return Ok(Some("md array member (version 1.0)"));
    }
    if let Some(offset) = version_0_90 {
        let reversed = [MD_MAGIC[3], MD_MAGIC[2], MD_MAGIC[1], MD_MAGIC[0]];
        if begins(offset, &MD_MAGIC)? || begins(offset, &reversed)? {
            return Ok(Some("md array member (version 0.90)"));
        }
    }
    for sector_bytes in [512, 4096] {
        if let Some(offset) = size_bytes.checked_sub(sector_bytes)
            && begins(offset, b"EFI PART")?
        {
            return Ok(Some("GPT partition table (backup)"));
        }
    }
    // The two formats of firmware that md assembles too: DDF's anchor is the last sector, Intel's
    // the last but one.
    for sector_bytes in [512, 4096] {
        if let Some(offset) = size_bytes.checked_sub(sector_bytes)
            && begins(offset, &[0xde, 0x11, 0xde, 0x11])?
        {
            return Ok(Some("firmware RAID member (DDF)"));
        }
        if let Some(offset) = size_bytes.checked_sub(2 * sector_bytes)
            && begins(offset, b"Intel Raid ISM Cfg Sig. ")?
        {
            return Ok(Some("firmware RAID member (Intel)"));
        }
    }
    Ok(None)
}

fn is_zfs(file: &impl FileExt, size_bytes: u64) -> io::Result<bool> {
    let whole = size_bytes & !(ZFS_LABEL_BYTES - 1);
    let labels = [
        Some(0),
        Some(ZFS_LABEL_BYTES),
        whole.checked_sub(2 * ZFS_LABEL_BYTES),
        whole.checked_sub(ZFS_LABEL_BYTES),
    ];
    for label in labels.into_iter().flatten() {
        let uberblocks = read_up_to(file, label + (128 << 10), 128 << 10)?;
        if uberblocks
            .chunks(1024)
            .any(|block| ZFS_MAGIC.iter().any(|magic| block.starts_with(magic)))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 4 << 20;

    fn planted(marks: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        for (offset, bytes) in marks {
            file.write_all_at(bytes, *offset).unwrap();
        }
        file
    }

    #[test]
    fn an_empty_file_and_random_data_carry_nothing() {
        assert_eq!(find(&planted(&[]), SIZE).unwrap(), None);
        let mut random = reactor::Random::with_seed(7);
        let bytes: Vec<u8> = (0..SIZE).map(|_| random.u8(..)).collect();
        assert_eq!(find(&planted(&[(0, &bytes)]), SIZE).unwrap(), None, "seed 7");
        assert_eq!(find(&tempfile::tempfile().unwrap(), 0).unwrap(), None);
    }

    #[test]
    fn an_array_of_our_own_hides_itself_and_nothing_else() {
        let superblock = |uuid: [u8; 16]| [&MD_MAGIC[..], &[0; 12], &uuid].concat();
        let own = HashSet::from([[7; 16]]);
        let found = |marks: &[(u64, &[u8])]| {
            let file = planted(marks);
            find(&WithoutArray::of(&file, &own).unwrap(), SIZE).unwrap()
        };
        assert_eq!(found(&[(4096, &superblock([7; 16]))]), None);
        assert_eq!(
            found(&[(4096, &superblock([8; 16]))]),
            Some("md array member (version 1.2)"),
            "another's"
        );
        assert_eq!(found(&[(4096, &superblock([7; 16])), (0, b"XFSB")]), Some("XFS"));
    }

    #[test]
    fn every_mark_of_the_table_is_found() {
        for mark in MARKS.iter().chain(IMAGES) {
            assert_eq!(
                find(&planted(&[(mark.offset, mark.bytes)]), SIZE).unwrap(),
                Some(mark.name)
            );
        }
        for mark in MARKS {
            assert_eq!(
                find_image(&planted(&[(mark.offset, mark.bytes)]), SIZE).unwrap(),
                None,
                "{}",
                mark.name
            );
        }
        for mark in IMAGES {
            assert_eq!(
                find_image(&planted(&[(mark.offset, mark.bytes)]), SIZE).unwrap(),
                Some(mark.name)
            );
        }
    }

    #[test]
    fn formats_that_need_more_than_a_mark_are_found() {
        let ext: &[(u64, &[u8])] =
            &[(0x400, &[1]), (0x404, &[1]), (0x418, &[2]), (0x438, &[0x53, 0xef])];
        assert_eq!(find(&planted(ext), SIZE).unwrap(), Some("ext2/ext3/ext4"));
        for page in SWAP_PAGES_BYTES {
            assert_eq!(
                find(&planted(&[(page - 10, b"SWAPSPACE2")]), SIZE).unwrap(),
                Some("swap space")
            );
        }
        for offset in [0, ZFS_LABEL_BYTES, SIZE - 2 * ZFS_LABEL_BYTES, SIZE - ZFS_LABEL_BYTES] {
            assert_eq!(
                find(&planted(&[(offset + (128 << 10) + 1024 * 5, &ZFS_MAGIC[0])]), SIZE).unwrap(),
                Some("ZFS")
            );
        }
        let mbr: &[(u64, &[u8])] = &[(446, &[0x80]), (450, &[0x83]), (510, &[0x55, 0xaa])];
        assert_eq!(find(&planted(mbr), SIZE).unwrap(), Some("partition table (MBR)"));
    }

    #[test]
    fn what_stands_at_the_end_is_found() {
        assert_eq!(
            find(&planted(&[(SIZE - (8 << 10), &MD_MAGIC)]), SIZE).unwrap(),
            Some("md array member (version 1.0)")
        );
        assert_eq!(
            find(&planted(&[(SIZE - (64 << 10), &MD_MAGIC)]), SIZE).unwrap(),
            Some("md array member (version 0.90)")
        );
        assert_eq!(
            find(&planted(&[(SIZE - (64 << 10), &[0xa9, 0x2b, 0x4e, 0xfc])]), SIZE).unwrap(),
            Some("md array member (version 0.90)")
        );
        assert_eq!(
            find(&planted(&[(SIZE - 512, b"EFI PART")]), SIZE).unwrap(),
            Some("GPT partition table (backup)")
        );
        assert_eq!(
            find(&planted(&[(SIZE - 512, &[0xde, 0x11, 0xde, 0x11])]), SIZE).unwrap(),
            Some("firmware RAID member (DDF)")
        );
        let intel: &[u8] = b"Intel Raid ISM Cfg Sig. 1.3.00";
        assert_eq!(
            find(&planted(&[(SIZE - 1024, intel)]), SIZE).unwrap(),
            Some("firmware RAID member (Intel)")
        );
    }

    /// A fixed VHD is a disk with a footer: what the disk holds must not hide that.
    #[test]
    fn a_footer_tells_an_image_whatever_stands_before_it() {
        for (from_end, bytes, name) in [
            (512, VHD, "VHD image of fixed size"),
            (511, VHD, "VHD image of fixed size"),
            (512, DMG, "DMG image"),
        ] {
            let footer = (SIZE - from_end, bytes);
            assert_eq!(find(&planted(&[footer]), SIZE).unwrap(), Some(name));
            let disk = planted(&[footer, (0, b"XFSB")]);
            assert_eq!(
                (find(&disk, SIZE).unwrap(), find_image(&disk, SIZE).unwrap()),
                (Some("XFS"), Some(name))
            );
        }
        assert_eq!(find_image(&planted(&[(SIZE - 1024, VHD)]), SIZE).unwrap(), None);
        for size in [0, 3, 8, 511, 512] {
            assert_eq!(find_image(&planted(&[]), size).unwrap(), None);
        }
    }

    #[test]
    fn two_bytes_of_ext_or_of_a_boot_sector_alone_say_nothing() {
        assert_eq!(find(&planted(&[(0x438, &[0x53, 0xef])]), SIZE).unwrap(), None);
        assert_eq!(find(&planted(&[(510, &[0x55, 0xaa])]), SIZE).unwrap(), None);
    }
}

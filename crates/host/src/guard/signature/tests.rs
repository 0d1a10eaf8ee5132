use std::fs::File;
use std::process::Stdio;

use super::*;

/// How large a file is that [`planted`] makes.
pub(super) const SIZE: u64 = 4 << 20;

/// A file of zeroes but for these bytes at these offsets.
pub(super) fn planted(marks: &[(u64, &[u8])]) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(SIZE).unwrap();
    for (offset, bytes) in marks {
        file.write_all_at(bytes, *offset).unwrap();
    }
    file
}

/// A file of random data that is made where it is read: whatever is looked at, and nothing else.
struct Random {
    seed: u64,
    repeats_bytes: u64,
}

impl FileExt for Random {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = buffer.len();
        let period = usize::try_from(self.repeats_bytes).map_or(length, |bytes| bytes.min(length));
        let mut filled = 0;
        while filled < period {
            let place = (offset + filled as u64) % self.repeats_bytes;
            let word = mix(self.seed.wrapping_add(mix(place / 8))).to_le_bytes();
            let from = (place % 8) as usize;
            let count = (8 - from).min(period - filled);
            buffer[filled..filled + count].copy_from_slice(&word[from..from + count]);
            filled += count;
        }
        // From here on it is what stands one period before.
        while filled < length {
            let count = filled.min(length - filled);
            buffer.copy_within(..count, filled);
            filled += count;
        }
        Ok(length)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        unreachable!("nothing is written")
    }
}

fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// RAIDLOOM_SIGNATURE_IMAGES=25000: the same with more of them, four images for each.
#[test]
fn random_data_and_what_repeats_itself_carry_nothing() {
    let count = std::env::var("RAIDLOOM_SIGNATURE_IMAGES");
    let count: u64 = count.map_or(60, |text| text.parse().expect("a number of images"));
    let size_bytes = 8 << 20;
    for seed in 0..count {
        // Whole files of it, and a sector, a page or a word again and again.
        for repeats_bytes in [u64::MAX, 8, 512, 4096] {
            if repeats_bytes == u64::MAX && seed % 10 != 0 && count < 1000 {
                continue;
            }
            let random = Random { seed, repeats_bytes };
            let found = find(&random, size_bytes).unwrap();
            assert_eq!(found, None, "seed {seed}, again after {repeats_bytes} bytes");
        }
    }
    for byte in 0..=u8::MAX {
        let file = planted(&[(0, &vec![byte; SIZE as usize])]);
        assert_eq!(find(&file, SIZE).unwrap(), None, "nothing but {byte:#x}");
    }
    assert_eq!(find(&tempfile::tempfile().unwrap(), 0).unwrap(), None);
}

/// Every mark at every place, in a file of nothing else.
#[test]
fn every_row_of_the_tables_is_found() {
    // The furthest mark is in the second superblock of btrfs, at 64 MiB.
    let large = 80 << 20;
    let of = |offset: u64, bytes: &[u8]| {
        let file = planted(&[(offset, bytes)]);
        file.set_len(large).unwrap();
        file
    };
    let named = |found: Option<&'static str>, mark: &Mark, offset: u64| {
        assert_eq!(found, Some(mark.name), "{:?} at {offset}", mark.forms[0]);
    };
    for mark in FROM_START.iter().chain(IMAGES) {
        for (offset, bytes) in
            mark.places.iter().flat_map(|at| mark.forms.iter().map(move |bytes| (*at, *bytes)))
        {
            let file = of(offset, bytes);
            named(find(&file, large).unwrap(), mark, offset);
            let is_image = IMAGES.iter().any(|image| image.name == mark.name);
            let expected = is_image.then_some(mark.name);
            assert_eq!(find_image(&file, large).unwrap(), expected, "{}", mark.name);
        }
    }
    for mark in FROM_END {
        for from_end in mark.places {
            for bytes in mark.forms {
                named(find(&of(large - from_end, bytes), large).unwrap(), mark, *from_end);
            }
        }
    }
}

/// Whatever a device carried, it carries nothing once these ranges are zero.
#[test]
fn nothing_is_found_where_the_marked_ranges_are_zero() {
    let places: Vec<u64> = FROM_START.iter().flat_map(|mark| mark.places).copied().collect();
    let sizes = [0, 512, 4096, 70_000, 1 << 20, (1 << 20) + 512, 5_000_192, 80 << 20];
    for size_bytes in sizes.into_iter().chain([(80 << 20) + 131_584]) {
        let ranges = marked_ranges(size_bytes);
        let ends: Vec<u64> = ranges.iter().flat_map(|range| [range.start, range.end]).collect();
        assert!(ends.is_sorted() && ends.iter().all(|end| *end <= size_bytes), "{ranges:?}");
        let is_in = |offset: u64| ranges.iter().any(|range| range.contains(&offset));
        for mark in FROM_START.iter().chain(IMAGES) {
            for offset in mark.places.iter().copied().filter(|offset| *offset < size_bytes) {
                assert!(is_in(offset), "{} at {offset} of {size_bytes}", mark.name);
            }
        }
        let whole = size_bytes & !(ZFS_LABEL_BYTES - 1);
        let from_end = FROM_END.iter().flat_map(|mark| mark.places);
        let at_the_end = from_end.map(|at| (size_bytes & !0x1ff).checked_sub(*at));
        let special = [
            whole.checked_sub(2 * ZFS_LABEL_BYTES),
            size_bytes.checked_sub(8 << 10).map(|offset| offset & !0xfff),
            (size_bytes & !0xffff).checked_sub(64 << 10),
            (size_bytes & !0x1ff).checked_sub(4096),
        ];
        for offset in at_the_end.chain(special).flatten().filter(|offset| *offset < size_bytes) {
            assert!(is_in(offset), "{offset} of {size_bytes}: {ranges:?}");
        }
    }
    assert!(places.iter().any(|place| *place > 1 << 20), "a mark beyond the start is among them");
}

/// What mkfs and its kin make here, which libblkid's `wipefs` knows, is known to the guard.
#[test]
fn whatever_programs_make_that_libblkid_knows_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let made = |program: &str, size_bytes: u64| {
        File::create(&path).unwrap().set_len(size_bytes).unwrap();
        let script = format!("{program} \"$0\"");
        let path = path.display().to_string();
        let folders = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, &path]).env("PATH", folders);
        shell.stdin(Stdio::null()).output().unwrap().status.success()
    };
    let speaks = |program: &str| {
        let mut command = std::process::Command::new(program);
        command.args(["-n", "-O", "TYPE"]).arg(&path);
        command.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
        Some(String::from_utf8_lossy(&command.output().ok()?.stdout).lines().count() > 1)
    };
    let mut count = 0;
    for (program, size_bytes) in MAKERS {
        if !made(program, *size_bytes) {
            continue;
        }
        let Some(is_known) = speaks("wipefs") else {
            testkit::missing!("wipefs is not there: apt-get install util-linux");
            return;
        };
        let found = find(&File::open(&path).unwrap(), *size_bytes).unwrap();
        assert!(!is_known || found.is_some(), "{program}: libblkid knows it, and the guard not");
        count += u32::from(is_known);
    }
    assert!(count > 5, "hardly a program was there that makes a file system");
    // The check can fail: an image that is not there is none.
    assert!(!made("false", 1 << 20) && speaks("wipefs") == Some(false));
}

/// Programs that make something in a file, and its size.
const MAKERS: &[(&str, u64)] = &[
    ("mkfs.ext2 -qF", 64 << 20),
    ("mkfs.ext4 -qF", 64 << 20),
    ("mkfs.ext4 -qF -b 1024", 64 << 20),
    ("mkfs.ext4 -qF -O journal_dev", 64 << 20),
    ("mkfs.xfs -qf", 512 << 20),
    ("mkfs.xfs -qf -m crc=0", 512 << 20),
    ("mkfs.btrfs -qf", 256 << 20),
    ("mkfs.f2fs -qf", 128 << 20),
    ("mkfs.nilfs2 -qf", 256 << 20),
    ("mkfs.jfs -q", 64 << 20),
    ("mkreiserfs -qff", 64 << 20),
    ("mkfs.vfat", 64 << 20),
    ("mkfs.vfat -F 12 -s 16", 16 << 20),
    ("mkfs.vfat -F 32", 128 << 20),
    ("mkfs.ntfs -qFf", 64 << 20),
    ("mkfs.exfat", 64 << 20),
    ("mkfs.minix -1", 16 << 20),
    ("mkfs.minix -2", 16 << 20),
    ("mkfs.minix -3", 16 << 20),
    ("mkfs.bfs", 16 << 20),
    ("mkfs.udf -b 512", 64 << 20),
    ("mkfs.udf -b 2048", 64 << 20),
    ("mkfs.udf -b 4096", 64 << 20),
    ("mkfs.gfs2 -q -O -p lock_nolock", 512 << 20),
    ("mkfs.ocfs2 -q -x -F --fs-features=local", 512 << 20),
    ("mkfs.erofs", 64 << 20),
    ("mkswap", 16 << 20),
    ("echo x | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000", 64 << 20),
    ("echo label:gpt | sfdisk -q", 64 << 20),
    ("echo label:dos | sfdisk -q", 64 << 20),
    ("printf 'label:dos\n,16M\n' | sfdisk -q", 64 << 20),
    ("echo label:sgi | sfdisk -q", 64 << 20),
    ("echo label:sun | sfdisk -q", 64 << 20),
];

#[test]
fn formats_that_need_more_than_a_mark_are_found() {
    let ext: &[(u64, &[u8])] =
        &[(0x400, &[1]), (0x404, &[1]), (0x418, &[2]), (0x438, &[0x53, 0xef])];
    assert_eq!(find(&planted(ext), SIZE).unwrap(), Some("ext2/ext3/ext4"));
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

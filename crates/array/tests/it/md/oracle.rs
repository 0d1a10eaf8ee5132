//! Superblocks of new arrays in sparse files, read by mdadm and blkid; and the places that mdadm
//! chooses, by heart.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use array::geometry::{ParityLayout, Raid0Layout, Raid10Layout};
use array::md::{
    ChecksumVerdict, Consistency, Features, Layout, Level, NewArray, NewMember, Role, Superblock,
    TimeStamp, Version, data_offset_sectors,
};

use crate::md::examine;

/// A command of the system; `None`, with a line that says so, where it is missing. On CI it has to
/// be there.
pub(crate) fn tool(name: &str) -> Option<String> {
    let path = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        .iter()
        .map(|folder| format!("{folder}/{name}"))
        .find(|path| Path::new(path).exists());
    if path.is_none() {
        testkit::missing!("{name} is not installed");
    }
    path
}

/// A sparse file that is gone when the test ends.
pub(crate) struct Image(pub(crate) std::path::PathBuf);

impl Image {
    pub(crate) fn new(size_bytes: u64, at: u64, bytes: &[u8]) -> Image {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("raidloom-md-{}-{}.img", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = env::temp_dir().join(name);
        let file = File::create_new(&path).expect("a file for the member");
        file.set_len(size_bytes).expect("a sparse file");
        let image = Image(path);
        image.write(at, bytes);
        image
    }

    pub(crate) fn write(&self, at: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.0).expect("the image");
        file.write_all_at(bytes, at).expect("room in the image");
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn examined(mdadm: &str, image: &Image) -> String {
    let output = Command::new(mdadm)
        .arg("--examine")
        .arg(&image.0)
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        .output()
        .expect("mdadm runs");
    String::from_utf8(output.stdout).expect("mdadm prints text")
        + &String::from_utf8_lossy(&output.stderr)
}

pub(crate) fn member(index: u8, role: Role, size_sectors: u64) -> NewMember {
    NewMember {
        name: format!("m{index}"),
        size_sectors,
        device_uuid: [index + 1; 16],
        role,
        write_mostly: false,
    }
}

/// An array of equal members.
pub(crate) fn new_array(
    level: Level,
    layout: Layout,
    chunk_sectors: u32,
    count: u8,
    size_sectors: u64,
) -> NewArray {
    NewArray {
        set_uuid: *b"\x12\x34raidloom\xab\xcd\xef\x00\x01\x02",
        name: "host:array".to_owned(),
        created: TimeStamp { seconds: 1_700_000_000, microseconds: 0 },
        level,
        layout,
        chunk_sectors,
        raid_disks: count.into(),
        members: (0..count)
            .map(|index| member(index, Role::Active(index.into()), size_sectors))
            .collect(),
        consistency: Consistency::Resync,
        in_sync: false,
    }
}

/// Every level and layout, several chunks, sizes, and ways to be consistent.
fn many_arrays() -> Vec<NewArray> {
    let mut arrays = Vec::new();
    for size_sectors in [(9 << 11) + 17, 1 << 17, (1 << 21) + 1001, 21 << 21] {
        for chunk in [8, 128, 1024] {
            let mut add = |level, layout, count| {
                arrays.push(new_array(level, layout, chunk, count, size_sectors));
            };
            add(Level::Raid0, Layout::Raid0(Some(Raid0Layout::Original)), 3);
            add(Level::Raid0, Layout::Raid0(Some(Raid0Layout::Alternate)), 2);
            add(Level::Raid4, Layout::Plain, 3);
            ParityLayout::RAID5
                .iter()
                .for_each(|&layout| add(Level::Raid5, Layout::Parity(layout), 3));
            ParityLayout::RAID6
                .iter()
                .for_each(|&layout| add(Level::Raid6, Layout::Parity(layout), 5));
            for layout in [
                Raid10Layout::near(2),
                Raid10Layout::near(3),
                Raid10Layout::far(2),
                Raid10Layout::offset(2),
            ] {
                add(Level::Raid10, Layout::Raid10(layout), 4);
                add(Level::Raid10, Layout::Raid10(layout), 5);
            }
        }
        arrays.push(new_array(Level::Linear, Layout::Plain, 0, 2, size_sectors));
        arrays.push(new_array(Level::Raid1, Layout::Plain, 0, 2, size_sectors));
        let mut spare = new_array(Level::Raid1, Layout::Plain, 0, 2, size_sectors);
        spare.members.push(member(7, Role::Spare, size_sectors));
        spare.members[1].write_mostly = true;
        spare.in_sync = true;
        arrays.push(spare);
        let mut degraded = new_array(
            Level::Raid6,
            Layout::Parity(ParityLayout::LeftSymmetric),
            128,
            6,
            size_sectors,
        );
        degraded.members.remove(2);
        arrays.push(degraded);
    }
    let with_bitmap: Vec<NewArray> = (arrays
        .iter()
        .filter(|array| array.level.is_redundant())
        .step_by(5)
        .cloned())
    .map(|array| NewArray { consistency: Consistency::Bitmap { chunk_bytes: None }, ..array })
    .collect();
    let with_ppl: Vec<NewArray> =
        (arrays.iter().filter(|array| array.level == Level::Raid5).step_by(3).cloned())
            .map(|array| NewArray { consistency: Consistency::Ppl, ..array })
            .collect();
    arrays.extend(with_bitmap);
    arrays.extend(with_ppl);
    arrays
}

#[test]
fn mdadm_reads_every_field_as_it_was_meant() {
    let Some(mdadm) = tool("mdadm") else { return };
    let arrays = many_arrays();
    let mut count = 0;
    for array in &arrays {
        let superblocks = array.superblocks().unwrap_or_else(|error| panic!("{array:?}: {error}"));
        // Of each array the last member; of some, all.
        let skip = if count % 16 == 0 { 0 } else { superblocks.len() - 1 };
        for (member, superblock) in array.members.iter().zip(&superblocks).skip(skip) {
            let bytes = superblock.encode();
            let written = Superblock::decode(&bytes).expect("what was encoded is decoded");
            assert_eq!(Superblock { checksum: 0, ..written.clone() }, *superblock);
            let image = Image::new(member.size_sectors * 512, 4096, &bytes);
            // mdadm does not believe in a bitmap that is not there.
            if let Some(bitmap) = array.bitmap(&superblocks).expect("the bitmap fits") {
                image.write(8192, &bitmap.encode());
            }
            let report = examined(&mdadm, &image);
            let differences = examine::differences(&report, &written, Version::V1_2);
            assert!(differences.is_empty(), "{array:?}\n{}\n{report}", differences.join("\n"));
            count += 1;
        }
    }
    assert!(count > 350, "{count} superblocks were examined");
}

#[test]
fn mdadm_sees_a_wrong_checksum_too() {
    let Some(mdadm) = tool("mdadm") else { return };
    let array = new_array(Level::Raid1, Layout::Plain, 0, 2, 1 << 16);
    let mut bytes = array.superblocks().expect("an array")[0].encode();
    bytes[200] ^= 4;
    let superblock = Superblock::decode(&bytes).expect("the fields are readable");
    let ChecksumVerdict::Wrong { found, expected } = superblock.checksum_verdict() else {
        panic!("the checksum is wrong")
    };
    let report = examined(&mdadm, &Image::new(1 << 25, 4096, &bytes));
    assert_eq!(
        examine::value(&report, "Checksum"),
        Some(format!("{found:x} - expected {expected:x}").as_str()),
        "{report}"
    );
}

#[test]
fn mdadm_reads_versions_1_0_and_1_1() {
    let Some(mdadm) = tool("mdadm") else { return };
    let array = new_array(Level::Raid1, Layout::Plain, 0, 2, 1 << 16);
    for (version, size_sectors) in [
        (Version::V1_0, 1 << 16),
        (Version::V1_0, (1 << 16) + 7),
        (Version::V1_0, (1 << 16) + 8),
        (Version::V1_1, 1 << 16),
    ] {
        let mut superblock = array.superblocks().expect("an array").remove(0);
        superblock.super_offset_sectors =
            version.offset_sectors(size_sectors).expect("large enough");
        if version == Version::V1_0 {
            superblock.data_offset_sectors = 0;
            superblock.data_size_sectors = superblock.super_offset_sectors - 8;
            superblock.size_sectors = superblock.data_size_sectors;
            superblock.bad_block_offset_sectors = -8;
        }
        let bytes = superblock.encode();
        let superblock = Superblock::decode(&bytes).expect("what was encoded is decoded");
        assert_eq!(superblock.problems(version, size_sectors), []);
        let report = examined(
            &mdadm,
            &Image::new(size_sectors * 512, superblock.super_offset_sectors * 512, &bytes),
        );
        let differences = examine::differences(&report, &superblock, version);
        assert!(differences.is_empty(), "{version}\n{}\n{report}", differences.join("\n"));
    }
}

#[test]
fn blkid_sees_a_member() {
    let Some(blkid) = tool("blkid") else { return };
    let array =
        new_array(Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), 128, 3, 1 << 16);
    let image = Image::new(1 << 25, 4096, &array.superblocks().expect("an array")[1].encode());
    let output = Command::new(blkid)
        .args(["-p", "-o", "export"])
        .arg(&image.0)
        .output()
        .expect("blkid runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in [
        "TYPE=linux_raid_member",
        "VERSION=1.2",
        "LABEL=host:array",
        "UUID=12347261-6964-6c6f-6f6d-abcdef000102",
        "UUID_SUB=02020202-0202-0202-0202-020202020202",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    // Without its magic number it is no member: the check above can fail.
    image.write(4096, &[0x55]);
    let output = Command::new(tool("blkid").expect("it ran"))
        .args(["-p", "-o", "export"])
        .arg(&image.0)
        .output()
        .expect("blkid runs");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("linux_raid_member"));
}

/// `places.txt` was printed by mdadm under a real kernel, on members of 12 MiB to 1 TiB.
#[test]
fn places_are_those_that_mdadm_chooses() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/md/places.txt");
    let text = fs::read_to_string(&path).expect("the golden file is there");
    let mut count = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [kib, level, chunk_kib, consistency, places @ ..] = &words[..] else {
            panic!("{line}")
        };
        let number =
            |word: &str| word.parse::<u64>().unwrap_or_else(|error| panic!("{line}: {error}"));
        let (sectors, chunk) = (number(kib) * 2, number(chunk_kib) as u32 * 2);
        let (level, layout, disks) = match *level {
            "linear" => (Level::Linear, Layout::Plain, 1),
            "0" => (Level::Raid0, Layout::Raid0(None), 1),
            "1" => (Level::Raid1, Layout::Plain, 2),
            "5" => (Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), 2),
            "10" => (Level::Raid10, Layout::Raid10(Raid10Layout::near(2)), 2),
            other => panic!("{other}"),
        };
        let mut array = new_array(level, layout, chunk, 1, sectors);
        array.raid_disks = disks;
        array.consistency = match *consistency {
            "resync" => Consistency::Resync,
            "bitmap" => Consistency::Bitmap { chunk_bytes: None },
            "ppl" => Consistency::Ppl,
            other => panic!("{other}"),
        };
        let superblocks = array.superblocks().unwrap_or_else(|error| panic!("{line}: {error}"));
        let superblock = &superblocks[0];
        let found = [
            superblock.data_offset_sectors,
            superblock.data_size_sectors,
            superblock.size_sectors,
            superblock.bad_block_offset_sectors as u64,
        ];
        assert_eq!(
            found.to_vec(),
            places.iter().map(|word| number(word)).collect::<Vec<u64>>(),
            "{line}"
        );
        if let Some(bitmap) = array.bitmap(&superblocks).expect("the bitmap fits") {
            assert_eq!(bitmap.header().chunk_bytes, 64 << 20, "{line}");
            assert_eq!(bitmap.header().sync_size_sectors, superblock.size_sectors, "{line}");
        }
        count += 1;
    }
    assert!(count > 100, "{count} places");
}

#[test]
fn a_members_room_grows_in_steps() {
    let mib = |size_sectors| data_offset_sectors(size_sectors, 128, false) / 2048;
    assert_eq!(
        [1 << 14, 1 << 20, 1 << 21, 1 << 23, 10 << 21, 64 << 21, 128 << 21, 1 << 40].map(mib),
        [1, 1, 2, 5, 9, 65, 129, 129]
    );
}

#[test]
fn what_makes_no_array_is_refused_with_its_reason() {
    let refusal = |change: fn(&mut NewArray)| {
        let mut array =
            new_array(Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), 128, 3, 1 << 16);
        change(&mut array);
        array.superblocks().expect_err("no array").to_string()
    };
    assert!(refusal(|array| array.members[1].size_sectors = 2000).starts_with("m1 is too small"));
    assert!(
        refusal(|array| array.members[2].role = Role::Active(1))
            .starts_with("m2: there is an active member 1 already")
    );
    assert!(
        refusal(|array| array.members[2].role = Role::Active(3))
            .starts_with("m2: member 3 of 3 places")
    );
    assert!(
        refusal(|array| array.members[2].role = Role::Faulty)
            .contains("no use for a member as faulty")
    );
    assert!(refusal(|array| drop(array.members.drain(1..))).contains("too few members for raid5"));
    assert!(refusal(|array| array.chunk_sectors = 96).contains("chunksize"));
    assert!(
        refusal(|array| array.layout = Layout::Parity(ParityLayout::DdfNRestart))
            .contains("raid5 has no layout ddf-N-restart")
    );
    assert!(refusal(|array| array.name = "x".repeat(33)).contains("32 bytes"));
    assert!(
        refusal(|array| array.level = Level::Raid1).contains("raid1 has no layout left-symmetric")
    );
    assert!(
        refusal(|array| array.consistency = Consistency::Bitmap { chunk_bytes: Some(5000) })
            .contains("chunksize")
    );
    assert!(refusal(|array| array.raid_disks = 3000).contains("raid_disks"));
    assert!(
        refusal(|array| array.members.iter_mut().for_each(|member| member.size_sectors = 2049))
            .contains("too small")
    );
    let mut array =
        new_array(Level::Raid6, Layout::Parity(ParityLayout::LeftSymmetric), 128, 4, 1 << 16);
    array.consistency = Consistency::Ppl;
    assert!(
        array
            .superblocks()
            .expect_err("no array")
            .to_string()
            .starts_with("only raid5 can have a partial parity log")
    );
}

#[test]
fn members_agree_on_what_they_share() {
    let mut array =
        new_array(Level::Raid5, Layout::Parity(ParityLayout::LeftSymmetric), 128, 4, 1 << 16);
    array.members[3].size_sectors += 5000;
    array.members.push(member(9, Role::Spare, 1 << 17));
    let superblocks = array.superblocks().expect("an array");
    assert!(superblocks.iter().all(|superblock| superblock.roles == superblocks[0].roles
        && superblock.size_sectors == superblocks[0].size_sectors));
    assert_eq!(
        superblocks.iter().map(|superblock| superblock.member_number).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
    assert_eq!(superblocks[4].role(), Role::Spare);
    assert_eq!(superblocks[3].data_size_sectors, superblocks[0].data_size_sectors + 5000);
    assert_eq!(superblocks[0].resync_offset_sectors, 0, "parity has to be made");
    assert!(!superblocks[0].features.contains(Features::BITMAP));
    assert_eq!(superblocks[0].roles.len(), 128);
}

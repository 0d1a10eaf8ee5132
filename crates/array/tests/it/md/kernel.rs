//! Superblocks of new arrays given to the kernel's own md, which has to assemble and use them; and
//! what it leaves of them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use array::geometry::{ParityLayout, Raid0Layout, Raid10Layout};
use array::md::{
    AssembleOptions, Bitmap, Candidate, ChecksumVerdict, Consistency, Features, Layout, Level,
    NewArray, PplHeader, Role, Startability, Superblock, Version, assemble, ppl_signature,
};

use crate::md::oracle::{Image, member, new_array, tool};

const MEMBER_SECTORS: u64 = 20 << 11;

/// Each with a UUID of its own; the first byte tells them apart.
fn arrays() -> Vec<NewArray> {
    let far = Layout::Raid10(Raid10Layout::far(2));
    let mut arrays = vec![
        new_array(
            Level::Raid0,
            Layout::Raid0(Some(Raid0Layout::Alternate)),
            128,
            2,
            MEMBER_SECTORS,
        ),
        new_array(Level::Raid1, Layout::Plain, 0, 2, MEMBER_SECTORS),
        new_array(
            Level::Raid5,
            Layout::Parity(ParityLayout::RightSymmetric),
            128,
            3,
            MEMBER_SECTORS,
        ),
        new_array(Level::Raid6, Layout::Parity(ParityLayout::DdfNRestart), 64, 4, MEMBER_SECTORS),
        new_array(Level::Raid10, far, 128, 3, MEMBER_SECTORS),
        new_array(Level::Linear, Layout::Plain, 0, 1, MEMBER_SECTORS),
    ];
    arrays[0].members[1].size_sectors += 128 + 17;
    arrays[1].consistency = Consistency::Bitmap { chunk_bytes: Some(64 << 10) };
    arrays[2].consistency = Consistency::Ppl;
    // One of the four is a spare; the kernel rebuilds onto it.
    arrays[3].members[2] = member(3, Role::Spare, MEMBER_SECTORS);
    arrays[4].in_sync = true;
    for (array, number) in arrays.iter_mut().zip(1..) {
        array.set_uuid[0] = number;
    }
    arrays
}

fn superblock_of(image: &Image) -> Superblock {
    let mut bytes = vec![0; 4096];
    File::open(&image.0)
        .and_then(|file| file.read_exact_at(&mut bytes, 4096))
        .expect("the image can be read");
    Superblock::decode(&bytes).expect("the kernel wrote a superblock")
}

/// The members of an array as it was made, each in an image.
fn images_of(array: &NewArray) -> Vec<Image> {
    let superblocks = array.superblocks().expect("an array");
    let bitmap = array.bitmap(&superblocks).expect("the bitmap fits");
    let members = array.members.iter().zip(&superblocks);
    let images = members.map(|(member, superblock)| {
        let image = Image::new(member.size_sectors * 512, 4096, &superblock.encode());
        if let Some(bitmap) = &bitmap {
            image.write(8192, &bitmap.encode());
        }
        if array.consistency == Consistency::Ppl {
            let header = PplHeader {
                signature: ppl_signature(&array.set_uuid),
                generation: 0,
                entries: Vec::new(),
            };
            image.write(8192, &header.encode());
        }
        image
    });
    images.collect()
}

/// What the kernel is to do with each of them.
fn script_of(arrays: &[NewArray]) -> String {
    let mut script = "#!/bin/bash\nset -e\nset -- $MEMBERS\n".to_owned();
    for (number, array) in arrays.iter().enumerate() {
        let count = array.members.len();
        writeln!(
            script,
            "mdadm --assemble --run /dev/md{number} ${{@:1:{count}}} >&2; shift {count}"
        )
        .expect("text grows");
        // Something is written, so that superblocks, bitmap and log are used. The first write is
        // what starts a resync.
        writeln!(
            script,
            "dd if=/dev/urandom of=/dev/md{number} bs=64k count=3 oflag=direct status=none"
        )
        .expect("text grows");
        writeln!(script, "cat /proc/mdstat >&2; mdadm --wait /dev/md{number} || true")
            .expect("text grows");
        writeln!(
            script,
            "echo $(blockdev --getsz /dev/md{number}) $(cat \
            /sys/block/md{number}/md/degraded 2>/dev/null || echo 0)"
        )
        .expect("text grows");
    }
    script
}

/// Whether the kernel has taken an array over as it was meant; `line` is what it says of it.
fn check_array(number: usize, array: &NewArray, images: &[Image], line: &str, log: &str) {
    let members: Vec<(&Image, Superblock)> =
        images.iter().map(|image| (image, superblock_of(image))).collect();
    let candidates: Vec<Candidate> = (members.iter().zip(&array.members))
        .map(|((_, superblock), member)| {
            let (name, size_sectors) = (member.name.clone(), member.size_sectors);
            Candidate {
                name,
                size_sectors,
                version: Version::V1_2,
                superblock: superblock.clone(),
                bitmap: None,
            }
        })
        .collect();
    let assembly = assemble(&candidates, AssembleOptions::default()).expect("usable members");
    let sectors = assembly.array_sectors.expect("all members are there");
    assert_eq!(
        line,
        format!("{sectors} 0"),
        "array {number}: size in sectors and missing members, as the kernel has them\n{log}"
    );
    assert_eq!((&assembly.start, assembly.clean), (&Startability::Ready, true), "array {number}");
    assert!(
        assembly.left_out.is_empty() && assembly.degraded_count() == 0,
        "array {number}: {:?}",
        assembly.left_out
    );
    for (image, superblock) in &members {
        assert_eq!(superblock.checksum_verdict(), ChecksumVerdict::Correct);
        assert_eq!(superblock.name(), "host:array");
        assert_eq!(
            superblock.events > 0,
            array.level.is_redundant(),
            "array {number}: the kernel took it over"
        );
        if superblock.features.contains(Features::BITMAP) {
            let mut bytes = vec![0; 4096];
            File::open(&image.0)
                .and_then(|file| file.read_exact_at(&mut bytes, 8192))
                .expect("the image can be read");
            let bitmap = Bitmap::decode(&bytes).expect("the kernel kept the bitmap");
            assert_eq!(bitmap.header().accept(&superblock.set_uuid, superblock.events), Ok(()));
        }
        assert_eq!(superblock.features.has_ppl(), array.consistency == Consistency::Ppl);
    }
}

#[test]
fn the_kernel_assembles_what_was_made() {
    if tool("linux.uml").is_none() || tool("mdadm").is_none() {
        return;
    }
    let arrays = arrays();
    let images: Vec<Vec<Image>> = arrays.iter().map(images_of).collect();
    let path = Image::new(0, 0, &[]);
    fs::write(&path.0, script_of(&arrays)).expect("a script");
    fs::set_permissions(&path.0, fs::Permissions::from_mode(0o755)).expect("a script that runs");

    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/uml.sh");
    let mut command = Command::new(harness);
    command
        .args(["-v", "-t", "300"])
        .arg(&path.0)
        .args(images.iter().flatten().map(|image| &image.0));
    let output = command.output().expect("the harness runs");
    let (text, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{text}\n{log}", output.status);

    let with_images = arrays.iter().zip(&images).zip(text.lines());
    for (number, ((array, images), line)) in with_images.enumerate() {
        check_array(number, array, images, line, &log);
    }
    assert_eq!(text.lines().count(), arrays.len());
}

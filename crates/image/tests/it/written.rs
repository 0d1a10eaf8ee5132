//! qcow2 images that are written to: the contract, crashes, and what qemu says of them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use block::{
    Blocking, BufMut, Device, DiscardSupport, Error, ErrorKind, Info, Op, Reactor, Support,
};
use image::{ImageDevice, ImageHeader, ImageOptions, ImageUse};
use reactor::Random;
use testkit::crash::{self, Crashable, Options, Rig};
use testkit::{LyingFlush, Memory, conformance};

use crate::support::{disk, file, has_qemu, holding, shell};

/// The file of an image, with room for all that may be written, and a write cache.
fn file_with_room(bytes: &[u8], room_bytes: Option<u64>) -> Memory {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    let header = ImageHeader::read_from(&*holding(&bytes), &ImageUse::Write, &[]);
    let room = header.expect("an image").room().expect("one to be written to").most_bytes;
    bytes.resize(room_bytes.unwrap_or(room).max(bytes.len() as u64) as usize, 0);
    let info = Info {
        volatile_cache: true,
        fua: Support::Native,
        zeroes: Support::Native,
        discard: DiscardSupport::ReadsZero,
        ..Info::plain(bytes.len() as u64)
    };
    let memory = Memory::with(info);
    let mut channel = blocking(&memory);
    channel.write_slice(0, &bytes).unwrap();
    channel.flush().unwrap();
    memory
}

fn blocking(device: &dyn Device) -> Blocking {
    Blocking::open(device, &Reactor::virtual_clock()).expect("it opens")
}

fn write_to(file: Arc<dyn Device>, backing: Option<Arc<dyn Device>>) -> Result<ImageDevice, Error> {
    let options = ImageOptions { image_use: ImageUse::Write, ..ImageOptions::default() };
    ImageDevice::open(file, backing, options)
}

/// Images of 1 MiB, and whether they lie over `disk`.
const IMAGES: &[(&str, &str)] = &[
    ("plain", "qemu-img create -q -f qcow2 -o cluster_size=4k plain 1M"),
    ("small", "qemu-img convert -f raw -O qcow2 -o cluster_size=512 disk small"),
    ("large", "qemu-img convert -f raw -O qcow2 disk large"),
    ("packed", "qemu-img convert -c -f raw -O qcow2 -o cluster_size=4k disk packed"),
    ("top", "qemu-img create -q -f qcow2 -o cluster_size=4k -b disk -F raw top"),
    (
        "odd",
        "qemu-img create -q -f qcow2 -o cluster_size=32k,preallocation=metadata odd 1025k; \
        qemu-io -f qcow2 -c 'write -z 128k 300k' odd",
    ),
];

#[test]
fn an_image_that_is_written_to_keeps_the_contract() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("disk"), disk(1 << 20, 1)).unwrap();
    for (name, line) in IMAGES {
        shell(folder, line);
        let bytes = fs::read(folder.join(name)).unwrap();
        for is_late in [false, true] {
            let make = || -> Arc<dyn Device> {
                let memory = file_with_room(&bytes, None);
                let memory: Arc<dyn Device> = match is_late {
                    true => Arc::new(memory.delayed(3, Duration::from_millis(5))),
                    false => Arc::new(memory),
                };
                let backing = (*name == "top").then(|| file(folder, "disk"));
                Arc::new(write_to(memory, backing).expect("an image"))
            };
            conformance::run(make, Reactor::virtual_clock, 3)
                .unwrap_or_else(|violation| panic!("{name}: {violation}"));
        }
    }
}

/// Small disks, so that all of them is read after each crash.
const SMALL_IMAGES: &[(&str, &str)] = &[
    ("plain", "qemu-img create -q -f qcow2 -o cluster_size=512 plain 48k"),
    ("wide", "qemu-img create -q -f qcow2 -o cluster_size=4k wide 48k"),
    ("packed", "qemu-img convert -c -f raw -O qcow2 -o cluster_size=2k disk packed"),
    ("top", "qemu-img create -q -f qcow2 -o cluster_size=2k -b disk -F raw top"),
];

/// Crashes at moments of a random history of an image; `after` sees the file of each.
fn crash_everywhere(
    folder: &Path,
    name: &str,
    seed: u64,
    over: fn(Arc<dyn Device>) -> Arc<dyn Device>,
    after: fn(&Path, &Memory),
) -> Result<crash::Summary, testkit::Violation> {
    let bytes = fs::read(folder.join(name)).unwrap();
    let backing = (name == "top").then(|| file(folder, "disk"));
    let blank = Arc::new(file_with_room(&bytes, None));
    let shown = write_to(Arc::clone(&blank) as _, backing.clone()).expect("an image");
    let steps = crash::history(shown.info(), 40, seed);
    let rig = || {
        let memory = file_with_room(&bytes, None).delayed(seed, Duration::from_micros(50));
        let (memory, backing, place) = (Arc::new(memory), backing.clone(), folder.to_owned());
        let members: Vec<Arc<dyn Crashable>> = vec![Arc::clone(&memory) as _];
        let is_first = std::cell::Cell::new(true);
        let start = Box::new(move || {
            if !is_first.replace(false) {
                after(&place, &memory);
            }
            let file = over(Arc::new(memory.reopened()));
            Ok(Arc::new(write_to(file, backing.clone())?) as Arc<dyn Device>)
        });
        Rig { members, start }
    };
    let options = Options { points: 60, states: 2, ..Options::default() };
    crash::enumerate(rig, Reactor::virtual_clock, &steps, &options, seed)
}

/// All that the file of an image holds.
fn bytes_of(memory: &Memory) -> Vec<u8> {
    let mut bytes = vec![0; memory.info().size_bytes as usize];
    blocking(memory).read_slice(0, &mut bytes).unwrap();
    bytes
}

/// qemu finds nothing wrong with an image but clusters that nothing names.
fn qemu_finds_no_more_than_leaks(folder: &Path, memory: &Memory) {
    let image = tempfile::NamedTempFile::new_in(folder).unwrap();
    fs::write(image.path(), bytes_of(memory)).unwrap();
    let ended =
        Command::new("qemu-img").args(["check", "-f", "qcow2"]).arg(image.path()).output().unwrap();
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{ended:?}");
}

fn small_images(folder: &Path) {
    fs::write(folder.join("disk"), disk(48 << 10, 1)).unwrap();
    SMALL_IMAGES.iter().for_each(|(_, line)| drop(shell(folder, line)));
}

#[test]
fn crashes_lose_nothing_durable_and_leave_an_image_that_can_be_written_to() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    small_images(folder.path());
    for (name, _) in SMALL_IMAGES {
        for seed in 0..4 {
            let summary = crash_everywhere(folder.path(), name, seed, |file| file, |_, _| ())
                .unwrap_or_else(|violation| panic!("{name}: {violation}"));
            assert!(summary.crashes > 100, "{name} {seed}: {summary:?}");
        }
    }
}

#[test]
fn after_a_crash_qemu_finds_no_more_than_leaks() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    small_images(folder.path());
    for (name, _) in SMALL_IMAGES {
        crash_everywhere(folder.path(), name, 11, |file| file, qemu_finds_no_more_than_leaks)
            .unwrap_or_else(|violation| panic!("{name}: {violation}"));
    }
}

#[test]
fn a_file_that_does_not_flush_is_found_out() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    small_images(folder.path());
    let lies = |seed| {
        crash_everywhere(folder.path(), "plain", seed, |file| Arc::new(LyingFlush(file)), |_, _| ())
            .err()
    };
    assert!((0..4).find_map(lies).is_some(), "lost flushes are not noticed");
}

/// Writes, zeroes and discards at random places, and the same to `plain`.
fn scribble(device: &dyn Device, plain: &mut [u8], random: &mut Random, steps: usize) {
    let mut channel = blocking(device);
    for _ in 0..steps {
        let sectors = plain.len() / 512;
        let first = random.usize(..sectors);
        let longest = [8, 40, 300][random.usize(..3)];
        let count = random.usize(1..=(sectors - first).min(longest));
        let (offset, length) = ((first * 512) as u64, (count * 512) as u64);
        let range = &mut plain[first * 512..][..count * 512];
        match random.u8(..10) {
            0 => {
                channel.run(Op::WriteZeroes { offset, length, fua: false }).unwrap();
                range.fill(0);
            }
            1 => {
                channel.run(Op::Discard { offset, length }).unwrap();
                range.fill(0);
            }
            2 => channel.flush().unwrap(),
            _ => {
                random.fill(range);
                let mut from = BufMut::zeroed(range.len());
                from.copy_from_slice(range);
                channel.write(offset, from.freeze()).unwrap();
            }
        }
    }
    channel.flush().unwrap();
}

/// What `qemu-io` does to an image, and the same to `plain`.
fn qemu_scribbles(folder: &Path, name: &str, plain: &mut [u8], random: &mut Random) {
    let mut line = format!("qemu-io -f qcow2 {name}");
    for _ in 0..30 {
        let first = random.usize(..plain.len() / 512);
        let count = random.usize(1..=(plain.len() / 512 - first).min(80));
        let range = &mut plain[first * 512..][..count * 512];
        let (byte, how) = match random.u8(..6) {
            0 => (0, "-z".to_owned()),
            1 => (0, "-z -u".to_owned()),
            _ => {
                let byte = random.u8(1..);
                (byte, format!("-P {byte}"))
            }
        };
        range.fill(byte);
        line.push_str(&format!(" -c 'write {how} {} {}'", first * 512, count * 512));
    }
    shell(folder, &line);
}

#[test]
fn what_we_write_qemu_finds_in_order_and_the_other_way_round() {
    if !has_qemu() {
        return;
    }
    let ways = [
        "-O qcow2",
        "-O qcow2 -o cluster_size=512",
        "-O qcow2 -o cluster_size=4k",
        "-O qcow2 -o cluster_size=2M",
        "-O qcow2 -o refcount_bits=1",
        "-O qcow2 -o refcount_bits=2,cluster_size=512",
        "-O qcow2 -o refcount_bits=64,cluster_size=1k",
        "-O qcow2 -o lazy_refcounts=on",
        "-O qcow2 -o preallocation=metadata",
        "-c -O qcow2",
        "-c -O qcow2 -o cluster_size=1k",
        "-c -O qcow2 -o cluster_size=4k,compression_type=zstd",
        "-O qcow2 -o cluster_size=4k -B disk -F raw",
        "-O qcow2 -o cluster_size=64k -B disk -F raw",
    ];
    for (seed, way) in (0..).zip(ways) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut plain = disk((5 << 20) + 3 * 512, seed);
        fs::write(folder.join("disk"), &plain).unwrap();
        shell(folder, &format!("qemu-img convert -f raw {way} disk image"));
        let mut random = Random::with_seed(seed);
        for turn in 0..3 {
            let backing = way.contains("-B").then(|| file(folder, "disk"));
            let memory = Arc::new(file_with_room(&fs::read(folder.join("image")).unwrap(), None));
            let image = write_to(Arc::clone(&memory) as _, backing).expect(way);
            scribble(&image, &mut plain, &mut random, 60);
            drop(image);
            fs::write(folder.join("image"), bytes_of(&memory)).unwrap();
            fs::write(folder.join("plain"), &plain).unwrap();
            let check = "qemu-img check -q -f qcow2 image && \
                qemu-img compare -q -f qcow2 -F raw image plain";
            let ended = Command::new("sh").args(["-c", check]).current_dir(folder).output();
            let ended = ended.unwrap();
            assert!(ended.status.success(), "{way} {turn}: {ended:?}");
            qemu_scribbles(folder, "image", &mut plain, &mut random);
        }
    }
}

#[test]
fn a_table_of_counts_that_is_too_short_is_made_longer() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // One cluster of its table counts 8 MiB.
    shell(folder, "qemu-img create -q -f qcow2 -o cluster_size=512 image 40M");
    let before = fs::read(folder.join("image")).unwrap();
    let place = |bytes: &[u8]| bytes[48..60].to_vec();
    let memory = Arc::new(file_with_room(&before, None));
    let image = write_to(Arc::clone(&memory) as _, None).expect("an image");
    let (mut plain, mut random) = (vec![0; 40 << 20], Random::with_seed(4));
    random.fill(&mut plain[20 << 20..30 << 20]);
    blocking(&image).write_slice(20 << 20, &plain[20 << 20..30 << 20]).unwrap();
    scribble(&image, &mut plain, &mut random, 40);
    drop(image);
    let after = bytes_of(&memory);
    assert_ne!(place(&before), place(&after), "it lies elsewhere");
    fs::write(folder.join("image"), after).unwrap();
    fs::write(folder.join("plain"), &plain).unwrap();
    shell(
        folder,
        "qemu-img check -q -f qcow2 image; qemu-img compare -q -f qcow2 -F raw image plain",
    );
}

#[test]
fn a_file_that_is_full_takes_no_more_and_stays_in_order() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    shell(folder, "qemu-img create -q -f qcow2 -o cluster_size=4k image 1M");
    let memory =
        Arc::new(file_with_room(&fs::read(folder.join("image")).unwrap(), Some(200 << 10)));
    let image = write_to(Arc::clone(&memory) as _, None).expect("an image");
    let mut channel = blocking(&image);
    let written = (0..256_u64)
        .take_while(|at| match channel.write_slice(at * 4096, &[9; 4096]) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                false
            }
        })
        .count();
    assert!((10..60).contains(&written), "{written}");
    channel.flush().unwrap();
    let mut found = vec![0; written * 4096];
    channel.read_slice(0, &mut found).unwrap();
    assert!(found.iter().all(|byte| *byte == 9));
    qemu_finds_no_more_than_leaks(folder, &memory);
}

#[test]
fn where_a_write_would_do_harm_it_is_refused() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("disk"), disk(1 << 20, 1)).unwrap();
    shell(
        folder,
        "qemu-img create -q -f qcow2 -o compat=0.10 old 1M; \
        qemu-img create -q -f qcow2 snapshots 1M; qemu-img snapshot -c one snapshots; \
        qemu-img create -q -f qcow2 -o extended_l2=on parts 1M; \
        qemu-img create -q -f qcow2 bitmaps 1M; qemu-img bitmap --add bitmaps one; \
        qemu-img create -q -f qcow2 -o data_file=data external 1M; \
        qemu-img convert -f raw -O vmdk disk vmdk; qemu-img convert -f raw -O qcow2 disk good; \
        cp good dirty; printf '\\001' | dd of=dirty bs=1 seek=79 conv=notrunc status=none; \
        cp good corrupt; printf '\\002' | dd of=corrupt bs=1 seek=79 conv=notrunc status=none",
    );
    let good = fs::read(folder.join("good")).unwrap();
    let number = |at: usize| u64::from_be_bytes(good[at..at + 8].try_into().unwrap());
    // Its counts say that a cluster is free which holds data, or two clusters have one place.
    let block = number(number(48) as usize) as usize;
    let mut free = good.clone();
    free[block + 10..block + 12].fill(0);
    fs::write(folder.join("free"), free).unwrap();
    let l2 = (number(number(40) as usize) & 0x00ff_ffff_ffff_fe00) as usize;
    let places: Vec<usize> = (l2..l2 + 128).step_by(8).filter(|at| number(*at) > 1).collect();
    let mut twice = good.clone();
    twice.copy_within(places[0]..places[0] + 8, places[1]);
    fs::write(folder.join("twice"), twice).unwrap();
    for (name, words) in [
        ("old", "version 2"),
        ("snapshots", "it has snapshots"),
        ("parts", "parts (extended_l2)"),
        ("bitmaps", "bitmaps"),
        ("external", "in a file of their own"),
        ("vmdk", "VMDK images are only read"),
        ("dirty", "not closed in order"),
        ("corrupt", "marked as corrupt"),
        ("free", "its count is 0"),
        ("twice", "two things lie in the cluster"),
        ("disk", "it is no qcow2"),
    ] {
        let error = write_to(file(folder, name), None).map(drop).expect_err(name).to_string();
        assert!(error.contains(words) && error.lines().count() == 1, "{name}: {error}");
    }
    assert!(write_to(file(folder, "good"), None).is_ok());
}

//! Images that are damaged, or meant to do harm: refused in a line, without panics and without more
//! memory than their files have.

use std::fs;
use std::sync::Arc;

use block::{Error, ErrorKind};
use image::{ImageDevice, ImageHeader, ImageOptions, ImageUse};
use reactor::Random;

use crate::support::{disk, has_qemu, holding, open, read_all, shell};

/// Reads the header of an image in memory.
fn header(bytes: &[u8]) -> Result<ImageHeader, Error> {
    let mut read = |offset: u64, target: &mut [u8]| {
        let end = (offset as usize).saturating_add(target.len());
        let from = bytes.get(offset as usize..end);
        let past = || Error::new(ErrorKind::OutOfRange, "past the end");
        from.map(|from| target.copy_from_slice(from)).ok_or_else(past)
    };
    ImageHeader::read(bytes.len() as u64, &ImageUse::Read, &mut read)
}

fn put(bytes: &[u8], at: usize, what: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + what.len()].copy_from_slice(what);
    bytes
}

#[test]
fn tables_that_make_no_sense_are_refused() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("disk"), disk(3 << 20, 1)).unwrap();
    shell(
        folder,
        "qemu-img convert -f raw -O qcow2 -o cluster_size=4k disk q; \
        qemu-img convert -f raw -O vdi disk i; qemu-img convert -f raw -O vpc disk v",
    );
    let q = fs::read(folder.join("q")).unwrap();
    let number = |at: usize| u64::from_be_bytes(q[at..at + 8].try_into().unwrap());
    let l1 = number(40) as usize;
    let l2 = (number(l1) & 0x00ff_ffff_ffff_fe00) as usize;
    let end = q.len() as u64;
    let data = (l2..l2 + 4096).step_by(8).find(|at| number(*at) != 0).expect("data");
    for (bytes, words) in [
        (put(&q, 20, &40_u32.to_be_bytes()), "clusters of 2^40 bytes"),
        (put(&q, 24, &(1_u64 << 62).to_be_bytes()), "tables for"),
        (put(&q, 24, &u64::MAX.to_be_bytes()), "tables for"),
        (put(&q, 24, &0_u64.to_be_bytes()), "no whole sectors"),
        (put(&q, 24, &1023_u64.to_be_bytes()), "no whole sectors"),
        (put(&q, 40, &0_u64.to_be_bytes()), "damaged"),
        (put(&q, 40, &(end + 4096 - end % 4096).to_be_bytes()), "past the file's end"),
        (put(&q, 40, &513_u64.to_be_bytes()), "no whole cluster"),
        (put(&q, l1, &(l1 as u64).to_be_bytes()), "tables overlap"),
        // The same table twice: a small file could stand for tables of any size.
        (put(&q, l1 + 8, &(l2 as u64).to_be_bytes()), "tables overlap"),
        (put(&q, data, &(l2 as u64).to_be_bytes()), "lie in a table"),
        (put(&q, data, &0_u64.to_be_bytes().map(|_| 0)), ""),
        (put(&q, data, &(1_u64 << 50).to_be_bytes()), "past the file's end"),
        (put(&q, 72, &(1_u64 << 40).to_be_bytes()), "features that are not known"),
        (put(&q, 32, &2_u32.to_be_bytes()), "encrypted"),
        (put(&q, 4, &9_u32.to_be_bytes()), "version 9"),
        (put(&put(&q, 8, &4_u64.to_be_bytes()), 16, &2048_u32.to_be_bytes()), "a name of 2048"),
    ] {
        match header(&bytes) {
            Err(error) => assert!(error.to_string().contains(words), "{words}: {error}"),
            Ok(_) => assert_eq!(words, ""),
        }
    }
    let i = fs::read(folder.join("i")).unwrap();
    for (bytes, words) in [
        (put(&i, 368, &(1_u64 << 60).to_le_bytes()), "a table for"),
        (put(&i, 340, &0_u32.to_le_bytes()), "tables overlap"),
        (put(&i, 512, &77_777_u32.to_le_bytes()), "past the file's end"),
        (put(&i, 344, &512_u32.to_le_bytes()), "lie in a table"),
        (put(&i, 376, &3_u32.to_le_bytes()), "blocks of 3 bytes"),
        (put(&i, 76, &4_u32.to_le_bytes()), "kind 4"),
    ] {
        let error = header(&bytes).map(drop).expect_err(words);
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    let v = fs::read(folder.join("v")).unwrap();
    // Of an identity that is drawn.
    let other = [v[70] ^ 1];
    let v = put(&put(&v, 70, &other), v.len() - 512 + 70, &other);
    assert!(header(&v).map(drop).expect_err("a sum").to_string().contains("checksum"));
}

#[test]
fn a_backing_name_is_only_told() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["/etc/shadow", "json:{\"driver\":\"nbd\"}", "nbd://host/x", "image", "\u{1b}[2J\n"]
    {
        shell(folder, "rm -f image; qemu-img create -q -f qcow2 image 1M");
        let mut bytes = fs::read(folder.join("image")).unwrap();
        bytes = put(&bytes, 8, &512_u64.to_be_bytes());
        bytes = put(&bytes, 16, &(name.len() as u32).to_be_bytes());
        bytes = put(&bytes, 512, name.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        let error = open(holding(&bytes)).map(drop).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Refused);
        let text = error.to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
        let shown: String = name.chars().flat_map(char::escape_default).collect();
        assert!(text.contains(&shown) && text.contains("image("), "{text}");
    }
}

#[test]
fn whatever_is_damaged_nothing_panics() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("disk"), disk(256 << 10, 2)).unwrap();
    let mut random = Random::with_seed(5);
    for way in [
        "-O qcow2 -o cluster_size=4k",
        "-O qcow2 -o extended_l2=on,cluster_size=16k",
        "-c -O qcow2 -o cluster_size=4k",
        "-c -O qcow2 -o compression_type=zstd",
        "-O vmdk",
        "-O vmdk -o subformat=streamOptimized",
        "-O vpc",
        "-O vdi",
        "-O vhdx -o block_size=1M,log_size=1M",
    ] {
        shell(folder, &format!("qemu-img convert -f raw {way} disk image"));
        let good = fs::read(folder.join("image")).unwrap();
        for turn in 0..120 {
            let mut bytes = good.clone();
            for _ in 0..random.usize(1..6) {
                let first = [512, 4096, 1 << 16, bytes.len()][random.usize(..4)].min(bytes.len());
                let at = random.usize(..first);
                bytes[at] = random.u8(..);
            }
            if random.u8(..4) == 0 {
                bytes.truncate(random.usize(512..bytes.len()) / 512 * 512);
            }
            let device = match open(holding(&bytes)) {
                Ok(device) => device,
                Err(error) => {
                    assert_eq!(error.to_string().lines().count(), 1, "{way} {turn}: {error}");
                    continue;
                }
            };
            if block::Device::info(&device).size_bytes <= 64 << 20 {
                let reactor = block::Reactor::virtual_clock();
                let mut channel = block::Blocking::open(&device, &reactor).unwrap();
                let mut bytes = vec![0; block::Device::info(&device).size_bytes as usize];
                let _ = channel.read_slice(0, &mut bytes);
            }
        }
        assert_eq!(read_all(&open(holding(&good)).expect(way))[..4096].len(), 4096);
    }
}

/// What can be written to is an image with that in it afterwards, or there is no room for it.
#[test]
fn whatever_is_damaged_and_written_to_stays_an_image() {
    if !has_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("disk"), disk(256 << 10, 2)).unwrap();
    let mut random = Random::with_seed(9);
    let mut opened = 0;
    for way in ["-O qcow2 -o cluster_size=512", "-c -O qcow2 -o cluster_size=4k", "-O qcow2"] {
        shell(folder, &format!("qemu-img convert -f raw {way} disk image"));
        let mut good = fs::read(folder.join("image")).unwrap();
        good.resize(good.len().next_multiple_of(512) + (64 << 10), 0);
        for turn in 0..150 {
            let mut bytes = good.clone();
            for _ in 0..random.usize(1..4) {
                let first = [104, 4096, 1 << 16, bytes.len()][random.usize(..4)].min(bytes.len());
                let at = random.usize(..first);
                bytes[at] ^= 1 << random.u32(..8);
            }
            let memory = holding(&bytes);
            let open = || {
                let options = ImageOptions { image_use: ImageUse::Write, ..Default::default() };
                ImageDevice::open(Arc::clone(&memory), None, options)
            };
            let Ok(device) = open() else { continue };
            opened += 1;
            let reactor = block::Reactor::virtual_clock();
            let mut channel = block::Blocking::open(&device, &reactor).unwrap();
            let end = block::Device::info(&device).size_bytes;
            let places = [0, end / 1024 * 512, end - 512];
            let written = places.map(|at| channel.write_slice(at, &[7; 512]).is_ok());
            channel.flush().unwrap();
            drop((channel, device));
            let device = open().unwrap_or_else(|error| panic!("{way} {turn}: {error}"));
            let mut channel = block::Blocking::open(&device, &reactor).unwrap();
            for (at, _) in places.iter().zip(written).filter(|(_, is_written)| *is_written) {
                let mut sector = [0; 512];
                channel.read_slice(*at, &mut sector).unwrap();
                assert!(sector == [7; 512], "{way} {turn}: {at}");
            }
        }
    }
    assert!(opened > 100, "{opened}");
}

//! Disk images of every format, from any bytes: headers and tables, and what they say of places.
#![no_main]

use std::sync::Arc;

use block::{Blocking, Device, Reactor};
use image::{ImageDevice, ImageHeader, ImageOptions, ImageUse};
use libfuzzer_sys::fuzz_target;
use raidloom_fuzz::{vhdx_image, within};

/// More of a disk than this is not read, in bytes.
const READ_BYTES_MAX: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let image = with_sums(data);
    // An entry of 4 bytes takes 8. A table of one entry, which a VMDK may have, takes 8 bytes with
    // its place: a vector, its range, and what both grow by.
    let header = within(&image, 24, || {
        let mut read = |offset: u64, target: &mut [u8]| {
            target.copy_from_slice(&image[offset as usize..offset as usize + target.len()]);
            Ok(())
        };
        ImageHeader::read(image.len() as u64, &ImageUse::Read, &mut read)
    });
    match header {
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
        }
        Ok(header) if header.backing.is_none() => {
            read_some(&image);
            write_some(&image);
        }
        Ok(_) => (),
    }
});

/// A VHDX is longer than what fuzzers make, and has sums over its headers, regions and log: of one
/// there are the parts that are read.
fn with_sums(data: &[u8]) -> Vec<u8> {
    match data.strip_prefix(b"vhdxfile") {
        Some(parts) => vhdx_image(parts),
        None => data.to_vec(),
    }
}

fn read_some(image: &[u8]) {
    let (whole, tail) = image.split_at(image.len() / 512 * 512);
    let memory = testkit::Memory::new(whole.len() as u64);
    let reactor = Reactor::virtual_clock();
    Blocking::open(&memory, &reactor).unwrap().write_slice(0, whole).unwrap();
    let options = ImageOptions { tail: tail.to_vec(), ..ImageOptions::default() };
    let Ok(device) = ImageDevice::open(Arc::new(memory), None, options) else { return };
    let length = device.info().size_bytes.min(READ_BYTES_MAX);
    let mut bytes = vec![0; length as usize];
    let _ = Blocking::open(&device, &reactor).unwrap().read_slice(0, &mut bytes);
}

/// What can be written to stays an image that can be, with what was written in it.
fn write_some(image: &[u8]) {
    let size_bytes = image.len().next_multiple_of(512) as u64 + (1 << 20);
    let memory = Arc::new(testkit::Memory::new(size_bytes));
    let reactor = Reactor::virtual_clock();
    let mut whole = image.to_vec();
    whole.resize(image.len().next_multiple_of(512), 0);
    Blocking::open(&*memory, &reactor).unwrap().write_slice(0, &whole).unwrap();
    let open = || {
        let options = ImageOptions { image_use: ImageUse::Write, ..ImageOptions::default() };
        ImageDevice::open(Arc::clone(&memory) as _, None, options)
    };
    let Ok(device) = open() else { return };
    let end = device.info().size_bytes;
    let mut channel = Blocking::open(&device, &reactor).unwrap();
    let places = [0, end / 1024 * 512, end - 512];
    // There may be no room left, or a cluster that cannot be unpacked.
    let written = places.map(|at| channel.write_slice(at, &[7; 512]).is_ok());
    channel.flush().unwrap();
    drop((channel, device));
    let device = open().expect("the tables that were written");
    let mut channel = Blocking::open(&device, &reactor).unwrap();
    for (at, _) in places.iter().zip(written).filter(|(_, is_written)| *is_written) {
        let mut sector = [0; 512];
        channel.read_slice(*at, &mut sector).unwrap();
        assert!(sector == [7; 512]);
    }
}

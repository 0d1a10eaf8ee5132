//! Disk images of every format, from any bytes: headers and tables, and what they say of places.
#![no_main]

use std::sync::Arc;

use block::{Blocking, Device, Reactor};
use image::{ImageDevice, ImageHeader, ImageOptions};
use libfuzzer_sys::fuzz_target;
use raidloom_fuzz::within;

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
        ImageHeader::read(image.len() as u64, None, &mut read)
    });
    match header {
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
        }
        Ok(header) if header.backing.is_none() => read_some(&image),
        Ok(_) => (),
    }
});

/// A VHDX has sums over its headers and regions: with the right ones more of it is looked at.
fn with_sums(data: &[u8]) -> Vec<u8> {
    let mut image = data.to_vec();
    if !image.starts_with(b"vhdxfile") {
        return image;
    }
    for (at, length) in [(64 << 10, 4096), (128 << 10, 4096), (192 << 10, 64 << 10)] {
        if let Some(bytes) = image.get_mut(at..at + length) {
            bytes[4..8].fill(0);
            let sum = crc32c::crc32c(bytes);
            bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        }
    }
    image
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

//! A channel of our own for superblocks, indexes and samples: whoever opens a device has no reactor yet.

use block::{Blocking, BufMut, Device, Error, ErrorKind, Reactor};
use xxhash_rust::xxh3::Xxh3;

/// The fingerprint looks at so many places of this length.
const SAMPLES: u64 = 64;
const SAMPLE_BYTES: u64 = 4096;

/// A channel on a clock of its own: the virtual one, or the real one for a device that needs the kernel.
pub(crate) fn open_beside(device: &dyn Device) -> Result<Blocking, Error> {
    match Blocking::open(device, &Reactor::virtual_clock()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let reactor = Reactor::wall().map_err(|error| Error::from_io("an io_uring for the metadata", error))?;
            Blocking::open(device, &reactor)
        }
        opened => opened,
    }
}

/// What tells a device from another one, or from itself at another time: a hash of samples (docs/formats/overlay.md).
pub(crate) fn fingerprint(device: &dyn Device, block_bytes: u32) -> Result<u64, Error> {
    if !device.info().stores_data {
        return Ok(0);
    }
    let (block, size_bytes) = (u64::from(block_bytes), device.info().size_bytes);
    let sample_bytes = SAMPLE_BYTES.max(block);
    let places: Vec<(u64, u64)> = if size_bytes <= SAMPLES * sample_bytes {
        (0..size_bytes).step_by(sample_bytes as usize).map(|offset| (offset, sample_bytes.min(size_bytes - offset))).collect()
    } else {
        let last = size_bytes - sample_bytes;
        // In 128 bits: the product of a large device's size passes 64.
        let place = |number: u64| (u128::from(last) * u128::from(number) / u128::from(SAMPLES - 1)) as u64 / block * block;
        (0..SAMPLES).map(|number| (place(number), sample_bytes)).collect()
    };
    let mut channel = open_beside(device)?;
    let mut hash = Xxh3::new();
    for (offset, length) in places {
        match channel.read(offset, BufMut::zeroed(length as usize)) {
            Ok(bytes) => bytes.slices().for_each(|slice| hash.update(slice)),
            // A place that is lost is lost the next time too; whoever rescues data may have many.
            Err(error) if error.kind() == ErrorKind::Media => hash.update(&[0xff; 4]),
            Err(error) => return Err(error),
        }
    }
    Ok(hash.digest())
}

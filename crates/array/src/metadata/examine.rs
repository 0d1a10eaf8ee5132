//! Reading what a device says of itself: its superblock, and what goes with it.

use block::{Blocking, Device, Error, ErrorKind, Reactor, SECTOR_BYTES};

use crate::md::{BitmapHeader, Candidate, ChecksumVerdict, Features, Problem, Superblock, Version};

/// What a superblock may take up, in bytes.
pub(super) const SUPERBLOCK_BYTES: u64 = 4096;

/// Reads the superblock of a whole device, if it has one; of several, the one that was written
/// last. Nothing else may be under way on the reactor.
///
/// # Errors
/// When the device cannot be read.
pub fn examine(
    device: &dyn Device,
    name: &str,
    reactor: &Reactor,
) -> Result<Option<Candidate>, Error> {
    let mut channel = Blocking::open(device, reactor).map_err(|error| error.at(name))?;
    let size_sectors = device.info().size_bytes / SECTOR_BYTES;
    let mut found: Vec<(Version, Superblock)> = Vec::new();
    for version in Version::ALL {
        let Some(sector) = version.offset_sectors(size_sectors) else { continue };
        let bytes = read(&mut channel, device, sector * SECTOR_BYTES, SUPERBLOCK_BYTES)
            .map_err(|error| error.at(name))?;
        if let Ok(superblock) = Superblock::decode_as(version, &bytes, size_sectors)
            && superblock.super_offset_sectors == sector
        {
            found.push((version, superblock));
        }
    }
    let is_correct =
        |superblock: &Superblock| superblock.checksum_verdict() == ChecksumVerdict::Correct;
    let newest = found
        .into_iter()
        .max_by_key(|(_, superblock)| (is_correct(superblock), superblock.created));
    let Some((version, superblock)) = newest else { return Ok(None) };
    let bitmap = match bitmap_offset(&superblock) {
        Some(place) => match read(&mut channel, device, place, SUPERBLOCK_BYTES) {
            Ok(bytes) => BitmapHeader::decode_for(version, &bytes).ok(),
            // As one that makes no sense.
            Err(error) if error.kind() == ErrorKind::Media => None,
            Err(error) => return Err(error.at(name)),
        },
        None => None,
    };
    Ok(Some(Candidate { name: name.to_owned(), size_sectors, version, superblock, bitmap }))
}

/// What is wrong with the superblocks of a whole device that are there and cannot be decoded, and
/// the version of each by its place. Nothing else may be under way on the reactor.
///
/// # Errors
/// When the device cannot be read.
pub fn damage(device: &dyn Device, reactor: &Reactor) -> Result<Vec<(Version, Problem)>, Error> {
    let mut channel = Blocking::open(device, reactor)?;
    let size_sectors = device.info().size_bytes / SECTOR_BYTES;
    let mut damaged = Vec::new();
    for version in Version::ALL.into_iter().filter(|version| *version != Version::V0_90) {
        let Some(sector) = version.offset_sectors(size_sectors) else { continue };
        let bytes = read(&mut channel, device, sector * SECTOR_BYTES, SUPERBLOCK_BYTES)?;
        damaged.extend(Superblock::damage(&bytes).map(|problem| (version, problem)));
    }
    Ok(damaged)
}

/// Bytes from an offset on; fewer at the end of the device. What cannot be read is tried once more.
pub(super) fn read(
    channel: &mut Blocking,
    device: &dyn Device,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>, Error> {
    let block = u64::from(device.info().block_bytes);
    let start = offset - offset % block;
    let end = (offset + length).next_multiple_of(block).min(device.info().size_bytes);
    let mut bytes = vec![0; end.saturating_sub(start) as usize];
    channel.read_slice(start, &mut bytes).or_else(|_| channel.read_slice(start, &mut bytes))?;
    let bytes = bytes.get((offset - start) as usize..).unwrap_or_default();
    Ok(bytes[..bytes.len().min(length as usize)].to_vec())
}

/// Where the bitmap of a member is, in bytes.
pub(super) fn bitmap_offset(superblock: &Superblock) -> Option<u64> {
    let has_bitmap =
        superblock.features.contains(Features::BITMAP) && !superblock.features.has_ppl();
    let sector =
        superblock.super_offset_sectors.checked_add_signed(superblock.bitmap_offset_sectors.into());
    has_bitmap.then_some(sector?.checked_mul(SECTOR_BYTES)).flatten()
}

//! md's structures one by one, from any bytes: superblock, bitmap, bad-block log, partial parity
//! log.
//!
//! Whatever can be read is written again, and read back the same.
#![no_main]

use array::md::{
    Bitmap, BitmapHeader, PPL_HEADER_BYTES, PplHeader, Superblock, Version, decode_bad_blocks,
    encode_bad_blocks, find_newest_ppl,
};
use libfuzzer_sys::fuzz_target;
use raidloom_fuzz::{mend_log, within};

/// How many places a bad-block log can name.
const PLACES: u64 = 1 << 54;

fuzz_target!(|data: &[u8]| {
    within(data, 16, || superblock(data));
    within(data, 16, || bitmap(data));
    within(data, 16, || bad_blocks(data));
    within(data, 16, || log(data));
});

fn superblock(data: &[u8]) {
    for sectors in [0, 127, 128, 1 << 20, u64::MAX] {
        let Ok(old) = Superblock::decode_as(Version::V0_90, data, sectors) else { continue };
        let _ = (
            old.checksum_verdict(),
            old.problems(Version::V0_90, sectors),
            old.reshape(),
            old.disks_most(),
            old.array_sectors(&[1, 2]),
        );
    }
    let Ok(superblock) = Superblock::decode(data) else { return };
    let _ = (superblock.reshape(), superblock.disks_most(), superblock.new_data_offset_sectors());
    let _ = (
        superblock.name(),
        superblock.layout(),
        superblock.role(),
        superblock.is_clean(),
        superblock.ppl_area(),
    );
    let _ = (
        superblock.array_sectors(&[superblock.data_size_sectors, 77]),
        superblock.recovering_from_sectors(),
    );
    for version in Version::ALL {
        for sectors in [0, 23, 24, 1 << 20, superblock.data_size_sectors, u64::MAX] {
            let _ = version.offset_sectors(sectors);
            for problem in superblock.problems(version, sectors) {
                assert!(!problem.to_string().contains('\n'), "{problem}");
            }
        }
    }
    let again = Superblock::decode(&superblock.encode()).expect("what was written can be read");
    assert_eq!(Superblock { checksum: superblock.checksum, ..again }, superblock);
}

fn bitmap(data: &[u8]) {
    let Ok(header) = BitmapHeader::decode(data) else { return };
    let _ = (
        header.size_bytes(),
        header.region_count(),
        header.accept(&header.set_uuid, header.events),
    );
    assert_eq!(BitmapHeader::decode(&header.encode()).as_ref(), Ok(&header));
    let Ok(mut bitmap) = Bitmap::decode(data) else { return };
    assert!(
        bitmap
            .dirty_ranges()
            .all(|range| range.start < range.end && range.end <= header.sync_size_sectors)
    );
    assert_eq!(Bitmap::decode(&bitmap.encode()).as_ref(), Ok(&bitmap));
    let first = bitmap.dirty_ranges().next();
    if let Some(first) = first {
        assert!(bitmap.is_set(first.clone()));
        bitmap.clear(first.clone());
        bitmap.set(first);
    }
}

fn bad_blocks(data: &[u8]) {
    let Some((&shift, log)) = data.split_first() else { return };
    let Ok(ranges) = decode_bad_blocks(log, shift) else { return };
    // Longer runs than the kernel makes are written as several, which fit in unless they reach past
    // the last place.
    let Ok(bytes) = encode_bad_blocks(&ranges, shift, 2 * log.len()) else {
        assert!(
            ranges.iter().any(|range| (range.sector + range.sectors) >> shift > PLACES),
            "{ranges:?}"
        );
        return;
    };
    let again = decode_bad_blocks(&bytes, shift).expect("what was written can be read");
    let sectors = |ranges: &[array::md::BadRange]| {
        ranges.iter().fold(0_u64, |sum, range| sum.wrapping_add(range.sectors))
    };
    assert_eq!(sectors(&again), sectors(&ranges));
}

fn log(data: &[u8]) {
    let uuid = [0x5a; 16];
    let mut area = data.to_vec();
    let _ = find_newest_ppl(&area, &uuid).map_err(|problem| problem.to_string());
    if let Some(header) = area.first_chunk_mut::<PPL_HEADER_BYTES>() {
        header[512..516].copy_from_slice(&array::md::ppl_signature(&uuid).to_le_bytes());
        mend_log(header);
    }
    let Ok((at, header)) = find_newest_ppl(&area, &uuid) else { return };
    assert!(at + PPL_HEADER_BYTES <= area.len());
    assert_eq!(PplHeader::decode(&header.encode(), &uuid).as_ref(), Ok(&header));
}

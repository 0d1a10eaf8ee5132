//! The bad-block log of a running array: what of a member's data is lost, so that it does not read
//! as data after the next start.

use block::SECTOR_BYTES;

use crate::md::{BadRange, Superblock, encode_bad_blocks};
use crate::ranges::Ranges;

/// The log with these bytes of the member's data. `None` when there is no log or it has no room for
/// them.
pub(super) fn encode(superblock: &Superblock, lost: &Ranges) -> Option<Vec<u8>> {
    let size_bytes = usize::from(superblock.bad_block_size_sectors) * SECTOR_BYTES as usize;
    let unit = SECTOR_BYTES << superblock.bad_block_shift.min(32);
    let to_sectors = |range: std::ops::Range<u64>| {
        let (start, end) = (range.start / unit * unit, range.end.next_multiple_of(unit));
        BadRange { sector: start / SECTOR_BYTES, sectors: (end - start) / SECTOR_BYTES }
    };
    // Rounded outwards two of them may have a unit in common.
    let whole: Ranges = lost
        .iter()
        .map(|range| range.start / unit * unit..range.end.next_multiple_of(unit))
        .collect();
    let ranges: Vec<BadRange> = whole.iter().map(to_sectors).collect();
    if size_bytes == 0 {
        return ranges.is_empty().then(Vec::new);
    }
    encode_bad_blocks(&ranges, superblock.bad_block_shift, size_bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::md::decode_bad_blocks;

    fn superblock(size_sectors: u16, shift: u8) -> Superblock {
        let mut superblock = crate::record::facts::tests::superblocks().remove(0);
        (superblock.bad_block_size_sectors, superblock.bad_block_shift) = (size_sectors, shift);
        superblock
    }

    #[test]
    fn what_is_lost_is_covered_in_whole_units() {
        let lost: Ranges = [512..1024, 5 * 4096 + 512..6 * 4096, 6 * 4096 + 512..6 * 4096 + 1024]
            .into_iter()
            .collect();
        for shift in 0..=3 {
            let bytes = encode(&superblock(8, shift), &lost).expect("room for three");
            let told: Ranges = (decode_bad_blocks(&bytes, shift).expect("a log").iter())
                .map(|range| range.sector * 512..(range.sector + range.sectors) * 512)
                .collect();
            assert!(
                lost.iter().all(|range| told
                    .iter()
                    .any(|told| told.start <= range.start && range.end <= told.end)),
                "{told:?}"
            );
            assert!(shift > 0 || told == lost);
        }
    }

    #[test]
    fn what_has_no_room_is_not_written() {
        let many: Ranges = (0..65).map(|at| at * 4096..at * 4096 + 512).collect();
        assert_eq!(encode(&superblock(1, 0), &many), None, "64 places fit");
        assert_eq!(encode(&superblock(0, 0), &many), None);
        assert_eq!(
            encode(&superblock(0, 0), &Ranges::none()),
            Some(Vec::new()),
            "nothing always fits"
        );
    }
}

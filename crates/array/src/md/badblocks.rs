//! The bad-block log: the sectors of a member that cannot be read.
//!
//! A list of 64-bit numbers, each a place (upper 54 bits) and a length (lower 10), in units of
//! `512 << shift` bytes; all ones end it. Places count from the start of the member's data.

use words::statement;

use super::{Complaint, Problem, u64_at};
use crate::catalogue;

const COMPLAINT: Complaint = Complaint(catalogue::OF_LOG);
const END: u64 = u64::MAX;
/// The kernel makes no longer runs, though the field could hold them.
const MAX_RUN: u64 = 512;

/// A run of sectors that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRange {
    /// Where it starts, in sectors from the start of the member's data.
    pub sector: u64,
    /// How many sectors.
    pub sectors: u64,
}

/// Reads the log: `bytes` is all of it, `shift` the superblock's.
///
/// # Errors
/// A shift that no sector fits in, or a run that is empty or starts behind the end of all sectors.
pub fn decode_bad_blocks(bytes: &[u8], shift: u8) -> Result<Vec<BadRange>, Problem> {
    check_shift(shift)?;
    let mut ranges = Vec::new();
    for (index, raw) in bytes.chunks_exact(8).map(|raw| u64_at(raw, 0)).enumerate() {
        if raw == END {
            break;
        }
        let (place, length) = (raw >> 10, raw & 0x3ff);
        if length == 0 {
            return Err(COMPLAINT.about(
                "length",
                8 * index,
                0,
                statement!(catalogue::AT_LEAST, least = 1),
            ));
        }
        if (place + length).leading_zeros() < u32::from(shift) {
            return Err(COMPLAINT.about(
                "sector",
                8 * index,
                place,
                statement!(catalogue::PLACE_SHIFTED, shift = shift),
            ));
        }
        ranges.push(BadRange { sector: place << shift, sectors: length << shift });
    }
    Ok(ranges)
}

/// The log of `ranges`, `size_bytes` long, the rest filled with ends.
///
/// # Errors
/// A range that is empty or no whole number of units, or more of them than fit.
pub fn encode_bad_blocks(
    ranges: &[BadRange],
    shift: u8,
    size_bytes: usize,
) -> Result<Vec<u8>, Problem> {
    check_shift(shift)?;
    let mut bytes = vec![0xff; size_bytes];
    let mut at = 0;
    for range in ranges {
        let unit = 1_u64 << shift;
        if range.sectors == 0
            || !range.sectors.is_multiple_of(unit)
            || !range.sector.is_multiple_of(unit)
        {
            let found =
                statement!(catalogue::SECTORS_AT, sectors = range.sectors, sector = range.sector);
            return Err(COMPLAINT.about(
                "sector",
                at,
                found,
                statement!(catalogue::WHOLE_UNITS, unit = unit),
            ));
        }
        let (mut place, mut left) = (range.sector >> shift, range.sectors >> shift);
        while left > 0 {
            let run = left.min(MAX_RUN);
            if place >= 1 << 54 {
                return Err(COMPLAINT.about(
                    "sector",
                    at,
                    place,
                    statement!(catalogue::BELOW, end = "2^54"),
                ));
            }
            if at + 8 > size_bytes / 8 * 8 {
                return Err(COMPLAINT.about(
                    "entries",
                    at,
                    catalogue::MORE_RUNS,
                    statement!(catalogue::AT_MOST, most = size_bytes / 8),
                ));
            }
            bytes[at..at + 8].copy_from_slice(&(place << 10 | run).to_le_bytes());
            at += 8;
            place += run;
            left -= run;
        }
    }
    Ok(bytes)
}

fn check_shift(shift: u8) -> Result<(), Problem> {
    if shift >= 54 {
        Err(COMPLAINT.about("bblog_shift", 0, shift, statement!(catalogue::BELOW, end = 54)))
    } else {
        Ok(())
    }
}

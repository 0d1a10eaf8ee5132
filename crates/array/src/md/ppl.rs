//! The partial parity log of level 5: what closes the write hole without a journal.
//!
//! Before a stripe is written, the xor of the data that will not be written goes to the log of the
//! member that holds the stripe's parity. After a crash, parity is made again from that and from
//! the data that were being written, whichever of them arrived; so data that were not being written
//! survive even when a member is missing.
//!
//! ```text
//!   +--------------------+---------------------------+--------------------+------
//!   | header, 4096 bytes | partial parity, entry by  | next header        |  …
//!   |                    | entry                     | generation + 1     |  with MULTIPLE_PPLS
//!   +--------------------+---------------------------+--------------------+------
//! ```

use words::statement;

use super::{Complaint, Problem, put, u32_at, u64_at};
use crate::catalogue;

const COMPLAINT: Complaint = Complaint(catalogue::OF_PPL);
/// The size of a header.
pub const PPL_HEADER_BYTES: usize = 4096;
const RESERVED_BYTES: usize = 512;
const ENTRIES_AT: usize = 536;
const ENTRY_BYTES: usize = 24;
const MAX_ENTRIES: usize = (PPL_HEADER_BYTES - ENTRIES_AT) / ENTRY_BYTES;

/// What a log's headers carry for the array with this UUID.
#[must_use]
pub fn ppl_signature(set_uuid: &[u8; 16]) -> u32 {
    crc32c::crc32c(set_uuid)
}

/// One run of stripes that was being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PplEntry {
    /// The first sector that was being written, of the array's data.
    pub data_sector: u64,
    /// How many bytes of partial parity are in the log; 0 when whole stripes were written and none
    /// is needed.
    pub parity_bytes: u32,
    /// How many bytes of data were being written.
    pub data_bytes: u32,
    /// The role of the member that holds the parity of these stripes.
    pub parity_role: u32,
    /// CRC-32C of the partial parity.
    pub checksum: u32,
}

/// The header of a partial parity log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PplHeader {
    /// See [`ppl_signature`].
    pub signature: u32,
    /// Counts up with every log written.
    pub generation: u64,
    /// The runs, in the order of their partial parity.
    pub entries: Vec<PplEntry>,
}

impl PplHeader {
    /// Reads a header of the array with `set_uuid`.
    ///
    /// # Errors
    /// Signature or checksum do not fit, or there are more entries than the header has room for.
    pub fn decode(bytes: &[u8], set_uuid: &[u8; 16]) -> Result<PplHeader, Problem> {
        COMPLAINT.needs_length(bytes, PPL_HEADER_BYTES)?;
        let bytes = &bytes[..PPL_HEADER_BYTES];
        let (signature, expected) = (u32_at(bytes, 512), ppl_signature(set_uuid));
        if signature != expected {
            return Err(COMPLAINT.about(
                "signature",
                512,
                format_args!("{signature:#010x}"),
                format_args!("{expected:#010x}"),
            ));
        }
        let (checksum, expected) = (u32_at(bytes, 532), header_checksum(bytes));
        if checksum != expected {
            return Err(COMPLAINT.about(
                "checksum",
                532,
                format_args!("{checksum:#010x}"),
                format_args!("{expected:#010x}"),
            ));
        }
        let count = u32_at(bytes, 528) as usize;
        if count > MAX_ENTRIES {
            return Err(COMPLAINT.about(
                "entries_count",
                528,
                count,
                statement!(catalogue::AT_MOST, most = MAX_ENTRIES),
            ));
        }
        let entries = bytes[ENTRIES_AT..].chunks_exact(ENTRY_BYTES).take(count);
        let entries = entries.map(|entry| PplEntry {
            data_sector: u64_at(entry, 0),
            parity_bytes: u32_at(entry, 8),
            data_bytes: u32_at(entry, 12),
            parity_role: u32_at(entry, 16),
            checksum: u32_at(entry, 20),
        });
        Ok(PplHeader { signature, generation: u64_at(bytes, 520), entries: entries.collect() })
    }

    /// The header's bytes, with a fresh checksum.
    ///
    /// # Panics
    /// With more than 148 entries.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        assert!(
            self.entries.len() <= MAX_ENTRIES,
            "a PPL header holds at most {MAX_ENTRIES} entries, not {}",
            self.entries.len()
        );
        let mut bytes = vec![0; PPL_HEADER_BYTES];
        bytes[..RESERVED_BYTES].fill(0xff);
        put(&mut bytes, 512, &self.signature.to_le_bytes());
        put(&mut bytes, 520, &self.generation.to_le_bytes());
        put(&mut bytes, 528, &(self.entries.len() as u32).to_le_bytes());
        for (index, entry) in self.entries.iter().enumerate() {
            let at = ENTRIES_AT + ENTRY_BYTES * index;
            put(&mut bytes, at, &entry.data_sector.to_le_bytes());
            put(&mut bytes, at + 8, &entry.parity_bytes.to_le_bytes());
            put(&mut bytes, at + 12, &entry.data_bytes.to_le_bytes());
            put(&mut bytes, at + 16, &entry.parity_role.to_le_bytes());
            put(&mut bytes, at + 20, &entry.checksum.to_le_bytes());
        }
        let checksum = header_checksum(&bytes);
        put(&mut bytes, 532, &checksum.to_le_bytes());
        bytes
    }

    /// How many bytes of partial parity follow the header.
    #[must_use]
    pub fn parity_bytes(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.parity_bytes)).sum()
    }
}

/// The newest header in a log area and where it starts in it, in bytes.
///
/// Headers follow each other as long as they are valid and their generation grows; what comes after
/// is from an earlier round.
///
/// # Errors
/// What is wrong with the first header: then the log says nothing.
pub fn find_newest_ppl(area: &[u8], set_uuid: &[u8; 16]) -> Result<(usize, PplHeader), Problem> {
    let mut newest = (0, PplHeader::decode(area, set_uuid)?);
    loop {
        let next = newest.0 as u64 + PPL_HEADER_BYTES as u64 + newest.1.parity_bytes();
        let Some(rest) = usize::try_from(next).ok().and_then(|next| area.get(next..)) else {
            return Ok(newest);
        };
        match PplHeader::decode(rest, set_uuid) {
            Ok(header) if header.generation > newest.1.generation => {
                newest = (next as usize, header);
            }
            _ => return Ok(newest),
        }
    }
}

/// CRC-32C of the header with zeroes in place of the checksum.
fn header_checksum(bytes: &[u8]) -> u32 {
    let before = crc32c::crc32c(&bytes[..532]);
    crc32c::crc32c_append(crc32c::crc32c_append(before, &[0; 4]), &bytes[536..PPL_HEADER_BYTES])
}

//! Encrypted devices and large images to damage.

use sha2::{Digest, Sha256};

/// Length of one copy of a header, and of its head, in bytes.
const COPY_BYTES: usize = 0x4000;
const HEAD_BYTES: usize = 4096;
/// Where its checksum lies, in bytes.
const CHECKSUM: usize = 448;

/// The two copies of a header of LUKS2 with this JSON, and checksums that are right.
#[must_use]
pub fn luks_container(json: &[u8]) -> Vec<u8> {
    let json = &json[..json.len().min(COPY_BYTES - HEAD_BYTES)];
    let copy = |magic: &[u8], at: usize| {
        let mut bytes = vec![0; COPY_BYTES];
        let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
        put(0, magic);
        put(6, &[0, 2]);
        put(8, &(COPY_BYTES as u64).to_be_bytes());
        put(23, &[1]);
        put(72, b"sha256");
        put(256, &(at as u64).to_be_bytes());
        put(HEAD_BYTES, json);
        let sum = Sha256::digest(&bytes);
        bytes[CHECKSUM..CHECKSUM + sum.len()].copy_from_slice(&sum);
        bytes
    };
    [copy(b"LUKS\xba\xbe", 0), copy(b"SKUL\xba\xbe", COPY_BYTES)].concat()
}

const KIB: usize = 1024;
const PAGE_BYTES: usize = 4 * KIB;
/// Where the parts of a VHDX are, in bytes: the log, the table of its blocks, its metadata, what
/// these name, and where its data begin.
const LOG: usize = 1024 * KIB;
const BLOCKS: usize = 2048 * KIB;
const METADATA: usize = BLOCKS + 128 * KIB;
const ITEMS: usize = METADATA + 64 * KIB;
const DATA: usize = 3072 * KIB;
/// How long the log is, and the region of the table and that of the metadata.
const LOG_BYTES: usize = 1024 * KIB;
const REGION_BYTES: usize = 128 * KIB;
/// What they are called, as it lies in a file.
const BLOCKS_NAME: u128 = 0x084a_fd9b_5e11_649d_4200_f623_2dc2_7766;
const METADATA_NAME: u128 = 0x6e88_0f05_5f57_feb8_4b9a_4790_8b7c_a206;

/// A VHDX of these parts, one behind the other, with checksums that are right: 32 bytes of its
/// headers (the log's identity, versions, length and place), 64 of the table of its blocks, 256 of
/// the metadata and 64 of what they name; the rest is the log.
#[must_use]
pub fn vhdx_image(parts: &[u8]) -> Vec<u8> {
    let mut image = vec![0; DATA + PAGE_BYTES];
    let mut left = parts;
    let mut part = |length: usize| {
        let (now, later) = left.split_at(length.min(left.len()));
        left = later;
        now
    };
    let mut put = |at: usize, what: &[u8]| image[at..at + what.len()].copy_from_slice(what);
    put(0, b"vhdxfile");
    put(64 * KIB, b"head");
    put(64 * KIB + 48, part(32));
    put(192 * KIB, b"regi");
    put(192 * KIB + 8, &[2]);
    for (at, name, offset) in [(16, BLOCKS_NAME, BLOCKS), (48, METADATA_NAME, METADATA)] {
        put(192 * KIB + at, &name.to_le_bytes());
        put(192 * KIB + at + 16, &(offset as u64).to_le_bytes());
        put(192 * KIB + at + 24, &(REGION_BYTES as u32).to_le_bytes());
    }
    put(BLOCKS, part(64));
    put(METADATA, part(256));
    put(ITEMS, part(64));
    put(LOG, part(LOG_BYTES));
    for (at, length) in [(64 * KIB, PAGE_BYTES), (192 * KIB, 64 * KIB)] {
        sum(&mut image[at..at + length]);
    }
    for at in (0..LOG_BYTES).step_by(PAGE_BYTES) {
        let log = &mut image[LOG + at..LOG + LOG_BYTES];
        let length = u32::from_le_bytes([log[8], log[9], log[10], log[11]]) as usize;
        if log.starts_with(b"loge") && (PAGE_BYTES..=log.len()).contains(&length) {
            sum(&mut log[..length]);
        }
    }
    image
}

/// The checksum of all bytes, at byte 4.
fn sum(bytes: &mut [u8]) {
    bytes[4..8].fill(0);
    let sum = crc32c::crc32c(bytes);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
}

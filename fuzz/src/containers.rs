//! Encrypted devices to damage.

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

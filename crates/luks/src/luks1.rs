//! The header of LUKS1: 592 bytes, numbers with the high byte first (LUKS1 On-Disk Format
//! Specification 1.2.3, figures 1 and 2).

use block::{Error, SECTOR_BYTES};
use words::statement;

use crate::catalogue;
use crate::cipher::SectorTweak;
use crate::hash::HashName;
use crate::header::{DataSegment, KeyDigest, LuksHeader, ReadBytes};
use crate::refusal::{damaged, unknown};
use crate::slot::{Derivation, KeySlot};

/// How a container of either version begins.
pub(crate) const MAGIC: &[u8; 6] = b"LUKS\xba\xbe";
const HEADER_BYTES: usize = 592;
const CIPHER_NAME: usize = 8;
const CIPHER_MODE: usize = 40;
const HASH_NAME: usize = 72;
const PAYLOAD_SECTORS: usize = 104;
const KEY_BYTES: usize = 108;
const DIGEST: usize = 112;
const DIGEST_BYTES: usize = 20;
const DIGEST_SALT: usize = 132;
const DIGEST_ITERATIONS: usize = 164;
const SLOTS: usize = 208;
const SLOT_BYTES: usize = 48;
const SLOT_COUNT: usize = 8;
const NAME_BYTES: usize = 32;
const SALT_BYTES: usize = 32;
const SLOT_ACTIVE: u32 = 0x00ac_71f3;
const SLOT_INACTIVE: u32 = 0x0000_dead;

/// Reads the header, and bounds what it says.
pub(crate) fn read(read: &mut ReadBytes<'_>) -> Result<LuksHeader, Error> {
    let mut bytes = [0; HEADER_BYTES];
    read(0, &mut bytes)?;
    let name = |at: usize| text(&bytes[at..at + NAME_BYTES]);
    let cipher = format!("{}-{}", name(CIPHER_NAME)?, name(CIPHER_MODE)?);
    let tweak =
        SectorTweak::from_name(&cipher).ok_or_else(|| unknown(catalogue::CIPHER, &cipher))?;
    let hash_name = name(HASH_NAME)?;
    let hash = HashName::from_name(hash_name).ok_or_else(|| unknown(catalogue::HASH, hash_name))?;
    let key_bytes = number(&bytes, KEY_BYTES) as usize;
    let payload_bytes = u64::from(number(&bytes, PAYLOAD_SECTORS)) * SECTOR_BYTES;
    let mut slots = Vec::new();
    for index in 0..SLOT_COUNT {
        let slot = &bytes[SLOTS + index * SLOT_BYTES..][..SLOT_BYTES];
        match number(slot, 0) {
            SLOT_INACTIVE => continue,
            SLOT_ACTIVE => (),
            _ => return Err(damaged(statement!(catalogue::SLOT_STATE, index = index))),
        }
        let offset_bytes = u64::from(number(slot, 40)) * SECTOR_BYTES;
        let stripes = number(slot, 44);
        slots.push(KeySlot {
            number: index as u32,
            derivation: Derivation::Pbkdf2 {
                hash,
                iterations: number(slot, 4),
                salt: slot[8..8 + SALT_BYTES].to_vec(),
            },
            offset_bytes,
            // With a detached header the data may begin anywhere.
            room_bytes: u64::MAX,
            tweak,
            area_key_bytes: key_bytes,
            key_bytes,
            stripes,
            spread: hash,
        });
    }
    let digest = KeyDigest {
        hash,
        iterations: number(&bytes, DIGEST_ITERATIONS),
        salt: bytes[DIGEST_SALT..DIGEST_SALT + SALT_BYTES].to_vec(),
        digest: bytes[DIGEST..DIGEST + DIGEST_BYTES].to_vec(),
    };
    digest.check()?;
    Ok(LuksHeader {
        version: 1,
        segment: DataSegment {
            offset_bytes: payload_bytes,
            size_bytes: None,
            first_sector: 0,
            sector_bytes: SECTOR_BYTES as u32,
            tweak,
        },
        slots,
        digest,
        note: None,
    })
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Text up to its first zero byte.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Error> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).map_err(|_| damaged(catalogue::NAME_NO_TEXT))
}

//! A new container: the header of LUKS2 as cryptsetup makes it, with one passphrase.
//!
//! ```text
//!   0         first copy of the header      16 KiB
//!   16 KiB    second copy                   16 KiB
//!   32 KiB    slot 0: the volume key in 4000 stripes
//!   16 MiB    data
//! ```

use argon2::Algorithm;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use block::{Error, ErrorKind};
use serde_json::json;
use zeroize::Zeroizing;

use words::Message;

use crate::catalogue;
use crate::cipher::SectorTweak;
use crate::hash::HashName;
use crate::header::KeyDigest;
use crate::luks1::MAGIC;
use crate::luks2::{
    CHECKSUM, CHECKSUM_NAME, HEAD_BYTES, HEADER_SIZE, OFFSET, SECOND_MAGIC, SEQUENCE,
};
use crate::secret::{FillRandom, KEY_BYTES_MAX, Passphrase};
use crate::slot::{Derivation, KeySlot, STRIPES};

/// Length of one copy of the header, in bytes.
const COPY_BYTES: u64 = 0x4000;
/// Where the data of a container begin that has its header in front of them, in bytes.
pub const DATA_OFFSET_BYTES: u64 = 16 << 20;
/// Room of a slot, in bytes: its stripes in whole pages.
const SLOT_BYTES: u64 = (KEY_BYTES_MAX as u64 * STRIPES as u64).next_multiple_of(4096);
const CIPHER: &str = "aes-xts-plain64";
/// The fewest that cryptsetup makes: the key is random, and guessing it is hopeless without any.
const DIGEST_ITERATIONS: u32 = 1000;
const DIGEST_BYTES: usize = 32;
const SALT_BYTES: usize = 32;
const CHECKSUM_SALT: usize = 104;
const UUID: usize = 168;

/// What each guess of a passphrase costs who tries: passes of Argon2id over memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassphraseCost {
    /// How often the memory is gone through.
    pub passes: u32,
    /// How much memory it takes, in KiB.
    pub memory_kib: u32,
    /// How many parts of it can be worked on at the same time.
    pub parallelism: u32,
}

impl PassphraseCost {
    /// The least that Argon2 takes: guesses are next to free.
    pub const LEAST: PassphraseCost = PassphraseCost { passes: 1, memory_kib: 8, parallelism: 1 };
}

impl Default for PassphraseCost {
    /// What cryptsetup takes at most, with its fewest passes.
    fn default() -> PassphraseCost {
        PassphraseCost { passes: 4, memory_kib: 1 << 20, parallelism: 4 }
    }
}

/// How a container is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerFormat {
    /// Length of a sector in bytes: 512, 1024, 2048 or 4096.
    pub sector_bytes: u32,
    /// What a guess costs.
    pub cost: PassphraseCost,
    /// Where the data begin on their device, in bytes: [`DATA_OFFSET_BYTES`], or 0 where the header
    /// lies in a file of its own.
    pub data_offset_bytes: u64,
    /// What tells it from others: 16 bytes, of which 122 bits are used.
    pub uuid: [u8; 16],
}

impl ContainerFormat {
    /// The first bytes of a new container: AES-256 in XTS mode with a key of its own. `random`
    /// fills a slice with bytes that cannot be guessed.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a cost or sectors out of bounds, and an empty passphrase; what
    /// `random` says.
    pub fn header(
        &self,
        passphrase: &Passphrase,
        random: &mut dyn FnMut(&mut [u8]) -> Result<(), Error>,
    ) -> Result<Vec<u8>, Error> {
        let invalid = |text: Message| Error::new(ErrorKind::Invalid, text);
        if passphrase.bytes().is_empty() {
            return Err(invalid(catalogue::PASSPHRASE_EMPTY));
        }
        if !matches!(self.sector_bytes, 512 | 1024 | 2048 | 4096) {
            return Err(invalid(catalogue::SECTOR_SIZES));
        }
        let mut key = Zeroizing::new(vec![0; KEY_BYTES_MAX]);
        random(&mut key)?;
        let (mut slot_salt, mut digest_salt) = (vec![0; SALT_BYTES], vec![0; SALT_BYTES]);
        random(&mut slot_salt)?;
        random(&mut digest_salt)?;
        let slot = KeySlot {
            number: 0,
            derivation: Derivation::Argon2 {
                algorithm: Algorithm::Argon2id,
                passes: self.cost.passes,
                memory_kib: self.cost.memory_kib,
                parallelism: self.cost.parallelism,
                salt: slot_salt,
            },
            offset_bytes: 2 * COPY_BYTES,
            room_bytes: SLOT_BYTES,
            tweak: SectorTweak::Plain64,
            area_key_bytes: KEY_BYTES_MAX,
            key_bytes: KEY_BYTES_MAX,
            stripes: STRIPES,
            spread: HashName::Sha256,
        };
        slot.check()?;
        let digest = KeyDigest::of(&key, DIGEST_ITERATIONS, digest_salt, DIGEST_BYTES);
        let json = self.json(&slot, &digest).to_string();
        let mut bytes = copy(0, MAGIC, &json, &self.uuid, random)?;
        bytes.extend(copy(COPY_BYTES, SECOND_MAGIC, &json, &self.uuid, random)?);
        bytes.extend(slot.seal(passphrase, &key, random)?);
        Ok(bytes)
    }

    fn json(&self, slot: &KeySlot, digest: &KeyDigest) -> serde_json::Value {
        let Derivation::Argon2 { passes, memory_kib, parallelism, salt, .. } = &slot.derivation
        else {
            unreachable!("made above")
        };
        json!({
            "keyslots": { "0": {
                "type": "luks2",
                "key_size": slot.key_bytes,
                "af": { "type": "luks1", "stripes": slot.stripes, "hash": "sha256" },
                "area": {
                    "type": "raw",
                    "offset": slot.offset_bytes.to_string(),
                    "size": slot.room_bytes.to_string(),
                    "encryption": CIPHER,
                    "key_size": slot.area_key_bytes,
                },
                "kdf": {
                    "type": "argon2id",
                    "time": passes,
                    "memory": memory_kib,
                    "cpus": parallelism,
                    "salt": BASE64_STANDARD.encode(salt),
                },
            } },
            "tokens": {},
            "segments": { "0": {
                "type": "crypt",
                "offset": self.data_offset_bytes.to_string(),
                "size": "dynamic",
                "iv_tweak": "0",
                "encryption": CIPHER,
                "sector_size": self.sector_bytes,
            } },
            "digests": { "0": {
                "type": "pbkdf2",
                "keyslots": ["0"],
                "segments": ["0"],
                "hash": "sha256",
                "iterations": digest.iterations,
                "salt": BASE64_STANDARD.encode(&digest.salt),
                "digest": BASE64_STANDARD.encode(&digest.digest),
            } },
            "config": {
                "json_size": (COPY_BYTES - HEAD_BYTES as u64).to_string(),
                "keyslots_size": (DATA_OFFSET_BYTES - 2 * COPY_BYTES).to_string(),
            },
        })
    }
}

/// One copy of the header, for this place.
fn copy(
    at: u64,
    magic: &[u8; 6],
    json: &str,
    uuid: &[u8; 16],
    random: &mut FillRandom<'_>,
) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; COPY_BYTES as usize];
    let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
    put(0, magic);
    put(6, &2_u16.to_be_bytes());
    put(HEADER_SIZE, &COPY_BYTES.to_be_bytes());
    put(SEQUENCE, &1_u64.to_be_bytes());
    put(CHECKSUM_NAME, b"sha256");
    put(UUID, uuid_text(uuid).as_bytes());
    put(OFFSET, &at.to_be_bytes());
    put(HEAD_BYTES, json.as_bytes());
    random(&mut bytes[CHECKSUM_SALT..UUID])?;
    let checksum = HashName::Sha256.of(&[&bytes]);
    bytes[CHECKSUM..CHECKSUM + checksum.len()].copy_from_slice(&checksum);
    Ok(bytes)
}

/// A random UUID (RFC 9562, version 4) as text.
fn uuid_text(bytes: &[u8; 16]) -> String {
    let number = u128::from_be_bytes(*bytes);
    let number = number & !(0xf << 76) | 4 << 76;
    let number = number & !(0b11 << 62) | 0b10 << 62;
    let hex = format!("{number:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

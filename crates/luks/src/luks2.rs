//! The header of LUKS2: two copies, each of a binary head, a checksum and an area of JSON (LUKS2
//! On-Disk Format Specification 1.1.4).
//!
//! ```text
//!   0       head (4096) | JSON …      hdr_size bytes, checked as a whole
//!   hdr_size  the same once more, its first letters turned round
//!   2 * hdr_size  areas of key slots … data
//! ```

use std::collections::BTreeMap;

use argon2::Algorithm;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use block::{Error, ErrorKind, SECTOR_BYTES};
use serde::Deserialize;
use words::statement;

use crate::catalogue;
use crate::cipher::{SECTOR_BYTES_MAX, SectorTweak};
use crate::hash::HashName;
use crate::header::{DataSegment, KeyDigest, LuksHeader, ReadBytes};
use crate::luks1::{MAGIC, text};
use crate::refusal::{damaged, unknown};
use crate::slot::{Derivation, KeySlot};

pub(crate) const HEAD_BYTES: usize = 4096;
/// How the second copy begins.
pub(crate) const SECOND_MAGIC: &[u8; 6] = b"SKUL\xba\xbe";
/// The lengths that a copy may have, in bytes: the second lies behind the first.
const COPY_BYTES: [u64; 9] =
    [0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000];
pub(crate) const HEADER_SIZE: usize = 8;
pub(crate) const SEQUENCE: usize = 16;
pub(crate) const CHECKSUM_NAME: usize = 72;
pub(crate) const OFFSET: usize = 256;
pub(crate) const CHECKSUM: usize = 448;
const CHECKSUM_BYTES: usize = 64;
/// Both versions of cryptsetup's tools know no more.
const SLOT_COUNT: usize = 32;

/// One of the two copies, whose checksum is right.
struct Copy {
    sequence: u64,
    /// Its own length, in bytes.
    size_bytes: u64,
    json: Vec<u8>,
}

/// Reads the header, and bounds what it says.
pub(crate) fn read(read: &mut ReadBytes<'_>) -> Result<LuksHeader, Error> {
    let first = copy_at(0, MAGIC, read);
    let second_at = match &first {
        Ok(copy) => vec![copy.size_bytes],
        Err(_) => COPY_BYTES.to_vec(),
    };
    let mut second = Err(no_container());
    for at in second_at {
        second = copy_at(at, SECOND_MAGIC, read);
        if second.is_ok() {
            break;
        }
    }
    let (copy, note) = match (first, second) {
        (Ok(first), Ok(second)) if second.sequence > first.sequence => (second, None),
        (Ok(first), Ok(_)) => (first, None),
        (Ok(first), Err(_)) => (first, Some(catalogue::SECOND_HEADER_DAMAGED.into())),
        (Err(_), Ok(second)) => (second, Some(catalogue::FIRST_HEADER_DAMAGED.into())),
        (Err(error), Err(_)) => return Err(error),
    };
    let mut header = decode(&copy)?;
    header.note = note;
    Ok(header)
}

fn no_container() -> Error {
    Error::new(ErrorKind::Invalid, catalogue::NO_CONTAINER)
}

fn copy_at(at: u64, magic: &[u8; 6], read: &mut ReadBytes<'_>) -> Result<Copy, Error> {
    let mut head = vec![0; HEAD_BYTES];
    read(at, &mut head)?;
    if !head.starts_with(magic) {
        return Err(no_container());
    }
    let long = |at: usize| {
        let bytes = head[at..at + 8].try_into().expect("eight bytes");
        u64::from_be_bytes(bytes)
    };
    let size_bytes = long(HEADER_SIZE);
    if head[6..8] != [0, 2] || !COPY_BYTES.contains(&size_bytes) || long(OFFSET) != at {
        return Err(damaged(catalogue::HEAD_WRONG));
    }
    let sequence = long(SEQUENCE);
    let name = text(&head[CHECKSUM_NAME..CHECKSUM_NAME + 32])?.to_owned();
    let hash = HashName::from_name(&name).ok_or_else(|| unknown(catalogue::CHECKSUM, &name))?;
    // Piece by piece: where there is less than the head says, no more memory is taken than that.
    let mut json = Vec::new();
    for start in (HEAD_BYTES as u64..size_bytes).step_by(HEAD_BYTES) {
        let mut piece = [0; HEAD_BYTES];
        read(at + start, &mut piece)?;
        json.extend(piece);
    }
    let (start, rest) = head.split_at(CHECKSUM);
    let (checksum, rest) = rest.split_at(CHECKSUM_BYTES);
    let found = hash.of(&[start, &[0; CHECKSUM_BYTES], rest, &json]);
    if checksum[..found.len()] != found[..] {
        return Err(damaged(catalogue::CHECKSUM_DIFFERS));
    }
    let end = json.iter().position(|&byte| byte == 0).unwrap_or(json.len());
    json.truncate(end);
    Ok(Copy { sequence, size_bytes, json })
}

#[derive(Deserialize)]
struct Metadata {
    keyslots: BTreeMap<String, Slot>,
    segments: BTreeMap<String, Segment>,
    digests: BTreeMap<String, Digest>,
    config: Config,
}

#[derive(Deserialize)]
struct Slot {
    r#type: String,
    #[serde(default)]
    key_size: u32,
    priority: Option<u32>,
    af: Option<Stripes>,
    area: Option<Area>,
    kdf: Option<Kdf>,
}

#[derive(Deserialize)]
struct Stripes {
    stripes: u32,
    hash: String,
}

#[derive(Deserialize)]
struct Area {
    offset: String,
    size: String,
    encryption: String,
    key_size: u32,
}

#[derive(Deserialize)]
struct Kdf {
    r#type: String,
    salt: String,
    hash: Option<String>,
    iterations: Option<u32>,
    time: Option<u32>,
    memory: Option<u32>,
    cpus: Option<u32>,
}

#[derive(Deserialize)]
struct Segment {
    r#type: String,
    offset: String,
    size: String,
    #[serde(default)]
    iv_tweak: String,
    #[serde(default)]
    encryption: String,
    #[serde(default)]
    sector_size: u32,
    integrity: Option<serde_json::Value>,
    #[serde(default)]
    flags: Vec<String>,
}

#[derive(Deserialize)]
struct Digest {
    r#type: String,
    keyslots: Vec<String>,
    segments: Vec<String>,
    hash: String,
    iterations: u32,
    salt: String,
    digest: String,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    requirements: Requirements,
}

#[derive(Default, Deserialize)]
struct Requirements {
    #[serde(default)]
    mandatory: Vec<String>,
}

fn decode(copy: &Copy) -> Result<LuksHeader, Error> {
    let metadata: Metadata = serde_json::from_slice(&copy.json)
        .map_err(|error| damaged(statement!(catalogue::JSON_NO_HEADER, line = error.line())))?;
    if let Some(requirement) = metadata.config.requirements.mandatory.first() {
        return Err(unknown(catalogue::REQUIREMENT, requirement));
    }
    let mut segments = metadata.segments.iter();
    let (Some((segment_name, segment)), None) = (segments.next(), segments.next()) else {
        let text = statement!(catalogue::SEGMENTS, count = metadata.segments.len());
        return Err(Error::new(ErrorKind::Unsupported, text));
    };
    let covering = |digest: &&Digest| digest.segments.iter().any(|covered| covered == segment_name);
    let digest =
        metadata.digests.values().find(covering).ok_or_else(|| damaged(catalogue::NO_DIGEST))?;
    let first_area = 2 * copy.size_bytes;
    let mut slots = Vec::new();
    for (name, slot) in &metadata.keyslots {
        // A slot that is not to be tried, and one whose key is another's.
        if slot.priority == Some(0) || !digest.keyslots.contains(name) {
            continue;
        }
        let number = whole(name)? as u32;
        let slot = key_slot(number, slot, first_area)
            .map_err(|error| error.at(statement!(catalogue::SLOT_NUMBER, number = number)))?;
        slots.push((metadata.keyslots[name].priority.unwrap_or(1), slot));
    }
    if slots.len() > SLOT_COUNT {
        return Err(damaged(statement!(catalogue::SLOT_COUNT, count = slots.len())));
    }
    slots.sort_by_key(|(priority, slot)| (std::cmp::Reverse(*priority), slot.number));
    Ok(LuksHeader {
        version: 2,
        segment: data_segment(segment)?,
        slots: slots.into_iter().map(|(_, slot)| slot).collect(),
        digest: key_digest(digest)?,
        note: None,
    })
}

fn key_slot(number: u32, slot: &Slot, first_area: u64) -> Result<KeySlot, Error> {
    let (Some(stripes), Some(area), Some(kdf)) = (&slot.af, &slot.area, &slot.kdf) else {
        return Err(unknown(catalogue::KIND_OF_SLOT, &slot.r#type));
    };
    if slot.r#type != "luks2" {
        return Err(unknown(catalogue::KIND_OF_SLOT, &slot.r#type));
    }
    let offset_bytes = whole(&area.offset)?;
    if offset_bytes < first_area || !offset_bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(damaged(catalogue::AREA_IN_HEADER));
    }
    Ok(KeySlot {
        number,
        derivation: derivation(kdf)?,
        offset_bytes,
        room_bytes: whole(&area.size)?,
        tweak: tweak(&area.encryption)?,
        area_key_bytes: area.key_size as usize,
        key_bytes: slot.key_size as usize,
        stripes: stripes.stripes,
        spread: hash(&stripes.hash)?,
    })
}

fn derivation(kdf: &Kdf) -> Result<Derivation, Error> {
    let salt = binary(&kdf.salt)?;
    let said = |number: Option<u32>| number.ok_or_else(|| damaged(catalogue::DERIVATION_LACKS));
    let algorithm = match kdf.r#type.as_str() {
        "pbkdf2" => {
            let name = kdf.hash.as_deref().unwrap_or_default();
            let iterations = said(kdf.iterations)?;
            return Ok(Derivation::Pbkdf2 { hash: hash(name)?, iterations, salt });
        }
        "argon2i" => Algorithm::Argon2i,
        "argon2id" => Algorithm::Argon2id,
        other => return Err(unknown(catalogue::KEY_DERIVATION, other)),
    };
    Ok(Derivation::Argon2 {
        algorithm,
        passes: said(kdf.time)?,
        memory_kib: said(kdf.memory)?,
        parallelism: said(kdf.cpus)?,
        salt,
    })
}

fn data_segment(segment: &Segment) -> Result<DataSegment, Error> {
    if segment.r#type != "crypt" {
        return Err(unknown(catalogue::KIND_OF_SEGMENT, &segment.r#type));
    }
    if let Some(flag) = segment.flags.first() {
        return Err(unknown(catalogue::FLAG_OF_SEGMENT, flag));
    }
    if segment.integrity.is_some() {
        let text = catalogue::INTEGRITY_TAGS;
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let size_bytes = match segment.size.as_str() {
        "dynamic" => None,
        size => Some(whole(size)?),
    };
    let bytes = segment.sector_size;
    if !(SECTOR_BYTES as u32..=SECTOR_BYTES_MAX as u32).contains(&bytes) || !bytes.is_power_of_two()
    {
        return Err(damaged(statement!(catalogue::SECTOR_LENGTH, bytes = bytes)));
    }
    Ok(DataSegment {
        offset_bytes: whole(&segment.offset)?,
        size_bytes,
        first_sector: whole(&segment.iv_tweak)?,
        sector_bytes: bytes,
        tweak: tweak(&segment.encryption)?,
    })
}

fn key_digest(digest: &Digest) -> Result<KeyDigest, Error> {
    if digest.r#type != "pbkdf2" {
        return Err(unknown(catalogue::KIND_OF_DIGEST, &digest.r#type));
    }
    let digest = KeyDigest {
        hash: hash(&digest.hash)?,
        iterations: digest.iterations,
        salt: binary(&digest.salt)?,
        digest: binary(&digest.digest)?,
    };
    digest.check()?;
    Ok(digest)
}

/// LUKS2 writes numbers of 64 bits as text.
fn whole(text: &str) -> Result<u64, Error> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_plain.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| damaged(catalogue::HEADER_NO_NUMBER))
}

fn hash(name: &str) -> Result<HashName, Error> {
    HashName::from_name(name).ok_or_else(|| unknown(catalogue::HASH, name))
}

fn tweak(cipher: &str) -> Result<SectorTweak, Error> {
    SectorTweak::from_name(cipher).ok_or_else(|| unknown(catalogue::CIPHER, cipher))
}

fn binary(text: &str) -> Result<Vec<u8>, Error> {
    BASE64_STANDARD.decode(text).map_err(|_| damaged(catalogue::NO_BASE64))
}

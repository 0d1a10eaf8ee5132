//! What both versions have in common: slots that hold the volume key, digests that tell whether it
//! is the one, and a segment of data.

use block::{Error, ErrorKind};
use words::{Text, statement};
use zeroize::Zeroizing;

use crate::catalogue;
use crate::cipher::{SectorCipher, SectorTweak};
use crate::hash::HashName;
use crate::refusal::damaged;
use crate::secret::{Passphrase, VolumeKey};
use crate::slot::{Derivation, KeySlot};

/// LUKS1 has the shortest digests, SHA-512 makes the longest.
const DIGEST_BYTES_MIN: usize = 20;
const DIGEST_BYTES_MAX: usize = 64;
/// Where a header is read from: fills the slice with what lies at the offset.
pub type ReadBytes<'a> = dyn FnMut(u64, &mut [u8]) -> Result<(), Error> + 'a;

/// What tells whether a key is the volume's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyDigest {
    pub(crate) hash: HashName,
    pub(crate) iterations: u32,
    pub(crate) salt: Vec<u8>,
    pub(crate) digest: Vec<u8>,
}

impl KeyDigest {
    /// That of a key, by SHA-256.
    pub(crate) fn of(key: &[u8], iterations: u32, salt: Vec<u8>, bytes: usize) -> KeyDigest {
        let (hash, mut digest) = (HashName::Sha256, vec![0; bytes]);
        hash.pbkdf2(key, &salt, iterations, &mut digest);
        KeyDigest { hash, iterations, salt, digest }
    }

    /// Refuses a digest that would take forever to derive, or that any key would match.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let (hash, salt) = (self.hash, self.salt.clone());
        Derivation::Pbkdf2 { hash, iterations: self.iterations, salt }.check()?;
        let length = self.digest.len();
        if !(DIGEST_BYTES_MIN..=DIGEST_BYTES_MAX).contains(&length) {
            return Err(damaged(statement!(catalogue::DIGEST_LENGTH, length = length)));
        }
        Ok(())
    }

    pub(crate) fn fits(&self, key: &[u8]) -> bool {
        let mut found = vec![0; self.digest.len()];
        self.hash.pbkdf2(key, &self.salt, self.iterations, &mut found);
        // All bytes are compared, so that the time does not tell how many agree.
        found.iter().zip(&self.digest).fold(0, |other, (one, two)| other | (one ^ two)) == 0
    }
}

/// Where the data lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataSegment {
    /// Where they begin on their device, in bytes.
    pub(crate) offset_bytes: u64,
    /// How long they are; to the device's end where nothing is said.
    pub(crate) size_bytes: Option<u64>,
    /// The number of their first sector, in 512 bytes.
    pub(crate) first_sector: u64,
    pub(crate) sector_bytes: u32,
    pub(crate) tweak: SectorTweak,
}

/// What a container says of itself. Whatever it holds was bounded when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LuksHeader {
    pub(crate) version: u16,
    pub(crate) segment: DataSegment,
    /// In the order in which they are tried.
    pub(crate) slots: Vec<KeySlot>,
    pub(crate) digest: KeyDigest,
    /// What the user should know, in words.
    pub(crate) note: Option<Text>,
}

impl LuksHeader {
    /// Which version of LUKS it is, 1 or 2.
    #[must_use]
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Length of the data's sectors in bytes.
    #[must_use]
    pub fn sector_bytes(&self) -> u32 {
        self.segment.sector_bytes
    }

    /// What the user should know of it: a copy of the header that is damaged.
    #[must_use]
    pub fn note(&self) -> Option<&Text> {
        self.note.as_ref()
    }

    /// The volume key, from the first slot that the passphrase opens, with or without its trailing
    /// newline. `promise_memory` is asked whether so many bytes are to be had.
    ///
    /// # Errors
    /// [`ErrorKind::Permission`] when no slot opens, whether the passphrase is wrong or a slot
    /// damaged; what `read` and `promise_memory` say.
    pub fn unlock(
        &self,
        passphrase: &Passphrase,
        read: &mut ReadBytes<'_>,
        promise_memory: &dyn Fn(u64) -> Result<(), Error>,
    ) -> Result<VolumeKey, Error> {
        for slot in &self.slots {
            promise_memory(slot.derivation.memory_bytes())?;
        }
        let shorter = passphrase.without_newline();
        for passphrase in [Some(passphrase), shorter.as_ref()].into_iter().flatten() {
            for slot in &self.slots {
                let mut area = Zeroizing::new(vec![0; slot.area_bytes()]);
                read(slot.offset_bytes, &mut area)?;
                let key = slot.open(passphrase, area)?;
                if self.digest.fits(&key) {
                    return Ok(VolumeKey(key));
                }
            }
        }
        Err(Error::new(ErrorKind::Permission, catalogue::NO_SLOT_OPENS))
    }

    /// What encrypts the data.
    pub(crate) fn cipher(&self, key: &VolumeKey) -> Result<SectorCipher, Error> {
        let segment = &self.segment;
        let bytes = segment.sector_bytes as usize;
        SectorCipher::new(key.bytes(), segment.tweak, bytes, segment.first_sector)
            .ok_or_else(|| damaged(statement!(catalogue::KEY_LENGTH, bytes = key.bytes().len())))
    }
}

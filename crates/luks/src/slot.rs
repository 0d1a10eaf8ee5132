//! A key slot: the volume key, cut into stripes and encrypted with what a passphrase derives.

use argon2::{Algorithm, Argon2, Params, Version};
use block::{Error, ErrorKind, size_text};
use words::{Text, statement};
use zeroize::Zeroizing;

use crate::catalogue;
use crate::cipher::{SectorCipher, SectorTweak};
use crate::hash::HashName;
use crate::refusal::damaged;
use crate::secret::{FillRandom, KEY_BYTES_MAX, Passphrase};

/// The most memory that Argon2 may want, in bytes: what cryptsetup allows.
const ARGON2_BYTES_MAX: u64 = 4 << 30;
/// Sectors of the area of a slot, in bytes.
const AREA_SECTOR_BYTES: usize = 512;
/// Both versions know no other number.
pub(crate) const STRIPES: u32 = 4000;
/// More iterations of PBKDF2 than ten minutes of a fast processor have.
const ITERATIONS_MAX: u32 = 2_000_000_000;
/// Passes times memory of Argon2, in bytes: a quarter of an hour of a fast processor.
const ARGON2_WORK_BYTES_MAX: u64 = 1 << 40;
/// Parallelism of Argon2; cryptsetup makes up to 4.
const PARALLELISM_MAX: u32 = 64;

/// How a passphrase becomes a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Derivation {
    Pbkdf2 { hash: HashName, iterations: u32, salt: Vec<u8> },
    Argon2 { algorithm: Algorithm, passes: u32, memory_kib: u32, parallelism: u32, salt: Vec<u8> },
}

impl Derivation {
    /// Refuses what would take for ever, or memory that nobody has.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refused = |text: Text| Err(Error::new(ErrorKind::Refused, text));
        match self {
            Derivation::Pbkdf2 { iterations: 0, .. } => Err(damaged(catalogue::NO_ITERATION)),
            Derivation::Pbkdf2 { iterations, .. } if *iterations > ITERATIONS_MAX => {
                refused(statement!(
                    catalogue::ITERATIONS,
                    iterations = *iterations,
                    iterations_max = ITERATIONS_MAX
                ))
            }
            Derivation::Pbkdf2 { .. } => Ok(()),
            Derivation::Argon2 { memory_kib, .. } if self.memory_bytes() > ARGON2_BYTES_MAX => {
                refused(statement!(
                    catalogue::ARGON2_MEMORY,
                    memory_kib = *memory_kib,
                    most = size_text(ARGON2_BYTES_MAX)
                ))
            }
            Derivation::Argon2 { parallelism, .. } if *parallelism > PARALLELISM_MAX => {
                refused(statement!(
                    catalogue::ARGON2_PARALLELISM,
                    parallelism = *parallelism,
                    parallelism_max = PARALLELISM_MAX
                ))
            }
            Derivation::Argon2 { passes, .. }
                if u64::from(*passes).saturating_mul(self.memory_bytes())
                    > ARGON2_WORK_BYTES_MAX =>
            {
                refused(statement!(
                    catalogue::ARGON2_WORK,
                    passes = *passes,
                    memory = size_text(self.memory_bytes()),
                    most = size_text(ARGON2_WORK_BYTES_MAX)
                ))
            }
            Derivation::Argon2 { .. } => self.argon2().map(drop),
        }
    }

    /// Memory that it takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Derivation::Pbkdf2 { .. } => 0,
            Derivation::Argon2 { memory_kib, .. } => u64::from(*memory_kib) << 10,
        }
    }

    fn argon2(&self) -> Result<Argon2<'static>, Error> {
        let Derivation::Argon2 { algorithm, passes, memory_kib, parallelism, .. } = self else {
            return Err(damaged(catalogue::NO_ARGON2));
        };
        let params = Params::new(*memory_kib, *passes, *parallelism, None)
            .map_err(|wrong| damaged(Text::verbatim(&wrong).at("Argon2")))?;
        Ok(Argon2::new(*algorithm, Version::V0x13, params))
    }

    fn key(&self, passphrase: &Passphrase, key_bytes: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut key = Zeroizing::new(vec![0; key_bytes]);
        match self {
            Derivation::Pbkdf2 { hash, iterations, salt } => {
                hash.pbkdf2(passphrase.bytes(), salt, *iterations, &mut key);
            }
            Derivation::Argon2 { salt, .. } => self
                .argon2()?
                .hash_password_into(passphrase.bytes(), salt, &mut key)
                .map_err(|error| Error::with_source(ErrorKind::Other, "Argon2", error))?,
        }
        Ok(key)
    }
}

/// Where a slot's stripes lie and how they are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySlot {
    pub(crate) number: u32,
    pub(crate) derivation: Derivation,
    /// Where its stripes begin in the header, in bytes.
    pub(crate) offset_bytes: u64,
    /// How much room they have, in bytes.
    pub(crate) room_bytes: u64,
    pub(crate) tweak: SectorTweak,
    /// Length of the key that they are encrypted with, in bytes.
    pub(crate) area_key_bytes: usize,
    /// Length of the volume key, in bytes.
    pub(crate) key_bytes: usize,
    pub(crate) stripes: u32,
    /// What the stripes are spread with.
    pub(crate) spread: HashName,
}

impl KeySlot {
    /// Refuses what no cryptsetup makes.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let at = |error: Error| error.at(statement!(catalogue::SLOT_NUMBER, number = self.number));
        self.derivation.check().map_err(at)?;
        let is_key = |bytes: usize| matches!(bytes, 32 | KEY_BYTES_MAX);
        if !is_key(self.key_bytes) || !is_key(self.area_key_bytes) {
            let text = statement!(catalogue::KEY_OF_XTS, bytes = self.key_bytes);
            return Err(at(Error::new(ErrorKind::Unsupported, text)));
        }
        if self.stripes != STRIPES {
            return Err(at(damaged(statement!(
                catalogue::STRIPES,
                count = self.stripes,
                stripes = STRIPES
            ))));
        }
        if (self.area_bytes() as u64) > self.room_bytes {
            let text = statement!(
                catalogue::STRIPES_ROOM,
                bytes = self.area_bytes(),
                room = self.room_bytes
            );
            return Err(at(damaged(text)));
        }
        Ok(())
    }

    /// What its stripes take, in bytes, in whole sectors.
    pub(crate) fn area_bytes(&self) -> usize {
        (self.key_bytes * self.stripes as usize).next_multiple_of(AREA_SECTOR_BYTES)
    }

    /// What may be the volume key: the slot's digest decides. `area` are the bytes of its stripes.
    pub(crate) fn open(
        &self,
        passphrase: &Passphrase,
        mut area: Zeroizing<Vec<u8>>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.cipher(passphrase)?.decrypt(0, &mut area);
        Ok(self.merge(&area))
    }

    fn cipher(&self, passphrase: &Passphrase) -> Result<SectorCipher, Error> {
        let key = self.derivation.key(passphrase, self.area_key_bytes)?;
        SectorCipher::new(&key, self.tweak, AREA_SECTOR_BYTES, 0)
            .ok_or_else(|| damaged(catalogue::NO_AES_KEY))
    }

    /// What a passphrase makes of a key, in the slot's area. `random` fills all stripes but the
    /// last.
    pub(crate) fn seal(
        &self,
        passphrase: &Passphrase,
        key: &[u8],
        random: &mut FillRandom<'_>,
    ) -> Result<Vec<u8>, Error> {
        let mut area = vec![0; self.area_bytes()];
        let last = self.key_bytes * (self.stripes as usize - 1);
        random(&mut area[..last])?;
        // The last stripe is zero yet: what the others come to is missing from the key.
        let mut rest = self.merge(&area);
        add(&mut rest, key);
        area[last..last + self.key_bytes].copy_from_slice(&rest);
        self.cipher(passphrase)?.encrypt(0, &mut area);
        Ok(area)
    }

    /// The key that stripes were made of (LUKS1 specification, 2.4).
    fn merge(&self, area: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut key = Zeroizing::new(vec![0; self.key_bytes]);
        let mut stripes = area.chunks_exact(self.key_bytes).take(self.stripes as usize);
        let last = stripes.next_back();
        for stripe in stripes {
            add(&mut key, stripe);
            self.spread.diffuse(&mut key);
        }
        add(&mut key, last.unwrap_or_default());
        key
    }
}

fn add(key: &mut [u8], stripe: &[u8]) {
    key.iter_mut().zip(stripe).for_each(|(byte, other)| *byte ^= other);
}

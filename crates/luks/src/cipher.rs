//! AES in XTS mode (IEEE 1619), as dm-crypt uses it: a sector at a time, its number for the tweak.
//!
//! The blocks of a sector go through the cipher together, for processors have several under way at
//! once. Sectors are whole blocks of the cipher, so that nothing is ever stolen.

use std::fmt;

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit, consts::U16,
};
use aes::{Aes128, Aes256};

/// Length of a block of AES in bytes.
const BLOCK_BYTES: usize = 16;
/// The longest sector, in bytes.
pub(crate) const SECTOR_BYTES_MAX: usize = 4096;
/// dm-crypt counts sectors of this many bytes, whatever the container's are.
const COUNTED_BYTES: u64 = 512;

/// How a sector's number becomes a tweak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectorTweak {
    /// All 64 bits of it.
    Plain64,
    /// The lower 32 bits.
    Plain,
}

impl SectorTweak {
    /// Of `aes-xts-plain64`, as headers name ciphers.
    pub(crate) fn from_name(cipher: &str) -> Option<SectorTweak> {
        match cipher {
            "aes-xts-plain64" => Some(SectorTweak::Plain64),
            "aes-xts-plain" => Some(SectorTweak::Plain),
            _ => None,
        }
    }
}

#[expect(clippy::large_enum_variant, reason = "it lies in a box of its own")]
enum Keys {
    Aes128 { data: Aes128, tweak: Aes128 },
    Aes256 { data: Aes256, tweak: Aes256 },
}

/// A cipher and its key, and how the sectors of what it covers are numbered.
pub(crate) struct SectorCipher {
    keys: Box<Keys>,
    tweak: SectorTweak,
    /// Length of a sector in bytes.
    sector_bytes: usize,
    /// The number of the first sector, in 512 bytes.
    first: u64,
}

impl fmt::Debug for SectorCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SectorCipher")
    }
}

impl SectorCipher {
    /// With a key of 32 or 64 bytes, and sectors of 512 to 4096; `None` for others.
    pub(crate) fn new(
        key: &[u8],
        tweak: SectorTweak,
        sector_bytes: usize,
        first: u64,
    ) -> Option<SectorCipher> {
        let (data, other) = key.split_at(key.len() / 2);
        let keys = match key.len() {
            32 => Keys::Aes128 {
                data: Aes128::new_from_slice(data).ok()?,
                tweak: Aes128::new_from_slice(other).ok()?,
            },
            64 => Keys::Aes256 {
                data: Aes256::new_from_slice(data).ok()?,
                tweak: Aes256::new_from_slice(other).ok()?,
            },
            _ => return None,
        };
        let fits = matches!(sector_bytes, 512 | 1024 | 2048 | SECTOR_BYTES_MAX);
        fits.then(|| SectorCipher { keys: Box::new(keys), tweak, sector_bytes, first })
    }

    /// Length of a sector in bytes.
    pub(crate) fn sector_bytes(&self) -> usize {
        self.sector_bytes
    }

    /// Encrypts whole sectors in place; `offset` is where they lie, in bytes.
    pub(crate) fn encrypt(&self, offset: u64, bytes: &mut [u8]) {
        for (offset, sector) in self.sectors(offset, bytes) {
            let tweak = self.tweak_at(offset);
            match &*self.keys {
                Keys::Aes128 { data, tweak: key } => {
                    sector_with(key, tweak, sector, |blocks| data.encrypt_blocks(blocks));
                }
                Keys::Aes256 { data, tweak: key } => {
                    sector_with(key, tweak, sector, |blocks| data.encrypt_blocks(blocks));
                }
            }
        }
    }

    /// Decrypts whole sectors in place; `offset` is where they lie, in bytes.
    pub(crate) fn decrypt(&self, offset: u64, bytes: &mut [u8]) {
        for (offset, sector) in self.sectors(offset, bytes) {
            let tweak = self.tweak_at(offset);
            match &*self.keys {
                Keys::Aes128 { data, tweak: key } => {
                    sector_with(key, tweak, sector, |blocks| data.decrypt_blocks(blocks));
                }
                Keys::Aes256 { data, tweak: key } => {
                    sector_with(key, tweak, sector, |blocks| data.decrypt_blocks(blocks));
                }
            }
        }
    }

    fn sectors<'a>(
        &self,
        offset: u64,
        bytes: &'a mut [u8],
    ) -> impl Iterator<Item = (u64, &'a mut [u8])> + use<'a> {
        assert!(bytes.len().is_multiple_of(self.sector_bytes), "whole sectors");
        (offset..).step_by(self.sector_bytes).zip(bytes.chunks_exact_mut(self.sector_bytes))
    }

    fn tweak_at(&self, offset: u64) -> u128 {
        let number = self.first.wrapping_add(offset / COUNTED_BYTES);
        match self.tweak {
            SectorTweak::Plain64 => u128::from(number),
            SectorTweak::Plain => u128::from(number as u32),
        }
    }
}

/// One sector: each block is masked before and after the cipher, by the tweak times a power of x.
fn sector_with<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(
    key: &C,
    tweak: u128,
    sector: &mut [u8],
    cipher: impl FnOnce(&mut [Array<u8, U16>]),
) {
    let mut first = Array::from(tweak.to_le_bytes());
    key.encrypt_block(&mut first);
    let first = u128::from_le_bytes(first.into());
    mask(first, sector);
    cipher(Array::slice_as_chunks_mut(sector).0);
    mask(first, sector);
}

fn mask(mut tweak: u128, sector: &mut [u8]) {
    for block in sector.as_chunks_mut::<BLOCK_BYTES>().0 {
        *block = (u128::from_le_bytes(*block) ^ tweak).to_le_bytes();
        // x^128 = x^7 + x^2 + x + 1.
        tweak = (tweak << 1) ^ (0x87 & (tweak >> 127).wrapping_neg());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        digits
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    }

    /// IEEE 1619, appendix B, vector 10: AES-256, data unit 0xff, bytes 00 to ff twice.
    #[test]
    fn a_sector_is_encrypted_as_the_standard_has_it() {
        let key =
            hex("27182818284590452353602874713526624977572470936999595749669676273141592653589793\
            23846264338327950288419716939937510582097494459230781640628620899862803482534211");
        let key = &key[..64];
        assert_eq!(key.len(), 64);
        let cipher = SectorCipher::new(key, SectorTweak::Plain64, 512, 0xff).expect("a cipher");
        let plain: Vec<u8> = (0..512).map(|at| at as u8).collect();
        let mut bytes = plain.clone();
        cipher.encrypt(0, &mut bytes);
        assert_eq!(bytes[..16], hex("1c3b3a102f770386e4836c99e370cf9b"));
        cipher.decrypt(0, &mut bytes);
        assert_eq!(bytes, plain);
    }

    #[test]
    fn what_is_no_key_makes_no_cipher() {
        for (key, sector) in [(0, 512), (16, 512), (48, 512), (65, 512), (64, 256), (64, 8192)] {
            let cipher = SectorCipher::new(&vec![1; key], SectorTweak::Plain64, sector, 0);
            assert!(cipher.is_none(), "{key} {sector}");
        }
    }
}

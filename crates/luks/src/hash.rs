//! The hashes that headers name, and what is made of them: PBKDF2 and the diffusion of stripes.

use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha256, Sha512};
use zeroize::Zeroizing;

/// A hash that a header may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashName {
    Sha1,
    Sha256,
    Sha512,
}

impl HashName {
    pub(crate) fn from_name(name: &str) -> Option<HashName> {
        match name {
            "sha1" => Some(HashName::Sha1),
            "sha256" => Some(HashName::Sha256),
            "sha512" => Some(HashName::Sha512),
            _ => None,
        }
    }

    /// Length of what it answers, in bytes.
    pub(crate) fn output_bytes(self) -> usize {
        match self {
            HashName::Sha1 => 20,
            HashName::Sha256 => 32,
            HashName::Sha512 => 64,
        }
    }

    /// The hash of these parts one behind the other.
    pub(crate) fn of(self, parts: &[&[u8]]) -> Vec<u8> {
        match self {
            HashName::Sha1 => digest::<Sha1>(parts),
            HashName::Sha256 => digest::<Sha256>(parts),
            HashName::Sha512 => digest::<Sha512>(parts),
        }
    }

    pub(crate) fn pbkdf2(self, secret: &[u8], salt: &[u8], iterations: u32, key: &mut [u8]) {
        match self {
            HashName::Sha1 => pbkdf2::pbkdf2_hmac::<Sha1>(secret, salt, iterations, key),
            HashName::Sha256 => pbkdf2::pbkdf2_hmac::<Sha256>(secret, salt, iterations, key),
            HashName::Sha512 => pbkdf2::pbkdf2_hmac::<Sha512>(secret, salt, iterations, key),
        }
    }

    /// Spreads each bit over a whole part as long as the hash (LUKS1 specification, 2.4).
    pub(crate) fn diffuse(self, bytes: &mut [u8]) {
        for (number, part) in (0_u32..).zip(bytes.chunks_mut(self.output_bytes())) {
            let mixed = Zeroizing::new(self.of(&[&number.to_be_bytes(), part]));
            part.copy_from_slice(&mixed[..part.len()]);
        }
    }
}

fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
    let mut hash = D::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().to_vec()
}

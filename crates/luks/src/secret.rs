//! Passphrases and keys: wiped when they are dropped, and never printed.

use std::fmt;

use block::Error;
use zeroize::Zeroizing;

/// The longest volume key: AES-256 in XTS mode.
pub(crate) const KEY_BYTES_MAX: usize = 64;
/// What fills a slice with bytes that cannot be guessed.
pub(crate) type FillRandom<'a> = dyn FnMut(&mut [u8]) -> Result<(), Error> + 'a;

/// A passphrase, or what a key file holds; wiped when it is dropped.
pub struct Passphrase(Zeroizing<Vec<u8>>);

impl Passphrase {
    /// Takes the bytes as they are.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Passphrase {
        Passphrase(Zeroizing::new(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same without the newline at its end, which a program that asks at a terminal does not
    /// take for a part of it.
    pub(crate) fn without_newline(&self) -> Option<Passphrase> {
        Some(Passphrase::new(self.0.strip_suffix(b"\n")?.to_vec()))
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase")
    }
}

/// The key of a container's data; wiped when it is dropped.
pub struct VolumeKey(pub(crate) Zeroizing<Vec<u8>>);

impl VolumeKey {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for VolumeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VolumeKey")
    }
}

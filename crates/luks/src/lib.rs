//! Encrypted devices as cryptsetup makes them, by the published specifications of LUKS1 and LUKS2.
//!
//! ```text
//!   header     what the first bytes of a container say: slots, digests, where the data are
//!     | unlock(passphrase)     slot by slot: derive, decrypt, merge the stripes, hold against the digest
//!   VolumeKey
//!     | LuksDevice             a layer: reads are decrypted, writes are encrypted
//! ```
//!
//! Keys are wiped when they are dropped, and nothing prints them. A header is bytes from a
//! stranger: all of it is bounded before anything is computed from it.

mod catalogue;
mod cipher;
mod decode;
mod device;
mod format;
mod hash;
mod header;
mod luks1;
mod luks2;
mod refusal;
mod secret;
mod slot;

pub use device::{LuksDevice, LuksOptions};
pub use format::{ContainerFormat, DATA_OFFSET_BYTES, PassphraseCost};
pub use header::{LuksHeader, ReadBytes};
pub use secret::{Passphrase, VolumeKey};

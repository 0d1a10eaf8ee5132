//! Which version a header has, and where that is read.

use block::{Error, ErrorKind};
use words::statement;

use crate::catalogue;
use crate::header::{LuksHeader, ReadBytes};
use crate::luks1::MAGIC;
use crate::slot::KeySlot;
use crate::{luks1, luks2};

impl LuksHeader {
    /// Reads the header of a container: `read` fills a slice with the bytes at an offset. Of the
    /// two copies of LUKS2 the newer valid one is taken.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no container, [`ErrorKind::Corrupt`] for a damaged one,
    /// [`ErrorKind::Unsupported`] and [`ErrorKind::Refused`] for what is not understood or out of
    /// bounds, and whatever `read` says.
    pub fn read(read: &mut ReadBytes<'_>) -> Result<LuksHeader, Error> {
        let mut start = [0; 8];
        read(0, &mut start)?;
        let version = u16::from_be_bytes([start[6], start[7]]);
        let header = match (start.starts_with(MAGIC), version) {
            (true, 1) => luks1::read(read)?,
            (true, 2) | (false, _) => luks2::read(read)?,
            (true, version) => {
                let text = statement!(catalogue::VERSION_UNKNOWN, version = version);
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
        };
        header.slots.iter().try_for_each(KeySlot::check)?;
        Ok(header)
    }
}

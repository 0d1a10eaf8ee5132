//! The file of an image while it is looked at: bounded, and with nothing read twice.

use block::{Error, ErrorKind};
use words::{Message, statement};

use crate::catalogue;
use crate::map::{ImageMap, damaged};

/// Where an image is read from: fills the slice with what lies at the offset.
pub type ReadBytes<'a> = dyn FnMut(u64, &mut [u8]) -> Result<(), Error> + 'a;

/// The largest disk, in bytes: what is addressed by a number with a sign.
const SIZE_BYTES_MAX: u64 = i64::MAX as u64;
/// All tables of an image together, in bytes: those of a disk of 8 TiB in clusters of 64 KiB.
const TABLES_BYTES_MAX: u64 = 1 << 30;

/// What counts in place of a range of the file.
pub(crate) struct Patch {
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// As long as the range; `None` for zeroes.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Patch {
    /// Puts what is in both into bytes that were read from an offset on.
    fn lay_over(&self, offset: u64, target: &mut [u8]) {
        let (from, to) = (self.offset.max(offset), self.end.min(offset + target.len() as u64));
        if from >= to {
            return;
        }
        let target = &mut target[(from - offset) as usize..(to - offset) as usize];
        match &self.bytes {
            None => target.fill(0),
            Some(bytes) => {
                let from = (from - self.offset) as usize;
                target.copy_from_slice(&bytes[from..from + target.len()]);
            }
        }
    }
}

/// The file of an image while its tables are read.
pub(crate) struct ImageFile<'a> {
    pub(crate) size_bytes: u64,
    /// What tables take so far, in bytes.
    pub(crate) tables_bytes: u64,
    /// Where headers and tables lie, in bytes.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// What a log has that is not in its place yet; later ones lie over earlier ones.
    pub(crate) patches: Vec<Patch>,
    pub(crate) read: &'a mut ReadBytes<'a>,
}

impl ImageFile<'_> {
    /// Fills the slice with what lies at `offset`.
    pub(crate) fn read(&mut self, offset: u64, target: &mut [u8]) -> Result<(), Error> {
        self.must_hold(offset, target.len() as u64, catalogue::A_HEADER)?;
        self.fill(offset, target)
    }

    fn fill(&mut self, offset: u64, target: &mut [u8]) -> Result<(), Error> {
        (self.read)(offset, target)?;
        self.patches.iter().for_each(|patch| patch.lay_over(offset, target));
        Ok(())
    }

    pub(crate) fn head<const N: usize>(&mut self, offset: u64) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.read(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Refuses what reaches past the file's end.
    fn must_hold(&self, offset: u64, length: u64, what: Message) -> Result<(), Error> {
        if offset.checked_add(length).is_some_and(|end| end <= self.size_bytes) {
            return Ok(());
        }
        Err(damaged(statement!(
            catalogue::PAST_FILE_END,
            what = what,
            length = length,
            offset = offset,
            end = self.size_bytes
        )))
    }

    /// Notes that headers lie here.
    pub(crate) fn keep(&mut self, offset: u64, length: u64) {
        self.ranges.push((offset, offset.saturating_add(length)));
    }

    /// Bytes that the file holds: no memory is taken for others.
    pub(crate) fn bytes(
        &mut self,
        offset: u64,
        length: u64,
        what: Message,
    ) -> Result<Vec<u8>, Error> {
        self.must_hold(offset, length, what)?;
        let mut bytes = vec![0; length as usize];
        self.fill(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of a table, which no other overlaps.
    pub(crate) fn table(&mut self, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
        self.must_hold(offset, length, catalogue::IMAGE_TABLE)?;
        self.tables_bytes += length;
        if self.tables_bytes > TABLES_BYTES_MAX {
            let text = statement!(catalogue::TABLES_TOO_LARGE, tables_bytes_max = TABLES_BYTES_MAX);
            return Err(Error::new(ErrorKind::Refused, text));
        }
        self.keep(offset, length);
        self.bytes(offset, length, catalogue::IMAGE_TABLE)
    }

    /// Refuses tables that overlap, and data in them or past the file's end. `data_bytes` is how
    /// long what an entry names is.
    pub(crate) fn check(&mut self, map: &ImageMap, data_bytes: u64) -> Result<(), Error> {
        if map.size_bytes > SIZE_BYTES_MAX {
            return Err(damaged(statement!(catalogue::DISK_BYTES, bytes = map.size_bytes)));
        }
        self.ranges.sort_unstable();
        if let Some(two) = self.ranges.windows(2).find(|two| two[1].0 < two[0].1) {
            return Err(damaged(statement!(catalogue::TABLES_OVERLAP, offset = two[1].0)));
        }
        let entries = map.tables.iter().flatten().flat_map(|table| &table.entries);
        for entry in entries {
            let Some((offset, length)) = map.range(*entry, data_bytes) else { continue };
            if offset >= self.size_bytes {
                return Err(damaged(statement!(
                    catalogue::DATA_PAST_END,
                    offset = offset,
                    end = self.size_bytes
                )));
            }
            let next = self.ranges.partition_point(|range| range.1 <= offset);
            if self.ranges.get(next).is_some_and(|range| range.0 < offset + length) {
                return Err(damaged(statement!(catalogue::DATA_IN_TABLE, offset = offset)));
            }
        }
        Ok(())
    }
}

/// A number of 32 bits, the low byte first.
pub(crate) fn low32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A number of 64 bits, the low byte first.
pub(crate) fn low64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// A number of 32 bits, the high byte first.
pub(crate) fn high32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A number of 64 bits, the high byte first.
pub(crate) fn high64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

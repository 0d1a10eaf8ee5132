//! Where each piece of a disk lies in its image.

use block::{Error, ErrorKind};
use words::{Text, statement};

use crate::catalogue;

/// Where a piece of the disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterLocation {
    /// Nowhere in the image: in what it lies over, or zero.
    Hole,
    /// It is zero.
    Zero,
    /// In the image from this byte on.
    At(u64),
    /// In a cluster that is packed, which begins in the image at this byte.
    Packed(u64),
}

/// What a table says of one cluster, in 64 bits: two for the kind, the rest for the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(u64);

impl Entry {
    const KIND_SHIFT: u32 = 62;
    const PLACE: u64 = (1 << Entry::KIND_SHIFT) - 1;
    pub(crate) const HOLE: Entry = Entry(0);
    pub(crate) const ZERO: Entry = Entry(1 << Entry::KIND_SHIFT);

    pub(crate) fn at(offset: u64) -> Entry {
        Entry(2 << Entry::KIND_SHIFT | offset & Entry::PLACE)
    }

    /// `offset` may hold more than a place: see [`ImageMap::packed_mask`].
    pub(crate) fn packed(offset: u64) -> Entry {
        Entry(3 << Entry::KIND_SHIFT | offset & Entry::PLACE)
    }

    /// A cluster that is zero and has a place in the image, which is written to when it is not any
    /// more.
    pub(crate) fn zero_at(offset: u64) -> Entry {
        Entry(Entry::ZERO.0 | offset & Entry::PLACE)
    }

    /// The place that a cluster has for itself, with data in it or not.
    pub(crate) fn own_place(self) -> Option<u64> {
        let offset = self.0 & Entry::PLACE;
        (matches!(self.place(), ClusterLocation::At(_) | ClusterLocation::Zero) && offset != 0)
            .then_some(offset)
    }

    /// As it stands; of what is packed with what else its format says of it.
    pub(crate) fn place(self) -> ClusterLocation {
        let offset = self.0 & Entry::PLACE;
        match self.0 >> Entry::KIND_SHIFT {
            0 => ClusterLocation::Hole,
            1 => ClusterLocation::Zero,
            2 => ClusterLocation::At(offset),
            _ => ClusterLocation::Packed(offset),
        }
    }
}

/// A cluster of qcow2 of which each of 32 parts may lie elsewhere: bits of parts that are there,
/// and above them of parts that are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts(pub(crate) u64);

/// How many parts a cluster has that has parts.
const PARTS: u64 = 32;

impl Parts {
    fn place(self, entry: Entry, part: u64, part_bytes: u64) -> ClusterLocation {
        match (entry.place(), self.0 >> (part + PARTS) & 1, self.0 >> part & 1) {
            (ClusterLocation::Packed(offset), ..) => ClusterLocation::Packed(offset),
            (_, 1, _) => ClusterLocation::Zero,
            (ClusterLocation::At(offset), _, 1) => ClusterLocation::At(offset + part * part_bytes),
            _ => ClusterLocation::Hole,
        }
    }
}

/// One table: entries of clusters that follow each other.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) entries: Box<[Entry]>,
    /// As many, where clusters have parts.
    pub(crate) parts: Box<[Parts]>,
}

impl Table {
    pub(crate) fn of(entries: Vec<Entry>) -> Table {
        Table { entries: entries.into(), parts: Box::default() }
    }
}

/// Where all of a disk lies.
#[derive(Debug)]
pub(crate) struct ImageMap {
    /// Size of the disk in bytes.
    pub(crate) size_bytes: u64,
    /// What one entry is of, in bytes.
    pub(crate) cluster_bytes: u64,
    /// How many entries a table has.
    pub(crate) table_entries: u64,
    /// Tables that are not there are of holes.
    pub(crate) tables: Vec<Option<Table>>,
    /// The bits that are the place of a packed cluster.
    pub(crate) packed_mask: u64,
}

impl ImageMap {
    pub(crate) fn new(
        size_bytes: u64,
        cluster_bytes: u64,
        table_entries: u64,
        tables: Vec<Option<Table>>,
    ) -> ImageMap {
        ImageMap { size_bytes, cluster_bytes, table_entries, tables, packed_mask: u64::MAX }
    }

    /// Where what an entry names lies, and how long that is: `data_bytes` but for what is packed,
    /// of which one byte is known.
    pub(crate) fn range(&self, entry: Entry, data_bytes: u64) -> Option<(u64, u64)> {
        match entry.place() {
            ClusterLocation::At(offset) => Some((offset, data_bytes)),
            ClusterLocation::Packed(offset) => Some((offset & self.packed_mask, 1)),
            ClusterLocation::Hole | ClusterLocation::Zero => None,
        }
    }

    /// Whether any cluster is packed.
    pub(crate) fn is_packed(&self) -> bool {
        let mut entries = self.tables.iter().flatten().flat_map(|table| &table.entries);
        entries.any(|entry| matches!(entry.place(), ClusterLocation::Packed(_)))
    }

    /// Where the byte at `offset` lies, and how many bytes from there on lie one behind the other.
    pub(crate) fn locate(&self, offset: u64) -> (ClusterLocation, u64) {
        let (cluster, within) = (offset / self.cluster_bytes, offset % self.cluster_bytes);
        let (table, index) = (cluster / self.table_entries, cluster % self.table_entries);
        let to_end = self.size_bytes - offset;
        let Some(table) = self.tables.get(table as usize).and_then(Option::as_ref) else {
            let left = (self.table_entries - index) * self.cluster_bytes - within;
            return (ClusterLocation::Hole, left.min(to_end));
        };
        let entry = table.entries.get(index as usize).copied().unwrap_or(Entry::HOLE);
        let (place, left) = match table.parts.get(index as usize) {
            None => (entry.place(), self.cluster_bytes - within),
            Some(parts) => {
                let part_bytes = self.cluster_bytes / PARTS;
                let place = parts.place(entry, within / part_bytes, part_bytes);
                let begin = within % part_bytes;
                return (self.shifted(place, begin), (part_bytes - begin).min(to_end));
            }
        };
        (self.shifted(place, within), left.min(to_end))
    }

    fn shifted(&self, place: ClusterLocation, by: u64) -> ClusterLocation {
        match place {
            ClusterLocation::At(offset) => ClusterLocation::At(offset + by),
            ClusterLocation::Packed(offset) => ClusterLocation::Packed(offset & self.packed_mask),
            other => other,
        }
    }

    /// What the tables say of a cluster, by its number.
    pub(crate) fn entry(&self, cluster: u64) -> Entry {
        let (table, index) = (cluster / self.table_entries, cluster % self.table_entries);
        let table = self.tables.get(table as usize).and_then(Option::as_ref);
        let entry = table.and_then(|table| table.entries.get(index as usize));
        entry.copied().unwrap_or(Entry::HOLE)
    }

    /// The same with what follows in the same way.
    pub(crate) fn run(&self, offset: u64, length_max: u64) -> (ClusterLocation, u64) {
        let (first, mut length) = self.locate(offset);
        while length < length_max {
            let (next, more) = self.locate(offset + length);
            let goes_on = match (first, next) {
                (ClusterLocation::Hole, ClusterLocation::Hole)
                | (ClusterLocation::Zero, ClusterLocation::Zero) => true,
                (ClusterLocation::At(start), ClusterLocation::At(then)) => {
                    start.checked_add(length) == Some(then)
                }
                _ => false,
            };
            if !goes_on {
                break;
            }
            length += more;
        }
        (first, length.min(length_max))
    }
}

/// An error of an image that nobody can have meant.
pub(crate) fn damaged(what: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Corrupt, statement!(catalogue::IMAGE_DAMAGED, what = what))
}

/// An error of an image that is not understood.
pub(crate) fn unknown(what: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Unsupported, what)
}

//! Writes, zeroes, discards and flushes of an image that is written to.
//!
//! ```text
//!   write ──> clusters that have data in the file: there
//!         └─> others: a new place ─┬─ what stands before it in the cluster, read ─┐
//!                                  ├─ what is new                                 ├─> one write of
//!                                  └─ what stands behind it, read ────────────────┘   whole clusters
//!             and then the map, in memory: its tables are written by the next flush
//! ```
//!
//! A request that gives clusters another place has them for itself until that is done. A place that
//! was given is not given to another cluster as long as the image is open.
//!
//! A flush is of the data, and then of the tables, in the order that `tables` has them in; one at a
//! time, over all channels.

use std::collections::VecDeque;

use block::{Buf, BufMut, Error};

use crate::image_core::{Core, ImageState};
use crate::map::{ClusterLocation, Entry};
use crate::tables::TableWrite;

/// What a request does to the disk.
pub(crate) enum Change {
    Write { offset: u64, from: Buf },
    Zeroes { offset: u64, length: u64, gives_back: bool },
}

/// Whole clusters that are written to a place that is theirs from then on.
pub(crate) struct ClusterWrite {
    pub(crate) request: u32,
    /// The first cluster of the disk, and how many.
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// Where they come to lie in the file, in bytes.
    pub(crate) place: u64,
    /// What is written: before, new, behind.
    pub(crate) before: Option<BufMut>,
    pub(crate) new: Buf,
    pub(crate) behind: Option<BufMut>,
    /// How much of that is still read, and one more until all was asked for.
    pub(crate) missing: u32,
    pub(crate) failure: Option<Error>,
}

/// A part of a write, in the order of addresses.
pub(crate) enum Part {
    /// To where data of the cluster lie.
    There { at: u64, length: u64 },
    /// To clusters that get a place.
    Cluster { first: u64, count: u64, place: u64, length: u64 },
}

/// What of a flush is still to be done.
#[derive(Default)]
pub(crate) struct Commit {
    pub(crate) phases: VecDeque<Vec<TableWrite>>,
    /// Writes have ended behind which the file is to be flushed.
    pub(crate) is_unflushed: bool,
}

impl Core {
    /// Where the parts of a range lie in the file, and how long they are, if all of it does.
    pub(crate) fn parts_there(&self, mut offset: u64, length: u64) -> Option<Vec<(u64, u64)>> {
        let (state, end, mut parts) = (self.state(), offset + length, Vec::new());
        while offset < end {
            let (ClusterLocation::At(at), run) = state.map.run(offset, end - offset) else {
                return None;
            };
            let length = run.min(self.piece_bytes_max);
            parts.push((at, length));
            offset += length;
        }
        Some(parts)
    }

    /// Whether this part of a cluster reads as zeroes whatever lies anywhere.
    pub(crate) fn is_zero(&self, entry: Entry, offset: u64, length: u64) -> bool {
        match entry.place() {
            ClusterLocation::Zero => true,
            ClusterLocation::Hole => self.backed(offset, length) == 0,
            ClusterLocation::At(_) | ClusterLocation::Packed(_) => false,
        }
    }
}

impl ImageState {
    /// Where a write goes, from its beginning on; what has no place gets one.
    pub(crate) fn next_part(
        &mut self,
        core: &Core,
        offset: u64,
        length: u64,
    ) -> Result<Part, Error> {
        let bytes = core.cluster_bytes;
        if let (ClusterLocation::At(at), run) = self.map.run(offset, length) {
            return Ok(Part::There { at, length: run.min(core.piece_bytes_max) });
        }
        let ImageState { map, tables } = self;
        let tables = tables.as_mut().expect("an image that is written to");
        let first = offset / bytes;
        let end = (offset + length).div_ceil(bytes);
        let table_end = (first / map.table_entries + 1) * map.table_entries;
        let end = end.min(table_end).min(first + core.piece_bytes_max / bytes);
        tables.must_have_table(map, first)?;
        let (place, count) = match map.entry(first).own_place() {
            Some(place) => (place, 1),
            None => {
                let is_placeless = |cluster: &u64| {
                    let entry = map.entry(*cluster);
                    !matches!(entry.place(), ClusterLocation::At(_)) && entry.own_place().is_none()
                };
                let (cluster, count) =
                    tables.allocate((first..end).take_while(is_placeless).count() as u64)?;
                (cluster * bytes, count)
            }
        };
        let length = ((first + count) * bytes).min(offset + length) - offset;
        Ok(Part::Cluster { first, count, place, length })
    }

    pub(crate) fn set(&mut self, cluster: u64, entry: Entry) {
        let tables = self.tables.as_mut().expect("an image that is written to");
        tables.set(&mut self.map, cluster, entry);
    }

    /// Makes a cluster read as zeroes. It keeps its place, which is the answer where it had data
    /// there.
    pub(crate) fn zero(&mut self, cluster: u64) -> Result<Option<u64>, Error> {
        let tables = self.tables.as_mut().expect("an image that is written to");
        tables.must_have_table(&mut self.map, cluster)?;
        match self.map.entry(cluster).place() {
            ClusterLocation::At(place) => {
                self.set(cluster, Entry::zero_at(place));
                Ok(Some(place))
            }
            ClusterLocation::Hole | ClusterLocation::Packed(_) => {
                self.set(cluster, Entry::ZERO);
                Ok(None)
            }
            ClusterLocation::Zero => Ok(None),
        }
    }
}

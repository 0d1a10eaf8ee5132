//! Writes, zeroes and discards of an image that is written to.
//!
//! ```text
//!   write ──> clusters that have data in the file: there
//!         └─> others: a new place ─┬─ what stands before it in the cluster, read ─┐
//!                                  ├─ what is new                                 ├─> one write of
//!                                  └─ what stands behind it, read ────────────────┘   whole clusters
//!             and then the map, in memory: its tables are written by the next flush
//! ```
//!
//! Whoever gives clusters another place has them for itself until that is done. A place that was
//! given is not given to another cluster as long as the image is open.

use std::sync::Arc;

use block::{Buf, BufMut, DiscardSupport, Error, Op, Request, ReturnedBuffer};

use crate::channel::{ImageChannel, Piece, Whose, Work};
use crate::image_core::{Claimed, Core, ImageState};
use crate::map::{Entry, Place};

/// What a request does to the disk.
pub(crate) enum Change {
    Write { offset: u64, from: Buf },
    Zeroes { offset: u64, length: u64, gives_back: bool },
}

/// Whole clusters that are written to a place that is theirs from then on.
pub(crate) struct ClusterWrite {
    request: u32,
    /// The first cluster of the disk, and how many.
    first: u64,
    count: u64,
    /// Where they come to lie in the file, in bytes.
    place: u64,
    /// What is written: before, new, behind.
    before: Option<BufMut>,
    new: Buf,
    behind: Option<BufMut>,
    /// How much of that is still read, and one more until all was asked for.
    missing: u32,
    failure: Option<Error>,
}

/// A part of a write, in the order of addresses.
enum Part {
    /// To where data of the cluster lie.
    There { at: u64, length: u64 },
    /// To clusters that get a place.
    Cluster { first: u64, count: u64, place: u64, length: u64 },
}

impl ImageChannel {
    pub(crate) fn change(&mut self, tag: u64, change: Change, buffer: ReturnedBuffer) {
        let cluster_bytes = self.core.cluster_bytes;
        let (offset, length) = match &change {
            Change::Write { offset, from } => {
                if let Some(parts) = self.core.parts_there(*offset, from.len() as u64) {
                    return self.write_there(tag, parts, from.clone(), buffer);
                }
                (*offset, from.len() as u64)
            }
            Change::Zeroes { offset, length, .. } => (*offset, *length),
        };
        let request = self.start(Whose::Owner(tag), Work::Change(Some(change), buffer));
        let end = (offset + length).div_ceil(cluster_bytes);
        self.claim(request, Claimed::Clusters(offset / cluster_bytes, end));
    }

    /// Where all of the clusters have data nothing is claimed: who makes one of them read as zeroes
    /// meanwhile was asked at the same time.
    fn write_there(
        &mut self,
        tag: u64,
        parts: Vec<(u64, u64)>,
        mut from: Buf,
        buffer: ReturnedBuffer,
    ) {
        let request = self.start(Whose::Owner(tag), Work::Change(None, buffer));
        for (at, length) in parts {
            let from = from.split_to(length as usize);
            self.send(request, Op::Write { offset: at, from, fua: false });
        }
        self.end_piece(request, None);
    }

    pub(crate) fn begin_change(&mut self, request: u32, change: Change) {
        match change {
            Change::Write { offset, from } => self.write(request, offset, from),
            Change::Zeroes { offset, length, gives_back } => {
                self.zero(request, offset, length, gives_back);
            }
        }
    }

    fn write(&mut self, request: u32, mut offset: u64, mut from: Buf) {
        let core = Arc::clone(&self.core);
        while !from.is_empty() {
            let part = core.state_mut().next_part(&core, offset, from.len() as u64);
            let length = match part {
                Ok(Part::There { at, length }) => {
                    let from = from.split_to(length as usize);
                    self.send(request, Op::Write { offset: at, from, fua: false });
                    length
                }
                Ok(Part::Cluster { first, count, place, length }) => {
                    let new = from.split_to(length as usize);
                    self.write_clusters(request, offset, (first, count, place), new);
                    length
                }
                Err(error) => {
                    self.running(request).failure.get_or_insert(error);
                    return;
                }
            };
            offset += length;
        }
    }

    /// Reads what stands around what is new, and then writes all of the clusters.
    fn write_clusters(
        &mut self,
        request: u32,
        offset: u64,
        (first, count, place): (u64, u64, u64),
        new: Buf,
    ) {
        self.running(request).left += 1;
        let (start, end) =
            (first * self.core.cluster_bytes, (first + count) * self.core.cluster_bytes);
        let new_end = offset + new.len() as u64;
        let write = ClusterWrite {
            request,
            first,
            count,
            place,
            before: None,
            new,
            behind: None,
            missing: 1,
            failure: None,
        };
        let piece = self.pieces.insert(Piece::Cluster(write));
        let behind_end = end.min(self.core.info.size_bytes);
        for (from, to, is_behind) in [(start, offset, false), (new_end, behind_end, true)] {
            if from < to {
                self.cluster(piece).missing += 1;
                let into = BufMut::zeroed((to - from) as usize);
                self.read(Whose::Cluster { piece, is_behind }, from, into);
            }
        }
        self.send_clusters(piece);
    }

    fn cluster(&mut self, piece: u32) -> &mut ClusterWrite {
        match self.pieces.get_mut(piece) {
            Some(Piece::Cluster(write)) => write,
            _ => unreachable!("it is written when all of it is there"),
        }
    }

    /// What stands before or behind what is new was read.
    pub(crate) fn end_around(
        &mut self,
        piece: u32,
        is_behind: bool,
        buffer: BufMut,
        result: Result<(), Error>,
    ) {
        let write = self.cluster(piece);
        write.failure = write.failure.take().or(result.err());
        *if is_behind { &mut write.behind } else { &mut write.before } = Some(buffer);
        self.send_clusters(piece);
    }

    /// One thing less that the clusters wait for.
    fn send_clusters(&mut self, piece: u32) {
        let cluster_bytes = self.core.cluster_bytes;
        let write = self.cluster(piece);
        write.missing -= 1;
        if write.missing > 0 {
            return;
        }
        if let Some(error) = write.failure.take() {
            let request = write.request;
            self.pieces.remove(piece);
            return self.end_piece(request, Some(error));
        }
        let mut from = write.before.take().unwrap_or_else(|| BufMut::zeroed(0)).freeze();
        from.append(std::mem::replace(&mut write.new, BufMut::zeroed(0).freeze()));
        if let Some(behind) = write.behind.take() {
            from.append(behind.freeze());
        }
        // The disk may end within its last cluster.
        let whole = (write.count * cluster_bytes) as usize;
        if from.len() < whole {
            from.append(BufMut::zeroed(whole - from.len()).freeze());
        }
        let op = Op::Write { offset: write.place, from, fua: false };
        self.file.send(Request::new(piece.into(), op));
    }

    pub(crate) fn end_cluster(&mut self, write: &ClusterWrite, result: Result<(), Error>) {
        if result.is_ok() {
            let bytes = self.core.cluster_bytes;
            let mut state = self.core.state_mut();
            for number in 0..write.count {
                state.set(write.first + number, Entry::at(write.place + number * bytes));
            }
        }
        self.end_piece(write.request, result.err());
    }

    /// Whole clusters by their entries alone, what is left by writes.
    fn zero(&mut self, request: u32, offset: u64, length: u64, gives_back: bool) {
        let core = Arc::clone(&self.core);
        let (bytes, end) = (core.cluster_bytes, offset + length);
        let mut parts = Vec::new();
        let mut freed: Vec<(u64, u64)> = Vec::new();
        {
            let mut state = core.state_mut();
            for cluster in offset / bytes..end.div_ceil(bytes) {
                let start = cluster * bytes;
                let whole_end = (start + bytes).min(core.info.size_bytes);
                let (from, to) = (offset.max(start), end.min(whole_end));
                if core.is_zero(state.map.entry(cluster), from, to - from) {
                    continue;
                }
                if (from, to) != (start, whole_end) {
                    parts.push((from, to));
                    continue;
                }
                match state.zero(cluster) {
                    Ok(None) => (),
                    Ok(Some(place)) => match freed.last_mut() {
                        Some((_, end)) if *end == place => *end += bytes,
                        _ => freed.push((place, place + bytes)),
                    },
                    Err(error) => {
                        self.running(request).failure.get_or_insert(error);
                        return;
                    }
                }
            }
        }
        for (from, to) in parts {
            self.write(request, from, BufMut::zeroed((to - from) as usize).freeze());
        }
        if gives_back && core.file.info().discard != DiscardSupport::None {
            for (from, to) in freed {
                self.send(request, Op::Discard { offset: from, length: to - from });
            }
        }
    }
}

impl Core {
    /// Where the parts of a range lie in the file, and how long they are, if all of it does.
    fn parts_there(&self, mut offset: u64, length: u64) -> Option<Vec<(u64, u64)>> {
        let (state, end, mut parts) = (self.state(), offset + length, Vec::new());
        while offset < end {
            let (Place::At(at), run) = state.map.run(offset, end - offset) else { return None };
            let length = run.min(self.piece_bytes_max);
            parts.push((at, length));
            offset += length;
        }
        Some(parts)
    }

    /// Whether this part of a cluster reads as zeroes whatever lies anywhere.
    fn is_zero(&self, entry: Entry, offset: u64, length: u64) -> bool {
        match entry.place() {
            Place::Zero => true,
            Place::Hole => self.backed(offset, length) == 0,
            Place::At(_) | Place::Packed(_) => false,
        }
    }
}

impl ImageState {
    /// Where a write goes, from its beginning on; what has no place gets one.
    fn next_part(&mut self, core: &Core, offset: u64, length: u64) -> Result<Part, Error> {
        let bytes = core.cluster_bytes;
        if let (Place::At(at), run) = self.map.run(offset, length) {
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
                    !matches!(entry.place(), Place::At(_)) && entry.own_place().is_none()
                };
                let (cluster, count) =
                    tables.allocate((first..end).take_while(is_placeless).count() as u64)?;
                (cluster * bytes, count)
            }
        };
        let length = ((first + count) * bytes).min(offset + length) - offset;
        Ok(Part::Cluster { first, count, place, length })
    }

    fn set(&mut self, cluster: u64, entry: Entry) {
        let tables = self.tables.as_mut().expect("an image that is written to");
        tables.set(&mut self.map, cluster, entry);
    }

    /// Makes a cluster read as zeroes. It keeps its place, which is the answer where it had data
    /// there.
    fn zero(&mut self, cluster: u64) -> Result<Option<u64>, Error> {
        let tables = self.tables.as_mut().expect("an image that is written to");
        tables.must_have_table(&mut self.map, cluster)?;
        match self.map.entry(cluster).place() {
            Place::At(place) => {
                self.set(cluster, Entry::zero_at(place));
                Ok(Some(place))
            }
            Place::Hole | Place::Packed(_) => {
                self.set(cluster, Entry::ZERO);
                Ok(None)
            }
            Place::Zero => Ok(None),
        }
    }
}

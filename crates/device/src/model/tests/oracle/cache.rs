//! The write cache as it was: extents in a tree.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Included};

/// Cached data that goes to the media in one sweep.
#[derive(Clone, Debug)]
struct Extent {
    start: u64,
    end: u64,
    /// Position of `start` along the spiral.
    revolutions: f64,
}

/// A piece of an extent on its way to the media.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) revolutions: f64,
}

#[derive(Clone, Debug)]
pub(super) struct WriteCache {
    size: u64,
    bytes: u64,
    window_extents: usize,
    /// Extents that there is room for, those being written and those on their way included.
    entries_max: usize,
    /// Extents on their way over the link: room that was taken and not yet filled.
    arriving: usize,
    /// Pieces end where the media's blocks do, as far as the extent goes beyond one.
    block_bytes: u64,
    extents: Vec<Extent>,
    free: Vec<u32>,
    by_start: BTreeMap<u64, u32>,
    window: Vec<u32>,
    backlog: VecDeque<u32>,
    writing: Option<Piece>,
    /// The extent last written to: sequential writes find it without a search.
    last: Option<u32>,
}

impl WriteCache {
    pub(super) fn new(
        size: u64,
        window_extents: usize,
        entries_max: usize,
        block_bytes: u64,
    ) -> Self {
        WriteCache {
            size,
            bytes: 0,
            window_extents,
            entries_max,
            arriving: 0,
            block_bytes,
            extents: Vec::new(),
            free: Vec::new(),
            by_start: BTreeMap::new(),
            window: Vec::with_capacity(window_extents),
            backlog: VecDeque::new(),
            writing: None,
            last: None,
        }
    }

    /// Bytes that are taken: reserved, cached, or being written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether data waits to be written (a piece being written not counted).
    pub(super) fn has_extents(&self) -> bool {
        !self.window.is_empty()
    }

    /// Whether nothing is left to write at all.
    pub(super) fn is_clean(&self) -> bool {
        self.window.is_empty() && self.writing.is_none()
    }

    /// Takes room for start..end; false when there is not enough, in bytes or in extents. What
    /// touches an extent joins it, and needs no other.
    pub(super) fn reserve(&mut self, start: u64, end: u64) -> bool {
        let entries = self.by_start.len() + usize::from(self.writing.is_some()) + self.arriving;
        let full = entries >= self.entries_max && self.touched(start, end).is_none();
        if self.bytes + (end - start) > self.size || full {
            return false;
        }
        self.bytes += end - start;
        self.arriving += 1;
        true
    }

    /// Gives back the room of a write that went past the cache.
    pub(super) fn release(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.arriving -= 1;
    }

    /// Whether the extent that was last written to is so large.
    pub(super) fn last_is(&self, bytes: u64) -> bool {
        self.last.is_some_and(|last| {
            let extent = &self.extents[last as usize];
            extent.end - extent.start >= bytes
        })
    }

    /// What is not on the media yet, as starts and ends in bytes, in order; what is being written
    /// is.
    pub(super) fn ranges(&self) -> Vec<(u64, u64)> {
        let extents = self.by_start.values().map(|&slot| {
            let extent = &self.extents[slot as usize];
            (extent.start, extent.end)
        });
        let writing = self.writing.map(|piece| (piece.start, piece.end));
        let mut ranges: Vec<_> = extents.chain(writing).collect();
        ranges.sort_unstable();
        // What is overwritten while it is being written is there twice.
        ranges.dedup_by(|next, last| {
            let joins = next.0 <= last.1;
            if joins {
                last.1 = last.1.max(next.1);
            }
            joins
        });
        ranges
    }

    /// Whether all of start..end is in the cache.
    pub(super) fn covers(&self, start: u64, end: u64) -> bool {
        if self.writing.is_some_and(|piece| piece.start <= start && end <= piece.end) {
            return true;
        }
        if self.by_start.is_empty() {
            return false;
        }
        self.by_start
            .range(..=start)
            .next_back()
            .is_some_and(|(_, &slot)| self.extents[slot as usize].end >= end)
    }

    /// Files data that has arrived. Its room was reserved; what turns out to be an overwrite is
    /// given back.
    pub(super) fn insert(&mut self, start: u64, end: u64, revolutions: impl Fn(u64) -> f64) {
        let reserved = end - start;
        self.arriving -= 1;
        let (slot, grown) = self.join(start, end, &revolutions).unwrap_or_else(|| {
            let slot = self.add(Extent { start, end, revolutions: revolutions(start) });
            if self.window.len() < self.window_extents {
                self.window.push(slot);
            } else {
                self.backlog.push_back(slot);
            }
            (slot, reserved)
        });
        self.last = Some(slot);
        self.bytes -= reserved - grown;
    }

    /// A new extent's slot; it is not in line yet.
    fn add(&mut self, extent: Extent) -> u32 {
        let start = extent.start;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.extents[slot as usize] = extent;
                slot
            }
            None => {
                self.extents.push(extent);
                u32::try_from(self.extents.len() - 1)
                    .expect("fewer extents than sectors in a cache")
            }
        };
        self.by_start.insert(start, slot);
        slot
    }

    /// An extent that start..end overlaps or lies beside.
    fn touched(&self, start: u64, end: u64) -> Option<u32> {
        self.last.filter(|&last| self.extents[last as usize].end == start).or_else(|| {
            let before = self
                .by_start
                .range(..=start)
                .next_back()
                .filter(|&(_, &slot)| self.extents[slot as usize].end >= start);
            before.or_else(|| self.by_start.range(start..=end).next()).map(|(_, &slot)| slot)
        })
    }

    /// Adds start..end to the extents that it touches, which become one: which, and by how much
    /// they grew.
    fn join(
        &mut self,
        start: u64,
        end: u64,
        revolutions: &impl Fn(u64) -> f64,
    ) -> Option<(u32, u64)> {
        let slot = self.touched(start, end)?;
        let extent = &mut self.extents[slot as usize];
        let mut counted = extent.end - extent.start;
        let mut joined_end = extent.end.max(end);
        if start < extent.start {
            self.by_start.remove(&extent.start);
            self.by_start.insert(start, slot);
            extent.start = start;
            extent.revolutions = revolutions(start);
        }
        let joined_start = extent.start;
        while let Some((&key, &other)) =
            self.by_start.range((Excluded(joined_start), Included(joined_end))).next()
        {
            let absorbed = &self.extents[other as usize];
            counted += absorbed.end - absorbed.start;
            joined_end = joined_end.max(absorbed.end);
            self.by_start.remove(&key);
            self.drop_extent(other);
        }
        self.extents[slot as usize].end = joined_end;
        Some((slot, joined_end - joined_start - counted))
    }

    /// Carves off the piece to write next: of the extents in the window the one that costs least to
    /// reach.
    pub(super) fn take_cheapest(
        &mut self,
        cost: impl Fn(f64) -> f64,
        piece_bytes: u64,
        revolutions: impl Fn(u64) -> f64,
    ) -> Option<Piece> {
        let mut best: Option<(f64, usize)> = None;
        for (place, &slot) in self.window.iter().enumerate() {
            let cost = cost(self.extents[slot as usize].revolutions);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, place));
            }
        }
        let (_, place) = best?;
        Some(self.carve(self.window[place], piece_bytes, revolutions))
    }

    /// Carves off the oldest piece.
    pub(super) fn take_oldest(
        &mut self,
        piece_bytes: u64,
        revolutions: impl Fn(u64) -> f64,
    ) -> Option<Piece> {
        let slot = *self.window.first()?;
        Some(self.carve(slot, piece_bytes, revolutions))
    }

    /// Carves off a piece of the extent that was last written to.
    pub(super) fn take_last(
        &mut self,
        piece_bytes: u64,
        revolutions: impl Fn(u64) -> f64,
    ) -> Option<Piece> {
        let slot = self.last?;
        Some(self.carve(slot, piece_bytes, revolutions))
    }

    /// The piece that was to be written is not: it waits again, as the oldest. What has been
    /// overwritten meanwhile needs its room no more.
    pub(super) fn put_back(&mut self, revolutions: impl Fn(u64) -> f64) {
        let Some(piece) = self.writing.take() else { return };
        if let Some((slot, grown)) = self.join(piece.start, piece.end, &revolutions) {
            self.bytes -= piece.end - piece.start - grown;
            // Where the host goes on is still there, unless the joined extent took it in.
            self.last.get_or_insert(slot);
            return;
        }
        let slot =
            self.add(Extent { start: piece.start, end: piece.end, revolutions: piece.revolutions });
        self.window.insert(0, slot);
        if self.window.len() > self.window_extents
            && let Some(newest) = self.window.pop()
        {
            self.backlog.push_front(newest);
        }
    }

    /// Carves off the piece that begins at an address, if there is one: writing goes on without
    /// positioning.
    pub(super) fn take_at(
        &mut self,
        address: u64,
        piece_bytes: u64,
        revolutions: impl Fn(u64) -> f64,
    ) -> Option<Piece> {
        let slot = *self.by_start.get(&address)?;
        Some(self.carve(slot, piece_bytes, revolutions))
    }

    fn carve(&mut self, slot: u32, piece_bytes: u64, revolutions: impl Fn(u64) -> f64) -> Piece {
        debug_assert!(self.writing.is_none(), "one piece at a time");
        let extent = &mut self.extents[slot as usize];
        let end = extent.end.min(extent.start + piece_bytes);
        let whole = end / self.block_bytes * self.block_bytes;
        let end = if whole > extent.start { whole } else { end };
        let piece = Piece { start: extent.start, end, revolutions: extent.revolutions };
        self.by_start.remove(&extent.start);
        extent.start = end;
        if extent.start < extent.end {
            extent.revolutions = revolutions(end);
            self.by_start.insert(end, slot);
        } else {
            self.drop_extent(slot);
        }
        self.writing = Some(piece);
        piece
    }

    /// Takes an emptied extent out of the window; in the backlog it is skipped when its turn comes.
    fn drop_extent(&mut self, slot: u32) {
        let extent = &mut self.extents[slot as usize];
        extent.start = extent.end;
        if self.last == Some(slot) {
            self.last = None;
        }
        let Some(place) = self.window.iter().position(|&other| other == slot) else { return };
        self.window.remove(place);
        self.free.push(slot);
        while let Some(next) = self.backlog.pop_front() {
            let extent = &self.extents[next as usize];
            if extent.start < extent.end {
                self.window.push(next);
                break;
            }
            self.free.push(next);
        }
    }

    /// The piece is on the media: its room is free. Returns where it ended.
    pub(super) fn written(&mut self) -> u64 {
        let piece = self.writing.take().expect("a piece was being written");
        self.bytes -= piece.end - piece.start;
        piece.end
    }
}

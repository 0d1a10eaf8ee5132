//! The write-back cache: extents of unwritten data, in order of arrival.
//!
//! ```text
//!   arrival order:   [ window: the oldest few ][ backlog ............ ]
//!                       |
//!                       +-- the drive chooses among these, and carves a piece off the one it takes:
//!
//!   extent  |=====piece=====|---------- rest ----------|
//!            being written      stays where it is
//! ```
//!
//! A write that touches extents joins them, so extents never overlap. Room is taken before the data
//! crosses the link and given back when it is on the media, so that `bytes` never exceeds the size.

use std::collections::VecDeque;

use super::index::{Index, IndexPosition};

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
    /// Pieces end where the media's blocks do, as far as the extent goes beyond one; a power of
    /// two.
    block_bytes: u64,
    extents: Vec<Extent>,
    free: Vec<u32>,
    by_start: Index,
    window: Vec<u32>,
    backlog: VecDeque<u32>,
    writing: Option<Piece>,
    /// Whether an extent has begun where that piece ends; it may be gone again.
    may_go_on: bool,
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
            by_start: Index::new(),
            window: Vec::with_capacity(window_extents),
            backlog: VecDeque::new(),
            writing: None,
            may_go_on: false,
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
        if self.bytes + (end - start) > self.size {
            return false;
        }
        let entries = self.by_start.len() + usize::from(self.writing.is_some()) + self.arriving;
        if entries >= self.entries_max && self.touched(start, end).is_err() {
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
        let extents = self.by_start.slots().map(|slot| {
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
        self.by_start
            .before(self.by_start.after(start))
            .is_some_and(|(_, slot)| self.extents[slot as usize].end >= end)
    }

    /// Files data that has arrived. Its room was reserved; what turns out to be an overwrite is
    /// given back.
    pub(super) fn insert(&mut self, start: u64, end: u64, revolutions: impl Fn(u64) -> f64) {
        let reserved = end - start;
        self.arriving -= 1;
        let (slot, grown) = match self.touched(start, end) {
            Ok(slot) => (slot, self.join(slot, start, end, &revolutions)),
            Err(place) => {
                let slot = self.add(place, Extent { start, end, revolutions: revolutions(start) });
                if self.window.len() < self.window_extents {
                    self.window.push(slot);
                } else {
                    self.backlog.push_back(slot);
                }
                (slot, reserved)
            }
        };
        self.last = Some(slot);
        self.bytes -= reserved - grown;
    }

    /// A new extent's slot; it is not in line yet.
    fn add(&mut self, place: IndexPosition, extent: Extent) -> u32 {
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
        self.by_start.insert(place, start, slot);
        self.note_start(start);
        slot
    }

    /// An extent begins here.
    fn note_start(&mut self, start: u64) {
        self.may_go_on |= self.writing.is_some_and(|piece| piece.end == start);
    }

    /// An extent that start..end overlaps or lies beside, or else its own place.
    fn touched(&self, start: u64, end: u64) -> Result<u32, IndexPosition> {
        if let Some(last) = self.last
            && self.extents[last as usize].end == start
        {
            return Ok(last);
        }
        let place = self.by_start.after(start);
        if let Some((_, slot)) = self.by_start.before(place)
            && self.extents[slot as usize].end >= start
        {
            return Ok(slot);
        }
        match self.by_start.behind(place) {
            Some((other, slot)) if other <= end => Ok(slot),
            _ => Err(place),
        }
    }

    /// Adds start..end to an extent that it touches, and all others that it touches too: by how
    /// much they grew.
    fn join(&mut self, slot: u32, start: u64, end: u64, revolutions: &impl Fn(u64) -> f64) -> u64 {
        let extent = &mut self.extents[slot as usize];
        let mut counted = extent.end - extent.start;
        let mut joined_end = extent.end.max(end);
        if start < extent.start {
            self.by_start.set_start(extent.start, start);
            extent.start = start;
            extent.revolutions = revolutions(start);
        }
        let joined_start = extent.start;
        self.note_start(joined_start);
        while let Some((key, other)) = self.by_start.behind(self.by_start.after(joined_start))
            && key <= joined_end
        {
            let absorbed = &self.extents[other as usize];
            counted += absorbed.end - absorbed.start;
            joined_end = joined_end.max(absorbed.end);
            self.by_start.remove(key);
            self.drop_extent(other);
        }
        self.extents[slot as usize].end = joined_end;
        joined_end - joined_start - counted
    }

    /// Carves off the piece to write next, of the extents in the window the one that costs least to
    /// reach; and what it costs.
    pub(super) fn take_cheapest(
        &mut self,
        cost: impl Fn(f64) -> f64,
        piece_bytes: u64,
        revolutions: impl Fn(u64) -> f64,
    ) -> Option<(Piece, f64)> {
        let mut best = *self.window.first()?;
        let mut least = f64::INFINITY;
        for &slot in &self.window {
            let cost = cost(self.extents[slot as usize].revolutions);
            if cost < least {
                (least, best) = (cost, slot);
            }
        }
        Some((self.carve(best, piece_bytes, revolutions), least))
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
        let place = match self.touched(piece.start, piece.end) {
            Ok(slot) => {
                let grown = self.join(slot, piece.start, piece.end, &revolutions);
                self.bytes -= piece.end - piece.start - grown;
                // Where the host goes on is still there, unless the joined extent took it in.
                self.last.get_or_insert(slot);
                return;
            }
            Err(place) => place,
        };
        let Piece { start, end, revolutions } = piece;
        let slot = self.add(place, Extent { start, end, revolutions });
        self.window.insert(0, slot);
        if self.window.len() > self.window_extents
            && let Some(newest) = self.window.pop()
        {
            self.backlog.push_front(newest);
        }
    }

    /// Carves off the piece that begins where the last one written ended, if there is one: writing
    /// goes on without positioning.
    pub(super) fn take_at(
        &mut self,
        address: u64,
        piece_bytes: u64,
        revolutions: impl Fn(u64) -> f64,
    ) -> Option<Piece> {
        if !self.may_go_on {
            return None;
        }
        let slot = self.by_start.get(address)?;
        Some(self.carve(slot, piece_bytes, revolutions))
    }

    fn carve(&mut self, slot: u32, piece_bytes: u64, revolutions: impl Fn(u64) -> f64) -> Piece {
        debug_assert!(self.writing.is_none(), "one piece at a time");
        let extent = &mut self.extents[slot as usize];
        let end = extent.end.min(extent.start + piece_bytes);
        let whole = end & !(self.block_bytes - 1);
        let end = if whole > extent.start { whole } else { end };
        let piece = Piece { start: extent.start, end, revolutions: extent.revolutions };
        extent.start = end;
        if end < extent.end {
            extent.revolutions = revolutions(end);
            self.by_start.set_start(piece.start, end);
            self.may_go_on = true;
        } else {
            self.may_go_on = false;
            self.by_start.remove(piece.start);
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

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    fn position(address: u64) -> f64 {
        address as f64
    }

    fn insert(cache: &mut WriteCache, start: u64, end: u64) {
        assert!(cache.reserve(start, end));
        cache.insert(start, end, position);
    }

    #[test]
    fn contiguous_writes_become_one_extent_whichever_side_they_join() {
        let mut cache = WriteCache::new(1000, 4, usize::MAX, 1);
        insert(&mut cache, 100, 200);
        insert(&mut cache, 200, 300);
        insert(&mut cache, 50, 100);
        assert_eq!(cache.bytes(), 250);
        assert!(cache.covers(50, 300) && !cache.covers(49, 60) && !cache.covers(250, 301));
        assert_eq!(
            cache.take_cheapest(|at| at, 1000, position),
            Some((Piece { start: 50, end: 300, revolutions: 50.0 }, 50.0))
        );
        assert!(!cache.has_extents() && !cache.is_clean());
        assert_eq!(cache.written(), 300);
        assert!(cache.is_clean());
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn an_overwrite_takes_no_room_twice() {
        let mut cache = WriteCache::new(1000, 4, usize::MAX, 1);
        insert(&mut cache, 100, 200);
        insert(&mut cache, 120, 180);
        insert(&mut cache, 150, 250);
        assert_eq!(cache.bytes(), 150);
    }

    #[test]
    fn the_drive_chooses_among_the_oldest_only() {
        let mut cache = WriteCache::new(1000, 2, usize::MAX, 1);
        for start in [500, 400, 300, 100] {
            insert(&mut cache, start, start + 10);
        }
        let mut order = Vec::new();
        while let Some((piece, _)) = cache.take_cheapest(|at| at, 1000, position) {
            order.push(piece.start);
            cache.written();
        }
        assert_eq!(order, [400, 300, 100, 500]);
    }

    #[test]
    fn a_long_extent_leaves_in_pieces_that_follow_each_other() {
        let mut cache = WriteCache::new(1000, 2, usize::MAX, 1);
        insert(&mut cache, 0, 250);
        let first = cache.take_cheapest(|at| at, 100, position);
        assert_eq!(first.map(|(piece, _)| piece.end), Some(100));
        let mut ends = Vec::new();
        loop {
            let end = cache.written();
            ends.push((end, cache.bytes()));
            if cache.take_at(end, 100, position).is_none() {
                break;
            }
        }
        assert_eq!(ends, [(100, 150), (200, 50), (250, 0)]);
    }

    #[test]
    fn room_is_neither_lost_nor_made_by_any_mix_of_writes() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let mut cache = WriteCache::new(4000, 3, usize::MAX, 1);
            let mut busy = false;
            for _ in 0..5000 {
                let (start, length) = (random.below(3000), 1 + random.below(200));
                if cache.reserve(start, start + length) {
                    cache.insert(start, start + length, position);
                    assert!(
                        cache.covers(start, start + length) || busy,
                        "seed {seed}: what was written is not found"
                    );
                } else if busy {
                    let end = cache.written();
                    busy = random.below(2) == 0 && cache.take_at(end, 64, position).is_some();
                } else {
                    busy = cache.take_cheapest(|at| (at - 1500.0).abs(), 64, position).is_some();
                }
                assert!(cache.bytes() <= cache.size(), "seed {seed}: overfull");
            }
            if busy {
                cache.written();
            }
            while cache.take_cheapest(|at| at, 64, position).is_some() {
                cache.written();
            }
            assert_eq!((cache.bytes(), cache.is_clean()), (0, true), "seed {seed}: room lost");
        }
    }
}

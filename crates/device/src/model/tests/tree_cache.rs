//! The write cache against a plain one, whose extents lie in a tree: the same answer to every
//! question, whatever is asked.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Included};

use super::super::cache;
use super::super::random::Random;

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
struct Piece {
    start: u64,
    end: u64,
    revolutions: f64,
}

#[derive(Clone, Debug)]
struct WriteCache {
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
    fn new(size: u64, window_extents: usize, entries_max: usize, block_bytes: u64) -> Self {
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
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn size(&self) -> u64 {
        self.size
    }

    /// Whether data waits to be written (a piece being written not counted).
    fn has_extents(&self) -> bool {
        !self.window.is_empty()
    }

    /// Whether nothing is left to write at all.
    fn is_clean(&self) -> bool {
        self.window.is_empty() && self.writing.is_none()
    }

    /// Takes room for start..end; false when there is not enough, in bytes or in extents. What
    /// touches an extent joins it, and needs no other.
    fn reserve(&mut self, start: u64, end: u64) -> bool {
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
    fn release(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.arriving -= 1;
    }

    /// Whether the extent that was last written to is so large.
    fn last_is(&self, bytes: u64) -> bool {
        self.last.is_some_and(|last| {
            let extent = &self.extents[last as usize];
            extent.end - extent.start >= bytes
        })
    }

    /// What is not on the media yet, as starts and ends in bytes, in order; what is being written
    /// is.
    fn ranges(&self) -> Vec<(u64, u64)> {
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
    fn covers(&self, start: u64, end: u64) -> bool {
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
    fn insert(&mut self, start: u64, end: u64, revolutions: impl Fn(u64) -> f64) {
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
    fn take_cheapest(
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
    fn take_oldest(&mut self, piece_bytes: u64, revolutions: impl Fn(u64) -> f64) -> Option<Piece> {
        let slot = *self.window.first()?;
        Some(self.carve(slot, piece_bytes, revolutions))
    }

    /// Carves off a piece of the extent that was last written to.
    fn take_last(&mut self, piece_bytes: u64, revolutions: impl Fn(u64) -> f64) -> Option<Piece> {
        let slot = self.last?;
        Some(self.carve(slot, piece_bytes, revolutions))
    }

    /// The piece that was to be written is not: it waits again, as the oldest. What has been
    /// overwritten meanwhile needs its room no more.
    fn put_back(&mut self, revolutions: impl Fn(u64) -> f64) {
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
    fn take_at(
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
    fn written(&mut self) -> u64 {
        let piece = self.writing.take().expect("a piece was being written");
        self.bytes -= piece.end - piece.start;
        piece.end
    }
}

fn ends(piece: Option<cache::Piece>) -> Option<(u64, u64, f64)> {
    piece.map(|piece| (piece.start, piece.end, piece.revolutions))
}

fn plain_ends(piece: Option<Piece>) -> Option<(u64, u64, f64)> {
    piece.map(|piece| (piece.start, piece.end, piece.revolutions))
}

/// Both caches, asked the same.
struct CachePair {
    fast: cache::WriteCache,
    plain: WriteCache,
    span: u64,
}

impl CachePair {
    fn new(random: &mut Random) -> CachePair {
        let (size, block) = (1 << (8 + random.below(5)), 1 << random.below(4));
        let window = 1 + random.below(12) as usize;
        let entries =
            if random.below(2) == 0 { usize::MAX } else { window + random.below(40) as usize };
        CachePair {
            fast: cache::WriteCache::new(size, window, entries, block),
            plain: WriteCache::new(size, window, entries, block),
            span: size * (1 + random.below(8)),
        }
    }

    fn write(&mut self, random: &mut Random) {
        let start = random.below(self.span);
        let most = 1 << random.below(8);
        let end = start + 1 + random.below(most);
        let room = self.fast.reserve(start, end);
        assert_eq!(room, self.plain.reserve(start, end));
        if room && random.below(20) == 0 {
            self.fast.release(end - start);
            self.plain.release(end - start);
        } else if room {
            self.fast.insert(start, end, |address| address as f64);
            self.plain.insert(start, end, |address| address as f64);
        }
    }

    /// Takes a piece in one of the ways there are, and writes it or puts it back.
    fn write_out(&mut self, random: &mut Random) {
        let (piece, head) = (1 + random.below(200), random.below(self.span) as f64);
        let at = |address: u64| address as f64;
        let cost = |place: f64| (place - head).abs();
        let (mut fast, plain) = match random.below(3) {
            0 => (self.fast.take_oldest(piece, at), self.plain.take_oldest(piece, at)),
            1 => (self.fast.take_last(piece, at), self.plain.take_last(piece, at)),
            _ => (
                self.fast.take_cheapest(cost, piece, at).map(|(piece, _)| piece),
                self.plain.take_cheapest(cost, piece, at),
            ),
        };
        assert_eq!(ends(fast), plain_ends(plain));
        while fast.is_some() {
            if random.below(3) == 0 {
                self.write(random);
            }
            if random.below(6) == 0 {
                self.fast.put_back(at);
                self.plain.put_back(at);
                return;
            }
            let end = self.fast.written();
            assert_eq!(end, self.plain.written());
            let next = self.plain.take_at(end, piece, at);
            fast = self.fast.take_at(end, piece, at);
            assert_eq!(ends(fast), plain_ends(next));
        }
    }

    fn compare(&self, random: &mut Random) {
        let (fast, plain) = (&self.fast, &self.plain);
        assert_eq!((fast.bytes(), fast.size()), (plain.bytes(), plain.size()));
        let state = (fast.has_extents(), fast.is_clean(), fast.last_is(64));
        assert_eq!(state, (plain.has_extents(), plain.is_clean(), plain.last_is(64)));
        assert_eq!(fast.ranges(), plain.ranges());
        let start = random.below(self.span);
        let end = start + 1 + random.below(100);
        assert_eq!(fast.covers(start, end), plain.covers(start, end));
    }
}

#[test]
fn it_answers_as_a_plain_cache_does_whatever_is_asked() {
    for seed in 0..400 {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut both = CachePair::new(&mut random);
        for _ in 0..1000 {
            if random.below(3) == 0 {
                both.write_out(&mut random);
            } else {
                both.write(&mut random);
            }
            both.compare(&mut random);
        }
    }
}

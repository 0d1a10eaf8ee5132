//! What a request has to read and write, and where: pure answers from the state, given while the
//! request holds its blocks.

use std::ops::Range;

use block::BufMut;

use super::options::CacheMode;
use super::shape::Shape;
use super::state::CacheState;
use crate::policy::Slot;

/// Where a part of a read comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadOrigin {
    /// Slots side by side on the cache's device.
    Store { first: Slot, within: u64 },
    /// The device below.
    Lower,
}

/// Whole blocks that come in with a read.
#[derive(Debug)]
pub(super) struct Fill {
    /// The slots of the blocks, in address order.
    pub(super) slots: Vec<Slot>,
    /// The blocks in bytes: at least what the part covers.
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A part of a read that is one command.
#[derive(Debug)]
pub(super) struct ReadPart {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) from: ReadOrigin,
    pub(super) fill: Option<Fill>,
    /// The owner's buffer, while it is not lent to a device.
    pub(super) into: Option<BufMut>,
}

/// The first of the slots side by side that have all of the blocks; `None` when there are no such.
pub(super) fn together(state: &CacheState, blocks: Range<u64>) -> Option<Slot> {
    let first = state.find(blocks.start)?;
    (first..)
        .zip(blocks)
        .skip(1)
        .all(|(slot, block)| state.find(block) == Some(slot))
        .then_some(first)
}

/// Cuts a read into parts. With `fill`, for which the blocks must be held exclusively, what is
/// missing gets slots as long as there is room. With `distrusted`, clean blocks count as missing.
pub(super) fn read(
    shape: &Shape,
    state: &mut CacheState,
    offset: u64,
    length: u64,
    fill: bool,
    distrusted: bool,
) -> Vec<ReadPart> {
    let end = offset + length;
    let mut parts: Vec<ReadPart> = Vec::new();
    for block in shape.range(offset, length) {
        let (start, block_start) = (shape.start(block).max(offset), shape.start(block));
        let length = shape.end(block).min(end) - start;
        let found = state.find(block).filter(|&slot| !distrusted || state.is_dirty(slot));
        let last = parts.last_mut();
        if let Some(slot) = found {
            state.counts.read_hits += 1;
            state.hit(slot);
            match last {
                Some(ReadPart {
                    from: ReadOrigin::Store { first, within },
                    length: so_far,
                    ..
                }) if start == block_start
                    && u64::from(*first) * shape.block_bytes + *within + *so_far
                        == u64::from(slot) * shape.block_bytes
                    && *so_far + length <= shape.store_max_bytes =>
                {
                    *so_far += length;
                }
                _ => {
                    let from = ReadOrigin::Store { first: slot, within: start - block_start };
                    parts.push(ReadPart { offset: start, length, from, fill: None, into: None });
                }
            }
            continue;
        }
        state.counts.read_misses += 1;
        let slot = if fill && state.admission.miss(block) { state.room(block) } else { None };
        let whole = shape.end(block) - block_start;
        match (last, slot) {
            (Some(ReadPart { from: ReadOrigin::Lower, fill: None, length: so_far, .. }), None) => {
                *so_far += length;
            }
            (
                Some(ReadPart {
                    from: ReadOrigin::Lower, fill: Some(fill), length: so_far, ..
                }),
                Some(slot),
            ) if fill.length + whole <= shape.lower_max_bytes => {
                *so_far += length;
                fill.length += whole;
                fill.slots.push(slot);
            }
            (_, slot) => {
                let fill =
                    slot.map(|slot| Fill { slots: vec![slot], offset: block_start, length: whole });
                parts.push(ReadPart {
                    offset: start,
                    length,
                    from: ReadOrigin::Lower,
                    fill,
                    into: None,
                });
            }
        }
    }
    parts
}

/// The part of a write that lies in one block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) block: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Where it goes on the cache's device.
    pub(super) slot: Option<Slot>,
    /// Whether it goes to the device below at once.
    pub(super) to_lower: bool,
    /// The rest of the block has to be read from below first.
    pub(super) patch: bool,
    /// A command for it failed.
    pub(super) store_failed: bool,
    pub(super) lower_failed: bool,
}

/// How a write is to go.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteRules {
    pub(super) mode: CacheMode,
    /// It has to be durable at once.
    pub(super) fua: bool,
    /// It belongs to a long sequential run.
    pub(super) outside: bool,
    /// Nothing new comes in, and clean blocks are worth nothing: the cache's device has failed.
    pub(super) distrusted: bool,
    /// So many dirty slots are the most.
    pub(super) dirty_max: u32,
}

/// Cuts a write into pieces, block by block; the caller holds the blocks exclusively.
pub(super) fn write(
    shape: &Shape,
    state: &mut CacheState,
    offset: u64,
    length: u64,
    rules: &WriteRules,
) -> Vec<Piece> {
    let end = offset + length;
    let mut dirty = state.dirty_slots() + state.idle_claims();
    let mut pieces = Vec::with_capacity(1);
    for block in shape.range(offset, length) {
        let start = shape.start(block).max(offset);
        let length = shape.end(block).min(end) - start;
        let whole = length == shape.end(block) - shape.start(block);
        let mut piece = Piece {
            block,
            offset: start,
            length,
            slot: None,
            to_lower: true,
            patch: false,
            store_failed: false,
            lower_failed: false,
        };
        let found = state.find(block);
        let was_dirty = found.is_some_and(|slot| state.is_dirty(slot));
        match found {
            Some(_) => state.counts.write_hits += 1,
            None => state.counts.write_misses += 1,
        }
        let unwanted = rules.mode == CacheMode::WriteAround || rules.distrusted;
        if let Some(slot) = found.filter(|_| was_dirty || !unwanted) {
            state.hit(slot);
            piece.slot = Some(slot);
        } else if found.is_some() {
            state.invalidate(block);
        }
        let comes_in = piece.slot.is_none() && !unwanted && !rules.outside;
        if rules.mode == CacheMode::WriteBack && !rules.fua && !rules.distrusted {
            if was_dirty {
                piece.to_lower = false;
            } else if dirty < rules.dirty_max {
                if comes_in && state.admission.miss(block) {
                    piece.slot = state.room(block);
                    piece.patch = !whole && piece.slot.is_some();
                }
                piece.to_lower = piece.slot.is_none();
                dirty += u32::from(piece.slot.is_some());
            }
        } else if comes_in && whole && state.admission.miss(block) {
            piece.slot = state.room(block);
        }
        pieces.push(piece);
    }
    pieces
}

/// The blocks that a clearing covers in part and that are here: they get the zeroes too.
pub(super) fn edges(shape: &Shape, state: &CacheState, offset: u64, length: u64) -> Vec<Piece> {
    let (end, blocks) = (offset + length, shape.range(offset, length));
    let mut ends = vec![blocks.start];
    ends.extend((blocks.end - 1 > blocks.start).then_some(blocks.end - 1));
    let piece = |block| {
        let start = shape.start(block).max(offset);
        let length = shape.end(block).min(end) - start;
        let slot = state.find(block).filter(|_| length < shape.end(block) - shape.start(block));
        slot.map(|slot| Piece {
            block,
            offset: start,
            length,
            slot: Some(slot),
            to_lower: true,
            patch: false,
            store_failed: false,
            lower_failed: false,
        })
    };
    ends.into_iter().filter_map(piece).collect()
}

/// The device below has cleared the range, or has failed to: what the cache has of whole blocks is
/// worth nothing, except, after a failure, for what is nowhere else.
pub(super) fn cleared(
    shape: &Shape,
    state: &mut CacheState,
    offset: u64,
    length: u64,
    succeeded: bool,
) {
    let end = offset + length;
    let whole = |block: u64| shape.start(block) >= offset && shape.end(block) <= end;
    let blocks = shape.range(offset, length);
    let here: Vec<u64> = if blocks.end - blocks.start > u64::from(state.directory.used()) {
        state.contents().map(|(_, block, _)| block).filter(|block| blocks.contains(block)).collect()
    } else {
        blocks.collect()
    };
    for block in here.into_iter().filter(|&block| whole(block)) {
        if succeeded || state.find(block).is_some_and(|slot| !state.is_dirty(slot)) {
            state.invalidate(block);
        }
    }
}

/// Pieces from `from` on that one command can carry, as far as `together` lets neighbours join.
pub(super) fn joined(
    pieces: &[Piece],
    from: usize,
    mut together: impl FnMut(&Piece, &Piece, u64) -> bool,
) -> Range<usize> {
    let mut end = from + 1;
    let mut length = pieces[from].length;
    while end < pieces.len() && together(&pieces[end - 1], &pieces[end], length) {
        length += pieces[end].length;
        end += 1;
    }
    from..end
}

/// What is written out together with the dirty `block`: the dirty blocks behind it, and clean ones
/// where that makes whole stripes.
pub(super) fn run(shape: &Shape, state: &CacheState, block: u64) -> Range<u64> {
    let stripe = shape.stripe_blocks;
    let is_dirty = |block: u64| state.find(block).is_some_and(|slot| state.is_dirty(slot));
    let stripe_start = block / stripe * stripe;
    let first = if state.has_all(stripe_start..block) { stripe_start } else { block };
    let most = shape.blocks().min(first + shape.run_blocks());
    let mut end = block + 1;
    while end < most && is_dirty(end) {
        end += 1;
    }
    let stripe_end = end.next_multiple_of(stripe);
    if stripe_end <= most && state.has_all(end..stripe_end) {
        end = stripe_end;
    } else if end == most && end / stripe * stripe > block {
        end = end / stripe * stripe;
    }
    first..end
}

/// Blocks side by side that are written out with one command.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) offset: u64,
    pub(super) length: u64,
    /// First slot and bytes of each piece that lies side by side on the cache's device.
    pub(super) pieces: Vec<(Slot, u64)>,
    /// What is clean afterwards.
    pub(super) dirty: Vec<Slot>,
}

/// What of a run is to be written out now that its blocks are held: ranges that are here and
/// have something dirty in them.
pub(super) fn segments(shape: &Shape, state: &CacheState, blocks: Range<u64>) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut open = false;
    for block in blocks {
        let Some(slot) = state.find(block) else {
            open = false;
            continue;
        };
        let (offset, length) = (shape.start(block), shape.end(block) - shape.start(block));
        if !open {
            segments.push(Segment { offset, length: 0, pieces: Vec::new(), dirty: Vec::new() });
            open = true;
        }
        let Some(segment) = segments.last_mut() else { continue };
        segment.length += length;
        match segment.pieces.last_mut() {
            Some((first, bytes))
                if u64::from(*first) * shape.block_bytes + *bytes
                    == u64::from(slot) * shape.block_bytes
                    && *bytes + length <= shape.store_max_bytes =>
            {
                *bytes += length;
            }
            _ => segment.pieces.push((slot, length)),
        }
        if state.is_dirty(slot) {
            segment.dirty.push(slot);
        }
    }
    segments.retain(|segment| !segment.dirty.is_empty());
    segments
}

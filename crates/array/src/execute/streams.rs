//! Sequential writes that wait for what follows them.
//!
//! ```text
//!   row       |  chunk   |  chunk   |  chunk   |          writes of 1 MiB to rows of 192 KiB
//!   write 1   ───────────|──>
//!   write 2                  ────|──────────|──────────>  begins where write 1 ends
//! ```
//!
//! A write that fills a part of a row has to read from the row, and to write its parity once more
//! for the next part. In a sequential stream the next write brings the rest, mostly while earlier
//! ones are under way. So a piece that goes on where an earlier write ended and does not reach the
//! end of its row is kept back, and written as one piece with what follows it. It waits no longer
//! than until as many pieces have ended as were being written when it came, and not at all where
//! there are hardly any.

use super::requests::NewPiece;
use crate::part::Part;

/// How many streams are followed at a time.
const STREAMS: usize = 8;

/// With fewer pieces under way nothing is kept back: two writes at a time go at the same time.
const BUSY: u32 = 2;

/// A piece that is kept back.
struct HeldPiece {
    piece: NewPiece,
    part: Part,
    /// How many more pieces it waits for.
    left: u32,
}

/// The streams of writes that come in on a channel.
pub(super) struct Streams {
    /// Where the latest writes of each ended, in bytes.
    ends: [u64; STREAMS],
    /// The one that a new stream took last.
    newest: usize,
    kept: Vec<HeldPiece>,
    /// Pieces that are being written.
    writing: u32,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams { ends: [u64::MAX; STREAMS], newest: 0, kept: Vec::new(), writing: 0 }
    }
}

impl Streams {
    /// Notes a write that has come in: whether it begins where one of the latest ended.
    #[inline]
    pub(super) fn follow(&mut self, write: Part) -> bool {
        let known = self.ends.iter().position(|end| *end == write.offset);
        let stream = known.unwrap_or((self.newest + 1) % STREAMS);
        if known.is_none() {
            self.newest = stream;
        }
        self.ends[stream] = write.offset + write.length;
        known.is_some()
    }

    /// A piece of a write of a stream, which lies in the row that ends at `row_end`: together with
    /// what was kept back before it, if it is to begin now.
    pub(super) fn pass(&mut self, new: NewPiece, part: Part, row_end: u64) -> Option<NewPiece> {
        // What is kept ends within its row: what begins there lies in the same.
        let before =
            self.kept.iter().position(|kept| kept.part.offset + kept.part.length == part.offset);
        let (piece, part, left) = match before.map(|index| self.kept.swap_remove(index)) {
            Some(kept) => {
                let length = kept.part.length + part.length;
                (kept.piece.join(new), Part { length, ..kept.part }, kept.left)
            }
            None => (new, part, self.writing),
        };
        if part.offset + part.length < row_end && self.writing >= BUSY {
            self.kept.push(HeldPiece { piece, part, left });
            return None;
        }
        Some(piece)
    }

    /// A piece that writes has begun.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.writing += 1;
    }

    /// A piece that writes has ended.
    #[inline]
    pub(super) fn end(&mut self) {
        self.writing -= 1;
        for kept in &mut self.kept {
            kept.left = kept.left.saturating_sub(1);
        }
    }

    /// A piece that has waited long enough.
    #[inline]
    pub(super) fn take_overdue(&mut self) -> Option<NewPiece> {
        let overdue = self.kept.iter().position(|kept| kept.left == 0)?;
        Some(self.kept.swap_remove(overdue).piece)
    }
}

//! What an image is made of: data, and holes that need not be read.

use std::fs::File;
use std::ops::Range;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// A part of the image that is carried over as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) range: Range<u64>,
    /// Whether it reads as zeroes because nothing is there.
    pub(super) hole: bool,
}

impl Piece {
    pub(super) fn length(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// The ranges of a file below `size` that hold data; all of it where the file system cannot tell.
pub(super) fn data_of(file: &File, size: u64) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < size {
        let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            // No data from here to the end.
            Err(Errno::NXIO) => return found,
            Err(_) => return std::iter::once(0..size).collect(),
        };
        let end = rustix::fs::seek(file, SeekFrom::Hole(start)).unwrap_or(size).min(size);
        if start >= end {
            break;
        }
        found.push(start..end);
        at = end;
    }
    found
}

/// How an image is cut: all sizes in bytes, whole blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// A block that holds any data is data.
    pub(super) block: u64,
    /// Pieces of data end at multiples of it.
    pub(super) data: u64,
    /// The same for holes.
    pub(super) hole: u64,
}

/// The pieces of the first `size` bytes (whole blocks), in order and without gaps.
pub(super) fn pieces(data: &[Range<u64>], size: u64, cut: Cut) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut put = |range: Range<u64>, hole: bool| {
        let mut at = range.start;
        while at < range.end {
            let border = if hole { cut.hole } else { cut.data };
            let end = ((at / border + 1) * border).min(range.end);
            pieces.push(Piece { range: at..end, hole });
            at = end;
        }
    };
    let mut at = 0;
    for range in data {
        let start = (range.start / cut.block * cut.block).clamp(at, size);
        let end = range.end.next_multiple_of(cut.block).clamp(start, size);
        put(at..start, true);
        put(start..end, false);
        at = end;
    }
    put(at..size, true);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_an_image_once_and_every_block_with_data_is_data() {
        let cut = Cut { block: 4, data: 8, hole: 16 };
        let size = 40;
        for first in 0..size {
            for second in first..size {
                let data = [first..first + 3, (second + 3)..(second + 9)];
                let pieces = pieces(&data, size, cut);
                let mut at = 0;
                for piece in &pieces {
                    assert_eq!(piece.range.start, at, "{pieces:?}");
                    assert!(
                        piece.length() > 0 && piece.length() <= if piece.hole { 16 } else { 8 },
                        "{pieces:?}"
                    );
                    assert!(
                        piece.range.start.is_multiple_of(4) && piece.range.end.is_multiple_of(4),
                        "{pieces:?}"
                    );
                    at = piece.range.end;
                    for block in piece.range.clone().step_by(4) {
                        let holds =
                            data.iter().any(|range| range.start < block + 4 && block < range.end);
                        assert_eq!(piece.hole, !holds, "block at {block} of {data:?}: {pieces:?}");
                    }
                }
                assert_eq!(at, size);
            }
        }
    }

    #[test]
    fn holes_of_a_file_are_found() {
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().expect("a file");
        file.set_len(8 << 20).expect("a length");
        file.write_all_at(&[1; 4096], 1 << 20).expect("a write");
        file.write_all_at(&[1; 4096], (8 << 20) - 4096).expect("a write");
        let data = data_of(&file, 8 << 20);
        let holds = |at: u64| data.iter().any(|range| range.contains(&at));
        assert!(holds(1 << 20) && holds((8 << 20) - 1), "{data:?}");
        // A file system without holes has data everywhere, and says so.
        assert!(!holds(4 << 20) || (data.len() == 1 && data[0] == (0..8 << 20)), "{data:?}");
        assert_eq!(data_of(&file, 0), []);
    }
}

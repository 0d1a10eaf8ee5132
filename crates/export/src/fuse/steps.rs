//! What a request that changes data becomes: whole blocks go to the device as they are, parts of
//! blocks are read, changed and written back. Pure.

use std::collections::VecDeque;

use crate::gate::WritePath;

/// One thing to do on the device; offsets and lengths are whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FuseStep {
    /// Make the range read as zeroes.
    Clear { offset: u64, length: u64 },
    /// Read the range, put `count` bytes at `at` within it, and write it back.
    Patch { offset: u64, length: usize, at: usize, count: usize, with: Content },
    /// Make durable what was done.
    Flush,
}

/// What a patch puts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Zeroes,
    /// The data of the request.
    Data,
}

/// Whether a range is whole blocks.
pub(super) fn is_whole(offset: u64, length: u64, block: u64) -> bool {
    (offset | length) & (block - 1) == 0
}

/// The whole blocks around a range: offset and length.
pub(super) fn around(offset: u64, length: u64, block: u64) -> (u64, u64) {
    let start = offset - offset % block;
    (start, (offset + length).next_multiple_of(block) - start)
}

fn patch(offset: u64, length: u64, block: u64, with: Content) -> FuseStep {
    let (start, whole) = around(offset, length, block);
    FuseStep::Patch {
        offset: start,
        length: whole as usize,
        at: (offset - start) as usize,
        count: length as usize,
        with,
    }
}

/// A write of bytes that are not whole blocks.
pub(super) fn write(offset: u64, length: u64, block: u64) -> (WritePath, VecDeque<FuseStep>) {
    (WritePath::Alone, [patch(offset, length, block, Content::Data)].into())
}

/// A range that shall read as zeroes.
pub(super) fn clear(
    offset: u64,
    length: u64,
    block: u64,
    flush: bool,
) -> (WritePath, VecDeque<FuseStep>) {
    let end = offset + length;
    let (first, last) = (offset.next_multiple_of(block), end - end % block);
    let way = if is_whole(offset, length, block) { WritePath::Together } else { WritePath::Alone };
    let mut steps = VecDeque::new();
    if first > last {
        // Within one block.
        steps.push_back(patch(offset, length, block, Content::Zeroes));
    } else {
        if offset < first {
            steps.push_back(patch(offset, first - offset, block, Content::Zeroes));
        }
        if first < last {
            steps.push_back(FuseStep::Clear { offset: first, length: last - first });
        }
        if last < end {
            steps.push_back(patch(last, end - last, block, Content::Zeroes));
        }
    }
    if flush {
        steps.push_back(FuseStep::Flush);
    }
    (way, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries steps out on bytes, and says which of them changed.
    fn carry_out(
        steps: impl IntoIterator<Item = FuseStep>,
        bytes: &mut [u8],
        data: &[u8],
        block: u64,
    ) {
        for step in steps {
            match step {
                FuseStep::Clear { offset, length } => {
                    assert!(is_whole(offset, length, block) && length > 0);
                    bytes[offset as usize..(offset + length) as usize].fill(0);
                }
                FuseStep::Patch { offset, length, at, count, with } => {
                    assert!(
                        is_whole(offset, length as u64, block) && at + count <= length && count > 0
                    );
                    let range = &mut bytes[offset as usize..][..length];
                    match with {
                        Content::Zeroes => range[at..at + count].fill(0),
                        Content::Data => range[at..at + count].copy_from_slice(data),
                    }
                }
                FuseStep::Flush => (),
            }
        }
    }

    #[test]
    fn every_small_range_changes_exactly_its_bytes() {
        let block = 8;
        for offset in 0..40_u64 {
            for length in 1..=40 - offset {
                let range = offset as usize..(offset + length) as usize;
                let mut bytes = [1; 40];
                let (way, steps) = clear(offset, length, block, false);
                assert_eq!(way == WritePath::Together, is_whole(offset, length, block));
                carry_out(steps, &mut bytes, &[], block);
                for (index, byte) in bytes.iter().enumerate() {
                    assert_eq!(
                        *byte == 0,
                        range.contains(&index),
                        "offset {offset} length {length} at {index}"
                    );
                }
                if is_whole(offset, length, block) {
                    continue;
                }
                let mut bytes = [1; 40];
                carry_out(
                    write(offset, length, block).1,
                    &mut bytes,
                    &vec![2; length as usize],
                    block,
                );
                for (index, byte) in bytes.iter().enumerate() {
                    assert_eq!(
                        *byte == 2,
                        range.contains(&index),
                        "offset {offset} length {length} at {index}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_range_is_given_back_before_it_is_said_to_be_durable() {
        let steps: Vec<FuseStep> = clear(16, 16, 8, true).1.into();
        assert_eq!(steps, [FuseStep::Clear { offset: 16, length: 16 }, FuseStep::Flush]);
    }
}

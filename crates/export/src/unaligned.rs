//! Orders that are not whole blocks, as steps that are: blocks are read around what is wanted,
//! changed and written back.
//!
//! ```text
//!   order            |...=====|=======|=======|==.....|
//!   a write's steps   patch    put             patch        in turn, while no other write is under way
//! ```

use std::collections::VecDeque;

use block::{Buf, BufMut, Op, ReturnedBuffer};

/// The most that one step reads or writes, in bytes.
const STEP_BYTES: u64 = 1 << 20;

/// Whether a range is not whole blocks.
pub(crate) fn is_unaligned(offset: u64, length: u64, block: u64) -> bool {
    (offset | length) & (block - 1) != 0
}

/// One request to the device, or two for a patch. Offsets and lengths on the device are whole
/// blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Read, and take `count` bytes from `skip` on to `start` of the order's buffer.
    Fetch { offset: u64, length: u64, skip: usize, count: usize, start: usize },
    /// Read a block, put `count` bytes at `at` within it, from `start` of the order's buffer or
    /// zeroes, and write it back.
    Patch { offset: u64, at: usize, count: usize, start: Option<usize> },
    /// Write so much from `start` of the order's buffer, or zeroes in full.
    Put { offset: u64, length: u64, start: Option<usize> },
    /// Make the range read as zeroes.
    Clear { offset: u64, length: u64 },
}

/// What is left of an order, and its buffer.
#[derive(Debug)]
pub(crate) struct UnalignedOrder {
    steps: VecDeque<Step>,
    /// A patched block that is to be written.
    patched: Option<(u64, Buf)>,
    /// The order's own.
    pub(crate) buffer: ReturnedBuffer,
    block: u64,
    fua: bool,
}

/// Cuts whole blocks into steps of at most `longest` bytes.
fn cut(mut offset: u64, end: u64, block: u64, longest: u64) -> impl Iterator<Item = (u64, u64)> {
    let most = (longest.min(STEP_BYTES) / block).max(1) * block;
    std::iter::from_fn(move || {
        let length = most.min(end - offset);
        let step = (offset, length);
        offset += length;
        (length > 0).then_some(step)
    })
}

/// A read of `into.len()` bytes at `offset`.
pub(crate) fn read(offset: u64, into: BufMut, block: u64, longest: u64) -> UnalignedOrder {
    let end = offset + into.len() as u64;
    let steps = cut(offset / block * block, end.next_multiple_of(block), block, longest).map(
        |(from, length)| {
            let (first, last) = (from.max(offset), (from + length).min(end));
            let (skip, count, start) =
                ((first - from) as usize, (last - first) as usize, (first - offset) as usize);
            Step::Fetch { offset: from, length, skip, count, start }
        },
    );
    UnalignedOrder {
        steps: steps.collect(),
        patched: None,
        buffer: ReturnedBuffer::Read(into),
        block,
        fua: false,
    }
}

/// What changes `offset` to `end`: the blocks at both ends that are not whole, and those between
/// them.
fn change(
    offset: u64,
    end: u64,
    block: u64,
    has_data: bool,
    middle: impl FnOnce(u64, u64) -> Vec<Step>,
) -> VecDeque<Step> {
    let start = |at: u64| has_data.then_some((at - offset) as usize);
    let patch = |from: u64, to: u64| Step::Patch {
        offset: from / block * block,
        at: (from % block) as usize,
        count: (to - from) as usize,
        start: start(from),
    };
    let (first, last) = (offset.next_multiple_of(block), end / block * block);
    if first > last {
        return [patch(offset, end)].into();
    }
    let head = (offset < first).then(|| patch(offset, first));
    let tail = (last < end).then(|| patch(last, end));
    let middle = if first < last { middle(first, last) } else { Vec::new() };
    head.into_iter().chain(middle).chain(tail).collect()
}

/// A write of `from` at `offset`.
pub(crate) fn write(offset: u64, from: Buf, block: u64, longest: u64, fua: bool) -> UnalignedOrder {
    let steps = change(offset, offset + from.len() as u64, block, true, |first, last| {
        let put =
            |(at, length)| Step::Put { offset: at, length, start: Some((at - offset) as usize) };
        cut(first, last, block, longest).map(put).collect()
    });
    UnalignedOrder { steps, patched: None, buffer: ReturnedBuffer::Written(from), block, fua }
}

/// Zeroes; written in full, in requests of at most `in_full` bytes, where that is given.
pub(crate) fn zero(
    offset: u64,
    length: u64,
    block: u64,
    fua: bool,
    in_full: Option<u64>,
) -> UnalignedOrder {
    let steps = change(offset, offset + length, block, false, |first, last| match in_full {
        Some(longest) => cut(first, last, block, longest)
            .map(|(offset, length)| Step::Put { offset, length, start: None })
            .collect(),
        None => vec![Step::Clear { offset: first, length: last - first }],
    });
    UnalignedOrder { steps, patched: None, buffer: ReturnedBuffer::Nothing, block, fua }
}

/// A copy of a part of the order's data.
fn part(buffer: &ReturnedBuffer, start: usize, count: usize) -> BufMut {
    let mut copy = BufMut::zeroed(count);
    if let (ReturnedBuffer::Written(from), Some(target)) = (buffer, copy.as_mut_slice()) {
        let mut from = from.clone();
        if start > 0 {
            drop(from.split_to(start));
        }
        let wanted = if count < from.len() { from.split_to(count) } else { from };
        wanted.copy_to_slice(target);
    }
    copy
}

impl UnalignedOrder {
    /// The next request to the device; `None` when all is done.
    pub(crate) fn next_op(&mut self) -> Option<Op> {
        if let Some((offset, from)) = self.patched.take() {
            return Some(Op::Write { offset, from, fua: self.fua });
        }
        Some(match *self.steps.front()? {
            Step::Fetch { offset, length, .. } => {
                Op::Read { offset, into: BufMut::zeroed(length as usize) }
            }
            Step::Patch { offset, .. } => {
                Op::Read { offset, into: BufMut::zeroed(self.block as usize) }
            }
            Step::Put { offset, length, start } => {
                let from = match start {
                    Some(start) => part(&self.buffer, start, length as usize),
                    None => BufMut::zeroed(length as usize),
                };
                Op::Write { offset, from: from.freeze(), fua: self.fua }
            }
            Step::Clear { offset, length } => Op::WriteZeroes { offset, length, fua: self.fua },
        })
    }

    /// Takes what a request brought back that has succeeded.
    pub(crate) fn done(&mut self, returned: ReturnedBuffer) {
        match (self.steps.front().copied(), returned) {
            (Some(Step::Patch { offset, at, count, start }), ReturnedBuffer::Read(mut block)) => {
                let new = start.map(|start| part(&self.buffer, start, count));
                if let Some(bytes) = block.as_mut_slice() {
                    match new {
                        Some(new) => new.copy_to_slice(&mut bytes[at..at + count]),
                        None => bytes[at..at + count].fill(0),
                    }
                }
                // The step is over when that has been written.
                self.patched = Some((offset, block.freeze()));
                return;
            }
            (Some(Step::Fetch { skip, count, start, .. }), ReturnedBuffer::Read(found)) => {
                if let (ReturnedBuffer::Read(into), Some(found)) =
                    (&mut self.buffer, found.as_slice())
                {
                    let mut left = &found[skip..skip + count];
                    let mut passed = 0;
                    for slice in into.slices_mut() {
                        let from = start.max(passed) - passed;
                        passed += slice.len();
                        if from < slice.len() && !left.is_empty() && start < passed {
                            let now = left.len().min(slice.len() - from);
                            slice[from..from + now].copy_from_slice(&left[..now]);
                            left = &left[now..];
                        }
                    }
                }
            }
            _ => (),
        }
        self.steps.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries steps out on bytes, as a device would.
    fn carry_out(mut odd: UnalignedOrder, bytes: &mut [u8]) -> ReturnedBuffer {
        while let Some(op) = odd.next_op() {
            let (offset, length) = op.range().expect("no flush");
            assert!(!is_unaligned(offset, length, 8) && length > 0 && length <= 24, "{op:?}");
            let range = offset as usize..(offset + length) as usize;
            odd.done(match op {
                Op::Read { mut into, .. } => {
                    into.copy_from_slice(&bytes[range]);
                    ReturnedBuffer::Read(into)
                }
                Op::Write { from, .. } => {
                    from.copy_to_slice(&mut bytes[range]);
                    ReturnedBuffer::Written(from)
                }
                _ => {
                    bytes[range].fill(0);
                    ReturnedBuffer::Nothing
                }
            });
        }
        odd.buffer
    }

    #[test]
    fn every_range_is_read_written_and_cleared_and_nothing_else_changes() {
        let old: Vec<u8> = (1..=40).collect();
        for offset in 0..40_usize {
            for length in 1..=40 - offset {
                let range = offset..offset + length;
                let ReturnedBuffer::Read(found) =
                    carry_out(read(offset as u64, BufMut::zeroed(length), 8, 24), &mut old.clone())
                else {
                    panic!("a read's buffer comes back");
                };
                assert_eq!(found.as_slice(), Some(&old[range.clone()]), "{range:?}");
                let mut from = BufMut::zeroed(length);
                from.fill(0xaa);
                let (mut bytes, mut expected) = (old.clone(), old.clone());
                assert!(matches!(
                    carry_out(write(offset as u64, from.freeze(), 8, 24, false), &mut bytes),
                    ReturnedBuffer::Written(_)
                ));
                expected[range.clone()].fill(0xaa);
                assert_eq!(bytes, expected, "{range:?}");
                for in_full in [Some(24), Some(8)] {
                    let (mut bytes, mut expected) = (old.clone(), old.clone());
                    carry_out(zero(offset as u64, length as u64, 8, false, in_full), &mut bytes);
                    expected[range.clone()].fill(0);
                    assert_eq!(bytes, expected, "{range:?}");
                }
            }
        }
    }
}

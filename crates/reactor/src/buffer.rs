//! Owned buffers that travel with requests.
//!
//! ```text
//! Allocation  |............................|      4 KiB aligned, freed with its last handle
//! BufMut             |=====|   |==|               the only handle to these bytes; splits and rejoins
//! Buf         |=====|       |=|                   frozen: cheap to clone, the bytes cannot change
//! ```
//!
//! A handle is a list of spans, nearly always one. Several appear when a striped array sends chunks
//! that lie apart in the host's buffer, but side by side on a member, as one command; joined again
//! they are one span as before.
//!
//! All of the `unsafe` that buffers need is in this file. Its invariant: the spans of all live
//! [`BufMut`]s are disjoint from one another and from the spans of every [`Buf`], so a `BufMut` may
//! hand out `&mut` and a `Buf` may hand out `&`.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::VecDeque;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, Weak};

/// Every allocation starts at a multiple of this, which satisfies O_DIRECT on any device with
/// blocks up to 4 KiB.
pub const ALIGNMENT_BYTES: usize = 4096;

/// A place in a ring's table of registered buffers; the ring is told when the allocation is gone.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) ring: u64,
    pub(crate) index: u16,
    pub(crate) retired: Weak<Mutex<Vec<u16>>>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(retired) = self.retired.upgrade()
            && let Ok(mut retired) = retired.lock()
        {
            retired.push(self.index);
        }
    }
}

struct Allocation {
    pointer: NonNull<u8>,
    length: usize,
    registration: Option<Registration>,
}

// SAFETY: the bytes are reached only through spans, which follow the invariant of this file
// whatever thread they are on.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn layout(length: usize) -> Layout {
        Layout::from_size_align(length.max(1), ALIGNMENT_BYTES)
            .expect("a buffer's length fits in isize")
    }

    fn zeroed(length: usize) -> Allocation {
        let layout = Allocation::layout(length);
        // SAFETY: the layout's size is at least one.
        let pointer = unsafe { alloc_zeroed(layout) };
        let Some(pointer) = NonNull::new(pointer) else { handle_alloc_error(layout) };
        Allocation { pointer, length, registration: None }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout, and no span is left (each keeps the allocation
        // alive).
        unsafe { dealloc(self.pointer.as_ptr(), Allocation::layout(self.length)) }
    }
}

#[derive(Clone)]
struct Span {
    allocation: Arc<Allocation>,
    start: usize,
    length: usize,
}

impl Span {
    fn pointer(&self) -> *mut u8 {
        // SAFETY: start + length <= allocation.length, by construction and by split_to.
        unsafe { self.allocation.pointer.as_ptr().add(self.start) }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: in range and initialised (zeroed at allocation); nothing writes while this handle
        // is borrowed.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.length) }
    }

    /// # Safety
    /// The span must belong to a `BufMut`.
    unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: in range; a BufMut's spans are the only handles to their bytes, and it is
        // borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.length) }
    }

    fn split_to(&mut self, at: usize) -> Span {
        let front =
            Span { allocation: Arc::clone(&self.allocation), start: self.start, length: at };
        self.start += at;
        self.length -= at;
        front
    }

    fn continues_in(&self, next: &Span) -> bool {
        Arc::ptr_eq(&self.allocation, &next.allocation) && self.start + self.length == next.start
    }
}

enum Spans {
    One(Span),
    Many(VecDeque<Span>),
}

impl Spans {
    fn length(&self) -> usize {
        match self {
            Spans::One(span) => span.length,
            Spans::Many(spans) => spans.iter().map(|span| span.length).sum(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Span> {
        let (one, many) = match self {
            Spans::One(span) => (Some(span), None),
            Spans::Many(spans) => (None, Some(spans.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Span> {
        let (one, many) = match self {
            Spans::One(span) => (Some(span), None),
            Spans::Many(spans) => (None, Some(spans.iter_mut())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// Without adding up all spans, which would make taking a long rope apart, piece by piece,
    /// quadratic.
    fn is_empty(&self) -> bool {
        self.iter().all(|span| span.length == 0)
    }

    fn split_to(&mut self, at: usize) -> Spans {
        match self {
            Spans::One(span) => {
                assert!(at <= span.length, "split at {at} of {} bytes", span.length);
                Spans::One(span.split_to(at))
            }
            Spans::Many(spans) => {
                // Nearly always one piece: what a member's command took of the host's buffer comes
                // back as it went.
                if spans.len() > 1 && at <= spans[0].length {
                    let front = if at < spans[0].length {
                        spans[0].split_to(at)
                    } else {
                        spans.pop_front().expect("two spans")
                    };
                    if spans.len() == 1 {
                        let last = spans.pop_front().expect("one span");
                        *self = Spans::One(last);
                    }
                    return Spans::One(front);
                }
                let mut front = VecDeque::new();
                let mut left = at;
                while left > 0 {
                    let Some(mut span) = spans.pop_front() else {
                        panic!("split at {at} of {} bytes", at - left)
                    };
                    if span.length > left {
                        front.push_back(span.split_to(left));
                        spans.push_front(span);
                        left = 0;
                    } else {
                        left -= span.length;
                        front.push_back(span);
                    }
                }
                let front = match front.len() {
                    1 => Spans::One(front.pop_front().expect("one span")),
                    0 => Spans::One(spans[0].split_to(0)),
                    _ => Spans::Many(front),
                };
                if spans.len() == 1 {
                    let last = spans.pop_front().expect("one span");
                    *self = Spans::One(last);
                } else if spans.is_empty() {
                    let Some(end) = front.iter().last().cloned() else {
                        unreachable!("the front took all spans")
                    };
                    *self = Spans::One(Span { start: end.start + end.length, length: 0, ..end });
                }
                front
            }
        }
    }

    fn append(&mut self, other: Spans) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other;
            return;
        }
        if let Spans::One(_) = self {
            let placeholder = Spans::Many(VecDeque::new());
            let Spans::One(span) = std::mem::replace(self, placeholder) else {
                unreachable!("just matched")
            };
            if let Spans::One(next) = &other
                && span.continues_in(next)
            {
                *self = Spans::One(Span { length: span.length + next.length, ..span });
                return;
            }
            let mut spans = VecDeque::with_capacity(8);
            spans.push_back(span);
            *self = Spans::Many(spans);
        }
        let Spans::Many(spans) = self else { unreachable!("just made so") };
        let mut push = |span: Span| match spans.back_mut() {
            Some(last) if last.continues_in(&span) => last.length += span.length,
            _ => spans.push_back(span),
        };
        match other {
            Spans::One(span) => push(span),
            Spans::Many(more) => more.into_iter().for_each(push),
        }
        if spans.len() == 1 {
            let last = spans.pop_front().expect("one span");
            *self = Spans::One(last);
        }
    }
}

/// Bytes that this handle alone can reach: what a read fills.
pub struct BufMut(Spans);

/// Bytes that cannot change any more: what a write carries. Clones share the bytes.
pub struct Buf(Spans);

impl BufMut {
    /// A buffer of `length` zero bytes at a 4 KiB boundary.
    #[must_use]
    pub fn zeroed(length: usize) -> BufMut {
        BufMut::over(Allocation::zeroed(length))
    }

    /// As [`BufMut::zeroed`], registered with a ring by `register`, which sees the bytes' address
    /// and length and answers with the place in the ring's table, or `None` where there is none
    /// left.
    pub(crate) fn registered(
        length: usize,
        register: impl FnOnce(*mut u8, usize) -> Option<Registration>,
    ) -> BufMut {
        let mut allocation = Allocation::zeroed(length);
        allocation.registration = register(allocation.pointer.as_ptr(), length);
        BufMut::over(allocation)
    }

    fn over(allocation: Allocation) -> BufMut {
        let length = allocation.length;
        BufMut(Spans::One(Span { allocation: Arc::new(allocation), start: 0, length }))
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.length()
    }

    /// Whether it holds no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the first `at` bytes off.
    ///
    /// # Panics
    /// When `at` is past the end.
    #[must_use]
    pub fn split_to(&mut self, at: usize) -> BufMut {
        BufMut(self.0.split_to(at))
    }

    /// Joins `other` on at the end; pieces that were split from one another become one again.
    pub fn append(&mut self, other: BufMut) {
        self.0.append(other.0);
    }

    /// The bytes, in order, as the pieces they lie in.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Span::bytes)
    }

    /// The bytes, in order, as the pieces they lie in.
    pub fn slices_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        // SAFETY: the spans are a BufMut's own.
        self.0.iter_mut().map(|span| unsafe { span.bytes_mut() })
    }

    /// All bytes as one slice, if they lie in one piece.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[u8]> {
        match &self.0 {
            Spans::One(span) => Some(span.bytes()),
            Spans::Many(_) => None,
        }
    }

    /// All bytes as one slice, if they lie in one piece.
    pub fn as_mut_slice(&mut self) -> Option<&mut [u8]> {
        match &mut self.0 {
            // SAFETY: the span is a BufMut's own.
            Spans::One(span) => Some(unsafe { span.bytes_mut() }),
            Spans::Many(_) => None,
        }
    }

    /// Sets every byte.
    pub fn fill(&mut self, byte: u8) {
        self.slices_mut().for_each(|slice| slice.fill(byte));
    }

    /// Copies `source` over the bytes.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn copy_from_slice(&mut self, mut source: &[u8]) {
        assert_eq!(self.len(), source.len(), "a copy's two sides are of one length");
        for slice in self.slices_mut() {
            let (now, later) = source.split_at(slice.len());
            slice.copy_from_slice(now);
            source = later;
        }
    }

    /// Copies the bytes over `target`.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn copy_to_slice(&self, target: &mut [u8]) {
        copy_out(&self.0, target);
    }

    /// Gives up the right to change the bytes, and gains cheap clones.
    #[must_use]
    pub fn freeze(self) -> Buf {
        Buf(self.0)
    }

    pub(crate) fn raw_spans(&self) -> impl Iterator<Item = RawSpan> {
        raw_spans(&self.0)
    }
}

impl Buf {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.length()
    }

    /// Whether it holds no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the first `at` bytes off.
    ///
    /// # Panics
    /// When `at` is past the end.
    #[must_use]
    pub fn split_to(&mut self, at: usize) -> Buf {
        Buf(self.0.split_to(at))
    }

    /// Joins `other` on at the end, without copying.
    pub fn append(&mut self, other: Buf) {
        self.0.append(other.0);
    }

    /// The bytes, in order, as the pieces they lie in.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Span::bytes)
    }

    /// All bytes as one slice, if they lie in one piece.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[u8]> {
        match &self.0 {
            Spans::One(span) => Some(span.bytes()),
            Spans::Many(_) => None,
        }
    }

    /// Copies the bytes over `target`.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn copy_to_slice(&self, target: &mut [u8]) {
        copy_out(&self.0, target);
    }

    /// The right to change the bytes again, if this is the last handle to their allocation;
    /// otherwise the buffer back.
    ///
    /// # Errors
    /// The buffer itself, when another handle is alive or the bytes lie in several pieces.
    pub fn try_mut(mut self) -> Result<BufMut, Buf> {
        let alone = match &mut self.0 {
            Spans::One(span) => Arc::get_mut(&mut span.allocation).is_some(),
            Spans::Many(_) => false,
        };
        if alone { Ok(BufMut(self.0)) } else { Err(self) }
    }

    pub(crate) fn raw_spans(&self) -> impl Iterator<Item = RawSpan> {
        raw_spans(&self.0)
    }
}

impl Clone for Buf {
    fn clone(&self) -> Buf {
        Buf(match &self.0 {
            Spans::One(span) => Spans::One(span.clone()),
            Spans::Many(spans) => Spans::Many(spans.clone()),
        })
    }
}

/// Address, length and registered place of one span, for the ring only.
pub(crate) struct RawSpan {
    pub(crate) pointer: *mut u8,
    pub(crate) length: usize,
    pub(crate) registered: Option<(u64, u16)>,
}

fn raw_spans(spans: &Spans) -> impl Iterator<Item = RawSpan> {
    spans.iter().map(|span| RawSpan {
        pointer: span.pointer(),
        length: span.length,
        registered: span.allocation.registration.as_ref().map(|place| (place.ring, place.index)),
    })
}

fn copy_out(spans: &Spans, mut target: &mut [u8]) {
    assert_eq!(spans.length(), target.len(), "a copy's two sides are of one length");
    for span in spans.iter() {
        let (now, later) = target.split_at_mut(span.length);
        now.copy_from_slice(span.bytes());
        target = later;
    }
}

impl fmt::Debug for BufMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufMut({} bytes)", self.len())
    }
}

impl fmt::Debug for Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buf({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(length: usize) -> BufMut {
        let mut buffer = BufMut::zeroed(length);
        for (index, byte) in buffer.as_mut_slice().unwrap().iter_mut().enumerate() {
            *byte = index as u8;
        }
        buffer
    }

    fn bytes(buffer: &BufMut) -> Vec<u8> {
        let mut all = vec![0; buffer.len()];
        buffer.copy_to_slice(&mut all);
        all
    }

    #[test]
    fn starts_aligned_and_zero() {
        for length in [0, 1, 512, 4096, 1 << 20] {
            let buffer = BufMut::zeroed(length);
            assert_eq!(buffer.raw_spans().next().unwrap().pointer as usize % ALIGNMENT_BYTES, 0);
            assert!(bytes(&buffer).iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn split_pieces_rejoin_into_one_span_whatever_the_cuts() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..if cfg!(miri) { 20 } else { 300 } {
            let length = random.usize(1..200);
            let mut rest = numbered(length);
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                pieces.push(rest.split_to(random.usize(1..=rest.len())));
            }
            let mut joined = BufMut::zeroed(0);
            pieces.into_iter().for_each(|piece| joined.append(piece));
            assert_eq!(
                joined.as_slice().expect("one span again"),
                (0..length).map(|i| i as u8).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_rope_of_alternate_chunks_splits_and_restores() {
        // Two members of a stripe: even chunks to one, odd chunks to the other, and back.
        let mut host = numbered(64);
        let (mut even, mut odd) = (BufMut::zeroed(0), BufMut::zeroed(0));
        for chunk in 0..8 {
            let piece = host.split_to(8);
            if chunk % 2 == 0 { even.append(piece) } else { odd.append(piece) }
        }
        assert_eq!(even.slices().count(), 4);
        assert_eq!(&bytes(&odd)[..8], &[8, 9, 10, 11, 12, 13, 14, 15]);
        even.slices_mut().for_each(|slice| slice[0] = 0xff);
        let mut back = BufMut::zeroed(0);
        for chunk in 0..8 {
            back.append(if chunk % 2 == 0 { even.split_to(8) } else { odd.split_to(8) });
        }
        let all = back.as_slice().expect("one span again");
        assert!((0..64).all(|i| all[i] == if i % 16 == 0 { 0xff } else { i as u8 }));
        assert!(even.is_empty() && odd.is_empty());
    }

    #[test]
    fn a_frozen_buffer_thaws_only_when_alone() {
        let buf = numbered(16).freeze();
        let clone = buf.clone();
        let buf = buf.try_mut().expect_err("a clone is alive");
        drop(clone);
        let mut thawed = buf.try_mut().expect("alone");
        thawed.fill(3);
        assert_eq!(bytes(&thawed), [3; 16]);
        let mut rest = thawed;
        let front = rest.split_to(4).freeze();
        assert!(front.try_mut().is_err(), "the other part of the allocation is alive");
    }

    #[test]
    fn clones_share_bytes_and_slices_see_them() {
        let mut buf = numbered(32).freeze();
        let mut rope = buf.split_to(8);
        let _gap = buf.split_to(8);
        rope.append(buf.clone());
        assert_eq!(rope.slices().map(<[u8]>::len).collect::<Vec<_>>(), [8, 16]);
        let mut out = [0; 24];
        rope.clone().copy_to_slice(&mut out);
        assert_eq!((out[7], out[8]), (7, 16));
        let mut rest = rope;
        assert_eq!(rest.split_to(0).len(), 0);
        assert_eq!(rest.split_to(24).len(), 24);
        assert!(rest.is_empty());
    }

    #[test]
    fn filled_on_another_thread() {
        let mut rest = numbered(4096);
        let front = rest.split_to(2048);
        let handle = std::thread::spawn(move || {
            let mut front = front;
            front.fill(9);
            front
        });
        rest.fill(1);
        let mut front = handle.join().unwrap();
        front.append(rest);
        let all = front.as_slice().unwrap();
        assert_eq!((all[2047], all[2048]), (9, 1));
    }
}

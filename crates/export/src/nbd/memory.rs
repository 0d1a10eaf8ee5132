//! Memory of a worker: buffers that are used again, and how much each connection may have.

use block::BufMut;

/// Buffers that wait to be used again, at most this many bytes.
const POOL_MAX_BYTES: usize = 16 << 20;
/// What a connection may always have, in bytes: enough to go on while others hold all the rest.
pub(super) const BASE_BYTES: u64 = 1 << 20;

/// Buffers by size.
///
/// ```text
///  4096 - head   head  data, at a 4 KiB boundary
/// |............|======|==========================|   one piece: a reply goes out as it lies there
/// ```
#[derive(Default)]
pub(super) struct Pool {
    kinds: Vec<Kind>,
    bytes: usize,
}

struct Kind {
    head: usize,
    length: usize,
    buffers: Vec<BufMut>,
}

impl Pool {
    /// A buffer of `head + length` bytes, of which the last `length` suit direct I/O.
    pub(super) fn take(&mut self, head: usize, length: usize) -> BufMut {
        let kind = self.kinds.iter_mut().find(|kind| (kind.head, kind.length) == (head, length));
        if let Some(buffer) = kind.and_then(|kind| kind.buffers.pop()) {
            self.bytes -= head + length;
            return buffer;
        }
        if head == 0 {
            return BufMut::zeroed(length);
        }
        let mut buffer = BufMut::zeroed(reactor::ALIGNMENT_BYTES + length);
        drop(buffer.split_to(reactor::ALIGNMENT_BYTES - head));
        buffer
    }

    /// Takes back what [`Pool::take`] gave.
    pub(super) fn give_back(&mut self, head: usize, buffer: BufMut) {
        let length = buffer.len() - head;
        if buffer.len() > POOL_MAX_BYTES / 4 {
            return;
        }
        if self.bytes + buffer.len() > POOL_MAX_BYTES {
            // Sizes that are not asked for any more make way; there are enough of those that are.
            self.kinds.retain(|kind| (kind.head, kind.length) == (head, length));
            self.bytes = self
                .kinds
                .iter()
                .map(|kind| kind.buffers.iter().map(BufMut::len).sum::<usize>())
                .sum();
        }
        if self.bytes + buffer.len() > POOL_MAX_BYTES {
            return;
        }
        self.bytes += buffer.len();
        match self.kinds.iter_mut().find(|kind| (kind.head, kind.length) == (head, length)) {
            Some(kind) => kind.buffers.push(buffer),
            None => self.kinds.push(Kind { head, length, buffers: vec![buffer] }),
        }
    }
}

/// How much memory a worker's connections hold for requests and replies.
#[derive(Debug)]
pub(super) struct Budget {
    total_bytes: u64,
    each_bytes: u64,
    held_bytes: u64,
}

impl Budget {
    pub(super) fn new(total_bytes: u64, each_bytes: u64) -> Budget {
        Budget { total_bytes, each_bytes, held_bytes: 0 }
    }

    /// Whether a connection that has `own` bytes may have `more`, and if so notes them. A
    /// connection without any may have what one request needs, up to its own limit, as long as all
    /// together stay within theirs; and up to
    /// [`BASE_BYTES`] always.
    pub(super) fn take(&mut self, own: &mut u64, more: u64) -> Grant {
        if *own > 0 && *own + more > self.each_bytes {
            return Grant::OwnLimit;
        }
        if *own + more > BASE_BYTES && self.held_bytes + more > self.total_bytes {
            return Grant::TotalLimit;
        }
        *own += more;
        self.held_bytes += more;
        Grant::Granted
    }

    pub(super) fn give_back(&mut self, own: &mut u64, bytes: u64) {
        *own -= bytes;
        self.held_bytes -= bytes;
    }
}

/// An answer of [`Budget::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    Granted,
    /// The connection has to wait for its own requests.
    OwnLimit,
    /// The connection has to wait for memory of any.
    TotalLimit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_and_lies_as_direct_io_needs_it() {
        let mut pool = Pool::default();
        for head in [0, 16, 28] {
            let buffer = pool.take(head, 8192);
            let bytes = buffer.as_slice().expect("one piece");
            assert_eq!(bytes.len(), head + 8192);
            let address = bytes.as_ptr().addr();
            assert!((address + head).is_multiple_of(reactor::ALIGNMENT_BYTES));
            pool.give_back(head, buffer);
            assert_eq!(
                pool.take(head, 8192).as_slice().expect("one piece").as_ptr().addr(),
                address
            );
        }
        assert_eq!(pool.bytes, 0);
        for _ in 0..100 {
            pool.give_back(0, BufMut::zeroed(1 << 20));
        }
        assert!(pool.bytes <= POOL_MAX_BYTES, "{}", pool.bytes);
    }

    #[test]
    fn a_buffer_too_large_to_be_kept_leaves_the_others_where_they_are() {
        let mut pool = Pool::default();
        let small: Vec<BufMut> = (0..POOL_MAX_BYTES / 4096).map(|_| pool.take(0, 4096)).collect();
        small.into_iter().for_each(|buffer| pool.give_back(0, buffer));
        let full = pool.bytes;
        assert!(full > POOL_MAX_BYTES - 8192, "{full}");
        pool.give_back(28, BufMut::zeroed(28 + (32 << 20)));
        assert_eq!(pool.bytes, full);
        // Nor does one that would be kept, if there were room, empty it of its like.
        pool.give_back(0, BufMut::zeroed(4096));
        assert_eq!(pool.bytes, full);
        // Another kind is what is asked for now.
        pool.give_back(0, BufMut::zeroed(1 << 20));
        assert_eq!(pool.bytes, 1 << 20);
    }

    #[test]
    fn nobody_starves_and_nothing_grows_without_bound() {
        let mut budget = Budget::new(8 << 20, 4 << 20);
        let (mut greedy, mut second, mut modest) = (0, 0, 0);
        assert_eq!(budget.take(&mut greedy, 32 << 20), Grant::TotalLimit);
        assert_eq!(budget.take(&mut greedy, 3 << 20), Grant::Granted);
        assert_eq!(budget.take(&mut greedy, 2 << 20), Grant::OwnLimit);
        assert_eq!(budget.take(&mut second, 4 << 20), Grant::Granted);
        assert_eq!(budget.take(&mut modest, 2 << 20), Grant::TotalLimit);
        // However much the others have.
        for _ in 0..4 {
            assert_eq!(budget.take(&mut modest, BASE_BYTES / 4), Grant::Granted);
        }
        assert_eq!(budget.take(&mut modest, 1), Grant::TotalLimit);
        budget.give_back(&mut second, 4 << 20);
        assert_eq!(budget.take(&mut modest, 2 << 20), Grant::Granted);
        assert_eq!(budget.held_bytes, greedy + second + modest);
    }
}

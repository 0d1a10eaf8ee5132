//! The buffers of a replay, whose requests are of all sizes: a store of them for each power of two,
//! so that only as much is allocated as was ever in flight at a time.

use block::{Buf, BufMut, Reactor};

use crate::load::prepare;

/// Buffers by the binary logarithm of their size.
#[derive(Default)]
pub(super) struct Store {
    free: Vec<Vec<BufMut>>,
    made: u64,
}

impl Store {
    /// A buffer of this length, and what is left of it, which goes back with it.
    pub(super) fn take(&mut self, length: u32, reactor: &Reactor) -> (BufMut, Option<BufMut>) {
        let class = length.next_power_of_two().trailing_zeros() as usize;
        let kept = self.free.get_mut(class).and_then(Vec::pop);
        let mut whole = kept.unwrap_or_else(|| {
            let mut made = reactor.allocate(1 << class);
            // What is written must not be easy to compress, and must not look like data that name
            // their place.
            prepare(&mut made, self.made);
            self.made += 1;
            made
        });
        let length = length as usize;
        if whole.len() == length {
            return (whole, None);
        }
        let front = whole.split_to(length);
        (front, Some(whole))
    }

    /// Takes a buffer back.
    pub(super) fn give_back(&mut self, mut front: BufMut, rest: Option<BufMut>) {
        if let Some(rest) = rest {
            front.append(rest);
        }
        let class = front.len().trailing_zeros() as usize;
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        self.free[class].push(front);
    }

    /// Takes one back that was written from. Where a layer below holds on to it, it is that one's.
    pub(super) fn give_back_written(&mut self, front: Buf, rest: Option<BufMut>) {
        let whole = match rest {
            Some(rest) => {
                let mut front = front;
                front.append(rest.freeze());
                front
            }
            None => front,
        };
        if let Ok(whole) = whole.try_mut() {
            self.give_back(whole, None);
        }
    }
}

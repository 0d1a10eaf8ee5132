//! The memory of one request and its answer.
//!
//! ```text
//!  0          4016                 4096
//!  | unused   | head of a request  | data: aligned for direct I/O
//!  | unused              | head of | data of the answer
//!                      4080  an answer
//! ```
//!
//! The kernel writes head and data of a request in one go, and the data of a write come to lie on a
//! page boundary. An answer goes back in one go too: its head stands right before its data,
//! wherever these begin. So nothing is copied here.

use reactor::{Buf, BufMut};

use super::protocol::{ANSWER_HEAD_BYTES, WRITE_HEAD_BYTES};

/// Where the data begin.
const DATA: usize = 4096;
/// Where a request begins.
const REQUEST: usize = DATA - WRITE_HEAD_BYTES;

/// One request's memory.
pub(crate) struct Frame {
    /// Room for data, in bytes.
    room: usize,
    state: State,
}

enum State {
    Whole(BufMut),
    /// A part is lent out; what lies before and behind it.
    Lent(BufMut, BufMut),
    /// Lent out for reading.
    Frozen(Buf),
    /// Between two states.
    Nothing,
}

impl Frame {
    /// Room for requests and answers with at most `room` bytes of data.
    pub(crate) fn new(room: usize) -> Frame {
        Frame { room, state: State::Whole(BufMut::zeroed(DATA + room)) }
    }

    fn take_whole(&mut self) -> BufMut {
        match std::mem::replace(&mut self.state, State::Nothing) {
            State::Whole(whole) => whole,
            // The layers below have let go of the bytes by now; one that keeps a copy longer
            // costs an allocation.
            State::Frozen(buf) => {
                buf.try_mut().unwrap_or_else(|_| BufMut::zeroed(DATA + self.room))
            }
            State::Lent(..) | State::Nothing => {
                panic!("what is lent out of a frame comes back first")
            }
        }
    }

    fn lend(&mut self, start: usize, length: usize) -> BufMut {
        let mut front = self.take_whole();
        let mut part = front.split_to(start);
        std::mem::swap(&mut front, &mut part);
        let mut tail = part;
        let part = tail.split_to(length);
        self.state = State::Lent(front, tail);
        part
    }

    /// What the next request is read into.
    pub(super) fn lend_request(&mut self) -> BufMut {
        self.lend(REQUEST, DATA + self.room - REQUEST)
    }

    /// The first `length` bytes of data, for a read to fill.
    pub(crate) fn lend_data(&mut self, length: usize) -> BufMut {
        self.lend(DATA, length)
    }

    /// Takes back what was lent.
    pub(crate) fn give_back(&mut self, part: BufMut) {
        let State::Lent(mut front, tail) = std::mem::replace(&mut self.state, State::Nothing)
        else {
            panic!("only what was lent comes back");
        };
        front.append(part);
        front.append(tail);
        self.state = match front.as_slice() {
            Some(_) => State::Whole(front),
            // A layer handed other memory back.
            None => State::Whole(gathered(&front)),
        };
    }

    /// The first `length` bytes of data, for a write to read.
    pub(crate) fn share_data(&mut self, length: usize) -> Buf {
        let whole = self.take_whole().freeze();
        let shared = part(&whole, DATA, length);
        self.state = State::Frozen(whole);
        shared
    }

    /// Head and data of the request whose first `length` bytes have come.
    pub(super) fn request(&self, length: usize) -> &[u8] {
        &self.bytes()[REQUEST..REQUEST + length]
    }

    /// The first `length` bytes of data.
    pub(super) fn data(&self, length: usize) -> &[u8] {
        &self.bytes()[DATA..DATA + length]
    }

    fn bytes(&self) -> &[u8] {
        match &self.state {
            State::Whole(whole) => whole.as_slice(),
            State::Frozen(whole) => whole.as_slice(),
            State::Lent(..) | State::Nothing => None,
        }
        .expect("a frame that is not lent out lies in one piece")
    }

    /// An answer with this body.
    pub(super) fn answer(&mut self, head: [u8; ANSWER_HEAD_BYTES], body: &[u8]) -> Buf {
        let mut whole = self.take_whole();
        let bytes = whole.as_mut_slice().expect("a whole frame lies in one piece");
        bytes[DATA..DATA + body.len()].copy_from_slice(body);
        self.state = State::Whole(whole);
        self.answer_data(head, 0, body.len())
    }

    /// An answer with `length` bytes of data from `skip` on.
    pub(super) fn answer_data(
        &mut self,
        head: [u8; ANSWER_HEAD_BYTES],
        skip: usize,
        length: usize,
    ) -> Buf {
        let start = DATA + skip - ANSWER_HEAD_BYTES;
        let mut whole = self.take_whole();
        let bytes = whole.as_mut_slice().expect("a whole frame lies in one piece");
        bytes[start..start + ANSWER_HEAD_BYTES].copy_from_slice(&head);
        let whole = whole.freeze();
        let answer = part(&whole, start, ANSWER_HEAD_BYTES + length);
        self.state = State::Frozen(whole);
        answer
    }
}

fn part(whole: &Buf, start: usize, length: usize) -> Buf {
    let mut rest = whole.clone();
    let _before = rest.split_to(start);
    rest.split_to(length)
}

fn gathered(rope: &BufMut) -> BufMut {
    let mut whole = BufMut::zeroed(rope.len());
    let target = whole.as_mut_slice().expect("a new buffer lies in one piece");
    rope.copy_to_slice(target);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_a_write_lie_on_a_page_and_come_back_as_they_were() {
        let mut frame = Frame::new(8192);
        let mut request = frame.lend_request();
        assert_eq!(request.len(), WRITE_HEAD_BYTES + 8192);
        request.as_mut_slice().unwrap()[WRITE_HEAD_BYTES..][..3].copy_from_slice(b"abc");
        frame.give_back(request);
        assert_eq!(&frame.request(83)[80..], b"abc");
        let data = frame.share_data(512);
        let slice = data.as_slice().unwrap();
        assert!(slice.as_ptr().addr().is_multiple_of(4096) && slice.starts_with(b"abc"));
        drop(data);
        let answer = frame.answer([1; 16], b"done");
        assert_eq!(answer.as_slice().unwrap(), [&[1; 16][..], b"done"].concat());
    }

    #[test]
    fn the_head_of_an_answer_stands_right_before_its_data() {
        for skip in [0, 1, 16, 511] {
            let mut frame = Frame::new(8192);
            let mut data = frame.lend_data(1024);
            data.as_mut_slice().unwrap()[skip..skip + 2].copy_from_slice(b"xy");
            frame.give_back(data);
            let answer = frame.answer_data([7; 16], skip, 2);
            assert_eq!(answer.as_slice().unwrap(), [&[7; 16][..], b"xy"].concat());
        }
    }

    #[test]
    fn a_layer_that_keeps_or_replaces_memory_spoils_nothing() {
        let mut frame = Frame::new(4096);
        let kept = frame.share_data(512);
        let answer = frame.answer([2; 16], &[]);
        assert_eq!(answer.len(), 16);
        assert_eq!(kept.as_slice().unwrap(), [0; 512], "what is still shared does not change");
        drop(answer);
        let lent = frame.lend_data(512);
        let mut other = BufMut::zeroed(512);
        other.fill(9);
        frame.give_back(other);
        drop(lent);
        assert_eq!(frame.data(512), [9; 512]);
    }
}

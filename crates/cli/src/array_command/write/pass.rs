//! One pass over an image and its target, in order: to write, or to read back and compare.
//!
//! ```text
//!   image ──read ahead──> queue of pieces ──in order──> target: write, clear, or read and compare
//! ```

use std::collections::VecDeque;

use block::{
    BufMut, Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Info, Op, Reactor,
    Request, ReturnedBuffer,
};

use super::image::Piece;
use crate::catalogue::{self, statement};

/// Pieces under way at a time.
const DEPTH: u32 = 8;

/// What is done with the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Write,
    Compare,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassEnd {
    /// Bytes of whole pieces that are done, from the start of the image on.
    pub(super) bytes: u64,
    /// Whether it was told to stop before the end.
    pub(super) stopped: bool,
}

enum State {
    Reading,
    /// The image's bytes, or nothing for a hole.
    Ready(Option<BufMut>),
    /// The target works on it; what it is compared with stays here.
    Sent(Option<BufMut>),
    Done,
}

struct Slot {
    piece: Piece,
    state: State,
}

/// The image and the target, opened side by side.
pub(super) struct Pass<'a> {
    reactor: &'a Reactor,
    image: Option<Box<dyn Channel>>,
    target: Box<dyn Channel>,
    info: Info,
    /// Waiting slots; the first has this number.
    queue: VecDeque<Slot>,
    first: u64,
    buffers: Vec<BufMut>,
    done: Vec<Completion>,
}

impl<'a> Pass<'a> {
    /// Opens both; an image that is shorter than a block is none.
    ///
    /// # Errors
    /// Those of [`Device::open`].
    pub(super) fn open(
        image: Option<&dyn Device>,
        target: &dyn Device,
        reactor: &'a Reactor,
    ) -> Result<Pass<'a>, Error> {
        Ok(Pass {
            reactor,
            image: image.map(|image| image.open(DEPTH, reactor)).transpose()?,
            target: target.open(DEPTH, reactor)?,
            info: target.info().clone(),
            queue: VecDeque::new(),
            first: 0,
            buffers: Vec::new(),
            done: Vec::new(),
        })
    }

    /// Goes over the pieces. `go_on` is told how many bytes are done and says whether to go on.
    ///
    /// # Errors
    /// What image or target answered; [`ErrorKind::Other`] with the place when they differ.
    pub(super) fn run(
        &mut self,
        work: Work,
        pieces: &[Piece],
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<PassEnd, Error> {
        let mut pieces = pieces.iter();
        let mut ended = PassEnd { bytes: 0, stopped: false };
        let mut failure = None;
        loop {
            while !ended.stopped
                && failure.is_none()
                && self.queue.len() < DEPTH as usize
                && let Some(piece) = pieces.next()
            {
                self.begin(piece.clone());
            }
            self.send(work, failure.is_some());
            let moved = self.poll(work, &mut failure);
            while let Some(Slot { state: State::Done, .. }) = self.queue.front() {
                let slot = self.queue.pop_front().expect("it is there");
                self.first += 1;
                ended.bytes += if failure.is_none() { slot.piece.length() } else { 0 };
            }
            if self.queue.is_empty() && (failure.is_some() || ended.stopped || pieces.len() == 0) {
                return failure.map_or(Ok(ended), Err);
            }
            if !ended.stopped && !go_on(ended.bytes) {
                ended.stopped = true;
            }
            if !moved {
                self.reactor
                    .wait(None)
                    .map_err(|error| Error::from_io(catalogue::WAITING_FOR_BOTH, error))?;
            }
        }
    }

    /// Starts reading a piece of the image; a hole needs no reading.
    fn begin(&mut self, piece: Piece) {
        let number = self.first + self.queue.len() as u64;
        let state = match &mut self.image {
            Some(image) if !piece.hole => {
                let into = buffer(&mut self.buffers, piece.length());
                image.submit(Request::new(number, Op::Read { offset: piece.range.start, into }));
                State::Reading
            }
            _ => State::Ready(None),
        };
        self.queue.push_back(Slot { piece, state });
    }

    /// Gives the target what is ready, in order, or gives it up.
    fn send(&mut self, work: Work, give_up: bool) {
        for (slot, number) in self.queue.iter_mut().zip(self.first..) {
            match &mut slot.state {
                State::Reading => return,
                State::Sent(_) | State::Done => (),
                State::Ready(_) if give_up => slot.state = State::Done,
                State::Ready(bytes) => {
                    let (bytes, offset, length) =
                        (bytes.take(), slot.piece.range.start, slot.piece.length());
                    let (op, kept) = match (work, bytes) {
                        (Work::Compare, bytes) => {
                            (Op::Read { offset, into: buffer(&mut self.buffers, length) }, bytes)
                        }
                        (Work::Write, Some(bytes)) => {
                            (Op::Write { offset, from: bytes.freeze(), fua: false }, None)
                        }
                        (Work::Write, None) if self.info.discard == DiscardSupport::ReadsZero => {
                            (Op::Discard { offset, length }, None)
                        }
                        (Work::Write, None) => {
                            (Op::WriteZeroes { offset, length, fua: false }, None)
                        }
                    };
                    slot.state = State::Sent(kept);
                    self.target.submit(Request::new(number, op));
                }
            }
        }
    }

    /// Takes what has ended on both sides; whether anything has.
    fn poll(&mut self, work: Work, failure: &mut Option<Error>) -> bool {
        let mut done = std::mem::take(&mut self.done);
        if let Some(image) = &mut self.image {
            image.poll(&mut done);
        }
        let from_image = done.len();
        self.target.poll(&mut done);
        let moved = !done.is_empty();
        for (index, completion) in done.drain(..).enumerate() {
            let slot = &mut self.queue[(completion.tag - self.first) as usize];
            let place = || statement!(AT_OF_THE_IMAGE, offset = slot.piece.range.start);
            let before = std::mem::replace(&mut slot.state, State::Done);
            let error = match (completion.result, completion.buffer) {
                (Err(error), _) => Some(error.at(place())),
                (Ok(()), ReturnedBuffer::Read(bytes)) if index < from_image => {
                    slot.state = State::Ready(Some(bytes));
                    None
                }
                (Ok(()), ReturnedBuffer::Read(found)) => {
                    debug_assert_eq!(work, Work::Compare);
                    let State::Sent(expected) = before else {
                        unreachable!("the target has what was sent")
                    };
                    let wrong = difference(&found, expected.as_ref()).map(|at| {
                        let byte = slot.piece.range.start + at;
                        let text = statement!(TARGET_DIFFERS, byte = byte);
                        Error::new(ErrorKind::Other, text)
                    });
                    self.buffers.push(found);
                    self.buffers.extend(expected);
                    wrong
                }
                (Ok(()), ReturnedBuffer::Written(bytes)) => {
                    self.buffers.extend(bytes.try_mut().ok());
                    None
                }
                (Ok(()), ReturnedBuffer::Nothing) => None,
            };
            if failure.is_none() {
                *failure = error;
            }
        }
        self.done = done;
        moved
    }
}

/// A buffer of exactly this length: one that was used before, where there is one.
fn buffer(used: &mut Vec<BufMut>, length: u64) -> BufMut {
    let fits = used.iter().position(|buffer| buffer.len() as u64 == length);
    // More than are ever under way is more than will be needed again.
    used.truncate(2 * DEPTH as usize);
    match fits.filter(|index| *index < used.len()) {
        Some(index) => used.swap_remove(index),
        None => BufMut::zeroed(length as usize),
    }
}

/// Where `found` first differs from `expected`; nothing expected means zeroes.
fn difference(found: &BufMut, expected: Option<&BufMut>) -> Option<u64> {
    let mut at = 0;
    let mut rest: Vec<&[u8]> = expected.iter().flat_map(|expected| expected.slices()).collect();
    rest.reverse();
    for mut slice in found.slices() {
        while !slice.is_empty() {
            let (length, first) = match rest.pop() {
                Some(other) => {
                    let length = slice.len().min(other.len());
                    if other.len() > length {
                        rest.push(&other[length..]);
                    }
                    let differs = slice[..length] != other[..length];
                    (
                        length,
                        differs
                            .then(|| slice.iter().zip(other).position(|(a, b)| a != b))
                            .flatten(),
                    )
                }
                None => (slice.len(), slice.iter().position(|byte| *byte != 0)),
            };
            if let Some(first) = first {
                return Some(at + first as u64);
            }
            at += length as u64;
            slice = &slice[length..];
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use device::RamDevice;

    use super::super::image::{Cut, pieces};
    use super::*;

    fn memory(bytes: &[u8]) -> Arc<dyn Device> {
        let device: Arc<dyn Device> =
            Arc::new(RamDevice::new(bytes.len() as u64, 512).expect("memory"));
        let reactor = Reactor::wall().expect("a reactor");
        block::Blocking::open(&*device, &reactor)
            .and_then(|mut channel| channel.write_slice(0, bytes))
            .expect("a write");
        device
    }

    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        reactor::Random::with_seed(seed).fill(&mut bytes);
        bytes
    }

    const CUT: Cut = Cut { block: 512, data: 64 << 10, hole: 128 << 10 };

    #[test]
    fn holes_become_zeroes_and_data_arrive_in_order_and_are_found_again() {
        let size = 3 << 20;
        let mut content = noise(1, size);
        // What is said to be a hole is not read: it is not zero in this image, and will be on the
        // target.
        let (image, target) = (memory(&content), memory(&noise(2, size)));
        content[1 << 20..2 << 20].fill(0);
        let data = [0..1 << 20, 2 << 20..3 << 20];
        let list = pieces(&data, size as u64, CUT);
        let reactor = Reactor::wall().expect("a reactor");
        let mut pass = Pass::open(Some(&*image), &*target, &reactor).expect("a pass");
        let mut told = Vec::new();
        let mut go_on = |bytes: u64| {
            told.push(bytes);
            true
        };
        let all = PassEnd { bytes: size as u64, stopped: false };
        assert_eq!(pass.run(Work::Write, &list, &mut go_on).expect("a pass"), all);
        assert_eq!(pass.run(Work::Compare, &list, &mut |_| true).expect("equal"), all);
        assert!(told.is_sorted() && told.len() > 2, "{told:?}");
        drop(pass);
        let mut found = vec![1; size];
        block::Blocking::open(&*target, &reactor)
            .and_then(|mut channel| channel.read_slice(0, &mut found))
            .expect("a read");
        assert!(found == content);
    }

    #[test]
    fn a_byte_that_differs_is_named() {
        let size = 1 << 20;
        let content = noise(3, size);
        for at in [0, 70_001, size - 1] {
            let mut other = content.clone();
            other[at] ^= 1;
            let (image, target) = (memory(&content), memory(&other));
            let reactor = Reactor::wall().expect("a reactor");
            let mut pass = Pass::open(Some(&*image), &*target, &reactor).expect("a pass");
            let list = pieces(std::slice::from_ref(&(0..size as u64)), size as u64, CUT);
            let error = pass.run(Work::Compare, &list, &mut |_| true).expect_err("they differ");
            assert!(error.to_string().contains(&format!("at byte {at}")), "{error}");
        }
        // A hole of the image that is not zero on the target.
        let target = memory(&content);
        let reactor = Reactor::wall().expect("a reactor");
        let mut pass = Pass::open(None, &*target, &reactor).expect("a pass");
        assert!(pass.run(Work::Compare, &pieces(&[], size as u64, CUT), &mut |_| true).is_err());
    }

    #[test]
    fn a_pass_that_is_stopped_ends_what_it_began() {
        let size = 4 << 20;
        let content = noise(4, size);
        let (image, target) = (memory(&content), memory(&vec![0; size]));
        let reactor = Reactor::wall().expect("a reactor");
        let mut pass = Pass::open(Some(&*image), &*target, &reactor).expect("a pass");
        let list = pieces(std::slice::from_ref(&(0..size as u64)), size as u64, CUT);
        let ended = pass.run(Work::Write, &list, &mut |bytes| bytes < 1 << 20).expect("a pass");
        assert!(ended.stopped && ended.bytes >= 1 << 20 && ended.bytes < size as u64, "{ended:?}");
        let written: Vec<_> =
            list.iter().take_while(|piece| piece.range.end <= ended.bytes).cloned().collect();
        assert_eq!(
            pass.run(Work::Compare, &written, &mut |_| true).expect("equal").bytes,
            ended.bytes
        );
    }
}

//! Requests cut into what lies one behind the other, and put together again.
//!
//! ```text
//!   read ──> pieces by the map ──┬─ zero: filled at once
//!                                ├─ in the file, in the backing disk: a read of that part of the buffer
//!                                └─ packed: a read of the packed bytes, unpacked when they have come
//! ```

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use block::{
    BufMut, Channel, Completion, Device, Error, Op, Reactor, Request, ReturnedBuffer, Slots,
};

use crate::image_core::Core;
use crate::map::Place;

/// Clusters that were unpacked last are kept, so many of them.
const KEPT_MAX: usize = 8;
/// What a channel below is opened for at least.
const DEPTH_MIN: u32 = 16;

pub(crate) struct ImageChannel {
    core: Arc<Core>,
    file: Queue,
    backing: Option<Queue>,
    requests: Slots<Reading>,
    pieces: Slots<Piece>,
    kept: VecDeque<(u64, Arc<[u8]>)>,
    done: Vec<Completion>,
    answered: Vec<Completion>,
    in_flight: u32,
}

/// A channel below that never has more requests than it was opened for.
struct Queue {
    channel: Box<dyn Channel>,
    depth: u32,
    sent: u32,
    waiting: VecDeque<Request>,
}

impl Queue {
    fn open(device: &dyn Device, depth: u32, reactor: &Reactor) -> Result<Queue, Error> {
        let channel = device.open(depth, reactor)?;
        Ok(Queue { channel, depth, sent: 0, waiting: VecDeque::new() })
    }

    fn send(&mut self, request: Request) {
        self.waiting.push_back(request);
        self.go_on();
    }

    fn go_on(&mut self) {
        while self.sent < self.depth
            && let Some(request) = self.waiting.pop_front()
        {
            self.sent += 1;
            self.channel.submit(request);
        }
    }

    fn poll(&mut self, answered: &mut Vec<Completion>) {
        let before = answered.len();
        self.channel.poll(answered);
        self.sent -= (answered.len() - before) as u32;
        self.go_on();
    }
}

/// A read that has pieces under way.
struct Reading {
    tag: u64,
    /// Its buffer, in parts that are there again or under way.
    parts: Vec<Option<BufMut>>,
    left: usize,
    failure: Option<Error>,
}

struct Piece {
    request: u32,
    part: usize,
    /// Where a packed cluster begins, what of it is wanted, and the part of the buffer to fill.
    packed: Option<(u64, usize, BufMut)>,
}

impl ImageChannel {
    pub(crate) fn open(
        core: &Arc<Core>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<ImageChannel, Error> {
        let below = depth.max(DEPTH_MIN);
        let backing = core.backing.as_ref().map(|backing| Queue::open(&**backing, below, reactor));
        Ok(ImageChannel {
            file: Queue::open(&*core.file, below, reactor)?,
            backing: backing.transpose()?,
            core: Arc::clone(core),
            requests: Slots::with_capacity(depth.min(1024) as usize),
            pieces: Slots::with_capacity(below as usize),
            kept: VecDeque::new(),
            done: Vec::new(),
            answered: Vec::new(),
            in_flight: 0,
        })
    }

    fn read(&mut self, tag: u64, mut offset: u64, mut rest: BufMut) {
        let core = Arc::clone(&self.core);
        let reading = Reading { tag, parts: Vec::new(), left: 1, failure: None };
        let request = self.requests.insert(reading);
        while !rest.is_empty() {
            let (place, run) = core.map.run(offset, rest.len() as u64);
            let length = match place {
                Place::Packed(_) => run,
                _ => run.min(core.piece_bytes_max),
            };
            let part = rest.split_to(length as usize);
            self.piece(request, offset, part, place);
            offset += length;
        }
        self.end_piece(request, None);
    }

    /// One piece that lies in one place.
    fn piece(&mut self, request: u32, offset: u64, mut part: BufMut, place: Place) {
        match place {
            Place::Zero => part.fill(0),
            Place::Hole => {
                let backed = self.core.backed(offset, part.len() as u64);
                let mut from = part.split_to(backed as usize);
                if let (Some(queue), false) = (&mut self.backing, from.is_empty()) {
                    let key = push(&mut self.requests, &mut self.pieces, request, None);
                    queue.send(Request::new(key, Op::Read { offset, into: from }));
                } else {
                    from.fill(0);
                }
                part.fill(0);
            }
            Place::At(at) => {
                let end = self.core.file.info().size_bytes;
                let there = end.saturating_sub(at).min(part.len() as u64);
                let from = part.split_to(there as usize);
                if !from.is_empty() {
                    let key = push(&mut self.requests, &mut self.pieces, request, None);
                    self.file.send(Request::new(key, Op::Read { offset: at, into: from }));
                }
                self.core.fill_behind(at + there, &mut part);
            }
            Place::Packed(at) => {
                let within = (offset % self.core.map.cluster_bytes) as usize;
                if let Some((_, cluster)) = self.kept.iter().find(|(kept, _)| *kept == at) {
                    part.copy_from_slice(&cluster[within..within + part.len()]);
                } else {
                    let (start, length) = self.packed_range(at);
                    let packed = Some((at, within, part));
                    let key = push(&mut self.requests, &mut self.pieces, request, packed);
                    let into = BufMut::zeroed(length as usize);
                    return self.file.send(Request::new(key, Op::Read { offset: start, into }));
                }
            }
        }
        if !part.is_empty() {
            let reading = self.requests.get_mut(request).expect("it has pieces left");
            reading.parts.push(Some(part));
        }
    }

    /// What is read for a packed cluster: whole blocks, to the file's end at most.
    fn packed_range(&self, at: u64) -> (u64, u64) {
        let info = self.core.file.info();
        let block = u64::from(info.block_bytes);
        let start = at / block * block;
        let end = at + self.core.map.cluster_bytes + Core::PACKED_SPARE_BYTES;
        let end = end.next_multiple_of(block).min(info.size_bytes);
        (start, end - start)
    }

    fn end(&mut self, completion: Completion) {
        let piece = self.pieces.remove(completion.tag as u32).expect("a piece that is under way");
        let buffer = completion.buffer.read();
        let (part, result) = match piece.packed {
            None => (buffer, completion.result),
            Some((at, within, mut part)) => {
                let result =
                    completion.result.and_then(|()| self.unpack(at, within, &buffer, &mut part));
                (part, result)
            }
        };
        let reading = self.requests.get_mut(piece.request).expect("it has pieces left");
        reading.parts[piece.part] = Some(part);
        self.end_piece(piece.request, result.err());
    }

    fn unpack(
        &mut self,
        at: u64,
        within: usize,
        packed: &BufMut,
        part: &mut BufMut,
    ) -> Result<(), Error> {
        let mut cluster = vec![0; self.core.map.cluster_bytes as usize];
        let (start, _) = self.packed_range(at);
        let bytes = packed.as_slice().expect("a buffer of our own lies in one piece");
        let bytes = &bytes[(at - start) as usize..];
        let bytes = match self.core.tail.is_empty() {
            true => Cow::Borrowed(bytes),
            false => Cow::Owned([bytes, &self.core.tail].concat()),
        };
        self.core.packing.unpack(&bytes, &mut cluster)?;
        part.copy_from_slice(&cluster[within..within + part.len()]);
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((at, cluster.into()));
        Ok(())
    }

    fn end_piece(&mut self, request: u32, failure: Option<Error>) {
        let reading = self.requests.get_mut(request).expect("it has pieces left");
        reading.failure = reading.failure.take().or(failure);
        reading.left -= 1;
        if reading.left > 0 {
            return;
        }
        let reading = self.requests.remove(request).expect("it was there");
        let mut buffer = BufMut::zeroed(0);
        reading.parts.into_iter().flatten().for_each(|part| buffer.append(part));
        let result = reading.failure.map_or(Ok(()), |error| Err(error.at("image")));
        let buffer = ReturnedBuffer::Read(buffer);
        self.done.push(Completion { tag: reading.tag, buffer, result });
    }
}

/// Notes a piece that goes below; the answer is the tag that it goes under.
fn push(
    requests: &mut Slots<Reading>,
    pieces: &mut Slots<Piece>,
    request: u32,
    packed: Option<(u64, usize, BufMut)>,
) -> u64 {
    let reading = requests.get_mut(request).expect("it has pieces left");
    reading.left += 1;
    reading.parts.push(None);
    pieces.insert(Piece { request, part: reading.parts.len() - 1, packed }).into()
}

impl Channel for ImageChannel {
    fn submit(&mut self, request: Request) {
        if let Err(error) = self.core.info.check(&request.op) {
            self.in_flight += 1;
            return self.done.push(request.complete(Err(error.at("image"))));
        }
        self.in_flight += 1;
        match request.op {
            Op::Read { offset, into } => self.read(request.tag, offset, into),
            // The check above lets nothing else pass but flushes, of which there is nothing to do.
            op => self.done.push(Request::new(request.tag, op).complete(Ok(()))),
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let mut answered = std::mem::take(&mut self.answered);
        // What waited and was sent may be answered at once: nothing would wake the owner for that.
        loop {
            self.file.poll(&mut answered);
            if let Some(backing) = &mut self.backing {
                backing.poll(&mut answered);
            }
            if answered.is_empty() {
                break;
            }
            answered.drain(..).for_each(|completion| self.end(completion));
        }
        self.answered = answered;
        self.in_flight -= self.done.len() as u32;
        done.append(&mut self.done);
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

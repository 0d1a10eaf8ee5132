//! Requests cut into what lies one behind the other, and put together again.
//!
//! ```text
//!   read ──> pieces by the map ──┬─ zero: filled at once
//!                                ├─ in the file, in the backing disk: a read of that part of the buffer
//!                                └─ packed: a read of the packed bytes, unpacked when they have come
//! ```
//!
//! What is written is in `changes`, how it becomes durable in `commit`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use block::{
    BufMut, Channel, Completion, Error, ErrorKind, Op, QueuedChannel, Reactor, Request,
    ReturnedBuffer, Slots, Waiter,
};
use reactor::WakeReason;

use crate::changes::{Change, ClusterWrite};
use crate::commit::Commit;
use crate::image_core::{Claimed, ClusterClaim, Core};
use crate::map::Place;

/// Clusters that were unpacked last are kept, so many of them.
const KEPT_MAX: usize = 8;
/// What a channel below is opened for at least.
const DEPTH_MIN: u32 = 16;

pub(crate) struct ImageChannel {
    pub(crate) core: Arc<Core>,
    pub(crate) reactor: Reactor,
    pub(crate) file: QueuedChannel,
    backing: Option<QueuedChannel>,
    waiter: Arc<Waiter>,
    pub(crate) requests: Slots<Running>,
    /// Commands below carry the key of their piece.
    pub(crate) pieces: Slots<Piece>,
    kept: VecDeque<(u64, Arc<[u8]>)>,
    done: Vec<Completion>,
    answered: Vec<Completion>,
    in_flight: u32,
    /// How many requests hold what they claimed.
    claims_held: u32,
}

/// A request that has pieces under way, or waits for what it claimed.
pub(crate) struct Running {
    whose: Whose,
    pub(crate) work: Work,
    pub(crate) left: usize,
    pub(crate) failure: Option<Error>,
    has_claim: bool,
}

/// Who is told of the end.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    /// The owner of the channel, by the tag.
    Owner(u64),
    /// A cluster that is written, of which this is what stands before or behind what is new.
    Cluster { piece: u32, is_behind: bool },
}

pub(crate) enum Work {
    /// Its buffer, in parts that are there again or under way.
    Read(Vec<Option<BufMut>>),
    /// What is to be done, until that is begun, and the owner's buffer.
    Change(Option<Change>, ReturnedBuffer),
    Flush(Commit),
}

pub(crate) enum Piece {
    Read {
        request: u32,
        part: usize,
        /// Where a packed cluster begins, what of it is wanted, and the part of the buffer to fill.
        packed: Option<(u64, usize, BufMut)>,
    },
    /// A command whose answer is all that it is about.
    Plain {
        request: u32,
    },
    Cluster(ClusterWrite),
}

impl ImageChannel {
    pub(crate) fn open(
        core: &Arc<Core>,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<ImageChannel, Error> {
        let below = depth.max(DEPTH_MIN);
        let backing =
            core.backing.as_ref().map(|backing| QueuedChannel::open(&**backing, below, reactor));
        Ok(ImageChannel {
            file: QueuedChannel::open(&*core.file, below, reactor)?,
            backing: backing.transpose()?,
            core: Arc::clone(core),
            reactor: reactor.clone(),
            waiter: Waiter::on(reactor, "a cluster of the image")?,
            requests: Slots::with_capacity(depth.min(1024) as usize),
            pieces: Slots::with_capacity(below as usize),
            kept: VecDeque::new(),
            done: Vec::new(),
            answered: Vec::new(),
            in_flight: 0,
            claims_held: 0,
        })
    }

    /// Notes a request, which does not end before [`ImageChannel::end_piece`] was called for it.
    pub(crate) fn start(&mut self, whose: Whose, work: Work) -> u32 {
        self.requests.insert(Running { whose, work, left: 1, failure: None, has_claim: false })
    }

    pub(crate) fn running(&mut self, request: u32) -> &mut Running {
        self.requests.get_mut(request).expect("it has pieces left")
    }

    pub(crate) fn read(&mut self, whose: Whose, mut offset: u64, mut rest: BufMut) {
        let core = Arc::clone(&self.core);
        let request = self.start(whose, Work::Read(Vec::new()));
        while !rest.is_empty() {
            let (place, run) = core.state().map.run(offset, rest.len() as u64);
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
                if from.is_empty() || self.backing.is_none() {
                    from.fill(0);
                } else {
                    let key = self.push(request, None);
                    let backing = self.backing.as_mut().expect("looked at above");
                    backing.send(Request::new(key, Op::Read { offset, into: from }));
                }
                part.fill(0);
            }
            Place::At(at) => {
                let end = self.core.file.info().size_bytes;
                let there = end.saturating_sub(at).min(part.len() as u64);
                let from = part.split_to(there as usize);
                if !from.is_empty() {
                    let key = self.push(request, None);
                    self.file.send(Request::new(key, Op::Read { offset: at, into: from }));
                }
                self.core.fill_behind(at + there, &mut part);
            }
            Place::Packed(at) => {
                let within = (offset % self.core.cluster_bytes) as usize;
                if let Some((_, cluster)) = self.kept.iter().find(|(kept, _)| *kept == at) {
                    part.copy_from_slice(&cluster[within..within + part.len()]);
                } else {
                    let (start, length) = self.packed_range(at);
                    let key = self.push(request, Some((at, within, part)));
                    let into = BufMut::zeroed(length as usize);
                    return self.file.send(Request::new(key, Op::Read { offset: start, into }));
                }
            }
        }
        if !part.is_empty() {
            self.parts(request).push(Some(part));
        }
    }

    fn parts(&mut self, request: u32) -> &mut Vec<Option<BufMut>> {
        match &mut self.running(request).work {
            Work::Read(parts) => parts,
            Work::Change(..) | Work::Flush(_) => unreachable!("only reads have parts"),
        }
    }

    /// Notes a piece of a read that goes below; the answer is the tag that it goes under.
    fn push(&mut self, request: u32, packed: Option<(u64, usize, BufMut)>) -> u64 {
        self.running(request).left += 1;
        let parts = self.parts(request);
        parts.push(None);
        let part = parts.len() - 1;
        self.pieces.insert(Piece::Read { request, part, packed }).into()
    }

    /// Sends a command to the file for a request.
    pub(crate) fn send(&mut self, request: u32, op: Op) {
        self.running(request).left += 1;
        let key = self.pieces.insert(Piece::Plain { request });
        self.file.send(Request::new(key.into(), op));
    }

    /// What is read for a packed cluster: whole blocks, to the file's end at most.
    fn packed_range(&self, at: u64) -> (u64, u64) {
        let info = self.core.file.info();
        let block = u64::from(info.block_bytes);
        let start = at / block * block;
        let end = at + self.core.cluster_bytes + Core::PACKED_SPARE_BYTES;
        let end = end.next_multiple_of(block).min(info.size_bytes);
        (start, end - start)
    }

    fn end(&mut self, Completion { tag, buffer, result }: Completion) {
        match self.pieces.remove(tag as u32).expect("a piece that is under way") {
            Piece::Plain { request } => self.end_piece(request, result.err()),
            Piece::Cluster(cluster) => self.end_cluster(&cluster, result),
            Piece::Read { request, part, packed } => {
                let buffer = buffer.read();
                let (buffer, result) = match packed {
                    None => (buffer, result),
                    Some((at, within, mut target)) => {
                        let unpacked =
                            result.and_then(|()| self.unpack(at, within, &buffer, &mut target));
                        (target, unpacked)
                    }
                };
                self.parts(request)[part] = Some(buffer);
                self.end_piece(request, result.err());
            }
        }
    }

    fn unpack(
        &mut self,
        at: u64,
        within: usize,
        packed: &BufMut,
        part: &mut BufMut,
    ) -> Result<(), Error> {
        let mut cluster = vec![0; self.core.cluster_bytes as usize];
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

    pub(crate) fn end_piece(&mut self, request: u32, failure: Option<Error>) {
        let running = self.running(request);
        running.failure = running.failure.take().or(failure);
        running.left -= 1;
        if running.left > 0 {
            return;
        }
        if let Whose::Owner(tag) = running.whose {
            block::trace::on_behalf_of(tag);
        }
        if matches!(running.work, Work::Flush(_)) && self.go_on_with_flush(request) {
            return;
        }
        self.release(request);
        let Running { whose, work, failure, .. } =
            self.requests.remove(request).expect("it was there");
        let result = failure.map_or(Ok(()), |error| Err(error.at("image")));
        let buffer = match work {
            Work::Read(parts) => {
                let mut buffer = BufMut::zeroed(0);
                parts.into_iter().flatten().for_each(|part| buffer.append(part));
                if let Whose::Cluster { piece, is_behind } = whose {
                    return self.end_around(piece, is_behind, buffer, result);
                }
                ReturnedBuffer::Read(buffer)
            }
            Work::Change(_, buffer) => buffer,
            Work::Flush(_) => ReturnedBuffer::Nothing,
        };
        if let Whose::Owner(tag) = whose {
            self.done.push(Completion { tag, buffer, result });
        }
    }

    fn me(&self) -> usize {
        Arc::as_ptr(&self.waiter).addr()
    }

    /// Claims what a request needs for itself; it is begun at once, or when it is granted that.
    pub(crate) fn claim(&mut self, request: u32, what: Claimed) {
        let claim = ClusterClaim { owner: (self.me(), request), what };
        let core = Arc::clone(&self.core);
        if core.claims().take(claim, &self.waiter, request) {
            self.granted(request);
        }
    }

    fn granted(&mut self, request: u32) {
        self.claims_held += 1;
        let running = self.running(request);
        running.has_claim = true;
        if let Whose::Owner(tag) = running.whose {
            block::trace::on_behalf_of(tag);
        }
        match &mut running.work {
            Work::Change(change, _) => {
                let change = change.take().expect("what waits was not begun");
                self.begin_change(request, change);
            }
            Work::Flush(_) => self.begin_flush(request),
            Work::Read(_) => unreachable!("reads claim nothing"),
        }
        self.end_piece(request, None);
    }

    fn release(&mut self, request: u32) {
        if std::mem::take(&mut self.running(request).has_claim) {
            self.claims_held -= 1;
            self.hand_on(request);
        }
    }

    fn hand_on(&self, request: u32) {
        let owner = (self.me(), request);
        let woken = self.core.claims().release(|claim| claim.owner == owner, &self.waiter);
        if let Some(woken) = woken {
            woken.nudge(&self.reactor);
        }
    }

    /// Takes what came from below and what was granted, and what comes of it. False when there was
    /// nothing.
    fn advance(&mut self) -> bool {
        let mut answered = std::mem::take(&mut self.answered);
        self.file.poll(&mut answered);
        if let Some(backing) = &mut self.backing {
            backing.poll(&mut answered);
        }
        let mut granted = Vec::new();
        self.waiter.take_granted(&mut granted);
        let any = !answered.is_empty() || !granted.is_empty();
        answered.drain(..).for_each(|completion| self.end(completion));
        self.answered = answered;
        granted.into_iter().for_each(|request| self.granted(request));
        any
    }
}

impl Channel for ImageChannel {
    fn submit(&mut self, request: Request) {
        self.in_flight += 1;
        if let Err(error) = self.core.info.check(&request.op) {
            return self.done.push(request.complete(Err(error.at("image"))));
        }
        let Request { tag, op } = request;
        match op {
            Op::Read { offset, into } => self.read(Whose::Owner(tag), offset, into),
            Op::Write { offset, from, .. } => {
                let buffer = ReturnedBuffer::Written(from.clone());
                self.change(tag, Change::Write { offset, from }, buffer);
            }
            Op::WriteZeroes { offset, length, .. } => {
                let change = Change::Zeroes { offset, length, gives_back: false };
                self.change(tag, change, ReturnedBuffer::Nothing);
            }
            Op::Discard { offset, length } => {
                let change = Change::Zeroes { offset, length, gives_back: true };
                self.change(tag, change, ReturnedBuffer::Nothing);
            }
            Op::Flush if self.core.info.read_only => {
                self.done.push(Request::new(tag, Op::Flush).complete(Ok(())));
            }
            Op::Flush => self.flush(tag),
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        // What waited and was sent may be answered at once: nothing would wake the owner for that.
        while self.advance() {}
        if self.done.is_empty() {
            self.file.poll_idle();
            self.backing.iter_mut().for_each(QueuedChannel::poll_idle);
        }
        self.in_flight -= self.done.len() as u32;
        done.append(&mut self.done);
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

/// What is under way could land after what others write there later, and take that back. So a
/// channel that is dropped begins nothing more, but sees that through which it has claims for.
impl Drop for ImageChannel {
    fn drop(&mut self) {
        self.core.claims().forget(&self.waiter).nudge(&self.reactor);
        let mut granted = Vec::new();
        self.waiter.take_granted(&mut granted);
        granted.into_iter().for_each(|request| self.hand_on(request));
        while self.claims_held > 0 && !std::thread::panicking() {
            let goes_on = self.advance()
                || matches!(self.reactor.wait_for_more(),
                    Ok(woken) if woken != WakeReason::Idle);
            if !goes_on {
                let text = "a write of the image's tables or clusters was never answered, and \
                    nobody knows what it holds";
                let error = Error::new(ErrorKind::TimedOut, text);
                self.core.flush_failure().get_or_insert(error);
                let held = self.requests.iter().filter(|(_, running)| running.has_claim);
                let held: Vec<u32> = held.map(|(key, _)| key).collect();
                return held.into_iter().for_each(|request| self.hand_on(request));
            }
        }
    }
}

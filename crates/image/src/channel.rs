//! Requests cut into what lies one behind the other, and put together again.
//!
//! ```text
//!   read ──> pieces by the map ──┬─ zero: filled at once
//!                                ├─ in the file, in the backing disk: a read of that part of the buffer
//!                                └─ packed: a read of the packed bytes, unpacked when they have come
//! ```
//!
//! What a write comes to, by the tables, is in `changes`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use block::{
    Buf, BufMut, Channel, Completion, DiscardSupport, Error, ErrorKind, Op, QueuedChannel, Reactor,
    Request, ReturnedBuffer, Slots, Waiter,
};
use reactor::WakeReason;

use crate::catalogue;
use crate::changes::{Change, ClusterWrite, Commit, Part};
use crate::image_core::{Claimed, ClusterClaim, Core};
use crate::map::{ClusterLocation, Entry};
use crate::packed::PACKED_SPARE_BYTES;
use crate::tables::TableWrite;

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
            waiter: Waiter::on(reactor, catalogue::CLUSTER_OF_IMAGE)?,
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
                ClusterLocation::Packed(_) => run,
                _ => run.min(core.piece_bytes_max),
            };
            let part = rest.split_to(length as usize);
            self.piece(request, offset, part, place);
            offset += length;
        }
        self.end_piece(request, None);
    }

    /// One piece that lies in one place.
    fn piece(&mut self, request: u32, offset: u64, mut part: BufMut, place: ClusterLocation) {
        match place {
            ClusterLocation::Zero => part.fill(0),
            ClusterLocation::Hole => {
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
            ClusterLocation::At(at) => {
                let end = self.core.file.info().size_bytes;
                let there = end.saturating_sub(at).min(part.len() as u64);
                let from = part.split_to(there as usize);
                if !from.is_empty() {
                    let key = self.push(request, None);
                    self.file.send(Request::new(key, Op::Read { offset: at, into: from }));
                }
                self.core.fill_behind(at + there, &mut part);
            }
            ClusterLocation::Packed(at) => {
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
        let end = at + self.core.cluster_bytes + PACKED_SPARE_BYTES;
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

impl ImageChannel {
    pub(crate) fn change(&mut self, tag: u64, change: Change, buffer: ReturnedBuffer) {
        let cluster_bytes = self.core.cluster_bytes;
        let (offset, length) = match &change {
            Change::Write { offset, from } => {
                if let Some(parts) = self.core.parts_there(*offset, from.len() as u64) {
                    return self.write_there(tag, parts, from.clone(), buffer);
                }
                (*offset, from.len() as u64)
            }
            Change::Zeroes { offset, length, .. } => (*offset, *length),
        };
        let request = self.start(Whose::Owner(tag), Work::Change(Some(change), buffer));
        let end = (offset + length).div_ceil(cluster_bytes);
        self.claim(request, Claimed::Clusters(offset / cluster_bytes, end));
    }

    /// Where all of the clusters have data nothing is claimed: who makes one of them read as zeroes
    /// meanwhile was asked at the same time.
    fn write_there(
        &mut self,
        tag: u64,
        parts: Vec<(u64, u64)>,
        mut from: Buf,
        buffer: ReturnedBuffer,
    ) {
        let request = self.start(Whose::Owner(tag), Work::Change(None, buffer));
        for (at, length) in parts {
            let from = from.split_to(length as usize);
            self.send(request, Op::Write { offset: at, from, fua: false });
        }
        self.end_piece(request, None);
    }

    pub(crate) fn begin_change(&mut self, request: u32, change: Change) {
        match change {
            Change::Write { offset, from } => self.write(request, offset, from),
            Change::Zeroes { offset, length, gives_back } => {
                self.zero(request, offset, length, gives_back);
            }
        }
    }

    fn write(&mut self, request: u32, mut offset: u64, mut from: Buf) {
        let core = Arc::clone(&self.core);
        while !from.is_empty() {
            let part = core.state_mut().next_part(&core, offset, from.len() as u64);
            let length = match part {
                Ok(Part::There { at, length }) => {
                    let from = from.split_to(length as usize);
                    self.send(request, Op::Write { offset: at, from, fua: false });
                    length
                }
                Ok(Part::Cluster { first, count, place, length }) => {
                    let new = from.split_to(length as usize);
                    self.write_clusters(request, offset, (first, count, place), new);
                    length
                }
                Err(error) => {
                    self.running(request).failure.get_or_insert(error);
                    return;
                }
            };
            offset += length;
        }
    }

    /// Reads what stands around what is new, and then writes all of the clusters.
    fn write_clusters(
        &mut self,
        request: u32,
        offset: u64,
        (first, count, place): (u64, u64, u64),
        new: Buf,
    ) {
        self.running(request).left += 1;
        let (start, end) =
            (first * self.core.cluster_bytes, (first + count) * self.core.cluster_bytes);
        let new_end = offset + new.len() as u64;
        let write = ClusterWrite {
            request,
            first,
            count,
            place,
            before: None,
            new,
            behind: None,
            missing: 1,
            failure: None,
        };
        let piece = self.pieces.insert(Piece::Cluster(write));
        let behind_end = end.min(self.core.info.size_bytes);
        for (from, to, is_behind) in [(start, offset, false), (new_end, behind_end, true)] {
            if from < to {
                self.cluster(piece).missing += 1;
                let into = BufMut::zeroed((to - from) as usize);
                self.read(Whose::Cluster { piece, is_behind }, from, into);
            }
        }
        self.send_clusters(piece);
    }

    fn cluster(&mut self, piece: u32) -> &mut ClusterWrite {
        match self.pieces.get_mut(piece) {
            Some(Piece::Cluster(write)) => write,
            _ => unreachable!("it is written when all of it is there"),
        }
    }

    /// What stands before or behind what is new was read.
    pub(crate) fn end_around(
        &mut self,
        piece: u32,
        is_behind: bool,
        buffer: BufMut,
        result: Result<(), Error>,
    ) {
        let write = self.cluster(piece);
        write.failure = write.failure.take().or(result.err());
        *if is_behind { &mut write.behind } else { &mut write.before } = Some(buffer);
        self.send_clusters(piece);
    }

    /// One thing less that the clusters wait for.
    fn send_clusters(&mut self, piece: u32) {
        let cluster_bytes = self.core.cluster_bytes;
        let write = self.cluster(piece);
        write.missing -= 1;
        if write.missing > 0 {
            return;
        }
        if let Some(error) = write.failure.take() {
            let request = write.request;
            self.pieces.remove(piece);
            return self.end_piece(request, Some(error));
        }
        let mut from = write.before.take().unwrap_or_else(|| BufMut::zeroed(0)).freeze();
        from.append(std::mem::replace(&mut write.new, BufMut::zeroed(0).freeze()));
        if let Some(behind) = write.behind.take() {
            from.append(behind.freeze());
        }
        // The disk may end within its last cluster.
        let whole = (write.count * cluster_bytes) as usize;
        if from.len() < whole {
            from.append(BufMut::zeroed(whole - from.len()).freeze());
        }
        let op = Op::Write { offset: write.place, from, fua: false };
        self.file.send(Request::new(piece.into(), op));
    }

    pub(crate) fn end_cluster(&mut self, write: &ClusterWrite, result: Result<(), Error>) {
        if result.is_ok() {
            let bytes = self.core.cluster_bytes;
            let mut state = self.core.state_mut();
            for number in 0..write.count {
                state.set(write.first + number, Entry::at(write.place + number * bytes));
            }
        }
        self.end_piece(write.request, result.err());
    }

    /// Whole clusters by their entries alone, what is left by writes.
    fn zero(&mut self, request: u32, offset: u64, length: u64, gives_back: bool) {
        let core = Arc::clone(&self.core);
        let (bytes, end) = (core.cluster_bytes, offset + length);
        let mut parts = Vec::new();
        let mut freed: Vec<(u64, u64)> = Vec::new();
        {
            let mut state = core.state_mut();
            for cluster in offset / bytes..end.div_ceil(bytes) {
                let start = cluster * bytes;
                let whole_end = (start + bytes).min(core.info.size_bytes);
                let (from, to) = (offset.max(start), end.min(whole_end));
                if core.is_zero(state.map.entry(cluster), from, to - from) {
                    continue;
                }
                if (from, to) != (start, whole_end) {
                    parts.push((from, to));
                    continue;
                }
                match state.zero(cluster) {
                    Ok(None) => (),
                    Ok(Some(place)) => match freed.last_mut() {
                        Some((_, end)) if *end == place => *end += bytes,
                        _ => freed.push((place, place + bytes)),
                    },
                    Err(error) => {
                        self.running(request).failure.get_or_insert(error);
                        return;
                    }
                }
            }
        }
        for (from, to) in parts {
            self.write(request, from, BufMut::zeroed((to - from) as usize).freeze());
        }
        if gives_back && core.file.info().discard != DiscardSupport::None {
            for (from, to) in freed {
                self.send(request, Op::Discard { offset: from, length: to - from });
            }
        }
    }
}

impl ImageChannel {
    pub(crate) fn flush(&mut self, tag: u64) {
        let failure = self.core.flush_failure().as_ref().map(Error::repeat);
        let request = self.start(Whose::Owner(tag), Work::Flush(Commit::default()));
        match failure {
            Some(error) => self.end_piece(request, Some(error)),
            None => self.claim(request, Claimed::Tables),
        }
    }

    /// The turn is this request's.
    pub(crate) fn begin_flush(&mut self, request: u32) {
        let core = Arc::clone(&self.core);
        let mut state = core.state_mut();
        let state = &mut *state;
        let tables = state.tables.as_mut().expect("an image that is written to");
        let mut phases: VecDeque<_> = tables.draft(&state.map).into();
        let counts = phases.pop_front().unwrap_or_default();
        self.running(request).work = Work::Flush(Commit { phases, is_unflushed: true });
        self.write_tables(request, counts);
    }

    fn write_tables(&mut self, request: u32, writes: Vec<TableWrite>) {
        let longest = self.core.piece_bytes_max as usize;
        for (offset, bytes) in writes {
            for (piece, at) in bytes.chunks(longest).zip((offset..).step_by(longest)) {
                let mut from = BufMut::zeroed(piece.len());
                from.copy_from_slice(piece);
                self.send(request, Op::Write { offset: at, from: from.freeze(), fua: false });
            }
        }
    }

    /// Begins what comes after the step that has ended. False when nothing does.
    pub(crate) fn go_on_with_flush(&mut self, request: u32) -> bool {
        let running = self.running(request);
        let Work::Flush(commit) = &mut running.work else { return false };
        if let Some(error) = &running.failure {
            let error = error.repeat();
            self.core.flush_failure().get_or_insert(error);
            return false;
        }
        if std::mem::take(&mut commit.is_unflushed) {
            self.send(request, Op::Flush);
            return true;
        }
        while let Some(writes) = commit.phases.pop_front() {
            if !writes.is_empty() {
                // Counts that have become less, the last phase, may be lost.
                commit.is_unflushed = !commit.phases.is_empty();
                self.write_tables(request, writes);
                return true;
            }
        }
        false
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
                let text = catalogue::WRITE_UNANSWERED;
                let error = Error::new(ErrorKind::TimedOut, text);
                self.core.flush_failure().get_or_insert(error);
                let held = self.requests.iter().filter(|(_, running)| running.has_claim);
                let held: Vec<u32> = held.map(|(key, _)| key).collect();
                return held.into_iter().for_each(|request| self.hand_on(request));
            }
        }
    }
}

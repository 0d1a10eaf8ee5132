//! A device that dies when it is told to, and two small levels with redundancy. They are the proof that the executor runs
//! plans that it was not written for: mirrored members, and one parity member whose rows are locked, read, computed and
//! written.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use array::{Access, Action, Level, Lost, MemberSet, Part, Place, Plan, Spot, Step};
use block::{Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Info, Node, Op, Reactor, Request, Support};

/// A device that is gone after some commands more.
pub(crate) struct Mortal {
    below: Arc<dyn Device>,
    name: &'static str,
    left: Arc<AtomicU64>,
}

impl Mortal {
    pub(crate) fn over(below: Arc<dyn Device>, name: &'static str) -> Arc<Mortal> {
        Arc::new(Mortal { below, name, left: Arc::new(AtomicU64::new(u64::MAX)) })
    }

    /// Takes `commands` more, counting from now; `u64::MAX` is for ever.
    pub(crate) fn dies_after(&self, commands: u64) {
        self.left.store(commands, Ordering::Relaxed);
    }
}

impl Device for Mortal {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        Node::leaf("file", self.name)
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.below.open(depth, reactor)?;
        Ok(Box::new(MortalChannel { below, left: Arc::clone(&self.left), refused: Vec::new() }))
    }
}

struct MortalChannel {
    below: Box<dyn Channel>,
    left: Arc<AtomicU64>,
    refused: Vec<Completion>,
}

impl Channel for MortalChannel {
    fn submit(&mut self, request: Request) {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            self.refused.push(request.complete(Err(Error::new(ErrorKind::Gone, "the device is gone"))));
            return;
        }
        if left != u64::MAX {
            self.left.store(left - 1, Ordering::Relaxed);
        }
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.refused);
        self.below.poll(done);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.refused.len() as u32
    }
}

/// Every member holds everything.
pub(crate) struct Mirror {
    pub(crate) members: usize,
    pub(crate) size_bytes: u64,
    /// Whether writers lock what they write. Without it members may take writes that meet in different orders.
    pub(crate) locks: bool,
}

/// What a writer to a mirror locks at once.
const MIRROR_ROW_BYTES: u64 = 2048;

impl Mirror {
    fn present(&self, absent: &MemberSet) -> Result<Vec<usize>, Lost> {
        let present: Vec<usize> = (0..self.members).filter(|&member| !absent.contains(member)).collect();
        if present.is_empty() { Err(Lost { members: *absent }) } else { Ok(present) }
    }
}

impl Level for Mirror {
    const REDUNDANT: bool = true;
    const LOCKS_ROWS: bool = true;

    fn name(&self) -> &'static str {
        "mirror"
    }

    fn options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn refine(&self, _info: &mut Info) {}

    fn holds_all(&self, absent: &MemberSet) -> Result<(), Lost> {
        self.present(absent).map(drop)
    }

    fn whole(&self, part: Part, absent: &MemberSet) -> Option<Spot> {
        let present = self.present(absent).ok()?;
        let turn = (part.offset / 4096) as usize % present.len();
        (part.action == Action::Read).then(|| Spot { member: present[turn], offset: part.offset })
    }

    fn pieces_at_once(&self) -> u32 {
        4
    }

    fn piece_bytes(&self, part: Part, _absent: &MemberSet) -> u64 {
        match part.action {
            Action::Read => part.length,
            _ => part.length.min(MIRROR_ROW_BYTES - part.offset % MIRROR_ROW_BYTES),
        }
    }

    fn plan(&self, piece: Part, absent: &MemberSet, plan: &mut Plan) -> Result<(), Lost> {
        let present = self.present(absent)?;
        let access = |member, place| Access { member, offset: piece.offset, length: piece.length, place };
        let place = match piece.action {
            Action::Read => {
                plan.read.push(access(present[0], Place::Host { start: 0 }));
                return Ok(());
            }
            Action::Write => Place::Host { start: 0 },
            Action::Zeroes => Place::Zeroes,
            Action::Discard => Place::Discard,
        };
        plan.lock = self.locks.then_some(piece.offset / MIRROR_ROW_BYTES);
        plan.write.extend(present.into_iter().map(|member| access(member, place)));
        Ok(())
    }
}

/// Chunks on all members but the last, which holds the XOR of each row: RAID 4 without frills.
pub(crate) struct Parity {
    pub(crate) members: usize,
    pub(crate) chunk_bytes: u64,
    pub(crate) rows: u64,
    /// Whether writers lock their rows. Without it the parity goes wrong when they meet.
    pub(crate) locks: bool,
}

/// What a piece takes of one data chunk of its row.
#[derive(Clone, Copy)]
struct Segment {
    member: usize,
    /// In the chunk.
    from: u64,
    to: u64,
    /// In the host's buffer.
    start: u64,
}

impl Parity {
    fn data_members(&self) -> u64 {
        self.members as u64 - 1
    }

    fn row_bytes(&self) -> u64 {
        self.chunk_bytes * self.data_members()
    }

    fn segments(&self, piece: Part) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut start = 0;
        while start < piece.length {
            let offset = piece.offset + start;
            let from = offset % self.chunk_bytes;
            let length = (self.chunk_bytes - from).min(piece.length - start);
            let member = (offset / self.chunk_bytes % self.data_members()) as usize;
            segments.push(Segment { member, from, to: from + length, start });
            start += length;
        }
        segments
    }

    /// A read across rows while every data member is there.
    fn plan_read(&self, piece: Part, plan: &mut Plan) {
        for segment in self.segments(piece) {
            let row = (piece.offset + segment.start) / self.row_bytes();
            plan.read.push(Access {
                member: segment.member,
                offset: row * self.chunk_bytes + segment.from,
                length: segment.to - segment.from,
                place: Place::Host { start: segment.start },
            });
        }
    }

    /// Within one row: what is missing is the XOR of the rest.
    fn plan_degraded_read(&self, row: u64, segments: &[Segment], absent: &MemberSet, plan: &mut Plan) {
        plan.lock = Some(row);
        let access = |member, from: u64, to: u64, place| Access { member, offset: row * self.chunk_bytes + from, length: to - from, place };
        for segment in segments {
            let host = Place::Host { start: segment.start };
            if !absent.contains(segment.member) {
                plan.read.push(access(segment.member, segment.from, segment.to, host));
                continue;
            }
            let (from, to) = (segment.from, segment.to);
            plan.read.push(access(self.members - 1, from, to, host));
            for member in (0..self.members - 1).filter(|&member| member != segment.member) {
                // What the host gets anyway is not read twice.
                let from_host = segments.iter().find(|other| other.member == member && other.from <= from && other.to >= to);
                let source = match from_host {
                    Some(other) => Place::Host { start: other.start + from - other.from },
                    None => {
                        let slot = plan.scratch.len();
                        plan.scratch.push(to - from);
                        plan.read.push(access(member, from, to, Place::Scratch { slot, start: 0 }));
                        Place::Scratch { slot, start: 0 }
                    }
                };
                plan.compute.push(Step::Xor { from: source, into: host, length: to - from });
            }
        }
    }

    /// Read-modify-write: old data and old parity give the new parity.
    fn plan_modify(&self, row: u64, segments: &[Segment], plan: &mut Plan) {
        let from = segments.iter().map(|segment| segment.from).min().expect("a piece is not empty");
        let to = segments.iter().map(|segment| segment.to).max().expect("a piece is not empty");
        let at = |offset: u64| row * self.chunk_bytes + offset;
        let whole_row =
            segments.len() as u64 == self.data_members() && segments.iter().all(|segment| (segment.from, segment.to) == (from, to));
        plan.scratch.push(to - from);
        let parity = |start: u64| Place::Scratch { slot: 0, start };
        if whole_row {
            plan.compute.push(Step::Zero { into: parity(0), length: to - from });
        } else {
            plan.read.push(Access { member: self.members - 1, offset: at(from), length: to - from, place: parity(0) });
        }
        for (segment, slot) in segments.iter().zip(1..) {
            let length = segment.to - segment.from;
            let into = parity(segment.from - from);
            if !whole_row {
                plan.scratch.push(length);
                let old = Place::Scratch { slot, start: 0 };
                plan.read.push(Access { member: segment.member, offset: at(segment.from), length, place: old });
                plan.compute.push(Step::Xor { from: old, into, length });
            }
            let host = Place::Host { start: segment.start };
            plan.compute.push(Step::Xor { from: host, into, length });
            plan.write.push(Access { member: segment.member, offset: at(segment.from), length, place: host });
        }
        plan.write.push(Access { member: self.members - 1, offset: at(from), length: to - from, place: parity(0) });
    }

    /// Reconstruct-write with a data member missing: the row's old data as it was, the new over it, the parity of that.
    fn plan_reconstruct(&self, row: u64, segments: &[Segment], missing: usize, plan: &mut Plan) {
        let from = segments.iter().map(|segment| segment.from).min().expect("a piece is not empty");
        let to = segments.iter().map(|segment| segment.to).max().expect("a piece is not empty");
        let length = to - from;
        let at = |offset: u64| row * self.chunk_bytes + offset;
        // One slot for each member: what it holds in the range; the parity's is the last.
        plan.scratch.resize(self.members, length);
        let of = |slot: usize, start: u64| Place::Scratch { slot, start };
        let parity = self.members - 1;
        plan.compute.push(Step::Zero { into: of(missing, 0), length });
        for member in (0..self.members).filter(|&member| member != missing) {
            plan.read.push(Access { member, offset: at(from), length, place: of(member, 0) });
            plan.compute.push(Step::Xor { from: of(member, 0), into: of(missing, 0), length });
        }
        for segment in segments {
            let (host, length) = (Place::Host { start: segment.start }, segment.to - segment.from);
            plan.compute.push(Step::Copy { from: host, into: of(segment.member, segment.from - from), length });
            if segment.member != missing {
                plan.write.push(Access { member: segment.member, offset: at(segment.from), length, place: host });
            }
        }
        plan.compute.push(Step::Zero { into: of(parity, 0), length });
        for member in 0..parity {
            plan.compute.push(Step::Xor { from: of(member, 0), into: of(parity, 0), length });
        }
        plan.write.push(Access { member: parity, offset: at(from), length, place: of(parity, 0) });
    }
}

impl Level for Parity {
    const REDUNDANT: bool = true;
    const LOCKS_ROWS: bool = true;

    fn name(&self) -> &'static str {
        "parity"
    }

    fn options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn size_bytes(&self) -> u64 {
        self.rows * self.row_bytes()
    }

    fn refine(&self, info: &mut Info) {
        info.zeroes = Support::None;
        info.discard = DiscardSupport::None;
    }

    fn holds_all(&self, absent: &MemberSet) -> Result<(), Lost> {
        if absent.count() > 1 { Err(Lost { members: *absent }) } else { Ok(()) }
    }

    fn commands_per_member(&self) -> u32 {
        2
    }

    fn pieces_at_once(&self) -> u32 {
        3
    }

    fn whole(&self, part: Part, absent: &MemberSet) -> Option<Spot> {
        let within = part.offset % self.chunk_bytes;
        if part.action != Action::Read || within + part.length > self.chunk_bytes {
            return None;
        }
        let member = (part.offset / self.chunk_bytes % self.data_members()) as usize;
        let offset = part.offset / self.row_bytes() * self.chunk_bytes + within;
        (!absent.contains(member)).then_some(Spot { member, offset })
    }

    fn piece_bytes(&self, part: Part, absent: &MemberSet) -> u64 {
        let degraded = absent.iter().any(|member| member + 1 < self.members);
        if part.action == Action::Read && !degraded {
            return part.length;
        }
        part.length.min(self.row_bytes() - part.offset % self.row_bytes())
    }

    fn plan(&self, piece: Part, absent: &MemberSet, plan: &mut Plan) -> Result<(), Lost> {
        self.holds_all(absent)?;
        let missing = absent.iter().next();
        let lock_of = |row| self.locks.then_some(row);
        let row = piece.offset / self.row_bytes();
        let segments = self.segments(piece);
        match (piece.action, missing) {
            (Action::Read, Some(member)) if member + 1 < self.members => self.plan_degraded_read(row, &segments, absent, plan),
            (Action::Read, _) => self.plan_read(piece, plan),
            (_, None) => {
                plan.lock = lock_of(row);
                self.plan_modify(row, &segments, plan);
            }
            (_, Some(member)) if member + 1 == self.members => {
                plan.lock = lock_of(row);
                self.plan_read(piece, plan);
                plan.write = std::mem::take(&mut plan.read);
            }
            (_, Some(member)) => {
                plan.lock = lock_of(row);
                self.plan_reconstruct(row, &segments, member, plan);
            }
        }
        Ok(())
    }
}

/// Waits for everything on a channel.
pub(crate) fn finish(channel: &mut dyn Channel, reactor: &Reactor) -> Vec<Completion> {
    let mut done = Vec::new();
    loop {
        channel.poll(&mut done);
        if channel.in_flight() == 0 {
            return done;
        }
        reactor.wait(None).expect("the virtual clock does not fail");
    }
}

/// A read's operation.
pub(crate) fn read(offset: u64, length: u64) -> Op {
    Op::Read { offset, into: block::BufMut::zeroed(length as usize) }
}

/// A write's operation, every byte the same.
pub(crate) fn write(offset: u64, length: u64, byte: u8) -> Op {
    let mut buffer = block::BufMut::zeroed(length as usize);
    buffer.fill(byte);
    Op::Write { offset, from: buffer.freeze(), fua: false }
}

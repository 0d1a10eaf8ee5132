//! A device that dies when it is told to and has places that cannot be read, levels with mistakes
//! in their plans, and what members should hold.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use array::geometry::{Parity, Raid10};
use array::parity::{multiply, power};
use array::{
    Faults, Level, LevelTraits, MemberSet, Part, Plan, PlanResult, Queues, Spot, SyncRange,
    TooManyAbsent,
};
use block::{
    Blocking, Channel, Completion, Device, Error, ErrorKind, Info, Node, Op, Reactor, Request,
};

/// A device that is gone after some commands more, and whose bad places cannot be read until they
/// are written.
pub(crate) struct Mortal {
    below: Arc<dyn Device>,
    name: &'static str,
    left: Arc<AtomicU64>,
    bad: Bad,
    failing_read: Arc<AtomicU64>,
}

/// Offsets of the bad blocks.
type Bad = Arc<Mutex<BTreeSet<u64>>>;

impl Mortal {
    pub(crate) fn over(below: Arc<dyn Device>, name: &'static str) -> Arc<Mortal> {
        Arc::new(Mortal {
            below,
            name,
            left: Arc::new(AtomicU64::new(u64::MAX)),
            bad: Bad::default(),
            failing_read: Arc::new(AtomicU64::new(u64::MAX)),
        })
    }

    /// Takes `commands` more, counting from now; `u64::MAX` is for ever.
    pub(crate) fn dies_after(&self, commands: u64) {
        self.left.store(commands, Ordering::Relaxed);
    }

    /// How many commands more it takes, of what [`Mortal::dies_after`] gave it.
    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// A member that is alive stays so.
    pub(crate) fn lives_on(&self) {
        if !self.is_dead() {
            self.dies_after(u64::MAX);
        }
    }

    /// Whether it is gone or will be.
    pub(crate) fn is_doomed(&self) -> bool {
        self.left.load(Ordering::Relaxed) != u64::MAX
    }

    /// Whether it is gone.
    pub(crate) fn is_dead(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// The block at `offset` cannot be read until it is written.
    pub(crate) fn goes_bad(&self, offset: u64) {
        self.bad.lock().expect("no test thread panics in here").insert(offset);
    }

    /// So many reads go well, and then one fails.
    pub(crate) fn fails_once_after(&self, reads: u64) {
        self.failing_read.store(reads, Ordering::Relaxed);
    }

    /// How many blocks cannot be read.
    pub(crate) fn bad_count(&self) -> usize {
        self.bad.lock().expect("no test thread panics in here").len()
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
        if self.is_dead() {
            return Err(Error::new(ErrorKind::Gone, "the device is gone"));
        }
        let below = self.below.open(depth, reactor)?;
        Ok(Box::new(MortalChannel {
            below,
            left: Arc::clone(&self.left),
            bad: Arc::clone(&self.bad),
            failing_read: Arc::clone(&self.failing_read),
            refused: Vec::new(),
        }))
    }
}

struct MortalChannel {
    below: Box<dyn Channel>,
    left: Arc<AtomicU64>,
    bad: Bad,
    failing_read: Arc<AtomicU64>,
    refused: Vec<Completion>,
}

impl Channel for MortalChannel {
    fn submit(&mut self, request: Request) {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            self.refused
                .push(request.complete(Err(Error::new(ErrorKind::Gone, "the device is gone"))));
            return;
        }
        if left != u64::MAX {
            self.left.store(left - 1, Ordering::Relaxed);
        }
        let failing = self.failing_read.load(Ordering::Relaxed);
        if matches!(request.op, Op::Read { .. }) && failing != u64::MAX {
            self.failing_read.store(failing.wrapping_sub(1), Ordering::Relaxed);
            if failing == 0 {
                self.refused.push(request.complete(Err(Error::new(ErrorKind::Media, "this time"))));
                return;
            }
        }
        if let Some((offset, length)) = request.op.range() {
            let mut bad = self.bad.lock().expect("no test thread panics in here");
            if request.op.changes_data() {
                bad.retain(|place| !(offset..offset + length).contains(place));
            } else if bad.range(offset..offset + length).next().is_some() {
                self.refused
                    .push(request.complete(Err(Error::new(ErrorKind::Media, "a bad block"))));
                return;
            }
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

/// A level whose plans are changed: for mistakes that the tests have to find.
pub(crate) struct Twisted<L> {
    pub(crate) level: L,
    /// For requests.
    pub(crate) twist: fn(&mut Plan),
    /// For sync actions.
    pub(crate) sync_twist: fn(&mut Plan),
    /// Members that are being rebuilt are read like others.
    pub(crate) trusts_recovering: bool,
}

impl<L: Level> Twisted<L> {
    /// No mistake yet.
    pub(crate) fn straight(level: L) -> Twisted<L> {
        Twisted { level, twist: |_| (), sync_twist: |_| (), trusts_recovering: false }
    }

    fn faults(&self, faults: &Faults) -> Faults {
        if self.trusts_recovering {
            Faults { recovering: MemberSet::EMPTY, ..*faults }
        } else {
            *faults
        }
    }
}

/// Nothing is locked.
pub(crate) fn without_locks<L: Level>(level: L) -> Twisted<L> {
    Twisted { twist: |plan| plan.lock = None, ..Twisted::straight(level) }
}

impl<L: Level> Level for Twisted<L> {
    fn traits(&self) -> LevelTraits {
        self.level.traits()
    }

    fn name(&self) -> &'static str {
        self.level.name()
    }

    fn options(&self) -> Vec<(String, String)> {
        self.level.options()
    }

    fn size_bytes(&self) -> u64 {
        self.level.size_bytes()
    }

    fn refine(&self, info: &mut Info) {
        self.level.refine(info);
    }

    fn commands_per_member(&self) -> u32 {
        self.level.commands_per_member()
    }

    fn row_end(&self, offset: u64) -> Option<u64> {
        self.level.row_end(offset)
    }

    fn pieces_at_once(&self) -> u32 {
        self.level.pieces_at_once()
    }

    fn holds_all(&self, absent: &MemberSet) -> Result<(), TooManyAbsent> {
        self.level.holds_all(absent)
    }

    fn whole(&self, part: Part, missing: &MemberSet, queues: &Queues) -> Option<Spot> {
        if self.trusts_recovering { None } else { self.level.whole(part, missing, queues) }
    }

    fn piece_bytes(&self, part: Part, faults: &Faults) -> u64 {
        self.level.piece_bytes(part, &self.faults(faults))
    }

    fn plan(&self, piece: Part, faults: &Faults, queues: &Queues, plan: &mut Plan) -> PlanResult {
        self.level.plan(piece, &self.faults(faults), queues, plan)?;
        (self.twist)(plan);
        Ok(())
    }

    fn member_bytes(&self) -> u64 {
        self.level.member_bytes()
    }

    fn sync_bytes(&self) -> u64 {
        self.level.sync_bytes()
    }

    fn sync_range_bytes(&self, range: SyncRange) -> u64 {
        self.level.sync_range_bytes(range)
    }

    fn plan_sync(&self, range: SyncRange, faults: &Faults, plan: &mut Plan) -> PlanResult {
        self.level.plan_sync(range, faults, plan)?;
        (self.sync_twist)(plan);
        Ok(())
    }
}

pub(crate) use testkit::finish;

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

/// What the members of an array with parity hold when it holds `data`.
pub(crate) fn parity_image(array: &Parity, data: &[u8]) -> Vec<Vec<u8>> {
    let chunk = array.chunk_bytes() as usize;
    let mut members = vec![vec![0; chunk * array.row_count() as usize]; array.member_count()];
    for number in 0..array.row_count() as usize {
        let row = array.row(number as u64);
        for (index, bytes) in data[number * array.row_bytes() as usize..]
            [..array.row_bytes() as usize]
            .chunks(chunk)
            .enumerate()
        {
            let member = row.member(index);
            for (at, &byte) in bytes.iter().enumerate() {
                members[member][number * chunk + at] = byte;
                members[row.p][number * chunk + at] ^= byte;
                if let Some(q) = row.q {
                    members[q][number * chunk + at] ^= multiply(power(row.exponent(member)), byte);
                }
            }
        }
    }
    members
}

/// What the members of a mirror hold when it holds `data`; places that nothing lies at are zero.
pub(crate) fn mirror_image(array: &Raid10, data: &[u8], member_bytes: u64) -> Vec<Vec<u8>> {
    let mut members = vec![vec![0; member_bytes as usize]; array.member_count()];
    for (offset, &byte) in data.iter().enumerate() {
        for place in (0..array.layout().copies()).map(|copy| array.locate(offset as u64, 1, copy)) {
            members[place.member][place.offset as usize] = byte;
        }
    }
    members
}

/// All bytes of a device.
pub(crate) fn bytes(device: &dyn Device) -> Vec<u8> {
    let mut bytes = vec![0; device.info().size_bytes as usize];
    let read = Blocking::open(device, &Reactor::virtual_clock())
        .and_then(|mut channel| channel.read_slice(0, &mut bytes));
    read.expect("readable");
    bytes
}

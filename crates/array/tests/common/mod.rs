//! A device that dies when it is told to, and levels with mistakes in their plans.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use array::{Faults, Level, Lost, MemberSet, Part, Plan, Queues, Spot};
use block::{Channel, Completion, Device, Error, ErrorKind, Info, Node, Op, Reactor, Request};

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

/// A level whose plans are changed: for mistakes that the tests have to find.
pub(crate) struct Twisted<L> {
    pub(crate) level: L,
    pub(crate) twist: fn(&mut Plan),
}

/// Nobody locks anything.
pub(crate) fn without_locks<L: Level>(level: L) -> Twisted<L> {
    Twisted { level, twist: |plan| plan.lock = None }
}

impl<L: Level> Level for Twisted<L> {
    const REDUNDANT: bool = L::REDUNDANT;
    const LOCKS_ROWS: bool = L::LOCKS_ROWS;
    const KEEPS_LAST_COPY: bool = L::KEEPS_LAST_COPY;

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

    fn pieces_at_once(&self) -> u32 {
        self.level.pieces_at_once()
    }

    fn holds_all(&self, absent: &MemberSet) -> Result<(), Lost> {
        self.level.holds_all(absent)
    }

    fn whole(&self, part: Part, absent: &MemberSet, queues: &Queues) -> Option<Spot> {
        self.level.whole(part, absent, queues)
    }

    fn piece_bytes(&self, part: Part, faults: &Faults) -> u64 {
        self.level.piece_bytes(part, faults)
    }

    fn plan(&self, piece: Part, faults: &Faults, queues: &Queues, plan: &mut Plan) -> Result<(), Lost> {
        self.level.plan(piece, faults, queues, plan)?;
        (self.twist)(plan);
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

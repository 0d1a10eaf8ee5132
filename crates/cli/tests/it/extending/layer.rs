//! A layer: a part of a device as a device of its own.

use std::sync::Arc;

use block::{
    Channel, Completion, Device, Error, Extents, Info, Node, Op, Reactor, Request, TracedChannel,
};

/// The `length` bytes from `start` on of the device below.
struct Part {
    below: Arc<dyn Device>,
    info: Info,
    start: u64,
}

impl Part {
    fn of(below: Arc<dyn Device>, start: u64, length: u64) -> Result<Part, Error> {
        below.info().check_range(start, length)?;
        let info = Info { size_bytes: length, ..below.info().clone() };
        Ok(Part { below, info, start })
    }
}

impl Device for Part {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        Node::layer("part", vec![self.below.describe()])
            .with("start", self.start)
            .with("length", self.info.size_bytes)
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.below.open(depth, reactor)?;
        let (info, start) = (self.info.clone(), self.start);
        let channel = PartChannel { below, info, start, refused: Vec::new() };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        self.below.extents(self.start + offset, length, found);
    }
}

struct PartChannel {
    below: Box<dyn Channel>,
    info: Info,
    start: u64,
    /// Requests that reach past the part: the device below would take them.
    refused: Vec<Completion>,
}

impl Channel for PartChannel {
    fn submit(&mut self, mut request: Request) {
        if let Err(error) = self.info.check(&request.op) {
            return self.refused.push(request.complete(Err(error.at("part"))));
        }
        match &mut request.op {
            Op::Read { offset, .. }
            | Op::Write { offset, .. }
            | Op::WriteZeroes { offset, .. }
            | Op::Discard { offset, .. } => *offset += self.start,
            Op::Flush => (),
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

#[test]
fn a_layer_keeps_the_contract() {
    let part = || -> Arc<dyn Device> {
        let below = Arc::new(testkit::Memory::new(1 << 20));
        Arc::new(Part::of(below, 64 << 10, 256 << 10).expect("within the device"))
    };
    testkit::conformance::run(part, Reactor::virtual_clock, 1).expect("the contract");
    assert!(Part::of(part(), 0, 1 << 20).is_err(), "longer than what is below");
}

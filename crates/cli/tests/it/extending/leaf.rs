//! A leaf: a device that keeps its bytes in a vector.

use std::sync::{Arc, Mutex, PoisonError};

use block::{Channel, Completion, Device, Error, Info, Node, Op, Reactor, Request, TracedChannel};

/// Bytes in a vector, which all channels share.
struct Heap {
    info: Info,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Heap {
    fn new(size_bytes: u64) -> Heap {
        let bytes = vec![0; size_bytes as usize];
        Heap { info: Info::plain(size_bytes), bytes: Arc::new(Mutex::new(bytes)) }
    }
}

impl Device for Heap {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        Node::leaf("heap", self.info.size_bytes.to_string())
    }

    fn open(&self, _depth: u32, _reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let (info, bytes) = (self.info.clone(), Arc::clone(&self.bytes));
        let channel = HeapChannel { info, bytes, answered: Vec::new() };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }
}

struct HeapChannel {
    info: Info,
    bytes: Arc<Mutex<Vec<u8>>>,
    answered: Vec<Completion>,
}

impl HeapChannel {
    fn carry_out(&self, op: &mut Op) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        match op {
            Op::Read { offset, into } => {
                let start = *offset as usize;
                into.copy_from_slice(&bytes[start..start + into.len()]);
            }
            Op::Write { offset, from, .. } => {
                let start = *offset as usize;
                from.copy_to_slice(&mut bytes[start..start + from.len()]);
            }
            // Of the rest, `Info::check` lets only flushes pass: there is no cache to flush.
            Op::WriteZeroes { .. } | Op::Discard { .. } | Op::Flush => (),
        }
    }
}

impl Channel for HeapChannel {
    fn submit(&mut self, mut request: Request) {
        let result = self.info.check(&request.op).map(|()| self.carry_out(&mut request.op));
        self.answered.push(request.complete(result.map_err(|error| error.at("heap"))));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.answered);
    }

    fn in_flight(&self) -> u32 {
        self.answered.len() as u32
    }
}

#[test]
fn a_leaf_keeps_the_contract() {
    let heap = || -> Arc<dyn Device> { Arc::new(Heap::new(1 << 20)) };
    testkit::conformance::run(heap, Reactor::virtual_clock, 1).expect("the contract");
}

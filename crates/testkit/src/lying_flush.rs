//! A device that lies about flushes: what crashes must find out.

use std::sync::Arc;

use block::{Channel, Completion, Device, Error, Info, Node, Op, Reactor, Request};

/// Answers each flush without carrying it out.
pub struct LyingFlush(pub Arc<dyn Device>);

struct LyingChannel(Box<dyn Channel>, Vec<Completion>);

impl Device for LyingFlush {
    fn info(&self) -> &Info {
        self.0.info()
    }
    fn describe(&self) -> Node {
        self.0.describe()
    }
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(LyingChannel(self.0.open(depth, reactor)?, Vec::new())))
    }
}

impl Channel for LyingChannel {
    fn submit(&mut self, request: Request) {
        match request.op {
            Op::Flush => self.1.push(request.complete(Ok(()))),
            _ => self.0.submit(request),
        }
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.0.poll(done);
        done.append(&mut self.1);
    }
    fn in_flight(&self) -> u32 {
        self.0.in_flight() + self.1.len() as u32
    }
}

//! A layer that adds nothing: the model of a layer, and the measure of what one costs.

use std::sync::Arc;

use block::{Channel, Completion, Device, Error, Info, Node, Reactor, Request};

/// Passes everything through.
pub struct Empty(pub Arc<dyn Device>);

impl Device for Empty {
    fn info(&self) -> &Info {
        self.0.info()
    }
    fn describe(&self) -> Node {
        Node::layer("empty", vec![self.0.describe()])
    }
    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(EmptyChannel(self.0.open(depth, reactor)?)))
    }
}

struct EmptyChannel(Box<dyn Channel>);

impl Channel for EmptyChannel {
    fn submit(&mut self, request: Request) {
        self.0.submit(request);
    }
    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.0.poll(done);
    }
    fn in_flight(&self) -> u32 {
        self.0.in_flight()
    }
}

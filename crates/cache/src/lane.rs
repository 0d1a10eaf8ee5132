//! A channel below that never has more commands than it was opened for: the others wait here.

use std::collections::VecDeque;

use block::{Channel, Completion, Device, Error, Reactor, Request};

pub(crate) struct Lane {
    channel: Box<dyn Channel>,
    depth: u32,
    waiting: VecDeque<Request>,
}

impl Lane {
    pub(crate) fn open(device: &dyn Device, depth: u32, reactor: &Reactor) -> Result<Lane, Error> {
        Ok(Lane { channel: device.open(depth, reactor)?, depth, waiting: VecDeque::new() })
    }

    pub(crate) fn send(&mut self, request: Request) {
        if self.channel.in_flight() < self.depth {
            self.channel.submit(request);
        } else {
            self.waiting.push_back(request);
        }
    }

    pub(crate) fn poll(&mut self, done: &mut Vec<Completion>) {
        self.channel.poll(done);
        while self.channel.in_flight() < self.depth
            && let Some(request) = self.waiting.pop_front()
        {
            self.channel.submit(request);
        }
    }
}

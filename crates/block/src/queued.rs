//! A channel below that never has more commands than it was opened for: the others wait here.

use std::collections::VecDeque;

use reactor::Reactor;

use crate::{Channel, Completion, Device, Error, Request};

/// A channel and the commands that it has no room for yet.
pub struct QueuedChannel {
    channel: Result<Box<dyn Channel>, Error>,
    depth: u32,
    /// Requests that the channel has and has not answered.
    sent: u32,
    waiting: VecDeque<Request>,
}

impl QueuedChannel {
    /// Opens a channel for `depth` commands at a time.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn open(
        device: &dyn Device,
        depth: u32,
        reactor: &Reactor,
    ) -> Result<QueuedChannel, Error> {
        Ok(QueuedChannel {
            channel: Ok(device.open(depth, reactor)?),
            depth,
            sent: 0,
            waiting: VecDeque::new(),
        })
    }

    /// The channel of a device that cannot be opened: every command fails with its error.
    #[must_use]
    pub fn closed(error: Error) -> QueuedChannel {
        QueuedChannel { channel: Err(error), depth: 0, sent: 0, waiting: VecDeque::new() }
    }

    /// Sends a command as soon as the channel has room for it.
    pub fn send(&mut self, request: Request) {
        match &mut self.channel {
            Ok(channel) if self.sent < self.depth => {
                self.sent += 1;
                channel.submit(request);
            }
            _ => self.waiting.push_back(request),
        }
    }

    /// Lets the channel go on with what is its own, if it has no request of ours.
    pub fn poll_idle(&mut self) {
        if let Ok(channel) = &mut self.channel
            && self.sent == 0
        {
            let mut done = Vec::new();
            channel.poll(&mut done);
            debug_assert!(done.is_empty(), "a channel answers what it was not asked");
        }
    }

    /// Appends what has completed to `done`, and sends what waited for that.
    pub fn poll(&mut self, done: &mut Vec<Completion>) {
        match &mut self.channel {
            // Requests wait only behind others that were sent.
            Ok(_) if self.sent == 0 => (),
            Ok(channel) => {
                let before = done.len();
                channel.poll(done);
                self.sent -= (done.len() - before) as u32;
                while self.sent < self.depth
                    && let Some(request) = self.waiting.pop_front()
                {
                    self.sent += 1;
                    channel.submit(request);
                }
            }
            Err(error) => done.extend(
                self.waiting.drain(..).map(|request| request.complete(Err(error.repeat()))),
            ),
        }
    }
}

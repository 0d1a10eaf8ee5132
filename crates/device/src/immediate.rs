//! The channel of devices that answer in the moment of asking: what was submitted waits only to be
//! polled.

use block::{Channel, Completion, Request};

/// What a device without waiting does with one request.
pub(crate) trait ImmediateDevice {
    /// Carries the request out and ends it.
    fn carry_out(&self, request: Request) -> Completion;
}

/// A channel that calls its device at once and keeps the answers until they are polled.
pub(crate) struct ImmediateChannel<D> {
    device: D,
    done: Vec<Completion>,
}

impl<D: ImmediateDevice> ImmediateChannel<D> {
    pub(crate) fn new(device: D, depth: u32) -> ImmediateChannel<D> {
        ImmediateChannel { device, done: Vec::with_capacity(depth.min(1024) as usize) }
    }
}

impl<D: ImmediateDevice> Channel for ImmediateChannel<D> {
    fn submit(&mut self, request: Request) {
        self.done.push(self.device.carry_out(request));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.done);
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.done.len()).unwrap_or(u32::MAX)
    }
}

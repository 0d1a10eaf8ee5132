//! A channel that is polled where that may bring something.
//!
//! An array asks each of its members after every wait, and its metadata's channels beside them: of
//! 36 members hardly one has anything to say. Where a channel has a [`Signal`], looking at that is
//! all that the others cost.

use block::{Channel, Completion, Request, Signal};

/// A channel and what says whether a poll may bring something.
pub(crate) struct SignalledChannel {
    channel: Box<dyn Channel>,
    signal: Option<Signal>,
    /// Something was submitted and not polled for since.
    is_fresh: bool,
}

impl SignalledChannel {
    pub(crate) fn over(channel: Box<dyn Channel>) -> SignalledChannel {
        SignalledChannel { signal: channel.signal(), channel, is_fresh: false }
    }

    #[inline]
    pub(crate) fn submit(&mut self, request: Request) {
        self.is_fresh = true;
        self.channel.submit(request);
    }

    /// Takes what has completed.
    #[inline]
    pub(crate) fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.is_fresh || self.signal.as_ref().is_none_or(Signal::is_on) {
            self.is_fresh = false;
            self.channel.poll(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use block::{Op, Reactor};
    use reactor::Source;

    use super::*;

    /// Counts polls.
    struct Leaf {
        source: Source,
        polls: Rc<Cell<u32>>,
    }

    impl Channel for Leaf {
        fn submit(&mut self, _request: Request) {}
        fn poll(&mut self, _done: &mut Vec<Completion>) {
            self.polls.set(self.polls.get() + 1);
            while self.source.take().is_some() {}
        }
        fn in_flight(&self) -> u32 {
            0
        }
        fn signal(&self) -> Option<Signal> {
            Some(self.source.signal())
        }
    }

    #[test]
    fn only_what_may_bring_something_is_polled() {
        let reactor = Reactor::virtual_clock();
        let polls = Rc::new(Cell::new(0));
        let leaf = Leaf { source: reactor.source(), polls: Rc::clone(&polls) };
        leaf.source.at(reactor.now(), 0);
        let mut channel = SignalledChannel::over(Box::new(leaf));
        let mut poll_twice = || {
            channel.poll(&mut Vec::new());
            channel.poll(&mut Vec::new());
        };
        poll_twice();
        assert_eq!(polls.get(), 0, "nothing has happened");
        reactor.wait(None).expect("there is a timer");
        poll_twice();
        assert_eq!(polls.get(), 1, "one event");
        channel.submit(Request::new(1, Op::Flush));
        channel.poll(&mut Vec::new());
        channel.poll(&mut Vec::new());
        assert_eq!(polls.get(), 2, "one submission");
    }
}

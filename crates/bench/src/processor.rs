//! A stated processor for clocks that stand still while a program computes: each request of a
//! load costs so much a call and so much a byte.
//!
//! ```text
//!   load ── submit ──> OnProcessor ── spend(call + bytes / copy) ──> the clock
//!                           └───────────────── submit ─────────────> the file or device
//! ```
//!
//! In a guest what is read from the page cache takes no time at all, so that its rate has no end
//! and a test that lasts for a time goes on for ever. With this it has the rate that is stated, and
//! reports say that it was. Each thread of a load is a processor of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use block::{
    Channel, Completion, Device, Error, Extents, Info, Node, Op, Reactor, Request, duration_text,
};

/// What the work of a load's own machine takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// What each request costs, however long it is.
    pub call: Duration,
    /// How fast its bytes are copied between the page cache, or the drive, and the program.
    pub copy_bytes_per_second: u64,
}

impl Processor {
    /// What a request for so many bytes takes, to the nanosecond below.
    #[must_use]
    pub fn time(&self, bytes: u64) -> Duration {
        let copied = u128::from(bytes) * 1_000_000_000 / u128::from(self.copy_bytes_per_second);
        self.call + Duration::from_nanos(u64::try_from(copied).unwrap_or(u64::MAX))
    }
}

/// `call=5us,copy=1GB/s`, as plans have it.
impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.copy_bytes_per_second;
        let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB"), (1, "B")];
        let whole = units.into_iter().find(|(unit, _)| rate.is_multiple_of(*unit));
        let (unit, name) = whole.unwrap_or((1, "B"));
        write!(f, "call={},copy={}{name}/s", duration_text(self.call), rate / unit)
    }
}

/// A device whose requests cost its owner's processor their time.
pub struct OnProcessor {
    below: Arc<dyn Device>,
    processor: Processor,
}

impl OnProcessor {
    /// `below`, used by a program that such a processor runs.
    #[must_use]
    pub fn new(below: Arc<dyn Device>, processor: Processor) -> OnProcessor {
        OnProcessor { below, processor }
    }
}

impl Device for OnProcessor {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.below.open(depth, reactor)?;
        let (processor, reactor) = (self.processor, reactor.clone());
        Ok(Box::new(OnProcessorChannel { below, processor, reactor }))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        self.below.extents(offset, length, found);
    }
}

struct OnProcessorChannel {
    below: Box<dyn Channel>,
    processor: Processor,
    reactor: Reactor,
}

impl Channel for OnProcessorChannel {
    fn submit(&mut self, request: Request) {
        let bytes = match &request.op {
            Op::Read { into, .. } => into.len(),
            Op::Write { from, .. } => from.len(),
            // They move no data.
            Op::WriteZeroes { .. } | Op::Discard { .. } | Op::Flush => 0,
        };
        self.reactor.spend(self.processor.time(bytes as u64));
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.below.poll(done);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

#[cfg(test)]
mod tests {
    use block::BufMut;

    use super::*;

    const STATED: Processor =
        Processor { call: Duration::from_micros(5), copy_bytes_per_second: 1_000_000_000 };

    #[test]
    fn a_request_costs_its_call_and_its_bytes() {
        assert_eq!(STATED.time(0), Duration::from_micros(5));
        assert_eq!(STATED.time(4096), Duration::from_nanos(5000 + 4096));
        assert_eq!(STATED.time(1 << 20), Duration::from_nanos(5000 + 1_048_576));
        let slow = Processor { copy_bytes_per_second: 3_500_000, ..STATED };
        assert_eq!(slow.time(7), Duration::from_micros(7));
        assert_eq!(STATED.to_string(), "call=5us,copy=1GB/s");
        assert_eq!(slow.to_string(), "call=5us,copy=3500kB/s");
    }

    /// The contract holds, and the clock has moved by what was stated when a request was handed
    /// over, whether or not it has been slept off.
    #[test]
    fn the_clock_knows_at_once_what_a_request_costs() {
        let on = || -> Arc<dyn Device> {
            Arc::new(OnProcessor::new(Arc::new(testkit::Memory::new(1 << 20)), STATED))
        };
        testkit::conformance::run(on, Reactor::virtual_clock, 1).expect("the contract");

        let reactor = Reactor::wall().expect("io_uring");
        let mut channel = on().open(1, &reactor).expect("a channel");
        for bytes in [4096, 512 << 10] {
            let before = reactor.now();
            let into = BufMut::zeroed(bytes);
            channel.submit(Request::new(0, Op::Read { offset: 0, into }));
            assert!(reactor.now() - before >= STATED.time(bytes as u64), "{bytes} bytes");
            let mut done = Vec::new();
            while done.is_empty() {
                channel.poll(&mut done);
            }
            assert!(done.iter().all(|completion| completion.result.is_ok()));
        }
    }
}

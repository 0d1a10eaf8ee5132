//! The owner of one channel, which checks every hop from above: one completion a request, the tag
//! and buffer it came with, an honest count in flight, and a reactor that wakes it.

use std::collections::HashMap;
use std::time::Duration;

use block::{
    Buf, BufMut, Channel, Clock, Completion, Device, Op, Reactor, Request, ReturnedBuffer, Time,
};
use reactor::WakeReason;

use crate::Violation;

/// A request on the wall clock that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// Wake-ups in a row that bring nothing: far more than any stack has timers.
const FRUITLESS: u32 = 1_000_000;

/// Where a buffer's bytes lie, as the pieces they lie in.
#[derive(Debug, PartialEq, Eq)]
enum LentBuffer {
    Nothing,
    Read(Vec<(usize, usize)>),
    Written(Vec<(usize, usize)>),
}

/// Pieces that touch count as one, however the buffer's handle lists them.
fn places<'a>(slices: impl Iterator<Item = &'a [u8]>) -> Vec<(usize, usize)> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for slice in slices {
        let start = slice.as_ptr().addr();
        match places.last_mut() {
            Some((first, length)) if *first + *length == start => *length += slice.len(),
            _ => places.push((start, slice.len())),
        }
    }
    places
}

impl LentBuffer {
    fn read(buffer: &BufMut) -> LentBuffer {
        LentBuffer::Read(places(buffer.slices()))
    }
    fn written(buffer: &Buf) -> LentBuffer {
        LentBuffer::Written(places(buffer.slices()))
    }
}

pub(crate) struct Owner {
    channel: Box<dyn Channel>,
    pub(crate) depth: u32,
    open: HashMap<u64, LentBuffer>,
    submitted: u64,
    /// Nothing was submitted since the last poll.
    is_settled: bool,
    seed: u64,
}

impl Owner {
    pub(crate) fn open(
        device: &dyn Device,
        depth: u32,
        reactor: &Reactor,
        seed: u64,
    ) -> Result<Owner, Violation> {
        let channel = device.open(depth, reactor).map_err(|error| {
            let detail = format!("opening {} at depth {depth}: {error}", device.describe());
            Violation { rule: "C14", detail, seed }
        })?;
        Ok(Owner { channel, depth, open: HashMap::new(), submitted: 0, is_settled: true, seed })
    }

    pub(crate) fn violation(&self, rule: &'static str, detail: impl Into<String>) -> Violation {
        Violation { rule, detail: detail.into(), seed: self.seed }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.open.len() as u32
    }

    fn check_count(&self, after: &str) -> Result<(), Violation> {
        let (said, counted) = (self.channel.in_flight(), self.in_flight());
        if said == counted {
            return Ok(());
        }
        Err(self.violation(
            "C9",
            format!(
                "after a {after} in_flight() says {said}, but {counted} requests are not answered"
            ),
        ))
    }

    /// Submits under a tag of its own choice, which it returns.
    pub(crate) fn submit(&mut self, op: Op) -> Result<u64, Violation> {
        // All kinds of numbers: zero, the largest, and scattered ones.
        let tag = match self.submitted {
            0 => 0,
            1 => u64::MAX,
            number => number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        self.submitted += 1;
        self.is_settled = false;
        let lent = match &op {
            Op::Read { into, .. } => LentBuffer::read(into),
            Op::Write { from, .. } => LentBuffer::written(from),
            _ => LentBuffer::Nothing,
        };
        assert!(
            self.open.len() < self.depth as usize && self.open.insert(tag, lent).is_none(),
            "the testkit breaks its own rules"
        );
        self.channel.submit(Request::new(tag, op));
        self.check_count("submit")?;
        Ok(tag)
    }

    pub(crate) fn poll(&mut self) -> Result<Vec<Completion>, Violation> {
        let mut done = Vec::new();
        let is_off = self.channel.signal().is_some_and(|signal| !signal.is_on());
        let brings_nothing = std::mem::replace(&mut self.is_settled, true) && is_off;
        self.channel.poll(&mut done);
        if brings_nothing && !done.is_empty() {
            let count = done.len();
            return Err(self.violation(
                "C33",
                format!("{count} completions, though the signal was off and nothing submitted"),
            ));
        }
        for completion in &done {
            let returned = match &completion.buffer {
                ReturnedBuffer::Nothing => LentBuffer::Nothing,
                ReturnedBuffer::Read(buffer) => LentBuffer::read(buffer),
                ReturnedBuffer::Written(buffer) => LentBuffer::written(buffer),
            };
            match self.open.remove(&completion.tag) {
                None => {
                    return Err(self.violation(
                        "C1",
                        format!("a completion with tag {} that is not in flight", completion.tag),
                    ));
                }
                Some(lent) if lent != returned => {
                    return Err(self.violation(
                        "C2",
                        format!("tag {} lent {lent:x?} and got {returned:x?} back", completion.tag),
                    ));
                }
                Some(_) => (),
            }
        }
        self.check_count("poll")?;
        Ok(done)
    }

    /// Submits one request on an idle channel and waits for its completion.
    pub(crate) fn run(&mut self, reactor: &Reactor, op: Op) -> Result<Completion, Violation> {
        let name = op.name();
        self.submit(op)?;
        let mut patience = Patience::new(reactor, self.seed);
        loop {
            if let Some(completion) = self.poll()?.pop() {
                return Ok(completion);
            }
            patience.wait(&format!("a {name}"))?;
        }
    }
}

/// Waits on a reactor, but not for ever.
pub(crate) struct Patience<'a> {
    reactor: &'a Reactor,
    deadline: Option<Time>,
    fruitless: u32,
    seed: u64,
}

impl Patience<'_> {
    pub(crate) fn new(reactor: &Reactor, seed: u64) -> Patience<'_> {
        let deadline = (reactor.clock() == Clock::Wall).then(|| reactor.now() + PATIENCE);
        Patience { reactor, deadline, fruitless: 0, seed }
    }

    /// Waits for the next event; `what` is in flight.
    pub(crate) fn wait(&mut self, what: &str) -> Result<(), Violation> {
        let violation = |rule, detail| Err(Violation { rule, detail, seed: self.seed });
        self.fruitless += 1;
        match self.reactor.wait(self.deadline) {
            Ok(WakeReason::Events | WakeReason::Rung) if self.fruitless < FRUITLESS => Ok(()),
            Ok(WakeReason::Events | WakeReason::Rung) => {
                violation("C12", format!("{what} is woken for again and again, but never answered"))
            }
            Ok(WakeReason::Idle) => violation(
                "C12",
                format!("{what} is not answered and nothing is left that could wake its owner"),
            ),
            Ok(WakeReason::Deadline) => {
                violation("C12", format!("{what} is not answered in {PATIENCE:?}"))
            }
            Err(error) => violation("C12", format!("waiting for {what}: {error}")),
        }
    }
}

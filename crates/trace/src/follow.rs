//! Follows requests through the kernel's block layer: events of its tracing become records.
//!
//! ```text
//!   Q  queued      a request as it was asked for: a record          D  where there was no Q for it
//!   D  issued      Q's, merged or split, go to the drive
//!   C  completed   a range: the records that lie in it lose so many bytes, and complete at 0
//! ```
//!
//! A write that flushes first becomes a flush and the write.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use crate::csv::operation;
use crate::{Pairing, Record, RecordedOp, Ticket};

/// The most requests that are followed at once, for all devices.
const FOLLOWED_MAX: usize = 1 << 17;

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was asked for.
    Queued,
    /// It went to the drive.
    Issued,
    /// It completed.
    Completed,
}

/// One event of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// On the clock of the source, in nanoseconds.
    pub time_nanoseconds: u64,
    /// What happened.
    pub kind: EventKind,
    /// What is asked for; a flush has no data.
    pub op: RecordedOp,
    /// Whether a flush comes before the data.
    pub flush_first: bool,
    /// Whether it is to be durable.
    pub fua: bool,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u64,
    /// The process.
    pub stream: u32,
    /// The device, by a number of the source's.
    pub device: u32,
}

impl Event {
    /// This event, of the operation that the kernel and blkparse write as these letters (RWBS).
    /// None where they are none; none within where no request is meant.
    #[must_use]
    pub fn with_letters(self, letters: &str) -> Option<Option<Event>> {
        // What the kernel flushes by itself for requests that ask for it.
        if matches!(letters, "FF" | "FN") {
            return Some(None);
        }
        let (op, fua) = match operation(letters)? {
            Some(found) => found,
            // The kernel has no letter for a write of zeroes.
            None if self.length > 0 => (RecordedOp::WriteZeroes, false),
            None => return Some(None),
        };
        let flushes = letters.starts_with('F');
        // When a flush completes, the kernel has taken its letter away.
        let ends_flush = self.kind == EventKind::Completed && op == RecordedOp::Write;
        let is_flush = op == RecordedOp::Flush || self.length == 0 && (flushes || ends_flush);
        Some(Some(Event {
            op: if is_flush { RecordedOp::Flush } else { op },
            flush_first: flushes && !is_flush,
            fua,
            offset: if is_flush { 0 } else { self.offset.min(u64::MAX - self.length) },
            length: if is_flush { 0 } else { self.length },
            ..self
        }))
    }
}

struct Followed {
    time_nanoseconds: u64,
    length: u64,
    left_bytes: u64,
}

/// Device and what is asked for: only the same kind completes another.
type Group = (u32, u8);

/// Group, offset and ticket of what has not completed.
type Key = (Group, u64, Ticket);

/// Records from events, in order of submission. Events come in order of time.
#[derive(Default)]
pub struct Follower {
    pairing: Pairing,
    /// Devices of the records in `pairing`, in the same order.
    devices: VecDeque<u32>,
    open: BTreeMap<Key, Followed>,
    /// The longest request of all.
    longest: u64,
    unpaired: u64,
}

fn group(event: &Event) -> Group {
    let op = match event.op {
        RecordedOp::Read => 0,
        RecordedOp::Write | RecordedOp::WriteZeroes => 1,
        RecordedOp::Discard => 2,
        RecordedOp::Flush => 3,
    };
    (event.device, op)
}

impl Follower {
    /// Takes the next event.
    pub fn take(&mut self, event: &Event) {
        match event.kind {
            EventKind::Queued => self.submit(event),
            EventKind::Issued if event.length > 0 && !self.is_open(event) => self.submit(event),
            EventKind::Issued => (),
            EventKind::Completed => self.complete(event),
        }
    }

    fn submit(&mut self, event: &Event) {
        let mut record = Record {
            time_nanoseconds: event.time_nanoseconds,
            latency_nanoseconds: None,
            op: RecordedOp::Flush,
            fua: false,
            offset: 0,
            length: 0,
            stream: event.stream,
        };
        if event.flush_first && event.op != RecordedOp::Flush {
            // Its own end is not told: the write's completion stands for both.
            let ticket = self.pairing.submit(record);
            self.devices.push_back(event.device);
            self.pairing.end(ticket, None);
        }
        if event.op != RecordedOp::Flush {
            let Event { op, fua, offset, length, .. } = *event;
            record = Record { op, fua, offset, length, ..record };
        }
        let ticket = self.pairing.submit(record);
        self.devices.push_back(event.device);
        if self.open.len() >= FOLLOWED_MAX {
            // Completions are not in the trace, or were lost.
            self.open.clear();
        }
        self.longest = self.longest.max(record.length);
        let followed = Followed {
            time_nanoseconds: event.time_nanoseconds,
            length: record.length,
            left_bytes: record.length,
        };
        self.open.insert((group(event), record.offset, ticket), followed);
    }

    /// Where something may begin that reaches into the event's range.
    fn near(&self, event: &Event) -> RangeInclusive<Key> {
        let last = (event.offset + event.length).saturating_sub(1).max(event.offset);
        let first = event.offset.saturating_sub(self.longest);
        (group(event), first, Ticket::FIRST)..=(group(event), last, Ticket::LAST)
    }

    fn is_open(&self, event: &Event) -> bool {
        let mut near = self.open.range(self.near(event));
        near.any(|((_, offset, _), followed)| offset + followed.length > event.offset)
    }

    fn complete(&mut self, event: &Event) {
        let mut found = false;
        let mut ended: Vec<Key> = Vec::new();
        let (begin, end) = (event.offset, event.offset.saturating_add(event.length));
        let near = self.near(event);
        for (key, followed) in self.open.range_mut(near) {
            let offset = key.1;
            let is_flush = event.op == RecordedOp::Flush;
            let common = (offset + followed.length).min(end).saturating_sub(begin.max(offset));
            if !is_flush && common == 0 {
                continue;
            }
            found = true;
            followed.left_bytes = followed.left_bytes.saturating_sub(common);
            if followed.left_bytes == 0 {
                ended.push(*key);
            }
            // Of two of one range, and of flushes, the first completes first.
            if (offset, followed.length) == (begin, event.length) {
                break;
            }
        }
        for key in ended {
            if let Some(followed) = self.open.remove(&key) {
                let latency = event.time_nanoseconds.saturating_sub(followed.time_nanoseconds);
                self.pairing.end(key.2, Some(latency));
            }
        }
        self.unpaired += u64::from(!found);
    }

    /// The next record in order of submission that has completed, and its device.
    pub fn next_ended(&mut self) -> Option<(Record, u32)> {
        let record = self.pairing.next_ended()?;
        Some((record, self.devices.pop_front().unwrap_or_default()))
    }

    /// The next record, completed or not: no event comes any more.
    pub fn next_left(&mut self) -> Option<(Record, u32)> {
        let record = self.pairing.next_left()?;
        Some((record, self.devices.pop_front().unwrap_or_default()))
    }

    /// How many completions had no submission since this was asked last: what was under way when
    /// the recording began.
    pub fn take_unpaired(&mut self) -> u64 {
        std::mem::take(&mut self.unpaired)
    }
}

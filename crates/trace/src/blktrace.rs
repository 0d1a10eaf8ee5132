//! The binary format of Linux's block tracing, which the kernel gives and blktrace keeps: one
//! stream, or a file for each processor.
//!
//! ```text
//!   version 7   magic sequence  time sector  bytes action pid device cpu  error pdu_len       48 bytes
//!   version 8   magic sequence  time sector  bytes pid  action  device cpu  error pdu_len  …  64 bytes
//! ```
//!
//! Numbers are in the byte order of the machine; the magic tells which. Behind each stand `pdu_len`
//! bytes. Source: `include/uapi/linux/blktrace_api.h`.

use std::collections::VecDeque;

use block::{Error, ErrorKind, SECTOR_BYTES};
use words::statement;

use crate::catalogue;
use crate::follow::{Event, EventKind, Follower};
use crate::input::Input;
use crate::source::{Contents, Devices, Source, SourceItem};
use crate::{ProblemKind, ProblemSite, RecordedOp};

const MAGIC: u32 = 0x6561_7400;
/// The longest header.
const HEADER_BYTES_MAX: usize = 64;
const HEADER_BYTES: usize = 48;

const ACTION_MASK: u64 = 0xff;
const QUEUE: u64 = 1;
const ISSUE: u64 = 7;
const COMPLETE: u64 = 8;

// Categories, in the upper half of the action.
const WRITE: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const PASSED_THROUGH: u64 = 1 << 25;
const NOTIFY: u64 = 1 << 26;
const DISCARD: u64 = 1 << 29;
const DRIVER_DATA: u64 = 1 << 30;
const FUA: u64 = 1 << 31;

pub(crate) const CONTENTS: Contents =
    Contents { times: true, completions: true, streams: true, flushes: true, discards: true };

/// Whether a file begins as the format does.
pub(crate) fn begins(beginning: &[u8]) -> bool {
    beginning.first_chunk::<4>().is_some_and(|magic| byte_order(magic).is_some())
}

/// Whether the low byte comes first; `None` for another magic.
fn byte_order(magic: &[u8; 4]) -> Option<bool> {
    [true, false].into_iter().find(|&low_first| word(magic, 0, low_first) & !0xff == MAGIC)
}

fn word(bytes: &[u8], at: usize, low_first: bool) -> u32 {
    let word = [0, 1, 2, 3].map(|byte| bytes[at + byte]);
    if low_first { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) }
}

fn long(bytes: &[u8], at: usize, low_first: bool) -> u64 {
    let halves = [word(bytes, at, low_first), word(bytes, at + 4, low_first)].map(u64::from);
    if low_first { halves[1] << 32 | halves[0] } else { halves[0] << 32 | halves[1] }
}

/// What stands at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum DecodedEvent {
    /// So many more bytes are needed, at least.
    Short(usize),
    /// An event, if it is one of a request, and how many bytes it takes.
    Event(Option<Event>, usize),
    /// No event begins there.
    Foreign,
}

/// The event at the beginning of these bytes of a stream.
#[must_use]
pub fn decode(bytes: &[u8]) -> DecodedEvent {
    let Some(magic) = bytes.first_chunk::<4>() else {
        return DecodedEvent::Short(HEADER_BYTES - bytes.len());
    };
    let Some(low_first) = byte_order(magic) else { return DecodedEvent::Foreign };
    let version = word(magic, 0, low_first) & 0xff;
    let header_bytes = match version {
        7 => HEADER_BYTES,
        8 => HEADER_BYTES_MAX,
        _ => return DecodedEvent::Foreign,
    };
    if bytes.len() < header_bytes {
        return DecodedEvent::Short(header_bytes - bytes.len());
    }
    let lower = |at: usize| u64::from(word(bytes, at, low_first));
    let (action, pid, device, last) = match version {
        7 => (lower(28), lower(32), lower(36), 44),
        _ => (long(bytes, 32, low_first), lower(28), lower(40), 48),
    };
    let more = [bytes[last + 2], bytes[last + 3]];
    let more = if low_first { u16::from_le_bytes(more) } else { u16::from_be_bytes(more) };
    let taken = header_bytes + usize::from(more);
    if bytes.len() < taken {
        return DecodedEvent::Short(taken - bytes.len());
    }
    let kind = match action & ACTION_MASK {
        QUEUE => EventKind::Queued,
        ISSUE => EventKind::Issued,
        COMPLETE => EventKind::Completed,
        _ => return DecodedEvent::Event(None, taken),
    };
    let length = lower(24);
    let has = |flag: u64| action & flag != 0;
    let is_other = has(PASSED_THROUGH) || has(NOTIFY) || has(DRIVER_DATA);
    // What the kernel flushes by itself for requests that ask for it reads, in its own words.
    if has(FLUSH) && length == 0 && !has(WRITE) {
        return DecodedEvent::Event(None, taken);
    }
    let op = match (has(DISCARD), has(WRITE), length) {
        (true, ..) => RecordedOp::Discard,
        // When a flush completes, the kernel has taken its flag away.
        (_, _, 0) if has(FLUSH) || kind == EventKind::Completed => RecordedOp::Flush,
        (_, true, _) => RecordedOp::Write,
        (_, false, _) => RecordedOp::Read,
    };
    let offset = long(bytes, 16, low_first).saturating_mul(SECTOR_BYTES);
    let is_flush = op == RecordedOp::Flush;
    let event = Event {
        time_nanoseconds: long(bytes, 8, low_first),
        kind,
        op,
        flush_first: has(FLUSH) && !is_flush,
        fua: has(FUA) && op == RecordedOp::Write,
        offset: if is_flush { 0 } else { offset.min(u64::MAX - length) },
        length,
        stream: pid as u32,
        device: device as u32,
    };
    DecodedEvent::Event((!is_other).then_some(event), taken)
}

/// What a device's number is called: major and minor.
#[must_use]
pub fn device_name(number: u32) -> String {
    format!("{},{}", number >> 20, number & 0xf_ffff)
}

/// One file of several.
struct Part {
    /// None: the reader's own input.
    input: Option<Input>,
    next: Option<Event>,
    ended: bool,
}

/// A stream, or a file for each processor.
pub(crate) struct Blktrace {
    parts: Vec<Part>,
    follower: Follower,
    events: u64,
    names: Vec<(u32, u32)>,
    waiting: VecDeque<SourceItem>,
    ended: bool,
}

impl Blktrace {
    /// `others` are the files of the other processors.
    pub(crate) fn new(others: Vec<Input>) -> Blktrace {
        let part = |input| Part { input, next: None, ended: false };
        let parts = std::iter::once(None).chain(others.into_iter().map(Some)).map(part).collect();
        Blktrace {
            parts,
            follower: Follower::default(),
            events: 0,
            names: Vec::new(),
            waiting: VecDeque::new(),
            ended: false,
        }
    }

    /// Reads events of one part until there is one of a request.
    fn advance(&mut self, at: usize, first: &mut Input) -> Result<(), Error> {
        let part = &mut self.parts[at];
        let input = part.input.as_mut().unwrap_or(first);
        let mut needed = HEADER_BYTES;
        while part.next.is_none() && !part.ended {
            let there = input.peek(needed)?;
            let is_all = there.len() < needed;
            match decode(there) {
                DecodedEvent::Short(_) if there.is_empty() => part.ended = true,
                DecodedEvent::Short(_) if is_all => {
                    self.waiting.push_back(SourceItem::Problem(ProblemKind::CutOff, 1, None));
                    part.ended = true;
                }
                DecodedEvent::Short(more) => needed = there.len() + more,
                DecodedEvent::Event(event, taken) => {
                    part.next = event;
                    input.skip(taken as u64)?;
                    self.events += 1;
                    needed = HEADER_BYTES;
                }
                DecodedEvent::Foreign => {
                    let text = statement!(catalogue::NO_BLKTRACE_EVENT, count = self.events);
                    return Err(Error::new(ErrorKind::Corrupt, text));
                }
            }
        }
        Ok(())
    }

    fn request(&mut self, record: crate::Record, device: u32, devices: &mut Devices) -> SourceItem {
        let known = self.names.iter().find(|(known, _)| *known == device).map(|(_, at)| *at);
        let number = known.unwrap_or_else(|| {
            let number = devices.number(&device_name(device));
            self.names.push((device, number));
            number
        });
        SourceItem::Request(record, number)
    }
}

impl Source for Blktrace {
    fn step(&mut self, input: &mut Input, devices: &mut Devices) -> Result<SourceItem, Error> {
        loop {
            if let Some(step) = self.waiting.pop_front() {
                return Ok(step);
            }
            let ready = match self.ended {
                true => self.follower.next_left(),
                false => self.follower.next_ended(),
            };
            if let Some((record, device)) = ready {
                return Ok(self.request(record, device, devices));
            }
            if self.ended {
                return Ok(SourceItem::End);
            }
            for at in 0..self.parts.len() {
                self.advance(at, input)?;
            }
            let earliest = |part: &&mut Part| part.next.map(|event| event.time_nanoseconds);
            let parts = self.parts.iter_mut().filter(|part| part.next.is_some());
            let Some(event) = parts.min_by_key(earliest).and_then(|part| part.next.take()) else {
                self.ended = true;
                continue;
            };
            self.follower.take(&event);
            let unpaired = self.follower.take_unpaired();
            if unpaired > 0 {
                return Ok(SourceItem::Problem(ProblemKind::Unpaired, unpaired, None));
            }
        }
    }

    fn place(&self, _: &Input) -> ProblemSite {
        ProblemSite::Record(self.events)
    }

    fn contents(&self) -> Contents {
        CONTENTS
    }
}

//! What `blkparse` prints when it is told nothing about the format: one event a line, a summary at
//! the end.
//!
//! ```text
//!   8,0    3       12     0.000123456   697  Q  WS 223490 + 8 [kjournald]
//! ```

use block::SECTOR_BYTES;
use words::{Text, statement};

use crate::catalogue;
use crate::csv::nanoseconds;
use crate::follow::{Event, EventKind, Follower};
use crate::source::{Contents, Devices, Lines, ParsedLine};
use crate::{Record, RecordedOp, blktrace};

/// How lines of the summary begin.
const SUMMARY: [&str; 13] = [
    "CPU",
    "Total",
    "Throughput",
    "Events",
    "Skips",
    "Reads",
    "Read ",
    "Write",
    "PC ",
    "IO ",
    "Timer",
    "Input",
    "Merge",
];

#[derive(Default)]
pub(crate) struct Blkparse {
    follower: Follower,
}

/// Whether a file begins as the format does.
pub(crate) fn begins(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
    is_device(words.next().unwrap_or_default())
        && is_number(words.next())
        && is_number(words.next())
        && words.next().is_some_and(|time| time.contains('.') && nanoseconds(time).is_some())
}

fn is_device(word: &str) -> bool {
    let numbers = word.split_once(',');
    numbers
        .is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok())
}

fn event(line: &str, devices: &mut Devices) -> Result<Option<Event>, Text> {
    if line.is_empty() {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut word =
        |name: &str| words.next().ok_or_else(|| statement!(catalogue::BLKPARSE_LACKS, name = name));
    let device = word("device")?;
    if !is_device(device) {
        return match SUMMARY.iter().any(|begin| line.starts_with(begin)) {
            true => Ok(None),
            false => Err(statement!(catalogue::NO_DEVICE_NUMBERS, device = device)),
        };
    }
    let device = devices.number(device);
    word("processor")?;
    word("sequence")?;
    let time = word("time")?;
    let time_nanoseconds =
        nanoseconds(time).ok_or_else(|| statement!(catalogue::NO_SECONDS, time = time))?;
    let pid = word("process")?;
    let stream = pid.parse().map_err(|_| statement!(catalogue::NO_PROCESS, pid = pid))?;
    let kind = match word("action")? {
        "Q" => EventKind::Queued,
        "D" => EventKind::Issued,
        "C" => EventKind::Completed,
        _ => return Ok(None),
    };
    let letters = word("RWBS")?;
    let sector = words.next().and_then(|sector| sector.parse::<u64>().ok());
    let length = match (words.next(), words.next()) {
        (Some("+"), Some(sectors)) => sectors
            .parse::<u64>()
            .map_err(|_| statement!(catalogue::NO_SECTORS, sectors = sectors))?,
        // A flush has no range; what is passed through has bytes in brackets and is no request.
        _ if letters.starts_with('F') => 0,
        // The completion of a flush no longer carries its letter.
        _ if kind == EventKind::Completed && letters.starts_with('W') => 0,
        _ => return Ok(None),
    };
    let bytes = |sectors: u64| {
        let bytes = sectors.checked_mul(SECTOR_BYTES);
        bytes.ok_or_else(|| statement!(catalogue::TOO_MANY_SECTORS, sectors = sectors))
    };
    let (offset, length) = (bytes(sector.unwrap_or(0))?, bytes(length)?);
    let event = Event {
        time_nanoseconds,
        kind,
        op: RecordedOp::Read,
        flush_first: false,
        fua: false,
        offset,
        length,
        stream,
        device,
    };
    event.with_letters(letters).ok_or_else(|| statement!(catalogue::NO_RWBS, letters = letters))
}

impl Lines for Blkparse {
    const CONTENTS: Contents = blktrace::CONTENTS;

    fn parse(&mut self, line: &str, devices: &mut Devices) -> ParsedLine {
        if let Some(event) = event(line, devices)? {
            self.follower.take(&event);
        }
        Ok(None)
    }

    fn ready(&mut self) -> Option<(Record, u32)> {
        self.follower.next_ended()
    }

    fn left(&mut self) -> Option<(Record, u32)> {
        self.follower.next_left()
    }

    fn unpaired(&mut self) -> u64 {
        self.follower.take_unpaired()
    }
}

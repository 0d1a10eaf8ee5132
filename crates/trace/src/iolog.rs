//! fio's log of what it did (`write_iolog`), versions 2 and 3, and the writer of version 3.
//!
//! ```text
//!   version 2   FILE ACTION [OFFSET LENGTH]            `wait` has microseconds for its offset
//!   version 3   MICROSECONDS FILE ACTION [OFFSET LENGTH]
//! ```

use std::io::Write;

use block::Error;
use words::{Message, statement};

use crate::catalogue;
use crate::source::{Contents, Devices, Lines, ParsedLine};
use crate::{Record, RecordedOp};

const VERSION_2: &str = "fio version 2 iolog";
const VERSION_3: &str = "fio version 3 iolog";

#[derive(Default)]
pub(crate) struct Iolog {
    version: u32,
    waited_nanoseconds: u64,
}

/// Whether a file begins as the format does.
pub(crate) fn begins(line: &str) -> bool {
    line == VERSION_2 || line == VERSION_3
}

impl Iolog {
    fn line(&mut self, line: &str, devices: &mut Devices) -> ParsedLine {
        // From behind: a file's name may have blanks, and an action has two numbers or none.
        let words: Vec<&str> = line.split(' ').collect();
        let (words, times) = match self.version {
            2 => (&words[..], None),
            _ => (&words[1..], Some(words[0])),
        };
        let mut time_nanoseconds = self.waited_nanoseconds;
        if let Some(text) = times {
            let microseconds: Option<u64> = text.parse().ok();
            time_nanoseconds = microseconds
                .and_then(|microseconds| microseconds.checked_mul(1000))
                .ok_or_else(|| statement!(catalogue::NO_MICROSECONDS, text = text))?;
        }
        if let [.., "add" | "open" | "close"] = words {
            return Ok(None);
        }
        let is_bare = matches!(words, [.., "sync" | "datasync" | "sync_file_range"]);
        let (name, action, offset, length) = match words {
            [name @ .., action] if is_bare => (name, *action, "0", "0"),
            [name @ .., "wait", time] if self.version == 2 => (name, "wait", *time, "0"),
            [name @ .., action, offset, length] => (name, *action, *offset, *length),
            _ => return Err(catalogue::IOLOG_LINE.into()),
        };
        let op = match action {
            "read" => RecordedOp::Read,
            "write" => RecordedOp::Write,
            "trim" => RecordedOp::Discard,
            "sync" | "datasync" => RecordedOp::Flush,
            "sync_file_range" => return Ok(None),
            "wait" => {
                let wait: Option<u64> = offset.parse().ok();
                let wait = wait.and_then(|wait| wait.checked_mul(1000));
                let wait =
                    wait.ok_or_else(|| statement!(catalogue::NO_MICROSECONDS, text = offset))?;
                self.waited_nanoseconds = self.waited_nanoseconds.saturating_add(wait);
                return Ok(None);
            }
            _ => {
                return Err(statement!(catalogue::NO_ACTION, action = action));
            }
        };
        let number = |text: &str, what: Message| {
            let no_number = |_| statement!(catalogue::NO_NUMBER_OF, text = text, what = what);
            text.parse::<u64>().map_err(no_number)
        };
        let (offset, length) = match op {
            RecordedOp::Flush => (0, 0),
            _ => (number(offset, catalogue::AN_OFFSET)?, number(length, catalogue::A_LENGTH)?),
        };
        let (latency_nanoseconds, fua, stream) = (None, false, 0);
        let record =
            Record { time_nanoseconds, latency_nanoseconds, op, fua, offset, length, stream };
        Ok(Some((record, devices.number(&name.join(" ")))))
    }
}

impl Lines for Iolog {
    const CONTENTS: Contents =
        Contents { times: true, completions: false, streams: false, flushes: true, discards: true };

    fn parse(&mut self, line: &str, devices: &mut Devices) -> ParsedLine {
        match (self.version, line) {
            (0, VERSION_2) => self.version = 2,
            (0, VERSION_3) => self.version = 3,
            (0, _) => return Err(statement!(catalogue::FIRST_LINE, version_3 = VERSION_3)),
            (_, "") => (),
            _ => return self.line(line, devices),
        }
        Ok(None)
    }

    fn contents(&self) -> Contents {
        // Of version 2 waiting is known, where it was logged, and nothing else.
        Contents { times: self.version == 3 || self.waited_nanoseconds > 0, ..Iolog::CONTENTS }
    }
}

/// Writes version 3: latencies, streams and FUA have no place in it, and a write of zeroes is a
/// write.
pub struct IologWriter<W: Write> {
    output: W,
    name: String,
    last_microseconds: u64,
}

impl<W: Write> IologWriter<W> {
    /// A log of what was done to the file of this name.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(mut output: W, name: &str) -> Result<IologWriter<W>, Error> {
        writeln!(output, "{VERSION_3}\n0 {name} add\n0 {name} open").map_err(failed)?;
        Ok(IologWriter { output, name: name.to_owned(), last_microseconds: 0 })
    }

    /// Writes one request.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        let action = match record.op {
            RecordedOp::Read => "read",
            RecordedOp::Write | RecordedOp::WriteZeroes => "write",
            RecordedOp::Discard => "trim",
            RecordedOp::Flush => "sync",
        };
        self.last_microseconds = record.time_nanoseconds / 1000;
        let (time, name) = (self.last_microseconds, &self.name);
        writeln!(self.output, "{time} {name} {action} {} {}", record.offset, record.length)
            .map_err(failed)
    }

    /// Writes the end.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(&mut self) -> Result<(), Error> {
        writeln!(self.output, "{} {} close", self.last_microseconds, self.name)
            .and_then(|()| self.output.flush())
            .map_err(failed)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::from_io(catalogue::WRITING_IOLOG, error)
}

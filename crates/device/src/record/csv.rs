//! Requests as lines of text, as blkparse and others can write them; described in
//! `docs/formats/trace.md`.

use std::io::{BufRead, Read};
use std::str;

use block::{Error, ErrorKind, SECTOR_BYTES};

use super::{Record, RecordedOp};

/// No line of requests is longer. What is, was not written by a program that lists requests.
const LINE_BYTES: usize = 4096;

/// Where each column stands, and the unit of the last two.
struct Columns {
    time: usize,
    op: usize,
    offset: usize,
    length: usize,
    unit_bytes: u64,
}

pub(super) struct CsvReader<R> {
    input: R,
    columns: Option<Columns>,
    line_number: u64,
    line: Vec<u8>,
}

/// The columns that a line names; `None` when it is no such line.
fn columns(line: &str) -> Option<Columns> {
    let find =
        |name: &str| line.split(',').position(|other| other.trim().eq_ignore_ascii_case(name));
    let (time, op) = (find("time")?, find("op")?);
    let columns = |offset, length, unit_bytes| Columns { time, op, offset, length, unit_bytes };
    let bytes =
        find("offset").zip(find("length")).map(|(offset, length)| columns(offset, length, 1));
    bytes.or_else(|| {
        find("sector")
            .zip(find("sectors"))
            .map(|(offset, length)| columns(offset, length, SECTOR_BYTES))
    })
}

/// Operation and FUA; `None` for what moves nothing.
fn operation(text: &str) -> Option<Option<(RecordedOp, bool)>> {
    let named = match text.to_lowercase().as_str() {
        "read" => Some(RecordedOp::Read),
        "write" => Some(RecordedOp::Write),
        "zeroes" => Some(RecordedOp::WriteZeroes),
        "discard" => Some(RecordedOp::Discard),
        "flush" => Some(RecordedOp::Flush),
        _ => None,
    };
    if let Some(op) = named {
        return Some(Some((op, false)));
    }
    // RWBS: F in front is a flush before the data, F behind the operation is FUA.
    if text.is_empty() || !text.chars().all(|letter| "RWDFNSAMBE".contains(letter)) {
        return None;
    }
    let op = match text.trim_start_matches('F').chars().next() {
        Some('D') => RecordedOp::Discard,
        Some('R') => RecordedOp::Read,
        Some('W') => RecordedOp::Write,
        _ if text.starts_with('F') => RecordedOp::Flush,
        _ => return Some(None),
    };
    let fua = op == RecordedOp::Write && text.trim_start_matches('F').contains('F');
    Some(Some((op, fua)))
}

impl<R: BufRead> CsvReader<R> {
    pub(super) fn new(input: R) -> CsvReader<R> {
        CsvReader { input, columns: None, line_number: 0, line: Vec::new() }
    }

    pub(super) fn next_record(&mut self) -> Result<Option<Record>, Error> {
        loop {
            self.line.clear();
            self.line_number += 1;
            let fail = |error| Error::from_io("reading the trace", error);
            if self
                .input
                .by_ref()
                .take(LINE_BYTES as u64 + 1)
                .read_until(b'\n', &mut self.line)
                .map_err(fail)?
                == 0
            {
                return Ok(None);
            }
            let wrong = |problem: String| {
                Error::new(ErrorKind::Invalid, format!("line {}: {problem}", self.line_number))
            };
            if self.line.len() > LINE_BYTES {
                return Err(wrong(format!(
                    "longer than {LINE_BYTES} bytes; this is neither a trace nor lines of requests"
                )));
            }
            let line = str::from_utf8(&self.line).map_err(|_| {
                wrong("no text; this is neither a trace nor lines of requests".to_owned())
            })?;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let columns = match &self.columns {
                Some(columns) => columns,
                None => {
                    let named = columns(line);
                    let is_head = named.is_some();
                    let plain = Columns { time: 0, op: 1, offset: 2, length: 3, unit_bytes: 1 };
                    let columns = self.columns.insert(named.unwrap_or(plain));
                    if is_head {
                        continue;
                    }
                    columns
                }
            };
            match record(line, columns) {
                Ok(Some(record)) => return Ok(Some(record)),
                Ok(None) => (),
                Err(problem) => return Err(wrong(problem)),
            }
        }
    }
}

fn record(line: &str, columns: &Columns) -> Result<Option<Record>, String> {
    let cell = |at: usize, name: &str| {
        let cell = line.split(',').nth(at).map(str::trim);
        cell.ok_or_else(|| format!("no {name}; a line is time,op,offset,length"))
    };
    let op_text = cell(columns.op, "op")?;
    let op = operation(op_text).ok_or_else(|| {
        format!(
            "`{op_text}` is no operation (read, write, zeroes, discard, flush, or blktrace's RWBS)"
        )
    })?;
    let Some((op, fua)) = op else { return Ok(None) };
    let time_text = cell(columns.time, "time")?;
    let seconds =
        time_text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    let seconds = seconds.ok_or_else(|| format!("`{time_text}` is no time in seconds"))?;
    let time_nanoseconds = (seconds * 1e9) as u64;
    if op == RecordedOp::Flush {
        return Ok(Some(Record { time_nanoseconds, op, fua, offset: 0, length: 0 }));
    }
    let number = |at: usize, name: &str| {
        let text = cell(at, name)?;
        let bytes =
            text.parse().ok().and_then(|number: u64| number.checked_mul(columns.unit_bytes));
        bytes.ok_or_else(|| format!("`{text}` is no {name}"))
    };
    let (offset, length) = (number(columns.offset, "offset")?, number(columns.length, "length")?);
    if offset.checked_add(length).is_none() {
        return Err("it reaches past 2^64 bytes".to_owned());
    }
    // A write of nothing is how blktrace shows a flush that waits for data.
    Ok((length > 0).then_some(Record { time_nanoseconds, op, fua, offset, length }))
}

#[cfg(test)]
mod tests {
    use std::io::{self, BufReader};

    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Result<Vec<Record>, String> {
        let mut reader = CsvReader::new(text.as_ref());
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
            records.push(record);
        }
        Ok(records)
    }

    fn record(time_nanoseconds: u64, op: RecordedOp, offset: u64, length: u64) -> Record {
        Record { time_nanoseconds, op, fua: false, offset, length }
    }

    #[test]
    fn lines_are_read_with_and_without_a_head() {
        let expected = vec![
            record(0, RecordedOp::Read, 4096, 512),
            record(1_500_000_000, RecordedOp::Write, 0, 8192),
        ];
        assert_eq!(read("0,read,4096,512\n\n# a remark\n1.5,write,0,8192\n"), Ok(expected.clone()));
        assert_eq!(read("time,op,sector,sectors\n0,R,8,1\n1.5,WS,0,16\n"), Ok(expected.clone()));
        assert_eq!(
            read("length,cpu,offset,Time,op\n512,3,4096,0,RA\n8192,1,0,1.5,W"),
            Ok(expected)
        );
    }

    #[test]
    fn the_letters_of_blktrace_are_understood() {
        let cases = [
            ("R", Some((RecordedOp::Read, false))),
            ("RSM", Some((RecordedOp::Read, false))),
            ("W", Some((RecordedOp::Write, false))),
            ("WFS", Some((RecordedOp::Write, true))),
            ("FWS", Some((RecordedOp::Write, false))),
            ("FWFS", Some((RecordedOp::Write, true))),
            ("D", Some((RecordedOp::Discard, false))),
            ("F", Some((RecordedOp::Flush, false))),
            ("N", None),
        ];
        for (text, expected) in cases {
            assert_eq!(operation(text), Some(expected), "{text}");
        }
        assert_eq!(operation("seek"), None);
        assert_eq!(read("0,F,0,0\n1,W,0,0\n"), Ok(vec![record(0, RecordedOp::Flush, 0, 0)]));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, expected) in [
            ("0,read,0,512\n1,seek,0,1", "line 2: `seek` is no operation"),
            ("x,read,0,512", "line 1: `x` is no time"),
            ("0,read,-5,512", "line 1: `-5` is no offset"),
            ("0,read,5", "line 1: no length"),
            (
                "time,op,sector,sectors\n0,R,18446744073709551615,1",
                "line 2: `18446744073709551615` is no offset",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let longest = format!("0,read,0,512{}\n", " ".repeat(LINE_BYTES - 13));
        assert_eq!(read(&longest), Ok(vec![record(0, RecordedOp::Read, 0, 512)]));
        let error = read(format!(" {longest}")).expect_err("one byte more");
        assert!(error.starts_with("line 1: longer than 4096 bytes"), "{error}");
        let mut endless = CsvReader::new(BufReader::new(io::repeat(b',')));
        assert!(endless.next_record().is_err() && endless.line.capacity() <= 4 * LINE_BYTES);
        let error = read(b"0,read,0,512\n\xff\xfe,read").expect_err("no text");
        assert!(error.starts_with("line 2: no text"), "{error}");
    }
}

//! Requests as lines of text, as blkparse and others can write them; described in
//! `docs/formats/trace.md`.

use std::io::Write;

use block::{Error, SECTOR_BYTES};
use words::{Text, statement};

use crate::catalogue;
use crate::source::{Contents, Devices, Lines, ParsedLine};
use crate::{Record, RecordedOp};

/// Where each column stands, and the unit of the last two.
struct Columns {
    time: usize,
    op: usize,
    offset: usize,
    length: usize,
    unit_bytes: u64,
    fua: Option<usize>,
    latency: Option<usize>,
    stream: Option<usize>,
}

/// Without a line that names them.
const PLAIN: Columns = Columns {
    time: 0,
    op: 1,
    offset: 2,
    length: 3,
    unit_bytes: 1,
    fua: None,
    latency: None,
    stream: None,
};

const NANOSECONDS: u64 = 1_000_000_000;

#[derive(Default)]
pub(crate) struct Csv {
    columns: Option<Columns>,
}

/// The columns that a line names; `None` when it is no such line.
fn columns(line: &str) -> Option<Columns> {
    let find =
        |name: &str| line.split(',').position(|other| other.trim().eq_ignore_ascii_case(name));
    let (time, op) = (find("time")?, find("op")?);
    let (fua, latency, stream) = (find("fua"), find("latency"), find("stream"));
    let columns = |offset, length, unit_bytes| Columns {
        time,
        op,
        offset,
        length,
        unit_bytes,
        fua,
        latency,
        stream,
    };
    let bytes =
        find("offset").zip(find("length")).map(|(offset, length)| columns(offset, length, 1));
    bytes.or_else(|| {
        find("sector")
            .zip(find("sectors"))
            .map(|(offset, length)| columns(offset, length, SECTOR_BYTES))
    })
}

/// Operation and FUA, by name or as blktrace writes them; none within for what moves nothing, none
/// for what is no operation.
pub(crate) fn operation(text: &str) -> Option<Option<(RecordedOp, bool)>> {
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
    if text.is_empty() || !text.chars().all(|letter| "RWDFNSAMBEUZ".contains(letter)) {
        return None;
    }
    let op = match text.trim_start_matches('F').chars().next() {
        // As some kernels write it.
        Some('Z') => RecordedOp::WriteZeroes,
        Some('W') if text.contains('Z') => RecordedOp::WriteZeroes,
        Some('D') => RecordedOp::Discard,
        Some('R') => RecordedOp::Read,
        Some('W') => RecordedOp::Write,
        _ if text.starts_with('F') => RecordedOp::Flush,
        _ => return Some(None),
    };
    let fua = matches!(op, RecordedOp::Write | RecordedOp::WriteZeroes)
        && text.trim_start_matches('F').contains('F');
    Some(Some((op, fua)))
}

/// A decimal number of seconds in nanoseconds, exactly: times since 1970 have more digits than a
/// floating-point number.
pub(crate) fn nanoseconds(seconds: &str) -> Option<u64> {
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let is_plain =
        !whole.is_empty() && whole.bytes().chain(part.bytes()).all(|digit| digit.is_ascii_digit());
    if !is_plain {
        let seconds: f64 = seconds.parse().ok()?;
        return (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1e9) as u64);
    }
    let digits = part.bytes().chain(std::iter::repeat(b'0')).take(9);
    let part = digits.fold(0, |all, digit| all * 10 + u64::from(digit - b'0'));
    whole.parse::<u64>().ok()?.checked_mul(NANOSECONDS)?.checked_add(part)
}

impl Lines for Csv {
    const CONTENTS: Contents =
        Contents { times: true, completions: false, streams: false, flushes: true, discards: true };

    fn parse(&mut self, line: &str, _: &mut Devices) -> ParsedLine {
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let columns = match &self.columns {
            Some(columns) => columns,
            None => {
                let named = columns(line);
                let is_head = named.is_some();
                let columns = self.columns.insert(named.unwrap_or(PLAIN));
                if is_head {
                    return Ok(None);
                }
                columns
            }
        };
        Ok(record(line, columns)?.map(|record| (record, 0)))
    }

    fn contents(&self) -> Contents {
        let has = |column: fn(&Columns) -> Option<usize>| {
            self.columns.as_ref().and_then(column).is_some()
        };
        Contents {
            completions: has(|columns| columns.latency),
            streams: has(|columns| columns.stream),
            ..Csv::CONTENTS
        }
    }
}

fn record(line: &str, columns: &Columns) -> Result<Option<Record>, Text> {
    let cell = |at: usize, name: &str| {
        let cell = line.split(',').nth(at).map(str::trim);
        cell.ok_or_else(|| statement!(catalogue::CSV_LACKS, name = name))
    };
    let op_text = cell(columns.op, "op")?;
    let op =
        operation(op_text).ok_or_else(|| statement!(catalogue::NO_OPERATION, op_text = op_text))?;
    let Some((op, fua)) = op else { return Ok(None) };
    let seconds = |at: usize| {
        let text = cell(at, "time")?;
        nanoseconds(text).ok_or_else(|| statement!(catalogue::NO_SECONDS, time = text))
    };
    let time_nanoseconds = seconds(columns.time)?;
    // Where it is not known the cell is empty.
    let told = |column: Option<usize>| {
        column.filter(|at| line.split(',').nth(*at).is_some_and(|cell| !cell.trim().is_empty()))
    };
    let latency_nanoseconds = told(columns.latency).map(seconds).transpose()?;
    let fua = fua
        || told(columns.fua).is_some_and(|at| line.split(',').nth(at).map(str::trim) == Some("1"));
    let mut stream = 0;
    if let Some(at) = told(columns.stream) {
        let text = cell(at, "stream")?;
        stream = text.parse().map_err(|_| statement!(catalogue::NO_STREAM, text = text))?;
    }
    let mut record =
        Record { time_nanoseconds, latency_nanoseconds, op, fua, offset: 0, length: 0, stream };
    if op == RecordedOp::Flush {
        return Ok(Some(record));
    }
    let number = |at: usize, name: &str| {
        let text = cell(at, name)?;
        let bytes =
            text.parse().ok().and_then(|number: u64| number.checked_mul(columns.unit_bytes));
        bytes.ok_or_else(|| statement!(catalogue::NO_SUCH, text = text, name = name))
    };
    (record.offset, record.length) =
        (number(columns.offset, "offset")?, number(columns.length, "length")?);
    // A write of nothing is how blktrace shows a flush that waits for data.
    let is_blktrace_flush = record.length == 0 && op_text.starts_with('F');
    Ok((!is_blktrace_flush).then_some(record))
}

/// Writes lines that are read again with nothing lost.
pub struct CsvWriter<W: Write>(W);

impl<W: Write> CsvWriter<W> {
    /// With the line that names the columns.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(mut output: W) -> Result<CsvWriter<W>, Error> {
        writeln!(output, "time,op,fua,offset,length,latency,stream").map_err(failed)?;
        Ok(CsvWriter(output))
    }

    /// Writes one request.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        let op = match record.op {
            RecordedOp::Read => "read",
            RecordedOp::Write => "write",
            RecordedOp::WriteZeroes => "zeroes",
            RecordedOp::Discard => "discard",
            RecordedOp::Flush => "flush",
        };
        let seconds = |time: u64| format!("{}.{:09}", time / NANOSECONDS, time % NANOSECONDS);
        let (time, fua) = (seconds(record.time_nanoseconds), u8::from(record.fua));
        let latency = record.latency_nanoseconds.map_or(String::new(), seconds);
        let stream = if record.stream == 0 { String::new() } else { record.stream.to_string() };
        let Record { offset, length, .. } = record;
        writeln!(self.0, "{time},{op},{fua},{offset},{length},{latency},{stream}").map_err(failed)
    }

    /// Writes what was kept back.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.0.flush().map_err(failed)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::from_io(catalogue::WRITING_CSV, error)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor};

    use super::*;
    use crate::input::LINE_BYTES;
    use crate::{ReadOptions, Reader};

    fn read(text: impl AsRef<[u8]>) -> Result<Vec<Record>, String> {
        let options = ReadOptions { strict: true, ..ReadOptions::default() };
        let reader = Reader::new(Cursor::new(text.as_ref().to_vec()), &options);
        reader.expect("a file").collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    fn record(time_nanoseconds: u64, op: RecordedOp, offset: u64, length: u64) -> Record {
        let (latency_nanoseconds, fua, stream) = (None, false, 0);
        Record { time_nanoseconds, latency_nanoseconds, op, fua, offset, length, stream }
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
        assert_eq!(read("0,F,0,0\n1,FW,0,0\n"), Ok(vec![record(0, RecordedOp::Flush, 0, 0)]));
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
        let endless = Reader::new(io::repeat(b','), &ReadOptions::default()).expect("a file");
        assert_eq!(endless.filter(Result::is_err).count(), 1);
        let error = read(b"0,read,0,512\n\xff\xfe,read").expect_err("no text");
        assert!(error.starts_with("line 2: no text"), "{error}");
    }

    #[test]
    fn latencies_and_streams_are_read_where_columns_are_called_so() {
        let text = "time,op,offset,length,latency,stream\n1792000000.000000001,read,0,512,0.5,7\n\
            1792000000.000000002,write,512,512,,\n";
        let told = Record {
            latency_nanoseconds: Some(500_000_000),
            stream: 7,
            ..record(0, RecordedOp::Read, 0, 512)
        };
        assert_eq!(read(text), Ok(vec![told, record(1, RecordedOp::Write, 512, 512)]));
    }
}

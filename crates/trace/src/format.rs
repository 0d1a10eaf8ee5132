//! Records as bytes; drawn in `docs/formats/trace.md`.

use std::io::{Seek, SeekFrom, Write};

use block::{Error, ErrorKind};
use words::{Text, statement};

use crate::catalogue;
use crate::input::Input;
use crate::source::{Contents, Devices, Source, SourceItem};
use crate::{ProblemKind, ProblemSite, Record, RecordedOp};

pub(crate) const MAGIC: &[u8; 16] = b"raidloom trace\0\0";
const VERSION: u32 = 2;
/// Without latencies and streams.
const VERSION_1: u32 = 1;
/// Of version 1; version 2 has eight bytes behind them.
const HEADER_BYTES: usize = 32;
/// Where the size of the device stands.
const SIZE_OFFSET: u64 = 24;

const OP_MASK: u8 = 0b111;
const FUA: u8 = 1 << 3;
const CONTINUES: u8 = 1 << 4;
const SAME_LENGTH: u8 = 1 << 5;
const LATENCY: u8 = 1 << 6;
const STREAM: u8 = 1 << 7;

const HAS_COMPLETIONS: u32 = 1;
const HAS_STREAMS: u32 = 1 << 1;
const HAS_FLUSHES: u32 = 1 << 2;
const HAS_DISCARDS: u32 = 1 << 3;
const HAS_TIMES: u32 = 1 << 4;
const ANONYMOUS: u32 = 1 << 5;

/// Bytes that are kept back before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// What stands in front of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Logical block of the device, in bytes.
    pub block_bytes: u32,
    /// Size of the device, in bytes.
    pub size_bytes: u64,
    /// What the records tell.
    pub contents: Contents,
    /// Whether offsets are others than on the device.
    pub anonymous: bool,
}

/// What the next record is told relative to.
#[derive(Default)]
struct PreviousRecord {
    time: u64,
    /// In blocks.
    end: u64,
    length: u64,
    stream: u32,
}

/// Writes a trace.
pub struct Writer<W: Write> {
    output: W,
    bytes: Vec<u8>,
    block_bytes: u64,
    previous: PreviousRecord,
    count: u64,
    /// Length of the end, once it is written.
    end_bytes: Option<i64>,
}

impl<W: Write> Writer<W> {
    /// A trace of the device that `header` tells of.
    pub fn new(output: W, header: &Header) -> Writer<W> {
        let Contents { times, completions, streams, flushes, discards } = header.contents;
        let flags = [
            (times, HAS_TIMES),
            (completions, HAS_COMPLETIONS),
            (streams, HAS_STREAMS),
            (flushes, HAS_FLUSHES),
            (discards, HAS_DISCARDS),
            (header.anonymous, ANONYMOUS),
        ];
        let flags = flags.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(header.block_bytes.to_le_bytes());
        bytes.extend(header.size_bytes.to_le_bytes());
        bytes.extend(u32::to_le_bytes(flags));
        bytes.extend([0; 4]);
        let block_bytes = header.block_bytes.into();
        Writer {
            output,
            bytes,
            block_bytes,
            previous: PreviousRecord::default(),
            count: 0,
            end_bytes: None,
        }
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn encode(&mut self, record: &Record) {
        let op = match record.op {
            RecordedOp::Read => 1,
            RecordedOp::Write => 2,
            RecordedOp::WriteZeroes => 3,
            RecordedOp::Discard => 4,
            RecordedOp::Flush => 5,
        };
        let is_flush = record.op == RecordedOp::Flush;
        let (offset, length) = (record.offset / self.block_bytes, record.length / self.block_bytes);
        let continues = !is_flush && offset == self.previous.end;
        let same_length = !is_flush && length == self.previous.length;
        let other_stream = record.stream != self.previous.stream;
        let flags = [
            (record.fua, FUA),
            (continues, CONTINUES),
            (same_length, SAME_LENGTH),
            (record.latency_nanoseconds.is_some(), LATENCY),
            (other_stream, STREAM),
        ];
        let flags = flags.iter().filter(|(set, _)| *set).fold(op, |all, (_, flag)| all | flag);
        self.bytes.push(flags);
        self.varint(record.time_nanoseconds - self.previous.time);
        if !is_flush && !continues {
            let distance = offset.wrapping_sub(self.previous.end) as i64;
            self.varint((distance << 1 ^ distance >> 63) as u64);
        }
        if !is_flush && !same_length {
            self.varint(length);
        }
        if let Some(latency) = record.latency_nanoseconds {
            self.varint(latency);
        }
        if other_stream {
            self.varint(record.stream.into());
        }
        self.previous.time = record.time_nanoseconds;
        self.previous.stream = record.stream;
        if !is_flush {
            (self.previous.end, self.previous.length) = (offset + length, length);
        }
        self.count += 1;
    }

    fn put(&mut self) -> Result<(), Error> {
        let put = self.output.write_all(&self.bytes);
        self.bytes.clear();
        put.map_err(|error| Error::from_io(catalogue::WRITING_TRACE, error))
    }

    /// Writes a record, no earlier than the one before it and in whole blocks; it may be kept back.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        self.encode(record);
        if self.bytes.len() < BUFFER_BYTES { Ok(()) } else { self.put() }
    }

    /// Writes what was kept back, the header too: all of it is there should the program be killed.
    ///
    /// # Errors
    /// What the system says.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.put()?;
        self.output.flush().map_err(|error| Error::from_io(catalogue::WRITING_TRACE, error))
    }

    /// Writes the end; nothing comes after it. `lost` requests are not in the trace.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(&mut self, lost: u64) -> Result<(), Error> {
        self.put()?;
        self.bytes.push(0);
        self.varint(self.count);
        self.varint(lost);
        self.end_bytes = Some(self.bytes.len() as i64);
        self.flush()
    }

    /// Goes on after all: what is written next takes the place of the end.
    ///
    /// # Errors
    /// What the system says.
    pub fn go_on(&mut self) -> Result<(), Error>
    where
        W: Seek,
    {
        let Some(length) = self.end_bytes.take() else { return Ok(()) };
        let back = self.output.seek(SeekFrom::Current(-length));
        back.map(drop).map_err(|error| Error::from_io(catalogue::WRITING_TRACE, error))
    }

    /// [`Writer::finish`] where the size of the device was not known in the beginning.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish_sized(&mut self, lost: u64, size_bytes: u64) -> Result<(), Error>
    where
        W: Seek,
    {
        self.finish(lost)?;
        let output = &mut self.output;
        output
            .seek(SeekFrom::Start(SIZE_OFFSET))
            .and_then(|_| output.write_all(&size_bytes.to_le_bytes()))
            .and_then(|()| output.flush())
            .map_err(|error| Error::from_io(catalogue::WRITING_TRACE, error))
    }

    /// How many records were written.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// Bytes to records.
pub(crate) struct Decoder {
    version: u32,
    header: Header,
    previous: PreviousRecord,
    count: u64,
    /// What its end told.
    lost: u64,
    ended: bool,
}

fn corrupt(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Corrupt, text)
}

impl Decoder {
    pub(crate) fn new(input: &mut Input) -> Result<Decoder, Error> {
        let mut header = [0; HEADER_BYTES];
        let mut more = [0; 8];
        let word =
            |bytes: &[u8], at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        let short = || corrupt(catalogue::HEADER_ENDS);
        if !input.exact(&mut header)? {
            return Err(short());
        }
        let version = word(&header, 16);
        if version != VERSION && version != VERSION_1 {
            let text = statement!(catalogue::TRACE_VERSION, version = version, known = VERSION);
            return Err(Error::new(ErrorKind::Refused, text));
        }
        if version == VERSION && !input.exact(&mut more)? {
            return Err(short());
        }
        let block_bytes = word(&header, 20);
        if !block_bytes.is_power_of_two() || block_bytes < 512 {
            return Err(corrupt(statement!(catalogue::HEADER_BLOCKS, block_bytes = block_bytes)));
        }
        let size = [24, 25, 26, 27, 28, 29, 30, 31].map(|at| header[at]);
        let flags = match version {
            VERSION_1 => HAS_TIMES | HAS_FLUSHES | HAS_DISCARDS,
            _ => word(&more, 0),
        };
        let has = |flag: u32| flags & flag != 0;
        let contents = Contents {
            times: has(HAS_TIMES),
            completions: has(HAS_COMPLETIONS),
            streams: has(HAS_STREAMS),
            flushes: has(HAS_FLUSHES),
            discards: has(HAS_DISCARDS),
        };
        let size_bytes = u64::from_le_bytes(size);
        let header = Header { block_bytes, size_bytes, contents, anonymous: has(ANONYMOUS) };
        Ok(Decoder {
            version,
            header,
            previous: PreviousRecord::default(),
            count: 0,
            lost: 0,
            ended: false,
        })
    }

    fn varint(&self, input: &mut Input) -> Result<Option<u64>, Error> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some(byte) = input.byte()? else { return Ok(None) };
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(Some(number));
            }
        }
        Err(self.damaged(catalogue::NUMBER_TOO_LONG))
    }

    fn damaged(&self, what: impl Into<Text>) -> Error {
        corrupt(statement!(catalogue::DAMAGED_BEHIND, count = self.count, what = what))
    }

    /// The end that is written, once its first byte was read; `None` where the file ends first.
    fn end(&mut self, kind: u8, input: &mut Input) -> Result<Option<()>, Error> {
        let Some(count) = self.varint(input)? else { return Ok(None) };
        if kind != 0 || count != self.count {
            return Err(self.damaged(statement!(catalogue::END_SPEAKS_OF, count = count)));
        }
        if self.version >= VERSION {
            let Some(lost) = self.varint(input)? else { return Ok(None) };
            self.lost = lost;
        }
        self.ended = true;
        Ok(Some(()))
    }

    /// `None` where the file was cut off, or its end was read.
    fn next_record(&mut self, input: &mut Input) -> Result<Option<Record>, Error> {
        let Some(kind) = input.byte()? else { return Ok(None) };
        let op = match kind & OP_MASK {
            0 => return self.end(kind, input).map(|_| None),
            1 => RecordedOp::Read,
            2 => RecordedOp::Write,
            3 => RecordedOp::WriteZeroes,
            4 => RecordedOp::Discard,
            5 => RecordedOp::Flush,
            other => {
                return Err(self.damaged(statement!(catalogue::NO_SUCH_OPERATION, other = other)));
            }
        };
        if self.version == VERSION_1 && kind & (LATENCY | STREAM) != 0 {
            return Err(self.damaged(catalogue::UNKNOWN_BIT));
        }
        let Some(time) = self.varint(input)? else { return Ok(None) };
        let too_large = catalogue::RECORD_NUMBER_TOO_LARGE;
        let time_nanoseconds =
            self.previous.time.checked_add(time).ok_or_else(|| self.damaged(too_large))?;
        let (mut offset, mut length) = (self.previous.end, self.previous.length);
        let is_flush = op == RecordedOp::Flush;
        if !is_flush && kind & CONTINUES == 0 {
            let Some(zigzag) = self.varint(input)? else { return Ok(None) };
            offset = offset.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg());
        }
        if !is_flush && kind & SAME_LENGTH == 0 {
            let Some(number) = self.varint(input)? else { return Ok(None) };
            length = number;
        }
        let mut latency_nanoseconds = None;
        if kind & LATENCY != 0 {
            let Some(latency) = self.varint(input)? else { return Ok(None) };
            latency_nanoseconds = Some(latency);
        }
        let mut stream = self.previous.stream;
        if kind & STREAM != 0 {
            let Some(number) = self.varint(input)? else { return Ok(None) };
            stream = u32::try_from(number).map_err(|_| self.damaged(too_large))?;
        }
        let block_bytes = u64::from(self.header.block_bytes);
        let end = offset.checked_add(length).filter(|end| end.checked_mul(block_bytes).is_some());
        let end = end.ok_or_else(|| self.damaged(too_large))?;
        self.count += 1;
        self.previous.time = time_nanoseconds;
        self.previous.stream = stream;
        let fua = kind & FUA != 0;
        let record =
            Record { time_nanoseconds, latency_nanoseconds, op, fua, offset: 0, length: 0, stream };
        if is_flush {
            return Ok(Some(record));
        }
        (self.previous.end, self.previous.length) = (end, length);
        Ok(Some(Record { offset: offset * block_bytes, length: length * block_bytes, ..record }))
    }
}

impl Source for Decoder {
    fn step(&mut self, input: &mut Input, _: &mut Devices) -> Result<SourceItem, Error> {
        if self.ended {
            return Ok(SourceItem::End);
        }
        if let Some(record) = self.next_record(input)? {
            return Ok(SourceItem::Request(record, 0));
        }
        if !self.ended {
            self.ended = true;
            return Ok(SourceItem::Problem(ProblemKind::CutOff, 1, None));
        }
        Ok(match self.lost {
            0 => SourceItem::End,
            lost => SourceItem::Problem(ProblemKind::Lost, lost, None),
        })
    }

    fn place(&self, _: &Input) -> ProblemSite {
        ProblemSite::Record(self.count)
    }

    fn contents(&self) -> Contents {
        self.header.contents
    }

    fn geometry(&self) -> (Option<u64>, u32) {
        (Some(self.header.size_bytes), self.header.block_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use reactor::Random;

    use super::*;
    use crate::{ReadOptions, Reader};

    fn records(seed: u64, count: usize) -> Vec<Record> {
        let mut random = Random::with_seed(seed);
        let mut time = 0;
        let mut end = 0;
        let mut length = 512;
        let mut records = Vec::new();
        for _ in 0..count {
            let bits = random.u32(1..40);
            time += random.u64(..1 << bits);
            let ops = [
                RecordedOp::Read,
                RecordedOp::Write,
                RecordedOp::WriteZeroes,
                RecordedOp::Discard,
                RecordedOp::Flush,
            ];
            let op = ops[random.usize(..5)];
            let bits = random.u32(1..40);
            let latency = random.u64(..1 << bits);
            let record = Record {
                time_nanoseconds: time,
                latency_nanoseconds: random.bool().then_some(latency),
                op,
                fua: random.bool(),
                offset: 0,
                length: 0,
                stream: random.u32(..3),
            };
            if op == RecordedOp::Flush {
                records.push(Record { op, fua: false, offset: 0, length: 0, ..record });
                continue;
            }
            let bits = random.u32(1..50);
            let offset = if random.bool() { end } else { random.u64(..1 << bits) << 9 };
            length = if random.bool() { length } else { random.u64(1..1 << 20) << 9 };
            end = offset + length;
            records.push(Record { offset, length, ..record });
        }
        records
    }

    const CONTENTS: Contents =
        Contents { times: true, completions: true, streams: true, flushes: true, discards: false };

    fn encoded(records: &[Record]) -> Vec<u8> {
        let header =
            Header { block_bytes: 512, size_bytes: 1 << 62, contents: CONTENTS, anonymous: false };
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &header);
        records.iter().for_each(|record| writer.write(record).expect("memory takes it"));
        writer.finish(0).expect("memory takes it");
        bytes
    }

    fn decoded(bytes: &[u8]) -> Result<(Vec<Record>, bool), Error> {
        let mut reader = Reader::new(Cursor::new(bytes.to_vec()), &ReadOptions::default())?;
        let records = reader.by_ref().collect::<Result<_, _>>()?;
        Ok((records, reader.is_complete()))
    }

    #[test]
    fn records_come_back() {
        for seed in 0..50 {
            let records = records(seed, 200);
            assert_eq!(
                decoded(&encoded(&records)).expect("a trace"),
                (records, true),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn bytes_are_as_the_page_says() {
        let read = Record {
            time_nanoseconds: 300,
            latency_nanoseconds: None,
            op: RecordedOp::Read,
            fua: false,
            offset: 4096,
            length: 4096,
            stream: 0,
        };
        let next = Record {
            time_nanoseconds: 301,
            latency_nanoseconds: Some(128),
            offset: 8192,
            stream: 3,
            ..read
        };
        let back = Record {
            latency_nanoseconds: None,
            op: RecordedOp::Write,
            fua: true,
            offset: 0,
            length: 512,
            ..next
        };
        let flush = Record {
            latency_nanoseconds: None,
            op: RecordedOp::Flush,
            offset: 0,
            length: 0,
            ..next
        };
        let bytes = encoded(&[read, next, flush, back]);
        assert_eq!(&bytes[..20], b"raidloom trace\0\0\x02\0\0\0");
        assert_eq!(bytes[32..40], [0b1_0111, 0, 0, 0, 0, 0, 0, 0]);
        let expected =
            [1, 0xac, 2, 16, 8, 0b1111_0001, 1, 0x80, 1, 3, 5, 0, 0b1010, 0, 47, 1, 0, 4, 0];
        assert_eq!(bytes[40..], expected);
    }

    #[test]
    fn a_trace_that_was_cut_off_is_good_up_to_there() {
        let records = records(1, 40);
        let bytes = encoded(&records);
        for length in 40..bytes.len() {
            let (found, complete) = decoded(&bytes[..length]).expect("no damage");
            assert!(!complete && found == records[..found.len()], "{length} bytes");
        }
    }

    #[test]
    fn what_was_flushed_is_there_without_an_end() {
        let records = records(3, 40);
        let header =
            Header { block_bytes: 512, size_bytes: 1 << 62, contents: CONTENTS, anonymous: false };
        let mut writer = Writer::new(Vec::new(), &header);
        let mut kept = 0;
        for record in &records {
            writer.flush().expect("memory takes it");
            assert_eq!(
                decoded(&writer.output).expect("a trace"),
                (records[..kept].to_vec(), false)
            );
            writer.write(record).expect("memory takes it");
            kept += 1;
        }
        assert_eq!(decoded(&writer.output).expect("a trace").0.len(), kept - 1, "kept back");
    }

    #[test]
    fn no_bytes_break_the_reader() {
        let mut random = Random::with_seed(5);
        let good = encoded(&records(2, 40));
        for _ in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(40..bytes.len());
                bytes[at] = random.u8(..);
            }
            // Records or an error, both will do.
            let _ = decoded(&bytes);
        }
        let mut other = good;
        other[16] = 3;
        assert!(decoded(&other).expect_err("another version").to_string().contains("version 3"));
    }

    #[test]
    fn a_trace_of_version_1_is_read() {
        // Written by the version before this one, with the records of `bytes_are_as_the_page_says`.
        let bytes = include_bytes!("../tests/version-1.trace");
        let (records, complete) = decoded(bytes).expect("a trace");
        let record = |time_nanoseconds, op, fua, offset, length| Record {
            time_nanoseconds,
            latency_nanoseconds: None,
            op,
            fua,
            offset,
            length,
            stream: 0,
        };
        let expected = vec![
            record(300, RecordedOp::Read, false, 4096, 4096),
            record(301, RecordedOp::Read, false, 8192, 4096),
            record(301, RecordedOp::Flush, false, 0, 0),
            record(301, RecordedOp::Write, true, 0, 512),
        ];
        assert_eq!((records, complete), (expected, true));
    }

    #[test]
    fn what_the_recorder_lost_and_what_reaches_past_the_end_is_counted() {
        let bytes = encoded(&records(3, 5));
        // The end's last number.
        let mut lost = bytes.clone();
        *lost.last_mut().expect("it is not empty") = 9;
        let mut reader = Reader::new(Cursor::new(lost), &ReadOptions::default()).expect("a trace");
        assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 5);
        assert_eq!(reader.problems().count(ProblemKind::Lost), 9);
        let mut small = encoded(&[Record {
            time_nanoseconds: 0,
            latency_nanoseconds: None,
            op: RecordedOp::Read,
            fua: false,
            offset: 4096,
            length: 512,
            stream: 0,
        }]);
        small[24..32].copy_from_slice(&4096_u64.to_le_bytes());
        let mut reader =
            Reader::new(Cursor::new(small.clone()), &ReadOptions::default()).expect("a trace");
        assert!(reader.next().is_none() && reader.problems().count(ProblemKind::PastEnd) == 1);
        let strict = ReadOptions { strict: true, ..ReadOptions::default() };
        let error = Reader::new(Cursor::new(small), &strict).expect("a trace").next();
        let error = error.expect("a record").expect_err("it is past the end").to_string();
        assert!(error.starts_with("record 1: "), "{error}");
    }
}

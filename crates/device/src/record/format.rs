//! Records as bytes; drawn in `docs/formats/trace.md`.

use std::io::{self, BufRead};

use block::{Error, ErrorKind};

use super::{Record, RecordedOp};

pub(super) const MAGIC: &[u8; 16] = b"raidloom trace\0\0";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;

const OP_MASK: u8 = 0b111;
const FUA: u8 = 1 << 3;
const CONTINUES: u8 = 1 << 4;
const SAME_LENGTH: u8 = 1 << 5;
const UNUSED: u8 = 0b1100_0000;

/// What the next record is told relative to.
#[derive(Default)]
struct Previous {
    time: u64,
    /// In blocks.
    end: u64,
    length: u64,
}

/// Records to bytes.
pub(super) struct Encoder {
    pub(super) bytes: Vec<u8>,
    block_bytes: u64,
    previous: Previous,
    count: u64,
}

impl Encoder {
    pub(super) fn new(block_bytes: u32, size_bytes: u64) -> Encoder {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(block_bytes.to_le_bytes());
        bytes.extend(size_bytes.to_le_bytes());
        Encoder { bytes, block_bytes: block_bytes.into(), previous: Previous::default(), count: 0 }
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    pub(super) fn record(&mut self, record: &Record) {
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
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        self.bytes.push(
            op | flag(record.fua, FUA)
                | flag(continues, CONTINUES)
                | flag(same_length, SAME_LENGTH),
        );
        self.varint(record.time_nanoseconds - self.previous.time);
        if !is_flush && !continues {
            let distance = offset.wrapping_sub(self.previous.end) as i64;
            self.varint((distance << 1 ^ distance >> 63) as u64);
        }
        if !is_flush && !same_length {
            self.varint(length);
        }
        self.previous.time = record.time_nanoseconds;
        if !is_flush {
            (self.previous.end, self.previous.length) = (offset + length, length);
        }
        self.count += 1;
    }

    /// Nothing comes after this.
    pub(super) fn end(&mut self) {
        self.bytes.push(0);
        self.varint(self.count);
    }
}

/// Bytes to records.
pub(super) struct Decoder<R> {
    input: R,
    block_bytes: u64,
    previous: Previous,
    count: u64,
    complete: bool,
}

fn corrupt(text: String) -> Error {
    Error::new(ErrorKind::Corrupt, text)
}

impl<R: BufRead> Decoder<R> {
    pub(super) fn new(mut input: R) -> Result<Decoder<R>, Error> {
        let mut header = [0; HEADER_BYTES];
        input
            .read_exact(&mut header)
            .map_err(|error| Error::from_io("reading the trace's header", error))?;
        let word =
            |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        if word(16) != VERSION {
            let text =
                format!("a trace of version {}; this raidloom knows version {VERSION}", word(16));
            return Err(Error::new(ErrorKind::Refused, text));
        }
        let block_bytes = word(20);
        if !block_bytes.is_power_of_two() || block_bytes < 512 {
            return Err(corrupt(format!("the trace's header has blocks of {block_bytes} bytes")));
        }
        Ok(Decoder {
            input,
            block_bytes: block_bytes.into(),
            previous: Previous::default(),
            count: 0,
            complete: false,
        })
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// `None` at the end of the file.
    fn byte(&mut self) -> Result<Option<u8>, Error> {
        let mut byte = [0];
        match self.input.read_exact(&mut byte) {
            Ok(()) => Ok(Some(byte[0])),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(Error::from_io("reading the trace", error)),
        }
    }

    fn varint(&mut self) -> Result<Option<u64>, Error> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.byte()? else { return Ok(None) };
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(Some(number));
            }
        }
        Err(self.damaged("a number is too long"))
    }

    fn damaged(&self, what: &str) -> Error {
        corrupt(format!("the trace is damaged behind its record {}: {what}", self.count))
    }

    /// `None` at the end, whether it is written or the file was cut off there.
    pub(super) fn next_record(&mut self) -> Result<Option<Record>, Error> {
        let Some(kind) = self.byte()? else { return Ok(None) };
        let op = match kind & OP_MASK {
            0 => {
                let Some(count) = self.varint()? else { return Ok(None) };
                if kind != 0 || count != self.count {
                    return Err(self.damaged(&format!("its end speaks of {count}")));
                }
                self.complete = true;
                return Ok(None);
            }
            1 => RecordedOp::Read,
            2 => RecordedOp::Write,
            3 => RecordedOp::WriteZeroes,
            4 => RecordedOp::Discard,
            5 => RecordedOp::Flush,
            other => return Err(self.damaged(&format!("there is no operation {other}"))),
        };
        if kind & UNUSED != 0 {
            return Err(self.damaged("an unknown bit is set"));
        }
        let Some(time) = self.varint()? else { return Ok(None) };
        let too_large = "a number is too large";
        let time_nanoseconds =
            self.previous.time.checked_add(time).ok_or_else(|| self.damaged(too_large))?;
        self.previous.time = time_nanoseconds;
        let fua = kind & FUA != 0;
        self.count += 1;
        if op == RecordedOp::Flush {
            return Ok(Some(Record { time_nanoseconds, op, fua, offset: 0, length: 0 }));
        }
        let mut offset = self.previous.end;
        if kind & CONTINUES == 0 {
            let Some(zigzag) = self.varint()? else { return Ok(None) };
            offset = offset.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg());
        }
        let mut length = self.previous.length;
        if kind & SAME_LENGTH == 0 {
            let Some(number) = self.varint()? else { return Ok(None) };
            length = number;
        }
        let end =
            offset.checked_add(length).filter(|end| end.checked_mul(self.block_bytes).is_some());
        self.previous.end = end.ok_or_else(|| self.damaged(too_large))?;
        self.previous.length = length;
        Ok(Some(Record {
            time_nanoseconds,
            op,
            fua,
            offset: offset * self.block_bytes,
            length: length * self.block_bytes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use reactor::Random;

    use super::*;

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
            if op == RecordedOp::Flush {
                records.push(Record {
                    time_nanoseconds: time,
                    op,
                    fua: false,
                    offset: 0,
                    length: 0,
                });
                continue;
            }
            let bits = random.u32(1..50);
            let offset = if random.bool() { end } else { random.u64(..1 << bits) << 9 };
            length = if random.bool() { length } else { random.u64(1..1 << 20) << 9 };
            end = offset + length;
            records.push(Record { time_nanoseconds: time, op, fua: random.bool(), offset, length });
        }
        records
    }

    fn encoded(records: &[Record]) -> Vec<u8> {
        let mut encoder = Encoder::new(512, 1 << 40);
        records.iter().for_each(|record| encoder.record(record));
        encoder.end();
        encoder.bytes
    }

    fn decoded(bytes: &[u8]) -> Result<(Vec<Record>, bool), Error> {
        let mut decoder = Decoder::new(bytes)?;
        let mut records = Vec::new();
        while let Some(record) = decoder.next_record()? {
            records.push(record);
        }
        Ok((records, decoder.is_complete()))
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
            op: RecordedOp::Read,
            fua: false,
            offset: 4096,
            length: 4096,
        };
        let next = Record { time_nanoseconds: 301, offset: 8192, ..read };
        let back = Record {
            time_nanoseconds: 301,
            op: RecordedOp::Write,
            fua: true,
            offset: 0,
            length: 512,
        };
        let flush = Record {
            time_nanoseconds: 301,
            op: RecordedOp::Flush,
            fua: false,
            offset: 0,
            length: 0,
        };
        let bytes = encoded(&[read, next, flush, back]);
        assert_eq!(&bytes[..20], b"raidloom trace\0\0\x01\0\0\0");
        let expected = [1, 0xac, 2, 16, 8, 0b11_0001, 1, 5, 0, 0b1010, 0, 47, 1, 0, 4];
        assert_eq!(bytes[32..], expected);
    }

    #[test]
    fn a_trace_that_was_cut_off_is_good_up_to_there() {
        let records = records(1, 40);
        let bytes = encoded(&records);
        for length in 32..bytes.len() {
            let (found, complete) = decoded(&bytes[..length]).expect("no damage");
            assert!(!complete && found == records[..found.len()], "{length} bytes");
        }
    }

    #[test]
    fn no_bytes_break_the_reader() {
        let mut random = Random::with_seed(5);
        let good = encoded(&records(2, 40));
        for _ in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(32..bytes.len());
                bytes[at] = random.u8(..);
            }
            // Records or an error, both will do.
            let _ = decoded(&bytes);
        }
        let mut other = good;
        other[16] = 2;
        assert!(decoded(&other).expect_err("another version").to_string().contains("version 2"));
    }
}

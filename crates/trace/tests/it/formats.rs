//! Every format that is read, from what its own programs write, and what is written is read again.

use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::Path;

use trace::{
    Contents, CsvWriter, Format, Header, IologWriter, LogEntry, ProblemKind, ReadOptions, Reader,
    Record, RecordedOp, Writer, log_entry, log_super, open, open_with,
};

pub(crate) fn reader(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Reader {
    Reader::new(Cursor::new(bytes.as_ref().to_vec()), options).unwrap()
}

/// The records of these bytes, which are of this format and have nothing wrong.
fn read(bytes: impl AsRef<[u8]>, format: Format) -> Vec<Record> {
    let mut reader = reader(bytes, &ReadOptions { strict: true, ..ReadOptions::default() });
    assert_eq!(reader.format(), format);
    let records = reader.by_ref().map(Result::unwrap).collect();
    assert!(reader.is_complete() && reader.problems().all().is_empty());
    records
}

pub(crate) fn record(time_nanoseconds: u64, op: RecordedOp, offset: u64, length: u64) -> Record {
    let (latency_nanoseconds, fua, stream) = (None, false, 0);
    Record { time_nanoseconds, latency_nanoseconds, op, fua, offset, length, stream }
}

fn ended(latency: u64, record: Record) -> Record {
    Record { latency_nanoseconds: Some(latency), ..record }
}

fn by(stream: u32, record: Record) -> Record {
    Record { stream, ..record }
}

const READ: RecordedOp = RecordedOp::Read;
const WRITE: RecordedOp = RecordedOp::Write;
const FLUSH: RecordedOp = RecordedOp::Flush;

// Actions with their categories, of `linux/blktrace_api.h`.
pub(crate) const QUEUE_READ: u32 = 1 | 1 << 16 | 1 << 20;
pub(crate) const QUEUE_WRITE: u32 = 1 | 1 << 17 | 1 << 20;
pub(crate) const ISSUE_READ: u32 = 7 | 1 << 16 | 1 << 22;
pub(crate) const COMPLETE_READ: u32 = 8 | 1 << 16 | 1 << 23;
pub(crate) const COMPLETE_WRITE: u32 = 8 | 1 << 17 | 1 << 23;
pub(crate) const BLKTRACE_FLUSH: u32 = 1 << 18;
pub(crate) const BLKTRACE_FUA: u32 = 1 << 31;

/// An event as the kernel writes it.
pub(crate) struct Event {
    pub time: u64,
    pub action: u32,
    pub sector: u64,
    pub bytes: u32,
    pub pid: u32,
}

/// 8,0 as the kernel numbers it.
const DEVICE: u32 = 8 << 20;

impl Event {
    pub(crate) fn bytes(&self, low_first: bool, version: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut add = |number: u64, length: usize| {
            let number = number.to_le_bytes();
            let mut number = number[..length].to_vec();
            if !low_first {
                number.reverse();
            }
            bytes.extend(number);
        };
        add(0x6561_7400 | u64::from(version), 4);
        add(7, 4);
        add(self.time, 8);
        add(self.sector, 8);
        add(self.bytes.into(), 4);
        if version == 7 {
            add(self.action.into(), 4);
            add(self.pid.into(), 4);
        } else {
            add(self.pid.into(), 4);
            add(self.action.into(), 8);
        }
        for (number, length) in [(DEVICE.into(), 4), (0, 4), (0, 2), (4, 2)] {
            add(number, length);
        }
        if version == 8 {
            bytes.extend([0; 12]);
        }
        bytes.extend(*b"more");
        bytes
    }
}

fn event(time: u64, action: u32, sector: u64, bytes: u32) -> Event {
    Event { time, action, sector, bytes, pid: 42 }
}

/// Two reads that are merged, a write that flushes first, a flush, a message and a split read.
fn events() -> Vec<Event> {
    vec![
        event(1_000, 2 | 1 << 26, 0, 0),
        event(1_000, QUEUE_READ, 8, 4096),
        event(1_500, QUEUE_READ, 16, 4096),
        event(1_600, 2 | 1 << 16 | 1 << 20, 16, 4096),
        event(2_000, ISSUE_READ, 8, 8192),
        event(5_000, COMPLETE_READ, 8, 8192),
        event(6_000, QUEUE_WRITE | BLKTRACE_FLUSH | BLKTRACE_FUA, 64, 512),
        event(7_000, QUEUE_READ, 1000, 8192),
        event(8_000, COMPLETE_READ, 1000, 4096),
        event(9_000, COMPLETE_WRITE | BLKTRACE_FUA, 64, 512),
        event(9_500, COMPLETE_READ, 1008, 4096),
        event(10_000, QUEUE_WRITE | BLKTRACE_FLUSH, 0, 0),
        event(11_000, 8 | 1 << 16 | 1 << 23 | BLKTRACE_FLUSH, 0, 0),
        event(12_000, COMPLETE_WRITE, 0, 0),
    ]
}

fn followed() -> Vec<Record> {
    let write = Record { fua: true, ..record(5_000, WRITE, 32768, 512) };
    [
        ended(4_000, record(0, READ, 4096, 4096)),
        ended(3_500, record(500, READ, 8192, 4096)),
        record(5_000, FLUSH, 0, 0),
        ended(3_000, write),
        ended(2_500, record(6_000, READ, 512_000, 8192)),
        ended(2_000, record(9_000, FLUSH, 0, 0)),
    ]
    .map(|record| by(42, record))
    .into()
}

#[test]
fn blktrace_is_read_in_both_byte_orders_and_versions() {
    for (low_first, version) in [(true, 7), (false, 7), (true, 8), (false, 8)] {
        let bytes: Vec<u8> =
            events().iter().flat_map(|event| event.bytes(low_first, version)).collect();
        assert_eq!(read(bytes, Format::Blktrace), followed(), "{low_first} {version}");
    }
}

#[test]
fn files_of_several_processors_are_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = [const { Vec::new() }; 3];
    for (number, event) in events().iter().enumerate() {
        parts[number % 3].extend(event.bytes(true, 7));
    }
    for (number, bytes) in parts.iter().enumerate() {
        fs::write(folder.path().join(format!("sda.blktrace.{number}")), bytes).unwrap();
    }
    for name in ["sda", "sda.blktrace.0", "sda.blktrace.2"] {
        let records: Vec<_> =
            open(&folder.path().join(name)).unwrap().map(Result::unwrap).collect();
        assert_eq!(records, followed(), "{name}");
    }
}

#[test]
fn a_trace_of_issues_alone_has_its_requests() {
    let bytes: Vec<u8> = [
        event(1_000, ISSUE_READ, 8, 4096),
        event(3_000, COMPLETE_READ, 8, 4096),
        event(4_000, ISSUE_READ, 16, 4096),
    ]
    .iter()
    .flat_map(|event| event.bytes(true, 7))
    .collect();
    let expected = [
        ended(2_000, by(42, record(0, READ, 4096, 4096))),
        by(42, record(3_000, READ, 8192, 4096)),
    ];
    assert_eq!(read(bytes, Format::Blktrace), expected);
}

#[test]
fn blkparse_is_read_as_it_prints_by_default() {
    let text = "\
  8,0    3        1     0.000001000    42  Q   R 8 + 8 [fio]
  8,0    3        0     0.000001200     0  m   N cfq42S / alloced
  8,0    3        2     0.000001500    42  Q   R 16 + 8 [fio]
  8,0    3        3     0.000001600    42  M   R 16 + 8 [fio]
  8,0    3        4     0.000002000    42  D   R 8 + 16 [fio]
  8,0    1        1     0.000005000     0  C   R 8 + 16 [0]
  8,0    1        2     0.000006000    42  Q FWFS 64 + 1 [jbd2/sda1-8]
  8,0    1        3     0.000007000    42  Q   R 1000 + 16 [fio]
  8,0    1        4     0.000008000     0  C   R 1000 + 8 [0]
  8,0    1        5     0.000009000     0  C WFS 64 + 1 [0]
  8,0    1        6     0.000009500     0  C   R 1008 + 8 [0]
  8,0    1        7     0.000010000    42  Q FWS [jbd2/sda1-8]
  8,0    1        8     0.000011000     0  C  FN 0 [0]
  8,0    1        9     0.000012000     0  C  WS 0 [0]
CPU1 (8,0):
 Reads Queued:           3,       16KiB\t Writes Queued:           1,        0KiB
 Read Dispatches:        0,        0KiB\t Write Dispatches:        0,        0KiB

Total (8,0):
 IO unplugs:             0        \t Timer unplugs:           0

Throughput (R/W): 0KiB/s / 0KiB/s
Events (8,0): 12 entries
Skips: 0 forward (0 -   0.0%)
";
    assert_eq!(read(text, Format::Blkparse), followed());
}

#[test]
fn logs_of_fio_are_read() {
    let version_3 = "\
fio version 3 iolog
27 /mnt/a file add
180 /mnt/a file open
186 /mnt/a file read 61440 4096
411 /mnt/a file write 774144 512
521 /mnt/a file sync 0 0
530 /mnt/a file datasync
621 /mnt/a file trim 491520 4096
700 /mnt/a file close
";
    let expected = [
        record(0, READ, 61440, 4096),
        record(225_000, WRITE, 774_144, 512),
        record(335_000, FLUSH, 0, 0),
        record(344_000, FLUSH, 0, 0),
        record(435_000, RecordedOp::Discard, 491_520, 4096),
    ];
    assert_eq!(read(version_3, Format::FioIolog), expected);
    let version_2 = "\
fio version 2 iolog
/dev/sdb add
/dev/sdb open
/dev/sdb read 61440 4096
/dev/sdb wait 225 0
/dev/sdb write 774144 512
/dev/sdb close
";
    assert_eq!(read(version_2, Format::FioIolog), expected[..2]);
    let bare = version_2.replace("/dev/sdb wait 225 0\n", "");
    let mut reader = reader(&bare, &ReadOptions::default());
    assert_eq!(reader.by_ref().map(|record| record.unwrap().time_nanoseconds).max(), Some(0));
    assert!(!reader.contents().times);
}

#[test]
fn a_log_of_dm_log_writes_is_read() {
    let write = |fua, offset| LogEntry::Request { op: WRITE, fua, offset, length: 1024 };
    let mut bytes = log_super(4).to_vec();
    bytes.extend(log_entry(&write(true, 4096)));
    bytes.extend([7; 1024]);
    bytes.extend(log_entry(&LogEntry::Mark(b"here")));
    let discard =
        LogEntry::Request { op: RecordedOp::Discard, fua: false, offset: 0, length: 1 << 20 };
    bytes.extend(log_entry(&discard));
    // A write that flushes first, as the kernel logs it.
    let mut flushing = log_entry(&write(false, 8192));
    flushing[16] = 1;
    bytes.extend(flushing);
    bytes.extend([7; 1024]);
    let expected = [
        Record { fua: true, ..record(0, WRITE, 4096, 1024) },
        record(0, RecordedOp::Discard, 0, 1 << 20),
        record(0, FLUSH, 0, 0),
        record(0, WRITE, 8192, 1024),
    ];
    assert_eq!(read(&bytes, Format::DmLogWrites), expected);
    let mut cut = reader(&bytes[..bytes.len() - 1], &ReadOptions::default());
    assert_eq!(cut.by_ref().filter(Result::is_ok).count(), 2);
    assert_eq!(cut.problems().count(ProblemKind::CutOff), 1);
}

#[test]
fn published_traces_are_read() {
    let msr = "\
128166372003061629,hm,1,Read,383496192,32768,413
128166372016382155,hm,1,Write,310983680,16384,11965
";
    let expected = [
        ended(41_300, record(0, READ, 383_496_192, 32768)),
        ended(1_196_500, record(1_332_052_600, WRITE, 310_983_680, 16384)),
    ];
    assert_eq!(read(msr, Format::Msr), expected);
    let spc = "0,303567,3584,w,0.000000\n0,303574,3584,R,0.026214\n";
    let expected =
        [record(0, WRITE, 303_567 << 9, 3584), record(26_214_000, READ, 303_574 << 9, 3584)];
    assert_eq!(read(spc, Format::Spc), expected);
    let alibaba = "\
419,W,8792731648,16384,1577808144360767
419,R,8792748032,4096,1577808144361000
";
    let expected =
        [record(0, WRITE, 8_792_731_648, 16384), record(233_000, READ, 8_792_748_032, 4096)];
    assert_eq!(read(alibaba, Format::Alibaba), expected);
    let disksim = "0.000000 0 2048 8 1\n12.500000 0 64 16 0\n";
    let expected = [record(0, READ, 1 << 20, 4096), record(12_500_000, WRITE, 32768, 8192)];
    assert_eq!(read(disksim, Format::DiskSim), expected);
}

fn packed(path: &Path) -> Vec<Record> {
    let options = ReadOptions { strict: true, ..ReadOptions::default() };
    open_with(path, &options).unwrap().map(Result::unwrap).collect()
}

#[test]
fn packed_traces_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.gz");
    let text: String = (0..5000).map(|number| format!("{number},read,{number}000,512\n")).collect();
    let (first, second) = text.split_at(text.len() / 2);
    // Two members, as `cat a.gz b.gz` makes them.
    let mut file = File::create(&path).unwrap();
    for part in [first, second] {
        let mut encoder = flate2::write::GzEncoder::new(&file, flate2::Compression::fast());
        encoder.write_all(part.as_bytes()).unwrap();
        encoder.finish().unwrap();
    }
    file.flush().unwrap();
    assert_eq!(packed(&path).len(), 5000);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let mut reader = open(&path).unwrap();
    let count = reader.by_ref().filter(Result::is_ok).count();
    assert!((2000..5000).contains(&count) && !reader.is_complete(), "{count}");

    let path = folder.path().join("trace.zst");
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let pack = |part: &str| ruzstd::encoding::compress_to_vec(part.as_bytes(), level);
    // A frame that is to be skipped stands between them.
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let bytes = [pack(first), skipped, pack(second)].concat();
    fs::write(&path, &bytes).unwrap();
    assert_eq!(packed(&path).len(), 5000);
    fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let mut reader = open(&path).unwrap();
    let count = reader.by_ref().filter(Result::is_ok).count();
    assert!((2000..5000).contains(&count) && !reader.is_complete(), "{count}");
}

fn requests() -> Vec<Record> {
    let mut records = vec![
        ended(1_234, record(0, READ, 4096, 4096)),
        by(7, ended(1, record(1_000, WRITE, 8192, 512))),
        Record { fua: true, ..record(2_000, WRITE, 1 << 40, 1 << 20) },
        record(2_000, FLUSH, 0, 0),
        record(1_000_000_003_000, RecordedOp::WriteZeroes, 0, 65536),
        record(1_000_000_004_000, RecordedOp::Discard, 0, 65536),
    ];
    records[3].latency_nanoseconds = Some(0);
    records
}

#[test]
fn what_is_written_is_read_again() {
    let contents =
        Contents { times: true, completions: true, streams: true, flushes: true, discards: true };
    let header = Header { block_bytes: 512, size_bytes: 1 << 41, contents, anonymous: false };
    let (mut own, mut csv, mut iolog) = (Vec::new(), Vec::new(), Vec::new());
    let mut writer = Writer::new(&mut own, &header);
    requests().iter().for_each(|record| writer.write(record).unwrap());
    writer.finish(0).unwrap();
    assert_eq!(read(&own, Format::Raidloom), requests());
    assert_eq!(reader(&own, &ReadOptions::default()).contents(), contents);

    let mut writer = CsvWriter::new(&mut csv).unwrap();
    requests().iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap();
    assert_eq!(read(&csv, Format::Csv), requests());

    let mut writer = IologWriter::new(&mut iolog, "/dev/sdb").unwrap();
    requests().iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap();
    let expected: Vec<Record> = requests()
        .into_iter()
        .map(|one| {
            let op = if one.op == RecordedOp::WriteZeroes { WRITE } else { one.op };
            record(one.time_nanoseconds, op, one.offset, one.length)
        })
        .collect();
    assert_eq!(read(&iolog, Format::FioIolog), expected);
}

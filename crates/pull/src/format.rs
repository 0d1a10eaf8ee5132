//! A log as bytes; drawn in `docs/formats/pull-log.md`.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use block::{Error, ErrorKind};
use words::{Text, statement};

use crate::catalogue;
use crate::log::{Action, Bytes, Drive, Event, Log, LoggedRequest, Moment, Role};

const MAGIC: &[u8; 16] = b"raidloom pulllog";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;
const RECORD_BYTES: usize = 40;

const DRIVE: u8 = 1;
const WRITE: u8 = 2;
const WRITE_ZEROES: u8 = 3;
const DISCARD: u8 = 4;
const FLUSH: u8 = 5;
const COMPLETION: u8 = 6;
const MARK: u8 = 7;
const END: u8 = 8;

/// Of a request: with FUA. Of a completion: it failed. Of a drive: with a volatile cache.
const FLAG: u8 = 1;
/// Of a drive: it stands above the drives.
const ABOVE: u8 = 2;

/// One record without its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    kind: u8,
    flags: u8,
    drive: u16,
    data_bytes: u32,
    time: u64,
    offset: u64,
    length: u64,
}

impl Record {
    pub(crate) fn drive(number: u16, drive: &Drive) -> Record {
        let above = if drive.role == Role::Above { ABOVE } else { 0 };
        Record {
            kind: DRIVE,
            flags: u8::from(drive.volatile_cache) | above,
            drive: number,
            offset: drive.size_bytes,
            length: drive.block_bytes.into(),
            ..Record::default()
        }
    }

    pub(crate) fn arrival(request: &LoggedRequest, time: u64) -> Record {
        let (kind, data) = match request.action {
            Action::Write => (WRITE, request.length),
            Action::WriteZeroes => (WRITE_ZEROES, 0),
            Action::Discard => (DISCARD, 0),
            Action::Flush => (FLUSH, 0),
        };
        Record {
            kind,
            flags: u8::from(request.fua),
            drive: request.drive,
            data_bytes: u32::try_from(data).expect("requests are shorter than 4 GiB"),
            time,
            offset: request.offset,
            length: request.length,
        }
    }

    pub(crate) fn completion(request: u32, failed: bool, time: u64) -> Record {
        let (flags, length) = (u8::from(failed), request.into());
        Record { kind: COMPLETION, flags, time, length, ..Record::default() }
    }

    pub(crate) fn mark(length: u32, time: u64) -> Record {
        Record { kind: MARK, data_bytes: length, time, ..Record::default() }
    }

    pub(crate) fn end(records: u64, time: u64) -> Record {
        Record { kind: END, time, length: records, ..Record::default() }
    }

    /// Its bytes; `number` counts the records, so that one that is missing or there twice is found.
    pub(crate) fn encode(&self, number: u64, data_checksum: u32) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0] = self.kind;
        bytes[1] = self.flags;
        bytes[2..4].copy_from_slice(&self.drive.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.data_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.length.to_le_bytes());
        bytes[32..36].copy_from_slice(&data_checksum.to_le_bytes());
        let checksum = checksum(number, &bytes[..36]);
        bytes[36..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

fn checksum(number: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), bytes)
}

/// What a log begins with.
pub(crate) fn header() -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..16].copy_from_slice(MAGIC);
    bytes[16..20].copy_from_slice(&VERSION.to_le_bytes());
    let sum = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn corrupt(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Corrupt, text)
}

impl Log {
    /// Reads a log back, and every checksum in it.
    ///
    /// # Errors
    /// One line: that it is none, of another version, cut off, or damaged, and where.
    pub fn open(path: &Path) -> Result<Log, Error> {
        let at = |error: Error| error.at(path.display());
        let file =
            File::open(path).map_err(|error| at(Error::from_io(catalogue::OPENING, error)))?;
        read(Bytes::File(file)).map_err(at)
    }

    /// The same of bytes in memory.
    ///
    /// # Errors
    /// As [`Log::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Log, Error> {
        read(Bytes::Memory(bytes))
    }
}

/// Reads a whole log and every checksum in it.
fn read(bytes: Bytes) -> Result<Log, Error> {
    let mut log = Log { drives: Vec::new(), requests: Vec::new(), events: Vec::new(), bytes };
    let mut parsed = ParsedLog::default();
    match &log.bytes {
        Bytes::Memory(bytes) => parsed.all(&mut &bytes[..])?,
        Bytes::File(file) => {
            parsed.all(&mut BufReader::with_capacity(1 << 20, from_start(file)?))?;
        }
    }
    (log.drives, log.requests, log.events) = (parsed.drives, parsed.requests, parsed.events);
    Ok(log)
}

fn from_start(mut file: &File) -> Result<&File, Error> {
    file.seek(SeekFrom::Start(0)).map_err(|error| Error::from_io(catalogue::READING_LOG, error))?;
    Ok(file)
}

#[derive(Default)]
struct ParsedLog {
    drives: Vec<Drive>,
    requests: Vec<LoggedRequest>,
    events: Vec<Event>,
    /// Records before this one.
    count: u64,
    position: u64,
    time: u64,
}

impl ParsedLog {
    fn all(&mut self, input: &mut dyn Read) -> Result<(), Error> {
        let mut head = [0; HEADER_BYTES];
        if !self.fill(input, &mut head)? || head[..16] != *MAGIC {
            return Err(corrupt(catalogue::NO_PULL_LOG));
        }
        let version = word(&head, 16);
        if version != VERSION {
            let text = statement!(catalogue::LOG_VERSION, version = version, known = VERSION);
            return Err(Error::new(ErrorKind::Refused, text));
        }
        if word(&head, 28) != crc32c::crc32c(&head[..28]) {
            return Err(self.damaged(catalogue::WRONG_HEADER_SUM));
        }
        let mut data = Vec::new();
        loop {
            let mut bytes = [0; RECORD_BYTES];
            if !self.fill(input, &mut bytes)? {
                return Err(self.cut_off());
            }
            if word(&bytes, 36) != checksum(self.count, &bytes[..36]) {
                return Err(self.damaged(catalogue::WRONG_SUM));
            }
            let record = Record {
                kind: bytes[0],
                flags: bytes[1],
                drive: word(&bytes, 2) as u16,
                data_bytes: word(&bytes, 4),
                time: long(&bytes, 8),
                offset: long(&bytes, 16),
                length: long(&bytes, 24),
            };
            let place = self.position;
            // A made-up length must not make room for itself before there is something to fill it.
            data.clear();
            let read = input.take(record.data_bytes.into()).read_to_end(&mut data);
            let read = read.map_err(|error| Error::from_io(catalogue::READING_LOG, error))?;
            self.position += read as u64;
            if read < record.data_bytes as usize {
                return Err(self.cut_off());
            }
            if word(&bytes, 32) != crc32c::crc32c(&data) {
                return Err(self.damaged(catalogue::WRONG_DATA_SUM));
            }
            if self.take(&record, place)? {
                return match self.fill(input, &mut [0])? {
                    true => Err(self.damaged(catalogue::MORE_BEHIND_END)),
                    false => Ok(()),
                };
            }
            self.count += 1;
        }
    }

    /// Takes one record; whether it was the end.
    fn take(&mut self, record: &Record, data: u64) -> Result<bool, Error> {
        if record.kind != DRIVE {
            if record.time < self.time {
                return Err(self.damaged(catalogue::TIME_BEFORE));
            }
            self.time = record.time;
        }
        let flag = record.flags & FLAG != 0;
        match record.kind {
            DRIVE => {
                let block = record.length;
                let fits = block.is_power_of_two()
                    && (512..=1 << 20).contains(&block)
                    && record.offset.is_multiple_of(block);
                if usize::from(record.drive) != self.drives.len() || !fits {
                    return Err(self.damaged(catalogue::DESCRIBES_NO_DRIVE));
                }
                let role = if record.flags & ABOVE == 0 { Role::Drive } else { Role::Above };
                self.drives.push(Drive {
                    role,
                    size_bytes: record.offset,
                    block_bytes: block as u32,
                    volatile_cache: flag,
                });
            }
            WRITE | WRITE_ZEROES | DISCARD | FLUSH => self.take_arrival(record, data)?,
            COMPLETION => {
                let event = self.events.len() as u32;
                let number = usize::try_from(record.length).unwrap_or(usize::MAX);
                let request = u32::try_from(record.length).unwrap_or(u32::MAX);
                let Some(known) = self.requests.get_mut(number) else {
                    return Err(self.damaged(catalogue::NEVER_ARRIVED));
                };
                if known.completion.is_some() {
                    return Err(self.damaged(catalogue::COMPLETED_TWICE));
                }
                if !flag {
                    known.completion = Some(event);
                }
                self.event(record.time, Moment::Completion { request, failed: flag });
            }
            MARK => self.event(record.time, Moment::Mark { data, length: record.data_bytes }),
            END if record.length == self.count => return Ok(true),
            END => return Err(self.damaged(catalogue::OTHER_COUNT)),
            other => return Err(self.damaged(statement!(catalogue::NO_KIND, kind = other))),
        }
        Ok(false)
    }

    fn take_arrival(&mut self, record: &Record, data: u64) -> Result<(), Error> {
        let action = match record.kind {
            WRITE => Action::Write,
            WRITE_ZEROES => Action::WriteZeroes,
            DISCARD => Action::Discard,
            _ => Action::Flush,
        };
        let Some(drive) = self.drives.get(usize::from(record.drive)) else {
            return Err(self.damaged(statement!(catalogue::NO_DRIVE, drive = record.drive)));
        };
        let Record { offset, length, .. } = *record;
        if action == Action::Flush {
            if (offset, length) != (0, 0) {
                return Err(self.damaged(catalogue::FLUSH_RANGE));
            }
        } else {
            if offset.checked_add(length).is_none_or(|end| end > drive.size_bytes) {
                let text = statement!(
                    catalogue::PAST_DRIVE,
                    length = length,
                    offset = offset,
                    drive = record.drive,
                    end = drive.size_bytes
                );
                return Err(self.damaged(text));
            }
            let block = u64::from(drive.block_bytes);
            if length == 0 || (offset | length) & (block - 1) != 0 {
                let message = catalogue::NO_WHOLE_BLOCKS;
                return Err(self.damaged(statement!(message, length = length, offset = offset)));
            }
        }
        let expected = if action == Action::Write { length } else { 0 };
        if u64::from(record.data_bytes) != expected {
            return Err(self.damaged(catalogue::OTHER_LENGTH));
        }
        let Ok(number) = u32::try_from(self.requests.len()) else {
            return Err(self.damaged(catalogue::TOO_MANY_REQUESTS));
        };
        self.requests.push(LoggedRequest {
            drive: record.drive,
            action,
            fua: record.flags & FLAG != 0,
            offset,
            length,
            arrival: self.events.len() as u32,
            completion: None,
            data,
        });
        self.event(record.time, Moment::Arrival(number));
        Ok(())
    }

    fn event(&mut self, time_nanoseconds: u64, moment: Moment) {
        self.events.push(Event { time_nanoseconds, moment });
    }

    /// Whether all of it was there.
    fn fill(&mut self, input: &mut dyn Read, target: &mut [u8]) -> Result<bool, Error> {
        match input.read_exact(target) {
            Ok(()) => {
                self.position += target.len() as u64;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Error::from_io(catalogue::READING_LOG, error)),
        }
    }

    fn damaged(&self, what: impl Into<Text>) -> Error {
        corrupt(statement!(catalogue::LOG_DAMAGED, record = self.count, what = what.into()))
    }

    fn cut_off(&self) -> Error {
        corrupt(statement!(catalogue::LOG_CUT_OFF, records = self.count))
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

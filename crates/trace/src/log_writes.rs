//! The log of one drive as Linux's dm-log-writes writes it, for `replay-log`, xfstests and others.
//!
//! ```text
//!   super     magic 0x6a736677736872, version 1, count of entries, bytes of a sector  64 64 64 32 bits
//!   entry     sector, count of sectors, flags, length of the mark's text              64 bits each
//!   data      of a write; a mark's text stands in its entry's own sector
//! ```
//!
//! All of it little-endian, in whole sectors of the size that the super names; `sector` and `count`
//! of an entry are in the same. Reads are not in it, nor is the time.

use block::{Error, ErrorKind, SECTOR_BYTES};
use words::{Text, statement};

use crate::catalogue;
use crate::input::Input;
use crate::source::{Contents, Devices, Source, SourceItem};
use crate::{ProblemKind, ProblemSite, Record, RecordedOp};

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;
/// A mark's text stands behind the numbers of its entry, and ends with a zero.
const TEXT_BYTES_MAX: usize = SECTOR_BYTES as usize - 33;
const SECTOR_BYTES_MAX: u64 = 64 << 10;

/// One entry of such a log, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEntry<'a> {
    /// A write, whose data follow, or a flush or discard, without. In bytes.
    Request {
        /// What it asks for.
        op: RecordedOp,
        /// Whether it is to be durable.
        fua: bool,
        /// Where.
        offset: u64,
        /// How much.
        length: u64,
    },
    /// A mark with its text.
    Mark(&'a [u8]),
}

type Sector = [u8; SECTOR_BYTES as usize];

fn numbers(numbers: [u64; 4]) -> Sector {
    let mut sector = [0; SECTOR_BYTES as usize];
    for (at, number) in numbers.into_iter().enumerate() {
        sector[8 * at..8 * at + 8].copy_from_slice(&number.to_le_bytes());
    }
    sector
}

/// The first sector of a log.
#[must_use]
pub fn log_super(entries: u64) -> Sector {
    numbers([MAGIC, VERSION, entries, SECTOR_BYTES])
}

/// The sector of an entry.
#[must_use]
pub fn log_entry(entry: &LogEntry<'_>) -> Sector {
    match entry {
        LogEntry::Mark(text) => {
            let text = &text[..text.len().min(TEXT_BYTES_MAX)];
            let mut sector = numbers([0, 0, MARK, text.len() as u64]);
            sector[32..32 + text.len()].copy_from_slice(text);
            sector
        }
        LogEntry::Request { op, fua, offset, length } => {
            let flags = match op {
                RecordedOp::Flush => FLUSH,
                RecordedOp::Discard => DISCARD,
                RecordedOp::Read | RecordedOp::Write | RecordedOp::WriteZeroes => 0,
            };
            let flags = flags | if *fua { FUA } else { 0 };
            numbers([offset / SECTOR_BYTES, length / SECTOR_BYTES, flags, 0])
        }
    }
}

/// Whether a file begins as the format does.
pub(crate) fn begins(beginning: &[u8]) -> bool {
    beginning.first_chunk::<8>().is_some_and(|magic| u64::from_le_bytes(*magic) == MAGIC)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| bytes[8 * at + byte]))
}

/// What a log begins with.
struct LogHead {
    sector_bytes: u64,
    entries: u64,
    /// It ends there.
    ended: bool,
}

impl LogHead {
    fn read(input: &mut Input) -> Result<LogHead, Error> {
        let corrupt = |text: Text| Error::new(ErrorKind::Corrupt, text);
        let mut beginning = [0; 32];
        if !input.exact(&mut beginning)? {
            return Err(corrupt(catalogue::LOG_ENDS.into()));
        }
        let [version, entries] = [1, 2].map(|at| number(&beginning, at));
        let sector_bytes = number(&beginning, 3) & u64::from(u32::MAX);
        if version != VERSION {
            let text = statement!(catalogue::LOG_VERSION, version = version);
            return Err(Error::new(ErrorKind::Refused, text));
        }
        if !sector_bytes.is_power_of_two() || !(512..=SECTOR_BYTES_MAX).contains(&sector_bytes) {
            return Err(corrupt(statement!(catalogue::LOG_SECTORS, sector_bytes = sector_bytes)));
        }
        let ended = !input.skip(sector_bytes - beginning.len() as u64)? && entries == 0;
        Ok(LogHead { sector_bytes, entries, ended })
    }
}

/// The numbers of an entry, in bytes.
struct EntryNumbers {
    offset: u64,
    length: u64,
    flags: u64,
    text_bytes: u64,
}

impl EntryNumbers {
    fn of(beginning: &[u8; 32], sector_bytes: u64, count: u64) -> Result<EntryNumbers, Error> {
        let [sector, sectors, flags, text_bytes] = [0, 1, 2, 3].map(|at| number(beginning, at));
        let bytes = |sectors: u64| {
            sectors.checked_mul(sector_bytes).ok_or_else(|| {
                let text = statement!(catalogue::LOG_DAMAGED, count = count);
                Error::new(ErrorKind::Corrupt, text)
            })
        };
        let (offset, length) = match flags & MARK {
            0 => (bytes(sector)?, bytes(sectors)?),
            _ => (0, 0),
        };
        Ok(EntryNumbers { offset, length, flags, text_bytes })
    }

    fn op(&self) -> RecordedOp {
        if self.flags & DISCARD == 0 { RecordedOp::Write } else { RecordedOp::Discard }
    }
}

/// Takes an entry of a log, with the data of a write.
pub type TakeEntry<'a> = dyn FnMut(LogEntry<'_>, &[u8]) -> Result<(), Error> + 'a;

/// Reads a whole log with the data of its writes, of which each has to lie in a drive of so many
/// bytes. An entry that flushes first is a flush, and then what it asks for itself.
///
/// # Errors
/// [`ErrorKind::Corrupt`] where it is no log, cut off or damaged, with the number of the entry;
/// what reading says, and what `take` does.
pub fn read_log(
    input: impl std::io::Read + Send + 'static,
    drive_bytes: u64,
    take: &mut TakeEntry<'_>,
) -> Result<(), Error> {
    let corrupt = |text: Text| Error::new(ErrorKind::Corrupt, text);
    let mut input = Input::new(input);
    if !begins(input.peek(8)?) {
        return Err(corrupt(catalogue::NO_LOG_OF_WRITES.into()));
    }
    let head = LogHead::read(&mut input)?;
    let (mut sector, mut data) = (vec![0; head.sector_bytes as usize], Vec::new());
    for count in 1..=head.entries {
        let cut_off = || corrupt(statement!(catalogue::LOG_CUT_OFF, count = count));
        if !input.exact(&mut sector)? {
            return Err(cut_off());
        }
        let beginning = sector.first_chunk().expect("a sector has 512 bytes or more");
        let entry = EntryNumbers::of(beginning, head.sector_bytes, count)?;
        if entry.flags & MARK != 0 {
            let length = (entry.text_bytes as usize).min(sector.len() - 32);
            let text = &sector[32..32 + length];
            take(LogEntry::Mark(text.split(|byte| *byte == 0).next().unwrap_or_default()), &[])?;
            continue;
        }
        let EntryNumbers { offset, length, .. } = entry;
        if offset.checked_add(length).is_none_or(|end| end > drive_bytes) {
            return Err(corrupt(statement!(
                catalogue::LOG_PAST_END,
                length = length,
                offset = offset,
                count = count,
                drive_bytes = drive_bytes
            )));
        }
        if entry.flags & FLUSH != 0 {
            let (op, fua) = (RecordedOp::Flush, false);
            take(LogEntry::Request { op, fua, offset: 0, length: 0 }, &[])?;
        }
        data.clear();
        if entry.op() == RecordedOp::Write {
            let mut left = length;
            while left > 0 {
                let piece = left.min(head.sector_bytes) as usize;
                if !input.exact(&mut sector[..piece])? {
                    return Err(cut_off());
                }
                data.extend_from_slice(&sector[..piece]);
                left -= piece as u64;
            }
        }
        if length > 0 {
            let (op, fua) = (entry.op(), entry.flags & FUA != 0);
            take(LogEntry::Request { op, fua, offset, length }, &data)?;
        }
    }
    Ok(())
}

pub(crate) struct LogWrites {
    head: LogHead,
    count: u64,
    /// The write of an entry that flushes first.
    held: Option<Record>,
}

impl LogWrites {
    pub(crate) fn new(input: &mut Input) -> Result<LogWrites, Error> {
        Ok(LogWrites { head: LogHead::read(input)?, count: 0, held: None })
    }

    fn entry(&mut self, input: &mut Input) -> Result<Option<SourceItem>, Error> {
        let cut_off = || Ok(Some(SourceItem::Problem(ProblemKind::CutOff, 1, None)));
        let mut beginning = [0; 32];
        let is_there = input.exact(&mut beginning)? && input.skip(self.head.sector_bytes - 32)?;
        if !is_there {
            self.head.ended = true;
            return cut_off();
        }
        self.count += 1;
        let entry = EntryNumbers::of(&beginning, self.head.sector_bytes, self.count)
            .inspect_err(|_| self.head.ended = true)?;
        if entry.flags & MARK != 0 {
            return Ok(None);
        }
        let EntryNumbers { offset, length, flags, .. } = entry;
        let record = Record {
            time_nanoseconds: 0,
            latency_nanoseconds: None,
            op: RecordedOp::Flush,
            fua: false,
            offset: 0,
            length: 0,
            stream: 0,
        };
        let op = entry.op();
        let request = Record { op, fua: flags & FUA != 0, offset, length, ..record };
        if op == RecordedOp::Write && !input.skip(length)? {
            self.head.ended = true;
            return cut_off();
        }
        if flags & FLUSH == 0 {
            return Ok(Some(SourceItem::Request(request, 0)));
        }
        self.held = (length > 0).then_some(request);
        Ok(Some(SourceItem::Request(record, 0)))
    }
}

impl Source for LogWrites {
    fn step(&mut self, input: &mut Input, _: &mut Devices) -> Result<SourceItem, Error> {
        if let Some(record) = self.held.take() {
            return Ok(SourceItem::Request(record, 0));
        }
        while !self.head.ended && self.count < self.head.entries {
            if let Some(step) = self.entry(input)? {
                return Ok(step);
            }
        }
        Ok(SourceItem::End)
    }

    fn place(&self, _: &Input) -> ProblemSite {
        ProblemSite::Record(self.count)
    }

    fn contents(&self) -> Contents {
        Contents { flushes: true, discards: true, ..Contents::default() }
    }

    fn geometry(&self) -> (Option<u64>, u32) {
        (None, self.head.sector_bytes as u32)
    }
}

//! A log of Linux's dm-log-writes as one of ours, from which states are made.
//!
//! ```text
//!   base image   its pages that are not zeroes, written and flushed
//!   the log      each entry arrives and is answered before the next: time is counted in entries
//! ```
//!
//! In such a log a write stands before the flush that covers it. Which writes were in flight
//! together it does not say, and nothing needs to be said of it: what no flush has covered yet may
//! be lost in any order.

use std::io::Read;

use block::Error;
use trace::{LogEntry, RecordedOp, read_log};

use crate::catalogue;
use crate::format::{Record, header};
use crate::image::PAGE_BYTES;
use crate::log::{Action, Drive, Log, LoggedRequest};

/// Nanoseconds from one event to the next, for the log knows none.
const STEP_NANOSECONDS: u64 = 1_000_000;
/// The block of the drive: the log counts in sectors.
const BLOCK_BYTES: u32 = block::SECTOR_BYTES as u32;

/// A log of ours that is being written.
struct Writer {
    bytes: Vec<u8>,
    records: u64,
    requests: u32,
    events: u64,
}

impl Writer {
    fn record(&mut self, record: &Record, data: &[u8]) {
        self.bytes.extend(record.encode(self.records, crc32c::crc32c(data)));
        self.bytes.extend_from_slice(data);
        self.records += 1;
    }

    fn next_time(&mut self) -> u64 {
        self.events += 1;
        self.events * STEP_NANOSECONDS
    }

    /// A request that arrives and is answered.
    fn request(&mut self, action: Action, fua: bool, (offset, length): (u64, u64), data: &[u8]) {
        let (drive, arrival, completion) = (0, 0, None);
        let request =
            LoggedRequest { drive, action, fua, offset, length, arrival, completion, data: 0 };
        let time = self.next_time();
        self.record(&Record::arrival(&request, time), data);
        let time = self.next_time();
        self.record(&Record::completion(self.requests, false, time), &[]);
        self.requests += 1;
    }
}

/// Reads a log of dm-log-writes, of a drive that held `base` before, zeroes where that ends. What a
/// mark says in the log that comes out is what `mark` makes of its text.
///
/// # Errors
/// As [`read_log`], and what reading the base says.
pub fn read_log_writes(
    input: impl Read + Send + 'static,
    drive: &Drive,
    base: Option<&mut dyn Read>,
    mark: &mut dyn FnMut(&[u8]) -> Vec<u8>,
) -> Result<Log, Error> {
    let drive = Drive { block_bytes: BLOCK_BYTES, ..drive.clone() };
    let mut log = Writer { bytes: header().to_vec(), records: 0, requests: 0, events: 0 };
    log.record(&Record::drive(0, &drive), &[]);
    if let Some(base) = base {
        copy_base(base, &mut log)?;
    }
    read_log(input, drive.size_bytes, &mut |entry, data| {
        match entry {
            LogEntry::Mark(text) => {
                let (text, time) = (mark(text), log.next_time());
                log.record(&Record::mark(text.len() as u32, time), &text);
            }
            LogEntry::Request { op, fua, offset, length } => {
                let action = match op {
                    RecordedOp::Flush => Action::Flush,
                    RecordedOp::Discard => Action::Discard,
                    RecordedOp::WriteZeroes => Action::WriteZeroes,
                    RecordedOp::Read | RecordedOp::Write => Action::Write,
                };
                log.request(action, fua, (offset, length), data);
            }
        }
        Ok(())
    })?;
    let (records, time) = (log.records, log.next_time());
    log.record(&Record::end(records, time), &[]);
    Log::from_bytes(log.bytes)
}

/// What a drive held before, as writes that are durable.
fn copy_base(base: &mut dyn Read, log: &mut Writer) -> Result<(), Error> {
    let failed = |error| Error::from_io(catalogue::READING_BASE, error);
    let mut page = Vec::with_capacity(PAGE_BYTES);
    for number in 0.. {
        page.clear();
        let read = base.take(PAGE_BYTES as u64).read_to_end(&mut page).map_err(failed)?;
        if read == 0 {
            break;
        }
        page.resize(read.next_multiple_of(BLOCK_BYTES as usize), 0);
        if page.iter().any(|byte| *byte != 0) {
            let range = (number * PAGE_BYTES as u64, page.len() as u64);
            log.request(Action::Write, false, range, &page);
        }
    }
    log.request(Action::Flush, false, (0, 0), &[]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use trace::{log_entry, log_super};

    use super::*;
    use crate::log::Role;
    use crate::{Cut, DriveFault, History, Moment, Policy, write_log_writes};

    const SIZE: u64 = 1 << 20;

    fn drive() -> Drive {
        let (role, size_bytes) = (Role::Drive, SIZE);
        Drive { role, size_bytes, block_bytes: 512, volatile_cache: true }
    }

    /// As the kernel writes it (drivers/md/dm-log-writes.c), sectors of 512 bytes, little-endian:
    /// a write that no flush covers, one that does before it writes, one with FUA, a mark.
    fn by_hand() -> Vec<u8> {
        let sector = |words: [u64; 4], text: &[u8]| {
            let mut sector = vec![0; 512];
            for (at, word) in words.into_iter().enumerate() {
                sector[8 * at..8 * at + 8].copy_from_slice(&word.to_le_bytes());
            }
            sector[32..32 + text.len()].copy_from_slice(text);
            sector
        };
        [
            sector([0x6a_7366_7773_6872, 1, 5, 512], b""),
            sector([8, 8, 0, 0], b""),
            vec![1; 4096],
            sector([0, 0, 8, 5], b"mkfs\0"),
            // REQ_PREFLUSH with data of its own.
            sector([16, 1, 1, 0], b""),
            vec![2; 512],
            sector([24, 1, 2, 0], b""),
            vec![3; 512],
            sector([8, 2, 4, 0], b""),
        ]
        .concat()
    }

    fn read(bytes: Vec<u8>, base: Option<&mut dyn Read>) -> Result<(Log, Vec<String>), Error> {
        let mut marks = Vec::new();
        let log = read_log_writes(Cursor::new(bytes), &drive(), base, &mut |text| {
            marks.push(String::from_utf8_lossy(text).into_owned());
            text.to_vec()
        })?;
        Ok((log, marks))
    }

    /// The first byte of a sector once all events have happened.
    fn holds(log: Log, policy: Policy, sector: u64) -> u8 {
        let log = std::sync::Arc::new(log);
        let cut = Cut::behind(&log, u32::MAX);
        let mut history = History::new(log, DriveFault::None, Some(512));
        history.advance(cut).unwrap();
        let crash = history.crash(cut, policy, 1).unwrap();
        let mut bytes = [0; 512];
        let reactor = block::Reactor::virtual_clock();
        let drives = crash.drives();
        let mut open = block::Blocking::open(&*drives[0], &reactor).unwrap();
        open.read_slice(sector * 512, &mut bytes).unwrap();
        bytes[0]
    }

    #[test]
    fn a_log_of_the_kernel_is_states_in_order_and_reordered() {
        let of = |policy, sector| holds(read(by_hand(), None).unwrap().0, policy, sector);
        let (log, marks) = read(by_hand(), None).unwrap();
        assert_eq!(marks, ["mkfs"]);
        let moments = log.events().iter().map(|event| event.moment);
        assert_eq!(moments.filter(|moment| matches!(moment, Moment::Mark { .. })).count(), 1);
        assert_eq!(log.requests().len(), 5, "a flush stands before the write that asks for it");
        // In order all of it is there, and what was discarded is not.
        let all = Policy::KeepAll;
        assert_eq!([8, 10, 16, 24].map(|sector| of(all, sector)), [0, 1, 2, 3]);
        // What was flushed or had FUA is there at least; the discard and the write behind the flush
        // may be lost.
        let none = Policy::KeepNone;
        assert_eq!([8, 10, 16, 24].map(|sector| of(none, sector)), [1, 1, 0, 3]);
    }

    #[test]
    fn what_lay_on_the_drive_before_is_under_it() {
        let base = vec![9; 7 * 512 + 4096];
        let of = |sector| {
            let (log, _) = read(by_hand(), Some(&mut &base[..])).unwrap();
            holds(log, Policy::KeepNone, sector)
        };
        assert_eq!([0, 7, 8, 15, 16].map(of), [9, 9, 1, 1, 0]);
    }

    #[test]
    fn what_we_have_written_is_read_again() {
        let written = || {
            let (log, _) = read(by_hand(), None).unwrap();
            let mut bytes = Vec::new();
            write_log_writes(&log, 0, &mut <[u8]>::to_vec, &mut bytes).unwrap();
            read(bytes, None).unwrap()
        };
        let (again, marks) = written();
        assert_eq!((again.requests().len(), &*marks), (5, &["mkfs".to_owned()][..]));
        // With FUA it is written where it was answered, and without where the flush is.
        for (policy, sector, expected) in
            [(Policy::KeepAll, 24, 3), (Policy::KeepNone, 24, 3), (Policy::KeepNone, 10, 1)]
        {
            assert_eq!(holds(written().0, policy, sector), expected);
        }
    }

    #[test]
    fn a_log_that_is_none_or_damaged_is_refused_in_one_line() {
        let changed = |at: usize, bytes: &[u8]| {
            let mut all = by_hand();
            all[at..at + bytes.len()].copy_from_slice(bytes);
            all
        };
        let whole = by_hand();
        for (bytes, expected) in [
            (b"something else".to_vec(), "it is no log of dm-log-writes"),
            (whole[..40].to_vec(), "cut off in its entry 1"),
            (whole[..2000].to_vec(), "cut off in its entry 1"),
            (changed(8, &[2]), "version 2"),
            (changed(24, &[7]), "sectors have"),
            (changed(512, &[255; 3]), "entry 1 reach past the end of a drive of 1048576 bytes"),
            (changed(512, &[255; 8]), "damaged at its entry 1"),
        ] {
            let error = read(bytes, None).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(expected) && error.lines().count() == 1, "{expected}: {error}");
        }
        assert!(read(log_super(0).to_vec(), None).unwrap().0.events().is_empty());
        let flush = LogEntry::Request { op: RecordedOp::Flush, fua: false, offset: 0, length: 0 };
        let one = [&log_super(1)[..], &log_entry(&flush)].concat();
        assert_eq!(read(one, None).unwrap().0.requests().len(), 1);
    }
}

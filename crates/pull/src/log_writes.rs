//! The log of one drive as Linux's dm-log-writes writes it, for `replay-log`, xfstests and others.
//!
//! ```text
//!   super     magic 0x6a736677736872, version 1, count of entries, bytes of a sector  64 64 64 32 bits
//!   entry     sector, count of sectors, flags, length of the mark's text              64 bits each
//!   data      of a write; a mark's text stands in its entry's own sector
//! ```
//!
//! All of it little-endian, in whole sectors. The order is that of dm-log-writes too: a write
//! stands where the flush is that covers it, or where it completed if it has FUA, and what no
//! flush ever covered stands at the end.

use std::io::{self, Write};

use block::{Error, SECTOR_BYTES};

use crate::log::{Action, Log, Moment};
use crate::media::Media;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;

enum Entry {
    Request(u32),
    Mark(u64, u32),
}

/// Writes what the drive of this number was asked.
///
/// # Errors
/// What reading the log or writing says.
pub fn write_log_writes(log: &Log, drive: u16, output: &mut dyn Write) -> Result<(), Error> {
    let entries = entries(log, drive)?;
    let failed = |error: io::Error| Error::from_io("writing for dm-log-writes", error);
    let mut sector = [0; SECTOR_BYTES as usize];
    for (at, number) in [MAGIC, VERSION, entries.len() as u64, SECTOR_BYTES].into_iter().enumerate()
    {
        sector[8 * at..8 * at + 8].copy_from_slice(&number.to_le_bytes());
    }
    output.write_all(&sector).map_err(failed)?;
    let mut data = Vec::new();
    for entry in entries {
        let mut sector = [0; SECTOR_BYTES as usize];
        data.clear();
        let (numbers, text) = match entry {
            Entry::Mark(at, length) => {
                let mut text = log.mark(at, length)?;
                text.truncate(SECTOR_BYTES as usize - 33);
                ([0, 0, MARK, text.len() as u64], text)
            }
            Entry::Request(number) => {
                let request = &log.requests()[number as usize];
                let flags = match request.action {
                    Action::Flush => FLUSH,
                    Action::Discard => DISCARD,
                    Action::Write | Action::WriteZeroes => 0,
                };
                if matches!(request.action, Action::Write | Action::WriteZeroes) {
                    data.resize(request.length as usize, 0);
                    log.content(request, request.offset, &mut data)?;
                }
                let flags = flags | if request.fua { FUA } else { 0 };
                let sectors = request.length / SECTOR_BYTES;
                ([request.offset / SECTOR_BYTES, sectors, flags, 0], Vec::new())
            }
        };
        for (at, number) in numbers.into_iter().enumerate() {
            sector[8 * at..8 * at + 8].copy_from_slice(&number.to_le_bytes());
        }
        sector[32..32 + text.len()].copy_from_slice(&text);
        output.write_all(&sector).and_then(|()| output.write_all(&data)).map_err(failed)?;
    }
    output.flush().map_err(failed)
}

/// Requests and marks in the order of dm-log-writes.
fn entries(log: &Log, drive: u16) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    let mut unflushed: Vec<u32> = Vec::new();
    for event in log.events() {
        match event.moment {
            // The recorder's own marks mean nothing to other readers of the format.
            Moment::Mark { data, length } if Media::is_mark(&log.mark(data, length)?) => (),
            Moment::Mark { data, length } => entries.push(Entry::Mark(data, length)),
            Moment::Arrival(_) | Moment::Completion { failed: true, .. } => (),
            Moment::Completion { request: number, .. } => {
                let request = &log.requests()[number as usize];
                if request.drive != drive {
                    continue;
                }
                if request.action == Action::Flush {
                    let completion = |write: &u32| log.requests()[*write as usize].completion;
                    unflushed.retain(|write| {
                        let is_covered = completion(write) < Some(request.arrival);
                        if is_covered {
                            entries.push(Entry::Request(*write));
                        }
                        !is_covered
                    });
                    entries.push(Entry::Request(number));
                } else if request.fua {
                    entries.push(Entry::Request(number));
                } else {
                    unflushed.push(number);
                }
            }
        }
    }
    entries.extend(unflushed.into_iter().map(Entry::Request));
    Ok(entries)
}

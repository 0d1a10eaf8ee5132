//! The log of one drive as Linux's dm-log-writes writes it, for `replay-log`, xfstests and others.
//!
//! The order is that of dm-log-writes: a write stands where the flush is that covers it, or where
//! it completed if it has FUA, and what no flush ever covered stands at the end.

use std::io::{self, Write};

use block::Error;
use trace::{LogEntry, RecordedOp, log_entry, log_super};

use crate::log::{Action, Log, Moment};
use crate::media::Media;

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
    output.write_all(&log_super(entries.len() as u64)).map_err(failed)?;
    let mut data = Vec::new();
    for entry in entries {
        data.clear();
        let text;
        let entry = match entry {
            Entry::Mark(at, length) => {
                text = log.mark(at, length)?;
                LogEntry::Mark(&text)
            }
            Entry::Request(number) => {
                let request = &log.requests()[number as usize];
                let op = match request.action {
                    Action::Flush => RecordedOp::Flush,
                    Action::Discard => RecordedOp::Discard,
                    Action::Write | Action::WriteZeroes => RecordedOp::Write,
                };
                if op == RecordedOp::Write {
                    data.resize(request.length as usize, 0);
                    log.content(request, request.offset, &mut data)?;
                }
                let (fua, offset, length) = (request.fua, request.offset, request.length);
                LogEntry::Request { op, fua, offset, length }
            }
        };
        output
            .write_all(&log_entry(&entry))
            .and_then(|()| output.write_all(&data))
            .map_err(failed)?;
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

//! The log of one drive as Linux's dm-log-writes writes it, for `replay-log`, xfstests and others.
//!
//! The order is that of dm-log-writes: a write stands where the flush is that covers it, or where
//! it completed if it has FUA or its drive no cache, and what no flush ever covered stands at the
//! end. Of a write that waits so long is left out what another one has replaced that counts before
//! it: who replays the log from its beginning would find the older one in its place.

use std::io::{self, Write};

use block::Error;
use trace::{LogEntry, RecordedOp, log_entry, log_super};

use crate::catalogue;
use crate::log::{Action, Log, Moment};
use crate::media::Media;

enum Entry {
    Request(Piece),
    Mark(u64, u32),
}

/// A request, or what of a write nothing newer has replaced. In bytes.
#[derive(Clone, Copy)]
struct Piece {
    request: u32,
    offset: u64,
    length: u64,
}

impl Piece {
    /// What another one leaves of it.
    fn beside(self, other: &Piece) -> impl Iterator<Item = Piece> {
        let (begin, end) = (self.offset, self.offset + self.length);
        let parts = [(begin, end.min(other.offset)), (begin.max(other.offset + other.length), end)];
        let is_there = |(begin, end): &(u64, u64)| begin < end;
        parts.into_iter().filter(is_there).map(move |(offset, end)| Piece {
            request: self.request,
            offset,
            length: end - offset,
        })
    }
}

/// Writes what the drive of this number was asked. What a mark says there is what `mark` makes of
/// its text.
///
/// # Errors
/// What reading the log or writing says.
pub fn write_log_writes(
    log: &Log,
    drive: u16,
    mark: &mut dyn FnMut(&[u8]) -> Vec<u8>,
    output: &mut dyn Write,
) -> Result<(), Error> {
    let entries = entries(log, drive)?;
    let failed = |error: io::Error| Error::from_io(catalogue::WRITING_LOG_WRITES, error);
    output.write_all(&log_super(entries.len() as u64)).map_err(failed)?;
    let mut data = Vec::new();
    for entry in entries {
        data.clear();
        let text;
        let entry = match entry {
            Entry::Mark(at, length) => {
                text = mark(&log.mark(at, length)?);
                LogEntry::Mark(&text)
            }
            Entry::Request(piece) => {
                let request = &log.requests()[piece.request as usize];
                let op = match request.action {
                    Action::Flush => RecordedOp::Flush,
                    Action::Discard => RecordedOp::Discard,
                    Action::Write | Action::WriteZeroes => RecordedOp::Write,
                };
                if op == RecordedOp::Write {
                    data.resize(piece.length as usize, 0);
                    log.content(request, piece.offset, &mut data)?;
                }
                let (fua, offset, length) = (request.fua, piece.offset, piece.length);
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
    let has_cache = log.drives()[usize::from(drive)].volatile_cache;
    let mut entries = Vec::new();
    let mut unflushed: Vec<Piece> = Vec::new();
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
                let (offset, length) = (request.offset, request.length);
                let whole = Piece { request: number, offset, length };
                if request.action == Action::Flush {
                    let is_covered = |piece: &mut Piece| {
                        log.requests()[piece.request as usize].completion < Some(request.arrival)
                    };
                    entries.extend(unflushed.extract_if(.., is_covered).map(Entry::Request));
                    entries.push(Entry::Request(whole));
                } else if request.fua || !has_cache {
                    unflushed = unflushed.iter().flat_map(|piece| piece.beside(&whole)).collect();
                    entries.push(Entry::Request(whole));
                } else {
                    unflushed.push(whole);
                }
            }
        }
    }
    entries.extend(unflushed.into_iter().map(Entry::Request));
    Ok(entries)
}

//! The partial parity log of a running level 5 array: what is logged before a row is written, and
//! what is made of it after a crash.
//!
//! The partial parity of a band (a range of the row's chunks in which the same chunks are written)
//! is the new parity without the new data: what all the other chunks come to. It is computed by the
//! plan itself, in one more scratch buffer:
//!
//! ```text
//!   scratch   | header, 4096 bytes | band 0: P ^ new data | band 1 | …
//!             written to the log of the row's parity member
//! ```
//!
//! After a crash `partial parity ^ what is found of the written chunks` is true parity again,
//! whichever of them arrived.
//!
//! A log holds one write's entries at a time, and its data are durable before the next write's
//! entries replace them. A torn header is no entry at all, and rightly so: the data come after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{Blocking, BufMut, Error};

use crate::geometry::Parity;
use crate::md::{PPL_HEADER_BYTES, PplEntry, PplHeader, find_newest_ppl, ppl_signature};
use crate::memory::Memory;
use crate::rows::{OthersWoken, Rows, Waiter};
use crate::{Action, ByteSite, Computation, Content, Part, Plan, RowLock};

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;

/// What a piece logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoggedPiece {
    /// Whose log: the member with the row's parity.
    pub(crate) member: usize,
    /// The scratch buffer with what is written.
    pub(crate) scratch: usize,
    entries: Vec<PplEntry>,
}

/// What all channels share of the logs.
pub(crate) struct LogWriter {
    geometry: Parity,
    signature: u32,
    generation: AtomicU64,
    logs: Rows,
}

fn lock_of(member: usize) -> RowLock {
    RowLock { row: member as u64, from: 0, to: 1 }
}

impl LogWriter {
    /// Goes on after the newest log that was found.
    pub(crate) fn new(geometry: Parity, set_uuid: &[u8; 16], generation: u64) -> LogWriter {
        LogWriter {
            geometry,
            signature: ppl_signature(set_uuid),
            generation: AtomicU64::new(generation),
            logs: Rows::default(),
        }
    }

    /// The member with the parity of the row that a byte of the array lies in.
    pub(crate) fn parity_member(&self, offset: u64) -> usize {
        self.geometry.row(self.geometry.locate(offset).0).p
    }

    /// Adds to the plan of a part what makes its log. `None` when nothing has to be logged: nothing
    /// is written, or there is no parity that could be wrong.
    pub(crate) fn add_to(&self, part: Part, plan: &mut Plan) -> Option<LoggedPiece> {
        log_of(&self.geometry, part, plan)
    }

    /// Takes a member's log, or queues for it and answers false; then the piece appears at the
    /// waiter in time.
    pub(crate) fn lock(&self, member: usize, waiter: &Arc<Waiter>, piece: u32) -> bool {
        self.logs.lock(lock_of(member), waiter, piece)
    }

    /// Hands a member's log on.
    pub(crate) fn release(&self, member: usize, by: &Arc<Waiter>) -> OthersWoken {
        self.logs.release(lock_of(member), by)
    }

    /// As [`Rows::cancel`], and frees the log if it had been granted already.
    pub(crate) fn give_up(&self, member: usize, waiter: &Arc<Waiter>, piece: u32) -> OthersWoken {
        self.logs
            .cancel(lock_of(member), waiter, piece)
            .unwrap_or_else(|| self.release(member, waiter))
    }

    /// Fills in the header, when the partial parity has been computed.
    pub(crate) fn seal(&self, logged: &LoggedPiece, memory: &mut Memory) {
        let bytes = memory.scratch_mut(logged.scratch);
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let mut header =
            PplHeader { signature: self.signature, generation, entries: logged.entries.clone() };
        let mut at = PPL_HEADER_BYTES;
        for entry in &mut header.entries {
            let end = at + entry.parity_bytes as usize;
            entry.checksum = crc32c::crc32c(&bytes[at..end]);
            at = end;
        }
        bytes[..PPL_HEADER_BYTES].copy_from_slice(&header.encode());
    }

    /// The bytes of a log without entries.
    pub(super) fn empty(&self) -> Vec<u8> {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        PplHeader { signature: self.signature, generation, entries: Vec::new() }.encode()
    }
}

/// A run of data chunks of a row, and the same range of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Band {
    first: usize,
    count: usize,
    from: u64,
    to: u64,
}

/// The bands of a part that lies in one row.
fn bands(geometry: &Parity, part: Part) -> Vec<Band> {
    let (_, start) = geometry.locate(part.offset);
    let (first, from) = geometry.locate_in_row(start);
    let (last, before_end) = geometry.locate_in_row(start + part.length - 1);
    let to = before_end + 1;
    if first == last {
        return vec![Band { first, count: 1, from, to }];
    }
    // The first chunk is covered from `from` on, the last one up to `to`, those between them as a
    // whole.
    let (low, high) = (from.min(to), from.max(to));
    let ranges = [(0, low), (low, high), (high, geometry.chunk_bytes())];
    let covered = |(low, high): (u64, u64)| {
        let begin = if low >= from { first } else { first + 1 };
        let end = if high <= to { last + 1 } else { last };
        Band { first: begin, count: end.saturating_sub(begin), from: low, to: high }
    };
    ranges.into_iter().map(covered).filter(|band| band.count > 0 && band.from < band.to).collect()
}

fn log_of(geometry: &Parity, part: Part, plan: &mut Plan) -> Option<LoggedPiece> {
    if part.action == Action::Read {
        return None;
    }
    let (number, start) = geometry.locate(part.offset);
    let row = geometry.row(number);
    let parity = *plan.write.iter().find(|access| access.member == row.p)?;
    // Parity is written without bytes only where all of the row becomes zero.
    let new_parity = match parity.content {
        Content::Bytes(place) => Some(place),
        Content::Zeroes | Content::Discard | Content::Flush => None,
    };
    let buffer = plan.scratch.len();
    let (first, from) = geometry.locate_in_row(start);
    let mut at = PPL_HEADER_BYTES as u64;
    let mut entries = Vec::new();
    for band in bands(geometry, part) {
        let length = band.to - band.from;
        let partial = new_parity.filter(|_| band.count < row.data_count());
        if let Some(new_parity) = partial {
            let into = ByteSite::Scratch { buffer, start: at };
            let parity_start = number * geometry.chunk_bytes() + band.from - parity.offset;
            plan.compute.push(Computation::Copy {
                from: new_parity.after(parity_start),
                into,
                length,
            });
            for index in band.first..band.first + band.count {
                if part.action == Action::Write {
                    let start = (index - first) as u64 * geometry.chunk_bytes() + band.from - from;
                    plan.compute.push(Computation::Xor {
                        from: ByteSite::Host { start },
                        into,
                        length,
                    });
                }
            }
            at += length;
        }
        entries.push(PplEntry {
            data_sector: (number * geometry.row_bytes()
                + band.first as u64 * geometry.chunk_bytes()
                + band.from)
                / SECTOR_BYTES,
            parity_bytes: if partial.is_some() { length as u32 } else { 0 },
            data_bytes: (band.count as u64 * length) as u32,
            parity_role: row.p as u32,
            checksum: 0,
        });
    }
    plan.scratch.push(at);
    Some(LoggedPiece { member: row.p, scratch: buffer, entries })
}

/// What came of a member's log at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogReplay {
    /// The newest generation found.
    pub(crate) generation: u64,
    /// Entries by which parity was made again.
    pub(crate) entries: u64,
    /// Entries that could not be used, or not all of them: what was being written is on a member
    /// that is missing or not rebuilt, or the entry is torn or makes no sense.
    pub(crate) skipped: u64,
    /// The log could be read. Else it was being written when the power failed, or is damaged: the
    /// two look alike.
    pub(crate) is_read: bool,
}

impl LogReplay {
    /// Whether parity is true by it wherever the log is of, with all members there.
    pub(crate) fn is_complete(self) -> bool {
        self.is_read && self.skipped == 0
    }
}

/// A member at the start: a channel onto the whole of it, and where its data begin, in bytes.
pub(super) struct Source<'a> {
    pub(super) channel: &'a mut Blocking,
    pub(super) data_offset: u64,
    /// It holds its data up to here, in bytes.
    pub(super) valid_bytes: u64,
}

/// Makes parity again by the log of one member, which lies in `area`. Nothing is durable before the
/// members are flushed.
pub(super) fn replay(
    geometry: &Parity,
    member: usize,
    area: &[u8],
    set_uuid: &[u8; 16],
    members: &mut [Option<Source<'_>>],
) -> Result<LogReplay, Error> {
    // A log that cannot be read was being written when the power failed, so nothing that it was for
    // had begun.
    let Ok((at, header)) = find_newest_ppl(area, set_uuid) else { return Ok(LogReplay::default()) };
    let mut replayed =
        LogReplay { generation: header.generation, is_read: true, ..LogReplay::default() };
    let mut start = at + PPL_HEADER_BYTES;
    for entry in &header.entries {
        let end = start.saturating_add(entry.parity_bytes as usize);
        let partial = area.get(start..end);
        start = end;
        // Of an entry that did not get there as a whole nothing was written either.
        let partial = partial.filter(|partial| crc32c::crc32c(partial) == entry.checksum);
        let place = locate_entry(geometry, member, entry);
        let is_redone = match (partial, place) {
            (Some(partial), Some((row, band))) => redo(geometry, row, band, partial, members)?,
            _ => false,
        };
        if is_redone {
            replayed.entries += 1;
        } else {
            replayed.skipped += 1;
        }
    }
    Ok(replayed)
}

/// Where an entry's data lie; `None` if it makes no sense for this array.
fn locate_entry(geometry: &Parity, member: usize, entry: &PplEntry) -> Option<(u64, Band)> {
    let (chunk, data_count) = (geometry.chunk_bytes(), geometry.member_count() - 1);
    let offset = entry
        .data_sector
        .checked_mul(SECTOR_BYTES)
        .filter(|&offset| offset < geometry.size_bytes())?;
    let length = match u64::from(entry.parity_bytes) {
        0 => u64::from(entry.data_bytes) / data_count as u64,
        bytes if bytes <= chunk => bytes,
        _ => return None,
    };
    let count = u64::from(entry.data_bytes).checked_div(length)? as usize;
    let (row, start) = geometry.locate(offset);
    let (first, from) = geometry.locate_in_row(start);
    let is_whole = length.is_multiple_of(SECTOR_BYTES);
    let fits = is_whole
        && count > 0
        && first + count <= data_count
        && from + length <= chunk
        && geometry.row(row).p == member;
    fits.then_some((row, Band { first, count, from, to: from + length }))
}

/// False when some of what was being written is on a member that is missing, or has not been
/// rebuilt so far. What of a chunk has been rebuilt counts like any other.
fn redo(
    geometry: &Parity,
    number: u64,
    band: Band,
    partial: &[u8],
    members: &mut [Option<Source<'_>>],
) -> Result<bool, Error> {
    let row = geometry.row(number);
    let offset = number * geometry.chunk_bytes() + band.from;
    let all = band.to - band.from;
    let written = (band.first..band.first + band.count).map(|index| row.member(index));
    let valid = |member: usize| {
        members[member].as_ref().map_or(0, |source| source.valid_bytes.saturating_sub(offset))
    };
    let length = written.clone().map(valid).min().unwrap_or(0).min(all) as usize;
    if length == 0 {
        return Ok(false);
    }
    let mut parity = vec![0; length];
    let known = partial.len().min(length);
    parity[..known].copy_from_slice(&partial[..known]);
    let mut found = vec![0; length];
    for member in written {
        let Some(source) = &mut members[member] else { continue };
        source.channel.read_slice(source.data_offset + offset, &mut found)?;
        parity.iter_mut().zip(&found).for_each(|(parity, data)| *parity ^= data);
    }
    if let Some(target) = &mut members[row.p] {
        let mut buffer = BufMut::zeroed(length);
        buffer.copy_from_slice(&parity);
        target.channel.write(target.data_offset + offset, buffer.freeze())?;
    }
    Ok(length as u64 == all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Faults, Level, ParityLayout, ParityLevel, Queues};

    const CHUNK: u64 = 2048;

    /// Each part of a row: its bands cover what it covers, once.
    #[test]
    fn bands_cover_a_part_once() {
        let geometry = Parity::with_p(5, 8 * CHUNK, CHUNK, ParityLayout::LeftSymmetric);
        for start in (0..geometry.row_bytes()).step_by(512) {
            for end in (start + 512..=geometry.row_bytes()).step_by(512) {
                let part = Part {
                    action: Action::Write,
                    offset: geometry.row_bytes() + start,
                    length: end - start,
                };
                let mut covered = vec![0; geometry.row_bytes() as usize / 512];
                for band in bands(&geometry, part) {
                    for index in band.first..band.first + band.count {
                        let base = index as u64 * CHUNK;
                        ((base + band.from) / 512..(base + band.to) / 512)
                            .for_each(|sector| covered[sector as usize] += 1);
                    }
                }
                let expected = |sector: u64| u32::from((start..end).contains(&(sector * 512)));
                assert!(
                    (0..).zip(&covered).all(|(sector, &times)| times == expected(sector)),
                    "{start}..{end}"
                );
            }
        }
    }

    /// An entry leads back to its band.
    #[test]
    fn entries_say_where_their_data_lie() {
        let level = ParityLevel::raid5(4, 8 * CHUNK, CHUNK, ParityLayout::RightAsymmetric);
        let geometry = *level.geometry();
        let mut seen = 0;
        for start in (0..geometry.row_bytes()).step_by(512) {
            for end in (start + 512..=geometry.row_bytes()).step_by(512) {
                let part = Part {
                    action: Action::Write,
                    offset: 3 * geometry.row_bytes() + start,
                    length: end - start,
                };
                if level.piece_bytes(part, &Faults::default()) < part.length {
                    continue;
                }
                let mut plan = Plan::default();
                level.plan(part, &Faults::default(), &Queues::idle(4), &mut plan).expect("a plan");
                let logged = log_of(&geometry, part, &mut plan).expect("a log");
                let expected: Vec<_> =
                    bands(&geometry, part).into_iter().map(|band| Some((3, band))).collect();
                let found: Vec<_> = logged
                    .entries
                    .iter()
                    .map(|entry| locate_entry(&geometry, logged.member, entry))
                    .collect();
                assert_eq!(found, expected);
                seen += 1;
            }
        }
        assert!(seen > 50);
    }

    /// Whatever a log says, nothing outside its stripe is touched for it.
    #[test]
    fn entries_that_make_no_sense_are_passed_over() {
        let geometry = Parity::with_p(4, 8 * CHUNK, CHUNK, ParityLayout::RightAsymmetric);
        let member = geometry.row(0).p;
        let entry = PplEntry {
            data_sector: 0,
            parity_bytes: 512,
            data_bytes: 512,
            parity_role: member as u32,
            checksum: 0,
        };
        assert!(locate_entry(&geometry, member, &entry).is_some());
        for wrong in [
            PplEntry { parity_bytes: CHUNK as u32 + 512, ..entry },
            PplEntry { parity_bytes: u32::MAX, data_bytes: u32::MAX, ..entry },
            PplEntry { parity_bytes: 513, data_bytes: 513, ..entry },
            PplEntry { parity_bytes: 0, data_bytes: 3, ..entry },
            PplEntry { data_bytes: 0, ..entry },
            PplEntry { data_bytes: 4 * 512, ..entry },
            PplEntry { data_sector: geometry.size_bytes() / SECTOR_BYTES, ..entry },
            PplEntry { data_sector: u64::MAX, ..entry },
        ] {
            assert_eq!(locate_entry(&geometry, member, &wrong), None, "{wrong:?}");
        }
        assert_eq!(
            locate_entry(&geometry, (member + 1) % 4, &entry),
            None,
            "another member's stripe"
        );
    }
}

//! The log of a VHDX file (MS-VHDX 2.3): what was to be written to its tables, and may not be there
//! yet. It is read and laid over the file, which stays as it is.
//!
//! ```text
//!   the log, a ring    | … | entry 7 | entry 8 | entry 9 | … |    9 says that all begins at 7
//!   an entry           header, descriptors | page | page | …
//! ```

use block::Error;

use crate::catalogue;
use crate::map::damaged;
use crate::source::{ImageFile, Patch, low32, low64};

const PAGE_BYTES: usize = 4096;
const HEADER_BYTES: usize = 64;
const DESCRIPTOR_BYTES: usize = 32;
const UNIT_BYTES: u64 = 1 << 20;
/// Longer logs are refused, in bytes: the writers that are known make 1 MiB.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// So many times its own length of a log is put to checksums: entries may lie over each other.
const CHECKED_MAX: usize = 8;

/// Whether a checksum at byte 4 is that of these bytes.
pub(super) fn fits(bytes: &mut [u8]) -> bool {
    let said = low32(bytes, 4);
    bytes[4..8].fill(0);
    crc32c::crc32c(bytes) == said
}

/// What the log holds that the newer header names. Later ones lie over earlier ones.
///
/// # Errors
/// [`block::ErrorKind::Corrupt`] where it holds nothing whole, or the file is shorter than when it
/// was written.
pub(super) fn replayed(
    file: &mut ImageFile<'_>,
    header: &[u8; PAGE_BYTES],
) -> Result<Vec<Patch>, Error> {
    let (length, offset) = (u64::from(low32(header, 68)), low64(header, 72));
    let is_usual = (1..=LOG_BYTES_MAX).contains(&length) && length.is_multiple_of(UNIT_BYTES);
    if !is_usual || low32(header, 64) & 0xffff != 0 {
        return Err(damaged(catalogue::VHDX_LOG_SHAPE));
    }
    let log = file.table(offset, length)?;
    let mut ring = Ring::new(log, &header[48..64]);
    let entries = ring.newest()?.ok_or_else(|| damaged(catalogue::VHDX_LOG_NOTHING))?;
    let mut patches = Vec::new();
    for entry in &entries {
        let bytes = ring.bytes(entry.at, entry.length);
        if low64(&bytes, 48) > file.size_bytes {
            return Err(damaged(catalogue::VHDX_LOG_CUT));
        }
        let taken = take_patches(&bytes, &mut patches);
        taken.ok_or_else(|| damaged(catalogue::VHDX_LOG_SHAPE))?;
    }
    Ok(patches)
}

/// An entry whose checksum is right.
#[derive(Clone, Copy)]
struct LogEntry {
    /// Where in the log it begins.
    at: usize,
    length: usize,
    sequence: u64,
    /// Where the first begins of those that count together with it.
    tail: usize,
}

struct Ring<'a> {
    log: Vec<u8>,
    guid: &'a [u8],
    /// By page: what begins there, where that was looked at.
    known: Vec<Option<Option<LogEntry>>>,
    /// How many bytes more are put to checksums.
    left: usize,
}

impl Ring<'_> {
    fn new(log: Vec<u8>, guid: &[u8]) -> Ring<'_> {
        let (known, left) = (vec![None; log.len() / PAGE_BYTES], log.len() * CHECKED_MAX);
        Ring { log, guid, known, left }
    }

    /// The entries that count: those of the newest sequence that is whole, from where its last
    /// says that it begins.
    fn newest(&mut self) -> Result<Option<Vec<LogEntry>>, Error> {
        let mut newest: Option<Vec<LogEntry>> = None;
        let sequence = |entries: &[LogEntry]| entries.last().map_or(0, |entry| entry.sequence);
        let mut at = 0;
        while at < self.log.len() {
            let mut entries = self.sequence_at(at)?;
            let length: usize = entries.iter().map(|entry| entry.length).sum();
            let tail = entries.last().map(|last| last.tail);
            let first = entries.iter().position(|entry| Some(entry.at) == tail);
            at += if first.is_some() { length } else { PAGE_BYTES };
            let Some(first) = first else { continue };
            let entries = entries.split_off(first);
            if newest.as_ref().is_none_or(|newest| sequence(newest) < sequence(&entries)) {
                newest = Some(entries);
            }
        }
        Ok(newest)
    }

    /// The entries from a place on that follow each other.
    fn sequence_at(&mut self, start: usize) -> Result<Vec<LogEntry>, Error> {
        let (mut entries, mut length) = (Vec::<LogEntry>::new(), 0);
        while length < self.log.len() {
            let Some(entry) = self.entry((start + length) % self.log.len())? else { break };
            length += entry.length;
            let follows = entries
                .last()
                .is_none_or(|last| last.sequence.checked_add(1) == Some(entry.sequence));
            if !follows || length > self.log.len() {
                break;
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    fn entry(&mut self, at: usize) -> Result<Option<LogEntry>, Error> {
        if let Some(known) = self.known[at / PAGE_BYTES] {
            return Ok(known);
        }
        let found = self.look(at)?;
        self.known[at / PAGE_BYTES] = Some(found);
        Ok(found)
    }

    fn look(&mut self, at: usize) -> Result<Option<LogEntry>, Error> {
        let head = self.bytes(at, HEADER_BYTES);
        let (length, sequence) = (low32(&head, 8) as usize, low64(&head, 16));
        let is_one = head.starts_with(b"loge")
            && head[32..48] == *self.guid
            && sequence > 0
            && length.is_multiple_of(PAGE_BYTES)
            && (PAGE_BYTES..=self.log.len()).contains(&length);
        if !is_one {
            return Ok(None);
        }
        let left = self.left.checked_sub(length);
        self.left = left.ok_or_else(|| damaged(catalogue::VHDX_LOG_SHAPE))?;
        let entry = LogEntry { at, length, sequence, tail: low32(&head, 12) as usize };
        Ok(fits(&mut self.bytes(at, length)).then_some(entry))
    }

    /// Bytes from a place on, round the log's end. They are no more than it has.
    fn bytes(&self, at: usize, length: usize) -> Vec<u8> {
        let behind = &self.log[at..(at + length).min(self.log.len())];
        [behind, &self.log[..length - behind.len()]].concat()
    }
}

/// Appends what an entry is to write; `None` where it makes no sense.
fn take_patches(entry: &[u8], patches: &mut Vec<Patch>) -> Option<()> {
    let (sequence, count) = (low64(entry, 16), low32(entry, 24) as usize);
    let head = count.checked_mul(DESCRIPTOR_BYTES)?.checked_add(HEADER_BYTES)?;
    let mut pages = entry.get(head.next_multiple_of(PAGE_BYTES)..)?.chunks_exact(PAGE_BYTES);
    for descriptor in entry[HEADER_BYTES..head].chunks_exact(DESCRIPTOR_BYTES) {
        let bytes = match &descriptor[..4] {
            b"desc" => {
                let page = pages.next()?;
                let halves = u64::from(low32(page, 4)) << 32 | u64::from(low32(page, 4092));
                if !page.starts_with(b"data") || halves != sequence {
                    return None;
                }
                // The page's own ends, where marks stand, are in the descriptor.
                Some([&descriptor[8..16], &page[8..4092], &descriptor[4..8]].concat())
            }
            b"zero" => None,
            _ => return None,
        };
        let offset = low64(descriptor, 16);
        let length = bytes.as_ref().map_or(low64(descriptor, 8), |bytes| bytes.len() as u64);
        let is_right = low64(descriptor, 24) == sequence
            && (offset | length).is_multiple_of(PAGE_BYTES as u64);
        let end = offset.checked_add(length).filter(|_| is_right)?;
        patches.push(Patch { offset, end, bytes });
    }
    Some(())
}

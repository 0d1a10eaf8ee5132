//! Asking a server what a range holds, on a connection for that alone. It blocks, as asking a file
//! system does.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

use block::{Error, ErrorKind, Extents};
use nbd_wire::{CHUNK_BYTES, CHUNK_MAGIC, Cursor, RequestHead, allocation, chunk, command};
use words::{Text, statement};

use super::greet::{NbdAddress, connect};
use super::limited::TimedStream;
use super::tls::Secure;
use crate::messages;

/// What is asked at once, at most, in bytes.
const RANGE_MAX_BYTES: u64 = 1 << 30;
/// No reply is longer, in bytes.
const REPLY_MAX_BYTES: u32 = 1 << 20;
/// An answer takes no longer; what is not known after it counts as data.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// The connection, once something was asked.
pub(super) struct Status {
    stream: Option<TimedStream<File>>,
    cookie: u64,
}

impl Status {
    pub(super) fn new() -> Status {
        Status { stream: None, cookie: 0 }
    }

    /// Appends what the server says of the first part of a range, in whole blocks. An error leaves
    /// the connection to be made anew.
    pub(super) fn ask(
        &mut self,
        (address, secure): (&NbdAddress, Option<&Secure>),
        allocation_id: u32,
        (offset, length): (u64, u64),
        block: u64,
        found: &mut Extents,
    ) -> Result<(), Error> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let socket = connect(address, secure, false)?.socket;
                TimedStream::new(File::from(socket), ANSWER_TIME)
            }
        };
        stream.renew(ANSWER_TIME);
        self.cookie += 1;
        let length = length.min(RANGE_MAX_BYTES);
        let payload = exchange(&mut stream, self.cookie, offset, length).map_err(|error| {
            Error::from_io(statement!(messages::ASKING_RANGE, address = address.to_string()), error)
        })?;
        read_runs(&payload, allocation_id, length, block, found).ok_or_else(|| {
            let text = statement!(messages::RANGE_HOLDS, address = address.to_string());
            Error::new(ErrorKind::Corrupt, text)
        })?;
        self.stream = Some(stream);
        Ok(())
    }
}

/// Asks once; the payload of the block status chunk.
fn exchange(
    stream: &mut TimedStream<File>,
    cookie: u64,
    offset: u64,
    length: u64,
) -> io::Result<Vec<u8>> {
    let nonsense =
        || io::Error::new(io::ErrorKind::InvalidData, Text::from(messages::REPLY_TO_ELSE));
    let length = u32::try_from(length).map_err(io::Error::other)?;
    let command = command::BLOCK_STATUS;
    let request = RequestHead { flags: 0, command, cookie, offset, length };
    stream.write_all(&request.bytes())?;
    let mut payload = Vec::new();
    loop {
        let mut head = [0; CHUNK_BYTES];
        stream.read_exact(&mut head)?;
        let mut cursor = Cursor(&head);
        if cursor.u32() != Some(CHUNK_MAGIC) {
            return Err(nonsense());
        }
        let (Some(flags), Some(kind), Some(of), Some(bytes)) =
            (cursor.u16(), cursor.u16(), cursor.u64(), cursor.u32())
        else {
            return Err(nonsense());
        };
        if of != cookie || bytes > REPLY_MAX_BYTES {
            return Err(nonsense());
        }
        let mut data = vec![0; bytes as usize];
        stream.read_exact(&mut data)?;
        match kind {
            chunk::BLOCK_STATUS => payload = data,
            chunk::NONE => {}
            _ => return Err(io::Error::other(Text::from(messages::GIVES_ERROR))),
        }
        if flags & chunk::DONE != 0 {
            return Ok(payload);
        }
    }
}

/// Runs of a payload (context 4 | length 4 | flags 4 | …) as runs of whole blocks: a block that is
/// a hole only in part is data.
fn read_runs(
    payload: &[u8],
    allocation_id: u32,
    length: u64,
    block: u64,
    found: &mut Extents,
) -> Option<()> {
    let mut cursor = Cursor(payload);
    if cursor.u32()? != allocation_id {
        return None;
    }
    // In bytes from the range's beginning: how far the server's runs go, and how far ours.
    let (mut known, mut told) = (0_u64, 0_u64);
    while let (Some(bytes), Some(flags)) = (cursor.u32(), cursor.u32()) {
        if known >= length || found.is_full() {
            break;
        }
        let start = known;
        known = (known + u64::from(bytes)).min(length);
        // A hole whose content is not promised is data.
        if flags & allocation::ZERO != 0 {
            let (from, to) = (start.next_multiple_of(block).max(told), known / block * block);
            if to > from {
                found.push(from - told, false);
                found.push(to - from, true);
                told = to;
            }
        } else {
            let to = known.next_multiple_of(block).min(length);
            found.push(to.saturating_sub(told), false);
            told = told.max(to);
        }
    }
    (told > 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(runs: &[(u32, u32)], length: u64) -> Option<Vec<(u64, bool)>> {
        let mut payload = 7_u32.to_be_bytes().to_vec();
        for (bytes, flags) in runs {
            payload.extend(bytes.to_be_bytes());
            payload.extend(flags.to_be_bytes());
        }
        let mut found = Extents::new();
        read_runs(&payload, 7, length, 512, &mut found)?;
        Some(found.runs().iter().map(|run| (run.length, run.is_hole)).collect())
    }

    #[test]
    fn runs_become_whole_blocks_and_a_block_in_doubt_is_data() {
        const HOLE: u32 = allocation::HOLE | allocation::ZERO;
        assert_eq!(runs(&[(1024, 0), (4096, HOLE)], 5120), Some(vec![(1024, false), (4096, true)]));
        // The server's runs go on behind the range.
        assert_eq!(runs(&[(1 << 20, HOLE)], 512), Some(vec![(512, true)]));
        // Holes that begin and end within blocks.
        assert_eq!(
            runs(&[(100, 0), (1500, HOLE), (448, 0)], 2048),
            Some(vec![(512, false), (1024, true), (512, false)])
        );
        // A hole without zeroes may hold anything.
        assert_eq!(runs(&[(1024, allocation::HOLE)], 1024), Some(vec![(1024, false)]));
        assert_eq!(runs(&[], 1024), None);
        assert_eq!(runs(&[(0, 0)], 1024), None);
    }

    #[test]
    fn every_way_to_cut_blocks_into_runs_is_told_right() {
        // 3 blocks of 4 units of 128 bytes, each unit data or hole.
        for units in 0_u32..1 << 12 {
            let is_hole = |unit: u32| units >> unit & 1 == 1;
            let list: Vec<(u32, u32)> =
                (0..12).map(|unit| (128, if is_hole(unit) { 3 } else { 0 })).collect();
            let told = runs(&list, 1536).unwrap_or_default();
            let mut at = 0;
            for (length, hole) in told {
                for block in at / 512..(at + length) / 512 {
                    let whole = (0..4).all(|unit| is_hole(block as u32 * 4 + unit));
                    assert!(!hole || whole, "{units:012b}: block {block}");
                }
                at += length;
            }
            assert!(at <= 1536 && at.is_multiple_of(512), "{units:012b}");
        }
    }
}

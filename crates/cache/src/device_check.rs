//! What is looked for on a device before it is taken into use.

use block::{Blocking, BufMut, Error, Info};

/// How much is read at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Where the first byte from `offset` on lies, in bytes, that is not zero, in whole blocks up to
/// `end`, of a device that is like `info`.
///
/// # Errors
/// Whatever the device says.
pub(crate) fn first_nonzero(
    channel: &mut Blocking,
    info: &Info,
    offset: u64,
    end: u64,
) -> Result<Option<u64>, Error> {
    // Many bytes at a time, and into the same buffer: a store is looked through whenever one is
    // made.
    const ZEROES: [u8; 4096] = [0; 4096];
    let block = u64::from(info.block_bytes);
    let piece = PIECE_BYTES.max(block).min(u64::from(info.max_request_bytes) / block * block);
    let mut buffer = BufMut::zeroed(piece.min(end.saturating_sub(offset)) as usize);
    for start in (offset..end).step_by(piece as usize) {
        if end - start < buffer.len() as u64 {
            buffer = buffer.split_to((end - start) as usize);
        }
        buffer = channel.read(start, buffer)?;
        let mut at = start;
        for bytes in buffer.slices().flat_map(|bytes| bytes.chunks(ZEROES.len())) {
            if *bytes != ZEROES[..bytes.len()] {
                return Ok(bytes
                    .iter()
                    .position(|&byte| byte != 0)
                    .map(|position| at + position as u64));
            }
            at += bytes.len() as u64;
        }
    }
    Ok(None)
}

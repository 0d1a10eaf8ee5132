//! Files that were packed, by their first bytes: gzip and zstd.

use std::error::Error as StdError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use block::Error;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::catalogue;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What is read of a packed file at once.
const CHUNK_BYTES: usize = 256 << 10;

/// The bytes of a file, unpacked if it is packed.
pub(crate) fn unpack(mut file: File) -> Result<Box<dyn Read + Send>, Error> {
    let failed = |error| Error::from_io(catalogue::READING_TRACE, error);
    let mut beginning = Vec::new();
    file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut beginning).map_err(failed)?;
    let is_gzip = beginning.starts_with(&GZIP);
    let is_zstd = beginning.starts_with(&ZSTD);
    let whole = BufReader::with_capacity(CHUNK_BYTES, Cursor::new(beginning).chain(file));
    Ok(match (is_gzip, is_zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(whole)),
        (_, true) => {
            Box::new(Zstd { source: whole, decoder: FrameDecoder::new(), in_frame: false })
        }
        _ => Box::new(whole),
    })
}

/// The frames of a zstd file, one behind the other.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame; whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// A file that ends in the middle of a frame was cut off.
    fn failed(&mut self, error: impl StdError + Send + Sync + 'static) -> io::Error {
        match self.source.fill_buf() {
            Ok([]) => io::Error::new(io::ErrorKind::UnexpectedEof, error),
            _ => io::Error::new(io::ErrorKind::InvalidData, error),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame && !self.begin()? {
                return Ok(0);
            }
            self.in_frame = true;
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(bytes);
            }
            if self.decoder.is_finished() {
                self.in_frame = false;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.source, one) {
                return Err(self.failed(error));
            }
        }
    }
}

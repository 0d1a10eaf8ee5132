//! Bytes of a file in chunks, by bytes and by lines.

use std::io::{self, Read};

use block::Error;

use crate::catalogue;

/// What is read at once, and so the most that can be looked at before a format is known.
const CHUNK_BYTES: usize = 256 << 10;
/// No line of requests is longer, its end included. What is, was not written by a program that
/// lists requests.
pub(crate) const LINE_BYTES: usize = 4096;

pub(crate) struct Input {
    inner: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    /// A packed file ended in the middle.
    pub(crate) cut_off: bool,
    /// Lines that were given out.
    pub(crate) lines: u64,
}

/// What stands where a line is expected.
pub(crate) enum Line<'a> {
    Text(&'a str),
    /// The last one, without the end of a line.
    Last(&'a str),
    TooLong,
    NoText,
}

impl Input {
    pub(crate) fn new(inner: impl Read + Send + 'static) -> Input {
        Input {
            inner: Box::new(inner),
            buffer: Vec::new(),
            at: 0,
            end: 0,
            cut_off: false,
            lines: 0,
        }
    }

    /// Reads until `count` bytes are there, or the file ends; at most a chunk.
    fn fill(&mut self, count: usize) -> Result<&[u8], Error> {
        if self.end - self.at < count {
            self.buffer.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
            if self.buffer.is_empty() {
                // A short input, such as one of a fuzzer, does not take a chunk.
                self.buffer.resize(LINE_BYTES, 0);
            }
        }
        while self.end - self.at < count {
            if self.end == self.buffer.len() {
                self.buffer.resize((self.buffer.len() * 4).min(CHUNK_BYTES), 0);
            }
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                // What a decompressor says of a file that was cut off.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.cut_off = true;
                    break;
                }
                Err(error) => return Err(Error::from_io(catalogue::READING_TRACE, error)),
            }
        }
        Ok(&self.buffer[self.at..self.end])
    }

    /// The beginning of what is still to be read, without taking it.
    pub(crate) fn peek(&mut self, count: usize) -> Result<&[u8], Error> {
        let there = self.fill(count.min(CHUNK_BYTES))?;
        Ok(&there[..count.min(there.len())])
    }

    /// `None` at the end of the file.
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<Option<u8>, Error> {
        if self.at == self.end && self.fill(1)?.is_empty() {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.buffer[self.at - 1]))
    }

    /// Whether all of `bytes` could be filled.
    pub(crate) fn exact(&mut self, bytes: &mut [u8]) -> Result<bool, Error> {
        let count = bytes.len();
        let there = self.fill(count)?;
        let is_all = there.len() >= count;
        if is_all {
            bytes.copy_from_slice(&there[..count]);
            self.at += count;
        }
        Ok(is_all)
    }

    /// Goes past so many bytes; whether they were there.
    pub(crate) fn skip(&mut self, mut count: u64) -> Result<bool, Error> {
        while count > 0 {
            let there = self.fill(1)?.len() as u64;
            if there == 0 {
                return Ok(false);
            }
            let now = there.min(count);
            self.at += now as usize;
            count -= now;
        }
        Ok(true)
    }

    /// The next line, without its end and blanks around it; `None` at the end of the file.
    pub(crate) fn line(&mut self) -> Result<Option<Line<'_>>, Error> {
        let newline = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
        let mut found = newline(&self.buffer[self.at..self.end]);
        if found.is_none() {
            found = newline(self.fill(LINE_BYTES)?);
        }
        let start = self.at;
        let length = found.unwrap_or(self.end - start);
        if found.is_none() && length == 0 {
            return Ok(None);
        }
        self.at += length + usize::from(found.is_some());
        self.lines += 1;
        if length >= LINE_BYTES {
            return Ok(Some(Line::TooLong));
        }
        Ok(Some(match (str::from_utf8(&self.buffer[start..start + length]), found) {
            (Ok(text), Some(_)) => Line::Text(text.trim()),
            (Ok(text), None) => Line::Last(text.trim()),
            (Err(_), _) => Line::NoText,
        }))
    }
}

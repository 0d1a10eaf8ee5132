//! A drive that is in use, of which one range may be written: through a file of its file system
//! that lies there.
//!
//! ```text
//!   reads            ──> the drive
//!   writes, flushes  ──> the file   offset - begin of the range + where that is in the file
//! ```
//!
//! Nothing else of the drive can be written to, for it need not be open for writing.

use std::ops::Range;
use std::sync::Arc;

use block::{
    Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Info, Node, Op, Reactor,
    Request, Support,
};

use crate::messages;

/// A device whose writes go to a file that lies on it.
pub struct ThroughFile {
    info: Info,
    below: Arc<dyn Device>,
    file: Arc<dyn Device>,
    range: Range<u64>,
    file_offset: u64,
}

impl ThroughFile {
    /// `range` of the bytes of `below` is what `file` holds from `file_offset` on.
    #[must_use]
    pub fn new(
        below: Arc<dyn Device>,
        file: Arc<dyn Device>,
        range: Range<u64>,
        file_offset: u64,
    ) -> ThroughFile {
        let (own, its) = (below.info(), file.info());
        let info = Info {
            read_only: false,
            block_bytes: own.block_bytes.max(its.block_bytes),
            max_request_bytes: own.max_request_bytes.min(its.max_request_bytes),
            volatile_cache: its.volatile_cache,
            fua: its.fua,
            zeroes: Support::None,
            discard: DiscardSupport::None,
            ..own.clone()
        };
        ThroughFile { info, below, file, range, file_offset }
    }
}

impl Device for ThroughFile {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(ThroughChannel {
            info: self.info.clone(),
            below: self.below.open(depth, reactor)?,
            file: self.file.open(depth, reactor)?,
            range: self.range.clone(),
            file_offset: self.file_offset,
            refused: Vec::new(),
        }))
    }
}

struct ThroughChannel {
    info: Info,
    below: Box<dyn Channel>,
    file: Box<dyn Channel>,
    range: Range<u64>,
    file_offset: u64,
    refused: Vec<Completion>,
}

impl Channel for ThroughChannel {
    fn submit(&mut self, mut request: Request) {
        if let Err(error) = self.info.check(&request.op) {
            return self.refused.push(request.complete(Err(error)));
        }
        match &mut request.op {
            Op::Read { .. } => self.below.submit(request),
            Op::Write { offset, from, .. }
                if *offset >= self.range.start && *offset + from.len() as u64 <= self.range.end =>
            {
                *offset = *offset - self.range.start + self.file_offset;
                self.file.submit(request);
            }
            Op::Flush => self.file.submit(request),
            _ => {
                let error = Error::new(ErrorKind::Refused, messages::OUTSIDE_FILE);
                self.refused.push(request.complete(Err(error)));
            }
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.refused);
        self.below.poll(done);
        self.file.poll(done);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.file.in_flight() + self.refused.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use block::Blocking;

    use super::*;
    use crate::RamDevice;

    /// What is written in the range lies in the file, and nothing of the drive itself is written.
    #[test]
    fn the_range_is_written_through_the_file() {
        let memory = |bytes| Arc::new(RamDevice::new(bytes, 512).expect("memory"));
        let (drive, file) = (memory(1 << 20), memory(64 << 10));
        let device =
            ThroughFile::new(drive.clone(), file.clone(), 8192..8192 + (32 << 10), 16 << 10);
        let reactor = Reactor::virtual_clock();
        let open = |device: &dyn Device| Blocking::open(device, &reactor).expect("it opens");
        let mut channel = open(&device);
        channel.write_slice(8192 + 512, &[7; 1024]).expect("it lies in the range");
        channel.flush().expect("the file is flushed");
        let mut held = vec![1; 2048];
        open(&*file).read_slice(16 << 10, &mut held).expect("memory");
        assert_eq!((held[511], held[512], held[1535], held[1536]), (0, 7, 7, 0));
        channel.read_slice(8192, &mut held).expect("it is read from the drive");
        assert!(held.iter().all(|byte| *byte == 0));
        for (offset, bytes) in [(8192 - 512, 1024), (8192 + (32 << 10) - 512, 1024), (0, 512)] {
            let error = channel.write_slice(offset, &vec![9; bytes]).expect_err("outside");
            assert_eq!(error.kind(), ErrorKind::Refused, "{offset}");
        }
        let mut all = vec![0; 1 << 20];
        open(&*drive).read_slice(0, &mut all).expect("memory");
        assert!(all.iter().all(|byte| *byte == 0));
    }
}

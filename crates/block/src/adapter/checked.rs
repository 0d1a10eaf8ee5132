//! Checks every hop: what an owner may not ask and what a device may not answer. Tests put it
//! between all layers.

use std::collections::HashMap;
use std::sync::Arc;

use reactor::{Buf, BufMut, Reactor, Signal};

use crate::{
    Channel, Completion, Device, Error, Extents, Info, Lease, Node, Op, Request, ReturnedBuffer,
};

/// A device that panics when the layer above or the one below breaks the rules: ranges whole blocks
/// and inside the device, no more than `depth` in flight, tags used once, every request answered
/// once and with its own buffer back.
pub struct ContractCheck {
    below: Arc<dyn Device>,
}

impl ContractCheck {
    /// Puts the checks on top of `below`.
    pub fn over(below: Arc<dyn Device>) -> Arc<dyn Device> {
        let info = below.info();
        assert!(
            info.block_bytes >= 512 && info.block_bytes.is_power_of_two(),
            "block of {} bytes",
            info.block_bytes
        );
        assert_eq!(info.size_bytes % u64::from(info.block_bytes), 0, "the size is whole blocks");
        for limit in [info.max_request_bytes, info.optimal_bytes] {
            assert!(
                limit >= info.block_bytes && limit.is_multiple_of(info.block_bytes),
                "a limit of {limit} bytes is not whole blocks"
            );
        }
        Arc::new(ContractCheck { below })
    }
}

impl Device for ContractCheck {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        assert!(depth > 0, "a channel of depth 0 takes no request");
        let below = self.below.open(depth, reactor)?;
        Ok(Box::new(CheckedChannel {
            below,
            info: self.info().clone(),
            depth,
            open: HashMap::new(),
        }))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        if let Err(error) = self.info().check_range(offset, length) {
            panic!(
                "a question that breaks the rules came from above: extents of {length} bytes at \
                {offset}: {error}"
            );
        }
        let before = found.length();
        self.below.extents(offset, length, found);
        let told = found.length() - before;
        let block = u64::from(self.info().block_bytes);
        assert!(
            told > 0 && told <= length && told.is_multiple_of(block),
            "{told} bytes were told of, of {length} at {offset}"
        );
    }

    fn lease(&self) -> Option<&Lease> {
        self.below.lease()
    }
}

/// What the completion of a request has to bring back: which bytes of memory, told by the first
/// one's address.
#[derive(Debug, PartialEq, Eq)]
enum LentBuffer {
    Nothing,
    Read { address: usize, length: usize },
    Written { address: usize, length: usize },
}

impl LentBuffer {
    fn read(buffer: &BufMut) -> LentBuffer {
        LentBuffer::Read { address: address(buffer.slices()), length: buffer.len() }
    }

    fn written(buffer: &Buf) -> LentBuffer {
        LentBuffer::Written { address: address(buffer.slices()), length: buffer.len() }
    }

    fn of(buffer: &ReturnedBuffer) -> LentBuffer {
        match buffer {
            ReturnedBuffer::Nothing => LentBuffer::Nothing,
            ReturnedBuffer::Read(buffer) => LentBuffer::read(buffer),
            ReturnedBuffer::Written(buffer) => LentBuffer::written(buffer),
        }
    }
}

fn address<'a>(mut slices: impl Iterator<Item = &'a [u8]>) -> usize {
    slices.next().map_or(0, |slice| slice.as_ptr().addr())
}

struct CheckedChannel {
    below: Box<dyn Channel>,
    info: Info,
    depth: u32,
    open: HashMap<u64, LentBuffer>,
}

impl Channel for CheckedChannel {
    fn submit(&mut self, request: Request) {
        if let Err(error) = self.info.check(&request.op) {
            panic!(
                "a request that breaks the rules came from above: {} {:?}: {error}",
                request.op.name(),
                request.op.range()
            );
        }
        assert!(
            self.open.len() < self.depth as usize,
            "more than {} requests in flight",
            self.depth
        );
        let lent = match &request.op {
            Op::Read { into, .. } => LentBuffer::read(into),
            Op::Write { from, .. } => LentBuffer::written(from),
            Op::WriteZeroes { .. } | Op::Discard { .. } | Op::Flush => LentBuffer::Nothing,
        };
        assert!(
            self.open.insert(request.tag, lent).is_none(),
            "tag {} is in flight already",
            request.tag
        );
        self.below.submit(request);
        assert_eq!(
            self.below.in_flight() as usize,
            self.open.len(),
            "the count in flight is wrong after a submit"
        );
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let first = done.len();
        self.below.poll(done);
        for completion in &done[first..] {
            let lent = self.open.remove(&completion.tag);
            let returned = LentBuffer::of(&completion.buffer);
            assert_eq!(
                lent,
                Some(returned),
                "tag {} came back twice, unasked, or with another buffer",
                completion.tag
            );
        }
        assert_eq!(
            self.below.in_flight() as usize,
            self.open.len(),
            "the count in flight is wrong after a poll"
        );
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }

    fn signal(&self) -> Option<Signal> {
        self.below.signal()
    }
}

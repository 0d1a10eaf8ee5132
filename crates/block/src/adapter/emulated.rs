//! The one place where abilities that a device lacks are made from those it has.
//!
//! ```text
//! write with FUA   =  write, then flush
//! write zeroes     =  writes of a zero buffer (with FUA: then flush)
//! discard          =  where it is to read as zeroes, write zeroes; otherwise nothing
//! ```

use std::sync::Arc;

use reactor::{Buf, BufMut, Reactor, Signal};

use crate::{
    Channel, Completion, Device, DiscardSupport, Error, Extents, Info, Lease, Node, Op, Request,
    ReturnedBuffer, Slots, Support,
};

/// Longest write of zeroes, in bytes.
const ZEROES_BYTES: u64 = 256 << 10;

/// A device with FUA and write-zeroes: native where the one below has them, emulated where not.
pub struct EmulatingDevice {
    below: Arc<dyn Device>,
    info: Info,
}

impl EmulatingDevice {
    /// Adds what is missing to `below`; hands `below` back where nothing is.
    pub fn over(below: Arc<dyn Device>) -> Arc<dyn Device> {
        EmulatingDevice::discarding(below, DiscardSupport::None)
    }

    /// The same with discards that promise at least what `wanted` does.
    pub fn discarding(below: Arc<dyn Device>, wanted: DiscardSupport) -> Arc<dyn Device> {
        let mut info = below.info().clone();
        let discards = info.discard as u8 >= wanted as u8;
        if info.fua != Support::None && info.zeroes != Support::None && discards {
            return below;
        }
        if !discards {
            info.discard = wanted;
        }
        for ability in [&mut info.fua, &mut info.zeroes] {
            if *ability == Support::None {
                *ability = Support::Emulated;
            }
        }
        Arc::new(EmulatingDevice { below, info })
    }
}

impl Device for EmulatingDevice {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.below.open(depth, reactor)?;
        let info = self.below.info();
        let native_zeroes = info.zeroes != Support::None;
        let block = u64::from(info.block_bytes);
        let longest =
            ZEROES_BYTES.max(block).min(u64::from(info.max_request_bytes)) / block * block;
        Ok(Box::new(EmulatedChannel {
            below,
            native_fua: info.fua != Support::None,
            native_zeroes,
            native_discard: info.discard == self.info.discard,
            zeroes: BufMut::zeroed(if native_zeroes { 0 } else { longest as usize }).freeze(),
            info: self.info.clone(),
            running: Slots::default(),
            raw: Vec::new(),
            refused: Vec::new(),
        }))
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        self.below.extents(offset, length, found);
    }

    fn lease(&self) -> Option<&Lease> {
        self.below.lease()
    }
}

/// A request of the owner and what is left to do for it.
struct Running {
    tag: u64,
    buffer: ReturnedBuffer,
    owners_buffer: bool,
    zeroes: Option<(u64, u64)>,
    flush: bool,
}

struct EmulatedChannel {
    below: Box<dyn Channel>,
    native_fua: bool,
    native_zeroes: bool,
    native_discard: bool,
    zeroes: Buf,
    info: Info,
    /// Requests below carry the key of their entry here as tag, so each has at most one below at
    /// a time.
    running: Slots<Running>,
    raw: Vec<Completion>,
    /// Ended before their first step: refused, or nothing was to be done.
    refused: Vec<Completion>,
}

impl EmulatedChannel {
    fn start(&mut self, running: Running, op: Op) {
        let key = self.running.insert(running);
        self.below.submit(Request::new(key.into(), op));
    }

    /// The next request below for an entry, or `None` when it is done.
    fn next_step(zeroes: &Buf, running: &mut Running) -> Option<Op> {
        if let Some((offset, length)) = running.zeroes.take() {
            let now = length.min(zeroes.len() as u64);
            if length > now {
                running.zeroes = Some((offset + now, length - now));
            }
            return Some(Op::Write {
                offset,
                from: zeroes.clone().split_to(now as usize),
                fua: false,
            });
        }
        std::mem::take(&mut running.flush).then_some(Op::Flush)
    }
}

impl Channel for EmulatedChannel {
    fn submit(&mut self, mut request: Request) {
        let tag = request.tag;
        if let Op::Discard { offset, length } = request.op
            && !self.native_discard
        {
            if self.info.discard != DiscardSupport::ReadsZero {
                let result = self.info.check(&request.op);
                self.refused.push(request.complete(result));
                return;
            }
            request.op = Op::WriteZeroes { offset, length, fua: false };
        }
        let plain = Running {
            tag,
            buffer: ReturnedBuffer::Nothing,
            owners_buffer: true,
            zeroes: None,
            flush: false,
        };
        match request.op {
            Op::Write { offset, from, fua } => {
                let flush = fua && !self.native_fua;
                self.start(
                    Running { flush, ..plain },
                    Op::Write { offset, from, fua: fua && self.native_fua },
                );
            }
            Op::WriteZeroes { offset, length, fua } if !self.native_zeroes => {
                // The first pieces of a range that reaches past the end would be written before one
                // is refused.
                if let Err(error) = self.info.check(&request.op) {
                    self.refused.push(Completion {
                        tag,
                        buffer: ReturnedBuffer::Nothing,
                        result: Err(error),
                    });
                    return;
                }
                let mut running = Running {
                    owners_buffer: false,
                    zeroes: Some((offset, length)),
                    flush: fua,
                    ..plain
                };
                if let Some(op) = EmulatedChannel::next_step(&self.zeroes, &mut running) {
                    self.start(running, op);
                }
            }
            Op::WriteZeroes { offset, length, fua } => {
                let flush = fua && !self.native_fua;
                self.start(
                    Running { flush, ..plain },
                    Op::WriteZeroes { offset, length, fua: fua && self.native_fua },
                );
            }
            op => self.start(plain, op),
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.refused);
        let mut raw = std::mem::take(&mut self.raw);
        // A step that ends without waiting wakes no owner, so what was started here is polled for
        // here.
        let mut started = true;
        while std::mem::take(&mut started) {
            self.below.poll(&mut raw);
            for completion in raw.drain(..) {
                let key = completion.tag as u32;
                let mut running = self.running.take(key).expect("one request below for each entry");
                // The owner's own buffer comes back with the first step; our zeroes are not the
                // owner's.
                if std::mem::take(&mut running.owners_buffer) {
                    running.buffer = completion.buffer;
                }
                let next = if completion.result.is_ok() {
                    EmulatedChannel::next_step(&self.zeroes, &mut running)
                } else {
                    None
                };
                match next {
                    Some(op) => {
                        self.running.put(key, running);
                        self.below.submit(Request::new(key.into(), op));
                        started = true;
                    }
                    None => {
                        self.running.remove(key);
                        done.push(Completion {
                            tag: running.tag,
                            buffer: running.buffer,
                            result: completion.result,
                        });
                    }
                }
            }
        }
        self.raw = raw;
    }

    fn in_flight(&self) -> u32 {
        (self.running.len() + self.refused.len()) as u32
    }

    fn signal(&self) -> Option<Signal> {
        self.below.signal()
    }
}

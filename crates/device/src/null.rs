//! `null:SIZE`: takes everything, keeps nothing. What remains of a measurement is the cost of the
//! layers above it.

use block::{
    Channel, Completion, Device, DiscardSupport, Error, Info, Node, Op, Reactor, Request, Support,
    TracedChannel,
};

use crate::immediate::{ImmediateChannel, ImmediateDevice};
use crate::ram::{check_shape, sized_leaf};

/// A device that forgets what is written. Reads are zeroes, so that a buffer used for other
/// data before never shows it again.
pub struct NullDevice {
    info: Info,
}

impl NullDevice {
    /// A device of `size_bytes` in blocks of `block_bytes`.
    ///
    /// # Errors
    /// [`block::ErrorKind::Invalid`] when the block is no power of two from 512 on or the size is
    /// not whole blocks.
    pub fn new(size_bytes: u64, block_bytes: u32) -> Result<NullDevice, Error> {
        check_shape("null", size_bytes, block_bytes)?;
        let info = Info {
            block_bytes,
            optimal_bytes: block_bytes.max(4096),
            stripe: None,
            stores_data: false,
            fua: Support::Native,
            zeroes: Support::Native,
            discard: DiscardSupport::ReadsZero,
            ..Info::plain(size_bytes)
        };
        Ok(NullDevice { info })
    }
}

impl Device for NullDevice {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        sized_leaf("null", &self.info)
    }

    fn open(&self, depth: u32, _reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = ImmediateChannel::new(Forgetful { info: self.info.clone() }, depth);
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }
}

struct Forgetful {
    info: Info,
}

impl ImmediateDevice for Forgetful {
    fn carry_out(&self, mut request: Request) -> Completion {
        let result = self.info.check(&request.op);
        if let (Ok(()), Op::Read { into, .. }) = (&result, &mut request.op) {
            into.fill(0);
        }
        request.complete(result)
    }
}

//! A channel used one request at a time, for work that is not the data path: preparing, reading
//! back, headers.

use std::time::Duration;

use reactor::{Buf, BufMut, Reactor, WakeReason};
use words::statement;

use crate::{
    Channel, Completion, Device, Error, ErrorKind, Op, Request, ReturnedBuffer, catalogue,
};

/// One channel whose calls return when the request has completed.
pub struct Blocking {
    channel: Box<dyn Channel>,
    reactor: Reactor,
    done: Vec<Completion>,
    tag: u64,
    /// Requests are cut to this, in bytes.
    max_request_bytes: usize,
    block_bytes: u64,
}

/// How much one request of `write_slice` and `read_slice` carries.
const PIECE_BYTES: usize = 1 << 20;
/// A device that has not answered for this long is reported instead of waited for. Emptying the
/// write cache of a slow disk takes minutes (16384 random writes at 8 ms are 140 s).
const PATIENCE: Duration = Duration::from_secs(20 * 60);

impl Blocking {
    /// Opens a channel of depth 1 onto `device`.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn open(device: &dyn Device, reactor: &Reactor) -> Result<Blocking, Error> {
        let channel = device.open(1, reactor)?;
        let (block, longest) =
            (device.info().block_bytes as usize, device.info().max_request_bytes as usize);
        let piece = longest.min(PIECE_BYTES.max(block)) / block * block;
        Ok(Blocking {
            channel,
            reactor: reactor.clone(),
            done: Vec::new(),
            tag: 0,
            max_request_bytes: piece,
            block_bytes: block as u64,
        })
    }

    /// Opens a channel on a clock of its own, where there is no reactor: the virtual one, or the
    /// real one for a device that needs the kernel.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn beside(device: &dyn Device) -> Result<Blocking, Error> {
        match Blocking::open(device, &Reactor::virtual_clock()) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                Blocking::open(device, &Reactor::wall()?)
            }
            opened => opened,
        }
    }

    /// Submits one operation and waits for its end. What ends meanwhile of other channels on the
    /// reactor stays theirs.
    ///
    /// # Errors
    /// The request's own, or [`ErrorKind::TimedOut`] when nothing is under way any more, nothing
    /// came for twenty minutes, or an earlier request that ended so is still not answered.
    pub fn run(&mut self, op: Op) -> Result<ReturnedBuffer, Error> {
        let name = op.message();
        self.channel.poll(&mut self.done);
        self.done.clear();
        if self.channel.in_flight() > 0 {
            return Err(Error::new(
                ErrorKind::TimedOut,
                statement!(catalogue::NOT_SENT, op = name),
            ));
        }
        self.tag += 1;
        self.channel.submit(Request::new(self.tag, op));
        let (deadline, mut rung) = (self.reactor.now() + PATIENCE, false);
        loop {
            self.channel.poll(&mut self.done);
            if let Some(completion) = self.done.pop() {
                if rung {
                    // It may have been for another owner.
                    self.reactor.nudge();
                }
                return completion.result.map(|()| completion.buffer);
            }
            match self.reactor.wait_for_new(Some(deadline)) {
                Ok(WakeReason::Events) => (),
                Ok(WakeReason::Rung) => rung = true,
                // The virtual clock says so at once when nothing is under way.
                Ok(WakeReason::Deadline | WakeReason::Idle) => {
                    let minutes = PATIENCE.as_secs() / 60;
                    let text = statement!(catalogue::OP_UNANSWERED, op = name, minutes = minutes);
                    return Err(Error::new(ErrorKind::TimedOut, text));
                }
                Err(error) => return Err(Error::from_io(catalogue::AWAITING_DEVICE, error)),
            }
        }
    }

    /// Reads into a buffer.
    ///
    /// # Errors
    /// As [`Blocking::run`].
    pub fn read(&mut self, offset: u64, into: BufMut) -> Result<BufMut, Error> {
        self.run(Op::Read { offset, into }).map(ReturnedBuffer::read)
    }

    /// Writes a buffer.
    ///
    /// # Errors
    /// As [`Blocking::run`].
    pub fn write(&mut self, offset: u64, from: Buf) -> Result<(), Error> {
        self.run(Op::Write { offset, from, fua: false }).map(drop)
    }

    /// Makes everything written durable.
    ///
    /// # Errors
    /// As [`Blocking::run`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.run(Op::Flush).map(drop)
    }

    /// Reads a slice of any length of whole blocks, in pieces.
    ///
    /// # Errors
    /// As [`Blocking::run`].
    pub fn read_slice(&mut self, mut offset: u64, target: &mut [u8]) -> Result<(), Error> {
        for piece in target.chunks_mut(self.max_request_bytes) {
            let buffer = self.read(offset, BufMut::zeroed(piece.len()))?;
            buffer.copy_to_slice(piece);
            offset += piece.len() as u64;
        }
        Ok(())
    }

    /// Reads a slice from wherever it begins and ends: whole blocks around it.
    ///
    /// # Errors
    /// As [`Blocking::run`].
    pub fn read_bytes(&mut self, offset: u64, target: &mut [u8]) -> Result<(), Error> {
        let start = offset - offset % self.block_bytes;
        let before = (offset - start) as usize;
        let length = (before + target.len()).next_multiple_of(self.block_bytes as usize);
        if length == target.len() {
            return self.read_slice(start, target);
        }
        let mut whole = vec![0; length];
        self.read_slice(start, &mut whole)?;
        target.copy_from_slice(&whole[before..before + target.len()]);
        Ok(())
    }

    /// Writes a slice of any length of whole blocks, in pieces.
    ///
    /// # Errors
    /// As [`Blocking::run`].
    pub fn write_slice(&mut self, mut offset: u64, source: &[u8]) -> Result<(), Error> {
        for piece in source.chunks(self.max_request_bytes) {
            let mut buffer = BufMut::zeroed(piece.len());
            buffer.copy_from_slice(piece);
            self.write(offset, buffer.freeze())?;
            offset += piece.len() as u64;
        }
        Ok(())
    }
}

//! Seeded random requests against a ledger of what every read may find.
//!
//! The ledger knows only what the owner of the channels saw, so any device can be driven: requests
//! overlap, overtake one another and go out on several channels, and writes in flight together may
//! end in either order, block by block.

use std::collections::HashMap;
use std::sync::Arc;

use block::{
    Buf, BufMut, Completion, Device, DiscardSupport, ErrorKind, Info, Op, Reactor, ReturnedBuffer,
    Support,
};
use reactor::{Random, derive_seed};

use crate::Violation;
use crate::ledger::{Content, Ledger, WriteId};
use crate::owner::{Owner, Patience};

/// How to drive a device.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many requests, over all channels.
    pub requests: u32,
    /// Requests in flight on each channel.
    pub depth: u32,
    /// Channels, all on one reactor.
    pub channels: u32,
    /// The longest request, in blocks.
    pub longest_blocks: u64,
}

impl Default for Load {
    fn default() -> Load {
        Load { requests: 600, depth: 8, channels: 2, longest_blocks: 9 }
    }
}

/// How often a failed read is tried.
const TRIES: u32 = 32;
/// Blocks that one window holds; small, so that requests meet.
const WINDOW_BLOCKS: u64 = 24;

/// Parts of a device to work on, as offset and length in bytes: both ends and a place in between,
/// or all of a small one.
pub(crate) fn windows(info: &Info, random: &mut Random) -> Vec<(u64, u64)> {
    let block = u64::from(info.block_bytes);
    let blocks = info.size_bytes / block;
    if blocks <= 4 * WINDOW_BLOCKS {
        return vec![(0, info.size_bytes)];
    }
    let middle = random.u64(WINDOW_BLOCKS..=blocks - 2 * WINDOW_BLOCKS);
    [0, middle, blocks - WINDOW_BLOCKS].map(|first| (first * block, WINDOW_BLOCKS * block)).to_vec()
}

/// A buffer in up to four pieces, which need not lie in order; pieces are whole blocks.
pub(crate) fn scattered(
    reactor: &Reactor,
    length: u64,
    block_bytes: u32,
    random: &mut Random,
) -> BufMut {
    let block = block_bytes as usize;
    let mut host = if random.bool() {
        reactor.allocate(length as usize + block)
    } else {
        BufMut::zeroed(length as usize + block)
    };
    let _gap = host.split_to(random.usize(0..=1) * block);
    let mut pieces = Vec::new();
    let mut left = length as usize;
    while left > 0 {
        let piece = if pieces.len() == 3 { left } else { random.usize(1..=left / block) * block };
        pieces.push(host.split_to(piece));
        left -= piece;
    }
    random.shuffle(&mut pieces);
    let mut buffer = BufMut::zeroed(0);
    pieces.into_iter().for_each(|piece| buffer.append(piece));
    buffer
}

/// What a request in flight is to the ledger.
enum Expected {
    Write(WriteId, bool),
    Read(u64, u64),
    Flush(u64),
}

pub(crate) struct Driver {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) reactor: Reactor,
    pub(crate) owners: Vec<Owner>,
    pub(crate) ledger: Ledger,
    pub(crate) random: Random,
    windows: Vec<(u64, u64)>,
    expected: HashMap<(usize, u64), Expected>,
    seed: u64,
}

impl Driver {
    /// Opens the channels and learns what lies in the windows.
    pub(crate) fn new(
        device: Arc<dyn Device>,
        reactor: Reactor,
        depth: u32,
        channels: u32,
        seed: u64,
    ) -> Result<Driver, Violation> {
        let mut random = Random::with_seed(seed);
        let windows = windows(device.info(), &mut random);
        let owners = (0..channels)
            .map(|_| Owner::open(&*device, depth, &reactor, seed))
            .collect::<Result<_, _>>()?;
        let ledger = Ledger::new(device.info().block_bytes, derive_seed(seed, "contents", 0));
        let mut driver = Driver {
            device,
            reactor,
            owners,
            ledger,
            random,
            windows,
            expected: HashMap::new(),
            seed,
        };
        for (offset, length) in driver.windows.clone() {
            let bytes = driver.read_all(offset, length)?;
            driver.ledger.learn(offset, &bytes);
        }
        Ok(driver)
    }

    /// Reads a range in pieces that the device takes; the channels are idle.
    fn read_all(&mut self, offset: u64, length: u64) -> Result<Vec<u8>, Violation> {
        let longest = u64::from(self.device.info().max_request_bytes).min(1 << 20);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < length {
            let now = longest.min(length - bytes.len() as u64);
            let offset = offset + bytes.len() as u64;
            let buffer = self.read_patiently(offset, now)?;
            let start = bytes.len();
            bytes.resize(start + now as usize, 0);
            buffer.copy_to_slice(&mut bytes[start..]);
        }
        Ok(bytes)
    }

    /// Devices under test may fail now and then; one that always does is of no use.
    fn read_patiently(&mut self, offset: u64, length: u64) -> Result<BufMut, Violation> {
        let mut tries = 0;
        loop {
            let into = BufMut::zeroed(length as usize);
            let completion = self.owners[0].run(&self.reactor, Op::Read { offset, into })?;
            tries += 1;
            match completion.result {
                Ok(()) => return Ok(completion.buffer.read()),
                Err(error) if tries == TRIES => {
                    return Err(self
                        .violation("C15", format!("reading {length} bytes at {offset}: {error}")));
                }
                Err(_) => (),
            }
        }
    }

    fn violation(&self, rule: &'static str, detail: impl Into<String>) -> Violation {
        Violation { rule, detail: detail.into(), seed: self.seed }
    }

    /// A random operation that the device has to take.
    fn choose(&mut self, longest_blocks: u64) -> Op {
        let info = self.device.info().clone();
        let block = u64::from(info.block_bytes);
        let (start, window) = self.windows[self.random.usize(..self.windows.len())];
        let longest =
            longest_blocks.min(window / block).min(u64::from(info.max_request_bytes) / block);
        let length = self.random.u64(1..=longest.max(1)) * block;
        let offset = start + self.random.u64(0..=(window - length) / block) * block;
        let fua = info.fua != Support::None && self.random.u8(..5) == 0;
        let read = |random: &mut Random| Op::Read {
            offset,
            into: scattered(&self.reactor, length, info.block_bytes, random),
        };
        if info.read_only {
            return if self.random.u8(..10) == 0 { Op::Flush } else { read(&mut self.random) };
        }
        match self.random.u8(..20) {
            0..8 => read(&mut self.random),
            8 => Op::Flush,
            9..11 if info.zeroes != Support::None => Op::WriteZeroes { offset, length, fua },
            11 if info.discard != DiscardSupport::None => Op::Discard { offset, length },
            _ => {
                let from =
                    scattered(&self.reactor, length, info.block_bytes, &mut self.random).freeze();
                Op::Write { offset, from, fua }
            }
        }
    }

    /// Submits on one channel; a write's bytes are chosen here.
    pub(crate) fn submit(&mut self, channel: usize, op: Op) -> Result<(), Violation> {
        let durable_at_once = !self.device.info().volatile_cache;
        let (op, expected) = match op {
            Op::Write { offset, from, fua } => {
                let id = self.ledger.begin_write(offset, from.len() as u64, Content::Numbered);
                let from = self.numbered(id, offset, from);
                (Op::Write { offset, from, fua }, Expected::Write(id, fua || durable_at_once))
            }
            Op::WriteZeroes { offset, length, fua } => {
                let id = self.ledger.begin_write(offset, length, Content::Zeroes);
                (op, Expected::Write(id, fua || durable_at_once))
            }
            Op::Discard { offset, length } => {
                let reads_zero = self.device.info().discard == DiscardSupport::ReadsZero;
                let content = if reads_zero { Content::Zeroes } else { Content::Anything };
                (
                    op,
                    Expected::Write(
                        self.ledger.begin_write(offset, length, content),
                        durable_at_once,
                    ),
                )
            }
            Op::Read { offset, .. } => (op, Expected::Read(self.ledger.begin(), offset)),
            Op::Flush => (op, Expected::Flush(self.ledger.begin())),
        };
        let tag = self.owners[channel].submit(op)?;
        self.expected.insert((channel, tag), expected);
        Ok(())
    }

    /// The bytes of a write in a buffer of the same shape.
    fn numbered(&self, id: WriteId, offset: u64, shape: Buf) -> Buf {
        let mut buffer = match shape.try_mut() {
            Ok(buffer) => buffer,
            // Pieces that lie apart cannot be had back, so they are made again.
            Err(shape) => {
                let mut buffer = BufMut::zeroed(0);
                let pieces: Vec<usize> = shape.slices().map(<[u8]>::len).collect();
                let mut host = BufMut::zeroed(2 * shape.len());
                for piece in pieces {
                    buffer.append(host.split_to(piece));
                    let _gap = host.split_to(piece);
                }
                buffer
            }
        };
        self.ledger.fill(id, offset, &mut buffer);
        buffer.freeze()
    }

    /// Takes what has completed on one channel and checks it; says how much that was.
    pub(crate) fn poll(&mut self, channel: usize) -> Result<usize, Violation> {
        let done = self.owners[channel].poll()?;
        let count = done.len();
        for completion in done {
            let expected =
                self.expected.remove(&(channel, completion.tag)).expect("the owner checks tags");
            self.end(expected, completion)?;
        }
        Ok(count)
    }

    fn end(&mut self, expected: Expected, completion: Completion) -> Result<(), Violation> {
        let error = completion.result.err();
        if let Some(error) = &error
            && matches!(
                error.kind(),
                ErrorKind::Misaligned
                    | ErrorKind::OutOfRange
                    | ErrorKind::Invalid
                    | ErrorKind::Unsupported
            )
        {
            return Err(self.violation(
                "C6",
                format!("a request that keeps to the rules was refused: {error}"),
            ));
        }
        match (expected, error) {
            (Expected::Write(id, durable), error) => {
                self.ledger.end_write(id, error.is_none(), durable);
            }
            (Expected::Flush(begun), None) => self.ledger.end_flush(begun),
            (Expected::Read(begun, offset), None) => {
                let ReturnedBuffer::Read(buffer) = completion.buffer else {
                    unreachable!("the owner checks buffers")
                };
                let mut bytes = vec![0; buffer.len()];
                buffer.copy_to_slice(&mut bytes);
                if self.device.info().stores_data {
                    let checked = self.ledger.check_read(begun, offset, &bytes);
                    checked.map_err(|detail| self.violation("C15", detail))?;
                }
            }
            (Expected::Flush(_) | Expected::Read(..), Some(_)) => (),
        }
        Ok(())
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.owners.iter().map(Owner::in_flight).sum()
    }

    /// Waits until nothing is in flight.
    pub(crate) fn settle(&mut self) -> Result<(), Violation> {
        let reactor = self.reactor.clone();
        let mut patience = Patience::new(&reactor, self.seed);
        while self.in_flight() > 0 {
            let mut count = 0;
            for channel in 0..self.owners.len() {
                count += self.poll(channel)?;
            }
            if count > 0 {
                patience = Patience::new(&reactor, self.seed);
            } else if self.in_flight() > 0 {
                patience.wait(&format!("{} requests in flight", self.in_flight()))?;
            }
        }
        Ok(())
    }

    /// Reads all windows and checks them.
    pub(crate) fn read_back(&mut self) -> Result<(), Violation> {
        self.settle()?;
        if !self.device.info().stores_data {
            return Ok(());
        }
        for (offset, length) in self.windows.clone() {
            let begun = self.ledger.begin();
            let bytes = self.read_all(offset, length)?;
            let checked = self.ledger.check_read(begun, offset, &bytes);
            checked.map_err(|detail| self.violation("C15", detail))?;
        }
        Ok(())
    }
}

/// Drives `device` with random requests on `reactor` and checks everything that comes back.
///
/// Requests may fail with errors of the medium: a failed write leaves each of its blocks old or
/// new.
///
/// # Errors
/// The sentence of the contract that was broken.
pub fn drive(
    device: &Arc<dyn Device>,
    reactor: &Reactor,
    load: &Load,
    seed: u64,
) -> Result<(), Violation> {
    let mut driver =
        Driver::new(Arc::clone(device), reactor.clone(), load.depth, load.channels, seed)?;
    let mut started = 0;
    while started < load.requests {
        let channel = driver.random.usize(..driver.owners.len());
        if driver.owners[channel].in_flight() < load.depth && driver.random.u8(..4) != 0 {
            let op = driver.choose(load.longest_blocks);
            driver.submit(channel, op)?;
            started += 1;
        } else if driver.poll(channel)? == 0 {
            // Other channels may hold what the reactor would wake us for.
            let mut count = 0;
            for channel in 0..driver.owners.len() {
                count += driver.poll(channel)?;
            }
            if count == 0 && driver.in_flight() > 0 {
                let what = format!("{} requests in flight", driver.in_flight());
                let reactor = driver.reactor.clone();
                Patience::new(&reactor, seed).wait(&what)?;
            }
        }
    }
    driver.read_back()
}

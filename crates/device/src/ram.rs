//! `ram:SIZE`: blocks in memory, shared by all channels and threads.
//!
//! ```text
//! groups   |  o  |  -  |  -  |  o  | …     one word or so for each 32 MiB; made when first written
//!             |                 |
//! pages    |o|-|o|-|…        |-|o|…        a lock for each 64 KiB; bytes allocated when first written
//! ```
//!
//! What was never written takes no memory and reads as zeroes; a discard gives whole pages back.
//! Nothing is lost as long as the device lives, so every completed write is as durable as it will
//! ever be, and a flush has nothing to do.
//!
//! It answers in the moment of asking, unless it is told how long it takes ([`ServiceTime`]): then
//! each channel works on one request after the other, as one processor does.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use block::{
    Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Extents, Info, Node, Op,
    Reactor, Request, SECTOR_BYTES, Support, Time, TracedChannel, duration_text, size_text,
};
use reactor::Source;
use words::statement;

use crate::immediate::{ImmediateChannel, ImmediateDevice};
use crate::messages;

const PAGE_BYTES: usize = 64 << 10;
const GROUP_PAGES: usize = 512;
const GROUP_BYTES: u64 = (PAGE_BYTES * GROUP_PAGES) as u64;
/// Even what is never written costs a word or so for each group.
const SIZE_BYTES_MAX: u64 = 64 << 40;

/// What a request to memory takes, where that is stated: a model of the processor that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceTime {
    /// Of each request, whatever its size.
    pub per_request: Duration,
    /// How fast its data are copied, in bytes a second; at once without it.
    pub bytes_per_second: Option<u64>,
}

impl ServiceTime {
    fn of(self, op: &Op) -> Duration {
        let bytes = match op {
            Op::Read { into, .. } => into.len(),
            Op::Write { from, .. } => from.len(),
            Op::WriteZeroes { .. } | Op::Discard { .. } | Op::Flush => 0,
        };
        let copied = self
            .bytes_per_second
            .map_or(0, |rate| u128::from(bytes as u64) * 1_000_000_000 / u128::from(rate.max(1)));
        self.per_request + Duration::from_nanos(u64::try_from(copied).unwrap_or(u64::MAX))
    }
}

/// A device in memory. Clones hold the same data.
#[derive(Clone)]
pub struct RamDevice {
    store: Arc<Store>,
    time: Option<ServiceTime>,
}

impl RamDevice {
    /// A device of `size_bytes` in blocks of `block_bytes`, all zeroes.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the block is no power of two from 512 on, the size is not
    /// whole blocks, or it is more than any machine has.
    pub fn new(size_bytes: u64, block_bytes: u32) -> Result<RamDevice, Error> {
        Self::made(size_bytes, block_bytes, None)
    }

    fn made(
        size_bytes: u64,
        block_bytes: u32,
        time: Option<ServiceTime>,
    ) -> Result<RamDevice, Error> {
        check_shape("ram", size_bytes, block_bytes)?;
        if size_bytes > SIZE_BYTES_MAX {
            let (size, most) = (size_text(size_bytes), size_text(SIZE_BYTES_MAX));
            let text = statement!(messages::MORE_THAN_MEMORY, size = size, most = most);
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let info = Info {
            block_bytes,
            optimal_bytes: block_bytes.max(4096),
            stripe: None,
            fua: Support::Native,
            zeroes: Support::Native,
            discard: DiscardSupport::ReadsZero,
            modelled: time.is_some(),
            ..Info::plain(size_bytes)
        };
        let groups = (0..size_bytes.div_ceil(GROUP_BYTES)).map(|_| OnceLock::new()).collect();
        Ok(RamDevice { store: Arc::new(Store { info, groups }), time })
    }

    /// The same with a time that each request takes: its times are modelled.
    ///
    /// # Errors
    /// As [`RamDevice::new`].
    pub fn modelled(
        size_bytes: u64,
        block_bytes: u32,
        time: ServiceTime,
    ) -> Result<RamDevice, Error> {
        Self::made(size_bytes, block_bytes, Some(time))
    }

    /// Memory that holds written data now, in bytes; whole pages of 64 KiB.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        let pages =
            self.store.groups.iter().filter_map(OnceLock::get).flat_map(|group| group.iter());
        pages.filter(|page| page.read().unwrap_or_else(PoisonError::into_inner).is_some()).count()
            as u64
            * PAGE_BYTES as u64
    }
}

impl Device for RamDevice {
    fn info(&self) -> &Info {
        &self.store.info
    }

    fn describe(&self) -> Node {
        let leaf = sized_leaf("ram", &self.store.info);
        let Some(time) = self.time else { return leaf };
        let leaf = leaf.with("latency", duration_text(time.per_request));
        match time.bytes_per_second {
            Some(rate) => leaf.with("rate", size_text(rate)),
            None => leaf,
        }
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = ImmediateChannel::new(Arc::clone(&self.store), depth);
        let node = self.describe();
        Ok(match self.time {
            None => Box::new(TracedChannel::new(channel, &node)),
            Some(time) => {
                let source = reactor.source();
                let free_at = reactor.now();
                let late =
                    LateChannel { below: channel, time, source, free_at, late: VecDeque::new() };
                Box::new(TracedChannel::new(late, &node))
            }
        })
    }

    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let (mut offset, end) = (offset, offset + length);
        if self.store.info.block_bytes as usize > PAGE_BYTES {
            return found.push(length, false);
        }
        while offset < end && !found.is_full() {
            let page = (offset / PAGE_BYTES as u64) as usize;
            let (is_hole, next) = match self.store.groups[page / GROUP_PAGES].get() {
                None => (true, (offset / GROUP_BYTES + 1) * GROUP_BYTES),
                Some(group) => {
                    let page =
                        group[page % GROUP_PAGES].read().unwrap_or_else(PoisonError::into_inner);
                    (page.is_none(), (offset / PAGE_BYTES as u64 + 1) * PAGE_BYTES as u64)
                }
            };
            let next = next.min(end);
            found.push(next - offset, is_hole);
            offset = next;
        }
    }
}

/// A channel whose answers come when they are due, one behind the other.
struct LateChannel {
    below: ImmediateChannel<Arc<Store>>,
    time: ServiceTime,
    source: Source,
    /// When all that was asked for is done.
    free_at: Time,
    /// Answers that are not due yet: a timer is set for each.
    late: VecDeque<Completion>,
}

impl Channel for LateChannel {
    fn submit(&mut self, request: Request) {
        let begun = self.free_at.max(self.source.reactor().now());
        self.free_at = begun + self.time.of(&request.op);
        self.below.submit(request);
        let mut answered = Vec::new();
        self.below.poll(&mut answered);
        self.late.extend(answered);
        self.source.at(self.free_at, 0);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        // Each event is the end of the oldest that is under way.
        while self.source.take().is_some() {
            done.extend(self.late.pop_front());
        }
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.late.len()).unwrap_or(u32::MAX)
    }
}

/// `scheme:SIZE`, with the block size where it is not the usual one.
pub(crate) fn sized_leaf(scheme: &str, info: &Info) -> Node {
    let leaf = Node::leaf(scheme, size_text(info.size_bytes));
    if u64::from(info.block_bytes) == SECTOR_BYTES {
        leaf
    } else {
        leaf.with("block", info.block_bytes)
    }
}

/// Refuses sizes that no device can have.
pub(crate) fn check_shape(scheme: &str, size_bytes: u64, block_bytes: u32) -> Result<(), Error> {
    check_block(block_bytes).map_err(|error| error.at(scheme))?;
    if size_bytes == 0 || !size_bytes.is_multiple_of(u64::from(block_bytes)) {
        let text = statement!(
            messages::NO_WHOLE_BLOCKS,
            scheme = scheme,
            size_bytes = size_bytes,
            block_bytes = block_bytes
        );
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok(())
}

/// Refuses blocks that no device can have.
pub(crate) fn check_block(block_bytes: u32) -> Result<(), Error> {
    if block_bytes.is_power_of_two() && u64::from(block_bytes) >= SECTOR_BYTES {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, statement!(messages::NO_BLOCK, block_bytes = block_bytes)))
}

static ZEROES: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// 64 KiB of the device, or nothing while it holds zeroes alone.
type Page = RwLock<Option<Box<[u8]>>>;

struct Store {
    info: Info,
    groups: Vec<OnceLock<Box<[Page]>>>,
}

/// The part of one page that a range covers.
struct Piece {
    page: usize,
    start: usize,
    length: usize,
}

fn piece_at(offset: u64, left: usize) -> Piece {
    let start = (offset % PAGE_BYTES as u64) as usize;
    Piece {
        page: (offset / PAGE_BYTES as u64) as usize,
        start,
        length: left.min(PAGE_BYTES - start),
    }
}

impl Store {
    /// The page's lock, if anything in its group was ever written.
    fn page(&self, page: usize) -> Option<&Page> {
        self.groups[page / GROUP_PAGES].get().map(|group| &group[page % GROUP_PAGES])
    }

    fn page_made(&self, page: usize) -> &Page {
        let group = self.groups[page / GROUP_PAGES]
            .get_or_init(|| (0..GROUP_PAGES).map(|_| Page::default()).collect());
        &group[page % GROUP_PAGES]
    }

    fn read(&self, mut offset: u64, mut target: &mut [u8]) {
        while !target.is_empty() {
            let piece = piece_at(offset, target.len());
            let (now, later) = target.split_at_mut(piece.length);
            let bytes = self
                .page(piece.page)
                .map(|page| page.read().unwrap_or_else(PoisonError::into_inner));
            match bytes.as_ref().and_then(|bytes| bytes.as_ref()) {
                Some(bytes) => now.copy_from_slice(&bytes[piece.start..piece.start + piece.length]),
                None => now.fill(0),
            }
            offset += piece.length as u64;
            target = later;
        }
    }

    fn write(&self, mut offset: u64, mut source: &[u8]) {
        while !source.is_empty() {
            let piece = piece_at(offset, source.len());
            let (now, later) = source.split_at(piece.length);
            let mut page =
                self.page_made(piece.page).write().unwrap_or_else(PoisonError::into_inner);
            // Zeroes on a page of zeroes need no room: disks are written over with them whole.
            if page.is_some() || *now != ZEROES[..now.len()] {
                let bytes = page.get_or_insert_with(|| vec![0; PAGE_BYTES].into_boxed_slice());
                bytes[piece.start..piece.start + piece.length].copy_from_slice(now);
            }
            offset += piece.length as u64;
            source = later;
        }
    }

    fn clear(&self, mut offset: u64, length: u64) {
        let end = offset + length;
        while offset < end {
            let piece = piece_at(offset, usize::try_from(end - offset).unwrap_or(usize::MAX));
            if let Some(page) = self.page(piece.page) {
                let mut page = page.write().unwrap_or_else(PoisonError::into_inner);
                if piece.length == PAGE_BYTES {
                    *page = None;
                } else if let Some(bytes) = page.as_mut() {
                    bytes[piece.start..piece.start + piece.length].fill(0);
                }
            }
            offset += piece.length as u64;
        }
    }
}

impl ImmediateDevice for Arc<Store> {
    fn carry_out(&self, mut request: Request) -> Completion {
        if let Err(error) = self.info.check(&request.op) {
            return request.complete(Err(error.at("ram")));
        }
        match &mut request.op {
            Op::Read { offset, into } => {
                let mut offset = *offset;
                for slice in into.slices_mut() {
                    self.read(offset, slice);
                    offset += slice.len() as u64;
                }
            }
            Op::Write { offset, from, .. } => {
                let mut offset = *offset;
                for slice in from.slices() {
                    self.write(offset, slice);
                    offset += slice.len() as u64;
                }
            }
            Op::WriteZeroes { offset, length, .. } | Op::Discard { offset, length } => {
                self.clear(*offset, *length);
            }
            Op::Flush => (),
        }
        request.complete(Ok(()))
    }
}

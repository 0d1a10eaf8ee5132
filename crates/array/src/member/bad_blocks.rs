//! A device with bad blocks: what a rebuild could not recover must not read as if it were data.
//!
//! Reads that touch one fail as bad sectors do, so that the array makes the data from other members
//! or reports the error; a write makes it good. Without bad blocks the cost is one look at a flag.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{Channel, Completion, Device, Error, ErrorKind, Info, Node, Reactor, Request, Signal};
use words::statement;

use crate::catalogue;
use crate::ranges::Ranges;

pub(crate) struct BadBlocks {
    below: Arc<dyn Device>,
    ranges: Arc<LostRanges>,
}

struct LostRanges {
    /// In bytes of the device.
    lost: Mutex<Ranges>,
    any: AtomicBool,
}

impl LostRanges {
    fn lost(&self) -> MutexGuard<'_, Ranges> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Ranges)) {
        let mut lost = self.lost();
        change(&mut lost);
        self.any.store(!lost.is_empty(), Ordering::Release);
    }

    fn meet(&self, range: &Range<u64>) -> bool {
        self.any.load(Ordering::Acquire) && self.lost().meet(range)
    }
}

impl BadBlocks {
    /// A device that has lost these bytes of its own.
    pub(crate) fn over(below: Arc<dyn Device>, lost: Ranges) -> Arc<BadBlocks> {
        let any = AtomicBool::new(!lost.is_empty());
        Arc::new(BadBlocks { below, ranges: Arc::new(LostRanges { lost: Mutex::new(lost), any }) })
    }

    /// What it is over.
    pub(crate) fn below(&self) -> &Arc<dyn Device> {
        &self.below
    }

    /// What is lost, in bytes of the device.
    pub(crate) fn lost(&self) -> Ranges {
        self.ranges.lost().clone()
    }

    /// How much is lost, in bytes.
    pub(crate) fn lost_bytes(&self) -> u64 {
        if self.ranges.any.load(Ordering::Acquire) { self.ranges.lost().bytes() } else { 0 }
    }

    /// Whether anything is lost.
    pub(crate) fn any(&self) -> bool {
        self.ranges.any.load(Ordering::Acquire)
    }

    /// Whether something of a range is lost; in bytes of the device.
    pub(crate) fn meet(&self, range: &Range<u64>) -> bool {
        self.ranges.meet(range)
    }

    /// This could not be recovered; in bytes of the device.
    pub(crate) fn add(&self, range: Range<u64>) {
        self.ranges.change(|lost| lost.add(range));
    }
}

impl Device for BadBlocks {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.below.open(depth, reactor)?;
        Ok(Box::new(BadBlocksChannel {
            below,
            ranges: Arc::clone(&self.ranges),
            filling: HashMap::new(),
            refused: Vec::new(),
        }))
    }
}

struct BadBlocksChannel {
    below: Box<dyn Channel>,
    ranges: Arc<LostRanges>,
    /// Writes under way over lost ranges.
    filling: HashMap<u64, Range<u64>>,
    refused: Vec<Completion>,
}

impl Channel for BadBlocksChannel {
    #[inline]
    fn submit(&mut self, request: Request) {
        if let Some((offset, length)) = request.op.range() {
            // A range past the end is for the device to refuse.
            let range = offset..offset.saturating_add(length);
            if self.ranges.meet(&range) {
                if request.op.changes_data() {
                    self.filling.insert(request.tag, range);
                } else {
                    let text = statement!(catalogue::LOST_BEFORE, length = length, offset = offset);
                    self.refused.push(request.complete(Err(Error::new(ErrorKind::Media, text))));
                    return;
                }
            }
        }
        self.below.submit(request);
    }

    #[inline]
    fn poll(&mut self, done: &mut Vec<Completion>) {
        let at = done.len();
        self.below.poll(done);
        if !self.filling.is_empty() {
            for completion in &done[at..] {
                if let Some(range) = self.filling.remove(&completion.tag)
                    && completion.result.is_ok()
                {
                    self.ranges.change(|lost| lost.remove(&range));
                }
            }
        }
        done.append(&mut self.refused);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.refused.len() as u32
    }

    fn signal(&self) -> Option<Signal> {
        self.below.signal()
    }
}

//! A device with places that nobody could fill: what a rebuild could not restore must not read as if it were data.
//!
//! Reads that touch such a place fail as bad sectors do, so that the array makes them up from elsewhere or says so; a write
//! fills it. Without such places it is one look at a flag.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{Channel, Completion, Device, Error, ErrorKind, Info, Node, Reactor, Request};

use super::Ranges;

pub(crate) struct Holes {
    below: Arc<dyn Device>,
    places: Arc<Places>,
}

struct Places {
    /// In bytes of the device.
    lost: Mutex<Ranges>,
    any: AtomicBool,
}

impl Places {
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

impl Holes {
    /// A device that has lost these bytes of its own.
    pub(crate) fn over(below: Arc<dyn Device>, lost: Ranges) -> Arc<Holes> {
        let any = AtomicBool::new(!lost.is_empty());
        Arc::new(Holes { below, places: Arc::new(Places { lost: Mutex::new(lost), any }) })
    }

    /// What it is over.
    pub(crate) fn below(&self) -> &Arc<dyn Device> {
        &self.below
    }

    /// What is lost, in bytes of the device.
    pub(crate) fn lost(&self) -> Ranges {
        self.places.lost().clone()
    }

    /// Nobody could fill this, in bytes of the device.
    pub(crate) fn add(&self, range: Range<u64>) {
        self.places.change(|lost| lost.add(range));
    }
}

impl Device for Holes {
    fn info(&self) -> &Info {
        self.below.info()
    }

    fn describe(&self) -> Node {
        self.below.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let below = self.below.open(depth, reactor)?;
        Ok(Box::new(HolesChannel { below, places: Arc::clone(&self.places), filling: HashMap::new(), refused: Vec::new() }))
    }
}

struct HolesChannel {
    below: Box<dyn Channel>,
    places: Arc<Places>,
    /// Writes under way over lost places.
    filling: HashMap<u64, Range<u64>>,
    refused: Vec<Completion>,
}

impl Channel for HolesChannel {
    #[inline]
    fn submit(&mut self, request: Request) {
        if let Some((offset, length)) = request.op.range() {
            // A range past the end is for the device to refuse.
            let range = offset..offset.saturating_add(length);
            if self.places.meet(&range) {
                if request.op.changes_data() {
                    self.filling.insert(request.tag, range);
                } else {
                    let text = format!("{length} bytes at {offset}: some of it was lost before and has not been written since");
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
                    self.places.change(|lost| lost.remove(&range));
                }
            }
        }
        done.append(&mut self.refused);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.refused.len() as u32
    }
}

//! Drives as a power cut has left them: overlays on what is durable, to be started from.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use block::{
    Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Info, Node, Op, Reactor,
    Request, Support, TracedChannel,
};

use crate::catalogue;
use crate::image::{Durable, Image, PAGE_BYTES, parts};
use crate::log::Drive;

/// What a power cut has left of all drives.
pub struct Crash {
    drives: Vec<CrashDrive>,
}

impl Crash {
    pub(crate) fn new(drives: Vec<CrashDrive>) -> Crash {
        Crash { drives }
    }

    /// The drives, in the order in which they were recorded. What is written to them stays in
    /// memory; they can be read until the history is rolled on.
    #[must_use]
    pub fn drives(&self) -> Vec<Arc<dyn Device>> {
        self.drives.iter().map(|drive| Arc::new(drive.clone()) as Arc<dyn Device>).collect()
    }

    /// How much of the drives is not as the durable writes left it, in bytes.
    #[must_use]
    pub fn differing_bytes(&self) -> u64 {
        let pages = |drive: &CrashDrive| drive.overlay().pages().count() as u64;
        self.drives.iter().map(pages).sum::<u64>() * PAGE_BYTES as u64
    }

    /// The same in 64 bits, to tell states of a cut apart by it alone.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut sum = DefaultHasher::new();
        for drive in &self.drives {
            let overlay = drive.overlay();
            let mut pages: Vec<_> = overlay.pages().collect();
            pages.sort_unstable_by_key(|(number, _)| **number);
            pages.len().hash(&mut sum);
            for (number, page) in pages {
                (number, &page[..]).hash(&mut sum);
            }
        }
        sum.finish()
    }

    /// A checksum over all that differs, and where: states with the same one, of the same cut, are
    /// the same.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        let mut sum = 0;
        for drive in &self.drives {
            let overlay = drive.overlay();
            let mut pages: Vec<_> = overlay.pages().collect();
            pages.sort_unstable_by_key(|(number, _)| **number);
            for (number, page) in pages {
                sum = crc32c::crc32c_append(sum, &number.to_le_bytes());
                sum = crc32c::crc32c_append(sum, &page[..]);
            }
        }
        sum
    }
}

#[derive(Clone)]
pub(crate) struct CrashDrive {
    info: Info,
    durable: Arc<RwLock<Durable>>,
    generation: u64,
    overlay: Arc<Mutex<Image>>,
}

impl CrashDrive {
    pub(crate) fn new(drive: &Drive, durable: Arc<RwLock<Durable>>, overlay: Image) -> CrashDrive {
        let info = Info {
            block_bytes: drive.block_bytes,
            optimal_bytes: drive.block_bytes.max(4096),
            volatile_cache: true,
            fua: Support::Native,
            zeroes: Support::Native,
            discard: DiscardSupport::ReadsZero,
            ..Info::plain(drive.size_bytes)
        };
        let generation = durable.read().unwrap_or_else(PoisonError::into_inner).generation;
        CrashDrive { info, durable, generation, overlay: Arc::new(Mutex::new(overlay)) }
    }

    fn overlay(&self) -> MutexGuard<'_, Image> {
        self.overlay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carry_out(&self, op: &mut Op) -> Result<(), Error> {
        self.info.check(op)?;
        let durable = self.durable.read().unwrap_or_else(PoisonError::into_inner);
        if durable.generation != self.generation {
            return Err(Error::new(ErrorKind::Gone, catalogue::STATE_IS_OVER));
        }
        let mut overlay = self.overlay();
        let mut put = |offset: u64, length: usize, from: Option<&[u8]>| {
            let mut from = from;
            for (number, start, count) in parts(offset, length) {
                let page = overlay.page_mut(number, |page| {
                    if let Some(below) = durable.image.page(number) {
                        page.copy_from_slice(below);
                    }
                });
                let target = &mut page[start..start + count];
                match &mut from {
                    None => target.fill(0),
                    Some(bytes) => {
                        let (now, rest) = bytes.split_at(count);
                        target.copy_from_slice(now);
                        *bytes = rest;
                    }
                }
            }
        };
        match op {
            Op::Read { offset, into } => {
                let mut at = *offset;
                for slice in into.slices_mut() {
                    let mut done = 0;
                    for (number, start, count) in parts(at, slice.len()) {
                        let target = &mut slice[done..done + count];
                        match overlay.page(number).or_else(|| durable.image.page(number)) {
                            Some(page) => target.copy_from_slice(&page[start..start + count]),
                            None => target.fill(0),
                        }
                        done += count;
                    }
                    at += slice.len() as u64;
                }
            }
            Op::Write { offset, from, .. } => {
                let mut at = *offset;
                for slice in from.slices() {
                    put(at, slice.len(), Some(slice));
                    at += slice.len() as u64;
                }
            }
            Op::WriteZeroes { offset, length, .. } | Op::Discard { offset, length } => {
                put(*offset, *length as usize, None);
            }
            Op::Flush => (),
        }
        Ok(())
    }
}

impl Device for CrashDrive {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        Node::leaf("crash", self.info.size_bytes.to_string())
    }

    fn open(&self, _depth: u32, _reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = CrashChannel { drive: self.clone(), answered: Vec::new() };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }
}

struct CrashChannel {
    drive: CrashDrive,
    answered: Vec<Completion>,
}

impl Channel for CrashChannel {
    fn submit(&mut self, mut request: Request) {
        let result = self.drive.carry_out(&mut request.op);
        self.answered.push(request.complete(result.map_err(|error| error.at("crash"))));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.answered);
    }

    fn in_flight(&self) -> u32 {
        self.answered.len() as u32
    }
}

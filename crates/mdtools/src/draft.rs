//! A member as it will be: what is to be written to it is kept in memory until all of it is known.
//!
//! ```text
//!   superblocks ──────────────────────────────> Draft ──┐
//!   the superblocks of the array above                  ├──> overwrite: to all members or to none
//!       └──> the array that its member is ────> Draft ──┘
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{Channel, Completion, Device, Error, Info, Node, Op, Reactor, Request};

use super::overwrite::Image;
use super::source::Region;

/// The bytes of a member, with what is written over them beside it.
#[derive(Debug)]
pub(crate) struct Draft {
    region: Region,
    node: Node,
    info: Info,
    /// In the order in which it was written, for that is how it goes to the member.
    written: Mutex<Image>,
}

impl Draft {
    pub(crate) fn over(region: Region, node: Node) -> Draft {
        let whole = region.size_bytes - region.size_bytes % block::SECTOR_BYTES;
        Draft { region, node, info: Info::plain(whole), written: Mutex::default() }
    }

    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.region.size_bytes
    }

    pub(crate) fn write(&self, offset: u64, bytes: Vec<u8>) {
        self.written().push((offset, bytes));
    }

    /// Everything that was written to it.
    pub(crate) fn image(&self) -> Image {
        self.written().clone()
    }

    fn written(&self) -> MutexGuard<'_, Image> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, into: &mut [u8], offset: u64) -> Result<(), Error> {
        let failed = |error| Error::from_io(self.node.to_string(), error);
        self.region.read_exact_at(into, offset).map_err(failed)?;
        let end = offset + into.len() as u64;
        for (start, bytes) in self.written().iter() {
            let (from, to) = ((*start).max(offset), (start + bytes.len() as u64).min(end));
            if from < to {
                into[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
            }
        }
        Ok(())
    }

    fn carry_out(&self, op: &mut Op) -> Result<(), Error> {
        self.info.check(op)?;
        match op {
            Op::Read { offset, into } => {
                let mut offset = *offset;
                for slice in into.slices_mut() {
                    self.read(slice, offset)?;
                    offset += slice.len() as u64;
                }
            }
            Op::Write { offset, from, .. } => {
                self.write(*offset, from.slices().flatten().copied().collect());
            }
            Op::WriteZeroes { .. } | Op::Discard { .. } | Op::Flush => (),
        }
        Ok(())
    }
}

/// A member's device, as long as it is a draft.
pub(crate) struct DraftDevice(pub(crate) Arc<Draft>);

impl Device for DraftDevice {
    fn info(&self) -> &Info {
        &self.0.info
    }

    fn describe(&self) -> Node {
        self.0.node.clone()
    }

    fn open(&self, _depth: u32, _reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(DraftChannel { draft: Arc::clone(&self.0), done: Vec::new() }))
    }
}

struct DraftChannel {
    draft: Arc<Draft>,
    done: Vec<Completion>,
}

impl Channel for DraftChannel {
    fn submit(&mut self, mut request: Request) {
        let result = self.draft.carry_out(&mut request.op);
        self.done.push(request.complete(result));
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.done);
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.done.len()).unwrap_or(u32::MAX)
    }
}

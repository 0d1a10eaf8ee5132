//! The disk of a guest that judges: one state after another lies in it.
//!
//! Between two states the guest has neither anything mounted nor the disk open, and so no memory of
//! what was in it before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use block::{
    Channel, Completion, Device, Error, ErrorKind, Info, Node, Reactor, Request, TracedChannel,
};

use super::catalogue;

/// What lies in it, and how often that has changed.
#[derive(Default)]
struct SlotContent {
    device: Option<Arc<dyn Device>>,
    changes: u64,
}

/// A disk whose content is exchanged. Clones are the same disk.
#[derive(Clone)]
pub(super) struct Slot {
    info: Info,
    held: Arc<Mutex<SlotContent>>,
}

impl Slot {
    /// For devices like this one.
    pub(super) fn new(info: &Info) -> Slot {
        let info = Info {
            block_bytes: info.block_bytes,
            optimal_bytes: info.optimal_bytes,
            stripe: info.stripe,
            max_request_bytes: info.max_request_bytes,
            volatile_cache: true,
            ..Info::plain(info.size_bytes)
        };
        Slot { info, held: Arc::default() }
    }

    /// Whether a device has its place here.
    pub(super) fn fits(&self, info: &Info) -> bool {
        (info.size_bytes, info.block_bytes) == (self.info.size_bytes, self.info.block_bytes)
    }

    /// Puts a device in the place of what was there. Nothing may be under way.
    pub(super) fn put(&self, device: &Arc<dyn Device>) {
        let mut held = self.held();
        held.device = Some(Arc::clone(device));
        held.changes += 1;
    }

    fn held(&self) -> MutexGuard<'_, SlotContent> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for Slot {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        Node::leaf("slot", self.info.size_bytes.to_string())
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let channel = SlotChannel {
            slot: self.clone(),
            depth,
            reactor: reactor.clone(),
            below: None,
            refused: Vec::new(),
        };
        Ok(Box::new(TracedChannel::new(channel, &self.describe())))
    }
}

struct SlotChannel {
    slot: Slot,
    depth: u32,
    reactor: Reactor,
    /// A channel to what lies in the slot, and after how many changes.
    below: Option<(u64, Box<dyn Channel>)>,
    refused: Vec<Completion>,
}

impl SlotChannel {
    /// Lets go of what lies there no more, and opens what lies there now.
    fn follow(&mut self, open: bool) -> Result<(), Error> {
        let (device, changes) = {
            let held = self.slot.held();
            (held.device.clone(), held.changes)
        };
        if self.below.as_ref().is_some_and(|(number, _)| *number != changes) {
            self.below = None;
        }
        if let (None, true) = (&self.below, open) {
            let device =
                device.ok_or_else(|| Error::new(ErrorKind::Gone, catalogue::NOTHING_IN_SLOT))?;
            self.below = Some((changes, device.open(self.depth, &self.reactor)?));
        }
        Ok(())
    }
}

impl Channel for SlotChannel {
    fn submit(&mut self, request: Request) {
        match (self.follow(true), &mut self.below) {
            (Ok(()), Some((_, below))) => below.submit(request),
            (Err(error), _) => self.refused.push(request.complete(Err(error.at("slot")))),
            (Ok(()), None) => unreachable!("it was opened"),
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.refused);
        // Without opening it cannot fail.
        let _ = self.follow(false);
        if let Some((_, below)) = &mut self.below {
            below.poll(done);
        }
    }

    fn in_flight(&self) -> u32 {
        let below = self.below.as_ref().map_or(0, |(_, below)| below.in_flight());
        below + self.refused.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use block::Blocking;
    use testkit::Memory;

    use super::*;

    #[test]
    fn what_is_put_in_is_what_is_found() {
        let disks: [Arc<dyn Device>; 2] = [(); 2].map(|()| Arc::new(Memory::new(1 << 20)) as _);
        let slot = Slot::new(disks[0].info());
        let reactor = Reactor::virtual_clock();
        let mut open = Blocking::open(&slot, &reactor).unwrap();
        let mut bytes = [0; 4096];
        assert!(open.read_slice(0, &mut bytes).is_err(), "it is empty");
        for (disk, byte) in disks.iter().zip(1..) {
            slot.put(disk);
            open.write_slice(4096, &[byte; 4096]).unwrap();
            open.flush().unwrap();
        }
        for (disk, byte) in disks.iter().zip(1..) {
            slot.put(disk);
            open.read_slice(4096, &mut bytes).unwrap();
            assert_eq!(bytes, [byte; 4096]);
        }
        assert!(slot.fits(disks[0].info()) && !slot.fits(&Info::plain(2 << 20)));
    }
}

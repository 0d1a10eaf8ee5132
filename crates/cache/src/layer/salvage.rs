//! The way to the dirty blocks of a store that is refused: out of it, to wherever the user says.
//! The store is only read.

use std::sync::Arc;

use block::{Blocking, Device, Error, ErrorKind};
use words::{Text, statement};

use super::format::{Entry, Layout, Superblock, decode_page};
use super::keep::look_below;
use crate::catalogue;
use crate::unchanged::{Answer, Facts};

/// What is in the way of some of the blocks is named up to here; the rest is counted.
const NAMED: usize = 8;

/// What was found of a store's dirty blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SalvagedStore {
    /// Stack text of the device that the cache was made for.
    pub name: String,
    /// Size of that device, in bytes.
    pub device_bytes: u64,
    /// How the device is now, in words that go on from "the device …"; `None` where it was not
    /// looked at.
    pub device: Option<Text>,
    /// Where dirty blocks lie on it, in address order: offset and length in bytes. Of those that
    /// could be written, if they were.
    pub ranges: Vec<(u64, u64)>,
    /// What could not be salvaged: pages of the map, and blocks, each with the reason.
    pub lost: Vec<Text>,
}

impl SalvagedStore {
    /// How much that is, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|(_, length)| length).sum()
    }

    fn lose(&mut self, what: Text) {
        if self.lost.len() < NAMED {
            self.lost.push(what);
        } else if self.lost.len() == NAMED {
            self.lost.push(catalogue::AND_MORE.into());
        }
    }
}

/// Finds the dirty blocks of a store, however its device `lower` has changed, which is told if it
/// is given with what is known of it. Writes them to their places on `target` if there is one,
/// which is flushed at the end. Damaged pages and blocks that cannot be read are left out and
/// named.
///
/// # Errors
/// [`ErrorKind::Refused`] when it is no cache's store, [`ErrorKind::Corrupt`] when the superblock
/// is damaged, [`ErrorKind::Invalid`] when the target is too small, and what the target says.
pub fn salvage(
    store: &dyn Device,
    lower: Option<(&dyn Device, &Facts)>,
    target: Option<&Arc<dyn Device>>,
) -> Result<SalvagedStore, Error> {
    let at_store = |error: Error| error.at(catalogue::CACHE_DEVICE);
    let mut channel = Blocking::beside(store)?;
    let mut block = vec![0; store.info().block_bytes as usize];
    channel.read_slice(0, &mut block).map_err(at_store)?;
    let none = || Error::new(ErrorKind::Refused, catalogue::NO_CACHE_SUPERBLOCK_LEFT);
    let superblock = Superblock::decode(&block).map_err(at_store)?.ok_or_else(none)?;
    let layout = superblock.layout;
    superblock.check_store(store.info())?;
    let mut found = SalvagedStore {
        name: superblock.name.clone(),
        device_bytes: superblock.size_bytes,
        ..SalvagedStore::default()
    };
    if let Some(target) = target.filter(|target| target.info().size_bytes < found.device_bytes) {
        let text = statement!(
            catalogue::TARGET_TOO_SMALL,
            target = target.describe().to_string(),
            bytes = target.info().size_bytes,
            before = found.device_bytes,
        );
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    if let Some((lower, facts)) = lower {
        found.device = Some(below_now(&mut channel, &superblock, lower, facts)?);
    }
    let dirty = dirty_blocks(&mut channel, &superblock, &mut found);
    write_back(&mut channel, &layout, &dirty, target, &mut found)?;
    Ok(found)
}

/// How the device below is now, in words that follow its name.
fn below_now(
    channel: &mut Blocking,
    superblock: &Superblock,
    lower: &dyn Device,
    facts: &Facts,
) -> Result<Text, Error> {
    let (now, before) = (lower.info().size_bytes, superblock.size_bytes);
    if now != before {
        return Ok(statement!(catalogue::HAS_OTHER_SIZE, now = now, before = before));
    }
    let message = match look_below(channel, superblock, lower, facts)?.0 {
        Answer::Unchanged => catalogue::IS_UNCHANGED,
        Answer::Unknown(_) if superblock.in_use => catalogue::SAME_AFTER_CRASH,
        Answer::Unknown(why) | Answer::Changed(why) | Answer::Another(why) => why,
    };
    Ok(message.into())
}

/// The dirty blocks by the pages that can be read, in their order: number of the block and of its
/// slot. What cannot be read is noted as lost.
fn dirty_blocks(
    channel: &mut Blocking,
    superblock: &Superblock,
    found: &mut SalvagedStore,
) -> Vec<(u64, u64)> {
    let layout = &superblock.layout;
    let slot_bytes = u64::from(layout.slot_bytes);
    let mut dirty: Vec<(u64, u64)> = Vec::new();
    let mut page = vec![0; layout.block_bytes as usize];
    for number in 0..if superblock.making { 0 } else { layout.pages() } {
        let read = channel.read_slice(layout.page_offset(number), &mut page);
        match read.and_then(|()| decode_page(superblock.version, number, &page)) {
            Ok(entries) => {
                let first = number * u64::from(layout.slots_per_page());
                let here = entries
                    .into_iter()
                    .filter(|entry| entry.dirty && entry.block * slot_bytes < found.device_bytes);
                dirty.extend(
                    here.map(|Entry { place, block, .. }| (block, first + u64::from(place))),
                );
            }
            Err(error) => {
                let count = layout.slots_per_page();
                let place = statement!(catalogue::LOST_PAGE, number = number, count = count);
                found.lose(error.text().at(place));
            }
        }
    }
    dirty.sort_unstable();
    dirty
}

/// Writes dirty blocks to their places, where there is a target, and notes where they lie.
fn write_back(
    channel: &mut Blocking,
    layout: &Layout,
    dirty: &[(u64, u64)],
    target: Option<&Arc<dyn Device>>,
    found: &mut SalvagedStore,
) -> Result<(), Error> {
    let slot_bytes = u64::from(layout.slot_bytes);
    let mut to = target.map(|target| Blocking::beside(&**target)).transpose()?;
    for &(block, slot) in dirty {
        let start = block * slot_bytes;
        let length = slot_bytes.min(found.device_bytes - start);
        if let Some(to) = &mut to {
            let mut data = vec![0; length as usize];
            if let Err(error) =
                channel.read_slice(layout.data_offset() + slot * slot_bytes, &mut data)
            {
                let place = statement!(catalogue::LOST_BYTES, start = start, length = length);
                found.lose(error.text().at(place));
                continue;
            }
            to.write_slice(start, &data)?;
        }
        match found.ranges.last_mut() {
            Some((first, so_far)) if *first + *so_far == start => *so_far += length,
            _ => found.ranges.push((start, length)),
        }
    }
    to.map_or(Ok(()), |mut to| to.flush())
}

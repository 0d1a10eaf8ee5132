//! A store that is kept: how it is made, opened and closed. What is believed when stands in `docs/formats/cache.md`.

use std::collections::BTreeMap;

use block::{Blocking, Device, Error, ErrorKind};

use super::format::{ALIGNMENT_BYTES, Entry, Layout, Superblock, decode_page, encode_page};
use super::shape::Shape;
use super::state::State;
use super::{CacheMode, CacheOptions, dirty_text};
use crate::beside::{fingerprint, open_beside};
use crate::policy::Slot;

/// How much of the map is read or written at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// What is remembered of a store that is kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) superblock: Superblock,
}

/// What lies on a store that is kept, seen while nobody uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreContents {
    /// Whether it was left without being closed, or is in use now.
    pub in_use: bool,
    /// Stack text of the device below.
    pub name: String,
    /// Size of that device, in bytes.
    pub device_bytes: u64,
    /// What is cached as a whole, in bytes.
    pub block_bytes: u32,
    /// How much it can hold, in bytes.
    pub size_bytes: u64,
    /// How much of it will be believed, in bytes.
    pub used_bytes: u64,
    /// How much of that the device below lacks, in bytes.
    pub dirty_bytes: u64,
}

/// What a store holds; `None` when it has no superblock.
///
/// # Errors
/// [`ErrorKind::Refused`] when it holds something else, [`ErrorKind::Corrupt`] when it is damaged.
pub fn examine_store(store: &dyn Device) -> Result<Option<StoreContents>, Error> {
    let look = || {
        let mut channel = open_beside(store)?;
        let mut block = vec![0; store.info().block_bytes as usize];
        channel.read_slice(0, &mut block)?;
        let Some(superblock) = Superblock::decode(&block)? else { return Ok(None) };
        let layout = superblock.layout;
        superblock.check(store.info().size_bytes, store.info().block_bytes, layout.slot_bytes, superblock.size_bytes)?;
        let kept = Kept { superblock };
        let entries = kept.read_map(&mut channel, kept.superblock.size_bytes.div_ceil(layout.slot_bytes.into()))?;
        let bytes = |count: usize| count as u64 * u64::from(layout.slot_bytes);
        Ok(Some(StoreContents {
            in_use: kept.superblock.in_use,
            device_bytes: kept.superblock.size_bytes,
            block_bytes: layout.slot_bytes,
            size_bytes: layout.slots * u64::from(layout.slot_bytes),
            used_bytes: bytes(entries.len()),
            dirty_bytes: bytes(entries.iter().filter(|(.., dirty)| *dirty).count()),
            name: kept.superblock.name,
        }))
    };
    look().map_err(|error: Error| error.at("the cache's device"))
}

/// The store's superblock, or the one that a new store gets.
pub(super) fn examine(store: &dyn Device, lower: &dyn Device, options: &CacheOptions) -> Result<Kept, Error> {
    let (block_bytes, store_bytes) = (store.info().block_bytes, store.info().size_bytes);
    let size_bytes = lower.info().size_bytes;
    let mut channel = open_beside(store)?;
    let mut block = vec![0; block_bytes as usize];
    channel.read_slice(0, &mut block)?;
    if let Some(superblock) = Superblock::decode(&block)? {
        superblock.check(store_bytes, block_bytes, options.block_bytes, size_bytes)?;
        if !superblock.in_use && superblock.fingerprint != fingerprint(lower, block_bytes)? {
            let text = format!(
                "the cache was made for {}, and the data below are not those it was closed over: another device, or somebody has written to it \
                 without its cache",
                superblock.name
            );
            return Err(Error::new(ErrorKind::Refused, text));
        }
        return Ok(Kept { superblock });
    }
    let layout = Layout::of(store_bytes, block_bytes, options.block_bytes);
    if layout.slots == 0 {
        let text = "the cache's device is too small: beside the data it holds a map and takes up to 4MiB for itself";
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    refuse_foreign(&mut channel)?;
    let superblock = Superblock { in_use: true, layout, size_bytes, fingerprint: 0, generation: 0, name: lower.describe().to_string() };
    Ok(Kept { superblock })
}

/// Signatures of others lie somewhat behind the start: what is to become a store must be zero as far as data cannot lie.
fn refuse_foreign(channel: &mut Blocking) -> Result<(), Error> {
    let mut bytes = vec![0; ALIGNMENT_BYTES as usize];
    channel.read_slice(0, &mut bytes)?;
    match bytes.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => {
            let text = format!("what is to be the cache holds something already (byte {at} is not zero); name a new file");
            Err(Error::new(ErrorKind::Refused, text))
        }
    }
}

impl Kept {
    /// Fills the state from the map, and marks the store as in use.
    pub(super) fn load(
        &mut self,
        store: &dyn Device,
        lower: &dyn Device,
        mode: CacheMode,
        state: &mut State,
        shape: &Shape,
    ) -> Result<(), Error> {
        let mut channel = open_beside(store)?;
        let layout = self.superblock.layout;
        if self.superblock.generation == 0 {
            self.write_map(&mut channel, None)?;
        } else {
            if !state.restore(&self.read_map(&mut channel, shape.blocks())?) {
                let text = "the map is damaged: a block is in two slots, or in one that is not there";
                return Err(Error::new(ErrorKind::Corrupt, text));
            }
            if state.dirty_slots() > 0 && mode != CacheMode::WriteBack {
                let text = format!(
                    "the device below lacks {}; open the cache with mode=write-back, which writes them out",
                    dirty_text(shape, state)
                );
                return Err(Error::new(ErrorKind::Refused, text));
            }
        }
        self.superblock.in_use = true;
        self.superblock.generation += 1;
        self.superblock.name = lower.describe().to_string();
        debug_assert_eq!(shape.data_offset, layout.data_offset());
        self.write_superblock(&mut channel)
    }

    /// What the map says and is to be believed, by slots: slot, block, and whether it is dirty.
    fn read_map(&self, channel: &mut Blocking, blocks: u64) -> Result<Vec<(Slot, u64, bool)>, Error> {
        let layout = self.superblock.layout;
        let page_bytes = u64::from(layout.block_bytes);
        let together = (PIECE_BYTES / page_bytes).max(1);
        let (mut bytes, mut entries) = (Vec::new(), Vec::new());
        for first in (0..layout.pages()).step_by(together as usize) {
            bytes.resize((together.min(layout.pages() - first) * page_bytes) as usize, 0);
            channel.read_slice(layout.page_offset(first), &mut bytes)?;
            for (number, page) in (first..).zip(bytes.chunks(page_bytes as usize)) {
                let first_slot = number * u64::from(layout.slots_per_page());
                for Entry { place, block, dirty } in decode_page(number, page)? {
                    if block >= blocks {
                        let text = format!("page {number} of the map is damaged: the device below has no block {block}");
                        return Err(Error::new(ErrorKind::Corrupt, text));
                    }
                    if dirty || !self.superblock.in_use {
                        entries.push(((first_slot + u64::from(place)) as u32, block, dirty));
                    }
                }
            }
        }
        Ok(entries)
    }

    /// Writes the whole map as the state is, or, for a new store, zeroes, and makes it durable.
    fn write_map(&self, channel: &mut Blocking, state: Option<&State>) -> Result<(), Error> {
        let layout = self.superblock.layout;
        let (page_bytes, slots_per_page) = (u64::from(layout.block_bytes), u64::from(layout.slots_per_page()));
        let mut pages: BTreeMap<u64, Vec<Entry>> = BTreeMap::new();
        for (slot, block, dirty) in state.into_iter().flat_map(State::contents) {
            let (page, place) = (u64::from(slot) / slots_per_page, (u64::from(slot) % slots_per_page) as u32);
            pages.entry(page).or_default().push(Entry { place, block, dirty });
        }
        let together = (PIECE_BYTES / page_bytes).max(1);
        for first in (0..layout.pages()).step_by(together as usize) {
            let count = together.min(layout.pages() - first);
            let mut bytes = vec![0; (count * page_bytes) as usize];
            for (number, page) in (first..).zip(bytes.chunks_mut(page_bytes as usize)).filter(|_| state.is_some()) {
                encode_page(number, pages.remove(&number).unwrap_or_default(), page);
            }
            channel.write_slice(layout.page_offset(first), &bytes)?;
        }
        channel.flush()
    }

    /// Writes the map and marks the store as closed; everything that is in it is durable, and so is the device below.
    pub(super) fn close(mut self, store: &dyn Device, lower: &dyn Device, state: &State) -> Result<(), Error> {
        let mut channel = open_beside(store)?;
        open_beside(lower)?.flush()?;
        channel.flush()?;
        self.write_map(&mut channel, Some(state))?;
        self.superblock.fingerprint = fingerprint(lower, self.superblock.layout.block_bytes)?;
        self.superblock.in_use = false;
        self.write_superblock(&mut channel)
    }

    fn write_superblock(&self, channel: &mut Blocking) -> Result<(), Error> {
        let mut block = vec![0; self.superblock.layout.block_bytes as usize];
        self.superblock.encode(&mut block);
        channel.write_slice(0, &block)?;
        channel.flush()
    }
}

//! A store that is kept: how it is made, opened and closed. What is believed when stands in
//! `docs/formats/cache.md`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use block::{Blocking, Device, Error, ErrorKind, Info};

use words::{Text, statement};
use xxhash_rust::xxh3::Xxh3;

use super::format::{
    ALIGNMENT_BYTES, Entry, Layout, Superblock, Tally, decode_page, encode_page, map_damaged,
};
use super::options::{CacheMode, CacheOptions};
use super::shape::Shape;
use super::state::CacheState;
use crate::catalogue;
use crate::device_check::first_nonzero;
use crate::policy::Slot;
use crate::unchanged::{Answer, Facts, LeafFacts, Witness, compare, fingerprint, sample};

/// How much of the map is read or written at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Where the witness of the device below lies on the store, in bytes: in the first MiB, behind the
/// superblock.
const WITNESS_OFFSET: u64 = ALIGNMENT_BYTES / 2;

/// What is remembered of a store that is kept.
#[derive(Clone, Debug)]
pub(super) struct KeptStore {
    pub(super) superblock: Superblock,
    /// The device below, as far as it is known besides its data.
    facts: Facts,
    /// Whether it is what it was when the cache was closed.
    answer: Answer,
    /// The data below are others than those the cache was closed over.
    other_data: bool,
    /// What the user should know of how it was opened.
    pub(super) note: Option<Text>,
    /// What was known of the device below when the cache was closed.
    closed: Arc<Mutex<Option<Witness>>>,
}

/// Takes down on a store, once all is ended, what the device below is like: whatever is written to
/// it from then on, the cache notices the next time. Without it nothing clean is believed then.
pub struct StoreSeal {
    store: Arc<dyn Device>,
    block_bytes: u32,
    closed: Arc<Mutex<Option<Witness>>>,
}

impl StoreSeal {
    pub(super) fn new(store: &Arc<dyn Device>, kept: &KeptStore) -> StoreSeal {
        StoreSeal {
            store: Arc::clone(store),
            block_bytes: kept.superblock.layout.block_bytes,
            closed: Arc::clone(&kept.closed),
        }
    }

    /// Writes down what the files and disks below are like now, when nothing writes to them any
    /// more: caches below are closed and sealed, and arrays have ended. Does nothing unless the
    /// cache was closed in order.
    ///
    /// # Errors
    /// Whatever the store says.
    pub fn seal(&self, leaves: &[LeafFacts]) -> Result<(), Error> {
        let Some(mut witness) = self.closed.lock().unwrap_or_else(PoisonError::into_inner).take()
        else {
            return Ok(());
        };
        witness.leaves = leaves.to_vec();
        let mut channel = Blocking::beside(&*self.store)?;
        witness.write(&mut channel, WITNESS_OFFSET, self.block_bytes)?;
        channel.flush()
    }
}

/// What lies on a store that is kept, seen while it is not in use.
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
        let mut channel = Blocking::beside(store)?;
        let mut block = vec![0; store.info().block_bytes as usize];
        channel.read_slice(0, &mut block)?;
        let Some(superblock) = Superblock::decode(&block)? else { return Ok(None) };
        let layout = superblock.layout;
        superblock.check_store(store.info())?;
        let kept = KeptStore::new(superblock, Facts::none());
        let believed = !kept.superblock.in_use;
        let entries = if kept.superblock.making {
            Vec::new()
        } else {
            kept.read_map(
                &mut channel,
                kept.superblock.size_bytes.div_ceil(layout.slot_bytes.into()),
                believed,
            )?
        };
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
    look().map_err(|error: Error| error.at(catalogue::CACHE_DEVICE))
}

/// The store's superblock, or the one that a new store gets.
pub(super) fn examine(
    store: &dyn Device,
    lower: &dyn Device,
    facts: &Facts,
    options: &CacheOptions,
) -> Result<KeptStore, Error> {
    let (block_bytes, store_bytes) = (store.info().block_bytes, store.info().size_bytes);
    let size_bytes = lower.info().size_bytes;
    let mut channel = Blocking::beside(store)?;
    let mut block = vec![0; block_bytes as usize];
    channel.read_slice(0, &mut block)?;
    let found = Superblock::decode(&block)?;
    let is_empty = found.is_none();
    if let Some(superblock) = found.filter(|superblock| !superblock.making) {
        superblock.check(store_bytes, block_bytes, options.block_bytes, size_bytes)?;
        let (answer, other_data) = look_below(&mut channel, &superblock, lower, facts)?;
        return Ok(KeptStore { answer, other_data, ..KeptStore::new(superblock, facts.clone()) });
    }
    let layout = Layout::of(store_bytes, block_bytes, options.block_bytes);
    if layout.slots == 0 {
        return Err(Error::new(ErrorKind::Invalid, catalogue::STORE_TOO_SMALL));
    }
    if is_empty {
        refuse_foreign(&mut channel, store.info(), layout)?;
    }
    let superblock = Superblock {
        version: 2,
        in_use: true,
        making: true,
        layout,
        size_bytes,
        fingerprint: 0,
        generation: 0,
        tally: Tally::default(),
        name: lower.describe().to_string(),
    };
    Ok(KeptStore::new(superblock, facts.clone()))
}

/// Whether the device below is what it was when the cache was closed, or, after a crash, the one it
/// was; and whether its data are known to be others.
pub(super) fn look_below(
    channel: &mut Blocking,
    superblock: &Superblock,
    lower: &dyn Device,
    facts: &Facts,
) -> Result<(Answer, bool), Error> {
    let witness = Witness::read(channel, WITNESS_OFFSET, superblock.generation)?;
    let block_bytes = superblock.layout.block_bytes;
    let samples_agree = if superblock.in_use {
        // It was being written to.
        None
    } else {
        let same = superblock.fingerprint == fingerprint(lower, block_bytes)?;
        let taken = witness.as_ref().map_or(0, |witness| witness.sample);
        Some(same && (taken == 0 || taken == sample(lower, block_bytes)?))
    };
    Ok((compare(witness.as_ref(), facts, samples_agree), samples_agree == Some(false)))
}

/// How much of the data, and how many places further on, are looked at before a store is made.
const DATA_LOOKED_AT_BYTES: u64 = 16 << 20;
const PLACES_LOOKED_AT: u64 = 256;

/// What is to become a store must be empty: signatures of others lie somewhat behind the start, and
/// a store whose beginning was lost (trimmed, or left out of a sparse copy) still has its map, or
/// its first slots. All of the map is looked at, and of the data where they begin and places over
/// all the rest.
fn refuse_foreign(channel: &mut Blocking, store: &Info, layout: Layout) -> Result<(), Error> {
    let block = u64::from(layout.block_bytes);
    let mut look =
        |offset: u64, length: u64| match first_nonzero(channel, store, offset, offset + length)? {
            None => Ok(()),
            Some(at) => {
                let text = statement!(catalogue::STORE_NOT_EMPTY, at = at);
                Err(Error::new(ErrorKind::Refused, text))
            }
        };
    let end = store.size_bytes / block * block;
    let whole = (layout.data_offset() + DATA_LOOKED_AT_BYTES).min(end);
    look(0, whole)?;
    let length = 4096.max(block);
    let step = ((end - whole) / PLACES_LOOKED_AT / block * block).max(length);
    (whole..end)
        .step_by(step as usize)
        .try_for_each(|offset| look(offset, length.min(end - offset)))
}

impl KeptStore {
    fn new(superblock: Superblock, facts: Facts) -> KeptStore {
        KeptStore {
            superblock,
            facts,
            answer: Answer::Unchanged,
            other_data: false,
            note: None,
            closed: Arc::default(),
        }
    }

    /// Fills the state from the map, and marks the store as in use.
    pub(super) fn load(
        &mut self,
        store: &dyn Device,
        lower: &dyn Device,
        mode: CacheMode,
        state: &mut CacheState,
        shape: &Shape,
    ) -> Result<(), Error> {
        let mut channel = Blocking::beside(store)?;
        let layout = self.superblock.layout;
        if self.superblock.making {
            // A crash on the way leaves a store that is made anew, not one without a superblock
            // that holds something.
            self.write_superblock(&mut channel)?;
            self.write_map(&mut channel, state)?;
            self.superblock.making = false;
        } else {
            let believed = !self.superblock.in_use && self.answer == Answer::Unchanged;
            let entries = self.read_map(&mut channel, shape.blocks(), believed)?;
            if !state.restore(&entries) {
                return Err(Error::new(ErrorKind::Corrupt, catalogue::SLOTS_CONTRADICT));
            }
            self.note = self.judge(shape, state)?;
            if self.superblock.version == 1 {
                // Its pages may be all zero. What is written says the same, in either version.
                self.write_map(&mut channel, state)?;
            }
            if state.dirty_slots() > 0 && mode != CacheMode::WriteBack {
                let dirty = state.dirty_text(shape);
                let text = statement!(catalogue::BELOW_LACKS_DIRTY, dirty = dirty);
                return Err(Error::new(ErrorKind::Refused, text));
            }
        }
        self.superblock.version = 2;
        self.superblock.in_use = true;
        self.superblock.tally = Tally::default();
        self.superblock.generation += 1;
        self.superblock.name = lower.describe().to_string();
        debug_assert_eq!(shape.data_offset, layout.data_offset());
        self.write_superblock(&mut channel)?;
        // Behind the superblock: one that a crash leaves without its witness knows nothing, which
        // is safe.
        let witness = Witness::in_use(self.superblock.generation, &self.facts);
        witness.write(&mut channel, WITNESS_OFFSET, layout.block_bytes)?;
        channel.flush()
    }

    /// Whether the cache may be used over the device below as that is now, and what there is to say
    /// of it.
    fn judge(&self, shape: &Shape, state: &CacheState) -> Result<Option<Text>, Error> {
        let name = &self.superblock.name;
        match &self.answer {
            Answer::Unchanged => Ok(None),
            Answer::Unknown(_) if self.superblock.in_use => Ok(None),
            Answer::Unknown(why) if state.dirty_slots() > 0 => {
                Ok(Some(statement!(catalogue::KEEPS_DIRTY, why = *why)))
            }
            Answer::Changed(why) | Answer::Another(why) if state.dirty_slots() > 0 => {
                let (message, dirty) = (catalogue::DIRTY_OVER_CHANGED, state.dirty_text(shape));
                let text = statement!(message, name = name, dirty = dirty, why = *why);
                Err(Error::new(ErrorKind::Refused, text))
            }
            Answer::Another(why) if self.other_data => {
                let text = statement!(catalogue::MADE_FOR_ANOTHER, name = name, why = *why);
                Err(Error::new(ErrorKind::Refused, text))
            }
            Answer::Unknown(why) | Answer::Changed(why) | Answer::Another(why) => {
                Ok(Some(statement!(catalogue::BEGINS_EMPTY, why = *why)))
            }
        }
    }

    /// What the map says, by slots: slot, block, and whether it is dirty; clean ones only when they
    /// are `believed`.
    fn read_map(
        &self,
        channel: &mut Blocking,
        blocks: u64,
        believed: bool,
    ) -> Result<Vec<(Slot, u64, bool)>, Error> {
        let layout = self.superblock.layout;
        let page_bytes = u64::from(layout.block_bytes);
        let together = (PIECE_BYTES / page_bytes).max(1);
        let (mut bytes, mut entries) = (Vec::new(), Vec::new());
        let (mut found, mut sum) = (Tally::default(), Xxh3::new());
        for first in (0..layout.pages()).step_by(together as usize) {
            bytes.resize((together.min(layout.pages() - first) * page_bytes) as usize, 0);
            channel.read_slice(layout.page_offset(first), &mut bytes)?;
            for (number, page) in (first..).zip(bytes.chunks(page_bytes as usize)) {
                let first_slot = number * u64::from(layout.slots_per_page());
                sum.update(&page[..4]);
                for Entry { place, block, dirty } in
                    decode_page(self.superblock.version, number, page)?
                {
                    if block >= blocks {
                        let what = statement!(catalogue::NO_BLOCK_BELOW, block = block);
                        return Err(map_damaged(number, what));
                    }
                    *if dirty { &mut found.dirty } else { &mut found.clean } += 1;
                    if dirty || believed {
                        entries.push(((first_slot + u64::from(place)) as u32, block, dirty));
                    }
                }
            }
        }
        found.sum = sum.digest();
        let said = self.superblock.tally;
        if !self.superblock.in_use && self.superblock.version > 1 && found != said {
            let text = statement!(
                catalogue::OTHER_MAP,
                clean = said.clean,
                dirty = said.dirty,
                clean_now = found.clean,
                dirty_now = found.dirty,
            );
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        Ok(entries)
    }

    /// Writes the whole map as the state is, and makes it durable.
    fn write_map(&self, channel: &mut Blocking, state: &CacheState) -> Result<Tally, Error> {
        let layout = self.superblock.layout;
        let (page_bytes, slots_per_page) =
            (u64::from(layout.block_bytes), u64::from(layout.slots_per_page()));
        let mut pages: BTreeMap<u64, Vec<Entry>> = BTreeMap::new();
        let (mut tally, mut sum) = (Tally::default(), Xxh3::new());
        for (slot, block, dirty) in state.contents() {
            *if dirty { &mut tally.dirty } else { &mut tally.clean } += 1;
            let (page, place) =
                (u64::from(slot) / slots_per_page, (u64::from(slot) % slots_per_page) as u32);
            pages.entry(page).or_default().push(Entry { place, block, dirty });
        }
        let together = (PIECE_BYTES / page_bytes).max(1);
        for first in (0..layout.pages()).step_by(together as usize) {
            let count = together.min(layout.pages() - first);
            let mut bytes = vec![0; (count * page_bytes) as usize];
            for (number, page) in (first..).zip(bytes.chunks_mut(page_bytes as usize)) {
                encode_page(number, pages.remove(&number).unwrap_or_default(), page);
                sum.update(&page[..4]);
            }
            channel.write_slice(layout.page_offset(first), &bytes)?;
        }
        channel.flush()?;
        Ok(Tally { sum: sum.digest(), ..tally })
    }

    /// Writes the map and marks the store as closed; everything that is in it is durable, and so is
    /// the device below.
    pub(super) fn close(
        mut self,
        store: &dyn Device,
        lower: &dyn Device,
        state: &CacheState,
    ) -> Result<(), Error> {
        let mut channel = Blocking::beside(store)?;
        Blocking::beside(lower)?.flush()?;
        channel.flush()?;
        self.superblock.tally = self.write_map(&mut channel, state)?;
        let block_bytes = self.superblock.layout.block_bytes;
        // What writes move is taken down when the last has been made: by the seal.
        let witness = Witness {
            sample: sample(lower, block_bytes)?,
            ..Witness::in_use(self.superblock.generation, &self.facts)
        };
        witness.write(&mut channel, WITNESS_OFFSET, block_bytes)?;
        self.superblock.fingerprint = fingerprint(lower, block_bytes)?;
        self.superblock.in_use = false;
        self.write_superblock(&mut channel)?;
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(witness);
        Ok(())
    }

    fn write_superblock(&self, channel: &mut Blocking) -> Result<(), Error> {
        let mut block = vec![0; self.superblock.layout.block_bytes as usize];
        self.superblock.encode(&mut block);
        channel.write_slice(0, &block)?;
        channel.flush()
    }
}

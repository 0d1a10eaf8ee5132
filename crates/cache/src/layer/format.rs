//! The store's superblock and map as bytes; drawn in `docs/formats/cache.md`.

use block::{Error, ErrorKind, Info, size_text};
use words::{Message, Text, statement};

use crate::catalogue;
use crate::frame::{Frame, corrupt, is_sealed, long, seal_page, word};

const FRAME: Frame = Frame {
    magic: b"raidloom cache\0\0",
    version: 2,
    name: catalogue::A_CACHE_DISK,
    foreign: catalogue::OTHER_THAN_CACHE,
    name_at: 104,
};
/// What is read, and never written: it says nothing of what was in the map when the cache was
/// closed, and pages without entries may be all zero.
const FRAME_1: Frame = Frame { version: 1, name_at: 80, ..FRAME };
/// What stands in front of the entries of a page.
const PAGE_HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 8;
/// The map and the data begin at multiples of this, and so much stays free at the end.
pub(super) const ALIGNMENT_BYTES: u64 = 1 << 20;

/// Where things lie on a store that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Logical block of the store, in bytes.
    pub(super) block_bytes: u32,
    /// Block of the cache, in bytes.
    pub(super) slot_bytes: u32,
    pub(super) slots: u64,
}

impl Layout {
    /// As many slots as a store of this size has room for; none when it is too small.
    pub(super) fn of(store_bytes: u64, block_bytes: u32, slot_bytes: u32) -> Layout {
        let layout = |slots| Layout { block_bytes, slot_bytes, slots };
        // Each slot takes its data and an entry; the rest is found by trying, for pages and
        // alignment round.
        let mut slots = store_bytes.saturating_sub(3 * ALIGNMENT_BYTES)
            / (u64::from(slot_bytes) + ENTRY_BYTES as u64);
        while layout(slots + 1).store_bytes() <= store_bytes {
            slots += 1;
        }
        while slots > 0 && layout(slots).store_bytes() > store_bytes {
            slots -= 1;
        }
        layout(slots)
    }

    pub(super) fn slots_per_page(self) -> u32 {
        (self.block_bytes - PAGE_HEADER_BYTES as u32) / ENTRY_BYTES as u32
    }

    pub(super) fn pages(self) -> u64 {
        self.slots.div_ceil(self.slots_per_page().into())
    }

    /// Where a page of the map lies, in bytes.
    pub(super) fn page_offset(self, page: u64) -> u64 {
        ALIGNMENT_BYTES + page * u64::from(self.block_bytes)
    }

    /// Where slot 0 lies, in bytes.
    pub(super) fn data_offset(self) -> u64 {
        self.page_offset(self.pages()).next_multiple_of(ALIGNMENT_BYTES)
    }

    /// How large the store has to be, in bytes.
    pub(super) fn store_bytes(self) -> u64 {
        self.data_offset() + self.slots * u64::from(self.slot_bytes) + ALIGNMENT_BYTES
    }
}

/// The superblock of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    /// What the format was when it was written.
    pub(super) version: u32,
    /// Whether it was left without being closed.
    pub(super) in_use: bool,
    /// It is being made: there is nothing in it yet.
    pub(super) making: bool,
    pub(super) layout: Layout,
    /// Size of the device below.
    pub(super) size_bytes: u64,
    pub(super) fingerprint: u64,
    pub(super) generation: u64,
    /// What was in the map when the cache was closed.
    pub(super) tally: Tally,
    /// Stack text of the device below.
    pub(super) name: String,
}

/// A whole map, counted and summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) clean: u64,
    pub(super) dirty: u64,
    /// Of the checksums of all pages, in order.
    pub(super) sum: u64,
}

impl Superblock {
    /// Fills a block of the store.
    pub(super) fn encode(&self, block: &mut [u8]) {
        let layout = self.layout;
        let state = if self.making { 3 } else { 1 + u32::from(self.in_use) };
        let words = [state, layout.block_bytes, layout.slot_bytes];
        let Tally { clean, dirty, sum } = self.tally;
        let sizes = [layout.slots, layout.pages(), layout.data_offset()];
        let longs = [
            &[self.size_bytes, self.fingerprint, self.generation][..],
            &sizes,
            &[clean, dirty, sum],
        ]
        .concat();
        FRAME.encode(&words, &longs, &self.name, block);
    }

    /// Reads a block of the store; `None` when it is all zero.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] for something else than a cache's store or another version of it,
    /// [`ErrorKind::Corrupt`] for a damaged one.
    pub(super) fn decode(block: &[u8]) -> Result<Option<Superblock>, Error> {
        let version = word(block, 16);
        let frame = if version == FRAME_1.version { &FRAME_1 } else { &FRAME };
        let Some(name) = frame.decode(block)? else { return Ok(None) };
        let (in_use, making) = match word(block, 20) {
            1 => (false, false),
            2 => (true, false),
            3 if version > 1 => (true, true),
            other => return Err(corrupt(statement!(catalogue::STATE_UNKNOWN, state = other))),
        };
        let layout = Layout {
            block_bytes: word(block, 24),
            slot_bytes: word(block, 28),
            slots: long(block, 56),
        };
        let power = |bytes: u32| bytes.is_power_of_two() && bytes >= 512;
        let sane = power(layout.block_bytes) && power(layout.slot_bytes) && layout.slots < 1 << 32;
        if !sane || (layout.pages(), layout.data_offset()) != (long(block, 64), long(block, 72)) {
            return Err(corrupt(catalogue::SIZES_CONTRADICT));
        }
        let tally = if version > 1 {
            Tally { clean: long(block, 80), dirty: long(block, 88), sum: long(block, 96) }
        } else {
            Tally::default()
        };
        Ok(Some(Superblock {
            version,
            in_use,
            making,
            tally,
            layout,
            size_bytes: long(block, 32),
            fingerprint: long(block, 40),
            generation: long(block, 48),
            name,
        }))
    }

    /// Whether what it says of the store holds of this one.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] with the field that differs.
    pub(super) fn check_store(&self, store: &Info) -> Result<(), Error> {
        let Info { size_bytes, block_bytes, .. } = *store;
        self.check(size_bytes, block_bytes, self.layout.slot_bytes, self.size_bytes)
    }

    /// Whether the store may be used in front of a device like this.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] with the field that differs.
    pub(super) fn check(
        &self,
        store_bytes: u64,
        block_bytes: u32,
        slot_bytes: u32,
        size_bytes: u64,
    ) -> Result<(), Error> {
        let refused = |what: Text| {
            let text = statement!(catalogue::CACHE_MADE_FOR, name = &self.name, what = what);
            Err(Error::new(ErrorKind::Refused, text))
        };
        let other = |message: Message, made: Text, now: Text| {
            refused(statement!(message, made = made, now = now))
        };
        let size = |bytes: u64| Text::from(size_text(bytes));
        if self.size_bytes != size_bytes {
            return other(catalogue::OF_SIZE, size(self.size_bytes), size(size_bytes));
        }
        if self.layout.block_bytes != block_bytes {
            let made = self.layout.block_bytes;
            return other(catalogue::WITH_LOGICAL_BLOCKS, made.into(), block_bytes.into());
        }
        if self.layout.slot_bytes != slot_bytes {
            let (made, now) = (size(self.layout.slot_bytes.into()), size(slot_bytes.into()));
            return other(catalogue::WITH_BLOCK, made, now);
        }
        if self.layout.store_bytes() > store_bytes {
            let (made, now) = (size(self.layout.store_bytes()), size(store_bytes));
            return other(catalogue::ON_STORE, made, now);
        }
        Ok(())
    }
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The slot's place in its page.
    pub(super) place: u32,
    pub(super) block: u64,
    pub(super) dirty: bool,
}

/// Fills a page of the map.
pub(super) fn encode_page(number: u64, entries: impl IntoIterator<Item = Entry>, page: &mut [u8]) {
    page.fill(0);
    page[8..16].copy_from_slice(&number.to_le_bytes());
    for entry in entries {
        let at = PAGE_HEADER_BYTES + entry.place as usize * ENTRY_BYTES;
        page[at..at + 4].copy_from_slice(&(entry.block as u32).to_le_bytes());
        page[at + 4] = if entry.dirty { 2 } else { 1 };
    }
    seal_page(page);
}

/// The error of a page of the map that is not what was written.
pub(super) fn map_damaged(number: u64, what: impl Into<Text>) -> Error {
    corrupt(statement!(catalogue::MAP_PAGE_DAMAGED, number = number, what = what))
}

/// The entries of a page of the map.
///
/// # Errors
/// [`ErrorKind::Corrupt`] with the page's number.
pub(super) fn decode_page(version: u32, number: u64, page: &[u8]) -> Result<Vec<Entry>, Error> {
    let damaged = |what: Message| Err(map_damaged(number, what));
    if page.iter().all(|&byte| byte == 0) {
        return if version == FRAME_1.version {
            Ok(Vec::new())
        } else {
            damaged(catalogue::ALL_ZERO)
        };
    }
    if !is_sealed(page) {
        return damaged(catalogue::ITS_CHECKSUM);
    }
    if long(page, 8) != number {
        return damaged(catalogue::ITS_NUMBER);
    }
    let mut entries = Vec::new();
    for (place, entry) in (0..).zip(page[PAGE_HEADER_BYTES..].chunks_exact(ENTRY_BYTES)) {
        match entry[4] {
            0 => (),
            state @ (1 | 2) => {
                entries.push(Entry { place, block: u64::from(word(entry, 0)), dirty: state == 2 });
            }
            _ => return damaged(catalogue::NEITHER_CLEAN_NOR_DIRTY),
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> Superblock {
        Superblock {
            version: 2,
            in_use: true,
            making: false,
            tally: Tally { clean: 21, dirty: 22, sum: 23 },
            layout: Layout { block_bytes: 512, slot_bytes: 4096, slots: 130 },
            size_bytes: 3 << 30,
            fingerprint: 0x1234_5678_9abc_def0,
            generation: 7,
            name: "raid0(chunk=64KiB, file:a.img, file:b.img)".to_owned(),
        }
    }

    #[test]
    fn a_superblock_comes_back_from_where_the_table_says_it_lies() {
        let mut block = [0xff; 4096];
        superblock().encode(&mut block);
        assert_eq!(Superblock::decode(&block).expect("valid"), Some(superblock()));
        assert_eq!(&block[..16], b"raidloom cache\0\0");
        assert_eq!(
            (word(&block, 16), word(&block, 20), word(&block, 24), word(&block, 28)),
            (2, 2, 512, 4096)
        );
        assert_eq!(
            (long(&block, 32), long(&block, 40), long(&block, 48)),
            (3 << 30, 0x1234_5678_9abc_def0, 7)
        );
        // 130 slots are 3 pages of 62.
        assert_eq!((long(&block, 56), long(&block, 64), long(&block, 72)), (130, 3, 2 << 20));
        assert_eq!((long(&block, 80), long(&block, 88), long(&block, 96)), (21, 22, 23));
        assert_eq!(&block[104..110], b"raid0(");
        assert!(block[512..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let mut block = [0; 512];
        superblock().encode(&mut block);
        let mut page = [0; 512];
        let entries = [
            Entry { place: 0, block: 0xffff_ffff, dirty: false },
            Entry { place: 61, block: 0, dirty: true },
        ];
        encode_page(9, entries, &mut page);
        assert_eq!(decode_page(2, 9, &page).expect("valid"), entries);
        assert_eq!(
            (&page[16..24], &page[504..]),
            (&[255, 255, 255, 255, 1, 0, 0, 0][..], &[0, 0, 0, 0, 2, 0, 0, 0][..])
        );
        for at in 0..512 {
            block[at] ^= 0x10;
            page[at] ^= 0x80;
            assert!(
                Superblock::decode(&block).is_err() && decode_page(2, 9, &page).is_err(),
                "byte {at}"
            );
            block[at] ^= 0x10;
            page[at] ^= 0x80;
        }
        assert!(
            decode_page(2, 8, &page).expect_err("of another place").to_string().contains("number")
        );
        assert_eq!(Superblock::decode(&[0; 512]).expect("nothing there"), None);
        assert_eq!(decode_page(1, 3, &[0; 512]).expect("nothing there"), []);
        assert!(
            decode_page(2, 3, &[0; 512])
                .expect_err("pages are never all zero")
                .to_string()
                .contains("all zero")
        );
        encode_page(0, [], &mut page);
        assert!(
            page.iter().any(|&byte| byte != 0)
                && decode_page(2, 0, &page).expect("valid").is_empty()
        );
    }

    #[test]
    fn the_parts_of_a_store_do_not_meet_and_none_is_wasted() {
        for block_bytes in [512, 4096] {
            for slot_bytes in [4096, 65536, 262_144] {
                for store_bytes in
                    [0, 1 << 20, (3 << 20) + 4096, 4 << 20, 100 << 20, (20 << 30) + 512]
                {
                    let layout = Layout::of(store_bytes, block_bytes, slot_bytes);
                    assert!(layout.slots == 0 || layout.store_bytes() <= store_bytes);
                    assert!(
                        Layout { slots: layout.slots + 1, ..layout }.store_bytes() > store_bytes
                    );
                    assert!(layout.page_offset(layout.pages()) <= layout.data_offset());
                    assert!(layout.pages() * u64::from(layout.slots_per_page()) >= layout.slots);
                }
            }
        }
    }
}

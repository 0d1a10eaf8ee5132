//! The write-intent bitmap: which regions of the array may be out of sync after a crash.
//!
//! ```text
//!   byte 0        256                                4096                    …
//!   +-------------+----------------------------------+----------------------+---
//!   | header      | bits of regions 0, 1, 2, …       | more bits            |
//!   +-------------+----------------------------------+----------------------+---
//!   |<---------------- page 0 ---------------------->|<------ page 1 ------>|
//! ```
//!
//! A bit is set, and its page written durably, before the first write into its region, and cleared
//! some time after the last. A region is `chunk_bytes` of a member for levels 1, 4, 5 and 6 and of
//! the array for level 10. Bits count from the lowest of each byte; those behind the last region
//! mean nothing and are written as ones.

use std::iter;
use std::ops::Range;

use words::statement;

use super::{Complaint, Problem, Version, bytes_at, put, u32_at, u64_at};
use crate::catalogue;

const COMPLAINT: Complaint = Complaint(catalogue::OF_BITMAP);
const MAGIC: u32 = 0x6d74_6962;
const HEADER_BYTES: usize = 256;
const PAGE_BYTES: usize = 4096;
/// Smaller regions than a page make no sense: parity is calculated for whole pages.
const MIN_CHUNK_BYTES: u32 = 4096;

/// The head of a bitmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitmapHeader {
    /// 4 for all bitmaps of today; 5 on clusters, 6 without locks (Linux 6.18), 3 in the byte order
    /// of the host.
    pub version: u32,
    /// The array.
    pub set_uuid: [u8; 16],
    /// The array's events when the bitmap was written.
    pub events: u64,
    /// The events up to which bits may have been cleared: a member that is older than this cannot
    /// be brought up to date by the bits.
    pub events_cleared: u64,
    /// What the bits cover, in sectors.
    pub sync_size_sectors: u64,
    /// Bit 1: stale; bit 2: a write of it failed.
    pub state: u32,
    /// What one bit covers, in bytes; a power of two.
    pub chunk_bytes: u32,
    /// How long an unused region's bit stays set, in seconds.
    pub daemon_sleep_s: u32,
    /// How many writes to write-mostly members may be under way; 0: none without waiting.
    pub write_behind: u32,
    /// Sectors set aside for the bitmap; 0: as many as it needs.
    pub sectors_reserved: u32,
    /// How many nodes of a cluster share it.
    pub nodes: u32,
    /// The cluster's name.
    pub cluster_name: [u8; 64],
}

impl BitmapHeader {
    /// The bit of `state` for a bitmap that missed changes.
    pub const STALE: u32 = 2;

    /// Reads a header.
    ///
    /// # Errors
    /// The first field that no bitmap can have.
    pub fn decode(bytes: &[u8]) -> Result<BitmapHeader, Problem> {
        COMPLAINT.needs_length(bytes, HEADER_BYTES)?;
        COMPLAINT.needs_magic(u32_at(bytes, 0), MAGIC)?;
        let version = u32_at(bytes, 4);
        if !(4..=6).contains(&version) {
            return Err(COMPLAINT.about("version", 4, version, catalogue::VERSION_4_TO_6));
        }
        let chunk_bytes = u32_at(bytes, 52);
        if !chunk_bytes.is_power_of_two() || chunk_bytes < 512 {
            return Err(COMPLAINT.about(
                "chunksize",
                52,
                chunk_bytes,
                statement!(catalogue::POWER_OF_TWO, least = 512),
            ));
        }
        Ok(BitmapHeader {
            version,
            set_uuid: bytes_at(bytes, 8),
            events: u64_at(bytes, 24),
            events_cleared: u64_at(bytes, 32),
            sync_size_sectors: u64_at(bytes, 40),
            state: u32_at(bytes, 48),
            chunk_bytes,
            daemon_sleep_s: u32_at(bytes, 56),
            write_behind: u32_at(bytes, 60),
            sectors_reserved: u32_at(bytes, 64),
            nodes: u32_at(bytes, 68),
            cluster_name: bytes_at(bytes, 72),
        })
    }

    /// Reads the header of a bitmap beside a superblock of a version: 0.90 has words where the
    /// others have bytes, so its array's UUID stands in another order.
    ///
    /// # Errors
    /// As [`BitmapHeader::decode`].
    pub fn decode_for(version: Version, bytes: &[u8]) -> Result<BitmapHeader, Problem> {
        let mut header = BitmapHeader::decode(bytes)?;
        if version == Version::V0_90 {
            header.set_uuid.chunks_exact_mut(4).for_each(<[u8]>::reverse);
        }
        Ok(header)
    }

    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        put(&mut bytes, 0, &MAGIC.to_le_bytes());
        put(&mut bytes, 4, &self.version.to_le_bytes());
        put(&mut bytes, 8, &self.set_uuid);
        put(&mut bytes, 24, &self.events.to_le_bytes());
        put(&mut bytes, 32, &self.events_cleared.to_le_bytes());
        put(&mut bytes, 40, &self.sync_size_sectors.to_le_bytes());
        put(&mut bytes, 48, &self.state.to_le_bytes());
        put(&mut bytes, 52, &self.chunk_bytes.to_le_bytes());
        put(&mut bytes, 56, &self.daemon_sleep_s.to_le_bytes());
        put(&mut bytes, 60, &self.write_behind.to_le_bytes());
        put(&mut bytes, 64, &self.sectors_reserved.to_le_bytes());
        put(&mut bytes, 68, &self.nodes.to_le_bytes());
        put(&mut bytes, 72, &self.cluster_name);
        bytes
    }

    /// How many regions, and so bits, there are.
    #[must_use]
    pub fn region_count(&self) -> u64 {
        self.sync_size_sectors.div_ceil(self.chunk_sectors())
    }

    /// How many bytes the bitmap takes up, header and bits.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        HEADER_BYTES as u64 + self.region_count().div_ceil(8)
    }

    fn chunk_sectors(&self) -> u64 {
        u64::from(self.chunk_bytes) / 512
    }

    /// Whether the bits tell what is out of sync in the array with these events; the reason when
    /// not.
    ///
    /// The bitmap is written before the superblocks, so it may be one event ahead of them, never
    /// behind.
    ///
    /// # Errors
    /// The field that says no. Then every region counts as out of sync.
    pub fn accept(&self, set_uuid: &[u8; 16], events: u64) -> Result<(), Problem> {
        if self.set_uuid != *set_uuid {
            return Err(COMPLAINT.about(
                "uuid",
                8,
                super::uuid_text(&self.set_uuid),
                super::uuid_text(set_uuid),
            ));
        }
        if self.version != 4 {
            return Err(COMPLAINT.about("version", 4, self.version, catalogue::VERSION_4_ALONE));
        }
        if self.events != events && Some(self.events) != events.checked_add(1) {
            return Err(COMPLAINT.about(
                "events",
                24,
                self.events,
                statement!(catalogue::EVENTS_OF_SUPERBLOCK, events = events),
            ));
        }
        if self.state & BitmapHeader::STALE != 0 {
            return Err(COMPLAINT.about("state", 48, "stale", catalogue::MISSED_NOTHING));
        }
        Ok(())
    }
}

/// A bitmap: header and bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    /// The header. Its size and chunk stay as they are.
    header: BitmapHeader,
    /// Eight regions a byte.
    bits: Vec<u8>,
}

impl Bitmap {
    /// A bitmap for `sync_size_sectors` in at most `area_bytes`, all bits set when `dirty`.
    ///
    /// One bit covers `chunk_bytes` where said, else 64 MiB, or as much more as it takes to fit.
    ///
    /// # Errors
    /// A chunk that is no power of two of at least 4 KiB, or with which the bits do not fit.
    pub fn new(
        set_uuid: [u8; 16],
        sync_size_sectors: u64,
        area_bytes: u64,
        chunk_bytes: Option<u32>,
        dirty: bool,
    ) -> Result<Bitmap, Problem> {
        let header = |chunk_bytes| BitmapHeader {
            version: 4,
            set_uuid,
            events: 0,
            events_cleared: 0,
            sync_size_sectors,
            state: 0,
            chunk_bytes,
            daemon_sleep_s: 5,
            write_behind: 0,
            sectors_reserved: 0,
            nodes: 0,
            cluster_name: [0; 64],
        };
        let fits = |chunk_bytes| header(chunk_bytes).size_bytes() <= area_bytes;
        let chunk_bytes = match chunk_bytes {
            Some(chunk) if !chunk.is_power_of_two() || chunk < MIN_CHUNK_BYTES => {
                return Err(COMPLAINT.about(
                    "chunksize",
                    52,
                    chunk,
                    statement!(catalogue::POWER_OF_TWO, least = MIN_CHUNK_BYTES),
                ));
            }
            Some(chunk) => chunk,
            None => {
                (26..31).map(|shift| 1_u32 << shift).find(|&chunk| fits(chunk)).unwrap_or(1 << 31)
            }
        };
        if !fits(chunk_bytes) {
            let bytes = header(chunk_bytes).size_bytes();
            let found = statement!(catalogue::MAKES_BITMAP, chunk = chunk_bytes, bytes = bytes);
            return Err(COMPLAINT.about(
                "chunksize",
                52,
                found,
                statement!(catalogue::LARGER_REGIONS, bytes = area_bytes),
            ));
        }
        let header = header(chunk_bytes);
        let bits = vec![if dirty { 0xff } else { 0 }; header.region_count().div_ceil(8) as usize];
        Ok(Bitmap { header, bits }.tidy())
    }

    /// Reads a bitmap.
    ///
    /// # Errors
    /// What is wrong with its header, or that the bits are not all there.
    pub fn decode(bytes: &[u8]) -> Result<Bitmap, Problem> {
        let header = BitmapHeader::decode(bytes)?;
        let Some(bits) = usize::try_from(header.size_bytes())
            .ok()
            .and_then(|size| bytes.get(HEADER_BYTES..size))
        else {
            let found = statement!(
                catalogue::SECTORS_NEED,
                sectors = header.sync_size_sectors,
                bytes = header.size_bytes()
            );
            return Err(COMPLAINT.about(
                "sync_size",
                40,
                found,
                statement!(catalogue::AT_MOST_BYTES, bytes = bytes.len()),
            ));
        };
        Ok(Bitmap { bits: bits.to_vec(), header }.tidy())
    }

    /// Bits behind the last region are kept as zeroes in memory: they stand for nothing.
    fn tidy(mut self) -> Bitmap {
        let used = self.header.region_count() % 8;
        if used != 0
            && let Some(last) = self.bits.last_mut()
        {
            *last &= (1 << used) - 1;
        }
        self
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &BitmapHeader {
        &self.header
    }

    /// Notes the array's events, to be written with page 0.
    pub fn set_events(&mut self, events: u64, events_cleared: u64) {
        self.header.events = events;
        self.header.events_cleared = events_cleared;
    }

    /// All bytes to write, filled up with ones to whole pages.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let size = (HEADER_BYTES + self.bits.len()).next_multiple_of(PAGE_BYTES);
        let mut bytes = vec![0xff; size];
        put(&mut bytes, 0, &self.header.encode());
        put(&mut bytes, HEADER_BYTES, &self.bits);
        let used = self.header.region_count() % 8;
        if used != 0 {
            bytes[HEADER_BYTES + self.bits.len() - 1] |= !((1 << used) - 1);
        }
        bytes
    }

    /// How many pages of 4 KiB there are.
    #[must_use]
    pub fn page_count(&self) -> usize {
        (HEADER_BYTES + self.bits.len()).div_ceil(PAGE_BYTES)
    }

    /// The bytes of one page, to be written `page * 4096` bytes into the bitmap.
    ///
    /// # Panics
    /// When there is no such page.
    #[must_use]
    pub fn encode_page(&self, page: usize) -> Vec<u8> {
        assert!(
            page < self.page_count(),
            "the bitmap has {} pages, no page {page}",
            self.page_count()
        );
        let mut bytes = vec![0xff; PAGE_BYTES];
        let start = page * PAGE_BYTES;
        let first = if page == 0 { HEADER_BYTES } else { 0 };
        if page == 0 {
            put(&mut bytes, 0, &self.header.encode());
        }
        let bits_start = start + first - HEADER_BYTES;
        let bits_end = (start + PAGE_BYTES - HEADER_BYTES).min(self.bits.len());
        put(&mut bytes, first, &self.bits[bits_start..bits_end]);
        let used = self.header.region_count() % 8;
        if used != 0 && bits_end == self.bits.len() {
            bytes[first + bits_end - bits_start - 1] |= !((1 << used) - 1);
        }
        bytes
    }

    /// The regions that a range touches, in sectors of what the bitmap covers; what lies outside
    /// has none.
    pub(crate) fn regions(&self, sectors: Range<u64>) -> Range<u64> {
        let end = sectors.end.min(self.header.sync_size_sectors);
        if sectors.start >= end {
            return 0..0;
        }
        sectors.start / self.header.chunk_sectors()..end.div_ceil(self.header.chunk_sectors())
    }

    /// Marks what a range touches as maybe out of sync; the pages that changed, in order.
    pub fn set(&mut self, sectors: Range<u64>) -> Vec<usize> {
        let regions = self.regions(sectors);
        self.change(regions, true)
    }

    /// Marks the regions that lie within a range as in sync; the pages that changed, in order.
    ///
    /// A region that reaches out of the range keeps its bit: nothing is known of the rest of it.
    pub fn clear(&mut self, sectors: Range<u64>) -> Vec<usize> {
        let chunk = self.header.chunk_sectors();
        let end = if sectors.end >= self.header.sync_size_sectors {
            self.header.region_count()
        } else {
            sectors.end / chunk
        };
        self.change(sectors.start.div_ceil(chunk)..end, false)
    }

    fn change(&mut self, regions: Range<u64>, value: bool) -> Vec<usize> {
        let mut pages = Vec::new();
        for region in regions {
            let (byte, mask) = ((region / 8) as usize, 1_u8 << (region % 8));
            if (self.bits[byte] & mask != 0) != value {
                self.bits[byte] ^= mask;
                let page = (HEADER_BYTES + byte) / PAGE_BYTES;
                if pages.last() != Some(&page) {
                    pages.push(page);
                }
            }
        }
        pages
    }

    /// Whether anything in the range may be out of sync.
    #[must_use]
    pub fn is_set(&self, sectors: Range<u64>) -> bool {
        self.regions(sectors).any(|region| self.region_is_set(region))
    }

    pub(crate) fn region_is_set(&self, region: u64) -> bool {
        self.bits[(region / 8) as usize] & 1 << (region % 8) != 0
    }

    /// The regions that are set, by number, each with its sectors.
    pub(crate) fn set_regions(&self) -> impl Iterator<Item = (u64, Range<u64>)> {
        let (chunk, end) = (self.header.chunk_sectors(), self.header.sync_size_sectors);
        let bytes = self.bits.iter().zip(0_u64..).filter(|(byte, _)| **byte != 0);
        let regions = bytes.flat_map(|(byte, at)| {
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| at * 8 + bit)
        });
        regions.map(move |region| {
            (region, region * chunk..((region + 1).saturating_mul(chunk)).min(end))
        })
    }

    /// Marks a region as in sync; the page that changed.
    pub(crate) fn clear_region(&mut self, region: u64) -> Option<usize> {
        self.change(region..region + 1, false).pop()
    }

    /// What may be out of sync, in sectors: runs of set regions, in order, neighbours joined.
    pub fn dirty_ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let mut regions = self.set_regions().map(|(_, range)| range).peekable();
        iter::from_fn(move || {
            let mut run = regions.next()?;
            while let Some(next) = regions.next_if(|next| next.start == run.end) {
                run.end = next.end;
            }
            Some(run)
        })
    }

    /// How many regions may be out of sync.
    #[must_use]
    pub fn dirty_count(&self) -> u64 {
        self.bits.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }
}

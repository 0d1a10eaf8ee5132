//! The tables of a qcow2 image that is written to: which clusters of its file are in use, and what
//! of both is to be brought onto the file, in which order.
//!
//! ```text
//!   counts ──> table of counts ──> second level ──> first level ──> counts that have become less
//!      a flush of the file between each two; what is named later is safe before it is named
//! ```
//!
//! A crash in between leaves clusters in use that nothing names, and never one that is named and
//! free. Nothing here does any I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use block::{Error, ErrorKind, SECTOR_BYTES};
use words::statement;

use crate::catalogue;
use crate::map::{ClusterLocation, Entry, ImageMap, Table, damaged};
use crate::source::{ImageFile, high64};

/// Where a host offset stands in an entry of either level.
pub(crate) const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
pub(crate) const PACKED: u64 = 1 << 62;
pub(crate) const ZERO: u64 = 1;
/// Set in an entry of either level when nothing else names the same place.
pub(crate) const COPIED: u64 = 1 << 63;

/// The table of counts is no longer than this, in bytes: as in qemu.
const COUNT_TABLE_BYTES_MAX: u64 = 8 << 20;
/// Where the header says where the table of counts lies, and how many clusters it has.
const HEADER_COUNT_TABLE: usize = 48;
/// How many entries of a table, of 8 bytes, a sector has.
const SECTOR_ENTRIES: usize = SECTOR_BYTES as usize / 8;

/// Where the header says that the counts of clusters are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountsPlace {
    pub(crate) table_offset: u64,
    pub(crate) table_clusters: u32,
    /// A count has 2^order bits.
    pub(crate) order: u32,
}

/// One write of a table: where, and what.
pub(crate) type TableWrite = (u64, Vec<u8>);

/// Writes in phases, with a flush of the file behind each but the last.
pub(crate) type Phases = Vec<Vec<TableWrite>>;

#[derive(Debug)]
pub(crate) struct Tables {
    cluster_bits: u32,
    l1_offset: u64,
    /// Where the tables of the second level lie; 0 for none.
    l1: Vec<u64>,
    counts: Counts,
    /// Clusters that may be taken, the next ones last.
    free: Vec<Range<u64>>,
    /// All clusters that may ever be used begin below this one.
    limit: u64,
    /// The first cluster behind all that are in use.
    end: u64,
    dirty: BTreeSet<(usize, usize)>,
    new_tables: BTreeSet<usize>,
    /// Packed clusters that nothing names any more, as their entries had them.
    released: Vec<u64>,
}

/// How often each cluster of the file is named.
#[derive(Debug)]
struct Counts {
    place: CountsPlace,
    /// Where the blocks lie; 0 for none.
    table: Vec<u64>,
    blocks: BTreeMap<usize, Box<[u8]>>,
    dirty: BTreeSet<(usize, usize)>,
    new_blocks: BTreeSet<usize>,
}

impl Counts {
    /// How many clusters a block of counts is of.
    fn block_entries(place: CountsPlace, cluster_bits: u32) -> u64 {
        1 << (cluster_bits + 3 - place.order)
    }

    fn read(
        file: &mut ImageFile<'_>,
        place: CountsPlace,
        cluster_bytes: u64,
    ) -> Result<Counts, Error> {
        let bytes = u64::from(place.table_clusters) * cluster_bytes;
        if place.order > 6 || bytes == 0 || bytes > COUNT_TABLE_BYTES_MAX {
            let text = statement!(catalogue::COUNT_TABLE, bytes = bytes, bits = place.order);
            return Err(damaged(text));
        }
        aligned(place.table_offset, cluster_bytes)?;
        let table = file.table(place.table_offset, bytes)?;
        let table: Vec<u64> =
            table.chunks_exact(8).map(|entry| high64(entry, 0) & OFFSET).collect();
        let mut blocks = BTreeMap::new();
        for (number, &offset) in table.iter().enumerate().filter(|(_, offset)| **offset != 0) {
            aligned(offset, cluster_bytes)?;
            blocks.insert(number, file.table(offset, cluster_bytes)?.into());
        }
        Ok(Counts { place, table, blocks, dirty: BTreeSet::new(), new_blocks: BTreeSet::new() })
    }

    /// The byte of a block that holds a count of less than 8 bits, or with which a longer one
    /// begins, and how far up in it.
    fn spot(&self, index: u64) -> (usize, u32) {
        let bit = index << self.place.order;
        ((bit / 8) as usize, (bit % 8) as u32)
    }

    fn get(&self, block: &[u8], index: u64) -> u64 {
        let ((at, shift), bits) = (self.spot(index), 1_u32 << self.place.order);
        if bits < 8 {
            return u64::from(block[at]) >> shift & ((1 << bits) - 1);
        }
        let bytes = &block[at..at + bits as usize / 8];
        bytes.iter().fold(0, |count, byte| count << 8 | u64::from(*byte))
    }

    fn count(&self, cluster: u64, block_entries: u64) -> u64 {
        let block = self.blocks.get(&((cluster / block_entries) as usize));
        block.map_or(0, |block| self.get(block, cluster % block_entries))
    }

    /// The block of the cluster has to be there.
    fn set(&mut self, cluster: u64, block_entries: u64, count: u64) {
        let (number, index) = ((cluster / block_entries) as usize, cluster % block_entries);
        let ((at, shift), bits) = (self.spot(index), 1_u32 << self.place.order);
        let block = self.blocks.get_mut(&number).expect("a block of counts for what is in use");
        if bits < 8 {
            let mask = ((1_u8 << bits) - 1) << shift;
            block[at] = block[at] & !mask | (count as u8) << shift & mask;
        } else {
            let bytes = bits as usize / 8;
            block[at..at + bytes].copy_from_slice(&count.to_be_bytes()[8 - bytes..]);
        }
        self.dirty.insert((number, at / SECTOR_BYTES as usize));
    }
}

impl Tables {
    /// Reads the counts of an image's clusters and holds them against what its tables name.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when a cluster is named and free, or named twice.
    pub(crate) fn read(
        file: &mut ImageFile<'_>,
        l1_offset: u64,
        l1: Vec<u64>,
        place: CountsPlace,
        map: &ImageMap,
    ) -> Result<Tables, Error> {
        let cluster_bytes = map.cluster_bytes;
        let mut tables = Tables {
            cluster_bits: cluster_bytes.trailing_zeros(),
            l1_offset,
            l1,
            counts: Counts::read(file, place, cluster_bytes)?,
            free: Vec::new(),
            limit: 0,
            end: 1,
            dirty: BTreeSet::new(),
            new_tables: BTreeSet::new(),
            released: Vec::new(),
        };
        tables.check(map)?;
        tables.measure(map, file.size_bytes);
        Ok(tables)
    }

    fn block_entries(&self) -> u64 {
        Counts::block_entries(self.counts.place, self.cluster_bits)
    }

    fn cluster_bytes(&self) -> u64 {
        1 << self.cluster_bits
    }

    fn count(&self, cluster: u64) -> u64 {
        self.counts.count(cluster, self.block_entries())
    }

    /// The clusters that a packed one lies in, of what its entry says.
    fn packed_clusters(&self, value: u64) -> Range<u64> {
        let bits = packed_place_bits(self.cluster_bits);
        let (offset, sectors) = (value & ((1 << bits) - 1), (value >> bits) + 1);
        let end = offset - offset % SECTOR_BYTES + sectors * SECTOR_BYTES;
        offset >> self.cluster_bits..end.div_ceil(self.cluster_bytes())
    }

    /// Refuses counts that are too low, and what is named twice and not packed.
    fn check(&self, map: &ImageMap) -> Result<(), Error> {
        let bits = self.cluster_bits;
        let place = self.counts.place;
        let range = |offset: u64, bytes: u64| {
            let first = offset >> bits;
            first..first + bytes.div_ceil(1 << bits)
        };
        let table_bytes = u64::from(place.table_clusters) << bits;
        let single = |offset: &u64| (*offset != 0).then_some(offset >> bits);
        let entries = || map.tables.iter().flatten().flat_map(|table| &table.entries);
        let whole = std::iter::once(0)
            .chain(range(place.table_offset, table_bytes))
            .chain(range(self.l1_offset, self.l1.len() as u64 * 8))
            .chain(self.counts.table.iter().chain(&self.l1).filter_map(single))
            .chain(entries().filter_map(|entry| entry.own_place()).map(|offset| offset >> bits));
        let packed = entries().filter_map(|entry| match entry.place() {
            ClusterLocation::Packed(value) => Some(self.packed_clusters(value)),
            _ => None,
        });
        let mut named: Vec<(u64, bool)> = whole.map(|cluster| (cluster, true)).collect();
        named.extend(packed.flatten().map(|cluster| (cluster, false)));
        named.sort_unstable();
        for same in named.chunk_by(|one, other| one.0 == other.0) {
            let ((cluster, is_whole), times) = (same[same.len() - 1], same.len() as u64);
            if is_whole && times > 1 {
                return Err(damaged(statement!(catalogue::CLUSTER_SHARED, cluster = cluster)));
            }
            let count = self.count(cluster);
            if count < times {
                return Err(damaged(statement!(
                    catalogue::COUNT_DIFFERS,
                    cluster = cluster,
                    times = times,
                    count = count
                )));
            }
        }
        Ok(())
    }

    /// Finds what is free, and how long the file may become.
    fn measure(&mut self, map: &ImageMap, file_bytes: u64) {
        let per_block = self.block_entries();
        let last_used = self.counts.blocks.iter().rev().find_map(|(&number, block)| {
            let used = (0..per_block).rev().find(|&index| self.counts.get(block, index) > 0)?;
            Some(number as u64 * per_block + used)
        });
        self.end = last_used.map_or(1, |last| last + 1);
        let clusters = map.size_bytes.div_ceil(map.cluster_bytes);
        let entries = map.tables.iter().flatten().flat_map(|table| &table.entries);
        let own = entries.filter(|entry| entry.own_place().is_some()).count() as u64;
        let missing_tables = map.tables.iter().filter(|table| table.is_none()).count() as u64;
        let data = self.end + clusters.saturating_sub(own) + missing_tables;
        let blocks = data / (per_block - 1).max(1) + 3;
        self.limit = data + blocks + (blocks * 8).div_ceil(map.cluster_bytes) + 1;
        let limit = self.limit.min((file_bytes >> self.cluster_bits).max(self.end));
        let mut cluster = 1;
        while cluster < limit {
            let is_free = |cluster: u64| self.count(cluster) == 0;
            let first = match cluster < self.end {
                true => (cluster..self.end).find(|&cluster| is_free(cluster)).unwrap_or(self.end),
                false => cluster,
            };
            let end = match first < self.end {
                true => (first..self.end).find(|&cluster| !is_free(cluster)).unwrap_or(limit),
                false => limit,
            };
            if first < end {
                self.free.push(first..end);
            }
            cluster = end.max(first + 1);
        }
        self.free.reverse();
    }

    /// How long the file has to be for all that may be written, in bytes.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.limit << self.cluster_bits
    }

    /// Takes up to so many clusters that follow each other: the first, and how many. They are in
    /// use once something names them.
    pub(crate) fn allocate(&mut self, clusters_max: u64) -> Result<(u64, u64), Error> {
        let next = self.free.last_mut().ok_or_else(full)?;
        let (first, count) = (next.start, clusters_max.min(next.end - next.start));
        next.start += count;
        if next.is_empty() {
            self.free.pop();
        }
        let per_block = self.block_entries();
        for number in first / per_block..=(first + count - 1) / per_block {
            self.must_count(number as usize)?;
        }
        Ok((first, count))
    }

    /// Sees to it that there is a block of counts, whatever it takes.
    fn must_count(&mut self, number: usize) -> Result<(), Error> {
        if self.counts.blocks.contains_key(&number) {
            return Ok(());
        }
        if number >= self.counts.table.len() {
            return Err(full());
        }
        self.counts.blocks.insert(number, vec![0; self.cluster_bytes() as usize].into());
        self.counts.new_blocks.insert(number);
        match self.allocate(1) {
            Ok((cluster, _)) => {
                self.counts.table[number] = cluster << self.cluster_bits;
                self.put_to_use(cluster);
                Ok(())
            }
            Err(error) => {
                self.counts.blocks.remove(&number);
                self.counts.new_blocks.remove(&number);
                Err(error)
            }
        }
    }

    fn put_to_use(&mut self, cluster: u64) {
        let per_block = self.block_entries();
        self.counts.set(cluster, per_block, 1);
        self.end = self.end.max(cluster + 1);
    }

    /// Sees to it that the table is there that a cluster of the disk has its entry in.
    pub(crate) fn must_have_table(
        &mut self,
        map: &mut ImageMap,
        cluster: u64,
    ) -> Result<(), Error> {
        let number = (cluster / map.table_entries) as usize;
        if map.tables[number].is_some() {
            return Ok(());
        }
        let (place, _) = self.allocate(1)?;
        self.put_to_use(place);
        self.l1[number] = place << self.cluster_bits;
        map.tables[number] = Some(Table::of(vec![Entry::HOLE; map.table_entries as usize]));
        self.new_tables.insert(number);
        Ok(())
    }

    /// Says of a cluster of the disk, whose table is there, what it is from now on.
    pub(crate) fn set(&mut self, map: &mut ImageMap, cluster: u64, entry: Entry) {
        let (number, index) = ((cluster / map.table_entries) as usize, cluster % map.table_entries);
        let table = map.tables[number].as_mut().expect("a table for what is written");
        let before = std::mem::replace(&mut table.entries[index as usize], entry);
        self.dirty.insert((number, index as usize / SECTOR_ENTRIES));
        if let ClusterLocation::Packed(value) = before.place() {
            self.released.push(value);
        }
        if let Some(place) = entry.own_place().filter(|place| before.own_place() != Some(*place)) {
            self.put_to_use(place >> self.cluster_bits);
        }
    }

    /// What brings the file to where the tables are now. What is named by them was written before.
    pub(crate) fn draft(&mut self, map: &ImageMap) -> Phases {
        let mut phases = vec![self.draft_counts(), self.draft_count_table()];
        phases.extend(self.draft_levels(map));
        for value in std::mem::take(&mut self.released) {
            for cluster in self.packed_clusters(value) {
                let count = self.count(cluster).saturating_sub(1);
                let per_block = self.block_entries();
                self.counts.set(cluster, per_block, count);
            }
        }
        phases.push(self.draft_counts());
        phases
    }

    fn draft_counts(&mut self) -> Vec<TableWrite> {
        let sector = SECTOR_BYTES as usize;
        let mut writes = Vec::new();
        for number in &self.counts.new_blocks {
            writes.push((self.counts.table[*number], self.counts.blocks[number].to_vec()));
        }
        for (number, at) in std::mem::take(&mut self.counts.dirty) {
            if self.counts.new_blocks.contains(&number) {
                continue;
            }
            let bytes = &self.counts.blocks[&number][at * sector..][..sector];
            add(&mut writes, self.counts.table[number] + (at * sector) as u64, bytes);
        }
        writes
    }

    fn draft_count_table(&mut self) -> Vec<TableWrite> {
        let sectors: BTreeSet<usize> = std::mem::take(&mut self.counts.new_blocks)
            .into_iter()
            .map(|number| number / SECTOR_ENTRIES)
            .collect();
        let mut writes = Vec::new();
        for sector in sectors {
            let bytes = entries_of(&self.counts.table, sector, |offset| offset);
            let offset = self.counts.place.table_offset + sector as u64 * SECTOR_BYTES;
            add(&mut writes, offset, &bytes);
        }
        writes
    }

    /// The second level, and the first.
    fn draft_levels(&mut self, map: &ImageMap) -> [Vec<TableWrite>; 2] {
        let entries = |number: usize| {
            let table = map.tables[number].as_ref().expect("a table that was written to");
            table.entries.iter().map(|entry| encode(*entry)).collect::<Vec<u64>>()
        };
        let new_tables = std::mem::take(&mut self.new_tables);
        let mut tables = Vec::new();
        for &number in &new_tables {
            let bytes = entries(number).into_iter().flat_map(u64::to_be_bytes).collect();
            tables.push((self.l1[number], bytes));
        }
        for (number, sector) in std::mem::take(&mut self.dirty) {
            if !new_tables.contains(&number) {
                let table = map.tables[number].as_ref().expect("a table that was written to");
                let first = sector * SECTOR_ENTRIES;
                let sector_entries = &table.entries[first..first + SECTOR_ENTRIES];
                let bytes: Vec<u8> =
                    sector_entries.iter().flat_map(|entry| encode(*entry).to_be_bytes()).collect();
                add(&mut tables, self.l1[number] + (first * 8) as u64, &bytes);
            }
        }
        let sectors: BTreeSet<usize> =
            new_tables.into_iter().map(|number| number / SECTOR_ENTRIES).collect();
        let mut first_level = Vec::new();
        for sector in sectors {
            let named = |offset| if offset == 0 { 0 } else { offset | COPIED };
            let bytes = entries_of(&self.l1, sector, named);
            add(&mut first_level, self.l1_offset + sector as u64 * SECTOR_BYTES, &bytes);
        }
        [tables, first_level]
    }

    /// Makes the table of counts long enough for all that may be written, where it is not: what
    /// is to be written for that, before anything else. `header` is the image's first sector.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] where the device has no room for it.
    pub(crate) fn lengthen_counts(&mut self, header: &[u8]) -> Result<Phases, Error> {
        let end = self.free.first().map_or(self.end, |last| last.end);
        let needed = end.div_ceil(self.block_entries()) as usize;
        if needed <= self.counts.table.len() {
            return Ok(Vec::new());
        }
        let before = self.counts.place;
        let clusters = (needed as u64 * 8).div_ceil(self.cluster_bytes());
        let last = self.free.first_mut().ok_or_else(full)?;
        if last.end - last.start < clusters || clusters << self.cluster_bits > COUNT_TABLE_BYTES_MAX
        {
            return Err(full());
        }
        let first = last.start;
        last.start += clusters;
        self.counts.table.resize(((clusters << self.cluster_bits) / 8) as usize, 0);
        self.counts.place.table_offset = first << self.cluster_bits;
        self.counts.place.table_clusters = clusters as u32;
        let per_block = self.block_entries();
        for number in first / per_block..=(first + clusters - 1) / per_block {
            self.must_count(number as usize)?;
        }
        (first..first + clusters).for_each(|cluster| self.put_to_use(cluster));
        let mut counts = self.draft_counts();
        self.counts.new_blocks.clear();
        let table = self.counts.table.iter().flat_map(|offset| offset.to_be_bytes()).collect();
        counts.push((self.counts.place.table_offset, table));
        let mut header = header.to_vec();
        let at = HEADER_COUNT_TABLE;
        header[at..at + 8].copy_from_slice(&self.counts.place.table_offset.to_be_bytes());
        header[at + 8..at + 12].copy_from_slice(&(clusters as u32).to_be_bytes());
        let old = before.table_offset >> self.cluster_bits;
        for cluster in old..old + u64::from(before.table_clusters) {
            self.counts.set(cluster, per_block, 0);
        }
        Ok(vec![counts, vec![(0, header)], self.draft_counts()])
    }
}

fn full() -> Error {
    Error::new(ErrorKind::NoSpace, catalogue::NO_CLUSTER_ROOM)
}

/// So many bits of an entry, below those of the length, hold a packed cluster's place.
pub(crate) fn packed_place_bits(cluster_bits: u32) -> u32 {
    62 - (cluster_bits - 8)
}

/// Refuses a place that is no whole cluster.
pub(crate) fn aligned(offset: u64, cluster_bytes: u64) -> Result<(), Error> {
    match offset.is_multiple_of(cluster_bytes) {
        true => Ok(()),
        false => Err(damaged(statement!(
            catalogue::NO_WHOLE_CLUSTER,
            offset = offset,
            cluster_bytes = cluster_bytes
        ))),
    }
}

/// An entry of the second level as it stands in the image.
fn encode(entry: Entry) -> u64 {
    match (entry.place(), entry.own_place()) {
        (ClusterLocation::Hole, _) => 0,
        (ClusterLocation::Packed(value), _) => PACKED | value,
        (ClusterLocation::Zero, None) => ZERO,
        (ClusterLocation::Zero, Some(offset)) => COPIED | offset | ZERO,
        (ClusterLocation::At(offset), _) => COPIED | offset,
    }
}

/// A sector of a table of offsets, which may end in it.
fn entries_of(table: &[u64], sector: usize, entry: impl Fn(u64) -> u64) -> Vec<u8> {
    let first = sector * SECTOR_ENTRIES;
    let there = &table[first..table.len().min(first + SECTOR_ENTRIES)];
    let mut bytes: Vec<u8> = there.iter().flat_map(|offset| entry(*offset).to_be_bytes()).collect();
    bytes.resize(SECTOR_BYTES as usize, 0);
    bytes
}

/// Adds a write, to the last one if it goes on where that ends.
fn add(writes: &mut Vec<TableWrite>, offset: u64, bytes: &[u8]) {
    match writes.last_mut() {
        Some((start, before)) if *start + before.len() as u64 == offset => {
            before.extend_from_slice(bytes);
        }
        _ => writes.push((offset, bytes.to_vec())),
    }
}

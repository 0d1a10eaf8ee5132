//! Which blocks are in the delta, and which of those a crash would find there.
//!
//! ```text
//! page      0         1         2                 only pages with a bit set take memory
//! present   0110…               1111…             what reads follow
//! durable   0100…               1111…             what the index on the delta says, or is about to
//! marked    1         0         1                 pages that are known not to be zero there, or of several one
//! ```
//!
//! Bits only ever go from 0 to 1. A page is dirty as long as the two rows differ.

use std::collections::{BTreeMap, BTreeSet};

use super::format::Shape;

struct Page {
    present: Box<[u64]>,
    durable: Box<[u64]>,
}

/// The two rows of bits.
pub(super) struct Index {
    blocks_per_page: u64,
    pages_per_mark: u64,
    pages: BTreeMap<u64, Page>,
    dirty: BTreeSet<u64>,
    marked: BTreeSet<u64>,
    present_blocks: u64,
}

/// Bits that are to become durable: by page, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot(pub(super) Vec<(u64, Box<[u64]>)>);

impl Index {
    pub(super) fn new(shape: Shape) -> Index {
        Index {
            blocks_per_page: shape.blocks_per_page(),
            pages_per_mark: shape.pages_per_mark(),
            pages: BTreeMap::new(),
            dirty: BTreeSet::new(),
            marked: BTreeSet::new(),
            present_blocks: 0,
        }
    }

    fn words(&self) -> usize {
        (self.blocks_per_page / 64) as usize
    }

    /// Takes a page as it was found on the delta.
    pub(super) fn load(&mut self, number: u64, bits: Box<[u64]>) {
        self.present_blocks += bits.iter().map(|bits| u64::from(bits.count_ones())).sum::<u64>();
        self.pages.insert(number, Page { present: bits.clone(), durable: bits });
    }

    /// Takes a page of marks as it was found on the delta.
    pub(super) fn load_marks(&mut self, number: u64, bits: &[u64]) {
        let set = (0..self.blocks_per_page)
            .filter(|bit| bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1);
        self.marked.extend(set.map(|bit| number * self.blocks_per_page + bit));
    }

    /// The first page with a mark that says that it, or one of those that share the mark, is not
    /// zero, though all of them are.
    pub(super) fn first_lost(&self) -> Option<u64> {
        let first = |mark: &u64| mark * self.pages_per_mark;
        self.marked
            .iter()
            .map(first)
            .find(|&first| self.pages.range(first..first + self.pages_per_mark).next().is_none())
    }

    /// The marks that are missing for pages with durable bits.
    pub(super) fn unmarked(&self) -> BTreeSet<u64> {
        let marks = self
            .pages
            .iter()
            .filter(|(_, page)| page.durable.iter().any(|&bits| bits != 0))
            .map(|(page, _)| page / self.pages_per_mark);
        marks.filter(|mark| !self.marked.contains(mark)).collect()
    }

    /// The marks that are missing for the pages of a snapshot.
    pub(super) fn unmarked_in(&self, snapshot: &Snapshot) -> BTreeSet<u64> {
        snapshot
            .0
            .iter()
            .map(|(page, _)| page / self.pages_per_mark)
            .filter(|mark| !self.marked.contains(mark))
            .collect()
    }

    /// The pages of marks, by number, that hold one of these, as they are to be on the delta.
    pub(super) fn mark_images(&self, marks: &BTreeSet<u64>) -> Snapshot {
        let numbers: BTreeSet<u64> = marks.iter().map(|mark| mark / self.blocks_per_page).collect();
        let image = |number: u64| {
            let first = number * self.blocks_per_page;
            let range = first..first + self.blocks_per_page;
            let mut bits = vec![0_u64; self.words()];
            for mark in self.marked.range(range.clone()).chain(marks.range(range)) {
                bits[((mark - first) / 64) as usize] |= 1 << ((mark - first) % 64);
            }
            (number, bits.into())
        };
        Snapshot(numbers.into_iter().map(image).collect())
    }

    /// The marks are on the delta.
    pub(super) fn settle_marks(&mut self, mut marks: BTreeSet<u64>) {
        self.marked.append(&mut marks);
    }

    /// How many blocks are in the delta.
    pub(super) fn present_blocks(&self) -> u64 {
        self.present_blocks
    }

    /// Whether the block `first` is in the delta, and how many from there on, at most `limit`, are
    /// as it is.
    pub(super) fn run(&self, first: u64, limit: u64) -> (bool, u64) {
        let present = self.is_present(first);
        let mut count = 0;
        while count < limit {
            let block = first + count;
            let (number, bit) = (block / self.blocks_per_page, block % self.blocks_per_page);
            let to_page_end = self.blocks_per_page - bit;
            let same = match self.pages.get(&number) {
                None if present => 0,
                None => to_page_end,
                Some(page) => alike(&page.present, bit, present),
            };
            count += same;
            if same < to_page_end {
                break;
            }
        }
        (present, count.min(limit))
    }

    fn is_present(&self, block: u64) -> bool {
        let bit = block % self.blocks_per_page;
        self.pages
            .get(&(block / self.blocks_per_page))
            .is_some_and(|page| page.present[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
    }

    /// The blocks are in the delta from now on.
    pub(super) fn mark(&mut self, first: u64, count: u64) {
        let words = self.words();
        for (number, bits) in self.masks(first, count).0 {
            let empty = || Page { present: vec![0; words].into(), durable: vec![0; words].into() };
            let page = self.pages.entry(number).or_insert_with(empty);
            for (present, bits) in page.present.iter_mut().zip(&bits) {
                self.present_blocks += u64::from((bits & !*present).count_ones());
                *present |= bits;
            }
            if page.present != page.durable {
                self.dirty.insert(number);
            }
        }
    }

    /// A range as bits.
    fn masks(&self, first: u64, count: u64) -> Snapshot {
        let mut pages = Vec::new();
        let (mut block, end) = (first, first + count);
        while block < end {
            let number = block / self.blocks_per_page;
            let page_start = number * self.blocks_per_page;
            let page_end = end.min(page_start + self.blocks_per_page);
            let mut bits = vec![0_u64; self.words()];
            for (word, bits) in bits.iter_mut().enumerate() {
                let word_start = page_start + 64 * word as u64;
                let from = block.clamp(word_start, word_start + 64) - word_start;
                let to = page_end.clamp(word_start, word_start + 64) - word_start;
                if from < to {
                    *bits = u64::MAX >> (64 - (to - from)) << from;
                }
            }
            pages.push((number, bits.into()));
            block = page_end;
        }
        Snapshot(pages)
    }

    /// All that is present and not durable.
    pub(super) fn pending(&self) -> Snapshot {
        Snapshot(
            self.dirty
                .iter()
                .map(|&number| (number, self.pages[&number].present.clone()))
                .collect(),
        )
    }

    /// What of the range is not durable, by pages; nothing else of these pages.
    pub(super) fn pending_in(&self, first: u64, count: u64) -> Snapshot {
        let mut masks = self.masks(first, count);
        self.drop_durable(&mut masks);
        masks
    }

    /// Leaves only the pages of which something is still to be made durable.
    pub(super) fn drop_durable(&self, snapshot: &mut Snapshot) {
        snapshot.0.retain(|(number, bits)| {
            let durable = self.pages.get(number).map(|page| &page.durable);
            durable.is_none_or(|durable| {
                bits.iter().zip(durable).any(|(bits, durable)| bits & !durable != 0)
            })
        });
    }

    /// What a page of the snapshot is to hold on the delta: its bits and those that are durable.
    pub(super) fn image(&self, number: u64, bits: &[u64]) -> Box<[u64]> {
        let durable = self.pages.get(&number).map(|page| &page.durable);
        bits.iter()
            .enumerate()
            .map(|(word, bits)| bits | durable.map_or(0, |durable| durable[word]))
            .collect()
    }

    /// The snapshot is on the delta.
    pub(super) fn settle(&mut self, snapshot: &Snapshot) {
        for (number, bits) in &snapshot.0 {
            let page = self.pages.get_mut(number).expect("a snapshot is of pages with bits");
            for (durable, bits) in page.durable.iter_mut().zip(bits) {
                *durable |= bits;
            }
            if page.present == page.durable {
                self.dirty.remove(number);
            }
        }
    }

    /// Offset and length, in blocks, of all that is in the delta, in order.
    pub(super) fn present_runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (&number, page) in &self.pages {
            let mut bit = 0;
            while bit < self.blocks_per_page {
                let skipped = alike(&page.present, bit, false);
                let first = number * self.blocks_per_page + bit + skipped;
                bit += skipped;
                let count =
                    if bit < self.blocks_per_page { alike(&page.present, bit, true) } else { 0 };
                bit += count;
                match runs.last_mut() {
                    _ if count == 0 => (),
                    Some((last, length)) if *last + *length == first => *length += count,
                    _ => runs.push((first, count)),
                }
            }
        }
        runs
    }
}

/// How many bits from `bit` on are `value`, up to the end.
fn alike(words: &[u64], bit: u64, value: bool) -> u64 {
    let wanted = if value { u64::MAX } else { 0 };
    let mut count = 0;
    for (number, &word) in words.iter().enumerate().skip((bit / 64) as usize) {
        let start = if number as u64 == bit / 64 { bit % 64 } else { 0 };
        let same = u64::from(((word ^ wanted) >> start).trailing_zeros()).min(64 - start);
        count += same;
        if same < 64 - start {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use reactor::Random;

    use super::*;

    const SHAPE: Shape = Shape { block_bytes: 512, size_bytes: 4 * 3904 * 512 };

    #[test]
    fn bits_are_what_a_plain_list_says() {
        for seed in 0..20 {
            let mut random = Random::with_seed(seed);
            let mut index = Index::new(SHAPE);
            let mut present = vec![false; SHAPE.blocks() as usize];
            let mut durable = present.clone();
            for _ in 0..60 {
                let first = random.u64(..SHAPE.blocks());
                let longest = if random.bool() { 70 } else { 9000 };
                let count = random.u64(1..=longest).min(SHAPE.blocks() - first);
                let range = first as usize..(first + count) as usize;
                match random.u8(..6) {
                    0 => {
                        let snapshot = index.pending();
                        index.settle(&snapshot);
                        durable.clone_from(&present);
                        assert_eq!(index.pending(), Snapshot::default(), "seed {seed}");
                    }
                    1 => {
                        index.mark(first, count);
                        present[range.clone()].fill(true);
                        let snapshot = index.pending_in(first, count);
                        let all_durable = durable[range.clone()].iter().all(|&bit| bit);
                        assert_eq!(snapshot.0.is_empty(), all_durable, "seed {seed}");
                        for (number, bits) in &snapshot.0 {
                            let image = index.image(*number, bits);
                            for bit in 0..3904 {
                                let block = (number * 3904 + bit) as usize;
                                let expected = durable[block] || range.contains(&block);
                                assert_eq!(
                                    image[bit as usize / 64] >> (bit % 64) & 1 == 1,
                                    expected,
                                    "seed {seed}, block {block}"
                                );
                            }
                        }
                        index.settle(&snapshot);
                        durable[range].fill(true);
                    }
                    2..4 => {
                        index.mark(first, count);
                        present[range].fill(true);
                    }
                    _ => {
                        let (found, length) = index.run(first, count);
                        let same = present[range]
                            .iter()
                            .take_while(|&&bit| bit == present[first as usize])
                            .count();
                        assert_eq!(
                            (found, length),
                            (present[first as usize], same as u64),
                            "seed {seed}"
                        );
                    }
                }
                assert_eq!(
                    index.present_blocks(),
                    present.iter().filter(|&&bit| bit).count() as u64,
                    "seed {seed}"
                );
            }
            let mut listed = vec![false; present.len()];
            for (first, count) in index.present_runs() {
                listed[first as usize..(first + count) as usize].fill(true);
            }
            assert_eq!(listed, present, "seed {seed}");
        }
    }
}

//! Greedy garbage collection of an SSD: what its own copies add to what the host writes.
//!
//! The state of a whole drive would be a map of every page. A scaled one goes through the same
//! states: amplification depends on the spare area and on which pages are written again, not on how
//! many there are. So the drive is divided into at most [`GROUPS`] groups of pages, and of the
//! host's bytes one write of a group is made for each group's worth of them: of random writes that
//! is a random group, of a sequential pass every group once.
//!
//! ```text
//!   host's bytes --one in n--> group --> open block | full blocks: the one with fewest valid groups
//!                                ^                  |   is emptied into the open one, when no block
//!                                +----- copies -----+   is left
//! ```

/// Most groups that a drive is divided into.
const GROUPS: u64 = 1 << 18;
/// Groups of a block: enough that a block's fate is that of many pages.
const GROUPS_OF_BLOCK: usize = 256;
/// Over how many written groups amplification is averaged.
const AVERAGED: f64 = 512.0;
/// Nowhere: never written.
const NOWHERE: u32 = u32::MAX;

/// The blocks of a drive and what they hold.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    group_bytes: u64,
    /// Where each group lies: block times groups of a block, plus place.
    at: Vec<u32>,
    /// What lies there, valid or not.
    holds: Vec<u32>,
    valid: Vec<u32>,
    free: Vec<u32>,
    open: u32,
    /// The next place in the open block.
    place: usize,
    /// Bytes since the last group's write.
    bytes: u64,
    /// Groups written for one of the host's, of late.
    amplification: f64,
}

impl Collector {
    /// A drive that was never written, with so much of its capacity beside it as spare.
    pub(super) fn new(capacity: u64, spare: f64) -> Self {
        let group_bytes = capacity.div_ceil(GROUPS).next_multiple_of(4096);
        let groups = capacity.div_ceil(group_bytes) as usize;
        let places = (groups as f64 * (1.0 + spare)).ceil() as usize;
        // One more is open.
        let blocks = (places.div_ceil(GROUPS_OF_BLOCK)).max(groups / GROUPS_OF_BLOCK + 2) + 1;
        Collector {
            group_bytes,
            at: vec![NOWHERE; groups],
            holds: vec![NOWHERE; blocks * GROUPS_OF_BLOCK],
            valid: vec![0; blocks],
            free: (1..blocks as u32).rev().collect(),
            open: 0,
            place: 0,
            bytes: 0,
            amplification: 1.0,
        }
    }

    /// What the media are written for each byte of the host's, of late.
    pub(super) fn amplification(&self) -> f64 {
        self.amplification
    }

    /// The host has written.
    pub(super) fn written(&mut self, offset: u64, length: u64) {
        let mut group = offset / self.group_bytes;
        self.bytes += length;
        while self.bytes >= self.group_bytes {
            self.bytes -= self.group_bytes;
            let copies = self.write(group as usize % self.at.len());
            group += 1;
            self.amplification += (1.0 + copies as f64 - self.amplification) / AVERAGED;
        }
    }

    /// Writes a group anew; how many were copied for it.
    fn write(&mut self, group: usize) -> usize {
        self.put(group);
        let mut copies = 0;
        while self.free.is_empty() {
            copies += self.collect();
        }
        copies
    }

    fn put(&mut self, group: usize) {
        if self.place == GROUPS_OF_BLOCK {
            self.open = self.free.pop().expect("a block is kept free");
            self.place = 0;
        }
        let old = self.at[group];
        if old != NOWHERE {
            self.valid[old as usize / GROUPS_OF_BLOCK] -= 1;
        }
        let place = self.open as usize * GROUPS_OF_BLOCK + self.place;
        self.at[group] = place as u32;
        self.holds[place] = group as u32;
        self.valid[self.open as usize] += 1;
        self.place += 1;
    }

    /// Empties the block with the fewest valid groups; how many there were.
    fn collect(&mut self) -> usize {
        let open = self.open as usize;
        let blocks = (0..self.valid.len()).filter(|block| *block != open);
        let victim = blocks.min_by_key(|block| self.valid[*block]).expect("more than one block");
        let start = victim * GROUPS_OF_BLOCK;
        let held = self.holds[start..start + GROUPS_OF_BLOCK].to_vec();
        let mut valid = Vec::new();
        for (place, group) in held.into_iter().enumerate() {
            if group != NOWHERE && self.at[group as usize] as usize == start + place {
                valid.push(group as usize);
            }
            self.holds[start + place] = NOWHERE;
        }
        let copies = valid.len();
        // It is free only once its groups are elsewhere; the open block may fill up on the way.
        self.free.push(victim as u32);
        for group in valid {
            self.put(group);
        }
        copies
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    /// Amplification in the steady state of uniform random writes, in the mean-field limit
    /// (Bux and Iliadis 2010, Desnoyers 2012): `1 / (1 - u)`, where the share `u` of a block that
    /// is still valid when its turn comes solves `u = exp(-(1 + spare) (1 - u))`.
    fn mean_field(spare: f64) -> f64 {
        let mut valid = 0.5_f64;
        for _ in 0..10_000 {
            valid = (-(1.0 + spare) * (1.0 - valid)).exp();
        }
        1.0 / (1.0 - valid)
    }

    #[test]
    fn the_steady_amplification_is_the_known_one() {
        for (spare, known) in [(0.07, 7.82), (0.15, 4.02), (0.28, 2.48)] {
            let law = mean_field(spare);
            assert!((law / known - 1.0).abs() < 0.01, "{spare}: {law}");
            let capacity = 4096 * GROUPS;
            let mut collector = Collector::new(capacity, spare);
            let mut random = Random::new(7);
            let mut write = |collector: &mut Collector, times: u64| {
                let mut copies = 0;
                for _ in 0..times {
                    copies += collector.write(random.below(GROUPS) as usize);
                }
                copies
            };
            for group in 0..GROUPS as usize {
                collector.write(group);
            }
            write(&mut collector, 6 * GROUPS);
            let times = 2 * GROUPS;
            let found = 1.0 + write(&mut collector, times) as f64 / times as f64;
            println!("spare {spare}: {found:.3}, mean field {law:.3}");
            assert!((found / law - 1.0).abs() < 0.05, "spare {spare}: {found} for {law}");
        }
    }

    #[test]
    fn what_is_written_in_order_is_never_copied() {
        let mut collector = Collector::new(1 << 30, 0.07);
        for _ in 0..4 {
            for place in 0..1 << 10 {
                collector.written(place << 20, 1 << 20);
            }
        }
        assert!(collector.amplification() < 1.001, "{}", collector.amplification());
    }
}

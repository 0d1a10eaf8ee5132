//! Changes to records: another size of device, another speed, names that say nothing.

use std::collections::HashMap;

use crate::{Record, RecordedOp};

/// Parts of a device that keep together when addresses are hidden, in bytes.
const REGION_BYTES: u64 = 64 << 20;

/// Brings requests onto a smaller device. An address is taken modulo the size, so runs and
/// distances stay as they are but for the few that cross the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    size_bytes: u64,
    /// How many requests have another address than before.
    pub folded: u64,
    /// How many of these would have crossed the end, and were moved before it.
    pub moved: u64,
    /// How many are longer than the device, and were cut to its length.
    pub shortened: u64,
}

impl Fold {
    /// Onto a device of this size, in bytes.
    #[must_use]
    pub fn new(size_bytes: u64) -> Fold {
        Fold { size_bytes: size_bytes.max(1), folded: 0, moved: 0, shortened: 0 }
    }

    /// The size of the device.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The request, within the device.
    pub fn apply(&mut self, mut record: Record) -> Record {
        if record.op == RecordedOp::Flush || record.offset + record.length <= self.size_bytes {
            return record;
        }
        self.folded += 1;
        if record.length > self.size_bytes {
            self.shortened += 1;
            record.length = self.size_bytes;
        }
        record.offset %= self.size_bytes;
        if record.offset + record.length > self.size_bytes {
            self.moved += 1;
            record.offset = self.size_bytes - record.length;
        }
        record
    }
}

/// A request in whole blocks, which holds what was asked for; whether it was not.
#[must_use]
pub fn in_blocks(record: Record, block_bytes: u64) -> (Record, bool) {
    let begin = record.offset / block_bytes * block_bytes;
    let end = (record.offset + record.length).div_ceil(block_bytes).saturating_mul(block_bytes);
    let length = end.saturating_sub(begin) / block_bytes * block_bytes;
    let changed = (begin, length) != (record.offset, record.length);
    (Record { offset: begin, length, ..record }, changed)
}

/// Hides where on a device requests go and who asks: regions of 64 MiB, and streams, are numbered
/// in the order in which they come up. Within a region runs and distances stay.
#[derive(Debug, Default)]
pub struct Anonymous {
    regions: HashMap<u64, u64>,
    streams: HashMap<u32, u32>,
}

impl Anonymous {
    /// The request, elsewhere.
    pub fn apply(&mut self, mut record: Record) -> Record {
        if record.stream != 0 {
            let next = self.streams.len() as u32 + 1;
            record.stream = *self.streams.entry(record.stream).or_insert(next);
        }
        if record.op == RecordedOp::Flush {
            return record;
        }
        // A request that reaches into the next region takes it along.
        let first = record.offset / REGION_BYTES;
        let last = (record.offset + record.length.max(1) - 1) / REGION_BYTES;
        let mut next = self.regions.len() as u64;
        for region in first..=last {
            self.regions.entry(region).or_insert_with(|| {
                next += 1;
                next - 1
            });
        }
        record.offset = self.regions[&first] * REGION_BYTES + record.offset % REGION_BYTES;
        record
    }

    /// A size that all of them are within, for a device of this size.
    #[must_use]
    pub fn size_bytes(size_bytes: u64) -> u64 {
        // One region more: a request at the end of the last may reach past it.
        (size_bytes.div_ceil(REGION_BYTES) + 1) * REGION_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(offset: u64, length: u64) -> Record {
        Record {
            time_nanoseconds: 0,
            latency_nanoseconds: None,
            op: RecordedOp::Read,
            fua: false,
            offset,
            length,
            stream: 9,
        }
    }

    #[test]
    fn folding_keeps_runs_and_says_what_it_did() {
        let mut fold = Fold::new(10_240);
        let asked =
            [(0, 512), (9728, 512), (10_240, 512), (10_752, 512), (20_000, 1024), (0, 65536)];
        let offsets = asked.map(|(offset, length)| {
            let record = fold.apply(read(offset, length));
            (record.offset, record.length)
        });
        assert_eq!(
            offsets,
            [(0, 512), (9728, 512), (0, 512), (512, 512), (9216, 1024), (0, 10_240)]
        );
        assert_eq!((fold.folded, fold.moved, fold.shortened), (4, 1, 1));
    }

    #[test]
    fn hidden_addresses_keep_runs_within_a_region() {
        let mut anonymous = Anonymous::default();
        let far = 700 * REGION_BYTES;
        let asked = [far + 4096, far + 8192, 4096, far + REGION_BYTES - 4096];
        let found = asked.map(|offset| anonymous.apply(read(offset, 8192)));
        let offsets = found.map(|record| record.offset);
        let expected = [4096, 8192, REGION_BYTES + 4096, REGION_BYTES - 4096];
        assert_eq!(offsets, expected);
        assert!(found.iter().all(|record| record.stream == 1));
    }

    #[test]
    fn blocks_hold_what_was_asked_for() {
        assert_eq!(in_blocks(read(700, 100), 512), (read(512, 512), true));
        assert_eq!(in_blocks(read(1000, 100), 512), (read(512, 1024), true));
        assert_eq!(in_blocks(read(512, 1024), 512), (read(512, 1024), false));
    }
}

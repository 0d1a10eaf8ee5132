//! Where blocks lie on the two devices.

use block::Info;

use crate::policy::Slot;

/// Write-out sends so much at a time, unless a stripe is longer.
const RUN_BYTES: u64 = 1 << 20;

/// The sizes that never change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// What is cached as a whole, in bytes.
    pub(super) block_bytes: u64,
    /// The same as a power of two.
    block_shift: u32,
    /// Size of the device below, in bytes; its last block may be shorter.
    pub(super) size_bytes: u64,
    /// Where slot 0 lies on the cache's device.
    pub(super) data_offset: u64,
    /// The longest request that each of the two takes.
    pub(super) store_max_bytes: u64,
    pub(super) lower_max_bytes: u64,
    /// How many blocks make a stripe of the device below; 1 when it has none.
    pub(super) stripe_blocks: u64,
}

impl Shape {
    pub(super) fn new(block_bytes: u64, data_offset: u64, store: &Info, lower: &Info) -> Shape {
        let optimal = u64::from(lower.optimal_bytes);
        let stripe_blocks = if optimal > block_bytes && optimal.is_multiple_of(block_bytes) {
            optimal / block_bytes
        } else {
            1
        };
        Shape {
            block_bytes,
            block_shift: block_bytes.trailing_zeros(),
            size_bytes: lower.size_bytes,
            data_offset,
            store_max_bytes: u64::from(store.max_request_bytes),
            lower_max_bytes: u64::from(lower.max_request_bytes),
            stripe_blocks,
        }
    }

    pub(super) fn blocks(&self) -> u64 {
        self.size_bytes.div_ceil(self.block_bytes)
    }

    /// The blocks that a range of at least one byte touches.
    pub(super) fn range(&self, offset: u64, length: u64) -> std::ops::Range<u64> {
        offset >> self.block_shift..((offset + length - 1) >> self.block_shift) + 1
    }

    pub(super) fn start(&self, block: u64) -> u64 {
        block * self.block_bytes
    }

    pub(super) fn end(&self, block: u64) -> u64 {
        ((block + 1) * self.block_bytes).min(self.size_bytes)
    }

    /// Where a slot's data lie on the cache's device.
    pub(super) fn slot_offset(&self, slot: Slot) -> u64 {
        self.data_offset + u64::from(slot) * self.block_bytes
    }

    /// The most blocks that are written out together.
    pub(super) fn run_blocks(&self) -> u64 {
        let most = (self.lower_max_bytes.min(self.store_max_bytes) / self.block_bytes).max(1);
        let wanted = (RUN_BYTES / self.block_bytes).max(self.stripe_blocks).min(most);
        if wanted >= self.stripe_blocks {
            wanted / self.stripe_blocks * self.stripe_blocks
        } else {
            wanted
        }
    }
}

//! Which block is in which slot, and which goes next: the one thing a cache layer asks.

use block::{Error, ErrorKind};
use words::statement;

use super::table::Table;
use super::{Eviction, Policy, PolicyKind, SLOTS_MAX, Slot};
use crate::catalogue;

/// The blocks of a cache and the order in which they leave it.
pub struct Directory {
    table: Table,
    policy: Box<dyn Policy>,
    kind: PolicyKind,
}

/// So many slots, if a directory can have that many.
pub(crate) fn check_slots(slots: u64) -> Result<u32, Error> {
    if slots == 0 {
        return Err(Error::new(ErrorKind::Invalid, catalogue::NO_BLOCK_FITS));
    }
    if slots > u64::from(SLOTS_MAX) {
        let text = statement!(catalogue::TOO_MANY_BLOCKS, count = slots, most = SLOTS_MAX);
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok(slots as u32)
}

impl Directory {
    /// A directory of `slots` free slots for a device of `blocks` blocks.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no slot at all, more than [`SLOTS_MAX`], or a device of more than
    /// 2^32 blocks: then the cache needs larger blocks.
    pub fn new(kind: PolicyKind, slots: u64, blocks: u64) -> Result<Directory, Error> {
        let slots = check_slots(slots)?;
        if blocks > 1 << 32 {
            let most = 1_u64 << 32;
            let text = statement!(catalogue::DEVICE_TOO_LARGE, count = blocks, most = most);
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        Ok(Directory { table: Table::new(slots), policy: kind.make(slots), kind })
    }

    /// Which policy it follows.
    #[must_use]
    pub fn policy(&self) -> PolicyKind {
        self.kind
    }

    /// How many slots there are.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.table.slots()
    }

    /// How many of them hold a block.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.table.used()
    }

    /// Where the block is, without counting as an access.
    #[must_use]
    pub fn find(&self, block: u64) -> Option<Slot> {
        self.table.find(block as u32)
    }

    /// The block in a slot in use.
    #[must_use]
    pub fn block(&self, slot: Slot) -> u64 {
        u64::from(self.table.key(slot))
    }

    /// The slots in use.
    pub fn in_use(&self) -> impl Iterator<Item = Slot> + '_ {
        self.table.in_use()
    }

    /// Where the block is; counts as an access.
    pub fn access(&mut self, block: u64) -> Option<Slot> {
        let slot = self.find(block)?;
        self.policy.hit(slot);
        Some(slot)
    }

    /// Gives the block, which has none, a free slot; `None` when there is none.
    pub fn insert(&mut self, block: u64) -> Option<Slot> {
        debug_assert!(self.find(block).is_none(), "block {block} has a slot already");
        let slot = self.table.insert(block as u32)?;
        self.policy.insert(slot, block as u32);
        Some(slot)
    }

    /// Puts blocks into an empty directory, by slots; false when a slot is not there or a block
    /// comes twice.
    pub fn restore(&mut self, entries: &[(Slot, u64)]) -> bool {
        let restored =
            self.table.restore(entries.iter().map(|&(slot, block)| (slot, block as u32)));
        if restored {
            entries.iter().for_each(|&(slot, block)| self.policy.insert(slot, block as u32));
        }
        restored
    }

    /// Frees the slot of the one that goes next for the sake of the block `incoming`, among those
    /// that `may_go` (not in use), and says which block it was; `None` when none may go. The time
    /// it takes grows with the number of those asked for in vain.
    pub fn evict(
        &mut self,
        incoming: u64,
        mut may_go: impl FnMut(u64) -> bool,
    ) -> Option<(Slot, u64)> {
        let table = &self.table;
        let key = |slot| table.key(slot);
        let slot = self.policy.evict(&mut Eviction {
            incoming: incoming as u32,
            key: &key,
            may_go: &mut |slot| may_go(u64::from(key(slot))),
        })?;
        let block = self.block(slot);
        self.table.remove(slot);
        Some((slot, block))
    }

    /// The block in a slot in use was accessed.
    pub fn hit(&mut self, slot: Slot) {
        self.policy.hit(slot);
    }

    /// Keeps the block in `slot`, which is not pinned, whatever comes: the policy no longer knows
    /// of it.
    pub fn pin(&mut self, slot: Slot) {
        self.policy.remove(slot);
    }

    /// Lets the policy judge the block in `slot` again, as a newcomer.
    pub fn unpin(&mut self, slot: Slot) {
        self.policy.insert(slot, self.table.key(slot));
    }

    /// Frees a slot whose block is worth nothing any more.
    pub fn remove(&mut self, slot: Slot) {
        self.policy.remove(slot);
        self.table.remove(slot);
    }

    /// Gives away no slot from `limit` on any more: those that hold a block keep it until it goes,
    /// and are not used again.
    pub fn retire(&mut self, limit: u32) {
        self.table.retire(limit);
    }

    /// Changes the number of slots, those that were retired included. Blocks keep their slots,
    /// which must all be below `slots`, and the order in which they go; what else the policy has
    /// learnt is forgotten. Pinned ones stay so.
    pub fn resize(&mut self, slots: u32) {
        let mut entries: Vec<(Slot, u32)> =
            self.table.in_use().map(|slot| (slot, self.table.key(slot))).collect();
        entries.sort_unstable();
        let mut table = Table::new(slots);
        let restored = table.restore(entries);
        debug_assert!(restored, "a block is in a slot that is to go");
        let mut policy = self.kind.make(slots);
        let key = |slot| self.table.key(slot);
        let mut all = Eviction { incoming: 0, key: &key, may_go: &mut |_| true };
        while let Some(slot) = self.policy.evict(&mut all) {
            policy.insert(slot, key(slot));
        }
        (self.table, self.policy) = (table, policy);
    }

    /// Memory in use, in bytes: all of it but a fixed few hundred.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.policy.memory_bytes()
    }
}

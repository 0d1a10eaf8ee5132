//! Lists of slots, and the numbers of 24 bits that they and the index are made of.
//!
//! ```text
//!   list   oldest <-> … <-> newest       each slot is in one list at most
//! ```

use super::Slot;

/// No slot.
pub(super) const NONE: u32 = 0x00ff_ffff;

/// An array of numbers of 24 bits.
pub(super) struct PackedNumbers(Box<[u8]>);

impl PackedNumbers {
    pub(super) fn new(count: usize) -> PackedNumbers {
        PackedNumbers(vec![0xff; 3 * count].into())
    }

    pub(super) fn get(&self, at: usize) -> u32 {
        let bytes = &self.0[3 * at..3 * at + 3];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
    }

    pub(super) fn set(&mut self, at: usize, number: u32) {
        self.0[3 * at..3 * at + 3].copy_from_slice(&number.to_le_bytes()[..3]);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.len()
    }
}

/// Bits, one a slot.
pub(crate) struct Bits(Box<[u64]>);

impl Bits {
    pub(crate) fn new(count: u32) -> Bits {
        Bits(vec![0; count.div_ceil(64) as usize].into())
    }

    /// The same for another number of slots; new ones have none set.
    pub(crate) fn resize(&mut self, count: u32) {
        let mut words = std::mem::take(&mut self.0).into_vec();
        words.resize(count.div_ceil(64) as usize, 0);
        if let Some(last) = words.last_mut().filter(|_| !count.is_multiple_of(64)) {
            *last &= (1 << (count % 64)) - 1;
        }
        self.0 = words.into();
    }

    pub(crate) fn get(&self, slot: Slot) -> bool {
        self.0[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    pub(crate) fn set(&mut self, slot: Slot, value: bool) {
        let bit = 1 << (slot % 64);
        let word = &mut self.0[slot as usize / 64];
        *word = if value { *word | bit } else { *word & !bit };
    }

    /// All that are set, in order.
    pub(crate) fn ones(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(64 * word as u32 + bit)
            })
        })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        8 * self.0.len()
    }
}

/// The two ends of one list.
#[derive(Clone, Copy)]
pub(super) struct List {
    oldest: u32,
    newest: u32,
    count: u32,
}

impl List {
    pub(super) const EMPTY: List = List { oldest: NONE, newest: NONE, count: 0 };

    pub(super) fn len(&self) -> u32 {
        self.count
    }

    pub(super) fn oldest(&self) -> Option<Slot> {
        some(self.oldest)
    }
}

/// The slot, if there is one.
pub(super) fn some(slot: u32) -> Option<Slot> {
    (slot != NONE).then_some(slot)
}

/// The links between slots.
pub(super) struct Links {
    older: PackedNumbers,
    newer: PackedNumbers,
}

impl Links {
    pub(super) fn new(slots: u32) -> Links {
        Links {
            older: PackedNumbers::new(slots as usize),
            newer: PackedNumbers::new(slots as usize),
        }
    }

    /// The next one in the order of coming.
    pub(super) fn newer(&self, slot: Slot) -> Option<Slot> {
        some(self.newer.get(slot as usize))
    }

    /// Puts the slot, which is in no list, at the newest end.
    pub(super) fn push(&mut self, list: &mut List, slot: Slot) {
        self.older.set(slot as usize, list.newest);
        self.newer.set(slot as usize, NONE);
        match some(list.newest) {
            Some(newest) => self.newer.set(newest as usize, slot),
            None => list.oldest = slot,
        }
        list.newest = slot;
        list.count += 1;
    }

    /// Takes the slot out of the list that it is in.
    pub(super) fn take(&mut self, list: &mut List, slot: Slot) {
        let (older, newer) = (self.older.get(slot as usize), self.newer.get(slot as usize));
        match some(older) {
            Some(older) => self.newer.set(older as usize, newer),
            None => list.oldest = newer,
        }
        match some(newer) {
            Some(newer) => self.older.set(newer as usize, older),
            None => list.newest = older,
        }
        list.count -= 1;
    }

    /// Makes it the newest of its list.
    pub(super) fn renew(&mut self, list: &mut List, slot: Slot) {
        self.take(list, slot);
        self.push(list, slot);
    }

    /// The oldest that may go.
    pub(super) fn first(&self, list: &List, may_go: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut at = list.oldest();
        while let Some(slot) = at {
            if may_go(slot) {
                return Some(slot);
            }
            at = self.newer(slot);
        }
        None
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.older.memory_bytes() + self.newer.memory_bytes()
    }
}

//! What reads may find, from what the owner of the channels saw and nothing else.
//!
//! Every write is remembered with the moments of its submission and of its return. Of two writes to
//! a block, the one that had returned before the other was submitted is *older*; otherwise either
//! may come first, block by block.
//!
//! ```text
//! moment      1    2    3    4    5    6    7
//! write A     [---------]                        A is older than C, not than B
//! write B          [---------]
//! write C                   [---------]
//! a read submitted at 6 may find B or C; one submitted at 3 may find A, B or C
//! ```

use std::collections::BTreeMap;

use block::{BufMut, SECTOR_BYTES};
use reactor::{Random, derive_seed};

/// What a write put into its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Sectors that name their place and the write.
    Numbered,
    Zeroes,
    /// Whatever the device likes.
    Anything,
}

struct Write {
    content: Content,
    submitted: u64,
    returned: Option<u64>,
    succeeded: bool,
    durable: bool,
}

struct Block {
    /// What it held in the beginning.
    initial: Vec<u8>,
    /// When a read's answer showed that it holds something newer.
    initial_gone: Option<u64>,
    writes: Vec<WriteId>,
    /// Those of the writes that a read's answer has ruled out, and when. A read that was under way
    /// by then may still bring them: it need not find all its blocks at one moment.
    gone: Vec<(WriteId, u64)>,
}

impl Block {
    fn gone(&self, id: WriteId) -> Option<u64> {
        self.gone.iter().find(|(gone, _)| *gone == id).map(|(_, moment)| *moment)
    }
}

pub(crate) struct Ledger {
    seed: u64,
    block_bytes: u64,
    moment: u64,
    blocks: BTreeMap<u64, Block>,
    writes: Vec<Write>,
}

/// A write that has begun: its place in the list, which is also the version in its sectors.
pub(crate) type WriteId = usize;

impl Ledger {
    pub(crate) fn new(block_bytes: u32, seed: u64) -> Ledger {
        Ledger {
            seed,
            block_bytes: u64::from(block_bytes),
            moment: 0,
            blocks: BTreeMap::new(),
            writes: Vec::new(),
        }
    }

    /// Notes what lies at `offset` before anything is written.
    pub(crate) fn learn(&mut self, offset: u64, bytes: &[u8]) {
        for (number, block) in
            (offset / self.block_bytes..).zip(bytes.chunks(self.block_bytes as usize))
        {
            self.blocks.insert(
                number,
                Block {
                    initial: block.to_vec(),
                    initial_gone: None,
                    writes: Vec::new(),
                    gone: Vec::new(),
                },
            );
        }
    }

    fn next_moment(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    /// A write about to be submitted.
    pub(crate) fn begin_write(&mut self, offset: u64, length: u64, content: Content) -> WriteId {
        let submitted = self.next_moment();
        let id = self.writes.len();
        self.writes.push(Write {
            content,
            submitted,
            returned: None,
            succeeded: false,
            durable: false,
        });
        for number in offset / self.block_bytes..(offset + length) / self.block_bytes {
            self.blocks
                .get_mut(&number)
                .expect("writes stay where the ledger has learnt what lies there")
                .writes
                .push(id);
        }
        id
    }

    /// A write's completion was returned; `durable` when it needs no flush.
    pub(crate) fn end_write(&mut self, id: WriteId, succeeded: bool, durable: bool) {
        let returned = Some(self.next_moment());
        let write = &mut self.writes[id];
        (write.returned, write.succeeded, write.durable) =
            (returned, succeeded, succeeded && durable);
    }

    /// A read or a flush about to be submitted.
    pub(crate) fn begin(&mut self) -> u64 {
        self.next_moment()
    }

    /// A flush submitted at `begun` succeeded.
    pub(crate) fn end_flush(&mut self, begun: u64) {
        for write in &mut self.writes {
            write.durable |=
                write.succeeded && write.returned.is_some_and(|returned| returned < begun);
        }
    }

    /// The bytes of the write `id` to the blocks from `offset`.
    pub(crate) fn fill(&self, id: WriteId, offset: u64, buffer: &mut BufMut) {
        let mut image = vec![0; buffer.len()];
        for (sector, bytes) in
            (offset / SECTOR_BYTES..).zip(image.chunks_mut(SECTOR_BYTES as usize))
        {
            bytes.copy_from_slice(&self.sector(id, sector));
        }
        buffer.copy_from_slice(&image);
    }

    fn sector(&self, id: WriteId, sector: u64) -> [u8; SECTOR_BYTES as usize] {
        let mut bytes = [0; SECTOR_BYTES as usize];
        Random::with_seed(derive_seed(self.seed, "sector", sector ^ (id as u64) << 40))
            .fill(&mut bytes);
        for (place, word) in bytes.chunks_mut(8).zip([self.seed, sector, id as u64]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn matches(&self, id: WriteId, number: u64, bytes: &[u8]) -> bool {
        match self.writes[id].content {
            Content::Anything => true,
            Content::Zeroes => bytes.iter().all(|&byte| byte == 0),
            Content::Numbered => (number * self.block_bytes / SECTOR_BYTES..)
                .zip(bytes.chunks(SECTOR_BYTES as usize))
                .all(|(sector, bytes)| bytes == self.sector(id, sector)),
        }
    }

    /// Whether a write to this block, of those that `counts` accepts, was submitted after
    /// `returned`.
    fn superseded(
        &self,
        block: &Block,
        returned: Option<u64>,
        counts: impl Fn(&Write) -> bool,
    ) -> bool {
        let Some(returned) = returned else { return false };
        block
            .writes
            .iter()
            .map(|&id| &self.writes[id])
            .any(|write| counts(write) && returned < write.submitted)
    }

    /// The versions that a block may hold for a reader that asked at `begun` and whose bytes these
    /// are: writes, and whether the initial one is among them.
    fn found(
        &self,
        begun: u64,
        number: u64,
        bytes: &[u8],
        counts: impl Fn(&Write) -> bool,
    ) -> (bool, Vec<WriteId>) {
        let block = &self.blocks[&number];
        let there = |gone: Option<u64>| gone.is_none_or(|gone| begun < gone);
        let initial = there(block.initial_gone)
            && block.initial == bytes
            && !self.superseded(block, Some(0), &counts);
        let writes = block.writes.iter().copied().filter(|&id| there(block.gone(id)));
        let allowed =
            writes.filter(|&id| !self.superseded(block, self.writes[id].returned, &counts));
        (initial, allowed.filter(|&id| self.matches(id, number, bytes)).collect())
    }

    /// Whether a read submitted at `begun` may find these bytes; what it found is settled for all
    /// reads from then on.
    pub(crate) fn check_read(
        &mut self,
        begun: u64,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), String> {
        let now = self.next_moment();
        let counts = |write: &Write| {
            write.succeeded && write.returned.is_some_and(|returned| returned < begun)
        };
        for (number, bytes) in
            (offset / self.block_bytes..).zip(bytes.chunks(self.block_bytes as usize))
        {
            let (initial, writes) = self.found(begun, number, bytes, counts);
            if !initial && writes.is_empty() {
                return Err(self.explain(number, bytes));
            }
            let quiet = self.blocks[&number]
                .writes
                .iter()
                .all(|&id| self.writes[id].returned.is_some_and(|returned| returned < begun));
            if quiet {
                // The order of writes that were in flight together is decided once; later reads may
                // not see another.
                let block = self.blocks.get_mut(&number).expect("found above");
                let ruled_out: Vec<WriteId> = block
                    .writes
                    .iter()
                    .copied()
                    .filter(|id| !writes.contains(id) && block.gone(*id).is_none())
                    .collect();
                block.gone.extend(ruled_out.into_iter().map(|id| (id, now)));
                if !initial {
                    block.initial_gone.get_or_insert(now);
                }
            }
        }
        Ok(())
    }

    /// Whether these bytes may lie there after a crash: nothing older than the last durable write.
    pub(crate) fn check_after_crash(
        &self,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), (&'static str, String)> {
        for (number, bytes) in
            (offset / self.block_bytes..).zip(bytes.chunks(self.block_bytes as usize))
        {
            let (initial, writes) = self.found(u64::MAX, number, bytes, |write| write.durable);
            if !initial && writes.is_empty() {
                let (any_initial, any_writes) = self.found(u64::MAX, number, bytes, |_| false);
                let rule = if any_initial || !any_writes.is_empty() { "C28" } else { "C27" };
                return Err((rule, self.explain(number, bytes)));
            }
        }
        Ok(())
    }

    /// What lies there instead, for a person.
    fn explain(&self, number: u64, bytes: &[u8]) -> String {
        let describe = |sector: &[u8]| {
            let word = |index: usize| {
                u64::from_le_bytes(
                    sector[8 * index..8 * index + 8].try_into().expect("eight bytes"),
                )
            };
            if sector.iter().all(|&byte| byte == 0) {
                "zeroes".to_owned()
            } else if word(0) != self.seed {
                "bytes nobody wrote".to_owned()
            } else if word(2) >= self.writes.len() as u64
                || sector != self.sector(word(2) as usize, word(1))
            {
                format!("a damaged sector {} of write {}", word(1), word(2))
            } else {
                format!("sector {} of write {}", word(1), word(2))
            }
        };
        let mut found: Vec<String> = bytes.chunks(SECTOR_BYTES as usize).map(describe).collect();
        found.dedup();
        found.truncate(4);
        let block = &self.blocks[&number];
        let writes: Vec<String> =
            block.writes.iter().rev().take(6).map(|&id| self.describe(id)).collect();
        let first_sector = number * self.block_bytes / SECTOR_BYTES;
        format!(
            "block {number} (sector {first_sector}) holds {}; its latest writes: {}",
            found.join(", "),
            writes.join(", ")
        )
    }

    fn describe(&self, id: WriteId) -> String {
        let Write { content, submitted, returned, succeeded, durable } = &self.writes[id];
        let returned =
            returned.map_or("in flight".to_owned(), |returned| format!("returned {returned}"));
        let end = if *succeeded || returned == "in flight" { "" } else { ", failed" };
        let durable = if *durable { ", durable" } else { "" };
        format!("{id} ({content:?}, submitted {submitted}, {returned}{end}{durable})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(512, 9);
        ledger.learn(0, &[0; 1024]);
        ledger
    }

    fn bytes(ledger: &Ledger, id: WriteId) -> Vec<u8> {
        let mut buffer = BufMut::zeroed(512);
        ledger.fill(id, 0, &mut buffer);
        buffer.as_slice().unwrap().to_vec()
    }

    #[test]
    fn the_picture_above() {
        let mut ledger = ledger();
        let a = ledger.begin_write(0, 512, Content::Numbered);
        let b = ledger.begin_write(0, 512, Content::Numbered);
        let early = ledger.begin();
        ledger.end_write(a, true, false);
        let c = ledger.begin_write(0, 512, Content::Numbered);
        ledger.end_write(b, true, false);
        ledger.end_write(c, true, false);
        let [a, b, c] = [a, b, c].map(|id| bytes(&ledger, id));
        for bytes in [&a, &b, &c, &vec![0; 512]] {
            assert!(
                ledger.check_read(early, 0, bytes).is_ok(),
                "all were under way, and the initial one may still be there"
            );
        }
        let late = ledger.begin();
        assert!(ledger.check_read(late, 0, &a).unwrap_err().contains("write 0"));
        assert!(ledger.check_read(late, 0, &[0; 512]).is_err());
        assert!(ledger.check_read(late, 0, &b).is_ok());
        let later = ledger.begin();
        assert!(ledger.check_read(later, 0, &c).is_err(), "B was found, so C came before it");
    }

    #[test]
    fn a_read_under_way_may_bring_what_a_later_one_has_ruled_out() {
        let mut ledger = ledger();
        let early = ledger.begin();
        let a = ledger.begin_write(0, 512, Content::Numbered);
        ledger.end_write(a, true, false);
        let late = ledger.begin();
        let a = bytes(&ledger, a);
        assert!(ledger.check_read(late, 0, &a).is_ok());
        assert!(
            ledger.check_read(early, 0, &[0; 512]).is_ok(),
            "it was submitted before the write"
        );
        let later = ledger.begin();
        assert!(ledger.check_read(later, 0, &[0; 512]).is_err());
    }

    #[test]
    fn a_crash_may_lose_all_but_the_durable() {
        let mut ledger = ledger();
        let a = ledger.begin_write(0, 512, Content::Numbered);
        ledger.end_write(a, true, false);
        let flush = ledger.begin();
        let b = ledger.begin_write(0, 512, Content::Zeroes);
        ledger.end_write(b, true, false);
        assert!(
            ledger.check_after_crash(0, &[0; 512]).is_ok(),
            "the flush has not ended: anything goes"
        );
        ledger.end_flush(flush);
        assert!(
            ledger.check_after_crash(0, &bytes(&ledger, a)).is_ok(),
            "the flush covers A and not B"
        );
        assert!(ledger.check_after_crash(0, &[0; 512]).is_ok(), "B may have got there");
        let flush = ledger.begin();
        ledger.end_flush(flush);
        assert_eq!(ledger.check_after_crash(0, &bytes(&ledger, a)).unwrap_err().0, "C28");
        assert_eq!(ledger.check_after_crash(512, &[1; 512]).unwrap_err().0, "C27");
    }

    #[test]
    fn a_failed_write_supersedes_nothing_and_may_be_found_until_the_next() {
        let mut ledger = ledger();
        let failed = ledger.begin_write(0, 512, Content::Numbered);
        ledger.end_write(failed, false, false);
        let moment = ledger.begin();
        assert!(ledger.check_read(moment, 0, &bytes(&ledger, failed)).is_ok());
        let next = ledger.begin_write(0, 512, Content::Zeroes);
        ledger.end_write(next, true, false);
        let moment = ledger.begin();
        assert!(ledger.check_read(moment, 0, &bytes(&ledger, failed)).is_err());
        assert!(ledger.check_read(moment, 0, &[0; 512]).is_ok());
    }
}

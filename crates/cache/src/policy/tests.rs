//! Every policy against a plain slow reading of its paper, the index against a map, and the memory
//! that all of it takes.

use std::collections::{HashMap, HashSet, VecDeque};

use reactor::Random;

use super::*;

/// A policy over plain lists of blocks, oldest first.
trait Reference {
    fn hit(&mut self, block: u32);
    fn insert(&mut self, slot: Slot, block: u32);
    fn evict(&mut self, incoming: u32, may_go: &dyn Fn(u32) -> bool) -> Option<u32>;
    fn remove(&mut self, block: u32);
}

fn take(list: &mut Vec<u32>, block: u32) -> bool {
    let at = list.iter().position(|&other| other == block);
    at.map(|at| list.remove(at)).is_some()
}

fn first(list: &[u32], may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
    list.iter().copied().find(|&block| may_go(block))
}

/// Sets of eight fingerprints, newest first.
struct SlowGhosts(Vec<VecDeque<u16>>);

impl SlowGhosts {
    fn new(blocks: u32) -> SlowGhosts {
        SlowGhosts(vec![VecDeque::new(); (blocks as usize / 8).max(1)])
    }

    fn set(&mut self, block: u32) -> (&mut VecDeque<u16>, u16) {
        let hash = hash(block);
        let set = place(hash, self.0.len());
        (&mut self.0[set], ((hash & 0xffff) as u16).max(1))
    }

    fn contains(&mut self, block: u32) -> bool {
        let (set, fingerprint) = self.set(block);
        set.contains(&fingerprint)
    }

    fn insert(&mut self, block: u32) {
        let (set, fingerprint) = self.set(block);
        set.retain(|&other| other != fingerprint);
        set.push_front(fingerprint);
        set.truncate(8);
    }

    fn remove(&mut self, block: u32) -> bool {
        let (set, fingerprint) = self.set(block);
        let before = set.len();
        set.retain(|&other| other != fingerprint);
        set.len() < before
    }

    fn len(&self) -> u32 {
        self.0.iter().map(|set| set.len() as u32).sum()
    }
}

#[derive(Default)]
struct SlowLru(Vec<u32>);

impl Reference for SlowLru {
    fn hit(&mut self, block: u32) {
        take(&mut self.0, block);
        self.0.push(block);
    }
    fn insert(&mut self, _: Slot, block: u32) {
        self.0.push(block);
    }
    fn evict(&mut self, _: u32, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        let block = first(&self.0, may_go)?;
        self.remove(block);
        Some(block)
    }
    fn remove(&mut self, block: u32) {
        take(&mut self.0, block);
    }
}

/// The blocks by slots, and whether each was accessed.
struct SlowClock(Vec<Option<(u32, bool)>>, usize);

impl Reference for SlowClock {
    fn hit(&mut self, block: u32) {
        self.0
            .iter_mut()
            .flatten()
            .filter(|entry| entry.0 == block)
            .for_each(|entry| entry.1 = true);
    }
    fn insert(&mut self, slot: Slot, block: u32) {
        self.0[slot as usize] = Some((block, false));
    }
    fn evict(&mut self, _: u32, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        for _ in 0..2 * self.0.len() {
            let at = self.1;
            self.1 = (self.1 + 1) % self.0.len();
            match self.0[at] {
                Some((block, accessed)) if may_go(block) => {
                    self.0[at] = accessed.then_some((block, false));
                    if !accessed {
                        return Some(block);
                    }
                }
                _ => (),
            }
        }
        None
    }
    fn remove(&mut self, block: u32) {
        let place = self.0.iter_mut().find(|entry| entry.is_some_and(|entry| entry.0 == block));
        *place.expect("it is there") = None;
    }
}

/// The blocks with their mark, and the index of the hand.
#[derive(Default)]
struct SlowSieve(Vec<(u32, bool)>, usize);

impl Reference for SlowSieve {
    fn hit(&mut self, block: u32) {
        self.0.iter_mut().filter(|entry| entry.0 == block).for_each(|entry| entry.1 = true);
    }
    fn insert(&mut self, _: Slot, block: u32) {
        // A hand behind the newest has gone once round and begins at the oldest.
        if self.1 >= self.0.len() {
            self.1 = 0;
        }
        self.0.push((block, false));
    }
    fn evict(&mut self, _: u32, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        for _ in 0..2 * self.0.len() {
            let at = if self.1 < self.0.len() { self.1 } else { 0 };
            let (block, visited) = self.0[at];
            self.1 = at + 1;
            if may_go(block) {
                self.0[at].1 = false;
                if !visited {
                    self.0.remove(at);
                    self.1 = at;
                    return Some(block);
                }
            }
        }
        None
    }
    fn remove(&mut self, block: u32) {
        let at = self.0.iter().position(|entry| entry.0 == block).expect("it is there");
        self.0.remove(at);
        self.1 -= usize::from(at < self.1);
    }
}

struct SlowS3 {
    slots: usize,
    small: Vec<(u32, u8)>,
    main: Vec<(u32, u8)>,
    ghosts: SlowGhosts,
}

impl SlowS3 {
    fn out_of_small(&mut self, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        let mut at = 0;
        while at < self.small.len() {
            let (block, count) = self.small[at];
            if count > 1 {
                self.small.remove(at);
                self.main.push((block, 0));
            } else if may_go(block) {
                self.small.remove(at);
                self.ghosts.insert(block);
                return Some(block);
            } else {
                at += 1;
            }
        }
        None
    }

    fn out_of_main(&mut self, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        let mut at = 0;
        while at < self.main.len() {
            let (block, count) = self.main[at];
            if count > 0 {
                self.main.remove(at);
                self.main.push((block, count - 1));
            } else if may_go(block) {
                self.main.remove(at);
                return Some(block);
            } else {
                at += 1;
            }
        }
        None
    }
}

impl Reference for SlowS3 {
    fn hit(&mut self, block: u32) {
        let entries = self.small.iter_mut().chain(&mut self.main);
        entries.filter(|entry| entry.0 == block).for_each(|entry| entry.1 = (entry.1 + 1).min(3));
    }
    fn insert(&mut self, _: Slot, block: u32) {
        if self.ghosts.remove(block) {
            self.main.push((block, 0));
        } else {
            self.small.push((block, 0));
        }
    }
    fn evict(&mut self, _: u32, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        let mut victim = None;
        if self.small.len() >= (self.slots / 10).max(1) {
            victim = self.out_of_small(may_go);
        }
        victim = victim.or_else(|| self.out_of_main(may_go));
        victim = victim.or_else(|| self.out_of_small(may_go));
        victim.or_else(|| self.out_of_main(may_go))
    }
    fn remove(&mut self, block: u32) {
        self.small.retain(|entry| entry.0 != block);
        self.main.retain(|entry| entry.0 != block);
    }
}

struct SlowTwoQ {
    slots: usize,
    incoming: Vec<u32>,
    main: Vec<u32>,
    ghosts: SlowGhosts,
}

impl Reference for SlowTwoQ {
    fn hit(&mut self, block: u32) {
        if take(&mut self.main, block) {
            self.main.push(block);
        }
    }
    fn insert(&mut self, _: Slot, block: u32) {
        if self.ghosts.remove(block) { self.main.push(block) } else { self.incoming.push(block) }
    }
    fn evict(&mut self, _: u32, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        let (new, old) = (first(&self.incoming, may_go), first(&self.main, may_go));
        let block =
            if self.incoming.len() > (self.slots / 4).max(1) { new.or(old) } else { old.or(new) }?;
        if take(&mut self.incoming, block) {
            self.ghosts.insert(block);
        } else {
            take(&mut self.main, block);
        }
        Some(block)
    }
    fn remove(&mut self, block: u32) {
        take(&mut self.incoming, block);
        take(&mut self.main, block);
    }
}

struct SlowArc {
    slots: u32,
    target: u32,
    recent: Vec<u32>,
    frequent: Vec<u32>,
    recent_ghosts: SlowGhosts,
    frequent_ghosts: SlowGhosts,
}

impl Reference for SlowArc {
    fn hit(&mut self, block: u32) {
        self.remove(block);
        self.frequent.push(block);
    }
    fn insert(&mut self, _: Slot, block: u32) {
        let ratio = |one: u32, other: u32| (one.max(1) / other.max(1)).max(1);
        let (recent, frequent) = (self.recent_ghosts.len(), self.frequent_ghosts.len());
        if self.recent_ghosts.remove(block) {
            self.target = self.slots.min(self.target + ratio(frequent, recent));
            self.frequent.push(block);
        } else if self.frequent_ghosts.remove(block) {
            self.target -= self.target.min(ratio(recent, frequent));
            self.frequent.push(block);
        } else {
            self.recent.push(block);
        }
    }
    fn evict(&mut self, incoming: u32, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        let count = self.recent.len() as u32;
        let from_recent = count > self.target
            || (self.frequent_ghosts.contains(incoming) && count == self.target);
        let (recent, frequent) = (first(&self.recent, may_go), first(&self.frequent, may_go));
        let block = if from_recent { recent.or(frequent) } else { frequent.or(recent) }?;
        if take(&mut self.recent, block) {
            self.recent_ghosts.insert(block);
        } else {
            take(&mut self.frequent, block);
            self.frequent_ghosts.insert(block);
        }
        Some(block)
    }
    fn remove(&mut self, block: u32) {
        take(&mut self.recent, block);
        take(&mut self.frequent, block);
    }
}

/// Block, accesses, and when it got that count.
#[derive(Default)]
struct SlowLfu(Vec<(u32, u8, u64)>, u64);

impl Reference for SlowLfu {
    fn hit(&mut self, block: u32) {
        self.1 += 1;
        let now = self.1;
        self.0
            .iter_mut()
            .filter(|entry| entry.0 == block)
            .for_each(|entry| (entry.1, entry.2) = (entry.1.saturating_add(1), now));
    }
    fn insert(&mut self, _: Slot, block: u32) {
        self.1 += 1;
        self.0.push((block, 1, self.1));
    }
    fn evict(&mut self, _: u32, may_go: &dyn Fn(u32) -> bool) -> Option<u32> {
        let block =
            self.0.iter().filter(|entry| may_go(entry.0)).min_by_key(|entry| (entry.1, entry.2))?.0;
        self.remove(block);
        Some(block)
    }
    fn remove(&mut self, block: u32) {
        self.0.retain(|entry| entry.0 != block);
    }
}

fn reference(kind: PolicyKind, slots: u32) -> Box<dyn Reference> {
    let count = slots as usize;
    match kind {
        PolicyKind::S3Fifo => Box::new(SlowS3 {
            slots: count,
            small: vec![],
            main: vec![],
            ghosts: SlowGhosts::new(slots / 8 * 5),
        }),
        PolicyKind::Sieve => Box::new(SlowSieve::default()),
        PolicyKind::Lru => Box::new(SlowLru::default()),
        PolicyKind::Clock => Box::new(SlowClock(vec![None; count], 0)),
        PolicyKind::TwoQ => Box::new(SlowTwoQ {
            slots: count,
            incoming: vec![],
            main: vec![],
            ghosts: SlowGhosts::new(slots / 2),
        }),
        PolicyKind::Arc => Box::new(SlowArc {
            slots,
            target: 0,
            recent: vec![],
            frequent: vec![],
            recent_ghosts: SlowGhosts::new(slots / 8 * 3),
            frequent_ghosts: SlowGhosts::new(slots / 8 * 3),
        }),
        PolicyKind::Lfu => Box::new(SlowLfu::default()),
    }
}

/// Random accesses, with blocks that may not go and blocks that are thrown out. Returns the first
/// difference.
fn compare(kind: PolicyKind, mut slow: Box<dyn Reference>, seed: u64) -> Result<(), String> {
    let mut random = Random::with_seed(seed);
    let slots = slots_of_seed(seed);
    let mut directory = Directory::new(kind, u64::from(slots), 1 << 32).expect("a few slots");
    let mut map: HashMap<u32, Slot> = HashMap::new();
    let mut stuck: HashSet<u32> = HashSet::new();
    let spread = random.u32(2..5) * slots;
    for step in 0..3000 {
        let differs = |what: String| Err(format!("{kind}, seed {seed}, step {step}: {what}"));
        // The smaller of two: low blocks come more often. The stride makes them meet in the index.
        let block = random.u32(..spread).min(random.u32(..spread)).wrapping_mul(0x0101_0101);
        if random.u8(..40) == 0 {
            let mut blocks: Vec<u32> = map.keys().copied().collect();
            blocks.sort_unstable();
            stuck = blocks.into_iter().filter(|_| random.u8(..3) == 0).collect();
        }
        if random.u8(..30) == 0 {
            if let Some(slot) = map.remove(&block) {
                directory.remove(slot);
                slow.remove(block);
                stuck.remove(&block);
            }
            continue;
        }
        let found = directory.access(u64::from(block));
        if found != map.get(&block).copied() {
            return differs(format!(
                "block {block} is in {found:?}, and in truth in {:?}",
                map.get(&block)
            ));
        }
        if found.is_some() {
            slow.hit(block);
            continue;
        }
        if map.len() == slots as usize {
            let evicted =
                directory.evict(u64::from(block), |block| !stuck.contains(&(block as u32)));
            let expected = slow.evict(block, &|block| !stuck.contains(&block));
            if evicted.map(|(_, block)| block as u32) != expected {
                return differs(format!("{evicted:?} went instead of {expected:?}"));
            }
            let Some((slot, gone)) = evicted else { continue };
            assert_eq!(map.remove(&(gone as u32)), Some(slot));
        }
        let slot = directory.insert(u64::from(block)).expect("there is room");
        assert_eq!(directory.block(slot), u64::from(block));
        slow.insert(slot, block);
        assert!(
            map.insert(block, slot).is_none()
                && map.values().filter(|&&other| other == slot).count() == 1
        );
        assert_eq!(directory.used() as usize, map.len());
    }
    Ok(())
}

fn slots_of_seed(seed: u64) -> u32 {
    Random::with_seed(seed).u32(1..=80)
}

#[test]
fn every_policy_does_what_its_paper_says() {
    for kind in PolicyKind::ALL {
        for seed in 0..60 {
            compare(kind, reference(kind, slots_of_seed(seed)), seed)
                .unwrap_or_else(|difference| panic!("{difference}"));
        }
    }
}

#[test]
fn and_no_policy_passes_for_another() {
    for kind in PolicyKind::ALL {
        for other in PolicyKind::ALL.into_iter().filter(|&other| other != kind) {
            let found = (0..4).filter(|&seed| {
                compare(kind, reference(other, slots_of_seed(seed)), seed).is_err()
            });
            assert!(found.count() > 0, "{kind} taken for {other}: the comparison sees nothing");
        }
    }
}

/// Keys and index take 7.75 bytes a slot; a pair of links 6, a ghost 2, an LFU count 1, marks their
/// bits.
#[test]
fn a_cached_block_costs_at_most_sixteen_bytes() {
    let slots = 1 << 20;
    for kind in PolicyKind::ALL {
        let directory = Directory::new(kind, slots, 1 << 32).expect("a directory");
        let each = directory.memory_bytes() as f64 / slots as f64;
        let expected = match kind {
            PolicyKind::S3Fifo => 7.75 + 6.0 + 3.0 / 8.0 + 2.0 * 5.0 / 8.0,
            PolicyKind::Sieve => 7.75 + 6.0 + 1.0 / 8.0,
            PolicyKind::Lru => 7.75 + 6.0,
            PolicyKind::Clock => 7.75 + 2.0 / 8.0,
            PolicyKind::TwoQ => 7.75 + 6.0 + 1.0 / 8.0 + 2.0 / 2.0,
            PolicyKind::Arc => 7.75 + 6.0 + 1.0 / 8.0 + 2.0 * 6.0 / 8.0,
            PolicyKind::Lfu => 7.75 + 6.0 + 1.0,
        };
        assert!(
            (each - expected).abs() < 0.01,
            "{kind}: {each} bytes a slot instead of {expected}"
        );
        assert!(each <= POLICY_BYTES_PER_SLOT, "{kind}: {each} bytes a slot");
    }
    let admission = Admission::new(
        AdmissionOptions { promote_after: 3, ..AdmissionOptions::default() },
        slots as u32,
    );
    assert_eq!(admission.memory_bytes() as u64, slots / 4);
}

#[test]
fn what_cannot_be_kept_track_of_is_refused() {
    for (slots, blocks) in [(0, 10), (1 << 24, 1 << 30), (10, (1 << 32) + 1)] {
        assert!(
            Directory::new(PolicyKind::Lru, slots, blocks).is_err(),
            "{slots} slots, {blocks} blocks"
        );
    }
    let mut directory = Directory::new(PolicyKind::Lru, 1, 1 << 32).expect("one slot");
    assert_eq!(directory.insert(u64::from(u32::MAX)), Some(0));
    assert_eq!((directory.insert(0), directory.find(u64::from(u32::MAX))), (None, Some(0)));
}

#[test]
fn long_runs_stay_outside_and_others_do_not() {
    let options =
        AdmissionOptions { sequential_cutoff_bytes: Some(64 << 10), ..AdmissionOptions::default() };
    let mut admission = Admission::new(options, 100);
    let mut random = Random::with_seed(3);
    // Two runs at once, with random requests between them.
    for step in 0..40_u64 {
        for start in [0, 1 << 40] {
            assert_eq!(
                admission.request(start + step * 4096, 4096),
                step >= 16,
                "step {step} from {start}"
            );
        }
        assert!(!admission.request(random.u64(1 << 20..1 << 30) << 9, 4096));
    }
    assert!(!Admission::new(AdmissionOptions::default(), 100).request(0, 1 << 30), "no cut-off");
    assert!(
        Admission::new(options, 100).request(0, 1 << 20),
        "one request that is longer than the cut-off"
    );
}

#[test]
fn a_block_comes_in_at_the_access_that_was_asked_for() {
    for promote_after in 1..=15 {
        let options = AdmissionOptions { promote_after, ..AdmissionOptions::default() };
        let mut admission = Admission::new(options, 4096);
        for block in 0..100 {
            for access in 1..=2 * promote_after {
                assert_eq!(
                    admission.miss(block),
                    access % promote_after == 0,
                    "block {block}, access {access} of {promote_after}"
                );
            }
        }
    }
}

#[test]
fn a_directory_that_changes_its_size_keeps_its_blocks_and_their_order() {
    for kind in PolicyKind::ALL {
        for slots in [40, 100] {
            let mut random = Random::with_seed(7);
            let mut directory = Directory::new(kind, 64, 1 << 20).unwrap();
            let blocks: Vec<u64> = (0..64).map(|number| 1000 + 13 * number).collect();
            blocks.iter().for_each(|&block| assert!(directory.insert(block).is_some()));
            (0..200).for_each(|_| assert!(directory.access(blocks[random.usize(..64)]).is_some()));
            directory.retire(slots);
            for &block in &blocks {
                let slot = directory.find(block).unwrap();
                if slot >= slots {
                    directory.remove(slot);
                }
            }
            let pinned = directory.find(blocks[5]).unwrap();
            directory.pin(pinned);
            let kept: Vec<(u64, Slot)> =
                blocks.iter().filter_map(|&block| Some((block, directory.find(block)?))).collect();
            assert_eq!(kept.len(), slots.min(64) as usize, "{kind}");
            assert_eq!(
                directory.insert(7),
                if slots < 64 { None } else { directory.find(7) },
                "{kind}: a slot that is retired"
            );
            directory.find(7).into_iter().for_each(|slot| directory.remove(slot));

            directory.resize(slots);
            assert_eq!((directory.slots(), directory.used()), (slots, kept.len() as u32), "{kind}");
            kept.iter().for_each(|&(block, slot)| {
                assert_eq!(directory.find(block), Some(slot), "{kind}: block {block}");
            });
            // All leave but the pinned one, and everything is free for others.
            let mut gone = HashSet::new();
            while let Some((_, block)) = directory.evict(0, |_| true) {
                assert!(gone.insert(block), "{kind}");
            }
            assert_eq!((gone.len() + 1, gone.contains(&blocks[5])), (kept.len(), false), "{kind}");
            (0..u64::from(slots) - 1).for_each(|block| {
                assert!(directory.insert(block).is_some_and(|slot| slot < slots), "{kind}");
            });
            assert_eq!(directory.insert(5000), None, "{kind}");
        }
    }
    let mut directory = Directory::new(PolicyKind::Lru, 8, 100).unwrap();
    (0..8).for_each(|block| assert!(directory.insert(block).is_some()));
    [3, 0, 5].iter().for_each(|&block| assert!(directory.access(block).is_some()));
    directory.resize(20);
    let order: Vec<u64> =
        std::iter::from_fn(|| directory.evict(0, |_| true)).map(|(_, block)| block).collect();
    assert_eq!(order, [1, 2, 4, 6, 7, 3, 0, 5]);
}

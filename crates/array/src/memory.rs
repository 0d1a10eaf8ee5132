//! The buffers of one piece under way: the host's part and the scratch buffers of its plan.
//!
//! For a read, ranges are lent to commands and come back in any order; put together again they are
//! the buffer as it was:
//!
//! ```text
//!   store      |==========================|
//!   fragments  |kept|--lent--|--lent--|kept|
//! ```

use std::collections::VecDeque;

use block::{Buf, BufMut, SECTOR_BYTES};

use crate::parity::{self, Block, Kernel, SLICE_BYTES};
use crate::{ByteSite, Computation};

/// How much scratch a channel keeps for later plans.
const POOL_BYTES: u64 = 32 << 20;
/// Sources of parity that most arrays get by with.
const FEW_SOURCES: usize = 16;
/// A source of parity that is nothing but zeroes.
static ZEROES: [u8; SLICE_BYTES] = [0; SLICE_BYTES];

/// The end of a chain of fragments.
pub(crate) const NO_FRAGMENT: u32 = u32::MAX;

/// Scratch buffers kept for later plans.
#[derive(Default)]
pub(crate) struct Pool {
    /// The latest is the last: what plans asked for lately they ask for again.
    buffers: VecDeque<BufMut>,
    bytes: u64,
}

impl Pool {
    fn take(&mut self, length: u64) -> BufMut {
        let kept = self.buffers.iter().rposition(|buffer| buffer.len() as u64 == length);
        match kept.and_then(|index| self.buffers.swap_remove_back(index)) {
            Some(buffer) => {
                self.bytes -= length;
                buffer
            }
            None => BufMut::zeroed(usize::try_from(length).expect("scratch fits in memory")),
        }
    }

    fn give(&mut self, buffer: BufMut) {
        self.bytes += buffer.len() as u64;
        self.buffers.push_back(buffer);
        while self.bytes > POOL_BYTES
            && let Some(oldest) = self.buffers.pop_front()
        {
            self.bytes -= oldest.len() as u64;
        }
    }
}

/// One buffer, in whatever state it is.
enum BufferSlot {
    Nothing,
    Own(BufMut),
    Frozen(Buf),
}

struct Store {
    held: BufferSlot,
    length: u64,
    /// Where `held` begins; what is before it lies in fragments.
    position: u64,
    /// What was never lent, while the rest is put together.
    tail: BufferSlot,
}

impl Store {
    fn new(held: BufferSlot, length: u64) -> Store {
        Store { held, length, position: 0, tail: BufferSlot::Nothing }
    }

    fn append(&mut self, data: BufMut) {
        match &mut self.held {
            BufferSlot::Own(joined) => joined.append(data),
            held => *held = BufferSlot::Own(data),
        }
    }
}

struct Fragment {
    store: usize,
    data: Option<BufMut>,
    length: u64,
    /// The next fragment of the same command.
    next: u32,
}

/// A sector in which what was compared does not agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    /// How many bytes after the beginning of what was compared.
    pub(crate) at: u64,
    /// The buffer that is known to be wrong, and was put right.
    pub(crate) wrong: Option<ByteSite>,
}

/// All buffers of a piece. Store 0 is the host's, the others are scratch.
#[derive(Default)]
pub(crate) struct Memory {
    stores: Vec<Store>,
    fragments: Vec<Fragment>,
    /// Where the part that is planned now starts in the host's buffer, in bytes.
    pub(crate) host_start: u64,
}

impl Memory {
    /// Starts with the host's buffer for this piece.
    pub(crate) fn start(&mut self, buffer: HostBuffer) {
        let (held, length) = match buffer {
            HostBuffer::Nothing => (BufferSlot::Nothing, 0),
            HostBuffer::Read(buffer) => {
                let length = buffer.len() as u64;
                (BufferSlot::Own(buffer), length)
            }
            HostBuffer::Write(buffer) => {
                let length = buffer.len() as u64;
                (BufferSlot::Frozen(buffer), length)
            }
        };
        self.stores.clear();
        self.stores.push(Store::new(held, length));
        self.host_start = 0;
    }

    /// The host's buffer again, at the end of the piece.
    pub(crate) fn finish(&mut self) -> HostBuffer {
        match std::mem::replace(&mut self.stores[0].held, BufferSlot::Nothing) {
            BufferSlot::Nothing => HostBuffer::Nothing,
            BufferSlot::Own(buffer) => HostBuffer::Read(buffer),
            BufferSlot::Frozen(buffer) => HostBuffer::Write(buffer),
        }
    }

    /// Makes the scratch buffers of a plan.
    pub(crate) fn add_scratch(&mut self, lengths: &[u64], pool: &mut Pool) {
        self.stores.extend(
            lengths.iter().map(|&length| Store::new(BufferSlot::Own(pool.take(length)), length)),
        );
    }

    /// Gives the scratch buffers to the pool.
    pub(crate) fn drop_scratch(&mut self, pool: &mut Pool) {
        for store in self.stores.drain(1..) {
            match store.held {
                BufferSlot::Own(buffer) => pool.give(buffer),
                BufferSlot::Frozen(buffer) => {
                    if let Ok(buffer) = buffer.try_mut() {
                        pool.give(buffer);
                    }
                }
                BufferSlot::Nothing => (),
            }
        }
    }

    fn spot(&self, place: ByteSite) -> (usize, u64) {
        match place {
            ByteSite::Host { start } => (0, self.host_start + start),
            ByteSite::Scratch { buffer, start } => (buffer + 1, start),
        }
    }

    /// Lends a range to a command that fills it. `after` is the command's last fragment so far.
    pub(crate) fn lend(&mut self, place: ByteSite, length: u64, after: u32) -> (BufMut, u32) {
        let (index, start) = self.spot(place);
        let store = &mut self.stores[index];
        let BufferSlot::Own(mut rest) = std::mem::replace(&mut store.held, BufferSlot::Nothing)
        else {
            panic!("a plan reads into a write's buffer, or twice into the same bytes")
        };
        assert!(start >= store.position, "a plan's reads go into a buffer in ascending order");
        let gap = start - store.position;
        if gap > 0 {
            let data = Some(rest.split_to(gap as usize));
            self.fragments.push(Fragment { store: index, data, length: gap, next: NO_FRAGMENT });
        }
        store.position = start + length;
        let data = if store.position < store.length {
            let data = rest.split_to(length as usize);
            store.held = BufferSlot::Own(rest);
            data
        } else {
            rest
        };
        let fragment =
            u32::try_from(self.fragments.len()).expect("a request has fewer than 2^32 parts");
        self.fragments.push(Fragment { store: index, data: None, length, next: NO_FRAGMENT });
        if after != NO_FRAGMENT {
            self.fragments[after as usize].next = fragment;
        }
        (data, fragment)
    }

    /// Takes a command's buffer back; `first` is its first fragment.
    pub(crate) fn give_back(&mut self, first: u32, mut buffer: BufMut) {
        let mut at = first;
        while at != NO_FRAGMENT {
            let fragment = &mut self.fragments[at as usize];
            at = fragment.next;
            if at == NO_FRAGMENT {
                fragment.data = Some(buffer);
                return;
            }
            fragment.data = Some(buffer.split_to(fragment.length as usize));
        }
    }

    /// Puts all buffers together again once nothing is lent any more.
    pub(crate) fn rejoin(&mut self) {
        if self.fragments.is_empty() {
            return;
        }
        for store in &mut self.stores {
            if store.position > 0 {
                store.position = 0;
                store.tail = std::mem::replace(&mut store.held, BufferSlot::Nothing);
            }
        }
        for fragment in self.fragments.drain(..) {
            self.stores[fragment.store].append(fragment.data.expect("nothing is lent any more"));
        }
        for store in &mut self.stores {
            if let BufferSlot::Own(tail) = std::mem::replace(&mut store.tail, BufferSlot::Nothing) {
                store.append(tail);
            }
        }
    }

    /// No computation changes the scratch buffers any more.
    pub(crate) fn freeze_scratch(&mut self) {
        for store in &mut self.stores[1..] {
            if let BufferSlot::Own(buffer) = std::mem::replace(&mut store.held, BufferSlot::Nothing)
            {
                store.held = BufferSlot::Frozen(buffer.freeze());
            }
        }
    }

    /// The bytes of a scratch buffer, while it is computed.
    pub(crate) fn scratch_mut(&mut self, buffer: usize) -> &mut [u8] {
        match &mut self.stores[buffer + 1].held {
            BufferSlot::Own(buffer) => buffer.as_mut_slice().expect("scratch lies in one piece"),
            _ => panic!("a plan computes into a buffer that it has lent"),
        }
    }

    /// The bytes of a range, to be written.
    pub(crate) fn share(&self, place: ByteSite, length: u64) -> Buf {
        let (index, start) = self.spot(place);
        let store = &self.stores[index];
        let BufferSlot::Frozen(buffer) = &store.held else {
            panic!("a plan writes from a read's buffer")
        };
        let mut range = buffer.clone();
        if start > 0 {
            let _ = range.split_to(start as usize);
        }
        if start + length < store.length { range.split_to(length as usize) } else { range }
    }

    /// Runs one step of a plan with these sources of parity, and adds what it found to differ.
    pub(crate) fn compute(
        &mut self,
        step: Computation,
        sources: &[Option<ByteSite>],
        found: &mut Vec<Difference>,
    ) {
        let kernel = parity::fastest();
        match step {
            Computation::Compare { one, other, length } => self.compare(one, other, length, found),
            Computation::Locate { first, count, p, q, expected_p, expected_q, length } => {
                let sources = &sources[first..first + count];
                self.locate([(p, expected_p), (q, expected_q)], sources, length, found);
            }
            Computation::Vote { first, count, length } => {
                self.vote(&sources[first..first + count], length, found);
            }
            Computation::Zero { into, length } => {
                self.on_target(into, length, |_, target| target.fill(0));
            }
            Computation::Copy { from, into, length } => {
                self.with_source(from, into, length, |source, target| {
                    target.copy_from_slice(source);
                });
            }
            Computation::Xor { from, into, length } => {
                self.with_source(from, into, length, |source, target| {
                    (kernel.xor)(target, &[source]);
                });
            }
            Computation::MultiplyXor { coefficient, from, into, length } => {
                self.with_source(from, into, length, |source, target| {
                    kernel.multiply_add(coefficient, source, target);
                });
            }
            Computation::Scale { coefficient, into, length } => {
                self.on_target(into, length, |_, target| {
                    target.slices_mut().for_each(|slice| kernel.scale(coefficient, slice));
                });
            }
            Computation::Parity { first, count, p, q, length } => {
                self.parity(kernel, &sources[first..first + count], p, q, length);
            }
        }
    }

    fn compare(&self, one: ByteSite, other: ByteSite, length: u64, found: &mut Vec<Difference>) {
        let differing =
            sectors(length).filter(|&at| self.sector(one, at) != self.sector(other, at));
        found.extend(differing.map(|at| Difference { at, wrong: None }));
    }

    /// Compares `(held, expected)` of P and of Q, and puts the data block or parity right that is
    /// wrong.
    fn locate(
        &mut self,
        [(p, expected_p), (q, expected_q)]: [(ByteSite, ByteSite); 2],
        sources: &[Option<ByteSite>],
        length: u64,
        found: &mut Vec<Difference>,
    ) {
        for at in sectors(length) {
            let [p_now, p_then] = [p, expected_p].map(|place| self.sector(place, at));
            let [q_now, q_then] = [q, expected_q].map(|place| self.sector(place, at));
            if p_now == p_then && q_now == q_then {
                continue;
            }
            let block = parity::locate(p_now, p_then, q_now, q_then);
            let wrong = match block {
                Some(Block::P) => Some(p),
                Some(Block::Q) => Some(q),
                Some(Block::Data { exponent }) => sources.get(exponent).copied().flatten(),
                None => None,
            };
            found.push(Difference { at, wrong });
            match (block, wrong) {
                (Some(Block::P), _) => self.copy_sector(expected_p, p, at),
                (Some(Block::Q), _) => self.copy_sector(expected_q, q, at),
                // It is off by as much as P is.
                (_, Some(data)) => {
                    for parity in [p, expected_p] {
                        self.with_source(
                            parity.after(at),
                            data.after(at),
                            SECTOR_BYTES,
                            |off, data| (parity::fastest().xor)(data, &[off]),
                        );
                    }
                }
                _ => (),
            }
        }
    }

    fn vote(&mut self, copies: &[Option<ByteSite>], length: u64, found: &mut Vec<Difference>) {
        let copies: Vec<ByteSite> = copies.iter().copied().flatten().collect();
        let Some((&first, others)) = copies.split_first() else { return };
        for at in sectors(length) {
            let bytes = self.sector(first, at);
            if others.iter().all(|&other| self.sector(other, at) == bytes) {
                continue;
            }
            let is_most = |&&copy: &&ByteSite| {
                let bytes = self.sector(copy, at);
                let same = copies.iter().filter(|&&other| self.sector(other, at) == bytes);
                2 * same.count() > copies.len()
            };
            let Some(&right) = copies.iter().find(is_most) else {
                found.push(Difference { at, wrong: None });
                continue;
            };
            for &copy in &copies {
                if self.sector(copy, at) != self.sector(right, at) {
                    found.push(Difference { at, wrong: Some(copy) });
                    self.copy_sector(right, copy, at);
                }
            }
        }
    }

    fn sector(&self, place: ByteSite, at: u64) -> &[u8] {
        &self.run(place, at)[..SECTOR_BYTES as usize]
    }

    fn copy_sector(&mut self, from: ByteSite, into: ByteSite, at: u64) {
        self.with_source(from.after(at), into.after(at), SECTOR_BYTES, |from, into| {
            into.copy_from_slice(from);
        });
    }

    fn parity(
        &mut self,
        kernel: &Kernel,
        sources: &[Option<ByteSite>],
        p: ByteSite,
        q: Option<ByteSite>,
        length: u64,
    ) {
        let mut p = self.take_target(p);
        let mut q = q.map(|q| self.take_target(q));
        // Room for the largest array would take longer to clear than a small write to be computed.
        let (mut few, mut many): ([&[u8]; FEW_SOURCES], Vec<&[u8]>) =
            ([&[]; FEW_SOURCES], Vec::new());
        let slices = if sources.len() <= FEW_SOURCES {
            &mut few[..sources.len()]
        } else {
            many.resize(sources.len(), &[]);
            &mut many[..]
        };
        let mut at = 0;
        while at < length {
            let mut now = SLICE_BYTES.min((length - at) as usize);
            for (slice, source) in slices.iter_mut().zip(sources) {
                *slice = source.map_or(&ZEROES[..], |place| self.run(place, at));
                now = now.min(slice.len());
            }
            slices.iter_mut().for_each(|slice| *slice = &slice[..now]);
            let p = p.slice(at, now);
            match &mut q {
                Some(q) => (kernel.pq)(slices, p, q.slice(at, now)),
                None => (kernel.sum)(p, slices),
            }
            at += now as u64;
        }
        for target in [Some(p), q].into_iter().flatten() {
            self.stores[target.index].held = BufferSlot::Own(target.buffer);
        }
    }

    /// Takes a scratch buffer out, so that others can be read meanwhile.
    fn take_target(&mut self, place: ByteSite) -> Target {
        let (index, start) = self.spot(place);
        let BufferSlot::Own(buffer) =
            std::mem::replace(&mut self.stores[index].held, BufferSlot::Nothing)
        else {
            panic!("a plan computes parity into a buffer that it has not got")
        };
        Target { index, start, buffer }
    }

    /// The bytes from `at` of a source on, as far as they lie in one piece.
    fn run(&self, place: ByteSite, at: u64) -> &[u8] {
        let (index, start) = self.spot(place);
        let mut skip = (start + at) as usize;
        let mut reaches = |slice: &[u8]| {
            let here = skip < slice.len();
            skip -= if here { 0 } else { slice.len() };
            here
        };
        let slice = match &self.stores[index].held {
            BufferSlot::Own(buffer) => buffer.slices().find(|slice| reaches(slice)),
            BufferSlot::Frozen(buffer) => buffer.slices().find(|slice| reaches(slice)),
            BufferSlot::Nothing => {
                panic!("a plan computes parity from a buffer that it has not got")
            }
        };
        &slice.expect("a plan's range is within its buffer")[skip..]
    }

    /// Cuts the target out of its buffer, so that the rest can be read meanwhile.
    fn on_target(&mut self, into: ByteSite, length: u64, work: impl FnOnce(&Cut<'_>, &mut BufMut)) {
        let (index, start) = self.spot(into);
        let BufferSlot::Own(mut back) =
            std::mem::replace(&mut self.stores[index].held, BufferSlot::Nothing)
        else {
            panic!("a plan computes into a write's buffer")
        };
        let mut front = back.split_to(start as usize);
        let mut target = back.split_to(length as usize);
        work(&Cut { memory: self, index, start, front: &front, back: &back }, &mut target);
        front.append(target);
        front.append(back);
        self.stores[index].held = BufferSlot::Own(front);
    }

    fn with_source(
        &mut self,
        from: ByteSite,
        into: ByteSite,
        length: u64,
        work: impl Fn(&[u8], &mut [u8]),
    ) {
        let (source_index, source_start) = self.spot(from);
        let (target_index, _) = self.spot(into);
        if target_index > 0 && target_index != source_index {
            let mut target = self.take_target(into);
            let mut at = 0;
            while at < length {
                let source = self.run(from, at);
                let now = source.len().min((length - at) as usize);
                work(&source[..now], target.slice(at, now));
                at += now as u64;
            }
            self.stores[target.index].held = BufferSlot::Own(target.buffer);
            return;
        }
        self.on_target(into, length, |cut, target| {
            let mut targets = target.slices_mut();
            let mut target: &mut [u8] = &mut [];
            cut.each_slice(source_index, source_start, length, |mut source| {
                while !source.is_empty() {
                    if target.is_empty() {
                        target = targets.next().expect("source and target are of one length");
                    }
                    let now = source.len().min(target.len());
                    let (done, left) = std::mem::take(&mut target).split_at_mut(now);
                    work(&source[..now], done);
                    target = left;
                    source = &source[now..];
                }
            });
        });
    }
}

/// A scratch buffer that parity is computed into.
struct Target {
    index: usize,
    start: u64,
    buffer: BufMut,
}

impl Target {
    fn slice(&mut self, at: u64, length: usize) -> &mut [u8] {
        let start = (self.start + at) as usize;
        &mut self.buffer.as_mut_slice().expect("scratch lies in one piece")[start..start + length]
    }
}

/// The buffers while a target is cut out of one of them.
struct Cut<'a> {
    memory: &'a Memory,
    index: usize,
    start: u64,
    front: &'a BufMut,
    back: &'a BufMut,
}

impl Cut<'_> {
    /// Visits the bytes of a range, in order, as the slices they lie in.
    fn each_slice(&self, index: usize, start: u64, length: u64, visit: impl FnMut(&[u8])) {
        let store = &self.memory.stores[index];
        if index != self.index {
            match &store.held {
                BufferSlot::Own(buffer) => window(buffer.slices(), start, length, visit),
                BufferSlot::Frozen(buffer) => window(buffer.slices(), start, length, visit),
                BufferSlot::Nothing => panic!("a plan computes from a buffer that it has not got"),
            }
        } else if start + length <= self.start {
            window(self.front.slices(), start, length, visit);
        } else {
            let back_start = store.length - self.back.len() as u64;
            assert!(start >= back_start, "a source does not overlap its target");
            window(self.back.slices(), start - back_start, length, visit);
        }
    }
}

/// Where each sector of so many bytes begins.
fn sectors(length: u64) -> impl Iterator<Item = u64> {
    (0..length).step_by(SECTOR_BYTES as usize)
}

/// Visits `length` bytes from `start` of bytes that lie in several slices.
fn window<'a>(
    slices: impl Iterator<Item = &'a [u8]>,
    start: u64,
    length: u64,
    mut visit: impl FnMut(&[u8]),
) {
    let (mut skip, mut left) = (start as usize, length as usize);
    for slice in slices {
        let from = skip.min(slice.len());
        let to = (from + left).min(slice.len());
        skip -= from;
        left -= to - from;
        if to > from {
            visit(&slice[from..to]);
        }
        if left == 0 {
            return;
        }
    }
    panic!("a plan's range is past the end of its buffer");
}

/// The host's part of a piece.
pub(crate) enum HostBuffer {
    Nothing,
    Read(BufMut),
    Write(Buf),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(length: usize) -> BufMut {
        let mut buffer = BufMut::zeroed(length);
        buffer.slices_mut().flatten().enumerate().for_each(|(index, byte)| *byte = index as u8);
        buffer
    }

    fn bytes(buffer: HostBuffer) -> Vec<u8> {
        let HostBuffer::Read(buffer) = buffer else { panic!("a read's buffer") };
        buffer.as_slice().expect("in one piece").to_vec()
    }

    #[test]
    fn lent_ranges_come_back_in_any_order_and_the_buffer_is_whole_again() {
        let mut random = reactor::Random::with_seed(3);
        for _ in 0..300 {
            let length = random.u64(1..64);
            let mut memory = Memory::default();
            memory.start(HostBuffer::Read(numbered(length as usize)));
            memory.add_scratch(&[8], &mut Pool::default());
            let mut lent = Vec::new();
            let (scratch, fragment) =
                memory.lend(ByteSite::Scratch { buffer: 0, start: 2 }, 3, NO_FRAGMENT);
            lent.push((fragment, scratch));
            let mut at = 0;
            while at < length {
                let start = random.u64(at..length);
                let end = random.u64(start + 1..=length);
                let (mut data, first) =
                    memory.lend(ByteSite::Host { start }, end - start, NO_FRAGMENT);
                // Sometimes a command takes a second range along.
                at = end;
                if at < length && random.bool() {
                    let (more, _) = memory.lend(ByteSite::Host { start: at }, length - at, first);
                    data.append(more);
                    at = length;
                }
                lent.push((first, data));
                if random.bool() {
                    break;
                }
            }
            random.shuffle(&mut lent);
            lent.into_iter().for_each(|(first, data)| memory.give_back(first, data));
            memory.rejoin();
            assert_eq!(
                bytes(memory.finish()),
                numbered(length as usize).as_slice().expect("one piece")
            );
            let mut pool = Pool::default();
            memory.drop_scratch(&mut pool);
            assert_eq!((pool.buffers[0].as_slice().map(<[u8]>::len), pool.bytes), (Some(8), 8));
        }
    }

    #[test]
    fn a_pool_keeps_what_was_used_last() {
        let mut pool = Pool::default();
        (0..9).for_each(|_| pool.give(BufMut::zeroed(4 << 20)));
        assert_eq!((pool.buffers.len(), pool.bytes), (8, POOL_BYTES));
        pool.give(BufMut::zeroed(512));
        assert_eq!((pool.take(512).len(), pool.bytes), (512, POOL_BYTES - (4 << 20)));
        assert_eq!(
            (pool.take(1024).len(), pool.buffers.len()),
            (1024, 7),
            "a length that is not there is made"
        );
    }

    #[test]
    fn steps_work_across_and_within_buffers() {
        let mut memory = Memory::default();
        memory.start(HostBuffer::Read(numbered(12)));
        let mut scratch = BufMut::zeroed(4);
        scratch.copy_from_slice(&[1, 1, 2, 2]);
        let mut pool = Pool::default();
        pool.give(scratch);
        memory.add_scratch(&[4], &mut pool);
        assert_eq!((pool.buffers.len(), pool.bytes), (0, 0));
        let host = |start| ByteSite::Host { start };
        memory.compute(
            Computation::Xor {
                from: ByteSite::Scratch { buffer: 0, start: 0 },
                into: host(4),
                length: 4,
            },
            &[],
            &mut Vec::new(),
        );
        memory.compute(
            Computation::Xor { from: host(0), into: host(4), length: 4 },
            &[],
            &mut Vec::new(),
        );
        memory.compute(
            Computation::Copy { from: host(10), into: host(0), length: 2 },
            &[],
            &mut Vec::new(),
        );
        memory.compute(Computation::Zero { into: host(11), length: 1 }, &[], &mut Vec::new());
        memory.compute(
            Computation::Copy {
                from: host(8),
                into: ByteSite::Scratch { buffer: 0, start: 1 },
                length: 2,
            },
            &[],
            &mut Vec::new(),
        );
        memory.compute(
            Computation::Copy {
                from: ByteSite::Scratch { buffer: 0, start: 1 },
                into: host(2),
                length: 2,
            },
            &[],
            &mut Vec::new(),
        );
        assert_eq!(
            bytes(memory.finish()),
            [10, 11, 8, 9, 4 ^ 1, 5 ^ 1 ^ 1, 6 ^ 2 ^ 2, 7 ^ 2 ^ 3, 8, 9, 10, 0]
        );
    }

    #[test]
    #[should_panic(expected = "does not overlap")]
    fn a_step_from_its_own_target_is_our_mistake() {
        let mut memory = Memory::default();
        memory.start(HostBuffer::Read(numbered(8)));
        memory.compute(
            Computation::Copy {
                from: ByteSite::Host { start: 1 },
                into: ByteSite::Host { start: 0 },
                length: 4,
            },
            &[],
            &mut Vec::new(),
        );
    }
}

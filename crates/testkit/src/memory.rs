//! A device in memory for the tests of everything else: small, honest, and as nasty as the contract
//! permits.
//!
//! Requests take effect when they complete: at the next poll, or, with [`Memory::delayed`], after a
//! random time each, so that they overtake one another. With a volatile cache
//! (`Info::volatile_cache`) it keeps apart what a crash may lose:
//!
//! ```text
//! in flight --completes--> volatile versions, oldest first --flush--> durable
//! a crash leaves, block by block, the durable version or any one of those on the left of it
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use block::{
    Channel, Completion, Device, DiscardSupport, Error, ErrorKind, Extents, Info, Node, Op,
    Reactor, Request, Support,
};
use reactor::{Buf, Random, Signal, Source, derive_seed};

use crate::crash::Crashable;

/// Which request to fail next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A read: its buffer is filled with rubbish.
    Read,
    /// A write: some of its blocks are written and some are not.
    Write,
    /// A flush; all later ones fail too, until [`Memory::reopened`].
    Flush,
}

/// Bytes in memory.
pub struct Memory {
    info: Info,
    shared: Arc<Mutex<State>>,
    faults: Arc<Mutex<Faults>>,
    delay: Option<(u64, Duration)>,
    /// Every request takes all of the delay.
    is_even: bool,
    tears: bool,
}

#[derive(Default)]
struct Faults {
    next: Vec<Fault>,
    flush_failed: bool,
}

/// What a request puts at a place.
#[derive(Clone)]
struct Image {
    offset: u64,
    bytes: Vec<u8>,
}

struct State {
    /// What reads find.
    visible: Vec<u8>,
    /// What is safe; only kept apart with a volatile cache.
    durable: Vec<u8>,
    /// Completed and not yet durable, by block, oldest first, with the count of completed writes at
    /// that moment.
    volatile: BTreeMap<u64, Vec<(u64, Vec<u8>)>>,
    completed: u64,
    in_flight: HashMap<u64, Image>,
    started: u64,
    powered: bool,
    /// Counts the crashes: a channel of an earlier life stays dead.
    life: u64,
}

impl Memory {
    /// A device of `size_bytes` zeroes, without a cache, that completes at the next poll and can do
    /// everything.
    #[must_use]
    pub fn new(size_bytes: u64) -> Memory {
        let able = Info {
            fua: Support::Native,
            zeroes: Support::Native,
            discard: DiscardSupport::ReadsZero,
            ..Info::plain(size_bytes)
        };
        Memory::with(able)
    }

    /// A device of zeroes that is what `info` says.
    #[must_use]
    pub fn with(info: Info) -> Memory {
        let size = usize::try_from(info.size_bytes).expect("a device in memory fits in memory");
        let visible = vec![0; size];
        // No copy of the other: new zeroes take no time, and tests make many of these.
        let durable = if info.volatile_cache { vec![0; size] } else { Vec::new() };
        let state = State {
            visible,
            durable,
            volatile: BTreeMap::new(),
            completed: 0,
            in_flight: HashMap::new(),
            started: 0,
            powered: true,
            life: 0,
        };
        Memory {
            info,
            shared: Arc::new(Mutex::new(state)),
            faults: Arc::default(),
            delay: None,
            is_even: false,
            tears: false,
        }
    }

    /// The same, but every request takes a random time up to `longest`.
    #[must_use]
    pub fn delayed(mut self, seed: u64, longest: Duration) -> Memory {
        self.delay = Some((seed, longest));
        self
    }

    /// The same, but every request takes this time.
    #[must_use]
    pub fn taking(mut self, time: Duration) -> Memory {
        (self.delay, self.is_even) = (Some((0, time)), true);
        self
    }

    /// The same with a mistake: a crash leaves blocks that are half one version and half another.
    #[must_use]
    pub fn tearing(mut self) -> Memory {
        self.tears = true;
        self
    }

    /// Fails the next request of this kind with [`ErrorKind::Media`].
    pub fn fail_next(&self, fault: Fault) {
        self.faults.lock().expect("no test thread panics in here").next.push(fault);
    }

    /// The same bytes, opened anew: nothing of earlier failures is remembered.
    #[must_use]
    pub fn reopened(&self) -> Memory {
        let Memory { info, shared, delay, is_even, tears, .. } = self;
        Memory {
            info: info.clone(),
            shared: Arc::clone(shared),
            faults: Arc::default(),
            delay: *delay,
            is_even: *is_even,
            tears: *tears,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().expect("no test thread panics in here")
    }
}

impl Crashable for Memory {
    fn crash(&self, seed: u64) {
        let mut random = Random::with_seed(seed);
        let block_bytes = self.info.block_bytes as usize;
        let state = &mut *self.state();
        let mut choices: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
        for (&block, versions) in &state.volatile {
            let start = block as usize * block_bytes;
            let all = choices
                .entry(block)
                .or_insert_with(|| vec![state.durable[start..start + block_bytes].to_vec()]);
            all.extend(versions.iter().map(|(_, bytes)| bytes.clone()));
        }
        let mut in_flight: Vec<_> = std::mem::take(&mut state.in_flight).into_iter().collect();
        in_flight.sort_unstable_by_key(|(started, _)| *started);
        for (_, image) in in_flight {
            for (block, bytes) in
                (image.offset / block_bytes as u64..).zip(image.bytes.chunks(block_bytes))
            {
                let start = block as usize * block_bytes;
                let all = choices
                    .entry(block)
                    .or_insert_with(|| vec![state.visible[start..start + block_bytes].to_vec()]);
                all.push(bytes.to_vec());
            }
        }
        for (block, mut versions) in choices {
            let mut chosen = versions.swap_remove(random.usize(..versions.len()));
            if self.tears && !versions.is_empty() {
                let other = &versions[random.usize(..versions.len())];
                chosen[block_bytes / 2..].copy_from_slice(&other[block_bytes / 2..]);
            }
            let start = block as usize * block_bytes;
            state.visible[start..start + block_bytes].copy_from_slice(&chosen);
        }
        if self.info.volatile_cache {
            state.durable.clone_from(&state.visible);
        }
        state.volatile.clear();
        state.powered = false;
        state.life += 1;
    }

    fn power_on(&self) {
        self.state().powered = true;
    }
}

impl Device for Memory {
    fn info(&self) -> &Info {
        &self.info
    }

    fn describe(&self) -> Node {
        Node::leaf("ram", self.info.size_bytes.to_string())
    }

    /// Blocks of zeroes, whatever has written them.
    fn extents(&self, offset: u64, length: u64, found: &mut Extents) {
        let state = self.state();
        let bytes = &state.visible[offset as usize..(offset + length) as usize];
        for block in bytes.chunks(self.info.block_bytes as usize) {
            if found.is_full() {
                break;
            }
            found.push(block.len() as u64, block.iter().all(|byte| *byte == 0));
        }
    }

    fn open(&self, _depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let mut state = self.state();
        if !state.powered {
            return Err(Error::new(ErrorKind::Gone, "the device has no power"));
        }
        state.started += 1;
        let seed = self.delay.map_or(0, |(seed, _)| derive_seed(seed, "channel", state.started));
        Ok(Box::new(MemoryChannel {
            info: self.info.clone(),
            shared: Arc::clone(&self.shared),
            faults: Arc::clone(&self.faults),
            longest: self.delay.map(|(_, longest)| longest),
            is_even: self.is_even,
            random: Random::with_seed(seed),
            source: reactor.source(),
            pending: BTreeMap::new(),
            life: state.life,
        }))
    }
}

struct MemoryChannel {
    info: Info,
    shared: Arc<Mutex<State>>,
    faults: Arc<Mutex<Faults>>,
    longest: Option<Duration>,
    is_even: bool,
    random: Random,
    source: Source,
    /// Requests in flight by the number under which they were started.
    pending: BTreeMap<u64, Pending>,
    life: u64,
}

struct Pending {
    request: Request,
    /// Of a flush: the count of completed writes when it was submitted.
    covers: u64,
}

fn flatten(buffer: &Buf) -> Vec<u8> {
    let mut bytes = vec![0; buffer.len()];
    buffer.copy_to_slice(&mut bytes);
    bytes
}

impl MemoryChannel {
    /// What a request will put where.
    fn image(&self, op: &Op) -> Option<Image> {
        match op {
            Op::Write { offset, from, .. } => Some(Image { offset: *offset, bytes: flatten(from) }),
            Op::WriteZeroes { offset, length, .. } => {
                Some(Image { offset: *offset, bytes: vec![0; *length as usize] })
            }
            Op::Discard { offset, length } => {
                let left = if self.info.discard == DiscardSupport::ReadsZero { 0 } else { 0xdd };
                Some(Image { offset: *offset, bytes: vec![left; *length as usize] })
            }
            Op::Read { .. } | Op::Flush => None,
        }
    }

    fn finish(&mut self, started: u64, Pending { request, covers }: Pending) -> Completion {
        let shared = Arc::clone(&self.shared);
        let state = &mut *shared.lock().expect("no test thread panics in here");
        if !state.powered || state.life != self.life {
            return request.complete(Err(Error::new(ErrorKind::Gone, "the device lost its power")));
        }
        if let Err(error) = self.info.check(&request.op) {
            return request.complete(Err(error));
        }
        let fault = self.fault(&request.op);
        let failed =
            |what: &str| Err(Error::new(ErrorKind::Media, format!("a {what} that was to fail")));
        let image = state.in_flight.remove(&started);
        let Request { tag, mut op } = request;
        let result = match &mut op {
            Op::Read { into, .. } if fault => {
                into.fill(0xee);
                failed("read")
            }
            Op::Read { offset, into } => {
                let start = *offset as usize;
                into.copy_from_slice(&state.visible[start..start + into.len()]);
                Ok(())
            }
            Op::Flush if fault => failed("flush"),
            Op::Flush => {
                state.flush(covers, u64::from(self.info.block_bytes));
                Ok(())
            }
            Op::Write { .. } | Op::WriteZeroes { .. } | Op::Discard { .. } => {
                let image = image.expect("noted at submit");
                let durable =
                    matches!(op, Op::Write { fua: true, .. } | Op::WriteZeroes { fua: true, .. });
                let random = &mut self.random;
                state.change(&self.info, &image, durable, |_| !fault || random.bool());
                if fault { failed("write") } else { Ok(()) }
            }
        };
        Request::new(tag, op).complete(result)
    }

    fn fault(&self, op: &Op) -> bool {
        let mut faults = self.faults.lock().expect("no test thread panics in here");
        let kind = match op {
            Op::Read { .. } => Fault::Read,
            Op::Flush => Fault::Flush,
            _ => Fault::Write,
        };
        let found = faults.next.iter().position(|&fault| fault == kind);
        if let Some(place) = found {
            faults.next.remove(place);
            faults.flush_failed |= kind == Fault::Flush;
        }
        found.is_some() || (kind == Fault::Flush && faults.flush_failed)
    }
}

impl State {
    fn change(
        &mut self,
        info: &Info,
        image: &Image,
        durable: bool,
        mut reaches: impl FnMut(u64) -> bool,
    ) {
        self.completed += 1;
        let block_bytes = info.block_bytes as usize;
        for (block, bytes) in
            (image.offset / block_bytes as u64..).zip(image.bytes.chunks(block_bytes))
        {
            if !reaches(block) {
                continue;
            }
            let start = block as usize * block_bytes;
            self.visible[start..start + block_bytes].copy_from_slice(bytes);
            if info.volatile_cache && durable {
                self.durable[start..start + block_bytes].copy_from_slice(bytes);
                self.volatile.remove(&block);
            } else if info.volatile_cache {
                self.volatile.entry(block).or_default().push((self.completed, bytes.to_vec()));
            }
        }
    }

    fn flush(&mut self, covers: u64, block_bytes: u64) {
        let durable = &mut self.durable;
        self.volatile.retain(|&block, versions| {
            let covered = versions.iter().take_while(|(completed, _)| *completed <= covers).count();
            if let Some((_, bytes)) = versions.drain(..covered).next_back() {
                let start = (block * block_bytes) as usize;
                durable[start..start + block_bytes as usize].copy_from_slice(&bytes);
            }
            !versions.is_empty()
        });
    }
}

impl Channel for MemoryChannel {
    fn submit(&mut self, request: Request) {
        let shared = Arc::clone(&self.shared);
        let state = &mut *shared.lock().expect("no test thread panics in here");
        state.started += 1;
        let started = state.started;
        let alive = state.powered && state.life == self.life;
        if alive
            && self.info.check(&request.op).is_ok()
            && let Some(image) = self.image(&request.op)
        {
            state.in_flight.insert(started, image);
        }
        self.pending.insert(started, Pending { request, covers: state.completed });
        if let Some(longest) = self.longest {
            let longest = longest.as_nanos() as u64;
            let least = if self.is_even { longest } else { 1 };
            let delay = Duration::from_nanos(self.random.u64(least..=longest));
            self.source.at(self.source.reactor().now() + delay, started);
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if self.longest.is_none() {
            for (started, pending) in std::mem::take(&mut self.pending) {
                done.push(self.finish(started, pending));
            }
        }
        while let Some(event) = self.source.take() {
            let pending = self.pending.remove(&event.token).expect("one timer for each request");
            done.push(self.finish(event.token, pending));
        }
    }

    fn in_flight(&self) -> u32 {
        self.pending.len() as u32
    }

    fn signal(&self) -> Option<Signal> {
        self.longest.map(|_| self.source.signal())
    }
}

impl Drop for MemoryChannel {
    fn drop(&mut self) {
        // What was given up may still get there, block by block.
        let shared = Arc::clone(&self.shared);
        let state = &mut *shared.lock().expect("no test thread panics in here");
        for started in std::mem::take(&mut self.pending).into_keys() {
            if let Some(image) = state.in_flight.remove(&started) {
                let random = &mut self.random;
                state.change(&self.info, &image, false, |_| random.bool());
            }
        }
    }
}

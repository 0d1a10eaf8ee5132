//! What loses its power: arrays with md's metadata, and a cache whose store is kept.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use array::md::{AssembleOptions, Consistency, Startability, assemble};
use array::metadata::{PlantedMistake, StartOptions, examine};
use block::{
    Blocking, BufMut, Channel, ContractCheck, Device, DiscardSupport, EmulatingDevice, Error, Info,
    Op, Reactor, Request, Support,
};
use cache::{
    AdmissionOptions, Cache, CacheMode, CacheOptions, Facts, KeepingOptions, LeafFacts, PolicyKind,
};
use pull::{AdvertisedTraits, Log, Recorder};
use reactor::{Random, derive_seed};
use testkit::Memory;

use super::bench::{CHUNK, DATA_SECTORS, KeptArray, Shape, scrub, started};
use super::broken::{Broken, BrokenPart};
use super::promised::BLOCK;

/// A recording of a subject.
#[derive(Clone)]
pub(crate) struct Recording {
    pub(crate) log: Arc<Log>,
    /// The number of the device above the drives.
    pub(crate) above: u16,
    /// The events of making it lie before this one.
    pub(crate) begins: u32,
}

#[derive(Clone, Copy)]
pub(crate) enum Subject {
    Array(Shape, PlantedMistake),
    /// A write-back cache over a drive.
    Cache,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Array(shape, mistake) => write!(f, "{shape:?}, {mistake:?}"),
            Subject::Cache => f.write_str("a cache"),
        }
    }
}

/// Whether these bytes may lie at this offset.
pub(crate) type Check<'a> = dyn Fn(u64, &[u8]) -> Result<(), Broken> + 'a;

/// Blocks of the drive under the cache.
const CACHED_BLOCKS: u64 = 64;

const CACHE: CacheOptions = CacheOptions {
    mode: CacheMode::WriteBack,
    block_bytes: 4096,
    policy: PolicyKind::S3Fifo,
    admission: AdmissionOptions { sequential_cutoff_bytes: None, promote_after: 1 },
    dirty_percent: 50,
    keeping: KeepingOptions::below(50),
};

const STEPS: usize = 40;
const DEPTH: u32 = 4;

impl Subject {
    pub(crate) fn of(shape: Shape) -> Subject {
        Subject::Array(shape, PlantedMistake::None)
    }

    pub(crate) fn cache() -> Subject {
        Subject::Cache
    }

    pub(crate) fn with_mistake(self, mistake: PlantedMistake) -> Subject {
        match self {
            Subject::Array(shape, _) => Subject::Array(shape, mistake),
            Subject::Cache => Subject::Cache,
        }
    }

    pub(crate) fn without_mistake(self) -> Subject {
        self.with_mistake(PlantedMistake::None)
    }

    /// With a log md may lose what was being written to several chunks of a row together with a
    /// member (C30). One chunk never is.
    fn longest(self) -> u64 {
        match self {
            Subject::Array(Shape { consistency: Consistency::Ppl, .. }, _) => CHUNK,
            _ => 6 * 512,
        }
    }

    /// What holds the data of its drives meanwhile, with what they hold in the beginning.
    fn drives(self, seed: u64) -> Vec<Arc<Memory>> {
        // Where drives are slow, what is done after a rest meets writes that are under way.
        let is_slow = Random::with_seed(derive_seed(seed, "slow", 0)).u8(..3) == 0;
        let longest = Duration::from_micros(if is_slow { 2_000_000 } else { 30 });
        let slow = |number: u64, info: Info| {
            let delay = derive_seed(seed, "drive", number);
            Memory::with(info).delayed(delay, longest)
        };
        match self {
            Subject::Array(shape, _) => shape.make(|number, info| slow(number as u64, info)),
            Subject::Cache => {
                let able = Info { volatile_cache: true, ..Info::plain(0) };
                let sizes = [(3 << 20) + 12 * 4096, CACHED_BLOCKS * 4096];
                let drive = |(number, size_bytes)| {
                    Arc::new(slow(number, Info { size_bytes, ..able.clone() }))
                };
                (0..).zip(sizes).map(drive).collect()
            }
        }
    }

    fn open_cache(drives: &[Arc<dyn Device>]) -> Result<Arc<dyn Device>, Error> {
        let leaf = LeafFacts { identity: 1, epoch: 0, state: 1 };
        let facts = Facts { leaves: vec![leaf], believe_sample: false };
        let checked = |drive: &Arc<dyn Device>| ContractCheck::over(Arc::clone(drive));
        let cache = Cache::open(checked(&drives[0]), checked(&drives[1]), &facts, CACHE)?;
        Ok(EmulatingDevice::over(Arc::new(cache)))
    }

    /// The row of chunks that a block of an array with parity lies in.
    pub(crate) fn row_of_block(self, block: u64) -> Option<u64> {
        match self {
            Subject::Array(shape, _) if shape.level.parity_count() > 0 => {
                let data_members = shape.members as u64 - u64::from(shape.level.parity_count());
                Some(block * BLOCK / CHUNK / data_members)
            }
            _ => None,
        }
    }

    /// The row of chunks that a place on a member lies in; none of what is before the data.
    pub(crate) fn row_on_member(offset: u64) -> Option<u64> {
        Some(offset.checked_sub(DATA_SECTORS * 512)? / CHUNK)
    }

    /// Makes it, works with it, and records all of that.
    pub(crate) fn record(self, seed: u64) -> Recording {
        let recorder = Recorder::in_memory(None);
        let reactor = Reactor::virtual_clock();
        let advertised = AdvertisedTraits { volatile_cache: true, fua: true };
        let memories = self.drives(seed);
        let drives: Vec<Arc<dyn Device>> = (memories.iter())
            .map(|memory| recorder.drive(Arc::clone(memory) as Arc<dyn Device>, advertised))
            .collect();
        for (memory, drive) in memories.iter().zip(&drives) {
            copy_onto_itself(&**memory, &**drive, &reactor);
        }
        let device = match self {
            Subject::Array(_, planted) => {
                let members: Vec<_> = drives
                    .iter()
                    .map(|drive| Some(ContractCheck::over(Arc::clone(drive))))
                    .collect();
                let options = StartOptions { planted, ..StartOptions::default() };
                let array = started(&members, &options).expect("an array");
                let rests = [30, 900][Random::with_seed(seed).usize(..2)];
                let longest = Duration::from_millis(rests);
                KeptArray::over(array.clone(), Arc::new(array), seed, longest)
            }
            Subject::Cache => Subject::open_cache(&drives).expect("a cache"),
        };
        let above = drives.len() as u16;
        let device = recorder.above(device);
        let begins = recorder.mark(b"work") + 1;
        work(&*device, &reactor, self.longest(), seed);
        recorder.mark(b"end of the work");
        drop(device);
        let log = Arc::new(recorder.finish().expect("in memory"));
        Recording { log, above, begins }
    }

    /// Starts from drives as a crash has left them, and reads all there is.
    pub(crate) fn start_again(
        self,
        drives: &[Arc<dyn Device>],
        seed: u64,
        check: &Check<'_>,
    ) -> Result<(), Broken> {
        let told = |part: BrokenPart| move |text: String| part.told(text);
        let all = |device: &dyn Device| {
            let reactor = Reactor::virtual_clock();
            let mut bytes = vec![0; device.info().size_bytes as usize];
            Blocking::open(device, &reactor)
                .and_then(|mut channel| channel.read_slice(0, &mut bytes))
                .map_err(|error| BrokenPart::Reading.told(format!("reading all: {error}")))?;
            check(0, &bytes).map(|()| bytes)
        };
        let Subject::Array(shape, _) = self else {
            let cache = Subject::open_cache(drives).map_err(|error| {
                BrokenPart::Start.told(format!("the cache does not start: {error}"))
            })?;
            return all(&*cache).map(|_| ());
        };
        let mut members: Vec<Option<Arc<dyn Device>>> =
            drives.iter().map(|drive| Some(ContractCheck::over(Arc::clone(drive)))).collect();
        // Half of the starts lack a member, where that is safe.
        let mut random = Random::with_seed(derive_seed(seed, "absent", 0));
        let absent = random.usize(..members.len());
        let taken = random.bool().then(|| members[absent].take()).flatten();
        if taken.is_some() && starts(&members) != Ok(true) {
            members[absent] = taken;
        }
        starts(&members).map_err(told(BrokenPart::Start))?;
        let is_whole = members.iter().all(Option::is_some);
        let array = started(&members, &StartOptions::default())
            .map_err(|error| format!("{shape:?} does not start: {error}"))
            .map_err(told(BrokenPart::Start))?;
        let before = all(&array)?;
        if is_whole {
            scrub(&array).map_err(told(BrokenPart::Scrub))?;
        }
        let after = all(&array)?;
        if after != before && shape.level.parity_count() > 0 {
            let blocks = || before.chunks(BLOCK as usize).zip(after.chunks(BLOCK as usize));
            let block = blocks().position(|(before, after)| before != after).unwrap_or(0);
            let text = format!("the resync has changed what block {block} held before");
            return Err(BrokenPart::Block(block as u64).told(text));
        }
        Ok(())
    }
}

/// Whether the superblocks permit a start.
fn starts(members: &[Option<Arc<dyn Device>>]) -> Result<bool, String> {
    let reactor = Reactor::virtual_clock();
    let mut candidates = Vec::new();
    for member in members.iter().flatten() {
        let found = examine(&**member, "a member", &reactor).map_err(|error| error.to_string())?;
        candidates.extend(found);
    }
    let assembly = assemble(&candidates, AssembleOptions::default())
        .map_err(|error| format!("the array does not assemble: {error}"))?;
    Ok(matches!(assembly.start, Startability::Ready))
}

/// Everything a drive holds, written once more through its recorder, and flushed.
fn copy_onto_itself(from: &dyn Device, to: &dyn Device, reactor: &Reactor) {
    let mut bytes = vec![0; from.info().size_bytes as usize];
    let mut channel = Blocking::open(from, reactor).expect("a channel");
    channel.read_slice(0, &mut bytes).expect("read");
    let mut channel = Blocking::open(to, reactor).expect("a channel");
    for (offset, page) in (0..).step_by(4096).zip(bytes.chunks(4096)) {
        if page.iter().any(|&byte| byte != 0) {
            channel.write_slice(offset, page).expect("written");
        }
    }
    channel.flush().expect("flushed");
}

/// Random requests on two channels, each write with content of its own.
fn work(device: &dyn Device, reactor: &Reactor, longest: u64, seed: u64) {
    let info = device.info();
    let mut random = Random::with_seed(derive_seed(seed, "work", 0));
    let mut channels: Vec<Box<dyn Channel>> =
        (0..2).map(|_| device.open(DEPTH, reactor).expect("a channel")).collect();
    let mut done = Vec::new();
    let mut tag = 0;
    let blocks = info.size_bytes / 512;
    loop {
        let channel = random.usize(..2);
        let is_over = tag == STEPS as u64;
        if !is_over && channels[channel].in_flight() < DEPTH && random.u8(..3) != 0 {
            tag += 1;
            let at_most = longest / 512;
            let (first, count) = (random.u64(..blocks), random.u64(1..=at_most));
            let mut count = count.min(blocks - first);
            if longest == CHUNK {
                count = count.min((CHUNK - first * 512 % CHUNK) / 512);
            }
            let (offset, length) = (first * 512, count * 512);
            let fua = info.fua != Support::None && random.u8(..4) == 0;
            let op = match random.u8(..12) {
                0..2 => Op::Flush,
                2 if info.zeroes != Support::None => Op::WriteZeroes { offset, length, fua },
                3 if info.discard == DiscardSupport::ReadsZero => Op::Discard { offset, length },
                _ => {
                    let mut buffer = BufMut::zeroed(length as usize);
                    let mut bytes = vec![0; length as usize];
                    for (block, bytes) in (first..).zip(bytes.chunks_mut(512)) {
                        Random::with_seed(derive_seed(seed, "bytes", tag << 20 | block))
                            .fill(bytes);
                    }
                    buffer.copy_from_slice(&bytes);
                    Op::Write { offset, from: buffer.freeze(), fua }
                }
            };
            channels[channel].submit(Request::new(tag, op));
        } else {
            done.clear();
            channels.iter_mut().for_each(|channel| channel.poll(&mut done));
            let in_flight: u32 = channels.iter().map(|channel| channel.in_flight()).sum();
            if in_flight == 0 && is_over {
                break;
            }
            if done.is_empty() && in_flight > 0 {
                reactor.wait(None).expect("the virtual clock does not fail");
            }
        }
    }
}

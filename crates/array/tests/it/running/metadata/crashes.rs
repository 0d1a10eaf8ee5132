//! Crashes at any moment of an array with metadata, superblocks and all, while members die, come
//! back and are rebuilt.
//!
//! `RAIDLOOM_CRASH_POINTS=1000000` tries so many crashes instead of those that CI has time for,
//! `RAIDLOOM_CRASH_SEED` from another seed on.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use array::MemberState;
use array::md::{Consistency, Startability, Superblock};
use array::metadata::{PlantedMistake, RunningArray, StartOptions};
use array::sync::{Limits, SyncScheduler};
use block::{
    Blocking, Channel, Completion, ContractCheck, Device, Error, ErrorKind, Info, Node, Op,
    Reactor, Request, ReturnedBuffer,
};
use reactor::{Random, derive_seed};
use testkit::crash::{self, CrashOperation, Crashable, Options, Rig};
use testkit::{Memory, Violation};

use super::bench::{CHUNK, KeptArray, Shape, assembly, scrub, started, superblock};
use crate::common::{Mortal, finish, read};

/// How many crashes CI tries, of arrays whose members leave and come back.
const POINTS: u64 = 12_000;

/// What becomes of a member that dies, while the array still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterlife {
    /// It stays away.
    None,
    /// A spare takes its place.
    Spare,
    /// It comes back, with what it had.
    Return,
}

/// A mistake besides those of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slip {
    None,
    /// The array's flush reaches no member.
    IdleFlush,
    /// A start takes a member that was left behind for one that has everything.
    TrustsStale,
}

/// What happens besides the crash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) shape: Shape,
    /// The member that is missing afterwards.
    pub(crate) absent: Option<usize>,
    /// The member that dies before, and is back afterwards.
    pub(crate) dying: Option<usize>,
    pub(crate) afterlife: Afterlife,
    pub(crate) planted: PlantedMistake,
    pub(crate) slip: Slip,
    /// How long a completion may be on its way, so that the array rests between.
    pub(crate) longest: Duration,
    /// How long a member may take.
    pub(crate) slowest: Duration,
    pub(crate) steps: usize,
    pub(crate) points: usize,
}

impl Case {
    pub(crate) fn of(shape: Shape) -> Case {
        let (longest, slowest) = (Duration::from_millis(900), Duration::from_micros(30));
        let (afterlife, planted, slip) = (Afterlife::None, PlantedMistake::None, Slip::None);
        Case {
            shape,
            absent: None,
            dying: None,
            afterlife,
            planted,
            slip,
            longest,
            slowest,
            steps: 24,
            points: 60,
        }
    }

    /// A case with members that die where an array that is dirty and degraded starts: copies, and
    /// parity with a log.
    fn random(seed: u64) -> Case {
        let mut random = Random::with_seed(derive_seed(seed, "case", 0));
        let shapes: Vec<Shape> = Shape::all().into_iter().filter(is_safe_degraded).collect();
        let shape = shapes[random.usize(..shapes.len())];
        let dying = random.usize(..shape.members);
        let afterlife = [Afterlife::None, Afterlife::Spare, Afterlife::Spare, Afterlife::Return]
            [random.usize(..4)];
        let is_slow = random.u8(..4) == 0;
        let (longest, slowest) = if is_slow { (4000, 2_000_000) } else { (900, 30) };
        let (longest, slowest) = (Duration::from_millis(longest), Duration::from_micros(slowest));
        let steps = [6, 24, 60][random.usize(..3)];
        Case {
            dying: Some(dying),
            afterlife,
            longest,
            slowest,
            steps,
            points: 40,
            ..Case::of(shape)
        }
    }
}

fn is_safe_degraded(shape: &Shape) -> bool {
    shape.level.parity_count() == 0 || shape.consistency == Consistency::Ppl
}

fn no_such(text: String) -> Error {
    Error::new(ErrorKind::Corrupt, text)
}

/// What was under way when the power failed, summed up over crashes: members that were missing,
/// those that were being rebuilt, and those that had been rebuilt.
#[derive(Debug, Default)]
pub(crate) struct Scenes {
    missing: AtomicU64,
    rebuilding: AtomicU64,
    rebuilt: AtomicU64,
}

/// Starts after the crash, with everything that has to hold then. A start that has to be refused is
/// made with all members.
fn start_again(
    case: &Case,
    memories: &[Arc<Memory>],
    scenes: &Scenes,
    seed: u64,
) -> Result<Arc<dyn Device>, Error> {
    if case.slip == Slip::TrustsStale {
        forge(memories);
    }
    let mut members: Vec<Option<Arc<dyn Device>>> = memories
        .iter()
        .map(|memory| Some(ContractCheck::over(Arc::clone(memory) as Arc<dyn Device>)))
        .collect();
    let (whole, _) = assembly(&members);
    // Whatever the moment, members that were there all the time count, and start without force.
    if case.dying.is_none()
        && case.slip == Slip::None
        && (whole.degraded_count() > 0
            || !whole.left_out.is_empty()
            || whole.start != Startability::Ready)
    {
        let left_out: Vec<_> = whole.left_out.iter().map(|left| left.reason.clone()).collect();
        return Err(no_such(format!("{}: {}", whole.start, words::Text::joined(left_out, "; "))));
    }
    let sits = |slot: &array::md::Slot| slot.present().map(|place| place.candidate);
    if whole.slots.iter().any(|slot| matches!(slot, array::md::Slot::Recovering { .. })) {
        scenes.rebuilding.fetch_add(1, Ordering::Relaxed);
    } else if whole.degraded_count() > 0 {
        scenes.missing.fetch_add(1, Ordering::Relaxed);
    } else if whole.slots.iter().any(|slot| sits(slot) == Some(case.shape.members)) {
        scenes.rebuilt.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(absent) = case.absent {
        let there = members[absent].take();
        let (degraded, _) = assembly(&members);
        match degraded.start {
            Startability::Ready => (),
            // The one place where something may be lost is refused, and only while it may.
            Startability::NeedsForce(_) if !degraded.clean && !is_safe_degraded(&case.shape) => {
                members[absent] = there;
            }
            // Another one died before.
            Startability::Refused(_) if whole.degraded_count() > 0 => members[absent] = there,
            other => return Err(no_such(format!("without member {absent}: {other}"))),
        }
    }
    let has_copies = case.shape.level.parity_count() == 0;
    let mut found = ReadBlocks::default();
    let mut read = |array: &RunningArray| {
        if has_copies { found.read(array, seed).map_err(no_such) } else { Ok(()) }
    };
    if has_copies {
        read(&started(&members, &StartOptions { read_only: true, ..StartOptions::default() })?)?;
    }
    let array = started(&members, &StartOptions::default())?;
    read(&array)?;
    scrub(&array).map_err(no_such)?;
    read(&array)?;
    Ok(Arc::new(array))
}

/// What has been read of an array without writes: each block once and for all.
#[derive(Default)]
struct ReadBlocks {
    blocks: Vec<Option<[u8; 512]>>,
    rounds: u64,
}

impl ReadBlocks {
    /// Reads everything, in parts as they come, several at a time, so that an array that may choose
    /// among copies chooses this one and that.
    fn read(&mut self, array: &RunningArray, seed: u64) -> Result<(), String> {
        let mut random = Random::with_seed(derive_seed(seed, "reads", self.rounds));
        self.rounds += 1;
        let blocks = array.info().size_bytes / 512;
        self.blocks.resize(blocks as usize, None);
        let reactor = Reactor::virtual_clock();
        let mut channel = array.open(4, &reactor).map_err(|error| error.to_string())?;
        let mut parts = Vec::new();
        let mut next = 0;
        while next < blocks {
            let length = random.u64(1..=12).min(blocks - next);
            parts.push((next, length));
            next += length;
        }
        random.shuffle(&mut parts);
        for parts in parts.chunks(4) {
            for &(block, length) in parts {
                channel.submit(Request::new(block, read(block * 512, length * 512)));
            }
            for completion in finish(&mut *channel, &reactor) {
                completion.result.map_err(|error| error.to_string())?;
                let ReturnedBuffer::Read(buffer) = completion.buffer else {
                    return Err("a read gives back its buffer".to_owned());
                };
                let mut bytes = vec![0; buffer.len()];
                buffer.copy_to_slice(&mut bytes);
                for (block, bytes) in (completion.tag as usize..).zip(bytes.chunks_exact(512)) {
                    let before = *self.blocks[block]
                        .get_or_insert_with(|| bytes.try_into().expect("a block"));
                    if before != bytes {
                        return Err(format!(
                            "block {block} was read before, and reads differently now although \
                            nobody has written it"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Gives every member the superblock of the newest, as its own, and has it say that all are there.
fn forge(memories: &[Arc<Memory>]) {
    let newest = memories
        .iter()
        .map(|memory| superblock(&**memory))
        .max_by_key(|one| one.events)
        .expect("a member");
    let mut roles = newest.roles.clone();
    (0..memories.len()).for_each(|role| roles[role] = array::md::Role::Active(role as u16));
    for memory in memories {
        let own = superblock(&**memory);
        let forged = Superblock {
            device_uuid: own.device_uuid,
            member_number: own.member_number,
            roles: roles.clone(),
            ..newest.clone()
        };
        let mut bytes = forged.encode();
        bytes.resize(4096, 0);
        let channel = Blocking::open(&**memory, &Reactor::virtual_clock());
        channel.and_then(|mut channel| channel.write_slice(4096, &bytes)).expect("written");
    }
}

/// A blank device that fits.
fn spare(shape: &Shape, delay: u64, slowest: Duration) -> Arc<Memory> {
    let info =
        Info { volatile_cache: true, ..Memory::new(shape.member_size_bytes()).info().clone() };
    Arc::new(Memory::with(info).delayed(delay, slowest))
}

fn rig(case: &Case, seed: u64, scenes: &Arc<Scenes>) -> Rig {
    let mut random = Random::with_seed(seed);
    let delay = |number: usize| derive_seed(seed, "member", number as u64);
    let mut memories =
        case.shape.make(|number, info| Memory::with(info).delayed(delay(number), case.slowest));
    if case.afterlife == Afterlife::Spare {
        memories.push(spare(&case.shape, delay(case.shape.members), case.slowest));
    }
    let death = random.u64(0..60);
    let starts = Cell::new(0);
    let members = memories.iter().map(|memory| Arc::clone(memory) as Arc<dyn Crashable>).collect();
    let (case, scenes) = (*case, Arc::clone(scenes));
    let start = move || {
        if starts.replace(starts.get() + 1) > 0 {
            return start_again(&case, &memories, &scenes, seed);
        }
        let mut members: Vec<Option<Arc<dyn Device>>> = Vec::new();
        let mut dying = None;
        for (number, memory) in memories[..case.shape.members].iter().enumerate() {
            let mortal = Mortal::over(Arc::clone(memory) as Arc<dyn Device>, "mortal");
            if Some(number) == case.dying {
                dying = Some(Arc::clone(&mortal));
            }
            members.push(Some(ContractCheck::over(mortal)));
        }
        let array =
            started(&members, &StartOptions { planted: case.planted, ..StartOptions::default() })?;
        if let Some(dying) = dying {
            dying.dies_after(death);
        }
        let replacement: Option<Arc<dyn Device>> = match case.afterlife {
            Afterlife::None => None,
            Afterlife::Spare => memories.last().map(|spare| Arc::clone(spare) as Arc<dyn Device>),
            Afterlife::Return => {
                case.dying.map(|dying| Arc::clone(&memories[dying]) as Arc<dyn Device>)
            }
        };
        let tended =
            RebuildingArray { array: array.clone(), replacement: Mutex::new(replacement), seed };
        let kept = KeptArray::over(array, Arc::new(tended), seed, case.longest);
        Ok(if case.slip == Slip::IdleFlush { Arc::new(WithoutFlush(kept)) } else { kept })
    };
    Rig { members, start: Box::new(start) }
}

/// An array whose missing member gets a replacement, and with a scheduler that rebuilds it.
struct RebuildingArray {
    array: RunningArray,
    replacement: Mutex<Option<Arc<dyn Device>>>,
    seed: u64,
}

/// Small ranges, so that a rebuild takes many moments.
const SLOW_REBUILDS: Limits = Limits {
    least_bytes_per_second: 1 << 30,
    most_bytes_per_second: 1 << 30,
    range_bytes: 1536,
    ranges_in_flight: 2,
    burst_bytes: 0,
};

impl Device for RebuildingArray {
    fn info(&self) -> &Info {
        self.array.info()
    }

    fn describe(&self) -> Node {
        self.array.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        // The first channel opened has the replacement.
        let replacement = self.replacement.lock().expect("no test thread panics in here").take();
        let mut scheduler = None;
        if replacement.is_some() {
            let mut opened = SyncScheduler::open(self.array.control(), reactor)?;
            opened.set_limits(SLOW_REBUILDS);
            scheduler = Some(opened);
        }
        let random = Random::with_seed(derive_seed(self.seed, "tended", 0));
        Ok(Box::new(TendedChannel {
            below: self.array.open(depth, reactor)?,
            array: self.array.clone(),
            replacement,
            scheduler,
            random,
        }))
    }
}

struct TendedChannel {
    below: Box<dyn Channel>,
    array: RunningArray,
    replacement: Option<Arc<dyn Device>>,
    scheduler: Option<SyncScheduler>,
    random: Random,
}

impl TendedChannel {
    fn tend(&mut self) {
        let missing = self
            .array
            .control()
            .snapshot()
            .members
            .iter()
            .position(|condition| *condition == MemberState::Faulty);
        if let Some(member) = missing
            && self.random.u8(..4) == 0
            && let Some(device) = self.replacement.take()
        {
            // Its own reactor: other requests are under way on the channel's.
            self.array.control().remove(member).expect("it has failed");
            self.array
                .add_to_slot(member, &device, [0xee; 16], &Reactor::virtual_clock())
                .expect("it fits");
        }
        while self.scheduler.as_mut().and_then(SyncScheduler::poll).is_some() {}
    }
}

impl Channel for TendedChannel {
    fn submit(&mut self, request: Request) {
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.below.poll(done);
        self.tend();
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

/// A mistake: flushes are answered and do nothing.
struct WithoutFlush(Arc<dyn Device>);

impl Device for WithoutFlush {
    fn info(&self) -> &Info {
        self.0.info()
    }

    fn describe(&self) -> Node {
        self.0.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(WithoutFlushChannel {
            below: self.0.open(depth, reactor)?,
            answered: Vec::new(),
        }))
    }
}

struct WithoutFlushChannel {
    below: Box<dyn Channel>,
    answered: Vec<Completion>,
}

impl Channel for WithoutFlushChannel {
    fn submit(&mut self, request: Request) {
        if matches!(request.op, Op::Flush) {
            self.answered.push(request.complete(Ok(())));
        } else {
            self.below.submit(request);
        }
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        done.append(&mut self.answered);
        self.below.poll(done);
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.answered.len() as u32
    }
}

/// With a log, what was being written to several chunks of a row may be lost with a member: so has
/// md. One chunk never is.
fn steps(case: &Case, seed: u64) -> Vec<CrashOperation> {
    let info: Info = {
        let memories = case.shape.make(|_, info| Memory::with(info));
        let members: Vec<_> =
            memories.into_iter().map(|memory| Some(memory as Arc<dyn Device>)).collect();
        started(&members, &StartOptions::default()).expect("an array").info().clone()
    };
    let mut steps = crash::history(&info, case.steps, seed);
    if case.shape.consistency == Consistency::Ppl && (case.absent.is_some() || case.dying.is_some())
    {
        for step in &mut steps {
            if let CrashOperation::Write { offset, length, .. }
            | CrashOperation::WriteZeroes { offset, length, .. } = step
            {
                *length = (*length).min(CHUNK - *offset % CHUNK);
            }
        }
    }
    steps
}

pub(crate) fn crashes(case: &Case, seed: u64) -> Result<u64, Violation> {
    crashes_with_scenes(case, seed, &Arc::default())
}

fn crashes_with_scenes(case: &Case, seed: u64, scenes: &Arc<Scenes>) -> Result<u64, Violation> {
    let options = Options { depth: 3, points: case.points, states: 2 };
    let steps = steps(case, seed);
    crash::enumerate(|| rig(case, seed, scenes), Reactor::virtual_clock, &steps, &options, seed)
        .map(|summary| summary.crashes)
}

fn survive(case: &Case, seeds: std::ops::Range<u64>) -> u64 {
    let survived =
        |seed| crashes(case, seed).unwrap_or_else(|violation| panic!("{case:?}: {violation}"));
    seeds.map(survived).sum()
}

fn asked(variable: &str) -> Option<u64> {
    let said = std::env::var(variable).ok()?;
    Some(said.parse().unwrap_or_else(|_| panic!("{variable}={said}: not a number")))
}

/// Members die, come back or are replaced, and are being rebuilt, when the power fails.
#[test]
fn crashes_among_members_that_come_and_go() {
    let points = asked("RAIDLOOM_CRASH_POINTS").unwrap_or(POINTS);
    let mut seed = asked("RAIDLOOM_CRASH_SEED").unwrap_or(0);
    let scenes = Arc::default();
    let mut count = 0;
    while count < points {
        let case = Case::random(seed);
        count += crashes_with_scenes(&case, seed, &scenes).unwrap_or_else(|violation| {
            let replay = "cargo test -p array --test it crashes_among_members_that_come_and_go";
            panic!(
                "{case:?}: {violation}\nto replay: RAIDLOOM_CRASH_POINTS=1 \
                RAIDLOOM_CRASH_SEED={seed} {replay}"
            )
        });
        seed += 1;
    }
    println!("{count} crashes: {scenes:?}");
    let Scenes { missing, rebuilding, rebuilt } = &*scenes;
    let enough = [missing, rebuilding, rebuilt]
        .iter()
        .all(|scene| scene.load(Ordering::Relaxed) > count / 50);
    assert!(enough || points < POINTS, "too little happened: {scenes:?}");
}

#[test]
fn nothing_durable_is_lost_and_redundancy_is_true_again() {
    let count: u64 = Shape::all().into_iter().map(|shape| survive(&Case::of(shape), 0..3)).sum();
    println!("{count} crashes");
    assert!(count > 1500, "{count}");
}

/// What was under way when the power failed may have reached one copy and not the other. Either
/// will do, but a reader of one does not get the other later: reads of what is not in sync
/// keep to the copy that the resync takes. At every layout of copies, with all members and without
/// each, and while one is being rebuilt.
#[test]
fn a_block_that_was_read_after_a_crash_stays_what_it_is() {
    let mut count = 0;
    let mut seed = 70;
    for shape in Shape::mirrors() {
        let whole = Case { points: 12, ..Case::of(shape) };
        let mut cases = vec![whole];
        if shape.members > 1 {
            cases.push(Case { dying: Some(0), afterlife: Afterlife::Spare, ..whole });
        }
        if shape.members > 2 {
            cases.push(Case { absent: Some(seed as usize % shape.members), ..whole });
        }
        for case in cases {
            count += survive(&case, seed..seed + 2);
            seed += 2;
        }
    }
    println!("{count} crashes");
    assert!(count > 1000, "{count}");
}

/// A crash at every moment of short histories.
#[test]
fn every_moment_of_short_histories() {
    let whole = |shape| Case { steps: 5, points: usize::MAX, ..Case::of(shape) };
    let count: u64 = Shape::all().into_iter().map(|shape| survive(&whole(shape), 50..52)).sum();
    println!("{count} crashes");
    assert!(count > 1000, "{count}");
}

#[test]
fn nothing_durable_is_lost_with_a_member() {
    let mut count = 0;
    for shape in Shape::all() {
        for absent in 0..shape.members {
            count += survive(&Case { absent: Some(absent), points: 40, ..Case::of(shape) }, 10..12);
        }
    }
    println!("{count} crashes");
    assert!(count > 3000, "{count}");
}

/// Members so slow that bits are cleared and set again while others are under way.
#[test]
fn bits_come_and_go_among_slow_members() {
    let slowest = Duration::from_secs(3);
    let slow = |make| {
        survive(
            &Case {
                slowest,
                longest: Duration::from_secs(4),
                ..Case::of(Shape::with_bitmap(make))
            },
            30..36,
        )
    };
    let count: u64 = [Shape::raid1, Shape::raid6, Shape::raid10].into_iter().map(slow).sum();
    println!("{count} crashes");
    assert!(count > 1000, "{count}");
}

/// Members so slow that superblocks age while writes are under way.
#[test]
fn superblocks_age_among_slow_members() {
    let slow = |shape| {
        let slowest = Duration::from_secs(50);
        survive(&Case { slowest, longest: Duration::from_secs(9), ..Case::of(shape) }, 60..62)
    };
    let shapes = [Shape::with_bitmap(Shape::raid1), Shape::raid5(Consistency::Ppl)];
    let count: u64 = shapes.into_iter().map(slow).sum();
    println!("{count} crashes");
    assert!(count > 200, "{count}");
}

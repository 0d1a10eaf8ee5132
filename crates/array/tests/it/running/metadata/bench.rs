//! Small members in memory with md's metadata, and an array that is started from them again and
//! again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use array::geometry::{ParityLayout, Raid10Layout};
use array::md::{
    AssembleOptions, Assembly, Bitmap, Candidate, Consistency, Features, Layout, Level, NewArray,
    NewMember, PplArea, PplHeader, Role, Superblock, TimeStamp, assemble, ppl_signature,
};
use array::metadata::{MetadataWriter, RunningArray, StartOptions, examine, start};
use array::sync::{Ending, Notice, SyncAction, SyncScheduler};
use block::{
    Blocking, Channel, Completion, ContractCheck, Device, Error, Info, Node, Op, Reactor, Request,
};
use reactor::{Random, Source, derive_seed};
use testkit::Memory;

pub(crate) const CHUNK: u64 = 4096;
/// Where data begin, in sectors: behind superblock (8), bitmap (16) or log (16 to 48), and bad
/// blocks (48).
pub(crate) const DATA_SECTORS: u64 = 64;
const BITMAP_REGION_BYTES: u32 = 4096;

/// An array to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) level: Level,
    pub(crate) layout: Layout,
    pub(crate) members: usize,
    /// What the array uses of each, in bytes.
    pub(crate) member_bytes: u64,
    pub(crate) consistency: Consistency,
}

const BITMAP: Consistency = Consistency::Bitmap { chunk_bytes: Some(BITMAP_REGION_BYTES) };

impl Shape {
    pub(crate) fn raid1(consistency: Consistency) -> Shape {
        Shape {
            level: Level::Raid1,
            layout: Layout::Plain,
            members: 3,
            member_bytes: 5 * CHUNK,
            consistency,
        }
    }

    pub(crate) fn raid10(consistency: Consistency) -> Shape {
        let layout = Layout::Raid10(Raid10Layout::near(2));
        Shape { level: Level::Raid10, layout, members: 3, member_bytes: 4 * CHUNK, consistency }
    }

    pub(crate) fn raid4(consistency: Consistency) -> Shape {
        Shape {
            level: Level::Raid4,
            layout: Layout::Plain,
            members: 3,
            member_bytes: 3 * CHUNK,
            consistency,
        }
    }

    pub(crate) fn raid5(consistency: Consistency) -> Shape {
        Shape {
            level: Level::Raid5,
            layout: Layout::Parity(ParityLayout::LeftSymmetric),
            members: 4,
            member_bytes: 4 * CHUNK,
            consistency,
        }
    }

    pub(crate) fn raid6(consistency: Consistency) -> Shape {
        Shape {
            level: Level::Raid6,
            layout: Layout::Parity(ParityLayout::LeftSymmetric),
            members: 4,
            member_bytes: 3 * CHUNK,
            consistency,
        }
    }

    /// Every layout of copies: mirrors of one, two and three, and level 10 with copies near, far,
    /// at an offset, and of two kinds.
    pub(crate) fn mirrors() -> Vec<Shape> {
        let striped = [
            ("n2", 3),
            ("n2", 4),
            ("n3", 3),
            ("f2", 3),
            ("o2", 3),
            ("f2", 2),
            ("n2f2", 4),
            ("n2o2", 4),
        ];
        let layout = |name| Layout::Raid10(Raid10Layout::from_name(name).expect("a layout"));
        let striped = |consistency| {
            striped.map(|(name, members)| Shape {
                layout: layout(name),
                members,
                ..Shape::raid10(consistency)
            })
        };
        let plain =
            |consistency| [1, 2, 3].map(|members| Shape { members, ..Shape::raid1(consistency) });
        [Consistency::Resync, BITMAP]
            .into_iter()
            .flat_map(|consistency| plain(consistency).into_iter().chain(striped(consistency)))
            .collect()
    }

    /// One of each level, with each way to be consistent that it can have.
    pub(crate) fn all() -> Vec<Shape> {
        let both = [Consistency::Resync, BITMAP];
        let shapes = [Shape::raid1, Shape::raid10, Shape::raid4, Shape::raid5, Shape::raid6];
        let mut all: Vec<Shape> = shapes.iter().flat_map(|shape| both.map(shape)).collect();
        all.push(Shape::raid5(Consistency::Ppl));
        all
    }

    pub(crate) fn with_bitmap(make: fn(Consistency) -> Shape) -> Shape {
        make(BITMAP)
    }

    /// What superblocks say while it is written to and no resync is due: with logs how far parity
    /// is true but for them, which is everywhere.
    pub(crate) fn dirty_from_sector(&self) -> u64 {
        if self.consistency == Consistency::Ppl { self.member_bytes / 512 } else { 0 }
    }

    fn new_array(&self, spares: usize) -> NewArray {
        let role = |number: usize| {
            if number < self.members { Role::Active(number as u16) } else { Role::Spare }
        };
        let member = |number: usize| NewMember {
            name: format!("m{number}"),
            size_sectors: 16384,
            device_uuid: [number as u8 + 1; 16],
            role: role(number),
            write_mostly: false,
        };
        let chunk_sectors = if self.level.has_chunks() { CHUNK / 512 } else { 0 };
        NewArray {
            set_uuid: [0xa5; 16],
            name: "small".to_owned(),
            created: TimeStamp { seconds: 1, microseconds: 0 },
            level: self.level,
            layout: self.layout,
            chunk_sectors: chunk_sectors as u32,
            raid_disks: self.members as u32,
            members: (0..self.members + spares).map(member).collect(),
            consistency: self.consistency,
            in_sync: true,
        }
    }

    /// The superblocks, with everything closer together than mdadm has it.
    fn superblocks(&self) -> Vec<Superblock> {
        let mut superblocks = self.new_array(0).superblocks().expect("an array");
        for superblock in &mut superblocks {
            superblock.data_offset_sectors = DATA_SECTORS;
            superblock.data_size_sectors = self.member_bytes / 512;
            superblock.size_sectors = self.member_bytes / 512;
            superblock.bad_block_offset_sectors = 40;
            superblock.events = 7;
            if self.consistency == Consistency::Ppl {
                superblock.set_ppl_area(PplArea { offset_sectors: 8, size_sectors: 32 });
            }
        }
        superblocks
    }

    pub(crate) fn member_size_bytes(&self) -> u64 {
        DATA_SECTORS * 512 + self.member_bytes
    }

    /// Members with fresh metadata.
    pub(crate) fn make(&self, memory: impl Fn(usize, Info) -> Memory) -> Vec<Arc<Memory>> {
        let superblocks = self.superblocks();
        let reactor = Reactor::virtual_clock();
        let plain = Memory::new(self.member_size_bytes()).info().clone();
        let info = Info { volatile_cache: true, ..plain };
        (superblocks.iter().enumerate())
            .map(|(number, superblock)| {
                let memory = Arc::new(memory(number, info.clone()));
                let mut channel = Blocking::open(&*memory, &reactor).expect("a channel");
                let mut bytes = superblock.encode();
                bytes.resize(4096, 0);
                channel.write_slice(4096, &bytes).expect("written");
                channel.write_slice((8 + 40) * 512, &[0xff; 4096]).expect("written");
                match self.consistency {
                    Consistency::Bitmap { .. } => {
                        let covers = match self.level {
                            Level::Raid10 => superblock.array_sectors(&[]).expect("a size"),
                            _ => superblock.size_sectors,
                        };
                        let mut bitmap = Bitmap::new(
                            superblock.set_uuid,
                            covers,
                            8192,
                            Some(BITMAP_REGION_BYTES),
                            false,
                        )
                        .expect("a bitmap");
                        bitmap.set_events(superblock.events, superblock.events);
                        channel.write_slice(8192, &bitmap.encode()).expect("written");
                    }
                    Consistency::Ppl => {
                        let header = PplHeader {
                            signature: ppl_signature(&superblock.set_uuid),
                            generation: 1,
                            entries: Vec::new(),
                        };
                        channel.write_slice(8192, &header.encode()).expect("written");
                    }
                    Consistency::Resync => (),
                }
                channel.flush().expect("flushed");
                memory
            })
            .collect()
    }
}

/// Reads the superblocks and assembles them; `None` is a member that is not there. The devices are
/// in the order of candidates.
pub(crate) fn assembly(
    members: &[Option<Arc<dyn Device>>],
) -> (Assembly, Vec<Option<Arc<dyn Device>>>) {
    let reactor = Reactor::virtual_clock();
    let mut devices = Vec::new();
    let mut candidates: Vec<Candidate> = Vec::new();
    for (number, device) in members.iter().enumerate() {
        let Some(device) = device else { continue };
        // A device that never was a member has none.
        let Some(candidate) =
            examine(&**device, &format!("m{number}"), &reactor).expect("readable")
        else {
            continue;
        };
        candidates.push(candidate);
        devices.push(Some(Arc::clone(device)));
    }
    (assemble(&candidates, AssembleOptions::default()).expect("an array"), devices)
}

/// Starts what the members make.
pub(crate) fn started(
    members: &[Option<Arc<dyn Device>>],
    options: &StartOptions,
) -> Result<RunningArray, Error> {
    let (assembly, devices) = assembly(members);
    start(&assembly, &devices, options, &Reactor::virtual_clock())
}

pub(crate) fn checked(members: &[Arc<Memory>]) -> Vec<Option<Arc<dyn Device>>> {
    members
        .iter()
        .map(|member| Some(ContractCheck::over(Arc::clone(member) as Arc<dyn Device>)))
        .collect()
}

/// The superblock that a member has now.
pub(crate) fn superblock(member: &dyn Device) -> Superblock {
    examine(member, "a member", &Reactor::virtual_clock())
        .expect("readable")
        .expect("a superblock")
        .superblock
}

/// The bitmap that a member has now.
pub(crate) fn bitmap(member: &dyn Device) -> Bitmap {
    let mut bytes = vec![0; 8192];
    Blocking::open(member, &Reactor::virtual_clock())
        .and_then(|mut channel| channel.read_slice(8192, &mut bytes))
        .expect("readable");
    assert!(superblock(member).features.contains(Features::BITMAP));
    Bitmap::decode(&bytes).expect("a bitmap")
}

/// Lets a scheduler and a metadata writer do what is due, until nothing is.
pub(crate) fn settle(array: &RunningArray, ask: Option<SyncAction>) -> Vec<array::sync::Outcome> {
    let reactor = Reactor::virtual_clock();
    let mut scheduler = SyncScheduler::open(array.control(), &reactor).expect("a scheduler");
    let mut metadata_writer = array.metadata_writer(&reactor).expect("a metadata writer");
    if let Some(work) = ask {
        scheduler.ask(work).expect("a job to ask for");
    }
    let mut outcomes = Vec::new();
    loop {
        while let Some(notice) = scheduler.poll() {
            if let Notice::Ended(outcome) = notice {
                outcomes.push(outcome);
            }
        }
        if let Some(metadata_writer) = &mut metadata_writer {
            metadata_writer.poll();
        }
        if scheduler.is_idle() {
            return outcomes;
        }
        reactor.wait(None).expect("the virtual clock does not fail");
    }
}

/// Resyncs what has to be and then has everything compared.
pub(crate) fn scrub(array: &RunningArray) -> Result<(), String> {
    for outcome in settle(array, Some(SyncAction::Check(None))) {
        let checked = matches!(outcome.progress.action, SyncAction::Check(_));
        match outcome.ending {
            Ending::Done if checked && outcome.progress.findings.differing_sectors > 0 => {
                return Err(format!(
                    "{} sectors differ",
                    outcome.progress.findings.differing_sectors
                ));
            }
            Ending::Done => (),
            other => return Err(format!("{}: {other:?}", outcome.progress.action)),
        }
    }
    Ok(())
}

/// An array with a metadata writer at its side, whose completions take their time to get to the
/// owner: so it has rests.
pub(crate) struct KeptArray {
    array: RunningArray,
    /// The array, or what is over it.
    device: Arc<dyn Device>,
    seed: u64,
    longest: Duration,
}

impl KeptArray {
    pub(crate) fn over(
        array: RunningArray,
        device: Arc<dyn Device>,
        seed: u64,
        longest: Duration,
    ) -> Arc<dyn Device> {
        Arc::new(KeptArray { array, device, seed, longest })
    }
}

impl Device for KeptArray {
    fn info(&self) -> &Info {
        self.array.info()
    }

    fn describe(&self) -> Node {
        self.array.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        Ok(Box::new(KeptChannel {
            below: self.device.open(depth, reactor)?,
            metadata_writer: RefCell::new(self.array.metadata_writer(reactor)?),
            source: reactor.source(),
            held: BTreeMap::new(),
            next: 0,
            random: Random::with_seed(derive_seed(self.seed, "kept", depth.into())),
            longest: self.longest,
        }))
    }
}

struct KeptChannel {
    below: Box<dyn Channel>,
    metadata_writer: RefCell<Option<MetadataWriter>>,
    source: Source,
    held: BTreeMap<u64, Completion>,
    next: u64,
    random: Random,
    longest: Duration,
}

impl Channel for KeptChannel {
    fn submit(&mut self, request: Request) {
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        if let Some(metadata_writer) = &mut *self.metadata_writer.borrow_mut() {
            metadata_writer.poll();
        }
        let mut new = Vec::new();
        self.below.poll(&mut new);
        for completion in new {
            let wait = Duration::from_nanos(self.random.u64(0..=self.longest.as_nanos() as u64));
            self.source.at(self.source.reactor().now() + wait, self.next);
            self.held.insert(self.next, completion);
            self.next += 1;
        }
        while let Some(event) = self.source.take() {
            done.push(self.held.remove(&event.token).expect("one timer for each completion"));
        }
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight() + self.held.len() as u32
    }
}

/// Runs one request to its end on a channel.
pub(crate) fn run(channel: &mut dyn Channel, reactor: &Reactor, op: Op) -> Result<(), Error> {
    channel.submit(Request::new(1, op));
    crate::common::finish(channel, reactor).remove(0).result
}

//! An array over memory whose members can be told to fail, and what its members should hold.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use array::geometry::{Parity, Raid10};
use array::sync::{
    Control, Ending, Findings, Limits, NewDevice, Notice, Outcome, SyncAction, SyncScheduler,
};
use array::{ArrayDevice, Level, MirrorLevel, ParityLayout, ParityLevel, Raid10Layout};
use block::{Blocking, ContractCheck, Device, Reactor};
use reactor::{Random, WakeReason};
use testkit::Memory;

use crate::common::{Mortal, bytes, mirror_image, parity_image};

pub(crate) const CHUNK: u64 = 2 << 9;
/// Not a multiple of the chunk: the rest is not used.
pub(crate) const MEMBER_BYTES: u64 = 25 << 9;

/// What lies where.
#[derive(Clone, Copy)]
pub(crate) enum Scheme {
    Parity(Parity),
    Copies(Raid10),
}

impl Scheme {
    pub(crate) fn member_count(&self) -> usize {
        match self {
            Scheme::Parity(geometry) => geometry.member_count(),
            Scheme::Copies(geometry) => geometry.member_count(),
        }
    }

    /// How many members may be missing whichever they are.
    pub(crate) fn tolerated(&self) -> usize {
        match self {
            Scheme::Parity(geometry) => geometry.parity_count(),
            Scheme::Copies(geometry) => geometry.layout().copies() as usize - 1,
        }
    }

    /// Whether the redundancy tells which member is wrong, if one is.
    pub(crate) fn tells(&self) -> bool {
        match self {
            Scheme::Parity(geometry) => geometry.parity_count() == 2,
            Scheme::Copies(geometry) => geometry.layout().copies() > 2,
        }
    }

    /// Whether the array uses this byte of the member.
    pub(crate) fn uses(&self, member: usize, offset: u64) -> bool {
        match self {
            Scheme::Parity(geometry) => offset < geometry.row_count() * geometry.chunk_bytes(),
            Scheme::Copies(geometry) => {
                offset < geometry.member_bytes() && geometry.at(member, offset).is_some()
            }
        }
    }

    fn image(&self, data: &[u8]) -> Vec<Vec<u8>> {
        match self {
            Scheme::Parity(geometry) => parity_image(geometry, data),
            Scheme::Copies(geometry) => mirror_image(geometry, data, MEMBER_BYTES),
        }
    }
}

pub(crate) fn raid4(members: usize) -> (ParityLevel, Scheme) {
    let level = ParityLevel::raid4(members, MEMBER_BYTES, CHUNK);
    let scheme = Scheme::Parity(*level.geometry());
    (level, scheme)
}

pub(crate) fn raid5(members: usize, layout: ParityLayout) -> (ParityLevel, Scheme) {
    let level = ParityLevel::raid5(members, MEMBER_BYTES, CHUNK, layout);
    let scheme = Scheme::Parity(*level.geometry());
    (level, scheme)
}

pub(crate) fn raid6(members: usize, layout: ParityLayout) -> (ParityLevel, Scheme) {
    let level = ParityLevel::raid6(members, MEMBER_BYTES, CHUNK, layout);
    let scheme = Scheme::Parity(*level.geometry());
    (level, scheme)
}

pub(crate) fn raid10(members: usize, layout: Raid10Layout) -> (MirrorLevel, Scheme) {
    let geometry = Raid10::new(members, MEMBER_BYTES, CHUNK, layout);
    (MirrorLevel::raid10(geometry), Scheme::Copies(geometry))
}

pub(crate) fn raid1(members: usize) -> (MirrorLevel, Scheme) {
    let geometry =
        Raid10::new(members, MEMBER_BYTES, MEMBER_BYTES, Raid10Layout::near(members as u32));
    (MirrorLevel::raid1(members, MEMBER_BYTES), Scheme::Copies(geometry))
}

/// Every way to make a redundant array of two to seven members, with its name.
pub(crate) fn each_array(
    mut parity: impl FnMut(&str, (ParityLevel, Scheme)),
    mut mirror: impl FnMut(&str, (MirrorLevel, Scheme)),
) {
    for members in 2..=7 {
        parity(&format!("raid4 of {members}"), raid4(members));
        for &layout in ParityLayout::RAID5 {
            parity(&format!("raid5 {} of {members}", layout.name()), raid5(members, layout));
        }
        for &layout in ParityLayout::RAID6.iter().filter(|_| members >= 4) {
            parity(&format!("raid6 {} of {members}", layout.name()), raid6(members, layout));
        }
        mirror(&format!("raid1 of {members}"), raid1(members));
        for name in ["n2", "n3", "f2", "f3", "o2", "o3", "n2f2", "n2o2"] {
            let layout = Raid10Layout::from_name(name).expect("a layout");
            if layout.problem(members).is_none() {
                mirror(&format!("raid10 {name} of {members}"), raid10(members, layout));
            }
        }
    }
}

/// A member's device, found again by its name.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) memory: Arc<Memory>,
    pub(crate) mortal: Arc<Mortal>,
}

/// All devices there ever were, as members and spares.
pub(crate) struct Parts {
    pub(crate) seed: u64,
    pub(crate) all: Mutex<Vec<Arc<Part>>>,
}

impl Parts {
    pub(crate) fn new(seed: u64) -> Arc<Parts> {
        Arc::new(Parts { seed, all: Mutex::default() })
    }

    /// One more device, full of rubbish.
    pub(crate) fn make(&self) -> Arc<Part> {
        let mut all = self.all.lock().expect("no test thread panics in here");
        let number = all.len() as u64;
        let memory = Memory::new(MEMBER_BYTES);
        let rubbish: Vec<u8> =
            (0..MEMBER_BYTES).map(|at| (at as u8) ^ (0xa0 + number as u8)).collect();
        let write = Blocking::open(&memory, &Reactor::virtual_clock())
            .and_then(|mut channel| channel.write_slice(0, &rubbish));
        write.expect("written");
        let memory = Arc::new(memory.delayed(self.seed * 1000 + number, Duration::from_micros(20)));
        let name: &'static str = format!("m{number}").leak();
        let part = Arc::new(Part {
            name,
            mortal: Mortal::over(Arc::clone(&memory) as Arc<dyn Device>, name),
            memory,
        });
        all.push(Arc::clone(&part));
        part
    }

    pub(crate) fn new_device(&self) -> NewDevice {
        NewDevice::whole(self.make().device())
    }

    /// The device in each slot of the array.
    pub(crate) fn seated(&self, control: &Control) -> Vec<Option<Arc<Part>>> {
        let all = self.all.lock().expect("no test thread panics in here");
        let part = |name: &String| {
            all.iter().find(|part| name.ends_with(&format!("(file:{})", part.name))).cloned()
        };
        control.snapshot().names.iter().map(part).collect()
    }
}

impl Part {
    pub(crate) fn device(&self) -> Arc<dyn Device> {
        ContractCheck::over(Arc::clone(&self.mortal) as Arc<dyn Device>)
    }
}

pub(crate) struct Bench {
    pub(crate) scheme: Scheme,
    pub(crate) parts: Arc<Parts>,
    pub(crate) array: Arc<ArrayDevice>,
    pub(crate) control: Control,
}

impl Bench {
    /// All members are there and what they hold fits together.
    pub(crate) fn new((level, scheme): (impl Level, Scheme), seed: u64) -> Bench {
        let parts = Parts::new(seed);
        let members = (0..scheme.member_count()).map(|_| Some(parts.make().device()));
        let array = Arc::new(ArrayDevice::assemble(level, members.collect()).expect("an array"));
        let control = array.control();
        let bench = Bench { scheme, parts, array, control };
        let mut random = Random::with_seed(seed);
        let data: Vec<u8> = (0..bench.array.info().size_bytes).map(|_| random.u8(..)).collect();
        let mut channel =
            Blocking::open(&*bench.array, &Reactor::virtual_clock()).expect("a channel");
        channel.write_slice(0, &data).expect("written");
        bench
    }

    /// Whether every member that is not missing holds what it should, by what the array reads as.
    pub(crate) fn scrub(&self) -> Result<(), String> {
        let data = bytes(&*self.array);
        let snapshot = self.control.snapshot();
        let missing = snapshot.absent().union(&snapshot.recovering());
        let seated = self.parts.seated(&self.control);
        for (member, expected) in self
            .scheme
            .image(&data)
            .iter()
            .enumerate()
            .filter(|(member, _)| !missing.contains(*member))
        {
            let part = seated[member].as_ref().expect("who is in sync sits there");
            let found = bytes(&*part.memory);
            let wrong = (0..expected.len())
                .find(|&at| self.scheme.uses(member, at as u64) && found[at] != expected[at]);
            if let Some(at) = wrong {
                return Err(format!(
                    "member {member} ({}) at {at}: {:#04x} instead of {:#04x}",
                    part.name, found[at], expected[at]
                ));
            }
        }
        Ok(())
    }

    /// Changes a byte behind the array's back.
    pub(crate) fn corrupt(&self, member: usize, offset: u64) {
        let part = self.parts.seated(&self.control)[member].clone().expect("somebody");
        let mut channel =
            Blocking::open(&*part.memory, &Reactor::virtual_clock()).expect("a channel");
        let block = offset / 512 * 512;
        let mut bytes = [0; 512];
        channel.read_slice(block, &mut bytes).expect("read");
        bytes[(offset - block) as usize] ^= 0x40;
        channel.write_slice(block, &bytes).expect("written");
    }
}

/// Small ranges, several at a time, and as fast as they go.
pub(crate) const LIVELY: Limits = Limits {
    least_bytes_per_second: 1 << 30,
    most_bytes_per_second: 1 << 30,
    range_bytes: 1536,
    ranges_in_flight: 3,
    burst_bytes: 0,
};

/// Does what is due and what is asked until nothing is.
pub(crate) fn keep(control: &Control, asked: &[SyncAction]) -> Result<Vec<Outcome>, String> {
    let reactor = Reactor::virtual_clock();
    let mut scheduler =
        SyncScheduler::open(control, &reactor).map_err(|error| error.to_string())?;
    scheduler.set_limits(LIVELY);
    asked.iter().for_each(|work| scheduler.ask(work.clone()).expect("a check or a repair"));
    let mut outcomes = Vec::new();
    loop {
        while let Some(notice) = scheduler.poll() {
            if let Notice::Ended(outcome) = notice {
                outcomes.push(outcome);
            }
        }
        if scheduler.is_idle() {
            return Ok(outcomes);
        }
        if scheduler.progress().is_none() {
            continue;
        }
        if reactor.wait(None).expect("the virtual clock does not fail") == WakeReason::Idle {
            return Err(format!(
                "nothing is under way, but {:?} is not done",
                scheduler.progress()
            ));
        }
    }
}

/// One check or repair: how many sectors it found to differ.
pub(crate) fn differing(control: &Control, work: SyncAction) -> Result<u64, String> {
    findings(control, work).map(|findings| findings.differing_sectors)
}

/// One check or repair: what it found.
pub(crate) fn findings(control: &Control, work: SyncAction) -> Result<Findings, String> {
    let outcomes = keep(control, &[work])?;
    match outcomes.last() {
        Some(Outcome { progress, ending: Ending::Done }) => Ok(progress.findings.clone()),
        other => Err(format!("{other:?}")),
    }
}

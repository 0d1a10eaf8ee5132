//! Random requests against the reference model while members fail, die, leave, come back, are
//! replaced and rebuilt, and scrubs run. Then everything that is due is done, and every byte of
//! every member is what it should be.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use array::sync::{Control, Ending, Notice, SyncAction, SyncScheduler};
use array::{Level, MemberSet, MemberState};
use block::{Channel, Completion, ContractCheck, Device, Error, Info, Node, Reactor, Request};
use reactor::Random;
use testkit::model::{self, Load};

use super::bench::{Bench, LIVELY, Parts, Scheme, differing, each_array, keep};

/// An array with its scheduler, and with a device that pulls members out: whenever the first
/// channel is polled.
struct Turmoil {
    array: Arc<dyn Device>,
    control: Control,
    scheme: Scheme,
    parts: Arc<Parts>,
    opened: AtomicBool,
    /// What should not have been.
    wrong: Arc<Mutex<Option<String>>>,
    deeds: Arc<Mutex<[u32; 8]>>,
}

impl Device for Turmoil {
    fn info(&self) -> &Info {
        self.array.info()
    }

    fn describe(&self) -> Node {
        self.array.describe()
    }

    fn open(&self, depth: u32, reactor: &Reactor) -> Result<Box<dyn Channel>, Error> {
        let mut scheduler = None;
        if !self.opened.swap(true, Ordering::Relaxed) {
            let mut opened = SyncScheduler::open(&self.control, reactor)?;
            opened.set_limits(LIVELY);
            scheduler = Some(opened);
        }
        Ok(Box::new(TurmoilChannel {
            below: self.array.open(depth, reactor)?,
            scheduler,
            control: self.control.clone(),
            scheme: self.scheme,
            parts: Arc::clone(&self.parts),
            random: Random::with_seed(self.parts.seed ^ 0x5eed),
            wrong: Arc::clone(&self.wrong),
            deeds: Arc::clone(&self.deeds),
            doomed: HashSet::new(),
        }))
    }
}

struct TurmoilChannel {
    below: Box<dyn Channel>,
    scheduler: Option<SyncScheduler>,
    control: Control,
    scheme: Scheme,
    parts: Arc<Parts>,
    random: Random,
    wrong: Arc<Mutex<Option<String>>>,
    deeds: Arc<Mutex<[u32; 8]>>,
    /// Members whose latest replacement will die: perhaps only when it is the member.
    doomed: HashSet<usize>,
}

impl TurmoilChannel {
    fn complain(&self, text: String) {
        self.wrong.lock().expect("no panics").get_or_insert(text);
    }

    /// Members that are missing or about to be.
    fn lost(&self) -> MemberSet {
        let snapshot = self.control.snapshot();
        let mut lost = snapshot.absent().union(&snapshot.recovering());
        for (member, part) in self.parts.seated(&self.control).iter().enumerate() {
            let inherits = self.doomed.contains(&member) && snapshot.replaced.contains(&member);
            if inherits || part.as_ref().is_some_and(|part| part.mortal.is_doomed()) {
                lost.insert(member);
            }
        }
        lost
    }

    /// Does something to a member, if that loses no data.
    fn act(&mut self) {
        let member = self.random.usize(0..self.scheme.member_count());
        let lost = self.lost();
        let one_more = lost.contains(member) || (lost.count() as usize) < self.scheme.tolerated();
        let snapshot = self.control.snapshot();
        let deed = match self.random.u8(0..16) {
            0..3 if one_more && self.control.fail(member).is_ok() => 0,
            3..6 if one_more => {
                let Some(part) = self.parts.seated(&self.control)[member].clone() else { return };
                part.mortal.dies_after(self.random.u64(0..100));
                1
            }
            6..9 if snapshot.spares.len() < 2
                && self.control.add(self.parts.new_device()).is_ok() =>
            {
                2
            }
            9..11 if snapshot.members[member] == MemberState::Faulty => {
                self.control
                    .remove(member)
                    .unwrap_or_else(|error| self.complain(error.to_string()));
                let seated = self.control.add_to_slot(member, self.parts.new_device(), || None);
                seated.unwrap_or_else(|error| self.complain(error.to_string()));
                3
            }
            11..14 if snapshot.members[member] == MemberState::InSync => {
                let new_device = self.parts.make();
                if self
                    .control
                    .replace(member, array::sync::NewDevice::whole(new_device.device()))
                    .is_err()
                {
                    return;
                }
                self.doomed.remove(&member);
                if one_more && self.random.u8(0..4) == 0 {
                    self.doomed.insert(member);
                    new_device.mortal.dies_after(self.random.u64(0..40));
                }
                4
            }
            14 => {
                if let Some(scheduler) = &mut self.scheduler {
                    scheduler.ask(SyncAction::Check(None)).expect("a check");
                }
                5
            }
            15 => {
                if let Some(scheduler) = &mut self.scheduler {
                    scheduler.cancel();
                    scheduler.resume();
                }
                6
            }
            _ => return,
        };
        self.deeds.lock().expect("no panics")[deed] += 1;
    }
}

impl Channel for TurmoilChannel {
    fn submit(&mut self, request: Request) {
        self.below.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        let at = done.len();
        self.below.poll(done);
        if let Some(error) =
            done[at..].iter().find_map(|completion| completion.result.as_ref().err())
        {
            self.complain(format!("a request failed: {error}"));
        }
        if self.scheduler.is_some() && self.random.u8(0..24) == 0 {
            self.act();
        }
        while let Some(notice) = self.scheduler.as_mut().and_then(SyncScheduler::poll) {
            let Notice::Ended(outcome) = notice else { continue };
            self.deeds.lock().expect("no panics")[7] +=
                u32::from(matches!(outcome.ending, Ending::Done));
            if outcome.progress.findings.differing_sectors > 0 || !outcome.progress.lost.is_empty()
            {
                self.complain(format!("{outcome:?}"));
            }
        }
    }

    fn in_flight(&self) -> u32 {
        self.below.in_flight()
    }
}

/// What was done to the members: failed, died, spare, came back, replaced, checked, cancelled; and
/// jobs that were done.
pub(crate) type MemberCounts = [u32; 8];

pub(crate) fn survive<L: Level>(
    made: (L, Scheme),
    seed: u64,
    requests: u32,
) -> Result<MemberCounts, String> {
    let bench = Bench::new(made, seed);
    let turmoil = Arc::new(Turmoil {
        array: ContractCheck::over(Arc::clone(&bench.array) as Arc<dyn Device>),
        control: bench.control.clone(),
        scheme: bench.scheme,
        parts: Arc::clone(&bench.parts),
        opened: AtomicBool::new(false),
        wrong: Arc::default(),
        deeds: Arc::default(),
    });
    let load = Load { requests, depth: 6, channels: 2, longest_blocks: 9 };
    let device = Arc::clone(&turmoil) as Arc<dyn Device>;
    model::drive(&device, &Reactor::virtual_clock(), &load, seed)
        .map_err(|violation| violation.to_string())?;
    // Now everything is made whole again.
    let before = bytes_of(&bench)?;
    bench.parts.all.lock().expect("no panics").iter().for_each(|part| part.mortal.lives_on());
    for _ in 0..2 * bench.scheme.member_count() {
        let snapshot = bench.control.snapshot();
        let missing = snapshot.absent().count() as usize;
        (snapshot.spares.len()..missing)
            .for_each(|_| bench.control.add(bench.parts.new_device()).expect("it fits"));
        let outcomes = keep(&bench.control, &[]).map_err(|text| format!("seed {seed}: {text}"))?;
        if let Some(outcome) =
            outcomes.iter().find(|outcome| outcome.progress.findings.differing_sectors > 0)
        {
            return Err(format!("seed {seed}: {outcome:?}"));
        }
    }
    if let Some(text) = turmoil.wrong.lock().expect("no panics").take() {
        return Err(format!("seed {seed}: {text}"));
    }
    let members = bench.control.snapshot().members;
    if members.iter().any(|condition| *condition != MemberState::InSync) {
        return Err(format!("seed {seed}: {members:?}"));
    }
    bench.scrub().map_err(|text| format!("seed {seed}: {text}"))?;
    if bytes_of(&bench)? != before {
        return Err(format!("seed {seed}: the array reads differently after its rebuilds"));
    }
    match differing(&bench.control, SyncAction::Check(None))? {
        0 => Ok(*turmoil.deeds.lock().expect("no panics")),
        sectors => Err(format!("seed {seed}: {sectors} sectors differ")),
    }
}

fn bytes_of(bench: &Bench) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; bench.array.info().size_bytes as usize];
    let read = block::Blocking::open(&*bench.array, &Reactor::virtual_clock())
        .and_then(|mut channel| channel.read_slice(0, &mut bytes));
    read.map(|()| bytes).map_err(|error| error.to_string())
}

#[test]
fn whatever_becomes_of_the_members_nothing_is_lost() {
    let deeds = std::cell::RefCell::new([0; 8]);
    let note = |name: &str, result: Result<MemberCounts, String>| {
        let done = result.unwrap_or_else(|text| panic!("{name}: {text}"));
        deeds.borrow_mut().iter_mut().zip(done).for_each(|(sum, more)| *sum += more);
    };
    for seed in 0..2 {
        each_array(
            |name, made| note(name, survive(made, seed, 250)),
            |name, made| note(name, survive(made, seed, 250)),
        );
    }
    let deeds = deeds.into_inner();
    assert!(deeds.iter().all(|&count| count > 50), "too little happened: {deeds:?}");
}

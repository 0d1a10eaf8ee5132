//! Every history of so many updates of a small array, each cut off at every moment: whatever is on
//! the members then has to be true. And mistakes in drafts, each of which has to be found.

use std::collections::BTreeMap;

use super::*;
use crate::md::{AssembleOptions, Bitmap, Candidate, Role, Slot, Version, assemble};
use crate::record::facts::tests::superblocks;
use crate::record::{DeviceRecord, PAGE_BYTES, UpdateOutcome};

const MEMBERS: usize = 3;
/// The device of the spare.
const SPARE: usize = MEMBERS;
const REGION: u64 = 4096;
/// What is written to.
const WRITTEN: std::ops::Range<u64> = REGION..2 * REGION;

/// What happens to the array, and has an update made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A write begins and ends; a flush may never come.
    Write,
    Rest,
    End,
    ClearBits,
    KeepAlive,
    Fail(usize),
    /// The spare takes the place of a member that is out, and gets on in two steps.
    Rebuild(usize),
    /// A resync falls due, and gets on in two steps.
    Resync,
}

const ACTIONS: [Action; 10] = [
    Action::Write,
    Action::Rest,
    Action::End,
    Action::ClearBits,
    Action::KeepAlive,
    Action::Fail(0),
    Action::Fail(1),
    Action::Rebuild(0),
    Action::Rebuild(1),
    Action::Resync,
];

/// What is done wrong, to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    CleansInOne,
    SkipsFlush,
    SuperblocksBeforeBitmap,
    SkipsBitmap,
    WritesToFailed,
    TakesEventsBack,
    SkipsSteps,
    LeavesOneOut,
    ForgetsHowFarItGot,
}

/// What a device holds.
#[derive(Clone, Debug)]
struct Disk {
    superblock: Superblock,
    /// Its only page.
    bitmap: Vec<u8>,
}

#[derive(Clone)]
struct World {
    record: Record,
    disks: Vec<Disk>,
    states: Vec<RecordedState>,
    resync_from: Option<u64>,
    /// Members hold something that a crash may lose.
    is_volatile: bool,
    /// Some of that is the host's.
    has_writes: bool,
}

impl World {
    fn new(has_bitmap: bool) -> World {
        let mut superblocks = superblocks();
        let events = 10;
        superblocks.iter_mut().for_each(|superblock| superblock.events = events);
        let spare = Superblock {
            device_uuid: [9; 16],
            member_number: SPARE as u32,
            events: events - 1,
            ..superblocks[0].clone()
        };
        superblocks.push(spare);
        let mut bitmap = Bitmap::new([1; 16], 10 * REGION / 512, PAGE_BYTES, Some(4096), false)
            .expect("a bitmap");
        bitmap.set_events(events, events);
        let device = |superblock: &Superblock| DeviceRecord {
            superblock: superblock.clone(),
            corrected_before: 0,
            is_fresh: superblock.member_number != SPARE as u32,
            is_out: false,
        };
        let disk = |superblock: &Superblock| Disk {
            superblock: superblock.clone(),
            bitmap: bitmap.encode_page(0),
        };
        let mut record = Record {
            devices: superblocks.iter().map(device).collect(),
            roles: (0..MEMBERS).map(Some).collect(),
            numbers: (0..MEMBERS as u32).map(Some).collect(),
            events,
            events_least: events,
            times: BTreeMap::from([(events, superblocks[0].updated)]),
            is_active: false,
            is_said_clean: true,
            facts: None,
            write_intent: has_bitmap.then(|| WriteIntentBitmap::new(bitmap.clone())),
            empty_log: None,
            wanted: Vec::new(),
        };
        let disks = superblocks.iter().map(disk).collect();
        let states = vec![RecordedState::InSync; MEMBERS];
        record.facts = Some(Facts {
            members: states.clone(),
            numbers: record.numbers.clone(),
            lost: Vec::new(),
            resync_from: None,
        });
        World { record, disks, states, resync_from: None, is_volatile: false, has_writes: false }
    }

    fn facts(&self) -> Facts {
        Facts {
            members: self.states.clone(),
            numbers: self.record.numbers.clone(),
            lost: Vec::new(),
            resync_from: self.resync_from,
        }
    }

    /// The request that is made of an action, if it can happen now.
    fn act(&mut self, action: Action) -> Option<Request> {
        let present = Request::of(self.record.is_active);
        let clean = Request { flushes: true, ..Request::of(false) };
        match action {
            Action::Write => {
                self.record.wanted.push(WRITTEN);
                Some(Request::of(true))
            }
            Action::Rest => self.record.is_active.then_some(clean),
            Action::End => Some(Request { clear: Some(Clear::Unused), ends: true, ..clean }),
            Action::ClearBits => self
                .record
                .write_intent
                .is_some()
                .then_some(Request { clear: Some(Clear::Unused), ..present }),
            Action::KeepAlive => Some(Request { keeps_alive: true, ..present }),
            Action::Fail(member) => {
                let others = self.states.iter().enumerate();
                let mut others = others.filter(|(other, _)| *other != member);
                let may_go = others.any(|(_, state)| *state == RecordedState::InSync);
                if !may_go || self.states[member] == RecordedState::Out {
                    return None;
                }
                self.states[member] = RecordedState::Out;
                Some(present)
            }
            Action::Rebuild(member) => self.rebuild(member).then_some(present),
            Action::Resync => {
                self.resync_from = match self.resync_from {
                    None => Some(0),
                    Some(0) => Some(256),
                    Some(_) => None,
                };
                self.is_volatile = true;
                Some(present)
            }
        }
    }

    fn rebuild(&mut self, member: usize) -> bool {
        self.states[member] = match self.states[member] {
            RecordedState::Out if !self.record.roles.contains(&Some(SPARE)) => {
                self.record.assign_role(member, SPARE);
                RecordedState::Recovering(0)
            }
            RecordedState::Recovering(0) => RecordedState::Recovering(640),
            RecordedState::Recovering(_) => RecordedState::InSync,
            RecordedState::InSync | RecordedState::Out => return false,
        };
        self.is_volatile = true;
        true
    }

    fn draft(&mut self, mut request: Request, mistake: Mistake) -> Draft {
        let input =
            DraftInput { facts: self.facts(), read_errors: Vec::new(), fence: None, now: None };
        if mistake == Mistake::CleansInOne {
            request.cleans_in_two = false;
        }
        if mistake == Mistake::SkipsSteps {
            self.record.events_least = self.record.events;
        }
        let mut draft = draft(&self.record, &input, &request).expect("no other server is about");
        spoil(&mut draft, mistake, self);
        draft
    }

    /// The devices that are members by the array's states and by their own superblocks.
    fn members(&self) -> impl Iterator<Item = usize> {
        let roles = self.record.roles.iter().zip(&self.states);
        let in_service = roles.filter(|(_, state)| **state != RecordedState::Out);
        in_service
            .filter_map(|(device, _)| *device)
            .filter(|&device| matches!(self.disks[device].superblock.role(), Role::Active(_)))
    }

    /// One device does its part of a phase.
    fn write(&mut self, phase: &Phase, device: usize) {
        match phase {
            Phase::BitmapPages { bytes, .. } => self.disks[device].bitmap.clone_from(bytes),
            Phase::Superblocks(written) => {
                let own = written.iter().find(|(written, _)| *written == device);
                self.disks[device].superblock = own.expect("it gets one").1.clone();
            }
            Phase::Flush(_) | Phase::EmptyLogs(_) | Phase::BadBlockLogs(_) => (),
        }
    }
}

/// Plants a mistake in a draft.
fn spoil(draft: &mut Draft, mistake: Mistake, world: &World) {
    let out = world.states.iter().position(|state| *state == RecordedState::Out);
    match mistake {
        Mistake::SkipsFlush => draft.phases.retain(|phase| !matches!(phase, Phase::Flush(_))),
        Mistake::SuperblocksBeforeBitmap => draft.phases.reverse(),
        Mistake::SkipsBitmap => {
            draft.phases.retain(|phase| !matches!(phase, Phase::BitmapPages { .. }));
        }
        Mistake::WritesToFailed => {
            if let (Some(Phase::Superblocks(written)), Some(out)) = (draft.phases.last_mut(), out) {
                written.push((out, world.record.devices[out].superblock.clone()));
            }
        }
        Mistake::TakesEventsBack => {
            if let Some(Phase::Superblocks(written)) = draft.phases.last_mut() {
                written.iter_mut().for_each(|(_, superblock)| superblock.events -= 2);
            }
        }
        Mistake::LeavesOneOut => {
            if let Some(Phase::Superblocks(written)) = draft.phases.last_mut() {
                written.pop();
            }
        }
        Mistake::None
        | Mistake::CleansInOne
        | Mistake::SkipsSteps
        | Mistake::ForgetsHowFarItGot => (),
    }
}

/// What one member's superblock says is held and agrees, as positions.
fn promised(superblock: &Superblock) -> (u64, u64) {
    let held = match superblock.role() {
        Role::Active(_) => superblock.recovering_from_sectors().unwrap_or(u64::MAX),
        _ => 0,
    };
    (held, superblock.resync_offset_sectors)
}

/// What may not be, as far as a phase shows it before any of it is written.
fn check_phase(world: &World, phase: &Phase) -> Result<(), String> {
    for device in phase.devices() {
        let is_out = world
            .states
            .iter()
            .zip(&world.record.roles)
            .any(|(state, held)| *state == RecordedState::Out && *held == Some(device));
        if is_out || world.record.devices[device].is_out {
            return Err(format!("device {device} is out and is written to"));
        }
    }
    let Phase::Superblocks(written) = phase else { return Ok(()) };
    for (device, superblock) in written {
        let before = &world.disks[*device].superblock;
        if superblock.events < before.events {
            return Err(format!("device {device}: events go back"));
        }
        let (held, agrees) = promised(superblock);
        let (held_before, agreed_before) = promised(before);
        if world.is_volatile && (held > held_before || agrees > agreed_before) {
            return Err(format!("device {device}: more is promised than is durable"));
        }
    }
    Ok(())
}

/// What has to hold at every moment, for that may be the last.
fn check_moment(world: &World) -> Result<(), String> {
    let members: Vec<usize> = world.members().collect();
    let superblocks = || members.iter().map(|&device| &world.disks[device].superblock);
    let newest = superblocks().map(|one| one.events).max().unwrap_or(0);
    if superblocks().any(|one| one.events + 1 < newest) {
        return Err("a member is so far behind that it counts as stale".to_owned());
    }
    let clean = superblocks().filter(|one| one.is_clean()).map(|one| one.events).max();
    let is_behind = |one: &Superblock| !one.is_clean() && Some(one.events) < clean;
    if superblocks().any(is_behind) {
        return Err("a member that is dirty has fewer events than one that is clean".to_owned());
    }
    if world.record.write_intent.is_none() {
        return Ok(());
    }
    for device in members {
        let Disk { superblock, bitmap } = &world.disks[device];
        let bitmap = Bitmap::decode(bitmap).expect("a bitmap");
        if bitmap.header().events < superblock.events {
            return Err(format!("device {device}: the bitmap is behind the superblock"));
        }
        if world.has_writes && !bitmap.is_set(WRITTEN.start / 512..WRITTEN.end / 512) {
            return Err(format!("device {device}: what was written is not marked"));
        }
    }
    Ok(())
}

/// What a start would make of the members now.
fn check_assembly(world: &World) -> Result<(), String> {
    let candidate = |disk: &Disk| Candidate {
        name: format!("m{}", disk.superblock.member_number),
        size_sectors: 8192,
        version: Version::V1_2,
        superblock: Superblock::decode(&disk.superblock.encode()).expect("what was encoded"),
        bitmap: None,
    };
    let candidates: Vec<Candidate> = world.disks.iter().map(candidate).collect();
    let assembly = assemble(&candidates, AssembleOptions::default())
        .map_err(|error| format!("no array: {error}"))?;
    // One that is being rebuilt may have to begin anew.
    let in_sync = |device: &usize| {
        let role = world.record.role_of(*device);
        role.is_some_and(|role| world.states[role] == RecordedState::InSync)
    };
    for device in world.members().filter(in_sync) {
        let is_used = assembly.slots.iter().any(|slot| match slot {
            Slot::Present(used) | Slot::Recovering { used, .. } => used.candidate == device,
            Slot::Stale { .. } | Slot::Missing => false,
        });
        if !is_used {
            return Err(format!("device {device} is not used: {:?}", assembly.left_out));
        }
    }
    if assembly.clean && world.has_writes {
        return Err("it starts as clean, and was being written to".to_owned());
    }
    Ok(())
}

/// What has to be on the members when all of an update is.
fn check_end(world: &World) -> Result<(), String> {
    let facts = world.record.facts.as_ref().expect("known when an update has ended");
    for (role, (state, device)) in facts.members.iter().zip(&world.record.roles).enumerate() {
        let Some(device) = device.filter(|_| *state != RecordedState::Out) else { continue };
        let Superblock { events, .. } = world.disks[device].superblock;
        let said = (promised(&world.disks[device].superblock).0, events);
        let position = match *state {
            RecordedState::Recovering(sector) => sector,
            RecordedState::InSync | RecordedState::Out => u64::MAX,
        };
        if said != (position, world.record.events) {
            return Err(format!("role {role}: its superblock says {said:?}"));
        }
    }
    Ok(())
}

/// A walk through all histories.
struct Walk {
    mistake: Mistake,
    drafts: usize,
    moments: usize,
}

impl Walk {
    /// All histories of so many updates, of an array with a bitmap and of one without.
    fn of(mistake: Mistake, updates: u32) -> (Walk, Result<(), String>) {
        let mut walk = Walk { mistake, drafts: 0, moments: 0 };
        let mut explore = |has_bitmap| walk.explore(&World::new(has_bitmap), updates);
        let result = explore(false).and_then(|()| explore(true));
        (walk, result)
    }

    fn explore(&mut self, world: &World, updates: u32) -> Result<(), String> {
        if updates == 0 {
            return Ok(());
        }
        for action in ACTIONS {
            let mut next = world.clone();
            let Some(request) = next.act(action) else { continue };
            let at = |problem: String| format!("{action:?}: {problem}");
            self.update(next, action, request, updates).map_err(at)?;
        }
        Ok(())
    }

    /// One update, and what may come after it.
    fn update(
        &mut self,
        mut world: World,
        action: Action,
        request: Request,
        updates: u32,
    ) -> Result<(), String> {
        let draft = world.draft(request, self.mistake);
        self.drafts += 1;
        if draft.events < world.record.events {
            return Err("the count of events goes down".to_owned());
        }
        world.record.begin(&draft);
        for (phases_done, phase) in draft.phases.iter().enumerate() {
            check_phase(&world, phase)?;
            self.cut_off(&world, phase, updates)?;
            let devices = phase.devices();
            if matches!(phase, Phase::Superblocks(_)) {
                // Given up after the first device, and gone on from there.
                let mut half_done = world.clone();
                half_done.write(phase, devices[0]);
                let forgets = self.mistake == Mistake::ForgetsHowFarItGot;
                let phases_done = if forgets { 0 } else { phases_done };
                half_done.record.end(draft.clone(), UpdateOutcome::Abandoned { phases_done });
                self.explore(&half_done, updates - 1)?;
            }
            devices.iter().for_each(|&device| world.write(phase, device));
            if matches!(phase, Phase::Flush(_)) {
                (world.is_volatile, world.has_writes) = (false, false);
            }
        }
        world.record.end(draft, UpdateOutcome::Done);
        check_end(&world)?;
        if action == Action::Write {
            (world.is_volatile, world.has_writes) = (true, true);
        }
        check_moment(&world)?;
        self.explore(&world, updates - 1)
    }

    /// The power fails within a phase: any of its devices may have done their part.
    fn cut_off(&mut self, world: &World, phase: &Phase, updates: u32) -> Result<(), String> {
        let devices = phase.devices();
        for done in 0..1_usize << devices.len() {
            let mut cut = world.clone();
            for (place, &device) in devices.iter().enumerate() {
                if done >> place & 1 == 1 {
                    cut.write(phase, device);
                }
            }
            self.moments += 1;
            // The last update of a history is assembled: what came before was one of those.
            if updates == 1 {
                check_assembly(&cut)?;
            }
            check_moment(&cut)?;
        }
        Ok(())
    }
}

#[test]
fn whatever_is_on_the_members_is_true() {
    let (walk, result) = Walk::of(Mistake::None, 3);
    assert_eq!(result, Ok(()));
    assert!(walk.drafts > 1000 && walk.moments > 10_000, "{} {}", walk.drafts, walk.moments);
}

#[test]
fn mistakes_in_drafts_are_found() {
    for mistake in [
        Mistake::CleansInOne,
        Mistake::SkipsFlush,
        Mistake::SuperblocksBeforeBitmap,
        Mistake::SkipsBitmap,
        Mistake::WritesToFailed,
        Mistake::TakesEventsBack,
        Mistake::SkipsSteps,
        Mistake::LeavesOneOut,
        Mistake::ForgetsHowFarItGot,
    ] {
        let (_, result) = Walk::of(mistake, 3);
        println!("{mistake:?}: {}", result.expect_err("a mistake is found"));
    }
}

#[test]
fn a_draft_names_its_server_until_it_gives_the_array_free() {
    let world = World::new(false);
    let fence = Some(FenceTerms { is_forced: false, server: 7 });
    let input = DraftInput { facts: world.facts(), read_errors: Vec::new(), fence, now: None };
    let server = |record: &Record, request: &Request| {
        let draft = draft(record, &input, request).expect("all members are there");
        let (_, superblock) = draft.superblocks.last[0].clone();
        (superblock.updated.microseconds, draft)
    };
    let mut record = world.record.clone();
    let (written_by, dirty) = server(&record, &Request::of(true));
    assert_eq!((written_by, dirty.releases), (7, false));
    record.begin(&dirty);
    record.end(dirty, UpdateOutcome::Done);
    let end = Request { ends: true, flushes: true, ..Request::of(false) };
    let (written_by, clean) = server(&record, &end);
    assert_eq!((written_by, clean.releases), (7, false), "first it is called clean");
    record.begin(&clean);
    record.end(clean, UpdateOutcome::Done);
    let (written_by, free) = server(&record, &end);
    assert_eq!((written_by, free.releases), (0, true));
}

#[test]
fn with_fewer_than_half_of_the_members_nothing_is_drafted() {
    let mut world = World::new(false);
    world.states[..2].fill(RecordedState::Out);
    let mut input = DraftInput {
        facts: world.facts(),
        read_errors: Vec::new(),
        fence: Some(FenceTerms { is_forced: false, server: 7 }),
        now: None,
    };
    let drafted = |input: &DraftInput| draft(&world.record, input, &Request::of(true)).map(drop);
    assert_eq!(drafted(&input), Err(TooFewMembers { left: 1, of: 3 }));
    input.fence = Some(FenceTerms { is_forced: true, server: 7 });
    assert_eq!(drafted(&input), Ok(()));
    input.fence = None;
    assert_eq!(drafted(&input), Ok(()));
}

#[test]
fn neighbouring_pages_go_out_together() {
    assert_eq!(runs(&[]).count(), 0);
    assert_eq!(runs(&[0, 1, 2, 5, 7, 8]).collect::<Vec<_>>(), [(0, 3), (5, 1), (7, 2)]);
    let many: Vec<usize> = (3..40).collect();
    assert_eq!(runs(&many).collect::<Vec<_>>(), [(3, 16), (19, 16), (35, 5)]);
}

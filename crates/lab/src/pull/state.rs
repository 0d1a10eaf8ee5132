//! States of a recording: made, started from, mounted, judged, and kept when they broke something.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use array::metadata::examine;
use block::{Blocking, Device, Node, Reactor};
use confine::Confinement;
use export::fuse::{FuseFile, FuseOptions};
use export::tool;
use guest::setup::{STOP_ARRAY, assemble_array};
use host::Error;
use pull::{
    Crash, Cut, Findings, History, Judgement, Log, LoggedRequest, Mark, NoVerdict, Policy,
    expected, nothing_left, promises,
};
use reactor::{Random, derive_seed};
use serde::{Deserialize, Serialize};
use serve::OpenStack;
use stack::Models;
use tempfile::NamedTempFile;
use words::{Text, statement};

use super::drives;
use super::ground::{MountHost, Site, clock, md_on_host};
use super::guests::Guests;
use super::images::write_image;
use super::options::{Behaviour, LostMember, Options, Starter, WorkSource};
use super::outcome::Samples;
use super::owner::{ArrayPart, can_tell};
use super::recording::Recording;
use super::slot::Slot;
use super::worker::{Array, Program, Promises, StateToJudge, Task, WHOLE_MOST, WaitEnd, Worker};
use crate::catalogue;
use crate::stacks::inside_containers;

/// Where the chance of guests that judge comes from: the same for every state, so that one that is
/// made again is judged as before.
const JUDGE_SEED: u64 = 1;

/// Of so many states of a batch one is timed until its array is whole.
const ONE_TIMED_OF: usize = 25;

/// What a place on a drive is to the device of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DevicePlace {
    /// So many bytes behind its begin.
    At(u64),
    /// A part of what an array keeps for itself.
    Array(ArrayPart),
    /// Nothing that could be told: one of several copies, say.
    Unknown,
}

/// A state that broke something: enough to make it again, bit for bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailingState {
    /// The stack, over drives of our own.
    pub stack: String,
    /// Their sizes in bytes.
    pub drive_bytes: Vec<u64>,
    /// The log of its recording, beside this file.
    pub log: String,
    /// So many events had happened.
    pub cut_events: u32,
    /// When it was.
    pub cut_nanoseconds: u64,
    /// What survived.
    pub policy: String,
    /// The state's seed.
    pub seed: u64,
    /// The smallest unit in which anything was chosen.
    pub unit_bytes: u32,
    /// A checksum over all that differed from what was durable.
    pub checksum: u32,
    /// The run in the content.
    pub run: u64,
    /// What worked.
    pub work: WorkSource,
    /// How the drives behaved.
    pub behaviour: Behaviour,
    /// Which drive was lost with the power; by the seed, where it is a random one.
    #[serde(default)]
    pub lost_member: LostMember,
    /// The array that the guest's own md made of the drives.
    #[serde(default)]
    pub md: Option<String>,
    /// Who started what was left.
    #[serde(default)]
    pub starter: Starter,
    /// Whether the array had all of its members.
    #[serde(default, with = "super::text::state")]
    pub state: guest::ArrayCompleteness,
    /// Linux was told that its disks had no cache.
    #[serde(default)]
    pub unflushed: bool,
    /// The models of the drives, which were as slow when they were judged.
    #[serde(default)]
    pub drive_models: Vec<Option<String>>,
    /// The memory in bytes of the guest in which it was judged; none where it was judged with a
    /// machine's own kernel.
    #[serde(default)]
    pub guest_memory_bytes: Option<u64>,
    /// The name of the kernel of that guest; the usual one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_kernel: Option<String>,
    /// The file system.
    pub file_system: String,
    /// Options for mounting it.
    pub mount_options: Option<String>,
    /// What was found.
    pub judgement: Judgement,
}

pub(super) struct States<'a> {
    options: &'a Options,
    site: Site<'a>,
    program: &'a Program,
    recording: &'a Recording,
    /// The recording's number.
    number: u64,
    worker: Option<Worker>,
    /// The disks of the guest in which the worker is.
    slots: Vec<Slot>,
    /// The state that lies in them: the guest lets go of it when there is another.
    in_slots: Option<ServedState>,
    /// What was judged: of the same media after the same promises nothing else comes out.
    known: HashMap<StateContent, Judgement>,
    /// The run in the content.
    pub(super) run: u64,
}

/// What a judgement of a recording's state follows from.
#[derive(PartialEq, Eq, Hash)]
struct StateContent {
    /// What is durable, by how often that has changed.
    hardened: u64,
    /// What differs from that.
    fingerprint: u64,
    /// How much had been said.
    said: usize,
    /// The drives that are gone.
    gone: Vec<usize>,
}

/// A state as disks that a kernel can be given.
struct ServedState {
    disks: Vec<Arc<dyn Device>>,
    /// What makes one device of them, where that is md.
    array: Option<Array>,
    /// How long the drives took to start it, in modelled time.
    started_milliseconds: u64,
    /// What they are the device of.
    on: Option<OpenStack>,
}

/// What a state is made of.
#[derive(Clone, Copy)]
pub(super) struct StateOrigin {
    pub(super) cut: Cut,
    pub(super) policy: Policy,
    pub(super) seed: u64,
    pub(super) unit: u32,
}

/// The states of a sample, at cuts that are in order: what is left of the drives at each.
pub(super) fn origins(
    options: &Options,
    number: u64,
    cuts: &[Cut],
    is_hunt: bool,
) -> Vec<StateOrigin> {
    let label = if is_hunt { "hunt" } else { "figure" };
    let hunt = Policy::hunt();
    let mut random = Random::with_seed(derive_seed(options.seed, label, number));
    let unit = if is_hunt { 512 } else { options.unit_bytes() };
    let origin = |(&cut, index)| {
        let policy = match is_hunt {
            true => hunt[random.usize(..hunt.len())],
            false => options.policy(),
        };
        let seed = derive_seed(random.u64(..), label, index);
        StateOrigin { cut, policy, seed, unit }
    };
    cuts.iter().zip(1_u64..).map(origin).collect()
}

impl<'a> States<'a> {
    pub(super) fn new(
        options: &'a Options,
        site: Site<'a>,
        program: &'a Program,
        recording: &'a Recording,
        number: u64,
    ) -> States<'a> {
        let run = derive_seed(options.seed, "run", number);
        let (worker, slots, in_slots, known) = (None, Vec::new(), None, HashMap::new());
        States { options, site, program, recording, number, worker, slots, in_slots, known, run }
    }

    /// Judges states whose cuts are in order, from a history that lies before all of them.
    pub(super) fn pull(
        &mut self,
        origins: &[StateOrigin],
        mut history: History,
        sample: &mut Samples,
        kept: &mut Vec<PathBuf>,
        tell: &mut dyn FnMut(usize),
    ) -> Result<(), Error> {
        for (&made, index) in origins.iter().zip(1..) {
            if self.site.stop.load(Ordering::Relaxed) {
                break;
            }
            let StateOrigin { cut, policy, seed, .. } = made;
            history.advance(cut)?;
            let crash = history.crash(cut, policy, seed)?;
            let content = StateContent {
                hardened: history.hardened(),
                fingerprint: crash.fingerprint(),
                said: self.recording.said_before(cut.events),
                gone: self.gone(seed),
            };
            let is_known = self.known.contains_key(&content);
            let judgement = match self.known.get(&content) {
                Some(known) => known.clone(),
                None => self.judge_crash(&crash, made)?,
            };
            tell(index);
            if let Some(why) = judgement.unjudged {
                sample.add_unjudged(why);
                kept.extend(self.keep(&history, made, &judgement)?);
                continue;
            }
            if judgement.worst().is_some() && !is_known {
                // Only what the same seed shows twice counts.
                let again = self.judge(&mut history, made)?;
                if what(&again) != what(&judgement) {
                    sample.unsteady += 1;
                    continue;
                }
                kept.extend(self.keep(&history, made, &judgement)?);
            }
            self.known.insert(content, judgement.clone());
            let mut judgement = judgement;
            let is_timed = index % ONE_TIMED_OF == 1 && judgement.lost_for_good.is_none();
            if is_timed && self.can_be_timed() {
                judgement.whole_milliseconds = self.whole_after(&history, made)?;
            }
            sample.states.push((cut.time_nanoseconds, judgement));
        }
        Ok(())
    }

    /// Lets what judges end, which stays for the next sample else.
    pub(super) fn end_worker(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.end();
        }
        self.in_slots = None;
    }

    pub(super) fn judge(
        &mut self,
        history: &mut History,
        made: StateOrigin,
    ) -> Result<Judgement, Error> {
        history.advance(made.cut)?;
        let crash = history.crash(made.cut, made.policy, made.seed)?;
        self.judge_crash(&crash, made)
    }

    /// Judges what a cut has left by what had been promised then.
    pub(super) fn judge_crash(
        &mut self,
        crash: &Crash,
        made: StateOrigin,
    ) -> Result<Judgement, Error> {
        let begun = clock();
        let (served, mut refused) = self.start(crash, made.seed)?;
        let mut started_milliseconds = (clock() - begun) / 1_000_000;
        let Some(served) = served else {
            let mut judgement = lost(refused.unwrap_or_default());
            self.with_promises(&mut judgement, made.cut);
            return Ok(judgement);
        };
        let mut waited = self.look(&served, made.cut, false)?;
        if let WaitEnd::Stopped(why) = &waited {
            refused
                .get_or_insert_with(|| statement!(catalogue::MOUNTING_KERNEL_STOPPED, why = why));
            waited = self.look(&served, made.cut, true)?;
        }
        let mut judgement = match waited {
            WaitEnd::Judged(judgement) => judgement,
            WaitEnd::Hangs => lost(catalogue::MOUNTING_HANGS.into()),
            WaitEnd::Stopped(why) => {
                lost(statement!(catalogue::MOUNTING_KERNEL_STOPPED, why = why))
            }
            WaitEnd::CheckHangs => {
                Judgement { unjudged: Some(NoVerdict::Hangs), ..Judgement::default() }
            }
        };
        judgement.unmountable = refused.or(judgement.unmountable);
        self.with_promises(&mut judgement, made.cut);
        if matches!(self.site.ground, MountHost::Guest(_)) {
            // Drives and guest alone take time there.
            started_milliseconds = served.started_milliseconds;
            self.in_slots = Some(served);
        }
        judgement.recovery_milliseconds += started_milliseconds;
        Ok(judgement)
    }

    /// What had been promised before a cut, as it should be.
    fn promised(&self, cut: Cut) -> Promises {
        match &self.options.work {
            WorkSource::BuiltIn(work) => {
                let before = self.recording.marks.iter().filter(|(event, ..)| *event < cut.events);
                let marks: Vec<(u64, Mark)> = before.map(|&(_, time, mark)| (time, mark)).collect();
                Promises::Files { run: self.run, expected: expected(*work, &marks) }
            }
            WorkSource::Program(own) => Promises::Program {
                check: own.check.clone(),
                at_top: own.at_top,
                promises: promises(&self.recording.statements, cut.events),
            },
        }
    }

    /// What was recorded.
    pub(super) fn log(&self) -> &Arc<Log> {
        &self.recording.log
    }

    /// The name of the file system.
    pub(super) fn file_system(&self) -> &'static str {
        self.options.file_system.name
    }

    /// The file system as an image that its tools read, where they can tell whose a block is: that
    /// of an ext with its journal replayed.
    pub(super) fn image_to_ask(&self, crash: &Crash) -> Result<Option<NamedTempFile>, Error> {
        if !can_tell(self.file_system()) {
            return Ok(None);
        }
        let Some(image) = self.device_image(&self.options.stack, crash.drives())? else {
            return Ok(None);
        };
        if self.file_system().starts_with("ext") {
            replay_journal(image.path());
        }
        Ok(Some(image))
    }

    /// What the device of a stack over these drives holds; nothing where it does not start.
    fn device_image(
        &self,
        stack: &Node,
        drives: Vec<Arc<dyn Device>>,
    ) -> Result<Option<NamedTempFile>, Error> {
        let image = NamedTempFile::new()
            .map_err(|error| Error::from_io(catalogue::IMAGE_TO_LOOK_AT, &error))?;
        let reactor = Reactor::virtual_clock();
        let Ok(opened) = self.options.open(stack, drives, false, Some(&reactor)) else {
            return Ok(None);
        };
        write_image(&*opened.device, image.as_file(), image.path())?;
        Ok(Some(image))
    }

    /// Where on the device of the stack the begin of a request lies that a drive was sent, where
    /// all of this crash is there: where something else is read once it is something else.
    pub(super) fn on_device(
        &self,
        crash: &dyn Fn() -> Result<Crash, Error>,
        request: &LoggedRequest,
    ) -> Result<DevicePlace, Error> {
        if matches!(self.options.stack, Node::Leaf { .. }) {
            return Ok(DevicePlace::At(request.offset));
        }
        if let Some(part) =
            self.array_part(&*crash()?.drives()[usize::from(request.drive)], request)
        {
            return Ok(DevicePlace::Array(part));
        }
        let place = self.place_by_change(crash, request)?;
        let is_parity = || match inside_containers(&self.options.stack) {
            Node::Layer { name, .. } => ["raid4", "raid5", "raid6"].contains(&&**name),
            _ => false,
        };
        Ok(match place {
            Some(place) => DevicePlace::At(place),
            None if is_parity() => DevicePlace::Array(ArrayPart::Parity),
            None => DevicePlace::Unknown,
        })
    }

    /// What of an array's own a request is about that lies beside the data of a member.
    fn array_part(&self, drive: &dyn Device, request: &LoggedRequest) -> Option<ArrayPart> {
        let found = examine(drive, "a member", &Reactor::virtual_clock()).ok()??.superblock;
        let sector = request.offset / block::SECTOR_BYTES;
        let (begin, length) = (found.data_offset_sectors, found.data_size_sectors);
        let is_data = |sector: u64| (begin..begin.saturating_add(length)).contains(&sector);
        // The superblock of version 1.2 lies at 4 KiB, of others behind the data or at the begin.
        match sector {
            _ if length == 0 => None,
            sector if is_data(sector) => None,
            sector if sector <= 8 || sector > begin => Some(ArrayPart::Superblock),
            _ => Some(ArrayPart::BitmapOrLog),
        }
    }

    /// The place on the device of the stack where something else is read once the begin of a
    /// request is something else on its drive; nothing where it is not read, as parity is not.
    fn place_by_change(
        &self,
        crash: &dyn Fn() -> Result<Crash, Error>,
        request: &LoggedRequest,
    ) -> Result<Option<u64>, Error> {
        // Of mirrors any may be read: there is the one alone.
        let others = match inside_containers(&self.options.stack) {
            Node::Layer { name, children, .. } if name == "raid1" => 0..children.len(),
            _ => 0..0,
        };
        let others = others.filter(|number| *number != usize::from(request.drive));
        let stack = others
            .into_iter()
            .try_fold(self.options.stack.clone(), |stack, number| drives::without(&stack, number));
        let Some(stack) = stack else { return Ok(None) };
        let Some(as_it_is) = self.device_image(&stack, crash()?.drives())? else {
            return Ok(None);
        };
        let changed = crash()?.drives();
        invert_sector(&*changed[usize::from(request.drive)], request.offset)?;
        let Some(changed) = self.device_image(&stack, changed)? else { return Ok(None) };
        first_difference(as_it_is.as_file(), changed.as_file())
            .map_err(|error| Error::from_io(catalogue::IMAGES_TO_COMPARE, &error))
    }

    /// What is lost for good has broken every promise made before its cut, so that nothing looks
    /// better for breaking worse.
    fn with_promises(&self, judgement: &mut Judgement, cut: Cut) {
        if judgement.lost_for_good.is_some() && judgement.findings.is_none() {
            judgement.findings = Some(match self.promised(cut) {
                Promises::Files { expected, .. } => nothing_left(&expected),
                Promises::Program { promises, .. } => Findings::of_nothing(&promises),
            });
        }
    }

    /// The drives of a crash: in guests as slow as they were.
    fn drives(&self, crash: &Crash) -> Result<Vec<Arc<dyn Device>>, Error> {
        let models = Models::default();
        let timed = |(number, drive)| match self.options.model(number) {
            Some((model, seed)) => drives::timed(model, seed, drive, &models),
            None => Ok(drive),
        };
        crash.drives().into_iter().enumerate().map(timed).collect()
    }

    /// The drives that are gone: those that were lost with the power, and one that the array lacked
    /// before.
    pub(super) fn gone(&self, seed: u64) -> Vec<usize> {
        let Options { drive_bytes, lost_member, state, .. } = self.options;
        let count = drive_bytes.len();
        let mut gone: Vec<usize> = lost_member.of(count, seed);
        gone.extend(
            (*state == guest::ArrayCompleteness::Degraded).then(|| count.saturating_sub(1)),
        );
        gone.sort_unstable();
        gone.dedup();
        gone
    }

    /// Starts the stack from what is left, by force where it does not start as it is; with why it
    /// does not.
    fn start(
        &self,
        crash: &Crash,
        seed: u64,
    ) -> Result<(Option<ServedState>, Option<Text>), Error> {
        let Options { stack, drive_bytes, .. } = self.options;
        let gone = self.gone(seed);
        if self.options.is_started_by_md() {
            let left = || (0..drive_bytes.len()).filter(|number| !gone.contains(number));
            let array = Array {
                start: assemble_array(left(), false),
                force: assemble_array(left(), true),
                stop: STOP_ARRAY.to_owned(),
            };
            let disks = self.drives(crash)?;
            let served =
                ServedState { disks, array: Some(array), started_milliseconds: 0, on: None };
            return Ok((Some(served), None));
        }
        let without = |left: Option<Node>, number: &usize| drives::without(&left?, *number);
        let Some(left) = gone.iter().fold(Some(stack.clone()), without) else {
            return Ok((None, Some(catalogue::DRIVE_LOST_WITH_POWER.into())));
        };
        let open = |stack: &Node| -> Result<Result<ServedState, Error>, Error> {
            let reactor = self.site.ground.reactor();
            let opened = self.options.open(stack, self.drives(crash)?, false, reactor.as_ref());
            Ok(opened.map(|opened| ServedState {
                disks: vec![Arc::clone(&opened.device)],
                array: None,
                started_milliseconds: reactor
                    .map_or(0, |reactor| reactor.now().nanoseconds() / 1_000_000),
                on: Some(opened),
            }))
        };
        let error = match open(&left)? {
            Ok(served) => return Ok((Some(served), None)),
            Err(error) => error,
        };
        let forced = serve::forced(left.clone());
        let served = if forced == left { None } else { open(&forced)?.ok() };
        Ok((served, Some(statement!(catalogue::STACK_DOES_NOT_START, why = error))))
    }

    /// Lets the worker look at a state that was started.
    fn look(
        &mut self,
        served: &ServedState,
        cut: Cut,
        repair_first: bool,
    ) -> Result<WaitEnd, Error> {
        let (image, point, file) = match self.site.ground {
            MountHost::Host(place) => {
                let [device] = &served.disks[..] else { return Err(md_on_host()) };
                let options = FuseOptions { workers: 1, ..FuseOptions::default() };
                let device = Arc::clone(device);
                let file = FuseFile::mount(device, &place.image(), &options)?;
                (file.path().to_owned(), place.point(), Some(file))
            }
            MountHost::Guest(_) => {
                self.put_in_slots(served);
                (Guests::device_after(self.options), Guests::point(), None)
            }
        };
        let state = StateToJudge {
            image,
            is_device: file.is_none(),
            array: served.array.clone(),
            repair_first,
            point,
            file_system: self.options.file_system.name.to_owned(),
            options: self.options.mount_options.clone(),
            promised: self.promised(cut),
        };
        let waited = self.worker()?.judge(state)?;
        // What serves it goes first: then whoever waits for it gets an error.
        drop(file);
        if !matches!(waited, WaitEnd::Judged(_)) {
            self.worker = None;
        }
        Ok(waited)
    }

    /// Puts a state into the disks of the guest, which is another one where they do not fit.
    fn put_in_slots(&mut self, served: &ServedState) {
        let both = || self.slots.iter().zip(&served.disks);
        let fits = self.slots.len() == served.disks.len()
            && both().all(|(slot, disk)| slot.fits(disk.info()));
        if !fits {
            self.end_worker();
            let slot = |disk: &Arc<dyn Device>| Slot::new(disk.info());
            self.slots = served.disks.iter().map(slot).collect();
        }
        self.slots.iter().zip(&served.disks).for_each(|(slot, disk)| slot.put(disk));
    }

    /// Ends what judges at once.
    fn drop_worker(&mut self) {
        self.worker = None;
    }

    /// What judges, which is started where it does not run.
    fn worker(&mut self) -> Result<&mut Worker, Error> {
        let worker = match (self.worker.take(), self.site.ground) {
            (Some(worker), _) => worker,
            (None, MountHost::Guest(guests)) => {
                let disk = |slot: &Slot| Arc::new(slot.clone()) as Arc<dyn Device>;
                let disks = self.slots.iter().map(disk);
                let program = (self.program, self.options.own_program());
                let on = (self.site.processor, JUDGE_SEED);
                guests.start(program, disks, true, on, self.site.stop)?
            }
            (None, MountHost::Host(_)) => self.program.start(self.site.stop)?,
        };
        Ok(self.worker.insert(worker))
    }

    /// Writes down what makes the state again, and its log once.
    fn keep(
        &self,
        history: &History,
        made: StateOrigin,
        judgement: &Judgement,
    ) -> Result<Option<PathBuf>, Error> {
        let Some(folder) = &self.options.keep_failing else { return Ok(None) };
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::from_io(folder.display(), &error))?;
        let crash = history.crash(made.cut, made.policy, made.seed)?;
        let log = format!("recording-{}.pulllog", self.number + 1);
        let log_path = folder.join(&log);
        if !log_path.exists()
            && let Some(bytes) = self.recording.log.bytes_in_memory()
        {
            host::files::write_whole(&log_path, bytes)?;
        }
        let failing = FailingState {
            stack: self.options.stack.to_string(),
            drive_bytes: self.options.drive_bytes.clone(),
            log,
            cut_events: made.cut.events,
            cut_nanoseconds: made.cut.time_nanoseconds,
            policy: made.policy.to_string(),
            seed: made.seed,
            unit_bytes: made.unit,
            checksum: crash.checksum(),
            run: self.run,
            work: self.options.work.clone(),
            behaviour: self.options.behaviour,
            lost_member: self.options.lost_member,
            md: self.options.md.clone(),
            starter: self.options.starter,
            state: self.options.state,
            unflushed: self.options.unflushed,
            drive_models: self.options.drive_models.clone(),
            guest_memory_bytes: self.options.guest_memory_bytes,
            guest_kernel: self.options.guest_kernel.clone(),
            file_system: self.options.file_system.name.to_owned(),
            mount_options: self.options.mount_options.clone(),
            judgement: judgement.clone(),
        };
        let path = folder.join(format!("failing-{:016x}.json", made.seed));
        let text = serde_json::to_string_pretty(&failing)
            .map_err(|error| Error::failed(Text::verbatim(&error)).at(catalogue::MAKING_STATE))?;
        host::files::write_whole(&path, text.as_bytes())?;
        Ok(Some(path))
    }
}

/// How long an array takes to be whole again, in modelled time: a state is made anew, its array
/// started and left alone until its members agree. In the place of each drive that is missing there
/// is a new one.
impl States<'_> {
    /// Whether there is an array whose members may disagree, over drives that take time.
    fn can_be_timed(&self) -> bool {
        let is_redundant = self.options.is_redundant();
        matches!(self.site.ground, MountHost::Guest(_)) && is_redundant
    }

    /// From the start of the array until it is whole, in milliseconds; nothing where it is not in a
    /// day, or does not start.
    fn whole_after(&mut self, history: &History, made: StateOrigin) -> Result<Option<u64>, Error> {
        let crash = history.crash(made.cut, made.policy, made.seed)?;
        let (Some(served), _) = self.start(&crash, made.seed)? else { return Ok(None) };
        match served.array.clone() {
            Some(array) => self.whole_by_md(served, array, made.seed),
            None => self.whole_by_raidloom(served, made.seed),
        }
    }

    /// The drives that an array has to do without, by their numbers.
    fn missing(&self, seed: u64) -> Vec<usize> {
        let mut missing = self.gone(seed);
        missing.extend(self.options.lost_member.stale());
        missing
    }

    fn whole_by_raidloom(&self, served: ServedState, seed: u64) -> Result<Option<u64>, Error> {
        let Some(opened) = served.on else { return Ok(None) };
        let (models, mut missing) = (Models::default(), self.missing(seed).into_iter());
        let sizes = &self.options.drive_bytes;
        let mut new = || -> Result<Arc<dyn Device>, block::Error> {
            let number = missing.next().unwrap_or_default();
            let bytes = sizes.get(number).or(sizes.first()).copied().unwrap_or_default();
            let memory = drives::memory(bytes);
            let drive = memory.and_then(|drive| match self.options.model(number) {
                Some((model, seed)) => drives::timed(model, seed, drive, &models),
                None => Ok(drive),
            });
            drive.map_err(|error| block::Error::new(block::ErrorKind::Other, error))
        };
        opened.fill_slots(derive_seed(seed, "new drive", 0), &mut new)?;
        let took = opened.until_whole(WHOLE_MOST)?;
        Ok(took.map(|took| took.as_millis() as u64))
    }

    fn whole_by_md(
        &mut self,
        served: ServedState,
        array: Array,
        seed: u64,
    ) -> Result<Option<u64>, Error> {
        let name = guest::setup::disk_name;
        let fill = self.missing(seed).into_iter().map(name).map(|disk| {
            format!(
                "mdadm --quiet --zero-superblock /dev/{disk} && mdadm --quiet /dev/md0 --add \
                /dev/{disk}"
            )
        });
        let task = Task::UntilWhole { array, fill: fill.collect() };
        self.put_in_slots(&served);
        let took = self.worker()?.until_whole(&task)?;
        match took {
            Some(took) => {
                self.in_slots = Some(served);
                Ok(took)
            }
            None => {
                // What does not answer is ended.
                self.drop_worker();
                Ok(None)
            }
        }
    }
}

/// A state of which nothing can be read.
fn lost(why: Text) -> Judgement {
    Judgement { unmountable: Some(why.clone()), lost_for_good: Some(why), ..Judgement::default() }
}

/// What has to come out the same: all but the time it took.
pub(super) fn what(judgement: &Judgement) -> Judgement {
    Judgement { recovery_milliseconds: 0, whole_milliseconds: None, ..judgement.clone() }
}

/// Writes the opposite of what a sector holds.
fn invert_sector(drive: &dyn Device, offset: u64) -> Result<(), Error> {
    let mut channel = Blocking::open(drive, &Reactor::virtual_clock())?;
    let mut block = vec![0; drive.info().block_bytes as usize];
    channel.read_slice(offset, &mut block)?;
    block.iter_mut().for_each(|byte| *byte = !*byte);
    Ok(channel.write_slice(offset, &block)?)
}

/// Where two files of one length differ first, in bytes.
fn first_difference(one: &File, other: &File) -> io::Result<Option<u64>> {
    let size = one.metadata()?.len();
    let mut parts = [(); 2].map(|()| vec![0; 1 << 20]);
    let mut offset = 0;
    while offset < size {
        let count = (size - offset).min(1 << 20) as usize;
        let [first, second] = &mut parts;
        one.read_exact_at(&mut first[..count], offset)?;
        other.read_exact_at(&mut second[..count], offset)?;
        let bytes = first[..count].iter().zip(&second[..count]);
        if let Some(place) = bytes.into_iter().position(|(one, other)| one != other) {
            return Ok(Some(offset + place as u64));
        }
        offset += count as u64;
    }
    Ok(None)
}

/// Brings an image of an ext to what its journal says, as far as the tool is there.
fn replay_journal(image: &Path) {
    let mut command = tool::command("e2fsck");
    command.args(["-fy", "-E", "journal_only"]).arg(image);
    // Without it only what lies in the journal still is not told.
    let _ = Confinement::writing_to([image]).output(&mut command);
}

//! States of a recording: made, started from, mounted, judged, and kept when they broke something.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Device, Node};
use export::RemovalPolicy;
use export::fuse::{FuseFile, FuseOptions};
use guest::setup::{STOP_ARRAY, assemble_array};
use host::Error;
use host::mount::FileSystem;
use pull::{
    Crash, Cut, Extent, Findings, History, Judgement, Log, Mark, Policy, Role, Unjudged, expected,
    nothing_left, promises,
};
use reactor::{Random, derive_seed};
use serde::{Deserialize, Serialize};
use serve::Opened;
use stack::Models;

use super::drives;
use super::ground::{Ground, clock, md_on_host};
use super::guests::Guests;
use super::options::{Behaviour, Happening, LostMember, Options, Starter, WorkSource};
use super::outcome::Samples;
use super::recording::Recording;
use super::slot::Slot;
use super::worker::{Array, Program, Promised, State, Waited, Worker};

/// Where the chance of guests that judge comes from: the same for every state, so that one that is
/// made again is judged as before.
const JUDGE_SEED: u64 = 1;

/// A state that broke something: enough to make it again, bit for bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failing {
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
    pub state: guest::State,
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
    /// The file system.
    pub file_system: String,
    /// Options for mounting it.
    pub mount_options: Option<String>,
    /// What was found.
    pub judgement: Judgement,
}

pub(super) struct States<'a> {
    options: &'a Options,
    ground: &'a Ground,
    stop: &'a Arc<AtomicBool>,
    program: &'a Program,
    recording: &'a Recording,
    /// The recording's number.
    number: u64,
    worker: Option<Worker>,
    /// The disks of the guest in which the worker is.
    slots: Vec<Slot>,
    /// The state that lies in them: the guest lets go of it when there is another.
    in_slots: Option<Served>,
    /// The run in the content.
    run: u64,
}

/// A state as disks that a kernel can be given.
struct Served {
    disks: Vec<Arc<dyn Device>>,
    /// What makes one device of them, where that is md.
    array: Option<Array>,
    /// How long the drives took to start it, in modelled time.
    started_milliseconds: u64,
    /// What they are the device of.
    _on: Option<Opened>,
}

/// What a state is made of.
#[derive(Clone, Copy)]
struct Made {
    cut: Cut,
    policy: Policy,
    seed: u64,
    unit: u32,
}

impl<'a> States<'a> {
    pub(super) fn new(
        options: &'a Options,
        (ground, stop): (&'a Ground, &'a Arc<AtomicBool>),
        program: &'a Program,
        recording: &'a Recording,
        number: u64,
    ) -> States<'a> {
        let run = derive_seed(options.seed, "run", number);
        let (worker, slots, in_slots) = (None, Vec::new(), None);
        States { options, ground, stop, program, recording, number, worker, slots, in_slots, run }
    }

    /// Judges a state at each of the cuts, which are in order.
    pub(super) fn pull(
        &mut self,
        cuts: &[Cut],
        is_hunt: bool,
        sample: &mut Samples,
        kept: &mut Vec<PathBuf>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let label = if is_hunt { "hunt" } else { "figure" };
        let hunt = Policy::hunt();
        let mut random = Random::with_seed(derive_seed(self.options.seed, label, self.number));
        let unit = if is_hunt { 512 } else { self.options.unit_bytes() };
        let log = Arc::clone(&self.recording.log);
        let mut history = History::new(log, self.options.fault(), Some(unit));
        for (&cut, index) in cuts.iter().zip(1_u64..) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let policy = match is_hunt {
                true => hunt[random.usize(..hunt.len())],
                false => self.options.policy(),
            };
            let seed = derive_seed(random.u64(..), label, index);
            let made = Made { cut, policy, seed, unit };
            let judgement = self.judge(&mut history, made)?;
            if let Some(why) = judgement.unjudged {
                sample.add_unjudged(why);
                kept.extend(self.keep(&history, made, &judgement)?);
                continue;
            }
            if is_bad(&judgement) {
                // Only what the same seed shows twice counts.
                let again = self.judge(&mut history, made)?;
                if what(&again) != what(&judgement) {
                    sample.unsteady += 1;
                    continue;
                }
                kept.extend(self.keep(&history, made, &judgement)?);
            }
            sample.states.push((cut.time_nanoseconds, judgement));
            tell(&format!(
                "recording {}: {label}, state {index} of {}",
                self.number + 1,
                cuts.len()
            ));
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

    fn judge(&mut self, history: &mut History, made: Made) -> Result<Judgement, Error> {
        history.advance(made.cut)?;
        let crash = history.crash(made.cut, made.policy, made.seed)?;
        let begun = clock();
        let (served, mut refused) = self.start(&crash, made.seed)?;
        let mut started_milliseconds = (clock() - begun) / 1_000_000;
        let Some(served) = served else {
            let mut judgement = lost(refused.unwrap_or_default());
            self.with_promises(&mut judgement, made.cut);
            return Ok(judgement);
        };
        let mut waited = self.look(&served, made.cut, false)?;
        if let Waited::Stopped(why) = &waited {
            refused.get_or_insert_with(|| format!("the kernel that mounted it stopped: {why}"));
            waited = self.look(&served, made.cut, true)?;
        }
        let mut judgement = match waited {
            Waited::Judged(judgement) => judgement,
            Waited::Hangs => lost("mounting or reading it does not end".to_owned()),
            Waited::Stopped(why) => lost(format!("the kernel that mounted it stopped: {why}")),
            Waited::CheckHangs => {
                Judgement { unjudged: Some(Unjudged::Hangs), ..Judgement::default() }
            }
        };
        judgement.unmountable = refused.or(judgement.unmountable);
        self.with_promises(&mut judgement, made.cut);
        if matches!(self.ground, Ground::Guest(_)) {
            // Drives and guest alone take time there.
            started_milliseconds = served.started_milliseconds;
            self.in_slots = Some(served);
        }
        judgement.recovery_milliseconds += started_milliseconds;
        Ok(judgement)
    }

    /// What had been promised before a cut, as it should be.
    fn promised(&self, cut: Cut) -> Promised {
        match &self.options.work {
            WorkSource::BuiltIn(work) => {
                let before = self.recording.marks.iter().filter(|(event, ..)| *event < cut.events);
                let marks: Vec<(u64, Mark)> = before.map(|&(_, time, mark)| (time, mark)).collect();
                Promised::Files { run: self.run, expected: expected(*work, &marks) }
            }
            WorkSource::Program(own) => Promised::Program {
                check: own.check.clone(),
                promises: promises(&self.recording.statements, cut.events),
            },
        }
    }

    /// What is lost for good has broken every promise made before its cut, so that nothing looks
    /// better for breaking worse.
    fn with_promises(&self, judgement: &mut Judgement, cut: Cut) {
        if judgement.lost_for_good.is_some() && judgement.findings.is_none() {
            judgement.findings = Some(match self.promised(cut) {
                Promised::Files { expected, .. } => nothing_left(&expected),
                Promised::Program { promises, .. } => Findings::of_nothing(&promises),
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

    /// The drives that are gone: one that was lost with the power, and one that the array lacked
    /// before.
    fn gone(&self, seed: u64) -> Vec<usize> {
        let Options { drive_bytes, lost_member, state, .. } = self.options;
        let count = drive_bytes.len();
        let mut gone: Vec<usize> = lost_member.of(count, seed).into_iter().collect();
        gone.extend((*state == guest::State::Degraded).then(|| count.saturating_sub(1)));
        gone.sort_unstable();
        gone.dedup();
        gone
    }

    /// Starts the stack from what is left, by force where it does not start as it is; with why it
    /// does not.
    fn start(&self, crash: &Crash, seed: u64) -> Result<(Option<Served>, Option<String>), Error> {
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
            let served = Served { disks, array: Some(array), started_milliseconds: 0, _on: None };
            return Ok((Some(served), None));
        }
        let without = |left: Option<Node>, number: &usize| drives::without(&left?, *number);
        let Some(left) = gone.iter().fold(Some(stack.clone()), without) else {
            let text = "a drive was lost with the power, and the stack cannot do without it";
            return Ok((None, Some(text.to_owned())));
        };
        let open = |stack: &Node| -> Result<Result<Served, Error>, Error> {
            let reactor = self.ground.reactor();
            let opened = self.options.open(stack, self.drives(crash)?, false, reactor.as_ref());
            Ok(opened.map(|opened| Served {
                disks: vec![Arc::clone(&opened.device)],
                array: None,
                started_milliseconds: reactor
                    .map_or(0, |reactor| reactor.now().nanoseconds() / 1_000_000),
                _on: Some(opened),
            }))
        };
        let error = match open(&left)? {
            Ok(served) => return Ok((Some(served), None)),
            Err(error) => error,
        };
        let forced = serve::forced(left.clone());
        let served = if forced == left { None } else { open(&forced)?.ok() };
        Ok((served, Some(format!("the stack does not start: {error}"))))
    }

    /// Lets the worker look at a state that was started.
    fn look(&mut self, served: &Served, cut: Cut, repair_first: bool) -> Result<Waited, Error> {
        let (image, point, file) = match self.ground {
            Ground::Host(place) => {
                let [device] = &served.disks[..] else { return Err(md_on_host()) };
                let options = FuseOptions { workers: 1, ..FuseOptions::default() };
                let device = Arc::clone(device);
                let file = FuseFile::mount(device, &place.image(), &options)?;
                (file.path().to_owned(), place.point(), Some(file))
            }
            Ground::Guest(_) => {
                let both = || self.slots.iter().zip(&served.disks);
                let fits = self.slots.len() == served.disks.len()
                    && both().all(|(slot, disk)| slot.fits(disk.info()));
                if !fits {
                    self.end_worker();
                    let slot = |disk: &Arc<dyn Device>| Slot::new(disk.info());
                    self.slots = served.disks.iter().map(slot).collect();
                }
                self.slots.iter().zip(&served.disks).for_each(|(slot, disk)| slot.put(disk));
                (Guests::device_after(self.options), Guests::point(), None)
            }
        };
        let state = State {
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
        if !matches!(waited, Waited::Judged(_)) {
            self.worker = None;
        }
        Ok(waited)
    }

    /// What judges, which is started where it does not run.
    fn worker(&mut self) -> Result<&mut Worker, Error> {
        let worker = match (self.worker.take(), self.ground) {
            (Some(worker), _) => worker,
            (None, Ground::Guest(guests)) => {
                let disk = |slot: &Slot| Arc::new(slot.clone()) as Arc<dyn Device>;
                let disks = self.slots.iter().map(disk);
                let program = (self.program, self.options.own_program());
                guests.start(program, disks, true, JUDGE_SEED, self.stop)?
            }
            (None, Ground::Host(_)) => self.program.start(self.stop)?,
        };
        Ok(self.worker.insert(worker))
    }

    /// Writes down what makes the state again, and its log once.
    fn keep(
        &self,
        history: &History,
        made: Made,
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
        let failing = Failing {
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
            file_system: self.options.file_system.name.to_owned(),
            mount_options: self.options.mount_options.clone(),
            judgement: judgement.clone(),
        };
        let path = folder.join(format!("failing-{:016x}.json", made.seed));
        let text = serde_json::to_string_pretty(&failing)
            .map_err(|error| Error::failed(format!("making JSON: {error}")))?;
        host::files::write_whole(&path, text.as_bytes())?;
        Ok(Some(path))
    }
}

/// A state of which nothing can be read.
fn lost(why: String) -> Judgement {
    Judgement { unmountable: Some(why.clone()), lost_for_good: Some(why), ..Judgement::default() }
}

/// Whether there is something that has to be shown twice.
fn is_bad(judgement: &Judgement) -> bool {
    let is_bad = |found: &Findings| {
        found.broken_count() > 0 || !found.torn_renames.is_empty() || found.exposed > 0
    };
    judgement.unmountable.is_some()
        || judgement.check_failed == Some(true)
        || judgement.findings.as_ref().is_some_and(is_bad)
}

/// What has to come out the same: all but the time it took.
fn what(judgement: &Judgement) -> Judgement {
    Judgement { recovery_milliseconds: 0, ..judgement.clone() }
}

/// A state that was kept, with the log from which it is made.
pub struct Kept {
    /// What makes it again.
    pub failing: Failing,
    log: Arc<Log>,
    policy: Policy,
    options: Options,
}

/// Reads a state that was kept, and its log.
///
/// # Errors
/// A file that is none or has gone, a log that is damaged or another's.
pub fn kept(path: &Path) -> Result<Kept, Error> {
    let wrong = |text: String| Error::usage(format!("{}: {text}", path.display()));
    let text = host::files::read_named(path).map_err(|error| wrong(error.to_string()))?;
    let failing: Failing = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("no state that pull has kept: {error}")))?;
    // What lies elsewhere has not been kept with it.
    let is_beside = Path::new(&failing.log).file_name().is_some_and(|name| name == &*failing.log);
    if !is_beside {
        let text = format!("log `{}`: expected the name of a file beside it", failing.log);
        return Err(wrong(text));
    }
    let log_path = path.parent().unwrap_or(Path::new(".")).join(&failing.log);
    // What was named is wrong, and nothing was tried yet.
    let log = Log::open(&log_path).map_err(|error| Error::from(error).with_code(2))?;
    let policy: Policy = failing.policy.parse().map_err(wrong)?;
    check(&failing, &log).map_err(wrong)?;
    let options = options_of(&failing).map_err(|error| wrong(error.to_string()))?;
    Ok(Kept { failing, log: Arc::new(log), policy, options })
}

/// Why a state cannot be made from a log, where it does not belong to it or makes no sense.
fn check(failing: &Failing, log: &Log) -> Result<(), String> {
    let drives = log.drives().iter().filter(|drive| drive.role == Role::Drive);
    let sizes: Vec<u64> = drives.map(|drive| drive.size_bytes).collect();
    let (log_name, events) = (&failing.log, log.events().len());
    if sizes != failing.drive_bytes {
        return Err(format!(
            "its drives have {:?} bytes, and those of {log_name} {sizes:?}: the two do not belong \
            together",
            failing.drive_bytes
        ));
    }
    if failing.cut_events as usize > events {
        return Err(format!(
            "it is behind {} events, and {log_name} has {events}: the two do not belong together",
            failing.cut_events
        ));
    }
    if !failing.unit_bytes.is_power_of_two() || failing.unit_bytes < 512 {
        return Err(format!(
            "unit_bytes {}: expected a power of two from 512 on",
            failing.unit_bytes
        ));
    }
    match failing.lost_member {
        LostMember::Number(number) if number as usize >= sizes.len() => Err(format!(
            "lost_member {number}: drives are counted from 0, and the last one is {}",
            sizes.len().saturating_sub(1)
        )),
        _ => Ok(()),
    }
}

/// Makes a state again that was kept, and judges it. The answer says whether it is the same, bit
/// for bit, and what was found.
///
/// # Errors
/// What keeps it from being judged.
pub fn replay(kept: &Kept, ground: &Ground, program: &Program) -> Result<Replayed, Error> {
    let Kept { failing, log, policy, options } = kept;
    let policy = *policy;
    let recording = Recording::of(Arc::clone(log), (0, 0))?;
    let cut = Cut { events: failing.cut_events, time_nanoseconds: failing.cut_nanoseconds };
    let unit = failing.unit_bytes;
    let made = Made { cut, policy, seed: failing.seed, unit };
    let mut history = History::new(Arc::clone(&recording.log), options.fault(), Some(unit));
    let stop = Arc::default();
    let mut states = States::new(options, (ground, &stop), program, &recording, 0);
    states.run = failing.run;
    let judgement = states.judge(&mut history, made)?;
    states.end_worker();
    let crash = history.crash(made.cut, made.policy, made.seed)?;
    Ok(Replayed {
        is_same_state: crash.checksum() == failing.checksum,
        is_same_judgement: what(&judgement) == what(&failing.judgement),
        judgement,
    })
}

/// A state that was made again.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Bit for bit.
    pub is_same_state: bool,
    /// And it showed the same.
    pub is_same_judgement: bool,
    /// What it showed.
    pub judgement: Judgement,
}

/// What a state that was kept needs to be started and judged again.
fn options_of(failing: &Failing) -> Result<Options, Error> {
    Ok(Options {
        stack: crate::stacks::parse(&failing.stack)?,
        drive_bytes: failing.drive_bytes.clone(),
        drive_models: failing.drive_models.clone(),
        guest_memory_bytes: failing.guest_memory_bytes,
        md: failing.md.clone(),
        starter: failing.starter,
        state: failing.state,
        unflushed: failing.unflushed,
        new_array: None,
        upkeep: true,
        file_system: FileSystem::named(&failing.file_system)?,
        make_options: None,
        mount_options: failing.mount_options.clone(),
        removal: RemovalPolicy::default(),
        work: failing.work.clone(),
        extent: Extent { steps: 0, spread_milliseconds: 0 },
        pulls: 0,
        hunt: 0,
        recordings: 0,
        behaviour: failing.behaviour,
        happening: Happening::Power,
        cache_bytes: 0,
        cache_milliseconds: 0,
        tear_bytes: 512,
        lost_member: failing.lost_member,
        seed: 0,
        keep_failing: None,
        log_writes: None,
    })
}

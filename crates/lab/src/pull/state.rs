//! States of a recording: made, started from, mounted, judged, and kept when they broke something.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Device, Node};
use export::fuse::{FuseFile, FuseOptions};
use guest::setup::{STOP_ARRAY, assemble_array};
use host::Error;
use pull::{Crash, Cut, Findings, History, Judgement, Log, Mark, Policy, expected};
use reactor::{Random, derive_seed};
use serde::{Deserialize, Serialize};
use serve::Opened;

use super::drives;
use super::guests::Guests;
use super::slot::Slot;
use super::worker::{Array, State, Waited, Worker};
use super::{Ground, LostMember, Options, Program, Recording, Samples};

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
    pub work: pull::Work,
    /// How the drives behaved.
    pub behaviour: super::Behaviour,
    /// Which drive was lost with the power; by the seed, where it is a random one.
    #[serde(default)]
    pub lost_member: LostMember,
    /// The array that the guest's own md made of the drives.
    #[serde(default)]
    pub md: Option<String>,
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
    /// What they are the device of.
    _on: Option<Opened>,
}

impl From<Opened> for Served {
    fn from(opened: Opened) -> Served {
        Served { disks: vec![Arc::clone(&opened.device)], array: None, _on: Some(opened) }
    }
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
        ground: &'a Ground,
        program: &'a Program,
        recording: &'a Recording,
        number: u64,
    ) -> States<'a> {
        let run = derive_seed(options.seed, "run", number);
        let (worker, slots, in_slots) = (None, Vec::new(), None);
        States { options, ground, program, recording, number, worker, slots, in_slots, run }
    }

    /// Judges a state at each of the cuts, which are in order.
    pub(super) fn pull(
        &mut self,
        cuts: &[Cut],
        is_hunt: bool,
        sample: &mut Samples,
        kept: &mut Vec<PathBuf>,
        tell: &mut dyn FnMut(&str),
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        let label = if is_hunt { "hunt" } else { "figure" };
        let hunt = Policy::hunt();
        let mut random = Random::with_seed(derive_seed(self.options.seed, label, self.number));
        let unit = if is_hunt { 512 } else { self.options.tear_bytes };
        let log = Arc::clone(&self.recording.log);
        let mut history = History::new(log, self.options.fault(), Some(unit));
        for (&cut, index) in cuts.iter().zip(1_u64..) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let policy = match is_hunt {
                true => hunt[random.usize(..hunt.len())],
                false => self.options.policy(),
            };
            let seed = derive_seed(random.u64(..), label, index);
            let made = Made { cut, policy, seed, unit };
            let judgement = self.judge(&mut history, made)?;
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
        self.end_worker();
        Ok(())
    }

    fn end_worker(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.end();
        }
        self.in_slots = None;
    }

    fn judge(&mut self, history: &mut History, made: Made) -> Result<Judgement, Error> {
        let failed = |error: block::Error| Error::failed(error.to_string());
        history.advance(made.cut).map_err(failed)?;
        let crash = history.crash(made.cut, made.policy, made.seed).map_err(failed)?;
        let (served, mut refused) = self.start(&crash, made.seed);
        let Some(served) = served else {
            return Ok(lost(refused.unwrap_or_default()));
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
        };
        judgement.unmountable = refused.or(judgement.unmountable);
        if matches!(self.ground, Ground::Guest(_)) {
            self.in_slots = Some(served);
        }
        Ok(judgement)
    }

    /// Starts the stack from what is left, by force where it does not start as it is; with why it
    /// does not.
    fn start(&self, crash: &Crash, seed: u64) -> (Option<Served>, Option<String>) {
        let Options { stack, drive_bytes, lost_member, md, .. } = self.options;
        let lost = lost_member.of(drive_bytes.len(), seed);
        if md.is_some() {
            let left = || (0..drive_bytes.len()).filter(|number| Some(*number) != lost);
            let array = Array {
                start: assemble_array(left(), false),
                force: assemble_array(left(), true),
                stop: STOP_ARRAY.to_owned(),
            };
            return (Some(Served { disks: crash.drives(), array: Some(array), _on: None }), None);
        }
        let left = match lost {
            Some(number) => drives::without(stack, number),
            None => Some(stack.clone()),
        };
        let Some(left) = left else {
            let text = "a drive was lost with the power, and the stack cannot do without it";
            return (None, Some(text.to_owned()));
        };
        let reactor = self.ground.reactor();
        let open = |stack: &Node| self.options.open(stack, crash.drives(), false, reactor.as_ref());
        let error = match open(&left) {
            Ok(opened) => return (Some(opened.into()), None),
            Err(error) => error,
        };
        let forced = serve::forced(left.clone());
        let opened = if forced == left { None } else { open(&forced).ok() };
        (opened.map(Served::from), Some(format!("the stack does not start: {error}")))
    }

    /// Lets the worker look at a state that was started.
    fn look(&mut self, served: &Served, cut: Cut, repair_first: bool) -> Result<Waited, Error> {
        let failed = |error: block::Error| Error::failed(error.to_string());
        let (image, point, file) = match self.ground {
            Ground::Host(place) => {
                let [device] = &served.disks[..] else { return Err(super::md_on_host()) };
                let options = FuseOptions { workers: 1, ..FuseOptions::default() };
                let device = Arc::clone(device);
                let file = FuseFile::mount(device, &place.image(), &options).map_err(failed)?;
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
                (Guests::device(self.options), Guests::point(), None)
            }
        };
        let before = self.recording.marks.iter().filter(|(event, ..)| *event < cut.events);
        let marks: Vec<(u64, Mark)> = before.map(|&(_, time, mark)| (time, mark)).collect();
        let state = State {
            image,
            is_device: file.is_none(),
            array: served.array.clone(),
            repair_first,
            point,
            file_system: self.options.file_system.name.to_owned(),
            options: self.options.mount_options.clone(),
            run: self.run,
            expected: expected(self.options.work, &marks),
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
                guests.start(self.program, self.slots.iter().map(disk), true, JUDGE_SEED)?
            }
            (None, Ground::Host(_)) => self.program.start()?,
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
        let failed = |error: block::Error| Error::failed(error.to_string());
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::from_io(folder.display(), &error))?;
        let crash = history.crash(made.cut, made.policy, made.seed).map_err(failed)?;
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
            work: self.options.work,
            behaviour: self.options.behaviour,
            lost_member: self.options.lost_member,
            md: self.options.md.clone(),
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
        !found.broken.is_empty() || !found.torn_renames.is_empty() || found.exposed > 0
    };
    judgement.unmountable.is_some()
        || judgement.check_failed == Some(true)
        || judgement.findings.as_ref().is_some_and(is_bad)
}

/// What has to come out the same: all but the time it took.
fn what(judgement: &Judgement) -> Judgement {
    Judgement { recovery_milliseconds: 0, ..judgement.clone() }
}

/// Reads a state that was kept.
///
/// # Errors
/// A file that is none or has gone.
pub fn kept(path: &Path) -> Result<Failing, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::usage(format!("{}: {error}", path.display())))?;
    serde_json::from_str(&text).map_err(|error| {
        Error::usage(format!("{}: no state that pull has kept: {error}", path.display()))
    })
}

/// Makes a state again that was kept at this path, and judges it. The answer says whether it is the
/// same, bit for bit, and what was found.
///
/// # Errors
/// A log that has gone, and what keeps it from being judged.
pub fn replay(
    failing: &Failing,
    path: &Path,
    ground: &Ground,
    program: &Program,
) -> Result<Replayed, Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let log =
        Log::open(&folder.join(&failing.log)).map_err(|error| Error::usage(error.to_string()))?;
    let policy: Policy = failing.policy.parse().map_err(Error::usage)?;
    let options = super::options_of(failing)?;
    let recording = Recording { marks: super::marks(&log)?, log: Arc::new(log), between: (0, 0) };
    let cut = Cut { events: failing.cut_events, time_nanoseconds: failing.cut_nanoseconds };
    let unit = failing.unit_bytes;
    let made = Made { cut, policy, seed: failing.seed, unit };
    let mut history = History::new(Arc::clone(&recording.log), options.fault(), Some(unit));
    let mut states = States::new(&options, ground, program, &recording, 0);
    states.run = failing.run;
    let judgement = states.judge(&mut history, made)?;
    states.end_worker();
    let failed = |error: block::Error| Error::failed(error.to_string());
    let crash = history.crash(made.cut, made.policy, made.seed).map_err(failed)?;
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

//! `raidloom pull`: how much of a stack and a file system is left when the power fails, with this
//! machine's kernel or with one in a guest.
//!
//! ```text
//!   record   drives ─ recorder ─ stack ─ disk ─ file system ─ work ──> log with marks
//!   state    log, cut, seed ─> drives ─ stack ─ disk ─ mount, repair, read ──> judgement
//!   score    all judgements ─> card, grade, bound
//! ```
//!
//! On this machine the disk is a FUSE file, and a loop device over it; in a guest it is a disk of
//! the guest's, time is modelled, and the same seed makes the same log and the same judgements.
//!
//! Nothing that the stack names is opened: drives of the same sizes are made in memory. Mounts live
//! in a namespace of their own or in a guest, and what touches them is a process of its own: all
//! end with this one, however it ends.

mod apart;
mod drives;
mod guests;
mod place;
mod slot;
mod state;
mod talk;
mod text;
mod timed;
mod worker;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Device, Node, Reactor};
use export::RemovalPolicy;
use export::fuse::{FuseFile, FuseOptions};
use export::loop_device::LoopDevice;
use host::Error;
use host::mount::{FileSystem, check_mount_options};
use mdtools::NewArraySettings;
use pull::{
    Advertised, Arrived, Cut, DriveFault, Extent, Judgement, Log, Mark, Media, Policy, Recorder,
    ScoreCard, Work, Written, hot_cuts, score, uniform_cuts,
};
use reactor::derive_seed;
use serde::{Deserialize, Serialize};
use serve::{OpenOptions, Opened};
use stack::{MediaNote, ModelDevice, Models};

pub(crate) use apart::run_apart;
pub use apart::serve_test;
pub use drives::{DEFAULT_MODEL, DriveLeaf, Leaves, leaves};
pub use guests::Guests;
pub(crate) use place::may_mount_or_why;
pub use place::{Place, enter, may_mount};
pub use state::{Failing, Kept, Replayed, kept, replay};
pub use talk::serve_worker_in_guest;
pub use worker::{Output, Program, STATE_TIME, serve_worker};

use drives::Drives;
use worker::{Task, Worker};

/// How the drives behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// A volatile cache of a size, that nothing stays in for long.
    Typical,
    /// Whatever the rules permit, each unit by itself.
    Strict,
    /// No volatile cache.
    WriteThrough,
    /// Flushes are answered and not carried out.
    LyingFlush,
    /// FUA is answered and not carried out.
    LyingFua,
    /// As its model says, in guests: what of its cache had come to the media at the moment of the
    /// cut is there, and nothing else of it.
    Model,
}

impl Behaviour {
    /// Whether drives do what they say: figures of those that do not are never added to others.
    #[must_use]
    pub fn is_honest(self) -> bool {
        !matches!(self, Behaviour::LyingFlush | Behaviour::LyingFua)
    }
}

impl FromStr for Behaviour {
    type Err = String;

    fn from_str(text: &str) -> Result<Behaviour, String> {
        Ok(match text {
            "typical" => Behaviour::Typical,
            "strict" => Behaviour::Strict,
            "write-through" => Behaviour::WriteThrough,
            "lying" => Behaviour::LyingFlush,
            "lying-fua" => Behaviour::LyingFua,
            "model" => Behaviour::Model,
            _ => return Err(format!("no drive behaves `{text}`")),
        })
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happening {
    /// The power of host and drives fails.
    Power,
    /// The drives lose power and host: what they cached is gone.
    Yank,
    /// The drives lose the host alone: what they cached they write out.
    Cable,
    /// Host or serving process end, the drives keep their power.
    Kill,
}

impl FromStr for Happening {
    type Err = String;

    fn from_str(text: &str) -> Result<Happening, String> {
        Ok(match text {
            "power" => Happening::Power,
            "yank" => Happening::Yank,
            "cable" => Happening::Cable,
            "kill" => Happening::Kill,
            _ => return Err(format!("no event is called `{text}`")),
        })
    }
}

/// Which drive does not come back with the power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostMember {
    /// All come back.
    #[default]
    None,
    /// One, another one in each state.
    Random,
    /// The one of this number, counted from 0 in the order in which the stack names them.
    Number(u32),
}

impl LostMember {
    /// The drive that is lost in a state, of so many.
    fn of(self, drives: usize, seed: u64) -> Option<usize> {
        match self {
            LostMember::None => None,
            LostMember::Random => {
                let number = derive_seed(seed, "lost member", 0) % drives.max(1) as u64;
                Some(number as usize)
            }
            LostMember::Number(number) => Some(number as usize),
        }
    }
}

impl fmt::Display for LostMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LostMember::None => f.write_str("none"),
            LostMember::Random => f.write_str("random"),
            LostMember::Number(number) => write!(f, "{number}"),
        }
    }
}

impl FromStr for LostMember {
    type Err = String;

    fn from_str(text: &str) -> Result<LostMember, String> {
        Ok(match text {
            "none" => LostMember::None,
            "random" => LostMember::Random,
            _ => LostMember::Number(text.parse().map_err(|_| {
                format!("`{text}`: expected none, random, or the number of a drive, from 0")
            })?),
        })
    }
}

/// Who starts an array from what a crash has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starter {
    /// Whose array was recorded.
    #[default]
    Same,
    /// raidloom.
    Raidloom,
    /// The guest's own md.
    Md,
}

/// What is tested, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    /// The stack, over drives of our own.
    #[serde(with = "text::stack")]
    pub stack: Node,
    /// Their sizes in bytes.
    pub drive_bytes: Vec<u64>,
    /// The models of those that take modelled time while the work is recorded, as the text of a
    /// leaf; in guests only. The others take none.
    #[serde(default)]
    pub drive_models: Vec<Option<String>>,
    /// The memory in bytes of the guests in which all is done; nothing where it is done with this
    /// machine's kernel.
    #[serde(default)]
    pub guest_memory_bytes: Option<u64>,
    /// The array that the guest's own md makes of the drives: then nothing but the drives counts of
    /// the stack.
    #[serde(default)]
    pub md: Option<String>,
    /// Who starts it after the crash, in guests: states of one's array can be the other's to start.
    #[serde(default)]
    pub starter: Starter,
    /// Whether the array has all of its members while it is worked on; in guests only.
    #[serde(default, with = "text::state")]
    pub state: guest::State,
    /// Linux in the guest is told that its disks have no cache, and flushes none of them.
    #[serde(default)]
    pub unflushed: bool,
    /// How an array with superblocks is made.
    pub new_array: Option<NewArraySettings>,
    /// Whether arrays and caches are kept up.
    pub upkeep: bool,
    /// The file system.
    #[serde(with = "text::file_system")]
    pub file_system: FileSystem,
    /// Options for making it.
    pub make_options: Option<String>,
    /// Options for mounting it.
    pub mount_options: Option<String>,
    /// When writes of the export are durable.
    #[serde(with = "text::removal")]
    pub removal: RemovalPolicy,
    /// What works on it.
    pub work: Work,
    /// How much.
    pub extent: Extent,
    /// States of the user's figure.
    pub pulls: u32,
    /// States of the hunt, a sample of its own.
    pub hunt: u32,
    /// They are spread over so many recordings.
    pub recordings: u32,
    /// How the drives behave.
    pub behaviour: Behaviour,
    /// What happens.
    pub happening: Happening,
    /// Bytes of each drive's cache.
    pub cache_bytes: u64,
    /// How long a write stays in it at most.
    pub cache_milliseconds: u64,
    /// What a drive never tears.
    pub tear_bytes: u32,
    /// Which drive is lost together with the power.
    #[serde(default)]
    pub lost_member: LostMember,
    /// Everything random follows from it.
    pub seed: u64,
    /// Where states that broke something are kept.
    pub keep_failing: Option<PathBuf>,
    /// The first recording as dm-log-writes has it.
    pub log_writes: Option<PathBuf>,
}

impl Options {
    fn advertised(&self) -> Advertised {
        Advertised {
            volatile_cache: self.behaviour != Behaviour::WriteThrough,
            fua: matches!(
                self.behaviour,
                Behaviour::Strict | Behaviour::LyingFua | Behaviour::Model
            ),
        }
    }

    fn fault(&self) -> DriveFault {
        match self.behaviour {
            Behaviour::LyingFlush => DriveFault::IgnoresFlush,
            Behaviour::LyingFua => DriveFault::IgnoresFua,
            _ => DriveFault::None,
        }
    }

    /// What survives in the user's figure.
    fn policy(&self) -> Policy {
        let tear = pull::Tear::Unit(self.tear_bytes);
        match (self.happening, self.behaviour) {
            (Happening::Cable | Happening::Kill, _) => Policy::Drained { tear },
            (_, Behaviour::Strict) => Policy::Random { percent: 50, tear },
            (_, Behaviour::Model) => Policy::Media,
            _ => Policy::Typical {
                cache_bytes: self.cache_bytes,
                age_nanoseconds: self.cache_milliseconds * 1_000_000,
                tear,
            },
        }
    }

    /// Whether md starts what a crash has left.
    fn is_started_by_md(&self) -> bool {
        match self.starter {
            Starter::Same => self.md.is_some(),
            Starter::Raidloom => false,
            Starter::Md => true,
        }
    }

    /// The smallest unit in which anything is chosen in the user's figure, in bytes.
    fn unit_bytes(&self) -> u32 {
        match self.policy() {
            Policy::Media => block::SECTOR_BYTES as u32,
            _ => self.tear_bytes,
        }
    }

    /// Opens a stack over drives: the test's own, or what was left of it.
    fn open(
        &self,
        stack: &Node,
        drives: Vec<Arc<dyn Device>>,
        is_new: bool,
        reactor: Option<&Reactor>,
    ) -> Result<Opened, Error> {
        let files = Drives(drives);
        let options = OpenOptions {
            files: &files,
            seed: self.seed,
            read_only: false,
            create_bytes: None,
            member_time: None,
            upkeep: self.upkeep,
            new_array: self.new_array.as_ref().filter(|_| is_new),
            reactor,
            models: None,
        };
        Ok(Opened::open(stack, &options)?)
    }

    /// The model of a drive that has one, and the seed of its spindle.
    fn model(&self, number: usize) -> Option<(&str, u64)> {
        let model = self.drive_models.get(number)?.as_deref()?;
        Some((model, derive_seed(self.seed, "drive", number as u64)))
    }

    /// The drives that are recorded, before anything was written to them, and what knows the
    /// modelled ones by their numbers.
    fn drives(&self, recorder: &Arc<Recorder>) -> Result<RecordedDrives, Error> {
        let models = match self.behaviour {
            Behaviour::Model => Models::noting(),
            _ => Models::default(),
        };
        let mut all = RecordedDrives { drives: Vec::new(), models, modelled: Vec::new() };
        for (number, &bytes) in self.drive_bytes.iter().enumerate() {
            let below = match self.model(number) {
                Some((model, seed)) => {
                    all.modelled.push(number as u16);
                    drives::modelled(model, seed, &all.models)?
                }
                None => drives::memory(bytes)?,
            };
            all.drives.push(recorder.drive(below, self.advertised()));
        }
        Ok(all)
    }
}

/// Drives that are recorded.
struct RecordedDrives {
    drives: Vec<Arc<dyn Device>>,
    /// Those of them that are modelled, which share links as in any stack.
    models: Models,
    /// Their numbers among all.
    modelled: Vec<u16>,
}

impl RecordedDrives {
    /// What the log has to say of their media, once nothing uses them.
    fn media(models: &Models, modelled: &[u16]) -> impl Iterator<Item = (u16, Media)> {
        let noted = |(&number, disk): (&u16, Arc<ModelDevice>)| {
            let (notes, block_bytes) = disk.take_media_notes();
            let mut media = Media { block_bytes, ..Media::default() };
            for note in notes {
                match note {
                    MediaNote::Arrived { time, start, end } => {
                        media.arrived.push(Arrived { time, start, end });
                    }
                    MediaNote::Written { taken, begins, ends, start, end } => {
                        media.written.push(Written { taken, begins, ends, start, end });
                    }
                }
            }
            (number, media)
        };
        modelled.iter().zip(models.disks()).map(noted)
    }
}

/// Where file systems are mounted.
pub enum Ground {
    /// By this machine's kernel.
    Host(Place),
    /// By that of a guest.
    Guest(Guests),
}

impl Ground {
    /// Guests with so much memory, or this machine, in the namespace that was entered.
    ///
    /// # Errors
    /// What is missing for it.
    pub fn new(guest_memory_bytes: Option<u64>) -> Result<Ground, Error> {
        Ok(match guest_memory_bytes {
            Some(bytes) => Ground::Guest(Guests::new(bytes)?),
            None => Ground::Host(Place::new()?),
        })
    }

    /// The clock of a recording; that of a guest's disks is their reactor's.
    fn clock(&self) -> Option<fn() -> u64> {
        match self {
            Ground::Host(_) => Some(clock),
            Ground::Guest(_) => None,
        }
    }

    /// What a stack is opened on; on the wall's clock without it.
    fn reactor(&self) -> Option<Reactor> {
        match self {
            Ground::Host(_) => None,
            Ground::Guest(_) => Some(Reactor::virtual_clock()),
        }
    }

    /// Serves disks, and starts a worker that finds them.
    fn stage(
        &self,
        options: &Options,
        disks: &[Arc<dyn Device>],
        program: &Program,
        seed: u64,
        stop: &Arc<AtomicBool>,
    ) -> Result<Stage, Error> {
        match self {
            Ground::Host(place) => {
                let [device] = disks else { return Err(md_on_host()) };
                let fuse =
                    FuseOptions { workers: 1, policy: options.removal, ..FuseOptions::default() };
                let block_bytes = device.info().block_bytes;
                let device = Arc::clone(device);
                let file = FuseFile::mount(device, &place.disk(), &fuse)?;
                let device = LoopDevice::attach(file.path(), block_bytes, false)?;
                // With its last user it goes by itself, and that is this process or the mount.
                let held = std::fs::File::open(device.path())
                    .map_err(|error| Error::from_io(device.path().display(), &error))?;
                Ok(Stage {
                    worker: program.start(stop)?,
                    device: device.path().to_owned(),
                    point: place.point(),
                    _held: Some((held, file)),
                })
            }
            Ground::Guest(guests) => {
                let write_cache = !options.removal.writes_durably();
                Ok(Stage {
                    worker: guests.start(
                        program,
                        disks.iter().cloned(),
                        write_cache,
                        seed,
                        stop,
                    )?,
                    device: Guests::device(options),
                    point: Guests::point(),
                    _held: None,
                })
            }
        }
    }
}

/// Why the md of this machine is left alone.
fn md_on_host() -> Error {
    Error::usage("md of this machine is not pulled: it is the guest's (--guest)")
}

/// A disk, and a worker that can make and mount a file system on it.
struct Stage {
    worker: Worker,
    device: PathBuf,
    point: PathBuf,
    /// What the disk stands on, in the order in which it goes.
    _held: Option<(std::fs::File, FuseFile)>,
}

/// A sample: its states, and what they come to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// What they come to.
    pub card: ScoreCard,
    /// States whose second try came out otherwise; none of what they showed is counted.
    pub unsteady: u64,
}

/// What came out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The user's figure: cuts uniform in time.
    pub figure: Option<Sample>,
    /// The hunt: hot cuts, hostile policies.
    pub hunt: Option<Sample>,
    /// How long the recordings were, in seconds.
    pub recorded_seconds: f64,
    /// Requests that changed something, and flushes, at all drives.
    pub requests: u64,
    /// Flushes among them.
    pub flushes: u64,
    /// Bytes written to the drives.
    pub written_bytes: u64,
    /// Promises that were made.
    pub promises: u64,
    /// What was kept of states that broke something.
    pub kept: Vec<PathBuf>,
    /// Whether the user ended it early.
    pub interrupted: bool,
}

/// A recording of a work on a file system.
struct Recording {
    log: Arc<Log>,
    /// Of the work, by the numbers of events.
    between: (u32, u32),
    /// Event, time and mark.
    marks: Vec<(u32, u64, Mark)>,
}

/// Nanoseconds on a clock that all threads share.
fn clock() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(BEGUN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Runs the test until its end, or until `stop` is set: then what is under way is given up.
///
/// # Errors
/// What kept it from being recorded, or a state from being made. What a state showed is no error.
pub fn run(
    options: &Options,
    ground: &Ground,
    program: &Program,
    tell: &mut dyn FnMut(&str),
    stop: &Arc<AtomicBool>,
) -> Result<Outcome, Error> {
    if matches!(ground, Ground::Host(_)) {
        options.file_system.check_mountable()?;
    }
    options.file_system.make_words(options.make_options.as_deref().unwrap_or_default())?;
    check_mount_options(Some(&options.file_system), options.mount_options.as_deref())?;
    let mut outcome = Outcome {
        figure: None,
        hunt: None,
        recorded_seconds: 0.0,
        requests: 0,
        flushes: 0,
        written_bytes: 0,
        promises: 0,
        kept: Vec::new(),
        interrupted: false,
    };
    let mut samples = [Samples::default(), Samples::default()];
    let count = u64::from(options.recordings.max(1));
    for number in 0..count {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        tell(&format!("recording {} of {count}", number + 1));
        let recording = match record(options, (ground, stop), program, number) {
            Err(_) if stop.load(Ordering::Relaxed) => break,
            recording => recording?,
        };
        outcome.add(&recording);
        if let (0, Some(path)) = (number, &options.log_writes) {
            write_log_writes(&recording.log, path)?;
        }
        let up_to = |number: u64, all: u32| (number * u64::from(all) / count) as u32;
        let share = |all: u32| up_to(number + 1, all) - up_to(number, all);
        let seed = derive_seed(options.seed, "cuts", number);
        let figure = uniform_cuts(&recording.log, recording.between, share(options.pulls), seed);
        let hunt = hot_cuts(&recording.log, recording.between, share(options.hunt), seed);
        let mut states = state::States::new(options, (ground, stop), program, &recording, number);
        for ((sample, cuts), is_hunt) in samples.iter_mut().zip([figure, hunt]).zip([false, true]) {
            match states.pull(&cuts, is_hunt, sample, &mut outcome.kept, tell) {
                Err(_) if stop.load(Ordering::Relaxed) => break,
                pulled => pulled?,
            }
        }
        states.end_worker();
    }
    outcome.interrupted = stop.load(Ordering::Relaxed);
    let [figure, hunt] = samples;
    (outcome.figure, outcome.hunt) = (figure.ended(), hunt.ended());
    Ok(outcome)
}

/// Judgements as they come in, each with the time of its cut.
#[derive(Default)]
struct Samples {
    states: Vec<(u64, Judgement)>,
    unsteady: u64,
}

impl Samples {
    fn ended(self) -> Option<Sample> {
        let Samples { states, unsteady } = self;
        (!states.is_empty()).then(|| Sample { card: score(&states), unsteady })
    }
}

impl Outcome {
    fn add(&mut self, recording: &Recording) {
        let log = &recording.log;
        let time = |event: u32| Cut::behind(log, event).time_nanoseconds;
        self.recorded_seconds +=
            (time(recording.between.1) - time(recording.between.0)) as f64 / 1e9;
        for request in log.requests() {
            self.requests += 1;
            self.flushes += u64::from(request.action == pull::Action::Flush);
            if request.action == pull::Action::Write {
                self.written_bytes += request.length;
            }
        }
        let is_promise = |mark: &Mark| matches!(mark, Mark::Synced { .. } | Mark::Removed { .. });
        self.promises +=
            recording.marks.iter().filter(|(.., mark)| is_promise(mark)).count() as u64;
    }
}

/// Serves the stack over fresh drives, makes the file system, works on it, and records all of it.
fn record(
    options: &Options,
    (ground, stop): (&Ground, &Arc<AtomicBool>),
    program: &Program,
    number: u64,
) -> Result<Recording, Error> {
    let recorder = Recorder::in_memory(ground.clock());
    let reactor = ground.reactor();
    let RecordedDrives { drives, models, modelled } = options.drives(&recorder)?;
    let opened = match options.md {
        Some(_) => None,
        None => Some(options.open(&options.stack, drives.clone(), true, reactor.as_ref())?),
    };
    if let Some(opened) = opened.as_ref().filter(|_| options.state != guest::State::Whole) {
        let rebuild = options.state == guest::State::Rebuilding;
        opened.degrade(rebuild, options.seed)?;
    }
    let stripe = opened.as_ref().and_then(|opened| opened.device.info().stripe);
    let disks = opened.as_ref().map_or(drives, |opened| vec![Arc::clone(&opened.device)]);
    let seed = derive_seed(options.seed, "guest", number);
    let mut stage = ground.stage(options, &disks, program, seed, stop)?;
    let run = derive_seed(options.seed, "run", number);
    let (worker, point) = (&mut stage.worker, &stage.point);
    for command in Guests::commands(options)? {
        worker.carry_out(&Task::Run { command })?;
    }
    let file_system = options.file_system.name.to_owned();
    worker.carry_out(&Task::Make {
        device: stage.device.clone(),
        file_system: file_system.clone(),
        options: options.make_options.clone(),
        stripe: stripe.map(|stripe| (stripe.chunk_bytes, stripe.width_chunks)),
    })?;
    worker.carry_out(&Task::Mount {
        device: stage.device.clone(),
        point: point.clone(),
        file_system,
        options: options.mount_options.clone(),
    })?;
    // Guests say when it was, on the clock of their disks.
    let at = |text: &[u8], time: Option<u64>| match time {
        Some(time) => recorder.mark_at(text, time),
        None => recorder.mark(text),
    };
    let mut mark = |mark: &Mark, time: Option<u64>| {
        let text = serde_json::to_vec(mark).expect("a mark is plain data");
        at(&text, time)
    };
    let prepared = worker.carry_out_marking(
        &Task::Prepare { point: point.clone(), work: options.work, run },
        &mut mark,
    )?;
    let begin = at(BEGIN, prepared);
    let seed = derive_seed(options.seed, "work", number);
    let (work, extent) = (options.work, options.extent);
    let worked = worker.carry_out_marking(
        &Task::Work { point: point.clone(), work, run, seed, extent },
        &mut mark,
    )?;
    let end = at(END, worked);
    worker.carry_out(&Task::Unmount { point: point.clone() })?;
    let Stage { worker, _held: held, .. } = stage;
    worker.end();
    drop((held, disks, opened));
    if options.behaviour == Behaviour::Model {
        for (number, media) in RecordedDrives::media(&models, &modelled) {
            recorder.mark(media.mark(number).as_bytes());
        }
    }
    let log = Arc::new(recorder.finish()?);
    Ok(Recording { marks: marks(&log)?, log, between: (begin + 1, end) })
}

const BEGIN: &[u8] = b"begin";
const END: &[u8] = b"end";

/// The marks of the work in a log.
fn marks(log: &Log) -> Result<Vec<(u32, u64, Mark)>, Error> {
    let all = log.marks()?.into_iter();
    let is_ours = |text: &[u8]| text != BEGIN && text != END && !Media::is_mark(text);
    let ours = all.filter(|(.., text)| is_ours(text));
    ours.map(|(event, time, text)| {
        let mark = serde_json::from_slice(&text).map_err(|error| {
            Error::failed(format!("a mark of the pull log: {error}")).because(error)
        })?;
        Ok((event, time, mark))
    })
    .collect()
}

fn write_log_writes(log: &Log, path: &std::path::Path) -> Result<(), Error> {
    for number in 0..log.drives().len() as u16 {
        let path = match number {
            0 => path.to_owned(),
            number => PathBuf::from(format!("{}.{number}", path.display())),
        };
        let mut bytes = Vec::new();
        pull::write_log_writes(log, number, &mut bytes)?;
        host::files::write_named(&path, &bytes)?;
    }
    Ok(())
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
        work: failing.work,
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

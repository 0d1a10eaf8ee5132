//! `raidloom pull`: how much of a stack and a file system is left when the power fails, on this
//! machine's kernel.
//!
//! ```text
//!   record   drives in memory ─ recorder ─ stack ─ FUSE file ─ loop ─ file system ─ work ──> log with marks
//!   state    log, cut, seed ─> drives ─ stack ─ FUSE file ─ mount, repair, read ──> judgement
//!   score    all judgements ─> card, grade, bound
//! ```
//!
//! Nothing that the stack names is opened: drives of the same sizes are made in memory. Mounts live
//! in a namespace of their own, and what touches them is a process of its own: both end with this
//! one, however it ends.

mod apart;
mod drives;
mod place;
mod state;
mod text;
mod worker;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Device, Node};
use export::RemovalPolicy;
use export::fuse::{FuseFile, FuseOptions};
use export::loop_device::LoopDevice;
use host::Error;
use host::mount::FileSystem;
use mdtools::NewArraySettings;
use pull::{
    Advertised, Cut, DriveFault, Extent, Judgement, Log, Mark, Policy, Recorder, ScoreCard, Work,
    hot_cuts, score, uniform_cuts,
};
use reactor::derive_seed;
use serde::{Deserialize, Serialize};
use serve::{OpenOptions, Opened};

pub(crate) use apart::run_apart;
pub use apart::serve_test;
pub use drives::{Leaves, leaves};
pub use place::{Place, enter};
pub use state::{Failing, Replayed, replay};
pub use worker::{Output, Program, serve_worker};

use drives::Drives;
use worker::Task;

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
    /// Host or serving process end, the drives keep their power.
    Kill,
}

impl FromStr for Happening {
    type Err = String;

    fn from_str(text: &str) -> Result<Happening, String> {
        Ok(match text {
            "power" => Happening::Power,
            "yank" => Happening::Yank,
            "kill" => Happening::Kill,
            _ => return Err(format!("no event is called `{text}`")),
        })
    }
}

/// What is tested, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    /// The stack, over drives of our own.
    #[serde(with = "text::stack")]
    pub stack: Node,
    /// Their sizes in bytes.
    pub drive_bytes: Vec<u64>,
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
            fua: matches!(self.behaviour, Behaviour::Strict | Behaviour::LyingFua),
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
            (Happening::Kill, _) => Policy::Drained { tear },
            (_, Behaviour::Strict) => Policy::Random { percent: 50, tear },
            _ => Policy::Typical {
                cache_bytes: self.cache_bytes,
                age_nanoseconds: self.cache_milliseconds * 1_000_000,
                tear,
            },
        }
    }

    fn open(&self, drives: Vec<Arc<dyn Device>>, is_new: bool) -> Result<Opened, Error> {
        let files = Drives(drives);
        let options = OpenOptions {
            files: &files,
            seed: self.seed,
            read_only: false,
            create_bytes: None,
            member_time: None,
            upkeep: self.upkeep,
            new_array: self.new_array.as_ref().filter(|_| is_new),
            reactor: None,
            models: None,
        };
        Opened::open(&self.stack, &options).map_err(|error| Error::failed(error.to_string()))
    }
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

/// Runs the test.
///
/// # Errors
/// What kept it from being recorded, or a state from being made. What a state showed is no error.
pub fn run(
    options: &Options,
    place: &Place,
    program: &Program,
    tell: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Outcome, Error> {
    options.file_system.check_mountable()?;
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
        let recording = record(options, place, program, number)?;
        outcome.add(&recording);
        if let (0, Some(path)) = (number, &options.log_writes) {
            write_log_writes(&recording.log, path)?;
        }
        let up_to = |number: u64, all: u32| (number * u64::from(all) / count) as u32;
        let share = |all: u32| up_to(number + 1, all) - up_to(number, all);
        let seed = derive_seed(options.seed, "cuts", number);
        let figure = uniform_cuts(&recording.log, recording.between, share(options.pulls), seed);
        let hunt = hot_cuts(&recording.log, recording.between, share(options.hunt), seed);
        let mut states = state::States::new(options, place, program, &recording, number);
        for ((sample, cuts), is_hunt) in samples.iter_mut().zip([figure, hunt]).zip([false, true]) {
            states.pull(&cuts, is_hunt, sample, &mut outcome.kept, tell, stop)?;
        }
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
    place: &Place,
    program: &Program,
    number: u64,
) -> Result<Recording, Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    let recorder = Recorder::in_memory(Some(clock));
    let drives = options
        .drive_bytes
        .iter()
        .map(|&bytes| Ok(recorder.drive(drives::memory(bytes)?, options.advertised())));
    let opened = options.open(drives.collect::<Result<_, Error>>()?, true)?;
    let fuse = FuseOptions { workers: 1, policy: options.removal, ..FuseOptions::default() };
    let file = FuseFile::mount(Arc::clone(&opened.device), &place.disk(), &fuse).map_err(failed)?;
    let (held, device) = {
        let device = LoopDevice::attach(file.path(), opened.device.info().block_bytes, false)
            .map_err(failed)?;
        // With its last user it goes by itself, and that is this process or the mount.
        let held = std::fs::File::open(device.path())
            .map_err(|error| Error::from_io(device.path().display(), &error))?;
        (held, device.path().to_owned())
    };
    let run = derive_seed(options.seed, "run", number);
    let mut worker = program.start()?;
    let point = place.point();
    let file_system = options.file_system.name.to_owned();
    worker.carry_out(&Task::Make {
        device: device.clone(),
        file_system: file_system.clone(),
        options: options.make_options.clone(),
    })?;
    let mount_options = options.mount_options.clone();
    worker.carry_out(&Task::Mount {
        device,
        point: point.clone(),
        file_system,
        options: mount_options,
    })?;
    let mut mark = |mark: &Mark| {
        let text = serde_json::to_vec(mark).expect("a mark is plain data");
        recorder.mark(&text)
    };
    worker.carry_out_marking(
        &Task::Prepare { point: point.clone(), work: options.work, run },
        &mut mark,
    )?;
    let begin = recorder.mark(BEGIN);
    let seed = derive_seed(options.seed, "work", number);
    let (work, extent) = (options.work, options.extent);
    worker.carry_out_marking(
        &Task::Work { point: point.clone(), work, run, seed, extent },
        &mut mark,
    )?;
    let end = recorder.mark(END);
    worker.carry_out(&Task::Unmount { point })?;
    worker.end();
    drop((held, file, opened));
    let log = Arc::new(recorder.finish().map_err(failed)?);
    Ok(Recording { marks: marks(&log)?, log, between: (begin + 1, end) })
}

const BEGIN: &[u8] = b"begin";
const END: &[u8] = b"end";

/// The marks of the work in a log.
fn marks(log: &Log) -> Result<Vec<(u32, u64, Mark)>, Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    let all = log.marks().map_err(failed)?.into_iter();
    let ours = all.filter(|(.., text)| *text != BEGIN && *text != END);
    ours.map(|(event, time, text)| {
        let mark = serde_json::from_slice(&text)
            .map_err(|error| Error::failed(format!("a mark of the pull log: {error}")))?;
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
        pull::write_log_writes(log, number, &mut bytes)
            .map_err(|error| Error::failed(error.to_string()))?;
        host::files::write_named(&path, &bytes)?;
    }
    Ok(())
}

/// What a state that was kept needs to be started and judged again.
fn options_of(failing: &Failing) -> Result<Options, Error> {
    Ok(Options {
        stack: crate::stacks::parse(&failing.stack)?,
        drive_bytes: failing.drive_bytes.clone(),
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
        seed: 0,
        keep_failing: None,
        log_writes: None,
    })
}

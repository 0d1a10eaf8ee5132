//! `raidloom pull`: what a layout and its file system lose when the plug is pulled.

use std::path::{Path, PathBuf};
use std::time::Duration;

use block::Node;
use clap::{Args, Parser, ValueEnum};
use export::RemovalPolicy;
use guest::ArrayCompleteness;
use host::limits::promise_memory;
use host::mount::FileSystem;
use lab::pull::{
    Behaviour, Covering, DEFAULT_MODEL, DriveLeaf, Guests, Happening, Leaves, LostMember,
    LostWrite, MountHost, Options, Outcome, OwnProgram, Program, ReplayOptions, ReplayedState,
    STATE_TIME, Sample, SmallestLoss, Starter, WorkSource, check_images, enter, image_name, kept,
    leaves, may_mount, replay, run, serve_test, serve_worker, serve_worker_in_guest,
};
use mdtools::NewArraySettings;
use pull::{Extent, ScoreCard, Share, Spread, Work};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::junit;
use crate::keys::Keys;
use crate::output::{Output, about, figure, said};
use crate::progress::Line;
use crate::signals;

/// Kinds of work, as they are called here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkName {
    /// Files of 20 to 180 KB are written and closed, nothing is synced: what a copy loses
    Copy,
    /// Files are written, overwritten and removed, each with fsync
    Fsync,
    /// Files are replaced by rename, half of them with fsync, half without
    Rename,
    /// A log grows, with fdatasync behind each block
    Append,
    /// Transactions of SQLite as it comes: its journal is removed, synchronous=FULL
    Database,
    /// The same with synchronous=EXTRA: the folder is synced after each
    DatabaseExtra,
    /// Transactions of SQLite with a write-ahead log
    DatabaseWal,
}

impl WorkName {
    fn work(self) -> Work {
        match self {
            WorkName::Copy => Work::Copy,
            WorkName::Fsync => Work::Fsync,
            WorkName::Rename => Work::Rename,
            WorkName::Append => Work::Append,
            WorkName::Database => Work::Database,
            WorkName::DatabaseExtra => Work::DatabaseExtra,
            WorkName::DatabaseWal => Work::DatabaseWal,
        }
    }
}

/// Whose array it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrayName {
    /// raidloom's
    Raidloom,
    /// That of the guest's own md, on the same drives: the target is one array over drives
    Md,
}

/// Who starts an array after the crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StarterName {
    /// Whose array it was
    Same,
    /// raidloom
    Raidloom,
    /// The guest's own md
    Md,
}

/// How drives behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// A volatile cache (drive_cache, cache_age), of which each write is lost with even chances
    Typical,
    /// Every write that no flush covers is lost with even chances, unit by unit
    Strict,
    /// No volatile cache: what was written is there
    WriteThrough,
    /// Flushes are answered and not carried out: no honest drive
    Lying,
    /// FUA is answered and not carried out: no honest drive
    LyingFua,
    /// What the drive's model had brought to its media is there, sector by sector, and nothing else
    /// of its cache (in a guest)
    Model,
}

impl DeviceName {
    fn behaviour(self) -> Behaviour {
        match self {
            DeviceName::Typical => Behaviour::Typical,
            DeviceName::Strict => Behaviour::Strict,
            DeviceName::WriteThrough => Behaviour::WriteThrough,
            DeviceName::Lying => Behaviour::LyingFlush,
            DeviceName::LyingFua => Behaviour::LyingFua,
            DeviceName::Model => Behaviour::Model,
        }
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventName {
    /// The power of the host and of the drives fails
    Power,
    /// Drives that take their power from the bus are pulled: what they cached is gone too
    Yank,
    /// Drives with power of their own are pulled: what they cached they write out, what is on its
    /// way to them may be torn
    Cable,
    /// The kernel or the serving process ends, the drives keep their power
    Kill,
}

/// `$STEPS` of a program of the user's own where nothing is said.
const OWN_STEPS: u32 = 200;
/// The verb of what mounts and works.
const WORKER: &str = "pull-worker";
/// The guest's memory where nothing is said.
const MEMORY: &str = "512MiB";
/// Modelled drives are no larger: all that is written to them is kept in memory.
const MODELLED_MAX_BYTES: u64 = 4 << 30;

/// What stands at the end of its help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  raidloom pull ram:128MiB --fs ext4
      300 pulls on one drive: what is lost of files that were copied
  raidloom pull 'raid5(metadata=1.2, ram:96MiB, ram:96MiB, ram:96MiB)' --work fsync --hunt 300
      and 300 states of the hunt, a sample of its own
  raidloom pull --create 128MiB disk.img --fs ext4 --mount-options barrier=0 --work fsync \\
      --keep-failing failing
      the same layout as for files; they are not touched, and drives in memory stand for them
  raidloom pull --replay failing/failing-0123456789abcdef.json
      make that very state again, and judge it
  raidloom pull --guest ram:128MiB --work fsync
      in a guest: without root, and the same every time
  raidloom pull --guest --create 256MiB 'raid1(model:maxtor-6y200p0, model:maxtor-6y200p0)'
      with drives that are as slow as real ones, in modelled time
  raidloom pull 'raid5(metadata=1.2, ram:96MiB, ram:96MiB, ram:96MiB)' --consistency ppl \\
      --work fsync --lose-member random
      a drive dies with the power: with resync and bitmap its array starts by force only

The stack is served over drives in memory, the file system made, and the work recorded. Then crash
states are made: whatever the drives may have lost, a cut and a seed at a time. Each is mounted
(nosuid, nodev, noexec), repaired, and read; only what had been acknowledged counts as promised.
With --guest a Linux of its own does all that, in modelled time (`raidloom guest build`). Without
it THIS machine's kernel does, in a mount namespace of its own: that needs root, and a damaged
file system is no harmless input for a kernel: use a machine that may fail, best a virtual one.

Exit code: 0 no promise was broken - 3 promises were broken; the bound stands beside the grade

Grades: A nothing is lost but the last second of copies - B nothing acknowledged is lost
C it takes a repair, or old data come to light - D acknowledged work is lost - E all is lost";

/// `pull`.
#[derive(Args, Debug)]
pub(crate) struct PullArguments {
    /// Stack text: ram:SIZE, files that stand for drives of their size, or with --guest model:NAME
    #[arg(required_unless_present = "replay")]
    pub target: Option<String>,

    /// Size of files that are not there, which are not made, and of modelled drives
    #[arg(long, value_name = "SIZE")]
    pub create: Option<String>,

    /// Work and mount in a guest, in modelled time: the same every time, without root, and this
    /// machine's kernel sees no damaged file system [default: where only root may mount, and
    /// `raidloom guest build` was run]
    #[arg(long)]
    pub guest: bool,

    /// The guest's memory, its page cache included [default: 512MiB]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,

    /// Files that are there stand for empty drives of their size; they are not opened
    #[arg(long)]
    pub scratch: bool,

    /// The file system
    #[arg(long, value_name = "NAME", default_value = "ext4")]
    pub fs: String,

    /// Options for making it
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub make_options: Option<String>,

    /// Options for mounting it, also after the crash
    #[arg(long, value_name = "OPTIONS")]
    pub mount_options: Option<String>,

    /// What an array with superblocks keeps consistent with: resync, bitmap, ppl
    #[arg(long, value_name = "HOW", default_value = "resync")]
    pub consistency: String,

    /// Whose array it is; with md the target is one array over drives, in a guest
    #[arg(long, value_enum, default_value_t = ArrayName::Raidloom)]
    pub array: ArrayName,

    /// Who starts the array from what the crash has left, in a guest: both read the other's, and
    /// the same seed gives both the same states
    #[arg(long, value_enum, value_name = "WHO", default_value_t = StarterName::Same)]
    pub start_with: StarterName,

    /// Whether the array has all of its members while it is worked on: whole, degraded (the last
    /// one is gone), rebuilding (an empty one is in its place); in a guest
    #[arg(long, value_name = "STATE", default_value_t = ArrayCompleteness::Whole)]
    pub state: ArrayCompleteness,

    /// What works on the file system
    #[arg(long, value_enum, default_value_t = WorkName::Copy)]
    pub work: WorkName,

    /// A program of your own in the place of a built-in work, as sh reads it: it begins in a folder
    /// of the file system, and each line that it writes to the file named in $MARKS is a promise
    /// (each line that it prints, where it writes none there)
    #[arg(long, value_name = "COMMAND", requires = "check", conflicts_with = "work")]
    pub work_command: Option<String>,

    /// What looks at that folder after a cut: the promises before it stand in the file named in
    /// $PROMISED, and it answers with lines `lost KEY`, `wrong KEY`, `torn KEY`, or an exit code
    #[arg(long, value_name = "COMMAND", requires = "work_command")]
    pub check: Option<String>,

    /// What sets that folder up before anything is promised
    #[arg(long, value_name = "COMMAND", requires = "work_command")]
    pub setup: Option<String>,

    /// Steps of the work: files of a copy, fsyncs, $STEPS of a program of your own [default: 240
    /// copies, 200 of the others]
    #[arg(long, value_name = "N")]
    pub steps: Option<u32>,

    /// Crash states at cuts uniform in time: the user's figure
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub pulls: u32,

    /// Further states at cuts around flushes and arrivals, with hostile losses: a sample of its own
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub hunt: u32,

    /// How the drives behave
    #[arg(long, value_enum, default_value_t = DeviceName::Typical)]
    pub device: DeviceName,

    /// What happens
    #[arg(long, value_enum, default_value_t = EventName::Power)]
    pub event: EventName,

    /// A drive that is lost together with the power: none, random, or its number from 0 on
    #[arg(long, value_name = "WHICH", default_value_t = LostMember::None)]
    pub lose_member: LostMember,

    /// Everything random follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Keep what makes states again that broke something, in this folder
    #[arg(long, value_name = "DIR")]
    pub keep_failing: Option<PathBuf>,

    /// Write the first recording as dm-log-writes does, for replay-log (FILE.1, FILE.2 for further
    /// drives)
    #[arg(long, value_name = "FILE")]
    pub log_writes: Option<PathBuf>,

    /// Write what was found as CI systems take the results of tests (JUnit's XML)
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Make a state again that was kept, and judge it
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    pub replay: Option<PathBuf>,

    /// With --replay: write what each drive holds after the cut into this folder, which must be new
    /// or empty: drive0.img, …
    #[arg(long, value_name = "FOLDER", requires = "replay", conflicts_with = "target")]
    pub images: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub keys: Keys<PullKeys>,
}

/// What few need to say, called as in plans where plans have it.
#[derive(Parser, Debug)]
#[command(rename_all = "snake_case", disable_help_flag = true)]
pub(crate) struct PullKeys {
    /// The volatile cache of each typical drive
    #[arg(long, default_value = "32MiB")]
    pub drive_cache: String,

    /// How long a write stays in it at most
    #[arg(long, default_value = "5s")]
    pub cache_age: String,

    /// What a drive writes whole or not at all
    #[arg(long, default_value = "4KiB")]
    pub tear: String,

    /// Time over which the steps are spread: 40s for copies, as fast as it goes else
    #[arg(long)]
    pub spread: Option<String>,

    /// Recordings over which the pulls are spread
    #[arg(long, default_value_t = 3)]
    pub recordings: u32,

    /// When the export's writes are durable: performance after a flush, quick each by itself
    /// (mount with -o sync as well, or they wait in the page cache)
    #[arg(long, default_value = "performance")]
    pub policy: String,

    /// unflushed: Linux in the guest is told that its disks have no cache, so that it flushes none
    #[arg(long, default_value = "on", value_parser = ["on", "unflushed"])]
    pub write_cache: String,

    /// How long a state may take to be mounted, repaired and read, in real time: what takes longer
    /// counts as lost
    #[arg(long, default_value = "60s")]
    pub state_time: String,

    /// With --replay: whether the lost writes are reduced to those whose loss alone breaks the same
    #[arg(long, default_value = "on", value_parser = ["on", "off"])]
    pub smallest_loss: String,
}

impl PullKeys {
    fn is_unflushed(&self) -> bool {
        self.write_cache == "unflushed"
    }
}

/// Carries out what the test asks for, until it ends.
pub(crate) fn worker(disk: Option<&Path>) -> Result<(), Failure> {
    if let Some(disk) = disk {
        return serve_worker_in_guest(disk);
    }
    // Who started it has gone where this fails, and has nobody to tell.
    serve_worker(&mut std::io::stdin().lock(), &mut escape::out_file)
        .map_err(|_| Failure::silent(1))
}

/// A test of a run's row.
pub(crate) fn test(in_guest: bool) -> Result<(), Failure> {
    serve_test(&program(WORKER)?, in_guest, &mut escape::out_file).map_err(|_| Failure::silent(1))
}

/// This program with another verb.
fn program(verb: &str) -> Result<Program, Failure> {
    let path = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("where this program lies: {error}")))?;
    Ok(Program { path, arguments: vec![verb.to_owned()], state_time: STATE_TIME })
}

/// What makes the power cuts of a run.
pub(crate) fn puller() -> Result<Program, Failure> {
    program("pull-test")
}

/// Runs `pull`.
pub(crate) fn pull(output: &Output, arguments: &PullArguments) -> Result<(), Failure> {
    let state_time = time("-s state_time=", &arguments.keys.state_time)?;
    let program = Program { state_time, ..program(WORKER)? };
    if let Some(path) = &arguments.replay {
        let kept = kept(path)?;
        if let Some(folder) = &arguments.images {
            check_images(folder)?;
        }
        let ground = ground(kept.failing.guest_memory_bytes)?;
        let with = ReplayOptions {
            images: arguments.images.as_deref(),
            smallest_loss: arguments.keys.smallest_loss == "on",
        };
        let replayed = replay(&kept, &ground, &program, with)?;
        return show_replayed(output, &replayed, arguments.images.as_deref());
    }
    let options = options(output, arguments)?;
    if let Some(path) = &options.log_writes
        && !path.parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir())
    {
        return Err(Failure::usage(format!(
            "--log-writes {}: there is no such folder; make it first",
            path.display()
        )));
    }
    if let Some(folder) = &options.keep_failing {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::from_io(folder.display(), &error))?;
    }
    let ground = ground(options.guest_memory_bytes)?;
    let stop = signals::stop_flag()?;
    let line = Line::new(output);
    let outcome = run(&options, &ground, &program, &mut |text| line.show(text), &stop)?;
    line.clear();
    show(output, arguments, (&options, &ground), &outcome)?;
    if let Some(path) = &arguments.junit {
        let name = arguments.target.as_deref().unwrap_or_default();
        let text = junit::document(name, &outcome);
        host::files::write_named(path, text.as_bytes())?;
    }
    if outcome.interrupted {
        return Err(Failure::interrupted(
            "interrupted: the figures are of what was done until then",
        ));
    }
    let samples = [&outcome.figure, &outcome.hunt];
    match samples.into_iter().flatten().find(|sample| junit::is_broken(sample)) {
        Some(sample) => Err(Failure::limit_passed(sample.card.headline())),
        None => Ok(()),
    }
}

fn time(flag: &str, text: &str) -> Result<Duration, Failure> {
    stack::size::parse_duration(text)
        .map_err(|error| Failure::usage(format!("{}: {error}", said(flag, text))))
}

/// Guests with so much memory, or this machine in a namespace of our own: then the program may
/// begin anew.
fn ground(guest_memory_bytes: Option<u64>) -> Result<MountHost, Failure> {
    if guest_memory_bytes.is_none() {
        enter()?;
    }
    MountHost::new(guest_memory_bytes)
}

fn options(output: &Output, arguments: &PullArguments) -> Result<Options, Failure> {
    let text = arguments.target.as_deref().unwrap_or_default();
    let node = stack::parse(text).map_err(block::Error::from)?;
    let create =
        arguments.create.as_deref().map(|text| output.size("--create", text)).transpose()?;
    let in_guest = arguments.guest || (!may_mount() && Guests::are_there());
    let found = drives_of(&node, arguments, create, in_guest)?;
    let is_copy = arguments.work == WorkName::Copy && arguments.work_command.is_none();
    let spread = arguments.keys.spread.as_deref().unwrap_or(if is_copy { "40s" } else { "0s" });
    let tear = output.size("-s tear=", &arguments.keys.tear)?;
    let tear_bytes = u32::try_from(tear).ok().filter(|tear| tear.is_power_of_two() && *tear >= 512);
    refuse_unfit(arguments, &node, in_guest)?;
    Ok(Options {
        stack: found.stack,
        drive_bytes: found.drive_bytes,
        drive_models: found.drive_models,
        md: match arguments.array {
            ArrayName::Raidloom => None,
            ArrayName::Md => Some(md_text(&node, &arguments.consistency, "--array md")?),
        },
        starter: match arguments.start_with {
            StarterName::Same => Starter::Same,
            StarterName::Raidloom => Starter::Raidloom,
            StarterName::Md => Starter::Md,
        },
        state: arguments.state,
        unflushed: arguments.keys.is_unflushed(),
        guest_memory_bytes: in_guest.then(|| guest_memory(output, arguments)).transpose()?,
        new_array: Some(NewArraySettings {
            name: "pull".to_owned(),
            consistency: arguments.consistency.clone(),
            bitmap_chunk_bytes: None,
        }),
        upkeep: true,
        file_system: FileSystem::named(&arguments.fs)?,
        make_options: arguments.make_options.clone(),
        mount_options: arguments.mount_options.clone(),
        removal: arguments
            .keys
            .policy
            .parse::<RemovalPolicy>()
            .map_err(|error| Failure::usage(format!("-s policy={error}")))?,
        work: work_source(arguments)?,
        extent: Extent {
            steps: arguments.steps.unwrap_or(if is_copy { 240 } else { 200 }),
            spread_milliseconds: time("-s spread=", spread)?.as_millis() as u64,
        },
        pulls: arguments.pulls,
        hunt: arguments.hunt,
        recordings: arguments.keys.recordings.clamp(1, arguments.pulls.max(arguments.hunt)),
        behaviour: arguments.device.behaviour(),
        happening: match arguments.event {
            EventName::Power => Happening::Power,
            EventName::Yank => Happening::Yank,
            EventName::Cable => Happening::Cable,
            EventName::Kill => Happening::Kill,
        },
        cache_bytes: output.size("-s drive_cache=", &arguments.keys.drive_cache)?,
        cache_milliseconds: time("-s cache_age=", &arguments.keys.cache_age)?.as_millis() as u64,
        tear_bytes: tear_bytes.ok_or_else(|| {
            Failure::usage(format!(
                "-s tear={}: expected a power of two from 512 on",
                arguments.keys.tear
            ))
        })?,
        lost_member: arguments.lose_member,
        seed: arguments.seed,
        keep_failing: arguments.keep_failing.clone(),
        log_writes: arguments.log_writes.clone(),
    })
}

/// What works: a built-in work, or a program of the user's own.
fn work_source(arguments: &PullArguments) -> Result<WorkSource, Failure> {
    let (Some(work_command), Some(check)) = (&arguments.work_command, &arguments.check) else {
        return Ok(WorkSource::BuiltIn(arguments.work.work()));
    };
    for (flag, text) in [
        ("--work-command", Some(work_command)),
        ("--check", Some(check)),
        ("--setup", arguments.setup.as_ref()),
    ] {
        let Some(text) = text else { continue };
        let Some(word) = text.split_whitespace().next() else {
            return Err(Failure::usage(format!("{flag}: name a program")));
        };
        // It begins in another folder.
        if !word.starts_with('/') && word.contains('/') && Path::new(word).exists() {
            let whole = std::path::absolute(word).unwrap_or_else(|_| word.into());
            return Err(Failure::usage(format!(
                "{flag} {word}: it begins in a folder of the stack: name it by its whole path, {}",
                whole.display()
            )));
        }
    }
    Ok(WorkSource::Program(OwnProgram {
        setup: arguments.setup.clone(),
        work_command: work_command.clone(),
        check: check.clone(),
        steps: arguments.steps.unwrap_or(OWN_STEPS),
    }))
}

/// The drives under a stack, of files' sizes and models.
fn drives_of(
    node: &Node,
    arguments: &PullArguments,
    create: Option<u64>,
    in_guest: bool,
) -> Result<Leaves, Failure> {
    let mut taken = Taken::default();
    let mut drive = |scheme: &str, leaf: &Node| match scheme {
        "model" => modelled(in_guest, create, leaf, &mut taken),
        _ => {
            let bytes = drive_bytes(arguments, create, (scheme, leaf), &mut taken)?;
            DriveLeaf::of_size(bytes, in_guest)
        }
    };
    let found = leaves(node, &mut drive)?;
    taken.refuse_stray(arguments)?;
    promise_memory("ram: drives", taken.ram_bytes)?;
    let drives = found.drive_bytes.len();
    if let LostMember::Number(number) = arguments.lose_member
        && number as usize >= drives
    {
        return Err(Failure::usage(format!(
            "--lose-member {number}: drives are counted from 0, and the last one is {}",
            drives - 1
        )));
    }
    Ok(found)
}

fn guest_memory(output: &Output, arguments: &PullArguments) -> Result<u64, Failure> {
    let memory_bytes = output.size("--memory", arguments.memory.as_deref().unwrap_or(MEMORY))?;
    promise_memory("--memory", memory_bytes)?;
    Ok(memory_bytes)
}

/// Which of the flags about drives had a drive to be about.
#[derive(Default)]
struct Taken {
    create: bool,
    scratch: bool,
    /// Drives that are memory by their own words. Those that stand for others hold only what is
    /// written to them.
    ram_bytes: u64,
}

impl Taken {
    fn refuse_stray(&self, arguments: &PullArguments) -> Result<(), Failure> {
        if arguments.create.is_some() && !self.create {
            return Err(Failure::usage("--create: every drive that is named has a size already"));
        }
        if arguments.scratch && !self.scratch {
            return Err(Failure::usage("--scratch: no file or device that holds data is named"));
        }
        Ok(())
    }
}

/// Whether a stack has an array whose members carry superblocks.
fn has_superblocks(node: &Node) -> bool {
    let Node::Layer { options, children, .. } = node else { return false };
    options.iter().any(|(name, value)| name == "metadata" && value != "none")
        || children.iter().any(has_superblocks)
}

/// What only guests have, and what does not go together.
fn refuse_unfit(arguments: &PullArguments, node: &Node, in_guest: bool) -> Result<(), Failure> {
    if !["resync", "bitmap", "ppl"].contains(&arguments.consistency.as_str()) {
        return Err(Failure::usage(format!(
            "--consistency {}: expected resync, bitmap or ppl",
            arguments.consistency
        )));
    }
    if arguments.pulls == 0 && arguments.hunt == 0 {
        return Err(Failure::usage("--pulls 0: without --hunt there is nothing to do"));
    }
    let refused = |text: &str| Err(Failure::usage(text));
    if arguments.consistency != "resync"
        && arguments.array == ArrayName::Raidloom
        && !has_superblocks(node)
    {
        return refused(&format!(
            "--consistency {}: no array of the target keeps superblocks; metadata=1.2 does",
            arguments.consistency
        ));
    }
    if !in_guest {
        let md = "it is the md of a guest, which does not touch this machine's";
        return match arguments {
            _ if arguments.memory.is_some() => refused("--memory: it is a guest's: --guest"),
            _ if arguments.array == ArrayName::Md => refused(&format!("--array md: {md}: --guest")),
            _ if arguments.start_with == StarterName::Md => {
                refused(&format!("--start-with md: {md}: --guest"))
            }
            _ if arguments.state != ArrayCompleteness::Whole => refused(
                "--state: arrays are brought there in a guest, on drives that take time: --guest",
            ),
            _ if arguments.keys.is_unflushed() => refused(
                "-s write_cache=unflushed: it is the Linux of a guest that is told so: --guest",
            ),
            _ if arguments.device == DeviceName::Model => {
                refused("--device model: drives are modelled in a guest only: --guest")
            }
            _ => Ok(()),
        };
    }
    if arguments.start_with == StarterName::Md {
        // Whatever it is that stands on the drives, md has to know it.
        md_text(node, &arguments.consistency, "--start-with md")?;
    }
    let keeps_superblocks = arguments.array == ArrayName::Md
        || matches!(node, Node::Layer { options, .. }
            if options.iter().any(|(name, value)| name == "metadata" && value == "1.2"));
    let is_redundant = matches!(node, Node::Layer { name, .. }
        if stack::table::layer(name).is_ok_and(|row| row.redundant));
    match arguments {
        _ if arguments.state != ArrayCompleteness::Whole && !is_redundant => {
            refused("--state: there is no array that could do without a member")
        }
        _ if arguments.start_with == StarterName::Md && !keeps_superblocks => {
            refused("--start-with md: md knows an array by its superblocks: metadata=1.2")
        }
        _ if arguments.state != ArrayCompleteness::Whole && !keeps_superblocks => {
            refused("--state: there is no array that could lack a member: one with metadata=1.2")
        }
        _ => Ok(()),
    }
}

/// The array of a stack as the guest's md makes it: `raid5 chunk=64KiB`.
fn md_text(stack: &Node, consistency: &str, flag: &str) -> Result<String, Failure> {
    let failed = |text: &str| Err(Failure::usage(format!("{flag}: {text}")));
    let Node::Layer { name, options, children } = stack else {
        return failed("the target is a drive, and no array");
    };
    if !children.iter().all(|child| matches!(child, Node::Leaf { .. })) {
        return failed("the target is one array over drives, without layers below");
    }
    let mut text = name.clone();
    for (option, value) in options {
        match option.as_str() {
            "chunk" | "layout" => text += &format!(" {option}={value}"),
            "metadata" => (),
            _ => return failed(&format!("`{option}` is raidloom's own")),
        }
    }
    match consistency {
        "resync" => (),
        "bitmap" => text += " bitmap=internal",
        _ if name == "raid5" => text += &format!(" {}", guest::setup::WITH_LOG),
        _ => return failed(&format!("--consistency ppl: {name} has no such log; raid5 has")),
    }
    Ok(text)
}

/// A drive that takes modelled time.
fn modelled(
    in_guest: bool,
    create: Option<u64>,
    leaf: &Node,
    taken: &mut Taken,
) -> Result<DriveLeaf, Failure> {
    if !in_guest {
        return Err(Failure::usage(format!(
            "{leaf}: a modelled drive takes modelled time, which passes in a guest: --guest"
        )));
    }
    let lacks_size = matches!(leaf, Node::Leaf { options, .. }
        if !options.iter().any(|(name, _)| name == "size"));
    taken.create |= lacks_size;
    let leaf = match create.filter(|_| lacks_size) {
        Some(bytes) => leaf.clone().with("size", block::size_text(bytes)),
        None => leaf.clone(),
    };
    let drive = DriveLeaf::modelled(&leaf)?;
    if drive.bytes > MODELLED_MAX_BYTES {
        return Err(Failure::usage(format!(
            "{leaf}: what is written to it is kept in memory: name how much of it is used, 4 GiB \
            at most (--create SIZE)"
        )));
    }
    Ok(drive)
}

/// How large the drive is that stands for a leaf. Nothing is opened for writing, ever; that a file
/// which holds something is meant has to be said all the same.
fn drive_bytes(
    arguments: &PullArguments,
    create: Option<u64>,
    (scheme, leaf): (&str, &Node),
    taken: &mut Taken,
) -> Result<u64, Failure> {
    let Node::Leaf { address, options, .. } = leaf else { unreachable!("a leaf") };
    let said = |text: &str| {
        stack::size::parse(text)
            .map(|size| size.bytes)
            .map_err(|error| Failure::usage(format!("{leaf}: {error}")))
    };
    match scheme {
        "ram" => {
            let bytes = said(address)?;
            taken.ram_bytes = taken.ram_bytes.saturating_add(bytes);
            Ok(bytes)
        }
        "file" => {
            let path = Path::new(address);
            let size = options.iter().find(|(name, _)| name == "size");
            let named = size.map(|(_, text)| said(text)).transpose()?;
            if path.is_dir() {
                return Err(Failure::usage(format!("{address}: it is a folder, and no drive")));
            }
            let is_device = path.metadata().is_ok_and(|data| !data.is_file());
            let own = own_bytes(path)?.filter(|bytes| *bytes > 0);
            if own.is_some() && !arguments.scratch {
                return Err(Failure::refused(format!(
                    "{address}: it holds data; pull makes a file system anew. --scratch lets an \
                    empty drive in memory of its size stand for it, and leaves it alone"
                )));
            }
            taken.scratch |= own.is_some();
            let takes_create = named.is_none() && (own.is_none() || is_device);
            taken.create |= takes_create;
            // A drive is whole blocks.
            let whole = own.map(|bytes| bytes / 4096 * 4096);
            named.or(create.filter(|_| takes_create)).or(whole).ok_or_else(|| {
                Failure::usage(match path.symlink_metadata() {
                    Ok(_) => format!("{address}: how large is it to be? (--create SIZE)"),
                    Err(_) => format!(
                        "{address}: there is no such file; name the size of the drive that stands \
                        for it (--create SIZE)"
                    ),
                })
            })
        }
        _ => Err(Failure::usage(format!(
            "{leaf}: pull needs drives that keep data; name ram:SIZE or files"
        ))),
    }
}

/// The size of a file or block device, asked without opening it; `None` where there is none.
fn own_bytes(path: &Path) -> Result<Option<u64>, Failure> {
    let Ok(data) = std::fs::metadata(path) else { return Ok(None) };
    if data.is_file() {
        return Ok(Some(data.len()));
    }
    host::system::block_number(path).and_then(host::system::block_bytes).map(Some).ok_or_else(
        || Failure::usage(format!("{}: it is no file and no block device", path.display())),
    )
}

fn show(
    output: &Output,
    arguments: &PullArguments,
    (options, ground): (&Options, &MountHost),
    outcome: &Outcome,
) -> Result<(), Failure> {
    let guest = match ground {
        MountHost::Guest(guests) => Some(guests),
        MountHost::Host(_) => None,
    };
    let mounted = arguments.mount_options.as_deref();
    let stood_for = stood_for(arguments);
    let simulated = simulated(&stood_for);
    if output.json {
        return output.document(&document(arguments, options, guest, outcome));
    }
    let of_md = if options.md.is_some() { " of md" } else { "" };
    let mut text = simulated.as_ref().map_or(String::new(), |simulated| format!("{simulated}\n"));
    text += &format!(
        "{} on {}{of_md}{}, {} in {:.1} s of {} recordings\n",
        options.file_system.name,
        arguments.target.as_deref().unwrap_or_default(),
        mounted.map(|mounted| format!(", mounted with {mounted}")).unwrap_or_default(),
        done(options),
        outcome.recorded_seconds,
        options.recordings,
    );
    if let Some(guest) = guest {
        text += &format!(
            "in a guest with Linux {} and {} of memory; times are modelled, processors take none, \
            and drives without a model of their own the time of {DEFAULT_MODEL}\n",
            guest.version(),
            about(guest.memory_bytes())
        );
    }
    let cache = drives(arguments, options);
    let lost = match options.lost_member {
        LostMember::None => String::new(),
        LostMember::Random => ", and one of them, another each time, is lost".to_owned(),
        LostMember::Number(number) => format!(", and number {number} of them is lost"),
    };
    text += &format!(
        "{cache}{lost}; {} written in {} requests, {} flushes; {} promises made\n",
        about(outcome.written_bytes),
        outcome.requests,
        outcome.flushes,
        outcome.promises
    );
    for (name, sample) in [
        ("cuts uniform in time", &outcome.figure),
        ("the hunt: hot cuts, hostile losses", &outcome.hunt),
    ] {
        if let Some(sample) = sample {
            let is_own = options.own_program().is_some();
            let card = card(name, sample, (guest.is_some(), is_own), simulated.as_deref());
            text += &format!("\n{card}\n");
        }
    }
    if let (Some(first), Some(folder)) = (outcome.kept.first(), &options.keep_failing) {
        let count = outcome.kept.len();
        text += &format!("\n{count} kept in {}; look at one:\n", folder.display());
        text += &format!("  raidloom pull --replay {}\n", first.display());
    }
    output.result(&text)
}

/// What was done while it was recorded.
fn done(options: &Options) -> String {
    let steps = options.extent.steps * options.recordings;
    let of = match &options.work {
        WorkSource::Program(_) => return "a program of one's own".to_owned(),
        WorkSource::BuiltIn(Work::Copy) => "files copied",
        WorkSource::BuiltIn(Work::Fsync) => "steps with fsync",
        WorkSource::BuiltIn(Work::Rename) => "renames",
        WorkSource::BuiltIn(Work::Append) => "blocks appended",
        WorkSource::BuiltIn(Work::Database | Work::DatabaseExtra | Work::DatabaseWal) => {
            "transactions of SQLite"
        }
    };
    format!("{steps} {of}")
}

/// What `--json` prints.
fn document(
    arguments: &PullArguments,
    options: &Options,
    guest: Option<&Guests>,
    outcome: &Outcome,
) -> Value {
    let stood_for = stood_for(arguments);
    let simulated = simulated(&stood_for);
    json!({
        "target": arguments.target,
        "file_system": options.file_system.name,
        "make_options": options.make_options,
        "mount_options": arguments.mount_options,
        "work": options.work,
        "policy": arguments.keys.policy,
        "device": options.behaviour,
        // What a drive in memory does says nothing of the one that it stands for.
        "is_honest_device": stood_for.is_empty().then(|| options.behaviour.is_honest()),
        "simulated": simulated,
        "stands_for": stood_for,
        "event": options.happening,
        "cache_bytes": options.cache_bytes,
        "cache_milliseconds": options.cache_milliseconds,
        "tear_bytes": options.tear_bytes,
        "md": options.md,
        "start_with": options.starter,
        "state": options.state.to_string(),
        "unflushed": options.unflushed,
        "lost_member": options.lost_member.to_string(),
        "seed": options.seed,
        "place": if guest.is_some() { "guest" } else { "host" },
        "guest": guest.map(|guest| {
            json!({"kernel": guest.version(), "memory_bytes": guest.memory_bytes()})
        }),
        "outcome": outcome,
    })
}

/// What the drives keep and lose, as it was assumed.
fn drives(arguments: &PullArguments, options: &Options) -> String {
    match (arguments.event, arguments.device) {
        (EventName::Cable | EventName::Kill, _) => {
            "drives keep their power and what they cached".to_owned()
        }
        (_, DeviceName::Typical) => format!(
            "typical drives: cache {} and at most {} old, tear unit {}",
            about(options.cache_bytes),
            arguments.keys.cache_age,
            about(options.tear_bytes.into())
        ),
        (_, DeviceName::Strict) => {
            format!("strict drives: tear unit {}", about(options.tear_bytes.into()))
        }
        (_, DeviceName::WriteThrough) => "drives without a volatile cache".to_owned(),
        (_, DeviceName::Lying) => "DISHONEST drives: flushes are ignored".to_owned(),
        (_, DeviceName::LyingFua) => "DISHONEST drives: FUA is ignored".to_owned(),
        (_, DeviceName::Model) => "drives whose model says what is on the media, block by block, \
            tear unit 512 B or its own block"
            .to_owned(),
    }
}

/// The files and devices of the target for which drives in memory stand: they are not opened.
fn stood_for(arguments: &PullArguments) -> Vec<String> {
    let node = arguments.target.as_deref().and_then(|text| stack::parse(text).ok());
    let leaves = node.iter().flat_map(Node::leaves);
    let file = |leaf: &Node| match leaf {
        Node::Leaf { scheme, address, .. } if scheme == "file" => Some(address.clone()),
        _ => None,
    };
    leaves.filter_map(file).collect()
}

/// That a grade is of drives in memory and of no drive that was named.
fn simulated(stood_for: &[String]) -> Option<String> {
    if stood_for.is_empty() {
        return None;
    }
    let (names, itself) =
        (stood_for.join(", "), if stood_for.len() == 1 { "itself" } else { "themselves" });
    Some(format!("simulated: nothing is known of {names} {itself}"))
}

/// A sample as a table. Nothing but promises is known of a program of the user's own.
fn card(
    name: &str,
    sample: &Sample,
    (in_guest, is_own): (bool, bool),
    simulated: Option<&str>,
) -> String {
    let ScoreCard { pulls, .. } = sample.card;
    let card = &sample.card;
    let mut rows: Vec<(&str, String)> = vec![
        ("could not be mounted", shown(&card.unmountable)),
        ("  repaired", shown(&card.repaired)),
        ("  nor after a repair", shown(&card.lost_for_good)),
    ];
    if let Some(check) = &card.check_failed {
        rows.push(("errors found by a check", shown(check)));
    }
    rows.push(("acknowledged work lost", shown(&card.promise_broken)));
    if card.promise_broken.count > 0 {
        let bytes = match is_own {
            true => String::new(),
            false => format!(", {}", about(card.promised_bytes_lost)),
        };
        rows.push(("  promises broken", format!("{}{bytes}", card.promises_broken)));
        rows.push(("  seconds of it", spread(&card.promised_seconds_lost)));
    }
    if !is_own {
        rows.extend(unpromised(card));
    }
    let recovery = if in_guest { "recovery, modelled seconds" } else { "recovery, seconds" };
    rows.push((recovery, spread(&card.recovery_seconds)));
    if sample.unjudged > 0 {
        let why: Vec<String> = sample.unjudged_why.iter().map(ToString::to_string).collect();
        let text = format!("{}, not counted ({})", sample.unjudged, why.join("; "));
        rows.push(("the check gave no verdict", text));
    }
    if sample.unsteady > 0 {
        rows.push(("not shown twice, not counted", sample.unsteady.to_string()));
    }
    let rows = rows.into_iter().map(|(label, value)| format!("  {label:<30}{value}\n"));
    let simulated = simulated.map_or(String::new(), |simulated| format!(" ({simulated})"));
    format!("{name}, {pulls} pulls\n{}{}{simulated}", rows.collect::<String>(), card.headline())
}

/// What nobody promises, which only built-in works look at.
fn unpromised(card: &ScoreCard) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("seconds of copies lost", spread(&card.closed_seconds_lost)),
        ("files of copies lost", spread(&card.closed_files_lost)),
        ("bytes of copies lost", sizes(&card.closed_bytes_lost)),
        ("renames without fsync torn", shown(&card.rename_torn)),
        ("old data exposed", shown(&card.exposed)),
    ];
    if card.exposed_files > 0 {
        rows.push(("  in files", card.exposed_files.to_string()));
    }
    rows.push(("blocks torn, as permitted", card.torn_blocks.to_string()));
    rows
}

fn shown(share: &Share) -> String {
    let Share { count, percent, at_most_percent } = share;
    match count {
        0 => format!("none (below {} % at 95 %)", figure(*at_most_percent)),
        _ => format!("{count}: {} % (at most {} %)", figure(*percent), figure(*at_most_percent)),
    }
}

fn spread(spread: &Spread) -> String {
    spread_in(spread, "longest", figure)
}

fn sizes(spread: &Spread) -> String {
    spread_in(spread, "most", |bytes| about(bytes as u64))
}

fn spread_in(spread: &Spread, most: &str, shown: impl Fn(f64) -> String) -> String {
    let Spread { median, p95, max } = *spread;
    if max == 0.0 {
        return "0".to_owned();
    }
    format!("median {}, p95 {}, {most} {}", shown(median), shown(p95), shown(max))
}

fn show_replayed(
    output: &Output,
    replayed: &ReplayedState,
    images: Option<&Path>,
) -> Result<(), Failure> {
    if output.json {
        return output.document(replayed);
    }
    let ReplayedState { is_same_state, is_same_judgement, judgement, .. } = replayed;
    let mut text = format!(
        "{}; {}\n",
        if *is_same_state { "the same state, bit for bit" } else { "ANOTHER STATE" },
        if *is_same_judgement { "it shows the same" } else { "it shows SOMETHING ELSE" }
    );
    for why in [&judgement.unmountable, &judgement.lost_for_good].into_iter().flatten() {
        text += &format!("{why}\n");
    }
    if judgement.check_failed == Some(true) {
        text += "a check finds errors\n";
    }
    if let Some(why) = judgement.unjudged {
        text += &format!("the check gave no verdict: {why}\n");
    }
    if let Some(found) = &judgement.findings {
        for wrong in found.broken.iter().chain(&found.torn_renames) {
            text += &format!(
                "file {}: {:?}, {} bytes; {:?} since {:.3} s\n",
                wrong.file,
                wrong.class,
                wrong.bytes,
                wrong.rule,
                wrong.since_nanoseconds as f64 / 1e9
            );
        }
        for wrong in &found.keys {
            let key = wrong.key.as_ref().map_or(String::new(), |key| format!(" {key}"));
            let since = match wrong.since_nanoseconds {
                Some(time) => format!("promised at {:.6} s", time as f64 / 1e9),
                None => "never promised".to_owned(),
            };
            text += &format!("{}{key}: {since}\n", wrong.verdict);
        }
        text += &match replayed.is_own_check {
            true => format!("{} promises looked at\n", found.promises),
            false => format!(
                "{} files looked at, {} with old data, {} closed ones lost\n",
                found.files,
                found.exposed,
                found.lost.len()
            ),
        };
    }
    text += &replayed.smallest_loss.as_ref().map_or(String::new(), smallest_loss);
    if let (Some(folder), Some(stack)) = (images, &replayed.images) {
        text += &format!("\nwritten to {}; mount it:\n  ", folder.display());
        text += &match stack::parse(stack) {
            Ok(Node::Leaf { .. }) => format!(
                "mount -t {} -o loop {} FOLDER\n",
                replayed.file_system,
                escape::shell(&folder.join(image_name(0)).to_string_lossy())
            ),
            _ => format!(
                "raidloom array start --attach --name pulled {} && raidloom array mount pulled \
                FOLDER\n",
                escape::shell(stack)
            ),
        };
    }
    output.result(&text)
}

/// What alone breaks the same.
fn smallest_loss(found: &SmallestLoss) -> String {
    let SmallestLoss { lost, judged, .. } = found;
    let mut text = match (&found.writes[..], found.is_minimal) {
        ([], _) => format!(
            "\nthe smallest loss is none: it is broken where none of the {lost} lost writes is lost, \
            so what was promised had not come to the drives ({judged} states judged)\n"
        ),
        (writes, true) => format!(
            "\nthe smallest loss, of {lost} writes that were lost: that of {} alone breaks the same \
            ({judged} states judged)\n",
            writes.len()
        ),
        (writes, false) => format!(
            "\nthe smallest loss, of {lost} writes that were lost: that of {} breaks the same, and \
            perhaps fewer do ({judged} states judged)\n",
            writes.len()
        ),
    };
    found.writes.iter().for_each(|write| text += &lost_write(write));
    if let Some(late) = &found.late {
        text += "what was missing came too late:\n";
        text += &lost_write(late);
    }
    text
}

/// A write, whose it is, and what should have made it durable.
fn lost_write(write: &LostWrite) -> String {
    let seconds = |nanoseconds: u64| format!("{:.6} s", nanoseconds as f64 / 1e9);
    let completed = match write.completed_nanoseconds {
        Some(time) => format!(", answered at {}", seconds(time)),
        None => String::new(),
    };
    let owners: Vec<String> = write.owners.iter().map(ToString::to_string).collect();
    let owners = if owners.is_empty() { String::new() } else { format!(": {}", owners.join("; ")) };
    let flush = match write.flush {
        Covering::Never { last_nanoseconds: None } => {
            "no flush of its drive before the cut".to_owned()
        }
        Covering::Never { last_nanoseconds: Some(time) } => {
            format!("no flush of its drive after that: the last one came at {}", seconds(time))
        }
        Covering::Unanswered { arrived_nanoseconds } => format!(
            "the flush that covers it came at {}, and was not answered before the cut",
            seconds(arrived_nanoseconds)
        ),
        Covering::Ignored { answered_nanoseconds } => format!(
            "the flush that covers it was answered at {}, and the drive has not carried it out",
            seconds(answered_nanoseconds)
        ),
        Covering::UnderWay => "it was not answered before the cut".to_owned(),
        Covering::AfterCut => {
            "it came after the cut, and the promise has not waited for it".to_owned()
        }
    };
    format!(
        "  drive {}, sector {}, {} (request {}, at {}{completed}){owners}\n    {flush}\n",
        write.member,
        write.sector,
        about(write.bytes),
        write.request,
        seconds(write.arrived_nanoseconds)
    )
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::arguments::Arguments;

    /// "Simulated: nothing is known of /dev/X itself": in the first line and in the grade's.
    #[test]
    fn a_grade_is_of_the_drive_that_stands_for_a_device_and_says_so() {
        let of = |words: &[&str]| {
            let line = ["raidloom", "pull"].iter().chain(words);
            match Arguments::parse_from(line).command {
                crate::arguments::Command::Pull(arguments) => *arguments,
                _ => unreachable!("it was said"),
            }
        };
        let device = of(&["--scratch", "raid1(/dev/sdx, ram:1MiB)"]);
        assert_eq!(stood_for(&device), ["/dev/sdx"]);
        let said = simulated(&stood_for(&device)).unwrap();
        assert_eq!(said, "simulated: nothing is known of /dev/sdx itself");
        let two = simulated(&["a.img".to_owned(), "b.img".to_owned()]).unwrap();
        assert!(two.ends_with("a.img, b.img themselves"), "{two}");
        assert_eq!(simulated(&stood_for(&of(&["ram:1MiB"]))), None);
    }

    #[test]
    fn a_stack_is_an_array_of_md_where_md_has_it() {
        let of = |text: &str, consistency: &str| {
            md_text(&stack::parse(text).unwrap(), consistency, "--array md")
                .map_err(|error| error.to_string())
        };
        let five = "raid5(metadata=1.2, chunk=64KiB, ram:1MiB, ram:1MiB, ram:1MiB)";
        assert_eq!(of(five, "bitmap").unwrap(), "raid5 chunk=64KiB bitmap=internal");
        assert_eq!(of("raid1(ram:1MiB, ram:1MiB)", "resync").unwrap(), "raid1");
        assert_eq!(of(five, "ppl").unwrap(), "raid5 chunk=64KiB consistency=ppl");
        for (text, consistency, expected) in [
            ("ram:1MiB", "resync", "no array"),
            ("raid1(raid0(ram:1MiB, ram:1MiB), ram:1MiB)", "resync", "without layers below"),
            ("raid5(force=yes, metadata=1.2, ram:1MiB, ram:1MiB, ram:1MiB)", "resync", "`force`"),
            ("raid1(ram:1MiB, ram:1MiB)", "ppl", "raid1 has no such log"),
        ] {
            let error = of(text, consistency).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// A row of a plan and the command are the same test: what both can be told has the same
    /// meaning when nothing is said.
    #[test]
    fn flags_and_settings_of_plans_agree() {
        let suite = &bench::suite::pull::SUITE;
        let command = Arguments::command();
        let pull = command.find_subcommand("pull").unwrap();
        let keys = PullKeys::command();
        let flag = |name: &str| {
            let all = || pull.get_arguments().chain(keys.get_arguments());
            all().find(|one| one.get_id() == name).unwrap()
        };
        let setting = |name: &str| suite.setting(name).unwrap().default(block::Clock::Wall);
        for (name, of_plans) in [
            ("device", "device"),
            ("event", "event"),
            ("drive_cache", "drive_cache"),
            ("cache_age", "cache_age"),
            ("tear", "tear"),
        ] {
            let default = flag(name).get_default_values()[0].to_str().unwrap();
            assert_eq!(default, setting(of_plans).to_string(), "--{name}");
        }
        let said = |name: &str| flag(name).get_help().unwrap().to_string();
        let (copies, steps) = (setting("copies"), setting("steps"));
        assert!(said("steps").contains(&format!("{copies} copies, {steps} of the others")));
        assert!(said("spread").contains(&format!("{} for copies", setting("copy_time"))));
        for (name, kind) in [("device", "device"), ("event", "event")] {
            let values = flag(name).get_possible_values();
            let bench::suite::Kind::Word(words) = suite.setting(kind).unwrap().kind else {
                panic!("{kind} takes words")
            };
            let values: Vec<&str> =
                values.iter().map(clap::builder::PossibleValue::get_name).collect();
            assert_eq!(values, words);
        }
        let rows = suite.default_phases();
        let works: Vec<String> = flag("work")
            .get_possible_values()
            .iter()
            .map(|work| format!("{}{}", bench::suite::pull::ROW, work.get_name()))
            .collect();
        assert_eq!(rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>(), works);
    }
}

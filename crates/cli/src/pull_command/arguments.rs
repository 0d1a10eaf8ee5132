//! What `raidloom pull` can be told.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};
use guest::ArrayCompleteness;
use lab::pull::{Behaviour, LostMember};
use pull::Work;

use crate::keys::Keys;

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
    /// Small works of one to three operations (link, rename, truncate, punch and so on), each made
    /// durable as POSIX says: all of one, and more by the seed
    Generated,
}

impl WorkName {
    pub(super) fn work(self) -> Work {
        match self {
            WorkName::Copy => Work::Copy,
            WorkName::Fsync => Work::Fsync,
            WorkName::Rename => Work::Rename,
            WorkName::Append => Work::Append,
            WorkName::Database => Work::Database,
            WorkName::DatabaseExtra => Work::DatabaseExtra,
            WorkName::DatabaseWal => Work::DatabaseWal,
            WorkName::Generated => Work::Generated,
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
    pub(super) fn behaviour(self) -> Behaviour {
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
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,

    /// What sets that folder up before anything is promised
    #[arg(long, value_name = "COMMAND", requires = "work_command", conflicts_with = "import")]
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

    /// A drive that is lost together with the power: none, random, or its number from 0 on; or two
    /// at once: random+random, 0+2; stale:1 falls out before the work and is back after the cut,
    /// older than the others; stale:1+0: and 0 is lost
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

    /// Make the states of this log of dm-log-writes and record nothing: the target is one drive,
    /// and what it holds came before the log; its marks are the promises for --check
    #[arg(long, value_name = "FILE", conflicts_with_all = ["work_command", "log_writes", "create",
        "scratch"])]
    pub import: Option<PathBuf>,

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

    /// For the program that makes the file system
    #[arg(long, allow_hyphen_values = true)]
    pub make_options: Option<String>,

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

    /// The guest's kernel: the usual one, or another that `raidloom guest build` has made
    #[arg(long)]
    pub kernel: Option<String>,

    /// How long a state may take to be mounted, repaired and read, in real time: what takes longer
    /// counts as lost
    #[arg(long, default_value = "60s")]
    pub state_time: String,

    /// With --replay: whether the lost writes are reduced to those whose loss alone breaks the same
    #[arg(long, default_value = "on", value_parser = ["on", "off"])]
    pub smallest_loss: String,
}

impl PullKeys {
    pub(super) fn is_unflushed(&self) -> bool {
        self.write_cache == "unflushed"
    }
}

//! What can be said to `run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lab::Shard;
use lab::plan::OneLine;

use crate::consent::Consent;

/// `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// The plan file, or a name from `run plan`; with --more or --until also the folder of a
    /// finished run
    #[arg(conflicts_with = "resume")]
    pub plan: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub line: LineArguments,

    /// Change one key of the plan (a TOML value; may be repeated)
    #[arg(short, long = "set", value_name = "KEY=VALUE", conflicts_with = "resume")]
    pub set: Vec<String>,

    /// The run's folder [default: raidloom-runs/TIME-NAME]
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume")]
    pub output: Option<PathBuf>,

    /// Measure one part of so many, such as 2/8, here; `raidloom run merge` joins the parts
    #[arg(long, value_name = "I/N", conflicts_with_all = ["resume", "more", "until"])]
    pub shard: Option<Shard>,

    /// Go on with an interrupted run; with --on, with the shards of one
    #[arg(long, value_name = "RUN")]
    pub resume: Option<PathBuf>,

    /// Go on with a finished run for so many blocks, or a few more to the next look (8, 16, 32, 60)
    #[arg(long, value_name = "BLOCKS", conflicts_with_all = ["resume", "until"],
        value_parser = crate::bounds::within::<u32>(1..))]
    pub more: Option<u32>,

    /// Go on from look to look until no headline has an open question
    #[arg(long, value_name = "WHAT", conflicts_with = "resume")]
    pub until: Option<StopRule>,

    /// What the run may cost in all: time=2h, written_per_member=200GiB, or none instead of either
    /// (may be repeated); a run that goes on takes it instead of its plan's
    #[arg(long, value_name = "KEY=LIMIT")]
    pub budget: Vec<String>,

    /// Exit with 3 when a configuration surely passes this limit against its baseline:
    /// 'throughput < -5%' (may be repeated); with 5 where such a change could not be seen
    #[arg(long, value_name = "LIMIT", conflicts_with_all = ["shard", "on"])]
    pub fail_if: Vec<String>,

    /// Print the plan as text, and run nothing: PLAN's, that of one line, or one to start from
    #[arg(long, conflicts_with_all = ["resume", "more", "set", "output", "shard", "until", "budget",
        "fail_if", "allow_change", "erase", "erase_signature", "allow_device"])]
    pub print_plan: bool,

    /// Go on although the machine has changed since the run began
    #[arg(long)]
    pub allow_change: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub cluster: ClusterArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

impl RunArguments {
    /// Changes to the plan. Of a plan the limits of the budget are keys like others.
    pub(super) fn settings(&self) -> Vec<String> {
        let limits = self.budget.iter().map(|limit| format!("budget.{limit}"));
        self.set.iter().cloned().chain(limits).collect()
    }
}

/// Where a run is measured, if not here.
#[derive(Args, Debug)]
#[group(conflicts_with_all = ["shard", "more", "until", "print_plan", "allow_change"])]
pub(crate) struct ClusterArguments {
    /// Submit the run as an array job, a task for each shard, and return; the output folder lies on
    /// storage that all nodes see
    #[arg(long, value_name = "SCHEDULER", help_heading = CLUSTER)]
    pub on: Option<Scheduler>,

    /// The partition whose nodes do it [default: Slurm's]
    #[arg(long, value_name = "NAME", requires = "on", conflicts_with = "resume",
        help_heading = CLUSTER)]
    pub partition: Option<String>,

    /// How many tasks there are at a time, at most; one that measures has its node for itself
    #[arg(long, value_name = "N", requires = "on", conflicts_with = "resume",
        value_parser = crate::bounds::within::<u32>(1..), help_heading = CLUSTER)]
    pub nodes: Option<u32>,

    /// Into how many shards the run is cut [default: as many as --nodes, else 8; where something is
    /// measured, no more than there are blocks]
    #[arg(long, value_name = "K", requires = "on", conflicts_with = "resume",
        value_parser = crate::bounds::within::<u32>(1..=1000), help_heading = CLUSTER)]
    pub shards: Option<u32>,
}

/// The heading of what is for clusters.
const CLUSTER: &str = "On a cluster";

/// What hands out work on a cluster.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Scheduler {
    /// Slurm: sbatch and squeue have to be installed here
    Slurm,
}

/// A plan of one line.
#[derive(Args, Debug)]
#[group(conflicts_with_all = ["plan", "resume", "more"])]
pub(crate) struct LineArguments {
    /// Compare layouts by this command of your own, as sh reads it; {dir} is its fresh folder
    #[arg(long, value_name = "TEXT", help_heading = LINE)]
    pub command: Option<String>,

    /// What is run before it, and not counted
    #[arg(long, value_name = "TEXT", requires = "command", help_heading = LINE)]
    pub prepare: Option<String>,

    /// What is run after it, also when it failed
    #[arg(long, value_name = "TEXT", requires = "command", help_heading = LINE)]
    pub cleanup: Option<String>,

    /// A figure in its output (may be repeated; see `bench explain command`) [default: its time]
    #[arg(long, value_name = "LINE", requires = "command", help_heading = LINE)]
    pub figures: Vec<String>,

    /// The levels to compare
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "raid10,raid5,raid6",
        requires = "command", help_heading = LINE)]
    pub level: Vec<String>,

    /// The file systems to compare
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "ext4",
        requires = "command", help_heading = LINE)]
    pub fs: Vec<String>,

    /// The chunks of striped levels
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512KiB",
        requires = "command", help_heading = LINE)]
    pub chunk: Vec<String>,

    /// How many members there are, each a file
    #[arg(long, value_name = "N", default_value_t = 4, requires = "command",
        value_parser = crate::bounds::within::<u64>(1..), help_heading = LINE)]
    pub members: u64,

    /// Size of each
    #[arg(long, value_name = "SIZE", default_value = "1GiB", requires = "command",
        help_heading = LINE)]
    pub member_size: String,

    /// Folder in which they are made [default: the run's own]
    #[arg(long, value_name = "DIR", requires = "command", help_heading = LINE)]
    pub member_dir: Option<PathBuf>,
}

impl LineArguments {
    /// The plan that they come to.
    pub(super) fn plan(&self) -> OneLine {
        OneLine {
            run: self.command.clone().unwrap_or_default(),
            prepare: self.prepare.clone(),
            cleanup: self.cleanup.clone(),
            figures: self.figures.clone(),
            levels: self.level.clone(),
            chunks: self.chunk.clone(),
            file_systems: self.fs.clone(),
            members: self.members,
            member_size: self.member_size.clone(),
            folder: self.member_dir.as_ref().map(|folder| folder.display().to_string()),
        }
    }
}

/// The heading of what is a plan of one line.
const LINE: &str = "A plan of one line";

/// When a run that goes on is over.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopRule {
    /// No headline has a question left that more blocks might answer, or 60 blocks are there
    Decided,
}

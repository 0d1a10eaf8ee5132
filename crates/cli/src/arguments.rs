//! Everything that can be said on the command line, defined once: help, man page and completions
//! follow from it.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::array_command::ArrayVerb;
use crate::bench_command::BenchArguments;
use crate::choose_command::{ChooseArguments, EXAMPLES as EXAMPLES_OF_CHOOSE};
use crate::compare_command::CompareArguments;
use crate::export_command::ExportArguments;
use crate::guest_command::GuestVerb;
use crate::history_command::HistoryArguments;
use crate::keys;
use crate::merge::MergeArguments;
use crate::model::ModelVerb;
use crate::output::{EVERY_VERB, OutputArguments};
use crate::plan::PlanFile;
use crate::pull_command::{EXAMPLES as EXAMPLES_OF_PULL, PullArguments, PullKeys};
use crate::record_command::{EXAMPLES as EXAMPLES_OF_RECORD, RecordArguments};
use crate::report_command::ReportArguments;
use crate::run::RunArguments;
use crate::trace_command::{EXAMPLES as EXAMPLES_OF_TRACE, TraceArguments};
use crate::ui_command::UiArguments;
use crate::watch_command::WatchArguments;

/// Finds the fastest safe disk layout for your own work, then runs it.
#[derive(Parser, Debug)]
#[command(name = "raidloom", version, about, arg_required_else_help = true, max_term_width = 120)]
#[command(after_help = "\
raidloom --help also has examples, exit codes and what is below these verbs.")]
#[command(after_long_help = "\
Examples:
  raidloom run stripe-size
      compare chunk sizes on image files and on modelled disks, and write a report
  raidloom bench devtest 'raid0(chunk=64KiB, model:maxtor-6y200p0, model:maxtor-6y200p0)'
      predict two striped disks of 2004, in modelled time
  raidloom bench devtest --size 256MiB /var/tmp/test.img
      measure an image file on this machine

Exit codes:
  0 done   1 failed while running   2 usage or plan error   4 device or file refused
  3 done, but a --fail-if limit was passed, or a pull found a broken promise
  5 finished, but results are not valid   130 interrupted (the message says how to go on)

Below these verbs:
  run      plan (check and show one), watch (how far a run is), merge (join its shards)
  bench    explain (the suites, their phases and keys)
  report   history (one figure over many runs), export (send a run)
  array    cache, overlay, monitor, and all that is done with arrays
  trace    recordings: show, cut, scale, convert, also other programs'
  guest    Linux on modelled drives: build its kernel, run a command in it
  man      manual pages, completions of a shell

A stack text joins devices: layer(option=value, device, ...) over leaves such as
file:PATH, ram:SIZE, null:SIZE and model:NAME. A bare path is a file or block device.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArguments,

    /// Say what is done: -v in short, -vv more of it, -vvv each request (RAIDLOOM_LOG=FILTER is
    /// finer: request=trace,serve=debug)
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = EVERY_VERB)]
    pub verbose: u8,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Show what this machine can do, what is missing, and its drives
    #[command(after_long_help = "\
Examples:
  raidloom check
  raidloom check drives
  raidloom check drives --json | jq '.[] | select(.answer == \"with-consent\") | .path'
  raidloom check guest --json | jq .file_systems

What is said of each drive is what any verb would say that is told to write to it: `with consent`
names the consent. Nothing is opened for writing.")]
    Check {
        /// What is looked at [default: what this machine can do, what is missing, and the command
        /// that installs it]
        subject: Option<CheckSubject>,
    },

    /// Choose a layout for drives and work: three questions, one answer
    #[command(after_long_help = EXAMPLES_OF_CHOOSE)]
    Choose(Box<ChooseArguments>),

    /// Measure one target with a suite, or read what other tools measured
    #[command(
        arg_required_else_help = true,
        args_conflicts_with_subcommands = true,
        subcommand_negates_reqs = true
    )]
    #[command(after_long_help = "\
Examples:
  raidloom bench explain
  raidloom bench crystal /mnt/disk
  raidloom bench --import CrystalDiskMark.txt --import fio.json
  raidloom bench --import old.csv --import fio.json --output both && raidloom report both

A suite on a target is a run of one configuration: report, compare and history read its folder.
Files of bonnie++ (CSV), CrystalDiskMark and KDiskMark (text) and fio (JSON) become one report in
which they sit side by side.")]
    Bench(Box<BenchArguments>),

    /// Run a plan: every configuration in every block, then the report
    #[command(args_conflicts_with_subcommands = true)]
    #[command(after_long_help = "\
Examples:
  raidloom run plan
  raidloom run stripe-size
  raidloom run plans/stripe-size.toml -s trials.blocks=12 -s 'matrix.members=[\"maxtor\"]'
  raidloom run --resume raidloom-runs/2026-11-21T0740Z-stripe-size
  raidloom run --more 8 raidloom-runs/2026-11-21T0740Z-stripe-size
  raidloom run --until decided plans/stripe-size.toml
  raidloom run --command 'make -j2' --prepare 'cp -r /src/. .' --fs ext4,xfs --level raid1,raid5
  raidloom run --command 'cp -r /usr/share/doc .' --print-plan > doc.toml
  raidloom run stripe-size --print-plan > my-plan.toml
  raidloom run --budget time=1h --budget written_per_member=100GiB plans/stripe-size.toml
  raidloom run --on slurm --partition batch --shards 64 -o /shared/sweep plans/stripe-size.toml

Claims of a run that goes on are made after 8, 16, 32 and 60 blocks only, each at a fourth of
the level: so going on makes no false answer. --more goes on to the next of these.

The run is a folder: plan.toml, plan.resolved.json, host.json, trials.jsonl (one line a
trial, the source of truth), summary.csv, report.html and report.md. Ctrl-C ends it in a
state that --resume goes on from.")]
    Run(Box<RunCommand>),

    /// Write the report of a run again, in any form
    #[command(
        arg_required_else_help = true,
        args_conflicts_with_subcommands = true,
        subcommand_negates_reqs = true
    )]
    #[command(after_long_help = "\
Examples:
  raidloom report raidloom-runs/2026-11-21T0740Z-stripe-size
  raidloom report RUN --full | less
  raidloom report RUN --html report.html --csv -
  raidloom report RUN --card card.svg
  raidloom report RUN --json | jq .verdicts
  raidloom report RUN --json | jq .headlines

Ends with 5 when the run is finished and has no answer to what was asked.")]
    Report(Box<ReportCommand>),

    /// Compare two runs cell by cell
    #[command(after_long_help = "\
Examples:
  raidloom compare raidloom-runs/before raidloom-runs/after
  raidloom compare before after --fail-if 'throughput < -5%'
  raidloom compare before after --json | jq .cells
  raidloom compare before after --allow version

The ratio is second / first. What changed on the machine between two runs cannot be told
from a difference: to decide something, put both into one plan, which interleaves them.")]
    Compare(CompareArguments),

    /// Create, start, watch and repair arrays, in md's own format
    #[command(subcommand)]
    Array(ArrayVerb),

    /// Pull the plug, often: what a layout and its file system lose, with a grade
    #[command(arg_required_else_help = true)]
    #[command(after_long_help = keys::help::<PullKeys>(EXAMPLES_OF_PULL))]
    Pull(Box<PullArguments>),

    /// Record what a disk is asked for, while it works
    #[command(arg_required_else_help = true)]
    #[command(after_long_help = EXAMPLES_OF_RECORD)]
    Record(RecordArguments),

    /// Show and fit modelled disks: drives described instead of owned
    #[command(subcommand)]
    Model(ModelVerb),

    /// Show this machine's drives, arrays and runs in a browser, with the verbs behind buttons
    #[command(after_long_help = "\
Examples:
  raidloom ui
  raidloom ui --allow-changes --runs /srv/runs
  raidloom ui --listen 127.0.0.1:8080 --json

Prints the address to open, once. It is for this machine alone, and holds a token: without it
nothing is answered. Without --allow-changes the page only looks.
From another machine: ssh -L 8080:127.0.0.1:8080 HOST")]
    Ui(UiArguments),

    /// Show a recording, cut it, scale it, or convert it
    #[command(hide = true, arg_required_else_help = true)]
    #[command(after_long_help = EXAMPLES_OF_TRACE)]
    Trace(Box<TraceArguments>),

    /// The part of a pull test that mounts and works
    #[command(hide = true)]
    PullWorker {
        /// The disk of a guest by which it talks, and not its standard input and output
        disk: Option<PathBuf>,
    },

    /// A pull test of a run's row
    #[command(hide = true)]
    PullTest {
        /// All is done in guests
        #[arg(long)]
        guest: bool,
    },

    /// Run Linux on modelled drives, in modelled time: build its kernel, run a command in it
    #[command(subcommand, hide = true)]
    Guest(GuestVerb),

    /// Print the manual page (roff), write one for every verb, or a shell's completions
    #[command(hide = true)]
    #[command(after_long_help = "\
Examples:
  raidloom man | man -l -
  raidloom man --to ~/.local/share/man/man1
  raidloom man --completions bash > ~/.local/share/bash-completion/completions/raidloom")]
    Man {
        /// Write raidloom.1, raidloom-run.1, raidloom-array-start.1 and all others to this folder
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,

        /// Print the completion script of this shell instead
        #[arg(long, value_name = "SHELL", conflicts_with = "to")]
        completions: Option<clap_complete::Shell>,
    },
}

/// What `check` looks at.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum CheckSubject {
    /// This machine's drives, and whether they may be written to
    Drives,
    /// A guest: boots one, and says what it can do
    Guest,
}

/// `run`, and what is done with plans and with runs under way.
#[derive(Args, Debug)]
pub(crate) struct RunCommand {
    #[command(subcommand)]
    #[allow(missing_docs)]
    pub verb: Option<RunVerb>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub arguments: RunArguments,
}

/// What is done with plans and with runs under way.
#[derive(Subcommand, Debug)]
pub(crate) enum RunVerb {
    /// Check a plan: every configuration, the time it takes, what is written; or list the plans
    #[command(after_long_help = "\
Examples:
  raidloom run plan
  raidloom run plan stripe-size
  raidloom run plan my-plan.toml -s 'matrix.consistency=[\"resync\", \"bitmap\"]'
  raidloom run plan my-plan.toml --json | jq .outline

Ends with 2 when there is something wrong with the plan. Nothing is opened for writing.
`raidloom run --print-plan > my-plan.toml` makes one to start from.

Axes of the matrix: members, level, chunk, layout, metadata, consistency, bitmap, member_timeout,
cache, upkeep, file_system, make_options, mount_options, policy; image, image_size, image_io,
outer_file_system with its options; place = \"guest\" with array, kernel, memory, scheduler,
read_ahead, max_request, queue_depth, write_cache, disk_size; every setting of the suites, as
depth = [1, 4, 32] or workload.depth = [1, 4, 32]. docs/plan-files.md says what each means.")]
    Plan(PlanFile),

    /// Show how far a run is, from another terminal
    #[command(after_long_help = "\
Examples:
  raidloom run watch raidloom-runs/2026-11-21T0740Z-stripe-size
  raidloom run watch RUN --json | jq .trials_finished
  raidloom run watch /shared/sweep

On a terminal: a bar, the time left, what is ahead so far, and every configuration, until the run
ends or Ctrl-C. Elsewhere a line for each block. With --json one look, as one document. Nothing
in the folder is changed. A folder that holds the shards of a run is shown as that run.")]
    Watch(WatchArguments),

    /// Join the shards of a run that several machines have measured
    #[command(after_long_help = "\
Examples:
  raidloom run stripe-size -s models=true --shard 1/2 -o part1
  raidloom run stripe-size -s models=true --shard 2/2 -o part2
  raidloom run merge part1 part2 -o whole
  raidloom report whole --json | jq .headlines

A shard is a run of its own: it goes on with --resume. Modelled trials are dealt out one by one, and
the joined run is the same, to the byte, as one of a single machine. Of measured trials whole blocks
are dealt out, so that what is compared was measured on the same machine.")]
    Merge(MergeArguments),
}

/// `report`, and what is done with many runs or for others.
#[derive(Args, Debug)]
pub(crate) struct ReportCommand {
    #[command(subcommand)]
    #[allow(missing_docs)]
    pub verb: Option<ReportVerb>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub arguments: Option<ReportArguments>,
}

/// What is done with many runs or for others.
#[derive(Subcommand, Debug)]
pub(crate) enum ReportVerb {
    /// Show one figure over many runs, and where it changed
    #[command(after_long_help = "\
Examples:
  raidloom report history raidloom-runs
  raidloom report history raidloom-runs --metric latency_p99 --only raid5 --svg p99.svg
  raidloom report history /srv/nightly --json | jq '.series[] | select(.change)'
  raidloom report history /srv/nightly --allow version

Runs are put in the order in which they began; those that `compare` refuses to compare are series
of their own. A change is marked where the order of at least 8
runs surely means something: at most 5 % of histories in which nothing changed have any mark. What
changed, figures do not tell; to decide something, put both into one plan.")]
    History(HistoryArguments),

    /// Pack a run into one file, to send it
    #[command(after_long_help = "\
Examples:
  raidloom report export raidloom-runs/2026-11-21T074002Z-stripe-size
  raidloom report export run -o for-the-list.run.tar.gz --anonymous --hide bag-end

Where a run is read (report, compare, history), what was packed is read too; `tar xf` makes it a
folder again. It holds the plan, the facts of the machine, every trial and notes; reports are made
anew from these.")]
    Export(ExportArguments),
}

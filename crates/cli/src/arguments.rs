//! Everything that can be said on the command line, defined once: help, man page and completions
//! follow from it.

use std::path::PathBuf;

use clap::{ArgAction, Parser, Subcommand};

use crate::array_command::ArrayVerb;
use crate::bench_command::BenchArguments;
use crate::cache_command::{CacheVerb, OverlayVerb};
use crate::compare_command::CompareArguments;
use crate::export_command::ExportArguments;
use crate::guest_command::GuestVerb;
use crate::history_command::HistoryArguments;
use crate::merge::MergeArguments;
use crate::model::ModelVerb;
use crate::monitor_command::MonitorArguments;
use crate::output::{EVERY_VERB, OutputArguments};
use crate::plan::PlanVerb;
use crate::pull_command::{EXAMPLES as EXAMPLES_OF_PULL, PullArguments};
use crate::report_command::ReportArguments;
use crate::run::RunArguments;
use crate::ui_command::UiArguments;
use crate::watch_command::WatchArguments;

/// Finds the fastest safe disk layout for your own work, then runs it.
#[derive(Parser, Debug)]
#[command(
    name = "raidloom",
    version,
    about,
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 120
)]
#[command(after_long_help = "\
Examples:
  raidloom run plans/stripe-size.toml
      compare chunk sizes on image files and on modelled disks, and write a report
  raidloom bench devtest 'raid0(chunk=64KiB, model:maxtor-6y200p0, model:maxtor-6y200p0)'
      predict two striped disks of 2004, in modelled time
  raidloom bench devtest --size 256MiB /var/tmp/test.img
      measure an image file on this machine

Exit codes:
  0 done   1 failed while running   2 usage or plan error   4 device or file refused
  3 done, but a --fail-if limit was passed   5 finished, but results are not valid
  130 interrupted (the message says how to go on)

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
    /// Show what this machine can do, what is missing, and the command that installs it
    #[command(after_long_help = "Examples:\n  raidloom check\n  raidloom check --json")]
    Check,

    /// List this machine's drives, and whether they may be written to
    #[command(after_long_help = "\
Examples:
  raidloom drives
  raidloom drives --json | jq '.[] | select(.answer == \"with-consent\") | .path'

What is said of each is what any verb would say that is told to write to it: `with consent`
names the consent. Nothing is opened for writing.")]
    Drives,

    /// Measure one target with a suite, or read what other tools measured
    #[command(
        arg_required_else_help = true,
        args_conflicts_with_subcommands = true,
        subcommand_negates_reqs = true
    )]
    #[command(after_long_help = "\
Examples:
  raidloom bench list
  raidloom bench crystal /mnt/disk
  raidloom bench --import CrystalDiskMark.txt --import fio.json
  raidloom bench --import old.csv --import fio.json --output both && raidloom report both

A suite on a target is a run of one configuration: report, compare and history read its folder.
Files of bonnie++ (CSV), CrystalDiskMark and KDiskMark (text) and fio (JSON) become one report in
which they sit side by side.")]
    Bench(Box<BenchArguments>),

    /// Write, check and show plan files
    #[command(subcommand)]
    Plan(PlanVerb),

    /// Create, start, watch and repair arrays, in md's own format
    #[command(subcommand)]
    Array(ArrayVerb),

    /// Show, resize and flush caches, and simulate them on a workload
    #[command(subcommand)]
    Cache(CacheVerb),

    /// Show what overlays hold, write it back or throw it away
    #[command(subcommand)]
    Overlay(OverlayVerb),

    /// Run a plan: every configuration in every block, then the report
    #[command(after_long_help = "\
Examples:
  raidloom run plans/stripe-size.toml
  raidloom run plans/stripe-size.toml -s trials.blocks=12 -s 'matrix.members=[\"maxtor\"]'
  raidloom run --resume raidloom-runs/2026-11-21T0740Z-stripe-size
  raidloom run --more 8 raidloom-runs/2026-11-21T0740Z-stripe-size
  raidloom run --until decided plans/stripe-size.toml
  raidloom run --command 'make -j2' --prepare 'cp -r /src/. .' --fs ext4,xfs --level raid1,raid5
  raidloom run --command 'cp -r /usr/share/doc .' --print-plan > doc.toml
  raidloom run --budget time=1h --budget written_per_member=100GiB plans/stripe-size.toml
  raidloom run --on slurm --partition batch --shards 64 -o /shared/sweep plans/stripe-size.toml

Claims of a run that goes on are made after 8, 16, 32 and 60 blocks only, each at a fourth of
the level: so going on makes no false answer. --more goes on to the next of these.

The run is a folder: plan.toml, plan.resolved.json, host.json, trials.jsonl (one line a
trial, the source of truth), summary.csv, report.html and report.md. Ctrl-C ends it in a
state that --resume goes on from.")]
    Run(Box<RunArguments>),

    /// Show how far a run is, from another terminal
    #[command(after_long_help = "\
Examples:
  raidloom watch raidloom-runs/2026-11-21T0740Z-stripe-size
  raidloom watch RUN --json | jq .trials_finished
  raidloom watch /shared/sweep

On a terminal: a bar, the time left, what is ahead so far, and every configuration, until the run
ends or Ctrl-C. Elsewhere a line for each block. With --json one look, as one document. Nothing
in the folder is changed. A folder that holds the shards of a run is shown as that run.")]
    Watch(WatchArguments),

    /// Join the shards of a run that several machines have measured
    #[command(after_long_help = "\
Examples:
  raidloom run stripe-size -s models=true --shard 1/2 -o part1
  raidloom run stripe-size -s models=true --shard 2/2 -o part2
  raidloom merge part1 part2 -o whole
  raidloom report whole --json | jq .headlines

A shard is a run of its own: it goes on with --resume. Modelled trials are dealt out one by one, and
the joined run is the same, to the byte, as one of a single machine. Of measured trials whole blocks
are dealt out, so that what is compared was measured on the same machine.")]
    Merge(MergeArguments),

    /// Write the report of a run again, in any form
    #[command(after_long_help = "\
Examples:
  raidloom report raidloom-runs/2026-11-21T0740Z-stripe-size
  raidloom report RUN --full | less
  raidloom report RUN --html report.html --csv -
  raidloom report RUN --card card.svg
  raidloom report RUN --json | jq .verdicts
  raidloom report RUN --json | jq .headlines

Ends with 5 when the run is finished and has no answer to what was asked.")]
    Report(ReportArguments),

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

    /// Show one figure over many runs, and where it changed
    #[command(after_long_help = "\
Examples:
  raidloom history raidloom-runs
  raidloom history raidloom-runs --metric latency_p99 --only raid5 --svg p99.svg
  raidloom history /srv/nightly --json | jq '.series[] | select(.change)'
  raidloom history /srv/nightly --allow version

Runs are put in the order in which they began; those that `compare` refuses to compare are series
of their own. A change is marked where the order of at least 8
runs surely means something: at most 5 % of histories in which nothing changed have any mark. What
changed, figures do not tell; to decide something, put both into one plan.")]
    History(HistoryArguments),

    /// Pack a run into one file, to send it
    #[command(after_long_help = "\
Examples:
  raidloom export raidloom-runs/2026-11-21T074002Z-stripe-size
  raidloom export run -o for-the-list.run.tar.gz --anonymous --hide bag-end

Where a run is read (report, compare, history), what was packed is read too; `tar xf` makes it a
folder again. It holds the plan, the facts of the machine, every trial and notes; reports are made
anew from these.")]
    Export(ExportArguments),

    /// Report events of running arrays: members that fail, rebuilds that end, caches in trouble
    #[command(after_long_help = "\
Examples:
  raidloom monitor
      one line for each event, for the journal, until Ctrl-C
  raidloom monitor --mail root --webhook https://example.org/hook --metrics 127.0.0.1:9763
  raidloom monitor --once --state /var/lib/raidloom/monitor.json --run /usr/local/bin/alarm
      from a timer: what is new since the last time

Events: started (or seen for the first time), stopped, died (an array's server); degraded, unusable,
failed, online (all of its stack); cache-failing; event (what the server has noted itself: a member that
failed and why, a rebuild or a scrub that ended and what it found). Each is told once. Of an array
that was running before the monitor, the present state is told, and nothing that went before.")]
    Monitor(MonitorArguments),

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

    /// Pull the plug, often: what a layout and its file system lose, with a grade
    #[command(arg_required_else_help = true)]
    #[command(after_long_help = EXAMPLES_OF_PULL)]
    Pull(Box<PullArguments>),

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

    /// List, show and fit modelled disks: drives described instead of owned
    #[command(subcommand)]
    Model(ModelVerb),

    /// Run Linux on modelled drives, in modelled time: build its kernel, see what it can do
    #[command(subcommand)]
    Guest(GuestVerb),

    /// Print the completion script of a shell
    #[command(after_long_help = "Examples:\n  raidloom completions bash > \
            ~/.local/share/bash-completion/completions/raidloom")]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },

    /// Print the manual page (roff), or write one for every verb
    #[command(after_long_help = "Examples:\n  raidloom man | man -l -\n  raidloom man --to \
            ~/.local/share/man/man1")]
    Man {
        /// Write raidloom.1, raidloom-run.1, raidloom-array-start.1 and all others to this folder
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

//! Everything that can be said on the command line, defined once: help, man page and completions
//! follow from it.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use lab::Shard;

use crate::array_command::arguments::{
    AddArguments, AssembleArguments, DestroyArguments, GuessArguments, IncrementalArguments,
    LogArguments, MemberArguments, MountArguments, ReplaceArguments, ScrubArguments,
    SpeedArguments, StartArguments, StatusArguments, WriteArguments,
};
use crate::bench_command::BenchArguments;
use crate::cache_command::arguments::{CacheVerb, OverlayVerb};
use crate::compare_command::CompareArguments;
use crate::export_command::ExportArguments;
use crate::guest_command::GuestVerb;
use crate::history_command::HistoryArguments;
use crate::monitor_command::MonitorArguments;
use crate::pull_command::{EXAMPLES as EXAMPLES_OF_PULL, PullArguments};
use crate::report_command::ReportArguments;
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
    /// Results as one JSON document on standard output
    #[arg(long, global = true, help_heading = EVERY_VERB)]
    pub json: bool,

    /// Only results and errors, no progress and no notes
    #[arg(short, long, global = true, help_heading = EVERY_VERB)]
    pub quiet: bool,

    /// No colours (also with NO_COLOR set, or TERM=dumb)
    #[arg(long, global = true, help_heading = EVERY_VERB)]
    pub no_color: bool,

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

/// Which clock.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockArgument {
    /// Virtual when the stack is made only of model: leaves, wall otherwise
    Auto,
    /// Real time, also for modelled disks
    Wall,
}

/// Consent to write where data may be.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct Consent {
    /// Consent to erase the disk with this serial number (once for each disk)
    #[arg(long, value_name = "SERIAL", help_heading = "Consent")]
    pub erase: Vec<String>,

    /// Consent to overwrite a file or disk that carries a signature (a file system, md, LVM, ...)
    #[arg(long, help_heading = "Consent")]
    pub erase_signature: bool,

    /// Consent to erase a block device that has no serial number, such as a loop device (once for
    /// each)
    #[arg(long, value_name = "PATH", help_heading = "Consent")]
    pub allow_device: Vec<PathBuf>,
}

impl Consent {
    /// The flags that say it again.
    pub(crate) fn flags(&self) -> Vec<String> {
        let erase = self.erase.iter().map(|serial| format!("--erase={serial}"));
        let devices =
            self.allow_device.iter().map(|path| format!("--allow-device={}", path.display()));
        let signature = self.erase_signature.then(|| "--erase-signature".to_owned());
        erase.chain(devices).chain(signature).collect()
    }
}

impl From<Consent> for host::guard::Consent {
    fn from(said: Consent) -> host::guard::Consent {
        host::guard::Consent {
            erase_serials: said.erase,
            erase_signature: said.erase_signature,
            devices: said.allow_device,
            ..host::guard::Consent::default()
        }
    }
}

/// Consent to use a device as it is.
#[derive(Args, Debug, Default, Clone)]
pub(crate) struct UseConsent {
    /// Consent to use a block device that has no serial number, such as a loop device (once for
    /// each)
    #[arg(long, value_name = "PATH", help_heading = "Consent")]
    pub allow_device: Vec<PathBuf>,

    /// Take disk images (VHD, VHDX, qcow2, VDI, VMDK) for the bytes that they are made of
    #[arg(long, help_heading = "Consent")]
    pub raw: bool,
}

impl From<UseConsent> for host::guard::Consent {
    fn from(said: UseConsent) -> host::guard::Consent {
        host::guard::Consent {
            devices: said.allow_device,
            raw: said.raw,
            in_place: true,
            ..host::guard::Consent::default()
        }
    }
}

/// `array`.
#[derive(Subcommand, Debug)]
pub(crate) enum ArrayVerb {
    /// Show every field of a member's superblock, and whether it can be trusted
    #[command(after_long_help = "\
Examples:
  raidloom array examine disk0.img
  raidloom array examine --json disk*.img

Superblocks of md's versions 0.90, 1.0, 1.1 and 1.2 are found, also in the partitions of a disk's
image. Nothing is opened for writing.")]
    Examine {
        /// Image files or block devices; FILE?offset=SIZE&size=SIZE for a part of one
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },

    /// Find members, group them by array, and say what is missing or stale
    #[command(after_long_help = "\
Examples:
  raidloom array scan
  raidloom array scan /srv/images
  raidloom array scan --json disk0.img disk1.img disk2.img

The partitions of a disk's image are looked into. Nothing is opened for writing and nothing is
started.")]
    Scan {
        /// Image files, block devices, or folders of them [default: all block devices]
        paths: Vec<PathBuf>,
    },

    /// Write the superblocks of a new array, as Linux md reads them
    // The name after a list of members would be one of them.
    #[command(override_usage = "raidloom array create <NAME> --level <LEVEL> [OPTIONS] --member \
                                <PATH>...")]
    #[command(after_long_help = "\
Examples:
  raidloom array create tank --level 5 --size 1GiB --member a.img b.img c.img
  raidloom array create tank --level raid6 --chunk 64KiB --member a.img b.img missing d.img --spare e.img
  raidloom array create fast --level 10 --layout f2 --member a.img b.img c.img d.img
  raidloom array create wide --level 0 --size 1GiB --member 'raid1(a.img, b.img)' 'raid1(c.img, d.img)'

A member may be an array itself, in stack text: it is made first, and called wide-0, wide-1.
Members that are not there are made with --size. What the members hold is given up: a
signature needs --erase-signature. Linux assembles the array as it is:
  mdadm --assemble /dev/md/tank DEVICE...")]
    Create(Box<CreateArguments>),

    /// Show which array members make up, and the stack text that opens it
    #[command(after_long_help = "\
Examples:
  raidloom array assemble a.img b.img c.img
  raidloom array assemble --scan /srv/images
  raidloom array assemble --read-only --overlay /var/tmp /srv/images/old-nas-*.img
  raidloom array start --name tank \"$(raidloom array assemble --json *.img | jq -r '.[0].stack')\"

With --overlay nothing is ever written to the members: whatever is tried, repairs of a file
system too, goes to DIR/NAME.delta and is gone with it. Nothing is started here.")]
    Assemble(AssembleArguments),

    /// Show an array's state and members, what is missing, and what is being done
    #[command(after_long_help = "\
Examples:
  raidloom array status tank
  raidloom array status /srv/images
  raidloom array status --test a.img b.img c.img || echo degraded

Exit codes with --test, as mdadm --detail --test has them: 0 normal, 1 a member has failed,
2 unusable, 4 cannot tell.")]
    Status(StatusArguments),

    /// Run a stack as a drive: a block device, a file, an NBD export
    #[command(after_long_help = "\
Examples:
  raidloom array start --attach --name tank 'raid5(metadata=1.2, a.img, b.img, c.img)'
  raidloom array start --attach --name tank \"$(raidloom array assemble --json *.img | jq -r \
      '.[0].stack')\"
  raidloom array start --attach --create 'raid0(one.img?size=1GiB, two.img?size=1GiB)'
  raidloom array start ram:1GiB --run 'mkfs.ext4 -q {} && fsck.ext4 -f {}'
  raidloom array start ram:1GiB --nbd unix --run 'nbdinfo {}'
  raidloom array start --read-only --nbd :10809 disk.img
  raidloom array start --vhost-user /run/vm/tank.sock 'raid1(metadata=1.2, a.img, b.img)'
  raidloom array start --from raidloom-runs/2026-01-31-chunks --member /dev/disk/by-id/ata-A \\
      /dev/disk/by-id/ata-B
  raidloom array start tank        (what /etc/raidloom/tank.toml says)

Returns when it is ready. Members keep what they hold; nobody else can use them meanwhile.
docs/serving.md: configuration files, systemd, removal policies, the control socket.")]
    Start(Box<StartArguments>),

    /// Start the configured arrays that a device completes: what udev asks for
    #[command(after_long_help = "\
Examples:
  raidloom array incremental /dev/sdb
  raidloom array incremental --json /srv/images/b.img

Only a configuration (/etc/raidloom/NAME.toml) that says `assemble = true` and names the device
is started, and only once all that it names is there, up to date and free. Otherwise one line
says what it waits for, nothing is opened for writing, and the exit code is 0. An array that
lacks a member for good is started by name: raidloom array start NAME.")]
    Incremental(IncrementalArguments),

    /// The process behind `array start` and behind file systems that a run measures
    #[command(hide = true)]
    Serve {
        /// Where its standard error goes
        log: Option<PathBuf>,
    },

    /// Stop running arrays cleanly: refused while a file system is mounted
    #[command(after_long_help = "\
Examples:
  raidloom array umount tank && raidloom array stop tank

After a server was killed, this also cleans up what it has left behind.")]
    Stop {
        /// Names from `array list`
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },

    /// List the running arrays, and where they appear
    #[command(
        after_long_help = "Examples:\n  raidloom array list\n  raidloom array list --json | jq \
            '.[].attached'"
    )]
    List,

    /// Mount an attached array; with --fs a file system is made first where there is none
    #[command(after_long_help = "\
Examples:
  raidloom array mount tank /mnt --fs ext4
  raidloom array mount tank /mnt --fs xfs --options noatime,discard
  raidloom array mount disc /mnt                  # whatever is there, an ISO image too

File systems: ext4, ext3, ext2, xfs, btrfs, ntfs, vfat, exfat, udf, f2fs. Whatever carries a
mark of any kind is mounted as it is, or not at all.")]
    Mount(MountArguments),

    /// Unmount what is mounted from an array
    #[command(after_long_help = "Examples:\n  raidloom array umount tank")]
    Umount {
        /// The name of a running array
        name: String,
    },

    /// Set a member of a running array faulty
    #[command(after_long_help = "\
Examples:
  raidloom array fail tank 2
  raidloom array fail tank b.img

A spare takes its place by itself. What would lose data is refused.")]
    Fail(MemberArguments),

    /// Detach a failed member
    #[command(
        after_long_help = "Examples:\n  raidloom array fail tank b.img && raidloom array remove \
            tank b.img"
    )]
    Remove(MemberArguments),

    /// Add a device to a running array: in the slot of a missing member, or as a spare
    #[command(after_long_help = "\
Examples:
  raidloom array add tank d.img
  raidloom array add tank --wait --erase SERIAL /dev/disk/by-id/ata-EXAMPLE")]
    Add(AddArguments),

    /// Give a member's slot to another device, by a copy while it serves or by a rebuild
    #[command(after_long_help = "\
Examples:
  raidloom array replace tank 2 d.img
  raidloom array replace tank b.img d.img --wait

The old member serves until the new one has everything.")]
    Replace(ReplaceArguments),

    /// Read all of a running array and compare its members
    #[command(after_long_help = "\
Examples:
  raidloom array scrub tank --wait
  raidloom array scrub tank repair
  raidloom array scrub tank pause

pause, resume and cancel also act on rebuilds and resyncs.")]
    Scrub(ScrubArguments),
    /// Set or show how fast a running array is rebuilt and scrubbed
    #[command(after_long_help = "\
The rates count for rebuilds, replacements, resyncs and scrubs, also of what is under way, until the array
stops. Without flags they are shown.

Examples:
  raidloom array speed tank
  raidloom array speed tank --max 20MiB
  raidloom array speed tank --min 50MiB --max 500MiB")]
    Speed(SpeedArguments),
    /// Set or show how detailed the log of a running array's server is
    #[command(after_long_help = "\
At trace each request is followed through the layers: every line has an id, and `for` names the
id of the request above that it was made for. Without a filter the present one is shown.

Examples:
  raidloom array log tank request=trace
  raidloom array log tank
  raidloom array log tank warn")]
    Log(LogArguments),

    /// Erase the superblocks of members; everything else on them stays
    #[command(after_long_help = "\
Examples:
  raidloom array destroy --erase-signature a.img b.img c.img

An array that runs is refused. `array guess` still finds what the members were.")]
    Destroy(DestroyArguments),

    /// Work out order, level, layout, chunk and data offset of members whose superblocks are lost
    #[command(after_long_help = "\
Examples:
  raidloom array guess disk0.img disk1.img disk2.img disk3.img
  raidloom array guess --level 5 --json disk0.img missing disk2.img disk3.img
  raidloom array guess --chunk 64KiB --data-offset 1MiB disk*.img

Parity and copies tell the level, file systems tell order, chunk and layout: their parts say
where they are. Candidates are ranked by the share of what was checked that agrees; equals have
the same number. A member that does not belong to the others is named. When even the best is
contradicted, the command ends with 1. The stack text of a candidate can be opened read-only to look further:
  raidloom bench devtest --read-only 'raid5(metadata=none, ...)'
Two to eight members; nothing is opened for writing.")]
    Guess(GuessArguments),

    /// Write a finished image onto a drive in one sequential pass, and read it back
    #[command(after_long_help = "\
Examples:
  raidloom array write system.img /dev/disk/by-id/usb-EXAMPLE --erase SERIAL
  raidloom array write backup.iso 'linear(disc0.img?block=2048, disc1.img?block=2048)'
  raidloom array write --erase-signature root.img 'raid0(chunk=64KiB, a.img, b.img)' --json

Holes of the image are not read: the target discards them where that leaves zeroes, and is
sent zeroes elsewhere. What the target holds behind the end of the image stays as it is.")]
    Write(WriteArguments),
}

/// `array create`.
#[derive(Args, Debug)]
pub(crate) struct CreateArguments {
    /// The array's name, at most 32 bytes
    pub name: String,

    /// linear, 0, 1, 4, 5, 6 or 10 (also raid0, stripe, mirror, ...)
    #[arg(short, long)]
    pub level: String,

    /// Chunk size; 512KiB where the level has chunks
    #[arg(short, long, value_name = "SIZE")]
    pub chunk: Option<String>,

    /// Layout as in mdadm: left-symmetric (ls), ..., n2, f2, o2; for level 0: original or alternate
    #[arg(long)]
    pub layout: Option<String>,

    /// The members in order: files, disks, or arrays of them that are made too
    /// (`raid1(a.img, b.img)`); `missing` leaves a slot empty
    #[arg(short, long, required = true, num_args = 1.., value_name = "PATH")]
    pub member: Vec<PathBuf>,

    /// Spare members, used when another fails
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub spare: Vec<PathBuf>,

    /// Number of members, checked against those that are named
    #[arg(short = 'n', long, value_name = "N")]
    pub raid_devices: Option<usize>,

    /// Number of spares, checked against those that are named
    #[arg(short = 'x', long, value_name = "N")]
    pub spare_devices: Option<usize>,

    /// Create missing member files with this size
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,

    /// How members are brought to agree after a crash
    #[arg(short = 'k', long, value_enum, default_value = "resync")]
    pub consistency_policy: ConsistencyArgument,

    /// Keep a write-intent bitmap on the members: the same as --consistency-policy bitmap
    #[arg(short, long, value_enum, value_name = "WHERE")]
    pub bitmap: Option<BitmapArgument>,

    /// What a bit of the bitmap covers: the least that is copied to a member that was detached
    /// [default: 64MiB, or more where the bitmap would not fit]
    #[arg(long, value_name = "SIZE")]
    pub bitmap_chunk: Option<String>,

    /// The members agree already: no first resync. On members that do not, parity is wrong until it
    /// is repaired
    #[arg(long)]
    pub assume_clean: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

/// How members are brought to agree after a crash.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ConsistencyArgument {
    /// Going over all of them
    Resync,
    /// Going over the regions that a write-intent bitmap names
    Bitmap,
    /// The partial parity log (level 5)
    Ppl,
}

/// Where a bitmap is kept.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitmapArgument {
    /// On the members
    Internal,
    /// Nowhere
    None,
}

/// `plan`.
#[derive(Subcommand, Debug)]
pub(crate) enum PlanVerb {
    /// Print a commented plan to start from
    #[command(after_long_help = "\
Examples:
  raidloom plan new > my-plan.toml
  raidloom plan new stripe-size > my-plan.toml
  raidloom plan show my-plan.toml -s 'matrix.consistency=[\"resync\", \"bitmap\"]'

Axes of the matrix: members, level, chunk, layout, metadata, consistency, bitmap, member_timeout,
cache, upkeep, file_system, make_options, mount_options, policy; image, image_size, image_io,
outer_file_system with its options; place = \"guest\" with array, memory, scheduler, read_ahead,
max_request, queue_depth, write_cache, disk_size; every setting of the suites, as depth = [1, 4, 32]
or workload.depth = [1, 4, 32]. docs/plan-files.md says what each means.")]
    New {
        /// A name from `plan list`: the text of that plan, to be changed
        name: Option<String>,
    },
    /// List the plans that came with the program, and what each asks
    #[command(after_long_help = "\
Examples:
  raidloom plan list
  raidloom plan show stripe-size
  raidloom run stripe-size

They are inside the program; `plan new NAME` prints one.")]
    List,
    /// Check a plan and say what is wrong with it
    #[command(after_long_help = "Examples:\n  raidloom plan check my-plan.toml")]
    Check(PlanFile),
    /// Show every configuration, the time it will take and what will be written
    #[command(
        after_long_help = "Examples:\n  raidloom plan show my-plan.toml\n  raidloom plan show \
            my-plan.toml --json"
    )]
    Show(PlanFile),
}

/// A plan and changes to it.
#[derive(Args, Debug)]
pub(crate) struct PlanFile {
    /// The plan file, or a name from `plan list`
    pub plan: PathBuf,

    /// Change one key of the plan (a TOML value; may be repeated)
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// The plan file, or a name from `plan list`; with --more or --until also the folder of a
    /// finished run
    #[arg(required_unless_present_any = ["resume", "command"], conflicts_with = "resume")]
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

    /// Measure one part of so many, such as 2/8, here; `raidloom merge` joins the parts
    #[arg(long, value_name = "I/N", conflicts_with_all = ["resume", "more", "until"])]
    pub shard: Option<Shard>,

    /// Go on with an interrupted run; with --on, with the shards of one
    #[arg(long, value_name = "RUN")]
    pub resume: Option<PathBuf>,

    /// Go on with a finished run for so many blocks, or a few more to the next look (8, 16, 32, 60)
    #[arg(long, value_name = "BLOCKS", conflicts_with_all = ["resume", "until"],
        value_parser = clap::value_parser!(u32).range(1..))]
    pub more: Option<u32>,

    /// Go on from look to look until no headline has an open question
    #[arg(long, value_name = "WHAT", conflicts_with = "resume")]
    pub until: Option<Until>,

    /// What the run may cost in all: time=2h, written_per_member=200GiB, or none instead of either
    /// (may be repeated); a run that goes on takes it instead of its plan's
    #[arg(long, value_name = "KEY=LIMIT")]
    pub budget: Vec<String>,

    /// Exit with 3 when a configuration surely passes this limit against its baseline:
    /// 'throughput < -5%' (may be repeated); with 5 where such a change could not be seen
    #[arg(long, value_name = "LIMIT", conflicts_with_all = ["shard", "on"])]
    pub fail_if: Vec<String>,

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
        value_parser = clap::value_parser!(u32).range(1..), help_heading = CLUSTER)]
    pub nodes: Option<u32>,

    /// Into how many shards the run is cut [default: as many as --nodes, else 8; where something is
    /// measured, no more than there are blocks]
    #[arg(long, value_name = "K", requires = "on", conflicts_with = "resume",
        value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = CLUSTER)]
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

/// Which shards, and where to.
#[derive(Args, Debug)]
pub(crate) struct MergeArguments {
    /// The folders of all shards of a run, in any order, or the one that they lie in; they stay as
    /// they are
    #[arg(required = true, value_name = "RUN")]
    pub shards: Vec<PathBuf>,

    /// The folder of the joined run, empty or not there
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// The heading of flags that all verbs have.
const EVERY_VERB: &str = "With every verb";

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
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "raid1,raid10,raid5",
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
        value_parser = clap::value_parser!(u64).range(1..), help_heading = LINE)]
    pub members: u64,

    /// Size of each
    #[arg(long, value_name = "SIZE", default_value = "1GiB", requires = "command",
        help_heading = LINE)]
    pub member_size: String,

    /// Folder in which they are made [default: the run's own]
    #[arg(long, value_name = "DIR", requires = "command", help_heading = LINE)]
    pub member_dir: Option<PathBuf>,

    /// Print the plan that this comes to, and run nothing
    #[arg(long, requires = "command", help_heading = LINE, conflicts_with_all = ["set", "output",
        "shard", "until", "budget", "fail_if", "erase", "erase_signature", "allow_device"])]
    pub print_plan: bool,
}

/// The heading of what is a plan of one line.
const LINE: &str = "A plan of one line";

/// When a run that goes on is over.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// No headline has a question left that more blocks might answer, or 60 blocks are there
    Decided,
}

/// `model`.
#[derive(Subcommand, Debug)]
pub(crate) enum ModelVerb {
    /// List the disks that come with raidloom
    #[command(after_long_help = "Examples:\n  raidloom model list")]
    List,
    /// Every parameter with unit and origin, and how far the model is from each published figure
    #[command(
        after_long_help = "Examples:\n  raidloom model show maxtor-6y200p0\n  raidloom model show \
            ./my-disk.toml --json"
    )]
    Show {
        /// A name from `model list`, or a path
        model: String,
    },
    /// Fit a model to published figures of a single drive
    #[command(after_long_help = "\
Examples:
  raidloom model fit maxtor-6y200p0
  raidloom model fit figures.csv --facts drive.facts.toml > my-disk.toml

The model's file goes to standard output; how far it is from each figure goes to standard
error. Only sequential and random rows are fitted; mixed rows stay a check.
models/data/*.facts.toml show what a facts file holds.")]
    Fit {
        /// A name from `model list`, or the path of a CSV: test,request_bytes,kB_per_s,io_per_s
        figures: String,

        /// What is known of the drive without measuring [default: FIGURES with .facts.toml instead
        /// of .csv]
        #[arg(long, value_name = "FILE")]
        facts: Option<PathBuf>,
    },
}

//! `raidloom array`: looking at the members of md arrays, making new ones, running them, and
//! finding out what lost ones were.

mod assemble;
mod create;
mod destroy;
mod examine;
mod exchange;
mod guess;
mod incremental;
mod rescue;
mod rescue_arguments;
mod running;
mod server_status;
mod set;
mod start;
mod status;
mod write;

use std::path::PathBuf;

use clap::Subcommand;
use mdtools::MemberSource;

use crate::cache_command::{self, CacheVerb, OverlayArguments};
use crate::catalogue;
use crate::failure::Failure;
use crate::monitor_command::{self, MonitorArguments};
use crate::output::Output;

pub(crate) use server_status::text as server_text;
pub(crate) use start::{absolute, serve_with};

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
    Create(Box<create::CreateArguments>),

    /// Find members, show which arrays they make up, and the stack text that opens each
    #[command(after_long_help = "\
Examples:
  raidloom array assemble a.img b.img c.img
  raidloom array assemble --scan
  raidloom array assemble --scan /srv/images
  raidloom array assemble --read-only --overlay /var/tmp /srv/images/old-nas-*.img
  raidloom array start --name tank \"$(raidloom array assemble --json *.img | jq -r '.[0].stack')\"

With --overlay nothing is ever written to the members: whatever is tried, repairs of a file
system too, goes to DIR/NAME.delta and is gone with it. Nothing is started here. With --scan members
are found, in the partitions of a disk's image too, and grouped by array.")]
    Assemble(assemble::AssembleArguments),

    /// Show an array's state and members, what is missing, and what is being done
    #[command(after_long_help = "\
Examples:
  raidloom array status
  raidloom array status tank
  raidloom array status /srv/images
  raidloom array status --test a.img b.img c.img || echo degraded

Exit codes with --test, as mdadm --detail --test has them: 0 normal, 1 a member has failed,
2 unusable, 4 cannot tell.")]
    Status(status::StatusArguments),

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
    Start(Box<start::StartArguments>),

    /// Start the configured arrays that a device completes: what udev asks for
    #[command(after_long_help = "\
Examples:
  raidloom array incremental /dev/sdb
  raidloom array incremental --json /srv/images/b.img

Only a configuration (/etc/raidloom/NAME.toml) that says `assemble = true` and names the device
is started, and only once all that it names is there, up to date and free. Otherwise one line
says what it waits for, nothing is opened for writing, and the exit code is 0. An array that
lacks a member for good is started by name: raidloom array start NAME.")]
    Incremental(incremental::IncrementalArguments),

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
        /// Names from `array status`
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },

    /// Mount an attached array; with --fs a file system is made first where there is none
    #[command(after_long_help = "\
Examples:
  raidloom array mount tank /mnt --fs ext4
  raidloom array mount tank /mnt --fs xfs --options noatime,discard
  raidloom array mount disc /mnt                  # whatever is there, an ISO image too

File systems: ext4, ext3, ext2, xfs, btrfs, ntfs, vfat, exfat, udf, f2fs, jfs, nilfs2. What
carries a mark of any kind is mounted as it is, or not at all.")]
    Mount(running::MountArguments),

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
    Fail(exchange::MemberArguments),

    /// Detach a failed member
    #[command(
        after_long_help = "Examples:\n  raidloom array fail tank b.img && raidloom array remove \
            tank b.img"
    )]
    Remove(exchange::MemberArguments),

    /// Add a device to a running array: in the slot of a missing member, or as a spare
    #[command(after_long_help = "\
Examples:
  raidloom array add tank d.img
  raidloom array add tank --wait --erase SERIAL /dev/disk/by-id/ata-EXAMPLE")]
    Add(exchange::AddArguments),

    /// Give a member's slot to another device, by a copy while it serves or by a rebuild
    #[command(after_long_help = "\
Examples:
  raidloom array replace tank 2 d.img
  raidloom array replace tank b.img d.img --wait

The old member serves until the new one has everything.")]
    Replace(exchange::ReplaceArguments),

    /// Read all of a running array and compare its members
    #[command(after_long_help = "\
Examples:
  raidloom array scrub tank --wait
  raidloom array scrub tank repair
  raidloom array scrub tank pause

pause, resume and cancel also act on rebuilds and resyncs.")]
    Scrub(exchange::ScrubArguments),

    /// Set or show how fast a running array is rebuilt, what is logged, the size of its cache
    #[command(after_long_help = "\
Keys, which last until the array stops:
  sync_speed_min=SIZE  of each member a second while the array is used [1000KiB]; as md's, for
                       rebuilds, replacements, resyncs and scrubs, also what is under way
  sync_speed_max=SIZE  the same while it is not used [200000KiB]
  log=FILTER           off, error, warn, info, debug or trace, or parts with a level each:
                       request=trace,serve=debug; at trace each request is followed through the
                       layers: a line has an id, and `for` names the id of the request above it
  cache_size=SIZE      of a cache in memory: one that grows keeps what it has, one that shrinks
                       writes out what is dirty in the part that goes
  cache=N              which cache, by its number in `raidloom array cache status`

Examples:
  raidloom array set tank
  raidloom array set tank sync_speed_max=20MiB
  raidloom array set tank log=request=trace
  raidloom array set tank cache_size=512MiB cache=1")]
    Set(set::SetArguments),

    /// Erase the superblocks of members; everything else on them stays
    #[command(after_long_help = "\
Examples:
  raidloom array destroy --erase-signature a.img b.img c.img

An array that runs is refused. `array rescue` still finds what the members were.")]
    Destroy(destroy::DestroyArguments),

    /// Say which arrays whatever is there was, what opening them loses, and open them read-only
    #[command(after_long_help = "\
Examples:
  raidloom array rescue sdb.img sdc.img sdd.img
  raidloom array rescue --mount /mnt/rescued /srv/images/old-nas
  raidloom array rescue --level 5 --json disk0.img missing disk2.img disk3.img

Members in any order, whole disks and their partitions, also where the table is lost, stale members,
torn and lost superblocks, members of several arrays: what belongs together is shown, with
what is missing, stale or foreign, and the command that opens it. Nothing is opened for writing, by
the last line of the answer either.

Where superblocks are lost parity and copies tell the level, file systems tell order, chunk and
layout (two to eight members). `missing`, --level, --chunk, --data-offset and --show rank candidates by
the share of what was checked that agrees; equals have the same number.")]
    Rescue(rescue_arguments::RescueArguments),

    /// Write a finished image onto a drive in one sequential pass, and read it back
    #[command(after_long_help = "\
Examples:
  raidloom array write system.img /dev/disk/by-id/usb-EXAMPLE --erase SERIAL
  raidloom array write backup.iso 'linear(disc0.img?block=2048, disc1.img?block=2048)'
  raidloom array write --erase-signature root.img 'raid0(chunk=64KiB, a.img, b.img)' --json

Holes of the image are not read: the target discards them where that leaves zeroes, and is
sent zeroes elsewhere. What the target holds behind the end of the image stays as it is.")]
    Write(write::WriteArguments),

    /// Show and flush caches, rescue what is in a store, and simulate caches on a workload
    #[command(subcommand)]
    Cache(CacheVerb),

    /// Show what an overlay holds, write it back or throw it away
    #[command(after_long_help = "\
Examples:
  raidloom array overlay delta.img
  raidloom array overlay --commit 'overlay(file:delta.img, disk.img)'
  raidloom array overlay --commit 'overlay(file:delta.img, raid5(a.img, b.img, c.img))'
  raidloom array overlay --discard delta.img

The device below must be unchanged since the delta was made. A commit that was cut off is
finished by the same command.")]
    Overlay(OverlayArguments),

    /// Report events of running arrays: members that fail, rebuilds that end, caches in trouble
    #[command(after_long_help = "\
Examples:
  raidloom array monitor
      one line for each event, for the journal, until Ctrl-C
  raidloom array monitor --mail root --webhook https://example.org/hook --metrics 127.0.0.1:9763
  raidloom array monitor --once --state /var/lib/raidloom/monitor.json --run /usr/local/bin/alarm
      from a timer: what is new since the last time

Events: started (or seen for the first time), stopped, died (an array's server); degraded, unusable,
failed, online (all of its stack); cache-failing; event (what the server has noted itself: a member that
failed and why, a rebuild or a scrub that ended and what it found). Each is told once. Of an array
that was running before the monitor, the present state is told, and nothing that went before.")]
    Monitor(MonitorArguments),
}

impl ArrayVerb {
    /// Whether only other processes of this program run it and hear it.
    pub(crate) fn is_for_programs(&self) -> bool {
        matches!(self, ArrayVerb::Serve { .. })
    }
}

/// What was named, with what is in folders.
fn members_named(paths: &[PathBuf]) -> Result<Vec<MemberSource>, Failure> {
    let members = mdtools::members_in(paths)?;
    if members.is_empty() {
        let named: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::failed(catalogue::NO_POSSIBLE_MEMBER).at(named.join(", ")));
    }
    Ok(members)
}

/// Runs one of the verbs.
pub(crate) fn array(output: &Output, verb: &ArrayVerb) -> Result<(), Failure> {
    match verb {
        ArrayVerb::Examine { paths } => examine::examine(output, paths),
        ArrayVerb::Assemble(arguments) => assemble::assemble(output, arguments),
        ArrayVerb::Status(arguments) => status::status(output, arguments),
        ArrayVerb::Start(arguments) => start::start(output, arguments),
        ArrayVerb::Incremental(arguments) => incremental::incremental(output, arguments),
        ArrayVerb::Serve { log } => start::serve(log.as_deref()),
        ArrayVerb::Stop { names } => running::stop(output, names),
        ArrayVerb::Mount(arguments) => running::mount(output, arguments),
        ArrayVerb::Fail(arguments) => {
            exchange::act(output, arguments, exchange::MemberAction::Fail)
        }
        ArrayVerb::Remove(arguments) => {
            exchange::act(output, arguments, exchange::MemberAction::Remove)
        }
        ArrayVerb::Add(arguments) => exchange::add(output, arguments),
        ArrayVerb::Replace(arguments) => exchange::replace(output, arguments),
        ArrayVerb::Scrub(arguments) => exchange::scrub(output, arguments),
        ArrayVerb::Set(arguments) => set::set(output, arguments),
        ArrayVerb::Umount { name } => running::umount(output, name),
        ArrayVerb::Destroy(arguments) => destroy::destroy(output, arguments),
        ArrayVerb::Create(arguments) => create::create(output, arguments),
        ArrayVerb::Rescue(arguments) => rescue::rescue(output, arguments),
        ArrayVerb::Write(arguments) => write::write(output, arguments),
        ArrayVerb::Cache(verb) => cache_command::cache(output, verb),
        ArrayVerb::Overlay(arguments) => cache_command::overlay(output, arguments),
        ArrayVerb::Monitor(arguments) => monitor_command::monitor(output, arguments),
    }
}

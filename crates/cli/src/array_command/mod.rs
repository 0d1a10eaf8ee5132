//! `raidloom array`: looking at the members of md arrays, making new ones, running them, and
//! finding out what lost ones were.

mod assemble;
mod create;
mod destroy;
mod examine;
mod exchange;
mod guess;
mod incremental;
mod running;
mod server_status;
mod start;
mod status;
mod write;

use std::path::PathBuf;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

pub(crate) use start::serve_with;

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
    Create(Box<create::CreateArguments>),

    /// Show which array members make up, and the stack text that opens it
    #[command(after_long_help = "\
Examples:
  raidloom array assemble a.img b.img c.img
  raidloom array assemble --scan /srv/images
  raidloom array assemble --read-only --overlay /var/tmp /srv/images/old-nas-*.img
  raidloom array start --name tank \"$(raidloom array assemble --json *.img | jq -r '.[0].stack')\"

With --overlay nothing is ever written to the members: whatever is tried, repairs of a file
system too, goes to DIR/NAME.delta and is gone with it. Nothing is started here.")]
    Assemble(assemble::AssembleArguments),

    /// Show an array's state and members, what is missing, and what is being done
    #[command(after_long_help = "\
Examples:
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
    /// Set or show how fast a running array is rebuilt and scrubbed
    #[command(after_long_help = "\
The rates count for rebuilds, replacements, resyncs and scrubs, also of what is under way, until the array
stops. Without flags they are shown.

Examples:
  raidloom array speed tank
  raidloom array speed tank --max 20MiB
  raidloom array speed tank --min 50MiB --max 500MiB")]
    Speed(exchange::SpeedArguments),
    /// Set or show how detailed the log of a running array's server is
    #[command(after_long_help = "\
At trace each request is followed through the layers: every line has an id, and `for` names the
id of the request above that it was made for. Without a filter the present one is shown.

Examples:
  raidloom array log tank request=trace
  raidloom array log tank
  raidloom array log tank warn")]
    Log(running::LogArguments),

    /// Erase the superblocks of members; everything else on them stays
    #[command(after_long_help = "\
Examples:
  raidloom array destroy --erase-signature a.img b.img c.img

An array that runs is refused. `array guess` still finds what the members were.")]
    Destroy(destroy::DestroyArguments),

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
    Guess(guess::GuessArguments),

    /// Write a finished image onto a drive in one sequential pass, and read it back
    #[command(after_long_help = "\
Examples:
  raidloom array write system.img /dev/disk/by-id/usb-EXAMPLE --erase SERIAL
  raidloom array write backup.iso 'linear(disc0.img?block=2048, disc1.img?block=2048)'
  raidloom array write --erase-signature root.img 'raid0(chunk=64KiB, a.img, b.img)' --json

Holes of the image are not read: the target discards them where that leaves zeroes, and is
sent zeroes elsewhere. What the target holds behind the end of the image stays as it is.")]
    Write(write::WriteArguments),
}

/// Runs one of the verbs.
pub(crate) fn array(output: &Output, verb: &ArrayVerb) -> Result<(), Failure> {
    match verb {
        ArrayVerb::Examine { paths } => examine::examine(output, paths),
        ArrayVerb::Scan { paths } => assemble::scan(output, paths),
        ArrayVerb::Assemble(arguments) => assemble::assemble(output, arguments),
        ArrayVerb::Status(arguments) => status::status(output, arguments),
        ArrayVerb::Start(arguments) => start::start(output, arguments),
        ArrayVerb::Incremental(arguments) => incremental::incremental(output, arguments),
        ArrayVerb::Serve { log } => start::serve(log.as_deref()),
        ArrayVerb::Stop { names } => running::stop(output, names),
        ArrayVerb::List => running::list(output),
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
        ArrayVerb::Speed(arguments) => exchange::speed(output, arguments),
        ArrayVerb::Log(arguments) => running::log(output, arguments),
        ArrayVerb::Umount { name } => running::umount(output, name),
        ArrayVerb::Destroy(arguments) => destroy::destroy(output, arguments),
        ArrayVerb::Create(arguments) => create::create(output, arguments),
        ArrayVerb::Guess(arguments) => guess::guess(output, arguments),
        ArrayVerb::Write(arguments) => write::write(output, arguments),
    }
}

//! What can be said to the verbs of `array`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::arguments::{Consent, UseConsent};

/// `array guess`.
#[derive(Args, Debug)]
pub(crate) struct GuessArguments {
    /// Image files or block devices, in any order; `missing` stands for one that is lost
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    /// Only these levels: linear, 0, 1, 4, 5, 6, 10
    #[arg(short, long, value_name = "LEVEL", value_delimiter = ',')]
    pub level: Vec<String>,

    /// Only these chunk sizes [default: 4KiB to 4MiB]
    #[arg(short, long, value_name = "SIZE", value_delimiter = ',')]
    pub chunk: Vec<String>,

    /// Only these places for the start of data on the members [default: 0 and where mdadm puts it]
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    pub data_offset: Vec<String>,

    /// How many candidates are shown; those as good as the first are counted in any case
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub show: usize,

    /// End the search after this time, with what was found until then
    #[arg(long, default_value = "10min", value_name = "DURATION")]
    pub time: String,

    /// Take disk images (VHD, VHDX, qcow2, VDI, VMDK) for the bytes that they are made of
    #[arg(long)]
    pub raw: bool,
}

/// `array assemble`.
#[derive(Args, Debug)]
pub(crate) struct AssembleArguments {
    /// Image files or block devices, or folders of them; with --scan and without one all block
    /// devices
    #[arg(required_unless_present = "scan")]
    pub paths: Vec<PathBuf>,

    /// Take what is found: several arrays, and files that are no members
    #[arg(long)]
    pub scan: bool,

    /// The members are opened for reading only
    #[arg(long)]
    pub read_only: bool,

    /// The members are opened for reading only; what is written goes to a file in this folder
    #[arg(long, value_name = "DIR")]
    pub overlay: Option<PathBuf>,

    /// Also where something may be lost by it: a dirty array with a member missing
    #[arg(short, long)]
    pub force: bool,
}

/// `array incremental`.
#[derive(Args, Debug)]
pub(crate) struct IncrementalArguments {
    /// The device that has come, or an image file
    pub device: PathBuf,

    /// Start them as units of systemd, raidloom@NAME, which stop them too
    #[arg(long)]
    pub unit: bool,
}

/// `array status`.
#[derive(Args, Debug)]
pub(crate) struct StatusArguments {
    /// The name of a running array, a stack text, or members (also folders of them)
    #[arg(required = true, value_name = "NAME|STACK|PATH")]
    pub targets: Vec<String>,

    /// End with mdadm's exit code: 0 normal, 1 a member has failed, 2 unusable, 4 cannot tell
    #[arg(short, long)]
    pub test: bool,
}

/// `array destroy`.
#[derive(Args, Debug)]
pub(crate) struct DestroyArguments {
    /// The members, all of one array
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

/// How a stack appears on this machine.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachArgument {
    /// As a block device where there are loop devices, and as a file
    Yes,
    /// As a file only
    File,
}

/// `array start`.
#[derive(Args, Debug)]
pub(crate) struct StartArguments {
    /// A stack text, a configuration file (FILE.toml), or the name of one in /etc/raidloom
    /// (~/.config/raidloom)
    #[arg(value_name = "STACK|NAME|FILE.toml", required_unless_present = "from")]
    pub target: Option<String>,

    /// Start what a run measured: the configuration that STACK names by the first letters of its
    /// identity or by its values (level=raid5,chunk=64KiB), or the one that the run recommends. An
    /// array with superblocks is created first, and what its members hold is lost
    #[arg(long, value_name = "RUN")]
    pub from: Option<PathBuf>,

    /// With --from: the members in order, instead of the plan's own devices
    #[arg(long, num_args = 1.., value_name = "PATH", requires = "from")]
    pub member: Vec<PathBuf>,

    /// With --from: where a cache keeps its copies, instead of the file that the run had made
    #[arg(long, value_name = "PATH", requires = "from")]
    pub store: Option<PathBuf>,

    /// With --from: where to mount the configuration's file system, which is made first
    #[arg(long, value_name = "FOLDER", requires = "from")]
    pub mount: Option<PathBuf>,

    /// With --from: consent to erase the disk with this serial number (once for each)
    #[arg(long, value_name = "SERIAL", requires = "from", help_heading = "Consent")]
    pub erase: Vec<String>,

    /// With --from: consent to overwrite members that carry a signature
    #[arg(long, requires = "from", help_heading = "Consent")]
    pub erase_signature: bool,

    /// What it is called from now on [default: the configuration's name, or array0, array1, ...]
    #[arg(long)]
    pub name: Option<String>,

    /// Show it on this machine, as /dev/loopN over a file; =file for the file alone
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true,
        default_missing_value = "yes")]
    pub attach: Option<AttachArgument>,

    /// Serve NBD clients here: PATH, HOST:PORT, :PORT, systemd, or unix for a socket in its folder
    /// (may be repeated)
    /// [default: unix, unless it is attached or served with --vhost-user]
    #[arg(long, value_name = "ADDR")]
    pub nbd: Vec<String>,

    /// Serve virtual machines on this socket, as a vhost-user-blk disk (QEMU, cloud-hypervisor)
    #[arg(long, value_name = "PATH")]
    pub vhost_user: Option<PathBuf>,

    /// When writes are durable: quick (as soon as the drive has them; a file system on it has to be
    /// mounted with `sync`, as `array mount` does) or performance (after a flush)
    /// [default: performance]
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<String>,

    /// Run a shell command with the path or address in the place of {}; serve until it ends
    #[arg(long, value_name = "CMD", conflicts_with = "foreground")]
    pub run: Option<String>,

    /// Serve in this process, until Ctrl-C or `array stop`; a wrong configuration ends it with exit
    /// code 78, so that a service manager does not try it again
    #[arg(long)]
    pub foreground: bool,

    /// Nothing is opened for writing, and writes are refused
    #[arg(long)]
    pub read_only: bool,

    /// Start also where something may be lost by it: a dirty array with a member missing
    #[arg(short, long)]
    pub force: bool,

    /// Make files that are not there; they stay
    #[arg(long, conflicts_with = "read_only")]
    pub create: bool,

    /// Their size, unless they name their own (?size=)
    #[arg(long, value_name = "SIZE", requires = "create", conflicts_with = "read_only")]
    pub size: Option<String>,

    /// How long a member of an array may take for an answer before it counts as failed; 0s is for
    /// ever [default: 30s]
    #[arg(long, value_name = "DURATION")]
    pub member_timeout: Option<String>,

    /// Let the kernel keep what it reads of the attached file in its page cache
    #[arg(long)]
    pub page_cache: bool,

    /// Threads that serve the attached file [default: by the number of processors]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,

    /// The NBD server's certificate, in PEM: TCP clients have to use TLS then
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Its private key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Turn away NBD clients without a certificate from these roots
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_clients: Option<PathBuf>,

    /// Let other machines reach NBD over TCP without TLS: every machine on the network may read and
    /// write
    #[arg(long)]
    pub insecure: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: UseConsent,
}

/// `array mount`.
#[derive(Args, Debug)]
pub(crate) struct MountArguments {
    /// The name of a running array
    pub name: String,

    /// Where to mount it
    pub folder: PathBuf,

    /// Which file system; made first where there is nothing yet. Without it, whichever is there
    #[arg(long, value_name = "KIND")]
    pub fs: Option<String>,

    /// As `mount -o` takes them
    #[arg(short, long, value_name = "OPTIONS")]
    pub options: Option<String>,
}

/// `array fail` and `array remove`.
#[derive(Args, Debug)]
pub(crate) struct MemberArguments {
    /// The name of a running array
    pub name: String,

    /// Which member: its slot (0, 1, ...) or its device
    pub member: String,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,
}

/// `array add`.
#[derive(Args, Debug)]
pub(crate) struct AddArguments {
    /// The name of a running array
    pub name: String,

    /// A file or block device; what it holds is given up
    pub device: String,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,

    /// Return when the rebuild is done
    #[arg(short, long)]
    pub wait: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

/// `array replace`.
#[derive(Args, Debug)]
pub(crate) struct ReplaceArguments {
    /// The name of a running array
    pub name: String,

    /// Which member: its slot (0, 1, ...) or its device
    pub member: String,

    /// A file or block device; what it holds is given up
    pub device: String,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,

    /// Return when the new member has all data
    #[arg(short, long)]
    pub wait: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

/// `array scrub`.
#[derive(Args, Debug)]
pub(crate) struct ScrubArguments {
    /// The name of a running array
    pub name: String,

    /// What to do
    #[arg(value_enum, default_value = "check")]
    pub action: ScrubWord,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,

    /// Return when it is done
    #[arg(short, long)]
    pub wait: bool,
}

/// `array speed`.
#[derive(Args, Debug)]
pub(crate) struct SpeedArguments {
    /// The name of a running array
    pub name: String,

    /// In a second, while the array is in use [default: 1000KiB]
    #[arg(long, value_name = "SIZE")]
    pub min: Option<String>,

    /// In a second, while the array is idle [default: 200000KiB]
    #[arg(long, value_name = "SIZE")]
    pub max: Option<String>,

    /// Which array, where the stack has several
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,
}

/// `array log`.
#[derive(Args, Debug)]
pub(crate) struct LogArguments {
    /// The name of a running array
    pub name: String,

    /// off, error, warn, info, debug or trace, or parts with a level each:
    /// request=trace,serve=debug [default: as it is]
    pub filter: Option<String>,
}

/// What to do about a scrub.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ScrubWord {
    /// Read everything, and say what does not agree and which member is wrong, where that can be
    /// told
    Check,
    /// The same, and mend the member that is wrong; with one parity or two copies nothing tells
    /// which, and they are made to agree with the data or the first copy
    Repair,
    /// Trust the data: make all parity anew from them, and all copies from the first
    Resync,
    /// Pause what is under way
    Pause,
    /// Go on with it
    Resume,
    /// End it
    Cancel,
}

/// `array write`.
#[derive(Args, Debug)]
pub(crate) struct WriteArguments {
    /// The image: a file or block device, which is only read
    pub image: PathBuf,

    /// A stack text, a file or a block device, at least as large as the image
    pub target: String,

    /// Do not read back and compare what was written
    #[arg(long)]
    pub no_verify: bool,

    /// Write an image that is no raw one (VHD, VHDX, qcow2, VDI, VMDK) as the bytes that it is made
    /// of
    #[arg(long)]
    pub raw: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

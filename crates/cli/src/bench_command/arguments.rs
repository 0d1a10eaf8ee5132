//! What can be said to `raidloom bench`, beyond what all verbs share.

use clap::Args;

use super::flags::{Bonnie, Copy, SuiteFlags};
use crate::arguments::{ClockArgument, Consent};
use crate::failure::Failure;
use crate::guest_command::GuestArguments;

/// The target of a suite that runs in a guest, which finds its own there.
pub(crate) const IN_GUEST: &str = "the guest's disk";

/// What every suite is told: where, and within which limits.
#[derive(Args, Debug)]
pub(crate) struct TargetArguments {
    /// A folder, a stack text, an image file or a block device (`bench explain SUITE` says which)
    #[arg(
        required = false,
        required_unless_present = "guest",
        default_value_if("guest", "true", IN_GUEST)
    )]
    pub target: String,

    /// Run in a Linux of its own on modelled disks, in modelled time (--stack, --fs; see `raidloom
    /// guest --help`)
    #[arg(long, help_heading = "Guest")]
    pub guest: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub disks: GuestArguments,

    /// Everything random comes from this number
    #[arg(short = 'z', long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// Run in a memory cgroup of this size, page cache included, where that is permitted; the
    /// guest's memory with --guest
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub memory: Option<String>,

    /// Run on these processors only: 0, 0-3, 0,2
    #[arg(long, value_name = "LIST", help_heading = "Limits")]
    pub cpus: Option<String>,

    /// Which clock, for a stack of modelled disks
    #[arg(long, value_enum, default_value = "auto")]
    pub clock: ClockArgument,

    /// Make the file of this size first, and remove it afterwards; refused if it exists
    #[arg(long, value_name = "SIZE")]
    pub create: Option<String>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,

    /// What runs is inside a guest.
    #[arg(long, hide = true)]
    pub in_guest: bool,

    /// Open nothing for writing; whether that is so is up to the suite.
    #[arg(skip)]
    pub read_only: bool,
}

impl TargetArguments {
    /// Whether the target of a guest is its own.
    ///
    /// # Errors
    /// One that is named all the same.
    pub(crate) fn check_guest(&self) -> Result<(), Failure> {
        if self.target == IN_GUEST {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{}: with --guest the target is what --stack names, with --fs a folder in it",
            self.target
        )))
    }
}

/// `bench bonnie`.
#[derive(Args, Debug)]
pub(crate) struct BonnieArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub flags: SuiteFlags<Bonnie>,

    /// As bonnie++ has it: size of the file in MiB (or with a unit), :chunk, :seeks, :seekers; 0
    /// leaves the six phases out
    #[arg(short = 's', value_name = "SIZE[:CHUNK[:SEEKS[:SEEKERS]]]", help_heading = ORIGINAL)]
    pub large: Option<String>,

    /// As bonnie++ has it: files in multiples of 1024, :max:min size (-1 hard links, -2 symbolic),
    /// :folders; 0 leaves them out
    #[arg(
        short = 'n',
        value_name = "FILES[:MAX[:MIN[:FOLDERS]]]",
        allow_hyphen_values = true,
        help_heading = ORIGINAL
    )]
    pub small: Option<String>,

    /// No per-character phases; with a number, on so many MiB
    #[arg(
        short = 'f',
        long = "fast",
        value_name = "MIB",
        num_args = 0..=1,
        default_missing_value = "0",
        help_heading = ORIGINAL
    )]
    pub fast: Option<u64>,

    /// As bonnie++ has it: memory of the machine in MiB, which the file has to be twice as large
    /// as; 0 for no such check
    #[arg(short = 'r', value_name = "MIB", help_heading = ORIGINAL)]
    pub ram_mebibytes: Option<u64>,

    /// Name of the machine in the CSV [default: this machine's]
    #[arg(short = 'm', long = "machine", value_name = "NAME")]
    pub machine: Option<String>,

    /// text, or bonnie-csv: the original's lines, 50 fields with --style 2.00, which bon_csv2html
    /// and bon_csv2txt of 2.00a read; 27 with 1.03, which only the converters of 1.03 read
    #[arg(long, default_value = "text", value_parser = ["text", "bonnie-csv"],
        value_name = "FORMAT")]
    pub format: String,
}

/// The heading of flags that mean what they mean to bonnie++.
const ORIGINAL: &str = "As the original";

/// `bench copy`.
#[derive(Args, Debug)]
pub(crate) struct CopyArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub flags: SuiteFlags<Copy>,

    /// An older spelling of `--access-times=false`
    #[arg(long, hide = true, conflicts_with = "access_times")]
    pub no_access_times: bool,
}

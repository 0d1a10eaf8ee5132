//! What can be said to `raidloom bench`, beyond what all verbs share.

use clap::Args;

use crate::arguments::{ClockArgument, Consent};

/// What every suite is told: where, and within which limits.
#[derive(Args, Debug)]
pub(crate) struct TargetArguments {
    /// A folder, a stack text, an image file or a block device (`bench explain SUITE` says which)
    pub target: String,

    /// Everything random comes from this number
    #[arg(short = 'z', long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// Run in a memory cgroup of this size, page cache included, where that is permitted
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

    /// Open nothing for writing; whether that is so is up to the suite.
    #[arg(skip)]
    pub read_only: bool,
}

/// `bench bonnie`.
#[derive(Args, Debug)]
pub(crate) struct BonnieArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    /// Whose way of counting and calling: 1.03 or 2.00
    #[arg(long, default_value = "2.00", value_name = "VERSION")]
    pub style: String,

    /// Size of the file in MiB (or with a unit), :chunk, :seeks, :seekers; 0 leaves the six phases
    /// out [default: twice the memory]
    #[arg(short = 's', long = "size", value_name = "SIZE[:CHUNK[:SEEKS[:SEEKERS]]]")]
    pub size: Option<String>,

    /// Files for the create, stat and delete phases in multiples of 1024, :max:min size (-1 hard
    /// links, -2 symbolic), :folders; 0 leaves them out
    #[arg(
        short = 'n',
        long = "files",
        value_name = "FILES[:MAX[:MIN[:FOLDERS]]]",
        default_value = "16",
        allow_hyphen_values = true
    )]
    pub files: String,

    /// No per-character phases; with a number, on so many MiB
    #[arg(short = 'f', long = "fast", value_name = "MIB", num_args = 0..=1, default_missing_value = "0")]
    pub fast: Option<u64>,

    /// Sync each file and folder as the original does with -b
    #[arg(short = 'b', long = "sync")]
    pub sync: bool,

    /// Memory of the machine in MiB, which the file has to be twice as large as; 0 for no such
    /// check
    #[arg(short = 'r', long = "ram", value_name = "MIB")]
    pub ram: Option<u64>,

    /// Run everything so many times
    #[arg(short = 'x', long = "runs", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,

    /// Copies of the test at the same time, each on files of its own
    #[arg(short = 'c', long = "concurrency", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub concurrency: u64,

    /// Past the page cache, in every phase
    #[arg(long)]
    pub direct: bool,

    /// What is written: random (incompressible), or bonnie (nearly all zeros, as the original)
    #[arg(long, default_value = "random", value_name = "DATA")]
    pub data: String,

    /// Repeat each phase that is shorter than this, until it has run so long
    #[arg(long, default_value = "500ms", value_name = "DURATION")]
    pub min_time: String,

    /// Name of the machine in the CSV [default: this machine's]
    #[arg(short = 'm', long = "machine", value_name = "NAME")]
    pub machine: Option<String>,

    /// text, or bonnie-csv: the original's lines, 50 fields with --style 2.00, which bon_csv2html
    /// and bon_csv2txt of 2.00a read; 27 with 1.03, which only the converters of 1.03 read
    #[arg(long, default_value = "text", value_parser = ["text", "bonnie-csv"], value_name = "FORMAT")]
    pub format: String,
}

/// `bench copy`.
#[derive(Args, Debug)]
pub(crate) struct CopyArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArguments,

    /// Bytes in all files together
    #[arg(long, default_value = "300MiB", value_name = "SIZE")]
    pub bytes: String,

    /// How many files [default: what the size distribution gives]
    #[arg(long, value_name = "N")]
    pub files: Option<u64>,

    /// Files in one folder at most
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_dir_files: u64,

    /// How many folders deep the files lie
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=32))]
    pub depth: u64,

    /// When data are made durable: never (only at the end of the phase), file (each file) or folder
    /// (each file and its folder)
    #[arg(long, default_value = "never", value_name = "WHEN", value_parser = ["never", "file", "folder"])]
    pub fsync: String,

    /// Empty the page cache between the phases: root empties all of it, others that of the files
    #[arg(long)]
    pub drop_caches: bool,

    /// Read without updating the files' access times
    #[arg(long)]
    pub no_access_times: bool,

    /// Past the page cache
    #[arg(long)]
    pub direct: bool,
}

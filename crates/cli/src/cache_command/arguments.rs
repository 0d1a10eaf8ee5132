//! What can be said to the verbs of `cache` and `overlay`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::arguments::UseConsent;

/// `cache`.
#[derive(Subcommand, Debug)]
pub(crate) enum CacheVerb {
    /// What a cache would do for a workload: hits by policy and size, without any I/O
    #[command(after_long_help = "\
Examples:
  raidloom cache simulate run.trace
  raidloom cache simulate sda.csv --block 16KiB --sizes 256MiB,1GiB,4GiB
  raidloom cache simulate run.trace --sequential-cutoff 4MiB --policies s3-fifo,lru --svg hits.svg
  raidloom cache simulate --zipf 1.0 --scan 0.2

A trace is made by the layer record:
  raidloom bench devtest 'record(file:run.trace, raid0(a.img, b.img))'
or read as CSV with the columns time,op,offset,length (bytes) or time,op,sector,sectors.
Reads and writes are alike: both ask for their blocks and bring them in.")]
    Simulate(Box<SimulateArguments>),

    /// What the caches of a running array hold and have done, or what is in a store that no
    /// array uses now
    #[command(after_long_help = "\
Examples:
  raidloom cache status tank
  raidloom cache status --json tank
  raidloom cache status /ssd/cache.img

A name that an array runs under is that array; ./NAME is a file.")]
    Status {
        /// An array that runs, by its name, or a cache's store: a file, or the stack text of what
        /// it lies on
        #[arg(value_name = "NAME|STORE")]
        cache: String,
    },

    /// Give a cache in memory another size while it is used
    #[command(after_long_help = "\
Examples:
  raidloom cache resize tank 8GiB
  raidloom cache resize tank 512MiB --cache 1

One that grows keeps what it has. One that shrinks writes out what is dirty in the part that goes.
The size lasts until the array is stopped; what it starts with the next time stands in its stack
text. A cache on a file or device has the size of that.")]
    Resize {
        /// An array that runs
        name: String,

        /// The new size
        size: String,

        /// Which cache, by its number in `raidloom cache status`, where several are in memory
        #[arg(long, value_name = "N")]
        cache: Option<usize>,
    },

    /// Show the dirty blocks of a store, also of one that is refused, or write them to a file or
    /// the device
    #[command(after_long_help = "\
Examples:
  raidloom cache salvage /ssd/cache.img disk.img
  raidloom cache salvage /ssd/cache.img --file blocks.img
  raidloom cache salvage /ssd/cache.img disk.img --write

Without --write or --file nothing is written: it says what the store has and how the device has
changed since. The store stays as it is; remove it when nothing in it is wanted any more.
What cannot be read is left out and named, and the exit code is 1 then.")]
    Salvage(Box<SalvageArguments>),

    /// Write out what is dirty in a cache, so that the device below is complete without it
    #[command(after_long_help = "\
Examples:
  raidloom cache flush tank
  raidloom cache flush 'cache(mode=write-back, file:/ssd/cache.img, disk.img)'

The cache stays warm. If it is cut off, the same command goes on.")]
    Flush {
        /// An array that runs, by its name, or a cache that is not in use: cache(mode=write-back,
        /// STORE, DEVICE)
        #[arg(value_name = "NAME|CACHE")]
        cache: String,

        #[command(flatten)]
        #[allow(missing_docs)]
        consent: UseConsent,
    },
}

/// `cache salvage`.
#[derive(Args, Debug)]
pub(crate) struct SalvageArguments {
    /// The store: a file, or the stack text of what it lies on; it is only read
    pub store: String,

    /// The device that the cache was made for: how it has changed since is said
    pub device: Option<String>,

    /// Write the blocks to their places on the device, over what it has there now
    #[arg(long, requires = "device")]
    pub write: bool,

    /// Write the blocks to their places in a new sparse file, as large as the device
    #[arg(long, value_name = "PATH", conflicts_with = "write")]
    pub file: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: UseConsent,
}

/// `cache simulate`.
#[derive(Args, Debug)]
pub(crate) struct SimulateArguments {
    /// A trace or a CSV file
    #[arg(required_unless_present = "zipf", conflicts_with = "zipf")]
    pub trace: Option<PathBuf>,

    /// Sizes of the cache: bytes, or parts of all that is asked for
    #[arg(long, value_delimiter = ',', num_args = 1.., default_value = "0.5%,1%,2%,5%,10%,20%,50%",
        value_name = "SIZE")]
    pub sizes: Vec<String>,

    /// Policies: s3-fifo, sieve, lru, clock, 2q, arc, lfu [default: all]
    #[arg(long, value_delimiter = ',', num_args = 1.., value_name = "NAME")]
    pub policies: Vec<String>,

    /// Block of the cache
    #[arg(long, default_value = "4KiB", value_name = "SIZE")]
    pub block: String,

    /// Sequential runs longer than this stay outside
    #[arg(long, value_name = "SIZE")]
    pub sequential_cutoff: Option<String>,

    /// A block comes in at its n-th access
    #[arg(long, default_value_t = 1, value_name = "N",
        value_parser = clap::value_parser!(u8).range(1..=15))]
    pub promote_after: u8,

    /// Write the chart as SVG
    #[arg(long, value_name = "PATH")]
    pub svg: Option<PathBuf>,

    /// Instead of a trace: blocks asked for by Zipf's law with this exponent
    #[arg(long, value_name = "ALPHA", help_heading = "Made workload")]
    pub zipf: Option<f64>,

    /// Which part of the accesses are sequential scans over other blocks: 0 to 1
    #[arg(
        long,
        default_value_t = 0.0,
        value_name = "PART",
        requires = "zipf",
        conflicts_with = "trace",
        help_heading = "Made workload"
    )]
    pub scan: f64,

    /// How many blocks a scan reads
    #[arg(long, default_value_t = 10_000, value_name = "N", requires = "scan",
        conflicts_with = "trace",
        value_parser = clap::value_parser!(u64).range(1..=1 << 30), help_heading = "Made workload")]
    pub scan_blocks: u64,

    /// How many different blocks, without those of scans
    #[arg(long, default_value_t = 100_000, value_name = "N", requires = "zipf",
        conflicts_with = "trace",
        value_parser = clap::value_parser!(u64).range(1..=1 << 26), help_heading = "Made workload")]
    pub blocks: u64,

    /// How many accesses
    #[arg(long, default_value_t = 1_000_000, value_name = "N", requires = "zipf",
        conflicts_with = "trace",
        value_parser = clap::value_parser!(u64).range(1..=1 << 28), help_heading = "Made workload")]
    pub accesses: u64,

    /// Equal seeds give equal workloads
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        requires = "zipf",
        conflicts_with = "trace",
        help_heading = "Made workload"
    )]
    pub seed: u64,
}

/// `overlay`.
#[derive(Subcommand, Debug)]
pub(crate) enum OverlayVerb {
    /// What a delta holds
    #[command(after_long_help = "\
Examples:
  raidloom overlay show delta.img
  raidloom overlay show --json delta.img")]
    Show {
        /// The delta: a file, or the stack text of what it lies on
        delta: String,
    },

    /// Write what is in the delta to the device below, and empty the delta
    #[command(after_long_help = "\
Examples:
  raidloom overlay commit 'overlay(file:delta.img, disk.img)'
  raidloom overlay commit 'overlay(file:delta.img, raid5(a.img, b.img, c.img))'

The device below must be unchanged since the delta was made. A commit that was cut off is
finished by the same command.")]
    Commit {
        /// The overlay as it is used: overlay(DELTA, DEVICE)
        overlay: String,

        #[command(flatten)]
        #[allow(missing_docs)]
        consent: UseConsent,
    },

    /// Throw away what is in the delta; the device below is as it was
    #[command(after_long_help = "Examples:\n  raidloom overlay discard delta.img")]
    Discard {
        /// The delta: a file, or the stack text of what it lies on
        delta: String,
    },
}

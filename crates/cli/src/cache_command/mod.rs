//! `array cache` and `array overlay`: what lies in front of slow devices, and what keeps them
//! unchanged.

mod chart;
mod overlay;
mod running;
mod simulate;
mod store;

pub(crate) use overlay::{OverlayArguments, overlay};
#[cfg(test)]
pub(crate) use simulate::SimulateKeys;

use clap::Subcommand;

use crate::consent::UseConsent;
use crate::failure::Failure;
use crate::keys;
use crate::output::Output;

/// `array cache`.
#[derive(Subcommand, Debug)]
pub(crate) enum CacheVerb {
    /// What a cache would do for a workload: hits by policy and size, without any I/O
    #[command(after_long_help = keys::help::<simulate::SimulateKeys>("\
Examples:
  raidloom array cache simulate run.trace
  raidloom array cache simulate sda.csv -s block=16KiB --sizes 256MiB,1GiB,4GiB
  raidloom array cache simulate run.trace -s sequential_cutoff=4MiB --policies lru
  raidloom array cache simulate -s zipf=1.0 -s scan=0.2

A recording is made by raidloom record, or by the layer record of a stack:
  raidloom array start --record run.trace 'raid0(a.img, b.img)'
or read as CSV with the columns time,op,offset,length (bytes) or time,op,sector,sectors; those of
blktrace, fio and others are read too (docs/formats/trace.md).
Reads and writes are alike: both ask for their blocks and bring them in."))]
    Simulate(Box<simulate::SimulateArguments>),

    /// What the caches of a running array hold and have done, or what is in a store that no
    /// array uses now
    #[command(after_long_help = "\
Examples:
  raidloom array cache status tank
  raidloom array cache status --json tank
  raidloom array cache status /ssd/cache.img

A name that an array runs under is that array; ./NAME is a file.")]
    Status {
        /// An array that runs, by its name, or a cache's store: a file, or the stack text of what
        /// it lies on
        #[arg(value_name = "NAME|STORE")]
        cache: String,
    },

    /// Show the dirty blocks of a store, also of one that is refused, or write them to a file or
    /// the device
    #[command(after_long_help = "\
Examples:
  raidloom array cache salvage /ssd/cache.img disk.img
  raidloom array cache salvage /ssd/cache.img --file blocks.img
  raidloom array cache salvage /ssd/cache.img disk.img --write

Without --write or --file nothing is written: it says what the store has and how the device has
changed since. The store stays as it is; remove it when nothing in it is wanted any more.
What cannot be read is left out and named, and the exit code is 1 then.")]
    Salvage(Box<store::SalvageArguments>),

    /// Write out what is dirty in a cache, so that the device below is complete without it
    #[command(after_long_help = "\
Examples:
  raidloom array cache flush tank
  raidloom array cache flush 'cache(mode=write-back, file:/ssd/cache.img, disk.img)'

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

/// Runs one of the verbs of `array cache`.
pub(crate) fn cache(output: &Output, verb: &CacheVerb) -> Result<(), Failure> {
    match verb {
        CacheVerb::Simulate(arguments) => simulate::simulate(output, arguments),
        CacheVerb::Status { cache } => store::status(output, cache),
        CacheVerb::Salvage(arguments) => store::salvage(output, arguments),
        CacheVerb::Flush { cache, consent } => store::flush(output, cache, consent),
    }
}
